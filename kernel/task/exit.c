/* SPDX-License-Identifier: MIT
 *
 * The end of threads and processes, orphans, and waiting for children.
 *
 * A process becomes a zombie when its last thread has given up everything but its stack. The parent may reap it at once, while that
 * thread still runs its last instructions: the thread's own reference keeps its struct until the scheduler has finished it.
 */
#include <arch/smp.h>

#include "ipc/file.h"
#include "log.h"
#include "lib/string.h"
#include "task/internal.h"

void notify_parent(struct process *p, s32 code, s32 value)
{
	struct process *parent = p->parent;
	struct siginfo_lite info = {.code = code, .pid = p->pid, .value = (u64)value};
	int sig = code == CLD_EXITED || code == CLD_KILLED || code == CLD_DUMPED ? p->exit_signal
										 : SIGCHLD;

	if (sig > NSIG) /* clone() takes any */
		sig = 0;
	if (sig && !(sig == SIGCHLD && (code == CLD_STOPPED || code == CLD_CONTINUED) &&
		     (parent->actions[SIGCHLD].flags & SA_NOCLDSTOP)))
		signal_process(parent, sig, &info);
	waitq_wake(&parent->child_wait, 0, 0);
}

/* Does @parent discard the status of its children? Then they are reaped as they end. */
static bool reaps_itself(struct process *parent, struct process *child)
{
	return child->exit_signal == SIGCHLD && (parent->actions[SIGCHLD].handler == SIG_IGN ||
						 (parent->actions[SIGCHLD].flags & SA_NOCLDWAIT));
}

static s32 status_code(s32 status)
{
	return !(status & 0x7f) ? CLD_EXITED : status & 0x80 ? CLD_DUMPED : CLD_KILLED;
}

static s32 status_value(s32 status)
{
	return status & 0x7f ? status & 0x7f : status >> 8 & 0xff;
}

/* Take a zombie out of the tree. Context: tree_lock held. The caller then calls release_reaped() without it. */
static void unlink_reaped(struct process *p)
{
	p->state = PROC_REAPED;
	list_del_init(&p->sibling);
	list_del_init(&p->all);
	list_del_init(&p->leader->hash);
}

static void release_reaped(struct process *p)
{
	thread_put(p->leader);
	process_put(p);
}

/* Children go to init, which learns of those that already ended. Context: tree_lock held. */
static void reparent_children(struct process *p)
{
	struct process *c, *tmp;

	list_for_each_safe (c, tmp, &p->children, sibling) {
		c->parent = init_process;
		c->ppid = init_process->pid;
		c->exit_signal = SIGCHLD;
		list_del(&c->sibling);
		list_add_tail(&c->sibling, &init_process->children);
		if (c->state == PROC_ZOMBIE)
			notify_parent(c, status_code(c->exit_status), status_value(c->exit_status));
	}
}

/* Init's children have nobody either: it continues none. */
bool pgrp_orphaned(u32 pgrp, const struct process *leaving)
{
	const struct process *p;

	list_for_each (p, &process_list, all) {
		if (p->pgrp != pgrp || p == leaving || p->state != PROC_ALIVE || !p->parent ||
		    p->parent == init_process || p->parent == leaving)
			continue;
		if (p->parent->pgrp != pgrp && p->parent->sid == p->sid)
			return false;
	}
	return true;
}

/* A process group that is orphaned by the end of @leaving gets SIGHUP and SIGCONT if it has stopped members. Context: tree_lock held. */
static void hang_up_orphaned_group(struct process *leaving, u32 pgrp)
{
	bool stopped = false;
	struct process *p;

	list_for_each (p, &process_list, all)
		stopped |= p->pgrp == pgrp && p != leaving && p->state == PROC_ALIVE && p->stopped;
	if (!stopped || !pgrp_orphaned(pgrp, leaving))
		return;
	list_for_each (p, &process_list, all)
		if (p->pgrp == pgrp && p != leaving && p->state == PROC_ALIVE) {
			signal_process(p, SIGHUP, NULL);
			signal_process(p, SIGCONT, NULL);
		}
}

/* The last thread ends its process. */
static void process_teardown(struct thread *t)
{
	struct process *p = t->proc, *parent;
	bool self_reaped, hangup;
	struct files *files;
	struct node *cwd;
	struct mm *mm;

	if (p == init_process)
		panic("init ended with status 0x%x", p->exit_status);
	timers_end(p, true);
	mm = p->mm;
	files = p->files;
	cwd = p->cwd;
	spin_lock(
		&tree_lock); /* readers of /proc take references under it: first nobody finds them any more ... */
	p->mm = NULL;
	p->files = NULL;
	p->cwd = NULL;
	spin_unlock(&tree_lock);
	mm_put(mm); /* ... then they go */
	files_put(files);
	node_put(cwd);

	spin_lock(&tree_lock);
	vfork_release(p);
	if (p->parent->pgrp != p->pgrp &&
	    p->parent->sid == p->sid) /* perhaps the last link of its own group */
		hang_up_orphaned_group(p, p->pgrp);
	if (!list_empty(&p->children)) {
		struct process *c;

		list_for_each (c, &p->children, sibling)
			if (c->pgrp != p->pgrp && c->sid == p->sid)
				hang_up_orphaned_group(p, c->pgrp);
		reparent_children(p);
	}
	hangup =
		p->has_tty; /* a session leader takes the terminal along: its foreground group hears of it below */
	parent = p->parent;
	p->state = PROC_ZOMBIE;
	self_reaped = reaps_itself(parent, p);
	notify_parent(p, status_code(p->exit_status), status_value(p->exit_status));
	if (self_reaped)
		unlink_reaped(p);
	spin_unlock(&tree_lock);
	if (hangup)
		tty_hangup(p->sid);
	if (self_reaped)
		release_reaped(p);
}

void thread_exit(s32 status)
{
	struct thread *t = current_thread();
	struct process *p = t->proc;
	bool last;
	u64 flags;

	futex_leave(t, false);
	/* Before the thread is counted out: from then on the last one may free the address space, while we are preempted. */
	t->mm = NULL;
	t->task.address_space = 0;
	mm_leave();
	if (p->nr_threads >
	    1) { /* not the last, as far as we know: the address space goes on without us */
		spin_lock(&tree_lock);
		if (t != p->leader)
			list_del_init(&t->hash);
		spin_unlock(&tree_lock);
	}
	flags = spin_lock_irqsave(&p->sig_lock);
	list_del_init(&t->link);
	signal_flush(p, &t->queued, ~0ull);
	last = !--p->nr_threads;
	if (last)
		signal_flush(p, &p->queued, ~0ull);
	if (!last)
		files_put(p->files); /* its own reference; the process has another */
	p->dead_runtime += sched_task_runtime(&t->task);
	p->dead_nvcsw += t->task.nr_voluntary;
	p->dead_nivcsw += t->task.nr_involuntary;
	if (last && !p->exiting) {
		p->exiting = true;
		p->exit_status = status;
	}
	if (p->exec_thread && p->nr_threads == 1)
		task_wake(&p->exec_thread->task, TASK_UNINTERRUPTIBLE, 0);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	if (last) {
		/* A thread that was not the leader but ends last: the leader's struct stays hashed for the zombie. */
		if (t != p->leader) {
			spin_lock(&tree_lock);
			list_del_init(&t->hash);
			spin_unlock(&tree_lock);
		}
		process_teardown(t);
	}
	sched_exit();
}

void process_exit(s32 status)
{
	struct thread *self = current_thread(), *t;
	struct process *p = self->proc;
	u64 flags = spin_lock_irqsave(&p->sig_lock);

	if (!p->exiting) {
		p->exiting = true;
		p->exit_status = status;
		list_for_each (t, &p->threads, link)
			if (t != self)
				signal_wake(t, true);
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
	thread_exit(status);
}

static bool wait_matches(struct process *c, s64 which, u32 own_group)
{
	if (which > 0)
		return c->pid == (u64)which;
	if (which == 0)
		return c->pgrp == own_group;
	return which == -1 || c->pgrp == (u64)-which;
}

/* Fill @r from zombie or stopped child @c. */
static void fill_result(struct process *c, struct wait_result *r, s32 status, s32 code, s32 value)
{
	*r = (struct wait_result){.pid = c->pid, .status = status, .code = code, .value = value};
	r->runtime_ns = process_runtime(c) + c->children_runtime;
	r->nvcsw = c->dead_nvcsw + c->children_nvcsw;
	r->nivcsw = c->dead_nivcsw + c->children_nivcsw;
}

/* A stop or continue of @c to report? Consumes it unless WNOWAIT. */
static bool report_job_change(struct process *c, unsigned options, struct wait_result *r)
{
	u64 flags = spin_lock_irqsave(&c->sig_lock);
	bool stop = (options & WSTOPPED) && c->stop_pending,
	     cont = (options & WCONTINUED) && c->cont_pending;
	s32 sig = c->stop_signal;

	if (stop && !(options & WNOWAIT))
		c->stop_pending = false;
	else if (cont && !(options & WNOWAIT))
		c->cont_pending = false;
	spin_unlock_irqrestore(&c->sig_lock, flags);
	if (stop)
		fill_result(c, r, sig << 8 | 0x7f, CLD_STOPPED, sig);
	else if (cont)
		fill_result(c, r, 0xffff, CLD_CONTINUED, SIGCONT);
	return stop || cont;
}

/* One look at the children. Return: pid, 0 nothing yet, -ECHILD. *@reaped: to be released by the caller. */
static s64 wait_scan(struct process *self, s64 which, unsigned options, struct wait_result *r,
		     struct process **reaped)
{
	bool any = false;
	struct process *c;

	list_for_each (c, &self->children, sibling) {
		if (!wait_matches(c, which, self->pgrp))
			continue;
		any = true;
		if (c->state == PROC_ZOMBIE) {
			if (!(options & WEXITED))
				continue;
			fill_result(c, r, c->exit_status, status_code(c->exit_status),
				    status_value(c->exit_status));
			if (!(options & WNOWAIT)) {
				unlink_reaped(c);
				self->children_runtime += r->runtime_ns;
				self->children_nvcsw += r->nvcsw;
				self->children_nivcsw += r->nivcsw;
				*reaped = c;
			}
			return c->pid;
		}
		if ((options & (WSTOPPED | WCONTINUED)) && report_job_change(c, options, r))
			return c->pid;
	}
	return any ? 0 : -ECHILD;
}

s64 do_wait(s64 which, unsigned options, struct wait_result *r)
{
	struct thread *self = current_thread();
	struct process *p = self->proc, *reaped = NULL;
	s64 ret;

	for (;;) {
		struct waiter w;

		waitq_prepare(&p->child_wait, &w, TASK_INTERRUPTIBLE, false);
		spin_lock(&tree_lock);
		ret = wait_scan(p, which, options, r, &reaped);
		spin_unlock(&tree_lock);
		if (ret || (options & WNOHANG) || self->task.signal_pending) {
			waitq_finish(&p->child_wait, &w);
			break;
		}
		schedule();
		waitq_finish(&p->child_wait, &w);
	}
	if (reaped) {
		sched_reap(&reaped->leader->task, &self->task);
		release_reaped(reaped);
	}
	if (ret || (options & WNOHANG))
		return ret;
	return -ERESTARTSYS;
}

/* SPDX-License-Identifier: MIT
 *
 * Sending signals, stopping and continuing, and the work a thread does on its way back to user mode. The user-side frames are in
 * sigframe.c.
 *
 * A pending signal is a bit in thread.pending or process.pending, both under the process's sig_lock. task.signal_pending says "look at
 * your signals": it is set by senders after the bit, and recomputed by the thread itself under the lock. A sender sets the flag, then wakes the
 * thread; an interruptible sleep looks at the flag under the run-queue lock (schedule()), so either sees the other.
 */
#include "task/signal.h"

#include <arch/smp.h>

#include "ipc/file.h"
#include "log.h"
#include "lib/string.h"
#include "task/internal.h"
#include "task/sigframe.h"

#define SIG_STOPS	(SIGMASK(SIGSTOP) | SIGMASK(SIGTSTP) | SIGMASK(SIGTTIN) | SIGMASK(SIGTTOU))
#define SIG_DFL_IGNORED (SIGMASK(SIGCONT) | SIGMASK(SIGCHLD) | SIGMASK(SIGWINCH) | SIGMASK(SIGURG))
/* Faults: taken before anything else that waits. */
#define SIG_SYNCHRONOUS \
	(SIGMASK(SIGSEGV) | SIGMASK(SIGBUS) | SIGMASK(SIGILL) | SIGMASK(SIGTRAP) | SIGMASK(SIGFPE))

void signal_wake(struct thread *t, bool fatal)
{
	u32 states = TASK_INTERRUPTIBLE;

	if (fatal)
		states |= TASK_STOPPED | (t->vfork_wait ? TASK_UNINTERRUPTIBLE : 0);
	__atomic_store_n(&t->task.signal_pending, 1, __ATOMIC_SEQ_CST);
	/* To itself, or from an interrupt that came to it: it runs, and schedule() refuses an interruptible sleep. */
	if (t == current_thread() && !fatal)
		return;
	if (task_wake(&t->task, states, 0))
		return;
	/* In user mode on another CPU: an interrupt makes it look. It cannot move without passing through the kernel, which looks too. */
	if (t->task.state == TASK_RUNNING && t->task.cpu != cpu_index())
		machine_send_resched(t->task.cpu);
}

static inline sigset_t deliverable(const struct thread *t)
{
	return (t->pending | t->proc->pending) & ~t->blocked;
}

/* Is there anything that must end an interruptible sleep? Context: sig_lock. */
static bool interrupted(const struct thread *t)
{
	const struct process *p = t->proc;

	return (deliverable(t) | p->stopped | p->cont_notify | p->exiting) ||
	       (p->exec_thread && p->exec_thread != t);
}

void signal_recalc(struct thread *t)
{
	t->task.signal_pending = interrupted(t) || t->restore_mask;
}

void signal_recalc_new(struct thread *t)
{
	u64 flags = spin_lock_irqsave(&t->proc->sig_lock);

	signal_recalc(t);
	spin_unlock_irqrestore(&t->proc->sig_lock, flags);
}

/* Would @sig have no effect on @p now? A blocked signal is kept: its action may change before it is unblocked. */
static bool is_ignored(const struct process *p, int sig)
{
	u64 handler = p->actions[sig].handler;

	if (p == init_process && handler == SIG_DFL)
		return true;
	return handler == SIG_IGN || (handler == SIG_DFL && (SIGMASK(sig) & SIG_DFL_IGNORED));
}

/* Keep what @sig, about to be pending, says. Return: 0; -EAGAIN if there is no room and the sender must know. */
static inline int remember(struct process *p, struct list *queue, struct siginfo_slot *infos,
			   sigset_t pending, int sig, const struct siginfo_lite *info,
			   struct sigqueue *q)
{
	struct siginfo_lite kernel = {.code = SI_KERNEL};

	info = info ? info : &kernel;
	if (likely(!q && sig < NSIG_STORED)) {
		if (!(pending & SIGMASK(sig)))
			infos[sig] = (struct siginfo_slot){info->code, info->pid, info->value};
		return 0;
	}
	if (!q) {
		q = p->nr_queued < SIGQUEUE_MAX ? kmalloc(sizeof(*q)) : NULL;
		if (!q)
			return info->code == SI_USER ? 0 : -EAGAIN;
		p->nr_queued++;
		*q = (struct sigqueue){.sig = sig, .info = *info};
	}
	list_add_tail(&q->link, queue);
	return 0;
}

static void unqueue(struct process *p, struct sigqueue *q, struct siginfo_lite *info)
{
	list_del_init(&q->link);
	if (info)
		*info = q->info;
	if (q->timer) {
		timer_signal_taken(q->timer, info);
	} else {
		p->nr_queued--;
		kfree(q, sizeof(*q));
	}
}

void signal_flush(struct process *p, struct list *queue, sigset_t which)
{
	struct sigqueue *q, *tmp;

	list_for_each_safe (q, tmp, queue, link)
		if (SIGMASK(q->sig) & which)
			unqueue(p, q, NULL);
}

/* Forget what is pending of signals @which. Context: sig_lock. */
static void discard(struct process *p, sigset_t which)
{
	struct thread *t;

	p->pending &= ~which;
	signal_flush(p, &p->queued, which);
	list_for_each (t, &p->threads, link) {
		t->pending &= ~which;
		signal_flush(p, &t->queued, which);
	}
}

/* Side effects of sending, whatever the disposition: SIGCONT and stop signals cancel each other. Context: sig_lock. */
static __attribute__((noinline)) void send_effects(struct process *p, int sig)
{
	struct thread *t;

	if (SIGMASK(sig) & SIG_STOPS) {
		discard(p, SIGMASK(SIGCONT));
	} else if (sig == SIGCONT) {
		p->stop_taken = false;
		discard(p, SIG_STOPS);
		if (p->stopped) {
			p->stopped = false;
			p->stop_pending = false;
			p->cont_pending = p->cont_notify = true;
			list_for_each (t, &p->threads, link)
				task_wake(&t->task, TASK_STOPPED, 0);
		}
	} else if (sig == SIGKILL) {
		p->stop_taken = false;
		list_for_each (t, &p->threads, link) {
			t->pending |= SIGMASK(SIGKILL);
			signal_wake(t, true);
		}
	}
}

/* Would @t notice @sig: not blocked, or waited for? Context: sig_lock. */
static bool wants(const struct thread *t, int sig)
{
	return (~t->blocked | t->awaited) & SIGMASK(sig);
}

/* Context: sig_lock held. A signal that is blocked or waited for is kept even if it would have no effect now. */
int signal_send_locked(struct process *p, struct thread *target, int sig,
		       const struct siginfo_lite *info, struct sigqueue *q)
{
	struct thread *t;

	if (list_empty(&p->threads) || p->exiting || (target && list_empty(&target->link)))
		return 1;
	if (sig == SIGKILL && p == init_process)
		return 1;
	if (unlikely(SIGMASK(sig) & (SIG_STOPS | SIGMASK(SIGCONT) | SIGMASK(SIGKILL))))
		send_effects(p, sig);
	if (target) {
		if (is_ignored(p, sig) && !((target->blocked | target->awaited) & SIGMASK(sig)))
			return 1;
		if (remember(p, &target->queued, target->info, target->pending, sig, info, q))
			return -EAGAIN;
		target->pending |= SIGMASK(sig);
		if (wants(target, sig))
			signal_wake(target, sig == SIGKILL);
		return 0;
	}
	t = list_first(&p->threads, struct thread, link);
	if (!wants(t, sig)) /* another thread may want it */
		list_for_each (t, &p->threads, link)
			if (wants(t, sig))
				break;
	if (&t->link != &p->threads && !((t->blocked | t->awaited) & SIGMASK(sig)) &&
	    is_ignored(p, sig))
		return 1;
	if (remember(p, &p->queued, p->info, p->pending, sig, info, q))
		return -EAGAIN;
	p->pending |= SIGMASK(sig);
	if (&t->link != &p->threads)
		signal_wake(t, false);
	return 0;
}

int signal_process(struct process *p, int sig, const struct siginfo_lite *info)
{
	u64 flags = spin_lock_irqsave(&p->sig_lock);
	int ret;

	ret = signal_send_locked(p, NULL, sig, info, NULL);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return min(ret, 0);
}

int signal_thread(struct thread *t, int sig, const struct siginfo_lite *info)
{
	struct process *p = t->proc;
	u64 flags;
	int ret;

	if (!p)
		return -ESRCH;
	flags = spin_lock_irqsave(&p->sig_lock);
	ret = signal_send_locked(p, t, sig, info, NULL);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return min(ret, 0);
}

void signal_force(int sig, const struct siginfo_lite *info)
{
	struct thread *t = current_thread();
	struct process *p = t->proc;
	u64 flags = spin_lock_irqsave(&p->sig_lock);
	struct sigaction_k *act = &p->actions[sig];

	if (act->handler == SIG_IGN || (t->blocked & SIGMASK(sig)) || p == init_process) {
		act->handler = SIG_DFL;
		t->blocked &= ~SIGMASK(sig);
		if (p == init_process) {
			spin_unlock_irqrestore(&p->sig_lock, flags);
			panic("init got a fatal signal %d", sig);
		}
	}
	remember(p, &t->queued, t->info, t->pending, sig, info, NULL);
	t->pending |= SIGMASK(sig);
	t->task.signal_pending = 1;
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

void signal_exec(struct process *p)
{
	u64 flags = spin_lock_irqsave(&p->sig_lock);

	for (int sig = 1; sig <= NSIG; sig++)
		p->actions[sig] = (struct sigaction_k){
			.handler = p->actions[sig].handler == SIG_IGN ? SIG_IGN : SIG_DFL,
		};
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

void task_user_fault(struct regs *regs, int sig, int code, u64 addr, const char *what)
{
	struct siginfo_lite info = {.code = code, .value = addr};
	struct thread *t = current_thread();
	u64 handler = t->proc->actions[sig].handler;

	if (handler == SIG_DFL || handler == SIG_IGN || (t->blocked & SIGMASK(sig)))
		klog("%s[%u]: %s at 0x%llx, ip 0x%llx sp 0x%llx error 0x%llx: killed by signal %d",
		     t->task.comm, t->tid, what, (unsigned long long)addr,
		     (unsigned long long)regs->rip, (unsigned long long)regs->rsp,
		     (unsigned long long)regs->orig, sig);
	signal_force(sig, &info);
}

/* ---- the way back to user mode ---- */

static __attribute__((noinline)) void take_queued(struct process *p, sigset_t *pending,
						  struct list *queue, int sig,
						  struct siginfo_lite *info)
{
	struct sigqueue *q, *first = NULL;

	list_for_each (q, queue, link) {
		if (q->sig != sig)
			continue;
		if (first) { /* one more of the kind */
			*pending |= SIGMASK(sig);
			break;
		}
		first = q;
	}
	if (first)
		unqueue(p, first, info);
}

static int take_from(struct process *p, sigset_t *pending, struct list *queue,
		     struct siginfo_slot *infos, sigset_t blocked, struct siginfo_lite *info)
{
	sigset_t set = *pending & ~blocked;
	int sig;

	if (!set)
		return 0;
	if (set & SIGMASK(SIGKILL))
		set = SIGMASK(SIGKILL);
	else if (set & SIG_SYNCHRONOUS)
		set &= SIG_SYNCHRONOUS;
	sig = __builtin_ctzll(set) + 1;
	*pending &= ~SIGMASK(sig);
	*info = (struct siginfo_lite){.code = SI_USER};
	if (sig < NSIG_STORED)
		*info = (struct siginfo_lite){infos[sig].code, infos[sig].pid, infos[sig].value, 0};
	if (unlikely(!list_empty(queue)))
		take_queued(p, pending, queue, sig, info);
	return sig;
}

static int take_signal(struct thread *t, struct siginfo_lite *info)
{
	struct process *p = t->proc;

	/* Most signals are the process's. */
	if (unlikely(t->pending & ~t->blocked))
		return take_from(p, &t->pending, &t->queued, t->info, t->blocked, info);
	return take_from(p, &p->pending, &p->queued, p->info, t->blocked, info);
}

/*
 * The process stops: tell the parent once; every thread comes to wait_while_stopped(). Context: sig_lock, released here.
 *
 * The terminal's stop signals do nothing to an orphaned group, which nobody could continue. To look at the group sig_lock has to be
 * dropped; a SIGCONT or SIGKILL that comes meanwhile takes the stop back (stop_taken).
 */
static void stop_process(struct process *p, int sig, u64 flags)
{
	struct thread *t;

	if (sig != SIGSTOP) {
		bool orphaned;

		p->stop_taken = true;
		spin_unlock_irqrestore(&p->sig_lock, flags);
		spin_lock(&tree_lock);
		orphaned = pgrp_orphaned(p->pgrp, NULL);
		spin_unlock(&tree_lock);
		flags = spin_lock_irqsave(&p->sig_lock);
		if (orphaned || !p->stop_taken || p->exiting) {
			spin_unlock_irqrestore(&p->sig_lock, flags);
			return;
		}
	}
	p->stopped = true;
	p->stop_pending = true;
	p->cont_pending = false;
	p->stop_signal = sig;
	list_for_each (t, &p->threads, link)
		if (t != current_thread())
			signal_wake(t, false);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	spin_lock(&tree_lock);
	notify_parent(p, CLD_STOPPED, sig);
	spin_unlock(&tree_lock);
}

static void wait_while_stopped(struct thread *t)
{
	struct process *p = t->proc;

	for (;;) {
		u64 flags = spin_lock_irqsave(&p->sig_lock);
		bool stay = p->stopped && !p->exiting && !(t->pending & SIGMASK(SIGKILL)) &&
			    !(p->exec_thread && p->exec_thread != t);

		bool notify = !stay && p->cont_notify;

		if (stay)
			set_current_state(TASK_STOPPED);
		else
			p->cont_notify = false;
		spin_unlock_irqrestore(&p->sig_lock, flags);
		if (notify) {
			spin_lock(&tree_lock);
			notify_parent(p, CLD_CONTINUED, SIGCONT);
			spin_unlock(&tree_lock);
		}
		if (!stay)
			return;
		schedule();
	}
}

/* A system call that was interrupted: decide what the user sees. @handler: flags of the handler about to run, or NULL if none runs. */
static void finish_restart(struct regs *regs, const struct sigaction_k *act)
{
	if ((s64)regs->orig < 0)
		return; /* rt_sigreturn, execve: rax is the program's, whatever it looks like */
	switch ((s64)regs->rax) {
	case -ERESTARTSYS:
		if (act && !(act->flags & SA_RESTART)) {
			regs->rax = (u64)-EINTR;
			return;
		}
		regs->rax = regs->orig;
		break;
	case -ERESTARTNOHAND:
		if (act) {
			regs->rax = (u64)-EINTR;
			return;
		}
		regs->rax = regs->orig;
		break;
	case -ERESTARTNOINTR:
		regs->rax = regs->orig;
		break;
	case -ERESTART_RESTARTBLOCK:
		if (act) {
			regs->rax = (u64)-EINTR;
			return;
		}
		regs->rax = 219; /* restart_syscall */
		break;
	default:
		return;
	}
	regs->rip -= 2; /* the SYSCALL instruction */
}

/* Deliver what is pending. @syscall: regs belong to a system call that may have to be restarted. */
static void do_signals(struct regs *regs, bool syscall)
{
	struct thread *t = current_thread();
	struct process *p = t->proc;

	for (;;) {
		u64 flags = spin_lock_irqsave(&p->sig_lock);
		struct siginfo_lite info;
		struct sigaction_k act;
		sigset_t mask;
		int sig;

		if (p->exiting || (p->exec_thread && p->exec_thread != t)) {
			s32 status = p->exit_status;

			spin_unlock_irqrestore(&p->sig_lock, flags);
			thread_exit(status);
		}
		/* Also if the stop is over before we saw it: the parent has to hear of the continue. */
		if ((p->stopped || p->cont_notify) && !(t->pending & SIGMASK(SIGKILL))) {
			spin_unlock_irqrestore(&p->sig_lock, flags);
			wait_while_stopped(t);
			continue;
		}
		sig = take_signal(t, &info);
		if (!sig) {
			if (t->restore_mask) {
				t->restore_mask = false;
				t->blocked = t->saved_mask;
				spin_unlock_irqrestore(&p->sig_lock, flags);
				continue; /* the old mask may let something through */
			}
			signal_recalc(t);
			spin_unlock_irqrestore(&p->sig_lock, flags);
			if (syscall)
				finish_restart(regs, NULL);
			return;
		}
		act = p->actions[sig];
		if (act.handler == SIG_IGN || is_ignored(p, sig)) {
			spin_unlock_irqrestore(&p->sig_lock, flags);
			continue;
		}
		if (act.handler == SIG_DFL) {
			if (SIGMASK(sig) & SIG_STOPS) {
				stop_process(p, sig, flags);
				continue;
			}
			spin_unlock_irqrestore(&p->sig_lock, flags);
			process_exit(sig);
		}
		mask = t->restore_mask ? t->saved_mask : t->blocked;
		t->restore_mask = false;
		if (act.flags & SA_RESETHAND)
			p->actions[sig].handler = SIG_DFL;
		t->blocked |= act.mask;
		if (!(act.flags & SA_NODEFER))
			t->blocked |= SIGMASK(sig);
		t->blocked &= ~SIG_UNBLOCKABLE;
		signal_recalc(t);
		spin_unlock_irqrestore(&p->sig_lock, flags);
		if (syscall)
			finish_restart(regs, &act);
		syscall = false;
		if (sigframe_push(t, regs, sig, &act, &info, mask)) {
			struct siginfo_lite segv = {.code = SI_KERNEL};

			if (sig == SIGSEGV) /* no way to tell it: fatal */
				p->actions[SIGSEGV].handler = SIG_DFL;
			signal_force(SIGSEGV, &segv);
		}
		if (!t->task.signal_pending)
			return;
	}
}

void task_user_work(struct regs *regs)
{
	if (need_resched())
		sched_user_exit();
	if (current_task()->signal_pending)
		do_signals(regs, false);
}

void task_syscall_work(struct regs *regs)
{
	if (need_resched())
		sched_user_exit();
	if (current_task()->signal_pending)
		do_signals(regs, true);
	else
		finish_restart(regs,
			       NULL); /* another thread took the signal that interrupted the call */
}

/* ---- the calls ---- */

s64 do_sigaction(int sig, const struct sigaction_k *act, struct sigaction_k *old)
{
	struct process *p = current_process();
	u64 flags;

	if (sig < 1 || sig > NSIG || (act && (SIGMASK(sig) & SIG_UNBLOCKABLE)))
		return -EINVAL;
	flags = spin_lock_irqsave(&p->sig_lock);
	if (old)
		*old = p->actions[sig];
	if (act) {
		p->actions[sig] = *act;
		p->actions[sig].mask &= ~SIG_UNBLOCKABLE;
		if (is_ignored(p, sig)) /* what waits is discarded, even if blocked */
			discard(p, SIGMASK(sig));
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return 0;
}

/* Threads other than @t that would take what is pending for the process. Context: sig_lock. */
static __attribute__((noinline)) void wake_others(struct thread *t)
{
	struct process *p = t->proc;
	struct thread *o;

	list_for_each (o, &p->threads, link)
		if (o != t && (p->pending & ~o->blocked))
			signal_wake(o, false);
}

/* Replace current's mask. A signal of the process that another thread now has to take wakes that thread. */
static inline void set_blocked_locked(struct thread *t, sigset_t mask)
{
	t->blocked = mask & ~SIG_UNBLOCKABLE;
	if (unlikely(t->proc->pending & t->blocked))
		wake_others(t);
}

void signal_set_blocked(struct thread *t, sigset_t mask)
{
	u64 flags = spin_lock_irqsave(&t->proc->sig_lock);

	set_blocked_locked(t, mask);
	signal_recalc(t);
	spin_unlock_irqrestore(&t->proc->sig_lock, flags);
}

s64 do_sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	struct thread *t = current_thread();
	sigset_t mask = t->blocked;

	if (old)
		*old = t->blocked;
	if (!set)
		return 0;
	switch (how) {
	case 0: /* SIG_BLOCK */
		mask |= *set;
		break;
	case 1: /* SIG_UNBLOCK */
		mask &= ~*set;
		break;
	case 2: /* SIG_SETMASK */
		mask = *set;
		break;
	default:
		return -EINVAL;
	}
	signal_set_blocked(t, mask);
	return 0;
}

void signal_set_temporary_mask(sigset_t mask)
{
	struct thread *t = current_thread();
	u64 flags = spin_lock_irqsave(&t->proc->sig_lock);

	t->saved_mask = t->blocked;
	t->restore_mask = true;
	set_blocked_locked(t, mask);
	/* Not signal_recalc(): it counts restore_mask as work, and the sleep must not end because of that. */
	t->task.signal_pending = interrupted(t);
	spin_unlock_irqrestore(&t->proc->sig_lock, flags);
}

void signal_end_temporary_mask(bool interrupted)
{
	struct thread *t = current_thread();

	if (!interrupted) {
		t->restore_mask = false;
		signal_set_blocked(t, t->saved_mask);
	} else {
		t->task.signal_pending =
			1; /* the mask is restored on the way out, after a handler saw the temporary one */
	}
}

s64 do_sigsuspend(sigset_t mask)
{
	signal_set_temporary_mask(mask);
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (current_task()->signal_pending)
			break;
		schedule();
	}
	set_current_state(TASK_RUNNING);
	signal_end_temporary_mask(true);
	return -ERESTARTNOHAND;
}

s64 do_sigtimedwait(sigset_t set, u64 deadline, struct siginfo_lite *info)
{
	struct thread *t = current_thread();
	struct process *p = t->proc;
	bool late = false, end;
	int sig;

	set &= ~SIG_UNBLOCKABLE;
	for (;;) {
		u64 flags = spin_lock_irqsave(&p->sig_lock);

		sig = take_from(p, &t->pending, &t->queued, t->info, ~set, info);
		if (!sig)
			sig = take_from(p, &p->pending, &p->queued, p->info, ~set, info);
		signal_recalc(t);
		end = sig || late || t->task.signal_pending;
		t->awaited = end ? 0 : set; /* so that senders wake us, and drop none of these */
		if (!end)
			set_current_state(TASK_INTERRUPTIBLE);
		spin_unlock_irqrestore(&p->sig_lock, flags);
		if (end)
			return sig ? sig : late ? -EAGAIN : -EINTR;
		late = deadline == 0 || sleep_until(deadline, TASK_INTERRUPTIBLE);
		set_current_state(TASK_RUNNING);
	}
}

/* kill(2) to all of a group (@pgrp > 0) or to all but init and ourselves (@pgrp == 0). */
static s64 kill_many(u32 pgrp, int sig, const struct siginfo_lite *info)
{
	struct process *p, *self = current_process();
	s64 ret = -ESRCH;

	spin_lock(&tree_lock);
	list_for_each (p, &process_list, all) {
		if (pgrp ? p->pgrp != pgrp : p->pid == 1 || p == self)
			continue;
		ret = 0;
		if (sig && p->state == PROC_ALIVE)
			signal_process(p, sig, info);
	}
	spin_unlock(&tree_lock);
	return ret;
}

s64 do_kill(s64 pid, int sig)
{
	struct process *self = current_process(), *p;
	struct siginfo_lite info = {.code = SI_USER, .pid = self->pid};

	if (sig < 0 || sig > NSIG)
		return -EINVAL;
	if (pid <= 0)
		return kill_many(pid == 0 ? self->pgrp : pid == -1 ? 0 : (u32)-pid, sig, &info);
	if ((u32)pid == self->pid) {
		if (sig)
			signal_process(self, sig, &info);
		return 0;
	}
	p = process_find((u32)pid);
	if (!p)
		return -ESRCH;
	if (sig)
		signal_process(p, sig, &info);
	process_put(p);
	return 0;
}

s64 do_sigqueue(u32 tgid, u32 tid, int sig, const struct siginfo_lite *info)
{
	struct thread *t;
	s64 ret = -ESRCH;

	if (sig < 0 || sig > NSIG)
		return -EINVAL;
	t = thread_find(tid ? tid : tgid);
	if (!t)
		return -ESRCH;
	if (t->proc && (!tgid || t->proc->pid == tgid))
		ret = !sig  ? 0
		      : tid ? signal_thread(t, sig, info)
			    : signal_process(t->proc, sig, info);
	thread_put(t);
	return ret;
}

s64 do_tgkill(u32 tgid, u32 tid, int sig)
{
	struct siginfo_lite info = {.code = SI_TKILL, .pid = current_process()->pid};

	return (s32)tid <= 0 ? -EINVAL : do_sigqueue(tgid, tid, sig, &info);
}

/* ---- what ipc asks for ---- */

void signal_send_current(int sig)
{
	struct siginfo_lite info = {.code = SI_USER,
				    .pid = current_process() ? current_process()->pid : 0};

	if (current_process())
		signal_thread(current_thread(), sig, &info);
}

int signal_send_group(u32 pgrp, int sig)
{
	struct siginfo_lite info = {.code = SI_KERNEL};

	return pgrp ? (int)kill_many(pgrp, sig, &info) : -ESRCH;
}

bool current_ignores_or_blocks(int sig)
{
	struct thread *t = current_thread();

	return (t->blocked & SIGMASK(sig)) || t->proc->actions[sig].handler == SIG_IGN;
}

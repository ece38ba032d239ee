/* SPDX-License-Identifier: MIT
 *
 * clone(2), fork(2), vfork(2): a new thread in a new process or in the current one.
 */
#include <arch/smp.h>

#include "ipc/file.h"
#include "log.h"
#include "lib/string.h"
#include "task/internal.h"

/* pthread_create() of musl and glibc asks for exactly these; a subset cannot be given. */
#define CLONE_THREAD_SET (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)
#define CLONE_KNOWN                                                                     \
	(0xffu | CLONE_THREAD_SET | CLONE_VFORK | CLONE_SYSVSEM | CLONE_SETTLS |        \
	 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID | CLONE_DETACHED | CLONE_UNTRACED | \
	 CLONE_CHILD_SETTID)

static int check_flags(u64 flags)
{
	u64 shared = flags & CLONE_THREAD_SET;

	if (flags & ~(u64)CLONE_KNOWN)
		return -EINVAL;
	if (flags & CLONE_THREAD)
		return shared == CLONE_THREAD_SET ? 0 : -EINVAL;
	/* Signal actions and working directories are shared by threads only. */
	if (shared & (CLONE_SIGHAND | CLONE_FS))
		return -EINVAL;
	return 0;
}

/* The parts of @p that come from the parent. Return: 0 or -ENOMEM with nothing kept. */
static int process_inherit(struct process *p, struct process *parent, u64 flags)
{
	u64 irq;

	if (flags & CLONE_VM) {
		mm_get(parent->mm);
		p->mm = parent->mm;
	} else {
		p->mm = mm_fork(parent->mm);
		if (!p->mm)
			return -ENOMEM;
	}
	p->files = files_fork(parent->files, flags & CLONE_FILES);
	if (!p->files) {
		mm_put(p->mm);
		return -ENOMEM;
	}
	p->cwd = parent->cwd;
	node_get(p->cwd);
	p->umask = parent->umask;
	p->exit_signal = (s32)(flags & 0xff);
	irq = spin_lock_irqsave(&parent->sig_lock);
	memcpy(p->actions, parent->actions, sizeof(p->actions));
	spin_unlock_irqrestore(&parent->sig_lock, irq);
	memcpy(p->exe, parent->exe, sizeof(p->exe));
	p->rlim_stack = parent->rlim_stack;
	p->rlim_nofile = parent->rlim_nofile;
	return 0;
}

static void process_disown(struct process *p)
{
	node_put(p->cwd);
	files_put(p->files);
	mm_put(p->mm);
}

/* Link the new thread where it can be found. From here on signals reach it. Return: 0 or -EAGAIN. */
static int publish(struct thread *t, struct process *p, struct process *parent, bool new_process)
{
	u64 irq;
	int err;

	spin_lock(&tree_lock);
	err = tid_assign(t);
	if (err)
		goto out;
	if (new_process) {
		p->pid = t->tid;
		p->leader = t;
		p->pgrp = parent->pgrp;
		p->sid = parent->sid;
		p->parent = parent;
		p->ppid = parent->pid;
		list_add_tail(&p->sibling, &parent->children);
		list_add_tail(&p->all, &process_list);
	}
	irq = spin_lock_irqsave(&p->sig_lock);
	if (!new_process && (p->exiting || p->exec_thread)) {
		err = -EAGAIN; /* the process ends, or execs: no new threads */
		list_del_init(&t->hash);
	} else {
		list_add_tail(&t->link, &p->threads);
		p->nr_threads++;
		if (!new_process)
			files_fork(p->files, true);
	}
	spin_unlock_irqrestore(&p->sig_lock, irq);
out:
	spin_unlock(&tree_lock);
	return err;
}

static int thread_inherit(struct thread *t, struct thread *parent, u64 flags, u64 stack, u64 tls)
{
	struct regs regs = *arch_user_regs(&parent->arch);
	int err;

	regs.rax = 0;
	if (stack)
		regs.rsp = stack;
	err = arch_thread_init_user(&t->arch, t->arch.kstack_top, &regs, &parent->arch);
	if (err)
		return err;
	if (flags & CLONE_SETTLS) {
		if (tls >= USER_END) {
			arch_thread_release(&t->arch);
			return -EPERM;
		}
		t->arch.fs_base = tls;
	}
	t->blocked = parent->blocked;
	memcpy(t->task.comm, parent->task.comm, sizeof(t->task.comm));
	if (!(flags & CLONE_VM) || (flags & CLONE_VFORK)) {
		t->altstack_sp = parent->altstack_sp;
		t->altstack_size = parent->altstack_size;
		t->altstack_flags = parent->altstack_flags;
	}
	return 0;
}

/* CLONE_CHILD_SETTID: the word lies in the child's memory, perhaps a copy. Failing to write it is the child's own trouble, as in Linux. */
static void write_child_tid(struct process *p, u64 flags, u32 *child_tid, u32 tid)
{
	if (!(flags & CLONE_CHILD_SETTID))
		return;
	if (flags & CLONE_VM)
		put_user_u32(child_tid, tid);
	else
		mm_write(p->mm, (u64)child_tid, &tid, sizeof(tid));
}

/* Must @t end? Context: none; sig_lock makes the answer final. */
static bool thread_doomed(const struct thread *t)
{
	const struct process *p = t->proc;

	return p->exiting || (p->exec_thread && p->exec_thread != t) ||
	       (t->pending | p->pending) & SIGMASK(SIGKILL);
}

bool current_doomed(void)
{
	return thread_doomed(current_thread());
}

/* Until @child, to which we have a reference, execs or ends, or we must end ourselves. Signals wait. */
static void vfork_sleep(struct vfork_wait *wait, struct process *child)
{
	struct thread *self = current_thread();
	bool doomed = false;
	u64 flags;

	for (;;) {
		struct waiter w;

		waitq_prepare(&wait->waitq, &w, TASK_UNINTERRUPTIBLE, false);
		/* signal_wake() looks at vfork_wait after it made doom visible, under the same lock. */
		flags = spin_lock_irqsave(&self->proc->sig_lock);
		doomed = thread_doomed(self);
		self->vfork_wait = !doomed;
		spin_unlock_irqrestore(&self->proc->sig_lock, flags);
		if (!doomed && !READ_ONCE(wait->done))
			schedule();
		waitq_finish(&wait->waitq, &w);
		if (doomed || READ_ONCE(wait->done))
			break;
	}
	flags = spin_lock_irqsave(&self->proc->sig_lock);
	self->vfork_wait = false;
	spin_unlock_irqrestore(&self->proc->sig_lock, flags);
	/* The child sets done and wakes under tree_lock: our stack may be left only when it has, or will not any more. */
	spin_lock(&tree_lock);
	if (child->vfork == wait)
		child->vfork = NULL;
	spin_unlock(&tree_lock);
	process_put(child);
}

void vfork_release(struct process *p)
{
	if (!p->vfork)
		return;
	WRITE_ONCE(p->vfork->done, true);
	waitq_wake(&p->vfork->waitq, 0, 0);
	p->vfork = NULL;
}

s64 do_clone(u64 flags, u64 stack, u32 *parent_tid, u32 *child_tid, u64 tls)
{
	struct thread *self = current_thread(), *t;
	struct process *parent = self->proc, *p = parent;
	bool new_process = !(flags & CLONE_THREAD);
	struct vfork_wait wait;
	u32 tid;
	int err = check_flags(flags);

	if (err)
		return err;
	t = thread_alloc();
	if (!t)
		return -ENOMEM;
	if (new_process) {
		p = process_alloc();
		err = p ? process_inherit(p, parent, flags) : -ENOMEM;
		if (err)
			goto free_process;
	} else {
		t->refs = 1; /* nobody waits for a thread: only its running reference */
	}
	err = thread_inherit(t, self, flags, stack, tls);
	if (err)
		goto disown;
	t->proc = p;
	t->mm = p->mm;
	process_get(p);
	t->clear_tid = flags & CLONE_CHILD_CLEARTID ? child_tid : NULL;
	t->task.address_space = p->mm->id;
	sched_fork(&t->task);
	if (new_process && (flags & CLONE_VFORK)) {
		wait.done = false;
		waitq_init(&wait.waitq);
		p->vfork = &wait;
	}
	err = publish(t, p, parent, new_process);
	if (err)
		goto unpublish;
	tid = t->tid;
	write_child_tid(p, flags, child_tid, tid);
	if (flags & CLONE_PARENT_SETTID)
		put_user_u32(parent_tid, tid); /* the child exists: Linux ignores a failure too */
	signal_recalc_new(t);
	if (new_process && (flags & CLONE_VFORK))
		process_get(p);
	sched_wake_new(&t->task);
	/* t and p may be gone from here on. */
	if (new_process && (flags & CLONE_VFORK))
		vfork_sleep(&wait, p);
	else
		sched_fork_done();
	return tid;

unpublish:
	process_put(p);
disown:
	if (new_process)
		process_disown(p);
free_process:
	if (new_process && p)
		process_put(p);
	thread_discard(t);
	return err;
}

int process_create_init(void (*start)(void *), void *arg)
{
	struct thread *t = thread_alloc();
	struct process *p = process_alloc();

	if (!t || !p)
		return -ENOMEM;
	p->mm = mm_create();
	p->files = files_fork(NULL, false);
	if (!p->mm || !p->files)
		return -ENOMEM;
	p->rlim_stack = 8ull << 20;
	p->rlim_nofile = 1024;
	p->umask = 022;
	p->exit_signal = SIGCHLD;
	arch_thread_init_kernel(&t->arch, t->arch.kstack_top, start, arg);
	t->arch.user = true;
	t->proc = p;
	t->mm = p->mm;
	process_get(p);
	str_copy(t->task.comm, "init", sizeof(t->task.comm));
	sched_kthread_init(&t->task);
	t->task.address_space = p->mm->id;
	spin_lock(&tree_lock);
	tid_set(t, 1);
	p->pid = p->pgrp = p->sid = t->tid;
	p->leader = t;
	p->nr_threads = 1;
	list_add_tail(&t->link, &p->threads);
	list_add_tail(&p->all, &process_list);
	init_process = p;
	spin_unlock(&tree_lock);
	sched_wake_new(&t->task);
	return 0;
}

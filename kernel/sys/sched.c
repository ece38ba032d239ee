/* SPDX-License-Identifier: MIT
 *
 * System calls on scheduling: nice, classes, affinity, yield.
 */
#include "lib/string.h"
#include "sys/calls.h"
#include "task/thread.h"

/* The thread named by a sched_*() call: 0 is the caller. Return: with a reference, or NULL. */
static struct thread *get_thread(u64 tid)
{
	struct thread *t;

	if (!(u32)tid) {
		t = current_thread();
		thread_get(t);
		return t;
	}
	t = thread_find((u32)tid);
	/* Kernel tasks are not for user programs to change; a zombie's leader has no scheduling any more. */
	if (t && (!t->proc || list_empty(&t->link))) {
		thread_put(t);
		return NULL;
	}
	return t;
}

SYSCALL0(sched_yield)
{
	sched_yield_current();
	return 0;
}

/* SCHED_BATCH and SCHED_IDLE run as SCHED_OTHER would only pretend: they are refused as unknown. */
static s64 set_class(u64 tid, u32 class, u64 param)
{
	struct thread *t;
	u32 rt_priority;
	s64 err;

	if ((s32)tid < 0 || !param)
		return -EINVAL;
	if (get_user_u32(&rt_priority, (u32 *)param))
		return -EFAULT;
	t = get_thread(tid);
	if (!t)
		return -ESRCH;
	if (class == ~0u)
		class = t->task.class;
	err = sched_set_class(&t->task, class, rt_priority);
	pi_prio_changed(&t->task);
	thread_put(t);
	return err;
}

SYSCALL3(sched_setscheduler, tid, class, param)
{
	if ((s32) class < 0)
		return -EINVAL;
	/* SCHED_RESET_ON_FORK is not supported: 0x40000000 makes the class unknown. */
	return set_class(tid, (u32) class, param);
}

SYSCALL2(sched_setparam, tid, param)
{
	return set_class(tid, ~0u, param);
}

SYSCALL1(sched_getscheduler, tid)
{
	struct thread *t;
	s64 class;

	if ((s32)tid < 0)
		return -EINVAL;
	t = get_thread(tid);
	if (!t)
		return -ESRCH;
	class = t->task.class;
	thread_put(t);
	return class;
}

SYSCALL2(sched_getparam, tid, param)
{
	struct thread *t;
	s64 err;

	if ((s32)tid < 0 || !param)
		return -EINVAL;
	t = get_thread(tid);
	if (!t)
		return -ESRCH;
	err = put_user_u32((u32 *)param, t->task.rt_priority);
	thread_put(t);
	return err;
}

SYSCALL1(sched_get_priority_max, class)
{
	return class == SCHED_FIFO || class == SCHED_RR ? 99 : class == SCHED_OTHER ? 0 : -EINVAL;
}

SYSCALL1(sched_get_priority_min, class)
{
	return class == SCHED_FIFO || class == SCHED_RR ? 1 : class == SCHED_OTHER ? 0 : -EINVAL;
}

SYSCALL2(sched_rr_get_interval, tid, ts_user)
{
	struct thread *t;
	u64 ns, ts[2];

	if ((s32)tid < 0)
		return -EINVAL;
	t = get_thread(tid);
	if (!t)
		return -ESRCH;
	ns = sched_timeslice_ns(&t->task);
	thread_put(t);
	ts[0] = ns / NSEC_PER_SEC;
	ts[1] = ns % NSEC_PER_SEC;
	return copy_to_user((void *)ts_user, ts, sizeof(ts));
}

SYSCALL3(sched_setaffinity, tid, len, mask_user)
{
	struct cpumask mask = {0};
	struct thread *t;
	s64 err;

	if (copy_from_user(&mask, (void *)mask_user, min(len, (u64)sizeof(mask))))
		return -EFAULT;
	if ((s32)tid < 0)
		return -ESRCH;
	t = get_thread(tid);
	if (!t)
		return -ESRCH;
	err = sched_set_affinity(&t->task, &mask);
	thread_put(t);
	return err;
}

SYSCALL3(sched_getaffinity, tid, len, mask_user)
{
	struct cpumask mask;
	struct thread *t;
	u64 size = 8;

	/* As Linux: whole words, enough for every CPU that could exist. */
	size = ALIGN_UP(DIV_ROUND_UP((u64)cpus_online, 8), 8);
	if (len < size || len % 8)
		return -EINVAL;
	if ((s32)tid < 0)
		return -ESRCH;
	t = get_thread(tid);
	if (!t)
		return -ESRCH;
	mask = t->task.affinity;
	thread_put(t);
	for (unsigned cpu = cpus_online; cpu < MAX_CPUS; cpu++)
		cpumask_clear(&mask, cpu);
	size = min(len, (u64)sizeof(mask));
	return copy_to_user((void *)mask_user, &mask, size) ? -EFAULT : (s64)size;
}

SYSCALL3(getcpu, cpu, node, unused)
{
	u32 index = cpu_index(); /* a hint: may be stale when the caller reads it */

	(void)unused;
	if ((cpu && put_user_u32((u32 *)cpu, index)) || (node && put_user_u32((u32 *)node, 0)))
		return -EFAULT;
	return 0;
}

/* ---- nice ---- */

#define PRIO_PROCESS 0
#define PRIO_PGRP    1
#define PRIO_USER    2

/* Call @fn for every thread that (@which, @who) names. Return: how many. */
static unsigned for_each_named(u64 which, u32 who, void (*fn)(struct task *t, void *arg), void *arg)
{
	struct process *self = current_process(), *p;
	struct thread *t;
	unsigned n = 0;

	if (which == PRIO_PROCESS) {
		/* Linux: one thread, named by its tid. */
		t = get_thread(who);
		if (!t)
			return 0;
		fn(&t->task, arg);
		thread_put(t);
		return 1;
	}
	if (which == PRIO_PGRP && !who)
		who = self->pgrp;
	spin_lock(&tree_lock);
	list_for_each (p, &process_list, all) {
		u64 flags;

		if (p->state != PROC_ALIVE || (which == PRIO_PGRP && p->pgrp != who))
			continue;
		flags = spin_lock_irqsave(&p->sig_lock);
		list_for_each (t, &p->threads, link) {
			fn(&t->task, arg);
			n++;
		}
		spin_unlock_irqrestore(&p->sig_lock, flags);
	}
	spin_unlock(&tree_lock);
	return n;
}

static void best_nice(struct task *t, void *arg)
{
	s64 *best = arg;

	*best = min(*best, (s64)t->nice);
}

static void apply_nice(struct task *t, void *arg)
{
	sched_set_nice(t, *(int *)arg);
	pi_prio_changed(t);
}

SYSCALL2(getpriority, which, who)
{
	s64 best = 20;

	if (which > PRIO_USER)
		return -EINVAL;
	if (which == PRIO_USER && who)
		return -ESRCH; /* everything is user 0 */
	if (!for_each_named(which, (u32)who, best_nice, &best))
		return -ESRCH;
	return 20 - best; /* the raw call returns 1..40 */
}

SYSCALL3(setpriority, which, who, nice)
{
	int value = max(-20, min(19, (int)nice));

	if (which > PRIO_USER)
		return -EINVAL;
	if (which == PRIO_USER && who)
		return -ESRCH;
	return for_each_named(which, (u32)who, apply_nice, &value) ? 0 : -ESRCH;
}

/* SPDX-License-Identifier: MIT
 *
 * What the files of the scheduling core share among themselves: locking of run queues, counting, asking a CPU to
 * reschedule. Policies use policy.h, everybody else sched.h.
 *
 * Who owns a task: the lock of the queue that task.cpu names protects every (rq) field of the task. The holder of that
 * lock may hand the task over by storing another CPU number as its last access (release order); from then on the other
 * queue's lock protects it. task_rq_lock() therefore looks again after it got a lock. A task that is running or enqueued
 * is handed over only with both locks held, or through the inbound list (migrate.c).
 */
#ifndef SCHED_INTERNAL_H
#define SCHED_INTERNAL_H

#include "sched/policy.h"

/* runq.after_switch */
#define AFTER_MIGRATE 1 /* the task that was switched out must be sent to another CPU */
#define AFTER_DEAD    2 /* the task that was switched out is dead */

extern u64 sched_tick_ns; /* length of a tick */
/* Queues with two or more tasks: work that another CPU could take. Atomic; a hint. */
extern u32 sched_overloaded;

extern bool sched_hz_given; /* hz= on the command line: policies do not change it */
/* All tasks but the idle ones, from sched_fork() or sched_kthread_init() to sched_forget(). Nothing is locked under the lock. */
extern struct list sched_tasks;
extern spinlock_t sched_tasks_lock; /* LOCK_LEAF, interrupts off */

void rq_clock_slow(struct runq *rq);

/** rq_clock_update() - bring @rq's time up to date; one division per jump, none while ticks follow each other. Lock held. Return: that time. */
static inline u64 rq_clock_update(struct runq *rq, u64 now)
{
	/* Clocks of different CPUs may differ by a few cycles: a queue's time never goes back. */
	u64 last = rq->clock;

	rq->clock = now = max(now, last);
	if (unlikely(now >= rq->jiffies_end))
		rq_clock_slow(rq);
	return now;
}

/*
 * Who reads the new number and locks its queue sees all that was written under the old queue's lock: release here, acquire in
 * task_cpu(). After the store the old lock protects nothing of @p.
 */
static inline void task_set_cpu(struct task *p, unsigned cpu)
{
	trace_migrate(p, cpu);
	__atomic_store_n(&p->cpu, cpu, __ATOMIC_RELEASE);
}

static inline unsigned task_cpu(const struct task *p)
{
	return __atomic_load_n(&p->cpu, __ATOMIC_ACQUIRE);
}

/** task_rq_lock_again() - @p went from locked @rq to another queue: follow it. Return: its queue, locked. */
struct runq *task_rq_lock_again(struct runq *rq, struct task *p);

/** task_rq_lock() - lock the queue that @p belongs to. Interrupts off. */
static inline struct runq *task_rq_lock(struct task *p)
{
	struct runq *rq = machine_runq(task_cpu(p));

	spin_lock_raw(rq->lock);
	return likely(task_cpu(p) == rq->cpu) ? rq : task_rq_lock_again(rq, p);
}

/** double_rq_lock() - lock two queues, lower address first; both may be one. Interrupts off, neither held. */
static inline void double_rq_lock(struct runq *a, struct runq *b)
{
	if (a->lock == b->lock) {
		spin_lock_raw(a->lock);
	} else if (a->lock < b->lock) {
		spin_lock_raw(a->lock);
		spin_lock_raw(b->lock);
	} else {
		spin_lock_raw(b->lock);
		spin_lock_raw(a->lock);
	}
}

static inline void double_rq_unlock(struct runq *a, struct runq *b)
{
	spin_unlock_raw(a->lock);
	if (a->lock != b->lock)
		spin_unlock_raw(b->lock);
}

/** runq_inc(), runq_dec() - count a task in or out. Lock held. */
static inline void runq_inc(struct runq *rq)
{
	if (++rq->nr_running == 2)
		__atomic_fetch_add(&sched_overloaded, 1, __ATOMIC_RELAXED);
}

static inline void runq_dec(struct runq *rq)
{
	if (rq->nr_running-- == 2)
		__atomic_fetch_sub(&sched_overloaded, 1, __ATOMIC_RELAXED);
}

/** runq_resched() - make @rq's CPU call schedule() soon. Lock held, interrupts off. */
static inline void runq_resched(struct runq *rq)
{
	if (machine_need_resched(rq->cpu))
		return;
	machine_set_need_resched(rq->cpu);
	if (rq->cpu != cpu_index()) {
		trace_ipi_send(TRACE_IPI_RESCHED, rq->cpu);
		machine_send_resched(rq->cpu);
	}
}

/** runq_activate() - enqueue @p, count it and preempt the current task if the policy says so. Lock held, clock up to date. */
static inline void runq_activate_by(const struct sched_policy *pol, struct runq *rq, struct task *p,
				    u32 flags)
{
	pol->enqueue(rq, p, flags);
	p->on_rq = ON_RQ_QUEUED;
	runq_inc(rq);
	/*
	 * An idle CPU always looks at what came: 2.6.0-test4 left it to its next event after a sync wake-up. The running
	 * task itself is woken in the window in which balancing drops the lock; it is about to be picked anyway.
	 */
	if (rq->curr == rq->gives_way || (rq->curr != p && pol->preempts(rq, p, flags)))
		runq_resched(rq);
}

static inline void runq_activate(struct runq *rq, struct task *p, u32 flags)
{
	runq_activate_by(sched_policy, rq, p, flags);
}

/** runq_deactivate() - the reverse. Lock held. */
static inline void runq_deactivate(struct runq *rq, struct task *p, u32 flags)
{
	sched_policy->dequeue(rq, p, flags);
	runq_dec(rq);
	p->on_rq = ON_RQ_NONE;
}

/* ---- core.c ---- */

/** sched_preempt_now() - switch as an interrupt would: the current task stays runnable whatever its state. Count 0. */
void sched_preempt_now(void);

/* ---- balance.c ---- */

/** balance_pull_idle() - look for work for an empty queue. Lock held; may drop and retake it. */
void balance_pull_idle(struct runq *rq);

/** balance_tick() - the balancing part of a tick. Lock held; may drop and retake it. */
void balance_tick(struct runq *rq, bool idle);

/* ---- idle.c ---- */

/** sched_cpu_start() - this CPU may get tasks from now on. First step of sched_idle_loop(). */
void sched_cpu_start(void);

/** idle_switch_in(), idle_switch_out() - the idle task of this CPU starts or stops running. Lock held. */
void idle_switch_in(struct runq *rq);
void idle_switch_out(struct runq *rq);

/** idle_tick() - a tick found this CPU idle and balanced: stop the tick if nothing needs it. Lock held. */
void idle_tick(struct runq *rq);

/** idle_kick() - wake up to @n idle CPUs whose tick is stopped, so that they look for work. Lock held. */
void idle_kick(struct runq *rq, unsigned n);

/** idle_reset() - forget all CPUs. For simulators that start one machine after another. */
void idle_reset(void);

/** idle_wait() - one turn of the idle loop; entered with interrupts off and need_resched clear, left with them on. */
void idle_wait(struct runq *rq);

/* ---- show.c ---- */

/** sched_watch_end() - nobody watches the policy any more: sched_policy is its own table. All CPUs stand still. @arg: unused. */
void sched_watch_end(void *arg);

/* ---- migrate.c ---- */

/** migrate_out() - @prev, running and switching out, has a migration request. Lock held. */
void migrate_out(struct runq *rq, struct task *prev);

/** migrate_hand_over() - @prev is off its stack: send it to a CPU that it may use. Lock held. */
void migrate_hand_over(struct runq *rq, struct task *prev);

/** migrate_pick_cpu() - Return: the least loaded online CPU of @p's affinity (the lowest of several). */
unsigned migrate_pick_cpu(const struct task *p);

/*
 * Test knob: how the current task moves itself. The two published orders of the -J2 scheduler (January 2002) stand here
 * as lessons; docs/scheduling-core.md tells the story. All fields are for tests only.
 */
enum migrate_order {
	MIGRATE_INBOUND, /* ours */
	MIGRATE_J2,	 /* IPI, then state, then schedule(): the race */
	MIGRATE_J2_STATE_FIRST, /* the fix of 25 January 2002: state first. Safe only while the kernel is not preempted */
};
struct migrate_test {
	enum migrate_order order;
	void (*window)(void); /* called by the moving task in the window before it schedules */
	u64 spin_limit; /* turns that the -J2 handler waits for the task to be inactive; then it is a dead end */
	u32 trips;     /* times a task was found on one queue while naming another */
	u32 dead_ends; /* times the handler gave up waiting */
	u32 handled;   /* -J2 hand-overs that the handler has finished, one way or the other */
};
extern struct migrate_test migrate_test;

#endif

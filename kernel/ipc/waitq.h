/* SPDX-License-Identifier: MIT
 *
 * Wait queues: tasks that sleep until a condition changes, and the sleeping lock built on them.
 *
 * The waiter's pattern makes check-then-sleep atomic. The waiter is on the queue and its state is set before the condition is looked at
 * for the last time; a waker changes the condition first and looks at the queue afterwards (under the queue's lock):
 *
 *	struct waiter w;
 *	waitq_prepare(&q, &w, TASK_INTERRUPTIBLE, exclusive);   // queue + state
 *	if (!condition)
 *		schedule();
 *	waitq_finish(&q, &w);                                   // off the queue, running
 */
#ifndef IPC_WAITQ_H
#define IPC_WAITQ_H

#include "lib/list.h"
#include "sched/sched.h"

struct waitq {
	spinlock_t lock; /* LOCK_WAITQ; taken in interrupts too */
	struct list waiters;
};

enum waiter_kind {
	WAITER_SHARED,
	WAITER_EXCLUSIVE, /* woken one at a time; queued at the tail */
	WAITER_NOTIFY,	  /* notify() is called under the queue's lock instead (poll) */
};

struct waiter {
	struct list
		link; /* on waitq.waiters, under its lock. Once taken off by a waker .next points to itself: the waiter
			     owns the wake-up and must use it or pass it on */
	struct task *task;
	void (*notify)(struct waiter *w);
	u32 kind;
};

void waitq_init(struct waitq *q);

/** waitq_prepare() - put current on @q with task state @state. Context: task, interrupts on. */
static inline void waitq_prepare(struct waitq *q, struct waiter *w, u32 state, bool exclusive)
{
	w->task = current_task();
	w->kind = exclusive ? WAITER_EXCLUSIVE : WAITER_SHARED;
	irq_disable(); /* a task context with interrupts on: no flags to save */
	spin_lock_raw(&q->lock);
	/* Exclusive waiters stand behind all others, so that a waker can stop after the first nr of them. */
	if (exclusive)
		list_add_tail(&w->link, &q->waiters);
	else
		list_add(&w->link, &q->waiters);
	set_current_state(state); /* the full barrier before the caller's look at its condition */
	spin_unlock_raw(&q->lock);
	irq_enable();
}

/** waitq_leave() - out of line part of waitq_finish(): the waiter seems to be still queued. */
bool waitq_leave(struct waitq *q, struct waiter *w);

/**
 * waitq_finish() - current is running again and off @q. Return: whether a waker had taken it off (an exclusive waiter that got a wake-up and does
 * not use it, because of a signal or because it leaves work behind, must pass it on with waitq_wake(q, 1, 0)).
 */
static inline bool waitq_finish(struct waitq *q, struct waiter *w)
{
	current_task()->state = TASK_RUNNING;
	/* Only a waker leaves it unlinked; that store was its last access to @w. */
	if (likely(__atomic_load_n(&w->link.next, __ATOMIC_ACQUIRE) == &w->link))
		return true;
	return waitq_leave(q, w);
}

/** waitq_wake_slow() - waitq_wake() when somebody seems to wait. */
unsigned waitq_wake_slow(struct waitq *q, unsigned nr, unsigned flags);

/**
 * waitq_wake() - wake all non-exclusive waiters and up to @nr exclusive ones (0 = all), in queue order. @flags: WAKE_SYNC.
 *
 * Without waiters: a fence and one load. The caller made its condition visible before; the fence orders that store before
 * the load of the queue, and pairs with the barrier of waitq_prepare() (queue first, condition afterwards): of a waker and
 * a waiter that race, at least one sees the other. Preempts the caller at its end if that became due and is allowed.
 * Context: any. Return: exclusive waiters woken.
 */
static inline unsigned waitq_wake(struct waitq *q, unsigned nr, unsigned flags)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (likely(READ_ONCE(q->waiters.next) == &q->waiters))
		return 0;
	return waitq_wake_slow(q, nr, flags);
}

/** waitq_wake_one_slow() - waitq_wake_one() when somebody seems to wait. */
void waitq_wake_one_slow(struct waitq *q);

/** waitq_wake_one() - waitq_wake(@q, 1, 0) of a task with interrupts on, after an atomic operation that is a full barrier (mutex_unlock()). */
static inline void waitq_wake_one(struct waitq *q)
{
	if (unlikely(READ_ONCE(q->waiters.next) != &q->waiters))
		waitq_wake_one_slow(q);
}

/** waitq_add_notify() - put a poll waiter (w->notify set, .kind is set here) on @q without touching the task state. waitq_finish() style removal: waitq_remove(). */
void waitq_add_notify(struct waitq *q, struct waiter *w);
void waitq_remove(struct waitq *q, struct waiter *w);

/**
 * sleep_until() - schedule() with a limit: sleep until @when ns (~0ull = no limit), a signal (interruptible) or a wake-up.
 * The caller has set its state, @state, already (waitq_prepare() or set_current_state()) and found its condition false since;
 * it is not set here, where a wake-up that came in between would be undone. A plain sleep is set_current_state() and this.
 * Return: true if @when was reached; the state is TASK_RUNNING then.
 */
bool sleep_until(u64 when, u32 state);

/**
 * struct mutex - sleeping lock; FIFO wake-ups, no hand-over: a running task may take the lock before the woken one gets to it.
 */
struct mutex {
	volatile u32 state; /* bit 0: locked; bit 1: somebody may wait; atomic */
	struct waitq waiters;
#ifdef DEBUG
	struct task *owner; /* the holder, written by it */
#endif
};

#define MUTEX_LOCKED  1u
#define MUTEX_WAITERS 2u

void mutex_init(struct mutex *m);
/* The out of line parts of mutex_lock() and mutex_unlock(): they save every register, so that the fast paths around them stay short. */
void mutex_lock_slow(struct mutex *m) KEEPS_REGISTERS;
void mutex_unlock_slow(struct mutex *m) KEEPS_REGISTERS;
#ifdef DEBUG
void mutex_debug_lock(struct mutex *m);
void mutex_debug_locked(struct mutex *m);
void mutex_debug_unlock(struct mutex *m);
#else
#define mutex_debug_lock(m)   ((void)0)
#define mutex_debug_locked(m) ((void)0)
#define mutex_debug_unlock(m) ((void)0)
#endif

/** mutex_trylock() - Return: whether the lock was free and is now ours. */
static inline bool mutex_trylock(struct mutex *m)
{
	if (bit0_test_and_set(&m->state))
		return false;
	mutex_debug_locked(m);
	return true;
}

/** mutex_lock() - uninterruptible. Context: task, no spin lock held. */
static inline void mutex_lock(struct mutex *m)
{
	mutex_debug_lock(m);
	if (unlikely(!mutex_trylock(m)))
		mutex_lock_slow(m);
}

/** mutex_lock_interruptible() - Return: 0 or -ERESTARTSYS. */
int mutex_lock_interruptible(struct mutex *m);

/**
 * mutex_unlock() - may be called with a task state set for sleeping. Touches @m after another task can have taken the lock:
 * a mutex must not be freed by whoever gets it next, only when its users are known to be gone.
 */
static inline void mutex_unlock(struct mutex *m)
{
	mutex_debug_unlock(m);
	if (unlikely(__atomic_sub_fetch(&m->state, MUTEX_LOCKED, __ATOMIC_SEQ_CST)))
		mutex_unlock_slow(m);
}

#endif

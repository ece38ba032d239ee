// SPDX-License-Identifier: MIT
/*
 * The sleeping lock: one atomic instruction to lock and one to unlock while nobody waits.
 *
 * MUTEX_WAITERS says that somebody may be in the queue. A waiter sets it with the instruction that also tries to take the
 * lock, after it is queued; so an unlocker either sees the bit and looks at the queue, or has unlocked before and the waiter
 * gets the lock. Whoever got the lock in the slow path leaves the bit behind, since others may be queued after it: at worst
 * one look at an empty queue too many.
 *
 * An unlocker that saw the bit clears it and wakes one waiter, in this order. Between its unlocking and its clearing others
 * may have queued and set the bit; so the one wake-up stands for all of them until the woken task has set the bit again.
 * Whoever gets it and does not try again, because it has the lock already or for a signal, passes it on.
 */
#include "ipc/waitq.h"
#include "lib/errno.h"
#include "log.h"

void mutex_init(struct mutex *m)
{
	m->state = 0;
	waitq_init(&m->waiters);
#ifdef DEBUG
	m->owner = NULL;
#endif
}

#ifdef DEBUG
void mutex_debug_lock(struct mutex *m)
{
	if (m->owner == current_task())
		panic("mutex %p locked twice by %u", (void *)m, current_task()->id);
	if (preempt_count() || in_interrupt())
		panic("mutex %p taken with a spin lock held or in an interrupt", (void *)m);
}

void mutex_debug_locked(struct mutex *m)
{
	m->owner = current_task();
}

void mutex_debug_unlock(struct mutex *m)
{
	if (m->owner != current_task())
		panic("mutex %p unlocked by %u, which does not hold it", (void *)m,
		      current_task()->id);
	m->owner = NULL;
}
#endif

static int lock_slow(struct mutex *m, u32 state)
{
	struct waiter w;

	for (;;) {
		bool got, woken;

		waitq_prepare(&m->waiters, &w, state, true);
		got = !(__atomic_fetch_or(&m->state, MUTEX_LOCKED | MUTEX_WAITERS,
					  __ATOMIC_ACQUIRE) &
			MUTEX_LOCKED);
		if (!got)
			schedule();
		woken = waitq_finish(&m->waiters, &w);
		if (got)
			mutex_debug_locked(m);
		else if (state != TASK_INTERRUPTIBLE || !current_task()->signal_pending)
			continue;
		if (woken)
			waitq_wake(&m->waiters, 1, 0);
		return got ? 0 : -ERESTARTSYS;
	}
}

void mutex_lock_slow(struct mutex *m)
{
	lock_slow(m, TASK_UNINTERRUPTIBLE);
	barrier(); /* see KEEPS_REGISTERS */
}

int mutex_lock_interruptible(struct mutex *m)
{
	mutex_debug_lock(m);
	if (likely(mutex_trylock(m)))
		return 0;
	return lock_slow(m, TASK_INTERRUPTIBLE);
}

void mutex_unlock_slow(struct mutex *m)
{
	__atomic_and_fetch(&m->state, ~MUTEX_WAITERS, __ATOMIC_SEQ_CST);
	waitq_wake(&m->waiters, 1, 0);
	barrier(); /* see KEEPS_REGISTERS */
}

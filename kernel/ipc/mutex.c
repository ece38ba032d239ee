// SPDX-License-Identifier: MIT
/*
 * The sleeping lock: one atomic instruction to lock and one to unlock while nobody waits.
 *
 * The value 2 says that somebody may be in the queue. A waiter sets it with the exchange that also tries to take the lock,
 * after it is queued; so an unlocker either sees 2 and looks at the queue, or has unlocked before and the exchange gets
 * the lock. Whoever got the lock in the slow path leaves 2 behind, since others may be queued after it: at worst one
 * look at an empty queue too many.
 */
#include "ipc/waitq.h"
#include "lib/errno.h"
#include "log.h"

void mutex_init(struct mutex *m)
{
	m->locked = 0;
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
		bool woken;

		waitq_prepare(&m->waiters, &w, state, true);
		if (__atomic_exchange_n(&m->locked, 2, __ATOMIC_ACQUIRE) == 0) {
			/* A wake-up that reached us meanwhile needs no passing on: our own unlock sees the 2. */
			waitq_finish(&m->waiters, &w);
			mutex_debug_locked(m);
			return 0;
		}
		schedule();
		woken = waitq_finish(&m->waiters, &w);
		if (state == TASK_INTERRUPTIBLE && current_task()->signal_pending) {
			if (woken)
				waitq_wake(&m->waiters, 1, 0);
			return -ERESTARTSYS;
		}
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
	waitq_wake(&m->waiters, 1, 0);
	barrier(); /* see KEEPS_REGISTERS */
}

// SPDX-License-Identifier: MIT
/*
 * Wait queues, sleeping with a limit.
 *
 * Why no wake-up is lost, with waiter and waker truly at the same time on two CPUs:
 *
 *	waiter                                  waker
 *	link w, state = S        (queue)        condition = true
 *	full barrier                            full barrier
 *	read condition           (a)            read queue           (b)
 *	schedule() if false                     wake every w it finds
 *
 * Of the loads (a) and (b) at least one comes after both stores, in the one order that full barriers give: either the waiter
 * sees the condition, or the waker sees the waiter. If the waker finds a waiter that has not yet reached schedule(),
 * task_wake() sets its state back to TASK_RUNNING under the run-queue lock, and schedule() looks at the state under that
 * same lock: the task stays on its queue. A preemption between (a) and schedule() leaves the task on its queue too
 * whatever its state says (kernel/sched/core.c), so it comes back and gets to its own schedule().
 *
 * When the condition is protected by a mutex that the waiter holds until it is queued (pipes), (a) needs no second look:
 * the waker's own lock of the mutex comes after the waiter's unlock and thereby after its place in the queue.
 */
#include "ipc/waitq.h"
#include "time/timer.h"

void waitq_init(struct waitq *q)
{
	spin_init(&q->lock, "waitq", LOCK_WAITQ);
	list_init(&q->waiters);
}

/*
 * Take @w off its queue as its waker. The waiter may be running already and looks at link.next without the lock
 * (waitq_finish): the last store tells it that nobody will touch @w, which lies on its stack, any more.
 */
static void take_off(struct waiter *w)
{
	list_del(&w->link);
	__atomic_store_n(&w->link.next, &w->link, __ATOMIC_RELEASE);
}

/* The general case, with the lock held. */
static __attribute__((noinline)) unsigned wake_many(struct waitq *q, unsigned nr, unsigned flags)
{
	unsigned woken = 0;
	struct waiter *w, *tmp;

	list_for_each_safe (w, tmp, &q->waiters, link) {
		bool exclusive = w->kind == WAITER_EXCLUSIVE;

		if (w->kind == WAITER_NOTIFY) {
			w->notify(w);
			continue;
		}
		/*
		 * A waiter that is awake already (a signal, another queue) keeps its place and gives up no wake-up: it
		 * will look at its condition anyway, or leave because of the signal without owing anything.
		 */
		if (!task_wake(w->task, TASK_NORMAL, flags))
			continue;
		take_off(w);
		if (exclusive && ++woken == nr)
			break;
	}
	return woken;
}

/* Mostly one task waits, or the first of several exclusive ones is meant. */
void waitq_wake_one_slow(struct waitq *q)
{
	struct waiter *w;

	irq_disable();
	spin_lock_raw(&q->lock);
	w = list_first(&q->waiters, struct waiter, link);
	if (likely(&w->link != &q->waiters && w->kind == WAITER_EXCLUSIVE &&
		   task_wake_plain(w->task, TASK_NORMAL)))
		take_off(w);
	else
		wake_many(q, 1, 0);
	spin_unlock_raw(&q->lock);
	irq_enable();
	preempt_point();
}

unsigned waitq_wake_slow(struct waitq *q, unsigned nr, unsigned flags)
{
	u64 irq = spin_lock_irqsave(&q->lock);
	unsigned woken = wake_many(q, nr, flags);

	spin_unlock_irqrestore(&q->lock, irq);
	if (irq & RFLAGS_IF)
		preempt_point();
	return woken;
}

bool waitq_leave(struct waitq *q, struct waiter *w)
{
	u64 flags = spin_lock_irqsave(&q->lock);

	bool woken = w->link.next == &w->link;

	if (!woken)
		list_del(&w->link);
	spin_unlock_irqrestore(&q->lock, flags);
	return woken;
}

void waitq_add_notify(struct waitq *q, struct waiter *w)
{
	u64 flags = spin_lock_irqsave(&q->lock);

	w->kind = WAITER_NOTIFY;
	list_add(&w->link, &q->waiters);
	/* The unlock below is no full barrier; the caller reads its condition next. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	spin_unlock_irqrestore(&q->lock, flags);
}

void waitq_remove(struct waitq *q, struct waiter *w)
{
	u64 flags = spin_lock_irqsave(&q->lock);

	list_del(&w->link);
	spin_unlock_irqrestore(&q->lock, flags);
}

struct sleeper {
	struct timer timer;
	struct task *task;
	volatile bool fired;
};

/* Timer interrupt, perhaps on another CPU than the sleeper wakes on. */
static void sleeper_fire(struct timer *t)
{
	struct sleeper *s = container_of(t, struct sleeper, timer);

	s->fired = true;
	task_wake(s->task, TASK_NORMAL, 0);
}

bool sleep_until(u64 when, u32 state)
{
	struct sleeper s;

	(void)state; /* names what the caller did; see waitq.h */
	if (when == ~0ull) {
		schedule();
		current_task()->state = TASK_RUNNING;
		return false;
	}
	s.task = current_task();
	s.fired = false;
	timer_init(&s.timer, sleeper_fire);
	timer_start(
		&s.timer,
		when); /* fires at once if @when has passed; schedule() then finds us runnable */
	schedule();
	/* Also after it fired: sleeper_fire() may still be in task_wake() on another CPU, and @s is about to go. */
	timer_cancel(&s.timer);
	s.task->state = TASK_RUNNING;
	return s.fired;
}

/* SPDX-License-Identifier: MIT
 *
 * What the two policies with a nanosecond clock share (o1-a3, o1-int): stamps in ns, the charge for running at every schedule()
 * instead of every tick, credit for waiting after a wake-up, and the round robin within a slice.
 *
 * task.activated says how a task was woken until it is next picked: 1 by a task, 2 by an interrupt, -1 from uninterruptible sleep
 * (o1-int), 0 not at all. A task that is picked with 1 or 2 is credited with its wait, in part or in full, and requeued at the tail
 * of its list; it runs all the same.
 */
#ifndef SCHED_POLICY_O1_NS_H
#define SCHED_POLICY_O1_NS_H

#include "sched/policy/o1_family.h"

/** ns_since() - Return: ns from @stamp to @now, at most @most. Clocks of CPUs may differ a little: 0 if it is in the future. */
static inline u64 ns_since(u64 now, u64 stamp, u64 most)
{
	return now <= stamp ? 0 : min(now - stamp, most);
}

/* Length of a tick if the clock is to be read in whole ticks, as from jiffies; 0: in ns. Each policy has its own. */
static u64 ns_whole_ticks;

/** ns_clock() - Return: the time, as fine as the policy's clock is. */
static inline u64 ns_clock(const struct runq *rq)
{
	return unlikely(ns_whole_ticks) ? rq->clock - rq->clock % ns_whole_ticks : rq->clock;
}

FAMILY void ns_task_init(struct runq *rq, struct task *p, u32 slice)
{
	family_task_init(p);
	o1(p)->time_slice = (s32)slice;
	o1(p)->stamp = ns_clock(rq);
}

/**
 * ns_woken() - the wake-up's (or affinity move's) credit, before @p is put into the active array.
 * @credit: whether the time since its stamp counts as sleep. @keep: an activated that is set already stays.
 */
FAMILY void ns_woken(struct runq *rq, struct task *p, u32 flags, bool credit, bool keep,
		     void (*recalc)(struct task *p, u64 now))
{
	if (!(flags & (ENQ_WAKEUP | ENQ_MIGRATED)) || (flags & ENQ_SYNC))
		return;
	if (credit) {
		recalc(p, ns_clock(rq));
		sched_note_score(rq, p, SCORE_WAKE, (s64)o1(p)->sleep_ns);
	}
	if (!keep || !o1(p)->activated)
		o1(p)->activated = flags & ENQ_IRQ ? 2 : 1;
	o1(p)->stamp = ns_clock(rq);
}

static inline void ns_dequeue(struct runq *rq, struct task *p, u32 flags)
{
	array_del(p);
	o1(p)->array = NULL;
}

/** ns_pick_next() - @weight: part of the wait that counts after a wake-up by a task, in 128ths. */
FAMILY struct task *ns_pick_next(struct runq *rq, struct task *prev, u32 weight,
				 void (*recalc)(struct task *p, u64 now))
{
	struct task *next = family_pick(rq->policy);
	struct o1_task *t = o1(next);
	struct prio_array *array = t->array;

	if (t->activated > 0) {
		u64 waited = ns_since(ns_clock(rq), t->stamp, ~0ull);

		if (t->activated == 1)
			waited = waited * weight / 128;
		array_del(next);
		recalc(next, t->stamp + waited);
		sched_note_score(rq, next, SCORE_WAKE, (s64)t->sleep_ns);
		array_add(array, next);
	}
	t->activated = 0;
	if (next != prev)
		t->stamp = ns_clock(rq);
	return next;
}

/** struct ns_tick_rules - what a variant decides in its tick; all constant functions. */
struct ns_tick_rules {
	u32 (*slice)(const struct task *p);
	s16 (*effective)(const struct task *p);
	bool (*interactive)(const struct task *p);
	bool (*starving)(const struct runq *rq, const struct o1_runq *q);
	bool (*round_robin)(
		const struct task *p); /* give way to its equals in the middle of its slice? */
};

FAMILY bool ns_tick(struct runq *rq, struct task *p, const struct ns_tick_rules r)
{
	struct o1_runq *q = rq->policy;
	struct o1_task *t = o1(p);

	if (t->array != q->active)
		return true; /* expired, and not switched off yet */
	if (p->class == SCHED_FIFO)
		return false;
	if (--t->time_slice > 0) {
		if (rt(p) || !r.round_robin(p))
			return false;
		array_del(p);
		p->prio = r.effective(p);
		array_add(q->active, p);
		return true;
	}
	array_del(p);
	t->time_slice = (s32)r.slice(p);
	t->first_time_slice = 0;
	if (p->class == SCHED_RR) {
		array_add(q->active, p);
		return true;
	}
	/* The slice that ends here is charged by the put_prev() to come: this priority is one slice late. */
	p->prio = r.effective(p);
	sched_note_score(rq, p, SCORE_SLICE, (s64)t->sleep_ns);
	if (!q->expired_timestamp) /* also for one that stays active */
		q->expired_timestamp = rq->jiffies;
	array_add(r.interactive(p) && !r.starving(rq, q) ? q->active : q->expired, p);
	return true;
}

FAMILY bool ns_fork(struct runq *rq, struct task *parent, struct task *child,
		    s16 (*effective)(const struct task *p),
		    bool (*tick)(struct runq *rq, struct task *p))
{
	struct o1_task *p = o1(parent), *c = o1(child);

	family_task_init(child);
	c->sleep_ns = p->sleep_ns;
	c->time_slice = (p->time_slice + 1) / 2;
	c->first_time_slice = 1;
	c->stamp = ns_clock(rq);
	child->prio = effective(child);
	p->time_slice /= 2;
	if (p->time_slice)
		return false;
	p->time_slice = 1; /* its last tick went to the child: it expires now */
	return parent->on_rq == ON_RQ_QUEUED && tick(rq, parent);
}

/** ns_reap() - as in 2.6.0-test4, but each part is divided first, as published, to stay within 32 bits there. */
static inline void ns_reap(struct task *child, struct task *parent, u32 max_slice, u64 weight)
{
	struct o1_task *p = o1(parent), *c = o1(child);

	if (c->first_time_slice)
		p->time_slice = min(p->time_slice + c->time_slice, (s32)max_slice);
	if (c->sleep_ns < p->sleep_ns)
		p->sleep_ns = p->sleep_ns / (weight + 1) * weight + c->sleep_ns / (weight + 1);
}

/** ns_cold() - as published: the time since the stamp in units of 2^@shift ns (10: about a us) against @decay in ms. */
static inline bool ns_cold(const struct runq *src, const struct task *p, s64 shift, s64 decay)
{
	return (s64)(ns_since(ns_clock(src), o1(p)->stamp, ~0ull) >> shift) > decay;
}

/** ns_can_migrate() - may @p be pulled? The knobs hot_rule, hot_unit and cache_decay_ticks. */
FAMILY bool ns_can_migrate(struct runq *src, struct task *p, struct runq *dst, bool idle, s64 rule,
			   s64 shift, s64 decay)
{
	return family_hot_allows(rule, idle, ns_cold(src, p, shift, decay)) &&
	       sched_can_move(src, p, dst);
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * Policy nick: Nick Piggin's scheduler policy, v8 of 28 August 2003 (version = 6: that of 24 August).
 *
 * The two arrays of o1, and otherwise another idea: nobody is "interactive", nothing goes back into the active array, no rule
 * against starvation is needed. Every ended slice goes to the expired array. Who sleeps much gets a better priority (110..130 for
 * nice 0), and the slice of a task shrinks with the distance of its priority to the best one on the queue, so that it is soon over.
 *
 * The estimate is the share of sleep in the last second or so: both times fade as new time is added. A user task that wakes
 * another gets half of the credit and part of the other's slice.
 *
 * Kept as published: used_slice is unsigned and is subtracted from; below zero it is huge, and the next tick ends the slice.
 */
#include "sched/policy/o1_family.h"

/* ------------------------------------------------------------- tunables */

static s64 version = 8, min_timeslice = 1, history = 1000, cache_decay = 5, hot_rule = 1;

#define V8 "v8"
static const struct tunable nick_tunables[] = {
	{"version", "6 or 8 (7 is taken as 6)", 6, 8, 8, &version, V8},
	{"min_timeslice", "ms", 1, 1000, 1, &min_timeslice, V8 " (MIN_TIMESLICE)"},
	{"history", "ms", 10, 10000, 1000, &history, V8 " (MAX_SLEEP is HZ)"},
	{"cache_decay_ticks", "ms", 0, 1000, 5, &cache_decay,
	 "2.6.0-test4 computes it from the cache size, 0..6 ms"},
	{"hot_rule", "0 none, 1 as published, 2 as intended", 0, 2, 1, &hot_rule, V8 " is 1"},
};

/* The same in ticks. */
static struct {
	u32 min_slice, history, cache_decay;
	bool v8;
} k;

static void nick_setup(void)
{
	k.min_slice = max(family_ticks(min_timeslice), 1u);
	k.history = max(family_ticks(history), 1u);
	k.cache_decay = family_ticks(cache_decay);
	k.v8 = version >= 8;
}

/* ----------------------------------------------------------- priorities */

static int own_prio(const struct task *p)
{
	if (rt(p))
		return 99 - p->rt_priority;
	return family_bound_prio(MAX_RT_PRIO + (static_prio(p) - MAX_RT_PRIO) / 2 + USER_PRIOS / 2 -
				 USER_PRIOS * (int)o1(p)->sleep_avg / 1000 / 2);
}

static s16 effective_prio(const struct task *p)
{
	return (s16)min(own_prio(p), (int)p->lent_prio);
}

/* Ticks of a slice at priority @prio where @best is the best. */
static u32 slice_at(int prio, int best)
{
	u32 d = (u32)(prio - best), user = (u32)(best - MAX_RT_PRIO), slice;

	if (k.v8)
		slice = 41 * k.min_slice / (d + 2) * (user + 8) / 8;
	else
		slice = 40 * k.min_slice / (d + 1) * (user + 4) / 4;
	return max(slice, 1u);
}

static u32 time_slice(const struct o1_runq *q, const struct task *p)
{
	int prio = max((int)p->prio, MAX_RT_PRIO), best = prio;

	if (rt(p))
		return (k.v8 ? 40 : 20) * k.min_slice;
	best = min(best, (int)bit_find_next(q->active->bitmap, MAX_PRIO, MAX_RT_PRIO));
	best = min(best, (int)bit_find_next(q->expired->bitmap, MAX_PRIO, MAX_RT_PRIO));
	return slice_at(prio, best);
}

/* -------------------------------------------------------------- history */

static void recompute(struct o1_task *t)
{
	t->sleep_avg = t->total_time ? (u32)(1000ull * t->sleep_time / t->total_time) : 0;
}

/* Add @ticks, asleep or not. What was before fades by as much as is added. */
static void add_time(struct task *p, u64 ticks, bool asleep)
{
	struct o1_task *t = o1(p);
	u32 all = k.history, keep;

	if (!ticks)
		return;
	if (ticks > all) {
		ticks = all;
		t->total_time = t->sleep_time = 0;
	}
	keep = all - (u32)ticks;
	t->total_time = (u32)(((u64)t->total_time * keep + all / 2) / all) + (u32)ticks * 1000;
	t->sleep_time = (u32)(((u64)t->sleep_time * keep + all / 2) / all) +
			(asleep ? (u32)ticks * 1000 : 0);
	recompute(t);
}

/* ------------------------------------------------------------ the queue */

static void nick_task_init(struct runq *rq, struct task *p)
{
	family_task_init(p);
	o1(p)->stamp = rq->jiffies;
	p->prio = effective_prio(p);
}

/*
 * The waker runs on this CPU, perhaps not on @rq's: the fields that change here are written by its own CPU only, with
 * interrupts off, while it runs.
 */
static void woken(struct runq *rq, struct task *p, u32 flags)
{
	struct o1_runq *q = rq->policy;
	struct o1_task *t = o1(p);
	struct task *by = NULL;
	u32 slept = (u32)min(rq->jiffies - t->stamp, (u64)k.history), donated;

	if ((flags & ENQ_WAKEUP) && !(flags & ENQ_IRQ) && rq->waker && rq->waker->address_space)
		by = rq->waker;
	t->stamp = rq->jiffies;
	if (by) {
		add_time(by, slept / 2, true);
		add_time(p, slept - slept / 2, true);
	} else {
		add_time(p, slept, true);
		if (flags & ENQ_IRQ)
			add_time(p, slept / 2, true);
	}
	p->prio = effective_prio(p);
	sched_note_score(rq, p, SCORE_WAKE, t->sleep_avg);
	if (t->sequence != q->sequence)
		t->used_slice = 0;
	if (!by)
		return;
	donated = min(slept / 2, (time_slice(q, p) - t->used_slice) / 2);
	t->used_slice += donated;
	o1(by)->used_slice -= donated;
}

static void nick_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	if (flags & (ENQ_WAKEUP | ENQ_MIGRATED))
		woken(rq, p, flags);
	array_add(((struct o1_runq *)rq->policy)->active, p);
}

static void nick_dequeue(struct runq *rq, struct task *p, u32 flags)
{
	struct o1_runq *q = rq->policy;
	struct o1_task *t = o1(p);

	array_del(p);
	t->array = NULL;
	t->sequence = q->sequence;
	if (flags & DEQ_DEAD)
		t->time_slice = (s32)(time_slice(q, p) - t->used_slice); /* for nick_reap() */
}

static struct task *nick_pick_next(struct runq *rq, struct task *prev)
{
	struct task *next = family_pick(rq->policy);

	if (next != prev)
		o1(next)->stamp = rq->jiffies;
	return next;
}

static void nick_put_prev(struct runq *rq, struct task *prev, unsigned how)
{
	add_time(prev, rq->jiffies - o1(prev)->stamp, false);
	o1(prev)->stamp = rq->jiffies;
}

static bool nick_preempts(struct runq *rq, struct task *p, u32 flags)
{
	struct task *curr = rq->curr;

	if (flags & (ENQ_SYNC | ENQ_FORK))
		return false;
	return p->prio < curr->prio ||
	       (p->prio == curr->prio && !rt(p) && static_prio(p) < static_prio(curr));
}

static bool nick_tick(struct runq *rq, struct task *p)
{
	struct o1_runq *q = rq->policy;
	struct o1_task *t = o1(p);

	if (t->array != q->active)
		return true; /* expired, and not switched off yet */
	if (p->class == SCHED_FIFO)
		return false;
	if (++t->used_slice < time_slice(q, p))
		return false;
	array_del(p);
	t->used_slice = 0;
	t->first_time_slice = 0;
	if (!rt(p))
		p->prio = effective_prio(p);
	sched_note_score(rq, p, SCORE_SLICE, t->sleep_avg);
	/* Everybody expires; only a task for which somebody better waits stays. */
	array_add(rt(p) || p->prio == p->lent_prio ? q->active : q->expired, p);
	return true;
}

/* -------------------------------------------------------- fork and exit */

static bool nick_fork(struct runq *rq, struct task *parent, struct task *child)
{
	struct o1_task *p = o1(parent), *c = o1(child);
	u32 slice = time_slice(rq->policy, parent);
	u32 left = p->used_slice < slice ? slice - p->used_slice : 0, share = (left + 1) / 2;

	family_task_init(child);
	c->stamp = rq->jiffies;
	c->first_time_slice = 1;
	c->used_slice = slice - share;
	if (k.v8) {
		c->total_time = p->total_time / 10;
		c->sleep_time = p->sleep_time / 10 + (p->total_time - p->sleep_time) / 20;
		p->sleep_time = p->sleep_time / 4 * 3;
	} else {
		c->total_time = p->total_time / 40;
		c->sleep_time = p->sleep_time / 40;
		p->sleep_time = p->sleep_time / 3 * 2;
	}
	recompute(c);
	recompute(p);
	child->prio = effective_prio(child);
	p->used_slice += share;
	if (left > share)
		return false;
	p->used_slice = k.v8 ? slice - 1 : slice + 1; /* used up: it expires now */
	return parent->on_rq == ON_RQ_QUEUED && nick_tick(rq, parent);
}

static void nick_reap(struct task *child, struct task *parent)
{
	struct o1_task *p = o1(parent), *c = o1(child);

	if (c->first_time_slice)
		p->used_slice -= (u32)c->time_slice;
	if (k.v8 && c->sleep_avg < p->sleep_avg)
		add_time(parent, (p->sleep_avg - c->sleep_avg) / 2, false);
}

/* ----------------------------------------------- attributes, balancing */

static bool nick_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			  unsigned rt_priority)
{
	int old = p->prio;

	if (!k.v8 || class != p->class || rt_priority != p->rt_priority)
		return family_set_attr(rq, p, nice, class, rt_priority, effective_prio);
	p->nice = (s16)nice;
	family_change_prio(p, own_prio(p));
	return p->on_rq == ON_RQ_QUEUED && (p->prio < old || (p->prio > old && rq->curr == p));
}

static bool nick_lend(struct runq *rq, struct task *p, int prio)
{
	return family_lend(rq, p, prio, own_prio);
}

/* It depends on who else is there: this is what it has alone. */
static u32 nick_timeslice(const struct task *p)
{
	int prio = max((int)p->prio, MAX_RT_PRIO);

	if (p->class == SCHED_FIFO)
		return 0;
	return rt(p) ? (k.v8 ? 40 : 20) * k.min_slice : slice_at(prio, prio);
}

static bool can_migrate(struct runq *src, struct task *p, struct runq *dst, bool idle)
{
	bool cold = (s64)(src->jiffies - o1(p)->stamp) > (s64)k.cache_decay;

	return family_hot_allows(hot_rule, idle, cold) && sched_can_move(src, p, dst);
}

static unsigned nick_steal(struct runq *src, struct runq *dst, bool idle, unsigned max)
{
	return family_steal(src, dst, idle, max, can_migrate);
}

/* ------------------------------------------------ how long others wait */

/*
 * Every slice ends in the expired array; the longest is that of the worst priority among its like. Beside sleepers there is no bound,
 * though "no rule is needed": what a waker gets from the slices of those it wakes is taken from what they have left, and with the
 * unsigned numbers that is without end when a slice has shrunk below what was used of it.
 */
static u64 nick_wait_bound(int nice, int best, u32 n, bool sleepers)
{
	return sleepers ? NO_WAIT_BOUND
			: family_wait(n, slice_at(MAX_PRIO - 1, MAX_PRIO - 1), 0, true);
}

/* ---------------------------------------------------- showing, checking */

static void nick_show_task(const struct task *p, struct strbuf *sb)
{
	u32 slice = time_slice(machine_runq(p->cpu)->policy, p);

	family_show_task(p, sb);
	sb_printf(sb, "sleep_avg %u of 1000 total %u used %d slice %d of %u first %u",
		  o1(p)->sleep_avg, o1(p)->total_time / 1000, (int)o1(p)->used_slice,
		  (int)(slice - o1(p)->used_slice), slice, o1(p)->first_time_slice);
}

static void nick_show(struct runq *rq, struct strbuf *sb)
{
	family_show(rq, sb, nick_show_task);
}

static const char *wrong(const struct task *p)
{
	if (o1(p)->sleep_time > o1(p)->total_time)
		return "more time asleep than there was";
	return o1(p)->sleep_avg > 1000 ? "sleep_avg beyond its maximum" : NULL;
}

static const char *nick_check(struct runq *rq)
{
	return family_check(rq, wrong);
}

const struct sched_policy policy_nick = {
	.name = "nick",
	.summary = "Nick Piggin's scheduler policy v8 of August 2003",
	.evidence =
		"read: v6 and v8 (v7 was not found and is not offered). Reconstructed: how the totals are rounded when they fade, and "
		"that a nice change keeps v8's estimate and v6's does not.",
	.default_hz = 1000,
	.select_flags = ENQ_SYNC,
	.balance_busy_ms = 200,
	.balance_idle_ms = 1,
	.runq_size = sizeof(struct o1_runq),
	.setup = nick_setup,
	.init_cpu = family_init_cpu,
	.task_init = nick_task_init,
	.fork = nick_fork,
	.enqueue = nick_enqueue,
	.dequeue = nick_dequeue,
	.pick_next = nick_pick_next,
	.put_prev = nick_put_prev,
	.tick = nick_tick,
	.preempts = nick_preempts,
	.yield = family_yield,
	.set_attr = nick_set_attr,
	.select_cpu = family_select_cpu,
	.steal = nick_steal,
	.reap = nick_reap,
	.lend = nick_lend,
	.better = family_better,
	.timeslice = nick_timeslice,
	.wait_bound = nick_wait_bound,
	.wait_rule =
		"2 of the longest slices of each other task; none beside sleepers, whose waker may get slices from them without end",
	.score = "sleep_avg",
	.show_task = nick_show_task,
	.show = nick_show,
	.holds = family_holds,
	.check = nick_check,
	.tunables = nick_tunables,
	.nr_tunables = ARRAY_SIZE(nick_tunables),
};

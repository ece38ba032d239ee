/* SPDX-License-Identifier: MIT
 *
 * Policy o1-a3: the O(1) scheduler with patch A3 of August 2003, as it was in 2.6.0-test3-mm3 under Con Kolivas's patches.
 *
 * What differs from o1 (2.6.0-test4): sleep and run time are measured in ns, with a window of 1 s; a task that waits after a
 * wake-up is credited for it; every normal task gives way to its equals every 25 ms; tasks of equal priority preempt if they have
 * more than twice the slice left; expired tasks wait 1 s at most, whatever their number; a child keeps 95 %.
 *
 * Kept as published: the cold test compares units of 1024 ns with a number of ms (hot_unit 20 corrects it), in the same
 * inverted sense as test4's (hot_rule). balance_fix is the patch of 23 August 2003: idle CPUs do the busy balancing as well.
 */
#include "sched/policy/o1_ns.h"

/* ------------------------------------------------------------- tunables */

static s64 min_timeslice = 10, max_timeslice = 200, max_sleep_avg = 1000, starvation_limit = 1000,
	   child_penalty = 95, parent_penalty = 100, exit_weight = 3, bonus_ratio = 25,
	   interactive_delta = 2, granularity = 25, on_runqueue_weight = 30, slice_ratio = 2,
	   force_bonus0, cache_decay = 6, hot_rule = 1, hot_unit = 10, balance_fix, tick_clock;

#define A3 "A3, by the lines that O12.2 removed"
static const struct tunable a3_tunables[] = {
	{"min_timeslice", "ms", 1, 10000, 10, &min_timeslice, A3},
	{"max_timeslice", "ms", 1, 10000, 200, &max_timeslice, A3},
	{"max_sleep_avg", "ms", 1, 1000000, 1000, &max_sleep_avg, A3},
	{"starvation_limit", "ms", 0, 1000000, 1000, &starvation_limit, A3},
	{"child_penalty", "%", 0, 100, 95, &child_penalty, A3},
	{"parent_penalty", "%", 0, 100, 100, &parent_penalty, A3},
	{"exit_weight", "parts", 0, 100, 3, &exit_weight, A3},
	{"bonus_ratio", "%", 0, 50, 25, &bonus_ratio, A3 " (PRIO_BONUS_RATIO)"},
	{"interactive_delta", "levels", -20, 20, 2, &interactive_delta, A3},
	{"granularity", "ms", 1, 10000, 25, &granularity, A3 " (TIMESLICE_GRANULARITY)"},
	{"on_runqueue_weight", "%", 0, 100, 30, &on_runqueue_weight, A3},
	{"preempt_slice_ratio", "times", 1, 1000, 2, &slice_ratio,
	 A3 ": slice left, against that of a running task of equal priority"},
	{"force_bonus0", "bool", 0, 1, 0, &force_bonus0, "experiment: no bonus"},
	{"cache_decay_ticks", "ms", 0, 1000, 6, &cache_decay,
	 "reconstructed: 2.6.0-test4's estimate, 0..6 ms, here plus 1"},
	{"hot_rule", "0 none, 1 as published, 2 as intended", 0, 2, 1, &hot_rule, A3 " is 1"},
	{"hot_unit", "log2 ns", 0, 20, 10, &hot_unit, A3 " is 10; 20 is about a ms"},
	{"balance_fix", "bool", 0, 1, 0, &balance_fix, "sched-balance-fix of 23 August 2003 is 1"},
	{"tick_clock", "bool", 0, 1, 0, &tick_clock,
	 "experiment of August 2003: sched_clock() from jiffies, not from the cycle counter"},
};

/* The same in ticks and ns. */
static struct {
	u32 slice[USER_PRIOS]; /* by nice + 20 */
	u32 max_slice, starvation, granularity, on_runqueue_weight, balance_flags;
	s32 bonus_levels;
	u64 max_sleep_ns;
	u64 sleep_bound; /* the largest max_sleep_ns so far */
} k;

static void a3_setup(void)
{
	family_slices(k.slice, min_timeslice, max_timeslice);
	k.max_slice = k.slice[0];
	k.starvation = family_ticks(starvation_limit);
	k.granularity = max(family_ticks(granularity), 1u);
	k.on_runqueue_weight = (u32)(on_runqueue_weight * 128 / 100);
	k.balance_flags = balance_fix ? BALANCE_IDLE_BUSY : 0;
	ns_whole_ticks = tick_clock ? NSEC_PER_SEC / sched_hz : 0;
	k.bonus_levels = (s32)(USER_PRIOS * bonus_ratio / 100);
	k.max_sleep_ns = (u64)max_sleep_avg * NSEC_PER_MSEC;
	k.sleep_bound = max(k.sleep_bound, k.max_sleep_ns);
}

/* ----------------------------------------------------------- priorities */

static u32 time_slice(const struct task *p)
{
	return k.slice[p->nice + 20];
}

static int own_prio(const struct task *p)
{
	s64 bonus = 0;

	if (rt(p))
		return 99 - p->rt_priority;
	if (!force_bonus0)
		bonus = USER_PRIOS * bonus_ratio * (s64)(o1(p)->sleep_ns / 1024) /
				(s64)(k.max_sleep_ns / 1024) / 100 -
			k.bonus_levels / 2;
	return family_bound_prio(static_prio(p) - (int)bonus);
}

static s16 effective_prio(const struct task *p)
{
	return (s16)min(own_prio(p), (int)p->lent_prio);
}

/* A lent priority counts: somebody better waits for it. */
static bool interactive(const struct task *p)
{
	int delta = p->nice * k.bonus_levels / USER_PRIOS + (int)interactive_delta;

	return p->prio <= static_prio(p) - delta || p->prio == p->lent_prio;
}

static bool starving(const struct runq *rq, const struct o1_runq *q)
{
	return q->expired_timestamp && rq->jiffies - q->expired_timestamp >= k.starvation;
}

/* Every normal task: with a slice of 102 ticks it requeues at 25, 50, 75 and 100 and ends with a stub of 2. */
static bool round_robin(const struct task *p)
{
	return (time_slice(p) - (u32)o1(p)->time_slice) % k.granularity == 0;
}

/* Credit the time from the stamp to @now as sleep. */
static void recalc(struct task *p, u64 now)
{
	u64 slept = ns_since(now, o1(p)->stamp, k.max_sleep_ns), sum;

	sum = min(o1(p)->sleep_ns + slept, k.max_sleep_ns);
	if (slept && sum != o1(p)->sleep_ns) {
		o1(p)->sleep_ns = sum;
		p->prio = effective_prio(p);
	}
}

/* ------------------------------------------------------------ the queue */

static void a3_task_init(struct runq *rq, struct task *p)
{
	ns_task_init(rq, p, time_slice(p));
	p->prio = effective_prio(p);
}

static bool enqueue_forked(struct task *parent, struct task *child)
{
	struct o1_task *c = o1(child), *p = o1(parent);

	p->sleep_ns = p->sleep_ns / 100 * (u64)parent_penalty;
	c->sleep_ns = c->sleep_ns / 100 * (u64)child_penalty;
	child->prio = effective_prio(child);
	return family_enqueue_before(parent, child);
}

static void a3_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	struct o1_runq *q = rq->policy;

	if ((flags & ENQ_FORK) && enqueue_forked(rq->waker, p))
		return;
	ns_woken(rq, p, flags, true, false, recalc);
	array_add(q->active, p);
}

static struct task *a3_pick_next(struct runq *rq, struct task *prev)
{
	return ns_pick_next(rq, prev, k.on_runqueue_weight, recalc);
}

/* Charge the time since it was switched in. */
static void a3_put_prev(struct runq *rq, struct task *prev, unsigned how)
{
	struct o1_task *t = o1(prev);

	t->sleep_ns -= min(ns_since(ns_clock(rq), t->stamp, k.max_sleep_ns), t->sleep_ns);
	t->stamp = ns_clock(rq);
}

static bool a3_preempts(struct runq *rq, struct task *p, u32 flags)
{
	struct task *curr = rq->curr;

	if (flags & (ENQ_SYNC | ENQ_FORK))
		return false;
	return p->prio < curr->prio ||
	       (p->prio == curr->prio && o1(p)->time_slice > slice_ratio * o1(curr)->time_slice);
}

static bool a3_tick(struct runq *rq, struct task *p)
{
	return ns_tick(rq, p,
		       (struct ns_tick_rules){time_slice, effective_prio, interactive, starving,
					      round_robin});
}

static bool a3_fork(struct runq *rq, struct task *parent, struct task *child)
{
	return ns_fork(rq, parent, child, effective_prio, a3_tick);
}

static void a3_reap(struct task *child, struct task *parent)
{
	ns_reap(child, parent, k.max_slice, (u64)exit_weight);
}

/* ----------------------------------------------- attributes, balancing */

static bool a3_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			unsigned rt_priority)
{
	return family_set_attr(rq, p, nice, class, rt_priority, effective_prio);
}

static bool a3_lend(struct runq *rq, struct task *p, int prio)
{
	return family_lend(rq, p, prio, own_prio);
}

static u32 a3_timeslice(const struct task *p)
{
	return p->class == SCHED_FIFO ? 0 : time_slice(p);
}

static bool can_migrate(struct runq *src, struct task *p, struct runq *dst, bool idle)
{
	return ns_can_migrate(src, p, dst, idle, hot_rule, hot_unit, cache_decay);
}

static unsigned a3_steal(struct runq *src, struct runq *dst, bool idle, unsigned max)
{
	return family_steal(src, dst, idle, max, can_migrate);
}

/* ------------------------------------------------ how long others wait */

/*
 * Every slice that ends starts the clock of the expired tasks; when it has run for the limit, all slices that end go to the expired
 * array. The first ends after less than one slice of each at the latest.
 */
static u64 a3_wait_bound(int nice, int best, u32 n, bool sleepers)
{
	u64 slice = k.slice[best + 20];

	return family_wait(n, slice, k.starvation + (n - 1) * slice, false);
}

/* ---------------------------------------------------- showing, checking */

static void a3_show_task(const struct task *p, struct strbuf *sb)
{
	family_show_task(p, sb);
	sb_printf(sb, "sleep_avg %u of %u us slice %d of %u first %u activated %d interactive %d",
		  (u32)(o1(p)->sleep_ns / 1000), (u32)(k.max_sleep_ns / 1000), o1(p)->time_slice,
		  time_slice(p), o1(p)->first_time_slice, o1(p)->activated, interactive(p));
}

static void a3_show(struct runq *rq, struct strbuf *sb)
{
	family_show(rq, sb, a3_show_task);
}

static const char *wrong(const struct task *p)
{
	return o1(p)->sleep_ns > k.sleep_bound ? "sleep_avg beyond its maximum" : NULL;
}

static const char *a3_check(struct runq *rq)
{
	return family_check(rq, wrong);
}

const struct sched_policy policy_o1_a3 = {
	.name = "o1-a3",
	.summary = "O(1) scheduler with patch A3 of August 2003 (ns clock)",
	.evidence =
		"read: G3 in full, and every constant of A3 in the lines that O12.2 removed; sched-balance-fix. "
		"The patch itself was not found: reconstructed is the flow, from G3 and the context of O12 to O14.",
	.default_hz = 1000,
	.select_flags = ENQ_SYNC,
	.balance_busy_ms = 200,
	.balance_idle_ms = 1,
	.balance_flags = &k.balance_flags,
	.runq_size = sizeof(struct o1_runq),
	.setup = a3_setup,
	.init_cpu = family_init_cpu,
	.task_init = a3_task_init,
	.fork = a3_fork,
	.enqueue = a3_enqueue,
	.dequeue = ns_dequeue,
	.pick_next = a3_pick_next,
	.put_prev = a3_put_prev,
	.tick = a3_tick,
	.preempts = a3_preempts,
	.yield = family_yield,
	.set_attr = a3_set_attr,
	.select_cpu = family_select_cpu,
	.idle_enter = family_idle_enter,
	.steal = a3_steal,
	.reap = a3_reap,
	.lend = a3_lend,
	.better = family_better,
	.timeslice = a3_timeslice,
	.wait_bound = a3_wait_bound,
	.wait_rule = "4 slices of each other task and twice starvation_limit",
	.score = "sleep_avg",
	.show_task = a3_show_task,
	.show = a3_show,
	.holds = family_holds,
	.check = a3_check,
	.tunables = a3_tunables,
	.nr_tunables = ARRAY_SIZE(a3_tunables),
};

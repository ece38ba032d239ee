/* SPDX-License-Identifier: MIT
 *
 * Policy o1-int: 2.6.0-test4 with Con Kolivas's O18.1int (August 2003), on the ns clock of A3.
 *
 * What differs from o1-a3: sleep counts up to ten times while the bonus is small, so that 102 ms make a sleeper fully
 * interactive; a long sleep sets the credit to just interactive and no more; uninterruptible sleep cannot lift a task beyond
 * that. interactive_credit remembers the long run: who overflows its sleep_avg again and again becomes HIGH (its running costs
 * less), who keeps it empty becomes LOW (a wake-up earns a slice at most). Round robin only among interactive user tasks.
 * Preemption is plain, the starvation limit counts tasks again, fork rounds down to whole steps of the bonus.
 *
 * Kept as published: credit limits equal to sleep_avg's in ticks, hence dependent on HZ; a just-interactive level that moves the wrong
 * way with nice. User tasks are those with an address space.
 */
#include "sched/policy/o1_ns.h"

/* ------------------------------------------------------------- tunables */

/* credit_rule */
#define RULE_O18    0 /* HIGH and LOW are both for ever */
#define RULE_O18_1  1 /* LOW may climb again */
#define RULE_THOMAS 2 /* HIGH may fall again as well */
#define RULE_WIDE   3 /* and both run a band beyond their limit: hysteresis */

static s64 min_timeslice = 10, max_timeslice = 200, starvation_limit = 100, child_penalty = 95,
	   parent_penalty = 100, exit_weight = 3, bonus_ratio = 25, interactive_delta = 2,
	   granularity = 25, on_runqueue_weight = 30, credit_rule = RULE_O18_1,
	   credit_threshold = 100, credit_band = 25, stopped_fix, force_bonus0, cache_decay = 6,
	   hot_rule = 1, hot_unit = 10, balance_fix, preempt_rule, charge_rule;

#define O18 "O18.1int"
static const struct tunable int_tunables[] = {
	{"min_timeslice", "ms", 1, 10000, 10, &min_timeslice, O18},
	{"max_timeslice", "ms", 1, 10000, 200, &max_timeslice, O18},
	{"starvation_limit", "% of max_sleep_avg per task", 0, 10000, 100, &starvation_limit, O18},
	{"child_penalty", "%", 0, 100, 95, &child_penalty, O18},
	{"parent_penalty", "%", 0, 100, 100, &parent_penalty, O18},
	{"exit_weight", "parts", 0, 100, 3, &exit_weight, O18},
	{"bonus_ratio", "%", 3, 50, 25, &bonus_ratio, O18 " (PRIO_BONUS_RATIO)"},
	{"interactive_delta", "levels", -20, 20, 2, &interactive_delta, O18},
	{"granularity", "ms", 1, 10000, 25, &granularity,
	 O18 " (TIMESLICE_GRANULARITY); max_timeslice switches the round robin off"},
	{"on_runqueue_weight", "%", 0, 100, 30, &on_runqueue_weight, O18},
	{"credit_rule", "0 O18, 1 O18.1, 2 Schlichter, 3 with a band", 0, 3, RULE_O18_1,
	 &credit_rule, O18 " is 1; 3 is reconstructed"},
	{"credit_threshold", "% of max_sleep_avg", 1, 1000, 100, &credit_threshold, O18},
	{"credit_band", "% of the threshold", 0, 1000, 25, &credit_band,
	 "reconstructed: proposed without a number"},
	{"stopped_fix", "bool", 0, 1, 0, &stopped_fix,
	 "fix of August 2003 on O18.1: being stopped is no sleep"},
	{"force_bonus0", "bool", 0, 1, 0, &force_bonus0, "experiment: O18.1-nobonus"},
	{"cache_decay_ticks", "ms", 0, 1000, 6, &cache_decay,
	 "reconstructed: 2.6.0-test4's estimate, 0..6 ms, here plus 1"},
	{"hot_rule", "0 none, 1 as published, 2 as intended", 0, 2, 1, &hot_rule, O18 " is 1"},
	{"hot_unit", "log2 ns", 0, 20, 10, &hot_unit, O18 " is 10; 20 is about a ms"},
	{"balance_fix", "bool", 0, 1, 0, &balance_fix, "sched-balance-fix of 23 August 2003 is 1"},
	{"preempt_rule", "0 plain, 1 only interrupts preempt for a user task", 0, 1, 0,
	 &preempt_rule, O18 " is 0; 1 was in O16.2 alone"},
	{"charge_rule", "0 at every schedule(), 1 only if another task is picked", 0, 1, 0,
	 &charge_rule, O18 " is 0; 1 was suggested in August 2003"},
};

/* The same in ticks and ns. */
static struct {
	u32 slice[USER_PRIOS]; /* by nice + 20 */
	u32 min_slice, max_slice, starvation, granularity, on_runqueue_weight, balance_flags;
	s32 max_bonus;
	u32 avg_slice;	   /* slice of nice 0 */
	u32 max_sleep_avg; /* ticks: max_bonus average slices */
	u64 tick_ns, max_sleep_ns;
	u64 sleep_bound; /* the largest max_sleep_ns so far */
	s64 credit_limit,
		credit_stop; /* beyond the first: HIGH or LOW; nothing counts beyond the second */
} k;

static void int_setup(void)
{
	family_slices(k.slice, min_timeslice, max_timeslice);
	k.min_slice = max(family_ticks(min_timeslice), 1u);
	k.max_slice = k.slice[0];
	k.avg_slice = k.slice[20];
	k.tick_ns = NSEC_PER_SEC / sched_hz;
	k.max_bonus = (s32)(USER_PRIOS * bonus_ratio / 100);
	k.max_sleep_avg = k.avg_slice * (u32)k.max_bonus;
	k.max_sleep_ns = k.max_sleep_avg * k.tick_ns;
	k.sleep_bound = max(k.sleep_bound, k.max_sleep_ns);
	k.starvation = (u32)(k.max_sleep_avg * starvation_limit / 100);
	k.granularity = max(family_ticks(granularity), 1u);
	k.on_runqueue_weight = (u32)(on_runqueue_weight * 128 / 100);
	k.balance_flags = balance_fix ? BALANCE_IDLE_BUSY : 0;
	k.credit_limit = k.max_sleep_avg * credit_threshold / 100;
	k.credit_stop = k.credit_limit + k.credit_limit * credit_band / 100;
}

/* ----------------------------------------------------------- priorities */

static u32 time_slice(const struct task *p)
{
	return k.slice[p->nice + 20];
}

/* 0 .. max_bonus; more only just after max_sleep_avg was lowered. */
static s32 current_bonus(const struct task *p)
{
	return (s32)(o1(p)->sleep_ns / k.tick_ns * (u32)k.max_bonus / k.max_sleep_avg);
}

static int own_prio(const struct task *p)
{
	int bonus = force_bonus0 ? 0 : current_bonus(p) - k.max_bonus / 2;

	return rt(p) ? 99 - p->rt_priority : family_bound_prio(static_prio(p) - bonus);
}

static s16 effective_prio(const struct task *p)
{
	return (s16)min(own_prio(p), (int)p->lent_prio);
}

static int delta(const struct task *p)
{
	return p->nice * k.max_bonus / USER_PRIOS + (int)interactive_delta;
}

/* A lent priority counts: somebody better waits for it. */
static bool interactive(const struct task *p)
{
	return p->prio <= static_prio(p) - delta(p) || p->prio == p->lent_prio;
}

/* Ticks of sleep_avg with which a task counts as just interactive. */
static s64 just_interactive(const struct task *p)
{
	return max((s64)k.max_sleep_avg - (s64)delta(p) * k.avg_slice, (s64)0);
}

static bool starving(const struct runq *rq, const struct o1_runq *q)
{
	return q->expired_timestamp &&
	       rq->jiffies - q->expired_timestamp >= (u64)k.starvation * rq->nr_running + 1;
}

static bool user(const struct task *p)
{
	return p->address_space != 0;
}

static bool round_robin(const struct task *p)
{
	u32 left = (u32)o1(p)->time_slice;

	return (time_slice(p) - left) % k.granularity == 0 && left > k.min_slice && user(p) &&
	       interactive(p);
}

/* --------------------------------------------------------------- credit */

static bool high_credit(const struct task *p)
{
	return o1(p)->credit > k.credit_limit;
}

static bool low_credit(const struct task *p)
{
	return o1(p)->credit < -k.credit_limit;
}

/* A wake-up would have lifted sleep_avg over its maximum. */
static void credit_up(struct task *p)
{
	if (credit_rule == RULE_WIDE
		    ? o1(p)->credit < k.credit_stop
		    : !high_credit(p) && !(credit_rule == RULE_O18 && low_credit(p)))
		o1(p)->credit++;
}

/* schedule() found its sleep_avg empty. */
static void credit_down(struct task *p)
{
	if (credit_rule == RULE_WIDE
		    ? o1(p)->credit > -k.credit_stop
		    : !low_credit(p) && (credit_rule == RULE_THOMAS || !high_credit(p)))
		o1(p)->credit--;
}

/* Count the time from the stamp to @now as sleep. */
static void recalc(struct task *p, u64 now)
{
	struct o1_task *t = o1(p);
	u64 slept = ns_since(now, t->stamp, k.max_sleep_ns);
	u64 just = (u64)just_interactive(p) * k.tick_ns;

	if (slept && user(p) && slept > just) {
		t->sleep_ns = just; /* an idler: this may also lower it */
	} else if (slept) {
		slept *= (u64)max(k.max_bonus - current_bonus(p), 1);
		if (low_credit(p))
			slept = min(slept, time_slice(p) * k.tick_ns);
		if (t->activated == -1 && user(p) && !high_credit(p)) {
			/* Waiting for a disc lifts nobody beyond just interactive. */
			if (t->sleep_ns >= just) {
				slept = 0;
			} else if (t->sleep_ns + slept >= just) {
				t->sleep_ns = just;
				slept = 0;
			}
		}
		t->sleep_ns += slept;
		if (t->sleep_ns > k.max_sleep_ns) {
			t->sleep_ns = k.max_sleep_ns;
			credit_up(p);
		}
	}
	p->prio = effective_prio(p);
}

/* ------------------------------------------------------------ the queue */

static void int_task_init(struct runq *rq, struct task *p)
{
	ns_task_init(rq, p, time_slice(p));
	p->prio = effective_prio(p);
}

/* @percent of the steps of the bonus, rounded down to whole steps: the fraction is lost. */
static u64 whole_steps(const struct task *p, s64 percent)
{
	s64 steps = current_bonus(p) * percent / 100;

	return (u64)(steps * k.max_sleep_avg / k.max_bonus) * k.tick_ns;
}

static bool enqueue_forked(struct task *parent, struct task *child)
{
	o1(parent)->sleep_ns = whole_steps(parent, parent_penalty);
	o1(child)->sleep_ns = whole_steps(child, child_penalty);
	child->prio = effective_prio(child);
	return family_enqueue_before(parent, child);
}

static void int_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	struct o1_runq *q = rq->policy;
	u32 left = ENQ_STATE(flags);

	if ((flags & ENQ_FORK) && enqueue_forked(rq->waker, p))
		return;
	if ((flags & ENQ_WAKEUP) && left == TASK_UNINTERRUPTIBLE)
		o1(p)->activated = -1;
	ns_woken(rq, p, flags, !stopped_fix || (left & TASK_NORMAL), true, recalc);
	array_add(q->active, p);
}

/* Charge the time since it was switched in; running costs a HIGH task less. */
static void charge(struct runq *rq, struct task *prev)
{
	struct o1_task *t = o1(prev);
	u64 ran = ns_since(ns_clock(rq), t->stamp, k.max_sleep_ns);

	if (high_credit(prev))
		ran /= (u64)max(current_bonus(prev), 1);
	t->sleep_ns -= min(ran, t->sleep_ns);
	if (!t->sleep_ns)
		credit_down(prev);
	t->stamp = ns_clock(rq);
}

static struct task *int_pick_next(struct runq *rq, struct task *prev)
{
	struct task *next = ns_pick_next(rq, prev, k.on_runqueue_weight, recalc);

	if (unlikely(charge_rule) && next != prev && prev != rq->idle &&
	    prev->on_rq == ON_RQ_QUEUED)
		charge(rq, prev); /* put_prev() left it out */
	return next;
}

/* With charge_rule one that may be picked again is left as it is until it is known whether it is. */
static void int_put_prev(struct runq *rq, struct task *prev, unsigned how)
{
	if (likely(!charge_rule) || prev->on_rq != ON_RQ_QUEUED)
		charge(rq, prev);
}

static bool int_preempts(struct runq *rq, struct task *p, u32 flags)
{
	if (flags & (ENQ_SYNC | ENQ_FORK))
		return false;
	if (preempt_rule && (flags & ENQ_WAKEUP) && !(flags & ENQ_IRQ) && user(p))
		return false;
	return p->prio < rq->curr->prio;
}

static bool int_tick(struct runq *rq, struct task *p)
{
	return ns_tick(rq, p,
		       (struct ns_tick_rules){time_slice, effective_prio, interactive, starving,
					      round_robin});
}

static bool int_fork(struct runq *rq, struct task *parent, struct task *child)
{
	return ns_fork(rq, parent, child, effective_prio, int_tick);
}

static void int_reap(struct task *child, struct task *parent)
{
	ns_reap(child, parent, k.max_slice, (u64)exit_weight);
}

/* ----------------------------------------------- attributes, balancing */

static bool int_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			 unsigned rt_priority)
{
	return family_set_attr(rq, p, nice, class, rt_priority, effective_prio);
}

static bool int_lend(struct runq *rq, struct task *p, int prio)
{
	return family_lend(rq, p, prio, own_prio);
}

static u32 int_timeslice(const struct task *p)
{
	return p->class == SCHED_FIFO ? 0 : time_slice(p);
}

static bool can_migrate(struct runq *src, struct task *p, struct runq *dst, bool idle)
{
	return ns_can_migrate(src, p, dst, idle, hot_rule, hot_unit, cache_decay);
}

static unsigned int_steal(struct runq *src, struct runq *dst, bool idle, unsigned max)
{
	return family_steal(src, dst, idle, max, can_migrate);
}

/* ------------------------------------------------ how long others wait */

/*
 * Every slice that ends starts the clock of the expired tasks; when it has run for the limit, all slices that end go to the expired
 * array. The first ends after less than one slice of each at the latest.
 */
static u64 int_wait_bound(int nice, int best, u32 n, bool sleepers)
{
	u64 slice = k.slice[best + 20];

	return family_wait(n, slice, (u64)k.starvation * n + (n - 1) * slice, false);
}

/* ---------------------------------------------------- showing, checking */

static void int_show_task(const struct task *p, struct strbuf *sb)
{
	family_show_task(p, sb);
	sb_printf(sb,
		  "sleep_avg %u of %u us slice %d of %u credit %d%s activated %d interactive %d",
		  (u32)(o1(p)->sleep_ns / 1000), (u32)(k.max_sleep_ns / 1000), o1(p)->time_slice,
		  time_slice(p), (int)o1(p)->credit,
		  high_credit(p)  ? " HIGH"
		  : low_credit(p) ? " LOW"
				  : "",
		  o1(p)->activated, interactive(p));
}

static void int_show(struct runq *rq, struct strbuf *sb)
{
	family_show(rq, sb, int_show_task);
}

static const char *wrong(const struct task *p)
{
	return o1(p)->sleep_ns > k.sleep_bound ? "sleep_avg beyond its maximum" : NULL;
}

static const char *int_check(struct runq *rq)
{
	return family_check(rq, wrong);
}

const struct sched_policy policy_o1_int = {
	.name = "o1-int",
	.summary = "O(1) scheduler of 2.6.0-test4 with O18.1int (interactive_credit)",
	.evidence =
		"read: the patches O13 to O18.1 and 2.6.8, where the series ended. Reconstructed: what A3 leaves open, "
		"whether the idler rule spared uninterruptible sleepers (both end at one value), the width of the band "
		"of credit_rule 3.",
	.default_hz = 1000,
	.select_flags = ENQ_SYNC,
	.balance_busy_ms = 200,
	.balance_idle_ms = 1,
	.balance_flags = &k.balance_flags,
	.runq_size = sizeof(struct o1_runq),
	.setup = int_setup,
	.init_cpu = family_init_cpu,
	.task_init = int_task_init,
	.fork = int_fork,
	.enqueue = int_enqueue,
	.dequeue = ns_dequeue,
	.pick_next = int_pick_next,
	.put_prev = int_put_prev,
	.tick = int_tick,
	.preempts = int_preempts,
	.yield = family_yield,
	.set_attr = int_set_attr,
	.select_cpu = family_select_cpu,
	.idle_enter = family_idle_enter,
	.steal = int_steal,
	.reap = int_reap,
	.lend = int_lend,
	.better = family_better,
	.timeslice = int_timeslice,
	.wait_bound = int_wait_bound,
	.wait_rule = "4 slices of each other task and twice starvation_limit for each task",
	.score = "sleep_avg",
	.show_task = int_show_task,
	.show = int_show,
	.holds = family_holds,
	.check = int_check,
	.tunables = int_tunables,
	.nr_tunables = ARRAY_SIZE(int_tunables),
};

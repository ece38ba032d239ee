/* SPDX-License-Identifier: MIT
 *
 * The O(1) scheduler of Linux 2.6.0-test4 (August 2003): two arrays of priority lists per CPU, a bitmap to find the
 * first, time slices refilled one by one at their end, and an estimate of interactivity from sleep.
 *
 * Priorities: lower is better. 0..99 real time (99 - rt_priority), 100..139 SCHED_OTHER (120 + nice, less a bonus of
 * -5..+5 levels earned by sleeping). A running task stays linked at its place in its array.
 *
 * sleep_avg counts ticks: up by the ticks slept, less one per sleep; down by one per tick run; at most 10 s. The
 * priority follows only at a wake-up that earned something and at the end of a slice. A task that ends its slice goes
 * to the expired array, or, if its bonus is large enough for its nice value ("interactive"), back into the active one,
 * unless the expired tasks have waited too long. When the active array is empty the two change places.
 *
 * Kept although they look odd, because they are what people measured: a sleep shorter than two tick boundaries earns
 * nothing; an improved nice value of a waiting task preempts only as set_attr() below says; an idle CPU refuses tasks
 * that ran a moment ago while a busy one takes them (hot_rule = 1; the intended sense is 2); an affinity move credits the
 * time a task waited on its queue, because it went through the same path as a wake-up.
 */
#include "sched/policy/o1_family.h"

/* ------------------------------------------------------------- tunables */

struct o1_knobs {
	s64 min_timeslice, max_timeslice, max_sleep_avg, starvation_limit, child_penalty,
		parent_penalty, exit_weight, bonus_ratio, interactive_delta, force_bonus0,
		cache_decay, hot_rule;
};

#define TEST4 "2.6.0-test4"
/* The knobs of one policy, which are its own. */
#define O1_POLICY_KNOBS(name, bonus0)                                                           \
	static struct o1_knobs name##_knobs = {10, 200, 10000, 10000,  50, 100,                 \
					       3,  25,	2,     bonus0, 5,  1};                  \
	static const struct tunable name##_tunables[] = {                                       \
		{"min_timeslice", "ms", 1, 10000, 10, &name##_knobs.min_timeslice, TEST4},      \
		{"max_timeslice", "ms", 1, 10000, 200, &name##_knobs.max_timeslice, TEST4},     \
		{"max_sleep_avg", "ms", 1, 1000000, 10000, &name##_knobs.max_sleep_avg, TEST4}, \
		{"starvation_limit", "ms per task", 0, 1000000, 10000,                          \
		 &name##_knobs.starvation_limit, TEST4},                                        \
		{"child_penalty", "%", 0, 100, 50, &name##_knobs.child_penalty, TEST4},         \
		{"parent_penalty", "%", 0, 100, 100, &name##_knobs.parent_penalty, TEST4},      \
		{"exit_weight", "parts", 0, 100, 3, &name##_knobs.exit_weight, TEST4},          \
		{"bonus_ratio", "%", 0, 50, 25, &name##_knobs.bonus_ratio,                      \
		 TEST4 " (PRIO_BONUS_RATIO)"},                                                  \
		{"interactive_delta", "levels", -20, 20, 2, &name##_knobs.interactive_delta,    \
		 TEST4},                                                                        \
		{"force_bonus0", "bool", 0, 1, bonus0, &name##_knobs.force_bonus0,              \
		 "experiment of August 2003: no bonus, nobody interactive"},                    \
		{"cache_decay_ticks", "ms", 0, 1000, 5, &name##_knobs.cache_decay,              \
		 TEST4 " computes it from the cache size, 0..6 ms"},                            \
		{"hot_rule", "0 none, 1 as published, 2 as intended", 0, 2, 1,                  \
		 &name##_knobs.hot_rule, TEST4 " is 1"},                                        \
	}

O1_POLICY_KNOBS(o1, 0);
O1_POLICY_KNOBS(nobonus, 1);

/* Those of the policy that runs; times in ticks. */
static struct {
	u32 slice[USER_PRIOS]; /* by nice + 20 */
	u32 max_slice, max_sleep_avg, starvation, cache_decay;
	s32 bonus_levels; /* width of the bonus range */
	s64 bonus_ratio, child_penalty, parent_penalty, exit_weight, interactive_delta,
		force_bonus0, hot_rule;
	u32 sleep_avg_bound; /* the largest max_sleep_avg so far: where a sleep_avg may stand */
} k;

static void setup(const struct o1_knobs *v)
{
	family_slices(k.slice, v->min_timeslice, v->max_timeslice);
	k.max_slice = k.slice[0];
	k.max_sleep_avg = max(family_ticks(v->max_sleep_avg), 1u);
	k.sleep_avg_bound = max(k.sleep_avg_bound, k.max_sleep_avg);
	k.starvation = family_ticks(v->starvation_limit);
	k.cache_decay = family_ticks(v->cache_decay);
	k.bonus_levels = (s32)(USER_PRIOS * v->bonus_ratio / 100);
	k.bonus_ratio = v->bonus_ratio;
	k.child_penalty = v->child_penalty;
	k.parent_penalty = v->parent_penalty;
	k.exit_weight = v->exit_weight;
	k.interactive_delta = v->interactive_delta;
	k.force_bonus0 = v->force_bonus0;
	k.hot_rule = v->hot_rule;
}

static void o1_setup(void)
{
	setup(&o1_knobs);
}

static void nobonus_setup(void)
{
	setup(&nobonus_knobs);
}

/* ----------------------------------------------------------- priorities */

static inline u32 time_slice(const struct task *p)
{
	return k.slice[p->nice + 20];
}

static int own_prio(const struct task *p)
{
	s64 bonus = 0;
	int prio;

	if (rt(p))
		return 99 - p->rt_priority;
	if (!k.force_bonus0)
		bonus = USER_PRIOS * k.bonus_ratio * o1(p)->sleep_avg / k.max_sleep_avg / 100 -
			k.bonus_levels / 2;
	prio = static_prio(p) - (int)bonus;
	return family_bound_prio(prio);
}

static s16 effective_prio(const struct task *p)
{
	return (s16)min(own_prio(p), (int)p->lent_prio);
}

/* Goes back into the active array at the end of its slice? A lent priority counts: somebody better waits for it. */
static bool interactive(const struct task *p)
{
	int delta = p->nice * k.bonus_levels / USER_PRIOS + (int)k.interactive_delta;

	return p->prio <= static_prio(p) - delta || p->prio == p->lent_prio;
}

static bool expired_starving(const struct runq *rq, const struct o1_runq *q)
{
	return q->expired_timestamp &&
	       rq->jiffies - q->expired_timestamp >= (u64)k.starvation * rq->nr_running + 1;
}

/* ------------------------------------------------------------ the queue */

static void o1_task_init(struct runq *rq, struct task *p)
{
	struct o1_task *t = o1(p);

	list_init(&t->link);
	t->array = NULL;
	t->sleep_avg = 0;
	t->time_slice = (s32)time_slice(p);
	t->first_time_slice = 0;
	t->stamp = rq->jiffies;
	p->prio = effective_prio(p);
}

/* Credit @slept > 0 ticks. A waker that is about to sleep itself (sync) bypasses it, as it bypasses preemption. */
static void credit_sleep(struct runq *rq, struct task *p, s64 slept)
{
	struct o1_task *t = o1(p);
	u32 sum;

	sum = (u32)min(t->sleep_avg + slept, (s64)k.max_sleep_avg);
	if (sum != t->sleep_avg) {
		t->sleep_avg = sum;
		p->prio = effective_prio(p);
		sched_note_score(rq, p, SCORE_WAKE, sum);
	}
}

/* The child takes its parent's priority and the place just before it: it runs first, at that priority, until its own is computed. */
static bool enqueue_forked(struct runq *rq, struct task *parent, struct task *child)
{
	struct o1_task *c = o1(child), *p = o1(parent);

	p->sleep_avg = (u32)(p->sleep_avg * k.parent_penalty / 100);
	c->sleep_avg = (u32)(c->sleep_avg * k.child_penalty / 100);
	child->prio = effective_prio(child);
	sched_note_score(rq, parent, SCORE_FORK, p->sleep_avg);
	sched_note_score(rq, child, SCORE_FORK, c->sleep_avg);
	return family_enqueue_before(parent, child);
}

static __attribute__((noinline)) void enqueue_slow(struct runq *rq, struct task *p, u32 flags,
						   s64 slept)
{
	struct o1_runq *q = rq->policy;

	if ((flags & ENQ_FORK) && enqueue_forked(rq, rq->waker, p))
		return;
	if (slept > 0 && (flags & (ENQ_WAKEUP | ENQ_MIGRATED)) && !(flags & ENQ_SYNC))
		credit_sleep(rq, p, slept);
	array_add(q->active, p);
}

static void o1_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	struct o1_runq *q = rq->policy;
	s64 slept = (s64)(rq->jiffies - o1(p)->stamp) - 1;

	if (unlikely(slept > 0 || (flags & ENQ_FORK)))
		enqueue_slow(rq, p, flags, slept);
	else
		array_add(q->active, p);
}

static void o1_dequeue(struct runq *rq, struct task *p, u32 flags)
{
	array_del(p);
	o1(p)->array = NULL;
	if (flags & DEQ_SLEEP)
		o1(p)->stamp =
			rq->jiffies; /* here and not in pick_next(): it can wake before that is reached */
}

static struct task *o1_pick_next(struct runq *rq, struct task *prev)
{
	o1(prev)->stamp = rq->jiffies;
	return family_pick(rq->policy);
}

static bool o1_preempts(struct runq *rq, struct task *p, u32 flags)
{
	struct task *curr = rq->curr;

	if (p->prio < curr->prio)
		return !(flags & ENQ_SYNC);
	if (likely(!(flags & ENQ_PULLED)))
		return false;
	return p->prio == curr->prio && o1(p)->time_slice > o1(curr)->time_slice;
}

/* ---------------------------------------------------------------- ticks */

static void refill(struct task *p)
{
	o1(p)->time_slice = (s32)time_slice(p);
	o1(p)->first_time_slice = 0;
}

static bool o1_tick(struct runq *rq, struct task *p)
{
	struct o1_runq *q = rq->policy;
	struct o1_task *t = o1(p);

	if (t->array != q->active)
		return true; /* expired, and not switched off yet */
	if (t->sleep_avg)
		t->sleep_avg--;
	if (p->class == SCHED_FIFO)
		return false;
	if (--t->time_slice > 0)
		return false;
	array_del(p);
	refill(p);
	if (p->class == SCHED_RR) {
		array_add(q->active, p);
		return true;
	}
	p->prio = effective_prio(p);
	sched_note_score(rq, p, SCORE_SLICE, t->sleep_avg);
	if (!interactive(p) || expired_starving(rq, q)) {
		if (!q->expired_timestamp)
			q->expired_timestamp = rq->jiffies;
		array_add(q->expired, p);
	} else {
		array_add(q->active, p);
	}
	return true;
}

/* -------------------------------------------------------- fork and exit */

static bool o1_fork(struct runq *rq, struct task *parent, struct task *child)
{
	struct o1_task *p = o1(parent), *c = o1(child);

	list_init(&c->link);
	c->array = NULL;
	c->sleep_avg = p->sleep_avg;
	c->time_slice = (p->time_slice + 1) / 2;
	c->first_time_slice = 1;
	c->stamp = rq->jiffies;
	child->prio = effective_prio(child);
	p->time_slice /= 2;
	if (p->time_slice)
		return false;
	p->time_slice = 1; /* its last tick went to the child: it expires now */
	return parent->on_rq == ON_RQ_QUEUED && o1_tick(rq, parent);
}

static void o1_reap(struct task *child, struct task *parent)
{
	struct o1_task *p = o1(parent), *c = o1(child);

	if (c->first_time_slice)
		p->time_slice = min(p->time_slice + c->time_slice, (s32)k.max_slice);
	if (c->sleep_avg < p->sleep_avg)
		p->sleep_avg =
			(u32)((p->sleep_avg * k.exit_weight + c->sleep_avg) / (k.exit_weight + 1));
}

/* ----------------------------------------------------------- attributes */

static bool o1_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			unsigned rt_priority)
{
	return family_set_attr(rq, p, nice, class, rt_priority, effective_prio);
}

static bool o1_lend(struct runq *rq, struct task *p, int prio)
{
	return family_lend(rq, p, prio, own_prio);
}

static u32 o1_timeslice(const struct task *p)
{
	return p->class == SCHED_FIFO ? 0 : time_slice(p);
}

/* ------------------------------------------------------------ balancing */

static bool can_migrate(struct runq *src, struct task *p, struct runq *dst, bool idle)
{
	bool cold = (s64)(src->jiffies - o1(p)->stamp) > (s64)k.cache_decay;

	return family_hot_allows(k.hot_rule, idle, cold) && sched_can_move(src, p, dst);
}

static unsigned o1_steal(struct runq *src, struct runq *dst, bool idle, unsigned max)
{
	return family_steal(src, dst, idle, max, can_migrate);
}

/* ------------------------------------------------ how long others wait */

/*
 * starvation_limit does not help a task in the active array: its clock starts when a task expires, which interactive ones do not,
 * and stops when the arrays change places.
 */
static u64 o1_wait_bound(int nice, int best, u32 n, bool sleepers)
{
	return family_credit_wait(best, n, sleepers, k.max_sleep_avg, k.slice[best + 20], own_prio,
				  interactive);
}

/* ---------------------------------------------------- showing, checking */

static void o1_show_task(const struct task *p, struct strbuf *sb)
{
	family_show_task(p, sb);
	sb_printf(sb, "sleep_avg %u of %u slice %d of %u first %u interactive %d", o1(p)->sleep_avg,
		  k.max_sleep_avg, o1(p)->time_slice, time_slice(p), o1(p)->first_time_slice,
		  interactive(p));
}

static void o1_show(struct runq *rq, struct strbuf *sb)
{
	family_show(rq, sb, o1_show_task);
}

static const char *wrong(const struct task *p)
{
	return o1(p)->sleep_avg > k.sleep_avg_bound ? "sleep_avg beyond its maximum" : NULL;
}

static const char *o1_check(struct runq *rq)
{
	return family_check(rq, wrong);
}

#define O1_POLICY(id, what)                                                                        \
	.name = #id, .summary = what, .default_hz = 1000, .select_flags = ENQ_SYNC,                \
	.balance_busy_ms = 200, .balance_idle_ms = 1, .runq_size = sizeof(struct o1_runq),         \
	.setup = id##_setup, .init_cpu = family_init_cpu, .task_init = o1_task_init,               \
	.fork = o1_fork, .enqueue = o1_enqueue, .dequeue = o1_dequeue, .pick_next = o1_pick_next,  \
	.tick = o1_tick, .preempts = o1_preempts, .yield = family_yield, .set_attr = o1_set_attr,  \
	.select_cpu = family_select_cpu, .idle_enter = family_idle_enter, .steal = o1_steal,       \
	.reap = o1_reap, .lend = o1_lend, .better = family_better, .timeslice = o1_timeslice,      \
	.wait_bound = o1_wait_bound, .show_task = o1_show_task, .show = o1_show,                   \
	.score = "sleep_avg", .holds = family_holds, .check = o1_check, .tunables = id##_tunables, \
	.nr_tunables = ARRAY_SIZE(id##_tunables)

const struct sched_policy policy_o1 = {
	O1_POLICY(o1, "O(1) scheduler of Linux 2.6.0-test4"),
	.wait_rule =
		"2 slices of each other task, and max_sleep_avg of running if it may be interactive; none beside interactive "
		"tasks that sleep, for starvation_limit ends when the arrays change places",
	.evidence =
		"read: the complete file of 2.5.7x, whose policy is the same, and the patches that lead from it "
		"to 2.6.0-test4. Reconstructed: nothing.",
};

const struct sched_policy policy_nobonus = {
	O1_POLICY(nobonus, "O(1) scheduler of Linux 2.6.0-test4, bonus forced to 0"),
	.wait_rule =
		"2 slices of each other task; none beside nice -8 or better, which are interactive even without a bonus",
	.evidence =
		"read: as for o1. Reconstructed: the change itself, from its description in the thread of August "
		"2003 (it spared the first 100 processes, which this one does not).",
};

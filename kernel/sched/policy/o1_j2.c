/* SPDX-License-Identifier: MIT
 *
 * Policy o1-j2: the O(1) scheduler as patch -J2 of January 2002, for Linux 2.4.17 and 2.5.3-pre1, at 100 Hz.
 *
 * What differs from o1 (2.6.0-test4): a window of 2 s, in whole ticks, and a bonus of -18..+18 levels; three regions decide who
 * is interactive; nothing limits how long expired tasks may wait; a child keeps 80 % of the credit and queues at the tail of its
 * own priority; yield costs one level and stays in the same array; sync wake-ups are wake-ups like others; what a child leaves
 * of its slice always goes back; the balancer knows no warm tasks and takes at most one expired and one active task at a time.
 *
 * The patch itself was not found: docs/o1-family.md says what stands on what. The order of its migration by IPI lives in migrate.c.
 */
#include "sched/policy/o1_family.h"

/* ------------------------------------------------------------- tunables */

static s64 min_timeslice = 10, max_timeslice = 180, max_sleep_avg = 2000, child_penalty = 80,
	   bonus_ratio = 90, interactive_delta = 3, sure_region = 25, never_region = 25,
	   force_bonus0, pull_rt;

#define ANNOUNCED "-J2 announcement"
#define DERIVED	  "lines that the patch of 25 January 2002 removed"
static const struct tunable j2_tunables[] = {
	{"min_timeslice", "ms", 1, 10000, 10, &min_timeslice, DERIVED},
	{"max_timeslice", "ms", 1, 10000, 180, &max_timeslice, DERIVED},
	{"max_sleep_avg", "ms", 1, 1000000, 2000, &max_sleep_avg, DERIVED},
	{"child_penalty", "%", 0, 100, 80, &child_penalty, ANNOUNCED " (was 66 before)"},
	{"bonus_ratio", "%", 0, 100, 90, &bonus_ratio, ANNOUNCED "; 70 is the range of -J4"},
	{"interactive_delta", "levels", -20, 40, 3, &interactive_delta,
	 DERIVED " (the announcement's 10 % would be 4)"},
	{"interactive_region", "%", 0, 100, 25, &sure_region,
	 ANNOUNCED ": best priorities, always interactive"},
	{"batch_region", "%", 0, 100, 25, &never_region,
	 ANNOUNCED ": worst priorities, never interactive"},
	{"force_bonus0", "bool", 0, 1, 0, &force_bonus0, "experiment: no bonus"},
	{"pull_rt", "bool", 0, 1, 0, &pull_rt,
	 "reconstructed: 2.5.2 starts its scan at the first priority that is not real time, later versions at 0"},
};

/* The same in ticks and levels. */
static struct {
	u32 slice[USER_PRIOS]; /* by nice + 20 */
	u32 max_slice, max_sleep_avg;
	u32 sleep_avg_bound; /* the largest max_sleep_avg so far */
	s32 bonus_levels;
	s32 sure_prio, never_prio; /* last priority of the first region, first of the last */
} k;

static const u32 balance_flags = BALANCE_STALE_OWN;

static void j2_setup(void)
{
	family_slices(k.slice, min_timeslice, max_timeslice);
	k.max_slice = k.slice[0];
	k.max_sleep_avg = max(family_ticks(max_sleep_avg), 1u);
	k.sleep_avg_bound = max(k.sleep_avg_bound, k.max_sleep_avg);
	k.bonus_levels = (s32)(USER_PRIOS * bonus_ratio / 100);
	k.sure_prio = MAX_RT_PRIO + (s32)(USER_PRIOS * sure_region / 100);
	k.never_prio = MAX_PRIO - (s32)(USER_PRIOS * never_region / 100);
}

/* ----------------------------------------------------------- priorities */

static inline u32 time_slice(const struct task *p)
{
	return k.slice[p->nice + 20];
}

static int own_prio(const struct task *p)
{
	s64 bonus = 0;

	if (rt(p))
		return 99 - p->rt_priority;
	if (!force_bonus0)
		bonus = (s64)k.bonus_levels * o1(p)->sleep_avg / k.max_sleep_avg -
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
	if (p->prio <= k.sure_prio || p->prio == p->lent_prio)
		return true;
	return p->prio < k.never_prio && p->prio <= static_prio(p) - (int)interactive_delta;
}

/* ------------------------------------------------------------ the queue */

static void j2_task_init(struct runq *rq, struct task *p)
{
	family_task_init(p);
	o1(p)->time_slice = (s32)time_slice(p);
	o1(p)->stamp = rq->jiffies;
	p->prio = effective_prio(p);
}

static void j2_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	struct o1_runq *q = rq->policy;
	struct o1_task *t = o1(p);

	/* Whole ticks only: whoever wakes often enough never pays for the average. */
	if ((flags & ENQ_WAKEUP) && t->stamp != rq->jiffies && !rt(p)) {
		t->sleep_avg = (u32)min((u64)t->sleep_avg + (rq->jiffies - t->stamp),
					(u64)k.max_sleep_avg);
		p->prio = effective_prio(p);
		sched_note_score(rq, p, SCORE_WAKE, t->sleep_avg);
	}
	array_add(q->active, p);
}

static void j2_dequeue(struct runq *rq, struct task *p, u32 flags)
{
	array_del(p);
	o1(p)->array = NULL;
	if (flags & DEQ_SLEEP)
		o1(p)->stamp = rq->jiffies;
}

static struct task *j2_pick_next(struct runq *rq, struct task *prev)
{
	return family_pick(rq->policy);
}

/* The parent's epilogue lets the child run, nothing else does. */
static bool j2_preempts(struct runq *rq, struct task *p, u32 flags)
{
	return !(flags & ENQ_FORK) && p->prio < rq->curr->prio;
}

static bool j2_tick(struct runq *rq, struct task *p)
{
	struct o1_runq *q = rq->policy;
	struct o1_task *t = o1(p);

	if (t->array != q->active)
		return true; /* expired, and not switched off yet */
	if (p->class == SCHED_FIFO)
		return false;
	if (!rt(p) && t->sleep_avg)
		t->sleep_avg--;
	if (--t->time_slice > 0)
		return false;
	array_del(p);
	t->time_slice = (s32)time_slice(p);
	if (!rt(p))
		p->prio = effective_prio(p);
	sched_note_score(rq, p, SCORE_SLICE, t->sleep_avg);
	/* No limit: interactive tasks may keep the expired ones waiting for ever. */
	array_add(rt(p) || interactive(p) ? q->active : q->expired, p);
	return true;
}

/* One level down, same array: tasks that yield and yield sink to 139 and take turns there. */
static void j2_yield(struct runq *rq, struct task *p)
{
	struct prio_array *array = o1(p)->array;

	array_del(p);
	if (!rt(p) && p->prio < MAX_PRIO - 1 && p->prio != p->lent_prio)
		p->prio++;
	array_add(array, p);
}

/* -------------------------------------------------------- fork and exit */

static bool j2_fork(struct runq *rq, struct task *parent, struct task *child)
{
	struct o1_task *p = o1(parent), *c = o1(child);

	family_task_init(child);
	c->sleep_avg = (u32)(p->sleep_avg * child_penalty / 100);
	c->time_slice = (p->time_slice + 1) / 2;
	c->stamp = rq->jiffies;
	child->prio = effective_prio(child);
	p->time_slice /= 2;
	if (p->time_slice)
		return false;
	p->time_slice = 1; /* its last tick went to the child: it expires now */
	return parent->on_rq == ON_RQ_QUEUED && j2_tick(rq, parent);
}

/* Whatever is left of the child's slice, even of a later one than its first. */
static void j2_reap(struct task *child, struct task *parent)
{
	o1(parent)->time_slice =
		min(o1(parent)->time_slice + o1(child)->time_slice, (s32)k.max_slice);
}

/* ----------------------------------------------- attributes, balancing */

static bool j2_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			unsigned rt_priority)
{
	return family_set_attr(rq, p, nice, class, rt_priority, effective_prio);
}

static bool j2_lend(struct runq *rq, struct task *p, int prio)
{
	return family_lend(rq, p, prio, own_prio);
}

static u32 j2_timeslice(const struct task *p)
{
	return p->class == SCHED_FIFO ? 0 : time_slice(p);
}

/* Move the first task of @array that may go: best priority first, from the head of each list. */
static bool pull_one(struct prio_array *array, struct runq *src, struct runq *dst)
{
	for (unsigned prio =
		     bit_find_next(array->bitmap, MAX_PRIO, READ_ONCE(pull_rt) ? 0 : MAX_RT_PRIO);
	     prio < MAX_PRIO; prio = bit_find_next(array->bitmap, MAX_PRIO, prio + 1)) {
		for (struct list *l = array->queue[prio].next; l != &array->queue[prio];
		     l = l->next) {
			if (!sched_can_move(src, task_of(l), dst))
				continue;
			sched_move(src, task_of(l), dst);
			return true;
		}
	}
	return false;
}

/* One from the expired array and, if more is wanted or that had none, one from the active: never more than two. */
static unsigned j2_steal(struct runq *src, struct runq *dst, bool idle, unsigned max)
{
	struct o1_runq *q = src->policy;
	unsigned moved = pull_one(q->expired, src, dst);

	if (moved < max)
		moved += pull_one(q->active, src, dst);
	return moved;
}

/* ------------------------------------------------ how long others wait */

/* Nothing limits how long interactive tasks keep others waiting. */
static u64 j2_wait_bound(int nice, int best, u32 n, bool sleepers)
{
	return family_credit_wait(best, n, sleepers, k.max_sleep_avg, k.slice[best + 20], own_prio,
				  interactive);
}

/* ---------------------------------------------------- showing, checking */

static void j2_show_task(const struct task *p, struct strbuf *sb)
{
	family_show_task(p, sb);
	sb_printf(sb, "sleep_avg %u of %u slice %d of %u interactive %d", o1(p)->sleep_avg,
		  k.max_sleep_avg, o1(p)->time_slice, time_slice(p), interactive(p));
}

static void j2_show(struct runq *rq, struct strbuf *sb)
{
	family_show(rq, sb, j2_show_task);
}

static const char *wrong(const struct task *p)
{
	return o1(p)->sleep_avg > k.sleep_avg_bound ? "sleep_avg beyond its maximum" : NULL;
}

static const char *j2_check(struct runq *rq)
{
	return family_check(rq, wrong);
}

const struct sched_policy policy_o1_j2 = {
	.name = "o1-j2",
	.summary = "O(1) scheduler -J2 of January 2002",
	.evidence =
		"read: the announcement, 2.5.2's file, the patches of 25 to 28 January 2002 whose removed lines are "
		"-J2's code. The patch itself was not found: reconstructed are yield, exit and preemption (from "
		"neighbours that agree), the first priority scanned when pulling and where the sleep stamp is set.",
	.default_hz = 100,
	.balance_busy_ms = 250,
	.balance_idle_ms = 1,
	.balance_flags = &balance_flags,
	.runq_size = sizeof(struct o1_runq),
	.setup = j2_setup,
	.init_cpu = family_init_cpu,
	.task_init = j2_task_init,
	.fork = j2_fork,
	.enqueue = j2_enqueue,
	.dequeue = j2_dequeue,
	.pick_next = j2_pick_next,
	.tick = j2_tick,
	.preempts = j2_preempts,
	.yield = j2_yield,
	.set_attr = j2_set_attr,
	.steal = j2_steal,
	.reap = j2_reap,
	.lend = j2_lend,
	.better = family_better,
	.timeslice = j2_timeslice,
	.wait_bound = j2_wait_bound,
	.wait_rule =
		"2 slices of each other task, and max_sleep_avg of running if it may be interactive; none beside interactive "
		"tasks that sleep: there is no limit",
	.score = "sleep_avg",
	.show_task = j2_show_task,
	.show = j2_show,
	.holds = family_holds,
	.check = j2_check,
	.tunables = j2_tunables,
	.nr_tunables = ARRAY_SIZE(j2_tunables),
};

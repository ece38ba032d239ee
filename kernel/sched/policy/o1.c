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
#include "sched/policy.h"

#define MAX_PRIO    140
#define MAX_RT_PRIO 100
#define USER_PRIOS  40

struct prio_array {
	u32 nr_active;
	u64 bitmap[BITMAP_WORDS(MAX_PRIO)];
	struct list queue[MAX_PRIO];
};

struct o1_runq {
	struct prio_array *active, *expired;
	u64 expired_timestamp; /* jiffies of the first expiry since the arrays changed places; 0 = none */
	struct prio_array arrays[2];
};

struct o1_task {
	struct list link;
	struct prio_array *array; /* NULL: not queued */
	u64 last_run;		  /* jiffies when it last went through schedule() */
	u32 sleep_avg;		  /* ticks */
	s32 time_slice;		  /* ticks left */
	u8 first_time_slice;	  /* what it got from its parent at fork goes back at exit */
};
_Static_assert(sizeof(struct o1_task) <= POLICY_AREA_SIZE, "o1_task does not fit");

/* ------------------------------------------------------------- tunables */

static s64 min_timeslice = 10, max_timeslice = 200, max_sleep_avg = 10000, starvation_limit = 10000,
	   cache_decay = 5;
static s64 child_penalty = 50, parent_penalty = 100, exit_weight = 3, bonus_ratio = 25;
static s64 interactive_delta = 2, force_bonus0, hot_rule = 1;

#define TEST4 "2.6.0-test4"
static const struct tunable o1_tunables[] = {
	{"min_timeslice", "ms", 1, 10000, 10, &min_timeslice, TEST4},
	{"max_timeslice", "ms", 1, 10000, 200, &max_timeslice, TEST4},
	{"max_sleep_avg", "ms", 1, 1000000, 10000, &max_sleep_avg, TEST4},
	{"starvation_limit", "ms per task", 0, 1000000, 10000, &starvation_limit, TEST4},
	{"child_penalty", "%", 0, 100, 50, &child_penalty, TEST4},
	{"parent_penalty", "%", 0, 100, 100, &parent_penalty, TEST4},
	{"exit_weight", "parts", 0, 100, 3, &exit_weight, TEST4},
	{"bonus_ratio", "%", 0, 50, 25, &bonus_ratio, TEST4 " (PRIO_BONUS_RATIO)"},
	{"interactive_delta", "levels", -20, 20, 2, &interactive_delta, TEST4},
	{"force_bonus0", "bool", 0, 1, 0, &force_bonus0,
	 "experiment of August 2003: no bonus, nobody interactive"},
	{"cache_decay_ticks", "ms", 0, 1000, 5, &cache_decay,
	 TEST4 " computes it from the cache size, 0..6 ms"},
	{"hot_rule", "0 none, 1 as published, 2 as intended", 0, 2, 1, &hot_rule, TEST4 " is 1"},
};

/* The same in ticks. */
static struct {
	u32 slice[USER_PRIOS]; /* by nice + 20 */
	u32 max_slice, max_sleep_avg, starvation, cache_decay;
	s32 bonus_levels; /* width of the bonus range */
} k;

static u32 ticks(s64 ms)
{
	return (u32)(ms * sched_hz / 1000);
}

static void o1_setup(void)
{
	s32 lo = (s32)max(ticks(min_timeslice), 1u), hi = (s32)max(ticks(max_timeslice), 1u);

	for (int i = 0; i < USER_PRIOS; i++)
		k.slice[i] = (u32)(lo + (hi - lo) * (USER_PRIOS - 1 - i) / (USER_PRIOS - 1));
	k.max_slice = (u32)hi;
	k.max_sleep_avg = max(ticks(max_sleep_avg), 1u);
	k.starvation = ticks(starvation_limit);
	k.cache_decay = ticks(cache_decay);
	k.bonus_levels = (s32)(USER_PRIOS * bonus_ratio / 100);
}

/* ----------------------------------------------------------- primitives */

static inline struct o1_task *o1(const struct task *p)
{
	return (struct o1_task *)p->policy_area;
}

static inline struct task *task_of(struct list *link)
{
	return container_of((u64 *)container_of(link, struct o1_task, link), struct task,
			    policy_area[0]);
}

static inline bool rt(const struct task *p)
{
	return p->class != SCHED_OTHER;
}

static inline void array_add(struct prio_array *array, struct task *p)
{
	list_add_tail(&o1(p)->link, &array->queue[p->prio]);
	bit_set(array->bitmap, (unsigned)p->prio);
	array->nr_active++;
	o1(p)->array = array;
}

static inline void array_del(struct task *p)
{
	struct prio_array *array = o1(p)->array;

	list_del(&o1(p)->link);
	if (list_empty(&array->queue[p->prio]))
		bit_clear(array->bitmap, (unsigned)p->prio);
	array->nr_active--;
}

static inline u32 time_slice(const struct task *p)
{
	return k.slice[p->nice + 20];
}

static int static_prio(const struct task *p)
{
	return 120 + p->nice;
}

static int own_prio(const struct task *p)
{
	s64 bonus = 0;
	int prio;

	if (rt(p))
		return 99 - p->rt_priority;
	if (!force_bonus0)
		bonus = USER_PRIOS * bonus_ratio * o1(p)->sleep_avg / k.max_sleep_avg / 100 -
			k.bonus_levels / 2;
	prio = static_prio(p) - (int)bonus;
	return prio < MAX_RT_PRIO ? MAX_RT_PRIO : prio > MAX_PRIO - 1 ? MAX_PRIO - 1 : prio;
}

static s16 effective_prio(const struct task *p)
{
	return (s16)min(own_prio(p), (int)p->lent_prio);
}

/* Goes back into the active array at the end of its slice? A lent priority counts: somebody better waits for it. */
static bool interactive(const struct task *p)
{
	int delta = p->nice * k.bonus_levels / USER_PRIOS + (int)interactive_delta;

	return p->prio <= static_prio(p) - delta || p->prio == p->lent_prio;
}

static bool expired_starving(const struct runq *rq, const struct o1_runq *q)
{
	return q->expired_timestamp &&
	       rq->jiffies - q->expired_timestamp >= (u64)k.starvation * rq->nr_running + 1;
}

/* ------------------------------------------------------------ the queue */

static void o1_init_cpu(struct runq *rq)
{
	struct o1_runq *q = rq->policy;

	q->active = &q->arrays[0];
	q->expired = &q->arrays[1];
	for (int a = 0; a < 2; a++)
		for (int i = 0; i < MAX_PRIO; i++)
			list_init(&q->arrays[a].queue[i]);
}

static void o1_task_init(struct runq *rq, struct task *p)
{
	struct o1_task *t = o1(p);

	list_init(&t->link);
	t->array = NULL;
	t->sleep_avg = 0;
	t->time_slice = (s32)time_slice(p);
	t->first_time_slice = 0;
	t->last_run = rq->jiffies;
	p->prio = effective_prio(p);
}

/* Credit @slept > 0 ticks. A waker that is about to sleep itself (sync) bypasses it, as it bypasses preemption. */
static __attribute__((noinline)) void credit_sleep(struct task *p, s64 slept)
{
	struct o1_task *t = o1(p);
	u32 sum;

	sum = (u32)min(t->sleep_avg + slept, (s64)k.max_sleep_avg);
	if (sum != t->sleep_avg) {
		t->sleep_avg = sum;
		p->prio = effective_prio(p);
	}
}

/* The child takes its parent's priority and the place just before it: it runs first, at that priority, until its own is computed. */
static __attribute__((noinline)) bool enqueue_forked(struct task *parent, struct task *child)
{
	struct o1_task *c = o1(child), *p = o1(parent);

	p->sleep_avg = (u32)(p->sleep_avg * parent_penalty / 100);
	c->sleep_avg = (u32)(c->sleep_avg * child_penalty / 100);
	child->prio = effective_prio(child);
	if (!p->array)
		return false;
	child->prio = parent->prio;
	list_add_tail(&c->link, &p->link);
	c->array = p->array;
	c->array->nr_active++;
	return true;
}

static void o1_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	struct o1_runq *q = rq->policy;
	s64 slept = (s64)(rq->jiffies - o1(p)->last_run) - 1;

	if (unlikely((flags & ENQ_FORK) && enqueue_forked(rq->waker, p)))
		return;
	if (unlikely(slept > 0 && (flags & (ENQ_WAKEUP | ENQ_MIGRATED)) && !(flags & ENQ_SYNC)))
		credit_sleep(p, slept);
	array_add(q->active, p);
}

static void o1_dequeue(struct runq *rq, struct task *p, u32 flags)
{
	array_del(p);
	o1(p)->array = NULL;
	if (flags & DEQ_SLEEP)
		o1(p)->last_run =
			rq->jiffies; /* here and not in pick_next(): it can wake before that is reached */
}

static struct task *o1_pick_next(struct runq *rq, struct task *prev)
{
	struct o1_runq *q = rq->policy;
	struct prio_array *array = q->active;
	unsigned prio;

	o1(prev)->last_run = rq->jiffies;
	if (unlikely(!array->nr_active)) {
		q->active = q->expired;
		q->expired = array;
		array = q->active;
		q->expired_timestamp = 0;
	}
	if (unlikely(array->bitmap[0]))
		prio = (unsigned)__builtin_ctzll(array->bitmap[0]);
	else if (array->bitmap[1])
		prio = 64 + (unsigned)__builtin_ctzll(array->bitmap[1]);
	else
		prio = 128 + (unsigned)__builtin_ctzll(array->bitmap[2]);
	return task_of(array->queue[prio].next);
}

static void o1_idle_enter(struct runq *rq)
{
	((struct o1_runq *)rq->policy)->expired_timestamp = 0;
}

static bool o1_preempts(struct runq *rq, struct task *p, u32 flags)
{
	struct task *curr = rq->curr;

	if (p->prio < curr->prio)
		return !(flags & ENQ_SYNC);
	return (flags & ENQ_PULLED) && p->prio == curr->prio &&
	       o1(p)->time_slice > o1(curr)->time_slice;
}

/* A sync wake-up is the only one that moves a task: to the waker's CPU, which is about to become free. */
static unsigned o1_select_cpu(struct runq *rq, struct task *p, u32 flags)
{
	return cpu_index();
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
	if (!interactive(p) || expired_starving(rq, q)) {
		if (!q->expired_timestamp)
			q->expired_timestamp = rq->jiffies;
		array_add(q->expired, p);
	} else {
		array_add(q->active, p);
	}
	return true;
}

static void o1_yield(struct runq *rq, struct task *p)
{
	struct o1_runq *q = rq->policy;

	array_del(p);
	array_add(rt(p) ? o1(p)->array : q->expired, p);
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
	c->last_run = rq->jiffies;
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
			(u32)((p->sleep_avg * exit_weight + c->sleep_avg) / (exit_weight + 1));
}

/* ----------------------------------------------------------- attributes */

static void change_prio(struct runq *rq, struct task *p, int prio)
{
	struct prio_array *array = o1(p)->array;

	if (array)
		array_del(p);
	p->prio = (s16)min(prio, (int)p->lent_prio);
	if (array)
		array_add(array, p);
}

static bool o1_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			unsigned rt_priority)
{
	struct o1_runq *q = rq->policy;
	bool class_changes = class != p->class || rt_priority != p->rt_priority;
	int old = p->prio;

	p->nice = (s16)nice;
	if (!class_changes) {
		if (rt(p))
			return false;
		change_prio(rq, p,
			    static_prio(p)); /* the bonus is lost until it is next computed */
		return rq->curr == p;
	}
	p->class = (u8) class;
	p->rt_priority = (u8)rt_priority;
	/* As deactivate and activate did it: a task from the expired array gets back into the active one. */
	if (o1(p)->array) {
		array_del(p);
		p->prio = effective_prio(p);
		array_add(q->active, p);
	} else {
		p->prio = effective_prio(p);
	}
	if (p->on_rq != ON_RQ_QUEUED)
		return false;
	return rq->curr == p ? p->prio > old : rq->curr == rq->idle || p->prio < rq->curr->prio;
}

static bool o1_lend(struct runq *rq, struct task *p, int prio)
{
	struct o1_runq *q = rq->policy;
	int old = p->prio;

	p->lent_prio = (s16)prio;
	change_prio(rq, p, own_prio(p));
	/* Borrowed urgency does not wait for the arrays to change places. */
	if (o1(p)->array == q->expired && p->prio < old) {
		array_del(p);
		array_add(q->active, p);
	}
	if (p->on_rq != ON_RQ_QUEUED)
		return false;
	return rq->curr == p ? p->prio > old
			     : p->prio < old && rq->curr != rq->idle && p->prio < rq->curr->prio;
}

static bool o1_better(const struct task *a, const struct task *b)
{
	return a->prio < b->prio;
}

static u32 o1_timeslice(const struct task *p)
{
	return p->class == SCHED_FIFO ? 0 : time_slice(p);
}

/* ------------------------------------------------------------ balancing */

static bool can_migrate(struct runq *src, struct task *p, struct runq *dst, bool idle)
{
	bool cold = (s64)(src->jiffies - o1(p)->last_run) > (s64)k.cache_decay;

	if (hot_rule == 1 && idle && !cold)
		return false; /* as published: it is the idle CPU that refuses a warm task */
	if (hot_rule == 2 && !idle && !cold)
		return false;
	return sched_can_move(src, p, dst);
}

/* Expired tasks first, they run last; best priority first; within a list from the tail, the coldest. */
static unsigned o1_steal(struct runq *src, struct runq *dst, bool idle, unsigned max)
{
	struct o1_runq *q = src->policy;
	struct prio_array *order[2] = {q->expired, q->active};
	unsigned moved = 0;

	for (int a = 0; a < 2; a++) {
		struct prio_array *array = order[a];

		for (unsigned prio = bit_find_first(array->bitmap, MAX_PRIO); prio < MAX_PRIO;
		     prio = bit_find_next(array->bitmap, MAX_PRIO, prio + 1)) {
			struct list *head = &array->queue[prio], *link = head->prev;

			while (link != head) {
				struct task *p = task_of(link);

				link = link->prev;
				if (!can_migrate(src, p, dst, idle))
					continue;
				sched_move(src, p, dst);
				if (++moved == max)
					return moved;
			}
		}
	}
	return moved;
}

/* ---------------------------------------------------- showing, checking */

static void o1_show_task(const struct task *p, void (*print)(const char *fmt, ...))
{
	print("prio %d static %d sleep_avg %u of %u slice %d of %u first %u interactive %d\n",
	      p->prio, static_prio(p), o1(p)->sleep_avg, k.max_sleep_avg, o1(p)->time_slice,
	      time_slice(p), o1(p)->first_time_slice, interactive(p));
}

static void o1_dump(struct runq *rq, void (*print)(const char *fmt, ...))
{
	struct o1_runq *q = rq->policy;
	unsigned left = 64; /* of all tasks: the lists may be broken */

	for (int a = 0; a < 2; a++) {
		struct prio_array *array = a ? q->expired : q->active;

		print("  %s: %u tasks\n", a ? "expired" : "active", array->nr_active);
		for (unsigned i = bit_find_first(array->bitmap, MAX_PRIO); i < MAX_PRIO;
		     i = bit_find_next(array->bitmap, MAX_PRIO, i + 1)) {
			for (struct list *l = array->queue[i].next;
			     l && l != &array->queue[i] && left; l = l->next, left--)
				print("    %u: task %u (%s) slice %d sleep_avg %u\n", i,
				      task_of(l)->id, task_of(l)->comm, o1(task_of(l))->time_slice,
				      o1(task_of(l))->sleep_avg);
		}
	}
}

static bool o1_holds(struct runq *rq, const struct task *p)
{
	struct o1_runq *q = rq->policy;

	return o1(p)->array == &q->arrays[0] || o1(p)->array == &q->arrays[1];
}

static const char *o1_check(struct runq *rq)
{
	struct o1_runq *q = rq->policy;
	u32 total = 0;

	for (int a = 0; a < 2; a++) {
		struct prio_array *array = &q->arrays[a];
		u32 n = 0;

		for (int i = 0; i < MAX_PRIO; i++) {
			struct list *l = &array->queue[i];

			if (bit_test(array->bitmap, (unsigned)i) == list_empty(l))
				return "bitmap and list disagree";
			for (l = l->next; l != &array->queue[i]; l = l->next, n++) {
				struct task *p = task_of(l);

				if (p->prio != i || o1(p)->array != array ||
				    p->on_rq != ON_RQ_QUEUED || p->cpu != rq->cpu)
					return "a queued task's fields do not name its queue";
				if (l->next->prev != l || n > rq->nr_running)
					return "list broken";
				if (o1(p)->sleep_avg > k.max_sleep_avg)
					return "sleep_avg beyond its maximum";
			}
		}
		if (n != array->nr_active)
			return "nr_active wrong";
		total += n;
	}
	return total == rq->nr_running ? NULL : "nr_running wrong";
}

const struct sched_policy policy_o1 = {
	.name = "o1",
	.summary = "O(1) scheduler of Linux 2.6.0-test4",
	.default_hz = 1000,
	.select_flags = ENQ_SYNC,
	.balance_busy_ms = 200,
	.balance_idle_ms = 1,
	.runq_size = sizeof(struct o1_runq),
	.setup = o1_setup,
	.init_cpu = o1_init_cpu,
	.task_init = o1_task_init,
	.fork = o1_fork,
	.enqueue = o1_enqueue,
	.dequeue = o1_dequeue,
	.pick_next = o1_pick_next,
	.tick = o1_tick,
	.preempts = o1_preempts,
	.yield = o1_yield,
	.set_attr = o1_set_attr,
	.select_cpu = o1_select_cpu,
	.idle_enter = o1_idle_enter,
	.steal = o1_steal,
	.reap = o1_reap,
	.lend = o1_lend,
	.better = o1_better,
	.timeslice = o1_timeslice,
	.show_task = o1_show_task,
	.dump = o1_dump,
	.holds = o1_holds,
	.check = o1_check,
	.tunables = o1_tunables,
	.nr_tunables = ARRAY_SIZE(o1_tunables),
};

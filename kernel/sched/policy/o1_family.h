/* SPDX-License-Identifier: MIT
 *
 * What the policies of the O(1) family share (o1, nobonus, o1-j2, o1-a3, o1-int, nick): the two priority arrays of a CPU, the
 * operations on them, and those policy operations that no variant changed. Everything is inline: each policy compiles to code of
 * its own, and functions given as arguments are constants that disappear.
 *
 * Priorities: lower is better. 0..99 real time (99 - rt_priority), 100..139 SCHED_OTHER (120 + nice, less whatever the variant
 * grants). A running task stays linked at its place in its array.
 *
 * Locks: everything here runs under the lock of the queue it is given, as policy.h says.
 */
#ifndef SCHED_POLICY_O1_FAMILY_H
#define SCHED_POLICY_O1_FAMILY_H

#include "sched/policy.h"

#define MAX_PRIO    140
#define MAX_RT_PRIO 100
#define USER_PRIOS  40

/* Folded into the policy that uses it, with its function arguments. */
#define FAMILY static inline __attribute__((always_inline))

struct prio_array {
	struct list queue[MAX_PRIO];
	u64 bitmap[BITMAP_WORDS(MAX_PRIO)];
	u32 nr_active;
};

struct o1_runq {
	struct prio_array *active, *expired;
	u64 expired_timestamp; /* jiffies of the first expiry since the arrays changed places; 0 = none */
	u32 sequence;	       /* times they changed places */
	struct prio_array arrays[2];
};

/** struct o1_task - the family's part of a task. Every variant uses the first half, and of the second what is marked. */
struct o1_task {
	struct list link;
	struct prio_array *array; /* NULL: not queued */
	u64 stamp; /* when it last went through schedule() or, by variant, woke: ticks, or ns (o1-a3, o1-int) */
	u32 sleep_avg;	     /* ticks (o1, o1-j2), thousandths (nick) */
	s32 time_slice;	     /* ticks left (not nick) */
	u8 first_time_slice; /* what it got from its parent at fork goes back at exit */
	s8 activated;	     /* o1-a3, o1-int: how it was woken; for the credit of waiting */
	u64 sleep_ns;	     /* o1-a3, o1-int: sleep_avg in ns */
	s64 credit;	     /* o1-int: interactive_credit */
	u32 used_slice;	     /* nick: ticks used; wraps below 0 as published */
	u32 total_time,
		sleep_time; /* nick: ticks x 1000 of the last second or so, and those of them asleep */
	u32 sequence;	    /* nick: its queue's sequence when it left it */
};
_Static_assert(sizeof(struct o1_task) <= POLICY_AREA_SIZE, "o1_task does not fit");

/* ----------------------------------------------------------- primitives */

/** family_ticks() - Return: @ms in ticks, rounded down. */
static inline u32 family_ticks(s64 ms)
{
	return (u32)(ms * sched_hz / 1000);
}

/** family_slices() - fill the table of time slices in ticks by nice + 20: linear from @hi ms down to @lo ms, at least a tick. */
static inline void family_slices(u32 slice[USER_PRIOS], s64 lo, s64 hi)
{
	s32 first = (s32)max(family_ticks(hi), 1u), last = (s32)max(family_ticks(lo), 1u);

	for (int i = 0; i < USER_PRIOS; i++)
		slice[i] = (u32)(last + (first - last) * (USER_PRIOS - 1 - i) / (USER_PRIOS - 1));
}

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
	/* It was alone: on both sides of it was the head. */
	if (o1(p)->link.next == o1(p)->link.prev)
		bit_clear(array->bitmap, (unsigned)p->prio);
	array->nr_active--;
}

static inline int static_prio(const struct task *p)
{
	return 120 + p->nice;
}

/** family_bound_prio() - Return: @prio within the range of SCHED_OTHER. */
static inline int family_bound_prio(int prio)
{
	return prio < MAX_RT_PRIO ? MAX_RT_PRIO : prio > MAX_PRIO - 1 ? MAX_PRIO - 1 : prio;
}

/* ------------------------------------------------------------ the queue */

static inline void family_init_cpu(struct runq *rq)
{
	struct o1_runq *q = rq->policy;

	q->active = &q->arrays[0];
	q->expired = &q->arrays[1];
	for (int a = 0; a < 2; a++)
		for (int i = 0; i < MAX_PRIO; i++)
			list_init(&q->arrays[a].queue[i]);
}

/** family_task_init() - a clean area, on no queue. */
static inline void family_task_init(struct task *p)
{
	*o1(p) = (struct o1_task){.array = NULL};
	list_init(&o1(p)->link);
}

/** family_pick() - Return: the best task; the arrays change places first if nothing is active. */
FAMILY struct task *family_pick(struct o1_runq *q)
{
	struct prio_array *array = q->active;

	if (unlikely(!array->nr_active)) {
		q->active = q->expired;
		q->expired = array;
		array = q->active;
		q->expired_timestamp = 0;
		sched_note_swap(array->nr_active);
		q->sequence++;
	}
	/* bit_find_first(), and the second word is the usual one. */
	if (unlikely(array->bitmap[0]))
		return task_of(array->queue[__builtin_ctzll(array->bitmap[0])].next);
	if (likely(array->bitmap[1]))
		return task_of(array->queue[64 + __builtin_ctzll(array->bitmap[1])].next);
	return task_of(array->queue[128 + __builtin_ctzll(array->bitmap[2])].next);
}

static inline void family_idle_enter(struct runq *rq)
{
	((struct o1_runq *)rq->policy)->expired_timestamp = 0;
}

/** family_select_cpu() - a sync wake-up is the only one that moves a task: to the waker's CPU, which is about to become free. */
static inline unsigned family_select_cpu(struct runq *rq, struct task *p, u32 flags)
{
	return cpu_index();
}

/** family_yield() - into the expired array; a real-time task to the end of its list. */
static inline void family_yield(struct runq *rq, struct task *p)
{
	struct o1_runq *q = rq->policy;

	array_del(p);
	array_add(rt(p) ? o1(p)->array : q->expired, p);
}

/** family_enqueue_before() - put @child at its parent's priority just before it, if the parent is queued. Return: whether it was. */
static inline bool family_enqueue_before(struct task *parent, struct task *child)
{
	struct o1_task *c = o1(child), *p = o1(parent);

	if (!p->array)
		return false;
	child->prio = parent->prio;
	list_add_tail(&c->link, &p->link);
	c->array = p->array;
	c->array->nr_active++;
	return true;
}

/* ----------------------------------------------------------- attributes */

/** family_change_prio() - requeue @p at @prio, or at what is lent to it. */
static inline void family_change_prio(struct task *p, int prio)
{
	struct prio_array *array = o1(p)->array;

	if (array)
		array_del(p);
	p->prio = (s16)min(prio, (int)p->lent_prio);
	if (array)
		array_add(array, p);
}

/**
 * family_set_class() - give @p another class: as deactivate and activate did it, a task from the expired array gets back into the
 * active one. Return: as set_attr().
 */
FAMILY bool family_set_class(struct runq *rq, struct task *p, unsigned class, unsigned rt_priority,
			     s16 (*effective)(const struct task *p))
{
	struct o1_runq *q = rq->policy;
	int old = p->prio;

	p->class = (u8) class;
	p->rt_priority = (u8)rt_priority;
	if (o1(p)->array) {
		array_del(p);
		p->prio = effective(p);
		array_add(q->active, p);
	} else {
		p->prio = effective(p);
	}
	if (p->on_rq != ON_RQ_QUEUED)
		return false;
	return rq->curr == p ? p->prio > old : rq->curr == rq->idle || p->prio < rq->curr->prio;
}

/**
 * family_set_attr() - as published from January 2002 to August 2003: a changed nice value costs the bonus until it is next
 * computed, and only the running task is rescheduled for it.
 */
FAMILY bool family_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			    unsigned rt_priority, s16 (*effective)(const struct task *p))
{
	p->nice = (s16)nice;
	if (class != p->class || rt_priority != p->rt_priority)
		return family_set_class(rq, p, class, rt_priority, effective);
	if (rt(p))
		return false;
	family_change_prio(p, static_prio(p));
	return rq->curr == p;
}

FAMILY bool family_lend(struct runq *rq, struct task *p, int prio,
			int (*own_prio)(const struct task *p))
{
	struct o1_runq *q = rq->policy;
	int old = p->prio;

	p->lent_prio = (s16)prio;
	family_change_prio(p, own_prio(p));
	/* Borrowed urgency does not wait for the arrays to change places. */
	if (o1(p)->array && o1(p)->array == q->expired && p->prio < old) {
		array_del(p);
		array_add(q->active, p);
	}
	if (p->on_rq != ON_RQ_QUEUED)
		return false;
	return rq->curr == p ? p->prio > old
			     : p->prio < old && rq->curr != rq->idle && p->prio < rq->curr->prio;
}

/* --------------------------------------------------- how long one waits */

/**
 * family_wait() - wait_bound() of the policies in which who does not count as interactive goes into the expired array.
 *
 * At each tick somebody is charged, so whoever keeps a task waiting uses up its slice, is put into the expired array and then waits
 * itself. A task in the active array has therefore run when each of the others has ended one slice; one in the expired array first
 * waits as long for the arrays to change places. Waking up does not renew a slice. Interactive tasks delay this: @again is how
 * many ticks, all together, the others may go on with slices that end in the active array; in each of the two phases, or, with
 * @once, in both together.
 */
FAMILY u64 family_wait(u32 n, u64 slice, u64 again, bool once)
{
	u64 others = n > 1 ? n - 1 : 0, ticks;

	ticks = 2 * others * slice + (once ? 1 : 2) * again + others + 1;
	return ticks * (NSEC_PER_SEC / sched_hz);
}

/**
 * family_credit_wait() - wait_bound() of the policies that keep up to @max_sleep_avg ticks of credit and limit nothing: none, if the
 * others can count as interactive as often as they like. Without sleep nobody earns anything, and all credit is used up after
 * @max_sleep_avg ticks of running. @slice: of a task of nice value @best; @own_prio, @interactive: the policy's.
 */
FAMILY u64 family_credit_wait(int best, u32 n, bool sleepers, u32 max_sleep_avg, u64 slice,
			      int (*own_prio)(const struct task *),
			      bool (*interactive)(const struct task *))
{
	struct task p = {.nice = (s16)best, .lent_prio = NO_LENT_PRIO};
	bool rested;

	/* Improving nice or credit makes a task more likely to go back into the active array. */
	o1(&p)->sleep_avg = max_sleep_avg;
	p.prio = (s16)own_prio(&p);
	rested = interactive(&p);
	o1(&p)->sleep_avg = 0;
	p.prio = (s16)own_prio(&p);
	if (sleepers ? rested : interactive(&p))
		return NO_WAIT_BOUND;
	return family_wait(n, slice, rested ? (n - 1) * (u64)max_sleep_avg : 0, true);
}

static inline bool family_better(const struct task *a, const struct task *b)
{
	return a->prio < b->prio;
}

/* ------------------------------------------------------------ balancing */

/** family_hot_allows() - may a task be pulled that ran a moment ago? @rule: 0 always, 1 as published, 2 as intended. */
FAMILY bool family_hot_allows(s64 rule, bool idle, bool cold)
{
	if (rule == 1 && idle && !cold)
		return false; /* as published: it is the idle CPU that refuses a warm task */
	return rule != 2 || idle || cold;
}

/** family_steal() - expired tasks first, they run last; best priority first; within a list from the tail, the coldest. */
FAMILY unsigned family_steal(struct runq *src, struct runq *dst, bool idle, unsigned max,
			     bool (*can_migrate)(struct runq *src, struct task *p, struct runq *dst,
						 bool idle))
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

/** family_show_task() - the beginning of show_task(), the same for all. */
static inline void family_show_task(const struct task *p, struct strbuf *sb)
{
	sb_printf(sb, "prio %d static %d bonus %d ", p->prio, static_prio(p),
		  rt(p) ? 0 : static_prio(p) - p->prio);
}

FAMILY void family_show(struct runq *rq, struct strbuf *sb,
			void (*show_task)(const struct task *p, struct strbuf *sb))
{
	struct o1_runq *q = rq->policy;

	for (int a = 0; a < 2; a++) {
		struct prio_array *array = a ? q->expired : q->active;

		sb_printf(sb, "%s: tasks %u bitmap %016llx %016llx %03llx swaps %u\n",
			  a ? "expired" : "active", array->nr_active,
			  (unsigned long long)array->bitmap[0],
			  (unsigned long long)array->bitmap[1],
			  (unsigned long long)array->bitmap[2], q->sequence);
		for (unsigned i = bit_find_first(array->bitmap, MAX_PRIO); i < MAX_PRIO;
		     i = bit_find_next(array->bitmap, MAX_PRIO, i + 1)) {
			struct list *l = array->queue[i].next;

			for (; l && l != &array->queue[i] && !sb_full(sb); l = l->next) {
				sb_printf(sb, "%u: %u (%s) ", i, task_of(l)->id, task_of(l)->comm);
				show_task(task_of(l), sb);
				sb_printf(sb, "\n");
			}
		}
	}
}

static inline bool family_holds(struct runq *rq, const struct task *p)
{
	struct o1_runq *q = rq->policy;

	return o1(p)->array == &q->arrays[0] || o1(p)->array == &q->arrays[1];
}

/** family_check() - verify the arrays; @wrong: what is wrong with a task's own figures, or NULL. */
FAMILY const char *family_check(struct runq *rq, const char *(*wrong)(const struct task *p))
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
				if (wrong(p))
					return wrong(p);
			}
		}
		if (n != array->nr_active)
			return "nr_active wrong";
		total += n;
	}
	return total == rq->nr_running ? NULL : "nr_running wrong";
}

#endif

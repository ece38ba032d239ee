/* SPDX-License-Identifier: MIT
 *
 * Two policies for tests only, one for all CPUs and one per CPU: a list of the waiting tasks, best priority first, then first come, first
 * served, in slices of 20 ms. The running task is not on it. They stop the machine when the core breaks a rule of policy.h.
 */
#include "sched/policy_test.h"

struct test_runq {
	struct list waiting;
};

enum test_place { NOWHERE = 0, WAITING = 7, ON_CPU = 9 };

struct test_task {
	struct list link;
	u32 place;
	u32 magic;
	s32 slice;
	bool exited;
};
_Static_assert(sizeof(struct test_task) <= POLICY_AREA_SIZE, "test_task does not fit");
#define MAGIC 0x7e57a5c3

static struct test_task *area(const struct task *p)
{
	struct test_task *t = (struct test_task *)p->policy_area;

	if (t->magic != MAGIC)
		machine_bug("task %u is not in policy %s", p->id, sched_policy->name);
	return t;
}

static struct task *task_of(struct list *link)
{
	return container_of((u64 *)container_of(link, struct test_task, link), struct task,
			    policy_area[0]);
}

static struct test_runq *queue(const struct runq *rq)
{
	return sched_policy->global_queue ? machine_runq(0)->policy : rq->policy;
}

static s32 slice(void)
{
	return max((s32)sched_hz / 50, 1);
}

static s16 own_prio(const struct task *p)
{
	return (s16)min(p->class == SCHED_OTHER ? 200 : 99 - p->rt_priority, (int)p->lent_prio);
}

static void test_init_cpu(struct runq *rq)
{
	struct test_runq *q = rq->policy;

	if (q->waiting.next)
		machine_bug("the area of cpu %u is not zeroed", rq->cpu);
	list_init(&q->waiting);
}

static void test_exit_cpu(struct runq *rq)
{
	struct test_runq *q = rq->policy;

	if (!list_empty(&q->waiting))
		machine_bug("policy %s ends with tasks on cpu %u", sched_policy->name, rq->cpu);
}

static void test_task_init(struct runq *rq, struct task *p)
{
	struct test_task *t = (struct test_task *)p->policy_area;

	if (p->on_rq == ON_RQ_QUEUED)
		machine_bug("task %u is initialised on a queue", p->id);
	list_init(&t->link);
	t->magic = MAGIC;
	t->place = NOWHERE;
	t->slice = slice();
	t->exited = false;
	p->prio = own_prio(p);
}

static void test_task_exit(struct runq *rq, struct task *p)
{
	if (area(p)->place != NOWHERE || area(p)->exited)
		machine_bug("task %u leaves from where it is not", p->id);
	area(p)->exited = true;
}

static bool test_fork(struct runq *rq, struct task *parent, struct task *child)
{
	area(parent);
	test_task_init(rq, child);
	return false;
}

static void insert(struct runq *rq, struct task *p)
{
	struct list *head = &queue(rq)->waiting, *at = head->next;

	while (at != head && task_of(at)->prio <= p->prio)
		at = at->next;
	list_add_tail(&area(p)->link, at);
	area(p)->place = WAITING;
}

static void take(struct task *p)
{
	list_del_init(&area(p)->link);
	area(p)->place = NOWHERE;
}

static void test_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	if (area(p)->place != NOWHERE || area(p)->exited || p->cpu != rq->cpu)
		machine_bug("task %u is enqueued twice, dead or elsewhere", p->id);
	if ((flags & ENQ_FORK) && !p->forked)
		machine_bug("task %u was not forked under policy %s", p->id, sched_policy->name);
	insert(rq, p);
}

static void test_dequeue(struct runq *rq, struct task *p, u32 flags)
{
	if (area(p)->place == NOWHERE || p->cpu != rq->cpu)
		machine_bug("task %u is dequeued where it is not", p->id);
	if (area(p)->place == ON_CPU && rq->curr != p)
		machine_bug("task %u runs nowhere", p->id);
	take(p);
}

static struct task *test_pick_next(struct runq *rq, struct task *prev)
{
	struct test_runq *q = queue(rq);
	struct task *p;

	/* Without put_prev() for a running task that stays; with it the task waits by now. */
	for (struct list *l = q->waiting.next; l != &q->waiting; l = l->next) {
		p = task_of(l);
		if (p != prev && machine_runq(p->cpu)->curr == p)
			continue;
		if (sched_policy->global_queue && !cpumask_test(&p->affinity, rq->cpu))
			continue;
		take(p);
		area(p)->place = ON_CPU;
		return p;
	}
	return NULL;
}

static void test_put_prev(struct runq *rq, struct task *prev, unsigned how)
{
	if (area(prev)->place == ON_CPU)
		insert(rq, prev);
}

static bool test_tick(struct runq *rq, struct task *p)
{
	if (area(p)->place != ON_CPU)
		machine_bug("a tick for task %u, which does not run", p->id);
	if (p->class == SCHED_FIFO || --area(p)->slice > 0)
		return false;
	area(p)->slice = slice();
	return true;
}

static bool test_preempts(struct runq *rq, struct task *p, u32 flags)
{
	if (rq->curr == rq->idle) /* asked only with one queue for all */
		return true;
	area(rq->curr);
	return p->prio < rq->curr->prio;
}

static void test_yield(struct runq *rq, struct task *p)
{
	area(p)->slice = slice();
}

static bool change_prio(struct runq *rq, struct task *p)
{
	s16 prio = own_prio(p);

	if (area(p)->place == WAITING) {
		take(p);
		p->prio = prio;
		insert(rq, p);
	}
	p->prio = prio;
	return p->on_rq == ON_RQ_QUEUED;
}

static bool test_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			  unsigned rt_priority)
{
	p->nice = (s16)nice;
	p->class = (u8) class;
	p->rt_priority = (u8)rt_priority;
	return change_prio(rq, p);
}

static unsigned test_steal(struct runq *src, struct runq *dst, bool idle, unsigned n)
{
	struct test_runq *q = src->policy;
	struct list *l = q->waiting.next;
	unsigned moved = 0;

	while (l != &q->waiting && moved < n) {
		struct task *p = task_of(l);

		l = l->next;
		if (!sched_can_move(src, p, dst))
			continue;
		sched_move(src, p, dst);
		moved++;
	}
	return moved;
}

static void test_reap(struct task *child, struct task *parent)
{
	if (!area(child)->exited)
		machine_bug("dead task %u has not left", child->id);
	area(parent);
}

static bool test_lend(struct runq *rq, struct task *p, int prio)
{
	p->lent_prio = (s16)prio;
	return change_prio(rq, p);
}

static bool test_better(const struct task *a, const struct task *b)
{
	return area(a)->magic && area(b)->magic && a->prio < b->prio;
}

static u32 test_timeslice(const struct task *p)
{
	return p->class == SCHED_FIFO ? 0 : (u32)slice();
}

static void test_show(struct runq *rq, struct strbuf *sb)
{
	struct list *head = &queue(rq)->waiting, *l = head->next;

	sb_printf(sb, "list:\n");
	for (; l != head && !sb_full(sb); l = l->next)
		sb_printf(sb, "%d: %u (%s)\n", task_of(l)->prio, task_of(l)->id, task_of(l)->comm);
}

static bool test_holds(struct runq *rq, const struct task *p)
{
	return area(p)->place != NOWHERE;
}

static const char *test_check(struct runq *rq)
{
	struct test_runq *q = queue(rq);
	int last = -1;
	u32 n = 0;

	for (struct list *l = q->waiting.next; l != &q->waiting; l = l->next) {
		struct task *p = task_of(l);

		if (l->next->prev != l)
			return "list broken";
		if (area(p)->place != WAITING || p->on_rq != ON_RQ_QUEUED)
			return "a waiting task's fields say something else";
		if (p->prio < last)
			return "order broken";
		last = p->prio;
		n += p->cpu == rq->cpu;
	}
	/* In the window of a dropped lock the running task may wait, or sleep. */
	if (rq->curr != rq->idle && area(rq->curr)->place == ON_CPU)
		n++;
	return n == rq->nr_running ? NULL : "nr_running wrong";
}

static u64 test_wait_bound(int nice, int best, u32 n, bool sleepers)
{
	return best < nice || sleepers ? NO_WAIT_BOUND
				       : n * ((u64)slice() + 1) * (NSEC_PER_SEC / sched_hz);
}

#define TEST_OPERATIONS                                                                      \
	.runq_size = sizeof(struct test_runq), .init_cpu = test_init_cpu,                    \
	.exit_cpu = test_exit_cpu, .task_init = test_task_init, .task_exit = test_task_exit, \
	.fork = test_fork, .enqueue = test_enqueue, .dequeue = test_dequeue,                 \
	.pick_next = test_pick_next, .put_prev = test_put_prev, .tick = test_tick,           \
	.preempts = test_preempts, .yield = test_yield, .set_attr = test_set_attr,           \
	.steal = test_steal, .reap = test_reap, .lend = test_lend, .better = test_better,    \
	.timeslice = test_timeslice, .wait_bound = test_wait_bound, .show = test_show,       \
	.holds = test_holds, .check = test_check

const struct sched_policy policy_test_global = {
	.name = "test-global",
	.summary = "for tests: one queue",
	.default_hz = 100,
	.idle_needs_tick = true,
	.global_queue = true,
	TEST_OPERATIONS,
};

const struct sched_policy policy_test_local = {
	.name = "test-local",
	.summary = "for tests: a queue per CPU",
	.default_hz = 250,
	.balance_busy_ms = 100,
	.balance_idle_ms = 4,
	TEST_OPERATIONS,
};

/* SPDX-License-Identifier: MIT
 *
 * The scheduler of Linux 2.4.17 (December 2001): one run list for all CPUs, searched from end to end for the task with the
 * highest goodness.
 *
 * Here HIGHER GOODNESS IS BETTER, the reverse of the other policies. task.prio, which the rest of the kernel shows and
 * compares, is not goodness and stays "lower is better": 99 - rt_priority for real time, 120 + nice for SCHED_OTHER, or a
 * lent priority if that is better. Goodness is computed from it: 1000 + 99 - prio, or 140 - prio (which is 20 - nice) plus
 * the ticks left, plus the two bonuses. So better() knows nice and class but not the ticks left, which change by the minute.
 *
 * Sources: goodness(), the scan, recalculation, waking, fork, exit and yield were read in published 2.4 source. PROC_CHANGE_PENALTY
 * of the i386 is reconstructed. Ours: what a lent priority does; that a recalculation happens under the lock; the look of
 * every tick for tasks that wait beside an idle CPU (the original could leave one there for a slice); after a change of class
 * the CPU concerned is interrupted, not the caller's; a dead child's ticks are as old as its death.
 *
 * Everything is protected by the one lock that all queues share (rule 7 of policy.h). Each pick is linear in the runnable tasks, each
 * recalculation in all tasks: that is what the schedulers after this one set out to change.
 */
#include "sched/policy.h"

#include "lib/string.h"

#define MAX_RT_PRIO 100
#define NICE_0_PRIO 120
#define RT_GOODNESS 1000
#define NO_GOODNESS (-1000) /* of the idle task */
#define NO_CPU	    MAX_CPUS

/* The policy's part of a task. */
struct g_task {
	struct list run; /* the run list, running tasks included; empty: not runnable */
	struct list all; /* every task of the system that was started */
	s32 counter;	 /* ticks left of its slice */
	u32 yielding;	 /* it called yield and has not been passed over yet */
};
_Static_assert(sizeof(struct g_task) <= POLICY_AREA_SIZE, "policy area too small");

/* The policy's part of a CPU. */
struct g_cpu {
	struct task *curr; /* NULL: idle */
	u64 last_schedule; /* ns of the last switch */
	u64 borrowed_mm;   /* the address space that is loaded while curr has none of its own */
};

/* The queue of all CPUs. */
static struct {
	struct list run, all;
	u32 nr, busy; /* tasks on the run list; CPUs that run one */
	u32 recalculations;
} g;

static s64 proc_change_penalty = 15, mm_bonus = 1, preempt_margin = 1, yield_rating = -1,
	   recalc_sleepers = 1;

#define L24   "Linux 2.4.17"
#define RECON L24 " (i386), reconstructed"

static const struct tunable goodness_tunables[] = {
	{"proc_change_penalty", "points", 0, 100, 15, &proc_change_penalty, RECON},
	{"mm_bonus", "points", 0, 20, 1, &mm_bonus, L24},
	{"preempt_margin", "points", 0, 100, 1, &preempt_margin, L24 "; 0 in 2.3"},
	{"yield_rating", "points", -1, 0, -1, &yield_rating, L24 "; 0 in 2.3"},
	{"recalc_sleepers", "bool", 0, 1, 1, &recalc_sleepers,
	 L24 "; 0 takes the sleepers' advantage away"},
};

/* A quarter of a nice level per tick at HZ 100, more at higher ones. */
static unsigned tick_shift;

static void goodness_setup(void)
{
	tick_shift = sched_hz < 200 ? 0 : sched_hz < 400 ? 1 : sched_hz < 800 ? 2 : 3;
}

/* ----------------------------------------------------------- primitives */

static inline struct g_task *gt(const struct task *p)
{
	return (struct g_task *)p->policy_area;
}

static inline struct task *task_of(struct list *run)
{
	return container_of((u64 *)container_of(run, struct g_task, run), struct task,
			    policy_area[0]);
}

static inline struct g_cpu *g_cpu(unsigned cpu)
{
	return machine_runq(cpu)->policy;
}

static inline bool runnable(const struct task *p)
{
	return !list_empty(&gt(p)->run);
}

/* A runnable task that runs names the CPU that runs it. */
static inline bool running(const struct task *p)
{
	return g_cpu(p->cpu)->curr == p;
}

static s32 nice_to_ticks(int nice)
{
	return (((20 - nice) << tick_shift) >> 2) + 1;
}

static s32 scaled(s32 ticks_of_100)
{
	return ticks_of_100 * (s32)sched_hz / 100;
}

#define DEF_COUNTER scaled(10) /* of a task that nobody forked */
#define MAX_COUNTER scaled(20) /* what a parent may own after inheriting */

static s16 prio_of(const struct task *p)
{
	int own = p->class == SCHED_OTHER ? NICE_0_PRIO + p->nice : 99 - p->rt_priority;

	return (s16)min(own, (int)p->lent_prio);
}

static u64 active_mm(const struct g_cpu *c)
{
	u64 own = c->curr ? READ_ONCE(c->curr->address_space) : 0;

	return own ? own : c->borrowed_mm;
}

static s32 goodness(const struct task *p, unsigned cpu, u64 mm)
{
	s32 weight = gt(p)->counter;
	u64 own_mm;

	if (unlikely(gt(p)->yielding))
		return (s32)yield_rating;
	if (unlikely(p->prio < MAX_RT_PRIO))
		return RT_GOODNESS + 99 - p->prio;
	if (!weight) {
		/* Somebody waits for what it holds: it does not wait for the recalculation. */
		if (likely(p->prio != p->lent_prio))
			return 0;
		weight = 1;
	}
	if (p->cpu == cpu)
		weight += (s32)proc_change_penalty;
	own_mm = READ_ONCE(p->address_space);
	if (!own_mm || own_mm == mm)
		weight += (s32)mm_bonus;
	return weight + MAX_RT_PRIO + 40 - p->prio;
}

/* ------------------------------------------------ which CPU to interrupt */

/*
 * Find a CPU for @p, which waits: the one it ran on if that is idle, the one that has been idle longest, or the one whose task
 * it beats by most and by more than the margin. A second task that finds the same CPU idle before that has come to look
 * interrupts it in vain, as in the original. @except: a CPU that has just passed @p over.
 */
static void reschedule_idle(struct task *p, unsigned except)
{
	unsigned cpu, target = NO_CPU;
	s32 most = (s32)preempt_margin;
	u64 oldest = ~0ull;

	if (p->cpu != except && cpumask_test(&p->affinity, p->cpu) && !g_cpu(p->cpu)->curr) {
		sched_interrupt(p->cpu);
		return;
	}
	for_each_cpu_in(cpu, &sched_online)
	{
		struct g_cpu *c = g_cpu(cpu);

		if (cpu == except || !cpumask_test(&p->affinity, cpu))
			continue;
		if (!c->curr) {
			if (c->last_schedule < oldest) {
				oldest = c->last_schedule;
				target = cpu;
			}
		} else if (oldest == ~0ull) {
			u64 mm = active_mm(c);
			s32 gain = goodness(p, cpu, mm) - goodness(c->curr, cpu, mm);

			if (gain > most) {
				most = gain;
				target = cpu;
			}
		}
	}
	if (target != NO_CPU)
		sched_interrupt(target);
}

/* Once a tick: nobody waits beside an idle CPU that may run it. */
static void wake_idle_cpus(void)
{
	unsigned cpu;
	struct list *l;

	if (likely(g.nr == g.busy))
		return;
	for_each_cpu_in(cpu, &sched_online)
	{
		if (g_cpu(cpu)->curr)
			continue;
		for (l = g.run.next; l != &g.run; l = l->next) {
			struct task *p = task_of(l);

			if (!running(p) && cpumask_test(&p->affinity, cpu)) {
				sched_interrupt(cpu);
				break;
			}
		}
	}
}

static bool goodness_preempts(struct runq *rq, struct task *p, u32 flags)
{
	/*
	 * The waker will sleep and its CPU then look at the list: insert only. An interrupt handler and an idle task do not keep
	 * that promise.
	 */
	if ((flags & (ENQ_SYNC | ENQ_IRQ)) != ENQ_SYNC ||
	    rq->waker == machine_runq(rq->waker->cpu)->idle)
		reschedule_idle(p, NO_CPU);
	return false;
}

/* ------------------------------------------------------------ the queue */

static void goodness_init_cpu(struct runq *rq)
{
	if (rq->cpu == 0) {
		list_init(&g.run);
		list_init(&g.all);
		g.nr = g.busy = 0;
	}
}

static void enlist(struct task *p)
{
	if (list_empty(&gt(p)->all))
		list_add_tail(&gt(p)->all, &g.all);
}

static void goodness_task_init(struct runq *rq, struct task *p)
{
	list_init(&gt(p)->run);
	list_init(&gt(p)->all);
	gt(p)->counter = DEF_COUNTER;
	gt(p)->yielding = 0;
	p->prio = prio_of(p);
	/* A new task may be given up before it is started: it counts from its first enqueue() on. */
	if (p->state != TASK_NEW)
		enlist(p);
}

static void goodness_task_exit(struct runq *rq, struct task *p)
{
	list_del_init(&gt(p)->all);
}

/* At the head: of equals the one that came last runs first. */
static void goodness_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	enlist(p);
	list_add(&gt(p)->run, &g.run);
	g.nr++;
}

static void goodness_dequeue(struct runq *rq, struct task *p, u32 flags)
{
	list_del_init(&gt(p)->run);
	g.nr--;
}

static void move_to_tail(struct task *p)
{
	list_del(&gt(p)->run);
	list_add_tail(&gt(p)->run, &g.run);
}

/*
 * All runnable tasks that may run here have used up their slices. Everybody gets a new one and keeps half of what is left:
 * sleepers approach two slices, which is all the favour that interactive tasks get.
 */
static __attribute__((noinline)) void recalculate(struct runq *rq)
{
	g.recalculations++;
	for (struct list *l = g.all.next; l != &g.all; l = l->next) {
		struct g_task *t = container_of(l, struct g_task, all);
		struct task *p = task_of(&t->run);

		if (recalc_sleepers || runnable(p))
			t->counter = (t->counter >> 1) + nice_to_ticks(p->nice);
		sched_note_score(rq, p, SCORE_SLICE, t->counter);
	}
}

/* The best of the list for this CPU, the first of several; NULL if it has none. */
static struct task *scan(const struct runq *rq, u64 mm, s32 *best)
{
	struct task *next = NULL;

	*best = NO_GOODNESS;
	for (struct list *l = g.run.next; l != &g.run; l = l->next) {
		struct task *p = task_of(l);
		s32 weight;

		if ((running(p) && p->cpu != rq->cpu) || !cpumask_test(&p->affinity, rq->cpu))
			continue;
		weight = goodness(p, rq->cpu, mm);
		if (weight > *best) {
			*best = weight;
			next = p;
		}
	}
	return next;
}

static struct task *goodness_pick_next(struct runq *rq, struct task *prev)
{
	struct g_cpu *c = rq->policy;
	u64 mm = active_mm(c);
	struct task *next;
	bool displaced = false;
	s32 best;

	if (prev != rq->idle && runnable(prev)) {
		displaced = !gt(prev)->yielding;
		if (prev->class == SCHED_RR && !gt(prev)->counter) {
			gt(prev)->counter = nice_to_ticks(prev->nice);
			move_to_tail(prev);
		}
	}
	next = scan(rq, mm, &best);
	if (unlikely(!best)) {
		if (!yield_rating)
			gt(prev)->yielding = 0; /* 2.3: only once, or this would not end */
		recalculate(rq);
		next = scan(rq, mm, &best);
	}
	gt(prev)->yielding = 0;
	if (next == c->curr)
		return next;
	g.busy += (next != NULL) - (c->curr != NULL);
	c->borrowed_mm = mm;
	c->last_schedule = rq->clock;
	c->curr = next;
	/*
	 * Another CPU may be the place for prev now. The original asks when prev is off its stack; here the lock is held until
	 * then, so whoever is interrupted comes no earlier.
	 */
	if (displaced)
		reschedule_idle(prev, rq->cpu);
	return next;
}

static bool goodness_tick(struct runq *rq, struct task *p)
{
	wake_idle_cpus();
	if (--gt(p)->counter > 0)
		return false;
	gt(p)->counter = 0;
	sched_note_score(rq, p, SCORE_SLICE, 0);
	return true;
}

static void goodness_idle_tick(struct runq *rq)
{
	wake_idle_cpus();
}

static void goodness_yield(struct runq *rq, struct task *p)
{
	if (g.nr == g.busy)
		return; /* nobody waits: nothing to give way to */
	gt(p)->yielding = p->class == SCHED_OTHER;
	move_to_tail(p);
}

/* -------------------------------------------------------- fork and exit */

static bool goodness_fork(struct runq *rq, struct task *parent, struct task *child)
{
	goodness_task_init(rq, child);
	gt(child)->counter = (gt(parent)->counter + 1) >> 1;
	gt(parent)->counter >>= 1;
	sched_note_score(rq, parent, SCORE_FORK, gt(parent)->counter);
	sched_note_score(rq, child, SCORE_FORK, gt(child)->counter);
	return !gt(parent)->counter;
}

static void goodness_reap(struct task *child, struct task *parent)
{
	gt(parent)->counter = min(gt(parent)->counter + gt(child)->counter, MAX_COUNTER);
	sched_note_score(machine_runq(parent->cpu), parent, SCORE_REAPED, gt(parent)->counter);
}

/* ----------------------------------------------------------- attributes */

static bool goodness_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			      unsigned rt_priority)
{
	bool class_changes = class != p->class || rt_priority != p->rt_priority;

	p->nice = (s16)nice;
	p->class = (u8) class;
	p->rt_priority = (u8)rt_priority;
	p->prio = prio_of(p);
	/* A new nice value counts when somebody next looks. */
	if (!class_changes || !runnable(p))
		return false;
	list_del(&gt(p)->run);
	list_add(&gt(p)->run, &g.run);
	if (running(p))
		return true;
	reschedule_idle(p, NO_CPU);
	return false;
}

static bool goodness_lend(struct runq *rq, struct task *p, int prio)
{
	int old = p->prio;

	p->lent_prio = (s16)prio;
	p->prio = prio_of(p);
	if (!runnable(p))
		return false;
	if (running(p))
		return p->prio > old;
	if (p->prio < old)
		reschedule_idle(p, NO_CPU);
	return false;
}

static bool goodness_better(const struct task *a, const struct task *b)
{
	return a->prio < b->prio;
}

static u32 goodness_timeslice(const struct task *p)
{
	return p->class == SCHED_FIFO ? 0 : (u32)nice_to_ticks(p->nice);
}

/* ------------------------------------------------ how long others wait */

/*
 * Until all others have used up what they have: at most two slices, or what reaping may leave. Then all get new slices, also who has
 * none left, and whoever kept some by sleeping may use two again. Who has a tick left is better than all who have none.
 * It is for tasks that may run on every CPU: where some may not, a CPU that runs out of slices early renews also those of tasks
 * that have the others' better ones to wait for, and these may wait for ever.
 */
static u64 goodness_wait_bound(int nice, int best, u32 n, bool sleepers)
{
	u64 slice = (u64)nice_to_ticks(best), first = max(2 * slice, (u64)MAX_COUNTER);
	u64 each = first + (sleepers ? 2 : 1) * slice + 1;

	return ((n - 1) * each + 1) * (NSEC_PER_SEC / sched_hz);
}

/* ---------------------------------------------------- showing, checking */

static void show(const struct task *p, struct strbuf *sb, unsigned cpu, u64 mm)
{
	sb_printf(sb, "prio %d bonus 0 goodness %d slice %d of %d%s", p->prio, goodness(p, cpu, mm),
		  gt(p)->counter, nice_to_ticks(p->nice), gt(p)->yielding ? " YIELDING" : "");
}

/* What it would be on its own CPU. */
static void goodness_show_task(const struct task *p, struct strbuf *sb)
{
	show(p, sb, p->cpu, active_mm(g_cpu(p->cpu)));
}

/* Every CPU sees the one list with its own eyes. */
static void goodness_show(struct runq *rq, struct strbuf *sb)
{
	sb_printf(sb, "list: tasks %u running %u recalculations %u\n", g.nr, g.busy,
		  g.recalculations);
	for (struct list *l = g.run.next; l && l != &g.run && !sb_full(sb); l = l->next) {
		struct task *p = task_of(l);

		sb_printf(sb, "%d: %u (%s) cpu %u ", goodness(p, rq->cpu, active_mm(rq->policy)),
			  p->id, p->comm, p->cpu);
		show(p, sb, rq->cpu, active_mm(rq->policy));
		sb_printf(sb, "\n");
	}
}

static bool goodness_holds(struct runq *rq, const struct task *p)
{
	return runnable(p);
}

static const char *goodness_check(struct runq *rq)
{
	struct g_cpu *own = rq->policy;
	u32 nr = 0, counted = 0, busy = 0, runs = 0;
	unsigned cpu;

	if (own->curr != (rq->curr == rq->idle ? NULL : rq->curr))
		return "the policy thinks another task runs";
	for_each_cpu_in(cpu, &sched_online)
	{
		counted += machine_runq(cpu)->nr_running;
		busy += g_cpu(cpu)->curr != NULL;
	}
	for (struct list *l = g.run.next; l != &g.run; l = l->next) {
		struct task *p = task_of(l);

		if (l->next->prev != l || ++nr > g.nr)
			return "list broken";
		if (p->on_rq != ON_RQ_QUEUED || p->prio != prio_of(p) || list_empty(&gt(p)->all))
			return "a queued task's fields are wrong";
		if (gt(p)->counter < 0 || gt(p)->counter > max(2 * nice_to_ticks(-20), MAX_COUNTER))
			return "counter out of range";
		runs += running(p);
	}
	if (nr != g.nr || nr != counted)
		return "number of runnable tasks wrong";
	return busy == g.busy && busy == runs ? NULL : "number of running tasks wrong";
}

const struct sched_policy policy_goodness = {
	.name = "goodness",
	.summary = "one list and goodness(), Linux 2.4.17",
	.evidence =
		"read: 2.4 source (goodness, scan, recalculation, wake-up, fork, exit, yield); "
		"reconstructed: the i386's penalty of 15 for changing the CPU; "
		"ours: lent priorities, a look each tick for tasks that wait beside an idle CPU",
	.default_hz = 100,
	.global_queue = true,
	.runq_size = sizeof(struct g_cpu),
	.setup = goodness_setup,
	.init_cpu = goodness_init_cpu,
	.task_init = goodness_task_init,
	.task_exit = goodness_task_exit,
	.fork = goodness_fork,
	.enqueue = goodness_enqueue,
	.dequeue = goodness_dequeue,
	.pick_next = goodness_pick_next,
	.tick = goodness_tick,
	.idle_tick = goodness_idle_tick,
	.preempts = goodness_preempts,
	.yield = goodness_yield,
	.set_attr = goodness_set_attr,
	.reap = goodness_reap,
	.lend = goodness_lend,
	.better = goodness_better,
	.timeslice = goodness_timeslice,
	.wait_bound = goodness_wait_bound,
	.wait_rule =
		"what each other task has left, 2 slices, and after the recalculation 1 more, or 2 if it sleeps; for tasks that may run everywhere",
	.score = "goodness",
	.show_task = goodness_show_task,
	.show = goodness_show,
	.holds = goodness_holds,
	.check = goodness_check,
	.tunables = goodness_tunables,
	.nr_tunables = ARRAY_SIZE(goodness_tunables),
};

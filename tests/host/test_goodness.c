/* SPDX-License-Identifier: MIT
 *
 * Tests of policy goodness: its numbers, the scan and its ties, recalculation, yield, fork and exit, and which CPU a woken or
 * displaced task interrupts. The policy is included so that its fields can be set and read.
 */
#include <string.h>

#include "sched/policy/goodness.c"
#include "tests.h"

static void start(unsigned ncpus)
{
	sim_start(ncpus, 100);
	sim_check("start");
}

/* A new task that runs on @cpu, nobody else being eager. */
static struct task *run_on(unsigned cpu)
{
	struct task *t = sim_kthread((int)cpu);

	sim_on(cpu);
	gt(t)->counter = 2 * nice_to_ticks(-20);
	sched_wake_new(t);
	schedule();
	CHECK(current_task() == t);
	gt(t)->counter = DEF_COUNTER;
	return t;
}

static struct task *started(int cpu, s32 counter)
{
	struct task *t = sim_kthread(cpu);

	gt(t)->counter = counter;
	sched_wake_new(t);
	return t;
}

static bool asked(unsigned cpu)
{
	return host_cpus[cpu].need_resched;
}

static void settle(void)
{
	sim_deliver(true);
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		sim_idle_turn(cpu);
	sim_on(0);
}

static void numbers(void)
{
	static const struct {
		int nice, ticks;
	} golden[] = {{-20, 11}, {-10, 8}, {0, 6}, {10, 3}, {19, 1}};
	struct task *t;
	s32 last = 0;

	start(2);
	CHECK_EQ(sched_hz, 100);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++)
		CHECK_EQ(nice_to_ticks(golden[i].nice), golden[i].ticks);
	t = run_on(0);
	t->address_space = 7;
	gt(t)->counter = 11;
	CHECK_EQ(goodness(t, 0, 7), 47); /* the most at nice 0 */
	CHECK_EQ(goodness(t, 1, 7), 32);
	CHECK_EQ(goodness(t, 1, 8), 31);
	CHECK_EQ(goodness(t, 0, 8), 46);
	t->address_space = 0; /* kernel tasks fit everywhere */
	CHECK_EQ(goodness(t, 0, 8), 47);
	for (int nice = 19; nice >= -20; nice--) {
		sched_set_nice(t, nice);
		CHECK_EQ(goodness(t, 1, 0), 11 + 1 + 20 - nice);
		CHECK(goodness(t, 1, 0) > last);
		last = goodness(t, 1, 0);
		CHECK_EQ(t->prio, 120 + nice);
	}
	gt(t)->counter = 0;
	CHECK_EQ(goodness(t, 0, 0), 0);
	gt(t)->yielding = 1;
	CHECK_EQ(goodness(t, 0, 0), -1);
	gt(t)->yielding = 0;
	CHECK_EQ(sched_set_class(t, SCHED_RR, 99), 0);
	CHECK_EQ(goodness(t, 0, 0), 1099);
	CHECK_EQ(t->prio, 0);
	CHECK_EQ(sched_set_class(t, SCHED_FIFO, 1), 0);
	CHECK_EQ(goodness(t, 0, 0), 1001);
	CHECK_EQ(sched_timeslice_ns(t), 0);
	sched_set_class(t, SCHED_OTHER, 0);
	sched_set_nice(t, 0);
	CHECK_EQ(sched_timeslice_ns(t), 60 * NSEC_PER_MSEC);
	/* Finer ticks, about the same time. */
	sim_start(1, 250);
	CHECK_EQ(nice_to_ticks(0), 11);
	sim_start(1, 1000);
	CHECK_EQ(nice_to_ticks(0), 41);
	CHECK_EQ(nice_to_ticks(19), 3);
}

/* Equal goodness: the earlier in the list, and a woken task comes to its head. */
static void ties(void)
{
	struct task *r, *a, *b, *c;

	start(1);
	r = run_on(0);
	a = started(0, 10);
	b = started(0, 10);
	c = started(0, 10);
	CHECK(!need_resched()); /* equal is not better */
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == c); /* last in, first out */
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == b);
	task_wake(c, TASK_NORMAL, 0);
	task_wake(r, TASK_NORMAL, 0);
	CHECK(!need_resched());
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == r);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == c);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == a);
	/* Since 2.4 the running task has no privilege in a tie: it stands behind the newcomer. */
	task_wake(b, TASK_NORMAL, 0);
	gt(b)->counter = gt(a)->counter;
	schedule();
	CHECK(current_task() == b);
	sim_check("end");
}

/* One point more does not preempt, two do. */
static void margin(void)
{
	struct task *r, *a;

	start(1);
	r = run_on(0);
	a = started(0, 11);
	CHECK(!need_resched());
	sched_set_tunable("preempt_margin", 0);
	set_current_state(TASK_RUNNING);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == a);
	gt(r)->counter = 12;
	task_wake(r, TASK_NORMAL, 0);
	CHECK(need_resched());
	schedule();
	CHECK(current_task() == r);
	sched_set_tunable("preempt_margin", 1);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == a);
	task_wake(r, TASK_NORMAL, 0);
	CHECK(!need_resched()); /* 12 against 11 */
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == r);
	gt(a)->counter = 14;
	task_wake(a, TASK_NORMAL, 0);
	CHECK(need_resched());
	/* The address space is worth exactly the point that is not enough. */
	schedule();
	CHECK(current_task() == a);
	a->address_space = 1;
	r->address_space = 2;
	CHECK_EQ(goodness(a, 0, active_mm(g_cpu(0))), 14 + 15 + 1 + 20);
	CHECK_EQ(goodness(r, 0, active_mm(g_cpu(0))), 12 + 15 + 20);
}

/* Everybody's counter, asleep or not, each time the runnable ones are used up; sleepers approach two slices. */
static void recalculation(void)
{
	struct task *hog, *sleeper;
	s32 seen[4] = {0};
	unsigned n = 0;

	start(1);
	sleeper = run_on(0);
	gt(sleeper)->counter = 0;
	sim_block(TASK_INTERRUPTIBLE);
	hog = run_on(0);
	gt(hog)->counter = 1;
	for (unsigned i = 0; i < 100; i++) {
		s32 before = gt(sleeper)->counter;

		sim_ticks(1);
		CHECK(current_task() == hog);
		CHECK(gt(hog)->counter > 0 && gt(hog)->counter <= 6);
		if (gt(sleeper)->counter != before && n < 4)
			seen[n++] = gt(sleeper)->counter;
	}
	CHECK_EQ(n, 4);
	CHECK_EQ(seen[0], 6);
	CHECK_EQ(seen[1], 9);
	CHECK_EQ(seen[2], 10);
	CHECK_EQ(seen[3], 11); /* 2 * 6, but for rounding */
	CHECK_EQ(gt(sleeper)->counter, 11);
	/* So it preempts a hog in the middle of its slice. */
	gt(hog)->counter = 5;
	task_wake(sleeper, TASK_NORMAL, 0);
	CHECK(need_resched());
	schedule();
	CHECK(current_task() == sleeper);
	/* A task that was given up before its start is not in the books. */
	sim_kthread(0);
	for (struct list *l = g.all.next; l != &g.all; l = l->next)
		n++;
	CHECK_EQ(n, 4 + 2);
	/* Without the sleepers' share. */
	sim_block(TASK_INTERRUPTIBLE);
	sched_set_tunable("recalc_sleepers", 0);
	gt(sleeper)->counter = 3;
	sim_ticks(30);
	CHECK_EQ(gt(sleeper)->counter, 3);
	sim_check("end");
}

/* Two hogs take turns of 6 ticks, one of nice 19 gets 1 in 7. */
static void shares(void)
{
	struct task *a, *b;
	u32 before_a, before_b;

	start(1);
	a = run_on(0);
	b = started(0, 6);
	sim_ticks(16); /* 10 it began with, and 6 */
	before_a = a->ticks_billed;
	before_b = b->ticks_billed;
	sim_ticks(120);
	CHECK_EQ(a->ticks_billed - before_a, 60);
	CHECK_EQ(b->ticks_billed - before_b, 60);
	sched_set_nice(b, 19);
	sim_ticks(70);
	before_b = b->ticks_billed;
	sim_ticks(700);
	CHECK_EQ(b->ticks_billed - before_b, 100);
	sim_check("end");
}

static void real_time(void)
{
	struct task *o, *a, *b;

	start(1);
	o = run_on(0);
	a = started(0, 10);
	sched_set_class(a, SCHED_RR, 10);
	CHECK(need_resched());
	schedule();
	CHECK(current_task() == a);
	b = started(0, 10);
	sched_set_class(b, SCHED_RR, 10);
	CHECK(!need_resched());
	/* RR: the tail and a new slice when it is used up. */
	gt(a)->counter = 1;
	sim_ticks(1);
	CHECK(current_task() == b);
	CHECK_EQ(gt(a)->counter, 6);
	gt(b)->counter = 1;
	sim_ticks(1);
	CHECK(current_task() == a);
	/* FIFO: no end, also without ticks left. */
	sched_set_class(a, SCHED_FIFO, 11);
	sim_ticks(50);
	CHECK(current_task() == a);
	sched_set_class(b, SCHED_FIFO, 11);
	sched_yield_current();
	CHECK(current_task() == b);
	CHECK(o->exec_total < 5 * sched_tick_ns);
	sim_check("end");
}

static void yielding(void)
{
	struct task *a, *b;
	s32 counter;

	start(2);
	a = run_on(0);
	/* Nobody else: back at once, no recalculation. */
	counter = gt(a)->counter;
	sched_yield_current();
	CHECK(current_task() == a);
	CHECK_EQ(gt(a)->counter, counter);
	/* Others, but all of them run: the same. */
	b = run_on(1);
	gt(b)->counter = 1;
	sim_on(0);
	sched_yield_current();
	CHECK(current_task() == a);
	CHECK_EQ(gt(a)->yielding, 0);
	sim_on(1);
	sim_block(TASK_INTERRUPTIBLE);
	/* One that waits, however poor. It goes to the tail, and only one pick long is it rated -1. */
	sim_on(0);
	b = started(0, 1);
	sched_yield_current();
	CHECK(current_task() == b);
	CHECK_EQ(gt(a)->yielding, 0);
	CHECK(task_of(g.run.prev) == a);
	schedule();
	CHECK(current_task() == a);
	/* The other has no ticks left: it is rated 0, which is more than -1, so everybody gets new ones, and then it runs. */
	gt(b)->counter = 0;
	gt(a)->counter = 4;
	sched_yield_current();
	CHECK_EQ(gt(a)->counter, 4 / 2 + 6);
	CHECK_EQ(gt(b)->counter, 6);
	CHECK(current_task() == b);
	/* As in 2.3 a yield costs a recalculation, and that ends. */
	sched_set_tunable("yield_rating", 0);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == a);
	counter = gt(a)->counter;
	started(1, 1);
	sched_yield_current();
	CHECK(current_task() == a);
	CHECK_EQ(gt(a)->counter, counter / 2 + 6);
	sim_deliver(true);
	sim_check("end");
}

static void fork_and_exit(void)
{
	struct task *p, *c;

	start(1);
	p = run_on(0);
	gt(p)->counter = 7;
	c = sim_fork(false);
	CHECK_EQ(gt(c)->counter, 4); /* the odd tick goes to the child */
	CHECK_EQ(gt(p)->counter, 3);
	CHECK(task_of(g.run.next) == c);
	CHECK(current_task() == p);
	c = sim_fork(true);
	CHECK_EQ(gt(p)->counter, 1);
	CHECK(current_task() != p);
	gt(c)->counter = 10;
	gt(p)->counter = 0;
	schedule();
	CHECK(current_task() == c);
	c = sim_exit();
	CHECK(list_empty(&gt(c)->all));
	while (current_task() != p)
		sim_exit();
	gt(c)->counter = 10;
	gt(p)->counter = 5;
	sched_reap(c, p);
	CHECK_EQ(gt(p)->counter, 15);
	sched_reap(c, p);
	CHECK_EQ(gt(p)->counter, 20); /* MAX_COUNTER */
	/* The last tick goes to the child: the parent has to look for another. */
	gt(p)->counter = 1;
	c = sim_kthread(0);
	irq_disable();
	CHECK(sched_policy->fork(sim_rq(0), p, c));
	irq_enable();
	CHECK_EQ(gt(c)->counter, 1);
	CHECK_EQ(gt(p)->counter, 0);
}

/* 2.4's choice of the CPU to interrupt. */
static void places(void)
{
	struct cpumask cpu12 = {{6}}, all = {{15}};
	struct task *t, *r[4];

	start(4);
	/* Its last CPU is idle: there, although others have been idle for longer. */
	t = run_on(2);
	sched_set_affinity(t, &all);
	sim_now += NSEC_PER_MSEC;
	sim_block(TASK_INTERRUPTIBLE);
	sim_on(0);
	task_wake(t, TASK_NORMAL, 0);
	CHECK(!asked(0) && !asked(1) && asked(2) && !asked(3));
	settle();
	CHECK(sim_rq(2)->curr == t);
	/* Its last CPU is busy: the one idle for longest. */
	sim_on(2);
	sim_block(TASK_INTERRUPTIBLE);
	r[2] = run_on(2);
	for (unsigned i = 0; i < 4; i++) {
		static const unsigned order[] = {3, 1, 0};

		if (i == 3)
			break;
		run_on(order[i]);
		sim_now += NSEC_PER_MSEC;
		sim_block(TASK_INTERRUPTIBLE);
	}
	sim_on(0);
	task_wake(t, TASK_NORMAL, 0);
	CHECK(!asked(0) && !asked(1) && !asked(2) && asked(3));
	settle();
	CHECK(sim_rq(3)->curr == t);
	CHECK_EQ(t->cpu, 3);
	/* .. of those it may use. */
	sim_on(3);
	sim_block(TASK_INTERRUPTIBLE);
	sched_set_affinity(t, &cpu12);
	CHECK(t->cpu != 3);
	t->cpu = 2;
	sim_on(0);
	task_wake(t, TASK_NORMAL, 0);
	CHECK(!asked(0) && asked(1) && !asked(2) && !asked(3));
	settle();
	CHECK(sim_rq(1)->curr == t);
	/* All busy: where it gains most, and more than 1. The bonus for the last CPU decides nearly everything. */
	sched_set_affinity(t, &all);
	sim_on(1);
	sim_block(TASK_INTERRUPTIBLE);
	for (unsigned i = 0; i < 4; i++) {
		if (i != 2)
			r[i] = run_on(i);
		gt(r[i])->counter = 10;
	}
	CHECK_EQ(t->cpu, 1);
	gt(t)->counter = 11;
	gt(r[3])->counter = 1;
	sim_on(0);
	task_wake(t, TASK_NORMAL, 0);
	CHECK(!asked(0) && !asked(1) && !asked(2) &&
	      !asked(3)); /* 11 against 1 + 15, 1 more at home */
	sim_check("waits");
	/* Poorer still, by a nice level of 7. */
	sched_set_nice(r[3], 7);
	sched_set_affinity(t, &all); /* asks again */
	CHECK(!asked(0) && !asked(1) && !asked(2) && asked(3));
	settle();
	CHECK(sim_rq(3)->curr == t);
	/* r[3], displaced, may run nowhere else. A displaced one that may go looks for a CPU of its own. */
	sim_on(0);
	sched_set_affinity(r[3], &all);
	CHECK(!asked(0) && !asked(1) && !asked(2) && !asked(3));
	gt(r[1])->counter = 0;
	sim_on(0);
	task_wake(r[1], TASK_NORMAL, 0);
	sched_set_affinity(r[3], &all);
	CHECK(asked(1));
	settle();
	CHECK(sim_rq(1)->curr == r[3]);
	sim_check("end");
}

/* A task pushed off its CPU goes to an idle one at once. */
static void displaced(void)
{
	struct cpumask both = {{3}};
	struct task *a, *b;

	start(2);
	a = run_on(0);
	sched_set_affinity(a, &both);
	b = started(0, 22);
	CHECK(asked(0) && !asked(1));
	schedule();
	CHECK(current_task() == b);
	CHECK(asked(1));
	settle();
	CHECK(sim_rq(1)->curr == a);
	CHECK_EQ(a->nr_migrations, 1);
	CHECK_EQ(sim_rq(0)->nr_running, 1);
	CHECK_EQ(sim_rq(1)->nr_running, 1);
	sim_check("end");
}

/* Sync: inserted, nobody interrupted; found when the waker sleeps, or a tick later by an idle CPU. */
static void sync_wake(void)
{
	struct cpumask both = {{3}};
	struct task *a, *b;

	start(2);
	b = run_on(1);
	sched_set_affinity(b, &both);
	sim_block(TASK_INTERRUPTIBLE);
	a = run_on(0);
	task_wake(b, TASK_NORMAL, WAKE_SYNC);
	CHECK(!asked(0) && !asked(1));
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == b);
	CHECK_EQ(b->cpu, 0);
	/* The waker does not keep its word. */
	task_wake(a, TASK_NORMAL, WAKE_SYNC);
	CHECK(current_task() == b && !asked(0) && !asked(1));
	sched_set_affinity(a, &both);
	host_cpus[0].need_resched = false;
	host_cpus[1].need_resched = false;
	host_cpus[1].resched_due = ~0ull;
	sim_ticks(1);
	CHECK(sim_rq(1)->curr == a || sim_rq(0)->curr == a);
	CHECK(sim_rq(1)->curr == b || sim_rq(0)->curr == b);
	/* An interrupt handler is no waker that sleeps, nor is the idle task. */
	sim_on(sim_rq(1)->curr == b);
	sim_block(TASK_INTERRUPTIBLE);
	sim_ticks(1);
	sim_idle_turn(host_cpu);
	task_wake(b, TASK_NORMAL, WAKE_SYNC);
	CHECK(asked(b->cpu));
	settle();
	sim_check("end");
}

/* Each CPU takes another of the waiting tasks, none takes one that runs; idle CPUs stop their ticks and are woken. */
static void one_list_many_cpus(void)
{
	struct task *t[12];

	start(4);
	sim_ticks(20);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		CHECK(!host_cpus[cpu].tick_on);
	for (unsigned i = 0; i < 12; i++) {
		t[i] = sim_spawn(-1);
		sim_idle_turn(0);
		sim_check("spawned");
	}
	sim_ticks(2);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		CHECK(sim_rq(cpu)->curr != sim_rq(cpu)->idle);
	sim_ticks(1200);
	sim_check("after 12 s");
	for (unsigned i = 0; i < 12; i++) /* a third of a CPU each */
		CHECK(t[i]->ticks_billed > 350 && t[i]->ticks_billed < 450);
	sim_check("end");
}

static void affinity_of_queued(void)
{
	struct cpumask cpu1 = {{2}}, both = {{3}};
	struct task *a, *b;

	start(2);
	a = run_on(0);
	b = started(0, 5);
	CHECK_EQ(b->on_rq, ON_RQ_QUEUED);
	CHECK(!asked(1));
	/* Widened: CPU 1, idle, may take it from now on. */
	sched_set_affinity(b, &both);
	CHECK(asked(1));
	settle();
	CHECK(sim_rq(1)->curr == b);
	sim_on(1);
	sim_block(TASK_INTERRUPTIBLE);
	sched_set_affinity(b, &(struct cpumask){{1}});
	sim_on(0);
	task_wake(b, TASK_NORMAL, 0);
	CHECK(!asked(1));
	/* Moved: it names the other CPU, which is told. */
	sched_set_affinity(b, &cpu1);
	CHECK_EQ(b->cpu, 1);
	CHECK(asked(1));
	settle();
	CHECK(sim_rq(1)->curr == b);
	/* The running one moves. */
	sched_set_affinity(a, &cpu1);
	CHECK(current_task() != a);
	settle();
	CHECK_EQ(a->cpu, 1);
	sim_check("end");
}

/* Whoever holds what a better task waits for does not wait for the recalculation. */
static void lending(void)
{
	struct task *holder, *waiter, *hog;

	start(1);
	waiter = run_on(0);
	sched_set_class(waiter, SCHED_FIFO, 20);
	holder = started(0, 0);
	hog = started(0, 6);
	sim_block(TASK_UNINTERRUPTIBLE);
	CHECK(current_task() == hog);
	sched_lend(holder, waiter);
	CHECK_EQ(holder->prio, 79);
	CHECK_EQ(goodness(holder, 0, 0), 1020);
	CHECK(need_resched());
	schedule();
	CHECK(current_task() == holder);
	sched_unlend(holder);
	CHECK_EQ(holder->prio, 120);
	CHECK_EQ(goodness(holder, 0, 0), 0);
	CHECK(need_resched());
	schedule();
	CHECK(current_task() == hog);
	holder->address_space = 0;
	/* An equal waiter: one tick's worth is enough to compete. */
	sched_set_class(waiter, SCHED_OTHER, 0);
	sched_lend(holder, waiter);
	CHECK_EQ(goodness(holder, 0, 0), 1 + 15 + 1 + 20);
	CHECK(sched_better(waiter, holder) == false);
	sim_check("end");
}

/* The checker itself: a CPU that idles beside a waiting task is noticed, and what ends it is the tick's look. */
static void forgotten_task(void)
{
	struct cpumask both = {{3}};
	struct task *a, *b;

	start(2);
	sim_ticks(10);
	CHECK(!host_cpus[1].tick_on);
	a = run_on(0);
	b = started(0, 5);
	b->affinity = both; /* behind everybody's back */
	CHECK(!asked(1));
	sim_ticks(1);
	CHECK(sim_rq(1)->curr == b);
	CHECK(sim_rq(0)->curr == a);
	sim_check("end");
}

void goodness_tests(void)
{
	sim_policy = "goodness";
	TEST(numbers);
	TEST(ties);
	TEST(margin);
	TEST(recalculation);
	TEST(shares);
	TEST(real_time);
	TEST(yielding);
	TEST(fork_and_exit);
	TEST(places);
	TEST(displaced);
	TEST(sync_wake);
	TEST(one_list_many_cpus);
	TEST(affinity_of_queued);
	TEST(lending);
	TEST(forgotten_task);
	sim_policy = NULL;
}

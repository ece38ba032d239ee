/* SPDX-License-Identifier: MIT
 *
 * Unit tests of policy o1-a3: nanosecond accounting, credit for waiting, round robin, the two balancing fixes.
 */
#include "sched/policy/o1_a3.c"

#include "family.h"

#define MS NSEC_PER_MSEC

static void a3_slices_and_bonus(void)
{
	static const struct {
		int nice, ms;
	} golden[] = {{-20, 200}, {-10, 151}, {-5, 126}, {0, 102}, {5, 78}, {10, 53}, {19, 10}};
	struct task t;

	sim_start(1, 1000);
	CHECK_EQ(sched_policy->default_hz, 1000);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		t = with_nice(golden[i].nice);
		CHECK_EQ(sched_policy->timeslice(&t), golden[i].ms);
	}
	t = with_nice(0);
	CHECK_EQ(effective_prio(&t), 125);
	o1(&t)->sleep_ns = 999000000;
	CHECK_EQ(effective_prio(&t), 116);
	o1(&t)->sleep_ns = 1000000000;
	CHECK_EQ(effective_prio(&t), 115);
}

/* Every ns counts, asleep and running; the charge comes with schedule(), not with ticks. */
static void a3_accounting(void)
{
	struct task *t = one_running(1000, true);
	u64 had;

	sleep_ns(1234567, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_ns, 1234567);
	jump(234567);
	CHECK_EQ(o1(t)->sleep_ns, 1234567);
	schedule();
	CHECK_EQ(o1(t)->sleep_ns, 1000000);
	jump(5 * MS);
	schedule();
	CHECK_EQ(o1(t)->sleep_ns, 0);
	sleep_ns(5000 * MS, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_ns, 1000 * MS);
	CHECK_EQ(t->prio, 115);
	/* The priority at a slice end knows nothing of the slice that ends. */
	sched_set_tunable("granularity", 10000);
	had = o1(t)->sleep_ns;
	jump(500 * MS);
	o1(t)->time_slice = 1;
	sim_ticks(1);
	CHECK_EQ(o1(t)->time_slice, 102);
	CHECK_EQ(t->prio, 115);
	CHECK(o1(t)->sleep_ns <= had - 500 * MS);
	o1(t)->time_slice = 1;
	sim_ticks(1);
	CHECK(t->prio >= 120);
}

/* 100 ms of waiting after a wake-up count 29.69 ms if a task woke it, 100 ms if an interrupt did, 0 if it was sync. */
static void a3_queue_credit(void)
{
	static const u64 golden[] = {29687500, 100000000, 0};

	for (int how = 0; how < 3; how++) {
		struct task *t = one_running(1000, true), *equal, *f;

		CHECK_EQ(k.on_runqueue_weight, 38);
		sim_block(TASK_INTERRUPTIBLE);
		f = sim_kthread(0);
		sched_set_class(f, SCHED_FIFO, 1);
		sched_wake_new(f);
		schedule();
		CHECK(current_task() == f);
		o1(t)->stamp = sim_now; /* no sleep, only the wait */
		irq_disable();
		host_cpus[0].in_irq = how == 1;
		task_wake(t, TASK_NORMAL, how == 2 ? WAKE_SYNC : 0);
		CHECK_EQ(o1(t)->activated, how == 1 ? 2 : how == 0 ? 1 : 0);
		sim_irq_exit(false);
		equal = sim_spawn(0);
		CHECK(o1(t)->link.next == &o1(equal)->link);
		jump(100 * MS);
		sim_block(TASK_INTERRUPTIBLE);
		/* It runs, and stands behind its equal if it was credited (or left the list for a better one). */
		CHECK(current_task() == t);
		CHECK_EQ(o1(t)->sleep_ns, golden[how]);
		CHECK_EQ(o1(t)->activated, 0);
		CHECK_EQ(o1(t)->link.prev == &o1(equal)->link, how != 2 && t->prio == equal->prio);
	}
}

/* Slices of 102 ticks go in turns of 25, 25, 25, 25 and a stub of 2. */
static void a3_round_robin(void)
{
	static const int left[] = {77, 77, 52, 52, 27, 27, 2, 2};
	struct task *a = one_running(1000, false), *b = sim_spawn(0), *was = a;
	unsigned n = 0;

	for (unsigned ms = 0; ms < 200; ms++) {
		sim_ticks(1);
		if (current_task() == was)
			continue;
		CHECK_EQ(o1(was)->time_slice, left[n]);
		CHECK(was == (n % 2 ? b : a));
		was = current_task();
		if (++n == ARRAY_SIZE(left))
			break;
	}
	CHECK_EQ(n, ARRAY_SIZE(left));
	sim_ticks(2);
	CHECK(o1(a)->array == q_of(0)->expired);
}

static void a3_starvation(void)
{
	struct task *t = one_running(1000, true);
	struct runq *rq = sim_rq(0);

	sched_set_tunable("granularity", 10000);
	o1(t)->sleep_ns = 1000 * MS;
	o1(t)->time_slice = 1;
	sim_ticks(1);
	/* It went back into the active array, and the clock runs all the same. */
	CHECK(o1(t)->array == q_of(0)->active);
	CHECK_EQ(q_of(0)->expired_timestamp, rq->jiffies);
	sim_spawn(0);
	sim_spawn(0);
	sim_skip(998); /* the tick is one jiffy old */
	rq_clock_update(rq, sim_now);
	CHECK(!starving(rq, q_of(0)));
	sim_skip(1);
	rq_clock_update(rq, sim_now);
	CHECK(starving(rq, q_of(0))); /* 1 s, whatever the number of tasks */
	o1(t)->sleep_ns = 1000 * MS;
	o1(t)->time_slice = 1;
	sim_ticks(1);
	CHECK(o1(t)->array == q_of(0)->expired);
}

static void a3_preemption(void)
{
	struct task *a = one_running(1000, false), *b = sim_spawn(0);

	for (int more = 0; more < 2; more++) {
		o1(a)->time_slice = 51 - more;
		o1(b)->time_slice = 102;
		CHECK_EQ(sched_policy->preempts(sim_rq(0), b, ENQ_WAKEUP), more);
		CHECK_EQ(sched_policy->preempts(sim_rq(0), b, ENQ_PULLED), more);
		CHECK_EQ(sched_policy->preempts(sim_rq(0), b, ENQ_WAKEUP | ENQ_SYNC), 0);
	}
	b->prio--;
	o1(b)->time_slice = 1;
	CHECK_EQ(sched_policy->preempts(sim_rq(0), b, ENQ_WAKEUP), 1);
	b->prio++;
}

static void a3_fork_and_exit(void)
{
	struct task *p = one_running(1000, true), *c;

	o1(p)->sleep_ns = 1000 * MS;
	c = sim_fork(true);
	CHECK(current_task() == c);
	CHECK_EQ(c->prio, p->prio);
	CHECK_EQ(o1(c)->sleep_ns, 950 * MS);
	CHECK_EQ(o1(p)->sleep_ns, 1000 * MS);
	jump(150 * MS);
	sim_exit();
	CHECK_EQ(o1(c)->sleep_ns, 800 * MS);
	sched_reap(c, p);
	CHECK_EQ(o1(p)->sleep_ns, 950 * MS);
	CHECK_EQ(o1(p)->time_slice, 102);
}

/* As published the age in us is compared with ms, and a task that was just woken counts as warm although it did not run. */
static void a3_warm_tasks(void)
{
	static const struct {
		s64 unit;
		u64 warm, cold; /* ns */
	} units[] = {{10, 7 * 1024 - 1, 7 * 1024}, {20, 7 << 20, (7 << 20) + 1}};

	for (unsigned i = 0; i < ARRAY_SIZE(units); i++) {
		for (int cold = 0; cold < 2; cold++) {
			struct runq *rq;

			sim_start(2, 1000);
			sched_set_tunable("hot_unit", units[i].unit);
			fill(1, 4);
			sim_on(0);
			rq = sim_rq(0);
			jump(cold ? units[i].cold : units[i].warm - (i == 1));
			irq_disable();
			spin_lock_raw(rq->lock);
			rq_clock_update(rq, sim_now);
			balance_pull_idle(rq);
			spin_unlock_raw(rq->lock);
			irq_enable();
			CHECK_EQ(rq->pulls, cold);
		}
	}
}

static void a3_yielders(void)
{
	unsigned most, ms;

	/* In us they look cold: taken at once. */
	sim_start(2, 1000);
	ms = yielders_spread(1000, &most);
	CHECK(ms > 0 && ms <= 3);
	/* In ms they are always warm: never taken, ... */
	sim_start(2, 1000);
	sched_set_tunable("hot_unit", 20);
	CHECK_EQ(yielders_spread(1000, &most), 0);
	/* ... unless the idle CPU does the busy pass, which takes two at once, ... */
	sim_start(2, 1000);
	sched_set_tunable("hot_unit", 20);
	sched_set_tunable("balance_fix", 1);
	ms = yielders_spread(1000, &most);
	CHECK(ms > 3 && ms <= 400);
	CHECK_EQ(most, 2);
	/* With the intended sense the idle CPU takes one within a tick or two, and being busy refuses the rest. */
	sim_start(2, 1000);
	sched_set_tunable("hot_unit", 20);
	sched_set_tunable("hot_rule", 2);
	CHECK_EQ(yielders_spread(3, &most), 0);
	CHECK_EQ(sim_rq(1)->nr_running, 1);
}

/* By jiffies what lies between two ticks is no time at all. */
static void a3_tick_clock(void)
{
	for (int ticks = 0; ticks < 2; ticks++) {
		struct task *t = one_running(1000, true);

		sched_set_tunable("tick_clock", ticks);
		jump(sim_rq(0)->clock % MS ? MS - sim_now % MS : 0); /* to a whole tick */
		sim_block(TASK_INTERRUPTIBLE);
		jump(7 * MS + 600 * NSEC_PER_USEC);
		CHECK(task_wake(t, TASK_INTERRUPTIBLE, 0));
		CHECK_EQ(o1(t)->sleep_ns, ticks ? 7 * MS : 7 * MS + 600 * NSEC_PER_USEC);
	}
}

void a3_tests(void)
{
	sim_policy = "o1-a3";
	TEST(a3_slices_and_bonus);
	TEST(a3_accounting);
	TEST(a3_queue_credit);
	TEST(a3_round_robin);
	TEST(a3_starvation);
	TEST(a3_preemption);
	TEST(a3_fork_and_exit);
	TEST(a3_warm_tasks);
	TEST(a3_yielders);
	TEST(a3_tick_clock);
}

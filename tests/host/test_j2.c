/* SPDX-License-Identifier: MIT
 *
 * Unit tests of policy o1-j2: the published numbers of -J2 (and the range of -J4), and the rules that set it apart.
 */
#include "sched/policy/o1_j2.c"

#include "family.h"

static void j2_slices(void)
{
	static const struct {
		int nice, ms;
	} golden[] = {{-20, 180}, {-10, 130}, {-5, 110}, {0, 90}, {5, 70}, {10, 40}, {19, 10}};

	sim_start(1, 100);
	CHECK_EQ(sched_policy->default_hz, 100);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct task t = with_nice(golden[i].nice);

		CHECK_EQ(sched_policy->timeslice(&t) * 10, golden[i].ms);
	}
}

static void j2_bonus(void)
{
	static const struct {
		int sleep, bonus;
	} golden[] = {{0, -18}, {20, -15}, {50, -9},  {100, 0},	 {116, 2},
		      {117, 3}, {150, 9},  {180, 14}, {199, 17}, {200, 18}};
	static const struct {
		int nice, best, worst;
	} range[] = {{0, 102, 138}, {-20, 100, 118}, {10, 112, 139}, {19, 121, 139}};
	struct task t = with_nice(0);

	sim_start(1, 100);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		o1(&t)->sleep_avg = (u32)golden[i].sleep;
		CHECK_EQ(120 - effective_prio(&t), golden[i].bonus);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(range); i++) {
		t = with_nice(range[i].nice);
		CHECK_EQ(effective_prio(&t), range[i].worst);
		o1(&t)->sleep_avg = 200;
		CHECK_EQ(effective_prio(&t), range[i].best);
	}
	/* The range of -J4. */
	sched_set_tunable("bonus_ratio", 70);
	t = with_nice(0);
	CHECK_EQ(effective_prio(&t), 134);
	o1(&t)->sleep_avg = 200;
	CHECK_EQ(effective_prio(&t), 106);
}

static void j2_three_regions(void)
{
	static const struct {
		int nice;
		u32 from;
	} golden[] = {{-20, 45}, {-10, 100}, {0, 117}, {10, 117}, {19, 156}};

	sim_start(1, 100);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct task t = with_nice(golden[i].nice);
		u32 s;

		for (s = 0; s <= 200; s++) {
			o1(&t)->sleep_avg = s;
			t.prio = effective_prio(&t);
			if (interactive(&t))
				break;
		}
		CHECK_EQ(s, golden[i].from);
		for (; s <= 200; s++) {
			o1(&t)->sleep_avg = s;
			t.prio = effective_prio(&t);
			CHECK(interactive(&t));
		}
	}
}

/* Whole ticks, no "minus one"; a sync wake-up counts and preempts like any other, and does not move the task. */
static void j2_credit(void)
{
	struct task *t = one_running(100, true), *hog;

	sleep_ns(9 * NSEC_PER_MSEC, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_avg, 0); /* within a tick */
	sleep_ns(10 * NSEC_PER_MSEC, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_avg, 1);
	sleep_ns(5000 * NSEC_PER_MSEC, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_avg, 200);
	CHECK_EQ(t->prio, 102);
	sim_ticks(3);
	CHECK_EQ(o1(t)->sleep_avg, 197);
	CHECK_EQ(t->prio, 102); /* not recomputed before the slice ends */
	o1(t)->sleep_avg = 0;
	hog = sim_spawn(0);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == hog);
	sim_skip(150);
	task_wake(t, TASK_NORMAL, WAKE_SYNC);
	CHECK_EQ(o1(t)->sleep_avg, 150);
	CHECK(need_resched());
	CHECK_EQ(sched_policy->select_flags, 0);
	schedule();
	CHECK(current_task() == t);
	/* Real-time tasks neither earn nor burn. */
	sched_set_class(t, SCHED_RR, 5);
	sim_ticks(2);
	CHECK_EQ(o1(t)->sleep_avg, 150);
	sim_block(TASK_INTERRUPTIBLE);
	sim_skip(20);
	task_wake(t, TASK_NORMAL, 0);
	CHECK_EQ(o1(t)->sleep_avg, 150);
}

/* 80 %, twice 64 %; the child queues behind its equals and the parent keeps what it has. */
static void j2_fork_rules(void)
{
	struct task *p = one_running(100, true), *other, *c, *c2;

	o1(p)->sleep_avg = 200;
	place(p, q_of(0)->active, effective_prio(p));
	o1(p)->time_slice = 9;
	other = sim_spawn(0);
	place(other, q_of(0)->active, 110);
	c = sim_fork(false);
	CHECK_EQ(o1(c)->sleep_avg, 160);
	CHECK_EQ(o1(p)->sleep_avg, 200);
	CHECK_EQ(c->prio, 120 - (36 * 160 / 200 - 18));
	CHECK(c->prio > p->prio);
	CHECK_EQ(c->prio, other->prio);
	CHECK(o1(c)->link.prev == &o1(other)->link); /* the tail */
	CHECK_EQ(o1(c)->time_slice, 5);
	CHECK_EQ(o1(p)->time_slice, 4);
	CHECK(!need_resched());
	sched_fork_done(); /* the epilogue asks for it, but the parent is still the best */
	schedule();
	CHECK(current_task() == p);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == other);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == c);
	c2 = sim_fork(false);
	CHECK_EQ(o1(c2)->sleep_avg, 128);
	CHECK_EQ(c2->prio, 115);
	CHECK(interactive(c2));
	/* With 66 % it would not have been. */
	sched_set_tunable("child_penalty", 66);
	o1(c)->sleep_avg = 200 * 66 / 100;
	c2 = sim_fork(false);
	CHECK_EQ(c2->prio, 123);
	CHECK(!interactive(c2));
	sim_check("fork");
}

/* What is left of a slice goes back, whichever slice it is; no sleep_avg does. */
static void j2_exit_rules(void)
{
	struct task *p = one_running(100, true), *c;

	o1(p)->sleep_avg = 0;
	c = sim_fork(false);
	sched_yield_current();
	while (current_task() != c)
		sched_yield_current();
	sim_ticks(5);
	CHECK(current_task() == p); /* yielding would not help it: it stays in the active array */
	while (current_task() != c)
		sim_ticks(1);
	CHECK_EQ(o1(c)->time_slice, 9); /* its second slice, full */
	o1(c)->sleep_avg = 0;
	sim_exit();
	CHECK(current_task() == p);
	o1(p)->sleep_avg = 100;
	o1(p)->time_slice = 3;
	sched_reap(c, p);
	CHECK_EQ(o1(p)->time_slice, 12);
	CHECK_EQ(o1(p)->sleep_avg, 100);
	o1(p)->time_slice = 17;
	sched_reap(c, p);
	CHECK_EQ(o1(p)->time_slice, 18);
}

static void j2_yield_rules(void)
{
	struct task *a = one_running(100, true), *b;

	o1(a)->sleep_avg = 100;
	place(a, q_of(0)->active, 120);
	b = sim_spawn(0);
	o1(b)->sleep_avg = 100;
	place(b, q_of(0)->active, 122);
	for (int i = 1; i <= 2; i++) {
		sched_yield_current();
		CHECK_EQ(a->prio, 120 + i);
		CHECK(o1(a)->array == q_of(0)->active);
		CHECK(current_task() == (i == 1 ? a : b)); /* at 122 behind b */
	}
	/* They sink to the bottom and take turns there. */
	for (int i = 0; i < 40; i++)
		sched_yield_current();
	CHECK_EQ(a->prio, 139);
	CHECK_EQ(b->prio, 139);
	a = current_task();
	sched_yield_current();
	CHECK(current_task() != a);
	sched_yield_current();
	CHECK(current_task() == a);
	CHECK_EQ(q_of(0)->expired->nr_active, 0);
}

/* Two interactive tasks keep an expired one off for as long as they like: no starvation limit. */
static void j2_starves(void)
{
	struct task *hog = one_running(100, true), *i[2];
	u64 had;

	i[0] = sim_spawn(0);
	i[1] = sim_spawn(0);
	sim_ticks(9);
	CHECK(o1(hog)->array == q_of(0)->expired);
	for (int n = 0; n < 2; n++)
		place(i[n], q_of(0)->active, 102);
	had = hog->exec_total;
	for (int t = 0; t < 20000; t++) {
		o1(i[0])->sleep_avg = o1(i[1])->sleep_avg = 200;
		sim_ticks(1);
	}
	CHECK_EQ(hog->exec_total, had);
	CHECK(o1(hog)->array == q_of(0)->expired);
	CHECK(i[0]->exec_total > 90 * NSEC_PER_SEC && i[1]->exec_total > 90 * NSEC_PER_SEC);
}

static void j2_balancing(void)
{
	struct task *t[6];
	struct cpumask both = {{3}};

	/* 8:1 is worth three, but it takes one of the active tasks ... */
	sim_start(2, 100);
	fill(0, 1);
	fill(1, 8);
	CHECK_EQ(busy_pass(), 1);
	sim_check("active only");
	/* ... and one of the expired ones, the first of the best list, though it ran this very tick. */
	sim_start(2, 100);
	fill(0, 1);
	sim_on(1);
	for (int i = 0; i < 6; i++) {
		t[i] = sim_spawn(1);
		sched_set_affinity(t[i], &both);
	}
	schedule();
	CHECK(current_task() == t[0]);
	for (int i = 1; i <= 3; i++)
		place(t[i], q_of(1)->expired, i == 1 ? 138 : 130);
	host_cpus[1].resched_due = ~0ull;
	CHECK_EQ(busy_pass(), 2);
	CHECK_EQ(t[2]->cpu, 0);
	CHECK_EQ(t[4]->cpu, 0);
	CHECK(o1(t[2])->array == q_of(0)->active);
	sim_check("two");
	/* An idle CPU takes one, from the expired array if it can. */
	sim_start(2, 100);
	sim_on(1);
	for (int i = 0; i < 4; i++) {
		t[i] = sim_spawn(1);
		sched_set_affinity(t[i], &both);
	}
	schedule();
	place(t[3], q_of(1)->expired, 139);
	host_cpus[1].resched_due = ~0ull;
	sim_on(0);
	schedule();
	CHECK_EQ(sim_rq(0)->pulls, 1);
	CHECK_EQ(t[3]->cpu, 0);
	sim_check("idle");
	/* Real-time tasks stay, unless asked for. */
	for (int rt_too = 0; rt_too < 2; rt_too++) {
		sim_start(2, 100);
		sched_set_tunable("pull_rt", rt_too);
		fill(1, 2);
		sim_on(1);
		t[0] = sim_kthread(1);
		sched_set_class(t[0], SCHED_FIFO, 1);
		sched_set_affinity(t[0], &both);
		preempt_disable();
		sched_wake_new(t[0]);
		machine_clear_need_resched();
		preempt_enable();
		sim_on(0);
		schedule();
		CHECK_EQ(sim_rq(0)->pulls, 1);
		CHECK_EQ(t[0]->cpu, 1 - rt_too);
	}
	CHECK_EQ(sched_policy->balance_busy_ms, 250);
}

void j2_tests(void)
{
	sim_policy = "o1-j2";
	TEST(j2_slices);
	TEST(j2_bonus);
	TEST(j2_three_regions);
	TEST(j2_credit);
	TEST(j2_fork_rules);
	TEST(j2_exit_rules);
	TEST(j2_yield_rules);
	TEST(j2_starves);
	TEST(j2_balancing);
}

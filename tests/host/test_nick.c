/* SPDX-License-Identifier: MIT
 *
 * Unit tests of policy nick: the published numbers of v8 and v6, and its rules.
 */
#include "sched/policy/nick.c"

#include "family.h"

/* Slices by (own priority, best on the queue), in ms with MIN_TIMESLICE 1 ms; the best may be active or expired. */
static void nick_slices(void)
{
	static const struct {
		s16 own, best;
		u32 v8, v6;
	} golden[] = {
		{130, 130, 95, 340}, {120, 120, 70, 240}, {110, 110, 45, 140}, {130, 120, 10, 18},
		{130, 115, 5, 9},    {130, 110, 2, 3},	  {139, 110, 2, 3},    {139, 139, 117, 430},
		{120, 110, 6, 10},   {100, 100, 20, 40},
	};

	for (int v6 = 0; v6 < 2; v6++) {
		for (unsigned i = 0; i < 2 * ARRAY_SIZE(golden); i++) {
			struct task *t = one_running(1000, true), *other = sim_spawn(0);
			unsigned g = i / 2;

			if (v6)
				sched_set_tunable("version", 6);
			place(t, q_of(0)->active, golden[g].own);
			place(other, i % 2 ? q_of(0)->expired : q_of(0)->active, golden[g].best);
			CHECK_EQ(time_slice(q_of(0), t), v6 ? golden[g].v6 : golden[g].v8);
			/* So many ticks to its end, in truth. */
			o1(t)->used_slice = 0;
			for (u32 n = 1; n < time_slice(q_of(0), t); n++)
				CHECK(!nick_tick(sim_rq(0), t));
			CHECK(nick_tick(sim_rq(0), t));
			CHECK(o1(t)->array == q_of(0)->expired);
		}
	}
	CHECK_EQ(sched_policy->default_hz, 1000);
}

static void nick_priorities(void)
{
	static const struct {
		int nice, prio[5];
	} golden[] = {{0, {130, 125, 120, 115, 110}},
		      {-20, {120, 115, 110, 105, 100}},
		      {19, {139, 134, 129, 124, 119}}};

	sim_start(1, 1000);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		for (int step = 0; step < 5; step++) {
			struct task t = with_nice(golden[i].nice);

			o1(&t)->sleep_avg = 250 * (u32)step;
			CHECK_EQ(effective_prio(&t), golden[i].prio[step]);
		}
	}
}

/* The share of sleep in about a second: old time fades by what is added. */
static void nick_history_fades(void)
{
	struct task *t = one_running(1000, false);

	sleep_ns(500 * NSEC_PER_MSEC, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_avg, 1000);
	CHECK_EQ(o1(t)->total_time, 500000);
	CHECK_EQ(t->prio, 110);
	sim_skip(500);
	schedule();
	CHECK_EQ(o1(t)->total_time, 750000);
	CHECK_EQ(o1(t)->sleep_avg, 333);
	CHECK_EQ(t->prio, 110); /* not before it wakes or ends its slice */
	sim_skip(1000);
	schedule();
	CHECK_EQ(o1(t)->sleep_avg, 0);
	CHECK_EQ(o1(t)->total_time, 1000000);
	/* Twenty seconds are one. */
	sleep_ns(20000 * NSEC_PER_MSEC, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_avg, 1000);
	CHECK_EQ(o1(t)->total_time, 1000000);
}

/* 400 ticks of sleep: a user task that ends it gets half; an interrupt adds half on top; a kernel task gets nothing. */
static void nick_wakers(void)
{
	for (int how = 0; how < 3; how++) {
		struct task *t = one_running(1000, true), *w;

		sim_block(TASK_INTERRUPTIBLE);
		w = sim_spawn(0);
		w->address_space = how == 0;
		schedule();
		CHECK(current_task() == w);
		sim_skip(400);
		o1(w)->stamp += 400; /* its own time does not matter here */
		irq_disable();
		host_cpus[0].in_irq = how == 1;
		/* A sync wake-up counts in full, but does not preempt. */
		task_wake(t, TASK_NORMAL, WAKE_SYNC);
		CHECK(!need_resched());
		sim_irq_exit(false);
		CHECK_EQ(o1(t)->sleep_time, how == 0   ? 200000
					    : how == 1 ? 320000 + 200000
						       : 400000);
		CHECK_EQ(o1(w)->sleep_time, how == 0 ? 200000 : 0);
	}
}

/* The waker gets part of the sleeper's slice: half of the sleep or half of what is left, whichever is less. */
static void nick_donation(void)
{
	for (int long_sleep = 0; long_sleep < 2; long_sleep++) {
		struct task *t = one_running(1000, true), *w;
		u32 slice, given;

		o1(t)->used_slice = 10;
		sim_block(TASK_INTERRUPTIBLE);
		w = sim_spawn(0);
		w->address_space = 1;
		schedule();
		o1(w)->used_slice = 40;
		sim_skip(long_sleep ? 900 : 20);
		task_wake(t, TASK_NORMAL, 0);
		slice = time_slice(q_of(0), t);
		CHECK_EQ(slice, 45); /* at 110, the best */
		given = long_sleep ? (45 - 10) / 2 : 10;
		CHECK_EQ(o1(t)->used_slice, 10 + given);
		CHECK_EQ(o1(w)->used_slice, 40 - given);
	}
	/* Below zero it is huge: the next tick ends the waker's slice. */
	{
		struct task *t = one_running(1000, true), *w;

		sim_block(TASK_INTERRUPTIBLE);
		w = sim_spawn(0);
		w->address_space = 1;
		schedule();
		sim_skip(20);
		task_wake(t, TASK_NORMAL, WAKE_SYNC);
		CHECK_EQ(o1(w)->used_slice, (u32)-10);
		sim_ticks(1);
		CHECK(o1(w)->array == q_of(0)->expired);
		CHECK_EQ(o1(w)->used_slice, 0);
		CHECK(current_task() == t);
	}
}

/* A slice that was begun before the arrays changed places is whole again after a sleep. */
static void nick_array_sequence(void)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		struct task *t = one_running(1000, false), *hog;
		u32 sequence;

		o1(t)->used_slice = 30;
		hog = sim_spawn(0);
		sim_block(TASK_INTERRUPTIBLE);
		CHECK(current_task() == hog);
		sequence = q_of(0)->sequence;
		sim_ticks(swapped ? 95 : 90); /* alone: its slice ends with the 95th */
		CHECK_EQ(q_of(0)->sequence - sequence, swapped);
		task_wake(t, TASK_NORMAL, 0);
		CHECK_EQ(o1(t)->used_slice, swapped ? 0 : 30);
	}
}

static void nick_everybody_expires(void)
{
	struct task *t = one_running(1000, true), *hog;

	o1(t)->sleep_avg = 1000;
	o1(t)->total_time = o1(t)->sleep_time = 1000000;
	place(t, q_of(0)->active, 110);
	hog = sim_spawn(0);
	CHECK(current_task() == t);
	sim_ticks(45);
	CHECK(o1(t)->array == q_of(0)->expired);
	CHECK(current_task() == hog);
	CHECK_EQ(t->prio, 110); /* not yet charged for the slice that ended */
	sched_yield_current();
	CHECK(o1(hog)->array ==
	      q_of(0)->active); /* expired with the rest, and they changed places */
	sim_check("expired");
}

/* A task that slept 20 s and then spins keeps four workers off for less than 0.1 s. */
static void nick_sleeper_turned_hog(void)
{
	struct task *s = one_running(1000, true), *w[4];
	u64 gap = 0, last;

	sim_block(TASK_INTERRUPTIBLE);
	for (int i = 0; i < 4; i++)
		w[i] = sim_spawn(0);
	sim_ticks(20000);
	task_wake(s, TASK_NORMAL, 0);
	sched_user_exit();
	CHECK(current_task() == s);
	last = sim_now;
	for (int ms = 0; ms < 3000; ms++) {
		sim_ticks(1);
		for (int i = 0; i < 4; i++)
			if (current_task() == w[i])
				last = sim_now;
		gap = max(gap, sim_now - last);
	}
	CHECK(gap >= 20 * NSEC_PER_MSEC && gap < 100 * NSEC_PER_MSEC);
}

/* v8: a child of share f starts at (1 + f) / 2 with a short history, the parent keeps 3/4; v6: f, and 2/3. */
static void nick_fork_rules(void)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct task *p = one_running(1000, true), *other, *c;

		if (v6)
			sched_set_tunable("version", 6);
		o1(p)->total_time = 1000000;
		o1(p)->sleep_time = 600000;
		o1(p)->sleep_avg = 600;
		o1(p)->used_slice = 14; /* of 95, or 340: 81, or 326, left */
		other = sim_spawn(0);
		CHECK_EQ(other->prio, 130);
		c = sim_fork(false);
		CHECK_EQ(o1(c)->total_time, v6 ? 25000 : 100000);
		CHECK_EQ(o1(c)->sleep_avg, v6 ? 600 : 800);
		CHECK_EQ(o1(p)->sleep_avg, v6 ? 400 : 450);
		CHECK_EQ(o1(c)->used_slice, v6 ? 340 - 163 : 95 - 41);
		CHECK_EQ(o1(p)->used_slice, v6 ? 14 + 163 : 14 + 41);
		CHECK_EQ(c->prio, v6 ? 118 : 114); /* its own, at the tail of its own list */
		CHECK_EQ(o1(c)->first_time_slice, 1);
		CHECK(!need_resched());
		sched_fork_done();
		schedule();
		CHECK(current_task() == c);
		sim_check("fork");

		/* A parent at the end of its slice expires at once. */
		p = one_running(1000, true);
		if (v6)
			sched_set_tunable("version", 6);
		other = sim_spawn(0);
		o1(p)->used_slice = v6 ? 339 : 94;
		c = sim_fork(false);
		CHECK(o1(p)->array == q_of(0)->expired);
		CHECK_EQ(o1(p)->used_slice, 0);
		CHECK(current_task() != p);
	}
}

static void nick_exit_rules(void)
{
	for (int v6 = 0; v6 < 2; v6++) {
		struct task *p = one_running(1000, true), *c;
		u32 used, unused;

		if (v6)
			sched_set_tunable("version", 6);
		c = sim_fork(true);
		while (current_task() != c)
			sched_yield_current();
		used = o1(p)->used_slice;
		unused = time_slice(q_of(0), c) - o1(c)->used_slice;
		CHECK(unused > 10 && unused < 1000);
		o1(c)->sleep_avg = 100;
		sim_exit();
		CHECK(current_task() == p);
		o1(p)->total_time = 1000000;
		o1(p)->sleep_time = 900000;
		o1(p)->sleep_avg = 900;
		o1(c)->sleep_avg = 100;
		sched_reap(c, p);
		CHECK_EQ(o1(p)->used_slice, used - unused);
		/* v8 charges (900 - 100) / 2 ticks of running. */
		CHECK_EQ(o1(p)->sleep_avg, v6 ? 900 : 540);
	}
}

static void nick_preemption(void)
{
	struct task *a = one_running(1000, true), *b = sim_spawn(0);
	struct runq *rq = sim_rq(0);

	CHECK_EQ(a->prio, b->prio);
	CHECK(!nick_preempts(rq, b, ENQ_WAKEUP));
	b->nice = -1; /* equal priority, better static one */
	CHECK(nick_preempts(rq, b, ENQ_WAKEUP));
	CHECK(nick_preempts(rq, b, ENQ_PULLED));
	CHECK(!nick_preempts(rq, b, ENQ_WAKEUP | ENQ_SYNC));
	b->nice = 1;
	CHECK(!nick_preempts(rq, b, ENQ_WAKEUP));
	/* v8: a waiting task that is made better gets the CPU; with v6 it does not. */
	for (int v6 = 0; v6 < 2; v6++) {
		a = one_running(1000, true);
		b = sim_spawn(0);
		if (v6)
			sched_set_tunable("version", 6);
		o1(b)->sleep_avg = 500;
		sched_set_nice(b, -10);
		CHECK_EQ(b->prio, v6 ? 110 : 115);
		CHECK_EQ(need_resched(), !v6);
		machine_clear_need_resched();
		sched_set_nice(a, 10);
		CHECK(need_resched());
		schedule();
		CHECK(current_task() == b);
	}
}

void nick_tests(void)
{
	sim_policy = "nick";
	TEST(nick_slices);
	TEST(nick_priorities);
	TEST(nick_history_fades);
	TEST(nick_wakers);
	TEST(nick_donation);
	TEST(nick_array_sequence);
	TEST(nick_everybody_expires);
	TEST(nick_sleeper_turned_hog);
	TEST(nick_fork_rules);
	TEST(nick_exit_rules);
	TEST(nick_preemption);
}

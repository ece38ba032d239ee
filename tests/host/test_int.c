/* SPDX-License-Identifier: MIT
 *
 * Unit tests of policy o1-int: the published numbers of O18.1int, the sleep rules, interactive_credit and its four rules.
 */
#include "sched/policy/o1_int.c"

#include "family.h"

#define MS NSEC_PER_MSEC

static void int_units(void)
{
	static const struct {
		int nice, ticks;
	} golden[] = {{-20, 1326}, {-10, 1020}, {0, 816}, {10, 612}, {19, 408}};
	struct task t;

	sim_start(1, 1000);
	CHECK_EQ(sched_policy->default_hz, 1000);
	CHECK_EQ(k.avg_slice, 102);
	CHECK_EQ(k.max_sleep_avg, 1020);
	CHECK_EQ(k.max_sleep_ns, 1020 * MS);
	CHECK_EQ(k.granularity, 25);
	CHECK_EQ(k.credit_limit, 1020);
	CHECK_EQ(k.starvation, 1020);
	CHECK_EQ(k.on_runqueue_weight, 38);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		t = with_nice(golden[i].nice);
		CHECK_EQ(just_interactive(&t), golden[i].ticks);
	}
	t = with_nice(0);
	CHECK_EQ(effective_prio(&t), 125);
	o1(&t)->sleep_ns = 816 * MS;
	t.prio = effective_prio(&t);
	CHECK_EQ(t.prio, 117);
	CHECK(interactive(&t));
	o1(&t)->sleep_ns = 1020 * MS;
	CHECK_EQ(effective_prio(&t), 115);
	sim_start(1, 100);
	CHECK_EQ(k.avg_slice, 10);
	CHECK_EQ(k.max_sleep_avg, 100);
	CHECK_EQ(k.granularity, 2);
	CHECK_EQ(k.credit_limit, 100);
}

/* From nothing 102 ms make a sleeper fully interactive; a long sleep makes a user task just interactive, even from above. */
static void int_sleep(void)
{
	struct task *t = one_running(1000, true);

	sleep_ns(102 * MS, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_ns, 1020 * MS);
	CHECK_EQ(t->prio, 115);
	CHECK_EQ(o1(t)->credit, -1); /* it went to sleep with nothing; filling is not overflowing */
	sleep_ns(817 * MS, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_ns, 816 * MS);
	CHECK_EQ(t->prio, 117);
	sleep_ns(816 * MS, TASK_INTERRUPTIBLE, false); /* not longer than that: counts, twice */
	CHECK_EQ(o1(t)->sleep_ns, 1020 * MS);
	CHECK_EQ(o1(t)->credit, 0);
	/* Nice -20: the level is beyond the maximum, the rule never fires. */
	sched_set_nice(t, -20);
	sched_user_exit();
	sleep_ns(20000 * MS, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_ns, 1020 * MS);
	/* A kernel task knows no such rule. */
	t = one_running(1000, false);
	sleep_ns(5000 * MS, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(t)->sleep_ns, 1020 * MS);
	CHECK_EQ(t->prio, 115);
}

/* 8 ms of uninterruptible wait and 2 ms of work, for ever: never better than 117; interruptible or kernel task: better. */
static void int_uninterruptible(void)
{
	for (int how = 0; how < 3; how++) {
		struct task *t = one_running(1000, how != 2);
		int best = 140;

		for (int i = 0; i < 1000; i++) {
			sim_advance(2 * MS);
			sleep_ns(8 * MS, how == 1 ? TASK_INTERRUPTIBLE : TASK_UNINTERRUPTIBLE,
				 true);
			best = min(best, (int)t->prio);
		}
		CHECK_EQ(best, how == 0 ? 117 : 115);
	}
	/* Nor does it earn anything for waiting on the queue. */
	{
		struct task *t = one_running(1000, true), *f;

		sim_block(TASK_UNINTERRUPTIBLE);
		f = sim_kthread(0);
		sched_set_class(f, SCHED_FIFO, 1);
		sched_wake_new(f);
		schedule();
		o1(t)->stamp = sim_now;
		task_wake(t, TASK_NORMAL, 0);
		CHECK_EQ(o1(t)->activated, -1);
		jump(100 * MS);
		sim_block(TASK_INTERRUPTIBLE);
		CHECK(current_task() == t);
		CHECK_EQ(o1(t)->sleep_ns, 0);
		CHECK_EQ(o1(t)->activated, 0);
	}
}

/* Waiting counts as sleep does, ten times from nothing: 29.69 ms, or 100 ms, of 100. */
static void int_queue_credit(void)
{
	for (int irq = 0; irq < 2; irq++) {
		struct task *t = one_running(1000, true), *f;

		sim_block(TASK_INTERRUPTIBLE);
		f = sim_kthread(0);
		sched_set_class(f, SCHED_FIFO, 1);
		sched_wake_new(f);
		schedule();
		o1(t)->stamp = sim_now;
		irq_disable();
		host_cpus[0].in_irq = irq;
		task_wake(t, TASK_NORMAL, 0);
		sim_irq_exit(false);
		jump(100 * MS);
		sim_block(TASK_INTERRUPTIBLE);
		CHECK(current_task() == t);
		CHECK_EQ(o1(t)->sleep_ns, irq ? 1000 * MS : 296875000);
	}
}

/* @n sleeps that overflow the average. */
static void saturate(int n)
{
	for (int i = 0; i < n; i++)
		sleep_ns(500 * MS, TASK_INTERRUPTIBLE, false);
}

/* @n passes through schedule() with an empty average. */
static void drain(int n)
{
	for (int i = 0; i < n; i++) {
		o1(current_task())->sleep_ns = 0;
		schedule();
	}
}

static struct task *with_rule(s64 rule)
{
	struct task *t = one_running(1000, true);

	sched_set_tunable("credit_rule", rule);
	sched_set_tunable("credit_threshold", 5);
	CHECK_EQ(k.credit_limit, 51);
	o1(t)->credit = 0;
	return t;
}

/* HIGH is for ever but with the rules that let it fall; LOW is but with O18. */
static void int_credit_rules(void)
{
	for (s64 rule = RULE_O18; rule <= RULE_WIDE; rule++) {
		s64 top = rule == RULE_WIDE ? 63 : 52;
		struct task *t = with_rule(rule);

		saturate(100);
		CHECK_EQ(o1(t)->credit, top);
		CHECK(high_credit(t));
		drain(1);
		/* Schlichter's rule alone is a knife edge; the band is not. */
		CHECK_EQ(high_credit(t), rule != RULE_THOMAS);
		drain(11);
		CHECK_EQ(high_credit(t), rule != RULE_THOMAS && rule != RULE_WIDE);
		drain(1000);
		CHECK_EQ(high_credit(t), rule == RULE_O18 || rule == RULE_O18_1);
		CHECK_EQ(low_credit(t), rule == RULE_THOMAS || rule == RULE_WIDE);

		t = with_rule(rule);
		drain(1000);
		CHECK_EQ(o1(t)->credit, -top);
		CHECK(low_credit(t));
		/* LOW: a wake-up is worth a slice at most, however long the sleep. */
		o1(t)->sleep_ns = 0;
		sleep_ns(500 * MS, TASK_INTERRUPTIBLE, false);
		CHECK_EQ(o1(t)->sleep_ns, 102 * MS);
		saturate(200);
		CHECK_EQ(low_credit(t), rule == RULE_O18);
		CHECK_EQ(high_credit(t), rule != RULE_O18);
	}
}

/* The first is over the threshold: HIGH from 1021, LOW from -1021. A hog alone needs that many slices. */
static void int_credit_limits(void)
{
	struct task *t = one_running(1000, true);

	o1(t)->credit = 0;
	saturate(1022); /* the first two of them fill the average */
	CHECK(o1(t)->credit >= 1020);
	saturate(5);
	CHECK_EQ(o1(t)->credit, 1021);
	CHECK(high_credit(t));
	t = one_running(1000, true);
	o1(t)->credit = 0;
	drain(1020);
	CHECK(!low_credit(t));
	drain(1);
	CHECK(low_credit(t));
	drain(10);
	CHECK_EQ(o1(t)->credit, -1021);
}

/* Running costs a HIGH task a tenth at full bonus. */
static void int_high_runs_cheaply(void)
{
	for (int high = 0; high < 2; high++) {
		struct task *t = one_running(1000, true);

		o1(t)->credit = high ? 1021 : 1020;
		o1(t)->sleep_ns = 1020 * MS;
		jump(100 * MS);
		schedule();
		CHECK_EQ(o1(t)->sleep_ns, (high ? 1010 : 920) * MS);
		/* And it may sleep uninterruptibly up to the maximum. */
		o1(t)->sleep_ns = 800 * MS;
		sleep_ns(200 * MS, TASK_UNINTERRUPTIBLE, false);
		CHECK_EQ(o1(t)->sleep_ns, (high ? 1020 : 816) * MS);
	}
}

/* A hog that is stopped for 10 s comes back as just interactive; with the fix, as it went. */
static void int_stopped(void)
{
	for (int fix = 0; fix < 2; fix++) {
		struct task *t = one_running(1000, true);

		sched_set_tunable("stopped_fix", fix);
		sim_ticks(204);
		CHECK_EQ(t->prio, 125);
		sleep_ns(10000 * MS, TASK_STOPPED, false);
		CHECK_EQ(t->prio, fix ? 125 : 117);
		/* Sleeping is sleeping with and without. */
		sleep_ns(10000 * MS, TASK_INTERRUPTIBLE, false);
		CHECK_EQ(t->prio, 117);
	}
}

/* In turns only among interactive user tasks, and not with 10 ticks or less left: 77, 52, 27. */
static void int_round_robin(void)
{
	for (int how = 0; how < 3; how++) {
		struct task *a = one_running(1000, how != 1), *b = sim_spawn(0), *was = a;
		int left[4], n = 0;

		b->address_space = how != 1;
		for (unsigned ms = 0; ms < 170 && n < 4; ms++) {
			if (how != 2) { /* interactive */
				o1(a)->sleep_ns = o1(b)->sleep_ns = 1020 * MS;
				if (!ms) {
					place(a, q_of(0)->active, 115);
					place(b, q_of(0)->active, 115);
				}
			}
			sim_ticks(1);
			if (current_task() == was)
				continue;
			left[n++] = o1(was)->time_slice;
			was = current_task();
		}
		CHECK_EQ(n, how == 0 ? 4 : 1);
		CHECK_EQ(left[0], how == 0 ? 77 : 102);
		if (how == 0)
			CHECK(left[1] == 77 && left[2] == 52 && left[3] == 52);
	}
	{
		struct task *a = one_running(1000, true);

		o1(a)->sleep_ns = 1020 * MS;
		a->prio = 120;
		place(a, q_of(0)->active, 115);
		o1(a)->time_slice = 28;
		CHECK(int_tick(sim_rq(0), a));
		o1(a)->time_slice = 3;
		CHECK(!int_tick(sim_rq(0), a));
	}
}

/* Whole steps of the bonus: 10 becomes 9, 5 becomes 4, 1 becomes 0; the parent loses its fraction. */
static void int_fork_and_exit(void)
{
	static const struct {
		u64 parent, keeps, child; /* ms */
	} golden[] = {{1020, 1020, 918}, {611, 510, 408}, {150, 102, 0}};

	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct task *p = one_running(1000, true), *c;

		o1(p)->sleep_ns = golden[i].parent * MS;
		o1(p)->credit = 500;
		c = sim_fork(true);
		CHECK(current_task() == c);
		CHECK_EQ(o1(p)->sleep_ns, golden[i].keeps * MS);
		CHECK_EQ(o1(c)->sleep_ns, golden[i].child * MS);
		CHECK_EQ(o1(c)->credit, 0);
		CHECK_EQ(c->prio, p->prio);
		sim_exit();
		sched_reap(c, p);
		CHECK_EQ(o1(p)->sleep_ns, (golden[i].keeps * 3 + golden[i].child) * MS / 4);
	}
}

static void int_starvation_and_preemption(void)
{
	struct task *a = one_running(1000, true), *b = sim_spawn(0);
	struct runq *rq = sim_rq(0);

	q_of(0)->expired_timestamp = rq->jiffies;
	sim_skip(2040);
	rq_clock_update(rq, sim_now);
	CHECK(!starving(rq, q_of(0)));
	sim_skip(1);
	rq_clock_update(rq, sim_now);
	CHECK(starving(rq, q_of(0))); /* 1020 ticks for each of two, and one */
	/* Equal priorities do not preempt, whatever their slices. */
	o1(a)->time_slice = 1;
	CHECK(!sched_policy->preempts(rq, b, ENQ_WAKEUP));
	CHECK(!sched_policy->preempts(rq, b, ENQ_PULLED));
	/* A re-inserted task starts the clock. */
	q_of(0)->expired_timestamp = 0;
	o1(a)->sleep_ns = 1020 * MS;
	o1(a)->time_slice = 1;
	sim_ticks(1);
	CHECK(q_of(0)->expired_timestamp != 0);
}

/* O16.2's restriction: a user task that a task woke waits however much better it is; one that an interrupt woke does not. */
static void int_preempt_rule(void)
{
	struct task *a = one_running(1000, true), *b;
	struct runq *rq = sim_rq(0);

	b = sim_spawn(0);
	b->address_space = 1;
	b->prio = (s16)(a->prio - 1);
	CHECK(sched_policy->preempts(rq, b, ENQ_WAKEUP));
	sched_set_tunable("preempt_rule", 1);
	CHECK(!sched_policy->preempts(rq, b, ENQ_WAKEUP));
	CHECK(sched_policy->preempts(rq, b, ENQ_WAKEUP | ENQ_IRQ));
	CHECK(sched_policy->preempts(rq, b, ENQ_PULLED));
	b->address_space = 0;
	CHECK(sched_policy->preempts(rq, b, ENQ_WAKEUP));
}

/* A task that is picked again is charged at once or, with charge_rule, when another is picked; the sum is the same. */
static void int_charge_rule(void)
{
	for (int rule = 0; rule < 2; rule++) {
		struct task *t = one_running(1000, true), *other;

		sched_set_tunable("charge_rule", rule);
		sleep_ns(102 * MS, TASK_INTERRUPTIBLE, false);
		CHECK_EQ(o1(t)->sleep_ns, 1020 * MS);
		jump(10 * MS);
		schedule();
		CHECK(current_task() == t);
		CHECK_EQ(o1(t)->sleep_ns, (rule ? 1020 : 1010) * MS);
		jump(5 * MS);
		other = sim_spawn(0);
		place(other, q_of(0)->active, 100);
		schedule();
		CHECK(current_task() == other);
		CHECK_EQ(o1(t)->sleep_ns, 1005 * MS);
	}
	/* One that goes to sleep has been charged once: its credit falls by one. */
	one_running(1000, true);
	sched_set_tunable("charge_rule", 1);
	sleep_ns(50 * NSEC_PER_USEC, TASK_INTERRUPTIBLE, false);
	CHECK_EQ(o1(current_task())->credit, -1);
}

void int_tests(void)
{
	sim_policy = "o1-int";
	TEST(int_units);
	TEST(int_sleep);
	TEST(int_uninterruptible);
	TEST(int_queue_credit);
	TEST(int_credit_rules);
	TEST(int_credit_limits);
	TEST(int_high_runs_cheaply);
	TEST(int_stopped);
	TEST(int_round_robin);
	TEST(int_fork_and_exit);
	TEST(int_starvation_and_preemption);
	TEST(int_preempt_rule);
	TEST(int_charge_rule);
}

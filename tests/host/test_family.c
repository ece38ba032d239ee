/* SPDX-License-Identifier: MIT
 *
 * What all policies of the O(1) family have in common, each tested with every one of them; and what every policy of the table
 * must say about itself.
 */
#include "sched/policy/o1_family.h"

#include "family.h"

#include <string.h>

static const char *const family[] = {"o1", "nobonus", "o1-j2", "o1-a3", "o1-int", "nick"};

#define FOR_FAMILY for (unsigned f = 0; f < ARRAY_SIZE(family) && (sim_policy = family[f]); f++)

/* busiest : me that triggers: 2:0, 3:<=1, 4:<=2, 5:<=1, 6:<=2, 7:<=3, 8:<=4; never 2:1. */
static void balance_thresholds(void)
{
	static const int most[] = {-1, -1, 0, 1, 2, 1, 2, 3, 4};

	FOR_FAMILY
	{
		bool one =
			!strcmp(sim_policy, "o1-j2"); /* all are active: -J2 takes one of those */

		for (int theirs = 1; theirs <= 8; theirs++) {
			for (int mine = 0; mine <= 8; mine++) {
				sim_start(2, 1000);
				fill(0, (unsigned)mine);
				fill(1, (unsigned)theirs);
				CHECK_EQ(busy_pass(), mine > most[theirs] ? 0
						      : one		  ? 1
									  : (theirs - mine) / 2);
			}
		}
	}
}

/* A task that ends a slice waits for the others; a better one preempts; real time goes first and is served in order. */
static void common_ground(void)
{
	FOR_FAMILY
	{
		struct task *a = one_running(1000, false), *b = sim_spawn(0), *f;
		unsigned turns = 0;

		for (unsigned ms = 0; ms < 1000; ms++) {
			struct task *was = current_task();

			sim_ticks(1);
			turns += current_task() != was;
		}
		CHECK(turns >= 8 && turns <= 52);
		CHECK(a->exec_total > 400 * NSEC_PER_MSEC && b->exec_total > 400 * NSEC_PER_MSEC);
		f = sim_kthread(0);
		sched_set_class(f, SCHED_FIFO, 1);
		sched_wake_new(f);
		sched_user_exit();
		CHECK(current_task() == f);
		sim_ticks(1000);
		CHECK(current_task() == f);
		sched_yield_current();
		CHECK(current_task() == f);
		sim_check("common");
	}
}

static unsigned grown;

static bool yes(void)
{
	return true;
}

static void window_grow(void)
{
	unsigned puller = sim_rq(0)->lock > sim_rq(1)->lock ? 0 : 1;

	host_window = NULL;
	grown++;
	sim_on(1 -
	       puller); /* the other CPU starts two tasks on the puller's queue, whose lock is free just now */
	preempt_disable();
	sim_spawn((int)puller);
	sim_spawn((int)puller);
	machine_clear_need_resched();
	preempt_enable();
}

/* 1:4, and the puller's queue grows to 3 while its lock is dropped: -J2 goes by the 1 it saw, the others look again. */
static void stale_length(void)
{
	FOR_FAMILY
	{
		unsigned puller, other;
		struct runq *rq;

		sim_start(2, 1000);
		puller = sim_rq(0)->lock > sim_rq(1)->lock ? 0 : 1;
		other = 1 - puller;
		fill(puller, 1);
		fill(other, 4);
		sim_on(puller);
		rq = sim_rq(puller);
		rq->histories_stale = 0;
		rq->prev_load[puller] = 1;
		rq->prev_load[other] = 4;
		rq->next_balance = rq->jiffies;
		grown = 0;
		host_trylock_fails = yes;
		host_window = window_grow;
		irq_disable();
		spin_lock_raw(rq->lock);
		balance_tick(rq, false);
		spin_unlock_raw(rq->lock);
		irq_enable();
		host_trylock_fails = NULL;
		CHECK_EQ(grown, 1);
		CHECK_EQ(rq->nr_running, strcmp(sim_policy, "o1-j2") ? 3 : 4);
	}
}

/* test4 and its like never spread tasks that yield all the time: they always ran a moment ago. -J2 asks no such thing. */
static void yielders_stay(void)
{
	FOR_FAMILY
	{
		bool spread = !strcmp(sim_policy, "o1-j2") || !strcmp(sim_policy, "o1-a3") ||
			      !strcmp(sim_policy, "o1-int");
		unsigned most, ms;

		sim_start(2, 1000);
		ms = yielders_spread(600, &most);
		CHECK_EQ(ms > 0, spread);
	}
}

/* A policy says where it comes from; its numbers have their defaults, at their addresses of their own. */
static void self_description(void)
{
	const struct sched_policy *pol;

	for (unsigned i = 0; (pol = sched_policy_nth(i)); i++) {
		CHECK(pol->summary && pol->evidence && strlen(pol->evidence) > 20);
		CHECK(sched_policy_find(pol->name) == pol);
		sim_policy = pol->name;
		sim_start(1, 1000);
		for (unsigned n = 0; n < pol->nr_tunables; n++) {
			const struct tunable *t = &pol->tunables[n];

			CHECK(t->min <= t->def && t->def <= t->max);
			CHECK(t->unit && t->source && *t->unit && *t->source);
			CHECK_EQ(*t->value, t->def);
			for (unsigned j = 0; sched_policy_nth(j); j++)
				for (unsigned m = 0; m < sched_policy_nth(j)->nr_tunables; m++)
					CHECK((i == j && n == m) ||
					      sched_policy_nth(j)->tunables[m].value != t->value);
		}
	}
}

/* Numbers that are set stay within the policy: the other policies keep theirs. */
static void tunables_are_separate(void)
{
	sim_policy = "nobonus";
	sim_start(1, 1000);
	CHECK_EQ(*sched_tunable_by_name("force_bonus0")->value, 1);
	sched_set_tunable("child_penalty", 77);
	CHECK_EQ(*sched_tunable_by_name("child_penalty")->value, 77);
	sim_policy = "o1";
	sim_start(1, 1000);
	CHECK_EQ(*sched_tunable_by_name("child_penalty")->value, 50);
	CHECK_EQ(*sched_tunable_by_name("force_bonus0")->value, 0);
	sim_policy = "nobonus";
	sim_start(1, 1000);
}

void family_tests(void)
{
	TEST(balance_thresholds);
	TEST(common_ground);
	TEST(stale_length);
	TEST(yielders_stay);
	TEST(self_description);
	TEST(tunables_are_separate);
}

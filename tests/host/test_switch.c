/* SPDX-License-Identifier: MIT
 *
 * Changing the policy with tasks in every state: nothing is lost, and what carries over does.
 */
#include <string.h>

#include "lib/errno.h"
#include "sched/policy_test.h"
#include "tests.h"

static const struct sched_policy *const all[] = {&policy_o1, &policy_test_local,
						 &policy_test_global, &policy_test_local};

/* A machine whose tick follows the policy. */
static void start(unsigned ncpus)
{
	sim_start(ncpus, 1000);
	sched_hz_given = false;
}

static void to(const struct sched_policy *pol)
{
	CHECK_EQ(sched_switch_to(pol), 0);
	CHECK(sched_policy == pol);
	sim_check("after a switch");
}

static void settle(void)
{
	sim_deliver(true);
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
		sim_on(cpu);
		if (current_task() != &sim_idle[cpu] && need_resched())
			sched_user_exit();
		sim_idle_turn(cpu);
	}
	sim_on(0);
	sim_check("settled");
}

static void unknown_and_same(void)
{
	start(2);
	CHECK_EQ(sched_switch_policy("no-such"), -EINVAL);
	CHECK(sched_policy == &policy_o1);
	CHECK_EQ(sched_switch_policy("o1"), 0);
	to(&policy_test_local);
	CHECK_EQ(sched_switch_policy("o1"), 0);
	CHECK(sched_policy == &policy_o1);
}

static void no_memory(void)
{
	int before;
	struct task *t;

	start(4);
	t = sim_spawn(-1);
	settle();
	before = sim_allocated;
	for (unsigned left = 0; left < 5; left++) {
		sim_allocs_left = left;
		CHECK_EQ(sched_switch_to(&policy_test_local), -ENOMEM);
		CHECK(sched_policy == &policy_o1);
		CHECK_EQ(sim_allocated, before);
		CHECK(sim_rq(0)->curr == t);
		sim_check("no memory");
	}
	sim_allocs_left = 5;
	to(&policy_test_local);
	CHECK_EQ(sim_allocated, before);
	sim_allocs_left = ~0u;
	to(&policy_test_local); /* already there: what was allocated goes back */
	CHECK_EQ(sim_allocated, before);
}

static void hz_and_time(void)
{
	u64 billed, ticks;
	struct task *t;

	start(2);
	t = sim_spawn(0);
	settle();
	sim_ticks(5);
	to(&policy_test_global);
	CHECK_EQ(sched_hz, 100);
	CHECK_EQ(sched_tick_ns, NSEC_PER_SEC / 100);
	CHECK_EQ(sim_rq(0)->jiffies, sim_now / sched_tick_ns);
	CHECK_EQ(t->switched_in_jiffies, sim_rq(0)->jiffies);
	/* No tick is billed twice or made up because numbers have changed. */
	billed = t->ticks_billed;
	ticks = sim_rq(0)->late_ticks;
	sim_ticks(10);
	CHECK(t->ticks_billed - billed >= 9 && t->ticks_billed - billed <= 11);
	CHECK_EQ(sim_rq(0)->late_ticks, ticks);
	to(&policy_o1);
	CHECK_EQ(sched_hz, 1000);
	billed = t->ticks_billed;
	sim_skip(3);
	sim_ticks(10);
	CHECK(t->ticks_billed - billed >= 9 && t->ticks_billed - billed <= 12);
	CHECK(sim_rq(0)->late_ticks - ticks <= 4);
	sched_hz_given = true;
	to(&policy_test_global);
	CHECK_EQ(sched_hz, 1000);
}

/* The periods of the balancer count from the new number of ticks, not from one that is years away. */
static void balancer_goes_on(void)
{
	struct task *t[4];

	start(2);
	sim_ticks(3000);
	to(&policy_test_local); /* jiffies fall to a quarter */
	for (int i = 0; i < 4; i++)
		t[i] = sim_spawn(0);
	settle();
	struct cpumask both = {{3}};
	for (int i = 0; i < 4; i++)
		sched_set_affinity(t[i], &both);
	sim_ticks(50); /* two periods of a busy CPU: the idle one pulls at its tick */
	CHECK_EQ(sim_rq(0)->nr_running, 2);
	CHECK_EQ(sim_rq(1)->nr_running, 2);
}

static void idle_cpus_get_their_tick(void)
{
	start(2);
	sim_spawn(0);
	settle();
	sim_ticks(5);
	CHECK(!host_cpus[1].tick_on);
	sim_on(0);
	to(&policy_test_global);
	settle();
	CHECK(host_cpus[1].tick_on);
	to(&policy_o1);
	settle();
	sim_ticks(30);
	CHECK(!host_cpus[1].tick_on);
}

static void attributes_carry_over(void)
{
	struct task *nice, *fifo, *rr, *pinned, *asleep;
	struct cpumask one = {{2}};

	start(2);
	nice = sim_spawn(0);
	sched_set_nice(nice, 7);
	rr = sim_spawn(0);
	sched_set_class(rr, SCHED_RR, 20);
	fifo = sim_spawn(0);
	sched_set_class(fifo, SCHED_FIFO, 30);
	pinned = sim_spawn(1);
	settle();
	CHECK(sim_on(0) == fifo);
	asleep = sim_fork(false);
	CHECK_EQ(sched_set_affinity(asleep, &one), 0);
	settle();
	for (unsigned i = 0; i < 8; i++) {
		sim_on(0);
		to(all[(i + 1) % 4]);
		settle();
		CHECK(sim_rq(0)->curr == fifo);
		CHECK_EQ(nice->nice, 7);
		CHECK_EQ(rr->class, SCHED_RR);
		CHECK_EQ(rr->rt_priority, 20);
		CHECK_EQ(fifo->rt_priority, 30);
		CHECK(sched_better(fifo, rr) && sched_better(rr, nice));
		CHECK_EQ(pinned->cpu, 1);
		CHECK_EQ(pinned->affinity.bits[0], 2);
		CHECK_EQ(asleep->cpu, 1);
		CHECK_EQ(asleep->class, SCHED_FIFO);
	}
	/* The order of real-time tasks is that of the new policy: when fifo sleeps, rr runs, then the other. */
	sim_on(0);
	sim_block(TASK_UNINTERRUPTIBLE);
	CHECK(sim_on(0) == rr);
	sim_block(TASK_UNINTERRUPTIBLE);
	CHECK(sim_on(0) == nice);
}

static void every_state(const struct sched_policy *from, const struct sched_policy *pol)
{
	struct task *sleeper, *fresh, *child, *queued, *half, *asked, *dead;
	struct cpumask one = {{2}};
	struct sim_task *zombie;

	start(2);
	if (from != &policy_o1)
		to(from);
	asked = sim_spawn(0);
	settle();
	CHECK(sim_on(0) == asked);

	/* Dead, and not freed: the machine may still ask for its priority, and its parent reaps it. */
	dead = sim_spawn(1);
	settle();
	CHECK(sim_on(1) == dead);
	sim_exit();
	zombie = (struct sim_task *)dead;
	CHECK(zombie->dead);
	zombie->dead = false; /* its memory is not given away yet */

	sleeper = sim_spawn(1);
	settle();
	CHECK(sim_on(1) == sleeper);
	sim_block(TASK_UNINTERRUPTIBLE);

	/* Preempted on its way to sleep: runnable, with the state of a sleeper. */
	half = sim_spawn(1);
	settle();
	sim_on(1);
	CHECK(current_task() == half);
	set_current_state(TASK_INTERRUPTIBLE);

	queued = sim_spawn(1);
	fresh = sim_kthread(-1);
	sim_on(0);
	child = (struct task *)&sim_tasks[SIM_MAX_TASKS - 1];
	memset(child, 0x5a, sizeof(struct sim_task));
	sim_tasks[SIM_MAX_TASKS - 1].used = true;
	sim_tasks[SIM_MAX_TASKS - 1].dead = false;
	child->signal_pending = 0;
	child->id = 77;
	sched_fork(child);

	/* Asked to move and still running. */
	sim_on(1);
	sched_set_affinity(asked, &one);
	CHECK(asked->migrate_request && sim_rq(0)->curr == asked);

	sim_on(0);
	to(pol);
	CHECK(asked->migrate_request && sim_rq(0)->curr == asked);
	CHECK_EQ(asked->affinity.bits[0], 2);
	CHECK_EQ(half->on_rq, ON_RQ_QUEUED);
	CHECK_EQ(half->state, TASK_INTERRUPTIBLE);
	CHECK_EQ(sleeper->state, TASK_UNINTERRUPTIBLE);
	CHECK_EQ(fresh->state, TASK_NEW);
	CHECK_EQ(child->state, TASK_NEW);

	/* Everything that may be asked of a dead task. */
	sched_set_nice(dead, 5);
	sched_reap(dead, current_task());
	sim_check("reaped");

	sim_on(0);
	sched_wake_new(fresh);
	sched_wake_new(child);
	CHECK(task_wake(sleeper, TASK_NORMAL, 0));
	CHECK(task_wake(half, TASK_NORMAL, 0));
	sim_ipi_delay = 0;
	settle();
	sched_set_affinity(asked, &one);
	sim_ticks(2000);
	sim_check("every state");
	CHECK_EQ(asked->cpu, 1);
	CHECK(asked->exec_total && sleeper->exec_total && fresh->exec_total && child->exec_total &&
	      half->exec_total && queued->exec_total);
}

static void all_states(void)
{
	for (unsigned i = 0; i < 4; i++)
		for (unsigned j = 0; j < 3; j++)
			if (all[i] != all[j])
				every_state(all[i], all[j]);
}

static void in_transit(void)
{
	for (unsigned i = 0; i < 3; i++) {
		struct cpumask zero = {{1}};
		struct task *moving;

		start(2);
		to(all[i]);
		moving = sim_spawn(1);
		settle();
		CHECK(sim_on(1) == moving);
		sim_ipi_delay = NSEC_PER_SEC;
		sched_set_affinity(moving, &zero);
		CHECK_EQ(moving->on_rq, ON_RQ_MIGRATING);
		sim_on(1);
		to(all[i + 1]);
		CHECK_EQ(moving->on_rq, ON_RQ_MIGRATING);
		settle();
		CHECK_EQ(moving->on_rq, ON_RQ_QUEUED);
		CHECK(sim_rq(0)->curr == moving);
	}
}

/* A chain of three: the middle one's borrowed priority goes on to the last. */
static void lent_priorities(void)
{
	struct task *boss, *middle, *last, *other;

	start(1);
	last = sim_spawn(0);
	middle = sim_spawn(0);
	other = sim_spawn(0);
	sched_set_class(other, SCHED_FIFO, 10);
	boss = sim_spawn(0);
	sched_set_class(boss, SCHED_FIFO, 50);
	settle();
	CHECK(current_task() == boss);
	sched_lend(middle, boss);
	sched_lend(last, middle);
	sim_block(TASK_UNINTERRUPTIBLE);
	for (unsigned i = 0; i < 8; i++) {
		to(all[(i + 1) % 4]);
		settle();
		CHECK_EQ(middle->lent_prio, boss->prio);
		CHECK_EQ(last->lent_prio, middle->prio);
		CHECK(sched_better(last, other) && sched_better(middle, other));
		CHECK(current_task() == last || current_task() == middle);
	}
	sched_unlend(last);
	sched_unlend(middle);
	to(all[1]);
	CHECK_EQ(last->lent_prio, NO_LENT_PRIO);
	settle();
	CHECK(current_task() == other);
}

/* Tasks of a global queue name any CPU; afterwards each CPU has its own, and they spread. */
static void global_and_back(void)
{
	struct task *t[8];

	start(4);
	for (int i = 0; i < 8; i++)
		t[i] = sim_spawn(-1);
	settle();
	to(&policy_test_global);
	CHECK(sim_rq(3)->lock == &sim_rq(0)->own_lock);
	settle();
	sim_ticks(200);
	for (int i = 0; i < 8; i++)
		CHECK(t[i]->exec_total > 0);
	sim_on(0);
	to(&policy_o1);
	CHECK(sim_rq(3)->lock == &sim_rq(3)->own_lock);
	settle();
	sim_ticks(1000);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		CHECK_EQ(sim_rq(cpu)->nr_running, 2);
}

void switch_tests(void)
{
	TEST(unknown_and_same);
	TEST(no_memory);
	TEST(hz_and_time);
	TEST(balancer_goes_on);
	TEST(idle_cpus_get_their_tick);
	TEST(attributes_carry_over);
	TEST(all_states);
	TEST(in_transit);
	TEST(lent_priorities);
	TEST(global_and_back);
}

/* SPDX-License-Identifier: MIT
 *
 * Self-tests of changing the policy on the running machine: hundreds of changes between all policies and two made for tests, while
 * kernel tasks wake each other, sleep, move, change class, are created and end. No wake-up may be lost, no task, no queue's order.
 */
#include "sched/internal.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "sched/policy_test.h"
#include "selftest/selftest.h"

#define PAIRS_MAX 4
#define CHANGES	  400

static volatile bool stop;
static u64 turns[4]; /* atomic: hand-overs, sleeps, births, moves */

/* At preempt=none kernel tasks give way by themselves. */
static void breathe(void)
{
	if (need_resched())
		schedule();
}

static u64 count(unsigned what)
{
	return __atomic_load_n(&turns[what], __ATOMIC_RELAXED);
}

static void counted(unsigned what)
{
	__atomic_fetch_add(&turns[what], 1, __ATOMIC_RELAXED);
}

/* ---- two tasks that wake each other: a lost wake-up stops them for good ---- */

struct side {
	struct task *task;
	struct side *other;
	volatile u32 balls; /* atomic */
	u32 played;
	volatile bool last; /* the other one has gone */
};

static void play(void *arg)
{
	struct side *me = arg;

	for (;;) {
		for (;;) {
			set_current_state(TASK_UNINTERRUPTIBLE);
			if (__atomic_load_n(&me->balls, __ATOMIC_SEQ_CST) || me->last)
				break;
			schedule();
		}
		set_current_state(TASK_RUNNING);
		if (me->last)
			return;
		__atomic_fetch_sub(&me->balls, 1, __ATOMIC_SEQ_CST);
		me->played++;
		counted(0);
		if (stop)
			break;
		__atomic_fetch_add(&me->other->balls, 1, __ATOMIC_SEQ_CST);
		task_wake(me->other->task, TASK_NORMAL, me->played % 3 ? 0 : WAKE_SYNC);
		breathe();
	}
	/* It is still there: it ends only when told to, and is joined after us or waits for this. */
	__atomic_store_n(&me->other->last, true, __ATOMIC_SEQ_CST);
	task_wake(me->other->task, TASK_NORMAL, 0);
}

/* ---- others ---- */

static void sleep_often(void *arg)
{
	u64 rng = (u64)(uintptr_t)arg;

	while (!stop) {
		rng = rng * 6364136223846793005ull + 1442695040888963407ull;
		selftest_sleep_ns(10000 + (rng >> 44));
		counted(1);
	}
}

static void be_born(void *arg)
{
	breathe();
	counted(2);
	(void)arg;
}

static void give_birth(void *arg)
{
	u64 *born = arg;

	while (!stop) {
		struct task *t = selftest_spawn(be_born, NULL, "born");

		if (t && selftest_join(t))
			++*born;
		breathe();
	}
}

static void move_and_compute(void *arg)
{
	u64 rng = (u64)(uintptr_t)arg;
	struct task *me = current_task();

	while (!stop) {
		struct cpumask m = sched_online;
		unsigned cpu;

		rng = rng * 6364136223846793005ull + 1442695040888963407ull;
		cpu = (unsigned)(rng >> 33) % machine_cpus_present();
		if (rng >> 63) {
			memset(&m, 0, sizeof(m));
			cpumask_set(&m, cpu);
		}
		if (sched_online_cpu(cpu))
			EXPECT_EQ(sched_set_affinity(me, &m), 0);
		sched_set_nice(me, (int)(rng >> 40 & 31) - 16);
		if ((rng >> 50 & 7) == 0)
			sched_set_class(me, SCHED_RR, 1 + (rng >> 54 & 3));
		for (unsigned i = 0; i < (rng >> 45 & 1023); i++)
			barrier();
		sched_set_class(me, SCHED_OTHER, 0);
		counted(3);
		breathe();
	}
}

/* Every queue agrees with itself and with the core. */
static bool queues_agree(void)
{
	bool agree = true;
	unsigned cpu;

	for_each_cpu_in(cpu, &sched_online)
	{
		struct runq *rq = machine_runq(cpu);
		u64 irq = irq_save();
		const char *wrong;

		spin_lock_raw(rq->lock);
		wrong = sched_policy->check(rq);
		spin_unlock_raw(rq->lock);
		irq_restore(irq);
		if (!EXPECT(wrong == NULL)) {
			selftest_note("cpu %u, %s: %s", cpu, sched_policy->name, wrong);
			agree = false;
		}
	}
	return agree;
}

static const struct sched_policy *nth(unsigned i)
{
	unsigned n = 0;

	while (sched_policy_nth(n))
		n++;
	i %= n + 2;
	return i < n ? sched_policy_nth(i) : i == n ? &policy_test_local : &policy_test_global;
}

SELFTEST(sched_switch_under_load)
{
	static struct side side[2 * PAIRS_MAX];
	static u64 born[2];
	const struct sched_policy *before = sched_policy;
	struct task *task[8];
	u64 first[4], rng = machine_random(), longest = 0, sum = 0, began;
	unsigned hz = sched_hz, made = 0, changes = 0, n = 0, idle = 0;

	stop = false;
	memset(side, 0, sizeof(side));
	memset(born, 0, sizeof(born));
	memset(turns, 0, sizeof(turns));
	for (unsigned i = 0; i < 2 * PAIRS_MAX; i++)
		side[i].other = &side[i ^ 1];
	for (; n < 2 * PAIRS_MAX; n++)
		if (!EXPECT((side[n].task = selftest_spawn(play, &side[n], "player")) != NULL))
			break;
	for (unsigned i = 0; i < 2; i++) {
		task[made++] = selftest_spawn(sleep_often, (void *)(uintptr_t)(i + 1), "sleeper");
		task[made++] = selftest_spawn(give_birth, &born[i], "parent");
		task[made++] =
			selftest_spawn(move_and_compute, (void *)(uintptr_t)(i + 9), "mover");
	}
	for (unsigned i = 0; i < made; i++)
		EXPECT(task[i] != NULL);
	for (unsigned i = 0; i + 1 < n; i += 2) {
		__atomic_fetch_add(&side[i].balls, 1, __ATOMIC_SEQ_CST);
		task_wake(side[i].task, TASK_NORMAL, 0);
	}
	sched_set_class(current_task(), SCHED_FIFO, 60);
	began = machine_now();
	/* A host that has no time for all our CPUs makes each change long. */
	while (changes < CHANGES && machine_now() - began < 15 * NSEC_PER_SEC) {
		u64 start = machine_now(), took;

		memcpy(first, turns, sizeof(first));
		if (!EXPECT_EQ(sched_switch_to(nth((unsigned)(rng >> 33))), 0))
			break;
		took = machine_now() - start;
		longest = max(longest, took);
		sum += took;
		changes++;
		if (!EXPECT_EQ(current_task()->rt_priority, 60) || !queues_agree())
			break;
		rng = rng * 6364136223846793005ull + 1442695040888963407ull;
		selftest_sleep_ns(rng >> 44); /* up to 1 ms */
		idle += !memcmp(first, turns, sizeof(first));
	}
	EXPECT(changes > 10);
	/* Everybody is still alive under the last policy. */
	memcpy(first, turns, sizeof(first));
	for (unsigned ms = 0; ms < 20000; ms += 10) {
		bool all = true;

		for (unsigned i = 0; i < 4; i++)
			all &= count(i) > first[i] + 2;
		if (all)
			break;
		selftest_sleep_ns(10 * NSEC_PER_MSEC);
	}
	for (unsigned i = 0; i < 4; i++)
		EXPECT(count(i) > first[i]);
	stop = true;
	for (unsigned i = 0; i < n; i++)
		selftest_join(side[i].task);
	for (unsigned i = 0; i < made; i++)
		if (task[i])
			selftest_join(task[i]);
	EXPECT_EQ(born[0] + born[1], count(2));
	EXPECT_EQ(sched_switch_to(before), 0);
	EXPECT_EQ(sched_hz, hz);
	sched_set_class(current_task(), SCHED_OTHER, 0);
	selftest_note(
		"%u changes, mean %llu us, longest %llu us; %llu hand-overs, %llu sleeps, %llu births, %llu moves; nothing between %u of them",
		changes, (unsigned long long)(sum / (changes + !changes) / 1000),
		(unsigned long long)(longest / 1000), (unsigned long long)count(0),
		(unsigned long long)count(1), (unsigned long long)count(2),
		(unsigned long long)count(3), idle);
}

/* ---- several tasks change it at once ---- */

static void change_often(void *arg)
{
	for (unsigned i = 0; i < 50; i++) {
		EXPECT_EQ(sched_switch_to(nth(i + (unsigned)(uintptr_t)arg)), 0);
		breathe();
	}
}

SELFTEST(sched_switch_by_several)
{
	const struct sched_policy *before = sched_policy;
	struct task *task[4];

	for (unsigned i = 0; i < ARRAY_SIZE(task); i++)
		EXPECT((task[i] = selftest_spawn(change_often, (void *)(uintptr_t)i, "changer")) !=
		       NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(task); i++)
		if (task[i])
			selftest_join(task[i]);
	queues_agree();
	EXPECT_EQ(sched_switch_to(before), 0);
}

SELFTEST(sched_switch_bad_name)
{
	EXPECT_EQ(sched_switch_policy("no-such-policy"), -EINVAL);
	EXPECT_EQ(sched_switch_policy(""), -EINVAL);
	EXPECT_EQ(sched_switch_policy(sched_policy_name()), 0);
}

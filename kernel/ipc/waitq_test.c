// SPDX-License-Identifier: MIT
/*
 * Self-tests of wait queues, limited sleeps and the sleeping lock.
 */
#include "ipc/ipc_test.h"

#define ROUNDS	 20000
#define PATIENCE (2 * NSEC_PER_SEC)

struct sleeper_job {
	struct waitq *q;
	bool exclusive;
	bool finish_says; /* what waitq_finish() returned */
	volatile u32 order;
	u32 *counter;
};

static void sleeper(void *arg)
{
	struct sleeper_job *j = arg;
	struct waiter w;

	waitq_prepare(j->q, &w, TASK_UNINTERRUPTIBLE, j->exclusive);
	schedule();
	j->finish_says = waitq_finish(j->q, &w);
	j->order = __atomic_add_fetch(j->counter, 1, __ATOMIC_SEQ_CST);
}

SELFTEST(waitq_exclusive_one_at_a_time)
{
	struct waitq q;
	struct task *t[4];
	struct sleeper_job j[4];
	u32 counter = 0;

	waitq_init(&q);
	for (int i = 0; i < 4; i++) {
		j[i] = (struct sleeper_job){.q = &q, .exclusive = i != 3, .counter = &counter};
		t[i] = selftest_spawn(sleeper, &j[i], "sleeper");
		if (!EXPECT(t[i]) || !EXPECT(test_until(test_asleep(t[i]))))
			return;
	}
	/* Every wake-up wakes all plain waiters and the first exclusive one. */
	EXPECT_EQ(waitq_wake(&q, 1, 0), 1);
	EXPECT(test_until(counter == 2));
	EXPECT(j[0].order && j[3].order);
	selftest_sleep_ns(20 * NSEC_PER_MSEC);
	EXPECT_EQ(counter, 2);
	EXPECT(test_asleep(t[1]) && test_asleep(t[2]));
	EXPECT_EQ(waitq_wake(&q, 1, 0), 1);
	EXPECT(test_until(counter == 3));
	EXPECT_EQ(j[1].order, 3);
	EXPECT_EQ(waitq_wake(&q, 0, 0), 1);
	for (int i = 0; i < 4; i++)
		if (!EXPECT(selftest_join(t[i])))
			return;
	EXPECT_EQ(j[2].order, 4);
	for (int i = 0; i < 4; i++)
		EXPECT(j[i].finish_says);
	EXPECT_EQ(waitq_wake(&q, 0, 0), 0);
}

/* A waiter that was woken by something else leaves the queue by itself and says so. */
SELFTEST(waitq_finish_without_wake)
{
	struct waitq q;
	struct waiter w;

	waitq_init(&q);
	waitq_prepare(&q, &w, TASK_INTERRUPTIBLE, true);
	EXPECT(!list_empty(&q.waiters));
	EXPECT(sleep_until(machine_now() + NSEC_PER_MSEC, TASK_INTERRUPTIBLE));
	EXPECT(!waitq_finish(&q, &w));
	EXPECT(list_empty(&q.waiters));
	EXPECT_EQ(current_task()->state, TASK_RUNNING);
}

struct pingpong {
	struct waitq q[2];
	volatile u32 turn;
	u64 end;
	volatile u32 lost; /* sleeps that only the limit ended */
};

struct player {
	struct pingpong *p;
	u32 me;
};

static void play(void *arg)
{
	struct player *pl = arg;
	struct pingpong *p = pl->p;
	u32 seed = pl->me + 1;

	test_pin(pl->me);
	for (u32 i = 0; i < ROUNDS && !p->lost; i++) {
		struct waiter w;

		for (;;) {
			bool late = false;

			waitq_prepare(&p->q[pl->me], &w, TASK_UNINTERRUPTIBLE, i & 1);
			if (p->turn != pl->me)
				late = sleep_until(machine_now() + PATIENCE, TASK_UNINTERRUPTIBLE);
			waitq_finish(&p->q[pl->me], &w);
			if (p->turn == pl->me) {
				p->lost += late;
				break;
			}
			if (late && p->lost)
				return;
		}
		if (machine_now() > p->end) { /* the other one gets its last turn */
			p->turn = !pl->me;
			waitq_wake(&p->q[!pl->me], 1, 0);
			return;
		}
		if (i & 1)
			test_spin(&seed);
		p->turn = !pl->me;
		waitq_wake(&p->q[!pl->me], 1, test_random(&seed) & WAKE_SYNC);
		if (i & 2)
			test_spin(&seed);
	}
}

SELFTEST(waitq_no_lost_wakeup)
{
	struct pingpong p = {.turn = 0, .end = machine_now() + STRESS_NS};
	struct player pl[2] = {{&p, 0}, {&p, 1}};
	struct task *t[2];

	waitq_init(&p.q[0]);
	waitq_init(&p.q[1]);
	for (int i = 0; i < 2; i++) {
		t[i] = selftest_spawn(play, &pl[i], "player");
		if (!EXPECT(t[i]))
			return;
	}
	EXPECT(selftest_join(t[0]));
	EXPECT(selftest_join(t[1]));
	EXPECT_EQ(p.lost, 0);
}

SELFTEST(sleep_until_limit)
{
	u64 start = machine_now(), took;

	set_current_state(TASK_INTERRUPTIBLE);
	EXPECT(sleep_until(start + 5 * NSEC_PER_MSEC, TASK_INTERRUPTIBLE));
	took = machine_now() - start;
	EXPECT(took >= 5 * NSEC_PER_MSEC);
	EXPECT(took < NSEC_PER_SEC);
	/* A moment that has passed. */
	set_current_state(TASK_INTERRUPTIBLE);
	EXPECT(sleep_until(1, TASK_INTERRUPTIBLE));
	/* A wake-up between setting the state and the sleep is not lost: it returns at once. */
	set_current_state(TASK_INTERRUPTIBLE);
	task_wake(current_task(), TASK_NORMAL, 0);
	start = machine_now();
	EXPECT(!sleep_until(start + 3 * NSEC_PER_SEC, TASK_INTERRUPTIBLE));
	EXPECT(machine_now() - start < 2 * NSEC_PER_SEC);
}

struct mutex_job {
	struct mutex *m;
	volatile u64 *count;
	volatile u32 *inside;
	u32 rounds, collisions;
	bool interruptible;
};

static void contend(void *arg)
{
	struct mutex_job *j = arg;
	u32 seed = (u32)(u64)arg;

	for (u32 i = 0; i < j->rounds; i++) {
		u64 v;

		if (j->interruptible) {
			if (mutex_lock_interruptible(j->m))
				j->collisions++;
		} else {
			mutex_lock(j->m);
		}
		if (__atomic_fetch_add(j->inside, 1, __ATOMIC_SEQ_CST))
			j->collisions++;
		v = *j->count;
		for (u32 spin = test_random(&seed) % 8; spin; spin--)
			barrier();
		if (!(test_random(&seed) & 127)) /* hold it while others run and queue up */
			sched_yield_current();
		*j->count = v + 1;
		__atomic_fetch_sub(j->inside, 1, __ATOMIC_SEQ_CST);
		mutex_unlock(j->m);
	}
}

SELFTEST(mutex_exclusion)
{
	struct mutex m;
	volatile u64 count = 0;
	volatile u32 inside = 0;
	struct mutex_job j[5];
	struct task *t[5];
	u64 total = 0;

	mutex_init(&m);
	for (int i = 0; i < 5; i++) {
		j[i] = (struct mutex_job){&m, &count, &inside, 12000, 0, i & 1};
		t[i] = selftest_spawn(contend, &j[i], "contender");
		if (!EXPECT(t[i]))
			return;
	}
	for (int i = 0; i < 5; i++) {
		if (!EXPECT(selftest_join(t[i])))
			return;
		EXPECT_EQ(j[i].collisions, 0);
		total += j[i].rounds;
	}
	EXPECT_EQ(count, total);
	EXPECT(mutex_trylock(&m));
	EXPECT(!mutex_trylock(&m));
	mutex_unlock(&m);
}

struct lock_job {
	struct mutex *m;
	volatile s64 result;
};

static void lock_once(void *arg)
{
	struct lock_job *j = arg;
	s64 r = mutex_lock_interruptible(j->m);

	if (!r)
		mutex_unlock(j->m);
	current_task()->signal_pending = 0;
	j->result = r;
}

/* A task that sleeps on the mutex of @j by now. Return: NULL, after a failed expectation, if it could not be had. */
static struct task *spawn_waiter(struct lock_job *j, const char *name)
{
	struct task *t = selftest_spawn(lock_once, j, name);

	return EXPECT(t) && EXPECT(test_until(test_asleep(t))) ? t : NULL;
}

/* A waiter that gives up because of a signal leaves the lock and the other waiters in order. */
SELFTEST(mutex_interrupted)
{
	struct mutex m;
	struct lock_job a = {&m, 1}, b = {&m, 1};
	struct task *ta, *tb;

	mutex_init(&m);
	mutex_lock(&m);
	ta = spawn_waiter(&a, "first");
	if (!ta)
		return;
	tb = spawn_waiter(&b, "second");
	if (!tb)
		return;
	test_signal(ta);
	EXPECT(selftest_join(ta));
	EXPECT_EQ(a.result, -ERESTARTSYS);
	EXPECT_EQ(b.result, 1);
	mutex_unlock(&m);
	EXPECT(selftest_join(tb));
	EXPECT_EQ(b.result, 0);
}

/* The one wake-up of an unlock goes to a waiter whose signal came first: it must hand it to the next, or that sleeps for ever. */
SELFTEST(mutex_wake_passed_on)
{
	struct mutex m;
	struct lock_job a = {&m, 1}, b = {&m, 1};
	struct task *ta, *tb;

	mutex_init(&m);
	mutex_lock(&m);
	ta = spawn_waiter(&a, "first");
	if (!ta)
		return;
	tb = spawn_waiter(&b, "second");
	if (!tb)
		return;
	ta->signal_pending = 1; /* without the wake-up: the unlock's is the only one */
	mutex_unlock(&m);
	EXPECT(selftest_join(ta));
	EXPECT_EQ(a.result, -ERESTARTSYS);
	if (!EXPECT(test_until(b.result == 0)))
		test_signal(tb);
	EXPECT(selftest_join(tb));
}

// SPDX-License-Identifier: MIT
/*
 * Self-tests of futexes, on words of kernel memory (kernel tasks share one key space).
 */
#include "ipc/ipc_test.h"

#define FUTEX_WAIT	  0
#define FUTEX_WAKE	  1
#define FUTEX_REQUEUE	  3
#define FUTEX_CMP_REQUEUE 4
#define FUTEX_WAIT_BITSET 9
#define FUTEX_WAKE_BITSET 10
#define FUTEX_PRIVATE	  128
#define ANY_BIT		  0xffffffffu

struct futex_job {
	u32 *word;
	u32 value, bitset;
	s64 limit_ns; /* 0: none */
	volatile s64 result;
	volatile bool done;
};

static void wait_once(void *arg)
{
	struct futex_job *j = arg;
	s64 ts[2] = {j->limit_ns / 1000000000, j->limit_ns % 1000000000};

	if (j->bitset)
		j->result = futex_call(j->word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE, j->value, 0,
				       NULL, j->bitset);
	else
		j->result = futex_call(j->word, FUTEX_WAIT | FUTEX_PRIVATE, j->value,
				       j->limit_ns ? (u64)ts : 0, NULL, 0);
	current_task()->signal_pending = 0;
	j->done = true;
}

static struct task *start_waiting(struct futex_job *j)
{
	struct task *t = selftest_spawn(wait_once, j, "waiter");

	if (!EXPECT(t))
		return NULL;
	EXPECT(test_until(test_asleep(t)));
	return t;
}

static s64 wake(u32 *word, u32 n)
{
	return futex_call(word, FUTEX_WAKE | FUTEX_PRIVATE, n, 0, NULL, 0);
}

SELFTEST(futex_basic)
{
	u32 word = 5;
	struct futex_job j[3];
	struct task *t[3];
	s64 ts[2] = {0, 3000000}, bad[2] = {0, 1000000000};
	u64 start = machine_now();

	EXPECT_EQ(futex_call(&word, FUTEX_WAIT, 4, 0, NULL, 0), -EAGAIN);
	EXPECT_EQ(futex_call((u32 *)((char *)&word + 1), FUTEX_WAIT, 5, 0, NULL, 0), -EINVAL);
	EXPECT_EQ(futex_call(&word, FUTEX_WAIT, 5, (u64)bad, NULL, 0), -EINVAL);
	EXPECT_EQ(futex_call(&word, FUTEX_WAIT_BITSET, 5, 0, NULL, 0), -EINVAL);
	EXPECT_EQ(futex_call(&word, 31, 5, 0, NULL, 0), -ENOSYS);
	EXPECT_EQ(futex_call(&word, FUTEX_WAIT, 5, (u64)ts, NULL, 0), -ETIMEDOUT);
	EXPECT(machine_now() - start >= 3000000);
	/* An absolute limit on the monotonic clock that has passed. */
	EXPECT_EQ(futex_call(&word, FUTEX_WAIT_BITSET, 5, (u64)(s64[2]){0, 1}, NULL, ANY_BIT),
		  -ETIMEDOUT);
	EXPECT_EQ(wake(&word, 10), 0);

	for (int i = 0; i < 3; i++) {
		j[i] = (struct futex_job){.word = &word, .value = 5};
		t[i] = start_waiting(&j[i]);
		if (!t[i])
			return;
	}
	EXPECT_EQ(wake(&word + 1, 10), 0); /* another word */
	EXPECT_EQ(wake(&word, 1), 1);
	EXPECT(selftest_join(t[0]));
	EXPECT_EQ(j[0].result, 0);
	EXPECT(!j[1].done && !j[2].done);
	test_signal(t[1]);
	EXPECT(selftest_join(t[1]));
	EXPECT_EQ(j[1].result, -ERESTARTSYS);
	EXPECT_EQ(wake(&word, 10), 1);
	EXPECT(selftest_join(t[2]));
	EXPECT_EQ(j[2].result, 0);
}

SELFTEST(futex_bitset)
{
	u32 word = 0;
	struct futex_job a = {.word = &word, .bitset = 1}, b = {.word = &word, .bitset = 6};
	struct task *ta = start_waiting(&a), *tb = start_waiting(&b);

	if (!ta || !tb)
		return;
	EXPECT_EQ(futex_call(&word, FUTEX_WAKE_BITSET, 10, 0, NULL, 8), 0);
	EXPECT_EQ(futex_call(&word, FUTEX_WAKE_BITSET, 10, 0, NULL, 0), -EINVAL);
	EXPECT_EQ(futex_call(&word, FUTEX_WAKE_BITSET, 10, 0, NULL, 4), 1);
	EXPECT(selftest_join(tb));
	EXPECT(!a.done);
	EXPECT_EQ(wake(&word, 10), 1);
	EXPECT(selftest_join(ta));
}

SELFTEST(futex_requeue)
{
	u32 words[128] = {0}, *from = &words[0], *to = &words[100];
	struct futex_job j[4];
	struct task *t[4];

	for (int i = 0; i < 4; i++) {
		j[i] = (struct futex_job){.word = from};
		t[i] = start_waiting(&j[i]);
		if (!t[i])
			return;
	}
	EXPECT_EQ(futex_call(from, FUTEX_CMP_REQUEUE, 1, 2, to, 7), -EAGAIN);
	EXPECT_EQ(futex_call(from, FUTEX_CMP_REQUEUE, 1, 2, to, 0), 3);
	EXPECT(selftest_join(t[0]));
	EXPECT(!j[1].done && !j[2].done && !j[3].done);
	EXPECT_EQ(wake(to, 1), 1);
	EXPECT(selftest_join(t[1]));
	/* A waiter that was moved can be interrupted. */
	test_signal(t[2]);
	EXPECT(selftest_join(t[2]));
	EXPECT_EQ(j[2].result, -ERESTARTSYS);
	EXPECT_EQ(wake(to, 10), 0);
	EXPECT_EQ(futex_call(from, FUTEX_REQUEUE, 0, 10, to, 0), 1);
	EXPECT_EQ(wake(from, 10), 0);
	EXPECT_EQ(wake(to, 10), 1);
	EXPECT(selftest_join(t[3]));
}

/* ---- a lock built as programs build it ---- */

struct lock_job {
	u32 *lock; /* 0 free, 1 taken, 2 taken with waiters */
	volatile u64 *count;
	u32 rounds;
	volatile u32 failed;
};

static void user_lock(u32 *lock, volatile u32 *failed)
{
	u32 seen = 0;

	if (__atomic_compare_exchange_n(lock, &seen, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return;
	while (__atomic_exchange_n(lock, 2, __ATOMIC_SEQ_CST)) {
		s64 ts[2] = {5, 0};
		s64 r = futex_call(lock, FUTEX_WAIT | FUTEX_PRIVATE, 2, (u64)ts, NULL, 0);

		if (r == -ETIMEDOUT) /* nobody holds it for long: a wake-up was lost */
			(*failed)++;
	}
}

static void user_unlock(u32 *lock)
{
	if (__atomic_exchange_n(lock, 0, __ATOMIC_SEQ_CST) == 2)
		wake(lock, 1);
}

static void lock_user(void *arg)
{
	struct lock_job *j = arg;
	u32 seed = (u32)(u64)arg;

	for (u32 i = 0; i < j->rounds && !j->failed; i++) {
		u64 v;

		user_lock(j->lock, &j->failed);
		v = *j->count;
		for (u32 spin = test_random(&seed) % 48; spin; spin--)
			barrier();
		if (!(test_random(&seed) & 31))
			sched_yield_current();
		*j->count = v + 1;
		user_unlock(j->lock);
	}
}

SELFTEST(futex_lock_stress)
{
	u32 lock = 0;
	volatile u64 count = 0;
	struct lock_job j[4];
	struct task *t[4];

	for (int i = 0; i < 4; i++) {
		j[i] = (struct lock_job){&lock, &count, 4000, 0};
		t[i] = selftest_spawn(lock_user, &j[i], "locker");
		if (!EXPECT(t[i]))
			return;
	}
	for (int i = 0; i < 4; i++) {
		if (!EXPECT(selftest_join(t[i])))
			return;
		EXPECT_EQ(j[i].failed, 0);
	}
	EXPECT_EQ(count, 4 * 4000);
}

/* ---- turns: one lost wake-up and both sleep ---- */

#define GAME_OVER 2

struct turns {
	u32 turn;
	u64 end;
	volatile u32 lost;
};

struct turn_taker {
	struct turns *t;
	u32 me;
};

static void take_turns(void *arg)
{
	struct turn_taker *k = arg;
	struct turns *t = k->t;
	u32 seed = k->me + 1;

	test_pin(k->me);
	for (u32 i = 0; i < 20000; i++) {
		u32 turn;

		while ((turn = __atomic_load_n(&t->turn, __ATOMIC_SEQ_CST)) == !k->me) {
			s64 ts[2] = {5, 0};
			s64 r = futex_call(&t->turn, FUTEX_WAIT | FUTEX_PRIVATE, turn, (u64)ts,
					   NULL, 0);

			if (r == -ETIMEDOUT) {
				t->lost++;
				return;
			}
		}
		if (turn == GAME_OVER)
			return;
		if (machine_now() > t->end) {
			__atomic_store_n(&t->turn, GAME_OVER, __ATOMIC_SEQ_CST);
			wake(&t->turn, 1);
			return;
		}
		test_spin(&seed);
		__atomic_store_n(&t->turn, !k->me, __ATOMIC_SEQ_CST);
		wake(&t->turn, 1);
		test_spin(&seed);
	}
}

SELFTEST(futex_no_lost_wakeup)
{
	struct turns t = {.end = machine_now() + STRESS_NS};
	struct turn_taker k[2] = {{&t, 0}, {&t, 1}};
	struct task *task[2];

	for (int i = 0; i < 2; i++) {
		task[i] = selftest_spawn(take_turns, &k[i], "turns");
		if (!EXPECT(task[i]))
			return;
	}
	EXPECT(selftest_join(task[0]));
	EXPECT(selftest_join(task[1]));
	EXPECT_EQ(t.lost, 0);
}

/* ---- wake-ups against limits and requeues ---- */

struct churn {
	u32 words[2]; /* in different buckets, like most pairs */
	volatile bool stop;
	volatile u32 woken, ended;
};

static void churn_waiter(void *arg)
{
	struct churn *c = arg;
	u32 seed = (u32)(u64)current_task();

	while (!c->stop) {
		s64 ts[2] = {0, test_random(&seed) % 60000};

		if (!futex_call(&c->words[0], FUTEX_WAIT | FUTEX_PRIVATE, 0, (u64)ts, NULL, 0))
			__atomic_add_fetch(&c->woken, 1, __ATOMIC_SEQ_CST);
	}
	__atomic_add_fetch(&c->ended, 1, __ATOMIC_SEQ_CST);
}

/* Every waiter that a waker counted returns 0, and nobody else does. */
SELFTEST(futex_churn)
{
	struct churn c = {.stop = false};
	struct task *t[4];
	u32 seed = 9;
	s64 woken = 0;
	u64 end;

	for (int i = 0; i < 4; i++) {
		t[i] = selftest_spawn(churn_waiter, &c, "churn");
		if (!EXPECT(t[i]))
			return;
	}
	end = machine_now() + 400 * NSEC_PER_MSEC;
	while (machine_now() < end) {
		u32 what = test_random(&seed) % 4;

		if (what == 0)
			futex_call(&c.words[0], FUTEX_REQUEUE | FUTEX_PRIVATE, 0, 2, &c.words[1],
				   0);
		else
			woken += wake(&c.words[what & 1], 2);
		if (!(test_random(&seed) % 64))
			selftest_sleep_ns(50000);
	}
	c.stop = true;
	while (c.ended != 4) {
		woken += wake(&c.words[0], 10) + wake(&c.words[1], 10);
		sched_yield_current();
		if (!EXPECT(machine_now() < end + 10 * NSEC_PER_SEC))
			return;
	}
	for (int i = 0; i < 4; i++)
		EXPECT(selftest_join(t[i]));
	EXPECT_EQ(c.woken, woken);
	EXPECT(woken > 0);
}

/* ---- locks with an owner ---- */

#define FUTEX_LOCK_PI	 6
#define FUTEX_UNLOCK_PI	 7
#define FUTEX_TRYLOCK_PI 8
#define PI_WAITERS	 0x80000000u
#define CHAIN		 40

struct pi_link {
	u32 *hold, *want; /* NULL: none */
	volatile bool *release;
	u8 rt;
	s64 limit_s; /* on the wall clock */
	volatile s64 result;
	volatile bool held, done;
};

static s64 pi_op(u32 *word, int op)
{
	return futex_call(word, op | FUTEX_PRIVATE, 0, 0, NULL, 0);
}

static void pi_link(void *arg)
{
	struct pi_link *l = arg;
	s64 ts[2] = {l->limit_s, 0};

	if (l->rt)
		sched_set_class(current_task(), SCHED_FIFO, l->rt);
	if (l->hold)
		EXPECT_EQ(pi_op(l->hold, FUTEX_LOCK_PI), 0);
	l->held = true;
	if (l->want) {
		l->result = futex_call(l->want, FUTEX_LOCK_PI | FUTEX_PRIVATE, 0,
				       l->limit_s ? (u64)ts : 0, NULL, 0);
		if (!l->result)
			EXPECT_EQ(pi_op(l->want, FUTEX_UNLOCK_PI), 0);
		current_task()->signal_pending = 0;
	} else {
		EXPECT(test_until(*l->release));
	}
	if (l->hold)
		EXPECT_EQ(pi_op(l->hold, FUTEX_UNLOCK_PI), 0);
	l->done = true;
}

static struct task *pi_start(struct pi_link *l)
{
	struct task *t = selftest_spawn(pi_link, l, "pi link");

	if (EXPECT(t))
		EXPECT(test_until(l->held && (!l->want || test_asleep(t))));
	return t;
}

/* The walk over a long chain, there and back: a better waiter at its end, a side branch, a time-out, a signal, the hand-over. */
SELFTEST(futex_pi_chain)
{
	static u32 words[CHAIN];
	static struct pi_link links[CHAIN];
	struct pi_link side = {.want = &words[CHAIN / 2], .rt = 60},
		       end = {.want = &words[CHAIN - 1], .rt = 40};
	volatile bool release = false;
	struct task *t[CHAIN], *s, *e;
	s16 own, lent;

	for (unsigned i = 0; i < CHAIN; i++) {
		words[i] = 0;
		links[i] = (struct pi_link){
			.hold = &words[i], .want = i ? &words[i - 1] : NULL, .release = &release};
		t[i] = pi_start(&links[i]);
		if (!t[i])
			return;
	}
	own = t[0]->prio;
	e = pi_start(&end);
	if (!e)
		return;
	lent = e->prio;
	EXPECT(lent < own);
	for (unsigned i = 0; i < CHAIN; i++) {
		EXPECT_EQ(t[i]->prio, lent);
		EXPECT(t[i]->lent_by == (i + 1 < CHAIN ? t[i + 1] : e));
		EXPECT(words[i] & PI_WAITERS);
	}
	/* The branch in the middle is better: it counts before it, and not behind it. */
	s = pi_start(&side);
	if (!s)
		return;
	for (unsigned i = 0; i < CHAIN; i++)
		EXPECT_EQ(t[i]->prio, i <= CHAIN / 2 ? s->prio : lent);
	/* Interrupted: the rest counts again. */
	test_signal(s);
	EXPECT(selftest_join(s));
	EXPECT_EQ(side.result, -ERESTARTNOINTR);
	for (unsigned i = 0; i < CHAIN; i++)
		EXPECT_EQ(t[i]->prio, lent);
	/* A limit that has passed: queued, lent, and taken back. */
	side = (struct pi_link){.want = &words[CHAIN / 2], .rt = 60, .limit_s = 1};
	s = selftest_spawn(pi_link, &side, "pi late");
	if (!EXPECT(s))
		return;
	EXPECT(selftest_join(s));
	EXPECT_EQ(side.result, -ETIMEDOUT);
	for (unsigned i = 0; i < CHAIN; i++)
		EXPECT_EQ(t[i]->prio, lent);
	release = true;
	for (unsigned i = 0; i < CHAIN; i++) {
		EXPECT(selftest_join(t[i]));
		EXPECT_EQ(links[i].result, 0);
	}
	EXPECT(selftest_join(e));
	EXPECT_EQ(end.result, 0);
	for (unsigned i = 0; i < CHAIN; i++)
		EXPECT_EQ(words[i], 0);
}

/* Who gives a lock back keeps what the waiters of its other lock lend, and no more. */
SELFTEST(futex_pi_unlock_takes_back)
{
	u32 a = 0, b = 0;
	struct pi_link wa = {.want = &a, .rt = 30}, wb = {.want = &b, .rt = 20};
	struct task *ta, *tb, *self = current_task();
	s16 own = self->prio, prio_a, prio_b;

	EXPECT_EQ(pi_op(&a, FUTEX_LOCK_PI), 0);
	EXPECT_EQ(pi_op(&b, FUTEX_LOCK_PI), 0);
	EXPECT_EQ(pi_op(&a, FUTEX_TRYLOCK_PI), -EDEADLK);
	ta = pi_start(&wa);
	tb = pi_start(&wb);
	if (!ta || !tb)
		return;
	prio_a = ta->prio;
	prio_b = tb->prio;
	EXPECT(prio_a < prio_b && prio_b < own);
	EXPECT_EQ(self->prio, prio_a);
	EXPECT_EQ(a, self->id | PI_WAITERS);
	EXPECT_EQ(pi_op(&a, FUTEX_UNLOCK_PI), 0);
	EXPECT_EQ(self->prio, prio_b);
	EXPECT_EQ(pi_op(&b, FUTEX_UNLOCK_PI), 0);
	EXPECT_EQ(self->lent_prio, NO_LENT_PRIO);
	EXPECT(!self->lent_by);
	EXPECT(selftest_join(ta) && selftest_join(tb));
	EXPECT(a == 0 && b == 0);
	EXPECT_EQ(pi_op(&a, FUTEX_UNLOCK_PI), -EPERM);
}

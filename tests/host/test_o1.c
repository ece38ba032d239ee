/* SPDX-License-Identifier: MIT
 *
 * Unit tests of policy o1 against the published numbers of Linux 2.6.0-test4. The policy's source is included, so that
 * the tests see its fields; everything else goes through the core.
 */
#include "sched/policy/o1.c"

#include "family.h"

static void slices(void)
{
	static const struct {
		int nice, ms;
	} golden[] = {{-20, 200}, {-10, 151}, {-5, 126}, {0, 102}, {5, 78}, {10, 53}, {19, 10}};

	sim_start(1, 1000);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct task t = with_nice(golden[i].nice);

		CHECK_EQ(time_slice(&t), golden[i].ms);
	}
	sim_start(1, 100);
	CHECK_EQ(k.slice[0], 20);
	CHECK_EQ(k.slice[20], 10);
	CHECK_EQ(k.slice[39], 1);
}

static void bonus_steps(void)
{
	struct task t = with_nice(0);

	sim_start(1, 1000);
	for (u32 s = 0; s <= 10000; s += 50) {
		o1(&t)->sleep_avg = s;
		CHECK_EQ(effective_prio(&t), 125 - (int)(s / 1000));
	}
	o1(&t)->sleep_avg = 9999;
	CHECK_EQ(effective_prio(&t), 116); /* +5 only at exactly 10 s */
	t.nice = -20;
	CHECK_EQ(effective_prio(&t), 100); /* clamped */
	t.nice = 19;
	o1(&t)->sleep_avg = 0;
	CHECK_EQ(effective_prio(&t), 139);
	t.class = SCHED_FIFO;
	t.rt_priority = 1;
	CHECK_EQ(effective_prio(&t), 98);
	t.rt_priority = 99;
	CHECK_EQ(effective_prio(&t), 0);
}

static void interactive_thresholds(void)
{
	static const struct {
		int nice, delta, seconds;
	} golden[] = {
		{-20, -3, 2}, {-10, 0, 5}, {-5, 1, 6},	{0, 2, 7},
		{5, 3, 8},    {10, 4, 9},  {15, 5, 10}, {19, 6, 11},
	};

	sim_start(1, 1000);
	for (unsigned i = 0; i < ARRAY_SIZE(golden); i++) {
		struct task t = with_nice(golden[i].nice);
		u32 s;

		CHECK_EQ(t.nice * k.bonus_levels / USER_PRIOS + k.interactive_delta,
			 golden[i].delta);
		for (s = 0; s <= 10000; s++) {
			o1(&t)->sleep_avg = s;
			t.prio = effective_prio(&t);
			if (interactive(&t))
				break;
		}
		CHECK_EQ(s, golden[i].seconds <= 10 ? golden[i].seconds * 1000
						    : 10001); /* nice +19: never */
	}
	sched_set_tunable("force_bonus0", 1);
	for (int nice = -9; nice <= 19; nice++) {
		struct task t = with_nice(nice);

		o1(&t)->sleep_avg = 10000;
		t.prio = effective_prio(&t);
		CHECK_EQ(t.prio, 120 + nice);
		CHECK(nice < -4 || !interactive(&t));
	}
	sched_set_tunable("force_bonus0", 0);
}

static void sleep_credit(void)
{
	struct task *t = one_running(1000, true);

	for (unsigned sleep = 0; sleep < 5; sleep++) {
		o1(t)->sleep_avg = 100;
		sim_block(TASK_INTERRUPTIBLE);
		CHECK(current_task() == sim_rq(0)->idle);
		sim_skip(sleep);
		CHECK(task_wake(t, TASK_NORMAL, 0));
		schedule();
		CHECK(current_task() == t);
		/* Below two tick boundaries nothing is earned. */
		CHECK_EQ(o1(t)->sleep_avg, 100 + (sleep > 1 ? sleep - 1 : 0));
	}
	/* The priority follows at once, and the maximum is kept. */
	sim_block(TASK_UNINTERRUPTIBLE);
	sim_skip(20000);
	task_wake(t, TASK_NORMAL, 0);
	CHECK_EQ(o1(t)->sleep_avg, 10000);
	CHECK_EQ(t->prio, 115);
	schedule();
	/* A sync wake-up earns nothing. */
	o1(t)->sleep_avg = 0;
	sim_block(TASK_INTERRUPTIBLE);
	sim_skip(5000);
	task_wake(t, TASK_NORMAL, WAKE_SYNC);
	CHECK_EQ(o1(t)->sleep_avg, 0);
	CHECK_EQ(t->prio, 115); /* not recomputed */
	schedule();
	CHECK(current_task() == t);
}

static void ticks_consume(void)
{
	struct task *t = one_running(1000, true);

	o1(t)->sleep_avg = 3;
	t->prio = 120;
	for (int i = 0; i < 5; i++)
		sim_ticks(1);
	CHECK_EQ(o1(t)->sleep_avg, 0); /* and stays there */
	CHECK_EQ(t->prio, 120);	       /* not recomputed before the slice ends */
	CHECK_EQ(o1(t)->time_slice, 97);
	sim_ticks(97);
	CHECK_EQ(t->prio, 125);
	CHECK_EQ(o1(t)->time_slice, 102);
	CHECK_EQ(t->ticks_billed, 102);
}

/* "Hog with full sleep_avg loses interactive status after 3 s of CPU." */
static void full_hog_loses_status_in_3s(void)
{
	struct task *t = one_running(1000, true);
	unsigned ms = 0;

	o1(t)->sleep_avg = 10000;
	t->prio = 115;
	while (interactive(t) && ms < 20000) {
		sim_ticks(1);
		ms++;
	}
	/* 10000 -> below 7000, seen at the next slice end */
	CHECK(ms > 3000 && ms <= 3000 + 102);
}

/* 2 ms of work every 50 ms: +45 per turn, interactive (7 s of sleep_avg) after about 8 s. */
static void audio_is_learned_in_8s(void)
{
	struct task *t = one_running(1000, true);
	unsigned ms = 0;

	while (!(o1(t)->sleep_avg >= 7000) && ms < 60000) {
		sim_ticks(2);
		sim_block(TASK_INTERRUPTIBLE);
		sim_ticks(48);
		task_wake(t, TASK_NORMAL, 0);
		schedule();
		ms += 50;
	}
	CHECK(ms >= 7500 && ms <= 8100);
	CHECK_EQ(t->prio, 118);
}

static void expiry(void)
{
	struct task *a = one_running(1000, true), *b = sim_spawn(0);

	CHECK(current_task() == a);
	CHECK(o1(a)->array == q_of(0)->active);
	sim_ticks(102);
	CHECK(current_task() == b); /* a expired */
	CHECK(o1(a)->array == q_of(0)->expired);
	CHECK(q_of(0)->expired_timestamp != 0);
	sim_ticks(102);
	CHECK(current_task() == a); /* arrays changed places */
	CHECK(o1(a)->array == q_of(0)->active);
	CHECK_EQ(q_of(0)->expired_timestamp, 0);
	/* No round robin inside a slice. */
	sim_ticks(101);
	CHECK(current_task() == a);
	sim_ticks(1);
	CHECK(current_task() == b);
	CHECK_EQ(a->nr_involuntary + b->nr_involuntary, 3);
}

static void interactive_reinsertion(void)
{
	struct task *hog = one_running(1000, true), *i;

	sim_ticks(102); /* alone: it expires and comes back by the swap */
	i = sim_spawn(0);
	o1(i)->sleep_avg = 10000;
	o1_set_attr(sim_rq(0), i, 0, SCHED_OTHER, 0);
	array_del(i);
	i->prio = effective_prio(i);
	array_add(q_of(0)->active, i);
	schedule();
	CHECK(current_task() == i);
	/* It keeps the CPU over slice ends while it is interactive: 3 s. */
	sim_ticks(2900);
	CHECK(current_task() == i);
	CHECK(o1(i)->array == q_of(0)->active);
	sim_ticks(204);
	CHECK(current_task() == hog);
	CHECK(o1(i)->array == q_of(0)->expired);
}

static void starvation_limit_ends_it(void)
{
	struct task *hog = one_running(1000, true), *i = sim_spawn(0);
	unsigned ms = 0;

	sched_set_tunable("starvation_limit", 100);
	sim_ticks(102);
	CHECK(current_task() == i);
	CHECK(o1(hog)->array == q_of(0)->expired);
	CHECK_EQ(q_of(0)->expired_timestamp, sim_rq(0)->jiffies);
	/*
	 * Whatever its credit, it is expired at the first slice end at or after 100 ms x 2 tasks + 1. It is alone in the
	 * active array, so the arrays change places: the hog is in the active one again.
	 */
	while (o1(hog)->array == q_of(0)->expired && ms < 5000) {
		o1(i)->sleep_avg = 10000;
		sim_ticks(1);
		ms++;
	}
	CHECK_EQ(ms, 204);
	CHECK(o1(i)->array == q_of(0)->active);
	CHECK_EQ(q_of(0)->expired_timestamp, 0);
	sched_set_tunable("starvation_limit", 10000);
	CHECK_EQ(k.starvation, 10000);
}

/* The bound is 10 s for each runnable task. */
static void starvation_formula(void)
{
	struct runq *rq;

	one_running(1000, true);
	rq = sim_rq(0);
	q_of(0)->expired_timestamp = rq->jiffies;
	sim_skip(10000);
	rq_clock_update(rq, sim_now);
	CHECK(!expired_starving(rq, q_of(0)));
	sim_skip(1);
	rq_clock_update(rq, sim_now);
	CHECK(expired_starving(rq, q_of(0)));
	sim_spawn(0);
	CHECK(!expired_starving(rq, q_of(0)));
	q_of(0)->expired_timestamp = 0;
	sim_skip(1000000);
	rq_clock_update(rq, sim_now);
	CHECK(!expired_starving(rq, q_of(0)));
}

/* A task that slept 20 s and then spins keeps four workers off for about 3 s. */
static void sleeper_turned_hog_gap(void)
{
	struct task *s = one_running(1000, true), *w[4];
	u64 gap = 0, last;

	sim_block(TASK_INTERRUPTIBLE);
	for (int i = 0; i < 4; i++)
		w[i] = sim_spawn(0);
	sim_ticks(20000);
	CHECK(current_task() != s);
	task_wake(s, TASK_NORMAL, 0);
	last = sim_now;
	for (int ms = 0; ms < 6000; ms++) {
		sim_ticks(1);
		for (int i = 0; i < 4; i++)
			if (current_task() == w[i])
				last = sim_now;
		gap = max(gap, sim_now - last);
	}
	CHECK(gap > 2900 * NSEC_PER_MSEC && gap < 3300 * NSEC_PER_MSEC);
}

static void fork_rules(void)
{
	struct task *p = one_running(1000, true), *other = sim_spawn(0), *c, *c2;

	o1(p)->sleep_avg = 4000;
	o1(p)->time_slice = 101;
	c = sim_fork(true);
	/* The child runs first, at the parent's priority and before it. */
	CHECK(current_task() == c);
	CHECK_EQ(o1(c)->time_slice, 51);
	CHECK_EQ(o1(p)->time_slice, 50);
	CHECK_EQ(o1(c)->sleep_avg, 2000); /* CHILD_PENALTY 50 % */
	CHECK_EQ(o1(p)->sleep_avg, 4000); /* PARENT_PENALTY 100 % */
	CHECK_EQ(c->prio, p->prio);
	CHECK(o1(c)->link.next == &o1(p)->link);
	CHECK_EQ(o1(c)->first_time_slice, 1);
	CHECK_EQ(o1(p)->first_time_slice, 0);
	CHECK_EQ(sim_rq(0)->nr_running, 3);
	sim_check("fork");
	/* vfork: no reschedule. */
	c2 = sim_fork(false);
	CHECK(current_task() == c);
	CHECK_EQ(o1(c2)->time_slice + o1(c)->time_slice, 51);
	CHECK(o1(other)->array == q_of(0)->active);
}

/* A parent with one tick left gives it to the child and expires at once. */
static void fork_last_tick(void)
{
	struct task *p = one_running(1000, true), *other = sim_spawn(0), *c;

	o1(p)->time_slice = 1;
	c = sim_fork(false);
	CHECK_EQ(o1(c)->time_slice, 1);
	CHECK_EQ(o1(p)->time_slice, 102);
	CHECK(o1(p)->array == q_of(0)->expired);
	CHECK(o1(c)->array == q_of(0)->expired); /* in the parent's own list, as it was */
	CHECK(current_task() == other);
	sim_check("fork");
}

static void exit_rules(void)
{
	struct task *p = one_running(1000, true), *c;

	/* In its first slice: what is left goes back. */
	o1(p)->time_slice = 100;
	o1(p)->sleep_avg = 8000;
	c = sim_fork(true);
	CHECK(current_task() == c);
	sim_ticks(10);
	CHECK_EQ(o1(c)->time_slice, 40);
	CHECK_EQ(o1(c)->sleep_avg, 3990);
	sim_exit();
	CHECK(current_task() == p);
	sched_reap(c, p);
	CHECK_EQ(o1(p)->time_slice, 90);
	CHECK_EQ(o1(p)->sleep_avg, (8000 * 3 + 3990) / 4); /* EXIT_WEIGHT 3 */

	/* Capped at MAX_TIMESLICE; a better child does not raise its parent. */
	c = sim_fork(true);
	o1(c)->time_slice = 199;
	o1(c)->sleep_avg = 9000;
	sim_exit();
	sched_reap(c, p);
	CHECK_EQ(o1(p)->time_slice, 200);
	CHECK_EQ(o1(p)->sleep_avg, 6997);

	/* After its first slice: nothing. */
	o1(p)->time_slice = 100;
	c = sim_fork(true);
	sim_ticks(60);
	CHECK_EQ(o1(c)->first_time_slice, 0);
	while (current_task() != c)
		sched_yield_current();
	sim_exit();
	CHECK(current_task() == p);
	o1(p)->time_slice = 7;
	sched_reap(c, p);
	CHECK_EQ(o1(p)->time_slice, 7);
}

static void yield_rules(void)
{
	struct task *a = one_running(1000, true), *b = sim_spawn(0), *r, *s;
	s32 slice = o1(a)->time_slice;

	sched_yield_current();
	CHECK(current_task() == b);
	CHECK(o1(a)->array == q_of(0)->expired);
	CHECK_EQ(o1(a)->time_slice, slice);
	CHECK_EQ(q_of(0)->expired_timestamp, 0); /* yield does not start the starvation clock */
	sched_yield_current();
	CHECK(current_task() == a);

	/* Real time: to the end of its own list. */
	r = sim_kthread(0);
	s = sim_kthread(0);
	sched_set_class(r, SCHED_FIFO, 10);
	sched_set_class(s, SCHED_FIFO, 10);
	sched_wake_new(r);
	sched_wake_new(s);
	schedule();
	CHECK(current_task() == r);
	sched_yield_current();
	CHECK(current_task() == s);
	CHECK(o1(r)->array == q_of(0)->active);
	sched_yield_current();
	CHECK(current_task() == r);
}

static void preemption_rules(void)
{
	struct task *a = one_running(1000, true), *b = sim_spawn(0);

	schedule();
	CHECK(current_task() == a);
	sim_ticks(102);
	CHECK(current_task() == b);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == a);
	/* Equal priority does not preempt. */
	o1(b)->sleep_avg = 0;
	b->prio = a->prio;
	task_wake(b, TASK_NORMAL, 0);
	CHECK(!need_resched());
	sim_ticks(102);
	CHECK(current_task() == b);
	sim_block(TASK_INTERRUPTIBLE);
	/* Better does. */
	b->prio = a->prio - 1;
	o1(b)->stamp = sim_rq(0)->jiffies;
	task_wake(b, TASK_NORMAL, 0);
	CHECK(need_resched());
	sched_user_exit();
	CHECK(current_task() == b);
	sim_block(TASK_INTERRUPTIBLE);
	/* Not with a sync wake-up. */
	task_wake(b, TASK_NORMAL, WAKE_SYNC);
	CHECK(!need_resched());
	CHECK(current_task() == a);
}

/* A task that ends its slice in the expired array and sleeps wakes in the active one. */
static void wakes_into_active(void)
{
	struct task *a = one_running(1000, true), *b = sim_spawn(0);

	irq_disable();
	spin_lock_raw(sim_rq(0)->lock);
	o1(a)->time_slice = 1;
	CHECK(o1_tick(sim_rq(0), a));
	CHECK(o1_tick(sim_rq(0),
		      a)); /* expired but not switched off yet: asks again, charges nothing */
	CHECK_EQ(o1(a)->time_slice, 102);
	spin_unlock_raw(sim_rq(0)->lock);
	irq_enable();
	CHECK(o1(a)->array == q_of(0)->expired);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == b);
	task_wake(a, TASK_NORMAL, 0);
	CHECK(o1(a)->array == q_of(0)->active);
}

static void nice_rules(void)
{
	struct task *a = one_running(1000, true), *b = sim_spawn(0);

	o1(a)->sleep_avg = 10000;
	a->prio = a->prio;
	sched_set_nice(a, 5);
	CHECK_EQ(a->prio, 125); /* the bonus is gone until the next computation */
	CHECK_EQ(a->nice, 5);
	CHECK(need_resched()); /* the running task */
	sched_user_exit();
	/* Improving a waiting task does not preempt. */
	schedule();
	machine_clear_need_resched();
	sched_set_nice(current_task() == a ? b : a, -20);
	CHECK(!need_resched());
	sched_set_nice(b, 100);
	CHECK_EQ(b->nice, 19);
	sched_set_nice(b, -100);
	CHECK_EQ(b->nice, -20);
	sim_check("nice");
}

static void class_rules(void)
{
	struct task *a = one_running(1000, true), *f, *r, *r2;

	CHECK_EQ(sched_set_class(a, SCHED_FIFO, 0), -22);
	CHECK_EQ(sched_set_class(a, SCHED_FIFO, 100), -22);
	CHECK_EQ(sched_set_class(a, SCHED_OTHER, 1), -22);
	CHECK_EQ(sched_set_class(a, 3, 1), -22);

	/* FIFO preempts OTHER and has no slice. */
	f = sim_kthread(0);
	sched_set_class(f, SCHED_FIFO, 50);
	CHECK_EQ(f->prio, 49);
	sched_wake_new(f);
	CHECK(need_resched());
	sched_user_exit();
	CHECK(current_task() == f);
	sim_ticks(1000);
	CHECK(current_task() == f);

	/* RR of the same priority takes turns by slices, behind FIFO's turn. */
	r = sim_kthread(0);
	r2 = sim_kthread(0);
	sched_set_class(r, SCHED_RR, 50);
	sched_set_class(r2, SCHED_RR, 50);
	sched_wake_new(r);
	sched_wake_new(r2);
	CHECK(!need_resched());
	sched_yield_current();
	CHECK(current_task() == r);
	sim_ticks(102);
	CHECK(current_task() == r2);
	sim_ticks(101);
	CHECK(current_task() == r2);
	sim_ticks(1);
	CHECK(current_task() == f); /* the list goes round */

	/* Back to OTHER: the running task gives way to the others. */
	sched_set_class(f, SCHED_OTHER, 0);
	CHECK(need_resched());
	sched_user_exit();
	CHECK(current_task() == r);
	sim_check("class");
	/* A waiting task that becomes better preempts. */
	sched_set_class(a, SCHED_FIFO, 99);
	CHECK(need_resched());
	sched_user_exit();
	CHECK(current_task() == a);
}

static void lending(void)
{
	struct task *owner = one_running(1000, true), *w, *hog = sim_spawn(0);

	sched_set_nice(owner, 19);
	sched_user_exit();
	CHECK(current_task() == hog);
	w = sim_kthread(0);
	sched_set_class(w, SCHED_FIFO, 10);
	sched_wake_new(w);
	sched_user_exit();
	CHECK(current_task() == w);
	CHECK(sched_better(w, owner));
	sched_lend(owner, w);
	sim_block(TASK_UNINTERRUPTIBLE);
	CHECK(current_task() == owner); /* at its waiter's priority, ahead of the hog */
	CHECK_EQ(owner->prio, 89);
	sim_ticks(500);
	CHECK(current_task() == owner); /* its slice ends and it goes on */
	sched_unlend(owner);
	CHECK(need_resched());
	task_wake(w, TASK_NORMAL, 0);
	sched_user_exit();
	CHECK(current_task() == w);
	CHECK(owner->prio >= 139);
	sim_check("lend");
}

static void sync_wake_moves(void)
{
	struct task *a, *b;

	sim_start(2, 1000);
	a = sim_spawn(0);
	schedule();
	b = sim_kthread(1);
	sched_wake_new(b);
	sim_deliver(true);
	sim_on(1);
	CHECK(current_task() == b);
	for (int i = 0; i < 2; i++) {
		struct cpumask both = {{3}};

		sched_set_affinity(b, &both);
	}
	sim_block(TASK_INTERRUPTIBLE);
	sim_on(0);
	CHECK(current_task() == a);
	task_wake(b, TASK_NORMAL, WAKE_SYNC);
	CHECK_EQ(b->cpu, 0); /* moved to the waker */
	CHECK(!need_resched());
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == b);
	/* A normal wake-up never moves. */
	sim_on(1);
	task_wake(a, TASK_NORMAL, 0);
	CHECK_EQ(a->cpu, 0);
	/* A sync wake-up of a task that may not come here stays there, and an idle CPU still looks at it. */
	sim_on(0);
	sim_block(TASK_INTERRUPTIBLE);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == sim_rq(0)->idle);
	{
		struct cpumask zero = {{1}};

		sched_set_affinity(b, &zero);
	}
	sim_on(1);
	task_wake(b, TASK_NORMAL, WAKE_SYNC);
	CHECK_EQ(b->cpu, 0);
	sim_check("sync");
	sim_deliver(true);
	CHECK(sim_on(0) == b);
}

static void tunables(void)
{
	sim_start(1, 1000);
	CHECK_EQ(sched_set_tunable("nonsense", 1), -2);
	CHECK_EQ(sched_set_tunable("child_penalty", 101), -22);
	CHECK_EQ(sched_set_tunable("child_penalty", -1), -22);
	CHECK_EQ(k.cache_decay, 5);
	CHECK_EQ(sched_set_tunable("cache_decay_ticks", 7), 0);
	CHECK_EQ(k.cache_decay, 7);
	CHECK_EQ(sched_set_tunable("max_sleep_avg", 2000), 0);
	CHECK_EQ(k.max_sleep_avg, 2000);
	CHECK(sched_tunable_by_name("force_bonus0") != NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(o1_tunables); i++) {
		const struct tunable *t = &o1_tunables[i];

		CHECK(t->min <= t->def && t->def <= t->max && t->unit && t->source);
		CHECK_EQ(sched_set_tunable(t->name, t->def), 0);
	}
}

/* ------------------------------------------------------------ balancing */

/* One busy balancing of CPU 0 with steady histories. Return: tasks pulled. */
static u64 busy_balance(unsigned mine, unsigned theirs)
{
	sim_start(2, 1000);
	fill(0, mine);
	fill(1, theirs);
	return busy_pass();
}

/* The smaller of now and last look counts for others, the larger for itself. */
static void busy_smoothing(void)
{
	struct runq *rq;

	for (unsigned round = 0; round < 3; round++) {
		sim_start(2, 1000);
		fill(0, 1);
		fill(1, 4);
		sim_on(0);
		rq = sim_rq(0);
		rq->histories_stale = 0;
		rq->prev_load[0] = round == 1 ? 3 : 1;
		rq->prev_load[1] = round == 2 ? 1 : 4;
		for (unsigned turn = 0; turn < 2; turn++) {
			rq->next_balance = rq->jiffies;
			irq_disable();
			spin_lock_raw(rq->lock);
			balance_tick(rq, false);
			spin_unlock_raw(rq->lock);
			irq_enable();
			if (turn == 0)
				CHECK_EQ(rq->pulls, round == 0 ? 1 : 0);
		}
		CHECK_EQ(rq->pulls,
			 1); /* the second look sees a steady machine; 3:2 is left alone */
	}
}

/* An idle CPU takes exactly one, and none that ran a moment ago (as published). */
static void idle_pull_rules(void)
{
	struct runq *rq;

	sim_start(2, 1000);
	fill(1, 4);
	sim_on(0);
	rq = sim_rq(0);
	irq_disable();
	spin_lock_raw(rq->lock);
	balance_pull_idle(rq);
	CHECK_EQ(rq->pulls, 0); /* all warm: stamp is now */
	sim_skip(5);
	rq_clock_update(rq, sim_now);
	balance_pull_idle(rq);
	CHECK_EQ(rq->pulls, 0); /* exactly cache_decay: still warm */
	sim_skip(1);
	rq_clock_update(rq, sim_now);
	balance_pull_idle(rq);
	CHECK_EQ(rq->pulls, 1);
	CHECK_EQ(sim_rq(1)->nr_running, 3);
	spin_unlock_raw(rq->lock);
	irq_enable();
	sim_deliver(true);
	schedule();
	sim_check("idle pull");

	/* hot_rule 2, as intended: the idle CPU takes warm tasks, the busy one does not. */
	sim_start(2, 1000);
	sched_set_tunable("hot_rule", 2);
	fill(1, 4);
	sim_on(0);
	schedule();
	CHECK_EQ(sim_rq(0)->pulls, 1);
	CHECK_EQ(busy_balance(1, 3), 1); /* sim_start() restores the defaults */
	sched_set_tunable("hot_rule", 1);
	sim_check("hot rule");
}

/* Expired first, best priority first, from the tail; never the running task; never against affinity; lands in active. */
static void steal_order(void)
{
	struct task *t[5];
	struct cpumask both = {{3}};

	sim_start(2, 1000);
	sim_on(1);
	for (int i = 0; i < 5; i++) {
		t[i] = sim_spawn(1);
		if (i != 2)
			sched_set_affinity(t[i], &both);
	}
	schedule();
	CHECK(current_task() == t[0]);
	/* t[1], t[2] and t[3] into the expired array, t[3] a level better. */
	for (int i = 1; i <= 3; i++) {
		array_del(t[i]);
		t[i]->prio = i == 3 ? 124 : 125;
		array_add(q_of(1)->expired, t[i]);
	}
	host_cpus[1].resched_due = ~0ull;
	sim_skip(100);
	sim_on(0);
	schedule();
	CHECK(current_task() == t[3]);
	CHECK(o1(t[3])->array == q_of(0)->active);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == t[1]); /* not t[2]: pinned */
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == t[4]); /* then the active array; not t[0]: running */
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == sim_rq(0)->idle);
	sim_check("steal order");
}

/* need_resched for a pulled task of equal priority only if its slice is longer. */
static void pull_preempts(void)
{
	for (int longer = 0; longer < 2; longer++) {
		struct task *a;

		sim_start(2, 1000);
		fill(0, 1);
		fill(1, 3);
		a = sim_on(0);
		schedule();
		a = current_task();
		o1(a)->time_slice = longer ? 50 : 102;
		sim_rq(0)->histories_stale = 0;
		sim_rq(0)->prev_load[0] = 1;
		sim_rq(0)->prev_load[1] = 3;
		sim_rq(0)->next_balance = sim_rq(0)->jiffies;
		irq_disable();
		spin_lock_raw(sim_rq(0)->lock);
		machine_clear_need_resched();
		balance_tick(sim_rq(0), false);
		spin_unlock_raw(sim_rq(0)->lock);
		irq_enable();
		CHECK_EQ(sim_rq(0)->pulls, 1);
		CHECK_EQ(need_resched(), longer);
	}
}

/* Everything is counted and nothing comes of it: static priorities, and interactive only where the delta is 0 or less. */
static void nobonus_rules(void)
{
	struct task *t;

	sim_start(1, 1000);
	for (int nice = -20; nice <= 19; nice++) {
		struct task n = with_nice(nice);

		o1(&n)->sleep_avg = 10000;
		n.prio = effective_prio(&n);
		CHECK_EQ(n.prio, 120 + nice);
		CHECK_EQ(interactive(&n), nice <= -8);
	}
	t = one_running(1000, true);
	sim_block(TASK_INTERRUPTIBLE);
	sim_skip(20000);
	task_wake(t, TASK_NORMAL, 0);
	CHECK_EQ(o1(t)->sleep_avg, 10000);
	CHECK_EQ(t->prio, 120);
	schedule();
	sim_spawn(0);
	sim_ticks(102);
	CHECK(o1(t)->array == q_of(0)->expired);
	sched_set_tunable("force_bonus0", 0);
	CHECK_EQ(effective_prio(t), 116);
}

void nobonus_tests(void)
{
	sim_policy = "nobonus";
	TEST(nobonus_rules);
}

void o1_tests(void)
{
	sim_policy = "o1";
	TEST(slices);
	TEST(bonus_steps);
	TEST(interactive_thresholds);
	TEST(sleep_credit);
	TEST(ticks_consume);
	TEST(full_hog_loses_status_in_3s);
	TEST(audio_is_learned_in_8s);
	TEST(expiry);
	TEST(interactive_reinsertion);
	TEST(starvation_limit_ends_it);
	TEST(starvation_formula);
	TEST(sleeper_turned_hog_gap);
	TEST(fork_rules);
	TEST(fork_last_tick);
	TEST(exit_rules);
	TEST(yield_rules);
	TEST(preemption_rules);
	TEST(wakes_into_active);
	TEST(nice_rules);
	TEST(class_rules);
	TEST(lending);
	TEST(sync_wake_moves);
	TEST(tunables);
	TEST(busy_smoothing);
	TEST(idle_pull_rules);
	TEST(steal_order);
	TEST(pull_preempts);
}

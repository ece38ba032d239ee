/* SPDX-License-Identifier: MIT
 *
 * Self-tests of migration: tens of thousands of random moves with a checker, and the race of the -J2 scheduler's two
 * published orders, which must fail with them (test knob) and pass with ours, at preempt=full and none.
 */
#include "sched/internal.h"

#include "lib/string.h"
#include "selftest/selftest.h"

#define MOVERS_MAX  16
#define MOVES_TOTAL 20000

static unsigned online_cpus(void)
{
	unsigned cpu, n = 0;

	for_each_cpu_in(cpu, &sched_online) n++;
	return n;
}

static struct cpumask only(unsigned cpu)
{
	struct cpumask m = {{0}};

	cpumask_set(&m, cpu);
	return m;
}

/* The checker: a queued task is on the queue that its CPU number names. */
static bool consistent(struct task *t)
{
	u64 irq = irq_save();
	struct runq *rq = task_rq_lock(t);
	bool ok = t->on_rq != ON_RQ_QUEUED || sched_policy->holds(rq, t);

	spin_unlock_raw(rq->lock);
	irq_restore(irq);
	return ok;
}

/*
 * The current task runs where its mask says, or has been asked to move: the test may have sent it elsewhere just now. Under the lock, for
 * mask and request are set together.
 */
static bool allowed_here(void)
{
	struct task *me = current_task();
	u64 irq = irq_save();
	struct runq *rq = task_rq_lock(me);
	bool ok = rq->cpu == cpu_index() &&
		  (cpumask_test(&me->affinity, rq->cpu) || me->migrate_request);

	spin_unlock_raw(rq->lock);
	irq_restore(irq);
	return ok;
}

/* --------------------------------------------------------- random moves */

struct mover {
	struct task *task;
	u32 seed, moves, wrong_cpu, wrong_queue;
	volatile bool done;
};

static void move_about(void *arg)
{
	struct mover *m = arg;
	struct task *me = current_task();
	u64 rng = m->seed;
	unsigned ncpus = online_cpus();

	for (u32 i = 0; i < m->moves; i++) {
		struct cpumask mask;
		unsigned cpu;

		rng = rng * 6364136223846793005ull + 1442695040888963407ull;
		mask = only(cpu = (unsigned)(rng >> 33) % ncpus);
		if (sched_set_affinity(me, &mask))
			m->wrong_cpu++;
		if (!allowed_here())
			m->wrong_cpu++;
		if (!consistent(me))
			m->wrong_queue++;
		if (need_resched())
			schedule();
	}
	m->done = true;
}

SELFTEST(migrate_random_moves)
{
	static struct mover movers[MOVERS_MAX];
	unsigned ncpus = online_cpus(), n = min(2 * ncpus, (unsigned)MOVERS_MAX);
	u64 rng = machine_random(), pushed = 0, deadline = machine_now() + 50 * NSEC_PER_SEC;
	bool left = true;

	memset(movers, 0, sizeof(movers));
	for (unsigned i = 0; i < n; i++) {
		movers[i].seed = (u32)machine_random();
		movers[i].moves = MOVES_TOTAL / n;
		movers[i].task = selftest_spawn(move_about, &movers[i], "mover");
		if (!EXPECT(movers[i].task != NULL))
			return;
	}
	/* Move them from outside as well: running, queued, asleep or in transit, as it comes. */
	while (left && machine_now() < deadline) {
		left = false;
		for (unsigned i = 0; i < n; i++) {
			struct cpumask mask;

			rng = rng * 6364136223846793005ull + 1442695040888963407ull;
			mask = only((unsigned)(rng >> 33) % ncpus);
			if (movers[i].done)
				continue;
			left = true;
			EXPECT_EQ(sched_set_affinity(movers[i].task, &mask), 0);
			EXPECT(consistent(movers[i].task));
			pushed++;
		}
		selftest_sleep_ns(NSEC_PER_MSEC);
	}
	for (unsigned i = 0; i < n; i++) {
		selftest_join(movers[i].task);
		EXPECT_EQ(movers[i].wrong_cpu, 0);
		EXPECT_EQ(movers[i].wrong_queue, 0);
	}
	selftest_note("%u moves by themselves, %llu by others", n * (MOVES_TOTAL / n),
		      (unsigned long long)pushed);
}

/* ------------------------------------------------------- the -J2 orders */

static struct task *j2_mover, *j2_helper;
static volatile bool j2_stop, j2_ready, j2_go, j2_helper_ready, j2_returned;
static volatile unsigned j2_arrived_on;
static volatile u32 j2_handled_before;
static bool j2_full;

static bool j2_over(u64 since)
{
	return __atomic_load_n(&migrate_test.handled, __ATOMIC_ACQUIRE) != j2_handled_before ||
	       j2_stop || machine_now() - since > NSEC_PER_SEC;
}

/*
 * In the mover's window. At preempt=full a better task is woken and preempts the mover, as any interrupt might do. At
 * preempt=none it gives way of its own accord, as any call that blocks would do. Either way it is switched out while the other
 * CPU handles the hand-over.
 */
static void j2_window(void)
{
	u64 start = machine_now();

	if (j2_full) {
		task_wake(j2_helper, TASK_NORMAL, 0);
		preempt_point();
		return;
	}
	/* Once is enough to move with our order. Else until the other CPU has seen it not running: a yield may come back at once. */
	do
		sched_yield_current();
	while (migrate_test.order != MIGRATE_INBOUND && !j2_over(start));
}

static void j2_mover_fn(void *arg)
{
	struct cpumask here = only(0), there = only(1);

	sched_set_affinity(current_task(), &here);
	j2_ready = true;
	while (!j2_go) {
		if (need_resched())
			schedule();
		selftest_sleep_ns(NSEC_PER_MSEC / 4);
	}
	sched_set_affinity(current_task(), &there);
	preempt_disable();
	j2_arrived_on = cpu_index();
	preempt_enable();
	j2_returned = true;
}

/*
 * Not a pause in every turn: under an instruction clock it costs much and lets no time pass. Not none at all: a CPU whose turns all end
 * at timer deadlines may keep the next one from ever taking its interrupts (as in idle.c).
 */
static void spin_a_while(void)
{
	for (unsigned i = 0; i < 1000; i++)
		barrier();
	cpu_relax();
}

/* Keeps CPU 0 from the mover while the hand-over is handled. */
static void j2_helper_fn(void *arg)
{
	struct cpumask here = only(0);
	u64 start;

	sched_set_affinity(current_task(), &here);
	if (j2_full) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		j2_helper_ready = true;
		schedule();
	}
	j2_helper_ready = true;
	if (j2_full) {
		start = machine_now();
		/* With our order nobody counts; the mover is gone or not, so a moment is enough. */
		while (!j2_over(start) && (migrate_test.order != MIGRATE_INBOUND ||
					   machine_now() - start < NSEC_PER_MSEC))
			spin_a_while();
		return;
	}
	while (!j2_stop) {
		spin_a_while();
		if (need_resched())
			schedule();
	}
}

/* Return: whether the mover got to CPU 1 and no queue was wrong on the way. */
static bool hand_over_works(enum migrate_order order, bool full)
{
	bool was_full = sched_preempt_full, works;
	u64 start;

	j2_full = full;
	j2_stop = j2_ready = j2_go = j2_helper_ready = j2_returned = false;
	j2_arrived_on = MAX_CPUS;
	migrate_test.trips = migrate_test.dead_ends = 0;
	sched_preempt_full = full;
	j2_mover = selftest_spawn(j2_mover_fn, NULL, "j2 mover");
	if (!EXPECT(j2_mover != NULL))
		goto out;
	j2_helper = selftest_spawn(j2_helper_fn, NULL, "j2 helper");
	if (!EXPECT(j2_helper != NULL)) {
		j2_go = true;
		selftest_join(j2_mover);
		goto out;
	}
	if (full)
		sched_set_class(j2_helper, SCHED_FIFO, 30);
	while (!j2_ready || !j2_helper_ready || (full && j2_helper->on_rq != ON_RQ_NONE))
		selftest_sleep_ns(NSEC_PER_MSEC);

	j2_handled_before = migrate_test.handled;
	migrate_test.window = j2_window;
	migrate_test.order = order;
	j2_go = true;
	/* It arrives, or it is asleep for good. */
	start = machine_now();
	while (!j2_returned && machine_now() - start < 5 * NSEC_PER_SEC &&
	       !(migrate_test.trips + migrate_test.dead_ends && j2_mover->on_rq == ON_RQ_NONE))
		selftest_sleep_ns(NSEC_PER_MSEC);
	works = j2_returned && j2_arrived_on == 1 && migrate_test.trips == 0;
	migrate_test.order = MIGRATE_INBOUND;
	migrate_test.window = NULL;
	j2_stop = true;
	/* Rescue it. The wake-up is repeated: it may be on its way to sleep only now. */
	start = machine_now();
	while (!j2_returned && machine_now() - start < 10 * NSEC_PER_SEC) {
		task_wake(j2_mover, TASK_UNINTERRUPTIBLE, 0);
		selftest_sleep_ns(NSEC_PER_MSEC);
	}
	task_wake(j2_helper, TASK_UNINTERRUPTIBLE, 0);
	selftest_join(j2_mover);
	selftest_join(j2_helper);
	sched_preempt_full = was_full;
	return works;
out:
	sched_preempt_full = was_full;
	return false;
}

SELFTEST(migrate_our_order_keeps_the_task)
{
	if (online_cpus() < 2) {
		selftest_skip("needs two CPUs");
		return;
	}
	for (int i = 0; i < 3; i++) {
		EXPECT(hand_over_works(MIGRATE_INBOUND, false));
		EXPECT(hand_over_works(MIGRATE_INBOUND, true));
	}
}

/* The same test with the orders of January 2002 must fail, or it tests nothing. */
SELFTEST(migrate_j2_order_loses_the_task)
{
	if (sched_policy->global_queue) {
		selftest_skip("with one queue no task is on the wrong one");
		return;
	}
	if (online_cpus() < 2) {
		selftest_skip("needs two CPUs");
		return;
	}
	EXPECT(!hand_over_works(MIGRATE_J2, false));
	selftest_note("IPI first, preempt=none: %u trips", migrate_test.trips);
	EXPECT(!hand_over_works(MIGRATE_J2, true));
	selftest_note("IPI first, preempt=full: %u trips", migrate_test.trips);
	/* The fix of 25 January: enough without kernel preemption, not with it. */
	EXPECT(hand_over_works(MIGRATE_J2_STATE_FIRST, false));
	EXPECT(!hand_over_works(MIGRATE_J2_STATE_FIRST, true));
	selftest_note("state first, preempt=full: %u trips", migrate_test.trips);
}

/* SPDX-License-Identifier: MIT
 *
 * Tests of the scheduling core on simulated CPUs: sleeping and waking, ticks, tickless idle, affinity in every state a
 * task can be in, migration through the inbound list, the windows in which a lock is dropped, and the published orders of
 * the -J2 scheduler's migration.
 */
#include <string.h>

#include "tests.h"

static const struct cpumask cpu0 = {{1}}, cpu1 = {{2}}, cpu01 = {{3}};

static struct task *run_on(unsigned cpu)
{
	struct task *t;

	sim_on(cpu);
	t = sim_spawn((int)cpu);
	while (current_task() != t) {
		if (current_task() == sim_rq(cpu)->idle)
			schedule();
		else
			sched_yield_current();
	}
	return t;
}

static void start_up(void)
{
	for (unsigned n = 1; n <= 255; n = n < 8 ? n + 1 : n * 2 + 1) {
		sim_start(n, 100 + n);
		sim_check("start");
		CHECK_EQ(sched_jiffies(), 1000);
		for (unsigned cpu = 0; cpu < n; cpu++)
			CHECK(sched_online_cpu(cpu));
		CHECK(!sched_online_cpu(n < 255 ? n : 254) || n == 255);
	}
	CHECK(sched_running);
	CHECK(!strcmp(sched_policy_name(), sim_policy));
}

static void sleep_and_wake(void)
{
	struct task *t;

	sim_start(1, 1000);
	t = run_on(0);
	CHECK(!task_wake(t, TASK_NORMAL, 0)); /* running: nothing to wake */
	sim_block(TASK_INTERRUPTIBLE);
	CHECK_EQ(t->on_rq, ON_RQ_NONE);
	CHECK(!task_wake(t, TASK_UNINTERRUPTIBLE, 0)); /* not in that state */
	CHECK(!task_wake(t, TASK_STOPPED, 0));
	CHECK(task_wake(t, TASK_NORMAL, 0));
	CHECK(!task_wake(t, TASK_NORMAL, 0));
	CHECK(need_resched());
	schedule();
	CHECK(current_task() == t);
	CHECK_EQ(t->nr_voluntary, 1);

	/* Woken between setting its state and schedule(): it never sleeps. */
	set_current_state(TASK_UNINTERRUPTIBLE);
	CHECK(task_wake(t, TASK_NORMAL, 0));
	schedule();
	CHECK(current_task() == t);

	/* A signal forbids an interruptible sleep, and only that. */
	t->signal_pending = 1;
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == t);
	CHECK_EQ(t->state, TASK_RUNNING);
	sim_block(TASK_UNINTERRUPTIBLE);
	CHECK(current_task() == sim_rq(0)->idle);
	task_wake(t, TASK_NORMAL, 0);
	schedule();

	/* Preempted on its way to sleep: it stays runnable until its own schedule(). */
	t->signal_pending = 0;
	set_current_state(TASK_INTERRUPTIBLE);
	sched_preempt_now();
	CHECK(current_task() == t);
	CHECK_EQ(t->on_rq, ON_RQ_QUEUED);
	schedule();
	CHECK(current_task() == sim_rq(0)->idle);
	sim_check("end");
}

static void accounting(void)
{
	struct task *a, *b;
	struct sched_cpu_stats st;

	sim_start(1, 1000);
	a = run_on(0);
	sim_now += 12345;
	CHECK_EQ(sched_task_runtime(a), 12345);
	b = sim_spawn(0);
	sim_now += 5;
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == b);
	CHECK_EQ(a->exec_total, 12350);
	CHECK_EQ(b->wait_total, 5);
	CHECK_EQ(b->wait_max, 5);
	sim_now += 100;
	task_wake(a, TASK_NORMAL, 0);
	sim_now += 7;
	sim_block(TASK_INTERRUPTIBLE);
	CHECK(current_task() == a);
	CHECK_EQ(a->wait_total, 7); /* time asleep is not waiting */
	CHECK_EQ(b->exec_total, 107);
	sim_block(TASK_INTERRUPTIBLE);
	sim_now += 1000;
	sched_cpu_stats(0, &st);
	CHECK_EQ(st.idle_ns, 1000);
	CHECK_EQ(st.busy_ns, 12350 + 107);
	CHECK_EQ(st.nr_running, 0);
	CHECK_EQ(st.current_id, sim_idle[0].id);
	CHECK_EQ(st.nr_switches, sim_rq(0)->nr_switches);
}

static u64 hash_of_run(u64 shift)
{
	u64 n;

	sim_start(2, 1000);
	run_on(0);
	sim_now += shift;
	run_on(1);
	sim_ticks(10);
	sim_block(TASK_INTERRUPTIBLE);
	return sched_switch_hash(&n) + (n == 0);
}

static void switch_hash(void)
{
	u64 a = hash_of_run(0);

	CHECK(a == hash_of_run(0));
	CHECK(a != hash_of_run(1));
	CHECK(a != hash_of_run(100000));
}

static void late_ticks(void)
{
	struct task *a, *b;
	unsigned slice;

	sim_start(1, 1000);
	if (sched_tunable_by_name("granularity"))
		sched_set_tunable("granularity", 10000); /* no turns within a slice */
	a = run_on(0);
	b = sim_spawn(0);
	slice = sched_policy->timeslice(a);
	CHECK(slice > 50);
	sim_ticks(slice - 3);
	sim_advance(sched_tick_ns / 50); /* just past the last but two */
	CHECK(current_task() == a);
	CHECK_EQ(sim_rq(0)->late_ticks, 0);
	/* Ten boundaries pass before one interrupt; the slice ends with the second, eight are late. */
	sim_skip(10);
	sim_tick_cpu(0);
	CHECK(current_task() == b);
	CHECK_EQ(sim_rq(0)->late_ticks, 8);
	CHECK_EQ(sim_rq(0)->jiffies, sim_now / sched_tick_ns);
	/* They are not charged to the next task: its slice is whole. */
	for (unsigned i = 1; i < slice; i++) {
		sim_ticks(1);
		CHECK(current_task() == b);
	}
	sim_ticks(1);
	CHECK(current_task() == a);
	CHECK_EQ(sim_rq(0)->late_ticks, 8);
	/* All of its slice was billed to it. A tick that comes twice within one boundary counts twice: at least one for each interrupt. */
	CHECK_EQ(a->ticks_billed, slice);
	sim_tick_cpu(0);
	sim_tick_cpu(0);
	CHECK_EQ(a->ticks_billed, slice + 2);
}

static void preempt_modes(void)
{
	struct task *t, *f;

	for (int full = 0; full < 2; full++) {
		sim_start(1, 1000);
		sched_preempt_full = full;
		t = run_on(0);
		f = sim_kthread(0);
		sched_set_class(f, SCHED_FIFO, 1);
		preempt_disable();
		sched_wake_new(f);
		CHECK(need_resched());
		CHECK(current_task() == t);
		preempt_enable();
		CHECK(current_task() == (full ? f : t));
		if (!full) {
			/* An interrupt in kernel code does not preempt either; the way to user mode does. */
			irq_disable();
			host_cpus[0].in_irq = true;
			sim_irq_exit(false);
			CHECK(current_task() == t);
			sched_user_exit();
		}
		CHECK(current_task() == f);
		/* Not with the count up, not with interrupts off. */
		sim_block(TASK_INTERRUPTIBLE);
		CHECK(current_task() == t);
		preempt_disable();
		task_wake(f, TASK_NORMAL, 0);
		preempt_check();
		CHECK(current_task() == t);
		irq_disable();
		preempt_enable();
		CHECK(current_task() == t);
		irq_enable();
		schedule();
		CHECK(current_task() == f);
		/* Out of idle an interrupt exit reschedules in every mode. */
		sim_block(TASK_INTERRUPTIBLE);
		sim_block(TASK_INTERRUPTIBLE);
		CHECK(current_task() == sim_rq(0)->idle);
		irq_disable();
		host_cpus[0].in_irq = true;
		task_wake(t, TASK_NORMAL, 0);
		sim_irq_exit(false);
		CHECK(current_task() == t);
		sim_check("preempt");
	}
}

static void remote_wake(void)
{
	struct task *t;
	u64 ipis;

	sim_start(2, 1000);
	t = run_on(1);
	sim_block(TASK_INTERRUPTIBLE);
	sim_on(0);
	ipis = sim_nr_ipis;
	task_wake(t, TASK_NORMAL, 0);
	CHECK_EQ(sim_nr_ipis, ipis + 1);
	CHECK_EQ(t->cpu, 1); /* no search for an idle CPU: it wakes where it ran */
	sim_check("woken");
	sim_deliver(true);
	CHECK(sim_on(1) == t);
	/* Already told: no second IPI. */
	sim_on(0);
	{
		struct task *f = sim_kthread(1), *g = sim_kthread(1);

		sched_set_class(f, SCHED_FIFO, 1);
		sched_set_class(g, SCHED_FIFO, 2);
		ipis = sim_nr_ipis;
		sched_wake_new(f);
		sched_wake_new(g);
		CHECK_EQ(sim_nr_ipis, ipis + 1);
		sim_deliver(true);
		CHECK(sim_on(1) == g);
	}
	sim_check("end");
}

static void tickless(void)
{
	struct task *t[3];

	sim_start(4, 1000);
	sim_ticks(3);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		CHECK(!host_cpus[cpu].tick_on);
	sim_ticks(1000);
	for (unsigned cpu = 0; cpu < 4; cpu++)
		CHECK(host_cpus[cpu].ticks <= 2);
	/* A single task keeps only its own CPU ticking. */
	t[0] = run_on(0);
	CHECK(host_cpus[0].tick_on);
	sim_ticks(50);
	CHECK(host_cpus[0].ticks >= 49);
	CHECK(host_cpus[1].ticks <= 2);
	/* Three tasks: two idle CPUs are woken by CPU 0's tick (its surplus), and no more. */
	sim_on(0);
	t[1] = sim_spawn(-1);
	t[2] = sim_spawn(-1);
	sim_ticks(1);
	sim_on(0);
	CHECK_EQ(host_cpus[1].tick_on + host_cpus[2].tick_on + host_cpus[3].tick_on, 2);
	/* Too warm to be pulled as yet: the woken ones keep looking, and have them within cache_decay and a tick or two. */
	sim_ticks(8);
	CHECK_EQ(sim_rq(0)->nr_running, 1);
	for (unsigned i = 1; i < 3; i++)
		CHECK(sim_rq(t[i]->cpu)->curr == t[i]);
	sim_ticks(3);
	CHECK_EQ(sched_overloaded, 0);
	CHECK_EQ(host_cpus[0].tick_on + host_cpus[1].tick_on + host_cpus[2].tick_on +
			 host_cpus[3].tick_on,
		 3);
	sim_check("tickless");

	/* Work that nobody may take: the idle CPUs go on looking. */
	sim_start(2, 1000);
	run_on(0);
	sim_spawn(0);
	sim_ticks(10);
	CHECK(host_cpus[1].tick_on);
	CHECK(host_cpus[1].ticks >= 8);
}

/* Eight hogs started on CPU 0 and released: nobody idle after 50 ms, queues even after 2 s. */
static void spread(void)
{
	static const unsigned sizes[] = {2, 4, 8};

	for (unsigned s = 0; s < ARRAY_SIZE(sizes); s++) {
		unsigned n = sizes[s];
		struct task *t[16];

		sim_start(n, 1000);
		sim_ticks(100);
		sim_on(0);
		for (unsigned i = 0; i < 2 * n; i++)
			t[i] = sim_spawn(0);
		schedule();
		sim_ticks(500);
		for (unsigned i = 0; i < 2 * n; i++) {
			struct cpumask all = {{(1ull << n) - 1}};

			sim_on(0);
			sched_set_affinity(t[i], &all);
		}
		sim_ticks(50);
		for (unsigned cpu = 0; cpu < n; cpu++)
			CHECK(sim_rq(cpu)->nr_running > 0);
		sim_ticks(1950);
		for (unsigned cpu = 0; cpu < n; cpu++)
			CHECK_EQ(sim_rq(cpu)->nr_running, 2);
		sim_check("spread");
	}
}

/* ------------------------------------------------------------- affinity */

static void affinity_errors(void)
{
	struct task *t;
	struct cpumask none = {{0}}, absent = {{1 << 5}}, mixed = {{1 << 5 | 2}};

	sim_start(2, 1000);
	t = run_on(0);
	CHECK_EQ(sched_set_affinity(t, &none), -22);
	CHECK_EQ(sched_set_affinity(t, &absent), -22);
	CHECK_EQ(sched_set_affinity(&sim_idle[0], &cpu1), -22);
	CHECK_EQ(t->cpu, 0);
	CHECK_EQ(sched_set_affinity(t, &mixed), 0);
	sim_deliver(true);
	CHECK_EQ(t->cpu, 1);
	CHECK_EQ(t->affinity.bits[0], 2);
}

static void affinity_current(void)
{
	struct task *t;

	sim_start(2, 1000);
	t = run_on(0);
	CHECK_EQ(sched_set_affinity(t, &cpu01), 0);
	CHECK(current_task() == t);
	CHECK_EQ(sched_set_affinity(t, &cpu1), 0);
	/* Off CPU 0 before the call returns (what returns here runs as the next task), on its way. */
	CHECK(current_task() == sim_rq(0)->idle);
	CHECK_EQ(t->on_rq, ON_RQ_MIGRATING);
	CHECK_EQ(t->cpu, 1);
	sim_check("in transit");
	sim_deliver(true);
	CHECK(sim_on(1) == t);
	CHECK_EQ(t->nr_migrations, 1);
	sim_check("arrived");
}

static void affinity_running_elsewhere(void)
{
	struct task *t;

	sim_start(3, 1000);
	t = run_on(1);
	sim_on(0);
	CHECK_EQ(sched_set_affinity(t, &cpu0), 0);
	CHECK_EQ(t->migrate_request, 1);
	sim_check("requested");
	CHECK(sim_on(1) == t);
	sim_deliver(true);
	CHECK(sim_on(0) == t);
	CHECK_EQ(t->migrate_request, 0);
	/* A request that is taken back before it is acted on. */
	sim_on(1);
	sched_set_affinity(t, &cpu1);
	CHECK_EQ(t->migrate_request, 1);
	sched_set_affinity(t, &cpu01);
	CHECK_EQ(t->migrate_request, 0);
	sim_deliver(true);
	CHECK(sim_on(0) == t);
	sim_check("end");
}

static void affinity_queued(void)
{
	struct task *a, *b;

	sim_start(2, 1000);
	a = run_on(0);
	b = sim_spawn(0);
	CHECK_EQ(b->on_rq, ON_RQ_QUEUED);
	CHECK_EQ(sched_set_affinity(b, &cpu1), 0);
	CHECK_EQ(b->cpu, 1);
	CHECK_EQ(sim_rq(0)->nr_running, 1);
	CHECK(current_task() == a);
	sim_check("moved");
	sim_deliver(true);
	CHECK(sim_on(1) == b);
}

static void affinity_sleeping(void)
{
	struct task *t;

	sim_start(2, 1000);
	t = run_on(0);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK_EQ(sched_set_affinity(t, &cpu1), 0);
	CHECK_EQ(t->cpu, 1);
	CHECK_EQ(t->state, TASK_INTERRUPTIBLE); /* still asleep */
	task_wake(t, TASK_NORMAL, 0);
	sim_deliver(true);
	CHECK(sim_on(1) == t);
	/* Requested while running, then it sleeps: it wakes on the right CPU. */
	sim_on(0);
	sched_set_affinity(t, &cpu0);
	host_cpus[1].resched_due = ~0ull;
	sim_on(1);
	sim_block(TASK_INTERRUPTIBLE);
	CHECK_EQ(t->on_rq, ON_RQ_NONE);
	task_wake(t, TASK_NORMAL, 0);
	sim_deliver(true);
	CHECK_EQ(t->on_rq, ON_RQ_QUEUED);
	/* It may wake on CPU 1 only to be sent on. */
	for (int i = 0; i < 4 && t->cpu != 0; i++) {
		sim_on(1);
		schedule();
		sim_deliver(true);
	}
	CHECK(sim_on(0) == t);
	sim_check("end");
}

static void affinity_in_transit(void)
{
	struct task *t;

	sim_start(3, 1000);
	t = run_on(0);
	sched_set_affinity(t, &cpu1);
	CHECK_EQ(t->on_rq, ON_RQ_MIGRATING);
	/* While it is on CPU 1's inbound list: elsewhere. The handler sends it on. */
	sim_on(2);
	{
		struct cpumask cpu2 = {{4}};

		CHECK_EQ(sched_set_affinity(t, &cpu2), 0);
	}
	CHECK_EQ(t->cpu, 1);
	sim_check("in transit");
	/* Nice and wake-ups do not disturb it. */
	sched_set_nice(t, 3);
	CHECK(!task_wake(t, TASK_NORMAL, 0));
	sim_deliver(true);
	CHECK(sim_on(2) == t);
	CHECK_EQ(t->nice, 3);
	sim_check("arrived");
}

static void affinity_new(void)
{
	struct task *t, *p;

	sim_start(2, 1000);
	t = sim_kthread(1);
	CHECK_EQ(t->cpu, 1);
	sched_wake_new(t);
	sim_deliver(true);
	CHECK(sim_on(1) == t);
	/* The parent moves between fork and start of the child: the child starts where it may. */
	p = run_on(0);
	{
		struct task *child = &sim_tasks[SIM_MAX_TASKS - 1].task;

		sim_tasks[SIM_MAX_TASKS - 1].used = true;
		child->id = 77;
		child->signal_pending = 0;
		sched_fork(child);
		CHECK_EQ(child->affinity.bits[0], p->affinity.bits[0]);
		sched_set_affinity(child, &cpu1);
		sched_wake_new(child);
		CHECK_EQ(child->cpu, 1);
		sim_deliver(true);
		sim_check("child");
	}
}

/* Migration carries a task that was preempted on its way to sleep. */
static void migrate_half_asleep(void)
{
	struct task *t;

	sim_start(2, 1000);
	t = run_on(0);
	sim_on(1);
	sched_set_affinity(t, &cpu1);
	sim_on(0);
	set_current_state(TASK_INTERRUPTIBLE);
	sched_preempt_now();
	CHECK_EQ(t->on_rq, ON_RQ_MIGRATING);
	CHECK_EQ(t->state, TASK_INTERRUPTIBLE);
	sim_deliver(true);
	CHECK(sim_on(1) == t);
	schedule();
	CHECK_EQ(t->on_rq, ON_RQ_NONE); /* now it sleeps */
	CHECK(task_wake(t, TASK_NORMAL, 0));
	sim_check("end");
}

/* ------------------------------------- the window of the dropped lock */

static struct task *window_task;
static const struct cpumask *window_mask;
static unsigned window_hits;

static bool always(void)
{
	return true;
}

static void window_wake(void)
{
	host_window = NULL;
	window_hits++;
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		if (cpu != window_task->cpu)
			sim_on(cpu);
	if (window_mask)
		sched_set_affinity(window_task, window_mask);
	task_wake(window_task, TASK_NORMAL, WAKE_SYNC);
}

/*
 * The last task of a CPU goes to sleep, the CPU looks for work, drops its lock to take a lower one; in between the task is woken,
 * perhaps with its affinity changed. It is still on its stack there: it must neither be lost nor run elsewhere yet.
 */
static void wake_in_the_window(void)
{
	for (int moved = 0; moved < 2; moved++) {
		unsigned puller, other;

		sim_start(2, 1000);
		puller = sim_rq(0)->lock > sim_rq(1)->lock ? 0 : 1;
		other = 1 - puller;
		window_task = run_on(puller);
		run_on(other);
		sim_spawn((int)other);
		sim_on(puller);
		window_mask = moved ? (other ? &cpu1 : &cpu0) : NULL;
		window_hits = 0;
		host_trylock_fails = always;
		host_window = window_wake;
		sim_block(TASK_INTERRUPTIBLE);
		host_trylock_fails = NULL;
		CHECK_EQ(window_hits, 1);
		sim_deliver(true);
		sim_on(puller);
		sim_check("window");
		CHECK_EQ(window_task->on_rq, ON_RQ_QUEUED);
		CHECK_EQ(window_task->cpu, moved ? other : puller);
	}
}

static void window_shrink(void)
{
	host_window = NULL;
	window_hits++;
	sim_on(window_task->cpu);
	sim_block(TASK_INTERRUPTIBLE);
}

/* 3:1 is worth a pull, 2:1 is not: what the lengths were before the lock was dropped does not count. */
static void shrinks_in_the_window(void)
{
	for (int shrinks = 0; shrinks < 2; shrinks++) {
		struct runq *rq;
		unsigned puller, other;

		sim_start(2, 1000);
		puller = sim_rq(0)->lock > sim_rq(1)->lock ? 0 : 1;
		other = 1 - puller;
		run_on(puller);
		window_task = run_on(other);
		for (int i = 0; i < 2; i++)
			sched_set_affinity(sim_spawn((int)other), &cpu01);
		sim_on(puller);
		rq = sim_rq(puller);
		rq->histories_stale = 0;
		rq->prev_load[puller] = 1;
		rq->prev_load[other] = 3;
		rq->next_balance = rq->jiffies;
		window_hits = 0;
		host_trylock_fails = always;
		host_window = shrinks ? window_shrink : NULL;
		irq_disable();
		spin_lock_raw(rq->lock);
		balance_tick(rq, false);
		spin_unlock_raw(rq->lock);
		irq_enable();
		host_trylock_fails = NULL;
		CHECK_EQ(window_hits, shrinks);
		CHECK_EQ(rq->pulls, 1 - shrinks);
		sim_check("window");
	}
}

/* ------------------------------------------------- how -J2 migrated */

static struct task *j2_mover, *j2_helper;

/* preempt=none: in the window the mover gives way of itself (any blocking or yielding call will do). */
static void j2_window_yield(void)
{
	sched_yield_current();
	sim_deliver(true);
	sim_on(0);
	/* Back to the mover, if it is still here. */
	if (j2_mover->on_rq == ON_RQ_QUEUED && j2_mover->cpu == 0 && current_task() != j2_mover)
		sched_yield_current();
}

/* preempt=full: an interrupt wakes a better task in the window. */
static void j2_window_preempt(void)
{
	irq_disable();
	host_cpus[0].in_irq = true;
	sched_wake_new(j2_helper);
	sim_irq_exit(false);
	CHECK(current_task() == j2_helper);
	sim_deliver(true);
	sim_on(0);
	sim_block(TASK_UNINTERRUPTIBLE);
}

static void j2_window_deliver(void)
{
	sim_deliver(true);
	sim_on(0);
}

/* Return: whether a task that moves itself to CPU 1, switched out in the window, gets there and runs. */
static bool hand_over_works(enum migrate_order order, bool full, void (*window)(void))
{
	bool works;

	sim_start(2, 1000);
	sched_preempt_full = full;
	run_on(0);
	j2_mover = run_on(0);
	j2_helper = sim_kthread(0);
	sched_set_class(j2_helper, SCHED_FIFO, 1);
	migrate_test.order = order;
	migrate_test.window = window;
	sched_set_affinity(j2_mover, &cpu1);
	migrate_test.order = MIGRATE_INBOUND;
	migrate_test.window = NULL;
	sim_deliver(true);
	works = migrate_test.trips == 0 && sim_on(1) == j2_mover && j2_mover->cpu == 1;
	sim_check("hand-over"); /* the machine survives either way */
	return works;
}

static void j2_order_loses_the_task(void)
{
	/* The order of 18 January 2002 fails in both modes; it works only if nothing happens in the window. */
	CHECK(hand_over_works(MIGRATE_J2, false, NULL));
	CHECK(!hand_over_works(MIGRATE_J2, false, j2_window_yield));
	CHECK_EQ(migrate_test.trips, 1);
	CHECK_EQ(j2_mover->state, TASK_UNINTERRUPTIBLE); /* asleep for good */
	CHECK(!hand_over_works(MIGRATE_J2, true, j2_window_preempt));
	CHECK_EQ(migrate_test.trips, 1);
	/* The fix of 25 January sets the state first: right while the kernel is not preempted, wrong when it is. */
	CHECK(hand_over_works(MIGRATE_J2_STATE_FIRST, false, j2_window_yield));
	CHECK(!hand_over_works(MIGRATE_J2_STATE_FIRST, true, j2_window_preempt));
	CHECK_EQ(migrate_test.trips, 1);
}

static void our_order_keeps_the_task(void)
{
	CHECK(hand_over_works(MIGRATE_INBOUND, false, NULL));
	CHECK(hand_over_works(MIGRATE_INBOUND, false, j2_window_yield));
	CHECK(hand_over_works(MIGRATE_INBOUND, true, j2_window_yield));
	CHECK(hand_over_works(MIGRATE_INBOUND, true, j2_window_preempt));
	CHECK(hand_over_works(MIGRATE_INBOUND, true, j2_window_deliver));
}

/* The -J2 handler waits in the interrupt for the task to leave its CPU; ours never waits. */
static void j2_handler_waits(void)
{
	hand_over_works(MIGRATE_J2, false, j2_window_deliver);
	CHECK_EQ(migrate_test.dead_ends, 1);
	CHECK(sim_relaxes >= 100);
	sim_relaxes = 0;
	CHECK(hand_over_works(MIGRATE_INBOUND, false, j2_window_deliver));
	CHECK_EQ(sim_relaxes, 0);
}

void core_tests(void)
{
	TEST(start_up);
	TEST(sleep_and_wake);
	TEST(accounting);
	TEST(switch_hash);
	TEST(late_ticks);
	TEST(preempt_modes);
	TEST(remote_wake);
	TEST(tickless);
	TEST(spread);
	TEST(affinity_errors);
	TEST(affinity_current);
	TEST(affinity_running_elsewhere);
	TEST(affinity_queued);
	TEST(affinity_sleeping);
	TEST(affinity_in_transit);
	TEST(affinity_new);
	TEST(migrate_half_asleep);
	TEST(wake_in_the_window);
	TEST(shrinks_in_the_window);
	TEST(j2_order_loses_the_task);
	TEST(our_order_keeps_the_task);
	TEST(j2_handler_waits);
}

/* SPDX-License-Identifier: MIT
 *
 * Self-tests of the scheduling core on the running machine: wake-ups that must not be lost, queues that must agree with
 * themselves, work that must spread, and a cost that must not grow with the number of tasks. The policy's numbers are
 * tested on the host (tests/host); here the CPUs are real ones.
 *
 * Kernel tasks that only compute must let others run also at preempt=none: they call breathe() in their loops, as a program
 * would be interrupted in user mode.
 */
#include "sched/internal.h"

#include "lib/string.h"
#include "selftest/selftest.h"

/* Virtual time by instruction count (idle=last comes with it): shares are exact, and wall time means nothing. */
#define DETERMINISTIC (sched_idle_mode == IDLE_LAST)
#define MAX_WORKERS   64

static void breathe(void)
{
	static u32 turns; /* of all CPUs, roughly */

	/*
	 * A pause now and then: under an instruction clock a CPU whose turns all end at timer deadlines may keep the next one
	 * from ever taking its interrupts (as in idle.c).
	 */
	if (++turns % 8192 == 0)
		cpu_relax();
	if (need_resched())
		schedule();
}

static unsigned online_cpus(void)
{
	unsigned cpu, n = 0;

	for_each_cpu_in(cpu, &sched_online) n++;
	return n;
}

static void pin(struct task *t, unsigned cpu)
{
	struct cpumask m = {{0}};

	cpumask_set(&m, cpu);
	EXPECT_EQ(sched_set_affinity(t, &m), 0);
}

/* ------------------------------------------------------- sleep and wake */

#define TRIPS 2000

struct player {
	struct task *task;
	struct player *other;
	unsigned cpu;
	volatile u32 balls; /* atomic */
	u32 played;
};

/* Wait for a ball the way every sleeper in the kernel does, with nothing but the scheduler's own calls. */
static void play(void *arg)
{
	struct player *me = arg;

	pin(current_task(), me->cpu);
	for (u32 i = 0; i < TRIPS; i++) {
		for (;;) {
			set_current_state(TASK_UNINTERRUPTIBLE);
			if (__atomic_load_n(&me->balls, __ATOMIC_SEQ_CST))
				break;
			schedule();
		}
		set_current_state(TASK_RUNNING);
		__atomic_fetch_sub(&me->balls, 1, __ATOMIC_SEQ_CST);
		me->played++;
		__atomic_fetch_add(&me->other->balls, 1, __ATOMIC_SEQ_CST);
		/* The last ball of all is caught by nobody: its receiver has ended and may be gone. */
		if (READ_ONCE(me->other->played) < TRIPS)
			task_wake(READ_ONCE(me->other->task), TASK_NORMAL, i % 3 ? 0 : WAKE_SYNC);
		preempt_point();
	}
}

SELFTEST(sched_no_wakeup_is_lost)
{
	static struct player players[MAX_WORKERS];
	unsigned ncpus = online_cpus(), pairs = min(ncpus, MAX_WORKERS / 2u);

	memset(players, 0, sizeof(players));
	for (unsigned i = 0; i < 2 * pairs; i++) {
		players[i].other = &players[i ^ 1];
		players[i].cpu = (i / 2 + (i & 1)) % ncpus; /* partners on neighbouring CPUs */
	}
	for (unsigned i = 0; i < 2 * pairs; i++) {
		/* Nobody has a ball yet, so nobody reads other->task before it is set. */
		players[i].task = selftest_spawn(play, &players[i], "player");
		if (!EXPECT(players[i].task != NULL))
			return;
	}
	for (unsigned i = 0; i < pairs; i++) {
		__atomic_fetch_add(&players[2 * i].balls, 1, __ATOMIC_SEQ_CST);
		task_wake(players[2 * i].task, TASK_NORMAL, 0);
	}
	for (unsigned i = 0; i < 2 * pairs; i++) {
		selftest_join(players[i].task);
		EXPECT_EQ(players[i].played, TRIPS);
	}
}

/* ------------------------------------------------------------ invariants */

static volatile bool stop;

static void churn(void *arg)
{
	u64 rng = (u64)(uintptr_t)arg * 0x9e3779b97f4a7c15ull + 1;
	struct cpumask m = {{0}};

	while (!stop) {
		rng = rng * 6364136223846793005ull + 1442695040888963407ull;
		switch (rng >> 60) {
		case 0:
		case 1:
		case 2:
			sched_yield_current();
			break;
		case 3:
			sched_set_nice(current_task(), (int)(rng >> 32 & 31) - 16);
			break;
		case 4:
			selftest_sleep_ns(20000 + (rng >> 32 & 0xffff));
			break;
		case 5:
			if (rng >> 40 & 1)
				sched_set_class(current_task(), SCHED_RR, 1 + (rng >> 41 & 7));
			else
				sched_set_class(current_task(), SCHED_OTHER, 0);
			break;
		case 6:
			memset(&m, 0, sizeof(m));
			cpumask_set(&m, (unsigned)(rng >> 32) % machine_cpus_present());
			if (rng >> 31 & 1)
				m = sched_online;
			sched_set_affinity(current_task(), &m);
			break;
		default:
			for (unsigned i = 0; i < (rng >> 32 & 1023); i++)
				barrier();
			breathe();
		}
	}
	sched_set_class(current_task(), SCHED_OTHER, 0);
}

/* While tasks do everything at once, every queue agrees with itself whenever its lock is held. */
SELFTEST(sched_queues_agree)
{
	struct task *t[MAX_WORKERS];
	unsigned n = min(2 * online_cpus() + 1, (unsigned)MAX_WORKERS), cpu, looks = 0;
	u64 end = machine_now() + 500 * NSEC_PER_MSEC;

	stop = false;
	for (unsigned i = 0; i < n; i++) {
		t[i] = selftest_spawn(churn, (void *)(uintptr_t)(i + 1), "churn");
		if (!EXPECT(t[i] != NULL))
			n = i;
	}
	/* Ahead of the RR ones, or it would look only when they let it. */
	sched_set_class(current_task(), SCHED_FIFO, 60);
	while (machine_now() < end) {
		for_each_cpu_in(cpu, &sched_online)
		{
			struct runq *rq = machine_runq(cpu);
			const char *wrong;
			struct task *p;
			u64 irq = irq_save();

			spin_lock_raw(rq->lock);
			wrong = sched_policy->check(rq);
			p = rq->curr;
			/* Off the queue while running: it goes to sleep, and balancing has dropped the lock for a moment. */
			if (!wrong && p != rq->idle && p->on_rq == ON_RQ_QUEUED &&
			    !sched_policy->holds(rq, p))
				wrong = "the running task is not on its queue";
			if (!wrong && p->cpu != cpu)
				wrong = "the running task names another queue";
			if (!wrong && p != rq->idle && p->on_rq == ON_RQ_QUEUED &&
			    !p->migrate_request && !cpumask_test(&p->affinity, cpu))
				wrong = "a task runs where it may not";
			spin_unlock_raw(rq->lock);
			irq_restore(irq);
			looks++;
			if (!EXPECT(wrong == NULL)) {
				selftest_note("cpu %u: %s", cpu, wrong);
				end = 0;
			}
		}
		selftest_sleep_ns(200000);
	}
	stop = true;
	for (unsigned i = 0; i < n; i++)
		selftest_join(t[i]);
	sched_set_class(current_task(), SCHED_OTHER, 0);
	EXPECT(looks > 10);
}

/* --------------------------------------------------------- work for all */

struct worker {
	struct task *task;
	volatile u64 turns;
	volatile bool ready;
	bool pinned;
	unsigned cpu;
};

static volatile bool go;
static struct worker workers[MAX_WORKERS];

static void work(void *arg)
{
	struct worker *w = arg;

	if (w->pinned)
		pin(current_task(), w->cpu);
	w->ready = true;
	while (!go && !stop)
		breathe();
	while (!stop) {
		w->turns++;
		breathe();
	}
}

static bool start_workers(unsigned n, unsigned ncpus, bool one_each)
{
	memset(workers, 0, sizeof(workers));
	stop = go = false;
	for (unsigned i = 0; i < n; i++) {
		workers[i].pinned = true;
		workers[i].cpu = one_each ? i % ncpus : 0;
		workers[i].task = selftest_spawn(work, &workers[i], "worker");
		if (!EXPECT(workers[i].task != NULL))
			return false;
	}
	for (unsigned i = 0; i < n; i++)
		while (!workers[i].ready)
			selftest_sleep_ns(NSEC_PER_MSEC);
	return true;
}

static void stop_workers(unsigned n)
{
	stop = true;
	for (unsigned i = 0; i < n && workers[i].task; i++)
		selftest_join(workers[i].task);
}

/* One pinned task on each CPU: all get on equally (exactly so in virtual time; with real CPUs, at all). */
SELFTEST(sched_every_cpu_works)
{
	unsigned n = min(online_cpus(), (unsigned)MAX_WORKERS);
	u64 total = 0, least = ~0ull;

	if (start_workers(n, n, true)) {
		u64 before[MAX_WORKERS];

		go = true;
		selftest_sleep_ns(50 * NSEC_PER_MSEC);
		for (unsigned i = 0; i < n; i++)
			before[i] = workers[i].turns;
		selftest_sleep_ns(300 * NSEC_PER_MSEC);
		for (unsigned i = 0; i < n; i++) {
			u64 turns = workers[i].turns - before[i];

			total += turns;
			least = min(least, turns);
		}
	}
	stop_workers(n);
	selftest_note("least share %llu per mille of an equal one",
		      (unsigned long long)(least * n * 1000 / (total + 1)));
	EXPECT(total > 0);
	if (DETERMINISTIC)
		EXPECT(least * n * 10 >= total * 8);
	else
		EXPECT(least > 0);
}

/* Tasks held on CPU 0 and then released spread out until no two queues differ by more than one. */
SELFTEST(sched_released_tasks_spread)
{
	/* The last CPU is the observer's. On one of theirs it would run out of its sleep with the tick that balances, as often as the host
	 * gives that CPU little time, and be counted: one hog and the observer look like two, and nothing is pulled to them. */
	unsigned ncpus = min(online_cpus(), MAX_WORKERS / 2u) - 1, n = 2 * ncpus, most, fewest;
	struct cpumask theirs = {{0}};
	u64 start, limit = (DETERMINISTIC ? 2 : 40) * NSEC_PER_SEC;

	if (ncpus < 2) {
		selftest_skip("needs three CPUs");
		return;
	}
	if (sched_policy->global_queue) {
		selftest_skip("one queue for all CPUs: there is nothing to spread");
		return;
	}
	if (!start_workers(n, ncpus, false)) {
		stop_workers(n);
		return;
	}
	pin(current_task(), ncpus);
	for (unsigned cpu = 0; cpu < ncpus; cpu++)
		cpumask_set(&theirs, cpu);
	go = true;
	for (unsigned i = 0; i < n; i++) {
		EXPECT_EQ(workers[i].task->cpu, 0);
		sched_set_affinity(workers[i].task, &theirs);
	}
	start = machine_now();
	do {
		u32 on[MAX_CPUS] = {0};

		selftest_sleep_ns(7 * NSEC_PER_MSEC);
		for (unsigned i = 0; i < n; i++)
			on[workers[i].task->cpu]++;
		most = 0;
		fewest = n;
		for (unsigned cpu = 0; cpu < ncpus; cpu++) {
			most = max(most, on[cpu]);
			fewest = min(fewest, on[cpu]);
		}
	} while (most - fewest > 1 && machine_now() - start < limit);
	stop_workers(n);
	sched_set_affinity(current_task(), &sched_online);
	selftest_note("spread after %llu ms, %u to %u tasks",
		      (unsigned long long)((machine_now() - start) / NSEC_PER_MSEC), fewest, most);
	EXPECT(most - fewest <= 1);
}

/* ------------------------------------------------------------ preemption */

static volatile bool urgent_ran, urgent_asleep;

static void urgent(void *arg)
{
	pin(current_task(), 0);
	set_current_state(TASK_UNINTERRUPTIBLE);
	urgent_asleep = true;
	schedule();
	urgent_ran = true;
}

static void hog(void *arg)
{
	pin(current_task(), 0);
	*(volatile bool *)arg = true;
	while (!urgent_ran && !stop)
		breathe();
}

/* A woken FIFO task runs at once although an ordinary one wants the CPU for ever. */
SELFTEST(sched_fifo_preempts)
{
	static volatile bool running;
	struct task *f, *h;
	u64 woken, limit = 50 * NSEC_PER_MSEC;

	stop = running = urgent_ran = urgent_asleep = false;
	f = selftest_spawn(urgent, NULL, "urgent");
	if (!EXPECT(f != NULL))
		return;
	sched_set_class(f, SCHED_FIFO, 50);
	while (!urgent_asleep || f->on_rq != ON_RQ_NONE)
		selftest_sleep_ns(NSEC_PER_MSEC);
	h = selftest_spawn(hog, (void *)&running, "hog");
	if (!EXPECT(h != NULL))
		stop = true;
	while (h && !running)
		selftest_sleep_ns(NSEC_PER_MSEC);
	woken = machine_now();
	task_wake(f, TASK_NORMAL, 0);
	preempt_point();
	while (!urgent_ran && machine_now() - woken < 20 * limit)
		breathe();
	woken = machine_now() - woken;
	EXPECT(urgent_ran);
	/* Far less than the 102 ms slice of the hog; a host that does not run the CPU excuses it. */
	if (DETERMINISTIC)
		EXPECT(woken < limit);
	stop = true;
	selftest_join(f);
	if (h)
		selftest_join(h);
}

/* ------------------------------------------------------------------ cost */

#define BARE_MANY   100000
#define BARE_CHUNK  64
#define COST_ROUNDS 256

static struct task *bare_chunks[BARE_MANY / BARE_CHUNK + 1];

static struct task *bare(unsigned i)
{
	return &bare_chunks[i / BARE_CHUNK][i % BARE_CHUNK];
}

/* ns for COST_ROUNDS times: the running task sleeps, another is picked, the sleeper wakes, a tick passes. */
static u64 cost_of(struct runq *rq, unsigned ntasks)
{
	u64 best = ~0ull;

	for (unsigned i = rq->nr_running; i < ntasks; i++) {
		struct task *t = bare(i);
		u64 irq = irq_save();

		sched_kthread_init(t);
		sched_forget(t); /* it lives and dies here */
		t->cpu = rq->cpu;
		spin_lock_raw(rq->lock);
		t->state = TASK_RUNNING;
		/* as many priorities as there are */
		sched_policy->set_attr(rq, t, (int)(i % 40) - 20, SCHED_OTHER, 0);
		runq_activate(rq, t, ENQ_NEW);
		spin_unlock_raw(rq->lock);
		irq_restore(irq);
	}
	for (unsigned attempt = 0; attempt < 5; attempt++) {
		u64 irq = irq_save(), t0;

		spin_lock_raw(rq->lock);
		rq->curr = sched_policy->pick_next(rq, rq->idle);
		t0 = machine_now();
		for (unsigned i = 0; i < COST_ROUNDS; i++) {
			struct task *prev = rq->curr;

			runq_deactivate(rq, prev, DEQ_SLEEP);
			rq->curr = sched_policy->pick_next(rq, prev);
			runq_activate(rq, prev, ENQ_WAKEUP);
			sched_policy->tick(rq, rq->curr);
			rq->curr = sched_policy->pick_next(rq, rq->curr);
		}
		best = min(best, machine_now() - t0);
		spin_unlock_raw(rq->lock);
		irq_restore(irq);
	}
	return best;
}

/* Sleeping, waking and switching cost the same with 10 and with 100,000 runnable tasks. */
SELFTEST(sched_cost_is_constant)
{
	struct runq *rq;
	struct task *idle;
	unsigned chunks = 0;
	u64 few = 0, many = 0;

	if (sched_policy->global_queue) {
		selftest_skip("the machine has one queue, no second one to measure on");
		return;
	}
	rq = machine_alloc(sizeof(*rq));
	idle = machine_alloc(sizeof(*idle));
	if (!EXPECT(rq && idle))
		goto out;
	rq->policy = machine_alloc(sched_policy->runq_size);
	if (!EXPECT(rq->policy != NULL))
		goto out;
	for (; chunks * BARE_CHUNK < BARE_MANY; chunks++) {
		bare_chunks[chunks] = machine_alloc(BARE_CHUNK * sizeof(struct task));
		if (!bare_chunks[chunks]) {
			selftest_skip("not enough memory");
			goto out;
		}
	}
	/* A queue of its own that no CPU runs: it borrows this CPU's number, so stay here. */
	preempt_disable();
	rq->cpu = cpu_index();
	rq->lock = &rq->own_lock;
	spin_init(&rq->own_lock, "run queue", LOCK_RUNQ);
	rq_clock_update(rq, machine_now());
	idle->prio = NO_LENT_PRIO;
	rq->idle = rq->curr = rq->gives_way = idle;
	sched_policy->init_cpu(rq);
	few = cost_of(rq, 10);
	many = cost_of(rq, BARE_MANY);
	EXPECT_EQ(rq->nr_running, BARE_MANY);
	EXPECT(sched_policy->check(rq) == NULL);
	/* It was counted as an overloaded queue of the machine. */
	while (rq->nr_running > 1)
		runq_dec(rq);
	preempt_enable();
	selftest_note(
		"%u rounds of sleep, wake, tick and two picks: %llu ns with 10 tasks, %llu ns with %u",
		COST_ROUNDS, (unsigned long long)few, (unsigned long long)many, BARE_MANY);
	/* Real machines miss their caches more often with 40 MB of tasks; a scan would cost a thousand times as much. */
	EXPECT(DETERMINISTIC ? many <= few + few / 20 : many < 20 * few + 100000);
out:
	while (chunks--)
		machine_free(bare_chunks[chunks], BARE_CHUNK * sizeof(struct task));
	if (rq) {
		machine_free(rq->policy, sched_policy->runq_size);
		machine_free(rq, sizeof(*rq));
	}
	machine_free(idle, sizeof(*idle));
}

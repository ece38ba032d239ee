/* SPDX-License-Identifier: MIT
 *
 * A random walk through everything the scheduler can be asked to do, on 1 to 8 simulated CPUs, with delayed interrupts,
 * failing trylocks and other CPUs acting while a double lock is dropped. After every event all invariants are checked
 * (sim_check). At the end of each round the machine is left alone and every runnable task must get the CPU.
 *
 * Half of the tasks have an address space: to some policies that makes a difference. Now and then a number of the policy changes.
 *
 * One seed and policy give one walk: a failure names its seed and round, and `test_sched fuzz SEED ROUNDS POLICY` repeats it.
 */
#include <stdio.h>

#include "sched/policy_test.h"
#include "tests.h"

/* One of all policies and of the two for tests. */
static const struct sched_policy *random_policy(void)
{
	unsigned n = 0, i;

	while (sched_policy_nth(n))
		n++;
	i = (unsigned)sim_random(n + 2);
	return i < n ? sched_policy_nth(i) : i == n ? &policy_test_local : &policy_test_global;
}

static bool in_window;
static const char *event;

static struct cpumask random_mask(void)
{
	struct cpumask m = {{0}};

	m.bits[0] = sim_random(1ull << host_ncpus);
	if (!m.bits[0] || !sim_random(3))
		m.bits[0] = (1ull << host_ncpus) - 1;
	return m;
}

static struct task *random_task(void)
{
	for (unsigned tries = 0; tries < 20; tries++) {
		struct sim_task *s = &sim_tasks[sim_random(32)];

		if (s->used && !s->dead)
			return &s->task;
	}
	return NULL;
}

static unsigned live_tasks(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < SIM_MAX_TASKS; i++)
		n += sim_tasks[i].used && !sim_tasks[i].dead;
	return n;
}

static void wake_random(void)
{
	struct task *t = random_task();
	bool irq = sim_random(2), expected;

	if (!t)
		return;
	expected = t->state & TASK_NORMAL;
	if (irq) {
		irq_disable();
		host_cpus[host_cpu].in_irq = true;
	}
	if (task_wake(t, TASK_NORMAL, sim_random(4) ? 0 : WAKE_SYNC) != expected)
		machine_bug("fuzz: wake-up of task %u went wrong", t->id);
	if (t->state != TASK_RUNNING &&
	    t->state != TASK_DEAD) /* dying in the window of another CPU */
		machine_bug("fuzz: task %u not woken", t->id);
	if (irq)
		sim_irq_exit(sim_random(2));
}

/* Any number of the policy, to any value of its range; extremes often. They are all put back before liveness is judged. */
static void tunable_random(void)
{
	const struct tunable *t;
	s64 value;

	if (sim_random(20) || !sched_policy->nr_tunables)
		return;
	t = &sched_policy->tunables[sim_random(sched_policy->nr_tunables)];
	value = t->min + (s64)sim_random((u64)(t->max - t->min) + 1);
	switch (sim_random(4)) {
	case 0:
		value = t->min;
		break;
	case 1:
		value = t->max;
		break;
	case 2:
		value = t->def;
		break;
	}
	if (sched_set_tunable(t->name, value))
		machine_bug("fuzz: %s = %lld refused", t->name, (long long)value);
}

static void tunables_default(void)
{
	for (unsigned i = 0; i < sched_policy->nr_tunables; i++)
		sched_set_tunable(sched_policy->tunables[i].name, sched_policy->tunables[i].def);
}

static void attr_random(void)
{
	struct task *t = random_task(), *w = random_task();
	struct cpumask m = random_mask();

	if (!t || !w)
		return;
	switch (sim_random(7)) {
	case 6:
		event = "tunable";
		tunable_random();
		break;
	case 0:
		event = "nice";
		sched_set_nice(t, (int)sim_random(44) - 22);
		break;
	case 1:
		event = "class";
		if (sim_random(4))
			sched_set_class(t, SCHED_OTHER, 0);
		else
			sched_set_class(t, 1 + (unsigned)sim_random(2),
					1 + (unsigned)sim_random(99));
		break;
	case 2:
		event = "lend";
		if (sim_random(2))
			sched_lend(t, w);
		else
			sched_unlend(t);
		break;
	default:
		event = "affinity";
		sched_set_affinity(t, &m);
		break;
	}
}

static void spawn(int cpu)
{
	struct task *t = sim_kthread(cpu);

	t->address_space = sim_random(2) * t->id;
	sched_wake_new(t);
}

static void fork_user(bool resched)
{
	bool user = current_task()->address_space != 0;
	struct task *child = sim_fork(resched);

	child->address_space = user * child->id;
}

static void current_acts(bool may_exit)
{
	struct task *t = current_task(), *dead;
	struct cpumask m = random_mask();

	/* A task that comes back from preemption half asleep goes on to its schedule(). */
	if (t->state != TASK_RUNNING) {
		event = "half asleep, goes on";
		schedule();
		return;
	}
	switch (sim_random(12)) {
	case 0:
	case 1:
	case 2:
		event = "block";
		t->signal_pending = !sim_random(8);
		sim_block(sim_random(2) ? TASK_INTERRUPTIBLE : TASK_UNINTERRUPTIBLE);
		break;
	case 3:
		event = "half asleep, preempted";
		set_current_state(TASK_INTERRUPTIBLE);
		if (sim_random(2))
			machine_set_need_resched(host_cpu);
		sched_preempt_now();
		/* Whoever runs now goes on; the task may be woken while it is queued, or go to sleep when it runs. */
		break;
	case 4:
		event = "yield";
		sched_yield_current();
		break;
	case 5:
		event = "fork";
		if (live_tasks() < 24)
			fork_user(sim_random(2));
		break;
	case 6:
		event = "exit";
		if (!may_exit || live_tasks() < 4)
			break;
		dead = sim_exit();
		if (current_task() != &sim_idle[host_cpu])
			sched_reap(dead, current_task());
		break;
	case 7:
		event = "affinity of current";
		sched_set_affinity(t, &m);
		break;
	default:
		event = "attribute";
		attr_random();
		break;
	}
	if (need_resched() && sim_random(4))
		sched_user_exit();
}

static void one_event(bool may_exit)
{
	do
		sim_on((unsigned)sim_random(host_ncpus));
	while (!irqs_enabled());

	switch (sim_random(8)) {
	case 0:
		event = "wake";
		wake_random();
		break;
	case 1:
		event = "tick";
		if (host_cpus[host_cpu].tick_on && !in_window)
			sim_tick_cpu(host_cpu);
		break;
	case 2:
		event = "deliver";
		if (!in_window)
			sim_deliver(sim_random(2));
		break;
	case 3:
		event = "time";
		if (!in_window)
			sim_advance(sim_random(sched_tick_ns * (sim_random(10) ? 2 : 20)));
		break;
	case 4:
		if (may_exit && !sim_random(4)) {
			event = "switch policy";
			/* Half of the time back to the policy that the walk is about. */
			if (sched_switch_to(sim_random(2) ? sched_policy_find(sim_policy)
							  : random_policy()))
				machine_bug("fuzz: no switch");
			break;
		}
		if (current_task() == &sim_idle[host_cpu]) {
			event = "spawn";
			if (live_tasks() < 16)
				spawn(sim_random(2) ? -1 : (int)sim_random(host_ncpus));
			break;
		}
		/* fall through */
	default:
		if (current_task() != &sim_idle[host_cpu]) {
			current_acts(may_exit);
		} else {
			event = "wake from idle";
			wake_random();
		}
		break;
	}
	sim_idle_turn(host_cpu);
}

static bool sometimes(void)
{
	return !sim_random(3);
}

static void window(void)
{
	if (in_window || host_ncpus < 2)
		return;
	in_window = true;
	host_window = NULL;
	for (u64 n = 1 + sim_random(3); n; n--)
		one_event(false);
	host_window = window;
	in_window = false;
}

/*
 * The policy's own bound, for tasks of nice 0 that do not sleep. Queues may be longer by one than the tasks spread evenly, and the
 * balancer, which the bound does not know, brings a task back into the race that had run: once, as nothing else disturbs it.
 */
static u64 longest_wait(void)
{
	unsigned n = live_tasks();
	u64 ns;

	if (!sched_policy->global_queue)
		n = n / host_ncpus + 1 + (host_ncpus > 1);
	ns = sched_policy->wait_bound(0, 0, n, false);
	if (ns == NO_WAIT_BOUND)
		machine_bug("fuzz: no bound for tasks that do not sleep");
	return ns * (host_ncpus > 1 ? 2 : 1);
}

/* Left alone, every runnable task runs as soon as the policy says, whatever was done to it. */
static void liveness(void)
{
	struct cpumask all = {{(1ull << host_ncpus) - 1}};
	u64 before[SIM_MAX_TASKS];

	host_trylock_fails = NULL;
	host_window = NULL;
	tunables_default();
	for (unsigned i = 0; i < SIM_MAX_TASKS; i++) {
		struct task *t = &sim_tasks[i].task;

		if (!sim_tasks[i].used || sim_tasks[i].dead)
			continue;
		sim_on(0);
		sched_unlend(t);
		sched_set_class(t, SCHED_OTHER, 0);
		sched_set_nice(t, 0);
		sched_set_affinity(t, &all);
		sim_idle_turn(host_cpu);
		task_wake(t, TASK_NORMAL, 0);
		sim_idle_turn(host_cpu);
	}
	sim_deliver(true);
	sim_check("before liveness");
	/* Slices end that began under other nice values or numbers: of 10 s, at most. */
	sim_advance((live_tasks() * 10ull / host_ncpus + 20) * NSEC_PER_SEC);
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
		sim_on(cpu);
		while (current_task()->state != TASK_RUNNING) {
			/* half asleep: wake it */
			task_wake(current_task(), TASK_NORMAL, 0);
		}
	}
	for (unsigned i = 0; i < SIM_MAX_TASKS; i++)
		before[i] = sched_task_runtime(&sim_tasks[i].task);
	sim_advance(longest_wait());
	sim_check("after liveness");
	for (unsigned i = 0; i < SIM_MAX_TASKS; i++) {
		struct task *t = &sim_tasks[i].task;

		if (!sim_tasks[i].used || sim_tasks[i].dead)
			continue;
		if (t->on_rq != ON_RQ_QUEUED)
			machine_bug("fuzz: task %u was not woken", t->id);
		if (sched_task_runtime(t) == before[i] && sim_rq(t->cpu)->curr != t)
			machine_bug("fuzz: task %u starved, cpu %u of %u with %u tasks", t->id,
				    t->cpu, host_ncpus, sim_rq(t->cpu)->nr_running);
	}
	for (unsigned cpu = 0; cpu < host_ncpus && live_tasks() >= host_ncpus; cpu++)
		if (sim_rq(cpu)->nr_running == 0)
			machine_bug("fuzz: cpu %u stays idle with %u tasks", cpu, live_tasks());
}

void fuzz_tests(u64 seed, unsigned rounds)
{
	static const unsigned hz[] = {100, 250, 1000};
	u64 events = 0, pulls = 0, migrations = 0;
	char name[64];

	snprintf(name, sizeof(name), "%s: fuzz seed %llu, %u rounds", sim_policy,
		 (unsigned long long)seed, rounds);
	tap_begin(name);
	for (unsigned r = 0; r < rounds; r++) {
		sim_start(1 + r % 8, hz[r % 3]);
		sim_seed(seed * 100000 + r);
		sched_hz_given = sim_random(2);
		sim_ipi_delay = sim_random(3) * sched_tick_ns / 4;
		sched_preempt_full = sim_random(2);
		host_trylock_fails = sometimes;
		host_window = window;
		for (unsigned i = 0; i < 4; i++) {
			spawn(-1);
			sim_idle_turn(host_cpu);
		}
		for (unsigned n = 0; n < 3000; n++, events++) {
			one_event(true);
			sim_check(event);
		}
		for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
			pulls += sim_rq(cpu)->pulls;
			migrations += sim_rq(cpu)->migrations_in;
		}
		liveness();
	}
	printf("# %llu events, %llu pulls, %llu migrations\n", (unsigned long long)events,
	       (unsigned long long)pulls, (unsigned long long)migrations);
	CHECK(rounds < 8 ||
	      ((pulls > rounds || sched_policy->global_queue) && migrations > pulls + rounds));
	tap_end();
}

/* A short walk leaves most of its time to others: every 16th is followed by the test that takes long. */
void fuzz_bytes(const u8 *data, size_t size)
{
	static const unsigned hz[] = {100, 250, 1000};
	unsigned policies = 0;

	if (size < 8)
		return;
	/* What an earlier input tuned must not decide about this one, or a failure could not be repeated alone. */
	while (sched_policy_nth(policies)) {
		const struct sched_policy *p = sched_policy_nth(policies++);

		for (unsigned i = 0; i < p->nr_tunables; i++)
			*p->tunables[i].value = p->tunables[i].def;
	}
	sim_policy = sched_policy_nth(data[0] % policies)->name;
	sim_input_left = 0;
	in_window = false;
	sim_start(1 + data[1] % 8, hz[data[2] % 3]);
	sim_seed(1); /* for what the input leaves open */
	sched_hz_given = data[3] & 1;
	sched_preempt_full = data[3] & 2;
	sim_ipi_delay = data[4] % 3 * sched_tick_ns / 4;
	host_trylock_fails = sometimes;
	host_window = window;
	sim_input = data + 5;
	sim_input_left = size - 5;
	for (unsigned i = 0; i < 4; i++) {
		spawn(-1);
		sim_idle_turn(host_cpu);
	}
	while (sim_input_left) {
		one_event(true);
		sim_check(event);
	}
	if (data[5] % 16 == 0)
		liveness();
}

/* SPDX-License-Identifier: MIT
 *
 * The simulated machine (see sim.h), the invariant checker, and TAP output.
 */
#include "sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct host_cpu host_cpus[MAX_CPUS];
unsigned host_ncpus, host_cpu;
bool (*host_trylock_fails)(void);
void (*host_window)(void);

struct sim_task sim_tasks[SIM_MAX_TASKS];
struct task sim_idle[MAX_CPUS];
u64 sim_now, sim_ipi_delay, sim_nr_ipis;
unsigned sim_relaxes;
const char *sim_policy;
unsigned sim_allocs_left = ~0u;
int sim_allocated;
/* When a CPU was first seen idle beside a task that waits and may run there; 0: it is not so now. */
static u64 idle_beside[MAX_CPUS][SIM_MAX_TASKS];
static u32 next_id;
static u64 rng = 1;
static bool window_armed;

/* --------------------------------------------------------------- locks */

static spinlock_t *held[MAX_CPUS][8];
static unsigned nheld[MAX_CPUS];

static void lock_took(spinlock_t *l)
{
	for (unsigned i = 0; i < nheld[host_cpu]; i++) {
		spinlock_t *h = held[host_cpu][i];

		if (h->rank > l->rank ||
		    (h->rank == LOCK_RUNQ && l->rank == LOCK_RUNQ && h > l && !window_armed))
			machine_bug("lock order: %s after %s", l->name, h->name);
	}
	if (!host_cpus[host_cpu].irqs_off)
		machine_bug("lock %s taken with interrupts on", l->name);
	l->locked = 1;
	l->owner = host_cpu;
	held[host_cpu][nheld[host_cpu]++] = l;
}

void host_lock_acquire(spinlock_t *l)
{
	if (l->locked)
		machine_bug("deadlock: cpu %u wants %s, held by cpu %u", host_cpu, l->name,
			    l->owner);
	lock_took(l);
}

bool host_lock_try(spinlock_t *l)
{
	bool armed = window_armed;

	if (l->locked)
		return false;
	if (host_trylock_fails && host_trylock_fails()) {
		window_armed = true; /* the next release is the window, if there is one */
		return false;
	}
	window_armed = true; /* a trylock may go against the order */
	lock_took(l);
	window_armed = armed;
	return true;
}

void host_lock_release(spinlock_t *l)
{
	unsigned n = nheld[host_cpu];

	if (!l->locked || l->owner != host_cpu)
		machine_bug("cpu %u releases %s that it does not hold", host_cpu, l->name);
	l->locked = 0;
	for (unsigned i = 0; i < n; i++) {
		if (held[host_cpu][i] == l) {
			held[host_cpu][i] = held[host_cpu][n - 1];
			break;
		}
	}
	nheld[host_cpu]--;
	if (window_armed) {
		window_armed = false;
		/* The dropped lock of a double lock: somebody else gets in between. */
		if (host_window && l->rank == LOCK_RUNQ && nheld[host_cpu] == 0) {
			struct host_cpu saved = host_cpus[host_cpu];
			unsigned cpu = host_cpu;

			host_window();
			host_cpu = cpu;
			if (saved.preempt != host_cpus[cpu].preempt ||
			    saved.current != host_cpus[cpu].current)
				machine_bug("the window changed cpu %u's task", cpu);
			host_cpus[cpu].irqs_off = saved.irqs_off;
			host_cpus[cpu].in_irq = saved.in_irq;
		}
	}
}

void cpu_relax(void)
{
	sim_relaxes++;
}

/* ------------------------------------------------------------- machine */

u64 machine_now(void)
{
	return sim_now;
}

void machine_send_resched(unsigned cpu)
{
	sim_nr_ipis++;
	if (host_cpus[cpu].resched_due > sim_now + sim_ipi_delay)
		host_cpus[cpu].resched_due = sim_now + sim_ipi_delay;
}

void machine_send_migrate(unsigned cpu)
{
	sim_nr_ipis++;
	if (host_cpus[cpu].migrate_due > sim_now + sim_ipi_delay)
		host_cpus[cpu].migrate_due = sim_now + sim_ipi_delay;
}

struct task *machine_switch(struct task *prev, struct task *next)
{
	if (host_cpus[host_cpu].preempt != 1 || !host_cpus[host_cpu].irqs_off)
		machine_bug("switch with preemption count %u", host_cpus[host_cpu].preempt);
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		if (cpu != host_cpu && host_cpus[cpu].current == next)
			machine_bug("task %u switched in on cpu %u while it runs on cpu %u",
				    next->id, host_cpu, cpu);
	return prev;
}

void machine_task_dead(struct task *t)
{
	struct sim_task *s = (struct sim_task *)t;

	if (s->dead)
		machine_bug("task %u died twice", t->id);
	if (nheld[host_cpu])
		machine_bug("locks held while a dead task is freed");
	s->dead = true;
}

void machine_tick(bool on)
{
	struct host_cpu *c = &host_cpus[host_cpu];

	c->tick_on = on;
	if (on) /* the phase of each CPU is fixed: staggered */
		while (c->next_tick <= sim_now)
			c->next_tick += sched_tick_ns;
}

void machine_set_hz(unsigned hz)
{
	if (hz < 100 || hz > 1000)
		machine_bug("hz %u", hz);
}

void machine_idle_halt(void)
{
	host_cpus[host_cpu].halts++;
	irq_enable();
}

void machine_idle_nops(void)
{
}

void *machine_alloc(size_t size)
{
	if (!sim_allocs_left)
		return NULL;
	sim_allocs_left--;
	sim_allocated++;
	size = ALIGN_UP(size, 64);
	return memset(aligned_alloc(64, size), 0, size);
}

void machine_free(void *p, size_t size)
{
	sim_allocated -= p != NULL;
	free(p);
}

u64 machine_random(void)
{
	return sim_random(~0ull);
}

void machine_stop_others(void (*fn)(void *), void *arg)
{
	u64 irq = irq_save();

	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		if (host_cpus[cpu].preempt || (cpu != host_cpu && host_cpus[cpu].irqs_off))
			machine_bug("cpu %u is stopped where it cannot be", cpu);
	fn(arg);
	irq_restore(irq);
}

void machine_stop_point(void)
{
}

void machine_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

/* sched_exit() does not return: its last statement, reached because machine_switch() does, brings us back. */
static jmp_buf exit_jump;
static bool exiting;

void machine_bug(const char *fmt, ...)
{
	va_list ap;

	if (exiting && !strcmp(fmt, "task %u ran after its exit")) {
		exiting = false;
		longjmp(exit_jump, 1);
	}
	va_start(ap, fmt);
	fputs("Bail out! ", stdout);
	vprintf(fmt, ap);
	printf(" (virtual time %llu)\n", (unsigned long long)sim_now);
	va_end(ap);
	fflush(stdout);
	abort();
}

/* ------------------------------------------------------------- actions */

void sim_seed(u64 seed)
{
	rng = seed * 0x9e3779b97f4a7c15ull + 1;
}

const u8 *sim_input;
size_t sim_input_left;

/* The next choice of the input: one byte if that is enough. */
static u64 from_input(u64 below)
{
	u64 v = 0;

	for (unsigned n = below <= 256 ? 1 : 4; n && sim_input_left; n--, sim_input_left--)
		v = v << 8 | *sim_input++;
	return below ? v % below : v;
}

u64 sim_random(u64 below)
{
	if (sim_input_left)
		return from_input(below);
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return below ? (rng >> 8) % below : 0;
}

void sim_start(unsigned ncpus, unsigned hz)
{
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
		free(host_cpus[cpu].rq->policy);
		free(host_cpus[cpu].rq);
	}
	memset(host_cpus, 0, sizeof(host_cpus));
	memset(sim_tasks, 0, sizeof(sim_tasks));
	memset(sim_idle, 0, sizeof(sim_idle));
	memset(nheld, 0, sizeof(nheld));
	memset(idle_beside, 0, sizeof(idle_beside));
	memset(&sched_online, 0, sizeof(sched_online));
	sched_overloaded = 0;
	idle_reset();
	host_trylock_fails = NULL;
	host_window = NULL;
	window_armed = false;
	migrate_test = (struct migrate_test){.spin_limit = 100};
	sim_allocs_left = ~0u;
	sched_preempt_full = true;
	host_ncpus = ncpus;
	next_id = 1;
	sim_ipi_delay = 0;
	sim_now = 1000 * (NSEC_PER_SEC / hz);
	host_cpu = 0;
	if (sched_init(sim_policy, hz))
		machine_bug("sched_init");
	for (const struct tunable *t = sched_policy->tunables;
	     t < sched_policy->tunables + sched_policy->nr_tunables; t++)
		sched_set_tunable(t->name, t->def);
	for (unsigned cpu = 0; cpu < ncpus; cpu++) {
		host_cpus[cpu].resched_due = host_cpus[cpu].migrate_due = ~0ull;
		host_cpus[cpu].next_tick =
			sim_now + sched_tick_ns / 100 + cpu * sched_tick_ns / (ncpus + 1);
		sim_idle[cpu].id = 1000000 + cpu;
		strcpy(sim_idle[cpu].comm, "idle");
		sched_init_idle(&sim_idle[cpu], cpu);
	}
	for (unsigned cpu = 0; cpu < ncpus; cpu++) {
		sim_on(cpu);
		sched_cpu_start();
		host_cpus[cpu].started = true;
	}
	sim_on(0);
}

struct task *sim_on(unsigned cpu)
{
	host_cpu = cpu;
	return host_cpus[cpu].current;
}

static struct task *task_alloc(void)
{
	for (unsigned i = 0; i < SIM_MAX_TASKS; i++) {
		struct sim_task *s = &sim_tasks[i];

		if (s->used && !s->dead)
			continue;
		if (s->used)
			sched_forget(&s->task);
		memset(s, 0x5a, sizeof(*s)); /* the scheduler must initialise all it uses */
		s->used = true;
		s->dead = false;
		s->task.signal_pending = 0;
		s->task.address_space = 0;
		s->task.id = next_id++;
		strcpy(s->task.comm, "sim");
		return &s->task;
	}
	machine_bug("too many simulated tasks");
}

struct task *sim_kthread(int cpu)
{
	struct task *t = task_alloc();
	struct cpumask m = {{0}};

	sched_kthread_init(t);
	if (cpu >= 0) {
		cpumask_set(&m, (unsigned)cpu);
		if (sched_set_affinity(t, &m))
			machine_bug("affinity");
	}
	return t;
}

struct task *sim_spawn(int cpu)
{
	struct task *t = sim_kthread(cpu);

	sched_wake_new(t);
	return t;
}

struct task *sim_fork(bool resched)
{
	struct task *t = task_alloc();

	sched_fork(t);
	sched_wake_new(t);
	if (resched)
		sched_fork_done();
	if (need_resched())
		sched_user_exit();
	return t;
}

void sim_block(u32 state)
{
	set_current_state(state);
	schedule();
}

struct task *sim_exit(void)
{
	struct task *t = current_task();

	if (exiting)
		machine_bug("an exit within an exit");
	if (!setjmp(exit_jump)) {
		exiting = true;
		sched_exit();
	}
	preempt_enable_no_resched(); /* as the next task's schedule() would */
	if (need_resched())
		schedule();
	return t;
}

void sim_irq_exit(bool user)
{
	host_cpus[host_cpu].in_irq = false;
	if (user && current_task() != &sim_idle[host_cpu]) {
		irq_enable();
		sched_user_exit();
		return;
	}
	sched_irq_exit();
	if (irqs_enabled())
		machine_bug("sched_irq_exit() left interrupts on");
	irq_enable();
}

static void irq_begin(unsigned cpu)
{
	sim_on(cpu);
	if (host_cpus[cpu].irqs_off)
		machine_bug("interrupt on cpu %u with interrupts off", cpu);
	irq_disable();
	host_cpus[cpu].in_irq = true;
}

void sim_tick_cpu(unsigned cpu)
{
	irq_begin(cpu);
	host_cpus[cpu].ticks++;
	sched_tick(sim_now);
	sim_irq_exit(true);
}

void sim_idle_turn(unsigned cpu)
{
	sim_on(cpu);
	if (current_task() != &sim_idle[cpu] || host_cpus[cpu].irqs_off)
		return;
	irq_disable();
	if (need_resched())
		schedule();
	else
		idle_wait(machine_this_runq());
}

static void deliver_cpu(unsigned cpu)
{
	struct host_cpu *c = &host_cpus[cpu];

	if (c->irqs_off)
		return;
	if (c->migrate_due <= sim_now) {
		c->migrate_due = ~0ull;
		irq_begin(cpu);
		sched_migrate_ipi();
		sim_irq_exit(true);
	}
	if (c->resched_due <= sim_now) {
		c->resched_due = ~0ull;
		irq_begin(cpu);
		sched_resched_ipi();
		sim_irq_exit(true);
		sim_idle_turn(cpu);
	}
}

void sim_deliver(bool all)
{
	unsigned back = host_cpu;
	bool again;

	do {
		again = false;
		for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
			struct host_cpu *c = &host_cpus[cpu];

			if (all) {
				if (c->migrate_due != ~0ull)
					c->migrate_due = sim_now;
				if (c->resched_due != ~0ull)
					c->resched_due = sim_now;
			}
			if ((c->migrate_due <= sim_now || c->resched_due <= sim_now) &&
			    !c->irqs_off) {
				deliver_cpu(cpu);
				again = true;
			}
		}
	} while (again);
	sim_on(back);
}

void sim_advance(u64 ns)
{
	u64 end = sim_now + ns;
	unsigned back = host_cpu;

	sim_deliver(false);
	for (;;) {
		u64 next = end + 1;
		unsigned which = 0;

		for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
			struct host_cpu *c = &host_cpus[cpu];
			u64 when = min(c->migrate_due, c->resched_due);

			if (c->tick_on)
				when = min(when, c->next_tick);
			if (when < next) {
				next = when;
				which = cpu;
			}
		}
		if (next > end)
			break;
		sim_now = max(sim_now, next);
		deliver_cpu(which);
		if (host_cpus[which].tick_on && host_cpus[which].next_tick <= sim_now) {
			host_cpus[which].next_tick += sched_tick_ns;
			sim_tick_cpu(which);
			sim_idle_turn(which);
		}
	}
	sim_now = end;
	sim_on(back);
}

void sim_ticks(unsigned n)
{
	sim_advance(n * sched_tick_ns);
}

void sim_skip(u64 n)
{
	sim_now += n * sched_tick_ns;
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		host_cpus[cpu].next_tick += n * sched_tick_ns;
}

/* ---------------------------------------------------------- invariants */

/*
 * With one queue for all: no CPU idles for longer than a tick (and the way of an interrupt) while a task waits that it may run.
 * For a moment it may: another CPU has been told, or, after a sync wake-up, nobody.
 */
static void check_no_idler_beside_waiters(const char *where, unsigned cpu, bool idle)
{
	for (unsigned i = 0; i < SIM_MAX_TASKS; i++) {
		struct task *t = &sim_tasks[i].task;
		u64 *since = &idle_beside[cpu][i];

		if (!idle || !sim_tasks[i].used || sim_tasks[i].dead || t->on_rq != ON_RQ_QUEUED ||
		    sim_rq(t->cpu)->curr == t || !cpumask_test(&t->affinity, cpu)) {
			*since = 0;
			continue;
		}
		*since = max(*since ? *since : sim_now, t->wait_start);
		if (sim_now > *since + sched_tick_ns + 2 * sim_ipi_delay)
			machine_bug("%s: cpu %u idles while task %u waits", where, cpu, t->id);
	}
}

void sim_check(const char *where)
{
	u32 overloaded = 0, runnable = 0, counted = 0;

	for (unsigned i = 0; i < SIM_MAX_TASKS; i++)
		sim_tasks[i].on_cpus = 0;
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
		struct runq *rq = sim_rq(cpu);
		struct task *curr = rq->curr, *p;
		const char *wrong;

		if (rq->lock->locked || rq->inbound_lock.locked || nheld[cpu])
			machine_bug("%s: a lock of cpu %u is held between events", where, cpu);
		if (host_cpus[cpu].preempt || host_cpus[cpu].irqs_off)
			machine_bug("%s: cpu %u has preemption or interrupts off between events",
				    where, cpu);
		if (rq->after_switch)
			machine_bug("%s: unfinished switch on cpu %u", where, cpu);
		if (curr != host_cpus[cpu].current)
			machine_bug("%s: curr of cpu %u is not its current task", where, cpu);
		wrong = sched_policy->check(rq);
		if (wrong)
			machine_bug("%s: cpu %u: %s", where, cpu, wrong);
		counted += rq->nr_running;
		if (rq->nr_running >= 2)
			overloaded++;
		if (curr != rq->idle) {
			((struct sim_task *)curr)->on_cpus++;
			if (curr->on_rq != ON_RQ_QUEUED || curr->cpu != cpu)
				machine_bug("%s: running task %u is not on its queue", where,
					    curr->id);
			if (!cpumask_test(&curr->affinity, cpu) && !curr->migrate_request)
				machine_bug("%s: task %u runs where it may not", where, curr->id);
			if (curr->migrate_request && !host_cpus[cpu].need_resched)
				machine_bug("%s: a migration request that nobody acts on", where);
		} else if (!sched_policy->global_queue && rq->nr_running &&
			   !host_cpus[cpu].need_resched) {
			machine_bug("%s: cpu %u idles with %u tasks (lost wake-up)", where, cpu,
				    rq->nr_running);
		}
		if (host_cpus[cpu].need_resched && cpu != host_cpu && curr == rq->idle &&
		    host_cpus[cpu].resched_due == ~0ull && host_cpus[cpu].migrate_due == ~0ull)
			machine_bug("%s: cpu %u sleeps with need_resched and no IPI on its way",
				    where, cpu);
		if (!list_empty(&rq->inbound) && host_cpus[cpu].migrate_due == ~0ull)
			machine_bug("%s: inbound tasks of cpu %u without an IPI", where, cpu);
		list_for_each (p, &rq->inbound, inbound) {
			if (p->on_rq != ON_RQ_MIGRATING || p->cpu != cpu)
				machine_bug("%s: wrong task %u on an inbound list", where, p->id);
			((struct sim_task *)p)->on_cpus |= 0x100;
		}
		check_no_idler_beside_waiters(where, cpu,
					      sched_policy->global_queue && curr == rq->idle &&
						      !host_cpus[cpu].need_resched);
		if (rq->jiffies != rq->clock / sched_tick_ns)
			machine_bug("%s: jiffies of cpu %u", where, cpu);
	}
	for (unsigned i = 0; i < SIM_MAX_TASKS; i++) {
		struct task *t = &sim_tasks[i].task;

		if (!sim_tasks[i].used)
			continue;
		if (sim_tasks[i].on_cpus & 0xfe)
			machine_bug("%s: task %u on two cpus", where, t->id);
		if (sim_tasks[i].dead) {
			if (sim_tasks[i].on_cpus)
				machine_bug("%s: dead task %u runs", where, t->id);
			continue;
		}
		if (t->on_rq == ON_RQ_QUEUED) {
			runnable++;
			if (!sched_policy->holds(sim_rq(t->cpu), t))
				machine_bug("%s: task %u is not on the queue it names", where,
					    t->id);
			/* A queued task that does not run must be where it may run. */
			if (!sim_tasks[i].on_cpus && !cpumask_test(&t->affinity, t->cpu) &&
			    !t->migrate_request)
				machine_bug("%s: task %u queued where it may not run", where,
					    t->id);
		} else if (t->on_rq == ON_RQ_MIGRATING) {
			if (!(sim_tasks[i].on_cpus & 0x100))
				machine_bug("%s: task %u lost in transit", where, t->id);
		} else if (t->state == TASK_RUNNING) {
			machine_bug("%s: task %u is runnable and on no queue (lost)", where, t->id);
		}
	}
	if (runnable != counted)
		machine_bug("%s: %u runnable tasks, %u counted", where, runnable, counted);
	if (overloaded != sched_overloaded)
		machine_bug("%s: %u queues overloaded, %u counted", where, overloaded,
			    sched_overloaded);
}

/* ----------------------------------------------------------------- TAP */

unsigned tap_failed;
static unsigned tap_n, tap_bad;
static const char *tap_name;

void tap_begin(const char *name)
{
	tap_name = name;
	tap_bad = 0;
}

void tap_fail(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	if (tap_bad++ < 10) {
		va_start(ap, fmt);
		printf("# %s:%d: ", file, line);
		vprintf(fmt, ap);
		putchar('\n');
		va_end(ap);
	}
}

void tap_end(void)
{
	printf("%sok %u - %s\n", tap_bad ? "not " : "", ++tap_n, tap_name);
	if (tap_bad)
		tap_failed++;
	fflush(stdout);
}

int tap_plan(void)
{
	printf("1..%u\n", tap_n);
	return tap_failed != 0;
}

/* SPDX-License-Identifier: MIT
 *
 * The machine under the simulated scheduler: <arch/machine.h> in one thread, a virtual clock, a heap of events.
 *
 * A context switch only records who runs: machine_switch() returns at once, and what follows it in the core runs as the next
 * task would. Locks are plain words whose misuse is an error, and the lock of a queue tells which queues an event touched.
 */
#include "des.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct host_cpu host_cpus[MAX_CPUS];
unsigned host_ncpus, host_cpu;

struct sim_cpu sim_cpus[MAX_CPUS];
u64 sim_now, sim_start_time, sim_events;
static u64 policy_rng;
static unsigned nr_held;

/* ---------------------------------------------------------- event heap */

struct slot {
	u64 when, key; /* key: kind, then age */
	struct ev *ev;
};
static struct slot *heap;
static u32 heap_n, heap_room;
static u64 ev_age;

static bool before(const struct slot *a, const struct slot *b)
{
	return a->when < b->when || (a->when == b->when && a->key < b->key);
}

static void place(u32 i, struct slot s)
{
	heap[i] = s;
	s.ev->pos = i + 1;
}

static void sift_up(u32 i, struct slot s)
{
	while (i && before(&s, &heap[(i - 1) / 2])) {
		place(i, heap[(i - 1) / 2]);
		i = (i - 1) / 2;
	}
	place(i, s);
}

static void sift_down(u32 i, struct slot s)
{
	for (;;) {
		u32 child = 2 * i + 1;

		if (child >= heap_n)
			break;
		if (child + 1 < heap_n && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &s))
			break;
		place(i, heap[child]);
		i = child;
	}
	place(i, s);
}

/* To its place, from @i, whose slot is free. */
static void sift(u32 i, struct slot s)
{
	if (i && before(&s, &heap[(i - 1) / 2]))
		sift_up(i, s);
	else
		sift_down(i, s);
}

/*
 * The event that was taken last has left its slot, the first, free: as a rule another is armed before anything else is asked of the heap,
 * and takes that. Otherwise the last one moves there.
 */
static bool first_free;

static void fill_first(void)
{
	if (!first_free)
		return;
	first_free = false;
	if (--heap_n)
		sift_down(0, heap[heap_n]);
}

void ev_cancel(struct ev *e)
{
	u32 i;

	fill_first();
	i = e->pos;
	if (!i--)
		return;
	e->pos = 0;
	if (i != --heap_n)
		sift(i, heap[heap_n]);
}

void ev_arm(struct ev *e, u64 when)
{
	struct slot s = {when, (u64)e->kind << 56 | ev_age, e};

	if (e->pos && e->when == when)
		return;
	ev_age++;
	e->when = when;
	if (e->pos) {
		fill_first();
		sift(e->pos - 1, s);
	} else if (first_free) {
		first_free = false;
		sift_down(0, s);
	} else {
		if (heap_n == heap_room) {
			heap_room = heap_room ? heap_room * 2 : 4096;
			heap = realloc(heap, heap_room * sizeof(*heap));
			if (!heap)
				abort();
		}
		sift_up(heap_n++, s);
	}
}

struct ev *ev_next(void)
{
	struct ev *e;

	fill_first();
	if (!heap_n)
		return NULL;
	e = heap[0].ev;
	e->pos = 0;
	first_free = true;
	return e;
}

u64 ev_next_time(void)
{
	fill_first();
	return heap_n ? heap[0].when : FOREVER;
}

/* -------------------------------------------------------------- touched */

static unsigned touched_list[MAX_CPUS], nr_touched;

void touch(unsigned cpu)
{
	if (sim_cpus[cpu].touched)
		return;
	sim_cpus[cpu].touched = true;
	touched_list[nr_touched++] = cpu;
}

void touched_done(void)
{
	for (unsigned i = 0; i < nr_touched; i++) {
		sim_cpus[touched_list[i]].touched = false;
		report_cpu(touched_list[i]);
		if (check_on)
			check_cpu(touched_list[i]);
	}
	nr_touched = 0;
	if (check_on)
		check_event();
}

/* --------------------------------------------------------------- locks */

static void lock_took(spinlock_t *l)
{
	if (!host_cpus[host_cpu].irqs_off)
		violation("lock-irqs", "lock %s taken with interrupts on", l->name);
	l->locked = 1;
	l->owner = host_cpu;
	nr_held++;
	if (l->rank == LOCK_RUNQ)
		touch(container_of(l, struct runq, own_lock)->cpu);
}

void host_lock_acquire(spinlock_t *l)
{
	if (l->locked)
		violation("deadlock", "cpu %u wants %s, held by cpu %u", host_cpu, l->name,
			  l->owner);
	lock_took(l);
}

bool host_lock_try(spinlock_t *l)
{
	if (l->locked)
		return false;
	lock_took(l);
	return true;
}

void host_lock_release(spinlock_t *l)
{
	if (!l->locked || l->owner != host_cpu)
		violation("lock-release", "cpu %u releases %s that it does not hold", host_cpu,
			  l->name);
	l->locked = 0;
	nr_held--;
}

bool locks_held(void)
{
	return nr_held != 0;
}

void cpu_relax(void)
{
	violation("spin", "cpu %u waits in a loop for somebody who cannot run", host_cpu);
}

/* ------------------------------------------------------- what is asked */

u64 machine_now(void)
{
	return sim_now;
}

void machine_send_resched(unsigned cpu)
{
	if (!sim_cpus[cpu].resched.pos)
		ev_arm(&sim_cpus[cpu].resched, sim_now + scn.ipi_delay);
}

void machine_send_migrate(unsigned cpu)
{
	if (!sim_cpus[cpu].migrate.pos)
		ev_arm(&sim_cpus[cpu].migrate, sim_now + scn.ipi_delay);
}

struct task *machine_switch(struct task *prev, struct task *next)
{
	if (host_cpus[host_cpu].preempt != 1 || !host_cpus[host_cpu].irqs_off)
		violation("switch", "switch with preemption count %u", host_cpus[host_cpu].preempt);
	if (!is_idle(prev))
		work_account(sim_task_of(prev));
	if (!is_idle(next))
		sim_task_of(next)->work_from = sim_now + scn.cost_switch;
	report_switch(prev, next);
	return prev;
}

void machine_task_dead(struct task *t)
{
	struct sim_task *st = sim_task_of(t);

	if (st->dead)
		violation("died-twice", "task %u", t->id);
	if (nr_held)
		violation("locks-held", "a dead task is freed with a lock held");
	st->dead = true;
}

void machine_tick(bool on)
{
	struct sim_cpu *c = &sim_cpus[host_cpu];
	u64 phase = sched_tick_ns * host_cpu / host_ncpus;

	host_cpus[host_cpu].tick_on = on;
	if (!on)
		ev_cancel(&c->tick);
	else /* a fixed grid, staggered over the CPUs, as kernel/time/timer.c has it */
		ev_arm(&c->tick, phase + ((sim_now - phase) / sched_tick_ns + 1) * sched_tick_ns);
}

void machine_set_hz(unsigned hz)
{
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
	void *p;

	size = ALIGN_UP(size, 64);
	p = aligned_alloc(64, size);
	return p ? memset(p, 0, size) : NULL;
}

void machine_free(void *p, size_t size)
{
	free(p);
}

u64 rng_next(u64 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

u64 machine_random(void)
{
	return rng_next(&policy_rng);
}

void machine_stop_point(void)
{
}

void machine_stop_others(void (*fn)(void *), void *arg)
{
	fn(arg);
}

void machine_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("# ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/* sched_exit() does not return: its last statement, reached because machine_switch() does, brings us back. */
static jmp_buf exit_jump;
static bool exiting;

void machine_bug(const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (exiting && !strcmp(fmt, "task %u ran after its exit")) {
		exiting = false;
		longjmp(exit_jump, 1);
	}
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	violation("core", "%s", text);
}

void machine_exit_current(void)
{
	if (!setjmp(exit_jump)) {
		exiting = true;
		sched_exit();
	}
	preempt_enable_no_resched(); /* as the next task's schedule() would */
}

/* ------------------------------------------------------------- start-up */

void machine_start(unsigned ncpus, const char *policy, unsigned hz, u64 seed)
{
	policy_rng = seed * 0x9e3779b97f4a7c15ull | 1;
	host_ncpus = ncpus;
	sim_now = sim_start_time = NSEC_PER_SEC;
	if (sched_init(policy, hz)) {
		fprintf(stderr, "schedsim: sched_init failed\n");
		exit(1);
	}
	for (unsigned cpu = 0; cpu < ncpus; cpu++) {
		struct sim_cpu *c = &sim_cpus[cpu];

		c->cpu = cpu;
		c->tick = (struct ev){.kind = EV_TICK, .owner = c};
		c->resched = (struct ev){.kind = EV_RESCHED, .owner = c};
		c->migrate = (struct ev){.kind = EV_MIGRATE, .owner = c};
		c->step = (struct ev){.kind = EV_STEP, .owner = c};
		c->idle = true;
		c->idle_task.id = 0;
		strcpy(c->idle_task.comm, "idle");
		sched_init_idle(&c->idle_task, cpu);
	}
	for (unsigned cpu = 0; cpu < ncpus; cpu++) {
		host_cpu = cpu;
		host_cpus[cpu].started = true;
		sched_cpu_start();
	}
	host_cpu = 0;
}

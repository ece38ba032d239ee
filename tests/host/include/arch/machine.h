/* SPDX-License-Identifier: MIT
 *
 * The scheduler's machine on the host: any number of simulated CPUs in one thread, a virtual clock, interrupts that the
 * test delivers. kernel/sched/machine.h says what must be here; sim.c has the out-of-line part.
 *
 * "Which CPU runs this code" is the variable host_cpu. A context switch only records who runs: machine_switch() returns at
 * once, so what follows it runs as the next task would. Locks check what one thread can check: recursion (which would be a
 * deadlock), order, and who holds them.
 */
#ifndef ARCH_MACHINE_H
#define ARCH_MACHINE_H

#include <stdlib.h>

#include "lib/types.h"

struct task;
struct runq;

enum lock_rank { LOCK_NONE, LOCK_RUNQ, LOCK_INBOUND, LOCK_LEAF };

typedef struct spinlock {
	u32 locked;
	u32 owner;
	u32 rank;
	const char *name;
} spinlock_t;
#define SPINLOCK_INIT(lock_name, lock_rank)              \
	{                                                \
		.rank = (lock_rank), .name = (lock_name) \
	}

struct host_cpu {
	struct runq *rq;
	struct task *current;
	u32 need_resched;
	u32 preempt;
	bool irqs_off, in_irq, tick_on, started;
	/* Interrupts on their way: virtual time of arrival, ~0 = none. */
	u64 resched_due, migrate_due, next_tick;
	u64 halts, ticks;
};

extern struct host_cpu host_cpus[MAX_CPUS];
extern unsigned host_ncpus;
extern unsigned host_cpu; /* the CPU whose code runs */
/* When set, a failing trylock is simulated now and then, and other CPUs act in the window in which a lock is dropped. */
extern bool (*host_trylock_fails)(void);
extern void (*host_window)(void);

void host_lock_acquire(spinlock_t *l);
void host_lock_release(spinlock_t *l);
bool host_lock_try(spinlock_t *l);

static inline void spin_init(spinlock_t *l, const char *name, enum lock_rank rank)
{
	*l = (spinlock_t)SPINLOCK_INIT(name, rank);
}

static inline void spin_lock_raw(spinlock_t *l)
{
	host_lock_acquire(l);
}

static inline bool spin_trylock_raw(spinlock_t *l)
{
	return host_lock_try(l);
}

static inline void spin_unlock_raw(spinlock_t *l)
{
	host_lock_release(l);
}

static inline u64 irq_save(void)
{
	u64 was = host_cpus[host_cpu].irqs_off;

	host_cpus[host_cpu].irqs_off = true;
	return was;
}

static inline void irq_restore(u64 flags)
{
	host_cpus[host_cpu].irqs_off = flags;
}

static inline void irq_disable(void)
{
	host_cpus[host_cpu].irqs_off = true;
}

static inline void irq_enable(void)
{
	host_cpus[host_cpu].irqs_off = false;
}

static inline bool irqs_enabled(void)
{
	return !host_cpus[host_cpu].irqs_off;
}

void preempt_check(void);

static inline u32 preempt_count(void)
{
	return host_cpus[host_cpu].preempt;
}

static inline void preempt_disable(void)
{
	host_cpus[host_cpu].preempt++;
}

static inline void preempt_enable_no_resched(void)
{
	if (!host_cpus[host_cpu].preempt--)
		abort();
}

static inline bool need_resched(void)
{
	return host_cpus[host_cpu].need_resched;
}

static inline void preempt_enable(void)
{
	preempt_enable_no_resched();
	if (need_resched())
		preempt_check();
}

static inline bool in_interrupt(void)
{
	return host_cpus[host_cpu].in_irq;
}

static inline unsigned cpu_index(void)
{
	return host_cpu;
}

static inline struct task *current_task(void)
{
	return host_cpus[host_cpu].current;
}

static inline struct runq *machine_runq(unsigned cpu)
{
	return host_cpus[cpu].rq;
}

static inline struct runq *machine_this_runq(void)
{
	return host_cpus[host_cpu].rq;
}

static inline void machine_set_runq(unsigned cpu, struct runq *rq)
{
	host_cpus[cpu].rq = rq;
}

static inline bool machine_need_resched(unsigned cpu)
{
	return host_cpus[cpu].need_resched;
}

static inline void machine_set_need_resched(unsigned cpu)
{
	host_cpus[cpu].need_resched = 1;
}

static inline void machine_clear_need_resched(void)
{
	host_cpus[host_cpu].need_resched = 0;
}

static inline void machine_set_current(struct task *t)
{
	host_cpus[host_cpu].current = t;
}

static inline unsigned machine_cpus_present(void)
{
	return host_ncpus;
}

static inline bool machine_cpu_online(unsigned cpu)
{
	return host_cpus[cpu].started;
}

void cpu_relax(void);

#endif

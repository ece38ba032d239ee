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

static inline u32 host_flag(unsigned cpu)
{
	return host_cpus[cpu].need_resched;
}

static inline void host_set_flag(unsigned cpu, u32 v)
{
	host_cpus[cpu].need_resched = v;
}

void cpu_relax(void);

#include "host/cpu.h"

#endif

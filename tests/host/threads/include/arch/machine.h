/* SPDX-License-Identifier: MIT
 *
 * The scheduler's machine with a thread of the host for each CPU, so that ThreadSanitizer can judge the core's locking.
 * kernel/sched/machine.h says what must be here; threads.c has the out-of-line part.
 *
 * As in the one-threaded simulator a context switch only records who runs, and the thread goes on as the next task. Interrupts are
 * flags that a thread looks at where it has interrupts on and nothing half done.
 */
#ifndef ARCH_MACHINE_H
#define ARCH_MACHINE_H

#include <stdlib.h>

#include "lib/types.h"

struct task;
struct runq;

enum lock_rank { LOCK_NONE, LOCK_RUNQ, LOCK_INBOUND, LOCK_LEAF };

typedef struct spinlock {
	u32 locked; /* atomic */
	u32 rank;
	const char *name;
} spinlock_t;
#define SPINLOCK_INIT(lock_name, lock_rank)              \
	{                                                \
		.rank = (lock_rank), .name = (lock_name) \
	}

struct host_cpu {
	struct runq *rq;
	struct task *current; /* this and the next four: only the CPU's own thread */
	u32 preempt;
	bool irqs_off, in_irq, tick_on;
	u64 next_tick;
	bool started;
	u32 need_resched, resched_ipi, migrate_ipi; /* atomic */
} __attribute__((aligned(128)));

extern struct host_cpu host_cpus[MAX_CPUS];
extern unsigned host_ncpus;
extern _Thread_local unsigned host_cpu; /* the CPU that this thread is */

void cpu_relax(void);

static inline bool spin_trylock_raw(spinlock_t *l)
{
	return !__atomic_exchange_n(&l->locked, 1, __ATOMIC_ACQUIRE);
}

static inline void spin_lock_raw(spinlock_t *l)
{
	while (!spin_trylock_raw(l))
		cpu_relax();
}

static inline void spin_unlock_raw(spinlock_t *l)
{
	__atomic_store_n(&l->locked, 0, __ATOMIC_RELEASE);
}

static inline u32 host_flag(unsigned cpu)
{
	return __atomic_load_n(&host_cpus[cpu].need_resched, __ATOMIC_SEQ_CST);
}

static inline void host_set_flag(unsigned cpu, u32 v)
{
	__atomic_store_n(&host_cpus[cpu].need_resched, v, __ATOMIC_SEQ_CST);
}

#include "host/cpu.h"

#endif

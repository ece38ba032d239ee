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

static inline void spin_init(spinlock_t *l, const char *name, enum lock_rank rank)
{
	*l = (spinlock_t)SPINLOCK_INIT(name, rank);
}

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
	return __atomic_load_n(&host_cpus[host_cpu].need_resched, __ATOMIC_SEQ_CST);
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
	return __atomic_load_n(&host_cpus[cpu].need_resched, __ATOMIC_SEQ_CST);
}

static inline void machine_set_need_resched(unsigned cpu)
{
	__atomic_store_n(&host_cpus[cpu].need_resched, 1, __ATOMIC_SEQ_CST);
}

static inline void machine_clear_need_resched(void)
{
	__atomic_store_n(&host_cpus[host_cpu].need_resched, 0, __ATOMIC_SEQ_CST);
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

#endif

/* SPDX-License-Identifier: MIT
 *
 * Everything the scheduler needs from a machine. <arch/machine.h> provides it: arch/x86 for the kernel, tests/host for
 * the unit tests and the simulator, so that core.c, balance.c, migrate.c and every policy compile on both unchanged.
 *
 * Types and inline functions that <arch/machine.h> must provide (same meaning as in arch/x86/include/arch/):
 *
 *	spinlock_t, SPINLOCK_INIT, spin_init, spin_lock_raw, spin_trylock_raw, spin_unlock_raw, enum lock_rank
 *	irq_save, irq_restore, irq_disable, irq_enable, irqs_enabled
 *	preempt_disable, preempt_enable, preempt_enable_no_resched, preempt_count, need_resched, in_interrupt
 *	cpu_index()                 index of this CPU
 *	current_task()              the running task
 *	machine_runq(cpu)           the run queue registered for a CPU (any CPU)
 *	machine_this_runq()         this CPU's run queue (one load on x86)
 *	machine_set_runq(cpu, rq)   registers it, once at start-up
 *	machine_need_resched(cpu)   is the flag of that CPU set?
 *	machine_set_need_resched(cpu), machine_clear_need_resched() (this CPU's)
 *	machine_set_current(t)      this CPU runs t from now on (bookkeeping of current_task(); no stack switch)
 *	machine_cpus_present()      CPUs the machine has; indices 0 .. n-1
 *	machine_cpu_online(cpu)     has that CPU entered the scheduler?
 *	cpu_relax()                 one turn of a wait loop
 */
#ifndef SCHED_MACHINE_H
#define SCHED_MACHINE_H

#include <arch/machine.h>

#include "lib/types.h"

struct task;

/** machine_now() - monotonic time since boot in ns, comparable between CPUs. */
u64 machine_now(void);

/** machine_send_resched() - make @cpu look at its need_resched flag soon (reschedule IPI). Context: any, interrupts off. */
void machine_send_resched(unsigned cpu);

/** machine_send_migrate() - make @cpu take its inbound list soon (migration IPI). Context: any, interrupts off. */
void machine_send_migrate(unsigned cpu);

/**
 * machine_switch() - switch stacks, address space and user registers from @prev to @next.
 *
 * Called with interrupts off and the run-queue lock held; returns on @prev's stack when somebody switches back, perhaps on
 * another CPU. A new task starts in its entry function, which must call sched_finish_switch() first.
 * Return: the task that ran before on the CPU we are now on (the one to finish).
 */
struct task *machine_switch(struct task *prev, struct task *next);

/** machine_task_dead() - @t has left its stack for good (finished on the next stack, no locks held). Frees what it owns. */
void machine_task_dead(struct task *t);

/** machine_tick() - start or stop this CPU's periodic tick. Context: interrupts off. */
void machine_tick(bool on);

/** machine_set_hz() - set the tick frequency of all CPUs (100 .. 1000). Context: task, start-up or policy switch. */
void machine_set_hz(unsigned hz);

/** machine_idle_halt() - with interrupts off: enable interrupts and halt atomically; returns with interrupts on. */
void machine_idle_halt(void);

/** machine_idle_nops() - spend about 480 instructions without leaving translated code (idle=last). */
void machine_idle_nops(void);

/** machine_alloc() - zeroed memory for per-CPU policy areas. Return: NULL if there is none. Context: may not be in interrupt. */
void *machine_alloc(size_t size);

/** machine_free() - give back what machine_alloc() returned (NULL allowed). */
void machine_free(void *p, size_t size);

/** machine_random() - 64 bits from the seeded generator (seed=). Deterministic under det. Context: any. */
u64 machine_random(void);

/**
 * machine_stop_others() - bring all other online CPUs to a standstill with interrupts off (they spin with cpu_relax), run
 * @fn(@arg) here, let them go on. Context: task, preemptible. Used by policy switches.
 */
void machine_stop_others(void (*fn)(void *), void *arg);

/**
 * machine_stop_point() - stop here if machine_stop_others() has asked and it was not possible then; need_resched was set for it.
 * Context: task, no locks, preemption and interrupts on.
 */
void machine_stop_point(void);

/** machine_log() - one line to the kernel log. */
void machine_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** machine_bug() - an invariant is broken: panic (kernel) or abort with the message (host). */
void machine_bug(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif

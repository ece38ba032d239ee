/* SPDX-License-Identifier: MIT
 *
 * Discovering and starting CPUs, interrupts between them, the local timer and the clock.
 */
#ifndef ARCH_SMP_H
#define ARCH_SMP_H

#include "arch/cpu.h"
#include "arch/regs.h"
#include "lib/types.h"

/** clock_start() - machine time 0 is now. Very first call of kernel_main(). */
void clock_start(void);

/** arch_early_init() - boot CPU: per-CPU block, GDT, IDT, CPU features, exception handlers. First call of kernel_main(). */
void arch_early_init(void);

/**
 * cpus_discover() - read the MADT; allocate a struct cpu for each enabled CPU (at most @limit, 0 = all); set cpus_present.
 * Without ACPI tables one CPU is used and a line says so. Context: boot CPU, memory allocator up.
 */
void cpus_discover(unsigned limit);

/**
 * arch_configure() - before arch_clock_init(). @det: deterministic run: start the slicer. @wait_by_nops: start-up waits run nops
 * instead of HLT (idle=last). @seed: chooses the slicer's period and phase, 0 = the standard one.
 */
void arch_configure(bool det, bool wait_by_nops, u64 seed);
bool arch_waits_by_nops(void);
/** arch_sliced() - Return: whether this is a deterministic run, in which the CPUs take turns on one instruction stream. */
bool arch_sliced(void);

/** machine_tsc_to_ns() - length of @cycles of rdtsc() in ns; 0 before calibration. */
u64 machine_tsc_to_ns(u64 cycles);

/** machine_seed() - start machine_random()'s sequence. */
void machine_seed(u64 seed);

/** arch_clock_init() - calibrate TSC and LAPIC timer; after it machine_now() counts. Boot CPU. */
void arch_clock_init(void);

/**
 * cpus_start() - start all present CPUs: INIT to all, one 10 ms wait, SIPI; each runs @entry(index) on its idle task's stack once
 * up, with interrupts off and the preemption count 1. cpus[i]->kstack_top names that stack and must be set before, for all but CPU 0.
 * Waits until all are online or a time-out, logs each CPU that did not answer by index and APIC id.
 * Return: number online.
 */
unsigned cpus_start(void (*entry)(unsigned index));

/** Vectors of the IPIs; handlers are bound in arch/x86/trap.c to sched_resched_ipi(), sched_migrate_ipi(), mm's shootdown. */
#define VEC_TIMER     0xf0
#define VEC_RESCHED   0xfc
#define VEC_MIGRATE   0xfb /* as in the -J2 scheduler */
#define VEC_SHOOTDOWN 0xfd
#define VEC_STOP      0xfe /* machine_stop_others */
#define VEC_SPURIOUS  0xff

/** arch_send_ipi() - send @vector to CPU @index. Context: any (interrupts are disabled inside). */
void arch_send_ipi(unsigned index, unsigned vector);

/** arch_stop_cpus() - NMI to all other CPUs: they save their registers and halt for good. Panic only. */
void arch_stop_cpus(void);

/** arch_timer_set() - interrupt this CPU at machine time @when ns (at once if it has passed); ~0ull = never. Interrupts off. */
void arch_timer_set(u64 when);

/** arch_stopped_regs() - after arch_stop_cpus(): registers of CPU @index when it was stopped. Return: NULL if it did not answer. */
const struct regs *arch_stopped_regs(unsigned index);

/** arch_debug_exit() - leave the emulator with @code if isa-debug-exit is present. Returns if it is not: only writing tells. */
void arch_debug_exit(u8 code);

/** arch_halt_forever() - stop this CPU for good with interrupts off. */
void arch_halt_forever(void) __attribute__((noreturn));

/** arch_power_off() - leave the machine: isa-debug-exit @code if present, else ACPI/Bochs/QEMU ports, else halt. */
void arch_power_off(u8 code) __attribute__((noreturn));

/** arch_reboot() - reset the machine. */
void arch_reboot(void) __attribute__((noreturn));

/* isa-debug-exit codes: the emulator's status is (code << 1) | 1. */
#define EXIT_CODE_OK	       16
#define EXIT_CODE_TESTS_FAILED 17
#define EXIT_CODE_PANIC	       18

/** arch_irq_enable() - route ISA interrupt @irq (0..15) to CPU 0, edge as the MADT says, unmasked; irq_raise(@irq) is called for each. */
int arch_irq_enable(unsigned irq);
void arch_irq_disable(unsigned irq);

/** irq_raise() - called in interrupt context when ISA interrupt @irq fired. Implemented in kernel/ipc/irq.c. */
void irq_raise(unsigned irq);

/** time_interrupt() - the local timer fired. Implemented in kernel/time/timer.c. Context: interrupt. */
void time_interrupt(void);

/** mm_shootdown_ipi() - flush this CPU's user TLB entries as requested. Implemented in kernel/mm/shootdown.c. */
void mm_shootdown_ipi(void);

/**
 * arch_user_fault() - a trap in user mode that is no page fault, or a page fault that mm could not resolve.
 * Implemented in kernel/task/signal.c: sends @sig to the current thread and logs one line.
 */
void task_user_fault(struct regs *regs, int sig, int code, u64 addr, const char *what);

/**
 * task_user_work() - before returning to user mode with work pending (resched, signals). Interrupts on. In kernel/task/signal.c. Must
 * leave signal_pending clear unless there is a signal to deliver: it is called again until neither flag is set. May change @regs.
 */
void task_user_work(struct regs *regs);

/** mm_fault() - resolve a page fault at @addr. @write/@exec/@user: kind of access. Return: 0, or -EFAULT/-ENOMEM/-EACCES. Interrupts on. */
int mm_fault(u64 addr, bool write, bool exec, bool user);

/** The work flag of the system-call exit path lives in the current task: arch/x86/entry.asm tests struct cpu.need_resched and
 * struct task.signal_pending. */

#endif

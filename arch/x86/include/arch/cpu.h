/* SPDX-License-Identifier: MIT
 *
 * The per-CPU block and what hangs on it: the current task, the preemption count, the need-reschedule flag.
 *
 * GS points at this CPU's block while in the kernel (swapgs at the user boundary). Fields used by assembly have fixed
 * offsets, checked in arch/x86/cpu.c.
 */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H

#include "lib/types.h"

struct task;
struct runq;
struct mm;

/* Offsets used by assembly and by the inline functions below. */
#define CPU_SELF	  0
#define CPU_CURRENT	  8
#define CPU_PREEMPT_COUNT 16
#define CPU_NEED_RESCHED  20
#define CPU_KSTACK_TOP	  24
#define CPU_USER_RSP	  32
#define CPU_MM		  64
#define CPU_IRQ_DEPTH	  72

struct cpu {
	struct cpu *self;     /* constant */
	struct task *current; /* this CPU, changed by the context switch with interrupts off */
	u32 preempt_count;    /* this CPU only; 0 = may be preempted */
	u32 need_resched; /* set by any CPU (with the run-queue lock held), cleared by this one in schedule() */
	u64 kstack_top; /* top of current's kernel stack: where SYSCALL starts */
	u64 user_rsp;	/* scratch of the SYSCALL entry */
	u64 spare;

	unsigned index;	   /* constant: 0 .. cpus_present-1; CPU 0 booted */
	u32 apic_id;	   /* constant */
	struct runq *runq; /* constant after sched_init_cpu() */
	struct mm *
		mm; /* address space CR3 points to (NULL: the kernel's); this CPU, interrupts off */
	u32 irq_depth;	     /* this CPU: > 0 inside a hardware interrupt handler */
	volatile u32 online; /* set once by the CPU itself */

	/* TLB shootdown: requests are counted up by others, done follows on this CPU. */
	volatile u64 tlb_requested;
	volatile u64 tlb_done;

	struct cpu_arch *arch;		      /* GDT, TSS, IST stacks ... private to arch/x86 */
	struct task *idle;		      /* constant */
	void *timer_base;		      /* struct timer_base of kernel/time */
	void *page_cache;		      /* struct page_cache of kernel/mm */
	struct lock_held *held;		      /* DEBUG: locks this CPU holds */
	u64 irq_count, tick_count, ipi_count; /* statistics, this CPU only */
};

/* All CPUs found in the MADT (and allowed by smp=), by index. Constant after cpus_discover(). */
extern struct cpu *cpus[MAX_CPUS];
extern unsigned cpus_present;
/* CPUs that run the scheduler. Grows only during start-up. */
extern unsigned cpus_online;

/** this_cpu() - this CPU's block. Stable only while preemption or interrupts are off. */
static inline struct cpu *this_cpu(void)
{
	struct cpu *c;

	__asm__ volatile("movq %%gs:0, %0" : "=r"(c));
	return c;
}

/** cpu_index() - index of this CPU. Stable only while preemption or interrupts are off. */
static inline unsigned cpu_index(void)
{
	return this_cpu()->index;
}

/**
 * current_task() - the running task. Never stale: a task is `current` wherever it runs, hence no volatile.
 */
static inline struct task *current_task(void)
{
	struct task *t;

	__asm__("movq %%gs:8, %0" : "=r"(t));
	return t;
}

static inline u32 preempt_count(void)
{
	u32 n;

	__asm__ volatile("movl %%gs:16, %0" : "=r"(n));
	return n;
}

/** preempt_disable() - keep the current task on this CPU until the matching preempt_enable(). Nests. */
static inline void preempt_disable(void)
{
	__asm__ volatile("incl %%gs:16" ::: "memory", "cc");
}

/** preempt_enable_no_resched() - undo preempt_disable() where the caller is about to schedule or has interrupts off. */
static inline void preempt_enable_no_resched(void)
{
	__asm__ volatile("decl %%gs:16" ::: "memory", "cc");
}

/** need_resched() - has somebody asked this CPU to reschedule? */
static inline bool need_resched(void)
{
	u32 n;

	__asm__ volatile("movl %%gs:20, %0" : "=r"(n));
	return n != 0;
}

/**
 * preempt_check() - out of line part of preempt_enable(): reschedule if that is allowed (preempt=full, interrupts on, count 0).
 * Implemented in kernel/sched/core.c.
 */
void preempt_check(void);

/** preempt_enable() - undo preempt_disable(); reschedules here if it became due meanwhile (preempt=full). */
static inline void preempt_enable(void)
{
	u32 n;

	__asm__ volatile("decl %%gs:16\n\tmovl %%gs:20, %0" : "=r"(n)::"memory", "cc");
	if (unlikely(n))
		preempt_check();
}

/** in_interrupt() - are we inside a hardware interrupt handler on this CPU? */
static inline bool in_interrupt(void)
{
	u32 n;

	__asm__ volatile("movl %%gs:%c1, %0" : "=r"(n) : "i"(CPU_IRQ_DEPTH));
	return n != 0;
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * The scheduler's machine on x86-64: inline parts of kernel/sched/machine.h.
 */
#ifndef ARCH_MACHINE_H
#define ARCH_MACHINE_H

#include "arch/cpu.h"
#include "arch/io.h"
#include "arch/irq.h"
#include "arch/spinlock.h"

#define machine_runq(n) (cpus[n]->runq)

static inline struct runq *machine_this_runq(void)
{
	struct runq *rq;

	__asm__ volatile("movq %%gs:%c1, %0" : "=r"(rq) : "i"(offsetof(struct cpu, runq)));
	return rq;
}

static inline void machine_set_runq(unsigned cpu, struct runq *rq)
{
	cpus[cpu]->runq = rq;
}

static inline bool machine_need_resched(unsigned cpu)
{
	return READ_ONCE(cpus[cpu]->need_resched);
}

static inline void machine_set_need_resched(unsigned cpu)
{
	WRITE_ONCE(cpus[cpu]->need_resched, 1);
}

static inline void machine_clear_need_resched(void)
{
	__asm__ volatile("movl $0, %%gs:20" ::: "memory");
}

static inline void machine_set_current(struct task *t)
{
	__asm__ volatile("movq %0, %%gs:8" ::"r"(t) : "memory");
}

/*
 * machine_switch() of kernel/sched/machine.h. All registers change hands: the compiler saves what it needs around it, once, and
 * arch_switch (entry.asm) saves only the frame pointer, which a debug build does not let it have.
 */
static inline struct task *machine_switch(struct task *prev, struct task *next)
{
	struct task *last;

	__asm__ volatile("call arch_switch"
			 : "=a"(last), "+D"(prev), "+S"(next)
			 :
			 : "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
			   "r15", "memory", "cc");
	return last;
}

/* machine_now() of kernel/sched/machine.h: TSC cycles since clock_start(), scaled by 32.32 ns each (0 before calibration). */
extern u64 tsc_base, tsc_mult;

static inline u64 machine_now(void)
{
	return (u64)(((unsigned __int128)(rdtsc() - tsc_base) * tsc_mult) >> 32);
}

#define machine_cpus_present() cpus_present
#define machine_cpu_online(n)  (cpus[n]->online)

static inline void cpu_relax(void)
{
	spin_wait();
}

#endif

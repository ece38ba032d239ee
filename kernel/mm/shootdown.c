/* SPDX-License-Identifier: MIT
 *
 * Which CPUs use an address space, and how they are told to forget translations.
 *
 * A CPU's bit in mm->cpus is set before its CR3 points to the mm and cleared after CR3 points elsewhere, by the CPU itself with
 * interrupts off. cpu->mm says what CR3 holds; a kernel task keeps what its predecessor left there ("lazily").
 *
 * Shootdown. The requester has changed entries, makes a full barrier, reads mm->cpus, and for each other CPU in it counts up
 * cpu->tlb_requested, sends the IPI and waits until cpu->tlb_done has caught up.
 *
 *  - A CPU that enters the mm meanwhile: it sets its bit with a locked instruction (a full barrier) and loads CR3 afterwards.
 *    Either the requester sees the bit, or the entries were visible before the CR3 load and the new walk finds them.
 *  - A CPU that leaves: it loads the other CR3 first, which flushes, then clears the bit. Seen too early, the bit costs an IPI.
 *  - The answer reads tlb_requested before it flushes and publishes that number afterwards, so no request counted later is
 *    declared done; requests are never merged on the sending side, so none is lost.
 *  - Deadlock: the requester holds mm->lock and perhaps has interrupts off; so may the CPU it waits for, which may wait for
 *    mm->lock, for any other lock, or for its own shootdown. Every wait loop calls spin_wait(), which answers
 *    (mm_shootdown_ipi()); a CPU that does not wait gets to a point with interrupts on.
 *
 * Destroying an mm. The last user is gone, so no CPU can enter it any more; but CPUs may have it loaded lazily. mm_evict() asks
 * each CPU in mm->cpus, and the answer, seeing users == 0, changes to the kernel's tables. The answering CPU may read cpu->mm
 * as long as its own bit is set, for mm_evict() waits for all bits. Both mm_switch() and the answer clear the bit last and do not
 * touch the mm after that. A CPU in the middle of mm_switch() away from it has interrupts off: its bit goes away without our
 * help, and the request finds another mm in place (a needless flush).
 *
 * A kernel task never needs the user half, so a shootdown that finds one makes its CPU leave the mm: an idle CPU is
 * interrupted at most once for an mm it does not use.
 */
#include "arch/smp.h"
#include "mm/internal.h"

/* mm_switch() is part of the context switch in arch/x86/entry.asm. */
_Static_assert(offsetof(struct mm, pml4) == 0, "MM_PML4 in asm.inc");
_Static_assert(offsetof(struct mm, cpus) == 8, "MM_CPUS in asm.inc");

static inline void mask_clear(struct mm *mm, unsigned cpu)
{
	__atomic_fetch_and(&mm->cpus.bits[cpu / 64], ~(1ull << (cpu % 64)), __ATOMIC_SEQ_CST);
}

/* Context: interrupts off. */
static void leave(struct cpu *c)
{
	struct mm *mm = c->mm;

	load_cr3(kernel_pml4);
	c->mm = NULL;
	mask_clear(mm, c->index);
}

void mm_leave(void)
{
	u64 flags = irq_save();
	struct cpu *c = this_cpu();

	if (c->mm)
		leave(c);
	irq_restore(flags);
}

/* Answer what was requested of this CPU. Context: interrupts off. */
static void answer(struct cpu *c)
{
	u64 requested = __atomic_load_n(&c->tlb_requested, __ATOMIC_ACQUIRE);
	struct mm *mm = c->mm;

	if (requested == c->tlb_done)
		return;
	if (mm && (!__atomic_load_n(&mm->users, __ATOMIC_ACQUIRE) || !current_mm()))
		leave(c);
	else
		load_cr3(read_cr3());
	__atomic_store_n(&c->tlb_done, requested, __ATOMIC_RELEASE);
}

void mm_shootdown_ipi(void)
{
	answer(this_cpu()); /* interrupts are off: the interrupt handler, or spin_wait() */
}

static void request(unsigned cpu)
{
	__atomic_fetch_add(&cpus[cpu]->tlb_requested, 1, __ATOMIC_SEQ_CST);
	arch_send_ipi(cpu, VEC_SHOOTDOWN);
}

/* Wait until @cpu has done all that is requested of it now: ours, and perhaps a little more. */
static void wait_done(unsigned cpu)
{
	u64 target = cpus[cpu]->tlb_requested;

	/* Numbers only grow; the difference keeps working if they ever wrapped. A stopped CPU in a panic never answers. */
	while ((s64)(__atomic_load_n(&cpus[cpu]->tlb_done, __ATOMIC_ACQUIRE) - target) < 0 &&
	       !log_panicking())
		spin_wait();
}

/* Context: preemption off, so that "other CPUs" means something. */
static void shoot(const struct cpumask *mask, unsigned self)
{
	unsigned cpu;

	for_each_cpu_in(cpu, mask) if (cpu != self) request(cpu);
	for_each_cpu_in(cpu, mask) if (cpu != self) wait_done(cpu);
}

/* A snapshot of the other CPUs in @mm->cpus, after a full barrier. Return: whether there is any. */
static inline bool other_cpus(struct mm *mm, unsigned self, struct cpumask *mask)
{
	unsigned words = (cpus_present + 63) / 64;
	u64 any = 0;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned i = 0; i < ARRAY_SIZE(mask->bits); i++) {
		u64 w = i < words ? __atomic_load_n(&mm->cpus.bits[i], __ATOMIC_RELAXED) : 0;

		if (i == self / 64)
			w &= ~(1ull << (self % 64));
		mask->bits[i] = w;
		any |= w;
	}
	return any != 0;
}

void shootdown(struct mm *mm)
{
	struct cpumask mask;
	unsigned self;

	preempt_disable();
	self = cpu_index();
	if (unlikely(other_cpus(mm, self, &mask)))
		shoot(&mask, self);
	preempt_enable();
}

void flush_page(struct mm *mm, u64 addr)
{
	if (this_cpu()->mm == mm)
		invlpg(addr);
	shootdown(mm);
}

void flush_all(struct mm *mm)
{
	if (this_cpu()->mm == mm)
		load_cr3(mm->pml4);
	shootdown(mm);
}

void kernel_shootdown(void)
{
	struct cpumask mask = {0};
	unsigned self;

	preempt_disable();
	self = cpu_index();
	for (unsigned i = 0; i < cpus_present; i++)
		if (i != self && cpus[i] && cpus[i]->online)
			cpumask_set(&mask, i);
	load_cr3(read_cr3());
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	shoot(&mask, self);
	preempt_enable();
}

void mm_evict(struct mm *mm)
{
	struct cpumask mask;
	unsigned cpu, self;

	preempt_disable();
	self = cpu_index();
	if (this_cpu()->mm == mm)
		mm_leave();
	if (unlikely(other_cpus(mm, self, &mask))) {
		for_each_cpu_in(cpu, &mask) request(cpu);
		while (!log_panicking() && other_cpus(mm, self, &mask))
			spin_wait();
	}
	preempt_enable();
}

/* SPDX-License-Identifier: MIT
 *
 * What happens on each vector: exceptions become signals in user mode, page faults are resolved or fixed up, and everything
 * else in the kernel is a panic; interrupts are acknowledged and handed to whoever handles them.
 */
#include "lib/errno.h"
#include "mm/mm.h"
#include "sched/sched.h"
#include "sched/trace.h"

#include "internal.h"
#include "log.h"

/* Linux's signal numbers and si_code values. */
#define SIGILL	    4
#define SIGTRAP	    5
#define SIGBUS	    7
#define SIGFPE	    8
#define SIGKILL	    9
#define SIGSEGV	    11
#define SI_KERNEL   0x80
#define SEGV_MAPERR 1
#define SEGV_ACCERR 2

#define PF_PRESENT  1u
#define PF_WRITE    2u
#define PF_USER	    4u
#define PF_RESERVED 8u
#define PF_FETCH    16u

struct idt_entry {
	u16 offset0, selector;
	u8 ist, type;
	u16 offset1;
	u32 offset2, reserved;
};

/* One table for all CPUs; constant after idt_init(). */
static struct idt_entry idt[256] __attribute__((aligned(16)));
extern const u64 vector_table[256];
extern const u64 _extable[], _eextable[];

static const struct {
	const char *name;
	u8 signal, code;
} exceptions[32] = {
	[0] = {"divide error", SIGFPE, 1 /* FPE_INTDIV */},
	[1] = {"debug exception", SIGTRAP, 2 /* TRAP_TRACE */},
	[2] = {"NMI", 0, 0},
	[3] = {"breakpoint", SIGTRAP, SI_KERNEL},
	[4] = {"overflow", SIGSEGV, SI_KERNEL},
	[5] = {"bound range exceeded", SIGSEGV, SI_KERNEL},
	[6] = {"invalid opcode", SIGILL, 2 /* ILL_ILLOPN */},
	[7] = {"FPU not available", SIGSEGV, SI_KERNEL},
	[8] = {"double fault", 0, 0},
	[10] = {"invalid TSS", SIGSEGV, SI_KERNEL},
	[11] = {"segment not present", SIGBUS, SI_KERNEL},
	[12] = {"stack segment fault", SIGBUS, SI_KERNEL},
	[13] = {"general protection fault", SIGSEGV, SI_KERNEL},
	[14] = {"page fault", SIGSEGV, SEGV_MAPERR},
	[16] = {"x87 floating-point error", SIGFPE, 0},
	[17] = {"alignment check", SIGBUS, 1 /* BUS_ADRALN */},
	[18] = {"machine check", 0, 0},
	[19] = {"SIMD floating-point error", SIGFPE, 0},
	[21] = {"control protection fault", SIGSEGV, SI_KERNEL},
};

static const char *exception_name(unsigned vector)
{
	return vector < 32 && exceptions[vector].name ? exceptions[vector].name
						      : "reserved exception";
}

void idt_init(void)
{
	for (unsigned v = 0; v < 256; v++) {
		u64 a = vector_table[v];

		idt[v] = (struct idt_entry){
			.offset0 = (u16)a,
			.selector = KERNEL_CS,
			.ist = v == 2	 ? IST_NMI
			       : v == 8	 ? IST_DOUBLE_FAULT
			       : v == 18 ? IST_MACHINE_CHECK
					 : 0,
			.type = v == 3 ? 0xee
				       : 0x8e, /* interrupt gate; user mode may use the breakpoint */
			.offset1 = (u16)(a >> 16),
			.offset2 = (u32)(a >> 32),
		};
	}
}

void idt_load(void)
{
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) idtr = {sizeof(idt) - 1, (u64)idt};

	__asm__ volatile("lidt %0" ::"m"(idtr));
}

static inline u64 read_cr2(void)
{
	u64 v;

	__asm__ volatile("movq %%cr2, %0" : "=r"(v));
	return v;
}

/* Where a fault at @rip in the kernel goes on if it cannot be resolved, or 0. */
static u64 extable_find(u64 rip)
{
	for (const u64 *e = _extable; e < _eextable; e += 2)
		if (e[0] == rip)
			return e[1];
	return 0;
}

/* The si_code of a floating-point trap: the first unmasked exception, from @status (bits as in FSW and MXCSR) and @mask. */
static int fpe_code(u32 status, u32 mask)
{
	static const u8 codes[6] = {7 /* INV */, 5 /* SUB */, 3 /* DIV */,
				    4 /* OVF */, 5 /* UND */, 6 /* RES */};

	for (unsigned i = 0; i < 6; i++)
		if (status & ~mask & 1u << i)
			return codes[i];
	return 0;
}

static int user_trap_code(unsigned vector)
{
	u16 status, control;
	u32 mxcsr;

	if (vector == 16) {
		__asm__ volatile("fnstsw %0\n\tfnstcw %1" : "=m"(status), "=m"(control));
		__asm__ volatile("fnclex");
		return fpe_code(status, control);
	}
	if (vector == 19) {
		__asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
		return fpe_code(mxcsr, mxcsr >> 7);
	}
	return exceptions[vector & 31].code;
}

static void user_page_fault(struct regs *regs, u64 addr)
{
	u64 error = regs->orig;
	int err;

	irq_enable();
	err = mm_fault(addr, error & PF_WRITE, error & PF_FETCH, true);
	if (likely(!err))
		return;
	if (err == -ENOMEM)
		task_user_fault(regs, SIGKILL, SI_KERNEL, addr, "out of memory");
	else
		task_user_fault(regs, SIGSEGV, err == -EACCES ? SEGV_ACCERR : SEGV_MAPERR, addr,
				"page fault");
}

/*
 * A page fault in kernel code is legal only in the user-copy instructions, which the exception table lists. The fault is
 * resolved where sleeping is allowed; where it is not (a lock is held) the copy fails at once and its caller deals with it.
 */
static void kernel_page_fault(struct regs *regs, u64 addr)
{
	u64 error = regs->orig, fixup = extable_find(regs->rip);

	if (!fixup || addr >= USER_END || (error & (PF_RESERVED | PF_FETCH)) ||
	    (cpu_has_smap && !(regs->rflags & RFLAGS_AC)))
		panic_regs(regs, "kernel page fault: %s of address %p (%s, error code 0x%x)",
			   error & PF_FETCH   ? "execution"
			   : error & PF_WRITE ? "write"
					      : "read",
			   (void *)addr,
			   addr < PAGE_SIZE	    ? "NULL pointer"
			   : addr < USER_END	    ? "user memory outside a user copy"
			   : kstack_guard_hit(addr) ? "guard page of a kernel stack"
						    : "kernel address",
			   (unsigned)error);
	if ((regs->rflags & RFLAGS_IF) && !preempt_count() && !in_interrupt()) {
		irq_enable();
		if (!mm_fault(addr, error & PF_WRITE, false, false))
			return;
	}
	regs->rip = fixup;
}

void trap_exception(struct regs *regs, unsigned vector)
{
	u64 addr, fixup;

	if (vector == 14) {
		addr = read_cr2();
		if (regs_user(regs))
			user_page_fault(regs, addr);
		else
			kernel_page_fault(regs, addr);
		return;
	}
	if (regs_user(regs)) {
		int signal = exceptions[vector & 31].signal, code = user_trap_code(vector);

		irq_enable();
		task_user_fault(regs, signal ? signal : SIGSEGV, code,
				code == SI_KERNEL ? 0 : regs->rip, exception_name(vector));
		return;
	}
	fixup = extable_find(regs->rip);
	if (fixup) {
		regs->rip = fixup;
		return;
	}
	panic_regs(regs, "%s in kernel mode (vector %u, error code 0x%x)",
#ifdef DEBUG
		   vector == 6 ? "undefined behaviour or invalid opcode" :
#endif
			       exception_name(vector),
		   vector, (unsigned)regs->orig);
}

/* IRETQ refused the user's registers. Any user address will do: the thread gets SIGSEGV before it runs there. */
void trap_bad_iret(struct regs *regs)
{
	regs->rip = 0;
	regs->cs = USER_CS;
	regs->ss = USER_DS;
	regs->rflags = RFLAGS_IF | 2;
	regs->rsp &= USER_END - 1;
	irq_enable();
	task_user_fault(regs, SIGSEGV, SI_KERNEL, 0, "bad return state");
}

/* NMI, double fault, machine check: on a stack of their own, interrupts off, perhaps in the middle of anything. */
void trap_paranoid(struct regs *regs, unsigned vector)
{
	u64 addr = read_cr2();

	if (vector == 2) {
		struct cpu *c = this_cpu();

		if (log_panicking()) {
			/* Another CPU panics and wants the stage: leave our registers to it. */
			c->arch->stop_regs = *regs;
			__atomic_store_n(&c->arch->stopped, 1, __ATOMIC_RELEASE);
			arch_halt_forever();
		}
		klog("cpu %u: unexpected NMI at %p", c->index, (void *)regs->rip);
		return;
	}
	if (vector == 8 && (kstack_guard_hit(addr) || kstack_guard_hit(regs->rsp - 8)))
		panic_regs(regs, "kernel stack overflow: guard page hit at %p", (void *)addr);
	panic_regs(regs, "%s (error code 0x%x, CR2 %p)", exception_name(vector),
		   (unsigned)regs->orig, (void *)addr);
}

static void unexpected_interrupt(unsigned vector)
{
	static u64 reported[4];

	if (vector >= VEC_PIC && vector < VEC_PIC + 16)
		return; /* a masked PIC's spurious interrupt: not to be acknowledged */
	if (vector != VEC_SPURIOUS)
		lapic_eoi();
	if (__atomic_fetch_or(&reported[vector / 64], 1ull << (vector % 64), __ATOMIC_RELAXED) >>
		    (vector % 64) &
	    1)
		return;
	if (vector != VEC_SPURIOUS)
		klog("cpu %u: unexpected interrupt vector 0x%x (reported once)", this_cpu()->index,
		     vector);
}

/*
 * Interrupts do not nest: they stay off until the interrupted code goes on, or the interrupt ends in schedule(). They are
 * acknowledged first, because of the latter. No `pause` here: see docs on determinism, it starves CPUs under an emulator.
 */
void trap_interrupt(struct regs *regs)
{
	unsigned vector = (unsigned)~regs->orig;
	struct cpu *c = this_cpu();

	c->irq_depth++;
	c->irq_count++;
	trace_irq(vector);
	if (vector == VEC_TIMER) {
		lapic_eoi();
		c->tick_count++;
		time_interrupt();
	} else if (vector == VEC_RESCHED) {
		lapic_eoi();
		c->ipi_count++;
		sched_resched_ipi();
	} else if (vector == VEC_MIGRATE) {
		lapic_eoi();
		c->ipi_count++;
		sched_migrate_ipi();
	} else if (vector == VEC_SHOOTDOWN) {
		lapic_eoi();
		c->ipi_count++;
		mm_shootdown_ipi();
	} else if (vector == VEC_STOP) {
		lapic_eoi();
		c->ipi_count++;
		stop_ipi();
	} else if (vector >= VEC_ISA && vector < VEC_ISA + 16) {
		lapic_eoi();
		irq_raise(vector - VEC_ISA);
	} else if (vector == VEC_WAKE) {
		lapic_eoi();
	} else {
		unexpected_interrupt(vector);
	}
	c->irq_depth--;
}

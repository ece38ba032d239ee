/* SPDX-License-Identifier: MIT
 *
 * The end: stop all other CPUs, say what is known, leave with a code that nobody can take for success.
 *
 * Works from the first instruction of kernel_main() on, with any lock held, on any stack. A panic inside the report costs the
 * step it happened in; a second CPU that panics waits to be stopped.
 */
#include <arch/regs.h>
#include <arch/smp.h>

#include "cmdline.h"
#include "log.h"
#include "sched/sched.h"

/* CPU index + 1 of the CPU that panics. */
static u32 panic_owner;
static volatile u32 panic_depth;

void power_off(u8 code)
{
	u64 switches, hash = sched_switch_hash(&switches);

	klog("power-off: switches %llu hash %016llx", (unsigned long long)switches,
	     (unsigned long long)hash);
	arch_power_off(code);
}

static void leave(void)
{
	switch (options.panic) {
	case PANIC_HALT:
		arch_halt_forever();
	case PANIC_REBOOT:
		arch_reboot();
	case PANIC_EXIT:
		arch_power_off(EXIT_CODE_PANIC);
	case PANIC_DEFAULT:
		/* Outside an emulator that takes the code, keep the report on the screen. */
		arch_debug_exit(EXIT_CODE_PANIC);
		arch_halt_forever();
	}
}

static void print_address(const char *what, u64 addr)
{
	u64 offset;
	const char *name = ksym_find(addr, &offset);

	if (name)
		klog("%s %p %s+0x%x", what, (void *)addr, name, (unsigned)offset);
	else
		klog("%s %p", what, (void *)addr);
}

static void print_regs(const struct regs *r)
{
	u64 cr2, cr3;

	__asm__ volatile("movq %%cr2, %0\n\tmovq %%cr3, %1" : "=r"(cr2), "=r"(cr3));
	print_address("rip", r->rip);
	klog("rax %016llx rbx %016llx rcx %016llx rdx %016llx", (unsigned long long)r->rax,
	     (unsigned long long)r->rbx, (unsigned long long)r->rcx, (unsigned long long)r->rdx);
	klog("rsi %016llx rdi %016llx rbp %016llx rsp %016llx", (unsigned long long)r->rsi,
	     (unsigned long long)r->rdi, (unsigned long long)r->rbp, (unsigned long long)r->rsp);
	klog("r8  %016llx r9  %016llx r10 %016llx r11 %016llx", (unsigned long long)r->r8,
	     (unsigned long long)r->r9, (unsigned long long)r->r10, (unsigned long long)r->r11);
	klog("r12 %016llx r13 %016llx r14 %016llx r15 %016llx", (unsigned long long)r->r12,
	     (unsigned long long)r->r13, (unsigned long long)r->r14, (unsigned long long)r->r15);
	klog("cs %04llx ss %04llx rflags %08llx cr2 %016llx cr3 %016llx error %llx",
	     (unsigned long long)r->cs, (unsigned long long)r->ss, (unsigned long long)r->rflags,
	     (unsigned long long)cr2, (unsigned long long)cr3, (unsigned long long)r->orig);
}

static void print_stopped(unsigned index, const struct regs *r)
{
	char what[40];

	ksnprintf(what, sizeof(what), "CPU %u was stopped in %s mode at", index,
		  regs_user(r) ? "user" : "kernel");
	print_address(what, r->rip);
}

static void print_head(const struct cpu *c, const struct regs *regs)
{
	if (c->current)
		klog("on CPU %u, task %u (%.16s)%s", c->index, c->current->id, c->current->comm,
		     c->irq_depth ? ", in an interrupt" : "");
	else
		klog("on CPU %u, no task yet", c->index);
	if (regs)
		print_regs(regs);
}

static void print_others(const struct cpu *c)
{
	for (unsigned i = 0; i < cpus_present; i++) {
		const struct regs *r = arch_stopped_regs(i);

		if (i == c->index || !cpus[i]->online)
			continue;
		if (r)
			print_stopped(i, r);
		else
			klog("CPU %u did not stop", i);
	}
}

/* The report in steps. One that panics itself is given up: the nested panic goes on with the next. */
static void report(const struct regs *regs, u64 rbp, u64 rsp)
{
	const struct cpu *c = this_cpu();
	static unsigned step;

	while (step < 4) {
		switch (step++) {
		case 0:
			print_head(c, regs);
			break;
		case 1:
			klog("backtrace:");
			backtrace(rbp, rsp, klog);
			break;
		case 2:
			print_others(c);
			break;
		case 3:
			if (sched_running)
				sched_dump(klog);
			break;
		}
	}
	klog("end of panic report");
}

static void __attribute__((noreturn))
panic_common(const struct regs *regs, u64 rbp, u64 rsp, const char *fmt, va_list ap)
{
	u32 nobody = 0, self;
	char text[256];

	irq_disable();
	self = this_cpu()->index + 1;
	if (!__atomic_compare_exchange_n(&panic_owner, &nobody, self, false, __ATOMIC_SEQ_CST,
					 __ATOMIC_SEQ_CST) &&
	    nobody != self)
		arch_halt_forever(); /* the first one speaks, and stops us by NMI even so */
	log_panic_begin();
	panic_depth++;
	if (panic_depth == 1)
		arch_stop_cpus();
	if (panic_depth <= 5) {
		kvsnprintf(text, sizeof(text), fmt, ap);
		klog(panic_depth == 1 ? "PANIC: %s" : "PANIC: again, inside the report: %s", text);
		if (panic_depth > 1 && regs)
			print_address("rip", regs->rip);
		report(regs, rbp, rsp);
	} /* else printing itself fails */
	leave();
	arch_halt_forever();
}

void panic(const char *fmt, ...)
{
	va_list ap;
	u64 rsp;

	__asm__ volatile("movq %%rsp, %0" : "=r"(rsp));
	va_start(ap, fmt);
	panic_common(NULL, (u64)__builtin_frame_address(0), rsp, fmt, ap);
}

void panic_regs(struct regs *regs, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	panic_common(regs, regs->rbp, regs_user(regs) ? 0 : regs->rsp, fmt, ap);
}

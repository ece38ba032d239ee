/* SPDX-License-Identifier: MIT
 *
 * The local APIC: interrupts between CPUs and the local timer. Registers in memory (xAPIC), or as MSRs (x2APIC) if the
 * firmware left it so or APIC ids need more than 8 bits.
 */
#include "mm/mm.h"
#include "sched/machine.h"

#include "internal.h"
#include "log.h"

#define APIC_BASE_X2APIC (1ull << 10)
#define APIC_BASE_ENABLE (1ull << 11)

#define LAPIC_ID	    0x20
#define LAPIC_TPR	    0x80
#define LAPIC_EOI	    0xb0
#define LAPIC_SVR	    0xf0
#define LAPIC_ESR	    0x280
#define LAPIC_ICR	    0x300
#define LAPIC_ICR_HIGH	    0x310
#define LAPIC_LVT_TIMER	    0x320
#define LAPIC_LVT_THERMAL   0x330
#define LAPIC_LVT_PERF	    0x340
#define LAPIC_LVT_LINT0	    0x350
#define LAPIC_LVT_LINT1	    0x360
#define LAPIC_LVT_ERROR	    0x370
#define LAPIC_TIMER_INITIAL 0x380
#define LAPIC_TIMER_CURRENT 0x390
#define LAPIC_TIMER_DIVIDE  0x3e0

#define SVR_ENABLE	 0x100u
#define LVT_MASKED	 0x10000u
#define LVT_NMI		 0x400u
#define LVT_EXTINT	 0x700u
#define LVT_PERIODIC	 0x20000u
#define DIVIDE_BY_1	 0xbu
#define ICR_PENDING	 0x1000u
#define ICR_NMI		 0x400u
#define ICR_ASSERT	 0x4000u
#define ICR_ALL_BUT_SELF 0xc0000u
#define X2APIC_MSR(reg)	 (0x800u + (reg) / 16)

static volatile u32 *lapic; /* constant after lapic_init() */
static bool x2apic;

static inline u32 lapic_read(u32 reg)
{
	if (unlikely(x2apic))
		return (u32)rdmsr(X2APIC_MSR(reg));
	return lapic[reg / 4];
}

static inline void lapic_write(u32 reg, u32 v)
{
	if (unlikely(x2apic))
		wrmsr(X2APIC_MSR(reg), v);
	else
		lapic[reg / 4] = v;
}

u32 lapic_id(void)
{
	u32 v = lapic_read(LAPIC_ID);

	return x2apic ? v : v >> 24;
}

void lapic_eoi(void)
{
	lapic_write(LAPIC_EOI, 0);
}

/* Interrupts off: the two halves of the xAPIC command belong together. */
static void icr_write(u32 apic_id, u32 low)
{
	if (x2apic) {
		/* Unlike a write to memory this does not order earlier stores. */
		__asm__ volatile("mfence" ::: "memory");
		wrmsr(X2APIC_MSR(LAPIC_ICR), (u64)apic_id << 32 | low);
		return;
	}
	while (lapic[LAPIC_ICR / 4] & ICR_PENDING)
		__asm__ volatile("pause");
	lapic[LAPIC_ICR_HIGH / 4] = apic_id << 24;
	lapic[LAPIC_ICR / 4] = low;
}

void lapic_command(u32 apic_id, u32 low)
{
	u64 flags = irq_save();

	icr_write(apic_id, low);
	irq_restore(flags);
}

void lapic_broadcast(u32 low)
{
	lapic_command(0, low | ICR_ALL_BUT_SELF);
}

void arch_send_ipi(unsigned index, unsigned vector)
{
	lapic_command(cpus[index]->apic_id, ICR_ASSERT | vector);
}

void machine_send_resched(unsigned cpu)
{
	icr_write(cpus[cpu]->apic_id, ICR_ASSERT | VEC_RESCHED);
}

void machine_send_migrate(unsigned cpu)
{
	icr_write(cpus[cpu]->apic_id, ICR_ASSERT | VEC_MIGRATE);
}

void arch_stop_cpus(void)
{
	unsigned self = this_cpu()->index;

	if (!lapic && !x2apic)
		return; /* so early that no other CPU runs */
	for (unsigned i = 0; i < cpus_present; i++)
		if (i != self && cpus[i] && cpus[i]->online)
			lapic_command(cpus[i]->apic_id, ICR_ASSERT | ICR_NMI);
	/* An emulated CPU may be a while without its host CPU: half a second's worth of patience, not more. */
	for (unsigned i = 0; i < cpus_present; i++)
		if (i != self && cpus[i] && cpus[i]->online)
			for (unsigned n = 0; n < 2000000 && !cpus[i]->arch->stopped; n++)
				__asm__ volatile("pause");
}

void lapic_timer_start(u32 vector, u32 count, bool periodic)
{
	lapic_write(LAPIC_TIMER_DIVIDE, DIVIDE_BY_1);
	lapic_write(LAPIC_LVT_TIMER, vector | (periodic ? LVT_PERIODIC : 0));
	lapic_write(LAPIC_TIMER_INITIAL, count);
}

void lapic_timer_count(u32 count)
{
	lapic_write(LAPIC_TIMER_INITIAL, count);
}

u32 lapic_timer_current(void)
{
	return lapic_read(LAPIC_TIMER_CURRENT);
}

void lapic_init_cpu(void)
{
	u64 base = rdmsr(MSR_APIC_BASE) | APIC_BASE_ENABLE;

	wrmsr(MSR_APIC_BASE, base);
	if (x2apic)
		wrmsr(MSR_APIC_BASE, base | APIC_BASE_X2APIC);
	lapic_write(LAPIC_SVR, SVR_ENABLE | VEC_SPURIOUS);
	lapic_write(LAPIC_TPR, 0);
	lapic_write(LAPIC_LVT_LINT0, LVT_MASKED | LVT_EXTINT); /* the PIC's line */
	lapic_write(LAPIC_LVT_LINT1, LVT_NMI);
	lapic_write(LAPIC_LVT_ERROR, LVT_MASKED);
	lapic_timer_start(VEC_TIMER, 0, false);
	/* What an earlier life left in service would block lower vectors for ever. */
	lapic_eoi();
}

void lapic_init(u64 addr)
{
	u32 a, b, c, d;

	cpuid(1, 0, &a, &b, &c, &d);
	x2apic = c & 1u << 21;
	if (!x2apic) {
		lapic = mmio_map(addr, PAGE_SIZE);
		if (!lapic)
			panic("no memory to map the local APIC");
	}
	lapic_init_cpu();
	cpus[0]->apic_id = lapic_id();
	klog("apic: %s, boot CPU has id %u", x2apic ? "x2APIC" : "xAPIC", cpus[0]->apic_id);
}

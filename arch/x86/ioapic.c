/* SPDX-License-Identifier: MIT
 *
 * The sixteen ISA interrupts, routed through the I/O APICs to CPU 0 as the MADT says. The two old PICs are moved out of
 * the exceptions' way and silenced.
 */
#include "lib/errno.h"
#include "mm/mm.h"

#include "internal.h"
#include "log.h"

#define IOAPIC_VERSION	   1
#define IOAPIC_REDIRECTION 0x10
#define RED_LOW		   0x2000u
#define RED_MASKED	   0x10000u

static struct ioapic {
	volatile u32 *regs;
	u32 gsi_base, nr;
} ioapics[MAX_IOAPICS];
static unsigned nr_ioapics;
/* The index register selects what the window shows. */
static spinlock_t lock = SPINLOCK_INIT("ioapic", LOCK_LEAF);

static u32 ioapic_read(struct ioapic *a, u32 reg)
{
	a->regs[0] = reg;
	return a->regs[4];
}

static void ioapic_write(struct ioapic *a, u32 reg, u32 v)
{
	a->regs[0] = reg;
	a->regs[4] = v;
}

void pic_silence(void)
{
	static const u8 init[][2] = {
		/* port, value: initialise, vector base, wiring, 8086 mode; then mask all */
		{0x20, 0x11}, {0xa0, 0x11}, {0x21, VEC_PIC}, {0xa1, VEC_PIC + 8}, {0x21, 4},
		{0xa1, 2},    {0x21, 1},    {0xa1, 1},	     {0x21, 0xff},	  {0xa1, 0xff},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(init); i++)
		outb(init[i][0], init[i][1]);
}

void ioapic_init(void)
{
	for (unsigned i = 0; i < acpi_info.nr_ioapics; i++) {
		struct ioapic *a = &ioapics[nr_ioapics];

		a->regs = mmio_map(acpi_info.ioapics[i].addr, PAGE_SIZE);
		if (!a->regs) {
			klog("ioapic: no memory to map number %u", i);
			continue;
		}
		a->gsi_base = acpi_info.ioapics[i].gsi_base;
		a->nr = (ioapic_read(a, IOAPIC_VERSION) >> 16 & 0xff) + 1;
		for (u32 pin = 0; pin < a->nr; pin++)
			ioapic_write(a, IOAPIC_REDIRECTION + 2 * pin, RED_MASKED);
		nr_ioapics++;
	}
}

static int route(unsigned irq, u32 low)
{
	u32 gsi;
	u64 flags;

	if (irq > 15)
		return -EINVAL;
	gsi = acpi_info.isa[irq].gsi;
	for (unsigned i = 0; i < nr_ioapics; i++) {
		struct ioapic *a = &ioapics[i];

		if (gsi < a->gsi_base || gsi - a->gsi_base >= a->nr)
			continue;
		flags = spin_lock_irqsave(&lock);
		ioapic_write(a, IOAPIC_REDIRECTION + 2 * (gsi - a->gsi_base) + 1,
			     cpus[0]->apic_id << 24);
		ioapic_write(a, IOAPIC_REDIRECTION + 2 * (gsi - a->gsi_base), low);
		spin_unlock_irqrestore(&lock, flags);
		return 0;
	}
	return -ENODEV;
}

/* Always edge-triggered: a level would repeat until a ring-3 driver, at its leisure, has silenced the device. */
int arch_irq_enable(unsigned irq)
{
	return route(irq, (VEC_ISA + irq) | (irq < 16 && acpi_info.isa[irq].low ? RED_LOW : 0));
}

void arch_irq_disable(unsigned irq)
{
	route(irq, RED_MASKED);
}

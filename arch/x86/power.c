/* SPDX-License-Identifier: MIT
 *
 * Leaving the machine: emulator exits first, then the power and reset registers that common machines share.
 */
#include "internal.h"
#include "log.h"

#define DEBUG_EXIT_PORT 0xf4
#define ACPI_SLEEP_S5	0x2000

void arch_debug_exit(u8 code)
{
	outb(DEBUG_EXIT_PORT, code);
}

void arch_power_off(u8 code)
{
	irq_disable();
	/* isa-debug-exit ends QEMU in the middle of this write; without it nothing happens. It cannot be detected by reading. */
	arch_debug_exit(code);
	outw(0x604, ACPI_SLEEP_S5);  /* QEMU q35 and pc, SeaBIOS and OVMF: ACPI PM1a control */
	outw(0xb004, ACPI_SLEEP_S5); /* Bochs, old QEMU */
	for (const char *s = "Shutdown"; *s; s++)
		outb(0x8900, (u8)*s); /* Bochs */
	klog("the machine cannot be switched off by software: halted");
	arch_halt_forever();
}

void arch_reboot(void)
{
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) none = {0, 0};

	irq_disable();
	outb(0xcf9, 2);
	outb(0xcf9, 6);	  /* PCI reset control */
	outb(0x64, 0xfe); /* keyboard controller */
	/* No IDT: the next exception resets the CPU. */
	__asm__ volatile("lidt %0\n\tint3" ::"m"(none));
	arch_halt_forever();
}

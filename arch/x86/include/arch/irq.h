/* SPDX-License-Identifier: MIT
 *
 * The interrupt flag of this CPU.
 */
#ifndef ARCH_IRQ_H
#define ARCH_IRQ_H

#include "lib/types.h"

#define RFLAGS_IF 0x200ull

/** irq_save() - disable interrupts on this CPU. Return: the former flags, for irq_restore(). */
static inline u64 irq_save(void)
{
	u64 flags;

	__asm__ volatile("pushfq\n\tpopq %0\n\tcli" : "=rm"(flags)::"memory");
	return flags;
}

/** irq_restore() - enable interrupts again if they were enabled at irq_save(). */
static inline void irq_restore(u64 flags)
{
	if (flags & RFLAGS_IF)
		__asm__ volatile("sti" ::: "memory");
}

static inline void irq_disable(void)
{
	__asm__ volatile("cli" ::: "memory");
}

static inline void irq_enable(void)
{
	__asm__ volatile("sti" ::: "memory");
}

/** irqs_enabled() - Return: whether this CPU takes interrupts now. */
static inline bool irqs_enabled(void)
{
	u64 flags;

	__asm__ volatile("pushfq\n\tpopq %0" : "=rm"(flags)::"memory");
	return flags & RFLAGS_IF;
}

#endif

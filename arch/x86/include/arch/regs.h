/* SPDX-License-Identifier: MIT
 *
 * The registers of an interrupted or system-calling context, as the entry code pushes them.
 */
#ifndef ARCH_REGS_H
#define ARCH_REGS_H

#include "lib/types.h"

/* Field order is the entry code's push order, reversed. */
struct regs {
	u64 r15, r14, r13, r12, rbp, rbx;
	u64 r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	u64 orig; /* system-call number; error code of a trap; ~0 - vector of an interrupt */
	u64 rip, cs, rflags, rsp, ss;
};

#define KERNEL_CS 0x08
#define KERNEL_DS 0x10
#define USER_DS	  0x1b /* SYSRET: STAR[63:48] + 8 */
#define USER_CS	  0x23 /* SYSRET: STAR[63:48] + 16 */
#define TSS_SEL	  0x28

/** regs_user() - Return: whether @r interrupted user mode. */
static inline bool regs_user(const struct regs *r)
{
	return r->cs & 3;
}

#endif

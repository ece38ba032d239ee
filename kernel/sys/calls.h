/* SPDX-License-Identifier: MIT
 *
 * The system-call table. Every call has the same prototype, six u64 arguments, so that calling through the table is plain C: an
 * unused argument is one without a name. SYSCALL3(read, fd, buf, n) begins the definition of sys_read() and names the three it uses.
 */
#ifndef SYS_CALLS_H
#define SYS_CALLS_H

#include "lib/errno.h"
#include "lib/types.h"

/** sys_call_fn - a system call. Context: task, interrupts on, no locks. Return: its result or -errno, incl. -ERESTART* of lib/errno.h. */
typedef s64 sys_call_fn(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5);

/* Indexed by number; every entry is callable (a hole answers as sys_unsupported() does). */
extern sys_call_fn *const sys_call_table[];
extern const u64 sys_call_count;

/**
 * sys_unsupported() - answer a call we do not have: counts it, logs one line the first time. @nr: its number, any value.
 * Context: task. Return: -ENOSYS.
 */
s64 sys_unsupported(u64 nr);

/** sys_call_name() - Return: Linux's name of call @nr, or "?". */
const char *sys_call_name(u64 nr);

/** sys_unsupported_next() - iterate the refused calls. Return: the first number >= @nr that was refused, with *@count; ~0 at the end. */
u64 sys_unsupported_next(u64 nr, u32 *count);

#define SYS_UNUSED(n) __attribute__((unused)) u64 unused##n
#define SYSCALL0(name)                                                                            \
	s64 sys_##name(SYS_UNUSED(0), SYS_UNUSED(1), SYS_UNUSED(2), SYS_UNUSED(3), SYS_UNUSED(4), \
		       SYS_UNUSED(5))
#define SYSCALL1(name, a)                                                                 \
	s64 sys_##name(u64 a, SYS_UNUSED(1), SYS_UNUSED(2), SYS_UNUSED(3), SYS_UNUSED(4), \
		       SYS_UNUSED(5))
#define SYSCALL2(name, a, b) \
	s64 sys_##name(u64 a, u64 b, SYS_UNUSED(2), SYS_UNUSED(3), SYS_UNUSED(4), SYS_UNUSED(5))
#define SYSCALL3(name, a, b, c) \
	s64 sys_##name(u64 a, u64 b, u64 c, SYS_UNUSED(3), SYS_UNUSED(4), SYS_UNUSED(5))
#define SYSCALL4(name, a, b, c, d) \
	s64 sys_##name(u64 a, u64 b, u64 c, u64 d, SYS_UNUSED(4), SYS_UNUSED(5))
#define SYSCALL5(name, a, b, c, d, e) \
	s64 sys_##name(u64 a, u64 b, u64 c, u64 d, u64 e, SYS_UNUSED(5))
#define SYSCALL6(name, a, b, c, d, e, f) s64 sys_##name(u64 a, u64 b, u64 c, u64 d, u64 e, u64 f)

#define CALL(nr, name)	    sys_call_fn sys_##name;
#define FULL_CALL(nr, name) sys_call_fn sys_##name, full_##name;
#define NOCALL(nr, name)
#include "sys/calls.def"
#undef CALL
#undef FULL_CALL
#undef NOCALL

#endif

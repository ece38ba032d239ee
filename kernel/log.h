/* SPDX-License-Identifier: MIT
 *
 * The kernel log and panics.
 */
#ifndef KERNEL_LOG_H
#define KERNEL_LOG_H

#include "lib/format.h"
#include "lib/types.h"

/**
 * klog() - one line (a newline is added if @fmt does not end in one) to the log ring and to debugcon, and to COM1 until a console server runs.
 * Lines of different CPUs never mix. Context: any, also NMI during a panic.
 */
void klog(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** klogv() - klog() with a va_list. */
void klogv(const char *fmt, va_list ap);

/** log_init() - find debugcon and COM1. Context: start-up, before the first klog(). */
void log_init(void);

/** log_quiet() - keep messages off COM1 from now on (quiet); a panic report still goes there. */
void log_quiet(void);

/** log_panic_begin() - this CPU panics: messages no longer wait for locks, and go to COM1 whoever owns it. */
void log_panic_begin(void);

/** panic() - report registers, backtrace, every CPU's task and queue; stop all CPUs; leave the machine with EXIT_CODE_PANIC. */
void panic(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/** panic_regs() - panic() in a trap whose registers are known. */
struct regs;
void panic_regs(struct regs *regs, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

/** log_console_owned() - a console server (or nobody) owns COM1 now: stop (or go on) writing kernel messages to it. */
void log_console_owned(bool owned);

/** log_end() - Return: byte position of the end of the log text so far (a reader that starts here sees only what is new). */
u64 log_end(void);

/** log_read() - copy log text from byte position *@pos (counted since boot) on. Return: bytes copied; *@pos moves past what was lost and copied. */
size_t log_read(u64 *pos, char *buf, size_t size);

/** power_off() - log the hash of all switches, the last line of an orderly run, and leave the machine with @code (EXIT_CODE_*). */
void power_off(u8 code) __attribute__((noreturn));

/** log_panicking() - Return: a panic is under way (locks must not be waited for). */
bool log_panicking(void);

/** ksym_find() - name of the kernel text symbol that holds @addr. Return: NULL if none; *@offset = distance from its start. */
const char *ksym_find(u64 addr, u64 *offset);

/** backtrace() - print return addresses from frame @rbp/@rsp of the current stack with @print. */
void backtrace(u64 rbp, u64 rsp, void (*print)(const char *fmt, ...));

#ifdef DEBUG
#define KASSERT(cond)                                                                     \
	do {                                                                              \
		if (unlikely(!(cond)))                                                    \
			panic("assertion failed: %s (%s:%d)", #cond, __FILE__, __LINE__); \
	} while (0)
#else
#define KASSERT(cond) ((void)sizeof(cond))
#endif

#endif

/* SPDX-License-Identifier: MIT
 *
 * The kernel log: a ring of text that /dev/kmsg reads, and copies of every line to debugcon (where an emulator has one) and
 * to COM1 until a console server owns it. A line is formatted first and then appended and printed under one lock, so lines
 * of different CPUs never mix.
 */
#include "log.h"

#include <arch/io.h>
#include <arch/spinlock.h>

#include "lib/string.h"
#include "sched/machine.h"

#define RING_SIZE 65536u /* power of two */
#define LINE_MAX  512

#define DEBUGCON     0xe9
#define COM1	     0x3f8
#define UART_IER     1
#define UART_FCR     2
#define UART_LCR     3
#define UART_MCR     4
#define UART_LSR     5
#define UART_SCRATCH 7
#define LSR_EMPTY    0x20
#define UART_FIFO    16

static spinlock_t log_lock = SPINLOCK_INIT("log", LOCK_LOG);
static char ring[RING_SIZE];	      /* log_lock; byte n of the log is ring[n % RING_SIZE] */
static u64 written;		      /* log_lock: bytes since boot */
static bool have_debugcon, have_uart; /* constant after log_init() */
static bool console_owned, quiet;     /* log_lock; read without it: a line more or less */
static volatile bool panicking;

void log_init(void)
{
	/* Emulators answer a read of the debug console with its own address. */
	have_debugcon = inb(DEBUGCON) == DEBUGCON;
	outb(COM1 + UART_SCRATCH, 0x5a);
	have_uart = inb(COM1 + UART_SCRATCH) == 0x5a;
	if (!have_uart)
		return;
	outb(COM1 + UART_IER, 0);
	outb(COM1 + UART_LCR, 0x80); /* divisor: 115200 baud */
	outb(COM1 + 0, 1);
	outb(COM1 + UART_IER, 0);
	outb(COM1 + UART_LCR, 3); /* 8 bits, no parity, 1 stop bit */
	outb(COM1 + UART_FCR, 7); /* FIFOs on and empty */
	outb(COM1 + UART_MCR, 3);
}

static void debugcon_write(const char *s, size_t n)
{
	__asm__ volatile("rep outsb" : "+S"(s), "+c"(n) : "d"(DEBUGCON) : "memory");
}

static void uart_write(const char *s, size_t n)
{
	while (n) {
		size_t burst = min(n, (size_t)UART_FIFO);

		/* A receiver that is stuck must not hang the kernel: give the port up in the end. */
		for (u64 spins = 0; !(inb(COM1 + UART_LSR) & LSR_EMPTY); spins++) {
			if (spins == 4000000) {
				have_uart = false;
				return;
			}
			__asm__ volatile("pause");
		}
		n -= burst;
		__asm__ volatile("rep outsb" : "+S"(s), "+c"(burst) : "d"(COM1) : "memory");
	}
}

static void emit(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ring[(written + i) % RING_SIZE] = s[i];
	written += n;
	if (have_debugcon)
		debugcon_write(s, n);
	if (have_uart && (panicking || (!console_owned && !quiet))) {
		/* A terminal on the other end wants a carriage return. */
		uart_write(s, n - 1);
		uart_write("\r\n", 2);
	}
}

void klogv(const char *fmt, va_list ap)
{
	char line[LINE_MAX];
	u64 now = machine_now() / NSEC_PER_USEC, flags;
	int head, n;

	head = ksnprintf(line, sizeof(line), "[%5llu.%06llu] ", (unsigned long long)(now / 1000000),
			 (unsigned long long)(now % 1000000));
	n = head + kvsnprintf(line + head, sizeof(line) - (size_t)head - 1, fmt, ap);
	if (n > LINE_MAX - 2)
		n = LINE_MAX - 2;
	if (line[n - 1] != '\n')
		line[n++] = '\n';

	if (panicking) {
		/* The other CPUs are stopped, one perhaps with the lock. */
		emit(line, (size_t)n);
		return;
	}
	flags = spin_lock_irqsave(&log_lock);
	emit(line, (size_t)n);
	spin_unlock_irqrestore(&log_lock, flags);
}

void klog(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	klogv(fmt, ap);
	va_end(ap);
}

void log_console_owned(bool owned)
{
	console_owned = owned;
}

void log_quiet(void)
{
	quiet = true;
}

void log_panic_begin(void)
{
	panicking = true;
}

bool log_panicking(void)
{
	return panicking;
}

u64 log_end(void)
{
	return READ_ONCE(written);
}

size_t log_read(u64 *pos, char *buf, size_t size)
{
	u64 flags = spin_lock_irqsave(&log_lock);
	size_t n;

	if (*pos > written)
		*pos = written;
	if (written - *pos > RING_SIZE)
		*pos = written - RING_SIZE;
	n = min(size, (size_t)(written - *pos));
	for (size_t i = 0; i < n; i++)
		buf[i] = ring[(*pos + i) % RING_SIZE];
	*pos += n;
	spin_unlock_irqrestore(&log_lock, flags);
	return n;
}

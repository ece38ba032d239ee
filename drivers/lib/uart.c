// SPDX-License-Identifier: MIT
/*
 * The 16550 behind uart.h.
 *
 * Interrupts are edge-triggered ISA lines: the line falls only when the FIFO is empty, so a driver
 * must read until the chip has no more, or it will never hear of the next byte. Transmission
 * needs no interrupt: 16 bytes may follow each "holding register empty".
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "port.h"
#include "uart.h"

enum {
	REG_DATA = 0,
	REG_IER = 1,
	REG_FCR = 2,
	REG_IIR = 2,
	REG_LCR = 3,
	REG_MCR = 4,
	REG_LSR = 5,
	REG_SCRATCH = 7,
};

#define LSR_DATA 0x01
#define LSR_THRE 0x20 /* transmit FIFO empty: room for a burst */
#define LSR_TEMT 0x40 /* the shift register as well */
#define BURST	 16
#define SPINS	 2000 /* polls before giving the CPU away; a real chip needs 1.4 ms for 16 bytes */

static bool chip_answers(uint16_t base)
{
	/* A floating bus may remember the last value for one read: try two. */
	port_out(base + REG_SCRATCH, 0x5a);
	if (port_in(base + REG_SCRATCH) != 0x5a)
		return false;
	port_out(base + REG_SCRATCH, 0xa5);
	return port_in(base + REG_SCRATCH) == 0xa5 && port_in(base + REG_LSR) != 0xff;
}

int uart_open(struct uart *u, uint16_t base, int irq)
{
	char path[24];

	u->base = base;
	u->irq_fd = -1;
	u->stalled = false;
	u->present = chip_answers(base);
	if (!u->present)
		return -ENODEV;
	snprintf(path, sizeof(path), "/dev/irq/%d", irq);
	u->irq_fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (u->irq_fd < 0)
		return -errno;
	/* LCR first: a killed predecessor may have left the divisor latch selected. */
	port_out(base + REG_LCR, 0x83);
	port_out(base + REG_DATA, 1);
	port_out(base + REG_IER, 0);
	port_out(base + REG_LCR, 0x03);
	/*
	 * Trigger at 14 bytes; fewer raise the interrupt after four character times. QEMU offers
	 * the chip no more than the trigger level at once, so a low level would mean one byte per
	 * interrupt. FIFO contents are kept.
	 */
	port_out(base + REG_FCR, 0xc1);
	port_out(base + REG_MCR, 0x0b); /* DTR, RTS, and OUT2 which gates the interrupt line */
	port_out(base + REG_IER, 0x01);
	return 0;
}

void uart_ack(struct uart *u)
{
	uint64_t count;

	if (u->irq_fd >= 0 && read(u->irq_fd, &count, sizeof(count)) < 0)
		return; /* EAGAIN: another wake-up brought us here */
}

size_t uart_read(struct uart *u, void *buf, size_t n)
{
	uint8_t *p = buf;
	size_t got = 0;

	while (u->present && got < n && (port_in(u->base + REG_LSR) & LSR_DATA))
		p[got++] = port_in(u->base + REG_DATA);
	return got;
}

static bool wait_lsr(struct uart *u, uint8_t bit, int patience_ms)
{
	struct timespec nap = {.tv_nsec = 1000000};

	for (;;) {
		for (int i = 0; i < SPINS; i++) {
			if (port_in(u->base + REG_LSR) & bit)
				return true;
			cpu_pause();
		}
		if (patience_ms == 0)
			return false;
		if (patience_ms > 0)
			patience_ms--;
		nanosleep(&nap, NULL);
	}
}

bool uart_write(struct uart *u, const void *buf, size_t n, int patience_ms)
{
	const uint8_t *p = buf;

	if (!u->present)
		return true;
	if (u->stalled) {
		if (!(port_in(u->base + REG_LSR) & LSR_THRE))
			return false;
		u->stalled = false;
	}
	while (n) {
		size_t burst = n < BURST ? n : BURST;

		if (!wait_lsr(u, LSR_THRE, patience_ms)) {
			u->stalled = true;
			return false;
		}
		port_out_burst(u->base + REG_DATA, p, burst);
		p += burst;
		n -= burst;
	}
	return true;
}

void uart_drain(struct uart *u)
{
	if (u->present)
		wait_lsr(u, LSR_TEMT, 100);
}

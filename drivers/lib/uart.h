/* SPDX-License-Identifier: MIT */
/*
 * A 16550 serial port driven from ring 3: interrupts tell of received bytes, transmission polls.
 * uart.c drives the chip; tests/host-side checks may link another file with the same functions.
 */
#ifndef DRIVERS_UART_H
#define DRIVERS_UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uart {
	uint16_t base;
	int irq_fd;   /* readable when the chip has raised its interrupt; -1: no such object */
	bool present; /* the chip answered */
	bool stalled; /* the far end has not taken a byte for a long time: output is dropped */
};

/**
 * uart_open() - find and initialise the chip at @base, 115200 8N1, FIFOs on, receive interrupt on.
 * @irq: ISA interrupt number, opened as /dev/irq/N.
 *
 * Bytes already received stay in the FIFO. May be called again after a predecessor was killed.
 * Context: after ioperm() on base..base+7.
 * Return: 0, -ENODEV when no chip answers, or the error of opening the interrupt.
 */
int uart_open(struct uart *u, uint16_t base, int irq);

/** uart_ack() - forget interrupts seen so far; call it before draining with uart_read(). */
void uart_ack(struct uart *u);

/** uart_read() - take up to @n received bytes without waiting. Return: bytes taken. */
size_t uart_read(struct uart *u, void *buf, size_t n);

/**
 * uart_write() - send @n bytes, waiting for the chip as long as it takes up to @patience_ms.
 * @patience_ms: how long one burst may wait; negative waits for ever. After that the rest is
 * dropped, and so is later output until the chip is ready again.
 * Return: true if everything was sent.
 */
bool uart_write(struct uart *u, const void *buf, size_t n, int patience_ms);

/** uart_drain() - wait, at most 100 ms, until the last bit has left the chip. */
void uart_drain(struct uart *u);

#endif

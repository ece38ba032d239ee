// SPDX-License-Identifier: MIT
/*
 * A serial port that is really file descriptor 3, for hostlink_test.py on a Linux host: the same
 * functions as drivers/lib/uart.c, and an ioperm() that always agrees.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/io.h>
#include <unistd.h>

#include "../lib/uart.h"

#define LINE_FD 3

int ioperm(unsigned long from, unsigned long n, int on)
{
	(void)from;
	(void)n;
	(void)on;
	return 0;
}

int uart_open(struct uart *u, uint16_t base, int irq)
{
	(void)irq;
	u->base = base;
	u->irq_fd = LINE_FD;
	u->present = true;
	fcntl(LINE_FD, F_SETFD, FD_CLOEXEC);
	return fcntl(LINE_FD, F_SETFL, O_NONBLOCK | O_RDWR) < 0 ? -errno : 0;
}

void uart_ack(struct uart *u)
{
	(void)u;
}

size_t uart_read(struct uart *u, void *buf, size_t n)
{
	ssize_t got = read(u->irq_fd, buf, n < 14 ? n : 14);

	return got > 0 ? got : 0;
}

bool uart_write(struct uart *u, const void *buf, size_t n, int patience_ms)
{
	const char *p = buf;

	(void)patience_ms;
	while (n) {
		ssize_t done = write(u->irq_fd, p, n < 16 ? n : 16);

		if (done < 0) {
			struct pollfd pfd = {.fd = u->irq_fd, .events = POLLOUT};

			if (errno != EAGAIN)
				return false;
			poll(&pfd, 1, -1);
			continue;
		}
		p += done;
		n -= done;
	}
	return true;
}

void uart_drain(struct uart *u)
{
	(void)u;
}

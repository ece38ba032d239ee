// SPDX-License-Identifier: MIT
/*
 * The console server: joins the terminal object (/dev/ttyserver) to COM1, the PS/2 keyboard and
 * the VGA text screen. All three are optional; what is missing is left out.
 *
 * One thread, one poll(): interrupts of the two input devices and output from programs. Output is
 * taken in small pieces with a look at the keyboard between them, so that ^C works while a program
 * floods the screen. The server keeps no state that matters: init restarts it if it dies, and
 * what programs wrote meanwhile waits in the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../lib/uart.h"
#include "kbd.h"
#include "ldisc.h"
#include "ps2.h"
#include "vga.h"
#include "vt.h"

#ifndef TIOCSIG
#define TIOCSIG 0x40045436
#endif
#define TIOCJEOF 0x5490 /* the terminal object's own: queue an end-of-file mark */

#define COM1_BASE	   0x3f8
#define COM1_IRQ	   4
#define PRIORITY	   50
#define OUTPUT_CHUNK	   1024
#define PIECES_PER_FLUSH   8	 /* the screen follows a flood of output at this pace */
#define PENDING		   65536 /* typed bytes the kernel's buffer has no room for yet */
#define RETRY_MS	   10	 /* look again whether it has */
#define SERIAL_PATIENCE_MS 200

struct console {
	int tty;
	struct uart com1;
	struct ps2 ps2;
	struct kbd kbd;
	struct vga vga;
	struct vt vt;
	struct ldisc ldisc;
	bool has_screen;
	uint8_t pending[PENDING];
	size_t npending;
};

static struct console con;

static void fail(const char *what)
{
	char line[120];
	int fd = open("/dev/kmsg", O_WRONLY);
	int n = snprintf(line, sizeof(line), "console: %s: %s\n", what, strerror(errno));

	if (write(fd >= 0 ? fd : 2, line, n) < 0)
		_exit(2);
	_exit(1);
}

/* ---- to the devices ---- */

static void to_serial(void *ctx, const uint8_t *p, size_t n)
{
	struct console *c = ctx;

	uart_write(&c->com1, p, n, SERIAL_PATIENCE_MS);
}

static void to_screen(void *ctx, const uint8_t *p, size_t n)
{
	struct console *c = ctx;

	/* With a screen the emulator answers queries and passes the rest to the serial line. */
	if (c->has_screen)
		vt_feed(&c->vt, p, n);
	else
		to_serial(c, p, n);
}

/* ---- to the programs ---- */

static void push_pending(struct console *c)
{
	size_t done = 0;

	while (done < c->npending) {
		ssize_t n = write(c->tty, c->pending + done, c->npending - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += n;
	}
	c->npending -= done;
	memmove(c->pending, c->pending + done, c->npending);
}

static void to_input(void *ctx, const uint8_t *p, size_t n)
{
	struct console *c = ctx;

	if (n > PENDING - c->npending) {
		to_screen(c, (const uint8_t *)"\a", 1);
		return;
	}
	memcpy(c->pending + c->npending, p, n);
	c->npending += n;
	push_pending(c);
}

static void eof_input(void *ctx)
{
	struct console *c = ctx;

	push_pending(c);
	if (c->npending || ioctl(c->tty, TIOCJEOF, 0) < 0)
		to_screen(c, (const uint8_t *)"\a", 1);
}

static void signal_group(void *ctx, int sig, bool flush)
{
	struct console *c = ctx;

	if (flush)
		c->npending = 0;
	ioctl(c->tty, TIOCSIG, (long)sig);
}

static const struct ldisc_ops ops = {
	.screen = to_screen,
	.input = to_input,
	.eof = eof_input,
	.signal = signal_group,
};

static void reply(void *ctx, const uint8_t *p, size_t n)
{
	to_input(ctx, p, n);
}

/* ---- events ---- */

static void refresh_termios(struct console *c)
{
	struct termios t;

	if (ioctl(c->tty, TCGETS, &t) == 0)
		ldisc_set_termios(&c->ldisc, &t);
}

/* Take everything typed. Returns true if there was something. */
static bool take_input(struct console *c)
{
	uint8_t buf[64];
	size_t n;
	int code;
	bool any = false;

	uart_ack(&c->com1);
	ps2_ack(&c->ps2);
	while ((n = uart_read(&c->com1, buf, sizeof(buf)))) {
		if (!any)
			refresh_termios(c);
		any = true;
		for (size_t i = 0; i < n; i++)
			ldisc_type(&c->ldisc, buf[i]);
	}
	while ((code = ps2_read(&c->ps2)) >= 0) {
		n = kbd_scancode(&c->kbd, code, buf);
		if (n && !any) {
			refresh_termios(c);
			any = true;
		}
		for (size_t i = 0; i < n; i++)
			ldisc_type(&c->ldisc, buf[i]);
	}
	return any;
}

/* One piece of the programs' output. Returns true if there was some. */
static bool take_output(struct console *c)
{
	uint8_t buf[OUTPUT_CHUNK];
	ssize_t n = read(c->tty, buf, sizeof(buf));

	if (n <= 0)
		return false;
	refresh_termios(c);
	ldisc_output(&c->ldisc, buf, n);
	return true;
}

static void serve(struct console *c)
{
	for (;;) {
		struct pollfd p[3] = {
			{.fd = c->com1.irq_fd, .events = POLLIN},
			{.fd = c->ps2.irq_fd, .events = POLLIN},
			{.fd = c->tty, .events = c->ldisc.stopped ? 0 : POLLIN},
		};

		take_input(c);
		for (int pieces = 1; !c->ldisc.stopped && take_output(c); pieces++) {
			take_input(c);
			if (pieces % PIECES_PER_FLUSH == 0)
				vga_flush(&c->vga, &c->vt);
		}
		push_pending(c);
		vga_flush(&c->vga, &c->vt);
		p[2].events = c->ldisc.stopped ? 0 : POLLIN;
		if (poll(p, 3, c->npending ? RETRY_MS : -1) < 0 && errno != EINTR)
			fail("poll");
	}
}

static void open_devices(struct console *c, bool resume)
{
	/* Ports one by one: a machine may deny some. COM1's failure to open only silences it. */
	if (ioperm(COM1_BASE, 8, 1) == 0)
		uart_open(&c->com1, COM1_BASE, COM1_IRQ);
	else
		c->com1.irq_fd = -1;
	c->ps2.irq_fd = -1;
	if (ioperm(0x60, 1, 1) == 0 && ioperm(0x64, 1, 1) == 0)
		ps2_open(&c->ps2);
	vt_init(&c->vt);
	if (ioperm(0x3d4, 2, 1) == 0)
		c->has_screen = vga_open(&c->vga);
	if (c->has_screen && resume)
		vga_restore(&c->vga, &c->vt);
	c->vt.ctx = c;
	c->vt.pass = to_serial;
	c->vt.reply = reply;
}

int main(int argc, char **argv)
{
	struct sched_param sp = {.sched_priority = PRIORITY};
	struct winsize ws = {.ws_row = VT_ROWS, .ws_col = VT_COLS};
	struct console *c = &con;

	if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &sp) < 0)
		perror("console: SCHED_FIFO");
	/* Last words of programs must be seen: only SIGKILL ends the server at shutdown. */
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	c->tty = open("/dev/ttyserver", O_RDWR | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (c->tty < 0)
		fail("/dev/ttyserver");
	ldisc_init(&c->ldisc, &ops, c);
	open_devices(c, argc > 1 && !strcmp(argv[1], "--resume"));
	ioctl(c->tty, TIOCSWINSZ, &ws);
	serve(c);
}

// SPDX-License-Identifier: MIT
/*
 * See screen.h. A frame is collected as text and painted with one write: home, every line with its rest erased, then everything below
 * erased, so that nothing flickers and no line of an earlier frame stays.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "screen.h"
#include "wl.h"

#define MAX_LINE 512

static volatile sig_atomic_t live; /* the terminal is ours */
static struct termios before;
static char *frame;
static size_t length, room;
static int lines;

static void raw(void)
{
	struct termios t = before;

	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	tcsetattr(0, TCSANOW, &t);
	if (write(1, "\033[?25l\033[H\033[2J", 13) < 0)
		return;
}

/* Only calls that a signal handler may make. */
void screen_end(void)
{
	static const char text[] = "\033[0m\033[?25h\033[999;1H\r\n";

	if (!live)
		return;
	live = 0;
	tcsetattr(0, TCSANOW, &before);
	if (write(1, text, sizeof(text) - 1) < 0)
		return;
}

static void on_end(int sig)
{
	screen_end();
	signal(sig, SIG_DFL);
	raise(sig);
}

/* Stopped: the shell gets its terminal back; continued: take it again. */
static void on_stop(int sig)
{
	int err = errno;

	(void)sig;
	screen_end();
	raise(SIGSTOP);
	live = 1;
	raw();
	errno = err;
}

void screen_begin(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE};
	struct sigaction a = {.sa_handler = on_end};

	if (!isatty(0) || !isatty(1) || tcgetattr(0, &before) < 0)
		wl_bad("no terminal; -b prints without one");
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaction(ends[i], &a, NULL);
	a.sa_handler = on_stop;
	sigaction(SIGTSTP, &a, NULL);
	atexit(screen_end);
	live = 1;
	raw();
}

static struct winsize size_now(void)
{
	struct winsize w = {.ws_col = 80, .ws_row = 25};

	if (ioctl(1, TIOCGWINSZ, &w) < 0 || !w.ws_col || !w.ws_row)
		w = (struct winsize){.ws_col = 80, .ws_row = 25};
	return w;
}

int screen_cols(void)
{
	return live ? size_now().ws_col : 80;
}

int screen_rows(void)
{
	return live ? size_now().ws_row : INT32_MAX;
}

static void append(const char *text, size_t n)
{
	if (length + n > room) {
		room = (length + n) * 2;
		frame = realloc(frame, room);
		if (!frame)
			wl_die("memory");
	}
	memcpy(frame + length, text, n);
	length += n;
}

static void add_line(bool head, const char *format, va_list ap)
{
	char text[MAX_LINE];
	int cols = screen_cols(), n;

	if (lines >= screen_rows())
		return;
	n = vsnprintf(text, sizeof(text), format, ap);
	if (n >= MAX_LINE)
		n = MAX_LINE - 1;
	if (n > cols)
		n = cols;
	if (live && lines)
		append("\r\n", 2);
	lines++;
	if (live && head) {
		append("\033[7m", 4);
		append(text, (size_t)n);
		while (n++ < cols)
			append(" ", 1);
		append("\033[0m", 4);
		return;
	}
	append(text, (size_t)n);
	/* In the last column the cursor waits to wrap: erasing there would take the character away. */
	if (live && n < cols)
		append("\033[K", 3);
	if (!live)
		append("\n", 1);
}

void screen_line(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add_line(false, format, ap);
	va_end(ap);
}

void screen_head(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	add_line(true, format, ap);
	va_end(ap);
}

void screen_show(void)
{
	if (live) {
		bool below = lines < screen_rows();

		wl_write_all(1, "\033[H", 3);
		if (below)
			append("\r\n\033[J", 5);
	} else {
		append("\n", 1);
	}
	wl_write_all(1, frame, length);
	length = 0;
	lines = 0;
}

static int byte(int ms)
{
	struct pollfd p = {.fd = 0, .events = POLLIN};
	unsigned char c;

	if (poll(&p, 1, ms) <= 0)
		return KEY_NONE;
	return read(0, &c, 1) == 1 ? c : KEY_END_OF_INPUT;
}

int screen_key(int ms)
{
	int c = byte(ms);

	if (c != '\033')
		return c;
	c = byte(50);
	if (c != '[' && c != 'O')
		return c < 0 ? '\033' : c;
	switch (byte(50)) {
	case 'A':
		return KEY_UP;
	case 'B':
		return KEY_DOWN;
	case 'C':
		return KEY_RIGHT;
	case 'D':
		return KEY_LEFT;
	default:
		return KEY_NONE;
	}
}

bool screen_ask(const char *question, char *answer, size_t size)
{
	size_t n = 0;

	for (;;) {
		char text[MAX_LINE];
		int c, len;

		answer[n] = '\0';
		len = snprintf(text, sizeof(text), "\033[%d;1H\033[K%s %s", screen_rows(), question,
			       answer);
		wl_write_all(1, text, (size_t)len);
		c = screen_key(-1);
		if (c == '\033' || c == KEY_END_OF_INPUT)
			return false;
		if (c == '\r' || c == '\n')
			return n > 0;
		if (c == 127 || c == '\b')
			n -= n > 0;
		else if (c >= ' ' && c < 127 && n + 1 < size && n < 100)
			answer[n++] = (char)c;
	}
}

// SPDX-License-Identifier: MIT
/*
 * The line discipline behind ldisc.h, after POSIX chapter 11 and Linux's n_tty where POSIX leaves
 * a choice (ECHOCTL, ECHOKE, word erase, line length).
 */
#include <signal.h>
#include <string.h>

#include "ldisc.h"

#define TAB	   8
#define CONTROL(c) ((c)&0x1f)

static bool on_local(const struct ldisc *l, tcflag_t flag)
{
	return l->t.c_lflag & flag;
}

static bool is_cc(const struct ldisc *l, uint8_t c, int which)
{
	return c == l->t.c_cc[which] && c != 0;
}

static bool is_continuation(const struct ldisc *l, uint8_t c)
{
	return (l->t.c_iflag & IUTF8) && (c & 0xc0) == 0x80;
}

void ldisc_init(struct ldisc *l, const struct ldisc_ops *ops, void *ctx)
{
	memset(l, 0, sizeof(*l));
	l->ops = ops;
	l->ctx = ctx;
	l->t.c_iflag = ICRNL | IXON;
	l->t.c_oflag = OPOST | ONLCR;
	l->t.c_cflag = B38400 | CS8 | CREAD | HUPCL;
	l->t.c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN;
	l->t.c_cc[VINTR] = CONTROL('C');
	l->t.c_cc[VQUIT] = CONTROL('\\');
	l->t.c_cc[VERASE] = 0x7f;
	l->t.c_cc[VKILL] = CONTROL('U');
	l->t.c_cc[VEOF] = CONTROL('D');
	l->t.c_cc[VSTART] = CONTROL('Q');
	l->t.c_cc[VSTOP] = CONTROL('S');
	l->t.c_cc[VSUSP] = CONTROL('Z');
	l->t.c_cc[VREPRINT] = CONTROL('R');
	l->t.c_cc[VWERASE] = CONTROL('W');
	l->t.c_cc[VLNEXT] = CONTROL('V');
	l->t.c_cc[VMIN] = 1;
}

/* Show one byte after output processing, keeping track of the column. */
static void put(struct ldisc *l, uint8_t c)
{
	static const uint8_t spaces[TAB] = "        ";
	tcflag_t o = l->t.c_oflag;

	if (o & OPOST) {
		if (c == '\n' && (o & ONLCR)) {
			l->column = 0;
			l->ops->screen(l->ctx, (const uint8_t *)"\r\n", 2);
			return;
		}
		if (c == '\r' && (o & ONOCR) && l->column == 0)
			return;
		if (c == '\r' && (o & OCRNL))
			c = '\n';
		if (c == '\t') {
			unsigned int n = TAB - l->column % TAB;

			l->column += n;
			if ((o & TABDLY) == XTABS)
				l->ops->screen(l->ctx, spaces, n);
			else
				l->ops->screen(l->ctx, &c, 1);
			return;
		}
	}
	if (c == '\r')
		l->column = 0;
	else if (c == '\b')
		l->column -= l->column > 0;
	else if (c == '\t')
		l->column += TAB - l->column % TAB;
	else if (c >= 0x20 && c != 0x7f && !is_continuation(l, c))
		l->column++;
	l->ops->screen(l->ctx, &c, 1);
}

void ldisc_output(struct ldisc *l, const uint8_t *p, size_t n)
{
	while (n) {
		size_t plain = 0;

		/* Runs of printable bytes go out in one piece. */
		while (plain < n && p[plain] >= 0x20 && p[plain] < 0x7f)
			plain++;
		if (plain) {
			l->column += plain;
			l->ops->screen(l->ctx, p, plain);
			p += plain;
			n -= plain;
			continue;
		}
		put(l, *p++);
		n--;
	}
}

/* Columns byte c takes on the screen when echoed at column col. */
static unsigned int echo_width(const struct ldisc *l, uint8_t c, unsigned int col)
{
	if (c == '\t')
		return TAB - col % TAB;
	if (c < 0x20 || c == 0x7f)
		return on_local(l, ECHOCTL) ? 2 : 0;
	return is_continuation(l, c) ? 0 : 1;
}

static void echo(struct ldisc *l, uint8_t c)
{
	if (!on_local(l, ECHO)) {
		if (c == '\n' && on_local(l, ECHONL) && on_local(l, ICANON))
			put(l, c);
		return;
	}
	if ((c < 0x20 || c == 0x7f) && c != '\t' && c != '\n' && on_local(l, ECHOCTL)) {
		put(l, '^');
		put(l, c ^ 0x40);
		return;
	}
	put(l, c);
}

/* Take the cursor back to where it was with only the first len bytes of the line typed. */
static void rub_out_to(struct ldisc *l, size_t len)
{
	unsigned int want = l->start_column;

	for (size_t i = 0; i < len; i++)
		want += echo_width(l, l->line[i], want);
	while (l->column > want) {
		unsigned int before = l->column;

		put(l, '\b');
		put(l, ' ');
		put(l, '\b');
		if (l->column >= before)
			break;
	}
}

static void erase_char(struct ldisc *l)
{
	size_t len = l->len;
	uint8_t gone;

	if (!len)
		return;
	do
		gone = l->line[--len];
	while (len && is_continuation(l, gone));
	l->len = len;
	if (!on_local(l, ECHO))
		return;
	if (on_local(l, ECHOE))
		rub_out_to(l, len);
	else
		echo(l, l->t.c_cc[VERASE]);
}

static bool is_word(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c >= 0x80;
}

static void erase_word(struct ldisc *l)
{
	bool seen = false;

	while (l->len) {
		bool word = is_word(l->line[l->len - 1]);

		if (seen && !word)
			break;
		seen = word;
		l->len--;
	}
	if (on_local(l, ECHO) && on_local(l, ECHOE))
		rub_out_to(l, l->len);
}

static void kill_line(struct ldisc *l)
{
	l->len = 0;
	if (!on_local(l, ECHO))
		return;
	if (on_local(l, ECHOKE) && on_local(l, ECHOE)) {
		rub_out_to(l, 0);
		return;
	}
	echo(l, l->t.c_cc[VKILL]);
	if (on_local(l, ECHOK))
		put(l, '\n');
}

static void reprint(struct ldisc *l)
{
	echo(l, l->t.c_cc[VREPRINT]);
	put(l, '\n');
	l->start_column = l->column;
	for (size_t i = 0; i < l->len; i++)
		echo(l, l->line[i]);
}

static void deliver(struct ldisc *l)
{
	if (l->len)
		l->ops->input(l->ctx, l->line, l->len);
	l->len = 0;
}

static void add_to_line(struct ldisc *l, uint8_t c, bool end)
{
	/* The last place is kept for the line's end, so that a long line can still be sent. */
	if (l->len >= LDISC_LINE - (end ? 0 : 1)) {
		put(l, '\a');
		return;
	}
	if (!l->len)
		l->start_column = l->column;
	l->line[l->len++] = c;
	echo(l, c);
	if (end)
		deliver(l);
}

static void raise_signal(struct ldisc *l, uint8_t c, int sig)
{
	bool flush = !on_local(l, NOFLSH);

	if (flush)
		l->len = 0;
	l->stopped = false;
	echo(l, c);
	l->ops->signal(l->ctx, sig, flush);
}

/* Returns true if c was a signal or flow-control character and is used up. */
static bool special(struct ldisc *l, uint8_t c)
{
	if (l->t.c_iflag & IXON) {
		if (is_cc(l, c, VSTART)) {
			l->stopped = false;
			return true;
		}
		if (is_cc(l, c, VSTOP)) {
			l->stopped = true;
			return true;
		}
		if (l->stopped && (l->t.c_iflag & IXANY))
			l->stopped = false;
	}
	if (!on_local(l, ISIG))
		return false;
	if (is_cc(l, c, VINTR))
		raise_signal(l, c, SIGINT);
	else if (is_cc(l, c, VQUIT))
		raise_signal(l, c, SIGQUIT);
	else if (is_cc(l, c, VSUSP))
		raise_signal(l, c, SIGTSTP);
	else
		return false;
	return true;
}

/* Returns true if c edited the line instead of joining it. */
static bool edits(struct ldisc *l, uint8_t c)
{
	bool extended = on_local(l, IEXTEN);

	if (is_cc(l, c, VERASE) || (c == '\b' && l->t.c_cc[VERASE] == 0x7f))
		erase_char(l); /* keyboards and serial terminals disagree: both erase */
	else if (is_cc(l, c, VKILL))
		kill_line(l);
	else if (extended && is_cc(l, c, VWERASE))
		erase_word(l);
	else if (extended && is_cc(l, c, VREPRINT))
		reprint(l);
	else
		return false;
	return true;
}

static void type_canonical(struct ldisc *l, uint8_t c)
{
	if (edits(l, c))
		return;
	if (is_cc(l, c, VEOF)) {
		if (l->len)
			deliver(l);
		else
			l->ops->eof(l->ctx);
		return;
	}
	add_to_line(l, c, c == '\n' || is_cc(l, c, VEOL) || is_cc(l, c, VEOL2));
}

static void type_raw(struct ldisc *l, uint8_t c)
{
	echo(l, c);
	l->ops->input(l->ctx, &c, 1);
}

void ldisc_type(struct ldisc *l, uint8_t c)
{
	tcflag_t i = l->t.c_iflag;

	if (i & ISTRIP)
		c &= 0x7f;
	if (l->literal) {
		l->literal = false;
		if (on_local(l, ICANON))
			add_to_line(l, c, false);
		else
			type_raw(l, c);
		return;
	}
	if (special(l, c))
		return;
	if (c == '\r') {
		if (i & IGNCR)
			return;
		if (i & ICRNL)
			c = '\n';
	} else if (c == '\n' && (i & INLCR)) {
		c = '\r';
	}
	if (!on_local(l, ICANON)) {
		type_raw(l, c);
		return;
	}
	if (on_local(l, IEXTEN) && is_cc(l, c, VLNEXT)) {
		l->literal = true;
		if (on_local(l, ECHO) && on_local(l, ECHOCTL)) {
			put(l, '^');
			put(l, '\b');
		}
		return;
	}
	type_canonical(l, c);
}

void ldisc_set_termios(struct ldisc *l, const struct termios *t)
{
	bool was_canonical = on_local(l, ICANON);

	l->t = *t;
	if (was_canonical && !on_local(l, ICANON))
		deliver(l);
	if (!(l->t.c_iflag & IXON))
		l->stopped = false;
}

// SPDX-License-Identifier: MIT
/*
 * Host test of the line discipline: types bytes, compares what the programs would read, what the
 * screen would show and which signals were sent. Prints TAP lines; exits 1 if any case fails.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ldisc.h"

static struct {
	char screen[16384], input[16384];
	size_t nscreen, ninput;
	int signals[8], nsignals, flushes;
} got;

static int number, failures;

static void on_screen(void *ctx, const uint8_t *p, size_t n)
{
	(void)ctx;
	memcpy(got.screen + got.nscreen, p, n);
	got.nscreen += n;
}

static void on_input(void *ctx, const uint8_t *p, size_t n)
{
	(void)ctx;
	memcpy(got.input + got.ninput, p, n);
	got.ninput += n;
}

static void on_eof(void *ctx)
{
	on_input(ctx, (const uint8_t *)"<EOF>", 5);
}

static void on_sig(void *ctx, int sig, bool flush)
{
	(void)ctx;
	got.signals[got.nsignals++] = sig;
	got.flushes += flush;
}

static const struct ldisc_ops ops = {on_screen, on_input, on_eof, on_sig};

static struct ldisc l;

static void begin(void)
{
	memset(&got, 0, sizeof(got));
	ldisc_init(&l, &ops, NULL);
}

static void type(const char *s)
{
	while (*s)
		ldisc_type(&l, *s++);
}

static void ok(int cond, const char *name)
{
	printf("%sok %d - %s\n", cond ? "" : "not ", ++number, name);
	if (!cond) {
		failures++;
		printf("# input [%.*s] screen [%.*s] signals %d\n", (int)got.ninput, got.input,
		       (int)got.nscreen, got.screen, got.nsignals);
	}
}

static int is(const char *buf, size_t n, const char *want)
{
	return n == strlen(want) && !memcmp(buf, want, n);
}

static int input_is(const char *want)
{
	return is(got.input, got.ninput, want);
}

static int screen_is(const char *want)
{
	return is(got.screen, got.nscreen, want);
}

static void set(tcflag_t *field, tcflag_t clear, tcflag_t add)
{
	struct termios t = l.t;
	size_t off = (char *)field - (char *)&l.t;
	tcflag_t *copy = (tcflag_t *)((char *)&t + off);

	*copy = (*copy & ~clear) | add;
	ldisc_set_termios(&l, &t);
}

static void lines(void)
{
	begin();
	type("hel");
	ok(got.ninput == 0, "a half line is not delivered");
	type("lo\r");
	ok(input_is("hello\n") && screen_is("hello\r\n"), "CR ends a line, echo has CR LF");

	begin();
	type("a\177bc\177\177\177\177d\n");
	ok(input_is("d\n"), "erase to the start and no further");
	ok(screen_is("a\b \bbc\b \b\b \bd\r\n"), "erase rubs out one column each");

	begin();
	type("ab\bc\n");
	ok(input_is("ac\n"), "backspace erases as well as DEL");

	begin();
	type("one two  \027x\n");
	ok(input_is("one x\n"), "word erase takes spaces and one word");

	begin();
	type("garbage\025ok\n");
	ok(input_is("ok\n"), "kill empties the line");

	begin();
	ldisc_output(&l, (const uint8_t *)"$ ", 2);
	type("\t\177");
	ok(screen_is("$ \t\b \b\b \b\b \b\b \b\b \b\b \b") && l.column == 2,
	   "erasing a tab goes back to its start");

	begin();
	type("\001\177");
	ok(screen_is("^A\b \b\b \b"), "a control character echoes as ^A and is rubbed out whole");

	begin();
	set(&l.t.c_iflag, 0, IUTF8);
	type("a\303\251\177b\n");
	ok(input_is("ab\n") && screen_is("a\303\251\b \bb\r\n"), "IUTF8 erases a whole character");
}

static void end_of_file(void)
{
	begin();
	type("\004");
	ok(input_is("<EOF>"), "^D on an empty line is end of file");
	begin();
	type("ab\004");
	ok(input_is("ab") && screen_is("ab"), "^D after text delivers the text and is not echoed");
	begin();
	type("\026\004\n");
	ok(input_is("\004\n"), "^V makes the next character data");
}

static void signals(void)
{
	begin();
	type("abc\003d\n");
	ok(got.nsignals == 1 && got.signals[0] == SIGINT && got.flushes == 1, "^C is SIGINT");
	ok(input_is("d\n") && screen_is("abc^Cd\r\n"), "^C drops the line and echoes ^C");

	begin();
	set(&l.t.c_lflag, 0, NOFLSH);
	type("abc\034d\n");
	ok(got.signals[0] == SIGQUIT && got.flushes == 0 && input_is("abcd\n"),
	   "with NOFLSH ^\\ keeps the line");

	begin();
	type("\032");
	ok(got.nsignals == 1 && got.signals[0] == SIGTSTP, "^Z is SIGTSTP");

	begin();
	set(&l.t.c_lflag, ISIG, 0);
	type("\003\n");
	ok(got.nsignals == 0 && input_is("\003\n"), "without ISIG ^C is data");
}

static void raw(void)
{
	begin();
	set(&l.t.c_lflag, ICANON | ECHO, 0);
	type("a\177\004");
	ok(input_is("a\177\004") && got.nscreen == 0, "raw: every byte at once, no echo");
	type("\003");
	ok(got.nsignals == 1, "raw with ISIG: ^C still signals");

	begin();
	type("half");
	set(&l.t.c_lflag, ICANON, 0);
	ok(input_is("half"), "leaving ICANON delivers the half line");

	begin();
	set(&l.t.c_iflag, ICRNL, 0);
	set(&l.t.c_lflag, ICANON, 0);
	type("\r");
	ok(input_is("\r"), "without ICRNL a CR stays a CR");

	begin();
	set(&l.t.c_lflag, ECHO, ECHONL);
	type("secret\n");
	ok(input_is("secret\n") && screen_is("\r\n"), "ECHONL echoes only the newline");
}

static void output(void)
{
	begin();
	ldisc_output(&l, (const uint8_t *)"a\nb\r\n", 5);
	ok(screen_is("a\r\nb\r\r\n"), "ONLCR puts CR before each LF");
	begin();
	set(&l.t.c_oflag, OPOST, 0);
	ldisc_output(&l, (const uint8_t *)"a\nb", 3);
	ok(screen_is("a\nb"), "without OPOST bytes pass unchanged");
	begin();
	set(&l.t.c_oflag, 0, XTABS);
	ldisc_output(&l, (const uint8_t *)"ab\tc", 4);
	ok(screen_is("ab      c"), "XTABS expands tabs");
	begin();
	type("\023");
	ok(l.stopped && got.nscreen == 0, "^S holds output");
	type("\021");
	ok(!l.stopped && got.ninput == 0, "^Q lets it go on");
}

static void limits(void)
{
	begin();
	for (int i = 0; i < 5000; i++)
		ldisc_type(&l, 'x');
	ldisc_type(&l, '\n');
	ok(got.ninput == LDISC_LINE && got.input[LDISC_LINE - 1] == '\n',
	   "a line of 5000 bytes is cut at 4095 and still ends");

	/* Random bytes and modes must never overrun (meant for a sanitiser build). */
	srand(1);
	begin();
	for (int i = 0; i < 200000; i++) {
		struct termios t = l.t;

		if (rand() % 50 == 0) {
			t.c_lflag = rand();
			t.c_iflag = rand();
			t.c_oflag = rand();
			ldisc_set_termios(&l, &t);
		}
		got.nscreen = got.ninput = 0;
		got.nsignals = 0;
		ldisc_type(&l, rand());
	}
	ok(l.len <= LDISC_LINE, "200,000 random bytes in random modes stay in bounds");
}

int main(void)
{
	lines();
	end_of_file();
	signals();
	raw();
	output();
	limits();
	printf("1..%d\n", number);
	return failures != 0;
}

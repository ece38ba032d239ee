// SPDX-License-Identifier: MIT
/*
 * Host test of the screen emulation and of the keyboard's scan codes. Prints TAP lines; exits 1
 * if any case fails.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kbd.h"
#include "vt.h"

static struct vt v;
static char passed[4096], replied[256];
static size_t npassed, nreplied;
static int number, failures;

static void on_pass(void *ctx, const uint8_t *p, size_t n)
{
	(void)ctx;
	memcpy(passed + npassed, p, n);
	npassed += n;
}

static void on_reply(void *ctx, const uint8_t *p, size_t n)
{
	(void)ctx;
	memcpy(replied + nreplied, p, n);
	nreplied += n;
}

static void begin(void)
{
	vt_init(&v);
	v.pass = on_pass;
	v.reply = on_reply;
	npassed = nreplied = 0;
}

static void feed(const char *s)
{
	vt_feed(&v, (const uint8_t *)s, strlen(s));
}

static void ok(int cond, const char *name)
{
	printf("%sok %d - %s\n", cond ? "" : "not ", ++number, name);
	failures += !cond;
}

static int row_is(int row, const char *text)
{
	for (int i = 0; i < VT_COLS; i++) {
		char want = i < (int)strlen(text) ? text[i] : ' ';

		if ((v.cell[row * VT_COLS + i] & 0xff) != (uint8_t)want)
			return 0;
	}
	return 1;
}

static int at(int row, int col)
{
	return v.row == row && v.col == col;
}

static void screen(void)
{
	begin();
	feed("ab\r\ncd\b\bX");
	ok(row_is(0, "ab") && row_is(1, "Xd") && at(1, 1), "text, CR LF, backspace");
	begin();
	for (int i = 0; i < 81; i++)
		feed("x");
	ok(at(1, 1) && row_is(1, "x"), "the line wraps when the 81st character comes");
	begin();
	for (int i = 0; i < 30; i++) {
		char line[16];

		snprintf(line, sizeof(line), "\r\nline%d", i);
		feed(line);
	}
	ok(row_is(24, "line29") && row_is(0, "line5"), "the screen scrolls");
	begin();
	feed("hello\033[3Dp\033[K");
	ok(row_is(0, "hep"), "cursor left and erase to end of line");
	begin();
	feed("abcdef\033[1;3H\033[2Pxy\033[1;1H\033[2@");
	ok(row_is(0, "  abxy"), "delete and insert characters");
	begin();
	feed("1\r\n2\r\n3\r\n4\033[2;3r\033[3;1H\n5\033[r\033[24;1H");
	ok(row_is(0, "1") && row_is(1, "3") && row_is(2, "5") && row_is(3, "4") && at(23, 0),
	   "only the scroll region scrolls");
	begin();
	feed("1\r\n2\r\n3\033[1;1H\033[L0\033[3;1H\033[M");
	ok(row_is(0, "0") && row_is(1, "1") && row_is(2, "3"), "insert and delete lines");
	begin();
	feed("a\033[H\033[2J\033[999;999H");
	ok(row_is(0, "") && at(24, 79), "clear, and the cursor stays inside");
	begin();
	feed("\033[1;31;44mZ\033[0mz\033[7my");
	ok(v.cell[0] >> 8 == 0x1c && v.cell[1] >> 8 == 0x07 && v.cell[2] >> 8 == 0x70,
	   "colours, bold, reverse");
	begin();
	feed("\033[?25l");
	ok(!v.cursor_on, "cursor off");
	feed("\033[?25h\033[?1049h\033]0;title\007\033(Bq");
	ok(v.cursor_on && row_is(0, "q"), "mode, title and charset sequences leave no litter");
	begin();
	feed("\303\244\342\224\200?");
	ok((v.cell[0] & 0xff) == 0x84 && (v.cell[1] & 0xff) == 0xc4 && at(0, 3),
	   "UTF-8 takes one cell per character");
}

static void stream(void)
{
	begin();
	feed("ab\033[2;3Hc\033[6nd\033[1me");
	ok(nreplied == 6 && !memcmp(replied, "\033[2;4R", 6), "cursor position report");
	ok(npassed == 15 && !memcmp(passed, "ab\033[2;3Hcd\033[1me", 15),
	   "the stream lacks only the query");
	begin();
	feed("\033[");
	ok(npassed == 0, "a split sequence waits");
	feed("31m");
	ok(npassed == 5, "and passes in one piece");
	srand(2);
	begin();
	for (int i = 0; i < 300000; i++) {
		uint8_t c = rand() % 3 ? "\033[;?0123456789ABCDHJKPLMSTmrhlsu@X"[rand() % 34]
				       : rand();

		npassed = nreplied = 0;
		vt_feed(&v, &c, 1);
		if (v.row < 0 || v.row >= VT_ROWS || v.col < 0 || v.col > VT_COLS)
			break;
	}
	ok(v.row >= 0 && v.row < VT_ROWS && v.col >= 0 && v.col <= VT_COLS,
	   "300,000 random bytes keep the cursor inside");
}

static void keys(const char *name, const char *codes, size_t n, const char *want, size_t nwant)
{
	struct kbd k = {0};
	uint8_t out[256];
	size_t len = 0;

	for (size_t i = 0; i < n; i++)
		len += kbd_scancode(&k, codes[i], out + len);
	ok(len == nwant && !memcmp(out, want, len), name);
}

#define KEYS(name, codes, want) keys(name, codes, sizeof(codes) - 1, want, sizeof(want) - 1)

int main(void)
{
	screen();
	stream();
	KEYS("letters and release", "\x26\xa6\x1f\x9f\x1c", "ls\r");
	KEYS("shift", "\x2a\x1e\x9e\xaa\x1e\x36\x02\xb6\x02", "Aa!1");
	KEYS("caps lock affects letters only", "\x3a\xba\x1e\x02\x2a\x1e\xaa\x3a\x1e", "A1aa");
	KEYS("control", "\x1d\x2e\x20\x9d\x2e",
	     "\x03\x04"
	     "c");
	KEYS("control space is NUL", "\x1d\x39", "\0");
	KEYS("alt is an ESC prefix", "\x38\x30\xb8", "\033b");
	KEYS("arrows", "\xe0\x48\xe0\xc8\xe0\x50\xe0\x4b\xe0\x4d", "\033[A\033[B\033[D\033[C");
	KEYS("home end delete page", "\xe0\x47\xe0\x4f\xe0\x53\xe0\x49\xe0\x51",
	     "\033[H\033[F\033[3~\033[5~\033[6~");
	KEYS("keypad with num lock", "\x45\xc5\x47\x4e\x53", "7+.");
	KEYS("right control", "\xe0\x1d\x2e\xe0\x9d\x2e", "\003c");
	KEYS("backspace is DEL", "\x0e", "\177");
	KEYS("pause is ignored", "\xe1\x1d\x45\xe1\x9d\xc5\x1e", "a");
	KEYS("fake shifts around arrows", "\xe0\x2a\xe0\x48\xe0\xc8\xe0\xaa\x1e", "\033[Aa");
	printf("1..%d\n", number);
	return failures != 0;
}

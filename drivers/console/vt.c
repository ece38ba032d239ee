// SPDX-License-Identifier: MIT
/*
 * The terminal emulation behind vt.h: a byte-wise parser and the functions it calls. Unknown
 * sequences are swallowed whole, so that they never litter the screen.
 */
#include <stdio.h>
#include <string.h>

#include "vt.h"

#define TAB 8

static const uint8_t vga_colour[8] = {0, 4, 2, 6, 1, 5, 3, 7}; /* from ANSI order */

static uint8_t attribute(const struct vt *v)
{
	uint8_t fg = vga_colour[v->fg & 7] | (v->bold || (v->fg & 8) ? 8 : 0);
	uint8_t bg = vga_colour[v->bg & 7];

	if (v->reverse) {
		uint8_t t = fg;

		fg = bg | (t & 8);
		bg = t & 7;
	}
	return bg << 4 | fg | (v->blink ? 0x80 : 0);
}

/* Erased cells take the background colour, never reverse or blink. */
static void fill(struct vt *v, int from, int to)
{
	uint8_t colours = vga_colour[v->bg & 7] << 4 | vga_colour[v->fg & 7];

	for (int i = from; i < to; i++)
		v->cell[i] = ' ' | colours << 8;
}

/* Move the lines top..bottom up by n (down if negative), blank what becomes free. */
static void scroll(struct vt *v, int top, int bottom, int n)
{
	int rows = bottom - top + 1;
	uint16_t *first = v->cell + top * VT_COLS;

	if (n > rows || -n > rows)
		n = n > 0 ? rows : -rows;
	if (n > 0) {
		memmove(first, first + n * VT_COLS, (rows - n) * VT_COLS * sizeof(*first));
		fill(v, (bottom + 1 - n) * VT_COLS, (bottom + 1) * VT_COLS);
	} else if (n < 0) {
		n = -n;
		memmove(first + n * VT_COLS, first, (rows - n) * VT_COLS * sizeof(*first));
		fill(v, top * VT_COLS, (top + n) * VT_COLS);
	}
}

static void line_feed(struct vt *v)
{
	if (v->row == v->bottom)
		scroll(v, v->top, v->bottom, 1);
	else if (v->row < VT_ROWS - 1)
		v->row++;
}

static void reverse_line_feed(struct vt *v)
{
	if (v->row == v->top)
		scroll(v, v->top, v->bottom, -1);
	else if (v->row > 0)
		v->row--;
}

static int clamp(int x, int low, int high)
{
	return x < low ? low : x > high ? high : x;
}

static void move_to(struct vt *v, int row, int col)
{
	v->row = clamp(row, 0, VT_ROWS - 1);
	v->col = clamp(col, 0, VT_COLS - 1);
}

static void put_char(struct vt *v, uint8_t c)
{
	uint16_t *cell;

	if (v->col >= VT_COLS) {
		v->col = 0;
		line_feed(v);
	}
	cell = v->cell + v->row * VT_COLS + v->col;
	if (v->insert)
		memmove(cell + 1, cell, (VT_COLS - 1 - v->col) * sizeof(*cell));
	*cell = c | attribute(v) << 8;
	v->col++;
}

/* The nearest code page 437 character for a code point of more than one byte. */
static uint8_t cp437(unsigned int code)
{
	static const struct {
		uint16_t code;
		uint8_t c;
	} map[] = {
		{0xb0, 0xf8},	{0xb1, 0xf1},	{0xb2, 0xfd},	{0xb5, 0xe6},	{0xb7, 0xfa},
		{0xc4, 0x8e},	{0xd6, 0x99},	{0xdc, 0x9a},	{0xdf, 0xe1},	{0xe4, 0x84},
		{0xf6, 0x94},	{0xfc, 0x81},	{0xe9, 0x82},	{0xe8, 0x8a},	{0xe0, 0x85},
		{0x2013, '-'},	{0x2014, '-'},	{0x2018, '\''}, {0x2019, '\''}, {0x201c, '"'},
		{0x201d, '"'},	{0x2022, 0xf9}, {0x2500, 0xc4}, {0x2502, 0xb3}, {0x250c, 0xda},
		{0x2510, 0xbf}, {0x2514, 0xc0}, {0x2518, 0xd9}, {0x251c, 0xc3}, {0x2524, 0xb4},
		{0x252c, 0xc2}, {0x2534, 0xc1}, {0x253c, 0xc5}, {0x2580, 0xdf}, {0x2584, 0xdc},
		{0x2588, 0xdb}, {0x2591, 0xb0}, {0x2592, 0xb1}, {0x2593, 0xb2},
	};

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (map[i].code == code)
			return map[i].c;
	return '?';
}

/* A byte of 0x80 and up: assemble UTF-8, show one cell per character. */
static void high_byte(struct vt *v, uint8_t c)
{
	if ((c & 0xc0) == 0x80) {
		if (!v->utf8_left)
			return;
		v->utf8 = v->utf8 << 6 | (c & 0x3f);
		if (--v->utf8_left == 0)
			put_char(v, cp437(v->utf8));
		return;
	}
	v->utf8_left = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
	v->utf8 = c & (0x3f >> v->utf8_left);
}

static void control(struct vt *v, uint8_t c)
{
	switch (c) {
	case '\b':
		if (v->col >= VT_COLS)
			v->col = VT_COLS - 1;
		v->col -= v->col > 0;
		break;
	case '\t':
		v->col = clamp((v->col / TAB + 1) * TAB, 0, VT_COLS - 1);
		break;
	case '\n':
	case '\v':
	case '\f':
		line_feed(v);
		break;
	case '\r':
		v->col = 0;
		break;
	}
}

/* Parameter i, or def where it is missing or zero. */
static int param(const struct vt *v, int i, int def)
{
	return i < v->nparam && v->param[i] ? v->param[i] : def;
}

static void set_colours(struct vt *v)
{
	int n = v->nparam ? v->nparam : 1;

	for (int i = 0; i < n; i++) {
		int p = param(v, i, 0);

		if (p == 0) {
			v->fg = 7;
			v->bg = 0;
			v->bold = v->reverse = v->blink = false;
		} else if (p == 1) {
			v->bold = true;
		} else if (p == 2 || p == 22) {
			v->bold = false;
		} else if (p == 5 || p == 25) {
			v->blink = p == 5;
		} else if (p == 7 || p == 27) {
			v->reverse = p == 7;
		} else if (p >= 30 && p <= 37) {
			v->fg = p - 30;
		} else if (p == 39) {
			v->fg = 7;
		} else if (p >= 40 && p <= 47) {
			v->bg = p - 40;
		} else if (p == 49) {
			v->bg = 0;
		} else if (p >= 90 && p <= 97) {
			v->fg = (p - 90) | 8;
		} else if (p >= 100 && p <= 107) {
			v->bg = p - 100;
		} else if (p == 38 || p == 48) {
			/* 256 colours and RGB: skipped with their arguments */
			i += param(v, i + 1, 0) == 5 ? 2 : 4;
		}
	}
}

static void erase_display(struct vt *v, int how)
{
	int here = v->row * VT_COLS + clamp(v->col, 0, VT_COLS - 1);

	if (how == 0)
		fill(v, here, VT_ROWS * VT_COLS);
	else if (how == 1)
		fill(v, 0, here + 1);
	else
		fill(v, 0, VT_ROWS * VT_COLS);
}

static void erase_line(struct vt *v, int how)
{
	int start = v->row * VT_COLS;
	int col = clamp(v->col, 0, VT_COLS - 1);

	fill(v, how == 0 ? start + col : start, how == 1 ? start + col + 1 : start + VT_COLS);
}

/* Shift the rest of the line right (n > 0) or left (n < 0). */
static void shift_line(struct vt *v, int n)
{
	int col = clamp(v->col, 0, VT_COLS - 1);
	int rest = VT_COLS - col;
	int here = v->row * VT_COLS + col;
	int by = n < 0 ? -n : n;

	if (by > rest)
		by = rest;
	if (n > 0) {
		memmove(v->cell + here + by, v->cell + here, (rest - by) * sizeof(v->cell[0]));
		fill(v, here, here + by);
	} else {
		memmove(v->cell + here, v->cell + here + by, (rest - by) * sizeof(v->cell[0]));
		fill(v, here + rest - by, here + rest);
	}
}

static void answer(struct vt *v, const char *text)
{
	if (v->reply)
		v->reply(v->ctx, (const uint8_t *)text, strlen(text));
}

/* Device status reports. Returns true if it was one that is answered here. */
static bool status_report(struct vt *v)
{
	char text[32];

	if (!v->reply || v->private)
		return false;
	if (param(v, 0, 0) == 6) {
		snprintf(text, sizeof(text), "\033[%d;%dR", v->row + 1,
			 clamp(v->col, 0, VT_COLS - 1) + 1);
		answer(v, text);
		return true;
	}
	if (param(v, 0, 0) == 5) {
		answer(v, "\033[0n");
		return true;
	}
	return false;
}

static void set_mode(struct vt *v, bool on)
{
	for (int i = 0; i < v->nparam; i++) {
		if (v->private && v->param[i] == 25)
			v->cursor_on = on;
		if (!v->private && v->param[i] == 4)
			v->insert = on;
	}
}

static void scroll_region(struct vt *v)
{
	int top = param(v, 0, 1) - 1;
	int bottom = param(v, 1, VT_ROWS) - 1;

	if (bottom >= VT_ROWS)
		bottom = VT_ROWS - 1;
	if (top >= bottom)
		return;
	v->top = top;
	v->bottom = bottom;
	move_to(v, 0, 0);
}

static void save(struct vt *v)
{
	v->saved_row = v->row;
	v->saved_col = v->col;
}

/* Insert (n > 0) or delete lines at the cursor, inside the scroll region. */
static void shift_rows(struct vt *v, int n)
{
	if (v->row >= v->top && v->row <= v->bottom)
		scroll(v, v->row, v->bottom, -n);
}

/* A complete control sequence. Returns true if the stream beside the screen must not see it. */
static bool csi(struct vt *v, uint8_t final)
{
	int n = param(v, 0, 1);
	int col = clamp(v->col, 0, VT_COLS - 1);

	switch (final) {
	case 'A':
		move_to(v, v->row - n, col);
		break;
	case 'B':
	case 'e':
		move_to(v, v->row + n, col);
		break;
	case 'C':
	case 'a':
		move_to(v, v->row, col + n);
		break;
	case 'D':
		move_to(v, v->row, col - n);
		break;
	case 'E':
		move_to(v, v->row + n, 0);
		break;
	case 'F':
		move_to(v, v->row - n, 0);
		break;
	case 'G':
	case '`':
		move_to(v, v->row, n - 1);
		break;
	case 'd':
		move_to(v, n - 1, col);
		break;
	case 'H':
	case 'f':
		move_to(v, n - 1, param(v, 1, 1) - 1);
		break;
	case 'J':
		erase_display(v, param(v, 0, 0));
		break;
	case 'K':
		erase_line(v, param(v, 0, 0));
		break;
	case 'X':
		fill(v, v->row * VT_COLS + col, v->row * VT_COLS + clamp(col + n, 0, VT_COLS));
		break;
	case '@':
		shift_line(v, n);
		break;
	case 'P':
		shift_line(v, -n);
		break;
	case 'L':
		shift_rows(v, n);
		break;
	case 'M':
		shift_rows(v, -n);
		break;
	case 'S':
		scroll(v, v->top, v->bottom, n);
		break;
	case 'T':
		scroll(v, v->top, v->bottom, -n);
		break;
	case 'm':
		if (!v->private)
			set_colours(v);
		break;
	case 'r':
		if (!v->private)
			scroll_region(v);
		break;
	case 's':
		save(v);
		break;
	case 'u':
		v->row = v->saved_row;
		v->col = v->saved_col;
		break;
	case 'h':
	case 'l':
		set_mode(v, final == 'h');
		break;
	case 'n':
		return status_report(v);
	case 'c':
		if (!v->reply || param(v, 0, 0))
			return false;
		answer(v, "\033[?6c");
		return true;
	}
	return false;
}

static void reset(struct vt *v)
{
	v->row = v->col = v->saved_row = v->saved_col = 0;
	v->top = 0;
	v->bottom = VT_ROWS - 1;
	v->cursor_on = true;
	v->insert = v->bold = v->reverse = v->blink = false;
	v->fg = 7;
	v->bg = 0;
	fill(v, 0, VT_ROWS * VT_COLS);
}

void vt_init(struct vt *v)
{
	memset(v, 0, sizeof(*v));
	reset(v);
}

/* The byte after ESC. Returns the next state. */
static int escape(struct vt *v, uint8_t c)
{
	switch (c) {
	case '[':
		v->private = false;
		v->nparam = 0;
		memset(v->param, 0, sizeof(v->param));
		return VT_CSI;
	case ']':
		return VT_OSC;
	case '(':
	case ')':
	case '#':
		return VT_CHARSET;
	case '7':
		save(v);
		break;
	case '8':
		v->row = v->saved_row;
		v->col = v->saved_col;
		break;
	case 'D':
		line_feed(v);
		break;
	case 'E':
		v->col = 0;
		line_feed(v);
		break;
	case 'M':
		reverse_line_feed(v);
		break;
	case 'c':
		reset(v);
		break;
	}
	return VT_GROUND;
}

/* A byte inside a control sequence. Returns true when the sequence must be hidden. */
static bool csi_byte(struct vt *v, uint8_t c)
{
	if (c >= '0' && c <= '9') {
		int *p;

		if (!v->nparam)
			v->nparam = 1;
		p = &v->param[v->nparam - 1];
		if (*p < 1000)
			*p = *p * 10 + c - '0';
	} else if (c == ';') {
		if (!v->nparam)
			v->nparam = 1;
		if (v->nparam < VT_PARAMS)
			v->nparam++;
	} else if (c >= '<' && c <= '?') {
		v->private = true;
	} else if (c < 0x20) {
		control(v, c);
	} else if (c >= 0x40) {
		v->state = VT_GROUND;
		return csi(v, c);
	}
	return false;
}

static void flush_seq(struct vt *v)
{
	if (v->nseq && v->pass)
		v->pass(v->ctx, v->seq, v->nseq);
	v->nseq = 0;
}

/* One byte outside the plain text. */
static void parse(struct vt *v, uint8_t c)
{
	bool hide = false;

	v->seq[v->nseq++] = c;
	if (c == 0x1b && v->state != VT_OSC) {
		if (v->state == VT_OSC_ESC || v->nseq > 1) {
			v->nseq--;
			flush_seq(v);
			v->seq[v->nseq++] = c;
		}
		v->state = VT_ESC;
		return;
	}
	switch (v->state) {
	case VT_ESC:
		v->state = escape(v, c);
		break;
	case VT_CSI:
		hide = csi_byte(v, c);
		break;
	case VT_CHARSET:
		v->state = VT_GROUND;
		break;
	case VT_OSC:
		v->state = c == '\a' ? VT_GROUND : c == 0x1b ? VT_OSC_ESC : VT_OSC;
		break;
	case VT_OSC_ESC:
		v->state = VT_GROUND;
		break;
	case VT_GROUND:
		break;
	}
	if (hide)
		v->nseq = 0;
	else if (v->state == VT_GROUND || v->nseq == VT_SEQ)
		flush_seq(v);
}

void vt_feed(struct vt *v, const uint8_t *p, size_t n)
{
	const uint8_t *start = p;
	const uint8_t *end = p + n;

	for (; p < end; p++) {
		if (v->state != VT_GROUND || *p == 0x1b) {
			if (p > start && v->pass)
				v->pass(v->ctx, start, p - start);
			parse(v, *p);
			start = p + 1;
		} else if (*p < 0x20) {
			control(v, *p);
		} else if (*p < 0x80) {
			if (*p != 0x7f)
				put_char(v, *p);
		} else {
			high_byte(v, *p);
		}
	}
	if (p > start && v->pass)
		v->pass(v->ctx, start, p - start);
}

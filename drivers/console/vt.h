/* SPDX-License-Identifier: MIT */
/*
 * A VT100/ANSI subset on an array of 80x25 text cells: what ash's line editing, vi, top and less
 * use. It only fills cells; vga.c copies them to the screen. Tested on the host (vt_test.c).
 */
#ifndef CONSOLE_VT_H
#define CONSOLE_VT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VT_COLS	  80
#define VT_ROWS	  25
#define VT_PARAMS 8
#define VT_SEQ	  48 /* longest escape sequence passed on in one piece */

struct vt {
	uint16_t cell[VT_ROWS * VT_COLS]; /* character | attribute << 8, as VGA has it */
	int row, col;			  /* col == VT_COLS: wrap pending */
	int saved_row, saved_col;
	int top, bottom; /* scroll region, inclusive */
	bool cursor_on;
	bool insert;	/* IRM */
	uint8_t fg, bg; /* 0..7, ANSI order */
	bool bold, reverse, blink;

	enum { VT_GROUND, VT_ESC, VT_CSI, VT_CHARSET, VT_OSC, VT_OSC_ESC } state;
	bool private;
	int param[VT_PARAMS];
	int nparam;
	unsigned int utf8; /* code point being assembled */
	int utf8_left;

	/* The sequence being parsed, for the byte stream beside the screen. */
	uint8_t seq[VT_SEQ];
	size_t nseq;

	/* Answer to a query, for the programs' input. May be NULL. */
	void (*reply)(void *ctx, const uint8_t *p, size_t n);
	/* The stream without the queries answered here. May be NULL. */
	void (*pass)(void *ctx, const uint8_t *p, size_t n);
	void *ctx;
};

/** vt_init() - clear screen, default colours, cursor at the top left; hooks become NULL. */
void vt_init(struct vt *v);

/** vt_feed() - act on @n bytes of program output. */
void vt_feed(struct vt *v, const uint8_t *p, size_t n);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The terminal's line discipline: what typed bytes become for the programs (lines, erased and
 * killed characters, end of file, signals) and what shows on the screen (echo, CR before LF).
 * It touches no device and no system call, so it is tested on the host (ldisc_test.c).
 */
#ifndef CONSOLE_LDISC_H
#define CONSOLE_LDISC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

#define LDISC_LINE 4096 /* longest line with its end, as on Linux */

/** struct ldisc_ops - where the results go. @ctx is handed back to each. */
struct ldisc_ops {
	/* Bytes for the screen, already post-processed. */
	void (*screen)(void *ctx, const uint8_t *p, size_t n);
	/* Bytes for the programs' input. */
	void (*input)(void *ctx, const uint8_t *p, size_t n);
	/* Programs' input has an end of file here. */
	void (*eof)(void *ctx);
	/* Signal @sig to the foreground group; @flush: drop input not yet read. */
	void (*signal)(void *ctx, int sig, bool flush);
};

struct ldisc {
	const struct ldisc_ops *ops;
	void *ctx;
	struct termios t;
	uint8_t line[LDISC_LINE]; /* the line being edited (ICANON) */
	size_t len;
	unsigned int column;	   /* of the screen's cursor, for tabs and rubbing out */
	unsigned int start_column; /* where the edited line began */
	bool literal;		   /* the next byte is data (after VLNEXT) */
	bool stopped;		   /* ^S: output is held (IXON) */
};

/** ldisc_init() - start with Linux's default modes; results go to @ops with @ctx. */
void ldisc_init(struct ldisc *l, const struct ldisc_ops *ops, void *ctx);

/**
 * ldisc_set_termios() - take over modes a program has set.
 * Leaving ICANON hands a half-typed line to the programs, as Linux does.
 */
void ldisc_set_termios(struct ldisc *l, const struct termios *t);

/** ldisc_type() - one byte was typed or received. */
void ldisc_type(struct ldisc *l, uint8_t c);

/** ldisc_output() - programs wrote @n bytes: post-process (OPOST) and show them. */
void ldisc_output(struct ldisc *l, const uint8_t *p, size_t n);

#endif

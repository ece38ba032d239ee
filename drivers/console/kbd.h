/* SPDX-License-Identifier: MIT */
/*
 * PS/2 keyboard, scan code set 1, US layout: scan codes become the bytes a terminal would send.
 * Pure state machine; the ports are in ps2.c. Tested on the host (vt_test.c).
 */
#ifndef CONSOLE_KBD_H
#define CONSOLE_KBD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KBD_MAX 8 /* most bytes one key sends */

struct kbd {
	bool shift, ctrl, alt, caps, num;
	bool extended; /* 0xe0 was seen */
	int skip;      /* bytes of the Pause key still to ignore */
};

/** kbd_scancode() - take one byte from the controller. Return: bytes put into @out, 0..KBD_MAX. */
size_t kbd_scancode(struct kbd *k, uint8_t code, uint8_t out[KBD_MAX]);

#endif

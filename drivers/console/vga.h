/* SPDX-License-Identifier: MIT */
/*
 * The 80x25 VGA text screen: copies changed cells of a struct vt to /dev/vga and moves the
 * hardware cursor.
 */
#ifndef CONSOLE_VGA_H
#define CONSOLE_VGA_H

#include <stdbool.h>
#include <stdint.h>

#include "vt.h"

struct vga {
	volatile uint16_t *mem; /* NULL: no screen */
	uint16_t shown[VT_ROWS * VT_COLS];
	int cursor; /* position last written to the CRTC, -1 hidden, -2 unknown */
};

/**
 * vga_open() - map the screen and see whether there is one behind the address.
 * Context: after ioperm() on 0x3d4..0x3d5.
 * Return: true if text can be shown.
 */
bool vga_open(struct vga *g);

/** vga_restore() - take what is on the screen now, and the cursor, into @v (after a restart). */
void vga_restore(struct vga *g, struct vt *v);

/** vga_flush() - bring the screen up to date with @v. */
void vga_flush(struct vga *g, const struct vt *v);

#endif

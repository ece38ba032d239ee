// SPDX-License-Identifier: MIT
/*
 * Screen memory is slow (each access leaves the emulator's fast path, or crosses a bus), so cells
 * are compared in RAM and only differences are written, once per batch of output.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/port.h"
#include "vga.h"

#define VGA_BYTES	  32768
#define CRTC_INDEX	  0x3d4
#define CRTC_DATA	  0x3d5
#define CRTC_CURSOR_START 0x0a
#define CRTC_CURSOR_END	  0x0b
#define CRTC_START_HIGH	  0x0c
#define CRTC_CURSOR_HIGH  0x0e
#define CURSOR_HIDE	  0x20

static void crtc(uint8_t reg, uint8_t value)
{
	port_out(CRTC_INDEX, reg);
	port_out(CRTC_DATA, value);
}

static uint8_t crtc_read(uint8_t reg)
{
	port_out(CRTC_INDEX, reg);
	return port_in(CRTC_DATA);
}

bool vga_open(struct vga *g)
{
	int fd = open("/dev/vga", O_RDWR | O_CLOEXEC);
	void *mem;
	uint16_t was;
	bool works;

	g->mem = NULL;
	g->cursor = -2;
	if (fd < 0)
		return false;
	mem = mmap(NULL, VGA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (mem == MAP_FAILED)
		return false;
	g->mem = mem;
	/* Without a card nothing remembers a write. The probe uses a cell beyond the screen. */
	was = g->mem[VT_ROWS * VT_COLS];
	g->mem[VT_ROWS * VT_COLS] = 0x5aa5;
	works = g->mem[VT_ROWS * VT_COLS] == 0x5aa5;
	g->mem[VT_ROWS * VT_COLS] = was;
	if (!works) {
		munmap(mem, VGA_BYTES);
		g->mem = NULL;
		return false;
	}
	crtc(CRTC_START_HIGH, 0);
	crtc(CRTC_START_HIGH + 1, 0);
	for (int i = 0; i < VT_ROWS * VT_COLS; i++)
		g->shown[i] = g->mem[i];
	return true;
}

void vga_restore(struct vga *g, struct vt *v)
{
	unsigned int at;

	if (!g->mem)
		return;
	memcpy(v->cell, g->shown, sizeof(v->cell));
	at = crtc_read(CRTC_CURSOR_HIGH) << 8 | crtc_read(CRTC_CURSOR_HIGH + 1);
	if (at < VT_ROWS * VT_COLS) {
		v->row = at / VT_COLS;
		v->col = at % VT_COLS;
	}
}

static void show_cursor(struct vga *g, const struct vt *v)
{
	int col = v->col < VT_COLS ? v->col : VT_COLS - 1;
	int want = v->cursor_on ? v->row * VT_COLS + col : -1;

	if (want == g->cursor)
		return;
	if (want < 0) {
		crtc(CRTC_CURSOR_START, CURSOR_HIDE);
	} else {
		if (g->cursor < 0) {
			crtc(CRTC_CURSOR_START, 13);
			crtc(CRTC_CURSOR_END, 14);
		}
		crtc(CRTC_CURSOR_HIGH, want >> 8);
		crtc(CRTC_CURSOR_HIGH + 1, want & 0xff);
	}
	g->cursor = want;
}

void vga_flush(struct vga *g, const struct vt *v)
{
	if (!g->mem)
		return;
	for (int i = 0; i < VT_ROWS * VT_COLS; i++) {
		if (g->shown[i] == v->cell[i])
			continue;
		g->shown[i] = v->cell[i];
		g->mem[i] = v->cell[i];
	}
	show_cursor(g, v);
}

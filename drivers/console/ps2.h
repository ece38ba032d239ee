/* SPDX-License-Identifier: MIT */
/*
 * The keyboard behind the i8042 controller at ports 0x60 and 0x64.
 */
#ifndef CONSOLE_PS2_H
#define CONSOLE_PS2_H

#include <stdbool.h>
#include <stdint.h>

struct ps2 {
	int irq_fd; /* -1: no keyboard */
};

/** ps2_open() - find the controller and switch the keyboard on. Return: true if there is one. */
bool ps2_open(struct ps2 *p);

/** ps2_ack() - forget interrupts seen so far; call before draining with ps2_read(). */
void ps2_ack(struct ps2 *p);

/** ps2_read() - one scan code (set 1) without waiting. Return: 0..255, or -1 for none. */
int ps2_read(struct ps2 *p);

#endif

// SPDX-License-Identifier: MIT
/*
 * i8042 set-up: keyboard port on, translation to set 1 on, interrupt on, mouse off. Firmware
 * usually leaves it so, but not all does. Every wait is bounded; an absent controller reads as 0xff.
 */
#include <fcntl.h>
#include <unistd.h>

#include "../lib/port.h"
#include "ps2.h"

#define DATA	0x60
#define STATUS	0x64
#define COMMAND 0x64

#define STATUS_OUTPUT 0x01 /* a byte waits for us */
#define STATUS_INPUT  0x02 /* the controller has not taken our last byte */
#define STATUS_MOUSE  0x20 /* the waiting byte is the mouse's */

#define CMD_READ_CONFIG	    0x20
#define CMD_WRITE_CONFIG    0x60
#define CMD_DISABLE_MOUSE   0xa7
#define CMD_ENABLE_KEYBOARD 0xae

#define CONFIG_KEYBOARD_IRQ 0x01
#define CONFIG_MOUSE_IRQ    0x02
#define CONFIG_KEYBOARD_OFF 0x10
#define CONFIG_TRANSLATE    0x40

#define KEYBOARD_ENABLE_SCAN 0xf4
#define SPINS		     20000

static bool wait_status(uint8_t bit, bool set)
{
	for (int i = 0; i < SPINS; i++) {
		if (!(port_in(STATUS) & bit) == !set)
			return true;
		cpu_pause();
	}
	return false;
}

static void drain(void)
{
	for (int i = 0; i < 64 && (port_in(STATUS) & STATUS_OUTPUT); i++)
		port_in(DATA);
}

static bool send(uint16_t port, uint8_t byte)
{
	if (!wait_status(STATUS_INPUT, false))
		return false;
	port_out(port, byte);
	return true;
}

static bool configure(void)
{
	uint8_t config;

	send(COMMAND, CMD_DISABLE_MOUSE);
	drain();
	if (!send(COMMAND, CMD_READ_CONFIG) || !wait_status(STATUS_OUTPUT, true))
		return false;
	config = port_in(DATA);
	config |= CONFIG_KEYBOARD_IRQ | CONFIG_TRANSLATE;
	config &= ~(CONFIG_MOUSE_IRQ | CONFIG_KEYBOARD_OFF);
	if (!send(COMMAND, CMD_WRITE_CONFIG) || !send(DATA, config))
		return false;
	if (!send(COMMAND, CMD_ENABLE_KEYBOARD) || !send(DATA, KEYBOARD_ENABLE_SCAN))
		return false;
	/* The keyboard's acknowledgement, if there is a keyboard. */
	wait_status(STATUS_OUTPUT, true);
	drain();
	return true;
}

bool ps2_open(struct ps2 *p)
{
	p->irq_fd = -1;
	if (port_in(STATUS) == 0xff)
		return false;
	p->irq_fd = open("/dev/irq/1", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (p->irq_fd < 0)
		return false;
	if (!configure()) {
		close(p->irq_fd);
		p->irq_fd = -1;
		return false;
	}
	return true;
}

void ps2_ack(struct ps2 *p)
{
	uint64_t count;

	if (p->irq_fd >= 0 && read(p->irq_fd, &count, sizeof(count)) < 0)
		return; /* EAGAIN: no interrupt since the last look */
}

int ps2_read(struct ps2 *p)
{
	if (p->irq_fd < 0)
		return -1;
	for (;;) {
		uint8_t status = port_in(STATUS);
		uint8_t byte;

		if (!(status & STATUS_OUTPUT))
			return -1;
		byte = port_in(DATA);
		if (!(status & STATUS_MOUSE))
			return byte;
	}
}

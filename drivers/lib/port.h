/* SPDX-License-Identifier: MIT */
/*
 * x86 I/O ports for ring-3 drivers. The process must have been given the ports by ioperm(2);
 * without that the instructions raise SIGSEGV.
 */
#ifndef DRIVERS_PORT_H
#define DRIVERS_PORT_H

#include <stddef.h>
#include <stdint.h>

/** port_in() - read one byte from @port. Context: after ioperm(). Return: the byte. */
static inline uint8_t port_in(uint16_t port)
{
	uint8_t v;

	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

/** port_out() - write byte @v to @port. Context: after ioperm(). */
static inline void port_out(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

/**
 * port_out_burst() - write @n bytes from @buf to one port.
 * Context: after ioperm(). One instruction, so a hypervisor may take it as one exit.
 */
static inline void port_out_burst(uint16_t port, const void *buf, size_t n)
{
	__asm__ volatile("rep outsb" : "+S"(buf), "+c"(n) : "d"(port) : "memory");
}

/** cpu_pause() - tell the CPU (and the emulator) that this is a polling loop. */
static inline void cpu_pause(void)
{
	__asm__ volatile("pause");
}

#endif

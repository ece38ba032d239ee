/* SPDX-License-Identifier: MIT
 *
 * One-shot timers in nanoseconds, per CPU, and the periodic tick built from the same clock-event device.
 */
#ifndef TIME_TIMER_H
#define TIME_TIMER_H

#include <arch/spinlock.h>

#include "lib/types.h"

/** struct timer - embedded by its user. All fields belong to the timer code. */
struct timer {
	u64 when;			   /* ns, machine_now() */
	void (*fn)(struct timer *t);	   /* called in interrupt context, no locks held */
	struct timer *child, *next, *prev; /* pairing heap, under base->lock */
	unsigned cpu;			   /* whose heap; valid while queued */
	volatile u8 queued;
};

/** timer_init_cpu() - prepare this CPU's timer base and its tick (staggered phase). Interrupts off. */
void timer_init_cpu(void);

/** timer_init() - @t becomes an idle timer that will call @fn. */
void timer_init(struct timer *t, void (*fn)(struct timer *t));

/** timer_start() - fire at @when ns on this CPU (restarts a queued one). Context: any but NMI. */
void timer_start(struct timer *t, u64 when);

/** timer_cancel() - after it returns @fn is neither queued nor running elsewhere. Return: whether it was still queued.
 * Context: any but the timer's own function; no lock that @fn takes may be held. */
bool timer_cancel(struct timer *t);

/** delay_poll() - busy-wait @ns nanoseconds with pause. Start-up only. */
void delay_poll(u64 ns);

/** task_tick() - kernel/task's part of a tick: timers that count CPU time. Context: interrupt. */
void task_tick(void);

/** Wall clock: ns since 1970 at machine_now() = 0; read from the RTC at start-up. */
extern u64 wall_clock_base;
void wall_clock_init(void);

#endif

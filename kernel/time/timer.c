/* SPDX-License-Identifier: MIT
 *
 * Timers and the tick, both from one clock-event device per CPU: the local timer is set to whatever comes first, the next
 * tick or the first timer. Timers are in a pairing heap: starting one is O(1), taking the first amortised O(log n).
 *
 * Tick times are a fixed grid (phase + n * length), so they never drift. The phase is staggered over the CPUs: equal ticks
 * would make all CPUs want the same locks at the same moment, and starve CPUs that an emulator runs in turn.
 */
#include "time/timer.h"

#include <arch/io.h>
#include <arch/smp.h>

#include "cmdline.h"
#include "log.h"
#include "mm/mm.h"
#include "sched/sched.h"

struct timer_base {
	spinlock_t lock;       /* LOCK_TIMER; taken in interrupts */
	struct timer *root;    /* under lock: heap, or NULL */
	struct timer *running; /* under lock: its function is being called */
	u64 armed;	       /* this CPU writes, others read a hint: device setting, ~0 = none */
	u64 handling; /* this CPU writes, others read a hint: since when it handles its interrupt, ~0 = it does not */
	u64 tick_due; /* this CPU */
	bool tick_on; /* this CPU */
};

static struct timer_base boot_base;
static volatile u64 tick_ns = NSEC_PER_SEC / 100; /* length of a tick; all CPUs */
u64 wall_clock_base;

/* ------------------------------------------------------------ pairing heap */

/*
 * A node's children form a list through next; prev is the previous sibling, or the parent for the first child. Equal times
 * keep no order.
 */
static struct timer *meld(struct timer *a, struct timer *b)
{
	if (!a)
		return b;
	if (!b)
		return a;
	if (b->when < a->when) {
		struct timer *t = a;

		a = b;
		b = t;
	}
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	b->prev = a;
	a->child = b;
	return a;
}

/* Meld a list of siblings into one heap: pairs from the left, then all from the right. */
static struct timer *meld_siblings(struct timer *t)
{
	struct timer *pairs = NULL, *result = NULL;

	while (t) {
		struct timer *a = t, *b = a->next, *pair;

		t = b ? b->next : NULL;
		a->next = NULL;
		if (b)
			b->next = NULL;
		pair = meld(a, b);
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs) {
		struct timer *next = pairs->next;

		pairs->next = NULL;
		result = meld(pairs, result);
		pairs = next;
	}
	if (result)
		result->next = result->prev = NULL;
	return result;
}

static void heap_insert(struct timer_base *base, struct timer *t)
{
	t->child = t->next = t->prev = NULL;
	base->root = meld(base->root, t);
}

static void heap_remove(struct timer_base *base, struct timer *t)
{
	struct timer *children = meld_siblings(t->child);

	if (t == base->root) {
		base->root = children;
		return;
	}
	if (t->prev->child == t)
		t->prev->child = t->next;
	else
		t->prev->next = t->next;
	if (t->next)
		t->next->prev = t->prev;
	base->root = meld(base->root, children);
}

/* ----------------------------------------------------------------- the device */

static inline struct timer_base *this_base(void)
{
	return this_cpu()->timer_base;
}

static void arm(struct timer_base *base, u64 when)
{
	base->armed = when;
	arch_timer_set(when);
}

/* Set the device for what comes first. This CPU's base, interrupts off. */
static void arm_next(struct timer_base *base)
{
	u64 when = base->tick_on ? base->tick_due : ~0ull;
	struct timer *root = READ_ONCE(base->root);

	if (root && root->when < when)
		when = root->when;
	if (when != base->armed)
		arm(base, when);
}

/* ---------------------------------------------------------------------- timers */

void timer_init(struct timer *t, void (*fn)(struct timer *t))
{
	*t = (struct timer){.fn = fn};
}

/* Lock the base @t is queued on, or return NULL. Interrupts off. */
static struct timer_base *lock_base(struct timer *t)
{
	while (t->queued) {
		struct timer_base *base = cpus[READ_ONCE(t->cpu)]->timer_base;

		spin_lock_raw(&base->lock);
		if (t->queued && cpus[t->cpu]->timer_base == base)
			return base;
		spin_unlock_raw(&base->lock);
	}
	return NULL;
}

void timer_start(struct timer *t, u64 when)
{
	u64 flags = irq_save();
	struct timer_base *base = this_base(), *old = unlikely(t->queued) ? lock_base(t) : NULL;

	if (likely(!old)) {
		spin_lock_raw(&base->lock);
	} else {
		heap_remove(old, t);
		t->queued = 0;
		if (old != base) {
			spin_unlock_raw(&old->lock);
			spin_lock_raw(&base->lock);
		}
	}
	t->when = when;
	t->cpu = cpu_index();
	heap_insert(base, t);
	t->queued = 1;
	spin_unlock_raw(&base->lock);
	/* An interrupt that comes too early, after a cancelled timer, finds nothing due and sets the device anew. */
	if (when < base->armed)
		arm(base, when);
	irq_restore(flags);
}

bool timer_cancel(struct timer *t)
{
	u64 flags = irq_save();
	struct timer_base *base = lock_base(t);
	bool was_queued = base;

	if (base) {
		heap_remove(base, t);
		t->queued = 0;
		spin_unlock_raw(&base->lock);
	}
	/* It fired, or its function started it again: that may still run, on the CPU where it was queued last. */
	base = cpus[READ_ONCE(t->cpu)]->timer_base;
	irq_restore(flags);
	while (base && base != this_base() &&
	       __atomic_load_n(&base->running, __ATOMIC_ACQUIRE) == t)
		spin_wait();
	return was_queued;
}

/* Call what is due. Interrupts off. */
static void run_timers(struct timer_base *base, u64 now)
{
	if (!base->root || base->root->when > now)
		return; /* without the lock: only this CPU makes a timer due earlier */
	spin_lock_raw(&base->lock);
	while (base->root && base->root->when <= now) {
		struct timer *t = base->root;

		heap_remove(base, t);
		base->running =
			t; /* before `queued`: timer_cancel() looks at them the other way round, without the lock */
		__atomic_store_n(&t->queued, 0, __ATOMIC_RELEASE);
		spin_unlock_raw(&base->lock);
		t->fn(t);
		spin_lock_raw(&base->lock);
		__atomic_store_n(&base->running, NULL, __ATOMIC_RELEASE);
	}
	spin_unlock_raw(&base->lock);
}

/* ------------------------------------------------------------------------ tick */

/* The first grid point of this CPU after @now. */
static u64 next_tick(u64 now)
{
	u64 len = tick_ns;
	u64 phase = (len * cpu_index() / cpus_present + options.seed * 7919 * NSEC_PER_USEC) % len;

	return now < phase ? phase : phase + ((now - phase) / len + 1) * len;
}

/*
 * Deterministic runs: the emulator's turns end at timer deadlines, and with a bad alternation of them one CPU always finds its
 * turn used up (seen with 2 CPUs: for ever). A CPU whose timer is overdue by ticks, that has been in its handler for ticks (there it
 * waits for a lock, and each pause ends its turn), or that still has to reschedule, is such a one: end our turn early for it.
 */
static void let_late_cpu_run(u64 now)
{
	for (unsigned cpu = 0; cpu < cpus_present; cpu++) {
		const struct timer_base *base = cpus[cpu]->timer_base;
		u64 due = base ? min(READ_ONCE(base->armed), READ_ONCE(base->handling)) : ~0ull;

		if (cpu == cpu_index())
			continue;
		if ((due < now && now - due > 2 * tick_ns) || READ_ONCE(cpus[cpu]->need_resched)) {
			spin_wait();
			return;
		}
	}
}

void time_interrupt(void)
{
	struct timer_base *base = this_base();
	u64 now = machine_now();

	WRITE_ONCE(base->handling, now);
	base->armed = ~0ull; /* the device is one-shot */
	run_timers(base, now);
	if (base->tick_on && now >= base->tick_due) {
		u64 len = tick_ns;

		base->tick_due += len;
		if (unlikely(base->tick_due <= now || base->tick_due > now + len))
			base->tick_due =
				next_tick(now); /* late by more than a tick, or a new length */
		sched_tick(now);
		task_tick();
	}
	arm_next(base);
	WRITE_ONCE(base->handling, ~0ull);
	if (unlikely(arch_sliced()))
		let_late_cpu_run(now);
}

void machine_tick(bool on)
{
	struct timer_base *base = this_base();

	if (on && !base->tick_on) {
		base->tick_due = next_tick(machine_now());
		if (base->tick_due < base->armed)
			arm(base, base->tick_due);
	}
	base->tick_on = on;
}

/* Each CPU goes over to the new grid at its next tick. */
void machine_set_hz(unsigned hz)
{
	tick_ns = NSEC_PER_SEC / hz;
}

void timer_init_cpu(void)
{
	struct cpu *c = this_cpu();
	struct timer_base *base = c->index ? kzalloc(sizeof(*base)) : &boot_base;

	if (!base)
		panic("no memory for the timers of CPU %u", c->index);
	spin_init(&base->lock, "timer", LOCK_TIMER);
	base->armed = base->handling = ~0ull;
	c->timer_base = base;
}

/* ------------------------------------------------------------------ wall clock */

#define CMOS_INDEX   0x70
#define CMOS_DATA    0x71
#define RTC_UPDATING 0x80
#define RTC_BINARY   4
#define RTC_24H	     2
/* Deterministic runs start on this day, whatever the host says: 2026-01-01 00:00:00 UTC. */
#define DET_EPOCH_S 1767225600ull

static u8 cmos(u8 index)
{
	outb(CMOS_INDEX, index);
	return inb(CMOS_DATA);
}

static unsigned from_bcd(u8 v, bool binary)
{
	return binary ? v : (v >> 4) * 10u + (v & 15u);
}

/* Days from 1970-01-01 to a date of the Gregorian calendar. */
static u64 days_since_1970(unsigned y, unsigned m, unsigned d)
{
	/* Years that begin in March: the leap day is the last of its year. */
	unsigned era, yoe, doy;

	y -= m <= 2;
	era = y / 400;
	yoe = y - era * 400;
	doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
	return (u64)era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

void wall_clock_init(void)
{
	static const u8 index[6] = {0, 2, 4, 7, 8, 9}; /* s, min, h, day, month, year */
	u8 raw[6], again[6], mode;
	unsigned v[6];
	bool binary, pm;
	u64 now;

	if (options.det) {
		wall_clock_base = DET_EPOCH_S * NSEC_PER_SEC;
		return;
	}
	/* Two equal readings in a row: no update in between. */
	for (unsigned tries = 0, same = 0; !same && tries < 100; tries++) {
		for (unsigned i = 0; i < 6; i++)
			raw[i] = cmos(index[i]);
		same = !(cmos(10) & RTC_UPDATING);
		for (unsigned i = 0; i < 6; i++) {
			again[i] = cmos(index[i]);
			same &= again[i] == raw[i];
		}
	}
	now = machine_now();
	mode = cmos(11);
	binary = mode & RTC_BINARY;
	pm = !(mode & RTC_24H) && (raw[2] & 0x80);
	raw[2] &= mode & RTC_24H ? 0xff : 0x7f;
	for (unsigned i = 0; i < 6; i++)
		v[i] = from_bcd(raw[i], binary);
	if (!(mode & RTC_24H))
		v[2] = v[2] % 12 + (pm ? 12 : 0);
	wall_clock_base =
		(days_since_1970(2000 + v[5], v[4], v[3]) * 86400 + v[2] * 3600 + v[1] * 60 +
		 v[0]) * NSEC_PER_SEC -
		now;
}

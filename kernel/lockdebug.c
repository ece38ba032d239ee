/* SPDX-License-Identifier: MIT
 *
 * Checks of every spin lock in a debug build: taken in rank order, not twice, not both in interrupts and with interrupts on,
 * not held or waited for too long. A broken rule is a panic: in a debug build it must not be missed.
 *
 * What a CPU holds belongs to the CPU, not the task: locks are held across a switch only as the run-queue lock is, which the
 * next task on the same CPU releases.
 */
#ifdef DEBUG
#include <arch/io.h>
#include <arch/smp.h>
#include <arch/spinlock.h>

#include "log.h"
#include "sched/machine.h"

#define MAX_HELD 16
/* Far above what a host that takes a virtual CPU away for a while causes. */
#define HELD_TOO_LONG	(5 * NSEC_PER_SEC)
#define WAITED_TOO_LONG (30 * NSEC_PER_SEC)

struct lock_held {
	unsigned n;
	spinlock_t *locks[MAX_HELD]; /* in the order they were taken */
};

/* Each CPU its own; interrupts that take locks leave them balanced. */
static struct lock_held held[MAX_CPUS];

static struct lock_held *this_held(void)
{
	struct cpu *c = this_cpu();

	c->held = &held[c->index];
	return c->held;
}

static const char *lock_name(const spinlock_t *l)
{
	return l->name ? l->name : "(unnamed)";
}

void lock_debug_acquire(spinlock_t *l)
{
	u64 flags = irq_save();
	struct lock_held *h = this_held();

	if (!log_panicking()) {
		if (l->locked && l->owner == this_cpu()->index + 1)
			panic("lock \"%s\": taken twice by CPU %u", lock_name(l),
			      this_cpu()->index);
		for (unsigned i = 0; i < h->n && l->rank; i++) {
			spinlock_t *o = h->locks[i];

			if (o->rank < l->rank || !o->rank ||
			    (l->rank == LOCK_RUNQ && o->rank == LOCK_RUNQ && o < l))
				continue;
			panic("lock order: \"%s\" (rank %u) wanted while \"%s\" (rank %u) is held",
			      lock_name(l), l->rank, lock_name(o), o->rank);
		}
	}
	irq_restore(flags);
}

void lock_debug_acquired(spinlock_t *l)
{
	bool irqs = irqs_enabled();
	u64 flags = irq_save();
	struct lock_held *h = this_held();

	l->owner = (u16)(this_cpu()->index + 1);
	l->since = rdtsc();
	if (in_interrupt())
		l->irq_use |= 1;
	else if (irqs)
		l->irq_use |= 2;
	if (l->irq_use == 3 && l->rank && !log_panicking())
		panic("lock \"%s\": taken in interrupts and also with interrupts on", lock_name(l));
	if (h->n == MAX_HELD)
		panic("more than %u locks held", MAX_HELD);
	h->locks[h->n++] = l;
	irq_restore(flags);
}

void lock_debug_release(spinlock_t *l)
{
	u64 flags = irq_save(), ns;
	struct lock_held *h = this_held();
	unsigned i = h->n;

	while (i && h->locks[i - 1] != l)
		i--;
	if (!i || !l->locked) {
		if (!log_panicking())
			panic("lock \"%s\": released by CPU %u, held by CPU %d", lock_name(l),
			      this_cpu()->index, l->locked ? l->owner - 1 : -1);
		irq_restore(flags);
		return;
	}
	for (h->n--; i <= h->n; i++)
		h->locks[i - 1] = h->locks[i];
	l->owner = 0;
	ns = machine_tsc_to_ns(rdtsc() - l->since);
	irq_restore(flags);
	if (ns > HELD_TOO_LONG && l->rank != LOCK_LOG && !log_panicking())
		klog("lock \"%s\": held for %llu ms", lock_name(l),
		     (unsigned long long)(ns / NSEC_PER_MSEC));
}

void lock_debug_spin(spinlock_t *l, u64 *spins)
{
	u64 now;

	if (++*spins & 0xfff)
		return;
	/* The time of the first look is kept in the upper half. */
	now = machine_now();
	if (!(*spins >> 32))
		*spins |= (now / NSEC_PER_MSEC + 1) << 32;
	else if (now / NSEC_PER_MSEC > (*spins >> 32) + WAITED_TOO_LONG / NSEC_PER_MSEC &&
		 !log_panicking())
		panic("lock \"%s\": CPU %u waited %u s, held by CPU %d: deadlock?", lock_name(l),
		      this_cpu()->index, (unsigned)(WAITED_TOO_LONG / NSEC_PER_SEC), l->owner - 1);
}
#else
typedef int lockdebug_empty_unit;
#endif

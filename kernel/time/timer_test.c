/* SPDX-License-Identifier: MIT
 *
 * Self-tests of clock, timers and tick. Limits on lateness are generous: without an instruction clock the host decides.
 */
#include "time/timer.h"

#include "sched/sched.h"
#include "selftest/selftest.h"

#define NR_TIMERS 64

static struct {
	struct timer timers[NR_TIMERS];
	u64 fired_at[NR_TIMERS];
	u32 order[NR_TIMERS];
	u32 nr_fired;
} many;

static void many_fired(struct timer *t)
{
	u32 i = (u32)(t - many.timers), n = __atomic_fetch_add(&many.nr_fired, 1, __ATOMIC_SEQ_CST);

	many.fired_at[i] = machine_now();
	if (n < NR_TIMERS)
		many.order[n] = i;
}

static bool wait_for(const u32 *counter, u32 value)
{
	for (unsigned ms = 0; ms < 10000; ms++) {
		if (__atomic_load_n(counter, __ATOMIC_SEQ_CST) >= value)
			return true;
		selftest_sleep_ns(NSEC_PER_MSEC);
	}
	return false;
}

/* All on one CPU, started in mixed order: none is early, none is lost, none is twice, and they come in order. */
SELFTEST(timer_order)
{
	u64 start, when[NR_TIMERS], irq;

	many.nr_fired = 0;
	/* None fires before all are set, however long the host keeps this CPU from running. */
	irq = irq_save();
	start = machine_now() + 5 * NSEC_PER_MSEC;
	for (u32 i = 0; i < NR_TIMERS; i++) {
		when[i] = start + (i * 37 % NR_TIMERS) * 100 * NSEC_PER_USEC;
		timer_init(&many.timers[i], many_fired);
		timer_start(&many.timers[i], when[i]);
	}
	irq_restore(irq);
	if (!EXPECT(wait_for(&many.nr_fired, NR_TIMERS)))
		return;
	selftest_sleep_ns(2 * NSEC_PER_MSEC);
	EXPECT_EQ(many.nr_fired, NR_TIMERS);
	for (u32 n = 0; n < NR_TIMERS; n++) {
		u32 i = many.order[n];

		EXPECT(many.fired_at[i] >= when[i]);
		if (n)
			EXPECT(when[many.order[n - 1]] < when[i]);
		EXPECT(!many.timers[i].queued);
	}
}

/* Cancelled ones do not fire, their neighbours in the heap do; a restarted one fires once, at its new time. */
SELFTEST(timer_cancel_restart)
{
	u64 start = machine_now() + 20 * NSEC_PER_MSEC, moved = start + 30 * NSEC_PER_MSEC;

	many.nr_fired = 0;
	for (u32 i = 0; i < NR_TIMERS; i++) {
		many.fired_at[i] = 0;
		timer_init(&many.timers[i], many_fired);
		timer_start(&many.timers[i], start + i * NSEC_PER_USEC);
	}
	for (u32 i = 0; i < NR_TIMERS; i += 2)
		if (i % 4 == 0)
			EXPECT(timer_cancel(&many.timers[i]));
		else
			timer_start(&many.timers[i], moved);
	for (u32 i = 0; i < NR_TIMERS; i += 4)
		EXPECT(!timer_cancel(&many.timers[i]));
	EXPECT(wait_for(&many.nr_fired, NR_TIMERS * 3 / 4));
	selftest_sleep_ns(5 * NSEC_PER_MSEC);
	EXPECT_EQ(many.nr_fired, NR_TIMERS * 3 / 4);
	for (u32 i = 0; i < NR_TIMERS; i++) {
		if (i % 4 == 0)
			EXPECT_EQ(many.fired_at[i], 0);
		else
			EXPECT(many.fired_at[i] >= (i % 2 ? start : moved));
	}
}

struct repeater {
	struct timer timer;
	u32 count;
};

static void repeat(struct timer *t)
{
	struct repeater *r = (struct repeater *)t;

	__atomic_fetch_add(&r->count, 1, __ATOMIC_SEQ_CST);
	timer_start(t, machine_now() + 50 * NSEC_PER_USEC);
}

/* A timer that starts itself again: after timer_cancel() it is dead, however often one tries. */
SELFTEST(timer_cancel_of_repeating)
{
	static struct repeater r;

	for (unsigned i = 0; i < 50; i++) {
		u32 count;

		r.count = 0;
		timer_init(&r.timer, repeat);
		timer_start(&r.timer, machine_now());
		EXPECT(wait_for(&r.count, 2));
		/* It may have been started again between the cancel's look and the end of its function. */
		while (timer_cancel(&r.timer))
			;
		count = r.count;
		selftest_sleep_ns(300 * NSEC_PER_USEC);
		EXPECT_EQ(r.count, count);
	}
}

struct clock_seen {
	u64 last; /* highest time any CPU has published */
	u32 backwards;
	volatile u32 stop;
};

static void clock_reader(void *arg)
{
	struct clock_seen *s = arg;
	u64 end = machine_now() + 100 * NSEC_PER_MSEC;

	while (machine_now() < end) {
		u64 seen = __atomic_load_n(&s->last, __ATOMIC_SEQ_CST), now = machine_now();

		if (now < seen)
			__atomic_fetch_add(&s->backwards, 1, __ATOMIC_RELAXED);
		while (seen < now &&
		       !__atomic_compare_exchange_n(&s->last, &seen, now, false, __ATOMIC_SEQ_CST,
						    __ATOMIC_SEQ_CST))
			;
		cpu_relax();
	}
}

/* What one CPU has read from the clock is never in the future of another. */
SELFTEST(clock_agrees_between_cpus)
{
	static struct clock_seen s;
	struct task *t[4];
	unsigned n = min(machine_cpus_present(), 4u);

	s = (struct clock_seen){0};
	for (unsigned i = 0; i < n; i++)
		t[i] = selftest_spawn(clock_reader, &s, "clock");
	for (unsigned i = 0; i < n; i++)
		if (EXPECT(t[i]))
			selftest_join(t[i]);
	EXPECT_EQ(s.backwards, 0);
}

/* A sleep is never short. */
SELFTEST(clock_sleep_not_short)
{
	for (u64 ns = 1000; ns <= 10 * NSEC_PER_MSEC; ns *= 10) {
		u64 start = machine_now();

		selftest_sleep_ns(ns);
		EXPECT(machine_now() - start >= ns);
	}
}

static u64 ticks_of(unsigned cpu)
{
	struct sched_cpu_stats st;

	sched_cpu_stats(cpu, &st);
	return st.ticks;
}

/*
 * Ticks are on a grid: n of them take at least n - 1 periods, and a busy CPU goes on getting them. (How late they may be only
 * the host knows: ten seconds for 20 of them is no figure, it is a time-out.)
 */
SELFTEST(tick_rate)
{
	u64 first, ticks, start, ns, limit;
	unsigned cpu;

	preempt_disable();
	cpu = cpu_index();
	first = ticks_of(cpu);
	start = machine_now();
	limit = start + 10 * NSEC_PER_SEC;
	do
		cpu_relax();
	while ((ticks = ticks_of(cpu) - first) < 20 && machine_now() < limit);
	ns = machine_now() - start;
	preempt_enable();
	EXPECT(ticks >= 20);
	EXPECT(ns >= (ticks - 1) * (NSEC_PER_SEC / sched_hz));
	selftest_note("%llu ticks in %llu us", (unsigned long long)ticks,
		      (unsigned long long)ns / 1000);
}

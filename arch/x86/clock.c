/* SPDX-License-Identifier: MIT
 *
 * Time: the nanosecond clock (TSC), the local timer, both calibrated against the PIT, and the PIT itself as the slicer of
 * deterministic runs.
 *
 * Calibration reads all three counters within a narrow bracket of two TSC reads, at the start and at the end of some 10 ms, so
 * that neither interrupt latency nor a CPU that was not running in between matters. A coarse measurement just before must
 * agree, or it is all done again: the PIT wraps after 55 ms, and an emulated CPU can be away for longer.
 */
#include "sched/machine.h"
#include "time/timer.h"

#include "internal.h"
#include "log.h"

#define PIT_HZ	    1193182u
#define PIT_CH0	    0x40
#define PIT_CH2	    0x42
#define PIT_COMMAND 0x43
#define PIT_GATE    0x61 /* bit 0: gate of channel 2, bit 1: speaker */

#define CALIBRATION_TICKS 11932u /* 10 ms of the PIT */
#define COARSE_TICKS	  120u	 /* 100 us */

u64 tsc_base;	       /* TSC at entry into the kernel */
u64 tsc_mult;	       /* ns per TSC cycle, 32.32; 0 before calibration */
static u64 lapic_mult; /* timer counts per ns, 32.32 */
static bool nop_wait, slicer;
static u64 slicer_seed;

u64 machine_tsc_to_ns(u64 cycles)
{
	return (u64)(((unsigned __int128)cycles * tsc_mult) >> 32);
}

void arch_timer_set(u64 when)
{
	u64 now, count;

	if (when == ~0ull) {
		lapic_timer_count(0);
		return;
	}
	now = machine_now();
	/* Far deadlines are cut (4 s at 1 GHz): the handler finds nothing due and sets the timer again. */
	count = when > now ? (u64)(((unsigned __int128)(when - now) * lapic_mult) >> 32) : 0;
	lapic_timer_count(count > 0xffffffff ? 0xffffffff : count ? (u32)count : 1);
}

void arch_configure(bool det, bool wait_by_nops, u64 seed)
{
	slicer = det;
	nop_wait = wait_by_nops;
	slicer_seed = seed;
}

bool arch_sliced(void)
{
	return slicer;
}

bool arch_waits_by_nops(void)
{
	return nop_wait;
}

/* ---------------------------------------------------------------- waiting */

void start_up_wait(u64 ns)
{
	u64 until = machine_now() + ns, flags = irq_save();

	while (machine_now() < until) {
		if (nop_wait) {
			machine_idle_nops();
			continue;
		}
		lapic_timer_start(VEC_WAKE, (u32)(((until - machine_now()) * lapic_mult) >> 32) + 1,
				  false);
		machine_idle_halt();
		irq_disable();
	}
	lapic_timer_start(VEC_TIMER, 0, false);
	irq_restore(flags);
}

void delay_poll(u64 ns)
{
	u64 until = machine_now() + ns;

	while (machine_now() < until)
		spin_wait();
}

/* ------------------------------------------------------------ calibration */

struct sample {
	u64 tsc, width; /* middle and width of the bracket */
	u32 lapic;
	u16 pit;
};

static u16 pit_read(void)
{
	u8 low;

	outb(PIT_COMMAND, 0x80);
	low = inb(PIT_CH2);
	return (u16)(low | inb(PIT_CH2) << 8);
}

static struct sample take_sample(void)
{
	struct sample best = {.width = ~0ull};

	for (unsigned i = 0; i < 6; i++) {
		struct sample s;
		u64 start = rdtsc(), end;
		u8 low;

		outb(PIT_COMMAND, 0x80); /* latch */
		s.lapic = lapic_timer_current();
		end = rdtsc();
		low = inb(PIT_CH2);
		s.pit = (u16)(low | inb(PIT_CH2) << 8);
		s.width = end - start;
		s.tsc = start + s.width / 2;
		if (s.width < best.width)
			best = s;
	}
	return best;
}

static u16 pit_elapsed(const struct sample *from, u16 now)
{
	return (u16)(from->pit - now); /* it counts down, modulo 65536 */
}

/* A frequency is most plausibly a whole number of MHz if one lies within @error of what was measured. */
static u64 round_mhz(u64 hz, u64 error)
{
	u64 mhz = (hz + 500000) / 1000000 * 1000000;
	u64 off = mhz > hz ? mhz - hz : hz - mhz;

	return mhz && off <= error ? mhz : hz;
}

/* One measurement. Return: whether it is to be trusted. */
static bool calibrate(u64 *tsc_hz, u64 *lapic_hz)
{
	struct sample a, b;
	u64 tsc_coarse, lapic_coarse, ticks, tsc, error, periods, lapic;
	u32 period;

	outb(PIT_GATE, (inb(PIT_GATE) & ~2) | 1);
	outb(PIT_COMMAND, 0xb4); /* channel 2, rate generator, 65536 */
	outb(PIT_CH2, 0);
	outb(PIT_CH2, 0);
	lapic_timer_start(VEC_WAKE, ~0u, false);

	a = take_sample();
	while (pit_elapsed(&a, pit_read()) < COARSE_TICKS)
		__asm__ volatile("pause");
	b = take_sample();
	ticks = pit_elapsed(&a, b.pit);
	if (!ticks || a.lapic <= b.lapic)
		return false;
	tsc_coarse = (b.tsc - a.tsc) * PIT_HZ / ticks;
	lapic_coarse = (u64)(a.lapic - b.lapic) * PIT_HZ / ticks;

	/* The local timer, periodic, ends the HLT and goes on counting. */
	period = (u32)(lapic_coarse / 95); /* 10.5 ms */
	if (!period)
		return false;
	lapic_timer_start(VEC_WAKE, period, true);
	a = take_sample();
	while (pit_elapsed(&a, pit_read()) < CALIBRATION_TICKS) {
		if (nop_wait) {
			for (unsigned i = 0; i < 64; i++)
				machine_idle_nops();
		} else {
			machine_idle_halt();
			irq_disable();
		}
	}
	b = take_sample();
	lapic_timer_start(VEC_WAKE, 0, false);

	ticks = pit_elapsed(&a, b.pit);
	tsc = b.tsc - a.tsc;
	*tsc_hz = tsc * PIT_HZ / ticks;
	/* How often did the timer start over? The coarse frequency says it to well within half a period. */
	lapic = tsc * lapic_coarse / tsc_coarse;
	periods = (lapic + b.lapic + period / 2 - a.lapic) / period;
	lapic = periods * period + a.lapic - b.lapic;
	*lapic_hz = lapic * PIT_HZ / ticks;

	if (*tsc_hz > tsc_coarse + tsc_coarse / 20 || *tsc_hz < tsc_coarse - tsc_coarse / 20 ||
	    (a.width + b.width) > tsc / 500)
		return false;
	/* One PIT tick at each end, and half of each bracket. */
	error = *tsc_hz / (ticks / 2) + *tsc_hz / (2 * tsc / (a.width + b.width + 1) + 1);
	*lapic_hz = round_mhz(*lapic_hz, error * (*lapic_hz >> 10) / (*tsc_hz >> 10));
	*tsc_hz = round_mhz(*tsc_hz, error);
	return true;
}

/*
 * An emulator that runs all CPUs in turn on one host thread ends a CPU's turn at the next deadline of any virtual timer: the
 * PIT at about 10 kHz, its interrupt masked, bounds the turns without the kernel noticing. Another seed, another period and
 * phase: another interleaving, as repeatable.
 */
static void slicer_start(void)
{
	u64 mix = slicer_seed * 0x9e3779b97f4a7c15ull;
	unsigned divisor = 119;

	if (slicer_seed) {
		divisor = 97 + (unsigned)(mix >> 40) % 45;
		for (unsigned i = (unsigned)(mix >> 20) % 32; i; i--)
			machine_idle_nops();
	}
	outb(PIT_COMMAND, 0x34); /* channel 0, rate generator */
	outb(PIT_CH0, (u8)divisor);
	outb(PIT_CH0, (u8)(divisor >> 8));
	klog("clock: slicer at %u Hz, seed %llu", PIT_HZ / divisor,
	     (unsigned long long)slicer_seed);
}

void clock_start(void)
{
	tsc_base = rdtsc();
}

void arch_clock_init(void)
{
	u64 tsc_hz = 0, lapic_hz = 0, flags = irq_save();
	unsigned tries = 0;

	while (!calibrate(&tsc_hz, &lapic_hz) && ++tries < 10)
		;
	outb(PIT_GATE, inb(PIT_GATE) & ~3);
	if (tsc_hz < 1000000 || lapic_hz < 100000)
		panic("the clocks cannot be calibrated: TSC %llu Hz, local timer %llu Hz",
		      (unsigned long long)tsc_hz, (unsigned long long)lapic_hz);
	if (tries == 10)
		klog("clock: calibration is uncertain, the host is too busy");
	lapic_mult = (lapic_hz << 32) / NSEC_PER_SEC;
	tsc_mult = (NSEC_PER_SEC << 32) / tsc_hz;
	lapic_timer_start(VEC_TIMER, 0, false);
	klog("clock: TSC %llu.%03llu MHz, local timer %llu.%03llu MHz",
	     (unsigned long long)tsc_hz / 1000000, (unsigned long long)tsc_hz / 1000 % 1000,
	     (unsigned long long)lapic_hz / 1000000, (unsigned long long)lapic_hz / 1000 % 1000);
	if (slicer)
		slicer_start();
	irq_restore(flags);
}

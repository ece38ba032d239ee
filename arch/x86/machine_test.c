/* SPDX-License-Identifier: MIT
 *
 * Self-tests of what arch/x86 promises: stopping the other CPUs, interrupts between CPUs, random numbers, the memory
 * protection that the CPU has.
 */
#include "mm/mm.h"
#include "sched/sched.h"
#include "selftest/selftest.h"

#include "internal.h"

static volatile u64 counters[MAX_CPUS];
static volatile bool midway[MAX_CPUS]; /* that CPU is where it may not be preempted */
static volatile u32 counting;

static void counter_task(void *arg)
{
	while (counting) {
		preempt_disable();
		midway[cpu_index()] = true;
		counters[cpu_index()]++;
		for (unsigned i = 0; i < 20; i++)
			__asm__ volatile("pause");
		midway[cpu_index()] = false;
		preempt_enable();
		cpu_relax();
	}
}

struct stop_check {
	u64 before[MAX_CPUS];
	u32 moved, not_alone, midway;
};

static u32 inside;

static void while_stopped(void *arg)
{
	struct stop_check *s = arg;
	u64 end;

	if (__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST))
		s->not_alone++;
	for (unsigned i = 0; i < cpus_present; i++) {
		s->before[i] = counters[i];
		s->midway += midway[i];
	}
	end = machine_now() + 200 * NSEC_PER_USEC;
	while (machine_now() < end)
		__asm__ volatile("pause");
	for (unsigned i = 0; i < cpus_present; i++)
		s->moved += counters[i] != s->before[i];
	__atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
}

static void stopper(void *arg)
{
	struct stop_check *s = arg;

	for (unsigned i = 0; i < 20; i++) {
		machine_stop_others(while_stopped, s);
		selftest_sleep_ns(100 * NSEC_PER_USEC);
	}
}

/* Two tasks stop the machine again and again while others count: nobody counts meanwhile, nobody is caught where preemption is off, nobody hangs. */
SELFTEST(machine_stop_others)
{
	static struct stop_check checks[2];
	struct task *workers[4], *stoppers[2];
	unsigned n = min(cpus_present, 4u);

	counting = 1;
	for (unsigned i = 0; i < n; i++)
		workers[i] = selftest_spawn(counter_task, NULL, "counter");
	for (unsigned i = 0; i < 2; i++) {
		checks[i] = (struct stop_check){.moved = 0};
		stoppers[i] = selftest_spawn(stopper, &checks[i], "stopper");
	}
	for (unsigned i = 0; i < 2; i++) {
		if (EXPECT(stoppers[i]))
			selftest_join(stoppers[i]);
		EXPECT_EQ(checks[i].moved, 0);
		EXPECT_EQ(checks[i].not_alone, 0);
		EXPECT_EQ(checks[i].midway, 0);
	}
	counting = 0;
	for (unsigned i = 0; i < n; i++)
		if (EXPECT(workers[i]))
			selftest_join(workers[i]);
}

/* Every CPU the tables list (or smp= allows) runs, and takes an interrupt when asked to. */
SELFTEST(every_cpu_answers_ipi)
{
	EXPECT_EQ(cpus_online, cpus_present);
	for (unsigned i = 0; i < cpus_present; i++) {
		u64 before = READ_ONCE(cpus[i]->ipi_count), end = machine_now() + 10 * NSEC_PER_SEC;

		preempt_disable();
		if (i == cpu_index()) {
			preempt_enable();
			continue;
		}
		arch_send_ipi(i, VEC_RESCHED);
		preempt_enable();
		while (READ_ONCE(cpus[i]->ipi_count) == before && machine_now() < end)
			cpu_relax();
		if (!EXPECT(READ_ONCE(cpus[i]->ipi_count) != before))
			selftest_note("CPU %u (APIC id %u) took no interrupt", i, cpus[i]->apic_id);
	}
}

SELFTEST(machine_random)
{
	u64 ones[64] = {0};

	for (unsigned n = 0; n < 4096; n++) {
		u64 r = machine_random();

		for (unsigned bit = 0; bit < 64; bit++)
			ones[bit] += r >> bit & 1;
	}
	/* Mean 2048, standard deviation 32. */
	for (unsigned bit = 0; bit < 64; bit++)
		EXPECT(ones[bit] > 1800 && ones[bit] < 2296);
}

/* Every protection that this CPU has is on. */
SELFTEST(control_registers)
{
	u64 cr0, cr4;
	u32 a, b = 0, c = 0, d;

	__asm__ volatile("movq %%cr0, %0\n\tmovq %%cr4, %1" : "=r"(cr0), "=r"(cr4));
	EXPECT(cr0 & CR0_WP);
	cpuid(0, 0, &a, &b, &c, &d);
	if (a >= 7) {
		cpuid(7, 0, &a, &b, &c, &d);
		EXPECT_EQ(!!(cr4 & CR4_SMEP), b >> 7 & 1);
		EXPECT_EQ(!!(cr4 & CR4_SMAP), b >> 20 & 1);
		EXPECT_EQ(!!(cr4 & CR4_UMIP), c >> 2 & 1);
	}
	EXPECT(!(cr4 & (1ull << 18))); /* OSXSAVE: FXSAVE is all that is switched */
}

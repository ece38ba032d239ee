/* SPDX-License-Identifier: MIT
 *
 * The rest of what the scheduler asks of its machine (kernel/sched/machine.h): waiting, stopping the other CPUs, random
 * numbers, memory. The clock is in clock.c, IPIs in apic.c, the idle nops in entry.asm.
 */
#include "sched/machine.h"

#include "mm/mm.h"

#include "internal.h"
#include "log.h"

void spin_wait(void)
{
	u64 requested, done;

	__asm__ volatile("pause" ::: "memory");
	/*
	 * Whoever we wait for may wait for us to flush our TLB. (If we may be preempted the two loads can be of two CPUs; that
	 * flushes once for nothing.)
	 */
	__asm__ volatile("movq %%gs:%c1, %0"
			 : "=r"(requested)
			 : "i"(offsetof(struct cpu, tlb_requested)));
	__asm__ volatile("movq %%gs:%c1, %0" : "=r"(done) : "i"(offsetof(struct cpu, tlb_done)));
	if (unlikely(requested != done)) {
		u64 flags = irq_save();

		mm_shootdown_ipi();
		irq_restore(flags);
	}
}

void spin_lock_slow(spinlock_t *l)
{
#ifdef DEBUG
	u64 spins = 0;
#endif

	do {
		do {
			spin_wait();
#ifdef DEBUG
			lock_debug_spin(l, &spins);
#endif
		} while (l->locked);
	} while (bit0_test_and_set(&l->locked));
}

void machine_idle_halt(void)
{
	/* STI lets one more instruction through before an interrupt: none is taken between the look and the HLT. */
	__asm__ volatile("sti\n\thlt" ::: "memory");
}

void arch_halt_forever(void)
{
	for (;;)
		__asm__ volatile("cli\n\thlt");
}

/* ---------------------------------------------------------- stopping others */

/*
 * A CPU may be stopped only where it holds no spin lock: with preemption count 0, in an interrupt or at a stop point. If the interrupt
 * found another count, the CPU goes on, told to reschedule: that leads it past a stop point; and it is asked again. So the function
 * that runs meanwhile finds every lock free and every structure whole.
 *
 * Without the stop points a CPU that switches all the time would hardly ever be caught: what waited while it had interrupts off is
 * taken at the end of the switch, where the count is 1.
 */
static u32 stop_busy;
static u64 stop_counter;	  /* under stop_busy */
static volatile u64 stop_request; /* number of the stop under way, 0 = none */
static u32 stop_acks;

void stop_ipi(void)
{
	struct cpu *c = this_cpu();
	u64 request = stop_request;

	if (!request || c->arch->stop_generation == request)
		return;
	if (c->preempt_count) {
		c->need_resched = 1;
		return;
	}
	c->arch->stop_generation = request;
	__atomic_fetch_add(&stop_acks, 1, __ATOMIC_SEQ_CST);
	while (stop_request == request)
		spin_wait();
}

void machine_stop_point(void)
{
	u64 flags = irq_save();

	stop_ipi();
	irq_restore(flags);
}

void machine_stop_others(void (*fn)(void *), void *arg)
{
	u64 request, flags;
	unsigned self;

	/*
	 * Wait preemptibly, so that a stop by another CPU can stop us here; but whoever has the flag is not preempted, or a better task
	 * on the same CPU would wait for it for ever.
	 */
	for (;;) {
		preempt_disable();
		if (!__atomic_exchange_n(&stop_busy, 1, __ATOMIC_ACQUIRE))
			break;
		preempt_enable();
		spin_wait();
	}
	self = cpu_index();
	request = ++stop_counter;
	__atomic_store_n(&stop_acks, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&stop_request, request, __ATOMIC_SEQ_CST);
	for (;;) {
		u64 again = machine_now() + 100 * NSEC_PER_USEC;
		unsigned missing = 0;

		for (unsigned i = 0; i < cpus_present; i++) {
			if (i == self || !cpus[i]->online ||
			    cpus[i]->arch->stop_generation == request)
				continue;
			missing++;
			arch_send_ipi(i, VEC_STOP);
		}
		if (!missing)
			break;
		missing += __atomic_load_n(&stop_acks, __ATOMIC_SEQ_CST);
		while (__atomic_load_n(&stop_acks, __ATOMIC_SEQ_CST) < missing &&
		       machine_now() < again)
			spin_wait();
	}
	flags = irq_save();
	fn(arg);
	__atomic_store_n(&stop_request, 0, __ATOMIC_SEQ_CST);
	irq_restore(flags);
	__atomic_store_n(&stop_busy, 0, __ATOMIC_RELEASE);
	preempt_enable();
}

/* ------------------------------------------------------------- random numbers */

static u64 random_state;

void machine_seed(u64 seed)
{
	random_state = seed;
}

/* splitmix64: the state is a counter, so that CPUs share it with one atomic addition. */
u64 machine_random(void)
{
	u64 z = __atomic_add_fetch(&random_state, 0x9e3779b97f4a7c15ull, __ATOMIC_RELAXED);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

/* -------------------------------------------------------------- memory, messages */

void *machine_alloc(size_t size)
{
	return kzalloc(size);
}

void machine_free(void *p, size_t size)
{
	kfree(p, size);
}

void machine_log(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	klogv(fmt, ap);
	va_end(ap);
}

void machine_bug(const char *fmt, ...)
{
	char text[160];
	va_list ap;

	va_start(ap, fmt);
	kvsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	panic("%s", text);
}

const struct regs *arch_stopped_regs(unsigned index)
{
	struct cpu *c = index < cpus_present ? cpus[index] : NULL;

	return c && c->arch->stopped ? &c->arch->stop_regs : NULL;
}

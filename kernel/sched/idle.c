/* SPDX-License-Identifier: MIT
 *
 * The idle task of each CPU: how it waits, when its tick stops, who wakes it for work that others could give away.
 *
 * A CPU's tick stops when a tick finds the CPU idle and no queue of the machine with two or more tasks; it starts again
 * when the CPU leaves idle, or when idle_kick() of a busy CPU's tick tells it that there is work to pull.
 */
#include "sched/internal.h"

#include "lib/errno.h"
#include "lib/string.h"

enum sched_idle_mode sched_idle_mode = IDLE_HALT;

#define NOBODY	  (~0u)
#define NOP_TURNS 16 /* nop blocks (of 480 instructions) between two pauses */

/* CPUs whose current task is the idle task. Atomic. */
static u32 nr_idle __attribute__((aligned(64)));
/* idle=last: the CPU that runs nop blocks while all are idle, or NOBODY. Atomic. */
static u32 nop_cpu = NOBODY;
static u32 nr_started;
/* Idle CPUs without a tick. Atomic bits; nr_tickless is their number, a hint that saves the scan. */
static struct cpumask tickless;
static u32 nr_tickless;

void idle_reset(void)
{
	nr_idle = nr_started = nr_tickless = 0;
	nop_cpu = NOBODY;
	memset(&tickless, 0, sizeof(tickless));
}

int sched_set_idle_mode(const char *name)
{
	static const char *const names[] = {"halt", "last", "spin"};

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(name, names[i])) {
			sched_idle_mode = (enum sched_idle_mode)i;
			return 0;
		}
	}
	return -EINVAL;
}

static void tick_start(struct runq *rq)
{
	machine_tick(true);
	rq->tick_on = true;
	__atomic_fetch_and(&tickless.bits[rq->cpu / 64], ~(1ull << (rq->cpu % 64)),
			   __ATOMIC_SEQ_CST);
	__atomic_fetch_sub(&nr_tickless, 1, __ATOMIC_RELAXED);
}

void idle_switch_in(struct runq *rq)
{
	__atomic_fetch_add(&nr_idle, 1, __ATOMIC_SEQ_CST);
	rq->next_idle_balance = rq->jiffies + 1;
}

void idle_switch_out(struct runq *rq)
{
	__atomic_fetch_sub(&nr_idle, 1, __ATOMIC_SEQ_CST);
	/* The balancer's view of the others is as old as this idle period: the next tick refreshes it. */
	rq->histories_stale = 1;
	if (!rq->tick_on)
		tick_start(rq);
	if (unlikely(nop_cpu == rq->cpu))
		__atomic_store_n(&nop_cpu, NOBODY, __ATOMIC_SEQ_CST);
}

void idle_tick(struct runq *rq)
{
	if (sched_policy->idle_needs_tick || READ_ONCE(sched_overloaded) || rq->nr_running)
		return;
	/* A queue that grows from here on is seen by its own CPU's tick, which kicks us. */
	__atomic_fetch_or(&tickless.bits[rq->cpu / 64], 1ull << (rq->cpu % 64), __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&nr_tickless, 1, __ATOMIC_RELAXED);
	rq->tick_on = false;
	machine_tick(false);
}

void idle_kick(struct runq *rq, unsigned n)
{
	unsigned cpu;

	if (likely(!READ_ONCE(nr_tickless)))
		return;
	/*
	 * From the next CPU on, round: so that several overloaded CPUs do not all kick the same one. A flag and an IPI,
	 * no lock of theirs: need_resched only makes them look, and their look pulls. (They may have left idle; then they
	 * reschedule once for nothing.)
	 */
	cpu = cpumask_next(&tickless, rq->cpu + 1);
	for (unsigned turned = 0; n;) {
		if (cpu >= MAX_CPUS) {
			if (turned++)
				break;
			cpu = cpumask_first(&tickless);
			continue;
		}
		if (turned && cpu >= rq->cpu)
			break;
		if (!machine_need_resched(cpu)) {
			machine_set_need_resched(cpu);
			trace_ipi_send(TRACE_IPI_RESCHED, cpu);
			machine_send_resched(cpu);
			n--;
		}
		cpu = cpumask_next(&tickless, cpu + 1);
	}
}

/*
 * idle=last (determinism under an emulator's instruction clock): while all CPUs are idle, one of them runs nop blocks
 * instead of halting. It is claimed, and given back before halting, so that neither two nor none do it: whoever makes
 * nr_idle complete looks at nop_cpu afterwards, and the one that gives nop_cpu back looks at nr_idle afterwards.
 */
static bool last_idler(struct runq *rq)
{
	u32 nobody = NOBODY;

	if (__atomic_load_n(&nr_idle, __ATOMIC_SEQ_CST) !=
	    __atomic_load_n(&nr_started, __ATOMIC_RELAXED))
		return false;
	return nop_cpu == rq->cpu ||
	       __atomic_compare_exchange_n(&nop_cpu, &nobody, rq->cpu, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

void idle_wait(struct runq *rq)
{
	/* Kicked, but found nothing to pull this time: look again every tick. Or the policy is new and wants a tick. */
	if (unlikely(!rq->tick_on) &&
	    (READ_ONCE(sched_overloaded) || sched_policy->idle_needs_tick))
		tick_start(rq);

	if (sched_idle_mode == IDLE_SPIN) {
		irq_enable();
		while (!need_resched())
			machine_idle_nops();
		return;
	}
	if (sched_idle_mode == IDLE_LAST && last_idler(rq)) {
		irq_enable();
		/*
		 * The emulator gives the CPUs turns that end at timer deadlines. If ours always ends at one, the next CPU finds
		 * its turn used up before it begins, and one that has an interrupt to take never takes it: end a turn by
		 * ourselves now and then.
		 */
		for (unsigned turn = 1;
		     !need_resched() && READ_ONCE(nr_idle) == READ_ONCE(nr_started); turn++) {
			machine_idle_nops();
			if (turn % NOP_TURNS == 0)
				cpu_relax();
		}
		irq_disable();
		if (nop_cpu == rq->cpu)
			__atomic_store_n(&nop_cpu, NOBODY, __ATOMIC_SEQ_CST);
		irq_enable();
		return; /* the loop comes back: it claims again, or halts */
	}
	machine_idle_halt();
}

void sched_cpu_start(void)
{
	u64 irq = irq_save();
	struct runq *rq = machine_this_runq();

	machine_set_current(rq->idle);
	spin_lock_raw(rq->lock);
	rq_clock_update(rq, machine_now());
	rq->online_since = rq->idle->exec_start = rq->clock;
	rq->billed = rq->jiffies;
	rq->next_balance = rq->next_idle_balance = rq->jiffies;
	machine_tick(true);
	rq->tick_on = true;
	if (trace_on(TRACE_START))
		trace_start_cpu(rq);
	idle_switch_in(rq);
	__atomic_fetch_or(&sched_online.bits[rq->cpu / 64], 1ull << (rq->cpu % 64),
			  __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&nr_started, 1, __ATOMIC_SEQ_CST);
	spin_unlock_raw(rq->lock);
	if (rq->cpu == 0)
		sched_running = true;
	irq_restore(irq);
}

void sched_wait_online(unsigned n)
{
	while (__atomic_load_n(&nr_started, __ATOMIC_ACQUIRE) < n)
		cpu_relax();
}

void sched_idle_loop(void)
{
	struct runq *rq = machine_this_runq();

	sched_cpu_start();
	for (;;) {
		irq_disable();
		if (need_resched())
			schedule();
		else
			idle_wait(
				rq); /* interrupts stay off from the look to the halt: a wake-up between them is not lost */
	}
}

/* SPDX-License-Identifier: MIT
 *
 * Helpers of the unit tests of the O(1) family. Include after the policy's source.
 */
#ifndef HOST_FAMILY_H
#define HOST_FAMILY_H

#include "tests.h"

static inline struct task with_nice(int nice)
{
	struct task t = {.nice = (s16)nice, .lent_prio = NO_LENT_PRIO};

	return t;
}

static inline struct o1_runq *q_of(unsigned cpu)
{
	return sim_rq(cpu)->policy;
}

/* A machine of one CPU on which a task runs, a user task if @user. */
static inline struct task *one_running(unsigned hz, bool user)
{
	struct task *t;

	sim_start(1, hz);
	t = sim_spawn(0);
	t->address_space = user;
	sim_deliver(true);
	schedule();
	CHECK(current_task() == t);
	return t;
}

/* Let @ns pass without ticks. */
static inline void jump(u64 ns)
{
	sim_now += ns;
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		while (host_cpus[cpu].next_tick <= sim_now)
			host_cpus[cpu].next_tick += sched_tick_ns;
}

/* The current task sleeps @ns in @state and is woken by an interrupt or by its CPU's idle task; it runs again. */
static inline void sleep_ns(u64 ns, u32 state, bool irq)
{
	struct task *t = current_task();

	sim_block(state);
	jump(ns);
	if (irq) {
		irq_disable();
		host_cpus[host_cpu].in_irq = true;
	}
	CHECK(task_wake(t, state, 0));
	if (irq)
		sim_irq_exit(false);
	if (need_resched())
		schedule();
	CHECK(current_task() == t);
}

/* Put @t, queued, at @prio of @array. */
static inline void place(struct task *t, struct prio_array *array, int prio)
{
	array_del(t);
	t->prio = (s16)prio;
	array_add(array, t);
}

/* @n tasks on @cpu that may run anywhere, the first of them running. */
static inline void fill(unsigned cpu, unsigned n)
{
	unsigned back = host_cpu;
	struct cpumask all = {{0}};

	for (unsigned i = 0; i < host_ncpus; i++)
		cpumask_set(&all, i);
	sim_on(cpu);
	for (unsigned i = 0; i < n; i++)
		sched_set_affinity(sim_spawn((int)cpu), &all);
	if (need_resched())
		schedule();
	host_cpus[cpu].resched_due = ~0ull;
	sim_on(back);
}

/* One busy balancing pass of CPU 0 of two, whose histories are steady. Return: tasks pulled. */
static inline u64 busy_pass(void)
{
	struct runq *rq = sim_rq(0);
	u64 before = rq->pulls;

	sim_on(0);
	rq->prev_load[0] = rq->nr_running;
	rq->prev_load[1] = sim_rq(1)->nr_running;
	rq->histories_stale = 0;
	rq->next_balance = rq->jiffies;
	irq_disable();
	spin_lock_raw(rq->lock);
	balance_tick(rq, false);
	spin_unlock_raw(rq->lock);
	irq_enable();
	return rq->pulls - before;
}

/*
 * Four tasks on CPU 0 that each run 10 us and yield, CPU 1 idle (claim 9 of August 2003). Return: ms until the queue
 * lengths differ by one at most, or 0 if that does not happen within @limit ms. *@most: tasks that moved at once.
 */
static inline unsigned yielders_spread(unsigned limit, unsigned *most)
{
	u64 moved = 0;

	fill(0, 4);
	*most = 0;
	for (unsigned us = 10; us <= limit * 1000; us += 10) {
		sim_on(0);
		if (current_task() != sim_rq(0)->idle)
			sched_yield_current();
		sim_advance(10 * NSEC_PER_USEC);
		sim_deliver(true);
		*most = max(*most, (unsigned)(sim_rq(1)->pulls - moved));
		moved = sim_rq(1)->pulls;
		if (sim_rq(1)->nr_running + 1 >= sim_rq(0)->nr_running)
			return us / 1000 + 1;
	}
	return 0;
}

#endif

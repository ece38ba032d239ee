/* SPDX-License-Identifier: MIT
 *
 * How long runnable tasks wait, held against what their policy promises (wait_bound of policy.h). A promise holds from any moment on, so
 * a wait counts from the last event that it knows nothing of: a task that came to the queue, another nice value. That the others do
 * not sleep holds from the last wake-up on. A policy may have a promise for one case and none for the other.
 */
#include "des.h"

/* Shorter waits break no promise worth the name. */
#define WORTH_A_LOOK (5 * NSEC_PER_MSEC)

/* Of each queue; with one for all, of CPU 0. */
static struct {
	u64 disturbed, woken; /* when that last happened */
	u32 tasks; /* on it, or last on it before they slept, at any time since it was disturbed */
	u32 gone;  /* those of them that have left since */
} queues[MAX_CPUS];

/* The best there has been; slices may be as old as the task, which began with 0. */
static int best_nice;
/* What no promise speaks of: real-time tasks, other numbers in the middle, affinity where all share a queue. */
static bool beyond;

static struct {
	u64 longest;	    /* wait */
	u64 part_of, bound; /* the wait that was the largest part of its bound, and that bound */
	bool endless;	    /* a wait that no bound limits */
} seen;

static unsigned queue_of(const struct task *t)
{
	return sched_policy->global_queue ? 0 : t->cpu;
}

static void disturb(unsigned q)
{
	queues[q].disturbed = queues[q].woken = sim_now;
	queues[q].tasks -= queues[q].gone;
	queues[q].gone = 0;
}

void waits_attr(const struct task *t, int nice, unsigned class)
{
	beyond |= class != SCHED_OTHER;
	best_nice = min(best_nice, nice);
	disturb(queue_of(t));
}

void waits_tuned(void)
{
	beyond |= sim_events != 0;
}

static bool runs_everywhere(const struct task *t)
{
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		if (!cpumask_test(&t->affinity, cpu))
			return false;
	return true;
}

void waits_enqueued(struct sim_task *st, unsigned cpu, u32 flags)
{
	unsigned q = sched_policy->global_queue ? 0 : cpu;

	st->queued_at = sim_now;
	if (flags & ENQ_WAKEUP)
		queues[q].woken = sim_now;
	if (st->home == q + 1)
		return;
	if (st->home)
		queues[st->home - 1].gone++;
	st->home = q + 1;
	disturb(q);
	queues[q].tasks++;
	if (sched_policy->global_queue)
		beyond |= !runs_everywhere(&st->task);
}

void waits_exit(struct sim_task *st)
{
	queues[st->home - 1].gone++;
}

/* @since: from when on the bound for @n tasks holds. Return: whether there is one. */
static bool hold(const struct task *t, u64 since, u32 n, bool sleepers)
{
	u64 waited = sim_now - min(since, sim_now);
	u64 bound = sched_policy->wait_bound(t->nice, best_nice, n, sleepers);

	if (bound == NO_WAIT_BOUND)
		return false;
	if (check_on && waited > bound)
		violation("starved",
			  "task %u (%s) waits for %.3f ms on cpu %u with %u tasks; bound %.3f ms",
			  t->id, t->comm, (double)waited / 1e6, t->cpu, n, (double)bound / 1e6);
	if (!seen.bound ||
	    (double)waited / (double)bound > (double)seen.part_of / (double)seen.bound) {
		seen.part_of = waited;
		seen.bound = bound;
	}
	return true;
}

void waits_look(const struct sim_task *st)
{
	const struct task *t = &st->task;
	unsigned q = queue_of(t);
	u64 since = max(st->queued_at, queues[q].disturbed);

	seen.longest = max(seen.longest, sim_now - st->queued_at);
	if (beyond || sim_now - since < WORTH_A_LOOK)
		return;
	if (!hold(t, since, queues[q].tasks, true)) {
		seen.endless = true;
		hold(t, max(since, queues[q].woken), queues[q].tasks, false);
	}
}

/* Those that wait now. */
static void look_all(void)
{
	for (u32 i = 0; i < sim_nr_all; i++) {
		const struct task *t = &sim_all[i]->task;

		if (sim_all[i]->timer.kind != EV_START && !sim_all[i]->dead &&
		    t->on_rq == ON_RQ_QUEUED && machine_runq(t->cpu)->curr != t)
			waits_look(sim_all[i]);
	}
}

/* What is seen beside violations is left as it is: how often somebody checks must not change the report. */
void waits_check(void)
{
	typeof(seen) before = seen;

	look_all();
	seen = before;
}

void waits_report(const char *window)
{
	look_all();
	printf("RESULT waits window=%s longest_ms=%.3f", window, (double)seen.longest / 1e6);
	if (seen.bound)
		printf(" part_of_bound_pct=%.2f bound_ms=%.3f",
		       100 * (double)seen.part_of / (double)seen.bound, (double)seen.bound / 1e6);
	printf(" bounded=%s\n", beyond ? "unknown" : seen.endless ? "no" : "yes");
	seen.longest = seen.part_of = seen.bound = 0;
	seen.endless = false;
}

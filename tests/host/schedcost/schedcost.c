/* SPDX-License-Identifier: MIT
 *
 * Calls a policy's enqueue(), pick_next() and dequeue() on a queue of N runnable tasks, in functions of their own, so that
 * valgrind's callgrind can count their instructions (tests/host/sim_cost.py). usage: schedcost POLICY N REPEATS
 *
 * It uses the simulator's machine without its engine: one CPU, no time.
 */
#include "des.h"

#include <stdlib.h>
#include <string.h>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#endif

struct scenario scn;
u64 sim_seed;
bool check_on;

/* What the machine tells the engine, the report and the checker is not needed here. */
void work_account(struct sim_task *st)
{
}

void report_cpu(unsigned cpu)
{
}

void report_switch(struct task *prev, struct task *next)
{
}

void check_cpu(unsigned cpu)
{
}

void check_event(void)
{
}

void violation(const char *name, const char *fmt, ...)
{
	fprintf(stderr, "schedcost: %s (%s)\n", name, fmt);
	exit(2);
}

__attribute__((noinline)) static void bench_enqueue(struct runq *rq, struct task *p)
{
	sched_policy->enqueue(rq, p, ENQ_WAKEUP | TASK_INTERRUPTIBLE << ENQ_STATE_SHIFT);
}

__attribute__((noinline)) static struct task *bench_pick(struct runq *rq, struct task *prev)
{
	return sched_policy->pick_next(rq, prev);
}

__attribute__((noinline)) static void bench_dequeue(struct runq *rq, struct task *p)
{
	sched_policy->dequeue(rq, p, DEQ_SLEEP);
}

static struct task *new_task(unsigned i)
{
	struct sim_task *st = aligned_alloc(64, ALIGN_UP(sizeof(*st), 64));
	struct task *t;

	if (!st)
		abort();
	memset(st, 0, sizeof(*st));
	t = &st->task;
	t->id = i + 1;
	sched_kthread_init(t);
	sched_set_nice(t, (int)(i % 40) - 20);
	sched_wake_new(t);
	return t;
}

int main(int argc, char **argv)
{
	struct runq *rq;
	struct task *curr;
	unsigned n, repeats;

	if (argc != 4 || !sched_policy_find(argv[1])) {
		fprintf(stderr, "usage: schedcost POLICY N REPEATS\n");
		return 1;
	}
	n = (unsigned)strtoul(argv[2], NULL, 10);
	repeats = (unsigned)strtoul(argv[3], NULL, 10);
	machine_start(1, argv[1], 1000, 1);
	for (unsigned i = 0; i < n; i++)
		new_task(i);
	schedule();
	rq = machine_runq(0);
	curr = rq->curr;
	irq_disable();
	for (unsigned i = 0; i < repeats; i++) {
		struct task *next;

		/* The running task sleeps, another is picked, it wakes: as schedule() and task_wake() do. */
		rq->waker = NULL;
		sim_now += 1000;
		rq_clock_update(rq, sim_now);
		CALLGRIND_START_INSTRUMENTATION;
		bench_dequeue(rq, curr);
		CALLGRIND_STOP_INSTRUMENTATION;
		runq_dec(rq);
		curr->on_rq = ON_RQ_NONE;
		if (sched_policy->put_prev)
			sched_policy->put_prev(rq, curr, PUT_SLEEP);
		CALLGRIND_START_INSTRUMENTATION;
		next = bench_pick(rq, curr);
		CALLGRIND_STOP_INSTRUMENTATION;
		if (!next || next == curr)
			violation("pick", "a sleeper or nobody");
		rq->curr = next;
		machine_set_current(next);
		next->switched_in_jiffies = rq->billed = rq->jiffies;
		CALLGRIND_START_INSTRUMENTATION;
		bench_enqueue(rq, curr);
		CALLGRIND_STOP_INSTRUMENTATION;
		curr->on_rq = ON_RQ_QUEUED;
		runq_inc(rq);
		curr = next;
	}
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * What must hold after every event (--check): of the queues that the event touched always, of all tasks and CPUs now and
 * then. A violation is named and shows the last events.
 */
#include "des.h"

#include <stdarg.h>
#include <stdlib.h>

bool check_on;
u64 check_sweep = 10000;

static u64 next_sweep;

#define NOTES 64
static struct {
	u64 when;
	const char *what;
	u32 cpu, id;
} notes[NOTES];
static u64 nr_notes;

/* The policy's own check walks the queue: of long ones only every now and then. */
#define SHORT_QUEUE 64

void check_note(const char *what, unsigned cpu, u32 id)
{
	notes[nr_notes % NOTES].when = sim_now;
	notes[nr_notes % NOTES].what = what;
	notes[nr_notes % NOTES].cpu = cpu;
	notes[nr_notes++ % NOTES].id = id;
}

void violation(const char *name, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	for (u64 i = nr_notes > NOTES ? nr_notes - NOTES : 0; i < nr_notes; i++)
		fprintf(stderr, "# %12.6f ms cpu %-4u %-12s task %u\n",
			(double)(notes[i % NOTES].when - sim_start_time) / 1e6,
			notes[i % NOTES].cpu, notes[i % NOTES].what, notes[i % NOTES].id);
	fprintf(stderr, "VIOLATION %s at %.6f ms, event %llu: ", name,
		(double)(sim_now - sim_start_time) / 1e6, (unsigned long long)sim_events);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

static void check_queue(unsigned cpu)
{
	struct runq *rq = machine_runq(cpu);
	const char *wrong;

	if (sched_policy->global_queue && cpu)
		return;
	host_cpus[host_cpu].irqs_off = true;
	wrong = sched_policy->check(rq);
	host_cpus[host_cpu].irqs_off = false;
	if (wrong)
		violation("policy", "cpu %u: %s", cpu, wrong);
}

void check_cpu(unsigned cpu)
{
	struct host_cpu *h = &host_cpus[cpu];
	struct sim_cpu *c = &sim_cpus[cpu];
	struct runq *rq = machine_runq(cpu);
	struct task *curr = rq->curr, *p;

	if (rq->lock->locked || rq->inbound_lock.locked)
		violation("lock-held", "a lock of cpu %u is held between events", cpu);
	if (h->preempt || h->irqs_off || h->in_irq)
		violation("context", "cpu %u has preemption or interrupts off between events", cpu);
	if (rq->after_switch)
		violation("unfinished-switch", "cpu %u", cpu);
	if (curr != h->current)
		violation("current", "curr of cpu %u is not its current task", cpu);
	if (rq->nr_running <= SHORT_QUEUE)
		check_queue(cpu);
	if (curr == rq->idle) {
		if (rq->nr_running && !h->need_resched)
			violation("lost-wakeup", "cpu %u idles with %u tasks", cpu, rq->nr_running);
		if (h->need_resched && !c->resched.pos && !c->migrate.pos)
			violation("lost-ipi", "cpu %u sleeps with need_resched", cpu);
	} else {
		if (curr->on_rq != ON_RQ_QUEUED || curr->cpu != cpu || curr->state != TASK_RUNNING)
			violation("running-task", "task %u runs on cpu %u but is not on its queue",
				  curr->id, cpu);
		if (!sched_policy->holds(rq, curr))
			violation("running-task", "policy does not hold running task %u", curr->id);
		if (!cpumask_test(&curr->affinity, cpu) && !curr->migrate_request)
			violation("affinity", "task %u runs on cpu %u, where it may not", curr->id,
				  cpu);
		if (curr->migrate_request && !h->need_resched)
			violation("lost-request", "nobody acts on task %u's migration", curr->id);
		if (sim_task_of(curr)->left != FOREVER && !c->step.pos)
			violation("simulator", "cpu %u has no end of its task's work", cpu);
	}
	if (h->tick_on != (c->tick.pos != 0) || rq->tick_on != h->tick_on)
		violation("tick", "tick of cpu %u", cpu);
	if (curr != rq->idle && !h->tick_on)
		violation("tick", "cpu %u runs a task without a tick", cpu);
	if (!list_empty(&rq->inbound) && !c->migrate.pos)
		violation("lost-ipi", "inbound tasks of cpu %u without an IPI", cpu);
	list_for_each (p, &rq->inbound, inbound)
		if (p->on_rq != ON_RQ_MIGRATING || p->cpu != cpu)
			violation("inbound", "wrong task %u on cpu %u's list", p->id, cpu);
	if (rq->jiffies != rq->clock / sched_tick_ns)
		violation("jiffies", "cpu %u", cpu);
}

void check_sweep_now(void)
{
	u32 runnable = 0, counted = 0, overloaded = 0;

	for (u32 i = 0; i < sim_nr_all; i++)
		sim_all[i]->seen = 0;
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
		struct runq *rq = machine_runq(cpu);
		struct task *p;

		check_cpu(cpu);
		check_queue(cpu);
		counted += rq->nr_running;
		overloaded += rq->nr_running >= 2;
		if (rq->curr != rq->idle && sim_task_of(rq->curr)->seen++)
			violation("two-cpus", "task %u runs on two CPUs", rq->curr->id);
		list_for_each (p, &rq->inbound, inbound)
			sim_task_of(p)->seen |= 0x100;
	}
	for (u32 i = 0; i < sim_nr_all; i++) {
		struct sim_task *st = sim_all[i];
		struct task *t = &st->task;

		if (st->timer.kind == EV_START)
			continue;
		if (st->dead) {
			if (st->seen || t->on_rq != ON_RQ_NONE)
				violation("dead-runs", "task %u", t->id);
		} else if (t->on_rq == ON_RQ_QUEUED) {
			runnable++;
			if (!sched_policy->holds(machine_runq(t->cpu), t))
				violation("queue", "task %u is not on the queue it names", t->id);
			if (!st->seen && !cpumask_test(&t->affinity, t->cpu) && !t->migrate_request)
				violation("affinity", "task %u queued where it may not run", t->id);
		} else if (t->on_rq == ON_RQ_MIGRATING) {
			if (!(st->seen & 0x100))
				violation("lost-in-transit", "task %u", t->id);
		} else if (t->state == TASK_RUNNING) {
			violation("lost-task", "task %u is runnable and on no queue", t->id);
		}
	}
	if (runnable != counted)
		violation("count", "%u runnable tasks, %u counted", runnable, counted);
	if (overloaded != sched_overloaded)
		violation("overloaded", "%u queues, %u counted", overloaded, sched_overloaded);
	waits_check();
}

void check_event(void)
{
	if (locks_held())
		violation("lock-held", "a lock is held between events");
	if (sim_events < next_sweep)
		return;
	next_sweep = sim_events + check_sweep;
	check_sweep_now();
}

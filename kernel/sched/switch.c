/* SPDX-License-Identifier: MIT
 *
 * Another policy while the machine runs.
 *
 * All CPUs meet: machine_stop_others() stops each of them where it holds no lock and has preemption and interrupts on, so no
 * switch, wake-up, fork or hand-over is half done anywhere. That takes the place of every lock here. Each task is then in one of few
 * states: running (rq->curr), queued, on an inbound list, asleep, new, or dead but not freed yet. All are on sched_tasks.
 *
 * Memory is the only thing that can fail, so it is got before the stop. Priorities mean something else under another policy: a lent one
 * is asked for again, from the task that lent it.
 */
#include "sched/internal.h"

#include "lib/errno.h"
#include "lib/string.h"

struct change {
	const struct sched_policy *to;
	const struct sched_policy *owner; /* whose areas are in @area */
	void **area; /* by CPU: the new ones before the change, the old ones after it */
};

/* Runnable @p belongs to the policy from now on. */
static void join(struct runq *rq, struct task *p)
{
	sched_policy->enqueue(rq, p, ENQ_REQUEUE);
	p->on_rq = ON_RQ_QUEUED;
	runq_inc(rq);
}

static void tasks_leave(void)
{
	struct task *p;

	list_for_each (p, &sched_tasks, all) {
		struct runq *rq = machine_runq(p->cpu);

		if (p->on_rq == ON_RQ_QUEUED) {
			runq_deactivate(rq, p, DEQ_CHANGE);
			p->on_rq = ON_RQ_CHANGING;
		}
		if (p->state != TASK_DEAD && sched_policy->task_exit)
			sched_policy->task_exit(rq, p);
	}
}

static void tasks_init(void)
{
	struct task *p;

	list_for_each (p, &sched_tasks, all) {
		struct runq *rq = machine_runq(p->cpu);

		p->lent_prio = NO_LENT_PRIO;
		p->forked =
			0; /* a child that has not started inherits nothing from its parent here */
		memset(p->policy_area, 0, sizeof(p->policy_area));
		sched_policy->task_init(rq, p);
		if (p->state == TASK_DEAD && sched_policy->task_exit)
			sched_policy->task_exit(rq, p);
	}
}

/*
 * The running task of a CPU goes on running: queued when there is nothing else on that CPU to choose, and chosen. So a policy
 * need not know of this case, whether it leaves the running task in its queue or not.
 */
static void running_joins(struct runq *rq)
{
	struct task *p = rq->curr;
	struct cpumask allowed = p->affinity;

	if (p == rq->idle)
		return;
	rq->curr = rq->idle;
	cpumask_set(&p->affinity, rq->cpu); /* it may be on its way out */
	join(rq, p);
	if (sched_policy->pick_next(rq, rq->idle) != p)
		machine_bug("policy %s did not go on with task %u", sched_policy->name, p->id);
	p->affinity = allowed;
	rq->curr = p;
}

static void others_join(void)
{
	struct task *p;

	list_for_each (p, &sched_tasks, all) {
		if (p->on_rq != ON_RQ_CHANGING)
			continue;
		/* For a global queue the number said little. */
		if (!cpumask_test(&p->affinity, p->cpu)) {
			p->migrate_request = 0;
			task_set_cpu(p, migrate_pick_cpu(p));
		}
		join(machine_runq(p->cpu), p);
	}
}

/* A lender may have been lent to itself: until nothing changes, or for a chain of the longest length that makes sense. */
static void lend_again(void)
{
	bool again = true;
	struct task *p;

	for (unsigned length = 0; again && length < 64; length++) {
		again = false;
		list_for_each (p, &sched_tasks, all) {
			if (!p->lent_by || p->lent_prio == p->lent_by->prio)
				continue;
			sched_policy->lend(machine_runq(p->cpu), p, p->lent_by->prio);
			again = true;
		}
	}
}

/* Tick numbers of a queue start afresh: their length may be another. */
static void rebase(struct runq *rq, u64 now)
{
	rq->clock = max(rq->clock, now);
	rq->jiffies = rq->clock / sched_tick_ns;
	rq->jiffies_end = (rq->jiffies + 1) * sched_tick_ns;
	rq->billed = rq->next_balance = rq->next_idle_balance = rq->jiffies;
	rq->next_stat = 0;
	rq->histories_stale = 1;
	rq->curr->switched_in_jiffies = rq->jiffies;
}

/* All other CPUs stand still, interrupts are off. */
static void change_policy(void *arg)
{
	struct change *c = arg;
	const struct sched_policy *old, *pol = c->to;
	unsigned ncpus = machine_cpus_present(), cpu;
	u64 now = machine_now();

	sched_watch_end(NULL);
	old = sched_policy;
	if (old == pol)
		return;
	for (cpu = 0; cpu < ncpus; cpu++)
		rq_clock_update(machine_runq(cpu), now);
	tasks_leave();

	sched_policy = pol;
	if (!sched_hz_given && sched_hz != pol->default_hz) {
		sched_hz = pol->default_hz;
		sched_tick_ns = NSEC_PER_SEC / sched_hz;
		machine_set_hz(sched_hz);
	}
	if (pol->setup)
		pol->setup();
	for (cpu = 0; cpu < ncpus; cpu++) {
		struct runq *rq = machine_runq(cpu);
		void *area = rq->policy;

		if (old->exit_cpu)
			old->exit_cpu(rq);
		rq->policy = c->area[cpu];
		c->area[cpu] = area;
		rq->lock = pol->global_queue ? &machine_runq(0)->own_lock : &rq->own_lock;
		rq->gives_way = pol->global_queue ? NULL : rq->idle;
		rebase(rq, now);
		pol->init_cpu(rq);
	}
	c->owner = old;

	tasks_init();
	for (cpu = 0; cpu < ncpus; cpu++)
		running_joins(machine_runq(cpu));
	others_join();
	lend_again();
	trace_policy(pol->name);
	/* Everybody looks: who runs now was the old policy's choice, and an idle CPU may need its tick. */
	for_each_cpu_in(cpu, &sched_online) runq_resched(machine_runq(cpu));
}

int sched_switch_to(const struct sched_policy *pol)
{
	unsigned ncpus = machine_cpus_present(), n = 0;
	struct change c = {.to = pol, .owner = pol};
	int err = 0;

	c.area = machine_alloc(ncpus * sizeof(*c.area));
	if (!c.area)
		return -ENOMEM;
	while (n < ncpus && (c.area[n] = machine_alloc(pol->runq_size)))
		n++;
	if (n == ncpus)
		machine_stop_others(change_policy, &c);
	else
		err = -ENOMEM;
	while (n)
		machine_free(c.area[--n], c.owner->runq_size);
	machine_free(c.area, ncpus * sizeof(*c.area));
	return err;
}

int sched_switch_policy(const char *name)
{
	const struct sched_policy *pol = sched_policy_find(name);

	return pol ? sched_switch_to(pol) : -EINVAL;
}

/* SPDX-License-Identifier: MIT
 *
 * Scheduling attributes (nice, class, lent priority) and the figures that the rest of the kernel and its tests read.
 */
#include "sched/internal.h"

#include "lib/errno.h"
#include "lib/string.h"

static void set_attr(struct task *t, int nice, unsigned class, unsigned rt_priority,
		     bool keep_class)
{
	u64 irq = irq_save();
	struct runq *rq = task_rq_lock(t);

	rq_clock_update(rq, machine_now());
	if (keep_class) {
		class = t->class;
		rt_priority = t->rt_priority;
	} else {
		nice = t->nice;
	}
	if (sched_policy->set_attr(rq, t, nice, class, rt_priority))
		runq_resched(rq);
	sched_note_score(rq, t, SCORE_ATTR, 0);
	spin_unlock_raw(rq->lock);
	irq_restore(irq);
}

void sched_set_nice(struct task *t, int nice)
{
	set_attr(t, min(max(nice, -20), 19), 0, 0, true);
}

int sched_set_class(struct task *t, unsigned class, unsigned rt_priority)
{
	if (class > SCHED_RR)
		return -EINVAL;
	if (class == SCHED_OTHER ? rt_priority != 0 : rt_priority < 1 || rt_priority > 99)
		return -EINVAL;
	set_attr(t, 0, class, rt_priority, false);
	return 0;
}

static void lend(struct task *t, const struct task *waiter)
{
	u64 irq = irq_save();
	struct runq *rq = task_rq_lock(t);

	rq_clock_update(rq, machine_now());
	t->lent_by = waiter;
	if (sched_policy->lend(rq, t, waiter ? READ_ONCE(waiter->prio) : NO_LENT_PRIO))
		runq_resched(rq);
	sched_note_score(rq, t, SCORE_LENT, 0);
	spin_unlock_raw(rq->lock);
	irq_restore(irq);
}

void sched_lend(struct task *owner, const struct task *waiter)
{
	lend(owner, waiter);
}

void sched_unlend(struct task *owner)
{
	lend(owner, NULL);
}

/* No CPU that has preemption off is stopped: the policy stays the same, and the tasks stay in it. */
u64 sched_timeslice_ns(struct task *t)
{
	u64 ns;

	preempt_disable();
	ns = sched_policy->timeslice(t) * sched_tick_ns;
	preempt_enable();
	return ns;
}

bool sched_better(const struct task *a, const struct task *b)
{
	bool better;

	preempt_disable();
	better = sched_policy->better(a, b);
	preempt_enable();
	return better;
}

const struct cpumask *sched_online_mask(void)
{
	return &sched_online;
}

/* -------------------------------------------------------------- figures */

u64 sched_task_runtime(struct task *t)
{
	u64 irq = irq_save();
	struct runq *rq = task_rq_lock(t);
	u64 ns = t->exec_total, now = machine_now();

	if (rq->curr == t && now > t->exec_start)
		ns += now - t->exec_start;
	spin_unlock_raw(rq->lock);
	irq_restore(irq);
	return ns;
}

void sched_cpu_stats(unsigned cpu, struct sched_cpu_stats *st)
{
	struct runq *rq;
	u64 alive;

	memset(st, 0, sizeof(*st));
	if (cpu >= machine_cpus_present() || !sched_online_cpu(cpu))
		return;
	rq = machine_runq(cpu);
	st->idle_ns = sched_task_runtime(rq->idle);
	alive = machine_now() - rq->online_since;
	st->busy_ns = alive > st->idle_ns ? alive - st->idle_ns : 0;
	st->nr_switches = rq->nr_switches;
	st->nr_running = rq->nr_running;
	st->ticks = rq->ticks;
	st->late_ticks = rq->late_ticks;
	st->migrations_in = rq->migrations_in;
	st->resched_ipis = rq->resched_ipis;
	st->migrate_ipis = rq->migrate_ipis;
	st->idle_ticks = rq->idle_ticks;
	st->wasted_ticks = rq->wasted_ticks;
	st->idle_switches = rq->idle->nr_involuntary;
	st->wait_ns = rq->wait_total - rq->idle->wait_total;
	st->current_id = READ_ONCE(rq->curr)->id;
}

u64 sched_longest_wait(char comm[TASK_COMM_LEN], u32 *id)
{
	struct task *p;
	u64 longest = 0, irq = irq_save();

	spin_lock_raw(&sched_tasks_lock);
	list_for_each (p, &sched_tasks, all) {
		if (p->wait_max <= longest)
			continue;
		longest = p->wait_max;
		*id = p->id;
		memcpy(comm, p->comm, TASK_COMM_LEN);
	}
	spin_unlock_raw(&sched_tasks_lock);
	irq_restore(irq);
	return longest;
}

u64 sched_switch_hash(u64 *nr_switches)
{
	u64 hash = 0, n = 0;
	unsigned cpu;

	for_each_cpu_in(cpu, &sched_online)
	{
		struct runq *rq = machine_runq(cpu);

		n += rq->nr_switches;
		hash = (hash ^ rq->hash) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	if (nr_switches)
		*nr_switches = n;
	return hash;
}

const char *sched_policy_name(void)
{
	return sched_policy ? sched_policy->name : "none";
}

/* SPDX-License-Identifier: MIT
 *
 * Affinity, and moving tasks between CPUs because of it.
 *
 * A queued task is moved under both queue locks. A sleeping one just names another CPU. A running one must first leave
 * its stack: it gets a migration request and its CPU is made to reschedule (at once if it is the caller). When it switches out it is taken
 * off its queue; the task that runs next hands it over, on its own stack, to the inbound list of a CPU it may use, and sends that CPU
 * the migration IPI. The handler only links what is on the list into its queue: it waits for nothing.
 *
 * At the end stand the two orders in which the -J2 scheduler of January 2002 did the same job, for tests that show their race.
 */
#include "sched/internal.h"

#include "lib/errno.h"

struct migrate_test migrate_test = {.spin_limit = 1000000};

unsigned migrate_pick_cpu(const struct task *p)
{
	unsigned best = MAX_CPUS, cpu;
	u32 best_load = ~0u;

	for_each_cpu_in(cpu, &p->affinity)
	{
		u32 load;

		if (cpu >= machine_cpus_present())
			break;
		if (!sched_online_cpu(cpu))
			continue;
		load = READ_ONCE(machine_runq(cpu)->nr_running);
		if (load < best_load) {
			best = cpu;
			best_load = load;
		}
	}
	/* sched_set_affinity() lets no mask through without an online CPU; before CPU 0 is online there is no choice. */
	return best < MAX_CPUS ? best : p->cpu;
}

/* ------------------------------------------------- a running task moves */

void migrate_out(struct runq *rq, struct task *prev)
{
	if (prev->on_rq != ON_RQ_QUEUED)
		return; /* going to sleep: the request stands until it wakes, in wake_place() */
	prev->migrate_request = 0;
	if (cpumask_test(&prev->affinity, rq->cpu))
		return;
	runq_deactivate(rq, prev, DEQ_MIGRATED);
	prev->on_rq = ON_RQ_MIGRATING;
	/* task.cpu still names this queue, so this lock still protects it until it is off its stack. */
	rq->after_switch |= AFTER_MIGRATE;
}

/* Put @p, which belongs to locked @rq and is MIGRATING, on its way to @cpu. */
static void send_inbound(struct task *p, unsigned cpu)
{
	struct runq *dst = machine_runq(cpu);

	task_set_cpu(p, cpu);
	/* From here on dst's lock protects p; the inbound lock protects its link. */
	spin_lock_raw(&dst->inbound_lock);
	list_add_tail(&p->inbound, &dst->inbound);
	spin_unlock_raw(&dst->inbound_lock);
	trace_ipi_send(TRACE_IPI_MIGRATE, cpu);
	machine_send_migrate(cpu);
}

/* Enqueue @p, MIGRATING, on locked @rq, whose CPU it may use. */
static void arrive(struct runq *rq, struct task *p)
{
	p->nr_migrations++;
	rq->migrations_in++;
	runq_activate(rq, p, ENQ_MIGRATED);
}

void migrate_hand_over(struct runq *rq, struct task *prev)
{
	unsigned cpu = migrate_pick_cpu(prev);

	/* The affinity may have changed again while prev was switching out. */
	if (cpu == rq->cpu)
		arrive(rq, prev);
	else
		send_inbound(prev, cpu);
}

static bool j2_ipi(void);

void sched_migrate_ipi(void)
{
	struct runq *rq = machine_this_runq();
	struct list arrived;
	struct task *p, *tmp;

	rq->migrate_ipis++;
	trace_ipi(TRACE_IPI_MIGRATE);
	if (unlikely(j2_ipi()))
		return;
	list_init(&arrived);
	spin_lock_raw(rq->lock);
	spin_lock_raw(&rq->inbound_lock);
	list_splice_tail_init(&rq->inbound, &arrived);
	spin_unlock_raw(&rq->inbound_lock);
	rq_clock_update(rq, machine_now());
	list_for_each_safe (p, tmp, &arrived, inbound) {
		list_del_init(&p->inbound);
		if (likely(cpumask_test(&p->affinity, rq->cpu)))
			arrive(rq, p);
		else
			send_inbound(p, migrate_pick_cpu(p)); /* its affinity changed on the way */
	}
	spin_unlock_raw(rq->lock);
}

/* ------------------------------------------------------------- affinity */

static void j2_migrate_current(struct task *p, const struct cpumask *mask, unsigned cpu);

/*
 * Move @t, enqueued on @rq but not running and not allowed there. The lock of @rq is held at entry and released; everything is looked at
 * again under both locks. Return: whether it is settled; else the caller starts again.
 */
static bool move_queued(struct runq *rq, struct task *t)
{
	unsigned cpu = migrate_pick_cpu(t);
	struct runq *dst = machine_runq(cpu);
	bool settled = false;

	/* If it is picked while no lock is held, it is sent on at once. */
	t->migrate_request = 1;
	spin_unlock_raw(rq->lock);
	double_rq_lock(rq, dst);
	if (t->cpu == rq->cpu && t->on_rq == ON_RQ_QUEUED && rq->curr != t &&
	    cpumask_test(&t->affinity, cpu) && !cpumask_test(&t->affinity, rq->cpu)) {
		u64 now = machine_now();

		rq_clock_update(rq, now);
		rq_clock_update(dst, now);
		runq_deactivate(rq, t, DEQ_MIGRATED);
		t->migrate_request = 0;
		task_set_cpu(t, cpu);
		arrive(dst, t);
		settled = true;
	}
	double_rq_unlock(rq, dst);
	return settled;
}

int sched_set_affinity(struct task *t, const struct cpumask *mask)
{
	struct cpumask online, present = {{0}};
	struct runq *rq;
	u64 irq;

	if (t->no_migrate)
		return -EINVAL;
	if (!cpumask_and(&online, mask, &sched_online))
		return -EINVAL;
	for (unsigned cpu = 0; cpu < machine_cpus_present(); cpu++)
		if (cpumask_test(mask, cpu))
			cpumask_set(&present, cpu);

	if (unlikely(migrate_test.order != MIGRATE_INBOUND) && t == current_task()) {
		j2_migrate_current(t, &present, cpumask_first(&online));
		return 0;
	}
	irq = irq_save();
again:
	rq = task_rq_lock(t);
	t->affinity = present;
	trace_affinity(t);
	if (cpumask_test(&present, t->cpu)) {
		t->migrate_request = 0;
		/* Waiting for all CPUs: one that it may use from now on may be the better place. */
		if (sched_policy->global_queue && t->on_rq == ON_RQ_QUEUED && rq->curr != t &&
		    sched_policy->preempts(rq, t, ENQ_MIGRATED))
			runq_resched(rq);
	} else if (t->on_rq == ON_RQ_MIGRATING) {
		/* Whoever takes it off the inbound list looks at the new mask. */
	} else if (rq->curr == t) {
		t->migrate_request = 1;
		runq_resched(rq);
	} else if (t->on_rq == ON_RQ_QUEUED) {
		if (!move_queued(rq, t))
			goto again;
		irq_restore(irq);
		return 0;
	} else {
		task_set_cpu(t, migrate_pick_cpu(
					t)); /* asleep or new: the next wake-up finds it there */
	}
	spin_unlock_raw(rq->lock);
	irq_restore(irq);

	if (t == current_task()) {
		if (unlikely(migrate_test.window))
			migrate_test.window();
		while (t == current_task() && READ_ONCE(t->migrate_request))
			schedule();
	}
	return 0;
}

/* --------------------------------- how -J2 did it (test knob, not used) */

/*
 * One global slot. Its lock is taken by the sender and released by the receiver's interrupt handler, as in the original; a spinlock_t
 * that checks its owner would object, so it is a plain word.
 */
static struct {
	u32 locked;
	struct task *task; /* non-NULL: a hand-over is in flight */
} j2_slot;

static void j2_send(struct task *p, unsigned cpu)
{
	u32 free = 0;

	while (!__atomic_compare_exchange_n(&j2_slot.locked, &free, 1, false, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED)) {
		free = 0;
		cpu_relax();
	}
	__atomic_store_n(&j2_slot.task, p, __ATOMIC_RELEASE);
	machine_send_migrate(cpu);
}

static void j2_migrate_current(struct task *p, const struct cpumask *mask, unsigned cpu)
{
	u64 irq = irq_save();
	struct runq *rq = task_rq_lock(p);
	bool stay;

	p->affinity = *mask;
	stay = cpumask_test(mask, rq->cpu);
	spin_unlock_raw(rq->lock);
	irq_restore(irq);
	if (stay)
		return;
	if (migrate_test.order == MIGRATE_J2_STATE_FIRST) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		j2_send(p, cpu);
		if (migrate_test.window)
			migrate_test.window();
	} else {
		j2_send(p, cpu);
		if (migrate_test.window)
			migrate_test.window();
		set_current_state(TASK_UNINTERRUPTIBLE);
	}
	schedule();
}

/*
 * The handler's part. It waits inside the interrupt until p has been switched out: if p spins for a lock whose holder this
 * interrupt interrupted, neither gets on (the dead end that made the scheme short-lived). Then it believes that a task
 * which does not run is asleep. If p was only switched out, still runnable, it is on its old queue and now names this
 * CPU: the checker below trips, and the number is put back so that the machine survives the lesson.
 */
static void j2_task_migrated(struct task *p)
{
	struct runq *here = machine_this_runq(), *src;
	bool tripped = false;
	u64 spins = 0;

	src = machine_runq(p->cpu);
	while (READ_ONCE(src->curr) == p) {
		if (++spins > migrate_test.spin_limit) {
			migrate_test.dead_ends++;
			return;
		}
		cpu_relax();
	}
	double_rq_lock(src, here);
	if (src == machine_runq(p->cpu) && src != here && src->curr != p) {
		task_set_cpu(p, here->cpu);
		if (p->on_rq == ON_RQ_QUEUED && !sched_policy->holds(here, p)) {
			tripped = true;
			task_set_cpu(p, src->cpu);
		}
	}
	double_rq_unlock(src, here);
	if (tripped)
		migrate_test.trips++;
	else
		task_wake(p, TASK_NORMAL, 0);
}

static bool j2_ipi(void)
{
	struct task *p;

	if (likely(!READ_ONCE(j2_slot.task)))
		return false;
	p = __atomic_exchange_n(&j2_slot.task, NULL, __ATOMIC_ACQ_REL);
	if (!p)
		return false;
	__atomic_store_n(&j2_slot.locked, 0, __ATOMIC_RELEASE);
	j2_task_migrated(p);
	__atomic_fetch_add(&migrate_test.handled, 1, __ATOMIC_RELEASE);
	return true;
}

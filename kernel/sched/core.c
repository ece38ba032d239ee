/* SPDX-License-Identifier: MIT
 *
 * The scheduling core: switching, waking, ticking, fork and exit. It knows no policy; everything a policy decides goes
 * through the table of policy.h.
 *
 * Context switch: the run-queue lock is taken by the task that stops and released by the task that runs next, in
 * finish_switch() on the new stack. Hence nobody who holds the lock ever sees a half-switched task, and nobody can wake a
 * sleeper up on another CPU while this CPU still uses its stack. Across a switch interrupts are off and the preemption
 * count is 1, on every CPU and for every task.
 */
#include "sched/internal.h"

#include "lib/errno.h"
#include "lib/string.h"

volatile bool sched_running;
unsigned sched_hz;
bool sched_preempt_full = true;
u64 sched_tick_ns;
u32 sched_overloaded __attribute__((aligned(64)));
struct cpumask sched_online;
const struct sched_policy *sched_policy;
bool sched_hz_given;
struct list sched_tasks;
spinlock_t sched_tasks_lock;

/* ---------------------------------------------------------------- time */

struct runq *task_rq_lock_again(struct runq *rq, struct task *p)
{
	do {
		spin_unlock_raw(rq->lock);
		rq = machine_runq(task_cpu(p));
		spin_lock_raw(rq->lock);
	} while (task_cpu(p) != rq->cpu);
	return rq;
}

/** rq_clock_slow() - @rq's jiffies are out of date. Lock held. */
void rq_clock_slow(struct runq *rq)
{
	if (rq->clock < rq->jiffies_end)
		return;
	if (rq->clock - rq->jiffies_end < sched_tick_ns)
		rq->jiffies++;
	else
		rq->jiffies = rq->clock / sched_tick_ns;
	rq->jiffies_end = (rq->jiffies + 1) * sched_tick_ns;
}

u64 sched_jiffies(void)
{
	return machine_now() / sched_tick_ns;
}

/* ------------------------------------------------------------ switching */

static __attribute__((noinline)) void finish_switch_slow(struct runq *rq, struct task *prev)
{
	u32 work = rq->after_switch;

	rq->after_switch = 0;
	if (work & AFTER_MIGRATE)
		migrate_hand_over(rq, prev);
	spin_unlock_raw(rq->lock);
	irq_enable();
	if (work & AFTER_DEAD)
		machine_task_dead(prev);
}

/* On the new stack. The queue is this CPU's now, which need not be the one the new task last knew. */
static inline void finish_switch(struct task *prev)
{
	struct runq *rq = machine_this_runq();

	if (unlikely(rq->after_switch)) {
		finish_switch_slow(rq, prev);
		return;
	}
	spin_unlock_raw(rq->lock);
	irq_enable();
}

void sched_finish_switch(struct task *prev)
{
	finish_switch(prev);
	preempt_enable();
}

/* Leave the CPU to others: a task that does not want to run is dequeued. */
static inline unsigned put_current(struct runq *rq, struct task *prev, unsigned how)
{
	u32 state = prev->state;

	if (state == TASK_RUNNING || how == PUT_PREEMPTED)
		return how;
	if ((state & TASK_INTERRUPTIBLE) && prev->signal_pending) {
		prev->state = TASK_RUNNING;
		return how;
	}
	if (unlikely(state == TASK_DEAD)) {
		rq->after_switch |= AFTER_DEAD;
		trace_exit(rq, prev);
		runq_deactivate(rq, prev, DEQ_SLEEP | DEQ_DEAD);
		if (sched_policy->task_exit)
			sched_policy->task_exit(rq, prev);
	} else {
		runq_deactivate(rq, prev, DEQ_SLEEP);
	}
	return PUT_SLEEP;
}

static __attribute__((noinline)) struct task *pick_when_empty(struct runq *rq, struct task *prev,
							      u64 now)
{
	struct task *next;

	if (READ_ONCE(sched_overloaded))
		balance_pull_idle(rq);
	if (rq->nr_running) {
		next = sched_policy->pick_next(rq, prev);
		/* It may have become runnable after @now, while the lock was free or on another CPU: it has not waited. */
		next->wait_start = min(next->wait_start, now);
		return next;
	}
	if (sched_policy->idle_enter)
		sched_policy->idle_enter(rq);
	return rq->idle;
}

static __attribute__((noinline)) struct task *pick_global(struct runq *rq, struct task *prev)
{
	struct task *next = sched_policy->pick_next(rq, prev);
	struct runq *from;

	if (!next) {
		if (sched_policy->idle_enter)
			sched_policy->idle_enter(rq);
		return rq->idle;
	}
	if (next->cpu != rq->cpu) {
		/* One lock for all queues: the task changes its CPU by changing a number. */
		from = machine_runq(next->cpu);
		runq_dec(from);
		runq_inc(rq);
		next->nr_migrations++;
		rq->migrations_in++;
		task_set_cpu(next, rq->cpu);
		/* It came with another CPU's clock, which may be ahead by a few cycles. */
		next->wait_start = min(next->wait_start, rq->clock);
	}
	return next;
}

/*
 * Choose and switch. The queue is locked and its clock is up to date, interrupts are off, the preemption count is 1.
 * Returns with the lock released and interrupts on, possibly much later and on another CPU.
 */
static inline __attribute__((always_inline)) void pick_and_switch(struct runq *rq,
								  struct task *prev, unsigned how)
{
	const struct sched_policy *pol = sched_policy;
	u64 now = rq->clock, wait, hash;
	struct task *next;

	how = put_current(rq, prev, how);
	if (unlikely(prev->migrate_request))
		migrate_out(rq, prev);
	if (pol->put_prev && prev != rq->idle)
		pol->put_prev(rq, prev, how);

	if (unlikely(pol->global_queue))
		next = pick_global(rq, prev);
	else if (likely(rq->nr_running))
		next = pol->pick_next(rq, prev);
	else
		next = pick_when_empty(rq, prev, now);

	/* After the pick: what was pulled or enqueued on the way here has been considered. */
	machine_clear_need_resched();
	/* Asked to move while balancing had dropped the lock, after the look above. */
	if (unlikely(next->migrate_request))
		machine_set_need_resched(rq->cpu);
	if (next == prev) {
		spin_unlock_raw(rq->lock);
		irq_enable();
		return;
	}

	prev->exec_total += now - prev->exec_start;
	prev->wait_start = now;
	if (how == PUT_SLEEP)
		prev->nr_voluntary++;
	else
		prev->nr_involuntary++;
	next->exec_start = now;
	wait = now - next->wait_start;
	next->wait_total += wait;
	rq->wait_total += wait;
	if (unlikely(wait > next->wait_max))
		next->wait_max = wait;
	next->switched_in_jiffies = rq->billed = rq->jiffies;

	trace_switch(prev, next, how);

	rq->nr_switches++;
	hash = (rq->hash ^ now) * 0x9e3779b97f4a7c15ull;
	rq->hash = (hash << 32 | hash >> 32) + next->id;

	if (unlikely(prev == rq->idle))
		idle_switch_out(rq);
	else if (unlikely(next == rq->idle))
		idle_switch_in(rq);

	rq->curr = next;
	machine_set_current(next);
	finish_switch(machine_switch(prev, next));
}

/* The way into a switch: interrupts off, count 1. */
static inline __attribute__((always_inline)) void schedule_locked(unsigned how)
{
	struct runq *rq = machine_this_runq();

	spin_lock_raw(rq->lock);
	rq_clock_update(rq, machine_now());
	pick_and_switch(rq, rq->curr, how);
}

void schedule(void)
{
	for (;;) {
		irq_disable();
		preempt_disable();
		schedule_locked(PUT_RESCHED);
		preempt_enable_no_resched();
		if (likely(!need_resched()))
			break;
		machine_stop_point();
	}
}

/* Interrupts off, count 1 already. */
static __attribute__((noinline)) void schedule_preempted(void)
{
	schedule_locked(PUT_PREEMPTED);
}

void sched_preempt_now(void)
{
	do {
		irq_disable();
		preempt_disable();
		schedule_preempted();
		preempt_enable_no_resched();
	} while (unlikely(need_resched()));
}

void preempt_check(void)
{
	if (!sched_running || preempt_count() || !irqs_enabled() || in_interrupt())
		return;
	machine_stop_point();
	if (sched_preempt_full)
		sched_preempt_now();
}

void sched_irq_exit(void)
{
	if (likely(!need_resched()) || preempt_count() || !sched_running)
		return;
	/* Straight out of idle in every mode: nobody else would look until the idle loop's next turn. */
	if (!sched_preempt_full && machine_this_runq()->curr != machine_this_runq()->idle)
		return;
	/*
	 * The count stays up while a switch has interrupts on behind it, so that interrupts arriving there do not pile
	 * up on this stack.
	 */
	do {
		preempt_disable();
		schedule_preempted();
		irq_disable();
		preempt_enable_no_resched();
	} while (need_resched());
}

void sched_user_exit(void)
{
	while (need_resched())
		schedule();
}

void sched_yield_current(void)
{
	struct runq *rq;

	irq_disable();
	preempt_disable();
	rq = machine_this_runq();
	spin_lock_raw(rq->lock);
	rq_clock_update(rq, machine_now());
	sched_policy->yield(rq, rq->curr);
	pick_and_switch(rq, rq->curr, PUT_YIELDED);
	preempt_enable_no_resched();
	if (unlikely(need_resched()))
		schedule();
}

/* -------------------------------------------------------------- waking */

/*
 * Move sleeping @p, whose queue @rq is locked, to the CPU it should wake on. Return: its queue, locked; the caller must look at the
 * state again if that is another one.
 */
static __attribute__((noinline)) struct runq *wake_place(struct runq *rq, struct task *p, u32 flags)
{
	unsigned cpu = rq->cpu;

	if (rq->curr == p) {
		/* It is going to sleep and its CPU looks for other work just now: it cannot move before it has left. */
		if (p->migrate_request)
			runq_resched(rq);
		return rq;
	}
	if (p->migrate_request) {
		p->migrate_request = 0;
		if (!cpumask_test(&p->affinity, cpu))
			cpu = migrate_pick_cpu(p);
	}
	if (cpu == rq->cpu && (flags & sched_policy->select_flags)) {
		cpu = sched_policy->select_cpu(rq, p, flags);
		if (cpu >= machine_cpus_present() || !sched_online_cpu(cpu) ||
		    !cpumask_test(&p->affinity, cpu))
			cpu = rq->cpu;
	}
	if (cpu == rq->cpu)
		return rq;
	p->nr_migrations++;
	task_set_cpu(p, cpu);
	spin_unlock_raw(rq->lock);
	return task_rq_lock(p);
}

/* Make sleeping @p, whose queue is locked, runnable there, and unlock. */
static inline __attribute__((always_inline)) void
wake_here(const struct sched_policy *pol, struct runq *rq, struct task *p, u32 enq)
{
	p->wait_start = rq_clock_update(rq, machine_now());
	p->state = TASK_RUNNING;
	rq->waker = current_task();
	runq_activate_by(pol, rq, p, enq);
	trace_wakeup(rq, p, enq);
	spin_unlock_raw(rq->lock);
}

/* The same where the policy may choose another CPU. Return: whether it was we who woke it. */
static __attribute__((noinline)) bool wake_elsewhere(struct runq *rq, struct task *p, u32 states,
						     u32 enq)
{
	struct runq *to = wake_place(rq, p, enq);

	if (to != rq && (!(p->state & states) || p->on_rq != ON_RQ_NONE)) {
		spin_unlock_raw(to->lock); /* somebody else woke it while no lock was held */
		return false;
	}
	wake_here(sched_policy, to, p, enq);
	return true;
}

/* @p, whose queue is locked, does not sleep: it is awake, or running, preempted on its way to sleep, or changing its CPU. */
static __attribute__((noinline)) bool wake_awake(struct runq *rq, struct task *p, u32 states)
{
	bool woken = p->state & states;

	if (woken) {
		trace_waking(rq, p, 0);
		p->state = TASK_RUNNING;
	}
	spin_unlock_raw(rq->lock);
	return woken;
}

/* Interrupts off. @enq: ENQ_* but for the state that is left. */
static inline __attribute__((always_inline)) bool wake_irqoff(struct task *p, u32 states, u32 enq)
{
	const struct sched_policy *pol;
	struct runq *rq = task_rq_lock(p);
	u32 left = p->state;

	if (unlikely(!(left & states) || p->on_rq != ON_RQ_NONE))
		return wake_awake(rq, p, states);
	pol = sched_policy;
	enq |= left << ENQ_STATE_SHIFT;
	trace_waking(rq, p, enq);
	if (unlikely((enq & pol->select_flags) | p->migrate_request))
		return wake_elsewhere(rq, p, states, enq);
	wake_here(pol, rq, p, enq);
	return true;
}

bool task_wake_plain(struct task *p, u32 states)
{
	return wake_irqoff(p, states, ENQ_WAKEUP);
}

bool task_wake(struct task *p, u32 states, unsigned flags)
{
	u32 enq = ENQ_WAKEUP | (flags & WAKE_SYNC) | (in_interrupt() ? ENQ_IRQ : 0);
	u64 irq = irq_save();
	bool woken;

	_Static_assert(WAKE_SYNC == ENQ_SYNC, "a wake-up's flags are the policy's");
	woken = wake_irqoff(p, states, enq);
	irq_restore(irq);
	return woken;
}

/* ------------------------------------------------------- fork and exit */

static void task_reset(struct task *t, unsigned cpu)
{
	t->state = TASK_NEW;
	t->on_rq = ON_RQ_NONE;
	t->cpu = cpu;
	t->lent_prio = NO_LENT_PRIO;
	t->lent_by = NULL;
	t->migrate_request = 0;
	t->no_migrate = 0;
	t->forked = 0;
	t->exec_start = t->exec_total = t->switched_in_jiffies = 0;
	t->nr_voluntary = t->nr_involuntary = 0;
	t->wait_start = t->wait_total = t->wait_max = 0;
	t->nr_migrations = 0;
	t->ticks_billed = 0;
	list_init(&t->inbound);
	list_init(&t->all);
	memset(t->policy_area, 0, sizeof(t->policy_area));
}

/* Interrupts off since before the policy initialised @t: no change of the policy came in between. */
static void task_known(struct task *t)
{
	spin_lock_raw(&sched_tasks_lock);
	list_add_tail(&t->all, &sched_tasks);
	spin_unlock_raw(&sched_tasks_lock);
}

void sched_forget(struct task *t)
{
	u64 irq;

	if (!t->all.next)
		return;
	irq = irq_save();
	spin_lock_raw(&sched_tasks_lock);
	list_del_init(&t->all);
	spin_unlock_raw(&sched_tasks_lock);
	irq_restore(irq);
}

void sched_fork(struct task *child)
{
	u64 irq = irq_save();
	struct runq *rq = machine_this_runq();
	struct task *parent = rq->curr;

	task_reset(child, rq->cpu);
	spin_lock_raw(rq->lock);
	rq_clock_update(rq, machine_now());
	child->class = parent->class;
	child->rt_priority = parent->rt_priority;
	child->nice = parent->nice;
	child->affinity = parent->affinity;
	child->forked = 1;
	if (sched_policy->fork(rq, parent, child))
		runq_resched(rq);
	spin_unlock_raw(rq->lock);
	task_known(child);
	irq_restore(irq);
}

void sched_kthread_init(struct task *t)
{
	u64 irq = irq_save();
	struct runq *rq = machine_this_runq();

	task_reset(t, rq->cpu);
	t->class = SCHED_OTHER;
	t->rt_priority = 0;
	t->nice = 0;
	memset(&t->affinity, 0, sizeof(t->affinity));
	for (unsigned cpu = 0; cpu < machine_cpus_present(); cpu++)
		cpumask_set(&t->affinity, cpu);
	spin_lock_raw(rq->lock);
	rq_clock_update(rq, machine_now());
	sched_policy->task_init(rq, t);
	spin_unlock_raw(rq->lock);
	task_known(t);
	irq_restore(irq);
}

void sched_wake_new(struct task *child)
{
	u64 irq = irq_save();
	unsigned here = cpu_index(), want;
	u32 enq = ENQ_NEW;
	struct runq *rq;

	for (;;) {
		rq = task_rq_lock(child);
		/* On the forking CPU, named under its lock: the parent may have moved since sched_fork(). */
		want = cpumask_test(&child->affinity, here) ? here : migrate_pick_cpu(child);
		if (want == rq->cpu)
			break;
		task_set_cpu(child, want);
		spin_unlock_raw(rq->lock);
	}
	if (child->state != TASK_NEW)
		machine_bug("task %u started twice", child->id);
	rq_clock_update(rq, machine_now());
	rq->waker = rq->cpu == here ? rq->curr : NULL;
	if (child->forked && rq->cpu == here && rq->curr != rq->idle)
		enq |= ENQ_FORK;
	child->wait_start = rq->clock;
	child->state = TASK_RUNNING;
	runq_activate(rq, child, enq);
	trace_fork(rq, child);
	trace_wakeup(rq, child, enq);
	spin_unlock_raw(rq->lock);
	irq_restore(irq);
}

void sched_fork_done(void)
{
	u64 irq = irq_save();
	struct runq *rq = machine_this_runq();

	spin_lock_raw(rq->lock);
	runq_resched(rq);
	spin_unlock_raw(rq->lock);
	irq_restore(irq);
}

void sched_exit(void)
{
	struct task *t = current_task();

	irq_disable();
	preempt_disable();
	t->state = TASK_DEAD;
	schedule_locked(PUT_RESCHED);
	machine_bug("task %u ran after its exit", t->id);
}

void sched_reap(struct task *child, struct task *parent)
{
	u64 irq = irq_save();
	struct runq *a, *b;

	for (;;) {
		a = machine_runq(child->cpu);
		b = machine_runq(parent->cpu);
		double_rq_lock(a, b);
		if (a == machine_runq(child->cpu) && b == machine_runq(parent->cpu))
			break;
		double_rq_unlock(a, b);
	}
	if (sched_policy->reap)
		sched_policy->reap(child, parent);
	double_rq_unlock(a, b);
	irq_restore(irq);
}

/* --------------------------------------------------------------- ticks */

void sched_tick(u64 now)
{
	struct runq *rq = machine_this_runq();
	const struct sched_policy *pol = sched_policy;
	struct task *curr;
	u64 n;

	spin_lock_raw(rq->lock);
	rq_clock_update(rq, now);
	rq->ticks++;
	curr = rq->curr;
	/*
	 * One policy tick for each boundary passed since the task was switched in or last ticked, at least one: a tick
	 * interrupt may come late, or cover several ticks when the emulator did not run this CPU.
	 */
	n = rq->jiffies - rq->billed;
	n = n ? n : 1;
	rq->billed = rq->jiffies;
	trace_tick(rq, curr == rq->idle ? 0 : n);
	if (curr != rq->idle) {
		do {
			n--;
			curr->ticks_billed++;
			if (pol->tick(rq, curr)) {
				runq_resched(rq);
				break;
			}
		} while (n);
		rq->late_ticks += n;
	} else {
		rq->idle_ticks++;
		if (READ_ONCE(
			    sched_overloaded)) /* a sample: the price of an exact sum would be paid at each switch */
			rq->wasted_ticks++;
		if (pol->idle_tick)
			pol->idle_tick(rq);
	}
	if (pol->stat_tick && rq->clock >= rq->next_stat) {
		rq->next_stat = rq->clock + NSEC_PER_SEC / pol->stat_hz;
		if (pol->stat_tick(rq, curr))
			runq_resched(rq);
	}
	if (!pol->global_queue)
		balance_tick(rq, curr == rq->idle);
	else if (curr == rq->idle && READ_ONCE(sched_overloaded))
		runq_resched(rq); /* who waits in a global queue waits for this CPU too */
	if (curr == rq->idle)
		idle_tick(rq);
	else if (rq->nr_running >= 2)
		idle_kick(rq, rq->nr_running - 1);
	spin_unlock_raw(rq->lock);
}

void sched_interrupt(unsigned cpu)
{
	runq_resched(machine_runq(cpu));
}

void sched_resched_ipi(void)
{
	/* need_resched is set already; the way out of the interrupt acts on it. */
	machine_this_runq()->resched_ipis++;
	trace_ipi(TRACE_IPI_RESCHED);
}

/* ------------------------------------------------------------ start-up */

int sched_init(const char *name, unsigned hz)
{
	const struct sched_policy *pol = name ? sched_policy_find(name) : &policy_o1;
	unsigned ncpus = machine_cpus_present();
	int ret = 0;
	u64 irq;

	if (!pol) {
		pol = &policy_o1;
		ret = -EINVAL;
	}
	list_init(&sched_tasks);
	spin_init(&sched_tasks_lock, "all tasks", LOCK_LEAF);
	sched_hz_given = hz;
	sched_hz = hz ? min(max(hz, 100u), 1000u) : pol->default_hz;
	sched_tick_ns = NSEC_PER_SEC / sched_hz;
	sched_policy = pol;
	if (pol->setup)
		pol->setup();
	for (unsigned cpu = 0; cpu < ncpus; cpu++) {
		struct runq *rq = machine_alloc(sizeof(*rq));

		if (!rq)
			return -ENOMEM;
		rq->policy = machine_alloc(pol->runq_size);
		if (!rq->policy)
			return -ENOMEM;
		rq->cpu = cpu;
		spin_init(&rq->own_lock, "run queue", LOCK_RUNQ);
		spin_init(&rq->inbound_lock, "inbound tasks", LOCK_INBOUND);
		list_init(&rq->inbound);
		machine_set_runq(cpu, rq);
		rq->lock = pol->global_queue ? &machine_runq(0)->own_lock : &rq->own_lock;
		irq = irq_save();
		spin_lock_raw(rq->lock);
		rq_clock_update(rq, machine_now());
		pol->init_cpu(rq);
		spin_unlock_raw(rq->lock);
		irq_restore(irq);
	}
	machine_set_hz(sched_hz);
	trace_policy(pol->name);
	return ret;
}

void sched_init_idle(struct task *t, unsigned cpu)
{
	struct runq *rq = machine_runq(cpu);

	task_reset(t, cpu);
	t->state = TASK_RUNNING;
	t->class = SCHED_OTHER;
	t->rt_priority = 0;
	t->nice = 0;
	t->prio = NO_LENT_PRIO; /* worse than everything */
	t->no_migrate = 1;
	memset(&t->affinity, 0, sizeof(t->affinity));
	cpumask_set(&t->affinity, cpu);
	rq->idle = rq->curr = t;
	rq->gives_way = sched_policy->global_queue ? NULL : t;
}

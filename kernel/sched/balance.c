/* SPDX-License-Identifier: MIT
 *
 * Balancing between per-CPU queues, as the O(1) scheduler did it: only pulling, only by counting tasks. A CPU looks for
 * work when its queue runs empty, on every tick while it is idle, and every 200 ms (the policy says) while busy; with
 * BALANCE_IDLE_BUSY the third also while idle.
 *
 * Queue lengths of others are read without their locks, as hints, and checked again under both locks. The busy balancer
 * compares smoothed lengths: the smaller of now and the last look for others, the larger for itself.
 *
 * Two queues are locked in ascending address order. To take a lower lock while holding a higher one the higher one is
 * dropped; whoever calls in here must expect its own queue to have changed.
 */
#include "sched/internal.h"

#include "lib/string.h"

static u32 balance_flags(void)
{
	return sched_policy->balance_flags ? READ_ONCE(*sched_policy->balance_flags) : 0;
}

static u32 own_load(const struct runq *rq, bool idle)
{
	return idle ? rq->nr_running : max(rq->nr_running, rq->prev_load[rq->cpu]);
}

/* Lock @other while holding @rq. Return: whether @rq's lock was dropped on the way. */
static bool lock_second(struct runq *rq, struct runq *other)
{
	if (likely(spin_trylock_raw(other->lock)))
		return false;
	if (rq->lock < other->lock) {
		spin_lock_raw(other->lock);
		return false;
	}
	spin_unlock_raw(rq->lock);
	spin_lock_raw(other->lock);
	spin_lock_raw(rq->lock);
	return true;
}

/*
 * The longest other queue if taking from it would help; locked. @imbalance: tasks worth moving. The histories are
 * refreshed on every call, idle or busy.
 */
static struct runq *find_busiest(struct runq *rq, bool idle, int *imbalance)
{
	struct runq *busiest = NULL;
	int my = (int)own_load(rq, idle), max_load = 1;
	unsigned cpu;

	for_each_cpu_in(cpu, &sched_online)
	{
		struct runq *other = machine_runq(cpu);
		u32 length = READ_ONCE(other->nr_running);
		u32 load = idle ? length : min(length, rq->prev_load[cpu]);

		rq->prev_load[cpu] = length;
		if ((int)load > max_load && other != rq) {
			busiest = other;
			max_load = (int)load;
		}
	}
	if (!busiest)
		return NULL;
	*imbalance = (max_load - my) / 2;
	if (!idle && *imbalance < (max_load + 3) / 4)
		return NULL;
	if (lock_second(rq, busiest) && !(balance_flags() & BALANCE_STALE_OWN))
		my = (int)own_load(rq, idle);
	if ((int)busiest->nr_running <= my + 1) {
		spin_unlock_raw(busiest->lock);
		return NULL;
	}
	return busiest;
}

static void load_balance(struct runq *rq, bool idle, enum balance_reason reason)
{
	int imbalance = 0;
	struct runq *busiest = find_busiest(rq, idle, &imbalance);
	unsigned moved;

	if (!busiest) {
		trace_balance(rq, reason, NULL, 0);
		return;
	}
	rq_clock_update(busiest, rq->clock);
	rq_clock_update(rq, busiest->clock);
	moved = sched_policy->steal(busiest, rq, idle, idle ? 1 : (unsigned)max(imbalance, 1));
	rq->pulls += moved;
	trace_balance(rq, reason, busiest, moved);
	spin_unlock_raw(busiest->lock);
}

void sched_move(struct runq *src, struct task *p, struct runq *dst)
{
	runq_deactivate(src, p, DEQ_PULLED);
	p->nr_migrations++;
	dst->migrations_in++;
	task_set_cpu(p, dst->cpu);
	runq_activate(dst, p, ENQ_PULLED);
}

void balance_pull_idle(struct runq *rq)
{
	load_balance(rq, true, BALANCE_NEW_IDLE);
}

/* The CPU was idle: its last look at the others is worth nothing for smoothing. */
static void refresh_histories(struct runq *rq)
{
	unsigned cpu;

	rq->histories_stale = 0;
	for_each_cpu_in(cpu, &sched_online)
		rq->prev_load[cpu] = READ_ONCE(machine_runq(cpu)->nr_running);
}

static u64 ticks_of_ms(u32 ms)
{
	return max((u64)ms * sched_hz / 1000, (u64)1);
}

void balance_tick(struct runq *rq, bool idle)
{
	const struct sched_policy *pol = sched_policy;

	if (idle) {
		if (rq->jiffies >= rq->next_idle_balance) {
			rq->next_idle_balance = rq->jiffies + ticks_of_ms(pol->balance_idle_ms);
			if (READ_ONCE(sched_overloaded))
				load_balance(rq, true, BALANCE_IDLE_TICK);
		}
		if (likely(!(balance_flags() & BALANCE_IDLE_BUSY)))
			return;
	}
	if (unlikely(rq->histories_stale))
		refresh_histories(rq);
	if (likely(rq->jiffies < rq->next_balance) || !pol->balance_busy_ms)
		return;
	rq->next_balance = rq->jiffies + ticks_of_ms(pol->balance_busy_ms);
	load_balance(rq, false, BALANCE_BUSY_TICK);
}

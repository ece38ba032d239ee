/* SPDX-License-Identifier: MIT
 *
 * The boundary between mechanism and policy: what the scheduling core offers a policy, and the table of functions a
 * policy is. Read this file first; then policy/o1.c as an example and core.c for the other side.
 *
 * The rules, which hold for every policy:
 *
 *  1. The core moves tasks; a policy decides. Only the core takes run-queue locks, switches stacks, sends interrupts
 *     to other CPUs and changes task.cpu, task.state and task.on_rq. A policy asks, by a return value or through
 *     sched_move().
 *  2. Every operation that is given a run queue is called with the lock of that queue held and interrupts off. It may
 *     read and write the policy's part of that queue and of the tasks on it, and nothing else. It never sleeps, takes
 *     no lock and allocates nothing. Operations given two queues are called with both locks held.
 *  3. Time is a field: rq->clock (ns) and rq->jiffies (ticks), brought up to date before every call. Randomness comes
 *     from machine_random(), the set of CPUs from sched_online. A policy reads no other source.
 *  4. A policy file includes this header and lib only, and compiles unchanged for the host (tests/host).
 *  5. rq->nr_running and rq->curr belong to the core. nr_running counts the runnable tasks of a queue, with the
 *     running one and without the idle task. The idle task is never given to a policy, except as @prev of pick_next()
 *     and as rq->curr; compare with rq->idle.
 *  6. Whether the running task stays linked in the policy's queue is the policy's business (O(1) leaves it linked, ULE
 *     unlinks it). The core calls enqueue() when a task becomes runnable on a queue and dequeue() when it ceases to
 *     be; it calls neither for a switch between runnable tasks. For those there are pick_next() and put_prev().
 *  7. Queues are per CPU or one for all: a policy with global_queue set finds rq->lock equal for all CPUs, so it may look at
 *     all of them. It must then keep its queue in one place, must not pick a task that another CPU runs, and is never asked
 *     to balance. pick_next() is called also when nothing is queued. The core moves a picked task's CPU number; until then
 *     a waiting task names (and rq->nr_running counts it on) the CPU where it last ran or woke. Nobody but the policy knows
 *     which CPU should come and look: preempts() is called also while rq->curr is idle, and interrupts any CPU it likes with
 *     sched_interrupt(). So may enqueue(), tick(), idle_tick(), set_attr() and lend(), and pick_next() for other CPUs.
 *
 *  8. The policy may be replaced while the machine runs (switch.c): all CPUs stand still, which takes the place of the locks. It gets
 *     dequeue(DEQ_CHANGE), task_exit() for every task and exit_cpu(). Its successor gets setup(), init_cpu(), task_init() for every task;
 *     then for each CPU that is not idle enqueue(ENQ_REQUEUE) of the running task and pick_next(), in which rq->curr is the idle task
 *     and which must choose that task; then enqueue(ENQ_REQUEUE) of the others, and lend(). Tunables keep their values.
 *
 * The life of a task, as a policy sees it:
 *
 *	task_init() or fork()
 *	   enqueue(ENQ_NEW) .. [pick_next() .. tick()* .. put_prev(PUT_*)]* .. dequeue(DEQ_SLEEP) .. enqueue(ENQ_WAKEUP) ..
 *	   dequeue(DEQ_MIGRATED) on one queue, enqueue(ENQ_MIGRATED) on another .. dequeue(DEQ_SLEEP | DEQ_DEAD) .. reap()
 *
 * Optional operations may be NULL; each says so.
 */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include "lib/format.h"
#include "lib/list.h"
#include "sched/sched.h"
#include "sched/trace.h"

/*
 * enqueue() flags: why the task comes. The state it left (TASK_INTERRUPTIBLE, TASK_UNINTERRUPTIBLE, TASK_STOPPED) is
 * ENQ_STATE(flags) of a wake-up; the waker is rq->waker.
 */
#define ENQ_WAKEUP	 0x01 /* it slept */
#define ENQ_NEW		 0x02 /* its first time */
#define ENQ_FORK	 0x04 /* with ENQ_NEW: rq->waker is its parent and runs on this queue */
#define ENQ_MIGRATED	 0x08 /* affinity brought it here from another queue */
#define ENQ_PULLED	 0x10 /* the balancer brought it here from another queue */
#define ENQ_SYNC	 0x20 /* with ENQ_WAKEUP: the waker is about to sleep */
#define ENQ_IRQ		 0x40 /* with ENQ_WAKEUP: woken by an interrupt handler */
#define ENQ_REQUEUE	 0x80 /* policy change: it was runnable under the former policy */
#define ENQ_STATE_SHIFT	 16
#define ENQ_STATE(flags) ((flags) >> ENQ_STATE_SHIFT)

/* dequeue() flags: why it goes. */
#define DEQ_SLEEP    0x01 /* it is the running task and goes to sleep */
#define DEQ_DEAD     0x02 /* with DEQ_SLEEP: for good */
#define DEQ_MIGRATED 0x04 /* an affinity change moves it to another queue */
#define DEQ_PULLED   0x08 /* the balancer of another CPU takes it */
#define DEQ_CHANGE   0x10 /* policy change: it leaves, running or not; task_exit() follows */

/* put_prev(): how the running task stopped running. */
#define PUT_RESCHED   0 /* somebody asked for a reschedule and it came into schedule() */
#define PUT_PREEMPTED 1 /* interrupted in the middle of kernel code */
#define PUT_YIELDED   2 /* sched_yield(2); yield() was called just before */
#define PUT_SLEEP     3 /* it slept or died; dequeue() was called just before */

/**
 * struct runq - one CPU's run queue.
 *
 * Locks: (rq) *lock; (cpu) only its own CPU, interrupts off; (c) constant while a policy runs; (in) inbound_lock;
 * (s) written under (rq), read by anybody without lock as a hint.
 */
struct runq {
	spinlock_t *
		lock; /* (c) protects this queue: &own_lock, or the lock of CPU 0's queue if the queue is global */
	struct task *curr; /* (s) the running task */
	struct task *idle; /* (c) */
	struct task *
		gives_way; /* (c) the idle task if whatever is enqueued takes its place; NULL if preempts() decides (rule 7) */
	void *policy;	/* (c) the policy's area of this CPU, zeroed before init_cpu() */
	u32 nr_running; /* (s) */
	u32 cpu;	/* (c) */
	u32 after_switch; /* (rq) AFTER_*: work that waits for the switched-out task to be off its stack */
	u32 histories_stale; /* (rq) the CPU was idle: prev_load[] is out of date */
	u64 clock;	     /* (rq) ns at the last update */
	u64 jiffies;	     /* (rq) clock / tick length */
	u64 jiffies_end;     /* (rq) ns at which jiffies is out of date */
	u64 billed;	     /* (rq) jiffies up to which ticks were given to curr */
	struct task *waker;  /* (rq) valid during enqueue() */

	/* Figures. */
	u64 nr_switches;		/* (s) */
	u64 hash;			/* (rq) over (next task, time) of all its switches */
	u64 ticks, late_ticks;		/* (cpu) */
	u64 migrations_in;		/* (rq) */
	u64 resched_ipis, migrate_ipis; /* (cpu) */
	u64 idle_ticks, pulls; /* (rq) ticks taken while idle; tasks pulled by the balancer */
	u64 wasted_ticks;      /* (rq) idle ticks at which some queue held two or more tasks */
	u64 wait_total;	       /* (s) ns waited by all that ran here, the idle task's too */
	u64 online_since;      /* (c) ns */

	/* Ticks and balancing. */
	u64 next_balance;      /* (rq) jiffies of the next balancing while busy */
	u64 next_idle_balance; /* (rq) while idle */
	u64 next_stat;	       /* (rq) ns of the next second tick */
	bool tick_on;	       /* (cpu) */

	spinlock_t own_lock __attribute__((aligned(64)));
	/* Tasks on their way here, not runnable for anybody until the migration IPI is handled. */
	spinlock_t inbound_lock __attribute__((aligned(64)));
	struct list inbound; /* (in) */

	/* Lengths of all queues as this CPU last saw them: the balancer's smoothing. */
	u32 prev_load[MAX_CPUS]; /* (rq) */
};

/* sched_policy.balance_flags: where the balancer departs from that of 2.6.0-test4. */
#define BALANCE_STALE_OWN 0x01 /* the own length counts as it was before the own lock was dropped */
#define BALANCE_IDLE_BUSY 0x02 /* idle CPUs do the busy pass too, every balance_busy_ms */

#define NO_WAIT_BOUND (~0ull)

/** struct tunable - one number of a policy that may be changed while it runs. */
struct tunable {
	const char *name;   /* as in /sys and in sched.NAME= on the kernel command line */
	const char *unit;   /* "ms", "%", "levels", "bool" ... */
	s64 min, max, def;  /* range and default */
	s64 *value;	    /* written with all CPUs free to read: one aligned store */
	const char *source; /* where the default comes from */
};

/** struct sched_policy - a scheduling policy. One per file of policy/; policy.c lists them all. */
struct sched_policy {
	const char *name;
	const char *summary;  /* one line for the reader of /sys and `sched list` */
	const char *evidence; /* what was read, and what is reconstructed */
	const char *
		score; /* what show_task() calls the policy's own figure of a task; NULL: it has none */
	unsigned default_hz; /* the HZ of its time; hz= overrides */
	unsigned stat_hz;    /* frequency of stat_tick(); 0 = none */
	bool idle_needs_tick; /* its tick() must run on idle CPUs too: they then never stop their tick */
	bool global_queue; /* see rule 7 */
	u32 select_flags; /* select_cpu() is called when an enqueue flag of these is set (ENQ_WAKEUP: always) */
	u32 balance_busy_ms; /* period of the balancer on a busy CPU; 0 = never */
	u32 balance_idle_ms; /* on an idle CPU, at least one tick */
	const u32 *
		balance_flags; /* BALANCE_*, one word that may change while the policy runs. Optional */
	u32 runq_size;	       /* bytes of rq->policy */

	/**
	 * setup() - sched_hz or a tunable has changed (also called once before init_cpu()): recompute what depends on them.
	 * Called without locks; writes only single aligned words that readers may see early or late. Optional.
	 */
	void (*setup)(void);

	/** init_cpu() - initialise rq->policy, which is zeroed. No tasks yet. */
	void (*init_cpu)(struct runq *rq);

	/** exit_cpu() - the policy is being replaced; all tasks have left. All CPUs stand still, no lock is held. Optional. */
	void (*exit_cpu)(struct runq *rq);

	/**
	 * task_init() - initialise the area of a task that nobody forked, or that comes from another policy, from its nice,
	 * class and rt_priority; sets task.prio. The task is on no queue.
	 */
	void (*task_init)(struct runq *rq, struct task *p);

	/**
	 * task_exit() - the task leaves the policy, on no queue: it is dead, or another policy takes over. A dead task's area stays readable
	 * for reap() and set_attr(); if it died under another policy, task_init() and task_exit() came one after the other. Optional.
	 */
	void (*task_exit)(struct runq *rq, struct task *p);

	/**
	 * fork() - @child is a new child of @parent, the running task. Attributes are copied already; the policy fills the child's
	 * area and may change the parent's. Return: whether the parent should be rescheduled.
	 */
	bool (*fork)(struct runq *rq, struct task *parent, struct task *child);

	/** enqueue() - @p becomes runnable on @rq. @flags: ENQ_*. nr_running does not count it yet. */
	void (*enqueue)(struct runq *rq, struct task *p, u32 flags);

	/** dequeue() - @p ceases to be runnable on @rq. @flags: DEQ_*. nr_running still counts it. */
	void (*dequeue)(struct runq *rq, struct task *p, u32 flags);

	/**
	 * pick_next() - choose the task to run. @prev runs now and may be chosen again if it is still enqueued; it may be the
	 * idle task. Called only with nr_running > 0, or with a global queue. Return: the task, or NULL for idle.
	 */
	struct task *(*pick_next)(struct runq *rq, struct task *prev);

	/** put_prev() - @prev (not the idle task) is about to stop running or to be picked again. @how: PUT_*. Optional. */
	void (*put_prev)(struct runq *rq, struct task *prev, unsigned how);

	/** tick() - one tick of running task @p. Return: whether to reschedule. */
	bool (*tick)(struct runq *rq, struct task *p);

	/** idle_tick() - one tick of an idle CPU, before it balances. Optional. */
	void (*idle_tick)(struct runq *rq);

	/** stat_tick() - one tick of the second clock, @p running (perhaps the idle task). Return: whether to reschedule. Optional. */
	bool (*stat_tick)(struct runq *rq, struct task *p);

	/**
	 * preempts() - @p has just been enqueued with @flags: should it run instead of rq->curr, which is a different task
	 * and not the idle task (that one always gives way, unless the queue is global)? With a global queue also called when
	 * the affinity of @p, which waits, has changed.
	 */
	bool (*preempts)(struct runq *rq, struct task *p, u32 flags);

	/** yield() - the running task @p gives way. schedule() follows. */
	void (*yield)(struct runq *rq, struct task *p);

	/**
	 * set_attr() - give @p another nice value, class or real-time priority: the policy stores them in the task, requeues
	 * it if p->on_rq is ON_RQ_QUEUED, and sets task.prio. Return: whether rq->curr should be rescheduled.
	 */
	bool (*set_attr)(struct runq *rq, struct task *p, int nice, unsigned class,
			 unsigned rt_priority);

	/**
	 * select_cpu() - where should waking @p run? @rq is the queue of its last CPU. Called only for the flags in
	 * select_flags, and only if it can move. Return: a CPU; one outside its affinity or offline is taken as "no change".
	 * Optional.
	 */
	unsigned (*select_cpu)(struct runq *rq, struct task *p, u32 flags);

	/** idle_enter() - @rq has nothing to run and balancing brought nothing. Optional. */
	void (*idle_enter)(struct runq *rq);

	/**
	 * steal() - move up to @max tasks from @src to @dst, best candidates first, each by sched_move() after sched_can_move().
	 * @idle: @dst has nothing to run. Both locks are held. Return: tasks moved. Optional for global queues.
	 */
	unsigned (*steal)(struct runq *src, struct runq *dst, bool idle, unsigned max);

	/** reap() - @parent, running, reaps the dead @child. Locks of both tasks' queues are held. Optional. */
	void (*reap)(struct task *child, struct task *parent);

	/**
	 * lend() - @p holds what a task of priority @prio waits for: treat it as if its priority were that, while that is
	 * better; NO_LENT_PRIO ends it. The policy stores task.lent_prio, requeues and sets task.prio.
	 * Return: whether rq->curr should be rescheduled.
	 */
	bool (*lend)(struct runq *rq, struct task *p, int prio);

	/** better() - Return: whether @a would be chosen before @b if both came now. Without lock: a hint. */
	bool (*better)(const struct task *a, const struct task *b);

	/** timeslice() - length of a full time slice of @p in ticks; 0 = it has none. Without lock: a hint for sched_rr_get_interval(2). */
	u32 (*timeslice)(const struct task *p);

	/**
	 * wait_bound() - the longest time that a runnable SCHED_OTHER task of nice value @nice may have to wait for the CPU, from any moment
	 * on, while @n tasks in all, it included, are or come on its queue, @best is the best nice value of the others, no real-time task
	 * runs, nobody's attributes change and no balancer moves tasks. @sleepers: the others may sleep and wake; otherwise they run whenever
	 * they may. Derived in the policy's file from its constants. Without lock. Return: ns, or NO_WAIT_BOUND if such others may keep it
	 * waiting for ever.
	 */
	u64 (*wait_bound)(int nice, int best, u32 n, bool sleepers);
	const char *
		wait_rule; /* how wait_bound() comes about, or why there is none: one line for the reader */

	/**
	 * show_task() - the policy's figures of @p as words and numbers, "NAME N [of MAXIMUM]", no newline: prio, what @score names, slice
	 * (ticks left, of its length), bonus (levels better than nice says). The queue of @p is locked. Optional.
	 */
	void (*show_task)(const struct task *p, struct strbuf *sb);

	/**
	 * show() - what is queued on @rq (rule 7: on all): for each list a head line "NAME: WORD N...", then its tasks in the order in
	 * which they stand there, "LEVEL: ID (COMM) figures of show_task()". Stops when sb_full(): that bounds the text and the time, and the
	 * caller says that it is cut. Called under the lock, but from panics without: survives broken lists. Optional.
	 */
	void (*show)(struct runq *rq, struct strbuf *sb);

	/** holds() - Return: whether @p, runnable, is on @rq in the policy's own books. For checkers. */
	bool (*holds)(struct runq *rq, const struct task *p);

	/** check() - verify the policy's invariants of @rq. Return: NULL, or what is wrong. For checkers. */
	const char *(*check)(struct runq *rq);

	const struct tunable *tunables;
	unsigned nr_tunables;
};

/*
 * The running policy. Changes only while all other CPUs stand still, and so does what it points to if somebody watches (show.c): who may be
 * stopped between two looks asks for sched_policy_table().
 */
extern const struct sched_policy *sched_policy;

/** sched_policy_table() - Return: the running policy's own table, which never changes. */
const struct sched_policy *sched_policy_table(void);

/* CPUs that have entered the scheduler. Bits are only ever set. */
extern struct cpumask sched_online;

/** sched_online_cpu() - Return: whether tasks may be put on @cpu. */
static inline bool sched_online_cpu(unsigned cpu)
{
	return READ_ONCE(sched_online.bits[cpu / 64]) >> (cpu % 64) & 1;
}

/** sched_can_move() - Return: whether @p, on @src, may be moved to @dst: not running there, and allowed here. For steal(). */
static inline bool sched_can_move(const struct runq *src, const struct task *p,
				  const struct runq *dst)
{
	return src->curr != p && cpumask_test(&p->affinity, dst->cpu);
}

/** sched_move() - move @p, enqueued and not running, from @src to @dst (DEQ_PULLED, ENQ_PULLED). Both locks held. For steal(). */
void sched_move(struct runq *src, struct task *p, struct runq *dst);

/** sched_switch_to() - sched_switch_policy() to a given table. Return: 0 or -ENOMEM. */
int sched_switch_to(const struct sched_policy *pol);

/**
 * sched_interrupt() - make @cpu, online, choose its task anew soon. For global queues, whose lock is held. A CPU does not do
 * it to itself from pick_next(): it is choosing.
 */
void sched_interrupt(unsigned cpu);

/**
 * sched_note_score() - for traces: @p's priority (in task.prio) or the policy's figure of it (@score: sleep_avg, interactivity score,
 * recent use ..., in the policy's own unit) has just been computed anew. One test and a branch while nobody looks. @rq is locked.
 */
static inline void sched_note_score(struct runq *rq, const struct task *p, enum score_cause cause,
				    s64 score)
{
	if (trace_on(TRACE_SCORE))
		trace_score_record(rq, p, cause, score);
}

/** sched_note_swap() - for traces: on this CPU active and expired tasks changed places; @active: tasks that are active now. */
static inline void sched_note_swap(u32 active)
{
	if (trace_on(TRACE_SWAP))
		trace_cpu_record(TRACE_SWAP, 0, active);
}

/** sched_policy_find() - Return: the policy of that name, or NULL. */
const struct sched_policy *sched_policy_find(const char *name);

/** sched_policy_nth() - Return: policy @i of all there are, or NULL after the last. */
const struct sched_policy *sched_policy_nth(unsigned i);

/** sched_tunable_by_name() - Return: the running policy's tunable, or NULL. */
const struct tunable *sched_tunable_by_name(const char *name);

/**
 * sched_set_tunable() - change a number of the running policy.
 * Return: 0, -ENOENT if it has none of that name, -EINVAL outside the range. Context: any without run-queue locks.
 */
int sched_set_tunable(const char *name, s64 value);

/**
 * sched_set_tunable_text() - the same from text: a whole number, alone or in the tunable's unit, or in another unit of time if it comes out
 * whole ("2s" for a number of ms). Return: also -EINVAL for anything else.
 */
int sched_set_tunable_text(const char *name, const char *text);

/* The policies; policy.c puts them in a table. */
extern const struct sched_policy policy_o1, policy_nobonus, policy_o1_j2, policy_o1_a3,
	policy_o1_int, policy_nick, policy_goodness;

#endif

/* SPDX-License-Identifier: MIT
 *
 * What the rest of the kernel may ask of the scheduler: the schedulable part of a task, sleeping and waking, fork and exit,
 * the scheduling attributes. The process (kernel/task) embeds struct task as its first member.
 *
 * Policies see struct task and struct runq through policy.h.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include "lib/bitmap.h"
#include "lib/list.h"
#include "sched/machine.h"

/* task.state. A task that is TASK_RUNNING is on a run queue (or about to be). Bits, so that a wake-up names a set. */
#define TASK_RUNNING	     0
#define TASK_INTERRUPTIBLE   1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_STOPPED	     4
#define TASK_DEAD	     8
#define TASK_NEW	     16
#define TASK_NORMAL	     (TASK_INTERRUPTIBLE | TASK_UNINTERRUPTIBLE)

/* Scheduling classes, with Linux's numbers. */
#define SCHED_OTHER 0
#define SCHED_FIFO  1
#define SCHED_RR    2

/* task.on_rq */
#define ON_RQ_NONE	0
#define ON_RQ_QUEUED	1 /* linked by the policy, or running */
#define ON_RQ_MIGRATING 2 /* on the inbound list of task.cpu */
#define ON_RQ_CHANGING	3 /* runnable, between two policies: only while all CPUs stand still */

/* Wake-up flags. */
#define WAKE_SYNC 0x20 /* the waker is about to sleep; the policies' ENQ_SYNC */

#define POLICY_AREA_SIZE 96
#define TASK_COMM_LEN	 16

/**
 * struct task - the scheduling part of a task.
 *
 * Locks: (rq) the lock of the run queue of task.cpu; (p) only the task itself; (c) constant after creation; (a) atomic.
 */
struct task {
	volatile u32 state; /* (p) sets it before sleeping; (rq) wake-ups */
	u8 on_rq;	    /* (rq) */
	u8 class;	    /* (rq) SCHED_* */
	u8 rt_priority; /* (rq) 1..99 for FIFO/RR, else 0; higher is better, as in sched_setscheduler(2) */
	volatile u8
		signal_pending; /* (a) a signal waits: an interruptible sleep must not start. Set by kernel/task */
	volatile u32 cpu; /* (rq) both the old and the new queue's lock to change it */
	s16 nice;	  /* (rq) -20..19 */
	s16 prio; /* (rq) the policy's dynamic priority, lower is better; shown by ps and top */
	s16 lent_prio;	    /* (rq) priority lent to it (priority inheritance), or NO_LENT_PRIO */
	u8 migrate_request; /* (rq) the running task must move: its affinity excludes this CPU */
	u8 no_migrate;	    /* (c) idle tasks */
	u8 forked;	    /* (rq) until its start: made by sched_fork(), under this policy */
	u8 kernel_io;	   /* its own: the file call it is in moves kernel memory, see ipc/copy.h */
	u64 address_space; /* (p) opaque id; 0 = none (kernel task) */

	u64 exec_start;			  /* (rq) ns: when it was switched in, or last accounted */
	u64 exec_total;			  /* (rq) ns of CPU time since creation */
	u64 switched_in_jiffies;	  /* (rq) */
	u64 nr_voluntary, nr_involuntary; /* (rq) context switches */
	u64 wait_start, wait_total, wait_max; /* (rq) ns spent runnable but not running */
	u64 nr_migrations;		      /* (rq) */
	u32 ticks_billed;		      /* (rq) ticks that the policy was told it ran */

	struct cpumask affinity;    /* (rq) never empty */
	struct list inbound;	    /* link on runq.inbound, under its lock */
	struct list all;	    /* link on sched_tasks, under sched_tasks_lock */
	const struct task *lent_by; /* (rq) whose priority was lent to it, NULL = nobody's */
	u32 id;			    /* (c) thread id, for traces and dumps */
	char comm[TASK_COMM_LEN];   /* (p) name; readers tolerate a torn read */

	u64 policy_area[POLICY_AREA_SIZE / 8]
		__attribute__((aligned(16))); /* (rq) the policy's own */
};

#define NO_LENT_PRIO 0x7fff

extern volatile bool sched_running; /* false until the boot CPU enters the scheduler */
extern unsigned sched_hz;	    /* ticks per second of every CPU; 100 .. 1000 */
extern bool sched_preempt_full;	    /* preempt=full|none */

/**
 * sched_init() - choose the policy and prepare the run queue of every present CPU.
 * @policy: name, or NULL for the default ("o1"). @hz: 0 = the policy's default.
 * Return: 0; -EINVAL for an unknown name (the default is then used and the machine goes on); -ENOMEM.
 * Context: start-up, boot CPU, once.
 */
int sched_init(const char *policy, unsigned hz);

/**
 * sched_init_idle() - make @t the idle task of @cpu. Context: start-up, before that CPU runs sched_idle_loop().
 */
void sched_init_idle(struct task *t, unsigned cpu);

/** sched_idle_loop() - the life of an idle task. Marks the CPU online in the scheduler. Never returns. */
void sched_idle_loop(void) __attribute__((noreturn));

/**
 * sched_wait_online() - wait until @n CPUs have entered the scheduler: from then on affinity masks may name them. Context: start-up.
 */
void sched_wait_online(unsigned n);

/**
 * schedule() - give the CPU to the best task. A current task whose state is not TASK_RUNNING leaves the queue, unless it is
 * TASK_INTERRUPTIBLE with a signal pending (it is then made running again).
 * Context: task, no spin lock held, preemption enabled.
 */
void schedule(void);

/** sched_irq_exit() - last thing before an interrupt returns to kernel code: preempts it if due and allowed (preempt=full, or idle). */
void sched_irq_exit(void);

/** sched_user_exit() - before returning to user mode with need_resched set: schedule(). Interrupts on. */
void sched_user_exit(void);

/**
 * sched_finish_switch() - finish @prev from the new stack: release the run-queue lock, enable interrupts, hand over a migrating
 * task, free a dead one. A new task's first call, with what machine_switch passed it.
 */
void sched_finish_switch(struct task *prev);

/**
 * task_wake() - make @t runnable if its state is in @states.
 * @flags: WAKE_*. Return: whether it was woken by this call.
 * Context: any; takes the run-queue lock; interrupts may be on or off. A reschedule that becomes due happens at the next
 * preempt_enable(), preempt_point() or interrupt exit.
 */
bool task_wake(struct task *t, u32 states, unsigned flags);

/** task_wake_plain() - the same without flags, by a task with interrupts off, not an interrupt handler. */
bool task_wake_plain(struct task *t, u32 states);

/** set_current_state() - with the full barrier that check-then-sleep needs: the state is visible before the condition is read. */
#define set_current_state(s) __atomic_store_n(&current_task()->state, (s), __ATOMIC_SEQ_CST)

/** sched_fork() - initialise the scheduling part of @child from current. Policy's fork rule. @child is TASK_NEW. */
void sched_fork(struct task *child);

/** sched_kthread_init() - initialise @t as a kernel task that nobody forked (SCHED_OTHER, nice 0, all CPUs). TASK_NEW. */
void sched_kthread_init(struct task *t);

/** sched_wake_new() - start a TASK_NEW task made by sched_fork() or sched_kthread_init(). */
void sched_wake_new(struct task *child);

/** sched_fork_done() - fork epilogue of the parent: reschedule so that the child can run first (not for vfork). */
void sched_fork_done(void);

/** sched_exit() - the current task is gone for good; its struct task is released through machine_task_dead(). Never returns. */
void sched_exit(void) __attribute__((noreturn));

/** sched_reap() - @parent (current) reaps the zombie @child: the policy's exit rule (slice and sleep_avg transfer). */
void sched_reap(struct task *child, struct task *parent);

/** sched_forget() - @t is about to be freed: the scheduler knew it since sched_fork() or sched_kthread_init(), if at all (zeroed). */
void sched_forget(struct task *t);

/** sched_yield_current() - sched_yield(2). */
void sched_yield_current(void);

/** sched_set_nice() - Context: any task; @nice is clamped to -20..19. */
void sched_set_nice(struct task *t, int nice);

/** sched_set_class() - Return: 0, -EINVAL for a class or priority that does not exist. */
int sched_set_class(struct task *t, unsigned class, unsigned rt_priority);

/**
 * sched_set_affinity() - restrict @t to @mask & online CPUs; a task on another CPU is moved (migration IPI) before this returns if it is
 * current, and soon otherwise. Return: 0, -EINVAL if nothing of @mask is online.
 */
int sched_set_affinity(struct task *t, const struct cpumask *mask);

/**
 * sched_lend() - @owner holds what @waiter waits for: let it run with @waiter's priority while that is better than its own.
 * sched_unlend() ends it; lending again replaces it (the caller keeps track of several waiters, with sched_better()).
 * @waiter must stay allocated until either: a change of the policy lends its new priority.
 */
void sched_lend(struct task *owner, const struct task *waiter);
void sched_unlend(struct task *owner);

/** sched_better() - Return: whether the policy would choose @a before @b. A hint, without lock. */
bool sched_better(const struct task *a, const struct task *b);

/** enum sched_idle_mode - what idle CPUs do (idle=). LAST: the last idle one runs nops, for deterministic runs. */
enum sched_idle_mode { IDLE_HALT, IDLE_LAST, IDLE_SPIN };
extern enum sched_idle_mode sched_idle_mode;

/** sched_set_idle_mode() - "halt", "last" or "spin". Return: 0 or -EINVAL. Context: start-up. */
int sched_set_idle_mode(const char *name);

/** sched_online_mask() - the CPUs that run tasks; affinity masks are understood within it. */
const struct cpumask *sched_online_mask(void);

/** sched_timeslice_ns() - the length of a full time slice of @t under the running policy, in ns; 0 = none (SCHED_FIFO). */
u64 sched_timeslice_ns(struct task *t);

/** sched_tick() - a tick of this CPU at @now ns. Context: timer interrupt, interrupts off. */
void sched_tick(u64 now);

/** sched_resched_ipi(), sched_migrate_ipi() - handlers of the two IPIs. Context: interrupt. Never spin. */
void sched_resched_ipi(void);
void sched_migrate_ipi(void);

/** sched_task_runtime() - CPU time of @t in ns up to now, exact also while it runs. */
u64 sched_task_runtime(struct task *t);

/** jiffies - tick count: machine_now() / tick length. The same on all CPUs. */
u64 sched_jiffies(void);

/** struct sched_cpu_stats - one CPU's figures for /proc/stat and tests; a snapshot without lock. */
struct sched_cpu_stats {
	u64 nr_switches, nr_running, idle_ns, busy_ns, ticks, late_ticks, migrations_in,
		resched_ipis, migrate_ipis;
	u64 idle_ticks, wasted_ticks; /* idle; idle while some queue held two or more tasks */
	u64 idle_switches, wait_ns; /* times idle was left; that tasks waited until they ran here */
	u32 current_id;
};
void sched_cpu_stats(unsigned cpu, struct sched_cpu_stats *st);

/** sched_longest_wait() - Return: the longest wait of any living task in ns; @comm, @id: whose. 0, nothing written: none. */
u64 sched_longest_wait(char comm[TASK_COMM_LEN], u32 *id);

/** sched_switch_hash() - hash over (cpu, next task, time) of all switches, combined over CPUs, and their number. */
u64 sched_switch_hash(u64 *nr_switches);

/* ---- as text (show.c) ---- */

struct strbuf;

/** sched_dump() - print every CPU's current task and queue with @print; lockless, for panics; one caller at a time. */
void sched_dump(void (*print)(const char *fmt, ...));

/**
 * sched_show_cpu() - write CPU @cpu's queue to @buf as one state: a head line, then what the policy's show() says; a last line "cut: ..." if
 * that is not all (@size, but never more than 16 KiB). Context: task. Return: length.
 */
size_t sched_show_cpu(unsigned cpu, char *buf, size_t size);

/** sched_show_task() - append @t's accounts and the policy's figures, one line without its newline: "ID (COMM) NAME N...". */
void sched_show_task(struct task *t, struct strbuf *sb);

/**
 * sched_watch() - write down every switch of @cpu (MAX_CPUS: of all) from now on until sched_watch_stop() or a change of the policy: what led
 * to it and the queue as it was chosen from. Forgets what was there. Nothing is delayed but by the writing. Switches beyond 512 KiB of text
 * are only counted. Return: 0, -EINVAL (no such CPU), -ENOMEM. Context: as machine_stop_others(); the caller serialises these three.
 */
int sched_watch(unsigned cpu);
/** sched_watch_stop() - no longer; @forget: and free the memory. */
void sched_watch_stop(bool forget);
/** sched_watch_show() - append what was written. Return: 0, -EBUSY while watching. */
int sched_watch_show(struct strbuf *sb);

/** sched_policy_name() - name of the running policy. */
const char *sched_policy_name(void);

/**
 * sched_switch_policy() - go over to policy @name. All CPUs stand still meanwhile; every task leaves the old policy and starts afresh
 * in the new one with its nice value, class, real-time priority, affinity and lent priority. The tick becomes the new policy's unless hz=
 * was given. The running policy again: nothing happens.
 * Return: 0; -EINVAL for an unknown name; -ENOMEM (the old policy goes on). Context: task, no locks, preemption enabled.
 */
int sched_switch_policy(const char *name);

#endif

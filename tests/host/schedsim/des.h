/* SPDX-License-Identifier: MIT
 *
 * The scheduler simulator: a discrete-event machine of up to MAX_CPUS CPUs under the kernel's own scheduling core and
 * policies. docs/simulator.md describes the scenario language; this header is what the simulator's files share.
 *
 *	machine.c   <arch/machine.h> for virtual CPUs, the event heap, the clock
 *	scenario.c  the text of a scenario to programs of operations
 *	expr.c      values of expressions
 *	actors.c    tasks, their beginning and end; signals
 *	ops.c       the operations of their programs
 *	engine.c    CPUs between events; the main loop
 *	report.c    figures, RESULT lines, the trace
 *	waits.c     the policy's promise how long a task waits
 *	check.c     invariants after every event
 */
#ifndef SCHEDSIM_DES_H
#define SCHEDSIM_DES_H

#include <stdio.h>

#include "sched/internal.h"

#define FOREVER (~0ull)

/* Events that are due at the same instant happen in this order, then in order of their making. */
enum ev_kind { EV_ACTION, EV_MIGRATE, EV_RESCHED, EV_TICK, EV_TIMER, EV_START, EV_STEP };

struct ev {
	u64 when;
	void *owner; /* struct sim_cpu, struct sim_task or struct action, by kind */
	u32 pos;     /* place in the heap + 1; 0 = not armed */
	u8 kind;
};

/* ------------------------------------------------------------- scenario */

enum expr_op {
	X_NUM,
	X_SLOT,
	X_NEG,
	X_ADD,
	X_SUB,
	X_MUL,
	X_DIV,
	X_MOD,
	X_LT,
	X_LE,
	X_GT,
	X_GE,
	X_EQ,
	X_NE,
	X_AND,
	X_OR,
	X_UNIFORM,
	X_EXP,
	X_MIN,
	X_MAX,
	X_INSTANCE,
	X_COUNT,
	X_NOW,
	X_ELAPSED,
	X_SIGNALS,
	X_CPUS,
	X_TICK,
	X_TIMEDOUT,
};

struct expr {
	enum expr_op op;
	s64 value; /* X_NUM; slot number of X_SLOT */
	struct expr *a, *b;
};

enum op_kind {
	OP_RUN,
	OP_SLEEP,
	OP_IO,
	OP_YIELD,
	OP_FORK,
	OP_WAIT,
	OP_EXIT,
	OP_WRITE,
	OP_READ,
	OP_SIGNAL,
	OP_STOP,
	OP_CONT,
	OP_KILL,
	OP_NICE,
	OP_AFFINITY,
	OP_CLASS,
	OP_POST,
	OP_TAKE,
	OP_SPIN,
	OP_POLL,
	OP_LET,
	OP_LOOP,
	OP_WHILE,
	OP_IF,
	OP_JUMP,
	OP_NEXT,
	OP_PERIODIC,
	OP_JOB,
	OP_UNIT,
	OP_WARM,
	OP_SET,
};

enum target_kind { TARGET_ALL, TARGET_ONE, TARGET_SELF, TARGET_PARENT };

/* One operation of a program. Which fields count depends on the kind. */
struct op {
	enum op_kind kind;
	u32 line;
	struct expr *a, *b,
		*index;	   /* durations, counts; index into an array of pipes, flags or instances */
	u32 jump;	   /* where a loop's end, an if's else ... is */
	u32 slot, counter; /* variables of a task */
	bool has_slot, all;
	enum target_kind target;
	struct tmpl *tmpl;
	struct pipe_def *pipe;
	struct flag_def *flag;
	struct cpumask mask;
	unsigned class, rt_priority;
	char *knob;
};

/* What several tasks have in common: "task NAME ... end". */
struct tmpl {
	char *name;
	u32 line, nr_ops, nr_slots;
	bool forked_only, pinned, has_wait, defined;
	struct expr *count, *start, *stagger, *nice, *on;
	struct cpumask mask;
	unsigned class, rt_priority;
	struct op *ops;
	char **slot_names;
	struct sim_task **instances; /* by number; NULL once gone */
	u32 nr_instances, room, live, to_start;
	u32 runnable, running; /* of its tasks, now; runnable counts those that run */
	u64 stalled_since; /* since when some are runnable and none runs; FOREVER: it is not so */
	struct gstat *stat;
};

struct pipe_def {
	char *name;
	u32 count;
	u64 capacity;
	struct pipe *pipes;
};

struct flag_def {
	char *name;
	u32 count;
	struct flag *flags;
};

struct action {
	struct ev ev;
	struct op op;
};

struct window {
	const char *name;
	u64 from, to;
};

struct sampler {
	struct op target; /* tmpl, target, index */
	u64 every, next;
};

struct scenario {
	const char *file;
	char *name;
	u64 duration, cost_syscall, cost_switch, cost_tick, ipi_delay;
	unsigned cpus, hz, balance_within;
	bool tick_timers;
	u32 nr_tmpls, nr_pipes, nr_flags, nr_actions, nr_windows, nr_samplers, nr_sets, nr_until;
	struct tmpl *tmpls[256];
	struct pipe_def *pipes[64];
	struct flag_def *flags[64];
	struct action *actions[256];
	struct window windows[32];
	struct sampler samplers[32];
	struct op sets[64];
	struct tmpl *until[16];
};
extern struct scenario scn;

struct param {
	const char *name, *value;
	bool used;
};
extern struct param params[64];
extern unsigned nr_params;

/** scenario_load() - read @file into scn; exits with a message on errors. */
void scenario_load(const char *file);

/** scenario_error() - print "file:line: message" and exit with status 1. */
void scenario_error(u32 line, const char *fmt, ...) __attribute__((format(printf, 2, 3), noreturn));

/* ---------------------------------------------------------------- tasks */

struct sim_task {
	struct task task; /* first: the core's callbacks get it */
	struct ev timer;  /* end of a sleep, or the start */
	struct tmpl *tmpl;
	u32 instance;
	u32 pc;
	u8 phase; /* of the operation at pc */
	bool timer_fired, interrupted, stop_pending, kill_pending, zombie, dead, woken, timedout,
		waits_child;
	u64 left;	     /* ns of CPU time the operation still needs; FOREVER */
	u64 work_from;	     /* running: from when on it works (after the cost of the switch) */
	u64 op_began;	     /* when the operation at pc began */
	u64 elapsed;	     /* length of the last operation that was completed */
	s64 want, moved;     /* bytes of the current read or write; scratch of other operations */
	u64 steps_at, steps; /* operations begun at that instant, to find loops that take no time */
	u64 deadline;	     /* of the next period; 0 = none yet */
	u64 started_at;
	u64 signals;
	u64 rng;
	s64 *slots;
	struct sim_task *parent;
	struct list children, sibling; /* of the parent that will wait for it */
	struct list waiting;	       /* on a pipe's or a flag's list */

	u64 queued_at; /* runnable and not running: since when, on this queue */
	u32 home;      /* its queue + 1, or that of before it slept */

	/* Figures: since the window began. */
	u64 woken_at;
	u64 base_exec, base_vol, base_invol, base_migrations, base_billed;
	u64 units, bytes;
	s16 last_prio;
	u32 seen; /* scratch of the checker */
	u32 slot_in_all;
};

struct pipe {
	u64 used, passed;
	struct list readers, writers; /* struct sim_task.waiting */
};

struct flag {
	u64 value;
	struct list waiters; /* in the order they came: blocked and spinning */
};

struct sim_cpu {
	u32 cpu;
	struct ev tick, resched, migrate, step;
	bool touched, idle; /* idle: as counted */
	u32 length, waiting;
	struct task idle_task;
	u64 base_idle, base_switches;
};

extern struct sim_cpu sim_cpus[MAX_CPUS];
extern u64 sim_now, sim_start_time;
extern u64 sim_events;
extern struct sim_task *
	*sim_all; /* all tasks that exist; holes are closed by moving the last one */
extern u32 sim_nr_all;

static inline struct sim_task *sim_task_of(struct task *t)
{
	return (struct sim_task *)t;
}

static inline bool is_idle(const struct task *t)
{
	return t == machine_runq(t->cpu)->idle;
}

/* -------------------------------------------------------------- machine */

void ev_arm(struct ev *e, u64 when);
void ev_cancel(struct ev *e);
/** ev_next() - take the earliest event off the heap. Return: NULL if there is none. */
struct ev *ev_next(void);
u64 ev_next_time(void);

/** machine_start() - @ncpus CPUs, all online and idle. */
void machine_start(unsigned ncpus, const char *policy, unsigned hz, u64 seed);

/** touch() - the state of @cpu's queue may have changed in this event. */
void touch(unsigned cpu);
/** touched_done() - bring figures up to date and check, at the end of an event. */
void touched_done(void);

/** machine_exit_current() - sched_exit(), but it returns, as the next task. */
void machine_exit_current(void);

u64 rng_next(u64 *state);
bool locks_held(void);

/* --------------------------------------------------------------- engine */

void engine_run(void);
/** work_account() - charge @st, which runs, for what it did until now. */
void work_account(struct sim_task *st);
/** expr_eval() - Return: the value of @e for @st; without a task only what does not depend on one. @line: for errors. */
s64 expr_eval(const struct expr *e, struct sim_task *st, u32 line);
/** apply_set() - change a knob of the policy; exits with a message if it cannot. */
void apply_set(const struct op *op, struct sim_task *st);
extern u64 sim_seed;

/* --------------------------------------------------------------- report */

/* Log-linear histogram: 16 steps to each power of two. */
#define HIST_BUCKETS (64 * 16)

struct gstat {
	u64 rescored; /* wake-ups at which the policy computed its figure of the task anew */
	u64 wakeups, latency_max, gap_max, stall_max;
	u64 exec, vol, invol, migrations, billed, bytes;
	u64 finished, life_sum, life_min, life_max, last_finish;
	u64 units, units_min, units_max;
	u64 met, missed, late_n, late_sum, late_max, wanted, achieved;
	u64 prio_changes, prio_n;
	s64 prio_sum;
	s32 prio_min, prio_max;
	u32 hist[HIST_BUCKETS];
};

extern bool report_tasks, report_cpus;
extern FILE *trace_file;

void report_open(void); /* wrap the policy, begin the first window */
void report_window_begin(void);
void report_window_end(const char *name);
void report_time(u64 to);      /* time goes on to @to */
void report_cpu(unsigned cpu); /* the state of a touched CPU */
void report_switch(struct task *prev, struct task *next);
void report_exit(struct sim_task *st);
void report_deadline(struct sim_task *st, u64 late);
void report_sample(struct sim_task *st);
void report_run(void);
u64 report_hash(void);

/** policy_score() - the estimate that the policy keeps of @t, per mille of its maximum, from show_task(). -1: it keeps none. */
int policy_score(const struct task *t);

/* ---------------------------------------------------------------- waits */

void waits_attr(const struct task *t, int nice, unsigned class); /* its attributes change */
void waits_tuned(void); /* a knob of the policy has changed */
void waits_enqueued(struct sim_task *st, unsigned cpu, u32 flags);
void waits_exit(struct sim_task *st);
/** waits_look() - @st has waited until now: was that too long? A violation if so, with --check. */
void waits_look(const struct sim_task *st);
/** waits_check() - waits_look() at all that wait now, for its violations alone. */
void waits_check(void);
void waits_report(const char *window);

/* ---------------------------------------------------------------- check */

extern bool check_on;
extern u64 check_sweep; /* events between two sweeps over all tasks and CPUs */

void check_cpu(unsigned cpu);
void check_event(void);
void check_sweep_now(void);
/** check_note() - one line for the ring of recent events that a violation prints. */
void check_note(const char *what, unsigned cpu, u32 id);
void violation(const char *name, const char *fmt, ...)
	__attribute__((format(printf, 2, 3), noreturn));

#endif

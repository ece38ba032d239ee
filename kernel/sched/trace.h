/* SPDX-License-Identifier: MIT
 *
 * Event records of the scheduler: one ring per CPU, fixed-size records, always compiled in. docs/tracing.md explains the format,
 * which tools/tracelib.py and user/trace.c read; they must change together with TRACE_VERSION.
 *
 * A hook is one test of trace_mask and one branch not taken while its event is off. Everything that costs is in trace.c. A ring is
 * written by its own CPU only, with interrupts off: no lock, no atomic, nothing nests. (NMI handlers must not record.)
 */
#ifndef SCHED_TRACE_H
#define SCHED_TRACE_H

#include "lib/types.h"

struct task;
struct runq;

#define TRACE_MAGIC	0x3145434152544a4aull /* "JJTRACE1" */
#define TRACE_VERSION	1
#define TRACE_PAGE	4096u
#define TRACE_PER_PAGE	((TRACE_PAGE - sizeof(struct trace_page)) / sizeof(struct trace_record))
#define TRACE_MIN_PAGES 4u

enum trace_event {
	TRACE_NONE,
	TRACE_START,  /* from here on this CPU's events are complete; id, comm: the running task */
	TRACE_SWITCH, /* id, comm: next; a: state of prev | how << 8; flags: tasks on the queue; b: prev, prio, next's prio */
	TRACE_WAKING, /* id, comm: the task; flags: WAKE_*; b: prio, its last CPU */
	TRACE_WAKEUP, /* the same; b: prio, the CPU it woke on, tasks there now */
	TRACE_MIGRATE, /* id, comm; b: prio, from, to */
	TRACE_FORK,    /* id, comm: child; b: parent, child's prio */
	TRACE_EXEC,    /* id, comm: with its new name */
	TRACE_EXIT,    /* id, comm; b: ns of CPU time it used */
	TRACE_SCORE,   /* id, comm; flags: SCORE_*; a: prio now; b: the policy's figure of it */
	TRACE_SWAP,    /* the arrays changed places; id: tasks now active */
	TRACE_BALANCE, /* flags: BALANCE_*; a: tasks moved; id: CPU taken from, or ~0; b: own length, its length */
	TRACE_IPI_SEND, /* flags: TRACE_IPI_*; id: to CPU */
	TRACE_IPI,	/* flags: TRACE_IPI_* */
	TRACE_TICK,   /* id, comm: the running task; a: ticks billed to it (0: idle); b: jiffies */
	TRACE_IRQ,    /* flags: vector */
	TRACE_POLICY, /* comm: name; id: HZ; b: ns per tick */
	TRACE_AFFINITY, /* id, comm; b: the CPUs below 64 that it may use now. A child has its parent's */
	TRACE_EVENTS
};

#define TRACE_ALL	  ((1u << TRACE_EVENTS) - 2)
#define TRACE_IPI_RESCHED 0
#define TRACE_IPI_MIGRATE 1

/* Why a CPU looked for work elsewhere. */
enum balance_reason { BALANCE_NEW_IDLE, BALANCE_IDLE_TICK, BALANCE_BUSY_TICK };

/* Why a task's priority or score changed. */
enum score_cause {
	SCORE_WAKE,   /* it slept */
	SCORE_SLICE,  /* its slice ended */
	SCORE_FORK,   /* it forked or was forked */
	SCORE_REAPED, /* it took over from a dead child */
	SCORE_ATTR,   /* nice or class was set */
	SCORE_LENT,   /* priority was lent to it, or no longer is */
	SCORE_OTHER
};

struct trace_record {
	u64 time; /* ns */
	u8 event, flags;
	union {
		u16 a;
		struct {
			u8 state, how; /* TRACE_SWITCH */
		};
	};
	u32 id;
	union {
		u64 b;
		struct {
			u32 prev; /* TRACE_SWITCH */
			u16 prev_prio, next_prio;
		};
		u16 h[4]; /* "prio, CPU, ..." */
	};
	char comm[16];
};
_Static_assert(sizeof(struct trace_record) == 40, "the readers know this format");

/* Head of a page of a ring. Pages are numbered from 1 for ever; page n is in place n % pages. */
struct trace_page {
	u64 number; /* 0: never written */
	u32 cpu, version;
};

/* All (cpu): that CPU alone writes, interrupts off. 64 bytes, so that CPUs do not share lines. */
struct trace_ring {
	struct trace_record *next, *end; /* where the next record goes; end of its page */
	u8 *pages;			 /* constant after trace_alloc() */
	u64 number;			 /* of the page being written */
	u64 physical;			 /* of pages, for readers outside the machine; constant */
	u64 spare[3];
};

/* Found by name and magic number, in the image or in a dump of memory. */
struct trace_control {
	u64 magic;
	u32 version, record_size, page_size, nr_pages; /* pages of each ring; 0: no rings */
	u32 nr_cpus, spare;
	u64 first; /* pages up to this number were cleared; no reader wants them */
	struct trace_ring rings[MAX_CPUS];
};

extern struct trace_control trace_control;
/* Bit 1 << TRACE_x: that event is recorded. One aligned store changes it. */
extern u32 trace_mask;

/*
 * Two instructions, a test of memory and a branch. The empty statement says that the mask may have changed: the compiler would
 * otherwise read it ahead, into a register, and need three.
 */
#define trace_on(event)                                  \
	({                                               \
		__asm__ volatile("" : "+m"(trace_mask)); \
		unlikely(trace_mask &(1u << (event)));   \
	})

/**
 * trace_alloc() - make the rings, @bytes each (rounded down to a power of two pages), @physical gives addresses for readers
 * outside. Return: 0, -ENOMEM, -EBUSY while another call makes them. Context: task or start-up; further calls return 0.
 */
int trace_alloc(size_t bytes, u64 (*physical)(const void *));

/** trace_start() - record the events of @mask from now on; each online CPU gets a TRACE_START. Context: as machine_stop_others(). */
void trace_start(u32 mask);

/** trace_stop() - record nothing from now on. Returns when no CPU writes any more. Context: as trace_start(). */
void trace_stop(void);

/** trace_clear() - forget what was recorded. Context: as trace_start(). */
void trace_clear(void);

/** trace_parse() - "all", "none" or names of events and groups, separated by commas. Return: whether all were known. */
bool trace_parse(const char *text, u32 *mask);

/** trace_event_name() - name of an event, as in filters and dumps; NULL from TRACE_EVENTS on. */
const char *trace_event_name(unsigned event);

/** trace_pages() - Return: how many pages of @cpu's ring can be read, from number *@first on; the last may be partly filled. */
u64 trace_pages(unsigned cpu, u64 *first);

/**
 * trace_page_at() - page @number of @cpu's ring, or NULL if it is overwritten or not begun. @used: bytes of it that hold something. If
 * something is recorded meanwhile the reader must look at the page's number again after it has copied it.
 */
const struct trace_page *trace_page_at(unsigned cpu, u64 number, size_t *used);

/* ---- the hooks' slow parts; interrupts off. Use the inline functions below. ---- */
void trace_start_cpu(struct runq *rq);
void trace_switch_record(const struct task *prev, const struct task *next, unsigned how);
void trace_wake_record(unsigned event, struct runq *rq, const struct task *p, u32 flags);
void trace_migrate_record(const struct task *p, unsigned to);
void trace_fork_record(struct runq *rq, const struct task *child);
void trace_affinity_record(const struct task *p);
void trace_exec_record(const struct task *t);
void trace_exit_record(struct runq *rq, const struct task *t);
void trace_score_record(struct runq *rq, const struct task *p, enum score_cause cause, s64 score);
void trace_balance_record(struct runq *rq, enum balance_reason reason, struct runq *from,
			  unsigned moved);
void trace_tick_record(struct runq *rq, u64 billed);
void trace_cpu_record(unsigned event, unsigned flags, u32 id);
void trace_policy_record(const char *name);

/** trace_switch() - this CPU goes from @prev to @next, whose exec_start is set. */
static inline void trace_switch(const struct task *prev, const struct task *next, unsigned how)
{
	if (trace_on(TRACE_SWITCH))
		trace_switch_record(prev, next, how);
}

/** trace_waking() - before @p is placed; @rq is the queue of its last CPU, locked. */
static inline void trace_waking(struct runq *rq, const struct task *p, u32 flags)
{
	if (trace_on(TRACE_WAKING))
		trace_wake_record(TRACE_WAKING, rq, p, flags);
}

/** trace_wakeup() - @p is on @rq now, locked and counted. */
static inline void trace_wakeup(struct runq *rq, const struct task *p, u32 flags)
{
	if (trace_on(TRACE_WAKEUP))
		trace_wake_record(TRACE_WAKEUP, rq, p, flags);
}

static inline void trace_migrate(const struct task *p, unsigned to)
{
	if (trace_on(TRACE_MIGRATE))
		trace_migrate_record(p, to);
}

static inline void trace_affinity(const struct task *p)
{
	if (trace_on(TRACE_AFFINITY))
		trace_affinity_record(p);
}

static inline void trace_fork(struct runq *rq, const struct task *child)
{
	if (trace_on(TRACE_FORK))
		trace_fork_record(rq, child);
}

/** trace_exec() - the current task @t has its new name. Context: any. */
static inline void trace_exec(const struct task *t)
{
	if (trace_on(TRACE_EXEC))
		trace_exec_record(t);
}

static inline void trace_exit(struct runq *rq, const struct task *t)
{
	if (trace_on(TRACE_EXIT))
		trace_exit_record(rq, t);
}

/** trace_balance() - @rq looked for work: @moved tasks came from @from, NULL if nobody had too many. */
static inline void trace_balance(struct runq *rq, enum balance_reason reason, struct runq *from,
				 unsigned moved)
{
	if (trace_on(TRACE_BALANCE))
		trace_balance_record(rq, reason, from, moved);
}

static inline void trace_tick(struct runq *rq, u64 billed)
{
	if (trace_on(TRACE_TICK))
		trace_tick_record(rq, billed);
}

static inline void trace_ipi_send(unsigned kind, unsigned cpu)
{
	if (trace_on(TRACE_IPI_SEND))
		trace_cpu_record(TRACE_IPI_SEND, kind, cpu);
}

static inline void trace_ipi(unsigned kind)
{
	if (trace_on(TRACE_IPI))
		trace_cpu_record(TRACE_IPI, kind, 0);
}

static inline void trace_irq(unsigned vector)
{
	if (trace_on(TRACE_IRQ))
		trace_cpu_record(TRACE_IRQ, vector, 0);
}

/** trace_policy() - the running policy is @name now. */
static inline void trace_policy(const char *name)
{
	if (trace_on(TRACE_POLICY))
		trace_policy_record(name);
}

#endif

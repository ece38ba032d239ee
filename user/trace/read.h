// SPDX-License-Identifier: MIT
/*
 * The records of /dev/trace as one stream in order of time, and what is known of the tasks in it. The format is
 * kernel/sched/trace.h's; the order and the sums are those of tools/tracelib.py, and a test compares the two.
 */
#ifndef TRACE_READ_H
#define TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_CPUS 255

enum kind {
	LOST, /* no record: here some of this CPU's are missing; id says how many */
	START,
	SWITCH,
	WAKING,
	WAKEUP,
	MIGRATE,
	FORK,
	EXEC,
	EXIT,
	SCORE,
	SWAP,
	BALANCE,
	IPI_SEND,
	IPI,
	TICK,
	IRQ,
	POLICY,
	AFFINITY,
	KINDS
};

/* As in the rings. */
struct record {
	uint64_t time;
	uint8_t kind, flags;
	uint16_t a;
	uint32_t id;
	uint64_t b;
	char comm[16];
};

struct event {
	struct record r;
	unsigned cpu;
	char comm[17]; /* of r, without what would cut a word of an output line in two */
};

/* Fields of a SWITCH. */
#define PREV(r)	     ((uint32_t)(r)->b)
#define PREV_PRIO(r) ((int16_t)((r)->b >> 32))
#define NEXT_PRIO(r) ((int16_t)((r)->b >> 48))

struct stream {
	unsigned cpus;
	uint64_t end;  /* time of the last record */
	uint64_t lost; /* records, so far */
	struct page {
		uint64_t missing;	     /* records between this page and the one before it */
		struct record *first, *last; /* what it holds: [first, last) */
	} * pages;
	struct cursor {
		struct page *page, *end;
		struct record *next;
		bool gap_told;
	} at[MAX_CPUS];
};

/** stream_open() - read all of @fd (/dev/trace, stopped). Ends the program with a message if that cannot be. */
void stream_open(struct stream *s, int fd);

/** stream_next() - Return: whether there was one more event. Equal times: lower CPU first; a CPU's own order is kept. */
bool stream_next(struct stream *s, struct event *e);

/** state_letters() - what became of the task that switch @r put off its CPU, as ftrace writes it. */
const char *state_letters(const struct record *r);

/** A task of the trace. Idle tasks are one for each CPU. */
struct task {
	struct task *chain;
	int64_t id; /* idle: -1 - CPU */
	char comm[17];
	bool idle;
	bool heard; /* it was switched or woken in this trace */
	bool waits;
	uint64_t run, wait, switches, max_wait, max_start, max_end;
	uint64_t since; /* it waits */
	char name[4];	/* in the map */
	/* ftrace's counters: the last values told, under which name */
	char told_prio[17], told_score[17];
	int64_t prio, score;
};

/** task_find() - the task @id, made if new; idle tasks (@id 0) are told apart by @cpu. */
struct task *task_find(uint32_t id, unsigned cpu);

/** task_all() - every task, as an array of *@n that stays the reader's. */
struct task **task_all(size_t *n);

#endif

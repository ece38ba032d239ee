// SPDX-License-Identifier: MIT
/*
 * The map of who ran where, the table of waiting times and their histogram. Sums are made as perf sched latency makes
 * them: a wait begins with a wake-up or when a task is put off its CPU though it could go on, and ends when it runs.
 */
#include "trace/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BINS 40 /* of waits: below 1 us, below 2, below 4 .. */

/* A0, B0 .. Z0, A1 ..: as perf names tasks in its map. */
static void short_name(char *name, unsigned n)
{
	name[0] = (char)('A' + n % 26);
	name[1] = "0123456789abcdefghijklmnopqrstuvwxyz"[n / 26 % 36];
	name[2] = '\0';
}

void show_map(struct stream *s)
{
	const char *now[MAX_CPUS];
	unsigned names = 0;
	struct event e;

	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
		now[cpu] = "  ";
	while (stream_next(s, &e)) {
		struct task *t = NULL;
		bool fresh;

		if (e.r.kind == LOST) {
			printf("  (CPU %u: %u records lost)\n", e.cpu, e.r.id);
			now[e.cpu] = "? ";
		}
		if (e.r.kind != SWITCH && e.r.kind != START)
			continue;
		if (e.r.id)
			t = task_find(e.r.id, e.cpu);
		fresh = t && !t->name[0];
		if (fresh)
			short_name(t->name, names++);
		now[e.cpu] = t ? t->name : ". ";
		printf("  ");
		for (unsigned cpu = 0; cpu < s->cpus; cpu++)
			printf("%c%s ", cpu == e.cpu ? '*' : ' ', now[cpu]);
		printf("%5" PRIu64 ".%06" PRIu64 " secs", e.r.time / 1000000000,
		       e.r.time % 1000000000 / 1000);
		if (fresh)
			printf(" %s => %s:%u", t->name, e.comm, e.r.id);
		putchar('\n');
	}
}

/* ---- waiting times ---- */

static struct {
	struct task *runs; /* NULL: not known */
	uint64_t since;
} cpus[MAX_CPUS];
static uint64_t bins[BINS];

static void slice_ends(unsigned cpu, uint64_t now)
{
	if (cpus[cpu].runs)
		cpus[cpu].runs->run += now - cpus[cpu].since;
}

static void slice_begins(unsigned cpu, struct task *t, uint64_t now)
{
	cpus[cpu].runs = t;
	cpus[cpu].since = now;
}

static void wait_begins(struct task *t, uint64_t now)
{
	t->waits = t->heard = true;
	t->since = now;
}

static void wait_ends(struct task *t, uint64_t now)
{
	uint64_t waited = now - t->since;
	unsigned bin = 0;

	if (!t->heard) /* it waited before the trace began */
		waited = 0;
	else if (!t->waits)
		return;
	t->heard = true;
	t->waits = false;
	t->wait += waited;
	t->switches++;
	if (waited > t->max_wait) {
		t->max_wait = waited;
		t->max_start = t->since;
		t->max_end = now;
	}
	while (bin < BINS - 1 && waited >= 1000ull << bin)
		bin++;
	bins[bin]++;
}

static void on_switch(const struct event *e)
{
	const struct record *r = &e->r;
	struct task *prev = task_find(PREV(r), e->cpu), *next = task_find(r->id, e->cpu);
	const char *state = state_letters(r);

	strcpy(next->comm, e->comm);
	slice_ends(e->cpu, r->time);
	prev->waits = false;
	prev->heard = true;
	if (!prev->idle && state[0] == 'R')
		wait_begins(prev, r->time);
	if (!next->idle)
		wait_ends(next, r->time);
	slice_begins(e->cpu, next, r->time);
}

static bool runs_somewhere(const struct task *t, unsigned n)
{
	for (unsigned cpu = 0; cpu < n; cpu++)
		if (cpus[cpu].runs == t)
			return true;
	return false;
}

/* After a gap nobody knows since when who waits. */
static void forget_waits(void)
{
	size_t n;
	struct task **tasks = task_all(&n);

	for (size_t i = 0; i < n; i++)
		tasks[i]->waits = false;
}

static void sum_up(struct stream *s)
{
	struct event e;
	struct task *t;

	while (stream_next(s, &e)) {
		switch (e.r.kind) {
		case SWITCH:
			on_switch(&e);
			break;
		case START:
			t = task_find(e.r.flags == 1 ? 0 : e.r.id, e.cpu);
			strcpy(t->comm, e.comm);
			slice_ends(e.cpu, e.r.time);
			slice_begins(e.cpu, t, e.r.time);
			break;
		case LOST:
			cpus[e.cpu].runs = NULL;
			forget_waits();
			break;
		case WAKEUP:
			t = task_find(e.r.id, e.cpu);
			strcpy(t->comm, e.comm);
			if (!t->waits && !runs_somewhere(t, s->cpus))
				wait_begins(t, e.r.time);
			break;
		case MIGRATE:
		case FORK:
		case EXEC:
		case EXIT:
			strcpy(task_find(e.r.id, e.cpu)->comm, e.comm);
			break;
		}
	}
	for (unsigned cpu = 0; cpu < s->cpus; cpu++)
		slice_ends(cpu, s->end);
}

/* Most run time first. */
static int by_run(const void *a, const void *b)
{
	const struct task *x = *(struct task *const *)a, *y = *(struct task *const *)b;

	if (x->run != y->run)
		return x->run < y->run ? 1 : -1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static double ms(uint64_t ns)
{
	return (double)ns / 1e6;
}

static void rule(void)
{
	static const char dashes[] = "--------------------------------------------------";

	printf(" %s%s%s\n", dashes, dashes, dashes + 1);
}

void show_latency(struct stream *s)
{
	uint64_t run = 0, switches = 0;
	struct task **tasks;
	size_t n;

	sum_up(s);
	tasks = task_all(&n);
	qsort(tasks, n, sizeof(struct task *), by_run);
	rule();
	printf("  %-21s |  %11s  | %8s | %15s | %15s | %25s | %22s |\n", "Task", "Runtime ms",
	       "Switches", "Avg delay ms", "Max delay ms", "Max delay start", "Max delay end");
	rule();
	for (size_t i = 0; i < n; i++) {
		struct task *t = tasks[i];
		char label[32];

		if (t->idle)
			continue;
		run += t->run;
		switches += t->switches;
		snprintf(label, sizeof(label), "%s:%d", t->comm, (int)t->id);
		printf("  %-21s | %10.3f ms | %8" PRIu64 " | avg: %7.3f ms | max: %7.3f ms", label,
		       ms(t->run), t->switches, ms(t->switches ? t->wait / t->switches : 0),
		       ms(t->max_wait));
		printf(" | max start: %4" PRIu64 ".%06" PRIu64 " s | max end: %4" PRIu64
		       ".%06" PRIu64 " s |\n",
		       t->max_start / 1000000000, t->max_start % 1000000000 / 1000,
		       t->max_end / 1000000000, t->max_end % 1000000000 / 1000);
	}
	rule();
	printf("  TOTAL:                | %10.3f ms | %8" PRIu64 " |\n", ms(run), switches);
	if (s->lost)
		printf("  %" PRIu64 " records were lost: sums are too small\n", s->lost);
}

void show_hist(struct stream *s)
{
	uint64_t most = 1, total = 0;
	int last = 0;

	sum_up(s);
	for (int i = 0; i < BINS; i++) {
		total += bins[i];
		if (bins[i]) {
			last = i;
			most = bins[i] > most ? bins[i] : most;
		}
	}
	printf("%12s %10s   %" PRIu64 " waits\n", "below us", "waits", total);
	for (int i = 0; i <= last; i++) {
		int stars = (int)((bins[i] * 50 + most - 1) / most);

		printf("%12llu %10" PRIu64 " |%.*s\n", 1ull << i, bins[i], stars,
		       "**************************************************");
	}
}

// SPDX-License-Identifier: MIT
/*
 * The crowd and its victims, see crowd.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "crowd.h"
#include "wl.h"

#define PERIOD_NS 50000000
#define WORK_NS	  2500000

void wl_hog_step(struct wl_hog *h)
{
	int64_t wall, clock, gap;

	if (!h->last) {
		h->clock = wl_cpu_time();
		h->last = wl_now();
		if (!h->start)
			h->start = h->last;
		h->gap = h->last - h->start;
	}
	wl_spin();
	wall = wl_now();
	clock = wl_cpu_time();
	gap = wall - h->last - (clock - h->clock);
	if (gap > h->gap)
		h->gap = gap;
	h->cpu += clock - h->clock;
	h->clock = clock;
	h->rounds++;
	h->last = wall;
}

void wl_hog(int64_t end, const volatile sig_atomic_t *stop, struct wl_hog *h)
{
	do
		wl_hog_step(h);
	while (!(stop && *stop) && h->last < end);
}

int64_t wl_hog_gap(const struct wl_hog *h, int64_t now)
{
	int64_t lasting = now - (h->last ? h->last : h->start);

	return lasting > h->gap ? lasting : h->gap;
}

static void note_late(struct wl_late *l, int64_t late)
{
	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 256;
		l->late = realloc(l->late, l->room * sizeof(*l->late));
		if (!l->late)
			wl_die("memory");
	}
	l->late[l->n++] = late;
}

void wl_probe(int64_t end, const volatile int *running, struct wl_late *l)
{
	int64_t start = wl_now() + PERIOD_NS, over;

	while (end ? start < end : *running != 0) {
		wl_sleep_until(start);
		note_late(l, wl_now() - start);
		wl_burn(WORK_NS);
		start += PERIOD_NS;
		over = wl_now() - start;
		l->periods++;
		l->missed += over > 0;
		if (over > PERIOD_NS) {
			l->periods += over / PERIOD_NS;
			l->missed += over / PERIOD_NS;
			start += over / PERIOD_NS * PERIOD_NS;
		}
	}
	if (end)
		wl_sleep_until(end);
}

struct shared {
	volatile int running;
	struct wl_hog hog;
};

static pid_t start_member(const struct crowd *c, long id, struct shared *s)
{
	pid_t pid = wl_fork();

	if (pid == 0) {
		c->member(id);
		__sync_fetch_and_sub(&s->running, 1);
		_exit(0);
	}
	return pid;
}

static int append(char *line, size_t size, int n, const struct crowd *c, const struct shared *s,
		  int64_t elapsed, struct wl_late *l)
{
	if (c->hog)
		n += snprintf(line + n, size - n, " hog_share_pct=%.1f hog_gap_max_ms=%.1f",
			      100.0 * s->hog.cpu / elapsed,
			      wl_hog_gap(&s->hog, s->hog.start + elapsed) / 1e6);
	if (c->probe) {
		wl_sort(l->late, l->n);
		n += snprintf(line + n, size - n,
			      " probe_periods=%ld probe_missed=%ld probe_late_p50_us=%.1f "
			      "probe_late_p99_us=%.1f probe_late_max_us=%.1f",
			      l->periods, l->missed, wl_percentile(l->late, l->n, 50) / 1e3,
			      wl_percentile(l->late, l->n, 99) / 1e3,
			      wl_percentile(l->late, l->n, 100) / 1e3);
	}
	return n;
}

void crowd_run(const struct crowd *c, const char *head)
{
	struct shared *s = wl_shared(sizeof(*s));
	pid_t *pid = calloc(c->procs, sizeof(*pid)), hog = 0;
	struct wl_late l = {0};
	int64_t start, elapsed, used = 0;
	char line[600];

	if (!pid)
		wl_die("memory");
	s->running = c->procs;
	start = wl_now();
	s->hog.start = start;
	if (c->hog && (hog = wl_fork()) == 0)
		wl_hog(INT64_MAX, NULL, &s->hog);
	for (long i = 0; i < c->procs; i++)
		pid[i] = start_member(c, i, s);
	if (c->probe)
		wl_probe(c->length ? start + c->length : 0, &s->running, &l);
	else if (c->length)
		wl_sleep_until(start + c->length);
	else
		while (s->running)
			wl_sleep(PERIOD_NS);
	elapsed = wl_now() - start;
	append(line, sizeof(line), 0, c, s, elapsed, &l);
	/* All at once: while one waits for the first to end, the others would go on. */
	for (long i = 0; i < c->procs; i++)
		kill(pid[i], SIGKILL);
	for (long i = 0; i < c->procs; i++)
		used += wl_end(pid[i]);
	if (hog)
		wl_end(hog);
	wl_result(c->name, "%s procs=%ld elapsed_s=%.3f members_share_pct=%.1f%s", head, c->procs,
		  elapsed / 1e9, 100.0 * used / elapsed, c->hog || c->probe ? line : "");
	free(l.late);
	free(pid);
}

// SPDX-License-Identifier: MIT
/*
 * spread - N hogs; how evenly does the scheduler spread them over tasks and CPUs?
 *
 * Nothing watches from outside, because a watcher would be one more task to balance. Each hog
 * notes its own stints: from when to when it ran without being preempted, and on which CPU. A
 * preemption shows as wall time passing faster than the thread's CPU time. At the end the stints
 * of all hogs are put together: sums of CPU time give the shares and each CPU's load, holes in a
 * CPU's cover are idleness, and the CPU before and after a wait tells which queue a hog was in.
 *
 * A hog that waits and comes back on another CPU was moved at an unknown moment; queues are called
 * uneven only where they differ by more than one whichever moment that was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"

#define PREEMPTED_NS 500000  /* wall time ahead of CPU time by this much: someone else ran */
#define HOLE_NS	     5000000 /* no hog seen on a CPU for this long: it was idle */
#define STEP_NS	     5000000 /* queue lengths are compared this often */
#define PIN_S	     1.0     /* with --pinned: time spent on CPU 0 before the release */
#define MAX_STINTS   20000   /* per hog */
#define BATCH	     100     /* records per write; at most PIPE_BUF bytes, so they stay whole */

enum { REC_STINT, REC_CPU, REC_END };

struct record {
	int16_t kind, cpu;
	int32_t hog;
	int64_t from, to; /* REC_STINT: ns; REC_CPU: to = CPU time used there inside the window */
};

static double window_s = 10, settle_s = 2, busy_pct = 95, even_pct = 10;
static bool pinned, check, loose;
static int cpus[WL_MAX_CPUS], ncpu;

/* ---- in a hog ---- */

static struct record out[BATCH];
static int nout;

static void flush_records(int fd)
{
	wl_write_all(fd, out, nout * sizeof(out[0]));
	nout = 0;
}

static void emit(int fd, struct record r)
{
	out[nout++] = r;
	if (nout == BATCH || r.kind == REC_END)
		flush_records(fd);
}

static void hog(int fd, int id, int64_t start, int64_t from, int64_t to)
{
	static struct record stint[MAX_STINTS];
	static int64_t used[WL_MAX_CPUS];
	int64_t wall, cpu_time;
	int n = 0;

	wl_sleep_until(start);
	wall = wl_now();
	cpu_time = wl_cpu_time();
	stint[0] = (struct record){REC_STINT, wl_cpu(), id, wall, wall};
	while (wall < to) {
		int64_t wall_before = wall, cpu_before = cpu_time;
		int cpu;

		wl_spin();
		wall = wl_now();
		cpu_time = wl_cpu_time();
		cpu = wl_cpu();
		if (wall_before >= from && wall <= to)
			used[cpu] += cpu_time - cpu_before;
		if (wall - wall_before - (cpu_time - cpu_before) > PREEMPTED_NS ||
		    cpu != stint[n].cpu) {
			if (n < MAX_STINTS - 1)
				n++;
			stint[n] = (struct record){REC_STINT, cpu, id, wall, wall};
		}
		stint[n].to = wall;
	}
	for (int i = 0; i <= n; i++)
		emit(fd, stint[i]);
	for (int i = 0; i < ncpu; i++)
		emit(fd, (struct record){REC_CPU, cpus[i], id, 0, used[cpus[i]]});
	emit(fd, (struct record){.kind = REC_END, .hog = id});
	_exit(0);
}

/* ---- putting it together ---- */

struct history {
	struct record *stint;
	int n, room;
	int cursor; /* for walking forward in time */
	int64_t used;
};

static void add_stint(struct history *h, struct record r)
{
	if (h->n == h->room) {
		h->room = h->room ? h->room * 2 : 64;
		h->stint = realloc(h->stint, h->room * sizeof(r));
		if (!h->stint)
			wl_die("memory");
	}
	h->stint[h->n++] = r;
}

static int by_start(const void *a, const void *b)
{
	const struct record *x = a, *y = b;

	return (x->from > y->from) - (x->from < y->from);
}

/*
 * Holes in one CPU's cover between from and to. Returns the end of the last one, or from; *first
 * is when a hog first ran there.
 */
static int64_t last_hole(const struct history *h, int nhog, int cpu, int64_t from, int64_t to,
			 int64_t *first)
{
	struct record *all = NULL;
	int64_t covered = from, hole = from;
	int n = 0;

	for (int i = 0; i < nhog; i++)
		n += h[i].n;
	all = malloc((n + 1) * sizeof(*all));
	if (!all)
		wl_die("memory");
	n = 0;
	for (int i = 0; i < nhog; i++)
		for (int j = 0; j < h[i].n; j++)
			if (h[i].stint[j].cpu == cpu && h[i].stint[j].to > from)
				all[n++] = h[i].stint[j];
	qsort(all, n, sizeof(*all), by_start);
	*first = n ? (all[0].from > from ? all[0].from : from) : to;
	for (int i = 0; i < n; i++) {
		if (all[i].from - covered > HOLE_NS)
			hole = all[i].from;
		if (all[i].to > covered)
			covered = all[i].to;
	}
	if (to - covered > HOLE_NS)
		hole = to;
	free(all);
	return hole;
}

/* Is it certain that two queues differ by more than one at time t? */
static bool uneven_at(struct history *h, int nhog, int64_t t)
{
	int sure[WL_MAX_CPUS] = {0}, maybe[WL_MAX_CPUS] = {0};
	int longest = 0, shortest = nhog;

	for (int i = 0; i < nhog; i++) {
		struct history *x = &h[i];
		int here;

		while (x->cursor + 1 < x->n && x->stint[x->cursor + 1].from <= t)
			x->cursor++;
		here = x->stint[x->cursor].cpu;
		if (t > x->stint[x->cursor].to && x->cursor + 1 < x->n &&
		    x->stint[x->cursor + 1].cpu != here) {
			maybe[here]++;
			maybe[x->stint[x->cursor + 1].cpu]++;
		} else {
			sure[here]++;
		}
	}
	for (int i = 0; i < ncpu; i++) {
		int c = cpus[i];

		longest = sure[c] > longest ? sure[c] : longest;
		shortest = sure[c] + maybe[c] < shortest ? sure[c] + maybe[c] : shortest;
	}
	return longest - shortest > 1;
}

static int64_t last_uneven(struct history *h, int nhog, int64_t from, int64_t to)
{
	int64_t last = from;

	for (int64_t t = from; t < to; t += STEP_NS)
		if (uneven_at(h, nhog, t))
			last = t + STEP_NS;
	return last;
}

static int moves(const struct history *h, int nhog)
{
	int n = 0;

	for (int i = 0; i < nhog; i++)
		for (int j = 1; j < h[i].n; j++)
			n += h[i].stint[j].cpu != h[i].stint[j - 1].cpu;
	return n;
}

static int report(struct history *h, int nhog, const int64_t *cpu_used, int64_t release, int64_t to)
{
	double window = window_s * 1e9, least = 1e18, most = 0, sum = 0, idlest = 1e18;
	int64_t idle = release, spread = release, first, uneven;
	bool bad;

	for (int i = 0; i < nhog; i++) {
		printf("hog %d: %.2f %% of one CPU\n", i, 100 * h[i].used / window);
		least = h[i].used < least ? h[i].used : least;
		most = h[i].used > most ? h[i].used : most;
		sum += h[i].used;
	}
	for (int i = 0; i < ncpu; i++) {
		int64_t hole = last_hole(h, nhog, cpus[i], release, to, &first);

		printf("cpu %d: busy %.2f %%, first hog after %.1f ms\n", cpus[i],
		       100 * cpu_used[cpus[i]] / window, (first - release) / 1e6);
		idlest = cpu_used[cpus[i]] < idlest ? cpu_used[cpus[i]] : idlest;
		idle = hole > idle ? hole : idle;
		spread = first > spread ? first : spread;
	}
	uneven = last_uneven(h, nhog, release, to);
	wl_result("spread",
		  "hogs=%d cpus=%d window_s=%g busy_min_pct=%.2f share_min_pct=%.2f "
		  "share_max_pct=%.2f share_range_pct=%.2f all_cpus_after_ms=%.1f "
		  "idle_until_ms=%.1f uneven_until_ms=%.1f migrations=%d",
		  nhog, ncpu, window_s, 100 * idlest / window, 100 * least / window,
		  100 * most / window, sum > 0 ? 100 * (most - least) * nhog / sum : 100,
		  (spread - release) / 1e6, (idle - release) / 1e6, (uneven - release) / 1e6,
		  moves(h, nhog));
	if (loose)
		bad = least * nhog < sum / 2 || spread - release > 5000000000LL;
	else if (pinned)
		bad = idle - release > 50000000 || uneven - release > 2000000000;
	else
		bad = 100 * idlest / window < busy_pct ||
		      100 * (most - least) * nhog > even_pct * sum;
	if (check)
		printf("spread: %s\n", bad ? "outside the bounds" : "within the bounds");
	return check && bad;
}

static void collect(int fd, struct history *h, int nhog, int64_t *cpu_used)
{
	struct record r;
	int ended = 0;

	while (ended < nhog && wl_read_all(fd, &r, sizeof(r)) == sizeof(r)) {
		if (r.kind == REC_STINT) {
			add_stint(&h[r.hog], r);
		} else if (r.kind == REC_CPU) {
			h[r.hog].used += r.to;
			cpu_used[r.cpu] += r.to;
		} else {
			ended++;
		}
	}
	if (ended < nhog) {
		fprintf(stderr, "spread: %d hogs were lost\n", nhog - ended);
		exit(1);
	}
}

int main(int argc, char **argv)
{
	static const struct wl_opt opts[] = {
		{"seconds", WL_REAL, &window_s, "length of the measured window (default 10)"},
		{"settle", WL_REAL, &settle_s, "seconds before the window begins (default 2)"},
		{"pinned", WL_FLAG, &pinned,
		 "keep all hogs on the first CPU for 1 s, then release"},
		{"busy", WL_REAL, &busy_pct, "bound: least busy CPU, per cent (default 95)"},
		{"even", WL_REAL, &even_pct, "bound: shares within X per cent (default 10)"},
		{"loose", WL_FLAG, &loose, "bounds for a host under load: half the mean, 5 s"},
		{"check", WL_FLAG, &check, "exit 1 if the bounds are not met"},
	};
	static const struct wl_program prog = {
		.usage = "spread [OPTIONS] [HOGS]",
		.about =
			"HOGS (default two per CPU) CPU hogs: CPU time per hog and per CPU over a window,\n"
			"and after the start, or the release with --pinned, when the last CPU got\n"
			"work, stopped being idle, and when queues last differed by more than one.\n"
			"Bounds: --busy and --even; with --pinned no CPU idle after 50 ms and queues\n"
			"even after 2 s; with --loose no share under half the mean, all CPUs in 5 s.",
		.opts = opts,
		.nopts = 7,
		.max_args = 1,
	};
	static int64_t cpu_used[WL_MAX_CPUS];
	int arg = wl_options(&prog, argc, argv);
	int64_t start, release, from, to;
	struct history *h;
	pid_t *pid;
	int fd[2], nhog;

	ncpu = wl_cpus(cpus);
	nhog = arg < argc ? wl_number(argv[arg], "HOGS") : 2 * ncpu;
	h = calloc(nhog, sizeof(*h));
	pid = calloc(nhog, sizeof(*pid));
	if (!h || !pid || pipe(fd) < 0)
		wl_die("set-up");
	if (pinned && wl_pin(0, cpus[0]) < 0)
		wl_die("affinity");
	start = wl_now() + 100000000 + nhog * 1000000LL;
	release = pinned ? start + (int64_t)(PIN_S * 1e9) : start;
	from = release + settle_s * 1e9;
	to = from + window_s * 1e9;
	for (int i = 0; i < nhog; i++) {
		pid[i] = fork();
		if (pid[i] < 0)
			wl_die("fork");
		if (pid[i] == 0)
			hog(fd[1], i, start, from, to);
	}
	close(fd[1]);
	if (pinned) {
		/* From another CPU, so that the releasing itself need not wait behind the hogs. */
		wl_unpin(0, cpus + (ncpu > 1), ncpu > 1 ? ncpu - 1 : 1);
		wl_sleep_until(release);
		for (int i = 0; i < nhog; i++)
			if (wl_unpin(pid[i], cpus, ncpu) < 0)
				wl_die("release");
		release = wl_now();
	}
	collect(fd[0], h, nhog, cpu_used);
	while (wait(NULL) > 0)
		;
	return report(h, nhog, cpu_used, release, to);
}

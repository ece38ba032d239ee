// SPDX-License-Identifier: MIT
/*
 * massive_intr - many equal processes that work 8 ms and sleep 1 ms; do they get equal shares?
 *
 * Satoru Takeuchi, March 2007. On Linux 2.6.20 with one CPU and 200 processes, four of them took
 * 98 % of it: who once ran had slept and kept its bonus, who did not run could not sleep. A fair
 * scheduler gives all the same count of loops.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/wl.h"

static double work_ms = 8, sleep_ms = 1;

static void member(int64_t start, int64_t end, volatile long *loops)
{
	wl_sleep_until(start);
	while (wl_now() < end) {
		wl_burn(work_ms * 1e6);
		wl_sleep(sleep_ms * 1e6);
		(*loops)++;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	static bool quiet;
	static const struct wl_opt opts[] = {
		{"work", WL_REAL, &work_ms, "ms of CPU per loop (default 8)"},
		{"sleep", WL_REAL, &sleep_ms, "ms of sleep per loop (default 1)"},
		{"quiet", WL_FLAG, &quiet, "no line for each process"},
	};
	static const struct wl_program prog = {
		.usage = "massive_intr [OPTIONS] PROCS SECONDS",
		.about =
			"PROCS processes work 8 ms and sleep 1 ms for SECONDS; prints each one's loops\n"
			"and reports the least, the most, and the share of the busiest four and eight.",
		.opts = opts,
		.nopts = 3,
		.min_args = 2,
		.max_args = 2,
	};
	int arg = wl_options(&prog, argc, argv);
	long procs = wl_number(argv[arg], "PROCS"), total = 0, zero = 0, top4 = 0, top8 = 0;
	double seconds = wl_number(argv[arg + 1], "SECONDS");
	volatile long *loops;
	int64_t start, *sorted;
	pid_t *pid;

	wl_at_least("PROCS", procs, 1);
	wl_at_least("--work", work_ms, 0);
	wl_at_least("--sleep", sleep_ms, 0);
	loops = wl_shared(procs * sizeof(*loops));
	sorted = calloc(procs, sizeof(*sorted));
	pid = calloc(procs, sizeof(*pid));
	if (!sorted || !pid)
		wl_die("memory");
	/* All begin together, when all are there. */
	start = wl_now() + 100000000 + procs * 1000000;
	for (long i = 0; i < procs; i++) {
		pid[i] = wl_fork();
		if (pid[i] == 0)
			member(start, start + (int64_t)(seconds * 1e9), &loops[i]);
	}
	/* Who starves does not get to see the end: count now, then end all. */
	wl_sleep_until(start + (int64_t)(seconds * 1e9));
	for (long i = 0; i < procs; i++)
		sorted[i] = loops[i];
	for (long i = 0; i < procs; i++) {
		wl_end(pid[i]);
		if (!quiet)
			printf("%06d\t%08ld\n", (int)pid[i], (long)sorted[i]);
	}
	wl_sort(sorted, procs);
	for (long i = 0; i < procs; i++) {
		long n = sorted[procs - 1 - i];

		total += n;
		zero += n == 0;
		top4 += i < 4 ? n : 0;
		top8 += i < 8 ? n : 0;
	}
	wl_result("massive_intr",
		  "procs=%ld seconds=%g loops=%ld loops_min=%ld loops_max=%ld zero=%ld "
		  "min_max_ratio=%.3f top4_share_pct=%.1f top8_share_pct=%.1f",
		  procs, seconds, total, (long)sorted[0], (long)sorted[procs - 1], zero,
		  sorted[procs - 1] ? (double)sorted[0] / sorted[procs - 1] : 0,
		  total ? 100.0 * top4 / total : 0, total ? 100.0 * top8 / total : 0);
	return 0;
}

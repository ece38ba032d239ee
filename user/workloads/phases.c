// SPDX-License-Identifier: MIT
/*
 * phases - one task that is interactive for ten seconds and a hog for the next ten, and so on.
 *
 * For the question of August 2003 whether an estimator may let a task lose what it gained: the
 * share of CPU in each phase and the dynamic priority at its end, beside hogs on the same CPU.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/wl.h"

static double period_ms = 50, work_ms = 2.5;

static void interactive(int64_t end)
{
	int64_t next = wl_now();

	while (wl_now() < end) {
		wl_burn(work_ms * 1e6);
		next += period_ms * 1e6;
		if (next < wl_now())
			next = wl_now();
		else
			wl_sleep_until(next < end ? next : end);
	}
}

int main(int argc, char **argv)
{
	static double length_s = 10, scale = 1;
	static long hogs = 1;
	static const struct wl_opt opts[] = {
		{"length", WL_REAL, &length_s, "seconds of a phase (default 10)"},
		{"period", WL_REAL, &period_ms,
		 "ms between wake-ups when interactive (default 50)"},
		{"work", WL_REAL, &work_ms, "ms of CPU per wake-up (default 2.5)"},
		{"hogs", WL_INT, &hogs, "hogs on the same CPU (default 1)"},
		{"scale", WL_REAL, &scale, "multiply the length by X"},
	};
	static const struct wl_program prog = {
		.usage = "phases [OPTIONS] [PHASES]",
		.about =
			"Alternates interactive and hog phases, PHASES (default 6) in all; prints share\n"
			"and priority for each and reports the mean share of either kind.",
		.opts = opts,
		.nopts = 5,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv), cpus[WL_MAX_CPUS];
	long phases = arg < argc ? wl_number(argv[arg], "PHASES") : 6, count[2] = {0};
	double sum[2] = {0}, hog_max = 0;
	struct wl_hog *h = wl_shared(sizeof(*h));
	pid_t *pid;

	wl_at_least("PHASES", phases, 1);
	wl_at_least("--length", length_s, 0.001);
	wl_at_least("--scale", scale, 0.001);
	wl_at_least("--hogs", hogs, 0);
	wl_at_least("--period", period_ms, 0.01);
	wl_at_least("--work", work_ms, 0);
	wl_cpus(cpus);
	pid = calloc(hogs + 1, sizeof(*pid));
	if (!pid || wl_pin(0, cpus[0]) < 0)
		wl_die("set-up");
	for (long i = 0; i < hogs; i++) {
		pid[i] = wl_fork();
		if (pid[i] == 0)
			wl_hog(INT64_MAX, NULL, h);
	}
	for (long i = 0; i < phases; i++) {
		int64_t start = wl_now(), cpu = wl_cpu_time();
		int64_t end = start + (int64_t)(length_s * scale * 1e9);
		bool hog = i % 2;
		double share;

		if (hog)
			while (wl_now() < end)
				wl_spin();
		else
			interactive(end);
		share = 100.0 * (wl_cpu_time() - cpu) / (wl_now() - start);
		printf("phase %ld: %s, %.1f %% of the CPU, prio %lld\n", i,
		       hog ? "hog" : "interactive", share, wl_proc_stat(getpid(), 18));
		sum[hog] += share;
		count[hog]++;
		if (hog && share > hog_max)
			hog_max = share;
	}
	wl_result("phases",
		  "phases=%ld length_s=%g hogs=%ld interactive_share_pct=%.1f hog_share_pct=%.1f "
		  "hog_share_max_pct=%.1f",
		  phases, length_s * scale, hogs, sum[0] / (count[0] ? count[0] : 1),
		  sum[1] / (count[1] ? count[1] : 1), hog_max);
	for (long i = 0; i < hogs; i++)
		wl_end(pid[i]);
	return 0;
}

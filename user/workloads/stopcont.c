// SPDX-License-Identifier: MIT
/*
 * stopcont - a hog is stopped for ten seconds and continued. Is it a hog still, or has it "slept"?
 *
 * The thread of August 2003: a job stopped by Ctrl-Z and continued came back with a sleeper's
 * bonus. Reported are its priority before the stop and at the continuing, and its share of the CPU
 * in the next second against another hog; half is fair.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/wl.h"

int main(int argc, char **argv)
{
	static double run_s = 5, stop_s = 10, look_s = 1;
	static const struct wl_opt opts[] = {
		{"run", WL_REAL, &run_s, "seconds both hogs run first (default 5)"},
		{"stop", WL_REAL, &stop_s, "seconds one is stopped (default 10)"},
		{"look", WL_REAL, &look_s, "seconds after it that count (default 1)"},
	};
	static const struct wl_program prog = {
		.usage = "stopcont [OPTIONS]",
		.about =
			"Two hogs on one CPU; one is stopped by SIGSTOP and continued. Reports its\n"
			"share in the second after that.",
		.opts = opts,
		.nopts = 3,
	};
	struct wl_hog *h = wl_shared(2 * sizeof(*h));
	int64_t start, elapsed, used[2], before[2];
	long long prio_run, prio_cont, prio_other;
	int cpu[WL_MAX_CPUS], ncpu;
	pid_t pid[2];

	wl_options(&prog, argc, argv);
	wl_at_least("--run", run_s, 0.01);
	wl_at_least("--stop", stop_s, 0);
	wl_at_least("--look", look_s, 0.01);
	ncpu = wl_cpus(cpu);
	for (int i = 0; i < 2; i++) {
		pid[i] = wl_fork();
		if (pid[i] == 0) {
			if (wl_pin(0, cpu[0]) < 0)
				wl_die("affinity");
			wl_hog(INT64_MAX, NULL, &h[i]);
		}
	}
	/* The observer stays away from the hogs if it can. */
	if (ncpu > 1 && wl_pin(0, cpu[1]) < 0)
		wl_die("affinity");
	wl_sleep(run_s * 1e9);
	prio_run = wl_proc_stat(pid[0], 18);
	if (kill(pid[0], SIGSTOP) < 0)
		wl_die("SIGSTOP");
	wl_sleep(stop_s * 1e9);
	before[0] = h[0].cpu;
	before[1] = h[1].cpu;
	prio_other = wl_proc_stat(pid[1], 18);
	start = wl_now();
	if (kill(pid[0], SIGCONT) < 0)
		wl_die("SIGCONT");
	prio_cont = wl_proc_stat(pid[0], 18);
	wl_sleep(look_s * 1e9);
	elapsed = wl_now() - start;
	for (int i = 0; i < 2; i++)
		used[i] = h[i].cpu - before[i];
	for (int i = 0; i < 2; i++)
		wl_end(pid[i]);
	wl_result("stopcont",
		  "stop_s=%g look_s=%.3f prio_before=%lld prio_continued=%lld prio_other=%lld "
		  "share_pct=%.1f other_share_pct=%.1f",
		  stop_s, elapsed / 1e9, prio_run, prio_cont, prio_other, 100.0 * used[0] / elapsed,
		  100.0 * used[1] / elapsed);
	return 0;
}

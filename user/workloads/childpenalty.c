// SPDX-License-Identifier: MIT
/*
 * childpenalty - a fully interactive parent forks A, A forks B, B has 200 ms of work to do against
 * eight hogs. How long does that take?
 *
 * A new xterm under a compile, January 2002: what a child inherits of its parent's sleep average is
 * paid once per fork, so with two thirds the grandchild is no longer interactive, with 80 or 95 per
 * cent it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/wl.h"

int main(int argc, char **argv)
{
	static double nap_s = 12, work_ms = 200;
	static long hogs = 8, repeat = 5;
	static const struct wl_opt opts[] = {
		{"nap", WL_REAL, &nap_s, "seconds of sleep before each chain (default 12)"},
		{"work", WL_REAL, &work_ms, "ms of CPU of the grandchild (default 200)"},
		{"hogs", WL_INT, &hogs, "hogs on the same CPU (default 8)"},
		{"repeat", WL_INT, &repeat, "chains (default 5)"},
	};
	static const struct wl_program prog = {
		.usage = "childpenalty [OPTIONS]",
		.about =
			"Sleeps, then forks a child that forks a child that works 200 ms beside hogs;\n"
			"reports the time from the first fork to the end of the work.",
		.opts = opts,
		.nopts = 4,
	};
	struct shared {
		struct wl_hog hog;
		volatile int64_t done;
		volatile long long prio;
	} * s;
	int cpu[WL_MAX_CPUS];
	long long best_prio = 0, worst_prio = 0;
	int64_t *took, sum = 0;
	pid_t *pid;

	wl_options(&prog, argc, argv);
	wl_at_least("--nap", nap_s, 0);
	wl_at_least("--work", work_ms, 0);
	wl_at_least("--hogs", hogs, 0);
	wl_at_least("--repeat", repeat, 1);
	s = wl_shared(sizeof(*s));
	pid = calloc(hogs + 1, sizeof(*pid));
	took = calloc(repeat, sizeof(*took));
	wl_cpus(cpu);
	if (!pid || !took || wl_pin(0, cpu[0]) < 0)
		wl_die("set-up");
	for (long i = 0; i < hogs; i++) {
		pid[i] = wl_fork();
		if (pid[i] == 0)
			wl_hog(INT64_MAX, NULL, &s->hog);
	}
	for (long i = 0; i < repeat; i++) {
		int64_t start;
		pid_t a;

		wl_sleep(nap_s * 1e9);
		start = wl_now();
		a = wl_fork();
		if (a == 0) {
			pid_t b = wl_fork();

			if (b == 0) {
				s->prio = wl_proc_stat(getpid(), 18);
				wl_burn(work_ms * 1e6);
				s->done = wl_now();
				_exit(0);
			}
			_exit(waitpid(b, NULL, 0) != b);
		}
		if (waitpid(a, NULL, 0) != a)
			wl_die("waitpid");
		took[i] = s->done - start;
		sum += took[i];
		best_prio = i && best_prio < s->prio ? best_prio : s->prio;
		worst_prio = i && worst_prio > s->prio ? worst_prio : s->prio;
	}
	for (long i = 0; i < hogs; i++)
		wl_end(pid[i]);
	wl_sort(took, repeat);
	wl_result("childpenalty",
		  "work_ms=%g hogs=%ld chains=%ld prio_best=%lld prio_worst=%lld done_mean_ms=%.1f "
		  "done_min_ms=%.1f done_max_ms=%.1f",
		  work_ms, hogs, repeat, best_prio, worst_prio, sum / 1e6 / repeat, took[0] / 1e6,
		  took[repeat - 1] / 1e6);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * rxvt_spin - a terminal that was idle for long, and then spins.
 *
 * In the threads of August 2003 an rxvt whose child had died spun in its select loop and locked
 * the machine for seconds: a task with the full bonus of an idle one had become a hog. Four
 * workers at nice 0 note when they run; what counts is the longest time in which none of them did.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/wl.h"

struct shared {
	volatile int64_t last; /* wl_now() when some worker last ran */
	volatile int64_t gap;  /* longest time without any, ns, and when it ended */
	volatile int64_t gap_end;
	volatile int64_t since; /* gaps are noted from then on */
	struct wl_hog worker[];
};

/* Several workers race here; the exchange gives each stretch of time to one of them. */
static void worker(struct shared *s, long id)
{
	for (;;) {
		int64_t now, before;

		wl_hog_step(&s->worker[id]);
		now = wl_now();
		before = __atomic_exchange_n(&s->last, now, __ATOMIC_SEQ_CST);
		if (now >= s->since && before && now - before > s->gap) {
			s->gap = now - before;
			s->gap_end = now;
		}
	}
}

int main(int argc, char **argv)
{
	static double idle_s = 20, scale = 1;
	static long workers = 4;
	static const struct wl_opt opts[] = {
		{"idle", WL_REAL, &idle_s, "seconds of sleep before the spinning (default 20)"},
		{"workers", WL_INT, &workers, "workers at nice 0 (default 4)"},
		{"scale", WL_REAL, &scale, "multiply the times by X"},
	};
	static const struct wl_program prog = {
		.usage = "rxvt_spin [OPTIONS] [SECONDS]",
		.about =
			"Sleeps 20 s while workers run, then spins for SECONDS (default 10); reports the\n"
			"longest time without progress of any worker, and of one worker.",
		.opts = opts,
		.nopts = 3,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = arg < argc ? wl_number(argv[arg], "SECONDS") : 10;
	int64_t start, end, cpu, used = 0, worst = 0;
	struct shared *s;
	pid_t *pid;

	wl_at_least("--workers", workers, 1);
	wl_at_least("--idle", idle_s, 0);
	wl_at_least("--scale", scale, 0.001);
	s = wl_shared(sizeof(*s) + workers * sizeof(s->worker[0]));
	pid = calloc(workers, sizeof(*pid));
	if (!pid)
		wl_die("memory");
	start = wl_now() + (int64_t)(idle_s * scale * 1e9);
	s->since = start;
	for (long i = 0; i < workers; i++) {
		pid[i] = wl_fork();
		if (pid[i] == 0)
			worker(s, i);
	}
	wl_sleep_until(start);
	for (long i = 0; i < workers; i++) {
		used -= s->worker[i].cpu;
		s->worker[i].gap = 0;
	}
	cpu = wl_cpu_time();
	start = wl_now();
	end = start + (int64_t)(seconds * scale * 1e9);
	while (wl_now() < end)
		wl_spin();
	end = wl_now();
	cpu = wl_cpu_time() - cpu;
	if (end - s->last > s->gap) {
		s->gap = end - s->last;
		s->gap_end = end;
	}
	for (long i = 0; i < workers; i++) {
		int64_t gap = wl_hog_gap(&s->worker[i], end);

		worst = gap > worst ? gap : worst;
		used += s->worker[i].cpu;
	}
	wl_result("rxvt_spin",
		  "idle_s=%g spin_s=%.3f workers=%ld no_worker_max_ms=%.1f gap_end_ms=%.1f "
		  "worker_gap_max_ms=%.1f spinner_share_pct=%.1f workers_share_pct=%.1f",
		  idle_s * scale, (end - start) / 1e9, workers, s->gap / 1e6,
		  (s->gap_end - start) / 1e6, worst / 1e6, 100.0 * cpu / (end - start),
		  100.0 * used / (end - start));
	for (long i = 0; i < workers; i++)
		wl_end(pid[i]);
	return 0;
}

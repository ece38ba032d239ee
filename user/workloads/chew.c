// SPDX-License-Identifier: MIT
/*
 * chew - looks at the clock all the time; when it jumps by more than 2 ms, something else ran.
 *
 * Chris Friesen. Run beside hogs it shows how long a task waits in the expired array and how long
 * it runs between two waits. Each line says: the dynamic priority on return, the length of the
 * gap, how long it had run before, and what share of the CPU that makes.
 */
#include <stdio.h>
#include <unistd.h>

#include "lib/wl.h"

int main(int argc, char **argv)
{
	static double gap_us = 2000;
	static bool quiet;
	static const struct wl_opt opts[] = {
		{"gap", WL_REAL, &gap_us, "us between two looks that count (default 2000)"},
		{"quiet", WL_FLAG, &quiet, "no line for each gap"},
	};
	static const struct wl_program prog = {
		.usage = "chew [OPTIONS] [SECONDS]",
		.about =
			"Spins for SECONDS (default 8) and reports each time it was scheduled out, by the\n"
			"clock: how long, and how long it had run.",
		.opts = opts,
		.nopts = 2,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = arg < argc ? wl_number(argv[arg], "SECONDS") : 8;
	int64_t start, end, back, last, now, sum = 0, longest = 0, cpu = wl_cpu_time();
	long gaps = 0;

	wl_at_least("--gap", gap_us, 1);
	start = back = last = wl_now();
	end = start + seconds * 1e9;
	while (last < end) {
		now = wl_now();
		if (now - last > gap_us * 1e3) {
			int64_t out = now - last, ran = last - back;

			gaps++;
			sum += out;
			longest = out > longest ? out : longest;
			if (!quiet)
				printf("pid %d, prio %lld, out for %.1f ms, ran for %.1f ms, "
				       "load %.0f%%\n",
				       (int)getpid(), wl_proc_stat(getpid(), 18), out / 1e6,
				       ran / 1e6, 100.0 * ran / (ran + out));
			now = back = wl_now();
		}
		last = now;
	}
	wl_result("chew",
		  "elapsed_s=%.3f gaps=%ld gap_sum_ms=%.1f gap_max_ms=%.1f gaps_per_s=%.2f "
		  "gap_ms_per_s=%.1f cpu_share_pct=%.1f",
		  (last - start) / 1e9, gaps, sum / 1e6, longest / 1e6,
		  gaps / ((last - start) / 1e9), sum / 1e6 / ((last - start) / 1e9),
		  100.0 * (wl_cpu_time() - cpu) / (last - start));
	return 0;
}

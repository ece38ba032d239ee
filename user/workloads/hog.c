// SPDX-License-Identifier: MIT
/*
 * hog - a CPU hog: never sleeps, counts how much CPU it was given.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "lib/crowd.h"
#include "lib/wl.h"

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

int main(int argc, char **argv)
{
	static long nice_value;
	static const struct wl_opt opts[] = {
		{"nice", WL_INT, &nice_value, "nice value; 19 is setiathome (default: as started)"},
	};
	static const struct wl_program prog = {
		.usage = "hog [OPTIONS] [SECONDS]",
		.about =
			"Uses all the CPU it can get, for SECONDS or until SIGTERM or SIGINT, then\n"
			"prints its share of one CPU and the longest time it did not run.",
		.opts = opts,
		.nopts = 1,
		.max_args = 1,
	};
	struct wl_hog h = {.start = 0};
	int arg = wl_options(&prog, argc, argv);
	double seconds = arg < argc ? wl_number(argv[arg], "SECONDS") : 1e9;
	int64_t elapsed;

	if (nice_value < -20 || nice_value > 19)
		wl_bad("--nice must be from -20 to 19, not %ld", nice_value);
	if (nice_value && setpriority(PRIO_PROCESS, 0, nice_value) < 0)
		wl_die("nice");
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	h.start = wl_now();
	wl_hog(h.start + (int64_t)(seconds * 1e9), &stop, &h);
	elapsed = h.last - h.start;
	wl_result(
		"hog",
		"elapsed_s=%.3f cpu_s=%.3f share_pct=%.1f gap_max_ms=%.1f rounds=%ld switches=%ld",
		elapsed / 1e9, h.cpu / 1e9, elapsed ? 100.0 * h.cpu / elapsed : 0, h.gap / 1e6,
		(long)h.rounds, wl_switches());
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * hog - a CPU hog: never sleeps, counts how much CPU it was given.
 */
#include <signal.h>
#include <stdlib.h>

#include "lib/wl.h"

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

int main(int argc, char **argv)
{
	static const struct wl_program prog = {
		.usage = "hog [SECONDS]",
		.about =
			"Uses all the CPU it can get, for SECONDS or until SIGTERM or SIGINT, then\n"
			"prints its share of one CPU.",
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = arg < argc ? wl_number(argv[arg], "SECONDS") : 1e9;
	int64_t start = wl_now(), cpu = wl_cpu_time(), elapsed;
	long rounds = 0;

	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	do {
		wl_spin();
		rounds++;
		elapsed = wl_now() - start;
	} while (!stop && elapsed < seconds * 1e9);
	cpu = wl_cpu_time() - cpu;
	wl_result("hog", "elapsed_s=%.3f cpu_s=%.3f share_pct=%.1f rounds=%ld switches=%ld",
		  elapsed / 1e9, cpu / 1e9, elapsed ? 100.0 * cpu / elapsed : 0, rounds,
		  wl_switches());
	return 0;
}

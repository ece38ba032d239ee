// SPDX-License-Identifier: MIT
/*
 * fiftyp - ten processes that sleep half of the time each.
 *
 * From the circle of the -ck patches. Each sleeps 7 ms, measures how long that really took, and
 * uses CPU for as long. An estimator that rewards sleep calls every one of them interactive,
 * although together they want five CPUs; who is not called so, the hog beside them, starves.
 */
#include <stdio.h>

#include "lib/crowd.h"
#include "lib/wl.h"

static double sleep_ms = 7;

static void member(long id)
{
	(void)id;
	for (;;) {
		int64_t before = wl_now();

		wl_sleep(sleep_ms * 1e6);
		wl_burn(wl_now() - before);
	}
}

int main(int argc, char **argv)
{
	static bool bare;
	static long procs = 10;
	static const struct wl_opt opts[] = {
		{"procs", WL_INT, &procs, "processes (default 10)"},
		{"sleep", WL_REAL, &sleep_ms, "ms of each sleep (default 7)"},
		{"bare", WL_FLAG, &bare, "without the hog and the probe"},
	};
	static const struct wl_program prog = {
		.usage = "fiftyp [OPTIONS] [SECONDS]",
		.about =
			"Processes that sleep 7 ms and then run as long as the sleep took, for SECONDS\n"
			"(default 30). Reports the share and the longest gap of a hog beside them, and\n"
			"how late a task of 2.5 ms every 50 ms was woken.",
		.opts = opts,
		.nopts = 3,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	struct crowd c = {.name = "fiftyp", .member = member, .procs = procs};
	char head[60];

	c.length = 1e9 * (arg < argc ? wl_number(argv[arg], "SECONDS") : 30);
	wl_at_least("--procs", procs, 1);
	wl_at_least("--sleep", sleep_ms, 0.001);
	c.probe = c.hog = !bare;
	snprintf(head, sizeof(head), "sleep_ms=%g", sleep_ms);
	crowd_run(&c, head);
	return 0;
}

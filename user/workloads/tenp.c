// SPDX-License-Identifier: MIT
/*
 * tenp - fifteen processes per CPU that want ten per cent of it each.
 *
 * Xenofon Antidius. Each measures how long a sleep of 1 ms really takes, R; then for ever it runs R
 * and sleeps 9 R. Every one of them looks like an honest interactive task, but together they ask
 * for 150 % of the machine.
 */
#include <stdio.h>

#include "lib/crowd.h"
#include "lib/wl.h"

static double sleep_ms = 1;

static void member(long id)
{
	int64_t unit = wl_now();

	(void)id;
	wl_sleep(sleep_ms * 1e6);
	unit = wl_now() - unit;
	for (;;) {
		wl_burn(unit);
		wl_sleep(9 * unit);
	}
}

int main(int argc, char **argv)
{
	static bool bare;
	static long procs;
	static const struct wl_opt opts[] = {
		{"procs", WL_INT, &procs, "processes (default 15 per CPU)"},
		{"sleep", WL_REAL, &sleep_ms, "ms of the sleep that is measured (default 1)"},
		{"bare", WL_FLAG, &bare, "without the hog and the probe"},
	};
	static const struct wl_program prog = {
		.usage = "tenp [OPTIONS] [SECONDS]",
		.about =
			"Processes that run one millisecond or so in ten, for SECONDS (default 30).\n"
			"Reports the share and the longest gap of a hog beside them, and how late a\n"
			"task of 2.5 ms every 50 ms was woken.",
		.opts = opts,
		.nopts = 3,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	struct crowd c = {.name = "tenp", .member = member};
	char head[60];

	c.length = 1e9 * (arg < argc ? wl_number(argv[arg], "SECONDS") : 30);
	c.procs = procs ? procs : 15 * wl_cpus(NULL);
	wl_at_least("--procs", c.procs, 1);
	wl_at_least("--sleep", sleep_ms, 0.001);
	c.probe = c.hog = !bare;
	snprintf(head, sizeof(head), "sleep_ms=%g", sleep_ms);
	crowd_run(&c, head);
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * execload - a process that does nothing but exec itself again.
 *
 * One of the loads of Matt Mackall's table of March 2007. The process stays the same, so its
 * interactivity record does too, while everything it ran in is thrown away each time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/wl.h"

int main(int argc, char **argv)
{
	static long done;
	static double began_ns;
	static const struct wl_opt opts[] = {
		{"done", WL_INT, &done, "execs so far (set by itself)"},
		{"began", WL_REAL, &began_ns, "clock in ns at the first exec (set by itself)"},
	};
	static const struct wl_program prog = {
		.usage = "execload [OPTIONS] [SECONDS]",
		.about = "Executes itself again and again for SECONDS (default 10); reports execs\n"
			 "per second.",
		.opts = opts,
		.nopts = 2,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = arg < argc ? wl_number(argv[arg], "SECONDS") : 10, now = wl_now();
	char count[40], clock[40], length[40];

	wl_at_least("--done", done, 0);
	if (!done)
		began_ns = now;
	if (now - began_ns < seconds * 1e9) {
		snprintf(count, sizeof(count), "--done=%ld", done + 1);
		snprintf(clock, sizeof(clock), "--began=%.0f", began_ns);
		snprintf(length, sizeof(length), "%.9g", seconds);
		execlp(argv[0], argv[0], count, clock, length, (char *)NULL);
		wl_die(argv[0]);
	}
	wl_result("execload", "execs=%ld elapsed_s=%.3f execs_per_s=%.1f", done,
		  (now - began_ns) / 1e9, done / ((now - began_ns) / 1e9));
	return 0;
}

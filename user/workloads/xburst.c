// SPDX-License-Identifier: MIT
/*
 * xburst - an X server by turns idle and busy: sleeps 2 s, then needs 400 ms of CPU at once.
 *
 * The thread on O(1) of January 2002: music falters when a workspace is switched, because X and the
 * window manager come out of two seconds of sleep with all the credit there is and their burst runs
 * at a better or equal priority. Run audio beside it to see that; what is reported here is X's
 * side.
 */
#include <stdlib.h>

#include "lib/wl.h"

int main(int argc, char **argv)
{
	static double sleep_s = 2, burst_ms = 400, scale = 1;
	static const struct wl_opt opts[] = {
		{"sleep", WL_REAL, &sleep_s, "seconds of sleep before a burst (default 2)"},
		{"burst", WL_REAL, &burst_ms, "ms of CPU in a burst (default 400)"},
		{"scale", WL_REAL, &scale, "multiply both by X"},
	};
	static const struct wl_program prog = {
		.usage = "xburst [OPTIONS] [BURSTS]",
		.about =
			"Sleeps, then bursts, BURSTS (default 10) times; reports how late a burst began\n"
			"and how long it took.",
		.opts = opts,
		.nopts = 3,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	long bursts = arg < argc ? wl_number(argv[arg], "BURSTS") : 10;
	int64_t *late, *took, start;

	wl_at_least("BURSTS", bursts, 1);
	wl_at_least("--sleep", sleep_s, 0);
	wl_at_least("--burst", burst_ms, 0);
	wl_at_least("--scale", scale, 0.001);
	late = calloc(bursts, sizeof(*late));
	took = calloc(bursts, sizeof(*took));
	if (!late || !took)
		wl_die("memory");
	for (long i = 0; i < bursts; i++) {
		start = wl_now() + (int64_t)(sleep_s * scale * 1e9);
		wl_sleep_until(start);
		late[i] = wl_now() - start;
		wl_burn(burst_ms * scale * 1e6);
		took[i] = wl_now() - start;
	}
	wl_sort(late, bursts);
	wl_sort(took, bursts);
	wl_result("xburst",
		  "bursts=%ld burst_ms=%g late_p50_us=%.1f late_p99_us=%.1f late_max_us=%.1f "
		  "done_p50_ms=%.1f done_p99_ms=%.1f done_max_ms=%.1f",
		  bursts, burst_ms * scale, wl_percentile(late, bursts, 50) / 1e3,
		  wl_percentile(late, bursts, 99) / 1e3, wl_percentile(late, bursts, 100) / 1e3,
		  wl_percentile(took, bursts, 50) / 1e6, wl_percentile(took, bursts, 99) / 1e6,
		  wl_percentile(took, bursts, 100) / 1e6);
	return 0;
}

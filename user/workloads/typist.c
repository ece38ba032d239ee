// SPDX-License-Identifier: MIT
/*
 * typist - someone typing: sleeps as long as a person between two keys, then needs a short burst
 * of CPU (echo, redraw). What counts is how soon after the key the burst begins and ends.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/wl.h"

int main(int argc, char **argv)
{
	static double gap_ms = 120, burst_ms = 1, bound_ms;
	static const struct wl_opt opts[] = {
		{"gap", WL_REAL, &gap_ms, "mean ms between keys (default 120)"},
		{"burst", WL_REAL, &burst_ms, "ms of CPU per key (default 1)"},
		{"check", WL_REAL, &bound_ms, "exit 1 if p99 of the wake-up latency is over X ms"},
	};
	static const struct wl_program prog = {
		.usage = "typist [OPTIONS] SECONDS",
		.about =
			"Sleeps between keys and works a moment after each; reports wake-up latency and\n"
			"the time until the burst was done.",
		.opts = opts,
		.nopts = 3,
		.min_args = 1,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = wl_number(argv[arg], "SECONDS");
	int64_t gap = gap_ms * 1e6, key, end, *wake, *done;
	size_t room, n = 0;
	unsigned int random = 1;

	if (gap < 1000 || burst_ms < 0) {
		fprintf(stderr, "typist: --gap must be at least 0.001 and --burst not negative\n");
		return 2;
	}
	room = seconds * 2e9 / gap + 2;
	wake = calloc(room, sizeof(*wake));
	done = calloc(room, sizeof(*done));
	if (!wake || !done)
		wl_die("memory");
	key = wl_now();
	end = key + seconds * 1e9;
	for (;;) {
		int64_t now;

		/* Half to one and a half times the mean gap, the same every run. */
		random = random * 1103515245 + 12345;
		key += gap / 2 + (int64_t)(random >> 16 & 0x7fff) * gap / 0x7fff;
		now = wl_now();
		if (key < now)
			key = now; /* the last burst took longer than the person waited */
		if (key >= end || n == room)
			break;
		wl_sleep_until(key);
		wake[n] = wl_now() - key;
		wl_burn(burst_ms * 1e6);
		done[n++] = wl_now() - key;
	}
	wl_sort(wake, n);
	wl_sort(done, n);
	wl_result("typist",
		  "keys=%zu wake_p50_us=%.1f wake_p99_us=%.1f wake_max_us=%.1f done_p50_us=%.1f "
		  "done_p99_us=%.1f done_max_us=%.1f",
		  n, wl_percentile(wake, n, 50) / 1e3, wl_percentile(wake, n, 99) / 1e3,
		  wl_percentile(wake, n, 100) / 1e3, wl_percentile(done, n, 50) / 1e3,
		  wl_percentile(done, n, 99) / 1e3, wl_percentile(done, n, 100) / 1e3);
	return bound_ms > 0 && wl_percentile(wake, n, 99) > bound_ms * 1e6;
}

// SPDX-License-Identifier: MIT
/*
 * memload - copies 16 MB to and fro: a hog that also fills the caches.
 *
 * One of the loads of Matt Mackall's table of March 2007, in which each scheduler's desktop was
 * graded from great to awful.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/wl.h"

int main(int argc, char **argv)
{
	static double mb = 16;
	static const struct wl_opt opts[] = {
		{"mb", WL_REAL, &mb, "MB copied each time (default 16)"},
	};
	static const struct wl_program prog = {
		.usage = "memload [OPTIONS] [SECONDS]",
		.about =
			"Copies memory for SECONDS (default 10); reports copies and MB per second.",
		.opts = opts,
		.nopts = 1,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = arg < argc ? wl_number(argv[arg], "SECONDS") : 10;
	int64_t start, elapsed, cpu;
	long copies = 0;
	size_t bytes;
	char *a, *b;

	wl_at_least("--mb", mb, 0.001);
	bytes = mb * 1048576;
	a = malloc(bytes);
	b = malloc(bytes);
	if (!a || !b)
		wl_die("memory");
	memset(a, 1, bytes);
	memset(b, 2, bytes);
	start = wl_now();
	cpu = wl_cpu_time();
	do {
		memcpy(copies & 1 ? a : b, copies & 1 ? b : a, bytes);
		__asm__ volatile("" : : "r"(a), "r"(b) : "memory");
		copies++;
		elapsed = wl_now() - start;
	} while (elapsed < seconds * 1e9);
	wl_result("memload", "mb=%g copies=%ld elapsed_s=%.3f mb_per_s=%.1f share_pct=%.1f", mb,
		  copies, elapsed / 1e9, copies * mb / (elapsed / 1e9),
		  100.0 * (wl_cpu_time() - cpu) / elapsed);
	return 0;
}

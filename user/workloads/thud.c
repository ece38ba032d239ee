// SPDX-License-Identifier: MIT
/*
 * thud - N children nap long enough to look as interactive as can be, then all burn CPU at once.
 *
 * Mike Galbraith, 2003. After the nap every child has the highest sleep average there is, so for
 * seconds the herd preempts whoever is not as interactive; how long depends on how fast the
 * average is used up. The probe, a 5 % task, shows what the desktop feels meanwhile. thud2 comes to
 * the same with many short naps. The burning is as it was: comparing 200 kB, looking at the clock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/crowd.h"
#include "lib/wl.h"

#define STRING 200000

static double nap_s = -1, burn_s = 6, scale = 1;
static long naps = -1, rounds = -1;

static void burn(int64_t ns)
{
	static char a[STRING + 1], b[STRING + 1];
	int64_t end = wl_now() + ns;

	memset(a, 'x', STRING);
	memset(b, 'x', STRING);
	do {
		const char *x = a, *y = b;

		__asm__ volatile("" : "+r"(x), "+r"(y) : : "memory");
		if (strcmp(x, y))
			abort();
	} while (wl_now() < end);
}

static void member(long id)
{
	(void)id;
	for (long r = 0; r < rounds; r++) {
		for (long n = 0; n < naps; n++)
			wl_sleep(nap_s * 1e9);
		burn(burn_s * 1e9);
	}
}

int main(int argc, char **argv)
{
	static bool second, bare, hog;
	static const struct wl_opt opts[] = {
		{"thud2", WL_FLAG, &second, "10 children, 40 naps of 0.25 s, 1 round"},
		{"sleep", WL_REAL, &nap_s, "seconds of a nap (default 10.05)"},
		{"naps", WL_INT, &naps, "naps in a row (default 1)"},
		{"burn", WL_REAL, &burn_s, "seconds to burn, by the clock (default 6)"},
		{"rounds", WL_INT, &rounds, "times to nap and burn (default 3)"},
		{"scale", WL_REAL, &scale, "multiply naps and burning by X"},
		{"hog", WL_FLAG, &hog, "also run a hog and report its longest gap"},
		{"bare", WL_FLAG, &bare, "without the probe"},
	};
	static const struct wl_program prog = {
		.usage = "thud [OPTIONS] [CHILDREN]",
		.about =
			"CHILDREN (default 20) sleep long and then burn CPU together; meanwhile a task\n"
			"of 2.5 ms every 50 ms reports how late it was woken.",
		.opts = opts,
		.nopts = 8,
		.max_args = 1,
	};
	struct crowd c = {.name = "thud", .member = member};
	int arg = wl_options(&prog, argc, argv);
	char head[120];

	nap_s = nap_s < 0 ? (second ? 0.25 : 10.05) : nap_s;
	naps = naps < 0 ? (second ? 40 : 1) : naps;
	rounds = rounds < 0 ? (second ? 1 : 3) : rounds;
	c.procs = arg < argc ? wl_number(argv[arg], "CHILDREN") : second ? 10 : 20;
	wl_at_least("CHILDREN", c.procs, 1);
	wl_at_least("--burn", burn_s, 0);
	wl_at_least("--scale", scale, 0.001);
	nap_s *= scale;
	burn_s *= scale;
	c.probe = !bare;
	c.hog = hog;
	snprintf(head, sizeof(head), "nap_s=%g naps=%ld burn_s=%g rounds=%ld", nap_s, naps, burn_s,
		 rounds);
	crowd_run(&c, head);
	return 0;
}

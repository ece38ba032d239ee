// SPDX-License-Identifier: MIT
/*
 * irman2 - a ring of processes, each asleep until the token comes and then burning CPU with it;
 * beside them a hog that would like to run too.
 *
 * Davide Libenzi, 2003. With n members, a tokens and b ms of burning, a member sleeps (n - a) / a
 * times as long as it runs, so all look interactive; there is always one that wants to run; and
 * the hog gets nothing until the estimator has seen through them. The burning is comparing 32 kB.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/tokens.h"
#include "lib/wl.h"

#define BLOCK 32768

static long burn_ms = 300;
static bool verbose;

static void burn(void)
{
	static char a[BLOCK], b[BLOCK];
	int64_t end = wl_now() + burn_ms * 1000000LL;

	do {
		const char *x = a, *y = b;

		__asm__ volatile("" : "+r"(x), "+r"(y) : : "memory");
		if (memcmp(x, y, BLOCK))
			abort();
	} while (wl_now() < end);
}

struct shared {
	struct wl_hog hog;
	volatile long rounds;	/* each burn_ms of CPU */
	volatile int64_t worst; /* the longest of them by the clock, ns */
};

static void hog(struct shared *s)
{
	for (;;) {
		int64_t used = s->hog.cpu, took;
		int64_t begun = s->hog.last ? s->hog.last : s->hog.start;

		while (s->hog.cpu - used < burn_ms * 1000000LL)
			wl_hog_step(&s->hog);
		took = s->hog.last - begun;
		if (took > s->worst)
			s->worst = took;
		s->rounds++;
		if (verbose) {
			printf("hog: %ld ms of CPU took %.1f ms\n", burn_ms, took / 1e6);
			fflush(stdout);
		}
	}
}

int main(int argc, char **argv)
{
	static long procs = 5, active = 1;
	static const struct wl_opt opts[] = {
		{"n", WL_INT, &procs, "members of the ring (default 5)"},
		{"a", WL_INT, &active, "tokens (default 1)"},
		{"b", WL_INT, &burn_ms, "ms each member burns per token (default 300)"},
		{"verbose", WL_FLAG, &verbose, "print a line for each of the hog's rounds"},
	};
	static const struct wl_program prog = {
		.usage = "irman2 [OPTIONS] [SECONDS]",
		.about =
			"A ring whose members burn CPU while they hold a token, and a hog beside it, for\n"
			"SECONDS (default 30). Reports the hog's longest gap and share, and the longest\n"
			"of its rounds of -b ms of CPU. The tokens are counted at the end.",
		.opts = opts,
		.nopts = 4,
		.max_args = 1,
	};
	struct shared *s;
	int arg = wl_options(&prog, argc, argv);
	double seconds = arg < argc ? wl_number(argv[arg], "SECONDS") : 30;
	struct token_ring r = {.work = burn};
	int64_t end, gap;
	long hops, left;
	pid_t pid;

	wl_at_least("-n", procs, 1);
	wl_at_least("-a", active, 1);
	wl_at_least("-b", burn_ms, 1);
	if (active > procs)
		wl_bad("-a must not be more than -n");
	r.procs = procs;
	r.tokens = r.step = active;
	s = wl_shared(sizeof(*s));
	s->hog.start = wl_now();
	end = s->hog.start + seconds * 1e9;
	tokens_start(&r);
	pid = wl_fork();
	if (pid == 0)
		hog(s);
	wl_sleep_until(end);
	gap = wl_hog_gap(&s->hog, end);
	hops = tokens_hops(&r);
	wl_end(pid);
	left = tokens_stop(&r);
	wl_result("irman2",
		  "procs=%ld tokens=%ld burn_ms=%ld elapsed_s=%g hops=%ld tokens_left=%ld "
		  "hog_share_pct=%.1f hog_gap_max_ms=%.1f hog_rounds=%ld hog_round_max_ms=%.1f",
		  procs, active, burn_ms, seconds, hops, left, 100 * s->hog.cpu / (seconds * 1e9),
		  gap / 1e6, s->rounds, s->worst / 1e6);
	return left != active;
}

// SPDX-License-Identifier: MIT
/*
 * ring_test - many processes in a ring, with one or more tokens and nothing to do: how many
 * wake-ups does the system manage?
 *
 * After Ingo Molnar's ring-test, one of the attacks that the documentation of CFS names. Where
 * `ring` measures the cost of a switch by cache footprint, this keeps several tokens under way, so
 * that wake-ups on different CPUs happen at once, and counts over a time.
 */
#include "lib/crowd.h"
#include "lib/tokens.h"
#include "lib/wl.h"

#include <unistd.h>

int main(int argc, char **argv)
{
	static long procs = 100, tokens = 1;
	static bool hog;
	static const struct wl_opt opts[] = {
		{"procs", WL_INT, &procs, "members of the ring (default 100)"},
		{"tokens", WL_INT, &tokens, "tokens under way (default 1)"},
		{"hog", WL_FLAG, &hog, "also run a hog and report its share and longest gap"},
	};
	static const struct wl_program prog = {
		.usage = "ring_test [OPTIONS] [SECONDS]",
		.about =
			"Processes in a ring pass tokens for SECONDS (default 10); reports hops per\n"
			"second and context switches per hop.",
		.opts = opts,
		.nopts = 3,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = arg < argc ? wl_number(argv[arg], "SECONDS") : 10;
	struct token_ring r = {.step = 1};
	struct wl_hog *h = wl_shared(sizeof(*h));
	int64_t begun, elapsed, gap;
	long hops, left, switches;
	pid_t pid = 0;

	wl_at_least("--procs", procs, 1);
	wl_at_least("--tokens", tokens, 1);
	r.procs = procs;
	r.tokens = tokens;
	tokens_start(&r);
	begun = h->start = wl_now();
	if (hog && (pid = wl_fork()) == 0)
		wl_hog(INT64_MAX, NULL, h);
	wl_sleep(seconds * 1e9);
	hops = tokens_hops(&r);
	elapsed = wl_now() - begun;
	gap = wl_hog_gap(h, begun + elapsed);
	left = tokens_stop(&r);
	switches = wl_switches(); /* of the members, not of the hog */
	if (pid) {
		wl_end(pid);
		wl_result("ring_test",
			  "procs=%ld tokens=%ld tokens_left=%ld hops=%ld hops_per_s=%.0f "
			  "switches_per_hop=%.3f hog_share_pct=%.1f hog_gap_max_ms=%.1f",
			  procs, tokens, left, hops, hops / (elapsed / 1e9),
			  hops ? (double)switches / hops : 0, 100.0 * h->cpu / elapsed, gap / 1e6);
	} else {
		wl_result("ring_test",
			  "procs=%ld tokens=%ld tokens_left=%ld hops=%ld hops_per_s=%.0f "
			  "switches_per_hop=%.3f",
			  procs, tokens, left, hops, hops / (elapsed / 1e9),
			  hops ? (double)switches / hops : 0);
	}
	return left != tokens;
}

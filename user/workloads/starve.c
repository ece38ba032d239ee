// SPDX-License-Identifier: MIT
/*
 * starve - a child that signals its parent for ever, and a parent that sleeps and is woken by
 * each signal.
 *
 * Posted in 2003. A signal cuts the parent's sleep(1) short; every such sleep, however short,
 * counts as one, so both sides gain an interactivity bonus from what is in truth a busy loop of
 * two, and the rest of the system waits. A hog beside them shows how much the rest gets.
 */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/wl.h"

static volatile sig_atomic_t running = 1;
static long signals = 1000000, seen;

static void on_signal(int sig)
{
	(void)sig;
	if (++seen >= signals)
		running = 0;
}

static void sender(pid_t parent, int64_t delay)
{
	wl_sleep(delay);
	while (kill(parent, SIGUSR1) == 0)
		;
	_exit(0);
}

int main(int argc, char **argv)
{
	static bool bare;
	static double delay_s = 1;
	static const struct wl_opt opts[] = {
		{"delay", WL_REAL, &delay_s, "seconds until the child begins (default 1)"},
		{"bare", WL_FLAG, &bare, "without the hog"},
	};
	static const struct wl_program prog = {
		.usage = "starve [OPTIONS] [SIGNALS]",
		.about =
			"A child signals its parent for ever, the parent sleeps in between; reports the\n"
			"time to SIGNALS (default 1000000) signals and the share of a hog meanwhile.",
		.opts = opts,
		.nopts = 2,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	struct sigaction action = {.sa_handler = on_signal};
	int64_t start, elapsed, gap, sender_cpu;
	pid_t child, victim = 0;
	struct wl_hog *h;
	long sleeps = 0;

	if (arg < argc)
		signals = wl_number(argv[arg], "SIGNALS");
	wl_at_least("SIGNALS", signals, 1);
	wl_at_least("--delay", delay_s, 0);
	h = wl_shared(sizeof(*h));
	sigaction(SIGUSR1, &action, NULL);
	start = wl_now();
	h->start = start + (int64_t)(delay_s * 1e9);
	child = wl_fork();
	if (child == 0)
		sender(getppid(), delay_s * 1e9);
	if (!bare && (victim = wl_fork()) == 0) {
		wl_sleep_until(h->start);
		wl_hog(INT64_MAX, NULL, h);
	}
	while (running) {
		sleep(1);
		sleeps++;
	}
	elapsed = wl_now() - h->start;
	gap = wl_hog_gap(h, wl_now());
	sender_cpu = wl_end(child);
	if (victim) {
		wl_end(victim);
		wl_result("starve",
			  "signals=%ld sleeps=%ld elapsed_s=%.3f sender_share_pct=%.1f "
			  "receiver_share_pct=%.1f hog_share_pct=%.1f hog_gap_max_ms=%.1f",
			  seen, sleeps, elapsed / 1e9, 100.0 * sender_cpu / elapsed,
			  100.0 * wl_cpu_time() / elapsed, 100.0 * h->cpu / elapsed, gap / 1e6);
	} else {
		wl_result("starve",
			  "signals=%ld sleeps=%ld elapsed_s=%.3f sender_share_pct=%.1f "
			  "receiver_share_pct=%.1f",
			  seen, sleeps, elapsed / 1e9, 100.0 * sender_cpu / elapsed,
			  100.0 * wl_cpu_time() / elapsed);
	}
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * pollwait - a client waits for a server's answer by polling, and so keeps the CPU from the server.
 *
 * Two forms from the threads of 2003. mozilla and acroread: select with a time-out of 15 ms, and
 * some work each time it ends; if the client keeps the better priority, the server runs only in
 * what is left of each period. XEmacs: a loop of looks with naps shorter than a tick in between,
 * waiting for a child. How long until the server's 50 ms of work are done?
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/wl.h"

static double work_ms = 50, period_ms = 15, busy_pct = 67, nap_s = 2;
static long requests = 10, hogs;
static bool spin;

static void server(int in, int out)
{
	char c;

	while (wl_read_all(in, &c, 1) == 1) {
		wl_burn(work_ms * 1e6);
		wl_write_all(out, &c, 1);
	}
	_exit(0);
}

/* Look until the answer is there. Returns the number of looks. */
static long wait_for(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int64_t busy = period_ms * 1e6 * busy_pct / 100;
	long looks = 1;
	char c;

	if (spin) {
		/* A nap far below a tick: no rest for the client, no room for the server. */
		while (poll(&p, 1, 0) == 0) {
			for (int i = 0; i < 20; i++)
				wl_spin();
			wl_sleep(10000);
			looks++;
		}
	} else {
		int rest = period_ms - busy / 1e6 + 0.5;

		while (poll(&p, 1, rest > 0 ? rest : 1) == 0) {
			wl_burn(busy);
			looks++;
		}
	}
	if (wl_read_all(fd, &c, 1) != 1)
		wl_die("answer");
	return looks;
}

static void measure(int to, int from)
{
	int64_t *took = calloc(requests, sizeof(*took)), sum = 0;
	long looks = 0;

	if (!took)
		wl_die("memory");
	for (long i = 0; i < requests; i++) {
		/* Both sides rest and become as interactive as they can. */
		wl_sleep(nap_s * 1e9);
		took[i] = wl_now();
		wl_write_all(to, "r", 1);
		looks += wait_for(from);
		took[i] = wl_now() - took[i];
		sum += took[i];
	}
	wl_sort(took, requests);
	wl_result("pollwait",
		  "form=%s period_ms=%g busy_pct=%g work_ms=%g requests=%ld hogs=%ld looks=%ld "
		  "done_mean_ms=%.1f done_p50_ms=%.1f done_max_ms=%.1f",
		  spin ? "spin" : "poll", spin ? 0 : period_ms, spin ? 100 : busy_pct, work_ms,
		  requests, hogs, looks, sum / 1e6 / requests,
		  wl_percentile(took, requests, 50) / 1e6,
		  wl_percentile(took, requests, 100) / 1e6);
	free(took);
}

int main(int argc, char **argv)
{
	static bool sweep;
	static const struct wl_opt opts[] = {
		{"period", WL_REAL, &period_ms, "ms from look to look (default 15)"},
		{"busy", WL_REAL, &busy_pct, "per cent of a period the client works (default 67)"},
		{"work", WL_REAL, &work_ms, "ms of CPU the server needs (default 50)"},
		{"nap", WL_REAL, &nap_s, "seconds of rest before each request (default 2)"},
		{"requests", WL_INT, &requests, "requests, one after another (default 10)"},
		{"hogs", WL_INT, &hogs, "hogs on the same CPU (default 0)"},
		{"spin", WL_FLAG, &spin, "the XEmacs form: look all the time"},
		{"sweep", WL_FLAG, &sweep, "periods 1, 2, 3, 5, 7, 10, 15, 20 ms, a line each"},
	};
	static const struct wl_program prog = {
		.usage = "pollwait [OPTIONS]",
		.about =
			"A client polls for the answer of a server that needs 50 ms of CPU, both on the\n"
			"same CPU; reports how long an answer took.",
		.opts = opts,
		.nopts = 8,
	};
	static const double periods[] = {1, 2, 3, 5, 7, 10, 15, 20};
	struct wl_hog *h = wl_shared(sizeof(*h));
	int to[2], from[2], cpu[WL_MAX_CPUS];
	pid_t *pid, peer;

	wl_options(&prog, argc, argv);
	wl_at_least("--period", period_ms, 1);
	wl_at_least("--busy", busy_pct, 0);
	wl_at_least("--work", work_ms, 0);
	wl_at_least("--nap", nap_s, 0);
	wl_at_least("--requests", requests, 1);
	wl_at_least("--hogs", hogs, 0);
	if (busy_pct > 100)
		wl_bad("--busy must be at most 100");
	wl_cpus(cpu);
	pid = calloc(hogs + 1, sizeof(*pid));
	if (!pid || wl_pin(0, cpu[0]) < 0 || pipe(to) < 0 || pipe(from) < 0)
		wl_die("set-up");
	peer = wl_fork();
	if (peer == 0) {
		close(to[1]);
		server(to[0], from[1]);
	}
	for (long i = 0; i < hogs; i++) {
		pid[i] = wl_fork();
		if (pid[i] == 0)
			wl_hog(INT64_MAX, NULL, h);
	}
	for (size_t i = 0; i < (sweep ? sizeof(periods) / sizeof(periods[0]) : 1); i++) {
		if (sweep)
			period_ms = periods[i];
		measure(to[1], from[0]);
	}
	for (long i = 0; i < hogs; i++)
		wl_end(pid[i]);
	wl_end(peer);
	return 0;
}

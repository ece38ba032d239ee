// SPDX-License-Identifier: MIT
/*
 * hack - the shape of hackbench: groups of 20 senders and 20 receivers, each sender writing 100
 * messages of 100 bytes to each receiver of its group.
 *
 * After the benchmark that Rusty Russell wrote to imitate VolanoMark's load; `hack 10` has 400
 * processes. All begin at once, when a pipe that all of them watch is closed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/wl.h"

#define MAX_PEERS 100

static long peers = 20, messages = 100, bytes = 100;

static void sender(int go, int (*to)[2])
{
	char c, *message = calloc(1, bytes);

	if (!message)
		wl_die("memory");
	memset(message, 'm', bytes);
	wl_read_all(go, &c, 1);
	for (long m = 0; m < messages; m++)
		for (long i = 0; i < peers; i++)
			wl_write_all(to[i][1], message, bytes);
	_exit(0);
}

static void receiver(int go, int from)
{
	char c, *message = calloc(1, bytes);

	if (!message)
		wl_die("memory");
	wl_read_all(go, &c, 1);
	for (long m = 0; m < messages * peers; m++)
		if (wl_read_all(from, message, bytes) != (size_t)bytes || message[bytes - 1] != 'm')
			_exit(3);
	_exit(0);
}

static void start_group(const int go[2])
{
	int to[MAX_PEERS][2];

	for (long i = 0; i < peers; i++) {
		if (pipe(to[i]) < 0)
			wl_die("pipe");
		if (wl_fork() == 0) {
			close(go[1]);
			close(to[i][1]);
			receiver(go[0], to[i][0]);
		}
	}
	for (long i = 0; i < peers; i++)
		if (wl_fork() == 0) {
			close(go[1]);
			sender(go[0], to);
		}
	for (long i = 0; i < peers; i++) {
		close(to[i][0]);
		close(to[i][1]);
	}
}

int main(int argc, char **argv)
{
	static const struct wl_opt opts[] = {
		{"peers", WL_INT, &peers, "senders, and receivers, per group (default 20)"},
		{"messages", WL_INT, &messages, "from each sender to each receiver (default 100)"},
		{"bytes", WL_INT, &bytes, "in a message (default 100)"},
	};
	static const struct wl_program prog = {
		.usage = "hack [OPTIONS] [GROUPS]",
		.about = "GROUPS (default 10) of senders and receivers; reports the elapsed time.",
		.opts = opts,
		.nopts = 3,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv), go[2], bad;
	long groups = arg < argc ? wl_number(argv[arg], "GROUPS") : 10;
	int64_t start, elapsed;
	double sent;

	wl_at_least("GROUPS", groups, 1);
	wl_at_least("--peers", peers, 1);
	wl_at_least("--messages", messages, 1);
	wl_at_least("--bytes", bytes, 1);
	if (peers > MAX_PEERS)
		wl_bad("--peers must be at most %d", MAX_PEERS);
	if (pipe(go) < 0)
		wl_die("pipe");
	for (long i = 0; i < groups; i++)
		start_group(go);
	start = wl_now();
	close(go[1]);
	bad = wl_reap();
	elapsed = wl_now() - start;
	sent = (double)groups * peers * peers * messages;
	wl_result("hack",
		  "groups=%ld procs=%ld messages=%.0f elapsed_s=%.3f messages_per_s=%.0f "
		  "switches_per_message=%.3f failed=%d",
		  groups, 2 * groups * peers, sent, elapsed / 1e9, sent / (elapsed / 1e9),
		  wl_switches() / sent, bad);
	return bad != 0;
}

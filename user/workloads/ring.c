// SPDX-License-Identifier: MIT
/*
 * ring - the shape of lmbench's lat_ctx: N processes in a ring pass a token; each sums an array
 * of a given size before passing it on. The time per hop without the summing is the cost of a
 * context switch with that cache footprint.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"

static volatile long sink;

static void touch(const long *array, size_t bytes)
{
	long sum = 0;

	for (size_t i = 0; i < bytes / sizeof(long); i++)
		sum += array[i];
	sink = sum;
}

static void member(int in, int out, const long *array, size_t bytes)
{
	char token;

	while (read(in, &token, 1) == 1) {
		touch(array, bytes);
		if (write(out, &token, 1) != 1)
			break;
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	static long kb, rounds = 10000;
	static const struct wl_opt opts[] = {
		{"kb", WL_INT, &kb, "KiB each process sums per hop (default 0); also -s N"},
		{"rounds", WL_INT, &rounds, "times round the ring (default 10000)"},
	};
	static const struct wl_program prog = {
		.usage = "ring [OPTIONS] PROCS",
		.about =
			"PROCS processes in a ring pass a token through pipes; prints time per hop.",
		.opts = opts,
		.nopts = 2,
		.min_args = 1,
		.max_args = 1,
	};
	int64_t start, elapsed, work;
	size_t bytes;
	long *array;
	int arg, n, first[2], in, *fds;
	char token = 't';

	if (argc > 2 && argv[1][0] == '-' && argv[1][1] == 's' && !argv[1][2])
		argv[1] = "--kb"; /* lat_ctx spells it -s */
	arg = wl_options(&prog, argc, argv);
	n = wl_number(argv[arg], "PROCS");
	if (kb < 0 || rounds < 1) {
		static const char text[] = "ring: --kb and --rounds must be positive\n";

		wl_write_all(2, text, sizeof(text) - 1);
		return 2;
	}
	bytes = kb * 1024;
	array = calloc(bytes + sizeof(long), 1);
	fds = calloc(n, sizeof(*fds));
	if (!array || !fds || pipe(first) < 0)
		wl_die("set-up");
	in = first[0];
	/* This process is the ring's last member; child i reads what i-1 wrote. */
	for (int i = 0; i < n - 1; i++) {
		int next[2];
		pid_t pid;

		if (pipe(next) < 0)
			wl_die("pipe");
		pid = fork();
		if (pid < 0)
			wl_die("fork");
		if (pid == 0) {
			close(first[1]);
			close(next[0]);
			member(in, next[1], array, bytes);
		}
		close(next[1]);
		close(in);
		in = next[0];
	}
	start = wl_now();
	for (long i = 0; i < 1000; i++)
		touch(array, bytes);
	work = (wl_now() - start) / 1000;
	start = wl_now();
	for (long i = 0; i < rounds; i++) {
		if (write(first[1], &token, 1) != 1 || read(in, &token, 1) != 1)
			wl_die("token");
		touch(array, bytes);
	}
	elapsed = wl_now() - start;
	close(first[1]);
	close(in);
	while (wait(NULL) > 0)
		;
	wl_result("ring",
		  "procs=%d kb=%ld rounds=%ld us_per_hop=%.3f work_us_per_hop=%.3f switches=%ld", n,
		  kb, rounds, elapsed / 1e3 / rounds / n, work / 1e3, wl_switches());
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * pingpong - two processes hand one byte to and fro over two pipes.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"

static void echo(int in, int out)
{
	char c;

	while (read(in, &c, 1) == 1)
		if (write(out, &c, 1) != 1)
			_exit(1);
	_exit(0);
}

int main(int argc, char **argv)
{
	static bool same;
	static const struct wl_opt opts[] = {{"same-cpu", WL_FLAG, &same, "both on CPU 0"}};
	static const struct wl_program prog = {
		.usage = "pingpong [OPTIONS] [ROUNDS]",
		.about = "ROUNDS (default 100000) round trips of one byte between two processes.",
		.opts = opts,
		.nopts = 1,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	long rounds = arg < argc ? wl_number(argv[arg], "ROUNDS") : 100000;
	int to[2], from[2], status;
	int64_t start, elapsed;
	pid_t pid;
	char c = 'x';

	if ((same && wl_pin(0, 0) < 0) || pipe(to) < 0 || pipe(from) < 0)
		wl_die("set-up");
	pid = fork();
	if (pid < 0)
		wl_die("fork");
	if (pid == 0) {
		close(to[1]);
		echo(to[0], from[1]);
	}
	start = wl_now();
	for (long i = 0; i < rounds; i++)
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			wl_die("round trip");
	elapsed = wl_now() - start;
	close(to[1]);
	waitpid(pid, &status, 0);
	wl_result("pingpong", "rounds=%ld elapsed_s=%.6f us_per_round=%.3f switches_per_round=%.3f",
		  rounds, elapsed / 1e9, elapsed / 1e3 / rounds, (double)wl_switches() / rounds);
	return status != 0;
}

// SPDX-License-Identifier: MIT
/*
 * forkload - forks all the time: N makers each create short-lived children, as a compile does.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"

static double burn_ms = 1;

/* Fork, let the child work and end with a known status, wait. Returns children, or exits. */
static long make_children(int64_t end)
{
	long n = 0;

	while (wl_now() < end) {
		int want = n & 0x7f, status;
		pid_t pid = fork();

		if (pid < 0)
			wl_die("fork");
		if (pid == 0) {
			wl_burn(burn_ms * 1e6);
			_exit(want);
		}
		if (waitpid(pid, &status, 0) != pid)
			wl_die("waitpid");
		if (!WIFEXITED(status) || WEXITSTATUS(status) != want)
			_exit(3);
		n++;
	}
	return n;
}

int main(int argc, char **argv)
{
	static long makers = 1;
	static const struct wl_opt opts[] = {
		{"makers", WL_INT, &makers, "processes that fork (default 1)"},
		{"work", WL_REAL, &burn_ms, "ms of CPU per child (default 1)"},
	};
	static const struct wl_program prog = {
		.usage = "forkload [OPTIONS] SECONDS",
		.about =
			"Forks and waits for short-lived children for SECONDS; reports children per\n"
			"second. Exit statuses are checked.",
		.opts = opts,
		.nopts = 2,
		.min_args = 1,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = wl_number(argv[arg], "SECONDS");
	int64_t start = wl_now();
	long n, total = 0, bad = 0;
	int fd[2], status;

	if (pipe(fd) < 0)
		wl_die("pipe");
	for (long i = 0; i < makers; i++) {
		pid_t pid = fork();

		if (pid < 0)
			wl_die("fork");
		if (pid == 0) {
			n = make_children(start + seconds * 1e9);
			wl_write_all(fd[1], &n, sizeof(n));
			_exit(0);
		}
	}
	close(fd[1]);
	while (wl_read_all(fd[0], &n, sizeof(n)) == sizeof(n))
		total += n;
	while (wait(&status) > 0)
		bad += status != 0;
	wl_result("forkload", "makers=%ld children=%ld children_per_s=%.1f failed=%ld", makers,
		  total, total / ((wl_now() - start) / 1e9), bad);
	return bad != 0;
}

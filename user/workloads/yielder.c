// SPDX-License-Identifier: MIT
/*
 * yielder - N processes that do nothing but sched_yield().
 */
#include <sched.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"

static long yield_until(int64_t end)
{
	long n = 0;

	while (wl_now() < end) {
		for (int i = 0; i < 100; i++)
			sched_yield();
		n += 100;
	}
	return n;
}

int main(int argc, char **argv)
{
	static long procs = 2;
	static bool same;
	static const struct wl_opt opts[] = {
		{"procs", WL_INT, &procs, "processes (default 2)"},
		{"same-cpu", WL_FLAG, &same, "all on CPU 0"},
	};
	static const struct wl_program prog = {
		.usage = "yielder [OPTIONS] SECONDS",
		.about = "N processes give up the CPU all the time; reports yields per second and\n"
			 "how evenly they were shared.",
		.opts = opts,
		.nopts = 2,
		.min_args = 1,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = wl_number(argv[arg], "SECONDS");
	int64_t end;
	long n, total = 0, least = -1, most = 0;
	int fd[2];

	if (procs < 1 || (same && wl_pin(0, 0) < 0) || pipe(fd) < 0)
		wl_die("set-up");
	end = wl_now() + seconds * 1e9;
	for (long i = 0; i < procs; i++) {
		pid_t pid = fork();

		if (pid < 0)
			wl_die("fork");
		if (pid == 0) {
			n = yield_until(end);
			wl_write_all(fd[1], &n, sizeof(n));
			_exit(0);
		}
	}
	close(fd[1]);
	while (wl_read_all(fd[0], &n, sizeof(n)) == sizeof(n)) {
		total += n;
		least = least < 0 || n < least ? n : least;
		most = n > most ? n : most;
	}
	while (wait(NULL) > 0)
		;
	wl_result("yielder", "procs=%ld yields_per_s=%.0f least=%ld most=%ld switches=%ld", procs,
		  total / seconds, least, most, wl_switches());
	return 0;
}

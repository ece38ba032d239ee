// SPDX-License-Identifier: MIT
/*
 * makej - the shape of make -jN: N jobs at a time, each a program executed anew that runs 50 to
 * 500 ms and hands its output to a second one through a pipe, as cc1 does to as.
 *
 * The lengths come from a seed, so every run has the same work to do and elapsed times compare. It
 * stands for the kernel compiles of the threads: with two setiathome at nice 19 on two CPUs the
 * O(1) scheduler of January 2002 took half as long again as without them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"

#define LOOK_NS	 10000000 /* the compiler writes a block after so much work */
#define BLOCK	 4096
#define AS_SHARE 0.1 /* the assembler's work as a part of the compiler's */

/* The compiler, and the assembler as its child. */
static int job(double ms)
{
	static char block[BLOCK];
	int64_t left = ms * 1e6;
	int fd[2], status;
	pid_t as;

	if (pipe(fd) < 0)
		wl_die("pipe");
	as = wl_fork();
	if (as == 0) {
		close(fd[1]);
		while (wl_read_all(fd[0], block, BLOCK) == BLOCK)
			wl_burn(LOOK_NS * AS_SHARE);
		_exit(0);
	}
	close(fd[0]);
	while (left > 0) {
		wl_burn(left < LOOK_NS ? left : LOOK_NS);
		left -= LOOK_NS;
		wl_write_all(fd[1], block, BLOCK);
	}
	close(fd[1]);
	return waitpid(as, &status, 0) != as || status;
}

int main(int argc, char **argv)
{
	static long jobs = 2, count = 100, seed = 1;
	static double shortest = 50, longest = 500, one, scale = 1;
	static const struct wl_opt opts[] = {
		{"j", WL_INT, &jobs, "jobs at a time (default 2)"},
		{"count", WL_INT, &count, "jobs in all (default 100)"},
		{"seed", WL_INT, &seed, "of the jobs' lengths (default 1)"},
		{"min", WL_REAL, &shortest, "ms of CPU of the shortest job (default 50)"},
		{"max", WL_REAL, &longest, "ms of CPU of the longest (default 500)"},
		{"scale", WL_REAL, &scale, "multiply the lengths by X"},
		{"job", WL_REAL, &one, "be one job of X ms (used by itself)"},
	};
	static const struct wl_program prog = {
		.usage = "makej [OPTIONS]",
		.about = "Runs jobs as make -jN does and reports the elapsed time.",
		.opts = opts,
		.nopts = 7,
	};
	int64_t start, elapsed, first_cpu;
	unsigned int random;
	double work_ms = 0;
	long running = 0, failed = 0;
	int status;

	wl_options(&prog, argc, argv);
	if (one > 0)
		return job(one);
	wl_at_least("-j", jobs, 1);
	wl_at_least("--count", count, 1);
	wl_at_least("--scale", scale, 0.001);
	wl_at_least("--min", shortest, 0.001);
	wl_at_least("--max", longest, shortest);
	random = seed;
	start = wl_now();
	first_cpu = wl_cpu_time();
	for (long i = 0; i < count || running; i++) {
		if (i < count) {
			double ms = shortest + (longest - shortest) * wl_random(&random) / 0x7fff;
			char text[40];

			ms *= scale;
			work_ms += ms;
			snprintf(text, sizeof(text), "--job=%.3f", ms);
			if (wl_fork() == 0) {
				execlp(argv[0], argv[0], text, (char *)NULL);
				wl_die(argv[0]);
			}
			running++;
		}
		if (running == jobs || (i >= count - 1 && running)) {
			if (wait(&status) < 0)
				wl_die("wait");
			running--;
			failed += status != 0;
		}
	}
	elapsed = wl_now() - start;
	wl_result("makej",
		  "jobs=%ld count=%ld seed=%ld work_s=%.3f elapsed_s=%.3f jobs_per_s=%.2f "
		  "make_cpu_ms=%.1f failed=%ld switches=%ld",
		  jobs, count, seed, work_ms / 1e3, elapsed / 1e9, count / (elapsed / 1e9),
		  (wl_cpu_time() - first_cpu) / 1e6, failed, wl_switches());
	return failed != 0;
}

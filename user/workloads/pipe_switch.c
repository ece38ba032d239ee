// SPDX-License-Identifier: MIT
/*
 * pipe_switch - the pipe test of August 2003: a parent writes one byte at a time, a child reads
 * one at a time, over a ring of 4096 bytes.
 *
 * If neither side preempts the other, the writer fills the ring and the reader empties it: two
 * switches per 4096 bytes. If a wake-up preempts, two per byte. Which of the two happens depends
 * on how the interactivity estimator ranks the sides, and the figures of the thread differ by
 * more than a factor of two.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"

#define RING 4096

/* With --interval: the reader's switches so far, for the writer to see; else NULL. */
static volatile long *reader_switches;

static long own_switches(void)
{
	struct rusage use;

	if (getrusage(RUSAGE_SELF, &use) < 0)
		wl_die("getrusage");
	return use.ru_nvcsw + use.ru_nivcsw;
}

/* The writer looks at the clock only every so many bytes; the rate is what counts, not the grid. */
#define LOOK_MASK 63

static void report_interval(int64_t start, int64_t interval, long bytes)
{
	static int64_t last;
	static long last_bytes, last_switches;
	int64_t now = wl_now();
	long switches;

	if (!last)
		last = start;
	if (now - last < interval)
		return;
	switches = own_switches() + *reader_switches;
	printf("interval at_ms=%.1f ms=%.1f bytes=%ld switches=%ld switches_per_s=%.0f "
	       "prio_writer=%lld\n",
	       (now - start) / 1e6, (now - last) / 1e6, bytes - last_bytes,
	       switches - last_switches, (switches - last_switches) / ((now - last) / 1e9),
	       wl_proc_stat(getpid(), 18));
	fflush(stdout);
	last = wl_now();
	last_bytes = bytes;
	last_switches = switches;
}

static void reader(int fd, long bytes)
{
	unsigned char c;

	for (long i = 0; i < bytes; i++) {
		if (reader_switches && !(i & LOOK_MASK))
			*reader_switches = own_switches();
		if (read(fd, &c, 1) != 1)
			wl_die("read");
		if (c != (unsigned char)i)
			_exit(3); /* a byte was lost, doubled or changed */
	}
	_exit(read(fd, &c, 1) == 0 ? 0 : 4);
}

int main(int argc, char **argv)
{
	static double nap;
	static long cpu = -1, interval_ms;
	static const struct wl_opt opts[] = {
		{"sleep", WL_REAL, &nap,
		 "seconds to sleep first, which makes the writer interactive"},
		{"cpu", WL_INT, &cpu, "run both on this CPU"},
		{"interval", WL_INT, &interval_ms, "print a line every N ms: bytes, switches"},
	};
	static const struct wl_program prog = {
		.usage = "pipe_switch [OPTIONS] [BYTES]",
		.about =
			"Sends BYTES (default 1048576) one by one through a 4096-byte pipe and counts\n"
			"context switches per byte. The data is checked.",
		.opts = opts,
		.nopts = 3,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	long bytes = arg < argc ? wl_number(argv[arg], "BYTES") : 1048576;
	int64_t start, elapsed;
	int fd[2], status, size;
	pid_t pid;

	if (cpu >= 0 && wl_pin(0, cpu) < 0)
		wl_die("affinity");
	if (nap > 0)
		wl_sleep_until(wl_now() + nap * 1e9);
	if (pipe(fd) < 0)
		wl_die("pipe");
	size = fcntl(fd[1], F_SETPIPE_SZ, RING);
	if (size < 0)
		wl_die("F_SETPIPE_SZ");
	wl_at_least("--interval", interval_ms, 0);
	if (interval_ms)
		reader_switches = wl_shared(sizeof(*reader_switches));
	start = wl_now();
	pid = fork();
	if (pid < 0)
		wl_die("fork");
	if (pid == 0) {
		close(fd[1]);
		reader(fd[0], bytes);
	}
	close(fd[0]);
	for (long i = 0; i < bytes; i++) {
		unsigned char c = i;

		if (interval_ms && !(i & LOOK_MASK))
			report_interval(start, interval_ms * 1000000LL, i);
		if (write(fd[1], &c, 1) != 1)
			wl_die("write");
	}
	close(fd[1]);
	if (waitpid(pid, &status, 0) != pid)
		wl_die("waitpid");
	elapsed = wl_now() - start;
	wl_result("pipe_switch", "bytes=%ld ring_bytes=%d elapsed_s=%.6f switches_per_byte=%.6f",
		  bytes, size, elapsed / 1e9, (double)wl_switches() / bytes);
	return status != 0;
}

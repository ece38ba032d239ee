// SPDX-License-Identifier: MIT
/*
 * cheat - the tick dodger: runs between the ticks and sleeps over each of them.
 *
 * Tsafrir, Etsion and Feitelson, "Secretly Monopolizing the CPU Without Superuser Privileges",
 * USENIX Security 2007. A scheduler that charges whoever runs when the tick comes charges somebody
 * else: the cheat gets most of the CPU, looks idle, and even earns a sleeper's bonus.
 *
 * The phase and length of the tick are found by observing: on this system by watching the count
 * of billed ticks in /proc/self/sched while spinning; on Linux by watching CLOCK_MONOTONIC_COARSE,
 * which moves at ticks. What is "shown" is billed ticks here and utime + stime in /proc/PID/stat
 * on Linux.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/wl.h"

#define SAMPLES	  20 /* ticks watched for the calibration */
#define GIVE_UP_S 3

static int64_t tick;  /* length, ns */
static int64_t phase; /* wl_now() just after some tick */

/* Ticks billed to @pid; -1 if the system does not tell. */
static long billed(pid_t pid)
{
	char path[40], text[1024], *at;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/sched", (int)pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strstr(text, "ticks_billed:");
	return at ? strtol(at + 13, NULL, 10) : -1;
}

static int64_t coarse(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC_COARSE, &ts) < 0)
		wl_die("CLOCK_MONOTONIC_COARSE");
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* The next @n moments at which the observed count moves, spinning. */
static void observe(int64_t *seen, int n, bool by_bill)
{
	int64_t give_up = wl_now() + GIVE_UP_S * 1000000000LL;
	int64_t before = by_bill ? billed(getpid()) : coarse();

	while (n) {
		int64_t look = by_bill ? billed(getpid()) : coarse(), now = wl_now();

		if (look != before) {
			*seen++ = now;
			n--;
		}
		before = look;
		if (now > give_up) {
			fprintf(stderr, "cheat: no tick was seen\n");
			exit(1);
		}
	}
}

/* Whole ticks from the phase to @when, rounded. */
static int64_t ticks_to(int64_t when)
{
	return (when - phase + tick / 2) / tick;
}

/* A look comes after its tick, more or less late; the least late of many is taken as the tick. */
static int64_t least_late(const int64_t *seen, int n)
{
	int64_t best = seen[0];

	for (int i = 1; i < n; i++)
		if (seen[i] - ticks_to(seen[i]) * tick < best - ticks_to(best) * tick)
			best = seen[i];
	return best;
}

/*
 * A look is late by up to 0.1 ms, so 20 ticks give the length to some parts per thousand. That is
 * enough to count the ticks of a sleep of 100, whose length gives it five times as well, and so
 * on. In the end a whole number of ticks per second is assumed, else the phase would drift.
 */
static void calibrate(bool by_bill)
{
	int64_t seen[SAMPLES], gap[SAMPLES - 1], middle, ticks = 0, hit;

	observe(seen, SAMPLES, by_bill);
	for (int i = 1; i < SAMPLES; i++)
		gap[i - 1] = seen[i] - seen[i - 1];
	/* Not the least: a look that somebody delays is followed by a short gap. */
	wl_sort(gap, SAMPLES - 1);
	middle = gap[(SAMPLES - 1) / 2];
	for (int i = 1; i < SAMPLES; i++)
		ticks += (seen[i] - seen[i - 1] + middle / 2) / middle;
	tick = (seen[SAMPLES - 1] - seen[0]) / ticks;
	phase = seen[0];
	phase = least_late(seen, SAMPLES);
	for (long length = 100; length <= 500; length *= 5) {
		wl_sleep(length * tick);
		observe(seen, SAMPLES, by_bill);
		hit = least_late(seen, SAMPLES);
		tick = (hit - phase) / ticks_to(hit);
	}
	phase = hit;
	tick = 1000000000 / ((1000000000 + tick / 2) / tick);
}

/* CPU time shown for @pid, in ns, by the system's own books. */
static int64_t shown(pid_t pid, bool by_bill)
{
	if (by_bill)
		return billed(pid) * tick;
	return (wl_proc_stat(pid, 14) + wl_proc_stat(pid, 15)) * 1000000000LL /
	       sysconf(_SC_CLK_TCK);
}

int main(int argc, char **argv)
{
	static double want_pct = 90, after_us = 20, nap_s = 5;
	static long hogs = 1;
	static const struct wl_opt opts[] = {
		{"want", WL_REAL, &want_pct, "per cent of each tick to run (default 90)"},
		{"after", WL_REAL, &after_us, "us after the tick to begin (default 20)"},
		{"nap", WL_REAL, &nap_s,
		 "seconds of sleep first, as a program at rest (default 5)"},
		{"hogs", WL_INT, &hogs, "honest hogs on the same CPU (default 1)"},
	};
	static const struct wl_program prog = {
		.usage = "cheat [OPTIONS] [SECONDS]",
		.about =
			"Runs between the ticks and sleeps over each, beside honest hogs on one CPU, for\n"
			"SECONDS (default 10). Reports the share it obtained and the share that the\n"
			"system shows for it.",
		.opts = opts,
		.nopts = 4,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv), cpu[WL_MAX_CPUS];
	double seconds = arg < argc ? wl_number(argv[arg], "SECONDS") : 10;
	int64_t start, end, used, show, hog_used = 0, hog_shown = 0, at, elapsed;
	bool by_bill = billed(getpid()) >= 0;
	long naps = 0, late = 0;
	struct wl_hog *h;
	pid_t *pid;

	wl_at_least("--hogs", hogs, 0);
	wl_at_least("--want", want_pct, 1);
	wl_at_least("--after", after_us, 0);
	wl_at_least("--nap", nap_s, 0);
	if (want_pct > 99)
		wl_bad("--want must be at most 99");
	h = wl_shared((hogs + 1) * sizeof(*h));
	pid = calloc(hogs + 1, sizeof(*pid));
	if (!pid)
		wl_die("memory");
	wl_cpus(cpu);
	if (wl_pin(0, cpu[0]) < 0)
		wl_die("affinity");
	calibrate(by_bill);
	for (long i = 0; i < hogs; i++) {
		pid[i] = wl_fork();
		if (pid[i] == 0)
			wl_hog(INT64_MAX, NULL, &h[i]);
	}
	/*
	 * A cheat that begins as a hog among hogs waits for its turn like them and gains little;
	 * with a small lead over them it is woken at every tick, and keeps the lead.
	 */
	wl_sleep(nap_s * 1e9);
	for (long i = 0; i < hogs; i++) {
		hog_used -= h[i].cpu;
		hog_shown -= shown(pid[i], by_bill);
	}
	used = wl_cpu_time();
	show = shown(getpid(), by_bill);
	start = wl_now();
	end = start + seconds * 1e9;
	at = phase + (start - phase) / tick * tick;
	while (at < end) {
		int64_t now;

		at += tick;
		wl_sleep_until(at + (int64_t)(after_us * 1e3));
		naps++;
		now = wl_now();
		if (now > at + tick) {
			late++;
			at += (now - at) / tick * tick;
		}
		while (wl_now() < at + (int64_t)(tick * want_pct / 100))
			;
	}
	elapsed = wl_now() - start;
	used = wl_cpu_time() - used;
	show = shown(getpid(), by_bill) - show;
	for (long i = 0; i < hogs; i++) {
		hog_used += h[i].cpu;
		hog_shown += shown(pid[i], by_bill);
		wl_end(pid[i]);
	}
	wl_result("cheat",
		  "tick_us=%.1f want_pct=%g elapsed_s=%.3f naps=%ld late=%ld obtained_pct=%.1f "
		  "shown_pct=%.1f hogs=%ld hogs_obtained_pct=%.1f hogs_shown_pct=%.1f",
		  tick / 1e3, want_pct, elapsed / 1e9, naps, late, 100.0 * used / elapsed,
		  100.0 * show / elapsed, hogs, 100.0 * hog_used / elapsed,
		  100.0 * hog_shown / elapsed);
	return 0;
}

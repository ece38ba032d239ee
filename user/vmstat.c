// SPDX-License-Identifier: MIT
/*
 * vmstat - the machine in one line per interval, in the columns of procps. The first line is the average since start-up. Here there is
 * no swap, no cache and no disc: those columns are 0; all CPU time is user time.
 */
#include <stdio.h>
#include <string.h>

#include "lib/stat.h"

static const struct wl_program program = {
	.usage = "vmstat [DELAY [COUNT]]",
	.about =
		"r running or waiting to run, b blocked; memory in KiB; in interrupts, cs switches per\n"
		"second; us sy id wa st the CPUs' time in %. The first line is since start-up. swpd, buff,\n"
		"cache, si, so, bi, bo are 0 where there is no such thing.",
	.max_args = 2,
};

struct memory {
	long long free, buffers, cached, swap;
};

static struct memory memory(void)
{
	struct memory m = {0};
	long long total = 0, left = 0;
	char line[256];
	FILE *f = fopen("/proc/meminfo", "r");

	if (!f)
		wl_die("/proc/meminfo");
	while (fgets(line, sizeof(line), f)) {
		sscanf(line, "MemFree: %lld", &m.free);
		sscanf(line, "Buffers: %lld", &m.buffers);
		sscanf(line, "Cached: %lld", &m.cached);
		sscanf(line, "SwapTotal: %lld", &total);
		sscanf(line, "SwapFree: %lld", &left);
	}
	fclose(f);
	m.swap = total - left;
	return m;
}

static double uptime(void)
{
	double seconds = 0;
	FILE *f = fopen("/proc/uptime", "r");

	if (!f || fscanf(f, "%lf", &seconds) != 1)
		wl_die("/proc/uptime");
	fclose(f);
	return seconds;
}

static void print(const struct stat_all *from, const struct stat_all *to, double seconds)
{
	struct memory m = memory();
	int pct[5], kinds[5] = {ST_USER, ST_SYSTEM, ST_IDLE, ST_IOWAIT, ST_STEAL};

	for (int i = 0; i < 5; i++) {
		double p = stat_percent(&from->all, &to->all, kinds[i]);

		if (kinds[i] == ST_USER)
			p += stat_percent(&from->all, &to->all, ST_NICE);
		if (kinds[i] == ST_SYSTEM)
			p += stat_percent(&from->all, &to->all, ST_IRQ) +
			     stat_percent(&from->all, &to->all, ST_SOFTIRQ);
		pct[i] = (int)(p + 0.5);
	}
	printf("%2llu %2llu %6lld %6lld %6lld %6lld %4d %4d %5d %5d %4.0f %4.0f %2d %2d %2d %2d %2d\n",
	       to->running, to->blocked, m.swap, m.free, m.buffers, m.cached, 0, 0, 0, 0,
	       (double)(to->interrupts - from->interrupts) / seconds,
	       (double)(to->switches - from->switches) / seconds, pct[0], pct[1], pct[2], pct[3],
	       pct[4]);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct stat_all s[2]; /* s[0]: all zero, as at start-up */
	int arg = wl_options(&program, argc, argv), now = 1;
	double delay = arg < argc ? wl_number(argv[arg], "DELAY") : 0;
	long count = arg + 1 < argc ? (long)wl_number(argv[arg + 1], "COUNT") : delay > 0 ? -1 : 1;
	int64_t when = wl_now(), until;

	stat_read(&s[1]);
	for (long i = 0; count < 0 || i < count; i++) {
		if (i % 22 == 0)
			puts("procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n"
			     " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st");
		if (i == 0) {
			print(&s[0], &s[1], uptime());
			continue;
		}
		until = when + (int64_t)(delay * 1e9);
		wl_sleep_until(until);
		now ^= 1;
		stat_read(&s[now]);
		print(&s[now ^ 1], &s[now], (double)(wl_now() - when) / 1e9);
		when = wl_now();
	}
	return 0;
}

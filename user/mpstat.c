// SPDX-License-Identifier: MIT
/*
 * mpstat - the time of each CPU by kind, in the columns of sysstat. Here all time that is not idle is %usr: the kernel does not tell user
 * from system time, and there is no disc, hypervisor or guest; those columns are 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "lib/stat.h"

static const char *which;

static const struct wl_opt options[] = {
	{"P", WL_TEXT, &which, "ALL, or CPU numbers separated by commas; default: the sum only"},
};

static const struct wl_program program = {
	.usage = "mpstat [-P ALL|N,N...] [DELAY [COUNT]]",
	.about =
		"Without DELAY: since start-up. With it: the last DELAY seconds, COUNT times or for ever,\n"
		"and the average of all at the end. %sys, %iowait, %irq, %soft, %steal, %guest, %gnice and\n"
		"%nice are 0 on this system: all time that is not idle counts as %usr.",
	.opts = options,
	.nopts = 1,
	.max_args = 2,
};

static void when(char text[16])
{
	time_t now = time(NULL);
	struct tm tm = {0};

	gmtime_r(&now, &tm);
	strftime(text, 16, "%H:%M:%S", &tm);
}

static void line(const char *label, const char *cpu, const struct stat_cpu *from,
		 const struct stat_cpu *to)
{
	static const int order[] = {ST_USER,	ST_NICE,  ST_SYSTEM, ST_IOWAIT,	    ST_IRQ,
				    ST_SOFTIRQ, ST_STEAL, ST_GUEST,  ST_GUEST_NICE, ST_IDLE};

	printf("%-11s %4s", label, cpu);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		printf(" %7.2f", stat_percent(from, to, order[i]));
	putchar('\n');
}

/* Is CPU @cpu among those asked for? */
static bool wanted(int cpu)
{
	const char *at = which;
	char *end;

	if (!which)
		return false;
	if (!strcmp(which, "ALL"))
		return true;
	for (;; at = end + 1) {
		if (strtol(at, &end, 10) == cpu && end != at)
			return true;
		if (*end != ',')
			return false;
	}
}

static void table(const char *label, const struct stat_all *from, const struct stat_all *to)
{
	char number[16];

	printf("\n%-11s  CPU    %%usr   %%nice    %%sys %%iowait    %%irq   %%soft  %%steal  %%guest  %%gnice   %%idle\n",
	       label);
	if (!which || !strcmp(which, "ALL"))
		line(label, "all", &from->all, &to->all);
	for (int cpu = 0; cpu < to->ncpus; cpu++) {
		snprintf(number, sizeof(number), "%d", cpu);
		if (wanted(cpu))
			line(label, number, &from->cpus[cpu], &to->cpus[cpu]);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static struct stat_all zero, first, last, now;
	int arg = wl_options(&program, argc, argv);
	double delay = arg < argc ? wl_number(argv[arg], "DELAY") : 0;
	long count = arg + 1 < argc ? (long)wl_number(argv[arg + 1], "COUNT") : -1;
	char label[16], date[16];
	struct utsname u;
	time_t day = time(NULL);
	struct tm tm = {0};

	if (which && strcmp(which, "ALL") && strspn(which, "0123456789,") != strlen(which))
		wl_bad("-P %s: ALL or CPU numbers", which);
	stat_read(&first);
	uname(&u);
	gmtime_r(&day, &tm);
	strftime(date, sizeof(date), "%m/%d/%y", &tm);
	printf("%s %s (%s) \t%s \t_%s_\t(%d CPU)\n", u.sysname, u.release, u.nodename, date,
	       u.machine, first.ncpus);
	last = first;
	when(label);
	if (delay <= 0) {
		table(label, &zero, &first);
		return 0;
	}
	for (long i = 0; count < 0 || i < count; i++) {
		wl_sleep((int64_t)(delay * 1e9));
		stat_read(&now);
		when(label);
		table(label, &last, &now);
		last = now;
	}
	table("Average:", &first, &last);
	return 0;
}

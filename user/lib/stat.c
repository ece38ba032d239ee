// SPDX-License-Identifier: MIT
/*
 * See stat.h.
 */
#include <stdio.h>
#include <string.h>

#include "stat.h"

static bool take_cpu(const char *text, struct stat_cpu *c)
{
	return sscanf(text, "%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu", &c->t[0], &c->t[1],
		      &c->t[2], &c->t[3], &c->t[4], &c->t[5], &c->t[6], &c->t[7], &c->t[8],
		      &c->t[9]) == ST_KINDS;
}

void stat_read(struct stat_all *s)
{
	static char line[65536]; /* Linux counts every interrupt in one line */
	FILE *f = fopen("/proc/stat", "r");
	int cpu, at;

	if (!f)
		wl_die("/proc/stat");
	memset(s, 0, sizeof(*s));
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "cpu ", 4))
			take_cpu(line + 4, &s->all);
		else if (sscanf(line, "cpu%d %n", &cpu, &at) == 1 && cpu >= 0 &&
			 cpu < WL_MAX_CPUS && take_cpu(line + at, &s->cpus[cpu]))
			s->ncpus = cpu + 1;
		sscanf(line, "intr %llu", &s->interrupts);
		sscanf(line, "ctxt %llu", &s->switches);
		sscanf(line, "procs_running %llu", &s->running);
		sscanf(line, "procs_blocked %llu", &s->blocked);
	}
	fclose(f);
}

double stat_percent(const struct stat_cpu *from, const struct stat_cpu *to, int kind)
{
	double sum = 0, part = (double)(to->t[kind] - from->t[kind]);

	for (int i = 0; i < ST_GUEST; i++)
		sum += (double)(to->t[i] - from->t[i]);
	if (kind == ST_USER || kind == ST_NICE) {
		int guest = kind == ST_USER ? ST_GUEST : ST_GUEST_NICE;

		part -= (double)(to->t[guest] - from->t[guest]);
	}
	return sum > 0 ? 100 * part / sum : 0;
}

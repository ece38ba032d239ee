/* SPDX-License-Identifier: MIT */
/*
 * /proc/stat for vmstat and mpstat: the time of each CPU by kind, and the counts of the machine. Works on Linux too.
 */
#ifndef USER_LIB_STAT_H
#define USER_LIB_STAT_H

#include "wl.h"

/* In the order of proc(5); the guest's time is also in user and nice. */
enum {
	ST_USER,
	ST_NICE,
	ST_SYSTEM,
	ST_IDLE,
	ST_IOWAIT,
	ST_IRQ,
	ST_SOFTIRQ,
	ST_STEAL,
	ST_GUEST,
	ST_GUEST_NICE,
	ST_KINDS
};

struct stat_cpu {
	unsigned long long t[ST_KINDS]; /* 1/100 s */
};

struct stat_all {
	struct stat_cpu all, cpus[WL_MAX_CPUS];
	int ncpus;
	unsigned long long interrupts, switches, running, blocked;
};

/** stat_read() - the counts up to now, or exit with a message. */
void stat_read(struct stat_all *s);

/** stat_percent() - the share of @kind in the time from @from to @to; 0 if none passed. */
double stat_percent(const struct stat_cpu *from, const struct stat_cpu *to, int kind);

#endif

/* SPDX-License-Identifier: MIT
 *
 * The kernel command line, parsed once at start-up. What is unknown or malformed is reported by name and ignored.
 */
#ifndef KERNEL_CMDLINE_H
#define KERNEL_CMDLINE_H

#include "lib/types.h"

#define CMDLINE_MAX_TUNABLES 16

enum panic_mode { PANIC_DEFAULT, PANIC_HALT, PANIC_EXIT, PANIC_REBOOT };

/** struct options - constant after cmdline_parse(). Strings point into a copy of the command line and are never NULL unless said. */
struct options {
	const char *sched;    /* policy name; NULL: default */
	const char *idle;     /* "halt", "last" or "spin" */
	const char *selftest; /* glob of test names; NULL: none */
	const char *trace;    /* value of trace=; NULL: off */
	unsigned smp;	      /* most CPUs to use; 0: all */
	unsigned hz;	      /* ticks per second, 100..1000; 0: the policy's own */
	bool preempt_full;
	bool det; /* deterministic run */
	bool have_seed;
	u64 seed;
	u64 mem;	/* most bytes of RAM to use; 0: all */
	bool quiet;	/* no kernel messages on COM1 (they stay in the log and on debugcon) */
	bool panic_now; /* panic=now: on purpose, to test the way out */
	enum panic_mode panic;
	unsigned nr_tunables;
	struct {
		const char *name; /* without "sched." */
		const char *value;
	} tunables[CMDLINE_MAX_TUNABLES];
};

extern struct options options;

/** cmdline_parse() - fill options. @text: the whole command line. Context: start-up, once. */
void cmdline_parse(const char *text);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A crowd of processes and who suffers from it: the frame of the programs that break
 * interactivity estimators. N members live as their program says; beside them run, if asked for,
 * a CPU hog at nice 0 that notes its longest gap, and the probe, a 5 % task (2.5 ms of CPU every
 * 50 ms) that notes how late it was woken. The probe is the parent itself.
 */
#ifndef USER_LIB_CROWD_H
#define USER_LIB_CROWD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* A hog's diary. It may lie in shared memory and be read while the hog runs. */
struct wl_hog {
	volatile int64_t start, last; /* wl_now() at the start and at the last look */
	volatile int64_t cpu;	      /* ns of CPU time used up to @last */
	volatile int64_t gap;	      /* longest time it was not running, ns */
	volatile int64_t rounds;      /* of wl_spin() */
	int64_t clock;		      /* wl_cpu_time() at @last */
};

/** wl_hog_step() - one wl_spin(), noted in @h. The first call also notes the time since @start. */
void wl_hog_step(struct wl_hog *h);

/**
 * wl_hog() - use all the CPU until @end (wl_now()) or until *@stop; keep @h up to date.
 *
 * A gap is wall time that passed without CPU time of this thread, so what an emulator or a
 * hypervisor takes away from the CPU is not one. @h->start may be set before, e.g. before the fork;
 * the time until the first round then counts as a gap.
 */
void wl_hog(int64_t end, const volatile sig_atomic_t *stop, struct wl_hog *h);

/** wl_hog_gap() - the longest gap up to @now (wl_now()), the one that still lasts included. */
int64_t wl_hog_gap(const struct wl_hog *h, int64_t now);

/* What a periodic task met with. */
struct wl_late {
	int64_t *late; /* wake-up after the period's start, ns */
	size_t n, room;
	long periods, missed; /* deadlines: work not done when the next period began */
};

/**
 * wl_probe() - be the 5 % task from now until @end, or while *@running is not 0 if @end is 0.
 * Periods that are over before they began count as missed and are skipped. Adds to @l.
 */
void wl_probe(int64_t end, const volatile int *running, struct wl_late *l);

struct crowd {
	const char *name;
	long procs;
	void (*member)(long id); /* a member's life; it may return */
	int64_t length;		 /* ns; 0: until all members have returned */
	bool probe, hog;
};

/** crowd_run() - run @c to its end and print its RESULT line, beginning with the text @head. */
void crowd_run(const struct crowd *c, const char *head);

#endif

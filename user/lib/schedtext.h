/* SPDX-License-Identifier: MIT */
/*
 * Reading what /sys/sched says, and drawing a CPU's queue from it. The format: a line of a task is "ID (COMM) NAME N NAME N of M ...";
 * in a queue "LEVEL: " stands before it. kernel/sched/policy.h, show() and show_task(), is where it comes from.
 */
#ifndef USER_LIB_SCHEDTEXT_H
#define USER_LIB_SCHEDTEXT_H

#include <stdbool.h>

/** st_read() - the whole text of @path, to be freed. Exits with a message if it cannot be read. */
char *st_read(const char *path);

/** st_line() - cut the next line off *@text. Return: it, or NULL at the end. */
char *st_line(char **text);

/** st_info() - what /sys/sched/info says of @key, e.g. "policy", in static memory of its own for each call; "" if nothing. */
const char *st_info(const char *key);

struct st_task {
	int id;
	char comm[32];
	const char *figures; /* behind the name */
};

/** st_task() - take "ID (COMM) figures" apart. Return: whether it is that. */
bool st_task(const char *text, struct st_task *t);

/** st_get() - the number behind the word @name in @figures; @none if it is not there. *@of (may be NULL): what it is "of", else -1. */
long long st_get(const char *figures, const char *name, long long none, long long *of);

/** st_score() - the policy's own figure (@name), as a percentage of its maximum if it has one, e.g. "12.5%", else as it is. */
const char *st_score(const char *figures, const char *name);

/**
 * st_draw_queue() - add the queue in *@text, which begins with its "cpu N:" line, to the frame: 80 columns; *@text moves behind it. @mark: the
 * task to mark, -1: the running one. @wanted: the CPU to draw, -1 any. Return: the CPU, -1 if the text does not begin with one.
 */
int st_draw_queue(char **text, int wanted, int mark);

#endif

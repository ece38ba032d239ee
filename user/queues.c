// SPDX-License-Identifier: MIT
/*
 * queues - the run queues drawn in the terminal, refreshed in place. What is drawn of a CPU is one state of it; different CPUs are
 * looked at one after the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/schedtext.h"
#include "lib/screen.h"
#include "lib/wl.h"

static bool batch;
static long frames;
static double delay = 1;

static const struct wl_opt options[] = {
	{"b", WL_FLAG, &batch, "batch: plain text, no terminal needed; one frame unless -n"},
	{"n", WL_INT, &frames, "end after so many frames"},
	{"d", WL_REAL, &delay, "seconds between two frames"},
};

static const struct wl_program program = {
	.usage = "queues [OPTIONS] [CPU]",
	.about =
		"Draws the run queue of each CPU, or of one: the levels in use (bitmap), then the tasks in\n"
		"the order in which they stand, with LEVEL NAME(ID) SLICE-LEFT/SLICE and the policy's own\n"
		"figure; * runs. Policies with one queue for all show it once.\n"
		"Keys: q ends, space refreshes, a digit shows that CPU alone, a all.",
	.opts = options,
	.nopts = 3,
	.max_args = 1,
};

static void draw(int only)
{
	char *all = st_read("/sys/sched/queues"), *text = all;
	bool global = strstr(st_info("queue"), "one for all") != NULL;
	int drawn = 0;

	screen_line("policy %s, HZ %s", st_info("policy"), st_info("hz"));
	while (*text) {
		int cpu = st_draw_queue(&text, global && only < 0 ? 0 : only, -1);

		if (cpu < 0)
			break;
		drawn += only < 0 || cpu == only;
	}
	if (!drawn)
		screen_line("no such CPU: %d", only);
	screen_show();
	free(all);
}

int main(int argc, char **argv)
{
	int arg = wl_options(&program, argc, argv), only = -1;

	wl_at_least("-d", delay, 0.01);
	wl_at_least("-n", (double)frames, 0);
	if (arg < argc) {
		char *end;

		only = (int)strtol(argv[arg], &end, 10);
		if (*end || end == argv[arg] || only < 0 || only >= WL_MAX_CPUS)
			wl_bad("%s: not a CPU number", argv[arg]);
	}
	if (!frames && batch)
		frames = 1;
	if (!batch)
		screen_begin();
	for (long i = 0; !frames || i < frames; i++) {
		int64_t until = wl_now() + (int64_t)(delay * 1e9);
		int key = KEY_NONE;

		draw(only);
		if (frames && i + 1 == frames)
			break;
		if (batch) {
			wl_sleep_until(until);
			continue;
		}
		while (key == KEY_NONE && wl_now() < until)
			key = screen_key((int)((until - wl_now()) / 1000000) + 1);
		if (key == 'q' || key == 3 || key == KEY_END_OF_INPUT)
			break;
		if (key >= '0' && key <= '9')
			only = key - '0';
		else if (key == 'a')
			only = -1;
	}
	return 0;
}

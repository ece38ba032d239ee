// SPDX-License-Identifier: MIT
/*
 * See schedtext.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schedtext.h"
#include "screen.h"
#include "wl.h"

#define FIRST_LEVEL 100 /* of SCHED_OTHER; 40 levels */
#define LEVELS	    40
#define MAX_LISTS   4

char *st_read(const char *path)
{
	size_t room = 16384, len = 0;
	char *buf = malloc(room);
	int fd = open(path, O_RDONLY);
	ssize_t n;

	if (fd < 0 || !buf)
		wl_die(path);
	while ((n = read(fd, buf + len, room - 1 - len)) > 0) {
		len += (size_t)n;
		if (len + 1 == room && !(buf = realloc(buf, room *= 2)))
			wl_die("memory");
	}
	if (n < 0)
		wl_die(path);
	close(fd);
	buf[len] = '\0';
	return buf;
}

char *st_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	if (!*line)
		return NULL;
	*text = end ? end + 1 : line + strlen(line);
	if (end)
		*end = '\0';
	return line;
}

const char *st_info(const char *key)
{
	static char values[4][64];
	static unsigned which;
	char *all = st_read("/sys/sched/info"), *text = all, *line, *value = values[which++ % 4];
	size_t n = strlen(key);

	*value = '\0';
	while ((line = st_line(&text)))
		if (!strncmp(line, key, n) && line[n] == ':' && line[n + 1] == ' ')
			snprintf(value, sizeof(values[0]), "%s", line + n + 2);
	free(all);
	return value;
}

bool st_task(const char *text, struct st_task *t)
{
	char *end;
	const char *open, *close = NULL;

	t->id = (int)strtol(text, &end, 10);
	if (end == text || strncmp(end, " (", 2))
		return false;
	open = end + 2;
	/* A name may hold brackets; the figures hold none. */
	close = strrchr(open, ')');
	if (!close)
		return false;
	snprintf(t->comm, sizeof(t->comm), "%.*s", (int)(close - open), open);
	t->figures = close + 1;
	return true;
}

long long st_get(const char *figures, const char *name, long long none, long long *of)
{
	size_t n = strlen(name);
	const char *at = figures;

	if (of)
		*of = -1;
	while ((at = strstr(at, name))) {
		char *end;
		long long value;

		if ((at == figures || at[-1] == ' ') && at[n] == ' ') {
			value = strtoll(at + n, &end, 10);
			if (of && !strncmp(end, " of ", 4))
				*of = strtoll(end + 4, NULL, 10);
			return value;
		}
		at += n;
	}
	return none;
}

const char *st_score(const char *figures, const char *name)
{
	static char text[24];
	long long of, value;

	snprintf(text, sizeof(text), "-");
	if (!*name || (value = st_get(figures, name, -1000000, &of)) == -1000000)
		return text;
	if (of > 0)
		snprintf(text, sizeof(text), "%.1f%%", 100.0 * (double)value / (double)of);
	else
		snprintf(text, sizeof(text), "%lld", value);
	return text;
}

/* ---- drawing a queue ---- */

struct list {
	const char *name; /* "active" */
	unsigned long long map[3];
	bool has_map;
	long long tasks, swaps;
	char *lines[64]; /* its tasks */
	int n, more;
};

static void take_list(struct list *l, char *line)
{
	char *colon = strchr(line, ':'), *map;

	*l = (struct list){.name = line};
	*colon = '\0';
	l->tasks = st_get(colon + 1, "tasks", 0, NULL);
	l->swaps = st_get(colon + 1, "swaps", -1, NULL);
	map = strstr(colon + 1, "bitmap ");
	l->has_map = map &&
		     sscanf(map, "bitmap %llx %llx %llx", &l->map[0], &l->map[1], &l->map[2]) == 3;
}

static bool bit(const struct list *l, int level)
{
	return l->map[level / 64] >> (level % 64) & 1;
}

/* One character for each level of SCHED_OTHER, and the real-time levels in use by number. */
static void draw_bitmap(const struct list *l)
{
	char strip[LEVELS + 1], rt[32] = "";

	for (int i = 0; i < LEVELS; i++)
		strip[i] = bit(l, FIRST_LEVEL + i) ? '#' : '.';
	strip[LEVELS] = '\0';
	for (int i = 0; i < FIRST_LEVEL; i++)
		if (bit(l, i) && strlen(rt) < sizeof(rt) - 12)
			snprintf(rt + strlen(rt), sizeof(rt) - strlen(rt), " %d", i);
	screen_line(" %-8s %s %2lld task%s %s%s", l->name, strip, l->tasks,
		    l->tasks == 1 ? " " : "s", *rt ? " rt" : "", rt);
}

/* One task in at most @width columns. */
static void cell(char *text, size_t size, const char *line, int mark, const char *score, int width)
{
	char *rest;
	long level = strtol(line, &rest, 10);
	struct st_task t;
	char name[48], slice[32] = "";
	long long of, left;

	text[0] = '\0';
	if (strncmp(rest, ": ", 2) || !st_task(rest + 2, &t))
		return;
	left = st_get(t.figures, "slice", -1, &of);
	if (of >= 0)
		snprintf(slice, sizeof(slice), "%lld/%lld", left, of);
	snprintf(name, sizeof(name), "%s(%d)", t.comm, t.id);
	snprintf(text, size, "%4ld %c%-*.*s %8s %6s", level, t.id == mark ? '*' : ' ', width - 22,
		 width - 22, name, slice, st_score(t.figures, score));
}

static void draw_lists(struct list *lists, int n, int mark, const char *score)
{
	int rows = 0, width = n > 1 ? 38 : 78;

	if (n > 1)
		screen_line("%-38s | %s", lists[0].name, lists[1].name);
	for (int i = 0; i < n; i++)
		rows = lists[i].n > rows ? lists[i].n : rows;
	for (int row = 0; row < rows; row++) {
		char left[100] = "", right[100] = "";

		if (row < lists[0].n)
			cell(left, sizeof(left), lists[0].lines[row], mark, score, width);
		if (n > 1 && row < lists[1].n)
			cell(right, sizeof(right), lists[1].lines[row], mark, score, width);
		screen_line(n > 1 ? "%-38.38s | %.38s" : "%.78s%s", left, right);
	}
	for (int i = 0; i < n; i++)
		if (lists[i].more)
			screen_line(" %s: and %d more", lists[i].name, lists[i].more);
}

int st_draw_queue(char **text, int wanted, int mark)
{
	struct list lists[MAX_LISTS];
	const char *score = st_info("score");
	char *line = st_line(text), *next, current[64], switches[24];
	bool cut = false, idle, after = mark >= 0;
	struct st_task t;
	int n = 0, cpu;

	if (!line || sscanf(line, "cpu %d:", &cpu) != 1 || !strstr(line, "current ") ||
	    !st_task(strstr(line, "current ") + 8, &t))
		return -1;
	idle = strstr(t.figures, " idle ") != NULL;
	snprintf(switches, sizeof(switches), "%lld", st_get(t.figures, "switches", 0, NULL));
	snprintf(current, sizeof(current), idle ? "idle" : "%.20s(%d)", t.comm, t.id);
	if (mark < 0)
		mark = t.id;
	wanted = wanted < 0 || wanted == cpu;
	if (wanted)
		screen_head("CPU %d: %lld tasks, %s %s, %s switches, tick %s", cpu,
			    st_get(line, "tasks", 0, NULL), after ? "ran" : "runs", current,
			    switches, strstr(t.figures, "tick on") ? "on" : "off");
	while (*(next = *text) && strncmp(next, "cpu ", 4) && strncmp(next, "switch ", 7)) {
		line = st_line(text);
		if (!strncmp(line, "cut:", 4)) {
			cut = true;
		} else if ((*line >= '0' && *line <= '9') || *line == '-') {
			if (!n)
				continue;
			if (lists[n - 1].n < 64)
				lists[n - 1].lines[lists[n - 1].n++] = line;
			else
				lists[n - 1].more++;
		} else if (strchr(line, ':') && n < MAX_LISTS) {
			take_list(&lists[n++], line);
		}
	}
	if (!wanted)
		return cpu;
	for (int i = 0; i < n; i++) {
		if (i == 0 && lists[0].has_map)
			screen_line(
				"          100       110       120       130     139  %lld times swapped",
				lists[0].swaps);
		if (lists[i].has_map)
			draw_bitmap(&lists[i]);
	}
	if (n)
		draw_lists(lists, n > 2 ? 2 : n, mark, score);
	if (cut)
		screen_line(" (cut: there is more)");
	return cpu;
}

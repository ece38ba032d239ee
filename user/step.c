// SPDX-License-Identifier: MIT
/*
 * step - one switch after the other: what ran, what runs now, why, and the queue from which it was chosen.
 *
 * The machine is not held up: the kernel writes the switches down at full speed (/sys/sched/watch), and they are played afterwards, by
 * key or slowly. A CPU that was stopped between two switches would not be the same CPU any more: sleepers earn by the clock.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/schedtext.h"
#include "lib/screen.h"
#include "lib/wl.h"

#define WATCH "/sys/sched/watch"

static bool batch;
static long only = -1, limit;
static double seconds = 1, slow;

static const struct wl_opt options[] = {
	{"c", WL_INT, &only, "only switches of this CPU (default: all)"},
	{"t", WL_REAL, &seconds, "without PROG: watch so many seconds (1)"},
	{"d", WL_REAL, &slow, "slow motion: go on by itself after so many seconds"},
	{"n", WL_INT, &limit, "play only the first so many switches"},
	{"b", WL_FLAG, &batch, "batch: print all, no terminal needed"},
};

static const struct wl_program program = {
	.usage = "step [OPTIONS] [PROG ARG...]",
	.about =
		"Watches every switch while PROG runs (or for -t seconds), then plays them: the reason\n"
		"for each choice and the queue as it was chosen from.\n"
		"Keys: space, Enter, right: next; b, left: back; g, G: first, last; p: by itself, or not;\n"
		"+ -: faster, slower; q: end.",
	.opts = options,
	.nopts = 5,
	.max_args = 1000,
};

struct record {
	char *head;	   /* "on N ns N how W ..." */
	char *prev, *next; /* "ID (COMM) prio N" */
	char *queue;	   /* text up to the next record */
	size_t length;
};

static struct record *records;
static size_t count;

static int command(const char *text)
{
	int fd = open(WATCH, O_WRONLY), err = 0;

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err = errno;
	close(fd);
	return err;
}

static void watch(char **argv)
{
	char text[32] = "start";
	int err;

	if (only >= 0)
		snprintf(text, sizeof(text), "start %ld", only);
	err = command(text);
	if (err == EINVAL)
		wl_bad("there is no CPU %ld", only);
	errno = err;
	if (err)
		wl_die(WATCH);
	if (*argv) {
		pid_t pid = wl_fork();

		if (pid == 0) {
			execvp(argv[0], argv);
			fprintf(stderr, "step: %s: %s\n", argv[0], strerror(errno));
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	} else {
		wl_sleep((int64_t)(seconds * 1e9));
	}
	command("stop");
}

/* Take the text apart. Return: the line about the whole. */
static char *load(char *text)
{
	char *first = st_line(&text);

	while (*text) {
		struct record *r;
		char *head = st_line(&text);

		if (strncmp(head, "switch ", 7) || !strchr(head, ':'))
			continue;
		records = realloc(records, (count + 1) * sizeof(*records));
		if (!records)
			wl_die("memory");
		r = &records[count++];
		r->head = strchr(head, ':') + 1;
		r->prev = st_line(&text);
		r->next = st_line(&text);
		if (!r->prev || !r->next || strncmp(r->prev, "prev: ", 6) ||
		    strncmp(r->next, "next: ", 6))
			wl_bad(WATCH " says something else than expected");
		r->prev += 6;
		r->next += 6;
		r->queue = text;
		text = strstr(text, "\nswitch ");
		text = text ? text + 1 : r->queue + strlen(r->queue);
		r->length = (size_t)(text - r->queue);
	}
	return first;
}

static long long head(const struct record *r, const char *name)
{
	return st_get(r->head, name, 0, NULL);
}

/* In which list of @r is task @id, and its line there. Return: the list's first letter, 0 if it is in none. */
static char place(const struct record *r, int id, char *line, size_t size)
{
	char word[24], list = 0;
	const char *at = r->queue, *end = r->queue + r->length, *next;

	snprintf(word, sizeof(word), ": %d (", id);
	for (; at < end; at = next) {
		const char *colon = strchr(at, ':');

		next = strchr(at, '\n');
		next = next && next < end ? next + 1 : end;
		if (*at >= 'a' && *at <= 'z')
			list = *at;
		else if (colon && colon < next && !strncmp(colon, word, strlen(word))) {
			snprintf(line, size, "%.*s", (int)(next - colon - 3), colon + 2);
			return list;
		}
	}
	return 0;
}

/* How often the arrays changed places (or all slices were filled) up to @r; -1 if the policy has no such thing. */
static long long rounds(const struct record *r)
{
	char copy[512];
	long long swaps;

	snprintf(copy, sizeof(copy), "%.*s", (int)(r->length < 500 ? r->length : 500), r->queue);
	swaps = st_get(copy, "swaps", -1, NULL);
	return swaps >= 0 ? swaps : st_get(copy, "recalculations", -1, NULL);
}

/* The record before @r of the same CPU. */
static const struct record *before(const struct record *r)
{
	for (const struct record *b = r; b-- > records;)
		if (head(b, "on") == head(r, "on"))
			return b;
	return NULL;
}

/* Why the task that ran does not run any more. */
static void why_stopped(const struct record *r, const struct st_task *prev,
			const struct st_task *next, char *text, size_t size)
{
	const char *how = strstr(r->head, "how ") + 4;
	long long state = head(r, "state"), a = st_get(prev->figures, "prio", 0, NULL),
		  b = st_get(next->figures, "prio", 0, NULL), of, left;
	char line[300], list = place(r, prev->id, line, sizeof(line));
	struct st_task t;

	if (!strncmp(prev->comm, "idle/", 5)) {
		snprintf(text, size, "the CPU was idle");
	} else if (!strncmp(how, "slept", 5)) {
		snprintf(text, size, "%s %s", prev->comm,
			 state & 8   ? "has ended"
			 : state & 4 ? "is stopped"
			 : state & 2 ? "sleeps uninterruptibly"
				     : "sleeps");
	} else if (!strncmp(how, "yielded", 7)) {
		snprintf(text, size, "%s yielded%s", prev->comm,
			 list == 'e' ? ", into the expired array" : "");
	} else if (head(r, "moving")) {
		snprintf(text, size, "%s is sent to another CPU", prev->comm);
	} else if (head(r, "tick") && list && st_task(line, &t)) {
		left = st_get(t.figures, "slice", -1, &of);
		if (list == 'e' || left == of)
			snprintf(text, size, "the slice of %s ended: %s", prev->comm,
				 list == 'e' ? "into the expired array"
				 : list == 'a' && rounds(r) != -1 && before(r) &&
						 rounds(before(r)) != rounds(r)
					 ? "it expired"
				 : list == 'a' ? "it stays active"
					       : "it has a new one");
		else if (left == 0)
			snprintf(text, size, "the slice of %s is used up", prev->comm);
		else
			snprintf(text, size,
				 "a tick took the CPU from %s, with %lld of %lld ticks left",
				 prev->comm, left, of);
	} else if (b < a) {
		snprintf(text, size, "%s preempts %s: priority %lld is better than %lld",
			 next->comm, prev->comm, b, a);
	} else {
		snprintf(text, size, "%s was asked to give way", prev->comm);
	}
}

/* Where the next task came from, and what changed for it. */
static void why_chosen(const struct record *r, const struct st_task *next, char *text, size_t size)
{
	const struct record *b = before(r);
	long long by = head(r, "by");
	char line[300];
	size_t n = 0;

	text[0] = '\0';
	if (!strncmp(next->comm, "idle/", 5)) {
		snprintf(text, size, "nothing to run");
		return;
	}
	if (b && rounds(r) > rounds(b))
		n += (size_t)snprintf(
			text + n, size - n,
			strstr(r->queue, "active:") &&
					strstr(r->queue, "active:") < r->queue + r->length
				? "nothing active was left: the arrays change places; "
				: "all slices used up: new ones for everybody; ");
	if (head(r, "pulled"))
		n += (size_t)snprintf(text + n, size - n, "%lld pulled from CPU %lld; ",
				      head(r, "pulled"), head(r, "from"));
	if (head(r, "woken") && by)
		n += (size_t)snprintf(text + n, size - n, "%s was woken or started by task %lld; ",
				      next->comm, by);
	else if (head(r, "woken"))
		n += (size_t)snprintf(text + n, size - n, "%s was woken by an interrupt; ",
				      next->comm);
	if (place(r, next->id, line, sizeof(line)) == 'l')
		snprintf(text + n, size - n, "%s: best goodness seen from CPU %lld", next->comm,
			 head(r, "on"));
	else
		snprintf(text + n, size - n, "%s: first of the best level, %lld", next->comm,
			 st_get(next->figures, "prio", 0, NULL));
}

static void draw(size_t i)
{
	const struct record *r = &records[i], *b = before(r);
	char *copy = strndup(r->queue, r->length), *text = copy, why[256];
	struct st_task prev, next;
	long long ns = head(r, "ns");

	if (!copy || !st_task(r->prev, &prev) || !st_task(r->next, &next))
		wl_bad(WATCH " says something else than expected");
	screen_head("switch %zu of %zu  CPU %lld  at %.6f s (%+.3f ms)", i + 1, count,
		    head(r, "on"), (double)ns / 1e9, b ? (double)(ns - head(b, "ns")) / 1e6 : 0.0);
	screen_line("%s(%d) -> %s(%d)", prev.comm, prev.id, next.comm, next.id);
	why_stopped(r, &prev, &next, why, sizeof(why));
	screen_line("why: %s;", why);
	why_chosen(r, &next, why, sizeof(why));
	for (char *part = why, *end; part; part = end) {
		end = strstr(part, "; ");
		if (end) {
			*end = '\0';
			end += 2;
		}
		screen_line("     %s%s", part, end ? ";" : "");
	}
	st_draw_queue(&text, -1, next.id);
	screen_show();
	free(copy);
}

static void play(void)
{
	bool runs = slow > 0;
	size_t at = 0;

	if (!runs)
		slow = 0.5;
	screen_begin();
	for (;;) {
		int key;

		draw(at);
		key = screen_key(runs ? (int)(slow * 1000) + 1 : -1);
		switch (key) {
		case 'q':
		case 3:
		case KEY_END_OF_INPUT:
			return;
		case 'b':
		case KEY_LEFT:
		case KEY_UP:
			at -= at > 0;
			break;
		case 'g':
			at = 0;
			break;
		case 'G':
			at = count - 1;
			break;
		case 'p':
			runs = !runs;
			break;
		case '+':
			slow = slow > 0.02 ? slow / 2 : slow;
			break;
		case '-':
			slow = slow < 30 ? slow * 2 : slow;
			break;
		case ' ':
		case '\r':
		case '\n':
		case KEY_RIGHT:
		case KEY_DOWN:
			at += at + 1 < count;
			break;
		case KEY_NONE:
			if (runs && at + 1 < count)
				at++;
			else
				runs = false;
			break;
		}
	}
}

int main(int argc, char **argv)
{
	int arg = wl_options(&program, argc, argv);
	char *first;

	wl_at_least("-t", seconds, 0.001);
	if (!batch && (!isatty(0) || !isatty(1)))
		wl_bad("no terminal; -b prints without one");
	watch(argv + arg);
	first = load(st_read(WATCH));
	command("clear");
	if (limit > 0 && count > (size_t)limit)
		count = (size_t)limit;
	if (!count) {
		printf("no switch was seen\n");
		return 0;
	}
	if (batch)
		for (size_t i = 0; i < count; i++)
			draw(i);
	else
		play();
	screen_end();
	if (st_get(first, "left_out", 0, NULL))
		printf("step: %lld of %lld switches were left out: the kernel's text was full\n",
		       st_get(first, "left_out", 0, NULL), st_get(first, "switches", 0, NULL));
	return 0;
}

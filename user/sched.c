// SPDX-License-Identifier: MIT
/*
 * sched - show, choose and tune the scheduling policy, through the files of /sys/sched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DIR "/sys/sched/"

enum { NAME, VALUE, UNIT, MIN, MAX, DEFAULT, SOURCE, FIELDS };

static const char usage[] =
	"usage: sched [info]              the running policy and its knobs\n"
	"       sched list                the policies there are; * runs\n"
	"       sched POLICY              change to POLICY: every program goes on under it\n"
	"       sched get KNOB...         print values, in the knob's unit\n"
	"       sched set KNOB=VALUE...   change knobs; VALUE may have a unit: 2s 500ms 25us 50%\n"
	"       sched --help              this text\n"
	"A name or value that does not exist is refused with a list of what does (status 1).\n";

static void fail(const char *what)
{
	fprintf(stderr, "sched: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* The whole text of a file of /sys/sched; exits if there is none. */
static char *read_file(const char *name)
{
	static char text[4][32768]; /* callers keep up to four */
	static unsigned which;
	char path[64], *buf = text[which++ % 4];
	size_t len = 0;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DIR "%s", name);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		fail(path);
	while ((n = read(fd, buf + len, sizeof(text[0]) - 1 - len)) > 0)
		len += (size_t)n;
	if (n < 0)
		fail(path);
	close(fd);
	buf[len] = '\0';
	return buf;
}

/* One write. Return: 0 or errno. */
static int write_file(const char *name, const char *text)
{
	char path[64];
	ssize_t n;
	int fd, err;

	snprintf(path, sizeof(path), DIR "%s", name);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return errno;
	n = write(fd, text, strlen(text));
	err = n < 0 ? errno : 0;
	close(fd);
	return err;
}

/* Cut the next line off *@text. Return: it, or NULL at the end. */
static char *next_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = '\0';
	*text = end + 1;
	return line;
}

static void split(char *line, char *field[FIELDS])
{
	for (int i = 0; i < FIELDS; i++) {
		char *tab = strchr(line, '\t');

		field[i] = line;
		if (tab)
			*tab = '\0';
		line = tab ? tab + 1 : line + strlen(line);
	}
}

static void print_available(FILE *out)
{
	char *current = read_file("policy"), *text = read_file("available"), *line;

	current[strcspn(current, "\n")] = '\0';
	while ((line = next_line(&text))) {
		char *summary = strchr(line, '\t');

		*summary++ = '\0';
		fprintf(out, "%s %-10s %s\n", !strcmp(line, current) ? "*" : " ", line, summary);
	}
}

static void print_knob(FILE *out, char *field[FIELDS])
{
	fprintf(out, "  %-20s %8s  %-12s %s..%s, default %s (%s)\n", field[NAME], field[VALUE],
		field[UNIT], field[MIN], field[MAX], field[DEFAULT], field[SOURCE]);
}

static void print_knobs(FILE *out)
{
	char *text = read_file("tunables"), *line, *field[FIELDS];

	if (!*text)
		fprintf(out, "  none\n");
	while ((line = next_line(&text))) {
		split(line, field);
		print_knob(out, field);
	}
}

/* Return: whether the running policy has knob @name; its fields. */
static bool find_knob(const char *name, char *field[FIELDS])
{
	char *text = read_file("tunables"), *line;

	while ((line = next_line(&text))) {
		split(line, field);
		if (!strcmp(field[NAME], name))
			return true;
	}
	return false;
}

static int no_knob(const char *name)
{
	char *policy = read_file("policy");

	fprintf(stderr, "sched: policy %.*s has no knob \"%s\". Its knobs:\n",
		(int)strcspn(policy, "\n"), policy, name);
	print_knobs(stderr);
	return 1;
}

static int info(void)
{
	fputs(read_file("info"), stdout);
	printf("knobs:\n");
	print_knobs(stdout);
	return 0;
}

static int change(const char *name)
{
	int err = write_file("policy", name);

	if (err == EINVAL) {
		fprintf(stderr, "sched: there is no policy \"%s\". There are:\n", name);
		print_available(stderr);
	} else if (err) {
		fprintf(stderr, "sched: %s: %s; the old policy goes on\n", name, strerror(err));
	}
	return err != 0;
}

static int get(char **names)
{
	char *field[FIELDS];

	for (; *names; names++) {
		if (!find_knob(*names, field))
			return no_knob(*names);
		printf("%s\n", field[VALUE]);
	}
	return 0;
}

static int set_one(char *text)
{
	char *equals = strchr(text, '='), *field[FIELDS];
	int err;

	if (!equals) {
		fprintf(stderr, "sched: \"%s\": KNOB=VALUE is wanted\n", text);
		return 1;
	}
	err = write_file("tunables", text);
	if (!err)
		return 0;
	*equals = '\0';
	if (!find_knob(text, field))
		return no_knob(text);
	if (err != EINVAL) {
		fprintf(stderr, "sched: %s: %s\n", text, strerror(err));
		return 1;
	}
	fprintf(stderr, "sched: %s cannot be \"%s\": a whole number from %s to %s (%s)\n", text,
		equals + 1, field[MIN], field[MAX], field[UNIT]);
	return 1;
}

int main(int argc, char **argv)
{
	int status = 0;

	if (argc < 2 || (argc == 2 && !strcmp(argv[1], "info")))
		return info();
	if (argc == 2 && (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) {
		fputs(usage, stdout);
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "list")) {
		print_available(stdout);
		return 0;
	}
	if (argc > 2 && !strcmp(argv[1], "get"))
		return get(argv + 2);
	if (argc > 2 && !strcmp(argv[1], "set")) {
		for (int i = 2; i < argc && !status; i++)
			status = set_one(argv[i]);
		return status;
	}
	if (argc == 2 && argv[1][0] != '-')
		return change(argv[1]);
	fputs(usage, stderr);
	return 1;
}

// SPDX-License-Identifier: MIT
/*
 * trace - records of the scheduler, from inside the machine: start and stop them, record while a program runs, show them in
 * several forms, or copy them out as they are for tools/trace on the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"
#include "trace/show.h"

#define DEVICE "/dev/trace"

static int usage(int status)
{
	fputs("usage: trace start [-e EVENTS]          record from now on\n"
	      "       trace stop                       and no longer\n"
	      "       trace clear                      forget what was recorded\n"
	      "       trace dump [-f FORMAT]           stop; show what was recorded\n"
	      "       trace cmd [-e EVENTS] [-f FORMAT] PROG...\n"
	      "                                        clear, record while PROG runs, stop, show\n"
	      "EVENTS: names and groups separated by commas, e.g. switch,wake; default all.\n"
	      "FORMAT: ftrace   text as Linux's, one line an event (default of dump)\n"
	      "        map      one row a switch, one column a CPU\n"
	      "        latency  per task: run time, switches, waiting times\n"
	      "        hist     how many waits were how long\n"
	      "        raw      the records, to a file, for tools/trace on the host\n",
	      status ? stderr : stdout);
	return status;
}

static void command(const char *text)
{
	int fd = open(DEVICE, O_WRONLY);

	if (fd < 0)
		wl_die(DEVICE);
	if (write(fd, text, strlen(text)) < 0)
		wl_die(text);
	close(fd);
}

static void start(const char *events)
{
	char text[128];

	if (snprintf(text, sizeof(text), "start %s", events) >= (int)sizeof(text)) {
		errno = EINVAL;
		wl_die("events");
	}
	command(text);
}

static void show_raw(int fd)
{
	static char buf[16384];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		wl_write_all(1, buf, (size_t)n);
	if (n < 0)
		wl_die(DEVICE);
}

static const struct format {
	const char *name;
	void (*show)(struct stream *s); /* NULL: raw */
} formats[] = {{"ftrace", show_ftrace},
	       {"map", show_map},
	       {"latency", show_latency},
	       {"hist", show_hist},
	       {"raw", NULL}};

static const struct format *find_format(const char *name)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	fprintf(stderr, "trace: no format %s\n", name);
	exit(2);
}

static void dump(const struct format *format)
{
	static struct stream s;
	int fd;

	if (!format->show && isatty(1)) {
		fputs("trace: raw records are binary: send them to a file\n", stderr);
		exit(2);
	}
	command("stop");
	fd = open(DEVICE, O_RDONLY);
	if (fd < 0)
		wl_die(DEVICE);
	if (format->show) {
		stream_open(&s, fd);
		format->show(&s);
		if (fflush(stdout) || ferror(stdout))
			wl_die("standard output");
	} else {
		show_raw(fd);
	}
	close(fd);
}

/* The program's exit status, 128 + signal if one ended it, 127 if it cannot be run. */
static int record(const char *events, char **argv)
{
	int status;
	pid_t pid;

	command("stop");
	command("clear");
	start(events);
	pid = fork();
	if (pid == 0) {
		execvp(argv[0], argv);
		fprintf(stderr, "trace: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		wl_die(argv[0]);
	command("stop");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *events = NULL;
	bool cmd = !strcmp(what, "cmd"), begin = !strcmp(what, "start"),
	     show = !strcmp(what, "dump");
	const struct format *format = NULL;
	int arg = 2, status = 0;

	if (!strcmp(what, "--help"))
		return usage(0);
	for (; arg + 1 < argc; arg += 2) {
		if ((cmd || begin) && !strcmp(argv[arg], "-e"))
			events = argv[arg + 1];
		else if ((cmd || show) && !strcmp(argv[arg], "-f"))
			format = find_format(argv[arg + 1]);
		else
			break;
	}
	if (cmd ? arg == argc || argv[arg][0] == '-' : arg != argc)
		return usage(2);
	if (cmd)
		status = record(events ? events : "all", argv + arg);
	else if (begin)
		start(events ? events : "all");
	else if (!strcmp(what, "stop") || !strcmp(what, "clear"))
		command(what);
	else if (show && !format)
		format = &formats[0];
	else if (!show)
		return usage(2);
	if (format)
		dump(format);
	return status;
}

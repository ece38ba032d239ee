// SPDX-License-Identifier: MIT
/*
 * trace - records of the scheduler, from inside the machine: start and stop them, record while a program runs, and copy
 * them out as they are for tools/trace on the host.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"

#define DEVICE "/dev/trace"

static int usage(int status)
{
	fputs("usage: trace start [-e EVENTS]          record from now on\n"
	      "       trace stop                       and no longer\n"
	      "       trace clear                      forget what was recorded\n"
	      "       trace dump                       stop; the records to standard output\n"
	      "       trace cmd [-e EVENTS] PROG...    clear, record while PROG runs, stop\n"
	      "EVENTS: names and groups separated by commas, e.g. switch,wake; default all.\n"
	      "On the host: tools/trace summary FILE\n",
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

static int dump(void)
{
	static char buf[16384];
	int fd = open(DEVICE, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		wl_die(DEVICE);
	command("stop");
	if (isatty(1)) {
		fputs("trace: the records are binary: send them to a file\n", stderr);
		return 2;
	}
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		wl_write_all(1, buf, (size_t)n);
	if (n < 0)
		wl_die(DEVICE);
	close(fd);
	return 0;
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
	const char *what = argc > 1 ? argv[1] : "", *events = "all";
	bool takes = !strcmp(what, "start") || !strcmp(what, "cmd");
	int arg = 2;

	if (!strcmp(what, "--help"))
		return usage(0);
	if (takes && argc > 3 && !strcmp(argv[2], "-e")) {
		events = argv[3];
		arg = 4;
	}
	if (!strcmp(what, "cmd"))
		return arg < argc ? record(events, argv + arg) : usage(2);
	if (arg != argc)
		return usage(2);
	if (!strcmp(what, "start"))
		start(events);
	else if (!strcmp(what, "stop") || !strcmp(what, "clear"))
		command(what);
	else if (!strcmp(what, "dump"))
		return dump();
	else
		return usage(2);
	return 0;
}

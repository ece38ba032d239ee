// SPDX-License-Identifier: MIT
/*
 * ramcopy - copies a file through the file server of /tmp, which is a process as its clients are.
 *
 * Every 4 KiB are a request and an answer, so the copy goes as fast as client and server get the
 * CPU in turn. Beside hogs it shows what the server's nice value is worth to those it serves.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/wl.h"

#define BLOCK 65536

static long mib = 16, hogs, server_nice = 100, copies = 1;
static const char *folder = "/tmp";

/* The server's process, 0 if there is none: on Linux /tmp is the kernel's business. */
static pid_t find_server(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	while (d && !found && (e = readdir(d))) {
		char path[300], text[64];
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(text, sizeof(text), f) && !strcmp(text, "ramfs\n"))
			found = atoi(e->d_name);
		fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

static void transfer(int in, int out)
{
	static char buf[BLOCK];
	long left = mib << 20;

	while (left > 0) {
		size_t n = BLOCK;

		if (in >= 0)
			n = wl_read_all(in, buf, BLOCK);
		if (n != BLOCK)
			wl_die("read");
		wl_write_all(out, buf, BLOCK);
		left -= BLOCK;
	}
}

static int64_t copy_once(const char *from, const char *to)
{
	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	int64_t start = wl_now();

	if (in < 0 || out < 0)
		wl_die("open");
	transfer(in, out);
	close(in);
	close(out);
	return wl_now() - start;
}

int main(int argc, char **argv)
{
	static const struct wl_opt opts[] = {
		{"mib", WL_INT, &mib, "MiB to copy (default 16)"},
		{"copies", WL_INT, &copies, "how often (default 1)"},
		{"hogs", WL_INT, &hogs, "hogs at nice 0 beside it, on all CPUs (default 0)"},
		{"server-nice", WL_INT, &server_nice, "nice value for ramfs (default: as it is)"},
		{"folder", WL_TEXT, &folder, "where the files are (default /tmp)"},
	};
	static const struct wl_program prog = {
		.usage = "ramcopy [OPTIONS]",
		.about = "Copies a file within /tmp, which a process serves, and reports how fast.",
		.opts = opts,
		.nopts = 5,
	};
	struct wl_hog *h = wl_shared(sizeof(*h));
	char from[300], to[300];
	int64_t took = 0;
	pid_t *pid, server;
	int fd, was = 0;

	wl_options(&prog, argc, argv);
	wl_at_least("--mib", mib, 1);
	wl_at_least("--copies", copies, 1);
	wl_at_least("--hogs", hogs, 0);
	server = find_server();
	if (server)
		was = getpriority(PRIO_PROCESS, server);
	if (server && server_nice != 100 && setpriority(PRIO_PROCESS, server, server_nice) < 0)
		wl_die("nice value of ramfs");
	snprintf(from, sizeof(from), "%s/ramcopy.from", folder);
	snprintf(to, sizeof(to), "%s/ramcopy.to", folder);
	fd = open(from, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		wl_die(from);
	transfer(-1, fd);
	close(fd);
	pid = calloc(hogs + 1, sizeof(*pid));
	if (!pid)
		wl_die("memory");
	for (long i = 0; i < hogs; i++) {
		pid[i] = wl_fork();
		if (pid[i] == 0)
			wl_hog(INT64_MAX, NULL, h);
	}
	for (long i = 0; i < copies; i++)
		took += copy_once(from, to);
	wl_result("ramcopy",
		  "mib=%ld copies=%ld hogs=%ld server_nice=%d elapsed_s=%.3f mib_per_s=%.1f", mib,
		  copies, hogs, server ? getpriority(PRIO_PROCESS, server) : 0, took / 1e9,
		  mib * copies / (took / 1e9));
	for (long i = 0; i < hogs; i++)
		wl_end(pid[i]);
	if (server)
		setpriority(PRIO_PROCESS, server, was);
	unlink(from);
	unlink(to);
	return 0;
}

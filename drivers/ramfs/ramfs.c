// SPDX-License-Identifier: MIT
/*
 * ramfs - files in the memory of an ordinary process: it mounts itself over a directory and answers the kernel's requests, one after
 * the other, until it is killed. Everything in it is gone then.
 *
 * usage: ramfs DIRECTORY [MIB] [READY-FD]
 * MIB: most memory for files, default half of the machine's. READY-FD is closed when the directory is mounted.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "store.h"

static int requests, answers;

static void die(const char *what)
{
	fprintf(stderr, "ramfs: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Mount over dir by two pipes, of which the kernel keeps its ends. */
static void mount_on(const char *dir)
{
	int to[2], from[2];
	char data[64];

	if (pipe(to) || pipe(from))
		die("pipe");
	snprintf(data, sizeof(data), "rfdno=%d,wfdno=%d", from[0], to[1]);
	if (mount("ramfs", dir, "pipe", 0, data))
		die(dir);
	close(from[0]);
	close(to[1]);
	requests = to[0];
	answers = from[1];
}

static void put(const char *buf, size_t n)
{
	while (n) {
		ssize_t w = write(answers, buf, n);

		if (w < 0 && errno != EINTR)
			die("write");
		if (w > 0) {
			buf += w;
			n -= (size_t)w;
		}
	}
}

static uint64_t half_of_memory(void)
{
	struct sysinfo si;

	return sysinfo(&si) ? 64ull << 20 : (uint64_t)si.totalram * si.mem_unit / 2;
}

static uint32_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME_COARSE, &ts);
	return (uint32_t)ts.tv_sec;
}

int main(int argc, char **argv)
{
	static char in[16 * FS_MESSAGE], out[FS_MESSAGE];
	size_t have = 0;
	struct store *s;

	if (argc < 2) {
		fprintf(stderr, "usage: ramfs DIRECTORY [MIB] [READY-FD]\n");
		return 2;
	}
	s = store_new(argc > 2 && atoi(argv[2]) > 0 ? (uint64_t)atoi(argv[2]) << 20
						    : half_of_memory());
	if (!s)
		die("memory");
	mount_on(argv[1]);
	if (argc > 3)
		close(atoi(argv[3]));
	for (;;) {
		ssize_t n = read(requests, in + have, sizeof(in) - have);
		size_t at = 0;
		struct fs_message m;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("the kernel has gone");
		have += (size_t)n;
		while (have - at >= sizeof(m)) {
			memcpy(&m, in + at, sizeof(m));
			if (m.size < sizeof(m) || m.size > FS_MESSAGE)
				die("request");
			if (m.size > have - at)
				break;
			put(out, store_serve(s, in + at, m.size, now(), out));
			at += m.size;
		}
		memmove(in, in + at, have - at);
		have -= at;
	}
}

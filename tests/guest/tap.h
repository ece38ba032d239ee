/* SPDX-License-Identifier: MIT */
/*
 * The frame of the guest tests: each test is a function run in a child process of its own with a
 * time limit, so that a crash or a hang is one "not ok" and not the end of the run.
 *
 * A test file includes this, defines functions with TEST(name) { ... }, lists them in TESTS and
 * ends with TEST_MAIN. CHECK() ends the calling process with a message when its condition is
 * false; processes the test forks may use it as well, and the test fails if any of them did.
 * The same binary judges Linux: whatever is asserted here must hold there.
 */
#ifndef TESTS_GUEST_TAP_H
#define TESTS_GUEST_TAP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TEST_SECONDS 60 /* emulated machines are slow */
#define FAIL_STATUS  99

/* An address no process has; hidden from the compiler, which would warn. */
static inline void *bad_ptr(void)
{
	void *p = (void *)8;

	__asm__("" : "+r"(p));
	return p;
}

#define BAD_PTR bad_ptr()

struct test {
	const char *name;
	void (*run)(void);
};

static int tap_pipe[2];
static char self_path[512] __attribute__((unused));

static void tap_fail(const char *file, int line, const char *what)
{
	char text[256];
	int e = errno;
	int n = snprintf(text, sizeof(text), "%s:%d: %s (errno %d %s)", file, line, what, e,
			 strerror(e));

	if (n >= (int)sizeof(text))
		n = sizeof(text) - 1;
	if (write(tap_pipe[1], text, n) < 0)
		_exit(FAIL_STATUS);
	_exit(FAIL_STATUS);
}

#define CHECK(cond)                                               \
	do {                                                      \
		if (!(cond))                                      \
			tap_fail(__FILE_NAME__, __LINE__, #cond); \
	} while (0)

#ifndef __FILE_NAME__
#define __FILE_NAME__ (strrchr(__FILE__, '/') ? strrchr(__FILE__, '/') + 1 : __FILE__)
#endif

/* The call must fail with that errno. */
#define CHECK_ERR(call, want)                                                               \
	do {                                                                                \
		errno = 0;                                                                  \
		long ret_ = (long)(call);                                                   \
		if (ret_ != -1 || errno != (want))                                          \
			tap_fail(__FILE_NAME__, __LINE__, #call " must be -1 with " #want); \
	} while (0)

#define TEST(name) static void name(void)

static inline bool on_jiffies(void)
{
	return access("/dev/ttyserver", F_OK) == 0;
}

static inline int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static inline void sleep_ms(int ms)
{
	struct timespec ts = {ms / 1000, ms % 1000 * 1000000L};

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static inline pid_t check_fork(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	return pid;
}

/* Wait for pid; it must exit with status want. */
static inline void check_exit(pid_t pid, int want)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status));
	CHECK(WEXITSTATUS(status) == want);
}

/* Wait for pid; signal sig must have killed it. */
static inline void check_killed(pid_t pid, int sig)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status));
	CHECK(WTERMSIG(status) == sig);
}

/* Run one test in a child; fill why. Returns true if it passed. */
static bool tap_run(const struct test *t, char *why, size_t room)
{
	int status;
	ssize_t n;
	pid_t pid;

	*why = '\0';
	if (pipe(tap_pipe) < 0 || (pid = fork()) < 0) {
		snprintf(why, room, "cannot start: %s", strerror(errno));
		return false;
	}
	if (pid == 0) {
		close(tap_pipe[0]);
		setpgid(0, 0);
		alarm(TEST_SECONDS);
		t->run();
		_exit(0);
	}
	close(tap_pipe[1]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	/* Whatever the test left behind must not hold the pipe or eat CPU. */
	kill(-pid, SIGKILL);
	n = read(tap_pipe[0], why, room - 1);
	why[n > 0 ? n : 0] = '\0';
	close(tap_pipe[0]);
	if (n > 0)
		return false;
	if (WIFSIGNALED(status))
		snprintf(why, room,
			 WTERMSIG(status) == SIGALRM ? "timed out" : "killed by signal %d",
			 WTERMSIG(status));
	else if (status)
		snprintf(why, room, "exit status %d", WEXITSTATUS(status));
	return status == 0;
}

static __attribute__((unused)) int tap_main(const struct test *tests, int n, int argc, char **argv)
{
	int failed = 0, number = 0;

	snprintf(self_path, sizeof(self_path), "%s%s", strchr(argv[0], '/') ? "" : "/bin/",
		 argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 0; i < n; i++) {
		char why[300];
		bool wanted = argc < 2;

		for (int a = 1; a < argc; a++)
			wanted = wanted || strstr(tests[i].name, argv[a]);
		if (!wanted)
			continue;
		if (tap_run(&tests[i], why, sizeof(why))) {
			printf("ok %d - %s\n", ++number, tests[i].name);
		} else {
			printf("not ok %d - %s: %s\n", ++number, tests[i].name, why);
			failed++;
		}
	}
	printf("1..%d\n", number);
	return failed != 0 || number == 0;
}

#define T(fn)           \
	{               \
#fn, fn \
	}
#define TEST_MAIN                                                                     \
	int main(int argc, char **argv)                                               \
	{                                                                             \
		return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv); \
	}

#endif

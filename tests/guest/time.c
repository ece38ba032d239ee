// SPDX-License-Identifier: MIT
/*
 * Clocks and sleeping: monotonic and CPU clocks, relative and absolute sleeps, interruption.
 */
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>

#include "tap.h"

#define MS 1000000LL

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	CHECK(clock_gettime(id, &ts) == 0);
	CHECK(ts.tv_nsec >= 0 && ts.tv_nsec < 1000000000);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

TEST(monotonic_never_goes_back)
{
	int64_t last = clock_ns(CLOCK_MONOTONIC);

	for (int i = 0; i < 20000; i++) {
		int64_t t = clock_ns(CLOCK_MONOTONIC);

		CHECK(t >= last);
		last = t;
	}
}

/* Four processes on whatever CPUs: a time sent through a pipe is never in the receiver's future. */
TEST(monotonic_across_cpus)
{
	int fd[2];
	int64_t t;

	CHECK(pipe(fd) == 0);
	for (int p = 0; p < 4; p++)
		if (check_fork() == 0) {
			for (int i = 0; i < 500; i++) {
				t = clock_ns(CLOCK_MONOTONIC);
				CHECK(write(fd[1], &t, sizeof(t)) == sizeof(t));
			}
			_exit(0);
		}
	close(fd[1]);
	while (read(fd[0], &t, sizeof(t)) == sizeof(t))
		CHECK(clock_ns(CLOCK_MONOTONIC) >= t);
	for (int p = 0; p < 4; p++) {
		int status;

		CHECK(wait(&status) > 0 && status == 0);
	}
}

TEST(clocks_exist)
{
	static const clockid_t ids[] = {CLOCK_REALTIME,		  CLOCK_MONOTONIC,
					CLOCK_MONOTONIC_RAW,	  CLOCK_REALTIME_COARSE,
					CLOCK_MONOTONIC_COARSE,	  CLOCK_BOOTTIME,
					CLOCK_PROCESS_CPUTIME_ID, CLOCK_THREAD_CPUTIME_ID};
	struct timespec ts;
	struct timeval tv;

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		clock_ns(ids[i]);
		CHECK(clock_getres(ids[i], &ts) == 0 && ts.tv_sec == 0 && ts.tv_nsec > 0);
	}
	CHECK_ERR(clock_gettime(100, &ts), EINVAL);
	CHECK_ERR(clock_gettime(-1000, &ts), EINVAL);
	CHECK(gettimeofday(&tv, NULL) == 0 && tv.tv_usec >= 0 && tv.tv_usec < 1000000);
	CHECK(llabs(clock_ns(CLOCK_MONOTONIC) - clock_ns(CLOCK_BOOTTIME)) <
	      100LL * 365 * 86400 * 1000000000);
}

TEST(nanosleep_sleeps_long_enough)
{
	for (int us = 1; us <= 50000; us *= 7) {
		struct timespec ts = {0, us * 1000L};
		int64_t start = clock_ns(CLOCK_MONOTONIC);

		CHECK(nanosleep(&ts, NULL) == 0);
		CHECK(clock_ns(CLOCK_MONOTONIC) - start >= us * 1000LL);
	}
}

TEST(short_sleeps_are_finer_than_a_tick)
{
	int64_t best = 1000 * MS;
	struct timespec ts = {0, 200000};

	for (int i = 0; i < 20; i++) {
		int64_t start = clock_ns(CLOCK_MONOTONIC), took;

		CHECK(nanosleep(&ts, NULL) == 0);
		took = clock_ns(CLOCK_MONOTONIC) - start;
		best = took < best ? took : best;
	}
	CHECK(best < 900000); /* the best of 20 sleeps of 0.2 ms */
}

TEST(absolute_sleep)
{
	struct timespec ts;
	int64_t due = clock_ns(CLOCK_MONOTONIC) + 30 * MS;

	ts.tv_sec = due / 1000000000;
	ts.tv_nsec = due % 1000000000;
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == 0);
	CHECK(clock_ns(CLOCK_MONOTONIC) >= due);
	/* In the past: at once. */
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == 0);
	due = clock_ns(CLOCK_REALTIME) + 20 * MS;
	ts.tv_sec = due / 1000000000;
	ts.tv_nsec = due % 1000000000;
	CHECK(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &ts, NULL) == 0);
	CHECK(clock_ns(CLOCK_REALTIME) >= due);
}

TEST(bad_times_are_einval)
{
	struct timespec neg = {-1, 0}, big = {0, 1000000000}, small = {0, -1};

	CHECK_ERR(nanosleep(&neg, NULL), EINVAL);
	CHECK_ERR(nanosleep(&big, NULL), EINVAL);
	CHECK_ERR(nanosleep(&small, NULL), EINVAL);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &big, NULL) == EINVAL);
	CHECK(clock_nanosleep(12345, 0, &(struct timespec){0, 1}, NULL) == EINVAL);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST(interrupted_sleep_tells_the_rest)
{
	struct sigaction sa = {.sa_handler = on_signal};
	struct itimerval it = {{0, 0}, {0, 100000}};
	struct timespec ts = {10, 0}, rest = {0, 0};

	sigaction(SIGALRM, &sa, NULL);
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	CHECK_ERR(nanosleep(&ts, &rest), EINTR);
	CHECK(rest.tv_sec >= 5 && (rest.tv_sec < 9 || rest.tv_nsec <= 900000000));
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, &rest) == EINTR);
	CHECK(rest.tv_sec >= 5);
}

TEST(sa_restart_does_not_restart_sleep)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval it = {{0, 0}, {0, 50000}};
	struct timespec ts = {10, 0};

	sigaction(SIGALRM, &sa, NULL);
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	CHECK_ERR(nanosleep(&ts, NULL), EINTR);
}

/* A stop and a continue without a handler must not cut a sleep short. */
TEST(stop_does_not_end_sleep)
{
	int64_t start = clock_ns(CLOCK_MONOTONIC);
	pid_t pid = check_fork();

	if (pid == 0) {
		struct timespec ts = {0, 150 * MS};

		_exit(nanosleep(&ts, NULL) == 0 ? 0 : 1);
	}
	sleep_ms(30);
	kill(pid, SIGSTOP);
	sleep_ms(30);
	kill(pid, SIGCONT);
	check_exit(pid, 0);
	CHECK(clock_ns(CLOCK_MONOTONIC) - start >= 150 * MS);
}

TEST(sleepers_wake_in_order)
{
	int fd[2];
	char order[4] = "";

	CHECK(pipe(fd) == 0);
	for (int i = 0; i < 3; i++)
		if (check_fork() == 0) {
			char c = '1' + i;

			sleep_ms(150 - 60 * i);
			CHECK(write(fd[1], &c, 1) == 1);
			_exit(0);
		}
	close(fd[1]);
	for (int i = 0; i < 3; i++)
		CHECK(read(fd[0], order + i, 1) == 1);
	CHECK(!strcmp(order, "321"));
}

TEST(cpu_clock_counts_work_not_sleep)
{
	int64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID), wall = clock_ns(CLOCK_MONOTONIC), worked;

	sleep_ms(100);
	CHECK(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu < 50 * MS);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	wall = clock_ns(CLOCK_MONOTONIC);
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu < 50 * MS)
		;
	worked = clock_ns(CLOCK_MONOTONIC) - wall;
	CHECK(worked >= 49 * MS);
}

TEST(times_and_rusage_agree)
{
	struct rusage ru;
	int64_t until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 60 * MS, used;
	struct tms t;
	pid_t pid;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
	CHECK(getrusage(RUSAGE_SELF, &ru) == 0);
	used = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000LL +
	       (ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) / 1000;
	CHECK(used >= 40);
	CHECK(times(&t) != (clock_t)-1 && t.tms_utime + t.tms_stime >= 3);
	pid = check_fork();
	if (pid == 0) {
		until = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + 60 * MS;
		while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
			;
		_exit(0);
	}
	check_exit(pid, 0);
	CHECK(getrusage(RUSAGE_CHILDREN, &ru) == 0);
	CHECK(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec > 0 ||
	      ru.ru_utime.tv_usec + ru.ru_stime.tv_usec >= 40000);
	CHECK_ERR(getrusage(5, &ru), EINVAL);
}

static const struct test tests[] = {
	T(monotonic_never_goes_back),
	T(monotonic_across_cpus),
	T(clocks_exist),
	T(nanosleep_sleeps_long_enough),
	T(short_sleeps_are_finer_than_a_tick),
	T(absolute_sleep),
	T(bad_times_are_einval),
	T(interrupted_sleep_tells_the_rest),
	T(sa_restart_does_not_restart_sleep),
	T(stop_does_not_end_sleep),
	T(sleepers_wake_in_order),
	T(cpu_clock_counts_work_not_sleep),
	T(times_and_rusage_agree),
};

TEST_MAIN

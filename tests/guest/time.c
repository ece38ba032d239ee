// SPDX-License-Identifier: MIT
/*
 * Clocks and sleeping: monotonic and CPU clocks, relative and absolute sleeps, interruption.
 */
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>

#include "tap.h"

#include <pthread.h>

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

/* ---- timers of timer_create ---- */

static int timer_make(clockid_t clock, int notify, int sig, int value)
{
	struct {
		union sigval value;
		int signo, notify, tid, pad[11];
	} ev = {.value.sival_int = value,
		.signo = sig,
		.notify = notify,
		.tid = (int)syscall(SYS_gettid)};
	int id = -1;

	return syscall(SYS_timer_create, clock, &ev, &id) ? -errno : id;
}

static int timer_arm(int id, int flags, int64_t value, int64_t interval)
{
	struct itimerspec its = {{interval / 1000000000, interval % 1000000000},
				 {value / 1000000000, value % 1000000000}};

	return (int)syscall(SYS_timer_settime, id, flags, &its, NULL);
}

static int64_t timer_left(int id)
{
	struct itimerspec its;

	CHECK(syscall(SYS_timer_gettime, id, &its) == 0);
	return its.it_value.tv_sec * 1000000000LL + its.it_value.tv_nsec;
}

static sigset_t block_one(int sig)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	return set;
}

TEST(posix_timers)
{
	sigset_t set = block_one(SIGRTMIN + 1);
	struct timespec limit = {20, 0}, ts;
	siginfo_t info;
	int64_t start;
	int a, b;

	a = timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 1, 42);
	b = timer_make(CLOCK_REALTIME, 4 /* SIGEV_THREAD_ID */, SIGRTMIN + 1, 43);
	CHECK(a >= 0 && b >= 0 && a != b && timer_left(a) == 0);
	start = now_ns();
	CHECK(timer_arm(a, 0, 20000000, 0) == 0);
	CHECK(timer_left(a) > 0 && timer_left(a) <= 20000000);
	CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN + 1 && now_ns() - start >= 20000000);
	CHECK(info.si_code == SI_TIMER && info.si_value.sival_int == 42 && info.si_overrun == 0);
	CHECK(timer_left(a) == 0);
	/* Absolute, on the wall clock; the time may have passed. */
	clock_gettime(CLOCK_REALTIME, &ts);
	start = now_ns();
	CHECK(timer_arm(b, TIMER_ABSTIME, ts.tv_sec * 1000000000LL + ts.tv_nsec + 30000000, 0) ==
	      0);
	CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN + 1 && now_ns() - start >= 29000000);
	CHECK(info.si_value.sival_int == 43);
	CHECK(timer_arm(b, TIMER_ABSTIME, 1000, 0) == 0);
	CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN + 1 && info.si_value.sival_int == 43);
	/* Disarmed in time. */
	CHECK(timer_arm(a, 0, 50000000, 0) == 0 && timer_arm(a, 0, 0, 0) == 0);
	limit.tv_sec = 0;
	limit.tv_nsec = 80000000;
	CHECK_ERR(sigtimedwait(&set, &info, &limit), EAGAIN);
	CHECK(syscall(SYS_timer_delete, a) == 0);
	CHECK_ERR(syscall(SYS_timer_delete, a), EINVAL);
	CHECK_ERR(timer_arm(a, 0, 1, 0), EINVAL);
}

TEST(posix_timer_overruns)
{
	sigset_t set = block_one(SIGRTMIN + 1);
	struct timespec limit = {20, 0};
	int id = timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 1, 1), n;
	siginfo_t info;
	int64_t start;

	CHECK(id >= 0);
	start = now_ns();
	CHECK(timer_arm(id, 0, 2000000, 2000000) == 0);
	sleep_ms(100);
	CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN + 1);
	n = (int)((now_ns() - start) / 2000000) - 1;
	CHECK(info.si_overrun >= 48 && info.si_overrun <= n);
	CHECK(syscall(SYS_timer_getoverrun, id) == info.si_overrun);
	/* It goes on by its grid: no period is lost or invented. */
	for (n = info.si_overrun + 1; n < 100; n += info.si_overrun + 1)
		CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN + 1);
	CHECK(now_ns() - start >= 200000000);
	/* Deleted while its signal waits. */
	sleep_ms(5);
	CHECK(syscall(SYS_timer_delete, id) == 0);
}

TEST(posix_timer_errors)
{
	struct itimerspec its = {{0, 0}, {0, 1000000000}};
	int id;

	CHECK(timer_make(99, SIGEV_SIGNAL, SIGUSR1, 0) == -EINVAL);
	CHECK(timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, 65, 0) == -EINVAL);
	CHECK(timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, 0, 0) == -EINVAL);
	CHECK(timer_make(CLOCK_MONOTONIC, 3, SIGUSR1, 0) == -EINVAL);
	CHECK_ERR(syscall(SYS_timer_create, CLOCK_MONOTONIC, BAD_PTR, &id), EFAULT);
	CHECK_ERR(syscall(SYS_timer_create, CLOCK_MONOTONIC, NULL, BAD_PTR), EFAULT);
	id = timer_make(CLOCK_MONOTONIC, SIGEV_NONE, 0, 0);
	CHECK(id >= 0);
	CHECK_ERR(syscall(SYS_timer_settime, id, 0, &its, NULL), EINVAL);
	CHECK_ERR(syscall(SYS_timer_settime, id, 0, NULL, NULL), EINVAL);
	CHECK_ERR(syscall(SYS_timer_settime, id, 0, BAD_PTR, NULL), EFAULT);
	CHECK_ERR(syscall(SYS_timer_gettime, id, BAD_PTR), EFAULT);
	CHECK_ERR(syscall(SYS_timer_getoverrun, id + 1000), EINVAL);
	/* One that tells nobody can be asked. */
	CHECK(timer_arm(id, 0, 5000000, 3000000) == 0);
	sleep_ms(20);
	CHECK(timer_left(id) > 0 && timer_left(id) <= 3000000);
	CHECK(timer_arm(id, 0, 1000000, 0) == 0);
	sleep_ms(5);
	CHECK(timer_left(id) == 0);
}

/* From 6.13 on Linux throws a waiting signal away when its timer is set or deleted; before, and here, it stays. */
static bool signals_stay(void)
{
	return access("/sys/sched", F_OK) == 0;
}

/* Set anew while its signal waits: it fires then, and not a period later. */
TEST(posix_timer_set_while_pending)
{
	sigset_t set = block_one(SIGRTMIN + 1);
	int id = timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 1, 1);
	struct timespec limit = {5, 0};
	int64_t start;

	if (!signals_stay())
		return;
	CHECK(id >= 0 && timer_arm(id, 0, 1000000, 0) == 0);
	sleep_ms(10);
	start = now_ns();
	CHECK(timer_arm(id, 0, 50000000, 100000000000) == 0);
	CHECK(sigtimedwait(&set, NULL, &limit) == SIGRTMIN + 1);
	CHECK(sigtimedwait(&set, NULL, &limit) == SIGRTMIN + 1 && now_ns() - start >= 50000000);
	/* Once, and the moment passes while the signal waits. */
	CHECK(timer_arm(id, 0, 1000000, 0) == 0);
	sleep_ms(10);
	CHECK(timer_arm(id, 0, 1000000, 0) == 0);
	sleep_ms(10);
	CHECK(sigtimedwait(&set, NULL, &limit) == SIGRTMIN + 1);
	CHECK(sigtimedwait(&set, NULL, &limit) == SIGRTMIN + 1);
}

/* A signal that SIGCONT takes back was the timer's all the same: the timer goes on. */
TEST(posix_timer_stop_signal_taken_back)
{
	sigset_t set = block_one(SIGTSTP);
	int id = timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGTSTP, 1);
	struct timespec limit = {5, 0};

	CHECK(id >= 0 && timer_arm(id, 0, 1000000, 0) == 0);
	sleep_ms(10);
	CHECK(kill(getpid(), SIGCONT) == 0);
	CHECK(timer_arm(id, 0, 1000000, 0) == 0);
	CHECK(sigtimedwait(&set, NULL, &limit) == SIGTSTP);
}

/* A timer that is deleted while its signal waits still takes a place in the queue. */
TEST(posix_timers_deleted_count)
{
	sigset_t set = block_one(SIGRTMIN + 1);
	struct timespec none = {0, 0};
	int n, id;

	if (!signals_stay())
		return;
	for (n = 0; n < 2200; n++) {
		id = timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 1, n);
		if (id < 0)
			break;
		CHECK(timer_arm(id, TIMER_ABSTIME, 1, 0) == 0);
		while (timer_left(id))
			;
		CHECK(syscall(SYS_timer_delete, id) == 0);
	}
	CHECK(id == -EAGAIN && n > 1000);
	for (; n; n--)
		CHECK(sigtimedwait(&set, NULL, &none) == SIGRTMIN + 1);
	CHECK(timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 1, n) >= 0);
}

static long interrupts(void)
{
	FILE *f = fopen("/proc/stat", "r");
	char line[128];
	long n = -1;

	CHECK(f);
	while (n < 0 && fgets(line, sizeof(line), f))
		sscanf(line, "intr %ld", &n);
	fclose(f);
	CHECK(n >= 0);
	return n;
}

static long interrupts_in_100ms(void)
{
	int64_t end = now_ns() + 100000000;
	long before = interrupts();

	while (now_ns() < end)
		;
	return interrupts() - before;
}

/* Expiring every nanosecond, with no effect: one interrupt more per tick. */
TEST(posix_timer_ignored)
{
	int id = timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGUSR1, 1);
	long usual = interrupts_in_100ms(), n;

	signal(SIGUSR1, SIG_IGN);
	CHECK(timer_arm(id, 0, 1, 1) == 0);
	n = interrupts_in_100ms();
	CHECK(timer_arm(id, 0, 0, 0) == 0);
	printf("# %ld interrupts, usually %ld\n", n, usual);
	if (signals_stay()) /* on a Linux host the interrupts of all others are in it */
		CHECK(n < usual + 300);
}

/* Threads that set, ask and delete the same timers while they fire. */
static void *timer_racer(void *arg)
{
	int *id = arg;
	unsigned seed = (unsigned)(long)&seed;
	int64_t end = now_ns() + 500000000;

	while (now_ns() < end) {
		int i = rand_r(&seed) % 4;

		switch (rand_r(&seed) % 6) {
		case 0:
			if (syscall(SYS_timer_delete, id[i]) == 0)
				id[i] = timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 1, i);
			break;
		case 1:
			timer_arm(id[i], 0, 0, 0);
			break;
		case 2:
			syscall(SYS_timer_getoverrun, id[i]);
			break;
		default:
			timer_arm(id[i], 0, rand_r(&seed) % 300000, rand_r(&seed) % 200000);
		}
	}
	return NULL;
}

static volatile int racer_signals;

static void on_racer(int sig)
{
	(void)sig;
	racer_signals++;
}

TEST(posix_timer_race)
{
	int id[4];
	pthread_t t[3];

	signal(SIGRTMIN + 1, on_racer);
	for (int i = 0; i < 4; i++)
		id[i] = timer_make(CLOCK_MONOTONIC, SIGEV_SIGNAL, SIGRTMIN + 1, i);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_create(&t[i], NULL, timer_racer, id) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(racer_signals > 10);
}

/* ---- timers of CPU time ---- */

static volatile int cpu_signals;

static void on_cpu(int sig)
{
	(void)sig;
	cpu_signals++;
}

static int64_t process_cpu(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

static void cpu_itimer(int which, int sig)
{
	struct itimerval it = {{0, 20000}, {0, 50000}}, now;
	int64_t start;

	signal(sig, on_cpu);
	cpu_signals = 0;
	start = process_cpu();
	CHECK(setitimer(which, &it, NULL) == 0);
	/* Sleeping costs none. */
	sleep_ms(120);
	CHECK(cpu_signals == 0);
	CHECK(getitimer(which, &now) == 0 && now.it_value.tv_usec > 30000 &&
	      now.it_interval.tv_usec == 20000);
	while (cpu_signals < 3)
		CHECK(process_cpu() - start < 4000000000LL);
	CHECK(process_cpu() - start >=
	      90000000 / 2); /* Linux counts by ticks, all of one if it ran then */
	it = (struct itimerval){{0, 0}, {0, 0}};
	CHECK(setitimer(which, &it, &now) == 0 && now.it_interval.tv_usec == 20000);
	CHECK(getitimer(which, &now) == 0 && now.it_value.tv_sec == 0 && now.it_value.tv_usec == 0);
}

TEST(itimer_virtual_and_prof)
{
	cpu_itimer(ITIMER_VIRTUAL, SIGVTALRM);
	cpu_itimer(ITIMER_PROF, SIGPROF);
	CHECK_ERR(getitimer(3, &(struct itimerval){{0, 0}, {0, 0}}), EINVAL);
}

TEST(posix_timer_of_cpu_time)
{
	int id = timer_make(CLOCK_PROCESS_CPUTIME_ID, SIGEV_SIGNAL, SIGUSR1, 1);
	int64_t start = process_cpu();

	CHECK(id >= 0);
	signal(SIGUSR1, on_cpu);
	CHECK(timer_arm(id, 0, 40000000, 0) == 0);
	sleep_ms(80);
	CHECK(cpu_signals == 0 && timer_left(id) > 0);
	while (!cpu_signals)
		CHECK(process_cpu() - start < 4000000000LL);
	CHECK(process_cpu() - start >= 40000000 * 9 / 10 && timer_left(id) == 0);
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
	T(posix_timers),
	T(posix_timer_overruns),
	T(posix_timer_errors),
	T(posix_timer_set_while_pending),
	T(posix_timer_stop_signal_taken_back),
	T(posix_timers_deleted_count),
	T(posix_timer_ignored),
	T(posix_timer_race),
	T(itimer_virtual_and_prof),
	T(posix_timer_of_cpu_time),
};

TEST_MAIN

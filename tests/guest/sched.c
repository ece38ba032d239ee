// SPDX-License-Identifier: MIT
/*
 * Scheduling calls: nice and priorities, classes, affinity, yield.
 */
#include "tap.h"

#include <sched.h>
#include <sys/resource.h>

/* musl's own wrappers refuse these four; the kernel's calls are what is judged. */
static int set_scheduler(pid_t pid, int policy, int priority)
{
	struct sched_param sp = {.sched_priority = priority};

	return syscall(SYS_sched_setscheduler, pid, policy, &sp);
}

static int get_scheduler(pid_t pid)
{
	return syscall(SYS_sched_getscheduler, pid);
}

static int get_priority(pid_t pid)
{
	struct sched_param sp = {.sched_priority = -1};

	CHECK(syscall(SYS_sched_getparam, pid, &sp) == 0);
	return sp.sched_priority;
}

static int cpu_now(void)
{
	unsigned int cpu = 9999;

	CHECK(syscall(SYS_getcpu, &cpu, NULL, NULL) == 0);
	return cpu;
}

TEST(nice_accumulates_and_clamps)
{
	CHECK(getpriority(PRIO_PROCESS, 0) == 0);
	CHECK(nice(5) == 5);
	CHECK(getpriority(PRIO_PROCESS, 0) == 5);
	CHECK(nice(100) == 19);
	CHECK(setpriority(PRIO_PROCESS, 0, -5) == 0);
	CHECK(getpriority(PRIO_PROCESS, 0) == -5);
	CHECK(setpriority(PRIO_PROCESS, 0, -100) == 0);
	CHECK(getpriority(PRIO_PROCESS, 0) == -20);
	CHECK(syscall(SYS_getpriority, PRIO_PROCESS, 0) == 40); /* the raw call: 20 - nice */
}

TEST(nice_is_inherited)
{
	pid_t pid;

	CHECK(nice(7) == 7);
	pid = check_fork();
	if (pid == 0) {
		CHECK(getpriority(PRIO_PROCESS, 0) == 7);
		_exit(0);
	}
	check_exit(pid, 0);
}

TEST(priority_of_others)
{
	pid_t pid = check_fork();

	if (pid == 0)
		for (;;)
			pause();
	CHECK(setpriority(PRIO_PROCESS, pid, 11) == 0);
	CHECK(getpriority(PRIO_PROCESS, pid) == 11);
	CHECK(getpriority(PRIO_PROCESS, 0) == 0);
	CHECK(setpgid(pid, pid) == 0);
	CHECK(setpriority(PRIO_PGRP, pid, 12) == 0);
	CHECK(getpriority(PRIO_PGRP, pid) == 12);
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
	CHECK_ERR(setpriority(PRIO_PROCESS, pid, 1), ESRCH);
	errno = 0;
	CHECK(getpriority(PRIO_PROCESS, pid) == -1 && errno == ESRCH);
	CHECK_ERR(setpriority(9, 0, 0), EINVAL);
}

TEST(priority_ranges)
{
	CHECK(sched_get_priority_min(SCHED_FIFO) == 1 && sched_get_priority_max(SCHED_FIFO) == 99);
	CHECK(sched_get_priority_min(SCHED_RR) == 1 && sched_get_priority_max(SCHED_RR) == 99);
	CHECK(sched_get_priority_min(SCHED_OTHER) == 0 && sched_get_priority_max(SCHED_OTHER) == 0);
	CHECK_ERR(sched_get_priority_min(77), EINVAL);
}

TEST(classes)
{
	CHECK(get_scheduler(0) == SCHED_OTHER && get_priority(0) == 0);
	CHECK(set_scheduler(0, SCHED_FIFO, 3) == 0);
	CHECK(get_scheduler(0) == SCHED_FIFO && get_priority(0) == 3);
	CHECK(set_scheduler(0, SCHED_RR, 99) == 0);
	CHECK(get_scheduler(0) == SCHED_RR && get_priority(0) == 99);
	CHECK(set_scheduler(0, SCHED_OTHER, 0) == 0);
	CHECK(get_scheduler(0) == SCHED_OTHER && get_priority(0) == 0);
	CHECK_ERR(set_scheduler(0, SCHED_FIFO, 0), EINVAL);
	CHECK_ERR(set_scheduler(0, SCHED_FIFO, 100), EINVAL);
	CHECK_ERR(set_scheduler(0, SCHED_OTHER, 1), EINVAL);
	CHECK_ERR(set_scheduler(0, 99, 0), EINVAL);
	CHECK_ERR(set_scheduler(999999, SCHED_OTHER, 0), ESRCH);
	CHECK_ERR(get_scheduler(999999), ESRCH);
	CHECK_ERR(get_scheduler(-1), EINVAL);
}

TEST(class_is_inherited_and_nice_survives)
{
	pid_t pid;

	CHECK(nice(4) == 4);
	CHECK(set_scheduler(0, SCHED_RR, 2) == 0);
	pid = check_fork();
	if (pid == 0) {
		CHECK(get_scheduler(0) == SCHED_RR && get_priority(0) == 2);
		CHECK(set_scheduler(0, SCHED_OTHER, 0) == 0);
		CHECK(getpriority(PRIO_PROCESS, 0) == 4);
		_exit(0);
	}
	check_exit(pid, 0);
}

TEST(fifo_runs_before_other)
{
	static volatile int *order;
	cpu_set_t one;
	pid_t hog, rt;

	order = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(order != MAP_FAILED);
	CPU_ZERO(&one);
	CPU_SET(cpu_now(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	hog = check_fork();
	if (hog == 0)
		for (;;)
			order[0]++;
	rt = check_fork();
	if (rt == 0) {
		int64_t end;
		int before;

		CHECK(set_scheduler(0, SCHED_FIFO, 10) == 0);
		before = order[0];
		end = now_ns() +
		      30000000; /* 30 ms: longer than a tick, shorter than any rt limit */
		while (now_ns() < end)
			;
		CHECK(order[0] == before); /* the hog on the same CPU did not run */
		_exit(0);
	}
	check_exit(rt, 0);
	kill(hog, SIGKILL);
	check_killed(hog, SIGKILL);
}

static int allowed(cpu_set_t *set)
{
	int n = 0;

	CPU_ZERO(set);
	CHECK(sched_getaffinity(0, sizeof(*set), set) == 0);
	for (int i = 0; i < CPU_SETSIZE; i++)
		n += CPU_ISSET(i, set) != 0;
	return n;
}

TEST(getcpu_follows_affinity)
{
	cpu_set_t all, one, back;
	int n = allowed(&all);

	CHECK(n >= 1);
	for (int i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
		for (int k = 0; k < 50; k++)
			CHECK(cpu_now() == i);
		CPU_ZERO(&back);
		CHECK(sched_getaffinity(0, sizeof(back), &back) == 0);
		CHECK(CPU_EQUAL(&back, &one));
	}
	CHECK(sched_setaffinity(0, sizeof(all), &all) == 0);
}

TEST(affinity_of_a_running_process)
{
	static volatile int *where;
	cpu_set_t all, one;
	pid_t pid;

	where = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(where != MAP_FAILED);
	allowed(&all);
	pid = check_fork();
	if (pid == 0)
		for (;;)
			*where = cpu_now();
	for (int round = 0; round < 5; round++)
		for (int i = 0; i < CPU_SETSIZE; i++) {
			int tries = 0;

			if (!CPU_ISSET(i, &all))
				continue;
			CPU_ZERO(&one);
			CPU_SET(i, &one);
			CHECK(sched_setaffinity(pid, sizeof(one), &one) == 0);
			while (*where != i) {
				CHECK(tries++ < 2000);
				sleep_ms(1);
			}
			sleep_ms(2);
			CHECK(*where == i);
		}
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
}

TEST(affinity_is_inherited)
{
	cpu_set_t all, one, now;
	pid_t pid;
	int last = 0;

	allowed(&all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			last = i;
	CPU_ZERO(&one);
	CPU_SET(last, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	pid = check_fork();
	if (pid == 0) {
		CPU_ZERO(&now);
		CHECK(sched_getaffinity(0, sizeof(now), &now) == 0);
		CHECK(CPU_EQUAL(&now, &one) && cpu_now() == last);
		_exit(0);
	}
	check_exit(pid, 0);
}

TEST(affinity_errors)
{
	cpu_set_t set;
	long n;

	CPU_ZERO(&set);
	CHECK_ERR(sched_setaffinity(0, sizeof(set), &set), EINVAL);
	CPU_SET(1000, &set); /* no such CPU */
	CHECK_ERR(sched_setaffinity(0, sizeof(set), &set), EINVAL);
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	CHECK_ERR(sched_setaffinity(999999, sizeof(set), &set), ESRCH);
	CHECK_ERR(syscall(SYS_sched_getaffinity, 999999, sizeof(set), &set), ESRCH);
	CHECK_ERR(syscall(SYS_sched_getaffinity, 0, 0, &set), EINVAL);
	CHECK_ERR(syscall(SYS_sched_getaffinity, 0, 7, &set), EINVAL); /* not whole words */
	n = syscall(SYS_sched_getaffinity, 0, sizeof(set), &set);
	CHECK(n > 0 && n % 8 == 0 && n <= (long)sizeof(set)); /* bytes, not 0 */
}

TEST(yield_lets_the_other_run)
{
	cpu_set_t one;
	int fd[2];
	pid_t pid;
	char c;

	CPU_ZERO(&one);
	CPU_SET(cpu_now(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	CHECK(pipe2(fd, O_NONBLOCK) == 0);
	pid = check_fork();
	if (pid == 0) {
		CHECK(write(fd[1], "y", 1) == 1);
		for (;;)
			CHECK(sched_yield() == 0);
	}
	for (int i = 0; i < 100000; i++) {
		if (read(fd[0], &c, 1) == 1) {
			kill(pid, SIGKILL);
			check_killed(pid, SIGKILL);
			return;
		}
		sched_yield();
	}
	CHECK(!"100,000 yields and the other never ran");
}

TEST(switches_are_counted)
{
	struct rusage before, after;

	CHECK(getrusage(RUSAGE_SELF, &before) == 0);
	for (int i = 0; i < 10; i++)
		sleep_ms(1);
	CHECK(getrusage(RUSAGE_SELF, &after) == 0);
	CHECK(after.ru_nvcsw - before.ru_nvcsw >= 10);
}

TEST(hogs_share_one_cpu)
{
	enum { N = 4 };
	int64_t used[N];
	cpu_set_t one;
	int fd[2];

	CPU_ZERO(&one);
	CPU_SET(cpu_now(), &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	CHECK(pipe(fd) == 0);
	for (int i = 0; i < N; i++)
		if (check_fork() == 0) {
			int64_t end = now_ns() + 3000000000LL;
			struct timespec ts;

			while (now_ns() < end)
				;
			CHECK(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts) == 0);
			used[0] = ts.tv_sec * 1000000000LL + ts.tv_nsec;
			CHECK(write(fd[1], used, sizeof(used[0])) == sizeof(used[0]));
			_exit(0);
		}
	for (int i = 0; i < N; i++)
		CHECK(read(fd[0], &used[i], sizeof(used[i])) == sizeof(used[i]));
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			/* A bonus for forking or waking is allowed; and a crowded host can stop the CPU for some slices of one. */
			CHECK(used[i] * 4 > used[j]);
	for (int i = 0; i < N; i++)
		CHECK(wait(NULL) > 0);
}

static const struct test tests[] = {
	T(nice_accumulates_and_clamps),
	T(nice_is_inherited),
	T(priority_of_others),
	T(priority_ranges),
	T(classes),
	T(class_is_inherited_and_nice_survives),
	T(fifo_runs_before_other),
	T(getcpu_follows_affinity),
	T(affinity_of_a_running_process),
	T(affinity_is_inherited),
	T(affinity_errors),
	T(yield_lets_the_other_run),
	T(switches_are_counted),
	T(hogs_share_one_cpu),
};

TEST_MAIN

// SPDX-License-Identifier: MIT
/*
 * Threads as musl makes them: shared memory and descriptors, own stacks, identifiers and thread
 * pointers, mutexes and condition variables over futexes, exit of one and of all.
 */
#include "tap.h"

#include <pthread.h>
#include <sys/prctl.h>

static void *give_back(void *arg)
{
	return (char *)arg + 1;
}

TEST(create_and_join)
{
	for (long i = 0; i < 200; i++) {
		pthread_t t;
		void *ret;

		CHECK((errno = pthread_create(&t, NULL, give_back, (void *)i)) == 0);
		CHECK(pthread_join(t, &ret) == 0 && ret == (void *)(i + 1));
	}
}

static __thread int mine = 5;
static volatile long ids[8];

static void *own_things(void *arg)
{
	long n = (long)arg;

	CHECK(mine == 5);
	mine = n;
	ids[n] = syscall(SYS_gettid);
	for (int i = 0; i < 100; i++) {
		sched_yield();
		CHECK(mine == n);
	}
	CHECK(getpid() != ids[n]);
	return NULL;
}

TEST(ids_and_thread_local_data)
{
	pthread_t t[8];

	CHECK(syscall(SYS_gettid) == getpid());
	for (long i = 0; i < 8; i++)
		CHECK((errno = pthread_create(&t[i], NULL, own_things, (void *)i)) == 0);
	for (int i = 0; i < 8; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	for (int i = 0; i < 8; i++)
		for (int j = 0; j < i; j++)
			CHECK(ids[i] != ids[j]);
	CHECK(mine == 5);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static long sum, turn;

static void *add(void *arg)
{
	(void)arg;
	for (int i = 0; i < 20000; i++) {
		pthread_mutex_lock(&lock);
		sum++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

TEST(mutex_excludes)
{
	pthread_t t[6];

	for (int i = 0; i < 6; i++)
		CHECK((errno = pthread_create(&t[i], NULL, add, NULL)) == 0);
	for (int i = 0; i < 6; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(sum == 6 * 20000);
}

static void *alternate(void *arg)
{
	long me = (long)arg;

	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&lock);
		while (turn % 3 != me)
			pthread_cond_wait(&cond, &lock);
		turn++;
		pthread_cond_broadcast(&cond);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

TEST(condition_variable_orders)
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++)
		CHECK((errno = pthread_create(&t[i], NULL, alternate, (void *)i)) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(turn == 6000);
}

TEST(timed_wait_times_out)
{
	struct timespec until;
	int64_t start = now_ns();

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 50000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_nsec -= 1000000000;
		until.tv_sec++;
	}
	pthread_mutex_lock(&lock);
	CHECK(pthread_cond_timedwait(&cond, &lock, &until) == ETIMEDOUT);
	CHECK(now_ns() - start >= 45000000);
}

static int futex(volatile int *word, int op, int value, const struct timespec *ts)
{
	return syscall(SYS_futex, word, op, value, ts, NULL, 0);
}

TEST(futex_between_processes)
{
	volatile int *word =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct timespec ts = {0, 30000000};
	pid_t pid;

	CHECK(word != MAP_FAILED);
	CHECK_ERR(futex(word, 0, 1, NULL), EAGAIN);
	CHECK_ERR(futex(word, 0, 0, &ts), ETIMEDOUT);
	CHECK(futex(word, 1, 1, NULL) == 0);
	pid = check_fork();
	if (pid == 0) {
		while (*word == 0)
			CHECK(futex(word, 0, 0, NULL) == 0 || errno == EAGAIN || errno == EINTR);
		_exit(0);
	}
	sleep_ms(30);
	*word = 1;
	CHECK(futex(word, 1, 1, NULL) <= 1);
	check_exit(pid, 0);
}

static void *sleep_long(void *arg)
{
	(void)arg;
	for (;;)
		sleep_ms(1000);
	return NULL;
}

TEST(exit_of_main_ends_all_threads)
{
	pid_t pid = check_fork();
	pthread_t t;

	if (pid == 0) {
		for (int i = 0; i < 4; i++)
			CHECK((errno = pthread_create(&t, NULL, sleep_long, NULL)) == 0);
		_exit(12);
	}
	check_exit(pid, 12);
}

static void *exit_group_here(void *arg)
{
	(void)arg;
	_exit(13);
}

TEST(exit_group_from_a_thread)
{
	pid_t pid = check_fork();
	pthread_t t;

	if (pid == 0) {
		CHECK((errno = pthread_create(&t, NULL, exit_group_here, NULL)) == 0);
		sleep_long(NULL);
	}
	check_exit(pid, 13);
}

static void *exit_after_main(void *arg)
{
	(void)arg;
	sleep_ms(50);
	_exit(14);
}

TEST(main_thread_may_end_first)
{
	pid_t pid = check_fork();
	pthread_t t;

	if (pid == 0) {
		CHECK((errno = pthread_create(&t, NULL, exit_after_main, NULL)) == 0);
		pthread_exit(NULL);
	}
	check_exit(pid, 14);
}

static void *spin(void *arg)
{
	for (;;)
		__asm__ volatile("pause");
	return arg;
}

TEST(kill_ends_all_threads)
{
	pid_t pid = check_fork();
	pthread_t t;

	if (pid == 0) {
		for (int i = 0; i < 4; i++)
			CHECK((errno = pthread_create(&t, NULL, i % 2 ? spin : sleep_long, NULL)) ==
			      0);
		sleep_long(NULL);
	}
	sleep_ms(50);
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
	CHECK_ERR(kill(pid, 0), ESRCH);
}

static void *exec_self(void *arg)
{
	char *argv[] = {self_path, "--threads", NULL};

	(void)arg;
	execve(self_path, argv, NULL);
	_exit(1);
}

TEST(exec_leaves_one_thread)
{
	pid_t pid = check_fork();
	pthread_t t;

	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			CHECK((errno = pthread_create(&t, NULL, i % 2 ? spin : sleep_long, NULL)) ==
			      0);
		CHECK((errno = pthread_create(&t, NULL, exec_self, NULL)) == 0);
		sleep_long(NULL);
	}
	check_exit(pid, 33); /* same process id, new program */
}

TEST(fault_in_a_thread_kills_the_process)
{
	pid_t pid = check_fork();
	pthread_t t;

	if (pid == 0) {
		CHECK((errno = pthread_create(&t, NULL, (void *(*)(void *))bad_ptr(), NULL)) == 0);
		sleep_long(NULL);
	}
	check_killed(pid, SIGSEGV);
}

TEST(names)
{
	char name[16] = "";

	CHECK(prctl(PR_SET_NAME, "a-rather-long-name") == 0);
	CHECK(prctl(PR_GET_NAME, name) == 0 && !strcmp(name, "a-rather-long-n"));
}

static const struct test tests[] = {
	T(create_and_join),
	T(ids_and_thread_local_data),
	T(mutex_excludes),
	T(condition_variable_orders),
	T(timed_wait_times_out),
	T(futex_between_processes),
	T(exit_of_main_ends_all_threads),
	T(exit_group_from_a_thread),
	T(main_thread_may_end_first),
	T(kill_ends_all_threads),
	T(exec_leaves_one_thread),
	T(fault_in_a_thread_kills_the_process),
	T(names),
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--threads"))
		return 33;
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

// SPDX-License-Identifier: MIT
/*
 * Locks with an owner: PI futexes (hand-over, inheritance along chains, deadlock, time-outs, signals),
 * robust lists and owners that die, at the end of threads and processes and at exec.
 */
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/time.h>

#define WAIT_REQUEUE_PI 11
#define CMP_REQUEUE_PI	12
#define LOCK_PI		6
#define UNLOCK_PI	7
#define TRYLOCK_PI	8
#define LOCK_PI2	13
#define FUTEX_WAIT	0
#define FUTEX_WAKE	1
#define WAITERS		0x80000000u
#define DIED		0x40000000u
#define TID		0x3fffffffu

typedef volatile uint32_t word_t;

static long futex(word_t *w, int op, uint32_t val, const void *ts, word_t *w2, uint32_t val3)
{
	return syscall(SYS_futex, w, op, val, ts, w2, val3);
}

static uint32_t tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static void *shared(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* As a C library does it. Return: 0 or errno. */
static int lock(word_t *w, const struct timespec *limit)
{
	uint32_t zero = 0;

	if (__atomic_compare_exchange_n(w, &zero, tid(), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return 0;
	return futex(w, LOCK_PI, 0, limit, NULL, 0) ? errno : 0;
}

static void unlock(word_t *w)
{
	uint32_t self = tid();

	if (!__atomic_compare_exchange_n(w, &self, 0, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		CHECK(futex(w, UNLOCK_PI, 0, NULL, NULL, 0) == 0);
}

#define until(cond)                                         \
	do {                                                \
		int64_t end_ = now_ns() + 20000000000LL;    \
		while (!(cond)) {                           \
			CHECK(now_ns() < end_ && "" #cond); \
			sleep_ms(1);                        \
		}                                           \
	} while (0)

/* Field 18 of /proc/PID/stat: the priority a process runs with, lower is better. */
static long prio(pid_t pid)
{
	char path[40], text[600], *p;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY);
	CHECK(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	CHECK(n > 0);
	close(fd);
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int field = 2; field < 18; field++)
		p = strchr(p + 1, ' ');
	return atol(p);
}

static bool set_fifo(pid_t pid, int rt_priority)
{
	struct sched_param sp = {.sched_priority = rt_priority};

	return syscall(SYS_sched_setscheduler, pid, rt_priority ? SCHED_FIFO : SCHED_OTHER, &sp) ==
	       0;
}

TEST(errors)
{
	word_t *w = shared(4096);
	pid_t pid;

	CHECK(futex(w, LOCK_PI, 0, NULL, NULL, 0) == 0 && *w == tid());
	CHECK_ERR(futex(w, LOCK_PI, 0, NULL, NULL, 0), EDEADLK);
	CHECK_ERR(futex(w, TRYLOCK_PI, 0, NULL, NULL, 0), EDEADLK);
	CHECK(futex(w, UNLOCK_PI, 0, NULL, NULL, 0) == 0 && *w == 0);
	CHECK_ERR(futex(w, UNLOCK_PI, 0, NULL, NULL, 0), EPERM);
	CHECK(futex(w, TRYLOCK_PI, 0, NULL, NULL, 0) == 0 && *w == tid());
	*w = 0;
	CHECK_ERR(futex((word_t *)((char *)w + 2), LOCK_PI, 0, NULL, NULL, 0), EINVAL);
	CHECK_ERR(futex(BAD_PTR, LOCK_PI, 0, NULL, NULL, 0), EFAULT);
	CHECK_ERR(futex(BAD_PTR, UNLOCK_PI, 0, NULL, NULL, 0), EFAULT);
	/* Memory that may only be read. */
	CHECK(mprotect((void *)w, 4096, PROT_READ) == 0);
	CHECK_ERR(futex(w, LOCK_PI, 0, NULL, NULL, 0), EFAULT);
	CHECK(mprotect((void *)w, 4096, PROT_READ | PROT_WRITE) == 0);
	CHECK_ERR(futex(w, LOCK_PI, 0, &(struct timespec){0, 1000000000}, NULL, 0), EINVAL);
	/* An owner that is no more. */
	pid = check_fork();
	if (pid == 0)
		_exit(0);
	check_exit(pid, 0);
	*w = (uint32_t)pid;
	CHECK_ERR(futex(w, LOCK_PI, 0, NULL, NULL, 0), ESRCH);
	/* Free, but its last owner died. */
	*w = DIED;
	CHECK(futex(w, LOCK_PI, 0, NULL, NULL, 0) == 0 && *w == (tid() | DIED));
	CHECK_ERR(futex(w, CMP_REQUEUE_PI, 2, NULL, w + 1, *w), EINVAL);
	CHECK_ERR(futex(w, CMP_REQUEUE_PI, 1, NULL, w, *w), EINVAL);
	CHECK_ERR(futex(w, WAIT_REQUEUE_PI, *w, NULL, w, 0), EINVAL);
	CHECK_ERR(futex(w, WAIT_REQUEUE_PI, 1, NULL, w + 1, 0), EAGAIN);
}

/* ---- exclusion ---- */

static word_t the_lock;
static volatile long sum;
static volatile bool over;

static void *add(void *arg)
{
	for (long i = 0; i < (long)arg; i++) {
		long before;

		CHECK(lock(&the_lock, NULL) == 0);
		before = sum;
		if (i % 8 == 0)
			sched_yield();
		sum = before + 1;
		unlock(&the_lock);
	}
	return NULL;
}

TEST(excludes)
{
	pthread_t t[6];

	for (int i = 0; i < 6; i++)
		CHECK((errno = pthread_create(&t[i], NULL, add, (void *)3000)) == 0);
	for (int i = 0; i < 6; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(sum == 6 * 3000 && the_lock == 0);
}

static void nothing(int sig)
{
	(void)sig;
}

/* Waiters that give up, and are signalled, in the middle of it all. */
static void *give_up(void *arg)
{
	unsigned seed = (unsigned)(long)arg;

	while (!over) {
		struct timespec ts;

		clock_gettime(CLOCK_REALTIME, &ts);
		ts.tv_nsec += rand_r(&seed) % 300000;
		ts.tv_sec += ts.tv_nsec / 1000000000;
		ts.tv_nsec %= 1000000000;
		switch (lock(&the_lock, &ts)) {
		case 0:
			sum++;
			CHECK((the_lock & TID) == tid());
			if (seed % 4 == 0)
				sched_yield();
			unlock(&the_lock);
			break;
		case ETIMEDOUT:
			break;
		default:
			CHECK(!"lock");
		}
	}
	return NULL;
}

TEST(time_outs_and_signals_race)
{
	struct sigaction sa = {.sa_handler = nothing};
	pthread_t t[5];
	int64_t end = now_ns() + 1000000000;

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	for (long i = 0; i < 5; i++)
		CHECK((errno = pthread_create(&t[i], NULL, give_up, (void *)i)) == 0);
	for (int i = 0; now_ns() < end; i++) {
		pthread_kill(t[i % 5], SIGUSR1);
		sleep_ms(1);
	}
	over = true;
	for (int i = 0; i < 5; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK((the_lock & TID) == 0 && sum > 0);
}

TEST(time_out)
{
	word_t *w = shared(4096);
	struct timespec ts;
	int64_t start;
	pid_t pid = check_fork();

	if (pid == 0) {
		CHECK(lock(w, NULL) == 0);
		pause();
	}
	until(*w);
	CHECK_ERR(futex(w, TRYLOCK_PI, 0, NULL, NULL, 0), EAGAIN);
	CHECK_ERR(futex(w, LOCK_PI, 0, &(struct timespec){0, 1}, NULL, 0), ETIMEDOUT);
	CHECK((*w & TID) == (uint32_t)pid);
	start = now_ns();
	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 1;
	CHECK_ERR(futex(w, LOCK_PI, 0, &ts, NULL, 0), ETIMEDOUT);
	CHECK(now_ns() - start >= 990000000);
	start = now_ns();
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_nsec += 50000000;
	ts.tv_sec += ts.tv_nsec / 1000000000;
	ts.tv_nsec %= 1000000000;
	CHECK_ERR(futex(w, LOCK_PI2, 0, &ts, NULL, 0), ETIMEDOUT);
	CHECK(now_ns() - start >= 50000000);
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
}

static volatile int handled;

static void count(int sig)
{
	(void)sig;
	handled++;
}

/* A handler runs, without SA_RESTART; the call goes on all the same. */
TEST(signal_does_not_end_it)
{
	struct sigaction sa = {.sa_handler = count};
	word_t *w = shared(4096);
	pid_t pid, parent = getpid();

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	pid = check_fork();
	if (pid == 0) {
		CHECK(lock(w, NULL) == 0);
		until(*w & WAITERS);
		kill(parent, SIGUSR1);
		sleep_ms(50);
		unlock(w);
		_exit(0);
	}
	until(*w);
	CHECK(futex(w, LOCK_PI, 0, NULL, NULL, 0) == 0);
	CHECK(handled == 1 && (*w & TID) == tid());
	check_exit(pid, 0);
}

TEST(word_without_owner_but_waiters_is_corrupt)
{
	word_t *w = shared(4096);
	pid_t pid;

	CHECK(lock(w, NULL) == 0);
	pid = check_fork();
	if (pid == 0) {
		lock(w, NULL);
		_exit(0);
	}
	until(*w & WAITERS);
	*w = 0;
	CHECK_ERR(futex(w, LOCK_PI, 0, NULL, NULL, 0), EINVAL);
	*w = (uint32_t)pid;
	CHECK_ERR(futex(w, LOCK_PI, 0, NULL, NULL, 0), EINVAL);
	*w = tid() | WAITERS;
	CHECK(futex(w, UNLOCK_PI, 0, NULL, NULL, 0) == 0);
	check_exit(pid, 0);
}

/* ---- inheritance ---- */

/* A process that takes w[hold], then w[want] (if >= 0), gives both back when told, and waits. */
static pid_t link_of_chain(word_t *w, int hold, int want, volatile int *go)
{
	pid_t pid = check_fork();

	if (pid)
		return pid;
	if (hold >= 0)
		CHECK(lock(&w[hold], NULL) == 0);
	if (want >= 0) {
		until(w[want] & TID);
		CHECK(lock(&w[want], NULL) == 0);
		unlock(&w[want]);
	} else {
		until(*go);
	}
	if (hold >= 0)
		unlock(&w[hold]);
	until(*go > 1);
	_exit(0);
}

static bool may_use_fifo(void)
{
	bool may = set_fifo(0, 1);

	if (may)
		CHECK(set_fifo(0, 0));
	return may;
}

TEST(deadlock)
{
	word_t *w = shared(4096);
	pid_t a, b;

	CHECK(lock(&w[2], NULL) == 0);
	a = link_of_chain(w, 0, 1, (volatile int *)&w[9]);
	b = link_of_chain(w, 1, 2, (volatile int *)&w[9]);
	until((w[1] & WAITERS) && (w[2] & WAITERS));
	CHECK_ERR(futex(&w[0], LOCK_PI, 0, NULL, NULL, 0), EDEADLK);
	CHECK_ERR(futex(&w[1], LOCK_PI, 0, NULL, NULL, 0), EDEADLK);
	unlock(&w[2]);
	CHECK(lock(&w[0], NULL) == 0);
	w[9] = 2;
	check_exit(a, 0);
	check_exit(b, 0);
}

/* 3 -> 2 -> 1 -> 0: what the last of the chain has, all get, and lose again. */
TEST(chain_inherits)
{
	word_t *w = shared(4096);
	volatile int *go = (volatile int *)&w[100];
	pid_t pid[5];
	long own, best;

	if (!may_use_fifo())
		return;
	for (int i = 0; i < 4; i++) {
		pid[i] = link_of_chain(w, i, i - 1, go);
		CHECK(setpriority(PRIO_PROCESS, pid[i], 10) == 0);
		until(i ? w[i - 1] & WAITERS : w[0]);
	}
	until(w[3]);
	sleep_ms(20);
	own = prio(pid[0]);
	/* One of real time waits for the end of the chain. */
	pid[4] = check_fork();
	if (pid[4] == 0) {
		struct timespec ts;

		CHECK(set_fifo(0, 20));
		clock_gettime(CLOCK_REALTIME, &ts);
		ts.tv_sec += 600;
		if (lock(&w[3], &ts) == 0)
			unlock(&w[3]);
		_exit(0);
	}
	until(w[3] & WAITERS);
	until(prio(pid[0]) < own);
	best = prio(pid[4]);
	for (int i = 0; i < 4; i++)
		CHECK(prio(pid[i]) == best);
	/* It changes its priority while it waits, upwards and downwards. */
	CHECK(set_fifo(pid[4], 40));
	for (int i = 0; i < 4; i++)
		CHECK(prio(pid[i]) == best - 20);
	CHECK(set_fifo(pid[4], 10));
	for (int i = 0; i < 4; i++)
		CHECK(prio(pid[i]) == best + 10);
	/* A link of the chain gets a better one of its own: only those before it gain. */
	CHECK(set_fifo(pid[2], 30));
	CHECK(prio(pid[0]) == best - 10 && prio(pid[1]) == best - 10 && prio(pid[3]) == best + 10);
	CHECK(set_fifo(pid[2], 0));
	CHECK(prio(pid[0]) == best + 10 && prio(pid[2]) == best + 10);
	/* A nice value is lent as well, which Linux does not do. */
	CHECK(set_fifo(pid[4], 0));
	until(prio(pid[0]) > 0);
	CHECK(setpriority(PRIO_PROCESS, pid[4], -20) == 0);
	if (on_jiffies())
		CHECK(prio(pid[0]) == prio(pid[4]) && prio(pid[3]) == prio(pid[4]));
	/* The waiter goes: everything as before. */
	kill(pid[4], SIGKILL);
	check_killed(pid[4], SIGKILL);
	for (int i = 0; i < 4; i++)
		CHECK(prio(pid[i]) >= (on_jiffies() ? own - 5 : 20));
	/* The locks pass along the chain and nobody keeps what was lent. */
	pid[4] = check_fork();
	if (pid[4] == 0) {
		CHECK(set_fifo(0, 20));
		CHECK(lock(&w[3], NULL) == 0);
		unlock(&w[3]);
		_exit(0);
	}
	until(prio(pid[0]) < 0);
	*go = 1;
	check_exit(pid[4], 0);
	until(!w[0] && !w[1] && !w[2] && !w[3]);
	for (int i = 0; i < 4; i++)
		CHECK(prio(pid[i]) > 0);
	*go = 2;
	for (int i = 0; i < 4; i++)
		check_exit(pid[i], 0);
}

/* The owner moves between CPUs with what it was lent. */
TEST(lent_owner_migrates)
{
	word_t *w = shared(4096);
	volatile int *go = (volatile int *)&w[100];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), best;
	pid_t owner, waiter;

	if (!may_use_fifo())
		return;
	owner = link_of_chain(w, 0, -1, go);
	until(w[0]);
	waiter = check_fork();
	if (waiter == 0) {
		CHECK(set_fifo(0, 20));
		CHECK(lock(w, NULL) == 0);
		unlock(w);
		_exit(0);
	}
	until(w[0] & WAITERS);
	until(prio(owner) < 0);
	best = prio(waiter);
	for (int i = 0; i < 20; i++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(i % (cpus > 4 ? 4 : cpus), &set);
		CHECK(sched_setaffinity(owner, sizeof(set), &set) == 0);
		CHECK(prio(owner) == best);
	}
	*go = 2;
	check_exit(waiter, 0);
	check_exit(owner, 0);
}

/* Those that wait get it in the order of their priorities, each its tid in the word. */
TEST(best_waiter_first)
{
	word_t *w = shared(4096);
	pid_t pid[4];
	int turn[4];

	if (!may_use_fifo())
		return;
	CHECK(lock(&w[0], NULL) == 0);
	for (int i = 0; i < 4; i++) {
		pid[i] = check_fork();
		if (pid[i] == 0) {
			CHECK(set_fifo(0, 1 + (i * 3 + 1) % 4 * 10));
			w[20 + i] = 1;
			CHECK(lock(&w[0], NULL) == 0);
			w[10 + i] = ++w[1];
			unlock(&w[0]);
			_exit(0);
		}
		until(w[20 + i]);
		sleep_ms(30);
	}
	unlock(&w[0]);
	for (int i = 0; i < 4; i++)
		check_exit(pid[i], 0);
	for (int i = 0; i < 4; i++)
		turn[(i * 3 + 1) % 4] = (int)w[10 + i];
	for (int i = 0; i < 4; i++)
		CHECK(turn[i] == 4 - i);
}

/* ---- requeue ---- */

static word_t cond;
static volatile int arrived, got;

static void *wait_on_cond(void *arg)
{
	struct timespec ts;
	long ret;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += arg ? 600 : 0;
	ts.tv_nsec = 0;
	__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST);
	ret = futex(&cond, WAIT_REQUEUE_PI, 7, &ts, &the_lock, 0);
	if (!arg) {
		CHECK(ret == -1 && errno == ETIMEDOUT);
		return NULL;
	}
	CHECK(ret == 0 && (the_lock & TID) == tid());
	got++;
	unlock(&the_lock);
	return NULL;
}

TEST(requeue)
{
	pthread_t t[4];

	cond = 7;
	CHECK((errno = pthread_create(&t[0], NULL, wait_on_cond, NULL)) == 0);
	CHECK(pthread_join(t[0], NULL) == 0);
	for (int i = 0; i < 4; i++)
		CHECK((errno = pthread_create(&t[i], NULL, wait_on_cond, (void *)1)) == 0);
	until(arrived == 5);
	sleep_ms(100);
	CHECK_ERR(futex(&cond, CMP_REQUEUE_PI, 1, (void *)1, &the_lock, 8), EAGAIN);
	CHECK_ERR(futex(&cond, CMP_REQUEUE_PI, 1, (void *)1, (word_t *)&sum, 7), EINVAL);
	CHECK_ERR(futex(&cond, FUTEX_WAKE, 1, NULL, NULL, 0), EINVAL);
	/* The lock is free: one gets it at once and runs. */
	CHECK(futex(&cond, CMP_REQUEUE_PI, 1, NULL, &the_lock, 7) == 1);
	until(got == 1 && the_lock == 0);
	/* Taken: they move, and none runs before it is given back. */
	CHECK(lock(&the_lock, NULL) == 0);
	CHECK(futex(&cond, CMP_REQUEUE_PI, 1, (void *)5, &the_lock, 7) == 3);
	CHECK(the_lock == (tid() | WAITERS));
	sleep_ms(20);
	CHECK(got == 1);
	unlock(&the_lock);
	for (int i = 0; i < 4; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(got == 4 && the_lock == 0);
}

/* ---- owners that die ---- */

static void robust_mutex(pthread_mutex_t *m, int protocol)
{
	pthread_mutexattr_t a;

	CHECK(pthread_mutexattr_init(&a) == 0);
	CHECK(pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST) == 0);
	CHECK(pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED) == 0);
	CHECK((errno = pthread_mutexattr_setprotocol(&a, protocol)) == 0);
	CHECK(pthread_mutex_init(m, &a) == 0);
}

static void *die_with(void *m)
{
	CHECK((errno = pthread_mutex_lock(m)) == 0);
	sleep_ms(50);
	return NULL;
}

static void owner_dies(int protocol)
{
	pthread_mutex_t *m = shared(8192);
	volatile int *ready = (volatile int *)((char *)m + 4096);
	pthread_t t;
	pid_t pid;

	/* A thread that ends, before and while somebody waits. */
	for (int late = 0; late < 2; late++) {
		robust_mutex(m, protocol);
		CHECK((errno = pthread_create(&t, NULL, die_with, m)) == 0);
		if (late)
			CHECK(pthread_join(t, NULL) == 0);
		else
			sleep_ms(10);
		CHECK(pthread_mutex_lock(m) == EOWNERDEAD);
		CHECK(pthread_mutex_consistent(m) == 0);
		CHECK(pthread_mutex_unlock(m) == 0);
		if (!late)
			CHECK(pthread_join(t, NULL) == 0);
		CHECK(pthread_mutex_lock(m) == 0 && pthread_mutex_unlock(m) == 0);
	}
	/* A process that is killed, with one and with three that wait. */
	for (int n = 1; n <= 3; n += 2) {
		pid_t other[3];

		robust_mutex(m, protocol);
		*ready = 0;
		pid = check_fork();
		if (pid == 0) {
			CHECK(pthread_mutex_lock(m) == 0);
			*ready = 1;
			pause();
		}
		until(*ready);
		for (int i = 0; i < n; i++) {
			other[i] = check_fork();
			if (other[i] == 0) {
				int err = pthread_mutex_lock(m);

				if (err == EOWNERDEAD)
					CHECK(pthread_mutex_consistent(m) == 0);
				else
					CHECK(err == 0);
				CHECK(pthread_mutex_unlock(m) == 0);
				_exit(err == EOWNERDEAD ? 7 : 0);
			}
		}
		sleep_ms(50);
		kill(pid, SIGKILL);
		check_killed(pid, SIGKILL);
		for (int i = 0, died = 0; i < n; i++) {
			int status;

			CHECK(waitpid(other[i], &status, 0) == other[i] && WIFEXITED(status));
			CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7);
			died += WEXITSTATUS(status) == 7;
			CHECK(i < n - 1 || died == 1);
		}
	}
}

TEST(owner_of_robust_mutex_dies)
{
	owner_dies(PTHREAD_PRIO_NONE);
}

TEST(owner_of_robust_pi_mutex_dies)
{
	owner_dies(PTHREAD_PRIO_INHERIT);
}

/* Nothing on a list: those that wait here learn of it all the same. */
TEST(owner_of_plain_pi_lock_dies)
{
	word_t *w = shared(4096);
	pid_t pid = check_fork(), other[3];

	if (pid == 0) {
		CHECK(lock(w, NULL) == 0);
		pause();
	}
	until(*w);
	for (int i = 0; i < 3; i++) {
		other[i] = check_fork();
		if (other[i] == 0) {
			uint32_t died;

			CHECK(lock(w, NULL) == 0 && (*w & TID) == tid());
			died = *w & DIED;
			w[1]++;
			unlock(w);
			_exit(died ? 7 : 0);
		}
	}
	until(*w & WAITERS);
	sleep_ms(50);
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
	for (int i = 0; i < 3; i++) {
		int status;

		CHECK(waitpid(other[i], &status, 0) == other[i] && WIFEXITED(status));
		w[2] += WEXITSTATUS(status) == 7;
	}
	CHECK(w[1] == 3 && w[2] == 1 && *w == 0);
}

struct entry {
	struct entry *next;
	word_t word;
};

struct head {
	struct entry *next;
	long offset;
	struct entry *pending;
};

static void my_list(struct head *h, struct entry *e)
{
	h->offset = offsetof(struct entry, word);
	h->pending = NULL;
	h->next = e;
	CHECK(syscall(SYS_set_robust_list, h, sizeof(*h)) == 0);
}

TEST(robust_list_by_hand)
{
	struct entry *e = shared(4096);
	struct head *h = (struct head *)(e + 50), *now;
	size_t size;
	pid_t pid;

	CHECK_ERR(syscall(SYS_set_robust_list, h, sizeof(*h) - 1), EINVAL);
	CHECK_ERR(syscall(SYS_get_robust_list, 0x3ffffff, &now, &size), ESRCH);
	my_list(h, (struct entry *)h);
	CHECK(syscall(SYS_get_robust_list, 0, &now, &size) == 0 && now == h && size == sizeof(*h));
	h->next = NULL;
	CHECK(syscall(SYS_set_robust_list, NULL, sizeof(*h)) == 0);
	pid = check_fork();
	if (pid == 0) {
		/* Ours twice, a stranger's, ours again in a ring; one half taken, which is ours by now. */
		for (int i = 0; i < 5; i++) {
			e[i].next = &e[i + 1];
			e[i].word = tid();
		}
		e[2].word = 1;
		e[3].next = &e[0];
		e[1].word |= WAITERS;
		my_list(h, &e[0]);
		h->pending = &e[4];
		CHECK(syscall(SYS_get_robust_list, getppid(), &now, &size) == 0 && now == NULL);
		_exit(0);
	}
	check_exit(pid, 0);
	CHECK(e[0].word == DIED && e[1].word == (DIED | WAITERS) && e[2].word == 1 &&
	      e[3].word == DIED && e[4].word == DIED);
	/* Lists nobody should believe: the process just ends. */
	for (int i = 0; i < 4; i++) {
		pid = check_fork();
		if (pid == 0) {
			my_list(h, i & 1 ? BAD_PTR : &e[0]);
			e[0].next = i & 1 ? BAD_PTR : (void *)0x123456789abcdef0;
			if (i & 2)
				h->pending = (void *)0xfffffffffffff000;
			if (i == 3)
				syscall(SYS_set_robust_list, BAD_PTR, sizeof(*h));
			_exit(3);
		}
		check_exit(pid, 3);
	}
}

/* exec leaves the memory, and with it the locks ... */
TEST(exec_gives_locks_back)
{
	struct entry *e = shared(4096);
	struct head *h = (struct head *)(e + 50);
	word_t *pi = &e[61].word;
	pid_t pid, waiter;

	pid = check_fork();
	if (pid == 0) {
		my_list(h, &e[0]);
		e[0].next = (struct entry *)h;
		e[0].word = tid();
		CHECK(lock(pi, NULL) == 0);
		until(*pi & WAITERS);
		execl(self_path, self_path, "--sleep", NULL);
		CHECK(!"exec");
	}
	until(*pi);
	waiter = check_fork();
	if (waiter == 0) {
		CHECK(lock(pi, NULL) == 0 && *pi == (tid() | DIED | (*pi & WAITERS)));
		_exit(0);
	}
	until(e[0].word == DIED);
	check_exit(waiter, 0);
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
}

/* ... and the word that somebody watches who goes on using the memory. */
TEST(exec_clears_the_tid_word)
{
	static word_t word = 5;
	pid_t pid = vfork();

	if (pid == 0) {
		syscall(SYS_set_tid_address, &word);
		execl(self_path, self_path, "--sleep", NULL);
		_exit(1);
	}
	CHECK(pid > 0 && word == 0);
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
}

/* Nobody waited longer than the machine has run. Linux has no such list. */
static void check_waits(void)
{
	char line[600], *p;
	FILE *f;

	if (access("/sys/sched", F_OK) != 0)
		return;
	f = fopen("/sys/sched/tasks", "r");
	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		p = strstr(line, "wait_max_ns ");
		CHECK(p && strtoull(p + 12, NULL, 10) < (unsigned long long)now_ns());
	}
	fclose(f);
}

/* ---- everything at once, badly used ---- */

static word_t *storm_words; /* 0 to 3 locks, 4 to 7 condition variables */
static volatile int64_t storm_end;

static void *storm_thread(void *arg)
{
	struct {
		uint64_t next, offset, pending;
		uint64_t entry;
	} robust = {.offset = 0};
	unsigned seed = tid() * 7919u + (unsigned)(long)arg;

	robust.next = (uint64_t)(storm_words + 2 * (seed % 2));
	if (seed % 3 == 0)
		syscall(SYS_set_robust_list, &robust, 24);
	while (now_ns() < storm_end) {
		word_t *w = storm_words + rand_r(&seed) % 4, *c = w + 4, old;
		struct timespec ts;
		uint64_t ns = (uint64_t)now_ns() + (unsigned)rand_r(&seed) % 3000000;

		ts.tv_sec = (time_t)(ns / 1000000000);
		ts.tv_nsec = (long)(ns % 1000000000);
		switch (rand_r(&seed) % 12) {
		case 0:
			futex(c, WAIT_REQUEUE_PI, *c, &ts, w, 0);
			break;
		case 1:
			futex(c, CMP_REQUEUE_PI, 1, (void *)(long)(rand_r(&seed) % 5), w, *c);
			break;
		case 2:
			futex(c, FUTEX_WAKE, 100, NULL, NULL, 0);
			break;
		case 3:
			setpriority(PRIO_PROCESS, 0, rand_r(&seed) % 20);
			break;
		case 4:
			futex(w, TRYLOCK_PI, 0, NULL, NULL, 0);
			break;
		case 5: /* a word that lies, or one freed under its waiters */
			old = *w;
			if (rand_r(&seed) % 8 == 0)
				__sync_bool_compare_and_swap(w, old, rand_r(&seed) % 2 ? 0 : tid());
			break;
		case 6:
			if (rand_r(&seed) % 64 == 0)
				syscall(SYS_exit, 0);
			break;
		case 7:
		case 8:
			for (unsigned i = 0; i < 4; i++)
				if ((storm_words[i] & TID) == tid())
					futex(storm_words + i, UNLOCK_PI, 0, NULL, NULL, 0);
			break;
		default:
			futex(w, LOCK_PI2, 0, &ts, NULL, 0);
		}
	}
	return NULL;
}

static void storm_process(void)
{
	pthread_t t;

	for (long i = 0; i < 3; i++)
		pthread_create(&t, NULL, storm_thread, (void *)i);
	storm_thread((void *)3);
	_exit(0);
}

/* Chains, time-outs, words that lie, threads that end and processes that are killed: all of them end, and the words serve again. */
TEST(storm)
{
	pid_t child[4] = {0};
	unsigned seed = (unsigned)now_ns();
	int status;

	storm_words = shared(4096);
	storm_end = now_ns() + 800000000;
	while (now_ns() < storm_end) {
		int i = rand_r(&seed) % 4;

		if (child[i]) {
			kill(child[i], SIGKILL);
			CHECK(waitpid(child[i], &status, 0) == child[i]);
		}
		child[i] = fork();
		if (!child[i])
			storm_process();
		sleep_ms(rand_r(&seed) % 8);
	}
	for (int i = 0; i < 4; i++)
		if (child[i]) {
			CHECK(waitpid(child[i], &status, 0) == child[i]);
			CHECK(status == 0 || WIFSIGNALED(status));
		}
	check_waits();
	for (int i = 0; i < 4; i++) {
		storm_words[i] = 0;
		CHECK(lock(storm_words + i, NULL) == 0);
		storm_words[i] |= WAITERS;
		CHECK(futex(storm_words + i, UNLOCK_PI, 0, NULL, NULL, 0) == 0);
		CHECK(storm_words[i] == 0);
	}
}

static const struct test tests[] = {
	T(errors),
	T(excludes),
	T(time_outs_and_signals_race),
	T(time_out),
	T(signal_does_not_end_it),
	T(word_without_owner_but_waiters_is_corrupt),
	T(deadlock),
	T(chain_inherits),
	T(lent_owner_migrates),
	T(best_waiter_first),
	T(requeue),
	T(owner_of_robust_mutex_dies),
	T(owner_of_robust_pi_mutex_dies),
	T(owner_of_plain_pi_lock_dies),
	T(robust_list_by_hand),
	T(exec_gives_locks_back),
	T(exec_clears_the_tid_word),
	T(storm),
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--sleep")) {
		sleep(60);
		return 0;
	}
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

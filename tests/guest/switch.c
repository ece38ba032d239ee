/* SPDX-License-Identifier: MIT
 *
 * test_switch SECONDS [CHANGES] - change the scheduling policy as often as possible while programs compute, talk through pipes, fork,
 * sleep, hand a mutex round and move between CPUs. It ends after SECONDS, or after CHANGES if given. Then all of them must end with the
 * right result: a lost wake-up or task leaves one of them waiting, a task under two CPUs makes sums wrong.
 * Needs /sys/sched.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS_MAX 32
#define PATIENCE_S  120 /* for what was under way at the end */

/* In memory shared by all. */
static struct shared {
	volatile bool stop;
	uint64_t sum;			     /* what a hog computes */
	volatile uint64_t done[WORKERS_MAX]; /* rounds of each */
} * shared;

static char policies[16][64];
static int nr_policies, nr_cpus;

static int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/* musl's own sched_setscheduler() and sched_getscheduler() only answer ENOSYS. */
static int set_class(int policy, int priority)
{
	struct sched_param param = {.sched_priority = priority};

	return (int)syscall(SYS_sched_setscheduler, 0, policy, &param);
}

static int get_class(void)
{
	return (int)syscall(SYS_sched_getscheduler, 0);
}

static void die(const char *what)
{
	printf("not ok - %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* ---- the workers: each returns whether all was right ---- */

/* The same sum again and again, in registers that every switch must keep. */
static bool hog(volatile uint64_t *rounds)
{
	double f_first = 0;

	for (; !shared->stop; ++*rounds) {
		uint64_t sum = 0;
		double f = 0;

		for (uint64_t i = 0; i < 200000; i++) {
			sum = sum * 31 + i;
			f += 1.0 / (double)(i + 1);
		}
		if (!*rounds)
			f_first = f;
		if (sum != shared->sum || f != f_first)
			return false;
	}
	return true;
}

/* Two processes and two pipes: each message is the next number. */
static bool pingpong(volatile uint64_t *rounds)
{
	int there[2], back[2], status;
	uint64_t v, n = 0;
	pid_t pid;

	if (pipe(there) || pipe(back))
		return false;
	pid = fork();
	if (pid == 0) {
		close(there[1]);
		close(back[0]);
		while (read(there[0], &v, sizeof(v)) == sizeof(v)) {
			if (v != n++)
				_exit(1);
			if (write(back[1], &v, sizeof(v)) != sizeof(v))
				_exit(2);
		}
		_exit(0);
	}
	close(there[0]);
	close(back[1]);
	for (; !shared->stop; n++, ++*rounds) {
		if (write(there[1], &n, sizeof(n)) != sizeof(n) ||
		    read(back[0], &v, sizeof(v)) != sizeof(v) || v != n)
			return false;
	}
	close(there[1]);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

static bool forker(volatile uint64_t *rounds)
{
	for (; !shared->stop; ++*rounds) {
		int code = (int)(*rounds & 127), status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(code);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != code)
			return false;
	}
	return true;
}

static bool sleeper(volatile uint64_t *rounds)
{
	for (; !shared->stop; ++*rounds) {
		struct timespec ts = {0, 50000 + (long)(*rounds % 7) * 300000};
		int64_t start = now();

		if (nanosleep(&ts, NULL) || now() - start < ts.tv_nsec)
			return false;
	}
	return true;
}

/* Move about; nice and class too. After each call we are where we asked to be. */
static bool mover(volatile uint64_t *rounds)
{
	for (; !shared->stop; ++*rounds) {
		int cpu = (int)(*rounds * 7 % (unsigned)nr_cpus);
		cpu_set_t set, got;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (sched_setaffinity(0, sizeof(set), &set) || sched_getcpu() != cpu)
			return false;
		CPU_ZERO(&got);
		if (sched_getaffinity(0, sizeof(got), &got) < 0 || !CPU_EQUAL(&set, &got))
			return false;
		if (setpriority(PRIO_PROCESS, 0, (int)(*rounds % 20)) ||
		    getpriority(PRIO_PROCESS, 0) != (int)(*rounds % 20))
			return false;
		if (*rounds % 16 == 0) {
			if (set_class(SCHED_FIFO, 5) || get_class() != SCHED_FIFO ||
			    set_class(SCHED_OTHER, 0))
				return false;
		}
		sched_yield();
	}
	return true;
}

/* Threads that wait for their turn under one mutex and condition: every wake-up counts. */
#define RING 4
static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond[RING];
	int turn;
	uint64_t passed;
	bool over;
} ring = {PTHREAD_MUTEX_INITIALIZER,
	  {PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER,
	   PTHREAD_COND_INITIALIZER},
	  0,
	  0,
	  false};

static void *ring_member(void *arg)
{
	int me = (int)(intptr_t)arg, next = (me + 1) % RING;
	uint64_t mine = 0;

	pthread_mutex_lock(&ring.lock);
	while (!ring.over) {
		if (ring.turn != me) {
			pthread_cond_wait(&ring.cond[me], &ring.lock);
			continue;
		}
		mine++;
		ring.passed++;
		ring.turn = next;
		if (me == 0 && shared->stop) {
			ring.over = true;
			for (int i = 0; i < RING; i++)
				pthread_cond_signal(&ring.cond[i]);
		}
		pthread_cond_signal(&ring.cond[next]);
	}
	pthread_mutex_unlock(&ring.lock);
	return (void *)(intptr_t)mine;
}

static bool threads(volatile uint64_t *rounds)
{
	pthread_t t[RING];
	uint64_t sum = 0;

	for (int i = 0; i < RING; i++)
		if (pthread_create(&t[i], NULL, ring_member, (void *)(intptr_t)i))
			return false;
	for (int i = 0; i < RING; i++) {
		void *mine;

		if (pthread_join(t[i], &mine))
			return false;
		sum += (uint64_t)(intptr_t)mine;
	}
	*rounds = ring.passed;
	return sum == ring.passed;
}

static const struct {
	const char *name;
	bool (*run)(volatile uint64_t *rounds);
	int copies; /* 0: one per CPU */
} kinds[] = {
	{"hog", hog, 0},	 {"pingpong", pingpong, 4}, {"forker", forker, 2},
	{"sleeper", sleeper, 3}, {"mover", mover, 3},	    {"threads", threads, 1},
};
#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

/* ---- the changer ---- */

static void read_policies(void)
{
	char text[4096], *line = text, *end;
	int fd = open("/sys/sched/available", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (n < 0)
		die("/sys/sched/available");
	close(fd);
	text[n] = '\0';
	while ((end = strchr(line, '\n')) && nr_policies < 16) {
		snprintf(policies[nr_policies++], sizeof(policies[0]), "%.*s",
			 (int)strcspn(line, "\t\n"), line);
		line = end + 1;
	}
}

static void change_to(int fd, const char *name)
{
	char got[64] = "";
	int check;

	if (write(fd, name, strlen(name)) != (ssize_t)strlen(name))
		die(name);
	check = open("/sys/sched/policy", O_RDONLY);
	if (check < 0 || read(check, got, sizeof(got) - 1) < 0)
		die("/sys/sched/policy");
	close(check);
	if (strcspn(got, "\n") != strlen(name) || strncmp(got, name, strlen(name))) {
		printf("not ok - the policy is %s and not %s\n", got, name);
		exit(1);
	}
}

static void stuck(int sig)
{
	static const char text[] = "not ok - programs do not end: a task or a wake-up was lost\n";

	(void)sig;
	(void)!write(1, text, sizeof(text) - 1);
	_exit(1);
}

int main(int argc, char **argv)
{
	long seconds = argc > 1 ? atol(argv[1]) : 0, limit = argc > 2 ? atol(argv[2]) : 0;
	pid_t pid[WORKERS_MAX];
	int kind[WORKERS_MAX], n = 0, fd, bad = 0;
	unsigned rng = 1;
	long changes = 0;
	int64_t start, took;
	uint64_t sum = 0;
	char original[64];

	if (seconds < 1) {
		fprintf(stderr, "usage: test_switch SECONDS [CHANGES]\n");
		return 2;
	}
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		die("mmap");
	nr_cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	read_policies();
	fd = open("/sys/sched/policy", O_RDWR);
	if (fd < 0 || read(fd, original, sizeof(original) - 1) < 1)
		die("/sys/sched/policy");
	original[strcspn(original, "\n")] = '\0';
	/* What the hogs must find, computed before anything changes. */
	for (uint64_t i = 0; i < 200000; i++)
		sum = sum * 31 + i;
	shared->sum = sum;

	for (int k = 0; k < KINDS; k++) {
		int copies = kinds[k].copies ? kinds[k].copies : nr_cpus;

		for (int c = 0; c < copies && n < WORKERS_MAX; c++) {
			kind[n] = k;
			pid[n] = fork();
			if (pid[n] < 0)
				die("fork");
			if (pid[n] == 0)
				_exit(kinds[k].run(&shared->done[n]) ? 0 : 1);
			n++;
		}
	}
	if (set_class(SCHED_FIFO, 10))
		die("SCHED_FIFO");
	start = now();
	while (now() - start < seconds * 1000000000ll && (!limit || changes < limit)) {
		struct timespec pause = {0, 0};

		rng = rng * 1103515245 + 12345;
		change_to(fd, policies[(rng >> 16) % (unsigned)nr_policies]);
		changes++;
		pause.tv_nsec = (long)(rng >> 12 & 0xfffff); /* up to 1 ms */
		nanosleep(&pause, NULL);
		if (getpriority(PRIO_PROCESS, 0) || get_class() != SCHED_FIFO) {
			printf("not ok - nice value or class lost\n");
			bad++;
		}
	}
	took = now() - start;
	shared->stop = true;
	signal(SIGALRM, stuck);
	alarm(PATIENCE_S);
	for (int i = 0; i < n; i++) {
		int status = -1;

		if (waitpid(pid[i], &status, 0) != pid[i] || status) {
			printf("not ok - %s %d ended with status 0x%x after %llu rounds\n",
			       kinds[kind[i]].name, i, status, (unsigned long long)shared->done[i]);
			bad++;
		} else if (!shared->done[i]) {
			printf("not ok - %s %d never finished a round\n", kinds[kind[i]].name, i);
			bad++;
		}
	}
	change_to(fd, original);
	for (int k = 0; k < KINDS; k++) {
		uint64_t rounds = 0;

		for (int i = 0; i < n; i++)
			rounds += kind[i] == k ? shared->done[i] : 0;
		printf("# %s: %llu rounds\n", kinds[k].name, (unsigned long long)rounds);
	}
	printf("RESULT switch policies=%d changes=%ld ms=%lld programs=%d bad=%d\n", nr_policies,
	       changes, (long long)(took / 1000000), n, bad);
	printf("%sok - %ld changes of the policy under load\n", bad ? "not " : "", changes);
	return bad != 0;
}

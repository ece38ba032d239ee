// SPDX-License-Identifier: MIT
/*
 * bench - what the kernel's basic operations cost. Meant for one CPU under tools/vm --icount 0,
 * where a nanosecond of CLOCK_MONOTONIC is one instruction; elsewhere the figures are ns.
 *
 * Each row repeats its operation in several batches and reports the cheapest batch's mean, so that
 * a timer tick in one batch does not count. Everything is pinned to CPU 0.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/wl.h"

#define BATCHES	      5
#define PAGE	      4096
#define BLOCK	      4096
#define FUTEX_WAIT    0 /* musl has no header for these */
#define FUTEX_WAKE    1
#define FUTEX_PRIVATE 128

/* An operation: run it n times, return ns in all, or -1 with errno. */
typedef int64_t (*batch_fn)(long n);

static const char *self; /* path of this program's directory, for "nothing" */

static void must(bool ok, const char *what)
{
	if (!ok)
		wl_die(what);
}

/* ---- single process ---- */

static int64_t null_syscall(long n)
{
	int64_t start = wl_now();

	for (long i = 0; i < n; i++) {
		long ret = SYS_getppid;

		__asm__ volatile("syscall" : "+a"(ret) : : "rcx", "r11", "memory");
	}
	return wl_now() - start;
}

static int64_t page_fault(long n)
{
	volatile char *p =
		mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int64_t start, elapsed;

	if (p == MAP_FAILED)
		return -1;
	start = wl_now();
	for (long i = 0; i < n; i++)
		p[i * PAGE] = 1;
	elapsed = wl_now() - start;
	munmap((void *)p, n * PAGE);
	return elapsed;
}

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	(void)sig;
	caught++;
}

static int64_t signal_self(long n)
{
	struct sigaction sa = {.sa_handler = on_signal};
	pid_t pid = getpid();
	int64_t start;

	if (sigaction(SIGUSR1, &sa, NULL) < 0)
		return -1;
	caught = 0;
	start = wl_now();
	for (long i = 0; i < n; i++)
		if (kill(pid, SIGUSR1) < 0)
			return -1;
	start = wl_now() - start;
	if (caught != n) {
		errno = EPROTO;
		return -1;
	}
	return start;
}

/* ---- two or more processes ---- */

static int64_t yield_switch(long n)
{
	int64_t start, elapsed;
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (pid == 0)
		for (;;)
			sched_yield();
	for (int i = 0; i < 10; i++)
		if (sched_yield() < 0)
			return -1;
	start = wl_now();
	for (long i = 0; i < n; i++)
		sched_yield();
	elapsed = wl_now() - start;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return elapsed / 2; /* there and back */
}

static bool trace_control(const char *command)
{
	int fd = open("/dev/trace", O_WRONLY);
	bool ok = fd >= 0 && write(fd, command, strlen(command)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/* What the record of a switch adds to it: the same switches with and without. */
static int64_t trace_record(long n)
{
	int64_t off, on;

	if (!trace_control("stop"))
		return -1;
	off = yield_switch(n);
	if (off < 0 || !trace_control("start switch"))
		return -1;
	on = yield_switch(n);
	return trace_control("stop") && on >= 0 ? on - off : -1;
}

/* A ring of n processes passing one byte; returns ns for hops hops, all of them timed. */
static int64_t token_ring(int procs, long hops)
{
	int first[2], in;
	int64_t start;
	char c = 0;

	if (pipe(first) < 0)
		return -1;
	in = first[0];
	for (int i = 0; i < procs - 1; i++) {
		int next[2];
		pid_t pid;

		if (pipe(next) < 0)
			return -1;
		pid = fork();
		if (pid < 0)
			return -1;
		if (pid == 0) {
			close(first[1]);
			close(next[0]);
			while (read(in, &c, 1) == 1 && write(next[1], &c, 1) == 1)
				;
			_exit(0);
		}
		close(next[1]);
		close(in);
		in = next[0];
	}
	start = 0;
	for (long i = -10 * procs; i < hops; i += procs) {
		if (i == 0)
			start = wl_now();
		must(write(first[1], &c, 1) == 1 && read(in, &c, 1) == 1, "token");
	}
	start = wl_now() - start;
	close(first[1]);
	while (wait(NULL) > 0)
		;
	close(in);
	return start;
}

static int64_t pipe_round_trip(long n)
{
	return token_ring(2, 2 * n);
}

static int64_t ring_hop(long n)
{
	return token_ring(8, n - n % 8);
}

static int64_t pipe_block(long n)
{
	static char block[BLOCK];
	int64_t start;
	pid_t pid;
	int fd[2];

	if (pipe(fd) < 0)
		return -1;
	pid = fork();
	if (pid < 0)
		return -1;
	if (pid == 0) {
		close(fd[0]);
		memset(block, 1, sizeof(block));
		while (write(fd[1], block, BLOCK) == BLOCK)
			;
		_exit(0);
	}
	close(fd[1]);
	for (int i = 0; i < 64; i++)
		must(wl_read_all(fd[0], block, BLOCK) == BLOCK, "block");
	start = wl_now();
	for (long i = 0; i < n; i++)
		must(wl_read_all(fd[0], block, BLOCK) == BLOCK, "block");
	start = wl_now() - start;
	kill(pid, SIGKILL);
	close(fd[0]);
	waitpid(pid, NULL, 0);
	return start;
}

static int64_t fork_exit_wait(long n)
{
	int64_t start = wl_now();

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return -1;
		if (pid == 0)
			_exit(0);
		must(waitpid(pid, NULL, 0) == pid, "wait");
	}
	return wl_now() - start;
}

static int64_t fork_exec_wait(long n)
{
	char path[PATH_MAX + 16];
	char *const argv[] = {"nothing", NULL};
	char *const env[] = {NULL};
	int64_t start;
	int status;

	snprintf(path, sizeof(path), "%s/nothing", self);
	if (access(path, X_OK) < 0)
		return -1;
	start = wl_now();
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			return -1;
		if (pid == 0) {
			execve(path, argv, env);
			_exit(127);
		}
		must(waitpid(pid, &status, 0) == pid, "wait");
		if (status != 0) {
			errno = ENOEXEC;
			return -1;
		}
	}
	return wl_now() - start;
}

/* ---- threads ---- */

static long futex(int *word, int op, int value)
{
	return syscall(SYS_futex, word, op | FUTEX_PRIVATE, value, NULL, NULL, 0);
}

static int turn;

/* Wait until it is my turn, then hand the turn over, n times. */
static void *take_turns(void *arg)
{
	int mine = ((long *)arg)[0], other = !mine;
	long n = ((long *)arg)[1];

	for (long i = 0; i < n; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != mine)
			futex(&turn, FUTEX_WAIT, other);
		__atomic_store_n(&turn, other, __ATOMIC_RELEASE);
		futex(&turn, FUTEX_WAKE, 1);
	}
	return NULL;
}

static int64_t futex_round_trip(long n)
{
	long first[2] = {0, n}, second[2] = {1, n};
	int64_t start;
	pthread_t thread;

	if (futex(&turn, FUTEX_WAKE, 1) < 0)
		return -1;
	turn = 0;
	errno = pthread_create(&thread, NULL, take_turns, second);
	if (errno)
		return -1;
	start = wl_now();
	take_turns(first);
	pthread_join(thread, NULL);
	return wl_now() - start;
}

static void *nothing_thread(void *arg)
{
	return arg;
}

static int64_t thread_create_join(long n)
{
	int64_t start = wl_now();
	pthread_t thread;

	for (long i = 0; i < n; i++) {
		errno = pthread_create(&thread, NULL, nothing_thread, NULL);
		if (errno)
			return -1;
		pthread_join(thread, NULL);
	}
	return wl_now() - start;
}

/* ---- timer ---- */

/*
 * From the moment a timer was due to the first user instruction after it, on an idle CPU: the
 * clock read after an absolute sleep minus the time slept for, minus what reading the clock costs.
 * The median of n sleeps times n, because every row is divided by n.
 */
static int64_t timer_wake_up(long n)
{
	int64_t *late = calloc(n, sizeof(*late));
	int64_t clock_cost, result;

	must(late, "memory");
	clock_cost = wl_now();
	for (int i = 0; i < 100; i++)
		wl_now();
	clock_cost = (wl_now() - clock_cost) / 101;
	for (long i = 0; i < n; i++) {
		int64_t due = wl_now() + 1000000 + i * 1237; /* not in step with the tick */
		struct timespec ts = {due / 1000000000, due % 1000000000};

		errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		if (errno)
			return -1;
		late[i] = wl_now() - due - clock_cost;
	}
	wl_sort(late, n);
	result = wl_percentile(late, n, 50) * n;
	free(late);
	return result;
}

static const struct row {
	const char *name;
	batch_fn run;
	long n;
	const char *about;
} rows[] = {
	{"null_syscall", null_syscall, 2000, "getppid"},
	{"yield_switch", yield_switch, 1000, "sched_yield to another process"},
	{"trace_record", trace_record, 1000, "what recording adds to a switch"},
	{"pipe_round_trip", pipe_round_trip, 500, "1 byte to another process and back"},
	{"ring_hop", ring_hop, 2000, "token ring of 8 processes, per hop"},
	{"pipe_block", pipe_block, 512, "4 KiB through a 64 KiB pipe, per block"},
	{"futex_round_trip", futex_round_trip, 500, "hand-over to another thread and back"},
	{"fork_exit_wait", fork_exit_wait, 50, "fork, exit, wait"},
	{"fork_exec_wait", fork_exec_wait, 50, "fork, exec of a small static program, wait"},
	{"thread_create_join", thread_create_join, 100, "pthread_create, pthread_join"},
	{"page_fault", page_fault, 512, "first touch of an anonymous page"},
	{"signal_self", signal_self, 500, "kill self, handler, return"},
	{"timer_wake_up", timer_wake_up, 50, "timer due to user mode, idle CPU"},
};

#define NROWS (sizeof(rows) / sizeof(rows[0]))

static int run_row(const struct row *r)
{
	double best = 0;
	char name[64];

	snprintf(name, sizeof(name), "bench.%s", r->name);
	for (int b = 0; b < BATCHES; b++) {
		int64_t ns = r->run(r->n);

		if (ns < 0 && errno == ENOSYS) {
			wl_result(name, "unsupported=1");
			return 0;
		}
		if (ns < 0) {
			wl_result(name, "error=%d", errno);
			return 1;
		}
		if (b == 0 || (double)ns / r->n < best)
			best = (double)ns / r->n;
	}
	wl_result(name, "insns=%.1f", best);
	return 0;
}

static bool wanted(const struct row *r, char **names)
{
	if (!*names)
		return true;
	for (; *names; names++)
		if (!strcmp(*names, r->name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	static bool list;
	static const struct wl_opt opts[] = {{"list", WL_FLAG, &list, "name the rows"}};
	static const struct wl_program prog = {
		.usage = "bench [OPTIONS] [ROW...]",
		.about =
			"Costs of basic operations: ns each, which are instructions when the machine runs\n"
			"with --icount 0 on one CPU. Prints RESULT bench.ROW insns=N.",
		.opts = opts,
		.nopts = 1,
		.max_args = NROWS,
	};
	int arg = wl_options(&prog, argc, argv);
	char *slash = strrchr(argv[0], '/');
	int failed = 0, found = 0;

	self = "/bin";
	if (slash) {
		*slash = '\0';
		self = argv[0];
	}
	if (wl_pin(0, 0) < 0)
		wl_die("affinity");
	for (size_t i = 0; i < NROWS; i++) {
		if (list) {
			printf("%-20s %s\n", rows[i].name, rows[i].about);
		} else if (wanted(&rows[i], argv + arg)) {
			failed += run_row(&rows[i]);
			found++;
		}
	}
	if (!list && found < argc - arg) {
		fprintf(stderr, "bench: unknown row; --list names them\n");
		return 2;
	}
	return failed != 0;
}

// SPDX-License-Identifier: MIT
/*
 * stress - everything at once for SECONDS: forks, execs, pipes, signals, affinity changes, kills,
 * mappings, threads, class changes. Every worker checks its own data; at the end the free memory
 * must be what it was. Runs on a Linux host too, where the leak is reported but not judged.
 *
 * A first short run brings caches to their working size; the comparison is made around the second.
 */
#include "tap.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

#define WARM_UP_S     3
#define GRACE_S	      40 /* a worker that has not ended by then is hung */
#define LEAK_PAGES_OK 32 /* partly filled slabs and per-CPU lists may differ by a few pages */
#define PAGE	      4096

enum kind { FORKS, EXECS, PIPES, SIGNALS, AFFINITY, KILLS, MAPS, CLASSES, THREADS, KINDS };

struct tally {
	int kind;
	long n, bytes;
};

static int64_t end_ns;
static int tally_pipe[2];
static uint32_t seed;
static cpu_set_t all_cpus;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static bool more(void)
{
	return now_ns() < end_ns;
}

/* ---- the workers: loop until the time is over, return how much was done ---- */

static void forks(struct tally *t)
{
	char *p = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pid_t pid[12];

	CHECK(p != MAP_FAILED);
	while (more()) {
		int n = 1 + rnd(12), mark = rnd(256), status;

		memset(p, mark, 8 * PAGE);
		for (int i = 0; i < n; i++) {
			pid[i] = check_fork();
			if (pid[i] == 0) {
				memset(p + (i % 8) * PAGE, ~mark, PAGE);
				for (int k = 0; k < 8; k++)
					CHECK((p[k * PAGE + 77] & 0xff) ==
					      ((k == i % 8 ? ~mark : mark) & 0xff));
				if (rnd(8) == 0 && check_fork() == 0)
					_exit(0); /* an orphan for init */
				_exit(i + 1);
			}
		}
		for (int i = n - 1; i >= 0; i--) {
			CHECK(waitpid(pid[i], &status, 0) == pid[i]);
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == i + 1);
		}
		for (int k = 0; k < 8 * PAGE; k += 509)
			CHECK((p[k] & 0xff) == mark);
		t->n += n;
	}
}

static void execs(struct tally *t)
{
	while (more()) {
		char token[16];
		char *argv[] = {self_path, "--exec-child", token, NULL};
		char *env[] = {"PATH=/bin", NULL};
		volatile int want = rnd(100);
		int status;
		volatile bool bad = rnd(10) == 0; /* vfork: must not live in a register */
		pid_t pid;

		snprintf(token, sizeof(token), "%d", want);
		pid = rnd(2) ? vfork() : fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			execve(bad ? "/no/such/program" : self_path, argv, env);
			_exit(121);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == (bad ? 121 : want));
		t->n++;
	}
}

/* writer -> relay -> this process, in odd pieces, the sequence of bytes checked */
static void pipes(struct tally *t)
{
	static unsigned char buf[8192];

	while (more()) {
		int a[2], b[2];
		long total = 1 + rnd(300000), got = 0;
		bool small = rnd(2);

		CHECK(pipe(a) == 0 && pipe(b) == 0);
		if (small)
			CHECK(fcntl(a[1], F_SETPIPE_SZ, 4096) == 4096);
		if (check_fork() == 0) {
			long sent = 0;

			close(a[0]);
			while (sent < total) {
				long n = 1 + rnd(sizeof(buf));

				n = n > total - sent ? total - sent : n;
				for (long i = 0; i < n; i++)
					buf[i] = (sent + i) * 31 >> 3;
				CHECK(write(a[1], buf, n) == n);
				sent += n;
			}
			_exit(0);
		}
		close(a[1]);
		if (check_fork() == 0) {
			ssize_t n;

			close(b[0]);
			while ((n = read(a[0], buf, 1 + rnd(sizeof(buf)))) > 0)
				CHECK(write(b[1], buf, n) == n);
			CHECK(n == 0);
			_exit(0);
		}
		close(a[0]);
		close(b[1]);
		for (;;) {
			ssize_t n = read(b[0], buf, 1 + rnd(sizeof(buf)));

			CHECK(n >= 0);
			if (!n)
				break;
			for (ssize_t i = 0; i < n; i++)
				CHECK(buf[i] == (unsigned char)((got + i) * 31 >> 3));
			got += n;
		}
		CHECK(got == total);
		close(b[0]);
		for (int i = 0; i < 2; i++) {
			int status;

			CHECK(wait(&status) > 0 && status == 0);
		}
		t->n++;
		t->bytes += total;
	}
}

static volatile sig_atomic_t usr1, usr2;

static void count_signal(int sig)
{
	if (sig == SIGUSR1)
		usr1++;
	else
		usr2++;
}

/* Two processes hand SIGUSR1 and SIGUSR2 to and fro; each must arrive exactly once. */
static void signals(struct tally *t)
{
	struct sigaction sa = {.sa_handler = count_signal};
	sigset_t both, old;
	pid_t other, me = getpid();

	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	CHECK(sigprocmask(SIG_BLOCK, &both, &old) == 0);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	while (more()) {
		int rounds = 1 + rnd(200);

		usr1 = usr2 = 0;
		other = check_fork();
		if (other == 0) {
			for (int i = 1; i <= rounds; i++) {
				while (usr1 < i)
					sigsuspend(&old);
				CHECK(usr1 == i);
				kill(me, SIGUSR2);
			}
			_exit(0);
		}
		for (int i = 1; i <= rounds; i++) {
			CHECK(kill(other, SIGUSR1) == 0);
			if (rnd(16) == 0) {
				kill(other, SIGSTOP);
				kill(other, SIGCONT);
			}
			while (usr2 < i)
				sigsuspend(&old);
			CHECK(usr2 == i);
		}
		check_exit(other, 0);
		t->n += 2 * rounds;
	}
}

static int random_cpu(void)
{
	int cpu;

	do
		cpu = rnd(256);
	while (!CPU_ISSET(cpu, &all_cpus));
	return cpu;
}

/* Push a spinning child from CPU to CPU and hop about oneself. */
static void affinity(struct tally *t)
{
	pid_t pid = check_fork();

	if (pid == 0)
		for (;;)
			if (rnd(1000) == 0)
				sched_yield();
	while (more()) {
		cpu_set_t one;
		unsigned int cpu;
		int want = random_cpu();

		CPU_ZERO(&one);
		CPU_SET(want, &one);
		CHECK(sched_setaffinity(pid, sizeof(one), &one) == 0);
		CPU_ZERO(&one);
		want = random_cpu();
		CPU_SET(want, &one);
		CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
		CHECK(syscall(SYS_getcpu, &cpu, NULL, NULL) == 0 && (int)cpu == want);
		CHECK(sched_setaffinity(pid, sizeof(all_cpus), &all_cpus) == 0);
		t->n += 3;
		if (rnd(20) == 0)
			sleep_ms(1);
	}
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
}

/* A victim in one of many situations; never returns. */
static void victim(int what)
{
	int fd[2];
	char buf[512];

	switch (what) {
	case 0:
		for (;;)
			;
	case 1:
		CHECK(pipe(fd) == 0);
		CHECK(read(fd[0], buf, 1) == 1);
		break;
	case 2:
		for (;;)
			sleep_ms(1);
	case 3:
		for (;;) {
			char *p = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (p == MAP_FAILED)
				continue;
			for (int i = 0; i < 64; i++)
				p[i * PAGE] = 1;
			munmap(p, 64 * PAGE);
		}
	case 4:
		raise(SIGSTOP);
		for (;;)
			pause();
	case 5:
		CHECK(pipe(fd) == 0);
		for (;;)
			if (write(fd[1], buf, sizeof(buf)) < 0)
				_exit(1);
	case 6:
		for (;;) {
			pid_t pid = fork();

			if (pid == 0)
				_exit(0);
			if (pid > 0)
				waitpid(pid, NULL, 0);
		}
	default:
		for (;;)
			sched_yield();
	}
	_exit(1);
}

static void kills(struct tally *t)
{
	while (more()) {
		pid_t pid[6];
		int n = 1 + rnd(6), status;

		for (int i = 0; i < n; i++) {
			int what = rnd(8);

			pid[i] = check_fork();
			if (pid[i] == 0)
				victim(what);
		}
		if (rnd(2))
			sleep_ms(rnd(5));
		for (int i = 0; i < n; i++)
			CHECK(kill(pid[i], SIGKILL) == 0);
		for (int i = 0; i < n; i++) {
			CHECK(waitpid(pid[i], &status, 0) == pid[i]);
			CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		}
		t->n += n;
	}
}

static void maps(struct tally *t)
{
	while (more()) {
		int pages = 1 + rnd(200), mark = rnd(250), hole = rnd(pages);
		char *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED) {
			CHECK(errno == ENOMEM);
			sleep_ms(5);
			continue;
		}
		for (int i = 0; i < pages; i++) {
			CHECK(p[i * PAGE + 9] == 0);
			p[i * PAGE + 9] = mark + i % 5;
		}
		CHECK(munmap(p + hole * PAGE, PAGE) == 0);
		CHECK(mprotect(p, hole * PAGE, PROT_READ) == 0 || !hole);
		for (int i = 0; i < pages; i++)
			if (i != hole)
				CHECK((unsigned char)p[i * PAGE + 9] ==
				      (unsigned char)(mark + i % 5));
		CHECK(munmap(p, pages * PAGE) == 0);
		t->n++;
	}
}

/* Change class, priority and nice of oneself and of a busy child. */
static void classes(struct tally *t)
{
	pid_t pid = check_fork();

	if (pid == 0)
		for (;;)
			sleep_ms(rnd(3));
	while (more()) {
		struct sched_param none = {.sched_priority = 0};
		struct sched_param rt = {.sched_priority = 1 + rnd(20)};

		CHECK(setpriority(PRIO_PROCESS, pid, (int)rnd(40) - 20) == 0);
		CHECK(setpriority(PRIO_PROCESS, 0, (int)rnd(40) - 20) == 0);
		CHECK(syscall(SYS_sched_setscheduler, pid, rnd(2) ? SCHED_RR : SCHED_FIFO, &rt) ==
		      0);
		CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_RR, &rt) == 0);
		CHECK(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &none) == 0);
		CHECK(syscall(SYS_sched_setscheduler, pid, SCHED_OTHER, &none) == 0);
		t->n += 6;
		if (rnd(10) == 0)
			sleep_ms(1);
	}
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long guarded, plain_a, plain_b;

static void *count_up(void *arg)
{
	for (long i = 0; i < (long)arg; i++) {
		pthread_mutex_lock(&lock);
		guarded++;
		CHECK(plain_a == plain_b);
		plain_a++;
		plain_b++;
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void threads(struct tally *t)
{
	while (more()) {
		pthread_t thread[5];
		long each = 1 + rnd(300), n = 1 + rnd(5);

		guarded = 0;
		for (long i = 0; i < n; i++) {
			errno = pthread_create(&thread[i], NULL, count_up, (void *)each);
			if (errno == ENOSYS && i == 0)
				return; /* no threads here: the tally says 0 */
			CHECK(errno == 0);
		}
		for (long i = 0; i < n; i++)
			CHECK(pthread_join(thread[i], NULL) == 0);
		CHECK(guarded == each * n);
		t->n += n;
	}
}

/* ---- running them ---- */

static const struct {
	const char *name;
	void (*run)(struct tally *t);
	int workers;
} work[KINDS] = {
	[FORKS] = {"forks", forks, 2},
	[EXECS] = {"execs", execs, 2},
	[PIPES] = {"pipes", pipes, 3},
	[SIGNALS] = {"signals", signals, 2},
	[AFFINITY] = {"affinity", affinity, 2},
	[KILLS] = {"kills", kills, 2},
	[MAPS] = {"maps", maps, 2},
	[CLASSES] = {"classes", classes, 1},
	[THREADS] = {"threads", threads, 2},
};

static pid_t start_worker(int kind, int number)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct tally t = {.kind = kind};

		setpgid(0, 0);
		seed = kind * 1000 + number + now_ns();
		work[kind].run(&t);
		CHECK(write(tally_pipe[1], &t, sizeof(t)) == sizeof(t));
		_exit(0);
	}
	return pid;
}

/* Run every worker for a time. Returns the number that failed; sums go to total. */
static int run_all(int seconds, struct tally *total)
{
	pid_t pid[64];
	int kind_of[64], n = 0, left, bad = 0;
	struct tally t;

	end_ns = now_ns() + seconds * 1000000000LL;
	for (int k = 0; k < KINDS; k++)
		for (int i = 0; i < work[k].workers; i++) {
			kind_of[n] = k;
			pid[n] = start_worker(k, i);
			if (pid[n] < 0) {
				printf("# cannot start a worker: %s\n", strerror(errno));
				bad++;
				continue;
			}
			n++;
		}
	left = n;
	while (left) {
		for (int i = 0; i < n; i++) {
			int status;

			if (!pid[i] || waitpid(pid[i], &status, WNOHANG) != pid[i])
				continue;
			if (status) {
				printf("# %s worker ended with status %x\n", work[kind_of[i]].name,
				       status);
				bad++;
			}
			kill(-pid[i], SIGKILL); /* what a failed one left behind */
			pid[i] = 0;
			left--;
		}
		if (left && now_ns() > end_ns + GRACE_S * 1000000000LL) {
			for (int i = 0; i < n; i++)
				if (pid[i]) {
					printf("# %s worker hangs\n", work[kind_of[i]].name);
					kill(-pid[i], SIGKILL);
					bad++;
				}
			break;
		}
		sleep_ms(20);
	}
	while (read(tally_pipe[0], &t, sizeof(t)) == sizeof(t)) {
		total[t.kind].n += t.n;
		total[t.kind].bytes += t.bytes;
	}
	return bad;
}

/* The number after a name in /proc/meminfo, -1 if it is not there. */
static long meminfo(const char *name)
{
	static char buf[8192];
	int fd = open("/proc/meminfo", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	char *p;

	close(fd);
	if (n <= 0)
		return -1;
	buf[n] = '\0';
	p = strstr(buf, name);
	return p ? atol(p + strlen(name)) : -1;
}

int main(int argc, char **argv)
{
	static struct tally warm[KINDS], total[KINDS];
	long free_before, free_after, objects_before, objects_after, leak_pages, leak_objects = 0;
	int seconds = argc > 1 ? atoi(argv[1]) : 10;
	int bad;
	ssize_t n;
	char text[400];

	if (argc == 3 && !strcmp(argv[1], "--exec-child"))
		return atoi(argv[2]);
	if (argc > 2 || seconds < 1) {
		fprintf(stderr,
			"usage: stress [SECONDS]\n\nForks, execs, pipes, signals, affinity "
			"changes, kills, mappings, class changes and\nthreads at once, all "
			"checked (default 10 s, after %d s of warm-up).\n",
			WARM_UP_S);
		return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
	}
	snprintf(self_path, sizeof(self_path), "%s%s", strchr(argv[0], '/') ? "" : "/bin/",
		 argv[0]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(pipe2(tap_pipe, O_NONBLOCK) == 0 && pipe2(tally_pipe, O_NONBLOCK) == 0);
	CPU_ZERO(&all_cpus);
	CHECK(sched_getaffinity(0, sizeof(all_cpus), &all_cpus) == 0);
	bad = run_all(WARM_UP_S, warm);
	sleep_ms(500);
	free_before = meminfo("MemFree:");
	objects_before = meminfo("Jiffies_objects:");
	bad += run_all(seconds, total);
	/* The last dying processes and init's reaping of orphans take a moment. */
	for (int i = 0; i < 20; i++) {
		sleep_ms(100);
		free_after = meminfo("MemFree:");
		objects_after = meminfo("Jiffies_objects:");
		if (free_after >= free_before && objects_after <= objects_before)
			break;
	}
	while ((n = read(tap_pipe[0], text, sizeof(text) - 1)) > 0) {
		text[n] = '\0';
		printf("# %s\n", text);
		bad += !bad;
	}
	leak_pages = (free_before - free_after) / (PAGE / 1024);
	if (objects_before >= 0)
		leak_objects = objects_after - objects_before;
	printf("RESULT stress elapsed_s=%d forks=%ld execs=%ld pipe_streams=%ld pipe_bytes=%ld "
	       "signals=%ld affinity_changes=%ld kills=%ld maps=%ld class_changes=%ld threads=%ld "
	       "errors=%d leak_pages=%ld leak_objects=%ld\n",
	       seconds, total[FORKS].n, total[EXECS].n, total[PIPES].n, total[PIPES].bytes,
	       total[SIGNALS].n, total[AFFINITY].n, total[KILLS].n, total[MAPS].n, total[CLASSES].n,
	       total[THREADS].n, bad, leak_pages, leak_objects);
	for (int k = 0; k < KINDS; k++)
		if (!total[k].n && !(k == THREADS && !bad)) {
			printf("# %s: nothing was done\n", work[k].name);
			bad++;
		}
	if (on_jiffies() && (leak_pages > LEAK_PAGES_OK || leak_objects > 0)) {
		printf("# memory was lost\n");
		bad++;
	}
	printf("%sok 1 - stress\n1..1\n", bad ? "not " : "");
	return bad != 0;
}

// SPDX-License-Identifier: MIT
/*
 * The small library behind wl.h.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "wl.h"

static const char *program = "workload";

static void help(const struct wl_program *p)
{
	printf("usage: %s\n\n%s\n", p->usage, p->about);
	if (p->nopts)
		printf("\n");
	for (int i = 0; i < p->nopts; i++) {
		static const char *const arg[] = {"", " N", " X", " NAME"};
		char left[40];

		snprintf(left, sizeof(left), "%s%s%s", p->opts[i].name[1] ? "--" : "-",
			 p->opts[i].name, arg[p->opts[i].kind]);
		printf("  %-20s %s\n", left, p->opts[i].help);
	}
	printf("  %-20s %s\n", "--help", "this text");
}

static void bad_usage(const struct wl_program *p, const char *what, const char *which)
{
	fprintf(stderr, "%s: %s '%s'\nusage: %s\n", program, what, which, p->usage);
	exit(2);
}

static void set_option(const struct wl_program *p, const struct wl_opt *o, const char *text)
{
	char *end;

	if (o->kind == WL_TEXT) {
		*(const char **)o->value = text;
		return;
	}
	if (o->kind == WL_INT)
		*(long *)o->value = strtol(text, &end, 10);
	else
		*(double *)o->value = strtod(text, &end);
	if (end == text || *end)
		bad_usage(p, "not a number:", text);
}

static const struct wl_opt *find_option(const struct wl_program *p, const char *name, size_t len)
{
	for (int i = 0; i < p->nopts; i++)
		if (strlen(p->opts[i].name) == len && !strncmp(p->opts[i].name, name, len))
			return &p->opts[i];
	return NULL;
}

/* "--" and more, or "-" and a letter: not a negative number. */
static bool is_option(const char *arg)
{
	return arg[0] == '-' && (arg[1] == '-' || (arg[1] >= 'a' && arg[1] <= 'z') ||
				 (arg[1] >= 'A' && arg[1] <= 'Z'));
}

int wl_options(const struct wl_program *p, int argc, char **argv)
{
	int i;

	program = argv[0];
	for (i = 1; i < argc && is_option(argv[i]); i++) {
		bool dashes = argv[i][1] == '-';
		const char *name = argv[i] + 1 + dashes;
		size_t len = strcspn(name, "=");
		const struct wl_opt *o = dashes == (len > 1) ? find_option(p, name, len) : NULL;

		if (!*name) {
			i++;
			break;
		}
		if (dashes && !strcmp(name, "help")) {
			help(p);
			exit(0);
		}
		if (!o)
			bad_usage(p, "unknown option", argv[i]);
		if (o->kind == WL_FLAG) {
			if (name[len])
				bad_usage(p, "no value belongs to", argv[i]);
			*(bool *)o->value = true;
		} else if (name[len]) {
			set_option(p, o, name + len + 1);
		} else if (i + 1 < argc) {
			set_option(p, o, argv[++i]);
		} else {
			bad_usage(p, "a value is missing after", argv[i]);
		}
	}
	if (argc - i < p->min_args || argc - i > p->max_args) {
		fprintf(stderr, "%s: wrong number of arguments\nusage: %s\n", program, p->usage);
		exit(2);
	}
	return i;
}

void wl_bad(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fprintf(stderr, "%s: ", program);
	vfprintf(stderr, format, ap);
	fprintf(stderr, "\n");
	va_end(ap);
	exit(2);
}

void wl_at_least(const char *name, double value, double least)
{
	if (!(value >= least))
		wl_bad("%s must be at least %g, not %g", name, least, value);
}

double wl_number(const char *text, const char *what)
{
	char *end;
	double x = strtod(text, &end);

	if (end == text || *end || !(x > 0)) {
		fprintf(stderr, "%s: %s must be a positive number, not '%s'\n", program, what,
			text);
		exit(2);
	}
	return x;
}

void wl_result(const char *name, const char *format, ...)
{
	char line[1024];
	va_list ap;
	int n;

	n = snprintf(line, sizeof(line), "RESULT %s ", name);
	va_start(ap, format);
	n += vsnprintf(line + n, sizeof(line) - n, format, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	/* One write: lines of programs that run at once do not mix. */
	fflush(stdout);
	wl_write_all(1, line, n);
}

void wl_die(const char *what)
{
	fprintf(stderr, "%s: %s: %s\n", program, what, strerror(errno));
	exit(1);
}

static int64_t read_clock(clockid_t id, const char *name)
{
	struct timespec ts;

	if (clock_gettime(id, &ts) < 0)
		wl_die(name);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

int64_t wl_now(void)
{
	return read_clock(CLOCK_MONOTONIC, "CLOCK_MONOTONIC");
}

int64_t wl_cpu_time(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID, "CLOCK_THREAD_CPUTIME_ID");
}

void wl_sleep_until(int64_t when)
{
	struct timespec ts = {.tv_sec = when / 1000000000, .tv_nsec = when % 1000000000};
	int error;

	do
		error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	while (error == EINTR);
	if (error) {
		errno = error;
		wl_die("clock_nanosleep");
	}
}

void wl_sleep(int64_t ns)
{
	wl_sleep_until(wl_now() + ns);
}

void wl_spin(void)
{
	for (unsigned int i = 0; i < 5000; i++)
		__asm__ volatile("" : "+r"(i));
}

void wl_burn(int64_t ns)
{
	int64_t end = wl_cpu_time() + ns;

	while (wl_cpu_time() < end)
		for (unsigned int i = 0; i < 500; i++)
			__asm__ volatile("" : "+r"(i));
}

unsigned int wl_random(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16 & 0x7fff;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

void wl_sort(int64_t *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare);
}

int64_t wl_percentile(const int64_t *v, size_t n, double percent)
{
	size_t i = n * percent / 100;

	if (!n)
		return 0;
	return v[i < n ? i : n - 1];
}

long wl_switches(void)
{
	struct rusage self, dead;

	if (getrusage(RUSAGE_SELF, &self) < 0 || getrusage(RUSAGE_CHILDREN, &dead) < 0)
		wl_die("getrusage");
	return self.ru_nvcsw + self.ru_nivcsw + dead.ru_nvcsw + dead.ru_nivcsw;
}

pid_t wl_fork(void)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		wl_die("fork");
	return pid;
}

int wl_reap(void)
{
	int status, bad = 0;

	for (;;) {
		if (wait(&status) > 0)
			bad += status != 0;
		else if (errno != EINTR)
			return bad;
	}
}

int64_t wl_end(pid_t pid)
{
	struct rusage use;
	pid_t got;

	kill(pid, SIGKILL);
	do
		got = wait4(pid, NULL, 0, &use);
	while (got < 0 && errno == EINTR);
	if (got != pid)
		wl_die("wait4");
	return (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1000000000LL +
	       (use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1000LL;
}

void *wl_shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		wl_die("shared memory");
	return p;
}

long long wl_proc_stat(pid_t pid, int n)
{
	char path[40], text[1024];
	const char *at;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[got > 0 ? got : 0] = 0;
	at = strrchr(text, ')'); /* the name in field 2 may contain anything */
	for (int field = 2; at && field < n; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoll(at + 1, NULL, 10) : 0;
}

int wl_cpus(int list[WL_MAX_CPUS])
{
	cpu_set_t set;
	int n = 0;

	CPU_ZERO(&set);
	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		wl_die("sched_getaffinity");
	for (int c = 0; c < WL_MAX_CPUS; c++)
		if (CPU_ISSET(c, &set)) {
			if (list)
				list[n] = c;
			n++;
		}
	return n;
}

int wl_pin(pid_t pid, int cpu)
{
	return wl_unpin(pid, &cpu, 1);
}

int wl_unpin(pid_t pid, const int *list, int n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = 0; i < n; i++)
		CPU_SET(list[i], &set);
	return sched_setaffinity(pid, sizeof(set), &set);
}

int wl_cpu(void)
{
	unsigned int cpu;

	if (syscall(SYS_getcpu, &cpu, NULL, NULL) < 0)
		wl_die("getcpu");
	return cpu;
}

size_t wl_read_all(int fd, void *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = read(fd, (char *)buf + done, n - done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			wl_die("read");
		if (got == 0)
			break;
		done += got;
	}
	return done;
}

void wl_write_all(int fd, const void *buf, size_t n)
{
	size_t done = 0;

	while (done < n) {
		ssize_t put = write(fd, (const char *)buf + done, n - done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			wl_die("write");
		done += put;
	}
}

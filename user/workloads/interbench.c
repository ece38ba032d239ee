// SPDX-License-Identifier: MIT
/*
 * interbench - interactive tasks of known needs measured against background loads, by the
 * definitions of Con Kolivas' benchmark of that name (0.31).
 *
 * Each task is measured beside each load for 30 s, the load having run for a second. A wake-up is
 * delivered by a SCHED_FIFO timekeeper thread, which also says how late the timer itself was; that
 * is taken off, so what remains is the scheduler's. For a deadline D and period P: when the task
 * runs after D + P, all the periods passed are missed and their length is added to the latency;
 * otherwise it burns its share, and the deadline D + P is met or missed.
 *
 *	% Desired CPU = achieved burns / (achieved + missed burns)
 *	% Deadlines met = met / (met + missed)
 *
 * The loads write and read of the original need a disc. Here a process stands in for it: it takes,
 * or brings, a block of 64 KiB each millisecond through a pipe of the same size. So the load copies
 * and then waits for the disc, as the original's does once the cache is full; it runs as fast as the
 * disc, not as the CPU. "compile" is burn, write and read together, and a process that forks and
 * executes all the time.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/crowd.h"
#include "lib/tokens.h"
#include "lib/wl.h"

#define MS	   1000000LL
#define SETTLE_NS  (1000 * MS) /* a load runs for so long before the measuring begins */
#define GAME_NS	   (100 * MS)  /* a job of the game */
#define X_NS	   (100 * MS)  /* interval of X */
#define BLOCK	   65536       /* of the disc; what a pipe holds */
#define DISC_NS	   (1 * MS)    /* it takes for one */
#define RING_PROCS 4
#define COPY	   (16 << 20)

struct tally {
	double sum, square; /* of the latencies, ms */
	long samples;
	double max;
	long achieved, missed_burns, met, missed;
	int64_t cpu, wall; /* gaming: used and passed */
	bool realtime;	   /* the timekeeper could be SCHED_FIFO */
};

static double run_s = 30;
static long burners;

/* ---- the timekeeper ---- */

struct timekeeper {
	sem_t asked, due;
	int64_t when;	   /* asked for */
	int64_t oversleep; /* what the timer added */
	bool realtime;
};

static void *keep_time(void *arg)
{
	struct timekeeper *k = arg;
	struct sched_param param = {.sched_priority = 99};

	/* musl's wrapper answers ENOSYS. */
	k->realtime = syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param) == 0;
	sem_post(&k->due);
	for (;;) {
		while (sem_wait(&k->asked) < 0)
			;
		wl_sleep_until(k->when);
		k->oversleep = wl_now() - k->when;
		sem_post(&k->due);
	}
	return NULL;
}

static void wait_until(struct timekeeper *k, int64_t when)
{
	k->oversleep = 0;
	if (when <= wl_now())
		return;
	k->when = when;
	sem_post(&k->asked);
	while (sem_wait(&k->due) < 0)
		;
}

static struct timekeeper *start_timekeeper(void)
{
	struct timekeeper *k = calloc(1, sizeof(*k));
	pthread_t thread;

	if (!k || sem_init(&k->asked, 0, 0) < 0 || sem_init(&k->due, 0, 0) < 0)
		wl_die("timekeeper");
	errno = pthread_create(&thread, NULL, keep_time, k);
	if (errno)
		wl_die("pthread_create");
	while (sem_wait(&k->due) < 0)
		;
	return k;
}

/* ---- the tasks ---- */

static void note(struct tally *t, int64_t latency)
{
	double ms = latency / 1e6;

	t->sum += ms;
	t->square += ms * ms;
	t->samples++;
	t->max = ms > t->max ? ms : t->max;
}

/* One period: woken for the deadline @at, @run ns to burn until at + period. Returns the next. */
static int64_t one_period(struct timekeeper *k, struct tally *t, int64_t at, int64_t run,
			  int64_t period)
{
	int64_t now, late;

	wait_until(k, at);
	now = wl_now();
	late = now - at - k->oversleep;
	late = late > 0 ? late : 0;
	if (now > at + period) {
		int64_t n = (now - at) / period + 1;

		t->missed += n;
		t->missed_burns += n;
		note(t, late + n * period);
		return at + n * period;
	}
	wl_burn(run);
	t->achieved++;
	at += period;
	now = wl_now();
	if (now <= at) {
		t->met++;
	} else {
		int64_t n = (now - at) / period + 1;

		t->missed += n;
		t->missed_burns += n - 1;
		at += (n - 1) * period;
	}
	note(t, late);
	return at;
}

static void periodic(struct timekeeper *k, struct tally *t, int64_t end, int64_t run,
		     int64_t period)
{
	int64_t at = wl_now();

	while (at < end)
		at = one_period(k, t, at, run, period);
}

static void audio(struct timekeeper *k, struct tally *t, int64_t end)
{
	periodic(k, t, end, 2500000, 50 * MS);
}

static void video(struct timekeeper *k, struct tally *t, int64_t end)
{
	periodic(k, t, end, 6666000, 16666000);
}

/* A ramp from 0 to 100 % of an interval, in steps of one per cent. */
static void x_server(struct timekeeper *k, struct tally *t, int64_t end)
{
	int64_t at = wl_now();

	while (at < end)
		for (int i = 0; i < 100 && at < end; i++)
			at = one_period(k, t, at, i * MS, X_NS);
}

/* All the CPU it can get; the overrun of each job is the latency. */
static void gaming(struct timekeeper *k, struct tally *t, int64_t end)
{
	int64_t now = wl_now();

	(void)k;
	while (now < end) {
		int64_t start = now, cpu = wl_cpu_time();

		wl_burn(GAME_NS);
		now = wl_now();
		note(t, now - start > GAME_NS ? now - start - GAME_NS : 0);
		t->cpu += wl_cpu_time() - cpu;
		t->wall += now - start;
	}
}

struct task {
	const char *name, *title;
	void (*run)(struct timekeeper *k, struct tally *t, int64_t end);
};

static const struct task tasks[] = {
	{"audio", "Audio", audio},
	{"video", "Video", video},
	{"x", "X", x_server},
	{"gaming", "Gaming", gaming},
};

/* ---- the loads; each ends when it is killed ---- */

static void as_load(void (*run)(struct timekeeper *, struct tally *, int64_t))
{
	struct tally unused = {0};

	run(start_timekeeper(), &unused, INT64_MAX);
}

static void load_video(void)
{
	as_load(video);
}

static void load_x(void)
{
	as_load(x_server);
}

static void load_burn(void)
{
	struct wl_hog h = {.start = 0};

	for (long i = 1; i < burners; i++)
		if (wl_fork() == 0)
			break;
	wl_hog(INT64_MAX, NULL, &h);
}

static void load_ring(void)
{
	struct token_ring r = {.procs = RING_PROCS, .tokens = 1, .step = 1};

	tokens_start(&r);
	for (;;)
		pause();
}

static void load_memload(void)
{
	char *a = malloc(COPY), *b = malloc(COPY);

	if (!a || !b)
		wl_die("memory");
	memset(a, 1, COPY);
	for (;;) {
		memcpy(b, a, COPY);
		__asm__ volatile("" : : "r"(a), "r"(b) : "memory");
	}
}

/* One side of the disc's pipe: blocks without end, the disc one each DISC_NS, its user as fast as that. */
static void blocks(int fd, bool writes, bool disc)
{
	static char block[BLOCK];

	for (int64_t due = wl_now();; due += DISC_NS) {
		if (disc) {
			wl_sleep_until(due);
			/* A disc that did not get to run in time does not make up for it. */
			due = wl_now() > due + DISC_NS ? wl_now() : due;
		}
		if (writes)
			wl_write_all(fd, block, BLOCK);
		else
			wl_read_all(fd, block, BLOCK);
	}
}

static void disc_user(bool writes)
{
	int fd[2];

	if (pipe(fd) < 0)
		wl_die("pipe");
	if (wl_fork() == 0)
		blocks(fd[writes ? 0 : 1], !writes, true);
	blocks(fd[writes ? 1 : 0], writes, false);
}

static void load_write(void)
{
	disc_user(true);
}

static void load_read(void)
{
	disc_user(false);
}

static const char *self;

static void load_compile(void)
{
	if (wl_fork() == 0)
		load_burn();
	if (wl_fork() == 0)
		load_write();
	if (wl_fork() == 0)
		load_read();
	for (;;) {
		pid_t pid = wl_fork();

		if (pid == 0) {
			execlp(self, self, "--nothing", (char *)NULL);
			wl_die(self);
		}
		waitpid(pid, NULL, 0);
	}
}

static const struct {
	const char *name, *title;
	void (*run)(void);
} loads[] = {
	{"none", "None", NULL},
	{"video", "Video", load_video},
	{"x", "X", load_x},
	{"burn", "Burn", load_burn},
	{"write", "Write", load_write},
	{"read", "Read", load_read},
	{"ring", "Ring", load_ring},
	{"memload", "Memload", load_memload},
	{"compile", "Compile", load_compile},
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- measuring ---- */

static pid_t burden; /* the load's process group, 0 if there is none */

static void on_interrupt(int sig)
{
	if (burden)
		kill(-burden, SIGKILL);
	_exit(128 + sig);
}

/* A load is a process group of its own, so that all of it can be ended. */
static pid_t start_load(void (*run)(void))
{
	pid_t pid = wl_fork();

	if (pid == 0) {
		burden = 0;
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		setpgid(0, 0);
		run();
		_exit(0);
	}
	setpgid(pid, pid);
	return pid;
}

static void end_load(pid_t pid)
{
	kill(-pid, SIGKILL);
	wl_end(pid);
}

static void measure(const struct task *task, size_t load, struct tally *t)
{
	pid_t pid;

	burden = loads[load].run ? start_load(loads[load].run) : 0;
	wl_sleep(SETTLE_NS);
	memset(t, 0, sizeof(*t));
	pid = wl_fork();
	if (pid == 0) {
		struct timekeeper *k = start_timekeeper();

		burden = 0;
		t->realtime = k->realtime;
		task->run(k, t, wl_now() + (int64_t)(run_s * 1e9));
		_exit(0);
	}
	if (waitpid(pid, NULL, 0) != pid)
		wl_die("waitpid");
	if (burden)
		end_load(burden);
	burden = 0;
}

static void report(const struct task *task, size_t load, const struct tally *t)
{
	double mean = t->samples ? t->sum / t->samples : 0, variance, desired, met = -1;
	char deadlines[60] = "";

	variance = t->samples ? t->square / t->samples - mean * mean : 0;
	if (t->wall) {
		desired = 100.0 * t->cpu / t->wall;
	} else {
		desired = t->achieved + t->missed_burns
				  ? 100.0 * t->achieved / (t->achieved + t->missed_burns)
				  : 0;
		met = t->met + t->missed ? 100.0 * t->met / (t->met + t->missed) : 0;
	}
	printf("%-9s%7.3g +/- %-10.3g%8.3g%16.3g", loads[load].title, mean,
	       variance > 0 ? sqrt(variance) : 0, t->max, desired);
	if (met >= 0) {
		printf("%17.3g", met);
		snprintf(deadlines, sizeof(deadlines), " deadlines_met_pct=%.1f", met);
	}
	printf("\n");
	wl_result("interbench",
		  "task=%s load=%s seconds=%g samples=%ld latency_ms=%.3f sd_ms=%.3f max_ms=%.3f "
		  "desired_cpu_pct=%.1f%s timekeeper_fifo=%d",
		  task->name, loads[load].name, run_s, t->samples, mean,
		  variance > 0 ? sqrt(variance) : 0, t->max, desired, deadlines, t->realtime);
}

/* Is @name in the comma-separated @list? NULL: everything is. */
static bool listed(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (strcspn(at, ",") == len && !strncmp(at, name, len))
			return true;
	return !list;
}

static void check_list(const char *option, const char *list, bool of_tasks)
{
	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',') {
		int len = strcspn(at, ",");
		bool known = false;

		for (size_t i = 0; i < (of_tasks ? COUNT(tasks) : COUNT(loads)); i++) {
			const char *name = of_tasks ? tasks[i].name : loads[i].name;

			known |= (int)strlen(name) == len && !strncmp(at, name, len);
		}
		if (!known)
			wl_bad("%s: unknown '%.*s'", option, len, at);
	}
}

int main(int argc, char **argv)
{
	static const char *only_tasks, *only_loads;
	static bool nothing;
	static const struct wl_opt opts[] = {
		{"seconds", WL_REAL, &run_s, "seconds per measurement (default 30)"},
		{"tasks", WL_TEXT, &only_tasks, "of audio,video,x,gaming (default all)"},
		{"loads", WL_TEXT, &only_loads,
		 "of none,video,x,burn,write,read,ring,memload,compile (default all)"},
		{"L", WL_INT, &burners, "hogs in the loads burn and compile (default one per CPU)"},
		{"nothing", WL_FLAG, &nothing, "end at once (used by itself)"},
	};
	static const struct wl_program prog = {
		.usage = "interbench [OPTIONS]",
		.about =
			"Measures interactive tasks beside background loads: latency, how much of the CPU\n"
			"it wanted a task got, and how many deadlines it met. A table per task, and a\n"
			"RESULT line per measurement.",
		.opts = opts,
		.nopts = 5,
	};
	struct tally *t;

	self = argv[0];
	wl_options(&prog, argc, argv);
	if (nothing)
		return 0;
	wl_at_least("--seconds", run_s, 0.001);
	wl_at_least("-L", burners, 0);
	check_list("--tasks", only_tasks, true);
	check_list("--loads", only_loads, false);
	burners = burners ? burners : wl_cpus(NULL);
	signal(SIGINT, on_interrupt);
	signal(SIGTERM, on_interrupt);
	t = wl_shared(sizeof(*t));
	for (size_t i = 0; i < COUNT(tasks); i++) {
		if (!listed(only_tasks, tasks[i].name))
			continue;
		printf("--- Benchmarking simulated cpu of %s in the presence of simulated ---\n",
		       tasks[i].title);
		printf("Load    Latency +/- SD (ms)  Max Latency   %% Desired CPU%s\n",
		       tasks[i].run == gaming ? "" : "  % Deadlines Met");
		for (size_t j = 0; j < COUNT(loads); j++)
			if (listed(only_loads, loads[j].name) &&
			    strcmp(loads[j].name, tasks[i].name)) {
				measure(&tasks[i], j, t);
				report(&tasks[i], j, t);
			}
	}
	return 0;
}

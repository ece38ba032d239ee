// SPDX-License-Identifier: MIT
/*
 * top - who gets the CPUs, as the scheduler sees it: time by ticks and exactly, priority, the policy's figure of each task, what is left
 * of its slice. Refreshed in place; -b prints.
 *
 * %CPU is what ticks say (a tick bills whoever runs when it comes), %RUN what the clock says. Where the two differ, somebody is billed
 * for another.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/schedtext.h"
#include "lib/screen.h"
#include "lib/wl.h"

static bool batch, threads, sum_only, each_cpu;
static long frames;
static double delay = 2;

static const struct wl_opt options[] = {
	{"b", WL_FLAG, &batch, "batch: plain text, no terminal needed"},
	{"n", WL_INT, &frames, "end after so many frames"},
	{"d", WL_REAL, &delay, "seconds between two frames (2)"},
	{"H", WL_FLAG, &threads, "a line for each thread"},
	{"1", WL_FLAG, &each_cpu, "a line for each CPU even if there are many"},
};

static const struct wl_program program = {
	.usage = "top [OPTIONS]",
	.about =
		"PR       dynamic priority less 100, as the top of 2003 showed it: nice 0 is 20; negative is\n"
		"         real time\n"
		"P        CPU it runs or ran on         %CPU  by ticks that found it running\n"
		"%RUN     by the clock                  SLPAVG (or another name) the policy's own figure\n"
		"BON      levels better than nice says  TS    ticks left of its slice\n"
		"CSW      switches since the last frame\n"
		"Keys: q end, 1 CPUs, H threads, d delay, s next column to sort by, R P N sort by %RUN, %CPU,\n"
		"PID, r renice, k kill, space refresh.",
	.opts = options,
	.nopts = 5,
};

struct entry {
	int id, pid;
	char comm[32], state;
	long long nice, prio, cpu, class, bonus, slice, ticks, run, switches;
	double score_value;
	char score[16];
	double cpu_pct, run_pct; /* of the interval */
	long long csw;
};

struct cpu {
	long long busy, idle;
	double busy_pct;
	int current;
};

struct sample {
	int64_t when;
	struct entry *e;
	size_t n;
	struct cpu cpus[WL_MAX_CPUS];
	int ncpus, total, running, sleeping, stopped, zombies;
	bool cut; /* there are more tasks than the kernel's text holds */
};

/* ---- looking ---- */

static long long after(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

static void take_cpus(struct sample *s)
{
	char *all = st_read("/proc/sched"), *text = all, *line;

	while ((line = st_line(&text))) {
		struct cpu *c = &s->cpus[s->ncpus];

		if (strncmp(line, "cpu=", 4) || s->ncpus == WL_MAX_CPUS)
			continue;
		c->busy = after(line, "busy_ns=");
		c->idle = after(line, "idle_ns=");
		c->current = (int)after(line, "current=");
		s->ncpus++;
	}
	free(all);
}

static void take_task(struct entry *e, const struct st_task *t, const char *score)
{
	const char *f = t->figures, *state = strstr(f, " state ");

	memset(e, 0, sizeof(*e));
	e->id = t->id;
	e->pid = (int)st_get(f, "pid", t->id, NULL);
	e->state = state ? state[7] : '?';
	snprintf(e->comm, sizeof(e->comm), "%s", t->comm);
	e->nice = st_get(f, "nice", 0, NULL);
	e->prio = st_get(f, "prio", 0, NULL);
	e->cpu = st_get(f, "cpu", 0, NULL);
	e->class = st_get(f, "class", 0, NULL);
	e->bonus = st_get(f, "bonus", 0, NULL);
	e->slice = st_get(f, "slice", 0, NULL);
	e->ticks = st_get(f, "ticks", 0, NULL);
	e->run = st_get(f, "run_ns", 0, NULL);
	e->switches = st_get(f, "voluntary", 0, NULL) + st_get(f, "involuntary", 0, NULL);
	if (e->class)
		e->prio = 99 - st_get(f, "rt_priority", 0, NULL);
	snprintf(e->score, sizeof(e->score), "%s", st_score(f, score));
	e->score_value = strtod(e->score, NULL);
}

static int by_id(const void *a, const void *b)
{
	return ((const struct entry *)a)->id - ((const struct entry *)b)->id;
}

static int by_pid(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->pid != y->pid ? x->pid - y->pid : (x->id != x->pid) - (y->id != y->pid);
}

/* Of a process the first thread stands for its figures; times and switches are all threads'. Return: processes. */
static size_t merge_threads(struct entry *all, size_t threads_of_all)
{
	size_t n = 0;

	qsort(all, threads_of_all, sizeof(*all), by_pid);
	for (size_t i = 0; i < threads_of_all; i++) {
		struct entry *e = n ? &all[n - 1] : NULL;

		if (!e || e->pid != all[i].pid) {
			all[n] = all[i];
			all[n++].id = all[i].pid;
			continue;
		}
		e->cpu_pct += all[i].cpu_pct;
		e->run_pct += all[i].run_pct;
		e->csw += all[i].csw;
		if (all[i].state == 'R')
			e->state = 'R';
	}
	return n;
}

static void look(struct sample *s, const char *score)
{
	char *all, *text, *line;
	size_t room = 0;

	free(s->e);
	memset(s, 0, sizeof(*s));
	s->when = wl_now();
	take_cpus(s);
	all = text = st_read("/sys/sched/tasks");
	while ((line = st_line(&text))) {
		struct st_task t;

		if (!strncmp(line, "cut:", 4))
			s->cut = true;
		if (!st_task(line, &t))
			continue;
		if (s->n == room && !(s->e = realloc(s->e, (room = room * 2 + 64) * sizeof(*s->e))))
			wl_die("memory");
		take_task(&s->e[s->n], &t, score);
		switch (s->e[s->n++].state) {
		case 'R':
			s->running++;
			break;
		case 'T':
			s->stopped++;
			break;
		case 'Z':
			s->zombies++;
			break;
		default:
			s->sleeping++;
		}
	}
	s->total = (int)s->n;
	free(all);
	if (s->n)
		qsort(s->e, s->n, sizeof(*s->e), by_id);
}

/* What happened since @old. */
static void compare(struct sample *s, const struct sample *old, long hz)
{
	double ns = (double)(s->when - old->when);

	for (size_t i = 0; i < s->n; i++) {
		struct entry *e = &s->e[i], zero = {.id = e->id}, *was = NULL;

		if (old->n)
			was = bsearch(e, old->e, old->n, sizeof(*e), by_id);
		if (!was || was->run > e->run)
			was = &zero; /* new, or its number is used again */
		e->cpu_pct = 100e9 * (double)(e->ticks - was->ticks) / (double)hz / ns;
		e->run_pct = 100 * (double)(e->run - was->run) / ns;
		e->csw = e->switches - was->switches;
	}
	for (int i = 0; i < s->ncpus; i++) {
		double busy = (double)(s->cpus[i].busy - old->cpus[i].busy),
		       idle = (double)(s->cpus[i].idle - old->cpus[i].idle);

		s->cpus[i].busy_pct = busy + idle > 0 ? 100 * busy / (busy + idle) : 0;
	}
}

/* ---- sorting ---- */

static const char *const sort_names[] = {"%RUN", "%CPU", "PID", "PR", "SCORE", "CSW"};
enum { SORT_RUN, SORT_CPU, SORT_PID, SORT_PR, SORT_SCORE, SORT_CSW, SORTS };
static unsigned sort_by;

static double key(const struct entry *e)
{
	switch (sort_by) {
	case SORT_RUN:
		return e->run_pct;
	case SORT_CPU:
		return e->cpu_pct;
	case SORT_PR:
		return -(double)e->prio;
	case SORT_SCORE:
		return e->score_value;
	case SORT_CSW:
		return (double)e->csw;
	default:
		return -e->id;
	}
}

static int by_key(const void *a, const void *b)
{
	double x = key(a), y = key(b);

	return x > y ? -1 : x < y ? 1 : by_id(a, b);
}

/* ---- showing ---- */

static const char *comm_of(const struct sample *s, int id)
{
	struct entry wanted = {.id = id}, *e;

	e = s->n ? bsearch(&wanted, s->e, s->n, sizeof(wanted), by_id) : NULL;
	return e ? e->comm : "";
}

#define BAR 14

static void bar(const char *label, double busy, const char *comm)
{
	char cells[BAR + 1];
	int full = (int)(busy * BAR / 100 + 0.5);

	for (int i = 0; i < BAR; i++)
		cells[i] = i < full ? '|' : ' ';
	cells[BAR] = '\0';
	screen_line("%-6s: %5.1f us,  0.0 sy,  0.0 ni, %5.1f id,  0.0 wa [%s] %.8s", label, busy,
		    100 - busy, cells, comm);
}

static void show_cpus(const struct sample *s)
{
	int rows = screen_rows() > 1000 ? WL_MAX_CPUS : screen_rows() - 12;
	double sum = 0;

	for (int i = 0; i < s->ncpus; i++)
		sum += s->cpus[i].busy_pct / s->ncpus;
	if (sum_only || (s->ncpus > 8 && !each_cpu && !batch)) {
		bar("Cpu(s)", sum, "");
		return;
	}
	for (int i = 0; i < s->ncpus && i < rows; i++) {
		char label[16];

		snprintf(label, sizeof(label), "Cpu%d", i);
		bar(label, s->cpus[i].busy_pct, comm_of(s, s->cpus[i].current));
	}
}

/* "sleep_avg" is SLPAVG as in 2003, others are their own name. */
static const char *score_head(const char *score)
{
	static char head[9];

	if (!strcmp(score, "sleep_avg"))
		return "SLPAVG";
	snprintf(head, sizeof(head), "%.8s", *score ? score : "SCORE");
	for (char *c = head; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c -= 'a' - 'A';
	return head;
}

static void show_head(const struct sample *s, const char *hz)
{
	char *up = st_read("/proc/uptime"), *load = st_read("/proc/loadavg"), since[32];
	long seconds = strtol(up, NULL, 10), minutes = seconds / 60;
	double l[3] = {0};
	time_t now = time(NULL);
	struct tm tm = {0};

	gmtime_r(&now, &tm);
	sscanf(load, "%lf %lf %lf", &l[0], &l[1], &l[2]);
	if (minutes < 60)
		snprintf(since, sizeof(since), "%ld min", minutes);
	else
		snprintf(since, sizeof(since), "%ld:%02ld", minutes / 60, minutes % 60);
	screen_line("top - %02d:%02d:%02d up %s, load average: %.2f, %.2f, %.2f  policy %s, HZ %s",
		    tm.tm_hour, tm.tm_min, tm.tm_sec, since, l[0], l[1], l[2], st_info("policy"),
		    hz);
	screen_line("Tasks: %d total%s, %d running, %d sleeping, %d stopped, %d zombie", s->total,
		    s->cut ? " and more" : "", s->running, s->sleeping, s->stopped, s->zombies);
	show_cpus(s);
	free(up);
	free(load);
}

static void show(const struct sample *s, const char *score, const char *hz, const char *message)
{
	size_t n = s->n;
	struct entry *lines =
		malloc((n + 1) * sizeof(*lines)); /* the sample itself is compared with the next */

	if (!lines)
		wl_die("memory");
	if (n)
		memcpy(lines, s->e, n * sizeof(*lines));
	show_head(s, hz);
	screen_line("%s", message);
	if (!threads)
		n = merge_threads(lines, n);
	qsort(lines, n, sizeof(*lines), by_key);
	screen_head("%5s %4s %3s S %2s %5s %5s %8s %3s %4s %5s %s", threads ? "TID" : "PID", "PR",
		    "NI", "P", "%CPU", "%RUN", score_head(score), "BON", "TS", "CSW", "COMMAND");
	for (size_t i = 0; i < n; i++) {
		const struct entry *e = &lines[i];

		screen_line("%5d %4lld %3lld %c %2lld %5.1f %5.1f %8s %3lld %4lld %5lld %s", e->id,
			    e->prio - 100, e->nice, e->state, e->cpu, e->cpu_pct, e->run_pct,
			    e->score, e->bonus, e->slice, e->csw, e->comm);
	}
	screen_show();
	free(lines);
}

/* ---- keys ---- */

static void ask_renice(char *message, size_t size)
{
	char pid[16], nice[16];

	if (!screen_ask("PID to renice:", pid, sizeof(pid)) ||
	    !screen_ask("to nice value:", nice, sizeof(nice)))
		return;
	if (setpriority(PRIO_PROCESS, (id_t)atoi(pid), atoi(nice)))
		snprintf(message, size, "renice %s: %s", pid, strerror(errno));
}

static void ask_kill(char *message, size_t size)
{
	char pid[16], sig[16] = "15";

	if (!screen_ask("PID to kill:", pid, sizeof(pid)))
		return;
	if (!screen_ask("with signal [15]:", sig, sizeof(sig)))
		snprintf(sig, sizeof(sig), "15");
	if (atoi(pid) <= 0 || kill(atoi(pid), atoi(sig)))
		snprintf(message, size, "kill %s: %s", pid,
			 atoi(pid) <= 0 ? "not a PID" : strerror(errno));
}

static void ask_delay(char *message, size_t size)
{
	char text[16];
	double d;

	if (!screen_ask("seconds between two frames:", text, sizeof(text)))
		return;
	d = strtod(text, NULL);
	if (d >= 0.05)
		delay = d;
	else
		snprintf(message, size, "not a delay: %s", text);
}

/* Act on key @k. Return: whether to go on. */
static bool act(int k, char *message, size_t size)
{
	message[0] = '\0';
	switch (k) {
	case 'q':
	case KEY_END_OF_INPUT:
		return false;
	case '1':
		sum_only = !sum_only;
		each_cpu = !sum_only;
		break;
	case 'H':
		threads = !threads;
		break;
	case 's':
		sort_by = (sort_by + 1) % SORTS;
		snprintf(message, size, "sorted by %s", sort_names[sort_by]);
		break;
	case 'R':
		sort_by = SORT_RUN;
		break;
	case 'P':
		sort_by = SORT_CPU;
		break;
	case 'N':
		sort_by = SORT_PID;
		break;
	case 'd':
		ask_delay(message, size);
		break;
	case 'r':
		ask_renice(message, size);
		break;
	case 'k':
		ask_kill(message, size);
		break;
	case 'h':
	case '?':
		snprintf(message, size,
			 "q end  1 CPUs  H threads  d delay  s R P N sort  r renice  k kill");
		break;
	}
	return true;
}

int main(int argc, char **argv)
{
	static struct sample samples[2];
	char message[80] = "", score[64], hz[16];
	unsigned now = 0;

	wl_options(&program, argc, argv);
	wl_at_least("-d", delay, 0.05);
	wl_at_least("-n", (double)frames, 0);
	if (!batch)
		screen_begin();
	snprintf(score, sizeof(score), "%s", st_info("score"));
	look(&samples[now], score);
	for (long i = 0; !frames || i < frames; i++) {
		double wait = i || batch ? delay : delay < 0.3 ? delay : 0.3;
		int64_t until = wl_now() + (int64_t)(wait * 1e9);

		if (batch) {
			wl_sleep_until(until);
		} else {
			int k = screen_key((int)(wait * 1000));

			if (!act(k, message, sizeof(message)))
				break;
		}
		now ^= 1;
		/* The policy may have been changed. */
		snprintf(score, sizeof(score), "%s", st_info("score"));
		snprintf(hz, sizeof(hz), "%s", st_info("hz"));
		look(&samples[now], score);
		compare(&samples[now], &samples[now ^ 1], atol(hz));
		show(&samples[now], score, hz, message);
	}
	free(samples[0].e);
	free(samples[1].e);
	return 0;
}

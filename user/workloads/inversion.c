// SPDX-License-Identifier: MIT
/*
 * inversion - how long an urgent task waits for a lock that an unimportant one holds.
 *
 * Three tasks on one CPU. "low" takes a lock for a moment's work; "high" wants it; "mid", which has
 * nothing to do with the lock, has a lot of work and a priority between the two. Without
 * inheritance low does not run before mid is done: high waits as long as mid pleases, and with more of its kind for ever. With it
 * low runs with high's priority until it gives the lock back: high waits for what is left of low's moment, whatever mid does. It is
 * what stopped Mars Pathfinder in 1997.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/wl.h"

#define MS 1000000LL

struct scene {
	pthread_mutex_t lock;
	volatile int held, wanted;
	volatile int64_t waited; /* by high, ns */
};

static struct scene *s;
static bool nice_values;
static double hold = 5, mid = 100;

enum role { LOW, MID, HIGH, DIRECTOR };

/* By the call itself: musl's wrapper refuses. */
static int set_class(int class, int rt_priority)
{
	struct sched_param sp = {.sched_priority = rt_priority};

	return (int)syscall(SYS_sched_setscheduler, 0, class, &sp);
}

static const char *class = "fifo"; /* what be() could do; "none": the system allows us nothing */

static void be(enum role role)
{
	static const int nices[] = {19, 0, -15, -20}, fifo[] = {10, 20, 30, 40};

	if (!nice_values && set_class(SCHED_FIFO, fifo[role]) == 0)
		return;
	class = setpriority(PRIO_PROCESS, 0, nices[role]) ? "none" : "nice";
}

static void play(enum role role)
{
	int64_t start;

	be(role);
	switch (role) {
	case LOW:
		if (pthread_mutex_lock(&s->lock))
			_exit(1);
		s->held = 1;
		wl_burn((int64_t)(hold * MS));
		if (pthread_mutex_unlock(&s->lock))
			_exit(1);
		break;
	case MID:
		wl_burn((int64_t)(mid * MS));
		break;
	default:
		start = wl_now();
		s->wanted = 1;
		if (pthread_mutex_lock(&s->lock))
			_exit(1);
		s->waited = wl_now() - start;
		pthread_mutex_unlock(&s->lock);
	}
	_exit(0);
}

static void start(enum role role)
{
	if (wl_fork() == 0)
		play(role);
}

/* Return: how long high waited, ns; *@failed counts what went wrong. */
static int64_t scene(bool inherit, int *failed)
{
	pthread_mutexattr_t a;

	s->held = s->wanted = 0;
	s->waited = 0;
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	errno = pthread_mutexattr_setprotocol(&a,
					      inherit ? PTHREAD_PRIO_INHERIT : PTHREAD_PRIO_NONE);
	if (errno)
		wl_die("priority inheritance");
	pthread_mutex_init(&s->lock, &a);
	start(LOW);
	while (!s->held)
		wl_sleep(MS / 5);
	start(HIGH);
	while (!s->wanted)
		wl_sleep(MS / 5);
	start(MID);
	*failed += wl_reap();
	return s->waited;
}

int main(int argc, char **argv)
{
	static long rounds = 3;
	static const struct wl_opt opts[] = {
		{"hold", WL_REAL, &hold, "ms of work low does with the lock (default 5)"},
		{"mid", WL_REAL, &mid, "ms of work of mid (default 100)"},
		{"rounds", WL_INT, &rounds, "times (default 3)"},
		{"nice", WL_FLAG, &nice_values,
		 "nice values 19, 0 and -15 instead of SCHED_FIFO 10, 20 and 30"},
	};
	static const struct wl_program prog = {
		.usage = "inversion [OPTIONS]",
		.about =
			"An urgent task waits for a lock that an unimportant one holds, while a third works:\n"
			"the longest wait with a plain lock and with one that inherits priority.",
		.opts = opts,
		.nopts = 4,
	};
	int64_t longest[2] = {0, 0};
	int cpus[WL_MAX_CPUS], failed = 0;

	wl_options(&prog, argc, argv);
	wl_at_least("hold", hold, 0.1);
	wl_at_least("mid", mid, 0.1);
	wl_at_least("rounds", (double)rounds, 1);
	s = wl_shared(sizeof(*s));
	if (wl_cpus(cpus) < 1 || wl_pin(0, cpus[0]) < 0)
		wl_die("pin");
	be(DIRECTOR);
	for (long i = 0; i < rounds; i++)
		for (int inherit = 0; inherit < 2; inherit++) {
			int64_t ns = scene(inherit, &failed);

			if (ns > longest[inherit])
				longest[inherit] = ns;
		}
	wl_result("inversion",
		  "class=%s rounds=%ld hold_ms=%.1f mid_ms=%.1f plain_max_ms=%.2f pi_max_ms=%.2f "
		  "failed=%d",
		  class, rounds, hold, mid, (double)longest[0] / MS, (double)longest[1] / MS,
		  failed);
	return failed != 0;
}

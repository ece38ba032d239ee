/* SPDX-License-Identifier: MIT
 *
 * The simulated machine for scheduler tests: CPUs, tasks, time, interrupts, and a checker of everything that must hold
 * between two events.
 */
#ifndef HOST_SIM_H
#define HOST_SIM_H

#include "sched/internal.h"

#define SIM_MAX_TASKS 256

/* A simulated task. The test decides what it does; the machine only knows whether it runs. */
struct sim_task {
	struct task task; /* first: machine_task_dead() gets it */
	bool used, dead;
	u64 woken_at; /* virtual time of the last wake-up that succeeded */
	u32 on_cpus;  /* scratch of the checker */
};

extern struct sim_task sim_tasks[SIM_MAX_TASKS];
extern struct task sim_idle[MAX_CPUS];
extern u64 sim_now;	  /* virtual ns */
extern u64 sim_ipi_delay; /* ns from sending to delivery */
extern u64 sim_nr_ipis;
extern const char *sim_policy;	 /* the policy of the next sim_start(); NULL: the default */
extern unsigned sim_relaxes;	 /* turns of wait loops since last cleared */
extern unsigned sim_allocs_left; /* machine_alloc() fails after so many */
extern int sim_allocated;	 /* machine_alloc() less machine_free() */

/** sim_start() - a machine of @ncpus CPUs with sim_policy, all online and idle, at jiffies 1000. Frees the previous one. */
void sim_start(unsigned ncpus, unsigned hz);

/** sim_on() - act as CPU @cpu from now on. Return: its current task. */
struct task *sim_on(unsigned cpu);

/** sim_kthread() - a new task that nobody forked, not started. @cpu: pinned there, or -1. */
struct task *sim_kthread(int cpu);

/** sim_spawn() - sim_kthread() and start it. */
struct task *sim_spawn(int cpu);

/** sim_fork() - the current task of the current CPU forks; the child is started, and the parent gives way if @resched. */
struct task *sim_fork(bool resched);

/** sim_block() - the current task sleeps in @state. */
void sim_block(u32 state);

/** sim_exit() - the current task exits. Return: its dead task. */
struct task *sim_exit(void);

/** sim_irq_exit() - the end of an interrupt on the current CPU: reschedules as from kernel code, or from user code if @user. */
void sim_irq_exit(bool user);

/** sim_tick_cpu() - a tick interrupt on @cpu now. */
void sim_tick_cpu(unsigned cpu);

/** sim_idle_turn() - one turn of the idle loop of @cpu, if it idles; acts as @cpu afterwards. */
void sim_idle_turn(unsigned cpu);

/** sim_advance() - let @ns pass, with staggered ticks and IPIs delivered in order. CPUs act as running user code. */
void sim_advance(u64 ns);

/** sim_ticks() - advance by @n ticks. */
void sim_ticks(unsigned n);

/** sim_skip() - move the clock on by @n ticks without delivering any. */
void sim_skip(u64 n);

/** sim_deliver() - deliver all IPIs that are due, or all that are pending with @all. */
void sim_deliver(bool all);

/** sim_check() - verify every invariant; aborts with @where and what is wrong. */
void sim_check(const char *where);

/** sim_random() - Return: a random number below @below, or the next of the input while that lasts. */
u64 sim_random(u64 below);

/* Choices that come from a fuzzer's input instead. */
extern const u8 *sim_input;
extern size_t sim_input_left;
void sim_seed(u64 seed);

static inline struct runq *sim_rq(unsigned cpu)
{
	return machine_runq(cpu);
}

/* ------------------------------------------------------------- TAP */
extern unsigned tap_failed;
void tap_begin(const char *name);
void tap_end(void);
void tap_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int tap_plan(void);

#define CHECK(cond)                                                \
	do {                                                       \
		if (!(cond))                                       \
			tap_fail(__FILE__, __LINE__, "%s", #cond); \
	} while (0)
#define CHECK_EQ(a, b)                                                                             \
	do {                                                                                       \
		long long a_ = (long long)(a), b_ = (long long)(b);                                \
		if (a_ != b_)                                                                      \
			tap_fail(__FILE__, __LINE__, "%s is %lld, expected %lld (%s)", #a, a_, b_, \
				 #b);                                                              \
	} while (0)
#define TEST(fn)                \
	do {                    \
		tap_begin(#fn); \
		fn();           \
		tap_end();      \
	} while (0)

#endif

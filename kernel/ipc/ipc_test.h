/* SPDX-License-Identifier: MIT
 *
 * Small helpers of the self-tests of this directory: file calls on kernel buffers, waiting until a task sleeps.
 */
#ifndef IPC_IPC_TEST_H
#define IPC_IPC_TEST_H

#include "ipc/copy.h"
#include "ipc/file.h"
#include "selftest/selftest.h"

static inline s64 file_read(struct file *f, void *buf, size_t n)
{
	return f->ops->read(f, buf, n, &f->pos);
}

static inline s64 file_write(struct file *f, const void *buf, size_t n)
{
	return f->ops->write(f, buf, n, &f->pos);
}

static inline s64 file_ioctl(struct file *f, unsigned cmd, const void *arg)
{
	return f->ops->ioctl(f, cmd, (u64)arg);
}

/** test_until() - wait up to 5 s for @cond to become true. Return: whether it did. */
#define test_until(cond)                                          \
	({                                                        \
		u64 test_end_ = machine_now() + 5 * NSEC_PER_SEC; \
                                                                  \
		while (!(cond) && machine_now() < test_end_)      \
			selftest_sleep_ns(200 * NSEC_PER_USEC);   \
		!!(cond);                                         \
	})

/** test_asleep() - Return: whether @t sleeps for good by now (its state says so and it has left its run queue). */
static inline bool test_asleep(struct task *t)
{
	return (READ_ONCE(t->state) & TASK_NORMAL) && READ_ONCE(t->on_rq) == ON_RQ_NONE;
}

/** test_signal() - what a signal does to a sleep of @t; the task clears the flag itself. */
static inline void test_signal(struct task *t)
{
	t->signal_pending = 1;
	task_wake(t, TASK_INTERRUPTIBLE, 0);
}

/* How long a stress goes on at most: hand-overs between CPUs can take milliseconds each on a busy host. */
#define STRESS_NS (1500 * NSEC_PER_MSEC)

/** test_random() - next of a small generator whose state is @seed. */
static inline u32 test_random(u32 *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/** test_pin() - keep the current task on CPU @cpu, counted round and round; -1 lets it go. */
static inline void test_pin(int cpu)
{
	struct cpumask mask = {{0}};

	for (unsigned i = 0; i < cpus_online; i++)
		if (cpu < 0 || i == (unsigned)cpu % cpus_online)
			cpumask_set(&mask, i);
	EXPECT_EQ(sched_set_affinity(current_task(), &mask), 0);
}

/**
 * test_spin() - busy for a random time up to 256 us. That is about what waking a task on another CPU takes in an emulator: with it
 * the steps of two tasks that wait for each other can meet in all ways.
 */
static inline void test_spin(u32 *seed)
{
	u64 end = machine_now() + test_random(seed) % 262144;

	while (machine_now() < end)
		barrier();
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * Helpers of the memory self-tests (*_test.c).
 */
#ifndef MM_TEST_H
#define MM_TEST_H

#include "lib/string.h"
#include "mm/internal.h"
#include "sched/sched.h"
#include "selftest/selftest.h"
#include "task/thread.h"

/** test_free_pages() - pages free now, all caches emptied. */
static inline u64 test_free_pages(void)
{
	struct mem_stats st;

	mem_stats(&st);
	return st.free_pages;
}

/** test_objects() - objects handed out now. */
static inline u64 test_objects(void)
{
	struct mem_stats st;

	mem_stats(&st);
	return st.slab_objects;
}

/**
 * test_expect_free() - record a failure unless the free pages come back to @want within @slack pages. Tasks that have ended
 * are freed a moment later, hence the patience.
 */
static inline void test_expect_free(u64 want, u64 slack, const char *what)
{
	u64 now = 0;

	for (unsigned i = 0; i < 100; i++) {
		now = test_free_pages();
		if (now + slack >= want && now <= want + slack)
			return;
		selftest_sleep_ns(5 * NSEC_PER_MSEC);
	}
	selftest_note("%s: %llu pages free, %llu expected", what, (unsigned long long)now,
		      (unsigned long long)want);
	EXPECT(now + slack >= want);
	EXPECT(now <= want + slack);
}

/** test_pin() - keep the current task on @cpu. */
static inline void test_pin(unsigned cpu)
{
	struct cpumask mask = {0};

	cpumask_set(&mask, cpu);
	EXPECT_EQ(sched_set_affinity(current_task(), &mask), 0);
}

/** test_unpin() - the current task may run anywhere again. */
static inline void test_unpin(void)
{
	struct cpumask mask = {0};

	for (unsigned i = 0; i < cpus_present; i++)
		cpumask_set(&mask, i);
	sched_set_affinity(current_task(), &mask);
}

/** test_enter() - the current kernel task runs in @mm, so that it can touch user memory. */
static inline void test_enter(struct mm *mm)
{
	u64 flags = irq_save();

	current_thread()->mm = mm;
	mm_switch(mm);
	irq_restore(flags);
}

/** test_leave() - the current kernel task runs in no address space again; @lazy: the CPU keeps it loaded. */
static inline void test_leave(bool lazy)
{
	current_thread()->mm = NULL;
	if (!lazy)
		mm_leave();
}

/** struct test_crew - one task on each online CPU. */
struct test_crew {
	void (*fn)(struct test_crew *crew, unsigned cpu);
	struct mm *mm; /* they run in it, or NULL */
	volatile u32 stop;
	u32 ready;   /* atomic */
	u32 arrived; /* atomic, for the test */
	u64 shared;  /* for the test */
	void *data;
	struct task *tasks[MAX_CPUS];
	unsigned cpu_of[MAX_CPUS];
	struct test_crew *self[MAX_CPUS];
};

/** test_crew_init() - @crew of nobody yet. In place: as a compound literal it would pass through the stack. */
static inline void test_crew_init(struct test_crew *crew,
				  void (*fn)(struct test_crew *crew, unsigned cpu), struct mm *mm,
				  void *data)
{
	memset(crew, 0, sizeof(*crew));
	crew->fn = fn;
	crew->mm = mm;
	crew->data = data;
}

/** test_crew_start() - start @crew->fn on each online CPU in @from .. cpus_online-1. Return: tasks started. */
unsigned test_crew_start(struct test_crew *crew, unsigned from);
/** test_crew_join() - wait for all of them. */
void test_crew_join(struct test_crew *crew);

/**
 * test_go_on() - the loop condition of a stress: at least @least rounds, then up to @most while @deadline (ns) has not passed.
 * Virtual CPUs that wait for their host make a round last anything from microseconds to seconds.
 */
static inline bool test_go_on(unsigned round, unsigned least, unsigned most, u64 deadline)
{
	return round < least || (round < most && machine_now() < deadline);
}

/** test_random() - a small generator for tests: @state is any start value. */
static inline u32 test_random(u64 *state)
{
	*state = *state * 6364136223846793005ull + 1442695040888963407ull;
	return (u32)(*state >> 33);
}

#endif

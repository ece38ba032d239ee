/* SPDX-License-Identifier: MIT
 *
 * In-kernel self-tests. A test sits beside what it tests, in a *_test.c file:
 *
 *	SELFTEST(pipe_eof)
 *	{
 *		EXPECT_EQ(pipe_read(...), 0);
 *	}
 *
 * Tests run one after the other in a kernel task, with preemption enabled. `selftest=GLOB` on the kernel command line runs those whose
 * name matches and prints KTAP to the log.
 */
#ifndef SELFTEST_SELFTEST_H
#define SELFTEST_SELFTEST_H

#include "lib/types.h"

struct task;

struct selftest {
	const char *name;
	void (*fn)(void);
};

#define SELFTEST(test_name)                                                                      \
	static void selftest_##test_name(void);                                                  \
	static const struct selftest selftest_desc_##test_name __attribute__((                   \
		used, section(".selftests"), aligned(16))) = {#test_name, selftest_##test_name}; \
	static void selftest_##test_name(void)

/* Record a failure and go on; EXPECT returns the condition's truth so that a test can stop: if (!EXPECT(p)) return; */
#define EXPECT(cond)	selftest_expect(!!(cond), #cond, __FILE__, __LINE__)
#define EXPECT_EQ(a, b) selftest_expect_eq((s64)(a), (s64)(b), #a " == " #b, __FILE__, __LINE__)

bool selftest_expect(bool ok, const char *what, const char *file, int line);
bool selftest_expect_eq(s64 a, s64 b, const char *what, const char *file, int line);

/** selftest_skip() - mark the running test as skipped for @reason (e.g. needs 2 CPUs); the test then returns. */
void selftest_skip(const char *reason);

/** selftest_note() - a diagnostic line ("# ...") with figures. */
void selftest_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/** selftest_spawn() - start a kernel task that runs @fn(@arg) and ends. Return: NULL if out of memory. */
struct task *selftest_spawn(void (*fn)(void *), void *arg, const char *name);

/** selftest_join() - wait until @t ended and free it. A wait over 60 s is a failure (reported by name); Return: false then. */
bool selftest_join(struct task *t);

/** selftest_sleep_ns() - sleep. */
void selftest_sleep_ns(u64 ns);

/** selftest_run_all() - run the tests whose names match @glob. Return: number that failed, -1 if none matched. */
int selftest_run_all(const char *glob);

#endif

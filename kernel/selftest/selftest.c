/* SPDX-License-Identifier: MIT
 *
 * Runs the in-kernel self-tests and prints their results as KTAP lines to the kernel log. Tests run one after the other;
 * the tasks that a test starts may record failures from any CPU.
 */
#include "selftest/selftest.h"

#include "lib/string.h"
#include "log.h"
#include "sched/sched.h"
#include "task/thread.h"

#define MAX_REPORTS  20 /* lines a test may print about its failures */
#define JOIN_TIMEOUT (60 * NSEC_PER_SEC)

extern const struct selftest _selftests[], _eselftests[];

static u32 failures;		/* of the running test; atomic */
static const char *skip_reason; /* of the running test; its own task */

/* A failure at @file:@line. Return: whether it is still to be printed. */
static bool count_failure(void)
{
	u32 n = __atomic_add_fetch(&failures, 1, __ATOMIC_RELAXED);

	if (n == MAX_REPORTS + 1)
		klog("KTAP: # more failures are not printed");
	return n <= MAX_REPORTS;
}

bool selftest_expect(bool ok, const char *what, const char *file, int line)
{
	if (unlikely(!ok) && count_failure())
		klog("KTAP: # %s:%d: expected %s", file, line, what);
	return ok;
}

bool selftest_expect_eq(s64 a, s64 b, const char *what, const char *file, int line)
{
	if (unlikely(a != b) && count_failure())
		klog("KTAP: # %s:%d: expected %s, but %lld != %lld", file, line, what, (long long)a,
		     (long long)b);
	return a == b;
}

void selftest_skip(const char *reason)
{
	skip_reason = reason;
}

void selftest_note(const char *fmt, ...)
{
	char line[160];
	va_list ap;

	va_start(ap, fmt);
	kvsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	klog("KTAP: # %s", line);
}

struct task *selftest_spawn(void (*fn)(void *), void *arg, const char *name)
{
	return kthread_create(fn, arg, name);
}

bool selftest_join(struct task *t)
{
	char name[TASK_COMM_LEN];

	str_copy(name, t->comm, sizeof(name));
	if (kthread_join(t, JOIN_TIMEOUT))
		return true;
	if (count_failure())
		klog("KTAP: # task %s did not end within 60 s", name);
	return false;
}

void selftest_sleep_ns(u64 ns)
{
	sleep_ns(ns);
}

int selftest_run_all(const char *glob)
{
	unsigned total = 0, nr = 0;
	int failed = 0;

	for (const struct selftest *t = _selftests; t < _eselftests; t++)
		total += glob_match(glob, t->name);
	klog("KTAP: KTAP version 1");
	klog("KTAP: 1..%u", total);
	for (const struct selftest *t = _selftests; t < _eselftests; t++) {
		if (!glob_match(glob, t->name))
			continue;
		nr++;
		__atomic_store_n(&failures, 0, __ATOMIC_RELAXED);
		skip_reason = NULL;
		t->fn();
		if (__atomic_load_n(&failures, __ATOMIC_RELAXED)) {
			failed++;
			klog("KTAP: not ok %u %s", nr, t->name);
		} else if (skip_reason) {
			klog("KTAP: ok %u %s # SKIP %s", nr, t->name, skip_reason);
		} else {
			klog("KTAP: ok %u %s", nr, t->name);
		}
	}
	return total ? failed : -1;
}

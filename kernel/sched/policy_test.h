/* SPDX-License-Identifier: MIT
 *
 * Two policies for tests of the core: they differ from O(1) in everything that the core must be able to deal with.
 */
#ifndef SCHED_POLICY_TEST_H
#define SCHED_POLICY_TEST_H

#include "sched/policy.h"

extern const struct sched_policy
	policy_test_global; /* one queue for all CPUs, 100 Hz, idle CPUs keep their tick */
extern const struct sched_policy
	policy_test_local; /* a queue per CPU, 250 Hz, the running task is not in it */

#endif

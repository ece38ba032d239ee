/* SPDX-License-Identifier: MIT
 *
 * Runs the host tests of the scheduler and prints TAP: those of each policy, and the core's and the random walk with every policy.
 * `test_sched fuzz SEED ROUNDS [POLICY]` runs the random walk alone.
 */
#include <stdlib.h>
#include <string.h>

#include "tests.h"

/* Before anything sets them: what a policy starts with is what it says. */
static void tunables_start_at_their_defaults(void)
{
	for (unsigned i = 0; sched_policy_nth(i); i++)
		for (const struct tunable *t = sched_policy_nth(i)->tunables;
		     t < sched_policy_nth(i)->tunables + sched_policy_nth(i)->nr_tunables; t++)
			if (*t->value != t->def)
				tap_fail(__FILE__, __LINE__, "%s: %s is %lld, not %lld",
					 sched_policy_nth(i)->name, t->name, (long long)*t->value,
					 (long long)t->def);
}

int main(int argc, char **argv)
{
	bool fuzz_only = argc >= 4 && !strcmp(argv[1], "fuzz");
	u64 seed = fuzz_only ? strtoull(argv[2], NULL, 0) : 1;
	unsigned rounds = fuzz_only ? (unsigned)strtoul(argv[3], NULL, 0) : 64;

	if (!fuzz_only) {
		TEST(tunables_start_at_their_defaults);
		o1_tests();
		nobonus_tests();
		j2_tests();
		a3_tests();
		int_tests();
		nick_tests();
		family_tests();
		goodness_tests();
		bound_tests();
	}
	for (unsigned i = 0; sched_policy_nth(i); i++) {
		sim_policy = sched_policy_nth(i)->name;
		if (fuzz_only && argc > 4 && strcmp(argv[4], sim_policy))
			continue;
		/* Of queues per CPU. */
		if (!fuzz_only && !sched_policy_nth(i)->global_queue)
			core_tests();
		if (!fuzz_only)
			show_tests();
		fuzz_tests(seed, rounds);
	}
	if (!fuzz_only) {
		sim_policy = NULL;
		switch_tests();
		trace_tests();
	}
	return tap_plan();
}

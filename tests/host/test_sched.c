/* SPDX-License-Identifier: MIT
 *
 * Runs the host tests of the scheduler and prints TAP. `test_sched fuzz SEED ROUNDS` runs the random walk alone.
 */
#include <stdlib.h>
#include <string.h>

#include "tests.h"

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "fuzz")) {
		fuzz_tests(strtoull(argv[2], NULL, 0), (unsigned)strtoul(argv[3], NULL, 0));
		return tap_plan();
	}
	o1_tests();
	core_tests();
	fuzz_tests(1, 64);
	return tap_plan();
}

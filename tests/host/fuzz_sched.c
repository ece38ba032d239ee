/* SPDX-License-Identifier: MIT
 *
 * Coverage-guided fuzzing of the scheduler (make fuzz-sched): libFuzzer's bytes are the choices of fuzz.c's walk, so that it
 * finds sequences of events that reach new code, and can shorten one that fails.
 */
#include "tests.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	fuzz_bytes(data, size);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * The groups of host tests of the scheduler; test_sched.c runs them in order.
 */
#ifndef HOST_TESTS_H
#define HOST_TESTS_H

#include "sim.h"

void o1_tests(void);
void nobonus_tests(void);
void j2_tests(void);
void a3_tests(void);
void int_tests(void);
void nick_tests(void);
void family_tests(void);
void bound_tests(void);
void core_tests(void);
void switch_tests(void);
void trace_tests(void);
void show_tests(void);
void fuzz_tests(u64 seed, unsigned rounds);
void goodness_tests(void);

/** fuzz_bytes() - the same walk with @data as its choices, of the policy and the machine first. Aborts if something is wrong. */
void fuzz_bytes(const u8 *data, size_t size);

#endif

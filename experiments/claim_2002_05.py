# SPDX-License-Identifier: MIT
"""Migration by interrupt on machines with many CPUs (row 5 of January 2002)."""

from lab import Claim, above, selftest

def moves(test):
    return selftest("o1-j2", "migrate_*", "test/%s.ok" % test, smp=8)


claim = Claim(
    ref="2002/5",
    said="-J0 had no gate for the migration interrupt, machines with three and more CPUs hung; -J2 boots on 8-way",
    published="boots or hangs; no figures",
    mechanism="The first migration is lost with its interrupt, and the caller never runs again. That is a fault put into the kernel, "
              "which the tests must notice: tests/vm/run --only mutant-migration-without-ipi. Here: the 8-way machine starts and 20,000 "
              "random moves end with each task on the queue that its CPU number names; -J2's order (interrupt first, then the "
              "state), run on purpose, loses the task, as the fix of 25 January says.",
    metric="1: the test passes (moves arrive; our order keeps the task; -J2's order is seen to lose it)",
    runs={
        "random moves": moves("migrate_random_moves"),
        "our order": moves("migrate_our_order_keeps_the_task"),
        "-J2's order is caught": moves("migrate_j2_order_loses_the_task"),
    },
    expect=[above("random moves", 0.5), above("our order", 0.5), above("-J2's order is caught", 0.5)],
)

# SPDX-License-Identifier: MIT
"""Granularity is without effect on throughput (row 7 of August 2003)"""

from lab import Claim, ratio, sim


def equals(key, granularity):
    return sim("o1-a3", "equals", key, knobs={"granularity": granularity})


claim = Claim(
    ref="2003/7",
    said="TIMESLICE_GRANULARITY as long as the longest slice made no difference to reaim",
    published="no difference",
    mechanism="The round robin within a slice concerns tasks of equal priority only, and costs them a switch every 25 ms.",
    metric="switches/s and pieces of work/s of six hogs, 5 us a switch",
    runs={
        "switches, 25 ms": equals("machine.switches_per_s", 25),
        "switches, 200 ms": equals("machine.switches_per_s", 200),
        "work, 25 ms": equals("task/equal.units_per_s", 25),
        "work, 200 ms": equals("task/equal.units_per_s", 200),
    },
    expect=[ratio("switches, 25 ms", "switches, 200 ms", low=3), ratio("work, 25 ms", "work, 200 ms", low=0.98, high=1.02)],
)

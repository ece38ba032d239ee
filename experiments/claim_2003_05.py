# SPDX-License-Identifier: MIT
"""Idle time under A3 (row 5 of August 2003)"""

from lab import Claim, less, ratio, sim

KEY = "machine.wasted_ms"


def chat(policy, **knobs):
    return sim(policy, "volano", KEY, cpus=8, knobs=knobs, params={"rooms": 4})


claim = Claim(
    ref="2003/5",
    said="A huge spike in idle time under -mm, with SPECjbb and VolanoMark",
    published="vmstat: idle time that 2.6.0-test did not have; less with 'idle ||' in CAN_MIGRATE_TASK",
    mechanism="An idle CPU refuses tasks that are warm, and a wake-up does not look for an idle CPU.",
    metric="CPU time (ms in 3 s of 8 CPUs) for which CPUs idle while tasks wait elsewhere",
    runs={
        "o1": chat("o1"),
        "o1-a3": chat("o1-a3"),
        "o1-a3, idle ||": chat("o1-a3", hot_rule=2),
        "o1-a3, ms": chat("o1-a3", hot_unit=20),
        "o1-a3, ms, idle ||": chat("o1-a3", hot_unit=20, hot_rule=2),
    },
    expect=[less("o1", "o1-a3"), ratio("o1-a3, idle ||", "o1-a3", high=0.5)],
    found="A3 idles less than test4: it compares us with ms, so that only what was woken in the last 6 us is warm to it, while test4 refuses "
          "tasks for 5 ms. With the unit corrected (which O14 tried and O14.1 took back, because it made SMP worse) the spike is there, "
          "and 'idle ||' removes it in both.",
)

# SPDX-License-Identifier: MIT
"""The pipe switcher whose sides become equal while it runs (row 16 of August 2003, its mechanism)."""

from lab import Claim, ratio, vm

BYTES = 300000


def rates(policy, sleep, bonus):
    """Switches per second in the last full interval with the bonus (prio_writer is not 20) or the first whole one without."""

    def figure(results):
        found = [float(r["switches_per_s"]) for n, r in results
                 if n == "interval" and (r["prio_writer"] != "20") == bonus]
        return found[-1]

    command = "pipe_switch --sleep %d --interval 100 %d & sleep %d; sched set force_bonus0=1; wait" % (sleep, BYTES, sleep + 1)
    return vm(policy, command, figure)


claim = Claim(
    ref="2003/16b",
    said="It is the priorities: forced to be equal in the middle of a run, the two sides cease to switch",
    published="expected from 2 switches per byte to 2 per 4096 bytes: more than 100 times fewer a second",
    mechanism="After a second the tunable force_bonus0 is set from the shell. From the next computation of each side's priority on "
              "neither preempts the other. nick has no such tunable: its priorities cannot be made equal.",
    metric="switches per second in intervals of 100 ms",
    runs={
        "o1, free": rates("o1", 10, True),
        "o1, equal": rates("o1", 10, False),
        "o1-int, free": rates("o1-int", 2, True),
        "o1-int, equal": rates("o1-int", 2, False),
    },
    expect=[ratio("o1, free", "o1, equal", low=100), ratio("o1-int, free", "o1-int, equal", low=100)],
)

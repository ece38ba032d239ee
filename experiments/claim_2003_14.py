# SPDX-License-Identifier: MIT
"""The spinning terminal under Nick Piggin's scheduler (row 14 of August 2003)."""

from lab import Claim, above, below, less, of, sim

def spin(policy, figure, **more):
    return sim(policy, "rxvt_spin", figure, **more)


def best_pr(results):
    """As top shows it: the kernel's priority less 100."""
    return float(of("task/rxvt", "prio_min", window="spin")(results)) - 100


STALL = of("task/worker", "stall_max_ms", window="spin")

claim = Claim(
    ref="2003/14",
    said="With v7a the rxvt problem is gone; sleepers have PR 11 to 16",
    published="top: PR 11 to 16",
    mechanism="Every task expires at the end of its slice, and slices shrink while somebody better is runnable. Priorities go from 110 "
              "to 130 at nice 0. (v7 was not found; v8 and v6 are what can be run.)",
    metric="longest time without progress of any of four workers, milliseconds; best PR of the sleeper",
    runs={
        "nick": spin("nick", STALL),
        "nick v6": spin("nick", STALL, knobs={"version": 6}),
        "o1-int": spin("o1-int", STALL),
        "o1": spin("o1", STALL),
        "nick, PR": spin("nick", best_pr),
    },
    expect=[less("nick", "o1-int"), less("nick", "o1"), above("nick, PR", 9.5), below("nick, PR", 16.5)],
)

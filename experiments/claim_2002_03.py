# SPDX-License-Identifier: MIT
"""Three regions of priority (row 3 of January 2002)."""

from lab import Claim, above, below, of, sim

def credit_used(nice):
    return sim("o1-j2", "regions", of("task/hog", "stall_max_ms", window="spin"), params={"nice": nice}, options=("--hz", "100"))


# Of 200 ticks of credit; below this a task is not interactive. And its slice in ticks.
INTERACTIVE_FROM = {-20: (45, 18), -10: (100, 13), 0: (117, 9), 10: (117, 4), 19: (156, 1)}


def bounds(nice):
    threshold, piece = INTERACTIVE_FROM[nice]
    label = "nice %d" % nice
    # A tick starts and ends somewhere within 10 ms; the level is only looked at when a slice ends.
    return [above(label, (200 - threshold - 1) * 10), below(label, (200 - threshold + piece + 1) * 10)]


claim = Claim(
    ref="2002/3",
    said="The best quarter of priorities is always interactive, the worst never, the middle if it is better than its default",
    published="interactive from 45, 100, 117, 117 and 156 of 200 ticks at nice -20, -10, 0, 10 and 19 (from the constants)",
    mechanism="A task with full credit starts to spin. At the end of each slice it goes back into the active array while it counts "
              "as interactive. How long it keeps a hog of nice 0 off tells the credit at which it ceased to be: the difference "
              "to 200 ticks and at most a slice. The table itself is held by the unit tests of the policy (tests/host/test_j2.c).",
    metric="milliseconds without the CPU for the hog",
    runs={"nice %d" % nice: credit_used(nice) for nice in INTERACTIVE_FROM},
    expect=[e for nice in INTERACTIVE_FROM for e in bounds(nice)],
)

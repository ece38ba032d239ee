# SPDX-License-Identifier: MIT
"""No clock when the same task is picked again (row 20 of August 2003)"""

from lab import Claim, near, samples, sim

KINDS = ("audio", "typist", "window", "cc", "hog")
SLICE_MS = 102


def sleep_avg(kind):
    def figure(results):
        found = samples(results, kind + "[0]", 5)
        return sum(float(r["sleep_avg"]) for r in found) / len(found) / 1000

    return figure


def runs():
    found = {}
    for kind in KINDS:
        for rule, words in ((0, ""), (1, ", spared")):
            found[kind + words] = sim("o1-int", "desktop", sleep_avg(kind), knobs={"charge_rule": rule})
    return found


claim = Claim(
    ref="2003/20",
    said="sched_clock() need not be called when schedule() picks the same task again",
    published="said to be safe; not measured",
    mechanism="What is not charged at once is charged when another task is picked: the stamps span longer, the sum is the same.",
    metric="mean sleep_avg (ms of 1020) of five tasks of a desktop, within a time slice",
    runs=runs(),
    expect=[near(kind, kind + ", spared", SLICE_MS) for kind in KINDS],
)

# SPDX-License-Identifier: MIT
"""Knife edge and hysteresis of interactive_credit (row 3 of August 2003)"""

from lab import Claim, less, of, ratio, samples, sim


def flips(results):
    """Changes between HIGH and not HIGH."""
    high = ["HIGH" in r for r in samples(results, "changer[0]")]
    return sum(a != b for a, b in zip(high, high[1:]))


def share(results):
    """% of the CPU while it works for 10 s, from how much longer that took."""
    return 100 * 10000 / (10000 + float(of("task/changer", "late_mean_ms")(results)))


def run(rule, figure):
    return sim("o1-int", "hysteresis", figure, knobs={"credit_rule": rule})


claim = Claim(
    ref="2003/3",
    said="HIGH tasks should be able to lose credit, and the counter should run on beyond the limit",
    published="no figures",
    mechanism="With Schlichter's first change the credit stands one above the limit: one decrement and the task is not HIGH any more. With a "
              "band beyond the limit it takes many. In O18.1 the task stays HIGH whatever it does.",
    metric="changes between HIGH and not HIGH in 100 s of 10 s naps and 10 s work by turns; share (%) of the CPU while it works, "
           "beside a hog",
    runs={
        "flips, Schlichter": run(2, flips),
        "flips, band": run(3, flips),
        "share, O18.1": run(1, share),
        "share, Schlichter": run(2, share),
    },
    expect=[less("flips, band", "flips, Schlichter"), ratio("share, O18.1", "share, Schlichter", low=0.98)],
)

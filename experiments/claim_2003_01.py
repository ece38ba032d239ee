# SPDX-License-Identifier: MIT
"""interactive_credit: HIGH is for ever, LOW no longer (row 1 of August 2003)"""

from lab import Claim, above, below, flagged, sim

SHORT = {"credit_threshold": 5}


def low(rule):
    return sim("o1-int", "credit", flagged("x[0]", "LOW", 30, 60), knobs={**SHORT, "credit_rule": rule})


def high(rule):
    """First naps, then a hog."""
    return sim("o1-int", "credit", flagged("x[0]", "HIGH", 30, 45), knobs={**SHORT, "credit_rule": rule},
               params={"startup": "0", "hog": "40s"})


claim = Claim(
    ref="2003/1",
    said="A task whose interactive_credit is HIGH keeps it for ever; one that is LOW can recover only since O18.1",
    published="no figures",
    mechanism="The credit counts down when schedule() finds sleep_avg empty and up when a wake-up overflows it. O18 counts neither way "
              "beyond HIGH or LOW, O18.1 lets LOW count up again, Schlichter's change lets HIGH count down. Limits are a twentieth here "
              "(51 instead of 1020), so that seconds of start-up are enough.",
    metric="% of the samples that are LOW long after a start-up as a hog, or HIGH late in 40 s as a hog after a life of naps",
    runs={
        "O18, LOW": low(0),
        "O18.1, LOW": low(1),
        "O18.1, HIGH": high(1),
        "Schlichter, HIGH": high(2),
    },
    expect=[above("O18, LOW", 99), below("O18.1, LOW", 1), above("O18.1, HIGH", 99), below("Schlichter, HIGH", 1)],
)

# SPDX-License-Identifier: MIT
"""X that was LOW since its start-up (row 2 of August 2003)"""

from lab import Claim, less, of, sim

SHORT = {"credit_threshold": 5}


def x(rule, key):
    return sim("o1-int", "credit", of("task/x", key, window="after"), knobs={**SHORT, "credit_rule": rule})


claim = Claim(
    ref="2003/2",
    said="X was slow because it had been classified as LOW while it started up",
    published="no figures; O18.1 was released for it",
    mechanism="A LOW task earns one time slice a wake-up at most, too little for bursts longer than that: it ends its slice as not "
              "interactive and waits for four hogs. The wake-up itself is fast in both, since one step of bonus is enough to preempt a hog: "
              "what shows is how long the burst takes. Limits as in row 1.",
    metric="mean time (ms) that bursts of X take longer than their work",
    runs={"O18": x(0, "late_mean_ms"), "O18.1": x(1, "late_mean_ms")},
    expect=[less("O18.1", "O18")],
)

# SPDX-License-Identifier: MIT
"""Interactivity beside make -j (row 6 of January 2002)."""

from lab import Claim, above, below, less, of, sim

def user(policy):
    return sim(policy, "make_load", of("task/user", "lat_p99_us", window="steady"), options=("--hz", "100"))


claim = Claim(
    ref="2002/6",
    said="Under make -j, at loads of 100 to 200, interactivity is stunning",
    published="words only",
    mechanism="The jobs have little credit or lose it and expire; a task that sleeps most of the time is 18 levels better, preempts "
              "at its wake-up and goes back into the active array. goodness gives it at most twice its slice of credit, and what "
              "preempts is the sum of credit and nice value.",
    metric="p99 of the wake-up latency, microseconds, of 1 ms every 20 ms beside 100 jobs that are forked, compute and exit",
    runs={"o1-j2": user("o1-j2"), "goodness": user("goodness")},
    expect=[less("o1-j2", "goodness"), below("o1-j2", 10000), above("goodness", 10000)],
)

# SPDX-License-Identifier: MIT
"""Renicing X under Nick Piggin's scheduler (row 15 of August 2003)."""

from lab import Claim, less, of, sim

def x(nice):
    return sim("nick", "x_renice", of("task/x", "late_mean_ms", window="steady"), params={"nice": nice})


claim = Claim(
    ref="2003/15",
    said="With Nick's scheduler it helps to renice X to -10 or -20",
    published="words only",
    mechanism="Half of the nice value goes into the priority, and the best priority on the queue shrinks the slices of the others.",
    metric="milliseconds that X's bursts take longer than their work, mean, against 4 hogs (at its wake-up X never waits, at any nice "
           "value: what it waits for comes within the burst)",
    runs={"nice 0": x(0), "nice -10": x(-10), "nice -20": x(-20)},
    expect=[less("nice -10", "nice 0"), less("nice -20", "nice -10")],
)

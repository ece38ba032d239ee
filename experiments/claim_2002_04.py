# SPDX-License-Identifier: MIT
"""Frequent wake-ups skip the average (row 4 of January 2002)."""

from lab import Claim, above, below, sim

def rescored(results):
    """Over both tasks."""
    both = [r for n, r in results if n in ("task/ping", "task/pong") and r["window"] == "steady"]
    return sum(float(r["rescored"]) for r in both) / sum(float(r["wakeups"]) for r in both)


claim = Claim(
    ref="2002/4",
    said="The estimate costs nothing in the fast path: wake-ups of high frequency skip the averaging",
    published="no figures; expected about 0.01 computations per wake-up at 10,000 wake-ups a second",
    mechanism="Sleep is counted in whole ticks of 10 ms. A sleep within one tick is worth nothing and nothing is computed. A3 of 2003 "
              "counts nanoseconds and computes at every wake-up.",
    metric="computations of the credit per wake-up, two tasks that wake each other every 50 microseconds",
    runs={
        "o1-j2": sim("o1-j2", "ping_pong", rescored, options=("--hz", "100")),
        "o1-a3": sim("o1-a3", "ping_pong", rescored),
    },
    expect=[below("o1-j2", 0.02), above("o1-a3", 0.9)],
)

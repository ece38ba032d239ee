# SPDX-License-Identifier: MIT
"""The price of the clock (row 8 of August 2003)"""

from lab import Claim, ratio, sim

KEY = "task/reader.units_per_s"


def chat(params=None, **knobs):
    return sim("o1-a3", "volano", KEY, cpus=8, knobs=knobs, params={"rooms": 4, **(params or {})})


claim = Claim(
    ref="2003/8",
    said="sched_clock() inline, or from jiffies instead of the cycle counter, changes nothing",
    published="no change in VolanoMark",
    mechanism="What decides the throughput is how often a message preempts, not the price of reading a clock. The runs: clock in ns; in "
              "whole ticks; in ns with switches that are 30 ns dearer, a read of the counter. Within noise is taken as 5 %, half of "
              "what A3 lost.",
    metric="messages/s",
    runs={
        "ns": chat(),
        "ticks": chat(tick_clock=1),
        "ns, dear": chat(params={"switch": "1030ns"}),
    },
    expect=[ratio("ticks", "ns", low=0.95, high=1.05), ratio("ns, dear", "ns", low=0.95, high=1.05)],
)

# SPDX-License-Identifier: MIT
"""VolanoMark (row 4 of August 2003)"""

from lab import Claim, ratio, sim

KEY = "task/reader.units_per_s"


def chat(policy, **knobs):
    return sim(policy, "volano", KEY, cpus=8, knobs=knobs, params={"rooms": 4})


claim = Claim(
    ref="2003/4",
    said="VolanoMark on 8 CPUs loses with A3, not with the O-patches",
    published="messages/s: test4 11145, O18.1 9860, mm3 9788, mm3 without the O-patches 9889, mm3 without A3 11052",
    mechanism="Two candidates, neither proven in the thread: (H1) the ns credit makes priorities differ, so that each message preempts; "
              "(H2) idle CPUs refuse tasks that were just woken.",
    metric="messages/s",
    runs={
        "o1": chat("o1"),
        "o1-a3": chat("o1-a3"),
        "o1-int": chat("o1-int"),
        "o1-a3, no bonus (H1)": chat("o1-a3", force_bonus0=1),
        "o1-a3, idle || (H2)": chat("o1-a3", hot_rule=2),
    },
    expect=[ratio("o1-a3", "o1", high=1), ratio("o1-int", "o1-a3", low=0.9, high=1.1)],
)

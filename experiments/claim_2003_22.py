# SPDX-License-Identifier: MIT
"""The longest wait at nice 19 (row 22 of August 2003)."""

from lab import Claim, less, sim

def gap(policy, **more):
    return sim(policy, "nice19", "task/nice19.gap_max_ms", **more)


claim = Claim(
    ref="2003/22",
    said="Nick v6: the worst latency of a nice-19 task is 210 ms; on a Con kernel it once was above 7 s",
    published="210 ms and above 7 s (announcement of v6)",
    mechanism="Everything expires at the end of its slice, so nobody goes round twice before the others; slices are short while "
              "better tasks run. With re-insertion the interactive ones go on until their credit is gone or the starvation limit "
              "is reached, which is seconds for each task on the queue.",
    metric="longest wait of a nice-19 hog beside four bursty interactive tasks, milliseconds",
    runs={
        "nick v6": gap("nick", knobs={"version": 6}),
        "nick v8": gap("nick"),
        "o1": gap("o1"),
        "o1-int": gap("o1-int"),
    },
    expect=[less("nick v6", "o1"), less("nick v6", "o1-int"), less("nick v8", "o1"), less("nick v8", "o1-int")],
)

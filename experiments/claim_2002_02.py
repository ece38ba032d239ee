# SPDX-License-Identifier: MIT
"""What a child inherits (row 2 of January 2002)."""

from lab import Claim, above, below, less, sim

def j2(scenario, figure, **more):
    return sim("o1-j2", scenario, figure, options=("--hz", "100"), **more)


def b(figure, penalty):
    return j2("fork_chain", "task/b." + figure, knobs={"child_penalty": penalty})


claim = Claim(
    ref="2002/2",
    said="A child inherits 80 % of its parent's credit instead of 66 %: xterms start much faster beside a compile",
    published="no figures; two forks leave 0.64 of the credit instead of 0.44, priority 115 instead of 123",
    mechanism="Between the shell and the program there are two forks. Of 200 ticks the grandchild has 128 or 88; from 117 on it is "
              "interactive and stays in the active array at the end of a slice, below it waits for eight hogs after its first.",
    metric="milliseconds that the grandchild takes for 200 ms of work beside 8 hogs; its best priority",
    runs={
        "80 %": b("life_mean_ms", 80),
        "66 %": b("life_mean_ms", 66),
        "80 %, priority": b("prio_min", 80),
        "66 %, priority": b("prio_min", 66),
    },
    expect=[less("80 %", "66 %"), below("80 %, priority", 115.5), above("66 %, priority", 122.5)],
)

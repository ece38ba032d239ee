# SPDX-License-Identifier: MIT
"""XEmacs spins after the end of its child (row 12 of August 2003)"""

from lab import Claim, above, below, sim


def answer(rule):
    def figure(results):
        return sum(float(r["units"]) for n, r in results if n == "task/client") / 1000

    return sim("o1-int", "early_wake", figure, knobs={"preempt_rule": rule}, params={"credit": "70%"})


claim = Claim(
    ref="2003/12",
    said="XEmacs spins after the end of a child process; not with O16.2, whose preemption was restricted, but again with O16.3",
    published="test1 and O16.3 yes, test2 and O16.2 no",
    mechanism="A client that waits on the CPU for a server of lower priority has the CPU until its credit is gone. If only interrupts preempt "
              "for user tasks, the server that wakes it too early goes on and has its answer ready before the client runs. Both "
              "start interactive, the server with less credit.",
    metric="time (ms) until the client has the answer, which costs 50 ms of CPU",
    runs={"plain": answer(0), "only interrupts preempt": answer(1)},
    expect=[below("only interrupts preempt", 100), above("plain", 200)],
)

# SPDX-License-Identifier: MIT
"""Threads that yield are not spread (row 9 of August 2003)"""

from lab import Claim, above, below, of, sim


def balanced(results):
    """When the queues first differed by one at most; the whole run if they never did."""
    when = of("machine", "first_balanced_ms")(results)
    return of("machine", "length_ms")(results) if when == "never" else when


def yielders(policy, figure=balanced, work="1us", **knobs):
    return sim(policy, "yielders", figure, cpus=2, knobs=knobs, params={"work": work}, options=("--for", "2"))


claim = Claim(
    ref="2003/9",
    said="Threads that call yield() all the time stay on one CPU; sched-balance-fix spreads them",
    published="all on one CPU, until the fix",
    mechanism="They ran a moment ago, an idle CPU refuses such tasks (the test is the wrong way round), and the busy pass, which takes "
              "them, is not done by idle CPUs. A3 compares us with ms: to it they are warm only if their turns come within 6 us, so the "
              "four work 1 us each here, and 10 us in one run.",
    metric="time (ms) until the queues of two CPUs differ by one at most, of 2000; idle: until the second CPU has anything to do",
    runs={
        "o1": yielders("o1"),
        "o1-a3": yielders("o1-a3"),
        "o1-a3, 10 us": yielders("o1-a3", work="10us"),
        "o1-a3, fix": yielders("o1-a3", balance_fix=1),
        "o1, idle ||": yielders("o1", hot_rule=2),
        "o1, idle ||, idle": yielders("o1", "machine.wasted_ms", hot_rule=2),
    },
    expect=[above("o1", 1999), above("o1-a3", 1999), below("o1-a3, 10 us", 10), below("o1-a3, fix", 400), below("o1, idle ||", 4)],
    found="All but the last. With 'idle ||' the idle CPU takes one thread at its next tick, but then it is busy, and a busy CPU refuses "
          "warm tasks: the queues stay at three and one.",
)

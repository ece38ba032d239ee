# SPDX-License-Identifier: MIT
"""A select loop starves the server it waits for (row 21 of August 2003)."""

from lab import Claim, above, below, less, of, sim

def server(policy, period):
    def figure(results):
        share = float(of("task/server", "share_pct", window="steady")(results))
        return share * 15 / 100

    return sim(policy, "poll_period", figure, params={"period": period})


claim = Claim(
    ref="2003/21",
    said="A select loop of 15 ms starves the server that gets less than 5 ms of them (mozilla and its plug-in)",
    published="15 ms and 5 ms",
    mechanism="The client works 11 ms and sleeps for the rest of its period. While the sleep earns less than the work costs, it "
              "expires like the server and each has its slices in turn. In O18.1 a sleep counts up to ten times: from some length on "
              "the client stays interactive, preempts at each wake-up and never expires, and the server gets the sleep and "
              "nothing else. A longer sleep leaves it more. Without a bonus it gets its slices.",
    metric="milliseconds of CPU for the server in each 15 ms, by the client's period",
    runs={
        "o1-int, 12 ms": server("o1-int", "12ms"),
        "o1-int, 13 ms": server("o1-int", "13ms"),
        "o1-int, 14 ms": server("o1-int", "14ms"),
        "o1-int, 15 ms": server("o1-int", "15ms"),
        "o1-int, 20 ms": server("o1-int", "20ms"),
        "nobonus, 15 ms": server("nobonus", "15ms"),
    },
    expect=[below("o1-int, 15 ms", 5), less("o1-int, 15 ms", "o1-int, 12 ms"), less("o1-int, 15 ms", "o1-int, 20 ms"),
            above("nobonus, 15 ms", 5)],
)

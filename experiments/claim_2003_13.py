# SPDX-License-Identifier: MIT
"""A terminal that spins after its child died (row 13 of August 2003)."""

from lab import Claim, above, below, of, sim

def stall(policy):
    return sim(policy, "rxvt_spin", of("task/worker", "stall_max_ms", window="spin"))


claim = Claim(
    ref="2003/13",
    said="rxvt's select loop after its child died almost locks the machine",
    published="words; the arithmetic of -test4 says about 3 s without progress",
    mechanism="A task that slept 20 s has all credit. It starts to spin, and is re-inserted as interactive at the end of each slice "
              "until its bonus is below the limit: three of the ten seconds of credit. O18.1's idler rule gives it just enough to be "
              "interactive; without a bonus it is one of five.",
    metric="longest time without progress of any of four workers, milliseconds",
    runs={"o1": stall("o1"), "o1-int": stall("o1-int"), "nick": stall("nick"), "nobonus": stall("nobonus")},
    expect=[above("o1", 2500), below("o1", 3500), below("o1-int", 1000), below("nick", 100),
            above("nobonus", 80), below("nobonus", 125)],
)

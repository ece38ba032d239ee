# SPDX-License-Identifier: MIT
"""A player takes a minute to be seen as interactive (row 11 of August 2003)"""

from lab import Claim, above, below, less, samples, sim


def time_to_interactive(results):
    """s from the end of its start-up (500 ms of CPU) to a bonus of 2; to the end of the run if never."""
    found = samples(results, "audio[0]")
    start = next(float(r["t_ms"]) for r in found if float(r["cpu_ms"]) >= 500)
    end = [float(r["t_ms"]) for r in found if float(r["t_ms"]) > start and int(r["prio"]) <= 118]
    return (end[0] if end else float(found[-1]["t_ms"])) / 1000 - start / 1000


def player(policy, hogs):
    return sim(policy, "audio_hogs", time_to_interactive, params={"hogs": hogs})


claim = Claim(
    ref="2003/11",
    said="With a window of 10 s a player needs about a minute until it counts as interactive",
    published="about a minute, loaded",
    mechanism="Bonus 2 needs 7 s of sleep_avg. A player of 2 ms every 50 ms gains some 45 ms each, in 8 s if nothing hinders it; while hogs "
              "make it wait, waiting counts for nothing. O18.1 counts sleep up to ten times and needs a tenth of it.",
    metric="time (s) from the end of the start-up to a bonus of 2",
    runs={
        "o1": player("o1", 0),
        "o1, 4 hogs": player("o1", 4),
        "o1-int": player("o1-int", 0),
        "o1-int, 4 hogs": player("o1-int", 4),
    },
    expect=[above("o1", 7), less("o1", "o1, 4 hogs"), below("o1-int", 0.5), less("o1-int, 4 hogs", "o1, 4 hogs")],
)

# SPDX-License-Identifier: MIT
"""Games, Blender, players and copies (row 10 of August 2003)"""

from lab import Claim, above, below, less, sim

HOG = {"credit": "0%", "work": "500ms"}


def stall(policy):
    return sim(policy, "early_wake", "task/server.gap_max_ms", params=HOG)


def missed(policy):
    return sim(policy, "audio_hogs", "task/audio.deadlines_missed")


def copier(policy):
    return sim(policy, "io_copier", "task/cp.prio_min")


claim = Claim(
    ref="2003/10",
    said="Under O18.1 games became playable, Blender's freezes and a player's drop-out at the start of a song disappeared, and cp was no "
         "longer as interactive as a game",
    published="Baldur's Gate 0 of 10 to 8 of 10; freezes of 2 to 5 s to none; 3 s of silence to none; PRI of cp 15 to 16 becomes 17 to 18",
    mechanism="A window of 1 s instead of 10 s, and sleep that counts more while the bonus is small: a hog is recognised soon, a player too. "
              "Uninterruptible sleep lifts nobody beyond just interactive.",
    metric="(i) longest wait (ms) of a hog for whose result its client spins; (ii) deadlines missed in the first minute by a player "
           "whose start-up needs half a second of CPU, beside four hogs; (iii) best priority of a copier, 8 ms of disc and 2 ms of work "
           "by turns",
    runs={
        "(i) o1": stall("o1"),
        "(i) o1-int": stall("o1-int"),
        "(ii) o1": missed("o1"),
        "(ii) o1-int": missed("o1-int"),
        "(iii) o1": copier("o1"),
        "(iii) o1-int": copier("o1-int"),
    },
    expect=[less("(i) o1-int", "(i) o1"), above("(i) o1", 2000), less("(ii) o1-int", "(ii) o1"), below("(iii) o1", 116.5),
            above("(iii) o1-int", 116.5)],
)

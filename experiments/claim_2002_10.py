# SPDX-License-Identifier: MIT
"""The player falters when the windows come (row 10 of January 2002)."""

from lab import Claim, above, less, of, sim

def missed(policy, hz, **more):
    return sim(policy, "xmms_x", of("task/audio", "deadlines_missed", window="steady"), options=("--hz", str(hz)), **more)


claim = Claim(
    ref="2002/10",
    said="xmms falters about two seconds after the thumbnails are done, and when the workspace changes",
    published="words only",
    mechanism="X has slept for the window of two seconds and has full credit. It works at the player's own priority, and nothing "
              "makes tasks of one priority take turns within a slice; re-inserted as interactive, it keeps the CPU for several. "
              "A3 sends every task to the end of its list each 25 ms.",
    metric="deadlines missed in 100 s, 3 ms of sound every 50 ms, beside an X of 400 ms of work after each 2 s of sleep",
    runs={
        "o1-j2": missed("o1-j2", 100),
        "o1-a3": missed("o1-a3", 1000),
        "o1-a3, no turns": missed("o1-a3", 1000, knobs={"granularity": 200}),
    },
    expect=[above("o1-j2", 0.5), less("o1-a3", "o1-j2"), less("o1-a3", "o1-a3, no turns")],
)

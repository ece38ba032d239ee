# SPDX-License-Identifier: MIT
"""The range of the bonus: 90 per cent, not 100 (row 1 of January 2002)."""

from lab import Claim, above, below, less, of, sim

def j2(scenario, figure, **more):
    return sim("o1-j2", scenario, figure, options=("--hz", "100"), **more)


claim = Claim(
    ref="2002/1",
    said="A bonus of 90 % of the priority range protects nice 0 from hogs of nice +10, and interactive tasks of nice -20 from nice 0",
    published="-J2's announcement: 90 % instead of the whole range; no figures",
    mechanism="The bonus has 36 steps, so a hog of nice 0 stands at 138 and every hog of nice +1 or worse at 139; the best that nice 0 "
              "reaches is 102. With 40 steps both hogs are at 139 and both sleepers at 100, and the one that wakes waits for a slice.",
    metric="wake-up latency, microseconds: p99 of a near-hog of nice 0 (sleeps too short to count) beside a hog of nice +10; the "
           "longest of a player of nice -20 among interactive tasks of nice 0",
    runs={
        "near-hog, 90 %": j2("near_hog", of("task/near", "lat_p99_us", window="steady")),
        "near-hog, 100 %": j2("near_hog", of("task/near", "lat_p99_us", window="steady"), knobs={"bonus_ratio": 100}),
        "player, 90 %": j2("audio_nice", of("task/audio", "lat_max_us", window="steady")),
        "player, 100 %": j2("audio_nice", of("task/audio", "lat_max_us", window="steady"), knobs={"bonus_ratio": 100}),
    },
    expect=[less("near-hog, 90 %", "near-hog, 100 %"), above("near-hog, 100 %", 10000),
            less("player, 90 %", "player, 100 %"), below("player, 90 %", 1000)],
)

# SPDX-License-Identifier: MIT
"""Compiling beside two niced hogs on two CPUs (row 7 of January 2002)."""

from lab import Claim, above, below, less, ratio, sim

def make(figure, jobs, hogs=2):
    return sim("o1-j2", "make_j", figure, cpus=2, params={"jobs": jobs, "seti": hogs}, options=("--hz", "100"))


def seti(apart):
    return sim("o1-j2", "seti", "task/seti.share_pct", cpus=2, params={"apart": apart, "wait": 0}, options=("--hz", "100"))


SHARE, TIME = "task/seti.share_pct", "task/make.last_ms"

claim = Claim(
    ref="2002/7",
    said="With two hogs of nice 19 on a two-way machine make -j2 takes half as long again, make -j16 hardly longer",
    published="minutes for -J2 without and with the hogs: make 3:45 and 4:10, -j2 1:59 and 2:56 (hogs 32 %), -j16 2:02 and 2:22, "
              "-j 2:13 and 2:24",
    mechanism="The balancer counts tasks, not weight. Two hogs on one CPU and two compilers on the other look even and stay: the hogs "
              "have half of the machine. Mixed they have a tenth. Jobs that come and go change one into the other; with many jobs "
              "few of them are left without a CPU.",
    metric="share of the machine that the hogs get, per cent, and quotients of the make's time",
    runs={
        "hogs, mixed": seti(0),
        "hogs, apart": seti(1),
        "hogs, -j2": make(SHARE, 2),
        "hogs, -j16": make(SHARE, 16),
        "ms, -j2": make(TIME, 2, hogs=0),
        "ms, -j2, hogs": make(TIME, 2),
        "ms, -j16": make(TIME, 16, hogs=0),
        "ms, -j16, hogs": make(TIME, 16),
    },
    expect=[above("hogs, apart", 45), below("hogs, mixed", 15), above("hogs, -j2", 20), below("hogs, -j2", 35),
            less("hogs, -j16", "hogs, -j2"), ratio("ms, -j2, hogs", "ms, -j2", low=1.2), ratio("ms, -j16, hogs", "ms, -j16", high=1.3)],
)

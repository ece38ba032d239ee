# SPDX-License-Identifier: MIT
"""One CPU swings, the other stays full (row 8 of January 2002)."""

import statistics

from lab import Claim, ratio, sim

STEPS = 50  # samples of 100 ms: within so many one CPU keeps its role


def shares(results):
    """What the hogs had of each CPU, per cent, in each 100 ms."""
    before, used = {}, {}
    for name, r in results:
        if name.startswith("sample/seti"):
            ms = float(r["cpu_ms"])
            cpus = used.setdefault(float(r["t_ms"]), [0.0, 0.0])
            cpus[int(r["cpu"])] += ms - before.get(name, ms)
            before[name] = ms
    return [[used[t][cpu] for t in sorted(used)] for cpu in (0, 1)]


def variance(which):
    """Mean over stretches of 5 s of the larger or smaller variance of the two CPUs."""

    def figure(results):
        both = shares(results)
        each = [which(statistics.pvariance(cpu[i:i + STEPS]) for cpu in both)
                for i in range(0, len(both[0]) - STEPS + 1, STEPS)]
        return statistics.mean(each)

    return sim("o1-j2", "make_j", figure, cpus=2, params={"jobs": 2}, options=("--hz", "100"))


claim = Claim(
    ref="2002/8",
    said="CPU 0 swings between 0 and 100 % of the niced job and the compile while CPU 1 stays full",
    published="top, in words",
    mechanism="As in row 7: hogs and compilers are apart, and each job that exits or waits lets a hog or the next job in. The other "
              "CPU has nothing that the balancer would move.",
    metric="variance (per cent squared) of the hogs' share of a CPU in 100 ms, within 5 s; make -j2 and two hogs of nice 19",
    runs={"CPU that swings": variance(max), "other CPU": variance(min)},
    expect=[ratio("CPU that swings", "other CPU", low=3)],
)

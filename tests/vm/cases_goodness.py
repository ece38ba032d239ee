# SPDX-License-Identifier: MIT
#
# Policy goodness: one queue for all CPUs. Every CPU works, none idles beside
# waiting tasks, self-tests pass, runs repeat under --det.
"""The scheduler with one run list."""

import re

from lib import OPTIONS, case, expect, one_result, results, vm

SCHED = ("--sched", "goodness")
MANY = "i=0; while [ $i -lt 8 ]; do (seq 1 200 | sort -r | head -n 1) & i=$((i + 1)); done; wait; nproc"


def boot(n, *more):
    r = vm(*SCHED, "--smp", str(n), *more, cmd=["sh", "-c", MANY], timeout=110)
    expect(sorted(r.text.split()) == sorted(["99"] * 8 + [str(n)]), str(r))


for smp in (1, 2, 4, 8):
    case("goodness-smp-%d" % smp, 120, args=(smp,))(boot)
    case("goodness-det-smp-%d" % smp, 120, args=(smp, "--det"))(boot)


@case("goodness-boots", 300)
def boots():
    """Many starts in a row without determinism."""
    for i in range(OPTIONS["count"] or 10):
        boot((1, 2, 4, 8)[i % 4])


def selftest(n):
    r = vm(*SCHED, "--smp", str(n), "--selftest", timeout=170, rc=None)
    failed = [s for s in r.text.splitlines() if s.startswith("not ok")]
    expect(not failed and r.rc == 0, "%s; %s" % ("; ".join(failed)[:1000], r))


for smp in (1, 4):
    case("goodness-selftest-smp-%d" % smp, 240, args=(smp,))(selftest)


@case("goodness-no-idle-cpu", 200)
def no_idle_cpu():
    """Eight hogs, four CPUs: less than 3 % of the time between two looks at /proc/sched is idle."""
    script = "for i in 1 2 3 4 5 6 7 8; do hog & done; sleep 1; cat /proc/sched; sleep 5; cat /proc/sched"
    r = vm(*SCHED, "--det", "--smp", "4", cmd=["sh", "-c", script], timeout=180)
    idle = [int(s) for s in re.findall(r"idle_ns=(\d+)", r.text)]
    expect(len(idle) == 8, str(r))
    for cpu in range(4):
        expect(idle[cpu + 4] - idle[cpu] < 150e6, "cpu %d idled; %s" % (cpu, r.text))


@case("goodness-spread", 150)
def spread():
    """As many hogs as CPUs: each has one and stays."""
    r = vm(*SCHED, "--det", "--smp", "4", cmd=["spread", "4"], timeout=110)
    v = one_result(r, "spread")
    expect(float(v["share_min_pct"]) > 95, str(r))


@case("goodness-pipe", 150)
def pipe():
    """A peer must be three ticks ahead to preempt, and both sides use theirs up alike; without the margin they take turns."""
    r = vm(*SCHED, "--det", "--smp", "1", timeout=110,
           cmd=["sh", "-c", "pipe_switch 200000; sched set preempt_margin=0 && pipe_switch 200000"])
    with_margin, without = (float(v["switches_per_byte"]) for v in results(r.text, "pipe_switch"))
    expect(with_margin < 0.1 and without > 5 * with_margin, str(r))

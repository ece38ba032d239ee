# SPDX-License-Identifier: MIT
#
# Deterministic runs: the same command gives the same output and the same hash
# of all task switches; other seeds give other interleavings. One retry is
# allowed, because QEMU itself deviates in a fraction of a percent of runs.
"""Repeatability under --det."""

import tempfile

from lib import OPTIONS, Failure, case, expect, vm, vmlib

LOAD = ["sh", "-c", "for i in 1 2 3 4 5 6; do (echo a$i | cat | wc -c; seq 1 200 | sort -r | head -n 1) & done; wait"]


def run(*options, cmd, stdin=b""):
    """Output and switch hash of one deterministic run."""
    with tempfile.TemporaryDirectory() as folder:
        r = vm("--det", *options, "--log", folder + "/log", cmd=cmd, stdin=stdin, timeout=110)
        with open(folder + "/log", encoding="utf-8", errors="replace") as f:
            found = vmlib.re.findall(r"power-off: switches \d+ hash [0-9a-f]{16}", f.read())
        expect(len(found) == 1, "no switch hash in the log; %s" % r)
        return r.out, r.err, found[0].split("power-off: ")[1]


def repeat(count, *options, cmd=LOAD, stdin=b""):
    first = run(*options, cmd=cmd, stdin=stdin)
    retries = 1
    for i in range(1, count):
        again = run(*options, cmd=cmd, stdin=stdin)
        if again != first and retries:
            retries -= 1
            again = run(*options, cmd=cmd, stdin=stdin)
        if again != first:
            raise Failure("run %d of %d differs: %s and %s" % (i + 1, count, first, again))


case("det-repeat-smp-4", 200, args=(3, "--smp", "4"))(repeat)
case("det-repeat-smp-2", 200, args=(2, "--smp", "2", "--seed", "9"))(repeat)
case("det-repeat-icount-0", 200, args=(2, "--smp", "2", "--icount", "0"))(repeat)


@case("det-repeat-20", 1200, full=True)
def repeat_20():
    repeat(OPTIONS["count"] or 20, "--smp", "4")


@case("det-stdin", 120)
def det_stdin():
    data = b"line %d\n" * 3 + bytes(range(256)) * 20
    repeat(2, "--smp", "2", cmd=["md5sum"], stdin=data)


@case("det-seeds", 240)
def seeds():
    """Of five seeds at least two switch in another order; all print the same words."""
    outs, hashes = set(), set()
    for seed in range(1, 6):
        out, _err, switches = run("--smp", "4", "--seed", str(seed), cmd=LOAD)
        outs.add(tuple(sorted(out.split())))
        hashes.add(switches)
    expect(len(hashes) >= 2, "five seeds gave the same switches: %s" % hashes)
    expect(len(outs) == 1, "the words differ between seeds: %s" % outs)


@case("det-time")
def det_time():
    """Virtual time: the clock starts where --det says and a long sleep costs little."""
    r = vm("--det", "--smp", "2", cmd=["sh", "-c", "date -u +%Y-%m-%d; sleep 20; echo slept"], timeout=50)
    expect(r.text == "2026-01-01\nslept\n", str(r))


@case("det-sleeper-beside-hogs", 120)
def sleeper():
    """
    A CPU that only sleeps is given its turns beside one that always runs, also when it waits for a lock in its timer handler.
    In virtual time 20 sleeps of 0.1 s are 2 s and their programs' start; a CPU forgotten by the emulator made them 5 to 11 s.
    """
    for seed in (1, 2, 3):
        r = vm("--det", "--seed", str(seed), "--smp", "2", timeout=60, cmd=["sh", "-c",
               "taskset 1 hog 60 & taskset 1 hog 60 & read from rest </proc/uptime; "
               "taskset 2 sh -c 'for i in $(seq 20); do sleep 0.1; done'; read to rest </proc/uptime; echo $from $to"])
        began, ended = map(float, r.text.split())
        expect(2 <= ended - began < 2.5, "seed %d: 20 sleeps of 0.1 s took %.2f s" % (seed, ended - began))

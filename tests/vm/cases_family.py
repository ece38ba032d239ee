# SPDX-License-Identifier: MIT
#
# The O(1) family on machines: each boots at its own HZ and spreads hogs; the
# self-tests under nobonus; and who preempts byte by byte on a pipe.
"""The relatives of policy o1."""

from lib import case, expect, one_result, vm

# Sorted as text: 99 comes last.
MANY = "i=0; while [ $i -lt 8 ]; do (seq 1 200 | sort -r | head -n 1) & i=$((i + 1)); done; wait; nproc"


def boot(name):
    r = vm("--sched", name, "--smp", "4", cmd=["sh", "-c", MANY], timeout=110)
    expect(sorted(r.text.split()) == sorted(["99"] * 8 + ["4"]), str(r))


def spread(name):
    r = vm("--sched", name, "--det", "--smp", "4", cmd=["spread", "8"], timeout=160)
    v = one_result(r, "spread")
    expect(float(v["busy_min_pct"]) > 95 and float(v["share_min_pct"]) > 40, str(r))


def selftest(name):
    r = vm("--sched", name, "--smp", "4", "--selftest", timeout=170, rc=None)
    failed = [s for s in r.text.splitlines() if s.startswith("not ok")]
    expect(not failed and r.rc == 0, "%s; %s" % ("; ".join(failed)[:1000], r))


def pipe(name, low, high):
    """The writer slept for 8 s: switches per byte between the two figures."""
    r = vm("--sched", name, "--det", "--smp", "1", cmd=["pipe_switch", "--sleep", "8", "100000"], timeout=110)
    per_byte = float(one_result(r, "pipe_switch")["switches_per_byte"])
    expect(low <= per_byte <= high, str(r))


for policy in ("nobonus", "o1-j2", "o1-a3", "o1-int", "nick"):
    case("family-boot-" + policy, 120, args=(policy,))(boot)
    case("family-spread-" + policy, 200, args=(policy,))(spread)
case("family-selftest-nobonus", 240, args=("nobonus",))(selftest)
case("family-pipe-nobonus", 150, args=("nobonus", 0, 0.01))(pipe)
case("family-pipe-o1-j2", 150, args=("o1-j2", 1.5, 2.1))(pipe)
case("family-pipe-nick", 150, args=("nick", 1.5, 2.1))(pipe)

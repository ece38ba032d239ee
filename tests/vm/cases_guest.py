# SPDX-License-Identifier: MIT
#
# The programs of tests/guest, which judge the kernel from inside, on several
# CPU counts; and the long stress.
"""Guest test programs under every CPU count."""

import glob
import os
import subprocess

from lib import OPTIONS, ROOT, case, expect, vm

# Run by tests of their own.
SEPARATE = ("stress", "fuzz", "switch", "conform")


def names():
    """NAME of each test_NAME that tests/guest provides."""
    found = []
    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "guest", "*.c"))):
        name = os.path.basename(path)[:-2]
        name = name[5:] if name.startswith("test_") else name
        if name not in SEPARATE:
            found.append(name)
    return found


def guest(name, n, *options):
    r = vm("--smp", str(n), *options, cmd=["test_" + name], timeout=100, rc=None)
    bad = [s for s in (r.text + r.err.decode("utf-8", "replace")).splitlines() if s.startswith("not ok")]
    expect(not bad, "%d failed: %s" % (len(bad), "; ".join(bad)[:1500]))
    expect(r.rc == 0, str(r))
    expect("ok" in r.text, "it reported nothing; %s" % r)


def on_linux(name):
    """The judge judged: the same binary must hold on the host's Linux."""
    path = os.path.join(ROOT, "build", "guest", "test_" + name)
    expect(os.path.exists(path), "%s is not built: run make" % path)
    r = subprocess.run([path], capture_output=True, stdin=subprocess.DEVNULL, timeout=100, check=False)
    text = r.stdout.decode("utf-8", "replace")
    bad = [s for s in text.splitlines() if s.startswith("not ok")]
    expect(r.returncode == 0 and not bad and "ok" in text,
           "on Linux: status %d: %s" % (r.returncode, "; ".join(bad) or text[-500:]))


for guest_name in names():
    case("guest-%s-on-linux" % guest_name, 120, args=(guest_name,))(on_linux)
    for cpus in (1, 2, 4, 8):
        case("guest-%s-smp-%d" % (guest_name, cpus), 120, full=cpus == 2, args=(guest_name, cpus))(guest)
    case("guest-%s-preempt-none" % guest_name, 120, full=True,
         args=(guest_name, 4, "--append", "preempt=none"))(guest)


def stress(seconds, n):
    """Fork, exec, pipes, signals, affinity and kills at once; then no leak."""
    r = vm("--smp", str(n), cmd=["test_stress", str(seconds)], timeout=seconds * 2 + 60, rc=None)
    expect(r.rc == 0, str(r))


@case("stress-short", 120)
def stress_short():
    stress(15, 4)


@case("stress", 1400, full=True)
def stress_long():
    stress(OPTIONS["seconds"] or 600, OPTIONS["smp"] or 8)


def fuzz(seconds, n):
    """Hostile system calls; nobody else may notice, nothing may stay behind."""
    r = vm("--smp", str(n), cmd=["test_fuzz", str(seconds)], timeout=seconds * 2 + 90, rc=None)
    expect(r.rc == 0, str(r))


@case("fuzz-short", 120)
def fuzz_short():
    fuzz(10, 4)


@case("fuzz", 1400, full=True)
def fuzz_long():
    fuzz(OPTIONS["seconds"] or 300, OPTIONS["smp"] or 4)

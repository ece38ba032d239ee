# SPDX-License-Identifier: MIT
#
# The boot matrix: CPU counts, loaders, CPU models, memory sizes, self-tests,
# and many boots in a row. Online CPUs must equal --smp.
"""Does the machine start, with every CPU it was given?"""

import os
import shutil
import subprocess

from lib import OPTIONS, ROOT, Skip, case, expect, vm


def boot_smp(n, *more):
    r = vm("--smp", str(n), *more, cmd=["nproc"], timeout=110)
    expect(r.text == "%d\n" % n, "nproc said %r; %s" % (r.text, r))


for n in (1, 2, 3, 4, 8, 16, 64):
    case("boot-smp-%d" % n, 120, args=(n,))(boot_smp)
case("boot-smp-255", 150, args=(255, "--mem", "1024"))(boot_smp)
case("boot-iso", 120, args=(4, "--boot", "iso"))(boot_smp)
case("boot-uefi", 180, args=(4, "--boot", "uefi"))(boot_smp)
case("boot-qemu64", 120, args=(4, "--cpu", "qemu64"))(boot_smp)
case("boot-mem-64", 120, args=(2, "--mem", "64"))(boot_smp)
case("boot-mem-4096", 120, args=(2, "--mem", "4096"))(boot_smp)
case("boot-hz-100", 120, args=(4, "--append", "hz=100"))(boot_smp)
case("boot-preempt-none", 120, args=(4, "--append", "preempt=none"))(boot_smp)
case("boot-idle-spin", 120, args=(2, "--append", "idle=spin"))(boot_smp)
case("boot-icount-0", 120, args=(2, "--icount", "0"))(boot_smp)
case("boot-quiet", 120, args=(4, "--append", "quiet"))(boot_smp)


@case("boot-sparse-apic-ids", 120)
def sparse():
    """Three cores per socket: APIC ids with holes."""
    r = vm("--smp", "6", cmd=["nproc"], env={"JIFFIES_QEMU_ARGS": "-smp sockets=2,cores=3,threads=1"})
    expect(r.text == "6\n", "nproc said %r; %s" % (r.text, r))


@case("boot-uefi-smp-16", 240, full=True)
def uefi_16():
    boot_smp(16, "--boot", "uefi")


@case("boot-bochs", 240)
def bochs():
    """Another emulator: x2APIC, other APIC and TSC frequencies, no exit device."""
    if not shutil.which("bochs"):
        raise Skip("bochs is not installed")
    boot_smp(4, "--emulator", "bochs")


@case("boots", 200)
def boots():
    """Many starts in a row without determinism; each must succeed."""
    count = OPTIONS["count"] or 10
    for i in range(count):
        r = vm("--smp", "4", cmd=["true"], rc=None)
        expect(r.rc == 0, "boot %d of %d: %s" % (i + 1, count, r))


@case("boots-200", 1800, full=True)
def boots_200():
    for i in range(200):
        r = vm("--smp", "4", cmd=["true"], rc=None)
        expect(r.rc == 0, "boot %d of 200: %s" % (i + 1, r))


def bad_option(option, word, tmp="/dev/stderr"):
    """An unknown or malformed option is named in the log and ignored."""
    r = vm("--smp", "1", "--append", option, "--log", tmp, cmd=["echo", "alive"])
    expect(r.text == "alive\n", "not ignored; %s" % r)
    log = r.err.decode("utf-8", "replace")
    named = [s for s in log.splitlines() if word in s and ("ignored" in s or "no such" in s or "unknown" in s)]
    expect(named, "%r is not named in the log; %s" % (word, r))


case("option-unknown", args=("nonsense=1", "nonsense"))(bad_option)
case("option-malformed-hz", args=("hz=banana", "banana"))(bad_option)
case("option-unknown-sched", args=("sched=no-such-policy", "no-such-policy"))(bad_option)


@case("panic-126")
def panic():
    """A panic is status 126 with the report, symbols included."""
    r = vm("--smp", "4", "--append", "panic=now", cmd=["true"], rc=126)
    expect(b"PANIC:" in r.err and b"end of panic report" in r.err, "no complete report; %s" % r)
    expect(b"+0x" in r.err, "no symbols in the backtrace; %s" % r)


@case("timeout-124")
def timed_out():
    r = vm("--smp", "2", cmd=["sleep", "1000"], timeout=5, rc=124)
    expect(r.seconds < 15, "took %.0f s" % r.seconds)


def selftest(n, build):
    folder = os.path.join(ROOT, build)
    if build == "build-debug":
        made = subprocess.run(["make", "-s", "-C", ROOT, "-j2", "DEBUG=1", "all"], check=False,
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        expect(made.returncode == 0, "make DEBUG=1 failed: %s" % made.stderr[-2000:])
    r = vm("--build", folder, "--smp", str(n), "--selftest", timeout=170, rc=None)
    failed = [s for s in r.text.splitlines() if s.startswith("not ok")]
    expect(not failed, "%d failed: %s" % (len(failed), "; ".join(failed)[:1500]))
    expect(r.rc == 0, str(r))


for build in ("build", "build-debug"):
    for n in (1, 2, 4, 8):
        name = "selftest-%s-smp-%d" % ("debug" if build == "build-debug" else "release", n)
        # The debug build at its extremes is slow: in the full set.
        slow = build == "build-debug" and n in (1, 8)
        case(name, 240, full=slow, args=(n, build))(selftest)


@case("debug-boot", 120)
def debug_boot():
    """The build with assertions and lock checks runs a pipeline too."""
    r = vm("--build", os.path.join(ROOT, "build-debug"), "--smp", "4",
           cmd=["sh", "-c", "for i in 1 2 3 4; do echo $i | cat & done; wait; nproc"])
    expect(sorted(r.text.split()) == ["1", "2", "3", "4", "4"], str(r))

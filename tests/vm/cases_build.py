# SPDX-License-Identifier: MIT
#
# The build's own promises: two clean builds are the same bytes, both compilers
# build a kernel that boots, nothing is rebuilt without reason.
"""Reproducible, with either compiler."""

import hashlib
import os
import shutil
import subprocess
import tempfile

from lib import ROOT, Skip, case, expect, vm

PRODUCTS = ("jiffies.elf", "jiffies.elf32", "initrd.cpio", "jiffies.iso")


def make(folder, *args):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    r = subprocess.run(["make", "-s", "-j2", "-C", folder, *args], env=env, text=True,
                       capture_output=True, stdin=subprocess.DEVNULL, check=False)
    expect(r.returncode == 0, "make %s failed: %s" % (" ".join(args), r.stderr[-2000:]))
    return r.stdout


def clean_copy(folder):
    """The files of this tree that git knows or would add, without build output."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"],
                            capture_output=True, check=False)
    if listed.returncode != 0:
        raise Skip("not a git checkout")
    for name in listed.stdout.decode().split("\0"):
        source = os.path.join(ROOT, name)
        if name and os.path.isfile(source):
            target = os.path.join(folder, name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy(source, target)


@case("build-reproducible", 400)
def reproducible():
    sums = []
    with tempfile.TemporaryDirectory(prefix="jiffies-build-") as top:
        folders = [os.path.join(top, "a"), os.path.join(top, "another", "longer", "path")]
        clean_copy(folders[0])
        shutil.copytree(folders[0], folders[1])
        for folder in folders:
            make(folder, "all", "iso")
            found = {}
            for name in PRODUCTS:
                with open(os.path.join(folder, "build", name), "rb") as f:
                    found[name] = hashlib.sha256(f.read()).hexdigest()
            sums.append(found)
    differing = [n for n in PRODUCTS if sums[0][n] != sums[1][n]]
    expect(not differing, "differ between two clean builds: %s" % ", ".join(differing))


def compiler(cc, *more):
    with tempfile.TemporaryDirectory(prefix="jiffies-cc-") as folder:
        make(ROOT, "CC=" + cc, "B=" + folder, *more, "all")
        r = vm("--build", folder, "--smp", "4", cmd=["sh", "-c", "echo a | cat; nproc"])
        expect(r.text == "a\n4\n", str(r))
        r = vm("--build", folder, "--smp", "4", "--selftest", timeout=170, rc=None)
        failed = [line for line in r.text.splitlines() if line.startswith("not ok")]
        expect(r.rc == 0, "self-tests of the %s build, %s: %s" % (cc, failed or "none named", r))


case("build-clang", 400, args=("clang",))(compiler)
case("build-gcc", 400, args=("gcc",), full=True)(compiler)
case("build-clang-debug", 400, args=("clang", "DEBUG=1"), full=True)(compiler)


@case("build-incremental", 200)
def incremental():
    out = make(ROOT, "all")
    expect(out == "", "an up-to-date tree is rebuilt: %s" % out)
    for changed, users in (("arch/x86/asm.inc", ("arch/x86/entry.asm", "arch/x86/uaccess.asm")),
                           ("kernel/sched/machine.h", ("kernel/sched/core.c",))):
        os.utime(os.path.join(ROOT, changed))
        start = os.path.getmtime(os.path.join(ROOT, changed))
        make(ROOT, "all")
        for user in users:
            built = os.path.getmtime(os.path.join(ROOT, "build", "obj", user + ".o"))
            expect(built >= start, "%s is not rebuilt when %s changes" % (user, changed))


@case("fuzz-sched", 200)
def fuzz_sched():
    """The fuzzer is built from today's policies and finds nothing in three seconds; make fuzz-sched takes longer."""
    make(ROOT, "fuzz-sched", "TIME=3")


@case("host-tsan", 400, full=True)
def host_tsan():
    make(ROOT, "host-tsan")

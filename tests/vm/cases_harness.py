# SPDX-License-Identifier: MIT
#
# Does the judge judge? tools/vm against images that fail in known ways, and
# its own promises: nothing left behind, wrong options named.
"""Tests of tools/vm itself, with a fake kernel."""

import glob
import os
import signal
import subprocess
import tempfile
import time

from lib import ROOT, VM, Skip, case, expect, vm, vmlib


def fake(kind):
    """A temporary build directory with the fake kernel of that kind."""
    folder = tempfile.TemporaryDirectory(prefix="jiffies-fake-")
    obj = os.path.join(folder.name, "fake.o")
    asm = os.path.join(ROOT, "tests", "vm", "fake.asm")
    subprocess.run(["nasm", "-f", "elf32", "-D" + kind, "-o", obj, asm], check=True)
    subprocess.run(
        ["ld", "-m", "elf_i386", "-Ttext", "0x100000", "-o", folder.name + "/jiffies.elf32", obj],
        check=True, stderr=subprocess.DEVNULL)
    with open(folder.name + "/initrd.cpio", "wb") as f:
        f.write(bytes(512))
    return folder


ENDS = (  # kind, command?, status, what standard error must say
    ("GOOD", True, 42, b"err"),
    ("PANIC", True, 126, b"PANIC: on purpose"),
    ("TRIPLE", True, 125, b"triple fault"),
    ("HANG", True, 124, b"timed out"),
    ("SILENT", True, 125, b"without reporting"),
    ("GARBAGE", True, 125, b"garbage"),
    ("KTAP_FAIL", False, 1, b"1 of 2 self-tests failed"),
    ("KTAP_SHORT", False, 1, b"2 tests planned, 1 reported"),
    ("KTAP_NONE", False, 1, b"did not run"),
)


def ending(kind, command, rc, words):
    with fake(kind) as folder:
        for extra in ([], ["--det"]):
            options = ["--build", folder, "--smp", "1"] + extra + ([] if command else ["--selftest"])
            timeout = 2 if kind == "HANG" else 30
            r = vm(*options, cmd=["x"] if command else None, timeout=timeout, rc=rc)
            expect(words in r.err, "standard error does not say %r; %s" % (words, r))
            if kind == "GOOD":
                expect(r.out == b"out" and r.err == b"err", "output altered; %s" % r)
            if kind == "PANIC":
                expect(b"afterwards" not in r.err, "more than the panic report; %s" % r)


for kind, command, rc, words in ENDS:
    case("harness-" + kind.lower().replace("_", "-"), 60, args=(kind, command, rc, words))(ending)


@case("harness-options")
def options():
    """Every wrong use is status 125 and names what is wrong."""
    for args, words in (
        (["--bogus"], b"--bogus"),
        (["--smp", "0"], b"--smp"),
        (["--smp", "256"], b"--smp"),
        (["--smp", "x"], b"--smp"),
        (["--boot", "tape"], b"tape"),
        (["--seed", "3"], b"--seed"),
        (["--trace", "x.wav"], b"--trace"),
        (["--add", "/no/such/file"], b"/no/such/file"),
        (["--build", "/no/such/dir"], b"/no/such/dir"),
        (["stray"], b"stray"),
    ):
        r = subprocess.run([VM] + args + ["--timeout", "20", "--", "true"], capture_output=True,
                           stdin=subprocess.DEVNULL, timeout=60, check=False)
        expect(r.returncode == 125, "%s: status %d, not 125: %r" % (args, r.returncode, r.stderr))
        expect(words in r.stderr, "%s: message does not name it: %r" % (args, r.stderr))


@case("harness-no-qemu")
def no_qemu():
    with fake("GOOD") as folder:
        r = vm("--build", folder, cmd=["x"], rc=125, env={"QEMU": "no-such-emulator"})
        expect(b"tools/setup" in r.err, "the remedy is not named; %s" % r)


@case("harness-clean-up")
def clean_up():
    """Ended by any signal, tools/vm takes QEMU along and leaves no files."""
    with fake("HANG") as folder, tempfile.TemporaryDirectory(prefix="jiffies-tmp-") as tmp:
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            proc = subprocess.Popen(
                [VM, "--build", folder, "--smp", "1", "--", "x"], stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, env=dict(os.environ, TMPDIR=tmp))
            children = "/proc/%d/task/%d/children" % (proc.pid, proc.pid)
            if not os.path.exists(children):
                proc.kill()
                proc.wait()
                raise Skip("no " + children)
            deadline = time.monotonic() + 20
            pid = None
            while not pid and time.monotonic() < deadline:
                with open(children, encoding="ascii") as f:
                    pid = f.read().split()
                time.sleep(0.05)
            expect(pid, "QEMU did not start")
            time.sleep(0.3)
            proc.send_signal(signum)
            proc.wait(20)
            expect(proc.returncode == -signum, "signal %d: status %d" % (signum, proc.returncode))
            deadline = time.monotonic() + 5
            while os.path.exists("/proc/" + pid[0]) and time.monotonic() < deadline:
                time.sleep(0.05)
            expect(not os.path.exists("/proc/" + pid[0]), "signal %d: QEMU lives on" % signum)
            left = glob.glob(tmp + "/jiffies-vm-*")
            # Nobody can clean up after SIGKILL.
            expect(not left or signum == signal.SIGKILL, "signal %d: left %s" % (signum, left))


@case("harness-archive")
def archive():
    """Aligned file data, replaced files, links; bad paths refused."""
    a = vmlib.newc.Archive()
    a.add_file("/b/file", b"x" * 5000)
    a.add_file("a", b"first")
    a.add_file("/a", b"second", 0o755)
    a.add_link("/b/link", "file")
    data = a.encode()
    expect(data == a.encode(), "encoding twice differs")
    names, offset, aligned = [], 0, 0
    while True:
        expect(data[offset : offset + 6] == b"070701", "bad magic at %d" % offset)
        field = [int(data[offset + 6 + 8 * i : offset + 14 + 8 * i], 16) for i in range(13)]
        mode, size, namesize = field[1], field[6], field[11]
        name = data[offset + 110 : offset + 110 + namesize].rstrip(b"\0").decode()
        body = (offset + 110 + namesize + 3) & ~3
        if name == "TRAILER!!!":
            break
        names.append(name)
        if mode & 0o170000 == 0o100000:
            expect(body % 4096 == 0, "%s is not aligned" % name)
            aligned += 1
        if name == "a":
            expect(data[body : body + size] == b"second" and mode & 0o777 == 0o755, "not replaced")
        if name == "b/link":
            expect(data[body : body + size] == b"file" and mode & 0o170000 == 0o120000, "bad link")
        offset = (body + size + 3) & ~3
    expect(names == ["a", "b", "b/file", "b/link"] and aligned == 2, "names are %s" % names)
    for bad in ("..", "/", "a/../b", "/a/x"):
        try:
            a.add_file(bad, b"")
        except ValueError:
            continue
        expect(False, "path %r was accepted" % bad)

# SPDX-License-Identifier: MIT
#
# What the cases in tests/vm share: the register of tests, one call to run
# tools/vm and judge it, a driver for the interactive console, and the parsing
# of RESULT lines. A case fails by raising; it passes only by returning after
# its expectations held.
"""Helpers of the tests that start machines."""

import os
import re
import select
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tools"))
import vmlib  # noqa: E402

VM = os.path.join(ROOT, "tools", "vm")


class Failure(Exception):
    """An expectation that did not hold; str() says which."""


class Skip(Exception):
    """The test cannot be run here; counted neither as passed nor as failed."""


class Case:
    """One test: a name, a function, a wall-time limit, the set it is in."""

    def __init__(self, name, func, timeout, full):
        self.name, self.func, self.timeout, self.full = name, func, timeout, full


CASES = []
OPTIONS = {"count": None, "seconds": None, "smp": None}


def case(name, timeout=60, full=False, args=()):
    """Decorator: register a test. full: only in `make test-full`."""

    def register(func):
        if any(c.name == name for c in CASES):
            raise ValueError("two tests are called " + name)
        CASES.append(Case(name, lambda: func(*args), timeout, full))
        return func

    return register


def expect(condition, reason):
    """Fail with this reason unless the condition holds."""
    if not condition:
        raise Failure(reason)


def short(data, limit=400):
    """Bytes or text, shortened for a message."""
    if isinstance(data, bytes):
        data = data.decode("utf-8", "replace")
    data = data.strip()
    return data if len(data) <= limit else data[: limit // 2] + " ... " + data[-limit // 2 :]


class Result:
    """How one tools/vm ended."""

    def __init__(self, args, rc, out, err, seconds):
        self.args, self.rc, self.out, self.err, self.seconds = args, rc, out, err, seconds

    @property
    def text(self):
        return self.out.decode("utf-8", "replace")

    def __str__(self):
        return "%s: status %d, stdout %r, stderr %r" % (
            " ".join(self.args), self.rc, short(self.out), short(self.err, 1500))


def vm(*options, cmd=None, stdin=b"", timeout=60, rc=0, env=None):
    """Run tools/vm; rc is the status it must have (None: any). Returns a Result.

    stdin: bytes to stream through a pipe (none: /dev/null), or an open file.
    """
    args = list(options) + ["--timeout", str(timeout)]
    argv = [VM] + args
    if cmd is not None:
        argv += ["--"] + list(cmd)
    began = time.monotonic()
    proc = subprocess.Popen(
        argv,
        stdin=(subprocess.PIPE if stdin else subprocess.DEVNULL) if isinstance(stdin, bytes) else stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ, **(env or {})),
    )
    try:
        out, err = proc.communicate(stdin if isinstance(stdin, bytes) and stdin else None, timeout=timeout + 60)
    except subprocess.TimeoutExpired:
        raise Failure("tools/vm itself hung: " + " ".join(map(str, argv))) from None
    finally:
        if proc.poll() is None:
            proc.terminate()
            try:
                proc.wait(10)
            except subprocess.TimeoutExpired:
                proc.kill()
                proc.wait()
    shown = [str(a) for a in options] + (["--"] + [short(os.fsencode(c), 120) for c in cmd] if cmd else [])
    result = Result(shown, proc.returncode, out, err, time.monotonic() - began)
    if rc is not None:
        expect(result.rc == rc, "expected status %d; %s" % (rc, result))
    return result


def results(text, name=None):
    """The RESULT lines of a program's output as a list of dicts."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == "RESULT" and name in (None, words[1]):
            pairs = dict(w.split("=", 1) for w in words[2:] if "=" in w)
            pairs[""] = words[1]
            found.append(pairs)
    return found


def one_result(result, name):
    """The single RESULT line of that name; fails if there is none or several."""
    found = results(result.text, name)
    expect(len(found) == 1, "expected one RESULT %s line, got %d; %s" % (name, len(found), result))
    return found[0]


class Console:
    """The serial console of an interactive machine, driven like a person would."""

    PROMPT = re.compile(rb"jiffies:\S*# ")

    def __init__(self, **settings):
        cfg = vmlib.Config(console="socket", qmp=True, vga=True, **settings)
        self.machine = vmlib.Machine(cfg)
        self.seen = b""
        self.mark = 0

    def __enter__(self):
        try:
            self.machine.start()
            self.machine.console.setblocking(False)
        except BaseException:
            self.machine.close()
            raise
        return self

    def __exit__(self, *exc):
        self.machine.close()

    def _fill(self, seconds):
        if select.select([self.machine.console], [], [], seconds)[0]:
            try:
                data = self.machine.console.recv(65536)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                try:
                    self.machine.judge()
                except (vmlib.VmError, vmlib.Panic) as e:
                    raise Failure("the machine ended: %s" % e) from None
                raise Failure("the machine powered off; console: %r" % short(self.seen))
            self.seen += data

    def wait(self, pattern, seconds=30, what=None):
        """Wait for this (bytes or regex) after the last match; returns the match."""
        if isinstance(pattern, bytes):
            pattern = re.compile(re.escape(pattern))
        deadline = time.monotonic() + seconds
        while True:
            found = pattern.search(self.seen, self.mark)
            if found:
                self.mark = found.end()
                return found
            if time.monotonic() > deadline:
                raise Failure("%s did not appear within %d s; console since the last match: %r; log: %s" % (
                    what or pattern.pattern, seconds, short(self.seen[self.mark:]), self.machine.log_tail(5)))
            self._fill(0.2)

    def send(self, text):
        """Type this on the serial line, no faster than a fast typist's paste."""
        data = text.encode()
        self.machine.console.setblocking(True)
        for i in range(0, len(data), 8):
            self.machine.console.sendall(data[i : i + 8])
            time.sleep(0.01)
        self.machine.console.setblocking(False)

    def prompt(self, seconds=30):
        return self.wait(self.PROMPT, seconds, "the shell's prompt")

    def run(self, line, seconds=30):
        """Type a command, wait for the next prompt, return what came between."""
        self.send(line + "\r")
        start = self.mark
        self.prompt(seconds)
        return self.seen[start : self.mark].replace(b"\r", b"").decode("utf-8", "replace")

# SPDX-License-Identifier: MIT
#
# A command in the machine looks like a local one: arguments, streams, status.
"""tools/vm as a way to run programs."""

import os
import random
import subprocess
import tempfile

from lib import VM, case, expect, vm


def noise(size, seed=1):
    """Repeatable bytes of every value."""
    return random.Random(seed).randbytes(size)


def statuses(*mode):
    for script, rc in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137),
                       ("kill -TERM $$", 143), ("/bin/busybox false", 1)):
        vm("--smp", "2", *mode, cmd=["sh", "-c", script], rc=rc)


case("exit-status", 120)(statuses)
case("exit-status-det", 180, args=("--det",))(statuses)


@case("exit-unknown-command")
def unknown():
    r = vm("--smp", "1", cmd=["no-such-program"], rc=127)
    expect(b"no-such-program" in r.err, "the name is not in the message; %s" % r)


@case("exit-not-executable")
def not_executable():
    vm("--smp", "1", cmd=["/etc/passwd"], rc=126)


def through(target, size, as_file, *mode):
    """Every byte value comes back unchanged; a pipe is streamed, a file is carried whole."""
    data = noise(size)
    script = "cat" if target == "out" else "cat >&2"
    with tempfile.TemporaryFile() as f:
        f.write(data)
        f.seek(0)
        r = vm("--smp", "4", *mode, cmd=["sh", "-c", script], stdin=f if as_file else data, timeout=100)
    got, other = (r.out, r.err) if target == "out" else (r.err, r.out)
    expect(other == b"", "bytes on the other stream; %s" % r)
    expect(len(got) == len(data), "%d of %d bytes came back" % (len(got), len(data)))
    at = next((i for i in range(len(data)) if got[i] != data[i]), None)
    expect(at is None, "byte %s differs" % at)


LARGE, SMALL = 256 * 1024, 16 * 1024
case("stdin-file-to-stdout", 120, args=("out", LARGE, True))(through)
case("stdin-file-to-stderr", 120, args=("err", LARGE, True))(through)
case("stdin-pipe-to-stdout", 120, args=("out", SMALL, False))(through)
case("stdin-pipe-to-stderr", 120, args=("err", SMALL, False))(through)
case("stdin-pipe-to-stdout-det", 120, args=("out", LARGE, False, "--det"))(through)
case("stdin-pipe-large", 300, full=True, args=("out", LARGE, False))(through)


@case("stdout-and-stderr-apart")
def apart():
    r = vm("--smp", "2", cmd=["sh", "-c", "echo one; echo two >&2; echo three"])
    expect(r.out == b"one\nthree\n" and r.err == b"two\n", str(r))


@case("stdin-live")
def live():
    """Input reaches a running command before its end of file."""
    proc = subprocess.Popen([VM, "--smp", "2", "--timeout", "40", "--", "sh", "-c",
                             "read a; echo got $a; read b; echo got $b; cat"],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for word in (b"first", b"second"):
            proc.stdin.write(word + b"\n")
            proc.stdin.flush()
            line = proc.stdout.readline()
            expect(line == b"got " + word + b"\n", "got %r" % line)
        out, err = proc.communicate(b"rest", timeout=60)
        expect(out == b"rest" and proc.returncode == 0, "%r %r %d" % (out, err, proc.returncode))
    finally:
        proc.terminate()
        proc.wait()


@case("stdin-empty")
def empty():
    r = vm("--smp", "1", cmd=["wc", "-c"])
    expect(r.text.strip() == "0", str(r))


@case("arguments")
def arguments():
    """Any bytes, empty ones too, arrive as given."""
    odd = [b"", b" a  b ", b"'\"$(x)`\\", bytes(range(1, 128)), bytes(range(128, 256)), b"a,b,,c", b"--"]
    r = vm("--smp", "1", cmd=["printf", "%s|"] + [os.fsdecode(a) for a in odd])
    expect(r.out == b"".join(a + b"|" for a in odd), str(r))


@case("add-file")
def add_file():
    with tempfile.TemporaryDirectory() as folder:
        data = noise(100_000, 2)
        for name, content in (("blob", data), ("script", b"#!/bin/sh\necho ran $1\n"), ("a,b", b"comma\n")):
            with open(os.path.join(folder, name), "wb") as f:
                f.write(content)
        r = vm("--smp", "1", "--add", folder + "/blob:/data/deep/blob", "--add", folder + "/script",
               "--add", folder + "/a,b:/data/ab",
               cmd=["sh", "-c", "cat /data/deep/blob; cat /data/ab; script it"])
        expect(r.out == data + b"comma\nran it\n", str(r))


@case("add-file-iso", 90)
def add_file_iso():
    with tempfile.NamedTemporaryFile() as f:
        f.write(b"from the second disk\n")
        f.flush()
        r = vm("--boot", "iso", "--smp", "2", "--add", f.name + ":/data/x", cmd=["cat", "/data/x"])
        expect(r.text == "from the second disk\n", str(r))


@case("log-option")
def log_option():
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/log"
        vm("--smp", "3", "--log", path, cmd=["sh", "-c", "echo through kmsg > /dev/kmsg"])
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        for words in ("through kmsg", "power-off: switches", "serial console"):
            expect(words in text, "%r is not in the log: %s" % (words, text[-1500:]))


@case("background-child-does-not-hold-the-end")
def background():
    r = vm("--smp", "2", cmd=["sh", "-c", "sleep 1000 & echo done; exit 3"], timeout=30, rc=3)
    expect(r.text == "done\n" and r.seconds < 20, str(r))


@case("closed-reader")
def closed_reader():
    """tools/vm -- yes | head -1 ends, as a local yes would."""
    r = subprocess.run([VM + " --smp 2 --timeout 60 -- yes | head -n 1"], shell=True, timeout=70,
                       capture_output=True, stdin=subprocess.DEVNULL, check=False)
    expect(r.stdout == b"y\n", repr(r))


SCRIPTS = (  # name, script, standard output
    ("pipeline", "yes | head -n 3 | wc -l", "3\n"),
    ("redirect", "cat < /etc/passwd > /dev/null && echo ok; ls /nonexistent 2>&1 | wc -l", "ok\n1\n"),
    ("subshell", "(exit 4); echo $?; x=$(echo a | tr a b); echo $x", "4\nb\n"),
    ("background", "sleep 0.2 & p=$!; kill $p; wait $p; echo $?", "143\n"),
    ("wait-many", "for i in 1 2 3 4 5 6 7 8; do (exit $i) & done; wait; echo all", "all\n"),
    ("trap", "trap 'echo caught' TERM; kill -TERM $$; echo after", "caught\nafter\n"),
    ("stop-cont", "sleep 0.1 & kill -STOP $!; kill -CONT $!; wait $!; echo $?", "0\n"),
    ("devices", "head -c 5 /dev/zero | wc -c; echo x > /dev/null; cat /dev/null; echo ok", "5\nok\n"),
    ("heredoc", "cat <<E\nin $((6 * 7))\nE", "in 42\n"),
    ("proc", "cat /proc/self/stat | cut -d' ' -f2; grep -c Name /proc/$$/status", "(cat)\n1\n"),
    ("ps", "sleep 5 & ps | grep -c 'sleep 5$'; kill $!", "1\n"),
    ("deep-fork", "sh -c 'sh -c \"sh -c \\\"echo deep\\\"\"'", "deep\n"),
    ("sort", "echo 3 1 2 | tr ' ' '\\n' | sort | tr '\\n' ' '", "1 2 3 "),
    ("sequence", "seq 1 20000 | awk '{s+=$1} END {print s}'", "200010000\n"),
)


def script_case(script, out):
    r = vm("--smp", "4", cmd=["sh", "-c", script], rc=None)
    expect(r.text == out, "expected %r; %s" % (out, r))


for name, script, out in SCRIPTS:
    case("shell-" + name, 60, args=(script, out))(script_case)

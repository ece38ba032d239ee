#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Host test of hostlink: builds it with a socket in place of the serial port and plays the host's
# side of the protocol. Prints TAP lines; exits 1 if a case fails. Usage: hostlink_test.py [CC]
import os
import random
import select
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
CC = sys.argv[1] if len(sys.argv) > 1 else "cc"
failures = number = 0


def build(tmp):
    exe = os.path.join(tmp, "hostlink")
    subprocess.check_call([CC, "-std=gnu11", "-O1", "-g", "-Wall", "-Wextra", "-Werror",
                           '-DVM_DIR="%s"' % tmp, "-o", exe,
                           os.path.join(HERE, "hostlink.c"), os.path.join(HERE, "uart_fd.c")])
    return exe


def run(exe, tmp, argv, stdin=b"", file_stdin=None, send_end=True, timeout=20):
    """Returns (stdout, stderr, status or None, bytes of stdin accepted)."""
    with open(os.path.join(tmp, "argv"), "wb") as f:
        f.write(b"".join(a.encode() + b"\0" for a in argv))
    path = os.path.join(tmp, "stdin")
    if os.path.exists(path):
        os.unlink(path)
    if file_stdin is not None:
        with open(path, "wb") as f:
            f.write(file_stdin)
    ours, theirs = socket.socketpair()
    child = subprocess.Popen(["sh", "-c", "exec %s 3<&%d" % (exe, theirs.fileno())],
                             pass_fds=[theirs.fileno()], env={"PATH": os.environ["PATH"]})
    theirs.close()
    ours.setblocking(False)
    wire = b"".join(b"I" + struct.pack("<H", len(p)) + p for p in
                    (stdin[i:i + 512] for i in range(0, len(stdin), 512)))
    if send_end and file_stdin is None:
        wire += b"Z\0\0"
    buf, out, err, status, sent, ready = b"", [], [], None, 0, False
    end = time.time() + timeout
    while time.time() < end:
        r, w, _ = select.select([ours], [ours] if ready and sent < len(wire) else [], [], 0.5)
        if w:
            try:
                sent += ours.send(wire[sent:sent + 4096])
            except (BrokenPipeError, ConnectionResetError):
                sent = len(wire)
        if r:
            try:
                data = ours.recv(65536)
            except ConnectionResetError:
                data = b""
            if not data:
                break
            buf += data
            while len(buf) >= 3 and len(buf) >= 3 + struct.unpack_from("<H", buf, 1)[0]:
                n = struct.unpack_from("<H", buf, 1)[0]
                kind, payload, buf = buf[:1], buf[3:3 + n], buf[3 + n:]
                if kind == b"R":
                    ready = True
                elif kind == b"O":
                    out.append(payload)
                elif kind == b"E":
                    err.append(payload)
                elif kind == b"X":
                    status = struct.unpack("<I", payload)[0]
                else:
                    raise SystemExit("bad frame %r" % kind)
    ours.close()
    try:
        child.wait(2)
    except subprocess.TimeoutExpired:
        child.kill()
        status = None
    return b"".join(out), b"".join(err), status, sent


def check(name, cond, detail=""):
    global failures, number
    number += 1
    print("%sok %d - %s" % ("" if cond else "not ", number, name))
    if not cond:
        failures += 1
        print("# %s" % (detail,))


def main():
    with tempfile.TemporaryDirectory() as tmp:
        exe = build(tmp)
        blob = bytes(random.Random(1).randrange(256) for _ in range(300000))
        o, e, s, _ = run(exe, tmp, ["sh", "-c", "echo out; echo err >&2; exit 7"])
        check("streams and status", (o, e, s) == (b"out\n", b"err\n", 7), (o, e, s))
        o, e, s, _ = run(exe, tmp, ["cat"], stdin=blob)
        check("300 kB of binary through cat", o == blob and s == 0, (len(o), e, s))
        o, e, s, _ = run(exe, tmp, ["sh", "-c", "sleep 1; cat"], stdin=blob)
        check("back-pressure loses nothing", o == blob and s == 0, (len(o), e, s))
        o, e, s, _ = run(exe, tmp, ["sh", "-c", "exit 3"], stdin=blob)
        check("a command that does not read stdin", s == 3, (o, e, s))
        o, e, s, _ = run(exe, tmp, ["sh", "-c", "exec <&-; sleep 1; echo hi"], stdin=blob)
        check("a command that closes stdin", (o, s) == (b"hi\n", 0), (o, e, s))
        o, e, s, _ = run(exe, tmp, ["no-such-command"])
        check("command not found is 127", s == 127 and b"no-such-command" in e, (o, e, s))
        o, e, s, _ = run(exe, tmp, ["/etc/passwd"])
        check("not executable is 126", s == 126 and e, (o, e, s))
        o, e, s, _ = run(exe, tmp, ["sh", "-c", "kill -9 $$"])
        check("killed by signal is 128 + signal", s == 137, (o, e, s))
        o, e, s, _ = run(exe, tmp, ["sh", "-c", "sleep 30 & echo bye"], timeout=5)
        check("a background child does not hold the end", (o, s) == (b"bye\n", 0), (o, e, s))
        o, e, s, _ = run(exe, tmp, ["cat"], file_stdin=blob)
        check("/vm/stdin is the command's stdin", o == blob and s == 0, (len(o), e, s))
        o, e, s, _ = run(exe, tmp, ["sh", "-c", "echo early; exec sleep 30"], send_end=False,
                         timeout=3)
        check("output comes while the command runs", (o, s) == (b"early\n", None), (o, e, s))
        o, e, s, _ = run(exe, tmp, ["sh", "-c", "head -c 2000000 /dev/zero; exit 5"])
        check("2 MB out", len(o) == 2000000 and s == 5, (len(o), e, s))
        o, e, s, _ = run(exe, tmp, ["printf", "%s|", "a b", "", "c"])
        check("arguments with spaces and empty ones", o == b"a b||c|", (o, e, s))
    print("1..%d" % number)
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())

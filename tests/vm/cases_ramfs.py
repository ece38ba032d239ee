# SPDX-License-Identifier: MIT
#
# /tmp as programs use it, and the drivers' own tests on the host. What each
# call promises is judged by tests/guest/tmpfile.c and tests/guest/server.c.
"""Writable files of drivers/ramfs."""

import subprocess

from lib import ROOT, case, expect, vm


@case("drivers-on-host", 120)
def drivers():
    """Line discipline, screen and the tree of ramfs, with sanitizers."""
    r = subprocess.run(["make", "-s", "driver-unit-test"], cwd=ROOT, capture_output=True, check=False, timeout=110)
    expect(r.returncode == 0, (r.stdout + r.stderr).decode("utf-8", "replace")[-1500:])
    expect(b"ramfs store: ok" in r.stdout, "the tree of ramfs was not tested")


SCRIPT = r"""
set -e
cd /tmp
seq 1 2000 > numbers
sort -rn numbers > backwards
head -n 1 backwards
sort -n backwards | cmp - numbers && echo same
cat >> note <<E
here $((6 * 7))
E
cat note
(printf ' isecond line\033'; sleep 0.5; printf ':wq\n') | vi note > /dev/null 2>&1
cat note; echo
mkdir -p a/b/c && cp -r /etc a/b && ls a/b/etc | wc -l
mv a/b d && find . | sort | head -n 4
tar cf t.tar d && tar tf t.tar | wc -l
sed -i s/here/there/ note && cat note
cp /bin/busybox busybox && ./busybox echo run from here
dd if=/dev/zero of=big bs=64k count=64 2> /dev/null && ls -l big | awk '{print $5}'
rm -r *
ls -A
"""


@case("ramfs-in-a-shell", 60)
def shell():
    r = vm("--smp", "2", cmd=["sh", "-c", SCRIPT])
    lines = r.text.splitlines()
    expect(lines[:3] == ["2000", "same", "here 42"], str(r))
    expect("second line" in lines[3], "vi: %s" % r)
    expect(lines[-2:] == ["run from here", "4194304"], str(r))


@case("ramfs-limit", 60)
def limit():
    """Half of the memory is what files may take; then it is ENOSPC, and the machine goes on."""
    r = vm("--smp", "1", "--mem", "64", cmd=[
        "sh", "-c", "dd if=/dev/zero of=/tmp/big bs=64k count=2000; rm /tmp/big; echo x > /tmp/y; cat /tmp/y"])
    expect(b"No space left" in r.err and r.out == b"x\n", str(r))

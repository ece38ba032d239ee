# SPDX-License-Identifier: MIT
#
# The same binary makes the same system calls on the host's Linux and here, with
# good and bad arguments; results and errors must agree, row by row, but for the
# differences that are meant and listed here with their reason.
"""Results and errno of every supported call, compared with the host's."""

import os
import re
import subprocess

from lib import ROOT, Skip, case, expect, vm

PROGRAM = os.path.join(ROOT, "build", "guest", "test_conform")

# Row: (what we answer, why it is not what Linux answers).
MEANT = {
    'read(FILE_RW, BUF, -1)': ("8", "a length is cut to what there is to read, not refused"),
    'socket(AF_UNIX, 99, 0)': ("EAFNOSUPPORT", "there is no socket() of any kind"),
    'rmdir(S("d/."))': ("0", "a path's dots are gone when the directory is found"),
    'link(S("f"), S("g"))': ("EPERM", "no hard links"),
    'mount(S("x"), S("none"), S("nosuchfs"), 0, 0)': ("ENODEV", "the type is looked at before the directory"),
    'mlock(HOLE, PAGE)': ("0", "nothing is ever paged out; the range is not looked at"),
    'munlock(HOLE, PAGE)': ("0", "nothing is ever paged out; the range is not looked at"),
    'timer_create(CLOCK_THREAD_CPUTIME_ID, 0, BUF)': ("EOPNOTSUPP", "no timers of a thread's CPU time"),
}

# Calls that a Linux may have been built without: its ENOSYS says nothing about us.
OPTIONAL = ("ioperm",)


def rows(text):
    """The results by row. A row that is written twice would hide one of the two."""
    found = {}
    for line in text.splitlines():
        name, equals, result = line.rpartition(" = ")
        expect(equals, "not a row: %r" % line)
        expect(name not in found, "two rows are " + name)
        found[name] = result
    return found


def differences(host, ours):
    """Reasons to fail, from two dicts of results by row."""
    bad = ["only %s has the row %s" % ("Linux" if r in host else "Jiffies", r) for r in sorted(host.keys() ^ ours.keys())]
    for row in sorted(host.keys() & ours.keys()):
        optional = row.split("(")[0] in OPTIONAL and host[row] == "ENOSYS"
        if row in MEANT and ours[row] != MEANT[row][0]:
            bad.append("%s is %s, the list of differences says %s" % (row, ours[row], MEANT[row][0]))
        elif row in MEANT and ours[row] == host[row]:
            bad.append("%s agrees by now: take it off the list of differences" % row)
        elif row not in MEANT and ours[row] != host[row] and not optional:
            bad.append("%s is %s, on Linux %s" % (row, ours[row], host[row]))
    return bad + ["no row is " + row for row in sorted(MEANT.keys() - ours.keys())]


@case("conform", 150)
def conform():
    """Two runs of one binary, compared."""
    if os.geteuid() != 0:
        raise Skip("Jiffies knows root only, and what Linux answers others is another matter")
    expect(os.path.exists(PROGRAM), "%s is not built: run make" % PROGRAM)
    host = subprocess.run([PROGRAM], capture_output=True, stdin=subprocess.DEVNULL, timeout=100, check=False)
    expect(host.returncode == 0, "on Linux: status %d: %r" % (host.returncode, host.stdout[-300:] + host.stderr[-300:]))
    ours = vm("--smp", "1", cmd=["test_conform"], timeout=100)
    bad = differences(rows(host.stdout.decode()), rows(ours.text))
    expect(not bad, "%d rows: %s" % (len(bad), "; ".join(bad[:20])))


@case("conform-rows", 10)
def conform_rows():
    """A call that is supported has a row."""
    with open(os.path.join(ROOT, "kernel", "sys", "calls.def"), encoding="utf-8") as f:
        calls = set(re.findall(r"^(?:FULL_)?CALL\(\d+, (\w+)\)", f.read(), re.M))
    with open(os.path.join(ROOT, "tests", "guest", "conform_rows.h"), encoding="utf-8") as f:
        tested = set(re.findall(r"^ROW\w*\((\w+)", f.read(), re.M))
    expect(len(calls) > 150, "calls.def is not what this reads: %d calls" % len(calls))
    expect(not calls - tested, "no row in conform_rows.h: " + ", ".join(sorted(calls - tested)))
    expect(not tested - calls, "rows of calls that are not supported: " + ", ".join(sorted(tested - calls)))

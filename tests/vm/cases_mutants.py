# SPDX-License-Identifier: MIT
#
# Do the self-tests have teeth? Each mutant is one deliberate bug; the kernel
# is built with it in a copy of the tree, and a self-test of the expected name
# must fail (or the kernel panic while it runs).
"""Deliberate bugs that a named self-test must catch."""

import fnmatch
import os
import re
import subprocess
import tempfile

from cases_build import clean_copy, make
from lib import ROOT, VM, case, expect

# name, file, the line as it is, the line with the bug, self-tests of which one must fail
MUTANTS = ()


def mutant(path, right, wrong, globs):
    with tempfile.TemporaryDirectory(prefix="jiffies-mutant-") as folder:
        clean_copy(folder)
        target = os.path.join(folder, path)
        with open(target, encoding="utf-8") as f:
            text = f.read()
        expect(text.count(right) == 1, "%r is in %s %d times, not once: update the mutant"
               % (right, path, text.count(right)))
        with open(target, "w", encoding="utf-8") as f:
            f.write(text.replace(right, wrong))
        make(folder, "DEBUG=1", "kernel")
        os.link(os.path.join(ROOT, "build", "initrd.cpio"), os.path.join(folder, "build-debug", "initrd.cpio")) \
            if os.stat(ROOT).st_dev == os.stat(folder).st_dev else \
            subprocess.run(["cp", os.path.join(ROOT, "build", "initrd.cpio"), os.path.join(folder, "build-debug")], check=True)
        log = os.path.join(folder, "log")
        r = subprocess.run(
            [VM, "--build", os.path.join(folder, "build-debug"), "--smp", "4", "--timeout", "120", "--log", log, "--selftest"],
            capture_output=True, stdin=subprocess.DEVNULL, timeout=200, check=False)
        out = r.stdout.decode("utf-8", "replace")
        failed = re.findall(r"^not ok \d+ (?:- )?(\S+)", out, re.M)
        with open(log, encoding="utf-8", errors="replace") as f:
            running = re.findall(r"KTAP: # running (\S+)", f.read())
        if r.returncode in (124, 126) and running:
            failed.append(running[-1])
        caught = [t for t in failed if any(fnmatch.fnmatchcase(t, g) for g in globs.split())]
        expect(r.returncode != 0, "no self-test noticed the bug")
        expect(caught, "status %d, failed: %s; expected one of %s" % (r.returncode, " ".join(failed) or "none by name", globs))


for mutant_name, *rest in MUTANTS:
    case("mutant-" + mutant_name, 300, full=True, args=tuple(rest))(mutant)

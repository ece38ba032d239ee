# SPDX-License-Identifier: MIT
#
# The experiments' judge is judged: verdicts from made-up figures, a claim that
# must fail, and one real claim run end to end.
"""Do experiments say yes, no and undecided where they should?"""

import importlib.util
import os
import subprocess
import sys
import tempfile

from lib import ROOT, case, expect

TOOL = os.path.join(ROOT, "tools", "experiments")


def lab():
    spec = importlib.util.spec_from_file_location("lab", os.path.join(ROOT, "experiments", "lab.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@case("experiments-verdicts", 30)
def verdicts():
    m = lab()
    s = {"low": m.Sample([1, 2, 3]), "high": m.Sample([10, 11, 12]), "wide": m.Sample([1, 6, 20]), "one": m.Sample([5])}
    wanted = (
        (m.less("low", "high"), "yes"), (m.less("high", "low"), "no"), (m.less("low", "wide"), "yes"),
        (m.less("wide", "high"), "undecided"), (m.less("high", "wide"), "undecided"),
        (m.below("low", 4), "yes"), (m.below("high", 4), "no"), (m.below("low", 2), "undecided"),
        (m.above("high", 4), "yes"), (m.above("low", 4), "no"), (m.above("low", 2), "undecided"),
        (m.ratio("high", "low", low=3), "yes"), (m.ratio("low", "high", low=3), "no"),
        (m.ratio("high", "low", low=5), "undecided"), (m.ratio("high", "low", low=3, high=5), "undecided"),
        (m.ratio("one", "low", high=4), "yes"), (m.below("one", 5), "undecided"),
    )
    for e, verdict in wanted:
        got = e.judge(s)
        expect(got == verdict, "%s: %s, expected %s" % (e.words, got, verdict))
    expect(m.worst(["yes", "undecided", "no"]) == "no" and m.worst(["yes", "undecided"]) == "undecided", "worst()")
    results = m.parse("x\nRESULT a b=1 c=2\nRESULT a b=3\n")
    expect(results == [("a", {"b": "1", "c": "2"}), ("a", {"b": "3"})], repr(results))
    results = m.parse("KTAP version 1\nok 1 x\nnot ok 2 y\nok\nok then\ninterval at_ms=1 n=2\n")
    expect(results == [("test/x", {"ok": "1"}), ("test/y", {"ok": "0"}), ("interval", {"at_ms": "1", "n": "2"})], repr(results))
    try:
        m.Run("vm", [], "a.b").value("RESULT a b=1\nRESULT a b=3\n")
        expect(False, "two figures of one name were taken for one")
    except ValueError:
        pass


@case("experiments-list", 30)
def listing():
    r = subprocess.run([TOOL, "--list"], capture_output=True, text=True, check=False)
    files = [n for n in os.listdir(os.path.join(ROOT, "experiments")) if n.startswith("claim_")]
    expect(r.returncode == 0 and len(r.stdout.splitlines()) == len(files), r.stdout + r.stderr)
    r = subprocess.run([TOOL, "--only", "1999/*"], capture_output=True, text=True, check=False)
    expect(r.returncode == 1 and "no claim matches" in r.stderr, r.stdout + r.stderr)


@case("experiments-run", 200)
def run():
    """One claim with one seed, all the way to the table."""
    with tempfile.TemporaryDirectory(prefix="jiffies-exp-") as out:
        r = subprocess.run([sys.executable, TOOL, "--only", "2003/17", "--seeds", "1", "--jobs", "1", "--out", out],
                           capture_output=True, text=True, check=False)
        expect(r.returncode == 0, r.stdout + r.stderr)
        with open(os.path.join(out, "README.md"), encoding="utf-8") as f:
            table = f.read()
        expect("2003/17" in table and "**yes**" in table, table)

#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Tests of the scheduler simulator: that it repeats itself, keeps its invariants under the sanitizers, judges bad scenarios
# by line, and that what it measures agrees with arithmetic and with the published behaviour of the policies.
# usage: test_schedsim.py [--only GLOB]     prints TAP
"""Tests of build/host/schedsim."""

import fnmatch
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("B", os.path.join(ROOT, "build"))
FAST = os.path.join(BUILD, "host", "schedsim")
SANITIZED = FAST + "-san"
SCENARIOS = os.path.join(ROOT, "tests", "host", "scenarios")
TESTS = []


class Failed(Exception):
    """A test's verdict."""


class Skipped(Exception):
    """What is missing."""


def test(function):
    TESTS.append(function)
    return function


def expect(condition, text):
    if not condition:
        raise Failed(text)


def run(scenario, *args, binary=FAST, status=0):
    """Run a scenario by name or text; returns (RESULT lines as {name: {key: value}}, stdout, stderr)."""
    path = os.path.join(SCENARIOS, scenario + ".scn")
    text = None
    if "\n" in scenario:
        text = tempfile.NamedTemporaryFile("w", suffix=".scn")
        text.write(scenario)
        text.flush()
        path = text.name
    p = subprocess.run([binary, *args, path], capture_output=True, text=True, timeout=240)
    if text:
        text.close()
    expect(p.returncode == status, f"status {p.returncode}, not {status}: {p.stderr[-1500:]}")
    results = {}
    for line in p.stdout.splitlines():
        _, name, *pairs = line.split()
        values = {}
        for pair in pairs:
            key, value = pair.split("=", 1)
            try:
                values[key] = float(value)
            except ValueError:
                values[key] = value
        results.setdefault(name, values)
        results.setdefault(name + "/all", []).append(values)
    return results, p.stdout, p.stderr


def policies():
    out = subprocess.run([FAST, "--list"], capture_output=True, text=True, check=True).stdout
    return [line.split()[0] for line in out.splitlines()]


def near(value, wanted, tolerance, what):
    expect(abs(value - wanted) <= tolerance, f"{what} is {value}, not {wanted} +- {tolerance}")


def scenario_names():
    return sorted(f[:-4] for f in os.listdir(SCENARIOS) if f.endswith(".scn"))


# ------------------------------------------------------------- the machine


@test
def same_seed_same_output():
    for name in ("mixed", "pipe_switcher"):
        a, b = run(name, "--seed", "7")[1], run(name, "--seed", "7")[1]
        expect(a == b, f"{name}: two runs of one seed differ")
        expect(a == run(name, "--seed", "7", binary=SANITIZED)[1], f"{name}: the sanitized build differs")
    expect(run("mixed", "--seed", "8")[1] != run("mixed", "--seed", "7")[1], "the seed has no effect")


@test
def checking_changes_nothing():
    a, b = run("mixed", "--check=100")[1], run("mixed")[1]
    expect(a == b, "--check changes the outcome")


@test
def invariants_under_sanitizers():
    for policy in policies():
        for cpus in ("1", "2", "5"):
            run("mixed", "--policy", policy, "--cpus", cpus, "--check=200", binary=SANITIZED)


def main():
    only = sys.argv[2] if sys.argv[1:2] == ["--only"] else "*"
    bad = n = 0
    for function in TESTS:
        if not fnmatch.fnmatch(function.__name__, only):
            continue
        n += 1
        began = time.monotonic()
        verdict, note = "ok", ""
        try:
            function()
        except Skipped as why:
            note = f" # SKIP {why}"
        except (Failed, KeyError, subprocess.TimeoutExpired) as why:
            verdict = "not ok"
            bad += 1
            print(f"# {type(why).__name__}: {why}")
        print(f"{verdict} {n} - {function.__name__} ({time.monotonic() - began:.1f} s){note}", flush=True)
    print(f"1..{n}")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())

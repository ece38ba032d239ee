#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# Counts the instructions of each policy's enqueue(), pick_next() and dequeue() at 10 and at 100,000 runnable tasks, with
# valgrind's callgrind: an O(1) policy needs as many with either. usage: sim_cost.py [POLICY...]
"""Instructions per scheduling operation against the number of runnable tasks."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("B", os.path.join(ROOT, "build"))
COUNTS = (10, 100000)
REPEATS = 50
OPERATIONS = ("enqueue", "pick", "dequeue")


def available():
    return shutil.which("valgrind") is not None


def policies():
    out = subprocess.run([os.path.join(BUILD, "host", "schedsim"), "--list"], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in out.stdout.splitlines()]


def inclusive(path):
    """Instructions by function, with those it calls, from a callgrind output file."""
    names, cost, current = {}, {}, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            m = re.match(r"(c?)fn=\((\d+)\)(?: (.*))?", line)
            if m and m.group(3):
                names[m.group(2)] = m.group(3).split("'")[0].split(".")[0]
            if m and not m.group(1):
                current = names[m.group(2)]
            elif current and re.match(r"[+\-*0-9]", line):
                # "line cost", also of the call that a line before it, "calls=", announced
                cost[current] = cost.get(current, 0) + int(line.split()[1])
    return cost


def measure(policy, tasks, repeats):
    """Instructions of one operation each, as {operation: instructions}."""
    with tempfile.TemporaryDirectory() as tmp:
        out = os.path.join(tmp, "callgrind")
        subprocess.run(["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}",
                        os.path.join(BUILD, "host", "schedcost"), policy, str(tasks), str(repeats)],
                       check=True, capture_output=True, timeout=280)
        cost = inclusive(out)
    return {op: cost.get("bench_" + op, 0) / repeats for op in OPERATIONS}


def compare(policy):
    """(instructions at few tasks, at many) by operation."""
    few, many = (measure(policy, n, REPEATS) for n in COUNTS)
    return {op: (few[op], many[op]) for op in OPERATIONS}


def wrong(policy, op, few, many):
    """What is not as it should be, or None: goodness looks at all tasks to pick one, nobody else does."""
    if policy == "goodness" and op == "pick":
        return None if many > COUNTS[1] > 100 * few else f"goodness picks with {few} and {many} instructions"
    if 0 < many < 1.1 * few:
        return None
    return f"{policy}: {op} needs {few} instructions with {COUNTS[0]} tasks, {many} with {COUNTS[1]}"


def main():
    bad = 0
    if not available():
        print("valgrind is not installed (Debian: apt-get install valgrind)", file=sys.stderr)
        return 1
    for policy in sys.argv[1:] or policies():
        for op, (few, many) in compare(policy).items():
            print(f"RESULT cost/{policy} op={op} insns_at_{COUNTS[0]}={few:.1f} insns_at_{COUNTS[1]}={many:.1f} "
                  f"ratio={many / max(few, 1):.3f}", flush=True)
            complaint = wrong(policy, op, few, many)
            if complaint:
                print(complaint, file=sys.stderr)
                bad += 1
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())

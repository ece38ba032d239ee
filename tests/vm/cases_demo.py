# SPDX-License-Identifier: MIT
#
# The demos: every one is done without a terminal and its claims must hold with
# the numbers of that run; a claim that does not hold is noticed; what is asked
# for wrongly is said; nothing of the machine is left changed.
"""Demos."""

import glob
import os
import re
import shutil
import subprocess
import tempfile

from lib import ROOT, Console, case, expect, results, vm

TEXTS = sorted(glob.glob(os.path.join(ROOT, "user/etc/demos/*.demo")))
CLAIM = re.compile(r"^(true |FALSE) (.*): (.*)$", re.M)


# What holds beyond the claims in virtual time, where no host disturbs: demo, run, program, key, least, most.
STRICT = [("1", "nobonus", "audio", "missed", 20, 40), ("1", "o1", "audio", "missed", 0, 8), ("2", "o1", "phase0", "prio", 22, 24),
          ("2", "o1", "phase1", "prio", 24, 25), ("3", "o1", "pipe_switch", "switches_per_byte", 0.5, 2.1),
          ("3", "nobonus", "pipe_switch", "switches_per_byte", 0.0001, 0.002), ("4", "o1", "hog", "gap_max_ms", 0, 2),
          ("5", "o1", "cheat", "obtained_pct", 80, 95), ("5", "o1", "cheat", "shown_pct", 0, 5), ("6", "o1", "spread", "busy_min_pct", 95, 100),
          ("6", "o1", "spread", "all_cpus_after_ms", 0, 20), ("6", "o1", "spread", "migrations", 6, 16)]


def strict(number, text):
    for demo, run, program, key, least, most in STRICT:
        if demo == number:
            part = text.split("\nRUN %s\n" % run)[1].split("\nRUN ")[0]
            value = float(results(part, program)[0][key])
            expect(least <= value <= most, "demo %s, run %s: %s %s = %g, not %g to %g" % (number, run, program, key, value, least, most))


def checked(number, text):
    """The claims of a demo's output: (holds, what is claimed, with which numbers)."""
    expect(results(text), "demo %s: no RESULT in %r" % (number, text[-600:]))
    claims = CLAIM.findall(text)
    expect(claims, "demo %s: no claim in %r" % (number, text[-600:]))
    for holds, _, told in claims:
        # Judged again, by other means, from the numbers that are shown.
        expect(re.fullmatch(r"[-0-9.*/<> ]+", told) and re.search(r"\d", told), "not numbers: %r" % told)
        expect(eval(told) == (holds == "true "), "demo %s judges %r as %s" % (number, told, holds))  # pylint: disable=eval-used
    return claims


def does(*numbers, smp):
    r = vm("--det", "--smp", str(smp), timeout=100, cmd=["sh", "-c", "sched set max_sleep_avg=9000; for n in %s; do demo -c $n; echo status $?; done; "
                                            "sched | head -n 1; sched get max_sleep_avg; ls /tmp" % " ".join(numbers)])
    parts = re.split(r"^status (\d+)\n", r.text, flags=re.M)
    expect(len(parts) == 2 * len(numbers) + 1, str(r))
    for i, number in enumerate(numbers):
        text, status = parts[2 * i], parts[2 * i + 1]
        claims = checked(number, text)
        expect(status == "0" and all(c[0] == "true " for c in claims), "demo %s: status %s, %s" % (number, status, text[-1500:]))
        expect(text.startswith("Demo %s: " % number) and "{" not in text and not r.err, "demo %s: %r, %r" % (number, text[:200], r.err))
        strict(number, text)
        # All but the lines of numbers fit the screen; question and answer each on one.
        wide = [line for line in text.split("\n") if len(line) > 79 and not line.startswith("RESULT")]
        expect(not wide, "demo %s: wider than a screen: %r" % (number, wide))
        question, rest = text.split("\nRUN ", 1)
        expect(question.count("\n") < 23 and rest.count("\n") < 45, "demo %s is longer than its screens" % number)
    expect(parts[-1] == "policy: o1\n9000\n", "left behind: %r" % parts[-1])


@case("demo-one-cpu", 150)
def one_cpu():
    """Music beside hogs, the estimator, the pipe, the tick dodger on one CPU: every claim holds."""
    does("1", "2", "3", "5", smp=1)


@case("demo-four-cpus", 100)
def four_cpus():
    """A migration and the pinned hogs let go on four CPUs."""
    does("4", "6", smp=4)


@case("demo-wrong", 60)
def wrong():
    """The wrong policy makes a claim false, status 1; wrong arguments and too few CPUs are named, status 2."""
    expect([os.path.basename(t) for t in TEXTS] == ["%d.demo" % (i + 1) for i in range(6)], "other demos than are tested here: %s" % TEXTS)
    script = ("demo -p nobonus -c 2 >/tmp/o; echo $?; cat /tmp/o; demo 4 2>&1; echo $?; demo 7 2>&1; echo $?; demo -x 2>&1; echo $?; demo ../demos/1 2>&1 | head -n 1; "
              "demo -p none -c 3 2>&1 | tail -n 12; demo -r none 1 2>&1; echo $?; echo RUN o1 >/tmp/n; demo -a /tmp/n 5 2>&1 >/dev/null; echo $?; "
              "demo | wc -l; demo -q 1 | head -n 1; demo -q 1 | grep -c RESULT; sched | head -n 1")
    r = vm("--det", "--smp", "1", cmd=["sh", "-c", script])
    first, rest = r.text.split("demo: demo 4 needs 2 CPUs, and here are 1\n2\n")
    expect(first.startswith("1\n") and "FALSE" in [c[0] for c in checked("2", first)], str(r))
    expect(rest.startswith('demo: there is no demo "7". There are:\n  1  ') and "\n2\nusage: demo " in rest and 'no demo "../demos/1"' in rest, rest)
    expect('no policy "none"' in rest and "demo: run o1 could not begin" in rest and 'demo 1 has no run "none", only: nobonus o1 \n2\n' in rest, rest)
    expect(rest.endswith("demo: not measured: o1.cheat.obtained_pct\n2\n7\nDemo 1: music beside two hogs\n0\npolicy: o1\n"), rest)


@case("demo-stops", 60)
def stops():
    """On a terminal a demo waits for the prediction and before picture and answer; ^C leaves the policy as it was."""
    with Console(smp=2) as c:
        c.prompt()
        c.send("demo 4\r")
        c.wait(b"press Enter. ", what="the question")
        c.send("\r")
        c.wait(b"Enter: the picture. ", what="the run")
        c.send("\r")
        c.wait(b"migrate_task: hog", what="the picture")
        c.wait(b"Enter: the answer. ", what="the end of the picture")
        c.send("\r")
        c.wait(b"it left CPU 0: 0 < 1", what="the answer")
        c.prompt()
        c.send("demo 1\r")
        c.wait(b"press Enter. ", what="the question")
        c.send("\r")
        c.wait(b"RUN nobonus", what="the run")
        c.send("\x03")
        c.prompt()
        out = c.run("sched | head -n 1")
        expect("policy: o1" in out, "after ^C: %r" % out)


@case("demo-host", 90)
def host():
    """tools/demo: list, question, and the pipe switcher with a page of both runs; a false claim is status 1."""
    out = tempfile.mkdtemp(prefix="jiffies-demo-")
    try:
        build = os.path.join(out, "build")
        os.symlink(os.environ.get("JIFFIES_BUILD") or os.path.join(ROOT, "build"), os.path.join(out, "real"))
        os.mkdir(build)
        for name in os.listdir(os.path.join(out, "real")):
            if name != "demo":
                os.symlink(os.path.join(out, "real", name), os.path.join(build, name))

        def demo(*args):
            return subprocess.run([os.path.join(ROOT, "tools/demo"), *args], env=dict(os.environ, JIFFIES_BUILD=build),
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=80, check=False)

        r = demo()
        expect(r.returncode == 0 and re.findall(r"^  (\d)  ", r.stdout, re.M) == list("123456"), str(r))
        r = demo("-q", "3")
        expect(r.returncode == 0 and r.stdout.startswith("Demo 3: ") and "RUN" not in r.stdout, str(r))
        r = demo("9")
        expect(r.returncode == 2 and 'no demo "9"' in r.stderr, str(r))
        r = demo("-c", "3")
        expect(r.returncode == 0 and all(c[0] == "true " for c in checked("3", r.stdout)), str(r))
        with open(os.path.join(build, "demo/3.html"), encoding="utf-8") as f:
            page = f.read()
        expect("3.o1" in page and "3.nobonus" in page, "the page does not name both runs")
        r = demo("-p", "nobonus", "3")
        expect(r.returncode == 1 and "FALSE" in [c[0] for c in checked("3", r.stdout)], str(r))
    finally:
        shutil.rmtree(out)

# SPDX-License-Identifier: MIT
#
# What an experiment file says, and how its numbers become a verdict. One file
# of this folder is one published claim: it builds a Claim from runs (of the
# machine or of the simulator) and expectations about their figures. Running
# them is tools/experiments' work.
"""A claim: who said what, what is run, what must come out."""

import re
import statistics

YES, NO, UNDECIDED = "yes", "no", "undecided"


class Run:
    """One command, repeated with several seeds, that gives one figure a time."""

    def __init__(self, kind, argv, figure):
        self.kind = kind      # "vm" or "sim"
        self.argv = argv      # options and command, without the seed
        self.figure = figure  # "RESULT.KEY" or a function of the list of results

    def value(self, output):
        results = parse(output)
        if callable(self.figure):
            return float(self.figure(results))
        name, key = self.figure.rsplit(".", 1)
        found = [float(r[key]) for n, r in results if n == name and key in r]
        if len(found) != 1:
            raise ValueError("%d figures %s in the output" % (len(found), self.figure))
        return found[0]

    def command(self):
        words = [quoted(w) for w in self.argv]
        return " ".join((["tools/vm", "--det"] if self.kind == "vm" else ["build/host/schedsim"]) + words)


def quoted(word):
    return word if re.fullmatch(r"[-\w./=:,@%+]+", word) else "'%s'" % word.replace("'", "'\\''")


def parse(output):
    """The RESULT lines of a text: [(name, {key: value text})]; of a self-test's verdict ("test/NAME", {"ok": "1"}),
    of a line of a workload about a part of its time ("interval", {...})."""
    found = []
    for line in output.splitlines():
        words = line.split()
        if words[:1] == ["interval"]:
            words.insert(0, "RESULT")
        if words[:1] == ["RESULT"] and len(words) > 1:
            found.append((words[1], dict(w.split("=", 1) for w in words[2:] if "=" in w)))
        verdict = re.match(r"(not )?ok \d+ (\w+)$", line)
        if verdict:
            found.append(("test/" + verdict[2], {"ok": "0" if verdict[1] else "1"}))
    return found


def selected(results, name, where):
    """The lines @name whose fields are as @where says: window="spin"."""
    return [r for n, r in results if n == name and all(r.get(k) == v for k, v in where.items())]


def of(name, key, **where):
    """A figure where several lines have one name: of("task/worker", "gap_max_ms", window="spin")."""

    def figure(results):
        found = [r[key] for r in selected(results, name, where) if key in r]
        if len(found) != 1:
            raise ValueError("%d figures %s.%s with %s in the output" % (len(found), name, key, where))
        return found[0]

    return figure


def samples(results, name, start_s=0.0, end_s=float("inf")):
    """The lines of the simulator's `sample`, from one time to another."""
    return [r for r in selected(results, "sample/" + name, {}) if start_s <= float(r["t_ms"]) / 1000 < end_s]


def flagged(name, flag, start_s, end_s):
    """A figure: % of the samples that carry @flag."""

    def figure(results):
        found = samples(results, name, start_s, end_s)
        return 100.0 * sum(flag in r for r in found) / len(found)

    return figure


def vm(policy, command, figure, smp=1, knobs=None, options=()):
    """A run of the whole machine: @command is given to sh. @knobs: tunables, from the start."""
    argv = ["--sched", policy, "--smp", str(smp)]
    for name, value in (knobs or {}).items():
        argv += ["--append", "sched.%s=%s" % (name, value)]
    return Run("vm", argv + list(options) + ["--", "sh", "-c", command], figure)


def selftest(policy, glob, figure, smp=1):
    """The kernel's own tests of that name, in the machine."""
    return Run("vm", ["--sched", policy, "--smp", str(smp), "--selftest", glob], figure)


def sim(policy, scenario, figure, cpus=1, knobs=None, params=None, options=()):
    """A run of the simulator on tests/host/scenarios/@scenario.scn."""
    argv = ["--policy", policy, "--cpus", str(cpus)]
    for name, value in (knobs or {}).items():
        argv += ["--set", "%s=%s" % (name, value)]
    for name, value in (params or {}).items():
        argv += ["--param", "%s=%s" % (name, value)]
    return Run("sim", argv + list(options) + ["tests/host/scenarios/%s.scn" % scenario], figure)


class Sample:
    """The figures of one run over its seeds."""

    def __init__(self, values):
        self.values = sorted(values)
        self.median = statistics.median(self.values)
        if len(self.values) > 1:
            self.q1, _, self.q3 = statistics.quantiles(self.values, n=4, method="inclusive")
        else:
            self.q1 = self.q3 = self.values[0]


def decide(low, high, bound):
    """Is an interval below @bound? Not decided if it contains it."""
    return YES if high < bound else NO if low > bound else UNDECIDED


class Expectation:
    """Words for the table, and a judgement over the samples by label."""

    def __init__(self, words, judge):
        self.words = words
        self.judge = judge


def below(label, bound):
    return Expectation("%s < %g" % (label, bound), lambda s: decide(s[label].q1, s[label].q3, bound))


def above(label, bound):
    return Expectation("%s > %g" % (label, bound), lambda s: decide(-s[label].q3, -s[label].q1, -bound))


def less(one, other):
    """The quartile ranges must be apart, else no verdict."""

    def judge(s):
        a, b = s[one], s[other]
        return YES if a.q3 < b.q1 else NO if a.q1 > b.q3 else UNDECIDED

    return Expectation("%s < %s" % (one, other), judge)


def ratio(one, other, low=None, high=None):
    """The quotient of two medians is within bounds; the extremes of the quartiles must agree."""

    def judge(s):
        a, b = s[one], s[other]
        if min(b.q1, b.median) <= 0:
            return UNDECIDED
        found = (a.q1 / b.q3, a.q3 / b.q1)
        verdicts = []
        if low is not None:
            verdicts.append(decide(-found[1], -found[0], -low))
        if high is not None:
            verdicts.append(decide(found[0], found[1], high))
        return worst(verdicts)

    words = "%s/%s" % (one, other)
    return Expectation("%s%s%s" % ("%g < " % low if low is not None else "", words,
                                   " < %g" % high if high is not None else ""), judge)


def near(one, other, within):
    """All of one quartile range is within @within of all of the other."""

    def judge(s):
        a, b = s[one], s[other]
        return worst([decide(a.q1 - b.q3, a.q3 - b.q1, within), decide(b.q1 - a.q3, b.q3 - a.q1, within)])

    return Expectation("|%s - %s| < %g" % (one, other, within), judge)


def worst(verdicts):
    return NO if NO in verdicts else UNDECIDED if UNDECIDED in verdicts else YES


class Claim:
    """One published claim.

    ref: thread and row ("2003/13"); said, published, mechanism: words; metric:
    what the figure is, with its unit; runs: label -> Run; expect: the direction;
    found: for one that does not reproduce, what was found instead."""

    def __init__(self, ref, said, published, mechanism, metric, runs, expect, found=""):
        self.ref, self.said, self.published, self.mechanism = ref, said, published, mechanism
        self.metric, self.runs, self.expect, self.found = metric, runs, expect, found

    def verdict(self, samples):
        """@samples: label -> Sample. Return: [(words, verdict)], overall."""
        each = [(e.words, e.judge(samples)) for e in self.expect]
        return each, worst([v for _, v in each])

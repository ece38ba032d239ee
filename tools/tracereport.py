# SPDX-License-Identifier: MIT
#
# The HTML report: one file that needs neither network nor server. Here a trace
# becomes columns of numbers (one row a slice) and a few sentences; the page in
# tools/report/ draws them. docs/tracing.md explains the report. Standard
# library only. Names of tasks are foreign text: they reach the page only
# inside JSON without "<", and its scripts only ever set text, never markup.
"""Pack one trace, or two to compare, into a self-contained page."""

import array
import base64
import html
import json
import os
import sys

import tracelib as tl

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "report")
SCRIPTS = ("vendor/uplot/uPlot.iife.min.js", "data.js", "strip.js", "lanes.js", "curves.js", "details.js", "main.js")
STYLES = ("vendor/uplot/uPlot.min.css", "report.css")

# What became of a task at the end of its slice; 0: the recording ended, or a gap came.
ENDS = {"R+": 1, "R": 2, "S": 3, "D": 4, "T": 5, "X": 6}
WAITED = 0x80  # beside the end: the task waited before this slice
GAP = 0xFFFF  # instead of a task: nothing is known of this time
MAX_U32 = 0xFFFFFFFF


def base(column):
    """An array as base64, little endian."""
    if sys.byteorder == "big":
        column = array.array(column.typecode, column)
        column.byteswap()
    return base64.b64encode(column.tobytes()).decode()


class Times:
    """Durations in ns: 32 bits each, and a list of the few that need more."""

    def __init__(self):
        self.small, self.big = array.array("I"), []

    def append(self, ns):
        if ns > MAX_U32:
            self.big.append([len(self.small), ns])
            ns = MAX_U32
        self.small.append(ns)

    def packed(self):
        return {"u32": base(self.small), "big": self.big}


class Steps:
    """A family of step curves: at a time, curve `key` takes a value."""

    def __init__(self, code):
        self.key, self.time, self.value = array.array("H"), array.array("d"), array.array(code)
        self.last = {}

    def add(self, key, time, value):
        if self.last.get(key) != value:
            self.last[key] = value
            self.key.append(key)
            self.time.append(time)
            self.value.append(value)

    def packed(self):
        return {"key": base(self.key), "time": base(self.time), "value": base(self.value)}


class Lane:
    """One CPU: slices that follow one another without a hole; a hole is a slice of GAP."""

    def __init__(self):
        self.end = 0  # of the last slice, relative to the run's start
        self.time, self.wait = Times(), Times()
        self.task, self.prio, self.how = array.array("H"), array.array("h"), array.array("B")

    def add(self, task, since, until, how=0, prio=0, wait=None):
        if since > self.end:
            self._row(GAP, since - self.end, 0, 0, None)
        self._row(task, until - since, how, prio, wait)
        self.end = until

    def _row(self, task, length, how, prio, wait):
        self.task.append(task)
        self.time.append(length)
        self.how.append(how | (0 if wait is None else WAITED))
        self.prio.append(max(-32768, min(32767, prio)))
        self.wait.append(wait or 0)

    def packed(self):
        return {"time": self.time.packed(), "wait": self.wait.packed(), "task": base(self.task),
                "prio": base(self.prio), "how": base(self.how)}


class Run:
    """What the page knows of one run. from_trace() fills it; times are ns since the recording began."""

    def __init__(self, cpus, policy="?", hz=0, seed=None):
        self.cpus, self.policy, self.hz, self.seed = cpus, policy, hz, seed
        self.start = self.span = self.wasted = self.records = 0
        self.lost = [0] * cpus
        self.source = self.command = None
        self.tasks = []  # dicts: id, name, idle, born, ended, ticks, waited (all in all)
        self.lanes = [Lane() for _ in range(cpus)]
        self.gaps = []  # [cpu, end of the gap, records lost]
        self.waiting = []  # [task, since]: those that still waited when the recording ended
        self.moves = Steps("I")  # key: task; value: from CPU << 16 | to CPU
        self.prio, self.score, self.queue = Steps("h"), Steps("d"), Steps("H")
        self.waits = {}  # task: (longest, start, end, did it go on to the end)
        self.busy = self.idle = self.switches = self.migrations = 0

    @classmethod
    def from_trace(cls, trace, source=None, command=None):
        policies = [e.comm for e in trace.events if e.kind == tl.POLICY]
        names = [p for i, p in enumerate(policies) if i == 0 or p != policies[i - 1]]
        run = cls(trace.cpus, " then ".join(names[:3]) + (" ..." if len(names) > 3 else "") or trace.policy, trace.hz, trace.seed)
        run.source, run.command = source, command
        run.start, run.span, run.records = trace.start, trace.end - trace.start, len(trace.events)
        run.lost = list(trace.lost)
        Builder(run, trace)
        return run

    def add_task(self, ident, name, idle=False):
        if len(self.tasks) >= GAP:
            raise tl.TraceError("more than %d tasks are too many for a report" % GAP)
        self.tasks.append({"id": ident, "name": name, "idle": idle, "born": None, "ended": None, "ticks": 0, "waited": 0})
        return len(self.tasks) - 1

    def label(self, task):
        return "%s:%d" % (self.tasks[task]["name"], self.tasks[task]["id"])

    def longest(self):
        """(task, ns, start, end, still waiting) of the longest wait, or None."""
        if not self.waits:
            return None
        task = max(self.waits, key=lambda t: (self.waits[t][0], -t))
        return (task,) + self.waits[task]

    def waited_by_name(self):
        """Name: ns that tasks of that name waited."""
        found = {}
        for task in self.tasks:
            if not task["idle"]:
                found[task["name"]] = found.get(task["name"], 0) + task["waited"]
        return found

    def settings(self):
        parts = ["unknown policy" if self.policy == "?" else self.policy, "HZ %s" % (self.hz or "?"), "%d CPU%s" % (self.cpus, "" if self.cpus == 1 else "s")]
        if self.seed is not None:
            parts.append("seed %d" % self.seed)
        return ", ".join(parts)

    def verdict(self):
        """One sentence as [text, is it the point?] pairs."""
        if not self.records:
            return [["The trace holds no records.", True],
                    [" Was recording off (trace=off), or did the machine end before it began?", False]]
        say = [[self.settings() + ": ", False]]
        worst = self.longest()
        if worst is None:
            say.append(["no task waited for a CPU", True])
        else:
            task, length, _start, _end, still = worst
            say.append(["longest wait %s by %s" % (duration(length), self.label(task)), True])
            if still:
                say.append([", which was still waiting when the recording ended", False])
        known = self.busy + self.idle
        if self.wasted * 10000 > known:
            say += [[", and ", False], ["%s wasted" % duration(self.wasted), True],
                    [" by CPUs that were idle while tasks waited", False]]
        else:  # what a wake-up from another CPU takes
            say.append([", and no CPU was idle while a task waited"
                        + (", but for %s" % duration(self.wasted) if self.wasted else ""), False])
        if known:
            say.append(["; %d\u00a0%% busy over %s" % (round(100 * self.busy / known), duration(self.span)), False])
        if sum(self.lost):
            say.append(["; %d records were lost, so sums are too small" % sum(self.lost), True])
        say.append([".", False])
        return say

    def metrics(self):
        """[heading, value] pairs, the same headings for every run."""
        worst = self.longest()
        known = self.busy + self.idle
        return [
            ["Policy", self.policy], ["HZ", str(self.hz or "?")], ["CPUs", str(self.cpus)],
            ["Seed", "none" if self.seed is None else str(self.seed)],
            ["Recorded", duration(self.span)],
            ["CPUs busy", "%d\u00a0%%" % round(100 * self.busy / known) if known else "?"],
            ["Wasted", duration(self.wasted)],
            ["Longest wait", "%s  %s" % (duration(worst[1]), self.label(worst[0])) if worst else "none"],
            ["Switches", str(self.switches)], ["Migrations", str(self.migrations)],
            ["Lost records", str(sum(self.lost))],
        ]

    def packed(self):
        worst = self.longest()
        return {
            "source": self.source, "command": self.command, "settings": self.settings(), "policy": self.policy,
            "hz": self.hz, "cpus": self.cpus, "start": self.start, "span": self.span, "records": self.records,
            "lost": self.lost, "wasted": self.wasted, "verdict": self.verdict(), "metrics": self.metrics(),
            "worst": None if worst is None else {"task": worst[0], "start": worst[2], "end": worst[3]},
            "tasks": self.tasks, "lanes": [lane.packed() for lane in self.lanes], "gaps": self.gaps,
            "waiting": self.waiting, "moves": self.moves.packed(), "prio": self.prio.packed(),
            "score": self.score.packed(), "queue": self.queue.packed(),
        }


class Builder(tl.Model):
    """Walks a trace as the tables do, and writes down what it sees."""

    def __init__(self, run, trace):
        self.run_, self.index, self.before = run, {}, {}
        super().__init__(trace, self._slice)
        for t in self.tasks.values():
            if t.waiting_since is not None and not t.idle:
                number = self._number(t)
                since = t.waiting_since - run.start
                run.tasks[number]["waited"] = run.span - since
                run.waiting.append([number, since])
                self._longest(number, run.span - since, since, run.span, True)
        for t in self.tasks.values():
            number = self.index.get(t.id)
            if number is not None:
                run.tasks[number]["name"], run.tasks[number]["ticks"] = t.comm, t.ticks
                run.tasks[number]["waited"] += t.wait
        run.wasted = self.wasted
        run.switches = sum(self.switches)
        run.migrations = sum(t.migrations for t in self.tasks.values())

    def _number(self, t):
        number = self.index.get(t.id)
        if number is None:
            number = self.index[t.id] = self.run_.add_task(t.id, t.comm, t.idle)
        return number

    def _longest(self, number, length, start, end, still):
        if length > self.run_.waits.get(number, (0,))[0]:
            self.run_.waits[number] = (length, start, end, still)

    def _wait_ends(self, t, time):
        since = t.waiting_since
        super()._wait_ends(t, time)
        if since is not None:
            self.before[t.id] = time - since
            self._longest(self._number(t), time - since, since - self.run_.start, time - self.run_.start, False)

    def _slice(self, cpu, t, since, until, switch):
        wait = self.before.pop(t.id, None)
        if until == since and switch is None and wait is None:
            return
        run, length = self.run_, until - since
        if t.idle:
            run.idle += length
        else:
            run.busy += length
        number = self._number(t)
        run.tasks[number]["idle"] = t.idle
        how = 0 if switch is None else ENDS[tl.state_letter(switch)]
        prio = 0 if switch is None or t.idle else switch.prev_prio
        run.lanes[cpu].add(number, since - run.start, until - run.start, how, prio, wait)

    def _step(self, e):
        run, time = self.run_, e.time - self.run_.start
        super()._step(e)
        if e.kind == tl.LOST:
            run.gaps.append([e.cpu, time, e.id])
        elif e.kind == tl.SWITCH:
            s = tl.switch_fields(e)
            run.queue.add(e.cpu, time, e.flags)
            if s.prev:
                run.prio.add(self._number(self.tasks[s.prev]), time, s.prev_prio)
            if s.next:
                run.prio.add(self._number(self.tasks[s.next]), time, s.next_prio)
        elif e.kind == tl.WAKEUP:
            run.queue.add(e.b >> 16 & 0xFFFF, time, e.b >> 32 & 0xFFFF)
        elif e.kind == tl.SCORE:
            number = self._number(self.task(e.id, e.comm))
            run.prio.add(number, time, tl.s16(e.a))
            if e.flags not in (4, 5):  # set from outside: no figure comes with it
                run.score.add(number, time, tl.s64(e.b))
        elif e.kind == tl.MIGRATE:
            run.moves.last.clear()
            run.moves.add(self._number(self.tasks[e.id]), time, (e.b >> 16 & 0xFFFF) << 16 | e.b >> 32 & 0xFFFF)
        elif e.kind == tl.FORK:
            run.tasks[self._number(self.tasks[e.id])]["born"] = time
        elif e.kind == tl.EXIT:
            run.tasks[self._number(self.tasks[e.id])]["ended"] = time


def duration(ns):
    """A time with three digits and its unit."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("\u00b5s", 1000)):
        if ns >= size:
            value = ns / size
            return "%.*f\u00a0%s" % (2 if value < 10 else 1 if value < 100 else 0, value, unit)
    return "%d\u00a0ns" % ns


def compare(a, b):
    """The sentence over two runs: the name whose time spent waiting differs most."""
    mine, other = a.waited_by_name(), b.waited_by_name()
    best = None
    for name in mine:
        if name in other and max(mine[name], other[name]) >= 10**6:
            low, high = sorted((mine[name], other[name]))
            factor = high / max(low, 10**5)  # below 0.1 ms nobody counts
            if best is None or factor > best[0]:
                best = factor, name
    if best is None:
        return [["No task that is in both runs waited for more than a millisecond.", False]]
    factor, name = best
    if factor < 1.1:
        return [["No task waited noticeably more in one run than in the other.", False]]
    return [["The largest difference: ", False],
            ["%s waited %s in A and %s in B" % (name, duration(mine[name]), duration(other[name])), True],
            [", all its waits together.", False]]


def read(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return f.read()


def page(runs):
    """The bytes of the page for one run or two."""
    data = {"runs": [r.packed() for r in runs], "compare": compare(*runs) if len(runs) == 2 else None}
    text = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    title = " | ".join(r.settings() for r in runs)
    parts = {
        "TITLE": html.escape("Schedule: " + title),
        "STYLE": "\n".join(read(n) for n in STYLES),
        "SCRIPT": read(SCRIPTS[0]) + "\n(function () {\n\"use strict\";\n" + "\n".join(read(n) for n in SCRIPTS[1:]) + "\n})();",
        "DATA": text,
    }
    out = []
    for piece in read("page.html").split("@@"):  # odd pieces are names
        out.append(parts[piece] if len(out) % 2 else piece)
    return "".join(out).encode()


def to_html(trace):
    """For the table of writers: a page of one trace."""
    return page([Run.from_trace(trace)])

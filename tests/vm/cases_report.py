# SPDX-License-Identifier: MIT
#
# The HTML report in headless Chromium: the page's counts and sums against those
# of tools/tracelib.py, mouse and keys, two runs on one axis, names that attack,
# gaps, a million slices. tests/report/check.js does what a reader would do and
# writes down what the page says; what it should have said is decided here.
"""The HTML report."""

import functools
import json
import os
import random
import re
import subprocess
import sys
import tempfile

from lib import ROOT, Failure, case, expect, vm

sys.path.insert(0, os.path.join(ROOT, "tools"))
import tracelib as tl  # noqa: E402
import tracereport  # noqa: E402

HERE = os.path.join(ROOT, "tests", "report")
SHOW = ["sh", "-c", "hog 1 & hog 1 & hog 1 & seq 1 50 | sort | tail -n 1 >/dev/null; audio 1; wait"]
HOSTILE = ["<script>pwned=1", "\"><img src=x o=", "</script><b>x", "&lt;b&gt;&amp;", "'\\`${pwned=1}", "@@DATA@@", "\x1b[31m\x07\x08\x7f", "--><!-- ]]>"]
MILLION = 1000000


# ---------------------------------------------------------------- traces made here
def record(time, kind, ident=0, comm="", flags=0, a=0, b=0):
    return tl.RECORD.pack(time, kind, flags, a, ident, b, comm.encode("latin-1")[:16])


def switch(time, prev, following, comm, state=0, how=1):
    return record(time, tl.SWITCH, following, comm, 1, how << 8 | state, prev | 125 << 32 | 125 << 48)


def raw(cpus, pages):
    """A trace file from (page number, CPU, records) triples."""
    return tl.FILE_HEAD.pack(tl.MAGIC, tl.VERSION, cpus, 0, 0) + b"".join(
        tl.PAGE_HEAD.pack(number, cpu, len(b"".join(records))) + b"".join(records) for number, cpu, records in pages)


def hostile():
    """Every name runs for 10 ms in turn and then waits."""
    records = [record(0, tl.START, 0), record(0, tl.POLICY, 1000, "</title><i>")]
    prev = 0
    for i, name in enumerate(HOSTILE * 2):
        ident = 2 + i % len(HOSTILE)
        records.append(switch(10**7 * (i + 1), prev, ident, name))
        prev = ident
    return raw(1, [(1, 0, records)])


def gapped():
    """CPU 0 loses pages 2 and 3 while task 7 waits for it."""
    first = [record(0, tl.START, 0), switch(10**6, 0, 7, "before"), switch(2 * 10**6, 7, 8, "other"), switch(3 * 10**6, 8, 7, "before"),
             switch(4 * 10**6, 7, 8, "other")]
    after = [record(50 * 10**6, tl.TICK, 9, "after", a=1), switch(60 * 10**6, 9, 7, "before"), switch(70 * 10**6, 7, 9, "after"),
             record(80 * 10**6, tl.TICK, 9, "after", a=1)]
    return raw(1, [(1, 0, first), (4, 0, after)])


def moved_wait():
    """Task 7 waits for CPU 0 from 10 to 20 ms, then for CPU 1 until 6 s: longer than 32 bits of ns."""
    ms = 10**6
    zero = [record(0, tl.START, 0), switch(ms, 0, 7, "moved"), switch(10 * ms, 7, 8, "first"), record(7000 * ms, tl.TICK, 8, "first", a=1)]
    one = [record(0, tl.START, 0), switch(2 * ms, 0, 9, "second"), record(20 * ms, tl.MIGRATE, 7, "moved", b=120 | 0 << 16 | 1 << 32),
           switch(6000 * ms, 9, 7, "moved"), record(7000 * ms, tl.TICK, 7, "moved", a=1)]
    return raw(2, [(1, 0, zero), (1, 1, one)])


def million():
    """A run of a million slices on four CPUs, and its sums per (task, CPU)."""
    dice = random.Random(7)
    run = tracereport.Run(4, "o1", 1000, 1)
    for i in range(40):
        run.add_task(i + 1, "task%d" % i, idle=i == 0)
    repeat, block = 250, MILLION // 4 // 250
    sums, busy = {}, 0
    for cpu, lane in enumerate(run.lanes):
        for _ in range(block):
            task, length = dice.randrange(10 * cpu, 10 * cpu + 10), dice.randrange(1000, 200000)
            lane.add(task, lane.end, lane.end + length, 1, 120, dice.randrange(100) if task else None)
            sums[task, cpu] = sums.get((task, cpu), 0) + length * repeat
            busy += length * repeat if task else 0
        for name in ("task", "prio", "how"):
            setattr(lane, name, getattr(lane, name) * repeat)
        lane.time.small, lane.wait.small = lane.time.small * repeat, lane.wait.small * repeat
        lane.end *= repeat
    run.span, run.records, run.busy = max(lane.end for lane in run.lanes), MILLION, busy
    run.idle = sum(n for (task, _cpu), n in sums.items() if not task)
    for i in range(100000):
        run.score.add(1 + i % 3, i * run.span / 100000, dice.randrange(1000))
        run.prio.add(1 + i % 3, i * run.span / 100000, dice.randrange(100, 140))
    return run, sums


# ---------------------------------------------------------------------- the truth
class Truth(tl.Model):
    """The same trace by the model of the tables, without tracereport.py."""

    def __init__(self, trace):
        self.on, self.slices, self.all_waits, self.ended = {}, [], [], []
        super().__init__(trace, self._note)

    def _note(self, cpu, t, since, until, switch_):
        self.on[t.id, cpu] = self.on.get((t.id, cpu), 0) + until - since
        if until > since:
            self.slices.append((cpu, t.id, since - self.trace.start, until - self.trace.start))
        if switch_ is not None or until > since or any(w[1] == t.id and w[3] == since - self.trace.start for w in self.all_waits[-8:]):
            self.ended.append((cpu, t.id))

    def _wait_ends(self, t, time):
        if t.waiting_since is not None:
            self.all_waits.append((time - t.waiting_since, t.id, t.waiting_since - self.trace.start, time - self.trace.start))
        super()._wait_ends(t, time)

    def label(self, ident):
        return "idle" if ident <= 0 else "%s:%d" % (self.tasks[ident].comm, ident)

    def instead(self, cpu, start, end):
        """Label: ns that it ran on that CPU in that time."""
        found = {}
        for on, ident, since, until in self.slices:
            ran = min(until, end) - max(since, start)
            if on == cpu and ran > 0:
                found[self.label(ident)] = found.get(self.label(ident), 0) + ran
        return found


def target_wait(truth, moved):
    """A long wait of a task that did not change CPU meanwhile: (start, end, label, cpu)."""
    for length, ident, start, end in sorted(truth.all_waits, reverse=True):
        cpu = next(c for c, i, since, _until in truth.slices if i == ident and since == end)
        if length > 1000 and not any(i == ident and start - 10**7 < t <= end for i, t in moved):
            return {"lane": truth.label(ident), "start": start, "end": end, "cpu": cpu}
    raise Failure("no wait to click on")


@functools.lru_cache(maxsize=None)
def answers():
    """All pages are opened in one browser, once: (what check.js saw, what the traces say)."""
    if not os.path.exists(os.path.join(HERE, "node_modules", "playwright-core")):
        raise Failure("playwright-core is not installed in tests/report: tools/setup --test fetches it from npm's registry")
    folder = tempfile.TemporaryDirectory(prefix="jiffies-report-")
    path = functools.partial(os.path.join, folder.name)
    know = {"folder": folder}
    vm("--det", "--smp", "2", "--trace", path("one.trace"), cmd=SHOW, timeout=50)
    vm("--det", "--smp", "2", "--append", "sched.force_bonus0=1", "--trace", path("other.trace"), cmd=SHOW, timeout=50)
    for name, data in (("hostile", hostile()), ("gap", gapped()), ("moved", moved_wait()), ("empty", raw(2, [])), ("single", raw(2, [(1, 0, [record(5, tl.START, 0)])]))):
        with open(path(name + ".trace"), "wb") as f:
            f.write(data)
    plan = {}
    for name in ("one", "hostile", "gap", "moved", "empty", "single"):
        tool("report", path(name + ".trace"), "-o", path(name + ".html"))
        plan[name] = {"file": path(name + ".html"), "width": 1400, "height": 900}
        know[name] = Truth(tl.load(path(name + ".trace")))
    know["other"] = Truth(tl.load(path("other.trace")))
    tool("report", path("one.trace"), path("other.trace"), "-o", path("two.html"))
    run, know["million"] = million()
    with open(path("million.html"), "wb") as f:
        f.write(tracereport.page([run]))
    plan["two"] = {"file": path("two.html"), "width": 1800, "height": 1000, "at": know["one"].trace.end * 0.4}
    plan["million"] = {"file": path("million.html"), "width": 1400, "height": 900}

    one = know["one"]
    moved = [(e.id, e.time - one.trace.start) for e in one.trace.events if e.kind == tl.MIGRATE]
    hog = max((s for s in one.slices if one.label(s[1]).startswith("hog:")), key=lambda s: s[3] - s[2])
    plan["one"]["targets"] = [{"lane": "CPU %d" % hog[0], "start": hog[2], "end": hog[3]},
                              {"lane": one.label(hog[1]), "start": hog[2], "end": hog[3]}, target_wait(one, moved)]
    plan["one"]["label"] = one.label(hog[1])
    plan["gap"]["targets"] = [{"lane": "CPU 0", "start": 4 * 10**6, "end": 60 * 10**6}, {"lane": "other:8", "start": 4 * 10**6, "end": 60 * 10**6}]
    plan["moved"]["targets"] = [{"lane": "moved:7", "start": 10 * 10**6, "end": 6000 * 10**6}]
    plan["hostile"]["labels"] = ["%s:%d" % (n, 2 + i) for i, n in enumerate(HOSTILE)]
    plan["hostile"]["times"] = {label: 15 * 10**6 + 10**7 * i for i, label in enumerate(plan["hostile"]["labels"])}
    know["plan"] = plan
    with open(path("plan.json"), "w", encoding="utf-8") as f:
        json.dump(plan, f)
    try:
        r = subprocess.run(["node", os.path.join(HERE, "check.js"), path("plan.json"), path("answer.json")], capture_output=True, timeout=330, check=False)
    except FileNotFoundError:
        raise Failure("node is not installed: tools/setup --test") from None
    expect(r.returncode == 0, "check.js: " + r.stderr.decode("utf-8", "replace")[-1500:])
    with open(path("answer.json"), encoding="utf-8") as f:
        return json.load(f), know


def tool(*args, status=0):
    r = subprocess.run([os.path.join(ROOT, "tools", "trace")] + list(args), capture_output=True, timeout=100, check=False)
    expect(r.returncode == status, "tools/trace %s: status %d, %s" % (" ".join(args), r.returncode, r.stderr.decode()))
    return r.stderr.decode()


def near(a, b, by, what):
    expect(abs(a - b) <= by, "%s: %r, expected %r" % (what, a, b))


# ------------------------------------------------------------------------- cases
def same_sums(page, truth, what):
    """Every sum of the page against the model's."""
    tasks = {t["id"] if t["id"] > 0 else t["id"]: t for t in page["tasks"]}
    for t in truth.tasks.values():
        slices = sum(1 for _cpu, ident in truth.ended if ident == t.id)
        if not slices and not t.run:
            continue
        mine = tasks.get(t.id)
        expect(mine is not None, "%s: task %d is missing" % (what, t.id))
        if t.idle:
            continue
        waits = [w for w in truth.all_waits if w[1] == t.id]
        expected = {"run": t.run, "wait": t.wait, "waits": len(waits), "slices": slices, "ticks": t.ticks, "name": t.comm,
                    "runOn": [truth.on.get((t.id, cpu), 0) for cpu in range(truth.cpus)]}
        found = {k: mine[k] for k in expected}
        expect(found == expected, "%s: task %d: page %s, trace %s" % (what, t.id, found, expected))
        expect(mine["longest"] >= max([w[0] for w in waits], default=0), "%s: longest wait of %d" % (what, t.id))
    for cpu in range(truth.cpus):
        expect(page["cpus"][cpu]["busy"] == truth.busy[cpu] and page["cpus"][cpu]["idle"] == truth.idle[cpu],
               "%s: CPU %d: page %s, trace run %d idle %d" % (what, cpu, page["cpus"][cpu], truth.busy[cpu], truth.idle[cpu]))
    expect(sum(c["slices"] for c in page["cpus"]) == page["slices"] == len(truth.ended), "%s: %d slices" % (what, page["slices"]))


@case("report-numbers", 400)
def numbers():
    """Run, wait, ticks per task and CPU, slices: the page's sums are those of the trace; for two runs as well."""
    seen, know = answers()
    for name in ("one", "moved", "hostile"):
        same_sums(seen[name]["model"]["runs"][0], know[name], name)
    for i, name in enumerate(("one", "other")):
        same_sums(seen["two"]["model"]["runs"][i], know[name], "two, " + "AB"[i])
    one = know["one"]
    expect(len(one.slices) > 60 and any(t.waits > 3 for t in one.tasks.values()), "the trace is too small to judge by")
    scores = [e for e in one.trace.events if e.kind == tl.SCORE and e.flags not in (4, 5)]
    expect(0 < seen["one"]["model"]["runs"][0]["points"]["score"] <= len(scores), "score points")
    expect(seen["one"]["model"]["runs"][0]["points"]["moves"] == one.counts[tl.MIGRATE], "migrations")
    text = seen["one"]["dom"]["text"]
    for word in ("o1", "HZ 1000", "2 CPUs", "seed 1", tracereport.duration(max(one.all_waits)[0]), tracereport.duration(one.wasted)):
        expect(word in text.split("Policy")[0], "the verdict does not say %r: %s" % (word, text[:400]))


@case("report-clean", 400)
def clean():
    """No page complains, asks the network, shows small letters or is wider than the window."""
    seen, _ = answers()
    for name, page in seen.items():
        expect(page["complaints"] == [], "%s: %s" % (name, page["complaints"]))
        for dom in (page["dom"], page["after"]):
            expect(dom["small"] == [] and dom["wide"] <= 0 and dom["foreign"] == 0 and dom["script"] == 1 and dom["pwned"] is None,
                   "%s: %s" % (name, {k: v for k, v in dom.items() if k != "text"}))


@case("report-view", 400)
def views():
    """Keys, wheel, drag and buttons move the view as they say; help opens; a page can be printed."""
    s = answers()[0]["one"]
    whole, last = s["all"]["span"], s["all"]
    expect(s["all"]["t0"] == 0 and s["all"]["t1"] == whole, "at the start not everything is shown: %s" % s["all"])

    def length(v):
        return v["t1"] - v["t0"]

    for key, view in s["keys"].items():
        if key in "w+=":
            near(length(view), length(last) * 0.7, 1, "length after " + key)
            near(view["t0"] + view["t1"], last["t0"] + last["t1"], 2, "middle after " + key)
        elif key in ("d", "ArrowRight", "a", "ArrowLeft"):
            by = length(last) * (0.2 if key in ("d", "ArrowRight") else -0.2)
            near(view["t0"], last["t0"] + by, 1, "start after " + key)
            near(length(view), length(last), 1, "length after " + key)
        elif key in "s-":
            expect(length(view) > 1.3 * length(last), "%s did not zoom out: %s" % (key, view))
        else:
            expect(view == s["all"], "0 shows %s" % view)
        last = view
    near(length(s["wheelIn"]), whole * 0.67, whole * 0.01, "length after the wheel")
    near(s["wheelMoved"], 0, 1, "pixels that the moment under the pointer moved")
    near(s["dragMoved"], -120, 1, "pixels that the drag moved")
    expect(s["dragged"]["t0"] > s["wheelIn"]["t0"] and abs(length(s["dragged"]) - length(s["wheelIn"])) < 1, "drag: %s" % s["dragged"])
    near(length(s["wheelOut"]), whole, whole * 0.01, "length after the wheel went back")
    near(length(s["b-in"]), whole * 0.7, 1, "length after the button +")
    expect(s["b-right"]["t0"] > s["b-in"]["t0"] and s["b-left"]["t0"] < s["b-right"]["t0"], "buttons left and right")
    expect(s["b-out"] == s["b-all"] == s["all"], "buttons all and -")
    expect(s["helpOpen"] and s["helpClosed"] and s["afterEscape"] is None, "help or Esc")
    expect(s["pdf"]["size"] > 20000 and 1 <= s["pdf"]["pages"] <= 6 and s["printed"] == 1, "PDF: %s, %s" % (s["pdf"], s["printed"]))


@case("report-click", 400)
def clicks():
    """A click on a slice, in either lane, or on a wait tells its times; who ran instead adds up as in the trace."""
    seen, know = answers()
    s, one, plan = seen["one"], know["one"], know["plan"]["one"]["targets"]
    for target, got in list(zip(plan, s["targets"]))[:2]:
        d = got["selected"]
        expect(d and d["state"] == "running" and (d["start"], d["end"]) == (target["start"], target["end"]), "clicked %s, got %s" % (target, d))
        expect(tracereport.duration(target["end"] - target["start"]) in got["text"] and got["tip"] in got["text"], "details: " + got["text"])
    expect(s["targets"][0]["selected"]["task"] == s["targets"][1]["selected"]["task"] == know["plan"]["one"]["label"], "the two lanes disagree")
    expect(s["targets"][1]["pixel"] == [0, 0x72, 0xB2], "a running slice has the colour %s" % s["targets"][1]["pixel"])
    target, d = plan[2], s["targets"][2]["selected"]
    expect(d and d["state"] == "waiting" and (d["start"], d["end"]) == (target["start"], target["end"]) and d["cpus"] == [target["cpu"]],
           "clicked the wait %s, got %s" % (target, d))
    instead = one.instead(target["cpu"], target["start"], target["end"])
    expect({a["task"]: a["time"] for a in d["who"]} == instead and instead, "who ran instead: page %s, trace %s" % (d["who"], instead))
    expect(sum(a["time"] for a in d["who"]) == d["end"] - d["start"], "they do not fill the wait: %s" % d)
    expect([a["time"] for a in d["who"]] == sorted((a["time"] for a in d["who"]), reverse=True), "not in order: %s" % d["who"])
    d = seen["moved"]["targets"][0]["selected"]
    expect(d["state"] == "waiting" and d["cpus"] == [0, 1] and [(a["task"], a["time"]) for a in d["who"]] == [("second:9", 598 * 10**7), ("first:8", 10**7)],
           "a wait on two queues: %s" % d)
    longest, found = max(one.all_waits), s["worst"]
    expect(found["state"] == "waiting" and found["end"] - found["start"] == longest[0], "l selects %s, the longest wait is %s" % (found, longest))
    expect(s["worstView"]["t0"] <= longest[2] and s["worstView"]["t1"] >= longest[3], "l does not show the longest wait")
    mine = [x for x in one.slices if one.label(x[1]) == s["worst"]["task"]]
    at = next(i for i, x in enumerate(mine) if x[2] >= longest[3])
    expected = [mine[min(at + k, len(mine) - 1)][2:] for k in (0, 1, 0)]
    expect([(n["start"], n["end"]) for n in s["next"]] == expected, "n, n, p: %s, expected %s" % (s["next"], expected))
    expect(s["fitted"]["t0"] <= s["next"][-1]["start"] and s["fitted"]["t1"] >= s["next"][-1]["end"], "f shows %s" % s["fitted"])
    expect(s["curves"][1][0] == s["curves"][0][0] - 1 and s["curves"][1][2] == s["curves"][0][2], "a click on a name: curves %s" % s["curves"])


@case("report-two", 400)
def two():
    """Two runs: one time axis for lanes and curves of both, whichever pane is moved."""
    seen, know = answers()
    s = seen["two"]
    a, b = s["painted"]
    near(s["view"]["t1"] - s["view"]["t0"], 0.67 * s["view"]["span"], 0.01 * s["view"]["span"], "length after the wheel in pane B")
    near(s["offsets"][0], s["offsets"][1], 0.5, "place of one moment in A and B")
    expect(a["pixels"] == b["pixels"] and len(a["seconds"]) == len(b["seconds"]) == 3, "panes differ: %s, %s" % (a, b))
    expect(a["scales"] == b["scales"] and all(low < high for low, high in a["scales"]), "scales of A %s, of B %s" % (a["scales"], b["scales"]))
    for pane in (a, b):
        expect(all(s[0] <= e[0] and e[1] <= s[1] for s, e in zip(pane["scales"], pane["extents"])), "curves beyond their scale: %s" % pane)
    for low, high in a["seconds"] + b["seconds"]:
        near(low * 1e9, s["view"]["t0"], 10, "left edge of a curve")
        near(high * 1e9, s["view"]["t1"], 10, "right edge of a curve")
    worst = [max(know[n].all_waits)[0] for n in ("one", "other")]
    expect(s["worst"]["run"] == worst.index(max(worst)) and s["worst"]["end"] - s["worst"]["start"] == max(worst), "worst of both: %s" % s["worst"])
    text = s["dom"]["text"]
    expect(re.search(r"waited \S+\s\S+ in A and \S+\s\S+ in B|No task waited noticeably", text), "no comparison: " + text[:500])
    expect(text.count("seed 1") >= 4, "settings of both runs: " + text[:600])


@case("report-names", 400)
def names():
    """Names of tasks and policies are text, whatever they contain."""
    seen, know = answers()
    s, plan = seen["hostile"], know["plan"]["hostile"]
    got = {t["name"] for t in s["model"]["runs"][0]["tasks"] if not t["idle"]}
    expect(got == {n[:16] for n in HOSTILE}, "names on the page: %s" % got)
    for label, d in zip(plan["labels"], s["details"]):
        expect(label in d["text"] and label in d["tip"], "%r is not in %s" % (label, d))
    expect("</title><i>" in s["dom"]["title"] and "</title><i>" in s["dom"]["text"], "title: " + s["dom"]["title"])


@case("report-odd", 400)
def odd():
    """Gaps are shown and break no sum; an empty trace and one record give a page; bad calls a message."""
    seen, know = answers()
    gap = seen["gap"]
    run = gap["model"]["runs"][0]
    lost = sum(know["gap"].trace.lost)
    expect(run["gaps"] == 1 and run["unknown"] == 56 * 10**6 and lost == 204, "gap: %s, lost %d" % (run, lost))
    got = gap["targets"][0]
    expect(got["selected"]["state"] == "unknown" and "204 records were lost" in got["text"], "click on a gap: %s" % got["text"])
    expect(got["pixel"] != [255, 255, 255], "the gap is painted white")
    got = gap["targets"][1]["selected"]
    expect((got["task"], got["state"], got["start"], got["end"]) == ("other:8", "unknown", 4 * 10**6, 60 * 10**6), "a task in the gap: %s" % got)
    expect("204 records were lost" in gap["dom"]["text"], "the verdict hides the gap")
    waits = {t["name"]: t["longest"] for t in run["tasks"]}
    expect(waits["before"] == 10 * 10**6, "a wait across the gap was believed: %s" % waits)
    expect("no records" in seen["empty"]["dom"]["text"] and seen["empty"]["model"]["runs"][0]["slices"] == 0, seen["empty"]["dom"]["text"])
    expect("CPUs" in seen["single"]["dom"]["text"] and seen["single"]["model"]["runs"][0]["slices"] <= 1, seen["single"]["dom"]["text"])
    with tempfile.TemporaryDirectory() as folder:
        expect("usage" in tool("report", "x.trace", status=2) and "x.trace" in tool("report", "x.trace", "-o", folder + "/x", status=2), "bad calls")


@case("report-million", 400)
def a_million():
    """A million slices: all are there, and a frame paints as many rectangles as there are pixels at most."""
    seen, know = answers()
    run, sums = seen["million"]["model"]["runs"][0], know["million"]
    expect(run["slices"] == MILLION, "%d slices" % run["slices"])
    for task in run["tasks"]:
        if task["idle"]:
            continue
        for cpu, ran in enumerate(task["runOn"]):
            expect(ran == sums.get((task["id"] - 1, cpu), 0), "task %d on CPU %d: %d" % (task["id"], cpu, ran))
    frames = seen["million"]["frames"]
    expect(len(frames) == 14 and len({f["rects"] for f in frames}) > 5, "%d frames" % len(frames))
    for f in frames:
        expect(0 < f["rects"] <= 2 * f["rows"] * f["pixels"] and f["points"] <= 8 * 7 * 3 * f["pixels"], "a frame painted %s" % f)

# SPDX-License-Identifier: MIT
#
# Scheduler records: that taking them changes nothing in a deterministic run,
# that no time is missing, that every kind occurs, that the formats are what
# their viewers read.
"""Tracing."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from lib import ROOT, Failure, Skip, case, expect, vm

sys.path.insert(0, os.path.join(ROOT, "tools"))
import tracelib as tl  # noqa: E402
import traceout  # noqa: E402

# Work of every kind for a few seconds: hogs that are balanced, sleepers, pipes, forks, moves by affinity.
def busy(seconds):
    return ["sh", "-c", "hog {0} & hog {0} & hog {0} & hog {0} & hog {0} & hog {0} & h=$!; audio {0} & typist {0} & "
            "(for i in $(seq {0} {0}0); do taskset -p 1 $h; sleep 0.1; taskset -p 2 $h; sleep 0.1; done) >/dev/null 2>&1 & "
            "renice -n 5 -p $h >/dev/null; for i in 1 2 3; do seq 1 300 | sort -r | tail -n 1; done; wait".format(seconds)]


# Perfetto's own expression for a line of ftrace text.
PERFETTO = re.compile(r"-(\d+)\s+\(?\s*(\d+|-+)?\)?\s?\[(\d+)\]\s*[a-zA-Z0-9.]{0,4}\s+(\d+\.\d+):\s+(\S+):")
SWITCH = re.compile(r"prev_comm=(\S+) prev_pid=(\d+) prev_prio=(-?\d+) prev_state=(\S+) ==> next_comm=(\S+) next_pid=(\d+) next_prio=(-?\d+)$")


def traced(*options, cmd, folder, name="t.trace", timeout=110):
    """Run with --trace; returns the file's path and the switch hash."""
    path = os.path.join(folder, name)
    vm(*options, "--trace", path, "--log", folder + "/log", cmd=cmd, timeout=timeout)
    with open(folder + "/log", encoding="utf-8", errors="replace") as f:
        found = re.findall(r"power-off: switches \d+ hash [0-9a-f]{16}", f.read())
    expect(len(found) == 1, "no switch hash in the log")
    return path, found[0]


def tool(*args):
    r = subprocess.run([os.path.join(ROOT, "tools", "trace")] + list(args), capture_output=True, timeout=120, check=False)
    return r.returncode, r.stdout.decode(), r.stderr.decode()


@case("trace-same-run", 240)
def same_run():
    """A deterministic run is the same run with and without --trace."""
    load = ["sh", "-c", "for i in 1 2 3 4; do (echo a$i | cat | wc -c; seq 1 200 | sort -r | head -n 1) & done; wait"]
    with tempfile.TemporaryDirectory() as folder:
        for attempt in range(2):  # QEMU itself deviates now and then
            _, with_trace = traced("--det", "--smp", "4", cmd=load, folder=folder)
            vm("--det", "--smp", "4", "--log", folder + "/log2", cmd=load, timeout=110)
            with open(folder + "/log2", encoding="utf-8", errors="replace") as f:
                if with_trace in f.read():
                    return
        raise Failure("--trace changes the run: not %s without it" % with_trace)


def sums(*options, seconds=3, cpus=4):
    """Run time and idle time make up the elapsed time of every CPU, nothing lost; the kernel's sums agree."""
    with tempfile.TemporaryDirectory() as folder:
        path, _ = traced("--smp", str(cpus), *options, cmd=busy(seconds), folder=folder, timeout=170 + 20 * seconds)
        trace = tl.load(path)
        expect(trace.cpus == cpus and not sum(trace.lost), "%d CPUs, lost %s" % (trace.cpus, trace.lost))
        expect(trace.end - trace.start > (seconds - 0.5) * 10**9, "only %d ns recorded" % (trace.end - trace.start))
        status, out, err = tool("check", path)
        expect(status == 0 and re.search(r"%d of %d CPUs: run \+ idle = elapsed; (\d\d+) ended tasks agree" % (cpus, cpus), out), out + err)
        model = tl.Model(trace)
        for cpu in range(cpus):
            expect(model.busy[cpu] + model.idle[cpu] == trace.end - model.began[cpu], "CPU %d: time is missing" % cpu)
        hogs = [t for t in model.tasks.values() if t.comm == "hog"]
        expect(len(hogs) == 6 and all(t.run > 10**8 for t in hogs), "hogs ran %s ns" % [t.run for t in hogs])
        missing = [name for name, n in zip(tl.KINDS[1:], model.counts[1:]) if not n]
        expect(not missing, "no record of %s" % missing)
        kinds = {(e.kind, e.flags) for e in trace.events if e.kind in (tl.IPI, tl.IPI_SEND, tl.BALANCE)}
        expect({(tl.IPI, 0), (tl.IPI, 1), (tl.IPI_SEND, 0), (tl.IPI_SEND, 1)} <= kinds, "IPIs: %s" % kinds)
        expect({(tl.BALANCE, 0), (tl.BALANCE, 2)} <= kinds, "balancing: %s" % kinds)
        # A broken file is refused, a missing switch is noticed.
        with open(path, "rb") as f:
            data = f.read()
        broken = folder + "/broken.trace"
        with open(broken, "wb") as f:
            f.write(data[: len(data) - 13])
        expect(tool("check", broken)[0] == 2, "a cut file was accepted")
        where = next(i for i in range(len(trace.events) // 2, len(trace.events)) if trace.events[i].kind == tl.SWITCH)
        del trace.events[where]
        expect(tl.Model(trace).problems, "a removed switch was not noticed")


case("trace-sums-det", 240, args=("--det",))(lambda option: sums(option))
case("trace-sums", 240)(sums)
case("trace-minute-det", 1500, full=True, args=("--det",))(lambda option: sums(option, seconds=60, cpus=8))
case("trace-minute", 1500, full=True)(lambda: sums(seconds=60, cpus=8))


@case("trace-formats", 120)
def formats():
    """Text by Perfetto's expression, each switch continuing the last; JSON; trace.dat by trace-cmd if it is there."""
    with tempfile.TemporaryDirectory() as folder:
        path, _ = traced("--det", "--smp", "2", cmd=["sh", "-c", "seq 1 99 | sort | tail -n 1 & hog 0.1; wait"], folder=folder)
        text, chrome, dat = (os.path.join(folder, "t" + s) for s in (".txt", ".json", ".dat"))
        for out in (text, chrome, dat):
            expect(tool("convert", path, out)[0] == 0, "cannot convert to " + out)
        switches = check_text(text)
        with open(chrome, encoding="utf-8") as f:
            data = json.load(f)
        with open(text, encoding="utf-8") as f:
            expect(data["systemTraceEvents"] == f.read(), "the JSON's text is not the text")
        check_json(data["traceEvents"])
        expect(switches > 20, "only %d switches" % switches)
        # Straight from the machine it is the same text, and perf's file.
        path2, _ = traced("--det", "--smp", "2", cmd=["true"], folder=folder, name="direct.txt")
        expect(check_text(path2) > 5, "--trace F.txt holds no switches")
        path3, _ = traced("--det", "--smp", "2", cmd=["true"], folder=folder, name="direct.data")
        with open(path3, "rb") as f:
            expect(f.read(8) == b"PERFILE2", "--trace F.data is not perf's")


def viewer(*args, folder):
    """Run a viewer's own reader, or skip. HOME elsewhere: perf reads a configuration there."""
    if not shutil.which(args[0]):
        raise Skip("the rest: %s is not installed" % args[0])
    r = subprocess.run(list(args), capture_output=True, timeout=120, check=False, env=dict(os.environ, HOME=folder, LC_ALL="C"))
    expect(r.returncode == 0, "%s: %s" % (args, r.stderr[-500:]))
    return r.stdout.decode()


LATENCY_ROW = re.compile(r"^  (\S+:\d+) +\| +([\d.]+) ms \| +(\d+) \| avg: *([\d.]+) ms \| max: *([\d.]+) ms"
                         r" \| max start: *([\d.]+) s \| max end: *([\d.]+) s", re.M)
MAP_ROW = re.compile(r"^  (.*?) +(\d+\.\d{6}) secs ?(?:(\S\S) => (\S+))?", re.M)


def map_rows(text, cpus):
    """(time, CPU, task) of each row of a map. perf 6.1 has no column for CPUs that its own host has not: the time alone then."""
    names, rows = {}, []
    for cells, when, short, name in MAP_ROW.findall(text):
        if short:
            names[short] = name.rpartition(":")[2]
        stars = [m.start() // 4 for m in re.finditer(r"\*", cells)]
        expect(len(stars) <= 1 and all(s < cpus for s in stars), "map row %r" % cells)
        if not stars:
            rows.append((when,))
            continue
        cell = cells[stars[0] * 4 + 1 : stars[0] * 4 + 3].strip()
        rows.append((when, stars[0], names.get(cell, cell)))
    return rows


def agree_with_perf(path, trace, folder):
    """perf sched's tables of our perf.data and our own, to the last digit."""
    data = folder + "/t.data"
    expect(tool("convert", path, data)[0] == 0, "cannot convert to perf.data")
    ours = {r[0]: r[1:] for r in LATENCY_ROW.findall(tool("latency", path)[1])}
    theirs = {r[0]: r[1:] for r in LATENCY_ROW.findall(viewer("perf", "sched", "latency", "-p", "-i", data, folder=folder))}
    # perf leaves out who never got a CPU by a switch.
    ours = {k: v for k, v in ours.items() if v[1] != "0"}
    expect(ours == theirs and len(ours) > 5, "perf sched latency: %s" % [
        (k, ours.get(k), theirs.get(k)) for k in sorted(set(ours) | set(theirs)) if ours.get(k) != theirs.get(k)])
    model = tl.Model(trace)
    text = viewer("perf", "sched", "timehist", "-s", "-i", data, folder=folder)
    found = re.findall(r"^ +(\S+)\[(\d+)\] +-?\d+ +(\d+) +([\d.]+) ", text, re.M)
    switched = {int(pid): (int(n), float(run)) for _comm, pid, n, run in found}
    at_end = {e.id for cpu in range(trace.cpus) for e in [e for e in trace.events if e.cpu == cpu and e.kind == tl.SWITCH][-1:]}
    compared = 0
    for t in model.tasks.values():
        if t.idle or t.id in at_end or not t.waits:
            continue
        expect(t.id in switched and abs(switched[t.id][1] - t.run / 1e6) < 0.0011 and switched[t.id][0] == t.switches,
               "perf sched timehist, %s: %s, ours %.3f ms %d" % (t.comm, switched.get(t.id), t.run / 1e6, t.switches))
        compared += 1
    expect(compared > 3, "timehist: only %d tasks" % compared)
    started = sum(e.kind == tl.START for e in trace.events)
    rows = map_rows(viewer("perf", "sched", "map", "-i", data, folder=folder), trace.cpus)
    mine = map_rows(tool("map", path)[1], trace.cpus)
    mine = [r for r, e in zip(mine, [e for e in trace.events if e.kind in (tl.SWITCH, tl.START)]) if e.kind == tl.SWITCH]
    expect(len(rows) == model.counts[tl.SWITCH] and started == trace.cpus, "perf sched map has %d rows for %d switches" % (
        len(rows), model.counts[tl.SWITCH]))
    for a, b in zip(mine, rows):
        expect(a[: len(b)] == b, "perf sched map: %s, ours %s" % (b, a))
    expect(sum(len(b) == 3 for b in rows) > 5, "perf sched map names no CPUs")


def agree_with_trace_cmd(path, trace, folder):
    """How many events of each kind and, for each task, switches, as trace-cmd report sees them."""
    dat = folder + "/t.dat"
    expect(tool("convert", path, dat)[0] == 0, "cannot convert to trace.dat")
    lines = viewer("trace-cmd", "report", "-N", dat, folder=folder).splitlines()
    theirs, switches, ours, mine = {}, {}, {}, {}
    for line in lines:
        found = PERFETTO.search(line)
        if not found:
            continue
        theirs[found.group(5)] = theirs.get(found.group(5), 0) + 1
        if found.group(5) == "sched_switch":
            s = SWITCH.search(line)
            expect(s, "trace-cmd prints %r" % line)
            switches[int(s.group(6))] = switches.get(int(s.group(6)), 0) + 1
    names = {tl.WAKING: "sched_waking", tl.MIGRATE: "sched_migrate_task", tl.SCORE: "sched_score", tl.SWAP: "sched_array_swap"}
    for e in trace.events:
        name = names.get(e.kind)
        if e.kind == tl.WAKEUP:
            name = "sched_wakeup_new" if e.flags & tl.ENQ_NEW else "sched_wakeup"
        if e.kind == tl.SWITCH:
            mine[e.id] = mine.get(e.id, 0) + 1
            ours["nr_running"] = ours.get("nr_running", 0) + 1
            name = "sched_switch"
        if name:
            ours[name] = ours.get(name, 0) + 1
    expect(ours == theirs, "trace-cmd counts %s, we %s" % (theirs, ours))
    expect(mine == switches and len(mine) > 3, "trace-cmd, switches per task: %s, ours %s" % (switches, mine))
    agree_with_kernelshark(dat, ours, folder)


# KernelShark's own reader, without its window: how many entries of each event's number. A process of its own, in case it crashes.
KSHARK = """
import ctypes, sys
class Entry(ctypes.Structure):
    _fields_ = [("next", ctypes.c_void_p), ("visible", ctypes.c_uint16), ("stream", ctypes.c_int16), ("event", ctypes.c_int16),
                ("cpu", ctypes.c_int16), ("pid", ctypes.c_int32), ("offset", ctypes.c_int64), ("time", ctypes.c_int64)]
try:
    lib = ctypes.CDLL("libkshark.so.2")
except OSError:
    sys.exit(77)
lib.kshark_instance.restype = ctypes.c_bool
lib.kshark_load_entries.restype = ctypes.c_ssize_t
context, rows = ctypes.c_void_p(), ctypes.POINTER(ctypes.POINTER(Entry))()
assert lib.kshark_instance(ctypes.byref(context))
stream = lib.kshark_open(context, sys.argv[1].encode())
last = 0
for i in range(lib.kshark_load_entries(context, stream, ctypes.byref(rows))):
    entry = rows[i].contents
    assert entry.time >= last, "time goes back"
    last = entry.time
    print(entry.event)
"""


def agree_with_kernelshark(dat, ours, folder):
    r = subprocess.run([sys.executable, "-c", KSHARK, dat], capture_output=True, timeout=120, check=False, env=dict(os.environ, HOME=folder))
    if r.returncode == 77:
        raise Skip("the rest: libkshark is not installed")
    expect(r.returncode == 0, "libkshark: %s" % r.stderr[-500:])
    numbers = [int(word) for word in r.stdout.split()]
    theirs = {f.name: numbers.count(f.ident) for f in traceout.FORMATS if f.ident in numbers}
    expect(theirs == ours and len(numbers) == sum(ours.values()), "KernelShark counts %s, we %s" % (theirs, ours))


@case("trace-viewers", 240)
def viewers():
    """perf sched and trace-cmd read our files and count what we count; every line of the JSON's text is what Perfetto parses."""
    with tempfile.TemporaryDirectory() as folder:
        path, _ = traced("--det", "--smp", "4", cmd=["sh", "-c", "hog & hog & audio 5"], folder=folder)
        trace = tl.load(path)
        expect(not sum(trace.lost) and trace.end - trace.start > 5 * 10**9, "lost %s" % trace.lost)
        chrome = folder + "/t.json"
        expect(tool("convert", path, chrome)[0] == 0, "cannot convert to JSON")
        with open(chrome, encoding="utf-8") as f:
            lines = json.load(f)["systemTraceEvents"].splitlines()
        bad = [line for line in lines if not line.startswith("#") and not PERFETTO.search(line)]
        expect(lines and not bad, "Perfetto cannot read %r" % bad[:3])
        agree_with_perf(path, trace, folder)
        agree_with_trace_cmd(path, trace, folder)


def synthetic(cpus, events):
    """A trace of (time, CPU, kind, flags, a, id, b) records."""
    pages = [b"".join(tl.RECORD.pack(t, kind, flags, a, ident, b, b"t%d" % ident) for t, c, kind, flags, a, ident, b in events
                      if c == cpu) for cpu in range(cpus)]
    return tl.Trace(tl.FILE_HEAD.pack(tl.MAGIC, tl.VERSION, cpus, 0, 0) + b"".join(
        tl.PAGE_HEAD.pack(1, cpu, len(data)) + data for cpu, data in enumerate(pages)))


@case("trace-wasted", 120)
def wasted():
    """Wasted time is what could have been used: by affinity, not on the CPU that is about to run the task. /proc/schedstat too."""
    def run(mask, wakes_on=0, to=9000):
        begin = [(1000, cpu, tl.START, 1 if cpu else 0, 0, 0 if cpu else 7, 0) for cpu in range(3)]
        return tl.Model(synthetic(3, begin + [
            (1500, 0, tl.AFFINITY, 0, 0, 8, mask), (1500, 0, tl.AFFINITY, 0, 0, 9, mask),
            (2000, 0, tl.WAKEUP, 0, 1, 8, wakes_on << 16), (3000, 0, tl.WAKEUP, 0, 1, 9, wakes_on << 16),
            (to, 0, tl.TICK, 0, 1, 7, 0)])).wasted
    for mask, cpu, expected in ((1, 0, 0), (7, 0, 7000 + 6000), (3, 0, 7000), (2, 0, 7000), (6, 0, 13000), (6, 2, 6000)):
        got = run(mask, cpu)
        expect(got == expected, "CPUs %x, waiting on CPU %d: %d ns wasted, not %d" % (mask, cpu, got, expected))
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/t.trace"
        r = vm("--det", "--smp", "2", "--trace", path, cmd=["sh", "-c", "taskset 1 hog 0.6 & taskset 1 hog 0.6 & sleep 0.5; "
                                                            "cat /proc/schedstat; wait"])
        trace = tl.load(path)
        model = tl.Model(trace)
        expect(model.counts[tl.AFFINITY] >= 2 and model.idle[1] > 4 * 10**8, "affinity records %d, idle %s" % (
            model.counts[tl.AFFINITY], model.idle))
        # But for the start, when nobody is pinned yet, nothing is wasted; without the records of affinity it would seem so.
        expect(model.wasted < 5 * 10**7, "%d ns wasted, though nobody might run on CPU 1" % model.wasted)
        trace.events = [e for e in trace.events if e.kind != tl.AFFINITY]
        expect(tl.Model(trace).wasted > 3 * 10**8, "nobody waited")
        stat = re.search(r"^version 15\ntimestamp \d+\ncpu0 0 0 (\d+) (\d+) 0 0 (\d+) (\d+) (\d+)\ncpu1 0 0 \d+ .*\n"
                         r"ticks0 billed (\d+) idle (\d+) wasted (\d+) late \d+\nticks1 billed (\d+) idle (\d+) wasted (\d+) late \d+\n"
                         r"longest_wait (\d+) (\d+) \S+\n", r.text, re.M)
        expect(stat, "/proc/schedstat: %r" % r.text)
        n = [int(v) for v in stat.groups()]
        expect(n[0] - n[1] == n[4] and n[2] > 4 * 10**8 and n[3] > 2 * 10**8, "CPU 0: %s" % n)
        # One tick a millisecond; two hogs on one CPU wait for each other beside an idle one. That they may not go there is not asked here.
        expect(350 < n[5] < 700 and 100 < n[10] <= n[9] and n[11] > 2 * 10**6, "ticks, longest wait: %s" % n)
        r = vm("--det", "--smp", "2", cmd=["sh", "-c", "taskset 1 hog 0.6 & sleep 0.5; cat /proc/schedstat; wait"])
        idle, lost = map(int, re.search(r"^ticks1 billed \d+ idle (\d+) wasted (\d+)", r.text, re.M).groups())
        expect(lost < 20, "one hog on two CPUs: %d ticks wasted of %d" % (lost, idle))
        r = vm("--det", "--smp", "2", "--sched", "goodness", "--trace", path, cmd=["sh", "-c", "hog 0.8 & hog 0.8 & hog 0.8; wait"])
        scores = {e.flags for e in tl.load(path).events if e.kind == tl.SCORE}
        expect({1, 2} <= scores, "goodness reports causes %s" % scores)


# What a program may call itself.
HOSTILE = (b"a b", b'q"uo\\te', b"new\nline", b"a ==> b", b"x prev_pid=3", b"C|0|n|5", b"tab\tbed", b"\xff\xfe\x01", b"", b"sixteen-letters!",
           b"<idle>", b"-5 [001]")


def hostile_trace(cpus=3, pages=5, gap=2):
    """Bytes of a trace in which tasks of such names follow each other, and a page of each CPU but the first is missing."""
    per_page = (4096 - tl.PAGE_HEAD.size) // tl.RECORD.size
    out = [tl.FILE_HEAD.pack(tl.MAGIC, tl.VERSION, cpus, 0, 0)]
    for cpu in range(cpus):
        tasks = [(10 + cpu * 100 + i, name) for i, name in enumerate(HOSTILE)]
        now, running = 10**9 + cpu * 317, (0, b"idle")
        for page in range(1, pages + 1):
            records = []
            while len(records) < per_page - 3:
                now += 5003
                following = tasks[(now // 5003) % len(tasks)]
                if page == 1 and not records:
                    records.append(tl.RECORD.pack(now, tl.START, 1, 0, 0, 0x7FFF, b"idle"))
                records.append(tl.RECORD.pack(now, tl.WAKING, 0, 0, following[0], 120 | cpu << 16, following[1]))
                records.append(tl.RECORD.pack(now + 10, tl.WAKEUP, 0, 0, following[0], 120 | cpu << 16 | 1 << 32, following[1]))
                records.append(tl.RECORD.pack(now + 1000, tl.SWITCH, 1, 1, following[0],
                                              running[0] | 120 << 32 | 120 << 48, following[1]))
                running = following
            if not (cpu and page == gap):
                data = b"".join(records)
                out.append(tl.PAGE_HEAD.pack(page, cpu, len(data)) + data)
    return b"".join(out)


@case("trace-hostile", 120)
def hostile():
    """Lost pages and task names that look like syntax: every format stays readable, the guest's program says the same."""
    with tempfile.TemporaryDirectory() as folder:
        path, text, data, dat, chrome = (folder + "/t" + s for s in (".trace", ".txt", ".data", ".dat", ".json"))
        with open(path, "wb") as f:
            f.write(hostile_trace())
        trace = tl.load(path)
        expect([n > 0 for n in trace.lost] == [False, True, True], "lost %s" % trace.lost)
        expect(not tl.Model(trace).problems, "problems: %s" % tl.Model(trace).problems)
        for out in (text, data, dat, chrome):
            expect(tool("convert", path, out)[0] == 0, "cannot convert to " + out)
        with open(text, encoding="utf-8") as f:
            lines = f.read().splitlines()
        expect(sum("buffer started" in line for line in lines) == 2, "the gaps are not told")
        for line in lines:
            expect(line.startswith("#") or PERFETTO.search(line), "Perfetto would not read %r" % line)
            expect("sched_switch" not in line or SWITCH.search(line), "bad sched_switch %r" % line)
        with open(chrome, encoding="utf-8") as f:
            check_json(json.load(f)["traceEvents"])
        guest = folder + "/guest"
        with open(folder + "/main.c", "w", encoding="utf-8") as f:
            f.write("""#include <fcntl.h>
                #include <string.h>
                #include "trace/show.h"
                int main(int argc, char **argv)
                {
                    static struct stream s;
                    stream_open(&s, open(argv[argc - 1], O_RDONLY));
                    if (!strcmp(argv[1], "ftrace")) show_ftrace(&s);
                    if (!strcmp(argv[1], "map")) show_map(&s);
                    if (!strcmp(argv[1], "latency")) show_latency(&s);
                    if (!strcmp(argv[1], "hist")) show_hist(&s);
                    return 0;
                }""")
        sources = [os.path.join(ROOT, "user", s) for s in ("trace/read.c", "trace/ftrace.c", "trace/show.c", "lib/wl.c")]
        r = subprocess.run([os.environ.get("HOST_CC", "cc"), "-std=gnu11", "-g", "-fsanitize=address,undefined", "-I" + ROOT + "/user",
                            "-o", guest, folder + "/main.c"] + sources, capture_output=True, timeout=100, check=False)
        expect(r.returncode == 0, "the guest's program does not build here: %s" % r.stderr[:600])
        for name in ("ftrace", "map", "latency", "hist"):
            r = subprocess.run([guest, name, path], capture_output=True, timeout=60, check=False, env={"ASAN_OPTIONS": "detect_leaks=0"})
            expect(r.returncode == 0, "%s: %s" % (name, r.stderr[:600]))
            same_text(name, r.stdout.decode(), host_text(path, name))
        switches = tl.Model(trace).counts[tl.SWITCH]
        rows = viewer("perf", "sched", "map", "-i", data, folder=folder).count(" secs")
        expect(rows == switches, "perf sees %d of %d switches" % (rows, switches))
        report = viewer("trace-cmd", "report", "-N", dat, folder=folder)
        dropped = sorted(int(n) for n in re.findall(r"\[(\d+) EVENTS DROPPED\]", report))
        expect(dropped == sorted(n for n in trace.lost if n), "trace-cmd knows of %s lost, we of %s" % (dropped, trace.lost))
        found = report.count(" sched_switch: ")
        expect(found == switches, "trace-cmd sees %d of %d switches" % (found, switches))


def check_text(path):
    """The grammar of ftrace text, times in order, per CPU prev = the last next. Returns the number of switches."""
    running, last, count = {}, 0.0, 0
    with open(path, encoding="utf-8") as f:
        lines = f.read().splitlines()
    expect(lines[0].startswith("# tracer"), "first line %r" % lines[0])
    for line in lines:
        if line.startswith("#"):
            continue
        found = PERFETTO.search(line)
        expect(found, "Perfetto would not read %r" % line)
        cpu, when = found.group(3), float(found.group(4))
        expect(when >= last, "time goes back at %r" % line)
        last = when
        if found.group(5) == "sched_switch":
            s = SWITCH.search(line)
            expect(s and re.match(r"R\+?$|[SDTX]$", s.group(4)), "bad sched_switch %r" % line)
            expect(running.get(cpu, s.group(2)) == s.group(2), "CPU %s ran %s, now %r" % (cpu, running.get(cpu), line))
            running[cpu] = s.group(6)
            count += 1
    return count


def check_json(events):
    """Slices of one thread do not overlap; counters are numbers; every phase is known."""
    ends = {}
    for e in sorted((e for e in events if e["ph"] == "X"), key=lambda e: (e["pid"], e["tid"], e["ts"])):
        key = e["pid"], e["tid"]
        expect(e["ts"] >= ends.get(key, 0) - 0.0005 and e["dur"] > 0, "slices overlap at %s" % e)
        ends[key] = e["ts"] + e["dur"]
    expect({e["ph"] for e in events} <= set("MXCi"), "phases %s" % {e["ph"] for e in events})
    expect(ends and all(isinstance(e["args"]["n"], int) for e in events if e["ph"] == "C"), "no slices or bad counters")


@case("trace-filter", 60)
def filters():
    """trace= records only what it names; a wrong name is reported; off is off."""
    with tempfile.TemporaryDirectory() as folder:
        path, _ = traced("--det", "--smp", "1", "--append", "trace=switch,exec", cmd=["true"], folder=folder)
        counts = tl.Model(tl.load(path)).counts
        kinds = {tl.KINDS[i] for i, n in enumerate(counts) if n}
        expect(kinds == {"start", "policy", "switch", "exec"}, "recorded: %s" % kinds)
        r = vm("--det", "--smp", "1", "--append", "trace=swich", "--log", folder + "/log3", cmd=["true"])
        with open(folder + "/log3", encoding="utf-8") as f:
            expect("trace=swich: unknown event" in f.read(), "no complaint about a wrong name; %s" % r)
        r = vm("--det", "--smp", "1", "--append", "trace=off", "--trace", folder + "/none.trace", cmd=["true"])
        expect(b"recorded nothing" in r.err and not os.path.exists(folder + "/none.trace"), str(r))


@case("trace-inside", 60)
def inside():
    """The guest's trace program records a command, passes its status on, and its dump is a whole trace."""
    r = vm("--smp", "2", cmd=["sh", "-c", "trace cmd -e switch,wake,life sh -c 'seq 1 50 | sort >/dev/null; exit 7'; "
                              "echo $? >&2; trace start; cat /dev/trace >/dev/null; trace dump -f raw"])
    expect(r.err.startswith(b"7\n") and b"busy" in r.err, str(r.err))
    trace = tl.Trace(r.out)
    counts = tl.Model(trace).counts
    expect(trace.cpus == 2 and counts[tl.SWITCH] > 4 and counts[tl.EXEC] >= 2, "recorded: %s" % counts)
    expect(not tl.Model(trace).problems, "broken: %s" % tl.Model(trace).problems)
    r = vm("--smp", "1", cmd=["sh", "-c", "trace start -e swich; echo $?; trace; echo $?; trace dump -f mapp; echo $?; "
                              "trace cmd -e switch -f map true | head -n 1"])
    expect(re.fullmatch(r"1\n2\n2\n  \*\S+ +\d+\.\d{6} secs.*\n", r.text) and b"start swich" in r.err and b"mapp" in r.err, str(r))


@case("trace-guest-tables", 90)
def guest_tables():
    """What the guest's trace program prints of a recording is what tools/trace prints of the same records."""
    formats_of_guest = ("ftrace", "map", "latency", "hist")
    r = vm("--smp", "2", cmd=["sh", "-c", "trace cmd sh -c 'hog 0.4 & hog 0.4 & audio 0.4 & seq 1 200 | sort -r | tail -n 1; wait'"
                              " >/dev/null 2>&1; for f in %s; do trace dump -f $f; echo =====; done; trace dump -f raw"
                              % " ".join(formats_of_guest)], timeout=80)
    parts = r.out.split(b"=====\n", len(formats_of_guest))
    with tempfile.TemporaryDirectory() as folder:
        path = folder + "/t.trace"
        with open(path, "wb") as f:
            f.write(parts[-1])
        for name, theirs in zip(formats_of_guest, parts):
            same_text(name, theirs.decode(), host_text(path, name))
    rows = dict(re.findall(r"^  (\w+:\d+) +\| +([\d.]+) ms", parts[2].decode(), re.M))
    hogs = [float(v) for k, v in rows.items() if k.startswith("hog:")]
    expect(len(hogs) == 2 and all(v > 100 for v in hogs), "hogs in the table: %s" % rows)


def host_text(path, name):
    """What tools/trace makes of the file, by the name of the guest's format."""
    if name == "ftrace":
        expect(tool("convert", path, path + ".txt")[0] == 0, "cannot convert")
        with open(path + ".txt", encoding="utf-8") as f:
            return f.read()
    status, out, err = tool(name, path)
    expect(status == 0, "tools/trace %s: %s" % (name, err))
    return out


def same_text(what, guest, host):
    for n, (a, b) in enumerate(zip(guest.splitlines(), host.splitlines())):
        expect(a == b, "%s, line %d: the guest prints %r, the host %r" % (what, n + 1, a, b))
    expect(guest == host and guest, "%s: %d bytes by the guest, %d by the host" % (what, len(guest), len(host)))

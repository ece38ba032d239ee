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

# Work of every kind for a few seconds: hogs that are balanced, sleepers, pipes, forks, moves by affinity.
BUSY = ["sh", "-c", "hog 3 & hog 3 & hog 3 & hog 3 & hog 3 & hog 3 & h=$!; audio 3 & typist 3 & "
        "(for i in 1 2 3 4 5 6 7 8; do taskset -p 1 $h; sleep 0.1; taskset -p 2 $h; sleep 0.1; done) >/dev/null 2>&1; "
        "renice -n 5 -p $h >/dev/null; for i in 1 2 3; do seq 1 300 | sort -r | tail -n 1; done; wait"]
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


def sums(*options, minimum):
    """Run time and idle time make up the elapsed time of every CPU, nothing lost; the kernel's sums agree."""
    with tempfile.TemporaryDirectory() as folder:
        path, _ = traced("--smp", "4", *options, cmd=BUSY, folder=folder, timeout=170)
        trace = tl.load(path)
        expect(trace.cpus == 4 and not sum(trace.lost), "%d CPUs, lost %s" % (trace.cpus, trace.lost))
        expect(trace.end - trace.start > minimum, "only %d ns recorded" % (trace.end - trace.start))
        status, out, err = tool("check", path)
        expect(status == 0 and re.search(r"4 of 4 CPUs: run \+ idle = elapsed; (\d\d+) ended tasks agree", out), out + err)
        model = tl.Model(trace)
        for cpu in range(4):
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


case("trace-sums-det", 240, args=("--det",))(lambda option: sums(option, minimum=2 * 10**9))
case("trace-sums", 240)(lambda: sums(minimum=2 * 10**9))


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
        # Straight from the machine it is the same text.
        path2, _ = traced("--det", "--smp", "2", cmd=["true"], folder=folder, name="direct.txt")
        expect(check_text(path2) > 5, "--trace F.txt holds no switches")
        if not shutil.which("trace-cmd"):
            raise Skip("the rest: trace-cmd is not installed")
        r = subprocess.run(["trace-cmd", "report", "-N", dat], capture_output=True, timeout=60, check=False)
        lines = r.stdout.decode().splitlines()
        expect(r.returncode == 0 and sum(" sched_switch: " in s for s in lines) == switches,
               "trace-cmd sees %d of %d switches: %s" % (sum(" sched_switch: " in s for s in lines), switches, r.stderr[:300]))
        for line in lines:
            if " sched_switch: " in line:
                expect(SWITCH.search(line), "trace-cmd prints %r" % line)


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
                              "echo $? >&2; trace start; cat /dev/trace >/dev/null; trace dump"])
    expect(r.err.startswith(b"7\n") and b"busy" in r.err, str(r.err))
    trace = tl.Trace(r.out)
    counts = tl.Model(trace).counts
    expect(trace.cpus == 2 and counts[tl.SWITCH] > 4 and counts[tl.EXEC] >= 2, "recorded: %s" % counts)
    expect(not tl.Model(trace).problems, "broken: %s" % tl.Model(trace).problems)
    r = vm("--smp", "1", cmd=["sh", "-c", "trace start -e swich; echo $?; trace; echo $?"])
    expect(r.text == "1\n2\n" and b"start swich" in r.err, str(r))

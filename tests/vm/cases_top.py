# SPDX-License-Identifier: MIT
#
# What shows the scheduler on the machine itself: top, queues, step, vmstat,
# mpstat and the files of /sys/sched that they read.
"""Seeing the scheduler."""

import os
import re
import sys

from lib import ROOT, Console, case, expect, vm

sys.path.insert(0, os.path.join(ROOT, "tools"))
import tracelib as tl  # noqa: E402

SCREENS = os.path.join(ROOT, "build", "screens")
HEAD = "  PID   PR  NI S  P  %CPU  %RUN   SLPAVG BON   TS   CSW COMMAND"
ROW = re.compile(r" *(\d+) +(-?\d+) +(-?\d+) ([RSDTZ]) +(\d+) +([\d.]+) +([\d.]+) +(-?[\d.]+%?) +(-?\d+) +(-?\d+) +(\d+) (\S+)$")
CPU = re.compile(r"Cpu(\d+) *: *([\d.]+) us,  0.0 sy,  0.0 ni, *([\d.]+) id,  0.0 wa \[([| ]+)\]")


def frames(text):
    """The frames of top -b: for each the CPUs' busy shares and the rows (pid, pr, ni, s, p, cpu, run, score, bon, ts, csw, comm)."""
    found = []
    for part in text.split("top - ")[1:]:
        lines = [line for line in part.split("\n") if line]
        expect(re.match(r"\d\d:\d\d:\d\d up .*, load average: [\d.]+, [\d.]+, [\d.]+  policy \S+, HZ \d+$", lines[0]), "first line %r" % lines[0])
        expect(re.match(r"Tasks: \d+ total, \d+ running, \d+ sleeping, \d+ stopped, \d+ zombie$", lines[1]), "second line %r" % lines[1])
        expect(all(len(line) <= 80 for line in lines), "a line is too long")
        cpus, rows, head = [], [], None
        for line in lines[2:]:
            cpu = CPU.match(line)
            if cpu:
                busy, idle = float(cpu.group(2)), float(cpu.group(3))
                expect(abs(busy + idle - 100) < 0.11, line)
                expect(abs(cpu.group(4).count("|") - busy * 14 / 100) < 1, line)
                cpus.append(busy)
            elif line.endswith("COMMAND"):
                head = line
            elif head:
                m = ROW.match(line)
                expect(m, "not a row: %r" % line)
                g = m.groups()
                rows.append((int(g[0]), int(g[1]), int(g[2]), g[3], int(g[4]), float(g[5]), float(g[6]), g[7], int(g[8]), int(g[9]), int(g[10]), g[11]))
        found.append((head, cpus, rows))
    return found


@case("top-shares", 60)
def shares():
    """Two hogs at nice 0 and 19 on one CPU: shares add up to 100 % by ticks and exactly; an idle CPU is idle."""
    r = vm("--det", "--smp", "2", cmd=["sh", "-c", "taskset 1 hog 99 & taskset 1 hog 99 & renice -n 19 -p $! >/dev/null; "
                                       "sleep 1; taskset 2 top -b -n 2 -d 1; sched goodness; taskset 2 top -b -n 1 -d 0.5"])
    seen = frames(r.text)
    expect(len(seen) == 3 and all(f[0] == HEAD for f in seen[:2]), str(r))
    for _, cpus, rows in seen[:2]:
        expect(len(cpus) == 2 and cpus[0] > 99.8 and cpus[1] < 20, "busy: %s" % cpus)
        hogs = {row[2]: row for row in rows if row[11] == "hog"}
        expect(sorted(hogs) == [0, 19], "hogs: %s" % rows)
        for column in (5, 6):
            expect(abs(sum(row[column] for row in rows if row[4] == 0) - 100) < 1.5, "CPU 0, column %d: %s" % (column, rows))
            expect(hogs[0][column] > 5 * hogs[19][column] > 20, "shares: %s" % hogs)
        expect(hogs[0][1] == 25 and hogs[19][1] == 39 and hogs[0][8] == -5 and hogs[0][7] == "0.0%", "figures: %s" % hogs)
        expect(1 <= hogs[0][9] <= 102 and 1 <= hogs[19][9] <= 10, "slices: %s" % hogs)
        expect(all(row[3] == "R" and 5 <= row[10] <= 60 for row in hogs.values()), "state, switches: %s" % hogs)
        expect([row[6] for row in rows] == sorted((row[6] for row in rows), reverse=True), "not sorted: %s" % rows)
    # The other policy names its own figure; a third of the time for nice 19 under it.
    expect(" GOODNESS " in seen[2][0], seen[2][0])
    console = [row for row in seen[2][2] if row[11] == "console"]
    expect(console and console[0][1] == -51 and int(console[0][7]) > 1000, str(seen[2][2]))


@case("top-cheat", 60)
def cheat():
    """The tick dodger: next to nothing by ticks, nearly everything by the clock; its victim the other way round."""
    r = vm("--det", "--smp", "1", cmd=["sh", "-c", "cheat --nap 3 4 >/dev/null & sleep 5; top -b -n 1 -d 1"])
    rows = [row for row in frames(r.text)[0][2] if row[11] == "cheat"]
    expect(len(rows) == 2, str(r))
    cheater, victim = sorted(rows)
    expect(cheater[5] < 10 and cheater[6] > 70, "the cheat: %s" % (cheater,))
    expect(victim[5] > 85 and victim[6] < 30, "its victim: %s" % (victim,))


@case("top-threads", 40)
def threads():
    """A process's line is the sum of its threads; -H has a line for each."""
    r = vm("--det", "--smp", "1", cmd=["sh", "-c", "chat --rooms 1 --users 6 --messages 1000000 >/dev/null & sleep 0.5; top -b -n 1 -d 0.5; top -H -b -n 1 -d 0.5"])
    whole, each = [[row for row in f[2] if row[11] == "chat"] for f in frames(r.text)]
    expect(len(whole) == 3 and len(each) > 12 and "  TID " in r.text, str(r))
    expect(all(90 < sum(row[6] for row in rows) < 101 for rows in (whole, each)), "%s, %s" % (whole, each))


@case("top-interactive", 90)
def interactive():
    """Keys act, q, ^C, a signal and ^Z leave a usable terminal."""
    with Console(smp=2) as c:
        c.prompt()
        c.run("hog 100 & hog 100 &")

        def usable():
            out = c.run("echo $((6*7))x")
            expect("echo $((6*7))x" in out and "42x" in out, "the terminal does not echo or answer: %r" % out)
            # The shell's own line editor would hide what was left behind.
            modes = c.run("stty -a").split()
            expect("icanon" in modes and "echo" in modes and "isig" in modes, "left behind: %s" % modes)

        def start():
            c.send("top -d 0.3\r")
            c.wait(b"\x1b[?25l", what="the hidden cursor")
            c.wait(b"COMMAND", what="the first frame")

        start()
        c.wait(re.compile(rb"Cpu1 +: "), what="a line for each CPU")
        c.wait(re.compile(rb"\d+ +25 +0 R +\d .* hog\x1b"), what="a hog")
        c.send("1")
        c.wait(b"Cpu(s): ", what="one line for all CPUs")
        c.send("H")
        c.wait(b"  TID ", what="threads")
        c.send("s")
        c.wait(b"sorted by %CPU", what="another order")
        c.send("d")
        c.wait(b"seconds between two frames:")
        c.send("0.2\r")
        c.wait(b"COMMAND")
        pid = re.findall(rb"\n *(\d+) +25 +0 R .* hog\x1b", c.seen)[-1].decode()
        c.send("r")
        c.wait(b"PID to renice:")
        c.send(pid + "\r")
        c.wait(b"to nice value:")
        c.send("7\r")
        c.wait(re.compile(pid.encode() + rb" +\d+ +7 R"), what="the hog at nice 7")
        c.send("k")
        c.wait(b"PID to kill:")
        c.send(pid + "x\x7f\r")
        c.wait(b"with signal [15]:")
        c.send("\r")
        c.wait(re.compile(rb"Tasks: \d+ total, 2 running"), what="one hog less")
        c.send("q")
        c.wait(b"\x1b[?25h", what="the cursor")
        c.prompt()
        usable()
        start()
        c.send("\x03")
        c.prompt()
        usable()
        c.run("(sleep 1.5; kill $(pidof top)) &")
        start()
        c.wait(b"\x1b[?25h", what="the cursor, after SIGTERM")
        c.prompt()
        usable()
        start()
        c.send("\x1a")
        c.prompt()
        usable()
        c.send("fg\r")
        c.wait(b"COMMAND", what="a frame after fg")
        c.send("q")
        c.prompt()
        usable()
        # The others share the code; that they end is enough.
        c.send("queues\r")
        c.wait(b"CPU 1: ", what="the queues")
        c.send("q")
        c.prompt()
        c.send("step -t 0.5\r")
        c.wait(re.compile(rb"switch 1 of \d+"), what="the first switch")
        c.send(" ")
        c.wait(re.compile(rb"switch 2 of \d+"), what="the next one")
        c.send("b")
        c.wait(re.compile(rb"switch 1 of \d+"), what="the one before")
        c.send("q")
        c.prompt()
        usable()


@case("top-screen", 90, full=True)
def top_screen():
    """On the 80x25 screen top fills it without scrolling; a picture goes to build/screens/top.png."""
    os.makedirs(SCREENS, exist_ok=True)
    with Console(smp=4) as c:
        c.prompt()
        c.run("for i in 1 2 3 4 5; do hog 99 & done; renice -n 10 -p $! >/dev/null; audio 99 & cheat --nap 2 99 & sleep 5")
        c.send("top -d 1\r")
        c.wait(b"COMMAND")
        for _ in range(8):
            c.wait(b"\x1b[H", what="another frame")
        lines = c.machine.screen_text()
        expect(lines[0].startswith("top - ") and lines[1].startswith("Tasks: "), "\n".join(lines))
        expect(all(lines[2 + i].startswith("Cpu%d  :" % i) for i in range(4)), "\n".join(lines))
        expect(lines[7].endswith("COMMAND") and any(line.endswith(" audio") for line in lines), "\n".join(lines))
        c.machine.qmp("screendump", filename=os.path.join(SCREENS, "top.png"), format="png")
        c.send("q")
        c.prompt()


def raw_queues(text):
    """CPU -> (head, list -> (bitmap or None, [(level, id, comm)]))."""
    cpus, lists, tasks = {}, None, None
    for line in text.splitlines():
        head = re.match(r"cpu (\d+): (.*)", line)
        task = re.match(r"(-?\d+): (\d+) \((.*)\) ", line)
        if head:
            lists = {}
            cpus[int(head.group(1))] = (head.group(2), lists)
        elif task:
            tasks.append((int(task.group(1)), int(task.group(2)), task.group(3)))
        else:
            name, rest = line.split(":", 1)
            words = re.search(r"bitmap (\w+) (\w+) (\w+)", rest)
            tasks = []
            lists[name] = (words and sum(int(w, 16) << 64 * i for i, w in enumerate(words.groups())), tasks)
            lists[name + " said"] = int(re.search(r"tasks (\d+)", rest).group(1))
    return cpus


@case("queues", 60)
def queues():
    """Pinned hogs are in the queues exactly once, at their level, where the bitmap says so; the picture says the same."""
    script = ("for c in 1 1 1 2 2; do taskset $c hog 99 & done; renice -n 5 -p $! >/dev/null; sleep 1; "
              "echo ==; cat /sys/sched/queues; echo ==; queues -b; echo ==; queues -b 1; echo ==; sched goodness; cat /sys/sched/queues; echo ==; queues -b")
    r = vm("--det", "--smp", "2", cmd=["sh", "-c", script])
    _, raw, picture, one, raw_g, picture_g = r.text.split("==\n")
    cpus = raw_queues(raw)
    hogs = [(cpu, level, pid) for cpu in cpus for name in ("active", "expired")
            for level, pid, comm in cpus[cpu][1][name][1] if comm == "hog"]
    expect(len(hogs) == 5 and len({pid for _, _, pid in hogs}) == 5, raw)
    expect(sorted(cpu for cpu, _, _ in hogs) == [0, 0, 0, 1, 1], raw)
    expect(sorted(level for _, level, _ in hogs) == [125] * 4 + [130], raw)
    for _, lists in cpus.values():
        for name in ("active", "expired"):
            bitmap, tasks = lists[name]
            expect(bitmap == sum(1 << level for level in {t[0] for t in tasks}), "bitmap: " + raw)
            expect(len(tasks) == lists[name + " said"], "count: " + raw)
    for pid in {pid for _, _, pid in hogs}:
        expect(len(re.findall(r"hog\(%d\) " % pid, picture.replace("runs hog(%d)" % pid, ""))) == 1, "hog %d in: %s" % (pid, picture))
    expect(all(len(line) <= 80 for line in (picture + picture_g).splitlines()), picture)
    strip = [line.split()[1] for line in picture.splitlines() if line.startswith((" active ", " expired "))]
    expect(len(strip) == 4 and all(len(s) == 40 for s in strip), picture)
    expect(any(s[25] == "#" for s in strip) and any(s[30] == "#" for s in strip), picture)
    expect("CPU 1: " in one and "CPU 0: " not in one, one)
    listed = raw_queues(raw_g)[0][1]["list"][1]
    expect(len([t for t in listed if t[2] == "hog"]) == 5, raw_g)
    expect(picture_g.count("hog(") - len(re.findall(r"runs hog", picture_g)) == 5, picture_g)


@case("step", 60)
def step():
    """Every switch of a CPU as the trace has it, each with the right reason; at o1 the first of the best active level is chosen."""
    script = ("for i in 1 2 3; do taskset 2 hog 99 & done; renice -n 10 -p $! >/dev/null; (taskset 2 audio 99; taskset 2 typist 99) >/dev/null & taskset 2 yielder 99 >/dev/null & "
              "sleep 1; trace start -e switch,tick; taskset 1 step -c 1 -t 1 -b >&2; taskset 1 trace dump -f raw")
    r = vm("--det", "--smp", "2", cmd=["sh", "-c", script])
    trace = tl.Trace(r.out)
    switches = [e for e in trace.events if e.kind == tl.SWITCH and e.cpu == 1]
    text = r.err.decode()
    shown = re.split(r"^(?=switch \d+ of)", text, flags=re.M)[1:]
    expect(len(shown) > 20, "only %d switches; %s" % (len(shown), text[:500]))
    first = float(re.search(r"at ([\d.]+) s", shown[0]).group(1))
    start = next(i for i, e in enumerate(switches) if abs(e.time / 1e9 - first) < 1e-6)
    reasons = {}
    for part, e in zip(shown, switches[start:]):
        check_step(part, e, reasons)
    expect(len(switches) - start >= len(shown), "more switches than the trace has")
    for words in ("sleeps", "slice ended", "preempts", "yielded"):
        expect(reasons.get(words), "%s: never; seen %s" % (words, reasons))


def check_step(part, e, reasons):
    lines = part.splitlines()
    when = float(re.search(r"at ([\d.]+) s", lines[0]).group(1))
    prev, nxt = re.match(r"\S*?\((\d+)\) -> \S*?\((\d+)\)$", lines[1]).groups()
    prev_id, prev_prio, next_prio = e.b >> 32, e.b >> 16 & 0xffff, e.b & 0xffff
    if prev_id != int(prev):
        prev_id, prev_prio, next_prio = e.b & 0xffffffff, e.b >> 32 & 0xffff, e.b >> 48
    expect(abs(when - e.time / 1e9) < 1.1e-6 and int(nxt) == e.id and int(prev) == prev_id,
           "%s; the trace: %s at %d, from %d to %d" % (part, e, e.time, prev_id, e.id))
    how, state, why = e.a >> 8, e.a & 0xff, lines[2]
    kind = None
    for words in ("sleeps", "slice of", "preempts", "yielded", "has ended", "was idle"):
        if words in why:
            kind = "slice ended" if words == "slice of" else words
    reasons[kind] = reasons.get(kind, 0) + 1
    expect((kind == "sleeps") == (how == 3 and state == 1), "trace: how %d state %d; %s" % (how, state, part))
    expect((kind == "yielded") == (how == 2), "trace: how %d; %s" % (how, part))
    if kind == "preempts":
        expect(how in (0, 1) and next_prio < prev_prio, "trace: prio %d, %d; %s" % (prev_prio, next_prio, part))
    rows = [line for line in lines if re.match(r" *\d+ [* ]\S+\(\d+\)", line)]
    if rows and "idle/" not in lines[1]:
        expect(rows[0].startswith("%4d *" % next_prio) and "(%s)" % nxt in rows[0], "not the first of the best level: " + part)


@case("step-policies", 60)
def step_policies():
    """Under each policy; watching ends with a change of the policy; wrong commands are refused."""
    r = vm("--smp", "2", cmd=["sh", "-c", """
        hog 20 & hog 20 & hog 20 & yielder 20 >/dev/null &
        for p in $(cut -f1 /sys/sched/available); do
            sched $p
            echo $p $(step -b -n 3 sh -c "seq 20 | sort >/dev/null" | grep -c "^switch [123] of")
        done
        echo start > /sys/sched/watch; cat /sys/sched/watch 2>/dev/null || echo busy; sched o1; sleep 0.1; head -n 1 /sys/sched/watch
        for bad in "start 2" "start x" stat ""; do echo "$bad" > /sys/sched/watch 2>/dev/null && echo accepted; done
        step -c 7 -b; echo $?; echo clear > /sys/sched/watch; cat /sys/sched/watch; queues -b 5; top -n 1 </dev/null; echo $?"""])
    lines = r.text.split("\n")
    policies = [line for line in lines if re.match(r"\S+ 3$", line)]
    expect(len(policies) >= 7, str(r))
    expect("busy" in lines and re.search(r"watched: switches [1-9]", r.text) and "accepted" not in r.text, str(r))
    expect("watched: switches 0 left_out 0" in lines and "no such CPU: 5" in lines and lines.count("2") >= 2, str(r))
    expect(b"there is no CPU 7" in r.err and b"no terminal" in r.err, str(r))


@case("see-under-fire", 90)
def under_fire():
    """The files are read in loops, and watching goes on and off, while the policy changes on 8 CPUs."""
    r = vm("--smp", "8", cmd=["sh", "-c", """
        for i in 1 2 3 4 5 6; do hog 60 & done; hack 60 >/dev/null &
        for i in 1 2 3; do (while :; do cat /sys/sched/queues /sys/sched/tasks /sys/sched/info /proc/self/sched; done >/dev/null) & done
        (while :; do echo start > /sys/sched/watch; echo start 3 > /sys/sched/watch; cat /sys/sched/watch; echo stop > /sys/sched/watch; cat /sys/sched/watch; done >/dev/null 2>&1) &
        (while :; do echo clear > /sys/sched/watch; top -b -n 1 -d 0.05; queues -b; done >/dev/null) &
        for round in 1 2; do for p in $(cut -f1 /sys/sched/available); do sched $p; done; done
        sched o1; cat /sys/sched/policy; echo stop > /sys/sched/watch; head -n 1 /sys/sched/queues"""], timeout=80)
    expect(re.search(r"^o1\ncpu 0: tasks \d+ ", r.text), str(r))


@case("vmstat-mpstat", 60)
def vmstat_mpstat():
    """The columns of procps and sysstat, and what one busy CPU of two looks like in them."""
    r = vm("--det", "--smp", "2", cmd=["sh", "-c", "taskset 1 hog 99 & taskset 2 vmstat 1 3; mpstat -P ALL 1 1; ps -o pid,ppid,nice,stat,comm | grep hog; "
                                       "taskset 2 vmstat; mpstat -P 1"])
    lines = r.text.split("\n")
    expect(lines[0] == "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----", lines[0])
    expect(lines[1] == " r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st", lines[1])
    for line in lines[3:5]:
        v = [int(w) for w in line.split()]
        expect(len(v) == 17 and v[0] >= 1 and v[2] == 0 and v[3] > 100000, line)
        expect(900 <= v[10] <= 1200 and v[11] < 200, line)
        expect(v[12] in (50, 51) and v[14] in (49, 50) and v[13] == v[15] == v[16] == 0, line)
    expect(re.match(r"Linux 6\.1\S* \(jiffies\) \t\d\d/\d\d/\d\d \t_x86_64_\t\(2 CPU\)$", lines[5]), lines[5])
    table = {line.split()[1]: [float(w) for w in line.split()[2:]] for line in lines[8:11]}
    expect(lines[7].split()[1:] == ["CPU", "%usr", "%nice", "%sys", "%iowait", "%irq", "%soft", "%steal", "%guest", "%gnice", "%idle"], lines[7])
    expect(sorted(table) == ["0", "1", "all"] and table["0"][0] > 99 and table["1"][0] < 3 and 49 < table["all"][9] < 51, str(table))
    expect(re.search(r"^ *\d+ +\d+ +0 R +hog$", r.text, re.M), str(r))

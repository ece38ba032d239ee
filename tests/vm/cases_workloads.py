# SPDX-License-Identifier: MIT
#
# The workload programs of user/workloads: each runs with small parameters, in
# a deterministic machine with one CPU and on the host's Linux, and what it
# reports must fit what it did. What schedulers make of them is for the
# experiments; here the programs are judged.
"""Workloads: every program's behaviour and arguments."""

import glob
import os
import subprocess

from lib import ROOT, case, expect, results, vm

# Program and arguments, what must hold for its RESULT (a dict of floats) on any
# system, and what must hold in a machine with one CPU under o1.
ANY = None
COMMANDS = [
    ("thud --scale 0.05 --rounds 1 4", lambda v: v["procs"] == 4 and v["elapsed_s"] >= 0.8,
     lambda v: v["elapsed_s"] < 1.3 and 25 < v["members_share_pct"] < 45 and v["probe_late_max_us"] > 10000),
    ("thud --thud2 --scale 0.02 --hog 3", lambda v: v["naps"] == 40 and v["procs"] == 3,
     lambda v: v["hog_gap_max_ms"] > 50),
    ("fiftyp 1", lambda v: v["procs"] == 10,
     lambda v: 95 < v["members_share_pct"] + v["hog_share_pct"] < 101 and v["hog_gap_max_ms"] > 100),
    ("tenp 1", lambda v: v["procs"] % 15 == 0,
     lambda v: v["procs"] == 15 and v["probe_periods"] > 5 and 85 < v["members_share_pct"] + v["hog_share_pct"] < 101),
    ("irman2 -b 50 3", lambda v: v["tokens_left"] == 1 and 0 < v["hops"] <= 60,
     lambda v: v["hog_gap_max_ms"] > 100 and abs(v["hops"] * 5 / 3 + v["hog_share_pct"] - 100) < 8),
    ("irman2 -n 6 -a 2 -b 20 1", lambda v: v["tokens_left"] == 2, ANY),
    ("starve --delay 0.1 3000", lambda v: v["signals"] >= 3000 and v["sleeps"] > 0,
     lambda v: v["sender_share_pct"] + v["receiver_share_pct"] + v["hog_share_pct"] > 90),
    ("chew --quiet 1", lambda v: v["elapsed_s"] >= 1, lambda v: v["gaps"] == 0 and v["cpu_share_pct"] > 99),
    ("massive_intr --quiet 10 3", lambda v: v["loops_min"] * 10 <= v["loops"] <= v["loops_max"] * 10,
     lambda v: 300 <= v["loops"] <= 376),
    ("ring_test --procs 20 --tokens 3 0.5", lambda v: v["tokens_left"] == 3 and v["hops"] > 0,
     lambda v: v["hops_per_s"] > 10000 and 0.1 < v["switches_per_hop"] < 1.2),
    ("memload 0.3", lambda v: v["copies"] >= 1, lambda v: v["share_pct"] > 95),
    ("execload 0.5", lambda v: v["execs"] >= 1, lambda v: v["execs"] > 50),
    ("cheat --nap 3 1", lambda v: v["naps"] > 0,
     lambda v: v["obtained_pct"] > 70 and v["shown_pct"] < 10 and v["hogs_shown_pct"] > 90),
    ("rxvt_spin --scale 0.1", lambda v: v["workers"] == 4 and v["no_worker_max_ms"] > 0,
     lambda v: v["no_worker_max_ms"] <= v["worker_gap_max_ms"] + 5 and 98 < v["spinner_share_pct"] + v["workers_share_pct"] < 102 and v["no_worker_max_ms"] > 50),
    ("pollwait --nap 0.5 --requests 2", lambda v: v["looks"] >= 2 and v["done_p50_ms"] >= 50,
     lambda v: v["done_p50_ms"] > 90),
    ("pollwait --nap 0.5 --requests 2 --spin", lambda v: v["looks"] >= 2 and v["done_p50_ms"] >= 50,
     lambda v: v["looks"] > 10),
    ("xburst --scale 0.1 2", lambda v: v["bursts"] == 2 and v["done_p50_ms"] >= 40,
     lambda v: v["done_max_ms"] < 45),
    ("phases --scale 0.1 2", lambda v: v["phases"] == 2 and v["hogs"] == 1,
     lambda v: 4 < v["interactive_share_pct"] < 6 and v["hog_share_pct"] > 20),
    ("childpenalty --nap 1 --repeat 1 --hogs 2", lambda v: v["done_min_ms"] >= 200, ANY),
    ("stopcont --run 0.5 --stop 1", lambda v: v["look_s"] >= 1,
     lambda v: 98 < v["share_pct"] + v["other_share_pct"] < 101),
    ("chat --rooms 2 --users 5 --messages 10",
     lambda v: v["received"] == 500 and v["failed"] == 0 and v["threads"] == 40,
     lambda v: v["switches_per_message"] > 0.2),
    ("makej -j 3 --count 6 --scale 0.2", lambda v: v["failed"] == 0 and v["count"] == 6,
     lambda v: v["work_s"] * 1.05 < v["elapsed_s"] < v["work_s"] * 1.3),
    ("ramcopy --mib 1", lambda v: v["mib"] == 1 and v["mib_per_s"] > 0, ANY),
    ("hack --peers 5 --messages 10 2", lambda v: v["messages"] == 500 and v["procs"] == 20 and not v["failed"],
     ANY),
    ("inversion --hold 4 --mid 60 --rounds 1", lambda v: v["pi_max_ms"] > 0 and v["plain_max_ms"] > 0 and not v["failed"],
     lambda v: v["pi_max_ms"] < 6 and 60 < v["plain_max_ms"] < 75),
    ("inversion --nice --mid 60", lambda v: v["plain_max_ms"] > 0 and v["pi_max_ms"] > 0,
     lambda v: v["pi_max_ms"] < 8 and v["plain_max_ms"] > 15),
    ("hog --nice 19 0.3", lambda v: v["elapsed_s"] >= 0.3, lambda v: v["share_pct"] > 98 and v["gap_max_ms"] < 5),
]


def words(pairs):
    """The numbers of a RESULT line."""
    return {k: float(v) for k, v in pairs.items() if k and v.replace(".", "").replace("-", "").isdigit()}


def judge(text, commands, on_guest):
    found = results(text)
    expect(len(found) == len(commands), "%d RESULT lines of %d: %s" % (len(found), len(commands), text[-1500:]))
    for (command, anywhere, guest), pairs in zip(commands, found):
        name = command.split()[0]
        expect(pairs[""] == name, "%s answered %s" % (command, pairs))
        for check in (anywhere, guest if on_guest else ANY):
            expect(not check or check(words(pairs)), "%s reports what cannot be: %s" % (command, pairs))


def in_machine(part):
    commands = COMMANDS[part::3]
    r = vm("--det", "--smp", "1", cmd=["sh", "-c", " && ".join(c[0] for c in commands)], timeout=110)
    judge(r.text, commands, True)


for third in range(3):
    case("workloads-%d" % (third + 1), 120, args=(third,))(in_machine)


def host(command, limit=60):
    argv = command.split()
    argv[0] = os.path.join(ROOT, "build", "user", argv[0])
    expect(os.path.exists(argv[0]), "%s is not built: run make" % argv[0])
    return subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit, check=False)


@case("workloads-on-linux", 170)
def on_linux():
    """The same programs on the host, where only what they themselves guarantee is judged."""
    text = ""
    for command, _anywhere, _guest in COMMANDS:
        r = host(command)
        expect(r.returncode == 0, "%s: status %d, %r" % (command, r.returncode, r.stderr))
        text += r.stdout.decode()
    judge(text, COMMANDS, False)


@case("workloads-arguments", 60)
def arguments():
    """--help is answered; an unknown option is named and gives status 2."""
    for source in sorted(glob.glob(os.path.join(ROOT, "user", "workloads", "*.c"))):
        name = os.path.basename(source)[:-2]
        r = host(name + " --help")
        expect(r.returncode == 0 and r.stdout.startswith(b"usage: " + name.encode()), "%s --help: %r" % (name, r))
        r = host(name + " --no-such")
        expect(r.returncode == 2 and b"--no-such" in r.stderr, "%s --no-such: %r" % (name, r))
    for command in ("irman2 -n 0", "irman2 -n 2 -a 3", "massive_intr 5", "thud x", "hog --nice 20", "cheat --want 100",
                    "interbench --loads foo", "pollwait --busy 101", "makej --min 5 --max 4", "pipe_switch --interval -1"):
        r = host(command)
        expect(r.returncode == 2 and r.stderr, "%s: status %d" % (command, r.returncode))


@case("workloads-interbench", 90)
def interbench():
    """Without a load everything is met; a hog beside the game takes its share; every load can be had."""
    r = vm("--det", "--smp", "1", cmd=["sh", "-c",
           "interbench --seconds 1 --tasks audio,gaming --loads none,burn && interbench --seconds 0.3 --tasks video --loads none,x,write,read,ring,memload,compile"],
           timeout=80)
    found = {(v["task"], v["load"]): words(v) for v in results(r.text, "interbench")}
    expect(len(found) == 11, str(r))
    for task in ("audio", "gaming", "video"):
        expect(found[task, "none"]["desired_cpu_pct"] > 99.5 and found[task, "none"]["max_ms"] < 1, str(r))
    expect(found["audio", "none"]["deadlines_met_pct"] == 100, str(r))
    expect(found["audio", "none"]["samples"] == 20 and 17 <= found["video", "none"]["samples"] <= 19, str(r))
    expect(found["gaming", "burn"]["desired_cpu_pct"] < 75 and found["gaming", "burn"]["latency_ms"] > 30, str(r))
    expect("deadlines_met_pct" not in found["gaming", "burn"], str(r))
    expect(all(v["timekeeper_fifo"] == 1 for v in found.values()), str(r))
    expect(found["video", "compile"]["latency_ms"] > found["video", "none"]["latency_ms"], str(r))
    expect(found["video", "write"]["latency_ms"] > found["video", "none"]["latency_ms"], str(r))


@case("workloads-pipe-interval", 60)
def pipe_interval():
    """The interval lines of pipe_switch add up to its RESULT, and show the lock-in of an interactive writer."""
    r = vm("--det", "--smp", "1", cmd=["pipe_switch", "--sleep", "6", "--interval", "50", "40000"], timeout=50)
    rows = [dict(w.split("=") for w in s.split()[1:]) for s in r.text.splitlines() if s.startswith("interval")]
    (total,) = results(r.text, "pipe_switch")
    expect(len(rows) >= 3, str(r))
    moved, switches = (sum(int(row[k]) for row in rows) for k in ("bytes", "switches"))
    expect(0.5 * 40000 < moved <= 40000, str(r))
    # The last interval is cut off and has no line: between no and two switches for each of its bytes.
    left = float(total["switches_per_byte"]) * 40000 - switches
    expect(-100 <= left <= 2 * (40000 - moved) + 100, "%.0f switches have no interval: %s" % (left, r))
    # The writer's credit runs out in the end: locked in is what some interval shows, not what the last one must.
    expect(max(int(row["switches"]) / int(row["bytes"]) for row in rows) > 1.5, str(r))

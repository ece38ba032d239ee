# SPDX-License-Identifier: MIT
#
# The programs that tools/compat runs on the host and here, as Debian ships
# them. A run is judged by its exit status and by what its output must match;
# figures differ between machines, so patterns say what must be there, not how
# fast. `same` asks for equal output on both sides as well.
"""The table of runs; see Run for the fields."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Run:
    """One program, started one way."""

    name: str  # unique, short: a row of docs/compatibility.md
    package: str  # Debian's
    run: str  # a line for dash; works in an empty directory on /tmp
    match: typing.Sequence[str] = ()  # regexes (multi-line), all must be found in stdout + stderr
    status: int = 0
    absent: typing.Sequence[str] = ()  # regexes that must not be found
    same: bool = False
    needs: typing.Sequence[str] = ()  # programs besides the first word of `run`
    folders: typing.Sequence[str] = ()  # whole directories of the host that the program reads
    files: typing.Mapping[str, str] = dataclasses.field(default_factory=dict)  # put into the directory
    limit: int = 60  # seconds of wall time: not ended by then is a hang
    short: bool = False  # also a part of `make test`
    note: str = ""  # what it grumbles about here and yet passes
    why: str = ""  # what it needs that is missing here, for the list


JOBS = """\
sleep 30 & a=$!
sleep 30 & b=$!
kill -STOP $a; kill -CONT $a
kill $a; wait $a; echo first $?
kill -KILL $b; wait $b; echo second $?
trap 'echo trapped' USR1
kill -USR1 $$
(exit 7) || echo status $?
x=$(echo a b c | tr ' ' '\\n' | wc -l); echo $x
f() { n=0; while [ $n -lt 200 ]; do n=$((n + 1)); done; echo $n; }
f | cat
cat <<END | sort -r | head -n 1
one
two
END
"""

LUA = """\
local function gen(n) return coroutine.wrap(function() for i = 1, n do coroutine.yield(i) end end) end
local sum = 0
for i in gen(1000) do sum = sum + i end
print(sum)
local p = assert(io.popen("echo from a child; exit 3"))
print(p:read("a"), select(3, p:close()))
local f = assert(io.open("note", "w"))
for i = 1, 5000 do f:write(i, "\\n") end
f:close()
local n = 0
for line in io.lines("note") do n = n + tonumber(line) end
print(n, os.remove("note"))
local t = {}
for i = 1, 100000 do t[i] = (i * 7919) % 100003 end
table.sort(t)
print(t[1], t[#t], #t, string.format("%.3f", math.pi), os.getenv("NOTHING"))
print(pcall(error, "caught"))
print(os.time{year = 2026, month = 1, day = 1, hour = 0} > 0, os.clock() >= 0)
"""

MAKEFILE = """\
all: sum
%.part: ; @sleep 0.1; echo $* > $@
sum: 1.part 2.part 3.part 4.part 5.part 6.part 7.part 8.part
\t@cat $^ | sort -n | tr '\\n' ' ' > $@; cat $@
.PHONY: all
"""

PYTHON = """\
import os, select, signal, subprocess, threading, time
total, lock = [0], threading.Lock()
def add():
    for i in range(1000):
        with lock:
            total[0] += i
threads = [threading.Thread(target=add) for i in range(4)]
for t in threads: t.start()
for t in threads: t.join()
print(total[0])
print(subprocess.run(["sh", "-c", "echo child; exit 4"], stdout=subprocess.PIPE))
signal.signal(signal.SIGALRM, lambda *a: print("alarm"))
signal.setitimer(signal.ITIMER_REAL, 0.05)
signal.pause()
r, w = os.pipe()
if os.fork() == 0:
    os.write(w, b"x"); os._exit(0)
print(select.select([r], [], [], 5)[0] == [r], os.wait()[1])
print(sorted(os.sched_getaffinity(0))[:1], os.sched_getscheduler(0))
"""

STRESS_ABSENT = (r"fail:", r"error:", r"aborting")

CAPSET = {"absent": (r"fail:(?!.* capset on pid)",) + STRESS_ABSENT[1:], "note": "says that capset failed"}


def stress(kind, option, more="", **others):
    """One stressor for two seconds."""
    return Run("stress-ng " + kind, "stress-ng", "stress-ng --%s %s -t 2s --metrics-brief" % (option, more),
               match=(r"successful run completed", r"metrc.* %s +[1-9]" % kind),
               **{"absent": STRESS_ABSENT, **others})


def hackbench(mode, options, **others):
    return Run("hackbench " + mode, "rt-tests", "hackbench -g 2 -l 50 " + options, match=(r"^Time: [0-9.]+$",),
               absent=("rror",), short=True, **others)


LATENCIES = r"^T: 1 .*C: +%d Min: +\d+ Act: +\d+ Avg: +\d+ Max: +\d+"

RUNS = [
    Run("ash, a script", "busybox-static", "busybox sh jobs.sh", files={"jobs.sh": JOBS},
        match=(r"^first 143$", r"^second 137$", r"^trapped$", r"^200$"), same=True),
    Run("ps", "busybox-static", "busybox ps -o pid,ppid,stat,args", match=(r"^PID +PPID +STAT +COMMAND",
        r"^ *1 +0 +S", r"busybox ps -o")),
    Run("top", "busybox-static", "busybox top -b -n 2 -d 1", match=(r"(?s)^Mem: \d+K used.*Load average: [0-9.]+.*^Mem: ",
        r"CPU: .*idle", r"busybox top -b")),
    Run("free", "busybox-static", "busybox free", match=(r"^Mem: +\d+ +\d+ +\d+",)),
    Run("uptime", "busybox-static", "busybox uptime", match=(r"up .*load average: [0-9.]+, [0-9.]+, [0-9.]+",)),
    Run("vi on /tmp", "busybox-static",
        r"(printf ' ihello world\033'; sleep 0.5; printf 'oanother line\033'; sleep 0.5; printf ':s/line/row/\r:wq\n') |"
        " busybox vi note > /dev/null 2>&1; cat note", match=(r"\Ahello world\nanother row\n\Z",), needs=("busybox",)),
    Run("find, xargs, tar, gzip, awk, sed", "busybox-static",
        "mkdir -p a/b && busybox seq 1000 > a/b/n && busybox tar czf t.tgz a && rm -r a && busybox tar xzf t.tgz &&"
        " busybox find a -type f | busybox xargs busybox awk '{s += $1} END {print s}' | busybox sed 's/^/sum /'",
        match=(r"^sum 500500$",), same=True, needs=("busybox",)),
    hackbench("processes, sockets", ""),
    hackbench("processes, pipes", "-p"),
    hackbench("threads, sockets", "-T"),
    hackbench("threads, pipes", "-T -p"),
    Run("cyclictest", "rt-tests", "cyclictest -q -l 200 -i 1000 -p 80 -t 2 -m",
        match=(r"^T: 0 .*P:80 I:1000 C: +200 Min: +\d+ Act: +\d+ Avg: +\d+ Max: +\d+", "^T: 1 .*P:80"), short=True,
        absent=("FATAL",), note="no /dev/shm for its statistics"),
    Run("cyclictest, POSIX timers", "rt-tests", "cyclictest -q -x -l 100 -i 2000 -p 80 -t 2",
        match=(r"^T: 0 .*C: +100 Min:", "^T: 1 "), absent=("FATAL",)),
    Run("cyclictest, clock of the day, histogram", "rt-tests", "cyclictest -q -c 1 -l 100 -i 2000 -p 80 -t 2 -h 200",
        match=(r"^# Histogram", r"^# Total: +\d+", r"^# Max Latencies: \d+"), absent=("FATAL",)),
    Run("pi_stress", "rt-tests", "pi_stress --duration=3 --groups=2", match=(r"^Total inversion performed: [1-9]\d+$",),
        absent=(r"DEADLOCK|FAIL|ERROR",), short=True),
    Run("signaltest", "rt-tests", "signaltest -q -l 200", match=(r"^T: 0 .*C: +200 Min:", r"^T: 1 .*C: +200 Min:"),
        short=True),
    Run("ptsematest", "rt-tests", "ptsematest -q -l 100 -p 80 -t", match=(r"^#1 -> #0, Min +\d+, Cur +\d+",)),
    Run("sigwaittest", "rt-tests", "sigwaittest -q -l 100 -p 80 -t", match=(r"^#1 -> #0, Min +\d+, Cur +\d+",)),
    Run("sigwaittest, processes", "rt-tests", "sigwaittest -q -l 100 -p 80 -f", match=(r"-> #\d+, Min +\d+, Cur +\d+",),
        why="shared memory objects: no /dev/shm, no shared mapping of a writable file"),
    Run("pmqtest", "rt-tests", "pmqtest -q -l 100 -p 80", match=(r"^#1 -> #0, Min +\d+, Cur +\d+",),
        why="POSIX message queues"),
    Run("svsematest", "rt-tests", "/usr/bin/svsematest -q -l 100 -p 80", match=(r"^#1 -> #0, Min +\d+, Cur +\d+",),
        why="System V semaphores"),
    Run("cyclicdeadline", "rt-tests", "cyclicdeadline -D 2 -q -i 20000", match=(r"^T: 0 .*Min: +\d+",),
        why="SCHED_DEADLINE"),
    stress("cpu", "cpu 2"),
    stress("pipe", "pipe 2"),
    stress("switch", "switch 2", short=True),
    stress("fork", "fork 2", **CAPSET),
    stress("futex", "futex 2", short=True),
    stress("context", "context 2"),
    stress("yield", "yield 2"),
    stress("signal", "signal 2"),
    stress("nice", "nice 2"),
    stress("poll", "poll 2"),
    stress("timer", "timer 1"),
    stress("nanosleep", "nanosleep 1"),
    stress("sigfd", "sigfd 1", why="signalfd"),
    stress("eventfd", "eventfd 1", why="eventfd"),
    stress("mutex", "mutex 1"),
    stress("pthread", "pthread 1"),
    stress("sem", "sem 1"),
    stress("affinity", "affinity 2"),
    stress("vfork", "vfork 1", **CAPSET),
    stress("wait", "wait 1"),
    Run("dash, a script", "dash", "dash jobs.sh", needs=("busybox",),
        files={"jobs.sh": JOBS}, match=(r"^first 143$", r"^second 137$", r"^trapped$", r"^200$"), same=True),
    Run("bash, a script", "bash", "bash jobs.sh", needs=("busybox",), files={"jobs.sh": JOBS + """\
declare -A h=([a]=1 [b]=2); echo ${#h[@]} ${h[b]}
cat <(echo through a pipe) 2>&1
coproc { while read -r x; do echo "got $x"; done; }
echo it >&"${COPROC[1]}"; read -r y <&"${COPROC[0]}"; echo "$y"
for i in 1 2 3; do (sleep 0.1; exit $i) & done; wait -n; echo $?
TIMEFORMAT='%R'; time sleep 0.1 2>/dev/null
"""}, match=(r"^first 143$", r"^trapped$", r"^2 2$", r"^through a pipe$", r"^got it$", r"^0\.[1-9]")),
    Run("lua5.4, a script", "lua5.4", "lua5.4 t.lua", files={"t.lua": LUA}, match=(r"^500500$", r"^from a child\n\t3$"),
        same=True, short=True),
    Run("taskset", "util-linux", "taskset -c 1 sh -c 'taskset -p $$' && taskset 1 nproc",
        match=(r"current affinity mask: 2$", r"^1$"), needs=("nproc",), short=True),
    Run("chrt", "util-linux", "chrt -f 5 sh -c 'chrt -p $$' && chrt -r 7 sh -c 'chrt -p $$' && chrt -o 0 chrt -p 0",
        match=(r"policy: SCHED_FIFO\n.*priority: 5$", r"policy: SCHED_RR\n.*priority: 7$", r"policy: SCHED_OTHER\n.*priority: 0$"),
        short=True),
    Run("chrt -m", "util-linux", "chrt -m", match=(r"SCHED_FIFO min/max priority\s*: 1/99",)),
    Run("chrt --batch", "util-linux", "chrt -b 0 sh -c 'chrt -p $$'", match=("SCHED_BATCH",), why="SCHED_BATCH"),
    Run("schedtool", "schedtool", "schedtool -F -p 10 -e sh -c 'schedtool $$' && schedtool -N -n 5 -a 0x1 -e sh -c 'schedtool $$'",
        match=(r"PRIO +10, POLICY F: SCHED_FIFO", r"PRIO +0, POLICY N: SCHED_NORMAL *, NICE +5, AFFINITY 0x1$")),
    Run("flock", "util-linux", "flock lock echo held", match=(r"^held$",), why="flock"),
    Run("setsid, renice", "util-linux", "setsid -w sh -c 'renice -n 3 -p $$; nice'", match=(r"new priority 3$", r"^3$"),
        needs=("renice", "nice")),
    Run("sort, seq, uniq, wc, shuf", "coreutils",
        "seq 20000 > n && shuf n | sort -n --parallel=2 | cmp - n && seq 9 | sort -R | sort | uniq | wc -l",
        match=(r"\A9\n\Z",), needs=("seq", "shuf", "sort", "uniq", "wc", "cmp")),
    Run("cat, cp, mv, rm, ls, dd", "coreutils",
        "dd if=/dev/zero of=z bs=64k count=16 2>/dev/null && cp z y && mv y x && ls -l x && cat x z | wc -c && rm z && ls",
        match=(r"1048576 .* x$", r"^2097152\nrun.line\nx\n\Z"), needs=("dd", "cp", "mv", "ls", "cat", "wc", "rm")),
    Run("nice, timeout, sleep, nproc", "coreutils", "nice -n 7 nice && timeout 0.3 sleep 5; echo $?; timeout -s KILL 0.2 sleep 5; echo $?",
        match=(r"\A7\n124\n(Killed\n)?137\n\Z",), needs=("timeout", "sleep")),
    Run("time", "time", "time -v sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; sleep 0.1'",
        match=(r"Voluntary context switches: [1-9]", r"Elapsed .*: 0:0", r"Exit status: 0")),
    Run("time, resident size", "time", "time -f '%M KiB' seq 1", match=(r"^[1-9]\d* KiB$",), needs=("seq",),
        why="ru_maxrss: no peak of a process's memory is kept"),
    Run("xargs -P", "findutils", "seq 12 | xargs -P 4 -n 1 sh -c 'sleep 0.1; echo $0' | sort -n | tr '\\n' ' '",
        match=(r"\A1 2 3 4 5 6 7 8 9 10 11 12 \Z",), needs=("xargs", "seq", "sort", "tr")),
    Run("make -j4", "make", "make -j4", files={"Makefile": MAKEFILE}, match=(r"^1 2 3 4 5 6 7 8 $",),
        needs=("sort", "tr", "cat", "sleep")),
    Run("mawk", "mawk", "mawk 'BEGIN { \"echo piped\" | getline x; print x; for (i = 0; i < 20000; i++) s += i; print s }'",
        match=(r"^piped\n199990000$",), same=True),
    Run("gawk", "gawk", "gawk 'BEGIN { c = \"sort -n\"; for (i = 5; i; i--) print i |& c; close(c, \"to\");"
        " while ((c |& getline x) > 0) printf \"%s \", x; print \"\" }'", match=(r"^1 2 3 4 5 $",), needs=("sort",), same=True),
    Run("perl", "perl-base", "perl -e 'my $p = open(F, \"-|\") // die; if (!$p) { print \"child\\n\"; exit 0 } print <F>; close F;"
        " $SIG{ALRM} = sub { print \"alarm\\n\" }; alarm 1; select(undef, undef, undef, 5); print `echo q`, $? >> 8, \"\\n\"; "
        "my %h = map { $_ => $_ ** 2 } 1 .. 1000; my $s = 0; $s += $_ for values %h; print \"$s\\n\"'",
        match=(r"child\n(?s:.*)alarm\nq\n0\n333833500$",), same=True),
    Run("python3", "python3.11-minimal", "/usr/bin/python3 -I -S t.py", files={"t.py": PYTHON},
        match=(r"^1998000$", r"returncode=4, stdout=b'child\\n'", r"^alarm$", r"^True 0$", r"^\[0\] 0$"),
        needs=("/usr/bin/python3",), folders=("/usr/lib/python3.11",)),
    Run("sysbench cpu", "sysbench", "sysbench cpu --threads=2 --time=2 run", match=(r"total number of events: +[1-9]",)),
    Run("sysbench threads", "sysbench", "sysbench threads --threads=8 --time=2 run", match=(r"total number of events: +[1-9]",)),
    Run("sysbench mutex", "sysbench", "sysbench mutex --threads=4 --mutex-num=16 --mutex-locks=2000 --mutex-loops=100 run",
        match=(r"total number of events: +4$",)),
]

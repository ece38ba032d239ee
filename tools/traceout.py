# SPDX-License-Identifier: MIT
#
# Traces in other programs' formats: ftrace text (Perfetto, traceshark, Trace
# Compass, grep), Chrome/Perfetto JSON, trace.dat version 6 (trace-cmd,
# KernelShark), perf.data (perf sched). docs/tracing.md says what opens in what. Standard library only.
"""Writers of trace formats; each takes a tracelib.Trace and returns bytes."""

import json
import struct

import tracelib as tl
from tracelib import word

VECTORS = {0xF0: "timer", 0xF1: "wake", 0xFB: "migrate", 0xFC: "resched", 0xFD: "shootdown", 0xFE: "stop"}


class Running:
    """Who runs on each CPU, for the head of a line."""

    def __init__(self, trace):
        self.now = [("<idle>", 0)] * trace.cpus
        self.names = {}

    def name(self, ident, cpu):
        return self.names.get(ident, "?") if ident else "swapper/%d" % cpu

    def step(self, e):
        """Call after the event was written."""
        if e.kind in (tl.SWITCH, tl.START):
            self.now[e.cpu] = (word(e.comm), e.id) if e.id else ("<idle>", 0)
        elif e.kind == tl.EXEC and self.now[e.cpu][1] == e.id:
            self.now[e.cpu] = (word(e.comm), e.id)
        if e.id and e.kind in (tl.SWITCH, tl.START, tl.WAKING, tl.WAKEUP, tl.FORK, tl.EXEC, tl.EXIT, tl.MIGRATE, tl.SCORE):
            self.names[e.id] = word(e.comm)


# ---------------------------------------------------------------- ftrace text
def linux_prio(prio):
    """Linux shows its idle task with 120; ours has the worst number there is."""
    return 120 if prio >= 0x7FFF else prio


def ftrace_events(e, running):
    """(event name, arguments) pairs that ftrace would print for this record."""
    comm, ident = word(e.comm), e.id
    prio = linux_prio(tl.s16(e.b))
    if e.kind == tl.SWITCH:
        s = tl.switch_fields(e)
        yield "sched_switch", "prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d" % (
            running.name(s.prev, e.cpu), s.prev, linux_prio(s.prev_prio), tl.state_letter(s),
            comm if s.next else "swapper/%d" % e.cpu, s.next, linux_prio(s.next_prio))
    elif e.kind == tl.WAKING:
        yield "sched_waking", "comm=%s pid=%d prio=%d target_cpu=%03d" % (comm, ident, prio, e.b >> 16 & 0xFFFF)
    elif e.kind == tl.WAKEUP:
        new = e.flags & tl.ENQ_NEW
        if new:  # Perfetto takes "runnable" from sched_waking alone
            yield "sched_waking", "comm=%s pid=%d prio=%d target_cpu=%03d" % (comm, ident, prio, e.b >> 16 & 0xFFFF)
        yield "sched_wakeup_new" if new else "sched_wakeup", "comm=%s pid=%d prio=%d success=1 target_cpu=%03d" % (
            comm, ident, prio, e.b >> 16 & 0xFFFF)
    elif e.kind == tl.MIGRATE:
        yield "sched_migrate_task", "comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d" % (
            comm, ident, prio, e.b >> 16 & 0xFFFF, e.b >> 32 & 0xFFFF)
    elif e.kind == tl.FORK:
        parent = e.b & 0xFFFFFFFF
        yield "sched_process_fork", "comm=%s pid=%d child_comm=%s child_pid=%d" % (
            running.name(parent, e.cpu), parent, comm, ident)
    elif e.kind == tl.EXEC:
        yield "sched_process_exec", "filename=%s pid=%d old_pid=%d" % (comm, ident, ident)
    elif e.kind == tl.EXIT:
        yield "sched_process_exit", "comm=%s pid=%d runtime=%d" % (comm, ident, e.b)
    elif e.kind == tl.SCORE:
        yield "sched_score", "comm=%s pid=%d prio=%d score=%d cause=%s" % (
            comm, ident, tl.s16(e.a), tl.s64(e.b), tl.SCORE_CAUSES[min(e.flags, len(tl.SCORE_CAUSES) - 1)])
    elif e.kind == tl.SWAP:
        yield "sched_array_swap", "active=%d" % ident
    elif e.kind == tl.BALANCE:
        yield "sched_balance", "reason=%s moved=%d from_cpu=%d own_load=%d busiest_load=%d" % (
            tl.BALANCE_REASONS[min(e.flags, 2)], e.a, -1 if ident == 0xFFFFFFFF else ident, e.b & 0xFFFF, e.b >> 16 & 0xFFFF)
    elif e.kind in (tl.IPI_SEND, tl.IPI):
        what = "migrate" if e.flags else "resched"
        if e.kind == tl.IPI_SEND:
            yield "ipi_send", "target_cpu=%d reason=%s" % (ident, what)
        else:
            yield "ipi_entry", "reason=%s" % what
    elif e.kind == tl.TICK:
        yield "sched_tick", "comm=%s pid=%d billed=%d jiffies=%d" % (comm, ident, e.a, e.b)
    elif e.kind == tl.IRQ:
        yield "irq_handler_entry", "irq=%d name=%s" % (e.flags, VECTORS.get(e.flags, "isa%d" % (e.flags - 0x30)))
    elif e.kind == tl.AFFINITY:
        yield "sched_affinity", "comm=%s pid=%d cpus=%x" % (comm, ident, e.b)
    elif e.kind == tl.POLICY:
        yield "sched_policy", "name=%s hz=%d" % (comm, ident)


def counters(e):
    """(name, value) of the counters that this record changes."""
    if e.kind == tl.SWITCH:
        yield "nr_running cpu%d" % e.cpu, e.flags
    elif e.kind == tl.WAKEUP:
        yield "nr_running cpu%d" % (e.b >> 16 & 0xFFFF), e.b >> 32 & 0xFFFF
    elif e.kind == tl.SCORE:
        yield "prio %s-%d" % (word(e.comm), e.id), tl.s16(e.a)
        if e.flags not in (4, 5):  # set from outside: no figure comes with it
            yield "score %s-%d" % (word(e.comm), e.id), tl.s64(e.b)


def text_lines(trace):
    running = Running(trace)
    last = {}
    yield "# tracer: nop"
    yield "#"
    for e in trace.events:
        if e.kind == tl.LOST:
            yield "##### CPU %d buffer started #### (%d records lost before)" % (e.cpu, e.id)
            continue
        comm, ident = running.now[e.cpu]
        head = "%16s-%-5d [%03d] %12s: " % (comm, ident, e.cpu, "%d.%06d" % (e.time // 10**9, e.time % 10**9 // 1000))
        for name, args in ftrace_events(e, running):
            yield head + name + ": " + args
        for name, value in counters(e):
            if last.get(name) != value:
                last[name] = value
                yield head + "tracing_mark_write: C|0|%s|%d" % (name, value)
        running.step(e)


def to_text(trace):
    return ("\n".join(text_lines(trace)) + "\n").encode()


# ----------------------------------------------------------------------- JSON
def to_json(trace):
    out = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "CPUs"}},
           {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "Tasks"}}]
    for cpu in range(trace.cpus):
        out.append({"ph": "M", "pid": 1, "tid": cpu, "name": "thread_name", "args": {"name": "cpu%d" % cpu}})

    def slice_done(cpu, task, since, until, switch):
        if task.idle or until <= since:
            return
        args = {}
        if switch is not None:
            args = {"prio": switch.prev_prio, "end_state": tl.state_letter(switch)}
        out.append({"ph": "X", "pid": 1, "tid": cpu, "ts": since / 1000, "dur": (until - since) / 1000,
                    "name": word(task.comm), "cat": "sched", "args": args})
        out.append({"ph": "X", "pid": 2, "tid": task.id, "ts": since / 1000, "dur": (until - since) / 1000,
                    "name": "cpu%d" % cpu, "cat": "sched"})

    model = tl.Model(trace, slice_done)
    for task in model.tasks.values():
        if not task.idle:
            out.append({"ph": "M", "pid": 2, "tid": task.id, "name": "thread_name",
                        "args": {"name": "%s/%d" % (word(task.comm), task.id)}})
    last = {}
    for e in trace.events:
        for name, value in counters(e):
            if last.get(name) != value:
                last[name] = value
                out.append({"ph": "C", "pid": 1, "ts": e.time / 1000, "name": name, "args": {"n": value}})
        if e.kind == tl.SWAP:
            out.append({"ph": "i", "s": "t", "pid": 1, "tid": e.cpu, "ts": e.time / 1000, "name": "array switch"})
        elif e.kind == tl.POLICY:
            out.append({"ph": "i", "s": "g", "pid": 1, "tid": e.cpu, "ts": e.time / 1000, "name": "policy " + e.comm})
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": out,
                       "systemTraceEvents": to_text(trace).decode()}, separators=(",", ":")).encode()


# -------------------------------------------------------------- trace.dat (v6)
COMMON = ("unsigned short common_type", 0, 2, 0), ("unsigned char common_flags", 2, 1, 0), \
    ("unsigned char common_preempt_count", 3, 1, 0), ("int common_pid", 4, 4, 1)


class Format:
    """One event's description as tracefs gives it, and its encoder."""

    def __init__(self, ident, name, fields, print_fmt):
        self.ident, self.name, self.fields = ident, name, fields
        self.struct = struct.Struct("<HBBi" + "".join(code for _decl, code in fields))
        lines = ["name: %s" % name, "ID: %d" % ident, "format:"]
        for decl, offset, size, signed in COMMON:
            lines.append("\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;" % (decl, offset, size, signed))
        lines.append("")
        offset = 8
        for decl, code in fields:
            size = struct.calcsize("<" + code)
            lines.append("\tfield:%s;\toffset:%d;\tsize:%d;\tsigned:%d;" % (decl, offset, size, code in ("i", "q", "16s")))
            offset += size
        lines += ["", "print fmt: " + print_fmt, ""]
        self.text = "\n".join(lines).encode()

    def encode(self, pid, *values):
        data = self.struct.pack(self.ident, 0, 0, pid, *values)
        return data + bytes(-len(data) % 4)


NAME = "char %s[16]"
STATES = ('(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1)) '
          '? __print_flags(REC->prev_state & ((((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) - 1), "|", '
          '{ 0x00000001, "S" }, { 0x00000002, "D" }, { 0x00000004, "T" }, { 0x00000008, "t" }, { 0x00000010, "X" }, { 0x00000020, "Z" }, { 0x00000040, "P" }, { 0x00000080, "I" }) : "R", '
          'REC->prev_state & (((0x00000000 | 0x00000001 | 0x00000002 | 0x00000004 | 0x00000008 | 0x00000010 | 0x00000020 | 0x00000040) + 1) << 1) ? "+" : ""')
WAKE = [(NAME % "comm", "16s"), ("pid_t pid", "i"), ("int prio", "i"), ("int target_cpu", "i")]
WAKE_FMT = '"comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu'
F_SWITCH = Format(301, "sched_switch", [
    (NAME % "prev_comm", "16s"), ("pid_t prev_pid", "i"), ("int prev_prio", "i"), ("long prev_state", "q"),
    (NAME % "next_comm", "16s"), ("pid_t next_pid", "i"), ("int next_prio", "i")],
    '"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> next_comm=%s next_pid=%d next_prio=%d", '
    "REC->prev_comm, REC->prev_pid, REC->prev_prio, " + STATES + ", REC->next_comm, REC->next_pid, REC->next_prio")
F_WAKING = Format(302, "sched_waking", WAKE, WAKE_FMT)
F_WAKEUP = Format(303, "sched_wakeup", WAKE, WAKE_FMT)
F_WAKEUP_NEW = Format(304, "sched_wakeup_new", WAKE, WAKE_FMT)
F_MIGRATE = Format(305, "sched_migrate_task", [
    (NAME % "comm", "16s"), ("pid_t pid", "i"), ("int prio", "i"), ("int orig_cpu", "i"), ("int dest_cpu", "i")],
    '"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d", REC->comm, REC->pid, REC->prio, REC->orig_cpu, REC->dest_cpu')
F_SCORE = Format(306, "sched_score", [
    (NAME % "comm", "16s"), ("pid_t pid", "i"), ("int prio", "i"), ("int cause", "i"), ("long score", "q")],
    '"comm=%s pid=%d prio=%d score=%ld cause=%d", REC->comm, REC->pid, REC->prio, REC->score, REC->cause')
F_RUNNING = Format(307, "nr_running", [("int cpu", "i"), ("int n", "i")], '"cpu=%d n=%d", REC->cpu, REC->n')
F_SWAP = Format(308, "sched_array_swap", [("int active", "i")], '"active=%d", REC->active')
FORMATS = (F_SWITCH, F_WAKING, F_WAKEUP, F_WAKEUP_NEW, F_MIGRATE, F_SCORE, F_RUNNING, F_SWAP)
LINUX_STATE = {"R": 0, "R+": 0x100, "S": 1, "D": 2, "T": 4, "X": 0x10}

HEADER_PAGE = b"""\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;
"""
HEADER_EVENT = b"""# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
"""


def dat_payloads(e, running, states=LINUX_STATE):
    """(event's number, task running, bytes) of everything that trace.dat and perf.data hold of this record."""
    def name16(text):
        return text.encode()[:15]

    pid = running.now[e.cpu][1]
    comm, prio = name16(word(e.comm)), linux_prio(tl.s16(e.b))
    if e.kind == tl.SWITCH:
        s = tl.switch_fields(e)
        yield F_SWITCH.ident, s.prev, F_SWITCH.encode(
            s.prev, name16(running.name(s.prev, e.cpu)), s.prev, linux_prio(s.prev_prio), states[tl.state_letter(s)],
            comm if s.next else name16("swapper/%d" % e.cpu), s.next, linux_prio(s.next_prio))
        yield F_RUNNING.ident, s.next, F_RUNNING.encode(s.next, e.cpu, e.flags)
    elif e.kind in (tl.WAKING, tl.WAKEUP):
        fmt = F_WAKING if e.kind == tl.WAKING else F_WAKEUP_NEW if e.flags & tl.ENQ_NEW else F_WAKEUP
        yield fmt.ident, pid, fmt.encode(pid, comm, e.id, prio, e.b >> 16 & 0xFFFF)
    elif e.kind == tl.MIGRATE:
        yield F_MIGRATE.ident, pid, F_MIGRATE.encode(pid, comm, e.id, prio, e.b >> 16 & 0xFFFF, e.b >> 32 & 0xFFFF)
    elif e.kind == tl.SCORE:
        yield F_SCORE.ident, pid, F_SCORE.encode(pid, comm, e.id, tl.s16(e.a), e.flags, tl.s64(e.b))
    elif e.kind == tl.SWAP:
        yield F_SWAP.ident, pid, F_SWAP.encode(pid, e.id)


def raw_events(trace):
    """(cpu, time, payload) of everything that trace.dat holds; for a gap the number of missing records instead of a payload."""
    running = Running(trace)
    for e in trace.events:
        if e.kind == tl.LOST:
            yield e.cpu, e.time, e.id
        for _ident, _pid, payload in dat_payloads(e, running):
            yield e.cpu, e.time, payload
        running.step(e)


MISSED_EVENTS, MISSED_STORED = 1 << 31, 1 << 30  # with the bytes used, in a page's head


def dat_pages(events):
    """Pages of 4096 bytes from (time, payload) pairs of one CPU. A page after a gap says so, and at its end how many are missing."""
    pages, body, base, last, missing = [], bytearray(), 0, 0, 0

    def flush():
        nonlocal missing
        if body:
            flags = MISSED_EVENTS | MISSED_STORED if missing else 0
            data = bytes(body) + (struct.pack("<Q", missing) if missing else b"")
            pages.append(struct.pack("<QQ", base, len(body) | flags) + data + bytes(4080 - len(data)))
            body.clear()
            missing = 0

    for time, payload in events:
        if isinstance(payload, int):
            flush()
            missing = payload
            continue
        if len(body) + 8 + 4 + len(payload) + 8 > 4080:
            flush()
        if not body:
            base = last = time
        delta = time - last
        if delta >= 1 << 27:
            body.extend(struct.pack("<II", 30 | (delta & 0x7FFFFFF) << 5, delta >> 27))
            delta = 0
        body.extend(struct.pack("<I", len(payload) // 4 | delta << 5))
        body.extend(payload)
        last = time
    flush()
    return pages


def cmdlines(trace):
    """"PID NAME" of every task, for programs that have only numbers in their events."""
    names = {}
    for e in trace.events:
        if e.id and e.comm and e.kind in (tl.START, tl.SWITCH, tl.WAKEUP, tl.EXEC, tl.FORK):
            names[e.id] = word(e.comm)
    return names


def tracing_data(version, formats, names):
    """The head that trace.dat and perf.data share: what events look like, what tasks are called."""
    out = bytearray(b"\x17\x08\x44tracing" + version + b"\0\0\x08" + struct.pack("<I", 4096))
    for label, text in ((b"header_page\0", HEADER_PAGE), (b"header_event\0", HEADER_EVENT)):
        out += label + struct.pack("<Q", len(text)) + text
    out += struct.pack("<II", 0, 1) + b"sched\0" + struct.pack("<I", len(formats))
    for f in formats:
        out += struct.pack("<Q", len(f.text)) + f.text
    lines = "".join("%d %s\n" % pair for pair in sorted(names.items())).encode()
    return out + struct.pack("<IIQ", 0, 0, len(lines)) + lines


def to_dat(trace):
    per_cpu = [[] for _ in range(trace.cpus)]
    for cpu, time, payload in raw_events(trace):
        per_cpu[cpu].append((time, payload))
    out = tracing_data(b"6", FORMATS, cmdlines(trace))
    out += struct.pack("<I", trace.cpus) + b"options  \0" + struct.pack("<H", 0) + b"flyrecord\0"
    pages = [dat_pages(events) for events in per_cpu]
    offset = len(out) + 16 * trace.cpus
    start = offset = offset + -offset % 4096
    for mine in pages:
        out += struct.pack("<QQ", offset, len(mine) * 4096)
        offset += len(mine) * 4096
    out += bytes(start - len(out))
    for mine in pages:
        out += b"".join(mine)
    return bytes(out)


# ------------------------------------------------------------------- perf.data
F_RUNTIME = Format(309, "sched_stat_runtime", [
    (NAME % "comm", "16s"), ("pid_t pid", "i"), ("int pad", "i"), ("u64 runtime", "Q"), ("u64 vruntime", "Q")],
    '"comm=%s pid=%d runtime=%Lu [ns] vruntime=%Lu [ns]", REC->comm, REC->pid, REC->runtime, REC->vruntime')
# Without sched_waking: perf would then take a task's wait to begin there, not where it was put on a queue.
PERF_FORMATS = (F_SWITCH, F_WAKEUP, F_WAKEUP_NEW, F_MIGRATE, F_RUNTIME)
# perf 6.1 uses the state as an index into "RSDTtXZPI" and takes only 0 for runnable: preempted must be 0 too.
PERF_STATE = dict(LINUX_STATE, **{"R+": 0})
PERF_IDS = {f.ident for f in PERF_FORMATS}
HEADER_TRACING_DATA, HEADER_NRCPUS = 1, 7
PERF_TYPE_TRACEPOINT, SAMPLE_TYPE, SAMPLE_ID_ALL = 2, 0x10486, 1 << 18  # TID | TIME | CPU | RAW | IDENTIFIER
RECORD_LOST, RECORD_COMM, RECORD_SAMPLE, FINISHED_ROUND = 2, 3, 9, 68


def perf_record(kind, misc, body):
    return struct.pack("<IHH", kind, misc, 8 + len(body)) + body


def perf_id(pid, time, cpu, ident):
    """What stands at the end of a record that is no sample."""
    return struct.pack("<IIQIIQ", pid, pid, time, cpu, 0, ident)


def perf_sample(cpu, time, pid, payload):
    payload += bytes(-(len(payload) + 4) % 8)
    return perf_record(RECORD_SAMPLE, 1, struct.pack("<QIIQIII", struct.unpack_from("<H", payload)[0], pid, pid, time, cpu, 0,
                                                     len(payload)) + payload)


def perf_records(trace):
    """The records of the data section, in order of time."""
    running, names = Running(trace), {}
    current, since = [None] * trace.cpus, [0] * trace.cpus  # task by number, None while it is not known

    def named(time, cpu, pid, comm):
        if pid and names.get(pid) != comm:
            names[pid] = comm
            text = comm.encode()[:15] + b"\0"
            yield perf_record(RECORD_COMM, 0, struct.pack("<II", pid, pid) + text + bytes(-len(text) % 8)
                              + perf_id(pid, time, cpu, F_SWITCH.ident))

    def slice_ends(time, cpu):
        pid = current[cpu]
        if pid:
            yield perf_sample(cpu, time, pid, F_RUNTIME.encode(pid, names.get(pid, "?").encode()[:15], pid, 0, time - since[cpu], 0))

    for n, e in enumerate(trace.events):
        if e.id and e.kind in (tl.START, tl.SWITCH, tl.WAKEUP, tl.FORK, tl.EXEC, tl.MIGRATE, tl.EXIT):
            yield from named(e.time, e.cpu, e.id, word(e.comm))
        if e.kind in (tl.SWITCH, tl.START):
            yield from slice_ends(e.time, e.cpu)
            current[e.cpu], since[e.cpu] = e.id, e.time
        elif e.kind == tl.LOST:
            current[e.cpu] = None
            yield perf_record(RECORD_LOST, 0, struct.pack("<QQ", F_SWITCH.ident, e.id) + perf_id(0, e.time, e.cpu, F_SWITCH.ident))
        for ident, pid, payload in dat_payloads(e, running, PERF_STATE):
            if ident in PERF_IDS:
                yield perf_sample(e.cpu, e.time, pid, payload)
        running.step(e)
        if n % 4096 == 4095:
            yield perf_record(FINISHED_ROUND, 0, b"")
    for cpu in range(trace.cpus):
        yield from slice_ends(trace.end, cpu)
    yield perf_record(FINISHED_ROUND, 0, b"")


def to_perf(trace):
    count = len(PERF_FORMATS)
    ids_at = 104
    attrs_at = ids_at + 8 * count
    data_at = attrs_at + 144 * count
    data = b"".join(perf_records(trace))
    features = (tracing_data(b"0.6", PERF_FORMATS, cmdlines(trace)), struct.pack("<II", trace.cpus, trace.cpus))
    out = bytearray(b"PERFILE2" + struct.pack("<8Q", 104, 144, attrs_at, 144 * count, data_at, len(data), 0, 0)
                    + struct.pack("<4Q", 1 << HEADER_TRACING_DATA | 1 << HEADER_NRCPUS, 0, 0, 0))
    for f in PERF_FORMATS:
        out += struct.pack("<Q", f.ident)
    for n, f in enumerate(PERF_FORMATS):
        attr = struct.pack("<IIQQQQQ", PERF_TYPE_TRACEPOINT, 128, f.ident, 1, SAMPLE_TYPE, 0, SAMPLE_ID_ALL)
        out += attr + bytes(128 - len(attr)) + struct.pack("<QQ", ids_at + 8 * n, 8)
    out += data
    at = len(out) + 16 * len(features)
    for body in features:
        out += struct.pack("<QQ", at, len(body))
        at += len(body)
    return bytes(out) + b"".join(bytes(body) for body in features)


WRITERS = {".txt": to_text, ".json": to_json, ".dat": to_dat, ".data": to_perf, ".perf": to_perf}

# SPDX-License-Identifier: MIT
#
# Scheduler records of a run: taken out of the machine's memory while it runs,
# kept in a file of raw pages, read back as events in order of time. The format
# is kernel/sched/trace.h's; docs/tracing.md explains it. Standard library only.
"""Harvest, store and read scheduler events; a model of who runs and waits."""

import mmap
import os
import re
import struct
import threading
from collections import namedtuple

MAGIC = b"JJTRACE1"
VERSION = 1
FILE_HEAD = struct.Struct("<8sIIQQ")  # magic, version, CPUs, number before the first page, seed + 1 (0: not deterministic)
PAGE_HEAD = struct.Struct("<QII")  # page's number, CPU, bytes of records that follow
RECORD = struct.Struct("<QBBHIQ16s")
CONTROL = struct.Struct("<8sIIIIIIQ")  # struct trace_control up to its rings
RING = struct.Struct("<QQQQQ24x")  # next, end, pages, number, physical
KERNEL_BASE = 0xFFFFFFFF80000000

KINDS = ("lost", "start", "switch", "waking", "wakeup", "migrate", "fork", "exec", "exit", "score",
         "swap", "balance", "ipi_send", "ipi", "tick", "irq", "policy", "affinity")
BALANCE_REASONS = ("new_idle", "idle_tick", "busy_tick")
SCORE_CAUSES = ("wake", "slice", "fork", "reaped", "attr", "lent", "other")
ENQ_NEW = 0x02

# kind: index in KINDS; "lost" (0) stands where records of this CPU are missing, id says how many.
Event = namedtuple("Event", "time cpu kind flags a id b comm")
for _i, _name in enumerate(KINDS):
    globals()[_name.upper()] = _i


class TraceError(Exception):
    """The trace cannot be taken or read; str() says why."""


# ------------------------------------------------------------------ harvesting
def symbol_address(elf, name):
    """Address of a symbol in a 64-bit ELF file."""
    with open(elf, "rb") as f:
        data = f.read()
    offset, = struct.unpack_from("<Q", data, 0x28)
    size, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + i * size) for i in range(count)]
    for s in sections:
        if s[1] != 2:  # SHT_SYMTAB
            continue
        strings = sections[s[6]][4]
        for at in range(s[4], s[4] + s[5], 24):
            start = strings + struct.unpack_from("<I", data, at)[0]
            if data[start : start + len(name) + 1] == name.encode() + b"\0":
                return struct.unpack_from("<Q", data, at + 8)[0]
    raise TraceError("%s has no symbol %s" % (elf, name))


class Harvest:
    """Copies full pages out of the guest's memory file from start() to finish().

    The guest does not notice: it writes its rings as always. A page that it has
    overwritten before it was copied is seen by its number and counted as lost.
    """

    def __init__(self, ram_path, ram_size, elf):
        self.path, self.size = ram_path, ram_size
        self.control = symbol_address(elf, "trace_control") - KERNEL_BASE
        self.map = None
        self.wanted = {}  # CPU -> number of the next page to take
        self.chunks = []
        self.head = None
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)

    def start(self):
        self.thread.start()

    def _work(self):
        while not self.stop.wait(0.005):
            self._collect(False)

    def _offset(self, physical):
        """Where a physical address is in the file: q35 puts what does not fit below 4 GiB above."""
        if physical < 1 << 32:
            return physical
        return physical - (1 << 32) + (0x80000000 if self.size >= 0xB0000000 else self.size)

    def _collect(self, last):
        if self.map is None:
            try:
                if os.path.getsize(self.path) < self.size:
                    return
                with open(self.path, "rb") as f:
                    self.map = mmap.mmap(f.fileno(), self.size, access=mmap.ACCESS_READ)
            except (OSError, ValueError):
                return
        magic, version, _record, page_size, pages, cpus, _, first = CONTROL.unpack_from(self.map, self.control)
        if magic != MAGIC or not pages:
            return
        if version != VERSION:
            raise TraceError("the kernel writes trace version %d, this program reads %d" % (version, VERSION))
        self.head = (cpus, 0)
        for cpu in range(cpus):
            at = self.control + CONTROL.size + cpu * RING.size
            next_record, _end, base, number, physical = RING.unpack_from(self.map, at)
            wanted = max(self.wanted.get(cpu, 1), first + 1, number - pages + 1)
            while wanted < number or (last and wanted == number):
                place = wanted % pages * page_size
                offset = self._offset(physical) + place
                data = self.map[offset : offset + page_size]
                if int.from_bytes(data[:8], "little") == wanted == int.from_bytes(
                        self.map[offset : offset + 8], "little"):
                    used = page_size if wanted < number else next_record - base - place
                    used -= (used - PAGE_HEAD.size) % RECORD.size
                    self.chunks.append(PAGE_HEAD.pack(wanted, cpu, used - PAGE_HEAD.size)
                                       + data[PAGE_HEAD.size : used])
                wanted += 1
            self.wanted[cpu] = wanted

    def finish(self, seed=None):
        """The machine has ended: take the rest. Returns the bytes of a trace file."""
        self.stop.set()
        self.thread.join()
        self._collect(True)
        if self.head is None:
            raise TraceError("the kernel recorded nothing (trace=off, or it never came so far)")
        return FILE_HEAD.pack(MAGIC, VERSION, self.head[0], self.head[1],
                              0 if seed is None else (seed + 1) & (1 << 64) - 1) + b"".join(self.chunks)


# --------------------------------------------------------------------- reading
class Trace:
    """Events in order of time, and what is known about the run."""

    def __init__(self, data):
        if len(data) < FILE_HEAD.size or data[:8] != MAGIC:
            raise TraceError("not a trace of this system (tools/vm --trace NAME.trace makes one)")
        _magic, version, self.cpus, first, seed = FILE_HEAD.unpack_from(data)
        self.seed = seed - 1 if seed else None
        if version != VERSION:
            raise TraceError("trace version %d, this program reads %d" % (version, VERSION))
        pages = [{} for _ in range(self.cpus)]
        at = FILE_HEAD.size
        while at + PAGE_HEAD.size <= len(data):
            number, cpu, size = PAGE_HEAD.unpack_from(data, at)
            at += PAGE_HEAD.size
            if cpu >= self.cpus or size % RECORD.size or at + size > len(data):
                raise TraceError("damaged trace: page %d of CPU %d at byte %d" % (number, cpu, at))
            pages[cpu][number] = data[at : at + size]
            at += size
        self.lost = [0] * self.cpus
        self.backwards = 0  # largest step back in time that was smoothed, ns
        self.events = []
        per_page = (4096 - PAGE_HEAD.size) // RECORD.size
        for cpu in range(self.cpus):
            self.events += self._ring(cpu, pages[cpu], first, per_page)
        self.events.sort(key=lambda e: e.time)  # stable: a ring keeps its order
        self.start = min((e.time for e in self.events), default=0)
        self.end = max((e.time for e in self.events), default=0)
        policies = [e for e in self.events if e.kind == POLICY]
        self.policy = policies[-1].comm if policies else "?"
        self.hz = policies[-1].id if policies else 0

    def _ring(self, cpu, pages, first, per_page):
        events = []
        expected = first + 1
        for number in sorted(pages):
            missing = (number - expected) * per_page
            records = [Event(t, cpu, kind, flags, a, ident, b, comm.rstrip(b"\0").split(b"\0")[0].decode("latin-1"))
                       for t, kind, flags, a, ident, b, comm in RECORD.iter_unpack(pages[number]) if kind]
            if any(not 0 < e.kind < len(KINDS) for e in records):
                raise TraceError("damaged trace: unknown event in page %d of CPU %d" % (number, cpu))
            self.lost[cpu] += missing
            if missing and records:
                events.append(Event(records[0].time, cpu, LOST, 0, 0, missing, 0, ""))
            events += records
            expected = number + 1
        # The order in the ring is what happened; switches have the exact time, others may have read the clock a little later.
        bound = None
        for i in range(len(events) - 1, -1, -1):
            if bound is not None and events[i].time > bound:
                self.backwards = max(self.backwards, events[i].time - bound)
                events[i] = events[i]._replace(time=bound)
            bound = events[i].time
        return events


def load(path):
    """Read a trace file."""
    try:
        with open(path, "rb") as f:
            return Trace(f.read())
    except OSError as e:
        raise TraceError(str(e)) from e


def word(comm):
    """A task's name, which is the program's own choice, without what would end a word or an argument of an output line."""
    return re.sub(r'[^!-~]|[="|\\]', "_", comm) or "?"


# ------------------------------------------------------------- fields of events
def s16(value):
    value &= 0xFFFF
    return value - 0x10000 if value & 0x8000 else value


def s64(value):
    return value - (1 << 64) if value >> 63 else value


Switch = namedtuple("Switch", "prev prev_prio next next_prio how state nr_running")


def switch_fields(e):
    return Switch(e.b & 0xFFFFFFFF, s16(e.b >> 32), e.id, s16(e.b >> 48), e.a >> 8, e.a & 0xFF, e.flags)


def state_letter(s):
    """How ftrace writes what became of the task that was switched out."""
    if s.how == 1:
        return "R+"
    return {0: "R", 1: "S", 2: "D", 4: "T", 8: "X"}.get(s.state & 0x1F, "S" if s.state & 1 else "D" if s.state & 2 else "R")


def runnable_after(s):
    return state_letter(s) in ("R", "R+")


class Task:
    """One task's sums while a Model walks the events."""

    def __init__(self, ident):
        self.id, self.comm, self.idle = ident, "?", False
        self.run = self.wait = self.max_wait = self.max_wait_start = self.max_wait_end = 0
        self.switches = self.waits = self.migrations = self.ticks = 0
        self.waiting_since = None
        self.cpu = None  # whose queue it is on, as far as known
        self.allowed = None  # bits of the CPUs it may use; None: all
        self.heard = False  # it was switched or woken in this trace
        self.born_here = False  # forked while recording
        self.kernel_run = None  # what the kernel itself added up, at exit


class Model:
    """Walks a trace once: slices, waiting times, wasted time; feeds `on_slice` if given."""

    def __init__(self, trace, on_slice=None):
        self.trace = trace
        self.tasks = {}
        self.cpus = trace.cpus
        self.busy = [0] * self.cpus
        self.idle = [0] * self.cpus
        self.began = [None] * self.cpus
        self.switches = [0] * self.cpus
        self.problems = []
        self.wasted = 0  # CPU ns idle while tasks waited elsewhere that might have run there
        self.ticks = [0] * self.cpus
        self.idle_ticks = [0] * self.cpus
        self.counts = [0] * len(KINDS)
        self.current = [None] * self.cpus  # task
        self.since = [0] * self.cpus
        self._waiting, self._wasting, self._last = set(), None, trace.start
        self.on_slice = on_slice
        for e in trace.events:
            self._step(e)
        self._advance(trace.end)
        for cpu in range(self.cpus):
            self._close(cpu, trace.end, None)

    def task(self, ident, comm=None):
        t = self.tasks.get(ident)
        if t is None:
            t = self.tasks[ident] = Task(ident)
        if comm:
            t.comm = comm
        return t

    def _close(self, cpu, time, switch):
        t = self.current[cpu]
        if t is None:
            return
        length = time - self.since[cpu]
        if t.idle:
            self.idle[cpu] += length
        else:
            self.busy[cpu] += length
            t.run += length
        if self.on_slice:
            self.on_slice(cpu, t, self.since[cpu], time, switch)

    def _open(self, cpu, t, time):
        self.current[cpu], self.since[cpu] = t, time
        self._wasting = None

    def _advance(self, time):
        if time > self._last:
            if self._wasting is None:
                self._wasting = self._could_run()
            self.wasted += (time - self._last) * self._wasting
            self._last = time

    def _could_run(self):
        """How many idle CPUs could have a waiting task. One that a task waits on is about to run it: neither counts."""
        if not self._waiting:
            return 0
        idle = {cpu for cpu, t in enumerate(self.current) if t is not None and t.idle}
        waiting = []
        for t in (self.tasks[i] for i in sorted(self._waiting)):
            if t.cpu in idle:
                idle.discard(t.cpu)
            else:
                waiting.append(t)
        if not idle or all(t.allowed is None for t in waiting):
            return min(len(idle), len(waiting))
        taken = {}  # CPU -> task: a largest matching, by augmenting paths

        def place(t, tried):
            for cpu in idle - tried:
                if t.allowed is None or cpu >= 64 or t.allowed >> cpu & 1:
                    tried.add(cpu)
                    if cpu not in taken or place(taken[cpu], tried):
                        taken[cpu] = t
                        return True
            return False

        return sum(place(t, set()) for t in waiting)

    def _wait_begins(self, t, time):
        t.waiting_since, t.heard = time, True
        self._waiting.add(t.id)
        self._wasting = None

    def _wait_over(self, t, waited):
        """For those who want to see every wait."""

    def _wait_ends(self, t, time):
        self._waiting.discard(t.id)
        self._wasting = None
        if not t.heard:  # it waited before the trace began
            t.waiting_since, t.heard = time, True
        if t.waiting_since is None:
            return
        waited = time - t.waiting_since
        t.wait += waited
        t.waits += 1
        self._wait_over(t, waited)
        if waited > t.max_wait:
            t.max_wait, t.max_wait_start, t.max_wait_end = waited, t.waiting_since, time
        t.waiting_since = None

    def _step(self, e):
        self._advance(e.time)
        self.counts[e.kind] += 1
        if e.kind == SWITCH:
            self._switch(e)
        elif e.kind == START:
            t = self.task(task_id(e.id, e.cpu), e.comm)
            t.idle = e.id == 0 or e.flags == 1
            self._close(e.cpu, e.time, None)
            if self.began[e.cpu] is None:
                self.began[e.cpu] = e.time
            self._open(e.cpu, t, e.time)
        elif e.kind == LOST:
            self._close(e.cpu, self.since[e.cpu], None)
            self.current[e.cpu] = None
            self.began[e.cpu] = None
            self.busy[e.cpu] = self.idle[e.cpu] = 0
            for t in self.tasks.values():  # nobody knows since when who waits
                t.waiting_since = None
            self._waiting.clear()
            self._wasting = None
        elif e.kind == WAKEUP:
            t = self.task(e.id, e.comm)
            t.cpu = e.b >> 16 & 0xFFFF
            if t.waiting_since is None and t not in self.current:
                self._wait_begins(t, e.time)
        elif e.kind == MIGRATE:
            t = self.task(e.id, e.comm)
            t.migrations += 1
            t.cpu = e.b >> 32 & 0xFFFF
            self._wasting = None
        elif e.kind == FORK:
            t = self.task(e.id, e.comm)
            t.born_here = True
            t.allowed = self.task(e.b & 0xFFFFFFFF).allowed
        elif e.kind == AFFINITY:
            every = (1 << min(self.cpus, 64)) - 1
            self.task(e.id, e.comm).allowed = None if e.b & every == every else e.b
            self._wasting = None
        elif e.kind == EXEC:
            self.task(e.id, e.comm)
        elif e.kind == EXIT:
            self.task(e.id, e.comm).kernel_run = e.b
        elif e.kind == TICK:
            if e.flags:
                self.idle_ticks[e.cpu] += 1
            else:
                self.ticks[e.cpu] += 1
                self.task(e.id, e.comm).ticks += 1

    def _switch(self, e):
        s = switch_fields(e)
        prev, following = self.task(task_id(s.prev, e.cpu)), self.task(task_id(s.next, e.cpu), e.comm)
        following.idle = s.next == 0
        prev.idle = s.prev == 0
        known = self.current[e.cpu]
        if known is not None and known is not prev:
            self.problems.append("CPU %d at %d ns: %d switched out, but %d ran" % (e.cpu, e.time, prev.id, known.id))
        self._close(e.cpu, e.time, s)
        if known is None and self.began[e.cpu] is None:
            self.began[e.cpu] = e.time
        self.switches[e.cpu] += 1
        prev.heard = True
        prev.cpu = following.cpu = e.cpu
        if not prev.idle and runnable_after(s):
            self._wait_begins(prev, e.time)
        elif prev.waiting_since is not None:  # its wake-up was recorded later than it ran: clocks of two queues
            self._waiting.discard(prev.id)
            prev.waiting_since = None
        if not following.idle:
            following.switches += 1
            self._wait_ends(following, e.time)
        self._open(e.cpu, following, e.time)


def task_id(ident, cpu):
    """Idle tasks all have id 0: tell them apart by negative numbers."""
    return ident if ident else -1 - cpu

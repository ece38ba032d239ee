# SPDX-License-Identifier: MIT
#
# gdb commands for a stopped Jiffies machine, loaded by `make debug`:
#   jiffies-tasks     every process and thread: state, CPU, priority, CPU time
#   jiffies-cpus      what each CPU runs, and where
#   jiffies-break FN  hardware breakpoint (plain ones fail before paging is up)
# They only read memory: nothing in the machine runs because of them.
"""Jiffies helpers for gdb."""

import gdb

STATES = {0: "running", 1: "interruptible", 2: "uninterruptible", 4: "stopped", 8: "dead"}


def offset_of(struct, member):
    """Byte offset of a (possibly nested) member."""
    null = gdb.Value(0).cast(gdb.lookup_type(struct).pointer())
    value = null
    for part in member.split("."):
        value = value[part] if value.type.strip_typedefs().code != gdb.TYPE_CODE_PTR else value.dereference()[part]
    return int(value.address)


def each(head, struct, member):
    """The structs on a struct list, by head; stops after 100,000 or at a broken link."""
    kind = gdb.lookup_type(struct).pointer()
    offset = offset_of(struct, member)
    node = head["next"]
    for _ in range(100000):
        if int(node) == int(head.address) or int(node) == 0:
            return
        yield gdb.Value(int(node) - offset).cast(kind).dereference()
        node = node.dereference()["next"]


class Tasks(gdb.Command):
    """jiffies-tasks: every process and thread."""

    def __init__(self):
        super().__init__("jiffies-tasks", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        print("%6s %6s %-16s %-16s %4s %5s %5s %12s" % ("PID", "TID", "NAME", "STATE", "CPU", "PRIO", "NICE", "CPU ms"))
        for process in each(gdb.parse_and_eval("process_list"), "struct process", "all"):
            threads = 0
            for thread in each(process["threads"], "struct thread", "link"):
                task = thread["task"]
                state = int(task["state"])
                print("%6d %6d %-16s %-16s %4d %5d %5d %12.3f" % (
                    int(process["pid"]), int(thread["tid"]), task["comm"].string(),
                    STATES.get(state, str(state)), int(task["cpu"]), int(task["prio"]),
                    int(task["nice"]), int(task["exec_total"]) / 1e6))
                threads += 1
            if not threads:
                print("%6d %6s %-16s zombie" % (int(process["pid"]), "-", process["exe"].string()))


class Cpus(gdb.Command):
    """jiffies-cpus: what each CPU runs. CPU n is gdb's thread n + 1."""

    def __init__(self):
        super().__init__("jiffies-cpus", gdb.COMMAND_DATA)

    def invoke(self, arg, from_tty):
        chosen = gdb.selected_thread()
        for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
            thread.switch()
            frame = gdb.newest_frame()
            pc = int(frame.pc())
            mode = "kernel" if pc >= 1 << 47 else "user"
            print("CPU %3d  %-6s 0x%016x %s" % (thread.num - 1, mode, pc, frame.name() or ""))
        if chosen:
            chosen.switch()


class Break(gdb.Command):
    """jiffies-break FUNCTION: hardware breakpoint there."""

    def __init__(self):
        super().__init__("jiffies-break", gdb.COMMAND_BREAKPOINTS, gdb.COMPLETE_SYMBOL)

    def invoke(self, arg, from_tty):
        gdb.Breakpoint(arg, type=gdb.BP_HARDWARE_BREAKPOINT)


Tasks()
Cpus()
Break()
gdb.execute("set pagination off")
gdb.execute("set print pretty on")

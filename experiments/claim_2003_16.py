# SPDX-License-Identifier: MIT
"""The pipe switcher of August 2003 (row 16): who preempts whom decides its speed."""

from lab import Claim, above, below, ratio, vm

BYTES = 1048576  # as in the thread


def switcher(policy, sleep, key="switches_per_byte"):
    """The shell sleeps, and forks the writer; the writer forks the reader."""
    return vm(policy, "sleep %d; pipe_switch --sleep 0 %d" % (sleep, BYTES), "pipe_switch." + key)


claim = Claim(
    ref="2003/16",
    said="One byte at a time through a pipe: with interactivity bonuses the two sides preempt each other for every byte",
    published="seconds on a P3-450: 2.4.22 2.89, test4 4.30, test4 without bonus 3.24, O18.1 6.24, Nick v8 6.85",
    mechanism="A wake-up preempts if the woken task's priority is better. Equal priorities: the writer fills the ring of 4096 "
              "bytes, the reader empties it. A better side is woken for every byte; it sleeps and earns, the other is "
              "preempted while runnable and earns nothing: the state locks itself. test4 earns nothing for sleeps below two "
              "tick boundaries, so there it depends on what the shell had saved (0, 5, 10 s of sleep first). "
              "In 2.4 (goodness) a woken peer must be three ticks ahead to preempt, and both use theirs up alike.",
    metric="switches per byte; seconds",
    runs={
        "goodness": switcher("goodness", 0),
        "nobonus": switcher("nobonus", 0),
        "o1, no sleep": switcher("o1", 0),
        "o1, 5 s": switcher("o1", 5),
        "o1, 10 s": switcher("o1", 10),
        "o1-int": switcher("o1-int", 2),
        "nick": switcher("nick", 2),
        "nobonus, s": switcher("nobonus", 0, "elapsed_s"),
        "o1, 10 s, s": switcher("o1", 10, "elapsed_s"),
        "o1-int, s": switcher("o1-int", 2, "elapsed_s"),
    },
    expect=[below("nobonus", 0.01), below("goodness", 0.1), above("o1-int", 1.5), above("nick", 1.5),
            ratio("o1, 10 s", "nobonus", low=10), ratio("o1-int, s", "nobonus, s", low=1.3), ratio("o1, 10 s, s", "nobonus, s", low=1)],
)

# SPDX-License-Identifier: MIT
"""The pipe switcher with equal priorities (row 17 of August 2003)."""

from lab import Claim, below, ratio, vm

KEY = "pipe_switch.switches_per_byte"
COMMAND = "pipe_switch --sleep 8 100000"

claim = Claim(
    ref="2003/17",
    said="The pipe test runs at full speed when reader and writer have equal priority",
    published="top: PR 23 and 25 when slow, equal when fast",
    mechanism="A wake-up preempts only for a strictly better priority. With the bonus forced to zero both sides have their static "
              "priority, nobody preempts, and each fills or empties the whole ring at its turn.",
    metric="switches per byte",
    runs={
        "o1": vm("o1", COMMAND, KEY),
        "o1, equal": vm("o1", COMMAND, KEY, knobs={"force_bonus0": 1}),
    },
    expect=[below("o1, equal", 0.01), ratio("o1", "o1, equal", low=100)],
)

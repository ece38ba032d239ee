# SPDX-License-Identifier: MIT
"""A stopped hog becomes interactive (row 19 of August 2003)"""

from lab import Claim, above, below, of, samples, sim


def prio(results):
    """Just after it was continued."""
    return samples(results, "stopped[0]", 20.005, 20.025)[0]["prio"]


SHARE = of("task/stopped", "share_pct", window="after")


def stopped(policy, figure, **knobs):
    return sim(policy, "stop_cont", figure, knobs=knobs)


claim = Claim(
    ref="2003/19",
    said="A task that was stopped with C-Z and continued comes back as interactive",
    published="no figures; fixed for O18.1",
    mechanism="The wake-up takes the time in which it was stopped for sleep: 10 s fill test4's sleep_avg, O18.1's rule for idlers makes it just "
              "interactive. With the fix only sleep is credited.",
    metric="priority when continued after 10 s, and share (%) of the next second beside another hog",
    runs={
        "prio, o1": stopped("o1", prio),
        "prio, o1-int": stopped("o1-int", prio),
        "prio, fixed": stopped("o1-int", prio, stopped_fix=1),
        "share, o1": stopped("o1", SHARE),
        "share, o1-int": stopped("o1-int", SHARE),
        "share, fixed": stopped("o1-int", SHARE, stopped_fix=1),
    },
    expect=[below("prio, o1", 116.5), above("prio, o1-int", 116.5), below("prio, o1-int", 117.5),
            above("prio, fixed", 124.5), above("share, o1", 95), above("share, fixed", 40), below("share, fixed", 60)],
)

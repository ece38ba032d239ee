# SPDX-License-Identifier: MIT
#
# What the schedulers are there to show, as numbers with a direction: hogs
# spread evenly, audio is kept in time by the interactivity bonus and not
# without it, short bursts are answered at once.
"""Shares, spreading, audio under load."""

from lib import case, expect, one_result, vm

# Takes the interactivity bonus away from every task.
NO_BONUS = "sched.force_bonus0=1"


def spread(*options, args, timeout=110):
    r = vm(*options, "--smp", "4", cmd=["spread", *args, "8"], timeout=timeout)
    return r, {k: float(v) for k, v in one_result(r, "spread").items() if k}


@case("show-spread", 150)
def show_spread():
    """Eight hogs on four CPUs: CPUs busy over 95 %, shares within 10 %."""
    r, v = spread("--det", args=[])
    expect(v["busy_min_pct"] > 95 and v["share_range_pct"] <= 10, str(r))


@case("show-spread-smp-2", 120)
def show_spread_smp_2():
    """Two CPUs under --det: neither starves (QEMU's round robin favours one if the kernel lets it)."""
    r = vm("--det", "--smp", "2", cmd=["spread", "4"], timeout=110)
    v = one_result(r, "spread")
    expect(float(v["busy_min_pct"]) > 95, str(r))


@case("show-spread-pinned", 150)
def show_spread_pinned():
    """Pinned to CPU 0 and released: no CPU idle after 50 ms, queues even after 2 s."""
    r, v = spread("--det", args=["--pinned"])
    expect(v["idle_until_ms"] <= 50 and v["uneven_until_ms"] <= 2000, str(r))


@case("show-spread-live", 150)
def show_spread_live():
    """Without determinism: spread out within 5 s, no share under half the mean."""
    r, v = spread(args=["--pinned"])
    mean = 100 * v["cpus"] / v["hogs"]
    expect(v["all_cpus_after_ms"] <= 5000 and v["share_min_pct"] >= mean / 2, str(r))


def audio(*options):
    script = "for i in 1 2 3 4 5 6 7 8; do hog & done; audio --warmup 20 10"
    r = vm("--det", "--smp", "4", *options, cmd=["sh", "-c", script], timeout=200)
    return r, int(one_result(r, "audio")["missed"]), int(one_result(r, "audio")["periods"])


@case("show-audio", 260)
def show_audio():
    """Eight hogs: no deadline missed once the estimator has learned."""
    r, missed, periods = audio()
    expect(missed == 0 and periods >= 199, str(r))


@case("show-audio-no-bonus", 260)
def show_audio_no_bonus():
    """The same with the bonus forced to zero: many are missed."""
    r, missed, periods = audio("--append", NO_BONUS)
    expect(missed >= periods // 10, str(r))


@case("show-typist", 120)
def show_typist():
    """Keys are answered within milliseconds while two hogs per CPU run."""
    script = "for i in 1 2 3 4; do hog & done; typist 20"
    r = vm("--det", "--smp", "2", cmd=["sh", "-c", script], timeout=110)
    v = one_result(r, "typist")
    expect(float(v["wake_p50_us"]) < 5000, str(r))

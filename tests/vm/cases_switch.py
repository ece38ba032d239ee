# SPDX-License-Identifier: MIT
#
# The policy is changed while the machine runs: thousands of times under load,
# and through the program sched. Nothing may be lost, no program may notice.
"""Changing the scheduling policy at run time."""

from lib import OPTIONS, case, expect, vm


def switch(seconds, n, *options, changes=0):
    """Changes for some seconds (or so many); every program must end with the right result."""
    r = vm("--smp", str(n), *options, cmd=["test_switch", str(seconds), str(changes)], timeout=seconds + 150, rc=None)
    bad = [s for s in r.text.splitlines() if s.startswith("not ok")]
    expect(r.rc == 0 and not bad, "%s; %s" % ("; ".join(bad)[:1000], r))
    expect("RESULT switch" in r.text and "bad=0" in r.text, "no result; %s" % r)


for cpus in (1, 2, 4, 8):
    case("switch-smp-%d" % cpus, 240, args=(8, cpus), full=cpus == 2)(switch)
case("switch-det", 240, args=(4, 4, "--det"))(switch)
case("switch-preempt-none", 240, args=(8, 4, "--append", "preempt=none"))(switch)


@case("switch-long", 1500, full=True)
def switch_long():
    switch(OPTIONS["seconds"] or 600, OPTIONS["smp"] or 8)


SCRIPT = """
set -e
for p in $(cut -f1 /sys/sched/available); do
	sched $p
	test "$(cat /sys/sched/policy)" = $p
	sched list | grep -q "^[*] $p "
	sched | grep -q "^policy: $p$"
	echo $p $(sed -n 's/^hz: //p' /sys/sched/info)
done
sched o1
sched set max_sleep_avg=2s bonus_ratio=30%
test "$(sched get max_sleep_avg bonus_ratio | tr '\\n' ' ')" = "2000 30 "
echo exit_weight=4 > /sys/sched/tunables
test "$(sched get exit_weight)" = 4
refused() {
	status=0
	sched "$@" || status=$?
	test $status = 1
}
"""


@case("sched-program", 120)
def sched_program():
    r = vm("--smp", "2", cmd=["sh", "-c", SCRIPT + """
		refused no-such; refused set nothing=1; refused set bonus_ratio=99; refused set bonus_ratio=1s
		refused set cache_decay_ticks=25us; refused set bonus_ratio; refused get nothing; refused a b
		echo all refused""".replace("\t", "")], timeout=100)
    expect("all refused" in r.text and "o1 1000" in r.text, str(r))
    err = r.err.decode("utf-8", "replace")
    for words in ('no policy "no-such". There are:', "* o1 ", 'no knob "nothing". Its knobs:',
                  'cannot be "99": a whole number from 0 to 50 (%)', 'cannot be "25us"'):
        expect(words in err, "%r is not said: %s" % (words, err))


@case("sched-command-line", 90)
def command_line():
    """An unknown policy is named with the good ones; knobs take units; hz= stays whatever the policy."""
    r = vm("--smp", "2", "--sched", "no-such", "--append", "sched.max_sleep_avg=3s sched.bonus_ratio=x hz=500",
           cmd=["sh", "-c", "cat /dev/kmsg; cat /sys/sched/policy; sched get max_sleep_avg bonus_ratio; "
                "sched nobonus; sed -n 's/^hz: /ticks /p' /sys/sched/info"], timeout=80)
    expect("sched=no-such: no such policy; o1 is used. There are: o1" in r.text, str(r))
    expect("sched.bonus_ratio=x: not a number in its range" in r.text, str(r))
    expect("\no1\n3000\n25\nticks 500" in r.text, r.text[-300:])

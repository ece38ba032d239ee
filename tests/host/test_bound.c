/* SPDX-License-Identifier: MIT
 *
 * Every policy states how long it lets a runnable task wait (wait_bound). Here it is held to that: scenarios made to keep one task
 * waiting for as long as possible must stay within the bound, and one of them must reach a good part of it, or it would say nothing.
 * Where a policy states that there is no bound, a scenario shows a task that never runs.
 */
#include "sched/policy/o1_family.h"

#include "family.h"

#include <stdio.h>
#include <string.h>

#define WATCH (100 * NSEC_PER_SEC)

static struct crowd {
	struct task *waits, *other[16];
	unsigned n; /* others */
	int nice, waits_nice;
	bool rested; /* the others slept for long before */
} c;

static u64 since, longest; /* when the one that waits last ran, and its longest wait */
static u64 last_exec;
static bool was_queued;

/* After every step. A task that runs has not waited; nor has one for the step in which it ran. */
static void note(void)
{
	u64 exec = sched_task_runtime(c.waits);

	if (c.waits->on_rq != ON_RQ_QUEUED || exec != last_exec || current_task() == c.waits ||
	    !was_queued)
		since = sim_now;
	was_queued = c.waits->on_rq == ON_RQ_QUEUED;
	last_exec = exec;
	longest = max(longest, sim_now - since);
}

static void pass(u64 ns)
{
	for (u64 end = sim_now + ns; sim_now < end;) {
		sim_advance(min(sched_tick_ns / 2, end - sim_now));
		note();
	}
}

static struct task *crowd_member(int nice)
{
	struct task *t = sim_kthread(0);

	t->address_space = t->id;
	sched_set_nice(t, nice);
	sched_wake_new(t);
	sim_deliver(true);
	if (need_resched())
		sched_user_exit();
	return t;
}

static void wake(struct task *t)
{
	task_wake(t, TASK_NORMAL, 0);
	if (need_resched())
		sched_user_exit();
}

/* All but the one that waits. */
static void the_others_sleep(void)
{
	while (current_task() != &sim_idle[0])
		sim_block(TASK_INTERRUPTIBLE);
	wake(c.waits);
	schedule();
}

static void assemble(void)
{
	sim_start(1, sched_policy_find(sim_policy)->default_hz);
	c.waits = crowd_member(c.waits_nice);
	for (unsigned i = 0; i < c.n; i++)
		c.other[i] = crowd_member(c.nice);
	sim_ticks(2 * sched_hz); /* slices that are older than the nice value pass */
	if (c.rested) {
		the_others_sleep();
		CHECK_EQ(sim_rq(0)->nr_running, 1);
		sim_ticks(12 * sched_hz);
	}
	since = sim_now;
	longest = 0;
	last_exec = sched_task_runtime(c.waits);
	was_queued = false;
}

/* All are awake and run whenever they may. Return: the longest wait in ns. */
static u64 hogs(unsigned n, int nice, bool rested)
{
	c = (struct crowd){.n = n, .nice = nice, .waits_nice = max(nice, 0), .rested = rested};
	assemble();
	for (unsigned i = 0; i < n; i++)
		wake(c.other[i]);
	pass(WATCH);
	return longest;
}

/* The first @ring of @n run in turns of @turn ns and wake the next; all the rest wait with the one that waits. */
static u64 ring(unsigned n, unsigned ring, u64 turn, int nice)
{
	u64 end;

	c = (struct crowd){.n = n, .nice = nice, .waits_nice = nice, .rested = true};
	assemble();
	for (unsigned i = ring; i < n; i++)
		wake(c.other[i]);
	wake(c.other[0]);
	end = sim_now + WATCH;
	for (unsigned at = 0; sim_now < end; at = (at + 1) % ring) {
		struct task *t = c.other[at];
		u64 did = t->exec_total;

		/* It runs its turn, however long that takes. */
		while (sim_now < end && (current_task() != t || sched_task_runtime(t) < did + turn))
			pass(sched_tick_ns / 2);
		if (sim_now >= end)
			break;
		task_wake(c.other[(at + 1) % ring], TASK_NORMAL, 0);
		sim_block(TASK_INTERRUPTIBLE);
		note();
	}
	return longest;
}

static void interrupt_wakes(struct task *t)
{
	irq_disable();
	host_cpus[host_cpu].in_irq = true;
	task_wake(t, TASK_NORMAL, 0);
	sim_irq_exit(true);
}

/*
 * nick: a waker takes from the slices of those it wakes as much as they slept, half of it, and so never ends its own. They run between
 * two ticks and are never charged. The first time each gives half a slice; when a task of nice -10 that has ended its own then makes
 * slices so short that what they have left is below zero, that is plenty. Return: the longest wait in ns.
 */
static u64 donors(void)
{
	struct task *by, *top, *p;
	bool short_slices = false;
	unsigned given = 0;
	u64 end;

	c = (struct crowd){.n = 5, .rested = true};
	assemble();
	by = c.other[3];
	top = c.other[4];
	for (unsigned i = 0; i < 3; i++)
		sched_set_nice(c.other[i], -10);
	sched_set_nice(by, -5);
	sched_set_nice(top, -10);
	wake(by);
	end = sim_now + WATCH;
	for (unsigned tick = 0; sim_now < end && current_task() == by; tick++) {
		p = c.other[given < 3 ? given : tick % 3];
		if (o1(by)->used_slice >=
		    (given < 3 ? 22 : (sim_rq(0)->jiffies - o1(p)->stamp) / 2)) {
			given++;
			wake(p);
			pass(sched_tick_ns / 10);
			if (current_task() == p)
				sim_block(TASK_INTERRUPTIBLE);
		}
		if (given == 3 && !short_slices) {
			short_slices = true;
			interrupt_wakes(top);
			while (current_task() == top)
				pass(sched_tick_ns);
			/* They look at the clock, so to speak: none has slept for long. */
			for (unsigned i = 0; i < 3; i++) {
				interrupt_wakes(c.other[i]);
				if (current_task() == c.other[i])
					sim_block(TASK_INTERRUPTIBLE);
			}
		}
		pass(sched_tick_ns - sim_now % sched_tick_ns + sched_tick_ns / 10);
	}
	return longest;
}

static u64 bound(int nice, u32 n, bool sleepers)
{
	return sched_policy->wait_bound(nice, nice, n, sleepers);
}

/* @wait, at most @most; *@part: the largest part of a bound that was reached, in per cent. */
static void within(const char *what, u64 wait, u64 most, unsigned *part)
{
	if (wait > most)
		tap_fail(__FILE__, __LINE__, "%s: %s: waited for %llu ns, bound %llu", sim_policy,
			 what, (unsigned long long)wait, (unsigned long long)most);
	*part = max(*part, (unsigned)(wait * 100 / most));
}

static void say(const char *what, unsigned part)
{
	printf("# %s: %s: up to %u %% of the bound\n", sim_policy, what, part);
	CHECK(part >= 25 && part <= 100);
}

#define FOR_POLICIES \
	for (unsigned i = 0; sched_policy_nth(i) && (sim_policy = sched_policy_nth(i)->name); i++)

static void hogs_keep_the_bound(void)
{
	static const int nices[] = {-20, -10, 0, 10, 19};

	FOR_POLICIES
	{
		unsigned part = 0, endless = 0;

		for (unsigned k = 0; k < 2 * ARRAY_SIZE(nices); k++) {
			int nice = nices[k / 2];
			u64 wait = hogs(3, nice, k % 2), most = bound(nice, 4, false);
			char what[40];

			snprintf(what, sizeof(what), "hogs of nice %d%s", nice,
				 k % 2 ? ", rested" : "");
			if (most == NO_WAIT_BOUND) {
				endless++;
				CHECK(wait > WATCH * 9 / 10);
			} else {
				within(what, wait, most, &part);
			}
		}
		say("hogs", part);
		/* Interactive for good, without any sleep. */
		CHECK_EQ(endless, strcmp(sim_policy, "nobonus") ? 0 : 4);
	}
}

static void sleepers_keep_the_bound(void)
{
	static const char *const none[] = {"o1", "o1-j2", "nick"};

	FOR_POLICIES
	{
		unsigned part = 0, expected = 0;
		u64 few, many;

		for (unsigned k = 0; k < ARRAY_SIZE(none); k++)
			expected += !strcmp(sim_policy, none[k]);
		few = ring(3, 3, 10 * NSEC_PER_MSEC, 0);
		CHECK_EQ(bound(0, 4, true) == NO_WAIT_BOUND, expected);
		if (expected) {
			few = strcmp(sim_policy, "nick") ? few : donors();
			printf("# %s: no bound beside sleepers: waited for %llu of %llu s\n",
			       sim_policy, (unsigned long long)(few / NSEC_PER_SEC),
			       (unsigned long long)(WATCH / NSEC_PER_SEC));
			CHECK(few > WATCH * 9 / 10);
			continue;
		}
		within("three in turn", few, bound(0, 4, true), &part);
		many = ring(9, 3, 10 * NSEC_PER_MSEC, 0);
		within("three in turn, and six hogs", many, bound(0, 10, true), &part);
		say("sleepers", part);
	}
}

/* Nobody can be interactive from nice 16 on: then o1 has a bound beside sleepers too. */
static void bounds_depend_on_nice(void)
{
	unsigned part = 0;

	sim_policy = "o1";
	within("three in turn of nice 16", ring(3, 3, 10 * NSEC_PER_MSEC, 16), bound(16, 4, true),
	       &part);
	CHECK_EQ(bound(15, 4, true), NO_WAIT_BOUND);
	sim_policy = "nobonus";
	sim_start(1, 1000);
	CHECK(bound(-7, 4, true) != NO_WAIT_BOUND);
	CHECK_EQ(bound(-8, 4, true), NO_WAIT_BOUND);
	/* A knob that takes the bonus away changes what o1 promises, and a longer limit what o1-int does. */
	sim_policy = "o1";
	sim_start(1, 1000);
	sched_set_tunable("force_bonus0", 1);
	CHECK_EQ(bound(0, 4, true), 2 * 3 * 102 * NSEC_PER_MSEC + 4 * NSEC_PER_MSEC);
	sched_set_tunable("force_bonus0", 0);
	CHECK_EQ(bound(0, 4, true), NO_WAIT_BOUND);
	sim_policy = "o1-a3";
	sim_start(1, 1000);
	CHECK_EQ(bound(0, 4, true), (2 * 1000 + 4 * 3 * 102 + 4) * NSEC_PER_MSEC);
	CHECK_EQ(bound(0, 1, true), (2 * 1000 + 1) * NSEC_PER_MSEC);
	sched_set_tunable("starvation_limit", 3000);
	CHECK_EQ(bound(0, 1, true), (2 * 3000 + 1) * NSEC_PER_MSEC);
	sched_set_tunable("starvation_limit", 1000);
	sim_policy = NULL;
}

void bound_tests(void)
{
	TEST(hogs_keep_the_bound);
	TEST(sleepers_keep_the_bound);
	TEST(bounds_depend_on_nice);
}

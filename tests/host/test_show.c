/* SPDX-License-Identifier: MIT
 *
 * Tests of the scheduler as text, for every policy: what show() says is what is queued, a text that does not fit is cut between lines and
 * says so, and watching writes down every switch, with the queue that it was chosen from, without changing any.
 */
#include <stdio.h>
#include <string.h>

#include "lib/errno.h"
#include "lib/format.h"
#include "tests.h"

static char text[1 << 20];

/* The number after word @word in the line that begins at @line; -1 if it has none. */
static long number(const char *line, const char *word)
{
	const char *end = strchr(line, '\n'), *at = strstr(line, word);
	unsigned long n;

	return at && at < end && sscanf(at + strlen(word), "%lu", &n) == 1 ? (long)n : -1;
}

static const char *next_line(const char *line)
{
	line = strchr(line, '\n');
	return line && line[1] ? line + 1 : NULL;
}

static unsigned mentions(const char *from, const char *to, u32 id)
{
	char word[32];
	unsigned n = 0;

	snprintf(word, sizeof(word), ": %u (", id);
	while ((from = strstr(from, word)) && from < to) {
		from++;
		n++;
	}
	return n;
}

/* One CPU's text: each list's head counts its tasks, and its bitmap has exactly the levels that have tasks. Return: tasks in it. */
static unsigned check_queue(const char *line, const char *end)
{
	unsigned long long map[3] = {0}, seen[3] = {0};
	unsigned total = 0, tasks = 0, level, said = 0;
	bool has_map = false, in_list = false;

	for (;; line = next_line(line)) {
		bool over = !line || line >= end;

		if (over || strstr(line, ": ") != strchr(line, ':') ||
		    sscanf(line, "%u:", &level) != 1) {
			if (in_list) {
				CHECK_EQ(tasks, said);
				for (int i = 0; has_map && i < 3; i++)
					CHECK_EQ(seen[i], map[i]);
			}
			if (over)
				return total;
			in_list = !strncmp(line, "active:", 7) || !strncmp(line, "expired:", 8) ||
				  !strncmp(line, "list:", 5);
			CHECK(in_list || !strncmp(line, "cpu ", 4));
			said = (unsigned)number(line, "tasks ");
			tasks = 0;
			memset(seen, 0, sizeof(seen));
			has_map = in_list && strstr(line, "bitmap ") &&
				  strstr(line, "bitmap ") < strchr(line, '\n');
			if (has_map)
				CHECK_EQ(sscanf(strstr(line, "bitmap "), "bitmap %llx %llx %llx",
						&map[0], &map[1], &map[2]),
					 3);
			continue;
		}
		if (has_map && level < 192)
			seen[level / 64] |= 1ull << level % 64;
		CHECK(number(line, " prio ") >= 0 && number(line, " slice ") >= 0);
		CHECK(!sched_policy->score || strstr(line, sched_policy->score));
		tasks++;
		total++;
	}
}

/* Two CPUs with eleven tasks of several nice values, one real time, some of them past a slice. */
static void crowd(struct task *t[11])
{
	sim_start(2, 1000);
	for (int i = 0; i < 11; i++) {
		t[i] = sim_spawn(i < 7 ? 0 : 1);
		sched_set_nice(t[i], i % 4 * 5 - 5);
	}
	sched_set_class(t[10], SCHED_RR, 7);
	sim_ticks(300);
}

static void shows_what_is_queued(void)
{
	unsigned lines = 0, found = 0;
	struct task *t[11];
	size_t len;

	crowd(t);
	len = 0;
	for (unsigned cpu = 0; cpu < 2; cpu++) {
		size_t n = sched_show_cpu(cpu, text + len, sizeof(text) - len);

		CHECK_EQ(number(text + len, "current "), sim_rq(cpu)->curr->id);
		CHECK_EQ(number(text + len, "tasks "), sim_rq(cpu)->nr_running);
		lines += check_queue(text + len, text + len + n);
		len += n;
		if (sched_policy->global_queue)
			break; /* the other CPU shows the same list */
	}
	CHECK_EQ(lines, 11);
	for (int i = 0; i < 11; i++) {
		CHECK_EQ(mentions(text, text + len, t[i]->id), 1);
		found += t[i]->on_rq == ON_RQ_QUEUED;
	}
	CHECK_EQ(found, 11);
}

/* At every size: not a byte beyond it, whole lines, and the word that something is missing exactly if it is. */
static void cuts_between_lines(void)
{
	struct task *t[11];
	char whole[8192], part[8192];
	size_t len;

	crowd(t);
	len = sched_show_cpu(0, whole, sizeof(whole));
	CHECK(len > 500 && len < sizeof(whole) && !strstr(whole, "cut:"));
	for (size_t size = 64; size <= len + 1; size++) {
		size_t n, same;
		char *cut;

		memset(part, '~', sizeof(part));
		n = sched_show_cpu(0, part, size);
		CHECK(n < size && part[n] == 0 && part[size] == '~' && part[n - 1] == '\n');
		cut = strstr(part, "cut: there is more\n");
		CHECK_EQ(cut != NULL, n != len);
		same = cut ? (size_t)(cut - part) : n;
		CHECK(!memcmp(part, whole, same) && (!same || part[same - 1] == '\n'));
		CHECK(!cut || cut + 19 == part + n);
		CHECK_EQ(n == len, size > len + 1 || (size == len + 1 && n == len));
	}
	/* However large the buffer: no more than 16 KiB are written under the lock. */
	for (int i = 0; i < 240; i++)
		strcpy(sim_spawn(0)->comm, "fifteen letters");
	CHECK(sched_show_cpu(0, text, sizeof(text)) < 16384);
	CHECK(strstr(text, "cut: there is more\n") != NULL);
}

static void shows_a_task(void)
{
	struct strbuf sb = {.buf = text, .size = sizeof(text)};
	struct task *t[11];
	char head[64];

	crowd(t);
	t[10]->wait_max = 123456789;
	sched_show_task(t[10], &sb);
	snprintf(head, sizeof(head), "%u (", t[10]->id);
	CHECK(!strncmp(text, head, strlen(head)) && !strchr(text, '\n'));
	sb_printf(&sb, "\n");
	CHECK_EQ(number(text, " class "), SCHED_RR);
	CHECK_EQ(number(text, " wait_max_ns "), 123456789);
	CHECK_EQ(number(text, " run_ns "), sched_task_runtime(t[10]));
	CHECK_EQ(number(text, " prio "), t[10]->prio);
	CHECK_EQ(number(text, " ticks "), t[10]->ticks_billed);
}

/* What happens between two looks: slices end, tasks sleep and wake, yield, are pulled. Return: the hash over all switches. */
static u64 busy_time(struct task *t[11])
{
	u64 n;

	for (int round = 0; round < 40; round++) {
		unsigned cpu = (unsigned)round % 2;

		sim_ticks(37);
		sim_on(cpu);
		if (current_task() == sim_rq(cpu)->idle)
			continue;
		if (round % 5 == 4) {
			sched_yield_current();
		} else if (round % 3 == 0) {
			struct task *sleeper = current_task();

			sim_block(TASK_INTERRUPTIBLE);
			sim_ticks(11);
			sim_on(1 - cpu);
			task_wake(sleeper, TASK_NORMAL, 0);
		}
	}
	/* All sleep, so that both CPUs idle. */
	for (int i = 0; i < 100; i++) {
		sim_on((unsigned)i % 2);
		if (current_task() != sim_rq((unsigned)i % 2)->idle)
			sim_block(TASK_UNINTERRUPTIBLE);
	}
	for (int i = 0; i < 11; i++)
		task_wake(t[i], TASK_NORMAL, 0);
	sim_ticks(5);
	return sched_switch_hash(&n);
}

static u64 switches(void)
{
	u64 n;

	sched_switch_hash(&n);
	return n;
}

static void check_record(const char *at, const char *end)
{
	const char *prev = next_line(at), *next = next_line(prev), *queue = next_line(next);
	unsigned id, found = 0;
	int prio, best = 1000;

	CHECK_EQ(sscanf(next, "next: %u (%*[^)]) prio %d", &id, &prio), 2);
	CHECK(!strncmp(prev, "prev: ", 6) && number(at, "prev: ") != (long)id);
	CHECK(!strncmp(queue, "cpu ", 4) && number(queue, "cpu ") == number(at, " on "));
	check_queue(queue, end);
	if (prio == NO_LENT_PRIO) {
		CHECK_EQ(number(queue, "tasks "), 0); /* idle only when there is nothing */
		return;
	}
	found = mentions(queue, end, id);
	if (strncmp(sched_policy->name, "test", 4))
		CHECK_EQ(found, 1);
	/* The best of the active tasks; of goodness the first is compared, higher is better. */
	for (const char *line = next_line(queue); line && line < end && strncmp(line, "expired", 7);
	     line = next_line(line)) {
		int level;

		if (sscanf(line, "%d: %*u (", &level) != 1)
			continue;
		if (best == 1000 || (sched_policy->global_queue ? level > best : level < best))
			best = level;
		if (number(line, ": ") == (long)id && !sched_policy->global_queue)
			CHECK_EQ(level, prio);
	}
	if (!sched_policy->global_queue)
		CHECK_EQ(prio, best);
}

static void watch_sees_every_switch(void)
{
	const struct sched_policy *policy;
	struct strbuf sb = {.buf = text, .size = sizeof(text)};
	struct task *t[11];
	u64 hash, n, seen = 0;
	const char *at;

	crowd(t);
	hash = busy_time(t);
	crowd(t);
	policy = sched_policy;
	sim_on(0);
	CHECK_EQ(sched_watch(MAX_CPUS), 0);
	CHECK(sched_policy != policy && !strcmp(sched_policy->name, policy->name));
	CHECK_EQ(sched_watch_show(&sb), -EBUSY);
	n = switches();
	CHECK_EQ(busy_time(t), hash); /* the same run */
	n = switches() - n;
	sim_on(0);
	sched_watch_stop(false);
	CHECK(sched_policy == policy);
	CHECK_EQ(sched_watch_show(&sb), 0);
	CHECK_EQ(number(text, "switches "), n);
	CHECK_EQ(number(text, "left_out "), 0);
	for (at = strstr(text, "\nswitch "); at; seen++) {
		const char *next = strstr(at + 1, "\nswitch ");

		check_record(at + 1, next ? next + 1 : text + sb.len);
		at = next;
	}
	CHECK_EQ(seen, n);
	CHECK(strstr(text, "how slept state 1") && strstr(text, "how resched") &&
	      strstr(text, "tick 1"));
	CHECK(strstr(text, "prio 32767\ncpu ") != NULL);
	CHECK(n > 20);
	sched_watch_stop(true);
	sim_check("watched");
}

static void watch_is_bounded_and_ends(void)
{
	struct strbuf sb = {.buf = text, .size = sizeof(text)};
	struct task *t[11];
	int allocated;
	u64 n;

	crowd(t);
	for (int i = 0; i < 200; i++)
		sim_spawn(0);
	sim_on(0);
	allocated = sim_allocated;
	CHECK_EQ(sched_watch(7), -EINVAL);
	sim_allocs_left = 0;
	CHECK_EQ(sched_watch(0), -ENOMEM);
	sim_allocs_left = ~0u;
	CHECK_EQ(sched_watch(0), 0);
	n = sim_rq(0)->nr_switches;
	while (sim_rq(0)->nr_switches < n + 60) {
		sim_ticks(1);
		sim_on(0);
		if (current_task() != sim_rq(0)->idle)
			sched_yield_current();
	}
	n = sim_rq(0)->nr_switches - n;
	/* A change of the policy ends it; changing to what runs already changes nothing else. */
	CHECK_EQ(sched_switch_policy(sched_policy->name), 0);
	CHECK_EQ(sched_watch_show(&sb), 0);
	CHECK_EQ(number(text, "switches "), n);
	CHECK(number(text, "left_out ") > 0 && number(text, "left_out ") < (long)n);
	CHECK(sb.len > 450000 && sb.len < (512 << 10) + 100);
	CHECK(!strstr(text, ": on 1 "));
	sched_watch_stop(true);
	CHECK_EQ(sim_allocated, allocated);
	sb.len = 0;
	CHECK_EQ(sched_watch_show(&sb), 0);
	CHECK(!strcmp(text, "watched: switches 0 left_out 0\n"));
	CHECK_EQ(sched_watch(0), 0);
	CHECK_EQ(sched_switch_policy(strcmp(sched_policy->name, "o1") ? "o1" : "nick"), 0);
	sim_ticks(500);
	sim_check("changed");
	sched_watch_stop(true);
}

void show_tests(void)
{
	TEST(shows_what_is_queued);
	TEST(cuts_between_lines);
	TEST(shows_a_task);
	TEST(watch_sees_every_switch);
	TEST(watch_is_bounded_and_ends);
}

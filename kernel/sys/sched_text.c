/* SPDX-License-Identifier: MIT
 *
 * /sys/sched: the running policy, the policies there are, and the tunables of the running one, as text.
 *
 *	policy		its name; writing another name changes it
 *	available	name, tab, summary
 *	info		"key: value"
 *	tunables	name, value, unit, least, greatest, default, source, with tabs; takes "name=value", in any unit that comes out whole
 *	queues		every CPU and its queue, each as one state (policy.h, show())
 *	tasks		a line for each thread of a process: its accounts and the policy's figures of it
 *	watch		takes "start", "start CPU", "stop", "clear"; the switches in between, each with the queue it was chosen from
 */
#include "lib/format.h"
#include "lib/string.h"
#include "sched/policy.h"
#include "sys/node.h"
#include "sys/proc.h"
#include "task/thread.h"

static int show_policy(struct strbuf *sb, u64 arg)
{
	sb_printf(sb, "%s\n", sched_policy_name());
	return 0;
}

/* @text without the white space at its end. */
static char *trim(char *copy, size_t size, const char *text)
{
	size_t n = strlen(text);

	while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
		n--;
	n = min(n, size - 1);
	memcpy(copy, text, n);
	copy[n] = '\0';
	return copy;
}

static int store_policy(const char *text, size_t n, u64 arg)
{
	char name[64];

	return sched_switch_policy(trim(name, sizeof(name), text));
}

static int show_available(struct strbuf *sb, u64 arg)
{
	const struct sched_policy *pol;

	for (unsigned i = 0; (pol = sched_policy_nth(i)); i++)
		sb_printf(sb, "%s\t%s\n", pol->name, pol->summary);
	return 0;
}

static void show_wait(struct strbuf *sb, const struct sched_policy *pol, bool sleepers)
{
	u64 ns = pol->wait_bound(0, 0, 10, sleepers);

	sb_printf(sb, "longest wait beside 9 tasks of nice 0 that %s: ",
		  sleepers ? "sleep and wake" : "do not sleep");
	if (ns == NO_WAIT_BOUND)
		sb_printf(sb, "no bound\n");
	else
		sb_printf(sb, "%llu ms\n", (unsigned long long)(ns / NSEC_PER_MSEC));
}

/* The tables of policies are constants; one look at which of them it is gives one state. */
static int show_info(struct strbuf *sb, u64 arg)
{
	const struct sched_policy *pol = sched_policy_table();

	sb_printf(sb, "policy: %s\nsummary: %s\nevidence: %s\nhz: %u\n", pol->name, pol->summary,
		  pol->evidence ? pol->evidence : "not recorded", sched_hz);
	if (pol->score)
		sb_printf(sb, "score: %s\n", pol->score);
	sb_printf(sb, "queue: %s\n", pol->global_queue ? "one for all CPUs" : "one per CPU");
	if (pol->balance_busy_ms && !pol->global_queue)
		sb_printf(sb, "balance busy: every %u ms\n", pol->balance_busy_ms);
	if (!pol->global_queue)
		sb_printf(sb, "balance idle: every %u ms, at least a tick\n", pol->balance_idle_ms);
	show_wait(sb, pol, false);
	show_wait(sb, pol, true);
	sb_printf(sb, "wait rule: %s\n", pol->wait_rule);
	return 0;
}

static int show_tunables(struct strbuf *sb, u64 arg)
{
	const struct sched_policy *pol = sched_policy_table();

	for (const struct tunable *t = pol->tunables; t < pol->tunables + pol->nr_tunables; t++)
		sb_printf(sb, "%s\t%lld\t%s\t%lld\t%lld\t%lld\t%s\n", t->name,
			  (long long)READ_ONCE(*t->value), t->unit, (long long)t->min,
			  (long long)t->max, (long long)t->def, t->source);
	return 0;
}

static int store_tunable(const char *text, size_t n, u64 arg)
{
	char copy[128], *value = strchr(trim(copy, sizeof(copy), text), '=');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	return sched_set_tunable_text(copy, value);
}

#define QUEUE_BYTES (16u << 10)

static int show_queues(struct strbuf *sb, u64 arg)
{
	/* All CPUs together fit into a text node. */
	size_t size = min(QUEUE_BYTES, (1u << 20) / (cpus_online + 1));
	char *buf = kmalloc(QUEUE_BYTES);

	if (!buf)
		return -ENOMEM;
	for (unsigned cpu = 0; cpu < cpus_online && !sb_full(sb); cpu++)
		text_write(sb, buf, sched_show_cpu(cpu, buf, size));
	kfree(buf, QUEUE_BYTES);
	return 0;
}

static void put_threads(struct strbuf *sb, struct process *p)
{
	struct thread *t;
	u64 flags = spin_lock_irqsave(&p->sig_lock);

	list_for_each (t, &p->threads, link) {
		u32 state = t->task.state;

		sched_show_task(&t->task, sb);
		sb_printf(sb, " pid %u state %c\n", p->pid,
			  state & (TASK_DEAD | TASK_NEW) ? 'Z'
			  : p->stopped			 ? 'T'
			  : state & TASK_UNINTERRUPTIBLE ? 'D'
			  : state & TASK_INTERRUPTIBLE	 ? 'S'
							 : 'R');
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

/* Some processes at a time under the lock, oldest first; those that come or go meanwhile make no other line vanish or appear twice. */
#define TASKS_AT_ONCE 32

static int show_tasks(struct strbuf *sb, u64 arg)
{
	u64 from = 0;
	unsigned n;

	do {
		struct process *p;

		n = 0;
		spin_lock(&tree_lock);
		list_for_each (p, &process_list, all) {
			if (p->start_ns < from)
				continue;
			if (++n > TASKS_AT_ONCE) {
				from = p->start_ns;
				break;
			}
			put_threads(sb, p);
		}
		spin_unlock(&tree_lock);
	} while (n > TASKS_AT_ONCE && !sb_full(sb));
	return 0;
}

static struct mutex watch_lock; /* one caller of sched_watch*() at a time */

static int show_watch(struct strbuf *sb, u64 arg)
{
	int err;

	mutex_lock(&watch_lock);
	err = sched_watch_show(sb);
	mutex_unlock(&watch_lock);
	return err;
}

static int store_watch(const char *text, size_t n, u64 arg)
{
	char copy[32];
	u64 cpu = MAX_CPUS;
	int err = -EINVAL;

	trim(copy, sizeof(copy), text);
	mutex_lock(&watch_lock);
	if (!strcmp(copy, "stop") || !strcmp(copy, "clear")) {
		sched_watch_stop(copy[0] == 'c');
		err = 0;
	} else if (!strcmp(copy, "start") ||
		   (!strncmp(copy, "start ", 6) && parse_u64(copy + 6, &cpu) && cpu < MAX_CPUS)) {
		err = sched_watch((unsigned)cpu);
	}
	mutex_unlock(&watch_lock);
	return err;
}

int sched_text_init(void)
{
	static const struct text_desc texts[] = {
		{"policy", 0644, show_policy, store_policy},
		{"available", 0444, show_available, NULL},
		{"info", 0444, show_info, NULL},
		{"tunables", 0644, show_tunables, store_tunable},
		{"queues", 0444, show_queues, NULL},
		{"tasks", 0444, show_tasks, NULL},
		{"watch", 0644, show_watch, store_watch},
	};
	struct node *dir = node_add_dir(node_root, "sys");
	int err;

	mutex_init(&watch_lock);
	dir = dir ? node_add_dir(dir, "sched") : NULL;
	err = dir ? 0 : -ENOMEM;
	for (size_t i = 0; !err && i < ARRAY_SIZE(texts); i++)
		err = text_add(dir, &texts[i], 0);
	return err;
}

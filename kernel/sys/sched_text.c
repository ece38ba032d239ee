/* SPDX-License-Identifier: MIT
 *
 * /sys/sched: the running policy, the policies there are, and the tunables of the running one, as text.
 *
 *	policy		its name; writing another name changes it
 *	available	name, tab, summary
 *	info		"key: value"
 *	tunables	name, value, unit, least, greatest, default, source, with tabs; takes "name=value", in any unit that comes out whole
 */
#include "lib/format.h"
#include "lib/string.h"
#include "sched/policy.h"
#include "sys/node.h"

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
	const struct sched_policy *pol = READ_ONCE(sched_policy);

	sb_printf(sb, "policy: %s\nsummary: %s\nevidence: %s\nhz: %u\n", pol->name, pol->summary,
		  pol->evidence ? pol->evidence : "not recorded", sched_hz);
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
	const struct sched_policy *pol = READ_ONCE(sched_policy);

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

int sched_text_init(void)
{
	static const struct text_desc texts[] = {
		{"policy", 0644, show_policy, store_policy},
		{"available", 0444, show_available, NULL},
		{"info", 0444, show_info, NULL},
		{"tunables", 0644, show_tunables, store_tunable},
	};
	struct node *dir = node_add_dir(node_root, "sys");
	int err;

	dir = dir ? node_add_dir(dir, "sched") : NULL;
	err = dir ? 0 : -ENOMEM;
	for (size_t i = 0; !err && i < ARRAY_SIZE(texts); i++)
		err = text_add(dir, &texts[i], 0);
	return err;
}

/* SPDX-License-Identifier: MIT
 *
 * The table of policies and the tunables of the running one.
 */
#include "sched/policy.h"

#include "lib/errno.h"
#include "lib/string.h"

static const struct sched_policy *const policies[] = {
	&policy_o1,	&policy_nobonus, &policy_o1_j2,	   &policy_o1_a3,
	&policy_o1_int, &policy_nick,	 &policy_goodness,
};

const struct sched_policy *sched_policy_nth(unsigned i)
{
	return i < ARRAY_SIZE(policies) ? policies[i] : NULL;
}

const struct sched_policy *sched_policy_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(policies); i++)
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	return NULL;
}

const struct tunable *sched_tunable_by_name(const char *name)
{
	for (unsigned i = 0; i < sched_policy->nr_tunables; i++)
		if (!strcmp(sched_policy->tunables[i].name, name))
			return &sched_policy->tunables[i];
	return NULL;
}

/* One at a time, and interrupts off: the policy stays the same meanwhile. setup() of the last one sees every value. */
static spinlock_t tunables_lock = SPINLOCK_INIT("tunables", LOCK_LEAF);

/* Length in ns of the unit of time that @s starts with, 0 if it is none; *@end is what follows. */
static u64 time_unit(const char *s, const char **end)
{
	static const struct {
		char name[3];
		u32 ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

	for (unsigned i = 0; i < ARRAY_SIZE(units); i++) {
		size_t n = strlen(units[i].name);

		if (!strncmp(s, units[i].name, n) && (!s[n] || s[n] == ' ')) {
			*end = s + n;
			return units[i].ns;
		}
	}
	return 0;
}

/* "-5", "2s", "50%", "3levels": a whole number of @t's unit. */
static bool parse_value(const struct tunable *t, const char *text, s64 *value)
{
	bool negative = *text == '-';
	const char *digits = text + negative, *p = digits, *rest;
	u64 n = 0, from, unit;
	size_t len;

	for (; *p >= '0' && *p <= '9'; p++)
		if ((n = n * 10 + (u64)(*p - '0')) > 1000000000)
			return false;
	len = strlen(p);
	if (p == digits)
		return false;
	if (len && (strncmp(p, t->unit, len) || (t->unit[len] && t->unit[len] != ' '))) {
		from = time_unit(p, &rest);
		unit = time_unit(t->unit, &rest);
		if (!from || !unit || p[len - 1] != 's' || n * from % unit)
			return false;
		n = n * from / unit;
	}
	*value = negative ? -(s64)n : (s64)n;
	return true;
}

static int set_tunable(const char *name, const char *text, s64 value)
{
	u64 irq = irq_save();
	const struct tunable *t;
	int err = 0;

	spin_lock_raw(&tunables_lock);
	t = sched_tunable_by_name(name);
	if (!t)
		err = -ENOENT;
	else if ((text && !parse_value(t, text, &value)) || value < t->min || value > t->max)
		err = -EINVAL;
	if (!err) {
		WRITE_ONCE(*t->value, value);
		if (sched_policy->setup)
			sched_policy->setup();
	}
	spin_unlock_raw(&tunables_lock);
	irq_restore(irq);
	return err;
}

int sched_set_tunable(const char *name, s64 value)
{
	return set_tunable(name, NULL, value);
}

int sched_set_tunable_text(const char *name, const char *text)
{
	return set_tunable(name, text, 0);
}

/* SPDX-License-Identifier: MIT
 *
 * The table of policies and the tunables of the running one.
 */
#include "sched/policy.h"

#include "lib/errno.h"
#include "lib/string.h"

static const struct sched_policy *const policies[] = {
	&policy_o1, &policy_nobonus, &policy_o1_j2, &policy_o1_a3, &policy_o1_int, &policy_nick,
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

int sched_set_tunable(const char *name, s64 value)
{
	const struct tunable *t = sched_tunable_by_name(name);

	if (!t)
		return -ENOENT;
	if (value < t->min || value > t->max)
		return -EINVAL;
	WRITE_ONCE(*t->value, value);
	if (sched_policy->setup)
		sched_policy->setup();
	return 0;
}

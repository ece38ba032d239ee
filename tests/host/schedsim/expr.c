/* SPDX-License-Identifier: MIT
 *
 * Values of a scenario's expressions.
 */
#include "engine.h"

#include <math.h>

#include "lib/errno.h"

static s64 positive_random(struct sim_task *st, s64 below)
{
	return below > 0 ? (s64)((rng_next(&st->rng) >> 11) % (u64)below) : 0;
}

static s64 exponential(struct sim_task *st, s64 mean)
{
	double u = (double)((rng_next(&st->rng) >> 11) + 1) / 9007199254740993.0;

	return (s64)(-log(u) * (double)mean);
}

s64 expr_eval(const struct expr *e, struct sim_task *st, u32 line)
{
	s64 a = e->a ? expr_eval(e->a, st, line) : 0, b = e->b ? expr_eval(e->b, st, line) : 0;

	if (!st && e->op >= X_UNIFORM && e->op != X_MIN && e->op != X_MAX && e->op != X_CPUS)
		scenario_error(line, "a number that is the same for all tasks is needed here");
	switch (e->op) {
	case X_NUM:
		return e->value;
	case X_SLOT:
		return st->slots[e->value];
	case X_NEG:
		return -a;
	case X_ADD:
		return a + b;
	case X_SUB:
		return a - b;
	case X_MUL:
		return a * b;
	case X_DIV:
	case X_MOD:
		if (!b)
			scenario_error(line, "division by zero");
		return e->op == X_DIV ? a / b : a % b;
	case X_LT:
		return a < b;
	case X_LE:
		return a <= b;
	case X_GT:
		return a > b;
	case X_GE:
		return a >= b;
	case X_EQ:
		return a == b;
	case X_NE:
		return a != b;
	case X_AND:
		return a && b;
	case X_OR:
		return a || b;
	case X_UNIFORM:
		return a + positive_random(st, b - a + 1);
	case X_EXP:
		return exponential(st, a);
	case X_MIN:
		return min(a, b);
	case X_MAX:
		return max(a, b);
	case X_INSTANCE:
		return st->instance;
	case X_COUNT:
		return st->tmpl->count ? expr_eval(st->tmpl->count, NULL, line) : 1;
	case X_NOW:
		return (s64)(sim_now - sim_start_time);
	case X_ELAPSED:
		return (s64)st->elapsed;
	case X_SIGNALS:
		return (s64)st->signals;
	case X_CPUS:
		return host_ncpus ? host_ncpus : scn.cpus;
	case X_TICK:
		return (s64)sched_tick_ns;
	case X_TIMEDOUT:
		return st->timedout;
	}
	return 0;
}

/* A duration or a count of @op: not negative. */
u64 amount(const struct expr *e, struct sim_task *st, const struct op *op)
{
	s64 v = expr_eval(e, st, op->line);

	if (v >= (s64)(FOREVER >> 1))
		return FOREVER;
	return v > 0 ? (u64)v : 0;
}

void apply_set(const struct op *op, struct sim_task *st)
{
	s64 v = expr_eval(op->a, st, op->line);
	int ret = sched_set_tunable(op->knob, v);

	if (ret == -ENOENT && !op->all)
		scenario_error(op->line, "policy %s has no knob \"%s\"", sched_policy->name,
			       op->knob);
	if (ret == -EINVAL)
		scenario_error(op->line, "%lld is outside the range of \"%s\"", (long long)v,
			       op->knob);
}

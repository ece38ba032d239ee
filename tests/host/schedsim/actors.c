/* SPDX-License-Identifier: MIT
 *
 * Simulated tasks from their making to their end, and what is done to them: signals, stops, nice values, flags.
 */
#include "engine.h"

#include <stdlib.h>
#include <string.h>

u64 sim_seed;
struct sim_task **sim_all;
u32 sim_nr_all, nr_to_start;
static u32 all_room, next_id = 1, next_cpu;

/* --------------------------------------------------------------- tasks */

struct sim_task *create(struct tmpl *t)
{
	struct sim_task *st = aligned_alloc(64, ALIGN_UP(sizeof(*st), 64));

	if (!st)
		abort();
	memset(st, 0, sizeof(*st));
	memset(&st->task, 0x5a, sizeof(st->task)); /* the scheduler must initialise all it uses */
	st->task.signal_pending = 0;
	st->task.id = next_id++;
	snprintf(st->task.comm, sizeof(st->task.comm), "%.15s", t->name);
	st->tmpl = t;
	st->timer = (struct ev){.kind = EV_TIMER, .owner = st};
	list_init(&st->waiting);
	list_init(&st->children);
	list_init(&st->sibling);
	st->slots = calloc(t->nr_slots + 1, sizeof(*st->slots));
	if (t->nr_instances == t->room) {
		t->room = t->room ? t->room * 2 : 16;
		t->instances = realloc(t->instances, t->room * sizeof(struct sim_task *));
	}
	if (sim_nr_all == all_room) {
		all_room = all_room ? all_room * 2 : 1024;
		sim_all = realloc(sim_all, all_room * sizeof(struct sim_task *));
	}
	if (!st->slots || !t->instances || !sim_all)
		abort();
	st->instance = t->nr_instances;
	t->instances[t->nr_instances++] = st;
	st->slot_in_all = sim_nr_all;
	sim_all[sim_nr_all++] = st;
	st->rng = (sim_seed * 0x9e3779b97f4a7c15ull) ^ ((u64)t->line << 40) ^
		  (st->instance * 0xbf58476d1ce4e5b9ull);
	st->rng |= 1;
	for (unsigned i = 0; i < 4; i++)
		rng_next(&st->rng);
	st->started_at = sim_now;
	return st;
}

void release(struct sim_task *st)
{
	ev_cancel(&st->timer);
	sim_all[st->slot_in_all] = sim_all[--sim_nr_all];
	sim_all[st->slot_in_all]->slot_in_all = st->slot_in_all;
	sched_forget(&st->task);
	free(st->slots);
	free(st);
}

void set_up(struct sim_task *st)
{
	struct tmpl *t = st->tmpl;

	if (t->nice)
		sched_set_nice(&st->task, (int)expr_eval(t->nice, st, t->line));
	if (t->class)
		sched_set_class(&st->task, t->class, t->rt_priority);
	if (t->pinned && sched_set_affinity(&st->task, &t->mask))
		scenario_error(t->line, "none of these CPUs exists");
	t->live++;
}

void start(struct sim_task *st)
{
	struct tmpl *t = st->tmpl;

	host_cpu = t->on ? (unsigned)expr_eval(t->on, st, t->line) % host_ncpus
			 : next_cpu++ % host_ncpus;
	nr_to_start--;
	t->to_start--;
	st->timer.kind = EV_TIMER;
	st->started_at = sim_now;
	sched_kthread_init(&st->task);
	set_up(st);
	sched_wake_new(&st->task);
}

bool wake(struct sim_task *st, u32 states, unsigned flags)
{
	bool slept = st->task.on_rq == ON_RQ_NONE;

	if (!task_wake(&st->task, states, flags))
		return false;
	if (slept) {
		st->woken = true;
		st->woken_at = sim_now;
	}
	return true;
}

void block(u32 state)
{
	set_current_state(state);
	schedule();
}

void work_account(struct sim_task *st)
{
	u64 did;

	if (sim_now <= st->work_from)
		return;
	did = sim_now - st->work_from;
	st->work_from = sim_now;
	if (st->left != FOREVER)
		st->left = did < st->left ? st->left - did : 0;
}

/* @st runs and its remaining time has changed: its CPU looks again. */
static void running_changed(struct sim_task *st)
{
	struct sim_cpu *c = &sim_cpus[st->task.cpu];

	if (machine_runq(st->task.cpu)->curr == &st->task)
		ev_arm(&c->step, max(sim_now, st->work_from) + st->left);
}

void exit_current(struct sim_task *st)
{
	struct sim_task *parent = st->parent, *child, *next;
	struct tmpl *t = st->tmpl;

	list_for_each_safe (child, next, &st->children, sibling) {
		list_del_init(&child->sibling);
		child->parent = NULL;
		if (child->zombie)
			release(child);
	}
	if (!list_empty(&st->waiting))
		list_del_init(&st->waiting);
	ev_cancel(&st->timer);
	report_exit(st);
	t->instances[st->instance] = NULL;
	t->live--;
	if (parent) {
		st->zombie = true;
		if (parent->waits_child)
			wake(parent, TASK_INTERRUPTIBLE, 0);
	}
	machine_exit_current();
	if (!st->dead)
		violation("exit", "task %u did not die", st->task.id);
	if (!parent)
		release(st);
}

/* ------------------------------------------------- signals and targets */

static void interrupt_target(struct sim_task *st)
{
	struct task *t = &st->task;

	if (t->state & TASK_INTERRUPTIBLE)
		wake(st, TASK_INTERRUPTIBLE, 0);
	else if (machine_runq(t->cpu)->curr == t && t->cpu != host_cpu)
		machine_send_resched(t->cpu);
}

static void act_on(const struct op *op, struct sim_task *actor, struct sim_task *st)
{
	switch (op->kind) {
	case OP_SIGNAL:
		st->task.signal_pending = 1;
		interrupt_target(st);
		break;
	case OP_STOP:
		st->stop_pending = true;
		interrupt_target(st);
		break;
	case OP_CONT:
		st->stop_pending = false;
		wake(st, TASK_STOPPED, 0);
		break;
	case OP_KILL:
		st->kill_pending = true;
		wake(st, TASK_STOPPED, 0);
		interrupt_target(st);
		break;
	case OP_NICE:
		sched_set_nice(&st->task, (int)expr_eval(op->a, actor, op->line));
		break;
	case OP_CLASS:
		sched_set_class(&st->task, op->class, op->rt_priority);
		break;
	case OP_AFFINITY:
		if (sched_set_affinity(&st->task, &op->mask))
			scenario_error(op->line, "none of these CPUs exists");
		break;
	default:
		break;
	}
}

struct sim_task *one_target(const struct op *op, struct sim_task *actor)
{
	s64 i = expr_eval(op->index, actor, op->line);

	return i >= 0 && i < op->tmpl->nr_instances ? op->tmpl->instances[i] : NULL;
}

bool started(const struct sim_task *st)
{
	return st && st->timer.kind != EV_START;
}

static void post(const struct op *op, struct sim_task *actor)
{
	s64 i = op->index ? expr_eval(op->index, actor, op->line) : 0;
	struct flag *f;

	if (i < 0)
		scenario_error(op->line, "index %lld", (long long)i);
	f = &op->flag->flags[(u64)i % op->flag->count];
	f->value += op->a ? amount(op->a, actor, op) : 1;
	while (f->value && !list_empty(&f->waiters)) {
		struct sim_task *st = container_of(f->waiters.next, struct sim_task, waiting);

		/* Handed over: off the list means that it has it. */
		list_del_init(&st->waiting);
		f->value--;
		if (st->tmpl->ops[st->pc].kind == OP_SPIN) {
			if (machine_runq(st->task.cpu)->curr == &st->task)
				work_account(st);
			st->left = 0;
			running_changed(st);
		} else {
			wake(st, TASK_INTERRUPTIBLE, 0);
		}
	}
}

/* Operations that a task and "at" have in common. @actor: NULL for "at". */
void act(const struct op *op, struct sim_task *actor)
{
	struct sim_task *st;

	if (op->kind == OP_SET) {
		apply_set(op, actor);
	} else if (op->kind == OP_POST) {
		post(op, actor);
	} else if (op->target == TARGET_ALL) {
		for (u32 i = 0; i < op->tmpl->nr_instances; i++)
			if (started(op->tmpl->instances[i]))
				act_on(op, actor, op->tmpl->instances[i]);
	} else {
		st = op->target == TARGET_SELF	   ? actor
		     : op->target == TARGET_PARENT ? actor->parent
						   : one_target(op, actor);
		if (started(st))
			act_on(op, actor, st);
	}
}

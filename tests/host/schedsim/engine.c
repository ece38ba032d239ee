/* SPDX-License-Identifier: MIT
 *
 * What simulated tasks do, and the main loop.
 *
 * A task's program is a list of operations. An operation needs CPU time (task.left), which passes while the task runs, and
 * then has its effect, at one instant, on the CPU that runs it: it may block, wake, fork or exit through the core's own
 * functions. settle() is called for a CPU after everything that happened on it and goes on until that CPU has to wait for
 * time to pass.
 */
#include "des.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/errno.h"

u64 sim_seed;
struct sim_task **sim_all;
u32 sim_nr_all;
static u32 all_room, next_id = 1, nr_to_start, next_cpu;

#define STEPS_WITHOUT_TIME 1000000
#define WARM_STEP	   (20 * NSEC_PER_MSEC)
#define WARM_LIMIT	   (300 * NSEC_PER_SEC)

/* --------------------------------------------------------- expressions */

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
static u64 amount(const struct expr *e, struct sim_task *st, const struct op *op)
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

/* --------------------------------------------------------------- tasks */

static struct sim_task *create(struct tmpl *t)
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

static void release(struct sim_task *st)
{
	ev_cancel(&st->timer);
	sim_all[st->slot_in_all] = sim_all[--sim_nr_all];
	sim_all[st->slot_in_all]->slot_in_all = st->slot_in_all;
	sched_forget(&st->task);
	free(st->slots);
	free(st);
}

static void set_up(struct sim_task *st)
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

static void start(struct sim_task *st)
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

static bool wake(struct sim_task *st, u32 states, unsigned flags)
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

static void block(u32 state)
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

static void exit_current(struct sim_task *st)
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

static struct sim_task *one_target(const struct op *op, struct sim_task *actor)
{
	s64 i = expr_eval(op->index, actor, op->line);

	return i >= 0 && i < op->tmpl->nr_instances ? op->tmpl->instances[i] : NULL;
}

static bool started(const struct sim_task *st)
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
static void act(const struct op *op, struct sim_task *actor)
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

/* ----------------------------------------------------------- operations */

static void done(struct sim_task *st)
{
	st->elapsed = sim_now - st->op_began;
	st->pc++;
	st->phase = 0;
}

/* Sleep until @when unless it has passed; the operation goes on in phase @next. Return: whether it sleeps. */
static void sleep_until(struct sim_task *st, u64 when, u8 next, u32 state)
{
	if (scn.tick_timers) {
		u64 phase = sched_tick_ns * st->task.cpu / host_ncpus;

		when = phase + (when - phase + sched_tick_ns - 1) / sched_tick_ns * sched_tick_ns;
	}
	st->timer_fired = st->interrupted = false;
	st->phase = next;
	ev_arm(&st->timer, when);
	block(state);
}

static bool slept(struct sim_task *st, u32 state)
{
	if (st->timer_fired || (st->interrupted && state == TASK_INTERRUPTIBLE)) {
		ev_cancel(&st->timer);
		return true;
	}
	block(state); /* stopped and continued */
	return false;
}

static void step_sleep(struct sim_task *st, const struct op *op)
{
	u32 state = op->kind == OP_IO ? TASK_UNINTERRUPTIBLE : TASK_INTERRUPTIBLE;
	u64 t;

	if (st->phase == 2) {
		if (slept(st, state))
			done(st);
		return;
	}
	t = amount(op->a, st, op);
	if (!t)
		done(st);
	else
		sleep_until(st, t > FOREVER / 4 ? FOREVER / 4 : sim_now + t, 2, state);
}

static void step_fork(struct sim_task *st, const struct op *op)
{
	struct sim_task *child = create(op->tmpl);

	child->last_prio = st->last_prio;
	if (st->tmpl->has_wait) {
		child->parent = st;
		list_add_tail(&child->sibling, &st->children);
	}
	done(st);
	sched_fork(&child->task);
	set_up(child);
	sched_wake_new(&child->task);
	sched_fork_done();
}

static void step_wait(struct sim_task *st, const struct op *op)
{
	struct sim_task *child, *next;

	st->waits_child = false;
	list_for_each_safe (child, next, &st->children, sibling) {
		if (!child->zombie)
			continue;
		list_del(&child->sibling);
		sched_reap(&child->task, &st->task);
		release(child);
		if (!op->all) {
			done(st);
			return;
		}
	}
	if (list_empty(&st->children)) {
		done(st);
		return;
	}
	st->phase = 2;
	st->waits_child = true;
	block(TASK_INTERRUPTIBLE);
}

static void wake_one(struct list *waiters, unsigned flags)
{
	struct sim_task *st;

	if (list_empty(waiters))
		return;
	st = container_of(waiters->next, struct sim_task, waiting);
	list_del_init(&st->waiting);
	wake(st, TASK_INTERRUPTIBLE, flags);
}

/*
 * One read or write call. A writer blocks while there is no room and a reader while there is nothing. Whoever moved something
 * wakes one of the other side at the end of the call; a writer that must block in the middle does so with a sync wake-up.
 */
static void step_pipe(struct sim_task *st, const struct op *op)
{
	bool writes = op->kind == OP_WRITE;
	s64 i = op->index ? expr_eval(op->index, st, op->line) : 0;
	struct pipe *p;
	u64 n, cap = op->pipe->capacity;

	if (i < 0)
		scenario_error(op->line, "index %lld", (long long)i);
	p = &op->pipe->pipes[(u64)i % op->pipe->count];
	if (!list_empty(&st->waiting))
		list_del_init(&st->waiting);
	if (st->phase == 1 && !st->moved)
		st->want = (s64)amount(op->a, st, op);
	n = min(writes ? cap - p->used : p->used, (u64)(st->want - st->moved));
	if (writes) {
		p->used += n;
	} else {
		p->used -= n;
		p->passed += n;
	}
	st->moved += (s64)n;
	st->bytes += n;
	if (st->moved < st->want && (writes || !n)) {
		if (n)
			wake_one(&p->readers, WAKE_SYNC);
		st->phase = 2;
		list_add_tail(&st->waiting, writes ? &p->writers : &p->readers);
		block(TASK_INTERRUPTIBLE);
		return;
	}
	if (n)
		wake_one(writes ? &p->readers : &p->writers, 0);
	if (!writes && p->used)
		wake_one(&p->readers, 0);
	if (writes && p->used < cap)
		wake_one(&p->writers, 0);
	if (st->moved < st->want) { /* a short read: another call for the rest */
		st->phase = 1;
		st->left = scn.cost_syscall;
		return;
	}
	st->moved = 0;
	done(st);
}

static struct flag *flag_of(struct sim_task *st, const struct op *op)
{
	s64 i = op->index ? expr_eval(op->index, st, op->line) : 0;

	if (i < 0)
		scenario_error(op->line, "index %lld", (long long)i);
	return &op->flag->flags[(u64)i % op->flag->count];
}

static bool take_now(struct sim_task *st, struct flag *f)
{
	if (!f->value)
		return false;
	f->value--;
	st->timedout = false;
	done(st);
	return true;
}

static void step_take(struct sim_task *st, const struct op *op)
{
	struct flag *f = flag_of(st, op);

	if (st->phase == 2) {
		if (list_empty(&st->waiting))
			done(st);
		else
			block(TASK_INTERRUPTIBLE);
		return;
	}
	if (take_now(st, f))
		return;
	st->phase = 2;
	list_add_tail(&st->waiting, &f->waiters);
	block(TASK_INTERRUPTIBLE);
}

static void step_spin(struct sim_task *st, const struct op *op)
{
	struct flag *f = flag_of(st, op);

	if (st->phase == 0) {
		st->op_began = sim_now;
		if (take_now(st, f))
			return;
		list_add_tail(&st->waiting, &f->waiters);
		st->left = op->b ? amount(op->b, st, op) : FOREVER;
		st->phase = 1;
		return;
	}
	st->timedout = !list_empty(&st->waiting);
	if (st->timedout)
		list_del_init(&st->waiting);
	done(st);
}

static void step_poll(struct sim_task *st, const struct op *op)
{
	if (st->phase == 2) {
		if (slept(st, TASK_INTERRUPTIBLE)) {
			st->phase = 1;
			st->left = scn.cost_syscall;
		}
		return;
	}
	if (take_now(st, flag_of(st, op)))
		return;
	if (op->b && sim_now - st->op_began >= amount(op->b, st, op)) {
		st->timedout = true;
		done(st);
		return;
	}
	sleep_until(st, sim_now + max(amount(op->a, st, op), (u64)1), 2, TASK_INTERRUPTIBLE);
}

/* interbench's rule, see docs/simulator.md. */
static void step_periodic(struct sim_task *st, const struct op *op)
{
	u64 period = amount(op->a, st, op), n;
	struct gstat *g = st->tmpl->stat;

	switch (st->phase) {
	case 0:
		st->op_began = sim_now;
		if (!period)
			scenario_error(op->line, "a period of no time");
		if (!st->deadline)
			st->deadline = sim_now;
		st->phase = 1;
		st->left = sim_now < st->deadline ? scn.cost_syscall : 0;
		return;
	case 1:
		if (sim_now < st->deadline) {
			sleep_until(st, st->deadline, 2, TASK_INTERRUPTIBLE);
			return;
		}
		break;
	case 2:
		if (!slept(st, TASK_INTERRUPTIBLE))
			return;
		break;
	default:
		st->deadline += period;
		if (sim_now <= st->deadline)
			g->met++;
		else
			g->missed++;
		g->achieved += st->want;
		g->wanted += st->want;
		done(st);
		return;
	}
	st->want = (s64)amount(op->b, st, op);
	if (sim_now > st->deadline + period) {
		n = (sim_now - st->deadline) / period + 1;
		g->missed += n;
		g->wanted += n * (u64)st->want;
		report_deadline(st, n * period);
		st->deadline += n * period;
		done(st);
		return;
	}
	report_deadline(st, sim_now > st->deadline ? sim_now - st->deadline : 0);
	st->left = (u64)st->want;
	st->phase = 3;
}

static void step_job(struct sim_task *st, const struct op *op)
{
	u64 took;

	if (!st->phase) {
		st->op_began = sim_now;
		st->want = (s64)amount(op->a, st, op);
		st->left = (u64)st->want;
		st->phase = 1;
		return;
	}
	took = sim_now - st->op_began;
	report_deadline(st, took > (u64)st->want ? took - (u64)st->want : 0);
	done(st);
}

/*
 * Sleep and run until the policy's own estimate of the task is as wanted: an honest history, with the estimate (as
 * show_task() prints it) to say when it is enough. The steps get shorter each time it goes too far.
 */
static void step_warm(struct sim_task *st, const struct op *op)
{
	s64 goal = expr_eval(op->a, st, op->line);
	int score;
	s64 off, direction;

	if (st->phase == 0) {
		st->op_began = sim_now;
		st->moved = 0;
		st->want = WARM_STEP;
		st->phase = 1;
	} else if (st->phase == 2) {
		if (!slept(st, TASK_INTERRUPTIBLE))
			return;
		st->phase = 1;
		st->left = scn.cost_syscall;
		return;
	}
	score = policy_score(&st->task);
	off = goal - score;
	direction = off > 0 ? 1 : -1;
	if (st->moved && direction != st->moved)
		st->want /= 2;
	if (score < 0 || (off <= 5 && off >= -5) || (u64)st->want < sched_tick_ns / 2 ||
	    sim_now - st->op_began > WARM_LIMIT) {
		fprintf(stderr, "# %s: warm %lld of 1000 wanted, %d reached in %.3f s\n",
			st->tmpl->name, (long long)goal, score,
			(double)(sim_now - st->op_began) / 1e9);
		st->moved = 0;
		done(st);
		return;
	}
	st->moved = direction;
	if (off > 0)
		sleep_until(st, sim_now + (u64)st->want, 2, TASK_INTERRUPTIBLE);
	else
		st->left = (u64)st->want;
}

/* The system call's own time first. Return: whether it has passed. */
static bool syscall_time(struct sim_task *st)
{
	if (st->phase)
		return true;
	st->op_began = sim_now;
	st->phase = 1;
	st->left = scn.cost_syscall;
	return !st->left;
}

/* What takes no time. */
static bool step_control(struct sim_task *st, const struct op *op)
{
	const struct op *loop;

	switch (op->kind) {
	case OP_LET:
		st->slots[op->slot] = expr_eval(op->a, st, op->line);
		st->pc++;
		return true;
	case OP_LOOP:
		st->slots[op->slot] = 0;
		st->slots[op->counter] = op->a ? (s64)amount(op->a, st, op) : (s64)(FOREVER >> 1);
		st->pc = st->slots[op->counter] > 0 ? st->pc + 1 : op->jump;
		return true;
	case OP_NEXT:
		loop = &st->tmpl->ops[op->jump];
		st->slots[loop->slot]++;
		st->pc = --st->slots[loop->counter] > 0 ? op->jump + 1 : loop->jump;
		return true;
	case OP_IF:
		st->pc = expr_eval(op->a, st, op->line) ? st->pc + 1 : op->jump;
		return true;
	case OP_JUMP:
		st->pc = op->jump;
		return true;
	case OP_UNIT:
		st->units += op->a ? amount(op->a, st, op) : 1;
		st->pc++;
		return true;
	case OP_SET:
		act(op, st);
		st->pc++;
		return true;
	case OP_RUN:
		if (st->phase) {
			done(st);
		} else {
			st->op_began = sim_now;
			st->left = amount(op->a, st, op);
			st->phase = 1;
		}
		return true;
	default:
		return false;
	}
}

/* The current task's operation has used its CPU time. */
static void step(struct sim_task *st)
{
	const struct op *op = &st->tmpl->ops[st->pc];

	if (st->steps_at != sim_now) {
		st->steps_at = sim_now;
		st->steps = 0;
	} else if (++st->steps > STEPS_WITHOUT_TIME) {
		scenario_error(op->line, "task \"%s\" loops without using any time",
			       st->tmpl->name);
	}
	if (step_control(st, op))
		return;
	switch (op->kind) {
	case OP_EXIT:
		exit_current(st);
		return;
	case OP_SPIN:
		step_spin(st, op);
		return;
	case OP_PERIODIC:
		step_periodic(st, op);
		return;
	case OP_JOB:
		step_job(st, op);
		return;
	case OP_WARM:
		step_warm(st, op);
		return;
	default:
		break;
	}
	if (!syscall_time(st))
		return;
	switch (op->kind) {
	case OP_SLEEP:
	case OP_IO:
		step_sleep(st, op);
		break;
	case OP_YIELD:
		done(st);
		sched_yield_current();
		break;
	case OP_FORK:
		step_fork(st, op);
		break;
	case OP_WAIT:
		step_wait(st, op);
		break;
	case OP_WRITE:
	case OP_READ:
		step_pipe(st, op);
		break;
	case OP_TAKE:
		step_take(st, op);
		break;
	case OP_POLL:
		step_poll(st, op);
		break;
	default:
		done(st);
		act(op, st);
		break;
	}
}

/* ----------------------------------------------------------------- CPUs */

/* On the way back to the program. Return: whether the task did something else instead. */
static bool user_return(struct sim_task *st)
{
	if (st->kill_pending) {
		exit_current(st);
		return true;
	}
	if (st->stop_pending) {
		block(TASK_STOPPED);
		return true;
	}
	if (st->task.signal_pending) {
		st->task.signal_pending = 0;
		st->signals++;
		st->interrupted = true;
		if (st->left != FOREVER)
			st->left += scn.cost_syscall; /* the handler */
	}
	return false;
}

static void settle(unsigned cpu)
{
	struct sim_cpu *c = &sim_cpus[cpu];
	struct task *idle = &c->idle_task;

	host_cpu = cpu;
	for (;;) {
		struct sim_task *st = sim_task_of(current_task());

		if (&st->task == idle) {
			ev_cancel(&c->step);
			if (need_resched()) {
				schedule();
				continue;
			}
			irq_disable();
			idle_wait(machine_this_runq());
			return;
		}
		if (need_resched()) {
			sched_user_exit();
			continue;
		}
		work_account(st);
		if (user_return(st))
			continue;
		if (st->left == FOREVER) {
			ev_cancel(&c->step);
			return;
		}
		if (st->left || st->work_from > sim_now) {
			ev_arm(&c->step, max(sim_now, st->work_from) + st->left);
			return;
		}
		step(st);
	}
}

static void irq_begin(unsigned cpu)
{
	host_cpu = cpu;
	if (host_cpus[cpu].irqs_off)
		violation("irqs", "interrupt on cpu %u with interrupts off", cpu);
	irq_disable();
	host_cpus[cpu].in_irq = true;
}

static void irq_end(unsigned cpu)
{
	host_cpu = cpu;
	host_cpus[cpu].in_irq = false;
	irq_enable();
	settle(cpu);
}

static void tick(struct sim_cpu *c)
{
	struct task *t;

	ev_arm(&c->tick, sim_now + sched_tick_ns);
	irq_begin(c->cpu);
	t = current_task();
	host_cpus[c->cpu].ticks++;
	if (scn.cost_tick && t != &c->idle_task) {
		work_account(sim_task_of(t));
		sim_task_of(t)->work_from = max(sim_task_of(t)->work_from, sim_now) + scn.cost_tick;
	}
	sched_tick(sim_now);
	irq_end(c->cpu);
}

static void handle(struct ev *e)
{
	static const char *const names[] = {"action", "migrate-ipi", "resched-ipi", "tick",
					    "timer",  "start",	     "step"};
	struct sim_cpu *c = e->owner;
	struct sim_task *st = e->owner;
	unsigned cpu;

	switch (e->kind) {
	case EV_ACTION:
		check_note(names[e->kind], 0, 0);
		host_cpu = 0;
		act(&((struct action *)e->owner)->op, NULL);
		settle(0);
		break;
	case EV_TIMER:
		cpu = st->task.cpu;
		check_note(names[e->kind], cpu, st->task.id);
		irq_begin(cpu);
		st->timer_fired = true;
		wake(st, TASK_NORMAL, 0);
		irq_end(cpu);
		break;
	case EV_START:
		check_note(names[e->kind], host_cpu, st->task.id);
		start(st);
		settle(host_cpu);
		break;
	default:
		check_note(names[e->kind], c->cpu, current_task()->id);
		if (e->kind == EV_TICK) {
			tick(c);
		} else if (e->kind == EV_STEP) {
			settle(c->cpu);
		} else {
			irq_begin(c->cpu);
			if (e->kind == EV_MIGRATE)
				sched_migrate_ipi();
			else
				sched_resched_ipi();
			irq_end(c->cpu);
		}
		break;
	}
}

/* ------------------------------------------------------------- the run */

static void prepare(void)
{
	for (u32 i = 0; i < scn.nr_tmpls; i++) {
		struct tmpl *t = scn.tmpls[i];
		u64 at = sim_start_time, count = 1;

		if (t->count)
			count = (u64)expr_eval(t->count, NULL, t->line);
		for (u64 k = 0; k < count && !t->forked_only; k++) {
			struct sim_task *st = create(t);
			u64 when = at;

			if (t->start)
				when += (u64)max(expr_eval(t->start, st, t->line), (s64)0);
			if (t->stagger)
				at += (u64)max(expr_eval(t->stagger, st, t->line), (s64)0);
			st->timer.kind = EV_START;
			ev_arm(&st->timer, when);
			nr_to_start++;
			t->to_start++;
		}
	}
	for (u32 i = 0; i < scn.nr_actions; i++)
		ev_arm(&scn.actions[i]->ev, sim_start_time + scn.actions[i]->ev.when);
	for (u32 i = 0; i < scn.nr_windows; i++) {
		scn.windows[i].from += sim_start_time;
		scn.windows[i].to += sim_start_time;
	}
	for (u32 i = 0; i < scn.nr_samplers; i++)
		scn.samplers[i].next = sim_start_time;
}

static void sample(struct sampler *s)
{
	s->next += s->every;
	if (s->target.target == TARGET_ALL) {
		for (u32 i = 0; i < s->target.tmpl->nr_instances; i++)
			if (started(s->target.tmpl->instances[i]))
				report_sample(s->target.tmpl->instances[i]);
	} else if (started(one_target(&s->target, NULL))) {
		report_sample(one_target(&s->target, NULL));
	}
}

/* Samples and windows, which are no events of the machine. */
static u64 next_mark(u32 window, bool open)
{
	u64 t = FOREVER;

	if (window < scn.nr_windows)
		t = open ? scn.windows[window].to : scn.windows[window].from;
	for (u32 i = 0; i < scn.nr_samplers; i++)
		t = min(t, scn.samplers[i].next);
	return t;
}

static void marks(u32 *window, bool *open)
{
	for (u32 i = 0; i < scn.nr_samplers; i++)
		if (scn.samplers[i].next <= sim_now)
			sample(&scn.samplers[i]);
	if (*window >= scn.nr_windows)
		return;
	if (*open && scn.windows[*window].to <= sim_now) {
		report_window_end(scn.windows[(*window)++].name);
		*open = false;
	}
	if (*window < scn.nr_windows && !*open && scn.windows[*window].from <= sim_now) {
		report_window_begin();
		*open = true;
	}
}

static bool finished(void)
{
	bool any = false;

	if (!scn.nr_until) {
		for (u32 i = 0; i < scn.nr_tmpls; i++)
			any |= scn.tmpls[i]->live != 0;
		return !any && !nr_to_start;
	}
	for (u32 i = 0; i < scn.nr_until; i++)
		if (scn.until[i]->live || scn.until[i]->to_start || !scn.until[i]->nr_instances)
			return false;
	return true;
}

void engine_run(void)
{
	u64 end = sim_start_time + scn.duration, mark;
	u32 window = 0, last_all = 0;
	bool open = false, over = false;

	prepare();
	report_open();
	mark = next_mark(window, open);
	while (!over) {
		u64 t = ev_next_time();

		/* Windows and the run end before what happens at that instant. */
		if (mark <= t && mark <= end) {
			report_time(mark);
			sim_now = mark;
			marks(&window, &open);
			mark = next_mark(window, open);
			continue;
		}
		if (t >= end)
			break;
		report_time(t);
		sim_now = t;
		handle(ev_next());
		touched_done();
		sim_events++;
		/* Only an exit changes the answer. */
		over = sim_nr_all < last_all && finished();
		last_all = sim_nr_all;
	}
	if (!over) {
		report_time(end);
		sim_now = end;
	}
	if (open)
		report_window_end(scn.windows[window].name);
	else if (!scn.nr_windows)
		report_window_end("run");
	if (check_on)
		check_sweep_now();
}

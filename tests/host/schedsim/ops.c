/* SPDX-License-Identifier: MIT
 *
 * The operations of a task's program. Each needs CPU time first (task.left) and then has its effect, at one instant, on the CPU that
 * runs the task: it may block, wake, fork or exit through the core's own functions.
 */
#include "engine.h"

#define STEPS_WITHOUT_TIME 1000000
#define WARM_STEP	   (20 * NSEC_PER_MSEC)
#define WARM_LIMIT	   (300 * NSEC_PER_SEC)

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
void step(struct sim_task *st)
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

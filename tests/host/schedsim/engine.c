/* SPDX-License-Identifier: MIT
 *
 * The main loop, and CPUs between events. settle() is called for a CPU after everything that happened on it and goes on, with the
 * operations of ops.c, until that CPU has to wait for time to pass.
 */
#include "engine.h"

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

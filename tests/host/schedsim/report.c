/* SPDX-License-Identifier: MIT
 *
 * Figures. The policy's table is wrapped to see tasks come and go, machine_switch() tells of switches, and the lock of a queue
 * tells that its length may have changed. Output: RESULT lines of key=value, the unit in the key; a trace in the form of
 * ftrace's text.
 */
#include "des.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool report_tasks, report_cpus;
FILE *trace_file;

static const struct sched_policy *real;
static struct sched_policy wrapped;

static u64 window_from, switches_base, events_base, hash_at_end;

/* The machine as it was after the last event, and its integrals over the window. */
static struct {
	u32 idle, waiting, shortest, longest;
	u32 *of_length; /* CPUs by length of their queue */
	u32 room;
	u64 at; /* up to when the integrals go */
	u64 idle_ns, wasted_ns, imbalance_ns, max_imbalance;
	u64 balanced_since, first_balanced; /* FOREVER: not (yet) */
} m;

/* ----------------------------------------------------------- histogram */

static unsigned bucket(u64 v)
{
	unsigned top;

	if (v < 16)
		return (unsigned)v;
	top = 63 - (unsigned)__builtin_clzll(v);
	return (top - 3) * 16 + (unsigned)(v >> (top - 4) & 15);
}

/* The upper end of a bucket. */
static u64 bucket_value(unsigned b)
{
	if (b < 16)
		return b;
	return ((16ull + b % 16 + 1) << (b / 16 - 1)) - 1;
}

static double percentile(const struct gstat *g, double p)
{
	u64 want = (u64)((double)g->wakeups * p), seen = 0;

	for (unsigned b = 0; b < HIST_BUCKETS; b++) {
		seen += g->hist[b];
		if (seen > want || (seen == g->wakeups && seen))
			return (double)min(bucket_value(b), g->latency_max) / 1e3;
	}
	return 0;
}

/* --------------------------------------------------------------- trace */

static void trace(const char *event, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void trace(const char *event, const char *fmt, ...)
{
	struct task *t = current_task();
	u64 us = (sim_now - sim_start_time) / 1000;
	bool idle = is_idle(t);
	va_list ap;

	fprintf(trace_file, "%16s-%-5u [%03u] %5llu.%06llu: %s: ", idle ? "<idle>" : t->comm,
		idle ? 0 : t->id, host_cpu, (unsigned long long)(us / 1000000),
		(unsigned long long)(us % 1000000), event);
	va_start(ap, fmt);
	vfprintf(trace_file, fmt, ap);
	va_end(ap);
	fputc('\n', trace_file);
}

static const char *trace_name(const struct task *t, char *text, size_t room)
{
	if (!is_idle(t))
		return t->comm;
	snprintf(text, room, "swapper/%u", t->cpu);
	return text;
}

static const char *state_letter(const struct task *t)
{
	switch (t->state) {
	case TASK_RUNNING:
		return "R";
	case TASK_INTERRUPTIBLE:
		return "S";
	case TASK_UNINTERRUPTIBLE:
		return "D";
	case TASK_STOPPED:
		return "T";
	default:
		return "Z";
	}
}

/* --------------------------------------------------------------- hooks */

static struct gstat *stat_of(const struct sim_task *st)
{
	return st->tmpl->stat;
}

static void note_prio(struct sim_task *st)
{
	struct gstat *g = stat_of(st);
	s16 prio = st->task.prio;

	if (prio == st->last_prio)
		return;
	st->last_prio = prio;
	g->prio_changes++;
}

/* A change of @t's runnable or running ones may begin or end a stall. Several changes at one instant are none. */
static void note_stall(struct tmpl *t)
{
	if (t->runnable && !t->running) {
		t->stalled_since = min(t->stalled_since, sim_now);
		return;
	}
	if (t->stalled_since != FOREVER)
		t->stat->stall_max =
			max(t->stat->stall_max, sim_now - max(t->stalled_since, window_from));
	t->stalled_since = FOREVER;
}

/* Whether the policy computes its figure of a task anew is known from the record that it makes for traces: it is put in here. */
static bool enqueue_rescores(struct runq *rq, struct task *p, u32 flags)
{
	struct trace_ring *ring = &trace_control.rings[host_cpu];
	struct trace_record records[4];

	ring->next = records;
	ring->end = records + ARRAY_SIZE(records);
	trace_mask = 1u << TRACE_SCORE;
	real->enqueue(rq, p, flags);
	trace_mask = 0;
	return ring->next != records;
}

static void wrap_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	touch(rq->cpu);
	if (flags & ENQ_WAKEUP)
		stat_of(sim_task_of(p))->rescored += enqueue_rescores(rq, p, flags);
	else
		real->enqueue(rq, p, flags);
	note_prio(sim_task_of(p));
	waits_enqueued(sim_task_of(p), rq->cpu, flags);
	if (flags & (ENQ_WAKEUP | ENQ_NEW)) {
		sim_task_of(p)->tmpl->runnable++;
		note_stall(sim_task_of(p)->tmpl);
	}
	if (!trace_file)
		return;
	if (flags & (ENQ_WAKEUP | ENQ_NEW)) {
		trace("sched_waking", "comm=%s pid=%u prio=%d target_cpu=%03u", p->comm, p->id,
		      p->prio, rq->cpu);
		trace(flags & ENQ_NEW ? "sched_wakeup_new" : "sched_wakeup",
		      "comm=%s pid=%u prio=%d success=1 target_cpu=%03u", p->comm, p->id, p->prio,
		      rq->cpu);
	}
}

static void wrap_dequeue(struct runq *rq, struct task *p, u32 flags)
{
	touch(rq->cpu);
	real->dequeue(rq, p, flags);
	if (flags & DEQ_SLEEP)
		sim_task_of(p)->tmpl->runnable--; /* the switch from it follows at this instant */
	if (trace_file && flags & (DEQ_PULLED | DEQ_MIGRATED))
		trace("sched_migrate_task", "comm=%s pid=%u prio=%d orig_cpu=%u dest_cpu=%u",
		      p->comm, p->id, p->prio, rq->cpu, host_cpu);
}

static struct task *wrap_pick_next(struct runq *rq, struct task *prev)
{
	struct task *next = real->pick_next(rq, prev);

	if (next)
		touch(next->cpu); /* with a global queue it may be counted elsewhere */
	return next;
}

static bool wrap_set_attr(struct runq *rq, struct task *p, int nice, unsigned class,
			  unsigned rt_priority)
{
	waits_attr(p, nice, class);
	return real->set_attr(rq, p, nice, class, rt_priority);
}

static void wrap_setup(void)
{
	waits_tuned();
	if (real->setup)
		real->setup();
}

void report_switch(struct task *prev, struct task *next)
{
	struct sim_task *st = sim_task_of(next);
	char a[32], b[32];
	struct gstat *g;
	u64 gap;

	touch(host_cpu);
	check_note("switch", host_cpu, next->id);
	if (trace_file)
		trace("sched_switch",
		      "prev_comm=%s prev_pid=%u prev_prio=%d prev_state=%s ==> next_comm=%s "
		      "next_pid=%u next_prio=%d",
		      trace_name(prev, a, sizeof(a)), prev->id, is_idle(prev) ? 120 : prev->prio,
		      is_idle(prev) ? "R" : state_letter(prev), trace_name(next, b, sizeof(b)),
		      next->id, is_idle(next) ? 120 : next->prio);
	if (!is_idle(next)) {
		st->tmpl->running++;
		note_stall(st->tmpl);
	}
	if (!is_idle(prev)) {
		sim_task_of(prev)->tmpl->running--;
		note_stall(sim_task_of(prev)->tmpl);
	}
	if (!is_idle(prev))
		sim_task_of(prev)->queued_at = sim_now;
	if (is_idle(next))
		return;
	waits_look(st);
	g = stat_of(st);
	note_prio(st);
	g->prio_sum += next->prio;
	g->prio_n++;
	g->prio_min = min(g->prio_min, (s32)next->prio);
	g->prio_max = max(g->prio_max, (s32)next->prio);
	gap = sim_now - max(next->wait_start, window_from);
	g->gap_max = max(g->gap_max, gap);
	if (st->woken) {
		u64 latency = sim_now - st->woken_at;

		st->woken = false;
		g->wakeups++;
		g->latency_max = max(g->latency_max, latency);
		g->hist[bucket(latency)]++;
	}
}

void report_deadline(struct sim_task *st, u64 late)
{
	struct gstat *g = stat_of(st);

	g->late_n++;
	g->late_sum += late;
	g->late_max = max(g->late_max, late);
}

/* What the task used since the window began goes to its group. */
static void collect(struct sim_task *st, struct gstat *g)
{
	struct task *t = &st->task;
	u64 exec = sched_task_runtime(t);

	g->exec += exec - st->base_exec;
	g->vol += t->nr_voluntary - st->base_vol;
	g->invol += t->nr_involuntary - st->base_invol;
	g->migrations += t->nr_migrations - st->base_migrations;
	g->billed += t->ticks_billed - st->base_billed;
	g->bytes += st->bytes;
	g->units += st->units;
	g->units_min = min(g->units_min, st->units);
	g->units_max = max(g->units_max, st->units);
	/* It waits still: the gap counts up to now. */
	if (t->on_rq == ON_RQ_QUEUED && machine_runq(t->cpu)->curr != t)
		g->gap_max = max(g->gap_max, sim_now - max(t->wait_start, window_from));
	st->base_exec = exec;
	st->base_vol = t->nr_voluntary;
	st->base_invol = t->nr_involuntary;
	st->base_migrations = t->nr_migrations;
	st->base_billed = t->ticks_billed;
	st->bytes = st->units = 0;
}

void report_exit(struct sim_task *st)
{
	struct gstat *g = stat_of(st);
	u64 life = sim_now - st->started_at;

	collect(st, g);
	waits_exit(st);
	g->finished++;
	g->life_sum += life;
	g->life_min = min(g->life_min, life);
	g->life_max = max(g->life_max, life);
	g->last_finish = sim_now - sim_start_time;
}

/* ---------------------------------------------------- the whole machine */

void report_time(u64 to)
{
	u64 dt = to - m.at, imbalance = m.longest - m.shortest;

	if (!dt)
		return;
	m.at = to;
	m.idle_ns += dt * m.idle;
	m.wasted_ns += dt * min(m.idle, m.waiting);
	m.imbalance_ns += dt * imbalance;
	m.max_imbalance = max(m.max_imbalance, imbalance);
	if (imbalance > scn.balance_within) {
		m.balanced_since = FOREVER;
	} else {
		if (m.balanced_since == FOREVER)
			m.balanced_since = to - dt;
		if (m.first_balanced == FOREVER)
			m.first_balanced = to - dt;
	}
}

static void count_length(u32 length, int by)
{
	if (length >= m.room) {
		u32 room = max(length + 1, m.room * 2);

		m.of_length = realloc(m.of_length, room * sizeof(u32));
		if (!m.of_length)
			abort();
		memset(m.of_length + m.room, 0, (room - m.room) * sizeof(u32));
		m.room = room;
	}
	m.of_length[length] += (u32)by;
}

void report_cpu(unsigned cpu)
{
	struct sim_cpu *c = &sim_cpus[cpu];
	struct runq *rq = machine_runq(cpu);
	bool idle = rq->curr == rq->idle;
	u32 waiting = rq->nr_running - !idle;

	m.idle += idle - c->idle;
	m.waiting += waiting - c->waiting;
	c->idle = idle;
	c->waiting = waiting;
	if (rq->nr_running == c->length)
		return;
	count_length(rq->nr_running, 1);
	count_length(c->length, -1);
	c->length = rq->nr_running;
	m.longest = max(m.longest, c->length);
	m.shortest = min(m.shortest, c->length);
	while (m.longest && !m.of_length[m.longest])
		m.longest--;
	while (!m.of_length[m.shortest])
		m.shortest++;
}

void report_window_begin(void)
{
	static struct gstat scratch;

	window_from = sim_now;
	switches_base = 0;
	events_base = sim_events;
	sched_switch_hash(&switches_base);
	m.at = sim_now;
	m.idle_ns = m.wasted_ns = m.imbalance_ns = m.max_imbalance = 0;
	m.balanced_since = m.first_balanced = FOREVER;
	for (u32 i = 0; i < sim_nr_all; i++)
		if (sim_all[i]->timer.kind != EV_START)
			collect(sim_all[i], &scratch);
	for (u32 i = 0; i < scn.nr_tmpls; i++) {
		struct gstat *g = scn.tmpls[i]->stat;

		memset(g, 0, sizeof(*g));
		g->life_min = g->units_min = FOREVER;
		g->prio_min = 0x7fff;
		g->prio_max = -0x7fff;
	}
	for (u32 i = 0; i < scn.nr_pipes; i++)
		for (u32 k = 0; k < scn.pipes[i]->count; k++)
			scn.pipes[i]->pipes[k].passed = 0;
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
		sim_cpus[cpu].base_idle = sched_task_runtime(&sim_cpus[cpu].idle_task);
		sim_cpus[cpu].base_switches = machine_runq(cpu)->nr_switches;
	}
}

void report_open(void)
{
	real = sched_policy;
	wrapped = *real;
	wrapped.enqueue = wrap_enqueue;
	wrapped.dequeue = wrap_dequeue;
	wrapped.pick_next = wrap_pick_next;
	wrapped.set_attr = wrap_set_attr;
	wrapped.setup = wrap_setup;
	sched_policy = &wrapped;
	for (u32 i = 0; i < scn.nr_tmpls; i++) {
		scn.tmpls[i]->stat = calloc(1, sizeof(struct gstat));
		if (!scn.tmpls[i]->stat)
			abort();
		scn.tmpls[i]->stalled_since = FOREVER;
	}
	m.idle = host_ncpus;
	count_length(0, (int)host_ncpus);
	if (trace_file)
		fputs("# tracer: nop\n#\n", trace_file);
	report_window_begin();
}

/* ------------------------------------------------------------ the lines */

static double ms(u64 ns)
{
	return (double)ns / 1e6;
}

static double share(u64 part, u64 whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_group(const struct tmpl *t, const char *window, u64 length)
{
	const struct gstat *g = t->stat;
	u64 stall = g->stall_max;
	double s = (double)length / 1e9;

	if (t->stalled_since != FOREVER)
		stall = max(stall, sim_now - max(t->stalled_since, window_from));
	printf("RESULT task/%s window=%s n=%u live=%u cpu_ms=%.3f share_pct=%.3f billed_pct=%.3f "
	       "wakeups=%llu rescored=%llu lat_p50_us=%.1f lat_p99_us=%.1f lat_max_us=%.1f gap_max_ms=%.3f "
	       "stall_max_ms=%.3f vol=%llu invol=%llu migrations=%llu",
	       t->name, window, t->nr_instances, t->live, ms(g->exec),
	       share(g->exec, length * host_ncpus),
	       share(g->billed * sched_tick_ns, length * host_ncpus),
	       (unsigned long long)g->wakeups, (unsigned long long)g->rescored, percentile(g, 0.5),
	       percentile(g, 0.99), (double)g->latency_max / 1e3, ms(g->gap_max), ms(stall),
	       (unsigned long long)g->vol, (unsigned long long)g->invol,
	       (unsigned long long)g->migrations);
	if (g->prio_n)
		printf(" prio_min=%d prio_mean=%.2f prio_max=%d prio_changes=%llu", g->prio_min,
		       (double)g->prio_sum / (double)g->prio_n, g->prio_max,
		       (unsigned long long)g->prio_changes);
	if (g->units)
		printf(" units=%llu units_per_s=%.2f units_min=%llu units_max=%llu",
		       (unsigned long long)g->units, (double)g->units / s,
		       (unsigned long long)g->units_min, (unsigned long long)g->units_max);
	if (g->bytes)
		printf(" bytes=%llu", (unsigned long long)g->bytes);
	if (g->late_n)
		printf(" late_mean_ms=%.3f late_max_ms=%.3f", ms(g->late_sum) / (double)g->late_n,
		       ms(g->late_max));
	if (g->met + g->missed)
		printf(" deadlines_met=%llu deadlines_missed=%llu met_pct=%.2f desired_cpu_pct=%.2f",
		       (unsigned long long)g->met, (unsigned long long)g->missed,
		       share(g->met, g->met + g->missed), share(g->achieved, g->wanted));
	if (g->finished)
		printf(" finished=%llu life_min_ms=%.3f life_mean_ms=%.3f life_max_ms=%.3f last_ms=%.3f",
		       (unsigned long long)g->finished, ms(g->life_min),
		       ms(g->life_sum) / (double)g->finished, ms(g->life_max), ms(g->last_finish));
	putchar('\n');
}

static void print_task(const struct sim_task *st, const char *window, u64 length)
{
	const struct task *t = &st->task;
	u64 exec = sched_task_runtime(&sim_all[st->slot_in_all]->task) - st->base_exec;

	printf("RESULT one/%s[%u] window=%s cpu_ms=%.3f share_pct=%.3f prio=%d units=%llu bytes=%llu "
	       "wait_max_ms=%.3f cpu=%u\n",
	       st->tmpl->name, st->instance, window, ms(exec), share(exec, length * host_ncpus),
	       t->prio, (unsigned long long)st->units, (unsigned long long)st->bytes,
	       ms(t->wait_max), t->cpu);
}

static void print_pipes(const char *window, u64 switches)
{
	for (u32 i = 0; i < scn.nr_pipes; i++) {
		u64 passed = 0;

		for (u32 k = 0; k < scn.pipes[i]->count; k++)
			passed += scn.pipes[i]->pipes[k].passed;
		printf("RESULT pipe/%s window=%s bytes=%llu switches_per_byte=%.5f\n",
		       scn.pipes[i]->name, window, (unsigned long long)passed,
		       passed ? (double)switches / (double)passed : 0.0);
	}
}

static void print_balanced(const char *key, u64 when)
{
	if (when == FOREVER)
		printf(" %s=never", key);
	else
		printf(" %s=%.3f", key, ms(when - window_from));
}

void report_window_end(const char *window)
{
	u64 length = sim_now - window_from, switches = 0;

	hash_at_end = sched_switch_hash(&switches);
	switches -= switches_base;
	if (report_tasks)
		for (u32 i = 0; i < sim_nr_all; i++)
			if (sim_all[i]->timer.kind != EV_START)
				print_task(sim_all[i], window, length);
	for (u32 i = 0; i < sim_nr_all; i++)
		if (sim_all[i]->timer.kind != EV_START && !sim_all[i]->zombie)
			collect(sim_all[i], sim_all[i]->tmpl->stat);
	for (u32 i = 0; i < scn.nr_tmpls; i++)
		print_group(scn.tmpls[i], window, length);
	print_pipes(window, switches);
	waits_report(window);
	for (unsigned cpu = 0; report_cpus && cpu < host_ncpus; cpu++) {
		u64 idle = sched_task_runtime(&sim_cpus[cpu].idle_task) - sim_cpus[cpu].base_idle;

		printf("RESULT cpu/%u window=%s busy_pct=%.3f switches=%llu queued=%u ticks=%llu\n",
		       cpu, window, 100 - share(idle, length),
		       (unsigned long long)(machine_runq(cpu)->nr_switches -
					    sim_cpus[cpu].base_switches),
		       machine_runq(cpu)->nr_running, (unsigned long long)machine_runq(cpu)->ticks);
	}
	printf("RESULT machine window=%s length_ms=%.3f cpus=%u idle_pct=%.3f wasted_ms=%.3f "
	       "imbalance_max=%llu imbalance_mean=%.3f switches=%llu switches_per_s=%.1f",
	       window, ms(length), host_ncpus, share(m.idle_ns, length * host_ncpus),
	       ms(m.wasted_ns), (unsigned long long)m.max_imbalance,
	       length ? (double)m.imbalance_ns / (double)length : 0, (unsigned long long)switches,
	       length ? (double)switches * 1e9 / (double)length : 0);
	print_balanced("first_balanced_ms", m.first_balanced);
	print_balanced("balanced_ms", m.balanced_since);
	putchar('\n');
}

void report_run(void)
{
	u64 switches = 0, hash = sched_switch_hash(&switches);

	printf("RESULT run scenario=%s policy=%s cpus=%u hz=%u seed=%llu end_ms=%.3f events=%llu "
	       "switches=%llu hash=%016llx\n",
	       scn.name, real->name, host_ncpus, sched_hz, (unsigned long long)sim_seed,
	       ms(sim_now - sim_start_time), (unsigned long long)sim_events,
	       (unsigned long long)switches, (unsigned long long)hash);
}

/* ----------------------------------------------- the policy's own figures */

static char shown[512];

static const char *show_task(const struct task *t)
{
	struct strbuf sb = {.buf = shown, .size = sizeof(shown)};

	shown[0] = 0;
	if (real->show_task)
		real->show_task(t, &sb);
	return shown;
}

int policy_score(const struct task *t)
{
	const char *at = strstr(show_task(t), "sleep_avg ");
	double now, max;

	if (!at || sscanf(at, "sleep_avg %lf of %lf", &now, &max) != 2 || max <= 0)
		return -1;
	return (int)(now * 1000 / max);
}

/* "prio 115 sleep_avg 5 of 10 LOW" becomes " prio=115 sleep_avg=5 sleep_avg_of=10 LOW=1": a word in capitals is a flag. */
void report_sample(struct sim_task *st)
{
	char text[sizeof(shown)], key[64] = "", *word, *rest;

	printf("RESULT sample/%s[%u] t_ms=%.3f cpu=%u state=%s cpu_ms=%.3f", st->tmpl->name,
	       st->instance, ms(sim_now - sim_start_time), st->task.cpu,
	       machine_runq(st->task.cpu)->curr == &st->task ? "run" : state_letter(&st->task),
	       ms(sched_task_runtime(&st->task)));
	strcpy(text, show_task(&st->task));
	if (!strstr(text, "prio "))
		printf(" prio=%d", st->task.prio);
	for (word = strtok_r(text, " ,", &rest); word; word = strtok_r(NULL, " ,", &rest)) {
		bool value = (*word >= '0' && *word <= '9') || *word == '-';

		if (value && *key)
			printf(" %s=%s", key, word);
		else if (!value && strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == strlen(word))
			printf(" %s=1", word);
		if (!value && !strcmp(word, "of") && strlen(key) + 4 < sizeof(key))
			strcat(key, "_of");
		else if (!value)
			snprintf(key, sizeof(key), "%.50s", word);
	}
	if (policy_score(&st->task) >= 0)
		printf(" score_permille=%d", policy_score(&st->task));
	putchar('\n');
}

// SPDX-License-Identifier: MIT
/*
 * ftrace text. No column of interrupt flags (traceshark cannot read it), waking before wakeup (Perfetto's "runnable"),
 * success=1 (older readers ask for it); our own figures are counters, C|0|NAME|VALUE.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "trace/show.h"

#define ENQ_NEW	   0x02
#define WORST_PRIO 0x7fff

/* Who runs on each CPU, for the head of its lines. */
static struct {
	char comm[17];
	uint32_t id;
} running[MAX_CPUS];
static int64_t nr_running[MAX_CPUS];

static unsigned field(const struct record *r, unsigned n)
{
	return r->b >> 16 * n & 0xffff;
}

/* Linux shows its idle task with 120; ours has the worst number there is. */
static int linux_prio(int prio)
{
	return prio >= WORST_PRIO ? 120 : prio;
}

static void head(const struct event *e)
{
	char when[32];

	snprintf(when, sizeof(when), "%" PRIu64 ".%06" PRIu64, e->r.time / 1000000000,
		 e->r.time % 1000000000 / 1000);
	printf("%16s-%-5u [%03u] %12s: ", running[e->cpu].comm, running[e->cpu].id, e->cpu, when);
}

static const char *name_of(uint32_t id, unsigned cpu)
{
	static char idle[24];

	if (id)
		return task_find(id, cpu)->comm;
	snprintf(idle, sizeof(idle), "swapper/%u", cpu);
	return idle;
}

static void show_switch(const struct event *e)
{
	const struct record *r = &e->r;

	printf("sched_switch: prev_comm=%s prev_pid=%u prev_prio=%d prev_state=%s ==> ",
	       name_of(PREV(r), e->cpu), PREV(r), linux_prio(PREV_PRIO(r)), state_letters(r));
	printf("next_comm=%s next_pid=%u next_prio=%d\n", r->id ? e->comm : name_of(0, e->cpu),
	       r->id, linux_prio(NEXT_PRIO(r)));
}

static void show_wake(const struct event *e, const char *name, const char *success)
{
	printf("%s: comm=%s pid=%u prio=%d %starget_cpu=%03u\n", name, e->comm, e->r.id,
	       linux_prio((int16_t)e->r.b), success, field(&e->r, 1));
}

static void show_irq(unsigned vector)
{
	static const struct {
		unsigned vector;
		const char *name;
	} known[] = {{0xf0, "timer"},	{0xf1, "wake"},	     {0xfb, "migrate"},
		     {0xfc, "resched"}, {0xfd, "shootdown"}, {0xfe, "stop"}};

	printf("irq_handler_entry: irq=%u name=", vector);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].vector == vector) {
			puts(known[i].name);
			return;
		}
	printf("isa%d\n", (int)vector - 0x30);
}

static const char *pick(const char *const *names, unsigned n, unsigned i)
{
	return names[i < n ? i : n - 1];
}

static void show_event(const struct event *e)
{
	static const char *const causes[] = {"wake", "slice", "fork", "reaped",
					     "attr", "lent",  "other"};
	static const char *const reasons[] = {"new_idle", "idle_tick", "busy_tick"};
	const struct record *r = &e->r;
	const char *comm = e->comm;

	if (r->kind == START || r->kind >= KINDS)
		return;
	if (r->kind == WAKEUP && r->flags & ENQ_NEW) {
		head(e);
		show_wake(e, "sched_waking", "");
	}
	head(e);
	switch (r->kind) {
	case SWITCH:
		show_switch(e);
		break;
	case WAKING:
		show_wake(e, "sched_waking", "");
		break;
	case WAKEUP:
		show_wake(e, r->flags & ENQ_NEW ? "sched_wakeup_new" : "sched_wakeup",
			  "success=1 ");
		break;
	case MIGRATE:
		printf("sched_migrate_task: comm=%s pid=%u prio=%d orig_cpu=%u dest_cpu=%u\n", comm,
		       r->id, linux_prio((int16_t)r->b), field(r, 1), field(r, 2));
		break;
	case FORK:
		printf("sched_process_fork: comm=%s pid=%u child_comm=%s child_pid=%u\n",
		       name_of((uint32_t)r->b, e->cpu), (uint32_t)r->b, comm, r->id);
		break;
	case EXEC:
		printf("sched_process_exec: filename=%s pid=%u old_pid=%u\n", comm, r->id, r->id);
		break;
	case EXIT:
		printf("sched_process_exit: comm=%s pid=%u runtime=%" PRIu64 "\n", comm, r->id,
		       r->b);
		break;
	case SCORE:
		printf("sched_score: comm=%s pid=%u prio=%d score=%" PRId64 " cause=%s\n", comm,
		       r->id, (int16_t)r->a, (int64_t)r->b, pick(causes, 7, r->flags));
		break;
	case SWAP:
		printf("sched_array_swap: active=%u\n", r->id);
		break;
	case BALANCE:
		printf("sched_balance: reason=%s moved=%u from_cpu=%d own_load=%u busiest_load=%u\n",
		       pick(reasons, 3, r->flags), r->a, (int)r->id, field(r, 0), field(r, 1));
		break;
	case IPI_SEND:
		printf("ipi_send: target_cpu=%u reason=%s\n", r->id,
		       r->flags ? "migrate" : "resched");
		break;
	case IPI:
		printf("ipi_entry: reason=%s\n", r->flags ? "migrate" : "resched");
		break;
	case TICK:
		printf("sched_tick: comm=%s pid=%u billed=%u jiffies=%" PRIu64 "\n", comm, r->id,
		       r->a, r->b);
		break;
	case IRQ:
		show_irq(r->flags);
		break;
	case AFFINITY:
		printf("sched_affinity: comm=%s pid=%u cpus=%" PRIx64 "\n", comm, r->id, r->b);
		break;
	case POLICY:
		printf("sched_policy: name=%s hz=%u\n", comm, r->id);
		break;
	}
}

/* A figure of a task that changed, or has another name now. */
static void tell(const struct event *e, const char *what, char *told, int64_t *old, int64_t value)
{
	if (*old == value && !strcmp(told, e->comm))
		return;
	*old = value;
	strcpy(told, e->comm);
	head(e);
	printf("tracing_mark_write: C|0|%s %s-%u|%" PRId64 "\n", what, e->comm, e->r.id, value);
}

static void show_counters(const struct event *e)
{
	const struct record *r = &e->r;
	unsigned cpu = r->kind == SWITCH ? e->cpu : field(r, 1);
	int64_t n = r->kind == SWITCH ? r->flags : field(r, 2);

	if ((r->kind == SWITCH || r->kind == WAKEUP) && cpu < MAX_CPUS && nr_running[cpu] != n) {
		nr_running[cpu] = n;
		head(e);
		printf("tracing_mark_write: C|0|nr_running cpu%u|%" PRId64 "\n", cpu, n);
	}
	if (r->kind == SCORE) {
		struct task *t = task_find(r->id, e->cpu);

		tell(e, "prio", t->told_prio, &t->prio, (int16_t)r->a);
		if (r->flags != 4 && r->flags != 5) /* set from outside: no figure comes with it */
			tell(e, "score", t->told_score, &t->score, (int64_t)r->b);
	}
}

static void runs_now(unsigned cpu, uint32_t id, const char *comm)
{
	running[cpu].id = id;
	strcpy(running[cpu].comm, id ? comm : "<idle>");
}

/* Which records name the task that they are about. */
#define NAMING                                                                                \
	(1u << SWITCH | 1u << START | 1u << WAKING | 1u << WAKEUP | 1u << FORK | 1u << EXEC | \
	 1u << EXIT | 1u << MIGRATE | 1u << SCORE)

void show_ftrace(struct stream *s)
{
	struct event e;

	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++) {
		runs_now(cpu, 0, "");
		nr_running[cpu] = -1;
	}
	puts("# tracer: nop\n#");
	while (stream_next(s, &e)) {
		unsigned kind = e.r.kind;

		if (kind == LOST) {
			printf("##### CPU %u buffer started #### (%u records lost before)\n", e.cpu,
			       e.r.id);
			continue;
		}
		show_event(&e);
		show_counters(&e);
		if (kind == SWITCH || kind == START ||
		    (kind == EXEC && running[e.cpu].id == e.r.id))
			runs_now(e.cpu, e.r.id, e.comm);
		if (e.r.id && NAMING & 1u << kind)
			strcpy(task_find(e.r.id, e.cpu)->comm, e.comm);
	}
}

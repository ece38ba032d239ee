/* SPDX-License-Identifier: MIT
 *
 * The scheduler as text: queues and tasks, for /sys and panics. And the watching of single switches.
 *
 * A watched machine runs under a copy of its policy's table in which some operations are replaced by ones that call the original and
 * write down what they saw: so nothing in the core knows of it and nothing costs anything while nobody watches. The record of a switch
 * is the queue as the policy left it when it had chosen. Nothing is held up: stopping a CPU would change what is to be seen, since
 * sleep is measured by a clock that goes on. The reader plays the records as slowly as he likes.
 */
#include "sched/internal.h"

#include "lib/errno.h"
#include "lib/string.h"

#define SHOW_BYTES  16384u /* of one queue, and so the time under its lock */
#define WATCH_BYTES (512u << 10)

/* Append @rq to @sb, at most SHOW_BYTES. Its lock is held, or nobody else runs. */
static void show_queue(struct runq *rq, struct strbuf *sb)
{
	size_t size = min(sb->size - sb->len, (size_t)SHOW_BYTES);
	struct strbuf part = {.buf = sb->buf + sb->len, .size = size};
	struct task *curr = READ_ONCE(rq->curr);

	sb_printf(&part, "cpu %u: tasks %u current %u (%s) prio %d%s switches %llu tick %s\n",
		  rq->cpu, rq->nr_running, curr->id, curr->comm, curr->prio,
		  curr == rq->idle ? " idle" : "", (unsigned long long)rq->nr_switches,
		  rq->tick_on ? "on" : "off");
	if (sched_policy->show)
		sched_policy->show(rq, &part);
	sb_cut(&part);
	sb->len += part.len;
}

size_t sched_show_cpu(unsigned cpu, char *buf, size_t size)
{
	struct strbuf sb = {.buf = buf, .size = size};
	struct runq *rq = machine_runq(cpu);
	u64 irq = irq_save();

	spin_lock_raw(rq->lock);
	show_queue(rq, &sb);
	spin_unlock_raw(rq->lock);
	irq_restore(irq);
	return sb.len;
}

void sched_show_task(struct task *t, struct strbuf *sb)
{
	u64 irq = irq_save();
	struct runq *rq = task_rq_lock(t);
	u64 now = machine_now(), ran = t->exec_total;

	if (rq->curr == t && now > t->exec_start)
		ran += now - t->exec_start;
	sb_printf(sb,
		  "%u (%s) cpu %u on_cpu %d class %u rt_priority %u nice %d ticks %u run_ns %llu ",
		  t->id, t->comm, t->cpu, rq->curr == t, t->class, t->rt_priority, t->nice,
		  t->ticks_billed, (unsigned long long)ran);
	sb_printf(sb, "wait_ns %llu wait_max_ns %llu voluntary %llu involuntary %llu moves %llu ",
		  (unsigned long long)t->wait_total, (unsigned long long)t->wait_max,
		  (unsigned long long)t->nr_voluntary, (unsigned long long)t->nr_involuntary,
		  (unsigned long long)t->nr_migrations);
	if (sched_policy->show_task)
		sched_policy->show_task(t, sb);
	else
		sb_printf(sb, "prio %d", t->prio);
	spin_unlock_raw(rq->lock);
	irq_restore(irq);
}

void sched_dump(void (*print)(const char *fmt, ...))
{
	static char text[2048];

	for (unsigned cpu = 0; sched_policy && cpu < machine_cpus_present(); cpu++) {
		struct strbuf sb = {.buf = text, .size = sizeof(text)};
		char *line = text, *end;

		if (!machine_runq(cpu) || !READ_ONCE(machine_runq(cpu)->curr))
			continue;
		preempt_disable(); /* so that the policy stays the same */
		show_queue(machine_runq(cpu), &sb);
		preempt_enable_no_resched();
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			print("%s\n", line);
		}
	}
}

/* ---- watching ---- */

/* What happened on a CPU since its last choice. Under its queue's lock. */
struct watched_cpu {
	u8 how, ticked;	  /* PUT_*; the tick asked for the choice */
	u32 pulled, from; /* tasks brought by the balancer, and from which CPU */
	u32 woken,
		woken_by; /* the task that became runnable here last, and by whom; 0: an interrupt */
};

static struct {
	const struct sched_policy
		*real; /* what is watched; NULL: nothing. Changes while all CPUs stand still */
	struct sched_policy table; /* its copy, which runs */
	unsigned only;		   /* the CPU that is watched; MAX_CPUS: all */
	struct watched_cpu cpus[MAX_CPUS];
	spinlock_t lock;
	struct strbuf text; /* lock; while nothing is watched, who serialises the calls below */
	u32 seen, left_out; /* the same: switches, and those that there was no room for */
} watch = {.lock = SPINLOCK_INIT("watched switches", LOCK_LEAF)};

static void record(struct runq *rq, const struct task *prev, const struct task *next)
{
	static const char *const hows[] = {"resched", "preempted", "yielded", "slept"};
	struct watched_cpu *w = &watch.cpus[rq->cpu];
	struct strbuf *sb = &watch.text;

	if (prev != next && (watch.only == MAX_CPUS || watch.only == rq->cpu)) {
		spin_lock_raw(&watch.lock);
		watch.seen++;
		if (watch.left_out || sb->size - sb->len < SHOW_BYTES + 512) {
			watch.left_out++;
		} else {
			sb_printf(
				sb,
				"switch %u: on %u ns %llu how %s state %u moving %d tick %u pulled %u from %u woken %u by %u\n",
				watch.seen, rq->cpu, (unsigned long long)rq->clock, hows[w->how],
				prev->state, prev->on_rq == ON_RQ_MIGRATING, w->ticked, w->pulled,
				w->from, w->woken == next->id ? w->woken : 0, w->woken_by);
			sb_printf(sb, "prev: %u (%s) prio %d\nnext: %u (%s) prio %d\n", prev->id,
				  prev->comm, prev->prio, next->id, next->comm, next->prio);
			show_queue(rq, sb);
		}
		spin_unlock_raw(&watch.lock);
	}
	*w = (struct watched_cpu){.how = PUT_RESCHED};
}

static struct task *watched_pick_next(struct runq *rq, struct task *prev)
{
	struct task *next = watch.real->pick_next(rq, prev);

	if (next)
		record(rq, prev, next);
	return next;
}

static void watched_idle_enter(struct runq *rq)
{
	if (watch.real->idle_enter)
		watch.real->idle_enter(rq);
	record(rq, rq->curr, rq->idle);
}

static void watched_put_prev(struct runq *rq, struct task *prev, unsigned how)
{
	watch.cpus[rq->cpu].how = (u8)how;
	if (watch.real->put_prev)
		watch.real->put_prev(rq, prev, how);
}

static bool watched_tick(struct runq *rq, struct task *p)
{
	bool due = watch.real->tick(rq, p);

	watch.cpus[rq->cpu].ticked |= due;
	return due;
}

static void watched_enqueue(struct runq *rq, struct task *p, u32 flags)
{
	struct watched_cpu *w = &watch.cpus[rq->cpu];

	watch.real->enqueue(rq, p, flags);
	if (flags & (ENQ_WAKEUP | ENQ_NEW)) {
		w->woken = p->id;
		w->woken_by = (flags & ENQ_IRQ) || !rq->waker ? 0 : rq->waker->id;
	}
}

static unsigned watched_steal(struct runq *src, struct runq *dst, bool idle, unsigned max)
{
	unsigned n = watch.real->steal(src, dst, idle, max);

	if (n) {
		watch.cpus[dst->cpu].pulled = n;
		watch.cpus[dst->cpu].from = src->cpu;
	}
	return n;
}

/* All CPUs stand still. */
static void watch_begin(void *arg)
{
	if (watch.real)
		return;
	memset(watch.cpus, 0, sizeof(watch.cpus));
	watch.text.len = watch.seen = watch.left_out = 0;
	watch.real = sched_policy;
	watch.table = *sched_policy;
	watch.table.pick_next = watched_pick_next;
	watch.table.idle_enter = watched_idle_enter;
	watch.table.put_prev = watched_put_prev;
	watch.table.tick = watched_tick;
	watch.table.enqueue = watched_enqueue;
	if (watch.real->steal)
		watch.table.steal = watched_steal;
	sched_policy = &watch.table;
}

void sched_watch_end(void *arg)
{
	if (watch.real)
		sched_policy = watch.real;
	watch.real = NULL;
}

const struct sched_policy *sched_policy_table(void)
{
	u64 irq = irq_save(); /* nobody begins or ends to watch in between */
	const struct sched_policy *pol = watch.real ? watch.real : sched_policy;

	irq_restore(irq);
	return pol;
}

int sched_watch(unsigned cpu)
{
	if (cpu < MAX_CPUS && (cpu >= machine_cpus_present() || !sched_online_cpu(cpu)))
		return -EINVAL;
	machine_stop_others(sched_watch_end, NULL);
	if (!watch.text.buf)
		watch.text.buf = machine_alloc(WATCH_BYTES);
	if (!watch.text.buf)
		return -ENOMEM;
	watch.text.size = WATCH_BYTES;
	watch.only = cpu;
	machine_stop_others(watch_begin, NULL);
	return 0;
}

void sched_watch_stop(bool forget)
{
	machine_stop_others(sched_watch_end, NULL);
	if (forget) {
		machine_free(watch.text.buf, WATCH_BYTES);
		watch.text = (struct strbuf){.buf = NULL};
		watch.seen = watch.left_out = 0;
	}
}

int sched_watch_show(struct strbuf *sb)
{
	if (READ_ONCE(watch.real))
		return -EBUSY;
	sb_printf(sb, "watched: switches %u left_out %u\n%.*s", watch.seen, watch.left_out,
		  (int)watch.text.len, watch.text.len ? watch.text.buf : "");
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Recording: the rings, the slow parts of the hooks, start and stop. See trace.h.
 *
 * A full page is followed by the next place of the ring, over the oldest page there is: whole pages are lost, never single records,
 * and the numbers of the pages show how many. The number is written before the page's first record, so that a reader that
 * copies a page while the CPU writes on sees, by looking at the number again, whether it was overtaken.
 *
 * Records carry the time of the locked queue, which is what tasks are billed by: run times summed over switches are exactly
 * the kernel's own. Two queues' times may differ by a few cycles; readers never let a ring's time go back.
 */
#include "sched/internal.h"

#include "lib/errno.h"
#include "lib/string.h"

struct trace_control trace_control = {
	.magic = TRACE_MAGIC,
	.version = TRACE_VERSION,
	.record_size = sizeof(struct trace_record),
	.page_size = TRACE_PAGE,
};
u32 trace_mask;

/* ------------------------------------------------------------- writing */

static void open_page(struct trace_ring *ring, unsigned cpu, u64 number)
{
	struct trace_page *page =
		(void *)(ring->pages + number % trace_control.nr_pages * TRACE_PAGE);

	page->cpu = cpu;
	page->version = TRACE_VERSION;
	__atomic_store_n(&page->number, number, __ATOMIC_RELEASE);
	ring->next = (struct trace_record *)(page + 1);
	ring->end = ring->next + TRACE_PER_PAGE;
	__atomic_store_n(&ring->number, number, __ATOMIC_RELEASE);
}

/* The page that ends at @end is full. It knows its CPU: the callers need not keep theirs in a register for this. */
static __attribute__((noinline)) void next_page(const struct trace_record *end)
{
	unsigned cpu = ((const struct trace_page *)(end - TRACE_PER_PAGE) - 1)->cpu;

	open_page(&trace_control.rings[cpu], cpu, trace_control.rings[cpu].number + 1);
}

/*
 * Between begin() and end() the caller stores its fields one by one: that is fewer instructions than packing them into words.
 * What it does not store is what an older record left there: @a and all of @b are its duty.
 */
static inline __attribute__((always_inline)) struct trace_record *
begin(unsigned cpu, unsigned event, u32 id, const char *comm, u64 now)
{
	struct trace_record *r = trace_control.rings[cpu].next;

	r->time = now;
	r->event = (u8)event;
	r->id = id;
	__builtin_memcpy(r->comm, comm, sizeof(r->comm)); /* two moves, no call */
	return r;
}

static inline __attribute__((always_inline)) void end(unsigned cpu, struct trace_record *r)
{
	__atomic_store_n(&trace_control.rings[cpu].next, r + 1, __ATOMIC_RELEASE);
	/* At once and not before the next record: nothing has to be kept over the call. */
	if (unlikely(r + 1 == trace_control.rings[cpu].end))
		next_page(r + 1);
}

static inline __attribute__((always_inline)) void put(unsigned cpu, unsigned event, unsigned flags,
						      unsigned a, u32 id, u64 b, const char *comm,
						      u64 now)
{
	struct trace_record *r = begin(cpu, event, id, comm, now);

	r->flags = (u8)flags;
	r->a = (u16)a;
	r->b = b;
	end(cpu, r);
}

/* The same with four small numbers in @b. */
static inline __attribute__((always_inline)) void put4(unsigned cpu, unsigned event, unsigned flags,
						       unsigned a, const struct task *p,
						       unsigned h1, unsigned h2, u64 now)
{
	struct trace_record *r = begin(cpu, event, p->id, p->comm, now);

	r->flags = (u8)flags;
	r->a = (u16)a;
	r->h[0] = (u16)p->prio;
	r->h[1] = (u16)h1;
	r->h[2] = (u16)h2;
	r->h[3] = 0;
	end(cpu, r);
}

void trace_start_cpu(struct runq *rq)
{
	put4(rq->cpu, TRACE_START, rq->curr == rq->idle, 0, rq->curr, 0, 0, rq->clock);
}

void trace_switch_record(const struct task *prev, const struct task *next, unsigned how)
{
	struct runq *rq = machine_this_runq();
	unsigned cpu = rq->cpu, queued = rq->nr_running;
	struct trace_record *r;

	if (unlikely(queued > 255)) {
		__asm__ volatile(
			""); /* no conditional move: it costs one more when nothing is to be cut */
		queued = 255;
	}
	r = begin(cpu, TRACE_SWITCH, next->id, next->comm, next->exec_start);
	r->flags = (u8)queued;
	r->state = (u8)prev->state;
	r->how = (u8)how;
	r->prev = prev->id;
	r->prev_prio = (u16)prev->prio;
	r->next_prio = (u16)next->prio;
	end(cpu, r);
}

void trace_wake_record(unsigned event, struct runq *rq, const struct task *p, u32 flags)
{
	u64 now = event == TRACE_WAKING ? machine_now() : rq->clock;

	put4(cpu_index(), event, flags, flags >> ENQ_STATE_SHIFT, p, rq->cpu, rq->nr_running, now);
}

void trace_migrate_record(const struct task *p, unsigned to)
{
	put4(cpu_index(), TRACE_MIGRATE, 0, 0, p, p->cpu, to, machine_now());
}

void trace_fork_record(struct runq *rq, const struct task *child)
{
	u32 parent = machine_this_runq()->curr->id;

	put(cpu_index(), TRACE_FORK, 0, rq->cpu, child->id, parent | (u64)(u16)child->prio << 32,
	    child->comm, rq->clock);
}

void trace_affinity_record(const struct task *p)
{
	put(cpu_index(), TRACE_AFFINITY, 0, 0, p->id, p->affinity.bits[0], p->comm, machine_now());
}

void trace_exec_record(const struct task *t)
{
	u64 irq = irq_save();

	put(cpu_index(), TRACE_EXEC, 0, 0, t->id, 0, t->comm, machine_now());
	irq_restore(irq);
}

void trace_exit_record(struct runq *rq, const struct task *t)
{
	put(rq->cpu, TRACE_EXIT, 0, 0, t->id, t->exec_total + rq->clock - t->exec_start, t->comm,
	    rq->clock);
}

void trace_score_record(struct runq *rq, const struct task *p, enum score_cause cause, s64 score)
{
	put(cpu_index(), TRACE_SCORE, cause, (u16)p->prio, p->id, (u64)score, p->comm, rq->clock);
}

void trace_balance_record(struct runq *rq, enum balance_reason reason, struct runq *from,
			  unsigned moved)
{
	put(cpu_index(), TRACE_BALANCE, reason, moved, from ? from->cpu : ~0u,
	    (u16)rq->nr_running | (from ? from->nr_running : 0) << 16, rq->curr->comm, rq->clock);
}

void trace_tick_record(struct runq *rq, u64 billed)
{
	put(rq->cpu, TRACE_TICK, rq->curr == rq->idle, (unsigned)min(billed, (u64)0xffff),
	    rq->curr->id, rq->jiffies, rq->curr->comm, rq->clock);
}

void trace_cpu_record(unsigned event, unsigned flags, u32 id)
{
	static const char nobody[TASK_COMM_LEN];

	put(cpu_index(), event, flags, 0, id, 0, nobody, machine_now());
}

void trace_policy_record(const char *name)
{
	char comm[TASK_COMM_LEN] = {0};
	u64 irq = irq_save();

	for (unsigned i = 0; i + 1 < sizeof(comm) && name[i]; i++)
		comm[i] = name[i];
	put(cpu_index(), TRACE_POLICY, 0, 0, sched_hz, sched_tick_ns, comm, machine_now());
	irq_restore(irq);
}

/* ---------------------------------------------------------- control */

static int make_rings(size_t bytes, u64 (*physical)(const void *))
{
	struct trace_control *c = &trace_control;
	u32 pages = TRACE_MIN_PAGES;

	while ((size_t)pages * 2 * TRACE_PAGE <= bytes)
		pages *= 2;
	c->nr_cpus = machine_cpus_present();
	for (unsigned cpu = 0; cpu < c->nr_cpus; cpu++) {
		struct trace_ring *ring = &c->rings[cpu];

		if (!ring->pages)
			ring->pages = machine_alloc((size_t)pages * TRACE_PAGE);
		if (!ring->pages) {
			while (cpu--) {
				machine_free(c->rings[cpu].pages, (size_t)pages * TRACE_PAGE);
				c->rings[cpu].pages = NULL;
			}
			return -ENOMEM;
		}
		ring->physical = physical ? physical(ring->pages) : 0;
	}
	c->nr_pages = pages;
	for (unsigned cpu = 0; cpu < c->nr_cpus; cpu++)
		open_page(&c->rings[cpu], cpu, 1);
	return 0;
}

int trace_alloc(size_t bytes, u64 (*physical)(const void *))
{
	static u32 busy;
	int ret;

	/* Two at once would make the rings twice, the second time under the pens of CPUs that write already. */
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
		return -EBUSY;
	ret = trace_control.nr_pages ? 0 : make_rings(bytes, physical);
	__atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
	return ret;
}

static void set_mask(void *arg)
{
	u32 mask = *(u32 *)arg;
	unsigned cpu;

	/* All CPUs stand still outside every lock, so this CPU may write their rings. */
	for_each_cpu_in(cpu, &sched_online)
	{
		struct runq *rq = machine_runq(cpu);

		rq_clock_update(rq, machine_now());
		if (mask)
			trace_start_cpu(rq);
	}
	WRITE_ONCE(trace_mask, mask);
}

void trace_start(u32 mask)
{
	mask &= TRACE_ALL;
	if (trace_control.nr_pages)
		machine_stop_others(set_mask, &mask);
	if (mask)
		trace_policy(sched_policy->name);
}

void trace_stop(void)
{
	trace_start(0);
}

static void clear(void *arg)
{
	u64 number = 0;

	(void)arg;
	for (unsigned cpu = 0; cpu < trace_control.nr_cpus; cpu++)
		number = max(number, trace_control.rings[cpu].number);
	trace_control.first = number;
	for (unsigned cpu = 0; cpu < trace_control.nr_cpus; cpu++)
		open_page(&trace_control.rings[cpu], cpu, number + 1);
	/* Still recording: as if it started now. */
	if (trace_mask)
		set_mask(&trace_mask);
}

void trace_clear(void)
{
	if (trace_control.nr_pages)
		machine_stop_others(clear, NULL);
}

/* ---------------------------------------------------------- reading */

static const char *const names[TRACE_EVENTS] = {
	[TRACE_NONE] = "none",	       [TRACE_START] = "start",	  [TRACE_SWITCH] = "switch",
	[TRACE_WAKING] = "waking",     [TRACE_WAKEUP] = "wakeup", [TRACE_MIGRATE] = "migrate",
	[TRACE_FORK] = "fork",	       [TRACE_EXEC] = "exec",	  [TRACE_EXIT] = "exit",
	[TRACE_SCORE] = "score",       [TRACE_SWAP] = "swap",	  [TRACE_BALANCE] = "balance",
	[TRACE_IPI_SEND] = "ipi_send", [TRACE_IPI] = "ipi",	  [TRACE_TICK] = "tick",
	[TRACE_IRQ] = "irq",	       [TRACE_POLICY] = "policy", [TRACE_AFFINITY] = "affinity",
};

const char *trace_event_name(unsigned event)
{
	return event < TRACE_EVENTS ? names[event] : NULL;
}

static u32 parse_one(const char *word, size_t len)
{
	static const struct {
		const char *name;
		u32 mask;
	} groups[] = {
		{"all", TRACE_ALL},
		{"on", TRACE_ALL},
		{"sched", TRACE_ALL & ~(1u << TRACE_TICK | 1u << TRACE_IRQ | 1u << TRACE_IPI |
					1u << TRACE_IPI_SEND)},
		{"wake", 1u << TRACE_WAKING | 1u << TRACE_WAKEUP},
		{"life", 1u << TRACE_FORK | 1u << TRACE_EXEC | 1u << TRACE_EXIT},
	};

	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (strlen(groups[i].name) == len && !strncmp(groups[i].name, word, len))
			return groups[i].mask;
	for (unsigned e = TRACE_START; e < TRACE_EVENTS; e++)
		if (strlen(names[e]) == len && !strncmp(names[e], word, len))
			return 1u << e;
	return 0;
}

bool trace_parse(const char *text, u32 *mask)
{
	*mask = 0;
	if (!strcmp(text, "none") || !strcmp(text, "off"))
		return true;
	for (;;) {
		size_t len = 0;
		u32 one;

		while (text[len] && text[len] != ',')
			len++;
		one = parse_one(text, len);
		if (!one)
			return false;
		*mask |= one;
		if (!text[len])
			break;
		text += len + 1;
	}
	/* Without these nothing else can be read: who runs, and under which policy. */
	*mask |= 1u << TRACE_START | 1u << TRACE_POLICY;
	return true;
}

u64 trace_pages(unsigned cpu, u64 *first)
{
	u64 last = trace_control.rings[cpu].number, pages = trace_control.nr_pages;

	*first = max(trace_control.first + 1, last >= pages ? last - pages + 1 : 1);
	return pages ? last + 1 - *first : 0;
}

const struct trace_page *trace_page_at(unsigned cpu, u64 number, size_t *used)
{
	const struct trace_ring *ring = &trace_control.rings[cpu];
	u64 first, count = trace_pages(cpu, &first), last;
	const struct trace_page *page;

	if (number < first || number >= first + count)
		return NULL;
	page = (const void *)(ring->pages + number % trace_control.nr_pages * TRACE_PAGE);
	last = __atomic_load_n(&ring->number, __ATOMIC_ACQUIRE);
	*used = sizeof(*page) + TRACE_PER_PAGE * sizeof(struct trace_record);
	/* If the CPU went on to another page between the two loads, this one is full and @next lies elsewhere. */
	if (number == last)
		*used = min(*used, (size_t)((const u8 *)READ_ONCE(ring->next) - (const u8 *)page));
	return READ_ONCE(page->number) == number ? page : NULL;
}

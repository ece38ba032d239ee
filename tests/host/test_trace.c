/* SPDX-License-Identifier: MIT
 *
 * Tests of the event rings: order, the page boundary, whole pages lost and counted, filters, start and clear, and that what the
 * hooks record of a simulated run is a run: each switch continues the one before it.
 */
#include <string.h>

#include "tests.h"

#define RING (8 * TRACE_PAGE)

/* Rings are made once per program; every test starts with empty ones and its own mask. */
static void fresh(unsigned cpus, u32 mask)
{
	trace_mask = 0;
	sim_start(cpus, 1000);
	/* Another machine: its CPUs get rings of their own. */
	for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (trace_control.rings[cpu].pages && trace_control.nr_pages)
			machine_free(trace_control.rings[cpu].pages, RING);
		memset(&trace_control.rings[cpu], 0, sizeof(trace_control.rings[cpu]));
	}
	trace_control.nr_pages = 0;
	trace_control.first = 0;
	CHECK_EQ(trace_alloc(RING + 5, NULL), 0);
	CHECK_EQ(trace_control.nr_pages, 8);
	trace_mask = mask;
}

static const struct trace_record *record_at(unsigned cpu, u64 number, unsigned i)
{
	size_t used = 0;
	const struct trace_page *page = trace_page_at(cpu, number, &used);
	const struct trace_record *r;

	if (!page)
		return NULL;
	r = (const struct trace_record *)(page + 1) + i;
	return (const u8 *)(r + 1) <= (const u8 *)page + used ? r : NULL;
}

/* All records of @cpu that are left, oldest first, to @seen. Return: how many. */
static u64 each(unsigned cpu, void (*seen)(const struct trace_record *r))
{
	u64 first, pages = trace_pages(cpu, &first), n = 0;

	for (u64 number = first; number < first + pages; number++) {
		const struct trace_record *r;

		for (unsigned i = 0; (r = record_at(cpu, number, i)); i++, n++)
			if (seen)
				seen(r);
	}
	return n;
}

static void off_records_nothing(void)
{
	fresh(2, 0);
	sim_spawn(-1);
	sim_ticks(20);
	CHECK_EQ(each(0, NULL) + each(1, NULL), 0);
}

static u64 expected_id, bad_order;

static void in_order(const struct trace_record *r)
{
	if (r->event != TRACE_IRQ || r->flags != (u8)expected_id)
		bad_order++;
	expected_id++;
}

static void fill_and_wrap(void)
{
	u64 per_page = TRACE_PER_PAGE, first;

	fresh(1, 1u << TRACE_IRQ);
	/* Not full yet: one page. */
	for (u64 i = 0; i < per_page - 1; i++)
		trace_irq((unsigned)i & 0xff);
	CHECK_EQ(trace_pages(0, &first), 1);
	/* The record that fills it opens the second. */
	trace_irq((unsigned)(per_page - 1) & 0xff);
	expected_id = bad_order = 0;
	CHECK_EQ(each(0, in_order), per_page);
	trace_irq(per_page & 0xff);
	CHECK_EQ(trace_pages(0, &first), 2);
	/* On to 8 full pages and one record: the oldest page, and only it, is gone. */
	for (u64 i = per_page + 1; i < 8 * per_page + 1; i++)
		trace_irq((unsigned)i & 0xff);
	CHECK_EQ(trace_pages(0, &first), 8);
	CHECK_EQ(first, 2);
	CHECK(!record_at(0, 1, 0));
	CHECK(!record_at(0, 10, 0));
	expected_id = per_page;
	bad_order = 0;
	CHECK_EQ(each(0, in_order), 7 * per_page + 1);
	CHECK_EQ(bad_order, 0);
	/* A hundred times round. */
	for (u64 i = 8 * per_page + 1; i < 801 * per_page; i++)
		trace_irq((unsigned)i & 0xff);
	CHECK_EQ(trace_pages(0, &first), 8);
	CHECK_EQ(first, 795);
	expected_id = 794 * per_page;
	CHECK_EQ(each(0, in_order), 7 * per_page);
	CHECK_EQ(bad_order, 0);
}

static u64 running, switches, broken;

static void continues(const struct trace_record *r)
{
	if (r->event == TRACE_START)
		running = r->id;
	if (r->event != TRACE_SWITCH)
		return;
	switches++;
	if ((u32)r->b != running)
		broken++;
	running = r->id;
}

static void switches_continue(void)
{
	struct runq *rq;
	u64 before[3];

	fresh(3, 0);
	trace_start(TRACE_ALL);
	for (unsigned cpu = 0; cpu < 3; cpu++)
		before[cpu] = sim_rq(cpu)->nr_switches;
	for (int i = 0; i < 7; i++) {
		sim_on(0);
		sim_spawn(-1);
	}
	/* As long as no page is overwritten. */
	sim_ticks(200);
	for (unsigned cpu = 0; cpu < 3; cpu++) {
		rq = sim_rq(cpu);
		switches = broken = 0;
		running = ~0ull;
		each(cpu, continues);
		CHECK_EQ(broken, 0);
		CHECK_EQ(switches, rq->nr_switches - before[cpu]);
		CHECK(switches > 0);
		CHECK_EQ(running, rq->curr->id);
	}
}

static void start_stop_clear(void)
{
	u64 n, first;

	fresh(2, 0);
	trace_start(1u << TRACE_IRQ | 1u << TRACE_START);
	CHECK_EQ(each(0, NULL), 1);
	CHECK_EQ(each(1, NULL), 1);
	CHECK_EQ(record_at(1, 1, 0)->event, TRACE_START);
	CHECK_EQ(record_at(1, 1, 0)->flags, 1); /* idle */
	trace_irq(7);
	trace_stop();
	n = each(cpu_index(), NULL);
	trace_irq(8);
	CHECK_EQ(each(cpu_index(), NULL), n);
	trace_clear();
	CHECK_EQ(each(0, NULL) + each(1, NULL), 0);
	CHECK_EQ(trace_pages(0, &first), 1);
	CHECK_EQ(first, trace_control.first + 1);
	trace_mask = 1u << TRACE_IRQ;
	trace_clear(); /* while recording: it starts anew */
	CHECK_EQ(each(0, NULL), 1);
	trace_mask = 0;
}

static void filters(void)
{
	u32 mask = 5;

	CHECK(trace_parse("all", &mask));
	CHECK_EQ(mask, TRACE_ALL);
	CHECK(trace_parse("off", &mask));
	CHECK_EQ(mask, 0);
	CHECK(trace_parse("switch,ipi", &mask));
	CHECK_EQ(mask,
		 1u << TRACE_SWITCH | 1u << TRACE_IPI | 1u << TRACE_START | 1u << TRACE_POLICY);
	CHECK(trace_parse("wake", &mask));
	CHECK(mask & 1u << TRACE_WAKING && mask & 1u << TRACE_WAKEUP && !(mask & 1u << TRACE_TICK));
	CHECK(!trace_parse("swich", &mask));
	CHECK(!trace_parse("", &mask));
	CHECK(!trace_parse("switch,", &mask));
	for (unsigned e = TRACE_START; e < TRACE_EVENTS; e++)
		CHECK(trace_event_name(e) && trace_parse(trace_event_name(e), &mask) &&
		      mask & 1u << e);
	CHECK(!trace_event_name(TRACE_EVENTS));
}

void trace_tests(void)
{
	TEST(off_records_nothing);
	TEST(fill_and_wrap);
	TEST(switches_continue);
	TEST(start_stop_clear);
	TEST(filters);
	trace_mask = 0;
}

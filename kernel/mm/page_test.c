/* SPDX-License-Identifier: MIT
 *
 * Self-tests of the page allocator: the buddy system by itself, blocks and counts, all CPUs at once, running out.
 */
#include "mm/test.h"

struct member {
	struct test_crew *crew;
	unsigned cpu;
};
static struct member members[MAX_CPUS];

static void crew_main(void *arg)
{
	struct member *m = arg;

	test_pin(m->cpu);
	if (m->crew->mm)
		test_enter(m->crew->mm);
	__atomic_add_fetch(&m->crew->ready, 1, __ATOMIC_SEQ_CST);
	m->crew->fn(m->crew, m->cpu);
	if (m->crew->mm)
		test_leave(true);
}

unsigned test_crew_start(struct test_crew *crew, unsigned from)
{
	unsigned n = 0;

	for (unsigned i = from; i < cpus_online; i++) {
		members[i] = (struct member){crew, i};
		crew->tasks[i] = selftest_spawn(crew_main, &members[i], "mm-test");
		if (EXPECT(crew->tasks[i]))
			n++;
	}
	return n;
}

void test_crew_join(struct test_crew *crew)
{
	for (unsigned i = 0; i < MAX_CPUS; i++)
		if (crew->tasks[i])
			selftest_join(crew->tasks[i]);
}

SELFTEST(buddy_join)
{
	enum { FRAMES = 1500 };
	size_t size = FRAMES * sizeof(struct page);
	struct page *pages = kzalloc(size);
	static u16 taken[FRAMES];
	struct buddy b;
	u64 seed = 1;
	unsigned n = 0;

	if (!EXPECT(pages))
		return;
	buddy_init(&b, pages, FRAMES);
	buddy_add(&b, 3, FRAMES);
	EXPECT_EQ(b.nr_free, FRAMES - 3);
	/* 3..1499 holds exactly one block of 512, at 512, and none of 1024. */
	EXPECT_EQ(buddy_alloc(&b, 10), BUDDY_NONE);
	EXPECT_EQ(buddy_alloc(&b, 9), 512);
	EXPECT_EQ(buddy_alloc(&b, 9), BUDDY_NONE);
	buddy_free(&b, 512, 9);
	for (;;) {
		u64 f = buddy_alloc(&b, 0);

		if (f == BUDDY_NONE)
			break;
		EXPECT(f >= 3 && f < FRAMES && !pages[f].refs);
		pages[f].refs = 1;
		taken[n++] = (u16)f;
	}
	EXPECT_EQ(n, FRAMES - 3);
	EXPECT_EQ(b.nr_free, 0);
	for (unsigned i = n; i > 1; i--) { /* free in random order */
		unsigned j = test_random(&seed) % i;
		u16 t = taken[i - 1];

		taken[i - 1] = taken[j];
		taken[j] = t;
	}
	for (unsigned i = 0; i < n; i++)
		buddy_free(&b, taken[i], 0);
	EXPECT_EQ(b.nr_free, FRAMES - 3);
	EXPECT_EQ(buddy_alloc(&b, 9), 512);
	buddy_free(&b, 512, 9);
	/* Everything has joined again: block counts are those of the start. */
	for (unsigned o = 0; o < BUDDY_ORDERS; o++) {
		static const u8 want[BUDDY_ORDERS] = {1, 0, 2, 2, 2, 1, 2, 2, 2, 1, 0};
		unsigned have = 0;
		struct page *p;

		list_for_each (p, &b.free[o], link)
			have++;
		EXPECT_EQ(have, want[o]);
	}
	kfree(pages, size);
}

SELFTEST(page_blocks)
{
	u64 block[BUDDY_ORDERS], before;

	test_pin(0);
	before = test_free_pages();
	for (unsigned o = 0; o < BUDDY_ORDERS; o++) {
		u64 *p;

		block[o] = page_alloc(o);
		if (!EXPECT(block[o]))
			continue;
		EXPECT_EQ(block[o] & ((PAGE_SIZE << o) - 1), 0);
		EXPECT_EQ(page_refs(block[o]), 1);
		p = phys_to_virt(block[o]);
		for (u64 i = 0; i < 1ull << o; i++)
			p[i * 512] = o * 10000 + i;
	}
	EXPECT_EQ(page_alloc(BUDDY_ORDERS), 0);
	EXPECT_EQ(before - test_free_pages(), (1 << BUDDY_ORDERS) - 1);
	for (unsigned o = 0; o < BUDDY_ORDERS; o++) {
		u64 *p = phys_to_virt(block[o]);

		if (!block[o])
			continue;
		for (u64 i = 0; i < 1ull << o; i++)
			EXPECT_EQ(p[i * 512], o * 10000 + i);
		page_free(block[o], o);
	}
	EXPECT_EQ(test_free_pages(), before);
	block[0] = page_alloc_zero();
	if (EXPECT(block[0])) {
		u64 *p = phys_to_virt(block[0]), sum = 0;

		for (unsigned i = 0; i < 512; i++)
			sum |= p[i];
		EXPECT_EQ(sum, 0);
		page_get(block[0]);
		EXPECT_EQ(page_refs(block[0]), 2);
		page_put(block[0]);
		EXPECT_EQ(page_refs(block[0]), 1);
		EXPECT_EQ(test_free_pages(), before - 1);
		page_put(block[0]);
	}
	EXPECT_EQ(test_free_pages(), before);
	test_unpin();
}

/* Each CPU allocates and frees at random and leaves its mark in its pages; a mark that changes was two owners. */
static void page_churn(struct test_crew *crew, unsigned cpu)
{
	enum { SLOTS = 200 };
	u64 seed = cpu + 1, n = 0;
	u64 *slots = kzalloc(SLOTS * sizeof(u64));

	if (!EXPECT(slots))
		return;
	for (unsigned round = 0; round < 20000; round++) {
		unsigned i = test_random(&seed) % SLOTS;
		u64 *p;

		if (!slots[i]) {
			slots[i] = page_alloc(0);
			if (!EXPECT(slots[i]))
				break;
			p = phys_to_virt(slots[i]);
			p[0] = slots[i] ^ cpu;
			p[511] = ++n;
			continue;
		}
		p = phys_to_virt(slots[i]);
		if (!EXPECT_EQ(p[0], slots[i] ^ cpu))
			break;
		page_put(slots[i]);
		slots[i] = 0;
	}
	for (unsigned i = 0; i < SLOTS; i++)
		if (slots[i])
			page_put(slots[i]);
	kfree(slots, SLOTS * sizeof(u64));
}

SELFTEST(page_stress_smp)
{
	static struct test_crew crew;
	u64 before = 0;

	for (unsigned pass = 0; pass < 2;
	     pass++) { /* the first fills the CPUs' stocks and magazines */
		test_crew_init(&crew, page_churn, NULL, NULL);
		before = pass ? test_free_pages() : 0;
		test_crew_start(&crew, 0);
		test_crew_join(&crew);
	}
	test_expect_free(before, 2 * cpus_online, "page_stress_smp");
}

SELFTEST(page_exhaust)
{
	u64 before = test_free_pages(), chain = 0, blocks = 0, n = 0, big;

	if (before > 1ull << 21) {
		selftest_skip("more than 8 GiB of memory take too long");
		return;
	}
	/* Another CPU's stock must not keep pages from us: all must be had from here. */
	preempt_disable();
	while ((big = page_alloc(BUDDY_ORDERS -
				 1))) { /* most of it at once, linked through the blocks */
		*(u64 *)phys_to_virt(big) = blocks;
		blocks = big;
		n += 1ull << (BUDDY_ORDERS - 1);
	}
	for (;;) {
		u64 phys = page_alloc(0);

		if (!phys)
			break;
		*(u64 *)phys_to_virt(phys) = chain;
		chain = phys;
		n++;
	}
	EXPECT_EQ(page_alloc(3), 0);
	EXPECT(!kmalloc(100000));
	EXPECT(!mm_create());
	while (chain) {
		u64 next = *(u64 *)phys_to_virt(chain);

		page_free(chain, 0);
		chain = next;
	}
	while (blocks) {
		u64 next = *(u64 *)phys_to_virt(blocks);

		page_free(blocks, BUDDY_ORDERS - 1);
		blocks = next;
	}
	preempt_enable();
	EXPECT(n + 64 >= before);
	test_expect_free(before, 0, "page_exhaust");
	selftest_note("%llu pages allocated of %llu free", (unsigned long long)n,
		      (unsigned long long)before);
}

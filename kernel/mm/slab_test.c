/* SPDX-License-Identifier: MIT
 *
 * Self-tests of object caches and kernel stacks.
 */
#include "mm/test.h"

SELFTEST(slab_sizes)
{
	static const u16 sizes[] = {1,	  8,	31,   32,   33,	  64,	65,   96,   100,  128,
				    129,  200,	256,  300,  500,  512,	513,  1000, 1024, 1500,
				    2000, 2048, 2049, 3000, 3072, 3073, 5000, 60000};
	u8 *p[ARRAY_SIZE(sizes)][3];
	u64 before, objects;

	test_pin(0);
	for (unsigned pass = 0; pass < 2; pass++) {
		before = test_free_pages();
		objects = test_objects();
		for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
			for (unsigned k = 0; k < 3; k++) {
				p[i][k] = kmalloc(sizes[i]);
				if (!EXPECT(p[i][k]))
					goto out;
				EXPECT_EQ((u64)p[i][k] % 16, 0);
				if (sizes[i] >= 64 && sizes[i] % 64 == 0 && sizes[i] <= 512)
					EXPECT_EQ((u64)p[i][k] % 64, 0);
				memset(p[i][k], (int)(i * 3 + k), sizes[i]);
			}
		for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++)
			for (unsigned k = 0; k < 3; k++) {
				for (unsigned b = 0; b < sizes[i]; b++)
					if (!EXPECT_EQ(p[i][k][b], (u8)(i * 3 + k)))
						goto out;
				kfree(p[i][k], sizes[i]);
			}
		EXPECT_EQ(test_objects(), objects);
	}
	test_expect_free(before, 0, "slab_sizes");
	EXPECT(!kmalloc((1 << 20) + 1));
	kfree(NULL, 100);
out:
	test_unpin();
}

SELFTEST(slab_many)
{
	enum { COUNT = 5000 };
	static struct object_cache *cache;
	u64 before = 0, objects = 0;
	void **chain = NULL;

	test_pin(0);
	if (!cache)
		cache = cache_create("slab-test", 40);
	if (!EXPECT(cache))
		return;
	EXPECT(!cache_create("too small", 7));
	EXPECT(!cache_create("too big", 3073));
	for (unsigned pass = 0; pass < 2; pass++) {
		before = test_free_pages();
		objects = test_objects();
		for (unsigned i = 0; i < COUNT; i++) {
			void **o = cache_zalloc(cache);

			if (!EXPECT(o))
				break;
			EXPECT(!o[1] && !o[4]);
			o[0] = chain;
			o[4] = o;
			chain = o;
		}
		EXPECT_EQ(test_objects() - objects, COUNT);
		EXPECT(before - test_free_pages() >= COUNT * 40 / PAGE_SIZE);
		while (chain) {
			void **o = chain;

			chain = o[0];
			EXPECT(o[4] == o); /* no two objects overlap */
			cache_free(cache, o);
		}
		EXPECT_EQ(test_objects(), objects);
	}
	test_expect_free(before, 0, "slab_many");
	test_unpin();
}

/* CPUs exchange objects through a common board: an object is mostly freed on another CPU than the one that made it. */
#define BOARD 64
static u64 *board[BOARD];

static void slab_churn(struct test_crew *crew, unsigned cpu)
{
	struct object_cache *cache = crew->data;
	u64 seed = cpu + 99;

	for (unsigned round = 0; round < 20000; round++) {
		u64 *o = cache_alloc(cache), *old;

		if (!EXPECT(o))
			return;
		o[0] = (u64)o;
		o[10] = ~(u64)o;
		old = __atomic_exchange_n(&board[test_random(&seed) % BOARD], o, __ATOMIC_ACQ_REL);
		if (old) {
			EXPECT(old[0] == (u64)old && old[10] == ~(u64)old);
			old[0] = old[10] = 0;
			cache_free(cache, old);
		}
	}
}

SELFTEST(slab_stress_smp)
{
	static struct object_cache *cache;
	static struct test_crew crew;
	u64 before = 0, objects = 0;

	if (!cache)
		cache = cache_create("slab-smp", 88);
	if (!EXPECT(cache))
		return;
	for (unsigned pass = 0; pass < 2; pass++) {
		before = test_free_pages();
		objects = test_objects();
		test_crew_init(&crew, slab_churn, NULL, cache);
		test_crew_start(&crew, 0);
		test_crew_join(&crew);
		for (unsigned i = 0; i < BOARD; i++) {
			if (board[i])
				cache_free(cache, board[i]);
			board[i] = NULL;
		}
	}
	test_expect_free(before, 2 * cpus_online, "slab_stress_smp");
	EXPECT(test_objects() <= objects + 2);
}

SELFTEST(kstack_guard)
{
	enum { COUNT = 40 };
	u64 tops[COUNT], before = 0;

	test_pin(0);
	for (unsigned pass = 0; pass < 2; pass++) {
		if (pass) {
			kstack_reap();
			before = test_free_pages();
		}
		for (unsigned i = 0; i < COUNT; i++) {
			u64 bottom;

			tops[i] = kstack_alloc();
			if (!EXPECT(tops[i]))
				goto out;
			bottom = tops[i] - KSTACK_SIZE;
			EXPECT_EQ(tops[i] & (PAGE_SIZE - 1), 0);
			EXPECT(kstack_guard_hit(bottom - 1));
			EXPECT(kstack_guard_hit(bottom - PAGE_SIZE));
			EXPECT(!kstack_guard_hit(bottom));
			EXPECT(!kstack_guard_hit(tops[i] - 1));
			EXPECT_EQ(*kernel_pte(bottom - PAGE_SIZE), 0);
			for (unsigned k = 0; k < i; k++)
				EXPECT(tops[k] != tops[i]);
			memset((void *)bottom, (int)i, KSTACK_SIZE);
		}
		if (pass)
			EXPECT_EQ(before - test_free_pages(), COUNT * KSTACK_SIZE / PAGE_SIZE);
		for (unsigned i = 0; i < COUNT; i++) {
			const u8 *stack = (const u8 *)(tops[i] - KSTACK_SIZE);

			EXPECT(stack[0] == i && stack[KSTACK_SIZE / 2] == i &&
			       stack[KSTACK_SIZE - 1] == i);
		}
		for (unsigned i = 0; i < COUNT; i++)
			kstack_free(tops[i]);
		EXPECT(kstack_pooled_pages() >= COUNT * KSTACK_SIZE / PAGE_SIZE);
		EXPECT(kstack_reap());
		/* Given back for good: unmapped, and their frames free. */
		for (unsigned i = 0; i < COUNT; i++)
			EXPECT_EQ(*kernel_pte(tops[i] - PAGE_SIZE), 0);
	}
	test_expect_free(before, 0, "kstack_guard");
out:
	test_unpin();
}

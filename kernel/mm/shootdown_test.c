/* SPDX-License-Identifier: MIT
 *
 * Self-tests that touch user memory from kernel tasks: user copies and their faults, stale translations on other CPUs,
 * destroying an address space that idle CPUs still have loaded.
 */
#include "mm/test.h"

#define BASE	    0x20000000ull
#define RW	    (VM_READ | VM_WRITE)
#define POISON_WORD 0x0bad0bad0bad0badull

SELFTEST(user_copy)
{
	struct mm *mm = mm_create();
	u8 *buf = kmalloc(3 * PAGE_SIZE), *back = kmalloc(3 * PAGE_SIZE);
	char text[32];
	u32 w32 = 1;
	u64 w64 = 1;

	if (!EXPECT(mm && buf && back))
		return;
	EXPECT_EQ(mm_map(mm, BASE, 4 * PAGE_SIZE, RW, NULL, 0), 0);
	EXPECT_EQ(mm_map(mm, BASE + 8 * PAGE_SIZE, PAGE_SIZE, VM_READ, NULL, 0), 0);
	EXPECT_EQ(mm_map(mm, BASE + 9 * PAGE_SIZE, PAGE_SIZE, 0, NULL, 0), 0);
	EXPECT_EQ(mm_map(mm, USER_END - PAGE_SIZE, PAGE_SIZE, RW, NULL, 0), 0);
	test_enter(mm);
	for (unsigned i = 0; i < 3 * PAGE_SIZE; i++)
		buf[i] = (u8)(i * 7 + 1);
	for (unsigned n = 0; n < 70; n++) { /* all short sizes, across a page boundary */
		u64 at = BASE + PAGE_SIZE - n / 2;

		memset(back, 0xee, 80);
		EXPECT_EQ(clear_user((void *)(at - 8), n + 16), 0);
		EXPECT_EQ(copy_to_user((void *)at, buf, n), 0);
		EXPECT_EQ(copy_from_user(back, (void *)(at - 8), n + 16), 0);
		EXPECT(!memcmp(back + 8, buf, n) && back[7] == 0 && back[8 + n] == 0);
	}
	EXPECT_EQ(copy_to_user((void *)(BASE + 100), buf, 3 * PAGE_SIZE), 0);
	EXPECT_EQ(copy_from_user(back, (void *)(BASE + 100), 3 * PAGE_SIZE), 0);
	EXPECT(!memcmp(back, buf, 3 * PAGE_SIZE));

	/* Not mapped, at the start and in the middle, every kind of access. */
	EXPECT_EQ(copy_from_user(back, (void *)(BASE + 4 * PAGE_SIZE), 8), -EFAULT);
	EXPECT_EQ(copy_from_user(back, (void *)(BASE + 4 * PAGE_SIZE), 1), -EFAULT);
	EXPECT_EQ(copy_to_user((void *)(BASE + 4 * PAGE_SIZE), buf, 8), -EFAULT);
	EXPECT_EQ(copy_to_user((void *)(BASE + 4 * PAGE_SIZE), buf, 1), -EFAULT);
	EXPECT_EQ(copy_from_user(back, (void *)(BASE + 4 * PAGE_SIZE - 100), 200), -EFAULT);
	EXPECT_EQ(copy_to_user((void *)(BASE + 4 * PAGE_SIZE - 3), buf, 7), -EFAULT);
	EXPECT_EQ(clear_user((void *)(BASE + 4 * PAGE_SIZE - 3), 7), -EFAULT);
	EXPECT_EQ(clear_user((void *)(BASE + 4 * PAGE_SIZE - 16), 32), -EFAULT);
	EXPECT_EQ(get_user_u32(&w32, (void *)(BASE + 4 * PAGE_SIZE)), -EFAULT);
	EXPECT_EQ(get_user_u64(&w64, (void *)(BASE + 4 * PAGE_SIZE - 4)), -EFAULT);
	EXPECT_EQ(put_user_u32((void *)(BASE + 4 * PAGE_SIZE), 1), -EFAULT);
	EXPECT_EQ(put_user_u64((void *)(BASE + 4 * PAGE_SIZE), 1), -EFAULT);
	EXPECT_EQ(w32, 1);
	EXPECT_EQ(w64, 1);
	/* Not allowed. */
	EXPECT_EQ(copy_from_user(back, (void *)(BASE + 8 * PAGE_SIZE), 8), 0);
	EXPECT_EQ(copy_to_user((void *)(BASE + 8 * PAGE_SIZE), buf, 8), -EFAULT);
	EXPECT_EQ(copy_from_user(back, (void *)(BASE + 9 * PAGE_SIZE), 8), -EFAULT);
	/* Kernel addresses, sums that overflow, the last byte of user space. */
	EXPECT_EQ(copy_from_user(back, buf, 8), -EFAULT);
	EXPECT_EQ(copy_to_user(back, buf, 8), -EFAULT);
	EXPECT_EQ(copy_from_user(back, (void *)~0ull, 8), -EFAULT);
	EXPECT_EQ(copy_from_user(back, (void *)BASE, ~0ull - 10), -EFAULT);
	EXPECT_EQ(clear_user((void *)DIRECT_MAP, 8), -EFAULT);
	EXPECT_EQ(get_user_u32(&w32, (void *)(USER_END - 2)), -EFAULT);
	EXPECT_EQ(put_user_u32((void *)(USER_END - 4), 0x41414141), 0);
	EXPECT_EQ(get_user_u32(&w32, (void *)(USER_END - 4)), 0);
	EXPECT_EQ(w32, 0x41414141);
	EXPECT_EQ(put_user_u64((void *)BASE, 0x123456789abcdef0ull), 0);
	EXPECT_EQ(get_user_u64(&w64, (void *)BASE), 0);
	EXPECT_EQ(w64, 0x123456789abcdef0ull);

	/* Strings: whole, too long, without an end, across pages. */
	EXPECT_EQ(copy_to_user((void *)(BASE + PAGE_SIZE - 4), "jiffies", 8), 0);
	EXPECT_EQ(copy_string_from_user(text, (void *)(BASE + PAGE_SIZE - 4), sizeof(text)), 7);
	EXPECT(!strcmp(text, "jiffies"));
	EXPECT_EQ(copy_string_from_user(text, (void *)(BASE + PAGE_SIZE - 4), 8), 7);
	EXPECT_EQ(copy_string_from_user(text, (void *)(BASE + PAGE_SIZE - 4), 7), -ENAMETOOLONG);
	EXPECT_EQ(copy_string_from_user(text, (void *)(BASE + PAGE_SIZE - 4), 0), -ENAMETOOLONG);
	EXPECT_EQ(copy_to_user((void *)(BASE + 4 * PAGE_SIZE - 4), "xxxx", 4), 0);
	EXPECT_EQ(copy_string_from_user(text, (void *)(BASE + 4 * PAGE_SIZE - 4), sizeof(text)),
		  -EFAULT);
	EXPECT_EQ(copy_string_from_user(text, (void *)(USER_END - 4), sizeof(text)), -EFAULT);
	EXPECT_EQ(copy_string_from_user(text, text, sizeof(text)), -EFAULT);

	/* With preemption off nothing is faulted in. */
	EXPECT_EQ(mm_discard(mm, BASE, PAGE_SIZE), 0);
	preempt_disable();
	EXPECT_EQ(get_user_u32(&w32, (void *)BASE), -EFAULT);
	preempt_enable();
	EXPECT_EQ(get_user_u32(&w32, (void *)BASE), 0);
	EXPECT_EQ(w32, 0);

	/* Out of memory in the middle of a copy. */
	EXPECT_EQ(mm_discard(mm, BASE, PAGE_SIZE), 0);
	page_alloc_fail_after(0);
	EXPECT_EQ(copy_to_user((void *)BASE, buf, 8), -EFAULT);
	page_alloc_fail_after(-1);
	EXPECT_EQ(copy_to_user((void *)BASE, buf, 8), 0);
	test_leave(false);
	mm_put(mm);
	kfree(buf, 3 * PAGE_SIZE);
	kfree(back, 3 * PAGE_SIZE);
}

/*
 * The controller maps a page, writes to it, unmaps it, and at once fills free frames with poison: it gets back the frame that
 * was just unmapped. A CPU that still had its translation would read the poison.
 */
static void stale_reader(struct test_crew *crew, unsigned cpu)
{
	u64 reads = 0, v;

	while (!crew->stop) {
		v = 0;
		if (!get_user_u64(&v, (const u64 *)BASE))
			reads++;
		if (!EXPECT(v != POISON_WORD))
			break;
		if (cpu & 1) { /* these CPUs answer from a wait loop with interrupts off */
			u64 flags = irq_save();

			for (unsigned i = 0; i < 200; i++)
				spin_wait();
			irq_restore(flags);
		}
	}
	__atomic_add_fetch(&crew->shared, reads, __ATOMIC_RELAXED);
}

SELFTEST(shootdown_stale)
{
	static struct test_crew crew;
	u64 frames[8], before, end;
	unsigned round;
	struct mm *mm;

	if (cpus_online < 2) {
		selftest_skip("needs 2 CPUs");
		return;
	}
	test_pin(0);
	mm = mm_create();
	before = test_free_pages();
	if (!EXPECT(mm))
		return;
	test_crew_init(&crew, stale_reader, mm, NULL);
	test_enter(mm);
	if (!test_crew_start(&crew, 1))
		return;
	while (__atomic_load_n(&crew.ready, __ATOMIC_SEQ_CST) < cpus_online - 1)
		selftest_sleep_ns(NSEC_PER_MSEC);
	end = machine_now() + 3 * NSEC_PER_SEC;
	for (round = 0; test_go_on(round, 20, 1500, end); round++) {
		EXPECT_EQ(mm_map(mm, BASE, PAGE_SIZE, RW, NULL, 0), 0);
		EXPECT_EQ(put_user_u64((u64 *)BASE, round + 1), 0);
		if (round % 64 == 0)
			selftest_sleep_ns(NSEC_PER_MSEC); /* time for the others to read */
		else
			for (unsigned i = 0; i < 50; i++)
				spin_wait();
		if (round % 3 == 0)
			EXPECT_EQ(mm_discard(mm, BASE, PAGE_SIZE), 0);
		else
			EXPECT_EQ(mm_unmap(mm, BASE, PAGE_SIZE), 0);
		for (unsigned i = 0; i < 8; i++) {
			frames[i] = page_alloc(0);
			if (frames[i])
				*(u64 *)phys_to_virt(frames[i]) = POISON_WORD;
		}
		for (unsigned i = 0; i < 50; i++)
			spin_wait();
		for (unsigned i = 0; i < 8; i++) {
			if (frames[i]) {
				*(u64 *)phys_to_virt(frames[i]) = 0;
				page_free(frames[i], 0);
			}
		}
	}
	crew.stop = 1;
	test_crew_join(&crew);
	EXPECT(crew.shared > 0);
	selftest_note("%u rounds, %llu reads by %u CPUs", round, (unsigned long long)crew.shared,
		      cpus_online - 1);
	test_leave(false);
	mm_put(mm);
	test_expect_free(before + 1, 2 * cpus_online + 8, "shootdown_stale");
	test_unpin();
}

/*
 * CPUs that wait with interrupts off for something that comes only after the unmapping is complete: the interrupt cannot reach
 * them, so their wait loop must answer. If it does not, the unmapping CPU and they wait for each other.
 */
#define DEAF_ROUNDS 20u

static void wait_deaf(struct test_crew *crew, unsigned cpu)
{
	for (u64 round = 0; round < DEAF_ROUNDS && !crew->stop; round++) {
		u64 flags, limit, v;

		get_user_u64(&v, (const u64 *)BASE);
		flags = irq_save();
		__atomic_add_fetch(&crew->arrived, 1, __ATOMIC_SEQ_CST);
		limit = machine_now() + 20 * NSEC_PER_SEC;
		while (READ_ONCE(crew->shared) == round && machine_now() < limit)
			spin_wait();
		if (!EXPECT(READ_ONCE(crew->shared) != round))
			crew->stop = 1;
		irq_restore(flags);
	}
}

SELFTEST(shootdown_interrupts_off)
{
	static struct test_crew crew;
	struct mm *mm;
	unsigned n;

	if (cpus_online < 2) {
		selftest_skip("needs 2 CPUs");
		return;
	}
	test_pin(0);
	mm = mm_create();
	if (!EXPECT(mm))
		return;
	test_crew_init(&crew, wait_deaf, mm, NULL);
	n = test_crew_start(&crew, 1);
	for (unsigned round = 0; round < DEAF_ROUNDS && !crew.stop; round++) {
		EXPECT_EQ(mm_map(mm, BASE, PAGE_SIZE, RW, NULL, 0), 0);
		while (__atomic_load_n(&crew.arrived, __ATOMIC_SEQ_CST) < n * (round + 1) &&
		       !crew.stop)
			selftest_sleep_ns(100 * NSEC_PER_USEC);
		EXPECT_EQ(mm_unmap(mm, BASE, PAGE_SIZE), 0);
		shootdown(mm); /* also where nobody had touched the page */
		WRITE_ONCE(crew.shared, round + 1);
	}
	test_crew_join(&crew);
	mm_put(mm);
	test_unpin();
}

/* All CPUs map, use and unmap their own piece of one address space; every unmapping must be seen by its own CPU at once. */
static void unmap_storm(struct test_crew *crew, unsigned cpu)
{
	u64 at = BASE + cpu * 0x400000ull, v, end = machine_now() + 3 * NSEC_PER_SEC;

	for (unsigned round = 0; test_go_on(round, 5, 300, end); round++) {
		if (!EXPECT_EQ(mm_map(crew->mm, at, 3 * PAGE_SIZE, RW, NULL, 0), 0))
			return;
		for (unsigned i = 0; i < 3; i++)
			EXPECT_EQ(put_user_u64((u64 *)(at + i * PAGE_SIZE), at + i + round), 0);
		EXPECT_EQ(mm_protect(crew->mm, at, PAGE_SIZE, VM_READ), 0);
		EXPECT_EQ(put_user_u64((u64 *)at, 0), -EFAULT);
		for (unsigned i = 0; i < 3; i++) {
			EXPECT_EQ(get_user_u64(&v, (u64 *)(at + i * PAGE_SIZE)), 0);
			EXPECT_EQ(v, at + i + round);
		}
		EXPECT_EQ(mm_unmap(crew->mm, at, 3 * PAGE_SIZE), 0);
		EXPECT_EQ(get_user_u64(&v, (u64 *)at), -EFAULT);
		EXPECT_EQ(get_user_u64(&v, (u64 *)(at + 2 * PAGE_SIZE)), -EFAULT);
	}
}

SELFTEST(shootdown_storm)
{
	static struct test_crew crew;
	struct mm *mm = mm_create();

	if (!EXPECT(mm))
		return;
	test_crew_init(&crew, unmap_storm, mm, NULL);
	test_crew_start(&crew, 0);
	test_crew_join(&crew);
	EXPECT_EQ(mm->nr_pages, 0);
	EXPECT_EQ(page_of(mm->pml4)->entries, 0);
	mm_put(mm);
}

/* While the parent's threads write on all CPUs, children are forked: a child must never see a later write of the parent. */
static void fork_writer(struct test_crew *crew, unsigned cpu)
{
	u64 n = 0, *mine = (u64 *)(BASE + cpu * PAGE_SIZE);

	while (!crew->stop) {
		n++;
		/* Two words, written in this order: a frozen copy shows a == b or a == b + 1, and never changes. */
		EXPECT_EQ(put_user_u64(mine, n), 0);
		EXPECT_EQ(put_user_u64(mine + 1, n), 0);
	}
	__atomic_add_fetch(&crew->shared, n, __ATOMIC_RELAXED);
}

SELFTEST(fork_while_writing)
{
	static struct test_crew crew;
	u64 pair[2], again[2], before = test_free_pages(), end;
	struct mm *mm = mm_create(), *child;

	if (!EXPECT(mm))
		return;
	EXPECT_EQ(mm_map(mm, BASE, MAX_CPUS * PAGE_SIZE, RW, NULL, 0), 0);
	test_crew_init(&crew, fork_writer, mm, NULL);
	test_crew_start(&crew, 0);
	while (__atomic_load_n(&crew.ready, __ATOMIC_SEQ_CST) < cpus_online)
		selftest_sleep_ns(NSEC_PER_MSEC);
	end = machine_now() + 3 * NSEC_PER_SEC;
	for (unsigned round = 0; test_go_on(round, 5, 40, end); round++) {
		child = mm_fork(mm);
		if (!EXPECT(child))
			break;
		for (unsigned pass = 0; pass < 2; pass++) {
			for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
				u64 at = BASE + cpu * PAGE_SIZE;

				if (mm_read(child, at, pair, 16) != 16)
					continue; /* not written yet when it was forked */
				EXPECT(pair[0] == pair[1] || pair[0] == pair[1] + 1);
				for (unsigned i = 0; i < 100; i++)
					spin_wait();
				EXPECT_EQ(mm_read(child, at, again, 16), 16);
				EXPECT(pair[0] == again[0] && pair[1] == again[1]);
			}
			selftest_sleep_ns(NSEC_PER_MSEC);
		}
		mm_put(child);
	}
	crew.stop = 1;
	test_crew_join(&crew);
	EXPECT(crew.shared > 100);
	mm_put(mm);
	test_expect_free(before, 4 * cpus_online + 8, "fork_while_writing");
}

static void touch_and_end(struct test_crew *crew, unsigned cpu)
{
	EXPECT_EQ(put_user_u64((u64 *)(BASE + cpu * PAGE_SIZE), cpu), 0);
}

/* The crew ends and leaves its CPUs idle in the address space; destroying it must fetch them out first. */
SELFTEST(mm_destroy_lazy)
{
	static struct test_crew crew;
	u64 before = 0, end;
	struct mm *mm;

	end = machine_now() + 2 * NSEC_PER_SEC;
	for (unsigned round = 0; test_go_on(round, 3, 20, end); round++) {
		if (round == 1)
			before = test_free_pages();
		mm = mm_create();
		if (!EXPECT(mm))
			return;
		EXPECT_EQ(mm_map(mm, BASE, MAX_CPUS * PAGE_SIZE, RW, NULL, 0), 0);
		test_crew_init(&crew, touch_and_end, mm, NULL);
		test_crew_start(&crew, 0);
		test_crew_join(&crew);
		mm_put(mm);
		for (unsigned i = 0; i < cpus_present; i++)
			EXPECT(READ_ONCE(cpus[i]->mm) != mm);
	}
	test_expect_free(before, 2 * cpus_online, "mm_destroy_lazy");
}

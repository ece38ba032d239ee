/* SPDX-License-Identifier: MIT
 *
 * Self-tests of address spaces: mapping, protection, copy on write, growth, running out of memory, write-xor-execute. Most
 * look at an address space from outside, through mm_write(), mm_read() and the page tables.
 */
#include "mm/test.h"

#define BASE 0x10000000ull
#define RW   (VM_READ | VM_WRITE)

static u32 vma_count(struct mm *mm)
{
	struct vma *v;
	u32 n = 0;
	u64 end = 0;

	spin_lock(&mm->lock);
	list_for_each (v, &mm->vmas, link) {
		EXPECT(v->start >= end && v->end > v->start); /* sorted, disjoint */
		end = v->end;
		n++;
	}
	spin_unlock(&mm->lock);
	return n;
}

static u64 peek(struct mm *mm, u64 addr)
{
	u64 v = 0xdeadbeef;

	EXPECT_EQ(mm_read(mm, addr, &v, sizeof(v)), sizeof(v));
	return v;
}

static int poke(struct mm *mm, u64 addr, u64 v)
{
	return mm_write(mm, addr, &v, sizeof(v));
}

static pte_t entry(struct mm *mm, u64 addr)
{
	pte_t *p = table_pte(mm, addr, false);

	return p ? *p : 0;
}

SELFTEST(mm_demand_zero)
{
	u64 before, phys;
	struct mm *mm;

	test_pin(0);
	mm_put(mm_create());
	before = test_free_pages();
	mm = mm_create();
	if (!EXPECT(mm))
		return;
	EXPECT_EQ(mm_map(mm, BASE, 1000 * PAGE_SIZE, RW, NULL, 0), 0);
	EXPECT_EQ(mm->nr_pages, 0);
	EXPECT_EQ(entry(mm, BASE), 0);
	EXPECT_EQ(mm_translate(mm, BASE + 5 * PAGE_SIZE + 8, false, &phys), 0);
	EXPECT_EQ(phys & ~PAGE_MASK, 8);
	EXPECT_EQ(*(u64 *)phys_to_virt(phys), 0);
	EXPECT_EQ(mm->nr_pages, 1);
	EXPECT_EQ(poke(mm, BASE + 6 * PAGE_SIZE - 4, 0x1122334455667788ull),
		  0); /* across a boundary */
	EXPECT_EQ(peek(mm, BASE + 6 * PAGE_SIZE - 4), 0x1122334455667788ull);
	EXPECT_EQ(mm->nr_pages, 2);
	EXPECT_EQ(poke(mm, BASE - 8, 1), -EFAULT);
	EXPECT_EQ(poke(mm, BASE + 1000 * PAGE_SIZE, 1), -EFAULT);
	EXPECT_EQ(poke(mm, USER_END - 4, 1), -EFAULT);
	EXPECT_EQ(poke(mm, DIRECT_MAP, 1), -EFAULT);
	/* Forgotten contents read as zero. */
	EXPECT_EQ(mm_discard(mm, BASE, 10 * PAGE_SIZE), 0);
	EXPECT_EQ(mm->nr_pages, 0);
	EXPECT_EQ(mm_translate(mm, BASE + 6 * PAGE_SIZE, false, &phys), 0);
	EXPECT_EQ(peek(mm, BASE + 6 * PAGE_SIZE), 0);
	mm_put(mm);
	test_expect_free(before, 0, "mm_demand_zero");
	test_unpin();
}

SELFTEST(mm_map_split)
{
	u64 before, objects;
	struct mm *mm;

	test_pin(0);
	mm_put(mm_create());
	before = test_free_pages();
	objects = test_objects();
	mm = mm_create();
	if (!EXPECT(mm))
		return;
	EXPECT_EQ(mm_map(mm, BASE, 0, RW, NULL, 0), -EINVAL);
	EXPECT_EQ(mm_map(mm, BASE + 1, PAGE_SIZE, RW, NULL, 0), -EINVAL);
	EXPECT_EQ(mm_map(mm, 0, PAGE_SIZE, RW, NULL, 0), -EINVAL);
	EXPECT_EQ(mm_map(mm, USER_END, PAGE_SIZE, RW, NULL, 0), -EINVAL);
	EXPECT_EQ(mm_map(mm, BASE, ~0ull & PAGE_MASK, RW, NULL, 0), -EINVAL);
	EXPECT_EQ(mm_map(mm, BASE, PAGE_SIZE, RW | VM_EXEC, NULL, 0), -EACCES);
	EXPECT_EQ(mm_map(mm, BASE, 10 * PAGE_SIZE, RW, NULL, 0), 0);
	for (unsigned i = 0; i < 10; i++)
		EXPECT_EQ(poke(mm, BASE + i * PAGE_SIZE, 100 + i), 0);
	/* A hole in the middle. */
	EXPECT_EQ(mm_unmap(mm, BASE + 4 * PAGE_SIZE, 2 * PAGE_SIZE), 0);
	EXPECT_EQ(vma_count(mm), 2);
	EXPECT_EQ(mm->nr_pages, 8);
	EXPECT_EQ(poke(mm, BASE + 4 * PAGE_SIZE, 1), -EFAULT);
	EXPECT_EQ(peek(mm, BASE + 3 * PAGE_SIZE), 103);
	EXPECT_EQ(peek(mm, BASE + 6 * PAGE_SIZE), 106);
	EXPECT_EQ(mm_find_free(mm, BASE + 4 * PAGE_SIZE, 2 * PAGE_SIZE), BASE + 4 * PAGE_SIZE);
	EXPECT(mm_find_free(mm, BASE + 4 * PAGE_SIZE, 3 * PAGE_SIZE) != BASE + 4 * PAGE_SIZE);
	/* Filled again it is one mapping, and the new part is empty. */
	EXPECT_EQ(mm_map(mm, BASE + 4 * PAGE_SIZE, 2 * PAGE_SIZE, RW, NULL, 0), 0);
	EXPECT_EQ(vma_count(mm), 1);
	EXPECT_EQ(poke(mm, BASE + 4 * PAGE_SIZE + 8, 1), 0);
	EXPECT_EQ(peek(mm, BASE + 4 * PAGE_SIZE), 0);
	/* Mapping over something replaces it. */
	EXPECT_EQ(mm_map(mm, BASE + 8 * PAGE_SIZE, 4 * PAGE_SIZE, VM_READ, NULL, 0), 0);
	EXPECT_EQ(vma_count(mm), 2);
	EXPECT_EQ(poke(mm, BASE + 9 * PAGE_SIZE, 1), -EFAULT);
	EXPECT_EQ(peek(mm, BASE + 7 * PAGE_SIZE), 107);
	/* Both ends cut, and what lies between swallowed. */
	EXPECT_EQ(mm_unmap(mm, BASE + 7 * PAGE_SIZE, 3 * PAGE_SIZE), 0);
	EXPECT_EQ(vma_count(mm), 2);
	EXPECT_EQ(mm_unmap(mm, USER_MIN, USER_END - USER_MIN), 0);
	EXPECT_EQ(vma_count(mm), 0);
	EXPECT_EQ(mm->nr_pages, 0);
	EXPECT_EQ(page_of(mm->pml4)->entries, 0); /* the tables have gone too */
	mm_put(mm);
	test_expect_free(before, 0, "mm_map_split");
	EXPECT_EQ(test_objects(), objects);
	test_unpin();
}

SELFTEST(mm_find_free)
{
	struct mm *mm = mm_create();
	u64 a, b, stack = USER_END - 0x100000;

	if (!EXPECT(mm))
		return;
	EXPECT_EQ(mm_map(mm, stack, 4 * PAGE_SIZE, RW | VM_GROWSDOWN, NULL, stack - 0x700000), 0);
	a = mm_find_free(mm, 0, 0x400000);
	EXPECT(a &&
	       a + 0x400000 <= stack - 0x700000 - STACK_GAP); /* the space above is too small */
	EXPECT_EQ(mm_map(mm, a, 0x400000, RW, NULL, 0), 0);
	b = mm_find_free(mm, a, 0x400000);
	EXPECT_EQ(b, a - 0x400000);
	EXPECT_EQ(mm_find_free(mm, stack - 0x300000, PAGE_SIZE),
		  USER_END - PAGE_SIZE); /* not in the stack's way */
	EXPECT_EQ(mm_find_free(mm, 0, USER_END), 0);
	EXPECT_EQ(mm_find_free(mm, 0, USER_END - 0x600000), 0);
	EXPECT_EQ(mm_find_free(mm, BASE, 123), BASE);
	EXPECT_EQ(mm_find_free(mm, DIRECT_MAP, PAGE_SIZE), USER_END - PAGE_SIZE);
	mm_put(mm);
}

SELFTEST(mm_protect)
{
	struct mm *mm = mm_create();
	pte_t e;

	if (!EXPECT(mm))
		return;
	EXPECT_EQ(mm_map(mm, BASE, 8 * PAGE_SIZE, RW, NULL, 0), 0);
	for (unsigned i = 0; i < 8; i++)
		EXPECT_EQ(poke(mm, BASE + i * PAGE_SIZE, i + 1), 0);
	EXPECT_EQ(mm_protect(mm, BASE + 2 * PAGE_SIZE, 3 * PAGE_SIZE, VM_READ), 0);
	EXPECT_EQ(vma_count(mm), 3);
	EXPECT_EQ(poke(mm, BASE + 1 * PAGE_SIZE, 20), 0);
	EXPECT_EQ(poke(mm, BASE + 2 * PAGE_SIZE, 20), -EFAULT);
	EXPECT_EQ(poke(mm, BASE + 4 * PAGE_SIZE, 20), -EFAULT);
	EXPECT_EQ(poke(mm, BASE + 5 * PAGE_SIZE, 20), 0);
	EXPECT(!(entry(mm, BASE + 2 * PAGE_SIZE) & PTE_W));
	/* No access: the contents stay. */
	EXPECT_EQ(mm_protect(mm, BASE + 3 * PAGE_SIZE, PAGE_SIZE, 0), 0);
	e = entry(mm, BASE + 3 * PAGE_SIZE);
	EXPECT(e && !(e & PTE_P));
	EXPECT_EQ(mm_handle_fault(mm, BASE + 3 * PAGE_SIZE, false, false), -EACCES);
	EXPECT_EQ(mm_protect(mm, BASE + 3 * PAGE_SIZE, PAGE_SIZE, VM_READ | VM_EXEC), 0);
	EXPECT_EQ(peek(mm, BASE + 3 * PAGE_SIZE), 4);
	EXPECT_EQ(mm_handle_fault(mm, BASE + 3 * PAGE_SIZE, false, true), 0);
	EXPECT_EQ(mm_handle_fault(mm, BASE + 2 * PAGE_SIZE, false, true), -EACCES);
	EXPECT(!(entry(mm, BASE + 3 * PAGE_SIZE) & PTE_NX));
	EXPECT_EQ(entry(mm, BASE + 2 * PAGE_SIZE) & mmu_nx, mmu_nx);
	/* Everything back as it was: one mapping again. */
	EXPECT_EQ(mm_protect(mm, BASE, 8 * PAGE_SIZE, RW), 0);
	EXPECT_EQ(vma_count(mm), 1);
	for (unsigned i = 0; i < 8; i++)
		EXPECT_EQ(poke(mm, BASE + i * PAGE_SIZE + 8, i), 0);
	EXPECT_EQ(peek(mm, BASE + 2 * PAGE_SIZE), 3);
	EXPECT_EQ(mm_protect(mm, BASE, 8 * PAGE_SIZE, RW | VM_EXEC), -EACCES);
	EXPECT_EQ(mm_protect(mm, BASE + 7 * PAGE_SIZE, 2 * PAGE_SIZE, VM_READ), -ENOMEM);
	EXPECT_EQ(poke(mm, BASE + 7 * PAGE_SIZE, 20), 0); /* nothing changed */
	EXPECT_EQ(mm_map(mm, BASE, PAGE_SIZE, VM_READ | VM_NOWRITE, NULL, 0), 0);
	EXPECT_EQ(mm_protect(mm, BASE, 2 * PAGE_SIZE, RW), -EACCES);
	mm_put(mm);
}

SELFTEST(mm_fork_cow)
{
	u64 before, objects, p1, p2, old;
	struct mm *a, *b, *c;

	test_pin(0);
	mm_put(mm_create());
	before = test_free_pages();
	objects = test_objects();
	a = mm_create();
	if (!EXPECT(a))
		return;
	EXPECT_EQ(mm_map(a, BASE, 16 * PAGE_SIZE, RW, NULL, 0), 0);
	EXPECT_EQ(mm_map(a, BASE + 32 * PAGE_SIZE, PAGE_SIZE, RW | VM_SHARED, NULL, 0), 0);
	for (unsigned i = 0; i < 8; i++)
		EXPECT_EQ(poke(a, BASE + i * PAGE_SIZE, i), 0);
	EXPECT_EQ(poke(a, BASE + 32 * PAGE_SIZE, 77), 0);
	EXPECT_EQ(mm_protect(a, BASE + 7 * PAGE_SIZE, PAGE_SIZE, 0), 0);
	b = mm_fork(a);
	if (!EXPECT(b))
		return;
	EXPECT_EQ(b->nr_pages, a->nr_pages);
	EXPECT_EQ(vma_count(b), vma_count(a));
	/* One frame, two references, writable for neither. */
	EXPECT_EQ(mm_translate(a, BASE, false, &p1), 0);
	EXPECT_EQ(mm_translate(b, BASE, false, &p2), 0);
	EXPECT_EQ(p1, p2);
	EXPECT_EQ(page_refs(p1 & PAGE_MASK), 2);
	EXPECT(!(entry(a, BASE) & PTE_W) && !(entry(b, BASE) & PTE_W));
	/* The child's write is its own. */
	old = p1;
	EXPECT_EQ(poke(b, BASE, 1000), 0);
	EXPECT_EQ(peek(a, BASE), 0);
	EXPECT_EQ(peek(b, BASE), 1000);
	EXPECT_EQ(mm_translate(b, BASE, false, &p2), 0);
	EXPECT(p2 != old);
	EXPECT_EQ(page_refs(old), 1);
	EXPECT_EQ(page_refs(p2), 1);
	/* The parent is alone with the old frame now and keeps it without a copy. */
	EXPECT_EQ(poke(a, BASE, 2000), 0);
	EXPECT_EQ(mm_translate(a, BASE, false, &p1), 0);
	EXPECT_EQ(p1, old);
	EXPECT_EQ(peek(b, BASE), 1000);
	/* The parent's write is its own. */
	EXPECT_EQ(poke(a, BASE + PAGE_SIZE, 3000), 0);
	EXPECT_EQ(peek(b, BASE + PAGE_SIZE), 1);
	/* What nobody may access was copied too, and is separate when it becomes writable. */
	EXPECT_EQ(mm_protect(a, BASE + 7 * PAGE_SIZE, PAGE_SIZE, RW), 0);
	EXPECT_EQ(mm_protect(b, BASE + 7 * PAGE_SIZE, PAGE_SIZE, RW), 0);
	EXPECT_EQ(poke(a, BASE + 7 * PAGE_SIZE, 70), 0);
	EXPECT_EQ(peek(b, BASE + 7 * PAGE_SIZE), 7);
	/* Shared memory stays shared. */
	EXPECT_EQ(poke(b, BASE + 32 * PAGE_SIZE, 78), 0);
	EXPECT_EQ(peek(a, BASE + 32 * PAGE_SIZE), 78);
	/* A third generation, and the middle one dies first. */
	c = mm_fork(b);
	if (!EXPECT(c))
		return;
	EXPECT_EQ(mm_translate(c, BASE + 2 * PAGE_SIZE, false, &p1), 0);
	EXPECT_EQ(page_refs(p1 & PAGE_MASK), 3);
	mm_put(b);
	EXPECT_EQ(page_refs(p1 & PAGE_MASK), 2);
	EXPECT_EQ(poke(c, BASE + 2 * PAGE_SIZE, 222), 0);
	EXPECT_EQ(peek(a, BASE + 2 * PAGE_SIZE), 2);
	EXPECT_EQ(peek(c, BASE), 1000);
	EXPECT_EQ(peek(c, BASE + 32 * PAGE_SIZE), 78);
	mm_put(a);
	EXPECT_EQ(peek(c, BASE + 3 * PAGE_SIZE), 3);
	mm_put(c);
	test_expect_free(before, 0, "mm_fork_cow");
	EXPECT_EQ(test_objects(), objects);
	test_unpin();
}

SELFTEST(mm_stack_brk)
{
	u64 top = 0x7fff00000000ull, limit = top - 0x100000, before;
	struct mm *mm;

	test_pin(0);
	mm_put(mm_create());
	before = test_free_pages();
	mm = mm_create();
	if (!EXPECT(mm))
		return;
	EXPECT_EQ(mm_map(mm, top - PAGE_SIZE, PAGE_SIZE, RW | VM_GROWSDOWN, NULL, limit), 0);
	EXPECT_EQ(poke(mm, top - 8, 1), 0);
	EXPECT_EQ(poke(mm, top - 0x20000, 2), 0); /* grows */
	EXPECT_EQ(mm->nr_pages, 2);
	EXPECT_EQ(poke(mm, limit, 3), 0);
	EXPECT_EQ(poke(mm, limit - 8, 4), -EFAULT);
	EXPECT_EQ(poke(mm, top, 5), -EFAULT);
	mm_put(mm);

	mm = mm_create();
	if (!EXPECT(mm))
		return;
	/* Growth stops a gap short of what lies below. */
	EXPECT_EQ(mm_map(mm, top - PAGE_SIZE, PAGE_SIZE, RW | VM_GROWSDOWN, NULL, top - 0x800000),
		  0);
	EXPECT_EQ(mm_map(mm, top - 0x300000, PAGE_SIZE, RW, NULL, 0), 0);
	EXPECT_EQ(poke(mm, top - 0x300000 + PAGE_SIZE + STACK_GAP, 1), 0);
	EXPECT_EQ(poke(mm, top - 0x300000 + STACK_GAP, 1), -EFAULT);

	mm->brk_start = mm->brk = BASE + 100;
	EXPECT_EQ(mm_brk(mm, 0), BASE + 100);
	EXPECT_EQ(mm_brk(mm, BASE + 5000), BASE + 5000);
	EXPECT_EQ(poke(mm, BASE + 0x1008, 1), 0);
	EXPECT_EQ(mm_brk(mm, BASE + 0x100000), BASE + 0x100000);
	EXPECT_EQ(poke(mm, BASE + 0xffff8, 9), 0);
	EXPECT_EQ(mm_brk(mm, BASE + 0x80000), BASE + 0x80000);
	EXPECT_EQ(poke(mm, BASE + 0xffff8, 9), -EFAULT);
	EXPECT_EQ(mm_map(mm, BASE + 0x90000, PAGE_SIZE, RW, NULL, 0), 0);
	EXPECT_EQ(mm_brk(mm, BASE + 0x91000), BASE + 0x80000); /* in the way */
	EXPECT_EQ(mm_brk(mm, DIRECT_MAP), BASE + 0x80000);
	mm_put(mm);
	test_expect_free(before, 0, "mm_stack_brk");
	test_unpin();
}

/* An object of 40 pages that lie one after the other, as a file of the boot archive; the last has 100 bytes of content. */
#define FILE_PAGES 40u
static u64 file_phys; /* a block of 64 pages */
static u32 file_calls, file_releases;

static int file_page(struct vm_object *o, u64 offset, u64 *phys, bool *device, u64 *valid)
{
	u64 index = offset >> PAGE_SHIFT;

	if (index >= FILE_PAGES)
		return -EFAULT;
	file_calls++;
	*phys = file_phys + offset;
	*device = true;
	*valid = index == FILE_PAGES - 1 ? 100 : PAGE_SIZE;
	return 0;
}

static void file_release(struct vm_object *o)
{
	file_releases++;
}

static const struct vm_object_ops file_ops = {.page = file_page, .release = file_release};

SELFTEST(mm_file)
{
	struct vm_object file = {.ops = &file_ops, .refs = 1};
	u64 before = test_free_pages(), phys;
	struct mm *mm, *child;

	file_phys = page_alloc(6);
	if (!EXPECT(file_phys))
		return;
	memset(phys_to_virt(file_phys), 0, FILE_PAGES * PAGE_SIZE);
	for (unsigned i = 0; i < FILE_PAGES; i++)
		*(u64 *)phys_to_virt(file_phys + i * PAGE_SIZE) = 500 + i;
	memset((char *)phys_to_virt(file_phys + (FILE_PAGES - 1) * PAGE_SIZE) + 100, 0xff,
	       PAGE_SIZE - 100);
	file_releases = 0;
	mm = mm_create();
	if (!EXPECT(mm))
		return;
	EXPECT_EQ(mm_map(mm, BASE, 50 * PAGE_SIZE, RW, &file, 0), 0);
	EXPECT_EQ(file.refs, 2);
	/* One fault maps the window of 16. */
	EXPECT_EQ(mm_translate(mm, BASE + 20 * PAGE_SIZE, false, &phys), 0);
	EXPECT_EQ(phys, file_phys + 20 * PAGE_SIZE);
	EXPECT_EQ(mm->nr_pages, 16);
	EXPECT_EQ(peek(mm, BASE + 31 * PAGE_SIZE), 531);
	EXPECT_EQ(entry(mm, BASE + 32 * PAGE_SIZE), 0);
	/* A write gets a private copy. */
	EXPECT_EQ(poke(mm, BASE + 20 * PAGE_SIZE, 1), 0);
	EXPECT_EQ(poke(mm, BASE + 2 * PAGE_SIZE + 8, 1), 0);
	EXPECT_EQ(peek(mm, BASE + 2 * PAGE_SIZE), 502);
	EXPECT_EQ(*(u64 *)phys_to_virt(file_phys + 20 * PAGE_SIZE), 520);
	EXPECT_EQ(*(u64 *)phys_to_virt(file_phys + 2 * PAGE_SIZE + 8), 0);
	/* The end of the file reads as zero, beyond is nothing. */
	EXPECT_EQ(mm_translate(mm, BASE + 39 * PAGE_SIZE, false, &phys), 0);
	EXPECT_EQ(peek(mm, BASE + 39 * PAGE_SIZE), 539);
	EXPECT_EQ(peek(mm, BASE + 39 * PAGE_SIZE + 104), 0);
	EXPECT_EQ(mm_handle_fault(mm, BASE + 40 * PAGE_SIZE, false, false), -EFAULT);
	child = mm_fork(mm);
	if (EXPECT(child)) {
		EXPECT_EQ(poke(child, BASE + 20 * PAGE_SIZE, 2), 0);
		EXPECT_EQ(peek(mm, BASE + 20 * PAGE_SIZE), 1);
		EXPECT_EQ(poke(child, BASE + 21 * PAGE_SIZE, 2), 0);
		EXPECT_EQ(peek(mm, BASE + 21 * PAGE_SIZE), 521);
		mm_put(child);
	}
	/* Cut in two, each part knows where in the file it is. */
	EXPECT_EQ(mm_unmap(mm, BASE + 10 * PAGE_SIZE, PAGE_SIZE), 0);
	EXPECT_EQ(file.refs, 3);
	EXPECT_EQ(mm_translate(mm, BASE + 11 * PAGE_SIZE, false, &phys), 0);
	EXPECT_EQ(phys, file_phys + 11 * PAGE_SIZE);
	mm_put(mm);
	EXPECT_EQ(file.refs, 1);
	EXPECT_EQ(file_releases, 0);
	vm_object_put(&file);
	EXPECT_EQ(file_releases, 1);
	page_free(file_phys, 6);
	test_expect_free(before, cpus_online, "mm_file");
}

static struct mm *busy_space(void)
{
	struct mm *mm = mm_create();

	if (!mm)
		return NULL;
	for (unsigned i = 0; i < 6; i++) { /* far apart: many tables */
		u64 at = BASE + ((u64)i << 31);

		if (mm_map(mm, at, 4 * PAGE_SIZE, RW, NULL, 0) || poke(mm, at, 1000 + i) ||
		    mm_map(mm, at + 16 * PAGE_SIZE, PAGE_SIZE, RW | VM_SHARED, NULL, 0) ||
		    poke(mm, at + 16 * PAGE_SIZE, 2000 + i)) {
			mm_put(mm);
			return NULL;
		}
	}
	return mm;
}

/* Let every single allocation of each operation fail in turn: an error comes back, nothing is lost, nothing is changed. */
SELFTEST(mm_out_of_memory)
{
	struct mm *mm, *child;
	u64 before, objects;
	unsigned n;

	test_pin(0);
	mm = busy_space();
	if (!EXPECT(mm))
		return;
	mm_put(mm);
	before = test_free_pages();
	objects = test_objects();
	for (n = 0; n < 1000; n++) {
		page_alloc_fail_after(n);
		mm = busy_space();
		page_alloc_fail_after(-1);
		if (mm)
			break;
		test_expect_free(before, 0, "making an address space");
		if (!EXPECT_EQ(test_objects(), objects))
			break;
	}
	EXPECT(mm && n > 40);
	selftest_note("making an address space: %u allocations failed in turn", n);
	if (!mm)
		return;
	before = test_free_pages();
	objects = test_objects();
	child = NULL;
	for (n = 0; n < 1000; n++) {
		page_alloc_fail_after(n);
		child = mm_fork(mm);
		page_alloc_fail_after(-1);
		if (child)
			break;
		test_expect_free(before, 0, "fork");
		if (!EXPECT_EQ(test_objects(), objects))
			break;
		EXPECT_EQ(peek(mm, BASE), 1000);
		EXPECT_EQ(poke(mm, BASE + 8, n), 0); /* the parent goes on */
	}
	EXPECT(child && n > 20);
	selftest_note("fork: %u allocations failed in turn", n);
	if (!child)
		return;
	page_alloc_fail_after(0);
	EXPECT_EQ(poke(child, BASE, 5), -ENOMEM);	      /* a copy is due */
	EXPECT_EQ(poke(child, BASE + PAGE_SIZE, 5), -ENOMEM); /* demand zero */
	EXPECT_EQ(mm_protect(child, BASE + PAGE_SIZE, PAGE_SIZE, VM_READ), -ENOMEM);
	EXPECT_EQ(mm_unmap(child, BASE + PAGE_SIZE, PAGE_SIZE), -ENOMEM);
	EXPECT_EQ(mm_map(child, BASE + PAGE_SIZE, PAGE_SIZE, VM_READ, NULL, 0), -ENOMEM);
	EXPECT_EQ(kstack_alloc(), 0);
	EXPECT(!kmalloc(10));
	EXPECT(!cache_create("none", 100));
	EXPECT(!mm_create());
	page_alloc_fail_after(-1);
	EXPECT_EQ(vma_count(child), 12);
	EXPECT_EQ(peek(child, BASE), 1000);
	EXPECT_EQ(poke(child, BASE, 5), 0);
	EXPECT_EQ(peek(mm, BASE), 1000);
	mm_put(child);
	test_expect_free(before, 0, "after fork");
	mm_put(mm);
	test_unpin();
}

struct audit {
	u64 writable_exec, user, exec_pages, exec_outside_text, text_writable;
};

extern const char _text[], _etext[];

static void audit_level(struct audit *a, u64 table, u64 base, unsigned shift, bool writable,
			bool exec)
{
	const u64 *t = phys_to_virt(table);
	u64 text = virt_to_phys(_text), etext = virt_to_phys(_etext);

	for (u64 i = shift == 39 ? 256 : 0; i < 512; i++) {
		u64 e = t[i], virt = base + (i << shift);
		bool w = writable && (e & PTE_W), x = exec && !(e & PTE_NX);

		if (shift == 39)
			virt |= 0xffff000000000000ull;
		if (!(e & PTE_P))
			continue;
		if (e & PTE_U)
			a->user++;
		if (shift > PAGE_SHIFT && !(e & PTE_PS)) {
			audit_level(a, e & PTE_ADDR, virt, shift - 9, w, x);
			continue;
		}
		if (w && x)
			a->writable_exec++;
		if (x) {
			a->exec_pages++;
			if (virt < (u64)_text || virt >= (u64)_etext)
				a->exec_outside_text++;
		}
		/* Whatever maps a frame of the text, under any address. */
		if (w && (e & PTE_ADDR) < etext && (e & PTE_ADDR) + (1ull << shift) > text)
			a->text_writable++;
	}
}

SELFTEST(mm_write_xor_execute)
{
	struct audit a = {0};

	if (!mmu_nx) {
		selftest_skip("the CPU has no execute-disable bit");
		return;
	}
	audit_level(&a, kernel_pml4, 0, 39, true, true);
	EXPECT_EQ(a.writable_exec, 0);
	EXPECT_EQ(a.user, 0);
	EXPECT_EQ(a.exec_outside_text, 0);
	EXPECT_EQ(a.text_writable, 0);
	EXPECT_EQ(a.exec_pages, (u64)(_etext - _text) / PAGE_SIZE);
	EXPECT_EQ(*(const u64 *)phys_to_virt(kernel_pml4), 0); /* nothing left of the boot tables */
}

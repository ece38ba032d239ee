/* SPDX-License-Identifier: MIT
 *
 * Physical pages. Larger blocks come from the buddy system under one lock; single pages go through a stock of each CPU,
 * so that the common case touches nothing that CPUs share. Each stock has a lock of its own only so that a CPU that runs
 * out of memory can empty the stocks of the others: memory is out only when it is out everywhere.
 */
#include "mm/internal.h"

struct page *page_array;
struct mm_cpu *mm_cpus[MAX_CPUS];

static struct buddy buddy;
static spinlock_t buddy_lock = SPINLOCK_INIT("page", LOCK_PAGE); /* interrupts off */
static u64 total_pages;						 /* constant after start-up */

struct task *alloc_fail_task;
static s64 alloc_fail_left; /* by alloc_fail_task only */

void page_alloc_fail_after(s64 n)
{
	alloc_fail_left = n;
	WRITE_ONCE(alloc_fail_task, n < 0 ? NULL : current_task());
}

bool alloc_fails_now(void)
{
	if (alloc_fail_task != current_task() || in_interrupt())
		return false;
	if (alloc_fail_left == 0)
		return true;
	alloc_fail_left--;
	return false;
}

void page_init(struct page *pages, u64 nr)
{
	page_array = pages;
	buddy_init(&buddy, pages, nr);
}

void page_add(u64 start, u64 end)
{
	buddy_add(&buddy, start >> PAGE_SHIFT, end >> PAGE_SHIFT);
	total_pages += (end - start) >> PAGE_SHIFT;
}

/* Debug builds fill free pages, so that a use after free shows, and notice a page that is freed twice. */
static void debug_free(u64 phys, unsigned order)
{
#ifdef DEBUG
	KASSERT((phys >> PAGE_SHIFT) < buddy.nr && !(phys & (PAGE_SIZE - 1)));
	KASSERT(!(page_of(phys)->flags & (PG_FREE | PG_CACHED)));
	memset(phys_to_virt(phys), 0x6b, PAGE_SIZE << order);
#else
	(void)phys, (void)order;
#endif
}

static inline void debug_cached(u64 phys, bool on)
{
#ifdef DEBUG
	page_of(phys)->flags = on ? PG_CACHED : 0;
#else
	(void)phys, (void)on;
#endif
}

/* Context: interrupts off, @mc locked, its stock of pages empty. */
static __attribute__((noinline)) void refill(struct mm_cpu *mc)
{
	unsigned order = 4; /* CPU_BATCH pages at once if they are to be had */
	u64 frame = BUDDY_NONE;

	spin_lock_raw(&buddy_lock);
	while ((frame = buddy_alloc(&buddy, order)) == BUDDY_NONE && order > 0)
		order--;
	spin_unlock_raw(&buddy_lock);
	if (frame == BUDDY_NONE)
		return;
	/* The lowest frame on top: allocations in sequence get rising addresses. */
	for (u64 i = 1ull << order; i-- > 0;) {
		mc->pages[mc->nr_pages++] = (frame + i) << PAGE_SHIFT;
		debug_cached((frame + i) << PAGE_SHIFT, true);
	}
}

/* Give the @n oldest pages of a stock back. Context: interrupts off, @mc locked. */
static __attribute__((noinline)) void drain(struct mm_cpu *mc, unsigned n)
{
	spin_lock_raw(&buddy_lock);
	for (unsigned i = 0; i < n; i++) {
		debug_cached(mc->pages[i], false);
		buddy_free(&buddy, mc->pages[i] >> PAGE_SHIFT, 0);
	}
	spin_unlock_raw(&buddy_lock);
	mc->nr_pages -= n;
	memmove(mc->pages, mc->pages + n, mc->nr_pages * sizeof(mc->pages[0]));
}

/* All stocks back to the buddy system. Context: any; no page lock held. */
static void drain_all(void)
{
	u64 flags = irq_save();

	for (unsigned i = 0; i < MAX_CPUS; i++) {
		struct mm_cpu *mc = __atomic_load_n(&mm_cpus[i], __ATOMIC_ACQUIRE);

		if (!mc)
			continue;
		spin_lock_raw(&mc->lock);
		while (mc->nr_tables) {
			u64 phys = mc->tables[--mc->nr_tables];

			if (mc->nr_pages == CPU_PAGES)
				drain(mc, CPU_BATCH);
			page_of(phys)->refs = 0;
			debug_cached(phys, true);
			mc->pages[mc->nr_pages++] = phys;
		}
		drain(mc, mc->nr_pages);
		spin_unlock_raw(&mc->lock);
	}
	irq_restore(flags);
}

static u64 buddy_get(unsigned order)
{
	u64 flags = spin_lock_irqsave(&buddy_lock);
	u64 frame = buddy_alloc(&buddy, order);

	spin_unlock_irqrestore(&buddy_lock, flags);
	if (frame == BUDDY_NONE)
		return 0;
	page_array[frame].refs = 1;
	return frame << PAGE_SHIFT;
}

/* This CPU has no stock yet. The only writer of this CPU's pointers is the CPU itself, with interrupts off. */
static void stock_create(void)
{
	u64 phys = buddy_get(0), flags;
	struct mm_cpu *mc;
	struct cpu *c;

	if (!phys)
		return;
	mc = phys_to_virt(phys);
	clear_page(mc);
	spin_init(&mc->lock, "page stock", LOCK_PAGE_CPU);
	flags = irq_save();
	c = this_cpu();
	if (c->page_cache) { /* an interrupt was faster, or we moved to another CPU */
		page_of(phys)->refs = 0;
		spin_lock_raw(&buddy_lock);
		buddy_free(&buddy, phys >> PAGE_SHIFT, 0);
		spin_unlock_raw(&buddy_lock);
	} else {
		c->page_cache = mc;
		__atomic_store_n(&mm_cpus[c->index], mc, __ATOMIC_RELEASE);
	}
	irq_restore(flags);
}

static __attribute__((noinline)) u64 page_alloc_slow(unsigned order)
{
	u64 phys;

	_Static_assert(sizeof(struct mm_cpu) <= PAGE_SIZE, "struct mm_cpu is one page");
	if (order >= BUDDY_ORDERS)
		return 0;
	if (order == 0 && !this_cpu()->page_cache)
		stock_create();
	phys = buddy_get(order);
	if (phys)
		return phys;
	drain_all();
	phys = buddy_get(order);
	if (phys)
		return phys;
	/* What the caches hold in reserve. Two steps, as giving up mapped stacks interrupts every CPU. */
	if (slab_reap()) {
		drain_all();
		phys = buddy_get(order);
		if (phys)
			return phys;
	}
	if (kstack_reap()) {
		drain_all();
		phys = buddy_get(order);
	}
	return phys;
}

u64 page_alloc(unsigned order)
{
	u64 phys = 0, flags;
	struct mm_cpu *mc;

	if (alloc_fails())
		return 0;
	if (order)
		return page_alloc_slow(order);
	flags = irq_save();
	mc = this_mm_cpu();
	if (likely(mc)) {
		spin_lock_raw(&mc->lock);
		if (unlikely(!mc->nr_pages))
			refill(mc);
		if (likely(mc->nr_pages))
			phys = mc->pages[--mc->nr_pages];
		spin_unlock_raw(&mc->lock);
	}
	irq_restore(flags);
	if (unlikely(!phys))
		return page_alloc_slow(0);
	debug_cached(phys, false);
	page_of(phys)->refs = 1;
	return phys;
}

u64 page_alloc_zero(void)
{
	u64 phys = page_alloc(0);

	if (phys)
		clear_page(phys_to_virt(phys));
	return phys;
}

/* Context: interrupts off, @mc locked. The page has no references any more. */
static inline void stock_push(struct mm_cpu *mc, u64 phys)
{
	if (unlikely(mc->nr_pages == CPU_PAGES))
		drain(mc, CPU_BATCH);
	debug_cached(phys, true);
	mc->pages[mc->nr_pages++] = phys;
}

static void page_release(u64 phys)
{
	u64 flags = irq_save();
	struct mm_cpu *mc = this_mm_cpu();

	if (likely(mc)) {
		spin_lock_raw(&mc->lock);
		stock_push(mc, phys);
		spin_unlock_raw(&mc->lock);
	} else {
		spin_lock_raw(&buddy_lock);
		buddy_free(&buddy, phys >> PAGE_SHIFT, 0);
		spin_unlock_raw(&buddy_lock);
	}
	irq_restore(flags);
}

void page_free(u64 phys, unsigned order)
{
	u64 flags;

	KASSERT(page_of(phys)->refs == 1);
	debug_free(phys, order);
	page_of(phys)->refs = 0;
	if (order == 0) {
		page_release(phys);
		return;
	}
	flags = spin_lock_irqsave(&buddy_lock);
	buddy_free(&buddy, phys >> PAGE_SHIFT, order);
	spin_unlock_irqrestore(&buddy_lock, flags);
}

/*
 * Drop a reference. With a count of 1 the only reference is ours, so nobody can add one behind our back (adding needs a
 * reference) and no atomic operation is needed. Return: whether the page is free now.
 */
static inline bool unref(u64 phys)
{
	struct page *p = page_of(phys);

	KASSERT(p->refs != 0);
	if (__atomic_load_n(&p->refs, __ATOMIC_ACQUIRE) == 1)
		p->refs = 0;
	else if (__atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		return false;
	debug_free(phys, 0);
	return true;
}

void page_put(u64 phys)
{
	if (unref(phys))
		page_release(phys);
}

void page_put_many(const u64 *phys, unsigned n)
{
	u64 flags = irq_save();
	struct mm_cpu *mc = this_mm_cpu();

	if (unlikely(!mc)) {
		irq_restore(flags);
		while (n--)
			page_put(phys[n]);
		return;
	}
	spin_lock_raw(&mc->lock);
	while (n--)
		if (unref(phys[n]))
			stock_push(mc, phys[n]);
	spin_unlock_raw(&mc->lock);
	irq_restore(flags);
}

u64 table_alloc(void)
{
	u64 phys = 0, flags;
	struct mm_cpu *mc;

	if (alloc_fails())
		return 0;
	flags = irq_save();
	mc = this_mm_cpu();
	if (likely(mc)) {
		spin_lock_raw(&mc->lock);
		if (likely(mc->nr_tables))
			phys = mc->tables[--mc->nr_tables];
		spin_unlock_raw(&mc->lock);
	}
	irq_restore(flags);
	if (unlikely(!phys)) {
		phys = page_alloc_zero();
		if (!phys)
			return 0;
	}
	page_of(phys)->entries = 0;
	return phys;
}

void table_free(u64 phys)
{
	u64 flags = irq_save();
	struct mm_cpu *mc = this_mm_cpu();

#ifdef DEBUG
	const u64 *t = phys_to_virt(phys);

	for (unsigned i = 0; i < 512; i++)
		KASSERT(t[i] == 0);
#endif
	if (likely(mc)) {
		spin_lock_raw(&mc->lock);
		if (likely(mc->nr_tables < CPU_TABLES)) {
			mc->tables[mc->nr_tables++] = phys;
			phys = 0;
		}
		spin_unlock_raw(&mc->lock);
	}
	irq_restore(flags);
	if (unlikely(phys))
		page_free(phys, 0);
}

void mem_stats(struct mem_stats *st)
{
	u64 flags;

	slab_reap();
	st->total_pages = total_pages;
	st->slab_objects = slab_objects();
	st->free_pages = kstack_pooled_pages();
	flags = irq_save();
	for (unsigned i = 0; i < MAX_CPUS; i++) {
		struct mm_cpu *mc = __atomic_load_n(&mm_cpus[i], __ATOMIC_ACQUIRE);

		if (!mc)
			continue;
		spin_lock_raw(&mc->lock);
		st->free_pages += mc->nr_pages + mc->nr_tables;
		spin_unlock_raw(&mc->lock);
	}
	spin_lock_raw(&buddy_lock);
	st->free_pages += buddy.nr_free;
	spin_unlock_raw(&buddy_lock);
	irq_restore(flags);
}

/* SPDX-License-Identifier: MIT
 *
 * Kernel stacks, each with an unmapped guard page below it, and mappings of device registers.
 *
 * The stack area is cut into slots of guard + stack. A freed stack stays mapped and is handed out again: first from the
 * CPU's own few, then from a chain that runs through the unused stacks themselves. Only when memory is out are they unmapped.
 * Their entries are not global, so a CR3 reload drops them.
 */
#include "mm/internal.h"

#define SLOT_SIZE     (KSTACK_SIZE + PAGE_SIZE)
#define STACK_PAGES   (KSTACK_SIZE / PAGE_SIZE)
#define SLOTS_PER_MAP (PAGE_SIZE * 8)
#define SLOT_MAPS     32 /* 1,048,576 stacks: 16 GiB */

spinlock_t kernel_table_lock = SPINLOCK_INIT("kernel stacks", LOCK_STACK); /* interrupts off */

/* All under kernel_table_lock. */
static u64 pool; /* lowest address of an unused mapped stack; its first word points to the next */
static u64 nr_pool;
static u64 nr_slots; /* slots ever used */
static u64
	nr_unmapped; /* slots below nr_slots that are not mapped: their bits are set in slot_map */
static u64 *slot_map[SLOT_MAPS];
static u64 mmio_next = MMIO_BASE;

static u64 slot_bottom(u64 slot)
{
	return VMAP_BASE + slot * SLOT_SIZE + PAGE_SIZE;
}

/* A slot number that is not mapped, or ~0. Context: kernel_table_lock. */
static u64 slot_get(void)
{
	if (nr_unmapped) {
		for (unsigned m = 0; m < SLOT_MAPS && slot_map[m]; m++) {
			unsigned bit = bit_find_first(slot_map[m], SLOTS_PER_MAP);

			if (bit < SLOTS_PER_MAP) {
				bit_clear(slot_map[m], bit);
				nr_unmapped--;
				return m * SLOTS_PER_MAP + bit;
			}
		}
	}
	if (nr_slots == SLOT_MAPS * SLOTS_PER_MAP)
		return ~0ull;
	/* The map exists before the slot does: giving a slot back must not need memory. */
	if (!slot_map[nr_slots / SLOTS_PER_MAP]) {
		u64 phys = page_alloc_zero();

		if (!phys)
			return ~0ull;
		slot_map[nr_slots / SLOTS_PER_MAP] = phys_to_virt(phys);
	}
	return nr_slots++;
}

static void slot_put(u64 slot)
{
	bit_set(slot_map[slot / SLOTS_PER_MAP], slot % SLOTS_PER_MAP);
	nr_unmapped++;
}

static u64 stack_map(void)
{
	u64 frames[STACK_PAGES], slot, flags;
	unsigned n;

	for (n = 0; n < STACK_PAGES; n++) {
		frames[n] = page_alloc(0);
		if (!frames[n])
			goto no_memory;
	}
	flags = spin_lock_irqsave(&kernel_table_lock);
	slot = slot_get();
	if (slot == ~0ull)
		goto unlock;
	/* All tables first, so that nothing is half mapped. */
	for (unsigned i = 0; i < STACK_PAGES; i++) {
		if (!kernel_pte(slot_bottom(slot) + i * PAGE_SIZE)) {
			slot_put(slot);
			goto unlock;
		}
	}
	for (unsigned i = 0; i < STACK_PAGES; i++)
		WRITE_ONCE(*kernel_pte(slot_bottom(slot) + i * PAGE_SIZE),
			   frames[i] | PTE_P | PTE_W | PTE_A | PTE_D | mmu_nx);
	spin_unlock_irqrestore(&kernel_table_lock, flags);
	return slot_bottom(slot) + KSTACK_SIZE;

unlock:
	spin_unlock_irqrestore(&kernel_table_lock, flags);
no_memory:
	while (n--)
		page_free(frames[n], 0);
	return 0;
}

u64 kstack_alloc(void)
{
	u64 top = 0, flags;
	struct mm_cpu *mc;

	if (alloc_fails())
		return 0;
	flags = irq_save();
	mc = this_mm_cpu();
	if (likely(mc)) {
		spin_lock_raw(&mc->lock);
		if (mc->nr_stacks)
			top = mc->stacks[--mc->nr_stacks];
		spin_unlock_raw(&mc->lock);
	}
	if (!top) {
		spin_lock_raw(&kernel_table_lock);
		if (pool) {
			top = pool + KSTACK_SIZE;
			pool = *(u64 *)pool;
			nr_pool--;
		}
		spin_unlock_raw(&kernel_table_lock);
	}
	irq_restore(flags);
	return top ? top : stack_map();
}

void kstack_free(u64 top)
{
	u64 flags = irq_save();
	struct mm_cpu *mc = this_mm_cpu();

	KASSERT(top > VMAP_BASE && (top - VMAP_BASE) % SLOT_SIZE == 0);
	if (likely(mc)) {
		spin_lock_raw(&mc->lock);
		if (mc->nr_stacks < CPU_STACKS) {
			mc->stacks[mc->nr_stacks++] = top;
			top = 0;
		}
		spin_unlock_raw(&mc->lock);
	}
	if (top) {
		spin_lock_raw(&kernel_table_lock);
		*(u64 *)(top - KSTACK_SIZE) = pool;
		pool = top - KSTACK_SIZE;
		nr_pool++;
		spin_unlock_raw(&kernel_table_lock);
	}
	irq_restore(flags);
}

bool kstack_guard_hit(u64 addr)
{
	return addr >= VMAP_BASE && addr < VMAP_BASE + VMAP_SIZE &&
	       (addr - VMAP_BASE) % SLOT_SIZE < PAGE_SIZE;
}

/* The stocks of all CPUs into the pool. Context: interrupts off, no lock held. */
static void pool_collect(void)
{
	for (unsigned i = 0; i < MAX_CPUS; i++) {
		struct mm_cpu *mc = __atomic_load_n(&mm_cpus[i], __ATOMIC_ACQUIRE);
		u64 tops[CPU_STACKS];
		u32 n;

		if (!mc || !READ_ONCE(mc->nr_stacks))
			continue;
		spin_lock_raw(&mc->lock);
		n = mc->nr_stacks;
		memcpy(tops, mc->stacks, n * sizeof(tops[0]));
		mc->nr_stacks = 0;
		spin_unlock_raw(&mc->lock);
		/* Not nested: the order is kernel_table_lock before a CPU's stock. */
		spin_lock_raw(&kernel_table_lock);
		while (n--) {
			*(u64 *)(tops[n] - KSTACK_SIZE) = pool;
			pool = tops[n] - KSTACK_SIZE;
			nr_pool++;
		}
		spin_unlock_raw(&kernel_table_lock);
	}
}

bool kstack_reap(void)
{
	u64 frames[16 * STACK_PAGES], slots[16], flags;
	unsigned n;
	bool any = false;

	/*
	 * The caller may be stack_map() itself, out of memory for a table with the lock held: then leave the pool alone.
	 * (The test is racy only in being too careful: another CPU may hold the lock.)
	 */
	if (kernel_table_lock.locked)
		return false;
	flags = irq_save();
	pool_collect();
	do {
		if (!spin_trylock_raw(&kernel_table_lock))
			break;
		for (n = 0; n < 16 && pool; n++) {
			u64 bottom = pool;

			pool = *(u64 *)bottom;
			nr_pool--;
			slots[n] = (bottom - VMAP_BASE) / SLOT_SIZE;
			for (unsigned i = 0; i < STACK_PAGES; i++) {
				pte_t *pte = kernel_pte(bottom + i * PAGE_SIZE);

				frames[n * STACK_PAGES + i] = *pte & PTE_ADDR;
				WRITE_ONCE(*pte, 0);
			}
		}
		/* The slots are reused and the frames freed only when no CPU remembers the old translations. */
		if (n)
			kernel_shootdown();
		for (unsigned i = 0; i < n; i++)
			slot_put(slots[i]);
		spin_unlock_raw(&kernel_table_lock);
		for (unsigned i = 0; i < n * STACK_PAGES; i++)
			page_free(frames[i], 0);
		any |= n != 0;
	} while (n == 16);
	irq_restore(flags);
	return any;
}

u64 kstack_pooled_pages(void)
{
	u64 n, flags = irq_save();

	pool_collect();
	spin_lock_raw(&kernel_table_lock);
	n = nr_pool * STACK_PAGES;
	spin_unlock_raw(&kernel_table_lock);
	irq_restore(flags);
	return n;
}

void *mmio_map(u64 phys, size_t size)
{
	u64 first = phys & PAGE_MASK, end = ALIGN_UP(phys + size, PAGE_SIZE), virt, flags;

	if (!size || end <= first)
		return NULL;
	flags = spin_lock_irqsave(&kernel_table_lock);
	virt = mmio_next;
	if (end - first > MMIO_BASE + VMAP_SIZE - virt) {
		spin_unlock_irqrestore(&kernel_table_lock, flags);
		return NULL;
	}
	for (u64 a = first; a < end; a += PAGE_SIZE) {
		pte_t *pte = kernel_pte(virt + (a - first));

		if (!pte) {
			/* Take back what is mapped; the addresses are not used again, so no CPU need flush them. */
			for (u64 b = first; b < a; b += PAGE_SIZE)
				WRITE_ONCE(*kernel_pte(virt + (b - first)), 0);
			mmio_next = virt + (a - first);
			spin_unlock_irqrestore(&kernel_table_lock, flags);
			return NULL;
		}
		WRITE_ONCE(*pte,
			   a | PTE_P | PTE_W | PTE_A | PTE_D | PTE_PCD | PTE_PWT | PTE_G | mmu_nx);
	}
	mmio_next = virt + (end - first) + PAGE_SIZE; /* a gap: running over the end faults */
	spin_unlock_irqrestore(&kernel_table_lock, flags);
	return (char *)virt + (phys - first);
}

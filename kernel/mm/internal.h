/* SPDX-License-Identifier: MIT
 *
 * What the files of kernel/mm share with each other and with nobody else.
 */
#ifndef MM_INTERNAL_H
#define MM_INTERNAL_H

#include "arch/cpu.h"
#include "lib/errno.h"
#include "lib/string.h"
#include "log.h"
#include "mm/mm.h"

/* ---- per-CPU stocks (page.c) ---- */

#define CPU_PAGES  64 /* free pages a CPU keeps */
#define CPU_BATCH  16 /* exchanged with the buddy system at once */
#define CPU_TABLES 40 /* cleared page tables */
#define CPU_STACKS 8  /* kernel stacks */

/**
 * struct mm_cpu - one CPU's stocks. Under .lock, interrupts off; only the CPU itself takes from them, others just empty them
 * when memory runs out, so the lock is practically never contended. One page.
 */
struct mm_cpu {
	spinlock_t lock; /* LOCK_PAGE_CPU */
	u32 nr_pages, nr_tables, nr_stacks;
	u64 pages[CPU_PAGES];	/* frames, refs 0 */
	u64 tables[CPU_TABLES]; /* frames full of zeroes, refs 1 */
	u64 stacks[CPU_STACKS]; /* tops */
};

/* All stocks that exist, by CPU index. An entry is set once and stays. */
extern struct mm_cpu *mm_cpus[MAX_CPUS];

/** this_mm_cpu() - this CPU's stocks, NULL before its first slow allocation. Context: interrupts or preemption off. */
static inline struct mm_cpu *this_mm_cpu(void)
{
	return this_cpu()->page_cache;
}

/** page_init() - take over the page array; buddy_add() follows through page_add(). Start-up. */
void page_init(struct page *pages, u64 nr);
/** page_add() - physical range [@start, @end), page-aligned, becomes allocatable. Start-up. */
void page_add(u64 start, u64 end);

/** table_alloc() / table_free() - a cleared page for page tables; it must be cleared again when it is given back. 0 if out of memory. */
u64 table_alloc(void);
void table_free(u64 phys);

/* Fault injection (page_alloc_fail_after()): NULL unless a self-test runs with it. */
extern struct task *alloc_fail_task;
/** alloc_fails() - must this allocation fail, by order of the running self-test? */
bool alloc_fails_now(void);
static inline bool alloc_fails(void)
{
	return unlikely(READ_ONCE(alloc_fail_task) != NULL) && alloc_fails_now();
}

/* ---- slab.c, stack.c ---- */

void slab_init(void);
/** slab_reap() - free all memory of caches that no object occupies. No slab or page lock held. Return: whether any page came free. */
bool slab_reap(void);
/** slab_objects() - objects handed out. */
u64 slab_objects(void);
/** kstack_reap() - unmap and free the stacks nobody uses. Return: whether any page came free. */
bool kstack_reap(void);
/** kstack_pooled_pages() - pages of stacks nobody uses. */
u64 kstack_pooled_pages(void);

/* ---- kernel page tables (init.c) ---- */

/** kernel_pte() - the entry for @virt in the kernel's tables, made if missing. Context: LOCK_STACK held or start-up. Return: NULL if out of memory. */
pte_t *kernel_pte(u64 virt);
extern spinlock_t kernel_table_lock; /* LOCK_STACK */

/* Upper-half entries of kernel_pml4 that are in use; constant after mem_init(). */
extern unsigned kernel_upper_nr;
extern u16 kernel_upper[16];

void mm_caches_init(void);

/* ---- page tables of an address space (table.c); all under mm->lock unless nobody else knows the mm ---- */

static inline u64 *table_at(u64 entry)
{
	return phys_to_virt(entry & PTE_ADDR);
}

/** table_page() - the struct page of the table that holds @pte. */
static inline struct page *table_page(const pte_t *pte)
{
	return page_of(((u64)pte & PAGE_MASK) - DIRECT_MAP);
}

/** table_pte() - the entry for @addr. @alloc: make missing tables. Return: NULL if missing or out of memory. */
pte_t *table_pte(struct mm *mm, u64 addr, bool alloc);

/** table_find() - the lowest-level table for @addr, or NULL. *@next = where what it maps, or the hole, ends. */
pte_t *table_find(struct mm *mm, u64 addr, u64 *next);

/**
 * pte_next() - the first entry of [@pte, @end) that is not 0, or @end. Mappings are mostly empty: one instruction an entry.
 */
static inline pte_t *pte_next(pte_t *pte, pte_t *end)
{
	u64 n = (u64)(end - pte);
	bool found;

	__asm__ volatile("testq %%rcx, %%rcx\n\trepe scasq"
			 : "+D"(pte), "+c"(n), "=@ccnz"(found)
			 : "a"(0ull)
			 : "memory");
	return found ? pte - 1 : end;
}

/** pte_bits() - entry of a frame not to be written to in a mapping with VM_* @flags (not present if no access is allowed). */
static inline pte_t pte_bits(u32 flags)
{
	if (!(flags & (VM_READ | VM_WRITE | VM_EXEC)))
		return PTE_KEPT | PTE_U | PTE_A | mmu_nx;
	return PTE_P | PTE_U | PTE_A | (flags & VM_EXEC ? 0 : mmu_nx);
}

/** pte_install() - fill an empty entry. */
static inline void pte_install(struct mm *mm, pte_t *pte, pte_t value)
{
	WRITE_ONCE(*pte, value);
	table_page(pte)->entries++;
	mm->nr_pages++;
}

#define GATHER_MAX 120

/**
 * struct gather - frames taken out of page tables, to be released only after every CPU has forgotten their translations.
 */
struct gather {
	struct mm *mm;
	bool dead;	 /* no CPU can have translations: nothing to flush */
	bool changed;	 /* an entry was changed since the last flush */
	u64 first, last; /* lowest and highest page changed */
	unsigned nr_pages, nr_tables;
	u64 pages[GATHER_MAX], tables[16];
};

/** gather_init() - @dead: the address space is loaded nowhere and will never be. */
void gather_init(struct gather *g, struct mm *mm, bool dead);
/** gather_flush() - shoot down, then release. Context: mm->lock. */
void gather_flush(struct gather *g);
/** gather_range() - clear all entries of [@start, @end) into @g; tables that become empty go too. */
void gather_range(struct gather *g, u64 start, u64 end);
/** tables_destroy() - after all mappings are gone: the tables that remain (out-of-memory leftovers) and the pml4 itself. */
void tables_destroy(struct mm *mm);

/** flush_page() - after a change of the entry of @addr: every CPU forgets the translation. */
void flush_page(struct mm *mm, u64 addr);
/** flush_all() - after changes of many entries. */
void flush_all(struct mm *mm);
/** kernel_shootdown() - every online CPU forgets all translations that are not global. Context: any. */
void kernel_shootdown(void);
/** mm_evict() - no CPU has @mm loaded afterwards; it has no users. Context: task. */
void mm_evict(struct mm *mm);

/* ---- vmas (mmap.c) ---- */

struct vma *vma_alloc(void);
void vma_free(struct vma *v);
/** vma_find() - the first vma that ends above @addr, NULL if there is none. Context: mm->lock. */
struct vma *vma_find(struct mm *mm, u64 addr);

static inline void clear_page(void *p)
{
	u64 n = PAGE_SIZE / 8;

	__asm__ volatile("rep stosq" : "+D"(p), "+c"(n) : "a"(0ull) : "memory");
}

static inline void copy_page(void *dst, const void *src)
{
	u64 n = PAGE_SIZE / 8;

	__asm__ volatile("rep movsq" : "+D"(dst), "+S"(src), "+c"(n)::"memory");
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * Page tables of the user half: walking, making, clearing.
 *
 * Everything here runs under mm->lock, but CPUs walk the tables at any moment. An entry is one aligned 64-bit store, made
 * after what it points to is complete (x86 keeps the order of stores). The kernel does not use the accessed and dirty bits;
 * it sets both beforehand, so that no CPU has to.
 *
 * The struct page of each table counts its entries. A table whose count falls to 0 is all zeroes: it leaves the tree and is
 * handed to the next table_alloc() without clearing. Frames and tables taken out are only released after every CPU that may
 * remember them has flushed (struct gather); INVLPG and CR3 loads also drop cached upper-level entries.
 */
#include "mm/internal.h"

/* The table below @e, made if there is none. Return: NULL if out of memory. */
static __attribute__((noinline)) u64 *table_make(u64 *e)
{
	u64 phys = table_alloc();

	if (!phys)
		return NULL;
	WRITE_ONCE(*e, phys | PTE_P | PTE_W | PTE_U | PTE_A);
	table_page(e)->entries++;
	return phys_to_virt(phys);
}

static inline u64 *entry_at(u64 *table, u64 addr, unsigned shift)
{
	return &table[addr >> shift & 511];
}

/* The two walks below are spelled out level by level: every fault, fork and unmapping goes through them. */
pte_t *table_pte(struct mm *mm, u64 addr, bool alloc)
{
	u64 *e = entry_at(phys_to_virt(mm->pml4), addr, 39), *table;

	table = likely(*e) ? table_at(*e) : alloc ? table_make(e) : NULL;
	if (unlikely(!table))
		return NULL;
	e = entry_at(table, addr, 30);
	table = likely(*e) ? table_at(*e) : alloc ? table_make(e) : NULL;
	if (unlikely(!table))
		return NULL;
	e = entry_at(table, addr, 21);
	table = likely(*e) ? table_at(*e) : alloc ? table_make(e) : NULL;
	if (unlikely(!table))
		return NULL;
	return entry_at(table, addr, PAGE_SHIFT);
}

pte_t *table_find(struct mm *mm, u64 addr, u64 *next)
{
	unsigned hole = 39;
	u64 e;

	e = *entry_at(phys_to_virt(mm->pml4), addr, 39);
	if (unlikely(!e))
		goto none;
	hole = 30;
	e = *entry_at(table_at(e), addr, 30);
	if (unlikely(!e))
		goto none;
	hole = 21;
	e = *entry_at(table_at(e), addr, 21);
	if (unlikely(!e))
		goto none;
	*next = (addr | 0x1fffff) + 1;
	return table_at(e);
none:
	*next = ((addr >> hole) + 1) << hole;
	return NULL;
}

void gather_init(struct gather *g, struct mm *mm, bool dead)
{
	g->mm = mm;
	g->dead = dead;
	g->changed = false;
	g->first = ~0ull;
	g->last = 0;
	g->nr_pages = g->nr_tables = 0;
}

void gather_flush(struct gather *g)
{
	if (!g->dead && g->changed) {
		if (g->first == g->last)
			flush_page(g->mm, g->first);
		else
			flush_all(g->mm);
	}
	if (g->nr_pages)
		page_put_many(g->pages, g->nr_pages);
	while (g->nr_tables)
		table_free(g->tables[--g->nr_tables]);
	g->changed = false;
	g->first = ~0ull;
	g->last = 0;
	g->nr_pages = 0;
}

static void note_change(struct gather *g, u64 first, u64 last)
{
	g->changed = true;
	g->first = min(g->first, first);
	g->last = max(g->last, last);
}

/* The lowest-level table for @addr has become empty: take it out, and the tables above that become empty by that. */
static void drop_tables(struct gather *g, u64 addr)
{
	u64 *entry[3], *table = phys_to_virt(g->mm->pml4);

	for (unsigned i = 0; i < 3; i++) {
		entry[i] = &table[addr >> (39 - 9 * i) & 511];
		table = table_at(*entry[i]);
	}
	for (unsigned i = 3; i-- > 0;) {
		if (page_of(*entry[i] & PTE_ADDR)->entries)
			break;
		if (g->nr_tables == ARRAY_SIZE(g->tables))
			gather_flush(g);
		g->tables[g->nr_tables++] = *entry[i] & PTE_ADDR;
		WRITE_ONCE(*entry[i], 0);
		table_page(entry[i])->entries--;
		note_change(g, addr, addr);
	}
}

void gather_range(struct gather *g, u64 start, u64 end)
{
	u64 next;

	for (u64 addr = start; addr < end; addr = next) {
		pte_t *table = table_find(g->mm, addr, &next), *pte, *stop;
		unsigned cleared = 0;
		struct page *tp;

		if (!table)
			continue;
		next = min(end, next);
		tp = table_page(table);
		stop = table + ((next - 1) >> PAGE_SHIFT & 511) + 1;
		pte = table + (addr >> PAGE_SHIFT & 511);
		for (pte = pte_next(pte, stop); pte < stop; pte = pte_next(pte + 1, stop)) {
			pte_t e = *pte;

			WRITE_ONCE(*pte, 0);
			cleared++;
			if (e & PTE_DEV)
				continue;
			g->pages[g->nr_pages++] = e & PTE_ADDR;
			if (unlikely(g->nr_pages == GATHER_MAX)) {
				note_change(g, addr, next - 1);
				gather_flush(g);
			}
		}
		if (cleared) {
			tp->entries -= (u16)cleared;
			g->mm->nr_pages -= cleared;
			note_change(g, addr, (next - 1) & PAGE_MASK);
		}
		if (!tp->entries)
			drop_tables(g, addr);
	}
}

static void destroy_level(u64 phys, unsigned shift)
{
	u64 *table = phys_to_virt(phys);

	for (unsigned i = 0; i < (shift == 39 ? 256 : 512); i++) {
		if (!table[i])
			continue;
		KASSERT(shift > PAGE_SHIFT); /* a frame here would belong to no mapping */
		destroy_level(table[i] & PTE_ADDR, shift - 9);
		table[i] = 0;
	}
	if (shift < 39)
		table_free(phys);
}

void tables_destroy(struct mm *mm)
{
	u64 *pml4 = phys_to_virt(mm->pml4);

	if (unlikely(page_of(mm->pml4)->entries))
		destroy_level(mm->pml4, 39);
	for (unsigned i = 0; i < kernel_upper_nr; i++)
		pml4[kernel_upper[i]] = 0;
	table_free(mm->pml4);
}

/* SPDX-License-Identifier: MIT
 *
 * Memory at start-up: which RAM is free, the kernel's final page tables, the page array.
 *
 * Until the page array exists, memory is cut off the front of the free ranges below 4 GiB (all that the boot tables map).
 * The kernel's tables map
 *
 *	- all RAM, and everything else below 4 GiB (firmware tables, VGA memory), as the direct map: never executable, and not
 *	  writable where the kernel's text and constants lie;
 *	- the image by pages: text read-only and executable, constants read-only, the rest writable and not executable;
 *	- empty tables for kernel stacks and device registers.
 *
 * The upper-half PML4 entries made here are never changed again, so every address space simply copies them.
 */
#include "arch/boot.h"
#include "arch/io.h"
#include "mm/internal.h"

extern const char _text[], _etext[], _rodata[], _data[], _ksyms[], _end[];

#define IMAGE_START 0x100000ull /* physical: .boot */
#define MAX_FREE    (BOOT_MAX_REGIONS + BOOT_MAX_MODULES + 8)
#define SIZE_2M	    (1ull << 21)
#define SIZE_1G	    (1ull << 30)
#define BOOT_MAPPED (1ull << 32)

u64 kernel_pml4;
unsigned kernel_upper_nr;
u16 kernel_upper[16];

static struct boot_region free_ranges[MAX_FREE]; /* sorted; start-up only */
static unsigned nr_free_ranges;
static bool pages_ready; /* tables come from page_alloc() from now on */
static u64 low_page_phys;

/* Take [@start, @end) out of the free ranges. */
static void reserve(u64 start, u64 end)
{
	for (unsigned i = 0; i < nr_free_ranges; i++) {
		struct boot_region *r = &free_ranges[i];

		if (r->start >= end || r->end <= start)
			continue;
		if (r->start < start && r->end > end) {
			if (nr_free_ranges == MAX_FREE)
				panic("memory map: too many pieces");
			memmove(r + 2, r + 1, (nr_free_ranges - i - 1) * sizeof(*r));
			nr_free_ranges++;
			r[1] = (struct boot_region){end, r->end};
			r->end = start;
		} else if (r->start < start) {
			r->end = start;
		} else if (r->end > end) {
			r->start = end;
		} else {
			memmove(r, r + 1, (nr_free_ranges - i - 1) * sizeof(*r));
			nr_free_ranges--;
			i--;
		}
	}
}

/* Memory for good, cleared, for the time before the page allocator. @limit: highest end. */
static u64 early_alloc(u64 size, u64 limit)
{
	size = ALIGN_UP(size, PAGE_SIZE);
	for (unsigned i = 0; i < nr_free_ranges; i++) {
		u64 start = free_ranges[i].start;

		if (free_ranges[i].end - start < size || start + size > limit)
			continue;
		reserve(start, start + size);
		memset(phys_to_virt(start), 0, size);
		return start;
	}
	panic("not enough memory to start: no %llu KiB in one piece",
	      (unsigned long long)size >> 10);
}

static u64 kernel_table_page(void)
{
	return pages_ready ? page_alloc_zero() : early_alloc(PAGE_SIZE, BOOT_MAPPED);
}

/* The entry for @virt at the level that maps 2^@level_shift bytes. Return: NULL if out of memory. */
static pte_t *kernel_entry(u64 pml4, u64 virt, unsigned level_shift)
{
	u64 *table = phys_to_virt(pml4);

	for (unsigned shift = 39; shift > level_shift; shift -= 9) {
		u64 *e = &table[virt >> shift & 511];

		if (!*e) {
			u64 phys = kernel_table_page();

			if (!phys)
				return NULL;
			WRITE_ONCE(*e, phys | PTE_P | PTE_W);
		}
		table = table_at(*e);
	}
	return &table[virt >> level_shift & 511];
}

pte_t *kernel_pte(u64 virt)
{
	return kernel_entry(kernel_pml4, virt, PAGE_SHIFT);
}

static bool cpu_has_1g_pages(void)
{
	u32 a, b, c, d;

	cpuid(0x80000000, 0, &a, &b, &c, &d);
	if (a < 0x80000001)
		return false;
	cpuid(0x80000001, 0, &a, &b, &c, &d);
	return d >> 26 & 1;
}

/* Map physical memory below @end. The first GiB, where the image lies, in 2 MiB and smaller pages. */
static void map_direct(u64 end)
{
	const u64 flags = PTE_P | PTE_W | PTE_A | PTE_D | PTE_G | mmu_nx;
	u64 ro_start = virt_to_phys(_text), ro_end = virt_to_phys(_data);
	bool huge = cpu_has_1g_pages();

	for (u64 a = 0; a < end;) {
		u64 virt = DIRECT_MAP + a;

		if (huge && a >= SIZE_1G && a + SIZE_1G <= ALIGN_UP(end, SIZE_1G)) {
			*kernel_entry(kernel_pml4, virt, 30) = a | flags | PTE_PS;
			a += SIZE_1G;
		} else if (!(a % SIZE_2M) && (a + SIZE_2M <= ro_start || a >= ro_end)) {
			*kernel_entry(kernel_pml4, virt, 21) = a | flags | PTE_PS;
			a += SIZE_2M;
		} else {
			bool ro = a >= ro_start && a < ro_end;

			*kernel_pte(virt) = a | (ro ? flags & ~(PTE_W | PTE_D) : flags);
			a += PAGE_SIZE;
		}
	}
}

static void map_image_part(u64 start, u64 end, u64 flags)
{
	for (u64 virt = start; virt < end; virt += PAGE_SIZE)
		*kernel_pte(virt) = (virt - KERNEL_BASE) | flags | PTE_P | PTE_A | PTE_G;
}

static void build_tables(void)
{
	u64 direct_end = max(ALIGN_UP(boot_info.highest_ram, SIZE_2M), BOOT_MAPPED);
	const u64 *pml4;

	kernel_pml4 = early_alloc(PAGE_SIZE, BOOT_MAPPED);
	map_direct(direct_end);
	/* .boot was linked low, but its copy for the other CPUs (the trampoline) and leftover boot tables are read up here. */
	map_image_part(KERNEL_BASE + IMAGE_START, (u64)_text, PTE_W | PTE_D | mmu_nx);
	map_image_part((u64)_text, (u64)_etext, 0);
	map_image_part((u64)_rodata, (u64)_data, mmu_nx);
	map_image_part((u64)_data, (u64)_ksyms, PTE_W | PTE_D | mmu_nx);
	map_image_part((u64)_ksyms, (u64)_end, mmu_nx);
	kernel_entry(kernel_pml4, VMAP_BASE, 30);
	kernel_entry(kernel_pml4, MMIO_BASE, 30);

	pml4 = phys_to_virt(kernel_pml4);
	for (unsigned i = 256; i < 512; i++) {
		if (!pml4[i])
			continue;
		if (kernel_upper_nr == ARRAY_SIZE(kernel_upper))
			panic("more than %zu x 512 GiB of kernel address space",
			      ARRAY_SIZE(kernel_upper));
		kernel_upper[kernel_upper_nr++] = (u16)i;
	}
}

u64 low_page(void)
{
	return low_page_phys;
}

/* A page for the trampoline: usable RAM below 640 KiB that no module occupies; high up, away from what firmware uses. */
static void choose_low_page(void)
{
	for (unsigned i = nr_free_ranges; i-- > 0;) {
		u64 end = min(free_ranges[i].end, 0xa0000ull);

		if (end >= 0x2000 && end >= free_ranges[i].start + PAGE_SIZE) {
			low_page_phys = end - PAGE_SIZE;
			return;
		}
	}
}

/* Turn to the kernel's own tables; the identity map of the boot tables ends here. Old global entries go by way of CR4.PGE. */
static void use_tables(void)
{
	u64 cr4;

	__asm__ volatile("movq %%cr4, %0" : "=r"(cr4));
	__asm__ volatile("movq %0, %%cr4" ::"r"(cr4 & ~0x80ull) : "memory");
	load_cr3(kernel_pml4);
	__asm__ volatile("movq %0, %%cr4" ::"r"(cr4) : "memory");
}

void mem_init(u64 limit)
{
	u64 highest = 0, array, nr, usable = 0;

	if (limit && limit < virt_to_phys(_end) + SIZE_2M) {
		klog("mem=%llu bytes is too little to start with: ignored",
		     (unsigned long long)limit);
		limit = 0;
	}
	for (unsigned i = 0; i < boot_info.nr_ram; i++) {
		struct boot_region r = boot_info.ram[i];

		if (limit && r.end > limit)
			r.end = ALIGN_DOWN(limit, PAGE_SIZE);
		if (r.start >= r.end)
			continue;
		free_ranges[nr_free_ranges++] = r;
		highest = r.end;
		usable += r.end - r.start;
	}
	reserve(0, PAGE_SIZE);
	reserve(IMAGE_START, virt_to_phys(_end));
	for (unsigned i = 0; i < boot_info.nr_modules; i++)
		reserve(ALIGN_DOWN(boot_info.modules[i].start, PAGE_SIZE),
			ALIGN_UP(boot_info.modules[i].end, PAGE_SIZE));
	choose_low_page();
	reserve(0, 0x100000);

	build_tables();
	use_tables();

	nr = highest >> PAGE_SHIFT;
	array = early_alloc(nr * sizeof(struct page), ~0ull);
	page_init(phys_to_virt(array), nr);
	for (unsigned i = 0; i < nr_free_ranges; i++)
		page_add(free_ranges[i].start, free_ranges[i].end);
	pages_ready = true;
	slab_init();
	mm_caches_init();
	klog("memory: %llu MiB of RAM, %llu KiB for the page array, trampoline page 0x%llx",
	     (unsigned long long)usable >> 20, (unsigned long long)(nr * sizeof(struct page)) >> 10,
	     (unsigned long long)low_page_phys);
}

/* SPDX-License-Identifier: MIT
 *
 * The page-table format and the kernel's address map.
 *
 *	0x0000000000001000 .. 0x00007fffffffefff   user
 *	0xffff800000000000 .. +RAM                 direct map of all physical memory (never executable)
 *	0xffffc00000000000 .. +512 GiB             kernel stacks and other mapped-by-page kernel memory, with guard pages
 *	0xffffd00000000000 .. +512 GiB             device registers (uncached)
 *	0xffffffff80000000 .. +image               the kernel image; text read-only+exec, rodata read-only, data NX
 *
 * The upper 256 PML4 entries are made at start-up and never change afterwards, so every address space copies them once.
 */
#ifndef ARCH_MMU_H
#define ARCH_MMU_H

#include "lib/types.h"

#define PAGE_SHIFT 12
#define PAGE_SIZE  4096ull
#define PAGE_MASK  (~(PAGE_SIZE - 1))

#define KERNEL_BASE 0xffffffff80000000ull
#define DIRECT_MAP  0xffff800000000000ull
#define VMAP_BASE   0xffffc00000000000ull
#define VMAP_SIZE   (1ull << 39)
#define MMIO_BASE   0xffffd00000000000ull
#define USER_MIN    0x1000ull
#define USER_END    0x00007ffffffff000ull /* first address user mode may not use */

typedef u64 pte_t;

#define PTE_P	0x001ull /* present */
#define PTE_W	0x002ull /* writable */
#define PTE_U	0x004ull /* user */
#define PTE_PWT 0x008ull
#define PTE_PCD 0x010ull /* uncached */
#define PTE_A	0x020ull
#define PTE_D	0x040ull
#define PTE_PS	0x080ull /* large page */
#define PTE_G	0x100ull /* global */
#define PTE_COW 0x200ull /* software: read-only because shared, copy on write */
#define PTE_DEV 0x400ull /* software: maps a device or archive page: no struct page reference */
#define PTE_KEPT \
	0x800ull /* software, with PTE_P clear: the frame is kept, but nobody may access it (PROT_NONE) */
#define PTE_NX	 (1ull << 63)
#define PTE_ADDR 0x000ffffffffff000ull

/** mmu_nx - PTE_NX if the CPU has it, else 0: or it in where execution must be forbidden. Constant after arch_early_init(). */
extern u64 mmu_nx;

/** phys_to_virt() - direct-map address of @phys. */
static inline void *phys_to_virt(u64 phys)
{
	return (void *)(phys + DIRECT_MAP);
}

/** virt_to_phys() - physical address of a direct-map or kernel-image address. */
static inline u64 virt_to_phys(const void *v)
{
	u64 a = (u64)v;

	return a >= KERNEL_BASE ? a - KERNEL_BASE : a - DIRECT_MAP;
}

static inline void load_cr3(u64 phys)
{
	__asm__ volatile("movq %0, %%cr3" ::"r"(phys) : "memory");
}

static inline u64 read_cr3(void)
{
	u64 v;

	__asm__ volatile("movq %%cr3, %0" : "=r"(v));
	return v;
}

static inline void invlpg(u64 addr)
{
	__asm__ volatile("invlpg (%0)" ::"r"(addr) : "memory");
}

#endif

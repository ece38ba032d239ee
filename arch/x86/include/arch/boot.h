/* SPDX-License-Identifier: MIT
 *
 * What the boot loader told us, in one form for multiboot 1 (qemu -kernel, GRUB) and multiboot 2 (GRUB, BIOS and UEFI).
 */
#ifndef ARCH_BOOT_H
#define ARCH_BOOT_H

#include "lib/types.h"

#define BOOT_MAX_REGIONS 64
#define BOOT_MAX_MODULES 16
#define BOOT_CMDLINE_MAX 2048

struct boot_region {
	u64 start, end; /* physical bytes, [start, end) */
};

struct boot_module {
	u64 start, end; /* physical bytes */
	char name[64];	/* first word of its string, directory stripped */
};

struct boot_info {
	unsigned nr_ram, nr_modules;
	struct boot_region ram
		[BOOT_MAX_REGIONS]; /* usable RAM, page-aligned inward, sorted, not overlapping */
	struct boot_module modules[BOOT_MAX_MODULES];
	char cmdline[BOOT_CMDLINE_MAX]; /* options only: the kernel's own path is stripped */
	u64 rsdp; /* physical address of the ACPI root pointer, 0 if unknown */
	const char *loader;
	u64 highest_ram; /* end of the highest usable region */
};

extern struct boot_info boot_info;

/**
 * boot_parse() - fill boot_info from the loader's structure. @magic, @info: eax and ebx at entry. Context: boot CPU, early; the
 * first 4 GiB are mapped at the direct map (boot page tables). All loader data is copied: the memory it lay in may be reused
 * except modules, which memory initialisation must reserve. Unknown @magic: panics.
 */
void boot_parse(u32 magic, u64 info);

#endif

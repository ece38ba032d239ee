/* SPDX-License-Identifier: MIT
 *
 * The loader's information, multiboot 1 or 2, brought into one form. Everything is copied: the memory it lies in is free RAM
 * to the page allocator. Addresses are physical and below 4 GiB, reached through the boot page tables' direct map.
 */
#include "lib/string.h"

#include "internal.h"
#include "log.h"

#define MB1_BOOT_MAGIC 0x2badb002u
#define MB2_BOOT_MAGIC 0x36d76289u

#define MB1_MEMORY  (1u << 0)
#define MB1_CMDLINE (1u << 2)
#define MB1_MODULES (1u << 3)
#define MB1_MMAP    (1u << 6)
#define MB1_LOADER  (1u << 9)

#define MEMORY_RAM 1

struct mb1_info {
	u32 flags, mem_lower, mem_upper, boot_device, cmdline, mods_count, mods_addr, syms[4],
		mmap_length, mmap_addr, drives_length, drives_addr, config_table, loader;
};
struct mb1_module {
	u32 start, end, string, reserved;
};
struct mb1_mmap {
	u32 size; /* of what follows */
	u64 addr, len;
	u32 type;
} __attribute__((packed));

enum {
	MB2_END,
	MB2_CMDLINE,
	MB2_LOADER,
	MB2_MODULE,
	MB2_MMAP = 6,
	MB2_RSDP_OLD = 14,
	MB2_RSDP_NEW = 15
};
struct mb2_tag {
	u32 type, size;
	u8 data[];
};
struct mb2_module {
	u32 start, end;
	char string[];
};
struct mb2_mmap {
	u32 entry_size, version;
	u8 entries[];
};
struct mb2_mmap_entry {
	u64 addr, len;
	u32 type, reserved;
};

struct boot_info boot_info;
static char loader_name[64];
static u8 rsdp_copy[64] __attribute__((aligned(16)));
static unsigned regions_dropped;

static void add_ram(u64 start, u64 len)
{
	u64 end = ALIGN_DOWN(start + len, PAGE_SIZE);
	unsigned i = boot_info.nr_ram;

	start = ALIGN_UP(start, PAGE_SIZE);
	if (start >= end)
		return;
	if (i == BOOT_MAX_REGIONS) {
		regions_dropped++;
		return;
	}
	/* Insertion sort by start. */
	for (; i > 0 && boot_info.ram[i - 1].start > start; i--)
		boot_info.ram[i] = boot_info.ram[i - 1];
	boot_info.ram[i] = (struct boot_region){start, end};
	boot_info.nr_ram++;
}

static void merge_ram(void)
{
	struct boot_region *r = boot_info.ram;
	unsigned n = 0;

	for (unsigned i = 0; i < boot_info.nr_ram; i++) {
		if (n && r[i].start <= r[n - 1].end)
			r[n - 1].end = max(r[n - 1].end, r[i].end);
		else
			r[n++] = r[i];
	}
	boot_info.nr_ram = n;
	if (n)
		boot_info.highest_ram = r[n - 1].end;
}

static void add_module(u64 start, u64 end, const char *string)
{
	struct boot_module *m = &boot_info.modules[boot_info.nr_modules];
	size_t n = 0;

	if (boot_info.nr_modules == BOOT_MAX_MODULES || end <= start)
		return;
	/* The first word, without the directory: QEMU passes a path and arguments, GRUB what its menu says. */
	for (; *string && *string != ' '; string++) {
		if (*string == '/')
			n = 0;
		else if (n < sizeof(m->name) - 1)
			m->name[n++] = *string;
	}
	m->name[n] = '\0';
	m->start = start;
	m->end = end;
	boot_info.nr_modules++;
}

static void set_cmdline(const char *s)
{
	/* QEMU passes the kernel's path as the first word, GRUB only the arguments. */
	if (!strncmp(loader_name, "qemu", 4)) {
		while (*s && *s != ' ')
			s++;
		while (*s == ' ')
			s++;
	}
	if (!str_copy(boot_info.cmdline, s, sizeof(boot_info.cmdline)))
		klog("boot: command line cut at %u characters", BOOT_CMDLINE_MAX - 1);
}

static void set_rsdp(const void *rsdp, size_t size)
{
	memcpy(rsdp_copy, rsdp, min(size, sizeof(rsdp_copy)));
	boot_info.rsdp = virt_to_phys(rsdp_copy);
}

static void parse_mb1(u64 info)
{
	const struct mb1_info *mbi = phys_to_virt(info);

	if (mbi->flags & MB1_LOADER)
		str_copy(loader_name, phys_to_virt(mbi->loader), sizeof(loader_name));
	if (mbi->flags & MB1_CMDLINE)
		set_cmdline(phys_to_virt(mbi->cmdline));
	if (mbi->flags & MB1_MODULES) {
		const struct mb1_module *m = phys_to_virt(mbi->mods_addr);

		for (u32 i = 0; i < mbi->mods_count; i++, m++)
			add_module(m->start, m->end, m->string ? phys_to_virt(m->string) : "");
	}
	if (mbi->flags & MB1_MMAP) {
		const u8 *p = phys_to_virt(mbi->mmap_addr), *end = p + mbi->mmap_length;

		while (p + sizeof(struct mb1_mmap) <= end) {
			const struct mb1_mmap *e = (const void *)p;

			if (e->type == MEMORY_RAM)
				add_ram(e->addr, e->len);
			p += e->size + sizeof(e->size);
		}
	} else if (mbi->flags & MB1_MEMORY) {
		add_ram(0, (u64)mbi->mem_lower * 1024);
		add_ram(0x100000, (u64)mbi->mem_upper * 1024);
	}
}

static void parse_mb2_tag(const struct mb2_tag *t)
{
	const struct mb2_module *m = (const void *)t->data;
	const struct mb2_mmap *map = (const void *)t->data;
	const u8 *end = (const u8 *)t + t->size;

	switch (t->type) {
	case MB2_CMDLINE:
		set_cmdline((const char *)t->data);
		break;
	case MB2_MODULE:
		add_module(m->start, m->end, m->string);
		break;
	case MB2_MMAP:
		for (const u8 *p = map->entries; map->entry_size && p + map->entry_size <= end;
		     p += map->entry_size) {
			const struct mb2_mmap_entry *e = (const void *)p;

			if (e->type == MEMORY_RAM)
				add_ram(e->addr, e->len);
		}
		break;
	case MB2_RSDP_OLD: /* the new one is preferred, in whatever order they come */
		if (boot_info.rsdp)
			break;
		/* fall through */
	case MB2_RSDP_NEW:
		set_rsdp(t->data, t->size - sizeof(*t));
		break;
	}
}

static void parse_mb2(u64 info)
{
	const u32 *total = phys_to_virt(info);
	const u8 *p = (const u8 *)(total + 2), *end = (const u8 *)total + *total;

	while (p + sizeof(struct mb2_tag) <= end) {
		const struct mb2_tag *t = (const void *)p;

		if (t->type == MB2_END || t->size < sizeof(*t))
			break;
		if (t->type == MB2_LOADER)
			str_copy(loader_name, (const char *)t->data, sizeof(loader_name));
		else
			parse_mb2_tag(t);
		p += ALIGN_UP(t->size, 8);
	}
}

void boot_parse(u32 magic, u64 info)
{
	boot_info.loader = loader_name;
	if (magic == MB1_BOOT_MAGIC)
		parse_mb1(info);
	else if (magic == MB2_BOOT_MAGIC)
		parse_mb2(info);
	else
		panic("not started by a multiboot loader (magic 0x%x)", magic);

	merge_ram();
	if (!boot_info.nr_ram)
		panic("the loader passed no memory map");
	if (regions_dropped)
		klog("boot: memory map too long, %u regions not used", regions_dropped);
	if (!boot_info.rsdp) {
		const void *rsdp = acpi_find_rsdp();

		if (rsdp)
			set_rsdp(rsdp, 36);
	}
	klog("boot: multiboot%u by %s, %u modules, %u memory regions, up to %zu MiB",
	     magic == MB1_BOOT_MAGIC ? 1 : 2, *loader_name ? loader_name : "?",
	     boot_info.nr_modules, boot_info.nr_ram, (size_t)(boot_info.highest_ram >> 20));
}

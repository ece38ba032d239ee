/* SPDX-License-Identifier: MIT
 *
 * The two questions this kernel asks ACPI: which CPUs are there, and where do the old ISA interrupts arrive? Both answers are
 * in one table, the MADT. Tables may lie outside the memory the direct map covers, so each is mapped as a device.
 */
#include "lib/string.h"
#include "mm/mm.h"

#include "internal.h"
#include "log.h"

struct rsdp {
	char signature[8];
	u8 checksum;
	char oem[6];
	u8 revision; /* >= 2: the fields below exist */
	u32 rsdt;
	u32 length;
	u64 xsdt;
	u8 checksum2, reserved[3];
} __attribute__((packed));

struct acpi_header {
	char signature[4];
	u32 length;
	u8 revision, checksum;
	char oem[6], oem_table[8];
	u32 oem_revision, creator, creator_revision;
} __attribute__((packed));

struct madt {
	struct acpi_header header;
	u32 lapic_addr, flags;
} __attribute__((packed));

enum { MADT_LAPIC, MADT_IOAPIC, MADT_ISA_OVERRIDE, MADT_LAPIC_ADDR = 5, MADT_X2APIC = 9 };
#define MADT_CPU_ENABLED 1u

struct acpi_info acpi_info;

static bool checksum_ok(const void *p, size_t n)
{
	const u8 *b = p;
	u8 sum = 0;

	while (n--)
		sum = (u8)(sum + *b++);
	return !sum;
}

static const void *scan(u64 start, u64 end)
{
	for (u64 a = start; a + sizeof(struct rsdp) <= end; a += 16) {
		const void *p = phys_to_virt(a);

		if (!memcmp(p, "RSD PTR ", 8) && checksum_ok(p, 20))
			return p;
	}
	return NULL;
}

const void *acpi_find_rsdp(void)
{
	u64 ebda = (u64) * (const volatile u16 *)phys_to_virt(0x40e) << 4;
	const void *p = NULL;

	if (ebda >= 0x80000 && ebda < 0xa0000)
		p = scan(ebda, ebda + 1024);
	return p ? p : scan(0xe0000, 0x100000);
}

static const void *map(u64 phys, size_t size)
{
	u64 offset = phys & (PAGE_SIZE - 1);
	const char *p = mmio_map(phys - offset, ALIGN_UP(offset + size, PAGE_SIZE));

	return p ? p + offset : NULL;
}

/* Map the table at @phys whole; NULL if it is damaged. */
static const struct acpi_header *map_table(u64 phys)
{
	const struct acpi_header *h = map(phys, sizeof(*h));
	u32 length;

	if (!h)
		return NULL;
	length = h->length;
	if (length < sizeof(*h) || length > 1u << 20) {
		klog("acpi: table at 0x%llx has length %u: ignored", (unsigned long long)phys,
		     length);
		return NULL;
	}
	/* Mapped already, unless it crosses a page. */
	if ((phys & (PAGE_SIZE - 1)) + length > PAGE_SIZE)
		h = map(phys, length);
	if (h && !checksum_ok(h, length)) {
		klog("acpi: bad checksum of table %.4s: ignored", h->signature);
		return NULL;
	}
	return h;
}

static void add_cpu(u32 id, u32 flags)
{
	struct acpi_info *a = &acpi_info;

	if (!(flags & MADT_CPU_ENABLED))
		return;
	for (unsigned i = 0; i < a->nr_cpus; i++)
		if (a->apic_ids[i] == id)
			return; /* the boot CPU, or listed both as APIC and x2APIC */
	if (a->nr_cpus == MAX_CPUS)
		a->nr_dropped++;
	else
		a->apic_ids[a->nr_cpus++] = id;
}

static u32 get32(const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void madt_entry(const u8 *e, unsigned type, unsigned length)
{
	struct acpi_info *a = &acpi_info;

	if (type == MADT_LAPIC && length >= 8) {
		add_cpu(e[3], get32(e + 4));
	} else if (type == MADT_X2APIC && length >= 16) {
		add_cpu(get32(e + 4), get32(e + 8));
	} else if (type == MADT_IOAPIC && length >= 12) {
		if (a->nr_ioapics == MAX_IOAPICS)
			return;
		a->ioapics[a->nr_ioapics].addr = get32(e + 4);
		a->ioapics[a->nr_ioapics++].gsi_base = get32(e + 8);
	} else if (type == MADT_ISA_OVERRIDE && length >= 10 && e[3] < 16) {
		a->isa[e[3]].gsi = get32(e + 4);
		a->isa[e[3]].low = (e[8] & 3) == 3;
		a->isa[e[3]].level = (e[8] >> 2 & 3) == 3;
	} else if (type == MADT_LAPIC_ADDR && length >= 12) {
		memcpy(&a->lapic_addr, e + 4, 8);
	}
}

static bool parse_madt(const struct acpi_header *h)
{
	const struct madt *madt = (const void *)h;
	const u8 *p = (const u8 *)(madt + 1), *end = (const u8 *)h + h->length;

	if (memcmp(h->signature, "APIC", 4))
		return false;
	acpi_info.lapic_addr = madt->lapic_addr;
	while (p + 2 <= end && p[1] >= 2 && p + p[1] <= end) {
		madt_entry(p, p[0], p[1]);
		p += p[1];
	}
	return true;
}

void acpi_read_madt(u32 boot_id)
{
	const struct rsdp *rsdp = boot_info.rsdp ? phys_to_virt(boot_info.rsdp) : NULL;
	const struct acpi_header *root = NULL;
	unsigned width = 4, n;

	for (unsigned i = 0; i < 16; i++)
		acpi_info.isa[i].gsi = i;
	acpi_info.apic_ids[0] = boot_id;
	acpi_info.nr_cpus = 1;
	if (!rsdp) {
		klog("acpi: no root pointer");
		return;
	}
	if (!checksum_ok(rsdp, 20))
		klog("acpi: bad checksum of the root pointer: used all the same");
	if (rsdp->revision >= 2 && rsdp->xsdt) {
		root = map_table(rsdp->xsdt);
		width = 8;
	}
	if (!root) {
		root = map_table(rsdp->rsdt);
		width = 4;
	}
	if (!root)
		return;
	n = (unsigned)(root->length - sizeof(*root)) / width;
	for (unsigned i = 0; i < n; i++) {
		const u8 *entry = (const u8 *)(root + 1) + i * width;
		const struct acpi_header *h;
		u64 phys = 0;

		memcpy(&phys, entry, width);
		/* Only the header of those that are not the MADT. */
		h = map(phys, sizeof(*h));
		if (!h || memcmp(h->signature, "APIC", 4))
			continue;
		h = map_table(phys);
		if (h && parse_madt(h))
			return;
	}
	klog("acpi: no MADT");
}

/* SPDX-License-Identifier: MIT
 *
 * Finding the CPUs and starting them: INIT to all others at once, 10 ms, start-up message to all. Each finds its struct cpu by
 * its APIC id; those the tables do not list, or smp= does not want, go to sleep for good.
 */
#include "lib/string.h"
#include "mm/mm.h"
#include "sched/machine.h"

#include "internal.h"
#include "log.h"

#define ICR_INIT    0x4500u
#define ICR_STARTUP 0x4600u

/* Layout known to trampoline.asm (24 bytes an entry). */
struct ap_slot {
	u32 apic_id, reserved;
	struct cpu *cpu;
	u64 stack_top;
};
struct ap_slot ap_table[MAX_CPUS];
u32 ap_table_entries;

/* The end of the trampoline page, in trampoline.asm's order. */
struct trampoline_words {
	u32 cr0, cr3, cr4, efer;
	u64 entry;
};
extern const u8 trampoline_start[], trampoline_end[];
extern const u32 trampoline_patch[4];
extern u64 boot_pml4[512];
void ap_entry(void);

static void (*ap_main)(unsigned index);

static u32 initial_apic_id(void)
{
	u32 a, b, c, d;

	cpuid(0, 0, &a, &b, &c, &d);
	if (a >= 11) {
		cpuid(11, 0, &a, &b, &c, &d);
		if (b)
			return d;
	}
	cpuid(1, 0, &a, &b, &c, &d);
	return b >> 24;
}

void cpus_discover(unsigned limit)
{
	unsigned n;

	acpi_read_madt(initial_apic_id());
	n = acpi_info.nr_cpus;
	if (acpi_info.nr_dropped)
		klog("smp: %u CPUs more than the %u supported: not used", acpi_info.nr_dropped,
		     MAX_CPUS);
	if (limit && limit < n)
		n = limit;
	if (!acpi_info.lapic_addr)
		klog("smp: without ACPI tables only this CPU is used");
	pic_silence();
	lapic_init(acpi_info.lapic_addr ? acpi_info.lapic_addr : 0xfee00000);
	ioapic_init();

	for (unsigned i = 1; i < n; i++) {
		struct cpu_block *b = kzalloc(sizeof(*b));

		if (!b) {
			klog("smp: no memory for CPU %u and the following", i);
			n = i;
			break;
		}
		cpu_block_init(b, i, acpi_info.apic_ids[i]);
		cpus[i] = &b->cpu;
	}
	cpus_present = n;
	klog("smp: %u CPUs listed, %u wanted", acpi_info.nr_cpus, n);
}

static u64 read_control(unsigned n)
{
	u64 v;

	if (n == 0)
		__asm__ volatile("movq %%cr0, %0" : "=r"(v));
	else
		__asm__ volatile("movq %%cr4, %0" : "=r"(v));
	return v;
}

/* Copy the trampoline to physical @page and fill in its addresses. */
static void trampoline_place(u64 page)
{
	u8 *t = phys_to_virt(page);
	struct trampoline_words *w = (void *)(t + trampoline_patch[3]);

	memcpy(t, trampoline_start, (size_t)(trampoline_end - trampoline_start));
	for (unsigned i = 0; i < 3; i++)
		*(u32 *)(t + trampoline_patch[i]) += (u32)page;
	w->cr0 = (u32)read_control(0);
	w->cr4 = (u32)read_control(4);
	w->efer = (u32)(rdmsr(MSR_EFER) & ~EFER_LMA);
	w->cr3 = (u32)virt_to_phys(boot_pml4);
	w->entry = (u64)ap_entry;

	/* The boot page tables: low memory one to one, and the kernel's half as it is now. */
	memcpy(boot_pml4 + 256, (u64 *)phys_to_virt(kernel_pml4) + 256, 256 * sizeof(u64));
}

/* First C code of an AP, on its idle task's stack, with the kernel's page tables. */
void ap_start(struct cpu *c)
{
	cpu_setup(c);
	lapic_init_cpu();
	WRITE_ONCE(c->online, 1);
	__atomic_fetch_add(&cpus_online, 1, __ATOMIC_SEQ_CST);
	ap_main(c->index);
	panic("CPU %u came back from its entry function", c->index);
}

static unsigned online_now(void)
{
	return __atomic_load_n(&cpus_online, __ATOMIC_SEQ_CST);
}

/* Wait until all are online or @ns have passed, without keeping a host CPU from the starting ones. */
static bool wait_online(u64 ns)
{
	u64 until = machine_now() + ns;

	while (online_now() < cpus_present) {
		if (machine_now() >= until)
			return false;
		if (arch_waits_by_nops())
			spin_wait();
		else
			start_up_wait(200 * NSEC_PER_USEC);
	}
	return true;
}

unsigned cpus_start(void (*entry)(unsigned index))
{
	u64 start = machine_now(), page = low_page();

	ap_main = entry;
	WRITE_ONCE(cpus[0]->online, 1);
	cpus_online = 1;
	if (cpus_present > 1 && !page)
		klog("smp: no free page below 1 MiB to start other CPUs in");
	if (cpus_present > 1 && page) {
		for (unsigned i = 1; i < cpus_present; i++)
			ap_table[i - 1] =
				(struct ap_slot){cpus[i]->apic_id, 0, cpus[i], cpus[i]->kstack_top};
		ap_table_entries = cpus_present - 1;
		trampoline_place(page);

		lapic_broadcast(ICR_INIT);
		start_up_wait(10 * NSEC_PER_MSEC);
		lapic_broadcast(ICR_STARTUP | (u32)(page >> PAGE_SHIFT));
		if (!wait_online(20 * NSEC_PER_MSEC)) {
			/* Old hardware wants it twice; a CPU that runs already ignores it. */
			for (unsigned i = 1; i < cpus_present; i++)
				if (!cpus[i]->online)
					lapic_command(cpus[i]->apic_id,
						      ICR_STARTUP | (u32)(page >> PAGE_SHIFT));
			wait_online(10 * NSEC_PER_SEC);
		}
	}
	for (unsigned i = 0; i < cpus_present; i++)
		if (!cpus[i]->online)
			klog("smp: CPU %u (APIC id %u) did not answer within 10 s", i,
			     cpus[i]->apic_id);
	klog("smp: %u of %u CPUs online after %llu us", online_now(), cpus_present,
	     (unsigned long long)(machine_now() - start) / 1000);
	return online_now();
}

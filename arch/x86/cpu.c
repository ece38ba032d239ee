/* SPDX-License-Identifier: MIT
 *
 * A CPU's own state: its block behind GS, GDT and TSS, control registers and features. Features that are absent are done
 * without; nothing here assumes a model.
 */
#include "lib/string.h"
#include "sched/sched.h"

#include "internal.h"
#include "log.h"

_Static_assert(offsetof(struct cpu, self) == CPU_SELF, "asm");
_Static_assert(offsetof(struct cpu, current) == CPU_CURRENT, "asm");
_Static_assert(offsetof(struct cpu, preempt_count) == CPU_PREEMPT_COUNT, "asm");
_Static_assert(offsetof(struct cpu, need_resched) == CPU_NEED_RESCHED, "asm");
_Static_assert(offsetof(struct cpu, kstack_top) == CPU_KSTACK_TOP, "asm");
_Static_assert(offsetof(struct cpu, user_rsp) == CPU_USER_RSP, "asm");
_Static_assert(offsetof(struct cpu, arch) == 96, "CPU_ARCH in asm.inc");
_Static_assert(offsetof(struct task, signal_pending) == 7, "TASK_SIGNAL_PENDING in asm.inc");
_Static_assert(offsetof(struct cpu_arch, user_gs) == 0, "ARCH_USER_GS in asm.inc");
_Static_assert(offsetof(struct cpu_arch, io_bitmap) == 8, "ARCH_IO_BITMAP in asm.inc");
_Static_assert(offsetof(struct cpu_arch, user_fs) == 16, "ARCH_USER_FS in asm.inc");
_Static_assert(offsetof(struct cpu_arch, tss.rsp) == 92, "ARCH_TSS_RSP0 in asm.inc");
_Static_assert(offsetof(struct cpu, index) == 48, "CPU_INDEX in asm.inc");
_Static_assert(offsetof(struct cpu, mm) == CPU_MM, "asm");
_Static_assert(offsetof(struct cpu, irq_depth) == CPU_IRQ_DEPTH, "asm");
_Static_assert(sizeof(struct regs) == 168, "REGS_SIZE in asm.inc");

struct cpu *cpus[MAX_CPUS];
unsigned cpus_present;
unsigned cpus_online;
u64 mmu_nx;
bool cpu_has_smap;

static struct cpu_block boot_block;
/* Control-register bits every CPU gets: what the boot CPU has. */
static u64 cr4_features;

extern const u64 _smap_sites[], _esmap_sites[];
void cpu_load_gdt(const void *gdtr, u16 tss_selector);
void syscall_entry(void);

void cpu_block_init(struct cpu_block *b, unsigned index, u32 apic_id)
{
	struct cpu *c = &b->cpu;

	c->self = c;
	c->index = index;
	c->apic_id = apic_id;
	c->arch = &b->arch;
	c->preempt_count =
		1; /* start-up must not be preempted; whoever enters the idle loop opens */
	for (unsigned i = 0; i < 3; i++)
		b->arch.tss.ist[i] = (u64)b->stacks[i] + IST_STACK_SIZE;
	b->arch.tss.io_bitmap_offset = NO_IO_BITMAP;
	b->arch.tss.io_bitmap_end = 0xff;
}

static void gdt_load(struct cpu_arch *a)
{
	u64 tss = (u64)&a->tss, limit = sizeof(a->tss) - 1;
	struct {
		u16 limit;
		u64 base;
	} __attribute__((packed)) gdtr = {sizeof(a->gdt) - 1, (u64)a->gdt};

	a->gdt[KERNEL_CS / 8] = 0x00af9a000000ffff;
	a->gdt[KERNEL_DS / 8] = 0x00cf92000000ffff;
	a->gdt[USER_DS / 8] = 0x00cff2000000ffff;
	a->gdt[USER_CS / 8] = 0x00affa000000ffff;
	a->gdt[TSS_SEL / 8] = limit | (tss & 0xffffff) << 16 | 0x89ull << 40 |
			      (tss >> 24 & 0xff) << 56;
	a->gdt[TSS_SEL / 8 + 1] = tss >> 32;
	cpu_load_gdt(&gdtr, TSS_SEL);
}

static u64 read_cr4(void)
{
	u64 v;

	__asm__ volatile("movq %%cr4, %0" : "=r"(v));
	return v;
}

void cpu_setup(struct cpu *c)
{
	wrmsr(MSR_GS_BASE, (u64)c);
	wrmsr(MSR_KERNEL_GS_BASE, 0);
	wrmsr(MSR_FS_BASE, 0);
	gdt_load(c->arch);
	idt_load();

	/* No emulation, no task-switched trap, caches on; read-only pages bind the kernel too. */
	__asm__ volatile(
		"movq %0, %%cr0" ::"r"(CR0_PG | CR0_WP | CR0_NE | CR0_ET | CR0_MP | CR0_PE));
	__asm__ volatile(
		"movq %0, %%cr4" ::"r"(CR4_PAE | CR4_OSFXSR | CR4_OSXMMEXCPT | cr4_features));
	__asm__ volatile("fninit");

	wrmsr(MSR_EFER, rdmsr(MSR_EFER) | EFER_SCE | (mmu_nx ? EFER_NXE : 0));
	/* SYSCALL loads CS/SS from 47:32 and +8, SYSRET from 63:48 +16 and +8. */
	wrmsr(MSR_STAR, (u64)KERNEL_CS << 32 | (u64)(USER_DS - 8) << 48);
	wrmsr(MSR_LSTAR, (u64)syscall_entry);
	/* Off at entry: interrupts, single step, direction, nested task, resume, alignment check (it opens SMAP), I/O level. */
	wrmsr(MSR_SFMASK, 0x257fd5);
}

/* The kernel text is still writable: put STAC and CLAC where the assembly left room for them. */
static void smap_patch(void)
{
	for (const u64 *s = _smap_sites; s < _esmap_sites; s += 2) {
		u8 *insn = (u8 *)s[0];

		insn[0] = 0x0f;
		insn[1] = 0x01;
		insn[2] = (u8)s[1];
	}
}

static void features_init(void)
{
	u32 a, b, c, d, max_leaf, max_ext;

	cpuid(0, 0, &max_leaf, &b, &c, &d);
	cpuid(1, 0, &a, &b, &c, &d);
	if (d & 1u << 13)
		cr4_features |= CR4_PGE;
	if (d & 1u << 7)
		cr4_features |= CR4_MCE;
	if (!(d & 1u << 9))
		panic("this CPU has no local APIC");
	if (max_leaf >= 7) {
		cpuid(7, 0, &a, &b, &c, &d);
		if (b & 1u << 7)
			cr4_features |= CR4_SMEP;
		if (b & 1u << 20)
			cr4_features |= CR4_SMAP;
		if (c & 1u << 2)
			cr4_features |= CR4_UMIP;
	}
	cpuid(0x80000000, 0, &max_ext, &b, &c, &d);
	cpuid(0x80000001, 0, &a, &b, &c, &d);
	if (d & 1u << 20)
		mmu_nx = PTE_NX;
	if (!(d & 1u << 11))
		panic("this CPU has no SYSCALL instruction");
	cpu_has_smap = cr4_features & CR4_SMAP;
	if (cpu_has_smap)
		smap_patch();
}

void arch_early_init(void)
{
	u32 a, b, c, d;

	/* First of all an address behind GS and an IDT, so that whatever happens next can be reported. */
	cpuid(1, 0, &a, &b, &c, &d);
	cpu_block_init(&boot_block, 0, b >> 24);
	cpus[0] = &boot_block.cpu;
	cpus_present = 1;
	idt_init();
	cpu_setup(&boot_block.cpu);

	features_init();
	cpu_setup(&boot_block.cpu);
	klog("cpu: features:%s%s%s%s%s%s", mmu_nx ? " nx" : "",
	     cr4_features & CR4_PGE ? " pge" : "", cr4_features & CR4_SMEP ? " smep" : "",
	     cr4_features & CR4_SMAP ? " smap" : "", cr4_features & CR4_UMIP ? " umip" : "",
	     (read_cr4() & CR4_MCE) ? " mce" : "");
}

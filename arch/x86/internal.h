/* SPDX-License-Identifier: MIT
 *
 * Shared between the files of arch/x86 only: the private part of a CPU, ACPI findings, the interrupt controllers.
 */
#ifndef ARCH_X86_INTERNAL_H
#define ARCH_X86_INTERNAL_H

#include <arch/boot.h>
#include <arch/cpu.h>
#include <arch/io.h>
#include <arch/irq.h>
#include <arch/mmu.h>
#include <arch/smp.h>
#include <arch/thread.h>

#define MSR_APIC_BASE	   0x1b
#define MSR_EFER	   0xc0000080
#define MSR_STAR	   0xc0000081
#define MSR_LSTAR	   0xc0000082
#define MSR_SFMASK	   0xc0000084
#define MSR_FS_BASE	   0xc0000100
#define MSR_GS_BASE	   0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102

#define EFER_SCE (1ull << 0)
#define EFER_LMA (1ull << 10)
#define EFER_NXE (1ull << 11)

#define CR0_PE (1ull << 0)
#define CR0_MP (1ull << 1)
#define CR0_ET (1ull << 4)
#define CR0_NE (1ull << 5)
#define CR0_WP (1ull << 16)
#define CR0_PG (1ull << 31)

#define CR4_PAE	       (1ull << 5)
#define CR4_MCE	       (1ull << 6)
#define CR4_PGE	       (1ull << 7)
#define CR4_OSFXSR     (1ull << 9)
#define CR4_OSXMMEXCPT (1ull << 10)
#define CR4_UMIP       (1ull << 11)
#define CR4_SMEP       (1ull << 20)
#define CR4_SMAP       (1ull << 21)

#define RFLAGS_AC (1ull << 18)

/* Vectors: 0..31 exceptions, the masked PICs' spurious interrupts, ISA interrupts through the I/O APIC, then <arch/smp.h>'s. */
#define VEC_PIC	 0x20
#define VEC_ISA	 0x30
#define VEC_WAKE 0xf1 /* the local timer while start-up code waits: ends a HLT, no more */

#define IST_NMI		  1
#define IST_DOUBLE_FAULT  2
#define IST_MACHINE_CHECK 3
#define IST_STACK_SIZE	  8192u

/* Offset of the port bitmap when the current thread has no ports: beyond the segment's limit. */
#define NO_IO_BITMAP 0xffff

struct tss {
	u32 reserved0;
	u64 rsp[3];
	u64 reserved1;
	u64 ist[7]; /* ist[0] is IST 1 */
	u64 reserved2;
	u16 reserved3;
	u16 io_bitmap_offset;
	u8 io_bitmap[IO_BITMAP_BYTES];
	u8 io_bitmap_end; /* must be all ones */
} __attribute__((packed));

/** struct cpu_arch - private part of a CPU. This CPU only, interrupts off. The first fields are known to entry.asm. */
struct cpu_arch {
	u64 user_gs;   /* value of MSR_KERNEL_GS_BASE, the user's base while we are in the kernel */
	u8 *io_bitmap; /* whose copy the TSS holds, or NULL */
	u64 user_fs;   /* value of MSR_FS_BASE */
	u64 gdt[8];
	struct tss tss;
	volatile u32 stopped;	      /* panic: halted, stop_regs valid */
	volatile u64 stop_generation; /* machine_stop_others(): last request answered */
	struct regs stop_regs;
};

/** struct cpu_block - everything a CPU needs, in one allocation. */
struct cpu_block {
	struct cpu cpu;
	struct cpu_arch arch;
	u8 stacks[3][IST_STACK_SIZE]
		__attribute__((aligned(16))); /* NMI, double fault, machine check */
};

/* ---- cpu.c ---- */
extern bool cpu_has_smap;
/** cpu_block_init() - fill in @b for CPU @index with @apic_id. */
void cpu_block_init(struct cpu_block *b, unsigned index, u32 apic_id);
/** cpu_setup() - make the executing CPU run as @c: GS, GDT, TSS, IDT, control registers, SYSCALL. */
void cpu_setup(struct cpu *c);

/* ---- trap.c ---- */
void idt_init(void);
void idt_load(void);

/* ---- acpi.c ---- */
#define MAX_IOAPICS 8
struct acpi_info {
	u64 lapic_addr; /* physical; 0: no MADT */
	unsigned nr_cpus, nr_dropped, nr_ioapics;
	u32 apic_ids[MAX_CPUS]; /* enabled CPUs, the boot CPU first */
	struct {
		u32 addr, gsi_base;
	} ioapics[MAX_IOAPICS];
	struct {
		u32 gsi;
		bool level, low;
	} isa[16]; /* where each ISA interrupt arrives */
};
extern struct acpi_info acpi_info;
/** acpi_read_madt() - fill acpi_info; what is wrong with the tables is logged. @boot_id: APIC id of this CPU. */
void acpi_read_madt(u32 boot_id);
/** acpi_find_rsdp() - look for the root pointer where a BIOS puts it. Return: its address in the direct map, or NULL. */
const void *acpi_find_rsdp(void);

/* ---- apic.c ---- */
/** lapic_init() - boot CPU: enable the local APIC as x2APIC if the CPU has that, else as xAPIC, mapped at physical @addr. */
void lapic_init(u64 addr);
/** lapic_init_cpu() - enable this CPU's local APIC. */
void lapic_init_cpu(void);
u32 lapic_id(void);
void lapic_eoi(void);
/** lapic_broadcast() - send the command @low (INIT, start-up) to all CPUs but this one; lapic_command(): to one. */
void lapic_broadcast(u32 low);
void lapic_command(u32 apic_id, u32 low);
/** lapic_timer_start() - count @count down at the timer's input clock, then interrupt @vector; again and again if @periodic. */
void lapic_timer_start(u32 vector, u32 count, bool periodic);
void lapic_timer_count(u32 count);
u32 lapic_timer_current(void);

/* ---- ioapic.c ---- */
/** pic_silence() - mask both PICs. Before lapic_init(): what they have pending must be withdrawn while it is still connected. */
void pic_silence(void);
void ioapic_init(void);

/* ---- clock.c ---- */
/** start_up_wait() - let @ns pass, asleep (or in nop blocks for idle=last). Start-up only, interrupts on or off. */
void start_up_wait(u64 ns);

/* ---- thread.c, smp.c, machine.c: called by assembly or trap.c ---- */
struct ap_slot;
void thread_switch_slow(struct arch_thread *next);
void ap_start(struct cpu *c) __attribute__((noreturn));
void stop_ipi(void);
void trap_exception(struct regs *regs, unsigned vector);
void trap_paranoid(struct regs *regs, unsigned vector);
void trap_interrupt(struct regs *regs);
void trap_bad_iret(struct regs *regs);

#endif

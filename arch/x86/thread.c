/* SPDX-License-Identifier: MIT
 *
 * The machine part of a thread: the first frame on its kernel stack, its FPU image, segment bases and port permissions. The
 * switch itself is in entry.asm.
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "mm/mm.h"

#include "internal.h"

_Static_assert(offsetof(struct arch_thread, rsp) == 0, "THREAD_RSP in asm.inc");
_Static_assert(offsetof(struct arch_thread, kstack_top) == 8, "THREAD_KSTACK_TOP in asm.inc");
_Static_assert(offsetof(struct arch_thread, fs_base) == 16, "THREAD_FS_BASE in asm.inc");
_Static_assert(offsetof(struct arch_thread, gs_base) == 24, "THREAD_GS_BASE in asm.inc");
_Static_assert(offsetof(struct arch_thread, io_bitmap) == 32, "THREAD_IO_BITMAP in asm.inc");
_Static_assert(offsetof(struct arch_thread, user) == 40, "THREAD_USER in asm.inc");
_Static_assert(offsetof(struct arch_thread, fpu) == 48, "THREAD_FPU in asm.inc");

/* Words of the FXSAVE image. */
#define FPU_FCW	       0  /* u16 */
#define FPU_MXCSR      24 /* u32 */
#define FPU_MXCSR_MASK 28

void thread_start_kernel(void);
void thread_start_user(void);

/* What arch_switch() pops. */
struct switch_frame {
	u64 rbp, rip;
};

/* What is above it when thread_start_kernel() begins. */
struct start_frame {
	struct switch_frame sw;
	u64 fn, arg;
};

static inline void fxsave(u8 *image)
{
	__asm__ volatile("fxsave64 (%0)" ::"r"(image) : "memory");
}

static inline void fxrstor(const u8 *image)
{
	__asm__ volatile("fxrstor64 (%0)" ::"r"(image) : "memory");
}

void arch_thread_init_kernel(struct arch_thread *t, u64 kstack_top, void (*fn)(void *), void *arg)
{
	/* The room of the user registers stays free, in case the task goes to user mode one day (exec by init). */
	u64 *end = (u64 *)((struct regs *)kstack_top - 1) - 1;
	struct start_frame *f = (struct start_frame *)end - 1;

	*end = 0;
	*f = (struct start_frame){
		.sw.rip = (u64)thread_start_kernel, .fn = (u64)fn, .arg = (u64)arg};
	t->rsp = (u64)f;
	t->kstack_top = kstack_top;
	t->user = false;
}

int arch_thread_init_user(struct arch_thread *t, u64 kstack_top, const struct regs *regs,
			  const struct arch_thread *from)
{
	struct regs *r = (struct regs *)kstack_top - 1;
	u64 *end = (u64 *)r - 1;
	struct switch_frame *f = (struct switch_frame *)end - 1;

	t->io_bitmap = NULL;
	if (from->io_bitmap) {
		t->io_bitmap = kmalloc(IO_BITMAP_BYTES);
		if (!t->io_bitmap)
			return -ENOMEM;
		memcpy(t->io_bitmap, from->io_bitmap, IO_BITMAP_BYTES);
	}
	*r = *regs;
	*end = 0;
	*f = (struct switch_frame){.rip = (u64)thread_start_user};
	t->rsp = (u64)f;
	t->kstack_top = kstack_top;
	t->fs_base = from->fs_base;
	t->gs_base = from->gs_base;
	t->user = true;
	fxsave(t->fpu); /* @from runs: its state is in the registers */
	return 0;
}

void arch_thread_release(struct arch_thread *t)
{
	kfree(t->io_bitmap, IO_BITMAP_BYTES);
	t->io_bitmap = NULL;
}

/* GS base and port permissions of @next, which differ from none at least on one side. Interrupts off. */
void thread_switch_slow(struct arch_thread *next)
{
	struct cpu_arch *a = this_cpu()->arch;

	wrmsr(MSR_KERNEL_GS_BASE, next->gs_base);
	a->user_gs = next->gs_base;
	if (next->io_bitmap) {
		memcpy(a->tss.io_bitmap, next->io_bitmap, IO_BITMAP_BYTES);
		a->tss.io_bitmap_offset = offsetof(struct tss, io_bitmap);
	} else {
		a->tss.io_bitmap_offset = NO_IO_BITMAP;
	}
	a->io_bitmap = next->io_bitmap;
}

/* Interrupts off. */
static void load_fs_base(u64 base)
{
	wrmsr(MSR_FS_BASE, base);
	this_cpu()->arch->user_fs = base;
}

void arch_thread_exec(struct arch_thread *t)
{
	u64 flags = irq_save();

	t->fs_base = 0;
	t->gs_base = 0;
	t->user = true;
	memset(t->fpu, 0, sizeof(t->fpu));
	*(u16 *)(t->fpu + FPU_FCW) = 0x37f;
	*(u32 *)(t->fpu + FPU_MXCSR) = 0x1f80;
	fxrstor(t->fpu);
	load_fs_base(0);
	thread_switch_slow(t);
	irq_restore(flags);
}

int arch_set_fs_base(struct arch_thread *t, u64 base)
{
	u64 flags;

	if (base >= USER_END)
		return -EPERM;
	flags = irq_save();
	t->fs_base = base;
	load_fs_base(base);
	irq_restore(flags);
	return 0;
}

int arch_set_gs_base(struct arch_thread *t, u64 base)
{
	u64 flags;

	if (base >= USER_END)
		return -EPERM;
	flags = irq_save();
	t->gs_base = base;
	thread_switch_slow(t);
	irq_restore(flags);
	return 0;
}

static bool no_ports(const u8 *bitmap)
{
	for (unsigned i = 0; i < IO_BITMAP_BYTES; i++)
		if (bitmap[i] != 0xff)
			return false;
	return true;
}

int arch_ioperm(struct arch_thread *t, u64 from, u64 num, bool on)
{
	u8 *bitmap = NULL;
	u64 flags;

	if (from > IO_BITMAP_BYTES * 8 || num > IO_BITMAP_BYTES * 8 - from || !num)
		return -EINVAL;
	if (!t->io_bitmap) {
		if (!on)
			return 0;
		u8 *fresh = kmalloc(IO_BITMAP_BYTES);

		if (!fresh)
			return -ENOMEM;
		memset(fresh, 0xff, IO_BITMAP_BYTES);
		t->io_bitmap = fresh;
	}
	for (u64 port = from; port < from + num; port++) {
		if (on)
			t->io_bitmap[port / 8] &= (u8) ~(1u << port % 8);
		else
			t->io_bitmap[port / 8] |= (u8)(1u << port % 8);
	}
	if (!on && no_ports(t->io_bitmap)) {
		/* Back to the common case, in which a switch has nothing to do. */
		bitmap = t->io_bitmap;
		t->io_bitmap = NULL;
	}
	flags = irq_save();
	thread_switch_slow(t);
	irq_restore(flags);
	kfree(bitmap, IO_BITMAP_BYTES);
	return 0;
}

void arch_fpu_save_current(struct arch_thread *t)
{
	fxsave(t->fpu);
}

void arch_fpu_load_current(struct arch_thread *t, const void *image)
{
	u64 flags =
		irq_save(); /* a switch between the copy and the load would save the old state over it */
	u32 *mxcsr = (u32 *)(t->fpu + FPU_MXCSR), mask;

	fxsave(t->fpu);
	mask = *(u32 *)(t->fpu + FPU_MXCSR_MASK);
	memcpy(t->fpu, image, sizeof(t->fpu));
	/* FXRSTOR faults on MXCSR bits this CPU lacks. */
	*mxcsr &= mask ? mask : 0xffbf;
	fxrstor(t->fpu);
	irq_restore(flags);
}

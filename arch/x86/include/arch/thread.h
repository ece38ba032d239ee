/* SPDX-License-Identifier: MIT
 *
 * The machine part of a thread: its kernel stack, FPU and segment-base state, port permissions; starting and switching.
 */
#ifndef ARCH_THREAD_H
#define ARCH_THREAD_H

#include "arch/regs.h"
#include "lib/types.h"

#define IO_BITMAP_BYTES 128 /* ports 0 .. 0x3ff */

/** struct arch_thread - embedded in every thread. Changed by the thread itself or while it does not run. */
struct arch_thread {
	u64 rsp; /* saved kernel stack pointer while switched out */
	u64 kstack_top;
	u64 fs_base, gs_base; /* user's; loaded at switch-in */
	u8 *io_bitmap; /* IO_BITMAP_BYTES, 0 bits allowed; NULL: no ports. Owned by the thread */
	bool user;     /* has FPU state to switch */
	u8 fpu[512] __attribute__((aligned(16))); /* FXSAVE image */
};

/**
 * arch_thread_init_kernel() - prepare @t so that the first switch to it calls @fn(@arg) (through sched_finish_switch()), on the stack
 * that ends at @kstack_top. @fn must not return.
 */
void arch_thread_init_kernel(struct arch_thread *t, u64 kstack_top, void (*fn)(void *), void *arg);

/**
 * arch_thread_init_user() - prepare @t so that the first switch to it finishes the switch and returns to user mode with @regs.
 * FPU, segment bases and port permissions are copied from the current thread @from (fork), which must be current.
 * Return: 0 or -ENOMEM.
 */
int arch_thread_init_user(struct arch_thread *t, u64 kstack_top, const struct regs *regs,
			  const struct arch_thread *from);

/** arch_thread_release() - free what @t owns apart from the stack. */
void arch_thread_release(struct arch_thread *t);

/** arch_thread_exec() - reset the current thread's FPU, segment bases to a new program's; port permissions stay. */
void arch_thread_exec(struct arch_thread *t);

/** arch_user_regs() - the current thread's user registers (top of its kernel stack). Only for threads that came from user mode. */
static inline struct regs *arch_user_regs(const struct arch_thread *t)
{
	return (struct regs *)t->kstack_top - 1;
}

/** arch_set_fs_base(), arch_set_gs_base() - current thread; the value must be canonical user space (checked: -EPERM). */
int arch_set_fs_base(struct arch_thread *t, u64 base);
int arch_set_gs_base(struct arch_thread *t, u64 base);

/** arch_ioperm() - allow or forbid @num ports from @from for the current thread. Return: 0, -EINVAL (beyond 0x3ff), -ENOMEM. */
int arch_ioperm(struct arch_thread *t, u64 from, u64 num, bool on);

/** arch_fpu_save_current() - write the live FPU state into the current thread's image (signal frames, fork). */
void arch_fpu_save_current(struct arch_thread *t);

/**
 * arch_fpu_save_user(), arch_fpu_load_user() - the same between the FPU and a 16-aligned 512-byte image in user memory.
 * Return: 0; -EFAULT if the memory or the image is bad. Context: task (may fault pages in).
 */
int arch_fpu_save_user(void *user_image);
int arch_fpu_load_user(const void *user_image);

/**
 * arch_fpu_load_current() - load the 512-byte FXSAVE @image into the FPU of the current thread (sigreturn). Invalid MXCSR bits are
 * masked. @image is kernel memory other than @t's own image, which a preemption in between would overwrite.
 */
void arch_fpu_load_current(struct arch_thread *t, const void *image);

/*
 * Where the context switch (machine_switch() of arch/machine.h, entry.asm) finds the struct arch_thread and the address space
 * (struct mm *) that belong to a struct task: both lie in one structure.
 */
#define TASK_ARCH 304
#define TASK_MM	  872

/**
 * arch_user_return() - leave the kernel with the registers at the top of the stack, all of them loaded: for a kernel task that became a
 * program. A system call that changed its registers (execve, sigreturn) may end in it, or set signal_pending and return: both ways
 * pass task_user_work() as needed and IRETQ.
 */
void arch_user_return(struct regs *regs) __attribute__((noreturn));

/** arch_call_on_stack() - go on in @fn on the stack that ends at @top; the present one is given up. */
void arch_call_on_stack(u64 top, void (*fn)(void)) __attribute__((noreturn));

#endif

/* SPDX-License-Identifier: MIT
 *
 * Signal frames on the user stack, in Linux/x86-64's layout.
 */
#ifndef TASK_SIGFRAME_H
#define TASK_SIGFRAME_H

#include "task/thread.h"

/**
 * sigframe_push() - make current enter its handler @act for @sig when it returns to user mode with @regs.
 * @mask: the blocked set that sigreturn restores. Return: 0, -EFAULT if the stack cannot take the frame (nothing changed).
 */
int sigframe_push(struct thread *t, struct regs *regs, int sig, const struct sigaction_k *act,
		  const struct siginfo_lite *info, sigset_t mask);

/** sigframe_pop() - rt_sigreturn(2): Return: the restored rax; on a bad frame forces SIGSEGV. */
s64 sigframe_pop(struct thread *t, struct regs *regs);

/** struct siginfo_user - Linux's siginfo_t, the parts we fill. */
struct siginfo_user {
	s32 signo, err, code, pad;
	u64 field[14];
};
/** siginfo_fill() - convert. */
void siginfo_fill(struct siginfo_user *u, int sig, const struct siginfo_lite *info);

#define SS_ONSTACK    1u
#define SS_DISABLE    2u
#define SS_AUTODISARM (1u << 31)
#define MINSIGSTKSZ   2048ull
/** on_altstack() - does user stack pointer @sp lie on @t's alternate stack? */
bool on_altstack(const struct thread *t, u64 sp);

#endif

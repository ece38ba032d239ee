/* SPDX-License-Identifier: MIT
 *
 * Building and undoing signal frames. The layout is Linux's rt_sigframe: return address (the restorer), ucontext, siginfo; above it the
 * FXSAVE image, 16-aligned. Handlers may change the saved registers; what comes back is made safe, not trusted.
 */
#include "task/sigframe.h"

#include "lib/errno.h"
#include "lib/string.h"
#include "task/internal.h"

struct sigcontext {
	u64 r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
		rflags;
	u16 cs, gs, fs, ss;
	u64 err, trapno, oldmask, cr2, fpstate, reserved[8];
};

struct ucontext {
	u64 flags, link;
	u64 stack_sp;
	u32 stack_flags, pad;
	u64 stack_size;
	struct sigcontext mc;
	sigset_t mask;
};

struct rt_sigframe {
	u64 restorer;
	struct ucontext uc;
	struct siginfo_user info;
};

_Static_assert(sizeof(struct sigcontext) == 256, "sigcontext layout");
_Static_assert(offsetof(struct ucontext, mask) == 296, "ucontext layout");
_Static_assert(sizeof(struct siginfo_user) == 128, "siginfo layout");

#define RED_ZONE 128
/* CF PF AF ZF SF TF DF OF AC ID: what a handler may choose. */
#define RFLAGS_USER  0x240dd5ull
#define RFLAGS_FIXED 0x202ull

bool on_altstack(const struct thread *t, u64 sp)
{
	return sp - t->altstack_sp < t->altstack_size;
}

void siginfo_fill(struct siginfo_user *u, int sig, const struct siginfo_lite *info)
{
	memset(u, 0, sizeof(*u));
	u->signo = sig;
	u->code = info->code;
	if (info->code <=
	    0) { /* by a program or a timer: pid and uid, or id and overruns; what they add */
		u->field[0] = info->pid | (u64)info->aux << 32;
		u->field[1] = info->value;
	} else if (sig == SIGCHLD) {
		u->field[0] = info->pid; /* pid, uid */
		u->field[1] = (u32)info->value;
	} else {
		u->field[0] = info->value; /* si_addr */
	}
}

int sigframe_push(struct thread *t, struct regs *regs, int sig, const struct sigaction_k *act,
		  const struct siginfo_lite *info, sigset_t mask)
{
	struct rt_sigframe f;
	struct sigcontext *mc = &f.uc.mc;
	u64 sp = regs->rsp - RED_ZONE, fp, at;

	if ((act->flags & SA_ONSTACK) && t->altstack_size && !on_altstack(t, regs->rsp))
		sp = t->altstack_sp + t->altstack_size;
	fp = ALIGN_DOWN(sp - sizeof(t->arch.fpu), 64ull);
	/* After the "return address" the stack is as a call leaves it: 8 modulo 16. */
	at = ALIGN_DOWN(fp - sizeof(f), 16ull) - 8;
	if (!(act->flags & SA_RESTORER) || !user_range_ok((void *)at, sizeof(f)) ||
	    act->handler >= USER_END)
		return -EFAULT;
	f.restorer = act->restorer;
	f.uc.flags = 0;
	f.uc.link = 0;
	f.uc.stack_sp = t->altstack_sp;
	f.uc.stack_flags = t->altstack_size ? (on_altstack(t, regs->rsp) ? SS_ONSTACK : 0)
					    : SS_DISABLE;
	f.uc.pad = 0;
	f.uc.stack_size = t->altstack_size;
	mc->r8 = regs->r8, mc->r9 = regs->r9, mc->r10 = regs->r10, mc->r11 = regs->r11;
	mc->r12 = regs->r12, mc->r13 = regs->r13, mc->r14 = regs->r14, mc->r15 = regs->r15;
	mc->rdi = regs->rdi, mc->rsi = regs->rsi, mc->rbp = regs->rbp, mc->rbx = regs->rbx;
	mc->rdx = regs->rdx, mc->rax = regs->rax, mc->rcx = regs->rcx, mc->rsp = regs->rsp;
	mc->rip = regs->rip, mc->rflags = regs->rflags;
	mc->cs = USER_CS, mc->gs = 0, mc->fs = 0, mc->ss = USER_DS;
	mc->err = mc->trapno = 0;
	mc->oldmask = mask;
	mc->cr2 = info->code > 0 && info->code != SI_KERNEL ? info->value : 0;
	mc->fpstate = fp;
	/* The reserved words are the stack's own, as on Linux. */
	if (arch_fpu_save_user((void *)fp) ||
	    copy_to_user((void *)at, &f, offsetof(struct rt_sigframe, uc.mc.reserved)) ||
	    put_user_u64((u64 *)(at + offsetof(struct rt_sigframe, uc.mask)), mask))
		return -EFAULT;
	if (act->flags & SA_SIGINFO) {
		siginfo_fill(&f.info, sig, info);
		if (copy_to_user((void *)(at + offsetof(struct rt_sigframe, info)), &f.info,
				 sizeof(f.info)))
			return -EFAULT;
	}
	regs->rdi = (u64)sig;
	regs->rsi = at + offsetof(struct rt_sigframe, info);
	regs->rdx = at + offsetof(struct rt_sigframe, uc);
	regs->rax = 0;
	regs->rsp = at;
	regs->rip = act->handler;
	regs->rflags &= ~0x500ull; /* DF and TF clear, as the ABI wants at function entry */
	return 0;
}

s64 sigframe_pop(struct thread *t, struct regs *regs)
{
	struct ucontext uc;
	struct siginfo_lite info;
	/* The handler's ret has popped the restorer. */
	u64 from = regs->rsp - 8 + offsetof(struct rt_sigframe, uc.mc);

	if (copy_from_user(&uc.mc, (void *)from, sizeof(uc) - offsetof(struct ucontext, mc)))
		goto bad;
	if (uc.mc.rip >= USER_END)
		goto bad;
	/* Usually what we put there; an image that the CPU refuses is looked at again. */
	if (uc.mc.fpstate && arch_fpu_load_user((void *)uc.mc.fpstate)) {
		u8 image[512];

		if (copy_from_user(image, (void *)uc.mc.fpstate, sizeof(image)))
			goto bad;
		arch_fpu_load_current(&t->arch, image);
	}
	regs->r8 = uc.mc.r8, regs->r9 = uc.mc.r9, regs->r10 = uc.mc.r10, regs->r11 = uc.mc.r11;
	regs->r12 = uc.mc.r12, regs->r13 = uc.mc.r13, regs->r14 = uc.mc.r14, regs->r15 = uc.mc.r15;
	regs->rdi = uc.mc.rdi, regs->rsi = uc.mc.rsi, regs->rbp = uc.mc.rbp, regs->rbx = uc.mc.rbx;
	regs->rdx = uc.mc.rdx, regs->rcx = uc.mc.rcx, regs->rsp = uc.mc.rsp, regs->rip = uc.mc.rip;
	regs->rflags = (uc.mc.rflags & RFLAGS_USER) | RFLAGS_FIXED;
	regs->orig = ~0ull; /* no system call any more that could be restarted */
	signal_set_blocked(t, uc.mask);
	return (s64)uc.mc.rax;
bad:
	info = (struct siginfo_lite){.code = SI_KERNEL};
	signal_force(SIGSEGV, &info);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Signals, with Linux's numbers, sets and delivery rules.
 */
#ifndef TASK_SIGNAL_H
#define TASK_SIGNAL_H

#include "lib/list.h"
#include "lib/types.h"

#define NSIG	    64
#define NSIG_STORED 32 /* standard signals keep one siginfo each */

#define SIGHUP	  1
#define SIGINT	  2
#define SIGQUIT	  3
#define SIGILL	  4
#define SIGTRAP	  5
#define SIGABRT	  6
#define SIGBUS	  7
#define SIGFPE	  8
#define SIGKILL	  9
#define SIGUSR1	  10
#define SIGSEGV	  11
#define SIGUSR2	  12
#define SIGPIPE	  13
#define SIGALRM	  14
#define SIGTERM	  15
#define SIGSTKFLT 16
#define SIGCHLD	  17
#define SIGCONT	  18
#define SIGSTOP	  19
#define SIGTSTP	  20
#define SIGTTIN	  21
#define SIGTTOU	  22
#define SIGURG	  23
#define SIGXCPU	  24
#define SIGXFSZ	  25
#define SIGVTALRM 26
#define SIGPROF	  27
#define SIGWINCH  28
#define SIGIO	  29
#define SIGPWR	  30
#define SIGSYS	  31

typedef u64 sigset_t; /* bit sig-1 */
#define SIGMASK(sig)	(1ull << ((sig)-1))
#define SIG_UNBLOCKABLE (SIGMASK(SIGKILL) | SIGMASK(SIGSTOP))

#define SIG_DFL	     0ull
#define SIG_IGN	     1ull
#define SA_NOCLDSTOP 1ull
#define SA_NOCLDWAIT 2ull
#define SA_SIGINFO   4ull
#define SA_RESTORER  0x04000000ull
#define SA_ONSTACK   0x08000000ull
#define SA_RESTART   0x10000000ull
#define SA_NODEFER   0x40000000ull
#define SA_RESETHAND 0x80000000ull

/** struct sigaction_k - the kernel's rt_sigaction(2) layout. */
struct sigaction_k {
	u64 handler, flags, restorer;
	sigset_t mask;
};

/** struct siginfo_lite - what a pending signal remembers. */
struct siginfo_lite {
	s32 code; /* SI_USER 0, SI_KERNEL 0x80, SI_TKILL -6, CLD_*, SEGV_* ... */
	u32 pid;  /* sender or child */
	u64 value; /* faults: the address; SIGCHLD: the exit status or signal; sigqueue and timers: theirs */
	u32 aux; /* uid; timers: overruns */
};

/** struct siginfo_slot - the part of it that a standard signal keeps: nobody but root sends here. */
struct siginfo_slot {
	s32 code;
	u32 pid;
	u64 value;
};

/** struct sigqueue - a pending signal that has a siginfo of its own: real-time signals, timers. Under sig_lock. */
struct sigqueue {
	struct list link; /* on thread.queued or process.queued */
	int sig;
	struct siginfo_lite info;
	struct posix_timer *timer; /* whose part it is; NULL: allocated */
};

/* Queued signals and timers of one process, together: RLIMIT_SIGPENDING. */
#define SIGQUEUE_MAX 2048

#define SI_USER	      0
#define SI_KERNEL     0x80
#define SI_QUEUE      (-1)
#define SI_TIMER      (-2)
#define SI_TKILL      (-6)
#define CLD_EXITED    1
#define CLD_KILLED    2
#define CLD_DUMPED    3
#define CLD_STOPPED   5
#define CLD_CONTINUED 6

struct thread;
struct process;
struct regs;

/** signal_thread() - send to one thread. Return: 0; -EAGAIN: the queue of real-time signals is full. Context: any incl. interrupts (irq-safe). */
int signal_thread(struct thread *t, int sig, const struct siginfo_lite *info);
/** signal_process() - send to a process: some thread that does not block it takes it. SIGKILL/SIGSTOP/SIGCONT act on all. */
int signal_process(struct process *p, int sig, const struct siginfo_lite *info);
/** signal_force() - a fault of the current thread: blocked or ignored signals become fatal. */
void signal_force(int sig, const struct siginfo_lite *info);
/** signal_recalc() - recompute current's signal_pending flag. Context: sig_lock held. */
void signal_recalc(struct thread *t);
/** signal_exec() - reset handlers to default for a new program. */
void signal_exec(struct process *p);

s64 do_sigaction(int sig, const struct sigaction_k *act, struct sigaction_k *old);
s64 do_sigprocmask(int how, const sigset_t *set, sigset_t *old);
s64 do_sigsuspend(sigset_t mask);
/** signal_set_temporary_mask() - for sigsuspend, ppoll, pselect: block @mask until signal_end_temporary_mask(). */
void signal_set_temporary_mask(sigset_t mask);
/** signal_end_temporary_mask() - @interrupted: a signal ended the wait; its handler runs before the old mask comes back. */
void signal_end_temporary_mask(bool interrupted);
/** task_syscall_work() - as task_user_work(), at the end of a system call (which may have to be restarted). */
void task_syscall_work(struct regs *regs);
s64 do_kill(s64 pid, int sig);
s64 do_tgkill(u32 tgid, u32 tid, int sig);
/** do_sigqueue() - @sig with the sender's own @info to process @tgid (@tid == 0) or its thread @tid. Return: 0; -EAGAIN: the queue is full. */
s64 do_sigqueue(u32 tgid, u32 tid, int sig, const struct siginfo_lite *info);
s64 do_sigtimedwait(sigset_t set, u64 deadline, struct siginfo_lite *info);

#endif

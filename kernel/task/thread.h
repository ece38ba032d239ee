/* SPDX-License-Identifier: MIT
 *
 * Threads and processes. A thread is what the scheduler runs plus a kernel stack and signal state; a process (thread group) is an
 * address space, descriptors, signal actions and a place in the process tree. Kernel tasks are threads without a process.
 *
 * Lock order: tree_lock, then one process->sig_lock. tree_lock protects parents, children, groups, sessions and is never taken
 * in an interrupt. sig_lock protects one process's signal state and its thread list; timers take it in interrupts.
 */
#ifndef TASK_THREAD_H
#define TASK_THREAD_H

#include <arch/thread.h>

#include "ipc/waitq.h"
#include "mm/mm.h"
#include "sched/sched.h"
#include "task/signal.h"
#include "time/timer.h"

struct files;
struct node;
struct process;

/** struct thread - (t) tree_lock, (s) process->sig_lock, (p) the thread itself, (c) constant, (a) atomic. */
struct thread {
	struct task task; /* first member: a struct task of the kernel is always a thread */
	struct arch_thread arch;
	struct process *proc; /* (c) NULL for kernel tasks */
	struct mm *mm; /* (p) address space it runs in: proc->mm, or NULL (kernel task, exiting) */
	struct list link; /* (s) on proc->threads */
	struct list hash; /* (t) on the table of thread ids */
	u32 refs; /* (a) one for running, one of its process (leader) or joiner, one of each finder */
	u32 tid; /* (t) changes only when exec makes this thread the leader */

	sigset_t blocked; /* (s) written by itself only */
	sigset_t pending; /* (s) directed at this thread */
	sigset_t awaited; /* (s) what its sigtimedwait waits for, though blocked */
	struct siginfo_slot info[NSIG_STORED]; /* (s) details of pending standard signals */
	struct list queued;		/* (s) struct sigqueue of `pending`, in order of arrival */
	sigset_t saved_mask;		/* (p) mask to restore after sigsuspend/ppoll */
	bool restore_mask;		/* (p) */
	u64 altstack_sp, altstack_size; /* (p) */
	u32 altstack_flags;

	u32 *clear_tid;	 /* (p) CLONE_CHILD_CLEARTID address */
	u64 robust_list; /* (p) set_robust_list head */
	struct list
		pi_waiters; /* threads that wait for a lock of ours; this and the next two under pi_lock (pi.c) */
	struct pi_waiter *pi_wait; /* the lock it waits for */
	bool pi_dead;		   /* it has ended: nobody queues behind it any more */
	u64 restart_until; /* (p) deadline of an interrupted nanosleep, for restart_syscall */
	u64 restart_rem;   /* (p) user pointer for its remaining time */
	u32 restart_clock;
	bool vfork_wait; /* (s) sleeps uninterruptibly for its vfork child: only its own end wakes it */
	void (*kfn)(void *); /* (c) kernel tasks */
	void *karg;
	bool finished; /* kernel task: ended (under join_wait.lock) */
	struct waitq join_wait;
};

/** struct posix_timer - a timer that sends a signal. (s) of its process, (c) constant. */
struct posix_timer {
	struct list link; /* (s) on proc->timers, until it is deleted */
	struct timer timer;
	struct sigqueue
		entry; /* (s) its signal, linked while that is pending; sig 0: it sends none */
	struct process *proc;  /* (c) */
	struct thread *target; /* (s) SIGEV_THREAD_ID, with a reference; else NULL */
	u64 when, interval;    /* (s) ns of its clock; when == 0: not armed */
	u32 id;		       /* (c) */
	u32 overrun;	       /* (s) of the signal taken last */
	u32 sets;	       /* (s) counts its settings */
	u32 refs;	       /* (s) being on the list, its pending signal, calls on it */
	bool wall;	       /* (c) its absolute times are CLOCK_REALTIME's */
	bool cpu;	       /* (c) counts CPU time of the process, not time */
	bool dead;	       /* (s) deleted: never armed again */
};

enum process_state { PROC_ALIVE, PROC_ZOMBIE, PROC_REAPED };

/** struct vfork_wait - on the stack of a parent that waits for its vfork child to exec or exit. */
struct vfork_wait {
	struct waitq waitq;
	bool done; /* (t) */
};

struct process {
	u32 pid;		/* (c) */
	volatile u32 state;	/* (t) enum process_state */
	u32 refs;		/* (a) */
	u32 pgrp, sid;		/* (t) */
	bool leader_exec;	/* (t) has called execve (setpgid by the parent is then refused) */
	bool has_tty;		/* (t) session leader: its session owns the terminal */
	struct process *parent; /* (t) never NULL but for init */
	volatile u32 ppid;	/* (t) parent->pid, 0 for init; read without lock by getppid(2) */
	struct list children;	/* (t) */
	struct list sibling;	/* (t) on parent->children */
	struct list all;	/* (t) on process_list, pid order of creation */
	struct list threads;	/* (s) live threads */
	struct thread *
		leader; /* (t) the thread whose tid is pid; its struct stays until the process is reaped */
	u32 nr_threads;		    /* (s) live threads */
	volatile bool exiting;	    /* (s) exit_group under way */
	struct thread *exec_thread; /* (s) exec under way: all others must end */
	s32 exit_status;	    /* (t) wait status word */
	s32 exit_signal;	    /* (c) SIGCHLD for fork; 0 none */

	struct mm *mm;	     /* (p) its own threads; exec swaps it when single-threaded */
	struct files *files; /* descriptors; owned by kernel/sys */
	struct node *cwd;    /* owned by kernel/sys */
	u32 umask;

	spinlock_t sig_lock; /* LOCK_SIGNAL, interrupts off: actions, pending sets, thread list */
	struct sigaction_k actions[NSIG + 1];  /* (s) */
	sigset_t pending;		       /* (s) for any thread */
	struct siginfo_slot info[NSIG_STORED]; /* (s) */
	struct list queued;		       /* (s) */
	u32 nr_queued;			       /* (s) sent to it or its threads, and its timers */
	volatile bool stopped;		       /* (s) by SIGSTOP & co */
	bool stop_pending,
		cont_pending; /* (s) a stop or continue that wait4 has not reported yet */
	bool cont_notify;     /* (s) continued: the first thread that runs tells the parent */
	bool stop_taken; /* (s) a thread is about to stop us; cleared if SIGCONT or SIGKILL comes meanwhile */
	s32 stop_signal; /* (s) */

	struct waitq child_wait;  /* parent sleeps here for any child's change */
	struct vfork_wait *vfork; /* (t) the vfork parent's wait, until exec or exit */
	struct list timers;	  /* (s) all, first those of setitimer */
	struct posix_timer
		*itimers[3]; /* (s) ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF; NULL: never used */
	u32 next_timer;	     /* (s) id */
	volatile bool cpu_timers;    /* (s) one that counts CPU time may be armed */
	u64 start_ns;		     /* (c) */
	u64 dead_runtime;	     /* (s) ns of CPU time of threads that ended */
	u64 dead_nvcsw, dead_nivcsw; /* (s) */
	u64 children_runtime;	     /* (t) of reaped children */
	u64 children_nvcsw, children_nivcsw;
	char exe[64];		     /* (p) path of the program, for /proc/PID/exe */
	u64 rlim_stack, rlim_nofile; /* (p) soft limits that mean something here */
};

extern spinlock_t tree_lock;	     /* LOCK_PROCESS */
extern struct list process_list;     /* under tree_lock */
extern struct process *init_process; /* pid 1, constant once set */

static inline struct thread *task_thread(struct task *t)
{
	return container_of(t, struct thread, task);
}
static inline struct thread *current_thread(void)
{
	return task_thread(current_task());
}
static inline struct process *current_process(void)
{
	return current_thread()->proc;
}

/** task_init() - caches and locks. Start-up, once. */
void task_init(void);

/** kthread_create() - start a kernel task. Return: its task (a reference for kthread_join) or NULL if out of memory. */
struct task *kthread_create(void (*fn)(void *), void *arg, const char *name);
/** kthread_join() - wait until @t ended and drop its reference. @timeout_ns: 0 = for ever. Return: false on time-out (reference kept). */
bool kthread_join(struct task *t, u64 timeout_ns);
/** kthread_exit() - end the current kernel task. */
void kthread_exit(void) __attribute__((noreturn));
/** idle_thread_create() - the idle task of @cpu, never started by the scheduler. Return: NULL if out of memory. */
struct thread *idle_thread_create(unsigned cpu);
/** sleep_ns() - uninterruptible sleep. */
void sleep_ns(u64 ns);

void thread_put(struct thread *t);
void process_get(struct process *p);
void process_put(struct process *p);
/** process_find() - Return: the process with a reference, or NULL. Zombies are found, reaped ones not. */
struct process *process_find(u32 pid);
/** thread_find() - live thread by tid, with a reference on it; NULL if none. */
struct thread *thread_find(u32 tid);
void thread_get(struct thread *t);

/** session_create() - setsid(2). Return: the new session's id or -EPERM. */
s64 session_create(void);
/** pgrp_in_session_locked() - does group @pgrp exist in session @sid? Context: tree_lock held. */
bool pgrp_in_session_locked(u32 pgrp, u32 sid);

/** process_runtime_locked() - the same. Context: sig_lock held. */
u64 process_runtime_locked(struct process *p);
/** process_runtime() - CPU time in ns of all its threads, dead and alive. */
u64 process_runtime(struct process *p);

/* ---- fork.c ---- */
#define CLONE_VM	     0x100u
#define CLONE_FS	     0x200u
#define CLONE_FILES	     0x400u
#define CLONE_SIGHAND	     0x800u
#define CLONE_PTRACE	     0x2000u
#define CLONE_VFORK	     0x4000u
#define CLONE_PARENT	     0x8000u
#define CLONE_THREAD	     0x10000u
#define CLONE_NEWNS	     0x20000u
#define CLONE_SYSVSEM	     0x40000u
#define CLONE_SETTLS	     0x80000u
#define CLONE_PARENT_SETTID  0x100000u
#define CLONE_CHILD_CLEARTID 0x200000u
#define CLONE_DETACHED	     0x400000u
#define CLONE_UNTRACED	     0x800000u
#define CLONE_CHILD_SETTID   0x1000000u

/** do_clone() - clone(2), fork, vfork. Return: the child's tid; -EINVAL unsupported combination; -ENOMEM; -EAGAIN no ids. */
s64 do_clone(u64 flags, u64 stack, u32 *parent_tid, u32 *child_tid, u64 tls);
/** current_doomed() - must the current thread end: a SIGKILL waits, or the process ends? */
bool current_doomed(void);
/** process_create_init() - make process 1 running the program image of /sbin/init. Return: 0 or -errno. */
int process_create_init(void (*start)(void *), void *arg);

/* ---- exec.c ---- */
/** struct program - an ELF file in kernel memory (boot archive). */
struct program {
	const u8 *data;
	size_t size;
	struct vm_object *object; /* maps its pages, if its data is page-aligned; else NULL */
	const char *path;
	const struct program *interp; /* what loads it (PT_INTERP), or NULL */
};
/** struct exec_args - copied-in argument and environment strings, back to back, NUL-terminated. */
struct exec_args {
	char *strings; /* kernel buffer */
	size_t size;   /* bytes used */
	unsigned argc, envc;
};
/**
 * exec_interp() - the interpreter that @prog asks for. Return: 0 and *@path, which lies in @prog (NULL: it needs none); -ENOEXEC (no ELF
 * program, or a name that is none).
 */
int exec_interp(const struct program *prog, const char **path);
/**
 * exec_load() - replace the current process's program. On success the user registers are set for the new program and the caller returns to user
 * mode. Return: 0; -ENOEXEC (corrupt or foreign ELF; nothing changed); the same of the interpreter: -ELIBBAD, -EIO if it has not even a
 * header; -ENOMEM; -E2BIG.
 */
int exec_load(const struct program *prog, const struct exec_args *args);

/* ---- itimer.c ---- */
/** posix_timer_create() - a timer of the current process, not armed. @target: a reference that it takes over. Return: with a reference; NULL: no room. */
struct posix_timer *posix_timer_create(int sig, bool cpu, struct thread *target);
/** process_itimer() - the current process's timer for setitimer(2). Return: NULL: no memory. */
struct posix_timer *process_itimer(unsigned which);
/** posix_timer_find() - Return: the current process's timer with a reference, or NULL. */
struct posix_timer *posix_timer_find(u32 id);
void posix_timer_put(struct posix_timer *pt);
/** posix_timer_delete() - a reference is still held. */
void posix_timer_delete(struct posix_timer *pt);
/** posix_timer_set() - signal at @when on its clock (0 = never), then every @interval ns (0 = once). Context: task, no lock held. */
void posix_timer_set(struct posix_timer *pt, u64 when, u64 interval);
/** posix_timer_left() - Return: ns to the next expiration, 0 = not armed. */
u64 posix_timer_left(struct posix_timer *pt, u64 *interval);
/** posix_timer_clock() - its clock, now. */
u64 posix_timer_clock(struct posix_timer *pt);

/* ---- pi.c ---- */
/** futex_leave() - current gives up its memory, by its end or @exec: its locks get their FUTEX_OWNER_DIED, joiners their wake-up. */
void futex_leave(struct thread *t, bool exec);
/** pi_prio_changed() - @t's nice value or class has changed: if it waits for a lock, the owner inherits it. Context: up to LOCK_SIGNAL. */
void pi_prio_changed(struct task *t);

/* ---- exit.c ---- */
/** process_exit() - exit_group(2): end all threads of the current process with wait status @status. */
void process_exit(s32 status) __attribute__((noreturn));
/** thread_exit() - exit(2): end the current thread; the last one ends the process with @status. */
void thread_exit(s32 status) __attribute__((noreturn));
#define WNOHANG	   1u
#define WUNTRACED  2u
#define WSTOPPED   2u
#define WEXITED	   4u
#define WCONTINUED 8u
#define WNOWAIT	   0x01000000u
struct wait_result {
	u32 pid;
	s32 status; /* wait4 status word */
	u64 runtime_ns, nvcsw, nivcsw;
	s32 code, value; /* siginfo's si_code and si_status */
};
/** do_wait() - @which: > 0 a pid, -1 any, 0 own group, < -1 group -@which. Return: pid; 0 for WNOHANG with nothing; -ECHILD; -ERESTARTSYS. */
s64 do_wait(s64 which, unsigned options, struct wait_result *r);

/* ---- what kernel/sys supplies (the layer above) ---- */
/** files_fork() - copy or share (@share) the descriptor table. Return: NULL if out of memory. */
struct files *files_fork(struct files *from, bool share);
/** files_put() - drop a reference; the last closes everything. May sleep. */
void files_put(struct files *f);
/** files_exec() - close close-on-exec descriptors; unshare if shared. Return: 0 or -ENOMEM. */
int files_exec(struct process *p);
struct node;
void node_get(struct node *n);
void node_put(struct node *n);

#endif

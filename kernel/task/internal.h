/* SPDX-License-Identifier: MIT
 *
 * Shared between the files of kernel/task only.
 */
#ifndef TASK_INTERNAL_H
#define TASK_INTERNAL_H

#include "lib/errno.h"
#include "task/thread.h"

/** thread_alloc() - a zeroed thread with a kernel stack, two references, no id. Return: NULL if out of memory. */
struct thread *thread_alloc(void);
/** thread_discard() - free a thread that never ran (its id, if any, is already unhashed; proc is not put). */
void thread_discard(struct thread *t);
/** process_alloc() - a zeroed process with one reference. Return: NULL if out of memory. */
struct process *process_alloc(void);

/** tid_assign() - give @t an unused id and hash it. Context: tree_lock held. Return: 0 or -EAGAIN. */
int tid_assign(struct thread *t);
/** tid_set() - hash @t under @tid. Context: tree_lock held. */
void tid_set(struct thread *t, u32 tid);
/** process_find_locked() - as process_find() without a reference. Context: tree_lock held. */
struct process *process_find_locked(u32 pid);

/** timers_end() - delete the timers of timer_create; @all: and those of setitimer. Context: the process's only thread. */
void timers_end(struct process *p, bool all);
/** timer_signal_taken() - the timer's signal is not pending any more. @info: what the taker will see, or NULL. Context: sig_lock. */
void timer_signal_taken(struct posix_timer *pt, struct siginfo_lite *info);
/** signal_send_locked() - @q: an entry that brings its own info. Return: 0; 1: no effect, and @q is not queued; -EAGAIN. Context: sig_lock. */
int signal_send_locked(struct process *p, struct thread *target, int sig,
		       const struct siginfo_lite *info, struct sigqueue *q);
/** signal_flush() - forget the details of signals @which that wait on @queue. Context: sig_lock. */
void signal_flush(struct process *p, struct list *queue, sigset_t which);

/** vfork_release() - let the vfork parent of @p go on. Context: tree_lock held. */
void vfork_release(struct process *p);

/** notify_parent() - SIGCHLD and wake-up for a change of @p's state. @code: CLD_*. Context: tree_lock held. */
void notify_parent(struct process *p, s32 code, s32 value);

/** pgrp_orphaned() - has no member of @pgrp but @leaving a parent in another group of its session? Context: tree_lock held. */
bool pgrp_orphaned(u32 pgrp, const struct process *leaving);

/** signal_recalc_new() - set the pending flag of a thread that has not run yet (a stop or exit of its process may be under way). */
void signal_recalc_new(struct thread *t);

/** signal_wake() - make @t look at its signals. Context: sig_lock held. @fatal: also out of a stop. */
void signal_wake(struct thread *t, bool fatal);

/** signal_set_blocked() - replace the mask of @t, which is current. */
void signal_set_blocked(struct thread *t, sigset_t mask);

/** mm_adopt() - make @mm the current thread's and process's address space and run in it; the old one is put. */
void mm_adopt(struct mm *mm);

#endif

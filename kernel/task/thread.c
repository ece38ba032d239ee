/* SPDX-License-Identifier: MIT
 *
 * Threads and processes as objects: identities, look-up, reference counts, kernel tasks, and the glue between the scheduler and the
 * machine's context switch.
 */
#include "task/thread.h"

#include <arch/smp.h>

#include "log.h"
#include "lib/string.h"
#include "task/internal.h"

#define TID_HASH 256
#define TID_MAX	 32768

spinlock_t tree_lock = SPINLOCK_INIT("tree", LOCK_PROCESS);
struct list process_list = LIST_INIT(process_list);
struct process *init_process;

static struct list tid_table[TID_HASH]; /* tree_lock */
static u32 last_tid = 1;		/* tree_lock; 1 is init's, which is not the first task */
static bool tids_wrapped;		/* tree_lock */

static struct object_cache *thread_cache, *process_cache;

void task_init(void)
{
	for (unsigned i = 0; i < TID_HASH; i++)
		list_init(&tid_table[i]);
	thread_cache = cache_create("thread", sizeof(struct thread));
	process_cache = cache_create("process", sizeof(struct process));
	if (!thread_cache || !process_cache)
		panic("no memory for the task caches");
}

static struct thread *tid_lookup(u32 tid)
{
	struct thread *t;

	list_for_each (t, &tid_table[tid % TID_HASH], hash)
		if (t->tid == tid)
			return t;
	return NULL;
}

/* Is @tid still the name of a thread, a group or a session? Groups are looked for only once ids are re-used. */
static bool tid_in_use(u32 tid)
{
	struct process *p;

	if (tid_lookup(tid))
		return true;
	if (tids_wrapped)
		list_for_each (p, &process_list, all)
			if (p->pgrp == tid || p->sid == tid)
				return true;
	return false;
}

int tid_assign(struct thread *t)
{
	for (unsigned tries = 0; tries < TID_MAX; tries++) {
		if (++last_tid >= TID_MAX) {
			last_tid = 2;
			tids_wrapped = true;
		}
		if (!tid_in_use(last_tid)) {
			tid_set(t, last_tid);
			return 0;
		}
	}
	return -EAGAIN;
}

void tid_set(struct thread *t, u32 tid)
{
	t->tid = tid;
	t->task.id = tid;
	list_add(&t->hash, &tid_table[tid % TID_HASH]);
}

struct thread *thread_alloc(void)
{
	struct thread *t = cache_zalloc(thread_cache);
	u64 top;

	if (!t)
		return NULL;
	top = kstack_alloc();
	if (!top) {
		cache_free(thread_cache, t);
		return NULL;
	}
	t->arch.kstack_top = top;
	t->refs = 2; /* running, and its process or joiner */
	list_init(&t->link);
	list_init(&t->hash);
	list_init(&t->pi_waiters);
	list_init(&t->queued);
	waitq_init(&t->join_wait);
	return t;
}

void thread_get(struct thread *t)
{
	__atomic_fetch_add(&t->refs, 1, __ATOMIC_RELAXED);
}

void thread_put(struct thread *t)
{
	if (__atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL))
		return;
	KASSERT(!t->arch.kstack_top);
	if (t->proc)
		process_put(t->proc);
	sched_forget(&t->task);
	cache_free(thread_cache, t);
}

void thread_discard(struct thread *t)
{
	arch_thread_release(&t->arch);
	kstack_free(t->arch.kstack_top);
	t->arch.kstack_top = 0;
	t->proc = NULL;
	t->refs = 1;
	thread_put(t);
}

/* The scheduler's farewell: @task runs nowhere and its stack is unused. */
void machine_task_dead(struct task *task)
{
	struct thread *t = task_thread(task);

	arch_thread_release(&t->arch);
	kstack_free(t->arch.kstack_top);
	t->arch.kstack_top = 0;
	if (!t->proc) {
		/* A reference of our own: the joiner may see `finished` and put its own before the wake-up is done. */
		thread_get(t);
		WRITE_ONCE(t->finished, true);
		waitq_wake(&t->join_wait, 0, 0);
		thread_put(t);
	}
	thread_put(t);
}

_Static_assert(offsetof(struct thread, arch) == TASK_ARCH,
	       "TASK_ARCH of arch/thread.h and asm.inc");
_Static_assert(sizeof(struct process) <= 3072, "the largest object of a cache");
_Static_assert(offsetof(struct thread, mm) == TASK_MM, "TASK_MM of arch/thread.h and asm.inc");

struct mm *current_mm(void)
{
	return current_thread()->mm;
}

struct process *process_alloc(void)
{
	struct process *p = cache_zalloc(process_cache);

	if (!p)
		return NULL;
	p->refs = 1;
	list_init(&p->children);
	list_init(&p->sibling);
	list_init(&p->all);
	list_init(&p->threads);
	spin_init(&p->sig_lock, "signal", LOCK_SIGNAL);
	waitq_init(&p->child_wait);
	list_init(&p->queued);
	list_init(&p->timers);
	p->start_ns = machine_now();
	return p;
}

void process_get(struct process *p)
{
	__atomic_fetch_add(&p->refs, 1, __ATOMIC_RELAXED);
}

void process_put(struct process *p)
{
	if (!__atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		cache_free(process_cache, p);
}

struct process *process_find_locked(u32 pid)
{
	struct thread *t = tid_lookup(pid);

	return t && t->proc && t->proc->pid == pid && t->proc->state != PROC_REAPED ? t->proc
										    : NULL;
}

struct process *process_find(u32 pid)
{
	struct process *p;

	spin_lock(&tree_lock);
	p = process_find_locked(pid);
	if (p)
		process_get(p);
	spin_unlock(&tree_lock);
	return p;
}

struct thread *thread_find(u32 tid)
{
	struct thread *t;

	spin_lock(&tree_lock);
	t = tid_lookup(tid);
	if (t)
		thread_get(t);
	spin_unlock(&tree_lock);
	return t;
}

u64 process_runtime_locked(struct process *p)
{
	u64 sum = p->dead_runtime;
	struct thread *t;

	list_for_each (t, &p->threads, link)
		sum += sched_task_runtime(&t->task);
	return sum;
}

u64 process_runtime(struct process *p)
{
	u64 flags = spin_lock_irqsave(&p->sig_lock), sum = process_runtime_locked(p);

	spin_unlock_irqrestore(&p->sig_lock, flags);
	return sum;
}

/* ---- kernel tasks ---- */

static void kthread_entry(void *arg)
{
	struct thread *t = arg;

	t->kfn(t->karg);
	kthread_exit();
}

void kthread_exit(void)
{
	struct thread *t = current_thread();

	spin_lock(&tree_lock);
	list_del_init(&t->hash);
	spin_unlock(&tree_lock);
	sched_exit();
}

struct task *kthread_create(void (*fn)(void *), void *arg, const char *name)
{
	struct thread *t = thread_alloc();
	int err;

	if (!t)
		return NULL;
	t->kfn = fn;
	t->karg = arg;
	str_copy(t->task.comm, name, sizeof(t->task.comm));
	arch_thread_init_kernel(&t->arch, t->arch.kstack_top, kthread_entry, t);
	sched_kthread_init(&t->task);
	spin_lock(&tree_lock);
	err = tid_assign(t);
	spin_unlock(&tree_lock);
	if (err) {
		thread_discard(t);
		return NULL;
	}
	sched_wake_new(&t->task);
	return &t->task;
}

bool kthread_join(struct task *task, u64 timeout_ns)
{
	struct thread *t = task_thread(task);
	u64 deadline = timeout_ns ? machine_now() + timeout_ns : ~0ull;
	struct waiter w;
	bool late = false;

	for (;;) {
		waitq_prepare(&t->join_wait, &w, TASK_UNINTERRUPTIBLE, false);
		if (READ_ONCE(t->finished) || late) {
			waitq_finish(&t->join_wait, &w);
			break;
		}
		late = sleep_until(deadline, TASK_UNINTERRUPTIBLE);
		waitq_finish(&t->join_wait, &w);
	}
	if (!READ_ONCE(t->finished))
		return false;
	thread_put(t);
	return true;
}

struct thread *idle_thread_create(unsigned cpu)
{
	struct thread *t = thread_alloc();

	if (!t)
		return NULL;
	ksnprintf(t->task.comm, sizeof(t->task.comm), "idle/%u", cpu);
	return t;
}

void sleep_ns(u64 ns)
{
	u64 until = machine_now() + ns;

	do
		set_current_state(TASK_UNINTERRUPTIBLE);
	while (!sleep_until(until, TASK_UNINTERRUPTIBLE));
}

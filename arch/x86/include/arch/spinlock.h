/* SPDX-License-Identifier: MIT
 *
 * Spin locks. A plain test-and-test-and-set lock: virtual CPUs lose their host CPU at any moment, and a fair (ticket)
 * lock would then hand itself to a CPU that is not running.
 *
 * A waiter answers TLB shootdowns (spin_wait()), so that a CPU which waits with interrupts off for a lock cannot
 * block the lock's holder that waits for the shootdown.
 *
 * A debug build checks every lock: order by rank, recursion, taken in an interrupt while elsewhere taken with
 * interrupts on, held too long. The ranks are the one list of the lock order.
 */
#ifndef ARCH_SPINLOCK_H
#define ARCH_SPINLOCK_H

#include "arch/cpu.h"
#include "arch/irq.h"
#include "lib/types.h"

/*
 * Lock order: a lock may be taken only while locks of lower rank are held. Two run queues are the exception: both of
 * LOCK_RUNQ, in ascending address order.
 */
enum lock_rank {
	LOCK_NONE = 0, /* not checked: start-up and panic only */
	LOCK_TTY,
	LOCK_FILES,
	LOCK_NODE,
	LOCK_PROCESS, /* process tree: parents, children, groups */
	LOCK_MM,      /* page tables of one address space */
	LOCK_SHARED,  /* slots of one shared memory object */
	LOCK_PIPE,
	LOCK_FUTEX,
	LOCK_SIGNAL, /* one process's signal state and thread list; timers take it in interrupts, under any of the above */
	LOCK_PI,     /* who waits for whose lock; interrupts off */
	LOCK_WAITQ,
	LOCK_SEM, /* inner lock of sleeping locks */
	LOCK_TIMER,
	LOCK_RUNQ,
	LOCK_INBOUND,
	LOCK_STACK,    /* kernel stacks and the kernel's own page tables */
	LOCK_SLAB_CPU, /* one CPU's free objects of one cache */
	LOCK_SLAB,
	LOCK_PAGE_CPU, /* one CPU's free pages */
	LOCK_PAGE,
	LOCK_LOG,  /* may be taken under everything */
	LOCK_LEAF, /* anything that calls nothing else */
};

typedef struct spinlock {
	volatile u32 locked;
#ifdef DEBUG
	u8 rank;
	u8 irq_use; /* bit 0: taken in an interrupt, bit 1: taken with interrupts enabled */
	u16 owner; /* CPU index + 1 of the holder; a lock handed over by a context switch keeps its CPU */
	const char *name;
	u64 since; /* TSC at acquisition */
#endif
} spinlock_t;

#ifdef DEBUG
#define SPINLOCK_INIT(lock_name, lock_rank)                           \
	{                                                             \
		.locked = 0, .rank = (lock_rank), .name = (lock_name) \
	}
void lock_debug_acquire(spinlock_t *l);	 /* before spinning: order, recursion */
void lock_debug_acquired(spinlock_t *l); /* after */
void lock_debug_release(spinlock_t *l);
void lock_debug_spin(spinlock_t *l,
		     u64 *spins); /* called in the wait loop: reports a likely deadlock */
#else
#define SPINLOCK_INIT(lock_name, lock_rank) \
	{                                   \
		.locked = 0                 \
	}
#endif

static inline void spin_init(spinlock_t *l, const char *name, enum lock_rank rank)
{
#ifdef DEBUG
	*l = (spinlock_t)SPINLOCK_INIT(name, rank);
#else
	(void)name, (void)rank;
	l->locked = 0;
#endif
}

/**
 * spin_wait() - one turn of any wait loop: pause, and answer TLB shootdowns of this CPU. (Stop requests are not answered
 * here: a CPU is stopped only where it holds no lock, see arch/x86/machine.c.)
 */
void spin_wait(void);

/** bit0_test_and_set() - with one locked instruction, whose carry the branch that follows takes. Return: whether bit 0 was set already. */
static inline bool bit0_test_and_set(volatile u32 *word)
{
	bool was_set;

	__asm__ volatile("lock btsl $0, %0" : "+m"(*word), "=@ccc"(was_set)::"memory");
	return was_set;
}

/* The primitives: no preemption or interrupt side effects. Context: preemption or interrupts already off. */
static inline bool spin_trylock_raw(spinlock_t *l)
{
	if (l->locked || bit0_test_and_set(&l->locked))
		return false;
#ifdef DEBUG
	lock_debug_acquired(l);
#endif
	return true;
}

/**
 * spin_lock_slow() - wait for @l, which was found taken, and take it. Saves every register itself, so that the code around a lock
 * which is free, as most are, need not keep its values away from a call.
 */
void spin_lock_slow(spinlock_t *l) KEEPS_REGISTERS;

static inline void spin_lock_raw(spinlock_t *l)
{
#ifdef DEBUG
	lock_debug_acquire(l);
#endif
	if (unlikely(bit0_test_and_set(&l->locked)))
		spin_lock_slow(l);
#ifdef DEBUG
	lock_debug_acquired(l);
#endif
}

static inline void spin_unlock_raw(spinlock_t *l)
{
#ifdef DEBUG
	lock_debug_release(l);
#endif
	__atomic_store_n(&l->locked, 0, __ATOMIC_RELEASE);
}

/** spin_lock() - for locks never taken by an interrupt handler. Disables preemption until spin_unlock(). */
static inline void spin_lock(spinlock_t *l)
{
	preempt_disable();
	spin_lock_raw(l);
}

static inline void spin_unlock(spinlock_t *l)
{
	spin_unlock_raw(l);
	preempt_enable();
}

/** spin_lock_irqsave() - for locks that interrupt handlers take too. Return: flags for spin_unlock_irqrestore(). */
static inline u64 spin_lock_irqsave(spinlock_t *l)
{
	u64 flags = irq_save();

	spin_lock_raw(l);
	return flags;
}

/**
 * spin_unlock_irqrestore() - unlock, then restore the interrupt flag. Does not itself preempt: a wake-up made under the lock
 * preempts through task_wake()'s own request (checked at the next preempt_enable() or interrupt exit); callers that wake call
 * preempt_point() afterwards.
 */
static inline void spin_unlock_irqrestore(spinlock_t *l, u64 flags)
{
	spin_unlock_raw(l);
	irq_restore(flags);
}

/** preempt_point() - reschedule here if it is due and allowed. Context: no locks held, interrupts enabled. */
static inline void preempt_point(void)
{
	if (unlikely(need_resched()))
		preempt_check();
}

#endif

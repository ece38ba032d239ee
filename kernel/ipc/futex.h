/* SPDX-License-Identifier: MIT
 *
 * Shared between futex.c (waiting and waking) and kernel/task/pi.c (locks that inherit priority, and owners that die).
 */
#ifndef IPC_FUTEX_H
#define IPC_FUTEX_H

#include "ipc/copy.h"
#include "lib/errno.h"
#include "lib/list.h"

#define FUTEX_WAITERS	 0x80000000u
#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_TID_MASK	 0x3fffffffu

struct thread;

struct futex_key {
	u64 space; /* the address space's id, 0 in the kernel, or SHARED_KEY */
	u64 addr;  /* virtual, or physical */
};

static inline bool key_equal(const struct futex_key *a, const struct futex_key *b)
{
	return a->addr == b->addr && a->space == b->space;
}

static inline int read_word(u32 *value, u32 *uaddr)
{
	if (kernel_task()) {
		*value = READ_ONCE(*uaddr);
		return 0;
	}
	return get_user_u32(value, uaddr);
}

/** futex_key() - Return: 0; -EINVAL (misaligned); -EFAULT. Context: task, no spin lock held. */
int futex_key(u32 *uaddr, bool shared, struct futex_key *key);

/** futex_sleep() - sleep, with the state set. Return: true if @deadline (~0: none) was reached. */
bool futex_sleep(u64 deadline);

/* ---- kernel/task/pi.c ---- */

/** struct pi_waiter - a thread that waits for a lock with an owner. On its stack. (p) written by it before it queues; the rest under pi_lock. */
struct pi_waiter {
	struct list link;      /* on the owner's list, in order of arrival */
	struct list hash;      /* among all waiters for locks whose keys have the same hash */
	struct thread *thread; /* (p) */
	struct thread *owner;  /* whom it waits for; NULL: not any more */
	struct futex_key key;  /* (p) */
	u32 dead; /* it waits no more because its owner, of this tid, has ended; 0: it was given the lock */
};

/** pi_init() - prepare @w for the current thread and the lock at @uaddr. Return: as futex_key(). */
int pi_init(struct pi_waiter *w, u32 *uaddr, bool shared);

/**
 * pi_look() - read the word at @uaddr and find its owner. Return: 0 and *@owner, with a reference for pi_put(), or NULL; -EFAULT;
 * -ERESTARTNOINTR if a signal waits. Context: no spin lock held.
 */
s64 pi_look(u32 *uaddr, u32 *word, struct thread **owner);
void pi_put(struct thread *owner);

/**
 * pi_try() - take the lock for @w->thread, or queue @w (not if @try) and lend, provided the word is still @word.
 * Return: 1 taken; 0 queued; -EAGAIN (@try, and it has an owner); -EDEADLK; -ESRCH; -EPERM; -EINVAL; or PI_AGAIN (it has changed) or -EFAULT: call
 * pi_retry(), then begin anew with pi_look(). Context: locks up to LOCK_FUTEX may be held.
 */
s64 pi_try(u32 *uaddr, struct pi_waiter *w, u32 word, struct thread *owner, bool try);
#define PI_AGAIN 2

/** pi_retry() - after pi_try() returned @ret. Return: whether to begin anew; false: *@ret is final. Context: no spin lock held. */
bool pi_retry(u32 *uaddr, s64 *ret);

/** pi_lock_word() - FUTEX_LOCK_PI, FUTEX_TRYLOCK_PI. @queued: pi_try() has queued @w already. */
s64 pi_lock_word(u32 *uaddr, struct pi_waiter *w, u64 deadline, bool try, bool queued);

/** pi_unlock_word() - FUTEX_UNLOCK_PI. */
s64 pi_unlock_word(u32 *uaddr, bool shared);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Locks with an owner: PI futexes, and what becomes of locks whose owner ends.
 *
 * The word holds the owner's thread id, and FUTEX_WAITERS if somebody may wait here; programs take and leave a lock that nobody
 * waits for without a call. A waiter sets that bit in one step with proving that the owner is still the one it saw, under pi_lock,
 * and is on the owner's list before it lets go: so the owner's unlock comes here and finds it. An unlocker writes the next owner
 * into the word and is the one that moves the remaining waiters to that owner's list: the lock is handed over, never free for a moment.
 *
 * Inheritance. A thread has the best priority among its own and those of the threads on its list, which hold theirs by the same rule:
 * the transitive closure over "waits for the owner of", as defined for the priority inheritance protocol by Sha, Rajkumar and Lehoczky
 * (IEEE Transactions on Computers 39(9), 1990), without their ceilings. Who is best is asked of the policy when it matters
 * (sched_better()), not kept in order: a waiter's priority may change while it waits. propagate() walks from a thread whose waiters
 * have changed to the thread that one waits for, and so on, as long as priorities change. A policy whose priorities move by themselves lends
 * the one the waiter went to sleep with: under the O(1) family the dynamic one, its interactivity bonus included.
 *
 * The walk ends: a thread waits for one owner at most, and none may queue behind itself (chain_reaches(); EDEADLK), so "waits for"
 * makes trees. A new waiter's chain has at most PI_MAX_CHAIN links, which bounds the time under the lock, with interrupts off.
 *
 * Locks. pi_lock is one for the machine: a step of the walk then needs no second lock of its kind, and cannot meet another walk. It
 * ranks below signal locks (setpriority(2) of a group holds one) and above run queues, whose lock each step takes and gives back;
 * interrupts are off under it because they take signal locks. No user page is fetched under it: such an access fails, the page is fetched
 * outside, and the attempt begins anew. lent_by of the scheduler points to a thread on the list of waiters, or nowhere: whoever
 * leaves the list does so under pi_lock and has lent anew before it goes.
 */
#include "ipc/file.h"
#include "ipc/futex.h"
#include "task/internal.h"

#define PI_MAX_CHAIN 1024
#define PI_BUCKETS   64
#define ROBUST_LIMIT 2048 /* entries of a robust list that are looked at: it may be a ring */

static spinlock_t pi_lock = SPINLOCK_INIT("pi", LOCK_PI);
static struct list pi_waiting[PI_BUCKETS]; /* pi_lock; next == NULL: empty, never used */

static struct list *pi_bucket(const struct futex_key *k)
{
	struct list *l = &pi_waiting[(k->space ^ k->addr >> 2) % PI_BUCKETS];

	if (!l->next)
		list_init(l);
	return l;
}

/* Return: 0; PI_AGAIN if it is not @old; -EFAULT. */
static s64 change_word(u32 *uaddr, u32 old, u32 new)
{
	u32 was = old;

	if (kernel_task())
		__atomic_compare_exchange_n(uaddr, &was, new, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	else if (cmpxchg_user_u32(uaddr, &was, new))
		return -EFAULT;
	return was == old ? 0 : PI_AGAIN;
}

/* ---- the walk ---- */

/* The waiter of @owner (if @key: for that lock) that the policy would run first, the first come among equals. Context: pi_lock. */
static struct pi_waiter *best_waiter(struct thread *owner, const struct futex_key *key)
{
	struct pi_waiter *w, *best = NULL;

	list_for_each (w, &owner->pi_waiters, link)
		if ((!key || key_equal(&w->key, key)) &&
		    (!best || sched_better(&w->thread->task, &best->thread->task)))
			best = w;
	return best;
}

/* @t's waiters have changed, or their priorities. Context: pi_lock. */
static void propagate(struct thread *t)
{
	for (; t; t = t->pi_wait ? t->pi_wait->owner : NULL) {
		struct pi_waiter *best = best_waiter(t, NULL);
		s16 before = t->task.prio;

		if (best)
			sched_lend(&t->task, &best->thread->task);
		else if (t->task.lent_by)
			sched_unlend(&t->task);
		if (t->task.prio == before)
			return;
	}
}

static bool chain_reaches(const struct thread *owner, const struct thread *self)
{
	for (unsigned n = 0; owner; n++) {
		if (owner == self || n == PI_MAX_CHAIN)
			return true;
		owner = owner->pi_wait ? owner->pi_wait->owner : NULL;
	}
	return false;
}

void pi_prio_changed(struct task *task)
{
	struct thread *t = task_thread(task);
	u64 flags;

	/* Either we see it queued, or it is queued with its new priority. That is written and this is read: only a fence orders the two. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!READ_ONCE(t->pi_wait))
		return;
	flags = spin_lock_irqsave(&pi_lock);
	if (t->pi_wait)
		propagate(t->pi_wait->owner);
	spin_unlock_irqrestore(&pi_lock, flags);
}

/* Context: pi_lock. */
static void enqueue(struct pi_waiter *w, struct thread *owner)
{
	w->dead = 0;
	w->owner = owner;
	list_add_tail(&w->link, &owner->pi_waiters);
	list_add(&w->hash, pi_bucket(&w->key));
	w->thread->pi_wait = w;
	propagate(owner);
}

/* Context: pi_lock; the caller lends anew. */
static void dequeue(struct pi_waiter *w)
{
	list_del(&w->link);
	list_del(&w->hash);
	w->owner = NULL;
	w->thread->pi_wait = NULL;
}

/* ---- taking ---- */

int pi_init(struct pi_waiter *w, u32 *uaddr, bool shared)
{
	w->thread = current_thread();
	w->owner = NULL;
	w->dead = 0;
	return futex_key(uaddr, shared, &w->key);
}

s64 pi_look(u32 *uaddr, u32 *word, struct thread **owner)
{
	*owner = NULL;
	if (current_task()->signal_pending)
		return -ERESTARTNOINTR;
	if (read_word(word, uaddr))
		return -EFAULT;
	if (*word & FUTEX_TID_MASK)
		*owner = thread_find(*word & FUTEX_TID_MASK);
	return 0;
}

void pi_put(struct thread *owner)
{
	if (owner)
		thread_put(owner);
}

/* Do others wait for this lock, but for another owner than the word says? Context: pi_lock. */
static bool corrupt(const struct pi_waiter *w, u32 word, const struct thread *owner)
{
	struct pi_waiter *o;

	list_for_each (o, pi_bucket(&w->key), hash)
		if (key_equal(&o->key, &w->key))
			return o->owner != owner && !(word & FUTEX_OWNER_DIED);
	return false;
}

s64 pi_try(u32 *uaddr, struct pi_waiter *w, u32 word, struct thread *owner, bool try)
{
	u32 tid = word & FUTEX_TID_MASK, now;
	u64 flags;
	s64 ret;

	if (tid == w->thread->tid)
		return -EDEADLK;
	flags = spin_lock_irqsave(&pi_lock);
	/* While others wait for the lock, from here on nobody but us changes the word. */
	if (read_word(&now, uaddr)) {
		ret = -EFAULT;
	} else if (now != word) {
		ret = PI_AGAIN;
	} else if (!tid || tid == w->dead) {
		u32 new = (word & ~FUTEX_TID_MASK) | (tid ? FUTEX_OWNER_DIED : 0);

		ret = corrupt(w, new, NULL) ? -EINVAL
					    : change_word(uaddr, word, new | w->thread->tid);
		ret = ret ? ret : 1;
	} else if (!owner || owner->pi_dead) {
		ret = -ESRCH;
	} else if (!owner->proc && !kernel_task()) {
		ret = -EPERM;
	} else if (corrupt(w, word, owner)) {
		ret = -EINVAL;
	} else if (chain_reaches(owner, w->thread)) {
		ret = -EDEADLK;
	} else if (try) {
		ret = -EAGAIN;
	} else {
		ret = change_word(uaddr, word, word | FUTEX_WAITERS);
		if (!ret)
			enqueue(w, owner);
	}
	spin_unlock_irqrestore(&pi_lock, flags);
	return ret;
}

bool pi_retry(u32 *uaddr, s64 *ret)
{
	u32 word;

	if (*ret == -EFAULT) /* a write of what is there, for which the page is fetched */
		return !read_word(&word, uaddr) && change_word(uaddr, word, word) != -EFAULT;
	return *ret == PI_AGAIN;
}

static s64 take_or_queue(u32 *uaddr, struct pi_waiter *w, bool try)
{
	struct thread *owner;
	s64 ret;
	u32 word;

	do {
		ret = pi_look(uaddr, &word, &owner);
		if (ret)
			return ret;
		ret = pi_try(uaddr, w, word, owner, try);
		pi_put(owner);
	} while (pi_retry(uaddr, &ret));
	return ret;
}

/* @w is queued, or was. Return: 0 we have the lock; -EAGAIN its owner died; -ETIMEDOUT; -ERESTARTNOINTR. */
static s64 wait_for_owner(struct pi_waiter *w, u64 deadline)
{
	bool late = false;

	for (;;) {
		u64 flags = spin_lock_irqsave(&pi_lock);
		struct thread *owner = w->owner;
		s64 ret = !owner			   ? (w->dead ? -EAGAIN : 0)
			  : late			   ? -ETIMEDOUT
			  : current_task()->signal_pending ? -ERESTARTNOINTR
							   : PI_AGAIN;

		if (ret == PI_AGAIN) {
			set_current_state(TASK_INTERRUPTIBLE);
		} else if (owner) {
			dequeue(w);
			propagate(owner);
		}
		spin_unlock_irqrestore(&pi_lock, flags);
		if (ret != PI_AGAIN)
			return ret;
		late = futex_sleep(deadline);
	}
}

s64 pi_lock_word(u32 *uaddr, struct pi_waiter *w, u64 deadline, bool try, bool queued)
{
	for (;;) {
		s64 ret = queued ? 0 : take_or_queue(uaddr, w, try);

		if (ret)
			return ret > 0 ? 0 : ret;
		ret = wait_for_owner(w, deadline);
		if (ret != -EAGAIN)
			return ret;
		queued = false;
	}
}

/* ---- giving back ---- */

/* Context: pi_lock, which keeps @t, whose waiter is off its owner's list, from going away. */
static void wake(struct thread *t)
{
	task_wake_plain(&t->task, TASK_INTERRUPTIBLE);
}

/* @self's lock goes to @next, and with it the others that wait for it. Context: pi_lock. */
static void hand_over(struct thread *self, struct pi_waiter *next)
{
	struct thread *to = next->thread;
	struct pi_waiter *w, *tmp;

	dequeue(next);
	list_for_each_safe (w, tmp, &self->pi_waiters, link)
		if (key_equal(&w->key, &next->key)) {
			list_del(&w->link);
			list_add_tail(&w->link, &to->pi_waiters);
			w->owner = to;
		}
	propagate(to);
	propagate(self);
	wake(to);
}

static unsigned waiters_of(struct thread *t, const struct futex_key *key)
{
	struct pi_waiter *w;
	unsigned n = 0;

	list_for_each (w, &t->pi_waiters, link)
		n += key_equal(&w->key, key);
	return n;
}

s64 pi_unlock_word(u32 *uaddr, bool shared)
{
	struct thread *self = current_thread();
	struct pi_waiter *next;
	struct futex_key key;
	s64 ret = futex_key(uaddr, shared, &key);
	u32 word, new;
	u64 flags;

	if (ret)
		return ret;
	do {
		if (read_word(&word, uaddr))
			return -EFAULT;
		if ((word & FUTEX_TID_MASK) != self->tid)
			return -EPERM;
		flags = spin_lock_irqsave(&pi_lock);
		next = best_waiter(self, &key);
		new = next ? next->thread->tid : 0;
		if (waiters_of(self, &key) > 1)
			new |= FUTEX_WAITERS;
		ret = change_word(uaddr, word, new);
		if (!ret && next)
			hand_over(self, next);
		spin_unlock_irqrestore(&pi_lock, flags);
	} while (ret && pi_retry(uaddr, &ret));
	preempt_point();
	return ret;
}

/* ---- owners that end ---- */

/* A lock on the robust list. Return: false if the list is not to be believed any further. */
static bool lock_of_dead(struct thread *t, u64 addr, bool pi, bool pending)
{
	u32 *uaddr = (u32 *)addr, word;
	s64 ret;

	if (addr & 3)
		return false;
	do {
		if (get_user_u32(&word, uaddr))
			return false;
		/* It had just given the lock back and died before it woke who waits. */
		if (pending && !pi && !word)
			futex_wake_addr(uaddr, 1);
		if ((word & FUTEX_TID_MASK) != t->tid)
			return true;
		ret = change_word(uaddr, word, (word & FUTEX_WAITERS) | FUTEX_OWNER_DIED);
	} while (ret == PI_AGAIN);
	if (!ret && !pi && (word & FUTEX_WAITERS))
		futex_wake_addr(uaddr, 1);
	return !ret;
}

/* Bit 0 of each pointer of the list says that the lock before it is one with inheritance. */
static void end_robust_list(struct thread *t)
{
	u64 head[3], entry,
		next; /* the first entry, offset from an entry to its lock, the lock being taken or left */

	if (copy_from_user(head, (void *)t->robust_list, sizeof(head)))
		return;
	entry = head[0];
	for (unsigned n = 0; (entry & ~1ull) != t->robust_list && n < ROBUST_LIMIT; n++) {
		/* Read it first: once its lock is free another thread may take the entry over. */
		bool more = !get_user_u64(&next, (u64 *)(entry & ~1ull));

		if ((entry ^ head[2]) & ~1ull &&
		    !lock_of_dead(t, (entry & ~1ull) + head[1], entry & 1, false))
			return;
		if (!more)
			break;
		entry = next;
	}
	if (head[2] & ~1ull)
		lock_of_dead(t, (head[2] & ~1ull) + head[1], head[2] & 1, true);
}

void futex_leave(struct thread *t, bool exec)
{
	u64 flags;

	if (t->robust_list)
		end_robust_list(t);
	t->robust_list = 0;
	/* If anybody is left to see it. */
	if (t->clear_tid && (t->proc->nr_threads > 1 || READ_ONCE(t->mm->users) > 1)) {
		put_user_u32(t->clear_tid, 0);
		futex_wake_addr(t->clear_tid, 1);
	}
	t->clear_tid = NULL;
	flags = spin_lock_irqsave(&pi_lock);
	t->pi_dead = !exec;
	/* All try again: one of them takes the lock, whose owner died, and the others queue behind it. */
	while (!list_empty(&t->pi_waiters)) {
		struct pi_waiter *w = list_first(&t->pi_waiters, struct pi_waiter, link);

		dequeue(w);
		w->dead = t->tid;
		wake(w->thread);
	}
	propagate(t);
	spin_unlock_irqrestore(&pi_lock, flags);
}

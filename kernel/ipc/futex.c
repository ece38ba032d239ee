// SPDX-License-Identifier: MIT
/*
 * Futexes: sleep while a word of memory has a value, be woken by its address.
 *
 * A word is named by its key: address space and address, or, if it lies in a shared mapping, physical address. Shared and
 * private operations on private memory get the same key, so a waker need not know which kind the waiter used.
 *
 * Check-then-sleep. The waiter reads the word under its bucket's lock and is in the bucket before it lets go; the waker has
 * changed the word before it takes that lock. Either the waker's turn comes first, then the waiter reads the new value and
 * does not sleep; or the waiter's, then the waker finds it. Under the lock a fault is not resolved but fails the read: the
 * page is then fetched by a read without the lock, and everything begins anew.
 *
 * The end of a wait without the lock: futex_waiter.bucket becomes NULL as the waker's last access to the waiter, which lies
 * on a stack; the waiter looks at it first and takes the lock only if it is still queued (signal, time-out).
 */
#include "ipc/file.h"
#include "ipc/futex.h"
#include "time/timer.h"

#define FUTEX_WAIT	      0
#define FUTEX_WAKE	      1
#define FUTEX_REQUEUE	      3
#define FUTEX_CMP_REQUEUE     4
#define FUTEX_LOCK_PI	      6
#define FUTEX_UNLOCK_PI	      7
#define FUTEX_TRYLOCK_PI      8
#define FUTEX_WAIT_BITSET     9
#define FUTEX_WAKE_BITSET     10
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_CMP_REQUEUE_PI  12
#define FUTEX_LOCK_PI2	      13
#define FUTEX_PRIVATE	      128
#define FUTEX_CLOCK_REALTIME  256
#define ANY_BIT		      0xffffffffu
#define OPS_WITH_TIMEOUT                                                                           \
	(1u << FUTEX_WAIT | 1u << FUTEX_WAIT_BITSET | 1u << FUTEX_LOCK_PI | 1u << FUTEX_LOCK_PI2 | \
	 1u << FUTEX_WAIT_REQUEUE_PI)

#define NR_BUCKETS 256 /* a power of two */

#define SHARED_KEY (~0ull)

struct futex_bucket {
	spinlock_t lock;
	struct list
		waiters; /* struct futex_waiter, in order of arrival; next == NULL: empty, never used */
} __attribute__((aligned(32)));

struct futex_waiter {
	struct list link;		      /* under bucket->lock */
	struct futex_bucket *volatile bucket; /* under its own lock; NULL once woken */
	struct task *task;
	struct futex_key key; /* under bucket->lock */
	u32 bitset;
	struct pi_waiter
		*pi; /* FUTEX_WAIT_REQUEUE_PI: to be queued for its lock instead of woken */
};

static struct futex_bucket buckets[NR_BUCKETS];

/* Under the lock, which needs no setting up: all zero is free, and of no rank, since a requeue holds two. */
static void bucket_ready(struct futex_bucket *b)
{
	if (unlikely(!b->waiters.next))
		list_init(&b->waiters);
}

static struct futex_bucket *bucket_of(const struct futex_key *k)
{
	u64 h = (k->space ^ k->addr >> 2) * 0x9e3779b97f4a7c15ull;
	struct futex_bucket *b = &buckets[h >> 56 & (NR_BUCKETS - 1)];

	__asm__("" : "+r"(b)); /* one address for all its fields */
	return b;
}

/* ---- keys ---- */

/* The page-table entry of @addr in @mm, 0 if there is none. Context: mm->lock held. */
static pte_t find_pte(struct mm *mm, u64 addr)
{
	u64 table = mm->pml4;

	for (int shift = 39;; shift -= 9) {
		pte_t e = ((pte_t *)phys_to_virt(table))[addr >> shift & 511];

		if (!(e & PTE_P) || shift == PAGE_SHIFT)
			return e & PTE_P ? e : 0;
		table = e & PTE_ADDR;
	}
}

static bool in_shared_mapping(struct mm *mm, u64 addr)
{
	struct vma *v;

	list_for_each (v, &mm->vmas, link)
		if (addr >= v->start && addr < v->end)
			return v->flags & VM_SHARED;
	return false;
}

static int shared_key(struct mm *mm, u32 *uaddr, struct futex_key *key)
{
	u64 addr = (u64)uaddr;
	pte_t pte = 0;
	u32 value;

	/* Fault the page in; it may be gone again before the look at the tables, if another thread unmaps it. */
	for (int tries = 0; tries < 3; tries++) {
		bool shared;

		if (get_user_u32(&value, uaddr))
			return -EFAULT;
		spin_lock(&mm->lock);
		shared = in_shared_mapping(mm, addr);
		if (shared)
			pte = find_pte(mm, addr);
		spin_unlock(&mm->lock);
		if (!shared)
			return 0;
		if (pte) {
			key->space = SHARED_KEY;
			key->addr = (pte & PTE_ADDR) + (addr & (PAGE_SIZE - 1));
			return 0;
		}
	}
	return -EFAULT;
}

/* Return: 0, -EINVAL (misaligned), -EFAULT. Kernel tasks use words of kernel memory, all in space 0. */
static inline int get_key(u32 *uaddr, bool shared, struct futex_key *key)
{
	if (unlikely((u64)uaddr & 3))
		return -EINVAL;
	key->addr = (u64)uaddr;
	key->space = current_task()->address_space;
	if (kernel_task())
		return 0;
	if (unlikely(!user_range_ok(uaddr, sizeof(*uaddr))))
		return -EFAULT;
	return shared ? shared_key(current_mm(), uaddr, key) : 0;
}

int futex_key(u32 *uaddr, bool shared, struct futex_key *key)
{
	return get_key(uaddr, shared, key);
}

/* ---- waiting ---- */

/* @timeout is a user pointer to a struct timespec. Return: 0 and the moment on the monotonic clock in ns, -EFAULT, -EINVAL. */
static s64 get_deadline(u64 timeout, bool absolute, bool realtime, u64 *deadline)
{
	s64 ts[2];
	u64 ns;

	if (copy_in(ts, (const void *)timeout, sizeof(ts)))
		return -EFAULT;
	if (ts[0] < 0 || ts[1] < 0 || ts[1] >= (s64)NSEC_PER_SEC)
		return -EINVAL;
	if (ts[0] > (s64)(~0ull / NSEC_PER_SEC / 4)) {
		*deadline = ~0ull;
		return 0;
	}
	ns = (u64)ts[0] * NSEC_PER_SEC + (u64)ts[1];
	if (!absolute)
		ns += machine_now();
	else if (realtime)
		ns = ns > wall_clock_base ? ns - wall_clock_base : 0;
	*deadline = ns;
	return 0;
}

/* Leave the bucket, which may change under us by a requeue. Return: false if a waker has taken us off. */
static bool leave(struct futex_waiter *w)
{
	struct futex_bucket *b;

	while ((b = w->bucket)) {
		spin_lock(&b->lock);
		if (w->bucket == b) {
			list_del(&w->link);
			spin_unlock(&b->lock);
			return true;
		}
		spin_unlock(&b->lock);
	}
	return false;
}

/* Sleep, with the state set. Return: true if @deadline was reached. */
static inline bool sleep_with_limit(u64 deadline)
{
	if (deadline != ~0ull)
		return sleep_until(deadline, TASK_INTERRUPTIBLE);
	schedule();
	return false;
}

bool futex_sleep(u64 deadline)
{
	return sleep_with_limit(deadline);
}

static inline __attribute__((always_inline)) s64
futex_wait(u32 *uaddr, bool shared, u32 val, u64 deadline, u32 bitset, struct pi_waiter *pi)
{
	struct futex_waiter w;
	struct futex_bucket *b;
	u32 now;
	int err;

	if (!bitset)
		return -EINVAL;
	w.task = current_task();
	w.bitset = bitset;
	w.pi = pi;
	err = get_key(uaddr, shared, &w.key);
	if (err)
		return err;
	b = bucket_of(&w.key);
	for (;;) {
		bool late;

		spin_lock(&b->lock);
		if (unlikely(read_word(&now, uaddr))) {
			spin_unlock(&b->lock);
			if (read_word(&now, uaddr))
				return -EFAULT;
			continue;
		}
		if (now != val) {
			spin_unlock(&b->lock);
			return -EAGAIN;
		}
		bucket_ready(b);
		list_add_tail(&w.link, &b->waiters);
		w.bucket = b;
		set_current_state(TASK_INTERRUPTIBLE);
		spin_unlock(&b->lock);
		late = sleep_with_limit(deadline);
		if (likely(!__atomic_load_n(&w.bucket, __ATOMIC_ACQUIRE)) || !leave(&w))
			return 0;
		if (late)
			return -ETIMEDOUT;
		if (current_task()->signal_pending)
			return pi ? -ERESTARTNOINTR : -ERESTARTSYS;
		/* Woken by something else: look again. A requeue before counts no more, the key is the first one again. */
		err = get_key(uaddr, shared, &w.key);
		if (err)
			return err;
	}
}

/* Wait to be moved to the lock at @uaddr2, then for that lock. */
static s64 wait_requeue_pi(u32 *uaddr, bool shared, u32 val, u64 deadline, u32 bitset, u32 *uaddr2)
{
	struct pi_waiter pi;
	s64 ret = uaddr == uaddr2 ? -EINVAL : pi_init(&pi, uaddr2, shared);

	if (!ret)
		ret = futex_wait(uaddr, shared, val, deadline, bitset, &pi);
	if (ret)
		return ret;
	ret = pi_lock_word(uaddr2, &pi, deadline, false, true);
	/* The wait is over: to begin it again would miss what woke us. */
	return ret == -ERESTARTNOINTR ? -EAGAIN : ret;
}

/* ---- waking ---- */

/* Context: bucket lock held. After the last store @w may be gone. */
static void wake_one(struct futex_waiter *w)
{
	list_del(&w->link);
	irq_disable(); /* a task context with interrupts on: no flags to save */
	task_wake_plain(w->task, TASK_INTERRUPTIBLE);
	irq_enable();
	__atomic_store_n(&w->bucket, NULL, __ATOMIC_RELEASE);
}

static inline s64 wake_key(const struct futex_key *key, u32 n, u32 bitset)
{
	struct futex_bucket *b = bucket_of(key);
	struct futex_waiter *w, *tmp;
	s64 woken = 0;

	spin_lock(&b->lock);
	bucket_ready(b);
	list_for_each_safe (w, tmp, &b->waiters, link) {
		if (!key_equal(&w->key, key) || !(w->bitset & bitset))
			continue;
		if (unlikely(w->pi)) {
			woken = -EINVAL;
			break;
		}
		wake_one(w);
		if (++woken >= n)
			break;
	}
	spin_unlock(&b->lock);
	return woken;
}

static inline s64 futex_wake(u32 *uaddr, bool shared, u32 n, u32 bitset)
{
	struct futex_key key;
	int err = bitset ? get_key(uaddr, shared, &key) : -EINVAL;

	return err ? err : wake_key(&key, n, bitset);
}

s64 futex_wake_addr(u32 *uaddr, u32 n)
{
	return futex_wake(uaddr, true, n, ANY_BIT);
}

/* The two buckets of a requeue, locked in address order (they have one rank). */
static void lock_two(struct futex_bucket *a, struct futex_bucket *b)
{
	if (a == b) {
		spin_lock(&a->lock);
		return;
	}
	if (a > b) {
		spin_lock(&b->lock);
		spin_lock(&a->lock);
	} else {
		spin_lock(&a->lock);
		spin_lock(&b->lock);
	}
}

static void unlock_two(struct futex_bucket *a, struct futex_bucket *b)
{
	if (a != b)
		spin_unlock(&b->lock);
	spin_unlock(&a->lock);
}

static s64 futex_requeue(u32 *uaddr, bool shared, u32 nr_wake, u32 nr_move, u32 *uaddr2,
			 const u32 *expected)
{
	struct futex_key from, to;
	struct futex_bucket *a, *b;
	struct futex_waiter *w, *tmp;
	u32 woken = 0, moved = 0, now;
	int err;

	if ((s32)nr_wake < 0 || (s32)nr_move < 0)
		return -EINVAL;
	err = get_key(uaddr, shared, &from);
	if (!err)
		err = get_key(uaddr2, shared, &to);
	if (err)
		return err;
	a = bucket_of(&from);
	b = bucket_of(&to);
	lock_two(a, b);
	while (expected && unlikely(read_word(&now, uaddr))) {
		unlock_two(a, b);
		if (read_word(&now, uaddr))
			return -EFAULT;
		lock_two(a, b);
	}
	if (expected && now != *expected) {
		unlock_two(a, b);
		return -EAGAIN;
	}
	bucket_ready(a);
	bucket_ready(b);
	list_for_each_safe (w, tmp, &a->waiters, link) {
		if (!key_equal(&w->key, &from))
			continue;
		if (w->pi) {
			unlock_two(a, b);
			return -EINVAL;
		}
		if (woken < nr_wake) {
			wake_one(w);
			woken++;
			continue;
		}
		if (moved >= nr_move)
			break;
		moved++;
		if (key_equal(&from, &to))
			continue;
		w->key = to;
		list_del(&w->link);
		list_add_tail(&w->link, &b->waiters);
		w->bucket = b;
	}
	unlock_two(a, b);
	return (s64)woken + moved;
}

/* The best waiter for @key that the policy knows. Context: bucket lock held. */
static struct futex_waiter *best_waiter(struct futex_bucket *b, const struct futex_key *key)
{
	struct futex_waiter *w, *best = NULL;

	list_for_each (w, &b->waiters, link)
		if (key_equal(&w->key, key) && (!best || sched_better(w->task, best->task)))
			best = w;
	return best;
}

/*
 * Of those who wait for @uaddr the best gets the lock at @uaddr2 if it is free, and @nr_move others (and it, if not) queue for it. One at a
 * time: to find the lock's owner takes locks that come before the bucket's.
 */
static s64 requeue_pi(u32 *uaddr, bool shared, u32 nr_wake, u32 nr_move, u32 *uaddr2, u32 expected)
{
	struct futex_key from, to;
	struct thread *owner;
	u32 word, now = expected;
	s64 moved = 0, ret;

	if (nr_wake != 1 || (s32)nr_move < 0)
		return -EINVAL;
	ret = get_key(uaddr, shared, &from);
	if (!ret)
		ret = get_key(uaddr2, shared, &to);
	if (!ret && key_equal(&from, &to))
		ret = -EINVAL;
	while (!ret && moved <= nr_move) {
		struct futex_bucket *b = bucket_of(&from);
		struct futex_waiter *w = NULL;
		bool unread;

		ret = pi_look(uaddr2, &word, &owner);
		if (ret)
			break;
		spin_lock(&b->lock);
		bucket_ready(b);
		unread = !moved && read_word(&now, uaddr);
		if (!unread)
			w = best_waiter(b, &from);
		if (now != expected)
			ret = -EAGAIN;
		else if (w)
			ret = w->pi && key_equal(&w->pi->key, &to)
				      ? pi_try(uaddr2, w->pi, word, owner, false)
				      : -EINVAL;
		if (w && ret == 1) {
			wake_one(w);
		} else if (w && !ret) {
			list_del(&w->link);
			__atomic_store_n(&w->bucket, NULL, __ATOMIC_RELEASE);
		}
		spin_unlock(&b->lock);
		pi_put(owner);
		if (unread) {
			ret = read_word(&now, uaddr);
			continue;
		}
		if (!w)
			break;
		if (ret == 0 || ret == 1) {
			moved++;
			ret = 0;
		} else if (pi_retry(uaddr2, &ret)) {
			ret = 0;
		}
	}
	return ret && !moved ? ret : moved;
}

static __attribute__((noinline)) s64 call_any(u32 *uaddr, int op, u32 val, u64 timeout_or_val2,
					      u32 *uaddr2, u32 val3)
{
	bool shared = !(op & FUTEX_PRIVATE), realtime = op & FUTEX_CLOCK_REALTIME;
	int cmd = op & ~(FUTEX_PRIVATE | FUTEX_CLOCK_REALTIME);
	u64 deadline = ~0ull;
	s64 ret;

	struct pi_waiter pi;

	if (realtime && cmd != FUTEX_WAIT_BITSET && cmd != FUTEX_WAIT && cmd != FUTEX_LOCK_PI2 &&
	    cmd != FUTEX_WAIT_REQUEUE_PI)
		return -ENOSYS;
	if (timeout_or_val2 && (u32)cmd < 32 && (1u << cmd & OPS_WITH_TIMEOUT)) {
		ret = get_deadline(timeout_or_val2, cmd != FUTEX_WAIT,
				   realtime || cmd == FUTEX_LOCK_PI, &deadline);
		if (ret)
			return ret;
	}
	switch (cmd) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		ret = futex_wait(uaddr, shared, val, deadline, cmd == FUTEX_WAIT ? ANY_BIT : val3,
				 NULL);
		/* A restart would begin a relative time-out anew: after a handler ran the program must see EINTR. */
		if (ret == -ERESTARTSYS && cmd == FUTEX_WAIT && timeout_or_val2)
			ret = -ERESTARTNOHAND;
		return ret;
	case FUTEX_WAKE:
		return futex_wake(uaddr, shared, val, ANY_BIT);
	case FUTEX_WAKE_BITSET:
		return futex_wake(uaddr, shared, val, val3);
	case FUTEX_REQUEUE:
		return futex_requeue(uaddr, shared, val, (u32)timeout_or_val2, uaddr2, NULL);
	case FUTEX_CMP_REQUEUE:
		return futex_requeue(uaddr, shared, val, (u32)timeout_or_val2, uaddr2, &val3);
	case FUTEX_LOCK_PI:
	case FUTEX_LOCK_PI2:
	case FUTEX_TRYLOCK_PI:
		ret = pi_init(&pi, uaddr, shared);
		return ret ? ret
			   : pi_lock_word(uaddr, &pi, deadline, cmd == FUTEX_TRYLOCK_PI, false);
	case FUTEX_UNLOCK_PI:
		return pi_unlock_word(uaddr, shared);
	case FUTEX_WAIT_REQUEUE_PI:
		return wait_requeue_pi(uaddr, shared, val, deadline, ANY_BIT, uaddr2);
	case FUTEX_CMP_REQUEUE_PI:
		return requeue_pi(uaddr, shared, val, (u32)timeout_or_val2, uaddr2, val3);
	default:
		return -ENOSYS;
	}
}

/* What locks and condition variables do when they have to. */
static __attribute__((noinline)) s64 wait_private(u32 *uaddr, u32 val)
{
	return futex_wait(uaddr, false, val, ~0ull, ANY_BIT, NULL);
}

static __attribute__((noinline)) s64 wake_private(u32 *uaddr, u32 n)
{
	return futex_wake(uaddr, false, n, ANY_BIT);
}

s64 futex_call(u32 *uaddr, int op, u32 val, u64 timeout_or_val2, u32 *uaddr2, u32 val3)
{
	if (op == (FUTEX_WAKE | FUTEX_PRIVATE))
		return wake_private(uaddr, val);
	if (op == (FUTEX_WAIT | FUTEX_PRIVATE) && !timeout_or_val2)
		return wait_private(uaddr, val);
	return call_any(uaddr, op, val, timeout_or_val2, uaddr2, val3);
}

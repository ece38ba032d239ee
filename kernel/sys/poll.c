/* SPDX-License-Identifier: MIT
 *
 * poll, ppoll, select, pselect6: all become one list of struct pollfd for poll_files().
 */
#include "lib/string.h"
#include "sys/calls.h"
#include "sys/fd.h"

#define SMALL	    8 /* descriptors polled without an allocation */
#define SIG_SETMASK 2
#define FOREVER	    (~0ull)

struct timespec64 {
	s64 sec, nsec;
};

/* struct poll_set - the descriptors of one call and their files. */
struct poll_set {
	unsigned n;
	struct pollfd *fds;
	struct fd_ref *refs;
	struct file **files;
	struct pollfd small_fds[SMALL];
	struct fd_ref small_refs[SMALL];
	struct file *small_files[SMALL];
};

static int set_alloc(struct poll_set *s, unsigned n)
{
	s->n = n;
	s->fds = s->small_fds;
	s->refs = s->small_refs;
	s->files = s->small_files;
	if (n <= SMALL)
		return 0;
	s->fds = kmalloc(n * sizeof(*s->fds));
	s->refs = kmalloc(n * sizeof(*s->refs));
	s->files = kmalloc(n * sizeof(*s->files));
	return s->fds && s->refs && s->files ? 0 : -ENOMEM;
}

static void set_free(struct poll_set *s)
{
	if (s->n <= SMALL)
		return;
	kfree(s->fds, s->n * sizeof(*s->fds));
	kfree(s->refs, s->n * sizeof(*s->refs));
	kfree(s->files, s->n * sizeof(*s->files));
}

/*
 * Wait. A descriptor that is not open (no file) is ready at once: poll_files() says POLLNVAL. Return: number ready, -ERESTARTNOHAND for a
 * signal, -ENOMEM.
 */
static s64 set_poll(struct poll_set *s, u64 deadline)
{
	bool bad = false;
	s64 ret;

	for (unsigned i = 0; i < s->n; i++) {
		s->refs[i] = (struct fd_ref){NULL, false};
		if (s->fds[i].fd >= 0)
			s->refs[i] = fd_get((u64)s->fds[i].fd);
		s->files[i] = s->refs[i].file;
		bad |= s->fds[i].fd >= 0 && !s->files[i];
	}
	ret = poll_files(s->fds, s->files, s->n, bad ? 0 : deadline);
	for (unsigned i = 0; i < s->n; i++)
		fd_put(s->refs[i]);
	return ret == -EINTR ? -ERESTARTNOHAND : ret;
}

/* ---- times and masks ---- */

/* Absolute time of @sec, @nsec from now. */
static u64 deadline_after(u64 sec, u64 nsec)
{
	u64 now = machine_now();

	if (sec >= (FOREVER - now - nsec) / NSEC_PER_SEC)
		return FOREVER - 1;
	return now + sec * NSEC_PER_SEC + nsec;
}

/* @ts: user pointer to a timespec, or 0 = for ever. @unit: ns of its second field (timeval: 1000). */
static int read_timeout(u64 ts, u64 unit, u64 *deadline)
{
	struct timespec64 t;

	*deadline = FOREVER;
	if (!ts)
		return 0;
	if (copy_from_user(&t, (const void *)ts, sizeof(t)))
		return -EFAULT;
	if (unit != 1 && t.nsec >= 0 &&
	    t.sec >= 0) { /* select(2) takes microseconds over a second as well */
		if (__builtin_add_overflow(t.sec, t.nsec / (s64)(NSEC_PER_SEC / unit), &t.sec))
			return -EINVAL;
		t.nsec %= (s64)(NSEC_PER_SEC / unit);
	}
	if (t.sec < 0 || t.nsec < 0 || (u64)t.nsec >= NSEC_PER_SEC / unit)
		return -EINVAL;
	*deadline = t.sec || t.nsec ? deadline_after((u64)t.sec, (u64)t.nsec * unit) : 0;
	return 0;
}

/* Linux writes the time left back, so that a restarted call waits only for the rest. A fault here is not an error. */
static void write_timeout(u64 ts, u64 unit, u64 deadline)
{
	u64 now = machine_now(), left;
	struct timespec64 t;

	if (!ts || deadline == FOREVER)
		return;
	left = deadline > now ? deadline - now : 0;
	t.sec = (s64)(left / NSEC_PER_SEC);
	t.nsec = (s64)(left % NSEC_PER_SEC / unit);
	(void)copy_to_user((void *)ts, &t, sizeof(t));
}

static int mask_begin(u64 user_mask, u64 size, sigset_t *old)
{
	sigset_t mask;

	if (!user_mask)
		return 0;
	if (size != sizeof(sigset_t))
		return -EINVAL;
	if (copy_from_user(&mask, (const void *)user_mask, sizeof(mask)))
		return -EFAULT;
	return (int)do_sigprocmask(SIG_SETMASK, &mask, old);
}

/* After a signal the old mask comes back when its handler has been set up (as after sigsuspend), else now. */
static void mask_end(u64 user_mask, sigset_t old, s64 ret)
{
	struct thread *t = current_thread();

	if (!user_mask)
		return;
	if (ret == -ERESTARTNOHAND) {
		t->saved_mask = old;
		t->restore_mask = true;
	} else {
		do_sigprocmask(SIG_SETMASK, &old, NULL);
	}
}

/* ---- poll ---- */

static s64 poll_user(u64 user_fds, u64 n, u64 deadline)
{
	struct pollfd *to = (struct pollfd *)user_fds;
	struct poll_set s;
	s64 ret;

	if ((u32)n > min(current_process()->rlim_nofile, (u64)FD_MAX))
		return -EINVAL;
	ret = set_alloc(&s, (u32)n);
	if (!ret && copy_from_user(s.fds, to, s.n * sizeof(*to)))
		ret = -EFAULT;
	if (!ret)
		ret = set_poll(&s, deadline);
	for (unsigned i = 0; ret >= 0 && i < s.n; i++)
		if (copy_to_user(&to[i].revents, &s.fds[i].revents, sizeof(s16)))
			ret = -EFAULT;
	set_free(&s);
	return ret;
}

SYSCALL3(poll, fds, n, timeout_ms)
{
	s32 ms = (s32)timeout_ms;
	u64 deadline = ms < 0 ? FOREVER : 0;

	if (ms > 0)
		deadline = deadline_after((u64)ms / 1000, (u64)ms % 1000 * NSEC_PER_MSEC);
	return poll_user(fds, n, deadline);
}

SYSCALL5(ppoll, fds, n, ts, mask, mask_size)
{
	sigset_t old = 0;
	u64 deadline;
	s64 ret = read_timeout(ts, 1, &deadline);

	if (!ret)
		ret = mask_begin(mask, mask_size, &old);
	if (ret)
		return ret;
	ret = poll_user(fds, n, deadline);
	mask_end(mask, old, ret);
	write_timeout(ts, 1, deadline);
	return ret;
}

/* ---- select ---- */

#define SEL_IN	(POLLIN | POLLRDNORM | POLLHUP | POLLERR)
#define SEL_OUT (POLLOUT | POLLWRNORM | POLLERR)
#define SEL_EX	POLLPRI

struct fd_bits {
	u64 w[FD_MAX / 64];
};

struct select_sets {
	struct fd_bits in, out, ex;
};

static int bits_read(struct fd_bits *b, u64 user, unsigned n)
{
	memset(b, 0, sizeof(*b));
	if (!user)
		return 0;
	if (copy_from_user(b, (const void *)user, DIV_ROUND_UP(n, 64u) * 8))
		return -EFAULT;
	if (n % 64)
		b->w[n / 64] &= (1ull << n % 64) - 1;
	return 0;
}

static int bits_write(const struct fd_bits *b, u64 user, unsigned n)
{
	return user ? copy_to_user((void *)user, b, DIV_ROUND_UP(n, 64u) * 8) : 0;
}

/* The descriptors named in @sets, or only counted if @fds is NULL. */
static unsigned sets_to_list(const struct select_sets *sets, unsigned n, struct pollfd *fds)
{
	unsigned count = 0;

	for (unsigned fd = 0; fd < n; fd++) {
		unsigned events = (bit_test(sets->in.w, fd) ? POLLIN : 0) |
				  (bit_test(sets->out.w, fd) ? POLLOUT : 0) |
				  (bit_test(sets->ex.w, fd) ? POLLPRI : 0);

		if (!events)
			continue;
		if (fds)
			fds[count] = (struct pollfd){.fd = (s32)fd, .events = (s16)events};
		count++;
	}
	return count;
}

/* Keep in @sets what is ready. Return: bits left, -EBADF. */
static s64 list_to_sets(const struct poll_set *s, struct select_sets *sets)
{
	struct select_sets asked = *sets;
	s64 count = 0;

	memset(sets, 0, sizeof(*sets));
	for (unsigned i = 0; i < s->n; i++) {
		unsigned fd = (unsigned)s->fds[i].fd, got = (u16)s->fds[i].revents;

		if (got & POLLNVAL)
			return -EBADF;
		if ((got & SEL_IN) && bit_test(asked.in.w, fd))
			bit_set(sets->in.w, fd), count++;
		if ((got & SEL_OUT) && bit_test(asked.out.w, fd))
			bit_set(sets->out.w, fd), count++;
		if ((got & SEL_EX) && bit_test(asked.ex.w, fd))
			bit_set(sets->ex.w, fd), count++;
	}
	return count;
}

static s64 select_user(u64 n, u64 in, u64 out, u64 ex, u64 deadline)
{
	struct select_sets sets;
	struct poll_set s;
	s64 ret;

	if ((s32)n < 0)
		return -EINVAL;
	/* Linux looks at no descriptors beyond the size of the table either. */
	n = min(n, (u64)READ_ONCE(current_process()->files->size));
	if (bits_read(&sets.in, in, (unsigned)n) || bits_read(&sets.out, out, (unsigned)n) ||
	    bits_read(&sets.ex, ex, (unsigned)n))
		return -EFAULT;
	ret = set_alloc(&s, sets_to_list(&sets, (unsigned)n, NULL));
	if (!ret) {
		sets_to_list(&sets, (unsigned)n, s.fds);
		ret = set_poll(&s, deadline);
	}
	if (ret >= 0)
		ret = list_to_sets(&s, &sets);
	set_free(&s);
	if (ret >= 0 &&
	    (bits_write(&sets.in, in, (unsigned)n) || bits_write(&sets.out, out, (unsigned)n) ||
	     bits_write(&sets.ex, ex, (unsigned)n)))
		ret = -EFAULT;
	return ret;
}

SYSCALL5(select, n, in, out, ex, tv)
{
	u64 deadline;
	s64 ret = read_timeout(tv, NSEC_PER_USEC, &deadline);

	if (ret)
		return ret;
	ret = select_user((u64)(s64)(s32)n, in, out, ex, deadline);
	write_timeout(tv, NSEC_PER_USEC, deadline);
	return ret;
}

SYSCALL6(pselect6, n, in, out, ex, ts, mask_arg)
{
	u64 mask[2] = {0, 0}; /* user pointer, size */
	sigset_t old = 0;
	u64 deadline;
	s64 ret = read_timeout(ts, 1, &deadline);

	if (!ret && mask_arg && copy_from_user(mask, (const void *)mask_arg, sizeof(mask)))
		ret = -EFAULT;
	if (!ret)
		ret = mask_begin(mask[0], mask[1], &old);
	if (ret)
		return ret;
	ret = select_user((u64)(s64)(s32)n, in, out, ex, deadline);
	mask_end(mask[0], old, ret);
	write_timeout(ts, 1, deadline);
	return ret;
}

// SPDX-License-Identifier: MIT
/*
 * Pipes: a ring of bytes between two open files.
 *
 * The ring is made of pages that are allocated when a writer first gets to them and kept until the pipe goes. Whenever the
 * ring runs empty both positions return to 0, so that a pipe used for small messages lives in one page. A sleeping lock
 * covers the copies, since a user copy can fault; wake-ups come after it is dropped.
 *
 * Waiting. Readers and writers have a queue each and wait exclusively: one wake-up, one task. After every call that moved
 * something, the other side gets one normal wake-up; a writer that must block in the middle of its call gives a sync one
 * (it is about to sleep). The order is that of the 2.4 and 2.6 kernels, but for one thing: a reader here returns what
 * there is and never blocks with data in hand in order to merge it with what a waiting writer would bring.
 *
 * No wake-up is lost among several waiters, because whoever is woken owes it to the others: a reader that leaves bytes behind
 * wakes the next reader, woken or not; a writer that was woken and leaves while room remains wakes the next writer.
 * Writers differ in the room they need (up to PIPE_BUF bytes must go in one piece): a woken writer that cannot use the
 * room passes the wake-up on before it queues again, but once per change of the room (pipe.room_seq) only, or two big
 * writers would wake each other for ever over one free byte.
 */
#include "ipc/copy.h"
#include "ipc/file.h"

#define PIPE_BUF      4096u
#define PIPE_MAX_SIZE (1u << 20)
#define PIPE_PAGES    16 /* default capacity: 64 KiB */
#define SIGPIPE	      13
#define FIONREAD      0x541b

struct pipe {
	struct mutex lock;
	u32 head,
		tail; /* (lock, but pipe_empty()) bytes written and read since the ring was last empty */
	u32 size;		     /* (lock) capacity, a power of two of whole pages */
	u32 room_seq;		     /* (lock) counts whatever gives writers room */
	bool has_reader, has_writer; /* (lock) */
	u32 refs;		     /* atomic: open ends */
	u8 **pages; /* (lock) size / PAGE_SIZE of them, NULL where not needed yet */
	struct waitq readers, writers;
	u8 *own_pages[PIPE_PAGES]; /* what @pages points to up to the default capacity */
};

static const struct file_ops pipe_read_ops, pipe_write_ops;

static inline u32 pipe_used(const struct pipe *p)
{
	return p->head - p->tail;
}

static inline u32 pipe_room(const struct pipe *p)
{
	return p->size - pipe_used(p);
}

static inline u8 **pipe_slot(const struct pipe *p, u32 pos)
{
	return &p->pages[(pos & (p->size - 1)) >> PAGE_SHIFT];
}

/* Bytes from @pos to the end of its page, at most @n. */
static inline u32 piece(u32 pos, u32 n)
{
	return min(n, (u32)(PAGE_SIZE - (pos & (PAGE_SIZE - 1))));
}

/* ---- reading ---- */

/*
 * A look without the lock, by somebody who looks again under it or is in the readers' queue. "Empty" may be wrong: a writer and a
 * reader that both come between the two loads can bring the tail to where the head was. But the last of them came after the
 * look began, and finds whoever was in the queue by then: a writer wakes a reader, and so does a reader that leaves something.
 */
static inline bool pipe_empty(const struct pipe *p)
{
	u32 head = READ_ONCE(p->head);

	return head == READ_ONCE(p->tail);
}

#define READ_AGAIN (-4095)

/* A look found nothing, and waiting is no use or was none. Return: READ_AGAIN, 0 at the end of file, -EAGAIN, -ERESTARTSYS. */
static __attribute__((noinline)) s64 no_data(struct pipe *p, const struct file *f)
{
	/* Before the look at the bytes, which the last writer may have left. */
	bool has_writer = READ_ONCE(p->has_writer);
	u32 head = READ_ONCE(p->head);

	/* The same head before and after: at the tail's load the pipe was empty indeed, or in between. */
	if (head != READ_ONCE(p->tail) || head != READ_ONCE(p->head))
		return READ_AGAIN;
	if (!has_writer)
		return 0;
	if (f->flags & O_NONBLOCK)
		return -EAGAIN;
	return current_task()->signal_pending ? -ERESTARTSYS : READ_AGAIN;
}

/* Wait, without the lock, for data or the end of file. Return: whether there seems to be data. */
static inline bool wait_data(struct pipe *p, const struct file *f)
{
	struct waiter w;

	if (unlikely(f->flags & O_NONBLOCK))
		return false;
	waitq_prepare(&p->readers, &w, TASK_INTERRUPTIBLE, true);
	if (likely(READ_ONCE(p->has_writer) && pipe_empty(p)))
		schedule();
	waitq_finish(&p->readers, &w);
	return !pipe_empty(p);
}

/* Take up to @n bytes that lie in several pages. Return: bytes taken; -EFAULT if none. What a failed copy did not take stays. */
static __attribute__((noinline)) s64 take_pieces(struct pipe *p, u8 *buf, u32 n)
{
	u32 done = 0;

	while (done < n) {
		u32 tail = p->tail, len = piece(tail, n - done);

		if (copy_out(buf + done, *pipe_slot(p, tail) + (tail & (PAGE_SIZE - 1)), len))
			return done ? (s64)done : -EFAULT;
		done += len;
		p->tail = tail + len;
	}
	return done;
}

/* End a read that found data and took nothing of it. */
static s64 read_nothing(struct pipe *p, s64 ret)
{
	mutex_unlock(&p->lock);
	waitq_wake(&p->readers, 1, 0);
	return ret;
}

/* The whole of a read but for the loop around it, which few need and all would pay for. */
static inline __attribute__((always_inline)) s64 read_once(struct file *f, void *buf, size_t n)
{
	struct pipe *p = f->object;
	u32 tail, len, offset;
	bool left;

	if (pipe_empty(p) && unlikely(!wait_data(p, f)))
		return no_data(p, f);
	mutex_lock(&p->lock);
	tail = p->tail;
	len = p->head - tail;
	if (unlikely(!len)) {
		mutex_unlock(&p->lock); /* another reader was faster */
		return READ_AGAIN;
	}
	if (n < len)
		len = (u32)n;
	offset = tail & (PAGE_SIZE - 1);
	if (likely(offset + len <= PAGE_SIZE)) {
		if (unlikely(copy_out(buf, *pipe_slot(p, tail) + offset, len)))
			return read_nothing(p, -EFAULT);
		p->tail += len;
	} else {
		s64 ret = take_pieces(p, buf, len);

		if (ret < 0)
			return read_nothing(p, ret);
		len = (u32)ret;
	}
	p->room_seq++;
	left = p->head != p->tail;
	if (!left)
		p->head = p->tail = 0;
	mutex_unlock(&p->lock);
	waitq_wake_one(&p->writers);
	if (left)
		waitq_wake_one(&p->readers);
	return len;
}

static __attribute__((noinline)) s64 read_again(struct file *f, void *buf, size_t n)
{
	s64 ret;

	do
		ret = read_once(f, buf, n);
	while (ret == READ_AGAIN);
	return ret;
}

static s64 pipe_read(struct file *f, void *buf, size_t n, u64 *pos)
{
	s64 ret;

	(void)pos;
	if (!n)
		return 0;
	ret = read_once(f, buf, n);
	return unlikely(ret == READ_AGAIN) ? read_again(f, buf, n) : ret;
}

/* ---- writing ---- */

/* Make sure that the pages of the @n bytes from @pos on exist. Return: bytes they have place for, less than @n if memory ran out. */
static u32 get_pages(struct pipe *p, u32 pos, u32 n)
{
	u32 done = 0;

	while (done < n) {
		u8 **slot = pipe_slot(p, pos + done);

		if (unlikely(!*slot)) {
			u64 page = page_alloc(0);

			if (!page)
				break;
			*slot = phys_to_virt(page);
		}
		done += piece(pos + done, n - done);
	}
	return done;
}

/*
 * Put up to @n bytes, for which there is room, into the ring; with @whole all of them or none.
 * Return: bytes put; *@err says why not all.
 */
static size_t put_bytes(struct pipe *p, const u8 *buf, u32 n, bool whole, s64 *err)
{
	u32 head = p->head, can = get_pages(p, head, n), done = 0;

	if (unlikely(can < n)) {
		*err = -ENOMEM;
		if (whole)
			return 0;
	}
	while (done < can) {
		u32 len = piece(head, can - done);

		if (unlikely(copy_in(*pipe_slot(p, head) + (head & (PAGE_SIZE - 1)), buf + done,
				     len))) {
			*err = -EFAULT;
			if (whole)
				return 0;
			break;
		}
		head += len;
		done += len;
	}
	p->head = head;
	return done;
}

/*
 * Wait once for room, with the lock held. @tell: bytes were moved since the readers were last woken. @last_woken: we come
 * from such a wait with a wake-up that was of no use; @seen: the pipe's room_seq at our last look.
 * Return: whether this wait ended by a wake-up.
 */
static bool wait_room(struct pipe *p, bool tell, bool last_woken, u32 *seen)
{
	struct waiter w;

	if (last_woken && pipe_room(p) && *seen != p->room_seq)
		waitq_wake(&p->writers, 1, 0);
	*seen = p->room_seq;
	waitq_prepare(&p->writers, &w, TASK_INTERRUPTIBLE, true);
	mutex_unlock(&p->lock);
	if (tell)
		waitq_wake(&p->readers, 1, WAKE_SYNC);
	schedule();
	last_woken = waitq_finish(&p->writers, &w);
	mutex_lock(&p->lock);
	return last_woken;
}

/* A write that is not as simple as most are. Called with the lock held, returns without it. */
static __attribute__((noinline)) s64 write_slow(struct pipe *p, const struct file *f, const u8 *buf,
						size_t n)
{
	bool whole = n <= PIPE_BUF;
	u32 need = whole ? (u32)n : 1;
	bool woken = false, last_woken = false, tell = false, pass;
	u32 seen = p->room_seq - 1;
	size_t done = 0;
	s64 err = 0;

	for (;;) {
		u32 room = pipe_room(p);

		if (!p->has_reader) {
			err = -EPIPE;
			break;
		}
		if (room >= need) {
			size_t left = n - done;
			size_t put = put_bytes(p, buf + done, left < room ? (u32)left : room, whole,
					       &err);

			done += put;
			tell |= put != 0;
			if (done == n || err)
				break;
		}
		if (f->flags & O_NONBLOCK) {
			err = -EAGAIN;
			break;
		}
		if (current_task()->signal_pending) {
			err = -ERESTARTSYS;
			break;
		}
		last_woken = wait_room(p, tell, last_woken, &seen);
		woken |= last_woken;
		tell = false;
	}
	pass = woken && pipe_room(p);
	mutex_unlock(&p->lock);
	if (tell)
		waitq_wake(&p->readers, 1, 0);
	if (pass)
		waitq_wake(&p->writers, 1, 0);
	if (err == -EPIPE && !kernel_task() && !(f->flags & FILE_NO_SIGPIPE))
		signal_send_current(SIGPIPE);
	return done ? (s64)done : err;
}

static s64 pipe_write(struct file *f, const void *buf, size_t n, u64 *pos)
{
	struct pipe *p = f->object;
	u32 head, offset;
	u8 *page;
	int err;

	(void)pos;
	if (!n)
		return 0;
	mutex_lock(&p->lock);
	head = p->head;
	offset = head & (PAGE_SIZE - 1);
	page = *pipe_slot(p, head);
	/* Most writes: there is room in the page that the ring's head is in. */
	if (unlikely(n > PAGE_SIZE - offset || n > pipe_room(p) || !page || !p->has_reader))
		return write_slow(p, f, buf, n);
	err = copy_in(page + offset, buf, n);
	if (likely(!err))
		p->head += (u32)n;
	mutex_unlock(&p->lock);
	if (unlikely(err))
		return err;
	waitq_wake_one(&p->readers);
	return (s64)n;
}

/* ---- the rest ---- */

static unsigned pipe_read_poll(struct file *f, struct poll_table *pt)
{
	struct pipe *p = f->object;
	unsigned events = 0;

	if (pt)
		poll_wait(pt, &p->readers);
	mutex_lock(&p->lock);
	if (p->head != p->tail)
		events |= POLLIN | POLLRDNORM;
	if (!p->has_writer)
		events |= POLLHUP;
	mutex_unlock(&p->lock);
	return events;
}

/* Writable when a write of up to PIPE_BUF bytes would not block. */
static unsigned pipe_write_poll(struct file *f, struct poll_table *pt)
{
	struct pipe *p = f->object;
	unsigned events = 0;

	if (pt)
		poll_wait(pt, &p->writers);
	mutex_lock(&p->lock);
	if (pipe_room(p) >= PIPE_BUF)
		events |= POLLOUT | POLLWRNORM;
	if (!p->has_reader)
		events |= POLLERR;
	mutex_unlock(&p->lock);
	return events;
}

static s64 pipe_ioctl(struct file *f, unsigned cmd, u64 arg)
{
	struct pipe *p = f->object;
	u32 used;

	if (cmd != FIONREAD)
		return -ENOTTY;
	mutex_lock(&p->lock);
	used = pipe_used(p);
	mutex_unlock(&p->lock);
	return copy_out((void *)arg, &used, sizeof(used));
}

static void free_pages(u8 **pages, u32 size)
{
	for (u32 i = 0; i < size >> PAGE_SHIFT; i++)
		if (pages[i])
			page_free(virt_to_phys(pages[i]), 0);
}

static void pipe_destroy(struct pipe *p)
{
	free_pages(p->pages, p->size);
	if (p->pages != p->own_pages)
		kfree(p->pages, (p->size >> PAGE_SHIFT) * sizeof(u8 *));
	kfree(p, sizeof(*p));
}

/*
 * One end goes. The reference is dropped last: until then the wake-ups here (and the end of mutex_unlock()) may touch the
 * pipe although the other end is closed and gone meanwhile.
 */
static void close_end(struct pipe *p, bool *end, struct waitq *others)
{
	mutex_lock(&p->lock);
	*end = false;
	mutex_unlock(&p->lock);
	waitq_wake(others, 0, 0);
	if (!__atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL))
		pipe_destroy(p);
}

void pipe_shut(struct file *f)
{
	struct pipe *p = f->object;

	mutex_lock(&p->lock);
	p->has_reader = p->has_writer = false;
	mutex_unlock(&p->lock);
	waitq_wake(&p->readers, 0, 0);
	waitq_wake(&p->writers, 0, 0);
}

static void pipe_read_release(struct file *f)
{
	struct pipe *p = f->object;

	close_end(p, &p->has_reader, &p->writers);
}

static void pipe_write_release(struct file *f)
{
	struct pipe *p = f->object;

	close_end(p, &p->has_writer, &p->readers);
}

static const struct file_ops pipe_read_ops = {
	.read = pipe_read,
	.ioctl = pipe_ioctl,
	.poll = pipe_read_poll,
	.release = pipe_read_release,
};

static const struct file_ops pipe_write_ops = {
	.write = pipe_write,
	.ioctl = pipe_ioctl,
	.poll = pipe_write_poll,
	.release = pipe_write_release,
};

int pipe_create(struct file *ends[2], unsigned flags)
{
	struct pipe *p = kzalloc(sizeof(*p));

	if (!p)
		return -ENOMEM;
	mutex_init(&p->lock);
	waitq_init(&p->readers);
	waitq_init(&p->writers);
	p->size = PIPE_PAGES * PAGE_SIZE;
	p->pages = p->own_pages;
	p->has_reader = p->has_writer = true;
	p->refs = 2;
	flags &= O_NONBLOCK;
	ends[0] = file_create(&pipe_read_ops, O_RDONLY | flags, p, NULL);
	ends[1] = file_create(&pipe_write_ops, O_WRONLY | flags, p, NULL);
	if (ends[0] && ends[1])
		return 0;
	/* Not through file_put(): a half-made pipe is destroyed once, here. */
	kfree(ends[0], sizeof(struct file));
	kfree(ends[1], sizeof(struct file));
	pipe_destroy(p);
	return -ENOMEM;
}

bool file_is_pipe(const struct file *f)
{
	return f->ops == &pipe_read_ops || f->ops == &pipe_write_ops;
}

s64 pipe_size(struct file *f)
{
	return file_is_pipe(f) ? (s64)READ_ONCE(((struct pipe *)f->object)->size) : -EBADF;
}

/* Copy the ring's contents to the start of @pages. Return: 0 or -ENOMEM (then some of @pages are allocated). */
static int copy_ring(struct pipe *p, u8 **pages)
{
	for (u32 done = 0, len; done < pipe_used(p); done += len) {
		u32 pos = p->tail + done;
		u8 **slot = &pages[done >> PAGE_SHIFT];

		/* A piece must end at a page boundary of the source and of the destination. */
		len = piece(done, piece(pos, pipe_used(p) - done));
		if (!*slot) {
			u64 page = page_alloc(0);

			if (!page)
				return -ENOMEM;
			*slot = phys_to_virt(page);
		}
		memcpy(*slot + (done & (PAGE_SIZE - 1)),
		       *pipe_slot(p, pos) + (pos & (PAGE_SIZE - 1)), len);
	}
	return 0;
}

/* Move the contents to a ring of @size bytes, with the lock held. */
static int resize(struct pipe *p, u32 size)
{
	u32 old_size = p->size, used;
	u8 **old = p->pages, **pages;
	u8 *copy[PIPE_PAGES] = {NULL};
	bool small = size <= PIPE_PAGES * PAGE_SIZE;

	if (pipe_used(p) > size)
		return -EBUSY;
	pages = small ? copy : kzalloc((size >> PAGE_SHIFT) * sizeof(u8 *));
	if (!pages)
		return -ENOMEM;
	if (copy_ring(p, pages)) {
		free_pages(pages, size);
		if (!small)
			kfree(pages, (size >> PAGE_SHIFT) * sizeof(u8 *));
		return -ENOMEM;
	}
	free_pages(old, old_size);
	if (old != p->own_pages)
		kfree(old, (old_size >> PAGE_SHIFT) * sizeof(u8 *));
	if (small) {
		memcpy(p->own_pages, copy, sizeof(copy));
		pages = p->own_pages;
	}
	p->pages = pages;
	/* In this order the ring never looks empty to pipe_empty() while it is not. */
	used = pipe_used(p);
	WRITE_ONCE(p->tail, 0);
	WRITE_ONCE(p->head, used);
	p->size = size;
	p->room_seq++;
	return 0;
}

s64 pipe_set_size(struct file *f, u64 size)
{
	struct pipe *p = f->object;
	u32 want = PAGE_SIZE;
	int err = 0;

	if (!file_is_pipe(f))
		return -EBADF;
	if (!size)
		return -EINVAL;
	if (size > PIPE_MAX_SIZE)
		return -EPERM;
	while (want < size)
		want *= 2;
	mutex_lock(&p->lock);
	if (want != p->size)
		err = resize(p, want);
	mutex_unlock(&p->lock);
	if (err)
		return err;
	waitq_wake(&p->writers, 0, 0);
	return want;
}

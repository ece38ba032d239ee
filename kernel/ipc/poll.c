// SPDX-License-Identifier: MIT
/*
 * poll: wait for the first of several files. The poller puts one notify waiter on every queue that could tell it something,
 * looks at all files, and sleeps until any of the queues is woken; then it looks again.
 *
 * A notification stores poll_table.triggered and wakes the task; the poller sets its state and then loads triggered, both
 * with full barriers between, so that check-then-sleep holds across all queues at once.
 */
#include "ipc/file.h"
#include "mm/mm.h"

#define INLINE_ENTRIES 6

struct poll_entry {
	struct waiter w;
	struct waitq *q;
	struct poll_table *table;
};

/* Entries are linked into queues and must not move: more of them come in further chunks. */
struct poll_chunk {
	struct poll_chunk *next;
	unsigned used;
	struct poll_entry entries[(PAGE_SIZE / 2 - 16) / sizeof(struct poll_entry)];
};

struct poll_table {
	struct task *task;
	volatile bool triggered; /* set by wakers, cleared by the poller while awake */
	bool no_memory;
	unsigned used;
	struct poll_chunk *chunks;
	struct poll_entry entries[INLINE_ENTRIES];
};

/* A waker, under the queue's lock. */
static void poll_notify(struct waiter *w)
{
	struct poll_table *pt = container_of(w, struct poll_entry, w)->table;

	__atomic_store_n(&pt->triggered, true, __ATOMIC_SEQ_CST);
	task_wake(pt->task, TASK_INTERRUPTIBLE, 0);
}

static struct poll_entry *new_entry(struct poll_table *pt)
{
	struct poll_chunk *c = pt->chunks;

	if (pt->used < INLINE_ENTRIES)
		return &pt->entries[pt->used++];
	if (!c || c->used == ARRAY_SIZE(c->entries)) {
		c = kmalloc(sizeof(*c));
		if (!c)
			return NULL;
		c->next = pt->chunks;
		c->used = 0;
		pt->chunks = c;
	}
	return &c->entries[c->used++];
}

void poll_wait(struct poll_table *pt, struct waitq *q)
{
	struct poll_entry *e = new_entry(pt);

	if (!e) {
		pt->no_memory = true;
		return;
	}
	e->w.task = pt->task;
	e->w.notify = poll_notify;
	e->q = q;
	e->table = pt;
	waitq_add_notify(q, &e->w);
}

static void unregister(struct poll_table *pt)
{
	struct poll_chunk *c;

	for (unsigned i = 0; i < pt->used; i++)
		waitq_remove(pt->entries[i].q, &pt->entries[i].w);
	while ((c = pt->chunks)) {
		for (unsigned i = 0; i < c->used; i++)
			waitq_remove(c->entries[i].q, &c->entries[i].w);
		pt->chunks = c->next;
		kfree(c, sizeof(*c));
	}
}

/* Look at all files. With @pt their queues are registered until the first one is ready. Return: number ready. */
static s64 scan(struct pollfd *fds, struct file **files, unsigned n, struct poll_table *pt)
{
	s64 ready = 0;

	for (unsigned i = 0; i < n; i++) {
		struct file *f = files[i];
		unsigned wanted = (u16)fds[i].events | POLLERR | POLLHUP;
		unsigned events;

		if (!f)
			events = fds[i].fd >= 0 ? POLLNVAL : 0;
		else if (f->ops->poll)
			events = f->ops->poll(f, ready ? NULL : pt) & wanted;
		else /* a file that never blocks */
			events = (POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM) & wanted;
		fds[i].revents = (s16)events;
		ready += events != 0;
	}
	return ready;
}

s64 poll_files(struct pollfd *fds, struct file **files, unsigned n, u64 deadline)
{
	struct poll_table pt;
	bool timed_out = false;
	s64 ready;

	if (!deadline)
		return scan(fds, files, n, NULL);
	pt.task = current_task();
	pt.triggered = pt.no_memory = false;
	pt.used = 0;
	pt.chunks = NULL;
	ready = scan(fds, files, n, &pt);
	while (!ready && !pt.no_memory && !timed_out) {
		if (pt.task->signal_pending) {
			ready = -EINTR;
			break;
		}
		set_current_state(TASK_INTERRUPTIBLE);
		if (!pt.triggered)
			timed_out = sleep_until(deadline, TASK_INTERRUPTIBLE);
		pt.task->state = TASK_RUNNING;
		/* Cleared before the look: what changes after the look sets it again. */
		__atomic_store_n(&pt.triggered, false, __ATOMIC_SEQ_CST);
		ready = scan(fds, files, n, NULL);
	}
	if (!ready && pt.no_memory)
		ready = -ENOMEM;
	unregister(&pt);
	return ready;
}

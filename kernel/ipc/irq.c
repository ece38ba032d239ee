// SPDX-License-Identifier: MIT
/*
 * Interrupts as readable objects: /dev/irq/N. Every open file remembers how many interrupts of its line it has seen
 * (file.pos); a read waits until there are more and returns the difference, so that several drivers on one line each
 * get every interrupt. Edge-triggered and counted: nothing is lost while a driver is busy, and no acknowledgement exists.
 */
#include <arch/smp.h>

#include "ipc/copy.h"
#include "ipc/file.h"

#define NR_IRQS 16

static struct irq_line {
	volatile u64
		count; /* interrupts so far; written by the handler only (one CPU takes the line) */
	u32 users;     /* open files, under users_lock */
	struct waitq waiters;
} lines[NR_IRQS];

static struct mutex users_lock = {
	.waiters = {.lock = SPINLOCK_INIT("irq users", LOCK_WAITQ),
		    .waiters = LIST_INIT(users_lock.waiters.waiters)},
};

/* Take what arrived since the file's last read. */
static u64 take(struct file *f, struct irq_line *l)
{
	u64 seen, now;

	do {
		seen = __atomic_load_n(&f->pos, __ATOMIC_RELAXED);
		now = l->count;
		if (seen >= now)
			return 0;
		/* Two threads may read one descriptor: each interrupt is counted to one of them. */
	} while (!__atomic_compare_exchange_n(&f->pos, &seen, now, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_RELAXED));
	return now - seen;
}

static s64 irq_read(struct file *f, void *buf, size_t n, u64 *pos)
{
	struct irq_line *l = f->object;
	struct waiter w;
	u64 count;

	(void)pos;
	if (n < sizeof(count))
		return -EINVAL;
	while (!(count = take(f, l))) {
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		if (current_task()->signal_pending)
			return -ERESTARTSYS;
		waitq_prepare(&l->waiters, &w, TASK_INTERRUPTIBLE, false);
		if (l->count == __atomic_load_n(&f->pos, __ATOMIC_RELAXED))
			schedule();
		waitq_finish(&l->waiters, &w);
	}
	if (copy_out(buf, &count, sizeof(count)))
		return -EFAULT;
	return sizeof(count);
}

static unsigned irq_poll(struct file *f, struct poll_table *pt)
{
	struct irq_line *l = f->object;

	if (pt)
		poll_wait(pt, &l->waiters);
	return l->count != __atomic_load_n(&f->pos, __ATOMIC_RELAXED) ? POLLIN | POLLRDNORM : 0;
}

static void irq_release(struct file *f)
{
	struct irq_line *l = f->object;

	mutex_lock(&users_lock);
	if (!--l->users)
		arch_irq_disable(l - lines);
	mutex_unlock(&users_lock);
}

static const struct file_ops irq_ops = {
	.read = irq_read,
	.poll = irq_poll,
	.release = irq_release,
};

int irq_open(unsigned irq, unsigned flags, struct node *node, struct file **out)
{
	struct irq_line *l;
	struct file *f;
	int err = 0;

	if (irq >= NR_IRQS)
		return -ENOENT;
	l = &lines[irq];
	f = file_create(&irq_ops, flags, l, node);
	if (!f)
		return -ENOMEM;
	mutex_lock(&users_lock);
	if (!l->users) {
		if (!l->waiters.waiters.next)
			waitq_init(&l->waiters); /* the first opener ever: nobody can wait yet */
		err = arch_irq_enable(irq);
	}
	if (!err) {
		l->users++;
		f->pos = l->count;
	}
	mutex_unlock(&users_lock);
	if (err) {
		kfree(f, sizeof(*f));
		return err;
	}
	*out = f;
	return 0;
}

void irq_raise(unsigned irq)
{
	struct irq_line *l = &lines[irq];

	if (irq >= NR_IRQS || !l->waiters.waiters.next)
		return; /* spurious: never opened */
	__atomic_fetch_add(&l->count, 1, __ATOMIC_SEQ_CST);
	waitq_wake(&l->waiters, 0, 0);
}

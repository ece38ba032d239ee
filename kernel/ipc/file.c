// SPDX-License-Identifier: MIT
/*
 * Open files: creation and reference counting. What they do is in their file_ops.
 */
#include "ipc/file.h"
#include "mm/mm.h"

/* Neither O_WRONLY nor O_RDWR, or O_PATH. */
static bool not_for_writing(unsigned flags)
{
	return (flags & (O_ACCMODE | O_PATH)) - 1 > 1;
}

static s64 read_refused(struct file *f, void *buf, size_t n, u64 *pos)
{
	return f->flags & (O_WRONLY | O_PATH) ? -EBADF : -EINVAL;
}

static s64 write_refused(struct file *f, const void *buf, size_t n, u64 *pos)
{
	return not_for_writing(f->flags) ? -EBADF : -EINVAL;
}

struct file *file_create(const struct file_ops *ops, unsigned flags, void *object,
			 struct node *node)
{
	struct file *f = kmalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->ops = ops;
	f->refs = 1;
	f->flags = flags;
	f->read = ops->read && !(flags & (O_WRONLY | O_PATH)) ? ops->read : read_refused;
	f->write = ops->write && !not_for_writing(flags) ? ops->write : write_refused;
	f->pos = 0;
	f->object = object;
	f->node = node;
	return f;
}

void file_get(struct file *f)
{
	__atomic_fetch_add(&f->refs, 1, __ATOMIC_RELAXED);
}

void file_put(struct file *f)
{
	/* Acquire and release: what other holders did to the file comes before its release. */
	if (__atomic_sub_fetch(&f->refs, 1, __ATOMIC_ACQ_REL))
		return;
	if (f->ops->release)
		f->ops->release(f);
	if (f->node)
		node_put(f->node);
	kfree(f, sizeof(*f));
}

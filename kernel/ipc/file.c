// SPDX-License-Identifier: MIT
/*
 * Open files: creation and reference counting. What they do is in their file_ops.
 */
#include "ipc/file.h"
#include "mm/mm.h"

struct file *file_create(const struct file_ops *ops, unsigned flags, void *object,
			 struct node *node)
{
	struct file *f = kmalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->ops = ops;
	f->refs = 1;
	f->flags = flags;
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

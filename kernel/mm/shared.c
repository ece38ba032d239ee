/* SPDX-License-Identifier: MIT
 *
 * Shared anonymous memory (MAP_SHARED | MAP_ANONYMOUS): an object that owns its pages. A page is made when somebody first touches it and
 * stays until the last mapping of the object is gone.
 */
#include "lib/errno.h"
#include "lib/string.h"
#include "mm/mm.h"

#define SLOTS_PER_PAGE (PAGE_SIZE / sizeof(u64))

/* The page directory: one level of pages of slots, so that a large, sparsely used object costs little. */
struct shared_memory {
	struct vm_object object;
	spinlock_t lock; /* LOCK_SHARED: taken in page faults, under mm->lock */
	u64 nr_pages;
	u64 nr_tables;
	u64 *tables; /* under lock: physical address of each page of slots, 0 = none yet */
};

static int shared_page(struct vm_object *o, u64 offset, u64 *phys, bool *device, u64 *valid)
{
	struct shared_memory *s = container_of(o, struct shared_memory, object);
	u64 index = offset / PAGE_SIZE, *slot;
	int err = 0;

	if (index >= s->nr_pages)
		return -EFAULT;
	spin_lock(&s->lock);
	if (!s->tables[index / SLOTS_PER_PAGE])
		s->tables[index / SLOTS_PER_PAGE] = page_alloc_zero();
	if (!s->tables[index / SLOTS_PER_PAGE]) {
		err = -ENOMEM;
		goto out;
	}
	slot = (u64 *)phys_to_virt(s->tables[index / SLOTS_PER_PAGE]) + index % SLOTS_PER_PAGE;
	if (!*slot)
		*slot = page_alloc_zero();
	if (!*slot) {
		err = -ENOMEM;
		goto out;
	}
	page_get(*slot);
	*phys = *slot;
	*device = false;
	*valid = PAGE_SIZE;
out:
	spin_unlock(&s->lock);
	return err;
}

static void shared_release(struct vm_object *o)
{
	struct shared_memory *s = container_of(o, struct shared_memory, object);

	for (u64 i = 0; i < s->nr_tables; i++) {
		u64 *slots;

		if (!s->tables[i])
			continue;
		slots = phys_to_virt(s->tables[i]);
		for (u64 j = 0; j < SLOTS_PER_PAGE; j++)
			if (slots[j])
				page_put(slots[j]);
		page_put(s->tables[i]);
	}
	kfree(s->tables, s->nr_tables * sizeof(u64));
	kfree(s, sizeof(*s));
}

static const struct vm_object_ops shared_ops = {.page = shared_page, .release = shared_release};

struct vm_object *vm_object_anonymous(u64 size)
{
	struct shared_memory *s = kzalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->object = (struct vm_object){.ops = &shared_ops, .refs = 1};
	spin_init(&s->lock, "shared", LOCK_SHARED);
	s->nr_pages = DIV_ROUND_UP(size, PAGE_SIZE);
	s->nr_tables = DIV_ROUND_UP(s->nr_pages, SLOTS_PER_PAGE);
	s->tables = kzalloc(s->nr_tables *
			    sizeof(u64)); /* fails above 1 MiB of table: 256 GiB of memory */
	if (!s->tables) {
		kfree(s, sizeof(*s));
		return NULL;
	}
	return &s->object;
}

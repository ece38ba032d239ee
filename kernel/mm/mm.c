/* SPDX-License-Identifier: MIT
 *
 * Address spaces: making, sharing and destroying them, and reaching into them from outside.
 */
#include "mm/internal.h"

static struct object_cache *mm_cache;
static struct object_cache *vma_cache;
static u64 last_id; /* atomic */

void mm_caches_init(void)
{
	mm_cache = cache_create("mm", sizeof(struct mm));
	vma_cache = cache_create("vma", sizeof(struct vma));
	if (!mm_cache || !vma_cache)
		panic("no memory for the address-space caches");
}

struct vma *vma_alloc(void)
{
	return cache_alloc(vma_cache);
}

/* Context: no lock that the object's release may want: not under mm->lock. */
void vma_free(struct vma *v)
{
	if (v->object)
		vm_object_put(v->object);
	cache_free(vma_cache, v);
}

void vm_object_get(struct vm_object *o)
{
	__atomic_fetch_add(&o->refs, 1, __ATOMIC_RELAXED);
}

void vm_object_put(struct vm_object *o)
{
	if (!__atomic_sub_fetch(&o->refs, 1, __ATOMIC_ACQ_REL))
		o->ops->release(o);
}

struct mm *mm_create(void)
{
	struct mm *mm = cache_zalloc(mm_cache);
	const u64 *kernel = phys_to_virt(kernel_pml4);
	u64 *pml4;

	if (!mm)
		return NULL;
	mm->pml4 = table_alloc();
	if (!mm->pml4) {
		cache_free(mm_cache, mm);
		return NULL;
	}
	pml4 = phys_to_virt(mm->pml4);
	for (unsigned i = 0; i < kernel_upper_nr; i++)
		pml4[kernel_upper[i]] = kernel[kernel_upper[i]];
	spin_init(&mm->lock, "mm", LOCK_MM);
	list_init(&mm->vmas);
	mm->users = 1;
	mm->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
	return mm;
}

void mm_get(struct mm *mm)
{
	__atomic_fetch_add(&mm->users, 1, __ATOMIC_RELAXED);
}

void mm_put(struct mm *mm)
{
	struct vma *v, *tmp;
	struct gather g;

	if (__atomic_sub_fetch(&mm->users, 1, __ATOMIC_SEQ_CST))
		return;
	mm_evict(mm);
	/* Nobody knows the mm any more: no lock, nothing to flush. */
	gather_init(&g, mm, true);
	list_for_each_safe (v, tmp, &mm->vmas, link) {
		gather_range(&g, v->start, v->end);
		vma_free(v);
	}
	gather_flush(&g);
	tables_destroy(mm);
	cache_free(mm_cache, mm);
}

/* The entry of @addr, present and if @write writable; faulted in if need be. Context: mm->lock is taken inside and held on success. */
static int lock_page(struct mm *mm, u64 addr, bool write, pte_t **out)
{
	for (;;) {
		pte_t *pte;
		int ret;

		spin_lock(&mm->lock);
		pte = table_pte(mm, addr, false);
		if (pte && *pte & PTE_P && (!write || *pte & PTE_W)) {
			*out = pte;
			return 0;
		}
		spin_unlock(&mm->lock);
		ret = mm_handle_fault(mm, addr, write, false);
		if (ret)
			return ret;
	}
}

int mm_write(struct mm *mm, u64 addr, const void *src, size_t n)
{
	const char *from = src;

	if (!user_range_ok((const void *)addr, n))
		return -EFAULT;
	while (n) {
		size_t part = min((size_t)(PAGE_SIZE - (addr & ~PAGE_MASK)), n);
		pte_t *pte;
		int ret = lock_page(mm, addr, true, &pte);

		if (ret)
			return ret == -EACCES ? -EFAULT : ret;
		memcpy((char *)phys_to_virt(*pte & PTE_ADDR) + (addr & ~PAGE_MASK), from, part);
		spin_unlock(&mm->lock);
		addr += part;
		from += part;
		n -= part;
	}
	return 0;
}

size_t mm_read(struct mm *mm, u64 addr, void *dst, size_t n)
{
	size_t done = 0;

	if (!user_range_ok((const void *)addr, n))
		return 0;
	spin_lock(&mm->lock);
	while (done < n) {
		u64 a = addr + done;
		size_t part = min((size_t)(PAGE_SIZE - (a & ~PAGE_MASK)), n - done);
		pte_t *pte = table_pte(mm, a, false);

		if (!pte || !(*pte & PTE_P))
			break;
		memcpy((char *)dst + done, (char *)phys_to_virt(*pte & PTE_ADDR) + (a & ~PAGE_MASK),
		       part);
		done += part;
	}
	spin_unlock(&mm->lock);
	return done;
}

int mm_translate(struct mm *mm, u64 addr, bool write, u64 *phys)
{
	pte_t *pte;
	int ret;

	if (addr >= USER_END)
		return -EFAULT;
	ret = lock_page(mm, addr, write, &pte);
	if (ret)
		return ret;
	*phys = (*pte & PTE_ADDR) | (addr & ~PAGE_MASK);
	spin_unlock(&mm->lock);
	return 0;
}

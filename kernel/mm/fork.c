/* SPDX-License-Identifier: MIT
 *
 * Copying an address space for fork: both sides keep the frames, read-only, until one of them writes (copy on write).
 *
 * The cost is what is present, not what is mapped: per page one entry read, one reference, one entry written.
 */
#include "mm/internal.h"

/*
 * Copy the entries of one vma. Context: from->lock; nobody else knows @to.
 * Return: 0, -ENOMEM; *@changed is set if an entry of @from lost its write permission.
 */
static int copy_entries(struct mm *to, struct mm *from, const struct vma *v, bool *changed)
{
	bool shared = v->flags & VM_SHARED;
	u64 next;

	for (u64 addr = v->start; addr < v->end; addr = next) {
		pte_t *src = table_find(from, addr, &next), *dst, *pte, *stop;
		unsigned copied = 0;

		if (!src)
			continue;
		next = min(v->end, next);
		dst = NULL;
		stop = src + ((next - 1) >> PAGE_SHIFT & 511) + 1;
		pte = src + (addr >> PAGE_SHIFT & 511);
		for (pte = pte_next(pte, stop); pte < stop; pte = pte_next(pte + 1, stop)) {
			pte_t e = *pte;

			if (unlikely(!dst)) {
				dst = table_pte(to, addr, true);
				if (!dst)
					return -ENOMEM;
				dst = (pte_t *)((u64)dst & PAGE_MASK);
			}
			if (!(e & PTE_DEV))
				page_get(e & PTE_ADDR);
			/*
			 * Also an entry that is not writable now (mprotect, PROT_NONE) may become so: the frame is shared from
			 * here on. Exchanged, so that no accessed or dirty bit a CPU sets meanwhile is mixed in.
			 */
			if (!shared && !(e & PTE_COW)) {
				if (e & PTE_W)
					*changed = true;
				e = (e & ~PTE_W) | PTE_COW;
				__atomic_exchange_n(pte, e, __ATOMIC_RELAXED);
			}
			dst[pte - src] = e;
			copied++;
		}
		if (copied) {
			table_page(dst)->entries += (u16)copied;
			to->nr_pages += copied;
		}
	}
	return 0;
}

struct mm *mm_fork(struct mm *from)
{
	struct mm *to = mm_create();
	bool changed = false;
	int ret = 0;
	struct vma *v;

	if (!to)
		return NULL;
	spin_lock(&from->lock);
	list_for_each (v, &from->vmas, link) {
		struct vma *copy = vma_alloc();

		if (!copy) {
			ret = -ENOMEM;
			break;
		}
		*copy = *v;
		if (copy->object)
			vm_object_get(copy->object);
		list_add_tail(&copy->link, &to->vmas);
		to->nr_vmas++;
		ret = copy_entries(to, from, v, &changed);
		if (ret)
			break;
	}
	to->brk_start = from->brk_start;
	to->brk = from->brk;
	to->arg_start = from->arg_start;
	to->arg_end = from->arg_end;
	/* Other threads of the parent may still write through old translations: not after this. */
	if (changed)
		flush_all(from);
	spin_unlock(&from->lock);
	if (ret) {
		mm_put(to);
		return NULL;
	}
	return to;
}

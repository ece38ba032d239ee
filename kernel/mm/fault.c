/* SPDX-License-Identifier: MIT
 *
 * Page faults: memory on demand, copy on write, growing stacks, pages of files.
 */
#include "arch/smp.h"
#include "mm/internal.h"

#define AROUND 16u /* archive pages mapped at one fault: an aligned window of this many */

/* The vma that holds @addr; a stack grows if it may. Context: mm->lock. Return: NULL if nothing is mapped there. */
static struct vma *vma_for(struct mm *mm, u64 addr)
{
	struct vma *v = mm->last, *prev;

	if (likely(v && addr >= v->start && addr < v->end))
		return v;
	v = vma_find(mm, addr);
	if (!v)
		return NULL;
	if (addr < v->start) {
		if (!(v->flags & VM_GROWSDOWN) || addr < v->limit)
			return NULL;
		prev = v->link.prev != &mm->vmas ? list_entry(v->link.prev, struct vma, link)
						 : NULL;
		/* Keep away from what is mapped below, unless that is itself only a guard. */
		if (prev && prev->flags & (VM_READ | VM_WRITE | VM_EXEC) &&
		    prev->end + STACK_GAP > addr)
			return NULL;
		v->start = addr;
	}
	mm->last = v;
	return v;
}

static int fault_anonymous(struct mm *mm, const struct vma *v, pte_t *pte)
{
	u64 phys = page_alloc_zero();

	if (!phys)
		return -ENOMEM;
	pte_install(mm, pte, phys | pte_bits(v->flags) | (v->flags & VM_WRITE ? PTE_W | PTE_D : 0));
	return 0;
}

/* Map the neighbours of @addr that need no memory: whole archive pages. Context: mm->lock; @pte is the entry of @addr. */
static void fault_around(struct mm *mm, const struct vma *v, u64 addr, pte_t *pte)
{
	u64 first = max(ALIGN_DOWN(addr, AROUND * PAGE_SIZE), v->start);
	u64 end = min(ALIGN_DOWN(addr, AROUND * PAGE_SIZE) + AROUND * PAGE_SIZE, v->end);

	pte -= (addr - first) >> PAGE_SHIFT; /* the window lies within one table */
	for (u64 a = first; a < end; a += PAGE_SIZE, pte++) {
		u64 phys, valid;
		bool device;

		if (*pte)
			continue;
		if (v->object->ops->page(v->object, v->offset + (a - v->start), &phys, &device,
					 &valid))
			break;
		if (!device) {
			page_put(phys);
			break;
		}
		if (valid < PAGE_SIZE)
			break;
		pte_install(mm, pte, phys | pte_bits(v->flags) | PTE_DEV | PTE_COW);
	}
}

static int fault_object(struct mm *mm, const struct vma *v, u64 addr, pte_t *pte, bool write)
{
	bool device, shared = v->flags & VM_SHARED;
	u64 phys, valid, copy;
	int ret;

	ret = v->object->ops->page(v->object, v->offset + (addr - v->start), &phys, &device,
				   &valid);
	if (ret)
		return ret;
	if (valid < PAGE_SIZE || (write && !shared)) {
		char *to;

		copy = page_alloc(0);
		if (copy) {
			to = phys_to_virt(copy);
			if (valid >= PAGE_SIZE) {
				copy_page(to, phys_to_virt(phys));
			} else {
				memcpy(to, phys_to_virt(phys), valid);
				memset(to + valid, 0, PAGE_SIZE - valid);
			}
		}
		if (!device)
			page_put(phys);
		if (!copy)
			return -ENOMEM;
		pte_install(mm, pte,
			    copy | pte_bits(v->flags) | (v->flags & VM_WRITE ? PTE_W | PTE_D : 0));
		return 0;
	}
	phys |= pte_bits(v->flags) | (device ? PTE_DEV : 0);
	if (!shared)
		phys |= PTE_COW;
	else if (v->flags & VM_WRITE)
		phys |= PTE_W | PTE_D;
	pte_install(mm, pte, phys);
	if (device && !shared)
		fault_around(mm, v, addr, pte);
	return 0;
}

/* A write to a shared frame. Context: mm->lock. */
static int break_cow(struct mm *mm, const struct vma *v, u64 addr, pte_t *pte)
{
	pte_t e = *pte;
	u64 old = e & PTE_ADDR, copy;

	/*
	 * Ours alone: the other sides have gone or copied. Nobody can add a reference, as that takes a reference or this lock. More
	 * permission needs no shootdown: a CPU that remembers less faults once more.
	 */
	if (!(e & PTE_DEV) && page_refs(old) == 1) {
		__atomic_exchange_n(pte, (e & ~PTE_COW) | PTE_W | PTE_D, __ATOMIC_RELAXED);
		if (this_cpu()->mm == mm)
			invlpg(addr);
		return 0;
	}
	copy = page_alloc(0);
	if (!copy)
		return -ENOMEM;
	copy_page(phys_to_virt(copy), phys_to_virt(old));
	__atomic_exchange_n(pte, copy | pte_bits(v->flags) | PTE_W | PTE_D, __ATOMIC_RELAXED);
	/* Other threads must not go on reading the old frame once our write is done, nor may it be freed under them. */
	flush_page(mm, addr);
	if (!(e & PTE_DEV))
		page_put(old);
	return 0;
}

static int fault_locked(struct mm *mm, u64 addr, bool write, bool exec)
{
	struct vma *v = vma_for(mm, addr);
	pte_t *pte, e;

	if (unlikely(!v))
		return -EFAULT;
	if (unlikely(!(v->flags & (write  ? VM_WRITE
				   : exec ? VM_EXEC
					  : VM_READ | VM_WRITE | VM_EXEC))))
		return -EACCES;
	pte = table_pte(mm, addr, true);
	if (unlikely(!pte))
		return -ENOMEM;
	e = *pte;
	if (!e)
		return v->object ? fault_object(mm, v, addr, pte, write)
				 : fault_anonymous(mm, v, pte);
	KASSERT(e & PTE_P); /* PTE_KEPT only where no access is allowed */
	if (write && !(e & PTE_W)) {
		KASSERT(e & PTE_COW);
		return break_cow(mm, v, addr, pte);
	}
	/* Another thread was faster. */
	return 0;
}

int mm_handle_fault(struct mm *mm, u64 addr, bool write, bool exec)
{
	int ret;

	if (addr < USER_MIN || addr >= USER_END)
		return -EFAULT;
	spin_lock(&mm->lock);
	ret = fault_locked(mm, addr & PAGE_MASK, write, exec);
	spin_unlock(&mm->lock);
	return ret;
}

int mm_fault(u64 addr, bool write, bool exec, bool user)
{
	struct mm *mm;

	/* A user access by the kernel under a spin lock or in an interrupt must not wait for mm->lock. */
	if (!user && (preempt_count() || in_interrupt()))
		return -EFAULT;
	mm = current_mm();
	if (!mm)
		return -EFAULT;
	return mm_handle_fault(mm, addr, write, exec);
}

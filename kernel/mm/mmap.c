/* SPDX-License-Identifier: MIT
 *
 * Mappings: the sorted list of vmas of an address space, and mmap, munmap, mprotect and brk on it.
 *
 * Every operation allocates what it may need before it changes anything, so running out of memory changes nothing. vmas that
 * go away are collected and released after mm->lock is dropped, since an object's release may take any lock.
 */
#include "mm/internal.h"

#define STACK_MAX  (8ull << 20) /* how far a stack grows if nothing else was said */
#define MAP_LOWEST 0x10000ull	/* mm_find_free() leaves the first 64 KiB alone */

/* What an operation prepared and what it leaves to be cleaned up. */
struct change {
	struct vma *spare[2]; /* for splits; NULL once used */
	struct list dead;     /* vmas to free after unlocking */
};

static void change_begin(struct change *ch)
{
	list_init(&ch->dead);
	ch->spare[0] = ch->spare[1] = NULL;
}

/*
 * Have @n vmas ready for splits. Context: mm->lock. Return: whether there was memory and @mm may have so many more; change_end()
 * frees what is left in any case.
 */
static bool change_reserve(struct mm *mm, struct change *ch, unsigned n)
{
	if (mm->nr_vmas + n > MAX_MAPPINGS)
		return false;
	while (n--) {
		ch->spare[n] = vma_alloc();
		if (!ch->spare[n])
			return false;
	}
	return true;
}

/* Context: mm->lock dropped. */
static void change_end(struct change *ch)
{
	struct vma *v, *tmp;

	for (unsigned i = 0; i < 2; i++) {
		if (ch->spare[i]) {
			ch->spare[i]->object = NULL;
			vma_free(ch->spare[i]);
		}
	}
	list_for_each_safe (v, tmp, &ch->dead, link)
		vma_free(v);
}

static struct vma *spare_get(struct change *ch)
{
	unsigned i = ch->spare[0] ? 0 : 1;
	struct vma *v = ch->spare[i];

	ch->spare[i] = NULL;
	return v;
}

static struct vma *vma_next(struct mm *mm, struct vma *v)
{
	return v->link.next != &mm->vmas ? list_entry(v->link.next, struct vma, link) : NULL;
}

static struct vma *vma_prev(struct mm *mm, struct vma *v)
{
	return v->link.prev != &mm->vmas ? list_entry(v->link.prev, struct vma, link) : NULL;
}

struct vma *vma_find(struct mm *mm, u64 addr)
{
	struct vma *v;

	/* Most questions are about where the last one was. */
	if (mm->last && addr >= mm->last->start && addr < mm->last->end)
		return mm->last;
	list_for_each (v, &mm->vmas, link)
		if (addr < v->end)
			return v;
	return NULL;
}

static bool range_bad(u64 start, u64 len)
{
	return ((start | len) & ~PAGE_MASK) || !len || start < USER_MIN || len > USER_END ||
	       start > USER_END - len;
}

/* Cut @v at @at: @v keeps the lower part. A stack's upper part is no stack any more: nothing below it is free to grow into. */
static void vma_split(struct mm *mm, struct change *ch, struct vma *v, u64 at)
{
	struct vma *upper = spare_get(ch);

	*upper = *v;
	upper->start = at;
	upper->offset += at - v->start;
	upper->flags &= ~VM_GROWSDOWN;
	if (upper->object)
		vm_object_get(upper->object);
	v->end = at;
	list_add(&upper->link, &v->link);
	mm->nr_vmas++;
}

/* Join @upper into @lower if they are one mapping in all but name. */
static bool vma_merge(struct mm *mm, struct change *ch, struct vma *lower, struct vma *upper)
{
	if (!lower || !upper || lower->end != upper->start || lower->flags != upper->flags ||
	    lower->flags & VM_GROWSDOWN || lower->object != upper->object ||
	    (lower->object && lower->offset + (lower->end - lower->start) != upper->offset))
		return false;
	lower->end = upper->end;
	if (mm->last == upper)
		mm->last = lower;
	list_del(&upper->link);
	mm->nr_vmas--;
	list_add(&upper->link, &ch->dead);
	return true;
}

/* Have ready what remove_range() will need: a vma, if the range lies inside one. Context: mm->lock. Return: as change_reserve(). */
static bool remove_reserve(struct mm *mm, struct change *ch, u64 start, u64 end)
{
	struct vma *v = vma_find(mm, start);

	return !v || v->start >= start || v->end <= end || change_reserve(mm, ch, 1);
}

/* Unmap [@start, @end). Context: mm->lock; after remove_reserve(). */
static void remove_range(struct mm *mm, struct change *ch, u64 start, u64 end)
{
	struct vma *v = vma_find(mm, start), *next;
	struct gather g;

	gather_init(&g, mm, false);
	for (; v && v->start < end; v = next) {
		u64 from = max(v->start, start), to = min(v->end, end);

		next = vma_next(mm, v);
		if (v->start < from && v->end > to)
			vma_split(mm, ch, v, to);
		if (v->start < from) {
			v->end = from;
		} else if (v->end > to) {
			v->offset += to - v->start;
			v->start = to;
		} else {
			if (mm->last == v)
				mm->last = NULL;
			list_del(&v->link);
			list_add(&v->link, &ch->dead);
			mm->nr_vmas--;
		}
		gather_range(&g, from, to);
	}
	gather_flush(&g);
}

/* Does a mapping or the way of a growing stack lie in [@start, @end)? Context: mm->lock. */
static bool range_used(struct mm *mm, u64 start, u64 end)
{
	struct vma *v;

	list_for_each (v, &mm->vmas, link) {
		u64 low = v->flags & VM_GROWSDOWN ? min(v->start, v->limit) - STACK_GAP : v->start;

		if (start < v->end)
			return end > low;
	}
	return false;
}

/* Link @v, whose place is free, and join it with its neighbours. Context: mm->lock. */
static void vma_insert(struct mm *mm, struct change *ch, struct vma *v)
{
	struct vma *above = vma_find(mm, v->start);

	list_add_tail(&v->link, above ? &above->link : &mm->vmas);
	mm->nr_vmas++;
	vma_merge(mm, ch, v, vma_next(mm, v));
	vma_merge(mm, ch, vma_prev(mm, v), v);
}

static u64 find_free(struct mm *mm, u64 hint, u64 len);

enum place {
	PLACE_FIXED, /* there, whatever is mapped now */
	PLACE_FREE,  /* there if that is free, else anywhere */
	PLACE_EXACT, /* there if that is free */
};

/* mm_map() and mm_map_free(). *@addr: where; then the place found. Finding it and taking it are one step for other threads. */
static int map(struct mm *mm, u64 *addr, enum place place, u64 len, u32 flags,
	       struct vm_object *object, u64 offset)
{
	struct change ch;
	struct vma *v;
	u64 start = *addr;
	int ret = 0;

	if (place == PLACE_FREE ? !len || len & ~PAGE_MASK || flags & VM_GROWSDOWN
				: range_bad(start, len))
		return -EINVAL;
	if (flags & VM_GROWSDOWN && (object || offset > start))
		return -EINVAL;
	if (flags & VM_WRITE && flags & VM_EXEC)
		return -EACCES;
	if (object)
		vm_object_get(object);
	else if (flags & VM_SHARED && !(object = vm_object_anonymous(len)))
		return -ENOMEM;
	v = vma_alloc();
	if (!v) {
		if (object)
			vm_object_put(object);
		return -ENOMEM;
	}
	v->flags = flags;
	v->object = object;
	v->offset = object ? offset : 0;

	change_begin(&ch);
	spin_lock(&mm->lock);
	if (mm->nr_vmas >= MAX_MAPPINGS) {
		ret = -ENOMEM;
	} else if (place == PLACE_FREE) {
		start = find_free(mm, start, len);
		ret = start ? 0 : -ENOMEM;
	} else if (place == PLACE_EXACT) {
		ret = range_used(mm, start, start + len) ? -EEXIST : 0;
	} else if (unlikely(!remove_reserve(mm, &ch, start, start + len))) {
		ret = -ENOMEM;
	}
	if (ret) {
		list_add(&v->link, &ch.dead);
		goto out;
	}
	v->start = start;
	v->end = start + len;
	v->limit = start;
	if (flags & VM_GROWSDOWN)
		v->limit = offset ? offset & PAGE_MASK
				  : min(start, max(v->end, STACK_MAX + MAP_LOWEST) - STACK_MAX);
	if (place == PLACE_FIXED)
		remove_range(mm, &ch, start, start + len);
	vma_insert(mm, &ch, v);
	*addr = start;
out:
	spin_unlock(&mm->lock);
	change_end(&ch);
	return ret;
}

int mm_map(struct mm *mm, u64 start, u64 len, u32 flags, struct vm_object *object, u64 offset)
{
	return map(mm, &start, PLACE_FIXED, len, flags, object, offset);
}

int mm_map_free(struct mm *mm, u64 *addr, bool exact, u64 len, u32 flags, struct vm_object *object,
		u64 offset)
{
	return map(mm, addr, exact ? PLACE_EXACT : PLACE_FREE, len, flags, object, offset);
}

int mm_unmap(struct mm *mm, u64 start, u64 len)
{
	struct change ch;
	int ret = 0;

	if (range_bad(start, len))
		return -EINVAL;
	change_begin(&ch);
	spin_lock(&mm->lock);
	if (likely(remove_reserve(mm, &ch, start, start + len)))
		remove_range(mm, &ch, start, start + len);
	else
		ret = -ENOMEM;
	spin_unlock(&mm->lock);
	change_end(&ch);
	return ret;
}

/*
 * Is all of [@start, @end) mapped, and may it be given VM_* @flags? *@splits = the vmas it lies in only partly.
 * Context: mm->lock. Return: 0, -ENOMEM, -EACCES.
 */
static int range_check(struct mm *mm, u64 start, u64 end, u32 flags, unsigned *splits)
{
	struct vma *v = vma_find(mm, start);

	*splits = v && v->start < start;
	for (; v && v->start <= start; v = vma_next(mm, v)) {
		if (flags & VM_WRITE && v->flags & VM_NOWRITE)
			return -EACCES;
		start = v->end;
		if (start >= end) {
			*splits += start > end;
			return 0;
		}
	}
	return -ENOMEM;
}

int mm_discard(struct mm *mm, u64 start, u64 len)
{
	unsigned splits;
	int ret;

	if (range_bad(start, len))
		return -EINVAL;
	spin_lock(&mm->lock);
	ret = range_check(mm, start, start + len, 0, &splits);
	if (!ret) {
		struct gather g;

		gather_init(&g, mm, false);
		gather_range(&g, start, start + len);
		gather_flush(&g);
	}
	spin_unlock(&mm->lock);
	return ret;
}

/* Give the present entries of [@start, @end) the permissions of @flags. Return: whether any may do less than before. */
static bool protect_entries(struct mm *mm, u64 start, u64 end, u32 flags)
{
	bool less = false;
	u64 next;

	for (u64 addr = start; addr < end; addr = next) {
		pte_t *table = table_find(mm, addr, &next), *pte, *stop;

		if (!table)
			continue;
		next = min(end, next);
		stop = table + ((next - 1) >> PAGE_SHIFT & 511) + 1;
		pte = table + (addr >> PAGE_SHIFT & 511);
		for (pte = pte_next(pte, stop); pte < stop; pte = pte_next(pte + 1, stop)) {
			pte_t old = *pte, e;

			e = (old & (PTE_ADDR | PTE_COW | PTE_DEV)) | pte_bits(flags);
			if (flags & VM_WRITE && !(e & PTE_COW))
				e |= PTE_W | PTE_D;
			__atomic_exchange_n(pte, e, __ATOMIC_RELAXED);
			less |= (old & ~e & (PTE_P | PTE_W)) || (e & ~old & PTE_NX);
		}
	}
	return less;
}

int mm_protect(struct mm *mm, u64 start, u64 len, u32 flags)
{
	const u32 access = VM_READ | VM_WRITE | VM_EXEC;
	u64 end = start + len;
	bool less = false;
	unsigned splits;
	struct change ch;
	struct vma *v;
	int ret;

	if (range_bad(start, len))
		return -EINVAL;
	if (flags & VM_WRITE && flags & VM_EXEC)
		return -EACCES;
	flags &= access;
	change_begin(&ch);
	spin_lock(&mm->lock);
	ret = range_check(mm, start, end, flags, &splits);
	if (!ret && splits && !change_reserve(mm, &ch, splits))
		ret = -ENOMEM;
	if (ret)
		goto out;
	v = vma_find(mm, start);
	for (; v && v->start < end; v = vma_next(mm, v)) {
		if ((v->flags & access) == flags)
			continue;
		if (v->start < start) {
			vma_split(mm, &ch, v, start);
			continue; /* with the upper part */
		}
		if (v->end > end)
			vma_split(mm, &ch, v, end);
		v->flags = (v->flags & ~access) | flags;
		less |= protect_entries(mm, v->start, v->end, flags);
	}
	/* Join what has become equal, from the vma below the range to the one above it. */
	v = vma_find(mm, start);
	if (v && vma_prev(mm, v))
		v = vma_prev(mm, v);
	while (v && v->start <= end)
		if (!vma_merge(mm, &ch, v, vma_next(mm, v)))
			v = vma_next(mm, v);
	if (less)
		flush_all(mm);
out:
	spin_unlock(&mm->lock);
	change_end(&ch);
	return ret;
}

/* mm_find_free() with mm->lock held and whole pages. */
static u64 find_free(struct mm *mm, u64 hint, u64 len)
{
	u64 top = USER_END, found = 0;
	struct vma *v;

	if (len > USER_END - MAP_LOWEST)
		return 0;
	hint &= PAGE_MASK;
	if (hint >= MAP_LOWEST && hint <= USER_END - len && !range_used(mm, hint, hint + len))
		return hint;
	for (struct list *l = mm->vmas.prev; l != &mm->vmas; l = l->prev) {
		u64 low;

		v = list_entry(l, struct vma, link);
		if (top >= v->end && top - v->end >= len)
			break;
		low = v->flags & VM_GROWSDOWN ? min(v->start, v->limit) - STACK_GAP : v->start;
		top = min(top, low);
		if (top < MAP_LOWEST + len)
			break;
	}
	if (top >= MAP_LOWEST + len)
		found = top - len;
	/* The walk also ends when it runs out of address space; look once more before believing it. */
	if (found && range_used(mm, found, found + len))
		found = 0;
	return found;
}

u64 mm_find_free(struct mm *mm, u64 hint, u64 len)
{
	u64 found;

	len = ALIGN_UP(len, PAGE_SIZE);
	if (!len)
		return 0;
	spin_lock(&mm->lock);
	found = find_free(mm, hint, len);
	spin_unlock(&mm->lock);
	return found;
}

u64 mm_brk(struct mm *mm, u64 brk)
{
	struct change ch;
	struct vma *v;
	u64 old, from, to;

	change_begin(&ch);
	spin_lock(&mm->lock);
	old = mm->brk;
	if (brk < mm->brk_start || brk > USER_END - PAGE_SIZE)
		goto out;
	from = ALIGN_UP(old, PAGE_SIZE);
	to = ALIGN_UP(brk, PAGE_SIZE);
	if (to < from) {
		if (!remove_reserve(mm, &ch, to, from))
			goto out;
		remove_range(mm, &ch, to, from);
	} else if (to > from) {
		if (range_used(mm, from, to) || mm->nr_vmas >= MAX_MAPPINGS)
			goto out;
		v = vma_alloc();
		if (!v)
			goto out;
		*v = (struct vma){.start = from,
				  .end = to,
				  .limit = from,
				  .flags = VM_READ | VM_WRITE | VM_HEAP};
		vma_insert(mm, &ch, v);
	}
	mm->brk = old = brk;
out:
	spin_unlock(&mm->lock);
	change_end(&ch);
	return old;
}

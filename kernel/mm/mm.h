/* SPDX-License-Identifier: MIT
 *
 * Memory: physical pages, object caches, kernel stacks, address spaces, user copy.
 */
#ifndef MM_MM_H
#define MM_MM_H

#include <arch/mmu.h>
#include <arch/spinlock.h>

#include "lib/bitmap.h"
#include "lib/list.h"
#include "mm/buddy.h"

/* ---- physical pages (page.c on buddy.h): buddy allocator, per-CPU caches for single pages ---- */

/**
 * mem_init() - take over the memory map: build the direct map and the kernel's final page tables (W^X image), the page array, free lists.
 * Reserves the kernel image, modules, the first MiB. Context: boot CPU, after boot_parse(); @limit: bytes (mem=), 0 = all.
 */
void mem_init(u64 limit);

/** page_alloc() - 2^@order contiguous pages, not cleared. Return: physical address, 0 if there is none. Context: any but NMI. */
u64 page_alloc(unsigned order);
/** page_alloc_zero() - one cleared page. Return: physical address or 0. */
u64 page_alloc_zero(void);
/** page_free() - free a block from page_alloc(@order) whose reference count is 1. */
void page_free(u64 phys, unsigned order);
/** page_of() - the struct page of the frame at @phys, which must be RAM that mem_init() manages. */
static inline struct page *page_of(u64 phys)
{
	return page_array + (phys >> PAGE_SHIFT);
}
/** page_get() / page_put() - reference a single page; the last put frees it. Context: any but NMI; the caller holds a reference. */
static inline void page_get(u64 phys)
{
	__atomic_fetch_add(&page_of(phys)->refs, 1, __ATOMIC_RELAXED);
}
void page_put(u64 phys);
/** page_put_many() - page_put() for @n pages at the price of one. */
void page_put_many(const u64 *phys, unsigned n);
/** page_refs() - current reference count (a hint unless the caller holds the only reference). */
static inline u32 page_refs(u64 phys)
{
	return __atomic_load_n(&page_of(phys)->refs, __ATOMIC_ACQUIRE);
}
/**
 * page_alloc_fail_after() - fault injection for self-tests: from the current task's (@n+1)th allocation on (pages, objects, stacks)
 * all of them fail, until @n < 0 turns it off. Other tasks and interrupts are not affected.
 */
void page_alloc_fail_after(s64 n);

/** low_page() - a free page below 1 MiB (>= 0x1000, < 0xa0000) usable for the AP trampoline, chosen in mem_init(). 0 if none. */
u64 low_page(void);

struct mem_stats {
	u64 total_pages, free_pages; /* free includes all caches: what could be allocated */
	u64 slab_objects;	     /* objects handed out by all caches */
};
/** mem_stats() - exact while nobody else allocates. Empties the object caches' free objects first: not for fast paths. Context: task. */
void mem_stats(struct mem_stats *st);

/* ---- object caches (slab.c) ---- */

struct object_cache;
/**
 * cache_create() - objects of @size bytes (8 .. 3072), 16-aligned (64 if @size >= 64 and a multiple of 64).
 * Context: task or start-up. Return: NULL if out of memory.
 */
struct object_cache *cache_create(const char *name, size_t size);
/** cache_alloc() - one object, contents undefined. Return: NULL if out of memory. Context: any but NMI. */
void *cache_alloc(struct object_cache *c);
void *cache_zalloc(struct object_cache *c);
void cache_free(struct object_cache *c, void *obj);

/** kmalloc() - 1 .. 1 MiB bytes from general caches or whole pages; kzalloc() clears. Return: NULL if out of memory. */
void *kmalloc(size_t size);
void *kzalloc(size_t size);
/** kfree() - @size as allocated; NULL is allowed. */
void kfree(void *p, size_t size);

/* ---- kernel stacks (stack.c) ---- */

#define KSTACK_SIZE 16384ull
/** kstack_alloc() - a stack with an unmapped page below. Return: its top, 0 if out of memory. Recycled stacks stay mapped. */
u64 kstack_alloc(void);
void kstack_free(u64 top);
/** kstack_guard_hit() - Return: whether @addr lies in a guard page of the stack area (for the double-fault report). */
bool kstack_guard_hit(u64 addr);
/** mmio_map() - map device registers uncached for good. Context: start-up. Return: NULL if out of memory. */
void *mmio_map(u64 phys, size_t size);

/* ---- address spaces (mm.c, fault.c, mmap.c) ---- */

#define VM_READ	     1u
#define VM_WRITE     2u
#define VM_EXEC	     4u
#define VM_SHARED    8u
#define VM_GROWSDOWN 16u /* a stack: grows to vma.limit */
#define VM_HEAP	     32u
#define VM_NOWRITE \
	64u /* mm_protect() may never make it writable: a shared mapping of something read-only */
#define STACK_GAP \
	(256 * PAGE_SIZE) /* kept free below a stack, so that running over its end hits nothing */

/**
 * struct vm_object - what backs a mapping other than anonymous memory: a file of the boot archive, a device, shared memory.
 */
struct vm_object {
	const struct vm_object_ops *ops;
	u32 refs; /* atomic */
};
struct vm_object_ops {
	/**
	 * @page: the page at byte @offset (page-aligned). *@phys = its frame; *@device = true if the frame has no struct page
	 * (archive page, VGA memory): it is mapped as is and never referenced. Otherwise the callee took a reference for the caller.
	 * *@valid = bytes of real content (the rest of the page reads as 0; then the fault handler copies). Return: 0, -EFAULT beyond the end, -ENOMEM.
	 */
	int (*page)(struct vm_object *o, u64 offset, u64 *phys, bool *device, u64 *valid);
	void (*release)(struct vm_object *o); /* last reference gone */
};
void vm_object_get(struct vm_object *o);
void vm_object_put(struct vm_object *o);

/** vm_object_anonymous() - shared zero-filled memory of @size bytes, pages made on first touch. refs = 1. Return: NULL if out of memory. */
struct vm_object *vm_object_anonymous(u64 size);

struct vma {
	struct list link;	  /* mm->vmas, ascending, under mm->lock */
	u64 start, end;		  /* page-aligned, [start, end) */
	u64 limit;		  /* VM_GROWSDOWN: lowest start */
	u32 flags;		  /* VM_* */
	struct vm_object *object; /* NULL: anonymous */
	u64 offset;		  /* of start in object */
};

/* Mappings of one address space, beyond which it is ENOMEM (Linux: vm.max_map_count, 65530). */
#define MAX_MAPPINGS 16384

struct mm {
	u64 pml4; /* physical, constant */
	struct cpumask
		cpus; /* CPUs whose CR3 may point here; bits set/cleared atomically by the CPU itself with interrupts off */
	spinlock_t
		lock; /* page tables of the user half, vmas, brk (LOCK_MM; held with interrupts on, preemption off) */
	struct list vmas; /* struct vma, ascending, under lock */
	struct vma *last; /* vma of the last fault, or NULL */
	u32 nr_vmas; /* under lock, at most MAX_MAPPINGS: the list is walked with preemption off */
	u32 users;   /* atomic: processes that run in it */
	u64 brk_start, brk;
	u64 id;			/* for policies and traces; never reused */
	u64 nr_pages;		/* resident user pages, under lock */
	u64 arg_start, arg_end; /* argument strings (for /proc/PID/cmdline), constant after exec */
};

extern u64 kernel_pml4; /* physical; constant after mem_init() */

/** mm_create() - an empty address space (users = 1). Return: NULL if out of memory. */
struct mm *mm_create(void);
/** mm_fork() - copy @from copy-on-write (shared mappings stay shared). Return: NULL if out of memory; @from is unharmed. */
struct mm *mm_fork(struct mm *from);
void mm_get(struct mm *mm);
/** mm_put() - the last put frees all; CPUs that still have it loaded lazily (this one too) leave it first. Context: task, no locks. */
void mm_put(struct mm *mm);
/**
 * mm_switch() - load @mm (NULL: keep what is loaded, lazily, for a kernel task). Called from the context switch, interrupts off.
 * Outside the context switch (exec) current_mm() must return @mm already: a shootdown that finds a kernel task in a user address
 * space takes it out of there. Also reloads CR3 if @mm is not what is loaded; cheap if it is.
 */
void mm_switch(struct mm *mm);
/** mm_leave() - make this CPU run on the kernel's own tables (before a final mm_put). Context: any; disables interrupts inside. */
void mm_leave(void);

/**
 * mm_map() - map [@start, @start+@len) (page-aligned) of @object (a reference is taken) or anonymous memory; existing mappings there are replaced.
 * VM_SHARED without @object: memory shared with later forks. VM_GROWSDOWN: anonymous; @offset is the lowest address it may grow to,
 * 0: 8 MiB below its end.
 * Context: task, no spin lock. Any mm the caller owns or runs in.
 * Return: 0; -EINVAL if not page-aligned, empty or outside user space; -EACCES for both VM_WRITE and VM_EXEC; -ENOMEM (nothing changed).
 */
int mm_map(struct mm *mm, u64 start, u64 len, u32 flags, struct vm_object *object, u64 offset);
/** mm_unmap() - unmap what is mapped in [@start, @start+@len). Return: 0; -EINVAL as mm_map(); -ENOMEM (nothing changed). */
int mm_unmap(struct mm *mm, u64 start, u64 len);
/**
 * mm_protect() - new VM_READ, VM_WRITE, VM_EXEC of [@start, @start+@len). Return: 0; -EINVAL; -ENOMEM if a part is not mapped;
 * -EACCES for writable and executable, or writable where VM_NOWRITE is set. On error nothing changed.
 */
int mm_protect(struct mm *mm, u64 start, u64 len, u32 flags);
/** mm_discard() - forget the private contents of a mapped range (MADV_DONTNEED). Return: 0, -ENOMEM if a part is not mapped. */
int mm_discard(struct mm *mm, u64 start, u64 len);
/** mm_find_free() - lowest-fit below the stack: top-down search for @len bytes; tries @hint first if it is free. Return: 0 if there is none. */
u64 mm_find_free(struct mm *mm, u64 hint, u64 len);
/**
 * mm_map_free() - mm_map() where nothing is mapped: at *@addr if that is free, else (unless @exact) where mm_find_free() would look. No
 * other thread can take the place in between. Return: 0 and *@addr; -EEXIST (@exact), -ENOMEM, or as mm_map().
 */
int mm_map_free(struct mm *mm, u64 *addr, bool exact, u64 len, u32 flags, struct vm_object *object,
		u64 offset);
/** mm_brk() - brk(2): Return: the new break (unchanged on failure). */
u64 mm_brk(struct mm *mm, u64 brk);
/** mm_write() - copy into another address space (exec builds the stack of a new mm); faults pages in. Return: 0, -EFAULT, -ENOMEM. */
int mm_write(struct mm *mm, u64 addr, const void *src, size_t n);
/** mm_read() - copy out of another address space (for /proc/PID/cmdline); only present pages. Return: bytes copied. */
size_t mm_read(struct mm *mm, u64 addr, void *dst, size_t n);
/** mm_handle_fault() - as mm_fault() of <arch/smp.h>, for @mm. */
int mm_handle_fault(struct mm *mm, u64 addr, bool write, bool exec);
/**
 * mm_translate() - physical address of the byte at @addr, faulted in for reading or writing. No reference is taken: good for
 * comparing only (futex keys of shared memory). Return: 0, or as mm_handle_fault().
 */
int mm_translate(struct mm *mm, u64 addr, bool write, u64 *phys);
/** current_mm() - the current task's address space, NULL for kernel tasks. Supplied by kernel/task. */
struct mm *current_mm(void);

/** shootdown() - flush the TLB of every other CPU in @mm->cpus and wait until they did. Interrupts on or off; no rank above LOCK_MM held. */
void shootdown(struct mm *mm);

/* ---- user copy (arch/x86/uaccess.asm) ---- */

/*
 * A user access with preemption off is never faulted in: it answers -EFAULT, and its caller retries without the lock.
 */
/** copy_from_user() / copy_to_user() - Return: 0 or -EFAULT (some bytes may have been copied). May fault pages in: task context, no spin lock held. */
int copy_from_user(void *dst, const void *user_src, size_t n);
int copy_to_user(void *user_dst, const void *src, size_t n);
/** copy_string_from_user() - NUL-terminated. Return: length without NUL; -EFAULT; -ENAMETOOLONG if it does not fit @size. */
s64 copy_string_from_user(char *dst, const char *user_src, size_t size);
/** clear_user() - zero @n bytes. */
int clear_user(void *user_dst, size_t n);
/** user_range_ok() - Return: whether [@p, @p+@n) lies in user space. */
static inline bool user_range_ok(const void *p, size_t n)
{
	return n <= USER_END && (u64)p <= USER_END - n;
}
/** get_user_u32() and so on - single values. Return: 0 or -EFAULT. Context: as copy_from_user(). */
int get_user_u32(u32 *dst, const u32 *user_src);
int get_user_u64(u64 *dst, const u64 *user_src);
int put_user_u32(u32 *user_dst, u32 v);
int put_user_u64(u64 *user_dst, u64 v);
/** cmpxchg_user_u32() - if the word is *@old make it @new; *@old becomes what it was. Return: 0 or -EFAULT. Context: as copy_from_user(). */
int cmpxchg_user_u32(u32 *user, u32 *old, u32 new);

#endif

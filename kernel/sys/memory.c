/* SPDX-License-Identifier: MIT
 *
 * System calls on memory.
 */
#include "lib/string.h"
#include "sys/calls.h"
#include "sys/node.h"
#include "task/thread.h"

#define PROT_READ  1u
#define PROT_WRITE 2u
#define PROT_EXEC  4u

#define MAP_SHARED	    1u
#define MAP_PRIVATE	    2u
#define MAP_TYPE	    0xfu
#define MAP_FIXED	    0x10u
#define MAP_ANONYMOUS	    0x20u
#define MAP_GROWSDOWN	    0x100u
#define MAP_FIXED_NOREPLACE 0x100000u

static u32 prot_flags(u64 prot)
{
	return (prot & PROT_READ ? VM_READ : 0) | (prot & PROT_WRITE ? VM_WRITE : 0) |
	       (prot & PROT_EXEC ? VM_EXEC : 0);
}

/* The rule of the house: no page is both writable and executable. */
static bool prot_ok(u64 prot)
{
	return !(prot & ~7ull) && (prot & (PROT_WRITE | PROT_EXEC)) != (PROT_WRITE | PROT_EXEC);
}

SYSCALL1(brk, brk)
{
	return (s64)mm_brk(current_mm(), brk);
}

SYSCALL6(mmap, addr, len, prot, flags, fd, offset)
{
	struct mm *mm = current_mm();
	struct vm_object *object = NULL;
	u32 vm = prot_flags(prot);
	u64 type = flags & MAP_TYPE;
	s64 err;

	if (!len || (offset % PAGE_SIZE) || (type != MAP_SHARED && type != MAP_PRIVATE))
		return -EINVAL;
	if (!prot_ok(prot))
		return prot & ~7ull ? -EINVAL : -EACCES;
	if (len > USER_END ||
	    ((flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) && addr > USER_END - len))
		return -ENOMEM;
	len = ALIGN_UP(len, PAGE_SIZE);
	if (type == MAP_SHARED)
		vm |= VM_SHARED;
	if (flags & MAP_ANONYMOUS) {
		if (type == MAP_SHARED) {
			object = vm_object_anonymous(len);
			if (!object)
				return -ENOMEM;
		}
		offset = 0;
	} else {
		err = file_mmap_object((int)fd, offset, len, vm, prot, &object);
		if (err)
			return err;
	}
	if (flags & MAP_FIXED_NOREPLACE) {
		err = mm_map_free(mm, &addr, true, len, vm, object, offset);
	} else if (flags & MAP_FIXED) {
		err = mm_map(mm, addr, len, vm, object, offset);
	} else {
		addr = ALIGN_UP(addr, PAGE_SIZE);
		err = mm_map_free(mm, &addr, false, len, vm, object, offset);
	}
	if (!err)
		err = (s64)addr;
	if (object)
		vm_object_put(object); /* the mapping has its own reference */
	return err;
}

SYSCALL2(munmap, addr, len)
{
	if (addr % PAGE_SIZE || !len || len > USER_END || addr > USER_END - len)
		return -EINVAL;
	return mm_unmap(current_mm(), addr, ALIGN_UP(len, PAGE_SIZE));
}

SYSCALL3(mprotect, addr, len, prot)
{
	if (addr % PAGE_SIZE || (prot & ~7ull))
		return -EINVAL;
	if (!prot_ok(prot))
		return -EACCES;
	if (!len)
		return 0;
	if (len > USER_END || addr > USER_END - len)
		return -ENOMEM;
	return mm_protect(current_mm(), addr, ALIGN_UP(len, PAGE_SIZE), prot_flags(prot));
}

SYSCALL3(madvise, addr, len, advice)
{
	if (addr % PAGE_SIZE || ALIGN_UP(len, PAGE_SIZE) < len)
		return -EINVAL;
	if (len > USER_END || addr > USER_END - len)
		return -ENOMEM;
	len = ALIGN_UP(len, PAGE_SIZE);
	switch (advice) {
	case 0: /* NORMAL, RANDOM, SEQUENTIAL, WILLNEED: hints */
	case 1:
	case 2:
	case 3:
		return 0;
	case 4: /* DONTNEED: private pages read as zero (or the file) again */
		return len ? mm_discard(current_mm(), addr, len) : 0;
	case 8: /* FREE: may be discarded at any time; keeping it is allowed */
		return 0;
	}
	return -EINVAL;
}

/* Nothing is ever paged out: every resident page is locked. */
SYSCALL2(mlock, addr, len)
{
	(void)addr, (void)len;
	return 0;
}

SYSCALL2(munlock, addr, len)
{
	(void)addr, (void)len;
	return 0;
}

SYSCALL1(mlockall, flags)
{
	return !flags || (flags & ~7ull) ? -EINVAL : 0;
}

SYSCALL0(munlockall)
{
	return 0;
}

/* ---- limits ---- */

#define RLIM_INFINITY ~0ull
#define RLIMIT_STACK  3
#define RLIMIT_CORE   4
#define RLIMIT_NPROC  6
#define RLIMIT_NOFILE 7
#define RLIM_NLIMITS  16

struct rlimit_user {
	u64 soft, hard;
};

static struct rlimit_user get_limit(struct process *p, unsigned resource)
{
	switch (resource) {
	case RLIMIT_STACK:
		return (struct rlimit_user){p->rlim_stack, RLIM_INFINITY};
	case RLIMIT_NOFILE:
		return (struct rlimit_user){p->rlim_nofile, 1024};
	case RLIMIT_CORE:
		return (struct rlimit_user){0, 0};
	}
	return (struct rlimit_user){RLIM_INFINITY, RLIM_INFINITY};
}

static s64 set_limit(struct process *p, unsigned resource, const struct rlimit_user *l)
{
	if (l->soft > l->hard)
		return -EINVAL;
	switch (resource) {
	case RLIMIT_STACK:
		p->rlim_stack = l->soft;
		return 0;
	case RLIMIT_NOFILE:
		if (l->soft > 1024)
			return -EPERM;
		p->rlim_nofile = l->soft;
		return 0;
	}
	/* Limits that nothing enforces can only be set to what they are. */
	struct rlimit_user now = get_limit(p, resource);
	return l->soft == now.soft || resource == RLIMIT_CORE ? 0 : -EPERM;
}

SYSCALL4(prlimit64, pid, resource, new_user, old_user)
{
	struct process *p = current_process();
	struct rlimit_user new, old;

	if (resource >= RLIM_NLIMITS)
		return -EINVAL;
	if (pid && (u32)pid != p->pid)
		return -ESRCH; /* other processes' limits are their own business */
	if (new_user && copy_from_user(&new, (void *)new_user, sizeof(new)))
		return -EFAULT;
	old = get_limit(p, (unsigned)resource);
	if (new_user) {
		s64 err = set_limit(p, (unsigned)resource, &new);

		if (err)
			return err;
	}
	return old_user ? copy_to_user((void *)old_user, &old, sizeof(old)) : 0;
}

SYSCALL2(getrlimit, resource, old_user)
{
	struct rlimit_user old;

	if (resource >= RLIM_NLIMITS)
		return -EINVAL;
	old = get_limit(current_process(), (unsigned)resource);
	return copy_to_user((void *)old_user, &old, sizeof(old));
}

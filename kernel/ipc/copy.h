/* SPDX-License-Identifier: MIT
 *
 * The copies of read and write: from and to user memory for a process, plain memory for a kernel task (which has none, and
 * whose callers are the kernel itself, such as the self-tests).
 */
#ifndef IPC_COPY_H
#define IPC_COPY_H

#include "lib/string.h"
#include "mm/mm.h"
#include "sched/sched.h"

/** kernel_task() - Return: whether current has no user half. A process always has an address space, hence the cheap test first. */
static inline bool kernel_task(void)
{
	return unlikely(!current_task()->address_space) && !current_mm();
}

/** lends_memory() - may the current task's files copy from and to kernel memory: a kernel task, or a process inside such a call. */
static inline bool lends_memory(const void *p)
{
	return kernel_task() || (current_task()->kernel_io && !user_range_ok(p, 1));
}

/** copy_in() - Return: 0 or -EFAULT. Context: task, no spin lock held (may fault). */
static inline int copy_in(void *dst, const void *src, size_t n)
{
	int err = copy_from_user(dst, src, n);

	/* Kernel memory is refused at once. */
	if (unlikely(err) && lends_memory(src)) {
		memcpy(dst, src, n);
		err = 0;
	}
	return err;
}

/** copy_out() - Return: 0 or -EFAULT. Context: task, no spin lock held (may fault). */
static inline int copy_out(void *dst, const void *src, size_t n)
{
	int err = copy_to_user(dst, src, n);

	if (unlikely(err) && lends_memory(dst)) {
		memcpy(dst, src, n);
		err = 0;
	}
	return err;
}

#endif

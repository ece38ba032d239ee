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

/** copy_in() - Return: 0 or -EFAULT. Context: task, no spin lock held (may fault). */
static inline int copy_in(void *dst, const void *src, size_t n)
{
	if (kernel_task()) {
		memcpy(dst, src, n);
		return 0;
	}
	return copy_from_user(dst, src, n);
}

/** copy_out() - Return: 0 or -EFAULT. Context: task, no spin lock held (may fault). */
static inline int copy_out(void *dst, const void *src, size_t n)
{
	if (kernel_task()) {
		memcpy(dst, src, n);
		return 0;
	}
	return copy_to_user(dst, src, n);
}

#endif

/* SPDX-License-Identifier: MIT
 *
 * Descriptor tables. A process has one; clone(CLONE_FILES) shares it. A call on a table that nobody else can change at this moment
 * (one process, one thread) uses the file without counting a reference: the pipe paths feel the two atomic operations.
 */
#ifndef SYS_FD_H
#define SYS_FD_H

#include "ipc/file.h"
#include "task/thread.h"

#define RW_MAX	 0x7ffff000ull /* bytes of one call, as on Linux */
#define IOV_MAX	 1024
#define FD_MAX	 1024 /* hard limit of descriptors in a table */
#define FD_SMALL 32   /* that fit without a second allocation */

struct files {
	u32 refs;	   /* atomic: threads that use it, and readers of /proc */
	spinlock_t lock;   /* LOCK_FILES: everything below, unless the only user reads it */
	unsigned size;	   /* of fds */
	struct file **fds; /* small, or allocated */
	u64 open[FD_MAX / 64];
	u64 cloexec[FD_MAX / 64];
	struct file *small[FD_SMALL];
};

/** struct fd_ref - a file in use by a call: from fd_get() to fd_put(). */
struct fd_ref {
	struct file *file; /* NULL: bad descriptor */
	bool counted;
};

/** fd_file() - the file of descriptor @fd with a counted reference. Any table, takes its lock. Return: NULL if @fd is not open. */
struct file *fd_file(struct files *files, u64 fd);

/**
 * fd_get() - the file behind descriptor @fd of the current process, until fd_put(). Context: task of a process.
 *
 * No reference is needed if only this thread can close it: it alone could add a thread or share the table meanwhile.
 */
static inline struct fd_ref fd_get(u64 fd)
{
	struct files *files = current_process()->files;

	if (likely(READ_ONCE(files->refs) == 1))
		return (struct fd_ref){(u32)fd < files->size ? files->fds[(u32)fd] : NULL, false};
	return (struct fd_ref){fd_file(files, fd), true};
}

/** fd_own() - the file of descriptor @fd if only this thread can close it, as fd_get() without a count. Return: NULL if it is not so simple. */
static inline struct file *fd_own(u64 fd)
{
	struct files *files = current_process()->files;

	if (unlikely(READ_ONCE(files->refs) != 1 || (u32)fd >= files->size))
		return NULL;
	return files->fds[(u32)fd];
}

static inline void fd_put(struct fd_ref ref)
{
	if (unlikely(ref.counted) && ref.file)
		file_put(ref.file);
}

/**
 * fd_install() - give @file (its reference goes to the table) the lowest free descriptor >= @from of the current process.
 * Return: the descriptor; -EMFILE, -ENOMEM (the caller keeps its reference).
 */
s64 fd_install(struct file *file, unsigned from, bool cloexec);

/**
 * fd_install_pair() - give both @ends (taken over in any case) descriptors and write them to user memory, all or nothing.
 * Return: 0, -EMFILE, -ENOMEM, -EFAULT.
 */
s64 fd_install_pair(struct file *ends[2], bool cloexec, u64 user_fds);

/** fd_next() - Return: the lowest open descriptor >= @fd in @files, or FD_MAX. */
unsigned fd_next(struct files *files, unsigned fd);

/** transfer_fn - a read or a write of @n bytes; what @state points to is between it and its caller (the file position). */
typedef s64 transfer_fn(struct file *f, u64 buf, u64 n, u64 *state);
/** transfer_vector() - one call of @fn for each part of an array of struct iovec that is not empty. Return: bytes moved, -EFAULT, -EINVAL, as @fn. */
s64 transfer_vector(transfer_fn *fn, struct file *f, u64 user_iov, u64 count, u64 *state);

#endif

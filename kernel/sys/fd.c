/* SPDX-License-Identifier: MIT
 *
 * Descriptor tables: numbers, sharing, close-on-exec; dup, close and fcntl.
 */
#include "sys/fd.h"

#include "lib/string.h"
#include "sys/calls.h"
#include "sys/node.h"

/* fcntl(2) */
#define F_DUPFD		0
#define F_GETFD		1
#define F_SETFD		2
#define F_GETFL		3
#define F_SETFL		4
#define F_GETLK		5
#define F_SETLK		6
#define F_SETLKW	7
#define F_DUPFD_CLOEXEC 1030
#define F_SETPIPE_SZ	1031
#define F_GETPIPE_SZ	1032
#define FD_CLOEXEC	1u

#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2

static unsigned fd_limit(void)
{
	return (unsigned)min(current_process()->rlim_nofile, (u64)FD_MAX);
}

/* Make room for descriptor @fd. Lock held. */
static int table_grow(struct files *files, unsigned fd)
{
	unsigned size = files->size;
	struct file **fds;

	if (fd < size)
		return 0;
	while (size <= fd)
		size *= 2;
	fds = kzalloc(size * sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	memcpy(fds, files->fds, files->size * sizeof(*fds));
	if (files->fds != files->small)
		kfree(files->fds, files->size * sizeof(*fds));
	files->fds = fds;
	files->size = size;
	return 0;
}

static void table_set(struct files *files, unsigned fd, struct file *file, bool cloexec)
{
	files->fds[fd] = file;
	bit_set(files->open, fd);
	if (cloexec)
		bit_set(files->cloexec, fd);
	else
		bit_clear(files->cloexec, fd);
}

static struct file *table_clear(struct files *files, unsigned fd)
{
	struct file *file = files->fds[fd];

	files->fds[fd] = NULL;
	bit_clear(files->open, fd);
	bit_clear(files->cloexec, fd);
	return file;
}

static unsigned lowest_free(const struct files *files, unsigned from)
{
	for (unsigned w = from / 64; w < ARRAY_SIZE(files->open); w++) {
		u64 used = files->open[w];

		if (w == from / 64)
			used |= (1ull << (from % 64)) - 1;
		if (~used)
			return w * 64 + (unsigned)__builtin_ctzll(~used);
	}
	return FD_MAX;
}

struct file *fd_file(struct files *files, u64 fd)
{
	struct file *file = NULL;

	spin_lock(&files->lock);
	if ((u32)fd < files->size)
		file = files->fds[(u32)fd];
	if (file)
		file_get(file);
	spin_unlock(&files->lock);
	return file;
}

s64 fd_install(struct file *file, unsigned from, bool cloexec)
{
	struct files *files = current_process()->files;
	unsigned fd;
	s64 ret;

	spin_lock(&files->lock);
	fd = lowest_free(files, from);
	ret = fd < fd_limit() ? table_grow(files, fd) : -EMFILE;
	if (ret == 0) {
		table_set(files, fd, file, cloexec);
		ret = fd;
	}
	spin_unlock(&files->lock);
	return ret;
}

unsigned fd_next(struct files *files, unsigned fd)
{
	return bit_find_next(files->open, FD_MAX, fd);
}

/* ---- life of a table ---- */

struct files *files_fork(struct files *from, bool share)
{
	struct files *files;

	if (from && share) {
		__atomic_add_fetch(&from->refs, 1, __ATOMIC_RELAXED);
		return from;
	}
	files = kzalloc(sizeof(*files));
	if (!files)
		return NULL;
	files->refs = 1;
	spin_init(&files->lock, "files", LOCK_FILES);
	files->size = FD_SMALL;
	files->fds = files->small;
	if (!from)
		return files;
	spin_lock(&from->lock);
	if (table_grow(files, from->size - 1)) {
		spin_unlock(&from->lock);
		kfree(files, sizeof(*files));
		return NULL;
	}
	for (unsigned fd = fd_next(from, 0); fd < FD_MAX; fd = fd_next(from, fd + 1)) {
		files->fds[fd] = from->fds[fd];
		file_get(files->fds[fd]);
	}
	memcpy(files->open, from->open, sizeof(files->open));
	memcpy(files->cloexec, from->cloexec, sizeof(files->cloexec));
	spin_unlock(&from->lock);
	return files;
}

void files_put(struct files *files)
{
	if (!files || __atomic_sub_fetch(&files->refs, 1, __ATOMIC_ACQ_REL))
		return;
	for (unsigned fd = fd_next(files, 0); fd < FD_MAX; fd = fd_next(files, fd + 1))
		file_put(files->fds[fd]);
	if (files->fds != files->small)
		kfree(files->fds, files->size * sizeof(*files->fds));
	kfree(files, sizeof(*files));
}

int files_exec(struct process *p)
{
	struct files *files = p->files, *shared = files;

	if (READ_ONCE(files->refs) != 1) {
		files = files_fork(shared, false);
		if (!files)
			return -ENOMEM;
		spin_lock(&tree_lock); /* readers of /proc/PID/fd */
		p->files = files;
		spin_unlock(&tree_lock);
		files_put(shared);
	}
	/* The table is this thread's alone now; the lock is for readers of /proc/PID/fd. */
	for (unsigned fd = bit_find_first(files->cloexec, FD_MAX); fd < FD_MAX;
	     fd = bit_find_next(files->cloexec, FD_MAX, fd + 1)) {
		struct file *file;

		spin_lock(&files->lock);
		file = table_clear(files, fd);
		spin_unlock(&files->lock);
		file_put(file);
	}
	return 0;
}

/* ---- system calls ---- */

SYSCALL1(close, fd)
{
	struct files *files = current_process()->files;
	struct file *file = NULL;

	spin_lock(&files->lock);
	if ((u32)fd < files->size && files->fds[(u32)fd])
		file = table_clear(files, (u32)fd);
	spin_unlock(&files->lock);
	if (!file)
		return -EBADF;
	file_put(file);
	return 0;
}

/* Put @file (reference taken over on success) at exactly @fd, closing what was there. */
static s64 install_at(struct file *file, unsigned fd, bool cloexec)
{
	struct files *files = current_process()->files;
	struct file *old = NULL;
	int err;

	spin_lock(&files->lock);
	err = table_grow(files, fd);
	if (!err) {
		old = files->fds[fd];
		table_set(files, fd, file, cloexec);
	}
	spin_unlock(&files->lock);
	if (old)
		file_put(old);
	return err ? err : (s64)fd;
}

static s64 dup_to(u64 oldfd, u64 newfd, bool cloexec)
{
	struct file *file;
	s64 ret;

	if ((u32)newfd >= fd_limit())
		return -EBADF;
	file = fd_file(current_process()->files, oldfd);
	if (!file)
		return -EBADF;
	ret = install_at(file, (u32)newfd, cloexec);
	if (ret < 0)
		file_put(file);
	return ret;
}

static s64 dup_from(u64 oldfd, u64 from, bool cloexec)
{
	struct file *file = fd_file(current_process()->files, oldfd);
	s64 ret;

	if (!file)
		return -EBADF;
	ret = from < fd_limit() ? fd_install(file, (unsigned)from, cloexec) : -EINVAL;
	if (ret < 0)
		file_put(file);
	return ret;
}

SYSCALL1(dup, oldfd)
{
	return dup_from(oldfd, 0, false);
}

SYSCALL2(dup2, oldfd, newfd)
{
	if ((u32)oldfd == (u32)newfd) {
		struct fd_ref ref = fd_get(oldfd);

		fd_put(ref);
		return ref.file ? (s64)(u32)newfd : -EBADF;
	}
	return dup_to(oldfd, newfd, false);
}

SYSCALL3(dup3, oldfd, newfd, flags)
{
	if ((u32)oldfd == (u32)newfd || (flags & ~(u64)O_CLOEXEC))
		return -EINVAL;
	return dup_to(oldfd, newfd, flags & O_CLOEXEC);
}

static s64 set_cloexec(u64 fd, bool on)
{
	struct files *files = current_process()->files;
	s64 ret = -EBADF;

	spin_lock(&files->lock);
	if ((u32)fd < files->size && files->fds[(u32)fd]) {
		table_set(files, (u32)fd, files->fds[(u32)fd], on);
		ret = 0;
	}
	spin_unlock(&files->lock);
	return ret;
}

/* struct flock as far as it matters here. */
struct flock_head {
	s16 type, whence;
};

/*
 * Record locks. On the read-only file tree the answer is known without keeping locks: a write lock needs a descriptor open for
 * writing, which nobody can have, so read locks never conflict. Elsewhere locks are not supported.
 */
static s64 file_lock(struct file *file, u64 cmd, u64 arg)
{
	struct flock_head fl;

	if (!file->node || !S_ISREG(file->node->mode) || file->node->ops->set)
		return -EINVAL;
	if (copy_from_user(&fl, (void *)arg, sizeof(fl)))
		return -EFAULT;
	if (fl.type < F_RDLCK || fl.type > F_UNLCK)
		return -EINVAL;
	if (cmd == F_GETLK) {
		fl.type = F_UNLCK;
		return copy_to_user((void *)arg, &fl, sizeof(fl));
	}
	return fl.type == F_WRLCK ? -EBADF : 0;
}

static s64 file_fcntl(struct file *file, u64 fd, u64 cmd, u64 arg)
{
	struct files *files = current_process()->files;
	const u32 settable = O_APPEND | O_NONBLOCK;

	switch (cmd) {
	case F_GETFD:
		return bit_test(files->cloexec, (u32)fd) ? FD_CLOEXEC : 0;
	case F_GETFL:
		return file->flags;
	case F_SETFL:
		file->flags = (file->flags & ~settable) | ((u32)arg & settable);
		return 0;
	case F_SETPIPE_SZ:
		return pipe_set_size(file, (u32)arg);
	case F_GETPIPE_SZ:
		return pipe_size(file);
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
		return file_lock(file, cmd, arg);
	default:
		return -EINVAL;
	}
}

SYSCALL3(fcntl, fd, cmd, arg)
{
	struct fd_ref ref;
	s64 ret;

	switch ((u32)cmd) {
	case F_DUPFD:
	case F_DUPFD_CLOEXEC:
		return dup_from(fd, (u32)arg, (u32)cmd == F_DUPFD_CLOEXEC);
	case F_SETFD:
		return set_cloexec(fd, arg & FD_CLOEXEC);
	}
	ref = fd_get(fd);
	if (!ref.file)
		return -EBADF;
	ret = file_fcntl(ref.file, fd, (u32)cmd, arg);
	fd_put(ref);
	return ret;
}

/* Generic ioctls; the rest is the file's own. */
#define FIONREAD 0x541b
#define FIONBIO	 0x5421
#define FIONCLEX 0x5450
#define FIOCLEX	 0x5451

static s64 file_ioctl(struct file *file, u64 cmd, u64 arg)
{
	u32 on;

	if (file->flags & O_PATH)
		return -EBADF;
	if (cmd == FIONBIO) {
		if (get_user_u32(&on, (u32 *)arg))
			return -EFAULT;
		file->flags = on ? file->flags | O_NONBLOCK : file->flags & ~O_NONBLOCK;
		return 0;
	}
	if (cmd == FIONREAD && file->node && S_ISREG(file->node->mode) && !file->ops->ioctl)
		return put_user_u32((u32 *)arg,
				    (u32)(file->node->size - min(file->pos, file->node->size)));
	return file->ops->ioctl ? file->ops->ioctl(file, (unsigned)cmd, arg) : -ENOTTY;
}

SYSCALL3(ioctl, fd, cmd, arg)
{
	struct fd_ref ref;
	s64 ret;

	if ((u32)cmd == FIOCLEX || (u32)cmd == FIONCLEX)
		return set_cloexec(fd, (u32)cmd == FIOCLEX);
	ref = fd_get(fd);
	if (!ref.file)
		return -EBADF;
	ret = file_ioctl(ref.file, (u32)cmd, arg);
	fd_put(ref);
	return ret;
}

s64 fd_install_pair(struct file *ends[2], bool cloexec, u64 user_fds)
{
	s64 fds[2];
	s32 out[2];

	fds[0] = fd_install(ends[0], 0, cloexec);
	if (fds[0] < 0) {
		file_put(ends[0]);
		file_put(ends[1]);
		return fds[0];
	}
	fds[1] = fd_install(ends[1], 0, cloexec);
	if (fds[1] < 0) {
		file_put(ends[1]);
		sys_close((u64)fds[0], 0, 0, 0, 0, 0);
		return fds[1];
	}
	out[0] = (s32)fds[0];
	out[1] = (s32)fds[1];
	if (!copy_to_user((void *)user_fds, out, sizeof(out)))
		return 0;
	sys_close((u64)fds[0], 0, 0, 0, 0, 0);
	sys_close((u64)fds[1], 0, 0, 0, 0, 0);
	return -EFAULT;
}

static s64 make_pipe(u64 user_fds, u64 flags)
{
	struct file *ends[2];
	s64 err;

	if (flags & ~(u64)(O_CLOEXEC | O_NONBLOCK))
		return -EINVAL;
	err = pipe_create(ends, flags & O_NONBLOCK);
	return err ? err : fd_install_pair(ends, flags & O_CLOEXEC, user_fds);
}

SYSCALL1(pipe, user_fds)
{
	return make_pipe(user_fds, 0);
}

SYSCALL2(pipe2, user_fds, flags)
{
	return make_pipe(user_fds, flags);
}

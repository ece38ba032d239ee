/* SPDX-License-Identifier: MIT
 *
 * Reading and writing through descriptors. read() and write() are on the path of every pipe figure: they do nothing but find the file.
 */
#include "lib/string.h"
#include "sys/calls.h"
#include "sys/fd.h"
#include "sys/node.h"

#define IOV_CHUNK 8

static inline s64 file_read(struct file *f, u64 buf, u64 n, u64 *pos)
{
	return f->read(f, (void *)buf, min(n, RW_MAX), pos);
}

static inline s64 file_write(struct file *f, u64 buf, u64 n, u64 *pos)
{
	return f->write(f, (const void *)buf, min(n, RW_MAX), pos);
}

/* The descriptor is bad, or its table is shared. */
static __attribute__((noinline)) s64 transfer(transfer_fn *fn, u64 fd, u64 buf, u64 n)
{
	struct fd_ref ref = fd_get(fd);
	s64 ret;

	if (!ref.file)
		return -EBADF;
	ret = fn(ref.file, buf, n, &ref.file->pos);
	fd_put(ref);
	return ret;
}

/* Both end in a jump to the file's own function: nothing is kept here. */
SYSCALL3(read, fd, buf, n)
{
	struct file *f = fd_own(fd);

	return likely(f) ? file_read(f, buf, n, &f->pos) : transfer(file_read, fd, buf, n);
}

SYSCALL3(write, fd, buf, n)
{
	struct file *f = fd_own(fd);

	return likely(f) ? file_write(f, buf, n, &f->pos) : transfer(file_write, fd, buf, n);
}

static s64 transfer_at(transfer_fn *fn, u64 fd, u64 buf, u64 n, u64 pos)
{
	struct fd_ref ref;
	s64 ret;

	if ((s64)pos < 0)
		return -EINVAL;
	ref = fd_get(fd);
	if (!ref.file)
		return -EBADF;
	ret = ref.file->ops->seek ? fn(ref.file, buf, n, &pos) : -ESPIPE;
	fd_put(ref);
	return ret;
}

SYSCALL4(pread64, fd, buf, n, pos)
{
	return transfer_at(file_read, fd, buf, n, pos);
}

SYSCALL4(pwrite64, fd, buf, n, pos)
{
	return transfer_at(file_write, fd, buf, n, pos);
}

struct iovec {
	u64 base, len;
};

/*
 * One call of the file for each part that is not empty. A pipe's atomic writes hold for each part, not for the whole
 * (docs/limits.md).
 */
s64 transfer_vector(transfer_fn *fn, struct file *f, u64 user_iov, u64 count, u64 *state)
{
	struct iovec iov[IOV_CHUNK];
	u64 done = 0;

	for (u64 i = 0; i < count; i++) {
		struct iovec *part = &iov[i % IOV_CHUNK];
		s64 ret;

		if (i % IOV_CHUNK == 0 &&
		    copy_from_user(iov, (const struct iovec *)user_iov + i,
				   min(count - i, (u64)IOV_CHUNK) * sizeof(iov[0])))
			return done ? (s64)done : -EFAULT;
		if (!part->len)
			continue;
		if ((s64)part->len < 0)
			return done ? (s64)done : -EINVAL;
		ret = fn(f, part->base, min(part->len, RW_MAX - done), state);
		if (ret < 0)
			return done ? (s64)done : ret;
		done += (u64)ret;
		if ((u64)ret < part->len)
			break;
	}
	return (s64)done;
}

static s64 vector_call(transfer_fn *fn, u64 fd, u64 user_iov, u64 count)
{
	struct fd_ref ref = fd_get(fd);
	s64 ret;

	if (!ref.file)
		return -EBADF;
	ret = (u32)count <= IOV_MAX
		      ? transfer_vector(fn, ref.file, user_iov, (u32)count, &ref.file->pos)
		      : -EINVAL;
	fd_put(ref);
	return ret;
}

SYSCALL3(readv, fd, iov, count)
{
	return vector_call(file_read, fd, iov, count);
}

SYSCALL3(writev, fd, iov, count)
{
	return vector_call(file_write, fd, iov, count);
}

SYSCALL3(lseek, fd, offset, whence)
{
	struct fd_ref ref = fd_get(fd);
	s64 ret;

	if (!ref.file)
		return -EBADF;
	ret = ref.file->ops->seek ? ref.file->ops->seek(ref.file, (s64)offset, (int)whence)
				  : -ESPIPE;
	fd_put(ref);
	return ret;
}

/* ---- sendfile ---- */

#define SEND_WINDOW (16ull << 10)

/*
 * Files copy to and from user memory, so the bytes go through a window mapped for the time of the call. Another thread may see or
 * disturb the window, and harms its own process only.
 */
static s64 send_through(struct file *out, struct file *in, u64 window, u64 *pos, u64 count)
{
	u64 sent = 0;

	while (sent < count) {
		u64 at = *pos;
		s64 got = file_read(in, window, min(count - sent, SEND_WINDOW), &at), put;

		if (got <= 0)
			return sent ? (s64)sent : got;
		put = file_write(out, window, (u64)got, &out->pos);
		if (put < 0)
			return sent ? (s64)sent : put;
		sent += (u64)put;
		*pos += (u64)put;
		if (put < got)
			break;
	}
	return (s64)sent;
}

static s64 send_file(struct file *out, struct file *in, u64 *pos, u64 count)
{
	struct mm *mm = current_mm();
	u64 window = 0;
	s64 ret;

	if (!in->node || !S_ISREG(in->node->mode) || !in->ops->seek)
		return -EINVAL;
	count = min(count, RW_MAX);
	ret = mm_map_free(mm, &window, false, SEND_WINDOW, VM_READ | VM_WRITE, NULL, 0);
	if (ret)
		return ret;
	ret = send_through(out, in, window, pos, count);
	mm_unmap(mm, window, SEND_WINDOW);
	return ret;
}

SYSCALL4(sendfile, out_fd, in_fd, user_pos, count)
{
	struct fd_ref out = fd_get(out_fd), in = fd_get(in_fd);
	s64 ret = -EBADF;
	u64 pos;

	if (!out.file || !in.file)
		goto out;
	if (user_pos) {
		ret = get_user_u64(&pos, (const u64 *)user_pos);
		if (!ret && (s64)pos < 0)
			ret = -EINVAL;
		if (!ret)
			ret = send_file(out.file, in.file, &pos, count);
		if (ret >= 0 && put_user_u64((u64 *)user_pos, pos))
			ret = -EFAULT;
	} else {
		ret = send_file(out.file, in.file, &in.file->pos, count);
	}
out:
	fd_put(out);
	fd_put(in);
	return ret;
}

/* ---- nothing is ever dirty ---- */

static s64 check_fd(u64 fd, bool seekable)
{
	struct fd_ref ref = fd_get(fd);
	s64 ret = 0;

	if (!ref.file)
		return -EBADF;
	if (seekable && !ref.file->ops->seek)
		ret = -ESPIPE;
	fd_put(ref);
	return ret;
}

SYSCALL1(fsync, fd)
{
	s64 ret = check_fd(fd, true);

	return ret == -ESPIPE ? -EINVAL : ret;
}

SYSCALL1(fdatasync, fd)
{
	return sys_fsync(fd, 0, 0, 0, 0, 0);
}

SYSCALL0(sync)
{
	return 0;
}

SYSCALL4(fadvise64, fd, offset, len, advice)
{
	s64 err = check_fd(fd, true);

	(void)offset, (void)len;
	return err || (u32)advice < 6 ? err : -EINVAL;
}

/* ---- for mmap(2) ---- */

int file_mmap_object(int fd, u64 offset, u64 len, u32 vm_flags, u64 prot, struct vm_object **object)
{
	struct fd_ref ref = fd_get((u64)fd);
	struct file *f = ref.file;
	int err;

	(void)prot;
	if (!f || (f->flags & O_PATH))
		err = -EBADF;
	else if ((f->flags & O_ACCMODE) == O_WRONLY)
		err = -EACCES;
	else if ((vm_flags & VM_SHARED) && (vm_flags & VM_WRITE) &&
		 (f->flags & O_ACCMODE) != O_RDWR)
		err = -EACCES;
	else if (!f->ops->mmap)
		err = -ENODEV;
	else if (offset % PAGE_SIZE || offset + len < offset)
		err = -EINVAL;
	else
		err = f->ops->mmap(f, offset, len, vm_flags, object);
	fd_put(ref);
	return err;
}

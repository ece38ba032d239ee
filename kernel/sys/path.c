/* SPDX-License-Identifier: MIT
 *
 * Path names of system calls: opening, the working directory, links, directory listings.
 */
#include "lib/string.h"
#include "sys/calls.h"
#include "sys/fd.h"
#include "sys/node.h"

/* ---- paths from user mode ---- */

int path_get(struct path_buf *pb, u64 user_path)
{
	s64 len = copy_string_from_user(pb->small, (const char *)user_path, sizeof(pb->small));

	pb->path = pb->small;
	if (len != -ENAMETOOLONG)
		return len < 0 ? (int)len : 0;
	pb->path = kmalloc(PATH_MAX);
	if (!pb->path)
		return -ENOMEM;
	len = copy_string_from_user(pb->path, (const char *)user_path, PATH_MAX);
	if (len < 0)
		kfree(pb->path, PATH_MAX);
	return len < 0 ? (int)len : 0;
}

void path_put(struct path_buf *pb)
{
	if (pb->path != pb->small)
		kfree(pb->path, PATH_MAX);
}

/* The directory that relative paths start from, with a reference. */
static int base_get(u64 dirfd, struct node **base)
{
	struct fd_ref ref;
	int err = 0;

	if ((s32)dirfd == AT_FDCWD) {
		*base = node_cwd();
		return 0;
	}
	ref = fd_get(dirfd);
	if (!ref.file)
		return -EBADF;
	if (ref.file->node && S_ISDIR(ref.file->node->mode)) {
		*base = ref.file->node;
		node_get(*base);
	} else {
		err = -ENOTDIR;
	}
	fd_put(ref);
	return err;
}

int path_walk_at(u64 dirfd, const char *path, unsigned flags, struct node **out, bool *absent)
{
	struct node *base;
	int err;

	if (absent)
		*absent = false;
	if (!*path)
		return -ENOENT;
	if (*path == '/')
		return node_walk(node_root, path, flags, out, absent);
	err = base_get(dirfd, &base);
	if (err)
		return err;
	err = node_walk(base, path, flags, out, absent);
	node_put(base);
	return err;
}

int path_walk_user(u64 dirfd, u64 user_path, unsigned flags, struct node **out, bool *absent)
{
	struct path_buf pb;
	int err;

	if (absent)
		*absent = false;
	err = path_get(&pb, user_path);
	if (err)
		return err;
	err = path_walk_at(dirfd, pb.path, flags, out, absent);
	path_put(&pb);
	return err;
}

int path_parent(u64 dirfd, u64 user_path, struct path_buf *pb, struct node **dir, const char **name,
		size_t *len)
{
	int err = path_get(pb, user_path);
	char *p = pb->path, *end;

	if (err)
		return err;
	end = p + strlen(p);
	while (end > p && end[-1] == '/')
		*--end = '\0';
	while (end > p && end[-1] != '/')
		end--;
	/* From @end on it is the name; what is before, or the base, must be a directory. */
	*name = end;
	*len = strlen(end);
	if (!*len || !strcmp(end, ".") || !strcmp(end, ".."))
		err = -EBUSY;
	else if (end == p)
		err = path_walk_at(dirfd, ".", WALK_FOLLOW, dir, NULL);
	else {
		end[-1] = '\0';
		err = path_walk_at(dirfd, end - 1 == p ? "/" : p, WALK_FOLLOW, dir, NULL);
	}
	if (!err && !S_ISDIR((*dir)->mode)) {
		node_put(*dir);
		err = -ENOTDIR;
	}
	if (err)
		path_put(pb);
	return err;
}

s64 path_create(u64 dirfd, u64 user_path, u32 mode, const char *target, struct node **out)
{
	struct path_buf pb;
	struct node *dir;
	const char *name;
	size_t len;
	s64 err = path_parent(dirfd, user_path, &pb, &dir, &name, &len);

	if (err)
		return err;
	if (!S_ISLNK(mode))
		mode &= ~current_process()->umask;
	err = dir->ops->create ? dir->ops->create(dir, name, len, mode, target, out) : -EROFS;
	node_put(dir);
	path_put(&pb);
	return err;
}

/* ---- open ---- */

static int open_path(u64 dirfd, u64 user_path, u64 flags, u32 mode, struct file **out)
{
	bool absent, no_follow = flags & O_NOFOLLOW;
	struct node *n;
	int err;

	if ((flags & O_CREAT) && (flags & O_EXCL))
		no_follow = true;
	err = path_walk_user(dirfd, user_path, no_follow ? 0 : WALK_FOLLOW, &n, &absent);
	if (err == -ENOENT && absent && (flags & O_CREAT)) {
		err = (int)path_create(dirfd, user_path, S_IFREG | (mode & 07777), NULL, &n);
		flags &= ~(u64)(O_EXCL | O_CREAT);
		/* Somebody else was faster: then it is there to be opened. */
		if (err == -EEXIST && !no_follow)
			err = path_walk_user(dirfd, user_path, WALK_FOLLOW, &n, NULL);
	}
	if (err)
		return err;
	if ((flags & O_CREAT) && (flags & O_EXCL))
		err = -EEXIST;
	else
		err = node_open(n, (unsigned)flags, out);
	node_put(n);
	return err;
}

static s64 do_open(u64 dirfd, u64 user_path, u64 flags, u64 mode)
{
	struct file *file;
	s64 ret;

	if (flags & O_PATH)
		flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	ret = open_path(dirfd, user_path, flags, (u32)mode, &file);
	if (ret)
		return ret;
	ret = fd_install(file, 0, flags & O_CLOEXEC);
	if (ret < 0)
		file_put(file);
	return ret;
}

SYSCALL3(open, path, flags, mode)
{
	return do_open((u64)AT_FDCWD, path, flags, mode);
}

SYSCALL4(openat, dirfd, path, flags, mode)
{
	return do_open(dirfd, path, flags, mode);
}

SYSCALL2(creat, path, mode)
{
	return do_open((u64)AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

/* ---- working directory, links ---- */

SYSCALL1(chdir, path)
{
	struct node *n;
	int err = path_walk_user((u64)AT_FDCWD, path, WALK_FOLLOW, &n, NULL);

	if (err)
		return err;
	if (!S_ISDIR(n->mode)) {
		node_put(n);
		return -ENOTDIR;
	}
	node_set_cwd(n);
	return 0;
}

SYSCALL1(fchdir, fd)
{
	struct node *n;
	int err = (s32)fd == AT_FDCWD ? -EBADF : base_get(fd, &n);

	if (!err)
		node_set_cwd(n);
	return err;
}

SYSCALL2(getcwd, user_buf, size)
{
	char *buf = kmalloc(PATH_MAX);
	struct node *cwd;
	s64 len;

	if (!buf)
		return -ENOMEM;
	cwd = node_cwd();
	len = node_path(cwd, buf, PATH_MAX);
	node_put(cwd);
	if (len >= 0 && (u64)len + 1 > size)
		len = -ERANGE;
	if (len >= 0 && copy_to_user((void *)user_buf, buf, (size_t)len + 1))
		len = -EFAULT;
	kfree(buf, PATH_MAX);
	return len < 0 ? len : len + 1;
}

static s64 read_link(struct node *n, u64 user_buf, u64 size)
{
	char *buf;
	s64 len;

	if (!S_ISLNK(n->mode) || (s32)size <= 0)
		return -EINVAL;
	if (!n->ops->readlink) {
		len = (s64)min(n->size, (u64)(u32)size);
		return copy_to_user((void *)user_buf, n->data, (size_t)len) ? -EFAULT : len;
	}
	buf = kmalloc(PATH_MAX);
	if (!buf)
		return -ENOMEM;
	len = n->ops->readlink(n, buf, min((u64)(u32)size, (u64)PATH_MAX));
	if (len > 0 && copy_to_user((void *)user_buf, buf, (size_t)len))
		len = -EFAULT;
	kfree(buf, PATH_MAX);
	return len;
}

SYSCALL4(readlinkat, dirfd, path, user_buf, size)
{
	struct node *n;
	s64 ret = path_walk_user(dirfd, path, 0, &n, NULL);

	if (ret)
		return ret;
	ret = read_link(n, user_buf, size);
	node_put(n);
	return ret;
}

SYSCALL3(readlink, path, user_buf, size)
{
	return sys_readlinkat((u64)AT_FDCWD, path, user_buf, size, 0, 0);
}

/* ---- directory listings ---- */

#define LIST_MAX 8192u /* bytes of one getdents64(2): callers come again */

struct dirent64 {
	u64 ino, next;
	u16 reclen;
	u8 type;
	char name[];
} __attribute__((packed));

/* struct list_buf - a listing in kernel memory, because directories are listed under locks. */
struct list_buf {
	struct dir_sink sink;
	u8 *buf;
	size_t size, used;
	u64 next; /* position after the last entry put */
	bool full;
};

static bool list_put(struct dir_sink *sink, const char *name, size_t len, u64 ino, u32 mode,
		     u64 next)
{
	struct list_buf *lb = container_of(sink, struct list_buf, sink);
	size_t reclen = ALIGN_UP(sizeof(struct dirent64) + len + 1, (size_t)8);
	struct dirent64 *d = (void *)(lb->buf + lb->used);

	if (reclen > lb->size - lb->used) {
		lb->full = true;
		return false;
	}
	memset(d, 0, reclen);
	*d = (struct dirent64){
		.ino = ino, .next = next + 2, .reclen = (u16)reclen, .type = (u8)(mode >> 12)};
	memcpy(d->name, name, len);
	lb->used += reclen;
	lb->next = next + 2;
	return true;
}

/* File positions: 0 and 1 stand before "." and "..", 2 + N is the directory's own position N. */
static void list_dir(struct node *dir, struct list_buf *lb)
{
	if (lb->next == 0 && !list_put(&lb->sink, ".", 1, dir->ino, S_IFDIR, (u64)-1))
		return;
	if (lb->next == 1 && !list_put(&lb->sink, "..", 2, dir->parent->ino, S_IFDIR, 0))
		return;
	if (dir->ops->list)
		dir->ops->list(dir, lb->next - 2, &lb->sink);
}

SYSCALL3(getdents64, fd, user_buf, size)
{
	struct list_buf lb = {.sink.put = list_put};
	struct fd_ref ref = fd_get(fd);
	s64 ret = -ENOTDIR;

	if (!ref.file || (ref.file->flags & O_PATH)) {
		fd_put(ref);
		return -EBADF;
	}
	if (!ref.file->node || !S_ISDIR(ref.file->node->mode))
		goto out;
	ret = -ENOMEM;
	lb.buf = kmalloc(LIST_MAX);
	if (!lb.buf)
		goto out;
	lb.size = min((size_t)(u32)size, (size_t)LIST_MAX);
	lb.next = ref.file->pos;
	list_dir(ref.file->node, &lb);
	if (lb.sink.err && !lb.used)
		ret = lb.sink.err;
	else if (!lb.used && lb.full)
		ret = -EINVAL; /* not even one entry fits */
	else if (copy_to_user((void *)user_buf, lb.buf, lb.used))
		ret = -EFAULT;
	else
		ret = (s64)lb.used;
	if (ret >= 0)
		ref.file->pos = lb.next;
	kfree(lb.buf, LIST_MAX);
out:
	fd_put(ref);
	return ret;
}

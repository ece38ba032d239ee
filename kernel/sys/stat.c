/* SPDX-License-Identifier: MIT
 *
 * Questions about files: stat, statfs, access; and the calls that would change the tree, which is read-only: they find out which of Linux's
 * errors is the right one.
 */
#include "lib/string.h"
#include "sys/calls.h"
#include "sys/fd.h"
#include "sys/node.h"

/* struct stat of x86-64 */
struct kstat {
	u64 dev, ino, nlink;
	u32 mode, uid, gid, pad0;
	u64 rdev, size, blksize, blocks;
	u64 atime, atime_ns, mtime, mtime_ns, ctime, ctime_ns;
	s64 unused[3];
};
_Static_assert(sizeof(struct kstat) == 144, "struct stat");

/* struct statfs of x86-64 */
struct kstatfs {
	u64 type, bsize, blocks, bfree, bavail, files, ffree, fsid, namelen, frsize, flags,
		spare[4];
};

/* File system types: the archive counts as ramfs. */
#define RAMFS_MAGIC  0x858458f6
#define PROC_MAGIC   0x9fa0
#define SYSFS_MAGIC  0x62656572
#define TMPFS_MAGIC  0x01021994
#define PIPEFS_MAGIC 0x50495045
#define ST_RDONLY    1

static s64 stat_node(struct node *n, u64 user_st)
{
	struct kstat st = {.dev = 1,
			   .ino = n->ino,
			   .nlink = S_ISDIR(n->mode) ? 2 : 1,
			   .mode = n->mode,
			   .blksize = PAGE_SIZE};

	st.rdev = n->rdev;
	st.size = n->size;
	st.blocks = DIV_ROUND_UP(n->size, 512ull);
	st.atime = st.mtime = st.ctime = n->mtime;
	return copy_to_user((void *)user_st, &st, sizeof(st));
}

/* A pipe or another file without a name. */
static s64 stat_nameless(struct file *f, u64 user_st)
{
	struct kstat st = {.dev = 2,
			   .ino = (u64)f->object >> 4 & 0xffffffff,
			   .nlink = 1,
			   .mode = file_is_socket(f) ? S_IFSOCK | 0777 : S_IFIFO | 0600,
			   .blksize = PAGE_SIZE};

	return copy_to_user((void *)user_st, &st, sizeof(st));
}

SYSCALL2(fstat, fd, user_st)
{
	struct fd_ref ref = fd_get(fd);
	s64 ret;

	if (!ref.file)
		return -EBADF;
	ret = ref.file->node ? stat_node(ref.file->node, user_st)
			     : stat_nameless(ref.file, user_st);
	fd_put(ref);
	return ret;
}

static s64 stat_at(u64 dirfd, u64 user_path, u64 user_st, unsigned walk)
{
	struct node *n;
	s64 ret = path_walk_user(dirfd, user_path, walk, &n, NULL);

	if (ret)
		return ret;
	ret = stat_node(n, user_st);
	node_put(n);
	return ret;
}

SYSCALL2(stat, path, user_st)
{
	return stat_at((u64)AT_FDCWD, path, user_st, WALK_FOLLOW);
}

SYSCALL2(lstat, path, user_st)
{
	return stat_at((u64)AT_FDCWD, path, user_st, 0);
}

SYSCALL4(newfstatat, dirfd, path, user_st, flags)
{
	char first;

	if (flags & ~(u64)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH | 0x800 /* AT_NO_AUTOMOUNT */))
		return -EINVAL;
	if ((flags & AT_EMPTY_PATH) && (s32)dirfd != AT_FDCWD) {
		if (copy_from_user(&first, (const void *)path, 1))
			return -EFAULT;
		if (!first)
			return sys_fstat(dirfd, user_st, 0, 0, 0, 0);
	}
	return stat_at(dirfd, path, user_st, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW);
}

/* What the directory in the root that holds @n is. @n: NULL for a pipe. */
static u64 fs_type(struct node *n)
{
	static const struct {
		const char *name;
		u64 type;
	} dirs[] = {{"proc", PROC_MAGIC}, {"dev", TMPFS_MAGIC}, {"sys", SYSFS_MAGIC}};

	if (!n)
		return PIPEFS_MAGIC;
	while (n->parent != node_root)
		n = n->parent;
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		if (n == node_child(node_root, dirs[i].name, strlen(dirs[i].name)))
			return dirs[i].type;
	return RAMFS_MAGIC;
}

static s64 put_statfs(struct node *n, u64 user_st)
{
	struct kstatfs st = {
		.type = fs_type(n), .bsize = PAGE_SIZE, .frsize = PAGE_SIZE, .namelen = NAME_MAX};

	if (st.type == RAMFS_MAGIC) {
		st.blocks = DIV_ROUND_UP(archive_bytes(), PAGE_SIZE);
		st.flags = ST_RDONLY;
	}
	return copy_to_user((void *)user_st, &st, sizeof(st));
}

SYSCALL2(statfs, path, user_st)
{
	struct node *n;
	s64 ret = path_walk_user((u64)AT_FDCWD, path, WALK_FOLLOW, &n, NULL);

	if (ret)
		return ret;
	ret = put_statfs(n, user_st);
	node_put(n);
	return ret;
}

SYSCALL2(fstatfs, fd, user_st)
{
	struct fd_ref ref = fd_get(fd);
	s64 ret;

	if (!ref.file)
		return -EBADF;
	ret = put_statfs(ref.file->node, user_st);
	fd_put(ref);
	return ret;
}

/* ---- access: everybody is root, who may all but execute what nobody can and write to the archive ---- */

#define X_OK 1u
#define W_OK 2u
#define R_OK 4u

static s64 access_node(const struct node *n, u64 mode)
{
	if ((mode & X_OK) && S_ISREG(n->mode) && !(n->mode & S_IXUGO))
		return -EACCES;
	if ((mode & W_OK) && !S_ISCHR(n->mode) && n->ops != &text_ops)
		return -EROFS;
	return 0;
}

SYSCALL4(faccessat2, dirfd, path, mode, flags)
{
	struct node *n;
	s64 ret;

	if ((mode & ~(u64)(R_OK | W_OK | X_OK)) ||
	    (flags & ~(u64)(AT_EACCESS | AT_SYMLINK_NOFOLLOW)))
		return -EINVAL;
	ret = path_walk_user(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW, &n, NULL);
	if (ret)
		return ret;
	ret = access_node(n, mode);
	node_put(n);
	return ret;
}

SYSCALL3(faccessat, dirfd, path, mode)
{
	return sys_faccessat2(dirfd, path, mode, 0, 0, 0);
}

SYSCALL2(access, path, mode)
{
	return sys_faccessat2((u64)AT_FDCWD, path, mode, 0, 0, 0);
}

/* ---- calls that would change the tree ---- */

/* Change something about an existing file. */
static s64 refuse_change(u64 dirfd, u64 path, unsigned walk)
{
	struct node *n;
	s64 ret = path_walk_user(dirfd, path, walk, &n, NULL);

	if (ret)
		return ret;
	node_put(n);
	return -EROFS;
}

static s64 refuse_fd_change(u64 fd)
{
	struct fd_ref ref = fd_get(fd);

	fd_put(ref);
	if (!ref.file || (ref.file->flags & O_PATH))
		return -EBADF;
	return -EROFS;
}

/* Make a new name. */
static s64 refuse_create(u64 dirfd, u64 path)
{
	struct node *n;
	bool absent;
	s64 ret = path_walk_user(dirfd, path, 0, &n, &absent);

	if (ret)
		return absent ? -EROFS : ret;
	node_put(n);
	return -EEXIST;
}

static s64 refuse_remove(u64 dirfd, u64 path, bool dir)
{
	struct node *n;
	s64 ret = path_walk_user(dirfd, path, 0, &n, NULL);

	if (ret)
		return ret;
	ret = -EROFS;
	if (dir != S_ISDIR(n->mode))
		ret = dir ? -ENOTDIR : -EISDIR;
	else if (n == node_root)
		ret = -EBUSY;
	node_put(n);
	return ret;
}

/* rename and link: the old name must exist; on a link the new one must not. */
static s64 refuse_second_name(u64 old_dirfd, u64 old, u64 dirfd, u64 path, bool replace)
{
	s64 ret = refuse_change(old_dirfd, old, 0);

	if (ret == -EROFS)
		ret = refuse_create(dirfd, path);
	return ret == -EEXIST && replace ? -EROFS : ret;
}

#define CWD ((u64)AT_FDCWD)

SYSCALL1(mkdir, path)
{
	return refuse_create(CWD, path);
}

SYSCALL2(mkdirat, dirfd, path)
{
	return refuse_create(dirfd, path);
}

SYSCALL1(mknod, path)
{
	return refuse_create(CWD, path);
}

SYSCALL2(mknodat, dirfd, path)
{
	return refuse_create(dirfd, path);
}

SYSCALL3(symlinkat, target, dirfd, path)
{
	struct path_buf pb;
	s64 ret = path_get(&pb, target);

	if (ret)
		return ret;
	ret = *pb.path ? refuse_create(dirfd, path) : -ENOENT;
	path_put(&pb);
	return ret;
}

SYSCALL2(symlink, target, path)
{
	return sys_symlinkat(target, CWD, path, 0, 0, 0);
}

SYSCALL1(rmdir, path)
{
	return refuse_remove(CWD, path, true);
}

SYSCALL1(unlink, path)
{
	return refuse_remove(CWD, path, false);
}

SYSCALL3(unlinkat, dirfd, path, flags)
{
	return flags & ~(u64)AT_REMOVEDIR ? -EINVAL
					  : refuse_remove(dirfd, path, flags & AT_REMOVEDIR);
}

SYSCALL2(rename, old, path)
{
	return refuse_second_name(CWD, old, CWD, path, true);
}

SYSCALL4(renameat, old_dirfd, old, dirfd, path)
{
	return refuse_second_name(old_dirfd, old, dirfd, path, true);
}

SYSCALL5(renameat2, old_dirfd, old, dirfd, path, flags)
{
	const u64 noreplace = 1;

	return flags & ~noreplace
		       ? -EINVAL
		       : refuse_second_name(old_dirfd, old, dirfd, path, !(flags & noreplace));
}

SYSCALL2(link, old, path)
{
	return refuse_second_name(CWD, old, CWD, path, false);
}

SYSCALL4(linkat, old_dirfd, old, dirfd, path)
{
	return refuse_second_name(old_dirfd, old, dirfd, path, false);
}

SYSCALL1(chmod, path)
{
	return refuse_change(CWD, path, WALK_FOLLOW);
}

SYSCALL2(fchmodat, dirfd, path)
{
	return refuse_change(dirfd, path, WALK_FOLLOW);
}

SYSCALL1(fchmod, fd)
{
	return refuse_fd_change(fd);
}

SYSCALL1(chown, path)
{
	return refuse_change(CWD, path, WALK_FOLLOW);
}

SYSCALL1(lchown, path)
{
	return refuse_change(CWD, path, 0);
}

SYSCALL5(fchownat, dirfd, path, uid, gid, flags)
{
	(void)uid, (void)gid;
	return refuse_change(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW);
}

SYSCALL1(fchown, fd)
{
	return refuse_fd_change(fd);
}

SYSCALL4(utimensat, dirfd, path, times, flags)
{
	(void)times;
	if (!path)
		return refuse_fd_change(dirfd);
	return refuse_change(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW);
}

SYSCALL1(utime, path)
{
	return refuse_change(CWD, path, WALK_FOLLOW);
}

SYSCALL1(utimes, path)
{
	return refuse_change(CWD, path, WALK_FOLLOW);
}

SYSCALL2(truncate, path, len)
{
	struct node *n;
	s64 ret;

	if ((s64)len < 0)
		return -EINVAL;
	ret = path_walk_user(CWD, path, WALK_FOLLOW, &n, NULL);
	if (ret)
		return ret;
	ret = S_ISDIR(n->mode) ? -EISDIR : S_ISREG(n->mode) ? -EROFS : -EINVAL;
	node_put(n);
	return ret;
}

/* No regular file is ever open for writing. */
SYSCALL1(ftruncate, fd)
{
	struct fd_ref ref = fd_get(fd);

	fd_put(ref);
	return ref.file ? -EINVAL : -EBADF;
}

SYSCALL1(umask, mask)
{
	return __atomic_exchange_n(&current_process()->umask, (u32)mask & 0777, __ATOMIC_RELAXED);
}

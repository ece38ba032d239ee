/* SPDX-License-Identifier: MIT
 *
 * Questions about files: stat, statfs, access; and the calls that change the tree. Most of it is read-only: they find out which of Linux's
 * errors is the right one.
 */
#include "lib/string.h"
#include "sys/calls.h"
#include "sys/fd.h"
#include "sys/fsproto.h"
#include "sys/node.h"
#include "time/timer.h"

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
	int err = n->ops->refresh ? n->ops->refresh(n) : 0;
	struct kstat st = {.dev = n->ops->refresh ? 3 : 1,
			   .ino = n->ino,
			   .nlink = n->ops->refresh    ? n->nlink
				    : S_ISDIR(n->mode) ? 2
						       : 1,
			   .mode = n->mode,
			   .blksize = PAGE_SIZE};

	st.rdev = n->rdev;
	st.size = n->size;
	st.blocks = DIV_ROUND_UP(n->size, 512ull);
	st.atime = st.mtime = st.ctime = n->mtime;
	return err ? err : copy_to_user((void *)user_st, &st, sizeof(st));
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
	if (node_is_remote(n))
		return TMPFS_MAGIC;
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
	if ((mode & W_OK) && !S_ISCHR(n->mode) && n->ops != &text_ops && !n->ops->set)
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

/* ---- calls that change the tree: most of it is read-only ---- */

static s64 set_node(struct node *n, u32 which, u64 size, u32 mode, u32 mtime)
{
	return n->ops->set ? n->ops->set(n, which, size, mode, mtime) : -EROFS;
}

/* What chmod(2) and its kin say a file is to be. */
struct change {
	u32 which, mode, mtime;
	bool owner; /* also to somebody else, which there is not */
};

static s64 change_node(struct node *n, const struct change *c)
{
	if (n->ops->set && c->owner)
		return -EPERM;
	return set_node(n, c->which, 0, c->mode, c->mtime);
}

static s64 change_path(u64 dirfd, u64 path, unsigned walk, const struct change *c)
{
	struct node *n;
	s64 ret = path_walk_user(dirfd, path, walk, &n, NULL);

	if (ret)
		return ret;
	ret = change_node(n, c);
	node_put(n);
	return ret;
}

static s64 change_fd(u64 fd, const struct change *c)
{
	struct fd_ref ref = fd_get(fd);
	s64 ret = -EBADF;

	if (ref.file && !(ref.file->flags & O_PATH))
		ret = ref.file->node ? change_node(ref.file->node, c) : -EROFS;
	fd_put(ref);
	return ret;
}

/* Make a new name. */
static s64 make(u64 dirfd, u64 path, u32 mode, const char *target)
{
	struct node *n;
	bool absent;
	s64 ret = path_walk_user(dirfd, path, 0, &n, &absent);

	if (!ret) {
		node_put(n);
		return -EEXIST;
	}
	if (!absent)
		return ret;
	ret = path_create(dirfd, path, mode, target, &n);
	if (!ret)
		node_put(n);
	return ret;
}

static s64 remove(u64 dirfd, u64 path, bool dir)
{
	struct node *n;
	s64 ret = path_walk_user(dirfd, path, 0, &n, NULL);

	if (ret)
		return ret;
	ret = -EROFS;
	if (dir != S_ISDIR(n->mode))
		ret = dir ? -ENOTDIR : -EISDIR;
	else if (n == node_root || (node_is_remote(n) && !node_is_remote(n->parent)))
		ret = -EBUSY;
	else if (n->parent->ops->remove)
		ret = n->parent->ops->remove(n->parent, n->name, n->name_len, dir);
	node_put(n);
	return ret;
}

/* rename and link: the old name must exist; on a link the new one must not. Nothing here has two names. */
static s64 second_name(u64 old_dirfd, u64 old, u64 dirfd, u64 path, bool rename, bool replace)
{
	struct path_buf pb;
	struct node *n, *dir;
	const char *name;
	size_t len;
	s64 ret = path_walk_user(old_dirfd, old, 0, &n, NULL);

	if (ret)
		return ret;
	if (!replace) {
		ret = path_walk_user(dirfd, path, 0, &dir, NULL);
		if (!ret) {
			node_put(dir);
			ret = -EEXIST;
			goto out;
		}
	}
	ret = path_parent(dirfd, path, &pb, &dir, &name, &len);
	if (ret)
		goto out;
	if (node_is_remote(n) && !node_is_remote(n->parent))
		ret = -EBUSY;
	else if (n->ops->rename && !rename)
		ret = dir->ops->rename ? -EPERM : -EXDEV;
	else
		ret = n->ops->rename ? n->ops->rename(n, dir, name, len, replace) : -EROFS;
	node_put(dir);
	path_put(&pb);
out:
	node_put(n);
	return ret;
}

#define CWD ((u64)AT_FDCWD)

SYSCALL3(mkdirat, dirfd, path, mode)
{
	return make(dirfd, path, S_IFDIR | ((u32)mode & 01777), NULL);
}

SYSCALL2(mkdir, path, mode)
{
	return make(CWD, path, S_IFDIR | ((u32)mode & 01777), NULL);
}

SYSCALL3(mknodat, dirfd, path, mode)
{
	u32 type = (u32)mode & S_IFMT;

	/* No devices, no named pipes; links and what is no type at all cannot be meant. */
	if (type && type != S_IFREG)
		return type == S_IFIFO || type == S_IFSOCK || type == S_IFCHR || type == S_IFBLK ||
				       type == S_IFDIR
			       ? -EPERM
			       : -EINVAL;
	return make(dirfd, path, S_IFREG | ((u32)mode & 07777), NULL);
}

SYSCALL2(mknod, path, mode)
{
	return sys_mknodat(CWD, path, mode, 0, 0, 0);
}

SYSCALL3(symlinkat, target, dirfd, path)
{
	struct path_buf pb;
	s64 ret = path_get(&pb, target);

	if (ret)
		return ret;
	ret = *pb.path ? make(dirfd, path, S_IFLNK | 0777, pb.path) : -ENOENT;
	path_put(&pb);
	return ret;
}

SYSCALL2(symlink, target, path)
{
	return sys_symlinkat(target, CWD, path, 0, 0, 0);
}

SYSCALL1(rmdir, path)
{
	return remove(CWD, path, true);
}

SYSCALL1(unlink, path)
{
	return remove(CWD, path, false);
}

SYSCALL3(unlinkat, dirfd, path, flags)
{
	return flags & ~(u64)AT_REMOVEDIR ? -EINVAL : remove(dirfd, path, flags & AT_REMOVEDIR);
}

SYSCALL2(rename, old, path)
{
	return second_name(CWD, old, CWD, path, true, true);
}

SYSCALL4(renameat, old_dirfd, old, dirfd, path)
{
	return second_name(old_dirfd, old, dirfd, path, true, true);
}

SYSCALL5(renameat2, old_dirfd, old, dirfd, path, flags)
{
	const u64 noreplace = 1;

	return flags & ~noreplace
		       ? -EINVAL
		       : second_name(old_dirfd, old, dirfd, path, true, !(flags & noreplace));
}

SYSCALL2(link, old, path)
{
	return second_name(CWD, old, CWD, path, false, false);
}

SYSCALL5(linkat, old_dirfd, old, dirfd, path, flags)
{
	return flags & ~(u64)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)
		       ? -EINVAL
		       : second_name(old_dirfd, old, dirfd, path, false, false);
}

static struct change change_mode(u64 mode)
{
	return (struct change){.which = FS_SET_MODE, .mode = (u32)mode & 07777};
}

SYSCALL2(chmod, path, mode)
{
	struct change c = change_mode(mode);

	return change_path(CWD, path, WALK_FOLLOW, &c);
}

SYSCALL3(fchmodat, dirfd, path, mode)
{
	struct change c = change_mode(mode);

	return change_path(dirfd, path, WALK_FOLLOW, &c);
}

SYSCALL2(fchmod, fd, mode)
{
	struct change c = change_mode(mode);

	return change_fd(fd, &c);
}

static struct change change_owner(u64 uid, u64 gid)
{
	return (struct change){.owner = (u32)uid + 1 > 1 || (u32)gid + 1 > 1};
}

SYSCALL5(fchownat, dirfd, path, uid, gid, flags)
{
	struct change c = change_owner(uid, gid);

	if (flags & ~(u64)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	return change_path(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW, &c);
}

SYSCALL3(chown, path, uid, gid)
{
	return sys_fchownat(CWD, path, uid, gid, 0, 0);
}

SYSCALL3(lchown, path, uid, gid)
{
	return sys_fchownat(CWD, path, uid, gid, AT_SYMLINK_NOFOLLOW, 0);
}

SYSCALL3(fchown, fd, uid, gid)
{
	struct change c = change_owner(uid, gid);

	return change_fd(fd, &c);
}

static u64 real_seconds(void)
{
	return (wall_clock_base + machine_now()) / NSEC_PER_SEC;
}

/* Times: whole seconds, of the last change only. */
static struct change change_time(u64 seconds)
{
	return (struct change){.which = FS_SET_MTIME, .mtime = (u32)seconds};
}

#define UTIME_NOW  0x3fffffffu
#define UTIME_OMIT 0x3ffffffeu

SYSCALL4(utimensat, dirfd, path, times, flags)
{
	u64 ts[4] = {0, UTIME_NOW, 0, UTIME_NOW}; /* struct timespec of access and change */
	struct change c;

	if (times && copy_from_user(ts, (const void *)times, sizeof(ts)))
		return -EFAULT;
	c = change_time(ts[3] == UTIME_NOW ? real_seconds() : ts[2]);
	if (ts[3] == UTIME_OMIT)
		c.which = 0;
	else if (ts[3] != UTIME_NOW && ts[3] >= NSEC_PER_SEC)
		return -EINVAL;
	if (flags & ~(u64)(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	if (!path)
		return (s32)dirfd == AT_FDCWD ? -EFAULT : change_fd(dirfd, &c);
	return change_path(dirfd, path, flags & AT_SYMLINK_NOFOLLOW ? 0 : WALK_FOLLOW, &c);
}

/* struct utimbuf and struct timeval[2]: the second time is word 1 or word 2. */
static s64 change_path_time(u64 path, u64 times, unsigned word)
{
	u64 seconds = real_seconds();
	struct change c;

	if (times && get_user_u64(&seconds, (const u64 *)times + word))
		return -EFAULT;
	c = change_time(seconds);
	return change_path(CWD, path, WALK_FOLLOW, &c);
}

SYSCALL2(utime, path, times)
{
	return change_path_time(path, times, 1);
}

SYSCALL2(utimes, path, times)
{
	return change_path_time(path, times, 2);
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
	if (S_ISREG(n->mode))
		ret = set_node(n, FS_SET_SIZE, len, 0, 0);
	else
		ret = S_ISDIR(n->mode) ? -EISDIR : -EINVAL;
	node_put(n);
	return ret;
}

SYSCALL2(ftruncate, fd, len)
{
	struct fd_ref ref = fd_get(fd);
	s64 ret = -EINVAL;

	if (!ref.file)
		return -EBADF;
	/* Nothing else can be open for writing and have a length. */
	if ((s64)len >= 0 && ref.file->node && ref.file->node->ops->set &&
	    S_ISREG(ref.file->node->mode) && (ref.file->flags & O_ACCMODE) != O_RDONLY)
		ret = set_node(ref.file->node, FS_SET_SIZE, len, 0, 0);
	fd_put(ref);
	return ret;
}

SYSCALL1(umask, mask)
{
	return __atomic_exchange_n(&current_process()->umask, (u32)mask & 0777, __ATOMIC_RELAXED);
}

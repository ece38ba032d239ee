/* SPDX-License-Identifier: MIT
 *
 * The node tree: what path names lead to. Directories, files and links of the boot archive, devices and text nodes are made at
 * start-up and stay for good, without reference counts; nodes of /proc/PID are made by a lookup and counted.
 *
 * The permanent part changes only at start-up, before the first process runs: reading it needs no lock.
 */
#ifndef SYS_NODE_H
#define SYS_NODE_H

#include "ipc/file.h"
#include "lib/list.h"
#include "mm/mm.h"

struct strbuf;
struct process;

#define PATH_MAX  4096 /* with its NUL */
#define NAME_MAX  255
#define LINKS_MAX 40 /* symbolic links followed in one walk */

#define S_IFMT	   0170000u
#define S_IFIFO	   0010000u
#define S_IFCHR	   0020000u
#define S_IFDIR	   0040000u
#define S_IFBLK	   0060000u
#define S_IFREG	   0100000u
#define S_IFLNK	   0120000u
#define S_IFSOCK   0140000u
#define S_ISDIR(m) (((m)&S_IFMT) == S_IFDIR)
#define S_ISREG(m) (((m)&S_IFMT) == S_IFREG)
#define S_ISLNK(m) (((m)&S_IFMT) == S_IFLNK)
#define S_ISCHR(m) (((m)&S_IFMT) == S_IFCHR)
#define S_IXUGO	   0111u

#define MKDEV(major, minor) ((u32)(major) << 8 | (minor))

struct node;

/** struct dir_sink - where a directory listing goes; put() returns false when it is full. */
struct dir_sink {
	/**
	 * @next: position from which a later listing goes on. Called with spin locks held: it must not touch user memory.
	 */
	bool (*put)(struct dir_sink *sink, const char *name, size_t len, u64 ino, u32 mode,
		    u64 next);
	int err; /* why there is no more, or 0 */
};

/** struct node_ops - any may be NULL. Context: task, no locks. */
struct node_ops {
	/** @lookup: the member @name (not NUL-terminated) of a directory, with a reference. Return: 0, -ENOENT, -ENOMEM. */
	int (*lookup)(struct node *dir, const char *name, size_t len, struct node **out);
	/** @list: put the members from position @pos on (0 is the first; "." and ".." are not the directory's business). */
	void (*list)(struct node *dir, u64 pos, struct dir_sink *sink);
	/** @open: make a file. @flags: O_*, O_CREAT and the like are settled. */
	int (*open)(struct node *n, unsigned flags, struct file **out);
	/** @follow: where a computed link leads (may be @link itself if that has @open), with a reference. */
	int (*follow)(struct node *link, struct node **out);
	/** @readlink: text of a computed link. Return: length (cut to @size), or -errno. */
	s64 (*readlink)(struct node *link, char *buf, size_t size);
	/** @create: a new member with permissions and type @mode; a link with text @target. Return: 0 and *@out with a reference, -errno. */
	int (*create)(struct node *dir, const char *name, size_t len, u32 mode, const char *target,
		      struct node **out);
	/** @remove: take a member out of a directory, with @is_dir rmdir(2). Return: 0 or -errno. */
	int (*remove)(struct node *dir, const char *name, size_t len, bool is_dir);
	/** @rename: move @n to name @name of @dir, of any kind. Return: 0, -EXDEV, other errors of rename(2). */
	int (*rename)(struct node *n, struct node *dir, const char *name, size_t len, bool replace);
	/** @refresh: bring mode, size, mtime, nlink up to date. Return: 0 or -errno. */
	int (*refresh)(struct node *n);
	/** @set: change the attributes in @which (FS_SET_* of fsproto.h). Return: 0 or -errno. Without it the node cannot be changed. */
	int (*set)(struct node *n, u32 which, u64 size, u32 mode, u32 mtime);
	/** @release: the last reference of a counted node is gone; frees what the node owns, not the node. */
	void (*release)(struct node *n);
};

/** struct node - (c) constant, (a) atomic, (b) changes during start-up only. */
struct node {
	const struct node_ops *ops; /* (c) */
	struct node *parent;	    /* (c) a reference; the root's is itself */
	const char *name;	    /* (c) not NUL-terminated */
	u16 name_len;		    /* (c) */
	bool counted;		    /* (c) has references; else permanent */
	u32 refs;		    /* (a) */
	u32 mode;		    /* (b) S_IF* and permissions */
	u32 rdev;		    /* (c) MKDEV() of a device */
	u32 mtime;		    /* (b) s since 1970 */
	u32 nlink;		    /* of a node with ops->refresh */
	u64 ino;		    /* (c) */
	const u8 *data; /* (b) contents of a regular file, target of a link: in the boot archive */
	u64 size;	/* (b) bytes of them */
	struct vm_object object; /* maps a regular file's pages */
	const void *desc;	 /* (c) of the owner: device, text description */
	u64 arg;		 /* (c) of the owner: a pid, an irq number */
	struct node *
		mount; /* under mount_lock: what is mounted on a permanent directory, with a reference */
	struct list members;	/* (b) of a permanent directory */
	struct list sibling;	/* (b) on parent->members */
	struct node *hash_next; /* (b) */
	char label[24];		/* (c) storage for name where it is computed */
};

extern struct node *node_root; /* constant after node_init() */

/** node_init() - make the root directory. Start-up, once. */
void node_init(void);

/** node_cwd() - the current process's working directory, with a reference. */
struct node *node_cwd(void);

/** node_cwd_of() - the working directory of any process, with a reference. Return: NULL if it has ended. */
struct node *node_cwd_of(struct process *p);

/** node_set_cwd() - change it; takes over the reference. */
void node_set_cwd(struct node *dir);

/**
 * node_add() - make a permanent node. @name (not NUL-terminated) must stay for good. Start-up only.
 * Return: NULL if out of memory.
 */
struct node *node_add(struct node *dir, const char *name, size_t len, u32 mode,
		      const struct node_ops *ops);

/** node_add_dir() - find or make permanent directory @name (a constant) below @dir. Start-up only. Return: NULL: out of memory, or no directory. */
struct node *node_add_dir(struct node *dir, const char *name);

/** node_child() - Return: permanent member @name of permanent directory @dir, or NULL. */
struct node *node_child(struct node *dir, const char *name, size_t len);

/** node_create() - a counted node (one reference) below @dir, which gains one. @name: NULL = the caller fills label. Return: NULL if out of memory. */
struct node *node_create(struct node *dir, const char *name, u32 mode, const struct node_ops *ops);

extern const struct node_ops static_dir_ops;  /* permanent directories */
extern const struct node_ops static_link_ops; /* links with their text in data, size */
extern const struct node_ops archive_ops;     /* regular files of the archive */
extern const struct vm_object_ops archive_object_ops;

/** node_mount() - mount @root (its reference is taken over) on permanent directory @dir instead of what was there. */
void node_mount(struct node *dir, struct node *root);

#define WALK_FOLLOW 1u /* follow a link in the last place too */

/**
 * node_walk() - resolve @path, from @base if it is relative.
 * @absent: NULL, or told whether -ENOENT is about the last component only (its directory exists).
 * Return: 0 with a reference in *@out; -ENOENT, -ENOTDIR, -ELOOP, -ENAMETOOLONG, -ENOMEM.
 */
int node_walk(struct node *base, const char *path, unsigned flags, struct node **out, bool *absent);

/** node_path() - write the absolute path of @n. Return: its length without NUL, -ERANGE. */
s64 node_path(struct node *n, char *buf, size_t size);

/** node_open() - open @n. @flags: O_*. Return: 0; -EISDIR, -ENOTDIR, -EROFS, -ELOOP (a link), -ENXIO, -ENOMEM ... */
int node_open(struct node *n, unsigned flags, struct file **out);

/** file_flags() - what of open(2)'s @flags stays with the file. */
static inline unsigned file_flags(unsigned flags)
{
	return flags & ~(O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_CLOEXEC);
}

/** file_for_node() - file_create() for @n, of which the file keeps a reference. Return: 0 or -ENOMEM. */
int file_for_node(const struct file_ops *ops, unsigned flags, void *object, struct node *n,
		  struct file **out);

/** seek_bounded() - lseek(2) for a file of @size bytes; @size ~0: SEEK_END is not possible. */
s64 seek_bounded(struct file *f, s64 offset, int whence, u64 size);
/** seek_node() - file_ops.seek for files and directories: the size is the node's. */
s64 seek_node(struct file *f, s64 offset, int whence);
/** read_bytes() - copy from @data (@size bytes) at *@pos to the user and move *@pos. Return: bytes, -EFAULT. */
s64 read_bytes(const void *data, u64 size, void *user_buf, size_t n, u64 *pos);
/** poll_always() - file_ops.poll of what never blocks. */
unsigned poll_always(struct file *f, struct poll_table *pt);

/* ---- path names of system calls (path.c) ---- */

/** struct path_buf - a path copied from user mode. */
struct path_buf {
	char *path;
	char small[200];
};

/** path_get() - copy @user_path. Return: 0 (then path_put() it); -EFAULT, -ENAMETOOLONG, -ENOMEM. */
int path_get(struct path_buf *pb, u64 user_path);
void path_put(struct path_buf *pb);

#define AT_FDCWD	    (-100)
#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_REMOVEDIR	    0x200u
#define AT_EACCESS	    0x200u
#define AT_SYMLINK_FOLLOW   0x400u
#define AT_EMPTY_PATH	    0x1000u

/** path_walk_at() - node_walk() of a kernel string, relative to descriptor @dirfd. Return: as node_walk(), -EBADF. */
int path_walk_at(u64 dirfd, const char *path, unsigned flags, struct node **out, bool *absent);
/** path_walk_user() - the same with a path in user memory. Return: also -EFAULT. */
int path_walk_user(u64 dirfd, u64 user_path, unsigned flags, struct node **out, bool *absent);

/**
 * path_parent() - the directory in which the last component of @user_path is, with a reference, and that component in @pb, which stays to be
 * path_put(). Return: 0; as path_walk_user(); -EBUSY if there is no name to make or replace (".", "..", "/").
 */
int path_parent(u64 dirfd, u64 user_path, struct path_buf *pb, struct node **dir, const char **name,
		size_t *len);
/** path_create() - create what is not there. @mode: with type; umask applies. Return: 0 with a reference in *@out; -EROFS; as node_ops.create. */
s64 path_create(u64 dirfd, u64 user_path, u32 mode, const char *target, struct node **out);

/* ---- files of servers in user mode (remote.c) ---- */

bool node_is_remote(const struct node *n);
/** remote_load() - read the first @size bytes of @n into kernel memory. Return: bytes, -errno. */
s64 remote_load(struct node *n, u8 *buf, u64 size);

/* ---- boot archive (archive.c) ---- */

/**
 * archive_unpack() - add the cpio (newc) archive at @data to the tree; files already there are replaced. Nothing is copied: @data must
 * stay for good. A corrupt archive is read up to its first bad entry. @name: for the log, NULL = no line. @root: directory to unpack into.
 * Return: entries added; -EINVAL (after a log line) if the archive is corrupt or not cpio; -ENOMEM.
 */
s64 archive_unpack(struct node *root, const u8 *data, u64 size, const char *name);

/** archive_bytes() - bytes of all archives unpacked, for statfs(2). */
u64 archive_bytes(void);

/* ---- text nodes (text.c) ---- */

/** struct text_desc - a file whose contents are generated when it is opened: one reader sees one state. */
struct text_desc {
	const char *name;
	u32 mode; /* permissions */
	/** @show: NULL: not readable. Context: task. Return: 0 or the error that open(2) gets. */
	int (*show)(struct strbuf *sb, u64 arg);
	/** @store: NULL: not writable. @text: NUL-terminated, one write(2). Return: 0 or -errno. */
	int (*store)(const char *text, size_t n, u64 arg);
};

extern const struct node_ops text_ops; /* node.desc: struct text_desc, node.arg: its argument */

/** text_add() - a permanent text node in @dir. @desc stays for good. Start-up only. Return: 0 or -ENOMEM. */
int text_add(struct node *dir, const struct text_desc *desc, u64 arg);
/** text_write() - append raw bytes to @sb. */
void text_write(struct strbuf *sb, const void *data, size_t n);

/* ---- start-up ---- */

/** sys_init() - make the node tree: /dev, /proc, /sys, then the boot archives over it. Start-up, task context, once. */
void sys_init(void);
int dev_init(void);	   /* 0 or -ENOMEM */
int proc_init(void);	   /* 0 or -ENOMEM */
int sched_text_init(void); /* /sys/sched; 0 or -ENOMEM */

/** trace_make_rings() - memory for scheduler records, if there is none yet. Return: 0, -ENOMEM or -EBUSY (just now being made). Context: task or start-up. */
int trace_make_rings(void);
extern const struct file_ops trace_file_ops;

/** sys_exec_init() - the current process becomes program @path with argv { @path }; descriptors 0, 1, 2 are /dev/console. Return: 0 or -errno. */
int sys_exec_init(const char *path);

/**
 * file_mmap_object() - the object that mmap(2) of @fd maps. @vm_flags: VM_* wanted. Return: 0 with a reference in *@object (NULL: anonymous);
 * -EBADF, -EACCES (open mode), -ENODEV (cannot be mapped), -EINVAL (offset).
 */
int file_mmap_object(int fd, u64 offset, u64 len, u32 vm_flags, u64 prot,
		     struct vm_object **object);

/** load_average() - runnable tasks averaged over 1, 5 and 15 minutes, in 1/65536 (as sysinfo(2) wants). */
void load_average(u64 load[3]);

#endif

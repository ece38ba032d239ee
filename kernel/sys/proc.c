/* SPDX-License-Identifier: MIT
 *
 * The tree of /proc: a directory for each process, made when it is looked up. A process may end at any moment, so nodes keep its pid and every
 * operation looks for it anew: gone is -ENOENT or -ESRCH.
 */
#include "sys/proc.h"

#include "lib/format.h"
#include "lib/string.h"
#include "sys/fd.h"

/* ---- links ---- */

static s64 put_link(char *buf, size_t size, const char *text)
{
	size_t len = min(strlen(text), size);

	/* What readlink(2) gives is not terminated. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
	memcpy(buf, text, len);
	return (s64)len;
}

static s64 self_readlink(struct node *link, char *buf, size_t size)
{
	char text[12];

	(void)link;
	if (!current_process())
		return -ENOENT;
	ksnprintf(text, sizeof(text), "%u", current_process()->pid);
	return put_link(buf, size, text);
}

static int self_follow(struct node *link, struct node **out)
{
	char text[12];

	if (!current_process())
		return -ENOENT;
	ksnprintf(text, sizeof(text), "%u", current_process()->pid);
	return link->parent->ops->lookup(link->parent, text, strlen(text), out);
}

static const struct node_ops self_ops = {.follow = self_follow, .readlink = self_readlink};

static int exe_path(struct node *link, char *buf, size_t size)
{
	struct process *p = process_find((u32)link->arg);
	bool any;

	if (!p)
		return -ENOENT;
	memcpy(buf, p->exe,
	       min(size,
		   sizeof(p->exe))); /* may be torn by an exec: one name or the other would be as stale */
	buf[min(size, sizeof(p->exe)) - 1] = '\0';
	any = buf[0] && p->state == PROC_ALIVE;
	process_put(p);
	return any ? 0 : -ENOENT;
}

static s64 exe_readlink(struct node *link, char *buf, size_t size)
{
	char path[sizeof(((struct process *)0)->exe)];
	int err = exe_path(link, path, sizeof(path));

	return err ? err : put_link(buf, size, path);
}

static int exe_follow(struct node *link, struct node **out)
{
	char path[sizeof(((struct process *)0)->exe)];
	int err = exe_path(link, path, sizeof(path));

	return err ? err : node_walk(node_root, path, WALK_FOLLOW, out, NULL);
}

static const struct node_ops exe_ops = {.follow = exe_follow, .readlink = exe_readlink};

static int cwd_follow(struct node *link, struct node **out)
{
	struct process *p = process_find((u32)link->arg);

	if (!p)
		return -ENOENT;
	*out = node_cwd_of(p);
	process_put(p);
	return *out ? 0 : -ENOENT;
}

/* The full path of @n as a link's text; gives @n's reference up. */
static s64 put_node_path(struct node *n, char *buf, size_t size)
{
	char *path = kmalloc(PATH_MAX);
	s64 len = path ? node_path(n, path, PATH_MAX) : -ENOMEM;

	if (len >= 0)
		len = put_link(buf, size, path);
	kfree(path, PATH_MAX);
	node_put(n);
	return len;
}

static s64 cwd_readlink(struct node *link, char *buf, size_t size)
{
	struct node *n;
	int err = cwd_follow(link, &n);

	return err ? err : put_node_path(n, buf, size);
}

static const struct node_ops cwd_ops = {.follow = cwd_follow, .readlink = cwd_readlink};

/* ---- /proc/PID/fd ---- */

/* The descriptor table of process @pid with a reference, or NULL. */
static struct files *files_of(u32 pid)
{
	struct process *p = process_find(pid);
	struct files *files = NULL;

	if (!p)
		return NULL;
	spin_lock(&tree_lock);
	if (p->files)
		files = files_fork(p->files, true);
	spin_unlock(&tree_lock);
	process_put(p);
	return files;
}

static struct file *file_of(u32 pid, u32 fd)
{
	struct files *files = files_of(pid);
	struct file *file = files ? fd_file(files, fd) : NULL;

	files_put(files);
	return file;
}

static u64 fd_arg(u32 pid, u32 fd)
{
	return (u64)pid << 32 | fd;
}

/* A file without a node (a pipe) leads to the link itself, whose open() gives the same file once more. */
static int fd_follow(struct node *link, struct node **out)
{
	struct file *file = file_of((u32)(link->arg >> 32), (u32)link->arg);

	if (!file)
		return -ENOENT;
	*out = file->node ? file->node : link;
	node_get(*out);
	file_put(file);
	return 0;
}

static s64 fd_readlink(struct node *link, char *buf, size_t size)
{
	struct file *file = file_of((u32)(link->arg >> 32), (u32)link->arg);
	char text[40];
	s64 ret;

	if (!file)
		return -ENOENT;
	if (file->node) {
		node_get(file->node);
		ret = put_node_path(file->node, buf, size);
	} else {
		ksnprintf(text, sizeof(text), "%s:[%llu]",
			  file_is_pipe(file) ? "pipe" : "anon_inode",
			  (unsigned long long)((u64)file->object >> 4 & 0xffffffff));
		ret = put_link(buf, size, text);
	}
	file_put(file);
	return ret;
}

/* Linux would make a new open file of the pipe; here the descriptors share one, which differs only in O_NONBLOCK. */
static int fd_open(struct node *link, unsigned flags, struct file **out)
{
	struct file *file = file_of((u32)(link->arg >> 32), (u32)link->arg);
	unsigned has;

	if (!file)
		return -ENOENT;
	has = file->flags & O_ACCMODE;
	if (has != O_RDWR && has != (flags & O_ACCMODE)) {
		file_put(file);
		return -EACCES;
	}
	*out = file;
	return 0;
}

static const struct node_ops fd_link_ops = {
	.follow = fd_follow, .readlink = fd_readlink, .open = fd_open};

static bool parse_number(const char *name, size_t len, u32 max, u32 *out)
{
	u64 v;
	char text[12];

	if (len == 0 || len >= sizeof(text) || name[0] < '0' || name[0] > '9' ||
	    (name[0] == '0' && len > 1))
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	if (!parse_u64(text, &v) || v > max)
		return false;
	*out = (u32)v;
	return true;
}

/* A node named by a number. */
static struct node *number_node(struct node *dir, u32 number, u32 mode, const struct node_ops *ops,
				u64 arg)
{
	struct node *n = node_create(dir, NULL, mode, ops);

	if (!n)
		return NULL;
	n->name_len = (u16)ksnprintf(n->label, sizeof(n->label), "%u", number);
	n->arg = arg;
	return n;
}

static int fd_lookup(struct node *dir, const char *name, size_t len, struct node **out)
{
	struct file *file;
	u32 fd, mode;

	if (!parse_number(name, len, FD_MAX - 1, &fd))
		return -ENOENT;
	file = file_of((u32)dir->arg, fd);
	if (!file)
		return -ENOENT;
	mode = S_IFLNK | 0100;
	if (!(file->flags & O_WRONLY))
		mode |= 0400;
	if (file->flags & O_ACCMODE)
		mode |= 0200;
	file_put(file);
	*out = number_node(dir, fd, mode, &fd_link_ops, fd_arg((u32)dir->arg, fd));
	return *out ? 0 : -ENOMEM;
}

static void fd_list(struct node *dir, u64 pos, struct dir_sink *sink)
{
	struct files *files = files_of((u32)dir->arg);
	char text[12];

	if (!files)
		return;
	for (unsigned fd = fd_next(files, (unsigned)min(pos, (u64)FD_MAX)); fd < FD_MAX;
	     fd = fd_next(files, fd + 1)) {
		size_t len = (size_t)ksnprintf(text, sizeof(text), "%u", fd);

		if (!sink->put(sink, text, len, dir->ino + fd + 1, S_IFLNK, fd + 1))
			break;
	}
	files_put(files);
}

static const struct node_ops fd_dir_ops = {.lookup = fd_lookup, .list = fd_list};

/* ---- /proc/PID ---- */

static const struct pid_entry {
	const char *name;
	u32 mode;
	const struct node_ops *ops;
} pid_entries[] = {
	{"exe", S_IFLNK | 0777, &exe_ops},
	{"cwd", S_IFLNK | 0777, &cwd_ops},
	{"fd", S_IFDIR | 0500, &fd_dir_ops},
};

static bool name_is(const char *entry, const char *name, size_t len)
{
	return strlen(entry) == len && !memcmp(entry, name, len);
}

static bool process_exists(u32 pid)
{
	struct process *p = process_find(pid);

	if (p)
		process_put(p);
	return p;
}

static int pid_lookup(struct node *dir, const char *name, size_t len, struct node **out)
{
	if (!process_exists((u32)dir->arg))
		return -ENOENT;
	*out = NULL;
	for (const struct text_desc *d = pid_texts; d->name; d++) {
		if (!name_is(d->name, name, len))
			continue;
		*out = node_create(dir, d->name, S_IFREG | d->mode, &text_ops);
		if (!*out)
			return -ENOMEM;
		(*out)->desc = d;
	}
	for (size_t i = 0; i < ARRAY_SIZE(pid_entries); i++) {
		if (!name_is(pid_entries[i].name, name, len))
			continue;
		*out = node_create(dir, pid_entries[i].name, pid_entries[i].mode,
				   pid_entries[i].ops);
		if (!*out)
			return -ENOMEM;
	}
	if (!*out)
		return -ENOENT;
	(*out)->arg = dir->arg;
	return 0;
}

static void pid_list(struct node *dir, u64 pos, struct dir_sink *sink)
{
	u64 at = 0;

	for (const struct text_desc *d = pid_texts; d->name; d++)
		if (at++ >= pos &&
		    !sink->put(sink, d->name, strlen(d->name), dir->ino + at, S_IFREG, at))
			return;
	for (size_t i = 0; i < ARRAY_SIZE(pid_entries); i++) {
		const struct pid_entry *e = &pid_entries[i];

		if (at++ >= pos &&
		    !sink->put(sink, e->name, strlen(e->name), dir->ino + at, e->mode, at))
			return;
	}
}

static const struct node_ops pid_dir_ops = {.lookup = pid_lookup, .list = pid_list};

/* ---- /proc ---- */

static int proc_lookup(struct node *dir, const char *name, size_t len, struct node **out)
{
	u32 pid;

	if (!static_dir_ops.lookup(dir, name, len, out))
		return 0;
	if (!parse_number(name, len, 0x7fffffff, &pid) || !process_exists(pid))
		return -ENOENT;
	*out = number_node(dir, pid, S_IFDIR | 0555, &pid_dir_ops, pid);
	return *out ? 0 : -ENOMEM;
}

/*
 * Processes come after the permanent members, oldest first. The position is the start time of the next one: processes that come and go
 * between two calls make no other entry vanish or appear twice.
 */
#define POS_PROCESSES (1ull << 32)

static void proc_list(struct node *dir, u64 pos, struct dir_sink *sink)
{
	struct process *p;
	char text[12];

	if (pos < POS_PROCESSES) {
		struct node *n;
		u64 at = 0;

		list_for_each (n, &dir->members, sibling)
			if (at++ >= pos &&
			    !sink->put(sink, n->name, n->name_len, n->ino, n->mode, at))
				return;
		pos = POS_PROCESSES;
	}
	spin_lock(&tree_lock);
	list_for_each (p, &process_list, all) {
		size_t len;

		if (p->start_ns + POS_PROCESSES < pos)
			continue;
		len = (size_t)ksnprintf(text, sizeof(text), "%u", p->pid);
		if (!sink->put(sink, text, len, POS_PROCESSES + p->pid, S_IFDIR,
			       p->start_ns + POS_PROCESSES + 1))
			break;
	}
	spin_unlock(&tree_lock);
}

static const struct node_ops proc_ops = {.lookup = proc_lookup, .list = proc_list};

int proc_init(void)
{
	struct node *proc = node_add(node_root, "proc", 4, S_IFDIR | 0555, &proc_ops);

	if (!proc || !node_add(proc, "self", 4, S_IFLNK | 0777, &self_ops))
		return -ENOMEM;
	return proc_text_init(proc);
}

/* SPDX-License-Identifier: MIT
 *
 * The node tree: permanent nodes found by a hash of (directory, name), counted nodes made by their directory, and the walk along a path.
 */
#include "sys/node.h"

#include "ipc/copy.h"
#include "lib/string.h"
#include "log.h"
#include "task/thread.h"

#define HASH_SIZE 1024

static struct node *hash_table[HASH_SIZE]; /* permanent nodes; changes during start-up only */
static struct object_cache *node_cache;
static u64 next_ino = 1;				      /* atomic */
static spinlock_t cwd_lock = SPINLOCK_INIT("cwd", LOCK_NODE); /* process.cwd of every process */

static spinlock_t mount_lock = SPINLOCK_INIT("mount", LOCK_NODE);

struct node *node_root;

/* ---- references ---- */

void node_get(struct node *n)
{
	if (n->counted)
		__atomic_add_fetch(&n->refs, 1, __ATOMIC_RELAXED);
}

void node_put(struct node *n)
{
	while (n && n->counted && !__atomic_sub_fetch(&n->refs, 1, __ATOMIC_ACQ_REL)) {
		struct node *parent = n->parent;

		if (n->ops->release)
			n->ops->release(n);
		cache_free(node_cache, n);
		n = parent;
	}
}

struct node *node_cwd(void)
{
	struct process *p = current_process();
	struct node *dir = node_root;

	spin_lock(&cwd_lock);
	if (p && p->cwd)
		dir = p->cwd;
	node_get(dir);
	spin_unlock(&cwd_lock);
	return dir;
}

struct node *node_cwd_of(struct process *p)
{
	struct node *dir;

	spin_lock(&cwd_lock);
	spin_lock(&tree_lock); /* the end of a process takes its directory away under it */
	dir = p->cwd ? p->cwd : p->state == PROC_ALIVE ? node_root : NULL;
	if (dir)
		node_get(dir);
	spin_unlock(&tree_lock);
	spin_unlock(&cwd_lock);
	return dir;
}

void node_set_cwd(struct node *dir)
{
	struct process *p = current_process();
	struct node *old;

	spin_lock(&cwd_lock);
	old = p->cwd;
	p->cwd = dir;
	spin_unlock(&cwd_lock);
	node_put(old);
}

/* ---- making nodes ---- */

static unsigned hash_name(const struct node *dir, const char *name, size_t len)
{
	u32 h = 2166136261u ^ (u32)dir->ino * 2654435761u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (u8)name[i]) * 16777619u;
	return (h ^ h >> 15) % HASH_SIZE;
}

static struct node *node_alloc(struct node *dir, u32 mode, const struct node_ops *ops)
{
	struct node *n = cache_zalloc(node_cache);

	if (!n)
		return NULL;
	n->ops = ops;
	n->parent = dir ? dir : n;
	n->mode = mode;
	n->ino = __atomic_fetch_add(&next_ino, 1, __ATOMIC_RELAXED);
	n->object.ops = &archive_object_ops;
	n->object.refs = 1; /* the node's own: never given back */
	list_init(&n->members);
	list_init(&n->sibling);
	return n;
}

struct node *node_add(struct node *dir, const char *name, size_t len, u32 mode,
		      const struct node_ops *ops)
{
	struct node *n = node_alloc(dir, mode, ops);
	unsigned h;

	if (!n)
		return NULL;
	n->name = name;
	n->name_len = (u16)len;
	h = hash_name(dir, name, len);
	n->hash_next = hash_table[h];
	hash_table[h] = n;
	list_add_tail(&n->sibling, &dir->members);
	return n;
}

struct node *node_add_dir(struct node *dir, const char *name)
{
	struct node *n = node_child(dir, name, strlen(name));

	if (n)
		return S_ISDIR(n->mode) ? n : NULL;
	return node_add(dir, name, strlen(name), S_IFDIR | 0755, &static_dir_ops);
}

struct node *node_create(struct node *dir, const char *name, u32 mode, const struct node_ops *ops)
{
	struct node *n = node_alloc(dir, mode, ops);

	if (!n)
		return NULL;
	n->counted = true;
	n->refs = 1;
	n->name = name ? name : n->label;
	n->name_len = (u16)(name ? strlen(name) : 0);
	node_get(dir);
	return n;
}

void node_init(void)
{
	node_cache = cache_create("node", sizeof(struct node));
	if (node_cache)
		node_root = node_alloc(NULL, S_IFDIR | 0755, &static_dir_ops);
	if (!node_root)
		panic("no memory for the root directory");
}

/* ---- permanent directories and links ---- */

struct node *node_child(struct node *dir, const char *name, size_t len)
{
	struct node *n = hash_table[hash_name(dir, name, len)];

	while (n && (n->parent != dir || n->name_len != len || memcmp(n->name, name, len)))
		n = n->hash_next;
	return n;
}

static int static_lookup(struct node *dir, const char *name, size_t len, struct node **out)
{
	*out = node_child(dir, name, len);
	return *out ? 0 : -ENOENT;
}

static void static_list(struct node *dir, u64 pos, struct dir_sink *sink)
{
	struct node *n;
	u64 at = 0;

	list_for_each (n, &dir->members, sibling) {
		if (at++ < pos)
			continue;
		if (!sink->put(sink, n->name, n->name_len, n->ino, n->mode, at))
			return;
	}
}

const struct node_ops static_dir_ops = {.lookup = static_lookup, .list = static_list};
const struct node_ops static_link_ops = {0};

/* ---- paths ---- */

/*
 * struct walk - a walk under way: [p, end) is what remains of the path. A link met on the way puts its text in front of the remainder,
 * right-aligned in buf, so nothing recurses.
 */
struct walk {
	struct node *at; /* a reference */
	const char *p, *end;
	char *buf; /* PATH_MAX bytes, once needed */
	unsigned links;
};

static void walk_to(struct walk *w, struct node *n)
{
	node_put(w->at);
	w->at = n;
}

/* Go on at where @link (a reference, given up) leads. */
static int walk_link(struct walk *w, struct node *link)
{
	size_t rest = (size_t)(w->end - w->p);
	struct node *target;
	int err = 0;

	if (++w->links > LINKS_MAX) {
		err = -ELOOP;
	} else if (link->ops->follow) {
		err = link->ops->follow(link, &target);
		if (!err)
			walk_to(w, target);
	} else if (link->size == 0) {
		err = -ENOENT;
	} else if (link->size + rest >= PATH_MAX) {
		err = -ENAMETOOLONG;
	} else if (rest == 0 && !link->counted) {
		w->p = (const char *)link->data;
		w->end = w->p + link->size;
	} else if (!w->buf && !(w->buf = kmalloc(PATH_MAX))) {
		err = -ENOMEM;
	} else {
		memmove(w->buf + PATH_MAX - rest, w->p, rest);
		w->end = w->buf + PATH_MAX;
		w->p = memcpy(w->buf + PATH_MAX - rest - link->size, link->data, link->size);
	}
	if (!err && !link->ops->follow && *w->p == '/')
		walk_to(w, node_root);
	node_put(link);
	return err;
}

void node_mount(struct node *dir, struct node *root)
{
	struct node *old;

	spin_lock(&mount_lock);
	old = dir->mount;
	dir->mount = root;
	spin_unlock(&mount_lock);
	node_put(old);
}

/* Give up permanent directory @n for what is mounted there. */
static struct node *cross_mount(struct node *n)
{
	spin_lock(&mount_lock);
	n = n->mount;
	node_get(n);
	spin_unlock(&mount_lock);
	return n;
}

/* One component. */
static int walk_step(struct walk *w, const char *name, size_t len, unsigned flags)
{
	struct node *next;
	int err;

	if (!S_ISDIR(w->at->mode))
		return -ENOTDIR;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	if (len == 1 && name[0] == '.')
		return 0;
	if (len == 2 && name[0] == '.' && name[1] == '.') {
		next = w->at->parent;
		node_get(next);
	} else {
		err = w->at->ops->lookup(w->at, name, len, &next);
		if (err)
			return err;
		if (unlikely(READ_ONCE(next->mount)))
			next = cross_mount(next); /* never taken away, only replaced */
	}
	if (S_ISLNK(next->mode) && (w->p != w->end || (flags & WALK_FOLLOW)))
		return walk_link(w, next);
	walk_to(w, next);
	return 0;
}

static bool only_slashes(const char *p, const char *end)
{
	while (p < end && *p == '/')
		p++;
	return p == end;
}

int node_walk(struct node *base, const char *path, unsigned flags, struct node **out, bool *absent)
{
	struct walk w = {.p = path, .end = path + strlen(path)};
	int err = 0;

	if (absent)
		*absent = false;
	if (w.p == w.end)
		return -ENOENT;
	if (w.end - w.p >= PATH_MAX)
		return -ENAMETOOLONG;
	w.at = *path == '/' ? node_root : base;
	node_get(w.at);
	while (!err) {
		const char *name;

		while (w.p < w.end && *w.p == '/')
			w.p++;
		if (w.p == w.end) {
			if (w.end[-1] == '/' && !S_ISDIR(w.at->mode))
				err = -ENOTDIR;
			break;
		}
		name = w.p;
		while (w.p < w.end && *w.p != '/')
			w.p++;
		err = walk_step(&w, name, (size_t)(w.p - name), flags);
		if (err == -ENOENT && absent)
			*absent = only_slashes(w.p, w.end);
	}
	kfree(w.buf, PATH_MAX);
	if (err)
		node_put(w.at);
	else
		*out = w.at;
	return err;
}

s64 node_path(struct node *n, char *buf, size_t size)
{
	size_t at = size, len;

	if (size < 2)
		return -ERANGE;
	buf[--at] = '\0';
	if (n == node_root)
		buf[--at] = '/';
	for (; n != node_root; n = n->parent) {
		if (at < (size_t)n->name_len + 1)
			return -ERANGE;
		at -= n->name_len;
		memcpy(buf + at, n->name, n->name_len);
		buf[--at] = '/';
	}
	len = size - at;
	memmove(buf, buf + at, len);
	return (s64)len - 1;
}

/* ---- opening; helpers for files ---- */

static s64 dir_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	(void)f, (void)user_buf, (void)n, (void)pos;
	return -EISDIR;
}

static const struct file_ops dir_file_ops = {
	.read = dir_read, .seek = seek_node, .poll = poll_always};
static const struct file_ops path_file_ops = {0}; /* O_PATH */

int node_open(struct node *n, unsigned flags, struct file **out)
{
	bool write = (flags & O_ACCMODE) != O_RDONLY;
	const struct file_ops *ops = NULL;

	if ((flags & O_DIRECTORY) && !S_ISDIR(n->mode))
		return -ENOTDIR;
	if (flags & O_PATH)
		ops = &path_file_ops;
	else if (S_ISDIR(n->mode) && (write || (flags & O_CREAT)))
		return -EISDIR;
	else if (S_ISDIR(n->mode))
		ops = &dir_file_ops;
	else if (!n->ops->open)
		return S_ISLNK(n->mode) ? -ELOOP : -ENXIO;
	if (!ops)
		return n->ops->open(n, file_flags(flags) | (n->ops->set ? flags & O_TRUNC : 0),
				    out);
	return file_for_node(ops, file_flags(flags), n, n, out);
}

int file_for_node(const struct file_ops *ops, unsigned flags, void *object, struct node *n,
		  struct file **out)
{
	node_get(n);
	*out = file_create(ops, flags, object, n);
	if (*out)
		return 0;
	node_put(n);
	return -ENOMEM;
}

s64 seek_bounded(struct file *f, s64 offset, int whence, u64 size)
{
	s64 base;

	switch (whence) {
	case 0:
		base = 0;
		break;
	case 1:
		base = (s64)f->pos;
		break;
	case 2:
		if (size == ~0ull)
			return -EINVAL;
		base = (s64)size;
		break;
	default:
		return -EINVAL;
	}
	if (__builtin_add_overflow(base, offset, &base))
		return -EOVERFLOW;
	if (base < 0)
		return -EINVAL;
	f->pos = (u64)base;
	return base;
}

s64 seek_node(struct file *f, s64 offset, int whence)
{
	return seek_bounded(f, offset, whence, f->node->size);
}

s64 read_bytes(const void *data, u64 size, void *user_buf, size_t n, u64 *pos)
{
	if (*pos >= size)
		return 0;
	n = min((u64)n, size - *pos);
	if (copy_out(user_buf, (const u8 *)data + *pos, n))
		return -EFAULT;
	*pos += n;
	return (s64)n;
}

unsigned poll_always(struct file *f, struct poll_table *pt)
{
	(void)f, (void)pt;
	return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
}

/* SPDX-License-Identifier: MIT
 *
 * Boot archives: cpio files in "newc" form that the boot loader left in memory. Nodes point into them; a file whose data is page-aligned
 * there is mapped straight from the archive. Nothing in an archive is trusted.
 */
#include "lib/format.h"
#include "lib/string.h"
#include "log.h"
#include "sys/node.h"

#define MAGIC	    "070701"
#define HEADER_SIZE 110u
#define TRAILER	    "TRAILER!!!"

static u64 total_bytes; /* changes during start-up only */

/* ---- regular files ---- */

static s64 archive_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	return read_bytes(f->node->data, f->node->size, user_buf, n, pos);
}

static int archive_mmap(struct file *f, u64 offset, u64 len, u32 vm_flags,
			struct vm_object **object)
{
	(void)offset, (void)len,
		(void)vm_flags; /* beyond the end: SIGBUS at the access, as everywhere */
	*object = &f->node->object;
	vm_object_get(*object);
	return 0;
}

static const struct file_ops archive_file_ops = {
	.read = archive_read,
	.seek = seek_node,
	.poll = poll_always,
	.mmap = archive_mmap,
};

static int archive_open(struct node *n, unsigned flags, struct file **out)
{
	if ((flags & O_ACCMODE) != O_RDONLY)
		return -EROFS;
	return file_for_node(&archive_file_ops, flags, n, n, out);
}

const struct node_ops archive_ops = {.open = archive_open};

/* Aligned data is mapped as it lies there; other data is copied to a page. */
static int archive_page(struct vm_object *o, u64 offset, u64 *phys, bool *device, u64 *valid)
{
	struct node *n = container_of(o, struct node, object);
	u64 bytes;
	u8 *to;

	if (offset >= n->size)
		return -EFAULT;
	bytes = min(PAGE_SIZE, n->size - offset);
	*device = ((u64)n->data & ~PAGE_MASK) == 0;
	*valid = bytes;
	if (*device) {
		*phys = virt_to_phys(n->data + offset);
		return 0;
	}
	*phys = page_alloc(0);
	if (!*phys)
		return -ENOMEM;
	to = phys_to_virt(*phys);
	memcpy(to, n->data + offset, bytes);
	memset(to + bytes, 0, PAGE_SIZE - bytes);
	*valid = PAGE_SIZE;
	return 0;
}

/* The node holds a reference for good: there is no last one. */
const struct vm_object_ops archive_object_ops = {.page = archive_page};

/* ---- reading an archive ---- */

struct reader {
	const u8 *data;
	u64 size, at;
	struct node *root;
	const char *name; /* of the archive */
};

struct entry {
	u32 mode, mtime;
	const char *path; /* NUL-terminated within the archive */
	const u8 *data;
	u64 size;
};

/* A field of eight hexadecimal digits. */
static bool read_hex(const u8 *p, u32 *out)
{
	u32 v = 0;

	for (unsigned i = 0; i < 8; i++) {
		u8 c = p[i], lower = c | 0x20;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (lower >= 'a' && lower <= 'f')
			v = v << 4 | (lower - 'a' + 10u);
		else
			return false;
	}
	*out = v;
	return true;
}

/* The next entry's header, name and data, all within the archive. Return: NULL, or what is wrong. */
static const char *read_entry(struct reader *r, struct entry *e)
{
	const u8 *h = r->data + r->at;
	u32 fields
		[13]; /* ino mode uid gid nlink mtime filesize devmajor devminor rdevmajor rdevminor namesize check */
	u64 at = r->at + HEADER_SIZE;

	if (at > r->size)
		return "cut off in a header";
	if (memcmp(h, MAGIC, 6))
		return "no entry magic";
	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++)
		if (!read_hex(h + 6 + 8 * i, &fields[i]))
			return "a field is not hexadecimal";
	e->mode = fields[1];
	e->mtime = fields[5];
	e->size = fields[6];
	e->path = (const char *)r->data + at;
	if (fields[11] == 0 || fields[11] > r->size - at)
		return "name outside the archive";
	at += fields[11];
	if (r->data[at - 1] != '\0')
		return "name without end";
	at = ALIGN_UP(at, 4ull);
	if (at > r->size || e->size > r->size - at)
		return "data outside the archive";
	e->data = r->data + at;
	r->at = min(ALIGN_UP(at + e->size, 4ull), r->size);
	return NULL;
}

/* Next component of a path: *@p moves past it. Return: its length, 0 at the end; "." is skipped. */
static size_t component(const char **p, const char **name)
{
	for (;;) {
		while (**p == '/')
			(*p)++;
		*name = *p;
		while (**p && **p != '/')
			(*p)++;
		if (*p - *name != 1 || **name != '.')
			return (size_t)(*p - *name);
	}
}

static const char *set_node(struct node *n, const struct entry *e)
{
	if (S_ISDIR(n->mode) != S_ISDIR(e->mode) || S_ISCHR(n->mode) || n->ops == &text_ops)
		return "cannot replace what is there";
	n->mode = e->mode & (S_IFMT | 07777);
	n->mtime = e->mtime;
	if (S_ISDIR(e->mode))
		return NULL;
	n->ops = S_ISLNK(e->mode) ? &static_link_ops : &archive_ops;
	n->data = e->data;
	n->size = e->size;
	return NULL;
}

/* Put entry @e into the tree, making directories on the way. Return: NULL, or what is wrong. */
static const char *add_entry(struct reader *r, const struct entry *e)
{
	struct node *dir = r->root, *n;
	const char *p = e->path, *name, *next;
	size_t len = component(&p, &name), next_len;

	if (!S_ISDIR(e->mode) && !S_ISREG(e->mode) && !S_ISLNK(e->mode))
		return "neither file, directory nor link";
	if (S_ISLNK(e->mode) && (e->size == 0 || e->size >= PATH_MAX))
		return "bad link";
	for (; len; name = next, len = next_len) {
		if (len > NAME_MAX || (len == 2 && name[0] == '.' && name[1] == '.'))
			return "bad name";
		next_len = component(&p, &next);
		n = node_child(dir, name, len);
		if (!n)
			n = node_add(dir, name, len, next_len ? S_IFDIR | 0755 : e->mode,
				     next_len || S_ISDIR(e->mode) ? &static_dir_ops : &archive_ops);
		if (!n)
			return "out of memory";
		if (!next_len)
			return set_node(n, e);
		if (!S_ISDIR(n->mode) || n->ops != &static_dir_ops)
			return "below something that is no directory";
		dir = n;
	}
	return S_ISDIR(e->mode) ? NULL : "empty name"; /* "." or "/": the root itself */
}

s64 archive_unpack(struct node *root, const u8 *data, u64 size, const char *name)
{
	struct reader r = {.data = data, .size = size, .root = root, .name = name};
	const char *bad = NULL;
	struct entry e = {0};
	s64 count = 0;
	u64 start = 0;

	while (!bad) {
		start = r.at;
		bad = read_entry(&r, &e);
		if (bad || !strcmp(e.path, TRAILER))
			break;
		bad = add_entry(&r, &e);
		if (!bad)
			count++;
	}
	total_bytes += r.at;
	if (!bad)
		return count;
	if (name)
		klog("archive %s: bad entry at byte %llu (%s): stopped after %lld entries", name,
		     (unsigned long long)start, bad, (long long)count);
	return -EINVAL;
}

u64 archive_bytes(void)
{
	return total_bytes;
}

// SPDX-License-Identifier: MIT
/*
 * The tree of ramfs. An inode lives as long as a directory names it or a fid holds it, so that a file that is removed while open goes on.
 * Directory entries have a position that grows and is never used again: a listing that goes on after files came and went neither
 * repeats nor skips one.
 */
#include "store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE	   4096u
#define HASH	   1024u
#define TYPE	   0170000u
#define DIRECTORY  0040000u
#define REGULAR	   0100000u
#define LINK	   0120000u
#define SIZE_LIMIT (1ull << 40) /* of a file; holes are free, but the table of its pages is not */

struct entry {
	struct entry *next, *prev, *hash_next;
	struct inode *dir, *inode;
	uint64_t pos;
	uint32_t len;
	char name[];
};

struct inode {
	uint64_t ino, size, next_pos;
	uint32_t mode, mtime;
	uint32_t names, fids; /* who holds it */
	struct inode *parent; /* of a directory that is in the tree */
	uint32_t members;     /* of a directory */
	struct entry *first, *last;
	unsigned char **pages; /* of a file: nr_pages of them, NULL is a hole */
	uint64_t nr_pages;
	char *text; /* of a link: size bytes */
};

struct fid {
	struct fid *hash_next;
	uint64_t number;
	struct inode *inode;
};

struct store {
	uint64_t limit, used, next_ino;
	size_t nr_fids;
	struct inode *root;
	struct entry *names[HASH];
	struct fid *fids[HASH];
};

/* ---- memory that counts ---- */

static void *take(struct store *s, size_t n)
{
	void *p;

	if (n > s->limit - s->used)
		return NULL;
	p = calloc(1, n);
	if (p)
		s->used += n;
	return p;
}

static void give(struct store *s, void *p, size_t n)
{
	if (!p)
		return;
	free(p);
	s->used -= n;
}

/* ---- inodes ---- */

static struct inode *inode_new(struct store *s, uint32_t mode, uint32_t now)
{
	struct inode *i = take(s, sizeof(*i));

	if (!i)
		return NULL;
	i->ino = s->next_ino++;
	i->mode = mode;
	i->mtime = now;
	i->next_pos = 1;
	return i;
}

static void drop_pages(struct store *s, struct inode *i, uint64_t from)
{
	for (uint64_t p = from; p < i->nr_pages; p++) {
		give(s, i->pages[p], PAGE);
		i->pages[p] = NULL;
	}
	if (from == 0) {
		give(s, i->pages, i->nr_pages * sizeof(*i->pages));
		i->pages = NULL;
		i->nr_pages = 0;
	}
}

/* Free it if nobody holds it any more. A directory that is removed is empty. */
static void inode_check(struct store *s, struct inode *i)
{
	if (i->names || i->fids)
		return;
	drop_pages(s, i, 0);
	give(s, i->text, i->size);
	give(s, i, sizeof(*i));
}

static bool is_dir(const struct inode *i)
{
	return (i->mode & TYPE) == DIRECTORY;
}

/* ---- names ---- */

static unsigned name_hash(const struct inode *dir, const char *name, uint32_t len)
{
	uint32_t h = 2166136261u ^ (uint32_t)dir->ino * 2654435761u;

	for (uint32_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619u;
	return (h ^ h >> 15) % HASH;
}

static struct entry *find(struct store *s, const struct inode *dir, const char *name, uint32_t len)
{
	struct entry *e = s->names[name_hash(dir, name, len)];

	while (e && (e->dir != dir || e->len != len || memcmp(e->name, name, len)))
		e = e->hash_next;
	return e;
}

static struct entry *entry_new(struct store *s, const char *name, uint32_t len)
{
	struct entry *e = take(s, sizeof(*e) + len);

	if (!e)
		return NULL;
	e->len = len;
	memcpy(e->name, name, len);
	return e;
}

/* Put e, which is nowhere, into dir as a name of i. */
static void entry_add(struct store *s, struct inode *dir, struct entry *e, struct inode *i)
{
	unsigned h = name_hash(dir, e->name, e->len);

	e->dir = dir;
	e->inode = i;
	e->pos = dir->next_pos++;
	e->next = NULL;
	e->prev = dir->last;
	e->hash_next = s->names[h];
	s->names[h] = e;
	if (dir->last)
		dir->last->next = e;
	else
		dir->first = e;
	dir->last = e;
	dir->members++;
	i->names++;
	if (is_dir(i))
		i->parent = dir;
}

static void entry_remove(struct store *s, struct entry *e)
{
	struct inode *dir = e->dir, *i = e->inode;
	struct entry **p = &s->names[name_hash(dir, e->name, e->len)];

	while (*p != e)
		p = &(*p)->hash_next;
	*p = e->hash_next;
	*(e->prev ? &e->prev->next : &dir->first) = e->next;
	*(e->next ? &e->next->prev : &dir->last) = e->prev;
	dir->members--;
	i->names--;
	if (is_dir(i))
		i->parent = NULL;
	give(s, e, sizeof(*e) + e->len);
	inode_check(s, i);
}

/* Can this be the name of something new? */
static int name_error(const char *name, uint32_t len)
{
	if (len > FS_NAME_MAX)
		return ENAMETOOLONG;
	if (!len || memchr(name, '/', len) || memchr(name, '\0', len) ||
	    (len == 1 && *name == '.') || (len == 2 && !memcmp(name, "..", 2)))
		return EINVAL;
	return 0;
}

/* ---- fids ---- */

static struct fid *fid_find(struct store *s, uint64_t number)
{
	struct fid *f = s->fids[number % HASH];

	while (f && f->number != number)
		f = f->hash_next;
	return f;
}

static struct fid *fid_new(struct store *s, uint64_t number, struct inode *i)
{
	struct fid *f = take(s, sizeof(*f));

	if (!f)
		return NULL;
	f->number = number;
	f->inode = i;
	f->hash_next = s->fids[number % HASH];
	s->fids[number % HASH] = f;
	i->fids++;
	s->nr_fids++;
	return f;
}

static void fid_free(struct store *s, struct fid *f)
{
	struct fid **p = &s->fids[f->number % HASH];

	while (*p != f)
		p = &(*p)->hash_next;
	*p = f->hash_next;
	s->nr_fids--;
	f->inode->fids--;
	inode_check(s, f->inode);
	give(s, f, sizeof(*f));
}

/* ---- contents ---- */

/* Have a table for pages up to the one that holds byte size - 1. */
static int table_grow(struct store *s, struct inode *i, uint64_t size)
{
	uint64_t need = (size + PAGE - 1) / PAGE, n = i->nr_pages ? i->nr_pages : 4;
	unsigned char **pages;

	if (need <= i->nr_pages)
		return 0;
	while (n < need)
		n *= 2;
	pages = take(s, n * sizeof(*pages));
	if (!pages)
		return ENOSPC;
	if (i->nr_pages)
		memcpy(pages, i->pages, i->nr_pages * sizeof(*pages));
	give(s, i->pages, i->nr_pages * sizeof(*pages));
	i->pages = pages;
	i->nr_pages = n;
	return 0;
}

static int set_size(struct store *s, struct inode *i, uint64_t size)
{
	uint64_t keep = (size + PAGE - 1) / PAGE;

	if ((i->mode & TYPE) != REGULAR)
		return is_dir(i) ? EISDIR : EINVAL;
	if (size > SIZE_LIMIT)
		return EFBIG;
	if (size < i->size) {
		drop_pages(s, i, keep);
		/* What a later growth shows again must read as zero. */
		if (size % PAGE && keep <= i->nr_pages && i->pages[keep - 1])
			memset(i->pages[keep - 1] + size % PAGE, 0, PAGE - size % PAGE);
	}
	i->size = size;
	return 0;
}

static uint32_t file_read(const struct inode *i, uint64_t offset, uint32_t count, char *to)
{
	uint32_t done = 0;

	if (offset >= i->size)
		return 0;
	if (count > i->size - offset)
		count = (uint32_t)(i->size - offset);
	while (done < count) {
		uint64_t at = offset + done, page = at / PAGE;
		uint32_t n = PAGE - (uint32_t)(at % PAGE);

		if (n > count - done)
			n = count - done;
		if (page < i->nr_pages && i->pages[page])
			memcpy(to + done, i->pages[page] + at % PAGE, n);
		else
			memset(to + done, 0, n);
		done += n;
	}
	return done;
}

/* Bytes written, or -errno. */
static int file_write(struct store *s, struct inode *i, uint64_t offset, uint32_t count,
		      const char *from)
{
	uint32_t done = 0;
	int err;

	if (offset > SIZE_LIMIT || count > SIZE_LIMIT - offset)
		return -EFBIG;
	err = count ? table_grow(s, i, offset + count) : 0;
	if (err)
		return -err;
	while (done < count) {
		uint64_t at = offset + done, page = at / PAGE;
		uint32_t n = PAGE - (uint32_t)(at % PAGE);

		if (n > count - done)
			n = count - done;
		if (!i->pages[page])
			i->pages[page] = take(s, PAGE);
		if (!i->pages[page])
			break;
		memcpy(i->pages[page] + at % PAGE, from + done, n);
		done += n;
	}
	if (done && offset + done > i->size)
		i->size = offset + done;
	return count && !done ? -ENOSPC : (int)done;
}

/* ---- requests ---- */

/* struct serving - one request and its answer under construction. */
struct serving {
	struct store *s;
	const struct fs_message *m;
	const char *data; /* the request's payload */
	uint32_t len;
	struct fs_message *out;
	char *out_data;
	uint32_t out_len;
	struct inode *i; /* what the fid is */
	uint32_t now;
};

static int put_attr(struct serving *v, const struct inode *i)
{
	struct fs_attr a = {.ino = i->ino,
			    .size = i->size,
			    .mode = i->mode,
			    .mtime = i->mtime,
			    .links = is_dir(i) ? (i->names ? 2 : 0) : i->names};

	memcpy(v->out_data, &a, sizeof(a));
	v->out_len = sizeof(a);
	return 0;
}

static int do_walk(struct serving *v)
{
	struct entry *e;

	if (!is_dir(v->i))
		return ENOTDIR;
	if (v->len > FS_NAME_MAX)
		return ENAMETOOLONG;
	if (fid_find(v->s, v->m->arg))
		return EINVAL;
	e = find(v->s, v->i, v->data, v->len);
	if (!e)
		return ENOENT;
	if (!fid_new(v->s, v->m->arg, e->inode))
		return ENOSPC;
	return put_attr(v, e->inode);
}

static int do_create(struct serving *v)
{
	struct store *s = v->s;
	uint32_t type = v->m->mode & TYPE, len = (uint32_t)strnlen(v->data, v->len);
	uint32_t text = len < v->len ? v->len - len - 1 : 0;
	int err = name_error(v->data, len);
	struct entry *e;
	struct inode *i;
	struct fid *f;

	if (!is_dir(v->i))
		return ENOTDIR;
	if (!err && ((type != DIRECTORY && type != REGULAR && type != LINK) ||
		     (type == LINK) != (text > 0) || fid_find(s, v->m->arg)))
		err = EINVAL;
	if (!err && text > FS_LINK_MAX)
		err = ENAMETOOLONG;
	if (!err && find(s, v->i, v->data, len))
		err = EEXIST;
	if (!err && v->i != s->root && !v->i->names)
		err = ENOENT; /* the directory is removed */
	if (err)
		return err;
	i = inode_new(s, v->m->mode & (TYPE | 07777), v->now);
	if (!i)
		return ENOSPC;
	e = entry_new(s, v->data, len);
	f = fid_new(s, v->m->arg, i);
	if (text)
		i->text = take(s, text);
	if (!e || !f || (text && !i->text)) {
		if (e)
			give(s, e, sizeof(*e) + len);
		if (f)
			fid_free(s, f);
		else
			inode_check(s, i);
		return ENOSPC;
	}
	if (text) {
		memcpy(i->text, v->data + len + 1, text);
		i->size = text;
	}
	entry_add(s, v->i, e, i);
	v->i->mtime = v->now;
	return put_attr(v, i);
}

static int do_read(struct serving *v)
{
	uint32_t count = v->m->count < FS_PAYLOAD ? v->m->count : (uint32_t)FS_PAYLOAD;
	const struct inode *i = v->i;

	if (is_dir(i))
		return EISDIR;
	if (!i->text) {
		v->out_len = file_read(i, v->m->arg, count, v->out_data);
	} else if (v->m->arg < i->size) {
		v->out_len = count < i->size - v->m->arg ? count : (uint32_t)(i->size - v->m->arg);
		memcpy(v->out_data, i->text + v->m->arg, v->out_len);
	}
	return 0;
}

static int do_write(struct serving *v)
{
	uint64_t offset = v->m->flags & FS_APPEND ? v->i->size : v->m->arg;
	int n;

	if ((v->i->mode & TYPE) != REGULAR)
		return is_dir(v->i) ? EISDIR : EINVAL;
	n = file_write(v->s, v->i, offset, v->len, v->data);
	if (n < 0)
		return -n;
	v->i->mtime = v->now;
	v->out->count = (uint32_t)n;
	v->out->arg = offset + (uint32_t)n;
	return 0;
}

static int do_list(struct serving *v)
{
	uint32_t room = v->m->count < FS_PAYLOAD ? v->m->count : (uint32_t)FS_PAYLOAD;

	if (!is_dir(v->i))
		return ENOTDIR;
	for (const struct entry *e = v->i->first; e; e = e->next) {
		struct fs_entry h = {.ino = e->inode->ino,
				     .next = e->pos,
				     .mode = e->inode->mode,
				     .len = e->len};
		uint32_t size = (uint32_t)(sizeof(h) + e->len + 7) & ~7u;

		if (e->pos <= v->m->arg)
			continue;
		if (size > room - v->out_len)
			break;
		memset(v->out_data + v->out_len, 0, size);
		memcpy(v->out_data + v->out_len, &h, sizeof(h));
		memcpy(v->out_data + v->out_len + sizeof(h), e->name, e->len);
		v->out_len += size;
	}
	return 0;
}

static int do_set(struct serving *v)
{
	struct fs_attr a;
	int err = 0;

	if (v->len != sizeof(a))
		return EINVAL;
	memcpy(&a, v->data, sizeof(a));
	if (v->m->flags & FS_SET_SIZE) {
		err = set_size(v->s, v->i, a.size);
		if (!err)
			v->i->mtime = v->now;
	}
	if (!err && (v->m->flags & FS_SET_MODE))
		v->i->mode = (v->i->mode & TYPE) | (a.mode & 07777);
	if (!err && (v->m->flags & FS_SET_MTIME))
		v->i->mtime = a.mtime;
	return err ? err : put_attr(v, v->i);
}

static int do_remove(struct serving *v)
{
	struct entry *e;

	if (!is_dir(v->i))
		return ENOTDIR;
	e = find(v->s, v->i, v->data, v->len);
	if (!e)
		return ENOENT;
	if (v->m->flags & FS_REMOVEDIR && !is_dir(e->inode))
		return ENOTDIR;
	if (!(v->m->flags & FS_REMOVEDIR) && is_dir(e->inode))
		return EISDIR;
	if (e->inode->members)
		return ENOTEMPTY;
	entry_remove(v->s, e);
	v->i->mtime = v->now;
	return 0;
}

/* Why i cannot take the place of what old names, or 0. */
static int replace_error(const struct inode *i, const struct entry *old, uint32_t flags)
{
	if (flags & FS_NOREPLACE)
		return EEXIST;
	if (is_dir(old->inode) && !is_dir(i))
		return EISDIR;
	if (!is_dir(old->inode) && is_dir(i))
		return ENOTDIR;
	return old->inode->members ? ENOTEMPTY : 0;
}

static int do_rename(struct serving *v)
{
	struct store *s = v->s;
	uint32_t len = (uint32_t)strnlen(v->data, v->len);
	const char *name = v->data + len + 1;
	uint32_t new_len = len < v->len ? v->len - len - 1 : 0;
	struct fid *to = fid_find(s, v->m->arg);
	struct entry *e, *old, *new;
	struct inode *dir, *i;
	int err;

	if (!to)
		return EBADF;
	dir = to->inode;
	if (!is_dir(v->i) || !is_dir(dir))
		return ENOTDIR;
	err = len < v->len ? name_error(name, new_len) : EINVAL;
	if (err)
		return err;
	e = find(s, v->i, v->data, len);
	if (!e || (dir != s->root && !dir->names))
		return ENOENT;
	i = e->inode;
	for (const struct inode *up = dir; up; up = up->parent)
		if (up == i)
			return EINVAL; /* into itself */
	old = find(s, dir, name, new_len);
	if (old && old->inode == i)
		return v->m->flags & FS_NOREPLACE ? EEXIST : 0;
	if (old)
		err = replace_error(i, old, v->m->flags);
	if (err)
		return err;
	new = entry_new(s, name, new_len);
	if (!new)
		return ENOSPC;
	if (old)
		entry_remove(s, old);
	i->fids++; /* it lives between its two names */
	entry_remove(s, e);
	entry_add(s, dir, new, i);
	i->fids--;
	v->i->mtime = dir->mtime = v->now;
	return 0;
}

static int do_stat(struct serving *v)
{
	return put_attr(v, v->i);
}

size_t store_serve(struct store *s, const void *request, size_t size, uint32_t now, void *answer)
{
	static int (*const calls[])(struct serving *) = {
		[FS_ATTACH] = do_stat,	 [FS_WALK] = do_walk,	  [FS_OPEN] = do_stat,
		[FS_CREATE] = do_create, [FS_READ] = do_read,	  [FS_WRITE] = do_write,
		[FS_LIST] = do_list,	 [FS_STAT] = do_stat,	  [FS_SET] = do_set,
		[FS_REMOVE] = do_remove, [FS_RENAME] = do_rename,
	};
	struct fs_message m, out = {0};
	struct serving v = {.s = s,
			    .m = &m,
			    .data = (const char *)request + sizeof(m),
			    .out = &out,
			    .out_data = (char *)answer + sizeof(out),
			    .now = now};
	struct fid *f;

	if (size < sizeof(m) || size > FS_MESSAGE)
		return 0;
	memcpy(&m, request, sizeof(m));
	if (m.size != size)
		return 0;
	v.len = (uint32_t)(size - sizeof(m));
	f = fid_find(s, m.fid);
	if (m.type == FS_CLUNK) {
		/* A fid that a failed walk did not make is given up all the same. */
		if (f && m.fid != FS_ROOT)
			fid_free(s, f);
		return 0;
	}
	out.type = m.type;
	out.tag = m.tag;
	if (m.type >= sizeof(calls) / sizeof(calls[0]) || !calls[m.type])
		out.error = ENOSYS;
	else if (!f)
		out.error = EBADF;
	if (!out.error) {
		v.i = f->inode;
		out.error = (unsigned int)calls[m.type](&v);
	}
	if (out.error)
		v.out_len = 0;
	out.size = (uint32_t)(sizeof(out) + v.out_len);
	memcpy(answer, &out, sizeof(out));
	return out.size;
}

/* ---- the whole ---- */

struct store *store_new(uint64_t limit)
{
	struct store *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->limit = limit;
	s->next_ino = 1;
	s->root = inode_new(s, DIRECTORY | 01777, 0);
	if (s->root)
		s->root->names = 1; /* the tree's own: never removed */
	if (!s->root || !fid_new(s, FS_ROOT, s->root)) {
		free(s->root);
		free(s);
		return NULL;
	}
	return s;
}

void store_free(struct store *s)
{
	for (unsigned h = 0; h < HASH; h++)
		while (s->fids[h])
			fid_free(s, s->fids[h]);
	/* Leaves first: a directory stays while something names it as its place. */
	for (bool again = true; again;) {
		again = false;
		for (unsigned h = 0; h < HASH; h++) {
			struct entry *e = s->names[h];

			while (e && e->inode->members)
				e = e->hash_next;
			if (e) {
				entry_remove(s, e);
				again = true;
			}
		}
	}
	s->root->names = 0;
	inode_check(s, s->root);
	free(s);
}

uint64_t store_used(const struct store *s)
{
	return s->used;
}

size_t store_fids(const struct store *s)
{
	return s->nr_fids;
}

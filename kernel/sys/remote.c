/* SPDX-License-Identifier: MIT
 *
 * Files that a program in user mode serves (fsproto.h, docs/ramfs.md). Each node here is a fid there; each operation is a request on one
 * pipe and an answer on the other.
 *
 * Nobody reads answers but those who wait for one: one of them, the receiver, takes what comes and hands it to whoever it is for, until it has
 * its own; then it makes another waiting caller the receiver. A caller that is killed leaves its tag behind as abandoned, and the answer,
 * when it comes, frees it. Other signals wait: a file operation is not interrupted.
 *
 * The server is not trusted. Whatever it says that cannot be cuts the connection, and from then on every call is EIO, as when it dies.
 */
#include "lib/string.h"
#include "sys/calls.h"
#include "sys/fd.h"
#include "sys/fsproto.h"
#include "sys/node.h"

/* struct call - a request under way, on its caller's stack. Under remote.lock from when it has its tag until it is done or abandoned. */
struct call {
	struct task *task;
	struct fs_message *m; /* the request, then its answer: FS_MESSAGE bytes */
	u16 type, tag;
	bool waiting; /* for the answer, not for room in the pipe: can be the receiver */
	bool done;
};

static struct call abandoned; /* stands for a call whose caller has gone */

struct remote {
	u32 refs;		/* atomic: fids */
	struct file *to, *from; /* constant; the pipes */
	spinlock_t lock;	/* LOCK_NODE: what follows */
	bool dead, receiving;
	struct call *calls[FS_CALLS];
	struct list clunks;    /* struct fid: given up when the pipe was full */
	struct waitq tag_free; /* callers that found every tag taken */
	u64 last_fid;	       /* atomic */
	u8 *in;		       /* what came in; the receiver's, as is have */
	u32 have;
};

/* struct fid - node.desc: what the server calls the file, and the name it was found by. */
struct fid {
	struct list link; /* on remote.clunks */
	struct remote *remote;
	u64 fid; /* 0: the server does not have it */
	char name[];
};

static struct fid *fid_of(const struct node *n)
{
	return (struct fid *)n->desc;
}

/* ---- messages ---- */

static s64 pipe_io(struct file *f, void *buf, size_t n, bool write, unsigned flags)
{
	struct file end = *f;
	s64 ret;

	end.flags |= FILE_NO_SIGPIPE | flags;
	current_task()->kernel_io = true;
	ret = write ? end.write(&end, buf, n, NULL) : end.read(&end, buf, n, NULL);
	current_task()->kernel_io = false;
	return ret;
}

/*
 * A sleep ended because of a signal: must the caller end? If not, it sleeps again, until the next signal; *@later tells it to look again when it
 * is done. A SIGKILL that comes after the flag is cleared sets it again.
 */
static bool killed(bool *later)
{
	if (!current_task()->signal_pending)
		return false;
	__atomic_store_n(&current_task()->signal_pending, 0, __ATOMIC_SEQ_CST);
	*later = true;
	return current_doomed();
}

/* Wake a caller, by whom it cannot be missed: it sets its state under the lock. Context: lock. */
static void wake_caller(struct call *c)
{
	task_wake(c->task, TASK_INTERRUPTIBLE, 0);
}

/* No more of this server. */
static void cut(struct remote *r)
{
	spin_lock(&r->lock);
	r->dead = true;
	for (unsigned i = 0; i < FS_CALLS; i++)
		if (r->calls[i] && r->calls[i]->waiting)
			wake_caller(r->calls[i]);
	spin_unlock(&r->lock);
	waitq_wake(&r->tag_free, 0, 0);
	pipe_shut(r->to);
	pipe_shut(r->from);
}

/* Send @m. Return: 0, -EIO, -EINTR (killed; nothing was sent), -ENOMEM. */
static int send(struct remote *r, struct fs_message *m, bool *later)
{
	u32 size = m->size; /* once sent, @m may hold the answer already */
	s64 ret;

	do
		ret = pipe_io(r->to, m, size, true, 0);
	while (ret == -ERESTARTSYS && !killed(later));
	if (ret == (s64)size || ret == -ENOMEM)
		return ret < 0 ? (int)ret : 0;
	if (ret == -ERESTARTSYS)
		return -EINTR;
	cut(r);
	return -EIO;
}

/* Hand an answer, @size bytes at @from with header @h, to whoever it is for. Return: false if it is for nobody. */
static bool deliver(struct remote *r, const struct fs_message *h, const u8 *from)
{
	struct call *c;

	spin_lock(&r->lock);
	c = h->tag < FS_CALLS ? r->calls[h->tag] : NULL;
	if (c && c != &abandoned && c->type != h->type)
		c = NULL;
	if (c)
		r->calls[h->tag] = NULL;
	if (c && c != &abandoned) {
		memcpy(c->m, from, h->size);
		c->done = true;
		if (c->waiting)
			wake_caller(c);
	}
	spin_unlock(&r->lock);
	if (c)
		waitq_wake(&r->tag_free, 1, 0);
	return c;
}

/* As the receiver: wait for bytes and deliver what is complete. Return: 0, -ERESTARTSYS; -EIO if the connection was cut. */
static int receive(struct remote *r)
{
	s64 got = pipe_io(r->from, r->in + r->have, FS_MESSAGE - r->have, false, 0);
	struct fs_message h;
	u32 at = 0;

	if (got == -ERESTARTSYS)
		return (int)got;
	r->have += got > 0 ? (u32)got : 0;
	while (got > 0 && r->have - at >= sizeof(h)) {
		memcpy(&h, r->in + at, sizeof(h));
		if (h.size >= sizeof(h) && h.size <= FS_MESSAGE && h.size > r->have - at)
			break;
		if (h.size < sizeof(h) || h.size > FS_MESSAGE || !deliver(r, &h, r->in + at))
			got = 0;
		at += h.size;
	}
	if (got <= 0) {
		cut(r);
		return -EIO;
	}
	memmove(r->in, r->in + at, r->have - at);
	r->have -= at;
	return 0;
}

/* Nobody may be receiving any more: somebody who waits goes on with it, for an answer or for a tag. Context: lock. */
static void hand_over(struct remote *r)
{
	for (unsigned i = 0; i < FS_CALLS && !r->receiving; i++)
		if (r->calls[i] && r->calls[i]->waiting) {
			wake_caller(r->calls[i]);
			return;
		}
	if (!r->receiving)
		waitq_wake(&r->tag_free, 1, 0);
}

/* Find a tag for @c. If all are abandoned, nobody else takes the answers that free them. Return: 0, -EIO, -EINTR. */
static int take_tag(struct remote *r, struct call *c, bool *later)
{
	bool dead, none, receiver, woken;
	struct waiter w;
	unsigned tag;

	do {
		waitq_prepare(&r->tag_free, &w, TASK_INTERRUPTIBLE, true);
		spin_lock(&r->lock);
		dead = r->dead;
		for (tag = 0; tag < FS_CALLS && r->calls[tag]; tag++)
			;
		none = !dead && tag == FS_CALLS;
		receiver = none && !r->receiving;
		if (receiver)
			r->receiving = true;
		else if (!dead && !none)
			r->calls[tag] = c;
		spin_unlock(&r->lock);
		if (none && !receiver)
			schedule();
		woken = waitq_finish(&r->tag_free, &w);
		if (receiver) {
			receive(r);
			spin_lock(&r->lock);
			r->receiving = false;
			spin_unlock(&r->lock);
		}
	} while (none && !killed(later));
	c->tag = c->m->tag = (u16)tag;
	if (receiver || woken) { /* perhaps for more than this caller takes */
		spin_lock(&r->lock);
		hand_over(r);
		spin_unlock(&r->lock);
		waitq_wake(&r->tag_free, 1, 0);
	}
	return dead ? -EIO : none ? -EINTR : 0;
}

/* Wait until @c is done. Return: 0, -EIO, -EINTR. */
static int await(struct remote *r, struct call *c, bool *later)
{
	int err = 0;

	spin_lock(&r->lock);
	c->waiting = true;
	while (!c->done && !err) {
		bool receiver = !r->receiving;

		if (r->dead) {
			err = -EIO;
			break;
		}
		r->receiving = true;
		if (!receiver)
			set_current_state(TASK_INTERRUPTIBLE);
		spin_unlock(&r->lock);
		if (receiver)
			receive(r);
		else
			schedule();
		if (killed(later))
			err = -EINTR;
		spin_lock(&r->lock);
		if (receiver)
			r->receiving = false;
	}
	if (c->done)
		err = 0;
	else
		r->calls[c->tag] = r->dead ? NULL : &abandoned;
	hand_over(r);
	spin_unlock(&r->lock);
	return err;
}

static void remote_put(struct remote *r)
{
	if (__atomic_sub_fetch(&r->refs, 1, __ATOMIC_ACQ_REL))
		return;
	file_put(r->to);
	file_put(r->from);
	kfree(r->in, FS_MESSAGE);
	kfree(r, sizeof(*r));
}

static void fid_free(struct fid *f)
{
	remote_put(f->remote);
	kfree(f, sizeof(*f) + strlen(f->name) + 1);
}

/*
 * Tell the server of fids that nobody has any more, @f (or NULL) last. It does not wait, since this may be the end of a process: if the pipe is
 * full they stay on the list for whoever comes next.
 */
static void send_clunks(struct remote *r, struct fid *f)
{
	struct fs_message m = {.size = sizeof(m), .type = FS_CLUNK};
	s64 ret = 0;

	if (!f && list_empty(&r->clunks))
		return;
	spin_lock(&r->lock);
	if (f)
		list_add_tail(&f->link, &r->clunks);
	while (ret != -EAGAIN && !list_empty(&r->clunks)) {
		f = list_first(&r->clunks, struct fid, link);
		list_del_init(&f->link);
		spin_unlock(&r->lock);
		m.fid = f->fid;
		ret = f->fid ? pipe_io(r->to, &m, sizeof(m), true, O_NONBLOCK) : 0;
		if (ret != -EAGAIN)
			fid_free(f); /* the caller has a reference to @r */
		spin_lock(&r->lock);
		if (ret == -EAGAIN)
			list_add(&f->link, &r->clunks);
	}
	spin_unlock(&r->lock);
}

/**
 * remote_call() - send request @m (FS_MESSAGE bytes; fid, tag are set here) about @n with @payload bytes behind the header, and wait.
 * Return: 0 with the answer in @m; what the server says; -EIO; -EINTR (killed: the server may do it yet).
 */
static int remote_call(struct node *n, struct fs_message *m, u16 type, size_t payload)
{
	struct remote *r = fid_of(n)->remote;
	struct call c = {.task = current_task(), .m = m, .type = type};
	bool later = false;
	int err;

	m->size = (u32)(sizeof(*m) + payload);
	m->type = type;
	m->fid = fid_of(n)->fid;
	m->error = 0;
	send_clunks(r, NULL);
	err = take_tag(r, &c, &later);
	if (!err) {
		err = send(r, m, &later);
		if (!err)
			err = await(r, &c, &later);
		else
			deliver(r, m, (u8 *)m); /* gives the tag back */
	}
	if (later)
		current_task()->signal_pending = 1;
	if (!err && m->error)
		err = m->error <= ETIMEDOUT ? -(int)m->error : -EIO;
	return err;
}

static struct fs_message *message_new(void)
{
	struct fs_message *m = kmalloc(FS_MESSAGE);

	if (m)
		*m = (struct fs_message){0};
	return m;
}

static void message_free(struct fs_message *m)
{
	kfree(m, FS_MESSAGE);
}

/* ---- nodes ---- */

static const struct node_ops remote_ops;

/* Take over what the answer @m says about @n. */
static int take_attr(struct node *n, const struct fs_message *m)
{
	const struct fs_attr *a = (const void *)(m + 1);
	u32 type = a->mode & S_IFMT;

	if (m->size != sizeof(*m) + sizeof(*a) || (s64)a->size < 0 ||
	    (type != S_IFDIR && type != S_IFREG && type != S_IFLNK) ||
	    ((n->mode & S_IFMT) && (n->mode & S_IFMT) != type)) {
		cut(fid_of(n)->remote);
		return -EIO;
	}
	n->ino = a->ino;
	n->mode = a->mode & (S_IFMT | 07777);
	n->mtime = a->mtime;
	n->nlink = a->links;
	if (type != S_IFLNK || !n->data)
		n->size = a->size;
	return 0;
}

/* A request about @n that is answered by its attributes. @a: for FS_SET. */
static int attr_call(struct node *n, u16 type, u32 flags, const struct fs_attr *a)
{
	struct fs_message *m = message_new();
	int err;

	if (!m)
		return -ENOMEM;
	m->flags = flags;
	if (a)
		memcpy(m + 1, a, sizeof(*a));
	err = remote_call(n, m, type, a ? sizeof(*a) : 0);
	if (!err)
		err = take_attr(n, m);
	message_free(m);
	return err;
}

static int remote_refresh(struct node *n)
{
	return attr_call(n, FS_STAT, 0, NULL);
}

static int remote_set(struct node *n, u32 which, u64 size, u32 mode, u32 mtime)
{
	struct fs_attr a = {.size = size, .mode = mode, .mtime = mtime};

	return attr_call(n, FS_SET, which, &a);
}

/* A node of the server's below @dir with a fid of its own. */
static struct node *remote_node(struct node *dir, struct remote *r, u64 fid, const char *name,
				size_t len)
{
	struct fid *f = kzalloc(sizeof(*f) + len + 1);
	struct node *n;

	if (!f)
		return NULL;
	memcpy(f->name, name, len);
	n = node_create(dir, f->name, 0, &remote_ops);
	if (!n) {
		kfree(f, sizeof(*f) + len + 1);
		return NULL;
	}
	f->remote = r;
	f->fid = fid;
	__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
	n->desc = f;
	return n;
}

static void remote_release(struct node *n)
{
	struct fid *f = fid_of(n);
	struct remote *r = f->remote;

	if (n->data)
		kfree((void *)n->data, n->size);
	__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
	send_clunks(r, f);
	remote_put(r);
}

static s64 move(struct node *n, u8 *buf, size_t count, u64 *pos, unsigned how);
#define MOVE_WRITE  1u
#define MOVE_KERNEL 2u /* @buf is the kernel's */
#define MOVE_APPEND 4u

static int load_link(struct node *n)
{
	u64 pos = 0, size = n->size;
	u8 *text;

	if (!size || size > FS_LINK_MAX)
		return -EIO;
	text = kmalloc(size);
	if (!text)
		return -ENOMEM;
	if (move(n, text, size, &pos, MOVE_KERNEL) != (s64)size) {
		kfree(text, size);
		return -EIO;
	}
	n->data = text;
	return 0;
}

/* FS_WALK and FS_CREATE: both give a new fid to name @name of @dir. @more bytes are behind the name already. */
static int new_fid(struct node *dir, const char *name, size_t len, struct fs_message *m, u16 type,
		   size_t more, struct node **out)
{
	struct remote *r = fid_of(dir)->remote;
	struct node *n = remote_node(dir, r, __atomic_add_fetch(&r->last_fid, 1, __ATOMIC_RELAXED),
				     name, len);
	int err;

	if (!n)
		return -ENOMEM;
	memcpy(m + 1, name, len);
	m->arg = fid_of(n)->fid;
	err = remote_call(dir, m, type, len + more);
	if (err && err != -EINTR)
		fid_of(n)->fid = 0; /* the server did not take it */
	if (!err)
		err = take_attr(n, m);
	if (!err && S_ISLNK(n->mode))
		err = load_link(n);
	if (err)
		node_put(n);
	else
		*out = n;
	return err;
}

static int remote_lookup(struct node *dir, const char *name, size_t len, struct node **out)
{
	struct fs_message *m = message_new();
	int err = m ? new_fid(dir, name, len, m, FS_WALK, 0, out) : -ENOMEM;

	message_free(m);
	return err;
}

static int remote_create(struct node *dir, const char *name, size_t len, u32 mode,
			 const char *target, struct node **out)
{
	struct fs_message *m = message_new();
	size_t more = target ? strlen(target) + 1 : 0;
	int err = -ENOMEM;

	if (len > FS_NAME_MAX || len + more > FS_PAYLOAD)
		err = -ENAMETOOLONG;
	else if (m) {
		m->mode = mode;
		if (target) { /* with a NUL in front instead of behind */
			((char *)(m + 1))[len] = '\0';
			memcpy((char *)(m + 1) + len + 1, target, more - 1);
		}
		err = new_fid(dir, name, len, m, FS_CREATE, more, out);
	}
	message_free(m);
	return err;
}

static int remote_remove(struct node *dir, const char *name, size_t len, bool is_dir)
{
	struct fs_message *m = message_new();
	int err;

	if (!m)
		return -ENOMEM;
	m->flags = is_dir ? FS_REMOVEDIR : 0;
	memcpy(m + 1, name, len);
	err = remote_call(dir, m, FS_REMOVE, len);
	message_free(m);
	return err;
}

static int remote_rename(struct node *n, struct node *dir, const char *name, size_t len,
			 bool replace)
{
	struct fs_message *m;
	char *text;
	int err;

	if (!dir->ops->rename || fid_of(dir)->remote != fid_of(n)->remote)
		return -EXDEV;
	if (len > FS_NAME_MAX)
		return -ENAMETOOLONG;
	m = message_new();
	if (!m)
		return -ENOMEM;
	text = (char *)(m + 1);
	memcpy(text, n->name, n->name_len);
	text[n->name_len] = '\0';
	memcpy(text + n->name_len + 1, name, len);
	m->arg = fid_of(dir)->fid;
	m->flags = replace ? 0 : FS_NOREPLACE;
	err = remote_call(n->parent, m, FS_RENAME, n->name_len + 1u + len);
	message_free(m);
	return err;
}

static bool name_ok(const char *name, u32 len)
{
	while (len && *name && *name != '/')
		name++, len--;
	return !len;
}

/* Put the entries of one answer. Return: the position after them; -1: the sink is full or there are none. */
static s64 put_entries(struct node *dir, const struct fs_message *m, struct dir_sink *sink)
{
	const u8 *p = (const u8 *)(m + 1), *end = (const u8 *)m + m->size;
	struct fs_entry e = {.next = (u64)-1};

	while (p < end) {
		const char *name = (const char *)p + sizeof(e);
		size_t left = (size_t)(end - p);

		if (left >= sizeof(e))
			memcpy(&e, p, sizeof(e));
		if (left < sizeof(e) || !e.len || e.len > FS_NAME_MAX || (s64)e.next < 0 ||
		    ALIGN_UP(sizeof(e) + e.len, 8ul) > left || !name_ok(name, e.len)) {
			cut(fid_of(dir)->remote);
			sink->err = -EIO;
			return -1;
		}
		if (!sink->put(sink, name, e.len, e.ino, e.mode, e.next))
			return -1;
		p += ALIGN_UP(sizeof(e) + e.len, 8ul);
	}
	return (s64)e.next;
}

static void remote_list(struct node *dir, u64 pos, struct dir_sink *sink)
{
	struct fs_message *m = message_new();

	sink->err = m ? 0 : -ENOMEM;
	while (m && !sink->err && (s64)pos >= 0) {
		m->arg = pos;
		m->count = FS_PAYLOAD;
		sink->err = remote_call(dir, m, FS_LIST, 0);
		if (!sink->err)
			pos = (u64)put_entries(dir, m, sink);
	}
	message_free(m);
}

/* ---- contents ---- */

/* One request: up to @n bytes between @buf and offset *@pos. Return: bytes, -errno. */
static s64 move_piece(struct node *n, struct fs_message *m, u8 *buf, size_t count, u64 *pos,
		      unsigned how)
{
	bool write = how & MOVE_WRITE;
	size_t got;
	s64 err;

	m->arg = *pos;
	m->count = (u32)count;
	m->flags = how & MOVE_APPEND ? FS_APPEND : 0;
	if (write && copy_from_user(m + 1, buf, count))
		return -EFAULT;
	err = remote_call(n, m, write ? FS_WRITE : FS_READ, write ? count : 0);
	if (err)
		return err;
	got = write ? m->count : m->size - sizeof(*m);
	if (got > count || (write && (!got || (s64)m->arg < (s64)got))) {
		cut(fid_of(n)->remote);
		return -EIO;
	}
	*pos = write ? m->arg : *pos + got;
	if (how & MOVE_KERNEL)
		memcpy(buf, m + 1, got);
	else if (!write && copy_to_user(buf, m + 1, got))
		return -EFAULT;
	return (s64)got;
}

/*
 * Several processes may share the open file and so its position: each takes its stretch of the file before it asks for it and gives back
 * what it did not get, so that none writes over what another writes at the same time.
 */
static s64 move(struct node *n, u8 *buf, size_t count, u64 *pos, unsigned how)
{
	struct fs_message *m = message_new();
	u64 at = how & MOVE_APPEND ? 0 : __atomic_fetch_add(pos, count, __ATOMIC_RELAXED);
	size_t done = 0;
	s64 got = m ? 0 : -ENOMEM;

	while (m && done < count) {
		size_t piece = min(count - done, FS_PAYLOAD);

		got = move_piece(n, m, buf + done, piece, &at, how);
		if (got <= 0)
			break;
		done += (size_t)got;
		if ((size_t)got < piece)
			break;
	}
	message_free(m);
	if (!(how & MOVE_APPEND))
		__atomic_fetch_sub(pos, count - done, __ATOMIC_RELAXED);
	else if (done)
		WRITE_ONCE(*pos, at);
	return done ? (s64)done : got;
}

static s64 remote_read(struct file *f, void *buf, size_t n, u64 *pos)
{
	return move(f->node, buf, n, pos, 0);
}

static s64 remote_write(struct file *f, const void *buf, size_t n, u64 *pos)
{
	return move(f->node, (u8 *)buf, n, pos,
		    MOVE_WRITE | (f->flags & O_APPEND ? MOVE_APPEND : 0));
}

static s64 remote_seek(struct file *f, s64 offset, int whence)
{
	int err = whence == 2 ? remote_refresh(f->node) : 0;

	return err ? err : seek_node(f, offset, whence);
}

/* A private mapping is a copy of what the file has now (docs/limits.md). */
static int remote_mmap(struct file *f, u64 offset, u64 len, u32 vm_flags, struct vm_object **object)
{
	int err = vm_flags & VM_SHARED ? -ENODEV : remote_refresh(f->node);
	u64 end = max(min(offset + len, f->node->size), 1ull);
	struct vm_object *o;

	if (err)
		return err;
	o = vm_object_anonymous(end);
	if (!o)
		return -ENOMEM;
	for (u64 at = offset; at < end && !err; at += PAGE_SIZE) {
		u64 phys, valid, pos = at;
		bool device;
		s64 got;

		err = o->ops->page(o, at, &phys, &device, &valid);
		if (err)
			break;
		got = move(f->node, phys_to_virt(phys), PAGE_SIZE, &pos, MOVE_KERNEL);
		if (got < 0)
			err = (int)got;
		page_put(phys);
	}
	if (err)
		vm_object_put(o);
	else
		*object = o;
	return err;
}

static const struct file_ops remote_file_ops = {
	.read = remote_read,
	.write = remote_write,
	.seek = remote_seek,
	.poll = poll_always,
	.mmap = remote_mmap,
};

static int remote_open(struct node *n, unsigned flags, struct file **out)
{
	int err = S_ISLNK(n->mode) ? -ELOOP : attr_call(n, FS_OPEN, 0, NULL);

	if (!err && (flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY)
		err = remote_set(n, FS_SET_SIZE, 0, 0, 0);
	return err ? err : file_for_node(&remote_file_ops, file_flags(flags), n, n, out);
}

s64 remote_load(struct node *n, u8 *buf, u64 size)
{
	u64 pos = 0;

	return move(n, buf, size, &pos, MOVE_KERNEL);
}

static const struct node_ops remote_ops = {
	.lookup = remote_lookup,
	.list = remote_list,
	.open = remote_open,
	.release = remote_release,
	.create = remote_create,
	.remove = remote_remove,
	.rename = remote_rename,
	.refresh = remote_refresh,
	.set = remote_set,
};

bool node_is_remote(const struct node *n)
{
	return n->ops == &remote_ops;
}

/* ---- mount ---- */

/* The number after @key in @text. */
static bool option_number(const char *text, const char *key, u64 *out)
{
	size_t len = strlen(key);
	u64 v = 0;

	while (*text && strncmp(text, key, len))
		text++;
	if (!*text || text[len] < '0' || text[len] > '9')
		return false;
	for (text += len; *text >= '0' && *text <= '9' && v < FD_MAX; text++)
		v = v * 10 + (u64)(*text - '0');
	*out = v;
	return true;
}

/* The root of a server behind two pipes. Nothing is waited for: the server may be the caller. */
static struct node *connect(struct file *from, struct file *to, struct node *covers)
{
	struct remote *r = kzalloc(sizeof(*r));
	u8 *in = kmalloc(FS_MESSAGE);
	struct node *n = NULL;
	struct fs_message m = {.size = sizeof(m), .type = FS_ATTACH, .fid = FS_ROOT};

	if (r && in) {
		*r = (struct remote){
			.refs = 1, .to = to, .from = from, .in = in, .last_fid = FS_ROOT};
		spin_init(&r->lock, "remote", LOCK_NODE);
		list_init(&r->clunks);
		waitq_init(&r->tag_free);
		r->calls[0] = &abandoned;
		n = remote_node(covers->parent, r, FS_ROOT, covers->name, covers->name_len);
	}
	if (!n) {
		kfree(in, FS_MESSAGE);
		kfree(r, sizeof(*r));
		return NULL;
	}
	file_get(to);
	file_get(from);
	n->mode = S_IFDIR | 0777;
	pipe_io(to, &m, sizeof(m), true, O_NONBLOCK);
	remote_put(r); /* the root's reference stays */
	return n;
}

static bool gone(const struct node *n)
{
	struct file *to = fid_of(n)->remote->to;

	return to->ops->poll(to, NULL) & POLLERR;
}

static s64 mount_pipe(struct node *dir, const char *data)
{
	struct fd_ref from = {NULL, false}, to = {NULL, false};
	struct node *covers = node_is_remote(dir) ? node_child(node_root, dir->name, dir->name_len)
						  : dir;
	u64 rfd, wfd;
	struct node *n;
	s64 err = -EINVAL;

	/* Over a directory of the boot archive that is in the root; over a server only if it is dead. */
	if (dir == node_root || dir->parent != node_root || !covers ||
	    covers->ops != &static_dir_ops)
		return S_ISDIR(dir->mode) ? -EINVAL : -ENOTDIR;
	if (covers != dir && !gone(dir))
		return -EBUSY;
	if (option_number(data, "rfdno=", &rfd) && option_number(data, "wfdno=", &wfd)) {
		from = fd_get(rfd);
		to = fd_get(wfd);
		err = from.file && to.file ? 0 : -EBADF;
	}
	if (!err && (!file_is_pipe(from.file) || !from.file->ops->read || !file_is_pipe(to.file) ||
		     !to.file->ops->write))
		err = -EINVAL;
	if (!err) {
		n = connect(from.file, to.file, covers);
		err = n ? 0 : -ENOMEM;
		if (n)
			node_mount(covers, n);
	}
	fd_put(from);
	fd_put(to);
	return err;
}

SYSCALL5(mount, source, target, type, flags, user_data)
{
	struct path_buf data;
	struct node *dir;
	char kind[8];
	s64 ret;

	(void)source, (void)flags;
	ret = copy_string_from_user(kind, (const char *)type, sizeof(kind));
	if (ret < 0 || strcmp(kind, "pipe"))
		return ret == -EFAULT ? ret : -ENODEV;
	ret = path_get(&data, user_data);
	if (ret)
		return ret;
	ret = path_walk_user((u64)AT_FDCWD, target, WALK_FOLLOW, &dir, NULL);
	if (!ret) {
		ret = mount_pipe(dir, data.path);
		node_put(dir);
	}
	path_put(&data);
	return ret;
}

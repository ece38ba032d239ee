/* SPDX-License-Identifier: MIT
 *
 * Text nodes: small files whose text is written by a function when they are opened, so that one reader sees one consistent state; some
 * take commands by write.
 */
#include "ipc/copy.h"
#include "lib/format.h"
#include "lib/string.h"
#include "sys/node.h"

#define TEXT_START 1024u
#define TEXT_MAX   (1u << 20)
#define STORE_MAX  256u

/* struct text - the contents of one open text node. */
struct text {
	struct strbuf sb;
};

void text_write(struct strbuf *sb, const void *data, size_t n)
{
	size_t room = sb->size - sb->len - 1;

	n = min(n, room);
	memcpy(sb->buf + sb->len, data, n);
	sb->len += n;
	sb->buf[sb->len] = '\0';
}

static s64 text_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	struct text *t = f->object;

	return read_bytes(t->sb.buf, t->sb.len, user_buf, n, pos);
}

static s64 text_store(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	const struct text_desc *d = f->node->desc;
	char buf[STORE_MAX];
	int err;

	(void)pos;
	if (n >= sizeof(buf))
		return -EINVAL;
	if (copy_in(buf, user_buf, n))
		return -EFAULT;
	buf[n] = '\0';
	err = d->store(buf, n, f->node->arg);
	return err ? err : (s64)n;
}

static void text_release(struct file *f)
{
	struct text *t = f->object;

	kfree(t->sb.buf, t->sb.size);
	kfree(t, sizeof(*t));
}

/* An open text node counts as a file without end for SEEK_END, as on Linux. */
static s64 text_seek(struct file *f, s64 offset, int whence)
{
	return seek_bounded(f, offset, whence, ~0ull);
}

static const struct file_ops text_file_ops = {
	.read = text_read,
	.seek = text_seek,
	.poll = poll_always,
	.release = text_release,
};

static const struct file_ops text_rw_file_ops = {
	.read = text_read,
	.write = text_store,
	.seek = text_seek,
	.poll = poll_always,
	.release = text_release,
};

/* Run @show with ever larger buffers until the text fits (or is as long as we allow). */
static int generate(struct text *t, int (*show)(struct strbuf *sb, u64 arg), u64 arg)
{
	for (size_t size = TEXT_START;; size *= 4) {
		int err;

		t->sb = (struct strbuf){.buf = kmalloc(size), .size = size};
		if (!t->sb.buf)
			return -ENOMEM;
		t->sb.buf[0] = '\0';
		err = show ? show(&t->sb, arg) : 0;
		if (!err && (t->sb.len + 1 < size || size >= TEXT_MAX)) {
			sb_cut(&t->sb);
			return 0;
		}
		kfree(t->sb.buf, size);
		if (err)
			return err;
	}
}

static int text_open(struct node *n, unsigned flags, struct file **out)
{
	const struct text_desc *d = n->desc;
	bool write = (flags & O_ACCMODE) != O_RDONLY;
	struct text *t;
	int err;

	if ((write && !d->store) || ((flags & O_ACCMODE) != O_WRONLY && !d->show))
		return -EACCES;
	t = kmalloc(sizeof(*t));
	if (!t)
		return -ENOMEM;
	err = generate(t, (flags & O_ACCMODE) == O_WRONLY ? NULL : d->show, n->arg);
	if (!err) {
		err = file_for_node(d->store ? &text_rw_file_ops : &text_file_ops, flags, t, n,
				    out);
		if (err)
			kfree(t->sb.buf, t->sb.size);
	}
	if (err)
		kfree(t, sizeof(*t));
	return err;
}

const struct node_ops text_ops = {.open = text_open};

int text_add(struct node *dir, const struct text_desc *desc, u64 arg)
{
	struct node *n =
		node_add(dir, desc->name, strlen(desc->name), S_IFREG | desc->mode, &text_ops);

	if (!n)
		return -ENOMEM;
	n->desc = desc;
	n->arg = arg;
	return 0;
}

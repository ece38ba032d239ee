// SPDX-License-Identifier: MIT
/*
 * Socket pairs: two pipes, crossed. A socket is the read end of one and the write end of the other, so that order, blocking, wake-ups and
 * the end of file are the pipe's.
 */
#include "ipc/file.h"
#include "mm/mm.h"

struct socket {
	struct file *in, *out; /* constant */
};

static const struct file_ops socket_ops;

bool file_is_socket(const struct file *f)
{
	return f->ops == &socket_ops;
}

s64 socket_receive(struct file *f, void *buf, size_t n, unsigned flags)
{
	/* How a call treats its end is in the file's flags: each call has a copy of its own. */
	struct file end = *((struct socket *)f->object)->in;
	size_t done = 0;
	s64 ret;

	end.flags |= (f->flags | flags) & O_NONBLOCK;
	do {
		ret = end.read(&end, (u8 *)buf + done, n - done, NULL);
		if (ret > 0)
			done += (size_t)ret;
	} while (ret > 0 && (flags & SOCKET_ALL) && done < n);
	return done ? (s64)done : ret;
}

s64 socket_send(struct file *f, const void *buf, size_t n, unsigned flags)
{
	struct file end = *((struct socket *)f->object)->out;

	end.flags |= ((f->flags | flags) & O_NONBLOCK) | (flags & FILE_NO_SIGPIPE);
	return end.write(&end, buf, n, NULL);
}

static s64 socket_read(struct file *f, void *buf, size_t n, u64 *pos)
{
	(void)pos;
	return socket_receive(f, buf, n, 0);
}

static s64 socket_write(struct file *f, const void *buf, size_t n, u64 *pos)
{
	(void)pos;
	return socket_send(f, buf, n, 0);
}

static s64 socket_ioctl(struct file *f, unsigned cmd, u64 arg)
{
	struct file *in = ((struct socket *)f->object)->in;

	return in->ops->ioctl(in, cmd, arg);
}

/* What is an error or a hang-up of a pipe's end is a call that will not block for a socket. */
static unsigned socket_poll(struct file *f, struct poll_table *pt)
{
	struct socket *s = f->object;
	unsigned events = s->in->ops->poll(s->in, pt) | s->out->ops->poll(s->out, pt);
	bool ended = events & POLLHUP, deaf = events & POLLERR;

	events &= ~(POLLHUP | POLLERR);
	if (ended)
		events |= POLLIN | POLLRDNORM | POLLRDHUP | (deaf ? POLLHUP : 0);
	if (deaf)
		events |= POLLOUT | POLLWRNORM;
	return events;
}

static void socket_release(struct file *f)
{
	struct socket *s = f->object;

	file_put(s->in);
	file_put(s->out);
	kfree(s, sizeof(*s));
}

static const struct file_ops socket_ops = {
	.read = socket_read,
	.write = socket_write,
	.ioctl = socket_ioctl,
	.poll = socket_poll,
	.release = socket_release,
};

void socket_shut(struct file *f, bool in, bool out)
{
	struct socket *s = f->object;

	if (in)
		pipe_shut(s->in);
	if (out)
		pipe_shut(s->out);
}

/* A socket of these ends, which it takes over in any case. */
static struct file *socket_create(struct file *in, struct file *out, unsigned flags)
{
	struct socket *s = kmalloc(sizeof(*s));
	struct file *f = s ? file_create(&socket_ops, O_RDWR | flags, s, NULL) : NULL;

	if (f) {
		*s = (struct socket){in, out};
		return f;
	}
	kfree(s, sizeof(*s));
	file_put(in);
	file_put(out);
	return NULL;
}

int socket_pair(struct file *pair[2], unsigned flags)
{
	struct file *a[2], *b[2];
	int err = pipe_create(a, 0);

	if (err)
		return err;
	err = pipe_create(b, 0);
	if (err) {
		file_put(a[0]);
		file_put(a[1]);
		return err;
	}
	pair[0] = socket_create(a[0], b[1], flags & O_NONBLOCK);
	pair[1] = socket_create(b[0], a[1], flags & O_NONBLOCK);
	if (pair[0] && pair[1])
		return 0;
	for (unsigned i = 0; i < 2; i++)
		if (pair[i])
			file_put(pair[i]);
	return -ENOMEM;
}

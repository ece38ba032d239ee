/* SPDX-License-Identifier: MIT
 *
 * Calls on sockets. There are pairs of connected stream sockets and nothing else: no names, no addresses, no descriptors in messages.
 */
#include "sys/calls.h"
#include "sys/fd.h"
#include "sys/node.h"

#define AF_UNIX	     1
#define SOCK_STREAM  1
#define SOCK_PACKET  10 /* the last type that exists */
#define MSG_DONTWAIT 0x40u
#define MSG_EOR	     0x80u
#define MSG_WAITALL  0x100u
#define MSG_NOSIGNAL 0x4000u
#define MSG_MORE     0x8000u
#define MSG_CLOEXEC  0x40000000u

SYSCALL3(socket, family, type, protocol)
{
	(void)family, (void)type, (void)protocol;
	return -EAFNOSUPPORT;
}

SYSCALL4(socketpair, family, type, protocol, user_fds)
{
	unsigned flags = (u32)type & ~0xfu, kind = (u32)type & 0xf;
	struct file *pair[2];
	s64 err;

	if (flags & ~(O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	if ((s32)family != AF_UNIX)
		return -EAFNOSUPPORT;
	if ((s32)protocol != 0 && (s32)protocol != AF_UNIX)
		return -EPROTONOSUPPORT;
	if (kind != SOCK_STREAM)
		return kind && kind <= SOCK_PACKET ? -ESOCKTNOSUPPORT : -EINVAL;
	err = socket_pair(pair, flags);
	return err ? err : fd_install_pair(pair, flags & O_CLOEXEC, user_fds);
}

/* What both directions have in common. */
struct message {
	struct file *file;
	bool send;
	unsigned flags; /* for socket_send() and socket_receive() */
};

static s64 transfer_message(struct file *f, u64 buf, u64 n, u64 *state)
{
	struct message *m = (void *)state;

	(void)f;
	return m->send ? socket_send(m->file, (const void *)buf, n, m->flags)
		       : socket_receive(m->file, (void *)buf, n, m->flags);
}

/* The socket behind @fd, and what the MSG_* mean for it. Return: 0 (then fd_put()), -EBADF, -ENOTSOCK, -EOPNOTSUPP. */
static int message_begin(u64 fd, u64 flags, bool send, struct fd_ref *ref, struct message *m)
{
	u32 known = MSG_DONTWAIT | MSG_NOSIGNAL | MSG_CLOEXEC |
		    (send ? MSG_EOR | MSG_MORE : MSG_WAITALL);
	int err = 0;

	*ref = fd_get(fd);
	if (!ref->file)
		return -EBADF;
	if (!file_is_socket(ref->file))
		err = -ENOTSOCK;
	else if ((u32)flags & ~known)
		err = -EOPNOTSUPP;
	if (err)
		fd_put(*ref);
	m->file = ref->file;
	m->send = send;
	m->flags = (flags & MSG_DONTWAIT ? O_NONBLOCK : 0) |
		   (flags & MSG_NOSIGNAL ? FILE_NO_SIGPIPE : 0) |
		   (flags & MSG_WAITALL ? SOCKET_ALL : 0);
	return err;
}

SYSCALL6(sendto, fd, buf, n, flags, address, address_len)
{
	struct fd_ref ref;
	struct message m;
	s64 ret = message_begin(fd, flags, true, &ref, &m);

	if (ret)
		return ret;
	ret = address && address_len ? -EISCONN
				     : transfer_message(NULL, buf, min(n, RW_MAX), (u64 *)&m);
	fd_put(ref);
	return ret;
}

SYSCALL6(recvfrom, fd, buf, n, flags, address, address_len)
{
	struct fd_ref ref;
	struct message m;
	s64 ret = message_begin(fd, flags, false, &ref, &m);

	if (ret)
		return ret;
	ret = transfer_message(NULL, buf, min(n, RW_MAX), (u64 *)&m);
	fd_put(ref);
	if (ret >= 0 && address && put_user_u32((u32 *)address_len, 0))
		ret = -EFAULT;
	return ret;
}

struct msghdr {
	u64 name;
	u32 name_len, pad0;
	u64 iov, iov_count, control, control_len;
	u32 flags, pad1;
};

static s64 message_call(u64 fd, u64 user_msg, u64 flags, bool send)
{
	struct fd_ref ref;
	struct message m;
	struct msghdr msg;
	s64 ret = message_begin(fd, flags, send, &ref, &m);

	if (ret)
		return ret;
	if (copy_from_user(&msg, (const void *)user_msg, sizeof(msg)))
		ret = -EFAULT;
	else if (msg.iov_count > IOV_MAX)
		ret = -EMSGSIZE;
	else if (send && msg.name && msg.name_len)
		ret = -EISCONN;
	else if (send && msg.control_len)
		ret = -EOPNOTSUPP; /* descriptors, credentials */
	else
		ret = transfer_vector(transfer_message, ref.file, msg.iov, msg.iov_count,
				      (u64 *)&m);
	fd_put(ref);
	if (ret < 0 || send)
		return ret;
	msg.name_len = msg.flags = 0;
	msg.control_len = 0;
	return copy_to_user((void *)user_msg, &msg, sizeof(msg)) ? -EFAULT : ret;
}

SYSCALL3(sendmsg, fd, msg, flags)
{
	return message_call(fd, msg, flags, true);
}

SYSCALL3(recvmsg, fd, msg, flags)
{
	return message_call(fd, msg, flags, false);
}

SYSCALL2(shutdown, fd, how)
{
	struct fd_ref ref = fd_get(fd);
	s64 ret = 0;

	if (!ref.file)
		return -EBADF;
	if (!file_is_socket(ref.file))
		ret = -ENOTSOCK;
	else if ((u32)how > 2)
		ret = -EINVAL;
	else
		socket_shut(ref.file, how != 1, how != 0);
	fd_put(ref);
	return ret;
}

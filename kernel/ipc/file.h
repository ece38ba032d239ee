/* SPDX-License-Identifier: MIT
 *
 * Open files: what a descriptor refers to. Pipes, terminals, interrupt objects and nodes all implement struct file_ops.
 */
#ifndef IPC_FILE_H
#define IPC_FILE_H

#include "ipc/waitq.h"
#include "lib/errno.h"

struct file;
struct poll_table;
struct node;
struct vm_object;

/* Linux's open flags. */
#define O_ACCMODE   3u
#define O_RDONLY    0u
#define O_WRONLY    1u
#define O_RDWR	    2u
#define O_CREAT	    0100u
#define O_EXCL	    0200u
#define O_NOCTTY    0400u
#define O_TRUNC	    01000u
#define O_APPEND    02000u
#define O_NONBLOCK  04000u
#define O_DIRECTORY 0200000u
#define O_NOFOLLOW  0400000u
#define O_CLOEXEC   02000000u
#define O_PATH	    010000000u
/* Internal, in the flags of one call's copy of a struct file: no SIGPIPE. */
#define FILE_NO_SIGPIPE (1u << 31)

#define POLLIN	   0x001u
#define POLLPRI	   0x002u
#define POLLOUT	   0x004u
#define POLLERR	   0x008u
#define POLLHUP	   0x010u
#define POLLNVAL   0x020u
#define POLLRDNORM 0x040u
#define POLLWRNORM 0x100u
#define POLLRDHUP  0x2000u

typedef s64 file_read_fn(struct file *f, void *user_buf, size_t n, u64 *pos);
typedef s64 file_write_fn(struct file *f, const void *user_buf, size_t n, u64 *pos);

/**
 * struct file_ops - any operation may be NULL (the call then fails with -EINVAL, -ESPIPE, -ENOTTY or -ENODEV as Linux does).
 * User pointers are unchecked until copied. All may sleep; context: task, no locks held.
 */
struct file_ops {
	file_read_fn *read;
	file_write_fn *write;
	s64 (*seek)(struct file *f, s64 offset, int whence);
	s64 (*ioctl)(struct file *f, unsigned cmd, u64 arg);
	/** @poll: current POLL* events; with @pt not NULL registers its wait queues by poll_wait() first. */
	unsigned (*poll)(struct file *f, struct poll_table *pt);
	/** @mmap: the object to map (a reference for the caller), or an error. */
	int (*mmap)(struct file *f, u64 offset, u64 len, u32 vm_flags, struct vm_object **object);
	void (*release)(struct file *f); /* last reference gone */
};

struct file {
	const struct file_ops *ops; /* constant */
	/* What read and write calls do: ops', or a function that says why not, by ops and flags. Constant */
	file_read_fn *read;
	file_write_fn *write;
	u32 refs;	    /* atomic */
	volatile u32 flags; /* O_ACCMODE constant; O_NONBLOCK, O_APPEND by F_SETFL */
	u64 pos; /* file position; racing calls may mix, as POSIX allows for shared descriptors */
	void *object;	   /* pipe, tty ...; constant */
	struct node *node; /* the node it was opened from, or NULL; a reference */
};

/** file_create() - refs = 1. Return: NULL if out of memory. */
struct file *file_create(const struct file_ops *ops, unsigned flags, void *object,
			 struct node *node);
void file_get(struct file *f);
void file_put(struct file *f);

/** pipe_create() - Return: 0 with both ends in @ends (read, write), or -ENOMEM. @flags: O_NONBLOCK. */
int pipe_create(struct file *ends[2], unsigned flags);
/** pipe_set_size()/pipe_size() - F_SETPIPE_SZ/F_GETPIPE_SZ on either end. Return: size; -EBUSY if contents do not fit; -EBADF if not a pipe; -EINVAL; -EPERM above 1 MiB. */
s64 pipe_set_size(struct file *f, u64 size);
s64 pipe_size(struct file *f);
/** file_is_pipe() - Return: whether @f is an end of a pipe. */
bool file_is_pipe(const struct file *f);

/** pipe_shut() - end the pipe for both sides, whoever holds the ends: the reader gets what is left and the end of file, a writer EPIPE. */
void pipe_shut(struct file *f);

/** socket_pair() - two connected stream sockets. @flags: O_NONBLOCK. Return: 0 or -ENOMEM. */
int socket_pair(struct file *pair[2], unsigned flags);
bool file_is_socket(const struct file *f);
#define SOCKET_ALL (1u << 30) /* wait for all bytes asked for */
/** socket_receive()/socket_send() - read and write of a socket with @flags: O_NONBLOCK, FILE_NO_SIGPIPE, SOCKET_ALL. */
s64 socket_receive(struct file *f, void *buf, size_t n, unsigned flags);
s64 socket_send(struct file *f, const void *buf, size_t n, unsigned flags);
/** socket_shut() - end what comes in, what goes out, or both, for both sides. */
void socket_shut(struct file *f, bool in, bool out);

/** tty_open_program()/tty_open_server() - the two sides of the terminal: /dev/console, /dev/tty; /dev/ttyserver. Return: 0 or -errno, *out. */
int tty_open_program(unsigned flags, struct node *node, struct file **out);
int tty_open_server(unsigned flags, struct node *node, struct file **out);
/** tty_hangup() - the leader of session @sid ended: if the terminal is its own, SIGHUP and SIGCONT to the foreground group, and the terminal is
 * free again. Context: task, no locks held. */
void tty_hangup(u32 sid);
/** irq_open() - /dev/irq/N: unmasks interrupt @irq. Return: 0 and *out; -ENOENT beyond 15; -ENOMEM; what the machine says if it cannot be routed. */
int irq_open(unsigned irq, unsigned flags, struct node *node, struct file **out);

/* ---- poll ---- */
struct poll_table;
/** poll_wait() - called by file_ops.poll: wake this poll when @q is woken. */
void poll_wait(struct poll_table *pt, struct waitq *q);
/** struct pollfd as in Linux. */
struct pollfd {
	s32 fd;
	s16 events, revents;
};
/**
 * poll_files() - wait until a file of @files is ready. @files[i] may be NULL (fd < 0: ignored). @deadline: ns, 0 = do not wait, ~0ull = for ever.
 * Fills fds[i].revents. Return: number ready, 0 on time-out, -EINTR (signal), -ENOMEM.
 */
s64 poll_files(struct pollfd *fds, struct file **files, unsigned n, u64 deadline);

/* ---- futex ---- */
/**
 * futex_call() - futex(2) with the system call's own arguments: @timeout_or_val2 is a user pointer to a struct timespec
 * (or NULL) for the WAIT operations, a count for the REQUEUE ones.
 * Return: as futex(2); -ERESTARTSYS or -ERESTARTNOHAND when interrupted; -ENOSYS for operations that do not exist here.
 */
s64 futex_call(u32 *uaddr, int op, u32 val, u64 timeout_or_val2, u32 *uaddr2, u32 val3);
/** futex_wake_addr() - wake up to @n waiters on @uaddr of the current address space (thread exit: CLEARTID). */
s64 futex_wake_addr(u32 *uaddr, u32 n);

/* ---- what ipc needs from the layer above (kernel/task supplies it) ---- */
/** signal_send_current() - send @sig to the current thread (SIGPIPE). */
void signal_send_current(int sig);
/** signal_send_group() - to every process of group @pgrp. Return: 0, -ESRCH. Context: task. */
int signal_send_group(u32 pgrp, int sig);
/** Session and group of the current process, for the terminal. */
u32 current_pgrp(void);
u32 current_session(void);
bool current_is_session_leader(void);
/** current_ignores_or_blocks() - is @sig ignored or blocked by current (SIGTTIN/SIGTTOU rules)? */
bool current_ignores_or_blocks(int sig);
/** current_pgrp_orphaned() - is nobody there who could continue current's group if the terminal stopped it? */
bool current_pgrp_orphaned(void);
/** pgrp_in_session() - does group @pgrp exist in session @sid? */
bool pgrp_in_session(u32 pgrp, u32 sid);
/** set_controlling_tty()/current_has_tty(): mark the current session as having the terminal. */
void session_set_tty(u32 sid, bool on);
bool current_has_tty(void);
void node_put(struct node *n);

#endif

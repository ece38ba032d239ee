// SPDX-License-Identifier: MIT
/*
 * The terminal: two byte streams between programs and a server, and what both must agree on: termios, window size, session
 * and foreground group. Programs open /dev/console or /dev/tty, the console server opens /dev/ttyserver.
 *
 * The line discipline (echo, erase, line editing, signal characters) is the server's; it writes into the input stream what
 * the programs shall read. Here remain the rules of reading: whole lines and end-of-file marks in canonical mode, VMIN and
 * VTIME in raw mode, and job control, which depends on who calls. The server may die at any time: the streams and settings
 * live here, and the next one goes on with them.
 *
 * Bytes go through a small buffer on the stack, so that a spin lock suffices for the rings: the server is a real-time task
 * and must never wait for a program that was preempted, or takes a page fault, in the middle of a copy.
 */
#include "ipc/tty.h"

#include "ipc/copy.h"
#include "ipc/file.h"
#include "log.h"

#define IN_SIZE	 4096u
#define OUT_SIZE 16384u
#define CHUNK	 512u

#define SIGHUP	 1
#define SIGINT	 2
#define SIGQUIT	 3
#define SIGCONT	 18
#define SIGTSTP	 20
#define SIGTTIN	 21
#define SIGTTOU	 22
#define SIGWINCH 28
#define NSIG	 64

static struct tty {
	spinlock_t lock; /* LOCK_TTY: all fields below but the queues. Never taken in interrupts */
	u32 in_head,
		in_tail; /* positions count up for ever; an end-of-file mark takes one place of the ring */
	u32 out_head, out_tail;
	struct ktermios termios;
	struct kwinsize size;
	u32 sid;  /* session whose controlling terminal this is, 0 = none */
	u32 pgrp; /* foreground group, 0 = none */
	bool server_open;
	struct waitq in_readers, in_writers;   /* programs wait for input; the server for room */
	struct waitq out_readers, out_writers; /* the server waits for output; programs for room */
	u64 in_mark[BITMAP_WORDS(IN_SIZE)];    /* which places of @in are end-of-file marks */
	u8 in[IN_SIZE];
	u8 out[OUT_SIZE];
} tty = {
	.lock = SPINLOCK_INIT("tty", LOCK_TTY),
#define QUEUE(field)                                                \
	.field = {.lock = SPINLOCK_INIT("tty " #field, LOCK_WAITQ), \
		  .waiters = LIST_INIT(tty.field.waiters)}
	QUEUE(in_readers),
	QUEUE(in_writers),
	QUEUE(out_readers),
	QUEUE(out_writers),
#undef QUEUE
	.size = {.rows = 25, .cols = 80},
	.termios =
		{
			.c_iflag = ICRNL | IXON,
			.c_oflag = OPOST | ONLCR,
			.c_cflag = B38400 | CS8 | CREAD | HUPCL,
			.c_lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
			.c_cc =
				{
					[VINTR] = 'C' & 31,
					[VQUIT] = '\\' & 31,
					[VERASE] = 0x7f,
					[VKILL] = 'U' & 31,
					[VEOF] = 'D' & 31,
					[VTIME] = 0,
					[VMIN] = 1,
					[VSTART] = 'Q' & 31,
					[VSTOP] = 'S' & 31,
					[VSUSP] = 'Z' & 31,
					[VREPRINT] = 'R' & 31,
					[VDISCARD] = 'O' & 31,
					[VWERASE] = 'W' & 31,
					[VLNEXT] = 'V' & 31,
				},
		},
};

static inline u32 in_used(void)
{
	return READ_ONCE(tty.in_head) - READ_ONCE(tty.in_tail);
}

static inline u32 out_used(void)
{
	return READ_ONCE(tty.out_head) - READ_ONCE(tty.out_tail);
}

/* ---- job control ---- */

static bool is_my_tty(void)
{
	return tty.sid && current_has_tty() && current_session() == tty.sid;
}

static bool in_background(void)
{
	return is_my_tty() && tty.pgrp && current_pgrp() != tty.pgrp;
}

/* A background process wants to read: stop it, or fail if it will not stop. */
static s64 check_read(void)
{
	if (kernel_task() || !in_background())
		return 0;
	if (current_ignores_or_blocks(SIGTTIN) || current_pgrp_orphaned())
		return -EIO;
	signal_send_group(current_pgrp(), SIGTTIN);
	current_task()->signal_pending =
		1; /* another thread may get the signal, but we must not go on */
	return -ERESTARTSYS;
}

/* A background process wants to change something (or to write, with TOSTOP): stop it, or let it pass if it will not stop. */
static s64 check_change(void)
{
	if (kernel_task() || !in_background() || current_ignores_or_blocks(SIGTTOU))
		return 0;
	if (current_pgrp_orphaned())
		return -EIO;
	signal_send_group(current_pgrp(), SIGTTOU);
	current_task()->signal_pending = 1;
	return -ERESTARTSYS;
}

static void set_session(u32 sid, u32 pgrp)
{
	spin_lock(&tty.lock);
	tty.sid = sid;
	tty.pgrp = pgrp;
	spin_unlock(&tty.lock);
}

static s64 acquire(bool steal)
{
	u32 sid = current_session(), old = tty.sid;

	if (is_my_tty())
		return 0;
	if (!current_is_session_leader() || current_has_tty())
		return -EPERM;
	if (old && old != sid) {
		/* A session of which nothing is left holds the terminal no more. */
		if (!steal && (pgrp_in_session(tty.pgrp, old) || pgrp_in_session(old, old)))
			return -EPERM;
		session_set_tty(old, false);
	}
	set_session(sid, current_pgrp());
	session_set_tty(sid, true);
	return 0;
}

void tty_hangup(u32 sid)
{
	u32 pgrp = 0;

	spin_lock(&tty.lock);
	if (sid && tty.sid == sid) {
		pgrp = tty.pgrp;
		tty.sid = tty.pgrp = 0;
	}
	spin_unlock(&tty.lock);
	if (pgrp) {
		signal_send_group(pgrp, SIGHUP);
		signal_send_group(pgrp, SIGCONT);
	}
}

/* ---- rings ---- */

/*
 * Take up to @n bytes of input for one read, of which @moved are taken already. In canonical mode they end with a line.
 * *@end: the read is complete (a line's end or an end-of-file mark was reached).
 */
static u32 take_input(u8 *buf, u32 n, size_t moved, bool *end)
{
	u32 done = 0;

	spin_lock(&tty.lock);
	while (done < n && tty.in_tail != tty.in_head) {
		bool canonical = tty.termios.c_lflag & ICANON;
		u32 i = tty.in_tail % IN_SIZE;
		u8 c;

		if (bit_test(tty.in_mark, i)) {
			if (canonical && (done || moved)) {
				*end = true; /* the mark is for the next read */
				break;
			}
			bit_clear(tty.in_mark, i);
			tty.in_tail++;
			if (canonical) {
				*end = true;
				break;
			}
			continue; /* means nothing in raw mode */
		}
		c = tty.in[i];
		buf[done++] = c;
		tty.in_tail++;
		if (canonical && (c == '\n' || (c && (c == tty.termios.c_cc[VEOL] ||
						      c == tty.termios.c_cc[VEOL2])))) {
			*end = true;
			break;
		}
	}
	spin_unlock(&tty.lock);
	return done;
}

static u32 put_input(const u8 *buf, u32 n)
{
	u32 done;

	spin_lock(&tty.lock);
	for (done = 0; done < n && in_used() < IN_SIZE; done++)
		tty.in[tty.in_head++ % IN_SIZE] = buf[done];
	spin_unlock(&tty.lock);
	return done;
}

static bool put_mark(void)
{
	bool room;

	spin_lock(&tty.lock);
	room = in_used() < IN_SIZE;
	if (room)
		bit_set(tty.in_mark, tty.in_head++ % IN_SIZE);
	spin_unlock(&tty.lock);
	return room;
}

static u32 take_output(u8 *buf, u32 n)
{
	u32 first;

	spin_lock(&tty.lock);
	n = min(n, out_used());
	first = min(n, OUT_SIZE - tty.out_tail % OUT_SIZE);
	memcpy(buf, tty.out + tty.out_tail % OUT_SIZE, first);
	memcpy(buf + first, tty.out, n - first);
	tty.out_tail += n;
	spin_unlock(&tty.lock);
	return n;
}

static u32 put_output(const u8 *buf, u32 n)
{
	u32 first;

	spin_lock(&tty.lock);
	n = min(n, OUT_SIZE - out_used());
	first = min(n, OUT_SIZE - tty.out_head % OUT_SIZE);
	memcpy(tty.out + tty.out_head % OUT_SIZE, buf, first);
	memcpy(tty.out, buf + first, n - first);
	tty.out_head += n;
	spin_unlock(&tty.lock);
	return n;
}

static void flush_input(void)
{
	spin_lock(&tty.lock);
	tty.in_tail = tty.in_head;
	memset(tty.in_mark, 0, sizeof(tty.in_mark));
	spin_unlock(&tty.lock);
	waitq_wake(&tty.in_writers, 0, 0);
}

static void flush_output(void)
{
	spin_lock(&tty.lock);
	tty.out_tail = tty.out_head;
	spin_unlock(&tty.lock);
	waitq_wake(&tty.out_writers, 0, 0);
}

/*
 * Sleep on @q until @ready() or @deadline. Return: 0 to look again, -EAGAIN if the file does not block, -ERESTARTSYS,
 * -ETIMEDOUT.
 */
static s64 wait_for(struct waitq *q, bool (*ready)(void), const struct file *f, u64 deadline)
{
	struct waiter w;
	bool late = false;

	if (f && (f->flags & O_NONBLOCK))
		return -EAGAIN;
	if (current_task()->signal_pending)
		return -ERESTARTSYS;
	waitq_prepare(q, &w, TASK_INTERRUPTIBLE, false);
	if (!ready())
		late = sleep_until(deadline, TASK_INTERRUPTIBLE);
	waitq_finish(q, &w);
	return late ? -ETIMEDOUT : 0;
}

static bool input_there(void)
{
	return in_used() != 0;
}

static bool input_room(void)
{
	return in_used() < IN_SIZE;
}

static bool output_there(void)
{
	return out_used() != 0;
}

static bool output_room(void)
{
	return out_used() < OUT_SIZE;
}

static bool output_drained(void)
{
	return !out_used() || !tty.server_open;
}

/* ---- program side ---- */

/*
 * How long a raw read that has @moved of @n bytes goes on. Return: true if it is done; else *@deadline says until when to
 * wait for more. @start: when the read began.
 */
static bool raw_done(size_t moved, size_t n, u64 start, u64 *deadline)
{
	u8 vmin = tty.termios.c_cc[VMIN];
	u64 vtime = tty.termios.c_cc[VTIME] * 100 * NSEC_PER_MSEC;

	*deadline = ~0ull;
	if (moved == n || moved >= max(vmin, (u8)1))
		return true;
	if (!vmin) {
		*deadline = start + vtime;
		return !vtime;
	}
	if (vtime && moved) /* between bytes; the clock starts with the first one */
		*deadline = machine_now() + vtime;
	return false;
}

static s64 tty_read(struct file *f, void *user, size_t n, u64 *pos)
{
	u8 buf[CHUNK];
	size_t moved = 0;
	u64 start = 0;
	s64 err = 0;

	(void)pos;
	if (!n)
		return 0;
	for (;;) {
		u64 deadline = ~0ull;
		bool end = false;
		u32 got;

		err = check_read();
		if (err)
			break;
		got = take_input(buf, (u32)min(n - moved, (size_t)CHUNK), moved, &end);
		if (got) {
			waitq_wake(&tty.in_writers, 0, 0);
			err = copy_out((u8 *)user + moved, buf, got);
			if (err)
				break;
			moved += got;
		}
		if (end || moved == n)
			break;
		if (got == CHUNK)
			continue;
		if (tty.termios.c_lflag & ICANON) {
			/* What there is was sent as it is by the server: a line cut by the end-of-file character. */
			if (moved)
				break;
		} else {
			if (!start && tty.termios.c_cc[VTIME])
				start = machine_now();
			if (raw_done(moved, n, start, &deadline))
				break;
		}
		err = wait_for(&tty.in_readers, input_there, f, deadline);
		if (err == -ETIMEDOUT) {
			err = 0;
			break;
		}
		if (err)
			break;
	}
	return moved ? (s64)moved : err;
}

static s64 tty_write(struct file *f, const void *user, size_t n, u64 *pos)
{
	u8 buf[CHUNK];
	size_t moved = 0;
	s64 err = 0;

	(void)pos;
	while (moved < n) {
		u32 want = (u32)min(n - moved, (size_t)CHUNK), put;

		if (tty.termios.c_lflag & TOSTOP) {
			err = check_change();
			if (err)
				break;
		}
		err = copy_in(buf, (const u8 *)user + moved, want);
		if (err)
			break;
		put = put_output(buf, want);
		moved += put;
		if (put)
			waitq_wake(&tty.out_readers, 0, 0);
		if (put == want)
			continue;
		err = wait_for(&tty.out_writers, output_room, f, ~0ull);
		if (err)
			break;
	}
	return moved ? (s64)moved : err;
}

static unsigned tty_poll(struct file *f, struct poll_table *pt)
{
	const u8 *cc = tty.termios.c_cc;
	unsigned events = 0;
	u32 enough = 1;

	(void)f;
	if (pt) {
		poll_wait(pt, &tty.in_readers);
		poll_wait(pt, &tty.out_writers);
	}
	if (!(tty.termios.c_lflag & ICANON) && !cc[VTIME] && cc[VMIN])
		enough = cc[VMIN];
	if (in_used() >= enough)
		events |= POLLIN | POLLRDNORM;
	if (output_room())
		events |= POLLOUT | POLLWRNORM;
	return events;
}

static s64 drain(void)
{
	s64 err;

	while (!output_drained()) {
		err = wait_for(&tty.out_writers, output_drained, NULL, ~0ull);
		if (err)
			return err;
	}
	return 0;
}

static s64 set_termios(unsigned cmd, u64 arg)
{
	struct ktermios t;
	s64 err = check_change();

	if (!err && copy_in(&t, (const void *)arg, sizeof(t)))
		err = -EFAULT;
	if (!err && cmd != TCSETS)
		err = drain();
	if (err)
		return err;
	if (cmd == TCSETSF)
		flush_input();
	spin_lock(&tty.lock);
	tty.termios = t;
	spin_unlock(&tty.lock);
	waitq_wake(&tty.in_readers, 0, 0); /* the rules of a read under way may have changed */
	return 0;
}

static s64 get_termios(u64 arg)
{
	struct ktermios t;

	spin_lock(&tty.lock);
	t = tty.termios;
	spin_unlock(&tty.lock);
	return copy_out((void *)arg, &t, sizeof(t));
}

static s64 set_size(u64 arg)
{
	struct kwinsize size;
	bool changed;
	u32 pgrp;

	if (copy_in(&size, (const void *)arg, sizeof(size)))
		return -EFAULT;
	spin_lock(&tty.lock);
	changed = memcmp(&size, &tty.size, sizeof(size)) != 0;
	tty.size = size;
	pgrp = tty.pgrp;
	spin_unlock(&tty.lock);
	if (changed && pgrp)
		signal_send_group(pgrp, SIGWINCH);
	return 0;
}

static s64 get_size(u64 arg)
{
	struct kwinsize size;

	spin_lock(&tty.lock);
	size = tty.size;
	spin_unlock(&tty.lock);
	return copy_out((void *)arg, &size, sizeof(size));
}

static s64 put_int(u64 arg, u32 value)
{
	return copy_out((void *)arg, &value, sizeof(value));
}

static s64 set_foreground(u64 arg)
{
	u32 pgrp;
	s64 err;

	if (!is_my_tty())
		return -ENOTTY;
	err = check_change();
	if (err)
		return err;
	if (copy_in(&pgrp, (const void *)arg, sizeof(pgrp)))
		return -EFAULT;
	if ((s32)pgrp < 0)
		return -EINVAL;
	if (!pgrp_in_session(pgrp, current_session()))
		return -EPERM;
	spin_lock(&tty.lock);
	if (tty.sid == current_session())
		tty.pgrp = pgrp;
	spin_unlock(&tty.lock);
	return 0;
}

static s64 flush(u64 which)
{
	s64 err = check_change();

	if (err)
		return err;
	if (which > 2) /* TCIFLUSH 0, TCOFLUSH 1, TCIOFLUSH 2 */
		return -EINVAL;
	if (which != 1)
		flush_input();
	if (which != 0)
		flush_output();
	return 0;
}

static s64 release_terminal(void)
{
	u32 sid = tty.sid;

	if (!is_my_tty())
		return -ENOTTY;
	/* Giving it up is the leader's act; of others it is a wish that changes nothing here. */
	if (current_is_session_leader()) {
		session_set_tty(sid, false);
		tty_hangup(sid);
	}
	return 0;
}

/* Requests that both sides know. Return: -ENOTTY if @cmd is none of them. */
static s64 common_ioctl(unsigned cmd, u64 arg)
{
	switch (cmd) {
	case TCGETS:
		return get_termios(arg);
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
		return set_termios(cmd, arg);
	case TIOCGWINSZ:
		return get_size(arg);
	case TIOCSWINSZ:
		return set_size(arg);
	default:
		return -ENOTTY;
	}
}

static s64 tty_ioctl(struct file *f, unsigned cmd, u64 arg)
{
	s64 err;

	(void)f;
	switch (cmd) {
	case TCSBRK:
		err = check_change();
		return err ? err : drain();
	case TCXONC:
		return check_change(); /* the server does flow control on the characters themselves */
	case TCFLSH:
		return flush(arg);
	case TIOCINQ:
		return put_int(arg, in_used());
	case TIOCOUTQ:
		return put_int(arg, out_used());
	default:
		break;
	}
	if (kernel_task())
		return common_ioctl(cmd, arg);
	switch (cmd) {
	case TIOCSCTTY:
		return acquire(arg == 1);
	case TIOCNOTTY:
		return release_terminal();
	case TIOCGPGRP:
		return is_my_tty() ? put_int(arg, tty.pgrp) : -ENOTTY;
	case TIOCSPGRP:
		return set_foreground(arg);
	case TIOCGSID:
		return is_my_tty() ? put_int(arg, tty.sid) : -ENOTTY;
	default:
		return common_ioctl(cmd, arg);
	}
}

static const struct file_ops program_ops = {
	.read = tty_read,
	.write = tty_write,
	.ioctl = tty_ioctl,
	.poll = tty_poll,
};

int tty_open_program(unsigned flags, struct node *node, struct file **out)
{
	*out = file_create(&program_ops, flags, &tty, node);
	return *out ? 0 : -ENOMEM;
}

/* ---- server side ---- */

static s64 server_read(struct file *f, void *user, size_t n, u64 *pos)
{
	u8 buf[CHUNK];
	size_t moved = 0;
	s64 err = 0;

	(void)pos;
	while (moved < n) {
		u32 got = take_output(buf, (u32)min(n - moved, (size_t)CHUNK));

		if (got) {
			waitq_wake(&tty.out_writers, 0, 0);
			err = copy_out((u8 *)user + moved, buf, got);
			if (err)
				break;
			moved += got;
			continue;
		}
		if (moved)
			break;
		err = wait_for(&tty.out_readers, output_there, f, ~0ull);
		if (err)
			break;
	}
	return moved ? (s64)moved : err;
}

static s64 server_write(struct file *f, const void *user, size_t n, u64 *pos)
{
	u8 buf[CHUNK];
	size_t moved = 0;
	s64 err = 0;

	(void)pos;
	while (moved < n) {
		u32 want = (u32)min(n - moved, (size_t)CHUNK), put;

		err = copy_in(buf, (const u8 *)user + moved, want);
		if (err)
			break;
		put = put_input(buf, want);
		moved += put;
		if (put)
			waitq_wake(&tty.in_readers, 0, 0);
		if (put == want)
			continue;
		err = wait_for(&tty.in_writers, input_room, f, ~0ull);
		if (err)
			break;
	}
	return moved ? (s64)moved : err;
}

static unsigned server_poll(struct file *f, struct poll_table *pt)
{
	unsigned events = 0;

	(void)f;
	if (pt) {
		poll_wait(pt, &tty.out_readers);
		poll_wait(pt, &tty.in_writers);
	}
	if (output_there())
		events |= POLLIN | POLLRDNORM;
	if (input_room())
		events |= POLLOUT | POLLWRNORM;
	return events;
}

static s64 signal_foreground(u64 sig)
{
	u32 pgrp = tty.pgrp;

	if (!sig || sig > NSIG)
		return -EINVAL;
	if ((sig == SIGINT || sig == SIGQUIT || sig == SIGTSTP) &&
	    !(tty.termios.c_lflag & NOFLSH)) {
		flush_input();
		if (sig != SIGTSTP)
			flush_output();
	}
	if (pgrp && !kernel_task())
		signal_send_group(pgrp, (int)sig);
	return 0;
}

static s64 queue_mark(struct file *f)
{
	while (!put_mark()) {
		s64 err = wait_for(&tty.in_writers, input_room, f, ~0ull);

		if (err)
			return err;
	}
	waitq_wake(&tty.in_readers, 0, 0);
	return 0;
}

static s64 server_ioctl(struct file *f, unsigned cmd, u64 arg)
{
	switch (cmd) {
	case TIOCSIG:
		return signal_foreground(arg);
	case TIOCJEOF:
		return queue_mark(f);
	case TIOCINQ:
		return put_int(arg, out_used());
	default:
		return common_ioctl(cmd, arg);
	}
}

static void server_release(struct file *f)
{
	(void)f;
	log_console_owned(false); /* first: the next server may open as soon as the flag is clear */
	spin_lock(&tty.lock);
	tty.server_open = false;
	spin_unlock(&tty.lock);
	waitq_wake(&tty.out_writers, 0, 0); /* nobody will drain: who waits for that need not */
}

static const struct file_ops server_ops = {
	.read = server_read,
	.write = server_write,
	.ioctl = server_ioctl,
	.poll = server_poll,
	.release = server_release,
};

int tty_open_server(unsigned flags, struct node *node, struct file **out)
{
	struct file *f = file_create(&server_ops, flags, &tty, node);
	bool busy;

	if (!f)
		return -ENOMEM;
	spin_lock(&tty.lock);
	busy = tty.server_open;
	tty.server_open = true;
	spin_unlock(&tty.lock);
	if (busy) {
		kfree(f, sizeof(*f));
		return -EBUSY;
	}
	log_console_owned(true);
	*out = f;
	return 0;
}

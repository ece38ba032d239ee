// SPDX-License-Identifier: MIT
/*
 * Self-tests of the terminal object, seen from both sides. They leave it as they found it and skip themselves when a server
 * has it already.
 */
#include "ipc/ipc_test.h"
#include "ipc/tty.h"
#include "lib/string.h"

static struct file *program, *server;
static struct ktermios saved;

static bool start(void)
{
	int err = tty_open_server(O_RDWR | O_NONBLOCK, NULL, &server);

	if (err == -EBUSY) {
		selftest_skip("a console server owns the terminal");
		return false;
	}
	if (!EXPECT_EQ(err, 0) || !EXPECT_EQ(tty_open_program(O_RDWR, NULL, &program), 0))
		return false;
	return EXPECT_EQ(file_ioctl(program, TCGETS, &saved), 0);
}

static void finish(void)
{
	EXPECT_EQ(program->ops->ioctl(program, TCFLSH, 2), 0);
	EXPECT_EQ(file_ioctl(program, TCSETS, &saved), 0);
	file_put(program);
	file_put(server);
}

static s64 type(const char *text)
{
	return file_write(server, text, strlen(text));
}

/* Read up to @n bytes and compare with @want. */
static bool reads(size_t n, const char *want)
{
	char buf[64] = "";
	s64 got = file_read(program, buf, n);

	return got == (s64)strlen(want) && !memcmp(buf, want, got);
}

static void set_raw(u8 vmin, u8 vtime)
{
	struct ktermios t = saved;

	t.c_lflag &= ~(ICANON | ECHO);
	t.c_cc[VMIN] = vmin;
	t.c_cc[VTIME] = vtime;
	EXPECT_EQ(file_ioctl(program, TCSETS, &t), 0);
}

SELFTEST(tty_lines)
{
	struct file *other;
	char c;

	if (!start())
		return;
	EXPECT_EQ(tty_open_server(O_RDWR, NULL, &other), -EBUSY);
	EXPECT(saved.c_lflag & ICANON);
	EXPECT(saved.c_lflag & ISIG);
	EXPECT_EQ(saved.c_cc[VINTR], 3);
	EXPECT_EQ(saved.c_cc[VEOF], 4);
	EXPECT_EQ(sizeof(saved), 36);
	program->flags |= O_NONBLOCK;
	EXPECT_EQ(file_read(program, &c, 1), -EAGAIN);
	EXPECT_EQ(type("one\ntwo\nthree"), 13);
	EXPECT(reads(64, "one\n")); /* one line, though there is more */
	EXPECT(reads(2, "tw"));	    /* a short buffer leaves the rest of the line */
	EXPECT(reads(64, "o\n"));
	EXPECT(reads(64, "three")); /* sent without a newline: ^D in the middle of a line */
	/* An end-of-file mark is read once, after what comes before it. */
	EXPECT_EQ(type("x"), 1);
	EXPECT_EQ(server->ops->ioctl(server, TIOCJEOF, 0), 0);
	EXPECT_EQ(type("y\n"), 2);
	EXPECT(reads(64, "x"));
	EXPECT(reads(64, ""));
	EXPECT(reads(64, "y\n"));
	EXPECT_EQ(file_read(program, &c, 1), -EAGAIN);
	/* A flush takes marks away too. */
	EXPECT_EQ(server->ops->ioctl(server, TIOCJEOF, 0), 0);
	EXPECT_EQ(program->ops->ioctl(program, TCFLSH, 0), 0);
	EXPECT_EQ(file_read(program, &c, 1), -EAGAIN);
	finish();
}

struct type_later {
	const char *text;
	u64 gap_ns;
};

/* Types one character after the other. */
static void type_later(void *arg)
{
	struct type_later *w = arg;

	for (const char *p = w->text; *p; p++) {
		selftest_sleep_ns(w->gap_ns);
		file_write(server, p, 1);
	}
}

SELFTEST(tty_raw)
{
	struct type_later w = {"abcd", 20 * NSEC_PER_MSEC};
	struct task *t;
	u64 begin;
	u32 avail = 0;

	if (!start())
		return;
	/* VMIN 1: whatever there is. A canonical line's end means nothing. */
	set_raw(1, 0);
	EXPECT_EQ(type("a\nb"), 3);
	EXPECT_EQ(file_ioctl(program, TIOCINQ, &avail), 0);
	EXPECT_EQ(avail, 3);
	EXPECT(reads(64, "a\nb"));
	/* VMIN 3: the read lasts until the third character. */
	set_raw(3, 0);
	t = selftest_spawn(type_later, &w, "typist");
	if (!EXPECT(t))
		return;
	EXPECT(reads(64, "abc"));
	/* ... or until the buffer is full. */
	EXPECT(reads(1, "d"));
	EXPECT(selftest_join(t));
	/* VMIN 0: a poll, or a wait with a limit. */
	set_raw(0, 0);
	EXPECT(reads(64, ""));
	EXPECT_EQ(type("q"), 1);
	EXPECT(reads(64, "q"));
	set_raw(0, 1);
	begin = machine_now();
	EXPECT(reads(64, ""));
	EXPECT(machine_now() - begin >= 100 * NSEC_PER_MSEC);
	w = (struct type_later){"z", 10 * NSEC_PER_MSEC};
	t = selftest_spawn(type_later, &w, "typist");
	if (!EXPECT(t))
		return;
	begin = machine_now();
	EXPECT(reads(64, "z"));
	EXPECT(machine_now() - begin < 100 * NSEC_PER_MSEC);
	EXPECT(selftest_join(t));
	/* VMIN 5, VTIME 1: the pause after the first character ends it. */
	set_raw(5, 1);
	EXPECT_EQ(type("hi"), 2);
	begin = machine_now();
	EXPECT(reads(64, "hi"));
	EXPECT(machine_now() - begin >= 100 * NSEC_PER_MSEC);
	finish();
}

struct out_job {
	u32 size;
	volatile s64 result;
};

static void write_much(void *arg)
{
	struct out_job *j = arg;
	u8 *buf = kmalloc(j->size);

	for (u32 i = 0; buf && i < j->size; i++)
		buf[i] = (u8)(i * 7 + i / 256);
	j->result = buf ? file_write(program, buf, j->size) : -ENOMEM;
	kfree(buf, j->size);
}

SELFTEST(tty_output)
{
	struct out_job j = {100000, 0};
	struct pollfd fd = {.fd = 0, .events = POLLIN};
	struct task *t;
	u8 *buf = kmalloc(1000);
	u32 total = 0, bad = 0;

	if (!start() || !EXPECT(buf))
		return;
	EXPECT_EQ(file_read(server, buf, 1000), -EAGAIN);
	EXPECT_EQ(file_write(program, "hi\n", 3), 3);
	EXPECT_EQ(file_read(server, buf, 1000), 3);
	EXPECT_EQ(memcmp(buf, "hi\n", 3), 0); /* as written: the server does the processing */
	t = selftest_spawn(write_much, &j, "program");
	if (!EXPECT(t))
		return;
	while (total < j.size &&
	       poll_files(&fd, &server, 1, machine_now() + 5 * NSEC_PER_SEC) == 1) {
		s64 n = file_read(server, buf, 999);

		for (s64 i = 0; i < n; i++, total++)
			bad += buf[i] != (u8)(total * 7 + total / 256);
		if (!EXPECT(n > 0))
			break;
	}
	EXPECT_EQ(total, j.size);
	EXPECT_EQ(bad, 0);
	EXPECT(selftest_join(t));
	EXPECT_EQ(j.result, j.size);
	/* The server dies and another takes over: what was written meanwhile is still there. */
	EXPECT_EQ(file_write(program, "left", 4), 4);
	file_put(server);
	EXPECT_EQ(file_write(program, "over", 4), 4);
	EXPECT_EQ(tty_open_server(O_RDWR | O_NONBLOCK, NULL, &server), 0);
	EXPECT_EQ(file_read(server, buf, 1000), 8);
	EXPECT_EQ(memcmp(buf, "leftover", 8), 0);
	kfree(buf, 1000);
	finish();
}

SELFTEST(tty_requests)
{
	struct kwinsize size, old;
	struct ktermios t;
	u32 n = 0;
	char c;

	if (!start())
		return;
	EXPECT_EQ(file_ioctl(program, TIOCGWINSZ, &old), 0);
	size = (struct kwinsize){50, 132, 0, 0};
	EXPECT_EQ(file_ioctl(server, TIOCSWINSZ, &size), 0);
	memset(&size, 0, sizeof(size));
	EXPECT_EQ(file_ioctl(program, TIOCGWINSZ, &size), 0);
	EXPECT(size.rows == 50 && size.cols == 132);
	EXPECT_EQ(file_ioctl(program, TIOCSWINSZ, &old), 0);
	/* The server sees what the program set. */
	set_raw(7, 0);
	EXPECT_EQ(file_ioctl(server, TCGETS, &t), 0);
	EXPECT_EQ(t.c_cc[VMIN], 7);
	EXPECT(!(t.c_lflag & ICANON));
	EXPECT_EQ(file_ioctl(program, TCSETS, &saved), 0);
	/* ^C throws away what was typed, unless NOFLSH. */
	program->flags |= O_NONBLOCK;
	EXPECT_EQ(type("typed"), 5);
	EXPECT_EQ(server->ops->ioctl(server, TIOCSIG, 2), 0);
	EXPECT_EQ(file_read(program, &c, 1), -EAGAIN);
	t = saved;
	t.c_lflag |= NOFLSH;
	EXPECT_EQ(file_ioctl(program, TCSETS, &t), 0);
	EXPECT_EQ(type("typed"), 5);
	EXPECT_EQ(server->ops->ioctl(server, TIOCSIG, 2), 0);
	EXPECT(reads(64, "typed"));
	EXPECT_EQ(server->ops->ioctl(server, TIOCSIG, 0), -EINVAL);
	EXPECT_EQ(server->ops->ioctl(server, TIOCSIG, 65), -EINVAL);
	EXPECT_EQ(program->ops->ioctl(program, 0x5499, 0), -ENOTTY);
	EXPECT_EQ(file_write(program, "12345", 5), 5);
	EXPECT_EQ(file_ioctl(program, TIOCOUTQ, &n), 0);
	EXPECT_EQ(n, 5);
	finish();
}

/* More input than the ring holds: the server is told, nothing is overwritten. */
SELFTEST(tty_input_full)
{
	u8 *buf = kmalloc(5000), *back = kmalloc(5000);
	s64 sent, got = 0;

	if (!start() || !EXPECT(buf && back))
		return;
	set_raw(1, 0);
	program->flags |= O_NONBLOCK;
	for (int i = 0; i < 5000; i++)
		buf[i] = (u8)(i % 251);
	sent = file_write(server, buf, 5000);
	EXPECT_EQ(sent, 4096);
	EXPECT_EQ(file_write(server, buf, 1), -EAGAIN);
	EXPECT_EQ(server->ops->ioctl(server, TIOCJEOF, 0), -EAGAIN);
	while (got < sent) {
		s64 n = file_read(program, back + got, 700);

		if (!EXPECT(n > 0))
			break;
		got += n;
	}
	EXPECT_EQ(got, sent);
	EXPECT_EQ(memcmp(buf, back, 4096), 0);
	kfree(buf, 5000);
	kfree(back, 5000);
	finish();
}

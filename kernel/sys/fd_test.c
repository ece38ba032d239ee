/* SPDX-License-Identifier: MIT
 *
 * Tests of descriptor tables, made on a process of the test's own that exists for the current kernel task only.
 */
#include "selftest/selftest.h"
#include "sys/calls.h"
#include "sys/fd.h"

#define F_DUPFD_CLOEXEC 1030

static unsigned released; /* files that are gone; the tests run one at a time */

static void count_release(struct file *f)
{
	(void)f;
	released++;
}

static const struct file_ops test_ops = {.release = count_release};

/* Give the current kernel task a process with an empty table and @limit descriptors. Return: NULL if out of memory. */
static struct process *begin(unsigned limit)
{
	struct process *p = kzalloc(sizeof(*p));
	struct files *files = files_fork(NULL, false);

	if (!EXPECT(p && files))
		return NULL;
	p->files = files;
	p->nr_threads = 1;
	p->rlim_nofile = limit;
	released = 0;
	current_thread()->proc = p;
	return p;
}

static void end(struct process *p)
{
	current_thread()->proc = NULL;
	files_put(p->files);
	kfree(p, sizeof(*p));
}

static s64 install(bool cloexec)
{
	struct file *f = file_create(&test_ops, O_RDWR, NULL, NULL);
	s64 fd;

	if (!EXPECT(f))
		return -ENOMEM;
	fd = fd_install(f, 0, cloexec);
	if (fd < 0)
		file_put(f);
	return fd;
}

static s64 close_fd(u64 fd)
{
	return sys_close(fd, 0, 0, 0, 0, 0);
}

SELFTEST(fd_lowest_free)
{
	struct process *p = begin(FD_MAX);

	if (!p)
		return;
	for (unsigned i = 0; i < 100; i++) /* over the small table, over a word of the bitmap */
		EXPECT_EQ(install(false), i);
	EXPECT_EQ(close_fd(70), 0);
	EXPECT_EQ(close_fd(3), 0);
	EXPECT_EQ(close_fd(3), -EBADF);
	EXPECT_EQ(released, 2);
	EXPECT_EQ(install(false), 3);
	EXPECT_EQ(install(false), 70);
	EXPECT_EQ(install(false), 100);
	EXPECT_EQ(close_fd(100000), -EBADF);
	EXPECT_EQ(close_fd(~0ull), -EBADF);
	end(p);
	EXPECT_EQ(released, 103);
}

SELFTEST(fd_limit)
{
	struct process *p = begin(FD_MAX);

	if (!p)
		return;
	for (unsigned i = 0; i < FD_MAX; i++)
		if (!EXPECT_EQ(install(false), i))
			break;
	EXPECT_EQ(install(false), -EMFILE);
	EXPECT_EQ(sys_dup(0, 0, 0, 0, 0, 0), -EMFILE);
	EXPECT_EQ(sys_dup2(0, FD_MAX, 0, 0, 0, 0), -EBADF);
	EXPECT_EQ(sys_fcntl(0, F_DUPFD_CLOEXEC, FD_MAX, 0, 0, 0), -EINVAL);
	p->rlim_nofile = 10;
	EXPECT_EQ(close_fd(20), 0); /* over the limit, but open */
	EXPECT_EQ(install(false), -EMFILE);
	EXPECT_EQ(close_fd(5), 0);
	EXPECT_EQ(install(false), 5);
	end(p);
	EXPECT_EQ(released,
		  FD_MAX + 3); /* all, and two that found no place, and one closed twice over */
}

SELFTEST(fd_dup)
{
	struct process *p = begin(64);

	if (!p)
		return;
	EXPECT_EQ(install(false), 0);
	EXPECT_EQ(install(false), 1);
	EXPECT_EQ(sys_dup(0, 0, 0, 0, 0, 0), 2);
	EXPECT_EQ(sys_dup2(0, 1, 0, 0, 0, 0), 1); /* closes the second file */
	EXPECT_EQ(released, 1);
	EXPECT_EQ(sys_dup2(0, 40, 0, 0, 0, 0), 40);
	EXPECT_EQ(sys_dup2(7, 7, 0, 0, 0, 0), -EBADF);
	EXPECT_EQ(sys_dup2(1, 1, 0, 0, 0, 0), 1);
	EXPECT_EQ(sys_dup3(1, 1, 0, 0, 0, 0), -EINVAL);
	EXPECT_EQ(sys_dup3(1, 5, O_CLOEXEC, 0, 0, 0), 5);
	EXPECT_EQ(sys_fcntl(5, 1 /* F_GETFD */, 0, 0, 0, 0), 1);
	EXPECT_EQ(sys_fcntl(0, F_DUPFD_CLOEXEC, 10, 0, 0, 0), 10);
	EXPECT(fd_get(10).file == fd_get(0).file);
	end(p);
	EXPECT_EQ(released, 2);
}

SELFTEST(fd_fork_exec)
{
	struct process *p = begin(FD_MAX);
	struct files *copy, *shared;

	if (!p)
		return;
	for (unsigned i = 0; i < 40; i++)
		EXPECT_EQ(install(i % 2), i);
	copy = files_fork(p->files, false);
	shared = files_fork(p->files, true);
	EXPECT(shared == p->files && copy && copy != p->files);
	/* A shared table is counted, and a call on it counts its file. */
	EXPECT(fd_get(0).counted);
	file_put(p->files->fds[0]);
	/* exec leaves the sharer's table alone and closes the odd ones in its own. */
	EXPECT_EQ(files_exec(p), 0);
	EXPECT(p->files != shared);
	EXPECT_EQ(released, 0);
	EXPECT(fd_get(0).file && !fd_get(1).file && !fd_get(39).file && fd_get(38).file);
	EXPECT_EQ(fd_next(shared, 39), 39);
	files_put(shared);
	EXPECT_EQ(released, 0);
	files_put(copy);
	EXPECT_EQ(released, 20);
	EXPECT_EQ(install(false), 1);
	end(p);
	EXPECT_EQ(released, 41);
}

SELFTEST(calls_unsupported)
{
	u32 before = 0, after = 0;
	const u64 nr = 511; /* no call of Linux's has it */

	if (sys_unsupported_next(nr, &before) != nr)
		before = 0;
	EXPECT_EQ(sys_unsupported(nr), -ENOSYS);
	EXPECT_EQ(sys_unsupported(~0ull), -ENOSYS); /* shares the last counter */
	EXPECT_EQ(sys_unsupported_next(nr, &after), nr);
	EXPECT_EQ(after, before + 2);
	for (u64 i = 0; i < sys_call_count; i++)
		if (!EXPECT(sys_call_table[i]))
			selftest_note("call %llu", (unsigned long long)i);
}

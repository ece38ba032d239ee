// SPDX-License-Identifier: MIT
/*
 * A table of calls with bad arguments and the errno Linux documents for each. A call that the
 * kernel does not know must say ENOSYS and never pretend to have worked.
 */
#include "tap.h"

#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <termios.h>

static int pipe_fd[2], file_fd, dir_fd;
static char buf[4096];

static const struct bad_call {
	const char *text;
	long nr;
	long a[6];
	int want;
} calls[] = {
#define CALL(nr, want, ...)                                              \
	{                                                                \
#nr "(" #__VA_ARGS__ ")", SYS_##nr, {__VA_ARGS__ }, want \
	}
#define S(string) (long)(string)
#define BUF	  (long)buf
#define BAD	  8L
	CALL(read, EBADF, -1, BUF, 1),
	CALL(read, EBADF, 1000000, BUF, 1),
	CALL(write, EBADF, -1, BUF, 1),
	CALL(close, EBADF, -1),
	CALL(close, EBADF, 123456789),
	CALL(lseek, EBADF, -1, 0, 0),
	CALL(open, ENOENT, S("/nowhere"), O_RDONLY),
	CALL(open, EFAULT, BAD, O_RDONLY),
	CALL(openat, EBADF, 555, S("x"), O_RDONLY),
	CALL(stat, ENOENT, S("/nowhere"), BUF),
	CALL(fstat, EBADF, 555, BUF),
	CALL(lstat, ENOENT, S(""), BUF),
	CALL(newfstatat, EBADF, 555, S("x"), BUF, 0),
	CALL(newfstatat, EINVAL, AT_FDCWD, S("/"), BUF, 0x40000000),
	CALL(access, EINVAL, S("/"), 8),
	CALL(access, ENOENT, S("/nowhere"), 0),
	CALL(chdir, ENOENT, S("/nowhere")),
	CALL(chdir, ENOTDIR, S("/etc/passwd")),
	CALL(fchdir, EBADF, -1),
	CALL(getcwd, ERANGE, BUF, 1),
	CALL(readlink, ENOENT, S("/nowhere"), BUF, 10),
	CALL(readlink, EINVAL, S("/etc/passwd"), BUF, 10),
	CALL(readlink, EINVAL, S("/etc/passwd"), BUF, 0),
	CALL(getdents64, EBADF, 555, BUF, 100),
	CALL(dup, EBADF, -1),
	CALL(dup2, EBADF, 0, -1),
	CALL(dup3, EINVAL, 0, 0, 0),
	CALL(dup3, EINVAL, 0, 5, 1),
	CALL(pipe, EFAULT, BAD),
	CALL(pipe2, EINVAL, BUF, 1),
	CALL(fcntl, EBADF, -1, F_GETFD),
	CALL(fcntl, EINVAL, 0, 12345),
	CALL(ioctl, EBADF, -1, TCGETS, BUF),
	CALL(poll, EFAULT, BAD, 1, 0),
	CALL(poll, EINVAL, BUF, 100000000, 0),
	CALL(mmap, EINVAL, 0, 0, 1, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	CALL(mmap, EINVAL, 0, 4096, 1, MAP_ANONYMOUS, -1, 0),
	CALL(mmap, EBADF, 0, 4096, 1, MAP_PRIVATE, -1, 0),
	CALL(munmap, EINVAL, 1, 4096),
	CALL(munmap, EINVAL, 4096, 0),
	CALL(munmap, EINVAL, 0, -4096),
	CALL(mprotect, EINVAL, 1, 4096, 1),
	CALL(mprotect, EINVAL, 4096, 4096, 0x1000),
	CALL(mprotect, ENOMEM, 4096, 4096, 1),
	CALL(madvise, EINVAL, 1, 4096, 0),
	CALL(madvise, EINVAL, 4096, 4096, 9999),
	CALL(kill, ESRCH, 99999999, 0),
	CALL(kill, EINVAL, 0, 99),
	CALL(tkill, EINVAL, 0, 0),
	CALL(tkill, ESRCH, 99999999, 0),
	CALL(tgkill, EINVAL, 0, 1, 0),
	CALL(tgkill, ESRCH, 1, 99999999, 0),
	CALL(rt_sigaction, EINVAL, 0, 0, BUF, 8),
	CALL(rt_sigaction, EINVAL, 65, 0, BUF, 8),
	CALL(rt_sigaction, EINVAL, SIGTERM, 0, BUF, 16),
	CALL(rt_sigaction, EINVAL, SIGKILL, BUF, 0, 8),
	CALL(rt_sigprocmask, EINVAL, 7, BUF, 0, 8),
	CALL(rt_sigprocmask, EINVAL, 0, BUF, 0, 7),
	CALL(rt_sigsuspend, EINVAL, BUF, 7),
	CALL(sigaltstack, EFAULT, BAD, 0),
	CALL(wait4, ECHILD, -1, 0, 0, 0),
	CALL(wait4, ECHILD, 99999999, 0, 0, 0),
	CALL(wait4, EINVAL, -1, 0, 0x1000, 0),
	CALL(waitid, EINVAL, 9, 0, 0, WEXITED, 0),
	CALL(waitid, EINVAL, P_ALL, 0, 0, 0, 0),
	CALL(waitid, ECHILD, P_ALL, 0, 0, WEXITED, 0),
	CALL(execve, ENOENT, S("/nowhere"), 0, 0),
	CALL(execve, EACCES, S("/etc"), 0, 0),
	CALL(execve, EFAULT, BAD, 0, 0),
	CALL(setpgid, EINVAL, 0, -1),
	CALL(setpgid, EINVAL, -1, 0),
	CALL(setpgid, ESRCH, 99999999, 0),
	CALL(getpgid, ESRCH, 99999999),
	CALL(getsid, ESRCH, 99999999),
	CALL(nanosleep, EFAULT, BAD, 0),
	CALL(clock_nanosleep, EINVAL, 77, 0, BUF, 0),
	CALL(clock_nanosleep, EFAULT, CLOCK_MONOTONIC, 0, BAD, 0),
	CALL(clock_gettime, EINVAL, 77, BUF),
	CALL(clock_gettime, EFAULT, CLOCK_MONOTONIC, BAD),
	CALL(clock_getres, EINVAL, 77, BUF),
	CALL(setitimer, EINVAL, 9, BUF, 0),
	CALL(setitimer, EFAULT, ITIMER_REAL, BAD, 0),
	CALL(getitimer, EINVAL, 9, BUF),
	CALL(sched_setaffinity, EINVAL, 0, 0, BUF),
	CALL(sched_setaffinity, EFAULT, 0, 8, BAD),
	CALL(sched_setaffinity, ESRCH, 99999999, 8, BUF),
	CALL(sched_getaffinity, EINVAL, 0, 0, BUF),
	CALL(sched_getaffinity, ESRCH, 99999999, 128, BUF),
	CALL(sched_setscheduler, EINVAL, 0, 0, 0),
	CALL(sched_setscheduler, EINVAL, 0, -1, BUF),
	CALL(sched_setscheduler, EINVAL, 0, SCHED_FIFO, BUF),
	CALL(sched_getscheduler, EINVAL, -1),
	CALL(sched_getscheduler, ESRCH, 99999999),
	CALL(sched_getparam, EINVAL, 0, 0),
	CALL(sched_getparam, ESRCH, 99999999, BUF),
	CALL(sched_get_priority_max, EINVAL, 99),
	CALL(setpriority, EINVAL, 3, 0, 0),
	CALL(setpriority, ESRCH, PRIO_PROCESS, 99999999, 0),
	CALL(getpriority, EINVAL, 3, 0),
	CALL(getpriority, ESRCH, PRIO_PROCESS, 99999999),
	CALL(getrusage, EINVAL, 99, BUF),
	CALL(prlimit64, EINVAL, 0, 99, 0, BUF),
	CALL(prlimit64, ESRCH, 99999999, RLIMIT_NOFILE, 0, BUF),
	CALL(futex, ENOSYS, BUF, 0x7f, 0, 0, 0, 0),
	CALL(futex, EINVAL, BUF + 1, 0, 0, 0, 0, 0),
	CALL(futex, EAGAIN, BUF, 0, 12345, 0, 0, 0),
	CALL(futex, EFAULT, BAD, 0, 0, 0, 0, 0),
	CALL(arch_prctl, EINVAL, 0x9999, 0),
	CALL(arch_prctl, EPERM, 0x1002, -1),
	CALL(reboot, EINVAL, 1, 2, 3, 0),
	CALL(uname, EFAULT, BAD),
	CALL(writev, EINVAL, 1, BUF, -1),
	CALL(umount2, ENOENT, S("/nowhere"), 0),
	{"call 999", 999, {0}, ENOSYS},
	{"call 100000", 100000, {0}, ENOSYS},
	{"call -1 as a number", -1, {0}, ENOSYS},
};

/* Calls the guest may lack altogether; then ENOSYS is the right answer. */
static bool may_be_missing(long nr)
{
	return nr == SYS_madvise || nr == SYS_prlimit64 || nr == SYS_umount2;
}

TEST(table)
{
	int bad = 0;
	char why[200] = "";

	memset(buf, 0, sizeof(buf));
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct bad_call *c = &calls[i];
		long ret;

		errno = 0;
		ret = syscall(c->nr, c->a[0], c->a[1], c->a[2], c->a[3], c->a[4], c->a[5]);
		if (ret == -1 && errno == c->want)
			continue;
		if (ret == -1 && errno == ENOSYS && on_jiffies() && may_be_missing(c->nr))
			continue;
		printf("# %s: want errno %d, got %ld errno %d\n", c->text, c->want, ret, errno);
		if (!bad++)
			snprintf(why, sizeof(why), "%s: want %d, got %d", c->text, c->want, errno);
	}
	fflush(stdout);
	errno = bad;
	if (bad)
		tap_fail("errno.c", __LINE__, why);
}

TEST(not_a_terminal)
{
	struct termios t;
	struct winsize ws;

	CHECK(pipe(pipe_fd) == 0);
	file_fd = open("/etc/passwd", O_RDONLY);
	dir_fd = open("/etc", O_RDONLY);
	CHECK_ERR(ioctl(pipe_fd[0], TIOCGWINSZ, &ws), ENOTTY);
	CHECK_ERR(ioctl(file_fd, TCGETS, &t), ENOTTY);
	CHECK_ERR(ioctl(dir_fd, TIOCGWINSZ, &ws), ENOTTY);
	CHECK(isatty(file_fd) == 0);
}

/* Random numbers and arguments: errors are fine, a dead machine or a wild write is not. */
TEST(random_calls)
{
	static const short harmless[] = {
		SYS_read,
		SYS_write,
		SYS_open,
		SYS_close,
		SYS_stat,
		SYS_fstat,
		SYS_lstat,
		SYS_poll,
		SYS_lseek,
		SYS_mprotect,
		SYS_munmap,
		SYS_rt_sigprocmask,
		SYS_ioctl,
		SYS_pread64,
		SYS_readv,
		SYS_writev,
		SYS_access,
		SYS_pipe,
		SYS_sched_yield,
		SYS_madvise,
		SYS_dup,
		SYS_dup2,
		SYS_getpid,
		SYS_uname,
		SYS_fcntl,
		SYS_getdents64,
		SYS_getcwd,
		SYS_chdir,
		SYS_readlink,
		SYS_gettimeofday,
		SYS_getrusage,
		SYS_getuid,
		SYS_getppid,
		SYS_getpgid,
		SYS_sigaltstack,
		SYS_getpriority,
		SYS_sched_getparam,
		SYS_sched_getscheduler,
		SYS_sched_get_priority_max,
		SYS_sched_get_priority_min,
		SYS_gettid,
		SYS_time,
		SYS_sched_getaffinity,
		SYS_clock_gettime,
		SYS_clock_getres,
		SYS_openat,
		SYS_newfstatat,
		SYS_pipe2,
		SYS_dup3,
		SYS_getcpu,
		SYS_mmap,
		SYS_brk,
		SYS_waitid,
	};
	static const unsigned long interesting[] = {
		0,
		1,
		2,
		3,
		8,
		4095,
		4096,
		65536,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		-1UL,
		-4096UL,
		0x00007fffffffffff,
		0x0000800000000000,
		0xffff800000000000,
		0xffffffff80000000,
		0x8000000000000000,
		0x7fffffffffffffff,
	};
	unsigned int r = 1;

	for (int round = 0; round < 40; round++) {
		pid_t pid = check_fork();

		if (pid == 0) {
			/* Nothing it may write to: not the terminal, not the frame's pipe. */
			for (int fd = 0; fd < 20; fd++)
				close(fd);
			if (open("/dev/null", O_RDWR) != 0)
				_exit(1);
			r += round * 7919;
			for (int i = 0; i < 500; i++) {
				unsigned long a[6];
				short nr;

				for (int k = 0; k < 6; k++) {
					r = r * 1103515245 + 12345;
					a[k] = r >> 30 ? interesting[(r >> 8) % 19]
						       : (unsigned long)buf;
				}
				r = r * 1103515245 + 12345;
				nr = harmless[(r >> 8) % (sizeof(harmless) / sizeof(harmless[0]))];
				if (nr == SYS_poll)
					a[2] = 0;
				if (nr == SYS_waitid)
					a[3] |= WNOHANG;
				if (nr == SYS_open || nr == SYS_openat)
					a[nr == SYS_open ? 1 : 2] = O_RDONLY | O_NONBLOCK;
				syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
			}
			_exit(0);
		}
		/* It may have blocked in a call or lost its own memory: any end will do. */
		for (int ms = 0; ms < 300 && waitpid(pid, NULL, WNOHANG) == 0; ms++)
			sleep_ms(1);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	CHECK(getpid() > 0);
}

static const struct test tests[] = {T(table), T(not_a_terminal), T(random_calls)};

TEST_MAIN

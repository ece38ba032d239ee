/* SPDX-License-Identifier: MIT */
/*
 * conform - raw system calls with good and bad arguments, a line for each: "name(arguments) = result". The
 * lines name what is passed, not its value, and mask results that have no reason to agree, so the same
 * binary must print the same on Linux and here. tests/vm/cases_conform.py compares; conform_rows.h holds
 * the rows.
 *
 * Each row runs in a process of its own with the same descriptors, files and memory, so that no row can
 * spoil another's start. Rows must do no harm to a Linux host on which they run as root.
 */
#include "tap.h"

#include <ftw.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/uio.h>
#include <sys/utsname.h>

#define DIRECTORY   "/tmp/conform.d"
#define ROW_SECONDS 10
#define PAGE	    4096

/* What rows may name. Descriptors 10 to 19 are set up by prepare(). */
enum {
	PIPE_R = 10, /* empty, its writing end open */
	PIPE_W,
	FILE_RW, /* "f", eight bytes, at 0 */
	FILE_RO,
	FILE_WO,
	DIR_FD, /* the current directory */
	SOCK,	/* one of a pair, nothing in it */
	SOCK2,
	NULL_FD,
	FULL_R,	     /* a pipe with eight bytes in it */
	ORPHAN_W,    /* a pipe that nobody reads */
	EOF_R,	     /* a pipe that nobody writes */
	CLOSED = 77, /* never open */
	HUGE_FD = 1 << 20,
	NOBODY = 0x3fffffff, /* no process has that number */
};

#define BAD	  ((long)BAD_PTR)
#define KERN	  ((long)0xffff800000001000ul)
#define MAX	  LONG_MAX
#define RO	  ((long)(area + PAGE))		/* page that cannot be written */
#define HOLE	  ((long)(area + 2 * PAGE))	/* nothing there */
#define EDGE	  ((long)(area + 2 * PAGE - 4)) /* four bytes, then nothing */
#define BUF	  ((long)area)
#define ODD	  ((long)area + 1)
#define ME	  ((long)getpid())
#define S(t)	  ((long)(t))
#define LONG_NAME S(long_name)
#define LONG_PATH S(long_path)
/* A structure made for one call. */
#define TS(s, ns)   ((long)&(struct timespec){(s), (ns)})
#define TV(s, us)   ((long)&(struct timeval){(s), (us)})
#define ITV(s, us)  ((long)&(struct itimerval){{0, 0}, {(s), (us)}})
#define ITS(s, ns)  ((long)&(struct itimerspec){{0, 0}, {(s), (ns)}})
#define IOV(p, n)   ((long)&(struct iovec){(void *)(p), (size_t)(n)})
#define POLL(f, e)  ((long)&(struct pollfd){(f), (e), 0})
#define U32(v)	    ((long)&(uint32_t){(v)})
#define U64(v)	    ((long)&(uint64_t){(v)})
#define ARGV(a)	    ((long)(char *[]){(a), NULL})
#define PARAM(p)    ((long)&(struct sched_param){.sched_priority = (p)})
#define RLIM(a, b)  ((long)&(struct rlimit){(a), (b)})
#define MSG(iov, n) ((long)&(struct msghdr){.msg_iov = (void *)(iov), .msg_iovlen = (n)})
#define INFO(c)	    ((long)&(siginfo_t){.si_code = (c)})
#define EVENT(n, s) ((long)&(struct sigevent){.sigev_notify = (n), .sigev_signo = (s)})
#define KACT(h, f)  ((long)&(struct kernel_action){(unsigned long)(h), (f), 0, 0})
#define STACK(f, n) ((long)&(stack_t){.ss_sp = area, .ss_flags = (f), .ss_size = (n)})

/* linux/futex.h is not musl's. */
enum {
	FUTEX_WAIT,
	FUTEX_WAKE,
	FUTEX_REQUEUE = 3,
	FUTEX_CMP_REQUEUE,
	FUTEX_LOCK_PI = 6,
	FUTEX_UNLOCK_PI,
	FUTEX_TRYLOCK_PI,
	FUTEX_WAIT_BITSET,
	FUTEX_WAKE_BITSET
};

struct kernel_action {
	unsigned long handler, flags, restorer, mask;
};

struct shared {
	volatile long result;
	volatile bool done;
};

static struct shared *shared;
static char *area;
static char long_name[300], long_path[5000];
static pid_t row_pid;
static volatile pid_t watched;
static volatile bool late;
static const char *only;
static bool files_stay; /* rows leave the files as they are */

static inline __attribute__((always_inline)) long call6(long nr, const long *a)
{
	register long r10 __asm__("r10") = a[3];
	register long r8 __asm__("r8") = a[4];
	register long r9 __asm__("r9") = a[5];
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

static void nothing(int sig)
{
	(void)sig;
}

static void too_long(int sig)
{
	(void)sig;
	late = true;
	if (watched > 0)
		kill(watched, SIGKILL);
}

static void put_at(int fd, int want)
{
	CHECK(fd >= 0 && dup2(fd, want) == want);
	if (fd != want)
		close(fd);
}

static void two(int r[2], int a, int b)
{
	put_at(fcntl(r[0], F_DUPFD, 100), a);
	put_at(fcntl(r[1], F_DUPFD, 100), b);
	close(r[0]);
	close(r[1]);
}

static void populate(void)
{
	int fd;

	CHECK(mkdir(DIRECTORY, 0755) == 0 && chdir(DIRECTORY) == 0);
	umask(022);
	fd = open("f", O_RDWR | O_CREAT, 0644);
	CHECK(fd >= 0 && write(fd, "contents", 8) == 8);
	close(fd);
	CHECK(mkdir("d", 0755) == 0 && mkdir("full", 0755) == 0 && mkdir("full/x", 0755) == 0);
	CHECK(symlink("f", "link") == 0 && symlink("nowhere", "dangling") == 0);
	CHECK(symlink("loop", "loop") == 0);
}

static void prepare(void)
{
	struct sigaction sa = {.sa_handler = nothing};
	int fds[2], fd;

	for (fd = 3; fd < 100; fd++)
		close(fd);
	if (!files_stay)
		populate();
	CHECK(pipe(fds) == 0);
	two(fds, PIPE_R, PIPE_W);
	put_at(open("f", O_RDWR), FILE_RW);
	put_at(open("f", O_RDONLY), FILE_RO);
	put_at(open("f", O_WRONLY), FILE_WO);
	put_at(open(".", O_RDONLY | O_DIRECTORY), DIR_FD);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	two(fds, SOCK, SOCK2);
	put_at(open("/dev/null", O_RDWR), NULL_FD);
	CHECK(pipe(fds) == 0 && write(fds[1], "contents", 8) == 8);
	two(fds, FULL_R, 60); /* its writing end stays open */
	CHECK(pipe(fds) == 0);
	two(fds, 61, ORPHAN_W);
	close(61);
	CHECK(pipe(fds) == 0);
	two(fds, EOF_R, 61);
	close(61);
	area = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	CHECK(mprotect(area + PAGE, PAGE, PROT_READ) == 0 && munmap(area + 2 * PAGE, PAGE) == 0);
	memset(long_name, 'n', sizeof(long_name) - 1);
	for (size_t i = 0; i < sizeof(long_path) - 1; i++)
		long_path[i] = "./"[i % 2];
	CHECK(sigaction(SIGALRM, &sa, NULL) == 0);
	signal(SIGPIPE, SIG_IGN);
	row_pid = (pid_t)syscall(SYS_getpid);
}

static int drop(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st, (void)kind, (void)at;
	return remove(path);
}

/* What the last row left. */
static void sweep(void)
{
	if (nftw(DIRECTORY, drop, 8, FTW_DEPTH | FTW_PHYS) != 0 && errno != ENOENT) {
		printf("cannot remove " DIRECTORY ": %s\n", strerror(errno));
		exit(2);
	}
}

static const char *error_name(long e)
{
	static char number[32];
	static const struct {
		int e;
		const char *name;
	} names[] = {
#define E(x) {x, #x}
		E(EPERM),
		E(ENOENT),
		E(ESRCH),
		E(EINTR),
		E(EIO),
		E(ENXIO),
		E(E2BIG),
		E(ENOEXEC),
		E(EBADF),
		E(ECHILD),
		E(EAGAIN),
		E(ENOMEM),
		E(EACCES),
		E(EFAULT),
		E(EBUSY),
		E(EEXIST),
		E(EXDEV),
		E(ENODEV),
		E(ENOTDIR),
		E(EISDIR),
		E(EINVAL),
		E(EMFILE),
		E(ENOTTY),
		E(ETXTBSY),
		E(EFBIG),
		E(ENOSPC),
		E(ESPIPE),
		E(EROFS),
		E(EMLINK),
		E(EPIPE),
		E(EDOM),
		E(ERANGE),
		E(EDEADLK),
		E(ENAMETOOLONG),
		E(ENOSYS),
		E(ENOTEMPTY),
		E(ELOOP),
		E(EOVERFLOW),
		E(ENOTSOCK),
		E(EMSGSIZE),
		E(EPROTOTYPE),
		E(EPROTONOSUPPORT),
		E(ESOCKTNOSUPPORT),
		E(EOPNOTSUPP),
		E(EAFNOSUPPORT),
		E(EISCONN),
		E(ENOTCONN),
		E(ETIMEDOUT),
		E(EDESTADDRREQ),
#undef E
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].e == e)
			return names[i].name;
	snprintf(number, sizeof(number), "errno %ld", e);
	return number;
}

static void judge(int status, bool exact)
{
	if (late)
		printf("never returned\n");
	else if (WIFSIGNALED(status))
		printf("signal %d\n", WTERMSIG(status));
	else if (!shared->done)
		printf("exit %d\n", WEXITSTATUS(status));
	else if (shared->result < 0 && shared->result > -4096)
		printf("%s\n", error_name(-shared->result));
	else if (exact)
		printf("%ld\n", shared->result);
	else
		printf("done\n");
}

/* Start a row. Return: true in the process that makes the call. */
static bool begin(const char *name, const char *args, bool exact, bool interrupted)
{
	struct itimerval it = {{0, 20000}, {0, 20000}};
	int status;
	pid_t pid;

	if (only && strcmp(only, name) != 0)
		return false;
	shared->done = late = false;
	if (!files_stay)
		sweep();
	pid = fork();
	if (pid < 0)
		exit(2);
	if (pid == 0) {
		prepare();
		if (interrupted)
			setitimer(ITIMER_REAL, &it, NULL);
		return true;
	}
	watched = pid;
	alarm(ROW_SECONDS);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			exit(2);
	alarm(0);
	printf("%s(%s) = ", name, args);
	judge(status, exact);
	return false;
}

static __attribute__((noreturn)) void finish(long result)
{
	if (syscall(SYS_getpid) == row_pid) {
		shared->result = result;
		shared->done = true;
	}
	_exit(0);
}

/* A frame that cannot be read. */
static long sigreturn_nowhere(void)
{
	__asm__ volatile("mov $8, %%rsp\n\tsyscall" : : "a"(SYS_rt_sigreturn) : "memory");
	return 0;
}

static long sigreturn_after_handler(void)
{
	return raise(SIGALRM);
}

/* Names are made strings before a macro can replace them. */
#define ROW_(name, nr, text, exact, interrupted, ...) \
	if (begin(name, text, exact, interrupted)) {  \
		const long a_[6] = {__VA_ARGS__};     \
		finish(call6(nr, a_));                \
	}
/* The result must agree. */
#define ROW(name, ...) ROW_(#name, SYS_##name, #__VA_ARGS__, true, false, __VA_ARGS__)
/* Only success must: ids, addresses, times. */
#define ROW_OK(name, ...) ROW_(#name, SYS_##name, #__VA_ARGS__, false, false, __VA_ARGS__)
/* The call waits until a signal comes. */
#define ROW_SIG(name, ...) ROW_(#name, SYS_##name, #__VA_ARGS__, true, true, __VA_ARGS__)
/* The result of an expression of ours. */
#define ROW_DO(name, expression)                    \
	if (begin(#name, #expression, true, false)) \
		finish(expression);

static void files(void)
{
#define FILE_ROWS
#include "conform_rows.h"
#undef FILE_ROWS
}

static void processes(void)
{
#define PROCESS_ROWS
#include "conform_rows.h"
#undef PROCESS_ROWS
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = too_long};

	only = argc > 1 ? argv[1] : NULL;
	tap_pipe[1] = 2;
	setvbuf(stdout, NULL, _IONBF, 0);
	shared = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		return 2;
	sigaction(SIGALRM, &sa, NULL);
	files();
	sweep();
	populate();
	files_stay = true;
	processes();
	sweep();
	return 0;
}

// SPDX-License-Identifier: MIT
/*
 * Memory: brk, anonymous mappings, protection, copy-on-write, demand zero, the stack, and bad
 * pointers handed to system calls.
 */
#include "tap.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/utsname.h>

#define PAGE 4096

static char *map(size_t bytes, int prot)
{
	char *p = mmap(NULL, bytes, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

/* Touch p in a child: which signal ends it, 0 if none. */
static int signal_of(volatile char *p, bool write_it)
{
	int status;
	pid_t pid = check_fork();

	if (pid == 0) {
		if (write_it)
			*p = 1;
		else
			(void)*p;
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(brk_grows_and_shrinks)
{
	char *base = (char *)syscall(SYS_brk, 0);
	char *top = base + 10 * PAGE;

	CHECK((char *)syscall(SYS_brk, top) == top);
	for (char *p = base; p < top; p++)
		CHECK(*p == 0);
	memset(base, 0x55, top - base);
	CHECK((char *)syscall(SYS_brk, base + PAGE) == base + PAGE);
	CHECK((char *)syscall(SYS_brk, top) == top);
	CHECK(base[5 * PAGE] == 0);		   /* given back and fresh again */
	CHECK((char *)syscall(SYS_brk, 8) == top); /* nonsense: unchanged */
	CHECK((char *)syscall(SYS_brk, 1UL << 62) == top);
}

TEST(anonymous_memory_is_zero)
{
	size_t n = 300 * PAGE;
	char *p = map(n, PROT_READ | PROT_WRITE);

	for (size_t i = 0; i < n; i += 512)
		CHECK(p[i] == 0);
	memset(p, 1, n);
	CHECK(munmap(p, n) == 0);
	p = map(n, PROT_READ | PROT_WRITE);
	for (size_t i = 0; i < n; i += 64)
		CHECK(p[i] == 0);
}

TEST(huge_reservation_is_demand_zero)
{
	size_t n = 64UL << 30;
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	if (p == MAP_FAILED) {
		CHECK(errno == ENOMEM);
		return;
	}
	for (size_t i = 0; i < n; i += 4UL << 30) {
		CHECK(p[i] == 0);
		p[i] = 7;
	}
	for (size_t i = 0; i < n; i += 4UL << 30)
		CHECK(p[i] == 7);
	CHECK(munmap(p, n) == 0);
}

TEST(munmap_makes_holes)
{
	char *p = map(5 * PAGE, PROT_READ | PROT_WRITE);

	memset(p, 3, 5 * PAGE);
	CHECK(munmap(p + 2 * PAGE, PAGE) == 0);
	CHECK(p[PAGE] == 3 && p[3 * PAGE] == 3);
	CHECK(signal_of(p + 2 * PAGE, false) == SIGSEGV);
	CHECK(munmap(p, 5 * PAGE) == 0); /* over the hole as well */
	CHECK(signal_of(p, false) == SIGSEGV);
	CHECK_ERR(munmap(p + 1, PAGE), EINVAL);
	CHECK_ERR(munmap(p, 0), EINVAL);
}

TEST(fixed_mapping_replaces)
{
	char *p = map(3 * PAGE, PROT_READ | PROT_WRITE);

	memset(p, 9, 3 * PAGE);
	CHECK(mmap(p + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == p + PAGE);
	CHECK(p[0] == 9 && p[PAGE] == 0 && p[2 * PAGE] == 9);
	CHECK_ERR(mmap(p + 1, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
		  EINVAL);
}

TEST(mmap_errors)
{
	CHECK_ERR(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EINVAL);
	CHECK_ERR(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0), EINVAL);
	CHECK_ERR(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, -1, 0), EBADF);
	CHECK_ERR(mmap(NULL, 1UL << 60, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), ENOMEM);
	CHECK_ERR(mmap(NULL, -1UL, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), ENOMEM);
	CHECK(mmap((void *)(1UL << 62), PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		   -1, 0) == MAP_FAILED);
}

TEST(mprotect_protects)
{
	char *p = map(3 * PAGE, PROT_READ | PROT_WRITE);

	memset(p, 4, 3 * PAGE);
	CHECK(mprotect(p + PAGE, PAGE, PROT_READ) == 0);
	CHECK(signal_of(p + PAGE, false) == 0 && signal_of(p + PAGE, true) == SIGSEGV);
	CHECK(signal_of(p, true) == 0 && signal_of(p + 2 * PAGE, true) == 0);
	CHECK(mprotect(p + PAGE, PAGE, PROT_NONE) == 0);
	CHECK(signal_of(p + PAGE, false) == SIGSEGV);
	CHECK(mprotect(p + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
	CHECK(p[PAGE] == 4);
	p[PAGE] = 5;
	CHECK_ERR(syscall(SYS_mprotect, p + 1, PAGE, PROT_READ), EINVAL);
	CHECK(munmap(p + PAGE, PAGE) == 0);
	CHECK_ERR(mprotect(p, 3 * PAGE, PROT_READ), ENOMEM);
}

TEST(data_is_not_executable)
{
	static const unsigned char ret = 0xc3;
	char *p = map(PAGE, PROT_READ | PROT_WRITE);
	int status;
	pid_t pid;

	*p = ret;
	pid = check_fork();
	if (pid == 0) {
		((void (*)(void))p)();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	CHECK(mprotect(p, PAGE, PROT_READ | PROT_EXEC) == 0);
	((void (*)(void))p)();
}

TEST(fork_copies_on_write)
{
	size_t n = 64 * PAGE;
	char *p = map(n, PROT_READ | PROT_WRITE);
	static int in_data = 1;
	int in_stack = 1, go[2], done[2];
	pid_t pid;
	char c;

	CHECK(pipe(go) == 0 && pipe(done) == 0);
	memset(p, 'a', n);
	pid = check_fork();
	if (pid == 0) {
		in_data = in_stack = 2;
		memset(p, 'b', n / 2);
		CHECK(write(done[1], "x", 1) == 1);
		CHECK(read(go[0], &c, 1) == 1);
		/* the parent's writes are not seen either */
		for (size_t i = 0; i < n; i++)
			CHECK(p[i] == (i < n / 2 ? 'b' : 'a'));
		CHECK(in_data == 2 && in_stack == 2);
		_exit(0);
	}
	CHECK(read(done[0], &c, 1) == 1);
	for (size_t i = 0; i < n; i++)
		CHECK(p[i] == 'a');
	CHECK(in_data == 1 && in_stack == 1);
	memset(p, 'c', n);
	in_data = 3;
	CHECK(write(go[1], "x", 1) == 1);
	check_exit(pid, 0);
	CHECK(p[0] == 'c' && p[n - 1] == 'c');
}

/* A system call writing into a shared page must break the sharing as a store does. */
TEST(kernel_write_breaks_sharing)
{
	char *p = map(PAGE, PROT_READ | PROT_WRITE);
	int fd[2];
	pid_t pid;

	memset(p, 'a', PAGE);
	CHECK(pipe(fd) == 0);
	CHECK(write(fd[1], "zzzz", 4) == 4);
	pid = check_fork();
	if (pid == 0) {
		CHECK(read(fd[0], p, 4) == 4 && !memcmp(p, "zzzza", 5));
		_exit(0);
	}
	check_exit(pid, 0);
	CHECK(!memcmp(p, "aaaaa", 5));
}

TEST(many_generations_of_fork)
{
	volatile char *p = map(16 * PAGE, PROT_READ | PROT_WRITE);

	for (int i = 0; i < 16; i++)
		p[i * PAGE] = i;
	for (int depth = 0; depth < 12; depth++) {
		pid_t pid = check_fork();

		if (pid) {
			check_exit(pid, 0);
			for (int i = 0; i < 16; i++)
				CHECK(p[i * PAGE] == (i < depth ? 100 + i : i));
			_exit(0);
		}
		p[depth * PAGE] = 100 + depth;
	}
	_exit(0);
}

TEST(shared_anonymous_memory_is_shared)
{
	volatile int *p =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	CHECK(p != MAP_FAILED);
	pid = check_fork();
	if (pid == 0) {
		*p = 1234;
		_exit(0);
	}
	check_exit(pid, 0);
	CHECK(*p == 1234);
}

static int deep(int n)
{
	volatile char frame[1024];

	memset((char *)frame, n, sizeof(frame));
	if (n == 0)
		return frame[5];
	return deep(n - 1) + frame[7] - (char)n;
}

TEST(stack_grows)
{
	pid_t pid = check_fork();

	if (pid == 0) {
		CHECK(deep(3000) == 0); /* 3 MB and more */
		_exit(0);
	}
	check_exit(pid, 0);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Winfinite-recursion"
static int endless(int n)
{
	volatile char frame[4096];

	frame[0] = n;
	return endless(n + 1) + frame[0];
}
#pragma GCC diagnostic pop

TEST(stack_overflow_is_sigsegv)
{
	pid_t pid = check_fork();

	if (pid == 0) {
		struct rlimit lim = {4 << 20, 4 << 20};

		setrlimit(RLIMIT_STACK, &lim); /* only to be quick; a kernel may not have it */
		_exit(endless(0));
	}
	check_killed(pid, SIGSEGV);
}

TEST(kernel_addresses_fault)
{
	CHECK(signal_of((char *)0xffffffff80000000, false) == SIGSEGV);
	CHECK(signal_of((char *)0xffff800000000000, true) == SIGSEGV);
	CHECK(signal_of((char *)0x0000800000000000, false) == SIGSEGV);
	CHECK(signal_of((char *)0x00007ffffffff000, true) == SIGSEGV);
	CHECK(signal_of((char *)0xdead000000000000, true) == SIGSEGV);
	CHECK(signal_of(NULL, false) == SIGSEGV);
}

/* Every kind of bad pointer, for calls that read from or write to the caller's memory. */
TEST(bad_pointers_are_efault)
{
	char *readonly = map(PAGE, PROT_READ);
	void *bad[] = {BAD_PTR,
		       (void *)0xffffffff80000000,
		       (void *)0xffff800000000000,
		       (void *)0x00007ffffffff000,
		       (void *)0xdead000000000000,
		       (void *)-1L};
	int fd[2];

	CHECK(pipe(fd) == 0);
	CHECK(write(fd[1], "data", 4) == 4);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		void *p = bad[i];

		CHECK_ERR(syscall(SYS_write, fd[1], p, 4), EFAULT);
		CHECK_ERR(syscall(SYS_read, fd[0], p, 4), EFAULT);
		CHECK_ERR(syscall(SYS_open, p, O_RDONLY), EFAULT);
		CHECK_ERR(syscall(SYS_stat, p, readonly), EFAULT);
		CHECK_ERR(syscall(SYS_stat, "/", p), EFAULT);
		CHECK_ERR(syscall(SYS_fstat, fd[0], p), EFAULT);
		CHECK_ERR(syscall(SYS_pipe, p), EFAULT);
		CHECK_ERR(syscall(SYS_pipe2, p, 0), EFAULT);
		CHECK_ERR(syscall(SYS_uname, p), EFAULT);
		CHECK_ERR(syscall(SYS_getcwd, p, 100), EFAULT);
		CHECK_ERR(syscall(SYS_chdir, p), EFAULT);
		CHECK_ERR(syscall(SYS_nanosleep, p, NULL), EFAULT);
		CHECK_ERR(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, p), EFAULT);
		CHECK_ERR(syscall(SYS_poll, p, 1, 0), EFAULT);
		CHECK_ERR(syscall(SYS_execve, p, NULL, NULL), EFAULT);
		CHECK_ERR(syscall(SYS_sched_getaffinity, 0, 128, p), EFAULT);
		CHECK_ERR(syscall(SYS_sched_setaffinity, 0, 128, p), EFAULT);
		CHECK_ERR(syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, p), EFAULT);
		CHECK_ERR(syscall(SYS_rt_sigaction, SIGUSR1, p, NULL, 8), EFAULT);
		CHECK_ERR(syscall(SYS_rt_sigprocmask, SIG_BLOCK, p, NULL, 8), EFAULT);
		CHECK_ERR(syscall(SYS_writev, fd[1], p, 1), EFAULT);
		CHECK_ERR(syscall(SYS_readlink, p, readonly, 10), EFAULT);
		CHECK_ERR(syscall(SYS_getrusage, RUSAGE_SELF, p), EFAULT);
	}
	CHECK_ERR(read(fd[0], readonly, 4), EFAULT);
	/* Nothing was lost by all those attempts. */
	CHECK(read(fd[0], map(PAGE, PROT_READ | PROT_WRITE), 4) == 4);
}

TEST(wait_with_bad_status_pointer)
{
	pid_t pid = check_fork();

	if (pid == 0)
		_exit(0);
	CHECK_ERR(syscall(SYS_wait4, pid, BAD_PTR, 0, NULL), EFAULT);
}

/* A string that runs into an unmapped page, and a copy that crosses one. */
TEST(copies_stop_at_the_hole)
{
	char *p = map(2 * PAGE, PROT_READ | PROT_WRITE);
	int fd[2];

	CHECK(munmap(p + PAGE, PAGE) == 0);
	memset(p, '/', PAGE);
	CHECK_ERR(open(p + PAGE - 3, O_RDONLY), EFAULT);
	strcpy(p + PAGE - 2, "/");
	CHECK(open(p + PAGE - 2, O_RDONLY) >= 0);
	CHECK(pipe(fd) == 0);
	/* Up to the hole, or nothing at all. */
	errno = 0;
	CHECK(write(fd[1], p + PAGE - 4, 8) == 4 || errno == EFAULT);
}

/* Out of memory is an error or this process's death, never the machine's. */
/* Every second page protected: two more mappings each. From the top down, so that looking for the place takes no time. */
TEST(mappings_are_limited)
{
	const long pages = 150000;
	char *p = mmap(NULL, pages * 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	long n;

	CHECK(p != MAP_FAILED);
	for (n = pages - 2; n > 0; n -= 2)
		if (mprotect(p + n * 4096, 4096, PROT_NONE))
			break;
	CHECK(n > 0 && errno == ENOMEM && (pages - n) > 8000);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		      MAP_FAILED ||
	      mprotect(p + n * 4096, 4096, PROT_NONE) == -1);
	CHECK(p[n * 4096] == 0 && p[0] == 0); /* nothing was lost */
	CHECK(munmap(p, pages * 4096) == 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(p != MAP_FAILED && munmap(p, 4096) == 0);
}

TEST(memory_can_be_exhausted)
{
	pid_t pid;
	int status;

	if (!on_jiffies())
		return; /* a host's other programs would suffer */
	pid = check_fork();
	if (pid == 0) {
		for (;;) {
			char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			if (p == MAP_FAILED)
				_exit(errno == ENOMEM ? 0 : 1);
			for (int i = 0; i < 1 << 20; i += PAGE)
				p[i] = 1;
		}
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(status == 0 || WIFSIGNALED(status));
	/* and everything came back */
	memset(map(1 << 20, PROT_READ | PROT_WRITE), 1, 1 << 20);
}

static const struct test tests[] = {
	T(brk_grows_and_shrinks),
	T(anonymous_memory_is_zero),
	T(huge_reservation_is_demand_zero),
	T(munmap_makes_holes),
	T(fixed_mapping_replaces),
	T(mmap_errors),
	T(mprotect_protects),
	T(data_is_not_executable),
	T(fork_copies_on_write),
	T(kernel_write_breaks_sharing),
	T(many_generations_of_fork),
	T(shared_anonymous_memory_is_shared),
	T(stack_grows),
	T(stack_overflow_is_sigsegv),
	T(kernel_addresses_fault),
	T(bad_pointers_are_efault),
	T(wait_with_bad_status_pointer),
	T(copies_stop_at_the_hole),
	T(mappings_are_limited),
	T(memory_can_be_exhausted),
};

TEST_MAIN

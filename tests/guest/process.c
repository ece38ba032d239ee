// SPDX-License-Identifier: MIT
/*
 * Processes: fork, vfork, execve and its errors, exit, the wait family, orphans, groups, sessions.
 */
#include <dirent.h>

#include "tap.h"

extern char **environ;

static char bad_dir[600];

/* Where the deliberately broken executables are: in the guest, or beside a build tree. */
static const char *find_bad_dir(void)
{
	char *slash;

	if (access("/lib/bad-elf", F_OK) == 0)
		return "/lib/bad-elf";
	snprintf(bad_dir, sizeof(bad_dir), "%s", self_path);
	slash = strrchr(bad_dir, '/');
	snprintf(slash, bad_dir + sizeof(bad_dir) - slash, "/../user/bad-elf");
	CHECK(access(bad_dir, F_OK) == 0);
	return bad_dir;
}

TEST(fork_returns_twice)
{
	pid_t parent = getpid(), pid = check_fork();

	if (pid == 0) {
		CHECK(getppid() == parent);
		CHECK(getpid() != parent);
		_exit(42);
	}
	CHECK(pid > 0 && pid != parent);
	check_exit(pid, 42);
}

TEST(exit_status_is_8_bits)
{
	pid_t pid = check_fork();

	if (pid == 0)
		_exit(0x1234);
	check_exit(pid, 0x34);
}

TEST(killed_status)
{
	pid_t pid = check_fork();

	if (pid == 0)
		for (;;)
			pause();
	kill(pid, SIGTERM);
	check_killed(pid, SIGTERM);
}

TEST(faults_have_their_signals)
{
	pid_t pid = check_fork();

	if (pid == 0) {
		*(volatile int *)BAD_PTR = 1;
		_exit(1);
	}
	check_killed(pid, SIGSEGV);
	pid = check_fork();
	if (pid == 0) {
		volatile int zero = 0;
		volatile int one = 1;

		__asm__ volatile("idivl %1" : : "a"(one), "m"(zero), "d"(0));
		_exit(one);
	}
	check_killed(pid, SIGFPE);
	pid = check_fork();
	if (pid == 0) {
		__asm__ volatile("ud2");
		_exit(1);
	}
	check_killed(pid, SIGILL);
	pid = check_fork();
	if (pid == 0) {
		__asm__ volatile("hlt");
		_exit(1);
	}
	check_killed(pid, SIGSEGV);
	pid = check_fork();
	if (pid == 0) {
		__asm__ volatile("int3");
		_exit(1);
	}
	check_killed(pid, SIGTRAP);
}

TEST(wait_without_children)
{
	CHECK_ERR(wait(NULL), ECHILD);
	CHECK_ERR(waitpid(1, NULL, 0), ECHILD);
	CHECK_ERR(waitpid(-1, NULL, WNOHANG), ECHILD);
	CHECK_ERR(waitpid(-1, NULL, 0x8000), EINVAL);
}

TEST(wnohang)
{
	int hold[2], status;
	pid_t pid;
	char c;

	CHECK(pipe(hold) == 0);
	pid = check_fork();
	if (pid == 0) {
		close(hold[1]);
		CHECK(read(hold[0], &c, 1) == 0);
		_exit(5);
	}
	CHECK(waitpid(pid, &status, WNOHANG) == 0);
	close(hold[1]);
	for (int i = 0; i < 2000; i++) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		CHECK(got == 0 || got == pid);
		if (got == pid) {
			CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5);
			return;
		}
		sleep_ms(1);
	}
	CHECK(!"child never ended");
}

TEST(wait_picks_the_right_child)
{
	pid_t a = check_fork(), b;

	if (a == 0)
		_exit(1);
	b = check_fork();
	if (b == 0) {
		sleep_ms(30);
		_exit(2);
	}
	check_exit(b, 2);
	check_exit(a, 1);
	CHECK_ERR(wait(NULL), ECHILD);
}

TEST(wait_by_group)
{
	pid_t pid = check_fork();
	int status;

	if (pid == 0) {
		CHECK(setpgid(0, 0) == 0);
		sleep_ms(20);
		_exit(3);
	}
	CHECK(setpgid(pid, pid) == 0 || errno == EACCES);
	CHECK(waitpid(-pid, &status, 0) == pid && WEXITSTATUS(status) == 3);
}

TEST(stop_and_continue_are_seen)
{
	pid_t pid = check_fork();
	int status;

	if (pid == 0)
		for (;;)
			pause();
	CHECK(kill(pid, SIGSTOP) == 0);
	CHECK(waitpid(pid, &status, WUNTRACED) == pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	CHECK(waitpid(pid, &status, WUNTRACED | WNOHANG) == 0); /* reported once */
	CHECK(kill(pid, SIGCONT) == 0);
	CHECK(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
	CHECK(kill(pid, SIGSTOP) == 0);
	CHECK(waitpid(pid, &status, WUNTRACED) == pid);
	CHECK(kill(pid, SIGKILL) == 0); /* kills even what is stopped */
	check_killed(pid, SIGKILL);
}

TEST(waitid_fills_siginfo)
{
	siginfo_t si;
	pid_t pid = check_fork();

	if (pid == 0)
		_exit(9);
	memset(&si, 0, sizeof(si));
	CHECK(waitid(P_PID, pid, &si, WEXITED | WNOWAIT) == 0);
	CHECK(si.si_pid == pid && si.si_code == CLD_EXITED && si.si_status == 9);
	CHECK(si.si_signo == SIGCHLD);
	memset(&si, 0, sizeof(si));
	CHECK(waitid(P_ALL, 0, &si, WEXITED) == 0 && si.si_pid == pid);
	CHECK_ERR(waitid(P_PID, pid, &si, WEXITED), ECHILD);
	CHECK_ERR(waitid(P_PID, pid, &si, 0), EINVAL);
	pid = check_fork();
	if (pid == 0)
		for (;;)
			pause();
	memset(&si, 0, sizeof(si));
	CHECK(waitid(P_PID, pid, &si, WEXITED | WNOHANG) == 0 && si.si_pid == 0);
	kill(pid, SIGKILL);
	CHECK(waitid(P_PID, pid, &si, WEXITED) == 0);
	CHECK(si.si_code == CLD_KILLED && si.si_status == SIGKILL);
}

TEST(ignored_sigchld_leaves_no_zombie)
{
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	pid = check_fork();
	if (pid == 0)
		_exit(0);
	CHECK_ERR(waitpid(pid, NULL, 0), ECHILD);
}

TEST(orphans_go_to_init)
{
	int report[2];
	pid_t pid, ppid = 0;

	CHECK(pipe(report) == 0);
	pid = check_fork();
	if (pid == 0) {
		if (check_fork() == 0) {
			pid_t parent = getppid();

			for (int i = 0; i < 1000 && getppid() == parent; i++)
				sleep_ms(1);
			ppid = getppid();
			CHECK(write(report[1], &ppid, sizeof(ppid)) == sizeof(ppid));
			_exit(0);
		}
		sleep_ms(20);
		_exit(0);
	}
	check_exit(pid, 0);
	CHECK(read(report[0], &ppid, sizeof(ppid)) == sizeof(ppid));
	/* A host may have a sub-reaper; the guest has init alone. */
	CHECK(ppid != pid && (ppid == 1 || !on_jiffies()));
}

TEST(many_children)
{
	enum { N = 100 };
	int seen[N] = {0}, status;

	for (int i = 0; i < N; i++)
		if (check_fork() == 0)
			_exit(i);
	for (int i = 0; i < N; i++) {
		CHECK(wait(&status) > 0 && WIFEXITED(status));
		CHECK(WEXITSTATUS(status) < N && seen[WEXITSTATUS(status)]++ == 0);
	}
	CHECK_ERR(wait(NULL), ECHILD);
}

TEST(vfork_shares_memory_until_exec_or_exit)
{
	static volatile int shared;
	pid_t pid = vfork();

	if (pid == 0) {
		shared = 77;
		_exit(4);
	}
	CHECK(pid > 0 && shared == 77); /* the parent slept until here */
	check_exit(pid, 4);
}

TEST(groups_and_sessions)
{
	pid_t pid = check_fork();

	if (pid == 0) {
		CHECK(setpgid(0, 0) == 0);
		CHECK(getpgrp() == getpid());
		CHECK(getpgid(0) == getpid());
		CHECK_ERR(setsid(), EPERM); /* a group leader may not */
		pid = check_fork();
		if (pid == 0) {
			CHECK(setsid() == getpid());
			CHECK(getsid(0) == getpid() && getpgrp() == getpid());
			CHECK_ERR(setpgid(0, 0), EPERM);
			_exit(0);
		}
		check_exit(pid, 0);
		_exit(0);
	}
	check_exit(pid, 0);
	CHECK_ERR(setpgid(0, -5), EINVAL);
	CHECK_ERR(setpgid(99999, 99999), ESRCH);
	CHECK_ERR(getpgid(99999), ESRCH);
}

TEST(exec_passes_arguments_and_environment)
{
	char *const argv[] = {self_path, "--show", "two words", "", NULL};
	char *const env[] = {"A=1", "B=x y", NULL};
	char buf[256];
	ssize_t n = 0, got;
	int out[2];
	pid_t pid;

	CHECK(pipe(out) == 0);
	pid = check_fork();
	if (pid == 0) {
		dup2(out[1], 1);
		close(out[0]);
		close(out[1]);
		execve(self_path, argv, env);
		CHECK(!"execve returned");
	}
	close(out[1]);
	while ((got = read(out[0], buf + n, sizeof(buf) - 1 - n)) > 0)
		n += got;
	buf[n] = '\0';
	check_exit(pid, 0);
	CHECK(!strcmp(buf, "4|two words||A=1|B=x y|"));
}

static void any_handler(int sig)
{
	_exit(sig);
}

TEST(exec_keeps_and_resets)
{
	char keep[16], gone[16], pid_text[16];
	int a[2], b[2];
	pid_t pid;

	CHECK(pipe(a) == 0 && pipe(b) == 0);
	CHECK(fcntl(b[0], F_SETFD, FD_CLOEXEC) == 0);
	pid = check_fork();
	if (pid == 0) {
		sigset_t set;
		char *argv[] = {self_path, "--after-exec", keep, gone, pid_text, NULL};

		snprintf(keep, sizeof(keep), "%d", a[0]);
		snprintf(gone, sizeof(gone), "%d", b[0]);
		snprintf(pid_text, sizeof(pid_text), "%d", getpid());
		signal(SIGUSR1, SIG_IGN);
		signal(SIGUSR2, any_handler);
		sigemptyset(&set);
		sigaddset(&set, SIGHUP);
		sigprocmask(SIG_BLOCK, &set, NULL);
		execve(self_path, argv, environ);
		CHECK(!"execve returned");
	}
	check_exit(pid, 0);
}

TEST(exec_errors)
{
	char *argv[] = {"x", NULL};

	CHECK_ERR(execve("/no/such/file", argv, environ), ENOENT);
	CHECK_ERR(execve("", argv, environ), ENOENT);
	CHECK_ERR(execve("/etc/passwd", argv, environ), EACCES);
	CHECK_ERR(execve("/etc", argv, environ), EACCES);
	CHECK_ERR(execve("/etc/passwd/x", argv, environ), ENOTDIR);
	CHECK_ERR(execve(BAD_PTR, argv, environ), EFAULT);
	CHECK_ERR(execve(self_path, BAD_PTR, environ), EFAULT);
	argv[0] = BAD_PTR;
	CHECK_ERR(execve(self_path, argv, environ), EFAULT);
}

TEST(exec_too_many_arguments)
{
	enum { N = 200, LEN = 100000 };
	static char *argv[N + 1];
	char *arg = malloc(300000);

	CHECK(arg);
	memset(arg, 'x', 300000);
	arg[299999] = '\0';
	argv[0] = arg; /* one too long */
	CHECK_ERR(execve(self_path, argv, environ), E2BIG);
	arg[LEN] = '\0';
	for (int i = 0; i < N; i++)
		argv[i] = arg;
	CHECK_ERR(execve(self_path, argv, environ), E2BIG);
}

static int run_bad(const char *prefix)
{
	const char *dir_name = find_bad_dir();
	DIR *dir = opendir(dir_name);
	struct dirent *e;
	int n = 0;

	CHECK(dir);
	while ((e = readdir(dir))) {
		char path[900], text[320];
		char *argv[] = {path, NULL};
		int status;
		pid_t pid;

		if (strncmp(e->d_name, prefix, strlen(prefix)))
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir_name, e->d_name);
		pid = check_fork();
		if (pid == 0) {
			execve(path, argv, environ);
			_exit(errno == ENOEXEC ? 100 : 101);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		snprintf(text, sizeof(text), "%s (status %x)", e->d_name, status);
		if (!strcmp(prefix, "refused") &&
		    !(WIFEXITED(status) && WEXITSTATUS(status) == 100))
			tap_fail("process.c", __LINE__, text);
		/* Any error or a death by signal; never a normal end. */
		if (WIFEXITED(status) && WEXITSTATUS(status) < 100)
			tap_fail("process.c", __LINE__, text);
		n++;
	}
	closedir(dir);
	return n;
}

TEST(exec_of_broken_files_is_enoexec)
{
	CHECK(run_bad("refused") >= 8);
}

TEST(exec_with_a_bad_interpreter)
{
	static const struct {
		const char *file;
		int err;
	} cases[] = {{"interp-missing", ENOENT},
		     {"interp-directory", EACCES},
		     {"interp-garbage", ELIBBAD},
		     {"interp-wrong-machine", ELIBBAD},
		     {"interp-empty", EIO}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t pid = check_fork();

		if (pid == 0) {
			char *argv[] = {"x", NULL};

			if (chdir(find_bad_dir()))
				_exit(1);
			execve(cases[i].file, argv, environ);
			_exit(errno);
		}
		check_exit(pid, cases[i].err);
	}
}

TEST(exec_of_doomed_files_ends_only_the_process)
{
	CHECK(run_bad("doomed") >= 7);
}

/* ---- what this program does when it executes itself ---- */

static int show(int argc, char **argv)
{
	printf("%d|", argc);
	for (int i = 2; i < argc; i++)
		printf("%s|", argv[i]);
	for (char **e = environ; *e; e++)
		printf("%s|", *e);
	return 0;
}

static int after_exec(char **argv)
{
	struct sigaction sa;
	sigset_t set;

	if (fcntl(atoi(argv[2]), F_GETFD) < 0)
		return 1;
	if (fcntl(atoi(argv[3]), F_GETFD) >= 0 || errno != EBADF)
		return 2;
	if (atoi(argv[4]) != getpid())
		return 3;
	if (sigaction(SIGUSR1, NULL, &sa) < 0 || sa.sa_handler != SIG_IGN)
		return 4;
	if (sigaction(SIGUSR2, NULL, &sa) < 0 || sa.sa_handler != SIG_DFL)
		return 5;
	if (sigprocmask(SIG_BLOCK, NULL, &set) < 0 || !sigismember(&set, SIGHUP))
		return 6;
	return 0;
}

/* Ids of root, kept or set anew; the layouts of capget() and its bad arguments. */
TEST(ids_and_capabilities)
{
	unsigned head[2] = {0x20080522, 0}, data[8];

	CHECK(syscall(SYS_setresuid, -1, -1, -1) == 0);
	CHECK(syscall(SYS_setresgid, getgid(), -1, getegid()) == 0);
	CHECK(syscall(SYS_setreuid, getuid(), -1) == 0);
	CHECK(syscall(SYS_setregid, -1, getgid()) == 0);
	memset(data, 0xaa, sizeof(data));
	CHECK(syscall(SYS_capget, head, data) == 0);
	CHECK(data[5] != 0xaaaaaaaa && data[6] == 0xaaaaaaaa);
	CHECK(getuid() || (data[0] & 1)); /* CAP_CHOWN */
	head[1] = (unsigned)getppid();
	CHECK(syscall(SYS_capget, head, data) == 0);
	head[0] = 0x19980330; /* half as long */
	memset(data, 0xaa, sizeof(data));
	CHECK(syscall(SYS_capget, head, data) == 0);
	CHECK(data[2] != 0xaaaaaaaa && data[3] == 0xaaaaaaaa);
	CHECK_ERR(syscall(SYS_capget, head, BAD_PTR), EFAULT);
	CHECK_ERR(syscall(SYS_capget, BAD_PTR, data), EFAULT);
	head[1] = 0x3fffffff;
	CHECK_ERR(syscall(SYS_capget, head, data), ESRCH);
	head[1] = (unsigned)-1;
	CHECK_ERR(syscall(SYS_capget, head, data), EINVAL);
	head[0] = 1;
	CHECK_ERR(syscall(SYS_capget, head, data), EINVAL);
	CHECK(head[0] == 0x20080522);
	head[0] = 1;
	CHECK(syscall(SYS_capget, head, NULL) == 0); /* asks for the version */
}

static const struct test tests[] = {
	T(ids_and_capabilities),
	T(fork_returns_twice),
	T(exit_status_is_8_bits),
	T(killed_status),
	T(faults_have_their_signals),
	T(wait_without_children),
	T(wnohang),
	T(wait_picks_the_right_child),
	T(wait_by_group),
	T(stop_and_continue_are_seen),
	T(waitid_fills_siginfo),
	T(ignored_sigchld_leaves_no_zombie),
	T(orphans_go_to_init),
	T(many_children),
	T(vfork_shares_memory_until_exec_or_exit),
	T(groups_and_sessions),
	T(exec_passes_arguments_and_environment),
	T(exec_keeps_and_resets),
	T(exec_errors),
	T(exec_too_many_arguments),
	T(exec_of_broken_files_is_enoexec),
	T(exec_with_a_bad_interpreter),
	T(exec_of_doomed_files_ends_only_the_process),
};

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--show"))
		return show(argc, argv);
	if (argc > 4 && !strcmp(argv[1], "--after-exec"))
		return after_exec(argv);
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

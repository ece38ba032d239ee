// SPDX-License-Identifier: MIT
/*
 * Files and descriptors: the read-only tree of the boot archive, the basic devices, /proc, and
 * what dup and fcntl do.
 */
#include "tap.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/uio.h>

static int open_passwd(void)
{
	int fd = open("/etc/passwd", O_RDONLY);

	CHECK(fd >= 0);
	return fd;
}

TEST(read_and_seek)
{
	char buf[8192], again[8192];
	int fd = open_passwd();
	ssize_t n = read(fd, buf, sizeof(buf));

	CHECK(n > 10 && n < (ssize_t)sizeof(buf) && !memcmp(buf, "root:x:0:0:", 11));
	CHECK(read(fd, buf, 1) == 0);
	CHECK(lseek(fd, 0, SEEK_CUR) == n);
	CHECK(lseek(fd, 5, SEEK_SET) == 5);
	CHECK(read(fd, again, 6) == 6 && !memcmp(again, "x:0:0:", 6));
	CHECK(lseek(fd, -2, SEEK_CUR) == 9);
	CHECK(lseek(fd, 0, SEEK_END) == n);
	CHECK(lseek(fd, 100, SEEK_END) == n + 100);
	CHECK(read(fd, again, 1) == 0);
	CHECK_ERR(lseek(fd, -1, SEEK_SET), EINVAL);
	CHECK_ERR(lseek(fd, 0, 99), EINVAL);
	CHECK(pread(fd, again, 4, 0) == 4 && !memcmp(again, "root", 4));
	CHECK(lseek(fd, 0, SEEK_CUR) == n + 100); /* pread did not move it */
	CHECK(pread(fd, again, 4, n) == 0);
	CHECK_ERR(pread(fd, again, 4, -1), EINVAL);
}

TEST(readv_and_writev)
{
	char a[3], b[5];
	struct iovec in[2] = {{a, 3}, {b, 5}};
	struct iovec out[3] = {{"ab", 2}, {NULL, 0}, {"cde", 3}};
	int fd[2];

	CHECK(pipe(fd) == 0);
	CHECK(writev(fd[1], out, 3) == 5);
	CHECK(readv(fd[0], in, 2) == 5 && !memcmp(a, "abc", 3) && !memcmp(b, "de", 2));
	CHECK_ERR(writev(fd[1], out, -1), EINVAL);
	CHECK_ERR(writev(fd[1], out, IOV_MAX + 1), EINVAL);
}

TEST(open_errors)
{
	CHECK_ERR(open("/no/such", O_RDONLY), ENOENT);
	CHECK_ERR(open("", O_RDONLY), ENOENT);
	CHECK_ERR(open("/etc/passwd/more", O_RDONLY), ENOTDIR);
	CHECK_ERR(open("/etc/passwd/", O_RDONLY), ENOTDIR);
	CHECK_ERR(open("/etc/passwd", O_RDONLY | O_DIRECTORY), ENOTDIR);
	CHECK_ERR(open("/etc", O_WRONLY), EISDIR);
	CHECK_ERR(open("/etc/passwd", O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
	if (on_jiffies()) {
		CHECK_ERR(open("/etc/passwd", O_WRONLY), EROFS);
		CHECK_ERR(open("/etc/new-file", O_WRONLY | O_CREAT, 0600), EROFS);
		CHECK_ERR(mkdir("/etc/new-dir", 0700), EROFS);
		CHECK_ERR(unlink("/etc/passwd"), EROFS);
	}
}

TEST(long_names)
{
	static char name[PATH_MAX + 10];

	memset(name, 'n', sizeof(name) - 1);
	name[0] = '/';
	CHECK_ERR(open(name, O_RDONLY), ENAMETOOLONG);
	name[300] = '\0';
	CHECK_ERR(open(name, O_RDONLY), ENAMETOOLONG);
}

TEST(odd_paths)
{
	struct stat a, b;

	CHECK(stat("/etc/passwd", &a) == 0);
	CHECK(stat("//etc/./../etc///passwd", &b) == 0 && a.st_ino == b.st_ino);
	CHECK(stat("/../../etc/passwd", &b) == 0 && a.st_ino == b.st_ino);
}

TEST(stat_tells_the_kind)
{
	struct stat st;
	int fd = open_passwd(), p[2];
	char buf[100];

	CHECK(fstat(fd, &st) == 0 && S_ISREG(st.st_mode));
	CHECK(st.st_size > 10 && lseek(fd, 0, SEEK_END) == st.st_size);
	CHECK(st.st_nlink >= 1);
	CHECK(stat("/etc", &st) == 0 && S_ISDIR(st.st_mode));
	CHECK(stat("/dev/null", &st) == 0 && S_ISCHR(st.st_mode));
	CHECK(pipe(p) == 0 && fstat(p[0], &st) == 0 && S_ISFIFO(st.st_mode));
	CHECK(fstatat(AT_FDCWD, "/etc", &st, 0) == 0 && S_ISDIR(st.st_mode));
	CHECK(fstatat(fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode));
	CHECK_ERR(stat("/no/such", &st), ENOENT);
	CHECK_ERR(fstat(999, &st), EBADF);
	CHECK_ERR(readlink("/etc/passwd", buf, sizeof(buf)), EINVAL);
	CHECK_ERR(readlink("/no/such", buf, sizeof(buf)), ENOENT);
}

TEST(symbolic_links)
{
	struct stat st, target;
	char buf[PATH_MAX];
	/* Both systems have a shell; the guest's is a link to busybox. */
	const char *link = on_jiffies() ? "/bin/sh" : "/proc/self/exe";
	ssize_t n;

	CHECK(lstat(link, &st) == 0 && S_ISLNK(st.st_mode));
	CHECK(stat(link, &target) == 0 && S_ISREG(target.st_mode));
	n = readlink(link, buf, sizeof(buf));
	CHECK(n > 0 && n < (ssize_t)sizeof(buf));
	CHECK(readlink(link, buf, 2) == 2); /* cut, not an error */
	CHECK_ERR(open(link, O_RDONLY | O_NOFOLLOW), ELOOP);
	CHECK_ERR(syscall(SYS_readlink, link, buf, 0), EINVAL); /* musl catches 0 itself */
}

TEST(directories)
{
	DIR *dir = opendir("/etc");
	int dots = 0, passwd = 0, n = 0;
	struct dirent *e;
	char small[8];
	int fd;

	CHECK(dir);
	while ((e = readdir(dir))) {
		dots += !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
		if (!strcmp(e->d_name, "passwd")) {
			passwd++;
			CHECK(e->d_type == DT_REG || e->d_type == DT_UNKNOWN);
		}
		n++;
	}
	CHECK(dots == 2 && passwd == 1);
	rewinddir(dir);
	while (readdir(dir))
		n--;
	CHECK(n == 0);
	closedir(dir);
	fd = open("/etc", O_RDONLY | O_DIRECTORY);
	CHECK(fd >= 0);
	CHECK_ERR(read(fd, small, sizeof(small)), EISDIR);
	CHECK_ERR(syscall(SYS_getdents64, fd, small, sizeof(small)), EINVAL);
	CHECK_ERR(syscall(SYS_getdents64, open_passwd(), small, sizeof(small)), ENOTDIR);
	CHECK(openat(fd, "passwd", O_RDONLY) >= 0);
	CHECK(openat(999, "/etc/passwd", O_RDONLY) >= 0); /* absolute: fd unused */
	CHECK_ERR(openat(999, "passwd", O_RDONLY), EBADF);
	CHECK_ERR(openat(open_passwd(), "x", O_RDONLY), ENOTDIR);
}

TEST(working_directory)
{
	char buf[PATH_MAX];
	pid_t pid;
	int fd;

	CHECK(chdir("/etc") == 0);
	CHECK(getcwd(buf, sizeof(buf)) && !strcmp(buf, "/etc"));
	fd = open("passwd", O_RDONLY);
	CHECK(fd >= 0);
	CHECK(chdir("..") == 0 && getcwd(buf, sizeof(buf)) && !strcmp(buf, "/"));
	CHECK_ERR(chdir("/etc/passwd"), ENOTDIR);
	CHECK_ERR(chdir("/no/such"), ENOENT);
	CHECK_ERR(syscall(SYS_getcwd, buf, 1), ERANGE);
	pid = check_fork();
	if (pid == 0) {
		CHECK(chdir("/dev") == 0);
		_exit(0);
	}
	check_exit(pid, 0);
	CHECK(getcwd(buf, sizeof(buf)) && !strcmp(buf, "/"));
	fd = open("/etc", O_RDONLY);
	CHECK(fchdir(fd) == 0 && getcwd(buf, sizeof(buf)) && !strcmp(buf, "/etc"));
	CHECK_ERR(fchdir(open_passwd()), ENOTDIR);
}

TEST(access_modes)
{
	CHECK(access("/etc/passwd", R_OK) == 0);
	CHECK(access("/etc/passwd", F_OK) == 0);
	CHECK_ERR(access("/etc/passwd", X_OK), EACCES);
	CHECK_ERR(access("/no/such", F_OK), ENOENT);
	CHECK_ERR(access("/etc/passwd", 99), EINVAL);
	CHECK(access(self_path, X_OK) == 0);
}

TEST(null_and_zero)
{
	char buf[5000];
	int null = open("/dev/null", O_RDWR), zero = open("/dev/zero", O_RDWR);
	struct pollfd p = {.fd = null, .events = POLLIN | POLLOUT};

	CHECK(null >= 0 && zero >= 0);
	CHECK(write(null, buf, sizeof(buf)) == sizeof(buf));
	CHECK(read(null, buf, 1) == 0);
	memset(buf, 1, sizeof(buf));
	CHECK(read(zero, buf, sizeof(buf)) == sizeof(buf));
	for (size_t i = 0; i < sizeof(buf); i++)
		CHECK(buf[i] == 0);
	CHECK(write(zero, buf, 10) == 10);
	CHECK(poll(&p, 1, 0) == 1 && p.revents == (POLLIN | POLLOUT));
}

TEST(access_mode_is_enforced)
{
	int fd = open("/dev/null", O_RDONLY);
	char c = 0;

	CHECK_ERR(write(fd, &c, 1), EBADF);
	fd = open("/dev/zero", O_WRONLY);
	CHECK_ERR(read(fd, &c, 1), EBADF);
	CHECK((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY);
}

TEST(bad_descriptors)
{
	char c = 0;

	CHECK_ERR(read(999, &c, 1), EBADF);
	CHECK_ERR(write(-1, &c, 1), EBADF);
	CHECK_ERR(close(999), EBADF);
	CHECK_ERR(close(-1), EBADF);
	CHECK_ERR(dup(999), EBADF);
	CHECK_ERR(dup2(999, 5), EBADF);
	CHECK_ERR(fcntl(999, F_GETFD), EBADF);
	CHECK_ERR(lseek(999, 0, SEEK_SET), EBADF);
	CHECK_ERR(ioctl(999, FIONREAD, &c), EBADF);
	CHECK_ERR(dup2(0, 1 << 30), EBADF);
}

TEST(lowest_free_descriptor)
{
	int a = open_passwd(), b = open_passwd(), c;

	close(a);
	c = dup(b);
	CHECK(c == a);
	CHECK(fcntl(b, F_DUPFD, 20) == 20);
	CHECK(fcntl(b, F_DUPFD, 20) == 21);
	CHECK(fcntl(b, F_DUPFD_CLOEXEC, 20) == 22 && fcntl(22, F_GETFD) == FD_CLOEXEC);
	CHECK_ERR(fcntl(b, F_DUPFD, -1), EINVAL);
	CHECK(dup2(b, 30) == 30 && dup2(b, b) == b);
	CHECK(dup3(b, 31, O_CLOEXEC) == 31 && fcntl(31, F_GETFD) == FD_CLOEXEC);
	CHECK_ERR(dup3(b, b, 0), EINVAL);
}

TEST(dup_shares_the_offset)
{
	int a = open_passwd(), b = dup(a), c = open_passwd();
	char buf[4];
	pid_t pid;

	CHECK(read(a, buf, 4) == 4);
	CHECK(lseek(b, 0, SEEK_CUR) == 4 && lseek(c, 0, SEEK_CUR) == 0);
	pid = check_fork();
	if (pid == 0) {
		CHECK(read(a, buf, 4) == 4);
		_exit(0);
	}
	check_exit(pid, 0);
	CHECK(lseek(b, 0, SEEK_CUR) == 8); /* the child moved it */
}

TEST(flags)
{
	int a = open_passwd(), b = dup(a), fd[2];

	CHECK(fcntl(a, F_GETFD) == 0);
	CHECK(fcntl(a, F_SETFD, FD_CLOEXEC) == 0);
	CHECK(fcntl(a, F_GETFD) == FD_CLOEXEC && fcntl(b, F_GETFD) == 0);
	CHECK(pipe(fd) == 0);
	CHECK(fcntl(fd[0], F_SETFL, O_NONBLOCK) == 0);
	CHECK(fcntl(dup(fd[0]), F_GETFL) & O_NONBLOCK); /* status flags are shared */
	CHECK(!(fcntl(fd[1], F_GETFL) & O_NONBLOCK));
	CHECK_ERR(fcntl(a, 9999, 0), EINVAL);
	a = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	CHECK(fcntl(a, F_GETFD) == FD_CLOEXEC);
}

TEST(descriptors_run_out)
{
	int n = 0;

	while (n < 200000 && dup(0) >= 0)
		n++;
	CHECK(errno == EMFILE && n >= 200 && n < 200000);
	CHECK_ERR(open("/etc/passwd", O_RDONLY), EMFILE);
	for (int i = 3; i < n; i++)
		close(i);
	CHECK(open("/etc/passwd", O_RDONLY) >= 0);
}

TEST(files_can_be_mapped)
{
	char buf[64];
	int fd = open_passwd();
	char *p = mmap(NULL, 100, PROT_READ, MAP_PRIVATE, fd, 0);
	char *w = mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

	CHECK(p != MAP_FAILED && w != MAP_FAILED);
	CHECK(!memcmp(p, "root:x:", 7));
	w[0] = 'R';
	CHECK(p[0] == 'r'); /* a private change stays private */
	CHECK(pread(fd, buf, 4, 0) == 4 && buf[0] == 'r');
	CHECK_ERR(mmap(NULL, 100, PROT_READ, MAP_PRIVATE, fd, 1), EINVAL);
	close(fd);
	CHECK(w[1] == 'o' && p[1] == 'o');
	fd = open("/etc/passwd", O_RDONLY);
	CHECK_ERR(mmap(NULL, 100, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EACCES);
}

static void check_text_node(const char *path, const char *must_have)
{
	static char buf[65536];
	int fd = open(path, O_RDONLY);
	size_t n = 0;
	ssize_t got;

	if (fd < 0)
		tap_fail("file.c", __LINE__, path);
	while ((got = read(fd, buf + n, 97)) > 0) /* odd pieces */
		n += got;
	CHECK(got == 0);
	buf[n] = '\0';
	if (!strstr(buf, must_have))
		tap_fail("file.c", __LINE__, path);
	close(fd);
}

TEST(proc_nodes)
{
	char path[64], want[64];
	int dirs = 0;
	DIR *dir = opendir("/proc");
	struct dirent *e;

	snprintf(path, sizeof(path), "/proc/%d/stat", getpid());
	snprintf(want, sizeof(want), "%d (", getpid());
	check_text_node(path, want);
	check_text_node("/proc/self/stat", want);
	snprintf(want, sizeof(want), "Pid:\t%d\n", getpid());
	check_text_node("/proc/self/status", want);
	check_text_node("/proc/meminfo", "MemFree:");
	check_text_node("/proc/stat", "cpu0 ");
	CHECK(access("/sys/devices/system/cpu/cpu0", X_OK) == 0);
	check_text_node("/proc/uptime", ".");
	check_text_node("/proc/loadavg", "/");
	CHECK(dir);
	snprintf(want, sizeof(want), "%d", getpid());
	while ((e = readdir(dir)))
		dirs += !strcmp(e->d_name, want) || !strcmp(e->d_name, "1");
	CHECK(dirs == 2);
	CHECK_ERR(open("/proc/999999/stat", O_RDONLY), ENOENT);
}

/* Field 39 of /proc/PID/stat is the CPU, field 3 the state, field 4 the parent. */
TEST(proc_stat_fields)
{
	char path[64], buf[1024], *p;
	pid_t pid = check_fork();
	unsigned int cpu;
	ssize_t n;
	int fd;

	if (pid == 0)
		for (;;)
			pause();
	sleep_ms(20);
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY);
	n = read(fd, buf, sizeof(buf) - 1);
	CHECK(n > 0);
	buf[n] = '\0';
	p = strrchr(buf, ')');
	CHECK(p && p[2] == 'S' && atoi(p + 4) == getpid());
	for (int field = 2; field < 39; field++) {
		p = strchr(p + 1, ' ');
		CHECK(p);
	}
	cpu = atoi(p + 1);
	CHECK(cpu < 256);
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
}

static const struct test tests[] = {
	T(read_and_seek),
	T(readv_and_writev),
	T(open_errors),
	T(long_names),
	T(odd_paths),
	T(stat_tells_the_kind),
	T(symbolic_links),
	T(directories),
	T(working_directory),
	T(access_modes),
	T(null_and_zero),
	T(access_mode_is_enforced),
	T(bad_descriptors),
	T(lowest_free_descriptor),
	T(dup_shares_the_offset),
	T(flags),
	T(descriptors_run_out),
	T(files_can_be_mapped),
	T(proc_nodes),
	T(proc_stat_fields),
};

TEST_MAIN

// SPDX-License-Identifier: MIT
/*
 * Writable files in /tmp: what open, write, lseek, truncate, rename, unlink and their kin promise. Here a server in user mode keeps
 * them; on Linux the host's own file system is judged by the same tests.
 */
#include "tap.h"

#include <dirent.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>

static char dir[64];

/* Each test has a directory of its own and is in it. */
static void enter(void)
{
	snprintf(dir, sizeof(dir), "/tmp/jiffies-test-XXXXXX");
	CHECK(mkdtemp(dir));
	CHECK(chdir(dir) == 0);
}

static void leave(void)
{
	CHECK(chdir("/") == 0);
	CHECK(rmdir(dir) == 0);
}

static void put(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	CHECK(fd >= 0);
	CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	CHECK(close(fd) == 0);
}

static void check_is(const char *name, const char *text)
{
	char buf[256];
	int fd = open(name, O_RDONLY);
	ssize_t n;

	CHECK(fd >= 0);
	n = read(fd, buf, sizeof(buf));
	CHECK(n == (ssize_t)strlen(text) && !memcmp(buf, text, n));
	CHECK(close(fd) == 0);
}

static off_t size_of(const char *name)
{
	struct stat st;

	CHECK(stat(name, &st) == 0);
	return st.st_size;
}

TEST(create_write_read)
{
	enter();
	CHECK_ERR(open("a", O_RDONLY), ENOENT);
	put("a", "hello");
	check_is("a", "hello");
	CHECK(size_of("a") == 5);
	put("a", "x");
	check_is("a", "x");
	CHECK(unlink("a") == 0);
	CHECK_ERR(open("a", O_RDONLY), ENOENT);
	leave();
}

TEST(flags_of_open)
{
	struct stat st;
	char c;
	int fd;

	enter();
	umask(022);
	fd = open("a", O_RDWR | O_CREAT | O_EXCL, 0666);
	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	CHECK(st.st_mode == (S_IFREG | 0644) && st.st_nlink == 1 && st.st_size == 0);
	CHECK(fcntl(fd, F_GETFL) == O_RDWR || fcntl(fd, F_GETFL) == (O_RDWR | 0100000));
	CHECK_ERR(open("a", O_RDWR | O_CREAT | O_EXCL, 0666), EEXIST);
	CHECK_ERR(open("a/b", O_RDWR | O_CREAT, 0666), ENOTDIR);
	CHECK_ERR(open("no/b", O_RDWR | O_CREAT, 0666), ENOENT);
	CHECK_ERR(open("a", O_RDONLY | O_DIRECTORY), ENOTDIR);
	CHECK_ERR(open(".", O_RDWR), EISDIR);
	CHECK_ERR(open(".", O_RDONLY | O_CREAT, 0666), EISDIR);
	close(fd);
	fd = open("a", O_RDONLY);
	CHECK_ERR(write(fd, "x", 1), EBADF);
	close(fd);
	fd = open("a", O_WRONLY);
	CHECK_ERR(read(fd, &c, 1), EBADF);
	close(fd);
	fd = open(".", O_RDONLY);
	CHECK_ERR(read(fd, &c, 1), EISDIR);
	CHECK(openat(fd, "b", O_RDWR | O_CREAT, 0600) >= 0);
	CHECK(unlinkat(fd, "b", 0) == 0);
	CHECK(unlink("a") == 0);
	leave();
}

TEST(append_goes_to_the_end)
{
	int a, b;

	enter();
	put("f", "one");
	a = open("f", O_WRONLY | O_APPEND);
	b = open("f", O_RDWR);
	CHECK(write(a, "two", 3) == 3);
	CHECK(lseek(a, 0, SEEK_CUR) == 6);
	CHECK(lseek(a, 0, SEEK_SET) == 0);
	CHECK(write(a, "three", 5) == 5);
	CHECK(write(b, "ONE", 3) == 3);
	CHECK(fcntl(b, F_SETFL, O_APPEND) == 0);
	CHECK(write(b, "!", 1) == 1);
	check_is("f", "ONEtwothree!");
	unlink("f");
	leave();
}

TEST(seek_and_holes)
{
	char buf[16];
	int fd;

	enter();
	fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK(lseek(fd, 100000, SEEK_SET) == 100000);
	CHECK(size_of("f") == 0);
	CHECK(write(fd, "end", 3) == 3);
	CHECK(size_of("f") == 100003);
	CHECK(lseek(fd, -3, SEEK_END) == 100000);
	CHECK(read(fd, buf, 16) == 3 && !memcmp(buf, "end", 3));
	CHECK(read(fd, buf, 16) == 0);
	CHECK(pread(fd, buf, 4, 99998) == 4 && !memcmp(buf, "\0\0en", 4));
	CHECK(pread(fd, buf, 4, 200000) == 0);
	CHECK(pwrite(fd, "mid", 3, 50000) == 3);
	CHECK(lseek(fd, 0, SEEK_CUR) == 100003);
	CHECK(pread(fd, buf, 5, 49999) == 5 && !memcmp(buf, "\0mid\0", 5));
	CHECK_ERR(lseek(fd, -1, SEEK_SET), EINVAL);
	CHECK_ERR(pread(fd, buf, 4, -1), EINVAL);
	unlink("f");
	leave();
}

TEST(truncate_both_ways)
{
	char buf[16];
	int fd;

	enter();
	put("f", "abcdefgh");
	fd = open("f", O_RDWR);
	CHECK(ftruncate(fd, 3) == 0);
	CHECK(size_of("f") == 3);
	CHECK(ftruncate(fd, 6) == 0);
	CHECK(pread(fd, buf, 16, 0) == 6 && !memcmp(buf, "abc\0\0\0", 6));
	CHECK(truncate("f", 1) == 0);
	check_is("f", "a");
	CHECK_ERR(truncate("f", -1), EINVAL);
	CHECK_ERR(truncate(".", 0), EISDIR);
	CHECK_ERR(truncate("none", 0), ENOENT);
	close(fd);
	fd = open("f", O_RDONLY);
	CHECK_ERR(ftruncate(fd, 0), EINVAL);
	unlink("f");
	leave();
}

TEST(large_transfers)
{
	enum { N = 200000 };
	unsigned char *data = malloc(N), *back = malloc(N);
	int fd;

	for (int i = 0; i < N; i++)
		data[i] = (unsigned char)(i * 31 + i / 251);
	enter();
	fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK(write(fd, data, N) == N);
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	CHECK(read(fd, back, N) == N && !memcmp(data, back, N));
	CHECK(pread(fd, back, 9000, 4090) == 9000 && !memcmp(data + 4090, back, 9000));
	CHECK_ERR(write(fd, BAD_PTR, 10), EFAULT);
	CHECK_ERR(pread(fd, BAD_PTR, 10, 0), EFAULT);
	unlink("f");
	leave();
}

TEST(removed_while_open)
{
	struct stat st;
	char buf[8];
	int fd;

	enter();
	fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK(write(fd, "kept", 4) == 4);
	CHECK(unlink("f") == 0);
	CHECK_ERR(stat("f", &st), ENOENT);
	CHECK(fstat(fd, &st) == 0 && st.st_nlink == 0 && st.st_size == 4);
	CHECK(pread(fd, buf, 8, 0) == 4 && !memcmp(buf, "kept", 4));
	put("f", "other");
	CHECK(pwrite(fd, "K", 1, 0) == 1);
	CHECK(pread(fd, buf, 8, 0) == 4 && !memcmp(buf, "Kept", 4));
	check_is("f", "other");
	unlink("f");
	leave();
}

TEST(directories)
{
	struct stat st;

	enter();
	umask(0);
	CHECK(mkdir("d", 0751) == 0);
	CHECK(stat("d", &st) == 0 && st.st_mode == (S_IFDIR | 0751));
	CHECK_ERR(mkdir("d", 0700), EEXIST);
	CHECK_ERR(mkdir("no/d", 0700), ENOENT);
	CHECK(mkdir("d/e/", 0700) == 0);
	put("d/f", "x");
	CHECK_ERR(mkdir("d/f/g", 0700), ENOTDIR);
	CHECK_ERR(rmdir("d"), ENOTEMPTY);
	CHECK_ERR(rmdir("d/f"), ENOTDIR);
	CHECK_ERR(unlink("d/e"), EISDIR);
	CHECK_ERR(rmdir("none"), ENOENT);
	CHECK(rmdir("d/e") == 0);
	CHECK(unlink("d/f") == 0);
	CHECK(rmdir("d") == 0);
	leave();
}

TEST(working_directory_below)
{
	char buf[200], want[200];

	enter();
	CHECK(mkdir("d", 0700) == 0 && chdir("d") == 0);
	CHECK(getcwd(buf, sizeof(buf)));
	snprintf(want, sizeof(want), "%s/d", dir);
	CHECK(!strcmp(buf, want));
	put("../up", "u");
	check_is("./../up", "u");
	CHECK(chdir("..") == 0);
	CHECK(unlink("up") == 0 && rmdir("d") == 0);
	leave();
}

/* Entries that come and go while a listing is under way: what stays is listed once. */
TEST(listing_under_change)
{
	enum { N = 300 };
	char seen[N] = {0}, name[32];
	struct dirent *e;
	int n = 0, dots = 0;
	DIR *d;

	enter();
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "file-with-a-name-%d", i);
		put(name, "");
	}
	d = opendir(".");
	CHECK(d);
	while ((e = readdir(d))) {
		int i;

		if (*e->d_name == '.') {
			dots++;
			continue;
		}
		CHECK(sscanf(e->d_name, "file-with-a-name-%d", &i) == 1 && i >= 0 && i < N);
		CHECK(e->d_type == DT_REG);
		CHECK(!seen[i]);
		seen[i] = 1;
		CHECK(unlink(e->d_name) == 0);
		n++;
	}
	CHECK(n == N && dots == 2);
	closedir(d);
	leave();
}

TEST(rename_moves_and_replaces)
{
	struct stat a, b;

	enter();
	put("a", "one");
	put("b", "two");
	CHECK(stat("a", &a) == 0);
	CHECK(rename("a", "b") == 0);
	check_is("b", "one");
	CHECK_ERR(stat("a", &b), ENOENT);
	CHECK(stat("b", &b) == 0 && a.st_ino == b.st_ino);
	CHECK(mkdir("d", 0700) == 0);
	CHECK(rename("b", "d/c") == 0);
	check_is("d/c", "one");
	CHECK(rename("d/c", "d/c") == 0);
	CHECK_ERR(rename("none", "x"), ENOENT);
	CHECK_ERR(rename("d", "d/e"), EINVAL);
	put("f", "");
	CHECK_ERR(rename("f", "d"), EISDIR);
	CHECK_ERR(rename("d", "f"), ENOTDIR);
	CHECK(mkdir("e", 0700) == 0);
	CHECK_ERR(rename("e", "d"), ENOTEMPTY);
	CHECK(rename("d", "e") == 0);
	check_is("e/c", "one");
	CHECK_ERR(syscall(SYS_renameat2, AT_FDCWD, "f", AT_FDCWD, "e/c", 1), EEXIST);
	CHECK(unlink("e/c") == 0 && rmdir("e") == 0 && unlink("f") == 0);
	leave();
}

TEST(links)
{
	char buf[64];
	struct stat st;

	enter();
	CHECK(mkdir("d", 0700) == 0);
	put("d/f", "text");
	CHECK(symlink("d", "l") == 0);
	CHECK(symlink("l/f", "m") == 0);
	CHECK(lstat("m", &st) == 0 && S_ISLNK(st.st_mode) && st.st_size == 3);
	CHECK(readlink("m", buf, sizeof(buf)) == 3 && !memcmp(buf, "l/f", 3));
	check_is("m", "text");
	CHECK_ERR(open("m", O_RDONLY | O_NOFOLLOW), ELOOP);
	CHECK_ERR(symlink("x", "m"), EEXIST);
	CHECK(symlink("loop", "loop") == 0);
	CHECK_ERR(open("loop", O_RDONLY), ELOOP);
	CHECK(symlink("/tmp", "abs") == 0);
	CHECK(stat("abs", &st) == 0 && S_ISDIR(st.st_mode));
	CHECK(unlink("l") == 0);
	CHECK_ERR(open("m", O_RDONLY), ENOENT);
	CHECK(unlink("m") == 0 && unlink("loop") == 0 && unlink("abs") == 0);
	CHECK(unlink("d/f") == 0 && rmdir("d") == 0);
	leave();
}

TEST(attributes)
{
	struct timespec times[2] = {{1000, 0}, {2000, 0}};
	struct stat st;
	time_t before = time(NULL);

	enter();
	put("f", "x");
	CHECK(stat("f", &st) == 0 && st.st_mtime >= before - 2 && st.st_mtime <= time(NULL) + 2);
	CHECK(chmod("f", 0751) == 0);
	CHECK(stat("f", &st) == 0 && (st.st_mode & 07777) == 0751);
	CHECK(access("f", X_OK | W_OK | R_OK) == 0);
	CHECK(utimensat(AT_FDCWD, "f", times, 0) == 0);
	CHECK(stat("f", &st) == 0 && st.st_mtime == 2000);
	times[1].tv_nsec = UTIME_OMIT;
	CHECK(utimensat(AT_FDCWD, "f", times, 0) == 0);
	CHECK(stat("f", &st) == 0 && st.st_mtime == 2000);
	CHECK(utimensat(AT_FDCWD, "f", NULL, 0) == 0);
	CHECK(stat("f", &st) == 0 && st.st_mtime >= before - 2);
	times[1].tv_nsec = 2000000000;
	CHECK_ERR(utimensat(AT_FDCWD, "f", times, 0), EINVAL);
	unlink("f");
	leave();
}

TEST(private_mapping)
{
	char *p, buf[8];
	int fd;

	enter();
	fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK(pwrite(fd, "first", 5, 0) == 5 && pwrite(fd, "second", 6, 4096) == 6);
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(p != MAP_FAILED);
	CHECK(!memcmp(p, "first\0", 6) && !memcmp(p + 4096, "second\0", 7));
	p[0] = 'F';
	CHECK(pread(fd, buf, 5, 0) == 5 && !memcmp(buf, "first", 5));
	CHECK(munmap(p, 8192) == 0);
	p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 4096);
	CHECK(p != MAP_FAILED && !memcmp(p, "second", 6));
	unlink("f");
	leave();
}

TEST(exec_of_a_copy)
{
	char *argv[] = {(char *)"copy", (char *)"--nothing", NULL};
	char buf[4096];
	int in = open(self_path, O_RDONLY), out;
	ssize_t n;
	pid_t pid;

	enter();
	out = open("copy", O_WRONLY | O_CREAT, 0755);
	CHECK(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		CHECK(write(out, buf, n) == n);
	close(out);
	put("script", "#!./copy\n");
	CHECK_ERR(execv("script", argv), EACCES);
	CHECK(chmod("script", 0755) == 0);
	for (int i = 0; i < 2; i++) {
		pid = check_fork();
		if (pid == 0) {
			setenv("JIFFIES_TMPFILE_CHILD", "1", 1);
			execv(i ? "script" : "copy", argv);
			_exit(1);
		}
		check_exit(pid, 77);
	}
	CHECK(unlink("copy") == 0 && unlink("script") == 0);
	leave();
}

TEST(sendfile_and_vectors)
{
	struct iovec iov[2] = {{(char *)"abc", 3}, {(char *)"defgh", 5}};
	int a, b;

	enter();
	a = open("a", O_RDWR | O_CREAT, 0600);
	b = open("b", O_RDWR | O_CREAT, 0600);
	CHECK(writev(a, iov, 2) == 8);
	CHECK(lseek(a, 0, SEEK_SET) == 0);
	CHECK(sendfile(b, a, NULL, 100) == 8);
	check_is("b", "abcdefgh");
	unlink("a");
	unlink("b");
	leave();
}

/* Several processes append to one file and make files of their own: nothing is lost or mixed. */
TEST(many_clients)
{
	enum { CLIENTS = 6, LINES = 60 };
	char line[32], buf[CLIENTS * LINES * 8 + 1];
	pid_t pid[CLIENTS];
	int fd, n, count[CLIENTS] = {0};

	enter();
	for (int c = 0; c < CLIENTS; c++) {
		pid[c] = check_fork();
		if (pid[c])
			continue;
		fd = open("log", O_WRONLY | O_CREAT | O_APPEND, 0600);
		CHECK(fd >= 0);
		for (int i = 0; i < LINES; i++) {
			n = snprintf(line, sizeof(line), "%d %04d\n", c, i);
			CHECK(write(fd, line, n) == n);
			snprintf(line, sizeof(line), "own-%d", c);
			put(line, line);
			check_is(line, line);
			CHECK(unlink(line) == 0);
		}
		_exit(0);
	}
	for (int c = 0; c < CLIENTS; c++)
		check_exit(pid[c], 0);
	fd = open("log", O_RDONLY);
	CHECK(read(fd, buf, sizeof(buf)) == CLIENTS * LINES * 7);
	for (int i = 0; i < CLIENTS * LINES; i++) {
		int c = -1, k = -1;

		CHECK(sscanf(buf + i * 7, "%d %d", &c, &k) == 2 && c >= 0 && c < CLIENTS);
		CHECK(count[c]++ == k);
	}
	unlink("log");
	leave();
}

static void on_signal(int sig)
{
	(void)sig;
}

/* File calls are not interrupted by signals, however many come. */
/* One open file, and so one position, of several processes: as in (a & b & wait) >file. */
TEST(shared_position)
{
	enum { WRITERS = 4, RECORDS = 300 };
	static uint32_t record[2];
	static bool seen[WRITERS][RECORDS];
	pid_t child[WRITERS];
	int fd;

	enter();
	fd = open("f", O_RDWR | O_CREAT, 0600);
	for (uint32_t w = 0; w < WRITERS; w++) {
		child[w] = fork();
		if (!child[w]) {
			for (uint32_t i = 0; i < RECORDS; i++) {
				uint32_t mine[2] = {w, i};

				if (write(fd, mine, sizeof(mine)) != sizeof(mine))
					_exit(1);
			}
			_exit(0);
		}
	}
	for (unsigned w = 0; w < WRITERS; w++) {
		int status = -1;

		CHECK(waitpid(child[w], &status, 0) == child[w] && status == 0);
	}
	CHECK(lseek(fd, 0, SEEK_CUR) == WRITERS * RECORDS * (off_t)sizeof(record));
	CHECK(lseek(fd, 0, SEEK_SET) == 0);
	memset(seen, 0, sizeof(seen));
	while (read(fd, record, sizeof(record)) == sizeof(record)) {
		CHECK(record[0] < WRITERS && record[1] < RECORDS);
		CHECK(!seen[record[0]][record[1]]);
		seen[record[0]][record[1]] = true;
	}
	CHECK(lseek(fd, 0, SEEK_CUR) == WRITERS * RECORDS * (off_t)sizeof(record));
	close(fd);
	CHECK(unlink("f") == 0);
	leave();
}

TEST(signals_do_not_interrupt)
{
	struct sigaction sa = {.sa_handler = on_signal};
	char buf[3000];
	pid_t pid;
	int fd;

	enter();
	sigaction(SIGUSR1, &sa, NULL);
	pid = check_fork();
	if (pid == 0)
		for (;;) {
			if (kill(getppid(), SIGUSR1))
				_exit(0);
			usleep(200);
		}
	memset(buf, 'b', sizeof(buf));
	fd = open("f", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0);
	for (int i = 0; i < 300; i++) {
		CHECK(pwrite(fd, buf, sizeof(buf), 0) == sizeof(buf));
		CHECK(pread(fd, buf, sizeof(buf), 0) == sizeof(buf));
		CHECK(size_of("f") == sizeof(buf));
	}
	kill(pid, SIGKILL);
	check_killed(pid, SIGKILL);
	unlink("f");
	leave();
}

/* Clients that are killed in the middle of a call leave nothing behind that would stop others. */
TEST(killed_clients)
{
	char buf[2000];

	enter();
	memset(buf, 'k', sizeof(buf));
	for (int i = 0; i < 150; i++) {
		pid_t pid = check_fork();

		if (pid == 0) {
			int fd = open("f", O_RDWR | O_CREAT, 0600);

			for (;;) {
				pwrite(fd, buf, sizeof(buf), 0);
				close(open("g", O_RDWR | O_CREAT, 0600));
				unlink("g");
			}
		}
		usleep(300 + i * 20);
		kill(pid, SIGKILL);
		check_killed(pid, SIGKILL);
	}
	put("f", "fine");
	check_is("f", "fine");
	unlink("f");
	unlink("g");
	leave();
}

static const struct test tests[] = {
	T(create_write_read),
	T(flags_of_open),
	T(append_goes_to_the_end),
	T(seek_and_holes),
	T(truncate_both_ways),
	T(large_transfers),
	T(removed_while_open),
	T(directories),
	T(working_directory_below),
	T(listing_under_change),
	T(rename_moves_and_replaces),
	T(links),
	T(attributes),
	T(private_mapping),
	T(exec_of_a_copy),
	T(sendfile_and_vectors),
	T(many_clients),
	T(shared_position),
	T(signals_do_not_interrupt),
	T(killed_clients),
};

/* Run as a copy of itself, it only says that it runs. */
__attribute__((constructor)) static void as_child(void)
{
	if (getenv("JIFFIES_TMPFILE_CHILD"))
		_exit(77);
}

TEST_MAIN

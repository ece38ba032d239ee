// SPDX-License-Identifier: MIT
/*
 * File servers that die, hang or lie: their clients get EIO, SIGKILL always works, and nothing else notices. The server of each test is
 * a process of the test's, mounted on /mnt. Only here: Linux has no such file system, and there each test just passes.
 */
#include "tap.h"

#include <dirent.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "../../kernel/sys/fsproto.h"

#define DIRECTORY 0040755u
#define REGULAR	  0100644u

static struct fs_message *q; /* the request in hand, and what is made of it */
static char request[FS_MESSAGE], answer[2 * FS_MESSAGE];
static struct fs_message *const a = (struct fs_message *)answer;
static char *const payload = answer + sizeof(struct fs_message);
static int in_fd, out_fd;

static bool get(void *buf, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t r = read(in_fd, (char *)buf + done, n - done);

		if (r <= 0)
			return false;
		done += r;
	}
	return true;
}

static void put_bytes(size_t n)
{
	if (write(out_fd, answer, n) != (ssize_t)n)
		_exit(0);
}

static void put_answer(size_t len)
{
	a->size = (unsigned)(sizeof(*a) + len);
	put_bytes(a->size);
}

/* An answer to q with attributes. */
static size_t attributes(unsigned mode, unsigned long long size)
{
	struct fs_attr attr = {.ino = 5, .size = size, .mode = mode, .links = 1};

	memcpy(payload, &attr, sizeof(attr));
	return sizeof(attr);
}

/* The root is a directory; the rest is up to the test. */
static pid_t serve(void (*handler)(void))
{
	int ready[2], to[2], from[2];
	char data[64], c;
	pid_t pid;

	CHECK(pipe(ready) == 0);
	pid = check_fork();
	if (pid) {
		close(ready[1]);
		CHECK(read(ready[0], &c, 1) == 1);
		close(ready[0]);
		return pid;
	}
	signal(SIGPIPE, SIG_DFL);
	CHECK(pipe(to) == 0 && pipe(from) == 0);
	snprintf(data, sizeof(data), "rfdno=%d,wfdno=%d", from[0], to[1]);
	CHECK(mount("test", "/mnt", "pipe", 0, data) == 0);
	close(from[0]);
	close(to[1]);
	CHECK(write(ready[1], "r", 1) == 1);
	in_fd = to[0];
	out_fd = from[1];
	q = (struct fs_message *)request;
	while (get(q, sizeof(*q)) && get(request + sizeof(*q), q->size - sizeof(*q))) {
		if (q->type == FS_CLUNK)
			continue;
		memset(answer, 0, sizeof(answer));
		a->type = q->type;
		a->tag = q->tag;
		if (q->fid == FS_ROOT && (q->type == FS_ATTACH || q->type == FS_STAT))
			put_answer(attributes(DIRECTORY, 0));
		else
			handler();
	}
	_exit(0);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK(waitpid(pid, NULL, 0) == pid);
}

/* A server of one file of 100 bytes for whatever name. */
static void honest(void)
{
	struct fs_entry e = {.ino = 5, .next = 1, .mode = REGULAR, .len = 1};

	switch (q->type) {
	case FS_READ:
		put_answer(q->arg >= 100 ? 0 : q->count > 100 - q->arg ? 100 - q->arg : q->count);
		break;
	case FS_WRITE:
		a->count = q->size - sizeof(*q);
		a->arg = q->arg + a->count;
		put_answer(0);
		break;
	case FS_LIST:
		memcpy(payload, &e, sizeof(e));
		payload[sizeof(e)] = 'n';
		put_answer(q->arg ? 0 : sizeof(e) + 8);
		break;
	default:
		put_answer(attributes(REGULAR, 100));
	}
}

/* All that a client may do: each call an error of the list or none, and it comes back. */
static void try_everything(bool must_fail)
{
	char buf[5000] = "";
	struct stat st;
	DIR *d;
	int fd = open("/mnt/x", O_RDWR | O_CREAT, 0600);

	if (fd >= 0) {
		ssize_t r = pread(fd, buf, sizeof(buf), 0), w = pwrite(fd, buf, sizeof(buf), 0);

		CHECK(r <= (ssize_t)sizeof(buf) && w <= (ssize_t)sizeof(buf));
		fstat(fd, &st);
		mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
		close(fd);
	}
	CHECK(!must_fail || fd < 0);
	stat("/mnt/y", &st);
	readlink("/mnt/y", buf, sizeof(buf));
	unlink("/mnt/z");
	rename("/mnt/x", "/mnt/y");
	d = opendir("/mnt");
	if (d) {
		for (int i = 0; i < 1000 && readdir(d); i++)
			;
		closedir(d);
	}
	execl("/mnt/x", "x", NULL);
}

static bool here(void)
{
	return on_jiffies();
}

TEST(an_honest_server_works)
{
	char buf[200];
	pid_t pid;
	DIR *d;
	int fd;

	if (!here())
		return;
	pid = serve(honest);
	fd = open("/mnt/file", O_RDWR);
	CHECK(fd >= 0);
	CHECK(read(fd, buf, 200) == 100 && read(fd, buf, 200) == 0);
	CHECK(write(fd, buf, 50) == 50);
	d = opendir("/mnt");
	CHECK(d && readdir(d) && readdir(d) && !strcmp(readdir(d)->d_name, "n") && !readdir(d));
	CHECK_ERR(mount("other", "/mnt", "pipe", 0, "rfdno=0,wfdno=1"), EBUSY);
	end(pid);
	CHECK_ERR(read(fd, buf, 1), EIO);
	CHECK_ERR(open("/mnt/file", O_RDONLY), EIO);
	CHECK(close(fd) == 0);
	/* The next server takes the place; what is open stays with the old one. */
	fd = open("/mnt", O_RDONLY | O_DIRECTORY);
	pid = serve(honest);
	CHECK_ERR(openat(fd, "x", O_RDONLY), EIO);
	CHECK(open("/mnt/file", O_RDONLY) >= 0);
	end(pid);
}

TEST(mount_wants_its_arguments)
{
	int p[2];
	char data[64];

	if (!here())
		return;
	CHECK(pipe(p) == 0);
	CHECK_ERR(mount("s", "/mnt", "ext4", 0, ""), ENODEV);
	CHECK_ERR(mount("s", "/mnt", BAD_PTR, 0, ""), EFAULT);
	CHECK_ERR(mount("s", "/mnt", "pipe", 0, "rfdno=1"), EINVAL);
	CHECK_ERR(mount("s", "/mnt", "pipe", 0, "rfdno=990,wfdno=991"), EBADF);
	CHECK_ERR(mount("s", "/none", "pipe", 0, "rfdno=0,wfdno=1"), ENOENT);
	CHECK_ERR(mount("s", "/etc/passwd", "pipe", 0, "rfdno=0,wfdno=1"), ENOTDIR);
	CHECK_ERR(mount("s", "/", "pipe", 0, "rfdno=0,wfdno=1"), EINVAL);
	/* The wrong ends. */
	snprintf(data, sizeof(data), "rfdno=%d,wfdno=%d", p[1], p[0]);
	CHECK_ERR(mount("s", "/mnt", "pipe", 0, data), EINVAL);
}

/* ---- lies: after each the connection is cut, and the next server works ---- */

static int lie;

enum {
	EXIT,
	WRONG_TAG,
	OTHER_TYPE,
	SIZE_0,
	SIZE_SHORT,
	SIZE_LONG,
	ATTR_SHORT,
	ATTR_LONG,
	ATTR_DEVICE,
	ATTR_SIZE,
	TWICE,
	LIES
};

static void liar(void)
{
	size_t n = attributes(REGULAR, 100);

	switch (lie) {
	case EXIT:
		_exit(0);
	case WRONG_TAG:
		a->tag = FS_CALLS - 1;
		break;
	case OTHER_TYPE:
		a->type ^= 1;
		break;
	case SIZE_0:
		put_bytes(sizeof(*a));
		return;
	case SIZE_SHORT:
		a->size = sizeof(*a) - 1;
		put_bytes(sizeof(*a));
		return;
	case SIZE_LONG:
		a->size = FS_MESSAGE + 1;
		put_bytes(FS_MESSAGE + 1);
		return;
	case ATTR_SHORT:
		n--;
		break;
	case ATTR_LONG:
		n++;
		break;
	case ATTR_DEVICE:
		n = attributes(0020666, 100);
		break;
	case ATTR_SIZE:
		n = attributes(REGULAR, 1ull << 63);
		break;
	case TWICE:
		put_answer(n);
		break;
	}
	put_answer(n);
}

TEST(liars_are_cut_off)
{
	if (!here())
		return;
	for (lie = 0; lie < LIES; lie++) {
		pid_t pid = serve(liar);
		struct stat st;
		DIR *d;

		CHECK(stat("/mnt", &st) == 0 && S_ISDIR(st.st_mode));
		if (lie != TWICE)
			CHECK_ERR(open("/mnt/a", O_RDONLY), EIO);
		else
			for (int i = 0; i < 3; i++)
				open("/mnt/a", O_RDONLY);
		CHECK_ERR(open("/mnt/a", O_RDONLY), EIO);
		CHECK_ERR(stat("/mnt", &st), EIO);
		d = opendir("/mnt"); /* asks nobody */
		CHECK(d);
		while (errno = 0, readdir(d))
			;
		CHECK(errno == EIO);
		check_exit(pid, 0); /* it saw the end of its pipe */
	}
}

static void changes_type(void)
{
	static int n;

	put_answer(attributes(n++ ? DIRECTORY : REGULAR, 10));
}

static void reads_too_much(void)
{
	if (q->type != FS_READ)
		honest();
	else
		put_answer(q->count + 1 > FS_PAYLOAD ? FS_PAYLOAD : q->count + 1);
}

static void writes_too_much(void)
{
	if (q->type != FS_WRITE) {
		honest();
	} else {
		a->count = 1000;
		a->arg = 1000;
		put_answer(0);
	}
}

static void odd_errors(void)
{
	static const unsigned codes[] = {512, 514, 4095, 4096, 1u << 31, ~0u};
	static unsigned n;

	a->error = codes[n++ % 6];
	put_answer(0);
}

TEST(lies_about_contents)
{
	struct stat st;
	char buf[10];
	pid_t pid;
	int fd;

	if (!here())
		return;
	pid = serve(changes_type);
	CHECK_ERR(open("/mnt/a", O_RDONLY), EIO); /* a walk and an open */
	check_exit(pid, 0);
	pid = serve(reads_too_much);
	fd = open("/mnt/a", O_RDWR);
	CHECK(fd >= 0);
	CHECK_ERR(read(fd, buf, 10), EIO);
	check_exit(pid, 0);
	pid = serve(writes_too_much);
	fd = open("/mnt/a", O_RDWR);
	CHECK(fd >= 0);
	CHECK_ERR(write(fd, "abc", 3), EIO);
	check_exit(pid, 0);
	pid = serve(odd_errors);
	for (int i = 0; i < 6; i++)
		CHECK_ERR(stat("/mnt/a", &st), EIO);
	end(pid);
}

static struct fs_entry bad_entry;
static char bad_name[16];

static void lists_badly(void)
{
	if (q->type != FS_LIST) {
		honest();
		return;
	}
	memcpy(payload, &bad_entry, sizeof(bad_entry));
	memcpy(payload + sizeof(bad_entry), bad_name, 8);
	put_answer(sizeof(bad_entry) + 8);
}

TEST(lies_about_listings)
{
	static const struct {
		struct fs_entry e;
		const char *name;
	} cases[] = {{{1, 1, REGULAR, 0}, "a"},		{{1, 1, REGULAR, 300}, "a"},
		     {{1, 1, REGULAR, 9}, "abcdefgh"},	{{1, 1, REGULAR, ~0u}, "a"},
		     {{1, 1, REGULAR, 3}, "a/b"},	{{1, 1, REGULAR, 4}, "ab"},
		     {{1, 1ull << 63, REGULAR, 1}, "a"}};

	if (!here())
		return;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pid_t pid;
		DIR *d;

		bad_entry = cases[i].e;
		memset(bad_name, 0, sizeof(bad_name));
		strcpy(bad_name, cases[i].name);
		pid = serve(lists_badly);
		d = opendir("/mnt");
		CHECK(d);
		while (readdir(d)) /* "." and ".." may be there */
			;
		CHECK_ERR(open("/mnt/a", O_RDONLY), EIO);
		check_exit(pid, 0);
	}
}

/* ---- random answers ---- */

static unsigned seed;

static unsigned rnd(void)
{
	seed = seed * 1103515245 + 12345;
	return seed >> 8;
}

static void babbles(void)
{
	size_t len = rnd() % 3 ? sizeof(struct fs_attr) : rnd() % (FS_PAYLOAD + 1);

	for (size_t i = 0; i < len && i < 200; i++)
		payload[i] = (char)rnd();
	if (len == sizeof(struct fs_attr) && rnd() % 4)
		attributes(rnd() % 2   ? REGULAR
			   : rnd() % 2 ? DIRECTORY
				       : 0120777,
			   rnd() % 2 ? rnd() % 10000 : (unsigned long long)rnd() << 40);
	if (rnd() % 8 == 0) {
		a->count = rnd();
		a->arg = rnd();
		a->error = rnd() % 40;
	}
	if (rnd() % 30 == 0)
		a->tag = (unsigned short)rnd();
	if (rnd() % 30 == 0)
		a->type = (unsigned short)rnd();
	if (q->type == FS_READ && rnd() % 2 && len > q->count)
		len = q->count;
	put_answer(len);
}

TEST(babblers_do_no_harm)
{
	if (!here())
		return;
	for (unsigned i = 0; i < 150; i++) {
		pid_t pid, client;
		int status;

		seed = i * 7919 + 1;
		pid = serve(babbles);
		client = check_fork();
		if (client == 0) {
			for (int k = 0; k < 5; k++)
				try_everything(false);
			_exit(0);
		}
		CHECK(waitpid(client, &status, 0) == client && !WIFSTOPPED(status));
		end(pid);
	}
}

/* ---- hanging ---- */

/* Answers nothing until a file is told to: counts in a pipe. */
static int gate[2];

static void hangs(void)
{
	char c;

	if (read(gate[0], &c, 1) <= 0)
		_exit(1);
	honest();
}

TEST(clients_of_a_hanging_server_can_be_killed)
{
	enum { N = FS_CALLS + 25 };
	pid_t pid, client[N];
	int fd;

	if (!here())
		return;
	CHECK(pipe(gate) == 0);
	pid = serve(hangs);
	for (int i = 0; i < N; i++) {
		client[i] = check_fork();
		if (client[i] == 0) {
			open("/mnt/a", O_RDONLY);
			_exit(1);
		}
	}
	sleep_ms(300);
	for (int i = 0; i < N; i++) {
		kill(client[i], SIGKILL);
		check_killed(client[i], SIGKILL);
	}
	/* The server answers them all at last; no tag is lost, and the next client is served. */
	for (int i = 0; i < 3 * N; i++)
		CHECK(write(gate[1], "go", 1) == 1);
	for (int i = 0; i < 3; i++) {
		fd = open("/mnt/a", O_RDONLY);
		CHECK(fd >= 0);
		close(fd);
	}
	/* All tags at once, for which every one must be free. */
	for (int i = 0; i < N; i++) {
		client[i] = check_fork();
		if (client[i] == 0)
			_exit(open("/mnt/a", O_RDONLY) >= 0 ? 0 : 1);
	}
	for (int i = 0; i < 3 * N; i++)
		CHECK(write(gate[1], "go", 1) == 1);
	for (int i = 0; i < N; i++)
		check_exit(client[i], 0);
	end(pid);
}

TEST(a_dying_server_frees_all_who_wait)
{
	enum { N = FS_CALLS + 25 };
	pid_t pid, client[N];

	if (!here())
		return;
	CHECK(pipe(gate) == 0);
	pid = serve(hangs);
	for (int i = 0; i < N; i++) {
		client[i] = check_fork();
		if (client[i] == 0)
			_exit(open("/mnt/a", O_RDONLY) < 0 && errno == EIO ? 0 : 1);
	}
	sleep_ms(300);
	end(pid);
	for (int i = 0; i < N; i++)
		check_exit(client[i], 0);
}

/* ---- the real one ---- */

static pid_t find_ramfs(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	pid_t found = 0;

	CHECK(d);
	while (!found && (e = readdir(d))) {
		char path[300], text[64];
		int fd;
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/%s/cmdline", e->d_name);
		fd = open(path, O_RDONLY);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
		if (fd >= 0)
			close(fd);
		text[n > 0 ? n : 0] = '\0';
		if (!strcmp(text, "ramfs"))
			found = atoi(e->d_name);
	}
	closedir(d);
	return found;
}

TEST(ramfs_killed_under_load_comes_back)
{
	enum { CLIENTS = 4 };
	pid_t client[CLIENTS], bystander;
	unsigned long before;
	volatile unsigned long *beats;

	if (!here())
		return;
	beats = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bystander = check_fork();
	if (bystander == 0)
		for (;;) {
			int p[2];
			char c;

			if (pipe(p) || write(p[1], "b", 1) != 1 || read(p[0], &c, 1) != 1)
				_exit(1);
			close(p[0]);
			close(p[1]);
			beats[0]++;
		}
	for (int c = 0; c < CLIENTS; c++) {
		client[c] = check_fork();
		if (client[c])
			continue;
		for (;;) {
			char name[32], buf[6000];
			int fd;

			snprintf(name, sizeof(name), "/tmp/load-%d", c);
			memset(buf, c, sizeof(buf));
			fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
			if (fd >= 0) {
				ssize_t n = write(fd, buf, sizeof(buf));

				CHECK(n > 0 || errno == EIO);
				close(fd);
			} else {
				CHECK(errno == EIO);
			}
			beats[1]++;
		}
	}
	for (int round = 0; round < 3; round++) {
		pid_t old = find_ramfs(), new = 0;
		int fd = open("/tmp/mine", O_RDWR | O_CREAT, 0600);
		char c;

		CHECK(old > 1 && fd >= 0);
		sleep_ms(100);
		CHECK(kill(old, SIGKILL) == 0);
		before = beats[0];
		for (int i = 0; i < 500 && (!new || new == old); i++) {
			sleep_ms(20);
			new = find_ramfs();
		}
		CHECK(new &&new != old);
		for (int i = 0; i < 500 && beats[0] == before; i++)
			sleep_ms(20);
		CHECK(beats[0] > before);
		CHECK_ERR(read(fd, &c, 1), EIO);
		close(fd);
		for (int i = 0; i < 250; i++) {
			fd = open("/tmp/after", O_RDWR | O_CREAT, 0600);
			if (fd >= 0)
				break;
			CHECK(errno == EIO);
			sleep_ms(20);
		}
		CHECK(fd >= 0 && write(fd, "x", 1) == 1);
		close(fd);
		CHECK_ERR(open("/tmp/mine", O_RDONLY), ENOENT);
	}
	CHECK(waitpid(-1, NULL, WNOHANG) == 0); /* nobody of ours has ended */
	for (int c = 0; c < CLIENTS; c++)
		end(client[c]);
	end(bystander);
	CHECK(beats[1] > 0);
}

static const struct test tests[] = {
	T(an_honest_server_works),
	T(mount_wants_its_arguments),
	T(liars_are_cut_off),
	T(lies_about_contents),
	T(lies_about_listings),
	T(babblers_do_no_harm),
	T(clients_of_a_hanging_server_can_be_killed),
	T(a_dying_server_frees_all_who_wait),
	T(ramfs_killed_under_load_comes_back),
};

TEST_MAIN

/* SPDX-License-Identifier: MIT
 *
 * Tests of text nodes and of /proc as seen by a kernel task.
 */
#include "lib/format.h"
#include "lib/string.h"
#include "selftest/selftest.h"
#include "sys/node.h"

static unsigned lines = 1, stored;

static int show_lines(struct strbuf *sb, u64 arg)
{
	for (unsigned i = 0; i < lines; i++)
		sb_printf(sb, "%llu:%04u\n", (unsigned long long)arg, i);
	return 0;
}

static int show_error(struct strbuf *sb, u64 arg)
{
	(void)sb, (void)arg;
	return -ESRCH;
}

static int store_number(const char *text, size_t n, u64 arg)
{
	(void)arg;
	stored = (unsigned)n;
	return strcmp(text, "good") ? -EINVAL : 0;
}

static const struct text_desc read_desc = {"read", 0444, show_lines, NULL};
static const struct text_desc both_desc = {"both", 0644, show_lines, store_number};
static const struct text_desc write_desc = {"write", 0200, NULL, store_number};
static const struct text_desc error_desc = {"error", 0444, show_error, NULL};

static struct node *find(const struct text_desc *d)
{
	struct node *top = node_add_dir(node_root, ".selftest"),
		    *dir = top ? node_add_dir(top, "text") : NULL;
	struct node *n = dir ? node_child(dir, d->name, strlen(d->name)) : NULL;

	if (dir && !n && !text_add(dir, d, 7))
		n = node_child(dir, d->name, strlen(d->name));
	return n;
}

SELFTEST(text_snapshot)
{
	struct node *n = find(&read_desc);
	struct file *f;
	char buf[64];
	u64 total = 0;
	s64 got;

	lines = 2;
	if (!EXPECT(n) || !EXPECT_EQ(node_open(n, O_RDONLY, &f), 0))
		return;
	lines = 50; /* too late for this file */
	EXPECT_EQ(f->ops->read(f, buf, 5, &f->pos), 5);
	EXPECT_EQ(f->ops->read(f, buf + 5, sizeof(buf) - 6, &f->pos), 9);
	buf[14] = '\0';
	EXPECT(!strcmp(buf, "7:0000\n7:0001\n"));
	EXPECT_EQ(f->ops->read(f, buf, sizeof(buf), &f->pos), 0);
	EXPECT_EQ(f->ops->seek(f, 7, 0), 7);
	EXPECT_EQ(f->ops->read(f, buf, sizeof(buf), &f->pos), 7);
	EXPECT_EQ(f->ops->seek(f, -1, 0), -EINVAL);
	file_put(f);
	lines = 20000; /* 140,000 bytes: several rounds of larger buffers */
	if (!EXPECT_EQ(node_open(n, O_RDONLY, &f), 0))
		return;
	while ((got = f->ops->read(f, buf, sizeof(buf), &f->pos)) > 0)
		total += (u64)got;
	EXPECT_EQ(total, 10000 * 7 + 10000 * 8);
	file_put(f);
	lines = 200000; /* more than a text node may hold: whole lines, and the word that some are missing */
	if (!EXPECT_EQ(node_open(n, O_RDONLY, &f), 0))
		return;
	for (total = 0; (got = f->ops->read(f, buf, sizeof(buf), &f->pos)) > 0;)
		total += (u64)got;
	EXPECT(total > (1 << 20) - 32 && total < 1 << 20);
	EXPECT_EQ(f->ops->seek(f, (s64)total - 20, 0), (s64)total - 20);
	EXPECT_EQ(f->ops->read(f, buf, 20, &f->pos), 20);
	EXPECT(!strncmp(buf, "\ncut: there is more\n", 20));
	file_put(f);
}

SELFTEST(text_store)
{
	struct node *read = find(&read_desc), *both = find(&both_desc), *write = find(&write_desc),
		    *error = find(&error_desc);
	struct file *f;
	char big[300] = {0};

	if (!EXPECT(read && both && write && error))
		return;
	lines = 1;
	EXPECT_EQ(node_open(read, O_WRONLY, &f), -EACCES);
	EXPECT_EQ(node_open(write, O_RDONLY, &f), -EACCES);
	EXPECT_EQ(node_open(error, O_RDONLY, &f), -ESRCH);
	if (!EXPECT_EQ(node_open(both, O_RDWR, &f), 0))
		return;
	EXPECT_EQ(f->ops->write(f, "good", 4, &f->pos), 4);
	EXPECT_EQ(stored, 4);
	EXPECT_EQ(f->ops->write(f, "bad", 3, &f->pos), -EINVAL);
	EXPECT_EQ(f->ops->write(f, big, sizeof(big), &f->pos), -EINVAL);
	file_put(f);
}

/* Read the beginning of file @path. */
static s64 read_file(const char *path, char *buf, size_t size)
{
	struct file *f;
	struct node *n;
	s64 ret = node_walk(node_root, path, WALK_FOLLOW, &n, NULL);

	if (ret)
		return ret;
	ret = node_open(n, O_RDONLY, &f);
	node_put(n);
	if (ret)
		return ret;
	ret = f->ops->read(f, buf, size - 1, &f->pos);
	buf[ret > 0 ? ret : 0] = '\0';
	file_put(f);
	return ret;
}

SELFTEST(proc_texts)
{
	static const struct {
		const char *path, *begins;
	} files[] = {
		{"/proc/meminfo", "MemTotal: "},
		{"/proc/stat", "cpu  "},
		{"/proc/version", "Linux version "},
		{"/proc/cpuinfo", "processor\t: 0\n"},
		{"/proc/sched", "policy="},
		{"/proc/uptime", ""},
		{"/proc/loadavg", ""},
		{"/proc/interrupts", "    "},
		{"/sys/sched/queues", "cpu 0: tasks "},
		{"/sys/sched/watch", "watched: switches "},
		{"/sys/devices/system/cpu/online", "0"},
		{"/proc/sys/kernel/ostype", "Linux\n"},
	};
	char buf[128];
	struct node *n;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		bool good = EXPECT(read_file(files[i].path, buf, sizeof(buf)) > 0);

		good = good && EXPECT(!strncmp(buf, files[i].begins, strlen(files[i].begins)));
		if (!good)
			selftest_note("%s: %s", files[i].path, buf);
	}
	/* A kernel task is no process; ids that nobody has, and what only looks like one. */
	EXPECT_EQ(node_walk(node_root, "/proc/self", 0, &n, NULL), 0);
	EXPECT_EQ(node_walk(node_root, "/proc/self/stat", 0, &n, NULL), -ENOENT);
	EXPECT_EQ(node_walk(node_root, "/proc/2147483647", 0, &n, NULL), -ENOENT);
	EXPECT_EQ(node_walk(node_root, "/proc/99999999999999999999", 0, &n, NULL), -ENOENT);
	EXPECT_EQ(node_walk(node_root, "/proc/-1", 0, &n, NULL), -ENOENT);
	EXPECT_EQ(node_walk(node_root, "/proc/01", 0, &n, NULL), -ENOENT);
}

/* SPDX-License-Identifier: MIT
 *
 * Tests of the node tree: archives good, cut off and damaged; the walk along paths.
 *
 * Permanent nodes are never freed, so every test unpacks below a directory of its own, found again by the next run.
 */
#include "lib/format.h"
#include "lib/string.h"
#include "selftest/selftest.h"
#include "sys/node.h"

#define ARCHIVE_MAX 8192u

struct builder {
	u8 buf[ARCHIVE_MAX];
	size_t len;
};

static void add(struct builder *b, const char *path, u32 mode, const void *data, size_t size)
{
	size_t name_size = strlen(path) + 1;

	b->len += (size_t)ksnprintf((char *)b->buf + b->len, ARCHIVE_MAX - b->len,
				    "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x", 1,
				    mode, 0, 0, 1, 1234567, (unsigned)size, 0, 0, 0, 0,
				    (unsigned)name_size, 0);
	memcpy(b->buf + b->len, path, name_size);
	b->len = ALIGN_UP(b->len + name_size, (size_t)4);
	memcpy(b->buf + b->len, data, size);
	b->len = ALIGN_UP(b->len + size, (size_t)4);
}

static void add_text(struct builder *b, const char *path, const char *text)
{
	add(b, path, S_IFREG | 0644, text, strlen(text));
}

static void add_link(struct builder *b, const char *path, const char *target)
{
	add(b, path, S_IFLNK | 0777, target, strlen(target));
}

/* A builder (kept for good once it was unpacked: nodes point into it). */
static struct builder *new_builder(void)
{
	return kzalloc(sizeof(struct builder));
}

static struct node *test_dir(const char *name)
{
	struct node *top = node_add_dir(node_root, ".selftest");

	return top ? node_add_dir(top, name) : NULL;
}

/* The archive that the tests of good and damaged input share. */
static struct builder *sample(void)
{
	struct builder *b = new_builder();

	if (!b)
		return NULL;
	add(b, ".", S_IFDIR | 0755, "", 0);
	add(b, "bin", S_IFDIR | 0711, "", 0);
	add_text(b, "bin/tool", "old text");
	add_text(b, "./deep/er/file", "0123456789");
	add_link(b, "bin/alias", "tool");
	add_text(b, "/bin/tool", "new text, longer");
	add(b, "TRAILER!!!", 0, "", 0);
	return b;
}

/* Read a whole file below @dir as text. Return: length or error. */
static s64 read_text(struct node *dir, const char *path, char *buf, size_t size)
{
	struct file *f;
	struct node *n;
	s64 ret = node_walk(dir, path, WALK_FOLLOW, &n, NULL);

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

SELFTEST(archive_good)
{
	struct builder *b = sample();
	struct node *dir = test_dir("good"), *n;
	char text[32];

	if (!EXPECT(b && dir))
		return;
	EXPECT_EQ(archive_unpack(dir, b->buf, b->len, "selftest"), 6);
	EXPECT_EQ(read_text(dir, "bin/tool", text, sizeof(text)), 16);
	EXPECT(!strcmp(text, "new text, longer"));
	EXPECT_EQ(read_text(dir, "bin/alias", text, sizeof(text)), 16);
	EXPECT_EQ(read_text(dir, "deep/er/file", text, sizeof(text)), 10);
	EXPECT(!strcmp(text, "0123456789"));
	if (EXPECT_EQ(node_walk(dir, "bin", 0, &n, NULL), 0)) {
		EXPECT_EQ(n->mode, S_IFDIR | 0711);
		EXPECT_EQ(n->mtime, 1234567);
	}
	/* Unpacked again, the same tree: replaced, not doubled. */
	EXPECT_EQ(archive_unpack(dir, b->buf, b->len, "selftest"), 6);
	EXPECT(node_child(dir, "bin", 3) == n);
}

/* Pages of a file that does not lie on a page boundary are copies, filled up with zeroes. */
SELFTEST(archive_map_unaligned)
{
	struct builder *b = sample();
	struct node *dir = test_dir("map"), *n;
	u64 phys, valid;
	bool device;

	if (!EXPECT(b && dir))
		return;
	archive_unpack(dir, b->buf, b->len, NULL);
	if (!EXPECT_EQ(node_walk(dir, "deep/er/file", 0, &n, NULL), 0))
		return;
	if (!EXPECT_EQ(n->object.ops->page(&n->object, 0, &phys, &device, &valid), 0))
		return;
	if ((u64)n->data % PAGE_SIZE) {
		EXPECT(!device);
		EXPECT(!memcmp(phys_to_virt(phys), "0123456789\0\0", 12));
		page_put(phys);
	}
	EXPECT_EQ(n->object.ops->page(&n->object, PAGE_SIZE, &phys, &device, &valid), -EFAULT);
}

SELFTEST(archive_cut_off)
{
	struct builder *b = sample();
	struct node *dir = test_dir("cut");

	if (!EXPECT(b && dir))
		return;
	for (size_t len = 0; len < b->len; len++) {
		/* Without its trailer the archive is incomplete, wherever it ends; the trailer's padding may miss. */
		s64 count = archive_unpack(dir, b->buf, len, NULL);

		if (len < b->len - 4 && !EXPECT_EQ(count, -EINVAL)) {
			selftest_note("cut at %llu", (unsigned long long)len);
			return;
		}
	}
}

SELFTEST(archive_bad_entries)
{
	static const struct {
		const char *path;
		u32 mode;
		const char *data;
	} bad[] = {
		{"a/../../escape", S_IFREG | 0644, "x"}, /* out of the tree */
		{"dev0", S_IFCHR | 0644, ""},
		{"empty_link", S_IFLNK | 0777, ""},
		{"", S_IFREG | 0644, "x"},
		{"file/below", S_IFREG | 0644, "x"}, /* below a file */
		{"dir", S_IFREG | 0644, "x"},	     /* a file in a directory's place */
	};
	struct node *dir = test_dir("bad");

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct builder *b = new_builder();

		if (!EXPECT(b && dir))
			return;
		add_text(b, "file", "text");
		add(b, "dir", S_IFDIR | 0755, "", 0);
		add(b, bad[i].path, bad[i].mode, bad[i].data, strlen(bad[i].data));
		add(b, "TRAILER!!!", 0, "", 0);
		if (!EXPECT_EQ(archive_unpack(dir, b->buf, b->len, NULL), -EINVAL))
			selftest_note("entry %llu: %s", (unsigned long long)i, bad[i].path);
	}
	EXPECT(!node_child(dir, "escape", 6));
}

/* Damage the archive at random (repeatably) and see that whatever is accepted can be read. */
SELFTEST(archive_damaged)
{
	struct node *dir = test_dir("damaged");
	u64 seed = 20030615;
	unsigned accepted = 0;
	char text[32];

	for (unsigned round = 0; round < 300; round++) {
		struct builder *b = sample();

		if (!EXPECT(b && dir))
			return;
		for (unsigned hit = 0; hit <= round % 4; hit++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			/* Half of the damage is digits, so that it gets past the check for hexadecimal fields. */
			b->buf[(seed >> 20) % b->len] = seed & (1ull << 60)
								? (u8)(seed >> 50)
								: "0123456789abcdef"[seed >> 60];
		}
		if (archive_unpack(dir, b->buf, b->len, NULL) < 0)
			continue;
		accepted++;
		EXPECT(read_text(dir, "bin/tool", text, sizeof(text)) <= (s64)sizeof(text));
	}
	selftest_note("%u of 300 damaged archives read to their end", accepted);
	EXPECT(accepted > 0 && accepted < 300);
}

/* ---- paths ---- */

static struct node *walk_dir(void)
{
	struct node *dir = test_dir("walk");
	struct builder *b = new_builder();
	char from[8], to[8];

	if (!b || !dir)
		return NULL;
	add_text(b, "a/b/file", "x");
	add_link(b, "a/up", "../a/b");
	add_link(b, "a/loop1", "loop2");
	add_link(b, "a/loop2", "loop1");
	add_link(b, "a/nowhere", "missing");
	add_link(b, "a/abs", "/.selftest/walk/a");
	/* l1 -> l2 -> ... -> l41 -> a: from l1 that is 41 links, one more than allowed */
	for (unsigned i = 1; i <= LINKS_MAX + 1; i++) {
		ksnprintf(from, sizeof(from), "l%u", i);
		ksnprintf(to, sizeof(to), "l%u", i + 1);
		add_link(b, from, i == LINKS_MAX + 1 ? "a" : to);
	}
	add(b, "TRAILER!!!", 0, "", 0);
	EXPECT(b->len < ARCHIVE_MAX);
	return archive_unpack(dir, b->buf, b->len, "selftest") > 0 ? dir : NULL;
}

SELFTEST(path_walk)
{
	static const struct {
		const char *path;
		unsigned flags;
		int result;
		const char *where; /* absolute path reached */
	} cases[] = {
		{"a/b/file", 0, 0, "/.selftest/walk/a/b/file"},
		{"a//b/./../b/file", 0, 0, "/.selftest/walk/a/b/file"},
		{"a/b/", 0, 0, "/.selftest/walk/a/b"},
		{"a/b/file/", 0, -ENOTDIR, NULL},
		{"a/b/file/x", 0, -ENOTDIR, NULL},
		{"a/missing", 0, -ENOENT, NULL},
		{"", 0, -ENOENT, NULL},
		{"a/up", 0, 0, "/.selftest/walk/a/up"},
		{"a/up", WALK_FOLLOW, 0, "/.selftest/walk/a/b"},
		{"a/up/", 0, 0, "/.selftest/walk/a/b"},
		{"a/up/file", 0, 0, "/.selftest/walk/a/b/file"},
		{"a/up/../up/../up/file", 0, 0, "/.selftest/walk/a/b/file"},
		{"a/abs/abs/up/file", 0, 0, "/.selftest/walk/a/b/file"},
		{"a/loop1", 0, 0, "/.selftest/walk/a/loop1"},
		{"a/loop1", WALK_FOLLOW, -ELOOP, NULL},
		{"a/loop1/x", 0, -ELOOP, NULL},
		{"a/nowhere", WALK_FOLLOW, -ENOENT, NULL},
		{"l2", WALK_FOLLOW, 0, "/.selftest/walk/a"},
		{"l2/b/file", 0, 0, "/.selftest/walk/a/b/file"},
		{"l1", WALK_FOLLOW, -ELOOP, NULL},
		{"/", 0, 0, "/"},
		{"/../..", 0, 0, "/"},
		{"../walk/a", 0, 0, "/.selftest/walk/a"},
	};
	struct node *dir = walk_dir(), *n;
	char where[64];

	if (!EXPECT(dir))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int err = node_walk(dir, cases[i].path, cases[i].flags, &n, NULL);
		bool good = EXPECT_EQ(err, cases[i].result);

		if (!err && cases[i].where)
			good &= EXPECT(node_path(n, where, sizeof(where)) > 0 &&
				       !strcmp(where, cases[i].where));
		if (!err)
			node_put(n);
		if (!good)
			selftest_note("case %llu: %s", (unsigned long long)i, cases[i].path);
	}
}

SELFTEST(path_limits)
{
	struct node *dir = walk_dir(), *n;
	char *path = kmalloc(2 * PATH_MAX);
	bool absent;

	if (!EXPECT(dir && path))
		return;
	memset(path, 'x', NAME_MAX + 1);
	path[NAME_MAX + 1] = '\0';
	EXPECT_EQ(node_walk(dir, path, 0, &n, NULL), -ENAMETOOLONG);
	path[NAME_MAX] = '\0';
	EXPECT_EQ(node_walk(dir, path, 0, &n, &absent), -ENOENT);
	EXPECT(absent);
	/* "a/../a/../a..." up to the limit, and one more */
	for (unsigned i = 0; i < PATH_MAX; i++)
		path[i] = "a/../"[i % 5];
	path[PATH_MAX - 1] = '\0';
	EXPECT_EQ(node_walk(dir, path, 0, &n, NULL), 0);
	path[PATH_MAX - 1] = '.';
	path[PATH_MAX] = '\0';
	EXPECT_EQ(node_walk(dir, path, 0, &n, NULL), -ENAMETOOLONG);
	/* What a link adds counts too. */
	str_copy(path, "a/up/", PATH_MAX);
	memset(path + 5, '/', PATH_MAX - 6);
	path[PATH_MAX - 1] = '\0';
	EXPECT_EQ(node_walk(dir, path, 0, &n, NULL), -ENAMETOOLONG);
	EXPECT_EQ(node_walk(dir, "a/missing/", 0, &n, &absent), -ENOENT);
	EXPECT(absent);
	EXPECT_EQ(node_walk(dir, "a/missing/x", 0, &n, &absent), -ENOENT);
	EXPECT(!absent);
	kfree(path, 2 * PATH_MAX);
}

SELFTEST(node_open_modes)
{
	struct node *dir = walk_dir(), *file, *link;
	struct file *f;

	if (!EXPECT(dir) || !EXPECT_EQ(node_walk(dir, "a/b/file", 0, &file, NULL), 0) ||
	    !EXPECT_EQ(node_walk(dir, "a/up", 0, &link, NULL), 0))
		return;
	EXPECT_EQ(node_open(file, O_WRONLY, &f), -EROFS);
	EXPECT_EQ(node_open(file, O_RDWR, &f), -EROFS);
	EXPECT_EQ(node_open(file, O_DIRECTORY, &f), -ENOTDIR);
	EXPECT_EQ(node_open(dir, O_RDWR, &f), -EISDIR);
	EXPECT_EQ(node_open(link, O_RDONLY, &f), -ELOOP);
	if (EXPECT_EQ(node_open(dir, O_RDONLY | O_DIRECTORY, &f), 0))
		file_put(f);
	if (EXPECT_EQ(node_open(link, O_PATH, &f), 0)) {
		EXPECT(!f->ops->read);
		file_put(f);
	}
}

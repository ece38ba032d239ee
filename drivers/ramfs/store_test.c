// SPDX-License-Identifier: MIT
/*
 * Host test of the tree of ramfs: what it answers to plain requests, that memory is bounded and comes back, and that no request,
 * however wrong, does harm (run under ASan and UBSan).
 *
 * usage: store_test [SECONDS [SEED]]: how long to fuzz, default 2
 */
#include "store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DIRECTORY 0040755u
#define REGULAR	  0100644u
#define LINK	  0120777u
#define FIDS	  40u /* that the fuzzer uses */

static struct store *store;
static unsigned char request[FS_MESSAGE], answer[FS_MESSAGE];
static struct fs_message *const q = (struct fs_message *)request;
static struct fs_message *const a = (struct fs_message *)answer;
static char *const sent = (char *)request + sizeof(struct fs_message);
static char *const got = (char *)answer + sizeof(struct fs_message);
static int failures;

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #cond); \
			failures++;                                            \
		}                                                              \
	} while (0)

/* Ask; the errno that comes back. */
static unsigned ask(unsigned type, uint64_t fid, uint64_t arg, const void *data, size_t len)
{
	size_t n;

	q->size = (unsigned)(sizeof(*q) + len);
	q->type = (unsigned short)type;
	q->tag = 7;
	q->fid = fid;
	q->arg = arg;
	memcpy(sent, data, len);
	n = store_serve(store, request, q->size, 1000, answer);
	CHECK(n == a->size && n >= sizeof(*a) && a->tag == 7 && a->type == type);
	return a->error;
}

static unsigned create(uint64_t dir, uint64_t fid, const char *name, unsigned mode)
{
	q->mode = mode;
	return ask(FS_CREATE, dir, fid, name, strlen(name));
}

static unsigned walk(uint64_t dir, uint64_t fid, const char *name)
{
	return ask(FS_WALK, dir, fid, name, strlen(name));
}

static void clunk(uint64_t fid)
{
	q->size = sizeof(*q);
	q->type = FS_CLUNK;
	q->fid = fid;
	CHECK(store_serve(store, request, q->size, 0, answer) == 0);
}

static unsigned read_from(uint64_t fid, uint64_t offset, unsigned count)
{
	q->count = count;
	return ask(FS_READ, fid, offset, "", 0);
}

static void begin(uint64_t limit)
{
	memset(request, 0, sizeof(request));
	store = store_new(limit);
	CHECK(store);
}

static void test_files(void)
{
	struct fs_attr attr;

	begin(1 << 20);
	CHECK(ask(FS_ATTACH, FS_ROOT, 0, "", 0) == 0);
	CHECK(create(FS_ROOT, 2, "f", REGULAR) == 0);
	CHECK(create(FS_ROOT, 3, "f", REGULAR) == EEXIST);
	CHECK(create(FS_ROOT, 2, "g", REGULAR) == EINVAL); /* the fid is taken */
	CHECK(create(2, 3, "g", REGULAR) == ENOTDIR);
	CHECK(create(FS_ROOT, 3, "..", REGULAR) == EINVAL);
	CHECK(create(FS_ROOT, 3, "a/b", REGULAR) == EINVAL);
	CHECK(create(FS_ROOT, 3, "", REGULAR) == EINVAL);
	CHECK(create(FS_ROOT, 3, "p", 0010644) == EINVAL);
	q->flags = 0;
	CHECK(ask(FS_WRITE, 2, 10, "hello", 5) == 0 && a->count == 5 && a->arg == 15);
	q->flags = FS_APPEND;
	CHECK(ask(FS_WRITE, 2, 0, "!", 1) == 0 && a->arg == 16);
	q->flags = 0;
	CHECK(read_from(2, 8, 100) == 0 && a->size == sizeof(*a) + 8 &&
	      !memcmp(got, "\0\0hello!", 8));
	CHECK(read_from(2, 16, 100) == 0 && a->size == sizeof(*a));
	CHECK(read_from(2, ~0ull, 100) == 0 && a->size == sizeof(*a));
	CHECK(read_from(FS_ROOT, 0, 100) == EISDIR);
	CHECK(ask(FS_WRITE, 2, ~0ull, "x", 1) == EFBIG);
	CHECK(read_from(99, 0, 1) == EBADF);
	CHECK(walk(FS_ROOT, 3, "f") == 0);
	memcpy(&attr, got, sizeof(attr));
	CHECK(attr.size == 16 && attr.mode == REGULAR && attr.links == 1);
	CHECK(walk(FS_ROOT, 4, "none") == ENOENT);
	clunk(4);
	/* Removed, but two fids hold it. */
	CHECK(ask(FS_REMOVE, FS_ROOT, 0, "f", 1) == 0);
	clunk(2);
	CHECK(read_from(3, 10, 5) == 0 && !memcmp(got, "hello", 5));
	clunk(3);
	CHECK(read_from(3, 10, 5) == EBADF);
	store_free(store);
}

static void test_directories(void)
{
	struct fs_attr attr = {.size = 3};

	begin(1 << 20);
	CHECK(create(FS_ROOT, 2, "d", DIRECTORY) == 0);
	CHECK(create(2, 3, "e", DIRECTORY) == 0);
	CHECK(create(3, 4, "f", REGULAR) == 0);
	q->flags = FS_REMOVEDIR;
	CHECK(ask(FS_REMOVE, FS_ROOT, 0, "d", 1) == ENOTEMPTY);
	CHECK(ask(FS_REMOVE, 3, 0, "f", 1) == ENOTDIR);
	q->flags = 0;
	CHECK(ask(FS_REMOVE, FS_ROOT, 0, "d", 1) == EISDIR);
	CHECK(ask(FS_RENAME, FS_ROOT, 3, "d\0x", 3) == EINVAL); /* into itself */
	CHECK(ask(FS_RENAME, FS_ROOT, 2, "d\0x", 3) == EINVAL);
	CHECK(ask(FS_RENAME, 3, FS_ROOT, "f\0f", 3) == 0);
	CHECK(ask(FS_RENAME, FS_ROOT, FS_ROOT, "f\0d", 3) == EISDIR);
	CHECK(ask(FS_RENAME, FS_ROOT, FS_ROOT, "d\0f", 3) == ENOTDIR);
	CHECK(ask(FS_RENAME, FS_ROOT, FS_ROOT, "f", 1) == EINVAL);
	CHECK(ask(FS_RENAME, FS_ROOT, 99, "f\0x", 3) == EBADF);
	q->flags = FS_SET_SIZE;
	CHECK(ask(FS_SET, 3, 0, &attr, sizeof(attr)) == EISDIR);
	CHECK(ask(FS_SET, 4, 0, &attr, sizeof(attr)) == 0);
	CHECK(ask(FS_SET, 4, 0, &attr, 5) == EINVAL);
	q->flags = FS_REMOVEDIR;
	CHECK(ask(FS_REMOVE, 2, 0, "e", 1) == 0);
	/* Fid 3 still holds the removed directory: nothing can be made in it. */
	CHECK(create(3, 9, "late", REGULAR) == ENOENT);
	CHECK(ask(FS_RENAME, FS_ROOT, 3, "f\0late", 6) == ENOENT);
	q->mode = LINK;
	CHECK(ask(FS_CREATE, FS_ROOT, 9, "l\0to/where", 10) == 0);
	CHECK(read_from(9, 0, 100) == 0 && a->size == sizeof(*a) + 8 &&
	      !memcmp(got, "to/where", 8));
	CHECK(ask(FS_CREATE, FS_ROOT, 10, "m", 1) == EINVAL); /* a link to nowhere */
	store_free(store);
}

/* A listing in pieces, with entries that go meanwhile. */
static void test_listing(void)
{
	uint64_t pos = 0;
	char name[16];
	int seen = 0;

	begin(1 << 20);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		CHECK(create(FS_ROOT, 10 + (unsigned)i, name, REGULAR) == 0);
		clunk(10 + (unsigned)i);
	}
	for (;;) {
		struct fs_entry e;

		q->count = 100;
		CHECK(ask(FS_LIST, FS_ROOT, pos, "", 0) == 0);
		if (a->size == sizeof(*a))
			break;
		CHECK(a->size <= sizeof(*a) + 100);
		memcpy(&e, got, sizeof(e));
		memcpy(name, got + sizeof(e), e.len);
		pos = e.next;
		q->flags = 0;
		CHECK(ask(FS_REMOVE, FS_ROOT, 0, name, e.len) == 0);
		seen++;
	}
	CHECK(seen == 100);
	CHECK(store_fids(store) == 1);
	store_free(store);
}

static void test_limit(void)
{
	static char block[FS_PAYLOAD];
	uint64_t empty, at = 0;
	unsigned err = 0;

	begin(1 << 20);
	empty = store_used(store);
	CHECK(create(FS_ROOT, 2, "f", REGULAR) == 0);
	q->flags = 0;
	while (!err) {
		err = ask(FS_WRITE, 2, at, block, sizeof(block));
		at += err ? 0 : a->count;
		CHECK(store_used(store) <= 1 << 20);
	}
	CHECK(err == ENOSPC && at > 900000);
	/* Names need memory too. */
	for (unsigned i = 3; !err && i < 1000000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%u", i);
		err = create(FS_ROOT, i, name, REGULAR);
	}
	CHECK(err == ENOSPC);
	/* Far beyond the end: the table alone is too large. */
	CHECK(ask(FS_WRITE, 2, 1ull << 39, "x", 1) == ENOSPC);
	CHECK(ask(FS_REMOVE, FS_ROOT, 0, "f", 1) == 0);
	clunk(2);
	CHECK(store_used(store) == empty);
	CHECK(create(FS_ROOT, 2, "again", REGULAR) == 0);
	CHECK(ask(FS_WRITE, 2, 0, block, sizeof(block)) == 0);
	store_free(store);
}

static uint64_t state;

static uint32_t rnd(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33);
}

/* Requests that are nearly right, over few fids and names so that they meet; then everything is given up and nothing may be left. */
static void fuzz(double seconds, uint64_t seed)
{
	static const uint64_t odd[] = {0, 1, ~0ull, 1ull << 63, 1ull << 40, 4095, 4096, 4097};
	clock_t end = clock() + (clock_t)(seconds * CLOCKS_PER_SEC);
	unsigned long done = 0, good = 0;
	uint64_t empty;

	state = seed;
	begin(4 << 20);
	empty = store_used(store);
	while (clock() < end) {
		for (int k = 0; k < 1000; k++, done++) {
			static const unsigned char often[] = {FS_WALK, FS_CREATE, FS_WRITE,
							      FS_READ, FS_RENAME, FS_REMOVE,
							      FS_SET,  FS_LIST};
			size_t len = rnd() % 4 ? 1 + rnd() % 3 : rnd() % (FS_PAYLOAD + 1), n;

			q->type = rnd() % 3 ? often[rnd() % sizeof(often)]
					    : (unsigned short)(rnd() % 50 ? rnd() % 14 : rnd());
			if (q->type == FS_SET && rnd() % 4)
				len = sizeof(struct fs_attr);
			for (size_t i = 0; i < len && i < 64; i++)
				sent[i] = rnd() % 8 ? "ab"[rnd() % 2] : "\0/.\377"[rnd() % 4];
			if (q->type == FS_RENAME && len > 2)
				sent[1] = '\0';
			if (q->type == FS_SET) /* sizes near each other, rarely absurd */
				memset(sent + 8 + (rnd() % 8 ? 3 : 7), 0, 5);
			q->size = (unsigned)(sizeof(*q) + len);
			q->fid = rnd() % 3 ? 1 + rnd() % FIDS : FS_ROOT;
			q->arg = rnd() % 3 ? 1 + rnd() % FIDS : odd[rnd() % 8];
			q->count = rnd() % 3 ? rnd() % 5000 : rnd();
			q->mode = rnd() % 8
					  ? (const unsigned[]){DIRECTORY, REGULAR, LINK}[rnd() % 3]
					  : rnd();
			q->flags = rnd() % 8;
			n = q->size;
			if (rnd() % 100 == 0)
				q->size = rnd() % 10000; /* does not hold together */
			n = store_serve(store, request, n, done & 0xffff, answer);
			if (n) {
				CHECK(n == a->size && n >= sizeof(*a) && n <= FS_MESSAGE);
				CHECK(a->error <= 133);
				good += !a->error;
			}
			CHECK(store_used(store) <= 4 << 20 && store_fids(store) <= FIDS + 8);
		}
		if (failures)
			break;
	}
	CHECK(good > done / 10); /* or the requests were only nonsense */
	CHECK(empty > 0);
	store_free(store);
	printf("ramfs store: %lu requests, %lu of them carried out\n", done, good);
}

int main(int argc, char **argv)
{
	test_files();
	test_directories();
	test_listing();
	test_limit();
	fuzz(argc > 1 ? atof(argv[1]) : 2, argc > 2 ? strtoull(argv[2], NULL, 0) : 1);
	printf("ramfs store: %s\n", failures ? "FAILED" : "ok");
	return failures != 0;
}

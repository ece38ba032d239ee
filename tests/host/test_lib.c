/* SPDX-License-Identifier: MIT
 *
 * Tests of kernel/lib: lists, bitmaps, CPU masks, strings, formatting. The kernel's string functions are compiled under
 * other names (host.mk) and compared with what the C standard says, and formatting with the host's snprintf.
 */
#include "lib/bitmap.h"
#include "lib/format.h"
#include "lib/list.h"
#include "lib/string.h"

/* Declared by hand: the host's headers would declare the string functions a second time, under their new names. */
int printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
int snprintf(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static unsigned tests, failed, bad;

#define CHECK(cond)                                                         \
	do {                                                                \
		if (!(cond) && bad++ < 10)                                  \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
	} while (0)
#define TEST(fn)                                                           \
	do {                                                               \
		bad = 0;                                                   \
		fn();                                                      \
		printf("%sok %u - %s\n", bad ? "not " : "", ++tests, #fn); \
		failed += bad != 0;                                        \
	} while (0)

static u64 rng = 88172645463325252ull;

static u64 rnd(u64 n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) % n;
}

/* ---------------------------------------------------------------- list */

struct node {
	int value;
	struct list link;
};

static int walk(struct list *head, int *out)
{
	struct node *n;
	int count = 0;

	list_for_each (n, head, link)
		out[count++] = n->value;
	/* and backwards it is the same list */
	{
		int back = count;

		for (struct list *l = head->prev; l != head; l = l->prev)
			CHECK(out[--back] == list_entry(l, struct node, link)->value);
		CHECK(back == 0);
	}
	return count;
}

static void lists(void)
{
	struct list a = LIST_INIT(a), b;
	struct node n[5], *p, *tmp;
	int out[8];

	list_init(&b);
	CHECK(list_empty(&a) && list_empty(&b));
	for (int i = 0; i < 5; i++)
		n[i].value = i;
	list_add_tail(&n[1].link, &a);
	list_add_tail(&n[2].link, &a);
	list_add(&n[0].link, &a);
	CHECK(walk(&a, out) == 3 && out[0] == 0 && out[1] == 1 && out[2] == 2);
	CHECK(list_first(&a, struct node, link) == &n[0] &&
	      list_last(&a, struct node, link) == &n[2]);
	list_add_tail(&n[3].link, &n[1].link); /* before a node */
	CHECK(walk(&a, out) == 4 && out[1] == 3 && out[2] == 1);
	list_del_init(&n[3].link);
	CHECK(list_empty(&n[3].link) && walk(&a, out) == 3);
	list_splice_tail_init(&b, &a); /* empty into full */
	CHECK(walk(&a, out) == 3);
	list_add(&n[4].link, &b);
	list_splice_tail_init(&a, &b);
	CHECK(list_empty(&a) && walk(&b, out) == 4 && out[0] == 4 && out[3] == 2);
	list_splice_tail_init(&b, &a); /* full into empty */
	CHECK(list_empty(&b) && walk(&a, out) == 4 && out[0] == 4);
	list_for_each_safe (p, tmp, &a, link) {
		list_del(&p->link);
		p->link.next = p->link.prev = NULL;
	}
	CHECK(list_empty(&a));
}

/* -------------------------------------------------------------- bitmap */

static void bitmaps(void)
{
	u64 map[BITMAP_WORDS(200)] = {0};
	bool model[200] = {false};

	CHECK(BITMAP_WORDS(64) == 1 && BITMAP_WORDS(65) == 2 && BITMAP_WORDS(1) == 1);
	CHECK(bit_find_first(map, 200) == 200);
	for (int i = 0; i < 20000; i++) {
		unsigned bit = (unsigned)rnd(200), from = (unsigned)rnd(210), next;

		if (rnd(3)) {
			bit_clear(map, bit);
			model[bit] = false;
		} else {
			bit_set(map, bit);
			model[bit] = true;
		}
		CHECK(bit_test(map, bit) == model[bit]);
		for (next = from; next < 200 && !model[next]; next++)
			;
		CHECK(bit_find_next(map, 200, from) == (next < 200 ? next : 200));
	}
	/* a set bit beyond the size is not found */
	for (unsigned i = 0; i < ARRAY_SIZE(map); i++)
		map[i] = 0;
	map[1] = 1ull << 40;
	CHECK(bit_find_first(map, 100) == 100);
	CHECK(bit_find_first(map, 105) == 104);
}

static void cpumasks(void)
{
	struct cpumask a = {{0}}, b = {{0}}, c;
	unsigned cpu, n = 0, last = 0;

	CHECK(cpumask_empty(&a) && cpumask_first(&a) == MAX_CPUS);
	cpumask_set(&a, 0);
	cpumask_set(&a, 63);
	cpumask_set(&a, 64);
	cpumask_set(&a, 254);
	for_each_cpu_in(cpu, &a)
	{
		n++;
		last = cpu;
	}
	CHECK(n == 4 && last == 254);
	CHECK(!cpumask_and(&c, &a, &b));
	cpumask_set(&b, 64);
	cpumask_set(&b, 65);
	CHECK(cpumask_and(&c, &a, &b) && cpumask_first(&c) == 64 &&
	      cpumask_next(&c, 65) == MAX_CPUS);
	cpumask_clear(&a, 64);
	CHECK(!cpumask_test(&a, 64) && cpumask_test(&a, 63));
}

/* -------------------------------------------------------------- string */

static void memory_functions(void)
{
	u8 a[300], b[300], model[300];

	for (int i = 0; i < 3000; i++) {
		size_t n = rnd(100), from = rnd(150), to = rnd(150);

		for (unsigned j = 0; j < 300; j++)
			a[j] = b[j] = model[j] = (u8)rnd(256);
		CHECK(memmove(a + to, a + from, n) == a + to); /* may overlap, either way */
		for (size_t j = 0; j < n; j++)
			model[to + j] = b[from + j];
		for (unsigned j = 0; j < 300; j++)
			CHECK(a[j] == model[j]);
		CHECK(memset(a + to, 0x1a5, n) == a + to);
		for (unsigned j = 0; j < 300; j++)
			CHECK(a[j] == (j >= to && j < to + n ? 0xa5 : model[j]));
		CHECK(memcpy(a + to, b + from, n) == a + to);
		CHECK(memcmp(a + to, b + from, n) == 0);
		if (n) {
			a[to + n - 1] ^= 0x80;
			CHECK(memcmp(a + to, b + from, n) ==
				      (a[to + n - 1] > b[from + n - 1] ? 1 : -1) ||
			      (memcmp(a + to, b + from, n) > 0) ==
				      (a[to + n - 1] > b[from + n - 1]));
		}
	}
}

static void string_functions(void)
{
	char buf[4];
	const char *s = "abcabc";

	CHECK(strlen("") == 0 && strlen("abc") == 3);
	CHECK(strcmp("a", "a") == 0 && strcmp("a", "b") < 0 && strcmp("b", "a") > 0 &&
	      strcmp("a", "ab") < 0);
	CHECK(strcmp("\x80", "\x7f") > 0); /* as unsigned char */
	CHECK(strncmp("abc", "abd", 2) == 0 && strncmp("abc", "abd", 3) < 0 &&
	      strncmp("a", "a", 9) == 0);
	CHECK(strncmp("x", "y", 0) == 0);
	CHECK(strchr(s, 'b') == s + 1 && strrchr(s, 'b') == s + 4 && !strchr(s, 'x') &&
	      !strrchr(s, 'x'));
	CHECK(strchr(s, 0) == s + 6 && strrchr(s, 0) == s + 6);
	CHECK(strstr(s, "ca") == s + 2 && strstr(s, "") == s && !strstr(s, "cb") &&
	      !strstr("a", "ab"));
	CHECK(strstr("aaab", "aab") != NULL);
	CHECK(str_copy(buf, "abc", 4) && !strcmp(buf, "abc"));
	CHECK(!str_copy(buf, "abcd", 4) && !strcmp(buf, "abc"));
	CHECK(!str_copy(buf, "x", 1) && buf[0] == 0);
	CHECK(str_copy(buf, "", 1));
}

static void globs(void)
{
	CHECK(glob_match("*", "") && glob_match("*", "abc") && glob_match("", "") &&
	      !glob_match("", "a"));
	CHECK(glob_match("a*c", "abbc") && glob_match("a*c", "ac") && !glob_match("a*c", "ab"));
	CHECK(glob_match("?bc", "abc") && !glob_match("?bc", "bc") && !glob_match("?", ""));
	CHECK(glob_match("*ab*ab", "xabyabab") && !glob_match("*ab*ab", "xab"));
	CHECK(glob_match("pipe_*", "pipe_eof") && !glob_match("pipe_*", "pip"));
	CHECK(glob_match("**a**", "a") && glob_match("a*?", "ab") && !glob_match("a*?", "a"));
	/* many stars must not take exponential time */
	CHECK(!glob_match("a*a*a*a*a*a*a*a*a*a*b",
			  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
}

static void numbers(void)
{
	u64 v = 77;

	CHECK(parse_u64("0", &v) && v == 0);
	CHECK(parse_u64("18446744073709551615", &v) && v == ~0ull);
	CHECK(parse_u64("0xfFFFffffFFFFffff", &v) && v == ~0ull);
	CHECK(parse_u64("0x10", &v) && v == 16);
	CHECK(parse_u64("007", &v) && v == 7);
	v = 5;
	CHECK(!parse_u64("", &v) && !parse_u64("18446744073709551616", &v) &&
	      !parse_u64("0x10000000000000000", &v));
	CHECK(!parse_u64("12a", &v) && !parse_u64("-1", &v) && !parse_u64(" 1", &v) &&
	      !parse_u64("0x", &v) && !parse_u64("1 ", &v));
	CHECK(v == 5);
}

/* -------------------------------------------------------------- format */

#define SAME(...)                                                       \
	do {                                                            \
		char x_[200], y_[200];                                  \
		int n_ = ksnprintf(x_, sizeof(x_), __VA_ARGS__),        \
		    m_ = snprintf(y_, sizeof(y_), __VA_ARGS__);         \
		CHECK(n_ == m_);                                        \
		if (strcmp(x_, y_)) {                                   \
			printf("# \"%s\" instead of \"%s\"\n", x_, y_); \
			CHECK(!"formats alike");                        \
		}                                                       \
	} while (0)

static void formats(void)
{
	char buf[8];
	struct strbuf sb = {buf, sizeof(buf), 0};
	const char *volatile nothing = NULL;

	SAME("plain");
	SAME("%%|%c|%5c|%-5c|", 'x', 'y', 'z');
	SAME("%s|%10s|%-10s|%.2s|%5.1s|", "abc", "abc", "abc", "abc", "abc");
	SAME("%.*s|%*d|%-*d|", 2, "xyz", 6, 42, 6, 42);
	SAME("%d|%i|%5d|%-5d|%05d|%+d|%+d", 1, -1, 42, 42, 42, 7, -7);
	SAME("%d %d", (int)0x80000000, 0x7fffffff);
	SAME("%u|%x|%X|%08x|%10u|", 0xffffffffu, 0xabcdefu, 0xabcdefu, 0x12u, 5u);
	SAME("%ld %lu %lld %llu %zu", -1l, ~0ul, (long long)(1ull << 63), ~0ull, (size_t)12345);
	SAME("%lx %llx %016lx", 0xdeadbeefcafeul, ~0ull, 0x1234ul);
	SAME("%hd %hhd %hu %hhu", (short)-3, (signed char)-4, (unsigned short)65535,
	     (unsigned char)255);
	CHECK(ksnprintf(buf, sizeof(buf), "%p", (void *)0x1234) == 16 &&
	      !strcmp(buf, "0000000")); /* 16 digits */
	SAME("[%6d|%-6d|%06d]", -42, -42, -42);
	/* cut: NUL-terminated, and the full length returned */
	CHECK(ksnprintf(buf, 4, "%s", "abcdef") == 6 && !strcmp(buf, "abc"));
	CHECK(ksnprintf(buf, 1, "%d", 5) == 1 && buf[0] == 0);
	CHECK(ksnprintf(NULL, 0, "%d", 12345) == 5);
	sb_printf(&sb, "%d,", 12);
	sb_printf(&sb, "%d,", 345);
	CHECK(!strcmp(buf, "12,345,") && sb.len == 7);
	sb_printf(&sb, "more");
	CHECK(!strcmp(buf, "12,345,") && sb.len == 7);
	CHECK(ksnprintf(buf, sizeof(buf), "%s", nothing) > 0); /* no crash */
}

int main(void)
{
	TEST(lists);
	TEST(bitmaps);
	TEST(cpumasks);
	TEST(memory_functions);
	TEST(string_functions);
	TEST(globs);
	TEST(numbers);
	TEST(formats);
	printf("1..%u\n", tests);
	return failed != 0;
}

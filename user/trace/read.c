// SPDX-License-Identifier: MIT
/*
 * Reading: the bytes of /dev/trace, the rings merged by time, the table of tasks. See read.h.
 */
#include "trace/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/wl.h"

#define MAGIC	 0x3145434152544a4aull
#define VERSION	 1
#define PER_PAGE 102
#define BUCKETS	 1024

struct head {
	uint64_t magic;
	uint32_t version, cpus;
	uint64_t first;
	uint32_t mask, spare;
};

struct chunk {
	uint64_t number;
	uint32_t cpu, bytes;
};

_Static_assert(sizeof(struct record) == 40, "the kernel's record");
_Static_assert(PER_PAGE == (4096 - sizeof(struct chunk)) / sizeof(struct record),
	       "the kernel's page");

static void damaged(const char *why)
{
	fprintf(stderr, "trace: %s\n", why);
	exit(1);
}

static uint8_t *read_everything(int fd, size_t *size)
{
	size_t room = 1 << 20;
	uint8_t *data = malloc(room);

	*size = 0;
	while (data) {
		size_t n = wl_read_all(fd, data + *size, room - *size);

		*size += n;
		if (*size < room)
			return data;
		room *= 2;
		data = realloc(data, room);
	}
	wl_die("no memory for the records");
}

/* The order in a ring is what happened; records that read the clock a little late are set back to the one that follows. */
static void smooth(struct page *first, struct page *end)
{
	uint64_t bound = UINT64_MAX;

	for (struct page *p = end; p-- > first;)
		for (struct record *r = p->last; r-- > p->first;) {
			if (r->time > bound)
				r->time = bound;
			bound = r->time;
		}
}

void stream_open(struct stream *s, int fd)
{
	size_t size, n = 0, at = sizeof(struct head);
	uint8_t *data = read_everything(fd, &size);
	struct head *head = (struct head *)data;
	uint64_t expected;

	if (size < sizeof(*head) || head->magic != MAGIC)
		damaged("these are no records");
	if (head->version != VERSION || head->cpus > MAX_CPUS)
		damaged("records of another version");
	memset(s, 0, sizeof(*s));
	s->cpus = head->cpus;
	s->pages = calloc(size / sizeof(struct chunk) + 1, sizeof(*s->pages));
	if (!s->pages)
		wl_die("no memory for the records");
	expected = head->first + 1;
	/* The pages come CPU by CPU, each CPU's in order. */
	for (unsigned cpu = 0; cpu < s->cpus; cpu++) {
		s->at[cpu].page = &s->pages[n];
		for (; at + sizeof(struct chunk) <= size; n++) {
			struct chunk *c = (struct chunk *)(data + at);
			struct page *p = &s->pages[n];

			if (c->cpu != cpu)
				break;
			if (c->bytes % sizeof(struct record) || at + sizeof(*c) + c->bytes > size ||
			    c->number < expected)
				damaged("damaged records");
			p->first = p->last = (struct record *)(c + 1);
			while (p->last < p->first + c->bytes / sizeof(struct record) &&
			       p->last->kind) {
				if (p->last->kind >= KINDS)
					damaged("damaged records: unknown event");
				p->last++;
			}
			p->missing = (c->number - expected) * PER_PAGE;
			s->lost += p->missing;
			expected = c->number + 1;
			at += sizeof(*c) + c->bytes;
		}
		expected = head->first + 1;
		s->at[cpu].end = &s->pages[n];
		smooth(s->at[cpu].page, s->at[cpu].end);
		if (s->at[cpu].page < s->at[cpu].end)
			s->at[cpu].next = s->at[cpu].page->first;
	}
}

/* The next record of a ring, or NULL. */
static struct record *peek(struct cursor *c)
{
	while (c->page < c->end && c->next == c->page->last) {
		c->page++;
		c->gap_told = false;
		if (c->page < c->end)
			c->next = c->page->first;
	}
	return c->page < c->end ? c->next : NULL;
}

/* Names are the programs' own choice: nothing in one may look like the end of a word or of an argument. */
static void clean(char *to, const char *from)
{
	size_t n = 0;

	for (; n < 16 && from[n]; n++)
		to[n] = from[n] > ' ' && from[n] < 0x7f && !strchr("=\"|\\", from[n]) ? from[n]
										      : '_';
	if (!n)
		to[n++] = '?';
	to[n] = '\0';
}

bool stream_next(struct stream *s, struct event *e)
{
	struct record *best = NULL;
	struct cursor *c;

	for (unsigned cpu = 0; cpu < s->cpus; cpu++) {
		struct record *r = peek(&s->at[cpu]);

		if (r && (!best || r->time < best->time)) {
			best = r;
			e->cpu = cpu;
		}
	}
	if (!best)
		return false;
	c = &s->at[e->cpu];
	s->end = best->time;
	if (c->page->missing && !c->gap_told) {
		c->gap_told = true;
		memset(&e->r, 0, sizeof(e->r));
		e->r.time = best->time;
		e->r.id = (uint32_t)c->page->missing;
		strcpy(e->comm, "?");
		return true;
	}
	e->r = *best;
	clean(e->comm, e->r.comm);
	c->next++;
	return true;
}

const char *state_letters(const struct record *r)
{
	unsigned how = r->a >> 8, state = r->a & 0x1f;

	if (how == 1)
		return "R+";
	switch (state) {
	case 0:
		return "R";
	case 4:
		return "T";
	case 8:
		return "X";
	}
	return state & 1 ? "S" : state & 2 ? "D" : "R";
}

static struct task *buckets[BUCKETS], **all;
static size_t count;

struct task *task_find(uint32_t number, unsigned cpu)
{
	int64_t id = number ? (int64_t)number : -1 - (int64_t)cpu;
	struct task **head = &buckets[(uint64_t)id % BUCKETS], *t;

	for (t = *head; t; t = t->chain)
		if (t->id == id)
			return t;
	if (!(count & (count - 1))) /* room for twice as many at each power of two */
		all = realloc(all, (count ? count * 2 : 1) * sizeof(*all));
	t = calloc(1, sizeof(*t));
	if (!all || !t)
		wl_die("no memory for the tasks");
	t->id = id;
	t->idle = !number;
	strcpy(t->comm, "?");
	t->chain = *head;
	*head = t;
	all[count++] = t;
	return t;
}

struct task **task_all(size_t *n)
{
	*n = count;
	return all;
}

/* SPDX-License-Identifier: MIT
 *
 * The buddy system (buddy.h). A free block is known by its first frame only: PG_FREE and its order there. The other
 * frames of a free block carry no flag, so a buddy is joined only if it starts a free block of exactly our size.
 */
#include "mm/buddy.h"

void buddy_init(struct buddy *b, struct page *pages, u64 nr)
{
	b->pages = pages;
	b->nr = nr;
	b->nr_free = 0;
	for (unsigned i = 0; i < BUDDY_ORDERS; i++)
		list_init(&b->free[i]);
}

static void link_block(struct buddy *b, u64 frame, unsigned order)
{
	struct page *p = b->pages + frame;

	p->flags = PG_FREE;
	p->order = (u8)order;
	list_add(&p->link, &b->free[order]);
}

static void unlink_block(struct page *p)
{
	p->flags = 0;
	list_del(&p->link);
}

u64 buddy_alloc(struct buddy *b, unsigned order)
{
	unsigned have = order;
	struct page *p;
	u64 frame;

	while (have < BUDDY_ORDERS && list_empty(&b->free[have]))
		have++;
	if (have >= BUDDY_ORDERS)
		return BUDDY_NONE;
	p = list_first(&b->free[have], struct page, link);
	unlink_block(p);
	frame = (u64)(p - b->pages);
	while (have > order) {
		have--;
		link_block(b, frame + (1ull << have), have);
	}
	b->nr_free -= 1ull << order;
	return frame;
}

void buddy_free(struct buddy *b, u64 frame, unsigned order)
{
	b->nr_free += 1ull << order;
	for (; order < BUDDY_ORDERS - 1; order++) {
		u64 other = frame ^ (1ull << order);
		struct page *p = b->pages + other;

		if (other + (1ull << order) > b->nr || !(p->flags & PG_FREE) || p->order != order)
			break;
		unlink_block(p);
		frame &= ~(1ull << order);
	}
	link_block(b, frame, order);
}

void buddy_add(struct buddy *b, u64 first, u64 end)
{
	while (first < end) {
		unsigned order = BUDDY_ORDERS - 1;

		while (first & ((1ull << order) - 1) || first + (1ull << order) > end)
			order--;
		buddy_free(b, first, order);
		first += 1ull << order;
	}
}

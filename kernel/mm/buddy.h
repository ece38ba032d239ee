/* SPDX-License-Identifier: MIT
 *
 * The buddy system: free page frames in blocks of 2^order frames, naturally aligned; a freed block joins its free
 * neighbour ("buddy") into the next larger block. Depends on lib only; the caller locks.
 */
#ifndef MM_BUDDY_H
#define MM_BUDDY_H

#include "lib/list.h"
#include "lib/types.h"

#define BUDDY_ORDERS 11 /* largest block: 2^10 frames, 4 MiB */
#define BUDDY_NONE   (~0ull)

#define PG_FREE	  1u /* first frame of a free block, linked; under the buddy's lock */
#define PG_CACHED 2u /* lies in a CPU's page cache (debug builds only) */

/** struct page - one for each page frame of RAM, and of the holes in it (never free). */
struct page {
	u32 refs;	  /* atomic; 0 = free */
	u8 order;	  /* of a free block's first page */
	u8 flags;	  /* PG_* */
	u16 entries;	  /* of a page table: entries that are not 0, under mm->lock */
	struct list link; /* free lists; a user may use it while it owns the page */
};

/* The array of all frames, indexed by frame number. Constant after mem_init(). */
extern struct page *page_array;

struct buddy {
	struct page *pages; /* constant */
	u64 nr;		    /* constant: frames in pages[] */
	u64 nr_free;	    /* frames in the free lists */
	struct list free[BUDDY_ORDERS];
};

/** buddy_init() - no free frame; @pages: @nr zeroed entries. */
void buddy_init(struct buddy *b, struct page *pages, u64 nr);

/** buddy_alloc() - Return: number of the first of 2^@order frames, or BUDDY_NONE. Context: the caller's lock. */
u64 buddy_alloc(struct buddy *b, unsigned order);

/** buddy_free() - give back 2^@order frames from @frame, which is a multiple of 2^@order. Context: the caller's lock. */
void buddy_free(struct buddy *b, u64 frame, unsigned order);

/** buddy_add() - give the frames [@first, @end) to the allocator, in the largest blocks possible. */
void buddy_add(struct buddy *b, u64 first, u64 end);

#endif

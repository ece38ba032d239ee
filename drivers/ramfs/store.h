/* SPDX-License-Identifier: MIT */
/*
 * The files of ramfs: a tree in memory, and the answers to the requests of kernel/sys/fsproto.h. No device, no system call but malloc:
 * the host tests run it too. Nothing in a request is trusted.
 */
#ifndef RAMFS_STORE_H
#define RAMFS_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "../../kernel/sys/fsproto.h"

struct store;

/* An empty tree that never holds more than limit bytes, what it needs to know of its files included. NULL: out of memory. */
struct store *store_new(uint64_t limit);
void store_free(struct store *s);

/* Bytes that count against the limit now. */
uint64_t store_used(const struct store *s);
/* Fids that are known, the root's included. */
size_t store_fids(const struct store *s);

/*
 * Answer the request of size bytes at request (its own size field must agree: a message that does not hold together is not answered), at
 * time now. answer has room for FS_MESSAGE bytes. Returns the answer's size, 0 for none.
 */
size_t store_serve(struct store *s, const void *request, size_t size, uint32_t now, void *answer);

#endif

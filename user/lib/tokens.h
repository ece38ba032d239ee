/* SPDX-License-Identifier: MIT */
/*
 * A ring of processes that pass tokens through pipes, as several benchmarks use it.
 */
#ifndef USER_LIB_TOKENS_H
#define USER_LIB_TOKENS_H

#include <sys/types.h>

struct token_ring {
	long procs, tokens;
	long step;	    /* member i writes to member (i + step) mod procs */
	void (*work)(void); /* done between read and write; may be NULL */
	/* Private: */
	volatile long *hops; /* per member, shared */
	int (*pipes)[2];
	pid_t *pid;
};

/** tokens_start() - fork the members and put the tokens in, one each at members 0, 1, ... */
void tokens_start(struct token_ring *r);

/** tokens_hops() - times a token has been passed on until now. */
long tokens_hops(const struct token_ring *r);

/** tokens_stop() - end the members in order. Return: tokens left in the ring; equals @r->tokens. */
long tokens_stop(struct token_ring *r);

#endif

// SPDX-License-Identifier: MIT
/*
 * The ring of tokens, see tokens.h. It ends by a special byte in every pipe: a member passes on
 * what it holds, then reads that byte and exits, so no token gets lost and they can be counted.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tokens.h"
#include "wl.h"

#define TOKEN 't'
#define QUIT  'q'

static void member(struct token_ring *r, long id)
{
	int in = r->pipes[id][0], out = r->pipes[(id + r->step) % r->procs][1];
	char c;

	while (wl_read_all(in, &c, 1) == 1 && c != QUIT) {
		if (r->work)
			r->work();
		wl_write_all(out, &c, 1);
		r->hops[id]++;
	}
	_exit(0);
}

void tokens_start(struct token_ring *r)
{
	static const char token = TOKEN;

	r->hops = wl_shared(r->procs * sizeof(*r->hops));
	r->pipes = calloc(r->procs, sizeof(*r->pipes));
	r->pid = calloc(r->procs, sizeof(*r->pid));
	if (!r->pipes || !r->pid)
		wl_die("memory");
	for (long i = 0; i < r->procs; i++)
		if (pipe(r->pipes[i]) < 0)
			wl_die("pipe");
	for (long i = 0; i < r->procs; i++) {
		r->pid[i] = wl_fork();
		if (r->pid[i] == 0)
			member(r, i);
	}
	for (long i = 0; i < r->tokens; i++)
		wl_write_all(r->pipes[i % r->procs][1], &token, 1);
}

long tokens_hops(const struct token_ring *r)
{
	long n = 0;

	for (long i = 0; i < r->procs; i++)
		n += r->hops[i];
	return n;
}

long tokens_stop(struct token_ring *r)
{
	static const char quit = QUIT;
	long left = 0;
	int status;
	char c;

	for (long i = 0; i < r->procs; i++)
		wl_write_all(r->pipes[i][1], &quit, 1);
	for (long i = 0; i < r->procs; i++)
		while (waitpid(r->pid[i], &status, 0) < 0)
			;
	for (long i = 0; i < r->procs; i++) {
		/* Not up to the end of file: other children may hold the pipes open. */
		if (fcntl(r->pipes[i][0], F_SETFL, O_NONBLOCK) < 0)
			wl_die("O_NONBLOCK");
		while (read(r->pipes[i][0], &c, 1) == 1)
			left += c == TOKEN;
		close(r->pipes[i][1]);
		close(r->pipes[i][0]);
	}
	free(r->pipes);
	free(r->pid);
	return left;
}

// SPDX-License-Identifier: MIT
/*
 * chat - the shape of VolanoMark: rooms of 20 users; what one says the server sends to all in the
 * room. Four threads per user: writer and reader in the client, reader and writer in the server.
 *
 * A client's thread writes its messages into a pipe; the server's reader takes each and appends it
 * to the queue of every user of the room; the server's writer empties its queue into the pipe back,
 * and the client's reader counts. As in the Java machines of the time, who finds a queue's lock
 * taken calls sched_yield() and tries again, so what yield means to a scheduler shows. Client and
 * server are two processes.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/wl.h"

#define MESSAGE 64    /* bytes */
#define QUEUE	256   /* messages a user's queue holds */
#define STACK	32768 /* bytes per thread; there are many */

struct user {
	int up[2], down[2]; /* pipes: client to server, server to client */
	long room;
	/* In the server: */
	volatile char lock;
	unsigned int head, tail; /* (lock) count of messages ever taken and put */
	sem_t waiting;		 /* messages in the queue */
	char queue[QUEUE][MESSAGE];
};

static long rooms = 10, users = 20, messages = 100;
static struct user *all;
static volatile long *yields; /* shared by both processes */

static void queue_lock(struct user *u)
{
	while (__atomic_test_and_set(&u->lock, __ATOMIC_ACQUIRE)) {
		__atomic_fetch_add(yields, 1, __ATOMIC_RELAXED);
		sched_yield();
	}
}

static void queue_unlock(struct user *u)
{
	__atomic_clear(&u->lock, __ATOMIC_RELEASE);
}

static void put(struct user *u, const char *message)
{
	queue_lock(u);
	while (u->tail - u->head == QUEUE) {
		queue_unlock(u);
		__atomic_fetch_add(yields, 1, __ATOMIC_RELAXED);
		sched_yield();
		queue_lock(u);
	}
	memcpy(u->queue[u->tail++ % QUEUE], message, MESSAGE);
	queue_unlock(u);
	sem_post(&u->waiting);
}

static void *server_reader(void *arg)
{
	struct user *u = arg;
	char message[MESSAGE];

	for (long m = 0; m < messages; m++) {
		if (wl_read_all(u->up[0], message, MESSAGE) != MESSAGE)
			wl_die("server: client");
		for (long i = 0; i < users; i++)
			put(&all[u->room * users + i], message);
	}
	return NULL;
}

static void *server_writer(void *arg)
{
	struct user *u = arg;
	char message[MESSAGE];

	for (long m = 0; m < messages * users; m++) {
		while (sem_wait(&u->waiting) < 0)
			;
		queue_lock(u);
		memcpy(message, u->queue[u->head++ % QUEUE], MESSAGE);
		queue_unlock(u);
		wl_write_all(u->down[1], message, MESSAGE);
	}
	return NULL;
}

static void *client_writer(void *arg)
{
	struct user *u = arg;
	char message[MESSAGE];

	memset(message, 'a' + u->room % 26, sizeof(message));
	for (long m = 0; m < messages; m++)
		wl_write_all(u->up[1], message, MESSAGE);
	return NULL;
}

static void *client_reader(void *arg)
{
	struct user *u = arg;
	char message[MESSAGE];

	for (long m = 0; m < messages * users; m++)
		if (wl_read_all(u->down[0], message, MESSAGE) != MESSAGE ||
		    message[MESSAGE - 1] != 'a' + u->room % 26)
			_exit(3); /* a message was lost, or came from another room */
	return NULL;
}

/* Two threads per user; returns when all are done. */
static void run_side(void *(*reader)(void *), void *(*writer)(void *))
{
	long n = rooms * users;
	pthread_t *thread = calloc(2 * n, sizeof(*thread));
	pthread_attr_t attr;

	if (!thread)
		wl_die("memory");
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK > PTHREAD_STACK_MIN ? STACK : PTHREAD_STACK_MIN);
	for (long i = 0; i < n; i++) {
		errno = pthread_create(&thread[2 * i], &attr, reader, &all[i]);
		if (!errno)
			errno = pthread_create(&thread[2 * i + 1], &attr, writer, &all[i]);
		if (errno)
			wl_die("pthread_create");
	}
	for (long i = 0; i < 2 * n; i++)
		pthread_join(thread[i], NULL);
	free(thread);
}

int main(int argc, char **argv)
{
	static const struct wl_opt opts[] = {
		{"rooms", WL_INT, &rooms, "rooms (default 10)"},
		{"users", WL_INT, &users, "users per room (default 20)"},
		{"messages", WL_INT, &messages, "messages each user sends (default 100)"},
	};
	static const struct wl_program prog = {
		.usage = "chat [OPTIONS]",
		.about =
			"A chat server and its clients, four threads per user; reports messages that\n"
			"reached a client per second, and context switches per message.",
		.opts = opts,
		.nopts = 3,
	};
	int64_t start, elapsed;
	double received;
	long n;
	int bad;

	wl_options(&prog, argc, argv);
	wl_at_least("--rooms", rooms, 1);
	wl_at_least("--users", users, 1);
	wl_at_least("--messages", messages, 1);
	n = rooms * users;
	yields = wl_shared(sizeof(*yields));
	all = calloc(n, sizeof(*all));
	if (!all)
		wl_die("memory");
	for (long i = 0; i < n; i++) {
		all[i].room = i / users;
		if (pipe(all[i].up) < 0 || pipe(all[i].down) < 0 ||
		    sem_init(&all[i].waiting, 0, 0) < 0)
			wl_die("set-up");
	}
	start = wl_now();
	if (wl_fork() == 0) {
		run_side(server_reader, server_writer);
		_exit(0);
	}
	if (wl_fork() == 0) {
		run_side(client_reader, client_writer);
		_exit(0);
	}
	bad = wl_reap();
	elapsed = wl_now() - start;
	received = (double)n * users * messages;
	wl_result("chat",
		  "rooms=%ld users=%ld threads=%ld messages_each=%ld received=%.0f elapsed_s=%.3f "
		  "messages_per_s=%.0f switches_per_message=%.3f yields=%ld failed=%d",
		  rooms, users, 4 * n, messages, received, elapsed / 1e9,
		  received / (elapsed / 1e9), wl_switches() / received, *yields, bad);
	return bad != 0;
}

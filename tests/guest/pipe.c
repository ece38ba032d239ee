// SPDX-License-Identifier: MIT
/*
 * Pipes as pipe(7) describes them: order, end of file, EPIPE, non-blocking use, atomic writes up
 * to PIPE_BUF, capacity, interruption, poll, and many ends at once.
 */
#include "tap.h"

#include <limits.h>
#include <poll.h>
#include <sys/ioctl.h>

#define RING 4096

static int fd[2];

static void make_pipe(void)
{
	CHECK(pipe(fd) == 0);
}

static void nonblock(int which)
{
	CHECK(fcntl(fd[which], F_SETFL, O_NONBLOCK) == 0);
}

TEST(data_comes_in_order)
{
	char buf[16];

	make_pipe();
	CHECK(write(fd[1], "abc", 3) == 3);
	CHECK(write(fd[1], "defg", 4) == 4);
	CHECK(read(fd[0], buf, 2) == 2 && !memcmp(buf, "ab", 2));
	CHECK(read(fd[0], buf, sizeof(buf)) == 5 && !memcmp(buf, "cdefg", 5));
}

TEST(eof_when_last_writer_closes)
{
	char c;
	int second;

	make_pipe();
	second = dup(fd[1]);
	CHECK(second >= 0);
	CHECK(write(fd[1], "x", 1) == 1);
	close(fd[1]);
	nonblock(0);
	CHECK(read(fd[0], &c, 1) == 1);
	CHECK_ERR(read(fd[0], &c, 1), EAGAIN);
	close(second);
	CHECK(read(fd[0], &c, 1) == 0);
	CHECK(read(fd[0], &c, 1) == 0);
}

TEST(blocked_reader_sees_eof)
{
	char c;
	pid_t pid;

	make_pipe();
	pid = check_fork();
	if (pid == 0) {
		sleep_ms(50);
		_exit(0);
	}
	close(fd[1]);
	CHECK(read(fd[0], &c, 1) == 0);
	check_exit(pid, 0);
}

TEST(write_without_reader_is_epipe)
{
	make_pipe();
	close(fd[0]);
	signal(SIGPIPE, SIG_IGN);
	CHECK_ERR(write(fd[1], "x", 1), EPIPE);
}

TEST(write_without_reader_kills_by_sigpipe)
{
	pid_t pid;

	make_pipe();
	close(fd[0]);
	pid = check_fork();
	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		if (write(fd[1], "x", 1) < 0)
			_exit(2);
		_exit(1);
	}
	check_killed(pid, SIGPIPE);
}

TEST(blocked_writer_gets_epipe)
{
	static char big[200000];
	pid_t pid;

	make_pipe();
	signal(SIGPIPE, SIG_IGN);
	pid = check_fork();
	if (pid == 0) {
		close(fd[1]);
		sleep_ms(50);
		_exit(0);
	}
	close(fd[0]);
	/* A partial count is right too: some bytes went in before the reader left. */
	CHECK(write(fd[1], big, sizeof(big)) < (ssize_t)sizeof(big));
	CHECK_ERR(write(fd[1], "x", 1), EPIPE);
	check_exit(pid, 0);
}

TEST(nonblocking_ends)
{
	static char big[100000];
	char c;
	ssize_t n;

	make_pipe();
	nonblock(0);
	nonblock(1);
	CHECK_ERR(read(fd[0], &c, 1), EAGAIN);
	CHECK(fcntl(fd[1], F_SETPIPE_SZ, RING) == RING);
	n = write(fd[1], big, sizeof(big));
	CHECK(n == RING);
	CHECK_ERR(write(fd[1], "x", 1), EAGAIN);
	CHECK(read(fd[0], big, 1) == 1);
	/* 4096 bytes that must be atomic do not fit into what is free. */
	CHECK_ERR(write(fd[1], big, PIPE_BUF), EAGAIN);
}

TEST(default_capacity_is_64k)
{
	static char big[100000];

	make_pipe();
	CHECK(fcntl(fd[0], F_GETPIPE_SZ) == 65536);
	nonblock(1);
	CHECK(write(fd[1], big, sizeof(big)) == 65536);
}

TEST(capacity_can_be_set)
{
	char buf[RING] = {0};

	make_pipe();
	CHECK(fcntl(fd[1], F_SETPIPE_SZ, 1) == RING);
	CHECK(fcntl(fd[0], F_GETPIPE_SZ) == RING);
	CHECK(fcntl(fd[1], F_SETPIPE_SZ, 16384) == 16384);
	CHECK(write(fd[1], buf, RING) == RING);
	CHECK(write(fd[1], buf, RING) == RING);
	CHECK_ERR(fcntl(fd[1], F_SETPIPE_SZ, RING), EBUSY);
	CHECK(read(fd[0], buf, RING) == RING);
	CHECK(fcntl(fd[1], F_SETPIPE_SZ, RING) == RING);
}

TEST(resize_keeps_data)
{
	unsigned char buf[3000], back[3000];

	make_pipe();
	for (size_t i = 0; i < sizeof(buf); i++)
		buf[i] = i * 7;
	/* Linux fills whole pages, so this much room is needed for the second write. */
	CHECK(fcntl(fd[1], F_SETPIPE_SZ, 3 * RING) == 4 * RING);
	for (int i = 0; i < 5; i++) {
		CHECK(write(fd[1], buf, sizeof(buf)) == sizeof(buf));
		CHECK(read(fd[0], back, sizeof(back)) == sizeof(back));
	}
	CHECK(write(fd[1], buf, sizeof(buf)) == sizeof(buf)); /* a byte ring wraps here */
	CHECK(fcntl(fd[1], F_SETPIPE_SZ, 65536) == 65536);
	CHECK(write(fd[1], buf, 2000) == 2000);
	CHECK(read(fd[0], back, 3000) == 3000 && !memcmp(back, buf, 3000));
	CHECK(read(fd[0], back, 3000) == 2000 && !memcmp(back, buf, 2000));
}

TEST(pipe2_flags)
{
	char c;

	CHECK(pipe2(fd, O_NONBLOCK | O_CLOEXEC) == 0);
	CHECK_ERR(read(fd[0], &c, 1), EAGAIN);
	CHECK(fcntl(fd[0], F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(fd[1], F_GETFL) & O_NONBLOCK);
	CHECK_ERR(pipe2(fd, 0x7fff0000), EINVAL);
}

TEST(wrong_end)
{
	char c = 0;

	make_pipe();
	CHECK_ERR(write(fd[0], &c, 1), EBADF);
	CHECK_ERR(read(fd[1], &c, 1), EBADF);
	CHECK_ERR(lseek(fd[0], 0, SEEK_SET), ESPIPE);
	CHECK_ERR(syscall(SYS_pipe, BAD_PTR), EFAULT);
	CHECK_ERR(write(fd[1], BAD_PTR, 1), EFAULT);
}

static void on_alarm(int sig)
{
	(void)sig;
}

TEST(signal_interrupts_read)
{
	struct sigaction sa = {.sa_handler = on_alarm};
	char c;

	make_pipe();
	sigaction(SIGALRM, &sa, NULL);
	alarm(1);
	CHECK_ERR(read(fd[0], &c, 1), EINTR);
}

TEST(restart_continues_read)
{
	struct sigaction sa = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
	pid_t parent = getpid(), pid;
	char c = 0;

	make_pipe();
	sigaction(SIGUSR1, &sa, NULL);
	pid = check_fork();
	if (pid == 0) {
		sleep_ms(50);
		kill(parent, SIGUSR1);
		sleep_ms(50);
		CHECK(write(fd[1], "y", 1) == 1);
		_exit(0);
	}
	CHECK(read(fd[0], &c, 1) == 1 && c == 'y');
	check_exit(pid, 0);
}

TEST(signal_interrupts_full_write)
{
	static char big[70000];
	struct sigaction sa = {.sa_handler = on_alarm};

	make_pipe();
	sigaction(SIGALRM, &sa, NULL);
	alarm(1);
	CHECK(write(fd[1], big, sizeof(big)) == 65536); /* what went in before the signal */
	alarm(1);
	CHECK_ERR(write(fd[1], "x", 1), EINTR);
}

static short poll_now(int which, short events)
{
	struct pollfd p = {.fd = fd[which], .events = events};

	CHECK(poll(&p, 1, 0) >= 0);
	return p.revents;
}

TEST(poll_states)
{
	static char big[65536];

	make_pipe();
	CHECK(poll_now(0, POLLIN) == 0);
	CHECK(poll_now(1, POLLOUT) == POLLOUT);
	CHECK(write(fd[1], big, sizeof(big)) == sizeof(big));
	CHECK(poll_now(0, POLLIN) == POLLIN);
	CHECK(poll_now(1, POLLOUT) == 0);
	CHECK(read(fd[0], big, sizeof(big)) == sizeof(big));
	CHECK(poll_now(1, POLLOUT) == POLLOUT);
	close(fd[1]);
	CHECK(poll_now(0, POLLIN) == POLLHUP);
	make_pipe();
	close(fd[0]);
	CHECK(poll_now(1, POLLOUT) & POLLERR);
}

TEST(poll_waits_for_data_and_time)
{
	struct pollfd p;
	int64_t start;
	pid_t pid;

	make_pipe();
	p = (struct pollfd){.fd = fd[0], .events = POLLIN};
	start = now_ns();
	CHECK(poll(&p, 1, 60) == 0);
	CHECK(now_ns() - start >= 60000000);
	pid = check_fork();
	if (pid == 0) {
		sleep_ms(30);
		CHECK(write(fd[1], "z", 1) == 1);
		_exit(0);
	}
	CHECK(poll(&p, 1, 5000) == 1 && p.revents == POLLIN);
	check_exit(pid, 0);
	p.fd = -1;
	CHECK(poll(&p, 1, 0) == 0 && p.revents == 0);
	p.fd = 777;
	CHECK(poll(&p, 1, 0) == 1 && p.revents == POLLNVAL);
}

TEST(fionread_counts)
{
	int n = -1;

	make_pipe();
	CHECK(write(fd[1], "12345", 5) == 5);
	CHECK(ioctl(fd[0], FIONREAD, &n) == 0 && n == 5);
}

/* Records no longer than PIPE_BUF from many writers must never mix. */
TEST(writes_up_to_pipe_buf_are_atomic)
{
	enum { WRITERS = 6, RECORDS = 120, SIZE = 1500 };
	static unsigned char rec[SIZE];
	int seen[WRITERS] = {0};

	make_pipe();
	CHECK(fcntl(fd[1], F_SETPIPE_SZ, RING) == RING);
	for (int w = 0; w < WRITERS; w++) {
		if (check_fork() == 0) {
			close(fd[0]);
			memset(rec, 'a' + w, SIZE);
			for (int i = 0; i < RECORDS; i++)
				CHECK(write(fd[1], rec, SIZE) == SIZE);
			_exit(0);
		}
	}
	close(fd[1]);
	for (;;) {
		size_t have = 0;
		ssize_t n = 1;

		while (have < SIZE && (n = read(fd[0], rec + have, SIZE - have)) > 0)
			have += n;
		if (n <= 0) {
			CHECK(n == 0 && have == 0);
			break;
		}
		for (int i = 1; i < SIZE; i++)
			CHECK(rec[i] == rec[0]);
		CHECK(rec[0] >= 'a' && rec[0] < 'a' + WRITERS);
		seen[rec[0] - 'a']++;
	}
	for (int w = 0; w < WRITERS; w++) {
		CHECK(seen[w] == RECORDS);
		CHECK(wait(NULL) > 0);
	}
}

/* Each of WRITERS sends numbered words, READERS take them: none lost, none doubled. */
TEST(many_readers_and_writers)
{
	enum { WRITERS = 5, READERS = 4, WORDS = 4000 };
	static unsigned char count[WRITERS * WORDS];
	uint32_t word;
	int out[2];

	make_pipe();
	CHECK(pipe(out) == 0);
	for (int w = 0; w < WRITERS; w++)
		if (check_fork() == 0) {
			for (uint32_t i = 0; i < WORDS; i++) {
				word = w * WORDS + i;
				CHECK(write(fd[1], &word, 4) == 4);
			}
			_exit(0);
		}
	for (int r = 0; r < READERS; r++)
		if (check_fork() == 0) {
			close(fd[1]);
			while (read(fd[0], &word, 4) == 4)
				CHECK(write(out[1], &word, 4) == 4);
			_exit(0);
		}
	close(fd[1]);
	close(fd[0]);
	close(out[1]);
	for (int i = 0; i < WRITERS * WORDS; i++) {
		CHECK(read(out[0], &word, 4) == 4);
		CHECK(word < WRITERS * WORDS);
		CHECK(count[word]++ == 0);
	}
	CHECK(read(out[0], &word, 4) == 0);
	for (int i = 0; i < WRITERS + READERS; i++) {
		int status;

		CHECK(wait(&status) > 0 && status == 0);
	}
}

/* A large stream in odd pieces arrives unchanged. */
TEST(stream_in_odd_pieces)
{
	enum { TOTAL = 600000 };
	static unsigned char buf[9001];
	unsigned int a = 1, b = 1;
	long got = 0;
	pid_t pid;

	make_pipe();
	pid = check_fork();
	if (pid == 0) {
		long sent = 0;

		while (sent < TOTAL) {
			long n = 1 + (sent * 31) % 8999;

			if (n > TOTAL - sent)
				n = TOTAL - sent;
			for (long i = 0; i < n; i++)
				buf[i] = (a = a * 1103515245 + 12345) >> 16;
			CHECK(write(fd[1], buf, n) == n);
			sent += n;
		}
		_exit(0);
	}
	close(fd[1]);
	for (;;) {
		ssize_t n = read(fd[0], buf, 1 + (got * 17) % 7000);

		CHECK(n >= 0);
		if (n == 0)
			break;
		for (ssize_t i = 0; i < n; i++)
			CHECK(buf[i] == (unsigned char)((b = b * 1103515245 + 12345) >> 16));
		got += n;
	}
	CHECK(got == TOTAL);
	check_exit(pid, 0);
}

/*
 * Two readers sleep; one is killed at the moment a byte comes. Either it still took the byte, or
 * the other must: a byte in the pipe and a reader asleep on it means a wake-up was lost.
 */
TEST(killed_reader_passes_the_wake_on)
{
	for (int round = 0; round < 25; round++) {
		pid_t first, second;
		int left = 0;
		char c;

		make_pipe();
		first = check_fork();
		if (first == 0)
			_exit(read(fd[0], &c, 1) == 1 ? 7 : 1);
		sleep_ms(2);
		second = check_fork();
		if (second == 0)
			_exit(read(fd[0], &c, 1) == 1 ? 7 : 1);
		sleep_ms(2);
		if (round % 2)
			kill(first, SIGKILL);
		CHECK(write(fd[1], "q", 1) == 1);
		if (round % 2 == 0)
			kill(first, SIGKILL);
		CHECK(waitpid(first, NULL, 0) == first);
		for (int i = 0; i < 500; i++) {
			CHECK(ioctl(fd[0], FIONREAD, &left) == 0);
			if (!left)
				break;
			sleep_ms(2);
		}
		CHECK(left == 0);
		CHECK(write(fd[1], "q", 1) == 1);
		check_exit(second, 7);
		close(fd[0]);
		close(fd[1]);
	}
}

static const struct test tests[] = {
	T(data_comes_in_order),
	T(eof_when_last_writer_closes),
	T(blocked_reader_sees_eof),
	T(write_without_reader_is_epipe),
	T(write_without_reader_kills_by_sigpipe),
	T(blocked_writer_gets_epipe),
	T(nonblocking_ends),
	T(default_capacity_is_64k),
	T(capacity_can_be_set),
	T(resize_keeps_data),
	T(pipe2_flags),
	T(wrong_end),
	T(signal_interrupts_read),
	T(restart_continues_read),
	T(signal_interrupts_full_write),
	T(poll_states),
	T(poll_waits_for_data_and_time),
	T(fionread_counts),
	T(writes_up_to_pipe_buf_are_atomic),
	T(many_readers_and_writers),
	T(stream_in_odd_pieces),
	T(killed_reader_passes_the_wake_on),
};

TEST_MAIN

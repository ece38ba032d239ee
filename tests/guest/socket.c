// SPDX-License-Identifier: MIT
/*
 * Socket pairs as socketpair(2), unix(7), send(2), recv(2) and shutdown(2) describe them; and the sockets that do not exist.
 */
#include "tap.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

static int sv[2];

static void make_pair(int type)
{
	CHECK(socketpair(AF_UNIX, type, 0, sv) == 0);
}

static void on_signal(int sig)
{
	(void)sig;
}

TEST(bytes_go_both_ways)
{
	char buf[16];

	make_pair(SOCK_STREAM);
	CHECK(write(sv[0], "abc", 3) == 3);
	CHECK(write(sv[1], "xy", 2) == 2);
	CHECK(write(sv[0], "de", 2) == 2);
	CHECK(read(sv[1], buf, 16) == 5 && !memcmp(buf, "abcde", 5));
	CHECK(read(sv[0], buf, 16) == 2 && !memcmp(buf, "xy", 2));
}

TEST(it_is_a_socket)
{
	struct stat st;
	int n;

	make_pair(SOCK_STREAM);
	CHECK(fstat(sv[0], &st) == 0 && S_ISSOCK(st.st_mode));
	CHECK_ERR(lseek(sv[0], 0, SEEK_CUR), ESPIPE);
	CHECK_ERR(pread(sv[0], &n, 1, 0), ESPIPE);
	CHECK(write(sv[1], "abcd", 4) == 4);
	CHECK(ioctl(sv[0], FIONREAD, &n) == 0 && n == 4);
	CHECK(fcntl(sv[0], F_GETFL) == O_RDWR);
}

TEST(flags_of_socketpair)
{
	char c;

	make_pair(SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC);
	CHECK(fcntl(sv[1], F_GETFD) == FD_CLOEXEC);
	CHECK(fcntl(sv[1], F_GETFL) == (O_RDWR | O_NONBLOCK));
	CHECK_ERR(read(sv[0], &c, 1), EAGAIN);
	CHECK_ERR(socketpair(AF_UNIX, SOCK_STREAM | 0x100, 0, sv), EINVAL);
	CHECK_ERR(socketpair(AF_UNIX, SOCK_STREAM, 77, sv), EPROTONOSUPPORT);
	CHECK_ERR(socketpair(12345, SOCK_STREAM, 0, sv), EAFNOSUPPORT);
	CHECK_ERR(socketpair(AF_UNIX, SOCK_STREAM, 0, BAD_PTR), EFAULT);
	CHECK_ERR(socket(12345, SOCK_STREAM, 0), EAFNOSUPPORT);
	if (on_jiffies()) { /* what a program falls back from */
		CHECK_ERR(socket(AF_INET, SOCK_STREAM, 0), EAFNOSUPPORT);
		CHECK_ERR(socket(AF_UNIX, SOCK_STREAM, 0), EAFNOSUPPORT);
		CHECK_ERR(socketpair(AF_UNIX, SOCK_DGRAM, 0, sv), ESOCKTNOSUPPORT);
	}
}

TEST(a_fault_in_socketpair_leaves_nothing)
{
	int before = dup(0);

	CHECK(before >= 0 && close(before) == 0);
	CHECK_ERR(socketpair(AF_UNIX, SOCK_STREAM, 0, BAD_PTR), EFAULT);
	CHECK(dup(0) == before);
}

TEST(close_is_end_of_file_and_epipe)
{
	char buf[8];

	signal(SIGPIPE, SIG_IGN);
	make_pair(SOCK_STREAM);
	CHECK(write(sv[0], "last", 4) == 4);
	close(sv[0]);
	CHECK(read(sv[1], buf, 8) == 4);
	CHECK(read(sv[1], buf, 8) == 0);
	CHECK_ERR(write(sv[1], "x", 1), EPIPE);
}

TEST(sigpipe_unless_asked_not_to)
{
	pid_t pid;

	make_pair(SOCK_STREAM);
	close(sv[0]);
	CHECK_ERR(send(sv[1], "x", 1, MSG_NOSIGNAL), EPIPE);
	pid = check_fork();
	if (pid == 0) {
		send(sv[1], "x", 1, 0);
		_exit(0);
	}
	check_killed(pid, SIGPIPE);
}

TEST(shutdown_of_writing)
{
	char buf[8];

	signal(SIGPIPE, SIG_IGN);
	make_pair(SOCK_STREAM);
	CHECK(write(sv[0], "ab", 2) == 2);
	CHECK(shutdown(sv[0], SHUT_WR) == 0);
	CHECK_ERR(write(sv[0], "c", 1), EPIPE);
	CHECK(read(sv[1], buf, 8) == 2 && read(sv[1], buf, 8) == 0);
	CHECK(write(sv[1], "back", 4) == 4);
	CHECK(read(sv[0], buf, 8) == 4);
}

TEST(shutdown_of_reading)
{
	char buf[8];

	signal(SIGPIPE, SIG_IGN);
	make_pair(SOCK_STREAM);
	CHECK(shutdown(sv[0], SHUT_RD) == 0);
	CHECK(read(sv[0], buf, 8) == 0);
	CHECK_ERR(write(sv[1], "x", 1), EPIPE);
	CHECK(write(sv[0], "y", 1) == 1 && read(sv[1], buf, 8) == 1);
	CHECK_ERR(shutdown(sv[0], 3), EINVAL);
	CHECK_ERR(shutdown(tap_pipe[1], SHUT_RD), ENOTSOCK);
	CHECK_ERR(shutdown(999, SHUT_RD), EBADF);
}

TEST(shutdown_wakes_a_reader)
{
	pid_t pid;
	char c;

	make_pair(SOCK_STREAM);
	pid = check_fork();
	if (pid == 0)
		_exit((int)read(sv[0], &c, 1));
	sleep_ms(50);
	CHECK(shutdown(sv[0], SHUT_RD) == 0);
	check_exit(pid, 0);
}

static short poll_now(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};

	CHECK(poll(&p, 1, 0) >= 0);
	return p.revents;
}

TEST(poll_tells)
{
	make_pair(SOCK_STREAM);
	CHECK(poll_now(sv[0]) == POLLOUT);
	CHECK(write(sv[1], "x", 1) == 1);
	CHECK(poll_now(sv[0]) == (POLLIN | POLLOUT));
	CHECK(shutdown(sv[1], SHUT_WR) == 0);
	CHECK(poll_now(sv[0]) == (POLLIN | POLLOUT | POLLRDHUP));
	close(sv[1]);
	CHECK((poll_now(sv[0]) & (POLLIN | POLLHUP | POLLRDHUP)) == (POLLIN | POLLHUP | POLLRDHUP));
}

TEST(full_and_nonblocking)
{
	char buf[4096];
	long sent = 0, got = 0, n;

	memset(buf, 'x', sizeof(buf));
	make_pair(SOCK_STREAM);
	while ((n = send(sv[0], buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		sent += n;
	CHECK(n == -1 && errno == EAGAIN && sent >= 16384);
	CHECK(!(poll_now(sv[0]) & POLLOUT));
	while ((n = recv(sv[1], buf, sizeof(buf), MSG_DONTWAIT)) > 0)
		got += n;
	CHECK(n == -1 && errno == EAGAIN && got == sent);
	CHECK(poll_now(sv[0]) & POLLOUT);
}

TEST(messages_with_vectors)
{
	char a[4] = "", b[8] = "", control[64];
	struct iovec out[2] = {{(char *)"abc", 3}, {(char *)"defg", 4}}, in[2] = {{a, 2}, {b, 8}};
	struct msghdr msg = {.msg_iov = out, .msg_iovlen = 2};

	make_pair(SOCK_STREAM);
	CHECK(sendmsg(sv[0], &msg, 0) == 7);
	msg = (struct msghdr){.msg_iov = in,
			      .msg_iovlen = 2,
			      .msg_control = control,
			      .msg_controllen = sizeof(control)};
	CHECK(recvmsg(sv[1], &msg, 0) == 7);
	CHECK(!memcmp(a, "ab", 2) && !memcmp(b, "cdefg", 5));
	CHECK(msg.msg_controllen == 0 && msg.msg_flags == 0);
	CHECK_ERR(syscall(SYS_sendmsg, sv[0], BAD_PTR, 0), EFAULT);
	msg.msg_iovlen = 5000;
	CHECK_ERR(sendmsg(sv[0], &msg, 0), EMSGSIZE);
	CHECK_ERR(sendmsg(tap_pipe[1], &msg, 0), ENOTSOCK);
}

TEST(receive_all_waits_for_all)
{
	char buf[8];
	pid_t pid;

	make_pair(SOCK_STREAM);
	pid = check_fork();
	if (pid == 0) {
		for (int i = 0; i < 4; i++) {
			CHECK(send(sv[0], "zz", 2, 0) == 2);
			sleep_ms(10);
		}
		_exit(0);
	}
	CHECK(recv(sv[1], buf, 8, MSG_WAITALL) == 8);
	check_exit(pid, 0);
}

TEST(names_are_empty)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	char c;

	make_pair(SOCK_STREAM);
	CHECK(send(sv[0], "x", 1, 0) == 1);
	CHECK(recvfrom(sv[1], &c, 1, 0, (struct sockaddr *)&addr, &len) == 1 && len == 0);
	memset(&addr, 0, sizeof(addr));
	addr.ss_family = AF_UNIX;
	CHECK_ERR(sendto(sv[0], "x", 1, 0, (struct sockaddr *)&addr, 3), EISCONN);
	if (on_jiffies())
		CHECK_ERR(recv(sv[1], &c, 1, MSG_PEEK), EOPNOTSUPP);
}

TEST(a_signal_interrupts)
{
	struct sigaction sa = {.sa_handler = on_signal};
	char c;

	make_pair(SOCK_STREAM);
	sigaction(SIGALRM, &sa, NULL);
	alarm(1);
	CHECK_ERR(recv(sv[0], &c, 1, 0), EINTR);
}

/* Two processes, much data each way at once, every byte checked. */
TEST(both_ways_at_once)
{
	enum { N = 300000 };
	unsigned char buf[1500];
	pid_t pid;
	int me;

	make_pair(SOCK_STREAM | SOCK_NONBLOCK);
	pid = check_fork();
	me = pid == 0;
	for (long sent = 0, got = 0; sent < N || got < N;) {
		struct pollfd p = {.fd = sv[me],
				   .events = (sent < N ? POLLOUT : 0) | (got < N ? POLLIN : 0)};
		long n;

		CHECK(poll(&p, 1, 20000) == 1);
		if (p.revents & POLLIN) {
			n = read(sv[me], buf, sizeof(buf));
			CHECK(n > 0);
			for (long i = 0; i < n; i++, got++)
				CHECK(buf[i] == (unsigned char)(got * 7 + !me));
		}
		if (p.revents & POLLOUT) {
			long len = N - sent < 1500 ? N - sent : 1500;

			for (long i = 0; i < len; i++)
				buf[i] = (unsigned char)((sent + i) * 7 + me);
			n = write(sv[me], buf, len);
			CHECK(n > 0 || errno == EAGAIN);
			sent += n > 0 ? n : 0;
		}
	}
	if (pid == 0)
		_exit(0);
	check_exit(pid, 0);
}

static const struct test tests[] = {
	T(bytes_go_both_ways),
	T(it_is_a_socket),
	T(flags_of_socketpair),
	T(a_fault_in_socketpair_leaves_nothing),
	T(close_is_end_of_file_and_epipe),
	T(sigpipe_unless_asked_not_to),
	T(shutdown_of_writing),
	T(shutdown_of_reading),
	T(shutdown_wakes_a_reader),
	T(poll_tells),
	T(full_and_nonblocking),
	T(messages_with_vectors),
	T(receive_all_waits_for_all),
	T(names_are_empty),
	T(a_signal_interrupts),
	T(both_ways_at_once),
};

TEST_MAIN

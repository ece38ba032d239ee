// SPDX-License-Identifier: MIT
/*
 * hostlink - runs the one command of tools/vm and carries its streams over COM2.
 *
 * Frames are [type][length, 16 bits little endian][payload]. To the host: 'R' ready, 'O' stdout,
 * 'E' stderr, 'X' exit status (32 bits). From the host: 'I' stdin bytes, 'Z' end of stdin.
 * The command comes from /vm/argv; if /vm/stdin exists it is the command's stdin and frames are
 * not. Started by init, which powers the machine off when this process ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/uart.h"

#ifndef VM_DIR
#define VM_DIR "/vm"
#endif
#define COM2_BASE 0x2f8
#define COM2_IRQ  3
#define PRIORITY  49
#define CHUNK	  4096	/* most payload in one frame to the host */
#define STDIN_BUF 65536 /* bytes from the host that the command has not read */
#define MAX_ARGS  1024

static struct uart com2;
static int child_pipe[2]; /* a byte arrives when a child has ended */

/* stdin on its way to the command: a flat buffer, refilled only when it is empty enough */
static struct {
	uint8_t data[STDIN_BUF];
	size_t start, end;
	int fd;	     /* write end of the command's stdin, -1 once closed */
	bool at_end; /* 'Z' has been seen */
} in = {.fd = -1};

/* receiving frames */
static struct {
	uint8_t head[3];
	int nhead;
	size_t left; /* payload bytes still to come */
} rx;

static void fail(const char *what)
{
	char line[160];
	int fd = open("/dev/kmsg", O_WRONLY);
	int n = snprintf(line, sizeof(line), "hostlink: %s: %s\n", what, strerror(errno));

	if (write(fd >= 0 ? fd : 2, line, n) < 0)
		_exit(2);
	_exit(1);
}

static void send_frame(char type, const void *payload, size_t n)
{
	uint8_t frame[3 + CHUNK];

	frame[0] = type;
	frame[1] = n & 0xff;
	frame[2] = n >> 8;
	if (n)
		memcpy(frame + 3, payload, n);
	uart_write(&com2, frame, 3 + n, -1);
}

static void close_stdin(void)
{
	if (in.fd >= 0)
		close(in.fd);
	in.fd = -1;
	in.start = in.end = 0;
}

/* Move buffered stdin into the pipe as far as it goes. */
static void feed_command(void)
{
	while (in.fd >= 0 && in.start < in.end) {
		ssize_t n = write(in.fd, in.data + in.start, in.end - in.start);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			close_stdin(); /* EPIPE: the command will read no more */
			return;
		}
		in.start += n;
	}
	in.start = in.end = 0;
	if (in.at_end)
		close_stdin();
}

static void take_bytes(const uint8_t *p, size_t n)
{
	while (n) {
		size_t part;

		if (rx.left) {
			part = n < rx.left ? n : rx.left;
			if (rx.head[0] == 'I' && in.fd >= 0 && !in.at_end) {
				memcpy(in.data + in.end, p, part);
				in.end += part;
			}
			rx.left -= part;
			p += part;
			n -= part;
			continue;
		}
		rx.head[rx.nhead++] = *p++;
		n--;
		if (rx.nhead == 3) {
			rx.nhead = 0;
			rx.left = rx.head[1] | rx.head[2] << 8;
			if (rx.head[0] == 'Z')
				in.at_end = true;
		}
	}
}

/*
 * Read what the host has sent, as long as there is room for it. When there is none the bytes wait
 * in the chip and behind it in QEMU; the next call comes when the command has read something, so
 * no interrupt is needed to go on.
 */
static void receive(void)
{
	uint8_t buf[512];
	size_t n;

	uart_ack(&com2);
	for (;;) {
		size_t room = STDIN_BUF - in.end;

		if (room < sizeof(buf) && in.start) {
			memmove(in.data, in.data + in.start, in.end - in.start);
			in.end -= in.start;
			in.start = 0;
			room = STDIN_BUF - in.end;
		}
		if (room > sizeof(buf))
			room = sizeof(buf);
		n = room ? uart_read(&com2, buf, room) : 0;
		if (!n)
			break;
		take_bytes(buf, n);
	}
	feed_command();
}

/* One chunk from a pipe to the host. Returns false when there is nothing (more) to read. */
static bool relay(int *fd, char type)
{
	uint8_t buf[CHUNK];
	ssize_t n;

	if (*fd < 0)
		return false;
	do
		n = read(*fd, buf, sizeof(buf));
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		send_frame(type, buf, n);
		return true;
	}
	if (n == 0 || errno != EAGAIN) {
		close(*fd);
		*fd = -1;
	}
	return false;
}

static char **read_argv(void)
{
	static char *argv[MAX_ARGS + 1];
	static char *text;
	struct stat st;
	size_t len = 0;
	ssize_t n;
	int argc = 0;
	int fd = open(VM_DIR "/argv", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		fail(VM_DIR "/argv");
	text = malloc(st.st_size + 1);
	if (!text)
		fail("argv");
	while ((n = read(fd, text + len, st.st_size - len)) > 0)
		len += n;
	close(fd);
	text[len] = '\0';
	for (char *p = text; p < text + len; p += strlen(p) + 1) {
		if (argc == MAX_ARGS) {
			errno = E2BIG;
			fail(VM_DIR "/argv");
		}
		argv[argc++] = p;
	}
	if (!argc) {
		errno = ENOENT;
		fail(VM_DIR "/argv is empty");
	}
	return argv;
}

static void on_child(int sig)
{
	int saved = errno;

	(void)sig;
	if (write(child_pipe[1], "", 1) < 0)
		errno = 0; /* full: the reader will wake anyway */
	errno = saved;
}

static void new_pipe(int fds[2])
{
	if (pipe(fds) < 0)
		fail("pipe");
	for (int i = 0; i < 2; i++)
		fcntl(fds[i], F_SETFD, FD_CLOEXEC);
}

/* In the child: become the command. */
static void become(char **argv)
{
	static char *env[] = {"PATH=/bin:/sbin", "HOME=/", "TERM=dumb", NULL};
	extern char **environ;

	signal(SIGPIPE, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	setsid();
	environ = env;
	execvp(argv[0], argv);
	dprintf(2, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT || errno == ENOTDIR ? 127 : 126);
}

static pid_t spawn(char **argv, int *out, int *err)
{
	int po[2], pe[2], pi[2] = {-1, -1};
	int stdin_fd = open(VM_DIR "/stdin", O_RDONLY | O_CLOEXEC);
	pid_t pid;

	new_pipe(po);
	new_pipe(pe);
	if (stdin_fd < 0) {
		new_pipe(pi);
		stdin_fd = pi[0];
	}
	pid = fork();
	if (pid < 0)
		fail("fork");
	if (pid == 0) {
		ioperm(COM2_BASE, 8, 0); /* inherited, but not the command's business */
		dup2(stdin_fd, 0);
		dup2(po[1], 1);
		dup2(pe[1], 2);
		become(argv);
	}
	close(stdin_fd);
	close(po[1]);
	close(pe[1]);
	*out = po[0];
	*err = pe[0];
	in.fd = pi[1];
	fcntl(*out, F_SETFL, O_NONBLOCK);
	fcntl(*err, F_SETFL, O_NONBLOCK);
	if (in.fd >= 0)
		fcntl(in.fd, F_SETFL, O_NONBLOCK | O_WRONLY);
	return pid;
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Relay until the command has ended and its pipes are drained. Returns its exit status. */
static int serve(pid_t command, int out, int err)
{
	for (;;) {
		struct pollfd p[5] = {
			{.fd = com2.irq_fd, .events = POLLIN},
			{.fd = child_pipe[0], .events = POLLIN},
			{.fd = out, .events = POLLIN},
			{.fd = err, .events = POLLIN},
			{.fd = in.fd, .events = in.start < in.end ? POLLOUT : 0},
		};
		int status;

		if (poll(p, 5, -1) < 0 && errno != EINTR)
			fail("poll");
		if (p[4].revents & POLLERR)
			close_stdin();
		else if (p[4].revents)
			feed_command();
		if (p[0].revents || p[4].revents)
			receive();
		if (p[2].revents)
			relay(&out, 'O');
		if (p[3].revents)
			relay(&err, 'E');
		if (!p[1].revents)
			continue;
		if (read(child_pipe[0], &(char[16]){0}, 16) < 0 && errno != EAGAIN)
			fail("child pipe");
		if (waitpid(command, &status, WNOHANG) != command)
			continue;
		/* What the command wrote is in the pipes by now; its children may hold them open. */
		while (relay(&out, 'O'))
			;
		while (relay(&err, 'E'))
			;
		return exit_status(status);
	}
}

int main(void)
{
	struct sched_param sp = {.sched_priority = PRIORITY};
	char **argv = read_argv();
	uint32_t status;
	uint8_t wire[4];
	pid_t pid;
	int out, err;

	if (ioperm(COM2_BASE, 8, 1) < 0)
		fail("ioperm");
	if ((errno = -uart_open(&com2, COM2_BASE, COM2_IRQ)))
		fail("COM2");
	new_pipe(child_pipe);
	fcntl(child_pipe[0], F_SETFL, O_NONBLOCK);
	fcntl(child_pipe[1], F_SETFL, O_NONBLOCK);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_child, .sa_flags = SA_NOCLDSTOP},
		  NULL);
	send_frame('R', NULL, 0);
	/* Spawn first: the command must not inherit the driver's real-time class. */
	pid = spawn(argv, &out, &err);
	if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &sp) < 0)
		perror("hostlink: SCHED_FIFO");
	receive();
	status = serve(pid, out, err);
	for (int i = 0; i < 4; i++)
		wire[i] = status >> (8 * i);
	send_frame('X', wire, 4);
	uart_drain(&com2);
	return 0;
}

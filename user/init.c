// SPDX-License-Identifier: MIT
/*
 * init - process 1: keeps the console server and the file server of /tmp running, gives the terminal a shell or the host link
 * its command, reaps orphans and takes the machine down.
 *
 * Everything init waits for (a child's end, a request to power off, the time to restart something)
 * arrives in one poll(): signal handlers only write the signal number into a pipe. So there is no
 * window between "looked at the flag" and "went to sleep".
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 2000
#define READY_MS       2000 /* longest wait for ramfs */
#define SHORT_LIFE_MS  1000 /* a service that dies sooner waits longer before its next start */

struct service {
	const char *name;
	void (*run)(bool again); /* runs in the child, returns only if exec failed */
	pid_t pid;		 /* 0: not running */
	long long started_ms;
	long long start_at_ms; /* when to start it again */
	int backoff_ms;
	bool again; /* it has run before */
};

static int signal_pipe[2];

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void say(const char *text)
{
	size_t left = strlen(text);

	while (left) {
		ssize_t n = write(1, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		left -= n;
	}
}

static void on_signal(int sig)
{
	int saved = errno;
	unsigned char byte = sig;

	/* A full pipe already holds enough wake-ups; the reaper takes every dead child. */
	if (write(signal_pipe[1], &byte, 1) < 0)
		errno = 0;
	errno = saved;
}

static void catch_signals(void)
{
	static const int caught[] = {SIGCHLD, SIGUSR1, SIGUSR2, SIGTERM};
	struct sigaction sa = {.sa_handler = on_signal};

	if (pipe(signal_pipe) < 0)
		say("init: no pipe for signals\n");
	for (int i = 0; i < 2; i++) {
		fcntl(signal_pipe[i], F_SETFD, FD_CLOEXEC);
		fcntl(signal_pipe[i], F_SETFL, O_NONBLOCK);
	}
	for (size_t i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i], &sa, NULL);
	/* A job-control stop or an interrupt from the terminal is never meant for process 1. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
}

static void default_signals(void)
{
	static const int sigs[] = {SIGCHLD, SIGUSR1, SIGUSR2, SIGTERM, SIGINT,
				   SIGTSTP, SIGTTOU, SIGTTIN, SIGPIPE};

	for (size_t i = 0; i < sizeof(sigs) / sizeof(sigs[0]); i++)
		signal(sigs[i], SIG_DFL);
}

static void run_console(bool again)
{
	char *const env[] = {"PATH=/bin:/sbin", NULL};
	char *const argv[] = {"console", again ? "--resume" : NULL, NULL};

	execve("/sbin/console", argv, env);
}

static void run_hostlink(bool again)
{
	char *const env[] = {"PATH=/bin:/sbin", NULL};
	char *const argv[] = {"hostlink", NULL};

	(void)again;
	execve("/sbin/hostlink", argv, env);
}

static int ready[2] = {-1, -1}; /* closed by ramfs when it has mounted itself, the first time */

static void run_ramfs(bool again)
{
	char *const env[] = {"PATH=/bin:/sbin", NULL};
	char fd[12];
	char *const argv[] = {"ramfs", "/tmp", "0", again ? NULL : fd, NULL};

	snprintf(fd, sizeof(fd), "%d", ready[1]);
	execve("/sbin/ramfs", argv, env);
}

static void run_shell(bool again)
{
	char *const env[] = {"PATH=/bin:/sbin",	  "HOME=/", "TERM=linux", "USER=root",
			     "PS1=jiffies:\\w# ", NULL};
	char *const argv[] = {"-sh", NULL};
	int fd;

	(void)again;
	setsid();
	fd = open("/dev/console", O_RDWR | O_NOCTTY);
	if (fd >= 0) {
		for (int i = 0; i < 3; i++)
			dup2(fd, i);
		if (fd > 2)
			close(fd);
	}
	ioctl(0, TIOCSCTTY, 1);
	tcsetpgrp(0, getpid());
	execve("/bin/sh", argv, env);
	execve("/bin/busybox", argv, env);
}

static struct service console = {.name = "/sbin/console", .run = run_console};
static struct service hostlink = {.name = "/sbin/hostlink", .run = run_hostlink};
static struct service ramfs = {.name = "/sbin/ramfs", .run = run_ramfs};
static struct service shell = {.name = "/bin/sh", .run = run_shell};

static void start(struct service *s)
{
	pid_t pid = fork();

	s->started_ms = now_ms();
	if (pid < 0) {
		s->start_at_ms = s->started_ms + BACKOFF_MAX_MS;
		return;
	}
	if (pid == 0) {
		char line[80];

		default_signals();
		s->run(s->again);
		snprintf(line, sizeof(line), "init: cannot run %s: %s\n", s->name, strerror(errno));
		say(line);
		_exit(127);
	}
	s->pid = pid;
	s->again = true;
}

/* The service has died: choose when it may start again. */
static void schedule_restart(struct service *s)
{
	long long now = now_ms();

	if (now - s->started_ms >= SHORT_LIFE_MS) {
		s->backoff_ms = 0;
		s->start_at_ms = now;
	} else {
		s->backoff_ms = s->backoff_ms ? s->backoff_ms * 2 : BACKOFF_MIN_MS;
		if (s->backoff_ms > BACKOFF_MAX_MS)
			s->backoff_ms = BACKOFF_MAX_MS;
		s->start_at_ms = now + s->backoff_ms;
	}
	s->pid = 0;
}

static void report_end(const struct service *s, int status)
{
	char line[96];

	if (WIFSIGNALED(status))
		snprintf(line, sizeof(line), "init: %s was ended by signal %d\n", s->name,
			 WTERMSIG(status));
	else
		snprintf(line, sizeof(line), "init: %s ended with status %d\n", s->name,
			 WEXITSTATUS(status));
	say(line);
}

static void show_motd(void)
{
	char buf[1024];
	ssize_t n;
	int fd = open("/etc/motd", O_RDONLY);

	if (fd < 0)
		return;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	if (n > 0) {
		buf[n] = '\0';
		say(buf);
	}
}

/* Wait up to ms for the shell to end; the console server does not: it still has text to print. */
static void wait_shell(int ms)
{
	long long end = now_ms() + ms;
	struct timespec nap = {.tv_nsec = 10000000};

	while (shell.pid && now_ms() < end) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0)
			return;
		if (pid == shell.pid)
			shell.pid = 0;
		if (pid == 0)
			nanosleep(&nap, NULL);
	}
}

static void shut_down(int how, const char *text)
{
	struct timespec drain = {.tv_nsec = 50000000};

	say(text);
	/* The console server ignores SIGTERM, so last words still reach the screen. */
	kill(-1, SIGTERM);
	kill(-1, SIGCONT);
	wait_shell(300);
	nanosleep(&drain, NULL);
	kill(-1, SIGKILL);
	reboot(how);
	say("init: reboot() refused\n");
	_exit(1);
}

static void reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == hostlink.pid) {
			/* The command has run and its status is with the host. */
			reboot(RB_POWER_OFF);
		} else if (pid == console.pid) {
			report_end(&console, status);
			schedule_restart(&console);
		} else if (pid == ramfs.pid) {
			report_end(&ramfs, status);
			schedule_restart(&ramfs);
		} else if (pid == shell.pid) {
			report_end(&shell, status);
			schedule_restart(&shell);
		}
	}
}

static void handle_signals(void)
{
	unsigned char sigs[64];
	ssize_t n;

	while ((n = read(signal_pipe[0], sigs, sizeof(sigs))) > 0)
		for (ssize_t i = 0; i < n; i++) {
			if (sigs[i] == SIGUSR1)
				shut_down(RB_HALT_SYSTEM, "The system is halting\n");
			if (sigs[i] == SIGUSR2)
				shut_down(RB_POWER_OFF, "The system is powering off\n");
			if (sigs[i] == SIGTERM)
				shut_down(RB_AUTOBOOT, "The system is restarting\n");
		}
	reap();
}

/* Start what is due; return ms until the next start, -1 for none. */
static int start_due(struct service **list, int n)
{
	long long now = now_ms();
	long long next = -1;

	for (int i = 0; i < n; i++) {
		struct service *s = list[i];

		if (s->pid)
			continue;
		if (s->start_at_ms <= now)
			start(s);
		if (!s->pid && (next < 0 || s->start_at_ms - now < next))
			next = s->start_at_ms > now ? s->start_at_ms - now : 0;
	}
	return next;
}

/* The first command finds /tmp mounted. Whatever goes wrong with ramfs, the machine goes on after a moment. */
static void start_ramfs(void)
{
	struct pollfd pfd = {.events = POLLIN};

	if (pipe(ready) < 0)
		return;
	fcntl(ready[0], F_SETFD, FD_CLOEXEC);
	start(&ramfs);
	close(ready[1]);
	pfd.fd = ready[0];
	while (poll(&pfd, 1, READY_MS) < 0 && errno == EINTR)
		;
	close(ready[0]);
}

int main(void)
{
	struct service *list[3] = {&console, &ramfs, &shell};

	if (fcntl(0, F_GETFD) < 0) {
		int fd = open("/dev/console", O_RDWR | O_NOCTTY);

		while (fd >= 0 && fd < 2)
			fd = dup(fd);
	}
	if (getpid() != 1) {
		fprintf(stderr, "init: I am process %d; only process 1 can be init\n", getpid());
		return 1;
	}
	catch_signals();
	if (access("/vm/argv", R_OK) == 0)
		list[2] = &hostlink;
	else
		show_motd();
	start(&console);
	start_ramfs();
	for (;;) {
		struct pollfd pfd = {.fd = signal_pipe[0], .events = POLLIN};
		int timeout = start_due(list, 3);

		poll(&pfd, 1, timeout);
		handle_signals();
	}
}

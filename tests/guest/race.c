/* SPDX-License-Identifier: MIT */
/*
 * Races and rare cases of processes, threads, signals and memory: each test is a hole that a review
 * of the kernel found, or guards one that would be easy to open. The loops are sized so that the
 * races of a kernel with the hole showed up at --smp 4.
 */
#include "tap.h" /* first: it asks for the GNU names */

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/time.h>

static volatile int flag;

static void set_flag(int sig)
{
	(void)sig;
	flag++;
}

static void on_signal(int sig, void (*handler)(int), int flags)
{
	struct sigaction sa = {.sa_handler = handler, .sa_flags = flags};

	sigemptyset(&sa.sa_mask);
	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static uint32_t rnd_state = 12345;

static uint32_t rnd(void)
{
	rnd_state = rnd_state * 1664525u + 1013904223u;
	return rnd_state >> 8;
}

static void spin(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		__asm__ volatile("pause");
}

/* A program interrupted with -ERESTARTSYS (and its like) in rax is no interrupted system call. */
TEST(sigreturn_restarts_no_system_call)
{
	struct itimerval it = {{0, 0}, {0, 20000}};

	on_signal(SIGALRM, set_flag, 0);
	for (long code = -516; code <= -512; code++) {
		long rax = code;

		flag = 0;
		CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
		/* An interrupt mostly comes before the loop's first instruction: 2 bytes back is ud2. */
		__asm__ volatile("jmp 2f\n"
				 "1: ud2\n"
				 "2: testl $-1, %1\n\t"
				 "jnz 3f\n\t"
				 "jmp 2b\n"
				 "3:\n"
				 : "+a"(rax)
				 : "m"(flag)
				 : "memory", "cc");
		CHECK(rax == code);
	}
}

/* SIGCHLD is ignored by default, but not while somebody waits for it. */
TEST(sigtimedwait_takes_signals_ignored_by_default)
{
	static const int sigs[] = {SIGCHLD, SIGURG, SIGWINCH};
	struct timespec limit = {10, 0};
	siginfo_t info;
	sigset_t set;

	for (unsigned i = 0; i < 3; i++) {
		pid_t pid, parent = getpid();

		sigemptyset(&set);
		sigaddset(&set, sigs[i]);
		CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
		pid = check_fork();
		if (pid == 0) {
			sleep_ms(100);
			if (sigs[i] != SIGCHLD)
				kill(parent, sigs[i]);
			_exit(0);
		}
		CHECK(sigtimedwait(&set, &info, &limit) == sigs[i]);
		CHECK(info.si_pid == pid);
		check_exit(pid, 0);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
}

static struct {
	volatile int *page;
	volatile int reading, seen;
} stale;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	CHECK(sched_setaffinity(0, sizeof(set), &set) == 0);
}

/* Only reads, alone on its CPU: nothing but a shootdown makes its CPU forget the old frame. */
static void *stale_reader(void *arg)
{
	struct timespec start, now;
	int want = (int)(intptr_t)arg;

	pin(1);
	CHECK(*stale.page == want - 1);
	stale.reading = 1;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 10000; i++) {
			if (*stale.page == want) {
				stale.seen = 1;
				return NULL;
			}
			__asm__ volatile("pause");
		}
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 20);
	return NULL;
}

/* A page shared with a child is copied for a writer: the writer's other threads must see the copy, not the frame the child keeps. */
TEST(threads_see_the_copy_of_a_shared_page)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return;
	stale.page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(stale.page != MAP_FAILED);
	pin(0);
	for (int round = 1; round <= 3; round++) {
		pthread_t thread;
		pid_t pid = check_fork();

		if (pid == 0) {
			pause(); /* keeps its half of the pages */
			_exit(0);
		}
		stale.reading = stale.seen = 0;
		CHECK(pthread_create(&thread, NULL, stale_reader, (void *)(intptr_t)round) == 0);
		while (!stale.reading)
			sched_yield();
		*stale.page = round;
		CHECK(pthread_join(thread, NULL) == 0);
		CHECK(stale.seen);
		kill(pid, SIGKILL);
		check_killed(pid, SIGKILL);
	}
	munmap((void *)stale.page, 4096);
}

#define MAPPERS 4

static void *mapper(void *arg)
{
	unsigned char mark = (unsigned char)(uintptr_t)arg;

	for (int i = 0; i < 200; i++) {
		size_t len = (1 + i % 4) * 4096;
		volatile unsigned char *p =
			mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(p != MAP_FAILED);
		for (size_t at = 0; at < len; at += 4096) {
			CHECK(p[at] == 0);
			p[at] = mark;
		}
		sched_yield();
		for (size_t at = 0; at < len; at += 4096)
			CHECK(p[at] == mark);
		CHECK(munmap((void *)p, len) == 0);
	}
	return NULL;
}

/* Finding a free range and taking it must be one step. */
TEST(threads_map_at_the_same_time)
{
	pthread_t t[MAPPERS];

	for (uintptr_t i = 0; i < MAPPERS; i++)
		CHECK(pthread_create(&t[i], NULL, mapper, (void *)(i + 1)) == 0);
	for (int i = 0; i < MAPPERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

static void *keep_replacing(void *arg)
{
	(void)arg;
	for (int i = 0; i < 200; i++) {
		void *p = mmap((void *)0x10000000, 8192, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | 0x100000 /* MAP_FIXED_NOREPLACE */, -1,
			       0);

		if (p == MAP_FAILED) {
			CHECK(errno == EEXIST);
			continue;
		}
		CHECK(p == (void *)0x10000000);
		CHECK(__atomic_add_fetch(&flag, 1, __ATOMIC_SEQ_CST) == 1);
		sched_yield();
		CHECK(__atomic_sub_fetch(&flag, 1, __ATOMIC_SEQ_CST) == 0);
		CHECK(munmap(p, 8192) == 0);
	}
	return NULL;
}

TEST(fixed_noreplace_has_one_winner)
{
	pthread_t t[MAPPERS];

	flag = 0;
	for (int i = 0; i < MAPPERS; i++)
		CHECK(pthread_create(&t[i], NULL, keep_replacing, NULL) == 0);
	for (int i = 0; i < MAPPERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
}

static void *timer_setter(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg * 7919;

	for (int i = 0; i < 2000; i++) {
		struct itimerval it = {{0, 0}, {0, 0}};

		seed = seed * 1664525u + 1013904223u;
		it.it_value.tv_usec = (seed >> 8) % 3 ? (seed >> 10) % 300 : 0;
		it.it_interval.tv_usec = (seed >> 20) % 2 ? 50 + (seed >> 21) % 200 : 0;
		CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
		if (!(seed >> 28))
			sched_yield();
	}
	return NULL;
}

/* One timer, several threads that set it while it fires. */
TEST(threads_set_one_itimer)
{
	struct itimerval off = {{0, 0}, {0, 0}};
	pthread_t t[MAPPERS];
	int before;

	on_signal(SIGALRM, set_flag, SA_RESTART);
	for (uintptr_t i = 0; i < MAPPERS; i++)
		CHECK(pthread_create(&t[i], NULL, timer_setter, (void *)(i + 1)) == 0);
	for (int i = 0; i < MAPPERS; i++)
		CHECK(pthread_join(t[i], NULL) == 0);
	CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
	before = flag;
	sleep_ms(50);
	CHECK(flag == before);
}

TEST(itimer_is_silent_once_disarmed)
{
	on_signal(SIGALRM, set_flag, SA_RESTART);
	for (int i = 0; i < 2000; i++) {
		struct itimerval on = {{0, 30}, {0, 30}}, off = {{0, 0}, {0, 0}};
		int before;

		CHECK(setitimer(ITIMER_REAL, &on, NULL) == 0);
		spin(rnd() % 2000);
		CHECK(setitimer(ITIMER_REAL, &off, NULL) == 0);
		before = flag;
		spin(2000);
		CHECK(flag == before);
	}
}

/* A process that ends while its timer fires: the timer must not survive it. */
TEST(process_ends_while_its_itimer_fires)
{
	for (int i = 0; i < 300; i++) {
		pid_t pid = check_fork();

		if (pid == 0) {
			struct itimerval on = {{0, 20}, {0, 20}};

			signal(SIGALRM, SIG_IGN);
			setitimer(ITIMER_REAL, &on, NULL);
			spin(rnd() % 3000 + (unsigned)i);
			_exit(0);
		}
		check_exit(pid, 0);
	}
}

static void *end_at_once(void *arg)
{
	spin((unsigned)(uintptr_t)arg);
	return NULL;
}

/* Threads that end by themselves while the process ends and its memory goes. */
TEST(threads_end_with_the_process)
{
	for (int i = 0; i < 300; i++) {
		pid_t pid = check_fork();

		if (pid == 0) {
			pthread_t t;

			for (int n = 0; n < 8; n++)
				if (pthread_create(&t, NULL, end_at_once,
						   (void *)(uintptr_t)(rnd() % 500)))
					_exit(1);
			spin(rnd() % 1000);
			if (i % 2)
				syscall(SYS_exit, 0); /* the last thread ends the process */
			_exit(0);
		}
		check_exit(pid, 0);
	}
}

static volatile int reports;
static pid_t target;

static void *reporter(void *arg)
{
	siginfo_t info;

	(void)arg;
	for (;;) {
		CHECK(waitid(P_PID, (id_t)target, &info, WSTOPPED | WCONTINUED | WEXITED) == 0);
		__atomic_add_fetch(&reports, 1, __ATOMIC_SEQ_CST);
		if (info.si_code == CLD_KILLED)
			return NULL;
	}
}

/* Whoever waits for a stop or continue learns of it, however fast they follow each other. */
TEST(no_continue_is_lost_on_a_waiter)
{
	pthread_t t;

	target = check_fork();
	if (target == 0)
		for (;;)
			spin(100);
	CHECK(pthread_create(&t, NULL, reporter, NULL) == 0);
	for (int i = 0; i < 300; i++) {
		siginfo_t info = {0};
		int seen;

		CHECK(kill(target, SIGSTOP) == 0);
		spin(rnd() % 4000);
		CHECK(kill(target, SIGCONT) == 0);
		sleep_ms(5);
		seen = reports;
		CHECK(waitid(P_PID, (id_t)target, &info,
			     WSTOPPED | WCONTINUED | WNOHANG | WNOWAIT) == 0);
		for (int ms = 0; info.si_pid && reports == seen; ms += 10) {
			CHECK(ms <
			      3000); /* there is something to report, and the waiter sleeps on */
			sleep_ms(10);
		}
	}
	CHECK(kill(target, SIGKILL) == 0);
	CHECK(pthread_join(t, NULL) == 0);
}

/* Wait up to 5 s for the end of everybody who holds the pipe's write end. */
static bool all_gone(int fd)
{
	struct pollfd p = {fd, POLLIN, 0};

	return poll(&p, 1, 5000) == 1 && (p.revents & POLLHUP);
}

/* The group of an ending process is orphaned by that: its stopped members get SIGHUP and SIGCONT. */
TEST(own_group_orphaned_by_exit_is_hung_up)
{
	int fds[2];
	pid_t leader;

	CHECK(pipe(fds) == 0);
	leader = check_fork();
	if (leader == 0) {
		int status;
		pid_t pid;

		CHECK(setpgid(0, 0) == 0);
		close(fds[0]);
		pid = check_fork();
		if (pid == 0) {
			raise(SIGSTOP);
			for (;;)
				pause();
		}
		CHECK(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
		_exit(0);
	}
	close(fds[1]);
	check_exit(leader, 0);
	CHECK(all_gone(fds[0]));
}

/* Nobody could continue a member of an orphaned group: the terminal's stop signals do nothing to it. */
TEST(orphaned_group_does_not_stop)
{
	static const int sigs[] = {SIGTSTP, SIGTTIN, SIGTTOU};
	pid_t pid = check_fork();
	int status;

	if (pid == 0) {
		CHECK(setsid() > 0);
		for (unsigned i = 0; i < 3; i++)
			raise(sigs[i]);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, WUNTRACED) == pid);
	if (WIFSTOPPED(status))
		kill(pid, SIGKILL);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(a_vfork_parent_can_be_killed)
{
	int fds[2];
	pid_t pid;

	CHECK(pipe(fds) == 0);
	pid = check_fork();
	if (pid == 0) {
		close(fds[0]);
		if (vfork() == 0) {
			char c = 'c';

			(void)!write(fds[1], &c, 1);
			close(fds[1]);
			for (;;)
				pause();
		}
		_exit(1);
	} else {
		char c;

		close(fds[1]);
		CHECK(read(fds[0], &c, 1) == 1);
		sleep_ms(50);
		CHECK(kill(pid, SIGKILL) == 0);
		CHECK(all_gone(fds[0]));
		check_killed(pid, SIGKILL);
	}
}

static int word;

static int clears_word(void *arg)
{
	(void)arg;
	return 0;
}

/* CLONE_CHILD_CLEARTID also for a child with a process of its own in our memory. */
TEST(child_tid_is_cleared_in_shared_memory)
{
	static char stack[16384] __attribute__((aligned(16)));
	pid_t pid;

	word = 77;
	pid = clone(clears_word, stack + sizeof(stack), CLONE_VM | CLONE_CHILD_CLEARTID | SIGCHLD,
		    NULL, NULL, NULL, &word);
	CHECK(pid > 0);
	check_exit(pid, 0);
	CHECK(word == 0);
}

/* An exit signal that does not exist is not sent. */
TEST(clone_with_impossible_exit_signal)
{
	for (int sig = 60; sig < 256; sig += 5) {
		int status;
		pid_t pid;

		signal(sig, SIG_IGN);
		pid = (pid_t)syscall(SYS_clone, (long)sig, 0L, 0L, 0L, 0L);
		if (pid < 0)
			continue;
		if (pid == 0)
			_exit(3);
		CHECK(waitpid(pid, &status, 0x40000000 /* __WALL */) == pid);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	}
}

static void *mask_juggler(void *arg)
{
	sigset_t none;

	(void)arg;
	sigemptyset(&none);
	for (;;) {
		struct timespec ts = {100, 0};

		ppoll(NULL, 0, &ts, &none);
		sigsuspend(&none);
	}
	return NULL;
}

/* execve() ends threads that are just falling asleep with another mask. */
TEST(exec_ends_threads_that_change_masks)
{
	for (int i = 0; i < 60; i++) {
		pid_t pid = check_fork();

		if (pid == 0) {
			char *args[] = {"true", NULL};
			pthread_t t[6];

			on_signal(SIGUSR1, set_flag, 0);
			for (int n = 0; n < 6; n++)
				if (pthread_create(&t[n], NULL, mask_juggler, NULL))
					_exit(1);
			for (unsigned n = 0; n < rnd() % 60 + (unsigned)i; n++) {
				pthread_kill(t[n % 6], SIGUSR1);
				spin(rnd() % 200);
			}
			execv("/bin/true", args);
			_exit(2);
		}
		check_exit(pid, 0);
	}
}

/* What the kernel writes of a structure contains nothing but what it means to say. */
TEST(sigframe_and_siginfo_leak_nothing)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	CHECK(raise(SIGUSR2) == 0);
	memset(&info, 0xaa, sizeof(info));
	CHECK(sigwaitinfo(&set, &info) == SIGUSR2);
	for (size_t i = 24; i < sizeof(info); i++)
		CHECK(((unsigned char *)&info)[i] == 0);
}

static const struct test tests[] = {
	T(sigreturn_restarts_no_system_call),
	T(sigtimedwait_takes_signals_ignored_by_default),
	T(threads_see_the_copy_of_a_shared_page),
	T(threads_map_at_the_same_time),
	T(fixed_noreplace_has_one_winner),
	T(itimer_is_silent_once_disarmed),
	T(process_ends_while_its_itimer_fires),
	T(threads_end_with_the_process),
	T(no_continue_is_lost_on_a_waiter),
	T(own_group_orphaned_by_exit_is_hung_up),
	T(orphaned_group_does_not_stop),
	T(a_vfork_parent_can_be_killed),
	T(child_tid_is_cleared_in_shared_memory),
	T(clone_with_impossible_exit_signal),
	T(exec_ends_threads_that_change_masks),
	T(sigframe_and_siginfo_leak_nothing),
	T(threads_set_one_itimer),
};

TEST_MAIN

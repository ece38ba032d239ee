// SPDX-License-Identifier: MIT
/*
 * Signals: delivery, masks, what a handler's return restores, restart, timers, stop and continue,
 * and the errors of kill().
 */
#include <setjmp.h>
#include <sys/time.h>

#include "tap.h"

#include <sched.h>

static volatile sig_atomic_t count, last;

static void on_signal(int sig)
{
	count++;
	last = sig;
}

static void handle(int sig, void (*fn)(int), int flags)
{
	struct sigaction sa = {.sa_handler = fn, .sa_flags = flags};

	CHECK(sigaction(sig, &sa, NULL) == 0);
}

static void block(int how, int sig, sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	CHECK(sigprocmask(how, &set, old) == 0);
}

TEST(handler_runs)
{
	handle(SIGUSR1, on_signal, 0);
	CHECK(kill(getpid(), SIGUSR1) == 0);
	CHECK(count == 1 && last == SIGUSR1); /* before kill() returned */
	CHECK(raise(SIGUSR1) == 0 && count == 2);
}

TEST(blocked_signal_waits)
{
	sigset_t pending;

	handle(SIGUSR1, on_signal, 0);
	block(SIG_BLOCK, SIGUSR1, NULL);
	kill(getpid(), SIGUSR1);
	kill(getpid(), SIGUSR1);
	CHECK(count == 0);
	CHECK(sigpending(&pending) == 0 && sigismember(&pending, SIGUSR1));
	block(SIG_UNBLOCK, SIGUSR1, NULL);
	CHECK(count == 1); /* standard signals do not queue */
}

TEST(kill_and_stop_cannot_be_blocked_or_caught)
{
	sigset_t set, now;
	struct sigaction sa = {.sa_handler = on_signal};

	sigfillset(&set);
	CHECK(sigprocmask(SIG_SETMASK, &set, NULL) == 0);
	CHECK(sigprocmask(SIG_SETMASK, NULL, &now) == 0);
	CHECK(!sigismember(&now, SIGKILL) && !sigismember(&now, SIGSTOP));
	CHECK(sigismember(&now, SIGTERM));
	CHECK_ERR(sigaction(SIGKILL, &sa, NULL), EINVAL);
	CHECK_ERR(sigaction(SIGSTOP, &sa, NULL), EINVAL);
	CHECK_ERR(sigaction(65, &sa, NULL), EINVAL);
	CHECK(sigaction(SIGKILL, NULL, &sa) == 0);
}

static volatile sig_atomic_t depth, deepest;

static void nest(int sig)
{
	if (++depth > deepest)
		deepest = depth;
	if (++count < 3)
		kill(getpid(), sig);
	depth--;
}

TEST(own_signal_is_blocked_in_handler)
{
	handle(SIGUSR1, nest, 0);
	kill(getpid(), SIGUSR1);
	CHECK(count == 3 && deepest == 1 && depth == 0); /* one after the other */
}

TEST(nodefer_nests)
{
	handle(SIGUSR1, nest, SA_NODEFER);
	kill(getpid(), SIGUSR1);
	CHECK(count == 3 && deepest == 3 && depth == 0);
}

static volatile sig_atomic_t masked_inside;

static void look_at_mask(int sig)
{
	sigset_t now;

	(void)sig;
	sigprocmask(SIG_BLOCK, NULL, &now);
	masked_inside = sigismember(&now, SIGUSR2) && sigismember(&now, SIGUSR1);
}

TEST(sa_mask_applies_in_handler_only)
{
	struct sigaction sa = {.sa_handler = look_at_mask};
	sigset_t now;

	sigaddset(&sa.sa_mask, SIGUSR2);
	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	kill(getpid(), SIGUSR1);
	CHECK(masked_inside);
	CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0);
	CHECK(!sigismember(&now, SIGUSR1) && !sigismember(&now, SIGUSR2));
}

TEST(resethand_resets)
{
	struct sigaction sa;

	handle(SIGUSR1, on_signal, SA_RESETHAND);
	kill(getpid(), SIGUSR1);
	CHECK(count == 1);
	CHECK(sigaction(SIGUSR1, NULL, &sa) == 0 && sa.sa_handler == SIG_DFL);
}

static siginfo_t info;

static void on_info(int sig, siginfo_t *si, void *context)
{
	(void)context;
	info = *si;
	last = sig;
	count++;
}

TEST(siginfo_says_who)
{
	struct sigaction sa = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO};
	pid_t pid;

	CHECK(sigaction(SIGUSR1, &sa, NULL) == 0);
	CHECK(sigaction(SIGCHLD, &sa, NULL) == 0);
	kill(getpid(), SIGUSR1);
	CHECK(info.si_signo == SIGUSR1 && info.si_code == SI_USER && info.si_pid == getpid());
	pid = check_fork();
	if (pid == 0)
		_exit(6);
	while (count < 2)
		sleep_ms(1);
	CHECK(info.si_signo == SIGCHLD && info.si_pid == pid && info.si_code == CLD_EXITED &&
	      info.si_status == 6);
	check_exit(pid, 6);
}

static sigjmp_buf jump;

static void on_fault(int sig, siginfo_t *si, void *context)
{
	(void)context;
	info = *si;
	siglongjmp(jump, sig);
}

TEST(fault_handler_gets_the_address)
{
	struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};

	CHECK(sigaction(SIGSEGV, &sa, NULL) == 0);
	for (int i = 0; i < 3; i++) {
		if (sigsetjmp(jump, 1) == 0) {
			*(volatile char *)0x123456 = 1;
			CHECK(!"no fault");
		}
		CHECK(info.si_addr == (void *)0x123456 && info.si_code == SEGV_MAPERR);
	}
}

static void clobber(int sig)
{
	(void)sig;
	count++;
	/* Everything a handler may use freely. */
	__asm__ volatile("pxor %%xmm0, %%xmm0; pxor %%xmm7, %%xmm7; pxor %%xmm15, %%xmm15;"
			 "fninit; xor %%eax, %%eax; xor %%r10d, %%r10d; xor %%r11d, %%r11d"
			 :
			 :
			 : "rax", "r10", "r11", "xmm0", "xmm7", "xmm15", "cc");
}

/* All registers survive a signal that comes from outside at any moment. */
TEST(return_restores_registers_and_sse)
{
	struct itimerval it = {{0, 1000}, {0, 1000}};
	uint64_t a[2] = {0x1111222233334444, 0x5555666677778888}, x[2];

	handle(SIGALRM, clobber, 0);
	alarm(0);
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	while (count < 100) {
		uint64_t bad = 0;

		__asm__ volatile(
			"movdqu %[a], %%xmm0; movdqu %[a], %%xmm7; movdqu %[a], %%xmm15;"
			"mov $0x123456789, %%r8; mov $0x987654321, %%r11;"
			"mov $0xabcdef, %%r12; mov $200000, %%ecx; stc;"
			"1: jnc 2f; dec %%ecx; jnz 1b; jmp 3f;" /* dec keeps the carry flag */
			"2: mov $1, %[bad];"
			"3: mov $0x123456789, %%rax; cmp %%rax, %%r8; jne 4f;"
			"mov $0x987654321, %%rax; cmp %%rax, %%r11; jne 4f;"
			"cmp $0xabcdef, %%r12; jne 4f;"
			"pcmpeqd %%xmm0, %%xmm7; pmovmskb %%xmm7, %%eax; cmp $0xffff, %%eax;"
			"jne 4f; jmp 5f;"
			"4: mov $2, %[bad];"
			"5: movdqu %%xmm15, %[x]"
			: [bad] "+b"(bad), [x] "=m"(x)
			: [a] "m"(a)
			: "rax", "rcx", "r8", "r11", "r12", "xmm0", "xmm7", "xmm15", "cc");
		CHECK(bad == 0);
		CHECK(x[0] == a[0] && x[1] == a[1]);
	}
}

static volatile uintptr_t handler_frame;

static void note_frame(int sig)
{
	(void)sig;
	handler_frame = (uintptr_t)__builtin_frame_address(0);
}

TEST(alternate_stack)
{
	static char stack[16384];
	uintptr_t low = (uintptr_t)stack;
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)}, old;

	CHECK(sigaltstack(&ss, NULL) == 0);
	handle(SIGUSR1, note_frame, SA_ONSTACK);
	kill(getpid(), SIGUSR1);
	CHECK(handler_frame > low && handler_frame < low + sizeof(stack));
	CHECK(sigaltstack(NULL, &old) == 0 && old.ss_sp == stack);
	ss.ss_size = 100;
	CHECK_ERR(sigaltstack(&ss, NULL), ENOMEM);
}

TEST(sigsuspend_swaps_the_mask)
{
	sigset_t empty, now;

	handle(SIGUSR1, on_signal, 0);
	block(SIG_BLOCK, SIGUSR1, NULL);
	kill(getpid(), SIGUSR1);
	sigemptyset(&empty);
	CHECK_ERR(sigsuspend(&empty), EINTR);
	CHECK(count == 1);
	CHECK(sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGUSR1));
}

TEST(pause_ends_by_signal)
{
	pid_t parent = getpid();

	handle(SIGUSR1, on_signal, 0);
	if (check_fork() == 0) {
		for (int i = 0; i < 20; i++) {
			sleep_ms(20);
			kill(parent, SIGUSR1);
		}
		_exit(0);
	}
	CHECK_ERR(pause(), EINTR);
	CHECK(count >= 1);
}

TEST(sigchld_comes_with_every_kind_of_end)
{
	struct sigaction sa = {.sa_sigaction = on_info, .sa_flags = SA_SIGINFO};
	sigset_t old;
	pid_t pid;

	CHECK(sigaction(SIGCHLD, &sa, NULL) == 0);
	block(SIG_BLOCK, SIGCHLD, &old);
	pid = check_fork();
	if (pid == 0)
		for (;;)
			pause();
	kill(pid, SIGSTOP);
	sigsuspend(&old);
	CHECK(info.si_code == CLD_STOPPED && info.si_status == SIGSTOP);
	kill(pid, SIGCONT);
	sigsuspend(&old);
	CHECK(info.si_code == CLD_CONTINUED);
	kill(pid, SIGKILL);
	sigsuspend(&old);
	CHECK(info.si_code == CLD_KILLED && info.si_status == SIGKILL);
	check_killed(pid, SIGKILL);
}

TEST(nocldstop_hides_stops)
{
	pid_t pid;

	handle(SIGCHLD, on_signal, SA_NOCLDSTOP);
	pid = check_fork();
	if (pid == 0)
		for (;;)
			pause();
	kill(pid, SIGSTOP);
	CHECK(waitpid(pid, NULL, WUNTRACED) == pid);
	CHECK(count == 0);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0)
		CHECK(errno == EINTR);
	CHECK(count == 1);
}

TEST(alarm_and_its_remainder)
{
	int64_t start;

	handle(SIGALRM, on_signal, 0);
	CHECK(alarm(10) > 0); /* the frame's own time limit was set */
	CHECK(alarm(1) >= 9);
	start = now_ns();
	CHECK_ERR(pause(), EINTR);
	CHECK(last == SIGALRM);
	CHECK(now_ns() - start > 900000000 && now_ns() - start < 3000000000);
	alarm(5);
	CHECK(alarm(0) > 0);
	CHECK(alarm(0) == 0);
}

TEST(setitimer_repeats)
{
	struct itimerval it = {{0, 20000}, {0, 20000}}, left;
	int64_t start = now_ns();

	handle(SIGALRM, on_signal, 0);
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	while (count < 5)
		pause();
	CHECK(now_ns() - start >= 99000000);
	CHECK(getitimer(ITIMER_REAL, &left) == 0);
	CHECK(left.it_interval.tv_usec == 20000 && left.it_value.tv_usec <= 20001);
	memset(&it, 0, sizeof(it));
	CHECK(setitimer(ITIMER_REAL, &it, NULL) == 0);
	count = 0;
	sleep_ms(60);
	CHECK(count == 0);
	it.it_value.tv_usec = 1000000;
	CHECK_ERR(setitimer(ITIMER_REAL, &it, NULL), EINVAL);
	CHECK_ERR(setitimer(7, &it, NULL), EINVAL);
}

TEST(stop_really_stops)
{
	static volatile long *shared;
	long before;
	pid_t pid;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(shared != MAP_FAILED);
	pid = check_fork();
	if (pid == 0)
		for (;;)
			(*shared)++;
	while (!*shared)
		sleep_ms(1);
	kill(pid, SIGSTOP);
	CHECK(waitpid(pid, NULL, WUNTRACED) == pid);
	before = *shared;
	sleep_ms(50);
	CHECK(*shared == before);
	kill(pid, SIGTERM); /* stays pending while stopped */
	sleep_ms(20);
	CHECK(waitpid(pid, NULL, WNOHANG) == 0);
	kill(pid, SIGCONT);
	check_killed(pid, SIGTERM);
}

TEST(group_kill)
{
	enum { N = 5 };
	pid_t first = 0;

	for (int i = 0; i < N; i++) {
		pid_t pid = check_fork();

		if (pid == 0)
			for (;;)
				pause();
		if (!first)
			first = pid;
		CHECK(setpgid(pid, first) == 0);
	}
	CHECK(kill(-first, SIGTERM) == 0);
	for (int i = 0; i < N; i++) {
		int status;

		CHECK(wait(&status) > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	}
	CHECK_ERR(kill(-first, 0), ESRCH);
}

TEST(kill_errors)
{
	pid_t pid = check_fork();

	if (pid == 0)
		_exit(0);
	CHECK_ERR(kill(getpid(), 65), EINVAL);
	CHECK_ERR(kill(getpid(), -1), EINVAL);
	CHECK_ERR(kill(999999, 0), ESRCH);
	CHECK(kill(getpid(), 0) == 0);
	CHECK(kill(pid, 0) == 0); /* also when it is a zombie */
	check_exit(pid, 0);
	CHECK_ERR(kill(pid, 0), ESRCH);
	CHECK_ERR(syscall(SYS_tgkill, -1, 1, 0), EINVAL);
	CHECK_ERR(syscall(SYS_rt_sigaction, SIGUSR1, BAD_PTR, NULL, 8), EFAULT);
	CHECK_ERR(syscall(SYS_rt_sigprocmask, SIG_BLOCK, BAD_PTR, NULL, 8), EFAULT);
	CHECK_ERR(syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, NULL, 4), EINVAL);
}

TEST(ignored_signals_do_not_interrupt)
{
	pid_t parent = getpid(), pid;
	int64_t start = now_ns();
	struct timespec ts = {0, 100000000};

	signal(SIGUSR1, SIG_IGN);
	pid = check_fork();
	if (pid == 0) {
		sleep_ms(20);
		kill(parent, SIGUSR1);
		_exit(0);
	}
	signal(SIGCHLD, SIG_DFL);
	CHECK(nanosleep(&ts, NULL) == 0);
	CHECK(now_ns() - start >= 100000000);
	check_exit(pid, 0);
}

/* A flood from another process: never a crash, the last one is never lost. */
TEST(flood)
{
	pid_t parent = getpid(), pid;

	handle(SIGUSR1, on_signal, 0);
	pid = check_fork();
	if (pid == 0) {
		for (int i = 0; i < 20000; i++)
			kill(parent, SIGUSR1);
		_exit(0);
	}
	while (waitpid(pid, NULL, 0) < 0)
		CHECK(errno == EINTR);
	CHECK(count >= 1);
}

/* ---- queued signals ---- */

static volatile int queued_seen, queued_values[64];
static volatile pid_t queued_pid;

static void on_queued(int sig, siginfo_t *info, void *context)
{
	(void)context;
	CHECK(info->si_signo == sig && info->si_code == SI_QUEUE);
	queued_pid = info->si_pid;
	queued_values[queued_seen++ % 64] = info->si_value.sival_int;
}

static void block_rt(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		sigaddset(&set, sig);
	CHECK(sigprocmask(how, &set, NULL) == 0);
}

TEST(realtime_signals_queue_in_order)
{
	struct sigaction sa = {.sa_sigaction = on_queued, .sa_flags = SA_SIGINFO};

	for (int sig = SIGRTMIN; sig <= SIGRTMIN + 2; sig++)
		CHECK(sigaction(sig, &sa, NULL) == 0);
	block_rt(SIG_BLOCK);
	for (int i = 0; i < 5; i++)
		for (int s = 2; s >= 0; s--)
			CHECK(sigqueue(getpid(), SIGRTMIN + s,
				       (union sigval){.sival_int = s * 10 + i}) == 0);
	CHECK(queued_seen == 0);
	/* By number, then in order of arrival. With the numbers unblocked at once each handler may be cut by the next. */
	for (int s = 0; s < 3; s++) {
		sigset_t one;

		sigemptyset(&one);
		sigaddset(&one, SIGRTMIN + s);
		CHECK(sigprocmask(SIG_UNBLOCK, &one, NULL) == 0);
	}
	CHECK(queued_seen == 15 && queued_pid == getpid());
	for (int i = 0; i < 15; i++)
		CHECK(queued_values[i] == i / 5 * 10 + i % 5);
}

TEST(sigwaitinfo_takes_one_by_one)
{
	struct timespec none = {0, 0};
	siginfo_t info;
	sigset_t set;
	pid_t pid;

	block_rt(SIG_BLOCK);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	pid = check_fork();
	if (pid == 0) {
		for (int i = 0; i < 20; i++)
			CHECK(sigqueue(getppid(), SIGRTMIN + 1, (union sigval){.sival_int = i}) ==
			      0);
		CHECK(kill(getppid(), SIGRTMIN + 1) == 0);
		_exit(0);
	}
	for (int i = 0; i < 20; i++) {
		CHECK(sigwaitinfo(&set, &info) == SIGRTMIN + 1);
		CHECK(info.si_code == SI_QUEUE && info.si_pid == pid && info.si_uid == getuid());
		CHECK(info.si_value.sival_int == i);
	}
	CHECK(sigwaitinfo(&set, &info) == SIGRTMIN + 1 && info.si_code == SI_USER &&
	      info.si_pid == pid);
	CHECK_ERR(sigtimedwait(&set, &info, &none), EAGAIN);
	check_exit(pid, 0);
	/* A standard signal waits once, with the first siginfo. */
	sigaddset(&set, SIGUSR2);
	CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
	CHECK(sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 7}) == 0);
	CHECK(sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 8}) == 0);
	CHECK(sigwaitinfo(&set, &info) == SIGUSR2 && info.si_value.sival_int == 7);
	CHECK_ERR(sigtimedwait(&set, &info, &none), EAGAIN);
}

TEST(queue_is_bounded)
{
	struct timespec none = {0, 0};
	long sent = 0, got = 0;
	siginfo_t info;
	sigset_t set;

	block_rt(SIG_BLOCK);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	while (sent < 300000 &&
	       sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = sent}) == 0)
		sent++;
	CHECK(sent < 300000 && errno == EAGAIN && sent > 10);
	/* kill() is not refused, it only says less. */
	CHECK(kill(getpid(), SIGRTMIN + 3) == 0);
	while (sigtimedwait(&set, &info, &none) == SIGRTMIN) {
		CHECK(info.si_value.sival_int == got);
		got++;
	}
	CHECK(got == sent);
	/* There is room again; ignoring it empties the queue too. */
	for (int i = 0; i < 3; i++) {
		for (sent = 0; sent < 300000 &&
			       sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 0}) == 0;)
			sent++;
		/* Linux counts for all processes of a user: others may hold a few. */
		CHECK(sent > got / 2 && sent < 300000);
		signal(SIGRTMIN, SIG_IGN);
		signal(SIGRTMIN, SIG_DFL);
		CHECK_ERR(sigtimedwait(&set, &info, &none), EAGAIN);
	}
}

TEST(queueing_says_who_one_is)
{
	char raw[128] = {0};
	siginfo_t *info = (siginfo_t *)raw;

	info->si_code = SI_USER;
	CHECK_ERR(syscall(SYS_rt_sigqueueinfo, getppid(), 0, raw), EPERM);
	info->si_code = -6; /* SI_TKILL */
	CHECK_ERR(syscall(SYS_rt_sigqueueinfo, getppid(), 0, raw), EPERM);
	CHECK(syscall(SYS_rt_sigqueueinfo, getpid(), 0, raw) == 0);
	info->si_code = SI_QUEUE;
	CHECK(syscall(SYS_rt_sigqueueinfo, getppid(), 0, raw) == 0);
	CHECK_ERR(syscall(SYS_rt_sigqueueinfo, 0x3ffffff, SIGUSR1, raw), ESRCH);
	CHECK_ERR(syscall(SYS_rt_sigqueueinfo, getpid(), 65, raw), EINVAL);
	CHECK_ERR(syscall(SYS_rt_sigqueueinfo, getpid(), SIGUSR1, BAD_PTR), EFAULT);
	CHECK_ERR(syscall(SYS_rt_tgsigqueueinfo, 0, getpid(), SIGUSR1, raw), EINVAL);
	CHECK_ERR(syscall(SYS_rt_tgsigqueueinfo, getppid(), getpid(), SIGUSR1, raw), ESRCH);
	block_rt(SIG_BLOCK);
	CHECK(syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGRTMIN, raw) == 0);
}

/* Senders on several CPUs: each one's signals arrive all, and in its order. */
TEST(queue_race)
{
	struct timespec limit = {20, 0};
	int next[4] = {0};
	pid_t pid[4];
	siginfo_t info;
	sigset_t set;

	block_rt(SIG_BLOCK);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 1);
	for (int s = 0; s < 4; s++) {
		pid[s] = check_fork();
		if (pid[s] == 0) {
			for (int i = 0; i < 500; i++)
				while (sigqueue(getppid(), SIGRTMIN + 1,
						(union sigval){.sival_int = s << 16 | i}))
					sched_yield();
			_exit(0);
		}
	}
	for (int n = 0; n < 4 * 500; n++) {
		int s;

		CHECK(sigtimedwait(&set, &info, &limit) == SIGRTMIN + 1);
		s = info.si_value.sival_int >> 16;
		CHECK(s >= 0 && s < 4 && next[s]++ == (info.si_value.sival_int & 0xffff));
	}
	for (int s = 0; s < 4; s++)
		check_exit(pid[s], 0);
}

static const struct test tests[] = {
	T(handler_runs),
	T(blocked_signal_waits),
	T(kill_and_stop_cannot_be_blocked_or_caught),
	T(own_signal_is_blocked_in_handler),
	T(nodefer_nests),
	T(sa_mask_applies_in_handler_only),
	T(resethand_resets),
	T(siginfo_says_who),
	T(fault_handler_gets_the_address),
	T(return_restores_registers_and_sse),
	T(alternate_stack),
	T(sigsuspend_swaps_the_mask),
	T(pause_ends_by_signal),
	T(sigchld_comes_with_every_kind_of_end),
	T(nocldstop_hides_stops),
	T(alarm_and_its_remainder),
	T(setitimer_repeats),
	T(stop_really_stops),
	T(group_kill),
	T(kill_errors),
	T(ignored_signals_do_not_interrupt),
	T(flood),
	T(realtime_signals_queue_in_order),
	T(sigwaitinfo_takes_one_by_one),
	T(queue_is_bounded),
	T(queueing_says_who_one_is),
	T(queue_race),
};

TEST_MAIN

// SPDX-License-Identifier: MIT
/*
 * SSE and x87 state is each process's own: it survives switches among many processes, fork and
 * signals, and begins clean after exec.
 */
#include "tap.h"

#include <sched.h>

struct state {
	uint64_t xmm[16][2];
	double st[4];
	uint32_t mxcsr;
	uint16_t control;
};

static void fill(struct state *s, uint64_t seed)
{
	for (int i = 0; i < 16; i++)
		for (int j = 0; j < 2; j++)
			s->xmm[i][j] = seed =
				seed * 6364136223846793005ULL + 1442695040888963407ULL;
	for (int i = 0; i < 4; i++)
		s->st[i] = (double)(seed >> 40) + i;
	s->mxcsr = 0x1f80 | (seed >> 20 & 3) << 13; /* rounding mode differs too */
	s->control = 0x037f & ~(3 << 8);
	s->control |= (seed >> 21 & 1 ? 3 : 2) << 8; /* precision control */
}

#define XMM(op)                                                                                 \
	op(0) op(1) op(2) op(3) op(4) op(5) op(6) op(7) op(8) op(9) op(10) op(11) op(12) op(13) \
		op(14) op(15)
#define LOAD(n)	 "movdqu " #n "*16(%[a]), %%xmm" #n ";"
#define STORE(n) "movdqu %%xmm" #n ", " #n "*16(%[b]);"

/* Load state a, burn the registers' owner some time or switches, store to b. */
static void hold(const struct state *a, struct state *b, long spins)
{
	for (int i = 0; i < 4; i++)
		b->st[i] = 0;
	__asm__ volatile(
		"fninit; fldcw %[control]; ldmxcsr %[mxcsr];"
		"fldl %[in]; fldl 8+%[in]; fldl 16+%[in]; fldl 24+%[in];" XMM(
			LOAD) "1: mov $24, %%eax; syscall;" /* sched_yield */
			      "dec %[spins]; jnz 1b;" XMM(
				      STORE) "fstpl 24+%[out]; fstpl 16+%[out]; fstpl 8+%[out]; fstpl %[out];"
		: [spins] "+r"(spins), [out] "+m"(b->st)
		: [a] "r"(a->xmm), [b] "r"(b->xmm), [control] "m"(a->control),
		  [mxcsr] "m"(a->mxcsr), [in] "m"(a->st)
		: "rax", "rcx", "r11", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5",
		  "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
		  "xmm15", "st", "st(1)", "st(2)", "st(3)", "cc");
	__asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(b->mxcsr), "=m"(b->control));
	b->mxcsr &= ~0x3f; /* sticky exception flags */
	__asm__ volatile("fninit; ldmxcsr %0" : : "m"((uint32_t){0x1f80}));
}

static void check_holding(uint64_t seed, int rounds, long spins)
{
	static struct state a, b;

	for (int i = 0; i < rounds; i++) {
		fill(&a, seed + i * 1000003);
		hold(&a, &b, spins);
		CHECK(!memcmp(a.xmm, b.xmm, sizeof(a.xmm)));
		CHECK(!memcmp(a.st, b.st, sizeof(a.st)));
		CHECK(a.mxcsr == b.mxcsr && a.control == b.control);
	}
}

static void many(int procs)
{
	int status;

	for (int i = 0; i < procs; i++)
		if (check_fork() == 0) {
			check_holding(i * 7919 + 1, 40, 50);
			_exit(0);
		}
	for (int i = 0; i < procs; i++)
		CHECK(wait(&status) > 0 && status == 0);
}

TEST(state_survives_switches_on_one_cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	CHECK(sched_setaffinity(0, sizeof(one), &one) == 0);
	many(6);
}

TEST(state_survives_switches_on_all_cpus)
{
	many(20);
}

/* Without a system call: only the tick can switch here. */
TEST(state_survives_preemption)
{
	int status;

	for (int p = 0; p < 8; p++)
		if (check_fork() == 0) {
			double x = 1 + p, sum = 0;
			int64_t end = now_ns() + 500000000;

			do {
				sum = 0;
				for (int i = 0; i < 20000; i++) {
					x = x * 1.000001 + 0.5;
					sum += x;
					x -= sum * 1e-9;
				}
				x = 1 + p;
				if (sum != sum)
					_exit(2);
			} while (now_ns() < end);
			{
				double y = 1 + p, again = 0;

				for (int i = 0; i < 20000; i++) {
					y = y * 1.000001 + 0.5;
					again += y;
					y -= again * 1e-9;
				}
				_exit(again == sum ? 0 : 1);
			}
		}
	for (int p = 0; p < 8; p++)
		CHECK(wait(&status) > 0 && status == 0);
}

TEST(fork_copies_the_control_words)
{
	uint32_t mxcsr = 0x5f80, now;
	uint16_t control = 0x0b7f, control_now;
	pid_t pid;

	__asm__ volatile("ldmxcsr %0; fldcw %1" : : "m"(mxcsr), "m"(control));
	pid = fork();
	__asm__ volatile("stmxcsr %0; fnstcw %1" : "=m"(now), "=m"(control_now));
	if (pid == 0)
		_exit((now & ~0x3f) == mxcsr && control_now == control ? 0 : 1);
	CHECK((now & ~0x3f) == mxcsr && control_now == control);
	check_exit(pid, 0);
}

TEST(exec_starts_clean)
{
	char *argv[] = {self_path, "--clean", NULL};
	uint32_t mxcsr = 0x7f80;
	pid_t pid = check_fork();

	if (pid == 0) {
		__asm__ volatile("ldmxcsr %0; fld1; fldpi" : : "m"(mxcsr));
		execve(self_path, argv, NULL);
		_exit(9);
	}
	check_exit(pid, 0);
}

TEST(unmasked_exception_is_sigfpe)
{
	pid_t pid = check_fork();

	if (pid == 0) {
		/* x87, not SSE: QEMU's TCG never raises the SIMD exception (#XM). */
		uint16_t control = 0x37f & ~4; /* divide by zero unmasked */

		__asm__ volatile("fninit; fldcw %0; fld1; fldz; fdivrp; fwait" : : "m"(control));
		_exit(1);
	}
	check_killed(pid, SIGFPE);
}

static int is_clean(void)
{
	struct {
		uint16_t control, pad, status, pad2, tag, pad3;
		uint32_t rest[4];
	} env;
	uint32_t mxcsr;

	__asm__ volatile("stmxcsr %0; fnstenv %1" : "=m"(mxcsr), "=m"(env));
	if (mxcsr != 0x1f80)
		return 1;
	if (env.control != 0x037f)
		return 2;
	return env.tag == 0xffff ? 0 : 3;
}

static const struct test tests[] = {
	T(state_survives_switches_on_one_cpu),
	T(state_survives_switches_on_all_cpus),
	T(state_survives_preemption),
	T(fork_copies_the_control_words),
	T(exec_starts_clean),
	T(unmasked_exception_is_sigfpe),
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--clean"))
		return is_clean();
	return tap_main(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
}

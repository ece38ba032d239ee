/* SPDX-License-Identifier: MIT */
/*
 * fuzz SECONDS [SEED] - random system calls with hostile arguments, in children that may die of it; the
 * kernel may not, and others may not notice: a bystander computes all the time and checks its memory,
 * registers and floating-point state. At the end everything must be dead that was killed, and the free
 * memory must be what it was.
 *
 * Arguments are drawn by kind (descriptor, buffer, length, process, ...), each kind holding good values,
 * values at the edge and nonsense. Left out is what would rightly hurt others: reboot, signals to
 * foreign processes, the terminal, leaving the process group by which everything is killed.
 */
#include "tap.h"

#include <dirent.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/time.h>

#define CHILDREN      6
#define STEPS	      3000
#define CHILD_MS      500
#define COMPLAINTS    900   /* descriptor; beyond those the calls are drawn from */
#define GRACE_MS      30000 /* a child that has not gone by then, after SIGKILL, is hung */
#define LEAK_PAGES_OK 64
#define PAGE	      4096
#define ARENA	      (64 * PAGE)

/* What every child writes before a call, so that a hang has a name. */
struct slot {
	volatile long nr, args[6], calls;
	volatile bool
		changed; /* a register; an exit status would not tell: children exit with any */
};

static struct slot *slots, *mine;
static volatile unsigned long *bystander_rounds;
static uint64_t state;
static char *arena; /* good page, read-only page, no-access page, hole, then room to play */
static int depth;
static pid_t first_pid;
static volatile bool
	shared_stack; /* after vfork or clone(CLONE_VM) two run on one stack: nothing is sure any more */

static uint64_t rnd64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 0x2545f4914f6cdd1dull;
}

static unsigned rnd(unsigned below)
{
	return (unsigned)((rnd64() >> 33) % below);
}

/* ---- arguments by kind ---- */

static uint64_t odd_number(void)
{
	static const uint64_t odd[] = {0,
				       1,
				       2,
				       7,
				       8,
				       0x7f,
				       0xff,
				       0xfff,
				       0x1000,
				       0x1001,
				       0x7fff,
				       0xffff,
				       0x10000,
				       0x7fffffff,
				       0x80000000,
				       0xffffffff,
				       0x100000000,
				       0x7ffffffff000,
				       0x7fffffffffff,
				       0x800000000000,
				       0x7ffffffffffff000,
				       0x7fffffffffffffff,
				       0x8000000000000000,
				       0xfffffffffffff000,
				       0xffffffffffffffff};

	switch (rnd(4)) {
	case 0:
		return rnd64();
	case 1:
		return rnd64() >> rnd(64);
	case 2:
		return 1ull << rnd(64);
	default:
		return odd[rnd(sizeof(odd) / sizeof(odd[0]))] + (rnd(4) ? 0 : rnd64() % 17 - 8);
	}
}

static uint64_t bad_address(void)
{
	static const uint64_t bad[] = {0,
				       8,
				       0xfff,
				       0x7fffffffeff8,
				       0x7ffffffff000,
				       0x7fffffffffff,
				       0x800000000000,
				       0x8000000000000000,
				       0xffff7fffffffffff,
				       0xffff800000000000,
				       0xffff800000100000,
				       0xffffc00000000000,
				       0xffffd00000000000,
				       0xffffffff80000000,
				       0xffffffff80100000,
				       0xfffffffffffffff8,
				       0xffffffffffffffff};

	return bad[rnd(sizeof(bad) / sizeof(bad[0]))];
}

static uint64_t buffer(void)
{
	char *p = arena;

	switch (rnd(10)) {
	case 0:
		return bad_address();
	case 1: /* a read-only, an inaccessible page, a hole */
		return (uint64_t)(p + PAGE * (1 + rnd(3)) + rnd(PAGE));
	case 2: /* good to the end of the page, then read-only */
		return (uint64_t)(p + PAGE - rnd(64));
	case 3:
		return (uint64_t)(p + rnd(ARENA));
	case 4: /* the kernel must not trust what it read once */
		for (int i = 0; i < 8; i++)
			*(uint64_t *)(p + 8 * rnd(PAGE / 8)) = rnd(2) ? odd_number() : rnd(5);
		/* fall through */
	default:
		return (uint64_t)(p + 8 * rnd(PAGE / 8 - 64));
	}
}

static uint64_t path(void)
{
	static const char *const paths[] = {"/",
					    "/bin/true",
					    "/proc/self/maps",
					    "/proc/self/stat",
					    "/proc/1/status",
					    "/proc/self/fd",
					    "/dev/null",
					    "/dev/zero",
					    "/dev/full",
					    "/dev/urandom",
					    "/etc/passwd",
					    "/proc/stat",
					    "/dev/irq/9",
					    "/proc/meminfo",
					    "/no/such/thing",
					    "/etc/passwd/x",
					    "",
					    "..",
					    "/proc/self/fd/0",
					    "/proc/self/exe",
					    "/proc/uptime",
					    "/bin",
					    "/proc",
					    "/dev/fd/3",
					    "/tmp",
					    "/tmp/fuzz",
					    "/tmp/fuzz",
					    "/tmp/fuzz2",
					    "/tmp/fuzz.d",
					    "/tmp/fuzz.d/a",
					    "/tmp/fuzz.d/../fuzz.l",
					    "/mnt/a"};

	switch (rnd(8)) {
	case 0:
		return buffer();
	case 1: { /* as long as a path may be, and longer */
		unsigned n = 4090 + rnd(12), at = 4 * PAGE;

		for (unsigned i = 0; i < n; i++)
			arena[at + i] = i % 2 ? '.' : '/';
		arena[at + n] = '\0';
		return (uint64_t)(arena + at);
	}
	default:
		return (uint64_t)paths[rnd(sizeof(paths) / sizeof(paths[0]))];
	}
}

static uint64_t process(void)
{
	switch (rnd(6)) {
	case 0:
		return 0;
	case 1:
		return (uint64_t)getpid();
	case 2:
		return (uint64_t)first_pid;
	case 3: /* nobody */
		return 32768 + rnd(1000);
	case 4:
		return (uint64_t)(uint32_t) - (int)(40000 + rnd(1000));
	default:
		return (uint64_t)syscall(SYS_gettid);
	}
}

static uint64_t argument(char kind)
{
	switch (kind) {
	case 'f':
		return rnd(8) ? rnd(20) : rnd(2) ? (uint64_t) - (int64_t)rnd(120) : odd_number();
	case 'b':
		return buffer();
	case 'l':
		return rnd(3) ? rnd(3 * PAGE) : odd_number();
	case 't':
		return path();
	case 'p':
		return process();
	case 's':
		return rnd(8) ? rnd(66) : odd_number();
	case 'i':
		return rnd(4) ? rnd(8) : odd_number();
	case 'F': /* flags */
		return rnd(3) ? 1ull << rnd(32) | 1ull << rnd(32) : odd_number();
	case 'a': /* for mappings: mostly our own playground */
		return rnd(6)	? (uint64_t)(arena + (4 + rnd(60)) * PAGE)
		       : rnd(3) ? odd_number() & ~0xfffull
				: odd_number();
	case 'L': /* a mapping's length: small, or too large to be touched whole */
		return rnd(5) ? PAGE * rnd(40) : 1ull << (38 + rnd(26)) | rnd(PAGE);
	case 'z':
		return rnd(10) ? 8 : odd_number();
	case '0':
		return 0;
	case 'm': /* what may be mounted upon; nobody needs /mnt */
		return rnd(3) ? (uint64_t) "/mnt" : path();
	case 'k':
		return rnd(4) ? (uint64_t) "pipe" : path();
	case 'o': {
		static const char *const options[] = {"rfdno=3,wfdno=4",
						      "rfdno=5,wfdno=6",
						      "rfdno=3,wfdno=6",
						      "rfdno=4,wfdno=3",
						      "rfdno=,wfdno=99999999999999999999",
						      "rfdno"};

		return rnd(6) ? (uint64_t)options[rnd(6)] : buffer();
	}
	case 'P': /* 6..8, 11..13 are the PI operations */
		return (6 + rnd(8)) | (rnd(2) ? 128 : 0);
	case 'n': /* a mode, of any type */
		return rnd(2) ? rnd(01000) : rnd(0200000);
	default:
		return odd_number();
	}
}

struct call {
	int nr;
	const char *args;
};

static const struct call calls[] = {
	{0, "fbl"},
	{1, "fbl"},
	{2, "tFi"},
	{3, "f"},
	{4, "tb"},
	{5, "fb"},
	{6, "tb"},
	{7, "bii"},
	{8, "fxi"},
	{9, "aLiFfl"},
	{9, "aLiFfl"},
	{10, "aLi"},
	{10, "aLi"},
	{11, "aL"},
	{12, "x"},
	{13, "sbbz"},
	{14, "ibbz"},
	{15, ""},
	{16, "fxb"},
	{17, "fblx"},
	{18, "fblx"},
	{19, "fbi"},
	{20, "fbi"},
	{21, "ti"},
	{22, "b"},
	{22, "b"},
	{23, "ibbbb"},
	{24, ""},
	{28, "aLi"},
	{32, "f"},
	{33, "ff"},
	{34, ""},
	{35, "bb"},
	{36, "ib"},
	{37, "i"},
	{38, "ibb"},
	{39, ""},
	{40, "ffbl"},
	{41, "iii"},
	{53, "iiib"},
	{56, "F0bbx"},
	{56, "F0bbb"},
	{57, ""},
	{58, ""},
	{59, "tbb"},
	{60, "i"},
	{61, "pbFb"},
	{62, "ps"},
	{63, "b"},
	{72, "fix"},
	{72, "fFx"},
	{74, "f"},
	{76, "tx"},
	{77, "fx"},
	{79, "bl"},
	{80, "t"},
	{81, "f"},
	{82, "tt"},
	{83, "ti"},
	{87, "t"},
	{89, "tbl"},
	{95, "i"},
	{96, "bb"},
	{97, "ib"},
	{98, "ib"},
	{99, "b"},
	{100, "b"},
	{103, "ibl"},
	{109, "xx"},
	{115, "ib"},
	{118, "bbb"},
	{121, "p"},
	{124, "p"},
	{127, "bz"},
	{128, "bbbz"},
	{130, "bz"},
	{131, "bb"},
	{137, "tb"},
	{138, "fb"},
	{140, "ip"},
	{142, "pb"},
	{143, "pb"},
	{144, "pib"},
	{145, "p"},
	{146, "i"},
	{147, "i"},
	{148, "pb"},
	{149, "aL"},
	{151, "i"},
	{157, "ibbbb"},
	{158, "ib"},
	{158, "xx"},
	{173, "iii"},
	{200, "ps"},
	{201, "b"},
	{202, "biibbi"},
	{202, "bFixbx"},
	{203, "plb"},
	{204, "plb"},
	{217, "fbl"},
	{218, "b"},
	{219, ""},
	{221, "fxxi"},
	{228, "ib"},
	{229, "ib"},
	{230, "iibb"},
	{231, "i"},
	{234, "pps"},
	{247, "ipbFb"},
	{257, "ftFi"},
	{262, "ftbF"},
	{267, "ftbl"},
	{269, "fti"},
	{270, "ibbbbb"},
	{271, "bibbz"},
	{273, "bl"},
	{274, "pbb"},
	{292, "ffF"},
	{293, "bF"},
	{302, "pibb"},
	{309, "bbb"},
	{318, "blF"},
	{439, "ftiF"},
	{-1, "xxxxxx"},
	/* sockets: descriptors 11 and 12 are a pair */
	{44, "fblFbl"},
	{45, "fblFbb"},
	{46, "fbF"},
	{46, "fbi"},
	{47, "fbF"},
	{47, "fbi"},
	{48, "fi"},
	/* files, some of them of a server */
	{75, "f"},
	{84, "t"},
	{85, "tn"},
	{86, "tt"},
	{88, "tt"},
	{90, "tn"},
	{91, "fn"},
	{92, "tii"},
	{93, "fii"},
	{94, "tii"},
	{132, "tb"},
	{133, "tnx"},
	{162, ""},
	{235, "tb"},
	{258, "ftn"},
	{259, "ftnx"},
	{260, "ftiiF"},
	{263, "ftF"},
	{264, "ftft"},
	{265, "ftftF"},
	{266, "tft"},
	{268, "ftn"},
	{280, "ftbF"},
	{316, "ftfti"},
	{165, "tmkFo"},
	/* identities */
	{102, ""},
	{104, ""},
	{105, "i"},
	{106, "i"},
	{107, ""},
	{108, ""},
	{110, ""},
	{111, ""},
	{112, ""},
	{113, "ii"},
	{114, "ii"},
	{117, "iii"},
	{119, "iii"},
	{120, "bbb"},
	{125, "bb"},
	{141, "ipi"},
	{186, ""},
	{150, "aL"},
	{152, ""},
	/* queued signals and timers; ids are small numbers */
	{129, "psb"},
	{297, "ppsb"},
	{222, "ibb"},
	{222, "i0b"},
	{223, "iibb"},
	{224, "ib"},
	{225, "i"},
	{226, "i"},
	/* PI futexes: lock, unlock, try, wait-requeue, cmp-requeue, lock2, private or not */
	{202, "bPibbi"},
	{202, "bPibbi"},
	{169, ""},
	{170, ""},
};

/* Would rightly be felt by others? Or would take a child out of the reach of its killer. */
static bool excluded(long nr, const uint64_t *a)
{
	switch (nr) {
	case SYS_kill: /* 0 and our own: fine; -1 and other groups: not */
	case SYS_tkill:
	case SYS_tgkill:
	case SYS_rt_sigqueueinfo:
	case SYS_rt_tgsigqueueinfo:
		return (int)a[0] < 0 && (int)a[0] > -40000;
	case SYS_reboot:
	case SYS_setsid:
	case SYS_sethostname:
		return true;
	case SYS_setpgid:
		return (int)a[1] >= 0;
	case SYS_setpriority:
		return (int)a[0] == 2;
	case SYS_fork:
	case SYS_vfork:
	case SYS_clone:
		return depth > 3 || rnd(4);
	case SYS_exit:
	case SYS_exit_group:
	case SYS_pause: /* these too end a child's work, or hold it up */
	case SYS_rt_sigsuspend:
	case SYS_rt_sigreturn:
	case SYS_rt_sigprocmask:
		return rnd(20);
	default:
		return nr == -1 && (a[0] & 1);
	}
}

/* The call itself, and that it leaves alone what it must. Return: the result; dies if a register changed. */
static long call6(long nr, const uint64_t *a)
{
	struct {
		uint64_t in[6], out[6], saved[6], rsp[2];
		long ret;
	} r;
	static const uint64_t magic[6] = {0x1111111111111111, 0x2222222222222222,
					  0x3333333333333333, 0x4444444444444444,
					  0x5555555555555555, 0x6666666666666666};

	memcpy(r.in, a, sizeof(r.in));
	r.ret = nr;
	__asm__ volatile(
		"push %%rbp\n\tpush %%rbx\n\tpush %0\n\tpush %1\n\t"
		"mov %0, %%rcx\n\tmov %1, %%rbx\n\t"
		"mov 0(%%rbx), %%r12\n\tmov 8(%%rbx), %%r13\n\tmov 16(%%rbx), %%r14\n\tmov 24(%%rbx), %%r15\n\t"
		"mov 32(%%rbx), %%rbp\n\tmov 40(%%rbx), %%rbx\n\t"
		"mov 0(%%rcx), %%rdi\n\tmov 8(%%rcx), %%rsi\n\tmov 16(%%rcx), %%rdx\n\t"
		"mov 24(%%rcx), %%r10\n\tmov 32(%%rcx), %%r8\n\tmov 40(%%rcx), %%r9\n\t"
		"mov 160(%%rcx), %%rax\n\tmov %%rsp, 144(%%rcx)\n\t"
		"syscall\n\t"
		"mov 8(%%rsp), %%rcx\n\tmov %%rsp, 152(%%rcx)\n\tmov %%rax, 160(%%rcx)\n\t"
		"mov %%rdi, 48(%%rcx)\n\tmov %%rsi, 56(%%rcx)\n\tmov %%rdx, 64(%%rcx)\n\t"
		"mov %%r10, 72(%%rcx)\n\tmov %%r8, 80(%%rcx)\n\tmov %%r9, 88(%%rcx)\n\t"
		"mov %%r12, 96(%%rcx)\n\tmov %%r13, 104(%%rcx)\n\tmov %%r14, 112(%%rcx)\n\tmov %%r15, 120(%%rcx)\n\t"
		"mov %%rbp, 128(%%rcx)\n\tmov %%rbx, 136(%%rcx)\n\t"
		"pop %%rax\n\tpop %%rax\n\tpop %%rbx\n\tpop %%rbp\n\t"
		:
		: "r"(&r), "r"(magic)
		: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
		  "r15", "memory", "cc");
	if (nr != SYS_rt_sigreturn && !shared_stack &&
	    (memcmp(r.in, r.out, sizeof(r.in)) != 0 || memcmp(r.saved, magic, sizeof(magic)) != 0 ||
	     r.rsp[0] != r.rsp[1])) {
		static const char text[] = "fuzz: a system call changed a register\n";

		mine->changed = true;
		if (write(COMPLAINTS, text, sizeof(text) - 1) < 0)
			_exit(96);
		_exit(97);
	}
	return r.ret;
}

static void nothing(int sig)
{
	(void)sig;
}

static void one_step(struct slot *slot)
{
	const struct call *c = &calls[rnd(sizeof(calls) / sizeof(calls[0]))];
	uint64_t a[6] = {0};
	long nr = c->nr;

	for (int i = 0; i < 6; i++)
		a[i] = i < (int)strlen(c->args) ? argument(c->args[i]) : rnd64();
	if (nr == -1)
		nr = rnd(2) ? (long)rnd(460) : (long)odd_number();
	if (c->nr == -1 && nr >= 0 &&
	    nr < 460) /* random numbers: only what does not exist or cannot matter */
		for (unsigned i = 0; i < 6; i++)
			a[i] = bad_address();
	if (excluded(nr, a))
		return;
	slot->nr = nr;
	for (int i = 0; i < 6; i++)
		slot->args[i] = (long)a[i];
	slot->calls++;
	if ((nr == SYS_fork || nr == SYS_vfork || nr == SYS_clone))
		depth++;
	if (nr == SYS_vfork || (nr == SYS_clone && a[0] & 0x100))
		shared_stack = true;
	/* A table of descriptors that stays usable. */
	if ((nr == SYS_close || nr == SYS_dup2 || nr == SYS_dup3) && rnd(4))
		a[nr == SYS_close ? 0 : 1] |= 16;
	if (nr == SYS_setitimer && rnd(4))
		return;
	call6(nr, a);
}

static void child(int n, uint64_t seed)
{
	struct itimerval it = {{0, 5000}, {0, 5000}};
	struct sigaction sa = {.sa_handler = nothing};
	struct sched_param other = {.sched_priority = 0};
	int fds[2];

	state = seed | 1;
	mine = &slots[n];
	first_pid = getpid();
	setpgid(0, 0);
	syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &other); /* musl has only a stub for it */
	for (int fd = 0; fd < 3; fd++)
		if (dup2(open("/dev/null", O_RDWR), fd) < 0)
			_exit(1);
	for (int i = 0; i < 2; i++)
		if (pipe(fds) < 0)
			_exit(1);
	open("/etc/passwd", O_RDONLY);
	open("/dev/zero", O_RDWR);
	open("/proc/self/status", O_RDONLY);
	open("/bin", O_RDONLY | O_DIRECTORY);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
		_exit(1);
	open("/tmp/fuzz", O_RDWR | O_CREAT, 0600);
	/* Nothing of ours behind it: what overruns it must not hit the slots. */
	arena = mmap((void *)0x200000000000, ARENA, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		_exit(1);
	mprotect(arena + PAGE, PAGE, PROT_READ);
	mprotect(arena + 2 * PAGE, PAGE, PROT_NONE);
	munmap(arena + 3 * PAGE, PAGE);
	for (int i = 0; i < PAGE / 8; i++)
		((uint64_t *)arena)[i] = rnd(3) ? rnd(9) : odd_number();
	sigaction(SIGALRM, &sa, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGPIPE, &sa, NULL);
	setitimer(ITIMER_REAL, &it, NULL);
	for (int i = 0; i < STEPS; i++)
		one_step(&slots[n]);
	_exit(0);
}

/* ---- who must not notice ---- */

static void bystander(void)
{
	static uint64_t data[8192];
	volatile double third = 1.0 / 3.0;

	for (uint64_t round = 1;; round++) {
		uint64_t x = round * 0x9e3779b97f4a7c15ull, sum = 0, again = 0, r12 = x;
		double d = third, e = 0;

		for (unsigned i = 0; i < 8192; i++) {
			x ^= x << 13, x ^= x >> 7, x ^= x << 17;
			data[i] = x;
			sum += x;
			e += d * 3.0 - 1.0;
		}
		__asm__ volatile("" : "+r"(r12));
		for (unsigned i = 0; i < 8192; i++)
			again += data[i];
		if (sum != again || e != 8192 * (d * 3.0 - 1.0) ||
		    r12 != round * 0x9e3779b97f4a7c15ull)
			_exit(98);
		*bystander_rounds = round;
	}
}

/* ---- the keeper ---- */

static long free_pages(void)
{
	struct sysinfo si;

	CHECK(sysinfo(&si) == 0);
	return (long)(si.freeram / PAGE);
}

static void report_hang(int n, pid_t pid)
{
	printf("not ok 1 - fuzz: child %d does not die; its last call: %ld(", pid, slots[n].nr);
	for (int i = 0; i < 6; i++)
		printf("%s%#lx", i ? ", " : "", slots[n].args[i]);
	printf(")\n");
	exit(1);
}

/* Kill the group of child @n and wait until nothing of it is left. */
static void finish(int n, pid_t pid)
{
	int64_t limit = now_ns() + GRACE_MS * 1000000LL;

	while (waitpid(pid, NULL, WNOHANG) == 0) {
		kill(-pid, SIGKILL);
		kill(pid, SIGKILL);
		if (now_ns() > limit)
			report_hang(n, pid);
		sleep_ms(2);
	}
	while (kill(-pid, SIGKILL) == 0) {
		if (now_ns() > limit)
			report_hang(n, pid);
		sleep_ms(2);
	}
}

/* What children left in @dir, whatever they called it and however deep. */
static void sweep(const char *dir)
{
	char path[PATH_MAX];
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dir, e->d_name) >= (int)sizeof(path))
			continue;
		chmod(path, 0700);
		if (unlink(path) < 0) {
			sweep(path);
			rmdir(path);
		}
	}
	if (d)
		closedir(d);
}

static long run(int seconds, uint64_t seed)
{
	int64_t end = now_ns() + seconds * 1000000000LL, until[CHILDREN];
	pid_t pid[CHILDREN] = {0};
	long children = 0;
	bool more = true;

	do {
		bool busy = false;

		more = now_ns() < end;
		for (int n = 0; n < CHILDREN; n++) {
			if (pid[n]) {
				siginfo_t info = {0};

				CHECK(waitid(P_PID, (id_t)pid[n], &info,
					     WEXITED | WNOHANG | WNOWAIT) == 0);
				if (!info.si_pid && now_ns() < until[n]) {
					busy = true;
					continue;
				}
				finish(n, pid[n]);
				if (slots[n].changed) {
					printf("not ok 1 - fuzz: call %ld changed a register\n",
					       slots[n].nr);
					exit(1);
				}
				pid[n] = 0;
			}
			if (!more)
				continue;
			pid[n] = fork();
			CHECK(pid[n] >= 0);
			if (pid[n] == 0)
				child(n, seed + (uint64_t)children * 0x9e3779b97f4a7c15ull);
			setpgid(pid[n], pid[n]);
			until[n] = now_ns() + CHILD_MS * 1000000LL;
			children++;
			busy = true;
		}
		if (busy)
			sleep_ms(3);
		more = more || busy;
	} while (more);
	return children;
}

int main(int argc, char **argv)
{
	int seconds = argc > 1 ? atoi(argv[1]) : 10;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
	unsigned long before, rounds;
	struct sched_param param = {.sched_priority = 10};
	long warm, left, children, calls_made = 0;
	pid_t by;
	int status;

	if (fcntl(COMPLAINTS, F_GETFD) >= 0)
		return 0; /* a child has executed /proc/self/exe: one keeper is enough */
	if (!on_jiffies() && geteuid() == 0) {
		printf("not ok 1 - fuzz: not as root on a machine with something to lose\n");
		return 1;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	tap_pipe[1] = 2;
	CHECK(dup2(2, COMPLAINTS) ==
	      COMPLAINTS); /* where a child complains, whatever happens to its descriptors */
	slots = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(slots != MAP_FAILED);
	bystander_rounds = (void *)((char *)slots + PAGE / 2);
	printf("# seed %llu\n", (unsigned long long)seed);
	by = check_fork();
	if (by == 0) {
		setpgid(0, 0);
		bystander();
	}
	if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &param) <
	    0) /* nothing a child does must keep us from killing it */
		printf("# not real time: %s\n", strerror(errno));
	run(2, seed ^ 0x5555); /* caches grow to their working size */
	if (on_jiffies())
		sweep("/tmp");
	sleep_ms(200);
	warm = free_pages();
	before = *bystander_rounds;
	children = run(seconds, seed);
	rounds = *bystander_rounds - before;
	for (int n = 0; n < CHILDREN; n++)
		calls_made += slots[n].calls;
	if (on_jiffies())
		sweep("/tmp");
	for (int i = 0; i < 50; i++) { /* init has orphans to bury */
		sleep_ms(100);
		left = free_pages();
		if (warm - left <= LEAK_PAGES_OK)
			break;
	}
	printf("# %ld children, %ld calls, bystander %lu rounds, free pages %ld -> %ld\n", children,
	       calls_made, rounds, warm, left);
	if (waitpid(by, &status, WNOHANG) != 0) {
		printf("not ok 1 - fuzz: the bystander was hurt (status %#x)\n", status);
		return 1;
	}
	kill(by, SIGKILL);
	check_killed(by, SIGKILL);
	if (!rounds) {
		printf("not ok 1 - fuzz: the bystander did not run\n");
		return 1;
	}
	if (on_jiffies() && warm - left > LEAK_PAGES_OK) {
		printf("not ok 1 - fuzz: %ld pages leaked\n", warm - left);
		return 1;
	}
	printf("ok 1 - fuzz\n1..1\n");
	return 0;
}

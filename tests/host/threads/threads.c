/* SPDX-License-Identifier: MIT
 *
 * The scheduling core under ThreadSanitizer (make host-tsan): a thread for each CPU, real spin locks, every thread doing at random
 * what tasks do. Now and then all threads meet and one of them checks what must hold; at the end every task must have run.
 *
 * Volatile accesses are the kernel's marked accesses (READ_ONCE, WRITE_ONCE), and the compiler is asked to report them apart. A
 * marked read is a hint that may meet any write of one aligned word, so it is no race; a marked write is told to the sanitizer
 * as a relaxed atomic one. Everything else must be ordered by locks or atomics. Tasks are never freed, as if everybody who names one held a reference.
 *
 * usage: threads POLICY CPUS MILLISECONDS [SEED]
 */
#include "sched/internal.h"

#include <pthread.h>
#include <sanitizer/tsan_interface_atomic.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define MAX_TASKS 20000
#define LIVE_MOST 40
#define START	  1000000000ull

struct host_cpu host_cpus[MAX_CPUS];
unsigned host_ncpus;
_Thread_local unsigned host_cpu;

struct thr_task {
	struct task task;		/* first */
	u32 published, dead, ran, seen; /* atomic but for seen */
};
static struct thr_task tasks[MAX_TASKS];
static u32 nr_tasks, nr_live; /* atomic */
static struct task idle_tasks[MAX_CPUS];
static u64 clock_ns = START; /* atomic */
static u32 stop, quiet;	     /* atomic */
static pthread_barrier_t meeting;
static u64 meetings, nr_ops; /* nr_ops atomic */
static _Thread_local u64 rng;
static _Thread_local jmp_buf exit_jump;
static _Thread_local bool exiting;

/* ------------------------------------------------------- marked accesses */

#define MARKED(bits, bytes)                                                         \
	void __tsan_volatile_read##bytes(void *p);                                  \
	void __tsan_volatile_write##bytes(void *p);                                 \
	void __tsan_volatile_read##bytes(void *p)                                   \
	{                                                                           \
	}                                                                           \
	void __tsan_volatile_write##bytes(void *p)                                  \
	{                                                                           \
		__tsan_atomic##bits##_fetch_add(p, 0, __tsan_memory_order_relaxed); \
	}
MARKED(8, 1)
MARKED(16, 2)
MARKED(32, 4)
MARKED(64, 8)

/* --------------------------------------------------------------- machine */

static u64 random_below(u64 below)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return below ? (rng >> 8) % below : rng;
}

void cpu_relax(void)
{
	sched_yield();
}

/* Time passes by being looked at: ticks are as frequent, however slow the sanitizer is. */
u64 machine_now(void)
{
	return __atomic_add_fetch(&clock_ns, 2000, __ATOMIC_RELAXED);
}

void machine_send_resched(unsigned cpu)
{
	__atomic_store_n(&host_cpus[cpu].resched_ipi, 1, __ATOMIC_SEQ_CST);
}

void machine_send_migrate(unsigned cpu)
{
	__atomic_store_n(&host_cpus[cpu].migrate_ipi, 1, __ATOMIC_SEQ_CST);
}

struct task *machine_switch(struct task *prev, struct task *next)
{
	if (host_cpus[host_cpu].preempt != 1 || !host_cpus[host_cpu].irqs_off)
		machine_bug("switch with preemption count %u", host_cpus[host_cpu].preempt);
	return prev;
}

void machine_task_dead(struct task *t)
{
	if (__atomic_exchange_n(&((struct thr_task *)t)->dead, 1, __ATOMIC_RELAXED))
		machine_bug("task %u died twice", t->id);
	__atomic_sub_fetch(&nr_live, 1, __ATOMIC_RELAXED);
}

void machine_tick(bool on)
{
	host_cpus[host_cpu].tick_on = on;
	host_cpus[host_cpu].next_tick = machine_now() + sched_tick_ns;
}

void machine_set_hz(unsigned hz)
{
}

void machine_idle_halt(void)
{
	irq_enable();
	sched_yield();
}

void machine_idle_nops(void)
{
}

void *machine_alloc(size_t size)
{
	void *p;

	size = ALIGN_UP(size, 64);
	p = aligned_alloc(64, size);
	return p ? memset(p, 0, size) : NULL;
}

void machine_free(void *p, size_t size)
{
	free(p);
}

u64 machine_random(void)
{
	return random_below(0);
}

void machine_stop_others(void (*fn)(void *), void *arg)
{
	machine_bug("no policy switches here");
}

void machine_stop_point(void)
{
}

void machine_log(const char *fmt, ...)
{
}

void machine_bug(const char *fmt, ...)
{
	va_list ap;

	if (exiting && !strcmp(fmt, "task %u ran after its exit")) {
		exiting = false;
		longjmp(exit_jump, 1);
	}
	va_start(ap, fmt);
	fputs("threads: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	_Exit(2);
}

/* --------------------------------------------------------------- tasks */

static struct thr_task *new_task(void)
{
	u32 i;

	if (__atomic_load_n(&nr_live, __ATOMIC_RELAXED) >= LIVE_MOST)
		return NULL;
	i = __atomic_fetch_add(&nr_tasks, 1, __ATOMIC_RELAXED);
	if (i >= MAX_TASKS) {
		__atomic_store_n(&nr_tasks, MAX_TASKS, __ATOMIC_RELAXED);
		return NULL;
	}
	__atomic_add_fetch(&nr_live, 1, __ATOMIC_RELAXED);
	tasks[i].task.id = i + 1;
	tasks[i].task.address_space = i % 2 ? i + 1 : 0;
	return &tasks[i];
}

static void publish(struct thr_task *t)
{
	sched_wake_new(&t->task);
	__atomic_store_n(&t->published, 1, __ATOMIC_RELEASE);
}

/* One of the younger ones: most of the older ones are dead. */
static struct task *some_task(void)
{
	u32 n = min(__atomic_load_n(&nr_tasks, __ATOMIC_RELAXED), (u32)MAX_TASKS);
	u32 back = (u32)random_below(min(n, 60u));
	struct thr_task *t = &tasks[n - 1 - back];

	return __atomic_load_n(&t->published, __ATOMIC_ACQUIRE) ? &t->task : NULL;
}

static struct cpumask random_mask(void)
{
	struct cpumask m = {{0}};

	m.bits[0] = random_below(1ull << host_ncpus);
	if (!m.bits[0] || !random_below(3))
		m.bits[0] = (1ull << host_ncpus) - 1;
	return m;
}

static void exit_current(void)
{
	struct task *t = current_task();

	if (!setjmp(exit_jump)) {
		exiting = true;
		sched_exit();
	}
	preempt_enable_no_resched();
	if (need_resched())
		schedule();
	if (current_task() != &idle_tasks[host_cpu])
		sched_reap(t, current_task());
}

static void to_another(void)
{
	struct task *t = some_task(), *w = some_task();
	struct cpumask m = random_mask();

	if (!t || !w)
		return;
	switch (random_below(12)) {
	case 0:
		sched_set_nice(t, (int)random_below(40) - 20);
		break;
	case 1:
		sched_set_class(t, SCHED_OTHER, 0);
		break;
	case 2:
		sched_set_class(t, SCHED_RR, 1 + (unsigned)random_below(5));
		break;
	case 3:
		sched_lend(t, w);
		break;
	case 4:
		sched_unlend(t);
		break;
	case 5:
		sched_set_affinity(t, &m);
		break;
	case 6:
		(void)sched_task_runtime(t);
		break;
	default:
		task_wake(t, TASK_NORMAL, random_below(4) ? 0 : WAKE_SYNC);
		break;
	}
}

static void act(void)
{
	struct task *t = current_task();
	struct thr_task *child;
	struct cpumask m = random_mask();

	switch (random_below(14)) {
	case 0:
	case 1:
		set_current_state(random_below(2) ? TASK_INTERRUPTIBLE : TASK_UNINTERRUPTIBLE);
		schedule();
		break;
	case 2:
		set_current_state(TASK_INTERRUPTIBLE);
		sched_preempt_now();
		break;
	case 3:
		sched_yield_current();
		break;
	case 4:
		child = new_task();
		if (!child)
			break;
		sched_fork(&child->task);
		publish(child);
		sched_fork_done();
		break;
	case 5:
		if (__atomic_load_n(&nr_live, __ATOMIC_RELAXED) > 12)
			exit_current();
		break;
	case 6:
		sched_set_affinity(t, &m);
		break;
	default:
		to_another();
		break;
	}
}

/* ----------------------------------------------------------------- CPUs */

static void interrupt(unsigned what)
{
	struct host_cpu *h = &host_cpus[host_cpu];

	irq_disable();
	h->in_irq = true;
	if (what == 0)
		sched_tick(machine_now());
	else if (what == 1)
		sched_resched_ipi();
	else
		sched_migrate_ipi();
	h->in_irq = false;
	sched_irq_exit();
	irq_enable();
}

static void poll_interrupts(void)
{
	struct host_cpu *h = &host_cpus[host_cpu];

	if (__atomic_exchange_n(&h->migrate_ipi, 0, __ATOMIC_SEQ_CST))
		interrupt(2);
	if (__atomic_exchange_n(&h->resched_ipi, 0, __ATOMIC_SEQ_CST))
		interrupt(1);
	if (h->tick_on && machine_now() >= h->next_tick) {
		h->next_tick += sched_tick_ns;
		interrupt(0);
	}
}

static void turn(void)
{
	struct task *t;

	poll_interrupts();
	t = current_task();
	__atomic_add_fetch(&nr_ops, 1, __ATOMIC_RELAXED);
	if (t == &idle_tasks[host_cpu]) {
		irq_disable();
		if (need_resched())
			schedule();
		else
			idle_wait(machine_this_runq());
		if (!__atomic_load_n(&quiet, __ATOMIC_RELAXED) && !random_below(8))
			to_another();
		if (need_resched())
			schedule();
		return;
	}
	__atomic_store_n(&((struct thr_task *)t)->ran, 1, __ATOMIC_RELAXED);
	if (t->state != TASK_RUNNING) { /* preempted on its way to sleep: it goes on */
		schedule();
	} else if (!__atomic_load_n(&quiet, __ATOMIC_RELAXED)) {
		act();
	} else if (!random_below(50)) {
		sched_yield_current();
	}
	if (need_resched())
		sched_user_exit();
}

/* --------------------------------------------------------------- checks */

/* All threads but the caller's wait: nothing is half done. */
static void check(void)
{
	u32 counted = 0, runnable = 0, n = min(nr_tasks, (u32)MAX_TASKS);

	for (u32 i = 0; i < n; i++)
		tasks[i].seen = 0;
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
		struct runq *rq = machine_runq(cpu);
		struct host_cpu *h = &host_cpus[cpu];
		const char *wrong;
		struct task *p;

		if (rq->lock->locked || rq->inbound_lock.locked || h->preempt || h->irqs_off)
			machine_bug("cpu %u: something is half done", cpu);
		if (rq->curr != h->current || rq->after_switch)
			machine_bug("cpu %u: current task or unfinished switch", cpu);
		wrong = sched_policy->global_queue && cpu ? NULL : sched_policy->check(rq);
		if (wrong)
			machine_bug("cpu %u: %s", cpu, wrong);
		if (rq->curr != rq->idle && ((struct thr_task *)rq->curr)->seen++)
			machine_bug("task %u runs twice", rq->curr->id);
		/* With one queue for all, another CPU may have been asked to run what waits on this one's account. */
		if (rq->curr == rq->idle && rq->nr_running && !h->need_resched &&
		    !sched_policy->global_queue)
			machine_bug("cpu %u idles with %u tasks", cpu, rq->nr_running);
		if (h->need_resched && rq->curr == rq->idle && !h->resched_ipi && !h->migrate_ipi &&
		    cpu != host_cpu && !h->tick_on)
			machine_bug("cpu %u sleeps with need_resched", cpu);
		if (!list_empty(&rq->inbound) && !h->migrate_ipi)
			machine_bug("cpu %u: inbound tasks and no IPI", cpu);
		list_for_each (p, &rq->inbound, inbound)
			((struct thr_task *)p)->seen |= 0x100;
		counted += rq->nr_running;
	}
	for (u32 i = 0; i < n; i++) {
		struct task *t = &tasks[i].task;

		if (!tasks[i].published || tasks[i].dead)
			continue;
		runnable += t->on_rq == ON_RQ_QUEUED;
		if (t->on_rq == ON_RQ_QUEUED && !sched_policy->holds(machine_runq(t->cpu), t))
			machine_bug("task %u is not on the queue it names", t->id);
		if (t->on_rq == ON_RQ_MIGRATING && !(tasks[i].seen & 0x100))
			machine_bug("task %u is lost in transit", t->id);
		if (t->on_rq == ON_RQ_NONE && t->state == TASK_RUNNING)
			machine_bug("task %u is runnable and on no queue", t->id);
	}
	if (runnable != counted)
		machine_bug("%u runnable tasks, %u counted", runnable, counted);
	meetings++;
}

static void meet(void (*fn)(void))
{
	pthread_barrier_wait(&meeting);
	if (host_cpu == 0 && fn)
		fn();
	pthread_barrier_wait(&meeting);
}

static bool all_ran(void)
{
	for (u32 i = 0; i < min(nr_tasks, (u32)MAX_TASKS); i++)
		if (__atomic_load_n(&tasks[i].published, __ATOMIC_ACQUIRE) &&
		    !__atomic_load_n(&tasks[i].dead, __ATOMIC_RELAXED) &&
		    !__atomic_load_n(&tasks[i].ran, __ATOMIC_RELAXED))
			return false;
	return true;
}

/* Everybody is made equal and woken, and must run. By CPU 0, while the others go on. */
static void wake_all(void)
{
	struct cpumask all = {{(1ull << host_ncpus) - 1}};

	for (u32 i = 0; i < min(nr_tasks, (u32)MAX_TASKS); i++) {
		struct task *t = &tasks[i].task;

		if (!tasks[i].published || tasks[i].dead)
			continue;
		__atomic_store_n(&tasks[i].ran, 0, __ATOMIC_RELAXED);
		sched_unlend(t);
		sched_set_class(t, SCHED_OTHER, 0);
		sched_set_nice(t, 0);
		sched_set_affinity(t, &all);
		task_wake(t, TASK_NORMAL, 0);
	}
}

/* --------------------------------------------------------------- threads */

static u64 wall_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (u64)t.tv_sec * 1000 + (u64)t.tv_nsec / 1000000;
}

static u64 duration_ms, seed = 1;
static u32 rounds; /* of 500 turns between meetings; atomic */

static void *cpu_thread(void *arg)
{
	u64 end = wall_ms() + duration_ms, limit;

	host_cpu = (unsigned)(size_t)arg;
	rng = seed * 0x9e3779b97f4a7c15ull + host_cpu * 0xbf58476d1ce4e5b9ull + 1;
	sched_cpu_start();
	meet(NULL);
	for (unsigned i = 0; host_cpu == 0 && i < 8; i++) {
		struct thr_task *t = new_task();

		sched_kthread_init(&t->task);
		publish(t);
	}
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (unsigned i = 0; i < 500; i++)
			turn();
		if (host_cpu == 0 && wall_ms() > end)
			__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
		meet(check);
	}
	__atomic_store_n(&quiet, 1, __ATOMIC_RELAXED);
	meet(NULL);
	if (host_cpu == 0)
		wake_all();
	limit = wall_ms() + 60000;
	while (!all_ran()) {
		turn();
		if (wall_ms() > limit)
			machine_bug("a task does not get the CPU");
	}
	/* The others may still need this CPU. */
	__atomic_add_fetch(&rounds, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&rounds, __ATOMIC_SEQ_CST) < host_ncpus)
		turn();
	meet(check);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[64];
	u64 switches = 0;

	if (argc < 4 || !sched_policy_find(argv[1])) {
		fprintf(stderr, "usage: threads POLICY CPUS MILLISECONDS [SEED]\n");
		return 1;
	}
	host_ncpus = (unsigned)strtoul(argv[2], NULL, 10);
	duration_ms = strtoull(argv[3], NULL, 10);
	if (argc > 4)
		seed = strtoull(argv[4], NULL, 10);
	if (host_ncpus < 1 || host_ncpus > 32)
		return 1;
	rng = seed;
	if (sched_init(argv[1], 1000))
		machine_bug("sched_init");
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++) {
		idle_tasks[cpu].id = 1000000 + cpu;
		sched_init_idle(&idle_tasks[cpu], cpu);
		host_cpus[cpu].started = true;
	}
	pthread_barrier_init(&meeting, NULL, host_ncpus);
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		pthread_create(&threads[cpu], NULL, cpu_thread, (void *)(size_t)cpu);
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		pthread_join(threads[cpu], NULL);
	for (unsigned cpu = 0; cpu < host_ncpus; cpu++)
		switches += machine_runq(cpu)->nr_switches;
	printf("RESULT threads policy=%s cpus=%u tasks=%u turns=%llu switches=%llu checks=%llu\n",
	       argv[1], host_ncpus, min(nr_tasks, (u32)MAX_TASKS), (unsigned long long)nr_ops,
	       (unsigned long long)switches, (unsigned long long)meetings);
	return 0;
}

/* SPDX-License-Identifier: MIT
 *
 * Start-up, in the order it happens. The boot CPU runs kernel_main(); the other CPUs join in cpu_main(); what needs a task (unpacking the
 * archive, running init or the self-tests) is done by the kernel task start().
 */
#include <arch/boot.h>
#include <arch/io.h>
#include <arch/smp.h>

#include "cmdline.h"
#include "lib/errno.h"
#include "lib/format.h"
#include "lib/string.h"
#include "log.h"
#include "mm/mm.h"
#include "sched/policy.h"
#include "selftest/selftest.h"
#include "sys/node.h"
#include "task/thread.h"
#include "time/timer.h"

void kernel_main(u32 magic, u64 info) __attribute__((noreturn));

/* Process 1 begins as a kernel task and becomes /sbin/init. */
static void become_init(void *arg)
{
	int err;

	(void)arg;
	node_get(node_root);
	current_process()->cwd = node_root;
	err = sys_exec_init("/sbin/init");
	if (err)
		panic("cannot run /sbin/init: error %d", err);
	arch_user_return(arch_user_regs(&current_thread()->arch));
}

static void run_selftests(void)
{
	int failed = selftest_run_all(options.selftest);

	power_off(failed ? EXIT_CODE_TESTS_FAILED : EXIT_CODE_OK);
}

static void start(void *arg)
{
	(void)arg;
	sys_init();
	/* Before any other process: init must get id 1, and kernel tasks take ids too. */
	if (options.selftest)
		run_selftests();
	if (process_create_init(become_init, NULL))
		panic("no memory for process 1");
}

/* Where a CPU other than the first arrives, on its idle task's stack, interrupts off. */
static void cpu_main(unsigned index)
{
	(void)index;
	timer_init_cpu();
	preempt_enable_no_resched();
	sched_idle_loop();
}

/*
 * Deterministic runs record always, so that whether somebody reads the records changes nothing.
 */
static void start_tracing(void)
{
	const char *what = options.trace ? options.trace : options.det ? "all" : "off";

	if (!trace_parse(*what ? what : "all", &trace_mask)) {
		klog("trace=%s: unknown event, ignored", what);
		trace_mask = 0;
	}
	if (trace_mask && trace_make_rings()) {
		klog("trace: no memory for the rings");
		trace_mask = 0;
	}
}

static void create_idle_tasks(void)
{
	for (unsigned cpu = 0; cpu < cpus_present; cpu++) {
		struct thread *t = idle_thread_create(cpu);

		if (!t)
			panic("no memory for the idle task of CPU %u", cpu);
		sched_init_idle(&t->task, cpu);
		cpus[cpu]->idle = &t->task;
		cpus[cpu]->kstack_top = t->arch.kstack_top;
	}
}

static void unknown_policy(void)
{
	char names[200] = "";
	struct strbuf sb = {.buf = names, .size = sizeof(names)};

	for (unsigned i = 0; sched_policy_nth(i); i++)
		sb_printf(&sb, " %s", sched_policy_nth(i)->name);
	klog("sched=%s: no such policy; %s is used. There are:%s", options.sched,
	     sched_policy_name(), names);
}

static void apply_tunables(void)
{
	for (unsigned i = 0; i < options.nr_tunables; i++) {
		const char *name = options.tunables[i].name, *value = options.tunables[i].value;
		int err = sched_set_tunable_text(name, value);

		if (err == -ENOENT)
			klog("sched.%s: policy %s has no such tunable: ignored", name,
			     sched_policy_name());
		else if (err)
			klog("sched.%s=%s: not a number in its range: ignored", name, value);
		else
			klog("sched.%s=%s", name, value);
	}
}

/* The boot CPU on the stack of its idle task: give it something to do, then idle. */
static void boot_cpu_idle(void)
{
	/* The reference of the task's creator is kept: nobody joins it. */
	if (!kthread_create(start, NULL, "start"))
		panic("no memory for the start task");
	preempt_enable_no_resched();
	sched_idle_loop();
}

void kernel_main(u32 magic, u64 info)
{
	clock_start();
	log_init();
	log_init();
	arch_early_init();
	boot_parse(magic, info);
	cmdline_parse(boot_info.cmdline);
	if (options.quiet)
		log_quiet();
	if (options.panic_now)
		panic("panic=now on the command line");
	mem_init(options.mem);
	cpus_discover(options.smp);
	arch_configure(options.det, !strcmp(options.idle, "last"), options.seed);
	arch_clock_init();
	machine_seed(options.have_seed ? options.seed : options.det ? 1 : rdtsc());
	wall_clock_init();
	klog("Jiffies: %u CPU%s, %s", cpus_present, cpus_present == 1 ? "" : "s", boot_info.loader);

	task_init();
	start_tracing();
	if (sched_init(options.sched, options.hz) == -EINVAL)
		unknown_policy();
	sched_preempt_full = options.preempt_full;
	if (sched_set_idle_mode(options.idle))
		klog("idle=%s: unknown, ignored", options.idle);
	apply_tunables();
	create_idle_tasks();

	timer_init_cpu();
	if (cpus_start(cpu_main) != cpus_present)
		klog("%u of %u CPUs are online", cpus_online, cpus_present);
	/* The others answer before they are in the scheduler; the first program must find them all. */
	sched_wait_online(cpus_online - 1);
	arch_call_on_stack(cpus[0]->kstack_top, boot_cpu_idle);
}

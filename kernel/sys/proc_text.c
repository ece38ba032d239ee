/* SPDX-License-Identifier: MIT
 *
 * What /proc and /sys say about the whole machine, in Linux's formats where Linux has one; and the load average.
 */
#include <arch/boot.h>
#include <arch/cpu.h>
#include <arch/io.h>

#include "lib/format.h"
#include "lib/string.h"
#include "log.h"
#include "sched/sched.h"
#include "sys/calls.h"
#include "sys/proc.h"
#include "sys/version.h"
#include "task/thread.h"
#include "time/timer.h"

/* ---- load average: exponentially damped, sampled every five seconds, 11 bits of fraction, as Linux does ---- */

#define LOAD_PERIOD (5 * NSEC_PER_SEC)
#define LOAD_ONE    2048u

static const u32 load_exp[3] = {1884, 2014, 2037}; /* e^(-5 s / 1, 5, 15 min) */
static volatile u64 load_now[3];		   /* written by the timer only */
static struct timer load_timer;

static u64 count_running(void)
{
	struct sched_cpu_stats st;
	u64 n = 0;

	for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
		sched_cpu_stats(cpu, &st);
		n += st.nr_running;
	}
	return n;
}

static void load_sample(struct timer *t)
{
	u64 active = count_running() * LOAD_ONE;

	for (unsigned i = 0; i < 3; i++)
		load_now[i] = (load_now[i] * load_exp[i] + active * (LOAD_ONE - load_exp[i]) +
			       LOAD_ONE / 2) /
			      LOAD_ONE;
	timer_start(t, t->when + LOAD_PERIOD);
}

void load_average(u64 load[3])
{
	for (unsigned i = 0; i < 3; i++)
		load[i] = load_now[i] << 5; /* 1/2048 to 1/65536 */
}

/* ---- helpers ---- */

void put_cpu_list(struct strbuf *sb, const struct cpumask *mask, unsigned n)
{
	const char *comma = "";

	for (unsigned cpu = 0; cpu < n; cpu++) {
		unsigned last = cpu;

		if (!cpumask_test(mask, cpu))
			continue;
		while (last + 1 < n && cpumask_test(mask, last + 1))
			last++;
		if (last == cpu)
			sb_printf(sb, "%s%u", comma, cpu);
		else
			sb_printf(sb, "%s%u-%u", comma, cpu, last);
		comma = ",";
		cpu = last;
	}
}

static void put_load(struct strbuf *sb, u64 load)
{
	load += LOAD_ONE / 200; /* round to 1/100 */
	sb_printf(sb, "%llu.%02llu ", (unsigned long long)(load / LOAD_ONE),
		  (unsigned long long)(load % LOAD_ONE * 100 / LOAD_ONE));
}

static void put_seconds(struct strbuf *sb, u64 ns, const char *after)
{
	sb_printf(sb, "%llu.%02llu%s", (unsigned long long)(ns / NSEC_PER_SEC),
		  (unsigned long long)(ns / NS_PER_TICK % 100), after);
}

/* ---- /proc ---- */

static int show_stat(struct strbuf *sb, u64 arg)
{
	struct sched_cpu_stats st;
	u64 busy = 0, idle = 0, irqs = 0, switches = 0, running = 0;

	(void)arg;
	for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
		sched_cpu_stats(cpu, &st);
		busy += st.busy_ns;
		idle += st.idle_ns;
		switches += st.nr_switches;
		running += st.nr_running;
		irqs += cpus[cpu]->irq_count;
	}
	sb_printf(sb, "cpu  %llu 0 0 %llu 0 0 0 0 0 0\n", (unsigned long long)(busy / NS_PER_TICK),
		  (unsigned long long)(idle / NS_PER_TICK));
	for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
		sched_cpu_stats(cpu, &st);
		sb_printf(sb, "cpu%u %llu 0 0 %llu 0 0 0 0 0 0\n", cpu,
			  (unsigned long long)(st.busy_ns / NS_PER_TICK),
			  (unsigned long long)(st.idle_ns / NS_PER_TICK));
	}
	sb_printf(sb, "intr %llu\nctxt %llu\nbtime %llu\nprocs_running %llu\nprocs_blocked 0\n",
		  (unsigned long long)irqs, (unsigned long long)switches,
		  (unsigned long long)(wall_clock_base / NSEC_PER_SEC),
		  (unsigned long long)running);
	return 0;
}

static int show_uptime(struct strbuf *sb, u64 arg)
{
	struct sched_cpu_stats st;
	u64 idle = 0;

	(void)arg;
	for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
		sched_cpu_stats(cpu, &st);
		idle += st.idle_ns;
	}
	put_seconds(sb, machine_now(), " ");
	put_seconds(sb, idle, "\n");
	return 0;
}

static int show_loadavg(struct strbuf *sb, u64 arg)
{
	u32 total = 0, last = 0;
	struct process *p;

	(void)arg;
	spin_lock(&tree_lock);
	list_for_each (p, &process_list, all) {
		total += p->nr_threads;
		last = p->pid;
	}
	spin_unlock(&tree_lock);
	for (unsigned i = 0; i < 3; i++)
		put_load(sb, load_now[i]);
	sb_printf(sb, "%llu/%u %u\n", (unsigned long long)count_running(), total, last);
	return 0;
}

static int show_meminfo(struct strbuf *sb, u64 arg)
{
	static const char *const zeroes[] = {"Buffers",	  "Cached",   "SwapCached",
					     "SwapTotal", "SwapFree", "Shmem"};
	struct mem_stats st;

	(void)arg;
	mem_stats(&st);
	sb_printf(sb,
		  "MemTotal:       %8llu kB\nMemFree:        %8llu kB\nMemAvailable:   %8llu kB\n",
		  (unsigned long long)st.total_pages * 4, (unsigned long long)st.free_pages * 4,
		  (unsigned long long)st.free_pages * 4);
	for (size_t i = 0; i < ARRAY_SIZE(zeroes); i++) /* there are none of these here */
		sb_printf(sb, "%s:%*s0 kB\n", zeroes[i], (int)(22 - strlen(zeroes[i])), "");
	sb_printf(sb, "Jiffies_objects: %llu\n", (unsigned long long)st.slab_objects);
	return 0;
}

static int show_version(struct strbuf *sb, u64 arg)
{
	(void)arg;
	sb_printf(sb, UTS_SYSNAME " version " UTS_RELEASE " (" __VERSION__ ") " UTS_VERSION "\n");
	return 0;
}

/* The brand string, or the vendor if there is none. */
static void cpu_model(char model[49])
{
	u32 max, r[4], unused;

	memset(model, 0, 49);
	cpuid(0x80000000, 0, &max, &r[0], &r[1], &r[2]);
	if (max >= 0x80000004) {
		for (u32 i = 0; i < 3; i++) {
			cpuid(0x80000002 + i, 0, &r[0], &r[1], &r[2], &r[3]);
			memcpy(model + 16 * i, r, 16);
		}
		return;
	}
	cpuid(0, 0, &unused, &r[0], &r[2], &r[1]);
	memcpy(model, r, 12);
}

static int show_cpuinfo(struct strbuf *sb, u64 arg)
{
	char model[49], vendor[13] = {0};
	u32 a, b, c, d, r[3];
	unsigned family;

	(void)arg;
	cpu_model(model);
	cpuid(0, 0, &a, &r[0], &r[2], &r[1]);
	memcpy(vendor, r, 12);
	cpuid(1, 0, &a, &b, &c, &d);
	family = a >> 8 & 15;
	if (family == 15)
		family += a >> 20 & 255;
	for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
		sb_printf(sb, "processor\t: %u\nvendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\n",
			  cpu, vendor, family, (a >> 4 & 15) | (a >> 12 & 0xf0));
		sb_printf(sb, "model name\t: %s\nstepping\t: %u\napicid\t\t: %u\n\n", model, a & 15,
			  cpus[cpu]->apic_id);
	}
	return 0;
}

static int show_mounts(struct strbuf *sb, u64 arg)
{
	(void)arg;
	sb_printf(
		sb,
		"archive / archive ro 0 0\ndev /dev dev rw 0 0\nproc /proc proc rw 0 0\nsys /sys sys ro 0 0\n");
	return 0;
}

static int show_filesystems(struct strbuf *sb, u64 arg)
{
	(void)arg;
	sb_printf(sb, "nodev\tarchive\nnodev\tdev\nnodev\tproc\nnodev\tsys\n");
	return 0;
}

static int show_cmdline(struct strbuf *sb, u64 arg)
{
	(void)arg;
	sb_printf(sb, "%s\n", boot_info.cmdline);
	return 0;
}

/* A row for each kind of interrupt, a column for each CPU. */
static int show_interrupts(struct strbuf *sb, u64 arg)
{
	static const struct {
		const char *label, *what;
	} rows[] = {{"LOC", "Timer ticks"},
		    {"RES", "Rescheduling interrupts"},
		    {"MIG", "Migration interrupts"},
		    {"IPI", "Interrupts from other CPUs"},
		    {"ALL", "All interrupts"}};
	struct sched_cpu_stats st;

	(void)arg;
	sb_printf(sb, "    ");
	for (unsigned cpu = 0; cpu < cpus_online; cpu++)
		sb_printf(sb, "       CPU%-3u", cpu);
	for (size_t row = 0; row < ARRAY_SIZE(rows); row++) {
		sb_printf(sb, "\n%s:", rows[row].label);
		for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
			const struct cpu *c = cpus[cpu];
			u64 counts[ARRAY_SIZE(rows)];

			sched_cpu_stats(cpu, &st);
			counts[0] = c->tick_count;
			counts[1] = st.resched_ipis;
			counts[2] = st.migrate_ipis;
			counts[3] = c->ipi_count;
			counts[4] = c->irq_count;
			sb_printf(sb, " %12llu", (unsigned long long)counts[row]);
		}
		sb_printf(sb, "  %s", rows[row].what);
	}
	sb_printf(sb, "\n");
	return 0;
}

/* Linux's version 15 (what is not counted here is 0, no domains), then lines of our own: docs/tracing.md. */
static int show_schedstat(struct strbuf *sb, u64 arg)
{
	struct sched_cpu_stats st;
	char comm[TASK_COMM_LEN];
	u64 longest;
	u32 id;

	(void)arg;
	sb_printf(sb, "version 15\ntimestamp %llu\n", (unsigned long long)sched_jiffies());
	for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
		sched_cpu_stats(cpu, &st);
		sb_printf(sb, "cpu%u 0 0 %llu %llu 0 0 %llu %llu %llu\n", cpu,
			  (unsigned long long)st.nr_switches, (unsigned long long)st.idle_switches,
			  (unsigned long long)st.busy_ns, (unsigned long long)st.wait_ns,
			  (unsigned long long)(st.nr_switches - st.idle_switches));
	}
	for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
		sched_cpu_stats(cpu, &st);
		sb_printf(sb, "ticks%u billed %llu idle %llu wasted %llu late %llu\n", cpu,
			  (unsigned long long)(st.ticks - st.idle_ticks),
			  (unsigned long long)st.idle_ticks, (unsigned long long)st.wasted_ticks,
			  (unsigned long long)st.late_ticks);
	}
	longest = sched_longest_wait(comm, &id);
	if (longest)
		sb_printf(sb, "longest_wait %llu %u %s\n", (unsigned long long)longest, id, comm);
	return 0;
}

/* The scheduler's own figures, one line for each CPU. */
static int show_sched(struct strbuf *sb, u64 arg)
{
	struct sched_cpu_stats st;

	(void)arg;
	sb_printf(sb, "policy=%s hz=%u preempt=%s jiffies=%llu cpus=%u\n", sched_policy_name(),
		  sched_hz, sched_preempt_full ? "full" : "none",
		  (unsigned long long)sched_jiffies(), cpus_online);
	for (unsigned cpu = 0; cpu < cpus_online; cpu++) {
		sched_cpu_stats(cpu, &st);
		sb_printf(
			sb,
			"cpu=%u switches=%llu running=%llu busy_ns=%llu idle_ns=%llu ticks=%llu late_ticks=%llu ",
			cpu, (unsigned long long)st.nr_switches, (unsigned long long)st.nr_running,
			(unsigned long long)st.busy_ns, (unsigned long long)st.idle_ns,
			(unsigned long long)st.ticks, (unsigned long long)st.late_ticks);
		sb_printf(sb, "migrations_in=%llu resched_ipis=%llu migrate_ipis=%llu current=%u\n",
			  (unsigned long long)st.migrations_in, (unsigned long long)st.resched_ipis,
			  (unsigned long long)st.migrate_ipis, st.current_id);
	}
	return 0;
}

static int show_unsupported(struct strbuf *sb, u64 arg)
{
	u32 count;

	(void)arg;
	for (u64 nr = sys_unsupported_next(0, &count); nr != ~0ull;
	     nr = sys_unsupported_next(nr + 1, &count))
		sb_printf(sb, "%llu %s %u\n", (unsigned long long)nr, sys_call_name(nr), count);
	return 0;
}

static struct mutex dump_lock; /* one dump at a time */

static int store_sysrq(const char *text, size_t n, u64 arg)
{
	(void)n, (void)arg;
	switch (text[0]) {
	case 'c':
		panic("sysrq: deliberate panic");
	case 't':
		mutex_lock(&dump_lock);
		sched_dump(klog);
		mutex_unlock(&dump_lock);
		return 0;
	default:
		return -EINVAL;
	}
}

static int show_string(struct strbuf *sb, u64 arg)
{
	sb_printf(sb, "%s\n", (const char *)arg);
	return 0;
}

static int show_pid_max(struct strbuf *sb, u64 arg)
{
	sb_printf(sb, "%llu\n", (unsigned long long)arg);
	return 0;
}

/* ---- /sys/devices/system/cpu ---- */

static int show_cpus(struct strbuf *sb, u64 online)
{
	struct cpumask mask = {{0}};

	for (unsigned cpu = 0; cpu < cpus_present; cpu++)
		if (!online || cpus[cpu]->online)
			cpumask_set(&mask, cpu);
	put_cpu_list(sb, &mask, cpus_present);
	sb_printf(sb, "\n");
	return 0;
}

static const struct text_desc proc_texts[] = {
	{"stat", 0444, show_stat, NULL},
	{"uptime", 0444, show_uptime, NULL},
	{"loadavg", 0444, show_loadavg, NULL},
	{"meminfo", 0444, show_meminfo, NULL},
	{"version", 0444, show_version, NULL},
	{"cpuinfo", 0444, show_cpuinfo, NULL},
	{"mounts", 0444, show_mounts, NULL},
	{"filesystems", 0444, show_filesystems, NULL},
	{"cmdline", 0444, show_cmdline, NULL},
	{"interrupts", 0444, show_interrupts, NULL},
	{"sched", 0444, show_sched, NULL},
	{"schedstat", 0444, show_schedstat, NULL},
	{"unsupported", 0444, show_unsupported, NULL},
	{"sysrq-trigger", 0200, NULL, store_sysrq},
};

static const struct {
	struct text_desc desc;
	u64 arg;
} kernel_texts[] = {
	{{"ostype", 0444, show_string, NULL}, (u64)UTS_SYSNAME},
	{{"osrelease", 0444, show_string, NULL}, (u64)UTS_RELEASE},
	{{"version", 0444, show_string, NULL}, (u64)UTS_VERSION},
	{{"hostname", 0444, show_string, NULL}, (u64)host_name},
	{{"pid_max", 0444, show_pid_max, NULL}, 32768},
};

static const struct text_desc cpu_texts[] = {
	{"online", 0444, show_cpus, NULL},
	{"possible", 0444, show_cpus, NULL},
	{"present", 0444, show_cpus, NULL},
};

static char cpu_names[MAX_CPUS][8]; /* names of nodes last for ever */

/* Find or make a directory given by several names. */
static struct node *add_dirs(struct node *dir, const char *const *names)
{
	for (; dir && *names; names++)
		dir = node_add_dir(dir, *names);
	return dir;
}

int proc_text_init(struct node *proc)
{
	static const char *const kernel_path[] = {"sys", "kernel", NULL};
	static const char *const cpu_path[] = {"sys", "devices", "system", "cpu", NULL};
	struct node *kernel = add_dirs(proc, kernel_path), *cpu = add_dirs(node_root, cpu_path);
	int err = kernel && cpu ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < ARRAY_SIZE(proc_texts); i++)
		err = text_add(proc, &proc_texts[i], 0);
	for (size_t i = 0; !err && i < ARRAY_SIZE(kernel_texts); i++)
		err = text_add(kernel, &kernel_texts[i].desc, kernel_texts[i].arg);
	for (size_t i = 0; !err && i < ARRAY_SIZE(cpu_texts); i++)
		err = text_add(cpu, &cpu_texts[i], i == 0);
	for (unsigned i = 0; !err && i < cpus_present; i++) { /* programs count these */
		ksnprintf(cpu_names[i], sizeof(cpu_names[i]), "cpu%u", i);
		err = node_add_dir(cpu, cpu_names[i]) ? 0 : -ENOMEM;
	}
	mutex_init(&dump_lock);
	timer_init(&load_timer, load_sample);
	timer_start(&load_timer, machine_now() + LOAD_PERIOD);
	return err;
}

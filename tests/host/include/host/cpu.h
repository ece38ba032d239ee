/* SPDX-License-Identifier: MIT
 *
 * What the host's two <arch/machine.h> have in common, the one-threaded and the threaded: each includes it after its struct host_cpu, its
 * locks, and how it reads and writes need_resched (host_flag(), host_set_flag()).
 */
#ifndef HOST_CPU_H
#define HOST_CPU_H

static inline void spin_init(spinlock_t *l, const char *name, enum lock_rank rank)
{
	*l = (spinlock_t)SPINLOCK_INIT(name, rank);
}

static inline u64 irq_save(void)
{
	u64 was = host_cpus[host_cpu].irqs_off;

	host_cpus[host_cpu].irqs_off = true;
	return was;
}

static inline void irq_restore(u64 flags)
{
	host_cpus[host_cpu].irqs_off = flags;
}

static inline void irq_disable(void)
{
	host_cpus[host_cpu].irqs_off = true;
}

static inline void irq_enable(void)
{
	host_cpus[host_cpu].irqs_off = false;
}

static inline bool irqs_enabled(void)
{
	return !host_cpus[host_cpu].irqs_off;
}

void preempt_check(void);

static inline u32 preempt_count(void)
{
	return host_cpus[host_cpu].preempt;
}

static inline void preempt_disable(void)
{
	host_cpus[host_cpu].preempt++;
}

static inline void preempt_enable_no_resched(void)
{
	if (!host_cpus[host_cpu].preempt--)
		abort();
}

static inline bool need_resched(void)
{
	return host_flag(host_cpu);
}

static inline void preempt_enable(void)
{
	preempt_enable_no_resched();
	if (need_resched())
		preempt_check();
}

static inline bool in_interrupt(void)
{
	return host_cpus[host_cpu].in_irq;
}

static inline unsigned cpu_index(void)
{
	return host_cpu;
}

static inline struct task *current_task(void)
{
	return host_cpus[host_cpu].current;
}

static inline struct runq *machine_runq(unsigned cpu)
{
	return host_cpus[cpu].rq;
}

static inline struct runq *machine_this_runq(void)
{
	return host_cpus[host_cpu].rq;
}

static inline void machine_set_runq(unsigned cpu, struct runq *rq)
{
	host_cpus[cpu].rq = rq;
}

static inline bool machine_need_resched(unsigned cpu)
{
	return host_flag(cpu);
}

static inline void machine_set_need_resched(unsigned cpu)
{
	host_set_flag(cpu, 1);
}

static inline void machine_clear_need_resched(void)
{
	host_set_flag(host_cpu, 0);
}

static inline void machine_set_current(struct task *t)
{
	host_cpus[host_cpu].current = t;
}

static inline unsigned machine_cpus_present(void)
{
	return host_ncpus;
}

static inline bool machine_cpu_online(unsigned cpu)
{
	return host_cpus[cpu].started;
}

#endif

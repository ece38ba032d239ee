/* SPDX-License-Identifier: MIT
 *
 * What /proc/PID says, in Linux's formats. One look at the process under its locks gives a snapshot; the texts are written from that.
 */
#include "lib/format.h"
#include "lib/string.h"
#include "sys/fd.h"
#include "sys/proc.h"
#include "task/thread.h"

#define TTY_NR	    1281u /* 5:1, /dev/console */
#define CMDLINE_MAX 65536u
#define RT_BASE	    100 /* task.prio below it is real time, as in /proc/PID/stat */

struct snapshot {
	u32 pid, ppid, pgrp, sid, threads, cpu;
	bool tty;
	char state, comm[TASK_COMM_LEN];
	s32 nice, prio, class, rt_priority, exit_status, exit_signal;
	u64 start_ns, runtime, children_runtime, nvcsw, nivcsw;
	u64 wait_total, wait_max, migrations;
	u32 ticks_billed;
	sigset_t pending, shared_pending, blocked, ignored, caught;
	struct cpumask affinity;
	u64 vsize, rss_pages;
	u32 umask, fd_size;
};

static char state_letter(const struct process *p)
{
	u32 state = p->leader->task.state;

	if (p->state == PROC_ZOMBIE)
		return 'Z';
	if (p->stopped || (state & TASK_STOPPED))
		return 'T';
	if (state & TASK_DEAD)
		return 'Z'; /* the first thread ended, others run on */
	return state & TASK_UNINTERRUPTIBLE ? 'D' : state & TASK_INTERRUPTIBLE ? 'S' : 'R';
}

/* Context: tree_lock held. */
static bool session_has_tty(u32 sid)
{
	struct process *p;

	list_for_each (p, &process_list, all)
		if (p->pid == sid)
			return p->has_tty;
	return false;
}

/* Context: tree_lock held, @p not reaped: its leader's struct is there. */
static void snap_leader(struct snapshot *s, struct thread *t)
{
	s->cpu = t->task.cpu;
	s->nice = t->task.nice;
	s->prio = t->task.prio;
	s->class = t->task.class;
	s->rt_priority = t->task.rt_priority;
	s->affinity = t->task.affinity;
	s->blocked = t->blocked;
	s->pending = t->pending;
	s->wait_total = t->task.wait_total;
	s->wait_max = t->task.wait_max;
	s->migrations = t->task.nr_migrations;
	s->ticks_billed = t->task.ticks_billed;
	memcpy(s->comm, t->task.comm, sizeof(s->comm));
	s->comm[sizeof(s->comm) - 1] = '\0';
}

/* Context: sig_lock held. */
static void snap_signals(struct snapshot *s, struct process *p)
{
	struct thread *t;

	s->threads = p->nr_threads;
	s->shared_pending = p->pending;
	s->nvcsw = p->dead_nvcsw;
	s->nivcsw = p->dead_nivcsw;
	list_for_each (t, &p->threads, link) {
		s->nvcsw += t->task.nr_voluntary;
		s->nivcsw += t->task.nr_involuntary;
	}
	for (int sig = 1; sig <= NSIG; sig++) {
		if (p->actions[sig].handler == SIG_IGN)
			s->ignored |= SIGMASK(sig);
		else if (p->actions[sig].handler != SIG_DFL)
			s->caught |= SIGMASK(sig);
	}
}

static void snap_mm(struct snapshot *s, struct mm *mm)
{
	struct vma *v;

	spin_lock(&mm->lock);
	list_for_each (v, &mm->vmas, link)
		s->vsize += v->end - v->start;
	s->rss_pages = mm->nr_pages;
	spin_unlock(&mm->lock);
}

/* Return: 0 or -ESRCH. */
static int snap(u64 pid, struct snapshot *s)
{
	struct process *p = process_find((u32)pid);
	struct mm *mm = NULL;
	bool reaped;
	u64 flags;

	if (!p)
		return -ESRCH;
	memset(s, 0, sizeof(*s));
	spin_lock(&tree_lock);
	reaped = p->state == PROC_REAPED;
	if (!reaped) {
		s->pid = p->pid;
		s->ppid = p->parent ? p->parent->pid : 0;
		s->pgrp = p->pgrp;
		s->sid = p->sid;
		s->tty = session_has_tty(p->sid);
		s->state = state_letter(p);
		s->start_ns = p->start_ns;
		s->exit_signal = p->exit_signal;
		s->exit_status = p->state == PROC_ZOMBIE ? p->exit_status : 0;
		s->children_runtime = p->children_runtime;
		s->umask = p->umask;
		s->fd_size = p->files ? p->files->size : 0;
		snap_leader(s, p->leader);
		flags = spin_lock_irqsave(&p->sig_lock);
		snap_signals(s, p);
		spin_unlock_irqrestore(&p->sig_lock, flags);
		mm = p->mm;
		if (mm)
			mm_get(mm);
	}
	spin_unlock(&tree_lock);
	if (mm) {
		snap_mm(s, mm);
		mm_put(mm);
	}
	if (!reaped)
		s->runtime = process_runtime(p);
	process_put(p);
	return reaped ? -ESRCH : 0;
}

struct mm *proc_mm(u32 pid)
{
	struct process *p = process_find(pid);
	struct mm *mm;

	if (!p)
		return NULL;
	spin_lock(&tree_lock);
	mm = p->mm;
	if (mm)
		mm_get(mm);
	spin_unlock(&tree_lock);
	process_put(p);
	return mm;
}

/* ---- the texts ---- */

/* The 52 fields of proc(5). What we have no counterpart for is 0. */
static int show_stat(struct strbuf *sb, u64 pid)
{
	struct snapshot s;
	int err = snap(pid, &s);

	if (err)
		return err;
	sb_printf(sb, "%u (%s) %c %u %u %u %u -1 0 0 0 0 0 ", s.pid, s.comm, s.state, s.ppid,
		  s.pgrp, s.sid, s.tty ? TTY_NR : 0);
	/* 14 utime, stime, cutime, cstime: all time counts as user time */
	sb_printf(sb, "%llu 0 %llu 0 ", (unsigned long long)(s.runtime / NS_PER_TICK),
		  (unsigned long long)(s.children_runtime / NS_PER_TICK));
	/* 18 priority, nice, threads, itrealvalue, starttime, vsize, rss, rsslim */
	sb_printf(sb, "%d %d %u 0 %llu %llu %llu 18446744073709551615 ",
		  s.class == SCHED_OTHER ? s.prio - RT_BASE : -1 - s.rt_priority, s.nice, s.threads,
		  (unsigned long long)(s.start_ns / NS_PER_TICK), (unsigned long long)s.vsize,
		  (unsigned long long)s.rss_pages);
	/* 26 startcode .. kstkeip, signal, blocked, sigignore, sigcatch, wchan, nswap, cnswap, exit_signal */
	sb_printf(sb, "0 0 0 0 0 %llu %llu %llu %llu 0 0 0 %d ",
		  (unsigned long long)(s.pending & 0x7fffffff),
		  (unsigned long long)(s.blocked & 0x7fffffff),
		  (unsigned long long)(s.ignored & 0x7fffffff),
		  (unsigned long long)(s.caught & 0x7fffffff), s.exit_signal);
	/* 39 processor, rt_priority, policy, delays, guest times, addresses, exit_code */
	sb_printf(sb, "%u %d %d 0 0 0 0 0 0 0 0 0 0 %d\n", s.cpu, s.rt_priority, s.class,
		  s.exit_status);
	return 0;
}

static const char *state_name(char letter)
{
	static const char *const names[] = {"R (running)", "S (sleeping)", "D (disk sleep)",
					    "T (stopped)", "Z (zombie)"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i][0] == letter)
			return names[i];
	return "?";
}

static void put_cpu_mask(struct strbuf *sb, const struct cpumask *mask)
{
	for (unsigned word = DIV_ROUND_UP(cpus_present, 32); word-- > 0;)
		sb_printf(sb, word + 1 == DIV_ROUND_UP(cpus_present, 32) ? "%x" : "%08x",
			  (u32)(mask->bits[word / 2] >> (word % 2 * 32)));
}

static int show_status(struct strbuf *sb, u64 pid)
{
	struct snapshot s;
	int err = snap(pid, &s);

	if (err)
		return err;
	sb_printf(sb, "Name:\t%s\nUmask:\t0%u%u%u\nState:\t%s\nTgid:\t%u\nPid:\t%u\nPPid:\t%u\n",
		  s.comm, s.umask >> 6, s.umask >> 3 & 7, s.umask & 7, state_name(s.state), s.pid,
		  s.pid, s.ppid);
	sb_printf(sb, "TracerPid:\t0\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t%u\n",
		  s.fd_size);
	if (s.state != 'Z')
		sb_printf(sb, "VmSize:\t%8llu kB\nVmRSS:\t%8llu kB\n",
			  (unsigned long long)s.vsize >> 10, (unsigned long long)s.rss_pages << 2);
	sb_printf(sb, "Threads:\t%u\nSigPnd:\t%016llx\nShdPnd:\t%016llx\n", s.threads,
		  (unsigned long long)s.pending, (unsigned long long)s.shared_pending);
	sb_printf(sb, "SigBlk:\t%016llx\nSigIgn:\t%016llx\nSigCgt:\t%016llx\n",
		  (unsigned long long)s.blocked, (unsigned long long)s.ignored,
		  (unsigned long long)s.caught);
	sb_printf(sb, "Cpus_allowed:\t");
	put_cpu_mask(sb, &s.affinity);
	sb_printf(sb, "\nCpus_allowed_list:\t");
	put_cpu_list(sb, &s.affinity, cpus_present);
	sb_printf(sb, "\nvoluntary_ctxt_switches:\t%llu\nnonvoluntary_ctxt_switches:\t%llu\n",
		  (unsigned long long)s.nvcsw, (unsigned long long)s.nivcsw);
	return 0;
}

static int show_statm(struct strbuf *sb, u64 pid)
{
	struct snapshot s;
	int err = snap(pid, &s);

	if (!err)
		sb_printf(sb, "%llu %llu 0 0 0 %llu 0\n",
			  (unsigned long long)(s.vsize >> PAGE_SHIFT),
			  (unsigned long long)s.rss_pages, (unsigned long long)s.rss_pages);
	return err;
}

static int show_comm(struct strbuf *sb, u64 pid)
{
	struct snapshot s;
	int err = snap(pid, &s);

	if (!err)
		sb_printf(sb, "%s\n", s.comm);
	return err;
}

/* "run time, wait time (ns), switches" */
static int show_schedstat(struct strbuf *sb, u64 pid)
{
	struct snapshot s;
	int err = snap(pid, &s);

	if (!err)
		sb_printf(sb, "%llu %llu %llu\n", (unsigned long long)s.runtime,
			  (unsigned long long)s.wait_total, (unsigned long long)s.nvcsw + s.nivcsw);
	return err;
}

static int show_sched(struct strbuf *sb, u64 pid)
{
	struct snapshot s;
	int err = snap(pid, &s);

	if (err)
		return err;
	sb_printf(sb, "%s (%u, #threads: %u)\n", s.comm, s.pid, s.threads);
	sb_printf(sb, "sum_exec_runtime_ns: %llu\nwait_total_ns: %llu\nwait_max_ns: %llu\n",
		  (unsigned long long)s.runtime, (unsigned long long)s.wait_total,
		  (unsigned long long)s.wait_max);
	sb_printf(
		sb,
		"nr_switches: %llu\nnr_voluntary_switches: %llu\nnr_involuntary_switches: %llu\nnr_migrations: %llu\n",
		(unsigned long long)s.nvcsw + s.nivcsw, (unsigned long long)s.nvcsw,
		(unsigned long long)s.nivcsw, (unsigned long long)s.migrations);
	sb_printf(sb, "ticks_billed: %u\npolicy: %d\nprio: %d\nnice: %d\nrt_priority: %d\n",
		  s.ticks_billed, s.class, s.prio, s.nice, s.rt_priority);
	return 0;
}

/* A process without an address space (a zombie) has an empty command line. */
static int show_cmdline(struct strbuf *sb, u64 pid)
{
	struct mm *mm = proc_mm((u32)pid);
	size_t len;
	u64 start;
	char *buf;

	if (!mm)
		return 0;
	start = mm->arg_start;
	len = (size_t)min(mm->arg_end - start, (u64)CMDLINE_MAX);
	buf = len ? kmalloc(len) : NULL;
	if (buf)
		text_write(sb, buf, mm_read(mm, start, buf, len));
	kfree(buf, len);
	mm_put(mm);
	return len && !buf ? -ENOMEM : 0;
}

static void put_vma(struct strbuf *sb, const struct vma *v)
{
	struct node *n = NULL;

	if (v->object && v->object->ops == &archive_object_ops)
		n = container_of(v->object, struct node, object);
	sb_printf(sb, "%08llx-%08llx %c%c%c%c %08llx 00:%02x %llu", (unsigned long long)v->start,
		  (unsigned long long)v->end, v->flags & VM_READ ? 'r' : '-',
		  v->flags & VM_WRITE ? 'w' : '-', v->flags & VM_EXEC ? 'x' : '-',
		  v->flags & VM_SHARED ? 's' : 'p', (unsigned long long)v->offset, n ? 1 : 0,
		  (unsigned long long)(n ? n->ino : 0));
	if (n) {
		sb_printf(sb, " ");
		if (n->parent != node_root && n->parent->parent == node_root) {
			sb_printf(sb, "/");
			text_write(sb, n->parent->name, n->parent->name_len);
		}
		sb_printf(sb, "/");
		text_write(sb, n->name, n->name_len);
	} else if (v->flags & VM_GROWSDOWN) {
		sb_printf(sb, " [stack]");
	} else if (v->flags & VM_HEAP) {
		sb_printf(sb, " [heap]");
	}
	sb_printf(sb, "\n");
}

static int show_maps(struct strbuf *sb, u64 pid)
{
	struct mm *mm = proc_mm((u32)pid);
	struct vma *v;

	if (!mm)
		return 0;
	spin_lock(&mm->lock);
	list_for_each (v, &mm->vmas, link)
		put_vma(sb, v);
	spin_unlock(&mm->lock);
	mm_put(mm);
	return 0;
}

const struct text_desc pid_texts[] = {
	{"stat", 0444, show_stat, NULL},
	{"status", 0444, show_status, NULL},
	{"statm", 0444, show_statm, NULL},
	{"cmdline", 0444, show_cmdline, NULL},
	{"comm", 0444, show_comm, NULL},
	{"sched", 0444, show_sched, NULL},
	{"schedstat", 0444, show_schedstat, NULL},
	{"maps", 0444, show_maps, NULL},
	{NULL, 0, NULL, NULL},
};

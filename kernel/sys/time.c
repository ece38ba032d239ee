/* SPDX-License-Identifier: MIT
 *
 * System calls on time: clocks, sleeping, interval timers, resource usage.
 */
#include "lib/string.h"
#include "sys/calls.h"
#include "sys/rusage.h"
#include "task/thread.h"

#define CLOCK_REALTIME		 0
#define CLOCK_MONOTONIC		 1
#define CLOCK_PROCESS_CPUTIME_ID 2
#define CLOCK_THREAD_CPUTIME_ID	 3
#define CLOCK_MONOTONIC_RAW	 4
#define CLOCK_REALTIME_COARSE	 5
#define CLOCK_MONOTONIC_COARSE	 6
#define CLOCK_BOOTTIME		 7
#define TIMER_ABSTIME		 1u

struct timespec_user {
	s64 sec, nsec;
};

/* Seconds beyond this are "for ever": the nanosecond clock wraps after 584 years. */
#define SEC_LIMIT (1ll << 33)

static s64 get_timespec(u64 user, u64 *ns)
{
	struct timespec_user ts;

	if (copy_from_user(&ts, (void *)user, sizeof(ts)))
		return -EFAULT;
	if (ts.sec < 0 || ts.nsec < 0 || ts.nsec >= (s64)NSEC_PER_SEC)
		return -EINVAL;
	*ns = (u64)min(ts.sec, SEC_LIMIT) * NSEC_PER_SEC + (u64)ts.nsec;
	return 0;
}

static s64 put_timespec(u64 user, u64 ns)
{
	struct timespec_user ts = {(s64)(ns / NSEC_PER_SEC), (s64)(ns % NSEC_PER_SEC)};

	return copy_to_user((void *)user, &ts, sizeof(ts));
}

/* Return: 0 and *@ns, or -EINVAL for a clock that does not exist. */
static s64 read_clock(u64 clock, u64 *ns)
{
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		*ns = wall_clock_base + machine_now();
		return 0;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*ns = machine_now();
		return 0;
	case CLOCK_PROCESS_CPUTIME_ID:
		*ns = process_runtime(current_process());
		return 0;
	case CLOCK_THREAD_CPUTIME_ID:
		*ns = sched_task_runtime(current_task());
		return 0;
	}
	return -EINVAL;
}

SYSCALL2(clock_gettime, clock, ts)
{
	u64 ns;
	s64 err = read_clock((u32)clock, &ns);

	return err ? err : put_timespec(ts, ns);
}

SYSCALL2(clock_getres, clock, ts)
{
	u64 ns;
	s64 err = read_clock((u32)clock, &ns);

	return err || !ts ? err : put_timespec(ts, 1);
}

SYSCALL2(gettimeofday, tv, tz)
{
	u64 ns = wall_clock_base + machine_now();
	struct timeval_user t = {(s64)(ns / NSEC_PER_SEC), (s64)(ns % NSEC_PER_SEC / 1000)};
	u64 zero = 0;

	if (tv && copy_to_user((void *)tv, &t, sizeof(t)))
		return -EFAULT;
	return tz ? copy_to_user((void *)tz, &zero, sizeof(zero)) : 0;
}

SYSCALL1(time, out)
{
	u64 sec = (wall_clock_base + machine_now()) / NSEC_PER_SEC;

	if (out && put_user_u64((u64 *)out, sec))
		return -EFAULT;
	return (s64)sec;
}

/* ---- sleeping ---- */

/* Sleep until monotonic @until. Return: true if that was reached, false if a signal waits. */
static bool sleep_interruptible(u64 until)
{
	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (current_task()->signal_pending) {
			set_current_state(TASK_RUNNING);
			return false;
		}
		if (sleep_until(until, TASK_INTERRUPTIBLE))
			return true;
	}
}

/* A relative sleep that a signal interrupts goes on with restart_syscall() if no handler runs; else the user learns what is left. */
static s64 relative_sleep(u64 until, u64 rem)
{
	struct thread *t = current_thread();
	u64 now;

	if (sleep_interruptible(until))
		return 0;
	now = machine_now();
	if (now >= until)
		return 0;
	if (rem && put_timespec(rem, until - now))
		return -EFAULT;
	t->restart_until = until;
	t->restart_rem = rem;
	return -ERESTART_RESTARTBLOCK;
}

SYSCALL0(restart_syscall)
{
	struct thread *t = current_thread();

	/* Only the kernel sends a thread here, after relative_sleep() set this; a program that calls it by itself gets EINTR. */
	if (!t->restart_until)
		return -EINTR;
	return relative_sleep(t->restart_until, t->restart_rem);
}

SYSCALL2(nanosleep, req, rem)
{
	u64 ns;
	s64 err = get_timespec(req, &ns);

	return err ? err : relative_sleep(machine_now() + ns, rem);
}

SYSCALL4(clock_nanosleep, clock, flags, req, rem)
{
	u64 ns, now;
	s64 err;

	if ((u32)clock == CLOCK_THREAD_CPUTIME_ID || (u32)clock == CLOCK_PROCESS_CPUTIME_ID)
		return -EOPNOTSUPP;
	err = read_clock((u32)clock, &now);
	if (err)
		return err;
	err = get_timespec(req, &ns);
	if (err)
		return err;
	if (!(flags & TIMER_ABSTIME))
		return relative_sleep(machine_now() + ns, rem);
	if ((u32)clock == CLOCK_REALTIME)
		ns = ns > wall_clock_base ? ns - wall_clock_base : 0;
	return sleep_interruptible(ns) ? 0 : -ERESTARTNOHAND;
}

/* ---- interval timers and alarm ---- */

struct itimerval_user {
	struct timeval_user interval, value;
};

/* To be signalled @value from now. */
static void set_relative(struct posix_timer *pt, u64 value, u64 interval)
{
	posix_timer_set(pt, value ? posix_timer_clock(pt) + value : 0, value ? interval : 0);
}

static bool timeval_ns(const struct timeval_user *tv, u64 *ns)
{
	if (tv->sec < 0 || tv->usec < 0 || tv->usec >= 1000000)
		return false;
	*ns = (u64)min(tv->sec, SEC_LIMIT) * NSEC_PER_SEC + (u64)tv->usec * 1000;
	return true;
}

static void ns_timeval(u64 ns, struct timeval_user *tv)
{
	tv->sec = (s64)(ns / NSEC_PER_SEC);
	tv->usec = (s64)(ns % NSEC_PER_SEC / 1000);
}

static s64 put_itimer(struct posix_timer *pt, u64 user)
{
	struct itimerval_user it;
	u64 interval, value = posix_timer_left(pt, &interval);

	ns_timeval(value && value < 1000 ? 1000 : value, &it.value);
	ns_timeval(interval, &it.interval);
	return copy_to_user((void *)user, &it, sizeof(it));
}

SYSCALL3(setitimer, which, new_user, old_user)
{
	struct posix_timer *pt;
	struct itimerval_user it = {0};
	u64 value, interval;

	if (which > 2)
		return -EINVAL;
	pt = process_itimer(which);
	if (!pt)
		return -ENOMEM;
	if (new_user && copy_from_user(&it, (void *)new_user, sizeof(it)))
		return -EFAULT;
	if (!timeval_ns(&it.value, &value) || !timeval_ns(&it.interval, &interval))
		return -EINVAL;
	if (old_user && put_itimer(pt, old_user))
		return -EFAULT;
	set_relative(pt, value, interval);
	return 0;
}

SYSCALL2(getitimer, which, old_user)
{
	struct posix_timer *pt = which > 2 ? NULL : process_itimer(which);

	return pt ? put_itimer(pt, old_user) : which > 2 ? -EINVAL : -ENOMEM;
}

SYSCALL1(alarm, seconds)
{
	struct posix_timer *pt = process_itimer(0);
	u64 interval, value;

	if (!pt)
		return 0;
	value = posix_timer_left(pt, &interval);
	set_relative(pt, (u64)(u32)seconds * NSEC_PER_SEC, 0);
	return (s64)((value + NSEC_PER_SEC / 2) / NSEC_PER_SEC +
		     (value && value < NSEC_PER_SEC / 2));
}

/* ---- timer_create and its kin ---- */

#define SIGEV_NONE	1u
#define SIGEV_THREAD	2u /* the C library's affair: a signal for us */
#define SIGEV_THREAD_ID 4u

struct sigevent_user {
	u64 value;
	s32 signo;
	u32 notify, tid, pad[11];
};

SYSCALL3(timer_create, clock, event, id_user)
{
	struct sigevent_user ev = {.signo = SIGALRM};
	struct thread *target = NULL;
	struct posix_timer *pt;
	s64 err = 0;
	u64 now;

	if (event && copy_from_user(&ev, (void *)event, sizeof(ev)))
		return -EFAULT;
	if (read_clock((u32)clock, &now))
		return -EINVAL;
	if ((u32)clock > CLOCK_PROCESS_CPUTIME_ID && (u32)clock != CLOCK_BOOTTIME)
		return -EOPNOTSUPP;
	if (ev.notify > SIGEV_THREAD && ev.notify != SIGEV_THREAD_ID)
		return -EINVAL;
	if (ev.notify != SIGEV_NONE && (ev.signo < 1 || ev.signo > NSIG))
		return -EINVAL;
	if (ev.notify == SIGEV_THREAD_ID) {
		target = thread_find(ev.tid);
		if (target && target->proc != current_process()) {
			thread_put(target);
			target = NULL;
		}
		if (!target)
			return -EINVAL;
	}
	pt = posix_timer_create(ev.notify == SIGEV_NONE ? 0 : ev.signo,
				(u32)clock == CLOCK_PROCESS_CPUTIME_ID, target);
	if (!pt) {
		if (target)
			thread_put(target);
		return -EAGAIN;
	}
	pt->wall = (u32)clock == CLOCK_REALTIME;
	if (event)
		pt->entry.info.value = ev.value;
	if (put_user_u32((u32 *)id_user, pt->id)) {
		posix_timer_delete(pt);
		err = -EFAULT;
	}
	posix_timer_put(pt);
	return err;
}

static s64 put_timer(struct posix_timer *pt, u64 user)
{
	u64 interval, value = posix_timer_left(pt, &interval);

	return put_timespec(user, interval) || put_timespec(user + 16, value) ? -EFAULT : 0;
}

SYSCALL4(timer_settime, id, flags, new_user, old_user)
{
	struct posix_timer *pt;
	u64 interval, value;
	s64 err = new_user ? get_timespec(new_user, &interval) : -EINVAL;

	if (!err)
		err = get_timespec(new_user + 16, &value);
	if (err)
		return err;
	pt = posix_timer_find((u32)id);
	if (!pt)
		return -EINVAL;
	if (old_user)
		err = put_timer(pt, old_user);
	if (!err && value && (flags & TIMER_ABSTIME)) {
		if (pt->wall)
			value -= min(value - 1, wall_clock_base);
		posix_timer_set(pt, value, interval);
	} else if (!err) {
		set_relative(pt, value, interval);
	}
	posix_timer_put(pt);
	return err;
}

SYSCALL2(timer_gettime, id, user)
{
	struct posix_timer *pt = posix_timer_find((u32)id);
	s64 err;

	if (!pt)
		return -EINVAL;
	err = put_timer(pt, user);
	posix_timer_put(pt);
	return err;
}

SYSCALL1(timer_getoverrun, id)
{
	struct posix_timer *pt = posix_timer_find((u32)id);
	s64 n;

	if (!pt)
		return -EINVAL;
	n = pt->overrun;
	posix_timer_put(pt);
	return n;
}

SYSCALL1(timer_delete, id)
{
	struct posix_timer *pt = posix_timer_find((u32)id);

	if (!pt)
		return -EINVAL;
	posix_timer_delete(pt);
	posix_timer_put(pt);
	return 0;
}

/* ---- resource usage ---- */

SYSCALL2(getrusage, who, out)
{
	struct process *p = current_process();
	struct task *t = current_task();
	struct rusage ru;

	switch ((s32)who) {
	case 0: /* RUSAGE_SELF */
		rusage_process(p, &ru);
		break;
	case 1: /* RUSAGE_THREAD */
		rusage_fill(&ru, sched_task_runtime(t), t->nr_voluntary, t->nr_involuntary);
		break;
	case -1: /* RUSAGE_CHILDREN */
		rusage_fill(&ru, p->children_runtime, p->children_nvcsw, p->children_nivcsw);
		break;
	default:
		return -EINVAL;
	}
	return copy_to_user((void *)out, &ru, sizeof(ru));
}

void rusage_process(struct process *p, struct rusage *ru)
{
	u64 runtime = process_runtime(p), vol, invol;
	u64 flags = spin_lock_irqsave(&p->sig_lock);
	struct thread *t;

	vol = p->dead_nvcsw;
	invol = p->dead_nivcsw;
	list_for_each (t, &p->threads, link) {
		vol += t->task.nr_voluntary;
		invol += t->task.nr_involuntary;
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
	rusage_fill(ru, runtime, vol, invol);
}

SYSCALL1(times, out)
{
	struct process *p = current_process();
	u64 t[4] = {process_runtime(p) / 10000000, 0, p->children_runtime / 10000000, 0};

	if (out && copy_to_user((void *)out, t, sizeof(t)))
		return -EFAULT;
	return (s64)(machine_now() / 10000000);
}

SYSCALL1(sysinfo, out)
{
	struct {
		s64 uptime;
		u64 loads[3], totalram, freeram, sharedram, bufferram, totalswap, freeswap;
		u16 procs, pad;
		u64 totalhigh, freehigh;
		u32 unit;
		char fill[4];
	} si = {0};
	struct mem_stats ms;
	struct process *p;

	mem_stats(&ms);
	si.uptime = (s64)(machine_now() / NSEC_PER_SEC);
	si.totalram = ms.total_pages * PAGE_SIZE;
	si.freeram = ms.free_pages * PAGE_SIZE;
	si.unit = 1;
	spin_lock(&tree_lock);
	list_for_each (p, &process_list, all)
		si.procs++;
	spin_unlock(&tree_lock);
	return copy_to_user((void *)out, &si, sizeof(si));
}

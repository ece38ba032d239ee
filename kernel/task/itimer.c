/* SPDX-License-Identifier: MIT
 *
 * Timers that send signals: the three interval timers of a process and the timers of timer_create(2), which are one kind of thing.
 *
 * An expired timer's signal waits as the timer's own entry of the queue, which needs no memory and can be there only once; a periodic
 * timer starts again when the signal is taken (or would have no effect), and the periods that passed meanwhile are its overruns. Clocks of
 * CPU time are looked at in every tick of a process that has such a timer (task_tick()); the others are kernel timers.
 *
 * Everything under the process's sig_lock.
 */
#include "task/internal.h"

static u64 clock_now(const struct posix_timer *pt)
{
	return pt->cpu ? process_runtime_locked(pt->proc) : machine_now();
}

static void timer_put_locked(struct posix_timer *pt)
{
	if (--pt->refs)
		return;
	pt->proc->nr_queued--;
	kfree(pt, sizeof(*pt));
}

/*
 * Arm it for @when; while its signal waits the kernel timer is started when that is taken. So it is neither queued nor firing then, and
 * a CPU where it fires is the one where it was started last, which timer_cancel() relies on.
 */
static void arm(struct posix_timer *pt, u64 when)
{
	pt->when = when;
	if (when && pt->cpu)
		pt->proc->cpu_timers = true;
	else if (when && pt->entry.sig && list_empty(&pt->entry.link))
		/* with the lock: whoever disarms it next finds it queued */
		timer_start(&pt->timer, when);
}

/* To its next period after @grace ns; those that have passed by then count as overruns. */
static void rearm(struct posix_timer *pt, u64 grace)
{
	u64 missed = 0, now = clock_now(pt) + grace, when = pt->when;

	if (when && when <= now && pt->interval) {
		missed = (now - when) / pt->interval;
		when += (missed + 1) * pt->interval;
	}
	arm(pt, when);
	pt->overrun = (u32)min(missed, 0x7fffffffull);
}

static void expire(struct posix_timer *pt)
{
	if (!list_empty(&pt->entry.link))
		return;
	if (!pt->interval)
		pt->when = 0;
	pt->refs++;
	if (signal_send_locked(pt->proc, pt->target, pt->entry.sig, NULL, &pt->entry)) {
		pt->refs--;
		/* Not at once: short periods would be all we do. */
		rearm(pt, NSEC_PER_SEC / sched_hz);
	}
}

void timer_signal_taken(struct posix_timer *pt, struct siginfo_lite *info)
{
	rearm(pt, 0);
	if (info && info->code == SI_TIMER)
		info->aux = pt->overrun;
	timer_put_locked(pt);
}

static void fired(struct timer *timer)
{
	struct posix_timer *pt = container_of(timer, struct posix_timer, timer);
	u64 flags = spin_lock_irqsave(&pt->proc->sig_lock);

	if (pt->when &&
	    pt->when <=
		    machine_now()) /* else disarmed, by somebody who waits for us to be out of here */
		expire(pt);
	spin_unlock_irqrestore(&pt->proc->sig_lock, flags);
}

void task_tick(void)
{
	struct process *p = current_process();
	struct posix_timer *pt;
	bool armed = false;
	u64 flags, now;

	if (likely(!p || !p->cpu_timers))
		return;
	flags = spin_lock_irqsave(&p->sig_lock);
	now = process_runtime_locked(p);
	list_for_each (pt, &p->timers, link) {
		if (!pt->cpu || !pt->when || !pt->entry.sig)
			continue;
		if (pt->when <= now)
			expire(pt);
		armed |= pt->when != 0;
	}
	p->cpu_timers = armed;
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

static void init_timer(struct posix_timer *pt, struct process *p, int sig, bool cpu)
{
	timer_init(&pt->timer, fired);
	list_init(&pt->entry.link);
	pt->entry.timer = pt;
	pt->entry.sig = sig;
	pt->entry.info.code = SI_KERNEL;
	pt->proc = p;
	pt->cpu = cpu;
	pt->refs = 1;
	list_add_tail(&pt->link, &p->timers);
	p->nr_queued++;
}

void posix_timer_set(struct posix_timer *pt, u64 when, u64 interval)
{
	struct process *p = pt->proc;
	u64 flags;
	u32 sets;

	for (;;) {
		/* Disarm: from here on the timer's function does nothing, and it cannot be running once it is cancelled. */
		flags = spin_lock_irqsave(&p->sig_lock);
		pt->when = pt->interval = 0;
		sets = pt->sets;
		spin_unlock_irqrestore(&p->sig_lock, flags);
		timer_cancel(&pt->timer);
		flags = spin_lock_irqsave(&p->sig_lock);
		if (sets == pt->sets)
			break;
		/* Another thread set it in between: two timer_start() at once would queue it twice. */
		spin_unlock_irqrestore(&p->sig_lock, flags);
	}
	pt->sets++;
	if (!pt->dead) {
		pt->interval = interval;
		arm(pt, when);
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

u64 posix_timer_clock(struct posix_timer *pt)
{
	return pt->cpu ? process_runtime(pt->proc) : machine_now();
}

u64 posix_timer_left(struct posix_timer *pt, u64 *interval)
{
	u64 flags = spin_lock_irqsave(&pt->proc->sig_lock), now = clock_now(pt), left = 0;

	*interval = pt->interval;
	if (pt->when > now)
		left = pt->when - now;
	else if (pt->when)
		left = pt->interval ? pt->interval - (now - pt->when) % pt->interval
				    : !!pt->entry.sig;
	spin_unlock_irqrestore(&pt->proc->sig_lock, flags);
	return left;
}

struct posix_timer *posix_timer_create(int sig, bool cpu, struct thread *target)
{
	struct process *p = current_process();
	struct posix_timer *pt = kzalloc(sizeof(*pt));
	u64 flags;

	if (!pt)
		return NULL;
	flags = spin_lock_irqsave(&p->sig_lock);
	if (p->nr_queued >= SIGQUEUE_MAX) {
		spin_unlock_irqrestore(&p->sig_lock, flags);
		kfree(pt, sizeof(*pt));
		return NULL;
	}
	init_timer(pt, p, sig, cpu);
	pt->refs++; /* the caller's */
	pt->id = p->next_timer++;
	pt->target = target;
	pt->entry.info = (struct siginfo_lite){.code = SI_TIMER, .pid = pt->id, .value = pt->id};
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return pt;
}

struct posix_timer *process_itimer(unsigned which)
{
	static const u8 signals[] = {SIGALRM, SIGVTALRM, SIGPROF};
	struct process *p = current_process();
	struct posix_timer *pt = READ_ONCE(p->itimers[which]), *fresh;
	u64 flags;

	if (pt)
		return pt;
	fresh = kzalloc(sizeof(*fresh));
	flags = spin_lock_irqsave(&p->sig_lock);
	pt = p->itimers[which];
	if (!pt && fresh) {
		init_timer(fresh, p, signals[which], which);
		p->itimers[which] = pt = fresh;
		fresh = NULL;
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
	kfree(fresh, sizeof(*fresh));
	return pt;
}

struct posix_timer *posix_timer_find(u32 id)
{
	struct process *p = current_process();
	u64 flags = spin_lock_irqsave(&p->sig_lock);
	struct posix_timer *pt;

	list_for_each (pt, &p->timers, link)
		if (pt->entry.info.code == SI_TIMER && pt->id == id) {
			pt->refs++;
			spin_unlock_irqrestore(&p->sig_lock, flags);
			return pt;
		}
	spin_unlock_irqrestore(&p->sig_lock, flags);
	return NULL;
}

void posix_timer_put(struct posix_timer *pt)
{
	struct process *p = pt->proc;
	u64 flags = spin_lock_irqsave(&p->sig_lock);

	timer_put_locked(pt);
	spin_unlock_irqrestore(&p->sig_lock, flags);
}

void posix_timer_delete(struct posix_timer *pt)
{
	struct process *p = pt->proc;
	u64 flags = spin_lock_irqsave(&p->sig_lock);
	struct thread *target = pt->target;
	bool first = !pt->dead;

	pt->dead = true;
	pt->target = NULL;
	if (first)
		list_del(&pt->link);
	spin_unlock_irqrestore(&p->sig_lock, flags);
	posix_timer_set(pt, 0, 0);
	if (target)
		thread_put(target);
	if (first)
		posix_timer_put(pt);
}

void timers_end(struct process *p, bool all)
{
	struct posix_timer *pt, *tmp;

	/* No other thread is left. */
	list_for_each_safe (pt, tmp, &p->timers, link)
		if (all || pt->entry.info.code == SI_TIMER)
			posix_timer_delete(pt);
}

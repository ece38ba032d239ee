/* SPDX-License-Identifier: MIT
 *
 * System calls on processes, threads and signals: thin shells that copy arguments and call kernel/task.
 */
#include <arch/smp.h>

#include "ipc/file.h"
#include "log.h"
#include "lib/string.h"
#include "sys/calls.h"
#include "sys/rusage.h"
#include "sys/version.h"
#include "task/sigframe.h"
#include "task/thread.h"

/* Layouts that capget() knows: 32 capabilities, and 64 in two numberings. */
#define CAPS_V1 0x19980330u
#define CAPS_V2 0x20071026u
#define CAPS_V3 0x20080522u

/* ---- identities ---- */

SYSCALL0(getpid)
{
	return current_process()->pid;
}

SYSCALL0(gettid)
{
	return current_thread()->tid;
}

SYSCALL0(getppid)
{
	return current_process()->ppid;
}

/* There are no users: everything is root, and becoming somebody else is refused. */
SYSCALL0(getuid)
{
	return 0;
}

SYSCALL0(geteuid)
{
	return 0;
}

SYSCALL0(getgid)
{
	return 0;
}

SYSCALL0(getegid)
{
	return 0;
}

static s64 put_three_ids(u64 a, u64 b, u64 c)
{
	return put_user_u32((u32 *)a, 0) || put_user_u32((u32 *)b, 0) || put_user_u32((u32 *)c, 0)
		       ? -EFAULT
		       : 0;
}

SYSCALL3(getresuid, r, e, s)
{
	return put_three_ids(r, e, s);
}

SYSCALL3(getresgid, r, e, s)
{
	return put_three_ids(r, e, s);
}

SYSCALL2(getgroups, size, list)
{
	if ((s32)size < 0)
		return -EINVAL;
	if (size && put_user_u32((u32 *)list, 0))
		return -EFAULT;
	return 1;
}

SYSCALL1(setuid, uid)
{
	return (u32)uid ? -EINVAL : 0;
}

SYSCALL1(setgid, gid)
{
	return (u32)gid ? -EINVAL : 0;
}

static struct process *find_or_self(u32 pid)
{
	struct process *p = current_process();

	if (!pid || pid == p->pid) {
		process_get(p);
		return p;
	}
	return process_find(pid);
}

/* -1 leaves an id as it is. Serves users and groups. */
static s64 set_ids(u64 a, u64 b, u64 c)
{
	return (u32)(a + 1) > 1 || (u32)(b + 1) > 1 || (u32)(c + 1) > 1 ? -EINVAL : 0;
}

SYSCALL3(setresuid, r, e, s)
{
	return set_ids(r, e, s);
}

SYSCALL3(setresgid, r, e, s)
{
	return set_ids(r, e, s);
}

SYSCALL2(setreuid, r, e)
{
	return set_ids(r, e, 0);
}

SYSCALL2(setregid, r, e)
{
	return set_ids(r, e, 0);
}

/* root has every capability, of which Linux 6.1 knows 41. */
SYSCALL2(capget, header, data)
{
	static const u32 all[] = {~0u,	 ~0u, 0, 0x1ff,
				  0x1ff, 0}; /* effective, permitted, inheritable: low, high */
	u32 head[2];			     /* version, process */
	struct process *p;

	if (copy_from_user(head, (void *)header, sizeof(head)))
		return -EFAULT;
	if (head[0] != CAPS_V1 && head[0] != CAPS_V2 && head[0] != CAPS_V3) {
		if (put_user_u32((u32 *)header, CAPS_V3))
			return -EFAULT;
		return data ? -EINVAL : 0;
	}
	if ((s32)head[1] < 0)
		return -EINVAL;
	p = find_or_self(head[1]);
	if (!p)
		return -ESRCH;
	process_put(p);
	return data ? copy_to_user((void *)data, all,
				   head[0] == CAPS_V1 ? sizeof(all) / 2 : sizeof(all))
		    : 0;
}

/* ---- groups and sessions ---- */

SYSCALL2(setpgid, pid_arg, pgrp_arg)
{
	struct process *self = current_process(), *p;
	u32 pgrp = (u32)pgrp_arg;
	s64 err = 0;

	if (!pgrp)
		pgrp = (u32)pid_arg ? (u32)pid_arg : self->pid;
	if ((s32)pgrp < 0)
		return -EINVAL;
	p = find_or_self((u32)pid_arg);
	if (!p)
		return -ESRCH;
	spin_lock(&tree_lock);
	if (p != self && p->parent != self)
		err = -ESRCH;
	else if (p != self && p->leader_exec)
		err = -EACCES;
	else if (p->sid == p->pid || p->sid != self->sid)
		err = -EPERM;
	else if (pgrp != p->pid && !pgrp_in_session_locked(pgrp, self->sid))
		err = -EPERM;
	else
		p->pgrp = pgrp;
	spin_unlock(&tree_lock);
	process_put(p);
	return err;
}

SYSCALL1(getpgid, pid)
{
	struct process *p = find_or_self((u32)pid);
	s64 pgrp;

	if (!p)
		return -ESRCH;
	pgrp = p->pgrp;
	process_put(p);
	return pgrp;
}

SYSCALL0(getpgrp)
{
	return current_process()->pgrp;
}

SYSCALL1(getsid, pid)
{
	struct process *p = find_or_self((u32)pid);
	s64 sid;

	if (!p)
		return -ESRCH;
	sid = p->sid;
	process_put(p);
	return sid;
}

SYSCALL0(setsid)
{
	return session_create();
}

/* ---- creation and end ---- */

SYSCALL0(fork)
{
	return do_clone(SIGCHLD, 0, NULL, NULL, 0);
}

SYSCALL0(vfork)
{
	return do_clone(CLONE_VM | CLONE_VFORK | SIGCHLD, 0, NULL, NULL, 0);
}

SYSCALL5(clone, flags, stack, parent_tid, child_tid, tls)
{
	return do_clone(flags, stack, (u32 *)parent_tid, (u32 *)child_tid, tls);
}

SYSCALL1(exit, code)
{
	thread_exit((s32)(code & 0xff) << 8);
}

SYSCALL1(exit_group, code)
{
	process_exit((s32)(code & 0xff) << 8);
}

static void wait_rusage(struct rusage *ru, const struct wait_result *r)
{
	rusage_fill(ru, r->runtime_ns, r->nvcsw, r->nivcsw);
}

SYSCALL4(wait4, which, status, options, rusage)
{
	struct wait_result r;
	struct rusage ru;
	s64 pid;

	if ((u32)options & ~(WNOHANG | WUNTRACED | WCONTINUED | 0xe0000000u))
		return -EINVAL;
	if ((u32)which == 1u << 31) /* no group: its number has no negative */
		return -ESRCH;
	pid = do_wait((s32)which, ((u32)options & (WNOHANG | WUNTRACED | WCONTINUED)) | WEXITED,
		      &r);
	if (pid <= 0)
		return pid;
	if (status && put_user_u32((u32 *)status, (u32)r.status))
		return -EFAULT;
	if (rusage) {
		wait_rusage(&ru, &r);
		if (copy_to_user((void *)rusage, &ru, sizeof(ru)))
			return -EFAULT;
	}
	return pid;
}

SYSCALL5(waitid, type, id, info, options, rusage)
{
	struct wait_result r = {0};
	struct siginfo_user u;
	struct rusage ru;
	s64 which, pid;

	if ((options & ~(u64)(WNOHANG | WNOWAIT | WEXITED | WSTOPPED | WCONTINUED)) ||
	    !(options & (WEXITED | WSTOPPED | WCONTINUED)))
		return -EINVAL;
	switch (type) {
	case 0: /* P_ALL */
		which = -1;
		break;
	case 1: /* P_PID */
		if ((s32)id <= 0)
			return -EINVAL;
		which = (s32)id;
		break;
	case 2: /* P_PGID */
		if ((s32)id < 0)
			return -EINVAL;
		which = -(s64)(id ? (u32)id : current_process()->pgrp);
		break;
	default:
		return -EINVAL;
	}
	/* A group id of 1 would read as "any": no process but init has it, and init is nobody's child. */
	if (type == 2 && which == -1)
		return -ECHILD;
	pid = do_wait(which, (u32)options, &r);
	if (pid < 0)
		return pid;
	if (info) {
		struct siginfo_lite lite = {
			.code = r.code, .pid = r.pid, .value = (u64)(u32)r.value};

		memset(&u, 0, sizeof(u));
		if (pid)
			siginfo_fill(&u, SIGCHLD, &lite);
		if (copy_to_user((void *)info, &u, sizeof(u)))
			return -EFAULT;
	}
	if (rusage && pid) {
		wait_rusage(&ru, &r);
		if (copy_to_user((void *)rusage, &ru, sizeof(ru)))
			return -EFAULT;
	}
	return 0;
}

SYSCALL1(set_tid_address, addr)
{
	current_thread()->clear_tid = (u32 *)addr;
	return current_thread()->tid;
}

SYSCALL2(set_robust_list, head, size)
{
	if (size != 24)
		return -EINVAL;
	current_thread()->robust_list = head;
	return 0;
}

SYSCALL3(get_robust_list, pid, head, size)
{
	struct thread *t = thread_find((u32)pid ? (u32)pid : current_thread()->tid);
	u64 list;

	if (!t)
		return -ESRCH;
	list = t->robust_list;
	thread_put(t);
	return put_user_u64((u64 *)head, list) || put_user_u64((u64 *)size, 24) ? -EFAULT : 0;
}

SYSCALL6(futex, uaddr, op, val, timeout, uaddr2, val3)
{
	return futex_call((u32 *)uaddr, (int)op, (u32)val, timeout, (u32 *)uaddr2, (u32)val3);
}

/* ---- signals ---- */

SYSCALL2(kill, pid, sig)
{
	return do_kill((s32)pid, (int)sig);
}

SYSCALL2(tkill, tid, sig)
{
	return do_tgkill(0, (u32)tid, (int)sig);
}

SYSCALL3(tgkill, tgid, tid, sig)
{
	return (s32)tgid <= 0 ? -EINVAL : do_tgkill((u32)tgid, (u32)tid, (int)sig);
}

static s64 queue_signal(u32 tgid, u32 tid, int sig, u64 user)
{
	struct siginfo_user u;
	struct siginfo_lite info;

	if (copy_from_user(&u, (void *)user, sizeof(u)))
		return -EFAULT;
	/* What the kernel or kill() would say may not be said to others. */
	if ((u.code >= 0 || u.code == SI_TKILL) && (tid ? tid : tgid) != current_thread()->tid)
		return -EPERM;
	info = (struct siginfo_lite){.code = u.code,
				     .pid = (u32)u.field[0],
				     .aux = (u32)(u.field[0] >> 32),
				     .value = u.field[1]};
	return do_sigqueue(tgid, tid, sig, &info);
}

SYSCALL3(rt_sigqueueinfo, pid, sig, info)
{
	return (s32)pid <= 0 ? -ESRCH : queue_signal((u32)pid, 0, (int)sig, info);
}

SYSCALL4(rt_tgsigqueueinfo, tgid, tid, sig, info)
{
	return (s32)tgid <= 0 || (s32)tid <= 0 ? -EINVAL
					       : queue_signal((u32)tgid, (u32)tid, (int)sig, info);
}

SYSCALL4(rt_sigaction, sig, act, old, size)
{
	struct sigaction_k new, prev;
	s64 err;

	if (size != sizeof(sigset_t))
		return -EINVAL;
	if (act && copy_from_user(&new, (void *)act, sizeof(new)))
		return -EFAULT;
	err = do_sigaction((int)sig, act ? &new : NULL, old ? &prev : NULL);
	if (!err && old && copy_to_user((void *)old, &prev, sizeof(prev)))
		return -EFAULT;
	return err;
}

SYSCALL4(rt_sigprocmask, how, set, old, size)
{
	sigset_t new, prev;
	s64 err;

	if (size != sizeof(sigset_t))
		return -EINVAL;
	if (set && get_user_u64(&new, (u64 *)set))
		return -EFAULT;
	err = do_sigprocmask((int)how, set ? &new : NULL, &prev);
	if (!err && old && put_user_u64((u64 *)old, prev))
		return -EFAULT;
	return err;
}

SYSCALL0(rt_sigreturn)
{
	struct thread *t = current_thread();

	return sigframe_pop(t, arch_user_regs(&t->arch));
}

SYSCALL2(rt_sigsuspend, set, size)
{
	sigset_t mask;

	if (size != sizeof(sigset_t))
		return -EINVAL;
	if (get_user_u64(&mask, (u64 *)set))
		return -EFAULT;
	return do_sigsuspend(mask);
}

SYSCALL0(pause)
{
	return do_sigsuspend(current_thread()->blocked);
}

SYSCALL2(rt_sigpending, set, size)
{
	struct thread *t = current_thread();

	if (size > sizeof(sigset_t))
		return -EINVAL;
	return put_user_u64((u64 *)set, (t->pending | t->proc->pending) & t->blocked);
}

SYSCALL4(rt_sigtimedwait, set, info, timeout, size)
{
	struct siginfo_lite lite;
	struct siginfo_user u;
	u64 deadline = ~0ull, ts[2];
	sigset_t mask;
	s64 sig;

	if (size != sizeof(sigset_t))
		return -EINVAL;
	if (get_user_u64(&mask, (u64 *)set))
		return -EFAULT;
	if (timeout) {
		if (copy_from_user(ts, (void *)timeout, sizeof(ts)))
			return -EFAULT;
		if (ts[1] >= NSEC_PER_SEC || (s64)ts[0] < 0)
			return -EINVAL;
		deadline = ts[0] | ts[1]
				   ? machine_now() + min(ts[0], 1ull << 33) * NSEC_PER_SEC + ts[1]
				   : 0;
	}
	sig = do_sigtimedwait(mask, deadline, &lite);
	if (sig > 0 && info) {
		siginfo_fill(&u, (int)sig, &lite);
		if (copy_to_user((void *)info, &u, sizeof(u)))
			return -EFAULT;
	}
	return sig;
}

struct sigaltstack_user {
	u64 sp;
	u32 flags, pad;
	u64 size;
};

SYSCALL2(sigaltstack, new_arg, old_arg)
{
	struct thread *t = current_thread();
	bool inside = t->altstack_size && on_altstack(t, arch_user_regs(&t->arch)->rsp);
	struct sigaltstack_user ss, old = {
					    .sp = t->altstack_sp,
					    .flags = !t->altstack_size ? SS_DISABLE
						     : inside	       ? SS_ONSTACK
								       : 0,
					    .size = t->altstack_size,
				    };

	if (new_arg) {
		if (copy_from_user(&ss, (void *)new_arg, sizeof(ss)))
			return -EFAULT;
		if (inside)
			return -EPERM;
		if (ss.flags & ~(SS_DISABLE | SS_ONSTACK | SS_AUTODISARM))
			return -EINVAL;
		if (ss.flags & SS_DISABLE) {
			ss.sp = ss.size = 0;
		} else if (ss.size < MINSIGSTKSZ) {
			return -ENOMEM;
		}
	}
	if (old_arg && copy_to_user((void *)old_arg, &old, sizeof(old)))
		return -EFAULT;
	if (new_arg) {
		t->altstack_sp = ss.sp;
		t->altstack_size = ss.size;
	}
	return 0;
}

/* ---- the machine, the system ---- */

SYSCALL2(arch_prctl, code, addr)
{
	struct arch_thread *t = &current_thread()->arch;

	switch (code) {
	case 0x1001: /* ARCH_SET_GS */
		return arch_set_gs_base(t, addr);
	case 0x1002: /* ARCH_SET_FS */
		return arch_set_fs_base(t, addr);
	case 0x1003: /* ARCH_GET_FS */
		return put_user_u64((u64 *)addr, t->fs_base);
	case 0x1004: /* ARCH_GET_GS */
		return put_user_u64((u64 *)addr, t->gs_base);
	}
	return -EINVAL;
}

SYSCALL3(ioperm, from, num, on)
{
	return arch_ioperm(&current_thread()->arch, from, num, (int)on != 0);
}

SYSCALL5(prctl, option, a, b, c, d)
{
	struct task *t = current_task();
	char name[TASK_COMM_LEN] = {0};

	(void)b, (void)c, (void)d;
	switch (option) {
	case 15: { /* PR_SET_NAME: 15 characters count */
		s64 n = copy_string_from_user(name, (char *)a, sizeof(name));

		if (n == -EFAULT)
			return n;
		name[TASK_COMM_LEN - 1] = '\0';
		memcpy(t->comm, name, sizeof(t->comm));
		return 0;
	}
	case 16: /* PR_GET_NAME */
		return copy_to_user((void *)a, t->comm, sizeof(t->comm));
	case 3: /* PR_GET_DUMPABLE */
		return 0;
	}
	return -EINVAL;
}

SYSCALL1(uname, buf)
{
	struct {
		char sysname[UTS_FIELD], nodename[UTS_FIELD], release[UTS_FIELD],
			version[UTS_FIELD];
		char machine[UTS_FIELD], domain[UTS_FIELD];
	} u = {0};

	str_copy(u.sysname, UTS_SYSNAME, sizeof(u.sysname));
	str_copy(u.nodename, host_name, sizeof(u.nodename));
	str_copy(u.release, UTS_RELEASE, sizeof(u.release));
	str_copy(u.version, UTS_VERSION, sizeof(u.version));
	str_copy(u.machine, UTS_MACHINE, sizeof(u.machine));
	str_copy(u.domain, UTS_DOMAIN, sizeof(u.domain));
	return copy_to_user((void *)buf, &u, sizeof(u));
}

SYSCALL2(sethostname, name, len)
{
	char buf[UTS_FIELD] = {0};

	if (len >= sizeof(buf))
		return -EINVAL;
	if (copy_from_user(buf, (void *)name, len))
		return -EFAULT;
	memcpy(host_name, buf, sizeof(host_name));
	return 0;
}

SYSCALL4(reboot, magic1, magic2, cmd, arg)
{
	(void)arg;
	if ((u32)magic1 != 0xfee1dead ||
	    ((u32)magic2 != 672274793 && (u32)magic2 != 85072278 && (u32)magic2 != 369367448))
		return -EINVAL;
	switch ((u32)cmd) {
	case 0x89abcdef: /* CAD on */
	case 0:		 /* CAD off */
		return 0;
	case 0x4321fedc: /* power off */
	case 0xcdef0123: /* halt */
		power_off(EXIT_CODE_OK);
	case 0x01234567: /* restart */
		klog("restarting");
		arch_reboot();
	}
	return -EINVAL;
}

SYSCALL3(getrandom, buf, n, flags)
{
	u64 done = 0, r;

	if (flags & ~7ull)
		return -EINVAL;
	n = min(n, 1ull << 20);
	while (done < n) {
		u64 part = min(n - done, 8ull);

		r = machine_random();
		if (copy_to_user((void *)(buf + done), &r, part))
			return done ? (s64)done : -EFAULT;
		done += part;
	}
	return (s64)done;
}

/* SPDX-License-Identifier: MIT
 *
 * Process groups and sessions, as the terminal and the shell's job control need them.
 */
#include "ipc/file.h"
#include "task/internal.h"

u32 current_pgrp(void)
{
	return current_process()->pgrp;
}

u32 current_session(void)
{
	return current_process()->sid;
}

bool current_is_session_leader(void)
{
	return current_process()->sid == current_process()->pid;
}

bool pgrp_in_session_locked(u32 pgrp, u32 sid)
{
	struct process *p;

	list_for_each (p, &process_list, all)
		if (p->pgrp == pgrp && p->sid == sid)
			return true;
	return false;
}

bool pgrp_in_session(u32 pgrp, u32 sid)
{
	bool found;

	spin_lock(&tree_lock);
	found = pgrp_in_session_locked(pgrp, sid);
	spin_unlock(&tree_lock);
	return found;
}

bool current_pgrp_orphaned(void)
{
	bool orphaned;

	spin_lock(&tree_lock);
	orphaned = pgrp_orphaned(current_process()->pgrp, NULL);
	spin_unlock(&tree_lock);
	return orphaned;
}

s64 session_create(void)
{
	struct process *self = current_process(), *p;
	s64 ret = self->pid;

	spin_lock(&tree_lock);
	list_for_each (p, &process_list, all)
		if (p->pgrp == self->pid) /* also: it is a group leader already */
			ret = -EPERM;
	if (ret > 0)
		self->sid = self->pgrp = self->pid;
	spin_unlock(&tree_lock);
	return ret;
}

/* The mark is on the session's leader, so that it goes away with it. */
void session_set_tty(u32 sid, bool on)
{
	struct process *p;

	spin_lock(&tree_lock);
	p = process_find_locked(sid);
	if (p)
		p->has_tty = on;
	spin_unlock(&tree_lock);
}

bool current_has_tty(void)
{
	struct process *leader;
	bool has;

	spin_lock(&tree_lock);
	leader = process_find_locked(current_process()->sid);
	has = leader && leader->has_tty;
	spin_unlock(&tree_lock);
	return has;
}

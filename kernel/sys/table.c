/* SPDX-License-Identifier: MIT
 *
 * The system-call table, and the answer to calls that are not in it: -ENOSYS and one log line for each number, never a wrong success.
 */
#include "sys/calls.h"

#include "log.h"
#include "sys/version.h"
#include "task/thread.h"

#define NR_COUNTED 512 /* every number Linux has; higher ones share the last counter */

char host_name[UTS_FIELD] = "jiffies";

static u32 refused[NR_COUNTED]; /* atomic */

/* The entry of every number without CALL(). */
static s64 hole(u64 a0, u64 a1, u64 a2, u64 a3, u64 a4, u64 a5)
{
	(void)a0, (void)a1, (void)a2, (void)a3, (void)a4, (void)a5;
	return sys_unsupported(arch_user_regs(&current_thread()->arch)->orig);
}

/* A range first and single entries over it: that is what the warning is about. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
sys_call_fn *const sys_call_table[] = {
	[0 ... 439] = hole,
#define CALL(nr, name)	    [nr] = sys_##name,
#define FULL_CALL(nr, name) [nr] = full_##name,
#define NOCALL(nr, name)
#include "sys/calls.def"
#undef CALL
#undef FULL_CALL
#undef NOCALL
};
#pragma GCC diagnostic pop

const u64 sys_call_count = ARRAY_SIZE(sys_call_table);

const char *sys_call_name(u64 nr)
{
	static const struct {
		u16 nr;
		const char *name;
	} names[] = {
#define CALL(nr, name)	    {nr, #name},
#define FULL_CALL(nr, name) {nr, #name},
#define NOCALL(nr, name)    {nr, #name},
#include "sys/calls.def"
#undef CALL
#undef FULL_CALL
#undef NOCALL
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (names[i].nr == nr)
			return names[i].name;
	return "?";
}

s64 sys_unsupported(u64 nr)
{
	u64 slot = nr < NR_COUNTED ? nr : NR_COUNTED - 1;

	if (__atomic_fetch_add(&refused[slot], 1, __ATOMIC_RELAXED) == 0)
		klog("system call %llu (%s) is not supported: %s[%u] gets ENOSYS",
		     (unsigned long long)nr, sys_call_name(nr), current_task()->comm,
		     current_task()->id);
	return -ENOSYS;
}

u64 sys_unsupported_next(u64 nr, u32 *count)
{
	for (; nr < NR_COUNTED; nr++) {
		*count = READ_ONCE(refused[nr]);
		if (*count)
			return nr;
	}
	return ~0ull;
}

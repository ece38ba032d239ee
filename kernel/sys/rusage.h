/* SPDX-License-Identifier: MIT
 *
 * Linux's struct rusage and the resource figures that exist here.
 */
#ifndef SYS_RUSAGE_H
#define SYS_RUSAGE_H

#include "lib/string.h"
#include "lib/types.h"

struct timeval_user {
	s64 sec, usec;
};

struct rusage {
	struct timeval_user utime, stime;
	s64 maxrss, ixrss, idrss, isrss, minflt, majflt, nswap, inblock, oublock, msgsnd, msgrcv,
		nsignals;
	s64 nvcsw, nivcsw;
};

_Static_assert(sizeof(struct rusage) == 144, "rusage layout");

/**
 * rusage_fill() - @runtime_ns of CPU time (all of it is shown as user time: the kernel does not split it) and context switches.
 */
static inline void rusage_fill(struct rusage *ru, u64 runtime_ns, u64 nvcsw, u64 nivcsw)
{
	memset(ru, 0, sizeof(*ru));
	ru->utime.sec = (s64)(runtime_ns / NSEC_PER_SEC);
	ru->utime.usec = (s64)(runtime_ns % NSEC_PER_SEC / NSEC_PER_USEC);
	ru->nvcsw = (s64)nvcsw;
	ru->nivcsw = (s64)nivcsw;
}

struct process;
/** rusage_process() - the figures of all threads of @p, dead and alive. Context: task. */
void rusage_process(struct process *p, struct rusage *ru);

#endif

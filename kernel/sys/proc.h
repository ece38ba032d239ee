/* SPDX-License-Identifier: MIT
 *
 * Shared between the files of /proc only.
 */
#ifndef SYS_PROC_H
#define SYS_PROC_H

#include "sys/node.h"

#define NS_PER_TICK 10000000ull /* /proc counts in 1/100 s, whatever the kernel's own tick */

struct cpumask;

/* Text nodes of one process; node.arg is its pid. Ends with a NULL name. */
extern const struct text_desc pid_texts[];

/** proc_text_init() - add the text nodes of the whole machine. Start-up. Return: 0 or -ENOMEM. */
int proc_text_init(struct node *proc);

/** proc_mm() - the address space of process @pid with a reference. Return: NULL if there is none. */
struct mm *proc_mm(u32 pid);

/** put_cpu_list() - "0-3,8" for the members of @mask below @n. */
void put_cpu_list(struct strbuf *sb, const struct cpumask *mask, unsigned n);

#endif

/* SPDX-License-Identifier: MIT
 *
 * Names for kernel addresses, and backtraces. The table is made by tools/ksyms from the kernel's first link and put in by the
 * second.
 */
#include <arch/mmu.h>
#include <arch/spinlock.h>

#include "log.h"
#include "mm/mm.h"

/* From tools/ksyms (an empty table in the first link). Offsets from KERNEL_BASE, ascending. */
extern const u32 ksyms_count, ksyms_addr[], ksyms_name[];
extern const char ksyms_names[];

extern const u8 _text[], _etext[];

static bool is_text(u64 addr)
{
	return addr >= (u64)_text && addr < (u64)_etext;
}

const char *ksym_find(u64 addr, u64 *offset)
{
	u32 low = 0, high = ksyms_count, at = (u32)(addr - KERNEL_BASE);

	if (!is_text(addr) || !high || at < ksyms_addr[0])
		return NULL;
	while (high - low > 1) {
		u32 middle = (low + high) / 2;

		if (ksyms_addr[middle] <= at)
			low = middle;
		else
			high = middle;
	}
	*offset = at - ksyms_addr[low];
	return ksyms_names + ksyms_name[low];
}

static void print_frame(u64 addr, const char *mark, void (*print)(const char *fmt, ...))
{
	u64 offset = 0;
	/* A return address may lie just behind the function that never returns: look at the call. */
	const char *name = ksym_find(addr - 1, &offset);

	print("  %p %s%s+0x%x", (void *)addr, mark, name ? name : "?", (unsigned)offset + 1);
}

/* Does a call instruction end at @addr? Direct calls, and the short forms of indirect ones. */
static bool __attribute__((unused)) follows_call(u64 addr)
{
	const u8 *p = (const u8 *)addr;

	if (addr < (u64)_text + 7)
		return false;
	return p[-5] == 0xe8 || (p[-2] == 0xff && (p[-1] & 0x38) == 0x10) ||
	       (p[-3] == 0xff && (p[-2] & 0x38) == 0x10) ||
	       (p[-4] == 0xff && (p[-3] & 0x38) == 0x10) ||
	       (p[-6] == 0xff && (p[-5] & 0x38) == 0x10) ||
	       (p[-7] == 0xff && (p[-6] & 0x38) == 0x10);
}

/* The end of the stack @rsp is on: of the current kernel stack, else (IST stack, first stack) of the page. */
static u64 stack_end(u64 rsp)
{
	u64 top = this_cpu()->kstack_top;

	if (top && rsp < top && rsp >= top - KSTACK_SIZE)
		return top;
	return ALIGN_UP(rsp + 1, PAGE_SIZE);
}

#define MAX_FRAMES 32

void backtrace(u64 rbp, u64 rsp, void (*print)(const char *fmt, ...))
{
	u64 end;
	unsigned n = 0;

	if (kstack_guard_hit(rsp))
		rsp = ALIGN_UP(rsp + 1, PAGE_SIZE); /* overflow: the stack begins above */
	if (rsp < DIRECT_MAP || rsp % 8)
		return;
	end = stack_end(rsp);
#ifdef DEBUG
	/* Frame pointers: exact. */
	while (n++ < MAX_FRAMES && rbp >= rsp && rbp + 16 <= end && rbp % 8 == 0) {
		u64 *frame = (u64 *)rbp;

		if (!is_text(frame[1]))
			break;
		print_frame(frame[1], "", print);
		rsp = rbp + 16;
		rbp = frame[0];
	}
#else
	/* None in this build: whatever on the stack looks like a return address. Stale ones are among them. */
	(void)rbp;
	for (; rsp + 8 <= end && n < MAX_FRAMES; rsp += 8) {
		u64 v = *(u64 *)rsp;

		if (is_text(v) && follows_call(v)) {
			print_frame(v, "? ", print);
			n++;
		}
	}
#endif
}

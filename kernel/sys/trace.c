/* SPDX-License-Identifier: MIT
 *
 * /dev/trace: the scheduler's records for programs inside the machine. A write is a command (start [EVENTS], stop, clear); a read gives the
 * same bytes that tools/vm --trace takes from outside: a head, then every page that holds something, each as a number, a CPU and records,
 * with empty records at the end of one that is not full. Only while nothing is recorded: a ring has no room for readers and writers at once.
 */
#include <arch/mmu.h>

#include "ipc/copy.h"
#include "lib/string.h"
#include "sched/trace.h"
#include "sys/fd.h"
#include "sys/node.h"

#define RING_BYTES (1ull << 20) /* of each CPU, but all rings no more than an eighth of memory */
#define PAGE_BYTES (TRACE_PER_PAGE * sizeof(struct trace_record))

struct stream_head {
	u64 magic;
	u32 version, cpus;
	u64 first;
	u32 mask, spare; /* what is recorded now */
};

struct chunk_head {
	u64 number;
	u32 cpu, bytes;
};

static u64 physical(const void *p)
{
	return virt_to_phys(p);
}

int trace_make_rings(void)
{
	struct mem_stats st;

	mem_stats(&st);
	return trace_alloc(min(st.total_pages * PAGE_SIZE / 8 / cpus_present, RING_BYTES),
			   physical);
}

/* Copy to @buf what of @data, standing at byte @at of the stream, lies at @pos + @done. Return: bytes, or -EFAULT. */
static s64 emit(u8 *buf, size_t n, u64 pos, size_t *done, u64 at, const void *data, size_t size)
{
	u64 want = pos + *done;
	size_t skip, part;

	if (want < at || want >= at + size || *done == n)
		return 0;
	skip = (size_t)(want - at);
	part = min(size - skip, n - *done);
	if (data ? copy_out(buf + *done, (const u8 *)data + skip, part)
		 : clear_user(buf + *done, part))
		return -EFAULT;
	*done += part;
	return 0;
}

/* The @k-th page of all rings that holds something. Return: NULL after the last. */
static const struct trace_page *nth_page(u64 k, u64 *number, size_t *used)
{
	for (unsigned cpu = 0; cpu < trace_control.nr_cpus; cpu++) {
		u64 first, count = trace_pages(cpu, &first);

		if (k < count) {
			*number = first + k;
			return trace_page_at(cpu, *number, used);
		}
		k -= count;
	}
	return NULL;
}

static s64 trace_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	struct stream_head head = {.magic = TRACE_MAGIC,
				   .version = TRACE_VERSION,
				   .cpus = trace_control.nr_cpus,
				   .first = trace_control.first,
				   .mask = trace_mask};
	const u64 size = sizeof(struct chunk_head) + PAGE_BYTES;
	size_t done = 0;
	s64 err = emit(user_buf, n, *pos, &done, 0, &head, sizeof(head));

	(void)f;
	while (!err && done < n && !current_task()->signal_pending) {
		u64 k = (*pos + done - sizeof(head)) / size, at = sizeof(head) + k * size;
		size_t used = 0, before = done;
		const struct trace_page *page;
		struct chunk_head chunk;

		if (trace_mask) {
			err = -EBUSY;
			break;
		}
		page = nth_page(k, &chunk.number, &used);
		if (!page)
			break;
		used -= sizeof(*page);
		chunk.cpu = page->cpu;
		chunk.bytes = PAGE_BYTES;
		err = emit(user_buf, n, *pos, &done, at, &chunk, sizeof(chunk));
		at += sizeof(chunk);
		if (!err)
			err = emit(user_buf, n, *pos, &done, at, page + 1, used);
		if (!err)
			err = emit(user_buf, n, *pos, &done, at + used, NULL, PAGE_BYTES - used);
		if (READ_ONCE(page->number) != chunk.number) {
			done = before; /* recording began after the look above, and the ring came round */
			err = -EBUSY;
		}
	}
	*pos += done;
	return done ? (s64)done : err;
}

static s64 trace_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	char text[128];
	u32 mask = TRACE_ALL;
	int err;

	(void)f, (void)pos;
	if (n >= sizeof(text))
		return -EINVAL;
	if (copy_in(text, user_buf, n))
		return -EFAULT;
	text[n] = '\0';
	if (n && text[n - 1] == '\n')
		text[n - 1] = '\0';
	if (!strcmp(text, "stop")) {
		trace_stop();
	} else if (!strcmp(text, "clear")) {
		trace_clear();
	} else if (!strncmp(text, "start", 5) && (!text[5] || text[5] == ' ')) {
		if (text[5] && text[6] && !trace_parse(text + 6, &mask))
			return -EINVAL;
		err = trace_make_rings();
		if (err)
			return err;
		trace_start(mask);
	} else {
		return -EINVAL;
	}
	return (s64)n;
}

/* From the start only: that is what starting again means here. */
static s64 trace_seek(struct file *f, s64 offset, int whence)
{
	if (offset || whence)
		return -EINVAL;
	f->pos = 0;
	return 0;
}

const struct file_ops trace_file_ops = {
	.read = trace_read, .write = trace_write, .seek = trace_seek, .poll = poll_always};

// SPDX-License-Identifier: MIT
/*
 * Self-tests of pipes: the rules of reading and writing, wake-ups among several waiters, resizing, and streams between
 * several CPUs.
 */
#include "ipc/ipc_test.h"
#include "lib/string.h"

#define FIONREAD 0x541b

struct io_job {
	struct file *f;
	u8 *buf;
	size_t n;
	volatile s64 result;
	volatile u32 order;
	u32 *counter;
	bool write;
};

#define NOT_YET (-9999)

static void io_once(void *arg)
{
	struct io_job *j = arg;
	s64 r = j->write ? file_write(j->f, j->buf, j->n) : file_read(j->f, j->buf, j->n);

	current_task()->signal_pending = 0;
	j->order = __atomic_add_fetch(j->counter, 1, __ATOMIC_SEQ_CST);
	j->result = r;
}

/* Start a task that makes one call, and see it block. */
static struct task *start_blocked(struct io_job *j)
{
	struct task *t;

	j->result = NOT_YET;
	t = selftest_spawn(io_once, j, j->write ? "writer" : "reader");
	if (!EXPECT(t))
		return NULL;
	EXPECT(test_until(test_asleep(t)));
	EXPECT_EQ(j->result, NOT_YET);
	return t;
}

static void close_both(struct file *ends[2])
{
	file_put(ends[0]);
	file_put(ends[1]);
}

SELFTEST(pipe_basic)
{
	struct file *e[2];
	u8 *buf = kmalloc(65536);
	u32 avail = 77;

	if (!EXPECT(buf) || !EXPECT_EQ(pipe_create(e, O_NONBLOCK), 0))
		return;
	EXPECT(file_is_pipe(e[0]) && file_is_pipe(e[1]));
	EXPECT_EQ(file_read(e[0], buf, 10), -EAGAIN);
	EXPECT_EQ(file_write(e[1], "hello", 5), 5);
	EXPECT_EQ(file_write(e[1], "", 0), 0);
	EXPECT_EQ(file_ioctl(e[0], FIONREAD, &avail), 0);
	EXPECT_EQ(avail, 5);
	EXPECT_EQ(file_ioctl(e[0], 0x5401, &avail), -ENOTTY);
	EXPECT_EQ(file_read(e[0], buf, 3), 3);
	EXPECT_EQ(memcmp(buf, "hel", 3), 0);
	EXPECT_EQ(file_write(e[1], " world", 6), 6);
	EXPECT_EQ(file_read(e[0], buf, 100), 8);
	EXPECT_EQ(memcmp(buf, "lo world", 8), 0);
	/* Full to the last byte, and what a non-blocking writer gets then. */
	memset(buf, 'x', 65536);
	EXPECT_EQ(file_write(e[1], buf, 65535), 65535);
	EXPECT_EQ(file_write(e[1], buf, 2), -EAGAIN); /* up to PIPE_BUF: all or nothing */
	EXPECT_EQ(file_write(e[1], buf, 8192), 1);    /* beyond: what fits */
	EXPECT_EQ(file_write(e[1], buf, 1), -EAGAIN);
	EXPECT_EQ(file_read(e[0], buf, 65536), 65536);
	EXPECT_EQ(file_read(e[0], buf, 1), -EAGAIN);
	close_both(e);
	kfree(buf, 65536);
}

SELFTEST(pipe_eof)
{
	struct file *e[2];
	u32 counter = 0;
	u8 buf[16];
	struct io_job j = {.buf = buf, .n = 16, .counter = &counter};
	struct task *t;

	if (!EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	EXPECT_EQ(file_write(e[1], "last", 4), 4);
	file_put(e[1]);
	EXPECT_EQ(file_read(e[0], buf, 16), 4);
	EXPECT_EQ(file_read(e[0], buf, 16), 0);
	EXPECT_EQ(file_read(e[0], buf, 16), 0);
	file_put(e[0]);

	/* A blocked reader learns of the end. */
	if (!EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	j.f = e[0];
	t = start_blocked(&j);
	file_put(e[1]);
	EXPECT(t && selftest_join(t));
	EXPECT_EQ(j.result, 0);
	file_put(e[0]);
}

SELFTEST(pipe_epipe)
{
	struct file *e[2];
	u32 counter = 0;
	u8 *buf = kzalloc(70000);
	struct io_job j = {.buf = buf, .n = 70000, .counter = &counter, .write = true};
	struct task *t;

	if (!EXPECT(buf) || !EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	file_put(e[0]);
	EXPECT_EQ(file_write(e[1], "x", 1), -EPIPE);
	file_put(e[1]);

	/* A blocked writer learns that the reader went; what it had written counts. */
	if (!EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	j.f = e[1];
	t = start_blocked(&j);
	file_put(e[0]);
	EXPECT(t && selftest_join(t));
	EXPECT_EQ(j.result, 65536);
	EXPECT_EQ(file_write(e[1], "x", 1), -EPIPE);
	file_put(e[1]);
	kfree(buf, 70000);
}

SELFTEST(pipe_interrupted)
{
	struct file *e[2];
	u32 counter = 0;
	u8 *buf = kzalloc(70000);
	struct io_job r = {.buf = buf, .n = 10, .counter = &counter};
	struct io_job w = {.buf = buf, .n = 70000, .counter = &counter, .write = true};
	struct task *t;

	if (!EXPECT(buf) || !EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	r.f = e[0];
	w.f = e[1];
	t = start_blocked(&r);
	if (t)
		test_signal(t);
	EXPECT(t && selftest_join(t));
	EXPECT_EQ(r.result, -ERESTARTSYS);
	/* With bytes moved the call ends with their number. */
	t = start_blocked(&w);
	if (t)
		test_signal(t);
	EXPECT(t && selftest_join(t));
	EXPECT_EQ(w.result, 65536);
	/* A full pipe and an atomic write: nothing moved. */
	w.n = 100;
	t = start_blocked(&w);
	if (t)
		test_signal(t);
	EXPECT(t && selftest_join(t));
	EXPECT_EQ(w.result, -ERESTARTSYS);
	close_both(e);
	kfree(buf, 70000);
}

/* Readers are served in the order in which they came, one for each write. */
SELFTEST(pipe_wake_order)
{
	struct file *e[2];
	u32 counter = 0;
	u8 buf[4];
	struct io_job j[4];
	struct task *t[4];

	if (!EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	for (int i = 0; i < 4; i++) {
		j[i] = (struct io_job){.f = e[0], .buf = &buf[i], .n = 1, .counter = &counter};
		t[i] = start_blocked(&j[i]);
		if (!t[i])
			return;
	}
	for (int i = 0; i < 4; i++) {
		u8 c = 'a' + i;

		EXPECT_EQ(file_write(e[1], &c, 1), 1);
		EXPECT(test_until(j[i].result == 1));
		EXPECT_EQ(buf[i], c);
		selftest_sleep_ns(5 * NSEC_PER_MSEC);
		EXPECT_EQ(counter, i + 1);
	}
	for (int i = 0; i < 4; i++)
		EXPECT(selftest_join(t[i]));
	close_both(e);
}

/* One write, one wake-up, work for three: each woken reader that leaves bytes wakes the next. */
SELFTEST(pipe_wake_passed_on)
{
	struct file *e[2];
	u32 counter = 0;
	u8 buf[4] = {0};
	struct io_job j[4];
	struct task *t[4];

	if (!EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	for (int i = 0; i < 4; i++) {
		j[i] = (struct io_job){.f = e[0], .buf = &buf[i], .n = 1, .counter = &counter};
		t[i] = start_blocked(&j[i]);
		if (!t[i])
			return;
	}
	EXPECT_EQ(file_write(e[1], "abc", 3), 3);
	EXPECT(test_until(counter == 3));
	selftest_sleep_ns(20 * NSEC_PER_MSEC);
	EXPECT_EQ(counter, 3);
	EXPECT(test_asleep(t[3]));
	EXPECT_EQ(file_write(e[1], "d", 1), 1);
	for (int i = 0; i < 4; i++)
		EXPECT(selftest_join(t[i]));
	EXPECT_EQ(buf[0] + buf[1] + buf[2] + buf[3], 'a' + 'b' + 'c' + 'd');
	close_both(e);
}

/*
 * One byte of room, two writers at the head of the queue that need a whole page, one behind them that needs a byte: the
 * wake-up must travel to the third, and the first two must then sleep, not wake each other for ever.
 */
SELFTEST(pipe_writers_of_different_size)
{
	struct file *e[2];
	u32 counter = 0;
	u8 *buf = kzalloc(4096);
	struct io_job j[3];
	struct task *t[3];
	u64 switches;
	u8 c;

	if (!EXPECT(buf) || !EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	EXPECT_EQ(pipe_set_size(e[0], 4096), 4096);
	EXPECT_EQ(file_write(e[1], buf, 4096), 4096);
	for (int i = 0; i < 3; i++) {
		j[i] = (struct io_job){.f = e[1],
				       .buf = buf,
				       .n = i < 2 ? 4096 : 1,
				       .counter = &counter,
				       .write = true};
		t[i] = start_blocked(&j[i]);
		if (!t[i])
			return;
	}
	EXPECT_EQ(file_read(e[0], &c, 1), 1);
	EXPECT(test_until(j[2].result == 1));
	EXPECT(test_until(test_asleep(t[0]) && test_asleep(t[1])));
	/* Room that nobody in the queue can use: they look once and sleep on. */
	EXPECT_EQ(file_read(e[0], &c, 1), 1);
	selftest_sleep_ns(10 * NSEC_PER_MSEC);
	switches = t[0]->nr_voluntary + t[1]->nr_voluntary;
	selftest_sleep_ns(50 * NSEC_PER_MSEC);
	EXPECT(t[0]->nr_voluntary + t[1]->nr_voluntary - switches <= 2);
	EXPECT_EQ(counter, 1);
	for (int i = 0; i < 3; i++)
		for (int left = i ? 4096 : 4095; left > 0;) {
			s64 n = file_read(e[0], buf, left);

			if (!EXPECT(n > 0))
				return;
			left -= n;
		}
	for (int i = 0; i < 3; i++)
		EXPECT(selftest_join(t[i]));
	EXPECT_EQ(j[0].result, 4096);
	EXPECT_EQ(j[1].result, 4096);
	close_both(e);
	kfree(buf, 4096);
}

static void fill(u8 *buf, size_t n, u32 seed)
{
	for (size_t i = 0; i < n; i++)
		buf[i] = (u8)test_random(&seed);
}

SELFTEST(pipe_resize)
{
	static const u32 sizes[] = {16384, 8192, 1 << 20, 131072, 65536, 8192};
	struct file *e[2];
	u32 counter = 0;
	u8 *in = kmalloc(65536), *out = kmalloc(65536);
	struct io_job j = {.buf = in, .n = 4096, .counter = &counter, .write = true};
	struct task *t;

	if (!EXPECT(in && out) || !EXPECT_EQ(pipe_create(e, O_NONBLOCK), 0))
		return;
	EXPECT_EQ(pipe_size(e[0]), 65536);
	EXPECT_EQ(pipe_set_size(e[0], 0), -EINVAL);
	EXPECT_EQ(pipe_set_size(e[0], (1 << 20) + 1), -EPERM);
	EXPECT_EQ(pipe_set_size(e[1], 1), 4096);
	EXPECT_EQ(pipe_set_size(e[1], 4097), 8192);
	fill(in, 65536, 7);
	/* Contents that wrap around the ring's end inside a page survive every change. */
	EXPECT_EQ(file_write(e[1], in, 8192), 8192);
	EXPECT_EQ(file_read(e[0], out, 5000), 5000);
	EXPECT_EQ(file_write(e[1], in + 8192, 4900), 4900);
	EXPECT_EQ(pipe_set_size(e[0], 4096), -EBUSY);
	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		EXPECT_EQ(pipe_set_size(e[0], sizes[i]), sizes[i]);
		EXPECT_EQ(pipe_size(e[1]), sizes[i]);
	}
	EXPECT_EQ(file_read(e[0], out + 5000, 60000), 8192 + 4900 - 5000);
	EXPECT_EQ(memcmp(in, out, 8192 + 4900), 0);
	/* A larger ring lets a blocked writer go on. */
	e[1]->flags &= ~O_NONBLOCK;
	EXPECT_EQ(pipe_set_size(e[0], 4096), 4096);
	EXPECT_EQ(file_write(e[1], in, 100), 100);
	j.f = e[1];
	t = start_blocked(&j);
	EXPECT_EQ(pipe_set_size(e[0], 8192), 8192);
	EXPECT(t && selftest_join(t));
	EXPECT_EQ(j.result, 4096);
	close_both(e);
	kfree(in, 65536);
	kfree(out, 65536);
}

/* All pages come back. */
SELFTEST(pipe_no_leak)
{
	struct mem_stats before = {0}, after;
	u8 *buf = kzalloc(65536);

	if (!EXPECT(buf))
		return;
	for (int i = 0; i < 20; i++) {
		struct file *e[2];

		if (!EXPECT_EQ(pipe_create(e, O_NONBLOCK), 0))
			return;
		EXPECT_EQ(file_write(e[1], buf, 65536), 65536);
		EXPECT_EQ(pipe_set_size(e[1], 262144), 262144);
		EXPECT_EQ(file_write(e[1], buf, 65536), 65536);
		EXPECT_EQ(pipe_set_size(e[1], 131072), 131072);
		close_both(e);
		if (i == 4)
			mem_stats(&before); /* object caches have their pages by now */
	}
	mem_stats(&after);
	/* Other CPUs and the log may move a page or two; a leak here would be hundreds. */
	EXPECT(after.free_pages + 8 >= before.free_pages);
	EXPECT(after.slab_objects <= before.slab_objects + 8);
	kfree(buf, 65536);
}

/* ---- streams ---- */

#define WRITERS 4
#define RECORDS 400

struct record {
	u16 len; /* of the whole record, up to PIPE_BUF */
	u8 writer, fill;
	u32 seq;
};

struct record_job {
	struct file *f;
	u32 id;
	volatile u32 failed;
};

static void record_writer(void *arg)
{
	struct record_job *j = arg;
	u8 *buf = kmalloc(4096);
	u32 seed = j->id * 77 + 1;

	for (u32 seq = 0; buf && seq < RECORDS; seq++) {
		struct record *r = (struct record *)buf;

		r->len = sizeof(*r) + test_random(&seed) % (4096 - sizeof(*r) + 1);
		if (seq % 7 == 0)
			r->len = 4096;
		r->writer = j->id;
		r->fill = (u8)test_random(&seed);
		r->seq = seq;
		memset(r + 1, r->fill, r->len - sizeof(*r));
		if (file_write(j->f, buf, r->len) != r->len)
			j->failed++;
	}
	if (!buf)
		j->failed++;
	kfree(buf, 4096);
}

/* Read exactly @n bytes in uneven pieces. */
static bool read_full(struct file *f, u8 *buf, size_t n, u32 *seed)
{
	for (size_t done = 0; done < n;) {
		s64 r = file_read(f, buf + done,
				  min(n - done, (size_t)(test_random(seed) % 700 + 1)));

		if (r <= 0)
			return false;
		done += r;
	}
	return true;
}

static void atomic_records(u32 size)
{
	struct file *e[2];
	struct record_job j[WRITERS];
	struct task *t[WRITERS];
	u32 next[WRITERS] = {0}, seed = 99, bad = 0;
	u8 *buf = kmalloc(4096);

	if (!EXPECT(buf) || !EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	EXPECT_EQ(pipe_set_size(e[0], size), size);
	for (u32 i = 0; i < WRITERS; i++) {
		j[i] = (struct record_job){e[1], i, 0};
		t[i] = selftest_spawn(record_writer, &j[i], "writer");
		if (!EXPECT(t[i]))
			return;
	}
	for (u32 n = 0; n < WRITERS * RECORDS && !bad; n++) {
		struct record *r = (struct record *)buf;

		if (!read_full(e[0], buf, sizeof(*r), &seed) || r->len < sizeof(*r) ||
		    r->len > 4096 || r->writer >= WRITERS || r->seq != next[r->writer] ||
		    !read_full(e[0], buf + sizeof(*r), r->len - sizeof(*r), &seed)) {
			bad++;
			break;
		}
		next[r->writer]++;
		for (u32 i = sizeof(*r); i < r->len; i++)
			bad += buf[i] != r->fill;
	}
	EXPECT_EQ(bad, 0);
	file_put(e[0]); /* after a failure the writers get EPIPE instead of blocking */
	for (u32 i = 0; i < WRITERS; i++) {
		EXPECT(selftest_join(t[i]));
		EXPECT_EQ(j[i].failed, 0);
	}
	file_put(e[1]);
	kfree(buf, 4096);
}

SELFTEST(pipe_atomic_writes_small_ring)
{
	atomic_records(4096);
}

SELFTEST(pipe_atomic_writes)
{
	atomic_records(65536);
}

struct stream_job {
	struct file *f;
	u32 id;
	u64 bytes, sum; /* moved by this task */
	volatile u32 failed;
};

#define STREAM_BYTES 400000u

static void stream_writer(void *arg)
{
	struct stream_job *j = arg;
	u32 seed = j->id + 1000;
	u8 *buf = kmalloc(20000);

	while (buf && j->bytes < STREAM_BYTES) {
		u32 n = test_random(&seed) % 20000 + 1;
		s64 w;

		n = (u32)min((u64)n, STREAM_BYTES - j->bytes);
		fill(buf, n, seed);
		w = file_write(j->f, buf, n);
		if (w != n) {
			j->failed++;
			break;
		}
		for (u32 i = 0; i < n; i++)
			j->sum += buf[i];
		j->bytes += n;
	}
	j->failed += !buf;
	kfree(buf, 20000);
}

static void stream_reader(void *arg)
{
	struct stream_job *j = arg;
	u32 seed = j->id + 5000;
	u8 *buf = kmalloc(20000);
	s64 n = 1;

	while (buf && n > 0) {
		n = file_read(j->f, buf, test_random(&seed) % 20000 + 1);
		for (s64 i = 0; i < n; i++)
			j->sum += buf[i];
		j->bytes += n > 0 ? n : 0;
	}
	j->failed += !buf || n < 0;
	kfree(buf, 20000);
}

static void many_to_many(u32 size)
{
	struct file *e[2];
	struct stream_job w[3], r[3];
	struct task *tw[3], *tr[3];
	u64 written = 0, wsum = 0, read = 0, rsum = 0;

	if (!EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	EXPECT_EQ(pipe_set_size(e[0], size), size);
	for (u32 i = 0; i < 3; i++) {
		w[i] = (struct stream_job){.f = e[1], .id = i};
		r[i] = (struct stream_job){.f = e[0], .id = i};
		tw[i] = selftest_spawn(stream_writer, &w[i], "writer");
		tr[i] = selftest_spawn(stream_reader, &r[i], "reader");
		if (!EXPECT(tw[i] && tr[i]))
			return;
	}
	for (u32 i = 0; i < 3; i++)
		if (!EXPECT(selftest_join(tw[i])))
			return;
	file_put(e[1]);
	for (u32 i = 0; i < 3; i++) {
		if (!EXPECT(selftest_join(tr[i])))
			return;
		EXPECT_EQ(w[i].failed + r[i].failed, 0);
		written += w[i].bytes;
		wsum += w[i].sum;
		read += r[i].bytes;
		rsum += r[i].sum;
	}
	EXPECT_EQ(written, 3 * STREAM_BYTES);
	EXPECT_EQ(read, written);
	EXPECT_EQ(rsum, wsum);
	file_put(e[0]);
}

SELFTEST(pipe_many_to_many_small_ring)
{
	many_to_many(4096);
}

SELFTEST(pipe_many_to_many)
{
	many_to_many(65536);
}

/* One writer and one reader: not only the sum but the order of the bytes. */
struct order_job {
	struct file *f;
	u32 bad;
};

static void ordered_writer(void *arg)
{
	struct order_job *j = arg;
	u8 *buf = kmalloc(30000);
	u32 data = 5, seed = 17;

	for (u32 left = 1000000; buf && left;) {
		u32 n = min(left, test_random(&seed) % 30000 + 1);

		for (u32 i = 0; i < n; i++)
			buf[i] = (u8)test_random(&data);
		if (file_write(j->f, buf, n) != n) {
			j->bad++;
			break;
		}
		left -= n;
	}
	j->bad += !buf;
	kfree(buf, 30000);
	file_put(j->f);
}

SELFTEST(pipe_byte_order)
{
	struct file *e[2];
	struct order_job j;
	struct task *t;
	u32 data = 5, seed = 23, bad = 0, total = 0;
	u8 *buf = kmalloc(9000);
	s64 n;

	if (!EXPECT(buf) || !EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	j = (struct order_job){e[1], 0};
	t = selftest_spawn(ordered_writer, &j, "writer");
	if (!EXPECT(t))
		return;
	while ((n = file_read(e[0], buf, test_random(&seed) % 9000 + 1)) > 0) {
		for (s64 i = 0; i < n; i++)
			bad += buf[i] != (u8)test_random(&data);
		total += n;
	}
	EXPECT_EQ(n, 0);
	EXPECT(selftest_join(t));
	EXPECT_EQ(bad + j.bad, 0);
	EXPECT_EQ(total, 1000000);
	file_put(e[0]);
	kfree(buf, 9000);
}

/* ---- signals against wake-ups ---- */

struct flaky {
	struct file *f;
	volatile bool stop;
	volatile u32 got;
};

/* A reader that takes one byte at a time and is interrupted again and again. */
static void flaky_reader(void *arg)
{
	struct flaky *k = arg;
	u8 c;

	for (;;) {
		s64 r = file_read(k->f, &c, 1);

		if (r == 0)
			return;
		if (r == 1)
			__atomic_add_fetch(&k->got, 1, __ATOMIC_SEQ_CST);
		current_task()->signal_pending = 0;
	}
}

/*
 * Three readers wait; bytes arrive one or two at a time while "signals" hit the waiters. If an interrupted waiter swallowed
 * a wake-up, a byte would stay in the pipe while the others sleep.
 */
SELFTEST(pipe_interrupted_waiter_passes_wake_on)
{
	struct file *e[2];
	struct flaky k = {0};
	struct task *t[3];
	u64 stop = machine_now() + STRESS_NS;
	u32 seed = 3, sent = 0;

	if (!EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	k.f = e[0];
	for (int i = 0; i < 3; i++) {
		t[i] = selftest_spawn(flaky_reader, &k, "flaky");
		if (!EXPECT(t[i]))
			return;
	}
	for (u32 i = 0; i < 3000 && machine_now() < stop; i++) {
		u32 n = 1 + (test_random(&seed) & 1);
		u64 end = machine_now() + 5 * NSEC_PER_SEC;

		if (test_random(&seed) & 1)
			test_signal(t[test_random(&seed) % 3]);
		EXPECT_EQ(file_write(e[1], "xy", n), n);
		sent += n;
		if (test_random(&seed) & 1)
			test_signal(t[test_random(&seed) % 3]);
		while (k.got != sent && machine_now() < end)
			sched_yield_current();
		if (!EXPECT_EQ(k.got, sent))
			break;
	}
	file_put(e[1]);
	for (int i = 0; i < 3; i++)
		EXPECT(selftest_join(t[i]));
	file_put(e[0]);
}

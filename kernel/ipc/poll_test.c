// SPDX-License-Identifier: MIT
/*
 * Self-tests of poll and of interrupt objects.
 */
#include <arch/smp.h>

#include "ipc/ipc_test.h"

#define NR_PIPES 40 /* more than the inline entries of a poll, and than one further chunk */

struct write_later {
	struct file *f;
	u64 after_ns;
};

static void write_later(void *arg)
{
	struct write_later *w = arg;

	selftest_sleep_ns(w->after_ns);
	file_write(w->f, "!", 1);
}

SELFTEST(poll_pipes)
{
	struct file *e[2], *files[4];
	struct pollfd fds[4];
	u8 *buf = kzalloc(65536);
	u64 start;

	if (!EXPECT(buf) || !EXPECT_EQ(pipe_create(e, O_NONBLOCK), 0))
		return;
	fds[0] = (struct pollfd){.fd = 0, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = 1, .events = POLLOUT};
	fds[2] = (struct pollfd){.fd = -1, .events = POLLIN};
	fds[3] = (struct pollfd){.fd = 9, .events = POLLIN};
	files[0] = e[0];
	files[1] = e[1];
	files[2] = files[3] = NULL;
	EXPECT_EQ(poll_files(fds, files, 1, 0), 0);
	EXPECT_EQ(poll_files(fds, files, 3, ~0ull), 1);
	EXPECT_EQ(fds[0].revents, 0);
	EXPECT_EQ(fds[1].revents, POLLOUT);
	EXPECT_EQ(fds[2].revents, 0);
	EXPECT_EQ(poll_files(fds, files, 4, 0), 2);
	EXPECT_EQ(fds[3].revents, POLLNVAL);
	start = machine_now();
	EXPECT_EQ(poll_files(fds, files, 1, start + 4 * NSEC_PER_MSEC), 0);
	EXPECT(machine_now() - start >= 4 * NSEC_PER_MSEC);
	/* Writable means: a write of PIPE_BUF would not block. */
	EXPECT_EQ(file_write(e[1], buf, 65536 - 4096), 65536 - 4096);
	EXPECT_EQ(poll_files(fds, files, 2, 0), 2);
	EXPECT_EQ(file_write(e[1], buf, 1), 1);
	EXPECT_EQ(poll_files(fds, files, 2, 0), 1);
	EXPECT_EQ(fds[0].revents, POLLIN);
	EXPECT_EQ(fds[1].revents, 0);
	/* The other end goes. */
	file_put(e[0]);
	EXPECT_EQ(poll_files(fds + 1, files + 1, 1, ~0ull), 1);
	EXPECT(fds[1].revents & POLLERR);
	file_put(e[1]);
	if (!EXPECT_EQ(pipe_create(e, 0), 0))
		return;
	files[0] = e[0];
	file_put(e[1]);
	EXPECT_EQ(poll_files(fds, files, 1, ~0ull), 1);
	EXPECT_EQ(fds[0].revents, POLLHUP);
	file_put(e[0]);
	kfree(buf, 65536);
}

SELFTEST(poll_waits_for_any)
{
	struct file *e[NR_PIPES][2], *files[NR_PIPES];
	struct pollfd *fds = kzalloc(NR_PIPES * sizeof(*fds));
	u32 seed = 11;

	if (!EXPECT(fds))
		return;
	for (int i = 0; i < NR_PIPES; i++) {
		if (!EXPECT_EQ(pipe_create(e[i], 0), 0))
			return;
		files[i] = e[i][0];
		fds[i] = (struct pollfd){.fd = i, .events = POLLIN};
	}
	for (int round = 0; round < 60; round++) {
		u32 which = test_random(&seed) % NR_PIPES;
		struct write_later w = {e[which][1], test_random(&seed) % 400000};
		struct task *t = selftest_spawn(write_later, &w, "later");
		u64 limit = machine_now() + 5 * NSEC_PER_SEC;
		s64 ready;
		u8 c;

		if (!EXPECT(t))
			return;
		ready = poll_files(fds, files, NR_PIPES, limit);
		EXPECT_EQ(ready, 1);
		EXPECT(machine_now() < limit);
		EXPECT_EQ(fds[which].revents, POLLIN);
		EXPECT(selftest_join(t));
		EXPECT_EQ(file_read(files[which], &c, 1), 1);
		if (ready != 1)
			break;
	}
	for (int i = 0; i < NR_PIPES; i++) {
		file_put(e[i][0]);
		file_put(e[i][1]);
	}
	kfree(fds, NR_PIPES * sizeof(*fds));
}

struct ticker {
	struct file *event, *back;
	struct file **full; /* a pipe whose write end the poller watches as well */
	u32 rounds;
};

/*
 * One byte out of the full pipe wakes the poller for nothing, since a byte of room makes nobody ready; soon after, when it
 * looks at its files on account of that, comes the event that matters.
 */
static void tick_away(void *arg)
{
	struct ticker *k = arg;
	u32 seed = 4;
	u8 c = 0;

	test_pin(1);
	for (u32 i = 0; i < k->rounds; i++) {
		test_spin(&seed);
		file_read(k->full[0], &c, 1);
		test_spin(&seed);
		if (file_write(k->event, &c, 1) != 1 || file_read(k->back, &c, 1) != 1)
			return;
		file_write(k->full[1], &c, 1);
	}
}

SELFTEST(poll_no_lost_event)
{
	struct file *event[2], *full[2], *back[2], *files[2];
	struct pollfd fds[2] = {{0, POLLIN, 0}, {1, POLLOUT, 0}};
	struct ticker k;
	struct task *t;
	u8 *buf = kzalloc(65536);
	u64 end = machine_now() + STRESS_NS;
	u32 lost = 0;

	if (!EXPECT(buf) ||
	    !EXPECT_EQ(pipe_create(event, 0) | pipe_create(full, 0) | pipe_create(back, 0), 0))
		return;
	EXPECT_EQ(file_write(full[1], buf, 65000), 65000);
	k = (struct ticker){event[1], back[0], full, 20000};
	t = selftest_spawn(tick_away, &k, "ticker");
	if (!EXPECT(t))
		return;
	files[0] = event[0];
	files[1] = full[1];
	test_pin(0);
	for (u32 i = 0; i < k.rounds && !lost && machine_now() < end; i++) {
		u64 limit = machine_now() + 3 * NSEC_PER_SEC;

		/* A poll looks once more when its time is up: that it found the event only then counts as lost too. */
		if (poll_files(fds, files, 2, limit) != 1 || machine_now() >= limit)
			lost++;
		EXPECT_EQ(fds[1].revents, 0);
		EXPECT_EQ(file_read(event[0], buf, 1), 1);
		EXPECT_EQ(file_write(back[1], buf, 1), 1);
	}
	test_pin(-1);
	EXPECT_EQ(lost, 0);
	file_put(back[1]);
	EXPECT(selftest_join(t));
	file_put(back[0]);
	for (int i = 0; i < 2; i++) {
		file_put(event[i]);
		file_put(full[i]);
	}
	kfree(buf, 65536);
}

/* ---- interrupt objects ---- */

#define TEST_IRQ 5 /* no device of ours has it */

static void raise(unsigned irq, unsigned n)
{
	u64 flags = irq_save();

	while (n--)
		irq_raise(irq);
	irq_restore(flags);
}

struct irq_job {
	struct file *f;
	u64 count;
	volatile s64 result;
};

static void read_irq(void *arg)
{
	struct irq_job *j = arg;

	j->result = file_read(j->f, &j->count, sizeof(j->count));
	current_task()->signal_pending = 0;
}

SELFTEST(irq_object)
{
	struct file *f, *second;
	struct pollfd fd = {.fd = 0, .events = POLLIN};
	struct irq_job j = {0};
	struct task *t;
	u64 count = 0;

	EXPECT_EQ(irq_open(16, O_RDONLY, NULL, &f), -ENOENT);
	raise(TEST_IRQ, 1); /* nobody has it open: ignored */
	if (!EXPECT_EQ(irq_open(TEST_IRQ, O_RDONLY | O_NONBLOCK, NULL, &f), 0))
		return;
	EXPECT_EQ(file_read(f, &count, 8), -EAGAIN);
	EXPECT_EQ(file_read(f, &count, 4), -EINVAL);
	raise(TEST_IRQ, 3);
	EXPECT_EQ(poll_files(&fd, &f, 1, 0), 1);
	EXPECT_EQ(file_read(f, &count, 8), 8);
	EXPECT_EQ(count, 3);
	EXPECT_EQ(poll_files(&fd, &f, 1, 0), 0);
	EXPECT_EQ(file_read(f, &count, 8), -EAGAIN);
	/* Another open file counts for itself, from its opening on. */
	if (!EXPECT_EQ(irq_open(TEST_IRQ, O_RDONLY, NULL, &second), 0))
		return;
	raise(TEST_IRQ, 2);
	EXPECT_EQ(file_read(second, &count, 8), 8);
	EXPECT_EQ(count, 2);
	EXPECT_EQ(file_read(f, &count, 8), 8);
	EXPECT_EQ(count, 2);
	/* A blocked reader. */
	j.f = second;
	t = selftest_spawn(read_irq, &j, "driver");
	if (!EXPECT(t) || !EXPECT(test_until(test_asleep(t))))
		return;
	raise(TEST_IRQ, 1);
	EXPECT(selftest_join(t));
	EXPECT_EQ(j.result, 8);
	EXPECT_EQ(j.count, 1);
	t = selftest_spawn(read_irq, &j, "driver");
	if (!EXPECT(t) || !EXPECT(test_until(test_asleep(t))))
		return;
	test_signal(t);
	EXPECT(selftest_join(t));
	EXPECT_EQ(j.result, -ERESTARTSYS);
	file_put(f);
	file_put(second);
}

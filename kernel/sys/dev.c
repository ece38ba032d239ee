/* SPDX-License-Identifier: MIT
 *
 * /dev: the small devices that are the kernel's own, and the doors to the terminal, to interrupts and to the screen's memory for ring-3
 * drivers. /dev/kmsg and syslog(2) read the kernel log.
 */
#include "ipc/copy.h"
#include "lib/format.h"
#include "lib/string.h"
#include "log.h"
#include "sys/calls.h"
#include "sys/fd.h"
#include "sys/node.h"

#define CHUNK	 256u
#define VGA_PHYS 0xb8000ull
#define VGA_SIZE 0x8000ull

/* struct device - one name in /dev: its file's operations, or a function that opens it. */
struct device {
	const char *name;
	u32 rdev, mode;
	const struct file_ops *ops;
	int (*open)(struct node *n, unsigned flags, struct file **out);
};

static s64 seek_zero(struct file *f, s64 offset, int whence)
{
	(void)f, (void)offset, (void)whence;
	return 0;
}

/* ---- null, zero, full, random ---- */

static s64 read_nothing(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	(void)f, (void)user_buf, (void)n, (void)pos;
	return 0;
}

static s64 write_all(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	(void)f, (void)user_buf, (void)pos;
	return (s64)n;
}

static s64 write_full(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	(void)f, (void)user_buf, (void)pos;
	return n ? -ENOSPC : 0;
}

static s64 read_zeroes(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	(void)f, (void)pos;
	/* Piece by piece: a reader of gigabytes must stay killable. */
	for (size_t done = 0; done < n;) {
		size_t part = min(n - done, (size_t)PAGE_SIZE);

		if (clear_user((u8 *)user_buf + done, part))
			return done ? (s64)done : -EFAULT;
		done += part;
		if (current_task()->signal_pending)
			return (s64)done;
	}
	return (s64)n;
}

static s64 read_random(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	u64 chunk[CHUNK / 8];

	(void)f, (void)pos;
	for (size_t done = 0; done < n;) {
		size_t part = min(n - done, sizeof(chunk));

		for (size_t i = 0; i < DIV_ROUND_UP(part, 8); i++)
			chunk[i] = machine_random();
		if (copy_out((u8 *)user_buf + done, chunk, part))
			return done ? (s64)done : -EFAULT;
		done += part;
		if (current_task()->signal_pending)
			return (s64)done;
	}
	return (s64)n;
}

/* As anonymous memory: private mappings need no object for that. */
static int zero_mmap(struct file *f, u64 offset, u64 len, u32 vm_flags, struct vm_object **object)
{
	(void)f;
	*object = NULL;
	if (!(vm_flags & VM_SHARED))
		return 0;
	*object = vm_object_anonymous(offset + len);
	return *object ? 0 : -ENOMEM;
}

static const struct file_ops null_ops = {
	.read = read_nothing, .write = write_all, .seek = seek_zero, .poll = poll_always};
static const struct file_ops zero_ops = {.read = read_zeroes,
					 .write = write_all,
					 .seek = seek_zero,
					 .poll = poll_always,
					 .mmap = zero_mmap};
static const struct file_ops full_ops = {
	.read = read_zeroes, .write = write_full, .seek = seek_zero, .poll = poll_always};
static const struct file_ops random_ops = {
	.read = read_random, .write = write_all, .seek = seek_zero, .poll = poll_always};

/* ---- kmsg ---- */

/* The file position counts bytes of the log since boot; at the end of the log a read returns 0. */
static s64 kmsg_read(struct file *f, void *user_buf, size_t n, u64 *pos)
{
	char chunk[CHUNK];
	size_t done = 0;

	(void)f;
	while (done < n) {
		u64 at = *pos;
		size_t got = log_read(&at, chunk, min(n - done, sizeof(chunk)));

		if (!got)
			break;
		if (copy_out((u8 *)user_buf + done, chunk, got))
			return done ? (s64)done : -EFAULT;
		*pos = at;
		done += got;
	}
	return (s64)done;
}

/* Each line becomes a line of the log; overlong ones are cut into several. */
static s64 kmsg_write(struct file *f, const void *user_buf, size_t n, u64 *pos)
{
	char chunk[CHUNK];

	(void)f, (void)pos;
	n = min(n, (size_t)PAGE_SIZE);
	for (size_t done = 0; done < n;) {
		size_t part = min(n - done, sizeof(chunk) - 1), len = 0;

		if (copy_in(chunk, (const u8 *)user_buf + done, part))
			return done ? (s64)done : -EFAULT;
		while (len < part && chunk[len] != '\n')
			len++;
		chunk[len] = '\0';
		if (len)
			klog("%s", chunk);
		done += len < part ? len + 1 : len;
	}
	return (s64)n;
}

static const struct file_ops kmsg_ops = {
	.read = kmsg_read, .write = kmsg_write, .poll = poll_always};

#define SYSLOG_CLOSE	   0
#define SYSLOG_OPEN	   1
#define SYSLOG_READ_ALL	   3
#define SYSLOG_SIZE_BUFFER 10
#define LOG_BYTES	   (64u << 10) /* what a reader should offer */

/* syslog(2), as dmesg uses it: the newest part of the log that fits. */
SYSCALL3(syslog, type, user_buf, len)
{
	char chunk[CHUNK];
	u64 pos = 0, start = 0;
	size_t got;

	switch ((s32)type) {
	case SYSLOG_CLOSE:
	case SYSLOG_OPEN:
		return 0;
	case SYSLOG_SIZE_BUFFER:
		return LOG_BYTES;
	case SYSLOG_READ_ALL:
		break;
	default:
		return -EINVAL;
	}
	if ((s32)len < 0 || !user_buf)
		return -EINVAL;
	while ((got = log_read(&pos, chunk, sizeof(chunk))) > 0)
		if (!start)
			start = pos - got; /* the oldest byte that is left */
	if (pos - start > len)
		start = pos - len;
	return kmsg_read(NULL, (void *)user_buf, len, &start);
}

/* ---- the screen's memory ---- */

static int vga_page(struct vm_object *o, u64 offset, u64 *phys, bool *device, u64 *valid)
{
	(void)o;
	if (offset >= VGA_SIZE)
		return -EFAULT;
	*phys = VGA_PHYS + offset;
	*device = true;
	*valid = PAGE_SIZE;
	return 0;
}

static const struct vm_object_ops vga_object_ops = {.page = vga_page};
static struct vm_object vga_object = {.ops = &vga_object_ops,
				      .refs = 1}; /* its own: never released */

static int vga_mmap(struct file *f, u64 offset, u64 len, u32 vm_flags, struct vm_object **object)
{
	(void)f;
	if (!(vm_flags & VM_SHARED) || offset > VGA_SIZE || len > VGA_SIZE - offset)
		return -EINVAL;
	vm_object_get(&vga_object);
	*object = &vga_object;
	return 0;
}

static const struct file_ops vga_ops = {.mmap = vga_mmap};

/* ---- doors to kernel/ipc ---- */

static int open_console(struct node *n, unsigned flags, struct file **out)
{
	return tty_open_program(flags, n, out);
}

static int open_tty(struct node *n, unsigned flags, struct file **out)
{
	return current_has_tty() ? tty_open_program(flags, n, out) : -ENXIO;
}

static int open_ttyserver(struct node *n, unsigned flags, struct file **out)
{
	return tty_open_server(flags, n, out);
}

static int open_irq(struct node *n, unsigned flags, struct file **out)
{
	return irq_open((unsigned)n->arg, flags, n, out);
}

/* ---- the directory ---- */

static const struct device devices[] = {
	{"null", MKDEV(1, 3), 0666, &null_ops, NULL},
	{"zero", MKDEV(1, 5), 0666, &zero_ops, NULL},
	{"full", MKDEV(1, 7), 0666, &full_ops, NULL},
	{"random", MKDEV(1, 8), 0666, &random_ops, NULL},
	{"urandom", MKDEV(1, 9), 0666, &random_ops, NULL},
	{"kmsg", MKDEV(1, 11), 0644, &kmsg_ops, NULL},
	{"tty", MKDEV(5, 0), 0666, NULL, open_tty},
	{"console", MKDEV(5, 1), 0600, NULL, open_console},
	{"ttyserver", MKDEV(10, 240), 0600, NULL, open_ttyserver},
	{"vga", MKDEV(10, 241), 0600, &vga_ops, NULL},
	{"trace", MKDEV(10, 243), 0644, &trace_file_ops, NULL},
};

static const struct device irq_device = {"irq", MKDEV(10, 242), 0600, NULL, open_irq};

static int device_open(struct node *n, unsigned flags, struct file **out)
{
	const struct device *d = n->desc;

	if (d->open)
		return d->open(n, flags, out);
	return file_for_node(d->ops, flags, NULL, n, out);
}

static const struct node_ops device_node_ops = {.open = device_open};

static int add_device(struct node *dir, const struct device *d, const char *name, u64 arg)
{
	struct node *n = node_add(dir, name, strlen(name), S_IFCHR | d->mode, &device_node_ops);

	if (!n)
		return -ENOMEM;
	n->desc = d;
	n->rdev = d->rdev + (u32)arg;
	n->arg = arg;
	return 0;
}

static int add_link(struct node *dir, const char *name, const char *target)
{
	struct node *n = node_add(dir, name, strlen(name), S_IFLNK | 0777, &static_link_ops);

	if (!n)
		return -ENOMEM;
	n->data = (const u8 *)target;
	n->size = strlen(target);
	return 0;
}

int dev_init(void)
{
	static const char irq_names[16][3] = {"0", "1", "2",  "3",  "4",  "5",	"6",  "7",
					      "8", "9", "10", "11", "12", "13", "14", "15"};
	struct node *dev = node_add_dir(node_root, "dev"), *irq;
	int err = 0;

	irq = dev ? node_add_dir(dev, "irq") : NULL;
	if (!irq)
		return -ENOMEM;
	for (size_t i = 0; !err && i < ARRAY_SIZE(devices); i++)
		err = add_device(dev, &devices[i], devices[i].name, 0);
	for (size_t i = 0; !err && i < ARRAY_SIZE(irq_names); i++)
		err = add_device(irq, &irq_device, irq_names[i], i);
	if (!err)
		err = add_link(dev, "fd", "/proc/self/fd");
	if (!err)
		err = add_link(dev, "stdin", "/proc/self/fd/0");
	if (!err)
		err = add_link(dev, "stdout", "/proc/self/fd/1");
	if (!err)
		err = add_link(dev, "stderr", "/proc/self/fd/2");
	return err;
}

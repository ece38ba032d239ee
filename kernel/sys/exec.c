/* SPDX-License-Identifier: MIT
 *
 * execve(2) up to the point where the program's file and arguments are in the kernel; kernel/task/exec.c takes over there. Scripts ("#!")
 * are resolved here.
 */
#include "lib/string.h"
#include "log.h"
#include "sys/calls.h"
#include "sys/fd.h"
#include "sys/node.h"

#define ARGS_START   2048u	  /* first size of the string buffer */
#define ARGS_MAX     (256u << 10) /* strings and their pointers */
#define SCRIPT_LINE  256u	  /* first line of a script, with its newline */
#define SCRIPT_DEPTH 4

/* struct arg_buf - the strings under construction. */
struct arg_buf {
	struct exec_args args;
	size_t alloc;
};

static size_t args_room(const struct arg_buf *ab)
{
	size_t pointers = 8 * ((size_t)ab->args.argc + ab->args.envc + 1);

	return pointers + ab->args.size < ARGS_MAX ? ARGS_MAX - pointers - ab->args.size : 0;
}

/* Make room for @more bytes of strings. */
static int args_grow(struct arg_buf *ab, size_t more)
{
	size_t size = ab->alloc;
	char *strings;

	if (more > args_room(ab))
		return -E2BIG;
	while (size < ab->args.size + more)
		size *= 2;
	if (size == ab->alloc)
		return 0;
	strings = kmalloc(size);
	if (!strings)
		return -ENOMEM;
	memcpy(strings, ab->args.strings, ab->args.size);
	kfree(ab->args.strings, ab->alloc);
	ab->args.strings = strings;
	ab->alloc = size;
	return 0;
}

static int args_init(struct arg_buf *ab)
{
	*ab = (struct arg_buf){.alloc = ARGS_START};
	ab->args.strings = kmalloc(ARGS_START);
	return ab->args.strings ? 0 : -ENOMEM;
}

static int copy_string(struct arg_buf *ab, u64 user)
{
	for (;;) {
		size_t room = ab->alloc - ab->args.size;
		s64 len = copy_string_from_user(ab->args.strings + ab->args.size,
						(const char *)user, room);
		int err;

		if (len >= 0 && (size_t)len + 1 > args_room(ab))
			return -E2BIG;
		if (len >= 0) {
			ab->args.size += (size_t)len + 1;
			return 0;
		}
		if (len != -ENAMETOOLONG)
			return (int)len;
		err = args_grow(ab, room + 1);
		if (err)
			return err;
	}
}

/* Append the strings of a NULL-terminated user array (no array: none). */
static int copy_strings(struct arg_buf *ab, u64 user_array, unsigned *count)
{
	for (; user_array; user_array += 8) {
		u64 user;
		int err;

		if (get_user_u64(&user, (const u64 *)user_array))
			return -EFAULT;
		if (!user)
			break;
		(*count)++;
		err = copy_string(ab, user);
		if (err)
			return err;
	}
	return 0;
}

/* Put @s in front of the other strings. */
static int args_push(struct arg_buf *ab, const char *s, size_t len)
{
	int err = args_grow(ab, len + 1);

	if (err)
		return err;
	memmove(ab->args.strings + len + 1, ab->args.strings, ab->args.size);
	memcpy(ab->args.strings, s, len);
	ab->args.strings[len] = '\0';
	ab->args.size += len + 1;
	ab->args.argc++;
	return 0;
}

static void args_drop_first(struct arg_buf *ab)
{
	size_t len = strlen(ab->args.strings) + 1;

	if (!ab->args.argc)
		return;
	memmove(ab->args.strings, ab->args.strings + len, ab->args.size - len);
	ab->args.size -= len;
	ab->args.argc--;
}

static bool blank(char c)
{
	return c == ' ' || c == '\t';
}

/*
 * "#! interpreter [argument]": argv becomes interpreter, argument, @path, argv[1]... Return: 0 with the interpreter's path in @interp
 * (SCRIPT_LINE bytes); -ENOEXEC if the line makes no sense.
 */
static int script_args(struct arg_buf *ab, const struct program *n, const char *path, char *interp)
{
	char line[SCRIPT_LINE];
	size_t len = min(n->size - 2, (u64)SCRIPT_LINE - 1);
	char *end, *word = line, *arg;
	int err;

	memcpy(line, n->data + 2, len);
	line[len] = '\0';
	end = strchr(line, '\n');
	if (!end && n->size - 2 > len)
		return -ENOEXEC; /* too long to be sure of the whole name */
	if (!end)
		end = line + strlen(line);
	while (end > line && blank(end[-1]))
		end--;
	*end = '\0';
	while (blank(*word))
		word++;
	if (!*word)
		return -ENOEXEC;
	arg = word;
	while (*arg && !blank(*arg))
		arg++;
	if (*arg)
		*arg++ = '\0';
	while (blank(*arg))
		arg++;
	args_drop_first(ab);
	err = args_push(ab, path, strlen(path));
	str_copy(
		interp, word,
		SCRIPT_LINE); /* only now: @path may be the interpreter of another script, in @interp */
	if (!err && *arg)
		err = args_push(ab, arg, strlen(arg));
	if (!err)
		err = args_push(ab, word, strlen(word));
	return err;
}

/* For /proc/PID/exe: where the program really lies, if that fits. */
static void note_exe(struct node *n)
{
	char *buf = kmalloc(PATH_MAX);

	if (buf && node_path(n, buf, PATH_MAX) >= 0)
		str_copy(current_process()->exe, buf, sizeof(current_process()->exe));
	kfree(buf, PATH_MAX);
}

/* The block of pages that holds @size bytes. */
static unsigned size_order(u64 size)
{
	unsigned order = 0;

	while (PAGE_SIZE << order < size && order < BUDDY_ORDERS)
		order++;
	return order;
}

/* Read a server's file into memory: @prog has its size. Pages of it cannot be mapped, so the program is copied. */
static int load_program(struct node *n, struct program *prog)
{
	unsigned order = size_order(prog->size);
	u64 phys = order < BUDDY_ORDERS ? page_alloc(order) : 0;
	s64 got;

	if (!phys)
		return -ENOMEM;
	got = remote_load(n, phys_to_virt(phys), prog->size);
	if (got == (s64)prog->size) {
		prog->data = phys_to_virt(phys);
		prog->object = NULL;
		return 0;
	}
	page_free(phys, order);
	return got < 0 ? (int)got : -EIO;
}

/* Find the file of a program. It stays while the reference of @n does. */
static int find_program(const char *path, struct node **n, struct program *prog)
{
	int err = path_walk_at((u64)AT_FDCWD, path, WALK_FOLLOW, n, NULL);

	if (err)
		return err;
	*prog = (struct program){
		.data = (*n)->data, .size = (*n)->size, .object = &(*n)->object, .path = path};
	if (!S_ISREG((*n)->mode) || !((*n)->mode & S_IXUGO))
		err = -EACCES;
	else if (node_is_remote(*n))
		err = load_program(*n, prog);
	else if ((*n)->ops != &archive_ops)
		err = -EACCES;
	if (err)
		node_put(*n);
	return err;
}

/* Give up what find_program() found. */
static void put_program(struct node *n, const struct program *prog)
{
	if (n && node_is_remote(n))
		page_free(virt_to_phys(prog->data), size_order(prog->size));
	node_put(n);
}

/* @prog is no script: load it, and the interpreter that it asks for. */
static int exec_program(struct program *prog, const struct exec_args *args)
{
	struct node *n = NULL;
	struct program interp;
	const char *path;
	int err = exec_interp(prog, &path);

	if (!err && path) {
		err = find_program(path, &n, &interp);
		if (err)
			return err;
		prog->interp = &interp;
	}
	if (!err)
		err = exec_load(prog, args);
	prog->interp = NULL;
	put_program(n, &interp);
	return err;
}

/* @ab holds argv and envp. @path may be replaced by an interpreter's. */
static int exec_path(const char *path, struct arg_buf *ab)
{
	char interp[SCRIPT_LINE];
	struct program prog;
	struct node *n;
	int err;

	for (unsigned depth = 0;; depth++) {
		err = find_program(path, &n, &prog);
		if (err)
			return err;
		if (prog.size < 2 || prog.data[0] != '#' || prog.data[1] != '!') {
			err = exec_program(&prog, &ab->args);
			if (!err)
				note_exe(n);
			break;
		}
		err = depth < SCRIPT_DEPTH ? script_args(ab, &prog, path, interp) : -ELOOP;
		if (err)
			break;
		put_program(n, &prog);
		path = interp;
	}
	put_program(n, &prog);
	return err;
}

SYSCALL3(execve, user_path, argv, envp)
{
	struct arg_buf ab;
	struct path_buf pb;
	s64 err = path_get(&pb, user_path);

	if (err)
		return err;
	err = args_init(&ab);
	if (!err)
		err = copy_strings(&ab, argv, &ab.args.argc);
	if (!err && !ab.args.argc)
		err = args_push(&ab, "", 0); /* programs rely on argv[0] */
	if (!err)
		err = copy_strings(&ab, envp, &ab.args.envc);
	if (!err)
		err = exec_path(pb.path, &ab);
	kfree(ab.args.strings, ab.alloc);
	path_put(&pb);
	return err;
}

/* Descriptors 0, 1 and 2. Without a console init runs with none. */
static void open_console(void)
{
	struct node *n;
	struct file *file;
	s64 fd;
	int err = node_walk(node_root, "/dev/console", WALK_FOLLOW, &n, NULL);

	if (!err)
		err = node_open(n, O_RDWR | O_NOCTTY, &file);
	if (err) {
		klog("init starts without a console: /dev/console: error %d", -err);
		return;
	}
	for (unsigned i = 0; i < 3; i++) {
		file_get(file);
		fd = fd_install(file, 0, false);
		if (fd < 0)
			file_put(file);
	}
	file_put(file);
}

int sys_exec_init(const char *path)
{
	struct arg_buf ab;
	int err = args_init(&ab);

	if (err)
		return err;
	node_set_cwd(node_root);
	open_console();
	err = args_push(&ab, path, strlen(path));
	if (!err)
		err = exec_path(path, &ab);
	kfree(ab.args.strings, ab.alloc);
	return err;
}

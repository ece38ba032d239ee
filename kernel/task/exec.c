/* SPDX-License-Identifier: MIT
 *
 * Loading ELF64 programs, and the interpreter of a dynamic one, into a new address space, with Linux's start-up stack.
 *
 * Everything that can fail is done on the side; the old program is given up only when the new one stands.
 */
#include <arch/smp.h>

#include "log.h"
#include "lib/string.h"
#include "sched/trace.h"
#include "task/internal.h"

struct elf64_header {
	u8 ident[16];
	u16 type, machine;
	u32 version;
	u64 entry, phoff, shoff;
	u32 flags;
	u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
};

struct elf64_phdr {
	u32 type, flags;
	u64 offset, vaddr, paddr, filesz, memsz, align;
};

#define ET_EXEC	  2
#define ET_DYN	  3
#define EM_X86_64 62
#define PT_LOAD	  1
#define PT_INTERP 3
#define PF_X	  1u
#define PF_W	  2u
#define PF_R	  4u

#define PIE_BASE    0x555555554000ull
#define STACK_TOP   0x7ffffffff000ull
#define STACK_MAX   (8ull << 20)
#define STACK_START (128ull << 10) /* mapped at once; it grows by faults */

enum {
	AT_NULL,
	AT_PHDR = 3,
	AT_PHENT,
	AT_PHNUM,
	AT_PAGESZ,
	AT_BASE,
	AT_FLAGS,
	AT_ENTRY,
	AT_UID = 11,
	AT_EUID,
	AT_GID,
	AT_EGID,
	AT_PLATFORM,
	AT_HWCAP,
	AT_CLKTCK,
	AT_SECURE = 23,
	AT_RANDOM = 25,
	AT_HWCAP2,
	AT_EXECFN = 31
};

/** struct image - a program under construction. */
struct image {
	const struct program *prog;
	const struct elf64_header *eh;
	struct mm *mm;
	u64 bias, entry, phdr, end; /* end: of the highest segment */
	u64 base, start;	    /* of the interpreter, or 0; where the program starts */
};

/* Check everything about the headers that later steps rely on. */
static int check_header(const struct program *prog, struct image *img)
{
	const struct elf64_header *eh = (const void *)prog->data;

	if (prog->size < sizeof(*eh) || memcmp(eh->ident, "\177ELF\2\1\1", 7))
		return -ENOEXEC;
	if ((eh->type != ET_EXEC && eh->type != ET_DYN) || eh->machine != EM_X86_64 ||
	    eh->phentsize != sizeof(struct elf64_phdr) || !eh->phnum || eh->phnum > 64)
		return -ENOEXEC;
	if (eh->phoff > prog->size ||
	    eh->phnum * sizeof(struct elf64_phdr) > prog->size - eh->phoff || eh->phoff % 8)
		return -ENOEXEC;
	img->prog = prog;
	img->eh = eh;
	img->bias = eh->type == ET_DYN ? PIE_BASE : 0;
	return 0;
}

static const struct elf64_phdr *phdrs(const struct image *img)
{
	return (const void *)(img->prog->data + img->eh->phoff);
}

static int check_segment(const struct image *img, const struct elf64_phdr *ph)
{
	u64 start = ph->vaddr + img->bias;

	if (ph->filesz > ph->memsz || ph->offset > img->prog->size ||
	    ph->filesz > img->prog->size - ph->offset)
		return -ENOEXEC;
	if (start < ph->vaddr || start < USER_MIN || ph->memsz > STACK_TOP - STACK_MAX ||
	    start > STACK_TOP - STACK_MAX - ph->memsz)
		return -ENOEXEC;
	if ((ph->offset ^ ph->vaddr) % PAGE_SIZE)
		return -ENOEXEC;
	return 0;
}

/* Map one PT_LOAD: whole file pages from the object, the rest anonymous. */
static int map_segment(struct image *img, const struct elf64_phdr *ph)
{
	u32 flags = (ph->flags & PF_R ? VM_READ : 0) | (ph->flags & PF_W ? VM_WRITE : 0) |
		    (ph->flags & PF_X ? VM_EXEC : 0);
	u64 vaddr = ph->vaddr + img->bias, start = ALIGN_DOWN(vaddr, PAGE_SIZE);
	u64 file_end = vaddr + ph->filesz, end = ALIGN_UP(vaddr + ph->memsz, PAGE_SIZE), shared;
	u64 offset = ALIGN_DOWN(ph->offset, PAGE_SIZE);
	int err = 0;

	/* Pages that hold file content only. The last one may hold more of the file than the segment: harmless unless memory follows it. */
	shared = ph->memsz > ph->filesz ? ALIGN_DOWN(file_end, PAGE_SIZE)
					: ALIGN_UP(file_end, PAGE_SIZE);
	if (!img->prog->object)
		shared = start;
	if (shared > start)
		err = mm_map(img->mm, start, shared - start, flags, img->prog->object, offset);
	if (!err && end > max(shared, start))
		err = mm_map(img->mm, max(shared, start), end - max(shared, start),
			     VM_READ | VM_WRITE, NULL, 0);
	if (!err && file_end > max(shared, vaddr)) {
		u64 from = max(shared, vaddr);

		err = mm_write(img->mm, from, img->prog->data + ph->offset + (from - vaddr),
			       file_end - from);
	}
	if (!err && end > max(shared, start))
		err = mm_protect(img->mm, max(shared, start), end - max(shared, start), flags);
	if (end > img->end)
		img->end = end;
	if (img->eh->phoff >= ph->offset && img->eh->phoff < ph->offset + ph->filesz)
		img->phdr = vaddr + (img->eh->phoff - ph->offset);
	return err;
}

static int map_program(struct image *img)
{
	const struct elf64_phdr *ph = phdrs(img);
	u64 loads = 0, last_end = 0;
	int err;

	for (unsigned i = 0; i < img->eh->phnum; i++, ph++) {
		if (ph->type != PT_LOAD || !ph->memsz)
			continue;
		err = check_segment(img, ph);
		/* Segments come in ascending order and must not share pages. */
		if (!err && ALIGN_DOWN(ph->vaddr, PAGE_SIZE) < last_end)
			err = -ENOEXEC;
		if (err)
			return err;
		last_end = ALIGN_UP(ph->vaddr + ph->memsz, PAGE_SIZE);
		err = map_segment(img, ph);
		if (err)
			return err;
		loads++;
	}
	img->entry = img->eh->entry + img->bias;
	if (!loads || img->entry >= USER_END || img->entry < USER_MIN)
		return -ENOEXEC;
	return 0;
}

int exec_interp(const struct program *prog, const char **path)
{
	struct image img = {0};
	int err = check_header(prog, &img);

	*path = NULL;
	for (unsigned i = 0; !err && !*path && i < img.eh->phnum; i++) {
		const struct elf64_phdr *ph = phdrs(&img) + i;

		if (ph->type != PT_INTERP)
			continue;
		if (ph->filesz < 2 || ph->offset >= prog->size ||
		    ph->filesz > prog->size - ph->offset || prog->data[ph->offset + ph->filesz - 1])
			err = -ENOEXEC;
		else
			*path = (const char *)prog->data + ph->offset;
	}
	return err;
}

/* Load the interpreter of @img, if it has one, where there is room: it will load the rest. */
static int map_interp(struct image *img)
{
	struct image in = {.mm = img->mm};
	const struct program *prog = img->prog->interp;
	u64 end = 0;
	int err;

	img->start = img->entry;
	if (!prog)
		return 0;
	if (prog->size < sizeof(struct elf64_header))
		return -EIO;
	err = check_header(prog, &in);
	for (unsigned i = 0; !err && i < in.eh->phnum; i++)
		if (phdrs(&in)[i].type == PT_LOAD)
			end = max(end, phdrs(&in)[i].vaddr + phdrs(&in)[i].memsz);
	if (!err && in.bias) {
		in.bias = mm_find_free(img->mm, 0, ALIGN_UP(min(end, USER_END), PAGE_SIZE));
		if (!in.bias)
			return -ENOMEM;
	}
	if (!err)
		err = map_program(&in);
	img->base = in.bias;
	img->start = in.entry;
	return err == -ENOEXEC ? -ELIBBAD : err;
}

/** struct stack_image - the top of the new stack, built in kernel memory and written at once. */
struct stack_image {
	u8 *buf;
	size_t size;
	u64 top; /* user address of buf + size */
	u64 sp;	 /* user address reached so far */
};

static void *stack_at(struct stack_image *s, u64 addr)
{
	return s->buf + s->size - (s->top - addr);
}

static u64 push_bytes(struct stack_image *s, const void *p, size_t n)
{
	s->sp -= n;
	memcpy(stack_at(s, s->sp), p, n);
	return s->sp;
}

/* argc, argv[], NULL, envp[], NULL, auxv pairs; then (upwards) random bytes, platform, strings, file name. */
static int build_stack(struct image *img, const struct exec_args *args, u64 *sp)
{
	u64 auxv[2 * 20], *v, random[2] = {machine_random(), machine_random()};
	u64 strings, execfn, at_random, platform;
	unsigned n = 0, words;
	struct stack_image s;
	int err;

	s.size = ALIGN_UP(args->size + strlen(img->prog->path) + 1 + sizeof(auxv) + 128 +
				  8ull * (args->argc + args->envc + 3),
			  16ull);
	s.buf = kzalloc(s.size);
	if (!s.buf)
		return -ENOMEM;
	s.top = s.sp = STACK_TOP - 16;
	execfn = push_bytes(&s, img->prog->path, strlen(img->prog->path) + 1);
	strings = push_bytes(&s, args->strings, args->size);
	platform = push_bytes(&s, "x86_64", 7);
	s.sp = ALIGN_DOWN(s.sp, 16ull);
	at_random = push_bytes(&s, random, sizeof(random));
#define AUX(type, value) (auxv[n++] = (type), auxv[n++] = (value))
	if (img->phdr)
		AUX(AT_PHDR, img->phdr);
	AUX(AT_PHENT, sizeof(struct elf64_phdr));
	AUX(AT_PHNUM, img->eh->phnum);
	AUX(AT_PAGESZ, PAGE_SIZE);
	AUX(AT_BASE, img->base);
	AUX(AT_FLAGS, 0);
	AUX(AT_ENTRY, img->entry);
	AUX(AT_UID, 0);
	AUX(AT_EUID, 0);
	AUX(AT_GID, 0);
	AUX(AT_EGID, 0);
	AUX(AT_SECURE, 0);
	AUX(AT_RANDOM, at_random);
	AUX(AT_HWCAP, 0x078bfbff); /* CPUID 1 edx of the x86-64 baseline */
	AUX(AT_HWCAP2, 0);
	AUX(AT_CLKTCK, 100);
	AUX(AT_PLATFORM, platform);
	AUX(AT_EXECFN, execfn);
	AUX(AT_NULL, 0);
#undef AUX
	words = 1 + args->argc + 1 + args->envc + 1 + n;
	s.sp = ALIGN_DOWN(s.sp - 8ull * words, 16ull);
	v = stack_at(&s, s.sp);
	*v++ = args->argc;
	for (unsigned i = 0; i < args->argc + args->envc; i++) {
		if (i == args->argc)
			*v++ = 0;
		*v++ = strings;
		strings += strlen(stack_at(&s, strings)) + 1;
	}
	if (!args->envc)
		*v++ = 0;
	*v++ = 0;
	memcpy(v, auxv, n * sizeof(auxv[0]));
	err = mm_write(img->mm, s.sp, stack_at(&s, s.sp), s.top - s.sp);
	if (args->argc) {
		img->mm->arg_start = *(u64 *)((u8 *)stack_at(&s, s.sp) + 8);
		/* ends after the last argument string */
		u64 last = *(u64 *)((u8 *)stack_at(&s, s.sp) + 8ull * args->argc);
		img->mm->arg_end = last + strlen(stack_at(&s, last)) + 1;
	}
	*sp = s.sp;
	kfree(s.buf, s.size);
	return err;
}

static int map_stack(struct mm *mm, u64 size)
{
	u64 start = STACK_TOP - ALIGN_UP(size + STACK_START, PAGE_SIZE);

	/* VM_GROWSDOWN: mm keeps an unmapped guard below and lets it grow to STACK_MAX. */
	return mm_map(mm, start, STACK_TOP - start, VM_READ | VM_WRITE | VM_GROWSDOWN, NULL, 0);
}

/* All other threads end; the current one takes the process's id if it was not the leader. */
static int become_only_thread(void)
{
	struct thread *self = current_thread(), *t, *old = NULL;
	struct process *p = self->proc;
	u64 flags = spin_lock_irqsave(&p->sig_lock);

	if (p->exiting || p->exec_thread) {
		spin_unlock_irqrestore(&p->sig_lock, flags);
		return -EAGAIN;
	}
	if (p->nr_threads > 1) {
		p->exec_thread = self;
		list_for_each (t, &p->threads, link)
			if (t != self)
				signal_wake(t, true);
		while (p->nr_threads > 1) {
			set_current_state(TASK_UNINTERRUPTIBLE);
			spin_unlock_irqrestore(&p->sig_lock, flags);
			schedule();
			flags = spin_lock_irqsave(&p->sig_lock);
		}
		p->exec_thread = NULL;
	}
	spin_unlock_irqrestore(&p->sig_lock, flags);
	spin_lock(&tree_lock);
	if (p->leader != self) {
		old = p->leader;
		list_del_init(&old->hash);
		list_del_init(&self->hash);
		tid_set(self, p->pid);
		p->leader = self;
		thread_get(self);
	}
	spin_unlock(&tree_lock);
	if (old)
		thread_put(old);
	return 0;
}

void mm_adopt(struct mm *mm)
{
	struct thread *t = current_thread();
	struct mm *old = t->mm;
	u64 flags;

	spin_lock(&tree_lock); /* /proc readers take the process's mm under it */
	flags = irq_save();
	t->mm = mm;
	t->proc->mm = mm;
	t->task.address_space = mm->id;
	mm_switch(mm);
	irq_restore(flags);
	vfork_release(t->proc);
	spin_unlock(&tree_lock);
	mm_put(old);
}

int exec_load(const struct program *prog, const struct exec_args *args)
{
	struct thread *t = current_thread();
	struct process *p = t->proc;
	struct image img = {0};
	struct regs *regs;
	const char *base;
	u64 sp = 0;
	int err = check_header(prog, &img);

	if (err)
		return err;
	img.mm = mm_create();
	if (!img.mm)
		return -ENOMEM;
	err = map_program(&img);
	if (!err)
		err = map_stack(img.mm, args->size);
	img.mm->brk_start = img.mm->brk = img.end;
	if (!err)
		err = map_interp(&img);
	if (!err)
		err = build_stack(&img, args, &sp);
	if (!err)
		err = become_only_thread();
	if (!err)
		err = files_exec(p);
	if (err) {
		mm_put(img.mm);
		return err;
	}
	timers_end(p, false);
	futex_leave(t, true);
	mm_adopt(img.mm);
	signal_exec(p);
	t->altstack_sp = t->altstack_size = 0;
	p->leader_exec = true;
	base = strrchr(prog->path, '/');
	str_copy(t->task.comm, base ? base + 1 : prog->path, sizeof(t->task.comm));
	trace_exec(&t->task);
	str_copy(p->exe, prog->path, sizeof(p->exe));
	arch_thread_exec(&t->arch);
	regs = arch_user_regs(&t->arch);
	*regs = (struct regs){
		.rip = img.start,
		.cs = USER_CS,
		.rflags = 0x202,
		.rsp = sp,
		.ss = USER_DS,
		.orig = ~0ull,
	};
	t->task.signal_pending = 1; /* leave by the path that reloads every register */
	return 0;
}

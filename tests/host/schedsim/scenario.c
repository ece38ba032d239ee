/* SPDX-License-Identifier: MIT
 *
 * Reads a scenario: lines of words, "$name" replaced by parameters first, into templates of operations. Every error names its
 * line. docs/simulator.md is the reference of the language.
 */
#include "des.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct scenario scn;
struct param params[64];
unsigned nr_params;

static u32 line_nr;
static char *cursor; /* in the current line */

/* The template being read, its variables and its open blocks. */
static struct tmpl *in_task;
static struct block {
	enum op_kind kind;
	u32 op, line;
	u32 breaks[32], nr_breaks;
} blocks[16];
static u32 nr_blocks;

void scenario_error(u32 line, const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%s:%u: ", scn.file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

#define fail(...) scenario_error(line_nr, __VA_ARGS__)

/* Zeroed, for ever: a chain keeps it in reach of whoever looks for leaks. */
static void *need(size_t size)
{
	static void **last;
	void **p = calloc(1, sizeof(*p) * 2 + size);

	if (!p)
		abort();
	*p = last;
	last = p;
	return p + 2;
}

/* --------------------------------------------------------------- words */

static void skip_space(void)
{
	while (*cursor == ' ' || *cursor == '\t')
		cursor++;
}

static bool at_end(void)
{
	skip_space();
	return !*cursor;
}

static bool word_char(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The next word, or NULL if something else comes. */
static char *word_if(void)
{
	char *from, *w;
	size_t n;

	skip_space();
	if (!isalpha((unsigned char)*cursor) && *cursor != '_')
		return NULL;
	for (from = cursor; word_char(*cursor); cursor++)
		;
	n = (size_t)(cursor - from);
	w = need(n + 1);
	memcpy(w, from, n);
	return w;
}

static char *word(const char *what)
{
	char *w = word_if();

	if (!w)
		fail("%s expected at \"%s\"", what, cursor);
	return w;
}

static bool accept(const char *text)
{
	size_t n = strlen(text);

	skip_space();
	if (strncmp(cursor, text, n) || (word_char(text[n - 1]) && word_char(cursor[n])))
		return false;
	cursor += n;
	return true;
}

static void expect(const char *text)
{
	if (!accept(text))
		fail("\"%s\" expected at \"%s\"", text, cursor);
}

static void expect_end(void)
{
	if (!at_end())
		fail("\"%s\" is too much here", cursor);
}

/* --------------------------------------------------------- expressions */

static struct expr *parse_or(void);

static struct expr *node(enum expr_op op, struct expr *a, struct expr *b)
{
	struct expr *e = need(sizeof(*e));

	*e = (struct expr){.op = op, .a = a, .b = b};
	return e;
}

static struct expr *number(s64 value)
{
	struct expr *e = node(X_NUM, NULL, NULL);

	e->value = value;
	return e;
}

/* 2.5ms is 2500000 (ns), 40% is 400 (per mille), 4k is 4096. */
static struct expr *parse_number(void)
{
	static const struct {
		const char *unit;
		s64 factor;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"k", 1024}};
	char *end;
	double v = strtod(cursor, &end);
	s64 factor = 1;

	cursor = end;
	if (*cursor == '%') {
		cursor++;
		factor = 10;
	} else if (isalpha((unsigned char)*cursor)) {
		char *unit = word("a unit");
		unsigned i;

		for (i = 0; i < ARRAY_SIZE(units) && strcmp(units[i].unit, unit); i++)
			;
		if (i == ARRAY_SIZE(units))
			fail("unit \"%s\" is none of ns, us, ms, s, k, %%", unit);
		factor = units[i].factor;
	}
	if (v * factor > 9e18)
		fail("number too large");
	return number((s64)(v * factor + 0.5));
}

static struct expr *parse_function(enum expr_op op, bool two)
{
	struct expr *a, *b = NULL;

	expect("(");
	a = parse_or();
	if (two) {
		expect(",");
		b = parse_or();
	}
	expect(")");
	return node(op, a, b);
}

static int find_slot(const char *name)
{
	for (u32 i = 0; in_task && i < in_task->nr_slots; i++)
		if (in_task->slot_names[i] && !strcmp(in_task->slot_names[i], name))
			return (int)i;
	return -1;
}

static struct expr *parse_primary(void)
{
	static const struct {
		const char *name;
		enum expr_op op;
	} names[] = {{"i", X_INSTANCE},	       {"n", X_COUNT},	       {"now", X_NOW},
		     {"elapsed", X_ELAPSED},   {"signals", X_SIGNALS}, {"ncpus", X_CPUS},
		     {"timedout", X_TIMEDOUT}, {"tick", X_TICK}};
	struct expr *e;
	char *w;
	int slot;

	skip_space();
	if (isdigit((unsigned char)*cursor) || *cursor == '.')
		return parse_number();
	if (accept("-"))
		return node(X_NEG, parse_primary(), NULL);
	if (accept("(")) {
		e = parse_or();
		expect(")");
		return e;
	}
	w = word("a number or a name");
	if (!strcmp(w, "inf"))
		return number((s64)(FOREVER >> 1));
	if (!strcmp(w, "uniform"))
		return parse_function(X_UNIFORM, true);
	if (!strcmp(w, "exp"))
		return parse_function(X_EXP, false);
	if (!strcmp(w, "min"))
		return parse_function(X_MIN, true);
	if (!strcmp(w, "max"))
		return parse_function(X_MAX, true);
	slot = find_slot(w);
	if (slot >= 0) {
		e = node(X_SLOT, NULL, NULL);
		e->value = slot;
		return e;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].name, w))
			return node(names[i].op, NULL, NULL);
	fail("\"%s\" is neither a variable nor a function", w);
}

/* By precedence, lowest first. */
static const struct {
	const char *text;
	enum expr_op op;
	int level;
} operators[] = {
	{"or", X_OR, 0}, {"and", X_AND, 1}, {"<=", X_LE, 2},   {">=", X_GE, 2}, {"==", X_EQ, 2},
	{"!=", X_NE, 2}, {"<", X_LT, 2},    {">", X_GT, 2},    {"+", X_ADD, 3}, {"-", X_SUB, 3},
	{"*", X_MUL, 4}, {"/", X_DIV, 4},   {"mod", X_MOD, 4},
};

static struct expr *parse_level(int level)
{
	struct expr *e;
	unsigned i;

	if (level > 4)
		return parse_primary();
	e = parse_level(level + 1);
	do {
		for (i = 0; i < ARRAY_SIZE(operators); i++) {
			if (operators[i].level == level && accept(operators[i].text)) {
				e = node(operators[i].op, e, parse_level(level + 1));
				break;
			}
		}
	} while (i < ARRAY_SIZE(operators));
	return e;
}

static struct expr *parse_or(void)
{
	return parse_level(0);
}

/* An expression of numbers only, now. */
static s64 constant(void)
{
	return expr_eval(parse_or(), NULL, line_nr);
}

/* ------------------------------------------------------------- objects */

static struct tmpl *tmpl_named(const char *name)
{
	struct tmpl *t;

	for (u32 i = 0; i < scn.nr_tmpls; i++)
		if (!strcmp(scn.tmpls[i]->name, name))
			return scn.tmpls[i];
	if (scn.nr_tmpls == ARRAY_SIZE(scn.tmpls))
		fail("too many tasks");
	t = need(sizeof(*t));
	t->name = strdup(name);
	t->line = line_nr;
	scn.tmpls[scn.nr_tmpls++] = t;
	return t;
}

static struct pipe_def *pipe_named(const char *name)
{
	for (u32 i = 0; i < scn.nr_pipes; i++)
		if (!strcmp(scn.pipes[i]->name, name))
			return scn.pipes[i];
	fail("no pipe \"%s\"", name);
}

static struct flag_def *flag_named(const char *name)
{
	for (u32 i = 0; i < scn.nr_flags; i++)
		if (!strcmp(scn.flags[i]->name, name))
			return scn.flags[i];
	fail("no flag \"%s\"", name);
}

static void cpu_list(struct cpumask *m)
{
	memset(m, 0, sizeof(*m));
	if (accept("all")) {
		for (unsigned cpu = 0; cpu < MAX_CPUS; cpu++)
			cpumask_set(m, cpu);
		return;
	}
	do {
		struct expr *a = parse_primary(), *b = a;

		if (accept("-"))
			b = parse_primary();
		if (a->op != X_NUM || b->op != X_NUM || a->value < 0 || b->value >= MAX_CPUS ||
		    a->value > b->value)
			fail("bad list of CPUs");
		for (s64 cpu = a->value; cpu <= b->value; cpu++)
			cpumask_set(m, (unsigned)cpu);
	} while (accept(","));
}

static void class_and_priority(unsigned *class, unsigned *rt_priority)
{
	if (accept("other")) {
		*class = SCHED_OTHER;
		*rt_priority = 0;
		return;
	}
	if (accept("fifo"))
		*class = SCHED_FIFO;
	else if (accept("rr"))
		*class = SCHED_RR;
	else
		fail("class is one of other, fifo:N, rr:N");
	expect(":");
	*rt_priority = (unsigned)constant();
	if (*rt_priority < 1 || *rt_priority > 99)
		fail("real-time priority 1..99");
}

static struct expr *index_if(void)
{
	struct expr *e;

	if (!accept("["))
		return NULL;
	e = parse_or();
	expect("]");
	return e;
}

static void target(struct op *op)
{
	char *w = word("the name of a task");

	if (!strcmp(w, "self")) {
		op->target = TARGET_SELF;
	} else if (!strcmp(w, "parent")) {
		op->target = TARGET_PARENT;
	} else {
		op->tmpl = tmpl_named(w);
		op->index = index_if();
		op->target = op->index ? TARGET_ONE : TARGET_ALL;
	}
	if (!in_task && op->target != TARGET_ALL && op->target != TARGET_ONE)
		fail("\"%s\" means nothing outside a task", w);
}

/* ------------------------------------------------------------ operations */

/* What a task may do and "at" too. Return: whether @w is one of those. */
static bool common_op(const char *w, struct op *op)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} on_target[] = {{"signal", OP_SIGNAL}, {"stop", OP_STOP},   {"cont", OP_CONT},
			 {"kill", OP_KILL},	{"renice", OP_NICE}, {"affinity", OP_AFFINITY},
			 {"class", OP_CLASS}};

	for (unsigned i = 0; i < ARRAY_SIZE(on_target); i++) {
		if (strcmp(w, on_target[i].name))
			continue;
		op->kind = on_target[i].kind;
		target(op);
		if (op->kind == OP_NICE)
			op->a = parse_or();
		else if (op->kind == OP_AFFINITY)
			cpu_list(&op->mask);
		else if (op->kind == OP_CLASS)
			class_and_priority(&op->class, &op->rt_priority);
		return true;
	}
	if (!strcmp(w, "post")) {
		op->kind = OP_POST;
		op->flag = flag_named(word("the name of a flag"));
		op->index = index_if();
		if (!at_end())
			op->a = parse_or();
		return true;
	}
	if (!strcmp(w, "set")) {
		op->kind = OP_SET;
		op->all = accept("?"); /* fine if the policy has no such knob */
		op->knob = word("the name of a knob");
		expect("=");
		op->a = parse_or();
		return true;
	}
	return false;
}

static u32 new_slot(const char *name)
{
	struct tmpl *t = in_task;
	int slot = name ? find_slot(name) : -1;

	if (slot >= 0)
		return (u32)slot;
	t->slot_names = realloc(t->slot_names, (t->nr_slots + 1) * sizeof(*t->slot_names));
	if (!t->slot_names)
		abort();
	t->slot_names[t->nr_slots] = name ? strdup(name) : NULL;
	return t->nr_slots++;
}

static struct op *emit(enum op_kind kind)
{
	struct tmpl *t = in_task;

	t->ops = realloc(t->ops, (t->nr_ops + 1) * sizeof(*t->ops));
	if (!t->ops)
		abort();
	t->ops[t->nr_ops] = (struct op){.kind = kind, .line = line_nr};
	return &t->ops[t->nr_ops++];
}

static struct block *open_block(enum op_kind kind, u32 op)
{
	if (nr_blocks == ARRAY_SIZE(blocks))
		fail("blocks nested too deep");
	blocks[nr_blocks] = (struct block){.kind = kind, .op = op, .line = line_nr};
	return &blocks[nr_blocks++];
}

static void add_break(struct block *b, u32 op)
{
	if (b->nr_breaks == ARRAY_SIZE(b->breaks))
		fail("too many breaks");
	b->breaks[b->nr_breaks++] = op;
}

/* "end" of a block within a task. */
static void close_block(void)
{
	struct block *b = &blocks[--nr_blocks];
	struct tmpl *t = in_task;

	if (b->kind == OP_LOOP || b->kind == OP_WHILE) {
		struct op *next = emit(b->kind == OP_LOOP ? OP_NEXT : OP_JUMP);

		next->jump = b->op;
		next->line = b->line;
	}
	t->ops[b->op].jump = t->nr_ops;
	for (u32 i = 0; i < b->nr_breaks; i++)
		t->ops[b->breaks[i]].jump = t->nr_ops;
}

static void block_op(const char *w)
{
	struct op *op;
	u32 at = in_task->nr_ops;

	if (!strcmp(w, "loop")) {
		struct expr *times = NULL;

		if (!at_end() && strncmp(cursor, "as ", 3))
			times = parse_or();
		op = emit(OP_LOOP);
		op->a = times;
		op->slot = new_slot(accept("as") ? word("a name") : NULL);
		op->counter = new_slot(NULL);
		open_block(OP_LOOP, at);
	} else if (!strcmp(w, "while") || !strcmp(w, "if")) {
		struct expr *cond = parse_or();

		op = emit(OP_IF); /* jumps if false */
		op->a = cond;
		open_block(*w == 'w' ? OP_WHILE : OP_IF, at);
	} else if (!strcmp(w, "else")) {
		struct block *b = nr_blocks ? &blocks[nr_blocks - 1] : NULL;

		if (!b || b->kind != OP_IF || in_task->ops[b->op].kind != OP_IF)
			fail("else without if");
		emit(OP_JUMP);
		in_task->ops[b->op].jump = in_task->nr_ops;
		b->op = at;
	} else {
		u32 i = nr_blocks;

		while (i && blocks[i - 1].kind == OP_IF)
			i--;
		if (!i)
			fail("break outside a loop");
		emit(OP_JUMP);
		add_break(&blocks[i - 1], at);
	}
}

static bool wait_op(const char *w, struct op *op)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} kinds[] = {{"take", OP_TAKE}, {"spin", OP_SPIN}, {"poll", OP_POLL}};

	for (unsigned i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(w, kinds[i].name))
			continue;
		op->kind = kinds[i].kind;
		op->flag = flag_named(word("the name of a flag"));
		op->index = index_if();
		if (op->kind == OP_POLL) {
			expect("every");
			op->a = parse_or();
		}
		if (op->kind != OP_TAKE && accept("for"))
			op->b = parse_or();
		return true;
	}
	return false;
}

static void task_line(void)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} timed[] = {{"run", OP_RUN},
		     {"sleep", OP_SLEEP},
		     {"io", OP_IO},
		     {"job", OP_JOB},
		     {"warm", OP_WARM}};
	struct op op = {.line = line_nr};
	char *w = word("an operation");

	if (!strcmp(w, "loop") || !strcmp(w, "while") || !strcmp(w, "if") || !strcmp(w, "else") ||
	    !strcmp(w, "break")) {
		block_op(w);
		expect_end();
		return;
	}
	if (!strcmp(w, "end")) {
		if (nr_blocks) {
			close_block();
		} else {
			emit(OP_EXIT);
			in_task = NULL;
		}
		expect_end();
		return;
	}
	for (unsigned i = 0; i < ARRAY_SIZE(timed); i++) {
		if (!strcmp(w, timed[i].name)) {
			op.kind = timed[i].kind;
			op.a = parse_or();
			goto done;
		}
	}
	if (common_op(w, &op) || wait_op(w, &op)) {
	} else if (!strcmp(w, "yield")) {
		op.kind = OP_YIELD;
	} else if (!strcmp(w, "exit")) {
		op.kind = OP_EXIT;
	} else if (!strcmp(w, "fork")) {
		op.kind = OP_FORK;
		op.tmpl = tmpl_named(word("the name of a task"));
		op.tmpl->forked_only = true;
	} else if (!strcmp(w, "wait")) {
		op.kind = OP_WAIT;
		op.all = accept("all");
		in_task->has_wait = true;
	} else if (!strcmp(w, "write") || !strcmp(w, "read")) {
		op.kind = *w == 'w' ? OP_WRITE : OP_READ;
		op.pipe = pipe_named(word("the name of a pipe"));
		op.index = index_if();
		op.a = parse_or();
	} else if (!strcmp(w, "let")) {
		op.kind = OP_LET;
		op.slot = new_slot(word("a name"));
		expect("=");
		op.a = parse_or();
	} else if (!strcmp(w, "periodic")) {
		op.kind = OP_PERIODIC;
		op.a = parse_or();
		expect("run");
		op.b = parse_or();
	} else if (!strcmp(w, "unit")) {
		op.kind = OP_UNIT;
		if (!at_end())
			op.a = parse_or();
	} else {
		fail("unknown operation \"%s\"", w);
	}
done:
	*emit(op.kind) = op;
	expect_end();
}

/* ----------------------------------------------------------- directives */

static void task_header(void)
{
	struct tmpl *t = tmpl_named(word("the name of a task"));

	if (t->defined)
		fail("task \"%s\" was defined before, at line %u", t->name, t->line);
	t->defined = true;
	t->line = line_nr;
	in_task = t;
	nr_blocks = 0;
	while (!at_end()) {
		char *w = word("an option");

		if (!strcmp(w, "count")) {
			t->count = parse_or();
		} else if (!strcmp(w, "nice")) {
			t->nice = parse_or();
		} else if (!strcmp(w, "start")) {
			t->start = parse_or();
		} else if (!strcmp(w, "stagger")) {
			t->stagger = parse_or();
		} else if (!strcmp(w, "on")) {
			t->on = parse_or();
		} else if (!strcmp(w, "forked")) {
			t->forked_only = true;
		} else if (!strcmp(w, "cpus")) {
			t->pinned = true;
			cpu_list(&t->mask);
		} else if (!strcmp(w, "class")) {
			class_and_priority(&t->class, &t->rt_priority);
		} else {
			fail("unknown option \"%s\" of a task", w);
		}
	}
}

static void pipe_line(void)
{
	struct pipe_def *d = need(sizeof(*d));

	if (scn.nr_pipes == ARRAY_SIZE(scn.pipes))
		fail("too many pipes");
	d->name = word("a name");
	d->count = 1;
	d->capacity = 4096;
	while (!at_end()) {
		if (accept("count"))
			d->count = (u32)constant();
		else if (accept("capacity"))
			d->capacity = (u64)constant();
		else
			fail("a pipe has a count and a capacity");
	}
	if (!d->count || !d->capacity)
		fail("a pipe of nothing");
	d->pipes = need(d->count * sizeof(*d->pipes));
	for (u32 i = 0; i < d->count; i++) {
		list_init(&d->pipes[i].readers);
		list_init(&d->pipes[i].writers);
	}
	scn.pipes[scn.nr_pipes++] = d;
}

static void flag_line(void)
{
	struct flag_def *d = need(sizeof(*d));
	s64 value = 0;

	if (scn.nr_flags == ARRAY_SIZE(scn.flags))
		fail("too many flags");
	d->name = word("a name");
	d->count = 1;
	while (!at_end()) {
		if (accept("count"))
			d->count = (u32)constant();
		else if (accept("value"))
			value = constant();
		else
			fail("a flag has a count and a value");
	}
	if (!d->count || value < 0)
		fail("a flag of nothing");
	d->flags = need(d->count * sizeof(*d->flags));
	for (u32 i = 0; i < d->count; i++) {
		d->flags[i].value = (u64)value;
		list_init(&d->flags[i].waiters);
	}
	scn.flags[scn.nr_flags++] = d;
}

static void at_line(void)
{
	struct action *a = need(sizeof(*a));
	s64 when = constant();
	char *w = word("an action");

	if (scn.nr_actions == ARRAY_SIZE(scn.actions))
		fail("too many actions");
	if (when < 0)
		fail("a time before the start");
	a->ev = (struct ev){.kind = EV_ACTION, .owner = a, .when = (u64)when};
	a->op.line = line_nr;
	if (!common_op(w, &a->op))
		fail("\"%s\" cannot be done from outside a task", w);
	scn.actions[scn.nr_actions++] = a;
}

static void window_line(void)
{
	struct window *w = &scn.windows[scn.nr_windows];
	u64 before = scn.nr_windows ? w[-1].to : 0;

	if (scn.nr_windows++ == ARRAY_SIZE(scn.windows))
		fail("too many windows");
	w->name = strncmp(cursor, " from", 5) ? word("a name") : "window";
	expect("from");
	w->from = (u64)constant();
	expect("to");
	w->to = (u64)constant();
	if (w->to <= w->from || w->from < before)
		fail("windows follow each other in time");
}

static void sample_line(void)
{
	struct sampler *s = &scn.samplers[scn.nr_samplers];

	if (scn.nr_samplers++ == ARRAY_SIZE(scn.samplers))
		fail("too many samplers");
	target(&s->target);
	expect("every");
	s->every = (u64)constant();
	if (!s->every)
		fail("sampling needs a time");
}

static void cost_line(void)
{
	if (accept("syscall"))
		scn.cost_syscall = (u64)constant();
	else if (accept("switch"))
		scn.cost_switch = (u64)constant();
	else if (accept("tick"))
		scn.cost_tick = (u64)constant();
	else if (accept("ipi"))
		scn.ipi_delay = (u64)constant();
	else
		fail("costs are syscall, switch, tick, ipi");
}

static void param_line(void)
{
	char *name = word("a name");
	unsigned i;

	for (i = 0; i < nr_params && strcmp(params[i].name, name); i++)
		;
	if (at_end())
		fail("a parameter needs a default");
	if (i == ARRAY_SIZE(params))
		fail("too many parameters");
	if (i == nr_params)
		params[nr_params++] = (struct param){.name = name, .value = strdup(cursor)};
	params[i].used = true;
	cursor += strlen(cursor);
}

static void top_line(void)
{
	struct op op = {.line = line_nr};
	char *w = word("a word");
	s64 v;

	if (!strcmp(w, "task")) {
		task_header();
		return;
	}
	if (!strcmp(w, "param")) {
		param_line();
	} else if (!strcmp(w, "pipe")) {
		pipe_line();
	} else if (!strcmp(w, "flag")) {
		flag_line();
	} else if (!strcmp(w, "cost")) {
		cost_line();
	} else if (!strcmp(w, "at")) {
		at_line();
	} else if (!strcmp(w, "measure")) {
		window_line();
	} else if (!strcmp(w, "sample")) {
		sample_line();
	} else if (!strcmp(w, "set")) {
		common_op(w, &op);
		if (scn.nr_sets == ARRAY_SIZE(scn.sets))
			fail("too many knobs");
		scn.sets[scn.nr_sets++] = op;
	} else if (!strcmp(w, "until")) {
		if (scn.nr_until == ARRAY_SIZE(scn.until))
			fail("too many conditions");
		scn.until[scn.nr_until++] = tmpl_named(word("the name of a task"));
	} else if (!strcmp(w, "timers")) {
		if (accept("tick"))
			scn.tick_timers = true;
		else if (!accept("exact"))
			fail("timers are exact or tick");
	} else if (!strcmp(w, "for")) {
		v = constant();
		if (v <= 0)
			fail("a run of no time");
		if (!scn.duration)
			scn.duration = (u64)v;
	} else if (!strcmp(w, "cpus")) {
		v = constant();
		if (v < 1 || v > MAX_CPUS)
			fail("1 to %u CPUs", MAX_CPUS);
		if (!scn.cpus)
			scn.cpus = (unsigned)v;
	} else if (!strcmp(w, "hz")) {
		v = constant();
		if (v < 100 || v > 1000)
			fail("hz is 100 to 1000");
		if (!scn.hz)
			scn.hz = (unsigned)v;
	} else if (!strcmp(w, "balance")) {
		expect("within");
		scn.balance_within = (unsigned)constant();
	} else {
		fail("unknown directive \"%s\"", w);
	}
	expect_end();
}

/* ------------------------------------------------------------ the file */

/* Replace $name. */
static void substitute(const char *in, char *out, size_t room)
{
	size_t n = 0;

	while (*in && *in != '\n' && *in != '#') {
		char name[64];
		size_t len = 0;
		const char *value = NULL;

		if (*in != '$') {
			if (n + 1 >= room)
				fail("line too long");
			out[n++] = *in++;
			continue;
		}
		for (in++; word_char(*in) && len + 1 < sizeof(name); in++)
			name[len++] = *in;
		name[len] = 0;
		for (unsigned i = 0; i < nr_params; i++)
			if (params[i].used && !strcmp(params[i].name, name))
				value = params[i].value;
		if (!value)
			fail("no parameter \"%s\" (param NAME DEFAULT declares one)", name);
		if (n + strlen(value) + 1 >= room)
			fail("line too long");
		n += strlen(strcpy(out + n, value));
	}
	out[n] = 0;
	while (n && isspace((unsigned char)out[n - 1]))
		out[--n] = 0;
}

void scenario_load(const char *file)
{
	static char line[1024], text[1024];
	FILE *f = fopen(file, "r");
	const char *slash = strrchr(file, '/');

	scn.file = file;
	scn.name = strdup(slash ? slash + 1 : file);
	if (strrchr(scn.name, '.'))
		*strrchr(scn.name, '.') = 0;
	scn.balance_within = 1;
	scn.cost_syscall = scn.cost_switch = scn.ipi_delay = NSEC_PER_USEC;
	if (!f) {
		fprintf(stderr, "%s: cannot be read\n", file);
		exit(1);
	}
	while (fgets(line, sizeof(line), f)) {
		line_nr++;
		if (!strchr(line, '\n') && !feof(f))
			fail("line too long");
		substitute(line, text, sizeof(text));
		cursor = text;
		if (at_end())
			continue;
		if (in_task)
			task_line();
		else
			top_line();
	}
	fclose(f);
	if (in_task)
		scenario_error(nr_blocks ? blocks[nr_blocks - 1].line : in_task->line,
			       "never ended (\"end\" missing)");
	for (u32 i = 0; i < scn.nr_tmpls; i++)
		if (!scn.tmpls[i]->defined)
			scenario_error(scn.tmpls[i]->line, "task \"%s\" is used but not defined",
				       scn.tmpls[i]->name);
	for (unsigned i = 0; i < nr_params; i++)
		if (!params[i].used)
			scenario_error(line_nr, "the scenario has no parameter \"%s\"",
				       params[i].name);
	if (!scn.duration)
		scn.duration = 10 * NSEC_PER_SEC;
	if (!scn.cpus)
		scn.cpus = 1;
}

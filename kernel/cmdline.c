/* SPDX-License-Identifier: MIT
 *
 * Parsing of the kernel command line: a table of names, each with a function that takes the value.
 */
#include "cmdline.h"

#include "lib/string.h"
#include "log.h"

struct options options = {.idle = "halt", .preempt_full = true};

static char copy[2048];
static bool idle_given;

static bool parse_bounded(const char *v, u64 low, u64 high, unsigned *out)
{
	u64 n;

	if (!v || !parse_u64(v, &n) || n < low || n > high)
		return false;
	*out = (unsigned)n;
	return true;
}

/* "512M": a number of bytes with an optional suffix K, M or G. */
static bool parse_size(char *v, u64 *out)
{
	static const struct {
		char suffix;
		unsigned shift;
	} units[] = {{'K', 10}, {'M', 20}, {'G', 30}};
	size_t n = v ? strlen(v) : 0;
	unsigned shift = 0;
	u64 bytes;

	for (unsigned i = 0; n && i < ARRAY_SIZE(units); i++) {
		if ((v[n - 1] & ~32) == units[i].suffix) {
			shift = units[i].shift;
			v[n - 1] = '\0';
			break;
		}
	}
	if (!n || !parse_u64(v, &bytes) || bytes > ~0ull >> shift || !bytes)
		return false;
	*out = bytes << shift;
	return true;
}

static bool set_sched(char *v)
{
	options.sched = v;
	return v && *v;
}

static bool set_smp(char *v)
{
	return parse_bounded(v, 1, ~0u, &options.smp);
}

static bool set_hz(char *v)
{
	return parse_bounded(v, 100, 1000, &options.hz);
}

static bool set_preempt(char *v)
{
	if (!v || (strcmp(v, "full") && strcmp(v, "none")))
		return false;
	options.preempt_full = !strcmp(v, "full");
	return true;
}

static bool set_idle(char *v)
{
	if (!v || (strcmp(v, "halt") && strcmp(v, "last") && strcmp(v, "spin")))
		return false;
	options.idle = v;
	idle_given = true;
	return true;
}

static bool set_det(char *v)
{
	if (v)
		return false;
	options.det = true;
	return true;
}

static bool set_seed(char *v)
{
	return options.have_seed = v && parse_u64(v, &options.seed);
}

static bool set_selftest(char *v)
{
	options.selftest = v && *v ? v : "*";
	return true;
}

static bool set_trace(char *v)
{
	options.trace = v ? v : "";
	return true;
}

static bool set_panic(char *v)
{
	static const struct {
		const char *name;
		enum panic_mode mode;
	} modes[] = {{"halt", PANIC_HALT}, {"exit", PANIC_EXIT}, {"reboot", PANIC_REBOOT}};

	if (v && !strcmp(v, "now")) {
		options.panic_now = true;
		return true;
	}
	for (unsigned i = 0; v && i < ARRAY_SIZE(modes); i++) {
		if (!strcmp(v, modes[i].name)) {
			options.panic = modes[i].mode;
			return true;
		}
	}
	return false;
}

static bool set_mem(char *v)
{
	return parse_size(v, &options.mem);
}

static bool set_quiet(char *v)
{
	if (v)
		return false;
	options.quiet = true;
	return true;
}

static bool set_tunable(const char *name, char *v)
{
	if (!v || !*name || options.nr_tunables == CMDLINE_MAX_TUNABLES)
		return false;
	options.tunables[options.nr_tunables].name = name;
	options.tunables[options.nr_tunables++].value = v;
	return true;
}

static const struct {
	const char *name;
	bool (*set)(char *value); /* NULL value: no '='. Returns whether it makes sense */
} known[] = {
	{"sched", set_sched}, {"smp", set_smp},	    {"hz", set_hz},	{"preempt", set_preempt},
	{"idle", set_idle},   {"det", set_det},	    {"seed", set_seed}, {"selftest", set_selftest},
	{"trace", set_trace}, {"panic", set_panic}, {"mem", set_mem},	{"quiet", set_quiet},
};

static void parse_word(char *word)
{
	char *value = strchr(word, '='), shown[64];
	bool ok = false, found = false;

	str_copy(shown, word, sizeof(shown));
	if (value)
		*value++ = '\0';
	if (!strncmp(word, "sched.", 6)) {
		found = true;
		ok = set_tunable(word + 6, value);
	}
	for (unsigned i = 0; i < ARRAY_SIZE(known) && !found; i++) {
		if (!strcmp(word, known[i].name)) {
			found = true;
			ok = known[i].set(value);
		}
	}
	if (!found)
		klog("command line: unknown option \"%s\" ignored", shown);
	else if (!ok)
		klog("command line: option \"%s\" is malformed: ignored", shown);
}

void cmdline_parse(const char *text)
{
	char *p = copy;

	str_copy(copy, text, sizeof(copy));
	while (*p) {
		char *word;

		while (*p == ' ' || *p == '\t')
			p++;
		if (!*p)
			break;
		word = p;
		while (*p && *p != ' ' && *p != '\t')
			p++;
		if (*p)
			*p++ = '\0';
		parse_word(word);
	}
	if (options.det && !idle_given)
		options.idle = "last";
}

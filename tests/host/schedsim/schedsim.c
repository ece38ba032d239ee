/* SPDX-License-Identifier: MIT
 *
 * The simulator's command line; docs/simulator.md.
 */
#include "des.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
	"usage: schedsim [OPTION]... SCENARIO\n"
	"Runs the kernel's scheduler on simulated CPUs; prints RESULT lines.\n"
	"  --policy NAME       o1 (--list names them all)\n"
	"  --set KNOB=VALUE    a tunable of the policy\n"
	"  --cpus N            1 to %u; default: the scenario's, else 1\n"
	"  --seed S            of the scenario's random numbers; default 1\n"
	"  --hz H              100 to 1000; default: the scenario's, else the policy's\n"
	"  --for SECONDS       length of the run; default: the scenario's, else 10\n"
	"  --param NAME=VALUE  a parameter of the scenario\n"
	"  --check[=N]         verify invariants after every event, all of them every N (10000)\n"
	"  --tasks, --per-cpu  RESULT lines of every task, every CPU too\n"
	"  --trace FILE        switches and wake-ups as ftrace text\n"
	"  --speed             events per second of real time on standard error\n"
	"  --list, --knobs     policies; the knobs of --policy\n";

static const struct option options[] = {
	{"policy", required_argument, NULL, 'p'}, {"set", required_argument, NULL, 's'},
	{"cpus", required_argument, NULL, 'c'},	  {"seed", required_argument, NULL, 'e'},
	{"hz", required_argument, NULL, 'z'},	  {"for", required_argument, NULL, 'f'},
	{"param", required_argument, NULL, 'a'},  {"check", optional_argument, NULL, 'k'},
	{"tasks", no_argument, NULL, 't'},	  {"per-cpu", no_argument, NULL, 'u'},
	{"trace", required_argument, NULL, 'r'},  {"speed", no_argument, NULL, 'd'},
	{"list", no_argument, NULL, 'l'},	  {"knobs", no_argument, NULL, 'b'},
	{"help", no_argument, NULL, 'h'},	  {0}};

static const char *policy;
static struct param sets[64];
static unsigned nr_sets;
static bool speed, knobs;

static void bad(const char *fmt, const char *what) __attribute__((noreturn));

static void bad(const char *fmt, const char *what)
{
	fputs("schedsim: ", stderr);
	fprintf(stderr, fmt, what);
	fputs("\n", stderr);
	exit(1);
}

static s64 integer(const char *text, s64 lo, s64 hi)
{
	char *end;
	s64 v = strtoll(text, &end, 0);

	if (end == text || *end || v < lo || v > hi)
		bad("bad number \"%s\"", text);
	return v;
}

static void pair(struct param *p, char *text)
{
	char *eq = strchr(text, '=');

	if (!eq || eq == text)
		bad("NAME=VALUE expected, not \"%s\"", text);
	*eq = 0;
	*p = (struct param){.name = text, .value = eq + 1};
}

static void option(int c)
{
	double s;

	switch (c) {
	case 'p':
		policy = optarg;
		if (!sched_policy_find(policy))
			bad("no policy \"%s\"", policy);
		break;
	case 's':
		if (nr_sets == ARRAY_SIZE(sets))
			bad("too many knobs", "");
		pair(&sets[nr_sets++], optarg);
		break;
	case 'c':
		scn.cpus = (unsigned)integer(optarg, 1, MAX_CPUS);
		break;
	case 'e':
		sim_seed = (u64)integer(optarg, 0, 0x7fffffffffffffffll);
		break;
	case 'z':
		scn.hz = (unsigned)integer(optarg, 100, 1000);
		break;
	case 'f':
		s = strtod(optarg, NULL);
		if (!(s > 0 && s < 1e9))
			bad("bad time \"%s\"", optarg);
		scn.duration = (u64)(s * 1e9);
		break;
	case 'a':
		if (nr_params == ARRAY_SIZE(params))
			bad("too many parameters", "");
		pair(&params[nr_params++], optarg);
		break;
	case 'k':
		check_on = true;
		if (optarg)
			check_sweep = (u64)integer(optarg, 1, 1ll << 40);
		break;
	case 't':
		report_tasks = true;
		break;
	case 'u':
		report_cpus = true;
		break;
	case 'r':
		trace_file = fopen(optarg, "w");
		if (!trace_file)
			bad("%s cannot be written", optarg);
		break;
	case 'd':
		speed = true;
		break;
	case 'l':
		for (unsigned i = 0; sched_policy_nth(i); i++)
			printf("%-8s %s\n", sched_policy_nth(i)->name,
			       sched_policy_nth(i)->summary);
		exit(0);
	case 'b':
		knobs = true;
		break;
	default:
		fprintf(c == 'h' ? stdout : stderr, usage, MAX_CPUS);
		exit(c != 'h');
	}
}

static void print_knobs(void)
{
	const struct sched_policy *p = sched_policy_find(policy ? policy : "o1");

	for (unsigned i = 0; i < p->nr_tunables; i++)
		printf("%-20s %lld (%lld to %lld) %s; %s\n", p->tunables[i].name,
		       (long long)p->tunables[i].def, (long long)p->tunables[i].min,
		       (long long)p->tunables[i].max, p->tunables[i].unit, p->tunables[i].source);
}

int main(int argc, char **argv)
{
	struct timespec a, b;
	double s;
	int c;

	sim_seed = 1;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		option(c);
	if (knobs) {
		print_knobs();
		return 0;
	}
	if (optind + 1 != argc)
		option('?');
	scenario_load(argv[optind]);
	machine_start(scn.cpus, policy, scn.hz, sim_seed);
	for (u32 i = 0; i < scn.nr_sets; i++)
		apply_set(&scn.sets[i], NULL);
	for (unsigned i = 0; i < nr_sets; i++)
		if (sched_set_tunable(sets[i].name,
				      integer(sets[i].value, -(1ll << 60), 1ll << 60)))
			bad("the policy has no such knob or value: %s", sets[i].name);
	clock_gettime(CLOCK_MONOTONIC, &a);
	engine_run();
	clock_gettime(CLOCK_MONOTONIC, &b);
	report_run();
	if (trace_file)
		fclose(trace_file);
	s = (double)(b.tv_sec - a.tv_sec) + (double)(b.tv_nsec - a.tv_nsec) / 1e9;
	if (speed)
		fprintf(stderr, "# %.3f s, %.0f events/s\n", s, (double)sim_events / s);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * What the workloads and benchmarks share: options and help, the RESULT line, clocks, CPU work
 * and percentiles. Everything also works on a Linux host.
 */
#ifndef USER_LIB_WL_H
#define USER_LIB_WL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WL_MAX_CPUS 256

struct wl_opt {
	const char *name; /* without the dashes: "seconds" is --seconds, "n" is -n */
	enum { WL_FLAG, WL_INT, WL_REAL, WL_TEXT } kind;
	void *value; /* bool *, long *, double *, const char ** */
	const char *help;
};

struct wl_program {
	const char *usage; /* e.g. "audio [OPTIONS] SECONDS" */
	const char *about; /* one paragraph */
	const struct wl_opt *opts;
	int nopts;
	int min_args, max_args; /* positional arguments */
};

/**
 * wl_options() - parse the command line; --help prints and exits 0, an error prints and exits 2.
 * Options may be written --name VALUE or --name=VALUE. "--" ends them.
 * Return: index in @argv of the first positional argument; argv[argc] is NULL.
 */
int wl_options(const struct wl_program *p, int argc, char **argv);

/** wl_bad() - print "program: " and the formatted complaint about an argument; exit 2. */
void wl_bad(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/** wl_at_least() - exit 2 with a message unless @value of option @name, as written, is >= @least. */
void wl_at_least(const char *name, double value, double least);

/** wl_number() - a positive number from a positional argument; exits 2 with a message if not. */
double wl_number(const char *text, const char *what);

/** wl_result() - print "RESULT @name " and the formatted key=value list as one whole line. */
void wl_result(const char *name, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** wl_die() - print "program: @what: error text of errno" and exit 1. */
void wl_die(const char *what) __attribute__((noreturn));

/** wl_now() - CLOCK_MONOTONIC in ns. */
int64_t wl_now(void);

/** wl_cpu_time() - CPU time of this thread in ns. */
int64_t wl_cpu_time(void);

/** wl_sleep_until() - sleep until wl_now() is @when, whatever signals come. */
void wl_sleep_until(int64_t when);

/** wl_sleep() - sleep for @ns, whatever signals come. */
void wl_sleep(int64_t ns);

/**
 * wl_burn() - use @ns of CPU time.
 *
 * Measured by the thread's CPU clock and not by counting loops: with several busy virtual CPUs an
 * emulator runs each at a fraction of its speed, so a calibrated loop would stretch, while CPU
 * time is what a scheduler gives and what a deadline of 5 % CPU means.
 */
void wl_burn(int64_t ns);

/** wl_spin() - a fixed small piece of work, some 10,000 instructions, that is never optimised away. */
void wl_spin(void);

/** wl_random() - the next of a repeatable series of numbers below 2^15; *@seed moves on. */
unsigned int wl_random(unsigned int *seed);

/** wl_sort() - sort @n values upwards. */
void wl_sort(int64_t *v, size_t n);

/** wl_percentile() - the value at @percent of sorted @v; 0 if @n is 0. */
int64_t wl_percentile(const int64_t *v, size_t n, double percent);

/** wl_switches() - context switches of this process and its dead children, all kinds. */
long wl_switches(void);

/** wl_fork() - fork, or exit with a message. The child's unwritten output is dropped. */
pid_t wl_fork(void);

/** wl_reap() - wait for all children. Return: how many ended other than by exit status 0. */
int wl_reap(void);

/** wl_end() - SIGKILL @pid, wait for it. Return: the CPU time it and its dead children used, ns. */
int64_t wl_end(pid_t pid);

/** wl_shared() - zeroed memory that children share, or exit with a message. */
void *wl_shared(size_t bytes);

/**
 * wl_proc_stat() - field @n (counted from 1, as in proc(5); 3 and later) of /proc/@pid/stat.
 * Return: the value, 0 if the process is gone.
 */
long long wl_proc_stat(pid_t pid, int n);

/** wl_cpus() - CPUs this process may use; their numbers go to @list if it is not NULL. */
int wl_cpus(int list[WL_MAX_CPUS]);

/** wl_pin() - let @pid (0: the caller) run on CPU @cpu only. Return: 0 or -1 with errno. */
int wl_pin(pid_t pid, int cpu);

/** wl_unpin() - let @pid run on the CPUs in @list. Return: 0 or -1 with errno. */
int wl_unpin(pid_t pid, const int *list, int n);

/** wl_cpu() - the CPU this thread runs on, by the getcpu call. */
int wl_cpu(void);

/** wl_read_all() - read exactly @n bytes. Return: bytes read, less than @n only at end of file. */
size_t wl_read_all(int fd, void *buf, size_t n);

/** wl_write_all() - write exactly @n bytes or exit with a message. */
void wl_write_all(int fd, const void *buf, size_t n);

#endif

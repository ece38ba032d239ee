// SPDX-License-Identifier: MIT
/*
 * What the trace program can print of the records. Each reads @s to its end and writes to standard output, the same text as
 * tools/trace on the host.
 */
#ifndef TRACE_SHOW_H
#define TRACE_SHOW_H

#include "trace/read.h"

/** show_ftrace() - the text of Linux's ftrace, one line an event: what Perfetto, traceshark and Trace Compass read. */
void show_ftrace(struct stream *s);

/** show_map() - a row for each switch, a column for each CPU, as perf sched map. */
void show_map(struct stream *s);

/** show_latency() - per task: run time, switches, waiting times, in the columns of perf sched latency. */
void show_latency(struct stream *s);

/** show_hist() - how many waits were how long. */
void show_hist(struct stream *s);

#endif

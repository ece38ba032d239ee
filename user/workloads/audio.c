// SPDX-License-Identifier: MIT
/*
 * audio - a music player as interbench models it: every 50 ms it needs 2.5 ms of CPU, and the
 * music skips when a period's work is not done before the next period begins.
 *
 * Deadlines are absolute, so lateness does not accumulate. The work is an amount of CPU time, see
 * wl_burn(). When whole periods are overrun they count as missed and are skipped, as a player
 * drops samples it can no longer play.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/wl.h"

static double period_ms = 50, work_ms = 2.5;

struct tally {
	long periods, missed;
	int64_t *late; /* wake-up after the period's start, ns */
	size_t nlate, room;
};

/* Play until @end; @t NULL: warm-up, nothing is counted. Returns the next period's start. */
static int64_t play(int64_t start, int64_t end, struct tally *t)
{
	int64_t period = period_ms * 1e6, work = work_ms * 1e6;

	while (start < end) {
		int64_t over;

		wl_sleep_until(start);
		if (t && t->nlate < t->room)
			t->late[t->nlate++] = wl_now() - start;
		wl_burn(work);
		over = wl_now() - (start + period);
		if (t) {
			t->periods++;
			t->missed += over > 0;
		}
		start += period;
		if (over > period) {
			int64_t lost = over / period;

			if (t) {
				t->periods += lost;
				t->missed += lost;
			}
			start += lost * period;
		}
	}
	return start;
}

int main(int argc, char **argv)
{
	static double warmup;
	static bool check;
	static const struct wl_opt opts[] = {
		{"warmup", WL_REAL, &warmup, "seconds to play before counting (default 0)"},
		{"period", WL_REAL, &period_ms, "ms between deadlines (default 50)"},
		{"work", WL_REAL, &work_ms, "ms of CPU per period (default 2.5)"},
		{"check", WL_FLAG, &check, "exit 1 if a deadline was missed"},
	};
	static const struct wl_program prog = {
		.usage = "audio [OPTIONS] SECONDS",
		.about =
			"Needs 2.5 ms of CPU every 50 ms for SECONDS; reports missed deadlines and how\n"
			"late it was woken.",
		.opts = opts,
		.nopts = 4,
		.min_args = 1,
		.max_args = 1,
	};
	int arg = wl_options(&prog, argc, argv);
	double seconds = wl_number(argv[arg], "SECONDS");
	struct tally t = {0};
	int64_t start;

	if (period_ms < 0.01 || work_ms < 0 || work_ms >= period_ms) {
		fprintf(stderr,
			"audio: --work must be less than --period, and that at least 0.01\n");
		return 2;
	}
	t.room = seconds * 1e3 / period_ms + 1;
	t.late = calloc(t.room, sizeof(*t.late));
	if (!t.late)
		wl_die("memory");
	start = wl_now() + period_ms * 1e6;
	if (warmup > 0)
		start = play(start, start + (int64_t)(warmup * 1e9), NULL);
	play(start, start + (int64_t)(seconds * 1e9), &t);
	wl_sort(t.late, t.nlate);
	wl_result("audio",
		  "periods=%ld missed=%ld late_p50_us=%.1f late_p99_us=%.1f late_max_us=%.1f",
		  t.periods, t.missed, wl_percentile(t.late, t.nlate, 50) / 1e3,
		  wl_percentile(t.late, t.nlate, 99) / 1e3,
		  wl_percentile(t.late, t.nlate, 100) / 1e3);
	return check && t.missed;
}

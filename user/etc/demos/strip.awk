# SPDX-License-Identifier: MIT
#
# Draws who ran: a line of 60 columns for each CPU, each column the task that had
# most of its time. Reads ftrace text (trace dump). -v from= seconds, or with
# -v mark=PATTERN the first line that matches; -v step= ms of a column; -v rows=.
# If the text of one CPU has ticks, they are drawn below as ^.
{
	cpu = -1
	for (i = 1; i <= 4; i++)
		if ($i ~ /^\[[0-9]+\]$/) {
			cpu = substr($i, 2) + 0
			now = $(i + 1) + 0
			break
		}
	if (cpu < 0)
		next
	if (mark != "" && from == "" && $0 ~ mark)
		from = now - step / 1000 * 4
	if ($0 ~ /sched_tick:/)
		tick[++ticks] = now
	if ($0 !~ /sched_switch:/)
		next
	match($0, / next_comm=.* next_prio=/)
	who = substr($0, RSTART + 11, RLENGTH - 22)
	sub(/ next_pid=/, ":", who)
	if (cpu > last_cpu)
		last_cpu = cpu
	n[cpu]++
	at[cpu, n[cpu]] = now
	task[cpu, n[cpu]] = who
	end = now
}
function letter(who) {
	if (who ~ /^swapper/)
		return "."
	if (!(who in name)) {
		name[who] = substr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", ++letters, 1)
		if (name[who] == "")
			name[who] = "?"
		legend = legend " " name[who] "=" who
	}
	return name[who]
}
END {
	step /= 1000
	rows = rows ? rows : 1
	for (r = 0; r < rows; r++)
		for (c = 0; c <= last_cpu; c++) {
			line = ""
			if (!n[c])
				continue
			k = 1
			for (col = 0; col < 60; col++) {
				t = from + (r * 60 + col) * step
				split("", spent)
				best = ""
				for (; k < n[c] && at[c, k + 1] <= t; k++)
					;
				for (j = k; j <= n[c] && at[c, j] < t + step; j++) {
					a = at[c, j] > t ? at[c, j] : t
					b = j < n[c] && at[c, j + 1] < t + step ? at[c, j + 1] : t + step
					spent[task[c, j]] += b - a
				}
				for (w in spent)
					if (best == "" || spent[w] > spent[best] || (spent[w] == spent[best] && w < best))
						best = w
				line = line (best == "" || t > end ? " " : letter(best))
			}
			printf "%8.3f CPU %-2d %s\n", from + r * 60 * step, c, line
			if (!ticks)
				continue
			split("", spent)
			for (j = 1; j <= ticks; j++)
				spent[int((tick[j] - from) / step + 600) - 600 - r * 60] = 1
			line = ""
			for (col = 0; col < 60; col++)
				line = line ((col in spent) ? "^" : " ")
			print "                 " line
		}
	print "a column is " step * 1000 " ms; . idle;" legend
}

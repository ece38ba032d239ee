// SPDX-License-Identifier: MIT
//
// The words of the page: verdict, tables, and what is known of a slice or a
// wait that was clicked. Everything is set as text, never as markup: names of
// tasks are chosen by programs.

function sayInto(element, pieces) {
	element.replaceChildren(...pieces.map(([text, strong]) => (strong ? make("b", text) : document.createTextNode(text))));
}

function verdict(data, runs) {
	const h1 = document.getElementById("verdict"), each = document.getElementById("each");
	if (data.compare)
		sayInto(h1, data.compare);
	each.hidden = !data.compare;
	for (const run of runs) {
		const line = data.compare ? make("p") : h1;
		sayInto(line, run.verdict);
		if (data.compare) {
			line.prepend(make("span", run.letter, "letter " + run.letter));
			each.append(line);
		}
	}
	const table = document.getElementById("metrics"), head = make("tr");
	if (runs.length > 1)
		head.append(make("th", "Run"));
	for (const [name] of runs[0].metrics)
		head.append(make("th", name));
	table.replaceChildren(head);
	for (const run of runs) {
		const row = make("tr");
		if (runs.length > 1)
			row.append(make("td", run.letter));
		for (const [, value] of run.metrics)
			row.append(make("td", value));
		table.append(row);
	}
}

// One row a task: the figures of tools/trace summary.
function taskTable(run) {
	const box = make("div", null, "wide"), table = make("table", null, "tasks"), head = make("tr");
	const most = 200;
	for (const name of ["Task", "CPU time", "Billed by ticks", "Waited", "Waits", "Longest", "Slices"])
		head.append(make("th", name));
	table.append(head);
	for (const task of run.order.slice(0, most)) {
		const row = make("tr"), name = make("td"), swatch = make("i");
		swatch.style.background = PALETTE[task.colour % 7];
		name.append(swatch, task.label);
		row.append(name);
		for (const text of [duration(task.run), run.hz ? duration(task.ticks * 1e9 / run.hz) : "?", duration(task.wait), task.waits,
			duration(task.longest), task.slices])
			row.append(make("td", text));
		table.append(row);
	}
	box.append(make("h3", "Tasks"), table);
	if (run.order.length > most)
		box.append(make("p", run.order.length - most + " more tasks used less CPU time than these."));
	return box;
}

// What was clicked: {run, task, state, start, end, cpus, words, who}; who: antagonists, if it was a wait.
function describe(run, task, at) {
	const m = run.mine, s = run.stateAt(task, at), out = {run, task, state: s.state, start: s.start, end: s.end, p: s.p, cpus: [], who: null};
	const span = instant(s.start) + " to " + instant(s.end);
	if (s.state === "running") {
		const cpu = m.cpu[s.p], lane = run.lanes[cpu], i = m.slice[s.p];
		out.cpus = [cpu];
		out.words = [task.label + " ran " + duration(s.end - s.start) + " on CPU " + cpu, span,
			"Priority at its end: " + (lane.how[i] & ~WAITED ? lane.prio[i] : "not recorded") + ". How it ended: " + ENDS[lane.how[i] & ~WAITED] + ".",
			m.wait[s.p] ? "Before that it waited " + duration(m.wait[s.p]) + "." : "It did not wait before."];
	} else if (s.state === "waiting") {
		const cpu = s.p < 0 ? run.lastCpu(task) : m.cpu[s.p], segments = run.queues(task, s.start, s.end, cpu);
		out.cpus = [...new Set(segments.map((x) => x.cpu))];
		out.who = run.antagonists(segments);
		out.words = [task.label + " waited " + duration(s.end - s.start) + (s.p < 0 ? " and was still waiting at the end" : ""), span,
			"On the queue of CPU " + segments.map((x) => x.cpu).filter((c, i, all) => i === 0 || c !== all[i - 1]).join(", then ") + "."];
	} else if (s.state === "unknown")
		out.words = ["What " + task.label + " did is not known", span, "Records of some CPU were lost: the ring was overwritten before it was read."];
	else if (s.state === "sleeping")
		out.words = [task.label + " slept " + duration(s.end - s.start), span];
	else
		out.words = [task.label + " did not exist at " + instant(at)];
	return out;
}

// The same for a click on a CPU's lane.
function describeCpu(run, cpu, at) {
	const lane = run.lanes[cpu], i = lane.at(at);
	if (i < 0)
		return null;
	const start = lane.start[i], end = start + lane.length[i], span = instant(start) + " to " + instant(end);
	if (lane.task[i] !== GAP && !run.tasks[lane.task[i]].idle)
		return describe(run, run.tasks[lane.task[i]], lane.length[i] ? (start + end) / 2 : start);
	const gap = run.gaps.find((g) => g[0] === cpu && g[1] > start && g[1] <= end);
	const words = lane.task[i] !== GAP ? ["CPU " + cpu + " was idle for " + duration(end - start), span]
		: ["Nothing is known of CPU " + cpu + " for " + duration(end - start), span,
			gap ? gap[2] + " records were lost: the ring was overwritten before it was read." : "Its recording had not begun."];
	const out = {run, task: null, state: lane.task[i] === GAP ? "unknown" : "idle", start, end, p: -1, cpus: [cpu], who: null, words};
	if (out.state === "idle") {
		const waiting = run.order.filter((t) => run.stateAt(t, at).state === "waiting").map((t) => t.label);
		out.words.push(waiting.length ? "Meanwhile waited elsewhere: " + waiting.slice(0, 6).join(", ") + "." : "No task waited elsewhere at that moment.");
	}
	return out;
}

function showDetails(box, d, letter) {
	box.replaceChildren();
	if (!d) {
		box.append(make("p", "Click a slice or a wait for its details and for who ran instead. Wheel or w, s: zoom. Drag or a, d: move. ?: all keys.", "hint"));
		return;
	}
	const left = make("div"), head = make("h3", (letter ? letter + ": " : "") + d.words[0]);
	left.append(head, ...d.words.slice(1).map((w) => make("p", w)));
	box.append(left);
	if (!d.who)
		return;
	const right = make("div", null, "who"), table = make("table"), whole = d.end - d.start;
	right.append(make("h3", "Who ran instead"), table);
	for (const a of d.who.slice(0, 6)) {
		const row = make("tr"), bar = make("td", null, "bar"), fill = make("i");
		const t = a.task < 0 ? null : d.run.tasks[a.task];
		fill.style.width = Math.max(1, 100 * a.time / whole) + "%";
		fill.style.background = !t || t.idle ? "#8a8a8a" : PALETTE[t.colour % 7];
		bar.append(fill);
		row.append(make("td", !t ? "(not recorded)" : t.idle ? "nobody: the CPU was idle" : t === d.task ? t.label + " itself" : t.label), bar,
			make("td", duration(a.time)), make("td", Math.round(100 * a.time / whole) + " %"),
			make("td", a.slices + (a.slices === 1 ? " slice" : " slices")));
		table.append(row);
	}
	if (d.who.length > 6)
		right.append(make("p", "and " + (d.who.length - 6) + " more"));
	box.append(right);
}

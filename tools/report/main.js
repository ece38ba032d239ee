// SPDX-License-Identifier: MIT
//
// Puts the page together: one pane a run, all on one view of time; mouse, keys,
// printing. window.__model shows tests what the page believes.

const data = JSON.parse(document.getElementById("data").textContent);
document.getElementById("data").remove();
const runs = data.runs.map((r, i) => new Run(r, data.runs.length > 1 ? "AB"[i] : ""));
data.runs = null;
const span = Math.max(1000, ...runs.map((r) => r.span));
const view = {t0: 0, t1: span};
const panes = [];
const detailsBox = make("section", null, "details");
let selected = null, frame = 0, frames = 0, printed = 0;

// Both runs have the same tasks in the same order and colours, as far as they have the same tasks; the busiest in both come first.
(function orderAndColours() {
	const total = new Map();
	for (const run of runs)
		for (const task of run.order)
			total.set(task.label, (total.get(task.label) || 0) + task.run);
	for (const run of runs)
		run.order.sort((a, b) => total.get(b.label) - total.get(a.label) || a.id - b.id);
	const colours = new Map();
	for (const run of runs)
		for (const task of run.order)
			if (!colours.has(task.label))
				colours.set(task.label, colours.size);
	for (const run of runs) {
		for (const task of run.order)
			task.colour = colours.get(task.label);
		for (const task of Curves.choose(run))
			task.shown = true;
	}
})();

function build() {
	const main = document.getElementById("main");
	main.replaceChildren();
	main.className = runs.length > 1 ? "two" : "one";
	verdict(data, runs);
	const legend = document.getElementById("legend");
	for (const [name, kind] of [["running", "run"], ["waiting", "wait"], ["asleep", "sleep"]]) {
		const item = make("span", null, "key");
		item.append(make("i", null, kind), name);
		legend.append(item);
	}
	if (runs.some((r) => r.moves.size))
		legend.append(make("span", "\u25bc moved to another CPU", "key"));
	if (runs.some((r) => r.lost.some((n) => n))) {
		const item = make("span", null, "key");
		item.append(make("i", null, "gap"), "records lost");
		legend.append(item);
	}
	const live = runs.filter((r) => r.slices || r.records);
	if (!live.length) {
		main.append(make("p", "There is nothing to draw.", "empty"));
		document.getElementById("tools").hidden = true;
		return;
	}
	const label = window.innerWidth < 800 ? 120 : runs.length > 1 ? 160 : 210;
	for (const [part, fill] of [["lanes", (p) => {
		p.lanes = new Lanes(p.run, view, label);
		return [p.lanes.box];
	}], ["details", null], ["curves", (p) => {
		p.curves = new Curves(p.run, view, label);
		return [p.curves.box];
	}], ["table", (p) => [taskTable(p.run)]]]) {
		if (!fill) {
			main.append(detailsBox);
			continue;
		}
		runs.forEach((run, i) => {
			const section = make("section", null, "pane " + part);
			panes[i] = panes[i] || {run};
			if (part === "lanes" && (run.letter || run.source || run.command)) {
				const h = make("h2");
				if (run.letter)
					h.append(make("span", run.letter, "letter " + run.letter));
				h.append([run.command, run.source].filter(Boolean).join("  \u2022  "));
				if (run.letter)
					h.append(make("small", run.settings));
				section.append(h);
			}
			section.append(...fill(panes[i]));
			main.append(section);
		});
	}
	for (const pane of panes)
		listen(pane);
	layout();
	const w = runs[0].worst;
	select(w ? describe(runs[0], runs[0].tasks[w.task], w.start) : null);
}

function layout() {
	const room = Math.max(300, window.innerHeight - 190);
	for (const pane of panes) {
		pane.lanes.layout(room);
		pane.curves.layout();
	}
	later();
}

function later() {
	if (!frame)
		frame = requestAnimationFrame(draw);
}

function draw() {
	frame = 0;
	for (const pane of panes) {
		const s = selected && selected.run === pane.run ? selected : null;
		pane.lanes.selection = s && s.state !== "gone" ? s : null;
		pane.lanes.draw();
	}
	Curves.draw(panes.map((p) => p.curves));
	frames++;
}

// ---------------------------------------------------------------- the view
function show(t0, t1) {
	const length = Math.min(span, Math.max(200, t1 - t0));
	t0 = Math.max(0, Math.min(span - length, t0));
	view.t0 = t0;
	view.t1 = t0 + length;
	later();
}

function zoom(factor, about = (view.t0 + view.t1) / 2) {
	show(about - (about - view.t0) * factor, about + (view.t1 - about) * factor);
}

function pan(share) {
	const by = (view.t1 - view.t0) * share;
	show(view.t0 + by, view.t1 + by);
}

// A piece of time with some room on both sides.
function showAround(start, end) {
	const room = Math.max(1000, (end - start) * 0.6);
	show(start - room, end + room);
}

function select(d) {
	selected = d;
	showDetails(detailsBox, d, d && d.run.letter);
	later();
}

function selectAt(run, task, at) {
	select(describe(run, task, at));
	panes.find((p) => p.run === run).lanes.reveal(task);
}

function worst() {
	const found = runs.filter((r) => r.worst).sort((a, b) => b.worst.end - b.worst.start - (a.worst.end - a.worst.start))[0];
	if (!found)
		return;
	const w = found.worst;
	showAround(w.start, w.end);
	selectAt(found, found.tasks[w.task], w.start);
}

function step(by) {
	if (!selected || !selected.task)
		return;
	const {run, task} = selected, m = run.mine;
	let p = run.after(task, selected.start) + (selected.state === "running" ? by : by > 0 ? 0 : -1);
	p = Math.max(task.first, Math.min(task.last - 1, p));
	if (p < task.first)
		return;
	const middle = (m.start[p] + m.end[p]) / 2;
	if (middle < view.t0 || middle > view.t1)
		show(middle - (view.t1 - view.t0) / 2, middle + (view.t1 - view.t0) / 2);
	selectAt(run, task, m.end[p] > m.start[p] ? middle : m.start[p]);
}

function scrollLanes(by) {
	for (const pane of panes)
		pane.lanes.box.scrollTop += by;
}

function toggle(run, task) {
	task.shown = !task.shown;
	panes.find((p) => p.run === run).curves.layout();
	later();
}

// ------------------------------------------------------------------- input
function hit(pane, event) {
	const lanes = pane.lanes, r = lanes.canvas.getBoundingClientRect(), x = event.clientX - r.left, row = lanes.rowAt(event.clientY - r.top);
	return {x, row, at: lanes.time(x), label: x < lanes.label};
}

function describeHit(pane, h) {
	if (!h.row || h.row.title || h.label)
		return null;
	return h.row.task ? describe(pane.run, h.row.task, h.at) : describeCpu(pane.run, h.row.cpu, h.at);
}

function wheel(event, lanes, left) {
	if (event.ctrlKey || event.altKey)
		return;
	event.preventDefault();
	if (event.shiftKey) {
		scrollLanes(event.deltaY || event.deltaX);
		return;
	}
	const unit = event.deltaMode === 1 ? 30 : 1;
	if (Math.abs(event.deltaX) > Math.abs(event.deltaY))
		pan(event.deltaX * unit / 1000);
	else
		zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY * unit)) * 0.002), Math.max(view.t0, lanes.time(event.clientX - left)));
}

function listen(pane) {
	const lanes = pane.lanes, box = lanes.box, tip = document.getElementById("tip");
	let from = null;
	const grab = (element, clicks) => {
		element.addEventListener("pointerdown", (e) => {
			if (e.button !== 0)
				return;
			from = {x: e.clientX, y: e.clientY, t0: view.t0, top: box.scrollTop, moved: false};
			element.setPointerCapture(e.pointerId);
			tip.hidden = true;
		});
		element.addEventListener("pointermove", (e) => {
			if (!from) {
				if (clicks)
					hover(pane, e, tip);
				return;
			}
			const dx = e.clientX - from.x, dy = e.clientY - from.y;
			if (Math.abs(dx) + Math.abs(dy) > 4)
				from.moved = true;
			if (!from.moved)
				return;
			const t0 = from.t0 - dx / (lanes.width - lanes.label) * (view.t1 - view.t0);
			show(t0, t0 + view.t1 - view.t0);
			if (clicks)
				box.scrollTop = from.top - dy;
		});
		element.addEventListener("pointerup", (e) => {
			const click = from && !from.moved;
			from = null;
			if (!click || !clicks)
				return;
			const h = hit(pane, e);
			if (h.label && h.row && h.row.task)
				toggle(pane.run, h.row.task);
			else
				select(describeHit(pane, h));
		});
		element.addEventListener("pointercancel", () => {
			from = null;
		});
		element.addEventListener("pointerleave", () => {
			tip.hidden = true;
		});
		element.addEventListener("wheel", (e) => wheel(e, lanes, element.getBoundingClientRect().left), {passive: false});
	};
	grab(lanes.canvas, true);
	grab(pane.curves.box, false);
	box.addEventListener("scroll", later);
}

function hover(pane, event, tip) {
	const d = describeHit(pane, hit(pane, event));
	tip.hidden = !d;
	if (!d)
		return;
	tip.textContent = d.words[0];
	tip.style.left = Math.max(0, Math.min(window.innerWidth - tip.offsetWidth - 8, event.clientX + 14)) + "px";
	tip.style.top = event.clientY + 22 + "px";
}

const help = document.getElementById("help");
const KEYS = {
	w: () => zoom(0.7), "+": () => zoom(0.7), "=": () => zoom(0.7), s: () => zoom(1 / 0.7), "-": () => zoom(1 / 0.7),
	a: () => pan(-0.2), ArrowLeft: () => pan(-0.2), d: () => pan(0.2), ArrowRight: () => pan(0.2),
	ArrowUp: () => scrollLanes(-ROW), ArrowDown: () => scrollLanes(ROW), "0": () => show(0, span),
	f: () => selected && showAround(selected.start, selected.end), l: worst, n: () => step(1), p: () => step(-1),
	Escape: () => select(null), "?": () => (help.open ? help.close() : help.showModal()),
};

document.addEventListener("keydown", (e) => {
	if (e.ctrlKey || e.altKey || e.metaKey || !panes.length || (help.open && e.key !== "?"))
		return;
	const action = KEYS[e.key.length === 1 ? e.key.toLowerCase() : e.key];
	if (!action || (e.target.tagName === "BUTTON" && e.key.length > 6 && !e.key.startsWith("Arrow")))
		return;
	e.preventDefault();
	action();
});
for (const [id, key] of [["b-in", "w"], ["b-out", "s"], ["b-left", "a"], ["b-right", "d"], ["b-all", "0"], ["b-worst", "l"], ["b-help", "?"]])
	document.getElementById(id).addEventListener("click", () => KEYS[key]());
window.addEventListener("resize", () => panes.length && layout());

// On paper nothing scrolls: the lanes that fit a page, from where they were scrolled to, at twice the dots, for the part of time that
// was shown.
function printing(on) {
	document.body.classList.toggle("printing", on);
	for (const pane of panes)
		pane.lanes.whole = on;
	printed += on;
	if (panes.length) {
		layout();
		cancelAnimationFrame(frame);
		draw();
	}
}
window.addEventListener("beforeprint", () => printing(true));
window.addEventListener("afterprint", () => printing(false));

build();

window.__model = {
	get view() {
		return {t0: view.t0, t1: view.t1, span};
	},
	get frames() {
		return frames;
	},
	get printed() { // how often
		return printed;
	},
	// The colour at a moment of a lane, as [red, green, blue].
	pixel(pane, what, at) {
		const {canvas, dpr} = panes[pane].lanes, p = this.place(pane, what, at), r = canvas.getBoundingClientRect();
		const one = document.createElement("canvas").getContext("2d");
		one.drawImage(canvas, -Math.round((p.x - r.left) * dpr), -Math.round((p.y - r.top + 12) * dpr));
		return [...one.getImageData(0, 0, 1, 1).data].slice(0, 3);
	},
	get painted() { // by the last frame
		return panes.map((p) => ({rects: p.lanes.drawn, rows: p.lanes.visible, points: p.curves.points, pixels: p.lanes.width,
			extents: p.curves.plots.filter((x) => x.points).map((x) => x.points.slice(1).flat().filter((v) => v != null)).map((v) => [Math.min(...v), Math.max(...v)]),
			scales: p.curves.plots.filter((x) => x.uplot).map((x) => [x.uplot.scales.y.min, x.uplot.scales.y.max]),
			seconds: p.curves.plots.filter((x) => x.uplot).map((x) => [x.uplot.scales.x.min, x.uplot.scales.x.max]), curves: p.curves.plots.map((x) => x.shown.length)}));
	},
	get selected() {
		return selected && {run: runs.indexOf(selected.run), task: selected.task && selected.task.label, state: selected.state, start: selected.start,
			end: selected.end, cpus: selected.cpus,
			who: selected.who && selected.who.map((a) => ({task: a.task < 0 ? null : selected.run.tasks[a.task].label, time: a.time, slices: a.slices}))};
	},
	show,
	// Where on the page a moment of a lane is, for a mouse.
	place(pane, what, at) {
		const lanes = panes[pane].lanes, r = lanes.canvas.getBoundingClientRect();
		const row = lanes.rows.find((x) => (x.task ? x.task.label : "CPU " + x.cpu) === what);
		return {x: r.left + lanes.x(at), y: r.top + AXIS + row.y - lanes.box.scrollTop + ROW / 2};
	},
	runs: runs.map((r) => ({
		cpus: r.sums, slices: r.slices, gaps: r.gaps.length, unknown: r.sums.reduce((s, c) => s + c.unknown, 0), span: r.span,
		tasks: r.tasks.map((t) => ({id: t.id, name: t.name, label: t.label, idle: t.idle, run: t.run, runOn: [...t.runOn], slices: t.slices, waits: t.waits,
			wait: t.wait, longest: t.longest, ticks: t.ticks})),
		points: {prio: count(r.prio), score: count(r.score), queue: count(r.queue), moves: count(r.moves)},
	})),
};

function count(curves) {
	let n = 0;
	for (const c of curves.values())
		n += c.n;
	return n;
}

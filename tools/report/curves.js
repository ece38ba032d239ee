// SPDX-License-Identifier: MIT
//
// Curves under the lanes, on the same time axis: priority, the policy's figure,
// length of the queues. uPlot draws; here the part that is in view is thinned
// to the smallest, largest and last value of every two pixels before it gets it.

const DASHES = [[], [12, 5], [4, 4], [14, 4, 4, 4], [24, 6], [8, 8], [2, 6]];

// [seconds], [values] of a step curve within the view, a point at either edge.
function thin(curve, t0, t1, pixels) {
	const xs = [], ys = [], a = upper(curve.time, t0), b = upper(curve.time, t1);
	const put = (t, v) => {
		if (xs.length && xs[xs.length - 1] >= t / 1e9)
			ys[ys.length - 1] = v;
		else {
			xs.push(t / 1e9);
			ys.push(v);
		}
	};
	if (a > 0)
		put(t0, curve.value[a - 1]);
	if (b - a <= pixels) {
		for (let i = a; i < b; i++)
			put(curve.time[i], curve.value[i]);
	} else { // the same columns for every curve, so that uPlot need not join many times
		const width = (t1 - t0) / (pixels / 2);
		for (let i = a; i < b;) {
			const n = Math.floor((curve.time[i] - t0) / width), from = t0 + n * width, until = from + width;
			let low = i, high = i, j = i + 1;
			for (; j < b && curve.time[j] < until; j++) {
				if (curve.value[j] < curve.value[low])
					low = j;
				if (curve.value[j] > curve.value[high])
					high = j;
			}
			put(from, curve.value[Math.min(low, high)]);
			put(from + width / 3, curve.value[Math.max(low, high)]);
			put(from + width * 2 / 3, curve.value[j - 1]);
			i = j;
		}
	}
	if (b > 0)
		put(t1, curve.value[b - 1]);
	return [xs, ys];
}

class Curves {
	constructor(run, view, labelWidth) {
		this.run = run;
		this.view = view;
		this.label = labelWidth;
		this.box = make("div", null, "curves");
		this.plots = [
			{title: "Priority", hint: "up: runs first", curves: run.prio, dir: -1, tasks: true},
			{title: "Score", hint: this.scoreName(), curves: run.score, dir: 1, tasks: true},
			{title: "Queue length", hint: "running and waiting, by CPU", curves: run.queue, dir: 1, tasks: false},
		];
		for (const plot of this.plots) {
			plot.head = make("h3");
			plot.body = make("div", null, "plot");
			this.box.append(plot.head, plot.body);
		}
	}

	scoreName() {
		const p = this.run.policy;
		return /^(o1|nick)/.test(p) ? "sleep_avg, up: more interactive" : "the figure that policy " + p + " notes";
	}

	// Tasks whose curves are shown at the start: the busiest of those that have any, but none that hardly ran.
	static choose(run) {
		const scored = run.order.filter((t) => run.score.has(t.index));
		const all = scored.length ? scored : run.order.filter((t) => run.prio.has(t.index));
		return all.filter((t) => t.run >= 0.01 * all[0].run).slice(0, 4);
	}

	series(plot) {
		if (plot.tasks)
			return this.run.order.filter((t) => t.shown && plot.curves.has(t.index)).slice(0, 7)
				.map((t, i) => ({name: t.label, colour: PALETTE[t.colour % 7], dash: DASHES[(t.colour > 6 ? i + 1 : i) % 7], curve: plot.curves.get(t.index)}));
		let cpus = [...plot.curves.keys()].sort((a, b) => a - b);
		if (cpus.length > 7) {
			const sum = (c) => plot.curves.get(c).value.reduce((x, y) => x + y, 0) / plot.curves.get(c).n;
			cpus = cpus.sort((a, b) => sum(b) - sum(a)).slice(0, 7).sort((a, b) => a - b);
		}
		return cpus.map((c, i) => ({name: "CPU " + c, colour: PALETTE[i % 7], dash: DASHES[i % 7], curve: plot.curves.get(c)}));
	}

	// Make the plots anew: another set of curves, or another size.
	layout() {
		this.width = this.box.clientWidth;
		for (const plot of this.plots) {
			if (plot.uplot)
				plot.uplot.destroy();
			plot.uplot = null;
			plot.range = plot.range || [0, 1];
			plot.shown = this.series(plot);
			plot.head.replaceChildren(plot.title, make("small", plot.hint));
			for (const s of plot.shown) {
				const chip = make("span", null, "chip"), line = make("i");
				line.style.borderTop = "5px " + (s.dash.length ? "dashed " : "solid ") + s.colour;
				chip.append(line, s.name);
				plot.head.append(chip);
			}
			plot.body.replaceChildren();
			if (!plot.shown.length) {
				plot.body.append(make("p", plot.tasks ? "Nothing was recorded of the tasks chosen; click a task's name for its curves."
					: "Nothing was recorded.", "empty"));
				continue;
			}
			plot.uplot = new uPlot({
				width: this.width, height: 190, padding: [12, 0, 0, 0], legend: {show: false}, cursor: {show: false},
				scales: {x: {time: false, range: () => [this.view.t0 / 1e9, this.view.t1 / 1e9]},
					y: {dir: plot.dir, range: () => plot.range}},
				axes: [{font: FONT, stroke: INK, size: 38, space: 130, grid: {stroke: "#e4e4e4", width: 1}, values: (u, at) => at.map((v) => this.inside(u, v))},
					{font: FONT, stroke: INK, size: this.label, space: 45, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500].concat(
						[3, 4, 5, 6, 7, 8, 9, 10, 11, 12].flatMap((e) => [1, 2, 5].map((m) => m * 10 ** e))),
					grid: {stroke: "#e4e4e4", width: 1}, values: (_u, at) => at.map(short)}],
				series: [{}].concat(plot.shown.map((s) => ({stroke: s.colour, width: 3, dash: s.dash, spanGaps: true,
					points: {show: false}, paths: uPlot.paths.stepped({align: 1})}))),
			}, this.data(plot), plot.body);
		}
	}

	// A label of the time axis; none where the edge would cut it.
	inside(u, v) {
		const text = String(+v.toFixed(9));
		return u.valToPos(v, "x") + text.length * 6 > this.width - this.label ? "" : text;
	}

	data(plot) {
		const pixels = Math.max(50, this.width - this.label);
		return uPlot.join(plot.shown.map((s) => thin(s.curve, this.view.t0, this.view.t1, pixels)));
	}

	// Both panes have the same scales, or curves side by side could not be compared.
	static draw(all) {
		for (const c of all)
			for (const plot of c.plots)
				plot.points = plot.uplot ? c.data(plot) : null;
		all[0].plots.forEach((first, i) => {
			let low = Infinity, high = -Infinity;
			for (const c of all)
				for (const values of (c.plots[i].points || []).slice(1))
					for (const v of values)
						if (v !== undefined && v !== null) {
							low = Math.min(low, v);
							high = Math.max(high, v);
						}
			const room = Math.max(1, (high - low) * 0.08);
			for (const c of all)
				c.plots[i].range = low > high ? [0, 1] : [first.tasks ? low - room : 0, high + room];
		});
		for (const c of all) {
			c.points = 0;
			for (const plot of c.plots)
				if (plot.uplot) {
					c.points += plot.points[0].length * (plot.points.length - 1);
					plot.uplot.setData(plot.points);
				}
		}
	}
}

// Large figures with k, M, G.
function short(v) {
	for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e4]])
		if (Math.abs(v) >= size)
			return +(v / (unit === "k" ? 1e3 : size)).toFixed(2) + " " + unit;
	return String(v);
}

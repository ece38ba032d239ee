// SPDX-License-Identifier: MIT
//
// Paints CPU lanes and task lanes on a canvas. Wide slices are rectangles with
// names, narrow ones go into a strip of pixels (strip.js), and those below a
// pixel are gathered by column: a frame costs what its pixels cost, however
// many slices there are. Only lanes inside the window are painted: the canvas
// stays, the lanes scroll under it.

const PALETTE = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
const DARK = [true, false, true, false, false, true, false]; // white text on it?
const RUNNING = "#0072b2", WAITING = "#e69f00", WAITING_INK = "#7a2f00", SLEEPING = "#8a8a8a", INK = "#111";
const FONT = "18px \"DejaVu Sans\", Verdana, Arial, sans-serif", BOLD = "bold " + FONT;
const AXIS = 36, TITLE = 34, ROW = 38, BAR = 28;

// Tiles for patterns; made once per canvas context.
function tile(draw, size = 8) {
	const c = document.createElement("canvas");
	c.width = c.height = size;
	draw(c.getContext("2d"), size);
	return c;
}

const TILES = {
	wait: tile((g, n) => {
		g.fillStyle = WAITING;
		g.fillRect(0, 0, n, n);
		g.strokeStyle = WAITING_INK;
		g.lineWidth = 2;
		g.beginPath();
		g.moveTo(-2, n + 2), g.lineTo(n + 2, -2);
		g.moveTo(-2, 2), g.lineTo(2, -2);
		g.moveTo(n - 2, n + 2), g.lineTo(n + 2, n - 2);
		g.stroke();
	}),
	gap: tile((g, n) => {
		g.fillStyle = "#e8e8e8";
		g.fillRect(0, 0, n, n);
		g.strokeStyle = "#777";
		g.lineWidth = 1.2;
		g.beginPath();
		g.moveTo(0, 0), g.lineTo(n, n);
		g.moveTo(0, n), g.lineTo(n, 0);
		g.stroke();
	}, 10),
	sleep: tile((g) => {
		g.fillStyle = SLEEPING;
		g.fillRect(0, 0, 4, 8);
	}),
};

const RUN_INK = {first: ink(RUNNING), second: 0, kind: PLAIN}, WAIT_INK = {first: ink(WAITING), second: ink(WAITING_INK), kind: SLANTED};
const UNKNOWN = {first: ink("#e8e8e8"), second: ink("#777777"), kind: CROSSED};
const PAPER = 900; // pixels that fit on a page
const THIN = 6; // narrower slices go into the strip

// Fill number `i` of the palette: after seven colours the same ones with stripes, then with dots.
function taskTile(i) {
	return tile((g, n) => {
		g.fillStyle = PALETTE[i % 7];
		g.fillRect(0, 0, n, n);
		g.fillStyle = pale(PALETTE[i % 7]);
		if (Math.floor(i / 7) % 3 === 1)
			g.fillRect(0, 0, n, 3);
		else if (Math.floor(i / 7) % 3 === 2)
			g.fillRect(1, 1, 4, 4);
	});
}

class Lanes {
	constructor(run, view, labelWidth) {
		this.run = run;
		this.view = view;
		this.label = labelWidth;
		this.box = make("div", null, "lanes");
		this.box.tabIndex = 0;
		this.canvas = make("canvas");
		this.filler = make("div");
		this.box.append(this.canvas, this.filler);
		this.rows = [{title: "CPUs: who runs"}];
		for (let cpu = 0; cpu < run.cpus; cpu++)
			this.rows.push({cpu});
		this.rows.push({title: "Tasks: running, waiting or asleep"});
		for (const task of run.order)
			this.rows.push({task});
		let y = 0;
		for (const row of this.rows) {
			row.y = y;
			y += row.title ? TITLE : ROW;
		}
		this.total = AXIS + y + 4;
		this.selection = null; // {start, end, cpu, task}
		this.drawn = 0;
		this.whole = false; // printing: as many lanes as a page holds
	}

	layout(maxHeight) {
		const height = Math.min(this.total, this.whole ? PAPER : maxHeight);
		this.box.style.height = height + "px";
		this.width = this.box.clientWidth;
		this.height = height;
		this.filler.style.height = this.total - height + "px";
		this.dpr = this.whole ? 2 : Math.min(window.devicePixelRatio || 1, 2);
		this.canvas.width = Math.round(this.width * this.dpr);
		this.canvas.height = Math.round(height * this.dpr);
		this.canvas.style.width = this.width + "px";
		this.canvas.style.height = height + "px";
		this.g = this.canvas.getContext("2d");
		this.patterns = new Map();
		this.ink = new Map();
		this.strip = this.strip || new Strip();
		this.strip.resize(Math.round((this.width - this.label) * this.dpr), Math.round(BAR * this.dpr));
	}

	pattern(name, source) {
		let p = this.patterns.get(name);
		if (!p) {
			p = this.g.createPattern(source, "repeat");
			this.patterns.set(name, p);
		}
		return p;
	}

	fill(task) {
		const i = task.colour;
		return i < 7 ? PALETTE[i] : this.pattern(i, taskTile(i));
	}

	// The same for the strip of thin slices.
	inks(task) {
		let found = this.ink.get(task.colour);
		if (!found) {
			const hex = PALETTE[task.colour % 7];
			found = {first: ink(hex), second: ink(pale(hex)), kind: Math.floor(task.colour / 7) % 3};
			this.ink.set(task.colour, found);
		}
		return found;
	}

	x(t) {
		return this.label + (t - this.view.t0) / (this.view.t1 - this.view.t0) * (this.width - this.label);
	}

	time(x) {
		return this.view.t0 + (x - this.label) / (this.width - this.label) * (this.view.t1 - this.view.t0);
	}

	rowAt(y) {
		if (y < AXIS)
			return null;
		const inside = y - AXIS + this.box.scrollTop;
		return this.rows.find((r) => inside >= r.y && inside < r.y + (r.title ? TITLE : ROW)) || null;
	}

	// Bring a task's row into the window.
	reveal(task) {
		const row = this.rows.find((r) => r.task === task);
		if (!row)
			return;
		const room = this.height - AXIS;
		if (row.y < this.box.scrollTop)
			this.box.scrollTop = row.y;
		else if (row.y + ROW > this.box.scrollTop + room)
			this.box.scrollTop = row.y + ROW - room;
	}

	rect(x0, y, x1, h) {
		this.g.fillRect(x0, y, Math.max(x1 - x0, 1), h);
		this.drawn++;
	}

	// Text that is cut to the room there is; a task's number goes first.
	text(text, x, y, room) {
		const most = Math.floor(room / 10.6);
		if (most < 2)
			return;
		if (text.length > most - 1 && this.g.measureText(text).width > room) {
			text = text.replace(/:\d+$/, "");
			if (this.g.measureText(text).width > room)
				text = text.slice(0, Math.min(most, text.length) - 1) + "\u2026";
		}
		this.g.fillText(text, x, y);
	}

	draw() {
		const g = this.g;
		this.drawn = 0;
		g.setTransform(this.dpr, 0, 0, this.dpr, 0, 0);
		g.fillStyle = "#fff";
		g.fillRect(0, 0, this.width, this.height);
		g.textBaseline = "middle";
		g.font = FONT;
		const top = this.box.scrollTop;
		g.save();
		g.beginPath();
		g.rect(0, AXIS, this.width, this.height - AXIS);
		g.clip();
		this.grid(AXIS, this.height);
		let visible = 0;
		for (const row of this.rows) {
			const y = AXIS + row.y - top;
			if (y > this.height || y + ROW < AXIS)
				continue;
			visible++;
			this.rowLabel(row, y);
			g.save();
			g.beginPath();
			g.rect(this.label, y, this.width - this.label, ROW);
			g.clip();
			if (row.cpu !== undefined)
				this.cpuRow(this.run.lanes[row.cpu], row.cpu, y + (ROW - BAR) / 2);
			else if (row.task)
				this.taskRow(row.task, y + (ROW - BAR) / 2);
			g.restore();
		}
		this.overlay(top);
		g.restore();
		this.axis();
		this.visible = visible;
	}

	rowLabel(row, y) {
		const g = this.g;
		g.fillStyle = INK;
		if (row.title) {
			g.font = BOLD;
			g.fillText(row.title, 8, y + TITLE / 2 + 2);
			g.font = FONT;
			return;
		}
		const middle = y + ROW / 2;
		if (row.cpu !== undefined) {
			const s = this.run.sums[row.cpu], known = s.busy + s.idle;
			this.text("CPU " + row.cpu, 8, middle, this.label - 16);
			if (known && this.label > 170) {
				g.textAlign = "right";
				g.fillText(Math.round(100 * s.busy / known) + " %", this.label - 10, middle);
				g.textAlign = "left";
			}
			return;
		}
		if (row.task.shown) { // its curves are drawn: the mark says so
			g.fillStyle = "#ddebf5";
			g.fillRect(0, y + 2, this.label - 4, ROW - 4);
		}
		g.fillStyle = this.fill(row.task);
		g.fillRect(8, middle - 8, 16, 16);
		g.fillStyle = INK;
		if (this.selection && this.selection.task === row.task)
			g.font = BOLD;
		this.text(row.task.label, 32, middle, this.label - 40);
		g.font = FONT;
	}

	cpuRow(lane, cpu, y) {
		const g = this.g, {t0, t1} = this.view, scale = (this.width - this.label) / (t1 - t0), fine = scale * this.dpr, tasks = this.run.tasks;
		const strip = this.strip, high = strip.height;
		let pixel = -1, busy = 0, best = -1, task = 0, unknown = false;
		const flush = () => {
			if (pixel >= 0 && (best >= 0 || unknown)) {
				const h = best < 0 ? high : Math.max(4, Math.round(high * Math.min(1, busy * fine)));
				strip.bar(pixel, pixel + 1, high - h, high, best < 0 ? UNKNOWN : this.inks(tasks[task]));
				this.drawn++;
			}
			pixel = -1;
		};
		for (let i = Math.max(0, upper(lane.start, t0) - 1); i < lane.n && lane.start[i] < t1; i++) {
			const length = lane.length[i], at = (lane.start[i] - t0) * fine, id = lane.task[i];
			if (length * fine < 1) {
				const p = Math.floor(at);
				if (p !== pixel) {
					flush();
					pixel = p, busy = 0, unknown = false, best = -1;
				}
				if (id === GAP)
					unknown = true;
				else if (!tasks[id].idle) {
					busy += length;
					if (length > best)
						best = length, task = id;
				}
				continue;
			}
			flush();
			if (length * scale < THIN && (id === GAP || !tasks[id].idle)) {
				strip.bar(Math.round(at), Math.round(at + length * fine), 0, high, id === GAP ? UNKNOWN : this.inks(tasks[id]));
				this.drawn++;
			} else
				this.wide(lane, i, cpu, y);
		}
		flush();
		strip.flush(g, this.label, y, this.width - this.label, BAR);
	}

	// A slice that is wide enough for a rectangle, perhaps for its name.
	wide(lane, i, cpu, y) {
		const g = this.g, x0 = this.x(lane.start[i]), left = Math.max(x0, this.label), right = Math.min(this.x(lane.start[i] + lane.length[i]), this.width);
		if (lane.task[i] === GAP) {
			this.gap(left, right, y, cpu, lane.start[i] + lane.length[i]);
			return;
		}
		const t = this.run.tasks[lane.task[i]];
		if (t.idle) {
			g.fillStyle = "#c8c8c8";
			this.rect(left, y + BAR - 2, right, 2);
			return;
		}
		g.fillStyle = this.fill(t);
		this.rect(left, y, right - 0.5, BAR);
		if (right - left > 44) {
			g.fillStyle = t.colour < 7 && DARK[t.colour] ? "#fff" : "#000";
			if (t.colour >= 7) { // letters over stripes cannot be read
				g.fillStyle = "#fff";
				g.fillRect(left + 4, y + 3, Math.min(right - left - 8, 10.8 * t.label.length + 6), BAR - 6);
				g.fillStyle = "#000";
			}
			this.text(t.label, left + 7, y + BAR / 2 + 1, right - left - 12);
		}
	}

	gap(left, right, y, cpu, end) {
		const g = this.g, lost = this.run.gaps.find((x) => x[0] === cpu && x[1] <= end && x[1] > this.time(left) - 1);
		g.fillStyle = lost ? this.pattern("gap", TILES.gap) : "#f2f2f2";
		this.rect(left, y, right, BAR);
		const text = lost ? lost[2] + " records lost" : "not recorded";
		if (right - left > 11 * text.length + 20) {
			g.fillStyle = "#fff";
			g.fillRect(left + 6, y + 3, g.measureText(text).width + 10, BAR - 6);
			g.fillStyle = INK;
			g.fillText(text, left + 11, y + BAR / 2 + 1);
		}
	}

	taskRow(task, y) {
		const g = this.g, {t0, t1} = this.view, m = this.run.mine, scale = (this.width - this.label) / (t1 - t0);
		const wait = this.pattern("wait", TILES.wait);
		// Asleep wherever nothing else is painted.
		const from = Math.max(this.label, this.x(task.born === null ? 0 : task.born));
		const to = Math.min(this.width, this.x(task.ended === null ? this.run.span : task.ended));
		if (to > from) {
			g.fillStyle = this.pattern("sleep", TILES.sleep);
			this.rect(from, y + BAR / 2 - 1.5, to, 3);
		}
		for (const gap of this.run.lostSpans)
			if (gap.end > t0 && gap.start < t1) {
				g.fillStyle = this.pattern("gap", TILES.gap);
				this.rect(Math.max(this.label, this.x(gap.start)), y + BAR / 2 - 5, Math.min(this.width, this.x(gap.end)), 10);
			}
		const strip = this.strip, high = strip.height, fine = scale * this.dpr, inset = Math.round(3 * this.dpr);
		let pixel = -1, run = 0, waited = 0;
		const flush = () => { // running from below, waiting on top of it, by their share of the time
			if (pixel >= 0) {
				const h = run ? Math.max(4, Math.round(high * Math.min(1, run * fine))) : 0;
				const w = waited ? Math.max(4, Math.round(high * Math.min(1, waited * fine))) : 0;
				if (h)
					strip.bar(pixel, pixel + 1, high - h, high, RUN_INK);
				if (w)
					strip.bar(pixel, pixel + 1, Math.max(0, high - h - w), Math.max(4, high - h), WAIT_INK);
				this.drawn++;
			}
			pixel = -1;
		};
		const piece = (start, end, running) => {
			if (end <= t0 || start >= t1 || end <= start)
				return;
			const at = (start - t0) * fine, length = end - start;
			if (length * fine < 1) {
				const p = Math.floor(at);
				if (p !== pixel) {
					flush();
					pixel = p, run = waited = 0;
				}
				if (running)
					run += length;
				else
					waited += length;
				return;
			}
			flush();
			if (length * scale < THIN) {
				strip.bar(Math.round(at), Math.round(at + length * fine), running ? 0 : inset, high - (running ? 0 : inset), running ? RUN_INK : WAIT_INK);
				this.drawn++;
				return;
			}
			const left = Math.max(this.x(start), this.label), right = Math.min(this.x(end), this.width);
			g.fillStyle = "#fff";
			g.fillRect(left, y, right - left, BAR);
			g.fillStyle = running ? RUNNING : wait;
			if (running)
				this.rect(left, y, right - 0.5, BAR);
			else
				this.rect(left, y + 3, right, BAR - 6);
		};
		for (let p = this.run.after(task, t0); p < task.last && m.start[p] - m.wait[p] < t1; p++) {
			if (m.wait[p])
				piece(m.start[p] - m.wait[p], m.start[p], false);
			piece(m.start[p], m.end[p], true);
		}
		if (task.open !== null)
			piece(task.open, this.run.span, false);
		flush();
		strip.flush(g, this.label, y, this.width - this.label, BAR);
		this.migrations(task, y);
	}

	// A small mark where the task went to another CPU; those that would touch are left out.
	migrations(task, y) {
		const g = this.g, moves = this.run.moves.get(task.index);
		if (!moves)
			return;
		let last = -100;
		for (let i = upper(moves.time, this.view.t0); i < moves.n && moves.time[i] < this.view.t1; i++) {
			const x = this.x(moves.time[i]);
			if (x - last < 9)
				continue;
			last = x;
			g.fillStyle = "#000";
			g.strokeStyle = "#fff";
			g.lineWidth = 1.5;
			g.beginPath();
			g.moveTo(x - 6, y - 4), g.lineTo(x + 6, y - 4), g.lineTo(x, y + 6);
			g.closePath();
			g.fill();
			g.stroke();
			this.drawn++;
		}
	}

	overlay(top) {
		const s = this.selection, g = this.g;
		if (!s)
			return;
		const x0 = Math.max(this.label, this.x(s.start)), x1 = Math.min(this.width, this.x(s.end));
		if (x1 < this.label || x0 > this.width)
			return;
		g.fillStyle = "#00000014";
		g.fillRect(x0, AXIS, Math.max(1, x1 - x0), this.height);
		g.strokeStyle = "#000";
		g.lineWidth = 3;
		for (const row of this.rows)
			if (row.cpu !== undefined ? s.cpus.includes(row.cpu) : row.task && row.task === s.task)
				g.strokeRect(x0 - 1, AXIS + row.y - top + 3, Math.max(3, x1 - x0 + 2), ROW - 6);
	}

	// Round steps of time of which about one fits each 150 pixels.
	ticks() {
		const {t0, t1} = this.view, most = Math.max(2, (this.width - this.label) / 150), raw = (t1 - t0) / most;
		let step = Math.pow(10, Math.floor(Math.log10(raw)));
		step *= raw / step <= 1 ? 1 : raw / step <= 2 ? 2 : raw / step <= 5 ? 5 : 10;
		const out = [];
		for (let t = Math.ceil(t0 / step) * step; t <= t1 && out.length < 100; t += step)
			out.push(t);
		return {step, out};
	}

	grid(y0, y1) {
		const g = this.g;
		g.fillStyle = "#e4e4e4";
		for (const t of this.ticks().out)
			g.fillRect(Math.round(this.x(t)), y0, 1, y1 - y0);
	}

	axis() {
		const g = this.g;
		g.fillStyle = "#fff";
		g.fillRect(0, 0, this.width, AXIS);
		const {step, out} = this.ticks(), digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / 1e9) + 1e-9)));
		g.fillStyle = INK;
		g.font = BOLD;
		g.fillText("time, s", 8, AXIS / 2);
		g.font = FONT;
		g.textAlign = "center";
		for (const t of out) {
			const x = this.x(t), text = (t / 1e9).toFixed(digits), half = text.length * 5.8;
			if (x - half > this.label - 4 && x + half < this.width)
				g.fillText(text, x, AXIS / 2 - 2);
			if (x >= this.label)
				g.fillRect(Math.round(x), AXIS - 8, 2, 8);
		}
		g.textAlign = "left";
		g.fillRect(this.label, AXIS - 2, this.width - this.label, 2);
	}
}

// SPDX-License-Identifier: MIT
//
// Paints CPU lanes and task lanes on a canvas. A slice of a pixel or more is a
// rectangle; smaller ones are gathered by pixel column, so that a frame costs
// at most some rectangles a pixel, however many slices there are. Only lanes
// inside the window are painted: the canvas stays, the lanes scroll under it.

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
		g.moveTo(-2, n + 2 - 0), g.lineTo(n + 2, -2);
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

// Fill number `i` of the palette: after seven colours the same ones with stripes, then with dots.
function taskTile(i) {
	return tile((g, n) => {
		g.fillStyle = PALETTE[i % 7];
		g.fillRect(0, 0, n, n);
		g.fillStyle = "#ffffffb0";
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
		this.whole = false; // printing: everything, without scrolling
	}

	layout(maxHeight) {
		const height = this.whole ? Math.min(this.total, 3000) : Math.min(this.total, maxHeight);
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

	text(text, x, y, room) {
		const most = Math.floor(room / 10.6);
		if (most < 2)
			return;
		this.g.fillText(text.length > most ? text.slice(0, most - 1) + "\u2026" : text, x, y);
	}

	draw() {
		const g = this.g;
		this.drawn = 0;
		g.setTransform(this.dpr, 0, 0, this.dpr, 0, 0);
		g.fillStyle = "#fff";
		g.fillRect(0, 0, this.width, this.height);
		g.textBaseline = "middle";
		g.font = FONT;
		const top = this.whole ? 0 : this.box.scrollTop;
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
		const g = this.g, {t0, t1} = this.view, scale = (this.width - this.label) / (t1 - t0), tasks = this.run.tasks;
		let pixel = -1, busy = 0, best = -1, task = 0, unknown = 0;
		const flush = () => {
			if (pixel < 0)
				return;
			if (best >= 0) {
				const h = Math.max(4, BAR * Math.min(1, busy * scale));
				g.fillStyle = this.fill(tasks[task]);
				this.rect(pixel, y + BAR - h, pixel + 1, h);
			} else if (unknown) {
				g.fillStyle = this.pattern("gap", TILES.gap);
				this.rect(pixel, y, pixel + 1, BAR);
			}
			pixel = -1;
		};
		for (let i = Math.max(0, upper(lane.start, t0) - 1); i < lane.n && lane.start[i] < t1; i++) {
			const length = lane.length[i], x0 = this.x(lane.start[i]);
			if (length * scale < 1) {
				const p = Math.floor(x0);
				if (p !== pixel) {
					flush();
					pixel = p, busy = unknown = 0, best = -1;
				}
				if (lane.task[i] === GAP)
					unknown = 1;
				else if (!tasks[lane.task[i]].idle) {
					busy += length;
					if (length > best)
						best = length, task = lane.task[i];
				}
				continue;
			}
			flush();
			const x1 = x0 + length * scale, left = Math.max(x0, this.label), right = Math.min(x1, this.width);
			if (lane.task[i] === GAP) {
				this.gap(left, right, y, cpu, lane.start[i] + length);
				continue;
			}
			const t = tasks[lane.task[i]];
			if (t.idle) {
				g.fillStyle = "#c8c8c8";
				this.rect(left, y + BAR - 2, right, 2);
				continue;
			}
			g.fillStyle = this.fill(t);
			this.rect(left, y, x1 - x0 > 4 ? right - 0.5 : right, BAR);
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
		flush();
	}

	gap(left, right, y, cpu, end) {
		const g = this.g, lost = this.run.gaps.find((x) => x[0] === cpu && x[1] <= end && x[1] > this.time(left) - 1);
		g.fillStyle = lost ? this.pattern("gap", TILES.gap) : "#f2f2f2";
		this.rect(left, y, right, BAR);
		const text = lost ? lost[2] + " records lost" : "not recorded";
		if (right - left > 11 * text.length + 20) {
			g.fillStyle = "#fff";
			g.fillRect(left + 6, y + 3, 10.9 * text.length + 10, BAR - 6);
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
		let pixel = -1, run = 0, waited = 0;
		const flush = () => {
			if (pixel < 0)
				return;
			const h = run ? Math.max(4, BAR * Math.min(1, run * scale)) : 0;
			const w = waited ? Math.max(4, BAR * Math.min(1, waited * scale)) : 0;
			if (h) {
				g.fillStyle = RUNNING;
				this.rect(pixel, y + BAR - h, pixel + 1, h);
			}
			if (w) {
				g.fillStyle = WAITING;
				this.rect(pixel, Math.max(y, y + BAR - h - w), pixel + 1, Math.min(w, BAR - Math.min(h, BAR - 4)));
			}
			pixel = -1;
		};
		const piece = (start, end, running) => {
			if (end <= t0 || start >= t1 || end <= start)
				return;
			const x0 = this.x(start);
			if ((end - start) * scale < 1) {
				const p = Math.floor(x0);
				if (p !== pixel) {
					flush();
					pixel = p, run = waited = 0;
				}
				if (running)
					run += end - start;
				else
					waited += end - start;
				return;
			}
			flush();
			const left = Math.max(x0, this.label), right = Math.min(this.x(end), this.width);
			g.fillStyle = "#fff";
			g.fillRect(left, y, right - left, BAR);
			g.fillStyle = running ? RUNNING : wait;
			if (running)
				this.rect(left, y, right - left > 4 ? right - 0.5 : right, BAR);
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
		const g = this.g, {step, out} = this.ticks(), digits = Math.max(0, Math.min(9, -Math.floor(Math.log10(step / 1e9) + 1e-9)));
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

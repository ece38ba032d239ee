// SPDX-License-Identifier: MIT
//
// The data of the page: base64 columns become typed arrays, once, and every
// question about them (which slice at this time, who ran instead) is a binary
// search or one walk over what is asked for. Times are ns since the recording
// began, as doubles, which hold them exactly. tools/tracereport.py packs.

const GAP = 0xffff, WAITED = 0x80;
const ENDS = ["recording ended", "preempted", "gave the CPU up, still runnable", "slept", "slept, not to be disturbed", "stopped", "exited"];

function bytes(text) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(text);
	const raw = atob(text), out = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		out[i] = raw.charCodeAt(i);
	return out;
}

function column(Type, text) {
	return new Type(bytes(text).buffer);
}

// 32-bit durations with their few exceptions, as doubles.
function durations(packed) {
	const out = new Float64Array(column(Uint32Array, packed.u32));
	for (const [i, ns] of packed.big)
		out[i] = ns;
	return out;
}

// The number of elements that are <= value in a sorted array, from index `low` on.
function upper(sorted, value, low = 0, high = sorted.length) {
	while (low < high) {
		const mid = (low + high) >>> 1;
		if (sorted[mid] <= value)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

class Lane {
	constructor(packed) {
		this.length = durations(packed.time);
		this.n = this.length.length;
		this.task = column(Uint16Array, packed.task);
		this.prio = column(Int16Array, packed.prio);
		this.how = column(Uint8Array, packed.how);
		this.wait = durations(packed.wait);
		this.start = new Float64Array(this.n);
		let t = 0;
		for (let i = 0; i < this.n; i++) {
			this.start[i] = t;
			t += this.length[i];
		}
		this.end = t;
	}

	// The slice at time t, or -1.
	at(t) {
		return t < 0 || t >= this.end ? -1 : upper(this.start, t) - 1;
	}
}

// Step curves, taken apart by key: {key: {time, value}}.
function steps(packed, Value) {
	const key = column(Uint16Array, packed.key), time = column(Float64Array, packed.time), value = column(Value, packed.value);
	const count = new Map(), out = new Map();
	for (const k of key)
		count.set(k, (count.get(k) || 0) + 1);
	for (const [k, n] of count)
		out.set(k, {time: new Float64Array(n), value: new Float64Array(n), n: 0});
	for (let i = 0; i < key.length; i++) {
		const curve = out.get(key[i]);
		curve.time[curve.n] = time[i];
		curve.value[curve.n++] = value[i];
	}
	return out;
}

class Run {
	constructor(packed, letter) {
		Object.assign(this, packed);
		this.letter = letter;
		this.lanes = packed.lanes.map((l) => new Lane(l));
		this.prio = steps(packed.prio, Int16Array);
		this.score = steps(packed.score, Float64Array);
		this.queue = steps(packed.queue, Uint16Array);
		this.moves = steps(packed.moves, Uint32Array);
		for (const [i, task] of this.tasks.entries()) {
			task.index = i;
			task.label = task.idle ? "idle" : task.name + ":" + task.id;
			Object.assign(task, {run: 0, slices: 0, waits: 0, wait: 0, longest: 0, runOn: new Float64Array(this.cpus), open: null});
		}
		for (const [i, since] of this.waiting)
			this.tasks[i].open = since;
		this.sum();
		this.byTask();
		this.lostSpans = this.spans();
		this.order = this.tasks.filter((t) => !t.idle).sort((a, b) => b.run - a.run || a.id - b.id);
	}

	sum() {
		this.slices = 0;
		this.sums = this.lanes.map((lane, cpu) => {
			const s = {busy: 0, idle: 0, unknown: 0, slices: 0};
			for (let i = 0; i < lane.n; i++) {
				if (lane.task[i] === GAP) {
					s.unknown += lane.length[i];
					continue;
				}
				const task = this.tasks[lane.task[i]];
				s.slices++;
				task.slices++;
				if (task.idle)
					s.idle += lane.length[i];
				else {
					s.busy += lane.length[i];
					task.run += lane.length[i];
					task.runOn[cpu] += lane.length[i];
				}
				if (lane.how[i] & WAITED) {
					task.waits++;
					task.wait += lane.wait[i];
					task.longest = Math.max(task.longest, lane.wait[i]);
				}
			}
			this.slices += s.slices;
			return s;
		});
		for (const task of this.tasks)
			if (task.open !== null)
				task.longest = Math.max(task.longest, this.span - task.open);
	}

	// All slices of a task in order of time: positions in `mine` from task.first to task.last. A merge of the CPUs' lanes by a heap.
	byTask() {
		let at = 0;
		for (const task of this.tasks) {
			task.first = task.last = at;
			at += task.idle ? 0 : task.slices;
		}
		this.mine = {cpu: new Uint16Array(at), slice: new Uint32Array(at), start: new Float64Array(at), end: new Float64Array(at),
			wait: new Float64Array(at)};
		const heap = [], next = this.lanes.map(() => 0);
		const key = (cpu) => this.lanes[cpu].start[next[cpu]];
		const sink = (i) => {
			for (;;) {
				let child = 2 * i + 1;
				if (child >= heap.length)
					return;
				if (child + 1 < heap.length && key(heap[child + 1]) < key(heap[child]))
					child++;
				if (key(heap[i]) <= key(heap[child]))
					return;
				[heap[i], heap[child]] = [heap[child], heap[i]];
				i = child;
			}
		};
		this.lanes.forEach((lane, cpu) => {
			if (lane.n)
				heap.push(cpu);
		});
		for (let i = heap.length >> 1; i >= 0; i--)
			sink(i);
		while (heap.length) {
			const cpu = heap[0], lane = this.lanes[cpu], i = next[cpu]++;
			if (lane.task[i] !== GAP && !this.tasks[lane.task[i]].idle) {
				const p = this.tasks[lane.task[i]].last++;
				this.mine.cpu[p] = cpu;
				this.mine.slice[p] = i;
				this.mine.start[p] = lane.start[i];
				this.mine.end[p] = lane.start[i] + lane.length[i];
				this.mine.wait[p] = lane.how[i] & WAITED ? lane.wait[i] : 0;
			}
			if (next[cpu] === lane.n) {
				heap[0] = heap[heap.length - 1];
				heap.pop();
			}
			sink(0);
		}
	}

	// When records were lost on any CPU, put together where they touch: [{start, end}]. Then nothing is sure of a task that is not seen.
	spans() {
		const all = [], out = [];
		for (const [cpu, end] of this.gaps) {
			const lane = this.lanes[cpu], i = lane.at(end - 1);
			if (i >= 0 && lane.task[i] === GAP)
				all.push({start: lane.start[i], end: lane.start[i] + lane.length[i]});
		}
		for (const s of all.sort((a, b) => a.start - b.start)) {
			const last = out[out.length - 1];
			if (last && s.start <= last.end)
				last.end = Math.max(last.end, s.end);
			else
				out.push(s);
		}
		return out;
	}

	// Position in `mine` of the first slice of a task that ends after t; task.last if none does.
	after(task, t) {
		return upper(this.mine.end, t, task.first, task.last);
	}

	// What a task does at time t: {state, start, end, position}.
	stateAt(task, t) {
		const p = this.after(task, t), m = this.mine;
		if (p < task.last) {
			if (t >= m.start[p])
				return {state: "running", start: m.start[p], end: m.end[p], p};
			if (t >= m.start[p] - m.wait[p])
				return {state: "waiting", start: m.start[p] - m.wait[p], end: m.start[p], p};
		}
		if (task.open !== null && t >= task.open)
			return {state: "waiting", start: task.open, end: this.span, p: -1};
		if ((task.born !== null && t < task.born) || (task.ended !== null && t >= task.ended))
			return {state: "gone", start: t, end: t, p: -1};
		const gap = this.lostSpans.find((g) => t >= g.start && t < g.end);
		if (gap)
			return {state: "unknown", start: gap.start, end: gap.end, p: -1};
		const start = p > task.first ? m.end[p - 1] : task.born || 0;
		const end = p < task.last ? m.start[p] - m.wait[p] : task.open !== null ? task.open : task.ended !== null ? task.ended : this.span;
		return {state: "sleeping", start, end: Math.max(end, start), p: -1};
	}

	// On which CPUs' queues a wait was spent: [{cpu, start, end}]. Known is where it ended; moves are followed back from there.
	queues(task, start, end, lastCpu) {
		const out = [], moves = this.moves.get(task.index);
		let cpu = lastCpu, until = end;
		for (let i = moves ? upper(moves.time, end) - 1 : -1; i >= 0 && moves.time[i] > start; i--) {
			if (moves.time[i] < until)
				out.unshift({cpu, start: moves.time[i], end: until});
			until = moves.time[i];
			cpu = moves.value[i] >>> 16;
		}
		out.unshift({cpu, start, end: until});
		return out;
	}

	// Who ran instead: tasks by their time on those queues' CPUs. task -1: nothing is known of that time.
	antagonists(segments) {
		const found = new Map();
		for (const {cpu, start, end} of segments) {
			const lane = this.lanes[cpu];
			for (let i = Math.max(0, lane.at(start)); lane && i < lane.n && lane.start[i] < end; i++) {
				const ran = Math.min(end, lane.start[i] + lane.length[i]) - Math.max(start, lane.start[i]);
				if (ran <= 0)
					continue;
				const k = lane.task[i] === GAP ? -1 : lane.task[i], a = found.get(k) || {task: k, time: 0, slices: 0};
				a.time += ran;
				a.slices++;
				found.set(k, a);
			}
		}
		return [...found.values()].sort((a, b) => b.time - a.time);
	}

	// The CPU whose queue a task was on last when its wait never ended.
	lastCpu(task) {
		const moves = this.moves.get(task.index), p = task.last - 1;
		if (moves && moves.n && (p < task.first || moves.time[moves.n - 1] > this.mine.start[p]))
			return moves.value[moves.n - 1] & 0xffff;
		return p < task.first ? 0 : this.mine.cpu[p];
	}
}

// A time with three digits and its unit; as duration() in tracereport.py.
function duration(ns) {
	for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["\u00b5s", 1e3]])
		if (ns >= size) {
			const v = ns / size;
			return v.toFixed(v < 10 ? 2 : v < 100 ? 1 : 0) + "\u00a0" + unit;
		}
	return Math.round(ns) + "\u00a0ns";
}

// A point in time, in seconds with as many digits as the scale deserves.
function instant(ns, digits = 6) {
	return (ns / 1e9).toFixed(digits) + " s";
}

// An element with text in it; never markup.
function make(tag, text, className) {
	const e = document.createElement(tag);
	if (text !== undefined && text !== null)
		e.textContent = text;
	if (className)
		e.className = className;
	return e;
}

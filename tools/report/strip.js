// SPDX-License-Identifier: MIT
//
// The thin slices of one lane: a strip of pixels that is written directly and
// then laid over the lane in one piece. Thousands of rectangles of a pixel or
// two cost a canvas a second; a strip costs what its pixels cost.

// "#rrggbb" as a pixel of ImageData on a little-endian machine.
function ink(hex) {
	const n = parseInt(hex.slice(1), 16);
	return (0xff000000 | (n & 0xff) << 16 | (n & 0xff00) | n >>> 16) >>> 0;
}

// Two thirds of the way to white: stripes and dots.
function pale(hex) {
	return "#" + [1, 3, 5].map((i) => Math.round(parseInt(hex.slice(i, i + 2), 16) / 3 + 170).toString(16).padStart(2, "0")).join("");
}

// What a bar is filled with: a main ink, a second one, and where the second goes.
const PLAIN = 0, STRIPES = 1, DOTS = 2, SLANTED = 3, CROSSED = 4;

class Strip {
	constructor() {
		this.canvas = document.createElement("canvas");
	}

	resize(width, height) {
		this.width = this.canvas.width = Math.max(1, width);
		this.height = this.canvas.height = Math.max(1, height);
		this.g = this.canvas.getContext("2d");
		this.image = this.g.createImageData(this.width, this.height);
		this.pixels = new Uint32Array(this.image.data.buffer);
		this.used = false;
	}

	// Fill columns x0 to x1 - 1 (at least one) from y0 to y1 - 1.
	bar(x0, x1, y0, y1, {first, second, kind}) {
		x0 = Math.max(0, x0);
		x1 = Math.min(this.width, Math.max(x1, x0 + 1));
		y0 = Math.max(0, y0);
		y1 = Math.min(this.height, y1);
		for (let y = y0; y < y1; y++) {
			const row = y * this.width;
			if (kind === PLAIN || (kind === STRIPES && (y & 7) > 2)) {
				this.pixels.fill(first, row + x0, row + x1);
				continue;
			}
			for (let x = x0; x < x1; x++) {
				const other = kind === STRIPES || (kind === DOTS && (x & 7) < 4 && (y & 7) < 4) || (kind === SLANTED && (x + y & 7) < 3)
					|| (kind === CROSSED && ((x + y & 7) === 0 || (x - y & 7) === 0));
				this.pixels[row + x] = other ? second : first;
			}
		}
		this.used = true;
	}

	// Lay the strip over a canvas and empty it.
	flush(g, x, y, width, height) {
		if (!this.used)
			return;
		this.g.putImageData(this.image, 0, 0);
		g.drawImage(this.canvas, x, y, width, height);
		this.pixels.fill(0);
		this.used = false;
	}
}

// SPDX-License-Identifier: MIT
//
// Does with reports what people do, and writes down what the page then says.
// It judges nothing: tests/vm/cases_report.py compares with the trace.
// usage: check.js PLAN.json ANSWER.json; the plan names files and targets, the answer is
// {name: {complaints, model, ...}}.
"use strict";
const fs = require("fs");
const {launch, watched, open, painted} = require("./browser");

const model = (page) => page.evaluate(() => {
	const m = window.__model;
	return {runs: m.runs, view: m.view, painted: m.painted, selected: m.selected, frames: m.frames};
});
const view = (page) => page.evaluate(() => window.__model.view);
const selected = (page) => page.evaluate(() => window.__model.selected);
const place = (page, pane, lane, at) => page.evaluate((a) => window.__model.place(...a), [pane, lane, at]);

async function showView(page, t0, t1) {
	await page.evaluate((a) => window.__model.show(...a), [t0, t1]);
	await painted(page);
}

async function press(page, key) {
	await page.keyboard.press(key);
	await painted(page);
	return view(page);
}

// Everything that a page shows as text, and what of it became elements.
const dom = (page) => page.evaluate(() => ({
	text: document.body.innerText, title: document.title, script: document.scripts.length,
	foreign: document.querySelectorAll("img, iframe, object, embed, link, b b, script[src], a").length, pwned: window.pwned === undefined ? null : window.pwned,
	small: [...document.querySelectorAll("body *")].filter((e) => e.childNodes.length && parseFloat(getComputedStyle(e).fontSize) < 18).map((e) => e.tagName),
	wide: document.documentElement.scrollWidth - window.innerWidth,
}));

async function keysAndMouse(page, out) {
	out.all = await view(page);
	out.keys = {};
	for (const key of ["w", "+", "=", "d", "ArrowRight", "a", "ArrowLeft", "s", "-", "0"])
		out.keys[key] = await press(page, key);
	await page.keyboard.press("?");
	out.helpOpen = await page.evaluate(() => document.getElementById("help").open);
	await page.keyboard.press("?");
	out.helpClosed = await page.evaluate(() => !document.getElementById("help").open);
	// The wheel keeps the moment under the pointer where it is.
	const at = out.all.span * 0.3, p = await place(page, 0, "CPU 0", at);
	await page.mouse.move(p.x, p.y);
	await page.mouse.wheel(0, -200);
	await painted(page);
	out.wheelIn = await view(page);
	out.wheelMoved = (await place(page, 0, "CPU 0", at)).x - p.x;
	await page.mouse.down();
	await page.mouse.move(p.x - 60, p.y);
	await page.mouse.move(p.x - 120, p.y);
	await page.mouse.up();
	await painted(page);
	out.dragged = await view(page);
	out.dragMoved = (await place(page, 0, "CPU 0", at)).x - p.x;
	await page.mouse.wheel(0, 200);
	await painted(page);
	out.wheelOut = await view(page);
	for (const id of ["b-all", "b-in", "b-right", "b-left", "b-out"]) {
		await page.click("#" + id);
		await painted(page);
		out[id] = await view(page);
	}
	await press(page, "Escape");
	out.afterEscape = await selected(page);
}

async function targets(page, list, out) {
	out.targets = [];
	for (const t of list) {
		const around = t.end - t.start;
		await showView(page, t.start - around, t.end + around);
		const p = await place(page, 0, t.lane, (t.start + t.end) / 2);
		await page.mouse.move(p.x, p.y);
		const tip = await page.evaluate(() => document.getElementById("tip").textContent);
		await page.mouse.click(p.x, p.y);
		await painted(page);
		const said = {selected: await selected(page), tip, text: await page.evaluate(() => document.querySelector(".details").innerText)};
		await press(page, "Escape"); // the selection tints what it covers
		out.targets.push({...said, pixel: await page.evaluate((a) => window.__model.pixel(...a), [0, t.lane, t.start + around * 0.35])});
	}
}

const SCENARIOS = {
	async one(page, plan, out) {
		await keysAndMouse(page, out);
		await targets(page, plan.targets, out);
		await press(page, "l");
		out.worst = await selected(page);
		out.worstView = await view(page);
		out.next = [];
		for (const key of ["n", "n", "p"]) {
			await press(page, key);
			out.next.push(await selected(page));
		}
		await press(page, "f");
		out.fitted = await view(page);
		const before = (await model(page)).painted[0].curves, p = await place(page, 0, plan.label, 0);
		const left = await page.evaluate(() => document.querySelector(".lanes canvas").getBoundingClientRect().left);
		await page.mouse.click(left + 60, p.y);
		await painted(page);
		out.curves = [before, (await model(page)).painted[0].curves];
		const pdf = await page.pdf({preferCSSPageSize: true, printBackground: true});
		out.pdf = {size: pdf.length, pages: (pdf.toString("latin1").match(/\/Type \/Page\b/g) || []).length};
		out.printed = await page.evaluate(() => window.__model.printed);
	},
	async two(page, plan, out) {
		const p = await place(page, 1, "CPU 0", plan.at);
		await page.mouse.move(p.x, p.y);
		await page.mouse.wheel(0, -400);
		await painted(page);
		out.view = await view(page);
		out.offsets = [];
		for (const pane of [0, 1])
			out.offsets.push((await place(page, pane, "CPU 0", plan.at)).x
				- await page.evaluate((i) => document.querySelectorAll(".lanes canvas")[i].getBoundingClientRect().left, pane));
		out.painted = (await model(page)).painted;
		await press(page, "l");
		out.worst = await selected(page);
	},
	async hostile(page, plan, out) {
		out.details = [];
		for (const label of plan.labels) {
			const at = plan.times[label], p = await place(page, 0, label, at);
			await page.mouse.move(p.x, p.y);
			const tip = await page.evaluate(() => document.getElementById("tip").textContent);
			await page.mouse.click(p.x, p.y);
			out.details.push({tip, text: await page.evaluate(() => document.querySelector(".details").textContent)});
		}
	},
	async gap(page, plan, out) {
		await targets(page, plan.targets, out);
	},
	async moved(page, plan, out) {
		await targets(page, plan.targets, out);
	},
	async million(page, plan, out) {
		out.frames = [];
		const look = async () => {
			await painted(page);
			out.frames.push((await model(page)).painted[0]);
		};
		await look();
		for (const key of ["w", "d", "a", "w", "w", "d", "w", "w", "w", "w", "w", "s", "0"]) {
			await page.keyboard.press(key);
			await look();
		}
	},
};

async function main(plan) {
	const browser = await launch(), page = await watched(browser), answer = {};
	for (const [name, p] of Object.entries(plan)) {
		const out = answer[name] = {};
		await open(page, p.file, p.width, p.height);
		out.model = await model(page);
		out.dom = await dom(page);
		if (SCENARIOS[name])
			await SCENARIOS[name](page, p, out);
		out.after = await dom(page);
		out.complaints = page.complaints;
	}
	await browser.close();
	fs.writeFileSync(process.argv[3], JSON.stringify(answer));
}

main(JSON.parse(fs.readFileSync(process.argv[2], "utf8"))).then(() => process.exit(0), (e) => {
	console.error(e.stack);
	process.exit(1);
});

// SPDX-License-Identifier: MIT
//
// Opens a report in headless Chromium and remembers everything that a page
// must not do: complain on its console, throw, ask the network for something.
"use strict";
const fs = require("fs");
const path = require("path");
const {pathToFileURL} = require("url");
const {chromium} = require("playwright-core");

const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--force-color-profile=srgb"];

async function launch() {
	const found = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => p && fs.existsSync(p));
	if (!found)
		throw new Error("no browser: /usr/bin/chromium is missing; tools/setup --test installs it");
	return chromium.launch({executablePath: found, args: ARGS});
}

// A page that notes in page.complaints what reports must not do.
async function watched(browser) {
	const page = await (await browser.newContext()).newPage();
	page.complaints = [];
	page.on("console", (m) => page.complaints.push("console " + m.type() + ": " + m.text()));
	page.on("pageerror", (e) => page.complaints.push("exception: " + e.message));
	page.on("request", (r) => r.url() === page.report || page.complaints.push("request: " + r.url().slice(0, 200)));
	page.on("dialog", (d) => {
		page.complaints.push("dialog: " + d.message());
		d.dismiss();
	});
	return page;
}

// Show this report, painted at least once, with nothing noted yet.
async function open(page, file, width = 1600, height = 1000, wait = 60000) {
	page.complaints = [];
	page.report = pathToFileURL(path.resolve(file)).href;
	await page.setViewportSize({width, height});
	await page.goto(page.report, {timeout: wait});
	await painted(page, wait);
}

// Wait until nothing is left to be painted.
async function painted(page, wait = 60000) {
	await page.waitForFunction(() => window.__model !== undefined, null, {timeout: wait});
	await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

module.exports = {launch, watched, open, painted};

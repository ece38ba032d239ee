// SPDX-License-Identifier: MIT
//
// Opens a report in headless Chromium and remembers everything that a page
// must not do: complain on its console, throw, ask the network for something.
"use strict";
const path = require("path");
const {pathToFileURL} = require("url");
const {chromium} = require("playwright-core");

const ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
	"--disable-component-update", "--disable-sync", "--force-color-profile=srgb"];

async function launch() {
	return chromium.launch({executablePath: process.env.CHROMIUM || "/usr/bin/chromium", args: ARGS});
}

// A page with the report in it, painted at least once; page.complaints lists what went wrong.
async function open(browser, file, width = 1600, height = 1000, wait = 60000) {
	const context = await browser.newContext({viewport: {width, height}});
	const page = await context.newPage(), url = pathToFileURL(path.resolve(file)).href;
	page.complaints = [];
	page.on("console", (m) => page.complaints.push("console " + m.type() + ": " + m.text()));
	page.on("pageerror", (e) => page.complaints.push("exception: " + e.message));
	page.on("request", (r) => r.url() === url || page.complaints.push("request: " + r.url().slice(0, 200)));
	page.on("dialog", (d) => {
		page.complaints.push("dialog: " + d.message());
		d.dismiss();
	});
	await page.goto(url, {timeout: wait});
	await painted(page, wait);
	return page;
}

// Wait until nothing is left to be painted.
async function painted(page, wait = 60000) {
	await page.waitForFunction(() => window.__model !== undefined, null, {timeout: wait});
	await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

module.exports = {launch, open, painted};

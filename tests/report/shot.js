// SPDX-License-Identifier: MIT
//
// A picture of a report. usage: shot.js IN.html OUT.png WIDTH HEIGHT [ACTION...]
// ACTION: key=K presses a key; view=T0,T1 shows that time (s) of the recording;
// wait=PANE,NAME,T clicks that task's first wait of 50 ms or more from that time on.
"use strict";
const {launch, watched, open, painted} = require("./browser");

async function main([input, output, width, height, ...actions]) {
	const browser = await launch();
	const page = await watched(browser);
	await open(page, input, Number(width), Number(height));
	for (const action of actions) {
		const [what, value] = [action.slice(0, action.indexOf("=")), action.slice(action.indexOf("=") + 1)];
		if (what === "key")
			await page.keyboard.press(value);
		else if (what === "view") {
			const [t0, t1] = value.split(",").map((s) => Number(s) * 1e9);
			await page.evaluate(([a, b]) => window.__model.show(a, b), [t0, t1]);
		} else if (what === "wait") {
			const [pane, name, from] = value.split(",");
			const lane = await page.evaluate(([i, n]) => window.__model.runs[i].tasks.find((t) => t.name === n).label, [Number(pane), name]);
			const end = (await page.evaluate(() => window.__model.view)).t1;
			for (let at = Number(from) * 1e9, s = null; !s || s.state !== "waiting" || s.end - s.start < 5e7; at += 1e7) {
				if (at > end)
					throw new Error(lane + " does not wait in view");
				const p = await page.evaluate((x) => window.__model.place(...x), [Number(pane), lane, at]);
				await page.mouse.click(p.x, p.y);
				s = await page.evaluate(() => window.__model.selected);
			}
			await page.mouse.move(5, 5);
		} else
			throw new Error("no such action: " + action);
		await painted(page);
	}
	await page.screenshot({path: output});
	for (const text of page.complaints)
		console.error(text);
	await browser.close();
	return page.complaints.length ? 1 : 0;
}

main(process.argv.slice(2)).then((code) => process.exit(code), (e) => {
	console.error(e.message);
	process.exit(2);
});

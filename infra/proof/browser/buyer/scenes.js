// Answers the page's requests without the shop, by the scene of the sale in the
// address, so that an hour of the page takes a second. A scene is {first, then, claim, later};
// the second of each pair holds once window.changed is true. Times are seconds from the load.
(() => {
	const begun = window.begun = Date.now(), iso = (s) => new Date(begun + 1000 * s).toISOString(), real = fetch;
	const shown = (id, { state = "OPEN", opens = -3600, closes = 36000, ...more }) => {
		const now = (Date.now() - begun) / 1000;
		const is = state === "NOT_OPEN" && now >= opens ? "OPEN" : state;
		return { saleId: id, name: "S " + id, remaining: 7, seeded: 20, opensAt: iso(opens), closesAt: iso(closes), now: iso(now),
			state: now >= closes && is === "OPEN" ? "CLOSED" : is, ...more };
	};
	window.asked = { sale: 0, claim: 0 };
	window.fetch = async (path, options) => {
		const [, kind, id, mine] = /^\/(sales|groups)\/([^/]+)(\/orders\/me)?$/.exec(path) ?? [];
		if (!kind) return real(path, options);
		asked[mine ? "claim" : "sale"]++;
		const { first = {}, then = first, claim, later = claim } = scenes[location.pathname.slice(3)];
		const now = window.changed ? then : first, own = window.changed ? later : claim;
		if (!mine) return new Response(JSON.stringify(kind === "groups" ? { now: iso((Date.now() - begun) / 1000), sales: Object.keys(now).map((s) => shown(s, now[s])) } : shown(id, now)));
		return new Response(JSON.stringify(own ? { claimId: "C", orderId: "1", ...own, payBy: own.payBy && iso(own.payBy) } : { code: "order-not-found" }), { status: own ? 200 : 404 });
	};
	window.pass = async (seconds) => {
		for (let s = 0; s < seconds; s += 5) {
			clock.advance(1000 * Math.min(5, seconds - s));
			for (let n = 0; n < 6; n++) await new Promise((done) => { const c = new MessageChannel(); c.port1.onmessage = done; c.port2.postMessage(0); });
		}
		return [asked.sale, asked.claim];
	};
	// Holds back the nth answer from now on of what ends so, until release is called.
	window.hold = (end, nth) => {
		const answer = fetch;
		window.fetch = async (path, options) => {
			const a = await answer(path, options);
			if (path.endsWith(end) && --nth === 0) await new Promise((done) => (window.release = done));
			return a;
		};
	};
	window.look = (hidden) => {
		Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
		document.dispatchEvent(new Event("visibilitychange"));
	};
})()

// Replaces a page's clock and timers, before the page's own scripts run. Time passes as
// usual, and the test can move it forward: clock.advance(milliseconds) runs the timers
// that are due on the way, in order.
(wrong) => {
  const RealDate = Date;
  const realTimeout = setTimeout.bind(window);
  const realNow = performance.now.bind(performance);
  let ahead = 0; // of the real time, in milliseconds
  let next = 1;
  /** @type {Map<number, {due: number, every: number, run: () => void}>} */
  const timers = new Map();
  const now = () => realNow() + ahead;

  function runDue() {
    for (;;) {
      const due = [...timers].filter(([, t]) => t.due <= now()).sort(([, a], [, b]) => a.due - b.due)[0];
      if (!due) return;
      const [id, timer] = due;
      if (timer.every) timer.due += timer.every;
      else timers.delete(id);
      timer.run();
    }
  }
  function add(run, wait, every, args) {
    const id = next++;
    // As browsers do, a wait of more than 31 bits is none. Time passes in every other one.
    const ms = wait > 0x7fffffff || !(wait > 0) ? 0 : Math.max(Number(wait), 0.01);
    timers.set(id, { due: now() + ms, every: every ? Math.max(ms, 1) : 0, run: () => run(...args) });
    realTimeout(runDue, ms + 1);
    return id;
  }
  window.setTimeout = (run, wait, ...args) => add(run, wait, false, args);
  window.setInterval = (run, wait, ...args) => add(run, wait, true, args);
  window.clearTimeout = window.clearInterval = (id) => void timers.delete(id);
  performance.now = now;
  window.Date = class extends RealDate {
    constructor(...args) {
      if (args.length) super(...args);
      else super(RealDate.now() + ahead + wrong);
    }
    static now() {
      return RealDate.now() + ahead + wrong;
    }
  };
  window.clock = {
    advance(ms) {
      for (const end = now() + ms; now() < end; ) {
        const first = Math.min(end, ...[...timers.values()].map((t) => t.due));
        ahead += Math.max(first - now(), 0);
        runDue();
      }
    },
  };
  // Some real timers were started for a time that an advance has changed.
  const watch = () => (runDue(), realTimeout(watch, 50));
  watch();
}

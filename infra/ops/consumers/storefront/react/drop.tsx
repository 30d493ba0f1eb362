// A face of one's own over the client.
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { flashsale, type Act, type Drop, type Options } from "flashsale-storefront";
import { signIn, token } from "./session";

export function useDrop({ api, sale }: Pick<Options, "api" | "sale">) {
  const drop = useMemo(() => flashsale({ api, sale, token }), [api, sale]);
  useEffect(() => (drop.start(), drop.stop), [drop]);
  return [drop, useSyncExternalStore(drop.subscribe, () => drop.state, () => drop.initial)] as const;
}

const acts: Partial<Record<Act, [string, (drop: Drop) => unknown]>> = {
  buy: ["Order one", (drop) => drop.buy()],
  cancel: ["Cancel the order", (drop) => drop.cancel()],
  enter: ["Enter the draw", (drop) => drop.enter()],
  refresh: ["Try again", (drop) => drop.refresh()],
  signIn: ["Sign in", signIn],
};

export function OwnFace(props: { api: string; sale: string }) {
  const [drop, { phase, can, sale, pay, until, retrying }] = useDrop(props);
  return (
    <main>
      <h1>{sale?.name ?? "…"}</h1>
      <p role="status" id="line">{retrying ? "busy" : phase}</p>
      {until && <Left until={until} now={drop.now} />}
      {pay?.url && <a id="pay" href={pay.url}>Pay</a>}
      {can.map((act) => acts[act] && <button key={act} id={act} onClick={() => acts[act]?.[1](drop)}>{acts[act][0]}</button>)}
    </main>
  );
}

function Left({ until, now }: { until: number; now: () => number }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick((n) => n + 1), 1000);
    return () => clearInterval(timer);
  }, []);
  return <p role="timer">{Math.max(0, Math.ceil((until - now()) / 1000))} s</p>;
}

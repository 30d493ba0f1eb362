// A face of one's own: what can be done is in state.can, what is so in state.phase.
import { signIn, token } from "./session.js";

const { api, sale } = document.documentElement.dataset;
const { flashsale } = await import(api + "/assets/flashsale.js");
const drop = flashsale({ api, sale, token });

const acts = {
  buy: ["Order one", drop.buy],
  cancel: ["Cancel the order", drop.cancel],
  enter: ["Enter the draw", drop.enter],
  refresh: ["Try again", drop.refresh],
  signIn: ["Sign in", signIn],
  pay: ["Pay", () => location.assign(drop.state.pay.url)],
};
const lines = {
  loading: "Loading …", notOpen: "It opens in", open: "It is open.", sending: "Ordering …", accepted: "It is yours.", reserved: "It is yours.",
  confirmed: "It is yours.", unpaid: "It is yours if you pay within", paid: "Paid.", cancelled: "Cancelled.", expired: "Not paid in time.", soldOut: "Sold out.", closed: "It is over.",
};
const element = (id) => document.getElementById(id);

function draw() {
  const { phase, can, sale, retrying, code } = drop.state;
  element("name").textContent = sale?.name ?? "";
  element("line").textContent = retrying ? "The shop is busy. Trying again …" : lines[phase] ?? `${phase} ${code ?? ""}`;
  element("buttons").replaceChildren(...can.filter((act) => act in acts).map((act) => {
    const [text, onclick] = acts[act];
    return Object.assign(document.createElement("button"), { textContent: text, onclick, id: act });
  }));
  tick();
}

function tick() {
  const seconds = Math.ceil((drop.state.until - drop.now()) / 1000);
  element("left").textContent = seconds > 0 ? `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}` : "";
}

drop.subscribe(draw);
setInterval(tick, 1000);
drop.start();

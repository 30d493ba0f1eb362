#!/bin/bash
# A custom element with a property, a listener and a member that can only be read, drawn by React, Preact and Vue, and by React also over HTML that its
# own renderToString has made.
#
# One would guess: `onSignIn` in one framework hears the event that it hears in the next. hydrateRoot leaves an element as createRoot would have made it,
# and says so if it cannot. A property that cannot be written costs that property.
# It is so:
# - onSignIn hears SignIn in React, signin in Preact, and sign-in in Vue. No spelling of the three words hears the same event in all: signin is onsignin in
#   React and Preact, onSignin in Vue.
# - React's hydrateRoot sets neither the property nor the listener, without a word. The next time that the component is drawn, both are there.
# - If the member has a getter and no setter, React takes away the whole root, with everything else that it shows. Preact and Vue leave the rest.
#
# Needs Node 20 and npm.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
npm init -y >/dev/null
npm install --ignore-scripts --no-audit --no-fund --loglevel=error jsdom@26.1.0 preact@11.2.0 react@19.3.1 react-dom@19.3.1 vue@3.5.45 >/dev/null
cat >main.mjs <<'JS'
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html>", { pretendToBeVisual: true });
Object.assign(globalThis, { window, document: window.document });
for (const name of ["HTMLElement", "SVGElement", "MathMLElement", "customElements", "Node", "Element", "ShadowRoot", "navigator"]) globalThis[name] = window[name];
const React = await import("react");
const { createRoot, hydrateRoot } = await import("react-dom/client");
const { renderToString } = await import("react-dom/server");
const Preact = await import("preact");
const Vue = await import("vue");
console.warn = () => {};
console.error = () => {};

class Drop extends HTMLElement {
  #token;
  get token() { return this.#token; }
  set token(value) { this.#token = value; }
  get state() { return "read only"; }
}
customElements.define("x-drop", Drop);

const pause = () => new Promise((done) => setTimeout(done, 100));
const place = () => document.body.appendChild(document.createElement("div"));
const fire = (element) => ["signin", "sign-in", "SignIn", "Signin", "signIn"].forEach((type) => element.dispatchEvent(new window.Event(type, { bubbles: true })));
const draw = {
  React: (at, h, f = React.createElement) => createRoot(at, { onUncaughtError() {} }).render(h(f)),
  Preact: (at, h) => Preact.render(h(Preact.h), at),
  Vue: (at, h) => Vue.createApp({ render: () => h((tag, props, ...children) => Vue.h(tag, props, tag === "x-drop" ? undefined : children)) }).mount(at),
};
for (const [framework, render] of Object.entries(draw)) {
  for (const name of ["onSignIn", "onSignin", "onsignin"]) {
    const [at, heard] = [place(), []];
    render(at, (h) => h("x-drop", { [name]: (event) => heard.push(event.type) }));
    await pause();
    fire(at.firstChild);
    console.log(`${framework}, ${name}: hears ${heard.join(" ") || "nothing"}`);
  }
  const at = place();
  try {
    render(at, (h) => h("div", null, h("p", null, "the shop"), h("x-drop", { state: "x" })));
  } catch {} // Preact's and Vue's own may be thrown
  await pause();
  console.log(`${framework}, a member without a setter: the shop is ${at.textContent.includes("the shop") ? "shown" : "gone"}`);
}

const heard = [];
const App = ({ token }) => React.createElement("x-drop", { sale: "moutai", token, onsignin: () => heard.push("signin") });
const at = place();
at.innerHTML = renderToString(React.createElement(App, { token: () => 1 }));
const root = hydrateRoot(at, React.createElement(App, { token: () => 1 }), { onRecoverableError: () => console.log("React complains") });
const say = (when) => (fire(at.firstChild), console.log(`React, ${when}: token is ${typeof at.firstChild.token}, hears ${heard.splice(0).join(" ") || "nothing"}`));
await pause();
say("hydrated");
root.render(React.createElement(App, { token: () => 2 }));
await pause();
say("drawn again");
process.exit();
JS
npm ls --depth 0 | tail -n +2
node main.mjs | tee said
diff said - <<'SEEN'
React, onSignIn: hears SignIn
React, onSignin: hears Signin
React, onsignin: hears signin
React, a member without a setter: the shop is gone
Preact, onSignIn: hears signin
Preact, onSignin: hears signin
Preact, onsignin: hears signin
Preact, a member without a setter: the shop is shown
Vue, onSignIn: hears sign-in
Vue, onSignin: hears signin
Vue, onsignin: hears nothing
Vue, a member without a setter: the shop is shown
React, hydrated: token is undefined, hears nothing
React, drawn again: token is function, hears signin
SEEN

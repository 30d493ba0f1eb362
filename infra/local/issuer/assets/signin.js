// Shows what the person signs in for: its picture, its name and when it opens.

const chinese = /^zh/.test(navigator.languages.find((tag) => /^(zh|en)/.test(tag)) ?? "");
if (chinese) {
  document.documentElement.lang = "zh-CN";
  document.title = "登录";
  for (const e of document.querySelectorAll("[data-zh]")) e.textContent = e.dataset.zh;
}

const show = (id, text) => {
  const e = document.getElementById(id);
  e.hidden = !text;
  return e;
};

function count(left) {
  show("opens", left > 0);
  if (!(left > 0)) return;
  const seconds = Math.ceil(left / 1000);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].slice(seconds < 3600 ? 1 : 0);
  document.getElementById("countdown").textContent = parts.map((n) => String(n).padStart(2, "0")).join(":");
}

const { of } = document.querySelector("main").dataset; // "/sales/ID" or "/groups/ID"
if (of) {
  const answer = await (await fetch(of, { credentials: "omit", cache: "no-store" })).json();
  const sale = answer.sales?.[0] ?? answer;
  show("goods", sale.name).textContent = sale.name ?? "";
  if (sale.image) {
    const picture = document.createElement("img");
    picture.alt = "";
    picture.onerror = () => show("picture", "");
    picture.src = sale.image;
    show("picture", sale.image).replaceChildren(picture);
  }
  const ahead = Date.parse(answer.now) - performance.now();
  const tick = () => count(Date.parse(sale.opensAt) - ahead - performance.now());
  tick();
  setInterval(tick, 1000);
}

// Counts down to the opening, and speaks the person's language.

if (/^zh/.test(navigator.languages.find((tag) => /^(zh|en)/.test(tag)) ?? "")) {
  document.documentElement.lang = "zh-CN";
  document.title = "登录";
  for (const e of document.querySelectorAll("[data-zh]")) e.textContent = e.dataset.zh;
}

const countdown = document.getElementById("countdown");
const opens = performance.now() + 1000 * Number(countdown?.dataset.left);

function tick() {
  const seconds = Math.ceil((opens - performance.now()) / 1000);
  document.getElementById("opens").hidden = !(seconds > 0);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].slice(seconds < 3600 ? 1 : 0);
  countdown.textContent = parts.map((n) => String(n).padStart(2, "0")).join(":");
  if (seconds > 0) setTimeout(tick, 1000);
}
if (countdown) tick();

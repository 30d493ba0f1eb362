// Counts down until the order is no longer kept, and speaks the buyer's language.

const chinese = /^zh/.test(navigator.languages.find((tag) => /^(zh|en)/.test(tag)) ?? "");
const price = document.getElementById("price");
if (chinese) {
  document.documentElement.lang = "zh-CN";
  for (const e of document.querySelectorAll("[data-zh]")) e.textContent = e.dataset.zh;
}
if (price) {
  const plain = price.textContent;
  for (const e of [price, document.getElementById("act")]) e.textContent = e.textContent.replace(plain, () => money(...plain.split(" ")));
}

// money writes a sum as the buyer's page does. The amount has the digits of ISO 4217; browsers know others for some currencies.
function money(currency, amount) {
  const digits = (amount.split(".")[1] ?? "").length;
  const text = (currencyDisplay) => new Intl.NumberFormat(chinese ? "zh" : "en",
    { style: "currency", currency, currencyDisplay, minimumFractionDigits: digits, maximumFractionDigits: digits }).format(amount);
  if (/-[A-Z]{2}$/.test(navigator.language) && currency.startsWith(navigator.language.slice(-2))) return text("narrowSymbol");
  return text(/^([$¥]|F.?CFA)/.test(text("symbol")) ? "code" : "symbol");
}

const countdown = document.getElementById("countdown");
const until = performance.now() + 1000 * Number(countdown?.dataset.left);

function tick() {
  const seconds = Math.ceil((until - performance.now()) / 1000);
  if (seconds <= 0) {
    document.getElementById("panel").hidden = true;
    document.getElementById("over").hidden = false;
    return;
  }
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].slice(seconds < 3600 ? 1 : 0);
  countdown.textContent = parts.map((n) => String(n).padStart(2, "0")).join(":");
  if (seconds <= 60 && countdown.className === "") {
    const clock = document.getElementById("clock");
    clock.textContent = chinese ? clock.dataset.zhLast : clock.dataset.last;
    countdown.className = "last";
  }
  setTimeout(tick, 1000);
}
if (countdown) tick();

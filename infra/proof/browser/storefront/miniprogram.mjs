// Runs the page of the mini program without what a mini program lacks, and buys: node miniprogram.mjs PAGE API SALE TOKEN.
import http from "node:http";

const [, , path, api, sale, token] = process.argv;
const { page } = await import(path);
for (const name of ["fetch", "Headers", "Request", "Response", "URL", "URLSearchParams", "AbortController", "BroadcastChannel", "performance", "navigator", "crypto", "TextEncoder"]) {
  Object.defineProperty(globalThis, name, { value: undefined });
}

/** wx.request as it is documented: the names of an answer's headers are the server's, and text stays text. */
const wx = {
  request({ url, method, header, success, fail }) {
    const request = http.request(url, { method, headers: header, agent: false }, (answer) => {
      let data = "";
      answer.setEncoding("utf8").on("data", (part) => (data += part)).on("end", () => success({ statusCode: answer.statusCode, header: answer.headers, data }));
    });
    request.on("error", fail).end();
  },
  navigateTo: ({ url }) => console.log("navigate", url),
};

const seen = [];
const drop = page({ wx, api, token: async () => token });
drop.setData = (data) => {
  Object.assign(drop.data, data);
  if (seen.at(-1) !== data.phase) seen.push(data.phase);
};
const until = async (phase) => {
  for (let n = 0; drop.data.phase !== phase; n++) {
    if (n === 1000) throw new Error(`it never was ${phase}, but ${seen}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};
const press = (act) => {
  if (!drop.data.can.includes(act)) throw new Error(`${act} is not among ${drop.data.can}`);
  return drop.press({ currentTarget: { dataset: { act } } });
};
drop.onLoad({ sale });
drop.onShow();
await until("open");
press("buy");
await until("unpaid");
press("pay");
drop.onHide();
drop.onShow();
press("cancel");
await until("cancelled");
drop.onUnload();

// Tells the tests of said_test.go what the scripts and the front choose for each Accept-Language, or what is wrong
// with the words: node languages.mjs choices '{"de-AT": …}' | words
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";

const assets = new URL("../../assets/", import.meta.url);
// node takes .js for modules only where a package.json says so.
const folder = mkdtempSync(tmpdir() + "/languages-");
process.on("exit", () => rmSync(folder, { recursive: true }));
cpSync(assets, folder, { recursive: true });
writeFileSync(folder + "/package.json", '{"type": "module"}');
const script = (name) => import(folder + "/" + name);

const tell = { choices, words }[process.argv[2]];
console.log(JSON.stringify(await tell(process.argv[3])));

async function choices(told) {
  const { choose } = await script("language.js");
  const front = readFileSync(new URL("../../../../infra/front.yaml", import.meta.url), "utf8");
  const code = /FunctionCode: \|\n([\s\S]*?)\n {2}\w/.exec(front)[1];
  const handler = new Function(code + "\nreturn handler;")();
  const answer = { front: {}, script: {} };
  for (const accept of Object.keys(JSON.parse(told))) {
    const headers = accept ? { "accept-language": { value: accept } } : {};
    answer.front[accept] = handler({ request: { headers } }).headers["accept-language"].value;
    // A browser sends its navigator.languages in this order.
    const quality = (part) => (part.includes(";") ? Number(part.split("q=")[1]) : 1);
    const tags = accept.split(",").slice(0, 32).filter((part) => quality(part) > 0).sort((a, b) => quality(b) - quality(a));
    answer.script[accept] = choose(tags.map((part) => part.split(";")[0].trim())).language;
  }
  return answer;
}

async function words() {
  const wrong = [], first = {};
  const forms = (text) => (typeof text === "string" ? { text } : text);
  const values = (text) => [...new Set(text.match(/\{\d\}/g))].sort().join();
  for (const kind of ["words-", "draw-", "units-"]) {
    const { words: english } = await script(kind + "en.js");
    for (const file of readdirSync(assets).filter((name) => name.startsWith(kind))) {
      const { words } = await script(file);
      const tag = file.slice(kind.length, -3);
      if (kind === "words-") first[tag] = [words.page, words.loading];
      const want = new Intl.PluralRules(tag).resolvedOptions().pluralCategories.sort().join();
      if (Object.keys(words).join() !== Object.keys(english).join()) wrong.push(`${file} has other texts, or another order, than ${kind}en.js`);
      for (const [name, text] of Object.entries(words)) {
        const [model] = Object.values(forms(english[name] ?? ""));
        if (typeof text !== "string" && Object.keys(text).sort().join() !== want) wrong.push(`${file}: ${name} has the forms ${Object.keys(text)}, want ${want}`);
        for (const form of Object.values(forms(text))) {
          if (values(form) !== values(model) || !form.trim()) wrong.push(`${file}: ${name} is ${JSON.stringify(form)}, without the values of ${JSON.stringify(model)}`);
        }
      }
    }
  }
  return { first, wrong };
}

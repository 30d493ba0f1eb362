// readers.mjs CHECK ARGUMENT prints as JSON what other people's readers make of our documents.
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

const checks = {
  // What the AsyncAPI parser complains about, and each message's type in its schema.
  async messages(path) {
    const { Parser, fromFile } = await import("@asyncapi/parser");
    const { document, diagnostics } = await fromFile(new Parser(), path).parse();
    const types = document?.allMessages().all().map((m) => [m.id(), m.payload().json().schema.properties["detail-type"].const]);
    return { problems: diagnostics.filter((d) => d.severity < 2).map((d) => d.message), types: Object.fromEntries(types ?? []) };
  },
  // The same of a strict validator and of a generator of types.
  async schemas(folder) {
    const { default: Ajv } = await import("ajv/dist/2020.js");
    const { compileFromFile } = await import("json-schema-to-typescript");
    const problems = [], types = {};
    const names = await readdir(folder);
    const texts = await Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
    for (const name of names) {
      const ajv = new Ajv.default({ strict: true, validateFormats: false });
      names.forEach((other, i) => ajv.addSchema(JSON.parse(texts[i]), other));
      try {
        ajv.getSchema(name);
        const type = await compileFromFile(join(folder, name), { cwd: folder, format: false });
        const found = type.match(/"detail-type"\?: "(\w+)"/);
        if (found) types[name.replace(".json", "")] = found[1];
      } catch (error) {
        problems.push(`${name}: ${error.message}`);
      }
    }
    return { problems, types };
  },
  // A round of a chain, as drand's own client verifies it.
  async round(text) {
    const { url, hash, key, round } = JSON.parse(text);
    const { HttpCachingChain, HttpChainClient, fetchBeacon } = await import("drand-client");
    const options = { disableBeaconVerification: false, noCache: false, chainVerificationParams: { chainHash: hash, publicKey: key } };
    const client = new HttpChainClient(new HttpCachingChain(url, options), options);
    const info = await client.chain().info();
    return { genesis: info.genesis_time, period: info.period, ...(await fetchBeacon(client, round)) };
  },
};

console.log(JSON.stringify(await checks[process.argv[2]](process.argv[3])));

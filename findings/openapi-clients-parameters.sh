#!/bin/bash
# How six makers of TypeScript clients send what OpenAPI says of parameters: a header that is required, a part of the path, and in the query a
# list with explode: false, a list with pipes, a deepObject, and an object in the style that is preset (form, of which each member is a parameter).
#
# One would guess: what the document requires is an argument, what is sent has the document's style, and what a maker cannot do it says.
# It is so: of @hey-api/openapi-ts and oazapfts. Of the others, without a word from the maker or the compiler:
# - swagger-typescript-api knows no header, repeats each list (ids=a&ids=b), and both objects are [object Object].
# - orval has no header either without its option headers: true, and an object in the preset style is [object Object]; pipes are commas.
# - openapi-typescript-codegen and openapi-fetch (unless it is given a serializer) repeat each list and put brackets into each object.
# - orval, swagger-typescript-api and openapi-typescript-codegen leave a slash in a part of the path as it is: a/b c is two parts.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private":true}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error orval@8.38.0 swagger-typescript-api@13.13.0 @hey-api/openapi-ts@0.95.0 \
	openapi-typescript-codegen@0.31.0 oazapfts@7.5.0 @oazapfts/runtime@1.2.0 openapi-fetch@0.17.0 typescript@5.9.3 esbuild@0.28.2 >/dev/null
cat >api.json <<'EOF2'
{"openapi":"3.1.0","info":{"title":"shop","version":"1"},"servers":[{"url":"http://127.0.0.1:9"}],"paths":{"/sales/{saleId}/orders":{"get":{"operationId":"list","parameters":[
{"name":"saleId","in":"path","required":true,"schema":{"type":"string"}},
{"name":"Request-Key","in":"header","required":true,"schema":{"type":"string"}},
{"name":"ids","in":"query","explode":false,"schema":{"type":"array","items":{"type":"string"}}},
{"name":"piped","in":"query","style":"pipeDelimited","explode":false,"schema":{"type":"array","items":{"type":"string"}}},
{"name":"deep","in":"query","style":"deepObject","explode":true,"schema":{"type":"object","properties":{"state":{"type":"string"}}}},
{"name":"page","in":"query","schema":{"type":"object","properties":{"after":{"type":"string"},"limit":{"type":"integer"}}}}
],"responses":{"200":{"description":"ok","content":{"application/json":{"schema":{"type":"object"}}}}}}}}}
EOF2
cat >orval.config.cjs <<'EOF2'
const one = (folder, headers) => ({ input: "api.json", output: { target: folder + "/index.ts", client: "fetch", baseUrl: "http://127.0.0.1:9", headers } });
module.exports = { preset: one("orval"), headers: one("orval-headers", true) };
EOF2
export PATH="$folder/node_modules/.bin:$PATH"
orval --config orval.config.cjs >/dev/null
swagger-typescript-api generate -p api.json -o sta -n index.ts >/dev/null
openapi-ts -i api.json -o hey >/dev/null
openapi --input api.json --output codegen >/dev/null
oazapfts api.json oazapfts.ts >/dev/null
cat >try.ts <<'EOF2'
import createClient from "openapi-fetch";
import { DefaultService, OpenAPI } from "./codegen";
import { list as hey } from "./hey";
import { client } from "./hey/client.gen";
import { list as oazapfts } from "./oazapfts";
import { list as orval } from "./orval";
import { list as orvalHeaders } from "./orval-headers";
import { Api } from "./sta";

const saleId = "a/b c", key = "k-1", header = { "Request-Key": key };
const query = { ids: ["a", "b"], piped: ["a", "b"], deep: { state: "paid" }, page: { after: "x", limit: 5 } };
const base = "http://127.0.0.1:9";
client.setConfig({ baseUrl: base });
OpenAPI.BASE = base;
// Nothing is sent: what would be is printed, the query in the order of its names.
globalThis.fetch = async (to: any, init?: any) => {
  const request = to instanceof Request ? to : new Request(to, init), { pathname, search } = new URL(request.url);
  const sent = search.slice(1).split("&").map((part) => decodeURIComponent(part.replaceAll("+", " "))).sort().join(" & ");
  console.log(`  ${pathname.slice("/sales/".length, -"/orders".length)} | ${sent} | ${request.headers.get("Request-Key")}`);
  return new Response("{}", { headers: { "Content-Type": "application/json" } });
};
const clients: Record<string, () => unknown> = {
  "@hey-api/openapi-ts": () => hey({ path: { saleId }, headers: header, query }),
  oazapfts: () => oazapfts(saleId, key, query),
  "swagger-typescript-api": () => new Api({ baseUrl: base }).sales.list(saleId, query),
  orval: () => orval(saleId, query),
  "orval, headers: true": () => orvalHeaders(saleId, header, query),
  "openapi-typescript-codegen": () => DefaultService.list(saleId, key, query.ids, query.piped, query.deep, query.page),
  "openapi-fetch": () => (createClient<any>({ baseUrl: base }) as any).GET("/sales/{saleId}/orders", { params: { path: { saleId }, header, query } }),
};
(async () => {
  for (const [name, call] of Object.entries(clients)) {
    console.log(name);
    await call();
  }
})();
EOF2
tsc --noEmit --strict --skipLibCheck --target es2022 --module preserve --moduleResolution bundler --lib es2023,dom,dom.iterable try.ts && echo "the compiler finds nothing" | tee said
esbuild try.ts --bundle --platform=node --log-level=error --outfile=try.cjs
for name in @hey-api/openapi-ts oazapfts swagger-typescript-api orval openapi-typescript-codegen openapi-fetch; do
	echo "$name $(sed -n 's/.*"version": "\(.*\)".*/\1/p' "node_modules/$name/package.json" | head -1)"
done
node try.cjs | tee -a said
diff said - <<'EOF2'
the compiler finds nothing
@hey-api/openapi-ts
  a%2Fb%20c | after=x & deep[state]=paid & ids=a,b & limit=5 & piped=a|b | k-1
oazapfts
  a%2Fb%20c | after=x & deep[state]=paid & ids=a,b & limit=5 & piped=a|b | k-1
swagger-typescript-api
  a/b%20c | deep=[object Object] & ids=a & ids=b & page=[object Object] & piped=a & piped=b | null
orval
  a/b%20c | deep[state]=paid & ids=a,b & page=[object Object] & piped=a,b | null
orval, headers: true
  a/b%20c | deep[state]=paid & ids=a,b & page=[object Object] & piped=a,b | k-1
openapi-typescript-codegen
  a/b%20c | deep[state]=paid & ids=a & ids=b & page[after]=x & page[limit]=5 & piped=a & piped=b | k-1
openapi-fetch
  a%2Fb%20c | deep[state]=paid & ids=a & ids=b & page[after]=x & page[limit]=5 & piped=a & piped=b | k-1
EOF2

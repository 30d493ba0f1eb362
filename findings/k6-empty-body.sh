#!/bin/bash
# A POST without a body by k6: http.post(url, {}) and http.post(url, null).
# One would guess: both send no body and no content type, or {} is sent as JSON.
# It is so: {} is an empty form. No byte is sent, and the content type is application/x-www-form-urlencoded, which a server
# that asks for JSON answers with 415. With null there is no content type, and with the text "{}" there is none either.
#
# Needs Go 1.26 and the module proxy (k6 is built, a minute or two), and Node, whose server listens on this machine only.
set -euo pipefail
work=$(mktemp -d) && trap 'kill "$server" 2>/dev/null; rm -rf "$work"' EXIT && cd "$work"
cat >server.mjs <<'JS'
import { createServer } from "node:http";
import { writeFileSync } from "node:fs";
const server = createServer(async (request, response) => {
  let length = 0;
  for await (const part of request) length += part.length;
  response.end(`${length} bytes, ${request.headers["content-type"] ?? "no type"}`);
});
server.listen(0, "127.0.0.1", () => writeFileSync("port", `${server.address().port}`));
JS
cat >script.js <<'JS'
import http from "k6/http";
export default function () {
  for (const [name, body] of [["null", null], ["{}", {}], ["text", "{}"]]) console.log(`${name}: ${http.post(__ENV.URL, body).body}`);
}
JS
node server.mjs & server=$!
GOBIN="$work" GOFLAGS= CGO_ENABLED=0 go install go.k6.io/k6@v1.8.1 2>/dev/null
./k6 version
seen=$(./k6 run --quiet --summary-mode=disabled --no-usage-report --address "" --log-format raw -e URL="http://127.0.0.1:$(cat port)/" script.js 2>&1)
echo "$seen"
[ "$seen" = "null: 0 bytes, no type
{}: 0 bytes, application/x-www-form-urlencoded
text: 2 bytes, no type" ]

#!/bin/bash
# A webhook that is signed by two secrets, as while one changes, verified by the Standard Webhooks libraries of Go and npm: with both signatures in
# one line of webhook-signature, with a blank between them, and with a line each. Then by a secret of 32 bytes whose base64 is written without its `=`.
#
# One would guess: lines of a header are the same as one line with all their values (RFC 9110, 5.2), so either form is verified by either secret; and
# a secret that one library takes the others take, too.
# It is so: in one line every library finds both. Of two lines Go's reads the first alone, and refuses whoever has the other secret; npm's finds both,
# because Node joins the lines with a comma. The secret without `=` npm's takes and Go's refuses; a secret of 24 or 48 bytes has none.
#
# Needs Node 20 and npm, and Go 1.25 or newer with the module proxy.
set -euo pipefail
work=$(mktemp -d) && trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT && cd "$work"
echo '{"private":true,"type":"module"}' >package.json
npm install --ignore-scripts --no-audit --no-fund --loglevel=error standardwebhooks@1.1.1 >/dev/null
cat >go.mod <<'MOD'
module finding

go 1.25

require github.com/standard-webhooks/standard-webhooks/libraries v0.0.1
MOD
cat >run.mjs <<'JS'
import { Webhook } from "standardwebhooks";
import { createServer } from "node:http";
const [address, first, second, unpadded] = process.argv.slice(2);
const takes = (f) => { try { f(); return true; } catch { return false; } };
createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part)).on("end", () => {
    const by = [first, second].map((secret) => takes(() => new Webhook(secret).verify(body, request.headers)));
    response.end(`${by} ${takes(() => new Webhook(unpadded))}`);
  });
}).listen(0, "127.0.0.1", function () { console.log(this.address().port); });
JS
cat >main.go <<'GO'
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"time"

	webhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	first    = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	second   = "whsec_AQECAwQFBgcICQoLDA0ODxAREhMUFRYX"
	unpadded = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func main() {
	goes := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must(io.ReadAll(r.Body))
		var by []string
		for _, secret := range []string{first, second} {
			by = append(by, fmt.Sprint(must(webhooks.NewWebhook(secret)).Verify(body, r.Header) == nil))
		}
		_, err := webhooks.NewWebhook(unpadded)
		fmt.Fprint(w, strings.Join(by, ","), " ", err == nil)
	}))
	node := exec.Command("node", "run.mjs", "", first, second, unpadded)
	out := must(node.StdoutPipe())
	if err := node.Start(); err != nil {
		panic(err)
	}
	defer node.Process.Kill()
	port := strings.TrimSpace(must(bufio.NewReader(out).ReadString('\n')))
	for _, library := range []struct{ name, url string }{{"go", goes.URL}, {"npm", "http://127.0.0.1:" + port}} {
		for _, lines := range []int{1, 2} {
			now, body := time.Now(), []byte(`{"type":"paid"}`)
			r := must(http.NewRequest("POST", library.url, bytes.NewReader(body)))
			r.Header.Set("webhook-id", "msg_1")
			r.Header.Set("webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
			a, b := must(must(webhooks.NewWebhook(first)).Sign("msg_1", now, body)), must(must(webhooks.NewWebhook(second)).Sign("msg_1", now, body))
			r.Header["Webhook-Signature"] = []string{a + " " + b}
			if lines == 2 {
				r.Header["Webhook-Signature"] = []string{a, b}
			}
			answer := must(http.DefaultClient.Do(r))
			fmt.Println(library.name, lines, string(must(io.ReadAll(answer.Body))))
		}
	}
}
GO
go mod tidy >/dev/null 2>&1
npm ls --depth 0 | grep @
go list -m github.com/standard-webhooks/standard-webhooks/libraries
seen=$(go run .)
echo "$seen"
[ "$seen" = 'go 1 true,true false
go 2 true,false false
npm 1 true,true true
npm 2 true,true true' ]

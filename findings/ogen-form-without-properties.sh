#!/bin/bash
# An operation that takes JSON or a form (application/x-www-form-urlencoded) of any fields, "type: object", as a webhook does whose
# fields its sender chooses. One would guess: a Go client is generated that sends either, or ogen says what it cannot.
# It is so: ogen generates it without a word, and it does not compile. With one named property it does.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
cat >go.mod <<'MOD'
module example
go 1.26
MOD
go get github.com/ogen-go/ogen@v1.24.0 >/dev/null 2>&1
go get -tool github.com/ogen-go/ogen/cmd/ogen@v1.24.0 >/dev/null 2>&1
document() {
	cat <<YAML
openapi: 3.1.0
info: { title: t, version: "1" }
paths:
  /payments:
    post:
      operationId: payment
      requestBody:
        required: true
        content:
          application/json: { schema: { type: object } }
          application/x-www-form-urlencoded: { schema: $1 }
      responses: { "200": { description: taken } }
YAML
}
built() {
	rm -rf api && document "$1" >document.yaml
	go tool ogen -target api -package api document.yaml >/dev/null 2>&1 && echo "generated: $1"
	go mod tidy >/dev/null 2>&1
	if go build ./api 2>errors; then echo compiled; else grep -o 'declared and not used: request' errors; fi
}
seen="$(go list -m github.com/ogen-go/ogen)
$(built '{ type: object }')
$(built '{ type: object, properties: { sign: { type: string } } }')"
echo "$seen"
[ "$seen" = "github.com/ogen-go/ogen v1.24.0
generated: { type: object }
declared and not used: request
generated: { type: object, properties: { sign: { type: string } } }
compiled" ]

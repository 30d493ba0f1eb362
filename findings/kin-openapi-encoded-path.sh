#!/bin/bash
# A part of a path that is percent-encoded, as it must be: the user 李雷 of GET /buyers/{user}, where the document allows two
# characters of any script. One would guess: kin-openapi, which checks requests by an OpenAPI document, holds 李雷 against the
# schema. It is so: its router gorillamux hands on %E6%9D%8E%E9%9B%B7, and the pattern and the length are held against those 18
# characters, so that a valid request is refused. The query is decoded first, and so is the path by its other router.
set -euo pipefail
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT && cd "$work"
cat >go.mod <<'MOD'
module example
go 1.26
MOD
go get github.com/getkin/kin-openapi@v0.153.0 >/dev/null 2>&1
cat >main.go <<'GO'
package main

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/getkin/kin-openapi/routers/legacy"
)

const document = `{"openapi":"3.0.3","info":{"title":"t","version":"1"},"paths":{"/buyers/{user}":{"get":{
	"parameters":[{"name":"user","in":"path","required":true,"schema":{"$ref":"#/components/schemas/U"}},{"name":"user","in":"query","schema":{"$ref":"#/components/schemas/U"}}],
	"responses":{"200":{"description":"d"}}}}},"components":{"schemas":{"U":{"type":"string","pattern":"^\\p{L}{2}$"}}}}`

func main() {
	doc, err := openapi3.NewLoader().LoadFromData([]byte(document))
	if err != nil {
		panic(err)
	}
	mux, err := gorillamux.NewRouter(doc)
	if err != nil {
		panic(err)
	}
	old, err := legacy.NewRouter(doc)
	if err != nil {
		panic(err)
	}
	for _, user := range []string{"ab", "李雷"} {
		for _, router := range []routers.Router{mux, old} {
			for _, text := range []string{"/buyers/" + url.PathEscape(user), "/buyers/ab?user=" + url.QueryEscape(user)} {
				request, _ := http.NewRequest("GET", text, nil)
				route, variables, err := router.FindRoute(request)
				if err != nil {
					panic(err)
				}
				err = openapi3filter.ValidateRequest(request.Context(), &openapi3filter.RequestValidationInput{Request: request, PathParams: variables, Route: route})
				fmt.Printf("%T %s %v\n", router, text, err == nil)
			}
		}
	}
}
GO
go mod tidy >/dev/null 2>&1
go list -m github.com/getkin/kin-openapi
seen=$(go run .)
echo "$seen"
[ "$(grep -c true <<<"$seen") $(grep false <<<"$seen")" = "7 *gorillamux.Router /buyers/%E6%9D%8E%E9%9B%B7 false" ]

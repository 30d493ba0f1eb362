#!/bin/bash
# Constants of a JavaScript function, shortened by the Go library github.com/tdewolff/minify.
#
# One would guess: constants are still computed in the order of the source, because each may need those before it.
# It is so: a destructuring is moved in front of the constants before it, which saves a blank, unless it is seen to name one of them.
# A name in parentheses is not seen, so the function throws a ReferenceError; and calls are made in another order.
# With "let" for the destructuring the order stays.
#
# Needs Go 1.25 or newer, the module proxy, and node.
set -euo pipefail
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"
export GOFLAGS=-mod=mod CGO_ENABLED=0

cat >main.go <<'EOF2'
package main

import (
	"os"

	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/js"
)

func main() {
	if err := (&js.Minifier{}).Minify(minify.New(), os.Stdout, os.Stdin, nil); err != nil {
		panic(err)
	}
}
EOF2
{
	go mod init try
	go get github.com/tdewolff/minify/v2@v2.24.25
	go mod tidy
} >log 2>&1 || { cat log >&2; exit 1; }

try() {
	go run . <<<"$1" >short.js
	echo "$(node -e "$1") -> $(node -e "$(cat short.js)" 2>&1 | grep -m1 -E '^(ReferenceError: |[0-9,]+$)'): $(cat short.js)"
}
{
	go list -m github.com/tdewolff/minify/v2
	try 'function f(a) { const list = [a]; const { b } = (list)[0]; return b } console.log(f({ b: 1 }))'
	try 'function f(a) { const list = [a]; let { b } = (list)[0]; return b } console.log(f({ b: 1 }))'
	try 'let n = 0; const next = () => ++n; function f() { const one = next(); const [two] = [next()]; return [one, two] } console.log(f().join())'
} | tee /dev/stderr | diff - <(cat <<'EOF2'
github.com/tdewolff/minify/v2 v2.24.25
1 -> ReferenceError: Cannot access 't' before initialization: function f(e){const{b:n}=t[0],t=[e];return n}console.log(f({b:1}))
1 -> 1: function f(e){const t=[e];let{b:n}=t[0];return n}console.log(f({b:1}))
1,2 -> 2,1: let n=0;const next=()=>++n;function f(){const[t]=[next()],e=next();return[e,t]}console.log(f().join())
EOF2
)

#!/bin/bash
# May the answer of lambda.NewHandler(f).Invoke be kept?
#
# One would guess: yes. Invoke returns []byte, and nothing says that it belongs to anybody but the caller. Middleware that wraps a
# handler, and tests that gather answers, keep it while other events are handled.
# It is so: since v1.37.0 the answer is the inside of a buffer that Invoke has already given back to its handler's pool. The next event's
# answer is written over it: at once in one goroutine, and at any time where several events are in flight. lambda.Start(f) itself sends
# an answer before it gives the buffer back, and is not concerned. v1.36.0 made a slice for each answer.
#
# Needs Go 1.25 or newer, and the module proxy.
set -euo pipefail
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cd "$made"
export GOFLAGS=-mod=mod CGO_ENABLED=0

cat >main.go <<'EOF2'
package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/aws/aws-lambda-go/lambda"
)

func main() {
	runtime.GOMAXPROCS(1) // a pool has a place for each processor
	handler := lambda.NewHandler(func(name string) (string, error) { return "hello " + name, nil })
	first, err := handler.Invoke(context.Background(), []byte(`"first"`))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s -> ", first)
	if _, err := handler.Invoke(context.Background(), []byte(`"other"`)); err != nil {
		panic(err)
	}
	fmt.Printf("%s\n", first)
}
EOF2
for version in v1.36.0 v1.55.1; do
	rm -f go.mod go.sum
	{ go mod init try && go get "github.com/aws/aws-lambda-go@$version" && go mod tidy; } >log 2>&1 || { cat log >&2; exit 1; }
	echo "$version: $(go run . | tr -d '\n')"
done | tee /dev/stderr | diff - <(cat <<'EOF2'
v1.36.0: "hello first" -> "hello first"
v1.55.1: "hello first" -> "hello other"
EOF2
)

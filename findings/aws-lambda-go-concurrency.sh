#!/bin/bash
# What does one failed event cost a Go function that handles several at once, as on Lambda Managed Instances?
#
# One would guess: that event, or at worst the process, as without concurrency: the process ends at once and Lambda starts another.
# It is so: after a panic, and also after an answer that the Runtime API refuses because its time is up, all of the process's polls
# are given up at once, but it ends only when the slowest of its handlers has returned. Until then it runs and takes no event; beside
# a handler that never returns it stays so. And a value of AWS_LAMBDA_MAX_CONCURRENCY that is no whole number, as 4.0, means 1 without a word.
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
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
)

// handle is the function under test: an event is a number of seconds, or a panic.
func handle(ctx context.Context, event string) (string, error) {
	wait, err := time.ParseDuration(event)
	if err != nil {
		panic(event)
	}
	time.Sleep(wait)
	return "answered", nil
}

// try runs the function against a Runtime API that hands out the events, refuses the answer of "0s", and says what
// becomes of the process.
func try(concurrency string, events ...string) {
	var polls, handed, answered atomic.Int64
	queue := make(chan string, len(events))
	api := http.NewServeMux()
	api.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		polls.Add(1)
		defer polls.Add(-1)
		select {
		case event := <-queue:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprint(handed.Add(1), "-", event))
			w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
			_, _ = fmt.Fprintf(w, "%q", event)
		case <-r.Context().Done():
		}
	})
	api.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{what}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if strings.HasSuffix(r.PathValue("id"), "-0s") {
			w.WriteHeader(http.StatusGone) // its time was up
			return
		}
		if r.PathValue("what") == "response" {
			answered.Add(1)
		}
		w.WriteHeader(http.StatusAccepted)
	})
	s := httptest.NewServer(api)
	defer s.Close()
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(s.URL, "http://"), "AWS_LAMBDA_MAX_CONCURRENCY="+concurrency)
	if err := process.Start(); err != nil {
		panic(err)
	}
	defer process.Process.Kill()
	ended := make(chan struct{})
	go func() { _ = process.Wait(); close(ended) }()
	for _, event := range events {
		before := handed.Load()
		for queue <- event; handed.Load() == before; time.Sleep(10 * time.Millisecond) {
		}
	}
	state := func() string {
		select {
		case <-ended:
			return "ended"
		default:
			return fmt.Sprintf("runs with %d polls", polls.Load())
		}
	}
	time.Sleep(time.Second)
	fmt.Printf("concurrency %s, events %v: after 1 s it %s", concurrency, events, state())
	time.Sleep(4 * time.Second)
	fmt.Printf(", after 5 s it %s; answered %d\n", state(), answered.Load())
}

func main() {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		lambda.Start(handle)
	}
	try("4")
	try("4.0")
	try("1", "panic")
	try("4", "3s", "panic")
	try("4", "3s", "0s")
	try("4", "60s", "0s")
}
EOF2
{ go mod init try && go get github.com/aws/aws-lambda-go@v1.55.1 && go mod tidy; } >log 2>&1 || { cat log >&2; exit 1; }
{ go list -m github.com/aws/aws-lambda-go; go build -o try . && ./try; } | tee /dev/stderr | diff - <(cat <<'EOF2'
github.com/aws/aws-lambda-go v1.55.1
concurrency 4, events []: after 1 s it runs with 4 polls, after 5 s it runs with 4 polls; answered 0
concurrency 4.0, events []: after 1 s it runs with 1 polls, after 5 s it runs with 1 polls; answered 0
concurrency 1, events [panic]: after 1 s it ended, after 5 s it ended; answered 0
concurrency 4, events [3s panic]: after 1 s it runs with 0 polls, after 5 s it ended; answered 1
concurrency 4, events [3s 0s]: after 1 s it runs with 0 polls, after 5 s it ended; answered 1
concurrency 4, events [60s 0s]: after 1 s it runs with 0 polls, after 5 s it runs with 0 polls; answered 0
EOF2
)

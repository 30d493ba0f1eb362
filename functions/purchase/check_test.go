package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// One server acts as Lambda's runtime API, the table and the operator's check.
func TestAFunctionThatIsGivenACheckAsksItBeforeItSells(t *testing.T) {
	if os.Getenv("RUN_MAIN") != "" {
		main()
		return
	}
	event, err := os.ReadFile("../../events/purchase.json")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	table := fmt.Sprintf(`{"Item":{"pk":{"S":"SALE#moutai"},"sk":{"S":"SALE"},"name":{"S":""},"opensAt":{"N":"%d"},"closesAt":{"N":"%d"},
		"paused":{"BOOL":false},"changedAt":{"N":"0"},"seeded":{"N":"1"},"shards":{"N":"1"},"buckets":{"N":"1"},"version":{"N":"1"},"state":{"S":"OPEN"}}}`,
		now.Add(-time.Hour).UnixMilli(), now.Add(time.Hour).UnixMilli())
	first := make(chan string, 1)
	note := func(what string) {
		select {
		case first <- what:
		default:
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "1")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(time.Minute).UnixMilli()))
		_, _ = w.Write(event)
	})
	mux.HandleFunc("POST /2018-06-01/runtime/", func(_ http.ResponseWriter, r *http.Request) { note(r.URL.Path) })
	mux.HandleFunc("/check", func(w http.ResponseWriter, _ *http.Request) {
		note("check")
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetItem") {
			_, _ = w.Write([]byte(table))
			return
		}
		note(r.Header.Get("X-Amz-Target"))
		w.WriteHeader(http.StatusBadRequest)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAFunctionThatIsGivenACheckAsksItBeforeItSells$")
	cmd.Env = []string{
		"RUN_MAIN=1", "AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ENDPOINT_URL=" + server.URL, "AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(server.URL, "http://"),
		"TABLE_NAME=ledger", "ORDER_QUEUE_URL=http://127.0.0.1:1/queue", "ELIGIBILITY_URL=" + server.URL + "/check",
	}
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	select {
	case what := <-first:
		_ = cmd.Process.Kill()
		<-over
		if what != "check" {
			t.Errorf("%s comes first; log:\n%s", what, &log)
		}
	case err := <-over:
		t.Errorf("the function ended: %v; log:\n%s", err, &log)
	}
}

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// patience is how long one cold start may take before the run is aborted.
const patience = time.Minute

// start is one cold start: from before the process began until its first
// response had arrived.
type start struct{ wall, cpu time.Duration }

// measureInit alternately cold-starts the real purchase function and the bare one and
// returns the summary lines.
func measureInit(ctx context.Context, out io.Writer, root string, starts int) ([]string, error) {
	dir, err := os.MkdirTemp("", "flashsale-bench-")
	if err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	defer os.RemoveAll(dir)
	event, err := envelope(root, "purchase.json")
	if err != nil {
		return nil, err
	}
	sides := map[string]string{"handler": "./functions/purchase", "bare": "./infra/proof/bench/bare"}
	for side, pkg := range sides {
		sides[side] = filepath.Join(dir, side)
		if err := goBuild(ctx, root, pkg, sides[side], ""); err != nil {
			return nil, err
		}
	}
	aws := httptest.NewServer(endpoints{getSale: saleAnswer(false), "TransactWriteItems": done()})
	defer aws.Close()

	var walls, cpus []float64
	for range starts {
		took := map[string]start{}
		for _, side := range []string{"handler", "bare"} {
			s, err := coldStart(ctx, sides[side], aws.URL, event)
			if err != nil {
				return nil, fmt.Errorf("start %s: %w", side, err)
			}
			if _, err := fmt.Fprintf(out, "Benchmarkinit/%s\t1\t%d ns/op\t%d cpu-ns/op\n", side, s.wall.Nanoseconds(), s.cpu.Nanoseconds()); err != nil {
				return nil, fmt.Errorf("write result: %w", err)
			}
			took[side] = s
		}
		walls = append(walls, float64(took["handler"].wall)/float64(took["bare"].wall))
		cpus = append(cpus, float64(took["handler"].cpu)/float64(took["bare"].cpu))
	}
	sizes, err := zipSizes(ctx, root, dir)
	if err != nil {
		return nil, err
	}
	return append(sizes, fmt.Sprintf("ratio init wall=%.2f cpu=%.2f", median(walls), median(cpus))), nil
}

// coldStart runs a program as Lambda does until it has answered one event.
func coldStart(ctx context.Context, program, awsURL string, event []byte) (start, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answered := make(chan error, 1)
	runtime := httptest.NewServer(runtimeAPI(event, answered))
	defer runtime.Close()

	cmd := exec.CommandContext(ctx, program)
	cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + runtime.Listener.Addr().String(), "AWS_ENDPOINT_URL=" + awsURL,
		"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY=secret",
		"AWS_EC2_METADATA_DISABLED=true", "TABLE_NAME=" + table, "ORDER_QUEUE_URL=" + queueURL,
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return start{}, err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	var s start
	select {
	case err := <-answered:
		s.wall = time.Since(began)
		cancel() // kills it: it would ask for more events forever
		<-exited
		s.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		return s, err
	case err := <-exited:
		return s, fmt.Errorf("ended without an answer: %w", err)
	}
}

// runtimeAPI is the Lambda Runtime API with one event.
func runtimeAPI(event []byte, answered chan<- error) http.Handler {
	events := make(chan []byte, 1)
	events <- event
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, r *http.Request) {
		select {
		case event := <-events:
			h := w.Header()
			h.Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
			h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(patience).UnixMilli(), 10))
			h.Set("Content-Length", strconv.Itoa(len(event)))
			_, _ = w.Write(event) // fails only if the program has ended, which is detected
		case <-r.Context().Done():
		}
	})
	answer := func(err error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			body, readErr := io.ReadAll(r.Body)
			if err == nil && readErr == nil {
				c := benchCase{status: http.StatusAccepted}
				readErr = c.expect(body)
			}
			if err != nil {
				readErr = fmt.Errorf("%w: %.300s", err, body)
			}
			select {
			case answered <- readErr:
			default:
			}
			w.WriteHeader(http.StatusAccepted)
		}
	}
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", answer(nil))
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", answer(errFunction))
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", answer(errFunction))
	return mux
}

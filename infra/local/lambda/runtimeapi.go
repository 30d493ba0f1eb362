package lambda

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// latest is the only version of every function here.
const latest = "$LATEST"

// runtimeAPI is the Lambda Runtime API, version 2018-06-01, for one process.
func (p *process) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", p.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", func(w http.ResponseWriter, r *http.Request) {
		p.serveAnswer(w, r, "")
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", func(w http.ResponseWriter, r *http.Request) {
		p.serveAnswer(w, r, unhandled)
	})
	return mux
}

func (p *process) serveNext(w http.ResponseWriter, r *http.Request) {
	p.asking.Do(func() { close(p.asked) })
	var inv *invocation
	select {
	case inv = <-p.events:
	case <-r.Context().Done(): // the program ends: after a panic it asks no more, and its other events run on
		p.pool.retire(p)
		return
	}
	p.mu.Lock()
	p.current[inv.id] = inv
	p.mu.Unlock()

	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(inv.payload)))
	h.Set("Lambda-Runtime-Aws-Request-Id", inv.id)
	h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(inv.deadline.UnixMilli(), 10))
	h.Set("Lambda-Runtime-Invoked-Function-Arn", p.pool.service.arn(p.pool.fn.Name))
	h.Set("Lambda-Runtime-Trace-Id", newTraceID(time.Now()))
	// A failed write means that the program is ending, which watch will see.
	_, _ = w.Write(inv.payload)
}

// serveAnswer takes the result or the error of an invocation in progress. One that comes after the
// timeout is accepted, too, and nobody reads it: to a refusal the program would answer by ending.
func (p *process) serveAnswer(w http.ResponseWriter, r *http.Request, functionError string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxResponse+1))
	if err != nil {
		return // the program died while answering: no answer
	}
	out, tooLarge := outcome{payload: body, functionError: functionError}, len(body) > maxResponse
	if tooLarge {
		out = responseTooLarge()
		// The program reads the refusal only after it has written everything.
		_, _ = io.Copy(io.Discard, r.Body)
	}

	inv := p.claimAnswer(r.PathValue("id"))
	if inv == nil {
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "there is no such invocation in progress")
		return
	}
	if hook := p.pool.service.opts.AfterResponse; hook != nil && hook(p.pool.fn.Name, inv.id) {
		p.child.Kill()
		// The program must not see its connection closed before it dies.
		<-p.child.Done()
		panic(http.ErrAbortHandler)
	}
	inv.result <- out
	if tooLarge {
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", string(out.payload))
		return
	}
	accept(w)
}

// claimAnswer returns the invocation in progress that has this id, the first time only: an
// event is answered once.
func (p *process) claimAnswer(id string) *invocation {
	p.mu.Lock()
	defer p.mu.Unlock()
	inv := p.current[id]
	delete(p.current, id)
	return inv
}

func accept(w http.ResponseWriter) {
	writeJSON(w, http.StatusAccepted, map[string]string{"status": "OK"})
}

func refuse(w http.ResponseWriter, status int, errorType, message string) {
	writeJSON(w, status, map[string]string{"errorType": errorType, "errorMessage": message})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	// The bodies are maps and structs of strings, which always marshal.
	text, _ := json.Marshal(body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// sink receives the lines of all functions.
type sink struct {
	mu sync.Mutex
	to io.Writer
}

type stream struct {
	sink   *sink
	prefix string
}

// Write takes one whole line. A log that cannot be written does not stop a function.
func (s *stream) Write(line []byte) (int, error) {
	prefixed := append([]byte(s.prefix), line...)
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	_, _ = s.sink.to.Write(prefixed)
	return len(line), nil
}

// event writes a line of Lambda itself about an invocation.
func (s *stream) event(requestID, status, message string) {
	line, _ := json.Marshal(struct {
		Type      string `json:"type"`
		RequestID string `json:"requestId"`
		Status    string `json:"status"`
		Message   string `json:"message"`
	}{"platform", requestID, status, message})
	_, _ = s.Write(append(line, '\n'))
}

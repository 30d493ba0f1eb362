// Package sqs is Amazon SQS for one machine: standard queues behind the AWS JSON 1.0
// protocol, kept in memory. When the server ends its messages are gone: the table says
// which orders are still to be finalized, and ReconcileFunction sends their messages
// again. A message does not expire before that, whatever its queue's retention period.
//
// It has the operations, and their members, that the product, its tools and the local
// stack send, with the rules of Amazon SQS, and refuses everything else. It knows nothing of
// orders, functions or templates. In production the real service takes its place.
package sqs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	randv2 "math/rand/v2"
	"net/http"
	"strings"
	"sync"
)

// Server is a queue service. It is an http.Handler and safe for concurrent use.
type Server struct {
	ctx  context.Context // ends with Close
	stop context.CancelFunc

	mu       sync.Mutex
	queues   map[string]*queue // by name
	disorder Disorder
	chance   *randv2.Rand // of the disorder
}

func New(d Disorder) *Server {
	s := &Server{queues: map[string]*queue{}, disorder: d, chance: randv2.New(randv2.NewPCG(d.Seed, 0))}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close ends long polls. Later requests get an error. A second Close does nothing.
func (s *Server) Close() { s.stop() }

// with runs an operation on the queue named by a QueueUrl's last segment, under the lock.
func (s *Server) with(url string, operate func(q *queue) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.queues[url[strings.LastIndexByte(url, '/')+1:]]
	switch {
	case s.ctx.Err() != nil:
		return errClosed
	case q == nil:
		return errNoQueue
	}
	return operate(q)
}

const (
	contentType  = "application/x-amz-json-1.0"
	targetPrefix = "AmazonSQS."
	// Every byte of the largest message can take six bytes of JSON (\u0022).
	maxRequestBytes = 8 * maxMessageBytes
)

type request struct {
	ctx  context.Context
	body []byte
}

// decode reads a request's members. One that would have no effect is refused.
func decode[T any](r request) (in T, err error) {
	strict := json.NewDecoder(bytes.NewReader(r.body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&in); err != nil {
		return in, errUnsupported(err.Error())
	}
	return in, nil
}

type empty struct{}

var operations = map[string]func(*Server, request) (any, error){
	"GetQueueAttributes":      (*Server).getQueueAttributes,
	"SendMessage":             (*Server).sendMessage,
	"ReceiveMessage":          (*Server).receiveMessage,
	"DeleteMessage":           (*Server).deleteMessage,
	"DeleteMessageBatch":      (*Server).deleteMessageBatch,
	"ChangeMessageVisibility": (*Server).changeVisibility,
}

// ServeHTTP answers one request of the AWS JSON 1.0 protocol. Signatures are
// not checked.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("x-amzn-RequestId", rand.Text())
	target := r.Header.Get("X-Amz-Target")
	operate := operations[strings.TrimPrefix(target, targetPrefix)]
	if operate == nil || r.Method != http.MethodPost {
		writeFault(w, errUnsupported("the operation "+target))
		return
	}
	// Read to its end, a request's context ends with its connection: a poll whose caller has gone takes nothing.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		writeFault(w, errUnsupported(err.Error()))
		return
	}
	out, err := operate(s, request{r.Context(), body})
	var f *fault
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, out)
	case errors.As(err, &f):
		writeFault(w, f)
	default: // The caller has gone: no answer.
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	// A failed write means that the caller has gone and will retry.
	_ = json.NewEncoder(w).Encode(v)
}

func writeFault(w http.ResponseWriter, f *fault) {
	side := "Sender"
	if f.status >= http.StatusInternalServerError {
		side = "Receiver"
	}
	w.Header().Set("x-amzn-query-error", f.code+";"+side)
	writeJSON(w, f.status, map[string]string{"__type": f.shape, "message": f.message})
}

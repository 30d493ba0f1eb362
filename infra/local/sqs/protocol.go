package sqs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

const (
	contentType  = "application/x-amz-json-1.0"
	targetPrefix = "AmazonSQS."
	// Every byte of the largest message can take six bytes of JSON (\u0022).
	maxRequestBytes = 8 * maxMessageBytes
)

// A call is one request being processed.
type call struct {
	ctx     context.Context
	body    []byte
	baseURL string // prefix of queue URLs in the answer
}

// decode reads a request's members. An absent body is an empty request. A member that would
// have no effect is refused: AWS might answer it.
func decode[T any](c call) (T, error) {
	var in T
	if len(c.body) == 0 {
		return in, nil
	}
	if err := json.Unmarshal(c.body, &in); err != nil {
		return in, errSerialization(err)
	}
	strict := json.NewDecoder(bytes.NewReader(c.body))
	strict.DisallowUnknownFields()
	if err := strict.Decode(new(T)); err != nil {
		return in, errUnsupported("This member is not supported here: %v.", err)
	}
	return in, nil
}

// empty is the answer of operations without output.
type empty struct{}

type operation func(*Server, call) (any, error)

// operations are those that the product, its tools and tests, and the documents' commands
// use. Any other is refused as unknown.
var operations = map[string]operation{
	"CreateQueue":             (*Server).createQueue,
	"GetQueueUrl":             (*Server).getQueueURL,
	"GetQueueAttributes":      (*Server).getQueueAttributes,
	"PurgeQueue":              (*Server).purgeQueue,
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
	target, ok := strings.CutPrefix(r.Header.Get("X-Amz-Target"), targetPrefix)
	if !ok || r.Method != http.MethodPost {
		writeFault(w, newFault(http.StatusBadRequest, unmodelled+"UnknownOperationException", "UnknownOperationException",
			"This queue speaks the AWS JSON 1.0 protocol only: POST with the header X-Amz-Target: AmazonSQS.<operation>."))
		return
	}
	op := operations[target]
	if op == nil {
		writeFault(w, errUnknownOperation(target))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil {
		writeFault(w, errSerialization(err))
		return
	}
	out, err := op(s, call{ctx: r.Context(), body: body, baseURL: "http://" + r.Host})
	var f *fault
	switch {
	case err == nil:
		writeJSON(w, http.StatusOK, out)
	case errors.As(err, &f):
		writeFault(w, f)
	case r.Context().Err() != nil:
		// The caller has gone: no answer.
	default:
		writeFault(w, errInternal(err))
	}
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"__type":"InternalFailure"}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	// A failed write means that the caller has gone and will retry.
	_, _ = w.Write(body)
}

func writeFault(w http.ResponseWriter, f *fault) {
	side := "Sender"
	if !f.sender() {
		side = "Receiver"
	}
	w.Header().Set("x-amzn-query-error", f.code+";"+side)
	writeJSON(w, f.status, map[string]string{"__type": f.shape, "message": f.message})
}

// Package eventsourcetest has what the tests of the pollers and of the scheduler have in common: a
// function that they invoke, a service without a network, and virtual time.
package eventsourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// ErrDown is the error of a source that does not answer.
var ErrDown = errors.New("engine is down")

// Function records its batches and answers with what Answer says; without one, that nothing failed.
type Function struct {
	Answer func(context.Context, Batch) (response, functionError string, err error)

	mu            sync.Mutex
	batches       []Batch
	running, most int
}

// Batch is what the function was invoked with.
type Batch struct {
	At      time.Time
	Payload string
	// IDs are what a response names of a message or record: the id or the sequence number. Keys
	// are the records' partition keys.
	IDs, Keys []string
}

// Invoke implements eventsource.Invoker.
func (f *Function) Invoke(ctx context.Context, _ string, payload []byte) ([]byte, string, error) {
	var event struct {
		Records []struct {
			MessageID string `json:"messageId"`
			Dynamodb  struct {
				Keys           map[string]struct{ S string }
				SequenceNumber string
			} `json:"dynamodb"`
		}
	}
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, "", err
	}
	b := Batch{At: time.Now(), Payload: string(payload)}
	for _, r := range event.Records {
		b.IDs = append(b.IDs, r.MessageID+r.Dynamodb.SequenceNumber)
		b.Keys = append(b.Keys, r.Dynamodb.Keys["pk"].S)
	}
	f.mu.Lock()
	f.batches = append(f.batches, b)
	f.running++
	f.most = max(f.most, f.running)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.running--
		f.mu.Unlock()
	}()
	if f.Answer == nil {
		return []byte(Failing()), "", nil
	}
	response, functionError, err := f.Answer(ctx, b)
	return []byte(response), functionError, err
}

// Seen returns the batches in the order of their arrival.
func (f *Function) Seen() []Batch {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.batches)
}

// Sizes returns how many messages or records the batches have.
func (f *Function) Sizes() (all []int) {
	for _, b := range f.Seen() {
		all = append(all, len(b.IDs))
	}
	return all
}

// Keys returns the partition keys of all batches.
func (f *Function) Keys() (all []string) {
	for _, b := range f.Seen() {
		all = append(all, b.Keys...)
	}
	return all
}

// Most returns how many batches ran at once.
func (f *Function) Most() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.most
}

// Direct is a client's connection to a service in the same process.
type Direct struct{ http.Handler }

// RoundTrip implements http.RoundTripper.
func (d Direct) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// Failing is the response that reports these ids.
func Failing(ids ...string) string {
	var items []string
	for _, id := range ids {
		items = append(items, fmt.Sprintf(`{"itemIdentifier":%q}`, id))
	}
	return `{"batchItemFailures":[` + strings.Join(items, ",") + `]}`
}

// Run runs a poller until story returns, then stops it.
func Run(t *testing.T, run func(context.Context) error, story func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	story()
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v, want nil", err)
	}
}

// After lets virtual time pass.
func After(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

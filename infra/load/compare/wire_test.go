package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"flashsale/infra/local/engine"
)

const ping = "POST /ping HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\nhi"

// listen serves a handler and returns its address.
func listen(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func TestWiresAreReusedAndUsedConcurrently(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	w, err := dial(t.Context(), listen(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen[r.RemoteAddr]++
		mu.Unlock()
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, strings.Repeat("long ", 2000)) // in chunks
	}), 3)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for range 5 {
				if err := w.send([]byte(ping), http.StatusAccepted); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range seen {
		total += n
	}
	if total != 15 || len(seen) > 3 {
		t.Errorf("%d requests over %d connections, want 15 over at most 3", total, len(seen))
	}
}

func TestAWiresErrorNamesTheCause(t *testing.T) {
	t.Run("another status", func(t *testing.T) {
		w, err := dial(t.Context(), listen(t, func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "sold out", http.StatusConflict)
		}), 1)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		if err := w.send([]byte(ping), http.StatusAccepted); err == nil || !strings.Contains(err.Error(), "409") || !strings.Contains(err.Error(), "sold out") {
			t.Errorf("error %v, want the status and the body", err)
		}
		if err := w.send([]byte(ping), http.StatusAccepted); err == nil {
			t.Error("a connection that failed was used again")
		}
	})
	t.Run("nothing listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := l.Addr().String()
		l.Close()
		if w, err := dial(t.Context(), address, 1); err == nil {
			w.close()
			t.Error("no error")
		}
	})
	t.Run("the run is over", func(t *testing.T) {
		asked := make(chan struct{})
		address := listen(t, func(_ http.ResponseWriter, r *http.Request) {
			// The server notices that the client has left only after reading the whole request.
			_, _ = io.Copy(io.Discard, r.Body)
			close(asked)
			<-r.Context().Done()
		})
		ctx, cancel := context.WithCancel(t.Context())
		w, err := dial(ctx, address, 1)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		go func() { <-asked; cancel() }()
		if err := w.send([]byte(ping), http.StatusOK); err == nil {
			t.Error("no error")
		}
	})
}

// A recorded purchase is a whole HTTP request for one transaction, which was not sent to
// the engine.
func TestAPurchaseIsRecordedAndNotSent(t *testing.T) {
	var mu sync.Mutex
	var targets []string
	address := listen(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		targets = append(targets, r.Header.Get("X-Amz-Target"))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprint(w, `{"Item":{"pk":{"S":"x"}}}`)
	})
	// The engine has no sale: reading it must fail.
	_, err := record(t.Context(), engine.Client("http://"+address), "T", "a", []string{"alice"})
	if err == nil || len(targets) == 0 {
		t.Fatalf("a missing sale was sold or was not read: error %v, calls %v", err, targets)
	}
	r := &recorder{}
	request, err := http.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(`{"TransactItems":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Amz-Target", "DynamoDB_20120810.TransactWriteItems")
	if answer, err := r.Do(request); err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("the recorder answers %v, %v", answer, err)
	}
	if text := string(r.recorded); !strings.HasPrefix(text, "POST / HTTP/1.1\r\n") || !strings.HasSuffix(text, "\r\n\r\n"+`{"TransactItems":[]}`) {
		t.Errorf("recorded %q", text)
	}
}

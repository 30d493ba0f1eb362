package stack

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/local/guard"
)

// The buyer's page shows no button for such an address.
func TestAPaymentAddressThatNoBuyerSeesStopsTheStart(t *testing.T) {
	for _, address := range []string{"http://shop.example/pay", "http://127.0.0.1:8080/pay", "shop.example/pay"} {
		s, err := Start(t.Context(), Options{Root: "../../..", Data: t.TempDir(), Parameters: map[string]string{"PaymentUrl": address}})
		if err == nil {
			t.Fatalf("%s: it started: %v", address, s.Stop())
		}
		for _, want := range []string{"Parameters.PaymentUrl", address, "must be a URL that begins with https://, or a path on the page's own origin"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q in it", address, err, want)
			}
		}
	}
}

// pipes is a listener in memory.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.TCPAddr{} }

func TestAStackStopsInTimeAndCutsOffRequestsThatLastLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Stack{o: Options{Log: slog.New(slog.DiscardHandler)}, stopWork: func() {}, Failed: make(chan error, 1)}
		l := make(pipes)
		s.serve(l, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), guard.Rules{})
		client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			near, far := net.Pipe()
			l <- far
			return near, nil
		}}}
		cutOff := make(chan error)
		go func() {
			_, err := client.Get("http://127.0.0.1/")
			cutOff <- err
		}()
		synctest.Wait()
		began := time.Now()
		if err := s.Stop(); err != nil {
			t.Errorf("it stopped with %v", err)
		}
		if took := time.Since(began); took != stopLimit {
			t.Errorf("it stopped after %v", took)
		}
		if err := <-cutOff; err == nil {
			t.Error("the request was answered")
		}
	})
}

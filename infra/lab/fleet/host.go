package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"flashsale/infra/lab/shop"
)

const (
	// openLimit bounds how long a strategy may take to connect.
	openLimit = 20 * time.Second
	// readLimit keeps a connection that sends nothing from staying for ever.
	readLimit = 10 * time.Second
)

// Host is an application server's whole life: it opens the strategy that its
// environment names, serves buyers and returns when it is asked to stop.
func Host(lookup func(name string) (shop.Spec, bool), out io.Writer) error {
	c, err := readConfig(os.Getenv(variable))
	if err != nil {
		return err
	}
	spec, ok := lookup(c.Strategy)
	if !ok {
		return fmt.Errorf("host strategy: there is no %q", c.Strategy)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	i := newInterruptions(c)
	opening, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	strategy, err := spec.Open(opening, shop.Host{
		Place: c.Place, Server: c.Number, Servers: c.Servers, CheckUser: i.checkUser, At: i.at,
	})
	if err != nil {
		return fmt.Errorf("open %s: %w", c.Strategy, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	fmt.Fprintf(out, "%s%s\n", listening, l.Addr())
	return errors.Join(serve(ctx, l, handler(strategy, i)), closeIt(strategy))
}

func serve(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: readLimit}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		return server.Close()
	}
}

func closeIt(strategy shop.Strategy) error {
	if c, ok := strategy.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// handler answers POST /buy?user=… with an outcome and GET /backlog with a number,
// or 500 with what went wrong.
func handler(strategy shop.Strategy, i *interruptions) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /buy", func(w http.ResponseWriter, r *http.Request) {
		outcome, err := strategy.Buy(r.Context(), r.URL.Query().Get("user"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		// The buyer may be gone, which is the buyer's affair.
		_, _ = io.WriteString(w, string(outcome))
	})
	mux.HandleFunc("GET /backlog", func(w http.ResponseWriter, r *http.Request) {
		waiting := 0
		if b, ok := strategy.(shop.Backlogged); ok {
			var err error
			if waiting, err = b.Backlog(r.Context()); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		fmt.Fprint(w, waiting)
	})
	return mux
}

package fleet

import (
	"context"
	"encoding/json"
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

// openLimit bounds how long a strategy may take to connect.
const openLimit = 20 * time.Second

// HostIfAsked ends the process after an application server's whole life, if it was started as one: it opens the
// strategy that its environment names, serves buyers and returns when it is asked to stop.
func HostIfAsked(lookup func(name string) (shop.Spec, bool)) {
	if os.Getenv(variable) == "" {
		return
	}
	if err := host(lookup); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func host(lookup func(name string) (shop.Spec, bool)) error {
	var c config
	if err := json.Unmarshal([]byte(os.Getenv(variable)), &c); err != nil {
		return fmt.Errorf("read configuration: %w", err)
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
	fmt.Printf("%s%s\n", listening, l.Addr())
	server := &http.Server{Handler: handler(strategy), ReadHeaderTimeout: readLimit}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err = server.Serve(l); errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	if c, ok := strategy.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// handler answers POST /buy?user=… with an outcome and GET /backlog with a number,
// or 500 with what went wrong.
func handler(strategy shop.Strategy) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any, err error) {
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, value) // the buyer may be gone, which is the buyer's affair
	}
	mux.HandleFunc("POST /buy", func(w http.ResponseWriter, r *http.Request) {
		outcome, err := strategy.Buy(r.Context(), r.URL.Query().Get("user"))
		answer(w, outcome, err)
	})
	mux.HandleFunc("GET /backlog", func(w http.ResponseWriter, r *http.Request) {
		waiting, err := 0, error(nil)
		if b, ok := strategy.(shop.Backlogged); ok {
			waiting, err = b.Backlog(r.Context())
		}
		answer(w, waiting, err)
	})
	return mux
}

package fleet

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"flashsale/infra/lab/shop"
)

// control is the lab as an application server sees it: the user service, and
// the one to ask at a stop.
type control struct {
	url    string
	server *http.Server
}

func startControl(o Options) (*control, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /users/{user}", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(o.CheckTime(r.PathValue("user"))):
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("GET /at", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		number, err := strconv.Atoi(q.Get("server"))
		pass, err2 := strconv.Atoi(q.Get("pass"))
		if errors.Join(err, err2) != nil {
			http.Error(w, "no such stop", http.StatusBadRequest)
			return
		}
		o.OnStop(number, Stop{shop.Point(q.Get("point")), pass})
	})
	c := &control{url: "http://" + l.Addr().String(), server: &http.Server{Handler: mux, ReadHeaderTimeout: readLimit}}
	go func() { _ = c.server.Serve(l) }() // ends with stop
	return c, nil
}

func (c *control) stop() { _ = c.server.Close() }

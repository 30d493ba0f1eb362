package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// wires are connections to one server over which both sides send prepared requests: the
// client's cost is small and the same for the engine and the stack.
type wires struct {
	idle chan *wire
	all  []*wire
	stop func() bool
}

// wire is one connection.
type wire struct {
	net.Conn
	r *bufio.Reader
}

// wireLimit bounds a measurement, in case the server does not answer.
const wireLimit = time.Minute

// dial opens n connections. They are closed by close or at the end of ctx.
func dial(ctx context.Context, address string, n int) (*wires, error) {
	w := &wires{idle: make(chan *wire, n)}
	for range n {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			w.close()
			return nil, fmt.Errorf("connect: %w", err)
		}
		one := &wire{c, bufio.NewReader(c)}
		w.all = append(w.all, one)
		w.idle <- one
		if err := c.SetDeadline(time.Now().Add(wireLimit)); err != nil {
			w.close()
			return nil, fmt.Errorf("connect: %w", err)
		}
	}
	w.stop = context.AfterFunc(ctx, w.hangUp)
	return w, nil
}

func (w *wires) hangUp() {
	for _, one := range w.all {
		_ = one.Close()
	}
}

func (w *wires) close() {
	if w.stop != nil {
		w.stop()
	}
	w.hangUp()
}

// send writes one request, reads its answer and fails unless it has the wanted status. It
// does not reuse a connection that failed.
func (w *wires) send(request []byte, want int) error {
	var one *wire
	select {
	case one = <-w.idle:
	default:
		return errors.New("every connection is in use or has failed")
	}
	if _, err := one.Write(request); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
	response, err := http.ReadResponse(one.r, nil)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if response.StatusCode != want {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 200))
		return fmt.Errorf("answered %d %q", response.StatusCode, text)
	}
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	w.idle <- one
	return nil
}

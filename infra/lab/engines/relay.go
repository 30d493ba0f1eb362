package engines

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// relay is a TCP address that leads to another one, which can change.
type relay struct {
	listener net.Listener
	work     sync.WaitGroup

	mu     sync.Mutex
	target string
	open   map[net.Conn]bool
}

func newRelay(target string) (*relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	r := &relay{listener: l, target: target, open: map[net.Conn]bool{}}
	r.work.Go(r.accept)
	return r, nil
}

func (r *relay) address() string { return r.listener.Addr().String() }

// lead changes the target, and cuts every connection that is open; "" leads
// nowhere.
func (r *relay) lead(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.target == target {
		return
	}
	r.target = target
	for c := range r.open {
		_ = c.Close()
	}
}

func (r *relay) close() {
	_ = r.listener.Close()
	r.lead("")
	r.work.Wait()
}

func (r *relay) accept() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.work.Go(func() { r.carry(from) })
	}
}

func (r *relay) carry(from net.Conn) {
	defer from.Close()
	r.mu.Lock()
	target := r.target
	r.mu.Unlock()
	to, err := net.Dial("tcp", target)
	if target == "" || err != nil {
		return
	}
	defer to.Close()
	if !r.keep(target, from, to) {
		return
	}
	defer r.drop(from, to)
	done := make(chan struct{}, 2)
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		r.work.Go(func() {
			_, _ = io.Copy(way[0], way[1])
			done <- struct{}{}
		})
	}
	<-done
}

// keep remembers a connection's two ends, unless the target has changed.
func (r *relay) keep(target string, ends ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range ends {
		r.open[c] = true
	}
	return r.target == target
}

func (r *relay) drop(ends ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range ends {
		delete(r.open, c)
	}
}

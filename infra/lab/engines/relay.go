package engines

import (
	"fmt"
	"io"
	"net"
	"sync"
)

// Relay is a TCP address that leads to another one, which can change.
type Relay struct {
	listener net.Listener
	lose     func() bool
	work     sync.WaitGroup

	mu     sync.Mutex
	target string
	open   map[net.Conn]bool
}

// NewRelay is a relay to a target. If lose says so of a part of an answer, the connection
// breaks instead of carrying it; nil loses nothing.
func NewRelay(target string, lose func() bool) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	r := &Relay{listener: l, lose: lose, target: target, open: map[net.Conn]bool{}}
	r.work.Go(r.accept)
	return r, nil
}

func (r *Relay) Address() string { return r.listener.Addr().String() }

// lead changes the target, and cuts every connection that is open; "" leads
// nowhere.
func (r *Relay) lead(target string) {
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

func (r *Relay) Close() {
	_ = r.listener.Close()
	r.lead("")
	r.work.Wait()
}

func (r *Relay) accept() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.work.Go(func() { r.carry(from) })
	}
}

func (r *Relay) carry(from net.Conn) {
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
	var answers io.Reader = to
	if r.lose != nil {
		answers = lossy{to, r.lose}
	}
	for _, way := range []struct {
		to   io.Writer
		from io.Reader
	}{{to, from}, {from, answers}} {
		r.work.Go(func() {
			_, _ = io.Copy(way.to, way.from)
			done <- struct{}{}
		})
	}
	<-done
}

// lossy ends when a part of what it reads is lost.
type lossy struct {
	io.Reader
	lose func() bool
}

func (l lossy) Read(part []byte) (int, error) {
	n, err := l.Reader.Read(part)
	if n > 0 && l.lose() {
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

// keep remembers a connection's two ends, unless the target has changed.
func (r *Relay) keep(target string, ends ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range ends {
		r.open[c] = true
	}
	return r.target == target
}

func (r *Relay) drop(ends ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range ends {
		delete(r.open, c)
	}
}

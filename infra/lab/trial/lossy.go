package trial

import (
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"flashsale/infra/lab/shop"
)

// Of so many answers after it was told to, a lossy line cuts every fifth.
const (
	lossyAnswers = 40
	lossyEvery   = 5
)

// lossy lies between the application servers and their engines. An answer that it
// loses has been given: the engine has done what it was asked.
type lossy struct {
	answers atomic.Int64 // how many are still to be counted
	lines   []net.Listener
	work    sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]bool // nil when closed
}

// between changes the place's addresses to lines of its own. Of our own stack it is the
// API whose answers are lost.
func between(p shop.Place) (shop.Place, *lossy, error) {
	l := &lossy{open: map[net.Conn]bool{}}
	lead := func(address string) (string, error) {
		line, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", fmt.Errorf("listen: %w", err)
		}
		l.lines = append(l.lines, line)
		l.work.Go(func() { l.serve(line, address) })
		return line.Addr().String(), nil
	}
	var err error
	redis := p.Redis
	p.Redis = nil
	for _, address := range redis {
		var led string
		if led, err = lead(address); err != nil {
			break
		}
		p.Redis = append(p.Redis, led)
	}
	if p.MariaDB != "" && err == nil {
		var c *mysql.Config
		if c, err = mysql.ParseDSN(p.MariaDB); err == nil {
			c.Addr, err = lead(c.Addr)
			p.MariaDB = c.FormatDSN()
		}
	}
	for _, address := range []*string{&p.API, &p.DynamoDB} {
		if *address == "" || err != nil || address == &p.DynamoDB && p.API != "" {
			continue
		}
		var u *url.URL
		if u, err = url.Parse(*address); err == nil {
			u.Host, err = lead(u.Host)
			*address = u.String()
		}
	}
	if err != nil {
		l.close()
	}
	return p, l, err
}

// begin loses answers from now on.
func (l *lossy) begin() { l.answers.Store(lossyAnswers) }

func (l *lossy) serve(line net.Listener, address string) {
	for {
		client, err := line.Accept()
		if err != nil {
			return
		}
		engine, err := net.Dial("tcp", address)
		if err != nil {
			_ = client.Close()
			continue
		}
		l.mu.Lock()
		closed := l.open == nil
		if !closed {
			l.open[client], l.open[engine] = true, true
		}
		l.mu.Unlock()
		if closed {
			_, _ = client.Close(), engine.Close()
			return
		}
		l.work.Go(func() { l.carry(client, engine, func() bool { return false }) })
		l.work.Go(func() {
			l.carry(engine, client, func() bool {
				n := l.answers.Add(-1)
				return n >= 0 && n%lossyEvery == 0
			})
		})
	}
}

// carry copies until an end closes or lose says that what came is lost.
func (l *lossy) carry(from, to net.Conn, lose func() bool) {
	defer func() {
		_, _ = from.Close(), to.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, from)
		delete(l.open, to)
	}()
	part := make([]byte, 64*1024)
	for {
		n, err := from.Read(part)
		if n > 0 {
			if lose() {
				return
			}
			if _, err := to.Write(part[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *lossy) close() {
	for _, line := range l.lines {
		_ = line.Close()
	}
	l.mu.Lock()
	for c := range l.open {
		_ = c.Close()
	}
	l.open = nil
	l.mu.Unlock()
	l.work.Wait()
}

package trial

import (
	"net/url"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"flashsale/infra/lab/engines"
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
	lines   []*engines.Relay
}

// between changes the place's addresses to lines of its own.
func between(p shop.Place) (shop.Place, *lossy, error) {
	l := &lossy{}
	lead := func(address string) (string, error) {
		line, err := engines.NewRelay(address, l.loses)
		if err != nil {
			return "", err
		}
		l.lines = append(l.lines, line)
		return line.Address(), nil
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
	for _, engine := range []*string{&p.DynamoDB, &p.Postgres} {
		if *engine == "" || err != nil {
			continue
		}
		var u *url.URL
		if u, err = url.Parse(*engine); err == nil {
			u.Host, err = lead(u.Host)
			*engine = u.String()
		}
	}
	if err != nil {
		l.close()
	}
	return p, l, err
}

// begin loses answers from now on.
func (l *lossy) begin() { l.answers.Store(lossyAnswers) }

func (l *lossy) loses() bool {
	n := l.answers.Add(-1)
	return n >= 0 && n%lossyEvery == 0
}

func (l *lossy) close() {
	for _, line := range l.lines {
		line.Close()
	}
}

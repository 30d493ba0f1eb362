package trial

import (
	"errors"
	"regexp"
	"sync/atomic"

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

var addresses = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// between changes the place's addresses to lines of its own.
func between(p shop.Place) (shop.Place, *lossy, error) {
	l := &lossy{}
	var failed []error
	lead := func(text string) string {
		return addresses.ReplaceAllStringFunc(text, func(address string) string {
			line, err := engines.NewRelay(address, l.loses)
			if err != nil {
				failed = append(failed, err)
				return address
			}
			l.lines = append(l.lines, line)
			return line.Address()
		})
	}
	var redis []string
	for _, address := range p.Redis {
		redis = append(redis, lead(address))
	}
	p.Redis, p.MariaDB, p.Postgres, p.DynamoDB = redis, lead(p.MariaDB), lead(p.Postgres), lead(p.DynamoDB)
	err := errors.Join(failed...)
	if err != nil {
		l.close()
	}
	return p, l, err
}

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

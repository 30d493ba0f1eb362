package stack

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"flashsale/infra/faults"
	"flashsale/infra/local/sqs"
)

// connectionsKept is how many idle connections a proxy keeps to an engine: as many as
// there may be processes; with fewer the proxy would be the bottleneck.
const connectionsKept = 256

// readFaults reads Options.Faults.
func (s *Stack) readFaults() error {
	c, err := faults.Parse(s.o.Faults)
	if err != nil {
		return err
	}
	s.faults.Config = c
	if s.o.SQSEndpoint != "" && (c.Duplicate > 0 || c.Delay > 0 || c.Reorder > 0) {
		return errors.New("read faults: duplicate, delay and reorder need the stack's own queue, but another one is configured")
	}
	return nil
}

// disorder returns the faults that the stack's own queue must produce.
func (s *Stack) disorder() sqs.Disorder {
	c := s.faults.Config
	return sqs.Disorder{Seed: c.Seed, Duplicate: c.Duplicate, Reorder: c.Reorder, Delay: c.Delay, MaxDelay: c.DelayBy}
}

// startFaults puts proxies between the functions and the engines. Only the functions
// get faults: the poller acts as Lambda, which fails in other ways, and tools that
// inspect the table must see its real contents.
func (s *Stack) startFaults() error {
	s.functionsDynamoDB, s.functionsSQS = s.DynamoDB, s.SQS
	if s.o.Faults == "" {
		return nil
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.Proxy, base.MaxIdleConns, base.MaxIdleConnsPerHost = nil, 0, connectionsKept
	s.faults.Base = base
	s.faults.Keys = s.keyNames()
	s.onStop(func() error {
		// Late calls arrive before the engines end.
		err := s.faults.Close()
		base.CloseIdleConnections()
		return err
	})
	for _, endpoint := range []*string{&s.functionsDynamoDB, &s.functionsSQS} {
		target, err := url.Parse(*endpoint)
		if err != nil {
			return fmt.Errorf("read endpoint: %w", err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		s.serve(l, faults.Proxy(target, &s.faults), noOrigin)
		*endpoint = address(l)
	}
	return nil
}

// keyNames are the names of the tables' key attributes.
func (s *Stack) keyNames() []string {
	var names []string
	for _, table := range s.described.Tables {
		for _, key := range table.KeySchema {
			names = append(names, key.Name)
		}
	}
	return names
}

// Faults returns the configured faults ("" if none) and how many calls had which fault
// so far; see faults.Transport's Counts.
func (s *Stack) Faults() (settings string, met map[string]int) {
	if s.o.Faults == "" {
		return "", nil
	}
	return s.faults.Config.String(), s.faults.Counts()
}

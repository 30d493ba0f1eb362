package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
)

// StartQueues serves only the embedded SQS, on its port, with the template's queues. A
// stack may use it as SQSEndpoint; then the queues can crash and come back empty while
// that stack runs. ctx bounds the start only.
func StartQueues(ctx context.Context, o Options) (*Stack, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.SQSEndpoint = "" // ignored: these are the queues
	s := &Stack{o: o, Failed: make(chan error, 8)}
	s.background, s.stopWork = context.WithCancel(context.Background())
	if err := s.readFaults(); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.SQSPort)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.onStop(func() error { _ = l.Close(); return nil })
	s.SQS = address(l)
	s.API = s.SQS // the template wants an issuer's address, which no queue has
	if s.described, err = s.load(nil); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.startQueues(l)
	if err := s.ensureQueues(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

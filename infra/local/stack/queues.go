package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
)

// StartQueues serves only the embedded SQS, on its port and data folder. A stack with
// it as SQSEndpoint creates the template's queues in it, so the queues can crash and
// restart while that stack runs, as they can on AWS.
func StartQueues(o Options) (*Stack, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.SQSEndpoint = "" // ignored: these are the queues
	s := &Stack{o: o, Failed: make(chan error, 8)}
	s.background, s.stopWork = context.WithCancel(context.Background())
	if err := s.readFaults(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.Data, 0o755); err != nil {
		return nil, fmt.Errorf("make data folder: %w", err)
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.SQSPort)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.onStop(func() error { _ = l.Close(); return nil })
	s.SQS = address(l)
	if err := s.startQueues(l); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

package lambda

import (
	"errors"
	"fmt"
	"time"
)

// asyncRetries is Lambda's default without an EventInvokeConfig.
const asyncRetries = 2

// InvokeAsync runs a function with an event in the background and returns the request
// id. When the function fails, it runs again up to two times with the same request id;
// then the event is dropped, with a line in the log. The payload may have 1 MiB; the
// errors are Invoke's except ErrThrottled: a throttled event waits.
func (s *Service) InvokeAsync(function string, payload []byte) (requestID string, err error) {
	e := event{id: newRequestID(), payload: payload}
	if err := s.enqueue(function, e); err != nil {
		return "", fmt.Errorf("invoke %s: %w", function, err)
	}
	return e.id, nil
}

func (s *Service) enqueue(function string, e event) error {
	p, e, err := s.admit(function, e, maxAsyncRequest)
	if err != nil {
		return err
	}
	if !s.begin() {
		return ErrClosed
	}
	go func() {
		defer s.work.Done()
		for try := 0; ; try++ {
			out, err := s.invoke(s.ctx, function, e)
			switch {
			case errors.Is(err, ErrThrottled):
				try-- // Lambda keeps a throttled event for hours; it costs no retry
			case err != nil, out.functionError == "":
				// The error can only be ErrClosed: the event was admitted before.
				return
			case try == asyncRetries:
				p.newLog().event(e.id, "dropped", "event failed after all retries")
				return
			}
			select {
			case <-time.After(s.opts.RetryPause):
			case <-s.ctx.Done():
				return
			}
		}
	}()
	return nil
}

package lambda

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// InvokeHandler is Lambda's Invoke API: synchronous, asynchronous and dry-run
// invocations. The rest of Lambda's API is an unknown operation. Signatures are not
// checked.
func (s *Service) InvokeHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2015-03-31/functions/{function}/invocations", s.serveInvoke)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, newRequestID(), http.StatusNotFound, "UnknownOperationException", "User", "Message",
			"The operation is not supported here")
	})
	return mux
}

func (s *Service) serveInvoke(w http.ResponseWriter, r *http.Request) {
	id, function := newRequestID(), functionName(r.PathValue("function"))
	// One byte more than allowed distinguishes a request that is too large from one
	// that just fits.
	payload, err := io.ReadAll(io.LimitReader(r.Body, maxRequest+1))
	if err != nil {
		return // the caller has gone
	}
	if len(payload) > maxRequest {
		// Few callers read the response before they have written the whole request.
		_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 10*maxRequest))
	}
	e := event{id: id, payload: payload}
	switch r.Header.Get("X-Amz-Invocation-Type") {
	case "", "RequestResponse":
		e.tail = r.Header.Get("X-Amz-Log-Type") == "Tail"
		out, err := s.invoke(r.Context(), function, e)
		if err != nil {
			s.refuseInvoke(w, id, function, err)
			return
		}
		writeOutcome(w, e, out)
	case "Event":
		if err := s.enqueue(function, e); err != nil {
			s.refuseInvoke(w, id, function, err)
			return
		}
		w.Header().Set("X-Amzn-RequestId", id)
		w.WriteHeader(http.StatusAccepted)
	case "DryRun":
		if _, _, err := s.admit(function, e, maxRequest); err != nil {
			s.refuseInvoke(w, id, function, err)
			return
		}
		w.Header().Set("X-Amzn-RequestId", id)
		w.WriteHeader(http.StatusNoContent)
	default:
		writeError(w, id, http.StatusBadRequest, "InvalidParameterValueException", "User", "message",
			"Invocation type must be RequestResponse, Event or DryRun")
	}
}

func writeOutcome(w http.ResponseWriter, e event, out outcome) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Amzn-RequestId", e.id)
	h.Set("X-Amz-Executed-Version", latest)
	if out.functionError != "" {
		h.Set("X-Amz-Function-Error", out.functionError)
	}
	if e.tail {
		h.Set("X-Amz-Log-Result", base64.StdEncoding.EncodeToString(out.log))
	}
	_, _ = w.Write(out.payload)
}

// refuseInvoke writes an admission error as Lambda does, including the letter case of
// the message field.
func (s *Service) refuseInvoke(w http.ResponseWriter, id, function string, err error) {
	switch {
	case errors.Is(err, ErrFunctionNotFound):
		writeError(w, id, http.StatusNotFound, "ResourceNotFoundException", "User", "Message",
			"Function not found: "+s.arn(function))
	case errors.Is(err, ErrPayloadTooLarge):
		writeError(w, id, http.StatusRequestEntityTooLarge, "RequestTooLargeException", "User", "message", err.Error())
	case errors.Is(err, ErrThrottled):
		writeError(w, id, http.StatusTooManyRequests, "TooManyRequestsException", "User", "message", "Rate Exceeded.")
	case errors.Is(err, ErrPayloadInvalid):
		writeError(w, id, http.StatusBadRequest, "InvalidRequestContentException", "User", "message",
			"Could not parse request body into json")
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		// The caller has gone: no answer.
	default:
		writeError(w, id, http.StatusInternalServerError, "ServiceException", "Service", "Message", err.Error())
	}
}

func writeError(w http.ResponseWriter, id string, status int, code, fault, field, message string) {
	w.Header().Set("X-Amzn-RequestId", id)
	w.Header().Set("X-Amzn-ErrorType", code)
	writeJSON(w, status, map[string]string{"Type": fault, field: message})
}

// functionName returns the function's name from all forms that Lambda accepts: name,
// account:function:name, an ARN, each also with :qualifier. There is only one version
// of a function, so the qualifier is ignored.
func functionName(reference string) string {
	parts := strings.Split(reference, ":")
	for i, part := range parts[:len(parts)-1] {
		if part == "function" && i > 0 {
			return parts[i+1]
		}
	}
	return parts[0]
}

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

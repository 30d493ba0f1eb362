package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"flashsale/infra/local/eventsource"
)

// InvokeHandler is Lambda's Invoke API for synchronous invocations of a function by its
// name. Signatures are not checked.
func (s *Service) InvokeHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /2015-03-31/functions/{function}/invocations", s.serveInvoke)
	return mux
}

func (s *Service) serveInvoke(w http.ResponseWriter, r *http.Request) {
	id, function := newRequestID(), r.PathValue("function")
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
	kind, log := r.Header.Get("X-Amz-Invocation-Type"), r.Header.Get("X-Amz-Log-Type")
	if kind != "" && kind != "RequestResponse" || log != "" && log != "None" || r.Header.Get("X-Amz-Client-Context") != "" || r.URL.RawQuery != "" {
		writeError(w, id, http.StatusBadRequest, "InvalidParameterValueException", "User", "message",
			"Only the payload is taken locally: no invocation type but RequestResponse, no log type, qualifier or client context")
		return
	}
	if len(payload) > 0 && len(payload) <= maxRequest && !json.Valid(payload) {
		writeError(w, id, http.StatusBadRequest, "InvalidRequestContentException", "User", "message", "Could not parse request body into json")
		return
	}
	out, err := s.invoke(r.Context(), function, event{id: id, payload: payload})
	if err != nil {
		s.refuseInvoke(w, id, function, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Amzn-RequestId", id)
	h.Set("X-Amz-Executed-Version", latest)
	if out.functionError != "" {
		h.Set("X-Amz-Function-Error", out.functionError)
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
	case errors.Is(err, eventsource.ErrThrottled):
		writeError(w, id, http.StatusTooManyRequests, "TooManyRequestsException", "User", "message", "Rate Exceeded.")
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

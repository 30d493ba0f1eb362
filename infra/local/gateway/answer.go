package gateway

import (
	"fmt"
	"net/http"
	"strconv"
)

// answer is a whole response.
type answer struct {
	status int
	header http.Header
	body   []byte
	// cause is logged and never sent.
	cause error
}

// refuse is the gateway's own answer; its message is the status's name.
func refuse(status int) answer {
	return answer{
		status: status,
		header: http.Header{"Content-Type": {"application/json"}},
		body:   fmt.Appendf(nil, `{"message":%q}`, http.StatusText(status)),
	}
}

func fail(status int, cause error) answer {
	a := refuse(status)
	a.cause = cause
	return a
}

func (a answer) write(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	for name, values := range a.header {
		header[name] = values
	}
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		w.WriteHeader(a.status)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		w.Write(a.body)
	}
}

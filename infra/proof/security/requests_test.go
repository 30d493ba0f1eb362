package security

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// answer is an HTTP answer.
type answer struct {
	status int
	header http.Header
	raw    string
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.raw) }

// text is a text field of a JSON body.
func (a answer) text(name string) string {
	var body map[string]any
	_ = json.Unmarshal([]byte(a.raw), &body)
	s, _ := body[name].(string)
	return s
}

// pair is a header line.
type pair struct{ name, value string }

func bearer(token string) pair { return pair{"Authorization", "Bearer " + token} }

func (s *system) send(method, path, body string, header ...pair) (answer, error) {
	return s.sendTo(s.API, method, path, body, header...)
}

// sendTo makes a request of the API at that address. Repeated header names make repeated
// lines, and the path is sent unchanged.
func (s *system) sendTo(api, method, path, body string, header ...pair) (answer, error) {
	request, err := http.NewRequest(method, api+"/", strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.URL.Opaque = path
	for _, h := range header {
		request.Header.Add(h.name, h.value)
	}
	a, err := s.client.Do(request)
	return answer{a.Status, a.Header, string(a.Body)}, err
}

func (s *system) must(t *testing.T, method, path, body string, header ...pair) answer {
	t.Helper()
	a, err := s.send(method, path, body, header...)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

package system

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// remember has the logs searched for the claims and the signature of a token at the end; the header
// is the same for all tokens.
func (s *system) remember(token string) string {
	for i, part := range strings.Split(token, ".") {
		if i > 0 && len(part) >= 16 {
			s.confide("a part of a token", part)
		}
	}
	return token
}

func (s *system) confide(what, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets[text] = what
}

var (
	authorization = regexp.MustCompile(`(?i)authorization|bearer `)
	tokenShaped   = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)
)

// searchLogs says what the logs have of what was confided. The stack must have ended.
func (s *system) searchLogs() (found []error) {
	for _, name := range []string{filepath.Join(s.data, "functions.log"), s.output.Name()} {
		text, err := os.ReadFile(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			found = append(found, err)
		}
		for secret, what := range s.secrets {
			if strings.Contains(string(text), secret) {
				found = append(found, fmt.Errorf("%s has %s: %s", name, what, secret))
			}
		}
		if text := tokenShaped.Find(text); text != nil {
			found = append(found, fmt.Errorf("%s has %q", name, text))
		}
		if _, race, raced := strings.Cut(string(text), "DATA RACE"); raced {
			found = append(found, fmt.Errorf("%s has a race:%s", name, race[:min(len(race), 4000)]))
		}
		// The stack itself prints an example of a call at its start.
		if text := authorization.Find(text); text != nil && name != s.output.Name() {
			found = append(found, fmt.Errorf("%s has %q", name, text))
		}
	}
	return found
}

// personal are private data of a request, each spelt so that it occurs nowhere else.
var personal = map[string]string{
	"the e-mail": "wei.zhang.canary@mail.example", "the name": "Zhang-Wei-Canary", "the phone": "+86-10-5550-1234", "the address": "1-Canary-Road",
	"the groups": "vip-canary", "the token's id": "jti-canary-77", "the address of the client": "203.0.113.77", "the user agent": "Canary-Browser/7.7",
	"the cookie": "session-canary-88", "the referer": "canary-referer.example", "the query": "canary-in-query", "the body": "canary-in-body",
	"the password": "canary-password-99", "the code of a sign-in": "code-canary-55",
}

// Every kind of answer that a buyer can get is provoked with all of these in the request. The
// books are kept by user id; nothing else may be stored or logged.
func TestOfAPersonOnlyTheUserIDIsKept(t *testing.T) {
	s := shared(t)
	s.open("person", 1, 1)
	s.open("halted", 1, 1)
	s.change(map[string]any{"action": "pause", "saleId": "halted"})
	for what, text := range personal {
		s.confide(what, text)
	}
	buyer := func(user string) []string {
		return bearer(s.signed(s.claims(user).with(fields{
			"email": personal["the e-mail"], "name": personal["the name"], "phone_number": personal["the phone"],
			"address": fields{"formatted": personal["the address"]}, "cognito:groups": []string{personal["the groups"]}, "jti": personal["the token's id"],
		})))
	}
	status := map[int]bool{}
	call := func(method, path, body string, header ...string) {
		header = append(slices.Clone(header), "User-Agent", personal["the user agent"], "X-Forwarded-For", personal["the address of the client"],
			"Cookie", "s="+personal["the cookie"], "Referer", "https://"+personal["the referer"], "X-Email", personal["the e-mail"])
		status[s.send(method, s.API, path+"?code="+personal["the code of a sign-in"]+"&q="+personal["the query"], body, header...).Status] = true
	}
	early, late := buyer("buyer-canary"), buyer("late-canary")
	s.eventually("the unit is sold", func() bool {
		call(http.MethodPost, "/sales/person/orders", "", early...)
		return status[http.StatusAccepted]
	})
	for _, header := range [][]string{early, late} {
		call(http.MethodPost, "/sales/person/orders", "", header...)
		call(http.MethodPost, "/sales/halted/orders", "", header...)
		call(http.MethodGet, "/sales/person/orders/me", "", header...)
		call(http.MethodGet, "/orders/4294967297", "", header...)
		call(http.MethodPost, "/sales/person/orders", `{"card":"`+personal["the body"]+`"}`, append(header, "Content-Type", "application/json")...)
		call(http.MethodPost, "/sales/person/orders", "", append(header, "Idempotency-Key", personal["the e-mail"])...)
	}
	call(http.MethodGet, "/sales/person", "")
	for _, path := range []string{"/s/" + personal["the e-mail"], "/assets/" + personal["the e-mail"], "/signin", "/sales/" + personal["the e-mail"]} {
		call(http.MethodGet, path, "")
	}
	call(http.MethodPost, "/payments/stripe", `{"email":"`+personal["the e-mail"]+`"}`)
	call(http.MethodPost, "/sales/person/orders", "", "Authorization", "Basic "+personal["the password"])
	for _, want := range []int{200, 202, 400, 401, 404, 409, 503} {
		if !status[want] {
			t.Errorf("no request was answered with %d: %v", want, status)
		}
	}
	everything := fmt.Sprint(s.stored())
	if !strings.Contains(everything, "buyer-canary") {
		t.Error("the table does not even have the user's id")
	}
	for what, text := range personal {
		if strings.Contains(everything, text) {
			t.Errorf("the table has %s", what)
		}
	}
}

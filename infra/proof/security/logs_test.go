package security

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// line is one line of the functions' log.
type line struct {
	function string
	text     string
	fields   map[string]any
}

// mark is the length of the functions' log.
func (s *system) mark() int64 {
	info, err := os.Stat(s.FunctionLog)
	if err != nil {
		return 0 // nothing was logged yet
	}
	return info.Size()
}

func (s *system) logged(t *testing.T, from int64) string {
	t.Helper()
	text, err := os.ReadFile(s.FunctionLog)
	if err != nil {
		t.Fatal(err)
	}
	return string(text[min(from, int64(len(text))):])
}

// harmless are events that change nothing, one per function.
var harmless = map[string]string{
	"PurchaseFunction": `{}`, "QueryFunction": `{}`, "PageFunction": `{}`, "PayFunction": `{}`, "SeedFunction": `{}`,
	"FinalizeFunction": `{"Records":[]}`, "ReconcileFunction": `[]`, "ReleaseFunction": `[]`,
}

// fence waits until all output of the functions so far is in the log, and returns the
// ids of its own invocations.
func (s *system) fence(t *testing.T) map[string]bool {
	t.Helper()
	ids := map[string]bool{}
	for function, event := range harmless {
		ids[s.invoke(t, function, event).requestID] = true
	}
	return ids
}

// library matches the Lambda library's report of a function error: by the standard
// logger, in addition to the function's own line.
var library = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d (\{.*\})$`)

// lines returns the events that functions logged since the mark, except those of a
// fence. A line that is not one whole JSON object, or contains a forbidden character,
// fails the test (P18).
func (s *system) lines(t *testing.T, from int64, forbidden func(rune) bool) (events []line) {
	t.Helper()
	own := s.fence(t)
	for _, text := range strings.Split(strings.TrimSuffix(s.logged(t, from), "\n"), "\n") {
		function, rest, ok := strings.Cut(text, " | ")
		if !ok || harmless[function] == "" {
			t.Errorf("no function printed this line: %q", text)
			continue
		}
		if strings.ContainsFunc(rest, forbidden) {
			t.Errorf("the line holds a forbidden character: %q", text)
		}
		reported := library.FindStringSubmatch(rest)
		if reported != nil {
			rest = reported[1]
		}
		l := line{function: function, text: rest}
		if err := json.Unmarshal([]byte(rest), &l.fields); err != nil {
			t.Errorf("the line is not a JSON object: %q", text)
			continue
		}
		id, _ := l.fields["requestId"].(string)
		if reported == nil && !own[id] && l.fields["message"] != "receipt" && l.fields["type"] != "platform" {
			events = append(events, l)
		}
	}
	return events
}

// unprintable reports whether a terminal or line reader could interpret the character:
// controls, line separators, and those that change the direction of text.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// of returns a function's lines.
func of(events []line, function string) (some []line) {
	for _, e := range events {
		if e.function == function {
			some = append(some, e)
		}
	}
	return some
}

var (
	authorization = regexp.MustCompile(`(?i)authorization|bearer `)
	tokenShaped   = regexp.MustCompile(`eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}`)
)

// sweep checks that no log contains a token, a part of one, or the header that carries
// them.
func (s *system) sweep(t *testing.T, from int64) {
	t.Helper()
	s.fence(t)
	for name, text := range map[string]string{"functions": s.logged(t, from), "stack": s.own.String()} {
		s.mu.Lock()
		for secret := range s.secrets {
			if strings.Contains(text, secret) {
				t.Errorf("the log of the %s holds a part of a token: %s", name, secret)
			}
		}
		s.mu.Unlock()
		for _, pattern := range []*regexp.Regexp{authorization, tokenShaped} {
			if found := pattern.FindString(text); found != "" {
				t.Errorf("the log of the %s holds %q", name, found)
			}
		}
	}
}

package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/proof/contract"
)

// example is a command of a document and the answer that is printed below it.
type example struct {
	line    int
	command string
	answer  string
}

// examplesOf returns the commands of a document's console blocks, which follow a dollar
// sign.
func examplesOf(markdown string) []example {
	var all []example
	console := false
	for i, line := range strings.Split(markdown, "\n") {
		command, ok := strings.CutPrefix(line, "$ ")
		switch {
		case strings.HasPrefix(line, "```"):
			console = line == "```console"
		case console && ok:
			all = append(all, example{line: i + 1, command: command})
		case console && len(all) > 0:
			all[len(all)-1].answer += line + "\n"
		}
	}
	return all
}

// volatile matches what differs each time. Ids are numbered in order of appearance, so
// that the same id must appear in the same places.
var volatile = regexp.MustCompile(`"claimId":"([A-Z2-7]{26})"` +
	`|"orderId":"([1-9][0-9]{17,18})"` +
	`|"(?:acceptedAt|changedAt|confirmedAt|now)":"([0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z)"` +
	`|(?m:^Date: (.+ GMT)\r?$)|(?m:^Apigw-Requestid: ([A-Za-z0-9_=-]{16})\r?$)|(?m:^Retry-After: ([1-9][0-9]*)\r?$)|(?m:^Flashsale-Version: ([0-9.]+)\r?$)`)

type mask struct{ ids map[string]string }

func (m *mask) of(text string) string {
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	return volatile.ReplaceAllStringFunc(text, func(found string) string {
		groups := volatile.FindStringSubmatch(found)
		for i, kind := range []string{"claim", "order", "time", "date", "request", "seconds", "version"} {
			value := groups[i+1]
			if value == "" {
				continue
			}
			name := "<" + kind + ">"
			if kind == "claim" || kind == "order" {
				if m.ids[value] == "" {
					m.ids[value] = fmt.Sprintf("<%s %d>", kind, len(m.ids)+1)
				}
				name = m.ids[value]
			}
			return strings.Replace(found, value, name, 1)
		}
		return found
	})
}

// answersAsPrinted runs a document's examples and compares their answers.
func (s *stack) answersAsPrinted(t *testing.T, file, text string) {
	examples := examplesOf(text)
	if len(examples) < 7 {
		t.Fatalf("%d examples", len(examples))
	}
	var commands []string
	for _, e := range examples {
		commands = append(commands, e.command)
	}
	var answers []string
	for _, o := range s.shell(commands) {
		answers = append(answers, o.text)
	}
	want, got := mask{map[string]string{}}, mask{map[string]string{}}
	for i, e := range examples {
		if diff := cmp.Diff(want.of(e.answer), got.of(answers[i])); diff != "" {
			t.Errorf("%s:%d: %s (-printed +answered):\n%s", file, e.line, e.command, diff)
		}
		if strings.HasPrefix(answers[i], "HTTP/") {
			s.inContract(e.command, answers[i])
		}
	}
}

var (
	urlOf    = regexp.MustCompile(`http://127\.0\.0\.1:3000[^' ]*`)
	methodOf = regexp.MustCompile(`-X ([A-Z]+)`)
)

// inContract checks the answer of a `curl -i`.
func (s *stack) inContract(command, text string) {
	s.t.Helper()
	u, err := url.Parse(urlOf.FindString(command))
	if err != nil {
		s.t.Fatal(err)
	}
	u.Path = strings.Replace(u.Path, "$ORDER", "1", 1)
	method := http.MethodGet
	if m := methodOf.FindStringSubmatch(command); m != nil {
		method = m[1]
	}
	response, err := http.ReadResponse(bufio.NewReader(strings.NewReader(text)), nil)
	if err != nil {
		s.t.Errorf("%s: %v", command, err)
		return
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.t.Error(err)
	}
	c, err := document()
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.Check(method, u, contract.Answer{Status: response.StatusCode, Header: response.Header, Body: body}); err != nil {
		s.t.Errorf("%s: %v", command, err)
	}
}

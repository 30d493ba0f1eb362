package system

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	fence  = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	inline = regexp.MustCompile("`([^`]+)`")
	remark = regexp.MustCompile(`\s+# .*$`)
	// away are commands that need AWS, a payment or a call that is not on, or are about a sale of another time.
	away = regexp.MustCompile(`--(env|stack|table|url|group|allow-remote|until|apply)\b|…|\$`)
)

// executed are the commands that are run as they stand: they take a moment, and spoil nothing that another
// test needs. infra/ops/flashsale parses the others.
var executed = regexp.MustCompile(`^flashsale (sale (list|show|export|pause|resume|describe|add|withdraw|reschedule)|books (receipt|list)|order (list|show|resend)|` +
	`buyer show|queue show|refund list|event republish|stack (smoke|tokens)|plan|version)\b`)

// commandsOf are a document's calls of flashsale, make and go test. A name alone, in running text, is no command.
func commandsOf(markdown string) (all []string) {
	add := func(text string, span bool) {
		words := strings.Fields(text)
		name := 2 // so many words are one
		if strings.HasPrefix(text, "flashsale ") {
			name = 3
		}
		if len(words) > 1 && ((words[0] == "make" || name == 3) && (!span || len(words) > name) || words[0] == "go" && words[1] == "test" && len(words) > 2) {
			all = append(all, text)
		}
	}
	for _, block := range fence.FindAllStringSubmatch(markdown, -1) {
		for line := range strings.SplitSeq(strings.ReplaceAll(block[2], "\\\n", ""), "\n") {
			add(remark.ReplaceAllString(line, ""), false)
		}
	}
	for _, span := range inline.FindAllStringSubmatch(fence.ReplaceAllString(markdown, ""), -1) {
		add(strings.Join(strings.Fields(strings.ReplaceAll(span[1], `\|`, "|")), " "), true)
	}
	return all
}

// shellOn runs commands in order in one shell. curl reaches this stack at the addresses in the documents.
func (v visit) shellOn(commands []string) []string {
	v.t.Helper()
	home := v.t.TempDir()
	config := fmt.Sprintf("connect-to = \"127.0.0.1:3000:127.0.0.1:%d\"\nconnect-to = \"127.0.0.1:3001:127.0.0.1:%d\"\nmax-time = 60\n", v.Ports[0], v.Ports[1])
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte(config), 0o600); err != nil {
		v.t.Fatal(err)
	}
	const end = "--- end of an answer\n"
	script := "export CURL_HOME='" + home + "'\n"
	for _, c := range commands {
		script += fmt.Sprintf("%s\nprintf '%%s' '%s'\n", c, end)
	}
	out, ok := v.shell(script)
	answers := strings.Split(out, end)
	if !ok || len(answers) != len(commands)+1 {
		v.t.Fatalf("%d commands, %d answers:\n%s", len(commands), len(answers)-1, out)
	}
	return answers
}

// volatile is what differs each time.
var volatile = regexp.MustCompile(`[A-Z2-7]{26}|[1-9][0-9]{17,18}|[0-9-]{10}T[0-9:]{8}\.[0-9]{3}Z|(?:Date: .+ GMT|Apigw-Requestid: \S+|Retry-After: [0-9]+|Flashsale-Version: \S+)`)

// TestTheDocumentsCommandsWorkAsTheyStand: what HTTP.md prints below a command is what it answers. make reads
// every command of make, with its variables. Commands of flashsale that are quick are run. A go test that is named
// has tests.
func TestTheDocumentsCommandsWorkAsTheyStand(t *testing.T) {
	s := shared(t)
	s.eventually("the demonstration sale is open", func() bool { return s.call("GET", "/sales/demo").Claim.State == "OPEN" })
	var commands, answers []string
	for _, block := range fence.FindAllStringSubmatch(readFile(t, filepath.Join(project, "infra/docs/HTTP.md")), -1) {
		for line := range strings.Lines(block[2]) {
			if command, ok := strings.CutPrefix(line, "$ "); ok && block[1] == "console" {
				commands, answers = append(commands, strings.TrimSpace(command)), append(answers, "")
			} else if block[1] == "console" && len(answers) > 0 {
				answers[len(answers)-1] += line
			}
		}
	}
	mask := func(text string) string {
		return volatile.ReplaceAllString(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "…")
	}
	if len(commands) == 0 {
		t.Error("HTTP.md has no examples")
	}
	for i, answered := range s.shellOn(commands)[:len(commands)] {
		if diff := cmp.Diff(mask(answers[i]), mask(answered)); diff != "" {
			t.Errorf("HTTP.md: %s (-printed +answered):\n%s", commands[i], diff)
		}
	}

	var documents []string
	err := filepath.WalkDir(project, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{".build", ".git", ".local", "node_modules", "findings"}, d.Name()) {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") && d.Name() != "COMMANDS.md" {
			documents = append(documents, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if out, ok := s.shell("make events"); !ok { // the sale moutai, which the commands name
		t.Fatal(out)
	}
	seen, ran := map[string]bool{}, 0
	for _, document := range documents {
		for _, c := range commandsOf(readFile(t, document)) {
			if seen[c] {
				continue
			}
			seen[c] = true
			switch {
			case strings.HasPrefix(c, "go "):
				if wrong := lacksTests(t, c); wrong != "" {
					t.Errorf("%s: %s: %s", document, c, wrong)
				}
			case strings.HasPrefix(c, "make "):
				if out, ok := s.shell(strings.Replace(c, "make ", "make -n ", 1)); !ok {
					t.Errorf("%s: make cannot read %s: %s", document, c, out)
				}
			case executed.MatchString(c) && !away.MatchString(c):
				ran++
				if out, ok := s.shell(strings.ReplaceAll(c, " .local/", " "+s.data+"/")); !ok {
					t.Errorf("%s: %s: %s", document, c, out)
				}
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands were run", ran)
	}
}

// lacksTests says what a go test would not find: its packages, or a test of its pattern.
func lacksTests(t *testing.T, command string) string {
	words, pattern, in := strings.Fields(command), "", project
	var tests strings.Builder
	for i, w := range words {
		switch {
		case w == "-C":
			in = filepath.Join(project, words[i+1])
		case w == "-run":
			pattern = strings.Trim(words[i+1], "'")
		case strings.HasPrefix(w, "./"):
			folder, below := strings.CutSuffix(w, "/...")
			before := tests.Len()
			_ = filepath.WalkDir(filepath.Join(in, folder), func(path string, d fs.DirEntry, err error) error {
				if err == nil && strings.HasSuffix(path, "_test.go") && (below || filepath.Dir(path) == filepath.Join(in, folder)) {
					tests.WriteString(readFile(t, path))
				}
				return err
			})
			if tests.Len() == before {
				return "no tests in " + w
			}
		}
	}
	names := regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)\w*\(`).FindAllString(tests.String(), -1)
	if !slices.ContainsFunc(names, func(name string) bool { return regexp.MustCompile(pattern).MatchString(strings.TrimSuffix(name, "(")) }) {
		return "no test matches " + pattern
	}
	return ""
}

// With what somebody tries a stack on AWS, the one on this machine can be tried.
func TestTheCommandsThatTryADeployedStackWorkOnThisMachine(t *testing.T) {
	s := shared(t)
	folder := t.TempDir()
	tokens, report := filepath.Join(folder, "tokens of buyers"), filepath.Join(folder, "a report.html")
	for _, c := range []struct {
		command string
		says    []string
	}{
		{"flashsale stack smoke", []string{"ok    buyer's page: script", "ok    another purchase", "ok    the order ", "ok    unsigned: stripe", "ok    unsigned: standard-webhooks", "ok    the order, not paid", "ok    the last unit is sold", "ok    the receipt"}},
		{"flashsale stack tokens --count 90 --out '" + tokens + "'", []string{"90 access tokens are in " + tokens}},
		{"flashsale stack rehearse --tokens '" + tokens + "' --rate 10 --duration 2s --stock 5 --shards 1 --report '" + report + "'", []string{"of 5 units on 1 shards", "balanced: stock left + claims = seeded", "no broken promise was seen", "5 orders; what they cost is counted on AWS only", "report: " + report}},
	} {
		out, ok := s.shell(c.command)
		for _, want := range c.says {
			if !ok || !strings.Contains(out, want) {
				t.Errorf("%s ended well: %t, and does not say %q:\n%s", c.command, ok, want, out)
			}
		}
	}
}

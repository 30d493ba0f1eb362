package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shellEnvironment is the environment of the documents' commands: the addresses of this
// test's stack, and no variables of a make that runs the tests.
func shellEnvironment(s *stack) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return strings.HasPrefix(name, "MAKE") || slices.Contains([]string{"MFLAGS", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"}, name)
	})
	if s == nil {
		return env
	}
	for i, name := range []string{"API_PORT", "LAMBDA_PORT", "DYNAMODB_PORT", "SQS_PORT", "OPERATE_PORT"} {
		env = append(env, name+"="+strconv.Itoa(s.at.Ports[i]))
	}
	return append(env, "DATA="+s.data, "AWS_EC2_METADATA_DISABLED=true")
}

// outcome is a command's output and exit status.
type outcome struct {
	text   string
	status string
}

// shell runs commands in order in one shell. curl and the AWS CLI reach this stack at
// the addresses in the documents.
func (s *stack) shell(commands []string) []outcome {
	s.t.Helper()
	home := s.t.TempDir()
	config := fmt.Sprintf("connect-to = \"127.0.0.1:3000:127.0.0.1:%d\"\nconnect-to = \"127.0.0.1:3001:127.0.0.1:%d\"\nconnect-to = \"127.0.0.1:3002:127.0.0.1:%d\"\nmax-time = 60\n",
		s.at.Ports[0], s.at.Ports[1], s.at.Ports[4])
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte(config), 0o600); err != nil {
		s.t.Fatal(err)
	}
	const end = "--- end of an answer, status "
	var script strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&script, "%s\nprintf '%%s%%s\\n' '%s' $?\n", c, end)
	}
	bash := exec.CommandContext(s.t.Context(), "bash")
	bash.Dir, bash.Stdin = s.root, strings.NewReader(script.String())
	bash.Env = append(shellEnvironment(s), "CURL_HOME="+home)
	out, err := bash.CombinedOutput()
	parts := strings.Split(string(out), end)
	if err != nil || len(parts) != len(commands)+1 {
		s.t.Fatalf("%d commands, %d answers, %v:\n%s", len(commands), len(parts)-1, err, out)
	}
	outcomes := make([]outcome, len(commands))
	for i := range outcomes {
		outcomes[i].text = parts[i]
		outcomes[i].status, parts[i+1], _ = strings.Cut(parts[i+1], "\n")
	}
	return outcomes
}

// documents returns the repository's Markdown files in reading order.
func documents(t *testing.T, root string) []string {
	t.Helper()
	first := []string{"infra/docs/HTTP.md", "README.md", "infra/docs/OPERATING.md", "infra/docs/RUNBOOK.md"}
	var rest []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".build" || d.Name() == ".git" || d.Name() == ".local" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".md") && !slices.Contains(first, filepath.ToSlash(name)):
			rest = append(rest, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil || len(rest) < 5 {
		t.Fatalf("documents: %v, %v", rest, err)
	}
	return append(first, rest...)
}

// TestTheDocumentsCommandsWorkAsTheyStand runs the commands of all documents on one
// stack, in reading order. Commands that need AWS, or more time than a test has, are
// checked without being run.
func TestTheDocumentsCommandsWorkAsTheyStand(t *testing.T) {
	t.Parallel()
	s := boot(t, "-demo-sale")
	s.eventually("the demonstration sale is open", func() bool {
		return s.must(s.call("GET", "/sales/demo", "")).text("state") == "OPEN"
	})
	seen, ran, printed := map[string]bool{}, 0, ""
	for _, file := range documents(t, s.root) {
		t.Run(file, func(t *testing.T) {
			s.t = t
			text := readFile(t, s.root, file)
			if file == "infra/docs/HTTP.md" {
				s.answersAsPrinted(t, file, text)
			}
			var run []string
			for _, c := range commandsOf(file, text) {
				if seen[c.text] {
					continue
				}
				seen[c.text] = true
				if wrong := c.away(t, s.root); wrong != "" {
					t.Errorf("%s: %s", c, wrong)
				}
				if c.kind() == executed || c.onThisStack() {
					// Unlike for make and curl, there is no other way to redirect the
					// AWS CLI to this stack.
					here := strings.NewReplacer("--endpoint-url http://127.0.0.1:3001", fmt.Sprintf("--endpoint-url http://127.0.0.1:%d", s.at.Ports[1]), "=.local/", "="+s.data+"/")
					run = append(run, here.Replace(c.text))
				}
			}
			ran += len(run)
			for i, o := range s.shell(run) {
				printed += o.text
				if o.status != "0" || strings.Contains(o.text, `"errorMessage"`) {
					t.Errorf("%s: status %s:\n%s", run[i], o.status, o.text)
				}
			}
			s.requestsWork(t, text)
		})
	}
	s.t = t
	if ran < 15 {
		t.Errorf("only %d commands were run", ran)
	}
	s.saysWhatTheReadmeShows(t, printed)
}

// requestsWork sends the operators' requests of a document to SeedFunction.
func (s *stack) requestsWork(t *testing.T, markdown string) {
	for _, block := range fence.FindAllStringSubmatch(markdown, -1) {
		for request := range strings.SplitSeq(block[2], "\n") {
			if !strings.HasPrefix(request, `{"action":`) {
				continue
			}
			body, failed := s.seed(request)
			names := "applied changedAt closesAt opensAt paused saleId seeded shards" // of an edit
			switch {
			case strings.Contains(request, `"create"`):
				names = "applied saleId seeded seen shards"
			case strings.Contains(request, `"recall"`):
				names = "applied changedAt closesAt opensAt paused recalledAt saleId seeded shards"
			case strings.Contains(request, `"describe"`):
				names = "about applied name saleId seeded shards"
			case strings.Contains(request, `"withdraw"`):
				names = "applied saleId seeded shards withdrawn"
			case strings.Contains(request, `"stock"`):
				names = "applied saleId seeded shards"
			}
			if got := strings.Join(slices.Sorted(maps.Keys(body)), " "); failed != "" || body["applied"] != true || got != names {
				t.Errorf("%s: %v %s", request, body, failed)
			}
			if again, failed := s.seed(request); strings.Contains(request, `"seedId"`) && (failed != "" || again["applied"] != false) {
				t.Errorf("%s again: %v %s", request, again, failed)
			}
		}
	}
}

// saysWhatTheReadmeShows compares the lines in the README's blocks with what the stack printed
// at start, except for the ports, and with what the commands printed.
func (s *stack) saysWhatTheReadmeShows(t *testing.T, printed string) {
	port := regexp.MustCompile(`(127\.0\.0\.1):\d+`)
	said := port.ReplaceAllString(s.at.Output.String()+printed, "$1")
	shown := 0
	for _, block := range fence.FindAllStringSubmatch(readFile(t, s.root, "README.md"), -1) {
		for line := range strings.SplitSeq(block[2], "\n") {
			if strings.HasPrefix(line, "  P") || port.MatchString(line) {
				shown++
				if !strings.Contains(said, port.ReplaceAllString(line, "$1")+"\n") {
					t.Errorf("the README shows %q, which nothing says", line)
				}
			}
		}
	}
	if shown != 10 {
		t.Errorf("the README shows %d lines, want 10", shown)
	}
}

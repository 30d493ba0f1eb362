package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"flashsale/infra/kit/samconfig"
)

// command is a command in a document.
type command struct {
	file string
	text string // verbatim, except that a table's \| is |
	span bool   // in running text or a table, not in a fenced block
}

func (c command) String() string { return c.file + ": " + c.text }

var (
	fence  = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	inline = regexp.MustCompile("`([^`]+)`")
	// started is a line that a shell would take as a call of one of these programs.
	started    = regexp.MustCompile(`^(?:[A-Z_]+=(?:'[^']*'|"[^"]*"|[^ '"])* )*(make|go|aws|sam|curl|git|npm|docker)(?: |$)`)
	assignment = regexp.MustCompile(`(?:^| )([A-Z][A-Z0-9_]*)=(?:'[^']*'|"[^"]*"|[^ '"])*`)
	remark     = regexp.MustCompile(`\s+# .*$`)
)

// commandsOf are the commands of a document but for its console blocks, whose answers
// are printed below them and compared elsewhere.
func commandsOf(file, markdown string) (all []command) {
	for _, block := range fence.FindAllStringSubmatch(markdown, -1) {
		if block[1] == "console" {
			continue
		}
		for line := range strings.SplitSeq(strings.ReplaceAll(block[2], "\\\n", ""), "\n") {
			if started.MatchString(line) {
				all = append(all, command{file, remark.ReplaceAllString(line, ""), false})
			}
		}
	}
	for _, span := range inline.FindAllStringSubmatch(fence.ReplaceAllString(markdown, ""), -1) {
		text := strings.Join(strings.Fields(strings.ReplaceAll(span[1], `\|`, "|")), " ")
		if started.MatchString(text) {
			all = append(all, command{file, text, true})
		}
	}
	return all
}

func (c command) program() string { return started.FindStringSubmatch(c.text)[1] }

// words are the command's words behind its program, without assignments.
func (c command) words() []string {
	_, rest, _ := strings.Cut(" "+c.text, " "+c.program())
	return slices.DeleteFunc(strings.Fields(rest), func(w string) bool { return assignment.MatchString(w) })
}

// target is what make is asked for.
func (c command) target() string {
	if words := c.words(); c.program() == "make" && len(words) > 0 {
		return words[0]
	}
	return ""
}

// elsewhere are the targets that are too long for this test, or that nothing takes back, with
// what executes them.
var elsewhere = map[string]string{
	"run":         "infra/proof/e2e",
	"shop":        "infra/proof/e2e",
	"test":        ".ci/run",
	"check":       ".ci/run",
	"prove":       ".ci/run",
	"lab":         "infra/lab",
	"lab-engines": "infra/lab",
	"lab-check":   ".ci/run",
	"simulate":    ".github/workflows/nightly.yml",
	"enumerate":   ".github/workflows/nightly.yml",
	"build":       ".github/workflows/ci.yml",
	"release":     ".github/workflows/release.yml",
	"torture":     "infra/proof/torture",
	"bench":       "infra/proof/bench",
	"drill":       "infra/proof/drill",
	"recall":      "infra/proof/drill",
	"draw":        "infra/proof/drill",
	"verify-draw": "infra/proof/drill",
	"erase":       "infra/ops/operator",
	"archive":     "infra/ops/operator",
	"plan":        "infra/ops/plan",
	"screenshots": "infra/proof/browser/screenshots",
	"rehearse":    "infra/ops/deploy/rehearse",
}

// incomplete are the targets that ask for a variable: in running text their name alone
// names them, and is no command.
var incomplete = []string{"restore-check", "restore-replay", "pause", "resume", "reschedule", "describe", "add", "withdraw", "resend", "buyer", "person", "erase", "archive", "orders", "record", "republish", "deploy", "preflight", "draw", "verify-draw"}

// kind says how a command is checked.
type kind int

const (
	executed kind = iota // on the running stack, as it stands
	named                // only a name: it exists
	awayMake             // needs AWS, or much time: make reads it and its variables
	awayCLI              // needs AWS, or SAM: its words are known
	awayTest             // needs much time: package, pattern and flags exist
)

func (c command) kind() kind {
	// The payment that a document names is due nowhere, and no call is on whose end is UNTIL, as the stacks of ENV are elsewhere.
	remote := regexp.MustCompile(`\b(ENV|TABLE|ALLOW_REMOTE|PAYMENT|UNTIL)=|\$(API|SEED|TABLE)\b`).MatchString(c.text)
	bare := len(c.words()) <= 1 && !assignment.MatchString(c.text)
	switch c.program() {
	case "make":
		switch {
		case len(c.words()) == 0, c.span && bare && slices.Contains(incomplete, c.target()):
			return named
		case remote, elsewhere[c.target()] != "":
			return awayMake
		}
	case "go":
		if len(c.words()) < 2 {
			return named
		}
		return awayTest
	case "aws", "sam":
		return awayCLI
	case "curl":
		if remote {
			return awayCLI
		}
	}
	return executed
}

// onThisStack reports a call of the AWS CLI that the local stack answers, where the CLI
// is installed.
func (c command) onThisStack() bool {
	_, err := exec.LookPath("aws")
	return err == nil && c.program() == "aws" && strings.Contains(c.text, "--endpoint-url http://127.0.0.1:3001")
}

// away says what is wrong with a command that is not executed; "" if nothing is.
func (c command) away(t *testing.T, root string) string {
	switch c.kind() {
	case named:
		if target := c.target(); target != "" && !strings.Contains(readFile(t, root, "Makefile"), "\n"+target+":") {
			return "the Makefile has no target " + target
		}
	case awayMake:
		return c.readByMake(t, root)
	case awayCLI:
		return c.knownToCLI(root)
	case awayTest:
		return c.runsATest(t, root)
	}
	return ""
}

// readByMake has make print what it would do, which fails without such a target, and
// looks for each variable in it.
func (c command) readByMake(t *testing.T, root string) string {
	if by := elsewhere[c.target()]; by != "" {
		if info, err := os.Stat(filepath.Join(root, by)); err != nil || !info.IsDir() && !strings.Contains(readFile(t, root, by), "make "+c.target()) {
			return by + " does not execute it"
		}
	}
	bash := exec.CommandContext(t.Context(), "bash", "-c", strings.Replace(c.text, "make ", "make -n --no-print-directory ", 1))
	bash.Dir, bash.Env = root, shellEnvironment(nil)
	out, err := bash.CombinedOutput()
	if err != nil {
		return fmt.Sprintf("make cannot read it: %s", tail(string(out)))
	}
	for _, m := range assignment.FindAllStringSubmatch(c.text, -1) {
		if !regexp.MustCompile(`\$\{?` + m[1] + `\b`).Match(out) {
			return "the target does not read " + m[1]
		}
		if value := strings.TrimPrefix(strings.TrimSpace(m[0]), "ENV="); m[1] == "ENV" {
			if _, err := samconfig.Read(filepath.Join(root, "infra/samconfig.toml"), value); err != nil {
				return err.Error()
			}
		}
	}
	return ""
}

// vocabulary are the calls of the AWS CLI, the SAM CLI and curl that a document may
// show and nothing here can make, with their options.
var vocabulary = map[string]string{
	"aws cloudformation create-change-set":             "--change-set-type",
	"aws cloudformation delete-stack":                  "--stack-name",
	"aws cloudformation list-stack-resources":          "",
	"aws cloudformation update-termination-protection": "--stack-name --enable-termination-protection --no-enable-termination-protection",
	"aws cognito-idp admin-add-user-to-group":          "--user-pool-id --username --group-name",
	"aws cognito-idp admin-create-user":                "--user-pool-id --username",
	"aws cognito-idp delete-user-pool":                 "--user-pool-id",
	"aws cognito-idp update-user-pool":                 "--user-pool-id --deletion-protection",
	"aws deploy list-deployments":                      "--include-only-statuses",
	"aws deploy stop-deployment":                       "--deployment-id --auto-rollback-enabled",
	"aws dynamodb delete-table":                        "--table-name",
	"aws dynamodb describe-table":                      "--table-name --query",
	"aws dynamodb list-tables":                         "",
	"aws dynamodb restore-table-to-point-in-time":      "--source-table-name --target-table-name --restore-date-time",
	"aws dynamodb update-continuous-backups":           "--table-name --point-in-time-recovery-specification",
	"aws dynamodb update-item":                         "--table-name --key --update-expression --condition-expression --expression-attribute-names --expression-attribute-values",
	"aws dynamodb update-table":                        "--table-name --deletion-protection-enabled --no-deletion-protection-enabled --on-demand-throughput --stream-specification",
	"aws dynamodb wait":                                "--table-name",
	"aws iam create-policy":                            "--policy-name --policy-document",
	"aws kms enable-key":                               "",
	"aws lambda invoke":                                "--function-name --payload --endpoint-url --cli-binary-format",
	"aws lambda list-event-source-mappings":            "--function-name",
	"aws lambda list-versions-by-function":             "--function-name",
	"aws lambda put-function-concurrency":              "--function-name --reserved-concurrent-executions --stack-name --logical-resource-id --query --output",
	"aws lambda update-alias":                          "--function-name --name --function-version --routing-config",
	"aws cloudformation describe-stacks":               "--stack-name --query --output",
	"aws logs tail":                                    "--stack-name --logical-resource-id --query --output --since --format -v",
	"aws logs filter-log-events":                       "--log-group-name --output -r",
	"aws secretsmanager create-secret":                 "--name --secret-string",
	"aws sqs purge-queue":                              "--queue-url",
	"aws sqs receive-message":                          "--queue-url --max-number-of-messages",
	"aws sts get-caller-identity":                      "",
	"curl -s":                                          "-s",
	"sam build":                                        "",
	"sam delete":                                       "--config-file --config-env --stack-name --region",
	"sam deploy":                                       "--config-file --config-env",
	"sam package":                                      "--resolve-s3 --region --template-file",
}

var option = regexp.MustCompile(` (--?[a-z][a-z0-9-]*)`)

// knownToCLI also looks at what a call of the AWS CLI on the local stack needs: the CLI
// asks for a region and for credentials before it sends anything.
func (c command) knownToCLI(root string) string {
	words, named := c.words(), 1
	if c.program() == "aws" {
		named = 2
	}
	name := strings.Join(append([]string{c.program()}, words[:min(named, len(words))]...), " ")
	options, ok := vocabulary[name]
	if !ok {
		return fmt.Sprintf("no such call is known: %q", name)
	}
	for _, m := range option.FindAllStringSubmatch(c.text, -1) {
		if !slices.Contains(strings.Fields(options), m[1]) {
			return fmt.Sprintf("%s takes no %s", name, m[1])
		}
	}
	for _, w := range words {
		if file, ok := strings.CutPrefix(w, "fileb://"); ok {
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				return err.Error()
			}
		}
	}
	for _, variable := range []string{"AWS_DEFAULT_REGION=", "AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY="} {
		if strings.Contains(c.text, "--endpoint-url") && !strings.Contains(c.text, variable) {
			return "the AWS CLI wants " + variable
		}
	}
	return ""
}

// runsATest checks the folder, the packages, the pattern and the flags of a `go test`, and the
// function that a `go version` names.
func (c command) runsATest(t *testing.T, root string) string {
	words := c.words()
	if words[0] == "version" {
		if !strings.Contains(readFile(t, root, "template.yaml"), "\n  "+strings.Split(words[2], "/")[2]+":") {
			return "no such function"
		}
		return ""
	}
	if i := slices.Index(words, "-C"); i >= 0 {
		root, words = filepath.Join(root, words[i+1]), slices.Delete(words, i, i+2)
	}
	var tests strings.Builder
	for i, w := range words {
		if folder, ok := strings.CutPrefix(w, "./"); ok {
			found := testsOf(t, root, folder)
			if found == "" {
				return "no tests in " + w
			}
			tests.WriteString(found)
		}
		switch {
		case w == "-run" && !regexp.MustCompile(`func Test\w*(?:`+strings.Trim(words[i+1], "'")+`)`).MatchString(tests.String()):
			return "no test matches " + words[i+1]
		case strings.HasPrefix(w, "-") && w != "-run" && w != "-v" && w != "-args" && !strings.Contains(tests.String(), `("`+w[1:]+`"`):
			return "no flag " + w
		}
	}
	return ""
}

// testsOf is the text of a package's tests, or of all packages below folder/... .
func testsOf(t *testing.T, root, folder string) string {
	folder, below := strings.CutSuffix("./"+folder, "/...")
	var all strings.Builder
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && !below && path != filepath.Join(root, folder):
			return filepath.SkipDir
		case err == nil && strings.HasSuffix(path, "_test.go"):
			all.WriteString(readFile(t, "", path))
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return all.String()
}

func readFile(t *testing.T, root, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestACommandIsTakenForWhatItIs(t *testing.T) {
	t.Parallel()
	root := moduleRoot(t)
	for _, tt := range []struct {
		markdown string
		kind     kind
		wrong    bool
	}{
		{"`make receipt SALE=moutai`", executed, false},
		{"```sh\nmake pause # now\n```\n", executed, false},
		{"`curl -s http://127.0.0.1:3000/sales/demo`", executed, false},
		{"`make pause`", named, false},
		{"`make smoke`", executed, false},
		{"`make smoke ENV=dev`", awayMake, false},
		{"`make smoke ENV=def`", awayMake, true},
		{"`make smoke ENV=dev ENVY=1`", awayMake, true},
		{"`make smokes ENV=dev`", awayMake, true},
		{"`make simulate SEEDS=1`", awayMake, false},
		{"`make simulate SEED\nS=1`", awayMake, true},
		{"`aws lambda invoke --function-name $SEED --payload fileb://events/seed-pause.json /dev/stdout`", awayCLI, false},
		{"`aws lambda invoke --function-name $SEED --payload fileb://events/seed-paws.json /dev/stdout`", awayCLI, true},
		{"`aws lambda invoke --function $SEED`", awayCLI, true},
		{"`aws lambda call --function-name $SEED`", awayCLI, true},
		{"`aws lambda invoke --endpoint-url http://127.0.0.1:3001 --function-name SeedFunction`", awayCLI, true},
		{"`sam deploy`", awayCLI, false},
		{"`sam deploy --config prod`", awayCLI, true},
		{"| `go test ./infra/ops/model -run 'Tail\\|News' -v` |", awayTest, false},
		{"`go test ./infra/ops/model -run Head`", awayTest, true},
		{"`go test ./infra/ops/model -run TheLastUnit -args -walks 1`", awayTest, true},
		{"`go test ./infra/models`", awayTest, true},
		{"`go test ./shared/sale ./functions/query/... -run Event`", awayTest, false},
		{"`go test ./shared/sale ./functions/query -run Event`", awayTest, true},
		{"`go test ./infra/proof/simulate -seeds 3`", awayTest, false},
		{"`go test ./infra/proof/simulate -seed 3 -sea 4`", awayTest, true},
		{"`go test -C infra/lab ./cache`", awayTest, false},
		{"`go test -C infra/lab ./nowhere`", awayTest, true},
		{"`go test`", named, false},
	} {
		all := commandsOf("x.md", tt.markdown)
		if len(all) != 1 || all[0].kind() != tt.kind {
			t.Errorf("%s is read as %v", tt.markdown, all)
			continue
		}
		if wrong := all[0].away(t, root); (wrong != "") != tt.wrong {
			t.Errorf("%s: %q is said to be wrong", tt.markdown, wrong)
		}
	}
	for _, text := range []string{"`makes`", "`{\"action\":\"pause\"}`", "```console\n$ make run\n```\n", "`PARAMETERS='Name=value'`"} {
		if all := commandsOf("x.md", text); len(all) != 0 {
			t.Errorf("%s is taken for %v", text, all)
		}
	}
}

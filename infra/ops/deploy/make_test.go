package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// bench is a machine on which the test provides sam, aws and git.
type bench struct {
	t     *testing.T
	bin   string
	calls string // file with the arguments of sam's calls
	env   []string
}

// awsCLI answers as for an account with AWS's default quotas and no stack.
const awsCLI = `case "$*" in
*"sts get-caller-identity"*) echo '{"Account":"123456789012","Arn":"arn:aws:iam::123456789012:user/test"}';;
*"lambda get-account-settings"*) echo '{"AccountLimit":{"ConcurrentExecutions":CONCURRENCY,"UnreservedConcurrentExecutions":CONCURRENCY}}';;
*"dynamodb describe-limits"*) echo '{"TableMaxReadCapacityUnits":40000,"TableMaxWriteCapacityUnits":40000}';;
*"apigateway get-account"*) echo '{"throttleSettings":{"burstLimit":5000,"rateLimit":10000.0}}';;
*"cloudformation list-stacks"*) echo '{"StackSummaries":[]}';;
*) echo "unexpected: $*" >&2; exit 1;;
esac
`

func newBench(t *testing.T, concurrency string) *bench {
	t.Helper()
	b := &bench{t: t, bin: t.TempDir(), calls: filepath.Join(t.TempDir(), "calls")}
	// The SAM CLI looks for its configuration file from the folder of the template that it is
	// given (aws/aws-sam-cli issue 7575), and builds a program for each function into the given folder.
	b.program("sam", `config=samconfig.toml folder=. before=
for word; do
	case $before in --config-file) config=$word;; --template-file) folder=$(dirname "$word");; esac
	before=$word
done
case $config in /*) ;; *) config=$folder/$config;; esac
[ -f "$config" ] || { echo "Error: Config file $config does not exist or could not be read!" >&2; exit 1; }
{ for word; do printf '%s\n' "$word"; done; echo; } >>`+b.calls+`
if [ "$1" = build ]; then
	while [ "$1" != --build-dir ]; do shift; done
	mkdir -p "$2"; cp template.yaml "$2/"
	for f in Purchase Finalize Query Seed Operate Reconcile Release Draw Page Pay Publish; do mkdir -p "$2/${f}Function"; echo "$f" >"$2/${f}Function/bootstrap"; done
fi
`)
	b.program("aws", strings.ReplaceAll(awsCLI, "CONCURRENCY", concurrency))
	b.program("git", "true\n")
	b.env = append(os.Environ(), "PATH="+b.bin+":"+os.Getenv("PATH"),
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_MAX_ATTEMPTS=1", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "MAKEFLAGS=", "MAKELEVEL=")
	return b
}

func (b *bench) program(name, script string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.bin, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// built builds the command once, because every target would ask Go again.
var built = sync.OnceValue(func() error {
	c := exec.Command("make", "deployer")
	c.Dir, c.Env = root, append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return nil
})

// make runs a target of the repository's Makefile.
func (b *bench) make(arguments ...string) (output string, err error) {
	if err := built(); err != nil {
		b.t.Fatal(err)
	}
	c := exec.CommandContext(b.t.Context(), "make", append([]string{"--no-print-directory", "-o", "deployer"}, arguments...)...)
	c.Dir, c.Env = root, b.env
	out, err := c.CombinedOutput()
	return string(out), err
}

// sam returns the arguments of each call of the SAM CLI.
func (b *bench) sam() [][]string {
	b.t.Helper()
	text, err := os.ReadFile(b.calls)
	if err != nil {
		return nil // never called
	}
	var calls [][]string
	for call := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
		calls = append(calls, strings.Split(call, "\n"))
	}
	return calls
}

func TestMakeDeployBuildsAndDeploysDevWithTheFilesParameters(t *testing.T) {
	b := newBench(t, "1000")
	out, err := b.make("deploy", "ENV=dev", "YES=1", `PARAMETERS=LogLevel=INFO JwtAudience="two words" SeedScheduleInput="{\"action\": \"pause\"}"`)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls := b.sam()
	if len(calls) != 2 {
		t.Fatalf("sam was called %q\n%s", calls, out)
	}
	file, err := filepath.Abs(filepath.Join(root, "infra", "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}
	config := []string{"--config-file", file, "--config-env", "dev"}
	if diff := cmp.Diff(append(append([]string{"build"}, config...), "--build-dir", ".build/sam"), calls[0]); diff != "" {
		t.Errorf("sam (-want +got):\n%s", diff)
	}
	want := append(append([]string{"deploy"}, config...), "--template-file", ".build/sam/template.yaml", "--no-confirm-changeset", "--parameter-overrides")
	words, overrides := calls[1][:len(want)], calls[1][len(want):]
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("sam (-want +got):\n%s", diff)
	}
	for _, override := range []string{
		`LogLevel="INFO"`, `JwtAudience="two words"`, `SeedScheduleInput="{\"action\": \"pause\"}"`, // from the command line
		`CreateUserPool="with-test-users"`, // from the file
		`ExistingTable=""`,                 // from the template
	} {
		if !slices.Contains(overrides, override) {
			t.Errorf("sam gets no %s:\n%s", override, strings.Join(overrides, "\n"))
		}
	}
	if strings.Contains(strings.Join(overrides, " "), "OriginSecret") {
		t.Error("a secret that was not given is set to an empty value, but the stack must keep it")
	}
	if !strings.Contains(out, "ok    Lambda concurrency") || strings.Contains(out, "FAIL") {
		t.Errorf("the preflight printed:\n%s", out)
	}
}

func TestMakeDeployAsksBeforeProdAndTakesASecretThatIsGiven(t *testing.T) {
	b := newBench(t, "1000")
	const secret = "0123456789abcdef0123456789abcdef"
	out, err := b.make("deploy", "ENV=prod", "PARAMETERS=CreateUserPool=true AlarmEmail=ops@example.com CreateFront=own OriginSecret="+secret)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	calls := b.sam()
	if len(calls) != 2 || strings.Contains(strings.Join(calls[1], " "), "confirm") || !slices.Contains(calls[1], `OriginSecret="`+secret+`"`) {
		t.Errorf("sam was called %q; want it to ask for confirmation as set in the file, and the secret", calls)
	}
}

func TestMakeDeployStopsBeforeSAMIfThePreflightFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, says, concurrency string
		git, aws                string // another program
		arguments               []string
	}{
		{"a new account whose quota reserves nothing", "allows 10 (concurrent executions), of which 0", "10", "", "",
			[]string{"ENV=prod", "PARAMETERS=JwtIssuer=https://127.0.0.1:1 JwtAudience=shop AlarmEmail=ops@example.com"}},
		{"no environment", "there are: dev, prod", "1000", "", "", nil},
		{"prod with uncommitted changes", "1 files are not committed", "1000", "echo ' M x.go'\n", "", []string{"ENV=prod"}},
		{"no credentials", "Unable to locate credentials", "1000", "", "echo Unable to locate credentials >&2; exit 255\n", []string{"ENV=dev"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.concurrency)
			for name, script := range map[string]string{"git": tt.git, "aws": tt.aws} {
				if script != "" {
					b.program(name, script)
				}
			}
			out, err := b.make(append([]string{"deploy", "YES=1"}, tt.arguments...)...)
			if err == nil || !strings.Contains(out, tt.says) || b.sam() != nil {
				t.Errorf("%v, sam was called %q, want a failure with %q before it:\n%s", err, b.sam(), tt.says, out)
			}
		})
	}
}

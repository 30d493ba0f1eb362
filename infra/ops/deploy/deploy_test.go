package deploy

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"flashsale/infra/kit/samconfig"
	"flashsale/infra/ops/cli"
	"flashsale/infra/ops/deploy/packaged"
	"flashsale/infra/ops/target"
	"flashsale/infra/ops/target/targettest"
	"flashsale/shared/sale"
)

// bench is a machine on which the test provides sam and git, and AWS is an account with its default quotas and no stack.
type bench struct {
	t     *testing.T
	calls string // file with the arguments of sam's calls
	stdin io.Reader
}

// samCLI looks for its configuration file from the folder of the template that it is given
// (aws/aws-sam-cli issue 7575), and builds a program for each function into the given folder.
const samCLI = `config=samconfig.toml folder=. before=
for word; do
	case $before in --config-file) config=$word;; --template-file) folder=$(dirname "$word");; esac
	before=$word
done
case $config in /*) ;; *) config=$folder/$config;; esac
[ -f "$config" ] || { echo "Error: Config file $config does not exist or could not be read!" >&2; exit 1; }
{ for word; do printf '%s\n' "$word"; done; echo; } >>CALLS
if [ "$1" = build ]; then
	while [ "$1" != --build-dir ]; do shift; done
	mkdir -p "$2"; cp template.yaml "$2/"
	for f in Purchase Finalize Query Seed Operate Reconcile Release Draw Page Pay Publish; do mkdir -p "$2/${f}Function"; echo "$f" >"$2/${f}Function/bootstrap"; done
elif ! grep -q AutoPublishCodeSha256 "$folder/template.yaml"; then
	echo "the functions have no fingerprints" >&2; exit 1
elif [ -z "$(find "$config" -perm 600)" ]; then
	echo "anybody can read the parameters" >&2; exit 1
else
	cp "$config" CALLS.toml
fi
`

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, calls: filepath.Join(t.TempDir(), "calls"), stdin: strings.NewReader("")}
	b.program("sam", strings.ReplaceAll(samCLI, "CALLS", b.calls))
	b.program("git", "true\n")
	targettest.Account(t, targettest.Services(targettest.Quotas(1000, 1000)))
	return b
}

func (b *bench) program(name, script string) { targettest.Program(b.t, name, script) }

func own(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkout changes to a folder that has what the command reads of a checkout.
func (b *bench) checkout() (folder string) {
	b.t.Helper()
	folder = b.t.TempDir()
	for _, file := range []string{"template.yaml", "infra/samconfig.toml"} {
		targettest.File(b.t, filepath.Join(folder, file), own(b.t, file))
	}
	b.t.Chdir(folder)
	return folder
}

// release makes a release of programs that are only texts, and changes to an empty folder.
func (b *bench) release(version string) (folder string) {
	b.t.Helper()
	folder = b.t.TempDir()
	for _, f := range functions(b.t, filepath.Join(root, "template.yaml"), nil) {
		targettest.File(b.t, filepath.Join(folder, f.id+".zip"), f.id)
	}
	template := string(packaged.Template([]byte(own(b.t, "template.yaml"))))
	targettest.File(b.t, filepath.Join(folder, "template.yaml"), strings.Replace(template, "Value: "+sale.ProgramVersion, "Value: "+version, 1))
	targettest.File(b.t, filepath.Join(folder, "samconfig.toml"), own(b.t, "infra/samconfig.toml"))
	list, err := packaged.List(folder)
	if err != nil {
		b.t.Fatal(err)
	}
	targettest.File(b.t, filepath.Join(folder, packaged.Sums), string(list))
	b.t.Chdir(b.t.TempDir())
	return folder
}

func (b *bench) run(ctx context.Context, words ...string) (code int, stdout, stderr string) {
	root, where := &cobra.Command{Use: "flashsale"}, &target.Flags{}
	where.Add(root.PersistentFlags())
	root.AddGroup(cli.Developers)
	root.AddCommand(cli.Noun("stack", "", Commands(where)...), Version(where))
	var out, errs bytes.Buffer
	root.SetIn(b.stdin)
	root.SetOut(&out)
	root.SetErr(&errs)
	code = cli.Execute(ctx, root, words)
	return code, out.String(), errs.String()
}

// refused runs a command line that must end with that code and that sentence, and does not call sam.
func (b *bench) refused(want int, says string, words ...string) {
	b.t.Helper()
	if code, out, errs := b.run(b.t.Context(), words...); code != want || !strings.Contains(out+errs, says) || b.sam() != nil {
		b.t.Errorf("%q: exit %d, want %d and %q; sam was called %q:\n%s%s", words, code, want, says, b.sam(), out, errs)
	}
}

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

// overrides are the parameters that sam has read from the configuration file at its last deployment, which is gone.
func (b *bench) overrides(environment string) map[string]string {
	b.t.Helper()
	calls := b.sam()
	e, err := samconfig.Read(b.calls+".toml", environment)
	if err != nil || e.StackName != "flashsale-"+environment {
		b.t.Fatalf("sam was given %+v, %v", e, err)
	}
	if handed := calls[len(calls)-1][2]; handed != "" {
		if _, err := os.Stat(handed); err == nil {
			b.t.Errorf("%s is left", handed)
		}
	}
	return e.Parameters
}

func TestACheckoutIsBuiltAndDeployedWithTheFilesParameters(t *testing.T) {
	b := newBench(t)
	folder := b.checkout()
	code, out, errs := b.run(t.Context(), "stack", "deploy", "--env", "dev", "--yes", "--parameters",
		`LogRetentionDays=14 JwtAudience="two words" SeedScheduleInput="{\"action\": \"pause\"}"`)
	calls := b.sam()
	if code != 0 || len(calls) != 2 {
		t.Fatalf("exit %d, sam was called %q\n%s%s", code, calls, out, errs)
	}
	config := []string{"--config-file", filepath.Join(folder, "infra", "samconfig.toml"), "--config-env", "dev"}
	if diff := cmp.Diff(append(append([]string{"build"}, config...), "--build-dir", ".build/sam"), calls[0]); diff != "" {
		t.Errorf("sam (-want +got):\n%s", diff)
	}
	overrides := b.overrides("dev")
	calls[1][2] = config[1]
	if diff := cmp.Diff(append(append([]string{"deploy"}, config...), "--template-file", ".build/sam/template.yaml", "--no-confirm-changeset"), calls[1]); diff != "" {
		t.Errorf("sam (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{
		"LogRetentionDays": "14", "JwtAudience": "two words", "SeedScheduleInput": `{"action": "pause"}`, // from the command line
		"CreateUserPool": "with-test-users", // from the file
		"ExistingTable":  "",                // from the template
	} {
		if got, given := overrides[name]; got != want || !given {
			t.Errorf("sam gets %s=%q, %t, want %q", name, got, given, want)
		}
	}
	if _, given := overrides["OriginSecret"]; given {
		t.Error("a secret that was not given is set to an empty value, but the stack must keep it")
	}
	if !strings.Contains(errs, "ok    Lambda concurrency") || strings.Contains(errs, "FAIL") {
		t.Errorf("the preflight printed:\n%s", errs)
	}
}

// seat is a terminal at which somebody types.
type seat struct{ io.Reader }

func (seat) OnTerminal() bool { return true }

func TestSamAsksBeforeProdIsChangedAndTakesASecretThatIsGiven(t *testing.T) {
	b := newBench(t)
	b.checkout()
	const secret = "0123456789abcdef0123456789abcdef"
	file := filepath.Join(t.TempDir(), "secret")
	targettest.File(t, file, "OriginSecret="+secret+"\nCreateFront=own\n")
	words := []string{"stack", "deploy", "--env", "prod", "--parameters", "CreateUserPool=true AlarmEmail=ops@example.com", "--parameters", "file://" + file}
	b.refused(cli.ExitUsage, "OriginSecret is a secret, and everybody on this machine can read a command line", append(words, "--parameters", "OriginSecret="+secret)...)
	b.refused(cli.ExitUsage, "--parameters: read parameters: open none: no such file", append(words, "--parameters", "file://none")...)
	b.refused(cli.ExitUsage, "there is no terminal: give --yes", words...)
	code, out, errs := b.run(t.Context(), append(words, "--dry-run")...)
	if code != 0 || b.sam() != nil || !strings.Contains(out, `would run: sam "deploy"`) || !strings.Contains(out, `OriginSecret="***"`) || strings.Contains(out+errs, secret) {
		t.Errorf("dry: exit %d, sam was called %q\n%s%s", code, b.sam(), out, errs)
	}
	b.stdin = seat{strings.NewReader("")}
	code, out, errs = b.run(t.Context(), words...)
	calls := b.sam()
	if code != 0 || len(calls) != 2 || strings.Contains(strings.Join(calls[1], " "), "confirm") || strings.Contains(fmt.Sprint(calls), secret) || b.overrides("prod")["OriginSecret"] != secret {
		t.Errorf("exit %d, sam was called %q; want it to ask for confirmation as set in the file, and the secret\n%s%s", code, calls, out, errs)
	}
}

func TestWhatCannotBeDeployedIsRefusedBeforeSamIsCalled(t *testing.T) {
	prod := []string{"--env", "prod", "--parameters", "CreateUserPool=true AlarmEmail=ops@example.com"}
	dev := func(more ...string) []string { return append([]string{"--env", "dev"}, more...) }
	quotas := func(action, answer string) map[string]string {
		all := targettest.Quotas(1000, 1000)
		all[action] = answer
		return all
	}
	for _, tt := range []struct {
		name  string
		code  int
		says  string
		git   string            // another program
		aws   map[string]string // other services
		flags []string
	}{
		{"a new account whose quota reserves nothing", 1, "allows 10 (concurrent executions), of which 0", "", targettest.Quotas(10, 10), prod},
		{"prod with uncommitted changes", 1, "1 files are not committed", "echo ' M x.go'\n", nil, prod},
		{"an expired token", 2, "expired: sign in again", "", quotas("GetCallerIdentity", "refused: ExpiredToken: The security token"), dev()},
		{"no environment", 64, `--env: "": no such environment; there are: dev, prod`, "", nil, nil},
		{"an unknown environment", 64, `"prd"`, "", nil, []string{"--env", "prd"}},
		{"a parameter without value", 64, `--parameters: read parameters: "AlarmEmail"`, "", nil, dev("--parameters", "AlarmEmail")},
		{"a folder that is no release", 2, "SHA256SUMS: no such file", "", nil, dev("--release", "infra")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			b.checkout()
			if tt.git != "" {
				b.program("git", tt.git)
			}
			if tt.aws != nil {
				targettest.Account(t, targettest.Services(tt.aws))
			}
			b.refused(tt.code, tt.says, append([]string{"stack", "deploy", "--yes"}, tt.flags...)...)
		})
	}
	b := newBench(t)
	b.checkout()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	b.refused(2, "there are no AWS credentials", "stack", "deploy", "--env", "dev")
	t.Chdir(t.TempDir())
	b.refused(64, "change to a checkout, or give --release", "stack", "deploy", "--env", "dev")
	b.checkout()
	t.Setenv("PATH", t.TempDir())
	b.refused(2, "the SAM CLI, sam, is not on the PATH", "stack", "deploy", "--env", "dev")
	b.refused(1, "FAIL  parameters", "stack", "preflight", "--env", "dev", "--offline", "--parameters", "LogRetentionDays=8")
	if code, out, errs := b.run(t.Context(), "stack", "preflight", "--env", "dev", "--offline"); code != 0 || !strings.Contains(out, "neither the account") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

func TestADeploymentThatFailsOrIsInterruptedSaysSo(t *testing.T) {
	b := newBench(t)
	b.checkout()
	b.program("sam", "exit 3\n")
	b.refused(cli.ExitBad, "NOT DEPLOYED: sam build: exit status 3", "stack", "deploy", "--env", "dev")
	b.program("sam", "trap 'echo cleaned up; exit 1' INT; touch running; while :; do sleep 0.02; done\n")
	ctx, interrupt := context.WithCancel(t.Context())
	go func() {
		for ; ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat("running"); err == nil {
				interrupt()
			}
		}
	}()
	code, out, errs := b.run(ctx, "stack", "deploy", "--env", "dev")
	if code != cli.ExitUnknown || out != "cleaned up\n" || !strings.Contains(errs, "interrupted; what CloudFormation has begun it goes on with; repeat the command afterwards\n") {
		t.Errorf("exit %d, %q:\n%s", code, out, errs)
	}
}

func TestAReleaseIsDeployedFromAnyFolderWithoutBuilding(t *testing.T) {
	b := newBench(t)
	folder := b.release(sale.ProgramVersion)
	for i, at := range []string{"elsewhere", "in it", "in a checkout"} {
		words := []string{"stack", "deploy", "--env", "dev", "--yes", "--release", folder}
		days := "7"
		switch at {
		case "in it":
			t.Chdir(folder)
			words = words[:5]
		case "in a checkout":
			days = "14"
			targettest.File(t, filepath.Join(b.checkout(), "infra", "samconfig.toml"), strings.Replace(own(t, "infra/samconfig.toml"), "LogRetentionDays=7", "LogRetentionDays="+days, 1))
		}
		code, out, errs := b.run(t.Context(), words...)
		calls := b.sam()
		if code != 0 || len(calls) != i+1 || calls[i][0] != "deploy" {
			t.Fatalf("%s: exit %d, sam was called %q\n%s%s", at, code, calls, out, errs)
		}
		if got := b.overrides("dev")["LogRetentionDays"]; got != days {
			t.Errorf("%s: sam gets LogRetentionDays=%s, want %s", at, got, days)
		}
		if _, err := os.Stat(calls[i][6]); err == nil {
			t.Errorf("%s: %s is left", at, calls[i][6])
		}
	}
}

func TestOnlyAWholeReleaseOfThisCommandIsDeployed(t *testing.T) {
	b := newBench(t)
	deploy := func(folder string) []string { return []string{"stack", "deploy", "--env", "dev", "--release", folder} }
	for says, spoil := range map[string]func(zip string) error{
		"is not that of its SHA256SUMS": func(zip string) error { return os.WriteFile(zip, []byte("cut off"), 0o644) },
		"download the release's files":  os.Remove,
	} {
		folder := b.release(sale.ProgramVersion)
		if err := spoil(filepath.Join(folder, "PayFunction.zip")); err != nil {
			t.Fatal(err)
		}
		b.refused(cli.ExitBad, says, deploy(folder)...)
	}
	folder := b.release("9.0.0")
	b.refused(cli.ExitUnknown, "use the command of that release", deploy(folder)...)
	b.checkout()
	b.refused(cli.ExitBad, "is not this checkout's", deploy(folder)...)
}

func TestTheVersionIsThatOfTheCommandAndOfTheStack(t *testing.T) {
	b := newBench(t)
	version := ""
	stack := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"table":"T","version":%q}`, version)
	}))
	defer stack.Close()
	t.Setenv("FLASHSALE_URL", stack.URL)
	own := fmt.Sprintf("flashsale %s (%s/%s)\n", sale.ProgramVersion, runtime.GOOS, runtime.GOARCH)
	json := fmt.Sprintf("{\n  \"version\": %q,\n  \"os\": %q,\n  \"arch\": %q,\n  \"stack\": \"9.0.0\",\n  \"api\": %q,\n  \"newer\": true\n}\n",
		sale.ProgramVersion, runtime.GOOS, runtime.GOARCH, stack.URL)
	const newer = "the stack runs 9.0.0, this is flashsale " + sale.ProgramVersion + ": get that release\n"
	for _, tt := range []struct{ version, form, out, errs string }{
		{sale.ProgramVersion, "table", own + "stack " + sale.ProgramVersion + " at " + stack.URL + "\n", ""},
		{"", "table", own + "stack of an unknown version at " + stack.URL + "\n", ""},
		{"9.0.0", "table", own + "stack 9.0.0 at " + stack.URL + "\n", newer},
		{"9.0.0", "json", json, newer},
		{"none", "table", own + "no stack answers at " + stack.URL + "\n", ""},
	} {
		if version = tt.version; version == "none" {
			stack.Close()
		}
		if code, out, errs := b.run(t.Context(), "version", "--output", tt.form); code != 0 || out != tt.out || !strings.HasSuffix(errs, tt.errs) {
			t.Errorf("%q: exit %d, %q, %q, want %q, %q", tt.version, code, out, errs, tt.out, tt.errs)
		}
	}
	b.refused(cli.ExitUnknown, "does not answer", "version", "--url", stack.URL)
}

package drill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/launch"
	"flashsale/shared/ledger"
)

const (
	// patience bounds every wait: reconcile runs every minute, and a lost message is due
	// after one.
	patience = 150 * time.Second
	// tries is how often a buyer repeats what was "busy" or got no answer.
	tries = 60
	table = "LedgerTable"
)

// A stack is a local stack in its own process, built from the project but for the
// functions' programs that are put in the place of others.
type stack struct {
	*launch.Stack
	root   string // what it takes for the project: links to it
	data   string
	client *client.Client
}

// boot starts a stack with empty data, until the test ends.
func boot(t *testing.T, more ...string) *stack {
	t.Helper()
	s := &stack{root: t.TempDir(), data: filepath.Join(t.TempDir(), ".local")}
	if err := launch.Link("../../..", s.root, nil); err != nil {
		t.Fatal(err)
	}
	s.prepare(t, launch.Built("../../.."), append([]string{"-root", s.root}, more...)...)
	s.start(t)
	return s
}

// prepare gives the stack ports, and stops it with the test.
func (s *stack) prepare(t *testing.T, program string, arguments ...string) {
	t.Helper()
	var err error
	if s.Stack, err = launch.New(program, s.data, arguments...); err != nil {
		t.Fatal(err)
	}
	s.client = client.New(s.API, client.Options{Lambda: s.Lambda, Connections: 64, Timeout: 30 * time.Second})
	t.Cleanup(func() {
		if !s.Ended() {
			s.stop(t)
		}
		s.client.Close()
		if t.Failed() {
			t.Logf("the stack said:\n%s", s.Output)
		}
	})
}

// start starts it as make run does, and waits until it serves.
func (s *stack) start(t *testing.T) {
	t.Helper()
	if err := s.StartWithin(time.Minute); err != nil {
		t.Fatal(err)
	}
}

// stop ends it as Ctrl-C does.
func (s *stack) stop(t *testing.T) {
	t.Helper()
	if err := s.Stop(time.Minute); err != nil {
		t.Errorf("%v\n%s", err, s.Output)
	}
}

// log is what the functions have printed.
func (s *stack) log(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.data, "functions.log"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// elsewhere is how a command finds this stack and not one on the usual ports.
func (s *stack) elsewhere() []string {
	env := []string{"DATA=" + s.data, "AWS_EC2_METADATA_DISABLED=true", "TABLE=" + table, "MAKEFLAGS=", "MAKELEVEL="}
	for i, name := range []string{"API_PORT", "LAMBDA_PORT", "DYNAMODB_PORT", "SQS_PORT"} {
		env = append(env, name+"="+strconv.Itoa(s.Ports[i]))
	}
	return env
}

// shell runs a command of the runbook and returns what it says and whether it succeeded.
// The operator's program is built once, before the tests.
func (s *stack) shell(t *testing.T, command string) (string, bool) {
	t.Helper()
	const once = `make() { command make -s --no-print-directory -o operator "$@"; }` + "\nunset TABLE\n"
	return s.bash(t, once+command)
}

func (s *stack) bash(t *testing.T, script string) (string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-c", script)
	bash.Dir, bash.Env = "../../..", append(os.Environ(), s.elsewhere()...)
	out, err := bash.CombinedOutput()
	return string(out), err == nil
}

// update sends what a call of the AWS CLI would send. The shell itself takes the call
// apart; its options are the members of DynamoDB's request.
func (s *stack) update(t *testing.T, call string) (string, bool) {
	t.Helper()
	words, ok := s.bash(t, "aws() { printf '%s\\n' \"$@\"; }\n"+call)
	options := strings.Split(strings.TrimSpace(words), "\n")
	if !ok || len(options) < 4 || options[0] != "dynamodb" || options[1] != "update-item" {
		t.Fatalf("no update: %s", words)
	}
	request := map[string]any{}
	for n := 2; n+1 < len(options); n += 2 {
		name := ""
		for part := range strings.SplitSeq(strings.TrimPrefix(options[n], "--"), "-") {
			name += strings.ToUpper(part[:1]) + part[1:]
		}
		if value := options[n+1]; strings.HasPrefix(value, "{") {
			request[name] = json.RawMessage(value)
		} else {
			request[name] = value
		}
	}
	body, err := json.Marshal(request)
	if err != nil {
		t.Fatalf("%s: %v", words, err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.DynamoDB, strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.UpdateItem")
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("X-Amz-Date", time.Now().UTC().Format("20060102T150405Z"))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=local")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(said), answer.StatusCode == http.StatusOK
}

func (s *stack) db() *dynamodb.Client { return launch.Table(s.DynamoDB) }

// ledgerAgo is the table as a function that ran that long ago would write it.
func (s *stack) ledgerAgo(ago time.Duration) *ledger.Ledger {
	return ledger.New(s.db(), table, ledger.Options{Now: func() time.Time { return time.Now().Add(-ago) }})
}

// send puts messages into the order queue, where they stay hidden for some seconds.
func (s *stack) send(t *testing.T, hidden int32, bodies ...string) {
	t.Helper()
	queue := s.SQS + "/000000000000/OrderQueue"
	api := launch.Queues(s.SQS)
	for _, body := range bodies {
		if _, err := api.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body, DelaySeconds: hidden}); err != nil {
			t.Fatal(err)
		}
	}
}

// deployFinalize puts a program in the place of finalize's and starts the stack again.
// Without a program it is the project's own.
func (s *stack) deployFinalize(t *testing.T, script string) {
	t.Helper()
	s.stop(t)
	bootstrap := filepath.Join(s.root, ".build/host/FinalizeFunction/bootstrap")
	if err := os.Remove(bootstrap); err != nil {
		t.Fatal(err)
	}
	own, err := filepath.Abs("../../../.build/host/FinalizeFunction/bootstrap")
	if err == nil && script == "" {
		err = os.Symlink(own, bootstrap)
	} else if err == nil {
		err = os.WriteFile(bootstrap, []byte(script), 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.start(t)
}

// eligibility is a service that says yes to everybody, until it dies.
type eligibility struct {
	url  string
	dead atomic.Bool
}

func startEligibility(t *testing.T) *eligibility {
	e := &eligibility{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if e.dead.Load() {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		fmt.Fprint(w, `{"eligible":true}`)
	}))
	t.Cleanup(server.Close)
	e.url = server.URL
	return e
}

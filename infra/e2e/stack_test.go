// Package e2e drives the whole local stack from outside, as buyers, operators and
// accidents do: real processes, HTTP, kill -9. Every expectation is a promise of
// the documents; nothing of the implementation is used.
package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// patience bounds every wait for something that must happen.
const patience = 60 * time.Second

// stack is one local stack in its own process, with data and ports of its own.
type stack struct {
	t       *testing.T
	root    string
	data    string
	ports   [4]int // API, Lambda, DynamoDB, SQS
	process *exec.Cmd
	output  *bytes.Buffer
	client  *http.Client
	extra   []string
}

// boot starts a stack with empty data and stops it with the test.
func boot(t *testing.T, extra ...string) *stack {
	t.Helper()
	s := &stack{t: t, root: moduleRoot(t), data: t.TempDir(), extra: extra}
	s.client = &http.Client{Timeout: 30 * time.Second, Transport: s.checked(&http.Transport{MaxIdleConnsPerHost: 128})}
	for i := range s.ports {
		s.ports[i] = freePort(t)
	}
	s.start()
	t.Cleanup(func() {
		s.stop()
		s.client.CloseIdleConnections()
		if t.Failed() {
			t.Logf("the stack said:\n%s", tail(s.output.String()))
			if log, err := os.ReadFile(filepath.Join(s.data, "functions.log")); err == nil {
				t.Logf("the functions said:\n%s", tail(string(log)))
			}
		}
	})
	return s
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func tail(s string) string {
	const most = 4000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}

// start starts the process and waits until it is healthy.
func (s *stack) start() {
	s.t.Helper()
	binary := filepath.Join(s.root, ".build/host/local")
	if _, err := os.Stat(binary); err != nil {
		s.t.Fatalf("the stack is not built: run make test (%v)", err)
	}
	args := []string{
		"-api-port", strconv.Itoa(s.ports[0]), "-lambda-port", strconv.Itoa(s.ports[1]),
		"-dynamodb-port", strconv.Itoa(s.ports[2]), "-sqs-port", strconv.Itoa(s.ports[3]), "-data", s.data,
	}
	s.process = exec.Command(binary, append(args, s.extra...)...)
	s.process.Dir = s.root
	s.process.Env = append(os.Environ(), "AWS_EC2_METADATA_DISABLED=true")
	s.output = &bytes.Buffer{}
	s.process.Stdout, s.process.Stderr = s.output, s.output
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("the stack is healthy", func() bool {
		r, err := s.client.Get(s.api("/_local/health"))
		if err != nil {
			return false
		}
		defer r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

// stop ends the process as Ctrl-C does.
func (s *stack) stop() {
	if s.process == nil {
		return
	}
	_ = s.process.Process.Signal(os.Interrupt)
	done := make(chan struct{})
	go func() {
		_ = s.process.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(patience):
		s.t.Error("the stack does not stop")
		_ = s.process.Process.Kill()
		<-done
	}
	s.process = nil
}

// kill ends the process with -9.
func (s *stack) kill() {
	_ = s.process.Process.Signal(syscall.SIGKILL)
	_ = s.process.Wait()
	s.process = nil
}

func (s *stack) eventually(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is() {
			return
		}
	}
	s.t.Fatalf("still not so after %v: %s\n%s", patience, what, tail(s.output.String()))
}

func (s *stack) api(path string) string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", s.ports[0], path)
}

// answer is what came back over HTTP.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	raw    string
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.status, a.raw) }

func (a answer) text(name string) string {
	s, _ := a.body[name].(string)
	return s
}

// call makes one request; header is a list of names and values.
func (s *stack) call(method, path, body string, header ...string) (answer, error) {
	request, err := http.NewRequest(method, s.api(path), strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	return s.do(request)
}

func (s *stack) do(request *http.Request) (answer, error) {
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: response.StatusCode, header: response.Header, raw: string(raw)}
	if len(raw) > 0 && raw[0] == '{' {
		if err := json.Unmarshal(raw, &a.body); err != nil {
			return a, fmt.Errorf("body %q: %w", raw, err)
		}
	}
	return a, nil
}

func (s *stack) must(a answer, err error) answer {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// token is a signed token; more is added to the query, such as "ttl=-60".
func (s *stack) token(user string, more ...string) string {
	s.t.Helper()
	r, err := s.client.Get(s.api("/_local/token?sub=" + url.QueryEscape(user) + "&" + strings.Join(more, "&")))
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		s.t.Fatalf("token: %d %s %v", r.StatusCode, raw, err)
	}
	return string(raw)
}

// bearer is the header of a user.
func (s *stack) bearer(user string) []string {
	s.t.Helper()
	return []string{"Authorization", "Bearer " + s.token(user)}
}

// buy makes a purchase. Told that the user has sent too many, it waits for as long as
// Retry-After says and repeats the request, as every client should.
func (s *stack) buy(saleID string, header ...string) (a answer, err error) {
	for range 5 {
		a, err = s.call("POST", "/sales/"+saleID+"/orders", "", header...)
		if err != nil || a.text("code") != "too-many-requests" {
			break
		}
		seconds, err := strconv.Atoi(a.header.Get("Retry-After"))
		if err != nil || seconds < 1 || seconds > 3 {
			return a, fmt.Errorf("Retry-After %q beside 429", a.header.Get("Retry-After"))
		}
		time.Sleep(time.Duration(seconds) * time.Second)
	}
	return a, err
}

// seed invokes SeedFunction as `aws lambda invoke` does; it returns the payload
// and the function error.
func (s *stack) seed(payload string) (map[string]any, string) {
	s.t.Helper()
	r, err := s.client.Post(fmt.Sprintf("http://127.0.0.1:%d/2015-03-31/functions/SeedFunction/invocations", s.ports[1]),
		"application/json", strings.NewReader(payload))
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil || r.StatusCode != http.StatusOK {
		s.t.Fatalf("seed %s: %d %v %v", payload, r.StatusCode, body, err)
	}
	return body, r.Header.Get("X-Amz-Function-Error")
}

// open creates a sale that is open for an hour.
func (s *stack) open(saleID string, stock, shards int) {
	s.t.Helper()
	s.create(saleID, stock, shards, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
}

func (s *stack) create(saleID string, stock, shards int, opens, closes time.Time) {
	s.t.Helper()
	body, failed := s.seed(fmt.Sprintf(`{"action":"create","saleId":%q,"opensAt":%q,"closesAt":%q,"stock":%d,"shards":%d}`,
		saleID, opens.UTC().Format(time.RFC3339Nano), closes.UTC().Format(time.RFC3339Nano), stock, shards))
	if failed != "" || body["applied"] != true {
		s.t.Fatalf("create %s: %v %s", saleID, body, failed)
	}
}

func (s *stack) credentials() aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider("local", "local", "")
}

func (s *stack) table() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		BaseEndpoint: aws.String(fmt.Sprintf("http://127.0.0.1:%d", s.ports[2])), Region: "us-east-1", Credentials: s.credentials(),
	})
}

func (s *stack) queues() *sqs.Client {
	return sqs.New(sqs.Options{
		BaseEndpoint: aws.String(fmt.Sprintf("http://127.0.0.1:%d", s.ports[3])), Region: "us-east-1", Credentials: s.credentials(),
	})
}

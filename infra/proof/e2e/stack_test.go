// Package e2e drives the whole local stack from outside, as buyers, operators and
// accidents do: real processes, HTTP, kill -9. Every expectation is a documented
// promise; the tests use nothing of the implementation.
package e2e

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/wait"
	"flashsale/infra/local/launch"
)

// patience bounds every wait.
const patience = 60 * time.Second

// TestMain lets more tests run at once than there are processors: they wait more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// stack is one local stack in its own process, with its own data and ports.
type stack struct {
	t      *testing.T
	root   string
	data   string
	at     *launch.Stack
	client *client.Client
	extra  []string
}

// boot starts a stack with empty data and stops it with the test.
func boot(t *testing.T, extra ...string) *stack {
	t.Helper()
	s := &stack{t: t, root: moduleRoot(t), data: t.TempDir(), extra: extra}
	var err error
	if s.at, err = launch.New(launch.Built(s.root), s.data); err != nil {
		t.Fatal(err)
	}
	s.at.Command.Dir = s.root
	s.client = client.New(s.at.API, client.Options{
		Lambda: s.at.Lambda, Timeout: 30 * time.Second, Transport: s.checked(&http.Transport{MaxIdleConnsPerHost: 128}),
	})
	t.Cleanup(func() {
		s.stop()
		s.client.Close()
		if t.Failed() {
			t.Logf("the stack said:\n%s", s.at.Output)
			if log, err := os.ReadFile(filepath.Join(s.data, "functions.log")); err == nil {
				t.Logf("the functions said:\n%s", tail(string(log)))
			}
		}
	})
	s.start()
	return s
}

func moduleRoot(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
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
	arguments := s.at.Command.Args
	s.at.Command.Args = append(arguments[:len(arguments):len(arguments)], s.extra...)
	defer func() { s.at.Command.Args = arguments }()
	if err := s.at.StartWithin(patience); err != nil {
		s.t.Fatal(err)
	}
}

// stop ends the process gracefully.
func (s *stack) stop() {
	if s.at.Ended() {
		return
	}
	if err := s.at.Stop(patience); err != nil {
		s.t.Error(err)
	}
}

// kill ends the process with -9, and waits until its engine, which the kernel kills with
// it, has left its port.
func (s *stack) kill() {
	s.at.Kill()
	s.eventually("the engine has ended", func() bool {
		connection, err := net.Dial("tcp", strings.TrimPrefix(s.at.DynamoDB, "http://"))
		if err == nil {
			_ = connection.Close()
		}
		return errors.Is(err, syscall.ECONNREFUSED)
	})
}

func (s *stack) eventually(what string, is func() bool) {
	s.t.Helper()
	wait.Until(s.t, patience, what, is)
}

// answer is an HTTP answer.
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
	return read(s.client.Send(context.Background(), method, path, body, header...))
}

// read returns an answer with its body as a JSON object, if it is one.
func read(from client.Answer, err error) (answer, error) {
	a := answer{status: from.Status, header: from.Header, raw: string(from.Body)}
	if err == nil && strings.HasPrefix(a.raw, "{") {
		if err = json.Unmarshal(from.Body, &a.body); err != nil {
			err = fmt.Errorf("body %q: %w", a.raw, err)
		}
	}
	return a, err
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
	var parameters []string
	for _, m := range more {
		name, value, _ := strings.Cut(m, "=")
		parameters = append(parameters, name, value)
	}
	token, err := s.client.Token(context.Background(), user, parameters...)
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// bearer is the header of a user.
func (s *stack) bearer(user string) []string {
	s.t.Helper()
	return []string{"Authorization", "Bearer " + s.token(user)}
}

// buy makes a purchase. If the user has sent too many requests, it waits for
// Retry-After and repeats the request, as every client should.
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

// finalAnswer is the answer to a user's purchase. "busy" says nothing about the sale: it is repeated,
// with the key by which the shop knows its own acceptance again.
func (s *stack) finalAnswer(saleID, user string) (a answer) {
	s.t.Helper()
	header := append(s.bearer(user), "Idempotency-Key", rand.Text())
	s.eventually("an answer to "+user, func() bool {
		a = s.must(s.buy(saleID, header...))
		return a.text("code") != "busy"
	})
	return a
}

// seed invokes SeedFunction as `aws lambda invoke` does; it returns the payload
// and the function error.
func (s *stack) seed(payload string) (map[string]any, string) {
	s.t.Helper()
	a := s.invoke(client.SeedFunction, payload)
	return a.body, a.header.Get(client.FunctionError)
}

func (s *stack) invoke(function, payload string) answer {
	s.t.Helper()
	a, err := read(s.client.Invoke(context.Background(), function, []byte(payload)))
	if err != nil || a.status != http.StatusOK || a.body == nil {
		s.t.Fatalf("invoke %s with %s: %v, %v", function, payload, a, err)
	}
	return a
}

// open creates a sale that is open for an hour.
func (s *stack) open(saleID string, stock, shards int) {
	s.t.Helper()
	s.create(saleID, stock, shards, time.Now().Add(-time.Minute), time.Now().Add(time.Hour))
}

func (s *stack) create(saleID string, stock, shards int, opens, closes time.Time) {
	s.t.Helper()
	err := s.client.Seed(context.Background(), client.Sale{ID: saleID, OpensAt: opens, ClosesAt: closes, Stock: stock, Shards: shards})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stack) table() *dynamodb.Client { return launch.Table(s.at.DynamoDB) }

func (s *stack) queues() *sqs.Client { return launch.Queues(s.at.SQS) }

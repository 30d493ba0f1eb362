// Package system runs the whole system as buyers, operators, attackers and accidents meet it: the real
// functions in their processes, over HTTP, with a real engine and queues. One stack serves all tests of
// the package. They show what only a running stack can show: one sale from end to end, the commands of
// the runbook during the accidents that they are for, the doors that attackers try, and kill -9.
//
// Every answer of the two APIs is checked against its document, and when all tests are done, no log
// may have a part of a token or anything else that was confided.
package system

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/golang-jwt/jwt/v5"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/issuer"
	"flashsale/infra/local/launch"
	"flashsale/infra/local/template"
	"flashsale/infra/proof/contract"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
)

const (
	// project is the project's folder, in which make host builds.
	project = "../../.."
	// patience bounds every wait: reconcile runs every minute, and a lost message is due
	// after one.
	patience = 150 * time.Second
	// tries is how often a buyer repeats what was "busy" or got no answer.
	tries = 60
	table = "LedgerTable"
)

// programs are the functions' that the race detector watches: what it finds is in their log.
var programs = flag.String("programs", "", "a folder of programs in place of the functions' own")

// drawTimes are the shortest of a stack in which a draw can be interrupted between two steps.
var drawTimes = draw.Times{Settle: time.Second, Dice: 8 * time.Second, Gap: 4 * time.Second}

// A system is a local stack in its own process, built from the project but for the
// functions' programs that are put in the place of others.
type system struct {
	*launch.Stack
	root    string // what it takes for the project: links to it
	data    string
	client  *client.Client // holds answers against the contract
	plain   *client.Client
	output  *os.File         // all that it prints
	service *httptest.Server // of eligibility: it says yes to everybody, until it dies
	dead    atomic.Bool
	key     *rsa.PrivateKey // of the buyers' issuer
	routes  []template.Route

	broken   atomic.Int64 // answers outside the contract
	mu       sync.Mutex
	secrets  map[string]string            // what no log may have, with what it is
	promised map[string]map[string]string // claim ids by sale and user, as buyers were told
}

var (
	sharedOnce = sync.OnceValues(startShared)
	sharedOne  *system
)

// TestMain lets all accidents of one moment happen at once: they wait more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	code := m.Run()
	if sharedOne != nil {
		if err := sharedOne.end(code != 0); err != nil {
			fmt.Fprintln(os.Stderr, "FAIL:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// shared returns the stack of the whole package.
func shared(t *testing.T) visit {
	t.Helper()
	s, err := sharedOnce()
	if err != nil {
		t.Fatalf("%v (make host builds what the stack runs)", err)
	}
	return visit{s, t}
}

// startShared starts the stack with a demonstration sale, and with settings that shorten waits.
func startShared() (*system, error) {
	folder, err := os.MkdirTemp("", "flashsale-system-")
	if err != nil {
		return nil, err
	}
	s := &system{root: filepath.Join(folder, "project"), data: filepath.Join(folder, ".local"), secrets: map[string]string{}, promised: map[string]map[string]string{}}
	sharedOne = s
	s.service = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if s.dead.Load() {
			panic(http.ErrAbortHandler) // the connection breaks
		}
		fmt.Fprint(w, `{"eligible":true}`)
	}))
	if err := launch.Link(project, s.root); err != nil {
		return nil, err
	}
	if *programs != "" {
		if err := s.link(*programs); err != nil {
			return nil, err
		}
	}
	if err := s.rewrite(nil); err != nil {
		return nil, err
	}
	if s.output, err = os.Create(filepath.Join(folder, "output")); err != nil {
		return nil, err
	}
	err = s.prepare("-root", s.root, "-demo-sale", "-parameter", "EligibilityUrl="+s.service.URL,
		"-variable", fmt.Sprint("DRAW_SETTLE_SECONDS=", drawTimes.Settle.Seconds()), "-variable", fmt.Sprint("DRAW_DICE_SECONDS=", drawTimes.Dice.Seconds()),
		"-variable", fmt.Sprint("DRAW_GAP_SECONDS=", drawTimes.Gap.Seconds()))
	if err != nil {
		return nil, err
	}
	if err := s.StartWithin(time.Minute); err != nil {
		return nil, err
	}
	described, err := template.Load(filepath.Join(project, "template.yaml"), template.Options{Parameters: map[string]string{"JwtIssuer": s.issuer(), "JwtAudience": audience}})
	if err != nil {
		return nil, err
	}
	s.routes = described.API.Routes
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if a, err := s.plain.Sale(context.Background(), "demo"); err == nil && a.Status == http.StatusOK {
			key, err := os.ReadFile(filepath.Join(s.data, "issuer-key.pem"))
			if err == nil {
				s.key, err = jwt.ParseRSAPrivateKeyFromPEM(key)
			}
			return s, err
		}
	}
	return nil, errors.New("the schedule seeds no demonstration sale")
}

// link puts programs in the place of the functions'.
func (s *system) link(programs string) error {
	programs, err := filepath.Abs(programs)
	places, none := filepath.Glob(filepath.Join(s.root, ".build/host/*Function/bootstrap"))
	err = errors.Join(err, none)
	for _, place := range places {
		err = errors.Join(err, os.Remove(place), os.Symlink(filepath.Join(programs, "functions"), place))
	}
	return err
}

// rewrite writes the stack's own copy of the template, in which a message that was not handled comes again
// after seconds, and which edit, if there is one, changes further.
func (s *system) rewrite(edit func(text string) (string, error)) error {
	whole, err := os.ReadFile(filepath.Join(project, "template.yaml"))
	if err != nil {
		return err
	}
	const visibility = "      VisibilityTimeout: 55 "
	text := strings.Replace(string(whole), visibility, "      VisibilityTimeout: 9 ", 1)
	if text == string(whole) {
		return fmt.Errorf("the template has no %q", visibility)
	}
	if edit != nil {
		if text, err = edit(text); err != nil {
			return err
		}
	}
	path := filepath.Join(s.root, "template.yaml")
	return errors.Join(os.Remove(path), os.WriteFile(path, []byte(text), 0o644))
}

// prepare gives the stack ports and a client.
func (s *system) prepare(arguments ...string) (err error) {
	if s.Stack, err = launch.New(launch.Built(project), s.data, arguments...); err != nil {
		return err
	}
	s.Command.Output = io.MultiWriter(s.Output, s.output)
	var checked http.RoundTripper = &http.Transport{MaxIdleConnsPerHost: 128}
	for api, port := range map[string]int{contract.Buyers: s.Ports[0], contract.Operators: s.Ports[4]} {
		c, err := contract.Open(api)
		if err != nil {
			return err
		}
		checked = &contract.Transport{
			Contract: c, Base: checked,
			Covers: func(r *http.Request) bool {
				return r.URL.Port() == strconv.Itoa(port) && !strings.HasPrefix(r.URL.Path, "/_local/")
			},
			Broken: func(err error) {
				s.broken.Add(1)
				fmt.Fprintln(os.Stderr, err)
			},
		}
	}
	s.client = client.New(s.API, client.Options{Lambda: s.Lambda, Connections: 64, Transport: checked})
	s.plain = client.New(s.API, client.Options{Lambda: s.Lambda, Connections: 16})
	return nil
}

// end stops the stack and looks at what it leaves behind.
func (s *system) end(failed bool) error {
	var found []error
	if s.Stack != nil && !s.Ended() {
		found = append(found, s.Stop(time.Minute))
	}
	s.service.Close()
	if n := s.broken.Load(); n > 0 {
		found = append(found, fmt.Errorf("%d answers break the contract", n))
	}
	found = append(found, s.searchLogs()...)
	err := errors.Join(found...)
	folder := filepath.Dir(s.data)
	if failed || err != nil {
		fmt.Fprintln(os.Stderr, "data and logs are kept in", folder)
		return err
	}
	return os.RemoveAll(folder)
}

// start starts it as make run does, with further arguments for this time, and waits until it serves.
func (v visit) start(more ...string) {
	v.t.Helper()
	arguments := v.Command.Args
	v.Command.Args = append(arguments[:len(arguments):len(arguments)], more...)
	defer func() { v.Command.Args = arguments }()
	if err := v.StartWithin(time.Minute); err != nil {
		v.t.Fatal(err)
	}
}

// stop ends it as Ctrl-C does.
func (v visit) stop() {
	v.t.Helper()
	if err := v.Stop(time.Minute); err != nil {
		v.t.Errorf("%v\n%s", err, v.Output)
	}
}

// kill ends it with -9, and waits until its ports are free: the kernel kills its engine with it.
func (v visit) killStack() {
	v.t.Helper()
	v.Kill()
	for _, address := range []string{v.API, v.DynamoDB, v.SQS} {
		v.eventually(address+" is free", func() bool {
			connection, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
			if err == nil {
				_ = connection.Close()
			}
			return errors.Is(err, syscall.ECONNREFUSED)
		})
	}
}

// log is what the functions have printed.
func (v visit) log() []byte {
	v.t.Helper()
	text, err := os.ReadFile(filepath.Join(v.data, "functions.log"))
	if err != nil {
		v.t.Fatal(err)
	}
	return text
}

// elsewhere is how a command finds this stack and not one on the usual ports.
func (s *system) elsewhere() []string {
	bin, _ := filepath.Abs(filepath.Join(project, ".build/bin"))
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "FLASHSALE_URL=" + s.API, "FLASHSALE_ENV=",
		"DATA=" + s.data, "AWS_EC2_METADATA_DISABLED=true", "TABLE=" + table, "MAKEFLAGS=", "MAKELEVEL="}
	for i, name := range []string{"API_PORT", "LAMBDA_PORT", "DYNAMODB_PORT", "SQS_PORT", "OPERATE_PORT"} {
		env = append(env, name+"="+strconv.Itoa(s.Ports[i]))
	}
	return env
}

// shell runs a command of the documents and returns what it says and whether it succeeded.
func (v visit) shell(script string) (string, bool) {
	v.t.Helper()
	ctx, cancel := context.WithTimeout(v.t.Context(), patience)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-c", script)
	bash.Dir, bash.Env = project, append(os.Environ(), v.elsewhere()...)
	out, err := bash.CombinedOutput()
	return string(out), err == nil
}

// update sends what a call of the AWS CLI would send. The shell itself takes the call
// apart; its options are the members of DynamoDB's request.
func (v visit) update(call string) (string, bool) {
	v.t.Helper()
	words, ok := v.shell("aws() { printf '%s\\n' \"$@\"; }\n" + call)
	options := strings.Split(strings.TrimSpace(words), "\n")
	if !ok || len(options) < 4 || options[0] != "dynamodb" || options[1] != "update-item" {
		v.t.Fatalf("no update: %s", words)
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
		v.t.Fatalf("%s: %v", words, err)
	}
	a := v.send(http.MethodPost, v.DynamoDB, "/", string(body), "X-Amz-Target", "DynamoDB_20120810.UpdateItem", "Content-Type", "application/x-amz-json-1.0",
		"X-Amz-Date", time.Now().UTC().Format("20060102T150405Z"),
		"Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=local")
	return string(a.Body), a.Status == http.StatusOK
}

func (s *system) db() *dynamodb.Client { return launch.Table(s.DynamoDB) }

// ledgerAgo is the table as a function that ran that long ago would write it.
func (s *system) ledgerAgo(ago time.Duration) *ledger.Ledger {
	return ledger.New(s.db(), table, ledger.Options{Now: func() time.Time { return time.Now().Add(-ago) }})
}

// enqueue puts messages into the order queue, where they stay hidden for some seconds.
func (v visit) enqueue(hidden int32, bodies ...string) {
	v.t.Helper()
	queue := v.SQS + "/000000000000/OrderQueue"
	api := launch.Queues(v.SQS)
	for _, body := range bodies {
		if _, err := api.SendMessage(v.t.Context(), &sqs.SendMessageInput{QueueUrl: &queue, MessageBody: &body, DelaySeconds: hidden}); err != nil {
			v.t.Fatal(err)
		}
	}
}

func (s *system) issuer() string { return s.API + "/_local" }

// audience is the audience of the local stack's tokens.
const audience = "flashsale-local"

// fields are a token's claims.
type fields jwt.MapClaims

// with returns the fields with changes.
func (f fields) with(change fields) fields {
	changed := maps.Clone(f)
	maps.Copy(changed, change)
	return changed
}

// claims are those of a good token, with every scope that a route requires.
func (s *system) claims(user string) fields {
	now := time.Now().Unix()
	c := fields{"iss": s.issuer(), "sub": user, "aud": audience, "iat": now, "nbf": now, "exp": now + 3600}
	var scopes []string
	for _, r := range s.routes {
		scopes = append(scopes, r.Scopes...)
	}
	if len(scopes) > 0 {
		c["scope"] = strings.Join(scopes, " ")
	}
	return c
}

// token is a good token of the user.
func (s *system) token(user string) string { return s.signed(s.claims(user)) }

// signed returns a token with the issuer's signature over any claims.
func (s *system) signed(c fields) string { return s.forge(s.key, c) }

// forge signs with any key. Every token is recorded: no part of it may ever be logged.
func (s *system) forge(key *rsa.PrivateKey, claims fields) string {
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims(claims))
	token.Header["kid"] = issuer.KeyID
	text, err := token.SignedString(key)
	if err != nil {
		panic(err) // the tests' own keys
	}
	return s.remember(text)
}

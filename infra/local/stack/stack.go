// Package stack boots template.yaml on this machine: it reads the template and starts
// the local replacements of API Gateway, Lambda, DynamoDB and its streams, SQS, EventBridge
// and EventBridge Scheduler, each in its own package.
//
// It only wires these parts together. Routes, batch sizes, schedules and environment
// variables come from the template.
package stack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/local/beacon"
	"flashsale/infra/local/eventbus"
	"flashsale/infra/local/faults"
	"flashsale/infra/local/issuer"
	"flashsale/infra/local/lambda"
	"flashsale/infra/local/loopback"
	"flashsale/infra/local/providers"
	"flashsale/infra/local/sqs"
	"flashsale/infra/local/template"
)

// stopLimit is how long running requests may take when the stack stops; then they are cut off.
const stopLimit = 10 * time.Second

const (
	relaunches    = 5
	relaunchPause = 100 * time.Millisecond
)

type Stack struct {
	// API, Lambda, DynamoDB and SQS are URLs; Table is the table's name; FunctionLog is
	// the file with the functions' output.
	API, Lambda, DynamoDB, SQS, Table, FunctionLog string
	// Operate is the URL of the operators' page and API; empty if the template's parameters
	// create none.
	Operate string
	// EventBridge is a URL, and EventLog the file of the events; empty if no function
	// publishes any.
	EventBridge, EventLog string
	// Providers is the URL of the payment providers, where payments are given back.
	Providers string

	o         Options
	described *template.Stack
	issuer    *issuer.Issuer
	operators *issuer.Issuer // of the operators' tokens
	dice      *beacon.Relay
	functions *lambda.Service
	providers *providers.Providers
	// secretsManager is the URL of the secret of refunds.
	secretsManager string
	// cloudWatch is the URL of the alarms and the metrics.
	cloudWatch string
	bus        *eventbus.Server // nil if no function publishes events
	queues     *sqs.Server
	// given are the faults that the stack was started with, injected those in force.
	given    faults.Config
	injected atomic.Pointer[faultProxies]
	base     *http.Transport // to the engines
	// engine is the URL of the DynamoDB engine itself. It is DynamoDB if that is not the
	// stack's own.
	engine string
	// engines are DynamoDB's and SQS's URLs, proxied those of the proxies to them.
	engines [2]*url.URL
	proxied [2]string
	// killShare holds the bits of the share of answers at which the process is killed.
	killShare atomic.Uint64
	// crash makes the engine crash; nil if it is not the stack's own.
	crash        chan struct{}
	breaking     sync.Mutex
	environments map[string]map[string]string // of the functions
	began        time.Time
	// Forgot reports that the stack goes on with the data of an earlier one, whose queued
	// messages are gone.
	Forgot bool
	// Failed gets the error of a part that ended unexpectedly.
	Failed chan error

	background context.Context
	stopWork   context.CancelFunc
	work       sync.WaitGroup
	// closers stop the parts, last started first.
	closers []func() error
}

// Start boots the stack and returns once it serves. ctx bounds the start only.
func Start(ctx context.Context, o Options) (*Stack, error) {
	s := &Stack{o: o, began: time.Now(), Failed: make(chan error, 8)}
	s.background, s.stopWork = context.WithCancel(context.Background())
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context) error {
	var err error
	if s.given, err = faults.Parse(s.o.Faults); err != nil {
		return err
	}
	if err := s.openData(); err != nil {
		return err
	}
	ports := []int{s.o.APIPort, s.o.LambdaPort, s.o.SQSPort, s.o.OperatePort}
	if s.o.DynamoDBEndpoint == "" {
		ports = append(ports, s.o.DynamoDBPort)
	}
	var listeners [5]net.Listener
	for i, port := range ports {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		listeners[i] = l
		s.onStop(func() error { _ = l.Close(); return nil })
	}
	s.API, s.Lambda, s.SQS, s.Operate = address(listeners[0]), address(listeners[1]), address(listeners[2]), address(listeners[3])

	if s.described, err = s.load(nil); err != nil {
		return err
	}
	if err := s.describeForwarder(); err != nil {
		return err
	}
	if s.issuer, err = issuer.Open(s.o.Data, issuer.Options{
		URL: s.API + "/_local", Audience: audience, Read: s.readPublic, ImageOrigin: s.o.Parameters["ImageOrigin"],
	}); err != nil {
		return err
	}
	if s.dice, err = beacon.New(); err != nil {
		return err
	}
	if s.operators, err = issuer.Open(filepath.Join(s.o.Data, "operators"), issuer.Options{
		URL: s.Operate + "/_local", Audience: operatorsAudience, Client: issuer.OperatorsPage,
		Groups: map[string]string{"operator": "flashsale-operator", "viewer": "flashsale-viewer", "cashier": "flashsale-cashier"},
	}); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return s.startEngine(ctx, listeners[4]) },
		func(context.Context) error { return s.startQueues(listeners[2]) },
		func(context.Context) error { return s.startEventBus() },
		func(context.Context) error { return s.startFaults() },
		func(context.Context) error { return s.startProviders() },
		func(context.Context) error { return s.startFunctions(listeners[1]) },
		func(context.Context) error { s.startPollers(); return nil },
		s.startStreamPollers,
		func(context.Context) error { return s.startAPI(listeners[0]) },
		func(context.Context) error { return s.startOperators(listeners[3]) },
		func(context.Context) error { return s.startScheduler() },
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func address(l net.Listener) string { return "http://" + l.Addr().String() }

// load reads the template with the stack's parameters and those given.
func (s *Stack) load(more map[string]string) (*template.Stack, error) {
	parameters := map[string]string{
		"JwtIssuer": s.API + "/_local", "JwtAudience": audience,
		// Relative, so that the page also works as http://localhost.
		"SignInAuthorizeUrl": issuer.AuthorizePath, "SignInTokenUrl": issuer.TokenPath, "SignInClientId": issuer.PageClient,
		"CreateOperatorApi": "true", "OperatorIssuer": s.Operate + "/_local", "OperatorAudience": operatorsAudience,
		"OperatorSignInAuthorizeUrl": issuer.AuthorizePath, "OperatorSignInTokenUrl": issuer.TokenPath, "OperatorSignInClientId": issuer.OperatorsPage,
		"StripeKeysArn": secretARN + "stripe", "StripeEvents": "any", "StandardWebhooksKeysArn": secretARN + webhook.StandardWebhooks,
		"WeChatPayKeysArn": secretARN + webhook.WeChatPay, "AlipayKeysArn": secretARN + webhook.Alipay, "AdyenKeysArn": secretARN + webhook.Adyen,
		"RefundKeysArn": secretARN + refundKeys,
		"PaymentUrl":    payPath + "?order=", "PaymentLinkKeyArn": secretARN + paymentLink,
		"PublishEvents": "true",
	}
	if s.o.Issuer != "" { // how to sign in there, parameters say
		parameters["JwtIssuer"] = s.o.Issuer
		for _, name := range []string{"SignInAuthorizeUrl", "SignInTokenUrl", "SignInClientId"} {
			parameters[name] = ""
		}
	}
	maps.Copy(parameters, s.o.Parameters)
	maps.Copy(parameters, more)
	secrets, err := s.secrets()
	if err != nil {
		return nil, err
	}
	return template.Load(filepath.Join(s.o.Root, "template.yaml"), template.Options{
		Parameters: parameters,
		Strict:     []string{"PaymentUrl"}, // the buyer's page shows no other address
		Secrets:    secrets,
		QueueURL:   s.queueURL,
	})
}

const (
	paymentLink = "payment-link"
	refundKeys  = "refund"
)

// secrets are the signing secrets of webhooks, the key of payment links and the keys of refunds, by the ARN of
// their secret.
func (s *Stack) secrets() (map[string]string, error) {
	all := map[string]string{secretARN + paymentLink: webhook.LocalLinkKey, secretARN + refundKeys: webhook.LocalRefundKeys}
	for provider, secret := range webhook.LocalSecrets {
		all[secretARN+provider] = secret
	}
	if s.o.Secrets == "" {
		return all, nil
	}
	files, err := os.ReadDir(s.o.Secrets)
	if err != nil {
		return nil, fmt.Errorf("read secrets: %w", err)
	}
	for _, file := range files {
		if _, known := webhook.LocalSecrets[file.Name()]; !known && file.Name() != refundKeys {
			return nil, fmt.Errorf("read secrets: a file must be named %s or like a provider (%s), not %q", refundKeys, strings.Join(webhook.Providers, ", "), file.Name())
		}
		text, err := os.ReadFile(filepath.Join(s.o.Secrets, file.Name()))
		if err != nil {
			return nil, fmt.Errorf("read secrets: %w", err)
		}
		all[secretARN+file.Name()] = string(text)
	}
	return all, nil
}

func (s *Stack) onStop(stop func() error) { s.closers = append(s.closers, stop) }

// Stop shuts down in order: no new requests, running ones finish, then the functions,
// then the queue and the engine. It may be called once.
func (s *Stack) Stop() error {
	s.stopWork()
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	s.work.Wait()
	return errors.Join(errs...)
}

// serve runs an HTTP server until the stack stops, for this machine's programs and the pages
// that the rules accept.
func (s *Stack) serve(l net.Listener, h http.Handler, rules loopback.Rules) {
	server := &http.Server{
		Handler: rules.Handler(h), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(s.o.Log.Handler(), slog.LevelWarn),
	}
	s.work.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.fail(err)
		}
	})
	s.onStop(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		err := server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) { // DrawFunction may wait for minutes for the dice
			return server.Close()
		}
		return err
	})
}

// keep runs a part in the background until the stack stops. Its closer waits for it, so
// that parts started earlier outlive it.
func (s *Stack) keep(run func(context.Context) error) {
	done := make(chan struct{})
	s.work.Go(func() {
		defer close(done)
		if err := run(s.background); err != nil {
			s.fail(err)
		}
	})
	s.onStop(func() error { <-done; return nil })
}

func (s *Stack) fail(err error) {
	select {
	case s.Failed <- err:
	default: // the first failure ends the stack
	}
}

// Options are the options of a stack. All servers listen on 127.0.0.1.
type Options struct {
	// Root is the project's folder, with template.yaml and, below .build, the output of
	// `make host`.
	Root string
	// Data is the folder of the stack's state, which the next stack reuses: all but the
	// queues' messages.
	Data string
	// Ports; 0 takes a free one.
	APIPort, LambdaPort, DynamoDBPort, SQSPort, OperatePort int
	// Parameters override the template's.
	Parameters map[string]string
	// Issuer is another OpenID provider, whose tokens the API then takes instead of the stack's own; empty is none.
	Issuer string
	// Variables override those of the functions' environments.
	Variables map[string]string
	// DynamoDBEndpoint is an engine to use instead of the stack's own; empty starts its own.
	DynamoDBEndpoint string
	// DemoSale seeds a demonstration sale, by the template's own schedule, and PricedSale another, which asks for payment.
	DemoSale, PricedSale bool
	// Secrets is a folder with files of secrets, named like the providers whose own they replace, or refund; empty is none.
	Secrets string
	// EventsTo is an address to which every order event is sent as a signed webhook; empty sends none. EventsSecrets
	// sign them; empty is eventwebhook.LocalSecret.
	EventsTo, EventsSecrets string
	// AtOnce is how many executions of a function may run at a time.
	AtOnce int
	// Concurrency is the account's Lambda concurrency, invocations that wait for a place included; 0 is
	// a new account's, and ten times as many may wait.
	Concurrency int
	// KillAtResponse is the share, 0 to 1, of the functions' answers at which the
	// process is killed: the work is done and the reply is lost.
	KillAtResponse float64
	// Faults are the faults of the functions' calls to DynamoDB, SQS and EventBridge, and of
	// the queue's deliveries, in the syntax of package infra/local/faults; empty is none.
	Faults string
	Log    *slog.Logger
}

const (
	region, accountID = template.Region, template.AccountID
	// audience is the audience of local tokens, operatorsAudience that of the operators'.
	audience          = "flashsale-local"
	operatorsAudience = "flashsale-local-operators"
	// GCPercent suits a program that runs a stack: its heap is small, and collecting it
	// less often trades memory for CPU time of the functions.
	GCPercent = 400
	// TimerSlack suits programs that wait for each other: no timer of the stack or of a function
	// needs to be more punctual.
	TimerSlack = 5 * time.Millisecond
)

// demoSale never changes, so that every boot may repeat it (P9).
const demoSale = `{"action":"create","saleId":"demo","name":"Demonstration","opensAt":"2026-01-01T00:00:00Z",` +
	`"closesAt":"2036-01-01T00:00:00Z","stock":100,"shards":5}`

// pricedSale is the same with a price.
const pricedSale = `{"action":"create","saleId":"demo-pay","name":"飞天茅台 · Feitian Moutai","opensAt":"2026-01-01T00:00:00Z",` +
	`"closesAt":"2036-01-01T00:00:00Z","stock":100,"shards":5,"payWithin":1800,"price":149900,"currency":"CNY"}`

package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"flashsale/infra/kit/client"
	"flashsale/infra/local/engine"
	"flashsale/infra/local/eventbus"
	"flashsale/infra/local/faults"
	"flashsale/infra/local/gateway"
	"flashsale/infra/local/guard"
	"flashsale/infra/local/issuer"
	"flashsale/infra/local/lambda"
	"flashsale/infra/local/live"
	"flashsale/infra/local/scheduler"
	"flashsale/infra/local/sqspoller"
	"flashsale/infra/local/streampoller"
	"flashsale/infra/local/template"
)

func (s *Stack) queueClient() *awssqs.Client {
	return awssqs.New(awssqs.Options{
		BaseEndpoint: aws.String(s.SQS), Region: region,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		Retryer:     aws.NopRetryer{},
	})
}

// ensureQueues creates the template's queues, or updates the attributes of existing
// ones.
func (s *Stack) ensureQueues(ctx context.Context) error {
	client := s.queueClient()
	for _, q := range s.described.Queues {
		_, err := client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &q.Name, Attributes: q.Attributes})
		var exists *sqstypes.QueueNameExists
		if errors.As(err, &exists) {
			_, err = client.SetQueueAttributes(ctx, &awssqs.SetQueueAttributesInput{
				QueueUrl: aws.String(s.queueURL(q)), Attributes: q.Attributes,
			})
		}
		if err != nil {
			return fmt.Errorf("ensure queue %s: %w", q.Name, err)
		}
	}
	return nil
}

func (s *Stack) queueURL(q template.Queue) string { return s.SQS + "/" + accountID + "/" + q.Name }

func queueARN(q template.Queue) string {
	return "arn:aws:sqs:" + region + ":" + accountID + ":" + q.Name
}

// startFunctions starts the Lambda service with the template's functions.
func (s *Stack) startFunctions(l net.Listener) error {
	s.FunctionLog = filepath.Join(s.o.Data, "functions.log")
	log, err := os.OpenFile(s.FunctionLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("open function log: %w", err)
	}
	s.onStop(log.Close)
	s.killShare.Store(math.Float64bits(s.o.KillAtResponse))
	s.environments = map[string]map[string]string{}
	var functions []lambda.Function
	for _, f := range s.described.Functions {
		command := s.o.bootstrap(f.LogicalID)
		if _, err := os.Stat(command); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("function %s is not built: %s is missing (make host builds it)", f.LogicalID, command)
		}
		env := s.environment(f, s.o.Faults != "")
		s.environments[f.LogicalID] = env
		functions = append(functions, lambda.Function{
			Name: f.LogicalID, Command: command, Env: env,
			Timeout: f.Timeout, MemoryMB: f.MemoryMB, Processes: s.processes(f), Reserved: f.ReservedConcurrency,
		})
	}
	s.functions, err = lambda.New(functions, lambda.Options{
		Region: region, AccountID: accountID, Logs: log, AfterResponse: s.killAtResponse, Concurrency: s.o.Concurrency,
	})
	if err != nil {
		return err
	}
	s.onStop(s.functions.Close)
	s.serve(l, s.functions.InvokeHandler(), guard.Rules{})
	return nil
}

// localRuntime tunes Go programs for a machine on which dozens of them share a few
// processors: one processor each, because one event needs no more, and a larger heap
// instead of collecting a tiny one every few events. The template's own values take
// precedence.
var localRuntime = map[string]string{"GOMAXPROCS": "1", "GOGC": "400"}

// processes returns how many processes a function may have here.
func (s *Stack) processes(f template.Function) int {
	if f.ReservedConcurrency > 0 {
		return min(f.ReservedConcurrency, s.o.Processes)
	}
	return s.o.Processes
}

// startPollers connects queues to functions.
func (s *Stack) startPollers() {
	queues := map[string]template.Queue{}
	for _, q := range s.described.Queues {
		queues[q.LogicalID] = q
	}
	for _, f := range s.described.Functions {
		for _, source := range f.Queues {
			concurrency := s.processes(f)
			if source.MaximumConcurrency > 0 {
				concurrency = min(concurrency, source.MaximumConcurrency)
			}
			q := queues[source.Queue]
			p := sqspoller.New(sqspoller.Config{
				QueueURL: s.queueURL(q), QueueARN: queueARN(q), Function: f.LogicalID, Region: region,
				BatchSize: source.BatchSize, Window: source.Window, Concurrency: concurrency, Log: s.o.Log,
			}, s.queueClient(), s.functions)
			s.keep(p.Run)
		}
	}
}

// gateway returns the template's API of these tokens as a handler.
func (s *Stack) gateway(api template.API, from *issuer.Issuer, o gateway.Options) http.Handler {
	o.Log = s.o.Log
	authorizers := map[string]*gateway.JWT{}
	for name, a := range api.Authorizers {
		authorizers[name] = &gateway.JWT{Issuer: a.Issuer, Audience: a.Audience, Keys: from.Key}
	}
	var routes []gateway.Route
	for _, r := range api.Routes {
		route := gateway.Route{
			Method: r.Method, Path: r.Path, Function: r.Function, Scopes: r.Scopes, Throttle: gateway.Throttle(r.Throttle),
		}
		if r.Authorizer != "" {
			route.Authorizer = authorizers[r.Authorizer]
		}
		routes = append(routes, route)
	}
	return gateway.New(routes, s.functions, o)
}

// startOperators starts the operators' HTTP API, if the template creates it, and their sign-in.
func (s *Stack) startOperators(l net.Listener) error {
	if s.described.Operators.LogicalID == "" {
		s.Operate = ""
		return l.Close()
	}
	api := s.gateway(s.described.Operators, s.operators, gateway.Options{APIID: "operators"})
	signIn := s.operators.Handler()
	s.serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/_local/") {
			signIn.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}), guard.Rules{Links: linked})
	return nil
}

// linked reports whether anybody may link to an address: to a page, not to what exists only
// locally.
func linked(r *http.Request) bool { return !strings.HasPrefix(r.URL.Path, "/_local/") }

// startAPI starts the HTTP API, plus the routes that exist only locally.
func (s *Stack) startAPI(l net.Listener) error {
	var o gateway.Options
	rules := guard.Rules{Links: linked}
	if c := s.described.API.CORS; c != nil {
		cors := gateway.CORS(*c)
		o.CORS, rules.Origins = &cors, cors.Allows
	}
	api := s.gateway(s.described.API, s.issuer, o)
	view, err := s.openView()
	if err != nil {
		return err
	}
	api = view.Observe(api)
	local := http.NewServeMux()
	buyers, operators := s.issuer.Handler(), s.operators.Handler()
	local.Handle("/_local/", buyers)
	local.HandleFunc("GET /_local/token", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("role") {
			operators.ServeHTTP(w, r)
			return
		}
		buyers.ServeHTTP(w, r)
	})
	local.HandleFunc("GET /_local/health", s.health)
	local.Handle("GET "+dicePath+"/", s.dice.handler())
	local.HandleFunc("GET "+payPath, s.pay)
	local.HandleFunc("POST "+payPath, s.pay)
	local.HandleFunc("GET /_local/shop/{port}", s.shop)
	local.Handle(live.Prefix, view.Handler())
	local.Handle("GET /{$}", view.Handler())
	s.serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A mux would clean and redirect paths, unlike API Gateway.
		if strings.HasPrefix(r.URL.Path, "/_local/") || r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
			local.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	}), rules)
	return nil
}

// openView opens the live view, which ends with the stack.
func (s *Stack) openView() (*live.View, error) {
	queues := s.SQS + "/" + accountID + "/"
	o := live.Options{
		Client: client.New(s.API, client.Options{Lambda: s.Lambda, Connections: connectionsKept}),
		DB:     engine.Client(s.engine), Table: s.Table,
		Queues: s.queueClient(), OrderQueue: queues + "OrderQueue", DeadLetterQueue: queues + "OrderDeadLetterQueue",
		System: s,
	}
	if s.bus != nil {
		o.Events = s.bus
	}
	view, err := live.New(o)
	if err == nil {
		s.keep(view.Run)
	}
	return view, err
}

// health answers with the addresses of the stack's parts.
func (s *Stack) health(w http.ResponseWriter, _ *http.Request) {
	parts := map[string]any{
		"status": "ok", "api": s.API, "lambda": s.Lambda, "dynamodb": s.DynamoDB, "sqs": s.SQS, "table": s.Table,
		"beacon": s.dice.Chain(),
	}
	if s.Operate != "" {
		parts["operate"] = s.Operate
	}
	if s.bus != nil {
		parts["eventbridge"], parts["events"] = s.EventBridge, s.EventLog
	}
	if len(s.described.Buses) > 0 {
		parts["eventBus"] = s.described.Buses[0].Name
	}
	if settings, met := s.Faults(); settings != "" {
		parts["faults"], parts["faultsMet"] = settings, met
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(parts)
}

// startScheduler runs the template's schedules. The template's own seeding schedule,
// set to the near future, seeds the demonstration sale: so even a first run exercises
// the scheduled invocation.
func (s *Stack) startScheduler() error {
	if s.o.NoSchedules {
		return nil
	}
	described := s.described
	if s.o.DemoSale {
		var err error
		if described, err = s.load(map[string]string{
			"SeedScheduleExpression": "at(" + time.Now().UTC().Add(2*time.Second).Format("2006-01-02T15:04:05") + ")",
			"SeedScheduleInput":      demoSale,
		}); err != nil {
			return err
		}
	}
	var schedules []scheduler.Schedule
	for _, f := range described.Functions {
		for _, e := range f.Schedules {
			schedules = append(schedules, scheduler.Schedule{
				Name: e.Name, Function: f.LogicalID, Expression: e.Expression, Timezone: e.Timezone, Enabled: e.Enabled, Input: e.Input,
				RetryAttempts: e.RetryAttempts, MaxEventAge: e.MaxEventAge,
			})
		}
	}
	sched, err := scheduler.New(schedules, s.functions, scheduler.Options{Since: s.began, Log: s.o.Log})
	if err != nil {
		return err
	}
	s.keep(sched.Run)
	return nil
}

// StartQueues serves only the embedded SQS, on its port, with the template's queues. A
// stack may use it as SQSEndpoint; then the queues can crash and come back empty while
// that stack runs. ctx bounds the start only.
func StartQueues(ctx context.Context, o Options) (*Stack, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.SQSEndpoint = "" // ignored: these are the queues
	s := &Stack{o: o, Failed: make(chan error, 8)}
	s.background, s.stopWork = context.WithCancel(context.Background())
	if err := s.readFaults(); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.SQSPort)))
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s.onStop(func() error { _ = l.Close(); return nil })
	s.SQS = address(l)
	s.API, s.Operate = s.SQS, s.SQS // the template wants issuers' addresses, which no queue has
	if s.described, err = s.load(nil); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.startQueues(l)
	if err := s.ensureQueues(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// maintainStreams prepares the engine's file for tables with streams. The engine itself creates
// a new one.
func (s *Stack) maintainStreams(ctx context.Context) error {
	if !slices.ContainsFunc(s.described.Tables, func(t template.Table) bool { return t.StreamView != "" }) {
		return nil
	}
	if _, err := os.Stat(s.database()); errors.Is(err, fs.ErrNotExist) {
		e, err := s.launchEngine(ctx)
		if err != nil {
			return err
		}
		if err := e.Stop(); err != nil {
			return err
		}
	}
	out, err := exec.CommandContext(ctx, engine.StreamfileUnder(s.o.Root), s.database()).CombinedOutput()
	if err != nil {
		return fmt.Errorf("maintain streams: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// startEventBus starts EventBridge, unless the template has neither a bus nor a function that
// reads a stream.
func (s *Stack) startEventBus() error {
	streams := slices.ContainsFunc(s.described.Functions, func(f template.Function) bool { return len(f.Streams) > 0 })
	if len(s.described.Buses) == 0 && !streams {
		return nil
	}
	var names []string
	for _, b := range s.described.Buses {
		names = append(names, b.Name)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	s.onStop(func() error { _ = l.Close(); return nil })
	s.EventBridge, s.EventLog = address(l), filepath.Join(s.o.Data, "events.jsonl")
	s.bus, err = eventbus.Open(eventbus.Options{Path: s.EventLog, Buses: names, AccountID: accountID, Region: region, Log: s.o.Log})
	if err != nil {
		return err
	}
	s.onStop(s.bus.Close)
	s.serve(l, s.bus, guard.Rules{})
	return nil
}

// setBusOutage stops the event bus or lets it go on; while it goes on, it refuses the share of
// calls that the faults name.
func (s *Stack) setBusOutage(down bool, c faults.Config) {
	if s.bus != nil {
		s.bus.SetTrouble(eventbus.Trouble{Down: down, Share: c.Publish, Seed: c.Seed})
	}
}

// startStreamPollers connects tables' streams to functions.
func (s *Stack) startStreamPollers(ctx context.Context) error {
	names := map[string]string{}
	for _, t := range s.described.Tables {
		names[t.LogicalID] = t.Name
	}
	for _, f := range s.described.Functions {
		for _, source := range f.Streams {
			table := names[source.Table]
			arn, err := engine.Stream(ctx, engine.Client(s.engine), table)
			if err != nil {
				return err
			}
			p, err := streampoller.New(streampoller.Config{
				StreamARN: arn, SourceARN: "arn:aws:dynamodb:" + region + ":" + accountID + ":table/" + table + "/stream/local",
				Function: f.LogicalID, Region: region, Checkpoint: filepath.Join(s.o.Data, "streams", f.LogicalID+"-"+source.Table+".json"),
				BatchSize: source.BatchSize, Window: source.Window, Parallel: source.Parallel, Filters: source.Filters, Log: s.o.Log,
			}, engine.StreamsClient(s.engine), s.functions)
			if err != nil {
				return err
			}
			s.keep(p.Run)
		}
	}
	return nil
}

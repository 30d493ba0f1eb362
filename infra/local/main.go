// Command local runs the whole system of template.yaml on this machine: `make run`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"flashsale/infra/kit/samconfig"
	"flashsale/infra/local/child"
	"flashsale/infra/local/scratch"
	"flashsale/infra/local/stack"
)

func main() {
	child.Calmly(stack.TimerSlack)
	o := stack.Options{Parameters: map[string]string{}, Variables: map[string]string{}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	f := flag.NewFlagSet("local", flag.ExitOnError)
	f.StringVar(&o.Root, "root", ".", "the project's folder")
	f.StringVar(&o.Data, "data", "", "the folder that keeps the stack's data (none: it is in memory, and ends with the stack)")
	f.IntVar(&o.APIPort, "api-port", apiPort, "port of the HTTP API")
	f.IntVar(&o.LambdaPort, "lambda-port", 3001, "port of the Lambda Invoke API")
	f.IntVar(&o.DynamoDBPort, "dynamodb-port", 8000, "port of the DynamoDB engine")
	f.IntVar(&o.SQSPort, "sqs-port", 9324, "port of the SQS queues")
	f.IntVar(&o.OperatePort, "operate-port", 3002, "port of the operators' page and API")
	f.IntVar(&o.AtOnce, "at-once", stack.AtOnce, "executions of a function at a time, all in one process if no schedule runs it")
	f.IntVar(&o.Concurrency, "concurrency", 0, "the account's Lambda concurrency: who waits for a place counts, and more are throttled (0: ten times a new account's)")
	f.BoolVar(&o.DemoSale, "demo-sale", false, "seed a demonstration sale by the template's schedule")
	f.BoolVar(&o.PricedSale, "priced-sale", false, "with -demo-sale: seed another, which asks for payment")
	f.StringVar(&o.Issuer, "issuer", "", "the OpenID provider whose tokens the API takes, such as http://127.0.0.1:8080 (none: the stack's own, for anybody)")
	f.StringVar(&o.Secrets, "secrets", "", "a folder with files of secrets, named like the payment providers whose own they replace, or refund")
	f.StringVar(&o.EventsTo, "events-to", "", "an address of this machine, or with https any, to which every order event is sent as a signed webhook (EVENTS_SECRET: the secret that signs it)")
	o.EventsSecrets = os.Getenv("EVENTS_SECRET")
	f.Float64Var(&o.KillAtResponse, "kill-at-response", 0, "share of the functions' answers, 0 to 1, at which the process is killed and the answer lost")
	f.StringVar(&o.Faults, "faults", "", `what the functions meet at DynamoDB, SQS and EventBridge: "mild", "harsh" or as in "harsh,send=0,seed=7"`)
	pair := func(into map[string]string) func(string) error {
		return func(text string) error {
			name, value, ok := strings.Cut(text, "=")
			if !ok {
				return errors.New("want Name=value")
			}
			into[name] = value
			return nil
		}
	}
	f.Func("parameter", "a template parameter as Name=value; may be repeated", pair(o.Parameters))
	f.Func("variable", "a variable of the functions' environments as NAME=value, such as DRAW_DICE_SECONDS=60; may be repeated", pair(o.Variables))
	f.Func("parameters", `template parameters as infra/ops/deploy takes them: Name=value Other="two words"`, func(text string) error {
		given := samconfig.Environment{Parameters: o.Parameters}
		return given.Override(text)
	})
	_ = f.Parse(os.Args[1:]) // it exits
	o.DynamoDBEndpoint = os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "flashsale:", err)
		os.Exit(1)
	}
}

// apiPort is where make looks for the stack, too.
const apiPort = 3000

func run(o stack.Options) (err error) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(stack.GCPercent)
	}
	fmt.Fprintln(os.Stderr, "starting the local stack ...")
	data := ". Ctrl-C stops it; " + o.Data + " keeps its data."
	if o.Data == "" {
		folder, failed := scratch.Open()
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, folder.Remove()) }()
		o.Data, data = folder.Path, forgets(folder, o.DynamoDBEndpoint)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	starting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	s, err := stack.Start(starting, o)
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return nil // interrupted while it started
	case err != nil:
		return err
	}
	fmt.Printf("flashsale runs on this machine%s\n\n", data)
	welcome(s, o)
	var failure error
	select {
	case <-ctx.Done():
		fmt.Println("\nstopping ...")
	case failure = <-s.Failed:
	}
	stop() // a second Ctrl-C ends at once
	return errors.Join(failure, s.Stop())
}

// usual is the folder that the documents give to a stack that shall keep its data.
const usual = ".local"

// forgets says where the data is that ends with the stack, and what does not end with it. engine is the
// address of an engine that is not the stack's own.
func forgets(f *scratch.Folder, engine string) string {
	where := ", in memory"
	if f.Why != nil {
		where = fmt.Sprintf(", with its data in %s, because %v", filepath.Dir(f.Path), f.Why)
	}
	what := "everything"
	if engine != "" {
		what += " but the table, which is in the engine at " + engine
	}
	said := fmt.Sprintf("%s. Ctrl-C stops it and forgets %s; make run DATA=folder keeps it.", where, what)
	if stack.HasTable(usual) {
		said += "\n" + usual + " has the table of another stack: make run DATA=" + usual + " goes on with it."
	}
	return said
}

func welcome(s *stack.Stack, o stack.Options) {
	tokens, names, crowd := "at /_local/token?sub=NAME", "; sign in with any name", " send a crowd,"
	if o.Issuer != "" {
		tokens, names, crowd = "of "+o.Issuer, "", ""
	}
	fmt.Printf("  live view  %s/   in a browser: watch the sale,%s break something\n", s.API, crowd)
	if o.DemoSale {
		fmt.Printf("  buyers     %s/s/demo   the page on which people buy%s\n", s.API, names)
	}
	if o.PricedSale {
		fmt.Printf("             %s/s/demo-pay   the same of a sale that asks for payment; start `%s`, too\n", s.API, made("shop", s.API))
	}
	fmt.Printf(`  API        %s   HTTP API; tokens %s
  Lambda     %s   Invoke API of all functions
  DynamoDB   %s   table %s
  SQS        %s   OrderQueue, OrderDeadLetterQueue, ScheduleDeadLetterQueue, EventFailureQueue
  providers  %s/_local/providers   what the payment providers got and gave back, and how they behave
  logs       %s
`, s.API, tokens, s.Lambda, s.DynamoDB, s.Table, s.SQS, s.Providers, s.FunctionLog)
	if s.Operate != "" {
		fmt.Printf("  operators  %s/   their page and API; tokens at %s/_local/token?sub=NAME&role=operator (or viewer, cashier)\n", s.Operate, s.API)
	}
	if s.EventLog != "" {
		fmt.Printf("  events     %s   a line for each order event on the bus\n", s.EventLog)
	}
	if o.EventsTo != "" {
		fmt.Printf("             sent to %s, signed as www.standardwebhooks.com says; tries are in the log of the functions\n", o.EventsTo)
	}
	if s.Forgot {
		fmt.Println("  forgotten  all queued messages and dead letters; within 2 minutes ReconcileFunction sends those of pending orders again")
	}
	if !isUsual(s.API) {
		fmt.Printf("  flashsale  finds it after: export FLASHSALE_URL=%s\n", s.API)
	}
	fmt.Println()
	if settings, _ := s.Faults(); settings != "" {
		fmt.Printf("  faults     %s\n             met by the functions only; how many so far is in %s/_local/health\n\n", settings, s.API)
	}
	if o.DemoSale && o.Issuer == "" {
		fmt.Printf(`Three things to try in another terminal (the sale "demo" opens in two seconds):

  curl -s %[1]s/sales/demo
  curl -si -X POST -H "Authorization: Bearer $(curl -s '%[1]s/_local/token?sub=alice')" %[1]s/sales/demo/orders
  %[2]s
`, s.API, made("demo", s.API))
	}
}

// made is how make reaches the stack at an address.
func made(target, api string) string {
	if !isUsual(api) {
		target += " API_PORT=" + api[strings.LastIndex(api, ":")+1:]
	}
	return "make " + target
}

// isUsual tells whether make and flashsale find the stack at an address without being told.
func isUsual(api string) bool { return strings.HasSuffix(api, ":"+strconv.Itoa(apiPort)) }

package place

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/awscli"
)

func program(t *testing.T, script string) awscli.CLI {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aws")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return awscli.CLI{Program: path}
}

const stacks = `case "$*" in
"cloudformation describe-stacks --stack-name shop") echo '{"Stacks":[{"Outputs":[
 {"OutputKey":"ApiUrl","OutputValue":"https://abc.test/"},{"OutputKey":"TableName","OutputValue":"shop-T"},{"OutputKey":"SeedFunctionName","OutputValue":"shop-Seed"}]}]}';;
"cloudformation list-stack-resources --stack-name shop") echo '{"StackResourceSummaries":[
 {"ResourceType":"AWS::Lambda::Function","LogicalResourceId":"SeedFunction","PhysicalResourceId":"shop-Seed"},{"ResourceType":"AWS::IAM::Role","LogicalResourceId":"R","PhysicalResourceId":"r"}]}';;
"cloudformation describe-stacks --stack-name fronted") echo '{"Stacks":[{"Outputs":[{"OutputKey":"FrontUrl","OutputValue":"https://cdn.test"},
 {"OutputKey":"ApiUrl","OutputValue":"https://abc.test/"},{"OutputKey":"TableName","OutputValue":"T"},{"OutputKey":"SeedFunctionName","OutputValue":"S"}]}]}';;
"cloudformation list-stack-resources --stack-name fronted") echo '{}';;
"cloudformation describe-stacks --stack-name issuing") echo '{"Stacks":[{"Outputs":[{"OutputKey":"ApiUrl","OutputValue":"https://abc.test/"},
 {"OutputKey":"TableName","OutputValue":"T"},{"OutputKey":"SeedFunctionName","OutputValue":"S"},{"OutputKey":"ReconcileFunctionName","OutputValue":"R"},{"OutputKey":"OperateFunctionName","OutputValue":"O"},{"OutputKey":"EventBusName","OutputValue":"orders"}]}]}';;
"cloudformation list-stack-resources --stack-name issuing") echo '{"StackResourceSummaries":[
 {"ResourceType":"AWS::Cognito::UserPool","LogicalResourceId":"UserPool","PhysicalResourceId":"pool-1"},
 {"ResourceType":"AWS::Cognito::UserPoolClient","LogicalResourceId":"UserPoolClient","PhysicalResourceId":"client-1"}]}';;
"cloudformation describe-stacks --stack-name bare") echo '{"Stacks":[{}]}';;
*) echo "does not exist" >&2; exit 254;;
esac
`

func TestADeployedStackIsFoundByItsName(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	p, err := find(t.Context(), Wanted{Stack: "shop", Region: "us-east-1"}, program(t, stacks))
	if err != nil {
		t.Fatal(err)
	}
	if p.API != "https://abc.test" || p.Table != "shop-T" || p.Functions[client.SeedFunction] != "shop-Seed" || p.Local {
		t.Errorf("%+v", p)
	}
	want := map[string]map[string]string{"AWS::Lambda::Function": {"SeedFunction": "shop-Seed"}, "AWS::IAM::Role": {"R": "r"}}
	if diff := cmp.Diff(want, p.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	p, err = find(t.Context(), Wanted{Stack: "shop", URL: "https://front.test", Region: "us-east-1"}, program(t, stacks))
	if err != nil || p.API != "https://front.test" {
		t.Errorf("with its own address: %q, %v", p.API, err)
	}
	p, err = find(t.Context(), Wanted{Stack: "fronted", Region: "us-east-1"}, program(t, stacks))
	if err != nil || p.API != "https://cdn.test" {
		t.Errorf("behind a front: %q, %v", p.API, err)
	}
	if _, err := p.Receipt(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "do not name ReconcileFunction") {
		t.Errorf("a function that the outputs do not name: %v", err)
	}
	if _, err := p.Tokens(t.Context(), "a", 1); err == nil || p.HasIssuer() {
		t.Error("a stack without a user pool made tokens")
	}
	p, err = find(t.Context(), Wanted{Stack: "issuing", Region: "us-east-1"}, program(t, stacks))
	if err != nil || !p.HasIssuer() || p.users.id != "pool-1" || p.users.client != "client-1" || p.Functions[client.ReconcileFunction] != "R" || p.Functions[client.OperateFunction] != "O" || p.EventBus != "orders" {
		t.Errorf("a stack with a user pool: %+v, %v", p, err)
	}
}

func TestAMissingSystemIsAnError(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	defer other.Close()
	for _, w := range []Wanted{
		{}, {URL: "127.0.0.1:3000"}, {URL: "ftp://x.test"}, {URL: "http://127.0.0.1:1"}, {URL: other.URL}, {Stack: "bare"}, {Stack: "none"},
	} {
		if p, err := find(t.Context(), w, program(t, stacks)); !errors.Is(err, client.ErrNoSystem) {
			t.Errorf("%+v: %+v, %v; want %v", w, p, err, client.ErrNoSystem)
		}
	}
}

func TestADeployedFunctionIsInvokedByItsName(t *testing.T) {
	lambda := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/2015-03-31/functions/shop-Seed/invocations":
			fmt.Fprintf(w, `{"asked":%s}`, body)
		default:
			w.Header().Set("X-Amz-Function-Error", "Unhandled")
			fmt.Fprint(w, `{"errorType":"busy","errorMessage":"busy: later"}`)
		}
	}))
	defer lambda.Close()
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": lambda.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	} {
		t.Setenv(name, value)
	}
	p, err := find(t.Context(), Wanted{Stack: "issuing", Region: "us-east-1"}, program(t, strings.ReplaceAll(stacks, `"OutputValue":"S"`, `"OutputValue":"shop-Seed"`)))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Asked map[string]string }
	if err := p.Ask(t.Context(), client.SeedFunction, map[string]string{"action": "pause"}, &answer); err != nil || answer.Asked["action"] != "pause" {
		t.Errorf("%+v, %v", answer, err)
	}
	var refusal *client.Refusal
	if err := p.Ask(t.Context(), client.ReconcileFunction, 1, nil); !errors.As(err, &refusal) || refusal.Code != "busy" {
		t.Errorf("%v, want the function's own error", err)
	}
}

func TestARemoteAddressIsUsedAsGiven(t *testing.T) {
	p, err := Find(t.Context(), Wanted{URL: "https://abc.test/"})
	if err != nil || p.Local || p.API != "https://abc.test" || p.HasIssuer() {
		t.Errorf("%+v, %v", p, err)
	}
	if err := p.Seed(t.Context(), client.Sale{ID: "s"}); !errors.Is(err, client.ErrNoFunctions) {
		t.Errorf("a sale was seeded though no function is known: %v", err)
	}
}

// The SDK's own retryer has given up after a sixth of a second.
func TestACommandWaitsTwoSecondsBeforeItCallsAWSAgain(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	cfg, err := Config(t.Context(), "us-east-1")
	if err != nil {
		t.Fatal(err)
	}
	r := cfg.Retryer()
	for try := range r.MaxAttempts() {
		if pause, err := r.RetryDelay(try+1, io.ErrUnexpectedEOF); pause != 2*time.Second || err != nil {
			t.Errorf("%v after try %d (%v), want 2 s", pause, try+1, err)
		}
	}
	if r.MaxAttempts() != 3 || !r.IsErrorRetryable(&net.OpError{Op: "dial", Err: errors.New("no route")}) {
		t.Errorf("%d tries, want 3, also of a call that reaches nobody", r.MaxAttempts())
	}
}

package preflight

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"
)

// cloud returns an account whose Lambda, DynamoDB and AWS CLI the test provides.
func cloud(t *testing.T, handler http.Handler, cli string) Cloud {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	program := filepath.Join(t.TempDir(), "aws")
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"+cli), 0o755); err != nil {
		t.Fatal(err)
	}
	keys := credentials.NewStaticCredentialsProvider("test", "test", "")
	return Cloud{
		Lambda: lambda.New(lambda.Options{
			BaseEndpoint: &server.URL, Region: "us-east-1", Credentials: keys, Retryer: aws.NopRetryer{},
		}),
		DynamoDB: dynamodb.New(dynamodb.Options{
			BaseEndpoint: &server.URL, Region: "us-east-1", Credentials: keys, Retryer: aws.NopRetryer{},
		}),
		CLI: Program{Words: []string{program}},
	}
}

// services answers the calls of Lambda and DynamoDB.
func services(t *testing.T) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2016-08-19/account-settings", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"AccountLimit":{"ConcurrentExecutions":1000,"UnreservedConcurrentExecutions":470}}`)
	})
	mux.HandleFunc("GET /2019-09-30/functions/{name}/concurrency", func(w http.ResponseWriter, r *http.Request) {
		if reserved := map[string]int{"shop-Buy-1": 500, "shop-Audit-1": 1}[r.PathValue("name")]; reserved > 0 {
			fmt.Fprintf(w, `{"ReservedConcurrentExecutions":%d}`, reserved)
			return
		}
		io.WriteString(w, `{}`)
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		body, _ := io.ReadAll(r.Body)
		switch target := r.Header.Get("X-Amz-Target"); target {
		case "DynamoDB_20120810.DescribeLimits":
			io.WriteString(w, `{"AccountMaxWriteCapacityUnits":80000,"TableMaxReadCapacityUnits":60000,"TableMaxWriteCapacityUnits":40000}`)
		case "DynamoDB_20120810.DescribeTable":
			if !strings.Contains(string(body), `"shop-Ledger-1"`) {
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"__type":"ResourceNotFoundException"}`)
				return
			}
			io.WriteString(w, `{"Table":{"WarmThroughput":{"ReadUnitsPerSecond":20000,"WriteUnitsPerSecond":40000,"Status":"ACTIVE"}}}`)
		default:
			t.Errorf("DynamoDB got %q", target)
		}
	})
	return mux
}

const cli = `case "$*" in
"sts get-caller-identity") echo '{"Account":"123456789012","Arn":"arn:aws:iam::123456789012:user/me"}';;
"apigateway get-account") echo '{"throttleSettings":{"burstLimit":5000,"rateLimit":10000.0}}';;
"cloudformation list-stacks") echo '{"StackSummaries":[{"StackName":"gone","StackStatus":"DELETE_COMPLETE"},{"StackName":"shop","StackStatus":"UPDATE_COMPLETE"}]}';;
"cloudformation describe-stacks --stack-name shop") echo '{"Stacks":[{"Parameters":[{"ParameterKey":"LogLevel","ParameterValue":"INFO"}]}]}';;
"cloudformation list-stack-resources --stack-name shop") echo '{"StackResourceSummaries":[
 {"ResourceType":"AWS::DynamoDB::Table","LogicalResourceId":"Ledger","PhysicalResourceId":"shop-Ledger-1","ResourceStatus":"UPDATE_COMPLETE"},
 {"ResourceType":"AWS::DynamoDB::Table","LogicalResourceId":"Ledger","PhysicalResourceId":"shop-Ledger-0","ResourceStatus":"DELETE_SKIPPED"},
 {"ResourceType":"AWS::Lambda::Function","PhysicalResourceId":"shop-Buy-1"},{"ResourceType":"AWS::Lambda::Function","PhysicalResourceId":"shop-Audit-1"},
 {"ResourceType":"AWS::Lambda::Function","PhysicalResourceId":"shop-Query-1"},{"ResourceType":"AWS::SQS::Queue","PhysicalResourceId":"q"}]}';;
*) echo "unexpected: $*" >&2; exit 1;;
esac
`

func TestLimitsComeFromTheServices(t *testing.T) {
	c := cloud(t, services(t), cli)
	got, err := c.Limits(t.Context(), "shop")
	want := Limits{
		Account: "123456789012 as arn:aws:iam::123456789012:user/me", Concurrency: 1000, Unreserved: 470, Own: 501,
		TableReads: 60_000, TableWrites: 40_000, Rate: 10_000, Burst: 5000,
		Status: "UPDATE_COMPLETE", Tables: map[string]Warmth{"Ledger": {Reads: 20_000, Writes: 40_000}}, Parameters: map[string]string{"LogLevel": "INFO"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, stack := range []string{"gone", "new"} {
		if l, err := c.Limits(t.Context(), stack); err != nil || l.Own != 0 {
			t.Errorf("stack %s has reserved %d, %v; want nothing", stack, l.Own, err)
		}
	}
}

func TestAServiceThatRefusesIsAnError(t *testing.T) {
	refuse := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"__type":"AccessDeniedException","Message":"no"}`)
	})
	for name, c := range map[string]Cloud{
		"Lambda and DynamoDB": cloud(t, refuse, cli),
		"the AWS CLI":         cloud(t, services(t), "echo no credentials >&2; exit 255\n"),
		"not JSON":            cloud(t, services(t), "echo hello\n"),
		"no AWS CLI":          {CLI: Program{Words: []string{filepath.Join(t.TempDir(), "aws")}}},
	} {
		if l, err := c.Limits(t.Context(), "shop"); err == nil {
			t.Errorf("%s: %+v, want an error", name, l)
		}
	}
}

func TestTheAWSCLIIsCalledWithTheRegionAndWithoutAPager(t *testing.T) {
	p := AWS("eu-west-1")
	if diff := cmp.Diff([]string{"aws", "--region", "eu-west-1"}, p.Words); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !strings.Contains(strings.Join(p.Env, " "), "AWS_PAGER= ") {
		t.Errorf("environment %q", p.Env)
	}
}

// openID starts an issuer over TLS; spoil may change its documents.
func openID(t *testing.T, spoil func(document, keys map[string]any)) (issuer string, d Discovery) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	document, keys := map[string]any{}, map[string]any{"keys": []any{map[string]string{"kty": "EC"}, map[string]string{"kty": "RSA"}}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(document); err != nil {
			t.Error(err)
		}
	})
	mux.HandleFunc("GET /jwks.json", func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(keys); err != nil {
			t.Error(err)
		}
	})
	server.Config.Handler = mux
	server.StartTLS()
	t.Cleanup(server.Close)
	document["issuer"], document["jwks_uri"] = server.URL, server.URL+"/jwks.json"
	if spoil != nil {
		spoil(document, keys)
	}
	return server.URL, Discovery{Client: server.Client()}
}

func TestAnIssuerIsAcceptedIfAPIGatewayAcceptsIt(t *testing.T) {
	issuer, d := openID(t, nil)
	if err := d.Check(t.Context(), issuer); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(document, keys map[string]any){
		"another issuer's document": func(d, _ map[string]any) { d["issuer"] = "https://other.test" },
		"an extra slash":            func(d, _ map[string]any) { d["issuer"] = d["issuer"].(string) + "/" },
		"keys over plain http":      func(d, _ map[string]any) { d["jwks_uri"] = "http://keys.test" },
		"missing keys":              func(d, _ map[string]any) { d["jwks_uri"] = d["issuer"].(string) + "/none" },
		"no RSA key":                func(_, k map[string]any) { k["keys"] = []any{map[string]string{"kty": "EC"}} },
		"no key":                    func(_, k map[string]any) { delete(k, "keys") },
	} {
		issuer, d := openID(t, spoil)
		if err := d.Check(t.Context(), issuer); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAnIssuerWithoutHTTPSIsRefused(t *testing.T) {
	issuer, d := openID(t, nil)
	for _, address := range []string{"", "https://", strings.Replace(issuer, "https", "http", 1), "issuer.test", issuer + "/tenant"} {
		if err := d.Check(t.Context(), address); err == nil {
			t.Errorf("%q: accepted", address)
		}
	}
	// A client that does not trust the test server's certificate.
	strict := Discovery{Client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{}}}}
	if err := strict.Check(t.Context(), issuer); err == nil {
		t.Error("an unknown certificate is accepted")
	}
}

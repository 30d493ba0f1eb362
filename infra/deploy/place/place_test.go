package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/deploy/preflight"
)

// stack is as much of a local stack as is asked here.
func stack(t *testing.T, seed http.HandlerFunc) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /_local/health", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"api":%q,"lambda":%[1]q,"table":"LedgerTable"}`, server.URL)
	})
	mux.HandleFunc("GET /_local/token", func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "token of "+r.FormValue("sub")) })
	mux.HandleFunc("POST /2015-03-31/functions/{name}/invocations", seed)
	return server.URL
}

func program(t *testing.T, script string) preflight.Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "aws")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return preflight.Program{Words: []string{path}}
}

func TestALocalStackIsFoundByItsAddress(t *testing.T) {
	var asked map[string]any
	url := stack(t, func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") != "SeedFunction" {
			t.Errorf("function %q is invoked", r.PathValue("name"))
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, "{}")
	})
	p, err := Find(t.Context(), Wanted{URL: url + "/"})
	if err != nil || !p.Local || p.URL != url || p.Table != "LedgerTable" {
		t.Fatalf("%+v, %v", p, err)
	}
	opens := time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)
	if err := p.Seed(t.Context(), Sale{ID: "s", Name: "S", OpensAt: opens, ClosesAt: opens.Add(time.Hour), Stock: 3, Shards: 2}); err != nil {
		t.Error(err)
	}
	want := map[string]any{
		"action": "create", "saleId": "s", "name": "S", "stock": 3.0, "shards": 2.0,
		"opensAt": "2026-11-11T12:00:00Z", "closesAt": "2026-11-11T13:00:00Z",
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("SeedFunction is asked (-want +got):\n%s", diff)
	}
	made, err := p.Tokens(t.Context(), "a b", 2)
	if want := []string{"token of a b-000001", "token of a b-000002"}; err != nil || !slices.Equal(made, want) {
		t.Errorf("tokens %q, %v, want %q", made, err, want)
	}
	if _, err := p.Tokens(t.Context(), "a", 0); err == nil {
		t.Error("no tokens were made of no users")
	}
}

func TestASeedingThatFailsIsAnError(t *testing.T) {
	url := stack(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amz-Function-Error", "Unhandled")
		fmt.Fprint(w, `{"errorMessage":"invalid-request"}`)
	})
	p, err := Find(t.Context(), Wanted{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Seed(t.Context(), Sale{ID: "s"}); err == nil || !strings.Contains(err.Error(), "invalid-request") {
		t.Errorf("%v, want what the function said", err)
	}
}

func TestAReceiptIsAskedForBySaleAndJudged(t *testing.T) {
	const balanced = `{"receipts":[{"saleId":"s","seeded":1,"stock":0,"claims":1,"pending":0,"balanced":true,"findings":[]}]}`
	for _, tt := range []struct{ name, answer, want string }{
		{"a balanced one", balanced, ""},
		{"an unbalanced one", strings.Replace(balanced, "true", "false", 1), "do not balance"},
		{"with a pending order", strings.Replace(balanced, `"pending":0`, `"pending":1`, 1), "1 pending"},
		{"of another sale", strings.Replace(balanced, `"s"`, `"other"`, 1), "answers with"},
		{"none", `{"receipts":[]}`, "answers with 0"},
		{"no JSON", `no`, "answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := Find(t.Context(), Wanted{URL: stack(t, func(w http.ResponseWriter, r *http.Request) {
				if body, _ := io.ReadAll(r.Body); r.PathValue("name") != "ReconcileFunction" || string(body) != `{"saleId":"s"}` {
					t.Errorf("%s is asked %s", r.PathValue("name"), body)
				}
				fmt.Fprint(w, tt.answer)
			})})
			if err != nil {
				t.Fatal(err)
			}
			words, err := p.Receipt(t.Context(), "s")
			if tt.want == "" && (err != nil || words != "1 seeded = 0 left + 1 claims") {
				t.Errorf("%q, %v", words, err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%q, %v, want an error with %q", words, err, tt.want)
			}
		})
	}
}

const deployed = `case "$*" in
"cloudformation describe-stacks --stack-name shop") echo '{"Stacks":[{"Outputs":[
 {"OutputKey":"ApiUrl","OutputValue":"https://abc.test/"},{"OutputKey":"TableName","OutputValue":"shop-T"},{"OutputKey":"SeedFunctionName","OutputValue":"shop-Seed"}]}]}';;
"cloudformation list-stack-resources --stack-name shop") echo '{"StackResourceSummaries":[
 {"ResourceType":"AWS::Lambda::Function","LogicalResourceId":"SeedFunction","PhysicalResourceId":"shop-Seed"},{"ResourceType":"AWS::IAM::Role","LogicalResourceId":"R","PhysicalResourceId":"r"}]}';;
"cloudformation describe-stacks --stack-name fronted") echo '{"Stacks":[{"Outputs":[{"OutputKey":"FrontUrl","OutputValue":"https://cdn.test"},
 {"OutputKey":"ApiUrl","OutputValue":"https://abc.test/"},{"OutputKey":"TableName","OutputValue":"T"},{"OutputKey":"SeedFunctionName","OutputValue":"S"}]}]}';;
"cloudformation list-stack-resources --stack-name fronted") echo '{}';;
"cloudformation describe-stacks --stack-name issuing") echo '{"Stacks":[{"Outputs":[{"OutputKey":"ApiUrl","OutputValue":"https://abc.test/"},
 {"OutputKey":"TableName","OutputValue":"T"},{"OutputKey":"SeedFunctionName","OutputValue":"S"},{"OutputKey":"ReconcileFunctionName","OutputValue":"R"}]}]}';;
"cloudformation list-stack-resources --stack-name issuing") echo '{"StackResourceSummaries":[
 {"ResourceType":"AWS::Cognito::UserPool","LogicalResourceId":"UserPool","PhysicalResourceId":"pool-1"},
 {"ResourceType":"AWS::Cognito::UserPoolClient","LogicalResourceId":"UserPoolClient","PhysicalResourceId":"client-1"}]}';;
"cloudformation describe-stacks --stack-name bare") echo '{"Stacks":[{}]}';;
*) echo "does not exist" >&2; exit 254;;
esac
`

func TestADeployedStackIsFoundByItsName(t *testing.T) {
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	p, err := find(t.Context(), Wanted{Stack: "shop", Region: "us-east-1"}, program(t, deployed))
	if err != nil {
		t.Fatal(err)
	}
	if p.URL != "https://abc.test" || p.Table != "shop-T" || p.SeedFunction != "shop-Seed" || p.Local {
		t.Errorf("%+v", p)
	}
	want := map[string]map[string]string{"AWS::Lambda::Function": {"SeedFunction": "shop-Seed"}, "AWS::IAM::Role": {"R": "r"}}
	if diff := cmp.Diff(want, p.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	p, err = find(t.Context(), Wanted{Stack: "shop", URL: "https://front.test", Region: "us-east-1"}, program(t, deployed))
	if err != nil || p.URL != "https://front.test" {
		t.Errorf("an address of its own: %q, %v", p.URL, err)
	}
	p, err = find(t.Context(), Wanted{Stack: "fronted", Region: "us-east-1"}, program(t, deployed))
	if err != nil || p.URL != "https://cdn.test" {
		t.Errorf("behind a front: %q, %v", p.URL, err)
	}
	if _, err := p.Tokens(t.Context(), "a", 1); err == nil || p.HasIssuer() {
		t.Error("a stack without a user pool makes tokens")
	}
	p, err = find(t.Context(), Wanted{Stack: "issuing", Region: "us-east-1"}, program(t, deployed))
	if err != nil || !p.HasIssuer() || p.pool.ID != "pool-1" || p.pool.Client != "client-1" || p.ReconcileFunction != "R" {
		t.Errorf("a stack with a user pool: %+v, %v", p, err)
	}
}

func TestASystemThatIsNotThereIsAnError(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) }))
	defer other.Close()
	for _, w := range []Wanted{
		{}, {URL: "127.0.0.1:3000"}, {URL: "ftp://x.test"}, {URL: "http://127.0.0.1:1"}, {URL: other.URL}, {Stack: "bare"}, {Stack: "none"},
	} {
		if p, err := find(t.Context(), w, program(t, deployed)); !errors.Is(err, ErrNowhere) {
			t.Errorf("%+v: %+v, %v; want %v", w, p, err, ErrNowhere)
		}
	}
}

func TestAnAddressElsewhereIsTakenAsItIs(t *testing.T) {
	p, err := Find(t.Context(), Wanted{URL: "https://abc.test"})
	if err != nil || p.Local {
		t.Errorf("%+v, %v", p, err)
	}
	if err := p.Seed(t.Context(), Sale{ID: "s"}); err == nil {
		t.Error("a sale is seeded where nobody is known")
	}
}

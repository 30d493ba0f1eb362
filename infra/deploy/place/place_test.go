package place

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
	if token, err := p.Token(t.Context(), "a b"); err != nil || token != "token of a b" {
		t.Errorf("%q, %v", token, err)
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

const deployed = `case "$*" in
"cloudformation describe-stacks --stack-name shop") echo '{"Stacks":[{"Outputs":[
 {"OutputKey":"ApiUrl","OutputValue":"https://abc.test/"},{"OutputKey":"TableName","OutputValue":"shop-T"},{"OutputKey":"SeedFunctionName","OutputValue":"shop-Seed"}]}]}';;
"cloudformation list-stack-resources --stack-name shop") echo '{"StackResourceSummaries":[
 {"ResourceType":"AWS::Lambda::Function","LogicalResourceId":"SeedFunction","PhysicalResourceId":"shop-Seed"},{"ResourceType":"AWS::IAM::Role","LogicalResourceId":"R","PhysicalResourceId":"r"}]}';;
"cloudformation describe-stacks --stack-name fronted") echo '{"Stacks":[{"Outputs":[{"OutputKey":"FrontUrl","OutputValue":"https://cdn.test"},
 {"OutputKey":"ApiUrl","OutputValue":"https://abc.test/"},{"OutputKey":"TableName","OutputValue":"T"},{"OutputKey":"SeedFunctionName","OutputValue":"S"}]}]}';;
"cloudformation list-stack-resources --stack-name fronted") echo '{}';;
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
	if _, err := p.Token(t.Context(), "a"); err == nil {
		t.Error("a deployed stack makes tokens")
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

package place

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/user"
	"strings"
	"testing"

	"flashsale/infra/kit/client"
)

func TestACallerIsNamedByTheAccountAndElseByTheMachine(t *testing.T) {
	own, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	arn := "arn:aws:sts::1:assumed-role/ops/ada"
	sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("Action") != "GetCallerIdentity" || arn == "" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, "<GetCallerIdentityResponse><GetCallerIdentityResult><Arn>%s</Arn></GetCallerIdentityResult></GetCallerIdentityResponse>", arn)
	}))
	defer sts.Close()
	for name, value := range map[string]string{
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": sts.URL, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	} {
		t.Setenv(name, value)
	}
	long := strings.Repeat("p", 300) + "/ada"
	for says, want := range map[string]string{arn: arn, "": own.Username, long: long[len(long)-256:]} {
		arn = says
		p, err := find(t.Context(), Wanted{Stack: "issuing", Region: "us-east-1"}, program(t, stacks))
		if err != nil {
			t.Fatal(err)
		}
		if o := p.Operator(t.Context()); o.Actor != want || o.API != "" {
			t.Errorf("STS says %q: %q", says, o.Actor)
		}
	}
}

func TestACommandIsAsToldOnTheLocalStackAsOnAWS(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("GET /_local/health", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"lambda":%q,"table":"LedgerTable","operate":"http://127.0.0.1:8"}`, server.URL)
	})
	own, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Find(t.Context(), Wanted{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	// With the API and a token of the local issuer, which gives everybody any name, the trail would call it verified.
	want := client.Operator{Client: p.Client, Actor: own.Username}
	if o := p.Operator(t.Context()); o != want {
		t.Errorf("got %+v, want %+v", o, want)
	}
}

package handler

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/functions/operate/assets"
)

func TestThePageIsTheSameForEverybodyAndTellsNothing(t *testing.T) {
	t.Setenv("SIGNIN_AUTHORIZE_URL", "https://issuer.example/authorize")
	t.Setenv("SIGNIN_TOKEN_URL", "https://issuer.example/token")
	t.Setenv("SIGNIN_CLIENT_ID", "operators")
	t.Setenv("SIGNIN_SCOPE", "openid")
	t.Setenv("RUNBOOK_URL", "https://wiki.example/runbook")
	page, err := PageFromEnv(assets.Files)
	if err != nil {
		t.Fatal(err)
	}
	in(t, func(t *testing.T, f *function) {
		f.Handler.(*Handler).Page = page
		for route, want := range map[string]string{"GET /": `data-client="operators"`, "GET /signin": `data-runbook="https://wiki.example/runbook" data-lead="4560"`, "GET /assets/{name}": "words"} {
			asked := events.APIGatewayV2HTTPRequest{RouteKey: route, PathParameters: map[string]string{"name": "operate.js"}}
			payload, err := json.Marshal(asked)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := f.Invoke(t, t.Context(), payload)
			var r events.APIGatewayV2HTTPResponse
			if bad := json.Unmarshal(raw, &r); err != nil || bad != nil || r.StatusCode != http.StatusOK || !strings.Contains(r.Body, want) {
				t.Errorf("%s: %s (%v)", route, raw, err)
			}
			for _, part := range []string{"default-src 'none'", "script-src 'self';", "connect-src 'self' https://issuer.example;", "frame-ancestors 'none'"} {
				if policy := r.Headers["Content-Security-Policy"]; !strings.Contains(policy, part) {
					t.Errorf("%s: the policy %q lacks %q", route, policy, part)
				}
			}
		}
		f.answered(t, event(t, "operate-sales.json")) // the API is still there
	})
	t.Setenv("SIGNIN_CLIENT_ID", "")
	if _, err := PageFromEnv(assets.Files); err == nil {
		t.Error("a sign-in without its client starts")
	}
}

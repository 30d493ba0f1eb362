package security

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

func TestWhatOperatorsDoCannotBeReachedOverHTTP(t *testing.T) {
	s := shared(t)
	s.openSale(t, "doors", 5)
	before, from := s.books(t), s.mark()
	const pause = `{"action":"pause","saleId":"doors"}`
	alice := bearer(s.token("alice"))
	for _, path := range []string{
		"/", "/seed", "/SeedFunction", "/seedfunction", "/admin", "/admin/seed", "/sales", "/sales/", "/sales/doors/", "/sales/doors/pause",
		"/sales/doors/stock", "/sales/doors/orders/me/pause", "/orders", "/orders/", "/reconcile", "/finalize", "/invoke", "/2015-03-31/functions",
		"/2015-03-31/functions/SeedFunction/invocations", "/2015-03-31/functions/ReconcileFunction/invocations",
		"/2015-03-31/functions/FinalizeFunction/invocations", "/2018-06-01/runtime/invocation/next", "/%32015-03-31/functions/SeedFunction/invocations",
		"/_local", "/_local/", "/_local/seed", "/_local/invoke", "/_local/../2015-03-31/functions/SeedFunction/invocations",
		"/_local/%2e%2e/2015-03-31/functions/SeedFunction/invocations", "/lambda-url/SeedFunction", "/000000000000/OrderQueue",
		"/$default", "/prod/seed", "/.well-known/seed", "/debug/pprof/", "/metrics", "/sales/doors/orders/../../../seed",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			a := s.must(t, method, path, pause, alice, pair{"Content-Type", "application/json"}, pair{"X-Amz-Invocation-Type", "Event"},
				pair{"X-Amz-Target", "AWSLambda.Invoke"}, pair{"X-Amz-Function-Name", "SeedFunction"})
			if path == "/" && method == http.MethodGet && a.status == http.StatusOK {
				continue // the live view's page, which is only there locally
			}
			redirected := a.status == http.StatusTemporaryRedirect || a.status == http.StatusMovedPermanently
			if a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed && !redirected {
				t.Errorf("%s %s: %v", method, path, a)
			}
		}
	}
	events := s.lines(t, from, unprintable)
	for _, function := range []string{"SeedFunction", "FinalizeFunction"} {
		for _, l := range of(events, function) {
			t.Errorf("%s was invoked: %s", function, l.text)
		}
	}
	s.unchanged(t, before)
}

func TestOnlyBuyersFunctionsStandBehindTheAPI(t *testing.T) {
	s := shared(t)
	var behind []string
	for _, r := range s.routes {
		behind = append(behind, r.Function)
		if strings.ContainsAny(r.Path, "+*") || r.Path == "$default" || r.Method == "ANY" {
			t.Errorf("the route %s %s takes more than it names", r.Method, r.Path)
		}
	}
	slices.Sort(behind)
	if got := slices.Compact(behind); !slices.Equal(got, []string{"PageFunction", "PayFunction", "PurchaseFunction", "QueryFunction"}) {
		t.Errorf("behind the API are %q", got)
	}
}

// openings are ways around the API in a template: function URLs, and permissions for
// everybody.
func openings(n *yaml.Node) (found []string) {
	if n.Kind == yaml.MappingNode {
		members := map[string]*yaml.Node{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			members[n.Content[i].Value] = n.Content[i+1]
		}
		if members["FunctionUrlConfig"] != nil {
			found = append(found, "a FunctionUrlConfig")
		}
		if kind := members["Type"]; kind != nil && kind.Value == "AWS::Lambda::Url" {
			found = append(found, "an AWS::Lambda::Url")
		}
		// The principal is next to Effect in a policy, next to Action in a permission.
		effect, principal := members["Effect"], members["Principal"]
		allows := effect != nil && effect.Value == "Allow" || effect == nil && members["FunctionName"] != nil
		if allows && principal != nil && everybody(principal) && members["Condition"] == nil {
			found = append(found, "a permission for everybody")
		}
	}
	for _, child := range n.Content {
		found = append(found, openings(child)...)
	}
	return found
}

func everybody(principal *yaml.Node) bool {
	if principal.Value == "*" {
		return true
	}
	return slices.ContainsFunc(principal.Content, everybody)
}

func TestTheTemplateOpensNoOtherDoor(t *testing.T) {
	read := func(text []byte) []string {
		var document yaml.Node
		if err := yaml.Unmarshal(text, &document); err != nil {
			t.Fatal(err)
		}
		return openings(&document)
	}
	text, err := os.ReadFile(filepath.Join(rootOf(t), "template.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range read(text) {
		t.Errorf("the template has %s", found)
	}
	for _, broken := range []string{
		"F: {Type: 'AWS::Serverless::Function', Properties: {FunctionUrlConfig: {AuthType: NONE}}}",
		"U: {Type: 'AWS::Lambda::Url'}",
		"P: {Type: 'AWS::Lambda::Permission', Properties: {FunctionName: f, Principal: '*'}}",
		"Q: {PolicyDocument: {Statement: [{Effect: Allow, Principal: '*', Action: 'sqs:SendMessage'}]}}",
		"Q: {PolicyDocument: {Statement: [{Effect: Allow, Principal: {AWS: ['*']}, Action: 'sqs:SendMessage'}]}}",
	} {
		if len(read([]byte(broken))) == 0 {
			t.Errorf("not noticed: %s", broken)
		}
	}
	if found := read([]byte("Q: {Statement: [{Effect: Deny, Principal: '*', Action: 'sqs:*'}]}")); len(found) > 0 {
		t.Errorf("a denial is taken for %q", found)
	}
}

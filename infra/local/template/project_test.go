package template

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// projectTemplate is the template that is deployed.
const projectTemplate = "../../../template.yaml"

// routesOf are the routes of one function.
func routesOf(s *Stack, function string) (routes []Route) {
	for _, r := range s.API.Routes {
		if r.Function == function {
			routes = append(routes, r)
		}
	}
	return routes
}

func TestProjectTemplateBootsWithAnIssuerAndAnAudience(t *testing.T) {
	s, err := Load(projectTemplate, Options{
		Parameters: map[string]string{"JwtIssuer": "http://127.0.0.1:3000/_local", "JwtAudience": "local"},
		TableName:  "ledger-1",
		QueueURL:   func(name string) string { return "http://127.0.0.1:9324/000000000000/" + name },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range s.Functions {
		if table := f.Environment["TABLE_NAME"]; table != "ledger-1" || f.MemoryMB != 512 {
			t.Errorf("%s has %d MB and the table %q, want those of Globals and the given name", f.LogicalID, f.MemoryMB, table)
		}
		switch f.LogicalID {
		case "PurchaseFunction":
			if got, want := f.Environment["ORDER_QUEUE_URL"], "http://127.0.0.1:9324/000000000000/OrderQueue"; got != want {
				t.Errorf("ORDER_QUEUE_URL = %q, want %q", got, want)
			}
		case "FinalizeFunction":
			if len(f.Queues) != 1 || f.Queues[0].Queue != "OrderQueue" {
				t.Errorf("finalize sources = %+v, want OrderQueue", f.Queues)
			}
		case "SeedFunction":
			if len(f.Schedules) != 1 || f.Schedules[0].Enabled || f.Schedules[0].MaxEventAge != time.Hour {
				t.Errorf("seed schedules = %+v, want one that is off and forgotten after an hour", f.Schedules)
			}
		}
	}
	if last := s.Queues[len(s.Queues)-1]; len(s.Tables) != 1 || last.Name != "OrderQueue" || len(s.API.Authorizers) != 1 || s.Operators.LogicalID != "" {
		t.Errorf("read as %+v, want one table, dead-letter queues first, one authorizer and no operators' API", s)
	}
}

func TestProjectTemplateFollowsItsParameters(t *testing.T) {
	s, err := Load(projectTemplate, Options{Parameters: map[string]string{
		"JwtIssuer": "https://issuer.example", "JwtAudience": "shop", "JwtScope": "buy",
		"CorsAllowedOrigins": "https://a.example,https://b.example", "OriginSecret": strings.Repeat("s", 32), "CreateFront": "own",
		"ReservedConcurrency": "Purchase:7,Query:0,Page:0,Pay:0,Operate:10,Finalize:20,Reconcile:0,Release:1,Draw:1,Publish:0", "FinalizeMaximumConcurrency": "9",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if s.API.CORS == nil || !slices.Equal(s.API.CORS.AllowOrigins, []string{"https://a.example", "https://b.example"}) {
		t.Errorf("CORS = %+v, want the two origins", s.API.CORS)
	}
	for _, f := range s.Functions {
		secret, has := f.Environment["ORIGIN_SECRET"]
		switch f.LogicalID {
		case "PurchaseFunction":
			if f.ReservedConcurrency != 7 || !slices.Equal(routesOf(s, f.LogicalID)[0].Scopes, []string{"buy"}) || len(secret) != 32 {
				t.Errorf("purchase = %+v, want 7 environments, the scope and the secret", f)
			}
		case "QueryFunction":
			for _, route := range routesOf(s, f.LogicalID) {
				if public := route.Authorizer == ""; public != (len(route.Scopes) == 0) {
					t.Errorf("%s asks for %v, want the scope with each token", route.Path, route.Scopes)
				}
			}
		case "FinalizeFunction":
			if f.Queues[0].MaximumConcurrency != 9 || has {
				t.Errorf("finalize = %+v, want 9 batches at once and no secret", f)
			}
		case "ReconcileFunction":
			if f.ReservedConcurrency != 0 {
				t.Errorf("reconcile reserves %d, want none", f.ReservedConcurrency)
			}
		}
	}
}

func TestProjectTemplateUsesAnExistingTable(t *testing.T) {
	s, err := Load(projectTemplate, Options{Parameters: map[string]string{
		"JwtIssuer": "https://issuer.example", "JwtAudience": "shop", "ExistingTable": "shop-restored",
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Tables) != 0 {
		t.Errorf("tables = %+v, want none of its own", s.Tables)
	}
	named := 0
	for _, f := range s.Functions {
		name, has := f.Environment["TABLE_NAME"]
		if has && name != "shop-restored" {
			t.Errorf("%s uses the table %q", f.LogicalID, name)
		}
		if has {
			named++
		}
	}
	if named < 7 {
		t.Errorf("%d functions use the table, want all but the page's and the publisher's", named)
	}
}

func TestProjectTemplateRefusesParametersThatDoNotGoTogether(t *testing.T) {
	issuer := map[string]string{"JwtIssuer": "https://issuer.example", "JwtAudience": "shop"}
	for _, c := range []struct {
		name   string
		more   map[string]string
		region string
		want   string
	}{
		{"no issuer", map[string]string{"JwtIssuer": ""}, "", "JwtIssuer"},
		{"no audience", map[string]string{"JwtAudience": ""}, "", "JwtAudience"},
		{"operators without an issuer", map[string]string{"CreateOperatorApi": "true"}, "", "OperatorIssuer"},
		{"operators without an audience", map[string]string{"CreateOperatorApi": "true", "OperatorIssuer": "https://staff.example"}, "", "OperatorAudience"},
		{"operators with the buyers' audience", map[string]string{"CreateOperatorApi": "true", "OperatorIssuer": "https://staff.example", "OperatorAudience": "shop"}, "", "must not be JwtAudience"},
		{"operators' sign-in domain without their pool", map[string]string{"CreateOperatorApi": "true", "OperatorIssuer": "https://staff.example", "OperatorAudience": "staff", "OperatorSignInDomainPrefix": "staff"}, "", "OperatorSignInDomainPrefix"},
		{"operators' sign-in without its client", map[string]string{"CreateOperatorApi": "true", "OperatorIssuer": "https://staff.example", "OperatorAudience": "staff", "OperatorSignIn": "https://staff.example/authorize,,,openid"}, "", "OperatorSignIn"},
		{"a front without a secret", map[string]string{"CreateFront": "true"}, "", "OriginSecret"},
		{"a front whose web ACL cannot be made", map[string]string{"CreateFront": "true", "OriginSecret": strings.Repeat("s", 32)}, "eu-west-1", "FrontWebAclArn"},
		{"a front of their own without a secret", map[string]string{"CreateFront": "own"}, "", "OriginSecret"},
		{"no front and a secret that nobody sends", map[string]string{"OriginSecret": strings.Repeat("s", 32)}, "", "OriginSecret="},
		{"events of an existing table without its stream", map[string]string{"ExistingTable": "shop-restored", "PublishEvents": "true"}, "", "ExistingTableStreamArn"},
		{"a budget that tells nobody", map[string]string{"MonthlyBudget": "200"}, "", "AlarmEmail"},
		{"environments ahead of no time", map[string]string{"PurchaseProvisionedConcurrency": "10"}, "", "WarmFrom"},
		{"a secret that is none", map[string]string{"OriginSecret": "short"}, "", "32 to 128"},
		{"an origin with a wildcard", map[string]string{"CorsAllowedOrigins": "https://*"}, "", "CorsAllowedOrigins"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := Options{Region: c.region, Parameters: map[string]string{}}
			for _, set := range []map[string]string{issuer, c.more} {
				for name, value := range set {
					o.Parameters[name] = value
				}
			}
			_, err := Load(projectTemplate, o)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want a refusal that names %s", err, c.want)
			}
		})
	}
}

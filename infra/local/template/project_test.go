package template

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// projectTemplate finds the template that is deployed.
func projectTemplate(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "template.yaml")
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
}

func TestProjectTemplateBootsWithAnIssuerAndAnAudience(t *testing.T) {
	s, err := Load(projectTemplate(t), Options{
		Parameters: map[string]string{"JwtIssuer": "http://127.0.0.1:3000/_local", "JwtAudience": "local"},
		TableName:  "ledger-1",
		QueueURL:   func(name string) string { return "http://127.0.0.1:9324/000000000000/" + name },
	})
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]Function{}
	for _, f := range s.Functions {
		byID[f.LogicalID] = f
		if f.Environment["TABLE_NAME"] != "ledger-1" {
			t.Errorf("%s: TABLE_NAME = %q, want the given table name", f.LogicalID, f.Environment["TABLE_NAME"])
		}
		if f.Handler != "bootstrap" || f.Runtime != "provided.al2023" {
			t.Errorf("%s: handler %q on %q, want what Globals say", f.LogicalID, f.Handler, f.Runtime)
		}
	}
	purchase := byID["PurchaseFunction"]
	if got, want := purchase.Environment["ORDER_QUEUE_URL"], "http://127.0.0.1:9324/000000000000/OrderQueue"; got != want {
		t.Errorf("ORDER_QUEUE_URL = %q, want %q", got, want)
	}
	if len(purchase.Routes) != 1 || purchase.Routes[0].Method != "POST" || purchase.Routes[0].Authorizer == "" {
		t.Errorf("purchase routes = %+v, want one POST behind the authorizer", purchase.Routes)
	}
	for _, route := range byID["QueryFunction"].Routes {
		if public := route.Path == "/sales/{saleId}"; public != (route.Authorizer == "") {
			t.Errorf("GET %s has authorizer %q; only the sale page is public", route.Path, route.Authorizer)
		}
	}
	if sources := byID["FinalizeFunction"].Queues; len(sources) != 1 || sources[0].Queue != "OrderQueue" || !sources[0].ReportBatchItemFailures {
		t.Errorf("finalize sources = %+v, want OrderQueue with partial failures", sources)
	}
	if schedules := byID["SeedFunction"].Schedules; len(schedules) != 1 || schedules[0].Enabled || schedules[0].MaxEventAge != time.Hour {
		t.Errorf("seed schedules = %+v, want one that is off and forgotten after an hour", schedules)
	}
	if len(s.Tables) != 1 || s.Tables[0].Name != "ledger-1" || len(s.Tables[0].KeySchema) != 2 {
		t.Errorf("tables = %+v, want one with pk and sk", s.Tables)
	}
	place := map[string]int{}
	for i, q := range s.Queues {
		place[q.LogicalID] = i
	}
	if place["OrderDeadLetterQueue"] > place["OrderQueue"] {
		t.Errorf("queues = %+v, want the dead-letter queue first", s.Queues)
	}
	if len(s.API.Authorizers) != 1 || len(s.API.Routes) < 4 {
		t.Errorf("api = %+v, want one authorizer and all routes", s.API)
	}
}

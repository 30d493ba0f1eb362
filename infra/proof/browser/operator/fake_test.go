// Package operator tests the operators' page in a browser, over OperateFunction and its ledger: what an operator sees and
// is asked, which changes are sent, and that a lost answer, a second operator or somebody else's text misleads nobody. What
// a sale's counts say, and the health of the stack, are made up.
package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/functions/operate/assets"
	"flashsale/functions/operate/handler"
	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/proof/browser"
	"flashsale/shared/change"
	"flashsale/shared/clock"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/webpage"
)

var chromium *browser.Browser

func TestMain(m *testing.M) {
	var err error
	if chromium, err = browser.Start("../../../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := chromium.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

type object = map[string]any

// shop is the function with its page.
type shop struct {
	*httptest.Server
	db       *dynamotest.DB
	book     *ledger.Ledger
	function *handler.Handler

	mu sync.Mutex
	// made are what is shown of a sale besides, or instead of, what the function says; that of a sale which the ledger has
	// not is all that is known of it.
	made map[string]object
	// signs are those of health, repairs the bodies that asked for one.
	signs   []object
	repairs []string
}

func open(t *testing.T) *shop {
	t.Helper()
	const images = "https://images.example"
	signIn := webpage.SignIn{Authorize: "/authorize", Token: "/token", ClientID: "operators", Scope: "openid"}
	page, err := webpage.New(assets.Files, webpage.Options{SignIn: signIn, ImageOrigin: images})
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{made: map[string]object{}, signs: well(), db: dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})}
	s.book = ledger.New(s.db, "T", ledger.Options{})
	s.function = handler.New(s.book, telemetry.New(io.Discard, "operate", clock.Wall), clock.Wall)
	s.function.RolesClaim, s.function.Desk.ImageOrigin, s.function.Desk.DrawLead = "roles", images, 8100*time.Second
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		answer, err := page.HTML(handler.PageData{SignIn: signIn, Runbook: "https://wiki.example/runbook", Lead: 8100, Images: images}, http.StatusOK, "")
		if err != nil {
			t.Error(err)
		}
		write(w, answer)
	})
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) { write(w, page.Asset(r.PathValue("name"), "")) })
	for _, route := range []string{"GET /operate/sales", "POST /operate/sales", "GET /operate/sales/{saleId}", "GET /operate/sales/{saleId}/changes", "POST /operate/sales/{saleId}/changes",
		"GET /operate/sales/{saleId}/buyers/{user}", "GET /operate/refunds", "POST /operate/refunds", "POST /operate/refunds/list",
		"GET /operate/sendings", "POST /operate/sendings", "POST /operate/sendings/stop"} {
		mux.HandleFunc(route, s.operate)
	}
	mux.HandleFunc("GET /operate/health", s.health)
	mux.HandleFunc("GET /operate/purchases", s.purchases)
	mux.HandleFunc("POST /operate/repairs", s.repair)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func write(w http.ResponseWriter, r webpage.Response) {
	for name, value := range r.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.StatusCode)
	_, _ = io.WriteString(w, r.Body)
}

func answer(w http.ResponseWriter, status int, body any) {
	text, _ := json.Marshal(body)
	write(w, webpage.Response{StatusCode: status, Headers: map[string]string{"Content-Type": "application/json"}, Body: string(text)})
}

// operate asks the function as API Gateway does, for a token "ROLE NAME".
func (s *shop) operate(w http.ResponseWriter, r *http.Request) {
	role, actor, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), " ")
	if !ok {
		answer(w, 401, object{"message": "Unauthorized"})
		return
	}
	body, _ := io.ReadAll(r.Body)
	query := map[string]string{}
	for name, values := range r.URL.Query() {
		query[name] = values[0]
	}
	event, _ := json.Marshal(object{
		"version": "2.0", "routeKey": r.Pattern, "queryStringParameters": query, "headers": object{"content-type": r.Header.Get("Content-Type")}, "body": string(body),
		"pathParameters": object{"saleId": r.PathValue("saleId"), "user": r.PathValue("user")},
		"requestContext": object{"authorizer": object{"jwt": object{"claims": object{"sub": actor, "roles": "flashsale-" + strings.ReplaceAll(role, "+", " flashsale-")}}}},
	})
	var response webpage.Response
	out, err := s.function.Invoke(r.Context(), event)
	if err := errors.Join(err, json.Unmarshal(out, &response)); err != nil {
		answer(w, 500, object{"message": err.Error()})
		return
	}
	if response.StatusCode == 200 && strings.HasPrefix(r.Pattern, "GET /operate/sales") && strings.Count(r.URL.Path, "/") < 4 {
		s.show(&response, r.PathValue("saleId"), query)
	}
	write(w, response)
}

// show puts what is made up into an answer with one sale, or with all.
func (s *shop) show(response *webpage.Response, id string, query map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body := object{}
	_ = json.Unmarshal([]byte(response.Body), &body)
	if id != "" {
		maps.Copy(body, s.made[id])
	} else {
		all, left := []any{}, maps.Clone(s.made)
		for _, one := range body["sales"].([]any) {
			one := one.(object)
			maps.Copy(one, s.made[one["saleId"].(string)])
			delete(left, one["saleId"].(string))
			delete(one, "remaining")
			if one["drained"] != true || query["drained"] == "1" {
				all = append(all, one)
			}
		}
		for _, one := range left {
			if one["saleId"] != nil && (query["group"] == "" || query["group"] == one["limitGroup"]) {
				all = append(all, one)
			}
		}
		body["sales"] = all
	}
	text, _ := json.Marshal(body)
	response.Body = string(text)
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// add adds a sale that is open, with books that balance; more replaces members.
func (s *shop) add(id, name string, more object) {
	now := time.Now()
	made := object{
		"remaining": object{"units": 812, "asOf": instant(now)},
		"books": object{"asOf": instant(now.Add(-42 * time.Second)), "stock": 812, "seeded": 1000, "claims": 188, "pending": 3, "confirmed": 185, "paid": 140, "unpaid": 45,
			"released": 6, "refundsDue": 0, "oldestPendingSeconds": 2, "balanced": true, "findings": []string{}},
	}
	maps.Copy(made, more)
	if books, counted := made["books"].(object); counted && books["money"] == nil {
		books["money"] = []object{}
	}
	c := sale.Creation{SaleID: id, Name: name, OpensAt: now.Add(-time.Hour), ClosesAt: now.Add(2 * time.Hour), Stock: 1000, Shards: 20, PayWithin: 30 * time.Minute, Price: 1, Currency: "CNY"}
	real := func(member string, take func(value any)) {
		if value := made[member]; value != nil {
			take(value)
			delete(made, member)
		}
	}
	switch {
	case more["error"] != nil:
		made = object{"saleId": id, "error": more["error"]}
	case more["state"] == "DRAFT":
		maps.Copy(made, object{"saleId": id, "name": name, "seeded": 9, "shards": 1, "edits": 0, "opensAt": instant(c.OpensAt), "closesAt": instant(c.ClosesAt)})
	default:
		real("opensAt", func(v any) { c.OpensAt, _ = time.Parse(time.RFC3339, v.(string)) })
		real("closesAt", func(v any) { c.ClosesAt, _ = time.Parse(time.RFC3339, v.(string)) })
		real("seeded", func(v any) { c.Stock = int64(v.(int)) })
		real("shards", func(v any) { c.Shards = v.(int) })
		real("payWithin", func(v any) { c.PayWithin = time.Duration(v.(int)) * time.Second })
		real("price", func(v any) { c.Price = int64(v.(int)) })
		real("currency", func(v any) { c.Currency = v.(string) })
		if group, _ := made["limitGroup"].(string); sale.ValidID(group) {
			c.LimitGroup = group
		}
		if _, err := s.book.Create(context.Background(), c); err != nil {
			panic(err)
		}
		if made["state"] == "PAUSED" {
			real("state", func(any) {})
			real("paused", func(any) {})
			if err := s.apply("", id, false, object{"id": "before", "action": "pause"}); err != nil {
				panic(err)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.made[id] = made
}

// apply changes a sale as somebody else.
func (s *shop) apply(actor, saleID string, verified bool, asked object) error {
	var r change.Request
	text, _ := json.Marshal(asked)
	if err := json.Unmarshal(text, &r); err != nil {
		return err
	}
	r.SaleID, r.ChangeID, r.SeedID, r.Actor, r.Verified = saleID, r.ID, r.ID, actor, verified
	_, err := s.function.Desk.Apply(context.Background(), r)
	return err
}

func (s *shop) by(t *testing.T, actor, saleID string, verified bool, asked object) {
	t.Helper()
	if err := s.apply(actor, saleID, verified, asked); err != nil {
		t.Error(err)
	}
}

// changed returns the actions in a sale's trail since the test began, oldest first.
func (s *shop) changed(t *testing.T, saleID string) (actions []string) {
	t.Helper()
	trail, _, err := s.book.Trail(t.Context(), saleID, 100)
	if err != nil {
		t.Error(err)
	}
	for _, c := range slices.Backward(trail) {
		if c.ID != "before" {
			actions = append(actions, strings.TrimSuffix(string(c.Action)+":"+c.Note, ":"))
		}
	}
	return actions
}

// tab opens a tab that is signed in with that role and name; "" is nobody.
func (s *shop) tab(t *testing.T, who string) *browser.Tab {
	t.Helper()
	tab := chromium.Tab(t)
	tab.Zone("Asia/Shanghai")
	if who != "" {
		tab.Before(fmt.Sprintf(`sessionStorage.token ??= JSON.stringify({access: %q, expires: Date.now() + 86400000})`, who))
	}
	return tab
}

// look opens the page at a place, such as "#sale/moutai", and waits until it shows a heading.
func (s *shop) look(tab *browser.Tab, place, heading string) {
	tab.Open(s.URL + "/" + place)
	waitHeading(tab, heading)
}

func waitHeading(tab *browser.Tab, heading string) {
	tab.Wait(fmt.Sprintf("document.querySelector('h1')?.innerText === %q && !document.querySelector('main').innerText.includes('Loading')", heading))
}

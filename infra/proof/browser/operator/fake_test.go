// Package operator tests the operators' page in a browser, over a fake of its API with the
// rules that the page relies on: what an operator sees and is asked, which changes are sent,
// and that a lost answer, a second operator or somebody else's text misleads nobody.
package operator

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
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
	"flashsale/infra/proof/contract"
	"flashsale/shared/change"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/webpage"
)

var (
	chromium  *browser.Browser
	operators *contract.Contract
)

func TestMain(m *testing.M) {
	var err error
	if operators, err = contract.Open(contract.Operators); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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

// shop is a fake of the operators' API, with the page in front of it.
type shop struct {
	*httptest.Server
	page *webpage.Page

	mu     sync.Mutex
	sales  map[string]object
	trails map[string][]object // newest first
	bodies map[string]string   // of the changes, by sale and id
	// cancelled says by whom the order of a sale was.
	cancelled map[string]string
	// signs are those of health, repairs the bodies that asked for one.
	signs   []object
	repairs []string
	// strange: its texts are what no API would answer.
	strange bool
	// Refunds are the real function's over its ledger, which has the sales, too.
	db       *dynamotest.DB
	book     *ledger.Ledger
	function *handler.Handler
}

func open(t *testing.T) *shop {
	t.Helper()
	signIn := webpage.SignIn{Authorize: "/authorize", Token: "/token", ClientID: "operators", Scope: "openid"}
	page, err := webpage.New(assets.Files, webpage.Options{SignIn: signIn, ImageOrigin: "https://images.example"})
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{page: page, sales: map[string]object{}, trails: map[string][]object{}, bodies: map[string]string{}, cancelled: map[string]string{}, signs: well()}
	s.db = dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})
	s.book = ledger.New(s.db, "T", ledger.Options{})
	s.function = handler.New(s.book, telemetry.New(io.Discard, "operate", clock.Wall), clock.Wall)
	s.function.RolesClaim = "roles"
	mux := http.NewServeMux()
	html := func(w http.ResponseWriter, r *http.Request) {
		answer, err := page.HTML(handler.PageData{SignIn: signIn, Runbook: "https://wiki.example/runbook", Lead: 8100, Images: "https://images.example"}, http.StatusOK, "")
		if err != nil {
			t.Error(err)
		}
		write(w, answer)
	}
	mux.HandleFunc("GET /{$}", html)
	mux.HandleFunc("GET /assets/{name}", func(w http.ResponseWriter, r *http.Request) { write(w, page.Asset(r.PathValue("name"), "")) })
	mux.HandleFunc("/operate/", s.operate)
	mux.HandleFunc("/operate/refunds", s.refunds)
	mux.HandleFunc("/operate/refunds/list", s.refunds)
	mux.HandleFunc("POST /operate/sales", s.create)
	mux.HandleFunc("GET /operate/health", s.health)
	mux.HandleFunc("GET /operate/purchases", s.purchases)
	mux.HandleFunc("POST /operate/repairs", s.repair)
	s.Server = httptest.NewServer(s.held(t, mux))
	t.Cleanup(s.Close)
	return s
}

// held holds what the fake answers, and what the page has asked for, against the contract.
func (s *shop) held(t *testing.T, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.Body, _ = r.GetBody()
		got := httptest.NewRecorder()
		next.ServeHTTP(got, r)
		if strings.HasPrefix(r.URL.Path, "/operate/") && r.URL.Path != "/operate/refunds" && !s.strange {
			if err := operators.CheckExchange(r, contract.Answer{Status: got.Code, Header: got.Header(), Body: got.Body.Bytes()}); err != nil {
				t.Errorf("%v\n%s", err, got.Body)
			}
		}
		maps.Copy(w.Header(), got.Header())
		w.WriteHeader(got.Code)
		_, _ = w.Write(got.Body.Bytes())
	})
}

func write(w http.ResponseWriter, r webpage.Response) {
	for name, value := range r.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.StatusCode)
	_, _ = w.Write([]byte(r.Body))
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", map[bool]string{true: "application/json", false: "application/problem+json"}[status < 400])
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set(httpapi.VersionHeader, sale.Release)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// refuse answers with an error as the functions do; more are members of its own.
func refuse(w http.ResponseWriter, err error, more object) {
	problem, body := httpapi.Problem(err, ""), object{}
	_ = json.Unmarshal([]byte(problem.Body), &body)
	maps.Copy(body, more)
	answer(w, problem.StatusCode, body)
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// add adds a sale that is open, with books that balance; more replaces members.
func (s *shop) add(id, name string, more object) {
	now := time.Now()
	one := object{
		"saleId": id, "name": name, "state": "OPEN", "paused": false, "opensAt": instant(now.Add(-time.Hour)), "closesAt": instant(now.Add(2 * time.Hour)),
		"changedAt": instant(now.Add(-time.Hour)), "drained": false, "recalling": false, "edits": 0, "seeded": 1000, "shards": 20, "payWithin": 1800,
		"books": object{"asOf": instant(now.Add(-42 * time.Second)), "stock": 812, "seeded": 1000, "claims": 188, "pending": 3, "confirmed": 185, "paid": 140, "unpaid": 45,
			"released": 6, "refundsDue": 0, "oldestPendingSeconds": 2, "balanced": true, "findings": []string{}},
	}
	if more["error"] != nil {
		one = object{"saleId": id}
	}
	maps.Copy(one, more)
	if books, counted := one["books"].(object); counted && books["money"] == nil {
		books["money"] = []object{}
	}
	if group, _ := one["limitGroup"].(string); one["state"] == "OPEN" {
		if _, err := s.book.Create(context.Background(), sale.Creation{SaleID: id, Name: name, OpensAt: now, ClosesAt: now.Add(time.Hour), Stock: 9, Shards: 1,
			PayWithin: time.Hour, Price: 1, Currency: "CNY", LimitGroup: group}); err != nil {
			panic(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sales[id] = one
}

// operate answers for a token "ROLE NAME". It keeps the rules of changes: each id counts once.
func (s *shop) operate(w http.ResponseWriter, r *http.Request) {
	role, actor, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), " ")
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/operate/sales"), "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !ok:
		refuse(w, sale.Refuse(sale.Unauthorized, ""), nil)
		return
	case role != "operator" && role != "viewer" || r.Method == http.MethodPost && role != "operator":
		refuse(w, sale.Refuse(sale.Forbidden, "this takes another role"), nil)
		return
	case len(parts) < 2:
		all := []object{}
		group := r.URL.Query().Get("group")
		for _, id := range slices.Sorted(maps.Keys(s.sales)) {
			if one := s.sales[id]; group == one["limitGroup"] || group == "" && (one["drained"] != true || r.URL.Query().Get("drained") == "1") {
				all = append(all, one)
			}
		}
		answer(w, 200, object{"asOf": instant(time.Now()), "version": sale.Release, "actor": actor, "role": role, "sales": all})
		return
	}
	one, found := s.sales[parts[1]]
	switch {
	case !found:
		refuse(w, sale.Refuse(sale.SaleNotFound, ""), nil)
	case len(parts) == 2:
		shown := maps.Clone(one)
		shown["seen"] = seenOf(one)
		if one["price"] != nil {
			shown["offer"] = object{"price": one["price"], "currency": one["currency"]}
		}
		shown["remaining"] = object{"units": 812, "asOf": instant(time.Now())}
		answer(w, 200, shown)
	case parts[2] == "buyers":
		user, _ := url.PathUnescape(parts[3])
		state := "PAID"
		if s.cancelled[parts[1]] != "" {
			state = "CANCELLED"
		}
		answer(w, 200, object{"saleId": parts[1], "user": user, "state": state, "claimId": "01J", "orderId": order, "amount": "CNY 899.00", "forBuyer": "your order is 523415642750058497, and it is paid",
			"lines": []object{{"at": instant(time.Now()), "text": "accepted: claim 01J, one unit of shard 7"}, {"text": "paid: stripe#pi_1 <b>"}}})
	case r.Method == http.MethodGet:
		answer(w, 200, object{"saleId": parts[1], "edits": one["edits"], "changes": append([]object{}, s.trails[parts[1]]...), "more": false})
	default:
		body, _ := io.ReadAll(r.Body)
		if _, err := change.DecodeOperated(body, parts[1]); err != nil {
			refuse(w, err, nil)
			return
		}
		var asked object
		_ = json.Unmarshal(body, &asked)
		s.change(w, one, asked, actor, true)
	}
}

// seenOf is what somebody who reads a sale has seen of it.
func seenOf(one object) string { return fmt.Sprint(one["edits"], ".", one["seeded"], ".00000000") }

// change applies a change, once for each id.
func (s *shop) change(w http.ResponseWriter, one, change object, actor string, verified bool) {
	id, saleID := fmt.Sprint(change["id"]), fmt.Sprint(one["saleId"])
	seen, hasSeen := change["seen"]
	change = maps.Clone(change)
	delete(change, "seen")
	body := fmt.Sprint(saleID, change)
	before, known := s.bodies[saleID+" "+id]
	switch {
	case change["action"] == "cancel":
		s.cancel(w, one, actor, change, known)
		return
	case known && before != body:
		refuse(w, sale.Refuse(sale.Conflicting, "the change id was used for another change"), nil)
		return
	case one["recalledAt"] != nil && !known:
		refuse(w, sale.Refuse(sale.Recalled, "the sale was recalled"), nil)
		return
	case hasSeen && seen != seenOf(one) && !known:
		refuse(w, sale.Refuse(sale.ChangedMeanwhile, "the sale was changed meanwhile"), object{"seen": seenOf(one), "change": s.trails[saleID][0]})
		return
	}
	if !known {
		s.bodies[saleID+" "+id] = body
		now := instant(time.Now())
		c := object{"id": id, "action": change["action"], "at": now, "actor": actor, "verified": verified}
		if change["note"] != nil {
			c["note"] = change["note"]
		}
		one = maps.Clone(one)
		switch change["action"] {
		case "add":
			one["seeded"] = one["seeded"].(int) + int(change["stock"].(float64))
			c["units"] = change["stock"]
		case "describe":
			c["about"] = change["about"]
		case "reschedule":
			one["opensAt"], one["closesAt"] = change["opensAt"], change["closesAt"]
		case "extend":
			one["payUntil"], c["payUntil"] = change["until"], change["until"]
		case "recall":
			one["recalledAt"], one["state"], one["recalling"], one["recallNote"] = now, "RECALLED", true, change["note"]
		}
		if change["action"] != "add" {
			one["edits"] = one["edits"].(int) + 1
			c["n"] = one["edits"]
			if change["action"] == "pause" || change["action"] == "resume" {
				one["paused"] = change["action"] == "pause"
				one["state"] = map[bool]string{true: "PAUSED", false: "OPEN"}[one["paused"].(bool)]
			}
			c["paused"], c["opensAt"], c["closesAt"] = one["paused"], one["opensAt"], one["closesAt"]
		}
		s.sales[saleID] = one
		s.trails[saleID] = append([]object{c}, s.trails[saleID]...)
	}
	result := object{"changeId": id, "applied": !known}
	for _, name := range []string{"saleId", "seeded", "shards", "paused", "opensAt", "closesAt", "payUntil", "recalledAt"} {
		if one[name] != nil {
			result[name] = one[name]
		}
	}
	answer(w, 200, result)
}

// by changes a sale as somebody else.
func (s *shop) by(t *testing.T, actor, saleID string, verified bool, change object) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	w := httptest.NewRecorder()
	if s.change(w, s.sales[saleID], change, actor, verified); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// changed returns the actions in a sale's trail, oldest first.
func (s *shop) changed(saleID string) (actions []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range slices.Backward(s.trails[saleID]) {
		actions = append(actions, strings.TrimSuffix(fmt.Sprint(c["action"], ":", c["note"]), ":<nil>"))
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

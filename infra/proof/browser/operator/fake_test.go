// Package operator tests the operators' page in a browser, over a fake of its API with the
// rules that the page relies on: what an operator sees and is asked, which changes are sent,
// and that a lost answer, a second operator or somebody else's text misleads nobody.
package operator

import (
	"encoding/json"
	"fmt"
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
	"flashsale/infra/proof/browser"
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

// shop is a fake of the operators' API, with the page in front of it.
type shop struct {
	*httptest.Server
	page *webpage.Page

	mu     sync.Mutex
	sales  map[string]object
	trails map[string][]object // newest first
	bodies map[string]string   // of the changes, by sale and id
	// signs are those of health, repairs the bodies that asked for one.
	signs   []object
	repairs []string
	// due are the refunds.
	due []object
}

func open(t *testing.T) *shop {
	t.Helper()
	signIn := webpage.SignIn{Authorize: "/authorize", Token: "/token", ClientID: "operators", Scope: "openid"}
	page, err := webpage.New(assets.Files, webpage.Options{SignIn: signIn, ImageOrigin: "https://images.example"})
	if err != nil {
		t.Fatal(err)
	}
	s := &shop{page: page, sales: map[string]object{}, trails: map[string][]object{}, bodies: map[string]string{}, signs: well()}
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
	mux.HandleFunc("POST /operate/sales", s.create)
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
	_, _ = w.Write([]byte(r.Body))
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
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
	refuse := func(status int, code, detail string) {
		answer(w, status, object{"code": code, "status": status, "detail": detail})
	}
	switch {
	case !ok:
		refuse(401, "unauthorized", "")
		return
	case role != "operator" && role != "viewer" || r.Method == http.MethodPost && role != "operator":
		refuse(403, "forbidden", "")
		return
	case r.URL.Path == "/operate/refunds":
		s.refunds(w, r, actor)
		return
	case len(parts) < 2:
		all := []object{}
		group := r.URL.Query().Get("group")
		for _, id := range slices.Sorted(maps.Keys(s.sales)) {
			if one := s.sales[id]; group == one["limitGroup"] || group == "" && (one["drained"] != true || r.URL.Query().Get("drained") == "1") {
				all = append(all, one)
			}
		}
		answer(w, 200, object{"asOf": instant(time.Now()), "actor": actor, "role": role, "sales": all})
		return
	}
	one, found := s.sales[parts[1]]
	switch {
	case !found:
		refuse(404, "sale-not-found", "")
	case len(parts) == 2:
		shown := maps.Clone(one)
		shown["seen"] = seenOf(one)
		shown["remaining"] = object{"units": 812, "asOf": instant(time.Now())}
		answer(w, 200, shown)
	case parts[2] == "buyers":
		user, _ := url.PathUnescape(parts[3])
		state, by := "PAID", one["cancelledBy"]
		if by != nil {
			state = "CANCELLED"
		}
		answer(w, 200, object{"saleId": parts[1], "user": user, "state": state, "claimId": "01J", "orderId": order, "amount": "CNY 899.00", "forBuyer": "your order is 523415642750058497, and it is paid",
			"lines": []object{{"at": instant(time.Now()), "text": "accepted: claim 01J, one unit of shard 7"}, {"text": "paid: stripe#pi_1 <b>"}}})
	case r.Method == http.MethodGet:
		answer(w, 200, object{"saleId": parts[1], "edits": one["edits"], "changes": append([]object{}, s.trails[parts[1]]...), "more": false})
	default:
		var change object
		if err := json.NewDecoder(r.Body).Decode(&change); err != nil {
			refuse(400, "invalid-request", "the body is not JSON")
			return
		}
		if takes := change["action"] != "pause" && change["action"] != "recall" && change["action"] != "cancel"; takes != (change["seen"] != nil) {
			refuse(400, "invalid-request", "seen")
			return
		}
		s.change(w, one, change, actor, true, refuse)
	}
}

// seenOf is what somebody who reads a sale has seen of it.
func seenOf(one object) string { return fmt.Sprint(one["edits"], ".", one["seeded"], ".00000000") }

// change applies a change, once for each id.
func (s *shop) change(w http.ResponseWriter, one, change object, actor string, verified bool, refuse func(int, string, string)) {
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
		refuse(409, "conflicting-request", "the change id was used for another change")
		return
	case one["recalledAt"] != nil && !known:
		refuse(410, "recalled", "the sale was recalled")
		return
	case hasSeen && seen != seenOf(one) && !known:
		answer(w, 409, object{"code": "changed-meanwhile", "status": 409, "seen": seenOf(one), "change": s.trails[saleID][0]})
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
	s.change(w, s.sales[saleID], change, actor, verified, func(status int, code, _ string) { t.Errorf("%d %s", status, code) })
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

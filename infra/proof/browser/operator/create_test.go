package operator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"flashsale/infra/proof/browser"
)

// create keeps the rule of creations: the same one again changes nothing, another one is refused.
func (s *shop) create(w http.ResponseWriter, r *http.Request) {
	var asked object
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer operator ") {
		answer(w, 403, object{"code": "forbidden"})
		return
	}
	id := fmt.Sprint(asked["saleId"])
	delete(asked, "id")
	s.mu.Lock()
	before, known := s.bodies["create "+id]
	body := fmt.Sprint(asked)
	s.bodies["create "+id] = body
	s.mu.Unlock()
	if known && before != body || id == "moutai" {
		answer(w, 409, object{"code": "conflicting-request", "detail": "the sale was created before with other contents, by carol on 2026-11-10T09:00:00Z"})
		return
	}
	if !known {
		s.add(id, fmt.Sprint(asked["name"]), object{"seeded": int(asked["stock"].(float64)), "limitGroup": asked["limitGroup"], "asked": asked})
	}
	answer(w, 200, object{"saleId": id, "seeded": asked["stock"], "shards": 1, "applied": !known, "changeId": "x", "seen": "0.0.x"})
}

// set types a text into a field of the form.
func set(tab *browser.Tab, field, text string) {
	browser.Eval[bool](tab, fmt.Sprintf(`(document.querySelector("#new-%s").value = %q, document.querySelector("#new-%[1]s").dispatchEvent(new Event("input")))`, field, text))
}

func TestSizesBecomeOneGroupOnceAndThePreviewFollows(t *testing.T) {
	t.Parallel()
	s := market(t)
	tab := s.tab(t, "operator alice")
	s.look(tab, "", "Sales")
	tab.Click("a[href='#create']")
	waitHeading(tab, "Create a sale")
	for field, text := range map[string]string{"sizes": "38: 20, 38: 5", "image": "https://other.example/a.jpg", "page": "shop", "price": "9,5", "currency": "euro", "minutes": "0", "opens": "", "closes": "2001-01-01T00:00", "rate": "0", "from": "2035-11-10T20:00", "until": "2035-11-09T20:00", "hours": "0"} {
		set(tab, field, text)
	}
	tab.Click(".making button.main")
	tab.WaitText("Nothing is sent yet: see beside 12 fields")
	said := browser.Eval[string](tab, "document.querySelectorAll('.making small.bad').length + ' fields, focus on ' + document.activeElement.id")
	if sent := tab.Count("POST", "/operate/sales"); said != "12 fields, focus on new-id" || sent != 0 {
		t.Errorf("%s, and %d creations sent; want 12 fields, focus on the first, and none", said, sent)
	}
	for field, text := range map[string]string{"name": "Trail Runner 9", "id": "trail-9", "sizes": "38: 20, 39=30", "price": "1299.5", "currency": "cny", "about": "Numbered.", "from": "2035-11-08T20:00", "until": "2035-11-10T20:00", "image": "https://images.example/a.jpg", "page": "", "minutes": "30", "rate": "", "hours": "4", "opens": "2035-11-09T20:00", "closes": "2035-11-14T20:00"} {
		set(tab, field, text)
	}
	for _, says := range []string{"CN¥1,299.50", "Enter the draw", "Numbered.", "Create 2 sales with 50 units", "at least 2 h 15 min after entering ends", "To be paid within 30 min", "$5.56"} {
		tab.WaitText(says)
	}
	tab.Click(".making button.main")
	tab.WaitText("Open it at least 2 h 15 min after entering ends.")
	set(tab, "opens", "2035-11-11T20:00")
	n := 0
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Method != "POST" || r.Path != "/operate/sales" {
			return browser.Answer{}
		}
		n++
		return browser.Answer{Lost: n == 1}
	})
	tab.Click(".making button.main")
	tab.WaitText("Trail Runner 9 38: certain, it is there.")
	tab.WaitText("Trail Runner 9 39: certain, it is there.")
	tab.Click(".making button.main")
	tab.WaitText("Trail Runner 9 38: certain, it was there already with the same contents.")
	set(tab, "id", "moutai")
	set(tab, "sizes", "")
	set(tab, "stock", "5")
	tab.Click(".making button.main")
	tab.WaitText("not done. the sale was created before with other contents, by carol on")
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.sales["trail-9-39"]["asked"].(object)
	want := object{
		"name": "Trail Runner 9 39", "stock": 30.0, "price": 129950.0, "currency": "CNY", "payWithin": 1800.0, "limitGroup": "trail-9", "keepHours": 4.0, "opensAt": "2035-11-11T12:00:00.000Z",
		"enterUntil": "2035-11-10T12:00:00.000Z", "about": "Numbered.", "image": "https://images.example/a.jpg",
	}
	for name, want := range want {
		if asked[name] != want {
			t.Errorf("%s is %v, want %v", name, asked[name], want)
		}
	}
}

func TestASaleIsCopiedIntoTheFormAndAViewerHasNone(t *testing.T) {
	t.Parallel()
	s := market(t)
	s.add("wine", "Wine", object{"offer": object{"price": 4900, "currency": "EUR", "about": "Red."}, "payWithin": 3600})
	tab := s.tab(t, "operator alice")
	s.look(tab, "#sale/wine", "Wine")
	tab.Click("a[href='#create/wine']")
	tab.Wait(`document.querySelector("#new-price")?.value === "49"`)
	if got := browser.Eval[string](tab, `["name", "id", "about", "price", "currency", "minutes", "stock"].map((f) => document.querySelector("#new-" + f).value).join("|")`); got != "Wine||Red.|49|EUR|60|1000" {
		t.Errorf("the copy is %s", got)
	}
	// Browsers say that a dinar of Iraq has no smaller unit, and ISO 4217 that it has a thousand.
	s.add("dates", "Dates", object{"offer": object{"price": 1500000, "currency": "IQD"}, "payWithin": 3600})
	tab.Open(s.URL + "/#create/dates")
	tab.Wait("['#new-price', '#new-currency'].map((f) => document.querySelector(f)?.value).join(' ') === '1500 IQD'")
	viewer := s.tab(t, "viewer dave")
	s.look(viewer, "#create", "Sales")
	if n := browser.Eval[int](viewer, "document.querySelectorAll('form.making, a[href^=\"#create\"]').length"); n != 0 {
		t.Errorf("a viewer is offered %d ways to create a sale", n)
	}
}

package operator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

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
		s.add(id, fmt.Sprint(asked["name"]), object{"seeded": int(asked["stock"].(float64)), "limitGroup": asked["limitGroup"], "asked": asked, "books": nil})
	}
	answer(w, 200, object{"saleId": id, "seeded": asked["stock"], "shards": 1, "applied": !known, "changeId": "x", "seen": "0.0.x"})
}

// set types texts into fields of the form.
func set(tab *browser.Tab, texts map[string]string) {
	for field, text := range texts {
		browser.Eval[bool](tab, fmt.Sprintf(`(document.querySelector("#new-%s").value = %q, document.querySelector("#new-%[1]s").dispatchEvent(new Event("input")))`, field, text))
	}
}

func TestSizesBecomeOneGroupOnceAndThePreviewFollows(t *testing.T) {
	t.Parallel()
	s := market(t)
	tab := s.tab(t, "operator alice")
	s.look(tab, "", "Sales")
	tab.Click("a[href='#create']")
	waitHeading(tab, "Create a sale")
	set(tab, map[string]string{"sizes": "38: 20, 38: 5", "image": "https://other.example/a.jpg", "page": "shop", "price": "9,5", "currency": "euro", "minutes": "0", "opens": "", "closes": "2001-01-01T00:00", "rate": "1.5", "from": "2035-11-10T20:00", "until": "2035-11-09T20:00", "hours": "0"})
	tab.Click(".making button.main")
	tab.WaitText("Nothing is sent yet: see beside 12 fields")
	said := browser.Eval[string](tab, "document.querySelectorAll('.making small.bad').length + ' fields, focus on ' + document.activeElement.id")
	if sent := tab.Count("POST", "/operate/sales"); said != "12 fields, focus on new-id" || sent != 0 {
		t.Errorf("%s, and %d creations sent; want 12 fields, focus on the first, and none", said, sent)
	}
	set(tab, map[string]string{"name": "Trail Runner 9", "id": "trail-9", "sizes": "38: 20, 39=30", "price": "1299.5", "currency": "cny", "about": "Numbered.", "from": "2035-11-08T20:00", "until": "2035-11-10T20:00", "image": "https://images.example/a.jpg", "page": "", "minutes": "30", "rate": "", "hours": "4", "opens": "2035-11-09T20:00", "closes": "2035-11-14T20:00"})
	tab.WaitText("CN¥1,299.50", "Enter the draw", "Numbered.", "Create 2 sales with 50 units", "at least 2 h 15 min after entering ends", "To be paid within 30 min", "$5.56")
	tab.Click(".making button.main")
	tab.WaitText("Open it at least 2 h 15 min after entering ends.")
	set(tab, map[string]string{"opens": "2035-11-11T20:00"})
	n := 0
	tab.Intercept(func(r browser.Request) browser.Answer {
		if r.Method != "POST" || r.Path != "/operate/sales" {
			return browser.Answer{}
		}
		n++
		return browser.Answer{Lost: n == 1}
	})
	tab.Click(".making button.main")
	tab.WaitText("Trail Runner 9 38: certain, it is there.", "Trail Runner 9 39: certain, it is there.")
	tab.Click(".making button.main")
	tab.WaitText("Trail Runner 9 38: certain, it was there already with the same contents.")
	set(tab, map[string]string{"id": "moutai", "sizes": "", "stock": "5"})
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

func TestWhatIsTypedStaysTheSameInUTCAndOverASignIn(t *testing.T) {
	t.Parallel()
	s := market(t)
	tab := s.tab(t, "operator alice")
	s.look(tab, "#create", "Create a sale")
	tab.Click("#foot button")
	set(tab, map[string]string{"id": "shirt", "sizes": "大: 20, 小: 5", "opens": "2035-11-11T12:00", "closes": "2035-11-11T13:00"})
	tab.Click("#foot button")
	if got := browser.Eval[string](tab, "document.querySelector('#new-opens').value"); !strings.HasPrefix(got, "2035-11-11T20:00") {
		t.Errorf("12:00 in UTC is %s in Shanghai", got)
	}
	browser.Eval[bool](tab, "(sessionStorage.token = '{\"expires\":0}', true)")
	tab.WaitText("Your sign-in has ended.")
	browser.Eval[bool](tab, "(sessionStorage.removeItem('token'), true)")
	tab.Reload()
	tab.WaitText("Create 2 sales with 25 units")
	tab.Click(".making button.main")
	tab.Click("a[href='#group/shirt']")
	tab.Wait("document.querySelector('[data-key=receipt]')?.innerText.endsWith('not counted yet')")
	tab.Wait("document.title === 'shirt · Sales'")
	tab.Open(s.URL + "/#create")
	tab.Wait("document.querySelector('#new-id')?.value === '' && !document.querySelector('.making .notice')")
	s.mu.Lock()
	defer s.mu.Unlock()
	if one := s.sales["shirt-s2"]; one == nil || one["asked"].(object)["opensAt"] != "2035-11-11T12:00:00.000Z" {
		t.Errorf("the second size is %v", one)
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
	s.add("dates", "Dates", object{"offer": object{"price": 1500000, "currency": "IQD"}, "payWithin": 3600, "lateDays": 3})
	tab.Open(s.URL + "/#create/dates")
	tab.Wait("['#new-price', '#new-currency', '#new-late'].map((f) => document.querySelector(f)?.value).join(' ') === '1500 IQD 3'")
	opens := time.Now().Add(72 * time.Hour)
	s.add("lot", "Lot", object{"opensAt": instant(opens), "closesAt": instant(opens.Add(time.Hour)), "payWithin": 600, "offer": object{"price": 100, "currency": "EUR"},
		"draw": object{"enterFrom": instant(opens.Add(-48 * time.Hour)), "enterUntil": instant(opens.Add(-24 * time.Hour)), "keepHours": 6, "call": 2, "from": instant(opens), "until": instant(opens.Add(time.Hour))}})
	tab.Open(s.URL + "/#create/lot")
	tab.Wait("document.querySelector('#new-hours')?.value === '6'")
	apart := `["opens", "until", "from"].map((f) => Date.parse(document.querySelector("#new-" + f).value)).map((at, i, all) => (all[0] - at) / 36e5).join()`
	if got := browser.Eval[string](tab, apart); got != "0,24,48" {
		t.Errorf("entering begins and ends %s hours before the opening of a copied draw", got)
	}
	s.look(tab, "#sale/lot", "Lot")
	tab.WaitText("Call 2")
	s.shoe(9, 10)
	tab.Open(s.URL + "/#create/runner-10")
	tab.Wait("['#new-name', '#new-sizes'].map((f) => document.querySelector(f)?.value).join(' / ') === 'Trail Runner 7, size / 9: 20, 10: 20'")
	viewer := s.tab(t, "viewer dave")
	s.look(viewer, "#create", "Sales")
	if n := browser.Eval[int](viewer, "document.querySelectorAll('form.making, a[href^=\"#create\"]').length"); n != 0 {
		t.Errorf("a viewer is offered %d ways to create a sale", n)
	}
}

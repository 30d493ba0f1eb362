package operator

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/infra/proof/browser"
)

// set types texts into fields of the form.
func set(tab *browser.Tab, texts map[string]string) {
	for field, text := range texts {
		put(tab, "new-"+field, text)
	}
}

func TestSizesBecomeOneGroupOnceAndThePreviewFollows(t *testing.T) {
	t.Parallel()
	s := market(t)
	tab := s.tab(t, "operator alice")
	tab.Before(noteBodies)
	s.look(tab, "", "Sales")
	tab.Click("a[href='#create']")
	waitHeading(tab, "Create a sale")
	set(tab, map[string]string{"sizes": "38: 20, 38: 5", "image": "https://other.example/a.jpg", "page": "shop", "price": "9,5", "currency": "euro", "minutes": "0", "opens": "", "closes": "2001-01-01T00:00", "rate": "1.5", "from": "2035-11-10T20:00", "until": "2035-11-09T20:00", "hours": "0"})
	tab.Click(".making button.main")
	tab.WaitText("Nothing is sent yet: see beside 12 fields")
	said := browser.Eval[string](tab, "document.querySelectorAll('.making small.bad').length + ' fields, focus on ' + document.activeElement.id")
	sent := tab.Count("POST", "/operate/sales")
	browser.Check(t, said == "12 fields, focus on new-id" && sent == 0, "%s, and %d creations sent; want 12 fields, focus on the first, and none", said, sent)
	set(tab, map[string]string{"name": "Trail Runner 9", "id": "trail-9", "sizes": "38: 20, 39=30", "price": "1299.5", "currency": "cny", "about": "Numbered.", "from": "2035-11-08T20:00", "until": "2035-11-10T20:00", "image": "https://images.example/a.jpg", "page": "", "minutes": "30", "rate": "", "hours": "4", "opens": "2035-11-09T20:00", "closes": "2035-11-14T20:00"})
	tab.WaitText("CN¥1,299.50", "Enter the draw", "Numbered.", "Create 2 sales with 50 units", "at least 2 h 15 min after entering ends", "To be paid within 30 min", "$5.56")
	tab.Click(".making button.main")
	tab.Wait("document.querySelector('#help-opens.bad')?.innerText.startsWith('It opens at least 2 h 15 min after entering ends')")
	set(tab, map[string]string{"opens": "2035-11-11T20:00"})
	tab.Answers("POST", "/operate/sales", browser.Answer{Lost: true})
	tab.Click(".making button.main")
	tab.WaitText("Trail Runner 9 38: certain, it is there.", "Trail Runner 9 39: certain, it is there.")
	all := object{
		"action": "create", "price": 129950.0, "currency": "CNY", "payWithin": 1800.0, "limitGroup": "trail-9", "opensAt": "2035-11-11T12:00:00.000Z", "closesAt": "2035-11-14T12:00:00.000Z",
		"enterFrom": "2035-11-08T12:00:00.000Z", "enterUntil": "2035-11-10T12:00:00.000Z", "keepHours": 4.0, "about": "Numbered.", "image": "https://images.example/a.jpg",
	}
	wantCreated(t, tab, all, object{"saleId": "trail-9-38", "name": "Trail Runner 9 38", "stock": 20.0}, object{"saleId": "trail-9-39", "name": "Trail Runner 9 39", "stock": 30.0})
	// Somebody else has made the second one with other contents.
	set(tab, map[string]string{"sizes": "38: 20, 39: 31, 40: 5"})
	tab.Click(".making button.main")
	tab.WaitText("Trail Runner 9 38: certain, it was there already with the same contents.", "Trail Runner 9 39: not done. the sale was created before with other contents, by alice on")
	sent, drafted := len(bodies(tab)), browser.Eval[string](tab, "sessionStorage.draft ?? ''")
	browser.Check(t, sent == 4 && strings.Contains(drafted, "39: 31"), "%d creations are sent, want 2 and 2 again, and the draft is %s", sent, drafted)
}

// wantCreated fails the test unless the tab has sent these creations, each under one id: what all have, and what each has.
func wantCreated(t *testing.T, tab *browser.Tab, all object, each ...object) {
	t.Helper()
	ids := map[any]bool{}
	var got []object
	for _, body := range bodies(tab) {
		one := object{}
		if err := json.Unmarshal([]byte(body), &one); err != nil {
			t.Fatal(err)
		}
		ids[one["id"]] = true
		delete(one, "id")
		got = append(got, one)
	}
	for _, one := range each {
		maps.Copy(one, all)
	}
	diff := cmp.Diff(each, got)
	browser.Check(t, diff == "" && len(ids) == len(each), "creations under %d ids (-want +got):\n%s", len(ids), diff)
}

// Of a field that is not as it must be nothing is rounded, cut or left out.
func TestWhatIsTypedIsSentAsItIsOrNotAtAll(t *testing.T) {
	t.Parallel()
	s := open(t)
	tab := s.tab(t, "operator alice")
	tab.Zone("Europe/Berlin")
	tab.Before(noteBodies)
	s.look(tab, "#create", "Create a sale")
	long := strings.Repeat("x", 64)
	well := map[string]string{
		"name": "Lamp", "id": long, "sizes": "", "stock": "5", "rate": "", "opens": "2035-03-24T20:00", "closes": "2035-03-27T20:00", "from": "", "until": "",
		"price": "", "currency": "", "minutes": "30", "late": "", "hours": "4", "most": "",
	}
	for _, row := range []struct {
		typed map[string]string
		wrong string // the field that is marked; "" for what may be sent
		price string // in the preview
	}{
		{map[string]string{"price": "19.999", "currency": "EUR"}, "price", ""},
		{map[string]string{"price": "19.99", "currency": "EUR"}, "", "€19.99"},
		{map[string]string{"price": "1.2345", "currency": "KWD"}, "price", ""},
		{map[string]string{"price": "1999.5", "currency": "JPY"}, "price", ""},
		{map[string]string{"price": "1999.0", "currency": "JPY"}, "price", ""},
		{map[string]string{"price": "1999", "currency": "JPY"}, "", "¥1,999"},
		{map[string]string{"price": "90071992547409.93", "currency": "EUR"}, "price", ""}, // beyond 2^53
		{map[string]string{"price": "0", "currency": "EUR"}, "price", ""},
		{map[string]string{"price": "-5", "currency": "EUR"}, "price", ""},
		{map[string]string{"price": "0x10", "currency": "EUR"}, "price", ""},
		{map[string]string{"price": "８９９", "currency": "EUR"}, "price", ""},
		{map[string]string{"price": "5", "currency": "ßp"}, "currency", ""}, // SSP in capitals
		{map[string]string{"price": "5", "currency": "EUR", "minutes": "1.001"}, "minutes", "€5.00"},
		{map[string]string{"price": "5", "currency": "EUR", "minutes": "1.6666666666666667"}, "", "€5.00"}, // 100 s, as a copy has them
		{map[string]string{"price": "5", "currency": "EUR", "late": "0.5"}, "late", "€5.00"},
		{map[string]string{"price": "5", "currency": "EUR", "late": "-1"}, "late", "€5.00"},
		{map[string]string{"late": "1"}, "late", ""},
		{map[string]string{"most": "9"}, "most", ""},
		{map[string]string{"most": "1.5"}, "most", ""},
		{map[string]string{"stock": "1e3"}, "stock", ""},
		{map[string]string{"stock": "2.5"}, "stock", ""},
		{map[string]string{"sizes": ","}, "", ""},
		{map[string]string{"sizes": ",", "stock": ""}, "stock", ""},
		{map[string]string{"sizes": "38: 20: 30"}, "sizes", ""},
		{map[string]string{"sizes": "38: 20, : 5"}, "sizes", ""},
		{map[string]string{"sizes": "38: ２０"}, "sizes", ""},
		{map[string]string{"opens": "2035-03-25T02:30"}, "opens", ""}, // the clocks go from 2:00 to 3:00
		{map[string]string{"closes": "2035-03-25T02:30"}, "closes", ""},
	} {
		fields := maps.Clone(well)
		maps.Copy(fields, row.typed)
		set(tab, fields)
		// The id comes last, so that nothing is sent before all is looked at.
		set(tab, map[string]string{"id": ""})
		tab.Click(".making button.main")
		want := strings.TrimSuffix("new-id "+map[bool]string{true: "new-" + row.wrong}[row.wrong != ""], " ")
		got := browser.Eval[string](tab, `[...document.querySelectorAll("[aria-invalid=true]")].map((e) => e.id).join(" ")`)
		price := tab.Text(".preview .price")
		browser.Check(t, got == want && price == row.price, "%v: marked are %q and the price shown is %q, want %q and %q", row.typed, got, price, want, row.price)
	}
	// What the browser takes for no value is not left out either.
	set(tab, well)
	for field, keys := range map[string]string{"rate": "5-", "late": "1-", "from": "11082035", "until": "11102035"} {
		tab.Type("#new-"+field, keys)
	}
	tab.Click(".making button.main")
	tab.Wait(`[...document.querySelectorAll("[aria-invalid=true]")].map((e) => e.id).join(" ") === "new-rate new-late new-from new-until"`)
	wantCreated(t, tab, nil)
	browser.Eval[bool](tab, `["rate", "late", "from", "until"].every((f) => !(document.querySelector("#new-" + f).value = ""))`)
	set(tab, map[string]string{"sizes": "38: 20, 大: 5,", "price": "1999", "currency": "jpy", "minutes": "1.25", "late": "7", "most": "2"})
	tab.Click("#extras")
	browser.Eval[bool](tab, `((b) => !(b.click(), b.click()))(document.querySelector(".making button.main"))`) // as impatience does
	tab.WaitText("Lamp 大: certain, it is there.", "All are created: see the group")
	set(tab, map[string]string{"id": "next"}) // of which nothing is created yet
	browser.Gives(tab, "document.querySelector('.making a[href^=\"#group/\"]').hash", "#group/"+long, "the link to the created group leads to")
	wantCreated(t, tab, object{"action": "create", "limitGroup": long, "maxPerOrder": 2.0, "price": 1999.0, "currency": "JPY", "payWithin": 75.0, "lateDays": 7.0, "extras": "allowed", "opensAt": "2035-03-24T19:00:00.000Z", "closesAt": "2035-03-27T18:00:00.000Z"},
		object{"saleId": long[:61] + "-38", "name": "Lamp 38", "stock": 20.0}, object{"saleId": long[:61] + "-s2", "name": "Lamp 大", "stock": 5.0})
}

func TestWhatIsTypedStaysTheSameInUTCAndOverASignIn(t *testing.T) {
	t.Parallel()
	s := market(t)
	tab := s.tab(t, "operator alice")
	s.look(tab, "#create", "Create a sale")
	tab.Click("#foot button")
	set(tab, map[string]string{"id": "shirt", "sizes": "大: 20, 小: 5", "opens": "2035-11-11T12:00", "closes": "2035-11-11T13:00"})
	tab.Click("#foot button")
	got := browser.Eval[string](tab, "document.querySelector('#new-opens').value")
	browser.Check(t, strings.HasPrefix(got, "2035-11-11T20:00"), "12:00 in UTC is %s in Shanghai", got)
	browser.Eval[bool](tab, "(sessionStorage.token = '{\"expires\":0}', true)")
	tab.WaitText("Your sign-in has ended.")
	browser.Eval[bool](tab, "(sessionStorage.removeItem('token'), true)")
	tab.Reload()
	tab.WaitText("Create 2 sales with 25 units")
	tab.Click(".making button.main")
	tab.Click("a[href='#group/shirt']")
	tab.Wait("document.querySelector('[data-key=receipt]')?.innerText.endsWith('not counted yet')")
	tab.Wait("document.title === 'shirt · Sales'")
	browser.Gives(tab, "[...document.querySelectorAll('.sizes a')].map((a) => a.innerText).join()", "shirt 小,shirt 大", "the sizes are in the order")
	tab.Open(s.URL + "/#create")
	tab.Wait("document.querySelector('#new-id')?.value === '' && !document.querySelector('.making .notice')")
	one, err := s.book.Sale(t.Context(), "shirt-s2")
	browser.Check(t, err == nil && instant(one.OpensAt) == "2035-11-11T12:00:00.000Z", "the second size is %v (%v)", one, err)
}

func TestASaleIsCopiedWithEveryFieldAndAViewerHasNoForm(t *testing.T) {
	t.Parallel()
	s := market(t)
	now := time.Now()
	s.add("wine", "Wine", object{"opensAt": instant(now), "closesAt": instant(now.Add(3 * time.Hour)), "payWithin": 3600, "lateDays": 3, "seeded": 70,
		"offer": object{"price": 4900, "currency": "EUR", "about": "Red.\nDry.", "image": "https://images.example/w.jpg", "link": "https://shop.example/w"}})
	tab := s.tab(t, "operator alice")
	tab.Before(noteBodies)
	s.look(tab, "#sale/wine", "Wine")
	// What is typed before the copy is read would stand in its place.
	gate := make(chan struct{})
	tab.Answers("GET", "/operate/sales/wine", browser.Problem(503, "busy", ""), browser.Answer{Until: gate})
	tab.Click("a[href='#create/wine']")
	tab.WaitText("Loading")
	browser.Check(t, !browser.Eval[bool](tab, "!!document.querySelector('form')"), "the form is there before the copy")
	close(gate)
	creates := func(id string, at map[string]string, all object, each ...object) {
		t.Helper()
		browser.Eval[int](tab, "sent.length = 0")
		at["id"] = id
		set(tab, at)
		tab.Click(".making button.main")
		tab.WaitText(fmt.Sprint(each[len(each)-1]["name"], ": certain, it is there."))
		all["action"] = "create"
		wantCreated(t, tab, all, each...)
	}
	apart := func(fields string) string {
		return browser.Eval[string](tab, fmt.Sprintf(`%q.split(" ").map((f) => Date.parse(document.querySelector("#new-" + f).value)).map((at, i, all) => (all[0] - at) / 36e5).join()`, fields))
	}
	tab.Wait(`document.querySelector("#new-price")?.value === "49"`)
	got := apart("closes opens")
	browser.Check(t, got == "0,3", "the copy opens %s hours before it closes, want 3", got)
	times := object{"opensAt": "2035-11-11T12:00:00.000Z", "closesAt": "2035-11-14T12:00:00.000Z"}
	creates("wine-2", map[string]string{"opens": "2035-11-11T20:00", "closes": "2035-11-14T20:00"}, times, object{"saleId": "wine-2", "name": "Wine", "stock": 70.0, "price": 4900.0, "currency": "EUR",
		"payWithin": 3600.0, "lateDays": 3.0, "about": "Red.\nDry.", "image": "https://images.example/w.jpg", "link": "https://shop.example/w"})
	// Browsers say that a dinar of Iraq has no smaller unit, and ISO 4217 that it has a thousand.
	s.add("dates", "Dates", object{"offer": object{"price": 1500000, "currency": "IQD"}, "payWithin": 100})
	tab.Open(s.URL + "/#create/dates")
	tab.Wait("document.querySelector('#new-price')?.value === '1500'")
	creates("dates-2", map[string]string{"opens": "2035-11-11T20:00", "closes": "2035-11-14T20:00"}, times, object{"saleId": "dates-2", "name": "Dates", "stock": 1000.0, "price": 1500000.0, "currency": "IQD", "payWithin": 100.0})
	opens := now.Add(72 * time.Hour)
	s.add("lot", "Lot", object{"opensAt": instant(opens), "closesAt": instant(opens.Add(time.Hour)), "payWithin": 600, "offer": object{"price": 100, "currency": "EUR"},
		"draw": object{"enterFrom": instant(opens.Add(-48 * time.Hour)), "enterUntil": instant(opens.Add(-24 * time.Hour)), "keepHours": 6, "call": 2, "from": instant(opens), "until": instant(opens.Add(time.Hour))}})
	tab.Open(s.URL + "/#create/lot")
	tab.Wait("document.querySelector('#new-hours')?.value === '6'")
	got = apart("opens until from closes")
	browser.Check(t, got == "0,24,48,-1", "entering ends and begins and the sale closes %s hours before the opening of a copied draw", got)
	creates("lot-2", map[string]string{"opens": "2035-11-11T20:00", "closes": "2035-11-14T20:00", "from": "2035-11-08T20:00", "until": "2035-11-10T20:00"}, times, object{"saleId": "lot-2", "name": "Lot", "stock": 1000.0,
		"price": 100.0, "currency": "EUR", "payWithin": 600.0, "enterFrom": "2035-11-08T12:00:00.000Z", "enterUntil": "2035-11-10T12:00:00.000Z", "keepHours": 6.0})
	s.look(tab, "#sale/lot", "Lot")
	tab.WaitText("Call 2")
	s.shoe(9, 10)
	tab.Open(s.URL + "/#create/runner-10")
	tab.Wait("document.querySelector('#new-sizes')?.value === '9: 20, 10: 20'")
	times["price"], times["currency"], times["payWithin"], times["limitGroup"] = 129900.0, "CNY", 1800.0, "runner-2"
	creates("runner-2", map[string]string{"opens": "2035-11-11T20:00", "closes": "2035-11-14T20:00"}, times, object{"saleId": "runner-2-9", "name": "Trail Runner 7, size 9", "stock": 20.0},
		object{"saleId": "runner-2-10", "name": "Trail Runner 7, size 10", "stock": 20.0})
	viewer := s.tab(t, "viewer dave")
	s.look(viewer, "#create", "Sales")
	browser.Gives(viewer, "document.querySelectorAll('form.making, a[href^=\"#create\"]').length", 0, "ways for a viewer to create a sale")
}

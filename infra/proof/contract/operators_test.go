package contract

import (
	"strings"
	"testing"

	"flashsale/shared/sale"
)

// The roles at the operators' API.
const (
	operatorRole = "flashsale-operator"
	viewerRole   = "flashsale-viewer"
)

const pauseIt = `{"id":"pause-1","action":"pause","note":"the price is wrong"}`

// looking gives a change what is to be seen of that sale now.
func (s *scene) looking(saleID, text string) string {
	one, _, err := s.book.Standing(s.t.Context(), saleID)
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSuffix(text, "}") + `,"seen":"` + one.Sale.Seen().Text(saleID) + `"}`
}

// changed makes changes, one after the other, and returns the answer to the last one.
func (s *scene) changed(bodies ...string) (last Answer) {
	for _, s.body = range bodies {
		last = s.ask(door{})
	}
	return last
}

// operatorsScenes are those of outcomes that only the operators' document has, or that come
// about there in another way.
var operatorsScenes = map[string]func(s *scene) Answer{
	"sales 200 Sales":       func(s *scene) Answer { return s.ask(door{}) },
	"standing 200 Standing": func(s *scene) Answer { return s.on(recalled).ask(door{}) },
	"trail 200 Trail":       func(s *scene) Answer { return s.on(paused).ask(door{}) },
	"buyer 200 Buyer": func(s *scene) Answer {
		s.path = strings.Replace(s.path, "alice", s.buy(open).User, 1)
		return s.ask(door{})
	},
	// One schema for all changes: what each of them answers besides is asked here.
	"change 200 ChangedSale": func(s *scene) (last Answer) {
		for body, has := range map[string]string{
			`{"id":"a","action":"add","stock":50}`: `"changeId":"a"`, `{"id":"w","action":"withdraw","stock":5}`: `"withdrawn":5`,
			`{"id":"d","action":"describe","about":"53 % vol.\nNumbered.","link":"https://shop.example/"}`: `"about":"53 % vol.\nNumbered.","link":"https://shop.example/"`,
			pauseIt: `"paused":true,"opensAt":"`,
		} {
			if body != pauseIt {
				body = s.looking(open, body)
			}
			if last = s.changed(body); !strings.Contains(string(last.Body), has) {
				s.t.Errorf("%s was answered %s, want %s", body, last.Body, has)
			}
		}
		return s.changed(`{"id":"r","action":"recall","note":"the soles come off"}`)
	},
	"change 409 ConflictingRequest": func(s *scene) Answer {
		return s.changed(pauseIt, s.looking(open, strings.Replace(pauseIt, `"pause"`, `"resume"`, 1)))
	},
	"change 409 ChangedMeanwhile": func(s *scene) Answer {
		return s.changed(pauseIt, `{"id":"r","action":"resume","seen":"`+sale.Seen{}.Text(open)+`"}`)
	},
	"change 410 RecalledSale": func(s *scene) Answer {
		s.on(recalled)
		return s.changed(s.looking(recalled, `{"id":"r","action":"resume"}`))
	},
	"change 413 BodyTooLarge": func(s *scene) Answer { return s.changed(strings.Repeat(" ", 4097)) },
	"change 415 UnsupportedMediaType": func(s *scene) Answer {
		s.header = []string{"Content-Type", "text/plain"}
		return s.ask(door{})
	},
	"403 Forbidden":            func(s *scene) Answer { s.roles = []string{"admins"}; return s.ask(door{}) },
	"sales 400 InvalidRequest": func(s *scene) Answer { s.user = "a\nb"; return s.ask(door{}) },
	"asset 200 File":           func(s *scene) Answer { s.path = "/assets/operate.js"; return s.ask(door{}) },
	"asset 302":                func(s *scene) Answer { s.path = "/assets/operate.0123456789abcdef.js"; return s.ask(door{}) },
}

// operatorsGenerator draws requests for this world's operators.
func (w *world) operatorsGenerator(seed uint64) *Generator {
	g := opened(w.t, Operators).Generator(seed)
	everything := []string{"sales", "standing", "trail", "buyer", "change"}
	g.Tokens = []Token{
		{Authorization: w.operator("kim", operatorRole)},
		{Authorization: w.operator("茅台 🍶 fan", viewerRole, operatorRole)},
		{Authorization: w.operator("vera", viewerRole), Barred: []string{"change"}},
		{Authorization: w.operator("mallory"), Barred: everything},
		{Authorization: w.operator("mallory", operatorRole+"s", "["+operatorRole, strings.ToUpper(operatorRole)), Barred: everything},
		{Authorization: w.operator("a\nb", operatorRole), Unfit: true},
		{Authorization: w.operator(strings.Repeat("é", 129), operatorRole), Unfit: true},
		{Refused: true},
		{Authorization: "Bearer a.b.c", Refused: true},
		{Authorization: w.bearer("alice"), Refused: true},
	}
	g.Known = map[string][]string{
		"saleId": {open, later, over, paused, recalled, empty, unpaid, grouped, "nowhere"}, "user": {"alice", "茅台 🍶 fan"}, "drained": {"1"},
		"id": {"c-1", "c-2"}, "name": {"operate.0123456789abcdef.js", "operate.js"},
	}
	return g
}

func TestNoRequestGetsAnAnswerOutsideTheOperatorsContract(t *testing.T) {
	w := newWorld(t)
	before := w.trails()
	met := press(t, w.front(door{api: Operators}), w.operatorsGenerator(10), 2000)
	for _, must := range []Outcome{
		{"sales", 200, "Sales"}, {"standing", 200, "Standing"}, {"trail", 200, "Trail"}, {"buyer", 200, "Buyer"},
		{"change", 200, "ChangedSale"},
		{"change", 400, "InvalidRequest"}, {"change", 401, "TokenRefused"}, {"change", 403, "Forbidden"}, {"change", 404, "SaleNotFound"},
		{"change", 409, "ConflictingRequest"}, {"change", 409, "ChangedMeanwhile"}, {"change", 410, "RecalledSale"}, {"change", 415, "UnsupportedMediaType"},
		{"buyer", 400, "InvalidRequest"}, {"sales", 403, "Forbidden"}, {"page", 200, "HTML"}, {"asset", 404, "File"}, {elsewhere, 404, "GatewayAnswer"},
	} {
		if met[must] == 0 {
			t.Errorf("%s was never met: the requests are worth nothing", must)
		}
	}
	// Whoever asked, what changed is in the trail, under the name of one who may change sales.
	changes := 0
	for sale, trail := range w.trails() {
		for _, c := range trail[:len(trail)-len(before[sale])] {
			if changes++; c.Actor != "kim" && c.Actor != "茅台 🍶 fan" || !c.Verified {
				t.Errorf("%s: %+v", sale, c)
			}
		}
	}
	if answered := met[Outcome{"change", 200, "ChangedSale"}]; changes == 0 || answered == 0 {
		t.Errorf("%d changes in the trails, %d answered", changes, answered)
	}
}

// trails are the changes of every sale, the newest first.
func (w *world) trails() map[string][]sale.Change {
	w.t.Helper()
	all := map[string][]sale.Change{}
	standings, err := w.book.Standings(w.t.Context(), true)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range standings {
		if all[s.SaleID], _, err = w.book.Trail(w.t.Context(), s.SaleID, 1000); err != nil {
			w.t.Fatal(err)
		}
	}
	return all
}

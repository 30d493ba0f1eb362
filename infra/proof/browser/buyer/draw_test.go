package buyer

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"flashsale/infra/proof/browser"
	"flashsale/shared/draw"
)

// lot is a sale with a draw as the shop answers it, with the entry of one user.
type lot struct {
	name      string // S if there is none
	id, user  string
	leaf      draw.Leaf
	nonce     draw.Nonce
	roll      draw.Digest
	seed      draw.Digest
	rank      draw.Rank
	signature string

	entry   browser.Answer
	entered bool
	mu      sync.Mutex
	answers map[string]browser.Answer // by method and path below the sale's
}

func (l *lot) set(request string, a browser.Answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answers[request] = a
}

var noEntry = browser.Problem(404, "entry-not-found", "")

// newLot returns the lot of a new sale, whose answers the tab gets: the user is on the roll,
// and has entered if entered is true.
func newLot(tab *browser.Tab, user string, entered bool) *lot {
	l := &lot{id: newID("sale"), user: user, nonce: draw.Nonce{7}, roll: draw.Digest{8}, signature: strings.Repeat("5a", 48), entered: entered}
	l.leaf = draw.LeafOf(user, l.nonce)
	signature, _ := hex.DecodeString(l.signature)
	l.seed = draw.SeedOf(l.id, l.roll, sha256.Sum256(signature))
	l.rank = draw.RankOf(l.seed, l.leaf)
	l.entry = l.entryOf("")
	l.answers = map[string]browser.Answer{"PUT /entries/me": l.entry, "GET /entries/me": noEntry, "GET /orders/me": browser.Problem(404, "order-not-found", "")}
	l.leaves(fmt.Sprintf(`["%s"]`, l.leaf))
	tab.Intercept(l.answer)
	return l
}

func (l *lot) answer(r browser.Request) browser.Answer {
	path, ours := strings.CutPrefix(r.Path, "/sales/"+l.id)
	if !ours {
		return browser.Answer{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a, known := l.answers[r.Method+" "+path]; known {
		return a
	}
	return browser.Answer{Status: 400, Body: "{}"}
}

// leaves sets those of the roll's page, as JSON.
func (l *lot) leaves(text string) {
	l.set("GET /roll/"+l.leaf.String()[:2], browser.Answer{Status: 200, Body: `{"leaves":` + text + `}`})
}

// entryOf is the entry of a draw that has such members.
func (l *lot) entryOf(members string) browser.Answer {
	more := ""
	if strings.Contains(members, `"roll"`) {
		more += `,"onRoll":true`
	}
	if strings.Contains(members, `"seed"`) {
		more += fmt.Sprintf(`,"rank":"%s"`, l.rank)
	}
	return browser.Answer{Status: 200, Body: fmt.Sprintf(`{"nonce":"%s","leaf":"%s","enteredAt":"2026-11-11T12:00:00.000Z"%s}`, l.nonce, l.leaf, more)}
}

// shows makes the shop show the sale with its first call so long after now. Entering begins
// three hours before that and ends two hours before it; a call lasts four hours. More are
// members of the draw, which begin with a comma.
func (l *lot) shows(state string, opens time.Duration, more string) {
	at := time.Now().Add(opens)
	if l.entered {
		l.set("GET /entries/me", l.entryOf(more))
	}
	l.set("GET ", browser.Answer{Status: 200, Body: fmt.Sprintf(`{"saleId":%q,"name":%q,"state":%q,"opensAt":%q,"closesAt":%q,"now":%q,"remaining":9,"draw":{"enterFrom":%q,"enterUntil":%q,"keepHours":4%s}}`,
		l.id, cmp.Or(l.name, "S"), state, instant(at), instant(at.Add(10*time.Hour)), instant(at.Add(-opens)), instant(at.Add(-3*time.Hour)), instant(at.Add(-2*time.Hour)), more)})
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// rolled are the members of a draw whose roll is closed; the dice fall in half an hour.
func (l *lot) rolled() string {
	return fmt.Sprintf(`,"roll":"%s","entrants":1200,"round":%d`, l.roll, (time.Now().Unix()+1800-1692803367)/3+1)
}

// thrown are those of one whose dice have fallen.
func (l *lot) thrown() string {
	return l.rolled() + fmt.Sprintf(`,"seed":"%s","signature":"%s"`, l.seed, l.signature)
}

// called are those of one with calls, of which each begins so long after now. The first member
// of each pair is the highest rank that is called.
func (l *lot) called(calls ...call) string {
	lo, text := draw.Rank{}.String(), make([]string, len(calls))
	for i, c := range calls {
		from := time.Now().Add(c.from)
		text[i] = fmt.Sprintf(`{"call":%d,"from":%q,"until":%q,"lo":%q`, i+1, instant(from), instant(from.Add(4*time.Hour+c.longer)), lo)
		if c.hi != "" {
			text[i], lo = text[i]+fmt.Sprintf(`,"hi":%q`, c.hi), c.hi
		}
		if c.open {
			text[i] += `,"open":true`
		}
		text[i] += "}"
	}
	return l.thrown() + `,"calls":[` + strings.Join(text, ",") + `]`
}

type call struct {
	hi     string // "" if it is not known yet
	from   time.Duration
	open   bool
	longer time.Duration // than four hours
}

// below returns the next lower rank.
func below(r draw.Rank) string {
	for i := len(r) - 1; i >= 0; i-- {
		if r[i]--; r[i] != 0xff {
			break
		}
	}
	return r.String()
}

func (l *lot) open(tab *browser.Tab) {
	tab.Open(shop.page(l.id))
	tab.Wait("!['loading', 'busy'].includes(document.querySelector('main')?.dataset.state ?? 'loading')")
}

func TestEveryStateOfADrawHasItsLine(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	type scene struct {
		state, says, zh string
		detail          string // part of it
		button          string
		phase           string // as the shop says
		opens           time.Duration
		draw            func(l *lot) string
		entered         bool
		nobody          bool           // is signed in
		press           browser.Answer // to a press on the button
		entry           browser.Answer // to a look at the entry, if it is another one
	}
	none := func(*lot) string { return "" }
	nothing := browser.Answer{}
	calls := func(calls func(l *lot) []call) func(l *lot) string {
		return func(l *lot) string { return l.called(calls(l)...) }
	}
	// The user is called in the first call, and not in the first.
	drawn := calls(func(l *lot) []call { return []call{{hi: l.rank.String(), from: -hour}} })
	before := calls(func(l *lot) []call { return []call{{hi: below(l.rank), from: -hour}} })
	second := calls(func(l *lot) []call {
		return []call{{hi: below(l.rank), from: -5 * hour}, {hi: l.rank.String(), from: -hour}}
	})
	coming := calls(func(l *lot) []call { return []call{{hi: below(l.rank), from: -5 * hour}, {from: 0}} })
	over := calls(func(l *lot) []call {
		return []call{{hi: l.rank.String(), from: -5 * hour}, {hi: strings.Repeat("f", 32), from: -hour / 2}}
	})
	anybody := calls(func(l *lot) []call {
		return []call{{hi: below(l.rank), from: -5 * hour}, {open: true, hi: below(l.rank), from: -hour}}
	})
	user := newID("user")
	in, out := shop.tab(t, user), shop.tab(t, "")
	for name, s := range map[string]scene{
		"too early":            {"enterSoon", "Entering opens in:", "距报名开始还有：", "Public dice decide", "Enter the draw", "NOT_OPEN", 4 * hour, none, false, false, nothing, nothing},
		"to enter":             {"enter", "You can enter the draw.", "现在可以报名参加抽签。", "Everybody who enters until ", "Enter the draw", "NOT_OPEN", 5 * hour / 2, none, false, false, nothing, nothing},
		"to enter, nobody":     {"enter", "You can enter the draw.", "现在可以报名参加抽签。", "Everybody who enters until ", "Sign in", "NOT_OPEN", 5 * hour / 2, none, false, true, nothing, nothing},
		"not eligible":         {"notEligible", "The shop does not let this account buy in this sale.", "", "", "", "NOT_OPEN", 5 * hour / 2, none, false, false, browser.Problem(403, "not-eligible", ""), nothing},
		"a moment too late":    {"notEntered", "Entering is over.", "", "You are not in this draw.", "", "NOT_OPEN", 5 * hour / 2, none, false, false, browser.Problem(410, "entering-closed", ""), nothing},
		"not found yet":        {"checking", "Entering is over. This page looks for your entry again by itself …", "报名已结束，本页面会自动再次查找您的报名……", "", "", "NOT_OPEN", hour, none, false, false, nothing, browser.Problem(503, "busy", "60")},
		"a moment too early":   {"enterSoon", "Entering opens in:", "", "Public dice decide", "Enter the draw", "NOT_OPEN", 5 * hour / 2, none, false, false, browser.Problem(403, "entering-not-open", "600"), nothing},
		"entered":              {"entered", "You are in the draw. The first call is in:", "您已报名参加抽签，距第一轮购买还有：", "Others may enter until ", "", "NOT_OPEN", 5 * hour / 2, none, true, false, nothing, nothing},
		"on the roll":          {"onRoll", "You are on the roll. The first call is in:", "您已在抽签名单上，距第一轮购买还有：", "1,200 people are on it, ", "", "NOT_OPEN", hour, (*lot).rolled, true, false, nothing, nothing},
		"diced":                {"diced", "The dice have fallen. The first call is in:", "抽签已完成，距第一轮购买还有：", "This page then says", "", "NOT_OPEN", hour, (*lot).thrown, true, false, nothing, nothing},
		"not entered":          {"notEntered", "Entering is over.", "报名已结束。", "You are not in this draw.\nIf units are left when everybody in the draw has been called, anybody may order.", "", "NOT_OPEN", hour, none, false, false, nothing, nothing},
		"not entered, a call":  {"notEntered", "Entering is over.", "报名已结束。", "If units are left, the next call is at ", "", "OPEN", -hour, before, false, false, nothing, nothing},
		"not entered, nobody":  {"notEntered", "If you have entered, sign in to see your place.\nEntering is over.", "如已报名，请登录查看您的结果。\n报名已结束。", "", "Sign in", "NOT_OPEN", hour, none, false, true, nothing, nothing},
		"called at last":       {"calling", "The call is about to begin. This page looks again by itself …", "新一轮购买即将开始，本页面会自动再次查看……", "", "", "NOT_OPEN", -time.Second, (*lot).thrown, true, false, nothing, nothing},
		"called":               {"called", "It is your turn. A unit is kept for you for:", "轮到您了。为您保留一件，剩余时间：", "A unit is kept for you until ", "Order one", "OPEN", -hour, drawn, true, false, nothing, nothing},
		"called at the second": {"called", "It is your turn. A unit is kept for you for:", "轮到您了。为您保留一件，剩余时间：", "A unit is kept for you until ", "Order one", "OPEN", -5 * hour, second, true, false, nothing, nothing},
		"a call to come":       {"calling", "The call is about to begin. This page looks again by itself …", "新一轮购买即将开始，本页面会自动再次查看……", "", "", "OPEN", -5 * hour, coming, true, false, nothing, nothing},
		"a moment before":      {"early", "Your order was a moment early. It is sent again at the opening …", "", "You need not do anything.", "Order one", "OPEN", -hour, drawn, true, false, browser.Problem(403, "not-your-turn", "10"), nothing},
		"refused a turn":       {"notYourTurn", "It is not your turn.", "", "If units are left, the next call is at ", "", "OPEN", -hour, drawn, true, false, browser.Problem(403, "not-your-turn", "10000"), nothing},
		"refused a late order": {"turnOver", "Your turn is over.", "", "Your turn was until ", "", "OPEN", -hour, drawn, true, false, browser.Problem(403, "turn-over", "10000"), nothing},
		"not drawn":            {"notDrawn", "You are not drawn yet.", "您尚未中签。", "If units are left, the next call is at ", "", "OPEN", -hour, before, true, false, nothing, nothing},
		"turn over":            {"turnOver", "Your turn is over.", "您的购买时间已过。", "Your turn was until ", "", "OPEN", -5 * hour, over, true, false, nothing, nothing},
		"waiting":              {"notDrawn", "You are not drawn yet.", "您尚未中签。", "There is another call as soon as units are left.", "", "WAITING", -5 * hour, calls(func(l *lot) []call { return []call{{hi: below(l.rank), from: -5 * hour}} }), true, false, nothing, nothing},
		"the last call":        {"notDrawn", "You are not drawn yet.", "您尚未中签。", "There is no further call.", "", "OPEN", -8 * hour, before, true, false, nothing, nothing},
		"anybody":              {"openCall", "Anybody may order now.", "现在任何人都可以购买。", "Everybody in the draw has been called", "Order one", "OPEN", -5 * hour, anybody, false, false, nothing, nothing},
		"paused, not drawn":    {"paused", "The sale is paused.", "活动已暂停。", "It will continue later.", "", "PAUSED", -hour, before, true, false, nothing, nothing},
		"paused, called":       {"paused", "The sale is paused.", "活动已暂停。", "It will continue later.", "Order one", "PAUSED", -hour, drawn, true, false, nothing, nothing},
		"sold out":             {"soldOut", "Sold out.", "已售罄。", "Every unit has found a buyer.", "", "SOLD_OUT", -hour, drawn, true, false, nothing, nothing},
		"recalled":             {"recalled", "The shop has recalled this sale.", "商家已召回本活动。", "", "", "RECALLED", -hour, drawn, true, false, nothing, nothing},
		"closed":               {"closed", "The sale is over.", "活动已结束。", "", "", "CLOSED", -10 * hour, drawn, true, false, nothing, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			tab := map[bool]*browser.Tab{true: out, false: in}[s.nobody]
			l := newLot(tab, user, s.entered)
			if s.entry.Status != 0 {
				l.set("GET /entries/me", s.entry)
			}
			l.shows(s.phase, s.opens, s.draw(l))
			tab.Language("en-US,en")
			l.open(tab)
			if s.press.Status != 0 {
				l.set("PUT /entries/me", s.press)
				l.set("POST /orders", s.press)
				tab.Click(button)
			}
			examine(t, tab, s.state, s.says)
			if detail, label := tab.Text("#detail"), tab.Text(button); !strings.Contains(detail, s.detail) || s.phase == "NOT_OPEN" && strings.Contains(detail, "the next call") || label != s.button {
				t.Errorf("the page says %q, and %q on its button, want %q and %q", detail, label, s.detail, s.button)
			}
			counts := tab.Text("#countdown") != ""
			browser.Check(t, counts == (strings.HasSuffix(s.says, ":") && s.press.Status == 0), "the page counts down: %t", counts)
			if s.press.Status != 0 {
				return
			}
			tab.Language("zh-CN,zh")
			l.open(tab)
			waitState(tab, s.state)
			tab.HasText(line, s.zh, "in Chinese the page says")
			text := tab.Text("main")
			browser.Check(t, !strings.ContainsAny(strings.ReplaceAll(text, l.leaf.String(), ""), "abcdefghijklmnopqrsuvwxyz"), "English words: %s", text)
		})
	}
}

// Who is not called learns of their place, and when the next call is; who has an entry takes it along.
func TestWhoIsNotCalledLearnsOfTheirPlaceAndTheNextCall(t *testing.T) {
	t.Parallel()
	user := newID("user")
	tab := shop.tab(t, user)
	tab.Before("Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => void (window.taken = text) } })")
	l := newLot(tab, user, true)
	l.name = "茅台 " + strings.Repeat("飞天", 40)
	share := float64(binary.BigEndian.Uint32(l.rank[:4])) / (1 << 24) // of 256
	round := (time.Now().Add(-90*time.Minute).Unix()-1692803367)/3 + 1
	thrown := fmt.Sprintf(`,"roll":"%s","entrants":500,"round":%d,"seed":"%s","signature":"%s"`, l.roll, round, l.seed, l.signature)
	call := fmt.Sprintf(`{"call":1,"from":%q,"until":%q,"lo":"%032d","hi":"%032x","stock":50}`, instant(time.Now().Add(-time.Hour)), instant(time.Now().Add(3*time.Hour)), 0, 1)
	for _, want := range []struct {
		state, phase    string
		opens           time.Duration
		calls           string
		place, calendar string
	}{
		{"diced", "NOT_OPEN", time.Hour, "", fmt.Sprintf("You are about number %d of 500. In the first call: 9.", int(share/256*500)+1), "Add the first call to your calendar"},
		{"notDrawn", "OPEN", -time.Hour, `,"calls":[` + call + `]`, fmt.Sprintf("You are about number %d of 500. Called so far: 50.", 50+int(share/256*450)+1), "Add the next call to your calendar"},
	} {
		l.shows(want.phase, want.opens, thrown+want.calls)
		l.open(tab)
		waitState(tab, want.state)
		examine(t, tab, want.state, tab.Text(line))
		detail := tab.Text("#detail")
		browser.Check(t, strings.Contains(detail, want.place), "the page says %q, want %q", detail, want.place)
		entry, err := url.PathUnescape(strings.TrimPrefix(browser.Eval[string](tab, "calendar.href"), "data:text/calendar;charset=utf-8,"))
		if slices.ContainsFunc(strings.Split(entry, "\r\n"), func(line string) bool { return len(line) > 75 }) {
			t.Errorf("a line of more than 75 octets: %q", entry)
		}
		entry = strings.ReplaceAll(entry, "\r\n ", "")
		uid := fmt.Sprintf("UID:%s-call-%d@%s", l.id, strings.Count(want.calls, "{")+1, strings.Split(shop.page(""), "/")[2]) // whenever it begins
		if lines := strings.Split(entry, "\r\n"); err != nil || !slices.Contains(lines, uid) || tab.Text("#calendar") != want.calendar || lines[0] != "BEGIN:VCALENDAR" || !slices.Contains(lines, "SUMMARY:Call: "+l.name) || !slices.Contains(lines, "URL:"+shop.page(l.id)) {
			t.Errorf("%q has %q (%v)", tab.Text("#calendar"), entry, err)
		}
		if shows := tab.Text("#dice") != ""; shows != (want.state == "notDrawn") { // dice from before the end of entering are another beacon's
			t.Errorf("the page shows the dice: %t", shows)
		}
	}
	browser.Gives(tab, "dice.href", fmt.Sprintf("https://api.drand.sh/v2/beacons/quicknet/rounds/%d", round), "the dice are at")
	tab.Click("#copy")
	tab.WaitText("Copied ✓")
	if taken := browser.Eval[string](tab, "taken"); !strings.Contains(taken, l.leaf.String()) || !strings.Contains(taken, l.nonce.String()) || !strings.Contains(taken, user) {
		t.Errorf("the entry is copied as %s", taken)
	}
}

// A call is made longer while its page is open.
func TestACallsEndIsReadAgainBeforeItIsAnnounced(t *testing.T) {
	t.Parallel()
	user := newID("user")
	tab := shop.tab(t, user)
	tab.Clock(0)
	noteStates(tab)
	l := newLot(tab, user, true)
	call := call{hi: l.rank.String(), from: 20*time.Second - 4*time.Hour}
	l.shows("OPEN", call.from, l.called(call))
	l.open(tab)
	waitFor(t, tab, "called")
	call.longer = time.Hour
	l.shows("OPEN", call.from, l.called(call))
	tab.Advance(35 * time.Second)
	if n := tab.Count("GET", "/sales/"+l.id); n != 2 {
		t.Fatalf("%d reads until ten seconds after the call, want 2", n)
	}
	tab.Wait("main.dataset.state !== 'called' || countdown.innerText")
	waitFor(t, tab, "called")
	left := tab.Text("#countdown")
	browser.Check(t, left >= "58:00", "%s is left of the call, want almost an hour", left)
	wantNever(t, tab, "turnOver")
}

// What the shop shows must fit what it has shown.
func TestAnotherRollAndOneWithoutTheBuyerAreNoticed(t *testing.T) {
	t.Parallel()
	user := newID("user")
	tab := shop.tab(t, user)
	other := draw.Digest{9}.String()
	for name, forge := range map[string]func(l *lot) (kept, shown string){
		"another roll before the dice": func(l *lot) (string, string) {
			return l.rolled(), strings.ReplaceAll(l.rolled(), l.roll.String(), other)
		},
		"the seed of another roll": func(l *lot) (string, string) {
			return l.rolled(), l.rolled() + `,"seed":"` + other + `","signature":"` + l.signature + `"`
		},
		"a leaf of somebody else": func(l *lot) (string, string) {
			l.nonce = draw.Nonce{1}
			return "", l.rolled()
		},
	} {
		l := newLot(tab, user, true)
		kept, shown := forge(l)
		l.shows("NOT_OPEN", time.Hour, kept)
		l.open(tab)
		l.shows("NOT_OPEN", time.Hour, shown)
		l.open(tab)
		t.Log(name)
		tab.WaitText("does not fit your entry")
	}
	l := newLot(tab, user, true)
	l.shows("NOT_OPEN", time.Hour, l.rolled())
	l.leaves("[]")
	tab.Open(shop.page(l.id))
	tab.Wait("!['loading', 'onRoll'].includes(document.querySelector('main')?.dataset.state)")
	examine(t, tab, "notOnRoll", "Your entry is not on the roll.")
}

// A page that was opened before the buyer entered on another device finds the entry.
func TestAnEntryOfAnotherDeviceIsFoundWhenEnteringIsOver(t *testing.T) {
	t.Parallel()
	user := newID("user")
	tab := shop.tab(t, user)
	tab.Clock(0)
	l := newLot(tab, user, false)
	l.shows("NOT_OPEN", 2*time.Hour+time.Minute, "")
	l.open(tab)
	waitState(tab, "enter")
	l.set("GET /entries/me", l.entry)
	tab.Advance(9 * time.Minute)
	tab.Advance(9 * time.Minute)
	waitState(tab, "entered")
}

// The second press of a double click and the repeat of a lost answer enter nobody else, and the
// entry is there after a reload, whatever the shop says.
func TestADrawIsEnteredOnceAndTheEntryIsKept(t *testing.T) {
	t.Parallel()
	user := newID("user")
	tab := shop.tab(t, user)
	tab.Clock(0)
	l := newLot(tab, user, false)
	l.shows("NOT_OPEN", 5*time.Hour/2, "")
	l.open(tab)
	waitState(tab, "enter")
	hold := make(chan struct{})
	l.set("PUT /entries/me", browser.Answer{Refused: true, Until: hold})
	browser.Eval[bool](tab, "(act.click(), act.click(), true)")
	waitState(tab, "entering")
	close(hold)
	waitState(tab, "busy")
	l.set("PUT /entries/me", l.entry)
	passTime(t, tab, "entered")
	if n := tab.Count("PUT", "/sales/"+l.id+"/entries/me"); n != 2 {
		t.Fatalf("the page sent %d entries, want one and its repeat", n)
	}
	l.set("GET /entries/me", browser.Problem(503, "busy", "1"))
	tab.Reload()
	waitState(tab, "entered")
	got := tab.Text("#entry")
	browser.Check(t, strings.Contains(got, l.leaf.String()) && strings.Contains(got, "November 11, 2026"), "the entry is %q", got)
}

// A browser does not ask again for a script that has not arrived, and waits for one indefinitely.
func TestADrawsScriptThatDoesNotArriveIsAskedForAgain(t *testing.T) {
	for name, first := range map[string]browser.Answer{"no answer": never, "no network": {Refused: true}, "a failure": {Status: 503}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := newID("user")
			tab := shop.tab(t, user)
			tab.Clock(0)
			l := newLot(tab, user, true)
			l.shows("OPEN", -time.Hour, l.called(call{hi: l.rank.String(), from: -time.Hour}))
			var asked atomic.Int64
			tab.Intercept(func(r browser.Request) browser.Answer {
				if strings.HasPrefix(r.Path, "/assets/draw.") && asked.Add(1) == 1 {
					return first
				}
				return l.answer(r)
			})
			tab.Open(shop.page(l.id))
			passTime(t, tab, "stuck")
			tab.Click(button)
			waitState(tab, "called")
		})
	}
}

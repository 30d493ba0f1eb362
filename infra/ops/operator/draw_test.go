package main

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	query "flashsale/functions/query/handler"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/drawcheck"
	"flashsale/infra/kit/dynamotest"
	local "flashsale/infra/local/beacon"
	system "flashsale/infra/ops/place"
	"flashsale/shared/beacon"
	"flashsale/shared/draw"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

const (
	settle = 15 * time.Minute
	dice   = time.Hour
	gap    = time.Minute
)

// drawing is a sale with a draw in the real ledger, with a clock of its own, and its public API.
type drawing struct {
	t     *testing.T
	db    *dynamotest.DB
	now   time.Time
	relay *local.Relay
	book  *ledger.Ledger
	api   *httptest.Server
	shown func(map[string]any) // changes what the API shows of the draw
}

// newDrawing is a draw that some have entered, for three units in two shards.
func newDrawing(t *testing.T, users ...string) *drawing {
	t.Helper()
	d := &drawing{t: t, db: newTable(), now: noon, shown: func(map[string]any) {}}
	var err error
	if d.relay, err = local.New(local.Options{Seed: "test", Genesis: noon.Add(-time.Hour), Now: func() time.Time { return d.now }}); err != nil {
		t.Fatal(err)
	}
	d.book = d.environment()
	c := sale.Creation{SaleID: "moutai", Name: "Moutai", Stock: 3, Shards: 2, OpensAt: noon.Add(3 * time.Hour), ClosesAt: noon.Add(24 * time.Hour)}
	c.EnterFrom, c.EnterUntil, c.KeepFor = noon, noon.Add(time.Hour), 2*time.Hour
	_, err = d.book.Create(t.Context(), c)
	d.check(err)
	for _, user := range users {
		d.enter(user)
	}
	d.api = httptest.NewServer(d.routes())
	t.Cleanup(d.api.Close)
	return d
}

func (d *drawing) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// environment is one that remembers nothing.
func (d *drawing) environment() *ledger.Ledger {
	return ledger.New(d.db, "T", ledger.Options{Now: func() time.Time { return d.now }})
}

func (d *drawing) enter(user string) ledger.Entry {
	d.t.Helper()
	e, err := d.book.Enter(d.t.Context(), "moutai", user, settle, nil)
	d.check(err)
	return e
}

func (d *drawing) sale() sale.Sale {
	d.t.Helper()
	s, err := d.environment().Sale(d.t.Context(), "moutai")
	d.check(err)
	return s
}

// close closes the roll.
func (d *drawing) close() {
	d.t.Helper()
	d.now = noon.Add(time.Hour + settle)
	_, err := d.book.CloseRoll(d.t.Context(), d.sale(), d.relay.Chain().RoundAt, dice)
	d.check(err)
}

// throw stores the seed once the round is signed.
func (d *drawing) throw() {
	d.t.Helper()
	public, err := d.environment().Draw(d.t.Context(), d.sale())
	d.check(err)
	d.now = d.relay.Chain().TimeOf(public.Round)
	w := httptest.NewRecorder()
	d.relay.ServeHTTP(w, httptest.NewRequest(http.MethodGet, fmt.Sprintf("/%s/public/%d", d.relay.Chain().Hash, public.Round), nil))
	var signed struct{ Signature string }
	d.check(json.Unmarshal(w.Body.Bytes(), &signed))
	signature, err := hex.DecodeString(signed.Signature)
	d.check(err)
	d.check(d.book.SetSeed(d.t.Context(), d.sale(), draw.SeedOf("moutai", public.Roll, beacon.Randomness(signature)), signature))
}

// call makes the next call as soon as it is due, and returns it.
func (d *drawing) call() draw.Call {
	d.t.Helper()
	state, err := d.environment().DrawState(d.t.Context(), "moutai", gap)
	d.check(err)
	d.now = state.NextCallAt(gap)
	state, err = d.environment().DrawState(d.t.Context(), "moutai", gap)
	d.check(err)
	leaves, err := d.environment().Leaves(d.t.Context(), state.Sale, state.Head.Roll)
	d.check(err)
	ranks := draw.Ranks(state.Head.Seed, leaves)
	if begun, err := d.book.BeginCall(d.t.Context(), state, ranks, gap); err != nil || !begun {
		d.t.Fatalf("begun: %v, %v", begun, err)
	}
	c, err := d.book.FinishCall(d.t.Context(), "moutai", ranks, gap)
	d.check(err)
	d.now = c.From
	return c
}

// called are those of the users whom a call calls.
func (d *drawing) called(c draw.Call, users []string) (called []string) {
	d.t.Helper()
	for _, user := range users {
		e, err := d.environment().Entry(d.t.Context(), "moutai", user, settle)
		d.check(err)
		h, err := d.environment().Draw(d.t.Context(), d.sale())
		d.check(err)
		if rank := draw.RankOf(h.Seed, e.Leaf); rank.Compare(c.Lo) > 0 && rank.Compare(c.Hi) <= 0 {
			called = append(called, user)
		}
	}
	return called
}

func (d *drawing) buy(user string) {
	d.t.Helper()
	_, err := d.environment().Purchase(d.t.Context(), ledger.Request{SaleID: "moutai", User: user})
	d.check(err)
}

// routes is the public API, and a part of that of the local stack.
func (d *drawing) routes() http.Handler {
	var mux http.ServeMux
	mux.HandleFunc("GET /_local/health", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"table": "T", "beacon": d.relay.Chain()})
	})
	mux.HandleFunc("GET /sales/{saleId}", d.query)
	mux.HandleFunc("GET /sales/{saleId}/roll/{page}", d.query)
	return &mux
}

// query answers as QueryFunction, with what shown makes of a draw.
func (d *drawing) query(w http.ResponseWriter, r *http.Request) {
	asked := httpapi.Request{RouteKey: r.Pattern}
	asked.Path.SaleID, asked.Path.Page = r.PathValue("saleId"), r.PathValue("page")
	now := func() time.Time { return d.now }
	told, err := query.New(d.environment(), telemetry.New(io.Discard, "query", now), now).Handle(r.Context(), asked)
	body := map[string]any{}
	if err = cmp.Or(err, json.Unmarshal([]byte(told.Body), &body)); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if shown, ok := body["draw"].(map[string]any); ok {
		d.shown(shown)
	}
	w.WriteHeader(told.StatusCode)
	_ = json.NewEncoder(w).Encode(body)
}

// says runs a command about the draw.
func (d *drawing) says(command string) (said string, err error) {
	d.t.Helper()
	var out bytes.Buffer
	name, options, _ := strings.Cut(command, " ")
	c, _ := commandOf(name)
	p := &place{db: d.db, table: "T", found: &system.Place{System: client.System{Client: client.New(d.api.URL, client.Options{})}}}
	err = c.do(d.t.Context(), p, append([]string{"-sale", "moutai"}, strings.Fields(options)...), &out)
	return out.String(), err
}

// tells runs a command about the draw, of which broken means that it must find it wrong. Its output or
// its error must have each of the texts.
func (d *drawing) tells(command string, broken bool, want ...string) {
	d.t.Helper()
	said, err := d.says(command)
	if errors.Is(err, errBroken) != broken {
		d.t.Errorf("%s: %v, after\n%s", command, err, said)
	}
	contains(d.t, fmt.Sprint(said, err), want...)
}

var entrants = []string{"alice", "bob", "carol", "dave", "erin", "=cmd()", "grace"}

func TestADrawIsToldAndVerifiedFromItsRollToItsOpenCall(t *testing.T) {
	d := newDrawing(t, entrants...)
	receipt := d.enter("alice")
	turn, nobody := "verify-draw -user alice -nonce "+receipt.Nonce.String(), strings.Repeat("0", 64)
	d.tells(turn, false, "entering     until 2026-11-11T13:00:00Z", "your leaf    "+receipt.Leaf.String()+": look for it", "not checked:", "the roll: it is closed")
	d.close()
	public, err := d.environment().Draw(t.Context(), d.sale())
	d.check(err)
	d.tells(turn, false, "roll         7 entrants, digest ", "this machine's own dice", "1h0m0s after the roll was closed", receipt.Leaf.String()+", on the roll", "correct so far", "the dice: round")
	d.tells(fmt.Sprintf("verify-draw -roll %s -round %d", public.Roll, public.Round), false, "correct so far")
	d.tells("verify-draw -roll "+nobody, true, "WRONG:", "you noted the roll "+nobody+" before the dice, but it is "+public.Roll.String()+" now: the roll was changed")
	d.tells(fmt.Sprintf("verify-draw -round %d0", public.Round), true, "WRONG:", "the dice were chosen again")
	d.tells("draw", false, fmt.Sprintf("to publish elsewhere, before round %d is signed at ", public.Round), "moutai: 7 entrants, roll "+public.Roll.String())
	d.tells("draw -csv", false, "no call for people on the roll is running")

	d.throw()
	first := d.call()
	d.tells(turn, false, "call 1       3 people, places 1 to 3, from 2026-11-11T15:00:15Z until 2026-11-11T17:00:15Z", "uncalled     4", "your place   ", "correct: every leaf")
	d.tells("draw", false, "call 1 runs until 2026-11-11T17:00:15Z: CSV=1 lists the people")
	d.tells("verify-draw -user alice -nonce "+nobody, true, "of alice is not on the roll")
	d.shown = func(s map[string]any) { s["seed"] = nobody } // every forgery is tested in infra/kit/drawcheck
	d.tells("verify-draw", true, "WRONG:", "the seed is")
	d.tells("draw -csv", false, "the draw is not correct")
	d.shown = func(map[string]any) {}

	for _, user := range d.called(first, entrants)[:2] {
		d.buy(user)
	}
	second := d.call() // the unit that is left
	d.buy(d.called(second, entrants)[0])
	_, err = d.book.Add(t.Context(), sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 9})
	d.check(err)
	d.call()
	d.call() // for anybody
	d.buy("mallory")
	d.tells("verify-draw", false, "call 2       1 people, places 4 to 4", "call 3       3 people, places 5 to 7", "call 4       anybody", "uncalled     0")
}

func TestADrawThatIsNotThereIsRefused(t *testing.T) {
	d := newDrawing(t)
	_, err := d.book.Create(t.Context(), sale.Creation{SaleID: "plain", Name: "Plain", Stock: 1, Shards: 1, OpensAt: noon, ClosesAt: noon.Add(time.Hour)})
	d.check(err)
	for id, want := range map[string]string{"plain": "the sale has no draw", "other": "the API answered 404"} {
		if err := run(t.Context(), []string{"verify-draw", "-url", d.api.URL, "-sale", id}, io.Discard); err == nil || errors.Is(err, errBroken) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", id, err, want)
		}
	}
}

// An API elsewhere that names dice of its own does not choose the order.
func TestOnlyAStackOnThisMachineHasDiceOfItsOwn(t *testing.T) {
	d := newDrawing(t, entrants...)
	d.close()
	d.throw()
	elsewhere, err := url.Parse(d.api.URL)
	d.check(err)
	api := client.New("http://shop.example.com", client.Options{Transport: &http.Transport{Proxy: http.ProxyURL(elsewhere)}})
	published, err := drawcheck.Read(t.Context(), api, "moutai", func(int64, int64) {})
	d.check(err)
	if published.Chain != drawcheck.Quicknet {
		t.Errorf("the dice are those of %+v", published.Chain)
	}
	if r := published.Check(); len(r.Wrong) == 0 {
		t.Error("the order by other dice is correct")
	}
}

func TestTheCalledAreListedForASpreadsheet(t *testing.T) {
	d := newDrawing(t, entrants...)
	d.close()
	d.throw()
	want := d.called(d.call(), entrants)
	said, err := d.says("draw -csv")
	d.check(err)
	line := regexp.MustCompile(`(?m)^"'moutai","'([^"]+)",1,"'2026-11-11T15:00:15Z","'2026-11-11T17:00:15Z",(\d),"'[0-9a-f]{64}"$`)
	var users, places []string
	for _, cells := range line.FindAllStringSubmatch(said, -1) {
		users, places = append(users, cells[1]), append(places, cells[2])
	}
	slices.Sort(users)
	slices.Sort(places)
	slices.Sort(want)
	if !slices.Equal(users, want) || !slices.Equal(places, []string{"1", "2", "3"}) || !strings.HasPrefix(said, "\ufeffsale,user,call,from,until,place,leaf\n") || strings.Count(said, "\n") != 4 {
		t.Errorf("the called are %v at places %v, want %v, in\n%s", users, places, want, said)
	}
	e, err := d.environment().Entry(t.Context(), "moutai", want[0], settle)
	d.check(err)
	remove(t, d.db, fmt.Sprintf("ENTRY#moutai#%02x", e.Leaf.Page()), want[0])
	d.tells("draw -csv", false, "the list has 2 of the 3 people")
	d.now = d.now.Add(2 * time.Hour)
	d.tells("draw -csv", false, "no call for people on the roll is running")
}

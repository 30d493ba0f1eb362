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
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	query "flashsale/functions/query/handler"
	"flashsale/infra/kit/books"
	"flashsale/infra/kit/client"
	"flashsale/infra/kit/drawcheck"
	"flashsale/infra/kit/dynamotest"
	local "flashsale/infra/local/beacon"
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
	db    table
	now   time.Time
	relay *local.Relay
	book  *ledger.Ledger
	api   *httptest.Server
	shown func(map[string]any) // changes what the API shows of the draw

	wasBusy bool
}

// newDrawing is a draw that some have entered, for three units in two shards.
func newDrawing(t *testing.T, users ...string) *drawing {
	t.Helper()
	d := &drawing{t: t, db: table{dynamotest.New(dynamotest.Table{Name: "T", PK: "pk", SK: "sk"})}, now: noon, shown: func(map[string]any) {}}
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

// forget deletes a user's entry.
func (d *drawing) forget(user string) {
	d.t.Helper()
	e, err := d.environment().Entry(d.t.Context(), "moutai", user, settle)
	d.check(err)
	_, err = d.db.DeleteItem(d.t.Context(), &dynamodb.DeleteItemInput{TableName: aws.String("T"), Key: keyOf(fmt.Sprintf("ENTRY#moutai#%02x", e.Leaf.Page()), user)})
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

// query answers as QueryFunction, whose clock is ahead of what may be recent, with what shown makes
// of a draw. One page of the roll is busy at first.
func (d *drawing) query(w http.ResponseWriter, r *http.Request) {
	asked := httpapi.Request{RouteKey: r.Pattern}
	asked.Path.SaleID, asked.Path.Page = r.PathValue("saleId"), r.PathValue("page")
	if asked.Path.Page == "07" && !d.wasBusy { // a page is read by one goroutine at a time
		d.wasBusy = true
		w.Header().Set("Retry-After", "0")
		http.Error(w, "{}", http.StatusServiceUnavailable)
		return
	}
	ahead := func() time.Time { return d.now.Add(2 * recent) }
	told, err := query.New(d.environment(), telemetry.New(io.Discard, "query", ahead), ahead).Handle(r.Context(), asked)
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

// verify runs the command against the API.
func (d *drawing) verify(args ...string) (string, error) {
	d.t.Helper()
	var out bytes.Buffer
	err := run(d.t.Context(), append([]string{"verify-draw", "-url", d.api.URL, "-sale", "moutai"}, args...), &out)
	return out.String(), err
}

// read is the draw as its API shows it, and as the table has it.
func (d *drawing) read(out io.Writer) (verifying, *books.Drawing) {
	d.t.Helper()
	published, err := drawcheck.Read(d.t.Context(), client.New(d.api.URL, client.Options{}), "moutai", func(int64, int64) {})
	d.check(err)
	b, err := books.OpenDrawing(d.t.Context(), d.db, "T", "moutai")
	d.check(err)
	return verifying{Report: published.Check(), published: published, out: out}, b
}

// owned compares the table as well.
func (d *drawing) owned() (verifying, string, error) {
	d.t.Helper()
	var out bytes.Buffer
	v, b := d.read(&out)
	d.check(v.compareTable(d.t.Context(), b))
	err := v.end()
	return v, out.String(), err
}

var entrants = []string{"alice", "bob", "carol", "dave", "erin", "=cmd()", "grace"}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

func TestADrawIsVerifiedFromItsRollToItsOpenCall(t *testing.T) {
	d := newDrawing(t, entrants...)
	receipt := d.enter("alice")
	turn := []string{"-user", "alice", "-nonce", receipt.Nonce.String()}
	out, err := d.verify(turn...)
	if err != nil {
		t.Error(err)
	}
	contains(t, out, "entering     until 2026-11-11T13:00:00Z", "your leaf    "+receipt.Leaf.String()+": look for it", "not checked:", "the roll: it is closed")
	d.close()
	if out, err = d.verify(turn...); err != nil {
		t.Error(err)
	}
	contains(t, out, "roll         7 entrants, digest ", "this machine's own dice", "1h0m0s after the roll was closed", receipt.Leaf.String()+", on the roll", "correct so far", "the dice: round")
	d.throw()
	first := d.call()
	if out, err = d.verify(turn...); err != nil {
		t.Error(err)
	}
	contains(t, out, "call 1       3 people, places 1 to 3, from 2026-11-11T15:00:15Z until 2026-11-11T17:00:15Z", "uncalled     4", "your place   ", "correct: every leaf")
	for _, user := range d.called(first, entrants)[:2] {
		d.buy(user)
	}
	second := d.call() // the unit that is left
	d.buy(d.called(second, entrants)[0])
	if _, err := d.book.Add(t.Context(), sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 9}); err != nil {
		t.Fatal(err)
	}
	d.call()
	d.call() // for anybody
	d.buy("mallory")
	if out, err = d.verify(); err != nil {
		t.Error(err)
	}
	contains(t, out, "call 2       1 people, places 4 to 4", "call 3       3 people, places 5 to 7", "call 4       anybody", "uncalled     0")
	_, out, err = d.owned()
	if err != nil {
		t.Error(err)
	}
	contains(t, out, "7 on the roll, 0 that came too late", "claims       4, each bought in a call for its user")
}

func TestWhatWasNotedBeforeTheDiceIsCompared(t *testing.T) {
	d := newDrawing(t, entrants...)
	d.close()
	public, err := d.environment().Draw(t.Context(), d.sale())
	d.check(err)
	round := strconv.FormatUint(public.Round, 10)
	if out, err := d.verify("-roll", public.Roll.String(), "-round", round); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for want, args := range map[string][]string{
		"the roll was changed":       {"-roll", strings.Repeat("0", 64)},
		"the dice were chosen again": {"-round", round + "0"},
	} {
		out, err := d.verify(args...)
		if !errors.Is(err, errBroken) {
			t.Errorf("%v: %v", args, err)
		}
		contains(t, out, "WRONG:", want)
	}
}

// Every forgery that can be told is tested in infra/kit/drawcheck.
func TestAForgedAnswerIsWrong(t *testing.T) {
	d := newDrawing(t, entrants...)
	d.close()
	d.throw()
	d.call()
	d.shown = func(s map[string]any) { s["seed"] = strings.Repeat("0", 64) }
	out, err := d.verify()
	if !errors.Is(err, errBroken) {
		t.Error(err)
	}
	contains(t, out, "WRONG:", "the seed is")
	d.shown = func(map[string]any) {}
	out, err = d.verify("-user", "alice", "-nonce", strings.Repeat("0", 64))
	if !errors.Is(err, errBroken) {
		t.Error(err)
	}
	contains(t, out, "of alice is not on the roll")
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

func TestTheTableShowsWhoIsOnTheRollWithoutAnEntryAndWhoBoughtOutOfTurn(t *testing.T) {
	d := newDrawing(t, entrants...)
	d.close()
	d.throw()
	called := d.called(d.call(), entrants)
	d.buy(called[0])
	d.buy(called[1])
	for _, user := range called[:2] { // just before the call
		tamper(t, d.db, "CLAIM#moutai#0", user, "acceptedAt", -1)
	}
	v, out, err := d.owned()
	if !errors.Is(err, errBroken) || len(v.Wrong) != 2 {
		t.Errorf("%v, wrong: %q", err, v.Wrong)
	}
	contains(t, out, called[0]+" bought at 2026-11-11T15:00:14Z, but was called from 2026-11-11T15:00:15Z", "(call 1)", "claims       0, each")

	uncalled := slices.DeleteFunc(slices.Clone(entrants), func(user string) bool { return slices.Contains(called, user) })
	if got := outOf(drawcheck.Turn{OnRoll: true, Place: 5}); !strings.Contains(got, "was not called (place 5)") {
		t.Error(got)
	}
	if got := outOf(drawcheck.Turn{}); !strings.Contains(got, "is not on the roll") {
		t.Error(got)
	}
	d.forget(uncalled[0])
	v, _, err = d.owned()
	if !errors.Is(err, errBroken) || !slices.ContainsFunc(v.Wrong, func(s string) bool {
		return strings.Contains(s, "the roll has 7 leaves, but 6 of the entries in the table are on it")
	}) {
		t.Errorf("%v, wrong: %q", err, v.Wrong)
	}
}

func TestTheCalledAreListedForASpreadsheet(t *testing.T) {
	d := newDrawing(t, entrants...)
	d.close()
	d.throw()
	want := d.called(d.call(), entrants)
	v, b := d.read(io.Discard)
	call := v.running()
	var out bytes.Buffer
	d.check(v.writeCalled(t.Context(), b, call, &out))
	lines := strings.Split(strings.TrimSpace(strings.TrimPrefix(out.String(), "\ufeff")), "\n")
	if len(lines) != 4 || lines[0] != "sale,user,call,from,until,place,leaf" {
		t.Fatalf("%s", &out)
	}
	places := map[string]bool{}
	var users []string
	for _, line := range lines[1:] {
		cells := strings.Split(strings.NewReplacer(`"'`, "", `"`, "").Replace(line), ",")
		users, places[cells[5]] = append(users, cells[1]), true
		if cells[0] != "moutai" || cells[2] != "1" || cells[3] != "2026-11-11T15:00:15Z" || cells[4] != "2026-11-11T17:00:15Z" || len(cells[6]) != 64 {
			t.Errorf("line %s", line)
		}
	}
	slices.Sort(users)
	slices.Sort(want)
	if !slices.Equal(users, want) || len(places) != 3 || !places["1"] || !places["3"] {
		t.Errorf("the called are %v at places %v, want %v", users, places, want)
	}
	d.forget(want[0])
	if err := v.writeCalled(t.Context(), b, call, &out); err == nil || !strings.Contains(err.Error(), "the list has 2 of the 3 people") {
		t.Errorf("a list without one of them: %v", err)
	}
	v.published.AsOf = call.Until
	if v.running() != nil {
		t.Error("a call runs at its end")
	}
}

func TestWhatToPublishIsShownUntilTheDiceHaveFallen(t *testing.T) {
	d := newDrawing(t, entrants...)
	d.close()
	port := strconv.Itoa(portOf(t, d.api))
	show := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"-api-port", port, "draw", "-sale", "moutai"}, args...), &out)
		return out.String(), err
	}
	out, err := show()
	d.check(err)
	contains(t, out, "to publish elsewhere, before round ", "moutai: 7 entrants, roll ")
	if _, err := show("-csv"); err == nil || !strings.Contains(err.Error(), "no call for people on the roll is running") {
		t.Errorf("before a call the list is %v", err)
	}
	d.throw()
	d.call()
	out, err = show()
	d.check(err)
	contains(t, out, "call 1 runs until 2026-11-11T17:00:15Z: CSV=1 lists the people")
	if strings.Contains(out, "to publish") {
		t.Errorf("after the dice it says\n%s", out)
	}
	d.shown = func(s map[string]any) { s["entrants"] = 8 }
	if _, err := show("-csv"); err == nil || !strings.Contains(err.Error(), "the draw is not correct") {
		t.Errorf("of a draw that is wrong the list is %v", err)
	}
}

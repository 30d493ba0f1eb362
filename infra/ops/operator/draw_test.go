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

// tells runs a command about the draw, of which broken means that it must find it wrong. Its output or
// its error must have each of the texts.
func (d *drawing) tells(command string, broken bool, want ...string) {
	d.t.Helper()
	var out bytes.Buffer
	name, options, _ := strings.Cut(command, " ")
	err := run(d.t.Context(), append([]string{"-api-port", strconv.Itoa(portOf(d.t, d.api)), name, "-sale", "moutai"}, strings.Fields(options)...), &out)
	if errors.Is(err, errBroken) != broken {
		d.t.Errorf("%s: %v, after\n%s", command, err, &out)
	}
	fmt.Fprint(&out, err)
	contains(d.t, out.String(), want...)
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

var entrants = []string{"alice", "bob", "carol", "dave", "erin", "=cmd()", "grace"}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

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
	v, b := d.read(io.Discard)
	call := v.running()
	var out bytes.Buffer
	d.check(v.writeCalled(t.Context(), b, call, &out))
	lines := strings.Split(strings.TrimPrefix(strings.NewReplacer(`"'`, "", `"`, "", "'", "").Replace(out.String()), "\ufeff"), "\n")
	if len(lines) != 5 || lines[0] != "sale,user,call,from,until,place,leaf" {
		t.Fatalf("%s", &out)
	}
	var users, places []string
	for _, line := range lines[1:4] {
		cells := strings.Split(line, ",")
		users, places = append(users, cells[1]), append(places, cells[5])
		if !strings.HasPrefix(line, "moutai,"+cells[1]+",1,2026-11-11T15:00:15Z,2026-11-11T17:00:15Z,"+cells[5]+",") || len(cells[6]) != 64 {
			t.Errorf("line %s", line)
		}
	}
	for _, all := range [][]string{users, places, want} {
		slices.Sort(all)
	}
	if !slices.Equal(users, want) || !slices.Equal(places, []string{"1", "2", "3"}) {
		t.Errorf("the called are %v at places %v, want %v", users, places, want)
	}
	d.forget(want[0])
	if err := v.writeCalled(t.Context(), b, call, &out); err == nil || !strings.Contains(err.Error(), "the list has 2 of the 3 people") {
		t.Errorf("a list without one of them: %v", err)
	}
	v.Sale.AsOf = call.Until
	if v.running() != nil {
		t.Error("a call runs at its end")
	}
}

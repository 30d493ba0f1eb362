package live

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/draw"
	"flashsale/shared/sale"
)

// next reads the next snapshot of a feed.
func next(t *testing.T, r *bufio.Reader) (s snapshot) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(text), &s); err != nil {
				t.Fatalf("%v in %s", err, text)
			}
			return s
		}
	}
}

// open opens a feed over the network.
func (w *world) open(t *testing.T, sale string) *bufio.Reader {
	t.Helper()
	server := httptest.NewServer(w.Handler())
	t.Cleanup(server.Close)
	t.Cleanup(w.run())
	response, err := http.Get(server.URL + Prefix + "feed?sale=" + sale)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" || response.StatusCode != http.StatusOK {
		t.Fatalf("%s %s", response.Status, got)
	}
	return bufio.NewReader(response.Body)
}

// Orders are pending, confirmed, paid, expired and cancelled; released units are sold no longer.
func TestTheFeedShowsASaleAndItsReceipt(t *testing.T) {
	w := newWorld(t)
	w.interval = time.Millisecond
	w.OpenUnpaid(20, 4)
	ids := w.Ordered("ann", "bob", "cid")
	w.Settles(ledgertest.PaymentOf(ids[0], "pi_1"))
	if _, err := w.Ledger.Cancel(w.Ctx, "moutai", "bob"); err != nil {
		t.Fatal(err)
	}
	w.Pass(40 * time.Minute)
	w.ReleasesBy(w.Environment())
	w.Ordered("eve")
	w.Pass(time.Millisecond)
	w.Accepted(w.Buy("fay"))
	feed := w.open(t, "")
	s := next(t, feed)
	if s.Sale == nil || s.Problem != "" {
		t.Fatalf("%+v", s)
	}
	got := *s.Sale
	if got.ID != "moutai" || got.Seeded != 20 || got.Left != 17 || got.Sold != 3 || got.Pending != 1 || got.Confirmed != 1 || got.Paid != 1 ||
		got.Expired != 1 || got.Cancelled != 1 || got.Partial || len(got.Shards) != 4 || got.Orders[0].User != "fay" {
		t.Errorf("the sale is shown as %+v", got)
	}
	want := map[string]string{"ann": "PAID", "bob": "CANCELLED", "cid": "EXPIRED", "eve": "CONFIRMED", "fay": "PENDING"}
	for _, o := range got.Orders {
		if o.State != want[o.User] || (o.OrderID == "") != (o.User == "fay") || len(got.Orders) != len(want) {
			t.Errorf("%+v of %d, want %s", o, len(got.Orders), want[o.User])
		}
	}
	if len(s.Sales) != 1 || s.Queue != (depth{4, 1}) || s.Dead != (depth{7, 1}) || len(s.Accidents) != len(accidents) {
		t.Errorf("the rest is shown as %+v", s)
	}
	for range 1000 {
		if s = next(t, feed); s.Receipt != nil {
			break
		}
	}
	if r := s.Receipt; r == nil || r.Problem != "" || !r.Balanced || r.Stock != 17 || r.Claims != 5 || r.Pending != 1 {
		t.Errorf("the receipt is %+v", r)
	}
}

// A draw is shown from entering to its end, with what its newest call has sold.
func TestTheFeedShowsADraw(t *testing.T) {
	w := newWorld(t)
	shown := func(want drawView, state string) {
		t.Helper()
		s := w.read(w.Ctx, "moutai")
		if s.Problem != "" || s.Sale == nil || s.Sale.Draw == nil {
			t.Fatalf("%+v", s)
		}
		if *s.Sale.Draw != want || s.Sale.State != state {
			t.Errorf("%q and the draw %+v, want %q and %+v", s.Sale.State, *s.Sale.Draw, state, want)
		}
	}
	c := w.Drawn(2, 2)
	w.Create(c)
	shown(drawView{Phase: "nobody may enter yet", Until: c.EnterFrom}, "not open yet")
	w.Pass(time.Minute)
	shown(drawView{Phase: "people enter", Until: c.EnterUntil}, "not open yet")
	w.Pass(time.Hour)
	shown(drawView{Phase: "entering is over, the roll is not closed"}, "not open yet")

	w = newWorld(t)
	users, ranks := w.Rolled(func(*sale.Creation) {}, 2, 2, 4)
	shown(drawView{Phase: "the dice are known, waiting for the first call", Entrants: 4}, "between calls")
	called := func() draw.Call {
		t.Helper()
		d, err := w.Environment().DrawState(w.Ctx, "moutai", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if begun, err := w.Environment().BeginCall(w.Ctx, d, ranks, time.Minute); err != nil || !begun {
			t.Fatal(begun, err)
		}
		c, err := w.Environment().FinishCall(w.Ctx, "moutai", ranks, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		w.Pass(c.From.Sub(w.Now()))
		return c
	}
	last := called()
	w.Ledger = w.Environment()
	w.Accepted(w.Buy(users[0]))
	shown(drawView{Phase: "the called may buy", Until: last.Until, Entrants: 4, Call: 1, From: last.From, Kept: 2, Bought: 1}, "open")
	w.Pass(last.Until.Sub(w.Now()))
	shown(drawView{Phase: "waiting for the next call", Entrants: 4, Call: 1, From: last.From, Kept: 2, Bought: 1}, "between calls")
	for range 3 {
		w.Pass(last.Until.Sub(w.Now()) + time.Minute)
		last = called()
	}
	shown(drawView{Phase: "open call, for anybody", Until: last.Until, Entrants: 4, Call: 4, From: last.From, Kept: 1}, "open")
	w.Pass(last.Until.Sub(w.Now()))
	shown(drawView{Phase: "over", Entrants: 4, Call: 4, From: last.From, Kept: 1}, "closed")
}

func TestASaleThatIsNotThereIsSaid(t *testing.T) {
	w := newWorld(t)
	if s := w.read(w.Ctx, "other"); s.Sale != nil || s.Problem != `there is no sale "other"` || len(s.Sales) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestTheFeedEndsWithTheStack(t *testing.T) {
	w := newWorld(t)
	server := httptest.NewServer(w.Handler())
	defer server.Close()
	stop := w.run()
	response, err := http.Get(server.URL + Prefix + "feed")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	stop()
	if _, err := io.ReadAll(response.Body); err != nil {
		t.Error(err)
	}
	if w.send("moutai") {
		t.Error("a crowd is sent to a stack that has stopped")
	}
}

package live

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"flashsale/infra/proof/ledgertest"
	"flashsale/shared/ledger"
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

func TestTheFeedShowsASaleAsItIs(t *testing.T) {
	w := newWorld(t)
	w.interval = time.Millisecond
	w.Open(20, 4)
	for _, user := range []string{"ann", "bob", "cid"} {
		w.Accepted(w.Buy(user))
		w.Pass(time.Millisecond)
	}
	p := w.Accepted(w.Buy("dan")).Claim
	if c := w.Ledger.Confirm(w.Ctx, []ledger.ClaimRef{{SaleID: p.SaleID, User: p.User, ClaimID: p.ID}}); c[0].Err != nil {
		t.Fatal(c[0].Err)
	}
	feed := w.open(t, "")
	s := next(t, feed)
	if s.Sale == nil || s.Problem != "" {
		t.Fatalf("%+v", s)
	}
	if got := *s.Sale; got.ID != "moutai" || got.Seeded != 20 || got.Left != 16 || got.Sold != 4 || got.Pending != 3 || got.Confirmed != 1 ||
		got.Partial || len(got.Shards) != 4 || len(got.Orders) != 4 || got.Orders[0].User != "dan" || got.Orders[0].OrderID == "" {
		t.Errorf("the sale is shown as %+v", got)
	}
	if len(s.Sales) != 1 || s.Queue != (depth{4, 1}) || s.Dead != (depth{7, 1}) || len(s.Accidents) != len(accidents) {
		t.Errorf("the rest is shown as %+v", s)
	}
	for range 1000 {
		if s = next(t, feed); s.Receipt != nil {
			break
		}
	}
	if r := s.Receipt; r == nil || r.Problem != "" || !r.Balanced || r.Stock != 16 || r.Claims != 4 || r.Pending != 3 {
		t.Errorf("the receipt is %+v", r)
	}
}

// A draw is shown from entering to its open call, with what its newest call has sold.
func TestTheFeedShowsADraw(t *testing.T) {
	w := newWorld(t)
	draw := func() drawView {
		t.Helper()
		s := w.read(w.Ctx, "moutai")
		if s.Problem != "" || s.Sale == nil || s.Sale.Draw == nil {
			t.Fatalf("%+v", s)
		}
		return *s.Sale.Draw
	}
	shown := func(want drawView, state string) {
		t.Helper()
		if got := draw(); got != want {
			t.Errorf("the draw is shown as %+v, want %+v", got, want)
		}
		if got := w.read(w.Ctx, "moutai").Sale.State; got != state {
			t.Errorf("the sale is %q, want %q", got, state)
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
	call := func(number int64) ledger.Call {
		t.Helper()
		d, err := w.Environment().DrawState(w.Ctx, "moutai", time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		if begun, err := w.Environment().BeginCall(w.Ctx, d, ranks, time.Minute); err != nil || !begun {
			t.Fatal(begun, err)
		}
		if got := draw(); number < 4 && got.Phase != "people are being called" {
			t.Errorf("a call that is not complete is shown as %+v", got)
		}
		c, err := w.Environment().FinishCall(w.Ctx, "moutai", ranks, time.Minute)
		if err != nil || c.Number != number {
			t.Fatal(c, err)
		}
		w.Pass(c.From.Sub(w.Now()))
		return c
	}
	first := call(1)
	w.Ledger = w.Environment()
	w.Accepted(w.Buy(users[0]))
	shown(drawView{Phase: "the called may buy", Until: first.Until, Entrants: 4, Call: 1, From: first.From, Kept: 2, Bought: 1}, "open")
	w.Pass(first.Until.Sub(w.Now()))
	shown(drawView{Phase: "waiting for the next call", Entrants: 4, Call: 1, From: first.From, Kept: 2, Bought: 1}, "between calls")
	for number := range int64(2) {
		w.Pass(time.Minute)
		second := call(2 + number)
		shown(drawView{Phase: "the called may buy", Until: second.Until, Entrants: 4, Call: int(2 + number), From: second.From, Kept: 1}, "open")
		w.Pass(second.Until.Sub(w.Now()))
	}
	w.Pass(time.Minute)
	open := call(4)
	shown(drawView{Phase: "open call, for anybody", Until: open.Until, Entrants: 4, Call: 4, From: open.From, Kept: 1}, "open")
	w.Pass(open.Until.Sub(w.Now()))
	shown(drawView{Phase: "over", Entrants: 4, Call: 4, From: open.From, Kept: 1}, "closed")
}

// Orders are paid, expire and are cancelled; released units are sold no longer.
func TestTheFeedShowsWhatBecameOfOrders(t *testing.T) {
	w := newWorld(t)
	w.OpenUnpaid(20, 1)
	ids := w.Ordered("ann", "bob", "cid", "dan")
	w.Settles(ledgertest.PaymentOf(ids[0], "pi_1"))
	if _, err := w.Ledger.Cancel(w.Ctx, "moutai", "bob"); err != nil {
		t.Fatal(err)
	}
	w.Pass(40 * time.Minute)
	w.ReleasesBy(w.Environment())
	w.Ordered("eve")
	s := next(t, w.open(t, ""))
	if s.Sale == nil || s.Problem != "" {
		t.Fatalf("%+v", s)
	}
	if got := *s.Sale; got.Pending != 0 || got.Confirmed != 1 || got.Paid != 1 || got.Expired != 2 || got.Cancelled != 1 || got.Sold != 2 || got.Partial {
		t.Errorf("the sale is shown as %+v", got)
	}
	want := map[string]string{"ann": "PAID", "bob": "CANCELLED", "cid": "EXPIRED", "dan": "EXPIRED", "eve": "CONFIRMED"}
	for _, o := range s.Sale.Orders {
		if o.State != want[o.User] || o.OrderID == "" {
			t.Errorf("%+v, want %s", o, want[o.User])
		}
	}
	if len(s.Sale.Orders) != len(want) {
		t.Errorf("%d orders", len(s.Sale.Orders))
	}
}

func TestASaleThatIsNotThereIsSaid(t *testing.T) {
	w := newWorld(t)
	if s := next(t, w.open(t, "other")); s.Sale != nil || s.Problem != `there is no sale "other"` || len(s.Sales) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestAllViewersShareOneSnapshotASecondAndWithoutThemThereIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		defer w.run()()
		time.Sleep(time.Minute)
		if n := w.table.lists.Load(); n != 0 {
			t.Errorf("%d snapshots without a viewer", n)
		}
		var all []*viewer
		for range 5 {
			all = append(all, w.join(""))
		}
		time.Sleep(10*time.Second + 500*time.Millisecond)
		if n := w.table.lists.Load(); n != 11 {
			t.Errorf("%d snapshots for five viewers in ten seconds, want 11", n)
		}
		for _, one := range all {
			if len(one.frames) != 1 {
				t.Error("a viewer who does not read is kept more or less than the latest snapshot")
			}
			w.leave(one)
		}
		time.Sleep(time.Minute)
		if n := w.table.lists.Load(); n > 12 {
			t.Errorf("%d snapshots after the last viewer left", n-11)
		}
	})
}

func TestTheNumberOfViewersIsBounded(t *testing.T) {
	w := newWorld(t)
	for range maxViewers {
		if w.join("") == nil {
			t.Fatal("a viewer is turned away too early")
		}
	}
	answer := httptest.NewRecorder()
	w.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, Prefix+"feed", nil))
	if answer.Code != http.StatusServiceUnavailable {
		t.Errorf("one too many gets %d", answer.Code)
	}
}

func TestAStalledReaderIsDroppedAndDelaysNobody(t *testing.T) {
	w := newWorld(t)
	w.Open(20, 4)
	w.interval, w.patience = 100*time.Microsecond, 50*time.Millisecond
	server := httptest.NewUnstartedServer(w.Handler())
	server.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(4096)
		}
	}
	server.Start()
	defer server.Close()
	defer w.run()()
	stalled, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer stalled.Close()
	_ = stalled.(*net.TCPConn).SetReadBuffer(4096)
	if _, err := stalled.Write([]byte("GET " + Prefix + "feed HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(server.URL + Prefix + "feed")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	feed := bufio.NewReader(response.Body)
	viewers := func() int {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.viewers)
	}
	both := false
	for end := time.Now().Add(30 * time.Second); ; {
		next(t, feed)
		if n := viewers(); n == 2 {
			both = true
		} else if both {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d viewers are left", viewers())
		}
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
	if err := (bufio.NewScanner(response.Body)).Err(); err != nil {
		t.Error(err)
	}
	for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
		continue // until the server ends it
	}
	if w.send("moutai") {
		t.Error("a crowd is sent to a stack that has stopped")
	}
}

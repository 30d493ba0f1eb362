package handler

import (
	"bytes"
	"context"
	"crypto/sha512"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/beacon"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/telemetry/telemetrytest"
)

var (
	times = draw.Times{Settle: 15 * time.Minute, Dice: time.Hour, Gap: time.Minute}
	// began is when each world begins and people may enter; entering lasts an hour, and the
	// first call is due two hours after that.
	began    = time.Date(2026, 11, 11, 8, 0, 0, 0, time.UTC)
	enterEnd = began.Add(time.Hour)
	opens    = enterEnd.Add(2 * time.Hour)
	ends     = opens.Add(48 * time.Hour)
	keepFor  = 2 * time.Hour
)

// dice are a beacon whose rounds appear a second after they are signed, unless it is halted.
type dice struct {
	halted bool
	asked  []uint64
}

func (d *dice) Signature(_ context.Context, round uint64) ([]byte, error) {
	d.asked = append(d.asked, round)
	if d.halted || time.Now().Before(beacon.Quicknet.TimeOf(round).Add(time.Second)) {
		return nil, errors.New("no relay has the round")
	}
	sum := sha512.Sum512(fmt.Append(nil, round))
	return sum[:beacon.SignatureSize], nil
}

// world is a real ledger over the in-process table, in virtual time.
type world struct {
	t      *testing.T
	db     *dynamotest.DB
	ledger *ledger.Ledger
	dice   dice
	log    bytes.Buffer
}

func in(t *testing.T, test func(*testing.T, *world)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(began))
		w := &world{t: t, db: dynamotest.New(dynamotest.Table{Name: "Ledger", PK: "pk", SK: "sk"})}
		w.ledger = w.environment()
		test(t, w)
	})
}

func (w *world) environment() *ledger.Ledger { return ledger.New(w.db, "Ledger", ledger.Options{}) }

// create makes a sale with a draw of that many units in two shards.
func (w *world) create(saleID string, stock int64, changes ...func(*sale.Creation)) {
	w.t.Helper()
	c := sale.Creation{SaleID: saleID, Stock: stock, Shards: 2, OpensAt: opens, ClosesAt: ends}
	c.DrawTerms = sale.DrawTerms{EnterFrom: began, EnterUntil: enterEnd, KeepFor: keepFor}
	for _, change := range changes {
		change(&c)
	}
	if err := c.Check(); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.ledger.Create(w.t.Context(), c); err != nil {
		w.t.Fatal(err)
	}
}

// enter enters the users called user-0 and on.
func (w *world) enter(saleID string, users int) {
	w.t.Helper()
	for i := range users {
		if _, err := w.ledger.Enter(w.t.Context(), saleID, fmt.Sprint("user-", i), times.Settle, nil); err != nil {
			w.t.Fatal(err)
		}
	}
}

// buy has those users try to buy, and returns which did and how the others were refused.
func (w *world) buy(saleID string, users int) (bought []string, refused map[sale.Code]int) {
	w.t.Helper()
	refused = map[sale.Code]int{}
	l := w.environment()
	for i := range users {
		user := fmt.Sprint("user-", i)
		if _, err := l.Purchase(w.t.Context(), ledger.Request{SaleID: saleID, User: user, CallGap: times.Gap}); err != nil {
			refused[sale.CodeOf(err)]++
		} else {
			bought = append(bought, user)
		}
	}
	return bought, refused
}

// addStock changes the stock of a shard by that many units behind the ledger's back.
func (w *world) addStock(saleID string, shard int, units int64) {
	w.t.Helper()
	if err := w.db.Tamper(w.t.Context(), "Ledger", fmt.Sprintf("STOCK#%s#%d", saleID, shard), "STOCK", "stock", units); err != nil {
		w.t.Error(err)
	}
}

// draw invokes the function as Lambda does, with the given time.
func (w *world) draw(payload string, timeout time.Duration) ([]Course, error) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), timeout)
	defer cancel()
	h := New(w.environment(), beacon.Quicknet, &w.dice, times, telemetry.New(&w.log, "draw", clock.Wall), clock.Wall)
	out, err := lambda.NewHandler(h.Handle).Invoke(ctx, []byte(payload))
	if err != nil {
		return nil, err
	}
	var a Answer
	if err := json.Unmarshal(out, &a); err != nil {
		w.t.Fatalf("answer %s: %v", out, err)
	}
	return a.Draws, nil
}

// run is a run of the schedule.
func (w *world) run() []Course {
	w.t.Helper()
	draws, err := w.draw(`{}`, 2*time.Minute)
	if err != nil {
		w.t.Fatal(err)
	}
	return draws
}

// until runs the schedule each minute until that instant.
func (w *world) until(end time.Time) {
	w.t.Helper()
	for next := time.Now(); next.Before(end); next = next.Add(time.Minute) {
		time.Sleep(time.Until(next))
		w.run()
		w.log.Reset()
	}
	time.Sleep(time.Until(end))
}

// public is what everybody may know of a draw.
func (w *world) public(saleID string) ledger.Draw {
	w.t.Helper()
	l := w.environment()
	s, err := l.Sale(w.t.Context(), saleID)
	if err != nil {
		w.t.Fatal(err)
	}
	d, err := l.Draw(w.t.Context(), s)
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) isClosed(saleID string) bool {
	w.t.Helper()
	d := w.public(saleID)
	return d.IsClosed()
}

func (w *world) edit(e sale.Edit) {
	w.t.Helper()
	if _, err := w.environment().Edit(w.t.Context(), e); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) pause(saleID string, paused bool) {
	w.t.Helper()
	w.edit(sale.Edit{SaleID: saleID, Paused: &paused})
}

// pausedUntil pauses the shoes before they are on sale, and resumes them at that instant.
func (w *world) pausedUntil(end time.Time) {
	w.t.Helper()
	w.until(opens.Add(-time.Minute))
	w.pause("shoes", true)
	time.Sleep(time.Until(end))
	w.pause("shoes", false)
}

// failing makes the calls of that operation on keys with that text fail.
func (w *world) failing(op, key string) {
	w.db.Fault = func(c dynamotest.Call) dynamotest.Fault {
		if c.Op == op && strings.Contains(strings.Join(c.Keys, " "), key) {
			return dynamotest.Fault{Kind: dynamotest.ServerError}
		}
		return dynamotest.Fault{}
	}
}

// lines returns the log's lines since the last call, by message and sale.
func (w *world) lines() map[string]telemetrytest.Line {
	w.t.Helper()
	all, err := telemetrytest.ByName(&w.log, "message", "saleId")
	if err != nil {
		w.t.Error(err)
	}
	return all
}

// Package handler carries on with the sendings that operators have begun: it asks payment providers to give back what
// is due, and notes what they answer.
//
// A request is noted as unknown before it is made, and under an id that makes a repeat the same request. So whatever is
// lost or dies, a later run repeats or asks, and nothing goes back twice (P42).
package handler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"flashsale/functions/refund/provider"
	"flashsale/shared/invocation"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
	"flashsale/shared/scheduled"
	"flashsale/shared/telemetry"
)

// Ledger is the part of the ledger that the handler uses.
type Ledger interface {
	Sendings(context.Context) ([]sale.Sending, error)
	Sending(ctx context.Context, id string) (sale.Sending, error)
	SendingPage(ctx context.Context, s *sale.Sending, most int32) (ledger.SendingPage, error)
	SaveSending(ctx context.Context, was, now sale.Sending) (bool, error)
	TakeRefund(ctx context.Context, r sale.Refund, s *sale.Sending, account string) (sale.Refund, bool, error)
	NoteSent(ctx context.Context, taken sale.Refund, after sale.Sent, money []sale.MoneyReport) (sale.Refund, error)
}

// Accounts reads the keys: the providers that have some, and for those whose settings cannot be right, why.
type Accounts func(context.Context) (accounts map[string]provider.Provider, wrong map[string]error, err error)

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	ledger   Ledger
	accounts Accounts
	log      *telemetry.Log
	now      func() time.Time
}

// New returns a handler over a ledger. It reads the keys in each run that has work, and keeps them for that run.
func New(l Ledger, accounts Accounts, log *telemetry.Log, now func() time.Time) *Handler {
	return &Handler{ledger: l, accounts: accounts, log: log, now: now}
}

const (
	// pageSize is how many refunds are looked at before a sending's progress is saved.
	pageSize = 25
	// restOfRun is the time in which no page and no call begins. What a call that is cut off did is unknown, and takes
	// a second call.
	restOfRun = 10 * time.Second
	// noteTime is what a call leaves to note its answer.
	noteTime = 3 * time.Second
	// fresh is how old the word may be that a sending goes on, when a call begins.
	fresh = 2 * time.Second
)

// Answer is what one run did.
type Answer struct {
	// Sendings were open and had their turn.
	Sendings int `json:"sendings"`
	// Results counts the calls by their result.
	Results map[string]int `json:"results,omitempty"`
}

// Handle gives the open sendings a page each, in turns, until all is done or the time is up. Which one is the first
// changes each minute, because a slow provider's page may take the whole run. One that fails does not stop the others;
// if any did, the invocation fails in the end, and the next one continues. Invocations may overlap: a conditional write
// lets one of them make a call.
func (h *Handler) Handle(ctx context.Context, _ json.RawMessage) (Answer, error) {
	r := &run{Handler: h, desks: map[string]*desk{}, results: map[string]int{}}
	var open []string
	err := scheduled.Run(ctx, h.log, "refund", func(ctx context.Context, event *telemetry.Event) (err error) {
		r.event = event
		if open, err = h.open(ctx); len(open) == 0 {
			return err
		}
		r.failed = err // of those that cannot be read
		if r.accounts, r.wrong, err = h.accounts(ctx); err != nil {
			return err
		}
		first := int(h.now().Unix()/60) % len(open)
		r.turns(ctx, slices.Concat(open[first:], open[:first]))
		return r.failed
	}, func(event *telemetry.Event, _ sale.Code) {
		if event.Int("sendings", len(open)); len(open) > 0 {
			event.List("results", r.results)
		}
	})
	return Answer{len(open), r.results}, err
}

// open returns the ids of the sendings that have work now, the oldest first.
func (h *Handler) open(ctx context.Context) (ids []string, _ error) {
	all, err := h.ledger.Sendings(ctx)
	for _, s := range slices.Backward(all) {
		if h.hasWork(&s) {
			ids = append(ids, s.ID)
		}
	}
	return ids, err
}

func (h *Handler) hasWork(s *sale.Sending) bool { return s.IsOpen() && !s.NextAt.After(h.now()) }

// run is one invocation. Its pages follow each other; the calls of a page are made side by side.
type run struct {
	*Handler
	event    *telemetry.Event
	accounts map[string]provider.Provider
	wrong    map[string]error
	desks    map[string]*desk
	results  map[string]int
	failed   error // the first failure
}

// turns gives each sending a page, and those that have more another one.
func (r *run) turns(ctx context.Context, ids []string) {
	for len(ids) > 0 {
		var again []string
		for _, id := range ids {
			if !invocation.Outlasts(ctx, restOfRun) {
				return
			}
			turn, part := r.event.Part(ctx)
			err := invocation.Try(func() error {
				more, err := r.turn(turn, id)
				if more {
					again = append(again, id)
				}
				return err
			})
			if err != nil {
				part.Text("sending", id)
				part.End("sending", sale.CodeOf(err), err)
				r.failed = cmp.Or(r.failed, err)
			}
		}
		ids = again
	}
}

// turn does a sending's next page, and reports whether there is more to do in this run. The sending is read first: it
// may be stopped, and another run may have come further.
func (r *run) turn(ctx context.Context, id string) (more bool, _ error) {
	s, err := r.ledger.Sending(ctx, id)
	if err != nil || !r.hasWork(&s) {
		return false, err
	}
	read := r.now()
	list, err := r.ledger.SendingPage(ctx, &s, pageSize)
	if err != nil {
		return false, err
	}
	p := &page{run: r, s: s, read: read, asking: make(chan struct{}, 1), halted: maps.Clone(s.Halted)}
	if s.SaleID == "" && s.After == "" { // a round begins; until now Left is told of the one before
		p.s.Left = 0
	}
	if list.Unreadable > 0 {
		p.failed = sale.AsInternal(fmt.Errorf("%d refunds of the page cannot be read", list.Unreadable))
	}
	p.work(ctx, list.Refunds)
	next, passed := p.progress()
	switch {
	case !passed:
	case !list.IsLast:
		next.SaleID, next.After = list.SaleID, list.After
	case next.Left == 0:
		next.EndedAt = r.now()
	default:
		next.NextAt = r.now().Add(min(time.Hour, sale.LeaseFor<<min(next.Round, 3)))
		next.Round, next.SaleID, next.After = next.Round+1, "", ""
	}
	isSaved := true // or another run goes on with it, or another release, whose progress is none for this one
	if !reflect.DeepEqual(next, s) {
		isSaved, err = r.ledger.SaveSending(ctx, s, next)
	}
	return passed && isSaved && err == nil, cmp.Or(err, p.failed)
}

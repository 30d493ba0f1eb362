package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda/messages"

	publishhandler "flashsale/functions/publish/handler"
	"flashsale/infra/kit/dynamotest"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger/maintenance"
)

// Reply is the part of an HTTP answer that the checks use.
type Reply struct {
	Status int
	Body   string
	Code   string // of a refusal
	Claim  ClaimBody
	SaleID string // that of the claim, or alone that of the order in another sale of the group
	// Remaining are the units that a sale's page tells of, Left those of a refusal.
	Remaining, Left int64
	payment         PaymentAnswer // of a webhook
}

// ClaimBody is a claim in an answer.
type ClaimBody struct {
	ClaimID    string `json:"claimId"`
	State      string `json:"state"`
	AcceptedAt string `json:"acceptedAt"`
	OrderID    string `json:"orderId"`
	PayBy      string `json:"payBy"`
	Units      int64  `json:"units"` // 0 is one
}

// Released reports whether the claim's unit goes to somebody else.
func (c ClaimBody) Released() bool { return c.State == "EXPIRED" || c.State == "CANCELLED" }

// Ask sends one HTTP request to the environment. ok is false if the environment died.
func (e *Environment) Ask(sale string, request httpapi.Request) (r Reply, ok bool) {
	request.Path.SaleID = sale
	var response httpapi.Response
	var err error
	if e.Invoke(func(ctx context.Context) { response, err = e.http(ctx, request) }) {
		return Reply{}, false
	}
	if err != nil {
		return Reply{Code: fmt.Sprintf("invocation failed: %v", err)}, true
	}
	var b struct {
		ClaimBody
		PaymentAnswer
		Code      string    `json:"code"`
		SaleID    string    `json:"saleId"`
		Claim     ClaimBody `json:"claim"`
		Remaining int64     `json:"remaining"`
		Left      int64     `json:"left"`
	}
	_ = json.Unmarshal([]byte(response.Body), &b) // other bodies leave it empty
	r = Reply{
		Status: response.StatusCode, Body: response.Body, Code: b.Code, Claim: b.ClaimBody, SaleID: b.SaleID, Remaining: b.Remaining, Left: b.Left, payment: b.PaymentAnswer,
	}
	if r.Claim.ClaimID == "" {
		r.Claim = b.Claim
	}
	return r, true
}

// As sends a user's request of a route, "" for nobody's.
func (e *Environment) As(user, sale, route string) (Reply, bool) {
	return e.Ask(sale, httpapi.Request{RouteKey: route, Sub: user})
}

// Refuses reports whether the answer means that this request got no unit.
func (r Reply) Refuses() bool {
	switch r.Code {
	case "sold-out", "not-enough", "already-ordered", "sale-closed", "recalled", "sale-paused", "sale-not-open", "sale-not-found", "not-your-turn", "turn-over":
		return true
	}
	return false
}

// Buy is POST /sales/{saleId}/orders of so many units, or without a body for 0.
func (e *Environment) Buy(sale, user, key string, units int64) (Reply, bool) {
	e.ClaimIDs, e.lookedForClaim = nil, false
	headers := map[string]string{"content-type": "application/json"}
	if key != "" {
		headers["idempotency-key"] = key
	}
	body := ""
	if units > 0 {
		body = fmt.Sprintf(`{"units":%d}`, units)
	}
	return e.Ask(sale, httpapi.Request{RouteKey: "POST /sales/{saleId}/orders", Sub: user, Headers: headers, Body: body})
}

// MustFindClaim reports whether the last purchase had to find a claim of its user before it was
// refused as sold out or closed: always with a key. Without one the claim is only looked
// for if no read failed in the second before.
func (e *Environment) MustFindClaim(key string) bool {
	return key != "" || e.lookedForClaim || time.Since(e.readFailed) >= time.Second
}

// Deliver delivers a batch to the environment and returns the handles of the messages
// to delete: all but the failures it reports, none if it failed or died.
func (e *Environment) Deliver(batch []events.SQSMessage) (done []string) {
	var answer events.SQSEventResponse
	var err error
	died := e.Invoke(func(ctx context.Context) { answer, err = e.batch(ctx, events.SQSEvent{Records: batch}) })
	if died || err != nil {
		return nil
	}
	failed := map[string]bool{}
	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	for _, m := range batch {
		if !failed[m.MessageId] {
			done = append(done, m.ReceiptHandle)
		}
	}
	return done
}

// Command sends a raw event and decodes the answer into out. The error is the
// function's, or ErrDied.
func (e *Environment) Command(event string, out any) (err error) {
	var answer any
	if e.Invoke(func(ctx context.Context) { answer, err = e.raw(ctx, json.RawMessage(event)) }) {
		return ErrDied
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return json.Unmarshal(text, out)
}

// Replay replays what is known of the time that a restore has taken from the table.
func (e *Environment) Replay(lost maintenance.Lost) (done maintenance.Replayed, err error) {
	if e.Invoke(func(ctx context.Context) { done, err = e.replay(ctx, lost) }) {
		return done, ErrDied
	}
	return done, err
}

// Publish delivers a batch of the stream's records, and returns how many of them need not come again.
func (e *Environment) Publish(batch []dynamotest.Record) (done int, err error) {
	records := make([]json.RawMessage, len(batch))
	for i, one := range batch {
		records[i] = one.JSON()
	}
	var answer events.DynamoDBEventResponse
	if e.Invoke(func(ctx context.Context) { answer, err = e.publish(ctx, publishhandler.Batch{Records: records}) }) || err != nil {
		return 0, err
	}
	done = len(batch)
	for _, f := range answer.BatchItemFailures { // an identifier that Lambda does not know fails the whole batch
		at := slices.IndexFunc(batch, func(r dynamotest.Record) bool { return r.SequenceNumber() == f.ItemIdentifier })
		done = min(done, max(0, at))
	}
	return done, nil
}

// ErrDied: the environment died; its progress is unknown.
var ErrDied = errors.New("the environment died")

// CodeOf returns the code of a function's error.
func CodeOf(err error) string {
	told, _ := errors.AsType[messages.InvokeResponse_Error](err)
	return told.Type
}

package harness

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/functions/refund/provider"
	"flashsale/infra/kit/client/webhook"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// Sendable are the providers that can be asked to refund.
var Sendable = []string{webhook.Stripe, webhook.WeChatPay, webhook.Alipay, webhook.Adyen}

// account is the bank's of a provider, as one environment calls it. It is a provider.Provider.
type account struct {
	e    *Environment
	name string
}

func (e *Environment) accounts(context.Context) (map[string]provider.Provider, map[string]error, error) {
	all := map[string]provider.Provider{}
	for _, name := range Sendable {
		all[name] = account{e, name}
	}
	return all, nil, nil
}

func (a account) Account() string { return "the account" }

func (a account) Send(ctx context.Context, r provider.Request) provider.Answer {
	return a.call(ctx, "Refund", r, a.e.world.Bank.Send)
}

func (a account) Ask(ctx context.Context, r provider.Request) provider.Answer {
	return a.call(ctx, "Ask", r, a.e.world.Bank.Ask)
}

func (a account) call(ctx context.Context, op string, r provider.Request, do func(string, provider.Request) provider.Answer) provider.Answer {
	p := Point{Op: op, keys: []string{a.name + "#" + r.Reference}}
	answer, _ := Intercept(ctx, a.e, p, func() (provider.Answer, error) { return do(a.name, r), nil })
	return answer // after an error it is unknown
}

// Operate runs what an operator asks of the ledger.
func (e *Environment) Operate(do func(context.Context, *ledger.Ledger) error) (err error) {
	if e.Invoke(func(ctx context.Context) { err = do(ctx, e.ledger) }) {
		return ErrDied
	}
	return err
}

// ReportDispute reports what became of a dispute of a payment, like Deliver. Stripe has other words for it.
func (p Payment) ReportDispute(state string, send func(httpapi.Request) (Reply, bool), wait func(time.Duration)) error {
	data := map[string]any{"paymentId": p.Reference, "disputeId": "dp_" + p.Reference, "amount": p.Amount, "currency": "CNY"}
	event := map[string]any{"type": "dispute." + state, "timestamp": Stamp(time.Now()), "data": data}
	_, err := deliver("the dispute of "+p.ID(), p.signed(func(webhook.Payment) ([]byte, error) { return json.Marshal(event) }), send, wait)
	return err
}

// Sent is what a refund due says of what was sent, and of the sending that did so last.
type Sent struct {
	State     sale.SentState
	By        string
	At, Lease int64 // in Unix milliseconds
}

// SentOf reads it.
func SentOf(refund map[string]types.AttributeValue) (s Sent) {
	_ = json.Unmarshal([]byte(Text(refund["sent"])), &s) // "" is nothing
	return s
}

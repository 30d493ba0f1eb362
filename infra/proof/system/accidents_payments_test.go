package system

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
	"flashsale/shared/ledger"
)

// payWithin is the least that a sale may leave its buyers.
const payWithin = time.Minute

// openUnpaid creates a sale that asks for payment.
func (d drill) openUnpaid(saleID string, within time.Duration) {
	d.t.Helper()
	d.create(client.Sale{
		ID: saleID, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour), Stock: 10, Shards: 2, PayWithin: within,
	})
}

// pay plays Stripe, which reports the payment pi_1 of an order of refund-sale, the one that the
// runbook names, and payments of their own of other sales: a payment has one fate.
func (d drill) pay(saleID, orderID string, want int) {
	d.t.Helper()
	reference := "pi_1"
	if saleID != "refund-sale" {
		reference += "-" + saleID
	}
	p := webhook.Payment{SaleID: saleID, OrderID: orderID, PaymentID: reference, Amount: client.Price, Currency: client.Currency}
	r, err := p.Request(d.t.Context(), d.API, webhook.Stripe, webhook.LocalSecrets[webhook.Stripe], time.Now())
	if err != nil {
		d.t.Fatal(err)
	}
	if a, err := d.client.Do(r); err != nil || a.Status != want {
		d.t.Fatalf("the provider is told %v (%v), want %d", a, err, want)
	}
}

func secretIsAnothers(d drill) {
	const saleID = "refusing-sale"
	d.stop()
	d.start("-parameter", "StripeKeysArn=arn:aws:secretsmanager:us-east-1:000000000000:secret:"+webhook.StandardWebhooks)
	d.openUnpaid(saleID, time.Hour)
	order := d.order(saleID, "ada")
	i := d.meet("the signing secret is another endpoint's", saleID)
	d.pay(saleID, order, http.StatusBadRequest)
	i.see()
	d.stop()
	i.do(0)
	d.pay(saleID, order, http.StatusOK) // the provider repeats it
	i.then()
}

// schedule changes ReleaseFunction's schedule in the stack's own copy of the template.
func (d drill) schedule(properties string) {
	d.t.Helper()
	err := d.rewrite(func(text string) (string, error) {
		const releasing, own = "\n        Releasing:\n", "            ScheduleExpression: rate(1 minute)\n"
		before, schedule, found := strings.Cut(text, releasing)
		if head, _, ok := strings.Cut(schedule, own); !found || !ok || strings.Count(head, "\n") > 4 {
			return "", errors.New("the template's schedule of ReleaseFunction is not found")
		}
		return before + releasing + strings.Replace(schedule, own, "            "+properties+"\n", 1), nil
	})
	if err != nil {
		d.t.Fatal(err)
	}
}

// releaseIsSilent ends when the schedule's own tick releases what is due; nothing else calls the
// function. With -slow it is the template's tick, and else one a few seconds ahead, which the
// stack makes up for if it starts later.
func releaseIsSilent(d drill) {
	const saleID = "silent-sale"
	d.stop()
	d.schedule("ScheduleExpression: rate(1 minute)\n            State: DISABLED")
	d.start()
	d.openUnpaid(saleID, payWithin)
	past := d.ledgerAgo(2 * payWithin)
	for _, user := range []string{"ada", "ben"} {
		p, err := past.Purchase(d.t.Context(), ledger.Request{SaleID: saleID, User: user})
		if err != nil {
			d.t.Fatal(err)
		}
		if c := past.Confirm(d.t.Context(), []ledger.ClaimRef{{SaleID: saleID, User: user, ClaimID: p.Claim.ID}})[0]; c.Err != nil {
			d.t.Fatal(c.Err)
		}
	}
	i := d.meet("unpaid units do not come back, because ReleaseFunction does not run", saleID)
	i.see()
	d.stop()
	on := "ScheduleExpression: rate(1 minute)"
	if !*slow {
		on = "ScheduleExpression: at(" + time.Now().UTC().Add(5*time.Second).Format("2006-01-02T15:04:05") + ")"
	}
	d.schedule(on)
	i.do(0)
	i.then()
	d.schedule("ScheduleExpression: rate(1 minute)") // from the next start on
}

func paidTooLate(d drill) {
	const saleID = "refund-sale"
	d.openUnpaid(saleID, time.Hour)
	order := d.order(saleID, "ada")
	if a, err := d.client.Cancel(d.t.Context(), saleID, d.token("ada")); err != nil || a.Status != http.StatusOK {
		d.t.Fatalf("%v, %v", a, err)
	}
	i := d.meet("an order was paid after its unit was released", saleID)
	d.pay(saleID, order, http.StatusOK)
	i.follow()
}

func paidAndNotDelivered(d drill) {
	const saleID = "undelivered-sale"
	d.openUnpaid(saleID, time.Hour)
	order := d.order(saleID, "alice")
	i := d.meet("a paid order must not be delivered: it is the wrong one, or its money went back at the provider", saleID)
	i.own("523415642750058497", order)
	d.pay(saleID, order, http.StatusOK)
	i.follow()
}

// paidAndNotReported: the runbook names an order, and this one has another id and price.
func paidAndNotReported(d drill) {
	const saleID = "unreported-sale"
	d.openUnpaid(saleID, time.Hour)
	i := d.meet("paid, but not shown: the provider has the payment, and its webhook does not come", saleID)
	i.own("523415642750058497", d.order(saleID, "alice"), "149900", strconv.Itoa(client.Price), "CNY", client.Currency)
	i.follow()
}

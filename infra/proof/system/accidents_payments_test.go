package system

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"flashsale/infra/kit/client"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/kit/wait"
	"flashsale/shared/ledger"
)

// payWithin is the least that a sale may leave its buyers.
const payWithin = time.Minute

// openUnpaid creates a sale that asks for payment.
func (d *drill) openUnpaid(t *testing.T, saleID string, within time.Duration) {
	t.Helper()
	d.create(t, client.Sale{
		ID: saleID, OpensAt: time.Now().Add(-time.Hour), ClosesAt: time.Now().Add(time.Hour), Stock: 10, Shards: 2, PayWithin: within,
	})
}

// order waits for the id of an order.
func (d *drill) order(t *testing.T, saleID, user string) (orderID string) {
	t.Helper()
	wait.Until(t, patience, "the order has its id", func() bool {
		orderID = d.books(t, saleID).Claim(user).OrderID
		return orderID != "" && len(d.books(t, saleID).Unfinished()) == 0
	})
	return orderID
}

// pay plays Stripe, which reports the payment pi_1 of an order of refund-sale, the one that the
// runbook names, and payments of their own of other sales: a payment has one fate.
func (d *drill) pay(t *testing.T, saleID, orderID string) client.Answer {
	t.Helper()
	reference := "pi_1"
	if saleID != "refund-sale" {
		reference += "-" + saleID
	}
	p := webhook.Payment{SaleID: saleID, OrderID: orderID, PaymentID: reference, Amount: client.Price, Currency: client.Currency}
	r, err := p.Request(t.Context(), d.API, webhook.Stripe, webhook.LocalSecrets[webhook.Stripe], time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a, err := d.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// rings holds what the functions have logged since then against the alarm's threshold.
func (d *drill) rings(t *testing.T, alarm string, since int) bool {
	t.Helper()
	text, err := os.ReadFile("../../alarms.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Resources map[string]struct {
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	var a struct {
		MetricName string  `yaml:"MetricName"`
		Statistic  string  `yaml:"Statistic"`
		Operator   string  `yaml:"ComparisonOperator"`
		Threshold  float64 `yaml:"Threshold"`
		Dimensions []struct {
			Name  string    `yaml:"Name"`
			Value yaml.Node `yaml:"Value"` // a !Ref has a tag of its own
		} `yaml:"Dimensions"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	properties := file.Resources[alarm].Properties
	if err := properties.Decode(&a); err != nil {
		t.Fatal(err)
	}
	figure := 0.0
	for line := range bytes.Lines(d.log(t)[since:]) {
		function, text, _ := bytes.Cut(line, []byte(" | "))
		fields := map[string]any{}
		if json.Unmarshal(text, &fields) != nil {
			continue
		}
		value, is := fields[a.MetricName].(float64)
		if a.MetricName == "webhooksRefused" { // counted in the access log, which the local stack does not write; PayFunction counts its answers 400
			value, is = fields["payments"].(float64)
			is = is && (fields["result"] == "invalid-request" || fields["result"] == "unverified")
		}
		for _, dimension := range a.Dimensions {
			switch dimension.Name {
			case "stack":
			case "FunctionName": // a metric of Lambda: an invocation ends with the service's own line
				value, is = 1, string(function) == dimension.Value.Value && fields["message"] == fields["service"]
			default:
				is = is && fields[dimension.Name] == dimension.Value.Value
			}
		}
		switch {
		case is && a.Statistic == "Sum":
			figure += value
		case is && a.Statistic == "Maximum":
			figure = max(figure, value)
		}
	}
	switch a.Operator {
	case "GreaterThanOrEqualToThreshold":
		return figure >= a.Threshold
	case "LessThanThreshold":
		return figure < a.Threshold
	}
	t.Fatalf("%s compares by %q", alarm, a.Operator)
	return false
}

func (d *drill) mustRing(t *testing.T, alarm string, since int, want bool) {
	t.Helper()
	if got := d.rings(t, alarm, since); got != want {
		t.Errorf("%s rings: %t", alarm, got)
	}
}

func secretIsAnothers(t *testing.T, d *drill) {
	const saleID, alarm = "refusing-sale", "WebhooksRefusedAlarm"
	d.stop(t)
	d.start(t, "-parameter", "StripeKeysArn=arn:aws:secretsmanager:us-east-1:000000000000:secret:"+webhook.StandardWebhooks)
	d.openUnpaid(t, saleID, time.Hour)
	d.sell(t, saleID, "ada")
	order := d.order(t, saleID, "ada")
	i := d.meet(t, "the signing secret is another endpoint's", saleID)
	for range 5 {
		if a := d.pay(t, saleID, order); a.Status != http.StatusBadRequest {
			t.Errorf("the provider is told %v", a)
		}
	}
	i.see()
	d.mustRing(t, alarm, i.mark, true)
	d.stop(t)
	since := len(d.log(t))
	i.do(0)
	if a := d.pay(t, saleID, order); a.Status != http.StatusOK {
		t.Fatalf("the provider, which repeats it, is told %v", a)
	}
	i.then()
	d.mustRing(t, alarm, since, false)
}

// schedule changes ReleaseFunction's schedule in the stack's own copy of the template.
func (d *drill) schedule(t *testing.T, properties string) {
	t.Helper()
	err := d.rewrite(func(text string) (string, error) {
		const releasing, own = "\n        Releasing:\n", "            ScheduleExpression: rate(1 minute)\n"
		before, schedule, found := strings.Cut(text, releasing)
		if head, _, ok := strings.Cut(schedule, own); !found || !ok || strings.Count(head, "\n") > 4 {
			return "", errors.New("the template's schedule of ReleaseFunction is not found")
		}
		return before + releasing + strings.Replace(schedule, own, "            "+properties+"\n", 1), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// releaseIsSilent ends when the schedule's own tick releases what is due; nothing else calls the
// function. With -slow it is the template's tick, and else one a few seconds ahead, which the
// stack makes up for if it starts later.
func releaseIsSilent(t *testing.T, d *drill) {
	const saleID, alarm = "silent-sale", "ReleaseSilentAlarm"
	d.stop(t)
	d.schedule(t, "ScheduleExpression: rate(1 minute)\n            State: DISABLED")
	d.start(t)
	d.openUnpaid(t, saleID, payWithin)
	past := d.ledgerAgo(2 * payWithin)
	for _, user := range []string{"ada", "ben"} {
		p, err := past.Purchase(t.Context(), ledger.Request{SaleID: saleID, User: user})
		if err != nil {
			t.Fatal(err)
		}
		if c := past.Confirm(t.Context(), []ledger.ClaimRef{{SaleID: saleID, User: user, ClaimID: p.Claim.ID}})[0]; c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	i := d.meet(t, "unpaid units do not come back, because ReleaseFunction does not run", saleID)
	i.see()
	d.mustRing(t, alarm, i.mark, true)
	d.stop(t)
	on := "ScheduleExpression: rate(1 minute)"
	if !*slow {
		on = "ScheduleExpression: at(" + time.Now().UTC().Add(5*time.Second).Format("2006-01-02T15:04:05") + ")"
	}
	d.schedule(t, on)
	since := len(d.log(t))
	i.do(0)
	i.then()
	d.mustRing(t, alarm, since, false)
	d.schedule(t, "ScheduleExpression: rate(1 minute)") // from the next start on
	if b := d.books(t, saleID); b.Stock() != 10 || b.Claim("ada").State() != "EXPIRED" {
		t.Errorf("%d units are left, and ada's order is %s", b.Stock(), b.Claim("ada").State())
	}
}

func paidTooLate(t *testing.T, d *drill) {
	const saleID, alarm = "refund-sale", "RefundsDueAlarm"
	d.openUnpaid(t, saleID, time.Hour)
	d.sell(t, saleID, "ada")
	order := d.order(t, saleID, "ada")
	token, err := d.client.Token(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if a, err := d.client.Cancel(t.Context(), saleID, token); err != nil || a.Status != http.StatusOK {
		t.Fatalf("%v, %v", a, err)
	}
	audited := func(since int) bool {
		wait.Until(t, patience, "reconcile counts the refunds", func() bool {
			return d.client.Ask(t.Context(), client.ReconcileFunction, map[string]string{"saleId": saleID}, nil) == nil
		})
		return d.rings(t, alarm, since)
	}
	i := d.meet(t, "an order was paid after its unit was released", saleID)
	if a := d.pay(t, saleID, order); a.Status != http.StatusOK {
		t.Fatalf("the provider is told %v", a)
	}
	i.see()
	if !audited(i.mark) {
		t.Errorf("%s does not ring", alarm)
	}
	since := len(d.log(t))
	i.do(0)
	i.then()
	if audited(since) {
		t.Errorf("%s still rings", alarm)
	}
}

func paidAndNotDelivered(t *testing.T, d *drill) {
	const saleID = "undelivered-sale"
	d.openUnpaid(t, saleID, time.Hour)
	d.sell(t, saleID, "alice")
	order := d.order(t, saleID, "alice")
	i := d.meet(t, "a paid order must not be delivered: it is the wrong one, or its money went back at the provider", saleID)
	i.own("523415642750058497", order)
	if a := d.pay(t, saleID, order); a.Status != http.StatusOK {
		t.Fatalf("the provider is told %v", a)
	}
	i.see()
	i.do(0)
	i.then()
}

// paidAndNotReported: the runbook names an order, and this one has another id and price.
func paidAndNotReported(t *testing.T, d *drill) {
	const saleID = "unreported-sale"
	d.openUnpaid(t, saleID, time.Hour)
	d.sell(t, saleID, "alice")
	i := d.meet(t, "paid, but not shown: the provider has the payment, and its webhook does not come", saleID)
	i.own("523415642750058497", d.order(t, saleID, "alice"), "149900", strconv.Itoa(client.Price), "CNY", client.Currency)
	i.see()
	for n := range i.row.do {
		i.do(n)
	}
	i.then()
}

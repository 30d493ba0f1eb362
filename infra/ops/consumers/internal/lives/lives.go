// Package lives has the lives of an order, as events, for the tests of consumers.
package lives

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/eventbus"
	"flashsale/shared/sale"
)

// Noon is when the order was confirmed.
var Noon = time.Date(2026, 11, 11, 12, 0, 0, 0, time.UTC)

const Order = 523415642750058497

// Life is what is published of an order, and how it then stands.
type Life struct {
	Events []sale.Event
	State  string
	User   string
	// Payment is of the event that decides, and Refunds are how many other payments go back.
	Payment string
	Since   time.Time
	Refunds int
	// Held is why the warehouse does not deliver it.
	Held string
}

func All() map[string]Life {
	all := map[string]Life{
		"no payment is asked for":           life("CONFIRMED"),
		"paid":                              life("PAID", paid()),
		"expired":                           life("EXPIRED", released(sale.Expired, sale.ByExpiry)),
		"cancelled":                         life("CANCELLED", released(sale.Cancelled, sale.ByBuyer)),
		"recalled before it was paid":       life("CANCELLED", released(sale.Cancelled, sale.ByOperator)),
		"paid and recalled":                 life("RECALLED", paid(), due("pi_1", sale.RefundRecalled)),
		"paid and cancelled":                life("CANCELLED", paid(), cancelled(), due("pi_1", sale.RefundCancelled)),
		"paid twice":                        life("PAID", paid(), due("pi_2", sale.RefundOtherPayment)),
		"paid twice and recalled":           life("RECALLED", paid(), due("pi_2", sale.RefundOtherPayment), due("pi_1", sale.RefundRecalled)),
		"paid too late":                     life("EXPIRED", released(sale.Expired, sale.ByExpiry), due("pi_1", sale.RefundReleased)),
		"paid wrongly, and then as asked":   life("PAID", due("pi_2", sale.RefundAmount), paid()),
		"a refund for a reason of tomorrow": life("PAID", paid(), due("pi_2", "chargeback")),
	}
	for name, money := range map[string]struct {
		held   string
		events []sale.Event
	}{
		"paid back in parts":               {"back", []sale.Event{refunded("pi_1", "re_1", 40000), refunded("pi_1", "re_2", 49900)}},
		"paid back, as the total says":     {"back", []sale.Event{refunded("pi_1", "", 40000), refunded("pi_1", "", 89900)}},
		"paid back, whatever was paid":     {"back", []sale.Event{{Type: sale.EventRefundDone, ID: "RefundDone:stripe#pi_1:c", Payment: "stripe#pi_1", RefundID: "c"}}},
		"paid back, which failed":          {"back", []sale.Event{refunded("pi_1", "re_1", 89900), failed("pi_1", "re_1")}},
		"a refund that has failed":         {"refund-failed", []sale.Event{failed("pi_1", "re_1")}},
		"a part is back":                   {"", []sale.Event{refunded("pi_1", "re_1", 40000), refunded("pi_1", "", 40000)}},
		"another currency is back":         {"", []sale.Event{{Type: sale.EventRefundDone, ID: "RefundDone:stripe#pi_1:u", Payment: "stripe#pi_1", RefundID: "u", Amount: 89900, Currency: "USD"}}},
		"another payment is back":          {"", []sale.Event{refunded("pi_11", "re_1", 89900), disputed("pi_1", "d", sale.DisputeAsked)}},
		"disputed, and another one is won": {"disputed", []sale.Event{disputed("pi_1", "d", sale.DisputeOpen), disputed("pi_1", "e", sale.DisputeWon)}},
		"disputed and won":                 {"", []sale.Event{disputed("pi_1", "d", sale.DisputeOpen), disputed("pi_1", "d", sale.DisputeWon)}},
		"disputed, lost and won":           {"disputed", []sale.Event{disputed("pi_1", "d", sale.DisputeLost), disputed("pi_1", "d", sale.DisputeWon)}},
	} {
		one := life("PAID", append([]sale.Event{paid()}, money.events...)...)
		one.Held = money.held
		all[name] = one
	}
	asks := true
	unpaid := life("CONFIRMED")
	unpaid.Held = "unpaid"
	unpaid.Events[0].AsksForPayment, unpaid.Events[0].PayBy = &asks, Noon.Add(30*time.Minute)
	unpaid.Events[0].Amount, unpaid.Events[0].Currency = 89900, "CNY"
	old := life("CONFIRMED")
	old.Held, old.Events[0].AsksForPayment = "may-be-unpaid", nil
	all["not paid yet"], all["of an earlier version"] = unpaid, old
	pair := life("RECALLED", paid(), due("pi_1", sale.RefundRecalled))
	for i := range pair.Events[:2] { // a refund does not say how many units its order has
		pair.Events[i].Units = 2
	}
	all["two units, paid and recalled"] = pair
	twice := life("RECALLED", due("pi_2", sale.RefundRecalled), due("pi_1", sale.RefundRecalled))
	twice.Refunds = 1
	all["recalled and then paid twice"] = twice
	for _, name := range []string{"paid", "expired"} { // every event again, as a republication after the erasure has it
		erased := all[name]
		erased.Events, erased.User = slices.Clone(erased.Events), "erased-7HQ2"
		for _, e := range erased.Events {
			e.User = erased.User
			erased.Events = append(erased.Events, e)
		}
		all[name+" and erased"] = erased
	}
	return all
}

// Others are events of which no order has its state.
func Others() []sale.Event {
	return []sale.Event{
		{Type: sale.EventSoldOut, ID: "SaleSoldOut:moutai:1", SaleID: "moutai", OccurredAt: Noon},
		{Type: sale.EventDrained, ID: "SaleDrained:moutai:1", SaleID: "moutai", OccurredAt: Noon},
		{Type: sale.EventRefundDue, ID: "RefundDue::stripe#pi_9", OrderID: 9, Payment: "stripe#pi_9", Reason: sale.RefundUnknownOrder, Amount: 5, Currency: "CNY", OccurredAt: Noon},
	}
}

func life(state string, after ...sale.Event) Life {
	l := Life{State: state, User: "=1+1;alice"}
	confirmed := sale.Event{Type: sale.EventConfirmed, ID: fmt.Sprint("OrderConfirmed:", Order), State: sale.Confirmed, AsksForPayment: new(bool)}
	for i, e := range append([]sale.Event{confirmed}, after...) {
		e.SaleID, e.OrderID, e.ClaimID, e.User, e.Labels = "moutai", Order, "C", l.User, "sku=0042"
		e.OccurredAt = Noon.Add(time.Duration(i) * time.Minute)
		if e.RefundID+e.DisputeID != "" || e.Type == sale.EventRefundDone {
			e.ClaimID, e.User, e.Labels = "", "", ""
			l.Events = append(l.Events, e)
			continue
		}
		l.Events = append(l.Events, e)
		switch {
		case e.Reason == sale.RefundCancelled: // OrderCancelled tells of it
		case e.Type == sale.EventRefundDue && e.Reason != sale.RefundRecalled:
			l.Refunds++
		default:
			l.Payment, l.Since = e.Payment, e.OccurredAt
		}
	}
	return l
}

func paid() sale.Event {
	return sale.Event{Type: sale.EventPaid, ID: fmt.Sprint("OrderPaid:", Order), State: sale.Paid, Payment: "stripe#pi_1", Amount: 89900, Currency: "CNY"}
}

func released(state sale.ClaimState, by sale.ReleasedBy) sale.Event {
	return sale.Event{Type: sale.EventReleased, ID: fmt.Sprint("OrderReleased:", Order), State: state, ReleasedBy: by}
}

func cancelled() sale.Event {
	e := paid()
	e.Type, e.ID, e.State, e.Unit = sale.EventCancelled, fmt.Sprint("OrderCancelled:", Order), sale.Cancelled, sale.UnitBack
	return e
}

func due(payment string, reason sale.RefundReason) sale.Event {
	return sale.Event{Type: sale.EventRefundDue, ID: "RefundDue:moutai:stripe#" + payment, Payment: "stripe#" + payment, Reason: reason, Amount: 89900, Currency: "CNY"}
}

func refunded(payment, id string, amount int64) sale.Event {
	return sale.Event{
		Type: sale.EventRefundDone, ID: fmt.Sprint("RefundDone:stripe#", payment, ":", cmp.Or(id, fmt.Sprint("total-", amount))), Payment: "stripe#" + payment,
		RefundID: id, Amount: amount, Currency: "CNY",
	}
}

func failed(payment, id string) sale.Event {
	e := refunded(payment, id, 89900)
	e.Type, e.ID = sale.EventRefundFailed, "RefundFailed:stripe#"+payment+":"+id
	return e
}

func disputed(payment, id string, is sale.DisputeState) sale.Event {
	return sale.Event{Type: sale.EventDisputed, ID: fmt.Sprintf("PaymentDisputed:stripe#%s:%s:%s", payment, id, is), Payment: "stripe#" + payment, DisputeID: id, Dispute: is}
}

// Delivered is the event as a rule's target gets it.
func Delivered(e sale.Event) events.EventBridgeEvent {
	return events.EventBridgeEvent{ID: "1", Source: eventbus.Source, DetailType: string(e.Type), Detail: eventbus.Detail(e)}
}

// InEveryOrder returns each order in which the events can come, and after it each in which they can come again.
func InEveryOrder(all []sale.Event) (found [][]sale.Event) {
	for _, first := range orders(all) {
		for _, again := range orders(all) {
			found = append(found, slices.Concat(first, again))
		}
	}
	return found
}

func orders(all []sale.Event) (found [][]sale.Event) {
	if len(all) == 0 {
		return [][]sale.Event{nil}
	}
	for i, e := range all {
		for _, rest := range orders(slices.Concat(all[:i], all[i+1:])) {
			found = append(found, append([]sale.Event{e}, rest...))
		}
	}
	return found
}

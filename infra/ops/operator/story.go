package operator

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"flashsale/infra/kit/client"
	"flashsale/shared/sale"
)

// The words of a story, which the operators' API tells by kinds. $name is a field of the line, or else of the story.
var storyLines = map[string]string{
	"no-claim":         "$user has no claim in sale $saleId (ids are case-sensitive; the id is the token's sub)",
	"window":           "$saleId sells from $opensAt to $closesAt and is $phase now$note",
	"archived":         "the sale is archived, or is being archived: digest $digest",
	"ordered-in-group": "$user has ordered in sale $saleId of the group $group",
	"units-added":      `$units units were added ($changeId): a "sold out" before that was correct`,
	"units-return":     `units of orders that are not paid in time, or are cancelled, are sold again: a "sold out" before that was correct`,
	"accepted":         "accepted: claim $claimId, units: $units, sold by shard $shard",
	"resent":           "its order message was sent again (latest resend)",
	"pending":          "pending for $seconds s",
	"confirmed":        "confirmed: order $orderId",
	"order-missing":    "its order item is missing: ReconcileFunction sends its message again",
	"recalled":         "the sale was recalled$note",
	"paid":             "paid: $payment",
	"paid-back":        "its provider has paid the payment back, and the order stands: cancel it, unless it is to be delivered",
	"released":         "released by $by",
	"cancelled":        "cancelled by $by$note; its unit: $unit",
	"pay-by":           "to be paid by then; a payment counts as long as the order is not released",
	"refund-due":       "a refund is due: $payment, $amount, because: $reason",
	"refunded":         "refunded: $payment, $amount",
	"refund-part":      "$back of $payment, $amount, is back",
	"refund-failed":    "a refund of $payment, $amount, has failed: the shop has the money, so pay it back in another way, or deliver",
	"refund-stuck":     "a refund of $payment, $amount, is stuck: the provider waits for you, so see there",
	"sent-unknown":     "the provider was asked to give back $payment, $amount, and whether it does is unknown: pay nothing back meanwhile",
	"sent-accepted":    "the provider was asked to give back $payment, $amount, and has accepted that",
	"sent-refused":     "the provider has refused to give back $payment, $amount$note",
	"disputed":         "$payment, $amount, is disputed: answer it at the provider, deliver nothing, and pay nothing back meanwhile",
	"dispute-lost":     "the dispute of $payment, $amount, is lost: the buyer has the money, so pay nothing back",
}

// buyerParts are the parts of what support may tell the buyer.
var buyerParts = map[string]string{
	"no-order":         "no order was accepted under this account",
	"ordered-in-group": "there is one order for each customer in all of these sales, and yours is in $saleId",
	"pending":          "your order was accepted; its number will follow, and you need not order again",
	"recalled":         "the sale was recalled, and the goods will not come; ",
	"order":            "your order is $orderId",
	"expired":          "your order $orderId is expired, and what you ordered is not yours any more",
	"cancelled":        "your order $orderId is cancelled, and what you ordered is not yours any more",
	"paid":             ", and it is paid",
	"unpaid":           ", and it is not paid",
	"paid-back":        ", and its payment was paid back",
	"refund-due":       "; your payment of $amount ($payment) will be paid back",
	"refunded":         "; your payment of $amount ($payment) was paid back on $day",
	"refund-part":      "; $back of your payment of $amount ($payment) was paid back",
	"refund-failed":    "; paying back your payment of $amount ($payment) has not succeeded yet",
	"refund-stuck":     "; paying back your payment of $amount ($payment) has not succeeded yet",
	"disputed":         "; your payment of $amount ($payment) is disputed with your bank",
	"dispute-lost":     "; your payment of $amount ($payment) was given back to you by your bank after a dispute",
}

// story is the answer to what happened to a buyer's order, as JSON.
type story map[string]any

func readStory(answer json.RawMessage) (s story, err error) {
	d := json.NewDecoder(bytes.NewReader(answer))
	d.UseNumber()
	err = d.Decode(&s)
	if _, isOurs := s["forBuyer"].([]any); err == nil && !isOurs {
		err = fmt.Errorf("%s is of an older version, whose stories this command cannot read", client.OperateFunction)
	}
	return s, err
}

func (s story) lines(name string) (all []story) {
	some, _ := s[name].([]any)
	for _, one := range some {
		line, _ := one.(map[string]any)
		all = append(all, line)
	}
	return all
}

// field is a field as text, "" if there is none of that name.
func (s story) field(name string) string {
	if s[name] == nil {
		return ""
	}
	return fmt.Sprint(s[name])
}

// amount is the amount of a line, or of the order, or another one of the same currency.
func (s story) amount(name string) string {
	minor, _ := s[name].(json.Number)
	n, _ := minor.Int64()
	return money(n, s.field("currency"))
}

// line is the last line of a kind, nil if there is none.
func (s story) line(kind string) (last story) {
	for _, l := range s.lines("lines") {
		if l.field("kind") == kind {
			last = l
		}
	}
	return last
}

// say puts a line into words; one of a later version says its kind.
func (s story) say(words map[string]string, line story) string {
	text, known := words[line.field("kind")]
	if !known {
		return line.field("kind")
	}
	return os.Expand(text, func(name string) string {
		field := line.field(name)
		switch {
		case name == "amount", name == "back":
			return line.amount(name)
		case name == "day":
			day, _, _ := strings.Cut(line.field("at"), "T")
			return day
		case name == "note" && field != "":
			return ": " + field
		case field == "" && name != "note":
			return s.field(name)
		}
		return field
	})
}

// print writes a line for each event, and then what support may tell the buyer. The last line about
// a claim that is pending gets the reason.
func (s story) print(out io.Writer, whyPending func() string) {
	lines := s.lines("lines")
	for i, l := range lines {
		text := s.say(storyLines, l)
		if i == len(lines)-1 && s.field("state") == string(sale.Pending) {
			text += ": " + whyPending()
		}
		switch at := l.field("at"); {
		case at != "":
			text = at + "  " + text
		case s.field("claimId") != "":
			text = fmt.Sprintf("%-24s  %s", "now", text)
		}
		fmt.Fprintln(out, text)
	}
	var parts strings.Builder
	for _, l := range s.lines("forBuyer") {
		parts.WriteString(s.say(buyerParts, l))
	}
	fmt.Fprintf(out, "for the buyer: %s\n", &parts)
}

package table

import (
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// sent is JSON, because it is written and compared as a whole.
type sent struct {
	State   sale.SentState `json:"state,omitempty"`
	ID      string         `json:"id,omitempty"`
	Tries   int64          `json:"tries,omitempty"`
	At      int64          `json:"at,omitempty"` // instants are in Unix milliseconds
	Lease   int64          `json:"lease,omitempty"`
	By      string         `json:"by,omitempty"`
	Account string         `json:"account,omitempty"`
	Refund  string         `json:"refund,omitempty"`
	Code    string         `json:"code,omitempty"`
	Words   string         `json:"words,omitempty"`
}

func (r *Reader) sent() sale.Sent {
	s := parsed[sent](r, "sent")
	return sale.Sent{
		State: s.State, ID: s.ID, Tries: s.Tries, At: instant(s.At), Lease: instant(s.Lease), By: s.By, Account: s.Account,
		Refund: s.Refund, Code: s.Code, Words: s.Words,
	}
}

// UpdateRefund writes onto a refund due what follows from its account, as UpdateReturned does, and what is known of
// what was sent; if neither has changed.
func UpdateRefund(
	key Item, was, after sale.Returned, wasSent, afterSent sale.Sent, others Item,
) Update {
	attributes := With(Item{}, others)
	if afterSent != wasSent {
		attributes["sent"] = sentText(afterSent)
	}
	u := UpdateReturned(key, "attribute_exists(pk)", was, after, attributes)
	if wasSent == (sale.Sent{}) {
		u.If += " AND attribute_not_exists(#sent)"
	} else {
		u.If, u.Values[":wasSent"] = u.If+" AND #sent = :wasSent", sentText(wasSent)
	}
	return u
}

func sentText(s sale.Sent) types.AttributeValue {
	return jsonText(sent{
		State: s.State, ID: s.ID, Tries: s.Tries, At: millis(s.At), Lease: millis(s.Lease), By: s.By, Account: s.Account,
		Refund: s.Refund, Code: s.Code, Words: s.Words,
	})
}

// ForgetWords takes its provider's words out of what is known of a refund that was sent: they may name its buyer.
func ForgetWords(key Item, was sale.Sent) Update {
	after := was
	after.Words = ""
	return Update{
		Key: key, Expr: "SET #sent = :sent", If: "#sent = :wasSent",
		Values: Item{":sent": sentText(after), ":wasSent": sentText(was)},
	}
}

const sendingsPK = "SENDS"

// SendingKey returns the key of a sending. Their ids sort by the instant that they begin with.
func SendingKey(id string) Item { return Key(sendingsPK, id) }

// SendingItem is the item of a sending that begins.
func SendingItem(s sale.Sending) Item {
	it := With(SendingKey(s.ID), Item{
		"asOf": Millis(s.AsOf), "at": Millis(s.At), "count": N(s.Count), "sums": jsonText(s.Sums), "scope": jsonText(s.Scope),
		"actor": S(s.Actor),
	})
	if s.Verified {
		it["verified"] = Yes
	}
	if s.Note != "" {
		it["note"] = S(s.Note)
	}
	return it
}

// ReadSending reads the item of a sending.
func ReadSending(it Item) (sale.Sending, error) {
	r := Read(it)
	r.Text("scope") // without one it would be about everything
	return sale.Sending{
		ID: r.Text(SK), Scope: parsed[sale.SendingScope](&r, "scope"), AsOf: r.Time("asOf"), Count: r.Number("count"),
		Sums: parsed[map[string]int64](&r, "sums"), At: r.Time("at"),
		Author: sale.Author{
			Actor: r.Text("actor"), Verified: r.OptionalFlag("verified"), Note: r.OptionalText("note"),
		},
		SendingProgress: parsed[sale.SendingProgress](&r, "progress"), EndedAt: r.OptionalTime("endedAt"),
		StoppedAt: r.OptionalTime("stoppedAt"), StoppedBy: r.OptionalText("stoppedBy"),
	}, r.Err
}

// UpdateSending writes how far a sending has come, and whether it has ended, unless it was stopped or somebody else has
// written that.
func UpdateSending(id string, was, now sale.SendingProgress, endedAt time.Time) Update {
	u := Update{
		Key: SendingKey(id), Expr: "SET #progress = :progress", ReturnOld: true,
		If:     "attribute_exists(pk) AND attribute_not_exists(#stoppedAt)",
		Values: Item{":progress": jsonText(now)},
	}
	if reflect.ValueOf(was).IsZero() {
		u.If += " AND attribute_not_exists(#progress)"
	} else {
		u.If, u.Values[":read"] = u.If+" AND #progress = :read", jsonText(was)
	}
	if !endedAt.IsZero() {
		u.Expr, u.Values[":endedAt"] = u.Expr+", #endedAt = :endedAt", Millis(endedAt)
	}
	return u
}

// HasProgress reports whether the item of a sending says that.
func HasProgress(it Item, p sale.SendingProgress) bool {
	r := Read(it)
	return r.OptionalText("progress") == jsonText(p).(*types.AttributeValueMemberS).Value
}

// StopSending ends a sending that goes on.
func StopSending(id, actor string, now time.Time) Update {
	return Update{
		Key: SendingKey(id), Expr: "SET #stoppedAt = :now, #stoppedBy = :actor", ReturnOld: true,
		If:     "attribute_exists(pk) AND attribute_not_exists(#stoppedAt) AND attribute_not_exists(#endedAt)",
		Values: Item{":now": Millis(now), ":actor": S(actor)},
	}
}

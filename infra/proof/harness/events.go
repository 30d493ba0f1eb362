package harness

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/infra/kit/dynamotest"
)

// detail is an event as documented.
type detail struct {
	SchemaVersion int    `json:"schemaVersion"`
	ID            string `json:"id"`
	OccurredAt    string `json:"occurredAt"`
	SaleID        string `json:"saleId"`
	OrderID       string `json:"orderId"`
	ClaimID       string `json:"claimId"`
	User          string `json:"user"`
	State         string `json:"state"`
	Payment       string `json:"payment"`
	ReleasedBy    string `json:"releasedBy"`
	Reason        string `json:"reason"`
	Amount        int64  `json:"amount"`
	Currency      string `json:"currency"`
	ChangeID      string `json:"changeId"`
	Action        string `json:"action"`
	Actor         string `json:"actor"`
	Verified      bool   `json:"verified"`
	Note          string `json:"note"`
	Units         int64  `json:"units"`
	OpensAt       string `json:"opensAt"`
	ClosesAt      string `json:"closesAt"`
	Entrants      int64  `json:"entrants"`
	Roll          string `json:"roll"`
	Round         int64  `json:"round"`
	Labels        labels `json:"labels"`
}

// labels are a sale's, separated by commas as in its items. Events have a list.
type labels string

func (l *labels) UnmarshalJSON(text []byte) error {
	var all []string
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	*l = labels(strings.Join(all, ","))
	return nil
}

// kind is the event's type: what its id begins with.
func (d detail) kind() string {
	kind, _, _ := strings.Cut(d.ID, ":")
	return kind
}

// dueEvent is an event that must be published.
type dueEvent struct {
	detail detail
	since  time.Time
	// records mean it; most events have one. A sale that is drained again after a restock
	// has another.
	records []dynamotest.Record
	// repeated are the instants of the same change when it was repeated after a restore.
	repeated []string
}

// expected derives from one item, by the table's documentation alone, which events must
// have been published. The item changed at that instant.
func expected(it map[string]types.AttributeValue, changed time.Time) []detail {
	if it == nil {
		return nil
	}
	of := labels(Text(it["labels"]))
	pk, sk := Text(it["pk"]), Text(it["sk"])
	kind, rest, _ := strings.Cut(pk, "#")
	saleID, _, _ := strings.Cut(rest, "#")
	switch {
	case kind == "CLAIM" && it["orderId"] != nil:
		return expectedOfClaim(it, saleID, sk)
	case kind == "REFUND":
		amount, _ := Number(it["amount"])
		return []detail{{
			SchemaVersion: 1, ID: "RefundDue:" + rest + ":" + sk, OccurredAt: instant(it["at"]), SaleID: rest,
			OrderID: Text(it["orderId"]), User: Text(it["user"]), Payment: sk, Reason: Text(it["reason"]), Amount: amount, Currency: Text(it["currency"]),
			Labels: of,
		}}
	case kind == "SALE" && sk == "SALE":
		empty, _ := it["empty"].(*types.AttributeValueMemberNS)
		shards, _ := Number(it["shards"])
		if empty == nil || int64(len(empty.Value)) < shards {
			return nil
		}
		return []detail{{
			SchemaVersion: 1, ID: "SaleSoldOut:" + rest + ":" + Text(it["version"]),
			OccurredAt: Stamp(changed.Truncate(time.Second)), SaleID: rest, Labels: of,
		}}
	case kind == "CHANGES":
		return []detail{expectedOfChange(it, rest, strings.TrimLeft(sk, "0"), Text(it["id"]))}
	case strings.HasPrefix(sk, "SEED#") && it["action"] != nil:
		id := strings.TrimPrefix(sk, "SEED#")
		d := expectedOfChange(it, rest, "seed:"+id, id)
		if d.Units, _ = Number(it["units"]); d.Units < 0 {
			d.Units = -d.Units
		}
		return []detail{d}
	case kind == "DRAW" && sk == "HEAD":
		d := detail{SchemaVersion: 1, ID: "RollClosed:" + rest, OccurredAt: instant(it["closedAt"]), SaleID: rest, Roll: Text(it["roll"])}
		d.Entrants, _ = Number(it["entrants"])
		d.Round, _ = Number(it["round"])
		return []detail{d}
	case kind == "SALES" && it["drained"] != nil:
		return []detail{{
			SchemaVersion: 1, ID: "SaleDrained:" + sk + ":" + Text(it["closesAt"]), OccurredAt: instant(it["closesAt"]), SaleID: sk, Labels: of,
		}}
	}
	return nil
}

func expectedOfChange(it map[string]types.AttributeValue, saleID, number, id string) detail {
	d := detail{
		SchemaVersion: 1, ID: "SaleChanged:" + saleID + ":" + number, OccurredAt: instant(it["at"]), SaleID: saleID, ChangeID: id,
		Action: Text(it["action"]), Actor: Text(it["actor"]), Verified: it["verified"] != nil, Note: Text(it["note"]), Labels: labels(Text(it["labels"])),
	}
	switch {
	case d.Action == "reschedule" && it["beginsAt"] != nil: // in a sale with a draw
		d.OpensAt, d.ClosesAt = instant(it["beginsAt"]), instant(it["endsAt"])
	case d.Action == "reschedule" || d.Action == "call":
		d.OpensAt, d.ClosesAt = instant(it["opensAt"]), instant(it["closesAt"])
	}
	return d
}

func expectedOfClaim(it map[string]types.AttributeValue, saleID, user string) []detail {
	orderID := Text(it["orderId"])
	number, _ := strconv.ParseUint(orderID, 10, 63)
	confirmedAt := time.Date(2023, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(number>>32) * time.Second)
	of := func(kind, state, at string) detail {
		return detail{
			SchemaVersion: 1, ID: kind + ":" + orderID, OccurredAt: at, SaleID: saleID, OrderID: orderID,
			ClaimID: Text(it["claimId"]), User: user, State: state, Labels: labels(Text(it["labels"])),
		}
	}
	all := []detail{of("OrderConfirmed", "CONFIRMED", Stamp(confirmedAt))}
	if it["paidAt"] != nil {
		paid := of("OrderPaid", "PAID", instant(it["paidAt"]))
		paid.Payment, paid.Currency = Text(it["payment"]), Text(it["currency"])
		paid.Amount, _ = Number(it["amount"])
		all = append(all, paid)
	}
	if it["releasedAt"] != nil {
		state := "CANCELLED"
		if Text(it["releasedBy"]) == "expiry" {
			state = "EXPIRED"
		}
		released := of("OrderReleased", state, instant(it["releasedAt"]))
		released.ReleasedBy = Text(it["releasedBy"])
		all = append(all, released)
	}
	return all
}

// instant spells a stored instant as events do.
func instant(v types.AttributeValue) string {
	millis, _ := Number(v)
	return Stamp(time.UnixMilli(millis))
}

// EventJudge compares what the table's changes mean with what is on the bus (P26).
type EventJudge struct {
	due    map[string]dueEvent // by id
	Poison map[string]bool     // records that can never be published
	// Repeated are the ids of changes that an operator repeats because a restore has undone
	// them: only the instant may differ.
	Repeated map[string]bool
}

func NewEventJudge() *EventJudge {
	return &EventJudge{due: map[string]dueEvent{}, Poison: map[string]bool{}, Repeated: map[string]bool{}}
}

// Observe records what a change of an item means: the events that it did not mean before. It
// reports whether there are any.
func (j *EventJudge) Observe(r dynamotest.Record) (due bool) {
	after := expected(r.New, r.At)
	if isPutBack := r.Old == nil && strings.HasPrefix(Text(r.Keys["pk"]), "CLAIM#"); len(after) == 0 || isPutBack {
		return false
	}
	before := expected(r.Old, r.At)
	for _, d := range after {
		if !slices.ContainsFunc(before, func(b detail) bool { return b.kind() == d.kind() }) {
			due = true
			known, again := j.due[d.ID]
			if !again {
				known = dueEvent{detail: d, since: time.Now()}
			}
			if j.Repeated[d.ID] {
				known.repeated = append(known.repeated, d.OccurredAt)
			}
			known.records = append(known.records, r)
			j.due[d.ID] = known
		}
	}
	return due
}

// EventFigures count what was published.
type EventFigures struct {
	Events, duplicates, poison int
	delay                      time.Duration // the longest, from a change to its first publication
}

func (f *EventFigures) Add(g EventFigures) {
	f.Events, f.duplicates, f.poison = f.Events+g.Events, f.duplicates+g.duplicates, f.poison+g.poison
	f.delay = max(f.delay, g.delay)
}

func (f EventFigures) String() string {
	return fmt.Sprintf("events=%d duplicates=%d poison=%d longest-delay=%v", f.Events, f.duplicates, f.poison, f.delay.Round(time.Second))
}

// Judge returns what is wrong: events that are due by the changes or by the items of the
// table and not on the bus, what else is there, and poison that was lost.
func (j *EventJudge) Judge(items []map[string]types.AttributeValue, b *Bus, digest io.Writer) (f EventFigures, found []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	violate := func(format string, args ...any) { found = append(found, "P26: "+fmt.Sprintf(format, args...)) }
	for _, text := range b.wrong {
		violate("%s", text)
	}
	got := map[string]*publication{}
	refused := map[string]bool{} // the records of the events that the bus refuses
	for _, text := range Sorted(b.events) {
		p := b.events[text]
		var d detail
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&d)
		due, isDue := j.due[d.ID]
		if slices.Contains(due.repeated, d.OccurredAt) {
			due.detail.OccurredAt = d.OccurredAt
		}
		switch {
		case err != nil:
			violate("%s is published: %v", text, err)
		case !isDue:
			violate("%s is published and not in the table", text)
		case d != due.detail:
			violate("%s is published, want %+v", text, due.detail)
		case p.source != "flashsale" || p.detailType != d.kind() || Stamp(p.time) != d.OccurredAt:
			violate("%s is published with source %s, type %s, time %v", d.ID, p.source, p.detailType, p.time)
		case got[d.ID] != nil && due.repeated == nil:
			violate("%s is published with two contents, one is %s", d.ID, text)
		}
		got[d.ID] = p
		f.Events, f.duplicates, f.delay = f.Events+1, f.duplicates+p.times-1, max(f.delay, p.first.Sub(due.since))
		fmt.Fprintln(digest, text, p.times, p.first.UnixNano())
	}
	for _, id := range Sorted(j.due) {
		switch {
		case got[id] != nil:
		case b.refused[id]:
			for _, r := range j.due[id].records {
				record := string(r.JSON())
				refused[record] = true
				if !b.failures[record] {
					violate("%s is refused, and its record is not in the failure queue", id)
				}
			}
		default:
			violate("%s is not published", id)
		}
	}
	for _, it := range items {
		for _, d := range expected(it, time.Time{}) {
			if _, isDue := j.due[d.ID]; !isDue && d.kind() != "SaleSoldOut" {
				violate("%s is in the table, and no change was seen", d.ID)
			}
		}
	}
	for _, record := range Sorted(j.Poison) {
		if !b.failures[record] {
			violate("%s is not in the failure queue", record)
		}
	}
	for _, record := range Sorted(b.failures) {
		f.poison++
		if !j.Poison[record] && !refused[record] {
			violate("%s is in the failure queue", record)
		}
	}
	return f, found
}

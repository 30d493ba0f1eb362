package books

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// EventReport is the result of comparing published events with the table.
type EventReport struct {
	// Expected is the number of events that the table's items stand for.
	Expected int64 `json:"expected"`
	// Published is the number of different events in the file, and Repeated that of their
	// repetitions, which are allowed.
	Published int64 `json:"published"`
	Repeated  int64 `json:"repeated"`
	// NotKept is the number of published events whose occasion the table does not keep: a
	// sale that was sold out once, or was drained before it was rescheduled.
	NotKept int64 `json:"notKept"`
	// Waiting is the number of expected events that are not in the file, but are not
	// overdue.
	Waiting int64 `json:"waiting"`
	// Complete: there is no finding.
	Complete bool      `json:"complete"`
	Findings []Finding `json:"findings"`
	// ReadUnits is the cost in DynamoDB read request units.
	ReadUnits float64 `json:"readUnits"`
}

// CheckEvents compares the events in a file, one EventBridge envelope a line, with the
// items of a sale, or with all items of the table for the sale id "": every event that the
// items stand for must be there at least once with exactly the detail that EVENTS.md
// describes, and no other. It fails with ErrNoSale, with ErrNewerVersion, or if it cannot
// read the table or the file.
//
// The file is read before the table, and only what was to be in it by then is missing. So the
// sale may go on meanwhile. Of the events in the file it keeps hashes only. Two events count as
// equal if a 64-bit hash of them is: of two million events, two different ones are with a
// probability of one in ten million.
func CheckEvents(ctx context.Context, db DynamoDB, name, path, saleID string, o Options) (*EventReport, error) {
	if saleID != "" && !isID(saleID) {
		return nil, errNoID
	}
	o.setDefaults()
	c := &eventCheck{
		Options: o, source: &table{db: db, name: name, sleep: o.Sleep}, path: path, saleID: saleID, seed: maphash.MakeSeed(), overdue: o.Now().Add(-o.Overdue),
		known: map[string]saleItem{}, published: map[uint64]bool{}, lost: map[string]bool{}, erased: map[string]event{}, r: EventReport{Findings: []Finding{}},
		accounts: map[string]bool{}, totals: map[string]bool{},
	}
	lines := int64(0)
	end, err := c.lines(0, func(l line) {
		lines++
		c.published[l.sum] = false
	})
	if err != nil {
		return nil, err
	}
	sales, err := c.sales(ctx)
	if err != nil {
		return nil, err
	}
	for _, saleID := range sales {
		if err := c.readSale(ctx, saleID); err != nil {
			return nil, err
		}
	}
	keys := make([]key, 0, len(c.accounts))
	for payment := range c.accounts {
		keys = append(keys, accountKey(payment))
	}
	accounts, err := c.get(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if err := c.expectOf(accounts[k]); err != nil {
			return nil, err
		}
	}
	if _, err := c.lines(end, c.judge); err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(c.lost)) {
		c.find("event %s was not published", id)
	}
	c.r.Published = int64(len(c.published))
	c.r.Repeated = lines - c.r.Published
	c.r.Complete, c.r.ReadUnits = len(c.r.Findings) == 0, c.cost()
	if more := c.found - maxFindings; more > 0 {
		c.r.Findings = append(c.r.Findings, Finding{"P26", fmt.Sprintf("and %d more", more)})
	}
	return &c.r, nil
}

type eventCheck struct {
	Options
	source
	path, saleID string // the file; the sale whose events count, "" for all
	seed         maphash.Seed
	// known holds the items of the sales that were read.
	known     map[string]saleItem
	r         EventReport
	claims    int64
	seeded    int64            // in the sales that were read
	overdue   time.Time        // until when the events were to be in the file
	published map[uint64]bool  // the events in the file by hash, and whether the table stands for them
	lost      map[string]bool  // by id, events that the file should have and has not
	erased    map[string]event // by id, those of erased users
	found     int64            // findings, with those that are not in the report
	// accounts are the payments of which something was applied, and totals those whose provider says how much went back.
	accounts, totals map[string]bool
}

// sales are the sales to read; "" stands for the refunds of unknown orders.
func (c *eventCheck) sales(ctx context.Context) ([]string, error) {
	if c.saleID != "" {
		return []string{c.saleID}, nil
	}
	ids := []string{""}
	err := c.partition(ctx, "SALES", 0, func(items []item) error {
		for _, it := range items {
			ids = append(ids, keyOf(it).sk)
		}
		return nil
	})
	return ids, err
}

// readSale expects the events of one sale, or those of the refunds of unknown orders.
func (c *eventCheck) readSale(ctx context.Context, saleID string) error {
	var partitions []string
	if saleID != "" {
		s, err := c.readItem(ctx, saleID)
		if err != nil {
			return err
		}
		listing, err := one(ctx, c, key{"SALES", saleID})
		if err := cmp.Or(err, readable(listing), c.expectOf(listing)); err != nil {
			return err
		}
		for bucket := range s.Buckets {
			partitions = append(partitions, fmt.Sprintf("CLAIM#%s#%d", saleID, bucket))
		}
		partitions = append(partitions, "CHANGES#"+saleID, "SALE#"+saleID, "DRAW#"+saleID)
	}
	if c.known[saleID].Archive == "" {
		partitions = append(partitions, "REFUND#"+saleID)
	}
	for _, pk := range partitions {
		if err := each(ctx, c, pk, c.expectOf); err != nil {
			return err
		}
	}
	return nil
}

// readItem reads the sale's own item. It is zero if the events cannot be known by it, which is a finding.
func (c *eventCheck) readItem(ctx context.Context, saleID string) (s saleItem, err error) {
	it, err := one(ctx, c, key{"SALE#" + saleID, "SALE"})
	err = cmp.Or(err, readable(it))
	switch {
	case err != nil:
		return s, err
	case it == nil && c.saleID == "":
		c.find("the item of sale %s is missing, so its events are unknown", saleID)
		return s, nil
	case it == nil:
		return s, fmt.Errorf("%w: %s", ErrNoSale, saleID)
	}
	s, problem := readSale(it)
	if c.malformed(it, problem) {
		return saleItem{}, nil
	}
	c.known[saleID] = s
	c.seeded += s.Seeded
	return s, nil
}

// expectOf expects the events that an item stands for.
func (c *eventCheck) expectOf(it item) error {
	all, problem := eventsOf(it)
	if c.malformed(it, problem) {
		return nil
	}
	for _, e := range all {
		c.expect(e)
		if e.kind == "RefundDone" && e.members["refundId"] == nil {
			c.totals[fmt.Sprint(e.members["payment"])] = true
		}
	}
	switch kind, of := locate(keyOf(it)); kind {
	case "claim":
		c.claims++
		c.Progress(c.claims, max(c.seeded, c.claims))
		if claim, _ := readClaim(it); claim.Money != 0 {
			c.accounts[claim.Payment] = true
		}
	case "refund", "unknown refund":
		if r, _ := readRefund(it); r.Money != 0 {
			c.accounts[of.get("payment")] = true
		}
	}
	return nil
}

// eventsOf returns the events that an item stands for as long as it is there.
func eventsOf(it item) (all []event, problem string) {
	kind, of := locate(keyOf(it))
	saleID := of.get("sale")
	switch kind {
	case "claim":
		c, problem := readClaim(it)
		return c.events(saleID), problem
	case "refund", "unknown refund":
		r, problem := readRefund(it)
		return []event{r.event()}, problem
	case "account":
		a, problem := readAccount(it)
		return a.events(), problem
	case "edit":
		c, problem := readChange(it)
		return []event{c.event(saleID)}, problem
	case "addition":
		s, problem := readSeed(it)
		e := changeEvent(saleID, "seed:"+of.get("seed"), of.get("seed"), s.Action, s.At, s.author, s.Labels)
		e.members["units"] = max(s.Units, -s.Units)
		return []event{e}, problem
	case "draw":
		d, problem := readHead(it)
		members := map[string]any{"entrants": d.Entrants, "roll": d.Roll.String(), "round": d.Round}
		return []event{newEvent("RollClosed", saleID, saleID, "", d.ClosedAt.UnixMilli(), members)}, problem
	case "listing":
		l, problem := readListing(it)
		if l.Drained {
			all = append(all, drainedEvent(saleID, l.Labels, l.ClosesAt))
		}
		return all, problem
	}
	return nil, ""
}

// EventsOf returns the details of the events that an item stands for since it changed at that instant,
// as EVENTS.md describes them, or why it is not as documented.
func EventsOf(it map[string]types.AttributeValue, changed time.Time) (details []map[string]any, problem string) {
	all, problem := eventsOf(it)
	if kind, of := locate(keyOf(it)); kind == "sale" {
		var s saleItem
		if s, problem = readSale(it); problem == "" && len(s.Empty) >= s.Shards {
			all = append(all, soldOutEvent(of.get("sale"), s.Labels, strconv.FormatInt(s.Version, 10), changed.Truncate(time.Second).UnixMilli()))
		}
	}
	for _, e := range all {
		details = append(details, e.members)
	}
	return details, problem
}

func (c *eventCheck) malformed(it item, problem string) bool {
	if problem != "" {
		k := keyOf(it)
		c.find("the item %s, %s is not as documented, so its events are unknown: %s", k.pk, k.sk, problem)
	}
	return problem != ""
}

func (c *eventCheck) find(format string, args ...any) {
	if c.found++; c.found <= maxFindings {
		c.r.Findings = append(c.r.Findings, Finding{"P26", fmt.Sprintf(format, args...)})
	}
}

// expect looks for an event that must have been published.
func (c *eventCheck) expect(e event) {
	c.r.Expected++
	if user, _ := e.members["user"].(string); isErased(user) {
		c.erased[e.id()] = e // also if it was published again since: the one of before is in the file, too
	}
	isPublished := false
	for _, form := range e.sums(c.seed) { // both, if it was published again
		if _, there := c.published[form]; there {
			c.published[form], isPublished = true, true
		}
	}
	switch {
	case isPublished:
	case e.at.After(c.overdue):
		c.r.Waiting++
	default:
		c.lost[e.id()] = true
	}
}

// judge takes an event of the file and says, once, if the table does not stand for it.
func (c *eventCheck) judge(l line) {
	if isExpected, known := c.published[l.sum]; !known || isExpected {
		return
	}
	c.published[l.sum] = true
	switch id := l.id(); {
	case l.problem != "":
		c.find("line %d is no event: %s", l.number, l.problem)
	case c.isPast(l):
		c.r.NotKept++
	case c.isErased(l):
		delete(c.lost, id)
		c.r.NotKept++
	case c.lost[id]:
		delete(c.lost, id)
		c.find("line %d: event %s does not say what is in the table: %s", l.number, id, l.text())
	default:
		c.find("line %d: event %s is not in the table with that content: %s", l.number, id, l.text())
	}
}

// isErased reports whether an event was published before its user was erased: it says all that is in
// the table, but the user. It replaces the event that is expected.
func (c *eventCheck) isErased(l line) bool {
	e, ok := c.erased[l.id()]
	if !ok {
		return false
	}
	e.members = maps.Clone(e.members)
	e.members["user"] = l.members["user"]
	return slices.Contains(e.sums(c.seed), l.sum)
}

// isPast reports whether an event is of an occasion that the sale may have had and that
// the table does not keep: all its shards were empty at a version of it, or it was drained
// before an edit or an addition. While a version stands, no shard leaves the empty ones.
func (c *eventCheck) isPast(l line) bool {
	saleID, at := fmt.Sprint(l.members["saleId"]), fmt.Sprint(l.members["occurredAt"])
	s, ok := c.known[saleID]
	occurred, err := time.Parse(time.RFC3339, at)
	if payment, _ := l.members["payment"].(string); l.kind == "RefundDone" && l.members["refundId"] == nil && c.totals[payment] {
		return true // of a total that has grown
	}
	if !ok || err != nil {
		return false
	}
	version, isSoldOut := strings.CutPrefix(l.id(), "SaleSoldOut:"+saleID+":")
	switch {
	case s.Archive != "" && (l.members["user"] != nil || slices.Contains([]string{"RefundDone", "RefundFailed", "PaymentDisputed"}, l.kind)):
		return true
	case isSoldOut:
		n, err := strconv.ParseInt(version, 10, 64)
		return err == nil && n >= 1 && (n < s.Version || n == s.Version && len(s.Empty) >= s.Shards) &&
			!occurred.After(c.Now().Add(skew)) && soldOutEvent(saleID, s.Labels, version, occurred.UnixMilli()).sum(c.seed) == l.sum
	case l.kind == "SaleDrained":
		e := drainedEvent(saleID, s.Labels, occurred.UnixMilli())
		return s.Version > 1 && !e.at.After(c.Now().Add(skew)) && e.sum(c.seed) == l.sum
	}
	return false
}

// event is an event with the members of its detail.
type event struct {
	kind    string
	members map[string]any
	at      time.Time // when it happened at the earliest
}

// newEvent is an event of a sale at an instant. Members that are "" are left out.
func newEvent(kind, about, saleID, labels string, millis int64, members map[string]any) event {
	maps.Copy(members, map[string]any{"schemaVersion": 1, "id": kind + ":" + about, "occurredAt": clock(millis), "saleId": saleID})
	if labels != "" {
		members["labels"] = strings.Split(labels, ",")
	}
	maps.DeleteFunc(members, func(_ string, v any) bool { return v == "" })
	return event{kind, members, time.UnixMilli(millis)}
}

// sums are those of the event as releases publish it: those before 0.10.0, of which one may run beside a later one,
// do not say what an order must pay.
func (e event) sums(seed maphash.Seed) []uint64 {
	all := []uint64{e.sum(seed)}
	if e.kind == "OrderConfirmed" {
		e.members = maps.Clone(e.members)
		for _, name := range []string{"asksForPayment", "payBy", "amount", "currency"} {
			delete(e.members, name)
		}
		all = append(all, e.sum(seed))
	}
	return all
}

func (e event) id() string {
	id, _ := e.members["id"].(string)
	return id
}

// text is the same for equal events.
func (e event) text() []byte {
	text, err := json.Marshal([]any{e.kind, e.members})
	if err != nil {
		panic(err) // the members are texts, lists of them and numbers
	}
	return text
}

// events are what a claim stands for.
func (c Claim) events(saleID string) (all []event) {
	if c.OrderID == "" {
		return nil
	}
	add := func(kind, state string, millis int64, more map[string]any) {
		members := map[string]any{"orderId": c.OrderID, "claimId": c.ClaimID, "user": c.User, "state": state}
		maps.Copy(members, more)
		e := newEvent(kind, c.OrderID, saleID, c.Labels, millis, members)
		if c.Units != 0 {
			members["units"], members["schemaVersion"] = c.Units, 2
		}
		all = append(all, e)
	}
	confirmed := map[string]any{}
	if c.saysTerms {
		confirmed["asksForPayment"] = c.PayWithin > 0
	}
	if c.PayWithin > 0 {
		confirmed["payBy"] = clock(c.ConfirmedAt.Add(time.Duration(c.PayWithin) * time.Second).UnixMilli())
	}
	if c.Price > 0 {
		confirmed["amount"], confirmed["currency"] = c.Count()*c.Price, c.PriceCurrency
	}
	add("OrderConfirmed", "CONFIRMED", c.ConfirmedAt.UnixMilli(), confirmed)
	if c.PaidAt != 0 {
		add("OrderPaid", "PAID", c.PaidAt, map[string]any{"payment": c.Payment, "amount": c.Amount, "currency": c.Currency})
	}
	if c.ReleasedAt != 0 {
		add("OrderReleased", c.State(), c.ReleasedAt, map[string]any{"releasedBy": c.ReleasedBy, "unit": c.Unit})
	}
	if c.CancelledAt != 0 {
		add("OrderCancelled", c.State(), c.CancelledAt, map[string]any{"payment": c.Payment, "amount": c.Amount, "currency": c.Currency, "unit": c.Unit})
	}
	return all
}

func (r refundItem) event() event {
	order := ""
	if r.OrderID != 0 {
		order = strconv.FormatInt(r.OrderID, 10)
	}
	return newEvent("RefundDue", r.Sale+":"+r.Payment, r.Sale, r.Labels, r.At, map[string]any{
		"orderId": order, "user": r.User, "payment": r.Payment, "reason": r.Reason, "amount": r.Amount, "currency": r.Currency,
	})
}

func (c changeItem) event(saleID string) event {
	e := changeEvent(saleID, strconv.FormatInt(c.Number, 10), c.ID, c.Action, c.At, c.author, c.Labels)
	if c.PayUntil != 0 {
		e.members["payUntil"] = clock(c.PayUntil)
	}
	switch {
	case c.Action == "reschedule" && c.BeginsAt != 0: // in a sale with a draw
		e.members["opensAt"], e.members["closesAt"] = clock(c.BeginsAt), clock(c.EndsAt)
	case c.Action == "reschedule" || c.Action == "call":
		e.members["opensAt"], e.members["closesAt"] = clock(c.OpensAt), clock(c.ClosesAt)
	}
	return e
}

func changeEvent(saleID, number, id, action string, at int64, by author, labels string) event {
	return newEvent("SaleChanged", saleID+":"+number, saleID, labels, at,
		map[string]any{"changeId": id, "action": action, "verified": by.Verified, "actor": by.Actor, "note": by.Note})
}

func drainedEvent(saleID, labels string, closesAt int64) event {
	e := newEvent("SaleDrained", saleID+":"+strconv.FormatInt(closesAt, 10), saleID, labels, closesAt, map[string]any{})
	e.at = e.at.Add(drainAfter)
	return e
}

func soldOutEvent(saleID, labels, version string, at int64) event {
	return newEvent("SaleSoldOut", saleID+":"+version, saleID, labels, at, map[string]any{})
}

// line is one event of the file.
type line struct {
	event
	number  int64
	sum     uint64
	problem string // why it is none
}

func (e event) sum(seed maphash.Seed) uint64 { return maphash.Bytes(seed, e.text()) }

// lines reads the complete lines of the file up to a byte, to its end if that is 0, and returns
// where they end. A line is complete if it ends with a line feed.
func (c *eventCheck) lines(to int64, do func(line)) (end int64, err error) {
	file, err := os.Open(c.path)
	if err != nil {
		return 0, fmt.Errorf("read events: %w", err)
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<16)
	number := int64(0)
	for to == 0 || end < to {
		text, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return end, fmt.Errorf("read events: %w", err)
		}
		number++
		end += int64(len(text))
		if l, ours := c.line(text); ours {
			l.number = number
			do(l)
		}
	}
	return end, nil
}

// line reads one line. ours is false for an event of another source or sale.
func (c *eventCheck) line(text []byte) (l line, ours bool) {
	var envelope struct {
		Source string         `json:"source"`
		Kind   string         `json:"detail-type"`
		Detail map[string]any `json:"detail"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // a number stays as it is written
	err := d.Decode(&envelope)
	if _, rest := d.Token(); err == nil && !errors.Is(rest, io.EOF) {
		err = errors.New("there is more than one value")
	}
	if err != nil {
		l.problem, l.sum = fmt.Sprintf("%v: %.100q", err, text), maphash.Bytes(c.seed, text)
		return l, true
	}
	if envelope.Source != "flashsale" || c.saleID != "" && envelope.Detail["saleId"] != c.saleID {
		return l, false
	}
	l.event = event{kind: envelope.Kind, members: envelope.Detail}
	l.sum = l.event.sum(c.seed)
	return l, true
}

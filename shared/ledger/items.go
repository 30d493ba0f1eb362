package ledger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func boolean(b bool) types.AttributeValue { return &types.AttributeValueMemberBOOL{Value: b} }

// millis stores an instant as Unix milliseconds, as all instants are.
func millis(t time.Time) types.AttributeValue { return num(t.UnixMilli()) }

func binary(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }

func numberSet(ks ...int) types.AttributeValue {
	values := make([]string, len(ks))
	for i, k := range ks {
		values[i] = strconv.Itoa(k)
	}
	return &types.AttributeValueMemberNS{Value: values}
}

// with adds attributes to a key, making it an item.
func with(key item, attributes item) item {
	for name, value := range attributes {
		key[name] = value
	}
	return key
}

// reader reads attributes of an item and keeps the first error: a malformed item must
// never be mistaken for an empty one.
type reader struct {
	item item
	err  error
}

// has reports whether an item has the attribute, of whatever type: the client returns nil for the
// value of a type that it does not know.
func has(it item, name string) bool {
	_, there := it[name]
	return there
}

func (r *reader) fail(name, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("read item: attribute %s is not %s", name, want)
	}
}

func (r *reader) text(name string) string {
	v, ok := r.item[name].(*types.AttributeValueMemberS)
	if !ok {
		r.fail(name, "a string")
		return ""
	}
	return v.Value
}

func (r *reader) optionalText(name string) string {
	if !has(r.item, name) {
		return ""
	}
	return r.text(name)
}

func (r *reader) optionalTexts(name string) []string {
	if !has(r.item, name) {
		return nil
	}
	v, ok := r.item[name].(*types.AttributeValueMemberSS)
	if !ok {
		r.fail(name, "a string set")
		return nil
	}
	return slices.Sorted(slices.Values(v.Value))
}

func (r *reader) number(name string) int64 {
	v, ok := r.item[name].(*types.AttributeValueMemberN)
	if !ok {
		r.fail(name, "a number")
		return 0
	}
	n, err := strconv.ParseInt(v.Value, 10, 64)
	if err != nil {
		r.fail(name, "an integer")
	}
	return n
}

func (r *reader) optionalNumber(name string) int64 {
	if !has(r.item, name) {
		return 0
	}
	return r.number(name)
}

func (r *reader) flag(name string) bool {
	v, ok := r.item[name].(*types.AttributeValueMemberBOOL)
	if !ok {
		r.fail(name, "a boolean")
		return false
	}
	return v.Value
}

func (r *reader) bytes(name string) []byte {
	v, ok := r.item[name].(*types.AttributeValueMemberB)
	if !ok {
		r.fail(name, "binary")
		return nil
	}
	return v.Value
}

func (r *reader) time(name string) time.Time { return time.UnixMilli(r.number(name)).UTC() }

func (r *reader) shards(name string) sale.Set {
	var set sale.Set
	if !has(r.item, name) {
		return set // DynamoDB stores no empty set
	}
	v, ok := r.item[name].(*types.AttributeValueMemberNS)
	if !ok {
		r.fail(name, "a number set")
		return set
	}
	for _, text := range v.Value {
		k, err := strconv.Atoi(text)
		if err != nil || k < 0 || k >= sale.MaxShards {
			r.fail(name, "a set of shard numbers")
		}
		set.Add(k)
	}
	return set
}

func readSale(it item) (sale.Sale, error) {
	r := reading(it)
	s := sale.Sale{
		ID:        strings.TrimPrefix(r.text(attrPK), "SALE#"),
		Name:      r.text("name"),
		OpensAt:   r.time("opensAt"),
		ClosesAt:  r.time("closesAt"),
		Paused:    r.flag("paused"),
		ChangedAt: r.time("changedAt"),
		Seeded:    r.number("seeded"),
		Limited:   has(it, "room"),
		Shards:    int(r.number("shards")),
		Buckets:   int(r.number("buckets")),
		Empty:     r.shards("empty"),
		Version:   r.number("version"),
		State:     sale.State(r.text("state")),
		MinReader: int(r.optionalNumber(attrMinReader)),
		PayWithin: time.Duration(r.optionalNumber("payWithin")) * time.Second,
		Price:     r.optionalNumber("price"),
		Currency:  r.optionalText("currency"),
		Labels:    r.labels(),

		Presentation: r.presentation(),
		LimitGroup:   r.optionalText("limitGroup"),
		RecallNote:   r.optionalText("recallNote"),
		Edits:        r.optionalNumber("edits"),
		Seedings:     r.optionalNumber("seedings"),
	}
	s.Erased, s.ArchivedKeys = r.optionalNumber("erased"), r.optionalText("archivedKeys")
	if s.Archive = r.optionalText("archive"); has(it, "archivedAt") {
		s.ArchivedAt = r.time("archivedAt")
	}
	if has(it, "sealedAt") {
		s.SealedAt = r.time("sealedAt")
	}
	if has(it, "recalledAt") {
		s.RecalledAt = r.time("recalledAt")
	}
	if has(it, "enterFrom") {
		s.Draw = r.draw()
	}
	if r.err == nil && (s.Shards < 1 || s.Shards > sale.MaxShards || s.Buckets < 1) {
		r.err = fmt.Errorf("read sale %s: %d shards, %d buckets", s.ID, s.Shards, s.Buckets)
	}
	return s, r.err
}

func saleItem(s sale.Sale) item {
	it := forReader(s.MinReader, withTerms(s, with(saleKey(s.ID), item{
		"name":      str(s.Name),
		"opensAt":   millis(s.OpensAt),
		"closesAt":  millis(s.ClosesAt),
		"paused":    boolean(s.Paused),
		"changedAt": millis(s.ChangedAt),
		"seeded":    num(s.Seeded),
		"shards":    num(int64(s.Shards)),
		"buckets":   num(int64(s.Buckets)),
		"version":   num(s.Version),
		"state":     str(string(s.State)),
	})))
	if s.HasDraw() {
		it["beginsAt"], it["endsAt"] = millis(s.BeginsAt), millis(s.EndsAt)
	}
	return it
}

// withLabels adds the labels of a sale, if it has any.
func withLabels(l sale.Labels, it item) item {
	if l != "" {
		it["labels"] = str(string(l))
	}
	return it
}

func (r *reader) labels() sale.Labels { return sale.Labels(r.optionalText("labels")) }

// withTerms adds what the request of a sale's creation repeats, as far as it is given: what
// it asks of payments, its draw, its group, its labels and what buyers see.
func withTerms(s sale.Sale, it item) item {
	if s.PayWithin != 0 {
		it["payWithin"] = num(int64(s.PayWithin / time.Second))
	}
	if s.HasDraw() {
		it["enterFrom"], it["enterUntil"], it["keepHours"] = millis(s.EnterFrom), millis(s.EnterUntil), num(int64(s.KeepFor/time.Hour))
	}
	if s.Price != 0 {
		it["price"], it["currency"] = num(s.Price), str(s.Currency)
	}
	for name, value := range map[string]string{"limitGroup": s.LimitGroup, "image": s.Image, "about": s.About, "link": s.Link} {
		if value != "" {
			it[name] = str(value)
		}
	}
	return withLabels(s.Labels, it)
}

// presentation reads what buyers see of the sale.
func (r *reader) presentation() sale.Presentation {
	return sale.Presentation{Image: r.optionalText("image"), About: r.optionalText("about"), Link: r.optionalText("link")}
}

// shard is one stock shard. It repeats the sale's window and pause flag so that
// the transaction that takes a unit can check them (P14).
type shard struct {
	stock, seeded int64
	// released counts the claims of its units that were released, putBack how many of
	// those units are in stock again or sold again.
	released, putBack int64
	opensAt, closesAt time.Time
	paused            bool
	changedAt         time.Time
}

func readShard(it item) (shard, error) {
	r := reading(it)
	return shard{
		stock:     r.number("stock"),
		seeded:    r.number("seeded"),
		released:  r.optionalNumber("released"),
		putBack:   r.optionalNumber("putBack"),
		opensAt:   r.time("opensAt"),
		closesAt:  r.time("closesAt"),
		paused:    r.flag("paused"),
		changedAt: r.time("changedAt"),
	}, r.err
}

// sold is how many claims the shard's units have, released ones included.
func (s *shard) sold() int64 { return s.seeded - s.stock + s.putBack }

func shardItem(s sale.Sale, k int, units int64) item {
	it := with(stockKey(s.ID, k), item{
		"stock":     num(units),
		"seeded":    num(units),
		"opensAt":   millis(s.OpensAt),
		"closesAt":  millis(s.ClosesAt),
		"paused":    boolean(s.Paused),
		"changedAt": millis(s.ChangedAt),
	})
	if s.PayWithin != 0 {
		it["released"], it["putBack"] = zero, zero
	}
	return it
}

func readClaim(saleID string, buckets int, it item) (sale.Claim, error) {
	r := reading(it)
	c := sale.Claim{
		SaleID:     saleID,
		Buckets:    buckets,
		User:       r.text(attrSK),
		ID:         r.text("claimId"),
		Shard:      int(r.number("shard")),
		AcceptedAt: r.time("acceptedAt"),
		RequestKey: r.optionalText("requestKey"),
		OrderID:    uint64(r.optionalNumber("orderId")),
		Refunds:    r.optionalTexts("refunds"),
		Labels:     r.labels(),
		MinReader:  int(r.optionalNumber(attrMinReader)),
	}
	if has(it, "resentAt") {
		c.ResentAt = r.time("resentAt")
	}
	if has(it, "paidAt") {
		c.PaidAt, c.Payment, c.Amount, c.Currency = r.time("paidAt"), r.text("payment"), r.optionalNumber("amount"), r.optionalText("currency")
	}
	if has(it, "releasedAt") {
		c.ReleasedAt, c.ReleasedBy = r.time("releasedAt"), sale.ReleasedBy(r.text("releasedBy"))
		switch c.ReleasedBy {
		case sale.ByExpiry, sale.ByBuyer, sale.ByOperator:
		default:
			r.fail("releasedBy", "expiry, buyer or operator")
		}
		if has(it, "paidAt") {
			r.fail("releasedAt", "absent from a paid claim")
		}
	}
	return c, r.err
}

func claimItem(c sale.Claim, bucket int) item {
	it := claimKey(c.SaleID, bucket, c.User)
	it["claimId"] = str(c.ID)
	it["shard"] = num(int64(c.Shard))
	it["acceptedAt"] = millis(c.AcceptedAt)
	if c.RequestKey != "" {
		it["requestKey"] = str(c.RequestKey)
	}
	return forReader(c.MinReader, withLabels(c.Labels, it))
}

// groupGuard says in which sale of a group a user has ordered. It is written with the claim and
// never changes.
type groupGuard struct{ saleID, claimID string }

func readGroupGuard(it item) (groupGuard, error) {
	r := reading(it)
	return groupGuard{saleID: r.text("saleId"), claimID: r.text("claimId")}, r.err
}

func groupGuardItem(group string, c sale.Claim) item {
	return forReader(c.MinReader, with(groupGuardKey(group, c.User), item{"saleId": str(c.SaleID), "claimId": str(c.ID)}))
}

func readOrder(it item) (sale.Order, error) {
	r := reading(it)
	o := sale.Order{SaleID: r.text("saleId"), User: r.text("user"), ClaimID: r.text("claimId")}
	id, err := orderid.Parse(strings.TrimPrefix(r.text(attrPK), orderPKHead))
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("read order: %w", err)
	}
	o.ID = id
	return o, r.err
}

func readRefund(it item) (sale.Refund, error) {
	r := reading(it)
	refund := sale.Refund{
		SaleID:   strings.TrimPrefix(r.text(attrPK), "REFUND#"),
		Payment:  r.text(attrSK),
		User:     r.optionalText("user"),
		OrderID:  uint64(r.optionalNumber("orderId")),
		Reason:   sale.RefundReason(r.text("reason")),
		Amount:   r.number("amount"),
		Currency: r.text("currency"),
		Labels:   r.labels(),
		At:       r.time("at"),
	}
	if has(it, "refundedAt") {
		refund.RefundedAt = r.time("refundedAt")
	}
	return refund, r.err
}

func refundItem(r sale.Refund) item {
	it := with(refundKey(r.SaleID, r.Payment), item{
		"reason":   str(string(r.Reason)),
		"amount":   num(r.Amount),
		"currency": str(r.Currency),
		"at":       millis(r.At),
	})
	if r.OrderID != 0 {
		it["orderId"] = num(int64(r.OrderID))
	}
	if r.User != "" {
		it["user"] = str(r.User)
	}
	return withLabels(r.Labels, it)
}

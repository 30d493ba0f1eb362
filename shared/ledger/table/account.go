package table

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// AccountPKHead begins the partition keys of accounts.
const AccountPKHead = "MONEY#"

// AccountKey returns the key of the account of a payment's money.
func AccountKey(payment string) Item { return Key(AccountPKHead+payment, "MONEY") }

// AccountItem is an account, as a whole. Its payment is known, or else it expires at that instant.
func AccountItem(a sale.Account, expiresAt time.Time) Item {
	it := With(AccountKey(a.Payment), Item{"v": N(a.V)})
	if len(a.Refunds) > 0 {
		refunds := Item{}
		for id, f := range a.Refunds {
			refunds[id] = m(refundOfAccount(f))
		}
		it["refunds"] = m(refunds)
	}
	if a.Total != (sale.AccountTotal{}) {
		total := Item{"amount": N(a.Total.Amount), "currency": S(a.Total.Currency)}
		if a.Total.Grows {
			total["grows"] = Yes
		}
		it["total"] = m(withTime(total, "at", a.Total.At))
	}
	if len(a.Disputes) > 0 {
		disputes := Item{}
		for id, d := range a.Disputes {
			one := Item{"state": S(string(d.State)), "rank": N(d.Rank)}
			for state, at := range d.Heard {
				one[string(state)] = Millis(at)
			}
			disputes[id] = m(one)
		}
		it["disputes"] = m(disputes)
	}
	if a.Other > 0 {
		it["other"] = N(a.Other)
	}
	if a.SaleID != "" {
		it["saleId"] = S(a.SaleID)
	}
	if a.OrderID != 0 {
		it["orderId"] = N(int64(a.OrderID))
	}
	if !expiresAt.IsZero() {
		it["expiresAt"] = N(expiresAt.Unix()) // the table's time to live counts seconds
	}
	return it
}

func refundOfAccount(f sale.AccountRefund) Item {
	it := Item{"state": S(string(f.State)), "amount": N(f.Amount)}
	if f.Currency != "" {
		it["currency"] = S(f.Currency)
	}
	if f.Whole {
		it["whole"] = Yes
	}
	for state, at := range f.Heard {
		it[string(state)] = Millis(at)
	}
	return withTime(it, "at", f.At)
}

func ReadAccount(it Item) (sale.Account, error) {
	r := Read(it)
	a := sale.Account{
		Payment: strings.TrimPrefix(r.Text(PK), AccountPKHead), V: r.Number("v"), Other: r.OptionalNumber("other"),
		SaleID: r.OptionalText("saleId"), OrderID: uint64(r.OptionalNumber("orderId")),
	}
	for id, one := range r.optionalMaps("refunds") {
		f := sale.AccountRefund{
			State: sale.RefundState(one.Text("state")), Amount: one.Number("amount"), Currency: one.OptionalText("currency"),
			Whole: one.OptionalFlag("whole"), At: one.OptionalTime("at"),
			Heard: heard(&one, sale.RefundStuck, sale.RefundDone, sale.RefundFailed),
		}
		set(&a.Refunds, id, f)
		r.keep(one.Err)
	}
	for id, one := range r.optionalMaps("disputes") {
		d := sale.AccountDispute{
			State: sale.DisputeState(one.Text("state")), Rank: one.Number("rank"),
			Heard: heard(&one, sale.DisputeAsked, sale.DisputeOpen, sale.DisputeWon, sale.DisputeLost),
		}
		set(&a.Disputes, id, d)
		r.keep(one.Err)
	}
	if Has(it, "total") {
		total := r.nested("total")
		a.Total = sale.AccountTotal{
			Amount: total.Number("amount"), Currency: total.Text("currency"), Grows: total.OptionalFlag("grows"),
			At: total.OptionalTime("at"),
		}
		r.keep(total.Err)
	}
	return a, r.Err
}

// heard reads when each state was first heard.
func heard[S ~string](r *Reader, states ...S) (at map[S]time.Time) {
	for _, state := range states {
		if Has(r.Item, string(state)) {
			set(&at, state, r.Time(string(state)))
		}
	}
	return at
}

func set[K comparable, V any](to *map[K]V, key K, value V) {
	if *to == nil {
		*to = map[K]V{}
	}
	(*to)[key] = value
}

func m(it Item) types.AttributeValue { return &types.AttributeValueMemberM{Value: it} }

func withTime(it Item, name string, at time.Time) Item {
	if !at.IsZero() {
		it[name] = Millis(at)
	}
	return it
}

// nested begins to read a map.
func (r *Reader) nested(name string) Reader {
	v, ok := r.Item[name].(*types.AttributeValueMemberM)
	if !ok {
		r.Fail(name, "a map")
		return Reader{Err: r.Err}
	}
	return Reader{Item: v.Value}
}

// optionalMaps begins to read the maps in a map.
func (r *Reader) optionalMaps(name string) map[string]Reader {
	if !Has(r.Item, name) {
		return nil
	}
	all, readers := r.nested(name), map[string]Reader{}
	for key := range all.Item {
		readers[key] = all.nested(key)
	}
	return readers
}

func (r *Reader) keep(err error) {
	if r.Err == nil {
		r.Err = err
	}
}

// returned reads what was applied of an account to a claim or a refund.
func (r *Reader) returned() sale.Returned {
	return sale.Returned{
		MoneyVersion: r.OptionalNumber("money"), Back: r.OptionalNumber("back"), Failures: r.OptionalNumber("failures"),
		Stuck: r.OptionalFlag("stuck"), Disputed: sale.DisputeState(r.OptionalText("disputed")),
		RefundedAt: r.OptionalTime("refundedAt"),
	}
}

// ReturnedAttributes are what was applied of an account; what is zero is absent.
func ReturnedAttributes(done sale.Returned) Item {
	it := Item{}
	for name, n := range map[string]int64{"money": done.MoneyVersion, "back": done.Back, "failures": done.Failures} {
		if n != 0 {
			it[name] = N(n)
		}
	}
	if done.Stuck {
		it["stuck"] = Yes
	}
	if done.Disputed != "" {
		it["disputed"] = S(string(done.Disputed))
	}
	return withTime(it, "refundedAt", done.RefundedAt)
}

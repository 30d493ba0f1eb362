package table

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"flashsale/shared/sale"
)

// AccountPKHead begins the partition keys of accounts.
const AccountPKHead = "MONEY#"

// AccountKey returns the key of the account of a payment's money.
func AccountKey(payment string) Item { return Key(AccountPKHead+payment, "MONEY") }

// An account's maps are text, like what passes note in a listing: nobody asks for a part of them.
type (
	accountRefund struct {
		State    sale.RefundState           `json:"state"`
		Amount   int64                      `json:"amount"`
		Currency string                     `json:"currency,omitempty"`
		Whole    bool                       `json:"whole,omitempty"`
		At       int64                      `json:"at,omitempty"` // instants are in Unix milliseconds
		Heard    map[sale.RefundState]int64 `json:"heard"`
	}
	accountTotal struct {
		Amount   int64  `json:"amount"`
		Currency string `json:"currency"`
		Grows    bool   `json:"grows,omitempty"`
		At       int64  `json:"at,omitempty"`
		Heard    int64  `json:"heard"`
	}
	accountDispute struct {
		State sale.DisputeState           `json:"state"`
		Rank  int64                       `json:"rank"`
		Heard map[sale.DisputeState]int64 `json:"heard"`
	}
)

// UpdateAccount writes what an account says, if it has that version; 0 is none. Until the payment is known the
// account expires at the given instant, if it is new.
func UpdateAccount(a sale.Account, version int64, expiresAt time.Time) Update {
	attributes := Item{"v": N(a.V)}
	if len(a.Refunds) > 0 {
		attributes["refunds"] = jsonText(mapped(a.Refunds, func(f sale.AccountRefund) accountRefund {
			return accountRefund{f.State, f.Amount, f.Currency, f.Whole, millis(f.At), mapped(f.Heard, millis)}
		}))
	}
	if t := a.Total; t != (sale.AccountTotal{}) {
		attributes["total"] = jsonText(accountTotal{t.Amount, t.Currency, t.Grows, millis(t.At), millis(t.Heard)})
	}
	if len(a.Disputes) > 0 {
		attributes["disputes"] = jsonText(mapped(a.Disputes, func(d sale.AccountDispute) accountDispute {
			return accountDispute{d.State, d.Rank, mapped(d.Heard, millis)}
		}))
	}
	if a.Other > 0 {
		attributes["other"] = N(a.Other)
	}
	u := Update{
		Key: AccountKey(a.Payment), If: "#v = :version", ReturnOld: true, Values: Item{":version": N(version)},
	}
	if version == 0 {
		delete(u.Values, ":version")
		u.If = IfAbsent
		if !a.IsKnown {
			attributes["expiresAt"] = N(expiresAt.Unix()) // the table's time to live counts seconds
		}
	}
	if a.IsKnown {
		maps.Copy(attributes, paymentOf(a))
	}
	u.set(attributes)
	if a.IsKnown {
		u.Expr += " REMOVE #expiresAt"
	}
	return u
}

// UpdateKnown notes in an account the sale and the order of its payment.
func UpdateKnown(a sale.Account) Update {
	u := Update{Key: AccountKey(a.Payment), If: "attribute_exists(#v)"}
	u.set(paymentOf(a))
	u.Expr += " REMOVE #expiresAt"
	return u
}

// paymentOf is what an account says of its payment.
func paymentOf(a sale.Account) Item {
	it := Item{}
	if a.SaleID != "" {
		it["saleId"] = S(a.SaleID)
	}
	if a.OrderID != 0 {
		it["orderId"] = N(int64(a.OrderID))
	}
	return it
}

// ReadAccount reads the account of a payment, which is empty if there is no item.
func ReadAccount(payment string, it Item) (sale.Account, error) {
	a := sale.Account{Payment: payment}
	if it == nil {
		return a, nil
	}
	r := Read(it)
	a.V, a.Other, a.IsKnown = r.Number("v"), r.OptionalNumber("other"), !Has(it, "expiresAt")
	a.SaleID, a.OrderID = r.OptionalText("saleId"), uint64(r.OptionalNumber("orderId"))
	a.Refunds = mapped(parsed[map[string]accountRefund](&r, "refunds"), func(f accountRefund) sale.AccountRefund {
		return sale.AccountRefund{
			State: f.State, Amount: f.Amount, Currency: f.Currency, Whole: f.Whole, At: instant(f.At),
			Heard: mapped(f.Heard, instant),
		}
	})
	if t := parsed[accountTotal](&r, "total"); Has(it, "total") {
		a.Total = sale.AccountTotal{
			Amount: t.Amount, Currency: t.Currency, Grows: t.Grows, At: instant(t.At), Heard: instant(t.Heard),
		}
	}
	a.Disputes = mapped(parsed[map[string]accountDispute](&r, "disputes"), func(d accountDispute) sale.AccountDispute {
		return sale.AccountDispute{State: d.State, Rank: d.Rank, Heard: mapped(d.Heard, instant)}
	})
	return a, r.Err
}

// parsed reads an optional attribute that is JSON.
func parsed[T any](r *Reader, name string) (v T) {
	if text := r.OptionalText(name); text != "" {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			r.Fail(name, "JSON that this version knows")
		}
	}
	return v
}

func mapped[K comparable, V, W any](from map[K]V, to func(V) W) map[K]W {
	if from == nil {
		return nil
	}
	all := make(map[K]W, len(from))
	for key, value := range from {
		all[key] = to(value)
	}
	return all
}

func jsonText(v any) types.AttributeValue {
	text, _ := json.Marshal(v) // which never fails
	return S(string(text))
}

// millis is 0 for no instant, and instant none for 0: no report is of 1970.
func millis(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return at.UnixMilli()
}

func instant(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// set adds attributes to what the update sets.
func (u *Update) set(attributes Item) {
	if u.Values == nil && len(attributes) > 0 { // DynamoDB refuses an empty map
		u.Values = Item{}
	}
	head := "SET "
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		u.Expr += head + "#" + name + " = :" + name
		u.Values[":"+name], head = attributes[name], ", "
	}
}

package table

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"flashsale/shared/sale"
)

// ReadReturned reads what was applied of an account to a claim or a refund.
func ReadReturned(it Item) (sale.Returned, error) {
	r := Read(it)
	return r.returned(), r.Err
}

func (r *Reader) returned() sale.Returned {
	return sale.Returned{
		MoneyVersion: r.OptionalNumber("money"), Back: r.OptionalNumber("back"), Failures: r.OptionalNumber("failures"),
		Stuck: r.OptionalFlag("stuck"), Disputed: sale.DisputeState(r.OptionalText("disputed")),
		RefundedAt: r.OptionalTime("refundedAt"),
	}
}

// returnedAttributes are those of what was applied; what is zero is absent.
func returnedAttributes(done sale.Returned) Item {
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
	if !done.RefundedAt.IsZero() {
		it["refundedAt"] = Millis(done.RefundedAt)
	}
	return it
}

// IfMoney is the condition that an item says of an account what was read, with its values.
func IfMoney(was sale.Returned) (condition string, values Item) {
	if was.MoneyVersion == 0 {
		return "attribute_not_exists(#money)", Item{}
	}
	return "#money = :wasMoney", Item{":wasMoney": N(was.MoneyVersion)}
}

// UpdateReturned writes onto an item what follows from the account, if it still says what it was: whatever is written
// of it changes its version or its mark. unread is the condition for an item that need not have been read, because it
// said nothing. others are set with it.
func UpdateReturned(key Item, unread string, was, after sale.Returned, others Item) Update {
	condition, values := IfMoney(was)
	switch {
	case !was.RefundedAt.IsZero():
		condition += " AND #refundedAt = :wasRefundedAt"
		values[":wasRefundedAt"] = Millis(was.RefundedAt)
	case was.MoneyVersion == 0:
		condition = unread + " AND " + condition + " AND attribute_not_exists(#refundedAt)"
	default:
		condition += " AND attribute_not_exists(#refundedAt)"
	}
	attributes := returnedAttributes(after)
	u := Update{Key: key, If: condition, Values: values, ReturnOld: true}
	var gone []string
	held := returnedAttributes(was)
	for _, name := range slices.Sorted(maps.Keys(held)) {
		switch {
		case !Has(attributes, name):
			gone = append(gone, "#"+name)
		case reflect.DeepEqual(attributes[name], held[name]):
			delete(attributes, name)
		}
	}
	if after.RefundedAt.IsZero() && !was.RefundedAt.IsZero() {
		gone = append(gone, "#refundedBy")
	}
	maps.Copy(attributes, others)
	if u.set(attributes); len(gone) > 0 {
		u.Expr += " REMOVE " + strings.Join(gone, ", ")
	}
	return u
}

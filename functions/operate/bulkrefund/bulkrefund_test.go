package bulkrefund

import (
	"strings"
	"testing"
	"time"

	"flashsale/shared/sale"
)

func TestAFileHasWhatIsDueAndNothingThatCouldBeAnotherPayments(t *testing.T) {
	const byHand, none = "by hand", ""
	weChat := "523415642750058497,1499.00,order 523415642750058497,flashsale-4200000000000000001"
	for name, tt := range map[string]struct {
		change func(*sale.Refund)
		want   string
	}{
		"of a recalled sale":               {func(r *sale.Refund) {}, weChat},
		"of a cancelled order":             {func(r *sale.Refund) { r.Reason = sale.RefundCancelled }, weChat},
		"of a released order":              {func(r *sale.Refund) { r.Reason = sale.RefundReleased }, weChat},
		"one fen":                          {func(r *sale.Refund) { r.Amount = 1 }, strings.Replace(weChat, "1499.00", "0.01", 1)},
		"after two that failed":            {func(r *sale.Refund) { r.Failures = 2 }, weChat + "-2"},
		"after a dispute that was won":     {func(r *sale.Refund) { r.Disputed = sale.DisputeWon }, weChat},
		"of an order that another paid":    {func(r *sale.Refund) { r.Reason = sale.RefundOtherPayment }, byHand},
		"of another amount than the price": {func(r *sale.Refund) { r.Reason = sale.RefundAmount }, byHand},
		"of an unknown order":              {func(r *sale.Refund) { r.Reason = sale.RefundUnknownOrder }, byHand},
		"in another currency":              {func(r *sale.Refund) { r.Currency = "HKD" }, byHand},
		"a part is back":                   {func(r *sale.Refund) { r.Back = 1 }, byHand},
		"WeChat Pay waits":                 {func(r *sale.Refund) { r.Stuck = true }, byHand},
		"a reference with a cell":          {func(r *sale.Refund) { r.Payment = "wechat-pay#42,=1+1" }, byHand},
		"a reference with a line":          {func(r *sale.Refund) { r.Payment = "wechat-pay#42\n43" }, byHand},
		"marked":                           {func(r *sale.Refund) { r.RefundedAt = time.Unix(1, 0) }, none},
		"disputed":                         {func(r *sale.Refund) { r.Disputed = sale.DisputeOpen }, none},
		"lost in a dispute":                {func(r *sale.Refund) { r.Disputed = sale.DisputeLost }, none},
		"sent, and unknown":                {func(r *sale.Refund) { r.Sent.State = sale.SentUnknown }, none},
		"sent, and accepted":               {func(r *sale.Refund) { r.Sent.State = sale.SentAccepted }, none},
		"of nothing":                       {func(r *sale.Refund) { r.Amount = 0 }, none},
		"of Adyen":                         {func(r *sale.Refund) { r.Payment, r.Reason = "adyen#NC6HT9CRT65ZGN82", sale.RefundAmount }, "NC6HT9CRT65ZGN82,cancelOrRefund"},
		"of Adyen, named by hand":          {func(r *sale.Refund) { r.Payment = "adyen#=1+1" }, byHand},
		"of Adyen, a part is back":         {func(r *sale.Refund) { r.Payment, r.Back = "adyen#NC6HT9CRT65ZGN82", 1 }, byHand},
		"of Stripe":                        {func(r *sale.Refund) { r.Payment = "stripe#pi_1" }, none},
	} {
		r := sale.Refund{SaleID: "moutai", Payment: "wechat-pay#4200000000000000001", OrderID: 523415642750058497, Reason: sale.RefundRecalled, Amount: 149900, Currency: "CNY"}
		tt.change(&r)
		got, hand := Line(r)
		if hand {
			got += byHand
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

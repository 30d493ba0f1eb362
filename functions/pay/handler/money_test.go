package handler

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/shared/ledger"
	"flashsale/shared/sale"
)

// toldLedger is told of money, and answers with what it is given.
type toldLedger struct {
	Ledger
	heard []sale.MoneyReport
	taken ledger.MoneyTaken
	err   error
}

func (l *toldLedger) ReportMoney(_ context.Context, m sale.MoneyReport) (ledger.MoneyTaken, error) {
	l.heard = append(l.heard, m)
	return l.taken, l.err
}

// moneyFate is a webhook about money, what it reports and what it is counted as if its payment is recorded.
type moneyFate struct {
	sent
	want   sale.MoneyReport
	result string
}

func refundOf(id string, state sale.RefundState, amount int64) sale.MoneyReport {
	return sale.MoneyReport{Currency: "CNY", Refund: &sale.RefundReport{ID: id, State: state, Amount: amount}, MayBeOurs: true}
}

func disputeOf(id string, state sale.DisputeState, rank int64) sale.MoneyReport {
	return sale.MoneyReport{Dispute: &sale.DisputeReport{ID: id, State: state, Rank: rank}, MayBeOurs: true}
}

func stripeMoneyFates() map[string]moneyFate {
	const second = 1767225606
	of := func(kind, more, result string, want sale.MoneyReport) moneyFate {
		want.At = time.Unix(second, 0).UTC()
		return moneyFate{sent{Stripe, stripesMoney(kind, more), nil}, want, result}
	}
	total := func(amount int64, mayBeOurs bool) sale.MoneyReport {
		return sale.MoneyReport{Currency: "CNY", Total: &sale.TotalReport{Amount: amount}, MayBeOurs: mayBeOurs}
	}
	done, failed := refundOf("re_1", sale.RefundDone, 100), refundOf("re_1", sale.RefundFailed, 100)
	crowns := done
	crowns.Currency, crowns.Refund = "ISK", &sale.RefundReport{ID: "re_1", State: sale.RefundDone, Amount: 1}
	const partly = `"amount":150000,"amount_captured":149900,"amount_refunded":250`
	all := map[string]moneyFate{
		"a refund":                           of("refund.created", "", "refunded", done),
		"a refund that was pending":          of("refund.updated", "", "refunded", done),
		"a refund with metadata":             of("refund.created", `"metadata":{"order_id":"6735"}`, "refunded", done),
		"a refund in hundredths":             of("refund.created", `"currency":"isk"`, "refunded", crowns),
		"a failure":                          of("refund.failed", "", "refund-failed", failed),
		"a failure in an update":             of("refund.updated", `"status":"failed"`, "refund-failed", failed),
		"a failure before 2024-10-28":        of("charge.refund.updated", `"status":"failed"`, "refund-failed", failed),
		"a refund that was cancelled":        of("refund.updated", `"status":"canceled"`, "refund-failed", failed),
		"a charge":                           of("charge.refunded", "", "refunded", total(149900, true)),
		"a charge in part":                   of("charge.refunded", `"amount_refunded":100,"refunded":false`, "refunded", total(100, true)),
		"a charge with our metadata":         of("charge.refunded", `"metadata":{"flashsale_sale":"moutai"}`, "refunded", total(149900, true)),
		"a charge with other metadata":       of("charge.refunded", `"metadata":{"invoice":"7"}`, "refunded", total(149900, false)),
		"a charge that was captured in part": of("charge.refunded", partly, "refunded", total(150, true)),
	}
	basil := of("charge.refunded", partly, "refunded", total(250, true))
	basil.body = strings.Replace(basil.body, "2020-08-27", "2025-03-31.basil", 1)
	all["a charge that was captured in part, since 2025-03-31"] = basil
	for status, state := range map[string]sale.DisputeState{
		"warning_needs_response": sale.DisputeAsked, "warning_under_review": sale.DisputeAsked, "warning_closed": sale.DisputeAsked, "prevented": sale.DisputeAsked,
		"needs_response": sale.DisputeOpen, "under_review": sale.DisputeOpen, "won": sale.DisputeWon, "lost": sale.DisputeLost,
	} {
		all["a dispute, "+status] = of("charge.dispute.updated", `"status":"`+status+`"`, "dispute-"+string(state), disputeOf("du_1", state, second))
	}
	all["a fraud warning"] = of("radar.early_fraud_warning.created", `"id":"issfr_1","status":null`, "dispute-asked", disputeOf("issfr_1", sale.DisputeAsked, second))
	return all
}

func wechatMoneyFates() map[string]moneyFate {
	of := func(status, more, result string, want sale.MoneyReport) moneyFate {
		resource := wechatRefunded(`"refund_status":"` + status + `"` + more)
		return moneyFate{sent{WeChatPay, wechatSealed("REFUND."+status, resource, apiV3New, ""), nil}, want, result}
	}
	const id = "50200207182018070300011301001"
	done := refundOf(id, sale.RefundDone, 149900)
	elsewhere, abroad := done, done
	elsewhere.MayBeOurs, abroad.Currency = false, "HKD"
	return map[string]moneyFate{
		"a refund":                     of("SUCCESS", "", "refunded", done),
		"a refund in part":             of("SUCCESS", `,"amount":{"total":149900,"refund":100}`, "refunded", refundOf(id, sale.RefundDone, 100)),
		"a refund of another number":   of("SUCCESS", `,"out_trade_no":"shop-1"`, "refunded", elsewhere),
		"a refund in another currency": of("SUCCESS", `,"amount":{"total":149900,"refund":149900,"currency":"HKD"}`, "refunded", abroad),
		"a refund that is stuck":       of("ABNORMAL", "", "refund-stuck", refundOf(id, sale.RefundStuck, 149900)),
		"a refund that was closed":     of("CLOSED", "", "refund-failed", refundOf(id, sale.RefundFailed, 149900)),
	}
}

func alipayMoneyFates() map[string]moneyFate {
	of := func(amount int64, mayBeOurs bool, changes ...string) moneyFate {
		want := sale.MoneyReport{Currency: "CNY", Total: &sale.TotalReport{Amount: amount, Grows: true}, MayBeOurs: mayBeOurs}
		return moneyFate{alipays("", "", changes...).sent, want, "refunded"}
	}
	abroad := of(100, true, "refund_fee", "1", "trans_currency", "HKD")
	abroad.want.Currency = "HKD"
	return map[string]moneyFate{
		"a refund in part":               of(149899, true, "refund_fee", "1498.99"),
		"a refund of what is final":      of(50000, true, "refund_fee", "500.00", "trade_status", "TRADE_FINISHED"),
		"a refund of the whole":          of(149900, true, "refund_fee", "1499.00", "trade_status", "TRADE_CLOSED", "gmt_refund", "2026-01-02 10:00:00"),
		"a refund of more than was paid": of(149901, true, "refund_fee", "1499.01"),
		"a refund of something else":     of(149900, false, "refund_fee", "1499", "passback_params", "-"),
		"a refund abroad":                abroad,
	}
}

func adyenMoneyFates() map[string]moneyFate {
	of := func(one members, result string, want sale.MoneyReport) moneyFate {
		return moneyFate{adyens("", "", one).sent, want, result}
	}
	const id = "NC6HT9CRT65ZGN82"
	ours, no := members{"merchantReference": "flashsale-moutai-" + orderText}, members{"success": "false"}
	done, failed := refundOf(id, sale.RefundDone, 149900), refundOf(id, sale.RefundFailed, 149900)
	whole := func(state sale.RefundState) sale.MoneyReport {
		return sale.MoneyReport{Refund: &sale.RefundReport{ID: id, State: state, Whole: true}, MayBeOurs: true}
	}
	pesos := refundOf(id, sale.RefundDone, 1499)
	pesos.Currency = "CLP"
	other := disputeOf(id, sale.DisputeLost, 2)
	other.MayBeOurs = false
	return map[string]moneyFate{
		"a refund":                        of(change("REFUND", nil), "refunded", done),
		"a refund in part":                of(change("REFUND", members{"amount": yuan(1)}), "refunded", refundOf(id, sale.RefundDone, 1)),
		"a refund in hundredths":          of(change("REFUND", members{"amount": members{"currency": "CLP", "value": 149900}}), "refunded", pesos),
		"a refund that was refused":       of(change("REFUND", no), "refund-failed", failed),
		"a refund that failed":            of(change("REFUND_FAILED", nil), "refund-failed", failed),
		"a refund that came again":        of(change("REFUNDED_REVERSED", nil), "refund-failed", failed),
		"a cancellation":                  of(change("CANCELLATION", members{"amount": nil}), "refunded", whole(sale.RefundDone)),
		"a technical cancellation":        of(change("TECHNICAL_CANCEL", nil), "refunded", whole(sale.RefundDone)),
		"a reversal":                      of(change("CANCEL_OR_REFUND", members{"amount": yuan(0)}), "refunded", whole(sale.RefundDone)),
		"a cancellation that was refused": of(change("CANCELLATION", no), "refund-failed", whole(sale.RefundFailed)),
		"a dispute of something else":     of(change("CHARGEBACK", nil), "dispute-lost", other),
		"a dispute":                       of(change("CHARGEBACK", ours), "dispute-lost", disputeOf(id, sale.DisputeLost, 2)),
		"a fraud notice":                  of(change("NOTIFICATION_OF_FRAUD", ours), "dispute-asked", disputeOf(id, sale.DisputeAsked, 0)),
		"a capture that failed":           of(change("CAPTURE_FAILED", ours), "dispute-lost", disputeOf(id, sale.DisputeLost, 0)),
	}
}

// Adyen's documentation has these courses of a dispute; its events may come in any order.
func TestADisputeOfAdyensStandsAsItsLastStageSays(t *testing.T) {
	const reversed = "NOTIFICATION_OF_CHARGEBACK CHARGEBACK INFORMATION_SUPPLIED CHARGEBACK_REVERSED "
	for stages, want := range map[string]sale.DisputeState{
		"NOTIFICATION_OF_FRAUD": sale.DisputeAsked, "REQUEST_FOR_INFORMATION INFORMATION_SUPPLIED DISPUTE_DEFENSE_PERIOD_ENDED": sale.DisputeAsked,
		"NOTIFICATION_OF_CHARGEBACK INFORMATION_SUPPLIED": sale.DisputeOpen, "DISPUTE_OPENED_WITH_CHARGEBACK ISSUER_COMMENTS": sale.DisputeOpen,
		"NOTIFICATION_OF_CHARGEBACK CHARGEBACK DISPUTE_DEFENSE_PERIOD_ENDED": sale.DisputeLost, reversed: sale.DisputeWon,
		reversed + "ISSUER_RESPONSE_TIMEFRAME_EXPIRED": sale.DisputeWon, reversed + "SECOND_CHARGEBACK": sale.DisputeLost,
		reversed + "PREARBITRATION_WON": sale.DisputeWon, reversed + "PREARBITRATION_LOST": sale.DisputeLost,
		reversed + "PREARBITRATION_OPEN": sale.DisputeOpen, reversed + "PREARBITRATION_OPEN PREARBITRATION_ACCEPTED": sale.DisputeLost,
		reversed + "PREARBITRATION_OPEN PREARBITRATION_DECLINED":                                            sale.DisputeOpen,
		reversed + "PREARBITRATION_OPEN PREARBITRATION_DECLINED PREARBITRATION_ISSUER_WITHDRAWN":            sale.DisputeWon,
		reversed + "PREARBITRATION_OPEN PREARBITRATION_DECLINED SCHEME_ARBITRATION":                         sale.DisputeOpen,
		reversed + "PREARBITRATION_OPEN PREARBITRATION_DECLINED SCHEME_ARBITRATION SCHEME_ARBITRATION_WON":  sale.DisputeWon,
		reversed + "PREARBITRATION_OPEN PREARBITRATION_DECLINED SCHEME_ARBITRATION SCHEME_ARBITRATION_LOST": sale.DisputeLost,
	} {
		codes := strings.Fields(stages)
		for range 2 {
			var account sale.Account
			for _, code := range codes {
				i := adyenItem{EventCode: code, PSPReference: "dispute", OriginalReference: "payment"}
				account.Take(*i.money(disputed), time.Time{})
			}
			if got := account.Disputed(); got != want {
				t.Errorf("%s: the dispute is %s, want %s", codes, got, want)
			}
			slices.Reverse(codes)
		}
	}
}

func standardMoneyFates() map[string]moneyFate {
	minute := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC)
	of := func(kind, more, result string, want sale.MoneyReport) moneyFate {
		want.At = minute
		return moneyFate{sent{StandardWebhooks, standardMoney(kind, more), nil}, want, result}
	}
	rank := minute.UnixMilli()
	return map[string]moneyFate{
		"a refund":               of("refund.succeeded", "", "refunded", refundOf("r_1", sale.RefundDone, 149900)),
		"a refund in part":       of("refund.succeeded", `"amount":1,"currency":"cny"`, "refunded", refundOf("r_1", sale.RefundDone, 1)),
		"a failure":              of("refund.failed", "", "refund-failed", refundOf("r_1", sale.RefundFailed, 149900)),
		"a dispute":              of("dispute.opened", "", "dispute-open", disputeOf("d_1", sale.DisputeOpen, rank)),
		"a dispute that is won":  of("dispute.won", "", "dispute-won", disputeOf("d_1", sale.DisputeWon, rank)),
		"a dispute that is lost": of("dispute.lost", "", "dispute-lost", disputeOf("d_1", sale.DisputeLost, rank)),
	}
}

func TestWhatAProviderSaysOfMoneyIsReportedAndCounted(t *testing.T) {
	for provider, fates := range map[string]map[string]moneyFate{
		Stripe: stripeMoneyFates(), WeChatPay: wechatMoneyFates(), Alipay: alipayMoneyFates(), Adyen: adyenMoneyFates(), StandardWebhooks: standardMoneyFates(),
	} {
		in(t, func(t *testing.T, f *function) {
			for name, w := range fates {
				l := &toldLedger{taken: ledger.MoneyTaken{Recorded: true, SaleID: "moutai", New: true}}
				f.over(l)
				want := w.want
				want.Provider, want.Reference = provider, references[provider]
				r := f.Ask(t, t.Context(), f.request(w.sent, time.Now()))
				isAnswered(t, provider+", "+name, fate{w.sent, w.result, "", nil}, r, 0)
				if len(l.heard) != 1 || !reflect.DeepEqual(l.heard[0], want) {
					t.Errorf("%s, %s: reported is %+v, want %+v", provider, name, l.heard, want)
				}
				line := map[string]any{"result": w.result, "provider": provider, "payment": references[provider], "saleId": "moutai"}
				if want.Refund != nil {
					line["refund"] = want.Refund.ID
				}
				if want.Dispute != nil {
					line["dispute"] = want.Dispute.ID
				}
				for field, value := range line {
					if got := f.Logged(t, field); got != value {
						t.Errorf("%s, %s: the line's %s is %v, want %v", provider, name, field, got, value)
					}
				}
			}
		})
	}
}

func TestAReportOfMoneyIsCountedByWhatBecameOfIt(t *testing.T) {
	report := func(more string) string { return stripesMoney("refund.failed", more) }
	recorded := func(t ledger.MoneyTaken) ledger.MoneyTaken { t.Recorded, t.SaleID = true, "moutai"; return t }
	for name, tt := range map[string]struct {
		taken        ledger.MoneyTaken
		err          error
		body         string
		status       int
		told, result string
		uncounted    any
	}{
		"new":                      {recorded(ledger.MoneyTaken{New: true}), nil, report(""), 200, `{"outcome":"refund-failed"}`, "refund-failed", nil},
		"said before":              {recorded(ledger.MoneyTaken{}), nil, report(""), 200, `{"outcome":"refund-failed"}`, "repeated", nil},
		"of a payment to come":     {ledger.MoneyTaken{Kept: true, New: true}, nil, report(""), 200, `{"outcome":"kept"}`, "kept", nil},
		"of something else":        {ledger.MoneyTaken{}, nil, report(""), 200, `{"outcome":"ignored"}`, "ignored", nil},
		"one of too many":          {recorded(ledger.MoneyTaken{New: true, TooMany: true}), nil, report(""), 200, `{"outcome":"refund-failed"}`, "refund-failed", 1.0},
		"whose items are not seen": {recorded(ledger.MoneyTaken{}), sale.Fail(sale.Busy, errors.New("later")), report(""), 503, `"code":"busy"`, "busy", nil},
		"of no refund":             {ledger.MoneyTaken{}, nil, report(`"id":""`), 400, "the report has no valid refund id", "invalid-request", nil},
		"of a fraction":            {ledger.MoneyTaken{}, nil, report(`"currency":"isk","amount":50`), 400, "a multiple of 100", "invalid-request", nil},
		"of 1970":                  {ledger.MoneyTaken{}, nil, strings.Replace(report(""), `,"created":1767225606`, "", 1), 400, "not of this time", "invalid-request", nil},
	} {
		in(t, func(t *testing.T, f *function) {
			f.over(&toldLedger{taken: tt.taken, err: tt.err})
			r := f.reports(Stripe, tt.body)
			if r.StatusCode != tt.status || !strings.Contains(r.Body, tt.told) {
				t.Errorf("%s: answered %d %s, want %d %s", name, r.StatusCode, r.Body, tt.status, tt.told)
			}
			if got, uncounted := f.Logged(t, "result"), f.Logged(t, "moneyUncounted"); got != tt.result || uncounted != tt.uncounted {
				t.Errorf("%s: counted as %v, uncounted %v, want %s, %v", name, got, uncounted, tt.result, tt.uncounted)
			}
		})
	}
}

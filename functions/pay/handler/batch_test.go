package handler

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"flashsale/infra/kit/testledger"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// batched is a provider that sends these reports, and is answered in its own form.
func batched(reports ...report) provider {
	return provider{
		verify: func(*httpapi.Request, []byte) error { return nil },
		read:   func([]byte) ([]report, error) { return reports, nil },
		answer: func(_ outcome, err error) httpapi.Response {
			if err == nil {
				return httpapi.JSON(http.StatusOK, "accepted")
			}
			return httpapi.JSON(told(err))
		},
	}
}

// A batch is taken only when every report of it is: the provider repeats all of it, and what was recorded stays.
func TestEachReportOfABatchIsRecordedAndCountedAndOneThatFailsHasItRepeated(t *testing.T) {
	order := func(reference string) sale.Payment {
		id, _ := orderid.Parse(orderText)
		return sale.Payment{Reference: reference, SaleID: testledger.SaleID, OrderID: id, Amount: 149900, Currency: "CNY"}
	}
	pays, again, elsewhere := report{payment: order("p_1"), about: ours}, report{payment: order("p_2"), about: ours}, report{about: disputed}
	wrong := report{payment: order(" p_3"), about: ours}
	for name, tt := range map[string]struct {
		reports []report
		answer  string
		status  int
		results []string
	}{
		"all are taken":             {[]report{pays, again, elsewhere}, `"accepted"`, 200, []string{"paid", "refund-due", "ignored-disputed"}},
		"one twice":                 {[]report{pays, pays}, `"accepted"`, 200, []string{"paid", "repeated"}},
		"one cannot be":             {[]report{wrong, pays}, `"invalid-request: the payment has no valid reference"`, 400, []string{"invalid-request", "paid"}},
		"none, of which one is new": {[]report{wrong, wrong}, `"invalid-request: the payment has no valid reference"`, 400, []string{"invalid-request", "invalid-request"}},
	} {
		owing(t, func(t *testing.T, f *function) {
			f.providers["many"] = batched(tt.reports...)
			raw, err := f.Handler.Invoke(t.Context(), post(t, "many", "{}", nil))
			var r httpapi.Response
			if err := errors.Join(err, json.Unmarshal(raw, &r)); err != nil || r.StatusCode != tt.status || r.Body != tt.answer {
				t.Errorf("%s: %d %s (%v), want %d %s", name, r.StatusCode, r.Body, err, tt.status, tt.answer)
			}
			var results []string
			lines := strings.Split(strings.TrimSpace(f.Log.String()), "\n")
			for _, text := range lines {
				var line struct {
					Result, Message, Provider string
					Payments, Reports         int
				}
				if err := json.Unmarshal([]byte(text), &line); err != nil || line.Provider != "many" {
					t.Errorf("%s: a line is %s (%v)", name, text, err)
				}
				if line.Message == "pay" && (line.Reports != len(tt.reports) || line.Payments != 0) {
					t.Errorf("%s: the batch's line is %s", name, text)
				}
				if line.Payments == 1 {
					results = append(results, line.Result)
				}
			}
			if !slices.Equal(results, tt.results) || len(lines) != len(results)+1 {
				t.Errorf("%s: counted are %q, want %q, in\n%s", name, results, tt.results, &f.Log)
			}
		})
	}
}

// What is told in the provider's form has the status of the problem that others get, and nothing of an error's cause.
func TestAProviderWithAnAnswerOfItsOwnIsToldNothingElse(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*function)
		status int
		answer string
	}{
		"a single report":   {func(*function) {}, 200, `"accepted"`},
		"the table is busy": {func(f *function) { f.Throttles() }, 503, `"busy"`},
		"a foreign error":   {func(f *function) { f.over(f.Nowhere()) }, 500, `"internal"`},
		"a panic":           {func(f *function) { f.Burns() }, 500, `"internal"`},
	} {
		owing(t, func(t *testing.T, f *function) {
			f.providers["many"] = batched(report{payment: sale.Payment{Reference: "p_1", SaleID: "x", Currency: "CNY"}, about: ours})
			tt.change(f)
			r := f.Ask(t, t.Context(), post(t, "many", "{}", nil))
			if r.StatusCode != tt.status || r.Body != tt.answer {
				t.Errorf("%s: %d %s, want %d %s", name, r.StatusCode, r.Body, tt.status, tt.answer)
			}
		})
	}
}

// What an operator has to look at, because money moved or a signed payment was refused, is one payment at the provider.
func TestTheLogNamesThePaymentOfWhatSomebodyMustLookAt(t *testing.T) {
	const theirs = "4200000914202611110000000001"
	names := func(t *testing.T, f *function, name, result, payment string) {
		t.Helper()
		if f.Logged(t, "result") != result || f.Logged(t, "payment") != payment {
			t.Errorf("%s: counted as %v of payment %v, want %s of %s", name, f.Logged(t, "result"), f.Logged(t, "payment"), result, payment)
		}
	}
	wechat(t, func(t *testing.T, f *function) {
		more := `"transaction_id":"` + theirs + `"`
		for _, tt := range []struct {
			wechatNotice
			result string
		}{
			{wechatRefunded("REFUND.ABNORMAL", more), "ignored-not-back"},
			{wechatRefunded("REFUND.CLOSED", more), "ignored-not-back"},
			{wechatPaid(more + `,"appid":"wx0000000000000000"`), "invalid-request"},
			{wechatPaid(more + `,"mchid":"1"`), "invalid-request"},
		} {
			f.Ask(t, t.Context(), tt.request(t))
			names(t, f, "WeChat Pay, "+tt.event, tt.result, theirs)
		}
	})
	in(t, func(t *testing.T, f *function) {
		for _, tt := range []struct{ field, value, result string }{
			{"refund_fee", "0.01", "ignored-refunded"},
			{"app_id", "1", "invalid-request"},
			{"seller_id", "1", "invalid-request"},
			{"trans_currency", "USD", "invalid-request"},
		} {
			f.notified(rsa2(alipayKeys()[1], trade("trade_no", theirs, tt.field, tt.value)))
			names(t, f, "Alipay, "+tt.field, tt.result, theirs)
		}
		for kind, result := range map[string]string{
			"charge.dispute.created": "ignored-disputed", "refund.created": "ignored-refunded", "refund.failed": "ignored-not-back", "charge.refunded": "ignored-refunded",
		} {
			f.reports(Stripe, strings.Replace(session(""), "checkout.session.completed", kind, 1))
			names(t, f, "Stripe, "+kind, result, "pi_1")
		}
	})
	owing(t, func(t *testing.T, f *function) {
		for code, result := range map[string]string{"REFUND_FAILED": "ignored-not-back", "CAPTURE_FAILED": "ignored-disputed", "CHARGEBACK": "ignored-disputed"} {
			one := change(code, nil)
			f.adyens(adyensBody(adyenNew, "false", one))
			names(t, f, "Adyen, "+code, result, one["originalReference"].(string))
		}
	}, adyens("AUTHORISATION")...)
}

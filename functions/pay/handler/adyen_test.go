package handler

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/sale"
)

// The HMAC keys in use, as during a rotation: Adyen's Customer Area shows capitals.
const (
	adyenOld = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
	adyenNew = "11223344d785fbae710e7f943f307971bb61b21281c98c9129b3d4018a57b2eb"
)

// adyens are the settings of a shop whose payments are paid by that event.
func adyens(paidBy string) []string {
	return []string{"ADYEN_SECRETS",
		`{"hmacKeys":["` + adyenOld + `","` + adyenNew + `"],"merchantAccounts":["ShopPOS","ShopECOM"],"live":false,"paidBy":"` + paidBy + `"}`}
}

// item is an item of Adyen's webhook before it is signed: the payment of alice's order, with what is set instead.
func item(set map[string]any) map[string]any {
	all := map[string]any{
		"additionalData": map[string]any{"authCode": "1234", "cardSummary": "7777"}, "amount": map[string]any{"currency": "CNY", "value": 149900},
		"eventCode": "AUTHORISATION", "eventDate": "2026-01-01T00:01:00+01:00", "merchantAccountCode": "ShopECOM",
		"merchantReference": "flashsale-moutai-" + orderText, "operations": []string{"CANCEL", "CAPTURE", "REFUND"}, "paymentMethod": "visa",
		"pspReference": "QFQTPCQ8HXSKGK82", "reason": "1234:7777:03/2030", "success": "true",
	}
	for name, value := range set {
		all[name] = value
	}
	return all
}

// change is a modification of the payment, in another event and with another reference of the shop's, if any.
func change(code string, set map[string]any) map[string]any {
	all := item(map[string]any{"eventCode": code, "originalReference": "QFQTPCQ8HXSKGK82", "pspReference": "NC6HT9CRT65ZGN82", "merchantReference": "change-1"})
	for name, value := range set {
		all[name] = value
	}
	return all
}

func yuan(value int64) map[string]any { return map[string]any{"currency": "CNY", "value": value} }

// adyensBody is a webhook with the items, each signed with the key.
func adyensBody(key, live string, items ...map[string]any) string {
	var wrapped []any
	for _, i := range items {
		var fields []string
		amount, _ := i["amount"].(map[string]any)
		for _, value := range []any{i["pspReference"], i["originalReference"], i["merchantAccountCode"], i["merchantReference"],
			amount["value"], amount["currency"], i["eventCode"], i["success"]} {
			if value == nil {
				value = ""
			}
			fields = append(fields, fmt.Sprint(value))
		}
		raw, _ := hex.DecodeString(key)
		mac := hmac.New(sha256.New, raw)
		mac.Write([]byte(strings.Join(fields, ":")))
		more, _ := i["additionalData"].(map[string]any)
		if more == nil {
			more = map[string]any{}
		}
		if key != "" {
			more["hmacSignature"] = base64.StdEncoding.EncodeToString(mac.Sum(nil))
		}
		i["additionalData"] = more
		wrapped = append(wrapped, map[string]any{"NotificationRequestItem": i})
	}
	text, _ := json.Marshal(map[string]any{"live": live, "notificationItems": wrapped})
	return string(text)
}

func (f *function) adyens(body string) httpapi.Response {
	f.T.Helper()
	return f.Ask(f.T, f.T.Context(), post(f.T, Adyen, body, nil))
}

func TestAPaymentOfAdyensIsRecordedAsItsItemSays(t *testing.T) {
	indented := func(body string) string {
		var all any
		_ = json.Unmarshal([]byte(body), &all)
		text, _ := json.MarshalIndent(all, "", "  ")
		return string(text)
	}
	for name, tt := range map[string]struct{ body, paidBy string }{
		"an authorisation":                   {adyensBody(adyenNew, "false", item(nil)), "AUTHORISATION"},
		"by the key that ends":               {adyensBody(adyenOld, "false", item(nil)), "AUTHORISATION"},
		"of the other account":               {adyensBody(adyenNew, "false", item(map[string]any{"merchantAccountCode": "ShopPOS"})), "AUTHORISATION"},
		"pretty-printed on the way":          {indented(adyensBody(adyenNew, "false", item(nil))), "AUTHORISATION"},
		"an amount as JavaScript scales it":  {strings.Replace(adyensBody(adyenNew, "false", item(nil)), "149900", "1.499e5", 1), "AUTHORISATION"},
		"with an empty original reference":   {adyensBody(adyenNew, "false", item(map[string]any{"originalReference": ""})), "AUTHORISATION"},
		"with none, said as null":            {adyensBody(adyenNew, "false", item(map[string]any{"originalReference": nil})), "AUTHORISATION"},
		"a capture":                          {adyensBody(adyenNew, "false", change("CAPTURE", map[string]any{"merchantReference": "flashsale-moutai-" + orderText})), "CAPTURE"},
		"a capture whose authorisation lost": {adyensBody(adyenNew, "false", change("CAPTURE", map[string]any{"merchantReference": "flashsale-moutai-" + orderText})), "AUTHORISATION"},
	} {
		owing(t, func(t *testing.T, f *function) {
			for _, result := range []string{"paid", "repeated"} {
				r := f.adyens(tt.body)
				if r.StatusCode != 200 || r.Body != "[accepted]" || r.Headers.ContentType != "text/plain" || f.Logged(t, "result") != result {
					t.Errorf("%s: %d %s, counted as %v, want %s", name, r.StatusCode, r.Body, f.Logged(t, "result"), result)
				}
			}
			if c := f.Claim("alice"); c.State() != sale.Paid || c.Payment != "adyen#QFQTPCQ8HXSKGK82" {
				t.Errorf("%s: the claim is %s by %q", name, c.State(), c.Payment)
			}
			if f.Logged(t, "orderId") != orderText || f.Logged(t, "saleId") != "moutai" {
				t.Errorf("%s: the line is %s", name, &f.Log)
			}
		}, adyens(tt.paidBy)...)
	}
}

// Of the body only the eight signed values of an item decide (P25).
func TestAnItemOfAdyensWithoutAValidSignatureReachesNoTable(t *testing.T) {
	good := adyensBody(adyenNew, "false", item(nil))
	for name, body := range map[string]string{
		"unsigned":              adyensBody("", "false", item(nil)),
		"an unknown key":        adyensBody(strings.Repeat("00", 32), "false", item(nil)),
		"another amount":        strings.Replace(good, "149900", "1", 1),
		"another currency":      strings.Replace(good, "CNY", "JPY", 1),
		"another order":         strings.Replace(good, orderText, "5", 1),
		"another account":       strings.Replace(good, "ShopECOM", "ShopPOS", 1),
		"another event":         strings.Replace(good, "AUTHORISATION", "CAPTURE", 1),
		"another success":       strings.Replace(adyensBody(adyenNew, "false", item(map[string]any{"success": "false"})), `"success":"false"`, `"success":"true"`, 1),
		"another reference":     strings.Replace(good, "QFQTPCQ8HXSKGK82", "QFQTPCQ8HXSKGK83", 1),
		"an original reference": strings.Replace(good, `"operations"`, `"originalReference":"NC6HT9CRT65ZGN82","operations"`, 1),
		"no items":              `{"live":"false","notificationItems":[]}`,
		"an item of nothing":    `{"live":"false","notificationItems":[{}]}`,
		"one of two is not": strings.Replace(adyensBody(adyenNew, "false", item(nil), item(map[string]any{"pspReference": "NC6HT9CRT65ZGN82"})),
			"NC6HT9CRT65ZGN82", "NC6HT9CRT65ZGN83", 1),
		"a form": "live=false&pspReference=QFQTPCQ8HXSKGK82", "nothing": "",
	} {
		owing(t, func(t *testing.T, f *function) {
			calls := f.Calls(func() {
				if r := f.adyens(body); r.StatusCode != 400 || !strings.Contains(r.Body, "no valid signature") {
					t.Errorf("%s: %d %s", name, r.StatusCode, r.Body)
				}
			})
			if calls > 0 || f.Logged(t, "result") != "unverified" || strings.Contains(f.Log.String(), "QFQTPCQ8") {
				t.Errorf("%s: %d calls, the line is %s", name, calls, &f.Log)
			}
		}, adyens("AUTHORISATION")...)
	}
}

// An unsigned field decides nothing, whatever it says.
func TestWhatAdyenDoesNotSignDecidesNothing(t *testing.T) {
	owing(t, func(t *testing.T, f *function) {
		body := adyensBody(adyenNew, "false", item(map[string]any{
			"additionalData": map[string]any{"metadata.flashsale_order": "5", "modification.action": "refund", "hmacSignature": ""},
			"eventDate":      "2016-01-01T00:00:00Z", "reason": "refused", "paymentMethod": nil, "operations": nil,
		}))
		if r := f.adyens(body); r.Body != "[accepted]" || f.Logged(t, "result") != "paid" {
			t.Errorf("%d %s, counted as %v", r.StatusCode, r.Body, f.Logged(t, "result"))
		}
	}, adyens("AUTHORISATION")...)
}

func TestAnEventOfAdyensIsAcceptedAndCountedByWhatItIsAbout(t *testing.T) {
	no := map[string]any{"success": "false"}
	type row struct {
		item                 map[string]any
		authorised, captured string // what it counts as, by what pays
	}
	rows := map[string]row{
		"an authorisation":                {item(nil), "paid", "ignored"},
		"one that was refused":            {item(no), "ignored", "ignored"},
		"one of no amount":                {item(map[string]any{"amount": yuan(0)}), "ignored-free", "ignored"},
		"one of something else":           {item(map[string]any{"merchantReference": "invoice-7"}), "ignored", "ignored"},
		"one of no order of the sale":     {item(map[string]any{"merchantReference": "flashsale-moutai"}), "refund-due", "ignored"},
		"one of another sum":              {item(map[string]any{"amount": yuan(1499)}), "refund-due", "ignored"},
		"one in another currency":         {item(map[string]any{"amount": map[string]any{"currency": "HKD", "value": 149900}}), "refund-due", "ignored"},
		"a capture that names the order":  {change("CAPTURE", map[string]any{"merchantReference": "flashsale-moutai-" + orderText}), "paid", "paid"},
		"a capture that names none":       {change("CAPTURE", map[string]any{"merchantReference": nil}), "ignored", "ignored-charge"},
		"a capture that was refused":      {change("CAPTURE", no), "ignored", "ignored"},
		"a capture that failed later":     {change("CAPTURE_FAILED", nil), "ignored-disputed", "ignored-disputed"},
		"a cancellation":                  {change("CANCELLATION", nil), "ignored-refunded", "ignored"},
		"a cancellation that was refused": {change("CANCELLATION", no), "ignored", "ignored"},
		"a technical cancellation":        {change("TECHNICAL_CANCEL", nil), "ignored-refunded", "ignored"},
		"what rests of it has expired":    {item(map[string]any{"eventCode": "EXPIRE"}), "ignored-refunded", "ignored"},
		"a refund of no order":            {change("REFUND", nil), "ignored-refunded", "ignored-refunded"},
		"a refund of no whole unit":       {change("REFUND", map[string]any{"amount": map[string]any{"currency": "ISK", "value": 1}}), "ignored-refunded", "ignored-refunded"},
		"a refund with a colon":           {change("REFUND", map[string]any{"merchantReference": "a:b"}), "ignored-refunded", "ignored-refunded"},
		"a refund that was refused":       {change("REFUND", no), "ignored-not-back", "ignored-not-back"},
		"a refund that failed later":      {change("REFUND_FAILED", nil), "ignored-not-back", "ignored-not-back"},
		"a refund that came again":        {change("REFUNDED_REVERSED", nil), "ignored-not-back", "ignored-not-back"},
		"a refund without a payment":      {change("REFUND_WITH_DATA", nil), "ignored-refunded", "ignored-refunded"},
		"a dispute that begins":           {change("NOTIFICATION_OF_CHARGEBACK", nil), "ignored-disputed", "ignored-disputed"},
		"a chargeback":                    {change("CHARGEBACK", nil), "ignored-disputed", "ignored-disputed"},
		"one that is arbitrated":          {change("SCHEME_ARBITRATION_LOST", nil), "ignored-disputed", "ignored-disputed"},
		"a dispute's end":                 {change("DISPUTE_DEFENSE_PERIOD_ENDED", nil), "ignored-disputed", "ignored-disputed"},
		"an order of gift cards":          {item(map[string]any{"eventCode": "ORDER_CLOSED"}), "ignored", "ignored"},
		"a report":                        {item(map[string]any{"eventCode": "REPORT_AVAILABLE", "pspReference": "settlement.csv"}), "ignored", "ignored"},
		"an event that nobody knows":      {item(map[string]any{"eventCode": "ALARM_4711"}), "ignored-unknown", "ignored-unknown"},
		"a payment of another account":    {item(map[string]any{"merchantAccountCode": "Other", "merchantReference": "x-1"}), "ignored", "ignored"},
		"a dispute of another account":    {change("CHARGEBACK", map[string]any{"merchantAccountCode": "Other"}), "ignored", "ignored"},
		// A colon in a value may belong to the next one.
		"one with a colon": {item(map[string]any{"merchantReference": "flashsale-moutai-" + orderText + ":1"}), "ignored-charge", "ignored"},
	}
	for paidBy, want := range map[string]func(row) string{
		"AUTHORISATION": func(r row) string { return r.authorised }, "CAPTURE": func(r row) string { return r.captured },
	} {
		for name, tt := range rows {
			owing(t, func(t *testing.T, f *function) {
				r := f.adyens(adyensBody(adyenNew, "false", tt.item))
				if got := f.Logged(t, "result"); r.StatusCode != 200 || r.Body != "[accepted]" || got != want(tt) {
					t.Errorf("%s, paid by %s: %d %s, counted as %v, want %s", name, paidBy, r.StatusCode, r.Body, got, want(tt))
				}
			}, adyens(paidBy)...)
		}
	}
}

// What goes back is known by the payment, not by what the shop calls its refund; a part of it changes nothing.
func TestAPaymentThatAdyenPaysBackIsMarkedAsAWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		item   map[string]any
		result string
	}{
		"a refund of all":     {change("REFUND", nil), "refunded"},
		"a refund of a part":  {change("REFUND", map[string]any{"amount": yuan(1)}), "ignored-refunded"},
		"a refund of nothing": {change("REFUND", map[string]any{"amount": yuan(0)}), "ignored-refunded"},
		"a refund of dollars": {change("REFUND", map[string]any{"amount": map[string]any{"currency": "USD", "value": 149900}}), "ignored-refunded"},
		"one with a colon":    {change("REFUND", map[string]any{"merchantReference": "a:b"}), "ignored-refunded"},
		"a reversal":          {change("CANCEL_OR_REFUND", map[string]any{"amount": yuan(0)}), "refunded"},
		"a cancellation":      {change("CANCELLATION", nil), "refunded"},
	} {
		owing(t, func(t *testing.T, f *function) {
			f.adyens(adyensBody(adyenNew, "false", item(nil)))
			r := f.adyens(adyensBody(adyenNew, "false", tt.item))
			if got := f.Logged(t, "result"); r.Body != "[accepted]" || got != tt.result {
				t.Errorf("%s: %d %s, counted as %v, want %s", name, r.StatusCode, r.Body, got, tt.result)
			}
			if marked := !f.Claim("alice").RefundedAt.IsZero(); marked != (tt.result == "refunded") {
				t.Errorf("%s: the claim is marked as refunded: %t", name, marked)
			}
		}, adyens("AUTHORISATION")...)
	}
}

// Adyen keeps and repeats what is refused, so that the payment is recorded once the settings are right; what
// names no order of ours is accepted, because a company's webhook has the payments of all its accounts.
func TestAPaymentOfAnOrderElsewhereIsRefused(t *testing.T) {
	for name, tt := range map[string]struct{ body, said string }{
		"another merchant account": {adyensBody(adyenNew, "false", item(map[string]any{"merchantAccountCode": "Other"})), "another merchant account or environment"},
		"live":                     {adyensBody(adyenNew, "true", item(nil)), "another merchant account or environment"},
		"an amount of no whole unit": {adyensBody(adyenNew, "false", item(map[string]any{"amount": map[string]any{"currency": "CLP", "value": 150}})),
			"a multiple of 100, as all of Adyen's in CLP"},
		"no amount":    {adyensBody(adyenNew, "false", item(map[string]any{"amount": map[string]any{"currency": "CNY"}})), "cannot be read"},
		"no reference": {adyensBody(adyenNew, "false", item(map[string]any{"pspReference": ""})), "no valid reference"},
	} {
		owing(t, func(t *testing.T, f *function) {
			calls := f.Calls(func() {
				if r := f.adyens(tt.body); r.StatusCode != 400 || !strings.Contains(r.Body, tt.said) || !strings.Contains(r.Body, `"code":"invalid-request"`) {
					t.Errorf("%s: %d %s, want %s", name, r.StatusCode, r.Body, tt.said)
				}
			})
			if calls > 0 || f.Logged(t, "result") != "invalid-request" || f.Logged(t, "payment") == nil && f.Logged(t, "orderId") == nil {
				t.Errorf("%s: %d calls, the line is %s", name, calls, &f.Log)
			}
		}, adyens("AUTHORISATION")...)
	}
}

// A batch is repeated until each of its items is durable.
func TestABatchOfAdyensIsAcceptedWhenEachOfItsItemsIs(t *testing.T) {
	other := item(map[string]any{"merchantReference": "invoice-7", "pspReference": "NC6HT9CRT65ZGN82"})
	elsewhere := item(map[string]any{"merchantAccountCode": "Other", "pspReference": "NC6HT9CRT65ZGN83"})
	for name, tt := range map[string]struct {
		items  []map[string]any
		change func(*function)
		status int
	}{
		"ours and others'":          {[]map[string]any{other, item(nil), change("CHARGEBACK", nil)}, func(*function) {}, 200},
		"one is refused, ours last": {[]map[string]any{elsewhere, other, item(nil)}, func(*function) {}, 400},
		"the table is busy":         {[]map[string]any{item(nil), other}, func(f *function) { f.Throttles() }, 503},
	} {
		owing(t, func(t *testing.T, f *function) {
			tt.change(f)
			body := adyensBody(adyenNew, "false", tt.items...)
			raw, err := f.Handler.Invoke(t.Context(), post(t, Adyen, body, nil))
			var answer httpapi.Response
			if err == nil {
				err = json.Unmarshal(raw, &answer)
			}
			if err != nil || answer.StatusCode != tt.status || (answer.Body == "[accepted]") != (tt.status == 200) {
				t.Errorf("%s: %s (%v), want %d", name, raw, err, tt.status)
			}
			if tt.status == 503 {
				return
			}
			if c := f.Claim("alice"); c.State() != sale.Paid {
				t.Errorf("%s: the order is %s", name, c.State())
			}
		}, adyens("AUTHORISATION")...)
	}
}

// Price 7 of what Adyen counts otherwise, or as here.
func TestAdyensAmountsAreConverted(t *testing.T) {
	for code, amounts := range map[string][2]int64{
		"CLP": {7, 700}, "ISK": {7, 700}, "CVE": {700, 7}, "IDR": {700, 7}, "JPY": {7, 7}, "BHD": {7, 7}, "MGA": {7, 7}, "UGX": {7, 7},
	} {
		in(t, func(t *testing.T, f *function) {
			f.sells(time.Hour, func(c *sale.Creation) { c.Price, c.Currency = amounts[0], code })
			f.confirms()
			f.adyens(adyensBody(adyenNew, "false", item(map[string]any{"amount": map[string]any{"currency": code, "value": amounts[1]}})))
			if got := f.Logged(t, "result"); got != "paid" {
				t.Errorf("%s: %d of Adyen's are counted as %v", code, amounts[1], got)
			}
		}, adyens("AUTHORISATION")...)
	}
}

// The longest id of a sale that fits, with a hyphen within.
func TestTheReferenceNamesASaleWithHyphens(t *testing.T) {
	for reference, want := range map[string]sale.Payment{
		"flashsale-a-b-5":   {SaleID: "a-b", OrderID: 5},
		"flashsale-a-b-x":   {SaleID: "a-b"},
		"flashsale-a-":      {SaleID: "a"},
		"flashsale-5":       {OrderID: 5},
		"flashsale-":        {},
		"flashsale--5":      {OrderID: 5},
		"flashsale-a-b-05":  {SaleID: "a-b"},
		"flashsale-a-b- 5 ": {SaleID: "a-b"},
	} {
		amount := jsonread.Whole(1)
		i := adyenItem{MerchantReference: reference}
		i.Amount.Value, i.Amount.Currency = &amount, "CNY"
		want.Reference, want.Currency, want.Amount = "p", "CNY", 1
		if got, err := i.report(ours, "p"); err != nil || got.payment != want {
			t.Errorf("%s: got %+v (%v), want %+v", reference, got.payment, err, want)
		}
	}
}

func TestSettingsOfAdyenThatCannotBeRightStopTheFunctionAndAreNotQuoted(t *testing.T) {
	good := adyens("CAPTURE")[1]
	for name, text := range map[string]string{
		"a secret of another provider": stripeOld,
		"an unknown member":            strings.Replace(good, `"live"`, `"Live"`, 1),
		"a member that is there twice": strings.Replace(good, `"live"`, `"live":true,"live"`, 1),
		"no key":                       strings.Replace(good, `"`+adyenOld+`","`+adyenNew+`"`, "", 1),
		"a key that is no hex":         strings.Replace(good, "44782DEF", "44782DEG", 1),
		"an odd key":                   strings.Replace(good, "44782DEF", "44782DE", 1),
		"a short key":                  strings.Replace(good, "44782DEF", "", 1),
		"no account":                   strings.Replace(good, `"ShopPOS","ShopECOM"`, "", 1),
		"an empty account":             strings.Replace(good, "ShopPOS", "", 1),
		"no environment":               strings.Replace(good, `"live":false,`, "", 1),
		"an environment as text":       strings.Replace(good, `"live":false`, `"live":"false"`, 1),
		"another event":                strings.Replace(good, "CAPTURE", "capture", 1),
	} {
		t.Setenv("ADYEN_SECRETS", text)
		p, err := ProvidersFromEnv(clock.Wall)
		if p != nil || err == nil || !strings.HasPrefix(err.Error(), "ADYEN_SECRETS: ") || strings.Contains(err.Error(), "2DE") || strings.Contains(err.Error(), "Shop") {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
	t.Setenv("ADYEN_SECRETS", good)
	if p, err := ProvidersFromEnv(clock.Wall); err != nil || p[Adyen].read == nil {
		t.Errorf("%v, %v", p, err)
	}
}

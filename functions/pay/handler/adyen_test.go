package handler

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"flashsale/infra/kit/client/webhook"
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/sale"
)

// The HMAC keys in use, as during a rotation: Adyen's Customer Area shows capitals.
const (
	adyenOld = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
	adyenNew = "11223344d785fbae710e7f943f307971bb61b21281c98c9129b3d4018a57b2eb"
)

// adyenSecrets are the settings of a shop whose payments are paid by that event.
func adyenSecrets(paidBy string) string {
	return `{"hmacKeys":["` + adyenOld + `","` + adyenNew + `"],"merchantAccounts":["ShopPOS","ShopECOM"],"live":false,"paidBy":"` + paidBy + `"}`
}

type members = map[string]any

// item is an item of Adyen's webhook before it is signed: the payment of alice's order, with what is set instead.
func item(set members) members {
	all := members{
		"additionalData": members{"authCode": "1234", "cardSummary": "7777"}, "amount": yuan(149900),
		"eventCode": "AUTHORISATION", "eventDate": "2026-01-01T00:01:00+01:00", "merchantAccountCode": "ShopECOM",
		"merchantReference": "flashsale-moutai-" + orderText, "operations": []string{"CANCEL", "CAPTURE", "REFUND"}, "paymentMethod": "visa",
		"pspReference": "QFQTPCQ8HXSKGK82", "reason": "1234:7777:03/2030", "success": "true",
	}
	maps.Copy(all, set)
	return all
}

// change is a modification of the payment, in another event and with another reference of the shop's, if any.
func change(code string, set members) members {
	all := item(members{"eventCode": code, "originalReference": "QFQTPCQ8HXSKGK82", "pspReference": "NC6HT9CRT65ZGN82", "merchantReference": "change-1"})
	maps.Copy(all, set)
	return all
}

func yuan(value int64) members { return members{"currency": "CNY", "value": value} }

// adyensBody is a webhook with the items, each signed with the key.
func adyensBody(key, live string, items ...members) string {
	body, err := webhook.AdyenWebhook(key, live, items...)
	if err != nil {
		panic(err)
	}
	return string(body)
}

// adyens is what comes of an item.
func adyens(result, says string, one members) fate {
	return fate{sent{Adyen, adyensBody(adyenNew, "false", one), nil}, result, says, nil}
}

// adyenFates are mostly those of a shop whose payments are paid by an AUTHORISATION. Of the body only the eight signed values of an
// item decide (P25).
func adyenFates() map[string]fate {
	of := func(body, result, says string) fate { return fate{sent{Adyen, body, nil}, result, says, nil} }
	good := adyensBody(adyenNew, "false", item(nil))
	unsigned := func(body string) fate { return of(body, "unverified", "no valid signature") }
	var pretty bytes.Buffer
	_ = json.Indent(&pretty, []byte(good), "", "  ")
	const refused, elsewhere = "invalid-request", "another merchant account or environment"
	all := map[string]fate{
		"by the key that ends":              of(adyensBody(adyenOld, "false", item(nil)), "paid", ""),
		"of the other account":              adyens("paid", "", item(members{"merchantAccountCode": "ShopPOS"})),
		"pretty-printed on the way":         of(pretty.String(), "paid", ""),
		"an amount as JavaScript scales it": of(strings.Replace(good, "149900", "1.499e5", 1), "paid", ""),
		"with an empty original reference":  adyens("paid", "", item(members{"originalReference": ""})),
		"with none, said as null":           adyens("paid", "", item(members{"originalReference": nil})),
		"what is not signed": of(strings.NewReplacer("2026-01-01T00", "2016-01-01T00", "1234:7777:03/2030", "refused", `"visa"`, "null",
			`"additionalData":{`, `"additionalData":{"metadata.flashsale_order":"5","modification.action":"refund",`).Replace(good), "paid", ""),

		"unsigned":           unsigned(adyensBody("", "false", item(nil))),
		"an unknown key":     unsigned(adyensBody(strings.Repeat("00", 32), "false", item(nil))),
		"no items":           unsigned(`{"live":"false","notificationItems":[]}`),
		"an item of nothing": unsigned(`{"live":"false","notificationItems":[{}]}`),
		"one of two is not":  unsigned(strings.Replace(adyensBody(adyenNew, "false", item(nil), change("REFUND", nil)), "NC6HT9CRT65ZGN82", "NC6HT9CRT65ZGN83", 1)),
		"a form":             unsigned("live=false&pspReference=QFQTPCQ8HXSKGK82"),
		"nothing":            unsigned(""),

		// Adyen keeps and repeats what is refused, so that the payment is recorded once the settings are right; what
		// names no order of ours is accepted, because a company's webhook has the payments of all its accounts.
		"another merchant account":   adyens(refused, elsewhere, item(members{"merchantAccountCode": "Other"})),
		"live":                       of(adyensBody(adyenNew, "true", item(nil)), refused, elsewhere),
		"an amount of no whole unit": adyens(refused, "a multiple of 100, as all of Adyen's in CLP", item(members{"amount": members{"currency": "CLP", "value": 150}})),
		"no amount":                  adyens(refused, "cannot be read", item(members{"amount": members{"currency": "CNY"}})),
		"no reference":               adyens(refused, "no valid reference", item(members{"pspReference": ""})),
	}
	for old, other := range map[string]string{
		"149900": "1", "CNY": "JPY", orderText: "5", "ShopECOM": "ShopPOS", "AUTHORISATION": "CAPTURE", `"success":"true"`: `"success":"false"`,
		"QFQTPCQ8HXSKGK82": "QFQTPCQ8HXSKGK83", `"operations"`: `"originalReference":"NC6HT9CRT65ZGN82","operations"`,
	} {
		all[other+" instead of "+old] = unsigned(strings.Replace(good, old, other, 1))
	}
	no, ours := members{"success": "false"}, members{"merchantReference": "flashsale-moutai-" + orderText}
	for name, about := range map[string]struct {
		item                 members
		authorised, captured string // what it counts as, by what pays
	}{
		"an authorisation":                {item(nil), "paid", "ignored"},
		"one that was refused":            {item(no), "ignored", "ignored"},
		"one of no amount":                {item(members{"amount": yuan(0)}), "ignored-free", "ignored"},
		"one of something else":           {item(members{"merchantReference": "invoice-7"}), "ignored", "ignored"},
		"one of no order of the sale":     {item(members{"merchantReference": "flashsale-moutai"}), "refund-due", "ignored"},
		"one of another sum":              {item(members{"amount": yuan(1499)}), "refund-due", "ignored"},
		"one in another currency":         {item(members{"amount": members{"currency": "HKD", "value": 149900}}), "refund-due", "ignored"},
		"a capture that names the order":  {change("CAPTURE", ours), "paid", "paid"},
		"a capture that names none":       {change("CAPTURE", members{"merchantReference": nil}), "ignored", "ignored-charge"},
		"a capture that was refused":      {change("CAPTURE", no), "ignored", "ignored"},
		"what rests of it has expired":    {item(members{"eventCode": "EXPIRE"}), "ignored-refunded", "ignored"},
		"a refund of nothing":             {change("REFUND", members{"amount": yuan(0)}), "ignored-refunded", "ignored-refunded"},
		"a refund of an amount unsaid":    {change("REFUND", members{"amount": nil}), "ignored-refunded", "ignored-refunded"},
		"a refund of no whole unit":       {change("REFUND", members{"amount": members{"currency": "ISK", "value": 1}}), "ignored-refunded", "ignored-refunded"},
		"a refund that names no payment":  {change("REFUND", members{"originalReference": nil}), "ignored-refunded", "ignored-refunded"},
		"a cancellation that names none":  {change("CANCELLATION", members{"originalReference": ""}), "ignored-refunded", "ignored"},
		"a refund with a colon":           {change("REFUND", members{"merchantReference": "a:b"}), "ignored-refunded", "ignored-refunded"},
		"a failure that names no payment": {change("REFUND_FAILED", members{"originalReference": nil}), "ignored-not-back", "ignored-not-back"},
		"a dispute that names none":       {item(members{"eventCode": "SECOND_CHARGEBACK"}), "ignored-disputed", "ignored-disputed"},
		"a stage that nobody knows":       {change("CHARGEBACK_ESCALATED", ours), "ignored-disputed", "ignored-disputed"},
		"a cancellation of no payment":    {change("CANCELLATION", nil), "kept", "ignored"},
		"a payment of another account":    {item(members{"merchantAccountCode": "Other", "merchantReference": "x-1"}), "ignored", "ignored"},
		"a dispute of another account":    {change("CHARGEBACK", members{"merchantAccountCode": "Other"}), "ignored", "ignored"},
		"a refund of another account":     {change("REFUND", members{"merchantAccountCode": "Other"}), "ignored", "ignored"},
		// A colon in a value may belong to the next one.
		"one with a colon": {item(members{"merchantReference": "flashsale-moutai-" + orderText + ":1"}), "ignored-charge", "ignored"},
	} {
		all[name] = adyens(about.authorised, "", about.item)
		captured := adyens(about.captured, "", about.item)
		captured.settings = []string{"ADYEN_SECRETS", adyenSecrets("CAPTURE")}
		all[name+", where captures pay"] = captured
	}
	return all
}

// A batch is taken only when each report of it is durable: Adyen repeats all of it, and what was recorded stays.
func TestEachItemOfABatchIsRecordedAndCountedAndOneThatFailsHasItRepeated(t *testing.T) {
	again, wrong := item(members{"pspReference": "NC6HT9CRT65ZGN82"}), item(members{"pspReference": " p_3"})
	other, elsewhere := item(members{"merchantReference": "invoice-7"}), item(members{"merchantAccountCode": "Other"})
	for name, tt := range map[string]struct {
		items   []members
		told    string
		busy    bool
		results []string
	}{
		"all are taken":             {[]members{item(nil), again, change("CHARGEBACK", nil)}, "[accepted]", false, []string{"paid", "refund-due", "dispute-lost"}},
		"one twice":                 {[]members{item(nil), item(nil)}, "[accepted]", false, []string{"paid", "repeated"}},
		"one cannot be":             {[]members{wrong, item(nil)}, "the payment has no valid reference", false, []string{"invalid-request", "paid"}},
		"one is elsewhere":          {[]members{elsewhere, other, item(nil)}, "another merchant account", false, []string{"invalid-request", "ignored", "paid"}},
		"two cannot be":             {[]members{elsewhere, wrong}, "another merchant account", false, []string{"invalid-request", "invalid-request"}},
		"none, of which one is new": {[]members{wrong, wrong}, "the payment has no valid reference", false, []string{"invalid-request", "invalid-request"}},
		"the table is busy":         {[]members{item(nil), other}, `"code":"busy"`, true, []string{"busy", "ignored"}},
	} {
		owing(t, func(t *testing.T, f *function) {
			if tt.busy {
				f.Throttles()
			}
			raw, err := f.Handler.Invoke(t.Context(), post(t, Adyen, adyensBody(adyenNew, "false", tt.items...), nil))
			var r httpapi.Response
			if err == nil {
				err = json.Unmarshal(raw, &r)
			}
			if taken := tt.told == "[accepted]"; err != nil || (r.StatusCode == 200) != taken || (r.Body == tt.told) != taken || !strings.Contains(r.Body, tt.told) {
				t.Errorf("%s: %d %s (%v), want %s", name, r.StatusCode, r.Body, err, tt.told)
			}
			var results []string
			lines := strings.Split(strings.TrimSpace(f.Log.String()), "\n")
			for _, text := range lines {
				var line struct {
					Result, Message, Provider string
					Payments, Reports         int
				}
				if err := json.Unmarshal([]byte(text), &line); err != nil || line.Provider != Adyen {
					t.Errorf("%s: a line is %s (%v)", name, text, err)
				}
				if line.Message == "pay" && (line.Reports != len(tt.items) || line.Payments != 0) {
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
		if got, err := i.payment("p"); err != nil || got.payment != want {
			t.Errorf("%s: got %+v (%v), want %+v", reference, got.payment, err, want)
		}
	}
}

// adyenRefusals are settings of Adyen that cannot be right, and why.
func adyenRefusals() map[string][2]string {
	changed := func(old, other, why string) [2]string {
		return [2]string{strings.Replace(adyenSecrets("CAPTURE"), old, other, 1), why}
	}
	const badKey, blank, none = "an HMAC key is 64 hexadecimal digits", "it has a blank or a line break", "merchantAccounts has none"
	const first, second = "hmacKeys, number 1 of 2: ", "hmacKeys, number 2 of 2: "
	return map[string][2]string{
		"a secret of another provider": {stripeOld, notAdyens},
		"no key":                       changed(`"`+adyenOld+`","`+adyenNew+`"`, "", "hmacKeys has none"),
		"a key that is no hex":         changed("44782DEF", "44782DEG", first+badKey),
		"an odd key":                   changed("44782DEF", "44782DE", first+badKey),
		"a short key":                  changed("44782DEF", "", first+badKey),
		"a second key that is short":   changed("11223344", "", second+badKey),
		"a key with a line break":      changed(adyenNew, adyenNew+`\n`, second+blank),
		"no account":                   changed(`"ShopPOS","ShopECOM"`, "", none),
		"an account with a colon":      changed("ShopECOM", "Shop:ECOM", "merchantAccounts, number 2 of 2: it is not the name of a merchant account"),
		"no environment":               changed(`"live":false,`, "", "live must be true or false"),
	}
}

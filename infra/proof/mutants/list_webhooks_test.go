package mutants

const (
	paymentLink = "functions/query/handler/payment_link.go"
	queryTests  = "./functions/query/handler"

	webhookTests     = "./functions/pay/handler"
	webhookProviders = "functions/pay/handler/providers.go"
	webhookStripe    = "functions/pay/handler/stripe.go"
	webhookStandard  = "functions/pay/handler/standard.go"
	webhookHandler   = "functions/pay/handler/handler.go"
)

// ofWebhooks break the door through which payments come in.
var ofWebhooks = []mutant{
	{"a webhook is read before its signature", "P25", webhookTests, "^TestAWebhookWithout", []edit{{webhookHandler,
		`	if err := p.verify(r, raw); err != nil {
		return outcome{Outcome: unverified}, err
	}
	payment, about, err := p.read(raw)
`, `	payment, about, err := p.read(raw)
`}}},
	{"the signature is over re-encoded JSON", "P25", webhookTests, "^TestAWebhookWithout", []edit{{webhookHandler,
		`p.verify(r, raw)`, `p.verify(r, reencoded(raw))`}, {webhookHandler,
		`// cancel releases`, `func reencoded(raw []byte) []byte {
	var b bytes.Buffer
	_ = json.Compact(&b, raw)
	return b.Bytes()
}

// cancel releases`}, {webhookHandler, `import (
	"context"
`, `import (
	"bytes"
	"context"
	"encoding/json"
`}}},
	{"of several signatures of Stripe only the first counts", "P25", webhookTests, "^TestASignedPayment", []edit{{webhookStripe,
		`webhook.ValidatePayload(body, r.StripeSignature.Value, secret)`,
		`webhook.ValidatePayload(body, strings.Join(append(strings.Split(r.StripeSignature.Value, ","), "", "")[:2], ","), secret)`}}},
	{"of several signatures only the first counts", "P25", webhookTests, "^TestASignedPayment", []edit{{webhookStandard,
		`headers.Set(standardwebhooks.HeaderWebhookSignature, r.WebhookSignature.Value)`,
		`headers.Set(standardwebhooks.HeaderWebhookSignature, strings.Split(r.WebhookSignature.Value, " ")[0])`}}},
	{"the other kind of Stripe's events is ignored", "P24", webhookTests, "^TestAPaymentReportedByTheOtherKind", []edit{{webhookHandler,
		`		return h.otherKind(ctx, payment)
`, `		return outcome{Outcome: ignored}, nil
`}}},
	{"the other kind of Stripe's events is refused although the payment is recorded", "P24", webhookTests, "^TestAPaymentReportedByTheOtherKind", []edit{{webhookHandler,
		`	case recorded:
`, `	case recorded && false:
`}}},
	{"the other kind of Stripe's events is ignored for an order that another payment has paid", "P24", ledgerTests, overFake + "^what_is_recorded", []edit{{"shared/ledger/pay.go",
		`return c.Payment == p.ID(), internalIfMissing(err)`, `return c.Payment != "", internalIfMissing(err)`}}},
	{"both kinds of Stripe's events pay", "P24", webhookTests, "^TestAPaymentReportedByTheOtherKind", []edit{{webhookStripe,
		`		return p, otherKind, nil
`, `		return p, ours, nil
`}}},
	{"Stripe's amounts are taken for ISO 4217's", "P24", webhookTests, "^TestStripesAmounts", []edit{{webhookStripe,
		`currency.FromStripe(int64(*amount), p.Currency)`, `currency.FromStripe(int64(*amount), "")`}}},
	{"an amount that is no whole number of kronur is rounded", "P24", webhookTests, "^TestASignedReport", []edit{{webhookStripe,
		`p.Currency); !isWhole {`, `p.Currency); false && !isWhole {`}}},
	{"a thin event of Stripe is ignored", "P24", webhookTests, "^TestAThinEvent", []edit{{webhookStripe,
		`e.Object == "v2.core.event"`, `e.Object == "v2.core.event" && e.Type == ""`}}},
	{"a sale is created at a price that Stripe cannot charge", "P24", "./functions/seed/handler", "^TestAPriceThatStripe", []edit{{"shared/change/change.go",
		`, c.CheckStripe(d.Stripe))`, `)`}}},
	{"a sale is created in a currency that does not exist", "P24", "./shared/sale", "^TestANewSaleHasACurrency", []edit{{seedingRules,
		`!known && c.Currency != ""`, `!known && c.Currency == ""`}}},
	{"a fraction of a minor unit is rounded", "P24", "./shared/jsonread", "^TestAWholeNumber", []edit{{"shared/jsonread/whole.go",
		`zeros < 0 || `, ``}}},
	{"a currency in small letters refuses a payment for ever", "P24", webhookTests, "^TestASignedPayment", []edit{{webhookStandard,
		`strings.ToUpper(data.Currency)`, `strings.TrimSpace(data.Currency)`}}},
	{"of several secrets only the first counts", "P25", webhookTests, "^TestASignedPayment", []edit{{webhookProviders,
		`		all = errors.Join(all, err)
	}
`, `		all = errors.Join(all, err)
		break
	}
`}}},
	{"a webhook of Stripe never gets too old", "P25", webhookTests, "^TestASignatureHolds", []edit{{webhookStripe,
		`webhook.ValidatePayload(`, `webhook.ValidatePayloadIgnoringTolerance(`}}},
	{"a Standard Webhook never gets too old", "P25", webhookTests, "^TestASignatureHolds", []edit{{webhookStandard,
		`key.Verify(body, headers)`, `key.VerifyIgnoringTimestamp(body, headers)`}}},
	{"a webhook of Stripe may be dated ahead", "P25", webhookTests, "^TestASignatureHolds", []edit{{webhookStripe,
		`				return notAhead(r.StripeSignature.Value, now())
`, `				return nil
`}}},
	{"an amount of Stripe that is missing is none", "P24", webhookTests, "^TestASignedReport", []edit{{webhookStripe,
		`	if amount == nil {
		return p, foreign, unreadable(errNoAmount)
	}
`, `	if amount == nil {
		amount = new(jsonread.Whole)
	}
`}}},
	{"an amount that is missing is none", "P24", webhookTests, "^TestASignedReport", []edit{{webhookStandard,
		`		err = errNoAmount
`, `		data.Amount = new(jsonread.Whole)
`}}},
	{"a payment intent pays what was asked, not what was received", "P24", webhookTests, "^TestASignedReport", []edit{{webhookStripe,
		`json:"amount_received"`, `json:"amount"`}}},
	{"an unsigned webhook counts as a signed one that cannot be read", "P25", webhookTests, "^TestAWebhookWithout", []edit{{webhookHandler,
		`return outcome{Outcome: unverified}, err`, `return outcome{}, err`}}},
	{"a refund at the provider counts as nothing", "P24", webhookTests, "^TestWhatIsNotOurs", []edit{{webhookStripe,
		`		return refunded
`, `		return unpaid
`}}},
	{"a contradicting report is not counted", "P24", webhookTests, "^TestTheAnswerIs", []edit{{webhookHandler,
		`	if s.Contradicts {`, `	if false {`}}},
	{"a payment is named by its webhook", "P24", webhookTests, "^TestASignedPayment", []edit{{webhookStripe,
		`reference, amount = object.PaymentIntent, object.AmountTotal`, `amount = object.AmountTotal`}}},
	{"foreign payments are taken for ours", "P25", webhookTests, "^TestWhatIsNotOurs", []edit{{webhookStripe,
		`	if about.Metadata[metaSale] == "" {
		return p, foreign, nil
	}
`, ``}}},
	{"a session that is not paid yet counts as paid", "P24", webhookTests, "^TestWhatIsNotOurs", []edit{{webhookStripe,
		`	case isCheckout && object.PaymentStatus != "paid":`, `	case false:`}}},
	{"a payment is answered 200 although it was not recorded", "P24", webhookTests, "^TestTheAnswerIs", []edit{{webhookHandler,
		`	case err != nil:
		return outcome{}, err
	case s.Refund != nil:`, `	case sale.CodeOf(err) == sale.Internal:
		return outcome{}, err
	case s.Refund != nil:`}}},
	{"a provider without secrets takes webhooks", "P25", webhookTests, "^TestAProviderWithoutSecrets", []edit{{webhookProviders,
		`	if len(secrets) > 0 {
		p, err := newStripe`, `	if true {
		p, err := newStripe`}}},
	{"a webhook of any length is read", "P16", webhookTests, "^TestAWebhookWithout", []edit{{webhookHandler,
		`const maxWebhook = 256 << 10`, `const maxWebhook = 256 << 20`}}},
	{"a link's signature does not cover its sale", "P25", queryTests, "^TestNoTwoLinks", []edit{{paymentLink,
		`l.sign(order, s.ID, amount, s.Currency, payBy)`, `l.sign(order, amount, s.Currency, payBy)`}}},
	{"a link's signature does not cover its order", "P25", queryTests, "^TestNoTwoLinks", []edit{{paymentLink,
		`l.sign(order, s.ID, amount, s.Currency, payBy)`, `l.sign(s.ID, amount, s.Currency, payBy)`}}},
	{"a link's signature does not cover its amount", "P25", queryTests, "^TestNoTwoLinks", []edit{{paymentLink,
		`l.sign(order, s.ID, amount, s.Currency, payBy)`, `l.sign(order, s.ID, s.Currency, payBy)`}}},
	{"a link's signature does not cover its currency", "P25", queryTests, "^TestNoTwoLinks", []edit{{paymentLink,
		`l.sign(order, s.ID, amount, s.Currency, payBy)`, `l.sign(order, s.ID, amount, payBy)`}}},
	{"a link's signature does not cover its end", "P25", queryTests, "^TestNoTwoLinks", []edit{{paymentLink,
		`l.sign(order, s.ID, amount, s.Currency, payBy)`, `l.sign(order, s.ID, amount, s.Currency)`}}},
	{"a link's values run into each other", "P25", queryTests, "^TestNoTwoLinks", []edit{{paymentLink,
		`values...), "\n")`, `values...), "")`}}},
	{"a link's values are not escaped", "P25", queryTests, "^TestALinkIsSigned", []edit{{paymentLink,
		`url.QueryEscape(payBy)`, `payBy`}}},
	{"a link is signed without a key", "P19", queryTests, "^TestALinkThatCannot", []edit{{paymentLink,
		`case key == "" && strings.Contains`, `case key == "no" && strings.Contains`}}},
	{"a link's key may be short", "P19", queryTests, "^TestALinkThatCannot", []edit{{paymentLink,
		`len(key) < minLinkKey`, `len(key) < 1`}}},
	{"the preflight takes a signature without a key", "P19", "./infra/ops/deploy/preflight", "^TestADeploymentThatCannot", []edit{{"infra/ops/deploy/preflight/settings.go",
		`	if strings.Contains(value(d.Demand, "PaymentUrl"), "{signature}") && `, `	if strings.Contains(value(d.Demand, "PaymentUrl"), "{signed}") && `}}},
	{"a sale does not say that its orders must be paid", "P20", "./functions/query/handler", "^TestTheSalePageIsTheSame", []edit{{"functions/query/handler/handler.go",
		`PayWithin: int64(s.PayWithin / time.Second), `, ``}}},
	{"a query shows where to pay what is paid", "P20", "./functions/query/handler", "^TestABuyerSees", []edit{{"functions/query/handler/handler.go",
		`if c.State() != sale.Confirmed {
		return payBy`, `if false {
		return payBy`}}},
}

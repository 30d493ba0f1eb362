package mutants

const (
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
		return outcome{}, err
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
		`err == nil && c.Payment == p.ID()`, `err != nil && c.Payment == p.ID()`}}},
	{"the other kind of Stripe's events is ignored for an order that another payment has paid", "P24", webhookTests, "^TestAPaymentReportedByTheOtherKind", []edit{{webhookHandler,
		`c.Payment == p.ID()`, `c.Payment != ""`}}},
	{"both kinds of Stripe's events pay", "P24", webhookTests, "^TestAPaymentReportedByTheOtherKind", []edit{{webhookStripe,
		`		return p, otherKind, nil
`, `		return p, ours, nil
`}}},
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
	{"a payment is named by its webhook", "P24", webhookTests, "^TestASignedPayment", []edit{{webhookStripe,
		`p.Reference, p.Amount = object.PaymentIntent, object.AmountTotal`, `p.Amount = object.AmountTotal`}}},
	{"foreign payments are taken for ours", "P25", webhookTests, "^TestWhatIsNotOurs", []edit{{webhookStripe,
		`	if about.Metadata[metaSale] == "" {
		return p, foreign, nil
	}
`, ``}}},
	{"a session that is not paid yet counts as paid", "P24", webhookTests, "^TestWhatIsNotOurs", []edit{{webhookStripe,
		`if isCheckout && object.PaymentStatus != "paid" {`, `if false {`}}},
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
	{"a sale does not say that its orders must be paid", "P20", "./functions/query/handler", "^TestASaleThatAsksForPayment", []edit{{"functions/query/handler/handler.go",
		`		PayWithin: int64(s.PayWithin / time.Second),
`, ``}}},
	{"a query shows where to pay what is paid", "P20", "./functions/query/handler", "^TestABuyerSees", []edit{{"functions/query/handler/handler.go",
		`	if c.State() == sale.Confirmed {
		address`, `	if true {
		address`}}},
}

package provider

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"

	"flashsale/shared/settings"
)

// adyen is a merchant account in one environment. Its reversals give back the whole, or cancel what is not captured
// yet; they are not for payments that are split, or captured in parts (docs.adyen.com/online-payments/reversal, and
// Checkout v71 of github.com/Adyen/adyen-openapi).
type adyen struct {
	*Options
	api, environment string
	adyenSettings
}

type adyenSettings struct {
	APIKey          string `json:"apiKey"`
	MerchantAccount string `json:"merchantAccount"`
	Prefix          string `json:"prefix"` // of the live environment's host, 1797a841fbb37ca7-CompanyName
	Live            *bool  `json:"live"`
}

func newAdyen(text string, o *Options) (Provider, error) {
	set, err := settings.Read[adyenSettings](text)
	if err != nil {
		return nil, err
	}
	a := &adyen{Options: o, adyenSettings: set, environment: "test"}
	host := "checkout-test.adyen.com"
	err = cmp.Or(
		settings.Check("apiKey", []string{set.APIKey}, isKey),
		settings.Check("merchantAccount", []string{set.MerchantAccount},
			settings.Form(settings.Letters+settings.Digits+"_-.", "the name of a merchant account")),
	)
	switch {
	case err != nil:
	case set.Live == nil:
		err = errors.New("live must be true or false")
	case *set.Live:
		a.environment, host = "live", set.Prefix+"-checkout-live.adyenpayments.com/checkout"
		err = settings.Check("prefix", []string{set.Prefix},
			settings.Form(settings.Letters+settings.Digits+"-", "the prefix of live URLs"))
	}
	a.api = o.host(Adyen, host) + "/v71/payments/"
	return a, err
}

func (a *adyen) Account() string { return a.environment + ":" + a.MerchantAccount }

// adyenAnswer is what came of a request, or an error.
type adyenAnswer struct {
	MerchantAccount string `json:"merchantAccount"`
	Payment         string `json:"paymentPspReference"`
	PSPReference    string `json:"pspReference"`
	Reference       string `json:"reference"`
	Status          any    `json:"status"` // of an error the status of HTTP
	ErrorCode       string `json:"errorCode"`
	Message         string `json:"message"`
}

// Send asks for a reversal, of which a webhook tells what became. Adyen answers a key again as it did first
// (docs.adyen.com/development-resources/api-idempotency); 704 is taken for a key that is being worked on.
func (a *adyen) Send(ctx context.Context, r Request) Answer {
	if r.Reference == "" || strings.Trim(r.Reference, settings.Letters+settings.Digits) != "" {
		return answer(Refused, "reference", "the payment's reference is none of Adyen's")
	}
	body, _ := jsonv2.Marshal(struct {
		MerchantAccount string `json:"merchantAccount"`
		Reference       string `json:"reference"`
	}{a.MerchantAccount, r.ID})
	got, failed := a.call(ctx, http.MethodPost, a.api+r.Reference+"/reversals", string(body), map[string]string{
		"Content-Type": "application/json", "Idempotency-Key": r.ID, "X-API-Key": a.APIKey,
	})
	if got == nil {
		return failed
	}
	var said adyenAnswer
	isJSON := got.reads(&said)
	if got.status == http.StatusOK || got.status == http.StatusCreated {
		if !isJSON || said.Status != "received" || !isText(said.PSPReference) || said.Payment != r.Reference ||
			said.MerchantAccount != a.MerchantAccount || said.Reference != "" && said.Reference != r.ID {
			return unlike("no reversal of the payment was received")
		}
		return Answer{Outcome: Accepted, Refund: said.PSPReference}
	}
	outcome := adyenStatuses[got.status]
	isTransient := said.ErrorCode == "704" || strings.EqualFold(got.header.Get("Transient-Error"), "true")
	if !isJSON || said.ErrorCode == "" && said.Message == "" || outcome == Refused && isTransient {
		outcome = Unknown
	}
	return got.answer(outcome, said.ErrorCode, said.Message)
}

// adyenStatuses are what Adyen's own errors mean; others are unknown.
var adyenStatuses = map[int]Outcome{400: Refused, 404: Refused, 422: Refused, 401: Halted, 403: Halted}

// Ask is not called: Adyen tells nothing of a reversal that is asked for.
func (a *adyen) Ask(context.Context, Request) Answer {
	return answer(Unknown, "", "Adyen cannot be asked what became of a request")
}

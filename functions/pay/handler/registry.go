package handler

import (
	"errors"
	"fmt"
	"os"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// Providers are those with secrets, right or wrong, by the name in their path.
type Providers map[string]provider

// The names of the providers. They are part of payments' ids.
const (
	Stripe           = "stripe"
	StandardWebhooks = "standard-webhooks"
	WeChatPay        = "wechat-pay"
	Alipay           = "alipay"
	Adyen            = "adyen"
)

// Settings are what the providers need, each as its environment variable has it; "" of a provider
// that sends nothing.
type Settings struct {
	// Stripe and StandardWebhooks are signing secrets. Several are separated by commas, so that a new
	// one works before the old one ends.
	Stripe, StandardWebhooks string
	// StripeEvents is the kind of Stripe's events that counts.
	StripeEvents string
	// WeChatPay, Alipay and Adyen are JSON, see readSettings.
	WeChatPay, Alipay, Adyen string
}

// ProvidersFromEnv is NewProviders with the settings in the environment. now is the current instant.
func ProvidersFromEnv(now func() time.Time) (Providers, error) {
	return NewProviders(Settings{
		Stripe: os.Getenv("STRIPE_SECRETS"), StripeEvents: os.Getenv("STRIPE_EVENTS"),
		StandardWebhooks: os.Getenv("STANDARD_WEBHOOKS_SECRETS"),
		WeChatPay:        os.Getenv("WECHAT_PAY_SECRETS"), Alipay: os.Getenv("ALIPAY_SECRETS"),
		Adyen: os.Getenv("ADYEN_SECRETS"),
	}, now)
}

// NewProviders returns the providers with these settings. One whose settings cannot be right takes nothing (P19), and
// the others are as if it were not there. The error names the variables of such, and does not quote them.
func NewProviders(s Settings, now func() time.Time) (Providers, error) {
	all := Providers{}
	var wrong []error
	for _, one := range []struct {
		name, variable, secrets string
		take                    func(Settings, func() time.Time) (provider, error)
		answer                  func(outcome, error) httpapi.Response
	}{
		{Stripe, "STRIPE_SECRETS", s.Stripe, newStripe, nil},
		{StandardWebhooks, "STANDARD_WEBHOOKS_SECRETS", s.StandardWebhooks, newStandardWebhooks, nil},
		{WeChatPay, "WECHAT_PAY_SECRETS", s.WeChatPay, newWeChatPay, answerWeChatPay},
		{Alipay, "ALIPAY_SECRETS", s.Alipay, newAlipay, answerAlipay},
		{Adyen, "ADYEN_SECRETS", s.Adyen, newAdyen, answerAdyen},
	} {
		if one.secrets == "" {
			continue
		}
		p, err := one.take(s, now)
		if err != nil {
			err = fmt.Errorf("%s: %w", one.variable, err)
			p, wrong = provider{wrong: sale.Fail(sale.Internal, err)}, append(wrong, err)
		}
		p.answer = one.answer
		all[one.name] = p
	}
	return all, errors.Join(wrong...)
}

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

// ProvidersFromEnv is NewProviders with the settings in the environment. now is the current instant.
func ProvidersFromEnv(now func() time.Time) (Providers, error) {
	return NewProviders(Settings{
		StripeSecrets: os.Getenv("STRIPE_SECRETS"), StripeEvents: os.Getenv("STRIPE_EVENTS"),
		StandardWebhooksSecrets: os.Getenv("STANDARD_WEBHOOKS_SECRETS"),
		WeChatPaySecrets:        os.Getenv("WECHAT_PAY_SECRETS"), AlipaySecrets: os.Getenv("ALIPAY_SECRETS"),
		AdyenSecrets: os.Getenv("ADYEN_SECRETS"),
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
		{Stripe, "STRIPE_SECRETS", s.StripeSecrets, newStripe, nil},
		{StandardWebhooks, "STANDARD_WEBHOOKS_SECRETS", s.StandardWebhooksSecrets, newStandardWebhooks, nil},
		{WeChatPay, "WECHAT_PAY_SECRETS", s.WeChatPaySecrets, newWeChatPay, answerWeChatPay},
		{Alipay, "ALIPAY_SECRETS", s.AlipaySecrets, newAlipay, answerAlipay},
		{Adyen, "ADYEN_SECRETS", s.AdyenSecrets, newAdyen, answerAdyen},
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

package handler

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
)

// provider is one kind of webhook.
type provider struct {
	// verify fails unless the body, as it was sent, is signed with one of the secrets, at
	// an instant at most 300 seconds from now.
	verify func(r *httpapi.Request, body []byte) error
	// read returns the payment that a verified body reports, without its provider, if it is
	// about one.
	read func(body []byte) (sale.Payment, subject, error)
}

// subject is what a verified webhook is about. Those that are neither ours, otherKind nor paidBack are
// ignored. It is a closed set, whatever types a provider has, because metrics count it.
type subject string

const (
	ours      subject = "ours"       // a payment of an order
	otherKind subject = "other-kind" // a payment of an order, in a kind of event that does not count
	paidBack  subject = "paid-back"  // a payment that went back as a whole, perhaps of an order

	foreign  subject = "foreign"  // a payment, not of an order of this system
	unpaid   subject = "unpaid"   // no money came: not yet, or the attempt failed
	free     subject = "free"     // a session that needed no payment
	charge   subject = "charge"   // money came, perhaps: charges are not read
	refunded subject = "refunded" // money went back at the provider, in part or of no order
	disputed subject = "disputed"
	unknown  subject = "unknown" // any other type
)

// Providers are those with secrets, by the name in their path.
type Providers map[string]provider

// The names of the providers. They are part of payments' ids.
const (
	Stripe           = "stripe"
	StandardWebhooks = "standard-webhooks"
)

// ProvidersFromEnv returns the providers whose secrets are in STRIPE_SECRETS and
// STANDARD_WEBHOOKS_SECRETS. Several are separated by commas, so that a new one works
// before the old one ends. It fails for a secret that cannot be one (P19). now
// is the current instant.
func ProvidersFromEnv(now func() time.Time) (Providers, error) {
	return NewProviders(os.Getenv("STRIPE_SECRETS"), os.Getenv("STRIPE_EVENTS"), os.Getenv("STANDARD_WEBHOOKS_SECRETS"), now)
}

// NewProviders returns the providers with these settings, see ProvidersFromEnv.
func NewProviders(stripeSecrets, stripeEvents, standardSecrets string, now func() time.Time) (Providers, error) {
	all := Providers{}
	secrets, err := secretsOf(stripeSecrets)
	if err != nil {
		return nil, fmt.Errorf("STRIPE_SECRETS: %w", err)
	}
	if len(secrets) > 0 {
		p, err := newStripe(secrets, stripeEvents, now)
		if err != nil {
			return nil, fmt.Errorf("STRIPE_EVENTS: %w", err)
		}
		all[Stripe] = p
	}
	if secrets, err = secretsOf(standardSecrets); err != nil {
		return nil, fmt.Errorf("STANDARD_WEBHOOKS_SECRETS: %w", err)
	}
	if len(secrets) > 0 {
		p, err := newStandardWebhooks(secrets)
		if err != nil {
			return nil, fmt.Errorf("STANDARD_WEBHOOKS_SECRETS: %w", err)
		}
		all[StandardWebhooks] = p
	}
	return all, nil
}

// secretsOf returns the secrets of a variable's text. An error does not quote them.
func secretsOf(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	all := strings.Split(text, ",")
	for i, secret := range all {
		all[i] = strings.TrimSpace(secret)
		if rest, ok := strings.CutPrefix(all[i], "whsec_"); !ok || len(rest) < minSecret {
			return nil, fmt.Errorf("a secret is whsec_ and at least %d characters", minSecret)
		}
	}
	return all, nil
}

// minSecret is the least length of a secret, in characters after its prefix.
const minSecret = 12

// errUnsigned and errOld say nothing about the secrets or the body.
var (
	errUnsigned = sale.Refuse(sale.InvalidRequest, "the webhook has no valid signature")
	errOld      = sale.Refuse(sale.InvalidRequest, "the webhook was not signed within 300 seconds of now")
)

// errNoAmount: an amount that is missing or null is not zero.
var errNoAmount = errors.New("there is no amount")

// unreadable is the refusal of a signed body that cannot be read.
func unreadable(err error) error {
	return &sale.Error{Code: sale.InvalidRequest, Detail: "the webhook's body cannot be read", Err: err}
}

package providers

import (
	"context"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
)

const (
	settling = 500 * time.Millisecond // until what was accepted is done
	failing  = 2 * time.Second        // until it fails after all
	repeat   = 2 * time.Second        // before a notification that was not accepted
)

// Run does what providers do by themselves: what they accepted succeeds or fails, and they notify.
func (p *Providers) Run(ctx context.Context) error {
	for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		p.Step(ctx)
	}
	return nil
}

// Step does what is due now.
func (p *Providers) Step(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.refunds {
		p.advance(r)
		as, provider, isTold := r.State, r.payment.Provider, true
		if as == r.Told || p.o.Now().Before(r.again) {
			continue
		}
		bodies := p.tell(r)
		p.mu.Unlock()
		for _, body := range bodies {
			isTold = isTold && p.notify(ctx, provider, body)
		}
		p.mu.Lock()
		if isTold && rand.Float64() >= p.controls[provider].LoseAnswers {
			r.Told = as
		} else {
			r.again = p.o.Now().Add(repeat)
		}
	}
}

// advance brings a refund to its next state, if it is time. WeChat Pay's never fail after a success.
func (p *Providers) advance(r *refund) {
	since, control, next := p.o.Now().Sub(r.At), p.controls[r.payment.Provider], r.State
	switch {
	case r.State == pending && since >= settling && r.Fails && r.payment.Provider == webhook.WeChatPay:
		next = failed
	case r.State == pending && since >= settling && control.spend(r.Amount):
		next = succeeded
	case r.State == succeeded && r.Fails && r.Told == succeeded && since >= failing:
		next = failed
		control.spend(-r.Amount)
	}
	if next != r.State {
		r.State, r.At = next, p.o.Now()
	}
}

// tell are the notifications of a refund's state. Alipay's 电脑网站支付 sends none of a whole payment that goes back.
func (p *Providers) tell(r *refund) []string {
	switch provider := r.payment.Provider; {
	case p.controls[provider].Silent, provider == webhook.Alipay, r.State == pending && provider != webhook.Stripe:
		return nil
	case provider == webhook.WeChatPay:
		return []string{p.tellWeChatPay(r)}
	case provider == webhook.Adyen:
		return []string{p.tellAdyen(r)}
	}
	return tellStripe(r)
}

// notify sends a signed notification and reports whether it was accepted.
func (p *Providers) notify(ctx context.Context, provider, body string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.o.API+"/payments/"+provider, strings.NewReader(body))
	if err != nil || (webhook.Payment{}).Sign(r.Header, provider, p.o.Secrets[provider], []byte(body), p.o.Now()) != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	return err == nil && webhook.IsAccepted(provider, a.StatusCode, text)
}

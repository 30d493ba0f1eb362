package providers

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"flashsale/infra/kit/client/webhook"
)

const (
	settling = 500 * time.Millisecond // until what was accepted is done
	failing  = 2 * time.Second        // until it fails after all
	repeat   = 2 * time.Second        // before a notification that was not accepted
)

// Step does what is due now.
func (p *Providers) Step(ctx context.Context) {
	type news struct {
		of     *refund
		as     state
		bodies []string
	}
	var all []news
	p.mu.Lock()
	for _, r := range p.open {
		p.advance(r)
		if r.State != r.Told && !p.o.Now().Before(r.again) {
			all = append(all, news{r, r.State, p.tell(r)})
		}
	}
	p.mu.Unlock()
	for _, n := range all {
		provider, isTold := n.of.payment.Provider, true
		for _, body := range n.bodies {
			isTold = isTold && p.notify(ctx, provider, body)
		}
		p.mu.Lock()
		isTold = isTold && p.random.Float64() >= p.controls[provider].LoseAnswers
		if p.changed, n.of.again = true, p.o.Now().Add(repeat); isTold {
			n.of.Told, n.of.again = n.as, time.Time{}
		}
		p.mu.Unlock()
	}
	p.mu.Lock()
	p.open = slices.DeleteFunc(p.open, func(r *refund) bool {
		return r.State != pending && r.State == r.Told && (r.State == failed || !r.Fails)
	})
	p.mu.Unlock()
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
		if control.Balance != nil {
			*control.Balance += r.Amount
		}
	}
	if next != r.State {
		r.State, r.At, p.changed = next, p.o.Now(), true
	}
}

// tell are the notifications of a refund's state, which may be none.
func (p *Providers) tell(r *refund) []string {
	provider := r.payment.Provider
	switch {
	case p.controls[provider].Silent, r.State == pending && provider != webhook.Stripe:
		return nil
	case provider == webhook.WeChatPay:
		return p.tellWeChatPay(r)
	case provider == webhook.Alipay:
		return p.tellAlipay(r)
	case provider == webhook.Adyen:
		return p.tellAdyen(r)
	}
	return tellStripe(r)
}

// notify sends a signed notification and reports whether it was accepted.
func (p *Providers) notify(ctx context.Context, provider, body string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.o.API+"/payments/"+provider, strings.NewReader(body))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	if provider == webhook.Alipay {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	}
	if err := (webhook.Payment{}).Sign(r.Header, provider, p.o.Secrets[provider], []byte(body), p.o.Now()); err != nil {
		return false
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return false
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	isTaken := err == nil && webhook.IsAccepted(provider, a.StatusCode, text)
	if !isTaken {
		p.o.Log.Info("the notification of a refund is not accepted", "provider", provider, "status", a.StatusCode, "answer", string(text))
	}
	return isTaken
}

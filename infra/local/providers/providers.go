// Package providers plays the payment providers for whoever asks them to give payments back: it judges requests as the real
// ones do, keeps what was paid and what went back, and notifies the API. It shares no code with functions/refund, which it judges.
//
// It counts in the units of each provider's own API, and trusts webhook.LocalRefundKeys alone.
package providers

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"time"

	"flashsale/infra/kit/client/webhook"
)

type Options struct {
	// API is the address that hears the notifications.
	API string
	// Secrets are what the API verifies notifications by, by provider.
	Secrets map[string]string
	// Path is the file that keeps what was paid and went back.
	Path string
	Seed uint64 // of what is lost
	Now  func() time.Time
	Log  *slog.Logger
}

// Providers is safe for concurrent use.
type Providers struct {
	http.Handler
	o    Options
	keys keys

	mu       sync.Mutex // held by all that judges and counts
	random   *rand.Rand
	controls map[string]*control
	kept     kept
	changed  bool // since it was saved
	open     []*refund
}

// kept is what outlives the stack.
type kept struct {
	Payments map[string]*payment // by provider/reference
	Answers  map[string]replay   // by provider/idempotency key
}

// replay is the answer of an idempotent request, and what that said.
type replay struct {
	Said, Body string
	Status     int
}

// control is how a provider behaves.
type control struct {
	Refuse      string  `json:"refuse"`      // the code with which it refuses; "" if it does not
	Balance     *int64  `json:"balance"`     // what it can give back; nil is any amount
	Silent      bool    `json:"silent"`      // it notifies of nothing
	LoseAnswers float64 `json:"loseAnswers"` // the share of answers that do not arrive, also the API's
	FailLater   bool    `json:"failLater"`   // what it accepts from now on fails later
	Generous    bool    `json:"generous"`    // it gives back again what the shop asks for under another id
	Error       int     `json:"error"`       // the status with which it answers without a look; 0 if it does not
}

type payment struct {
	Provider, Reference, Order, Currency string
	Passback                             string // Alipay's passback_params
	Live                                 bool   // of Stripe
	Paid                                 int64
	Calls                                int // that named it
	Refunds                              []*refund
}

type state string

const (
	pending   state = "pending"
	succeeded state = "succeeded"
	failed    state = "failed"
)

type refund struct {
	ID, Request string // the provider's, and the shop's; by hand it has none of the shop's
	Said        string // by the request, at WeChat Pay
	Amount      int64
	State, Told state // and the one of which the API was notified
	Fails       bool  // later
	At          time.Time

	payment *payment
	again   time.Time // when a notification that was not accepted is repeated
}

// Open goes on with what is in the file.
func Open(o Options) (*Providers, error) {
	p := &Providers{
		o: o, random: rand.New(rand.NewPCG(o.Seed, 0)), kept: kept{map[string]*payment{}, map[string]replay{}},
		controls: map[string]*control{webhook.Stripe: {}, webhook.WeChatPay: {}, webhook.Alipay: {}, webhook.Adyen: {}},
	}
	text, err := os.ReadFile(o.Path)
	if err == nil {
		err = json.Unmarshal(text, &p.kept)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	for _, of := range p.kept.Payments {
		for _, r := range of.Refunds {
			r.payment, p.open = of, append(p.open, r)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stripe/v1/refunds", p.judge(webhook.Stripe, p.refundStripe))
	mux.HandleFunc("GET /stripe/v1/refunds", p.judge(webhook.Stripe, p.listStripe))
	mux.HandleFunc("POST /wechat-pay/v3/refund/domestic/refunds", p.judge(webhook.WeChatPay, p.refundWeChatPay))
	mux.HandleFunc("GET /wechat-pay/v3/refund/domestic/refunds/{number}", p.judge(webhook.WeChatPay, p.queryWeChatPay))
	mux.HandleFunc("POST /alipay/gateway.do", p.judge(webhook.Alipay, p.callAlipay))
	mux.HandleFunc("POST /adyen/v71/payments/{psp}/reversals", p.judge(webhook.Adyen, p.reverseAdyen))
	mux.HandleFunc("GET "+controlPath, p.show)
	mux.HandleFunc("POST "+controlPath+"/{provider}", p.set)
	mux.HandleFunc("POST "+controlPath+"/{provider}/payments/{reference}", p.giveByHand)
	p.Handler = mux
	return p, errors.Join(err, p.keys.read(o.Secrets))
}

// Save keeps what has changed.
func (p *Providers) Save() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.changed {
		return nil
	}
	text, err := json.Marshal(p.kept)
	if err == nil {
		err = os.WriteFile(p.o.Path+".new", text, 0o600)
	}
	if err == nil {
		err = os.Rename(p.o.Path+".new", p.o.Path)
	}
	p.changed = err != nil
	return err
}

// Run does what providers do by themselves: what they accepted succeeds or fails, and they notify.
func (p *Providers) Run(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		p.Step(ctx)
		if n%5 == 0 {
			if err := p.Save(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// call is a request to a provider.
type call struct {
	*http.Request
	provider, body string
	control        *control
	method         string // of Alipay
}

type answer struct {
	status int
	body   string
	header map[string]string
}

// troubles are the codes with which a provider answers an error that it was told to have; 0 is any other status.
var troubles = map[string]map[int]string{
	webhook.Stripe:    {429: "rate_limit"},
	webhook.WeChatPay: {401: "SIGN_ERROR", 403: "NO_AUTH", 429: "FREQUENCY_LIMITED", 0: "SYSTEM_ERROR"},
	webhook.Alipay:    {401: "isv.invalid-signature", 403: "isv.insufficient-isv-permissions", 429: "isv.app-call-limited", 0: "isp.unknow-error"},
	webhook.Adyen:     {401: "000", 403: "010", 0: "905"},
}

// judge serves a path of a provider.
func (p *Providers) judge(provider string, of func(*call) answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil {
			return
		}
		p.mu.Lock()
		c := &call{Request: r, provider: provider, body: string(body), control: p.controls[provider]}
		var a answer
		if status := c.control.Error; status != 0 {
			a = p.refuse(c, status, cmp.Or(troubles[provider][status], troubles[provider][0]), "trouble")
		} else {
			a = of(c)
		}
		isLost, how := p.random.Float64() < c.control.LoseAnswers, p.random.IntN(3)
		p.changed = true
		p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		for name, value := range a.header {
			w.Header().Set(name, value)
		}
		if a.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		switch {
		case isLost && how == 0: // cut off before the answer, or in the middle of it, or by a proxy that did not wait
			panic(http.ErrAbortHandler)
		case isLost && how == 1:
			w.Header().Set("Content-Length", "100000")
		case isLost:
			a.status, a.body = http.StatusBadGateway, "<html><title>502 Bad Gateway</title></html>"
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body) // less than Content-Length says, and net/http cuts the connection
	}
}

// refuse answers in the provider's form that a request comes to nothing.
func (p *Providers) refuse(c *call, status int, code, words string) answer {
	switch c.provider {
	case webhook.WeChatPay:
		a := p.signWeChatPay(c, status, object{"code": code, "message": words})
		if status == http.StatusUnauthorized {
			a.header = nil // it is not known to whom it is said
		}
		return a
	case webhook.Alipay:
		return misplaced(c.method, code)
	case webhook.Adyen:
		kind := map[bool]string{true: "security", false: "validation"}[status == http.StatusUnauthorized || status == http.StatusForbidden]
		return answer{status: status, body: object{"status": status, "errorCode": code, "errorType": kind, "message": words}.String()}
	}
	of := object{"type": "invalid_request_error", "message": words}
	switch {
	case code == "idempotency_error":
		of["type"] = code
	case status >= 500:
		of["type"] = "api_error"
	case code != "":
		of["code"] = code
	}
	return answer{status: status, body: object{"error": of}.String()}
}

// object is JSON.
type object map[string]any

func (o object) String() string {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // it has texts and numbers
	}
	return string(text)
}

// named returns the payment that a call names, nil if nobody made it.
func (p *Providers) named(c *call, reference string) *payment {
	of := p.kept.Payments[c.provider+"/"+reference]
	if of != nil {
		of.Calls++
	}
	return of
}

// rest is what can still go back.
func (of *payment) rest() int64 {
	rest := of.Paid
	for _, r := range of.Refunds {
		if r.State != failed {
			rest -= r.Amount
		}
	}
	return rest
}

// left is what goes back if the shop asks for it. A generous provider forgets what it was asked for before: it judges who
// relies on no provider's care.
func (c *control) left(of *payment) int64 {
	left := of.rest()
	for _, r := range of.Refunds {
		if c.Generous && r.Request != "" && r.State != failed {
			left += r.Amount
		}
	}
	return left
}

// by returns the refund that the shop asked for under an id, or nil.
func (of *payment) by(request string) *refund {
	for _, r := range of.Refunds {
		if r.Request == request && request != "" {
			return r
		}
	}
	return nil
}

// spend takes an amount from the balance, unless that is too low.
func (c *control) spend(amount int64) bool {
	if c.Balance != nil {
		if *c.Balance < amount {
			return false
		}
		*c.Balance -= amount
	}
	return true
}

// add makes a refund. Who calls it has looked at what rests.
func (p *Providers) add(of *payment, request string, amount int64, as state) *refund {
	r := &refund{ID: newID(of.Provider), Request: request, Amount: amount, State: as, At: p.o.Now(), payment: of}
	r.Fails = p.controls[of.Provider].FailLater && as != failed
	of.Refunds, p.open, p.changed = append(of.Refunds, r), append(p.open, r), true
	return r
}

// once answers an idempotent request: the first of its key by doing it, others by that one's answer, unless they say something
// else. Without a key it is done.
func (p *Providers) once(c *call, said string, do func() answer, other answer) answer {
	key := c.Header.Get("Idempotency-Key")
	if key == "" {
		return do()
	}
	key = c.provider + "/" + key
	first, again := p.kept.Answers[key]
	switch {
	case !again:
		a := do()
		p.kept.Answers[key] = replay{Said: said, Body: a.body, Status: a.status}
		return a
	case first.Said != said:
		return other
	}
	return answer{first.Status, first.Body, map[string]string{"Idempotent-Replayed": "true"}}
}

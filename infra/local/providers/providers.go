// Package providers plays the payment providers for whoever asks them to give payments back: it judges requests as the real
// ones do, keeps what was paid and what went back, and notifies the API. It shares no code with functions/refund, which it judges.
//
// It counts in the units of each provider's own API, and trusts webhook.LocalRefundKeys alone.
package providers

import (
	"cmp"
	crypto "crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"flashsale/infra/kit/client/webhook"
)

type Options struct {
	API     string            // the address that hears the notifications
	Secrets map[string]string // what the API verifies them by, by provider
	Path    string            // the file that keeps what was paid and went back
	Now     func() time.Time
}

// Providers is safe for concurrent use.
type Providers struct {
	http.Handler
	o    Options
	keys keys

	mu       sync.Mutex // held by all that judges and counts
	controls map[string]*control
	refunds  []*refund
	kept     struct { // what outlives the stack
		Payments map[string]*payment // by provider/reference
		Answers  map[string]answer   // by provider/idempotency key
	}
}

type answer struct {
	Said   string // by the request, if it is idempotent
	Status int
	Body   string
	Header map[string]string
}

type payment struct {
	Provider, Reference, Order, Currency string
	Paid, Calls                          int64 // and those that named it
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
	Amount      int64
	State, Told state // and the one of which the API was notified
	Fails       bool  // later
	At          time.Time

	payment *payment
	again   time.Time // when a notification that was not accepted is repeated
}

// Open goes on with what is in the file.
func Open(o Options) (*Providers, error) {
	p := &Providers{o: o, controls: map[string]*control{webhook.Stripe: {}, webhook.WeChatPay: {}, webhook.Alipay: {}, webhook.Adyen: {}}}
	p.kept.Payments, p.kept.Answers = map[string]*payment{}, map[string]answer{}
	text, err := os.ReadFile(o.Path)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = []byte("{}"), nil
	}
	err = errors.Join(err, json.Unmarshal(text, &p.kept), json.Unmarshal([]byte(webhook.LocalRefundKeys), &p.keys))
	for _, of := range p.kept.Payments {
		for _, r := range of.Refunds {
			r.payment, p.refunds = of, append(p.refunds, r)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /stripe/v1/refunds", p.judge(webhook.Stripe, p.callStripe))
	mux.HandleFunc("GET /stripe/v1/refunds", p.judge(webhook.Stripe, p.callStripe))
	mux.HandleFunc("POST /wechat-pay/v3/refund/domestic/refunds", p.judge(webhook.WeChatPay, p.callWeChatPay))
	mux.HandleFunc("GET /wechat-pay/v3/refund/domestic/refunds/{number}", p.judge(webhook.WeChatPay, p.callWeChatPay))
	mux.HandleFunc("POST /alipay/gateway.do", p.judge(webhook.Alipay, p.callAlipay))
	mux.HandleFunc("POST /adyen/v71/payments/{psp}/reversals", p.judge(webhook.Adyen, p.reverseAdyen))
	mux.HandleFunc("GET "+controlPath, p.show)
	mux.HandleFunc("POST "+controlPath+"/{provider}", p.set)
	mux.HandleFunc("POST "+controlPath+"/{provider}/payments/{reference}", p.giveByHand)
	p.Handler = mux
	return p, err
}

// Save keeps what was paid and went back, for the next ones that are opened.
func (p *Providers) Save() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, _ := json.Marshal(p.kept) // it has texts and numbers
	return os.WriteFile(p.o.Path, text, 0o600)
}

// call is a request to a provider.
type call struct {
	*http.Request
	provider, body string
	control        *control
}

func (c *call) isJSON() bool {
	return strings.HasPrefix(c.Header.Get("Content-Type"), "application/json")
}

// rest is what goes back if the shop asks for it. A generous provider forgets what it was asked for before: it judges who relies
// on no provider's care.
func (c *call) rest(of *payment) int64 { return of.rest(c.control.Generous) }

// troubles are the codes with which a provider answers an error that it was told to have; 0 is any other status.
var troubles = map[string]map[int]string{
	webhook.Stripe:    {429: "rate_limit"},
	webhook.WeChatPay: {401: "SIGN_ERROR", 403: "NO_AUTH", 429: "FREQUENCY_LIMITED", 0: "SYSTEM_ERROR"},
	webhook.Alipay: {401: "40002 isv.invalid-signature", 403: "40006 isv.insufficient-isv-permissions",
		429: "40005 isv.app-call-limited", 0: "20000 isp.unknow-error"},
	webhook.Adyen: {401: "000", 403: "010", 0: "905"},
}

// judge serves a path of a provider. Its form is empty if it is malformed.
func (p *Providers) judge(provider string, of func(*call) answer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := readAgain(r)
		if err != nil {
			return
		}
		if r.ParseForm() != nil {
			r.Form = nil
		}
		p.mu.Lock()
		c := &call{r, provider, body, p.controls[provider]}
		var a answer
		if status := c.control.Error; status != 0 {
			a = p.refuse(c, status, cmp.Or(troubles[provider][status], troubles[provider][0]), "trouble")
		} else {
			a = of(c)
		}
		isLost := rand.Float64() < c.control.LoseAnswers
		p.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		for name, value := range a.Header {
			w.Header().Set(name, value)
		}
		switch how := rand.IntN(3); {
		case isLost && how == 0: // cut off before the answer, or in the middle of it, or by a proxy that did not wait
			panic(http.ErrAbortHandler)
		case isLost && how == 1:
			w.Header().Set("Content-Length", "100000")
		case isLost:
			a.Status, a.Body = http.StatusBadGateway, "<html><title>502 Bad Gateway</title></html>"
		}
		w.WriteHeader(a.Status)
		_, _ = io.WriteString(w, a.Body) // less than Content-Length says, and net/http cuts the connection
	}
}

// readAgain reads a body that others read, too.
func readAgain(r *http.Request) (string, error) {
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	return string(body), err
}

// refuse answers in the provider's form that a request comes to nothing.
func (p *Providers) refuse(c *call, status int, code, words string) answer {
	switch c.provider {
	case webhook.WeChatPay:
		return p.signWeChatPay(c, status, object{"code": code, "message": words})
	case webhook.Alipay:
		return sayAlipay("", alipayRefusal(code))
	case webhook.Adyen:
		return answer{Status: status, Body: object{"status": status, "errorCode": code, "message": words}.String()}
	}
	kind := "invalid_request_error"
	if code == "idempotency_error" {
		kind, code = code, ""
	}
	return answer{Status: status, Body: object{"error": object{"type": kind, "code": code, "message": words}}.String()}
}

// object is JSON.
type object map[string]any

func (o object) String() string {
	text, _ := json.Marshal(o) // it has texts and numbers
	return string(text)
}

// strictly reads JSON that has no other members, and reports whether it could.
func strictly(text string, into any) bool {
	read := json.NewDecoder(strings.NewReader(text))
	read.DisallowUnknownFields()
	return read.Decode(into) == nil
}

// named returns the payment that a call names, nil if nobody made it.
func (p *Providers) named(c *call, reference string) *payment {
	of := p.kept.Payments[c.provider+"/"+reference]
	if of != nil {
		of.Calls++
	}
	return of
}

// rest is what can still go back, also of what the shop has asked for if that is forgotten.
func (of *payment) rest(isForgotten bool) int64 {
	rest := of.Paid
	for _, r := range of.Refunds {
		if r.State != failed && !(isForgotten && r.Request != "") {
			rest -= r.Amount
		}
	}
	return rest
}

// requested returns the refund that the shop asked a provider for under an id, or nil: of the payment, or of any if it is nil.
func (p *Providers) requested(provider, id string, of *payment) *refund {
	for _, r := range p.refunds {
		if r.Request == id && id != "" && r.payment.Provider == provider && (of == nil || r.payment == of) {
			return r
		}
	}
	return nil
}

// spend takes an amount from the balance, unless that is too low.
func (c *control) spend(amount int64) bool {
	isThere := c.Balance == nil || *c.Balance >= amount
	if isThere && c.Balance != nil {
		*c.Balance -= amount
	}
	return isThere
}

// add makes a refund. Who calls it has looked at what rests.
func (p *Providers) add(of *payment, request string, amount int64, as state) *refund {
	r := &refund{ID: crypto.Text()[:16], Request: request, Amount: amount, State: as, At: p.o.Now(), payment: of}
	r.Fails = p.controls[of.Provider].FailLater
	of.Refunds, p.refunds = append(of.Refunds, r), append(p.refunds, r)
	return r
}

// once answers an idempotent request: the first of its key by doing it, others by that one's answer, unless they say something
// else.
func (p *Providers) once(c *call, said string, do func() answer, other answer) answer {
	key := c.provider + "/" + cmp.Or(c.Header.Get("Idempotency-Key"), crypto.Text())
	first, isKnown := p.kept.Answers[key]
	if !isKnown {
		first = do()
		first.Said = said
		p.kept.Answers[key] = first
	} else if first.Said != said {
		return other
	}
	return first
}

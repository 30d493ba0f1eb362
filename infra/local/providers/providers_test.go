package providers

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/functions/refund/provider"
	"flashsale/infra/kit/client/webhook"
)

// world is the providers with a payment of 899.00 CNY each, a shop, and the API, which notes the notifications it gets.
type world struct {
	t     *testing.T
	p     *Providers
	now   time.Time
	shop  map[string]provider.Provider
	heard map[string][]string // by provider
	busy  bool                // the API
}

var references = map[string]string{"stripe": "pi_1", "wechat-pay": "4200000000523415642750058497", "alipay": "2026000000523415642750058497", "adyen": "DMPN6PZWKMPR6SV5"}

func begin(t *testing.T) *world {
	w := &world{t: t, now: time.Now(), heard: map[string][]string{}}
	api := httptest.NewServer(nil)
	t.Cleanup(api.Close)
	w.open(Options{API: api.URL, Secrets: webhook.LocalSecrets, Path: filepath.Join(t.TempDir(), "kept"), Now: func() time.Time { return w.now }})
	api.Config.Handler = w.p.Observe(http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		name := strings.TrimPrefix(r.URL.Path, "/payments/")
		w.heard[name] = append(w.heard[name], string(body))
		if w.busy {
			a.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	for name, reference := range references {
		paid := webhook.Payment{SaleID: "moutai", OrderID: "523415642750058497", PaymentID: reference, Amount: 89900, Currency: "CNY"}
		r, _ := paid.Request(t.Context(), api.URL, name, webhook.LocalSecrets[name], w.now)
		api.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	clear(w.heard)
	return w
}

func (w *world) open(o Options) {
	var err error
	if w.p, err = Open(o); err != nil {
		w.t.Fatal(err)
	}
	w.trust(webhook.LocalRefundKeys)
}

// trust makes a shop that asks with these keys.
func (w *world) trust(keys string) {
	server := httptest.NewServer(w.p)
	w.t.Cleanup(server.Close)
	shop, wrong, err := provider.FromSecret(keys, provider.Options{BaseURL: server.URL, Now: w.p.o.Now})
	if w.shop = shop; err != nil || len(shop) != len(references) {
		w.t.Fatal(wrong, err)
	}
}

var outcomes = map[provider.Outcome]string{provider.Unknown: "unknown", provider.Accepted: "accepted", provider.Refused: "refused", provider.Halted: "halted"}

// ask asks for a refund. Adyen, which is told no amount, is asked for another payment's if it is not the whole.
func (w *world) ask(name, id string, amount int64) string {
	reference := references[name]
	if name == webhook.Adyen && amount != 89900 {
		reference = "OTHER"
	}
	a := w.shop[name].Send(w.t.Context(), provider.Request{ID: id, Reference: reference, Amount: amount, Currency: "CNY"})
	return outcomes[a.Outcome] + " " + a.Code
}

// set controls a provider.
func (w *world) set(name, how string) {
	a := httptest.NewRecorder()
	if w.p.ServeHTTP(a, httptest.NewRequest("POST", controlPath+"/"+name, strings.NewReader(how))); a.Code != http.StatusOK {
		w.t.Fatalf("set %s: %d %s", how, a.Code, a.Body)
	}
}

// wait lets time pass.
func (w *world) wait() {
	for range 4 {
		w.now = w.now.Add(3 * time.Second)
		w.p.Step(w.t.Context())
	}
}

// expect lets time pass and compares the count of a provider's payment: what is back and what waits, and refunds.
func (w *world) expect(name string, back, waits, refunds, failed int64) {
	w.t.Helper()
	w.wait()
	got, want := count(w.p.kept.Payments[name+"/"+references[name]]), map[string]int64{"paid": 89900, "back": back, "waits": waits, "refunds": refunds, "failed": failed}
	if delete(got, "calls"); fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%s counts %v, want %v", name, got, want)
	}
}

func (w *world) says(what, got, want string) {
	w.t.Helper()
	if !strings.HasPrefix(got, want) {
		w.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestAPaymentGoesBackOnceAndWhole(t *testing.T) {
	w := begin(t)
	failed := map[string]int64{webhook.Adyen: 1} // which receives any reversal
	for name, want := range map[string]struct{ other, more string }{
		"stripe":     {"unknown idempotency_error", "refused charge_already_refunded"},
		"wechat-pay": {"unknown not-its-answer", "refused INVALID_REQUEST"},
		"alipay":     {"unknown ACQ.DISCORDANT_REPEAT_REQUEST", "refused ACQ.TRADE_HAS_CLOSE"},
		"adyen":      {"unknown 704", "accepted"},
	} {
		w.says(name+" first", w.ask(name, "a", 89900), "accepted")
		w.wait()
		w.says(name+" again", w.ask(name, "a", 89900), "accepted")
		w.says(name+" with other parameters", w.ask(name, "a", 100), want.other)
		w.says(name+" under another id", w.ask(name, "b", 89900), want.more)
		w.expect(name, 89900, 0, 1, failed[name])
	}
	if err := w.p.Save(); err != nil {
		t.Fatal(err)
	}
	w.open(w.p.o)
	for name := range references {
		w.ask(name, "a", 89900)
		w.ask(name, "c", 89900)
		w.expect(name, 89900, 0, 1, 2*failed[name])
	}
}

func TestALostAnswerHasMovedTheMoney(t *testing.T) {
	w := begin(t)
	for name := range references {
		w.set(name, `{"loseAnswers":1}`)
		for range 3 {
			w.says(name, w.ask(name, "a", 89900), "unknown")
		}
		w.set(name, `{"loseAnswers":0,"error":500}`)
		w.ask(name, "b", 89900)
		w.expect(name, 89900, 0, 1, 0)
	}
}

func TestAProviderWithoutBalanceRefusesOrWaits(t *testing.T) {
	w := begin(t)
	for name := range references {
		w.set(name, `{"balance":89899}`)
		if answer := w.ask(name, "a", 89900); name == webhook.Alipay {
			w.says(name, answer, "refused ACQ.SELLER_BALANCE_NOT_ENOUGH")
			continue
		}
		w.expect(name, 0, 89900, 1, 0)
		w.set(name, `{"balance":null}`)
		w.expect(name, 89900, 0, 1, 0)
	}
}

func TestWhoIsNotTheShopGetsNothing(t *testing.T) {
	w := begin(t)
	keys := regexp.MustCompile(`"privateKey":"[^"]*"`).FindAllString(webhook.LocalRefundKeys, 2)
	w.trust(strings.NewReplacer("_local", "_other", "local-adyen", "other", keys[0], keys[1], keys[1], keys[0]).Replace(webhook.LocalRefundKeys))
	for name, want := range map[string]string{
		"stripe": "invalid_request_error", "wechat-pay": "SIGN_ERROR", "alipay": "isv.invalid-signature", "adyen": "000",
	} {
		w.says(name, w.ask(name, "a", 89900), "halted "+want)
		w.expect(name, 0, 0, 0, 0)
	}
}

func TestWhatWentBackByHandDoesNotGoBackAgain(t *testing.T) {
	w := begin(t)
	for name, want := range map[string]string{
		"stripe": "refused invalid_request_error", "wechat-pay": "refused INVALID_REQUEST", "alipay": "refused ACQ.REASON_TRADE_REFUND_FEE_ERR",
		"adyen": "accepted",
	} {
		w.set(name+"/payments/"+references[name], `{"back":100}`)
		w.says(name, w.ask(name, "a", 89900), want)
		w.expect(name, 100, 0, 1, map[string]int64{webhook.Adyen: 1}[name])
	}
}

func TestTheAPIHearsWhatBecameOfIt(t *testing.T) {
	w := begin(t)
	for name, want := range map[string][]string{
		"stripe":     {"refund.created", "charge.refunded", "refund.failed"},
		"wechat-pay": {"REFUND.CLOSED"},
		"alipay":     {},
		"adyen":      {"CANCEL_OR_REFUND", "REFUND_FAILED"},
	} {
		if name != webhook.Alipay {
			w.set(name, `{"failLater":true}`)
		}
		w.busy = true
		w.ask(name, "a", 89900)
		w.wait()
		w.busy = false
		clear(w.heard)
		w.wait()
		if got := w.heard[name]; len(got) != len(want) || slices.ContainsFunc(want, func(kind string) bool { return !strings.Contains(strings.Join(got, "\n"), kind) }) {
			t.Errorf("%s: the API heard %q, want %q", name, got, want)
		}
	}
}

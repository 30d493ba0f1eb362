package providers

import (
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"flashsale/infra/kit/client/webhook"
)

// world is the providers with a payment of 899.00 CNY each, a shop, and the API, which notes the notifications it gets.
type world struct {
	t       *testing.T
	p       *Providers
	at      string
	now     time.Time
	heard   map[string][]string // by provider
	busy    bool                // the API
	typo    string              // at the end of the shop's keys; of those that sign, another one
	private map[string]*rsa.PrivateKey
}

var references = map[string]string{"stripe": "pi_1", "wechat-pay": "4200000000523415642750058497", "alipay": "2026000000523415642750058497", "adyen": "DMPN6PZWKMPR6SV5"}

var names = []string{"adyen", "alipay", "stripe", "wechat-pay"}

func begin(t *testing.T) *world {
	w := &world{t: t, now: time.Now(), heard: map[string][]string{}, private: map[string]*rsa.PrivateKey{}}
	api := httptest.NewServer(nil)
	t.Cleanup(api.Close)
	w.open(Options{
		API: api.URL, Secrets: webhook.LocalSecrets, Path: filepath.Join(t.TempDir(), "kept"), Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return w.now },
	})
	api.Config.Handler = w.p.Observe(http.HandlerFunc(func(a http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		provider := strings.TrimPrefix(r.URL.Path, "/payments/")
		w.heard[provider] = append(w.heard[provider], string(body))
		if w.busy {
			a.WriteHeader(http.StatusServiceUnavailable)
		} else if provider == webhook.Alipay {
			fmt.Fprint(a, "success")
		}
	}))
	for provider, reference := range references {
		paid := webhook.Payment{SaleID: "moutai", OrderID: "523415642750058497", PaymentID: reference, Amount: 89900, Currency: "CNY"}
		r, err := paid.Request(t.Context(), api.URL, provider, webhook.LocalSecrets[provider], w.now)
		if err != nil {
			t.Fatal(err)
		}
		w.send(r)
	}
	var keys map[string]struct{ PrivateKey []byte }
	_ = json.Unmarshal([]byte(webhook.LocalRefundKeys), &keys)
	for _, provider := range []string{webhook.WeChatPay, webhook.Alipay} {
		key, _ := x509.ParsePKCS8PrivateKey(keys[provider].PrivateKey)
		w.private[provider] = key.(*rsa.PrivateKey)
	}
	clear(w.heard)
	return w
}

func (w *world) key(provider string) *rsa.PrivateKey {
	if w.typo != "" {
		return webhook.LocalKey()
	}
	return w.private[provider]
}

func (w *world) open(o Options) {
	p, err := Open(o)
	if err != nil {
		w.t.Fatal(err)
	}
	server := httptest.NewServer(p)
	w.t.Cleanup(server.Close)
	w.p, w.at = p, server.URL
}

// send returns status and body, or -1 if the answer is lost.
func (w *world) send(r *http.Request) (int, string) {
	a, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r)
	if err != nil {
		return -1, ""
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil || a.StatusCode == http.StatusBadGateway {
		return -1, ""
	}
	return a.StatusCode, string(body)
}

// ask asks for a refund of so many hundredths, or for what became of it if they are 0.
func (w *world) ask(provider, id string, amount int) string {
	w.t.Helper()
	now, payment := w.now, references[provider]
	method, path, body, headers := "POST", "", "", map[string]string{"Content-Type": "application/json", "Accept": "application/json"}
	switch provider {
	case webhook.Stripe:
		path, body = "/v1/refunds", fmt.Sprintf("payment_intent=%s&amount=%d&metadata%%5Bflashsale%%5D=%s", payment, amount, id)
		headers["Content-Type"], headers["Authorization"] = "application/x-www-form-urlencoded", "Bearer rk_test_localFlashsaleRefunds"+w.typo
		if amount == 0 {
			method, path, body = "GET", path+"?payment_intent="+payment, ""
		}
	case webhook.WeChatPay:
		path = "/v3/refund/domestic/refunds"
		body = fmt.Sprintf(`{"transaction_id":%q,"out_refund_no":%q,"amount":{"refund":%d,"total":89900,"currency":"CNY"}}`, payment, id, amount)
		if amount == 0 {
			method, path, body = "GET", path+"/"+id, ""
		}
		signature := webhook.RSASignature(w.key(provider), fmt.Sprintf("%s\n%s\n%d\nnonce\n%s\n", method, path, now.Unix(), body))
		headers["Authorization"] = fmt.Sprintf(`WECHATPAY2-SHA256-RSA2048 mchid="1900000109",nonce_str="nonce",signature="%s",timestamp="%d",serial_no="%s"`,
			signature, now.Unix(), w.p.keys.WeChatPay.Serial)
		headers["Wechatpay-Serial"] = "PUB_KEY_ID_0119000001092026010100000000000001"
	case webhook.Alipay:
		method, of := "alipay.trade.refund", fmt.Sprintf(`{"trade_no":%q,"refund_amount":"%d.%02d","out_request_no":%q}`, payment, amount/100, amount%100, id)
		if amount == 0 {
			method, of = "alipay.trade.fastpay.refund.query", fmt.Sprintf(`{"trade_no":%q,"out_request_no":%q}`, payment, id)
		}
		fields := map[string]string{
			"app_id": "2021000000000001", "method": method, "charset": "utf-8", "sign_type": "RSA2", "version": "1.0", "biz_content": of,
			"timestamp": now.In(time.FixedZone("", 8*60*60)).Format(time.DateTime),
		}
		path, body = "/gateway.do", webhook.AlipayForm(fields, webhook.RSASignature(w.key(provider), webhook.AlipayText(fields)))
		headers["Content-Type"] = "application/x-www-form-urlencoded;charset=utf-8"
	case webhook.Adyen:
		path, body = "/v71/payments/"+payment+"/reversals", fmt.Sprintf(`{"merchantAccount":"LocalShop","reference":%q}`, fmt.Sprint(id, amount/89900))
		headers["X-API-Key"] = "local-adyen-api-key-for-refunds" + w.typo
	}
	r, _ := http.NewRequestWithContext(w.t.Context(), method, w.at+"/"+provider+path, strings.NewReader(body))
	for name, value := range headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Idempotency-Key", id)
	status, answer := w.send(r)
	return fmt.Sprint(status, " ", answer)
}

// set controls a provider.
func (w *world) set(provider, how string) {
	w.t.Helper()
	r, _ := http.NewRequestWithContext(w.t.Context(), "POST", w.at+controlPath+"/"+provider, strings.NewReader(how))
	if status, answer := w.send(r); status != http.StatusOK {
		w.t.Fatalf("set %s: %d %s", how, status, answer)
	}
}

// wait lets time pass.
func (w *world) wait() {
	for range 4 {
		w.now = w.now.Add(3 * time.Second)
		w.p.Step(w.t.Context())
	}
}

// expect compares the count of a provider's payment.
func (w *world) expect(provider string, want counted) {
	w.t.Helper()
	got := count(w.p.kept.Payments[provider+"/"+references[provider]])
	want.Order, want.Currency, want.Calls, want.Paid = got.Order, got.Currency, got.Calls, 89900
	if got != want {
		w.t.Errorf("%s counts %+v, want %+v", provider, got, want)
	}
}

func (w *world) says(what, got, want string) {
	w.t.Helper()
	if !strings.Contains(got, want) {
		w.t.Errorf("%s: %s, want %s", what, got, want)
	}
}

func TestAPaymentGoesBackOnceAndWhole(t *testing.T) {
	w := begin(t)
	for provider, want := range map[string]struct{ first, again, other, more string }{
		"stripe":     {`200 {"amount":89900,`, `200 {"amount":89900,`, "idempotency_error", "charge_already_refunded"},
		"wechat-pay": {`"status":"PROCESSING"`, `"status":"SUCCESS"`, "INVALID_REQUEST", "INVALID_REQUEST"},
		"alipay":     {`"fund_change":"Y"`, `"fund_change":"N"`, "ACQ.DISCORDANT_REPEAT_REQUEST", "ACQ.TRADE_HAS_CLOSE"},
		"adyen":      {`"status":"received"`, `"status":"received"`, `"errorCode":"704"`, `"status":"received"`},
	} {
		w.says(provider+" first", w.ask(provider, "a", 89900), want.first)
		w.wait()
		w.says(provider+" again", w.ask(provider, "a", 89900), want.again)
		w.says(provider+" with other parameters", w.ask(provider, "a", 100), want.other)
		if provider != webhook.Adyen {
			w.says(provider+" asked", w.ask(provider, "a", 0), "89")
		}
		w.says(provider+" under another id", w.ask(provider, "b", 89900), want.more)
		w.wait()
		w.expect(provider, counted{Back: 89900, Refunds: 1, Failed: map[string]int{"adyen": 1}[provider]})
	}
	if err := w.p.Save(); err != nil {
		t.Fatal(err)
	}
	w.open(w.p.o)
	for _, provider := range names {
		w.ask(provider, "a", 89900)
		w.ask(provider, "c", 89900)
		w.wait()
		w.expect(provider, counted{Back: 89900, Refunds: 1, Failed: map[string]int{"adyen": 2}[provider]})
	}
}

// What is wrong with a secret, PayFunction says.
func TestSecretsThatCannotBeReadStopNothing(t *testing.T) {
	if _, err := Open(Options{Path: filepath.Join(t.TempDir(), "kept"), Secrets: map[string]string{"adyen": "{", "wechat-pay": ""}}); err != nil {
		t.Error(err)
	}
}

func TestALostAnswerHasMovedTheMoney(t *testing.T) {
	w := begin(t)
	for _, provider := range names {
		w.set(provider, `{"loseAnswers":1}`)
		for range 3 {
			w.says(provider, w.ask(provider, "a", 89900), "-1")
		}
		w.wait()
		w.set(provider, `{"loseAnswers":0,"error":500}`)
		w.ask(provider, "b", 89900)
		w.expect(provider, counted{Back: 89900, Refunds: 1})
	}
}

func TestAProviderWithoutBalanceRefusesOrWaits(t *testing.T) {
	w := begin(t)
	for _, provider := range names {
		w.set(provider, `{"balance":89899}`)
		answer := w.ask(provider, "a", 89900)
		w.wait()
		if provider == webhook.Alipay {
			w.says(provider, answer, "ACQ.SELLER_BALANCE_NOT_ENOUGH")
			w.expect(provider, counted{})
			continue
		}
		w.expect(provider, counted{Waits: 89900, Refunds: 1})
		w.set(provider, `{"balance":null}`)
		w.wait()
		w.expect(provider, counted{Back: 89900, Refunds: 1})
	}
}

func TestWhoIsNotTheShopGetsNothing(t *testing.T) {
	w := begin(t)
	for provider, want := range map[string]string{
		"stripe": "401", "adyen": "401", "wechat-pay": "401", "alipay": `"sub_code":"isv.invalid-signature","sub_msg":"isv.invalid-signature"}}`,
	} {
		w.typo = "x"
		w.says(provider, w.ask(provider, "a", 89900), want)
		w.typo = ""
		w.set(provider, `{"refuse":"NOT_ENOUGH"}`)
		w.says(provider, w.ask(provider, "a", 89900), "NOT_ENOUGH")
		w.expect(provider, counted{})
	}
}

func TestTheAPIHearsWhatBecameOfIt(t *testing.T) {
	w := begin(t)
	for provider, want := range map[string][]string{
		"stripe":     {"refund.created", "charge.refunded", "refund.failed"},
		"wechat-pay": {"REFUND.CLOSED"},
		"alipay":     {},
		"adyen":      {"CANCEL_OR_REFUND", "REFUND_FAILED"},
	} {
		if provider != webhook.Alipay {
			w.set(provider, `{"failLater":true}`)
		}
		w.busy = true
		w.ask(provider, "a", 89900)
		w.now = w.now.Add(time.Second)
		w.p.Step(t.Context())
		w.busy = false
		clear(w.heard)
		w.wait()
		if got := w.heard[provider]; len(got) != len(want) || slices.ContainsFunc(want, func(kind string) bool { return !strings.Contains(strings.Join(got, "\n"), kind) }) {
			t.Errorf("%s: the API heard %q, want %q", provider, got, want)
		}
	}
}

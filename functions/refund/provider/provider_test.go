package provider

import (
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"flashsale/infra/kit/client/webhook"
)

var now = time.Date(2026, 11, 29, 4, 0, 0, 5e8, time.UTC)

const (
	someID    = "0123456789abcdef0123456789abcdef"
	otherID   = "fedcba9876543210fedcba9876543210"
	keyID     = "PUB_KEY_ID_0119000001092026010100000000000001"
	ourSerial = "5157F09EFDC096DE15EBE81A47057A7232F1B8E1"
)

// secrets are the local stack's settings of each provider, with a file of a key, and with live accounts.
var secrets = sync.OnceValue(func() map[string]string {
	var all map[string]json.RawMessage
	_ = json.Unmarshal([]byte(webhook.LocalRefundKeys), &all) // it is a file of the kit
	file := strings.NewReplacer(`"privateKey":"`, `"privateKey":"-----BEGIN PRIVATE KEY-----\n`, `","publicKeys"`, `\n-----END PRIVATE KEY-----","publicKeys"`)
	return map[string]string{
		Stripe: `{"secretKey":"rk_live_51Abc"}`, WeChatPay: file.Replace(string(all[WeChatPay])), Alipay: string(all[Alipay]),
		Adyen: `{"apiKey":"AQE,\"x","merchantAccount":"ShopCN","prefix":"1797a841fbb37ca7-Shop","live":true}`,
	}
})

// said is a provider's answer, seen a request to it.
type (
	said struct {
		status int
		body   string
		header map[string]string
	}
	seen struct {
		method, uri, body string
		header            http.Header
	}
)

// serve starts a provider that gives the answers in turn, the last one again and again.
func serve(t *testing.T, name string, answers ...said) (p Provider, calls func() []seen) {
	t.Helper()
	var mu sync.Mutex
	var all []seen
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, seen{r.Method, r.RequestURI, string(body), r.Header})
		a := answers[min(len(all), len(answers))-1]
		for header, value := range a.header {
			w.Header().Set(header, value)
		}
		if a.status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}))
	t.Cleanup(server.Close)
	made, wrong, err := FromSecret(fmt.Sprintf(`{%q:%s}`, name, secrets()[name]), Options{
		BaseURL: server.URL, Now: func() time.Time { return now }, NotifyURL: "https://shop.example/payments/wechat-pay",
	})
	if err != nil || len(wrong) > 0 {
		t.Fatal(err, wrong)
	}
	return made[name], func() []seen {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

// request is of the same sum at each provider.
func request(name string) Request {
	references := map[string]string{
		Stripe: "pi_1", WeChatPay: "4200000001202601010000000001", Alipay: "2026010122001400000000000001", Adyen: "QFQTPCQ8HXSKGK82",
	}
	return Request{ID: someID, Reference: references[name], Amount: 179900, Currency: "CNY"}
}

var outcomes = [...]string{Unknown: "unknown", Accepted: "accepted", Refused: "refused", Busy: "busy", Halted: "halted", Absent: "absent"}

// text is an answer in words.
func text(provider string, a Answer) string {
	all := []string{outcomes[a.Outcome], a.Refund, a.Code, a.Words}
	if a.Wait != 0 {
		all = append(all, a.Wait.String())
	}
	for _, m := range a.Money {
		isWrong := m.Provider != provider || m.Reference != request(provider).Reference || !m.MayBeOurs || m.Check(now) != nil
		switch f := m.Refund; {
		case f != nil && !isWrong:
			all = append(all, "|", string(f.State), f.ID, fmt.Sprint(f.Amount), m.Currency)
		case f == nil && !isWrong && m.Total.Grows:
			all = append(all, "| total", fmt.Sprint(m.Total.Amount), m.Currency)
		default:
			all = append(all, fmt.Sprintf("| wrong %+v", m))
		}
		if !m.At.IsZero() {
			all = append(all, m.At.Format(time.RFC3339Nano))
		}
	}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), " ")
}

// fate is what answers come to. A want that ends with * is only how it begins.
type fate struct {
	answers []said
	want    string
}

func meet(t *testing.T, provider string, isAsked bool, all map[string]fate) {
	t.Helper()
	for name, f := range all {
		p, calls := serve(t, provider, f.answers...)
		call := p.Send
		if isAsked {
			call = p.Ask
		}
		got := text(provider, call(t.Context(), request(provider)))
		if start, isStart := strings.CutSuffix(f.want, "*"); got != f.want && (!isStart || !strings.HasPrefix(got, start)) {
			t.Errorf("%s, %s (asked: %t): %s, want %s", provider, name, isAsked, got, f.want)
		}
		if len(calls()) != len(f.answers) {
			t.Errorf("%s, %s (asked: %t): %d requests, want %d", provider, name, isAsked, len(calls()), len(f.answers))
		}
	}
}

// is fails unless the request was that one. Headers are given as "Name: value".
func (s seen) is(t *testing.T, method, uri, body string, headers ...string) {
	t.Helper()
	if s.method != method || s.uri != uri || s.body != body {
		t.Errorf("%s %s %s, want %s %s %s", s.method, s.uri, s.body, method, uri, body)
	}
	for _, header := range headers {
		if name, want, _ := strings.Cut(header, ": "); s.header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, s.header.Get(name), want)
		}
	}
}

// members is a JSON object with members replaced: their names and JSON values in turn.
func members(object string, changes ...string) string {
	for i := 0; i < len(changes); i += 2 {
		start, rest, found := strings.Cut(object, `"`+changes[i]+`":`)
		if !found {
			panic("no member " + changes[i])
		}
		end := strings.IndexAny(rest, ",}")
		object = start + `"` + changes[i] + `":` + changes[i+1] + rest[end:]
	}
	return object
}

func TestWhatIsNoWholeAnswerOfTheProviderLeavesARequestUnknown(t *testing.T) {
	for provider := range secrets() {
		for _, isAsked := range []bool{false, true} {
			if provider == Adyen && isAsked {
				continue
			}
			meet(t, provider, isAsked, map[string]fate{
				"a page":              {[]said{{200, "<html>OK</html>", nil}}, "unknown not-its-answer*"},
				"nothing":             {[]said{{200, "", nil}}, "unknown not-its-answer*"},
				"an empty object":     {[]said{{200, "{}", nil}}, "unknown not-its-answer*"},
				"10 MB":               {[]said{{200, `{"id":"` + strings.Repeat("x", 10<<20), nil}}, "unknown no-answer the answer has more than 1048576 bytes"},
				"a cut body":          {[]said{{200, "{}", map[string]string{"Content-Length": "3"}}}, "unknown no-answer unexpected EOF"},
				"a broken connection": {[]said{{}}, "unknown no-answer*"},
				"a redirect":          {[]said{{307, "", map[string]string{"Location": "/elsewhere"}}}, "unknown HTTP 307"},
				"a page of a proxy":   {[]said{{403, "<html>Forbidden</html>", nil}}, "unknown HTTP 403"},
				"an error":            {[]said{{500, `{"code":"SYSTEM_ERROR","status":500}`, nil}}, "unknown*"},
				"another's error":     {[]said{{400, `{"status":400}`, nil}}, "unknown HTTP 400"},
				"too late":            {[]said{{408, "", nil}}, "unknown HTTP 408"},
				"in progress":         {[]said{{409, "", nil}}, "unknown HTTP 409"},
				"too many":            {[]said{{429, "", map[string]string{"Retry-After": "7"}}}, "busy HTTP 429 7s"},
				"too many for ever":   {[]said{{429, "", map[string]string{"Retry-After": "2147483647"}}}, "busy HTTP 429 24h0m0s"},
				"too many until":      {[]said{{429, "", map[string]string{"Retry-After": now.Add(9500 * time.Millisecond).Format(http.TimeFormat)}}}, "busy HTTP 429 9.5s"},
			})
		}
	}
}

func TestAProviderThatWasNotReachedIsBusyUntilThereWasAConnection(t *testing.T) {
	broken := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	server := httptest.NewUnstartedServer(broken)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	closed := httptest.NewServer(broken)
	closed.Close()
	for name, tt := range map[string]struct {
		client  *http.Client
		address string
		want    Outcome
	}{
		"a port that is closed":         {nil, closed.URL, Busy},
		"another's certificate":         {nil, server.URL, Busy},
		"HTTP/2, and then it is broken": {server.Client(), server.URL, Unknown},
	} {
		o := Options{client: cmp.Or(tt.client, http.DefaultClient), Now: time.Now}
		if got, a := o.call(t.Context(), http.MethodPost, tt.address, "x", nil); got != nil || a.Outcome != tt.want || a.Words == "" {
			t.Errorf("%s: %+v, want %s", name, a, outcomes[tt.want])
		}
	}
}

// An environment is frozen between runs, and does not see that a connection has ended.
func TestEachRunConnectsAnew(t *testing.T) {
	connections := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { connections[r.RemoteAddr] = true }))
	defer server.Close()
	for range 2 {
		all, _, _ := FromSecret(`{"alipay":`+secrets()[Alipay]+`}`, Options{BaseURL: server.URL, Now: time.Now})
		for range 2 {
			all[Alipay].Send(t.Context(), request(Alipay))
		}
	}
	if n := len(connections); n != 2 {
		t.Errorf("two runs of two calls each made %d connections, want one each", n)
	}
}

func TestOneProvidersWrongSettingsAreSaidAndStopNoOther(t *testing.T) {
	stripe, wechat := secrets()[Stripe], secrets()[WeChatPay]
	theirs, _ := x509.MarshalPKCS8PrivateKey(webhook.LocalKey()) // keys of RSA always marshal
	const noKey = "privateKey: it is no private key of RSA with 2048 bits or more*"
	for _, tt := range [][3]string{
		{Stripe, members(stripe, "secretKey", `"rk_live_51Abc\n"`), "secretKey: it has a blank or a line break"},
		{Stripe, members(stripe, "secretKey", `"pk_live_51Abc"`), "secretKey: it is not a secret or restricted key, such as rk_live_…"},
		{Stripe, `{"secretkey":"rk_live_51Abc"}`, "it is not JSON of the form*"},
		{Stripe, `null`, "secretKey: it is empty"},
		{WeChatPay, members(wechat, "mchid", `"wx1"`), "mchid: it is not of digits"},
		{WeChatPay, members(wechat, "serial", `"51:57"`), "serial: it is not the serial number of a certificate in hexadecimal"},
		{WeChatPay, members(wechat, "privateKey", `"AAAA"`), noKey},
		{WeChatPay, members(wechat, "privateKey", `"`+base64.StdEncoding.EncodeToString(theirs)+`"`), "publicKeys: one is of the privateKey, not the provider's own"},
		{WeChatPay, members(wechat, keyID, `"AAAA"`), "publicKeys: it is no key, or a part of one, not one of*"},
		{WeChatPay, strings.Replace(wechat, keyID, "PUB_KEY", 1), "publicKeys: its name is neither*"},
		{"standard-webhooks", `{}`, "there is no such provider, or it cannot be asked to refund"},
	} {
		made, wrong, err := FromSecret(fmt.Sprintf(`{%q:%s,"adyen":%s}`, tt[0], tt[1], secrets()[Adyen]), Options{})
		got, want := fmt.Sprint(wrong[tt[0]]), "RefundKeysArn, "+tt[0]+": "+tt[2]
		start, isStart := strings.CutSuffix(want, "*")
		if err != nil || len(wrong) != 1 || len(made) != 1 || made[Adyen] == nil || got != want && (!isStart || !strings.HasPrefix(got, start)) {
			t.Errorf("%s: %v, %v, %v, want %s", tt[1], made, wrong, err, want)
		}
	}
	for _, secret := range []string{"", "rk_live_51Abc", `{"stripe":{},"stripe":{}}`, "[]"} {
		if _, _, err := FromSecret(secret, Options{}); err == nil {
			t.Errorf("%s is a secret", secret)
		}
	}
}

func TestOnlyThisMachineStandsForTheProviders(t *testing.T) {
	for text, want := range map[string]string{
		"http://127.0.0.1:8080": "http://127.0.0.1:8080", "http://localhost:1/": "http://localhost:1", "http://[::1]:80": "http://[::1]:80",
		"": "", "https://127.0.0.1:8080": "", "http://127.0.0.1": "", "http://127.0.0.1:": "", "http://127.0.0.2:80": "", "http://127.1:80": "",
		"http://127.0.0.1.example.com:80": "", "http://u@127.0.0.1:80": "", "http://127.0.0.1:80/x": "", "http://127.0.0.1:80?x": "",
		"http://127.0.0.1:80#x": "", "http://10.0.0.1:80": "", "http://localhost.:80": "", "127.0.0.1:80": "", "http://127.0.0.1:80//": "",
	} {
		if got, err := LocalURL(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestTheHostsOfTheProvidersAreFixed(t *testing.T) {
	all := secrets()
	for settings, host := range map[string]string{
		all[Adyen]: "https://1797a841fbb37ca7-Shop-checkout-live.adyenpayments.com/checkout", members(all[Adyen], "live", "false", "prefix", `""`): "https://checkout-test.adyen.com",
	} {
		secret := fmt.Sprintf(`{"stripe":%s,"wechat-pay":%s,"alipay":%s,"adyen":%s}`, all[Stripe], all[WeChatPay], all[Alipay], settings)
		made, _, _ := FromSecret(secret, Options{})
		got := made[Stripe].(*stripe).api + " " + made[WeChatPay].(*wechatPay).host + " " + made[Alipay].(*alipay).gateway + " " + made[Adyen].(*adyen).api
		if want := "https://api.stripe.com/v1/refunds https://api.mch.weixin.qq.com https://openapi.alipay.com/gateway.do " + host + "/v71/payments/"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Such a request may have moved the money: net/http makes it again if its connection breaks.
func TestBusyOrHaltedOfARepeatSaysNothingOfTheFirstRequest(t *testing.T) {
	busy, lost, usual := said{429, "", nil}, said{}, said{500, "{}", nil} // the connection is used again
	halted := said{401, `{"error":{"type":"invalid_request_error","code":"no"},"errorCode":"no","message":"Words."}`, nil}
	made := stripeError(400, "invalid_request_error", "charge_already_refunded", "Words.")
	for _, tt := range []struct {
		provider string
		answers  []said
		want     bool
	}{
		{Stripe, []said{usual, busy}, false}, {Stripe, []said{usual, lost, busy}, true}, {Stripe, []said{usual, lost, halted}, true},
		{Adyen, []said{usual, halted}, false}, {Adyen, []said{usual, lost, busy}, true}, {Adyen, []said{usual, lost, halted}, true},
		{Stripe, []said{usual, made, busy}, true}, {Stripe, []said{usual, made, halted}, true},
		{WeChatPay, []said{usual, wechat(400, `{"code":"INVALID_REQUEST"}`), busy}, true},
		{Alipay, []said{usual, alipaySays(refundMember, `{"code":"40004","sub_code":"ACQ.X"}`), busy}, true},
	} {
		p, calls := serve(t, tt.provider, tt.answers...)
		p.Send(t.Context(), request(tt.provider))
		a := p.Send(t.Context(), request(tt.provider))
		if (a.Outcome != Busy && a.Outcome != Halted) || a.IsRepeat != tt.want || len(calls()) != len(tt.answers) {
			t.Errorf("%s: %+v after %d requests, want that it is a repeat: %t", tt.provider, a, len(calls()), tt.want)
		}
	}
}

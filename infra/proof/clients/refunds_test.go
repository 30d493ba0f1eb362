package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flashsale/functions/refund/provider"
	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/local/providers"
)

// refunds are the local providers, which note the requests for refunds that they get.
type refunds struct {
	*providers.Providers
	made map[string][]refundRequest // by provider
}

// refundRequest is what a provider reads of a request: its fields, where its body or its address has such.
type refundRequest struct {
	Path   string
	Body   string
	Fields url.Values
	Header map[string][]string // by their parts, which are in any order
}

// ServeHTTP lets libraries that have a fixed path ask, too.
func (r *refunds) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	for start, name := range map[string]string{"/v1/": provider.Stripe, "/v3/": provider.WeChatPay} {
		if strings.HasPrefix(q.URL.Path, start) {
			q.URL.Path = "/" + name + q.URL.Path
		}
	}
	body, _ := io.ReadAll(q.Body) // what is cut is no refund
	q.Body = io.NopCloser(bytes.NewReader(body))
	one := refundRequest{Path: q.URL.Path, Body: string(body), Fields: q.URL.Query(), Header: map[string][]string{}}
	if strings.HasPrefix(q.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		form, _ := url.ParseQuery(one.Body)
		for name, values := range form {
			one.Fields[name] = append(one.Fields[name], values...)
		}
		one.Body = ""
	}
	for _, name := range []string{"Authorization", "Idempotency-Key", "X-Api-Key", "Wechatpay-Serial"} {
		one.Header[name] = slices.Sorted(strings.SplitSeq(q.Header.Get(name), ","))
	}
	if name := strings.Split(q.URL.Path, "/")[1]; q.Method == "POST" && name != "_local" && !strings.HasSuffix(one.Fields.Get("method"), ".query") {
		r.made[name] = append(r.made[name], one)
	}
	r.Providers.ServeHTTP(w, q)
}

var nonces = regexp.MustCompile(`nonce_str="(\w+)"`)

// RefundFunction and each provider's library ask for two refunds under the same ids, the second of which is refused. Their requests
// are the same in all that counts, at the same time and with the same nonce the signatures, too, and so are the answers.
func TestProvidersLibrariesAndRefundFunctionAskForTheSameRefund(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	p, err := providers.Open(providers.Options{
		Secrets: webhook.LocalSecrets, Path: filepath.Join(t.TempDir(), "kept"), Now: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &refunds{Providers: p, made: map[string][]refundRequest{}}
	server := httptest.NewServer(r)
	defer server.Close()
	ours, wrong, err := provider.FromSecret(webhook.LocalRefundKeys, provider.Options{BaseURL: server.URL, Now: func() time.Time { return now }, NotifyURL: "https://shop.example/payments/wechat-pay"})
	refusals := map[string]string{provider.Stripe: "charge_disputed", provider.WeChatPay: "NOT_ENOUGH", provider.Alipay: "ACQ.SELLER_BALANCE_NOT_ENOUGH", provider.Adyen: "167"}
	if err != nil || len(ours) != len(refusals) {
		t.Fatal(ours, wrong, err)
	}

	type refund struct{ ID, Reference, Nonce, Refund, Code string }
	asked := map[string][2]*refund{}
	ask := func(name string, one *refund) provider.Answer {
		return ours[name].Send(t.Context(), provider.Request{ID: one.ID, Reference: one.Reference, Amount: 149900, Currency: "CNY"})
	}
	for name, code := range refusals {
		var all [2]*refund
		for i := range all {
			order := fmt.Sprintf("52341564275005849%d", i)
			all[i] = &refund{ID: fmt.Sprintf("%032x", i+1), Reference: webhook.PaymentID(name, order)}
			paid := webhook.Payment{SaleID: "moutai", OrderID: order, PaymentID: all[i].Reference, Amount: 149900, Currency: "CNY"}
			q, err := paid.Request(t.Context(), server.URL, name, webhook.LocalSecrets[name], now)
			if err != nil {
				t.Fatal(err)
			}
			p.Observe(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), q)
			if i > 0 {
				q, _ = http.NewRequestWithContext(t.Context(), "POST", server.URL+"/_local/providers/"+name, strings.NewReader(`{"refuse":"`+code+`"}`))
				r.ServeHTTP(httptest.NewRecorder(), q)
			}
			a := ask(name, all[i])
			if all[i].Refund, all[i].Code = a.Refund, a.Code; a.Outcome != [2]provider.Outcome{provider.Accepted, provider.Refused}[i] {
				t.Fatalf("%s, request %d: %+v", name, i, a)
			}
			if found := nonces.FindStringSubmatch(strings.Join(r.made[name][i].Header["Authorization"], ",")); found != nil {
				all[i].Nonce = found[1]
			}
		}
		asked[name] = all
	}
	text, err := json.Marshal(map[string]any{"root": server.URL, "second": now.Unix(), "keys": json.RawMessage(webhook.LocalRefundKeys), "asked": asked})
	if err != nil {
		t.Fatal(err)
	}
	var told map[string][2]*refund
	readers(t, "refunds", string(text), &told)
	if diff := cmp.Diff(asked, told); diff != "" {
		t.Errorf("what RefundFunction and the libraries are answered (-ours +theirs):\n%s", diff)
	}
	shown := httptest.NewRecorder()
	r.ServeHTTP(shown, httptest.NewRequest("GET", "/_local/providers", nil))
	var counted map[string]struct {
		Payments map[string]struct{ Paid, Back, Waits, Refunds int64 }
	}
	if err := json.Unmarshal(shown.Body.Bytes(), &counted); err != nil {
		t.Fatal(err)
	}
	for name, code := range refusals {
		made := r.made[name]
		if len(made) != 4 {
			t.Fatalf("%s: %d requests, want 2 and 2: %+v", name, len(made), made)
		}
		if diff := cmp.Diff(made[:2], made[2:]); diff != "" {
			t.Errorf("%s, the requests (-ours +theirs):\n%s", name, diff)
		}
		all, of := asked[name], counted[name].Payments
		if one := of[all[0].Reference]; one.Refunds != 1 || one.Back+one.Waits != one.Paid || of[all[1].Reference].Refunds != 0 || all[1].Code != code {
			t.Errorf("%s: %+v, refused with %s; want one refund of the whole, none of the second, and %s", name, of, all[1].Code, code)
		}
		if a := ask(name, all[0]); a.Outcome != provider.Accepted || a.Refund != all[0].Refund {
			t.Errorf("%s, once more: %+v, want the refund that was accepted, %s", name, a, all[0].Refund)
		}
	}
}

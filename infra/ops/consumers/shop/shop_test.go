package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	key    = "0123456789abcdef0123456789abcdef"
	secret = "whsec_bG9jYWwtZmxhc2hzYWxlLXdlYmhvb2stc2VjcmV0"
)

// signedLink is a link to an order that is to be paid within the hour.
func signedLink(by string, change ...string) url.Values {
	link := url.Values{"order": {"523415642750058497"}, "sale": {"moutai"}, "amount": {"89900"}, "currency": {"CNY"}, "payBy": {time.Now().Add(time.Hour).UTC().Format("2006-01-02T15:04:05.000Z")}}
	for i := 0; i+1 < len(change); i += 2 {
		link.Set(change[i], change[i+1])
	}
	format, units := "1", ""
	if link.Has("units") {
		format, units = "2", "\n"+link.Get("units")
	}
	mac := hmac.New(sha256.New, []byte(by))
	for _, text := range []string{"flashsale payment ", format, "\n", link.Get("order") + "\n", link.Get("sale") + "\n", link.Get("amount") + "\n", link.Get("currency") + "\n", link.Get("payBy"), units} {
		_, _ = io.WriteString(mac, text)
	}
	link.Set("signature", hex.EncodeToString(mac.Sum(nil)))
	return link
}

// opened is a page over a flashsale that gives these answers, one after the other, and notes what
// it is told.
func opened(t *testing.T, answers ...string) (s *shop, addresses *bytes.Buffer, told *[]string) {
	t.Helper()
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	told = &[]string{}
	flashsale := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/sales/moutai":
			_, _ = io.WriteString(w, `{"name":"Feitian <Moutai>","image":"https://images.example/moutai.jpg"}`)
			return
		case "/assets/style.css":
			_, _ = io.WriteString(w, "the buyers' style")
			return
		}
		body, err := io.ReadAll(r.Body)
		if err == nil && r.URL.Path == "/payments/standard-webhooks" {
			err = webhook.Verify(body, r.Header)
		}
		if err != nil {
			t.Errorf("%s: %v", r.URL, err)
		}
		*told = append(*told, r.URL.Path+" "+string(body))
		answer := answers[min(len(*told), len(answers))-1]
		if answer == "busy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(flashsale.Close)
	back, err := url.Parse(flashsale.URL + "/s/")
	if err != nil {
		t.Fatal(err)
	}
	addresses = &bytes.Buffer{}
	return &shop{flashsale: flashsale.URL, back: back, keys: []string{"another key of thirty-two letters", key + "\n"}, webhook: webhook, client: flashsale.Client(), now: time.Now, addresses: addresses}, addresses, told
}

func ask(s *shop, method, host string, link url.Values, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://"+host+"/pay?"+link.Encode(), strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestOnlyAnUnchangedLinkIsPaid(t *testing.T) {
	changed := func(name, value string) url.Values {
		link := signedLink(key)
		link.Set(name, value)
		return link
	}
	for name, tt := range map[string]struct {
		link       url.Values
		host, want string
	}{
		"as it was signed":   {signedLink(key), "127.0.0.1:3003", "Pay CNY 899.00"},
		"in yen":             {signedLink(key, "currency", "JPY", "amount", "899"), "localhost:3003", "Pay JPY 899<"},
		"in rials":           {signedLink(key, "currency", "OMR"), "127.0.0.1:3003", "Pay OMR 89.900<"},
		"of several units":   {signedLink(key, "units", "2", "amount", "179800"), "127.0.0.1:3003", "Pay CNY 1798.00"},
		"other units":        {changed("units", "2"), "127.0.0.1:3003", "It was changed"},
		"another amount":     {changed("amount", "1"), "127.0.0.1:3003", "It was changed"},
		"another order":      {changed("order", "523415642750058498"), "127.0.0.1:3003", "It was changed"},
		"a later end":        {changed("payBy", "2099-01-01T00:00:00.000Z"), "127.0.0.1:3003", "It was changed"},
		"no signature":       {changed("signature", ""), "127.0.0.1:3003", "It was changed"},
		"another key":        {signedLink("fedcba9876543210fedcba9876543210"), "127.0.0.1:3003", "It was changed"},
		"too late":           {signedLink(key, "payBy", "2026-01-01T00:00:00.000Z"), "127.0.0.1:3003", "It was to be paid by Thu, 01 Jan 2026"},
		"without a price":    {signedLink(key, "amount", "0", "currency", ""), "127.0.0.1:3003", "It has no price"},
		"under another name": {signedLink(key), "shop.example:3003", "There is no such page"},
	} {
		s, addresses, told := opened(t, `{"outcome":"paid"}`)
		w := ask(s, http.MethodGet, tt.host, tt.link, nil)
		if isRefused := w.Code == http.StatusForbidden; !strings.Contains(w.Body.String(), tt.want) || isRefused == strings.Contains(w.Body.String(), "<form") {
			t.Errorf("%s: %d %s, want %q", name, w.Code, w.Body, tt.want)
		}
		if w.Code == http.StatusForbidden {
			if w = ask(s, http.MethodPost, tt.host, tt.link, url.Values{"address": {"x"}}); w.Code != http.StatusForbidden || addresses.Len() > 0 || len(*told) > 0 {
				t.Errorf("%s: the form is taken: %d", name, w.Code)
			}
		}
	}
}

// What is paid for, for how long it is kept, and the way back: as on the buyer's page, in its style.
func TestThePageLooksLikeTheBuyersPage(t *testing.T) {
	s, _, _ := opened(t, `{"outcome":"paid"}`)
	link := signedLink(key)
	payBy, err := time.Parse(time.RFC3339, link.Get("payBy"))
	if err != nil {
		t.Fatal(err)
	}
	s.now = func() time.Time { return payBy.Add(-90 * time.Second) }
	w := ask(s, http.MethodGet, "127.0.0.1:3003", link, nil)
	for _, want := range []string{"<title>Feitian &lt;Moutai&gt;</title>", `<img src="https://images.example/moutai.jpg"`, `data-left="90"`, `href="` + s.flashsale + `/s/moutai"`, `href="/assets/style.css"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page lacks %s:\n%s", want, w.Body)
		}
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'self'; style-src 'self'; img-src 'self' https://images.example; ") {
		t.Errorf("the policy is %s", policy)
	}
	for path, want := range map[string]string{"/assets/style.css": "the buyers' style", "/assets/page.css": "textarea", "/assets/page.js": "Counts down", "/assets/page.html": "404"} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:3003"+path, nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
	s.now = func() time.Time { return payBy }
	if w := ask(s, http.MethodGet, "127.0.0.1:3003", link, nil); w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `href="`+s.flashsale+`/s/moutai"`) {
		t.Errorf("too late there is no way back: %d %s", w.Code, w.Body)
	}
	s.now, s.flashsale = time.Now, "http://127.0.0.1:1"
	if w := ask(s, http.MethodGet, "127.0.0.1:3003", signedLink(key), nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "<h1 dir=\"auto\">Order 523415642750058497</h1>") {
		t.Errorf("without flashsale: %d %s", w.Code, w.Body)
	}
}

func TestMoneyIsCapturedOnlyOnTheAnswerPaid(t *testing.T) {
	const report = `"orderId":"523415642750058497","paymentId":"shop-523415642750058497","saleId":"moutai"`
	for name, tt := range map[string]struct {
		answers []string
		status  int
		told    int
	}{
		"paid":                          {[]string{`{"outcome":"paid"}`}, http.StatusSeeOther, 1},
		"paid after it was busy":        {[]string{"busy", "busy", `{"outcome":"paid"}`}, http.StatusSeeOther, 3},
		"cancelled before":              {[]string{`{"outcome":"refund-due","reason":"released"}`}, http.StatusConflict, 1},
		"something else":                {[]string{`{"outcome":"ignored"}`}, http.StatusBadGateway, 1},
		"an answer that cannot be read": {[]string{`paid`}, http.StatusBadGateway, 4},
		"never answered":                {[]string{"busy"}, http.StatusBadGateway, 4},
	} {
		s, addresses, told := opened(t, tt.answers...)
		w := ask(s, http.MethodPost, "127.0.0.1:3003", signedLink(key), url.Values{"address": {" 1 \"Main\" Street\n"}})
		if w.Code != tt.status || (w.Header().Get("Location") == s.flashsale+"/s/moutai") != (tt.status == http.StatusSeeOther) || len(*told) != tt.told {
			t.Errorf("%s: %d to %q, %d reports", name, w.Code, w.Header().Get("Location"), len(*told))
		}
		if got, want := strings.Contains(w.Body.String(), `<a href="/pay?`), tt.status == http.StatusBadGateway; got != want {
			t.Errorf("%s: leads to the form again: %t, want %t", name, got, want)
		}
		for _, body := range *told {
			if !strings.HasPrefix(body, "/payments/standard-webhooks {") || !strings.Contains(body, report) || !strings.Contains(body, `"amount":89900,"currency":"CNY"`) {
				t.Errorf("%s: reported %s", name, body)
			}
		}
		if kept := addresses.String(); !strings.Contains(kept, `"address":"1 \"Main\" Street"`) || strings.Count(kept, "\n") != 1 {
			t.Errorf("%s: kept %q", name, kept)
		}
	}
	s, addresses, told := opened(t, `{"outcome":"paid"}`)
	if w := ask(s, http.MethodPost, "127.0.0.1:3003", signedLink(key), url.Values{"address": {" "}}); w.Code != http.StatusBadRequest || addresses.Len() > 0 || len(*told) > 0 {
		t.Errorf("without an address: %d", w.Code)
	}
}

// The local stack's tests show that it believes what is sent.
func TestAProviderNotifiesUntilItsOwnAnswerComes(t *testing.T) {
	for name, tt := range map[string]struct {
		provider, currency string
		answers            []string
		status, told       int
	}{
		"WeChat Pay":                   {"wechat-pay", "CNY", []string{""}, http.StatusSeeOther, 1},
		"WeChat Pay after a failure":   {"wechat-pay", "CNY", []string{"busy", ""}, http.StatusSeeOther, 2},
		"Stripe, told of a refund due": {"stripe", "JPY", []string{`{"outcome":"refund-due"}`}, http.StatusSeeOther, 1},
		"Alipay after a failure":       {"alipay", "CNY", []string{"fail: busy", "success"}, http.StatusSeeOther, 2},
		"Adyen in yen":                 {"adyen", "JPY", []string{"busy", "[accepted]"}, http.StatusSeeOther, 2},
		"Stripe without an answer":     {"stripe", "CNY", []string{"busy"}, http.StatusBadGateway, 4},
		"WeChat Pay in yen":            {"wechat-pay", "JPY", []string{""}, http.StatusBadRequest, 0},
		"Adyen in half a rupiah":       {"adyen", "IDR", []string{""}, http.StatusBadRequest, 0},
		"one that is not offered":      {"paypal", "CNY", []string{""}, http.StatusBadRequest, 0},
	} {
		s, _, told := opened(t, tt.answers...)
		s.plays = true
		link := signedLink(key, "currency", tt.currency, "amount", "89950")
		w := ask(s, http.MethodPost, "127.0.0.1:3003", link, url.Values{"address": {"x"}, "provider": {tt.provider}})
		if w.Code != tt.status || len(*told) != tt.told || slices.ContainsFunc(*told, func(one string) bool { return !strings.HasPrefix(one, "/payments/"+tt.provider+" ") }) {
			t.Errorf("%s: status %d, want %d; told %q, want %d", name, w.Code, tt.status, *told, tt.told)
		}
		if _, again, is := strings.Cut(w.Body.String(), `<a href="/pay?`); is {
			again, _, _ = strings.Cut(html.UnescapeString(again), `"`)
			tried, err := url.ParseQuery(again)
			if w := ask(s, http.MethodGet, "127.0.0.1:3003", tried, nil); err != nil || strings.Count(w.Body.String(), " checked") != 1 || !strings.Contains(w.Body.String(), `value="`+tt.provider+`" checked`) {
				t.Errorf("%s: the link to try again proposes another way: %v %s", name, err, w.Body)
			}
		}
		w = ask(s, http.MethodGet, "127.0.0.1:3003", link, nil)
		if got, want := strings.Contains(w.Body.String(), `value="`+tt.provider+`"`), tt.status != http.StatusBadRequest; got != want {
			t.Errorf("%s: offered: %t, want %t", name, got, want)
		}
		s.plays = false
		if w = ask(s, http.MethodGet, "127.0.0.1:3003", link, nil); strings.Contains(w.Body.String(), "radio") {
			t.Errorf("%s: a shop of its own offers what this machine plays", name)
		}
	}
}

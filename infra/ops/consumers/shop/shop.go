package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"flashsale/shared/currency"
)

// shop is a payment page. infra/docs/HTTP.md describes the link and the report.
type shop struct {
	flashsale string
	keys      []string // of the links; several while one replaces another
	webhook   *standardwebhooks.Webhook
	client    *http.Client
	now       func() time.Time
	pause     time.Duration // before a report is repeated

	mu        sync.Mutex
	addresses io.Writer // a JSON object a line; a real shop has its database
}

var page = template.Must(template.New("").Parse(`<!doctype html><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{{.Title}}</title>
<h1>{{.Title}}</h1>{{if .Text}}<p>{{.Text}}{{else}}<form method="post"><p><label>Deliver to<br><textarea name="address" required maxlength="500"></textarea></label>
<p><button>Pay {{.Amount}}</button></form>{{end}}`))

type shown struct{ Title, Text, Amount string }

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer") // the address has the signature
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; form-action 'self' "+s.flashsale)
	link := r.URL.Query()
	text, price := s.refuse(r.Host, r.URL.Path, link)
	switch {
	case text != "":
		show(w, http.StatusForbidden, shown{Title: "This link cannot be paid", Text: text})
	case r.Method == http.MethodPost:
		s.pay(w, r, link)
	default:
		show(w, http.StatusOK, shown{Title: "Order " + link.Get("order"), Amount: price})
	}
}

func show(w http.ResponseWriter, status int, what shown) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = page.Execute(w, what)
}

// refuse returns why a link is not taken, or "" and its price as people write it.
func (s *shop) refuse(host, path string, link url.Values) (why, price string) {
	if name, _, _ := net.SplitHostPort(host); path != "/pay" || name != "127.0.0.1" && name != "localhost" {
		return "There is no such page.", ""
	}
	signed := strings.Join([]string{"flashsale payment 1", link.Get("order"), link.Get("sale"), link.Get("amount"), link.Get("currency"), link.Get("payBy")}, "\n")
	got, err := hex.DecodeString(link.Get("signature"))
	valid := false
	for _, key := range s.keys {
		mac := hmac.New(sha256.New, []byte(strings.TrimSpace(key)))
		mac.Write([]byte(signed))
		valid = hmac.Equal(mac.Sum(nil), got) || valid // in constant time
	}
	payBy, noTime := time.Parse(time.RFC3339, link.Get("payBy"))
	amount, noAmount := strconv.ParseInt(link.Get("amount"), 10, 64)
	price, hasDigits := currency.Decimal(amount, link.Get("currency"))
	switch {
	case err != nil || !valid:
		return "It was changed, or it is not from the shop.", ""
	case noTime != nil || noAmount != nil || !hasDigits || amount <= 0:
		return "It has no price.", ""
	case !s.now().Before(payBy):
		return "It was to be paid by " + payBy.Format(time.RFC1123) + ".", ""
	}
	return "", link.Get("currency") + " " + price
}

// pay keeps the address, reserves the money and captures it only on the answer "paid": the
// link does not know that its order was cancelled, or paid elsewhere. The payment's id is
// made of the order, so a form that is sent twice is one payment.
func (s *shop) pay(w http.ResponseWriter, r *http.Request, link url.Values) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	address := strings.TrimSpace(r.PostFormValue("address"))
	if address == "" || len(address) > 2000 {
		show(w, http.StatusBadRequest, shown{Title: "Where shall it be delivered?", Text: "Go back and enter an address."})
		return
	}
	if err := s.keep(link.Get("order"), link.Get("sale"), address); err != nil {
		show(w, http.StatusInternalServerError, shown{Title: "Nothing was paid", Text: "Please try again."})
		return
	}
	payment := "shop-" + link.Get("order")
	// Here a shop reserves the amount at its bank, under that id.
	switch s.report(r.Context(), payment, link) {
	case "paid":
		// Here it captures what it has reserved.
		http.Redirect(w, r, s.flashsale+"/s/"+url.PathEscape(link.Get("sale")), http.StatusSeeOther)
	case "refund-due":
		// Here it cancels the reservation; then the operator marks the refund as done.
		show(w, http.StatusConflict, shown{Title: "Nothing was paid", Text: "This order is cancelled, expired or paid already. No money was taken."})
	default:
		// The reservation stays until the same report is answered.
		show(w, http.StatusBadGateway, shown{Title: "Not known yet", Text: "Send the form again: nothing is paid twice."})
	}
}

func (s *shop) keep(order, sale, address string) error {
	line, err := json.Marshal(map[string]string{"order": order, "sale": sale, "address": address, "at": s.now().UTC().Format(time.RFC3339)})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.addresses.Write(append(line, '\n'))
	return err
}

// report tells flashsale of the payment, by Standard Webhooks, and returns the outcome. It
// repeats what was not answered 200; "" is unknown.
func (s *shop) report(ctx context.Context, payment string, link url.Values) (outcome string) {
	amount, _ := strconv.ParseInt(link.Get("amount"), 10, 64)
	body, err := json.Marshal(map[string]any{"type": "payment.succeeded", "timestamp": s.now().UTC().Format(time.RFC3339), "data": map[string]any{
		"saleId": link.Get("sale"), "orderId": link.Get("order"), "paymentId": payment, "amount": amount, "currency": link.Get("currency"),
	}})
	for try := 0; err == nil && try < 4 && ctx.Err() == nil; try++ {
		time.Sleep(time.Duration(try) * s.pause)
		var answer struct{ Outcome string }
		if status, text := s.post(ctx, payment, body); status == http.StatusOK && json.Unmarshal(text, &answer) == nil {
			return answer.Outcome
		}
	}
	return ""
}

func (s *shop) post(ctx context.Context, payment string, body []byte) (status int, answer []byte) {
	now := s.now()
	signature, err := s.webhook.Sign("msg_"+payment, now, body)
	if err != nil {
		return 0, nil
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.flashsale+"/payments/standard-webhooks", bytes.NewReader(body))
	if err != nil {
		return 0, nil
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(standardwebhooks.HeaderWebhookID, "msg_"+payment)
	r.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	r.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	a, err := s.client.Do(r)
	if err != nil {
		return 0, nil
	}
	defer a.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(a.Body, 64<<10))
	if err != nil {
		return 0, nil
	}
	return a.StatusCode, answer
}

package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"embed"
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
	back      *url.URL // to a sale: its id is appended; on the origin of flashsale, or of a storefront
	keys      []string // of the links; several while one replaces another
	webhook   *standardwebhooks.Webhook
	client    *http.Client
	now       func() time.Time
	pause     time.Duration // before a report is repeated
	plays     bool          // payment providers, which only a local stack believes

	mu        sync.Mutex
	addresses io.Writer // a JSON object a line; a real shop has its database
}

//go:embed assets
var files embed.FS

var page = template.Must(template.ParseFS(files, "assets/page.html"))

// shown is what the page shows: the order to pay for, or a Text.
type shown struct {
	Title, Text string
	Zh          said // both in Chinese
	goods
	Amount, Order, PayBy string
	Left                 int    // seconds until PayBy
	Ways                 []way  // besides the shop's own
	Proposed             string // the provider of one of them, "" for the shop's own
	Again, Back          string // addresses: of the same form, of the sale
}

// goods are what is paid for, as flashsale shows them.
type goods struct{ Name, Image string }

// read returns what flashsale shows everybody at a path, nil if that cannot be had.
func (s *shop) read(ctx context.Context, path string) []byte {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.flashsale+path, nil)
	if err != nil {
		return nil
	}
	a, err := s.client.Do(r)
	if err != nil {
		return nil
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, 64<<10))
	if err != nil || a.StatusCode != http.StatusOK {
		return nil
	}
	return text
}

// asset serves a file of the page, or one of the buyer's page, whose look it has.
func (s *shop) asset(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	switch path {
	case "/assets/page.css", "/assets/page.js":
		http.ServeFileFS(w, r, files, path)
	case "/assets/style.css", "/assets/icon.svg":
		w.Header().Set("Content-Type", map[string]string{".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}[path[len(path)-4:]])
		_, _ = w.Write(s.read(r.Context(), path))
	default:
		http.NotFound(w, r)
	}
}

func (s *shop) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	if strings.HasPrefix(r.URL.Path, "/assets/") {
		s.asset(w, r)
		return
	}
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address has the signature
	link := r.URL.Query()
	why, price, isOurs := s.refuse(r.Host, r.URL.Path, link)
	switch {
	case !isOurs:
		s.write(w, http.StatusForbidden, shown{Title: unpayable[0], Text: why[0], Zh: said{unpayable[1], why[1]}})
	case why != said{}:
		s.show(w, r, http.StatusForbidden, unpayable, why)
	case r.Method == http.MethodPost:
		s.pay(w, r, link)
	default:
		payBy, _ := time.Parse(time.RFC3339, link.Get("payBy"))
		what := s.shownOf(r, shown{
			Title: "Order " + link.Get("order"), Amount: price, Order: link.Get("order"),
			PayBy: payBy.UTC().Format("15:04 UTC"), Left: int(payBy.Sub(s.now()).Seconds()), Ways: s.ways(link),
		})
		if what.Name != "" {
			what.Title = what.Name
		}
		if what.Proposed = link.Get(tried); !link.Has(tried) && len(what.Ways) > 0 {
			what.Proposed = what.Ways[0].Provider
		}
		s.write(w, http.StatusOK, what)
	}
}

var (
	unpayable = said{"This link cannot be paid", "此链接无法付款"}
	nothing   = said{"Nothing was paid", "未付款"}
	unknown   = said{"Not known yet", "尚未确认"}
	again     = said{"Pay again in the same way, and you are not charged twice. Another way can charge you twice.", "请用同一方式再试，不会重复扣款；换用其他方式可能会重复扣款。"}
)

// tried is the way that a link to the form proposes again; the signature does not cover it.
const tried = "tried"

// show writes the page with a text in place of the form.
func (s *shop) show(w http.ResponseWriter, r *http.Request, status int, title, text said) {
	what := s.shownOf(r, shown{Title: title[0], Text: text[0], Zh: said{title[1], text[1]}})
	if text == again {
		link := r.URL.Query()
		link.Set(tried, r.PostFormValue("provider"))
		what.Again = r.URL.Path + "?" + link.Encode()
	}
	s.write(w, status, what)
}

// shownOf adds what a link that the shop has signed leads to: the sale's picture, and the way back.
func (s *shop) shownOf(r *http.Request, what shown) shown {
	saleID := url.PathEscape(r.URL.Query().Get("sale"))
	what.Back = s.back.String() + saleID
	if json.Unmarshal(s.read(r.Context(), "/sales/"+saleID), &what.goods) != nil {
		what.goods = goods{} // a page without a picture is better than none
	}
	return what
}

func (s *shop) write(w http.ResponseWriter, status int, what shown) {
	pictures := ""
	if u, err := url.Parse(what.Image); err == nil && u.Scheme == "https" {
		pictures = " https://" + u.Host
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'"+pictures+
		"; base-uri 'none'; frame-ancestors 'none'; form-action 'self' "+s.back.Scheme+"://"+s.back.Host) // Chromium also asks it about redirects
	h.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = page.Execute(w, what)
}

// said is a text in English and in Chinese.
type said [2]string

// refuse returns why a link is not taken, or nothing and its price as people write it. isOurs: the
// shop has signed it.
func (s *shop) refuse(host, path string, link url.Values) (why said, price string, isOurs bool) {
	if name, _, _ := net.SplitHostPort(host); path != "/pay" || name != "127.0.0.1" && name != "localhost" {
		return said{"There is no such page.", "没有这个页面。"}, "", false
	}
	signed := []string{"flashsale payment 1", link.Get("order"), link.Get("sale"), link.Get("amount"), link.Get("currency"), link.Get("payBy")}
	if units := link.Get("units"); units != "" {
		signed = append(signed, units)
		signed[0] = "flashsale payment 2"
	}
	got, err := hex.DecodeString(link.Get("signature"))
	for _, key := range s.keys {
		mac := hmac.New(sha256.New, []byte(strings.TrimSpace(key)))
		mac.Write([]byte(strings.Join(signed, "\n")))
		isOurs = hmac.Equal(mac.Sum(nil), got) || isOurs // in constant time
	}
	payBy, noTime := time.Parse(time.RFC3339, link.Get("payBy"))
	amount, noAmount := strconv.ParseInt(link.Get("amount"), 10, 64)
	price, hasDigits := currency.Decimal(amount, link.Get("currency"))
	switch {
	case err != nil || !isOurs:
		return said{"It was changed, or it is not from the shop.", "它被改动过，或者不是本店的链接。"}, "", false
	case noTime != nil || noAmount != nil || !hasDigits || amount <= 0:
		return said{"It has no price.", "它没有价格。"}, "", true
	case !s.now().Before(payBy):
		at := payBy.Format(time.RFC1123)
		return said{"It was to be paid by " + at + ".", "付款截止时间是 " + at + "。"}, "", true
	}
	return said{}, link.Get("currency") + " " + price, true
}

// pay keeps the address, reserves the money and captures it only on the answer "paid": the
// link does not know that its order was cancelled, or paid elsewhere. The payment's id is
// made of the order, so a form that is sent twice is one payment.
func (s *shop) pay(w http.ResponseWriter, r *http.Request, link url.Values) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	address := strings.TrimSpace(r.PostFormValue("address"))
	if address == "" || len(address) > 2000 {
		s.show(w, r, http.StatusBadRequest, said{"Where shall it be delivered?", "送到哪里？"}, said{"Go back and enter an address.", "请返回并填写地址。"})
		return
	}
	if err := s.keep(link.Get("order"), link.Get("sale"), address); err != nil {
		s.show(w, r, http.StatusInternalServerError, nothing, said{"Please try again.", "请重试。"})
		return
	}
	if provider := r.PostFormValue("provider"); provider != "" {
		s.payAt(w, r, provider, link)
		return
	}
	payment := "shop-" + link.Get("order")
	// Here a shop reserves the amount at its bank, under that id.
	switch s.report(r.Context(), payment, link) {
	case "paid":
		// Here it captures what it has reserved.
		s.leadBack(w, r, link)
	case "refund-due":
		// Here it cancels the reservation; then the operator marks the refund as done.
		s.show(w, r, http.StatusConflict, nothing, said{"This order is cancelled, expired or paid already. No money was taken.", "该订单已取消、过期或已付款，没有扣款。"})
	default:
		// The reservation stays until the same report is answered.
		s.show(w, r, http.StatusBadGateway, unknown, again)
	}
}

// leadBack shows the buyer what became of the order.
func (s *shop) leadBack(w http.ResponseWriter, r *http.Request, link url.Values) {
	http.Redirect(w, r, s.back.String()+url.PathEscape(link.Get("sale")), http.StatusSeeOther)
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
	if err != nil {
		return ""
	}
	s.repeat(ctx, func() bool {
		var answer struct{ Outcome string }
		status, text := s.post(ctx, payment, body)
		isAnswer := status == http.StatusOK && json.Unmarshal(text, &answer) == nil
		outcome = answer.Outcome
		return isAnswer
	})
	return outcome
}

// repeat tries until it is done, and reports whether it is. A real page goes on for days.
func (s *shop) repeat(ctx context.Context, try func() bool) bool {
	for n := range 4 {
		time.Sleep(time.Duration(n) * s.pause)
		if ctx.Err() != nil {
			return false
		}
		if try() {
			return true
		}
	}
	return false
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
	return s.send(r)
}

// send returns the answer to a request; its status is 0 if there was none.
func (s *shop) send(r *http.Request) (status int, answer []byte) {
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

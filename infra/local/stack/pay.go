package stack

import (
	"cmp"
	"io"
	"net/http"
	"strconv"
	"time"

	"flashsale/infra/kit/client/webhook"
	"flashsale/infra/local/engine"
	"flashsale/shared/ledger"
	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

const (
	secretARN = "arn:aws:secretsmanager:" + region + ":" + accountID + ":secret:"
	payPath   = "/_local/pay"
	shopPath  = "/_local/shop/"
)

// pay plays a payment provider: it sends the signed webhook of a payment of the order in
// the query, and answers as the function did. Also in the query: provider, reference,
// amount and currency; what is left out is the order's, or 1 CNY.
func (s *Stack) pay(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	id, err := orderid.Parse(q.Get("order"))
	if err != nil {
		http.Error(w, "order must be an order's id: use "+payPath+"?order=…", http.StatusBadRequest)
		return
	}
	provider := cmp.Or(q.Get("provider"), webhook.Stripe)
	p := webhook.Payment{OrderID: q.Get("order"), PaymentID: cmp.Or(q.Get("reference"), webhook.PaymentID(provider, q.Get("order"))), Amount: 100, Currency: "CNY"}
	orders := ledger.New(engine.Client(s.engine), s.Table, ledger.Options{})
	order, err := orders.Order(r.Context(), id)
	if err == nil {
		p.SaleID = order.SaleID
		var of sale.Sale
		if of, err = orders.Sale(r.Context(), order.SaleID); err == nil && of.Price != 0 {
			var held sale.Claim
			held, err = orders.Claim(r.Context(), order.SaleID, order.User)
			p.Amount, p.Currency = of.PriceOf(held.UnitCount()), of.Currency
		}
	}
	// The order's item is written after its claim. Its payment must not name another sale or
	// price because it came between the two.
	if err != nil && q.Get("sale") == "" && time.Since(orderid.Time(id)) < ledger.LateOrderWait {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the order is not there yet: ask again", http.StatusServiceUnavailable)
		return
	}
	p.SaleID, p.Currency = cmp.Or(q.Get("sale"), p.SaleID, "unknown"), cmp.Or(q.Get("currency"), p.Currency)
	if text := q.Get("amount"); text != "" {
		if p.Amount, err = strconv.ParseInt(text, 10, 64); err != nil {
			http.Error(w, "amount must be a whole number of minor units", http.StatusBadRequest)
			return
		}
	}
	request, err := p.Request(r.Context(), s.API, provider, webhook.LocalSecrets[provider], time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

// shop leads a buyer to the payment page on that port of this machine, which the template's
// pattern of PaymentUrl does not allow as an address.
func (s *Stack) shop(w http.ResponseWriter, r *http.Request) {
	port, err := strconv.ParseUint(r.PathValue("port"), 10, 16)
	if err != nil {
		http.Error(w, "the path must end with the port of a payment page", http.StatusBadRequest)
		return
	}
	w.Header().Set("Location", "http://127.0.0.1:"+strconv.FormatUint(port, 10)+"/pay?"+r.URL.RawQuery)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

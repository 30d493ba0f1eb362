package main

import (
	"log"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"flashsale/infra/kit/client/webhook"
)

// A shop that sells by a payment provider leads its buyer to that provider, which reports the payment by
// itself. On this machine the page plays the providers, by the keys that only the local stack trusts.

type way struct {
	Provider string
	Says     said
}

// The first that takes the order's currency is proposed.
var ways = []way{
	{webhook.WeChatPay, said{"WeChat Pay", "微信支付"}},
	{webhook.Alipay, said{"Alipay", "支付宝"}},
	{webhook.Adyen, said{"Card (Adyen)", "银行卡（Adyen）"}},
	{webhook.Stripe, said{"Card (Stripe)", "银行卡（Stripe）"}},
}

// payment is what a provider reports of a link's order.
func payment(link url.Values, provider string) webhook.Payment {
	amount, _ := strconv.ParseInt(link.Get("amount"), 10, 64)
	return webhook.Payment{
		SaleID: link.Get("sale"), OrderID: link.Get("order"), PaymentID: webhook.PaymentID(provider, link.Get("order")),
		Amount: amount, Currency: link.Get("currency"),
	}
}

// ways are those by which a link can be paid.
func (s *shop) ways(link url.Values) []way {
	return slices.DeleteFunc(slices.Clone(ways), func(w way) bool { return !s.plays || !payment(link, w.Provider).IsTakenBy(w.Provider) })
}

// payAt takes the money as a provider does, and notifies flashsale until that accepts it. The provider is not told
// what became of the order, so the buyer reads that on the sale's page.
func (s *shop) payAt(w http.ResponseWriter, r *http.Request, provider string, link url.Values) {
	if !slices.ContainsFunc(s.ways(link), func(w way) bool { return w.Provider == provider }) {
		s.show(w, r, http.StatusBadRequest, said{"How will you pay?", "如何付款？"}, said{"Go back and choose.", "请返回并选择。"})
		return
	}
	paid := payment(link, provider)
	if !s.repeat(r.Context(), func() bool {
		notification, err := paid.Request(r.Context(), s.flashsale, provider, webhook.LocalSecrets[provider], s.now())
		if err != nil {
			return false
		}
		status, answer := s.send(notification)
		if webhook.IsAccepted(provider, status, answer) {
			return true
		}
		log.Printf("%s is answered %d %s", provider, status, answer) // for whoever demonstrates; a provider shows such in its console
		return false
	}) {
		s.show(w, r, http.StatusBadGateway, unknown, again)
		return
	}
	s.leadBack(w, r, link)
}

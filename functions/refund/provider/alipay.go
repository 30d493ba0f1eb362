package provider

import (
	"cmp"
	"context"
	"crypto/rsa"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/shared/currency"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
)

// Alipay's alipay.trade.refund and alipay.trade.fastpay.refund.query, of its gateway with RSA2
// (opendocs.alipay.com/open/4b7cc5db_alipay.trade.refund, opendocs.alipay.com/common/02kipl).

// beijing is how far the zone of Alipay's times is ahead of UTC.
const beijing = 8 * time.Hour

// alipay is an app of a seller.
type alipay struct {
	*Options
	gateway, appID string
	own            *rsa.PrivateKey
	keys           []*rsa.PublicKey
}

func newAlipay(text string, o *Options) (Provider, error) {
	set, err := settings.Read[struct {
		AppID      string   `json:"appId"`
		PrivateKey string   `json:"privateKey"` // the app's
		PublicKeys []string `json:"publicKeys"` // Alipay's, as PayFunction has them
	}](text)
	if err != nil {
		return nil, err
	}
	a := &alipay{Options: o, gateway: o.host(Alipay, "openapi.alipay.com") + "/gateway.do", appID: set.AppID}
	wrongID := settings.Check("appId", []string{set.AppID}, settings.Form(settings.Digits, "of digits"))
	wrongKeys := settings.CheckKeys("publicKeys", set.PublicKeys, func(text string) error {
		key, err := settings.RSAKey(text)
		a.keys = append(a.keys, key)
		return err
	})
	if err = cmp.Or(wrongID, wrongKeys); err == nil {
		a.own, err = privateKey(set.PrivateKey, a.keys)
	}
	return a, err
}

func (a *alipay) Account() string { return a.appID }

// alipayFields are those of both calls.
type alipayFields struct {
	Code         string `json:"code"`
	Message      string `json:"msg"`
	SubCode      string `json:"sub_code"`
	SubMessage   string `json:"sub_msg"`
	TradeNo      string `json:"trade_no"`
	FundChange   string `json:"fund_change"`
	RefundFee    string `json:"refund_fee"` // all that went back of the trade
	OutRequestNo string `json:"out_request_no"`
	RefundStatus string `json:"refund_status"`
	RefundAmount string `json:"refund_amount"`
}

// Send asks after fund_change N, which is said of a number that was sent before and of what is not done yet, and after
// a refusal: the trade may be closed by the refund itself.
func (a *alipay) Send(ctx context.Context, r Request) Answer {
	amount, _ := currency.Decimal(r.Amount, r.Currency)
	if r.Currency != "CNY" {
		return r.otherCurrency()
	}
	got, failed := a.request(ctx, "alipay.trade.refund", map[string]string{
		"trade_no": r.Reference, "refund_amount": amount, "out_request_no": r.ID,
	})
	switch {
	case got == nil:
		return unlessMade(ctx, a, r, failed)
	case got.TradeNo != r.Reference:
		return unlike("another trade's refund")
	case got.FundChange == "Y":
		return a.done(&r, got.RefundFee)
	}
	asked := a.Ask(ctx, r)
	if asked.Outcome != Accepted {
		asked = answer(Unknown, "fund_change", cmp.Or(asked.Words, "no money moved by this call"))
	}
	return asked
}

// Ask takes only the answer without amount and state for the word that there is no refund of the number: documents
// differ on an amount without a state.
func (a *alipay) Ask(ctx context.Context, r Request) Answer {
	got, failed := a.request(ctx, "alipay.trade.fastpay.refund.query", map[string]string{
		"trade_no": r.Reference, "out_request_no": r.ID,
	})
	switch {
	case got == nil:
		return failed.ofQuestion("ACQ.TRADE_NOT_EXIST")
	case got.RefundStatus == "" && got.RefundAmount == "":
		return answer(Absent, "", "")
	case got.TradeNo != r.Reference, got.OutRequestNo != r.ID:
		return unlike("another refund")
	case got.RefundStatus != "REFUND_SUCCESS":
		return answer(Unknown, cmp.Or(got.RefundStatus, "refund_status"), "the refund is in no state that is known")
	}
	return a.done(&r, got.RefundAmount)
}

// done is the answer to a refund of the whole, after which that much is back.
func (a *alipay) done(r *Request, back string) Answer {
	amount, err := currency.FromAlipay(back)
	if err != nil || amount != r.Amount {
		return unlike("a refund of another sum")
	}
	return Answer{Outcome: Accepted, Money: r.reported(Alipay, sale.MoneyReport{
		Currency: r.Currency, Total: &sale.TotalReport{Amount: amount, Grows: true},
	}, a.Now())}
}

// request returns what a call says that has code 10000 and is signed, or else the answer.
func (a *alipay) request(ctx context.Context, method string, about map[string]string) (*alipayFields, Answer) {
	content, _ := jsonv2.Marshal(about, jsonv2.Deterministic(true))
	all := map[string]string{
		"app_id": a.appID, "method": method, "format": "JSON", "charset": "utf-8", "sign_type": "RSA2", "version": "1.0",
		"timestamp": a.Now().UTC().Add(beijing).Format(time.DateTime), "biz_content": string(content),
	}
	form, pairs := url.Values{}, []string(nil)
	for name, value := range all {
		form.Set(name, value)
		pairs = append(pairs, name+"="+value)
	}
	slices.Sort(pairs)
	form.Set("sign", sign(a.own, strings.Join(pairs, "&")))
	got, unsent := a.call(ctx, http.MethodPost, a.gateway, form.Encode(), map[string]string{
		"Content-Type": "application/x-www-form-urlencoded;charset=utf-8",
	})
	switch {
	case got == nil:
		return nil, unsent
	case got.status != http.StatusOK:
		return nil, got.answer(Unknown, "", "")
	}
	// The response is signed as it stands, between its first brace and its last one.
	var members map[string]jsontext.Value
	var fields alipayFields
	var signature string
	isJSON := got.reads(&members)
	response := members[strings.ReplaceAll(method, ".", "_")+"_response"]
	if response == nil {
		response = members["error_response"]
	}
	if !isJSON || jsonv2.Unmarshal(response, &fields) != nil || fields.Code == "" {
		return nil, unlike("no response of the gateway")
	}
	_ = jsonv2.Unmarshal(members["sign"], &signature) // what is no text is no signature
	isSignature := func(key *rsa.PublicKey) bool { return verifies(key, string(response), signature) }
	switch {
	case signature != "" && !slices.ContainsFunc(a.keys, isSignature):
		return nil, unlike("its signature does not verify")
	case fields.Code != "10000":
		return nil, fields.refusal(signature != "")
	case signature == "":
		return nil, unlike("a success without a signature")
	}
	return &fields, Answer{}
}

// refusal is the answer of a code that is no success. Alipay need not sign the refusal of a request that it cannot
// place: of an app, a key or a form that is wrong for each request. A number that is known with another sum has been
// sent.
func (f *alipayFields) refusal(isSigned bool) Answer {
	code, words := cmp.Or(f.SubCode, f.Code), cmp.Or(f.SubMessage, f.Message)
	isBusiness := f.Code == "40004"
	switch {
	case !strings.HasPrefix(f.Code, "4"), f.Code == "40005", isBusiness && !isSigned,
		strings.HasSuffix(f.SubCode, "SYSTEM_ERROR"), strings.HasPrefix(f.SubCode, "isp."),
		strings.HasSuffix(f.SubCode, "DISCORDANT_REPEAT_REQUEST"):
		return answer(Unknown, code, words)
	case isBusiness:
		return answer(Refused, code, words)
	}
	return answer(Halted, code, words)
}

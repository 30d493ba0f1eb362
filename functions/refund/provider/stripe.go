package provider

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"flashsale/shared/currency"
	"flashsale/shared/jsonread"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
)

// stripeVersion is of refunds that may be pending, and of which nothing here has changed since.
const stripeVersion = "2025-03-31.basil"

// stripeID is the member of a refund's metadata that has the request's id.
const stripeID = "flashsale"

var stripeKey = regexp.MustCompile(`^[rs]k_(live|test)_[0-9A-Za-z_]+$`)

// stripe is the account of a secret or restricted key, in the key's mode.
type stripe struct {
	*Options
	mode, api, key string
}

func newStripe(text string, o *Options) (Provider, error) {
	set, err := settings.Read[struct {
		SecretKey string `json:"secretKey"` // rk_live_…, which may write refunds
	}](text)
	s := &stripe{Options: o, key: set.SecretKey, api: o.host(Stripe, "api.stripe.com") + "/v1/refunds"}
	found := stripeKey.FindStringSubmatch(s.key)
	if err != nil || found == nil {
		return nil, cmp.Or(err, settings.Check("secretKey", []string{s.key}, settings.IsText),
			errors.New("secretKey: it is not a secret or restricted key, such as rk_live_…"))
	}
	s.mode = found[1]
	return s, nil
}

// Account is the key's mode: a key does not name its account.
func (s *stripe) Account() string { return s.mode }

// stripeRefund is a refund (docs.stripe.com/api/refunds/object).
type stripeRefund struct {
	Object        string            `json:"object"`
	ID            string            `json:"id"`
	PaymentIntent string            `json:"payment_intent"`
	Amount        *jsonread.Whole   `json:"amount"`
	Currency      string            `json:"currency"`
	Status        string            `json:"status"`
	FailureReason string            `json:"failure_reason"`
	Metadata      map[string]string `json:"metadata"`
}

// stripeRefunds are the states, with those that webhooks tell of.
var stripeRefunds = map[string]sale.RefundState{
	"pending": "", "requires_action": "",
	"succeeded": sale.RefundDone, "failed": sale.RefundFailed, "canceled": sale.RefundFailed,
}

func (s *stripe) Send(ctx context.Context, r Request) Answer {
	amount, isWhole := currency.ToStripe(r.Amount, r.Currency)
	if !isWhole {
		return r.otherCurrency()
	}
	form := url.Values{
		"payment_intent": {r.Reference}, "amount": {strconv.FormatInt(amount, 10)}, "metadata[" + stripeID + "]": {r.ID},
	}
	got, a := s.request(ctx, http.MethodPost, s.api, form.Encode(), r.ID)
	switch {
	case got == nil:
		return a
	case got.status != http.StatusOK:
		if a = got.stripeError(); a.Code == "charge_already_refunded" {
			a = unlessMade(ctx, s, r, a)
		}
		return a
	}
	var refund stripeRefund
	if !got.reads(&refund) || refund.Metadata[stripeID] != r.ID {
		return unlike("no refund with its id")
	}
	return s.fate(&r, &refund, got.now)
}

// Ask looks for the request among the refunds of the payment.
func (s *stripe) Ask(ctx context.Context, r Request) Answer {
	query := url.Values{"payment_intent": {r.Reference}, "limit": {"100"}}
	got, a := s.request(ctx, http.MethodGet, s.api+"?"+query.Encode(), "", "")
	switch {
	case got == nil:
		return a
	case got.status != http.StatusOK:
		return got.stripeError().ofQuestion("")
	}
	var list struct {
		Object  string         `json:"object"`
		HasMore *bool          `json:"has_more"`
		Data    []stripeRefund `json:"data"`
	}
	isOther := func(f stripeRefund) bool { return f.PaymentIntent != r.Reference }
	if !got.reads(&list) || list.Object != "list" || list.HasMore == nil || list.Data == nil ||
		slices.ContainsFunc(list.Data, isOther) {
		return unlike("no list of the payment's refunds")
	}
	a = answer(Absent, "", "")
	if *list.HasMore {
		a = answer(Unknown, "too-many", "the payment has more than 100 refunds")
	}
	var money []sale.MoneyReport
	for i := range list.Data {
		money = append(money, s.reported(&r, &list.Data[i], got.now)...)
		if list.Data[i].Metadata[stripeID] == r.ID {
			a = s.fate(&r, &list.Data[i], got.now)
		}
	}
	a.Money = money
	return a
}

func (s *stripe) request(ctx context.Context, method, address, form, id string) (*reply, Answer) {
	header := map[string]string{"Authorization": "Bearer " + s.key, "Stripe-Version": stripeVersion}
	if method == http.MethodPost {
		header["Content-Type"], header["Idempotency-Key"] = "application/x-www-form-urlencoded", id
	}
	return s.call(ctx, method, address, form, header)
}

// fate is the answer that a refund is, if it is the request's.
func (s *stripe) fate(r *Request, f *stripeRefund, now time.Time) Answer {
	amount, _ := currency.ToStripe(r.Amount, r.Currency)
	state, isKnown := stripeRefunds[f.Status]
	if f.Object != "refund" || !isText(f.ID) || f.PaymentIntent != r.Reference || f.Amount == nil ||
		int64(*f.Amount) != amount || !strings.EqualFold(f.Currency, r.Currency) || !isKnown {
		return unlike("no refund of the payment and its sum, in a state that is known")
	}
	a := Answer{Outcome: Accepted, Refund: f.ID, Money: s.reported(r, f, now)}
	if state == sale.RefundFailed {
		a.Outcome, a.Code, a.Words = Refused, f.Status, f.FailureReason
	}
	return a
}

// reported is at the second of the answer, because a refund does not say when it failed: webhooks do, and of two
// reports of a failure the earlier one counts.
func (s *stripe) reported(r *Request, f *stripeRefund, now time.Time) []sale.MoneyReport {
	state := stripeRefunds[f.Status]
	if state == "" || f.Amount == nil || *f.Amount == 0 {
		return nil
	}
	code := strings.ToUpper(f.Currency)
	amount, isWhole := currency.FromStripe(int64(*f.Amount), code)
	if !isWhole {
		return nil
	}
	return r.reported(Stripe, sale.MoneyReport{
		At: now.UTC().Truncate(time.Second), Currency: code,
		Refund: &sale.RefundReport{ID: f.ID, State: state, Amount: amount},
	}, now)
}

// stripeHalts are codes of a key, whatever their status (docs.stripe.com/error-codes).
var stripeHalts = []string{
	"account_invalid", "api_key_expired", "livemode_mismatch", "platform_api_key_expired", "secret_key_required",
	"testmode_charges_only",
}

// stripeError is the answer of a status that is no success. A key that was used for another request says that there was
// one, and one of the other mode that the payment was not looked at.
func (r *reply) stripeError() Answer {
	var body struct {
		Error struct {
			Type    string `json:"type"`
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	e, outcome := &body.Error, stripeStatuses[r.status]
	switch {
	case !r.reads(&body), e.Type == "", e.Type == "idempotency_error", e.Type == "api_error":
		outcome = Unknown
	case slices.Contains(stripeHalts, e.Code), strings.Contains(e.Message, "a similar object exists in "):
		outcome = Halted
	case e.Code == "resource_missing": // webhooks of the right account have reported the payment
		return r.answer(Halted, OtherAccount, e.Message)
	}
	return r.answer(outcome, cmp.Or(e.Code, e.Type), e.Message)
}

// stripeStatuses are what Stripe's own errors mean; others are unknown.
var stripeStatuses = map[int]Outcome{400: Refused, 402: Refused, 404: Refused, 401: Halted, 403: Halted}

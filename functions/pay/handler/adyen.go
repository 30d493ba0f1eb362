package handler

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"flashsale/shared/currency"
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/sale"
	"flashsale/shared/settings"
)

// The events that may report a payment, as the settings name them.
const (
	adyenAuthorised = "AUTHORISATION"
	adyenCaptured   = "CAPTURE"
)

// adyenSettings are ADYEN_SECRETS.
type adyenSettings struct {
	// HMACKeys sign webhooks, in hex. What Adyen had queued before one was replaced is sent with the old signature.
	HMACKeys []string `json:"hmacKeys"`
	// MerchantAccounts are the accounts whose payments count. A webhook of a company has those of all its accounts.
	MerchantAccounts []string `json:"merchantAccounts"`
	// Live: the payments of the live environment count, else those of the test environment.
	Live *bool `json:"live"`
	// PaidBy is the event by which an order is paid: CAPTURE where the shop captures, else AUTHORISATION, the only one.
	PaidBy string `json:"paidBy"`

	keys [][]byte
}

func newAdyen(s Settings, _ func() time.Time) (provider, error) {
	a, err := settings.Read[adyenSettings](s.AdyenSecrets)
	if err != nil {
		return provider{}, err
	}
	err = cmp.Or(
		settings.CheckKeys("hmacKeys", a.HMACKeys, a.addKey),
		settings.Check("merchantAccounts", a.MerchantAccounts,
			settings.Form(settings.Letters+settings.Digits+"_-.", "the name of a merchant account")),
	)
	switch {
	case err != nil:
		return provider{}, err
	case a.Live == nil:
		return provider{}, errors.New("live must be true or false")
	case a.PaidBy != adyenAuthorised && a.PaidBy != adyenCaptured:
		return provider{}, fmt.Errorf("paidBy must be %s or %s", adyenAuthorised, adyenCaptured)
	}
	return provider{verify: a.verify, read: a.read}, nil
}

func (a *adyenSettings) addKey(text string) error {
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != sha256.Size {
		return cmp.Or(settings.IsText(text), fmt.Errorf("an HMAC key is %d hexadecimal digits", 2*sha256.Size))
	}
	a.keys = append(a.keys, key)
	return nil
}

// adyenWebhook is Adyen's standard webhook (Webhooks-v1 of github.com/Adyen/adyen-openapi, 2026-07-01), which may
// have several items.
type adyenWebhook struct {
	Live  string     `json:"live"` // not signed
	Items adyenItems `json:"notificationItems"`
}

type adyenItems []struct {
	Item adyenItem `json:"NotificationRequestItem"`
}

// maxItems is how many items a webhook may have. Adyen's have one, and its older ones of SOAP had six at most.
const maxItems = 100

// UnmarshalJSONFrom reads no more items than a webhook may have: nobody has signed them yet, and one may be two bytes
// long.
func (all *adyenItems) UnmarshalJSONFrom(from *jsontext.Decoder) error {
	if start, err := from.ReadToken(); err != nil || start.Kind() != '[' {
		return cmp.Or(err, errors.New("the items are no array"))
	}
	for from.PeekKind() != ']' {
		if len(*all) == maxItems {
			return fmt.Errorf("there are more than %d items", maxItems)
		}
		*all = append(*all, struct {
			Item adyenItem `json:"NotificationRequestItem"`
		}{})
		if err := jsonv2.UnmarshalDecode(from, &(*all)[len(*all)-1]); err != nil {
			return err
		}
	}
	_, err := from.ReadToken()
	return err
}

type adyenItem struct {
	PSPReference        string `json:"pspReference"`
	OriginalReference   string `json:"originalReference"` // the payment's, of what changes one
	MerchantAccountCode string `json:"merchantAccountCode"`
	MerchantReference   string `json:"merchantReference"`
	Amount              struct {
		Value    *jsonread.Whole `json:"value"`
		Currency string          `json:"currency"`
	} `json:"amount"`
	EventCode      string `json:"eventCode"`
	Success        string `json:"success"`
	AdditionalData struct {
		Signature string `json:"hmacSignature"`
	} `json:"additionalData"`
}

// signed is what Adyen signs of an item: these values with nothing escaped, and no time. What is not among them decides
// nothing but a refusal. Source of 2026-05-23:
// docs.adyen.com/development-resources/webhooks/secure-webhooks/verify-hmac-signatures.
func (i *adyenItem) signed() string {
	value := ""
	if i.Amount.Value != nil {
		value = strconv.FormatInt(int64(*i.Amount.Value), 10)
	}
	return strings.Join([]string{
		i.PSPReference, i.OriginalReference, i.MerchantAccountCode, i.MerchantReference,
		value, i.Amount.Currency, i.EventCode, i.Success,
	}, ":")
}

// isPlain reports whether no other item has the same signed text: a colon within a value could belong to the next.
func (i *adyenItem) isPlain() bool { return strings.Count(i.signed(), ":") == 7 }

// verify fails unless every item is signed: Adyen signs items and no webhook.
func (a *adyenSettings) verify(_ *httpapi.Request, body []byte) error {
	var w adyenWebhook
	if jsonv2.Unmarshal(body, &w) != nil || len(w.Items) == 0 {
		return errUnsigned
	}
	for i := range w.Items {
		item := &w.Items[i].Item
		signature, err := base64.StdEncoding.DecodeString(item.AdditionalData.Signature)
		if err != nil || !slices.ContainsFunc(a.keys, func(key []byte) bool {
			mac := hmac.New(sha256.New, key)
			mac.Write([]byte(item.signed()))
			return hmac.Equal(mac.Sum(nil), signature)
		}) {
			return errUnsigned
		}
	}
	return nil
}

func (a *adyenSettings) read(body []byte) ([]report, error) {
	var w adyenWebhook
	if err := jsonv2.Unmarshal(body, &w); err != nil {
		return nil, unreadable(err)
	}
	var all []report
	for i := range w.Items {
		item := &w.Items[i].Item
		one, err := a.readItem(item)
		isTheirs := !slices.Contains(a.MerchantAccounts, item.MerchantAccountCode) || w.Live != strconv.FormatBool(*a.Live)
		switch {
		case isTheirs && one.about == ours:
			one.refused = sale.Refuse(sale.InvalidRequest,
				"the payment names an order, and is of another merchant account or environment than AdyenKeysArn says")
		case isTheirs:
			one = report{about: foreign}
		default:
			one.refused = err
		}
		all = append(all, one)
	}
	return all, nil
}

// readItem reads an item as if its account were ours. Its error is of a payment of an order.
func (a *adyenSettings) readItem(i *adyenItem) (report, error) {
	about, reference := a.about(i)
	switch {
	case about == refunded || about == notBack || about == disputed:
		return report{payment: sale.Payment{Reference: reference}, money: i.money(about), about: about}, nil
	case about == ours && (!i.isPlain() || !i.isNamed()):
		// A shop that captures names the order once more, and none names it with a colon: it is lost here otherwise.
		if about = foreign; a.PaidBy == adyenCaptured || i.isNamed() {
			about = charge
		}
	case about == ours && i.Amount.Value != nil && *i.Amount.Value == 0: // a card was looked at
		about = free
	case about == ours:
		return i.payment(reference)
	}
	return report{payment: sale.Payment{Reference: reference}, about: about}, nil
}

// isNamed reports whether the merchantReference names an order. Adyen signs it, and takes 80 characters in which
// hyphens separate references (reference of the Checkout API's payments, version 72).
func (i *adyenItem) isNamed() bool { _, _, named := orderOf(i.MerchantReference); return named }

// payment returns the item's payment and its order.
func (i *adyenItem) payment(reference string) (report, error) {
	one := report{payment: sale.Payment{Reference: reference, Currency: i.Amount.Currency}, about: ours}
	if i.Amount.Value == nil {
		return one, unreadable(errNoAmount)
	}
	p, isWhole := &one.payment, false
	if p.Amount, isWhole = currency.FromAdyen(int64(*i.Amount.Value), p.Currency); !isWhole {
		return one, sale.Refusef(sale.InvalidRequest,
			"the amount must be a multiple of 100, as all of Adyen's in %s", p.Currency)
	}
	p.SaleID, p.OrderID, _ = orderOf(i.MerchantReference)
	p.Stack = stackOf(i.MerchantReference)
	return one, nil
}

// money returns what an item says of money that went back, did not, or is disputed: nil if that is not of a payment,
// or not of an amount. Every report of a refund has the refund's pspReference, also REFUND_FAILED. Adyen's OpenAPI does
// not say so, but others find the refund by it (handle_failed_refund in saleor/payment/gateways/adyen/webhooks.py of
// github.com/saleor/saleor; connectors/adyen.rs of github.com/juspay/connector-service). Of a dispute it is documented:
// docs.adyen.com/risk-management/disputes-api/dispute-notifications, 2026-05-25.
func (i *adyenItem) money(about subject) *sale.MoneyReport {
	if i.OriginalReference == "" || !i.isPlain() {
		return nil
	}
	// The merchantReference of a refund or a cancellation may be its own, that of a dispute is the payment's.
	m := &sale.MoneyReport{MayBeOurs: about != disputed || i.isNamed()}
	refund := &sale.RefundReport{ID: i.PSPReference, State: sale.RefundDone}
	if about == notBack {
		refund.State = sale.RefundFailed
	}
	switch i.EventCode {
	case "CANCELLATION", "TECHNICAL_CANCEL", "CANCEL_OR_REFUND": // the latter is of the whole payment, always
		refund.Whole, m.Refund = true, refund
		return m
	case "REFUND", "REFUND_FAILED", "REFUNDED_REVERSED":
		if i.Amount.Value == nil || *i.Amount.Value == 0 {
			return nil
		}
		isWhole := false
		refund.Amount, isWhole = currency.FromAdyen(int64(*i.Amount.Value), i.Amount.Currency)
		if m.Refund, m.Currency = refund, i.Amount.Currency; isWhole {
			return m
		}
	}
	if stage, known := adyenStages[i.EventCode]; known {
		stage.ID, m.Dispute = i.PSPReference, &stage
		return m
	}
	return nil
}

// adyenStages are the events of a dispute in the order of its stages (Webhooks-v1 of github.com/Adyen/adyen-openapi,
// 2026-07-01). The disputeStatus and the date of an event are not signed. A chargeback has taken the money until it is
// reversed, and a capture that failed takes back what counted as paid.
var adyenStages = map[string]sale.DisputeReport{
	"NOTIFICATION_OF_FRAUD": {State: sale.DisputeAsked}, "REQUEST_FOR_INFORMATION": {State: sale.DisputeAsked},
	"INFORMATION_SUPPLIED": {State: sale.DisputeAsked}, "ISSUER_COMMENTS": {State: sale.DisputeAsked},
	"DISPUTE_DEFENSE_PERIOD_ENDED": {State: sale.DisputeAsked},

	"NOTIFICATION_OF_CHARGEBACK":     {State: sale.DisputeOpen, Rank: 1},
	"DISPUTE_OPENED_WITH_CHARGEBACK": {State: sale.DisputeOpen, Rank: 1},
	"CHARGEBACK":                     {State: sale.DisputeLost, Rank: 2},
	"CHARGEBACK_REVERSED":            {State: sale.DisputeWon, Rank: 3},
	"SECOND_CHARGEBACK":              {State: sale.DisputeLost, Rank: 4},

	"PREARBITRATION_OPEN":             {State: sale.DisputeOpen, Rank: 4},
	"PREARBITRATION_DECLINED":         {State: sale.DisputeOpen, Rank: 5},
	"PREARBITRATION_ACCEPTED":         {State: sale.DisputeLost, Rank: 6}, // by the shop
	"PREARBITRATION_LOST":             {State: sale.DisputeLost, Rank: 6},
	"PREARBITRATION_ISSUER_WITHDRAWN": {State: sale.DisputeWon, Rank: 6},
	"PREARBITRATION_WON":              {State: sale.DisputeWon, Rank: 6},

	"SCHEME_ARBITRATION":                {State: sale.DisputeOpen, Rank: 7},
	"SCHEME_ARBITRATION_LOST":           {State: sale.DisputeLost, Rank: 8},
	"SCHEME_ARBITRATION_WON":            {State: sale.DisputeWon, Rank: 8},
	"ISSUER_RESPONSE_TIMEFRAME_EXPIRED": {State: sale.DisputeWon, Rank: 8},

	"CAPTURE_FAILED": {State: sale.DisputeLost},
}

// about returns what an item is about, and Adyen's reference of the payment. Later events of a dispute lack it in
// Adyen's examples: then it is the event's own, by which the Customer Area finds it, and which no payment has.
func (a *adyenSettings) about(i *adyenItem) (subject, string) {
	done, reference := i.Success == "true", cmp.Or(i.OriginalReference, i.PSPReference)
	switch i.EventCode {
	case adyenAuthorised:
		if done && a.PaidBy == adyenAuthorised {
			return ours, i.PSPReference
		}
		return unpaid, ""
	case adyenCaptured: // also where the authorisation counts, which may have been lost
		if done {
			return ours, i.OriginalReference
		}
		return unpaid, ""
	case "CANCELLATION", "TECHNICAL_CANCEL", "EXPIRE": // of what was not captured
		switch {
		case a.PaidBy == adyenCaptured, i.EventCode == "EXPIRE" && !done:
			return unpaid, ""
		case !done:
			return notBack, reference
		}
		return refunded, reference // that which has expired is what rests
	case "REFUND", "CANCEL_OR_REFUND":
		if done {
			return refunded, reference
		}
		return notBack, reference
	}
	if about, known := adyenSubjects[i.EventCode]; known {
		return about, reference
	}
	_, isStage := adyenStages[i.EventCode]
	if isStage || slices.ContainsFunc([]string{"CHARGEBACK", "ARBITRATION", "DISPUTE"}, func(word string) bool {
		return strings.Contains(i.EventCode, word)
	}) {
		return disputed, reference
	}
	return unknown, ""
}

// adyenSubjects are the events whose success says nothing more.
var adyenSubjects = map[string]subject{
	"REFUND_FAILED": notBack, "REFUNDED_REVERSED": notBack, "REFUND_WITH_DATA": refunded,

	"AUTHENTICATION": unpaid, "AUTHORISATION_ADJUSTMENT": unpaid, "AUTORESCUE": unpaid, "CANCEL_AUTORESCUE": unpaid,
	"MANUAL_REVIEW_ACCEPT": unpaid, "MANUAL_REVIEW_REJECT": unpaid, "OFFER_CLOSED": unpaid, "ORDER_CLOSED": unpaid,
	"ORDER_OPENED": unpaid, "PENDING": unpaid, "POSTPONED_REFUND": unpaid, "VOID_PENDING_REFUND": unpaid,

	"PAIDOUT_REVERSED": foreign, "PAYOUT_DECLINE": foreign, "PAYOUT_EXPIRE": foreign, "PAYOUT_THIRDPARTY": foreign,
	"RECURRING_CONTRACT": foreign, "REPORT_AVAILABLE": foreign,
}

// answerAdyen is what Adyen takes as accepted, today by its status and before 2024 by its body
// (adyen.com/knowledge-hub/webhooks-accept-2xx). It repeats anything else for 30 days, lists the problem, and holds
// back what is queued behind (docs.adyen.com/development-resources/webhooks/troubleshoot, 2026-05-24).
func answerAdyen(_ outcome, err error) httpapi.Response {
	if err != nil {
		return httpapi.Problem(err, "")
	}
	return httpapi.Text(http.StatusOK, "[accepted]")
}

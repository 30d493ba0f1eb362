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

	"flashsale/functions/pay/settings"
	"flashsale/shared/currency"
	"flashsale/shared/httpapi"
	"flashsale/shared/jsonread"
	"flashsale/shared/sale"
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
	case about == paidBack && !i.isPlain():
		about = refunded
	case about == paidBack && i.EventCode == "REFUND": // perhaps of a part
		if one, err := i.report(about, reference); err == nil && one.payment.Amount != 0 {
			return one, nil
		}
		about = refunded
	case about == paidBack:
		return report{payment: sale.Payment{Reference: reference}, about: about}, nil
	case about == ours && (!i.isPlain() || !i.isNamed()):
		// A shop that captures names the order once more, and none names it with a colon: it is lost here otherwise.
		if about = foreign; a.PaidBy == adyenCaptured || i.isNamed() {
			about = charge
		}
	case about == ours && i.Amount.Value != nil && *i.Amount.Value == 0: // a card was looked at
		about = free
	case about == ours:
		return i.report(about, reference)
	}
	return report{payment: sale.Payment{Reference: reference}, about: about}, nil
}

// isNamed reports whether the merchantReference names an order. Adyen signs it, and takes 80 characters in which
// hyphens separate references (reference of the Checkout API's payments, version 72).
func (i *adyenItem) isNamed() bool { _, _, named := orderOf(i.MerchantReference); return named }

// report returns the item's amount and, of a payment, its order.
func (i *adyenItem) report(about subject, reference string) (report, error) {
	one := report{payment: sale.Payment{Reference: reference, Currency: i.Amount.Currency}, about: about}
	if i.Amount.Value == nil {
		return one, unreadable(errNoAmount)
	}
	p, isWhole := &one.payment, false
	if p.Amount, isWhole = currency.FromAdyen(int64(*i.Amount.Value), p.Currency); !isWhole {
		return one, sale.Refusef(sale.InvalidRequest,
			"the amount must be a multiple of 100, as all of Adyen's in %s", p.Currency)
	}
	if about == ours {
		p.SaleID, p.OrderID, _ = orderOf(i.MerchantReference)
	}
	return one, nil
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
		case !done || a.PaidBy == adyenCaptured:
			return unpaid, ""
		case i.EventCode == "EXPIRE": // of what rests
			return refunded, ""
		}
		return paidBack, reference
	case "REFUND", "CANCEL_OR_REFUND": // the latter of the whole payment, always
		if done {
			return paidBack, reference
		}
		return notBack, reference
	}
	if about, known := adyenSubjects[i.EventCode]; known {
		return about, reference
	}
	if strings.Contains(i.EventCode, "CHARGEBACK") || strings.Contains(i.EventCode, "ARBITRATION") ||
		strings.Contains(i.EventCode, "DISPUTE") {
		return disputed, reference
	}
	return unknown, ""
}

// adyenSubjects are the events whose success says nothing more. A capture that failed takes back what counted as paid.
var adyenSubjects = map[string]subject{
	"REFUND_FAILED": notBack, "REFUNDED_REVERSED": notBack, "REFUND_WITH_DATA": refunded,

	"CAPTURE_FAILED": disputed, "NOTIFICATION_OF_FRAUD": disputed, "REQUEST_FOR_INFORMATION": disputed,
	"INFORMATION_SUPPLIED": disputed, "ISSUER_COMMENTS": disputed, "ISSUER_RESPONSE_TIMEFRAME_EXPIRED": disputed,

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

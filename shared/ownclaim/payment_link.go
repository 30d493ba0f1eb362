package ownclaim

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"

	"flashsale/shared/orderid"
	"flashsale/shared/sale"
)

// PaymentLink makes the address at which a buyer pays an order. The zero PaymentLink makes none.
type PaymentLink struct {
	address string
	key     []byte
}

const (
	orderPlace     = "{orderId}"
	unitsPlace     = "{units}"
	signaturePlace = "{signature}"
	// minLinkKey is the least length of the key, in bytes.
	minLinkKey = 32
)

// NewPaymentLink returns links to that address. The values of an order replace the places
// {orderId}, {saleId}, {units}, {amount}, {currency}, {payBy} and {signature} in it; the order's id is
// appended if it has no place. {stack} is replaced by the stack's name, which is not signed. It fails for a
// signature without a key and for a key that is too short (P19).
func NewPaymentLink(address, key, stack string) (PaymentLink, error) {
	key = strings.TrimSpace(key) // a secret that was read from a file ends with a newline
	address = strings.ReplaceAll(address, "{stack}", stack)
	if address != "" && !strings.Contains(address, orderPlace) {
		address += orderPlace
	}
	switch {
	case key == "" && strings.Contains(address, signaturePlace):
		return PaymentLink{}, errors.New("PAYMENT_URL has a {signature}, and PAYMENT_LINK_KEY is not set")
	case key != "" && len(key) < minLinkKey:
		return PaymentLink{}, fmt.Errorf("PAYMENT_LINK_KEY is shorter than %d characters", minLinkKey)
	}
	return PaymentLink{address, []byte(key)}, nil
}

// PaymentLinkFromEnv returns links to PAYMENT_URL, signed with PAYMENT_LINK_KEY, of the stack of that name. It fails as
// NewPaymentLink does.
func PaymentLinkFromEnv(stack string) (PaymentLink, error) {
	return NewPaymentLink(os.Getenv("PAYMENT_URL"), os.Getenv("PAYMENT_LINK_KEY"), stack)
}

// of returns the address for the order of a claim of the sale, which is to be paid by that instant. Units that have
// a place in it are signed, too, in a format of its own.
func (l PaymentLink) of(s sale.Sale, c sale.Claim, payBy string) string {
	if l.address == "" {
		return ""
	}
	order, amount := orderid.String(c.OrderID), strconv.FormatInt(s.PriceOf(c.UnitCount()), 10)
	units := strconv.FormatInt(c.UnitCount(), 10)
	signed := []string{"flashsale payment 1", order, s.ID, amount, s.Currency, payBy}
	if strings.Contains(l.address, unitsPlace) {
		signed = append(signed, units)
		signed[0] = "flashsale payment 2"
	}
	return strings.NewReplacer(
		orderPlace, url.QueryEscape(order), "{saleId}", url.QueryEscape(s.ID), unitsPlace, units, "{amount}", amount,
		"{currency}", url.QueryEscape(s.Currency), "{payBy}", url.QueryEscape(payBy),
		signaturePlace, l.sign(signed),
	).Replace(l.address)
}

// sign returns the signature of these lines: the name of the format, and the values below it. No value has a line
// break, so no two lists of values have the same text.
func (l PaymentLink) sign(lines []string) string {
	mac := hmac.New(sha256.New, l.key)
	mac.Write([]byte(strings.Join(lines, "\n")))
	return hex.EncodeToString(mac.Sum(nil))
}

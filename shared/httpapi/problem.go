package httpapi

import (
	"cmp"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"flashsale/shared/jsonwrite"
	"flashsale/shared/sale"
)

// kind is how a code appears to a client.
type kind struct {
	status int
	title  string
}

// kinds is the one table from code to status. A code that is not in it is
// internal.
var kinds = map[sale.Code]kind{
	sale.InvalidRequest:       {http.StatusBadRequest, "Invalid request"},
	sale.Unauthorized:         {http.StatusUnauthorized, "Unauthorized"},
	sale.Forbidden:            {http.StatusForbidden, "Forbidden"},
	sale.NotEligible:          {http.StatusForbidden, "Not eligible"},
	sale.NotOpen:              {http.StatusForbidden, "The sale has not opened yet"},
	sale.NotYourTurn:          {http.StatusForbidden, "Not your turn"},
	sale.TurnOver:             {http.StatusForbidden, "Your turn is over"},
	sale.EnteringNotOpen:      {http.StatusForbidden, "Entering has not begun yet"},
	sale.EntryNotFound:        {http.StatusNotFound, "No such entry"},
	sale.RollNotFound:         {http.StatusNotFound, "The roll is not closed yet"},
	sale.DrawNotFound:         {http.StatusNotFound, "The sale has no draw"},
	sale.SaleNotFound:         {http.StatusNotFound, "No such sale"},
	sale.GroupNotFound:        {http.StatusNotFound, "No such group of sales"},
	sale.OrderNotFound:        {http.StatusNotFound, "No such order"},
	sale.ProviderNotFound:     {http.StatusNotFound, "No such payment provider"},
	sale.AlreadyOrdered:       {http.StatusConflict, "Already ordered"},
	sale.ChangedMeanwhile:     {http.StatusConflict, "The sale was changed meanwhile"},
	sale.Conflicting:          {http.StatusConflict, "In conflict with what is stored"},
	sale.OrderPending:         {http.StatusConflict, "The order has no number yet"},
	sale.OrderPaid:            {http.StatusConflict, "The order is paid"},
	sale.OrderExpired:         {http.StatusConflict, "The order was not paid in time"},
	sale.NotCancellable:       {http.StatusConflict, "The order cannot be cancelled"},
	sale.SoldOut:              {http.StatusConflict, "Sold out"},
	sale.Closed:               {http.StatusGone, "The sale is closed"},
	sale.EnteringClosed:       {http.StatusGone, "Entering is over"},
	sale.Recalled:             {http.StatusGone, "The sale was recalled"},
	sale.BodyTooLarge:         {http.StatusRequestEntityTooLarge, "Body too large"},
	sale.UnsupportedMediaType: {http.StatusUnsupportedMediaType, "Unsupported media type"},
	sale.TooManyRequests:      {http.StatusTooManyRequests, "Too many requests"},
	sale.Paused:               {http.StatusServiceUnavailable, "The sale is paused"},
	sale.Busy:                 {http.StatusServiceUnavailable, "Busy, please repeat the request"},
	sale.Internal:             {http.StatusInternalServerError, "Internal error"},
}

// problem is an RFC 9457 problem.
type problem struct {
	kind
	code  sale.Code
	order string      // path of the caller's own order
	said  *sale.Error // its public parts; none of an error without a code
}

func (p *problem) json() []byte {
	o := make(jsonwrite.Object, 0, 512) // most problems
	o.Name("type")
	o = append(append(append(o, `"urn:flashsale:problem:`...), p.code...), '"')
	o.Text("title", p.title)
	o.Int("status", int64(p.status))
	o.Text("code", string(p.code))
	o.TextIf("detail", p.said.Detail)
	if p.said.MayReturn {
		o.Bool("mayReturn", true)
	}
	o.TextIf("order", p.order)
	o.TextIf("saleId", p.said.OtherSale)
	if p.said.Claim != nil {
		o.Open("claim")
		held := ClaimOf(*p.said.Claim)
		held.addTo(&o)
		o.End()
	}
	if p.said.Meanwhile != nil {
		o.Text("seen", p.said.Meanwhile.Seen)
		if c := p.said.Meanwhile.Change; c != nil {
			text, _ := json.Marshal(ChangeOf(*c)) // it is of strings, numbers and flags
			o.Name("change")
			o = append(o, text...)
		}
	}
	return o.Close()
}

// Problem returns the answer for an error: its code, the code's status and the public
// detail. An error without a code shows nothing. saleID, if not empty, must be valid:
// the answer links to the caller's claim in that sale, or in the one that err names.
func Problem(err error, saleID string) Response {
	code := sale.CodeOf(err)
	if code == sale.NewerVersion {
		err = sale.Fail(sale.Busy, err)
		code = sale.Busy
	}
	k, ok := kinds[code]
	if !ok {
		code, k = sale.Internal, kinds[sale.Internal]
	}
	said, ours := errors.AsType[*sale.Error](err)
	if !ours || !ok {
		said = new(sale.Error)
	}
	p := problem{kind: k, code: code, said: said}
	saleID = cmp.Or(p.said.OtherSale, saleID)
	if saleID != "" && code != sale.SaleNotFound {
		p.order = ClaimPath(saleID)
	}
	r := response(k.status, "application/problem+json", p.json())
	wait := p.said.RetryAfter
	switch {
	case wait != 0:
	case p.said.MayReturn:
		wait = ReturnWait()
	case k.status == http.StatusServiceUnavailable, k.status == http.StatusTooManyRequests, code == sale.OrderPending:
		wait = Jitter(time.Second, 3*time.Second)
	}
	if wait > 0 {
		r.Headers.RetryAfter = Seconds(wait)
	}
	return r
}

// ReturnWait is after how long to look again whether a unit has returned: they are put
// back once a minute.
func ReturnWait() time.Duration { return Jitter(time.Minute, 90*time.Second) }

// Jitter returns a random duration between the two, so that clients do not all retry at
// once.
func Jitter(from, to time.Duration) time.Duration {
	return from + rand.N(to-from)
}

package httpapi

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

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
	sale.NotEnough:            {http.StatusConflict, "Not enough left"},
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

// problem is an RFC 9457 problem. Below its code are the public parts of an error of ours.
type problem struct {
	Type      string    `json:"type"`
	Title     string    `json:"title"`
	Status    int       `json:"status"`
	Code      sale.Code `json:"code"`
	Detail    string    `json:"detail,omitempty"`
	Template  string    `json:"template,omitempty"` // of a detail with values
	Values    []string  `json:"values,omitempty"`
	Left      int64     `json:"left,omitempty"`
	MayReturn bool      `json:"mayReturn,omitempty"`
	Order     string    `json:"order,omitempty"` // path of the caller's own order
	SaleID    string    `json:"saleId,omitempty"`
	Claim     *Claim    `json:"claim,omitempty"`
	Version   string    `json:"version,omitempty"`
	Change    *Change   `json:"change,omitempty"`
}

// Problem returns the answer for an error: its code, the code's status and the public
// detail. An error without a code shows nothing. saleID, if not empty, must be valid:
// the answer links to the caller's claim in that sale, or in the one that err names.
func Problem(err error, saleID string) Response { return ProblemShowing(err, saleID, ClaimOf) }

// ProblemShowing is Problem with the claim, if err has one, as show returns it.
func ProblemShowing(err error, saleID string, show func(sale.Claim) Claim) Response {
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
	p := problem{
		Type: "urn:flashsale:problem:" + string(code), Title: k.title, Status: k.status, Code: code,
		Detail: said.Detail, Template: said.Template, Values: said.Values(),
		Left: said.Left, MayReturn: said.MayReturn, SaleID: said.OtherSale,
	}
	if saleID = cmp.Or(said.OtherSale, saleID); saleID != "" && code != sale.SaleNotFound {
		p.Order = ClaimPath(saleID)
	}
	if said.Claim != nil {
		p.Claim = new(show(*said.Claim))
	}
	if m := said.Meanwhile; m != nil {
		p.Version = m.ReadVersion
		if m.Change != nil {
			p.Change = new(ChangeOf(*m.Change))
		}
	}
	r := JSON(k.status, p)
	r.Headers.ContentType = "application/problem+json"
	wait := said.RetryAfter
	switch {
	case wait != 0:
	case said.MayReturn:
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

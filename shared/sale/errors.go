package sale

import (
	"errors"
	"fmt"
	"regexp"
	"time"
)

// Code is a machine-readable outcome. Clients, logs and metrics may rely on the
// spelling, but a later version may have more codes.
type Code string

const (
	// InvalidRequest: the request is malformed; repeating it cannot help.
	InvalidRequest Code = "invalid-request"
	// Unauthorized: the request carries no verified user.
	Unauthorized Code = "unauthorized"
	// Forbidden: the request did not come through the distribution, or its caller has no role
	// that allows it.
	Forbidden Code = "forbidden"
	// BodyTooLarge: the request body is longer than the limit.
	BodyTooLarge Code = "body-too-large"
	// UnsupportedMediaType: the request body is not declared as JSON.
	UnsupportedMediaType Code = "unsupported-media-type"
	// SaleNotFound: no such sale, or one that is still being seeded.
	SaleNotFound Code = "sale-not-found"
	// ProviderNotFound: no such payment provider, or none of its secrets is configured.
	ProviderNotFound Code = "provider-not-found"
	// OrderNotFound: no such order or claim, or it belongs to somebody else.
	OrderNotFound Code = "order-not-found"
	// NotOpen: the sale has not begun.
	NotOpen Code = "sale-not-open"
	// Closed: the sale is over.
	Closed Code = "sale-closed"
	// NotYourTurn: the user has not been called, or nobody who has been called may buy now.
	NotYourTurn Code = "not-your-turn"
	// TurnOver: the user was called, and the call is over.
	TurnOver Code = "turn-over"
	// DrawNotFound: the sale has no draw.
	DrawNotFound Code = "draw-not-found"
	// EnteringNotOpen: it is too early to enter the draw.
	EnteringNotOpen Code = "entering-not-open"
	// EnteringClosed: it is too late to enter the draw.
	EnteringClosed Code = "entering-closed"
	// EntryNotFound: the user has not entered the draw, or is not on its roll.
	EntryNotFound Code = "entry-not-found"
	// RollNotFound: the roll of the draw is not closed yet.
	RollNotFound Code = "roll-not-found"
	// Paused: the sale is halted by its operator.
	Paused Code = "sale-paused"
	// Recalled: the operator has recalled the sale. It never sells again, and no edit that
	// would let it sell is accepted.
	Recalled Code = "recalled"
	// SoldOut: every stock shard was empty within the last two seconds (P6).
	SoldOut Code = "sold-out"
	// NotEnough: fewer units were left than the request asked for, within the last two seconds (P6). It is final only
	// for that many units.
	NotEnough Code = "not-enough"
	// NotEligible: the operator's check says that the user may not buy in this sale.
	NotEligible Code = "not-eligible"
	// GroupNotFound: no such group of sales, or all of them are still being seeded.
	GroupNotFound Code = "group-not-found"
	// AlreadyOrdered: the user holds a claim in this sale (P3), or in another one of its
	// group (P34).
	AlreadyOrdered Code = "already-ordered"
	// OrderPending: the claim has no order id yet, so it cannot be cancelled yet.
	OrderPending Code = "order-pending"
	// OrderPaid: the order is paid, so it cannot be cancelled any more.
	OrderPaid Code = "order-paid"
	// OrderExpired: the order was not paid in time and its units are on sale again.
	OrderExpired Code = "order-expired"
	// NotCancellable: the sale asks for no payment, so its orders are final.
	NotCancellable Code = "not-cancellable"
	// TooManyRequests: the user sends more requests than one person does; nothing was
	// looked up, and the same request may be repeated later (P5).
	TooManyRequests Code = "too-many-requests"
	// Busy: the outcome is unknown or could not be reached in time; the same
	// request may be repeated safely (P5).
	Busy Code = "busy"
	// Conflicting: the id was used before with other contents (P9), a newer edit
	// disagrees (P14), the sale's maxStock leaves no room (P15), or its group has none.
	Conflicting Code = "conflicting-request"
	// ChangedMeanwhile: somebody has changed the sale since the author of the change looked at it.
	ChangedMeanwhile Code = "changed-meanwhile"
	// NewerVersion: the item or message is for a newer version, see Reads. It says
	// nothing about the order; buyers are told Busy (P5, P19).
	NewerVersion Code = "newer-version"
	// Poison: a message that can never be processed (P10).
	Poison Code = "poison-message"
	// Internal: any other error. Its cause is for the log, never for the client.
	Internal Code = "internal"
)

// Error is an outcome other than success.
type Error struct {
	Code Code
	// Detail is safe to show to the caller; it never quotes another package's error.
	Detail string
	// Claim is the claim that the user already holds (AlreadyOrdered), or that cannot be
	// cancelled.
	Claim *Claim
	// OtherSale is the sale of its group in which the user has ordered (AlreadyOrdered,
	// OrderNotFound); "" if it is this one or none.
	OtherSale string
	// Left is how many units were left: at least 1, and fewer than were asked for (NotEnough).
	Left int64
	// MayReturn: units may be in stock again before the sale closes (SoldOut, NotEnough).
	MayReturn bool
	// Meanwhile is what the author had not seen (ChangedMeanwhile).
	Meanwhile *Meanwhile
	// RetryAfter is how long to wait before retrying; 0 means unknown.
	RetryAfter time.Duration
	// Err is the cause, for the log only.
	Err error

	// Template is what Detail was made of, if it has values: with a verb of package fmt for each of them.
	Template string
	values   []any
}

func (e *Error) Error() string {
	text := string(e.Code)
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of err: "" for nil, Internal for an error without a code.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return Internal
}

// Refuse returns an Error of that code with a detail for the caller.
func Refuse(code Code, detail string) *Error {
	return &Error{Code: code, Detail: detail}
}

// Refusef is Refuse with values in the detail.
func Refusef(code Code, format string, values ...any) *Error {
	return &Error{Code: code, Detail: fmt.Sprintf(format, values...), Template: format, values: values}
}

var verbs = regexp.MustCompile("%[a-z]")

// Values are those of the template, as they are in the detail.
func (e *Error) Values() (texts []string) {
	for i, verb := range verbs.FindAllString(e.Template, -1) {
		texts = append(texts, fmt.Sprintf(verb, e.values[i]))
	}
	return texts
}

// Fail returns an Error of that code with a cause for the log.
func Fail(code Code, err error) *Error {
	return &Error{Code: code, Err: err}
}

// AsInternal gives an error without a code the code sale.Internal.
func AsInternal(err error) error {
	if err == nil {
		return nil
	}
	if _, ours := errors.AsType[*Error](err); ours {
		return err
	}
	return Fail(Internal, err)
}

// DraftError is the cause of a sale.SaleNotFound whose sale is still being created.
type DraftError struct{ OpensAt, ClosesAt time.Time }

func (e *DraftError) Error() string { return "a draft that opens at " + e.OpensAt.Format(time.RFC3339) }

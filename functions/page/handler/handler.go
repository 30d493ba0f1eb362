// Package handler serves the buyer's page: the HTML of a sale, of the sign-in's callback,
// and their scripts and styles.
//
// The HTML has the sale's id, which is valid or left out, and what a link to the page shows of
// the sale. What a buyer sees of its state comes from the JSON API.
package handler

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/webpage"
)

type (
	request  = events.APIGatewayV2HTTPRequest
	response = webpage.Response
)

// Handler serves one execution environment; it is safe for concurrent use.
type Handler struct {
	// Origin refuses requests that did not come through it; the zero value refuses none.
	Origin httpapi.Origin

	page        *webpage.Page
	signIn      webpage.SignIn
	imageOrigin string
	ledger      Ledger
	log         *telemetry.Log
	now         func() time.Time
	asksAgain   atomic.Int64 // the instant before which a ledger that did not answer is not asked, in Unix nanoseconds
}

// New returns a handler of the page whose files are given. It fails if the page refers to
// a file that does not exist.
func New(
	source fs.FS, s webpage.SignIn, look Appearance, ledger Ledger, log *telemetry.Log, now func() time.Time,
) (*Handler, error) {
	page, err := webpage.New(source, webpage.Options{SignIn: s, ImageOrigin: look.ImageOrigin, Style: look.style()})
	if err != nil {
		return nil, err
	}
	return &Handler{page: page, signIn: s, imageOrigin: look.ImageOrigin, ledger: ledger, log: log, now: now}, nil
}

// Handle answers one request; it never returns an error.
func (h *Handler) Handle(ctx context.Context, r request) (out response, _ error) {
	err := h.log.Run(ctx, "page", func(ctx context.Context, event *telemetry.Event) (err error) {
		event.Text("route", r.RouteKey)
		if err := h.Origin.Check(&httpapi.Request{Headers: r.Headers}); err != nil {
			return err
		}
		out, err = h.route(ctx, r, event)
		return err
	}, func(event *telemetry.Event, code sale.Code) {
		event.CountBy("pages", "result", telemetry.Outcome(code))
	})
	if err != nil {
		out = h.page.Problem(err)
	}
	return out, nil
}

func (h *Handler) route(ctx context.Context, r request, event *telemetry.Event) (response, error) {
	switch r.RouteKey {
	case "GET /s/{saleId}":
		id, status := shownID(r.PathParameters["saleId"])
		event.Text("saleId", id)
		goods, known := h.goodsOf(ctx, id, h.oneSale)
		return h.html(r, data{SaleID: id, goods: goods}, status, known)
	case "GET /g/{groupId}":
		id, status := shownID(r.PathParameters["groupId"])
		event.Text("groupId", id)
		goods, known := h.goodsOf(ctx, id, h.ledger.Sales)
		return h.html(r, data{GroupID: id, goods: goods}, status, known)
	case "GET /signin":
		return h.html(r, data{}, http.StatusOK, true)
	case "GET /assets/{name}":
		return h.page.Asset(r.PathParameters["name"], r.Headers["accept-encoding"]), nil
	}
	return response{}, fmt.Errorf("no such route: %q", r.RouteKey)
}

// shownID returns the id that a page has, "" if that is none: the page itself tells the buyer
// that there is no such sale or group.
func shownID(id string) (shown string, status int) {
	if !sale.ValidID(id) {
		return "", http.StatusNotFound
	}
	return id, http.StatusOK
}

// data are those of page.html.
type data struct {
	webpage.SignIn
	SaleID, GroupID string // one of them, or none
	Language        said
	goods
}

// html returns the page in the buyer's language. One that lacks what it sells is kept nowhere: previews of links would
// show it for days.
func (h *Handler) html(r request, d data, status int, known bool) (response, error) {
	d.SignIn, d.Language = h.signIn, saidIn(r.Headers["accept-language"])
	page, err := h.page.HTML(d, status, r.Headers["accept-encoding"])
	if err != nil {
		return page, err
	}
	page.Headers["Content-Language"] = d.Language.Tag
	page.Headers["Vary"] += ", Accept-Language"
	if !known {
		page.Headers["Cache-Control"] = "no-store"
	}
	return page, nil
}

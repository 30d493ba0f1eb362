// Package handler serves the buyer's page: the HTML of a sale, of the sign-in's callback,
// and their scripts and styles.
//
// The HTML is the same for every sale except for the sale's id, which is valid or left
// out. What a buyer sees of the sale comes from the JSON API, so this function needs no
// table.
package handler

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"

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

	page   *webpage.Page
	signIn webpage.SignIn
	log    *telemetry.Log
}

// New returns a handler of the page whose files are given. It fails if the page refers to
// a file that does not exist.
func New(source fs.FS, s webpage.SignIn, look Look, log *telemetry.Log) (*Handler, error) {
	page, err := webpage.New(source, webpage.Options{SignIn: s, ImageOrigin: look.ImageOrigin, Style: look.style()})
	if err != nil {
		return nil, err
	}
	return &Handler{page: page, signIn: s, log: log}, nil
}

// Handle answers one request; it never returns an error.
func (h *Handler) Handle(ctx context.Context, r request) (out response, _ error) {
	err := h.log.Run(ctx, "page", func(_ context.Context, event *telemetry.Event) (err error) {
		event.Text("route", r.RouteKey)
		if err := h.Origin.Check(&httpapi.Request{OriginVerify: header(r, "x-origin-verify")}); err != nil {
			return err
		}
		out, err = h.route(r, event)
		return err
	}, func(event *telemetry.Event, code sale.Code) {
		event.CountBy("pages", "result", telemetry.Outcome(code))
	})
	if err != nil {
		out = h.page.Problem(err)
	}
	return out, nil
}

func (h *Handler) route(r request, event *telemetry.Event) (response, error) {
	switch r.RouteKey {
	case "GET /s/{saleId}":
		id, status := shownID(r.PathParameters["saleId"])
		event.Text("saleId", id)
		return h.html(r, id, "", status)
	case "GET /g/{groupId}":
		id, status := shownID(r.PathParameters["groupId"])
		event.Text("groupId", id)
		return h.html(r, "", id, status)
	case "GET /signin":
		return h.html(r, "", "", http.StatusOK)
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

// html returns the page of a sale or of a group, "" for none.
func (h *Handler) html(r request, saleID, groupID string, status int) (response, error) {
	return h.page.HTML(struct {
		webpage.SignIn
		SaleID, GroupID string
	}{h.signIn, saleID, groupID}, status, r.Headers["accept-encoding"])
}

// header returns a header; API Gateway writes names in lower case.
func header(r request, name string) httpapi.Header {
	value, given := r.Headers[name]
	return httpapi.Header{Value: value, Given: given}
}

package handler

import (
	"context"
	"strings"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// rights are what a caller may do.
type rights int

const (
	mayRead   rights = 1 << iota
	mayChange        // sales and marks
	mayBegin         // sendings of refunds
	mayStop          // sendings
)

// The rights of the roles.
const (
	nobody   rights = 0
	viewer          = mayRead
	operator        = mayRead | mayChange | mayStop
	cashier         = mayRead | mayBegin | mayStop
)

// roleGroups are the names of the roles in a token.
var roleGroups = map[string]rights{
	"flashsale-viewer": viewer, "flashsale-operator": operator, "flashsale-cashier": cashier,
}

// takers are the roles that have a right.
var takers = map[rights]string{
	mayRead: "viewer", mayChange: "operator", mayBegin: "cashier", mayStop: "cashier or operator",
}

// roles are the names of the roles that give these rights, the one that changes sales first.
func (r rights) roles() (names []string) {
	if r&operator == operator {
		names = append(names, "operator")
	}
	if r&cashier == cashier {
		names = append(names, "cashier")
	}
	if names == nil && r&viewer != 0 {
		names = []string{"viewer"}
	}
	return names
}

// rolesOf reads the claim of the roles: one name, several with spaces between them, or a list,
// which API Gateway writes as [a b]. A name counts only as a whole.
func rolesOf(claim string) (may rights) {
	if inner, ok := strings.CutPrefix(claim, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			claim = inner
		}
	}
	for name := range strings.SplitSeq(claim, " ") {
		may |= roleGroups[name]
	}
	return may
}

// identify returns the error of a caller who is nobody, or lacks that right.
func (req *request) identify(right rights) (err error) {
	if !req.told {
		if req.actor, err = httpapi.User(&req.Request); err != nil {
			return err
		}
	}
	switch {
	case req.actor == "":
		return sale.Refuse(sale.Unauthorized, "the request names nobody who asks")
	case req.may&right == 0:
		return sale.Refuse(sale.Forbidden, "this takes the role "+takers[right])
	}
	return nil
}

// route answers a caller who has that right.
type route struct {
	right  rights
	answer func(ctx context.Context, req *request, event *telemetry.Event) (any, error)
}

// routesOf returns the routes of the operators' API, by their keys.
func routesOf(h *Handler) map[string]route {
	return map[string]route{
		"GET /operate/sales":                        {mayRead, h.sales},
		"GET /operate/refunds":                      {mayRead, h.refunds},
		"POST /operate/refunds":                     {mayChange, h.mark},
		"POST /operate/refunds/list":                {mayRead, h.readList},
		"GET /operate/sendings":                     {mayRead, h.sendings},
		"POST /operate/sendings":                    {mayBegin, h.beginSending},
		"POST /operate/sendings/stop":               {mayStop, h.stopSending},
		"GET /operate/sales/{saleId}":               {mayRead, h.sale},
		"GET /operate/sales/{saleId}/changes":       {mayRead, h.trail},
		"GET /operate/sales/{saleId}/buyers/{user}": {mayRead, h.buyer},
		"GET /operate/orders/{orderId}":             {mayRead, h.order},
		"POST /operate/sales/{saleId}/changes":      {mayChange, h.change},
		"POST /operate/sales":                       {mayChange, h.create},
		"GET /operate/health":                       {mayRead, h.health},
		"GET /operate/purchases":                    {mayRead, h.rates},
		"POST /operate/repairs":                     {mayChange, h.repair},
	}
}

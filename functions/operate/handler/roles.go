package handler

import (
	"context"
	"strings"

	"flashsale/shared/httpapi"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// role is what a caller may do.
type role int

const (
	nobody role = iota
	viewer
	operator
)

func (r role) String() string { return [...]string{"", "viewer", "operator"}[r] }

// The names of the roles in a token.
const (
	viewerGroup   = "flashsale-viewer"
	operatorGroup = "flashsale-operator"
)

// rolesOf reads the claim of the roles: one name, several with spaces between them, or a list,
// which API Gateway writes as [a b]. A name counts only as a whole.
func rolesOf(claim string) role {
	if inner, ok := strings.CutPrefix(claim, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			claim = inner
		}
	}
	may := nobody
	for name := range strings.SplitSeq(claim, " ") {
		switch name {
		case viewerGroup:
			may = max(may, viewer)
		case operatorGroup:
			may = operator
		}
	}
	return may
}

// identify returns the error of a caller who is nobody, or may not do what takes that role.
func (req *request) identify(least role) (err error) {
	if !req.told {
		if req.actor, err = httpapi.User(&req.Request); err != nil {
			return err
		}
	}
	switch {
	case req.actor == "":
		return sale.Refuse(sale.Unauthorized, "the request names nobody who asks")
	case req.role < least:
		return sale.Refuse(sale.Forbidden, "this takes the role "+least.String())
	}
	return nil
}

// route answers a caller who has at least that role.
type route struct {
	least  role
	answer func(ctx context.Context, req *request, event *telemetry.Event) (any, error)
}

// routesOf returns the routes of the operators' API, by their keys.
func routesOf(h *Handler) map[string]route {
	return map[string]route{
		"GET /operate/sales":                        {viewer, h.sales},
		"GET /operate/refunds":                      {viewer, h.refunds},
		"POST /operate/refunds":                     {operator, h.mark},
		"POST /operate/refunds/list":                {viewer, h.readList},
		"GET /operate/sales/{saleId}":               {viewer, h.sale},
		"GET /operate/sales/{saleId}/changes":       {viewer, h.trail},
		"GET /operate/sales/{saleId}/buyers/{user}": {viewer, h.buyer},
		"GET /operate/orders/{orderId}":             {viewer, h.order},
		"POST /operate/sales/{saleId}/changes":      {operator, h.change},
		"POST /operate/sales":                       {operator, h.create},
		"GET /operate/health":                       {viewer, h.health},
		"GET /operate/purchases":                    {viewer, h.rates},
		"POST /operate/repairs":                     {operator, h.repair},
	}
}

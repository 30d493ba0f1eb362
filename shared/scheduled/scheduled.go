// Package scheduled has what the functions that schedules and operators invoke have in
// common: how an invocation runs and fails, and the request that names a sale.
package scheduled

import (
	"context"
	"errors"
	"slices"

	"github.com/aws/aws-lambda-go/lambda/messages"

	"flashsale/shared/jsonread"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
)

// Run runs one invocation as telemetry.Log.Run does. A failure is a function error named after its
// code, with the public detail and never another error's text.
func Run(ctx context.Context, log *telemetry.Log, message string,
	do func(context.Context, *telemetry.Event) error, count func(*telemetry.Event, sale.Code),
) error {
	err := log.Run(ctx, message, do, count)
	if err == nil {
		return nil
	}
	text := string(sale.CodeOf(err))
	if e, ok := errors.AsType[*sale.Error](err); ok && e.Detail != "" {
		text += ": " + e.Detail
	}
	return messages.InvokeResponse_Error{Type: string(sale.CodeOf(err)), Message: text}
}

// saleOf reads a request for one sale, or for every one: then saleID is "". A request for one
// sale may name one of these actions.
func saleOf(raw []byte, actions ...string) (saleID, action string, err error) {
	var r struct {
		SaleID *string `json:"saleId"`
		Action *string `json:"action"`
	}
	names, err := jsonread.Flat(raw, &r)
	switch {
	case err != nil || slices.ContainsFunc(names, func(name string) bool { return name != "saleId" && name != "action" }),
		r.Action != nil && (r.SaleID == nil || !slices.Contains(actions, *r.Action)):
		// A misspelt saleId must not mean every sale.
		return "", "", &sale.Error{Code: sale.InvalidRequest, Detail: `the request must be {} or {"saleId": …}`, Err: err}
	case r.SaleID == nil:
		return "", "", nil
	case !sale.ValidID(*r.SaleID):
		return "", "", sale.RefuseID("saleId")
	case r.Action != nil:
		action = *r.Action
	}
	return *r.SaleID, action, nil
}

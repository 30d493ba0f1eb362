// Package start wires PurchaseFunction.
package start

import (
	"flashsale/functions/purchase/handler"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/eligibility"
	"flashsale/shared/httpapi"
	"flashsale/shared/orderq"
	"flashsale/shared/ownclaim"
	"flashsale/shared/startup"
)

// Function serves the events of PurchaseFunction. It does not return.
func Function() {
	log, cfg, ledger := startup.Function("purchase")
	queue, noQueue := orderq.FromEnv(cfg)
	users, noUsers := eligibility.FromEnv(clock.Wall)
	origin, noOrigin := httpapi.OriginFromEnv()
	times, noTimes := draw.TimesFromEnv()
	link, noLink := ownclaim.PaymentLinkFromEnv(startup.Stack())
	log.FatalIf(noQueue, noUsers, noOrigin, noTimes, noLink)
	h := handler.New(ledger, queue, log, clock.Wall)
	h.Origin, h.Times, h.PayLink = origin, times, link
	if users != nil {
		h.Users = users // a nil pointer would be no nil interface
	}
	startup.Serve(log, httpapi.Serve(h.Handle))
}

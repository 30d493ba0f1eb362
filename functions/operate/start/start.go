// Package start wires OperateFunction.
package start

import (
	"os"

	"flashsale/functions/operate/assets"
	"flashsale/functions/operate/handler"
	"flashsale/functions/operate/stack"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/startup"
)

// Function serves the events of OperateFunction. It does not return.
func Function() {
	log, cfg, ledger := startup.Function("operate")
	times, noTimes := draw.TimesFromEnv()
	log.FatalIf(noTimes)
	page, err := handler.PageFromEnv(assets.Files)
	log.FatalIf(err)
	surroundings, err := stack.FromEnv(cfg)
	log.FatalIf(err)
	h := handler.New(ledger, log, clock.Wall)
	h.Desk.ImageOrigin, h.Desk.DrawLead, h.Desk.Stripe = os.Getenv("IMAGE_ORIGIN"), times.Lead(), os.Getenv("STRIPE") != ""
	h.RolesClaim, h.Page = os.Getenv("ROLES_CLAIM"), page
	h.Stack, h.Sends = surroundings, os.Getenv("SENDS_REFUNDS") != ""
	startup.Serve(log, h)
}

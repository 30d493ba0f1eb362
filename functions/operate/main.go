// Command operate answers the operators: how their sales stand, what happened to a buyer's
// order, and who changed what; it pauses, resumes, reschedules, describes, restocks and
// recalls a sale; and it tells what is wrong with the stack. The operators' HTTP API and the command flashsale
// invoke it.
package main

import (
	"os"

	"flashsale/functions/operate/assets"
	"flashsale/functions/operate/handler"
	"flashsale/functions/operate/stack"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/startup"
)

func main() {
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
	h.Stack = surroundings
	startup.Serve(log, h)
}

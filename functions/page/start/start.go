// Package start wires PageFunction.
package start

import (
	"flashsale/functions/page/assets"
	"flashsale/functions/page/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/startup"
	"flashsale/shared/webpage"
)

// Function serves the events of PageFunction. It does not return.
func Function() {
	log, _, ledger := startup.Function("page")
	signIn, err := webpage.SignInFromEnv()
	log.FatalIf(err)
	origin, err := httpapi.OriginFromEnv()
	log.FatalIf(err)
	look, err := handler.AppearanceFromEnv()
	log.FatalIf(err)
	h, err := handler.New(assets.Files, signIn, look, ledger, log, clock.Wall)
	log.FatalIf(err)
	h.Origin = origin
	startup.Serve(log, startup.JSON(h.Handle))
}

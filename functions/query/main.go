// Command query answers the GET routes: the public page of a sale, the caller's
// own claim in it, and the caller's own orders.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/query/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/startup"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "query", clock.Wall)
	cfg := startup.AWS(log)
	book, err := ledger.FromEnv(cfg, clock.Wall)
	log.FatalIf(err)
	origin, err := httpapi.OriginFromEnv()
	log.FatalIf(err)
	link, err := handler.NewPaymentLink(os.Getenv("PAYMENT_URL"), os.Getenv("PAYMENT_LINK_KEY"))
	log.FatalIf(err)
	h := handler.New(book, log, clock.Wall)
	h.Origin, h.PayLink = origin, link
	lambda.Start(httpapi.Serve(h.Handle))
}

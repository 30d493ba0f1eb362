// Command query answers the GET routes: the public page of a sale, the caller's
// own claim in it, and the caller's own orders.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/query/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "query", clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg = log.Watch(cfg)
	book, err := ledger.FromEnv(cfg, clock.Wall)
	if err != nil {
		log.Fatal(err)
	}
	origin, err := httpapi.OriginFromEnv()
	if err != nil {
		log.Fatal(err)
	}
	link, err := handler.NewPaymentLink(os.Getenv("PAYMENT_URL"), os.Getenv("PAYMENT_LINK_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	h := handler.New(book, log, clock.Wall)
	h.Origin, h.PayLink = origin, link
	lambda.Start(httpapi.Serve(h.Handle))
}

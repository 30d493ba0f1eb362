// Command purchase answers POST /sales/{saleId}/orders: one unit for the
// caller, or the reason why not.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/purchase/handler"
	"flashsale/shared/httpapi"
	"flashsale/shared/ledger"
	"flashsale/shared/orderq"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "purchase")
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	book, err := ledger.FromEnv(cfg)
	if err != nil {
		log.Fatal(err)
	}
	queue, err := orderq.FromEnv(cfg)
	if err != nil {
		log.Fatal(err)
	}
	lambda.Start(httpapi.Serve(handler.New(book, queue, log).Handle))
}

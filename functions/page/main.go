// Command page serves the buyer's page of a sale.
package main

import (
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/page/assets"
	"flashsale/functions/page/handler"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi"
	"flashsale/shared/telemetry"
	"flashsale/shared/webpage"
)

func main() {
	log := telemetry.New(os.Stdout, "page", clock.Wall)
	signIn, err := webpage.SignInFromEnv()
	if err != nil {
		log.Fatal(err)
	}
	origin, err := httpapi.OriginFromEnv()
	if err != nil {
		log.Fatal(err)
	}
	look, err := handler.LookFromEnv()
	if err != nil {
		log.Fatal(err)
	}
	h, err := handler.New(assets.Files, signIn, look, log)
	if err != nil {
		log.Fatal(err)
	}
	h.Origin = origin
	lambda.Start(h.Handle)
}

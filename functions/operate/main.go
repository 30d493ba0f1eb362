// Command operate answers the operators: how their sales stand, what happened to a buyer's
// order, and who changed what; it pauses, resumes, reschedules, describes, restocks and
// recalls a sale. The HTTP API of the operators invokes it, and so do the make commands.
package main

import (
	"context"
	"errors"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"

	"flashsale/functions/operate/assets"
	"flashsale/functions/operate/handler"
	"flashsale/shared/clock"
	"flashsale/shared/draw"
	"flashsale/shared/ledger"
	"flashsale/shared/telemetry"
)

func main() {
	log := telemetry.New(os.Stdout, "operate", clock.Wall)
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	cfg = log.Watch(cfg)
	book, noBook := ledger.FromEnv(cfg, clock.Wall)
	times, noTimes := draw.TimesFromEnv()
	if err := errors.Join(noBook, noTimes); err != nil {
		log.Fatal(err)
	}
	page, err := handler.PageFromEnv(assets.Files)
	if err != nil {
		log.Fatal(err)
	}
	h := handler.New(book, log, clock.Wall)
	h.Desk.ImageOrigin, h.Desk.DrawLead = os.Getenv("IMAGE_ORIGIN"), times.Lead()
	h.RolesClaim, h.Page = os.Getenv("ROLES_CLAIM"), page
	lambda.Start(h)
}

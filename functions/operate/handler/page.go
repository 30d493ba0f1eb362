package handler

import (
	"io/fs"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/currency"
	"flashsale/shared/draw"
	"flashsale/shared/webpage"
)

// shownPage is the operators' page, which is the same for everybody: what it shows comes from
// the routes that need a token.
type shownPage struct {
	page *webpage.Page
	data PageData
}

// PageData is what the page's template needs.
type PageData struct {
	webpage.SignIn
	Runbook string // its address, "" if nobody knows it
	Lead    int64  // seconds from the end of entering a draw to the earliest opening
	Images  string // the only origin of pictures, "" for none
}

// Digits are the currencies by the digits of their minor units, of which browsers have other numbers.
func (PageData) Digits() string { return currency.Codes() }

// PageFromEnv returns the page whose files are given, with the sign-in of the environment and the runbook's
// address in RUNBOOK_URL.
func PageFromEnv(source fs.FS) (Page, error) {
	signIn, err := webpage.SignInFromEnv()
	if err != nil {
		return nil, err
	}
	times, err := draw.TimesFromEnv()
	if err != nil {
		return nil, err
	}
	images := os.Getenv("IMAGE_ORIGIN")
	page, err := webpage.New(source, webpage.Options{SignIn: signIn, ImageOrigin: images})
	if err != nil {
		return nil, err
	}
	return shownPage{page, PageData{signIn, os.Getenv("RUNBOOK_URL"), int64(times.Lead() / time.Second), images}}, nil
}

func (p shownPage) Answer(r events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	accept := r.Headers["accept-encoding"]
	if r.RouteKey == "GET /assets/{name}" {
		return p.page.Asset(r.PathParameters["name"], accept), nil
	}
	return p.page.HTML(p.data, http.StatusOK, accept)
}

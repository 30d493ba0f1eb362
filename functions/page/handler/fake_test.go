package handler

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"flashsale/functions/page/assets"
	"flashsale/shared/clock"
	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
	"flashsale/shared/telemetry"
	"flashsale/shared/webpage"
	"flashsale/shared/webpage/webpagetest"
)

var signIn = webpage.SignIn{
	Authorize: "https://issuer.example/oauth2/authorize", Token: "https://issuer.example/oauth2/token", ClientID: "client-1", Scope: "openid",
}

// shelf is a ledger of these sales, under their ids and under that of their group.
type shelf []sale.Sale

func (s shelf) Sale(ctx context.Context, saleID string) (sale.Sale, error) {
	for _, one := range s {
		if one.ID == saleID && ctx.Err() == nil {
			return one, nil
		}
	}
	return sale.Sale{}, sale.Refuse(sale.SaleNotFound, "no such sale")
}

func (s shelf) Sales(_ context.Context, group string) ([]sale.Sale, error) {
	if len(s) == 0 || s[0].LimitGroup != group {
		return nil, sale.Refuse(sale.GroupNotFound, "no such group")
	}
	return s, nil
}

// function is the handler as Lambda calls it.
type function struct {
	httpapitest.Function
	handler *Handler
}

func newFunction(t *testing.T, look ...Appearance) *function {
	t.Helper()
	f := &function{Function: httpapitest.Function{Service: "page", Counts: "pages"}}
	var err error
	if f.handler, err = New(assets.Files, signIn, append(look, Appearance{})[0], shelf{}, telemetry.New(&f.Log, "page", clock.Wall), clock.Wall); err != nil {
		t.Fatal(err)
	}
	f.Handler = lambda.NewHandler(f.handler.Handle)
	return f
}

// get asks for a page or a file, and returns the answer with its decoded text.
func (f *function) get(t *testing.T, request []byte) (events.APIGatewayV2HTTPResponse, string) {
	t.Helper()
	raw, err := f.Invoke(t, t.Context(), request)
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	var r events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r, webpagetest.Text(t, r)
}

// asset is a request for a file by its public name.
func asset(t *testing.T, public string) []byte {
	return httpapitest.Event(t, "page-sale.json", func(r *events.APIGatewayV2HTTPRequest) {
		r.RouteKey, r.PathParameters = "GET /assets/{name}", map[string]string{"name": public}
	})
}

// salePage is a request for a sale's page; accept is its Accept-Encoding.
func salePage(t *testing.T, id, accept string) []byte {
	return httpapitest.Event(t, "page-sale.json", func(r *events.APIGatewayV2HTTPRequest) {
		r.PathParameters["saleId"], r.Headers["accept-encoding"] = id, accept
	})
}

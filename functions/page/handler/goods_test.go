package handler

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
)

// selling is a function over these sales, which shows pictures of https://images.example.
func selling(t *testing.T, sales ...sale.Sale) *function {
	t.Helper()
	f := newFunction(t, Appearance{ImageOrigin: "https://images.example"})
	f.handler.ledger = shelf(sales)
	return f
}

// What a link to the page shows is there before any script runs.
func TestAPageIsNamedAfterWhatItSells(t *testing.T) {
	for name, tt := range map[string]struct {
		sale         sale.Sale
		shows, lacks []string
	}{
		"a described sale": {sale.Sale{Name: "Trail Runner", Price: 100, Presentation: sale.Presentation{About: "Light.\n240 g.", Image: "https://images.example/a.jpg"}}, []string{
			"<title>Trail Runner</title>", `<h1 id="name" dir="auto">Trail Runner</h1>`, `property="og:title" content="Trail Runner"`, `property="og:description" content="Light. 240 g."`, `name="description" content="Light. 240 g."`,
			`property="og:image" content="https://images.example/a.jpg"`, `<img src="https://images.example/a.jpg" alt="Trail Runner"`, `<p id="price" translate="no">&nbsp;</p>`}, nil},
		"markup":                   {sale.Sale{Name: `<b>"x"`, Presentation: sale.Presentation{About: `"><script>`}}, []string{"<title>&lt;b&gt;&#34;x&#34;</title>", `content="&#34;&gt;&lt;script&gt;"`}, []string{"<b>"}},
		"a picture of elsewhere":   {sale.Sale{Name: "A", Presentation: sale.Presentation{Image: "https://images.example.evil.example/a.jpg"}}, []string{`<div id="picture" hidden>`, `<p id="price" translate="no" hidden>`}, []string{"og:image", "<img"}},
		"a text that fits":         {sale.Sale{Name: "A", Presentation: sale.Presentation{About: strings.Repeat("茅", 200)}}, []string{`content="` + strings.Repeat("茅", 200) + `"`}, nil},
		"a long text":              {sale.Sale{Name: "A", Presentation: sale.Presentation{About: strings.Repeat("茅", 300)}}, []string{`content="` + strings.Repeat("茅", 199) + `…"`}, nil},
		"a sale without its words": {sale.Sale{}, []string{"<title>Flash sale</title>", `content="See when this flash sale opens`}, []string{"og:title"}},
	} {
		tt.sale.ID = "shoe"
		_, page := selling(t, tt.sale).get(t, salePage(t, "shoe", ""))
		for _, want := range tt.shows {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page lacks %s:\n%s", name, want, page)
			}
		}
		for _, other := range tt.lacks {
			if strings.Contains(page, other) {
				t.Errorf("%s: the page has %s", name, other)
			}
		}
	}
}

func TestAGroupHasTheNameThatItsSalesShare(t *testing.T) {
	for want, names := range map[string][]string{
		"Trail Runner": {"Trail Runner · size 38", "Trail Runner · size 39", "Trail Runner · size 40"},
		"Trail Shoe":   {"Trail Shoe 38", "Trail Shoe 39"},
		"Ball pen":     {"Ball pen", "Ball"},
		"Tee":          {"Tee - S", "Tee - M"},
		"茅台 · 500 ml":  {"茅台 · 500 ml"},
		"Shoe · 42":    {"Shoe · 42"},
		"Ball":         {"Ball", "Bat"},
		"The same":     {"The same", "The same"},
	} {
		var sales []sale.Sale
		for _, name := range names {
			sales = append(sales, sale.Sale{ID: name, Name: name, LimitGroup: "trail"})
		}
		if _, page := selling(t, sales...).get(t, httpapitest.Event(t, "page-sale.json", group("trail"))); !strings.Contains(page, "<title>"+want+"</title>") {
			t.Errorf("%q: the page is not called %s:\n%s", names, want, page)
		}
	}
}

// stuck is a ledger that does not answer, and counts who waits for it.
type stuck struct {
	shelf
	asked *int
}

func (s stuck) Sale(ctx context.Context, _ string) (sale.Sale, error) {
	*s.asked++
	<-ctx.Done()
	return sale.Sale{}, ctx.Err()
}

// failing is a ledger that answers with errors.
type failing struct{}

func (failing) Sale(context.Context, string) (sale.Sale, error) {
	return sale.Sale{}, errors.New("throttled")
}
func (failing) Sales(context.Context, string) ([]sale.Sale, error) {
	return nil, errors.New("throttled")
}

// Whoever previews a link keeps for days what it has got.
func TestAPageWithoutItsGoodsIsNotKept(t *testing.T) {
	const minute, never = "public, max-age=60", "no-store"
	shoe := shelf{{ID: "shoe", Name: "Shoe", LimitGroup: "shoes"}}
	for _, tt := range []struct {
		name, route string
		id          string
		ledger      Ledger
		want        string
	}{
		{"a sale", "GET /s/{saleId}", "shoe", shoe, minute},
		{"a group", "GET /g/{groupId}", "shoes", shoe, minute},
		{"no such sale", "GET /s/{saleId}", "boot", shoe, minute},
		{"no such group", "GET /g/{groupId}", "boots", shoe, minute},
		{"an id that is none", "GET /s/{saleId}", "a b", failing{}, minute},
		{"a sale that cannot be read", "GET /s/{saleId}", "shoe", failing{}, never},
		{"a group that cannot be read", "GET /g/{groupId}", "shoes", failing{}, never},
		{"the sign-in", "GET /signin", "", failing{}, minute},
	} {
		f := newFunction(t)
		f.handler.ledger = tt.ledger
		r, _ := f.get(t, httpapitest.Event(t, "page-sale.json", func(r *events.APIGatewayV2HTTPRequest) {
			r.RouteKey, r.PathParameters = tt.route, map[string]string{"saleId": tt.id, "groupId": tt.id}
		}))
		if got := r.Headers["Cache-Control"]; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		f.handler.ledger = shoe // what was asked for does not keep others from being read
		if _, page := f.get(t, salePage(t, "shoe", "")); !strings.Contains(page, "<title>Shoe</title>") {
			t.Errorf("after %s the next page lacks its name", tt.name)
		}
	}
}

func TestAPageDoesNotWaitForATableThatIsDown(t *testing.T) {
	f, asked, now := newFunction(t), 0, time.Unix(1_800_000_000, 0)
	f.handler.ledger, f.handler.now = stuck{asked: &asked}, func() time.Time { return now }
	for after, want := range []int{1, 1, 2} { // half a second after each other
		if r, page := f.get(t, salePage(t, "shoe", "")); r.StatusCode != 200 || r.Headers["Cache-Control"] != "no-store" || !strings.Contains(page, `data-sale="shoe"`) || asked != want {
			t.Errorf("%d half seconds later: %d, %v, asked %d times, want %d; %s", after, r.StatusCode, r.Headers, asked, want, page)
		}
		now = now.Add(rest / 2)
	}
}

package handler

import (
	"context"
	"strings"
	"testing"
	"time"

	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
)

// selling is a function over these sales, which shows pictures of https://images.example.
func selling(t *testing.T, sales ...sale.Sale) *function {
	t.Helper()
	f := newFunction(t, Look{ImageOrigin: "https://images.example"})
	f.handler.book = shelf(sales)
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
			`property="og:image" content="https://images.example/a.jpg"`, `<img src="https://images.example/a.jpg" alt="Trail Runner"`, `<p id="price">&nbsp;</p>`}, nil},
		"markup":                   {sale.Sale{Name: `<b>"x"`, Presentation: sale.Presentation{About: `"><script>`}}, []string{"<title>&lt;b&gt;&#34;x&#34;</title>", `content="&#34;&gt;&lt;script&gt;"`}, []string{"<b>"}},
		"a picture of elsewhere":   {sale.Sale{Name: "A", Presentation: sale.Presentation{Image: "https://images.example.evil.example/a.jpg"}}, []string{`<div id="picture" hidden>`, `<p id="price" hidden>`}, []string{"og:image", "<img"}},
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

func TestAPageDoesNotWaitForATableThatIsDown(t *testing.T) {
	f, asked, now := newFunction(t), 0, time.Unix(1_800_000_000, 0)
	f.handler.book, f.handler.now = stuck{asked: &asked}, func() time.Time { return now }
	for after, want := range []int{1, 1, 2} { // half a second after each other
		if r, page := f.get(t, salePage(t, "shoe", "")); r.StatusCode != 200 || !strings.Contains(page, `data-sale="shoe"`) || asked != want {
			t.Errorf("%d half seconds later: %d, asked %d times, want %d; %s", after, r.StatusCode, asked, want, page)
		}
		now = now.Add(rest / 2)
	}
}

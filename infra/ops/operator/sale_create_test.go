package operator

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/dynamotest"
	"flashsale/infra/ops/cli"
	requests "flashsale/shared/change"
	"flashsale/shared/ledger/maintenance"
	"flashsale/shared/sale"
)

const drop = `# Trail Runner, in three sizes
limitGroup: runner
name: Trail Runner
opensAt: 2026-12-05T20:00:00+08:00
closesAt: 2026-12-05T14:00:00Z
stock: 300
payWithin: 30m
lateDays: 3
price: 89900
currency: CNY
sales:
  - saleId: runner-38
    labels: sku=38
  - {saleId: runner-39, stock: 400, about: on}
  - saleId: 40
    name: 40
`

func TestAFileDescribesASaleOrAGroupOfThem(t *testing.T) {
	opens, closes := time.Date(2026, 12, 5, 12, 0, 0, 0, time.UTC), time.Date(2026, 12, 5, 14, 0, 0, 0, time.UTC)
	one := func(id, name string, stock int64) sale.Creation {
		return sale.Creation{SaleID: id, Name: name, OpensAt: opens, ClosesAt: closes, Stock: stock, Shards: sale.ShardsFor(sale.DefaultOrdersPerSecond, stock)}
	}
	size := func(id, name string, stock int64) sale.Creation {
		c := one(id, name, stock)
		c.LimitGroup, c.PayWithin, c.LateFor, c.Price, c.Currency = "runner", 30*time.Minute, 3*day, 89900, "CNY"
		return c
	}
	first, second := size("runner-38", "Trail Runner", 300), size("runner-39", "Trail Runner", 400)
	first.Labels, second.About = "sku=38", "on"
	dear := size("runner", "runner", 100)
	dear.LimitGroup, dear.LateFor, dear.Extras, dear.MaxPerOrder, dear.Shards = "", 0, true, 2, 5
	drawn := one("no", "no", 1000)
	drawn.Shards, drawn.DrawTerms = 5, sale.DrawTerms{EnterFrom: opens.Add(-72 * time.Hour), EnterUntil: opens.Add(-24 * time.Hour), KeepFor: 4 * time.Hour}
	emoji := one("a", "a", 10)
	emoji.About = "👟 \\ud83d\\udc5f"
	const window = `"opensAt":"2026-12-05T12:00:00Z","closesAt":"2026-12-05T14:00:00Z"`
	for text, want := range map[string][]sale.Creation{
		drop: {first, second, size("40", "40", 300)},
		`{"saleId": "runner", ` + window + `, "stock": 100, "payWithin": "30m", "price": 89900, "currency": "CNY", "extras": "allowed", "maxPerOrder": 2}`:                                                                                                   {dear},
		"saleId: no\nopensAt: 2026-12-05T12:00:00Z\nclosesAt: 2026-12-05T14:00:00Z\nstock: 1e3\nshards: 5\nenterFrom: 2026-12-02T12:00:00Z\nenterUntil: 2026-12-04T12:00:00Z\nkeepHours: 4h":                                                                 {drawn},
		"%YAML 1.2\n---\n" + strings.NewReplacer("opensAt: 2026-12-05T20:00:00+08:00", "opensAt: &o 2026-12-05T20:00:00+08:00", "  - saleId: runner-38\n    labels: sku=38\n", "  - saleId: runner-38\n    labels: sku=38\n    opensAt: *o\n").Replace(drop): {first, second, size("40", "40", 300)},
		`{"saleId": "a", "about": "\ud83d\udc5f \\ud83d\\udc5f"` + "," + window + `, "stock": 10}`:                                                                                                                                                           {emoji},
		"{\n\t\"saleId\": \"a\",\t" + window + `, "stock": 10}`: {one("a", "a", 10)},
	} {
		all, err := readSales("drop.yaml", []byte(text))
		var got []sale.Creation
		for _, w := range all {
			got = append(got, w.Creation)
		}
		if diff := gocmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s\n%v (-want +got):\n%s", text, err, diff)
		}
	}
}

func TestAFileWithAMistakeIsRefusedWithItsLine(t *testing.T) {
	const one = "saleId: spring\nopensAt: 2026-12-05T12:00:00Z\nclosesAt: 2026-12-05T14:00:00Z\nstock: 10\n"
	instead := func(line, other string) string { return strings.Replace(one, line, other, 1) }
	for text, want := range map[string]string{
		"":                              "f is empty",
		"spring":                        "line 1: a sale must be written as members",
		one + "\tprice: 1":              "f cannot be read: line 4: found a tab",
		one + "a: [":                    "f cannot be read: line",
		one + "---\n" + one:             "more than one document",
		one + "stok: 5":                 `line 5: there is no member "stok" (did you mean stock?)`,
		one + "action: pause":           `line 5: there is no member "action"; there`,
		one + "<<: {stock: 5}":          "line 5: a merge (<<) is not supported: what all sales share stands above their list",
		one + "about: !secret a":        "line 5: the tag !secret is not supported: write the value itself",
		one + "about: *none":            "unknown anchor 'none'",
		one + "about: &a [*a]":          "line 5: sale spring: about must be one text or number",
		one + "? [a]\n: b":              "line 5: the name of a member must be a text",
		"%YAML 2.0\n---\n" + one:        "f cannot be read: it is for another version of YAML than 1.1 and 1.2",
		"limitGroup: g\nsales: &l [*l]": "line 2: a sale must be written as members",
		one + "stock: 11":               "line 5: stock is given twice, first in line 4",
		one + "shards:":                 "line 5: sale spring: shards has no value",
		one + "price: 899.00":           "line 5: sale spring: price must be a whole number of minor units: 89900 for 899.00",
		one + "price: 89900":            "sale spring: give both price and currency",
		one + "shards: 0":               "line 5: sale spring: shards must be at least 1",
		one + "payWithin: 30 minutes":   `line 5: sale spring: payWithin is "30 minutes"; it must be a whole number, or a time such as 4s`,
		one + "payWithin: 60":           "line 1: sale spring: give payWithin, price and currency together",
		one + "payWithin: 60\nprice: 1\ncurrency: BGN":                "line 7: sale spring: currency must be one that ISO 4217 lists",
		one + "keepHours: 90m":                                        `line 5: sale spring: keepHours is "90m"; it must be a whole number, or a time such as 4h`,
		instead("2026-12-05T12:00:00Z", "2026-12-05 12:00"):           "line 2: sale spring: opensAt must be an RFC 3339 time such as",
		instead("closesAt: 2026-12-05T14", "closesAt: 2026-12-05T11"): "line 3: sale spring: closesAt must be after opensAt",
		instead("stock: 10", "stock: \"10\""):                         "line 4: sale spring: stock must be a whole number",
		instead("spring", "a b"):                                      "line 1: the sale: saleId must be",
		one + "sales: []":                                             "a list of sales needs limitGroup",
		one + "limitGroup: g\nsales: [{}]":                            "line 1: saleId belongs to each one of the sales",
		"limitGroup: g\nsales: []":                                    "line 2: sales must be a list of 1 to 30 sales",
		"limitGroup: g\nsales: [" + strings.Repeat("{},", 31) + "]":   "line 2: sales must be a list of 1 to 30 sales",
		strings.Replace(drop, "  - saleId: runner-38", "  - limitGroup: x\n    saleId: runner-38", 1): "line 12: limitGroup is the same for all",
		strings.Replace(drop, "runner-39", "runner-38", 1):                                            "line 14: sale runner-38 is in the list twice",
		strings.Replace(drop, "runner-39, stock: 400", "runner-39, stock: 0", 1):                      "line 14: sale runner-39: stock must be 1 to",
	} {
		got, err := readSales("f", []byte(text))
		if err == nil || cli.Code(err) != cli.ExitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot %v and %v, want %s", text, got, err, want)
		}
	}
}

func TestEveryMemberOfACreationIsReadAsItsKind(t *testing.T) {
	for _, name := range requests.Takes("create") {
		value := `"2"`
		if _, isWhole := wholes[name]; isWhole {
			value = "2"
		}
		if _, err := requests.Decode([]byte(`{"action":"create","` + name + `":` + value + `}`)); err != nil {
			t.Errorf("%s as %s: %v", name, value, err)
		}
	}
}

func TestACopyOfASaleHasEverythingButItsID(t *testing.T) {
	opens := time.Date(2026, 12, 5, 12, 0, 0, 123e6, time.UTC)
	of := func(id string, with ...func(*sale.Creation)) sale.Creation {
		c := sale.Creation{SaleID: id, OpensAt: opens, ClosesAt: opens.Add(time.Hour), Stock: 300}
		for _, set := range with {
			set(&c)
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	all := func(c *sale.Creation) {
		c.Name, c.MaxStock, c.Shards, c.PayWithin, c.Price, c.Currency, c.Labels = "42", 400, 7, time.Hour, 89900, "CNY", "sku=on,erp=0x1F"
		c.Presentation = sale.Presentation{Image: "https://images.example/a.jpg", About: " \nnull: # no\n\n  yes 👟\n", Link: "https://shop.example/#a"}
	}
	draw := func(c *sale.Creation) {
		c.DrawTerms = sale.DrawTerms{EnterFrom: opens.Add(-9 * time.Hour), EnterUntil: opens.Add(-8 * time.Hour), KeepFor: 2 * time.Hour}
	}
	says := func(about string) func(*sale.Creation) { return func(c *sale.Creation) { c.About = about } }
	late := func(c *sale.Creation) { c.LateFor = 3 * day }
	pairs := func(c *sale.Creation) { c.MaxPerOrder = 2 }
	grouped := func(c *sale.Creation) { c.LimitGroup = "true" }
	stock := func(n int64) func(*sale.Creation) { return func(c *sale.Creation) { c.Stock, c.MaxStock = n, 0 } }
	for name, sales := range map[string][]sale.Creation{
		"the least":        {of("a")},
		"everything":       {of("on", all, draw)},
		"orders of two":    {of("a", pairs)},
		"of two, shards":   {of("a", all, pairs)},
		"of a group":       {of("a", all, late, grouped)},
		"a group":          {of("a", all, grouped), of("b", all, draw, grouped), of("c", all, grouped, stock(9)), of("d", grouped)},
		"of a group alone": {of("a", grouped)},
		"texts":            {of("a", says("  a\nb"), grouped), of("b", says("\n\n a\n"), grouped), of("c", says("a \n\n\n"), grouped), of("d", says("- a\n# b"), grouped), of("e", says("a\n  b"), grouped)},
	} {
		in(t, func(t *testing.T, w *world) {
			var stored []sale.Creation
			for _, c := range sales {
				w.ok(w.book.Create(t.Context(), c))
				c, err := maintenance.Of(w.book).Creation(t.Context(), c.SaleID)
				w.ok(c, err)
				stored = append(stored, c)
			}
			var file bytes.Buffer
			w.ok(nil, writeSales(&file, stored, sales[0].LimitGroup != "", opens))
			read, err := readSales("f", file.Bytes())
			var got []sale.Creation
			for _, w := range read {
				got = append(got, w.Creation)
			}
			if diff := gocmp.Diff(sales, got); diff != "" || err != nil {
				t.Errorf("%s: %v (-want +got):\n%s\n%s", name, err, diff, file.String())
			}
		})
	}
}

func TestSalesAreCreatedFromAFileAndComparedWithWhatIsThere(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		of := func(old, new string) string { return "create " + file(t, strings.Replace(drop, old, new, 1)) }
		opensIn := "576h "
		runner := func(exists ...string) (want []string) {
			for i, name := range []string{"runner-38 300 30 899.00 CNY", "runner-39 400 40 899.00 CNY", "40 300 30 899.00 CNY"} {
				want = append(want, name+" within 30m 2026-12-05T12:00:00Z 2026-12-05T14:00:00Z "+opensIn+exists[i]+[]string{" Trail Runner", " Trail Runner", " 40"}[i])
			}
			return append(want, "runner-39: an order that is not paid in time stays for 3 days more, while units are left", "sales: 3, units: 1000; nothing was created")
		}
		w.says(of("", "")+" --dry-run", 0, runner("no", "no", "no")...)
		w.says(of("about: on", "about: on, image: https://i.example/x"), cli.ExitBad, "runner-38: 300 units, from 2026-12-05T12:00:00Z to 2026-12-05T14:00:00Z\n", "NOT CREATED: runner-39: invalid-request: no image can be shown", "; what comes before it in the file is there")
		w.says(of("", "")+" --dry-run", 0, runner("yes", "no", "no")...)
		w.db.Fault = dynamotest.Fault{Kind: dynamotest.Throttle}.On("UpdateItem", "SALE#40")
		w.says(of("", ""), cli.ExitUnknown, "runner-38: was there already, with the same contents\n", "runner-39: 400 units", "NOT CREATED: 40: ", "it may still be created: repeat the command until it succeeds")
		w.db.Fault, opensIn = nil, "575h "
		time.Sleep(time.Until(noon.Add(time.Hour)))
		w.says(of("", "")+" --dry-run", 0, runner("yes", "yes", "in part")...)
		w.says(of("", ""), 0, "40: 300 units", "sales: 3, units: 1000; the page on which people buy: /g/runner\n")
		w.says(of("", "")+" -o json", 0, `"saleId":"40","seeded":300,"shards":30,"applied":false`)
		const conflict = "runner-38: the sale was created before with other contents, by "
		w.says(of("stock: 300", "stock: 3000")+" --dry-run", cli.ExitBad, "runner-38 3000 50 899.00 CNY", "yes, with another shards, stock", "NOT CREATED: "+conflict, " (`flashsale sale export runner-38 --env dev` prints what is there)")
		w.says(of("stock: 300", "stock: 3000"), cli.ExitBad, "NOT CREATED: "+conflict, " (--dry-run compares; `flashsale sale export runner-38 --env dev` prints what is there)")
		w.says(of("labels: sku=38", "about: not in the list")+" --dry-run", cli.ExitBad, "NOT CREATED: "+conflict)
		w.says("sale describe runner-38 --name Other", 0)
		w.says(of("", "")+" --dry-run", 0, runner("yes, with another name", "yes", "yes")...)
		for i := range sale.MaxGroup - 4 {
			w.create(sale.Creation{SaleID: fmt.Sprint("size-", i), LimitGroup: "runner"})
		}
		w.says(of("saleId: 40", "saleId: 41")+" --dry-run", 0)
		w.create(sale.Creation{SaleID: "last", LimitGroup: "runner"})
		w.says(of("saleId: 40", "saleId: 41")+" --dry-run", cli.ExitBad, "NOT CREATED: the group runner would have 31 sales, and cannot have more than 30")

		trail, _, err := w.book.Trail(t.Context(), "40", 9)
		if err != nil || len(trail) != 1 || trail[0].Actor != w.target.asker.Actor {
			t.Errorf("who created it is not in the trail: %+v (%v)", trail, err)
		}
		w.invoke = func([]byte) ([]byte, error) { return nil, errors.New("no answer") }
		w.says(of("", "")+" --dry-run", cli.ExitUnknown, runner("unknown", "unknown", "unknown")...)
		for stdin, want := range map[string]string{"": "stdin is empty", strings.Repeat("#", maxFile+1): "- has more than 1,048,576 bytes"} {
			if said, code := w.target.at(t.Context(), strings.NewReader(stdin), nil, "create", "-"); code != cli.ExitUsage || !strings.Contains(said, want) {
				t.Errorf("exit %d, %s", code, said)
			}
		}
	})
}

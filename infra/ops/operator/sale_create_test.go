package operator

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"flashsale/infra/kit/client"
	"flashsale/infra/ops/cli"
	system "flashsale/infra/ops/place"
	requests "flashsale/shared/change"
	"flashsale/shared/ledger"
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
	drawn := one("no", "no", 1000)
	drawn.Shards, drawn.DrawTerms = 5, sale.DrawTerms{EnterFrom: opens.Add(-72 * time.Hour), EnterUntil: opens.Add(-24 * time.Hour), KeepFor: 4 * time.Hour}
	emoji := one("a", "a", 10)
	emoji.About = "👟 \\ud83d\\udc5f"
	const window = `"opensAt":"2026-12-05T12:00:00Z","closesAt":"2026-12-05T14:00:00Z"`
	for text, want := range map[string][]sale.Creation{
		drop: {first, second, size("40", "40", 300)},
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
		"[1]":                           "line 1: a sale must be written as members",
		one + "\tprice: 1":              "f cannot be read: line 4: found a tab",
		one + "a: [":                    "f cannot be read: line",
		one + "---\n" + one:             "more than one document",
		one + "stok: 5":                 `line 5: there is no member "stok" (did you mean stock?)`,
		one + "SALEID: x":               `line 5: there is no member "SALEID" (did you mean saleId`,
		one + "action: pause":           `line 5: there is no member "action"; there`,
		one + "<<: {stock: 5}":          "line 5: a merge (<<) is not supported: what all sales share stands above their list",
		one + "about: !secret a":        "line 5: the tag !secret is not supported: write the value itself",
		one + "about: !!binary YQ==":    "line 5: the tag !!binary is not supported",
		one + "about: *none":            "unknown anchor 'none'",
		one + "about: &a [*a]":          "line 5: sale spring: about must be one text or number",
		one + "? [a]\n: b":              "line 5: the name of a member must be a text",
		"%YAML 2.0\n---\n" + one:        "f cannot be read: it is for another version of YAML than 1.1 and 1.2",
		"limitGroup: g\nsales: &l [*l]": "line 2: a sale must be written as members",
		one + "stock: 11":               "line 5: stock is given twice, first in line 4",
		one + "shards:":                 "line 5: sale spring: shards has no value",
		one + "labels: [a, b]":          "line 5: sale spring: labels must be one text or number",
		one + "price: 899.00":           "line 5: sale spring: price must be a whole number of minor units: 89900 for 899.00",
		one + "price: ¥899":             "line 5: sale spring: price must be a whole number of minor units",
		one + "price: 89900":            "sale spring: give both price and currency",
		one + "shards: 0":               "line 5: sale spring: shards must be at least 1",
		one + "shards: 0x5":             "line 5: sale spring: shards must be a whole number",
		one + "payWithin: 30 minutes":   `line 5: sale spring: payWithin is "30 minutes"; it must be a whole number, or a time such as 4s`,
		one + "payWithin: 1.5":          "line 5: sale spring: payWithin must be a whole number",
		one + "payWithin: 60":           "line 1: sale spring: give payWithin, price and currency together",
		one + "payWithin: 60\nprice: 1\ncurrency: BGN":                "line 7: sale spring: currency must be one that ISO 4217 lists",
		one + "image: http://a.example":                               "line 5: sale spring: image must be an address",
		one + "keepHours: 90m":                                        `line 5: sale spring: keepHours is "90m"; it must be a whole number, or a time such as 4h`,
		instead("2026-12-05T12:00:00Z", "2026-12-05 12:00"):           "line 2: sale spring: opensAt must be an RFC 3339 time such as",
		instead("2026-12-05T12:00:00Z", "2026-12-05"):                 "line 2: sale spring: opensAt must be an RFC 3339 time such as",
		instead("closesAt: 2026-12-05T14", "closesAt: 2026-12-05T11"): "line 3: sale spring: closesAt must be after opensAt",
		instead("stock: 10", "stock: \"10\""):                         "line 4: sale spring: stock must be a whole number",
		instead("spring", "a b"):                                      "line 1: the sale: saleId must be",
		instead("saleId: spring\n", ""):                               "line 1: the sale: saleId must be",
		one + "sales: []":                                             "a list of sales needs limitGroup",
		one + "limitGroup: g\nsales: [{}]":                            "line 1: saleId belongs to each one of the sales",
		"limitGroup: g\nsales: []":                                    "line 2: sales must be a list of 1 to 30 sales",
		"limitGroup: g\nsales: {saleId: a}":                           "line 2: sales must be a list of 1 to 30 sales",
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
	grouped := func(c *sale.Creation) { c.LimitGroup = "true" }
	stock := func(n int64) func(*sale.Creation) { return func(c *sale.Creation) { c.Stock, c.MaxStock = n, 0 } }
	for name, sales := range map[string][]sale.Creation{
		"the least":        {of("a")},
		"everything":       {of("on", all, draw)},
		"of a group":       {of("a", all, late, grouped)},
		"a group":          {of("a", all, grouped), of("b", all, draw, grouped), of("c", all, grouped, stock(9)), of("d", grouped)},
		"of a group alone": {of("a", grouped)},
		"texts":            {of("a", says("  a\nb"), grouped), of("b", says("\n\n a\n"), grouped), of("c", says("a \n\n\n"), grouped), of("d", says("- a\n# b"), grouped), of("e", says("a\n  b"), grouped)},
	} {
		synctest.Test(t, func(t *testing.T) {
			book := ledger.New(newTable(), "T", ledger.Options{})
			var stored []sale.Creation
			for _, c := range sales {
				if _, err := book.Create(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				c, err := maintenance.Of(book).Creation(t.Context(), c.SaleID)
				if err != nil {
					t.Fatal(err)
				}
				stored = append(stored, c)
			}
			for _, isGroup := range []bool{false, true} {
				want := sales
				if isGroup == (sales[0].LimitGroup == "") {
					continue
				}
				if !isGroup {
					want = sales[:1]
				}
				var file bytes.Buffer
				if err := writeSales(&file, stored, isGroup, opens); err != nil {
					t.Fatal(err)
				}
				read, err := readSales("f", file.Bytes())
				var got []sale.Creation
				for _, w := range read {
					got = append(got, w.Creation)
				}
				if diff := gocmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%s: %v (-want +got):\n%s\n%s", name, err, diff, file.String())
				}
			}
		})
	}
}

func TestACopyIsOfTheSaleAsItStands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db, book := opened(t, sale.Creation{Name: "Moutai", Stock: 100, MaxStock: 500, Price: 149900})
		until, name := noon.Add(9*time.Hour), "Feitian Moutai"
		_, added := book.Add(t.Context(), sale.Addition{SaleID: "moutai", SeedID: "more", Stock: 50})
		_, edited := book.Edit(t.Context(), sale.Edit{SaleID: "moutai", ChangeID: "later", OpensAt: noon, ClosesAt: until})
		_, described := book.Describe(t.Context(), sale.Description{SaleID: "moutai", ChangeID: "named", Name: &name})
		if err := cmp.Or(added, edited, described); err != nil {
			t.Fatal(err)
		}
		got, err := maintenance.Of(ledger.New(db, "T", ledger.Options{})).Creation(t.Context(), "moutai")
		want := sale.Creation{
			SaleID: "moutai", Name: name, OpensAt: noon, ClosesAt: until, Stock: 150, MaxStock: 500, Shards: 1,
			PayWithin: time.Hour, Price: 149900, Currency: "CNY",
		}
		if diff := gocmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	})
}

func TestACreationThatFailsSaysWhatIsThereAndCanBeRepeated(t *testing.T) {
	sales, err := readSales("drop.yaml", []byte(drop))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		fails error
		at    string
		code  int
		want  string
	}{
		{nil, "", cli.ExitFine, ""},
		{&client.Refusal{Code: "conflicting-request", Detail: "conflicting-request: other contents"}, "runner-38", cli.ExitBad, "NOT CREATED: runner-38: other contents (--dry-run compares; `flashsale sale export runner-38 --env dev` prints what is there)"},
		{&client.Refusal{Code: "invalid-request", Detail: "invalid-request: image"}, "40", cli.ExitBad, "NOT CREATED: 40: image; what comes before it in the file is there"},
		{&client.Refusal{Code: "busy", Detail: "busy: later"}, "runner-39", cli.ExitUnknown, "what comes before it in the file is there"},
		{errors.New("no answer"), "runner-38", cli.ExitUnknown, "repeat the command"},
	} {
		var done []string
		err := (&place{where: &system.Flags{Env: "dev"}}).createAll(t.Context(), func(_ context.Context, _ string, request, answer any) error {
			id := request.(map[string]any)["saleId"]
			if id == tt.at {
				return tt.fails
			}
			*answer.(*made) = made{SaleID: id.(string)}
			return nil
		}, sales, func(_ wanted, m made) { done = append(done, m.SaleID) })
		ids := []string{"runner-38", "runner-39", "40", ""}
		want := ids[:slices.Index(ids, tt.at)]
		if cli.Code(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.want) || !slices.Equal(done, want) {
			t.Errorf("%v at %s: %v, %v is created", tt.fails, tt.at, err, done)
		}
	}
}

func TestWhoCreatesSalesIsToldWherePeopleBuy(t *testing.T) {
	grouped, alone := filepath.Join(t.TempDir(), "drop.yaml"), "saleId: spring\nopensAt: 2036-12-05T12:00:00Z\nclosesAt: 2036-12-05T14:00:00Z\nstock: 10\n"
	if err := os.WriteFile(grouped, []byte(drop), 0o600); err != nil {
		t.Fatal(err)
	}
	p := invoking(func(function string, payload []byte) ([]byte, error) {
		var asked struct{ Action, SaleID string }
		if err := json.Unmarshal(payload, &asked); err != nil || function != client.SeedFunction || asked.Action != "create" {
			t.Errorf("%s is asked %s", function, payload)
		}
		return fmt.Appendf(nil, `{"saleId":%q,"seeded":7,"shards":1,"applied":%t}`, asked.SaleID, asked.SaleID != "40"), nil
	})
	said, code := p.does(t, "create "+grouped)
	if contains(t, said, "runner-38: 7 units, from 2026-12-05T12:00:00Z to ", "40: was there already, with the same contents\n", "sales: 3, units: 1000; the page on which people buy: /g/runner\n"); code != cli.ExitFine {
		t.Errorf("exit %d", code)
	}
	said, code = p.at(t, strings.NewReader(alone), nil, "create", "-")
	if contains(t, said, "sales: 1, units: 10; the page on which people buy: /s/spring\n"); code != cli.ExitFine {
		t.Errorf("exit %d", code)
	}
	for stdin, want := range map[string]string{"": "stdin is empty", strings.Repeat("#", maxFile+1): "- has more than 1,048,576 bytes"} {
		if said, code := p.at(t, strings.NewReader(stdin), nil, "create", "-"); code != cli.ExitUsage || !strings.Contains(said, want) {
			t.Errorf("exit %d, %s", code, said)
		}
	}
}

func TestADryRunSaysWhatIsThereAlreadyAndWhenEachSaleOpens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "drop.yaml")
	if err := os.WriteFile(file, []byte(drop), 0o600); err != nil {
		t.Fatal(err)
	}
	is := func(id, state string, stock int64, name string, payWithin int) string {
		return fmt.Sprintf(`{"saleId":%q,"state":%q,"seeded":%d,"name":%q,"payWithin":%d,"lateDays":3,"limitGroup":"runner","shards":%d,"price":89900,"currency":"CNY","opensAt":"2026-12-05T12:00:00Z","closesAt":"2026-12-05T14:00:00Z"}`,
			id, state, stock, name, payWithin, sale.ShardsFor(sale.DefaultOrdersPerSecond, stock))
	}
	const first, second = "yes, with another name|no|no", "no|yes, with another name, payWithin|no"
	renamed := is("runner-38", "OPEN", 300, "Trail Runner II", 1800)
	var full []string
	for i := range sale.MaxGroup - 2 {
		full = append(full, is(fmt.Sprint("size-", i), "OPEN", 1, "x", 1800))
	}
	for _, tt := range []struct {
		want, exist string
		created     func(c *sale.Creation) // other than in the file
		code        int
		says        string
	}{
		{"unknown|unknown|unknown", "", nil, cli.ExitUnknown, ""},
		{"yes|no|in part", is("runner-38", "OPEN", 300, "Trail Runner", 1800) + "," + is("40", "DRAFT", 300, "40", 1800), func(*sale.Creation) {}, cli.ExitFine, ""},
		{"yes, with another shards, stock|no|no", is("runner-38", "OPEN", 3000, "Trail Runner", 1800), func(c *sale.Creation) { c.Stock, c.Shards = 3000, 30 }, cli.ExitBad,
			"NOT CREATED: runner-38: the sale was created before with other contents (`flashsale sale export runner-38 --env dev` prints what is there)"},
		{second, is("runner-39", "PAUSED", 400, "x", 60), func(c *sale.Creation) { c.PayWithin = time.Minute }, cli.ExitBad, "NOT CREATED: runner-39: "},
		{"yes|no|no", is("runner-38", "OPEN", 300, "Trail Runner", 1800), func(c *sale.Creation) { c.About = "not in the list" }, cli.ExitBad, "NOT CREATED: runner-38: "},
		{first, renamed, func(*sale.Creation) {}, cli.ExitFine, ""}, // changed since
		{"no|no|no", strings.Join(full, ","), nil, cli.ExitBad, "NOT CREATED: the group runner would have 31 sales, and cannot have more than 30"},
		{"no|no|no", strings.Join(full[1:], ","), nil, cli.ExitFine, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Until(noon))
			p := invoking(func(string, []byte) ([]byte, error) {
				if tt.exist == "" {
					return nil, errors.New("no answer")
				}
				return json.Marshal(map[string]any{"statusCode": 200, "body": `{"sales":[` + tt.exist + `]}`})
			})
			db := newTable()
			p.db = db
			if tt.created != nil {
				sales, err := readSales("f", []byte(drop))
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range sales {
					tt.created(&w.Creation)
					if _, err := ledger.New(db, "T", ledger.Options{}).Create(t.Context(), w.Creation); err != nil {
						t.Fatal(err)
					}
				}
			}
			said, code := p.does(t, "create "+file+" --dry-run")
			if code != tt.code || !strings.Contains(said, tt.says) {
				t.Errorf("%s: exit %d, want %d\n%s", tt.want, code, tt.code, said)
			}
			said = strings.Join(strings.Fields(said), " ")
			for i, exists := range strings.Split(tt.want, "|") {
				contains(t, said, []string{"runner-38 300 ", "runner-39 400 ", "40 300 "}[i], " 899.00 CNY within 30m 2026-12-05T12:00:00Z 2026-12-05T14:00:00Z 576h "+exists+[]string{" Trail Runner", " Trail Runner", " 40"}[i])
			}
			contains(t, said, "runner-39: an order that is not paid in time stays for 3 days more, while units are left")
		})
	}
}

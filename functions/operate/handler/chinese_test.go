package handler

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/aws/aws-lambda-go/events"

	"flashsale/shared/httpapi/httpapitest"
	"flashsale/shared/sale"
)

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// english are words that are in English texts and neither in ids nor in names.
var english = regexp.MustCompile(`(?i)\b(the|are|order|sale|claim|units?|paid|due|by|pending|your|open|buyer|expiry|other-payment|recalled|because)\b`)

// speaking sets the languages of the caller.
func speaking(languages string) httpapitest.Change {
	return func(r *events.APIGatewayV2HTTPRequest) { r.Headers["accept-language"] = languages }
}

func TestTheFirstOfChineseAndEnglishIsTheLanguage(t *testing.T) {
	for header, want := range map[string]bool{
		"zh": true, "zh-CN,zh;q=0.9,en;q=0.8": true, "zh-TW": true, "fr,zh;q=0.5,en;q=0.4": true, "en;q=0.5, zh-Hans": true,
		"": false, "en": false, "en-GB,zh;q=0.9": false, "fr": false, "*": false, "zh;q=0.1,en": false, "zh;;": false, "zhx": false,
	} {
		if got := prefersChinese(header); got != want {
			t.Errorf("%q: Chinese %t, want %t", header, got, want)
		}
	}
}

func TestARefusalIsInTheLanguageOfWhoAsks(t *testing.T) {
	selling(t, func(t *testing.T, f *function) {
		told := func(in, request, body string, changes ...httpapitest.Change) string {
			t.Helper()
			changes = append(changes, speaking(in))
			if body != "" && !strings.Contains(body, `"seen"`) {
				body = f.looking(body)
			}
			if body != "" {
				changes = append(changes, func(r *events.APIGatewayV2HTTPRequest) { r.Body = body })
			}
			r := f.Ask(t, t.Context(), event(t, request, changes...))
			var problem struct{ Detail string }
			if err := json.Unmarshal([]byte(r.Body), &problem); err != nil || r.StatusCode < 400 {
				t.Fatalf("%s: %d %s", body, r.StatusCode, r.Body)
			}
			return problem.Detail
		}
		wants := func(want, request, body string, changes ...httpapitest.Change) {
			t.Helper()
			inEnglish := told("en-US,zh;q=0.5", request, body, changes...)
			if got := told("zh-CN", request, body, changes...); got != want || strings.ContainsFunc(inEnglish, isHan) || inEnglish == "" {
				t.Errorf("%s: %q and %q, want %q", body, inEnglish, got, want)
			}
		}
		f.changed(t, `{"id":"a","action":"add","stock":1}`)
		f.changed(t, `{"id":"p","action":"pause"}`)
		wants("此编号已用于另一项更改", "operate-pause.json", `{"id":"p","action":"resume"}`)
		wants("此编号已用于另一操作或另一件数", "operate-pause.json", `{"id":"a","action":"add","stock":2}`)
		wants("受活动的 maxStock 限制，最多还可增加 9 件", "operate-pause.json", `{"id":"b","action":"add","stock":10}`)
		wants("备注最多 500 个可打印字符", "operate-pause.json", `{"id":"b","action":"pause","note":"`+strings.Repeat("x", 501)+`"}`)
		window := func(opens, closes string) string {
			return fmt.Sprintf(`{"id":"b","action":"reschedule","opensAt":%q,"closesAt":%q}`, opens, closes)
		}
		wants("需要 2000 年至 2100 年之间的开始和结束时间", "operate-pause.json", window("1999-01-02T00:00:00Z", "2026-01-01T00:00:00Z"))
		wants("用户编号为 1 至 128 个可打印字符（仅用 ASCII 时至 255 个），首尾不能有空格", "operate-buyer.json", "", path("user", "a\u202e"))
		f.changed(t, window("2026-01-01T00:00:00Z", "2030-01-01T00:00:00Z"))
		time.Sleep(time.Second)
		at := f.changed(t, `{"id":"r","action":"resume"}`)["changedAt"].(string)
		wants("以 "+at+" 的更改为准：活动未暂停", "operate-pause.json", `{"id":"p","action":"pause"}`)
		time.Sleep(time.Second)
		at = f.changed(t, strings.Replace(window("2026-01-01T00:00:00Z", "2031-01-01T00:00:00Z"), `"b"`, `"w"`, 1))["changedAt"].(string)
		wants("以 "+at+" 的更改为准：活动时段为 2026-01-01T00:00:00.000Z 至 2031-01-01T00:00:00.000Z", "operate-pause.json", window("2026-01-01T00:00:00Z", "2030-01-01T00:00:00Z"))
		wants("活动在此期间已被更改：reschedule，操作者 kim，时间 "+at[:19]+"Z；请重新查看", "operate-pause.json", `{"id":"c","action":"resume","seen":"`+sale.Seen{}.Text("moutai")+`"}`)
		wants("saleId 须为 1 至 64 个字符，仅限 A-Z、a-z、0-9、_ 和 -", "operate-create.json", "", body(`{"id":"c","action":"create","saleId":"a b","name":"x","opensAt":"2035-11-11T12:00:00Z","closesAt":"2035-11-11T14:00:00Z","stock":1}`))
		f.changed(t, `{"id":"recall","action":"recall"}`)
		wants("活动已被召回", "operate-pause.json", `{"id":"c","action":"resume"}`)
		f.Burns() // a bug, whose text nobody is told
		refused(t, f.Ask(t, t.Context(), event(t, "operate-sale.json", speaking("zh-CN"))), 500, sale.Internal)
	}, func(c *sale.Creation) { c.MaxStock = 110 })
}

// sources are the files whose texts the operators' page shows.
func sources(t *testing.T) (paths []string) {
	t.Helper()
	for _, folder := range []string{".", "../../../shared/ledger", "../../../shared/ledger/table", "../../../shared/sale"} {
		found, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d files (%v)", folder, len(found), err)
		}
		for _, path := range found {
			if !strings.HasSuffix(path, "_test.go") && filepath.Base(path) != "chinese.go" {
				paths = append(paths, path)
			}
		}
	}
	return paths
}

// untold are refusals that the page never shows: of codes that only buyers get or for which it has words of its own,
// and of requests that it does not make.
var untold = regexp.MustCompile(`^(Closed|Paused|NotYourTurn|TurnOver|EnteringClosed|NotCancellable|DrawNotFound|EntryNotFound|RollNotFound|Unauthorized|Forbidden): ` +
	`|^InvalidRequest: (seen is not|labels must|maxStock must|shards must|give shards|lateDays |a sale with a draw has no lateDays|give payWithin|give at least|orderId must|saw must|unit must|at |until is out|actor must|unknown provider|the payment has|after must|action must|a redrive is|give saleId or|payments must)` +
	`|: the user has no order in this sale$|: no such refund$|a resume without seen`)

func TestEveryRefusalThatThePageShowsIsInChinese(t *testing.T) {
	n := 0
	for _, path := range sources(t) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			c, ok := node.(*ast.CallExpr)
			if !ok || len(c.Args) < 2 || !strings.HasPrefix(name(c.Fun), "Refuse") {
				return true
			}
			text, isText := c.Args[1].(*ast.BasicLit)
			if !isText {
				if sum, _ := c.Args[1].(*ast.BinaryExpr); sum != nil {
					text, isText = sum.X.(*ast.BasicLit)
				}
			}
			if !isText {
				return true
			}
			english, err := strconv.Unquote(text.Value)
			if err != nil {
				t.Fatal(err)
			}
			n++
			if refusal := name(c.Args[0]) + ": " + english; chinese[english] == "" && !untold.MatchString(refusal) {
				t.Errorf("%s: %q is not in Chinese, or is put together without Refusef", path, refusal)
			}
			return true
		})
	}
	if n < 80 {
		t.Errorf("found %d refusals: they are made in another way", n)
	}
}

// name is that of a function or a code, without its package.
func name(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.Ident:
		return of.Name
	case *ast.SelectorExpr:
		return of.Sel.Name
	}
	return ""
}

// A text that was changed in English only would be shown in English.
func TestEveryChineseTextIsOfAnEnglishOneWithTheSameValues(t *testing.T) {
	source := ""
	for _, path := range sources(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		source += string(text)
	}
	verbs := regexp.MustCompile(`%[a-z]`)
	for text, other := range chinese {
		if !strings.Contains(source, strconv.Quote(text)) && !strings.Contains(source, "`"+text+"`") {
			t.Errorf("no text of the source is %q", text)
		}
		if !slices.Equal(verbs.FindAllString(text, -1), verbs.FindAllString(other, -1)) || !strings.ContainsFunc(other, isHan) {
			t.Errorf("%q is %q", text, other)
		}
	}
}
